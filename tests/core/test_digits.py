"""Digits that are shown are determined."""

import math
import random

import pytest

from ldp_lib.book.digits import digits


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (0.1234567, 1e-6, "0.12346"),
        (0.1235, 1e-5, "0.1235"),
        (0.123455, 1e-6, "0.1235"),  # at a rounding's edge: neither 0.12345 nor 0.12346
        (12964.4999, 0.01, "12964.5"),
        (12964.2, 0.2, "12964"),
        (12964.4, 0.2, "12960"),
        (-2.5, 1e-12, "-2.50000000000"),
        (1234567.0, 300.0, "1230000"),
        (1e-9, 1e-6, "0.00000"),
        (-1e-9, 1e-6, "0.00000"),
        (0.4, 3.0, "0"),
    ],
)
def test_examples(value, error, shown):
    assert digits(value, error) == shown


def test_numbers_that_differ_by_less_than_rounding_look_alike():
    rng, same = random.Random(1), 0
    for _ in range(2_000):
        value, error = rng.uniform(-1, 1) * 10 ** rng.randint(-5, 5), 10.0 ** rng.randint(-9, -2)
        shown = digits(value, error)
        assert abs(float(shown) - value) <= 0.5 * 10.0 ** -len(shown.partition(".")[2]) + error or "." not in shown
        same += shown == digits(value + 1e-6 * error * rng.choice([-1, 1]), error)
    assert same >= 1_998  # rounding alone would split them as often, but where `error` says that they may be split


@pytest.mark.parametrize(("value", "error"), [(math.nan, 1), (1, 0), (1, -1), (1, math.inf), (math.inf, 1)])
def test_bad_input_is_named(value, error):
    with pytest.raises(ValueError, match="error finite and above 0"):
        digits(value, error)

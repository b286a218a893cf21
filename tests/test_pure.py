"""The Bernoulli draws behind every mechanism, and the smallest integer types."""

import numpy as np
import pytest

from ldp_lib import check, inputs, sampling


@pytest.mark.parametrize("p", [0.75 / 256, 76.25 / 256, 128.75 / 256, 187.25 / 256, 254.75 / 256])
def test_bernoulli_draws_have_their_probability_to_better_than_one_byte(p):
    hits = sampling.bernoulli(p, 2**24, np.random.default_rng(1))
    assert check.mean_z(hits, p) < 5
    # A decision by one byte alone would be off by a quarter of 1/256 or more, and so would a fair coin at a tie.
    for wrong in (np.floor(p * 256) / 256, (np.floor(p * 256) + 0.5) / 256):
        assert check.mean_z(hits, wrong) > 5


def test_bernoulli_draws_have_the_shape_asked_for_and_never_miss_at_zero_or_one():
    rng = np.random.default_rng(2)
    assert sampling.bernoulli(0.5, (3, 5), rng).shape == (3, 5)
    assert not sampling.bernoulli(0.0, 10_000, rng).any()
    assert sampling.bernoulli(1.0, 10_000, rng).all()


def test_bernoulli_draws_are_uncorrelated_with_their_neighbours():
    hits = sampling.bernoulli(0.3, 2**20, np.random.default_rng(3)) - 0.3
    for lag in (1, 2, 7, 8, 9, 2**16):
        assert check.mean_z(hits[lag:] * hits[:-lag], 0) < 5


def test_the_smallest_integer_type_holds_the_largest_value():
    assert [inputs.small_dtype(k) for k in (2, 256, 257, 2**16, 2**16 + 1)] == [
        np.uint8,
        np.uint8,
        np.uint16,
        np.uint16,
        np.uint32,
    ]

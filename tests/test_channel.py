"""Channels: exact privacy ratios, composition, products and laws."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from ldp_lib import channel, grr

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)


def channels(inputs, reports):
    row = st.lists(st.integers(0, 5), min_size=reports, max_size=reports).filter(any)
    return st.lists(row, min_size=inputs, max_size=inputs).map(
        lambda rows: np.array([[Fraction(v, sum(r)) for v in r] for r in rows])
    )


@given(channels(3, 4))
def test_the_privacy_ratio_is_the_worst_of_all_pairs(matrix):
    worst = max(
        (math.inf if matrix[v, y] == 0 else matrix[u, y] / matrix[v, y])
        for y in range(4)
        for u in range(3)
        for v in range(3)
        if matrix[u, y] > 0
    )
    assert channel.privacy_ratio(matrix) == worst


@given(channels(2, 3), channels(2, 2))
def test_ratios_multiply_under_products_and_at_most_under_composition(first, second):
    a, b = channel.privacy_ratio(first), channel.privacy_ratio(second)
    assert channel.privacy_ratio(channel.compose(first, second)) <= a * b
    assert channel.privacy_ratio(channel.tensor(first, second)) == a * b
    for product in (channel.compose(first, second), channel.tensor(first, second)):
        assert all(sum(row) == 1 for row in product)


def test_composing_a_symmetric_channel_with_itself_doubles_the_budget():
    matrix = grr.channel(Fraction(3), 3)
    assert channel.privacy_ratio(channel.compose(matrix, matrix)) == 9


def test_the_law_of_two_fair_coins():
    fair = [[HALF, HALF]]
    law = channel.exact_law(fair, [0, 0], lambda y: [sum(y)])
    assert law == {(0,): Fraction(1, 4), (1,): HALF, (2,): Fraction(1, 4)}
    mean, covariance = channel.exact_moments(fair, [0, 0], lambda y: channel.counts(y, 2))
    assert list(mean) == [1, 1]
    assert covariance.tolist() == [[HALF, -HALF], [-HALF, HALF]]


def test_moments_may_be_symbolic():
    p = sp.Symbol("p")
    mean, covariance = channel.exact_moments([[1 - p, p]], [0, 0], lambda y: [sum(y)])
    assert sp.cancel(mean[0] - 2 * p) == 0
    assert sp.cancel(covariance[0, 0] - 2 * p * (1 - p)) == 0


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        ([HALF, HALF], r"got shape \(2,\)"),
        ([[]], r"got shape \(1, 0\)"),
        ([[HALF, THIRD]], "sum to 1; got .* sum 5/6"),
        ([[1.5, -0.5]], "sum to 1"),
        ([[float("nan"), 1.0]], "sum to 1"),
        ([[0.5, 0.5 + 1e-9]], "sum to 1"),
    ],
)
def test_what_is_not_a_channel_is_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        channel.privacy_ratio(matrix)


def test_composition_needs_the_same_inputs():
    with pytest.raises(ValueError, match="same inputs; got 2 and 3"):
        channel.compose(grr.channel(3.0, 2), grr.channel(3.0, 3))

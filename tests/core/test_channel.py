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
        (np.ones((2, 2), bool), "sum to 1"),
    ],
)
def test_what_is_not_a_channel_is_refused(matrix, message):
    with pytest.raises(ValueError, match=message):
        channel.privacy_ratio(matrix)


def test_composition_needs_the_same_inputs():
    with pytest.raises(ValueError, match="same inputs; got 2 and 3"):
        channel.compose(grr.channel(3.0, 2), grr.channel(3.0, 3))


def test_a_ratio_leaves_out_what_nobody_reports_and_tells_what_some_cannot():
    assert channel.privacy_ratio([[HALF, HALF, 0], [HALF, HALF, 0]]) == 1
    assert channel.privacy_ratio([[0, 1], [0, 1]]) == 1
    assert channel.privacy_ratio([[HALF, HALF, 0], [THIRD, THIRD, THIRD]]) == math.inf
    assert channel.privacy_ratio([[HALF, HALF], [THIRD, 1 - THIRD], [Fraction(2, 5), Fraction(3, 5)]]) == Fraction(3, 2)
    assert isinstance(channel.privacy_ratio([[HALF, HALF], [THIRD, 1 - THIRD]]), Fraction)


def test_rows_sum_to_one_exactly_or_to_rounding():
    eps = 2.0**-52
    channel.check_channel([[0.5, 0.5 + 2 * eps]])
    channel.check_channel(np.array([[0.5, Fraction(1, 2), 0.0]], object))
    channel.check_channel([[1, 0], [0, 1]])
    tiny = Fraction(1, 10**20)
    for row in ([0.5, 0.5 + 3 * eps], [HALF, HALF + tiny], [1 + tiny, -tiny], [1, 1], [0, 0], [1.0, math.inf]):
        with pytest.raises(ValueError, match="channel must have rows of probabilities that sum to 1; got"):
            channel.check_channel([row])
    for wrong in ([HALF, HALF], [[]], [[[1]]]):
        with pytest.raises(ValueError, match="channel must be a matrix, one row an input; got shape"):
            channel.check_channel(wrong)
    with pytest.raises(TypeError, match="channel must hold numbers; got type timedelta64"):
        channel.check_channel(np.ones((1, 1), "m8[s]"))
    x = sp.Symbol("x")
    assert channel.check_channel([[x, x]]).tolist() == [[x, x]]


def test_products_of_three_channels_by_hand():
    a = [[HALF, HALF], [THIRD, 1 - THIRD]]
    b = [[Fraction(1, 5), Fraction(1, 5), Fraction(3, 5)], [Fraction(1, 4), HALF, Fraction(1, 4)]]
    c = [[Fraction(1, 7), Fraction(6, 7)], [Fraction(1, 9), Fraction(8, 9)]]
    together, apart = channel.compose(a, b, c), channel.tensor(a, b, c)
    assert together.shape == (2, 12)
    assert apart.shape == (8, 12)
    for (y, z, w), place in zip(np.ndindex(2, 3, 2), range(12), strict=True):
        for x in range(2):
            assert together[x, place] == a[x][y] * b[x][z] * c[x][w]
        for row, (u, v, t) in enumerate(np.ndindex(2, 2, 2)):
            assert apart[row, place] == a[u][y] * b[v][z] * c[t][w]
    assert channel.tensor(a).tolist() == channel.compose(a).tolist() == a
    assert channel.tensor([[1]], b).tolist() == b


def test_the_law_of_two_different_users_by_hand():
    matrix = [[Fraction(1, 5), Fraction(1, 5), Fraction(3, 5)], [Fraction(1, 4), HALF, Fraction(1, 4)]]
    law = channel.exact_law(matrix, [1, 0], lambda y: (y[0] - y[1],))
    first, second = matrix[1], matrix[0]
    for v in range(-2, 3):
        assert law[(v,)] == sum(first[i] * second[j] for i in range(3) for j in range(3) if i - j == v)
    mean, covariance = channel.exact_moments(matrix, [1, 0], lambda y: (y[0], y[0] - y[1]))
    moment = lambda row, power: sum(p * v**power for v, p in enumerate(row))  # noqa: E731
    means = moment(first, 1), moment(second, 1)
    own = moment(first, 2) - means[0] ** 2, moment(second, 2) - means[1] ** 2
    assert mean.tolist() == [means[0], means[0] - means[1]]
    assert covariance.tolist() == [[own[0], own[0]], [own[0], own[0] + own[1]]]
    assert channel.counts((0, 2, 2), 4) == [1, 0, 2, 0]


def test_the_best_guess_of_one_report_is_exact_and_no_rule_beats_it():
    rows = [[HALF, HALF, 0], [Fraction(1, 4), THIRD, 1 - THIRD - Fraction(1, 4)]]
    prior = [THIRD, 1 - THIRD]
    right = [sum(prior[x] * rows[x][y] for y, x in enumerate(rule)) for rule in np.ndindex(2, 2, 2)]
    assert channel.success_rate(rows, prior) == max(right) == Fraction(2, 3)
    assert channel.success_rate([[0.5, 0.5], [0.5, 0.5]], [0.3, 0.7]) == pytest.approx(0.7)
    for wrong, words in (([1], "shape"), ([0.5, 0.6], "sum to 1"), ([-0.5, 1.5], "sum to 1")):
        with pytest.raises(ValueError, match=f"prior must .*{words}"):
            channel.success_rate(rows, wrong)
    with pytest.raises(ValueError, match=r"prior must .*sum to 1"):
        channel.success_rate(rows, np.ones(2, bool))
    with pytest.raises(TypeError, match="prior must be probabilities"):
        channel.success_rate(rows, ["a", "b"])


@pytest.mark.parametrize("x", [[-1], [2], [0.5]])
def test_inputs_that_are_no_rows_are_refused(x):
    with pytest.raises((TypeError, ValueError), match=r"x must be .* from 0 to 1"):
        channel.exact_law([[HALF, HALF], [THIRD, 1 - THIRD]], x, sum)


def test_texts_are_no_channel():
    with pytest.raises(TypeError, match="channel must hold numbers; got type <U1"):
        channel.privacy_ratio([["a", "b"]])

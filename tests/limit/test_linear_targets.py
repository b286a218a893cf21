"""Any linear target: the closed form against known limits, certificates in fractions, and mechanisms at random."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from ldp_lib import limit
from ldp_lib.limit._given_population import balanced, newton, target_rows
from ldp_lib.limit._rational import subset_sums
from ldp_lib.limit.pair_tables import spaces


def attained(target, epsilon):
    """Least total variance over all mechanisms at the uniform distribution: a convex program over all sets."""
    size = target.shape[1]
    every = 1 + math.expm1(epsilon) * subset_sums(np.eye(size, dtype=np.int8)).T[1:-1]
    inverse = newton(every, target, np.full(size, 1 / size), balanced(every))[1]
    return float(((target @ inverse) * target).sum())


@pytest.mark.parametrize("k", [(2,), (2, 3), (3, 3, 2)])
def test_for_frequencies_it_is_the_closed_form(k):
    roots = sum((size - 1) / math.sqrt(size) for size in k)
    found = limit.linear_error(target_rows(k, "shares"), 1.0)
    assert math.isclose(found, (roots / math.sinh(0.5)) ** 2, rel_tol=1e-12)


@pytest.mark.parametrize("k", [(2, 3), (2, 3, 4)])
def test_for_pair_tables_it_is_the_closed_form(k):
    values = np.indices(k).reshape(len(k), -1)
    rows = [
        (values[j] == v) & (values[i] == u)
        for j, i in itertools.combinations(range(len(k)), 2)
        for v in range(k[j])
        for u in range(k[i])
    ]
    roots = sum(math.sqrt(square) for _, square in spaces(k))
    assert math.isclose(limit.linear_error(rows, 0.7), (roots / math.sinh(0.35)) ** 2, rel_tol=1e-12)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0])
@pytest.mark.parametrize("k", [2, 3, 5, 6])
def test_prefixes_have_at_least_the_closed_form_and_for_five_values_at_small_budgets_little_more(k, epsilon):
    sines = sum(1 / (2 * math.sin(math.pi * m / (2 * k))) for m in range(1, k))
    bound = limit.linear_error(limit.prefixes(k), epsilon)
    assert math.isclose(bound, sines**2 / (k * math.sinh(epsilon / 2) ** 2), rel_tol=1e-12)
    least = attained(limit.prefixes(k).astype(float), epsilon)
    assert bound * (1 - 1e-9) <= least
    if k >= 5 and epsilon <= 1:
        assert least < bound * 1.1


@pytest.mark.parametrize(("often", "over"), [((2, 2, 2, 2), 1.0), ((4, 2, 1, 1), 1.157)])
def test_it_is_attained_by_sets_with_the_root_as_covariance_if_they_hold_each_record_equally_often(often, over):
    """One record of four, at e^epsilon = 3. If some are drawn more often, likelihoods do not sum to 1 for each."""
    shares = np.array(often) / 8
    covariance = np.diag(shares) - np.outer(shares, shares)  # a target whose root it is
    found = attained(covariance, math.log(3)) / limit.linear_error(covariance, math.log(3))
    assert math.isclose(found, over, rel_tol=1e-3)
    assert "holds each record equally often" in " ".join(limit.linear_error.__doc__.split())


def test_prefixes_from_one_question_each_cost_more_than_sets_chosen_for_them():
    """Half-lines and one value by randomized response, at e^epsilon = 3: both above what the best sets attain."""
    k, e = 6, 3.0
    target, least = limit.prefixes(k), attained(limit.prefixes(k).astype(float), math.log(3))
    asks = (k - 1) ** 2 * ((e + 1) / (e - 1)) ** 2 / 4  # one of k-1 yes-or-no questions: its own variance times k-1
    single = np.linalg.inv(((e - 1) * np.eye(k) + 1) / (e + k - 1))
    noise = np.eye(k) / k - 1 / k**2
    whole = np.trace(target @ single @ noise @ single.T @ target.T)
    assert asks > 1.5 * least
    assert whole > 1.2 * least


def test_it_is_proved_for_every_set_in_fractions():
    """Rational directions near the polar factor, and the certificate's inequality for all 2^6 sets at e = 3."""
    k, t = 6, Fraction(2)
    target = limit.prefixes(k)
    centred = target - target.mean(axis=1, keepdims=True)
    u, _, v = np.linalg.svd(centred, full_matrices=False)
    unit = 2**20
    h = np.round(u @ v * unit).astype(int).astype(object)
    h[:, -1] -= h.sum(axis=1)  # each direction sums to 0
    sums = [subset_sums(row[None].astype(object))[0] for row in h]
    sizes = subset_sums(np.ones((1, k), dtype=object))[0]
    price = max(t**2 * sum(s * s for s in squares) / (k + t * n) ** 2 for *squares, n in zip(*sums, sizes, strict=True))
    proved = Fraction(int((h * target).sum())) ** 2 / (k**2 * price)  # lambda = k * price for every record
    stated = limit.linear_error(target, math.log(3))
    assert stated * (1 - 1e-5) <= float(proved) <= attained(target.astype(float), math.log(3))


def test_bad_input():
    for target in (
        np.ones(3),
        np.ones((2, 1)),
        np.ones((0, 3)),
        [[1.0, math.nan]],
        [[1e200, 0.0]],
        np.eye(2) + 1j,
        [["1", "2"]],
    ):
        with pytest.raises(ValueError, match="target must be finite numbers"):
            limit.linear_error(target, 1.0)
    with pytest.raises(ValueError, match="target must not have masked entries"):
        limit.linear_error(np.ma.array(np.eye(2), mask=np.eye(2)), 1.0)
    with pytest.raises(ValueError, match="epsilon must be"):
        limit.linear_error(np.eye(3), 0.0)
    with pytest.raises(ValueError, match="k must be"):
        limit.prefixes(1)

"""Edges, ties, signs and keywords: what a change in one place of the code had left unnoticed."""

import dataclasses
import math
import re
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp

from ldp_lib import (
    GRR,
    KJRR,
    MECHANISMS,
    OUE,
    SUE,
    JointUnary,
    OneQuestion,
    Plurality,
    Population,
    check,
    check_mechanism,
    recommend,
)
from ldp_lib.corr_rr import _synthetic as synthetic
from ldp_lib.limit import _covering, least_error
from ldp_lib.limit._rational import never_negative
from ldp_lib.shrinkage import _stein as stein
from ldp_lib.shrinkage import plurality
from ldp_lib.survey import _files as files
from ldp_lib.survey import aggregate
from ldp_lib.tables import consistency, covariance, raking


@pytest.mark.parametrize("n", [True, "3", None, 0, 0.5, math.inf, math.nan])
def test_a_number_of_users_is_a_number_from_one_on(n):
    with pytest.raises(ValueError, match="n must be a number of users"):
        covariance.check_users(n)
    assert [covariance.check_users(n) for n in (1, 2.5, np.int64(7))] == [1, 2.5, 7]


def test_lies_are_spread_evenly_over_all_other_values():
    mechanism, people = KJRR(k=4, epsilon=0.5), Population.from_counts([10_000, 0, 0, 0])
    runs = mechanism.simulate(people, rng=np.random.default_rng(1), runs=400)
    assert check.mean_z(runs, [1, 0, 0, 0]) < 5 < check.mean_z(runs, [1, 0, 0, 0.01])


def test_what_draws_lack_is_made_up_for():
    quarter, d = Fraction(1, 4), 3
    for often in [(0, 0, 0), (Fraction(1, 8), Fraction(1, 3), Fraction(1, 20)), (1, 0, 0), (0, 0, 1)]:
        # Each of the sums in Parseval's equation has its own weight; the first also counts the shares themselves.
        lack = [sum(v * _covering.overlap(d, part, i, 2) for i, v in enumerate(often, 1)) for part in (1, 2, 3)]
        want = max(quarter, lack[0] + 1, lack[1], lack[2])
        assert _covering.row((2,) * d, None, quarter, often) == (want, sum(often))


def test_a_certificate_of_no_error_or_of_more_is_none():
    certificate = least_error((4,) * 4, 1.0, Population.from_records([[0, 1, 2, 3]], k=(4,) * 4)).certificate
    assert certificate.check()
    for error in (Fraction(0), -certificate.error, certificate.error * Fraction(1_000_001, 1_000_000)):
        assert not dataclasses.replace(certificate, error=error).check()


@pytest.mark.parametrize(("d", "k"), [(3, 4), (2, 5), (4, 3)])
def test_the_estimated_risk_of_pooling_is_stein_s(d, k):
    rng, noise = np.random.default_rng(5), 0.01
    table = 1 / k + rng.normal(size=(d, k)) * 0.15
    table += (1 - table.sum(axis=1, keepdims=True)) / k
    basis = np.linalg.svd(np.ones((1, k)))[2][1:]  # moves that keep the sum of a row

    def shrunk(table):
        found = stein.pooled([row[None] for row in table], [noise * (k - 1)] * d)
        return np.concatenate(found.estimates), float(found.risk[0])

    def slope(step=1e-5):
        total = 0.0
        for row in range(d):
            for move in basis:
                change = np.zeros((d, k))
                change[row] = step * move
                total += (shrunk(table + change)[0] - shrunk(table - change)[0])[row] @ move / (2 * step)
        return total

    estimate, risk = shrunk(table)
    assert ((estimate - table) ** 2).sum() > 1e-6
    assert risk == pytest.approx(((estimate - table) ** 2).sum() + noise * (2 * slope() - d * (k - 1)), rel=1e-4)


def test_a_part_of_a_frame_may_be_empty():
    mechanism = GRR(k=3, epsilon=1.0)
    frame = files.to_frame(mechanism.perturb([0, 1, 2, 2], rng=np.random.default_rng(1)))
    whole = aggregate.aggregate(frame, mechanism).counts
    assert whole[0] == 4
    for parts in ([frame[:0], frame], [frame, frame[:0]]):
        assert np.array_equal(aggregate.aggregate(parts, mechanism).counts, whole)


@pytest.mark.parametrize(("off", "told"), [(5.5, "the theory is 5.5"), (4.5, None)])
def test_five_standard_errors_divide_right_from_wrong(off, told):
    runs = np.resize([1.0, -1.0], 10_000) * math.sqrt(9_999 / 10_000)  # the error of the mean is 0.01
    assert check.mean_z(runs, off / 100) == pytest.approx(off, rel=1e-3)
    if told:
        with pytest.raises(AssertionError, match=told):
            check.close(runs, mean=off / 100, foil=1)
    else:
        check.close(runs, mean=off / 100, foil=0.055)
        with pytest.raises(AssertionError, match=r"foil is only 4\.5"):
            check.close(runs, mean=0, foil=off / 100)


@pytest.mark.parametrize("oracle", [OUE, SUE, GRR])
@pytest.mark.parametrize("groups", [True, False])
def test_one_question_s_simulation_has_its_moments(oracle, groups):
    mechanism = OneQuestion(k=(2, 3), epsilon=1.0, oracle=oracle, groups=groups)
    people = Population.from_counts([[30, 10, 5], [0, 40, 15]])
    runs = mechanism.simulate(people, rng=np.random.default_rng(2), runs=4_000)
    for found, mean, variance in zip(runs, mechanism.mean(people), mechanism.variance(people), strict=True):
        assert check.mean_z(found, mean) < 5 < check.mean_z(found, mean + 0.05)
        assert check.variance_z(found, variance) < 5 < check.variance_z(found, 1.3 * variance)


class Open(GRR):
    """A mechanism whose budget can be set."""

    __setattr__ = object.__setattr__


def test_a_mechanism_whose_budget_can_be_set_is_found():
    with pytest.raises((TypeError, AssertionError, ValueError), match="epsilon can be set"):
        check_mechanism(Open(k=3, epsilon=1.0))


@pytest.mark.parametrize("parents", [(-1,), (1,), (0, 2), (0, -1), (2, 1)])
def test_a_tree_s_parents_come_first(parents):
    with pytest.raises(ValueError, match="parents must come before their children"):
        synthetic.tree_law([0.5, 0.5], 0.5, parents)
    assert synthetic.tree_law([0.5, 0.5], 0.5, [0, 1, 1]).shape == (2,) * 4


@pytest.mark.parametrize("k", [(2, 3), (3, 3, 3), (6,) * 4, (3,) * 6])
def test_the_shares_of_the_best_sets_sum_to_one(k):
    found = least_error(k, 1.0)
    assert len(found.sets) == len(found.weights)
    assert min(found.weights) > 0
    assert sum(found.weights) == pytest.approx(1)
    assert found.error <= found.attained < 1.05 * found.error


@pytest.mark.parametrize("noise", [-1.0, math.inf, math.nan, True, "1"])
def test_noise_is_finite_and_no_truth_value(noise):
    with pytest.raises(ValueError, match="noise must be a finite number"):
        consistency.shrink_dependence(np.full((2, 2), 0.25), noise)


@pytest.mark.parametrize(("lean", "sign"), [("report", 1), ("truth", -1)])
def test_a_common_sign_moves_a_user_s_own_bit_and_the_others(lean, sign):
    moves = JointUnary(k=3, epsilon=1.0, lean=lean).moves
    assert moves[0] > 0
    assert sign * moves[1] > 0


@pytest.mark.parametrize(
    ("k", "weights", "share", "want"),
    [((2, 5), (6, 4), 3, 4), ((5, 2), (6, 4), 3, 12), ((2, 2), (12, 12), 3, 27), ((2, 2), (2, 1), 3, 0)],
)
def test_draws_of_unequal_domains_cost_what_exceeds_their_share(k, weights, share, want):
    weights, share = [Fraction(w, 12) for w in weights], Fraction(share, 12)
    assert _covering.row(k, weights, share) == (share, Fraction(want, 12))


def test_lists_of_expressions_are_compared_entry_by_entry():
    x = sp.Symbol("x")
    check.same([x * (x + 1), x], [x**2 + x, x])
    with pytest.raises(AssertionError, match="the difference is"):
        check.same([x, x], [x, x + 1])
    with pytest.raises(AssertionError, match="the shapes differ"):
        check.same([x, x], [x])


def test_the_noise_that_plurality_shrinks_by_is_that_of_its_answers(monkeypatch):
    told = []

    def together(estimates, noise, centre):
        told.append((estimates, noise))
        return stein.together(estimates, noise, centre)

    mechanism = Plurality(k=(3, 3), epsilon=1.0)
    people = Population.from_counts(np.full((3, 3), 200))
    monkeypatch.setattr(plurality, "_stein", SimpleNamespace(together=together))
    mechanism.simulate(people, rng=np.random.default_rng(1), runs=4_000)
    ((estimates, noise),) = told
    for found, total in zip(estimates, noise, strict=True):
        assert ((found - 1 / 3) ** 2).sum(axis=1).mean() == pytest.approx(total, rel=0.1)


def test_what_is_impossible_is_proved_soon_though_a_value_is_unwanted():
    records = np.array([[0, 0], [1, 1], [2, 0]])  # without the value 2 the columns are the same
    found = raking.rake(records, [[0.2, 0.8, 0.0], [0.5, 0.5]], max_passes=64)
    assert found.message.startswith("infeasible")
    assert found.passes <= 16


def test_reports_of_plurality_fit_their_type():
    mechanism = Plurality(k=(50,) * 4, epsilon=20.0, shares=(0.1, 0.1, 0.8))  # 258 reports: one byte is too little
    y = mechanism.perturb(np.full((4_000, 4), 49), rng=np.random.default_rng(1))
    assert y.max() == 50 + 2 * 4 + 4 * 50 - 1


@pytest.mark.parametrize("counts", [[], [0, 0, 0, 0], [[3, 1, 1, 1]], [3, -1, 2, 2], [3.0, 1.0, 1.0, 1.0]])
def test_counts_that_are_none_are_refused(counts):
    with pytest.raises((TypeError, ValueError), match="count"):
        aggregate.Counts(GRR(k=3, epsilon=1.0), np.array(counts, dtype=None if len(counts) else int))


def test_product_sets_name_a_size_for_each_attribute():
    found = least_error((9,) * 5, 3.0)
    assert {len(sizes) for sizes in found.sets} == {5}
    assert len(set(found.sets)) == len(found.sets)


def test_the_error_of_a_variance_from_few_runs_is_that_of_the_textbook():
    runs = np.array([0.0, 0.0, 0.0, 1.0, 2.0, 3.0])
    second, fourth = ((runs - 1) ** 2).mean(), ((runs - 1) ** 4).mean()
    error = math.sqrt((fourth - second**2 * 3 / 5) / 6)  # n = 6: n - 3 over n - 1, over n
    assert check.variance_z(runs, 5.0) == pytest.approx((5 - second * 6 / 5) / error)


def test_a_recommendation_names_the_next_best_and_how_far_behind_it_is():
    why = recommend(k=(2, 3), epsilon=1.0, n=1_000).why
    name, times = re.search(r"; (\w+), the next, has ([\d.]+) times its squared error", why).groups()
    assert name in {cls.__name__ for cls in MECHANISMS}
    assert 1 < float(times) < 10


@pytest.mark.parametrize("tolerance", [math.inf, math.nan, 0.0, -1.0, True, "1"])
def test_a_tolerance_is_finite_and_above_zero(tolerance):
    with pytest.raises((TypeError, ValueError), match="tolerance must"):
        consistency.project_marginals(np.full((2, 2), 0.25), [[0.5, 0.5]] * 2, tolerance=tolerance)


def test_a_bound_that_is_too_low_by_a_thousandth_does_not_hold():
    for k, weights in (((2, 2), (1, 1)), ((2, 3), (1, 2))):
        weights, t = [Fraction(w, 100) for w in weights], Fraction(2)
        rows = [_covering.row(k, weights, max(weights) * Fraction(i, 40)) for i in range(1, 41)]
        top = Fraction(_covering.largest(k, 2.0, rows))
        assert _covering.holds(k, t, rows, top * (1 + Fraction(1, 10**9)))
        assert not _covering.holds(k, t, rows, top * Fraction(999, 1000))


def test_the_largest_bound_where_its_slope_is_level_or_half_as_steep():
    """The slope of (b mu + (v - b) mu^2) / (1 + t mu)^2 is a line, which is level where 2 (v - b) = t b."""
    mu = np.linspace(0, 1, 20_001)
    for b, v, t in ((1, 2, 2.0), (1, 3, 2.0), (2, 3, 1.0)):
        bounds = []
        for s in (0, 1):
            r0, r1, r2 = (float(c) for c in _covering.remainder(2, s))
            here = mu[(mu >= s / 2) & (mu <= (s + 1) / 2)]
            value = b * here * (1 - here) + v * (r0 + r1 * here + r2 * here**2)
            bounds.append((value * (t / (1 + t * here)) ** 2).max())
        assert _covering.largest((2, 3), t, [(b, v)]) == pytest.approx(max(bounds), rel=1e-7)


@pytest.mark.parametrize(
    ("c", "fits"),
    [
        ((1, -1.5, 0.25), False),
        ((-0.1, 1, 1), False),
        ((1, -3, 2.2), False),
        ((1, -2, 1), True),
        ((1, -2.5, 2), True),
        ((0, 1, 1), True),
    ],
)
def test_a_parabola_is_negative_at_an_end_or_between(c, fits):
    assert never_negative(*map(Fraction, c)) == fits

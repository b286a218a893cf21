"""Joint randomized response: the law by enumeration of all pairings, the best parameters, bad input."""

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_lib import check, jrr
from ldp_lib._sampling import random_places
from ldp_lib.book import printed_jrr
from ldp_lib.book.enumeration import half_law, least_delta, mixture, pairings, truth_law, worst_ratio
from ldp_lib.jrr import _checks, _parameters, privacy, protocols
from ldp_lib.population import Population

BINARY = [
    (Fraction(3, 5), Fraction(-1, 2)),
    (Fraction(3, 5), Fraction(-2, 3)),
    (Fraction(3, 4), Fraction(-1, 5)),
    (Fraction(4, 5), Fraction(9, 10)),
]


@pytest.mark.parametrize(("p", "rho"), BINARY)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_mean_and_variance_equal_enumeration_over_all_pairings(n, p, rho):
    law = truth_law(n, p, rho)
    assert sum(law.values()) == 1
    for n1 in range(n + 1):
        x = [1] * n1 + [0] * (n - n1)
        estimates = {
            truths: (sum(v if t else 1 - v for v, t in zip(x, truths, strict=True)) - n * (1 - p)) / (2 * p - 1)
            for truths in law
        }
        mean = sum(chance * estimates[truths] for truths, chance in law.items())
        assert mean == n1
        second = sum(chance * estimates[truths] ** 2 for truths, chance in law.items())
        assert second - mean**2 == jrr.variance(Fraction(n1), n, p, rho, odd=n % 2)


@pytest.mark.parametrize("counts", [(2, 1, 1), (2, 0, 1), (1, 2)])
def test_the_variance_for_k_values_equals_enumeration(counts):
    k, p, rho = len(counts), Fraction(1, 2) + Fraction(1, 10), Fraction(-1, 2)
    q = (1 - p) / (k - 1)
    both, one, none = jrr.table(p, rho, k)
    x = [v for v, count in enumerate(counts) for _ in range(count)]
    n, groups = len(x), pairings(list(range(len(x))))
    first = second = 0
    for y, pairing in itertools.product(itertools.product(range(k), repeat=n), groups):
        chance = Fraction(1, len(groups))
        for pair in pairing:
            true = [x[u] == y[u] for u in pair]
            chance *= (both, one, none)[2 - sum(true)] if len(pair) == 2 else (p if true[0] else q)
        estimate = (y.count(0) - n * q) / (p - q)
        first, second = first + chance * estimate, second + chance * estimate**2
    assert first == counts[0]
    assert second - first**2 == jrr.variance(Fraction(counts[0]), n, p, rho, k, odd=n % 2)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_table_is_a_distribution_exactly_on_the_range_of_rho(k):
    below_half = [(Fraction(1, k) + Fraction(1, 2)) / 2] if k > 2 else []
    for p in (Fraction(3, 5), Fraction(9, 10), Fraction(1), *below_half):
        low, high = jrr.rho_range(p, k)
        for rho in (low, high, (low + high) / 2):
            both, one, none = jrr.table(p, rho, k)
            assert both + 2 * (k - 1) * one + (k - 1) ** 2 * none == 1
            assert both + (k - 1) * one == p
            assert min(both, one, none) >= 0
        if p < 1:
            assert min(*jrr.table(p, low - Fraction(1, 1000), k), 0) < 0
            assert min(*jrr.table(p, high + Fraction(1, 1000), k), 0) < 0


@pytest.mark.parametrize(("p", "rho"), BINARY)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_privacy_of_transcripts_and_of_colluders_equals_enumeration(n, p, rho):
    law = truth_law(n, p, rho)
    true, false = privacy.transcript_chances(float(p), float(rho), n)
    for a in range(n):
        for side, mine in ((true, 1), (false, 0)):
            exact = sum(chance for t, chance in law.items() if t[0] == mine and sum(t) - t[0] == a)
            assert side[a] == pytest.approx(float(exact), rel=1e-12, abs=1e-300)
    ratios = [
        law[1, *rest] / law[0, *rest] if law[0, *rest] else math.inf
        for rest in itertools.product((0, 1), repeat=n - 1)
        if law[1, *rest] or law[0, *rest]
    ]
    worst = max(max(ratios), max(1 / r if r else math.inf for r in ratios))
    assert privacy.transcript_ratio(p, rho, n) == worst
    paired = privacy.transcript_ratio(p, rho)
    assert worst <= paired if n % 2 else worst == paired
    for epsilon in (0.0, 0.5, 2.0):
        e = Fraction(math.exp(epsilon))
        other = {t: law[1 - t[0], *t[1:]] for t in law}
        delta = sum(max(0, chance - e * other[t]) for t, chance in law.items())
        assert privacy.transcript_delta(epsilon, float(p), float(rho), n) == pytest.approx(float(delta), abs=1e-13)
    for m in range(n if rho < 0 else 0):
        worst = 0
        for revealed in itertools.product((0, 1), repeat=m):
            mine = [sum(c for t, c in law.items() if t[: m + 1] == (*revealed, own)) for own in (0, 1)]
            for a, b in (mine, mine[::-1]):
                if a or b:
                    worst = max(worst, a / b if b else math.inf)
        assert privacy.colluder_ratio(p, rho, n, m) == worst
        assert privacy.colluder_ratio(float(p), float(rho), n, m) == pytest.approx(float(worst), rel=1e-9)


def test_chances_at_a_thousand_users_are_those_of_rational_arithmetic():
    n, p, rho = 1_000, Fraction(21, 40), Fraction(-3, 8)
    both, one, none = jrr.table(p, rho)
    # The coefficients of (none + 2 one z + both z^2)^(n/2), by its recurrence over the rationals.
    law = [none ** (n // 2)]
    for t in range(n):
        before = law[t - 1] if t else 0
        law.append(((n // 2 - t) * 2 * one * law[t] + (n - t + 1) * both * before) / (none * (t + 1)))
    assert sum(law) == 1
    true, false = privacy.transcript_chances(float(p), float(rho), n)
    assert np.allclose(true, [float(law[a + 1] * (a + 1) / n) for a in range(n)], rtol=1e-10, atol=1e-280)
    assert np.allclose(false, [float(law[a] * (n - a) / n) for a in range(n)], rtol=1e-10, atol=1e-280)


@given(epsilon=st.floats(0.05, 3), n=st.integers(1, 300), share=st.floats(0, 0.999), n1=st.none() | st.integers(0, 2))
@settings(max_examples=25)
def test_no_point_of_a_grid_beats_the_optimal_parameters(epsilon, n, share, n1):
    n1 = None if n1 is None else n1 * n // 2
    e, counts = math.exp(epsilon), np.arange(n + 1) if n1 is None else np.array([n1])
    for colluders in {int(share * n), int(share * n / 2), min(3, n - 1)}:
        p, rho = jrr.optimal_parameters(epsilon=epsilon, n=n, colluders=colluders, n1=n1)
        best = jrr.variance(counts, n, p, rho, odd=n % 2).mean()
        step = math.sqrt(max(0, -rho) * p * (1 - p))
        if rho <= 0:
            assert privacy.colluder_ratio(p, rho, n, colluders) <= e * (1 + 1e-9)
            assert protocols.sign_ratio(p, min(step, 1 - p), n, colluders) <= e * (1 + 1e-9)
        for q in np.linspace(0.5, e / (1 + e), 12)[1:]:
            for r in np.linspace(-(1 - q) / q, 0, 13):
                value = jrr.variance(counts, n, q, r, odd=n % 2).mean()
                # An odd user out makes truths tell a little less than signs, for which the corner is chosen.
                if value < best * (1 - 1e-9 - (n % 2) * 4 / n):
                    assert privacy.colluder_ratio(q, r, n, colluders) > e * (1 - 1e-12)


def test_of_an_odd_number_the_optimum_is_that_of_shown_signs_only():
    e, (p, rho) = math.exp(0.5), jrr.optimal_parameters(epsilon=0.5, n=11, colluders=1, n1=0)
    other = 0.5845, -0.4155 / 0.5845
    less = jrr.variance(0, 11, *other, odd=1) / jrr.variance(0, 11, p, rho, odd=1)
    assert round(float(less), 2) == 0.93
    assert privacy.colluder_ratio(*other, 11, 1) < e < protocols.sign_ratio(0.5845, 0.4155, 11, 1)
    assert protocols.sign_ratio(p, 1 - p, 11, 1) == pytest.approx(e, rel=1e-12)


@pytest.mark.parametrize(("epsilon", "n", "colluders"), [(0.5, 100, 10), (0.1, 10_000, 5), (0.1, 32_561, 9)])
def test_the_corner_spends_the_budget_exactly(epsilon, n, colluders):
    p, rho = jrr.optimal_parameters(epsilon=epsilon, n=n, colluders=colluders, n1=n)
    assert rho < 0
    assert math.log(protocols.sign_ratio(p, 1 - p, n, colluders)) == pytest.approx(epsilon, rel=1e-10)
    truths = math.log(privacy.colluder_ratio(p, rho, n, colluders))
    assert truths == pytest.approx(epsilon, rel=1e-10) if n % 2 == 0 else epsilon * (1 - 1 / n) < truths < epsilon
    if n % 2 == 0:
        over = privacy.colluder_ratio(
            *printed_jrr.optimum(epsilon=epsilon, n=n, colluders=colluders, n1=n), n, colluders
        )
        assert math.log(over) > epsilon * (1 + 1e-9)


@given(
    epsilon=st.floats(0.05, 3), pairs=st.integers(1, 500), share=st.floats(0, 0.999), n1=st.none() | st.integers(0, 2)
)
@settings(max_examples=60)
def test_no_point_of_a_grid_beats_the_printed_optimum(epsilon, pairs, share, n1):
    n = 2 * pairs
    colluders, n1 = int(share * n), None if n1 is None else n1 * n // 2
    p, rho = printed_jrr.optimum(epsilon=epsilon, n=n, colluders=colluders, n1=n1)
    e = math.exp(epsilon)
    assert printed_jrr.ratio(p, rho, n, colluders) <= e * (1 + 1e-9)
    counts = np.arange(n + 1) if n1 is None else np.array([n1])
    best = jrr.variance(counts, n, p, rho).mean()
    for q in np.linspace(0.5, e / (1 + e), 40)[1:]:
        low, high = jrr.rho_range(q)
        grid = np.linspace(low, high, 81)
        grid = grid[printed_jrr.ratio(q, grid, n, colluders) <= e]
        values = [jrr.variance(counts, n, q, r).mean() for r in grid]
        assert min(values, default=math.inf) >= best * (1 - 1e-9)


@given(
    p=st.floats(0.5, 1, exclude_min=True),
    share=st.floats(-1, 1),
    end=st.sampled_from([None, -1, 0, 1]),
    n=st.integers(1, 60),
    m=st.floats(0, 1, exclude_max=True),
)
@settings(max_examples=200)
def test_no_ratio_below_1_and_no_nan_ever(p, share, end, n, m):
    low, high = jrr.rho_range(p)
    share = share if end is None else end
    rho, m = (low * -share if share < 0 else high * share), int(m * n)
    ratios = [privacy.transcript_ratio(p, rho, n)]
    if rho <= 0:
        ratios.append(privacy.colluder_ratio(p, rho, n, m))
        ratios.append(protocols.sign_ratio(p, min(math.sqrt(-rho * p * (1 - p)), 1 - p), n, m))
        ratios.append(jrr.signed_ratio(p, rho))
        assert 0 <= privacy.partner_posterior(p, rho, n, m) <= 1
    assert all(ratio >= 1 - 1e-12 for ratio in ratios)  # false for NaN
    true, false = privacy.transcript_chances(p, rho, n)
    assert true.sum() == pytest.approx(p, rel=1e-9)
    assert false.sum() == pytest.approx(1 - p, rel=1e-6, abs=1e-12)
    delta = privacy.transcript_delta(np.array([0.0, 0.5, 5.0]), p, rho, n)
    assert ((delta >= 0) & (delta <= 1 + 1e-12)).all()


@pytest.mark.parametrize("p", [0.51, 0.55, 0.6, 2 / 3, 0.75, 0.9, 0.99])
@pytest.mark.parametrize("n", [2, 3, 10, 11, 40, 41])
def test_at_the_least_rho_half_of_the_lies_settle_the_truth(n, p):
    for rho in (1 - 1 / p, -(1 - p) / p, jrr.rho_range(p)[0]):
        for m in range(n):
            ratio = privacy.colluder_ratio(p, rho, n, m)
            exact = privacy.colluder_ratio(Fraction(p), -(1 - Fraction(p)) / Fraction(p), n, m)
            assert ratio == exact == math.inf or ratio == pytest.approx(float(exact), rel=1e-9)
            assert (exact == math.inf) == (m >= (n + 1) // 2)


def test_reported_wrong_numbers_stay_right():
    assert privacy.colluder_ratio(0.55, 1 - 1 / 0.55, 100, 50) == math.inf
    assert privacy.colluder_ratio(Fraction(3, 5), Fraction(-1, 2), 5, 4) == Fraction(15, 2)
    assert privacy.transcript_delta(1.0, *jrr.optimal_parameters(epsilon=1.0, n=50, colluders=0, n1=25), 50) > 0


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (privacy.colluder_ratio, (0.6, -0.5, 0, 0), "n must be an integer of at least 1; got 0"),
        (privacy.colluder_ratio, (0.6, -0.5, 10, 12), "colluders must be from 0 to n - 1 = 9; got 12"),
        (privacy.colluder_ratio, (0.6, -0.9, 10, 2), "rho must be from -0.6666"),
        (privacy.colluder_ratio, (0.5, -0.9, 10, 2), "p must be above 1/k = 0.5"),
        (privacy.partner_posterior, (0.6, -0.5, 10, -1), "colluders must be from 0"),
        (privacy.transcript_ratio, (0.6, 1.1), "rho must be from"),
        (privacy.transcript_ratio, (0.6, math.nan), "rho must be from"),
        (privacy.transcript_chances, (0.6, 0.1, True), "n must be an integer; got True"),
        (privacy.transcript_delta, (math.nan, 0.6, 0.1, 4), "epsilon must be a number from 0 to 700"),
        (privacy.transcript_delta, (-1.0, 0.6, 0.1, 4), "epsilon must be a number from 0 to 700"),
        (protocols.sign_ratio, (0.6, 0.5, 4, 1), "s must be from 0 to 1 - p = 0.4; got 0.5"),
        (protocols.sign_ratio, (0.6, 0.1, 4, 4), "colluders must be from 0 to n - 1 = 3; got 4"),
    ],
)
def test_the_privacy_functions_check_what_they_are_given(function, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        function(*arguments)


def test_too_many_users_to_simulate_are_named():
    for mechanism in (jrr.JRR(epsilon=1.0), jrr.SignedRR(epsilon=1.0), jrr.JointUnary(k=2, epsilon=1.0)):
        with pytest.raises(ValueError, match=r"population must have less than 10\*\*9 users.*; got n = 2000000000"):
            mechanism.simulate(Population.from_counts([10**9, 10**9]), rng=np.random.default_rng(1), runs=2)


def test_budget_and_truth_probability_are_two_ways_to_one_mechanism():
    one = jrr.JRR(epsilon=1.0)
    again = jrr.JRR(k=2, epsilon=1.0, p=one.p_, rho=one.rho_)
    assert (again.p_, again.rho_) == (one.p_, one.rho_)
    assert (one.p_, one.rho_) == pytest.approx(jrr.optimal_parameters(epsilon=1.0, n=10, colluders=0), rel=1e-12)
    two = jrr.JRR(p=np.float64(0.75), rho=-1 / 3), jrr.JRR(p=0.75)  # what is given stays, what is used is the same
    assert len({(each.p_, round(each.rho_, 12)) for each in two}) == 1
    with pytest.raises(ValueError, match=r"epsilon must be ln\(p \(k-1\) / \(1-p\)\) = 1.09"):
        jrr.JRR(p=0.75, epsilon=1.0)
    with pytest.raises(ValueError, match="at most 15"):
        jrr.JRR(epsilon=30.0)
    with pytest.raises(TypeError, match="epsilon must be"):
        jrr.JRR()


def test_algorithm_1_is_the_printed_double_loop():
    # The last two step over the feasible rho of the first p, so that p has to fall.
    designs = ((0.5, 100, 3, 1e-3), (0.1, 1000, 5, 1e-3), (1.0, 10, 9, 1e-3), (1.0, 10, 5, 0.05), (0.5, 20, 15, 0.03))
    for epsilon, n, colluders, step_rho in designs:
        step_p = 1e-3
        e = math.exp(epsilon)
        p, found = e / (1 + e) - step_p, None
        while p > 0.5 and found is None:
            rho = 1 - 1 / p
            while rho <= 1 and found is None:
                if printed_jrr.ratio(p, rho, n, colluders) <= e:
                    found = p, rho
                rho += step_rho
            p -= step_p
        got = printed_jrr.algorithm_1(epsilon=epsilon, n=n, colluders=colluders, step_p=step_p, step_rho=step_rho)
        assert got == pytest.approx(found, abs=1e-9)
    assert printed_jrr.algorithm_1(epsilon=1e-4, n=100, colluders=1) is None


@pytest.mark.parametrize("n", [3, 5])
def test_an_odd_number_of_users_has_the_stated_variance(n):
    population, mechanism = Population.from_counts([1, n - 1]), jrr.JRR(p=0.6, rho=-0.6)
    right = mechanism.variance(population)
    rng = np.random.default_rng(1)
    users = np.array([mechanism.estimate(mechanism.perturb(population.users(), rng=rng)) for _ in range(20_000)])
    runs = mechanism.simulate(population, rng=rng, runs=40_000)
    for sample in (users, runs):
        assert check.variance_z(sample, right) < 5 < check.variance_z(sample, 1.1 * right)


def test_one_formula_serves_symbols_fractions_and_floats():
    p, rho, n, n1 = sp.symbols("p rho n n1")
    symbolic = jrr.variance(n1, n, p, rho)
    point = {p: sp.Rational(3, 5), rho: sp.Rational(-1, 2), n: 8, n1: 3}
    exact = jrr.variance(Fraction(3), 8, Fraction(3, 5), Fraction(-1, 2))
    assert symbolic.subs(point) == sp.Rational(exact.numerator, exact.denominator)
    assert jrr.variance(3, 8, 0.6, -0.5) == pytest.approx(float(exact), rel=1e-13)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"p": 0.5, "rho": 0.0}, "p must be above 1/k = 0.5 and at most 1; got 0.5"),
        ({"p": 1.01, "rho": 0.0}, "p must be above 1/k"),
        ({"p": float("nan"), "rho": 0.0}, "p must be above 1/k"),
        ({"p": 0.8, "rho": -0.26}, "rho must be from -0.25 to 1 for p = 0.8 and k = 2; got -0.26"),
        ({"p": 0.8, "rho": 1.01}, "rho must be from -0.25 to 1"),
        ({"p": 0.8, "rho": "0"}, "rho must be a number; got '0'"),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        jrr.JRR(**arguments)


@pytest.mark.parametrize("find", [jrr.optimal_parameters, printed_jrr.optimum, printed_jrr.algorithm_1])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "n must be an integer of at least 1; got 0"),
        ({"n": 8.0}, "n must be an integer; got 8.0"),
        ({"colluders": 8}, "colluders must be from 0 to n - 1 = 7; got 8"),
        ({"colluders": -1}, "colluders must be from 0"),
        ({"epsilon": 0.0}, "epsilon must be a number from"),
    ],
)
def test_bad_designs_are_refused(find, change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        find(**{"epsilon": 1.0, "n": 8, "colluders": 1, **change})


def test_other_bad_input_is_refused():
    with pytest.raises(ValueError, match="n1 must be None or an integer from 0 to 8; got 9"):
        jrr.optimal_parameters(epsilon=1.0, n=8, colluders=1, n1=9)
    with pytest.raises(ValueError, match="step_p must be from"):
        printed_jrr.algorithm_1(epsilon=1.0, n=8, colluders=1, step_p=0.0)
    with pytest.raises(ValueError, match="rho must be at most 0"):
        privacy.colluder_ratio(0.6, 0.1, 8, 1)


@pytest.mark.parametrize("n", [6, 14, 30])
def test_for_positive_rho_the_printed_ratio_is_not_exceeded_in_the_cases_computed(n):
    free = {f(Fraction(3, 5), Fraction(0), n, m) for f in (privacy.colluder_ratio, printed_jrr.ratio) for m in range(n)}
    assert free == {Fraction(3, 2)}  # and at rho 0 it is right
    # Pr[m coins] / product of their chances = sum of kappa_r rho^r e_2r(u), kappa_r the chance that 2r given users are
    # paired among themselves, e the elementary symmetric polynomials of u = (T - p) / sqrt(pq).
    for p, rho, m in itertools.product((0.51, 0.75, 0.99), (0.05, 0.6, 1.0), range(n)):
        q = 1 - p
        bound = printed_jrr.ratio(p, rho, n, m)
        for lies in range(m + 1):
            e = np.array([1.0])
            for u in [math.sqrt(q / p)] * (m - lies) + [-math.sqrt(p / q)] * lies:
                e = np.convolve(e, [1, u])
            kappa, coins, with_one_more = 1.0, 0.0, 0.0
            for r in range(m // 2 + 1):
                coins += kappa * rho**r * e[2 * r]
                kappa *= (2 * r + 1) / (n - 2 * r - 1)
                with_one_more += kappa * rho**r * e[2 * r + 1] if 2 * r < m else 0.0
            if coins > 1e-9:  # these coins can be shown
                true = p + rho * math.sqrt(p * q) * with_one_more / coins
                if 1e-12 < true < 1 - 1e-12:
                    assert max(true / (1 - true), (1 - true) / true) <= bound * (1 + 1e-9)
                if n == 6 and rho < 1:
                    law = truth_law(n, Fraction(p), Fraction(rho)) if (m, lies) == (3, 1) else None
                    if law:
                        mine = [sum(c for t, c in law.items() if t[:4] == (own, 1, 1, 0)) for own in (0, 1)]
                        assert float(mine[1] / sum(mine)) == pytest.approx(true, rel=1e-9)


def test_the_budget_of_one_report_is_the_log_of_its_odds():
    assert jrr.JRR(p=0.75, rho=0.0).epsilon == pytest.approx(math.log(3), rel=1e-12)
    assert jrr.KJRR(k=3, p=0.5, rho=0.0).epsilon == pytest.approx(math.log(2), rel=1e-12)
    assert jrr.JRR(p=1.0, rho=0.0).epsilon == math.inf


def test_whoever_is_always_truthful_reports_the_data():
    x, rng = np.array([0, 1, 1, 0, 1]), np.random.default_rng(1)
    mechanism = jrr.JRR(p=1.0, rho=0.0)
    assert (mechanism.perturb(x, rng=rng) == x).all()
    assert (mechanism.simulate(Population.from_counts([2, 3]), rng=rng, runs=3) == [0.4, 0.6]).all()


def test_reports_outside_the_domain_are_named():
    with pytest.raises(ValueError, match="y must"):
        jrr.JRR(p=0.6, rho=0.0).estimate([0, 2])


def test_the_printed_ratio_is_infinite_where_its_denominator_is_0():
    assert printed_jrr.ratio(Fraction(3, 5), Fraction(-2, 3), 4, 3) == math.inf
    assert printed_jrr.ratio(0.75, np.array([1.0, 0.0]), 4, 3).tolist() == [math.inf, pytest.approx(3.0)]


def test_algorithm_1_starts_one_step_below_rr_and_refuses_steps_out_of_range():
    for epsilon in (0.1, 0.5, 2.0):
        p, rho = printed_jrr.algorithm_1(epsilon=epsilon, n=100, colluders=0, step_p=0.01)
        assert p == pytest.approx(math.exp(epsilon) / (1 + math.exp(epsilon)) - 0.01, abs=1e-12)
        assert rho == pytest.approx(1 - 1 / p, abs=1e-12)
    for name in ("step_p", "step_rho"):
        for step in (1e-8, 1.0):
            with pytest.raises(ValueError, match=f"{name} must be from 1e-7 to 1; got {step!r}"):
                printed_jrr.algorithm_1(**{"epsilon": 1.0, "n": 8, "colluders": 1, name: step})


def test_the_best_of_the_three_candidates_is_chosen():
    chosen = set()
    for epsilon, n in itertools.product(np.linspace(0.1, 3, 30), (2, 4, 8, 20, 100)):
        p0 = 1 / (1 + math.exp(-epsilon))
        for colluders, n1 in itertools.product({0, 1, n // 4, n // 2, n - 1}, (None, 0, n // 2, n // 3, n)):
            counts = np.arange(n + 1) if n1 is None else np.array([n1])
            candidates, share = [(p0, 0.0)], colluders / (n - 1)
            if share < 1 and (p0 - share) / (1 - share) > 0.5:
                p = (p0 - share) / (1 - share)
                candidates += [(p, 1 - 1 / p), (p, 1.0)]
            values = [jrr.variance(counts, n, *pair).mean() for pair in candidates]
            best = jrr.optimal_parameters(epsilon=float(epsilon), n=n, colluders=colluders, n1=n1)
            assert jrr.variance(counts, n, *best).mean() <= min(values) * (1 + 1e-9) + 1e-12
            jrr.JRR(p=best[0], rho=best[1])  # raises outside the range of the table
            chosen.add((best[1] > 0) - (best[1] < 0))
    assert chosen == {-1, 0, 1}


@pytest.mark.parametrize("name", ["n", "colluders", "n1"])
def test_booleans_are_no_numbers_of_users(name):
    with pytest.raises((TypeError, ValueError), match=f"{name} must be"):
        jrr.optimal_parameters(**{"epsilon": 1.0, "n": 8, "colluders": 1, "n1": 1, name: True})


def test_booleans_are_no_parameters():
    with pytest.raises(TypeError, match="p must be a number; got True"):
        jrr.JRR(p=True, rho=0.0)


@pytest.mark.parametrize("integer", [np.uint8, np.int8, np.uint64])
def test_no_integer_of_numpy_wraps_around(integer):
    """Four of ten as `np.uint64` had the ratio of certain partners, 70 of 100 as `np.int8` none."""
    for n, m in ((10, 4), (100, 70)):
        few = integer(n), integer(m)
        for find in (privacy.partner_posterior, privacy.colluder_ratio):
            assert find(0.7, -0.2, *few) == find(0.7, -0.2, n, m)
        for find in (jrr.signed_delta, jrr.signed_delta_bound):
            assert find(0.5, 0.7, -0.2, *few) == find(0.5, 0.7, -0.2, n, m)
        plan = {"epsilon": 1.0, "n": n, "colluders": m}
        seen = {"epsilon": 1.0, "n": integer(n), "colluders": integer(m), "n1": integer(n)}
        assert jrr.optimal_parameters(**seen) == jrr.optimal_parameters(**plan, n1=n)


def test_the_posterior_of_a_thousand_colluders_does_not_overflow():
    n, m, p, rho = 4_000, 2_000, 0.6, -0.3
    tilt = math.log(jrr.table(p, rho)[2] / (1 - p) ** 2)
    j = np.arange(m // 2 + 1)
    # Pairings with j pairs inside the colluders: choose who is inside, pair them, pair the rest of both groups.
    log_weight = np.array(
        [
            i * tilt
            - math.lgamma(i + 1)
            - i * math.log(2)
            - math.lgamma(m - 2 * i + 1)
            - math.lgamma(i + (n - 2 * m) // 2 + 1)
            - (i + (n - 2 * m) // 2) * math.log(2)
            for i in j
        ]
    )
    assert np.ptp(log_weight) > 200 * math.log(10)
    weight = np.exp(log_weight - log_weight.max())
    exact = (weight * (m - 2 * j)).sum() / weight.sum() / (n - m)
    assert privacy.partner_posterior(p, rho, n, m) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(("n", "size"), [(5, 2), (4, 4), (3, 0), (4, 1)])
def test_all_ways_to_deal_out_truths_are_equally_likely(n, size):
    rng = np.random.default_rng(21)
    runs = np.array([random_places(n, size, rng) for _ in range(20_000)]).astype(int)
    ways = [row for row in itertools.product((0, 1), repeat=n) if sum(row) == size]
    assert (runs.sum(axis=1) == size).all()
    if len(ways) > 1:
        skewed = {way: (1 + 0.2 * way[0] - 0.2 * way[-1]) / len(ways) for way in ways}
        assert check.law_z(runs, dict.fromkeys(ways, 1 / len(ways))) < 5 < check.law_z(runs, skewed)


def test_many_truths_are_dealt_out_to_the_number():
    for n, size in ((1_000_000, 3), (100_001, 99_000), (1, 1), (0, 0)):
        assert np.count_nonzero(random_places(n, size, np.random.default_rng(1))) == size


def test_the_least_delta_is_the_excess_of_the_worst_event():
    one, two = ({y: Fraction(c, 8) for y, c in enumerate(law)} for law in ((4, 3, 1, 0), (1, 2, 2, 3)))
    events = [event for size in range(5) for event in itertools.combinations(range(4), size)]
    for ratio in (1, Fraction(3, 2), 4):
        pairs = [
            (sum(a[y] for y in event), sum(b[y] for y in event))
            for event in events
            for a, b in ((one, two), (two, one))
        ]
        assert least_delta(one, two, ratio) == max(a - ratio * b for a, b in pairs)
    assert least_delta({0: 1}, {1: 1}, 5) == 1


def test_half_of_the_users_have_plus():
    p, s, whole = Fraction(3, 5), Fraction(1, 5), Fraction(1, 50)
    # Of users with 1 and 0, by turns, one has plus. Signed reports: a 1 has chances 4/5 and 1/5, or 2/5 and 3/5.
    assert half_law((1, 0), p, s) == {(0, 0): 10 * whole, (0, 1): 10 * whole, (1, 0): 20 * whole, (1, 1): 10 * whole}
    # Signed truths: 4/5 and 3/5, or 2/5 and 1/5.
    assert half_law((1, 0), p, s, -1) == {(0, 0): 14 * whole, (0, 1): 6 * whole, (1, 0): 16 * whole, (1, 1): 14 * whole}
    # Moves of others by half as much: 4/5 and 3/10, or 2/5 and 1/2.
    assert half_law((1, 0), p, s, Fraction(1, 2))[1, 0] == (Fraction(4, 5) * Fraction(7, 10) + Fraction(1, 5)) / 2
    law = half_law((1, 0, 0, 0), p, s)
    assert sum(law.values()) == 1
    assert sum(chance for y, chance in law.items() if y[0]) == p
    together = sum(chance for y, chance in law.items() if y[0] and y[1])
    assert together == p * (1 - p) - s * s / 3  # two of four have opposite signs with chance 2/3


def test_laws_are_compared_where_either_allows_a_report():
    one, two = {0: Fraction(1, 8), 1: Fraction(7, 8)}, {0: Fraction(1, 2), 1: Fraction(1, 2), 2: 0}
    assert worst_ratio(one, two) == worst_ratio(two, one) == 4
    assert worst_ratio(one, one) == 1
    assert worst_ratio({0: 1}, {0: Fraction(1, 2), 1: Fraction(1, 2)}) == math.inf
    assert worst_ratio({0: Fraction(1, 2), 1: Fraction(1, 2)}, {0: 1, 1: 0}) == math.inf
    third = Fraction(1, 3)
    assert mixture(iter([one, two, {3: 1}])) == {0: third * 5 / 8, 1: third * 11 / 8, 2: 0, 3: third}


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_the_weight_of_rho_in_the_variance(n):
    p, rho = Fraction(3, 5), Fraction(-1, 3)
    plain = n * p * (1 - p) / (2 * p - 1) ** 2
    weights = [(jrr.variance(Fraction(n1), n, p, rho, odd=n % 2) / plain - 1) / rho for n1 in range(n + 1)]
    for n1, weight in enumerate(weights):
        assert _parameters.weight(n, np.int64(n1)) == pytest.approx(float(weight), abs=1e-15)
    assert _parameters.weight(n) == pytest.approx(float(sum(weights) / (n + 1)), abs=1e-15)
    for n1 in (-1, n + 1, 1.0, "1", True):
        with pytest.raises(ValueError, match=re.escape(f"n1 must be None or an integer from 0 to {n}; got {n1!r}")):
            _parameters.weight(n, n1)


def test_the_corner_and_the_best_of_three_by_hand():
    p0, c = Fraction(3, 4), Fraction(1, 5)
    p, low = Fraction(11, 16), -Fraction(5, 11)
    assert jrr.corner(p0, c) == p
    # p q / (p-q)^2 is 3/4 without rho, 55/36 at the corner: it pays if a rho is below -28/55, -0.509...
    assert _parameters.best_of_three(p0, c, Fraction(1)) == (p0, 0)
    assert _parameters.best_of_three(p0, c, Fraction(9, 8)) == (p, low)
    assert _parameters.best_of_three(p0, c, Fraction(-1, 2)) == (p0, 0)
    assert _parameters.best_of_three(p0, c, Fraction(-11, 20)) == (p, 1)


def test_where_the_corner_is_best_to_the_number_of_colluders():
    p0 = 1 / (1 + math.exp(-0.1))
    for n, colluders in ((104, 4), (106, 6), (109, 9)):  # per user who does not collude: 0.04, 0.06, 0.09
        p, rho = jrr.optimal_parameters(epsilon=0.1, n=n, colluders=colluders, n1=n - n % 2)
        if colluders == 4:  # below tanh(0.05) = 0.04996
            assert (p, rho) == pytest.approx(((p0 - 0.04) / 0.96, 1 - 0.96 / (p0 - 0.04)))
        else:
            assert (p, rho) == (p0, 0.0)
    epsilon = 2 * math.atanh(0.25)  # here the corner is p = 1/2
    assert jrr.optimal_parameters(epsilon=epsilon, n=5, colluders=1) == (pytest.approx(5 / 8), 0.0)


def test_users_and_colluders_are_integers_within_bounds():
    for n, colluders in ((1, 0), (2, 1), (np.int64(3), np.int8(2))):
        assert _checks.check_colluders(n, colluders) is None
    for wrong in (True, np.True_, 2.0, "2", None):
        with pytest.raises(TypeError, match=re.escape(f"n must be an integer; got {wrong!r}")):
            _checks.check_colluders(wrong)
        with pytest.raises(TypeError, match=re.escape(f"colluders must be an integer; got {wrong!r}")):
            _checks.check_colluders(5, wrong)
    for wrong in (0, -1):
        with pytest.raises(ValueError, match=f"n must be an integer of at least 1; got {wrong}"):
            _checks.check_colluders(wrong)
    for wrong in (-1, 5, 6):
        with pytest.raises(ValueError, match=f"colluders must be from 0 to n - 1 = 4; got {wrong}"):
            _checks.check_colluders(5, wrong)


@pytest.mark.parametrize("cls", [jrr.JRR, jrr.SignedRR, jrr.ServerProtocol, jrr.ShuffleProtocol])
def test_mechanisms_on_two_values_serve_no_other_domain(cls):
    assert [k for k in (1, 2, 3, 4, 2.0, True, (2,), "2", None) if cls.serves(k)] == [2]
    with pytest.raises(ValueError, match=f"k must be 2 for {cls.__name__}; got 3"):
        cls(k=3, epsilon=1.0)
    mechanism = cls(epsilon=1.0)
    for name in ("epsilon", "p", "realised_p", "other"):
        with pytest.raises(AttributeError):
            setattr(mechanism, name, 1)


def test_parameters_become_floats():
    mechanism = jrr.KJRR(k=np.int64(3), p=Fraction(1, 2), rho=0, epsilon=Fraction(math.log(2)))
    assert [type(v) for v in (mechanism.k, mechanism.epsilon, mechanism.p_, mechanism.rho_)] == [
        int,
        float,
        float,
        float,
    ]
    assert mechanism == jrr.KJRR(k=3, p=0.5, rho=0.0)
    assert mechanism.probabilities == (0.5, 0.25)


@pytest.mark.parametrize(("k", "p", "odds"), [(2, 0.75, 3), (3, 0.5, 2), (5, 0.5, 4)])
def test_a_report_spends_the_log_of_its_odds(k, p, odds):
    mechanism = jrr.KJRR(k=k, p=p, rho=0.0)
    assert odds * (1 - Fraction(1, 10**15)) <= mechanism.realised_ratio <= odds
    assert mechanism.realised_epsilon() == pytest.approx(math.log(odds), rel=1e-15)
    assert jrr.KJRR(k=k, p=1.0, rho=0.0).realised_epsilon() == math.inf
    assert jrr.KJRR(k=k, p=1.0, rho=0.0).realised_p == 1


@pytest.mark.parametrize("k", [2, 3, 4])
def test_at_both_ends_of_rho_truths_have_a_law(k):
    for p in np.append(np.linspace(1 / k, 1, 40)[1:], [1 - 1e-9]):
        for rho in jrr.rho_range(float(p), k):
            truths = jrr.KJRR(k=k, p=p, rho=rho).truths
            assert truths.min() >= 0
            assert truths @ [2, 1, 0] == pytest.approx(2 * p, rel=1e-12)
            assert truths.sum() == pytest.approx(1, rel=1e-15)


@pytest.mark.parametrize("counts", [[3, 0], [3, 3], [1, 0], [0, 2, 0], [2, 0, 4, 4]])
def test_truths_alone_give_the_counts_whoever_is_missing(counts):
    mechanism, people = jrr.KJRR(k=len(counts), p=1.0, rho=0.0), Population.from_counts(counts)
    runs = mechanism.simulate(people, rng=np.random.default_rng(1), runs=2)
    assert (runs == people.frequencies).all()


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_the_variance_of_estimates_counts_the_odd_user(n):
    p, rho, ones = Fraction(3, 5), Fraction(-1, 2), n // 3
    for k in (2, 3):
        mechanism = jrr.KJRR(k=k, p=float(p), rho=float(rho))
        counts = [ones, n - ones] + [0] * (k - 2)
        exact = [jrr.variance(Fraction(c), n, p, rho, k, odd=n % 2) / n**2 for c in counts]
        assert mechanism.variance(Population.from_counts(counts)) == pytest.approx([float(v) for v in exact], rel=1e-13)


def test_the_bounds_of_p_and_rho():
    for k, p in ((2, 0.5), (3, 1 / 3), (4, 0.25)):
        for wrong in (p, 1.0001, -1, math.nan):
            with pytest.raises(
                ValueError, match=re.escape(f"p must be above 1/k = {p:g} and at most 1; got {wrong!r}")
            ):
                _checks.check_p(wrong, k)
        for right in (p + 1e-9, 1, Fraction(1), np.float32(0.75)):
            assert _checks.check_p(right, k) is None
    for p, k in ((0.75, 2), (1 - 1e-7, 2), (0.4, 3), (Fraction(9, 10), 3), (1, 2)):
        low, high = jrr.rho_range(p, k)
        for right in (low, 0, high):
            assert _checks.check_parameters(p, right, k) is None
        for wrong in (low - 1e-9, high + 1e-9, math.nan):
            with pytest.raises(ValueError, match=f"rho must be from .* to {high} for p = .* and k = {k}; got"):
                _checks.check_parameters(p, wrong, k)
    with pytest.raises(ValueError, match=r"rho must be from -0\.111111111111 to 1 for p = 0\.9 and k = 2; got 2"):
        _checks.check_parameters(Fraction(9, 10), 2)
    for wrong in (True, np.False_, "0", None, 1j):
        with pytest.raises(TypeError, match="rho must be a number; got"):
            _checks.check_parameters(0.75, wrong)


def test_the_largest_population_to_simulate():
    people = Population.from_counts([10**9 - 3, 2])
    assert _checks.check_users(people) == 10**9 - 1
    assert jrr.JRR(epsilon=1.0).simulate(people, rng=np.random.default_rng(1), runs=1)[0, 0] > 0.99
    with pytest.raises(ValueError, match=r"less than 10\*\*9 users to be simulated; got n = 1000000000"):
        _checks.check_users(Population.from_counts([10**9 - 3, 3]))


def test_independent_coins_tell_nothing_of_others():
    third = Fraction(1, 3)
    for n, m in ((1, 0), (2, 1), (4, 0), (4, 2), (5, 3), (7, 6), (30, 20)):
        assert privacy.partner_posterior(Fraction(3, 5), Fraction(0), n, m) == Fraction(m, n - 1 + n % 2)
        assert privacy.colluder_ratio(1 - third, 0, n, m) == 2
        assert privacy.transcript_ratio(1 - third, 0, n) == 2
    assert privacy.colluder_ratio(1, 0, 4, 2) == privacy.transcript_ratio(1, 0, 4) == math.inf


@pytest.mark.parametrize("p", [0.51, 0.6, 0.9, 1 - 1e-9])
def test_floats_near_the_ends_of_rho_are_those_of_rational_arithmetic(p):
    exact = Fraction(p)
    low = -(1 - exact) / exact
    for rho in (low * (1 - Fraction(1, 10**5)), low / 2, Fraction(1, 10**5), 1 - Fraction(1, 10**7)):
        for n in (1, 2, 3):
            want = privacy.transcript_ratio(exact, Fraction(float(rho)), n)
            assert privacy.transcript_ratio(p, float(rho), n) == pytest.approx(float(want), rel=1e-4)
    for first, second in ((p, float(low)), (exact, float(low)), (p, low), (exact, low), (p, 1), (p, 1.0), (exact, 1.0)):
        assert privacy.transcript_ratio(first, second) == math.inf


def test_tied_truths_come_in_twos():
    true, false = privacy.transcript_chances(0.6, 1.0, 4)
    assert true == pytest.approx([0, 2 * 0.6 * 0.4 / 2, 0, 0.6**2])
    assert false == pytest.approx([0.4**2, 0, 2 * 0.6 * 0.4 / 2, 0])
    true, false = privacy.transcript_chances(0.6, 1.0, 7)
    three = [0.4**3, 3 * 0.6 * 0.4**2, 3 * 0.6**2 * 0.4, 0.6**3]  # chances of so many true pairs of three
    both = [three[t // 2] * (0.6 if t % 2 else 0.4) for t in range(8)]
    assert true == pytest.approx([both[a + 1] * (a + 1) / 7 for a in range(7)])
    assert false == pytest.approx([both[a] * (7 - a) / 7 for a in range(7)])
    with pytest.raises(ValueError, match=r"n must be at most 10\*\*7 for the law of all reports; got 10000001"):
        privacy.transcript_chances(0.6, 1.0, 10**7 + 1)
    assert privacy.transcript_chances(0.6, 1.0, 1_000_001)[0].sum() == pytest.approx(0.6)


def test_a_delta_for_each_epsilon_in_the_shape_given():
    grid = np.array([[0, 1, 2], [3, 10, 700]])
    for spent in (privacy.transcript_delta, jrr.signed_delta, jrr.signed_delta_bound):
        deltas = spent(grid, 0.6, -0.6, 6)
        assert deltas.shape == (2, 3)
        for epsilon, delta in zip(grid.ravel(), deltas.ravel(), strict=True):
            assert type(spent(epsilon, 0.6, -0.6, 6)) is float
            assert spent(float(epsilon), 0.6, -0.6, 6) == delta
        assert spent(grid[0], 0.6, -0.6, 6).shape == (3,)
        for wrong in (-1e-9, 700.1, [1, -1], [1, 701], math.nan, True, "1", None, 1j):
            with pytest.raises(
                ValueError,
                match=re.escape(f"epsilon must be a number from 0 to 700, or an array of such; got {wrong!r}"),
            ):
                spent(wrong, 0.6, -0.6, 6)


@pytest.mark.parametrize(
    ("k", "p", "rho"), [(2, 0.6, -0.5), (2, 0.75, 0.8), (3, 0.5, -0.8), (4, 0.4, 1.5), (3, 1.0, 0.0)]
)
def test_a_pair_s_exact_chances_are_those_of_the_table(k, p, rho):
    mechanism = jrr.KJRR(k=k, p=p, rho=rho)
    both, first, second, none = mechanism.realised_pair
    stated = jrr.table(p, rho, k)
    assert both + first == mechanism.realised_p
    assert both + first + second + none == 1
    want = [stated[0], (k - 1) * stated[1], (k - 1) * stated[1], (k - 1) ** 2 * stated[2]]
    assert [float(c) for c in (both, first, second, none)] == pytest.approx(want, abs=1e-15)


@pytest.mark.parametrize(
    "mechanism",
    [
        jrr.KJRR(k=3, p=0.5, rho=-0.8),
        jrr.KJRR(k=3, p=0.6, rho=1.5),
        jrr.JointHashing(k=3, epsilon=1.5, g=4, rho=-2.0),
        jrr.JointHashing(k=3, epsilon=1.5, g=2, rho=0.8),
        jrr.JointUnary(k=3, epsilon=1.5, q=0.3),
    ],
    ids=repr,
)
def test_simulated_estimates_of_a_few_have_the_exact_moments(mechanism):
    people = Population.from_counts([1, 4, 0])
    assert (mechanism.mean(people) == [0.2, 0.8, 0]).all()
    runs, variance = mechanism.simulate(people, rng=np.random.default_rng(5), runs=8_000), mechanism.variance(people)
    assert check.mean_z(runs, [0.2, 0.8, 0]) < 5 < check.mean_z(runs, [0.3, 0.8, 0])
    assert check.variance_z(runs, variance) < 5 < check.variance_z(runs, 1.2 * variance)


@pytest.mark.parametrize("n", [4, 5, 7, 10, 20, 51])
def test_the_bound_for_colluders_of_the_chapter_holds_for_every_number_up_to_half(n):
    """`own/two-coins-colluders`: P/(1-P) with P = p (1 - w rho), w = m/(n-m); attained at m = 1 and -q/p, n even."""
    for p, m, part in itertools.product((0.51, 0.6, 0.75, 0.9), range(n // 2 + 1), (0, 0.25, 0.5, 0.75, 1)):
        rho = -(1 - p) / p * part
        P = p * (1 - m / (n - m) * rho)
        if P < 1 - 1e-9:  # at half of the users and -q/p both are infinite
            found = privacy.colluder_ratio(p, rho, n, m)
            assert found <= P / (1 - P) * (1 + 1e-9)
            if n % 2 == 0 and (m == 1 or part == 1):
                assert found == pytest.approx(P / (1 - P), rel=1e-9)

"""Corr-RR and Cond-RR: exact laws by enumeration, the reuse probabilities, and the synthetic data."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from second_phase import expected_errors

from ldp_lib import channel as channels
from ldp_lib import check, corr_rr, grr, splitting
from ldp_lib.book import printed_corr_rr
from ldp_lib.book.printed_corr_rr import AppendixCorrRR
from ldp_lib.book.published import expected_error, phase_errors
from ldp_lib.corr_rr import CondRR, CorrRR, SecondPhase, _least_squares, _reuse, cond_rr, syn_a, tree_law
from ldp_lib.fake_data.two_phase import TwoPhaseRSRFD
from ldp_lib.mechanism import NoExactMoments
from ldp_lib.population import Population

E = Fraction(3)
THIRD, HALF, ONE = Fraction(1, 3), Fraction(1, 2), Fraction(1)
TABLES = {
    (2, 2): [[ONE, Fraction(1, 5)], [Fraction(3, 4), ONE]],
    (3, 2): [[ONE, Fraction(0)], [THIRD, ONE]],
    (2, 3): [[ONE, HALF, Fraction(1, 7)], [ONE, ONE, Fraction(0)], [Fraction(2, 3), Fraction(1, 9), ONE]],
}
each_table = pytest.mark.parametrize(("k", "d"), TABLES, ids=str)


def all_records(k, d):
    return list(itertools.product(range(k), repeat=d))


def rational_frequencies(k, d):
    weights = [[Fraction((3 * j + 2 * v) % 5 + 1) for v in range(k)] for j in range(d)]
    return np.array([[w / sum(row) for w in row] for row in weights])


@each_table
def test_the_second_phase_spends_exactly_the_budget(k, d):
    channel = corr_rr.channel(E, k, TABLES[k, d])
    assert (channel.sum(axis=1) == 1).all()
    assert channels.privacy_ratio(channel) == E


@each_table
def test_expectation_and_variance_are_those_of_the_enumerated_channel(k, d):
    records, table = all_records(k, d), np.array(TABLES[k, d])
    channel, f = corr_rr.channel(E, k, table), rational_frequencies(k, d)
    law = np.array([math.prod(f[j][x[j]] for j in range(d)) for x in records]) @ channel
    p, q = grr.probabilities(E, k)
    for m, v in itertools.product(range(d), range(k)):
        pi = sum(chance for chance, y in zip(law, records, strict=True) if y[m] == v)
        assert corr_rr.expectation(f, table)[m, v] == (pi - q) / (p - q)
        assert corr_rr.iid_variance(f, table, 7, E)[m, v] == pi * (1 - pi) / (7 * (p - q) ** 2)


@each_table
def test_variance_with_the_data_held_fixed_is_that_of_the_enumerated_channel(k, d):
    records, table = all_records(k, d), TABLES[k, d]
    channel, users = corr_rr.channel(E, k, table), [records[0], records[-1], records[1]]
    mechanism = SecondPhase(k=(k,) * d, epsilon=math.log(3), reuse=np.array(table, dtype=float))
    variance = mechanism.variance(Population.from_records(np.array(users), k=(k,) * d))
    p, q = grr.probabilities(E, k)
    for m, v in itertools.product(range(d), range(k)):
        shows = [
            sum(chance for chance, y in zip(channel[records.index(x)], records, strict=True) if y[m] == v)
            for x in users
        ]
        exact = sum(pi * (1 - pi) for pi in shows) / (9 * (p - q) ** 2)
        assert np.isclose(variance[m][v], float(exact), rtol=1e-12, atol=0)


def enumerated_combination(users, n1, k, d, table, root):
    """Exact mean and variance of the combined estimate, over all splits and all reports, by one user at a time."""
    records, e = all_records(k, d), root**d
    laws = splitting.channel(root, (k,) * d), corr_rr.channel(e, k, table)
    pairs = grr.probabilities(root, k), grr.probabilities(e, k)

    def moments(user, phase, m, v):
        (p, q), row = pairs[phase], laws[phase][records.index(user)]
        pi = sum(chance for chance, y in zip(row, records, strict=True) if y[m] == v)
        return (pi - q) / (p - q), pi * (1 - pi) / (p - q) ** 2

    n, splits = len(users), list(itertools.combinations(range(len(users)), n1))
    result = []
    for m, v in itertools.product(range(d), range(k)):
        totals = [[moments(x, 0 if i in split else 1, m, v) for i, x in enumerate(users)] for split in splits]
        means = [sum(mean for mean, _ in split) / n for split in totals]
        coins = sum(variance for split in totals for _, variance in split) / (len(splits) * n**2)
        mean = sum(means) / len(splits)
        result.append((mean, coins + sum((value - mean) ** 2 for value in means) / len(splits)))
    return zip(*result, strict=True)


@pytest.mark.parametrize(
    ("k", "d", "users", "n1"),
    [
        (2, 2, [(0, 0), (0, 1), (1, 1)], 1),
        (3, 2, [(0, 2), (1, 1), (2, 0), (2, 2)], 2),
        (2, 3, [(0, 0, 1), (1, 0, 1)], 1),  # fewer users than attributes
    ],
    ids=str,
)
def test_both_phases_together_have_the_enumerated_mean_and_variance(k, d, users, n1):
    root = Fraction(2)
    mean, variance = enumerated_combination(users, n1, k, d, TABLES[k, d], root)
    table = np.array(TABLES[k, d], dtype=float)
    mechanism = CorrRR(k=(k,) * d, epsilon=d * math.log(2), n1=n1, reuse=table)
    population = Population.from_records(np.array(users), k=(k,) * d)
    assert np.allclose(np.concatenate(mechanism.mean(population)), np.array(mean, float), rtol=1e-12, atol=1e-15)
    assert np.allclose(np.concatenate(mechanism.variance(population)), np.array(variance, float), rtol=1e-12, atol=0)


@pytest.mark.parametrize("k", [2, 3, 4])
def test_quadratic_is_the_error_of_the_enumerated_law(k):
    f, n2 = rational_frequencies(k, 2), 5

    def error(p_y):
        table = [[ONE, HALF], [p_y, ONE]]  # attribute 1 is the pivot of attribute 0
        bias = corr_rr.expectation(f, table)[0] - f[0]
        return (bias**2).sum() + corr_rr.iid_variance(f, table, n2, E)[0].sum()

    c1, c2 = corr_rr.quadratic(f[0], f[1], n2)
    for p_y in (THIRD, HALF, ONE):
        assert error(p_y) - error(Fraction(0)) == c1 * p_y + c2 * p_y**2
    g = f - Fraction(1, k)
    t = Fraction(n2 + 1, n2 - 1) * (g[0] @ g[1]) / (g[1] @ g[1])
    assert corr_rr.shrinkage(corr_rr.minimizer(f[0], f[1], n2), k) == t


def test_the_appendixs_minimiser_is_the_best_for_two_values_only():
    f = rational_frequencies(2, 2)
    exact = corr_rr.minimizer(f[0], f[1], 9)
    assert printed_corr_rr.appendix_minimizer(f[0], f[1], 9, E) == exact
    f = rational_frequencies(3, 2)
    exact = corr_rr.minimizer(f[0], f[1], 9)
    assert printed_corr_rr.appendix_minimizer(f[0], f[1], 9, E) != exact


def test_the_appendix_is_as_printed():
    k, n2 = 3, 9
    (fa, fb), delta = rational_frequencies(k, 2), (E - 1) / (E + k - 1)
    linear = square = Fraction(0)
    for a, b in zip(fa, fb, strict=True):
        d0, e = 1 - a - b, 2 * b - 1
        alpha, beta = (1 - delta) / k + delta / 2 * (d0 + 2 * a), delta / 2 * e
        linear += d0 * e / 2 + beta * (1 - 2 * alpha) / (n2 * delta**2)
        square += e**2 / 4 - beta**2 / (n2 * delta**2)
    assert printed_corr_rr._appendix_quadratic(fa, fb, n2, E) == (linear, square)
    assert printed_corr_rr.appendix_minimizer(fa, fb, n2, E) == -linear / (2 * square)


finite = st.floats(-3, 3).map(lambda v: round(v, 3))


@given(st.lists(finite, min_size=4, max_size=4), st.lists(finite, min_size=4, max_size=4), st.integers(1, 10**6))
def test_reuse_probability_is_the_best_from_0_to_1(a, b, n2):
    a, b = (np.array(v) - np.mean(v) + 0.25 for v in (a, b))
    p_y = corr_rr.reuse_probability(a, b, n2=n2)
    c1, c2 = corr_rr.quadratic(a, b, n2)
    grid = np.linspace(0, 1, 101)
    assert 0 <= p_y <= 1
    slack = np.finfo(float).eps * 8 * (abs(c1) + abs(c2))
    assert c1 * p_y + c2 * p_y**2 <= (c1 * grid + c2 * grid**2).min() + slack


def test_a_uniform_pivot_leaves_the_choice_open_and_gets_one_over_k():
    uniform, other = np.full(4, 0.25), np.array([0.5, 0.25, 0.25, 0.0])
    assert corr_rr.reuse_probability(other, uniform, n2=10) == 0.25
    assert printed_corr_rr._appendix_probability([0.5, 0.5], [0.5, 0.5], epsilon=1.0, n2=10) == 0.5


def test_reuse_table_takes_runs_at_once_and_is_ordered():
    rng = np.random.default_rng(1)
    f = [rng.dirichlet(np.ones(3), size=5) for _ in range(3)]
    table = corr_rr.reuse_table(f, n2=50)
    assert table.shape == (5, 3, 3)
    for run, j, m in itertools.product(range(5), range(3), range(3)):
        one = 1 if j == m else corr_rr.reuse_probability(f[m][run], f[j][run], n2=50)
        assert table[run, j, m] == one


def test_the_mechanism_learns_by_its_own_rule():
    f = [np.array([0.6, 0.5, -0.1]), np.array([0.3, 0.4, 0.3]), np.array([0.2, 0.1, 0.7])]
    one = {"k": (3, 3, 3), "epsilon": 0.5, "n1": 10}
    appendix = printed_corr_rr.appendix_table(f, epsilon=0.5, n2=7)
    makes = CorrRR(**one), AppendixCorrRR(**one), AppendixCorrRR(**one, exchanged=True)
    tables = [corr_rr.reuse_table(f, n2=7), appendix, appendix.T]
    for row, mechanism in enumerate(makes):
        assert [np.array_equal(mechanism.table(f, 7), table) for table in tables] == [row == i for i in range(3)]
        assert eval(repr(mechanism)) == mechanism


def test_the_figures_formula_is_the_shared_optimum_for_two_values_and_many_users():
    n2 = 10**9
    for x, y in itertools.product((Fraction(1, 5), Fraction(3, 5), Fraction(9, 10)), repeat=2):
        pair = [np.array([x, 1 - x]), np.array([y, 1 - y])]
        (a1, a2), (b1, b2) = corr_rr.quadratic(*pair, n2), corr_rr.quadratic(*pair[::-1], n2)
        shared = -(a1 + b1) / (2 * (a2 + b2))
        gap = abs(printed_corr_rr.figure_2_probability(*pair, n2, E) - shared)
        assert (gap == 0) == (x == y)
        assert gap < Fraction(1, 10**8)
    skew, other = np.array([HALF, THIRD, 1 - HALF - THIRD]), np.array([THIRD, THIRD, THIRD])
    (a1, a2), (b1, b2) = corr_rr.quadratic(skew, other, n2), corr_rr.quadratic(other, skew, n2)
    shared = -(a1 + b1) / (2 * (a2 + b2))
    assert abs(printed_corr_rr.figure_2_probability(skew, other, n2, E) - shared) > Fraction(1, 10)  # not for three


def total_error(f, table, n2, e):
    bias = corr_rr.expectation(f, table) - f
    return (bias**2 + corr_rr.iid_variance(f, table, n2, e)).sum()


def test_joint_reuse_has_the_least_total_error():
    rng, n2, e = np.random.default_rng(2), 400, 2.0
    f = rng.dirichlet(np.ones(3), size=4)
    best = corr_rr.joint_reuse(f, n2)
    least = total_error(f, best, n2, e)
    for _ in range(300):
        step = best + rng.normal(scale=rng.choice([0.3, 0.03]), size=best.shape)
        other = np.where(np.eye(4, dtype=bool), 1, np.clip(step, 0, 1))
        assert total_error(f, other, n2, e) >= least * (1 - 1e-12)
    assert total_error(f, corr_rr.reuse_table(f, n2=n2), n2, e) > least
    pair = corr_rr.joint_reuse(f[:2], n2)
    assert np.allclose(pair, corr_rr.reuse_table(f[:2], n2=n2), rtol=0, atol=1e-9)


@pytest.mark.parametrize(("firsts", "several"), [((0.7, 0.7, 0.7), False), ((0.6, 0.7, 0.8), True)])
def test_of_three_attributes_of_two_values_one_table_is_best_or_several(firsts, several):
    """Alike, all copies must be true; with 0.6 between 0.7 and 0.8 the copies of either can stand for those of both."""
    f = np.array([[v, 1 - v] for v in firsts])
    best = corr_rr.joint_reuse(f, 400)
    least, row = total_error(f, best, 400, 2.0), best.copy()
    row[1, 0] -= 0.02
    row[2, 0] += 0.02 * 2 / 3  # the first attribute's mixture stays
    assert (total_error(f, np.clip(row, 0, 1), 400, 2.0) <= least * (1 + 1e-12)) == several
    assert (best[1:, 0] == 1).all() != several


def reuse_cases():
    """Frequencies whose best reuse table is not always unique: general, uniform, collinear, equal, coarse, of few."""
    yield np.array([[4, 9, 6], [4, 9, 6], [4, 4, 11], [8, 5, 6], [5, 7, 7]]) / 19
    rng = np.random.default_rng(3)
    for trial in range(300):
        k, d = int(rng.integers(2, 5)), int(rng.integers(2, 6))
        f = rng.dirichlet(np.ones(k), size=d)
        if trial % 6 == 1:
            f[rng.integers(d)] = 1 / k
        elif trial % 6 == 2:
            f = 1 / k + np.outer(rng.uniform(-1 / (k - 1), 1, size=d), f[0] - 1 / k)
        elif trial % 6 == 3:
            f[-1] = f[0]
        elif trial % 6 == 4:
            f[:] = f[0]
        elif trial % 6 == 5:
            f = 1 / k + np.round(3 * (f - 1 / k)) / 4
        yield f
        if trial % 6 == 0:
            people = int(rng.integers(5, 30))
            yield rng.multinomial(people, np.full(k, 1 / k), size=d) / people


def all_sets_of_bounds(a, b, low, high):
    """Return (error, length, t) of the shortest best t within the bounds for each set of coordinates held at them."""
    found = []
    for sides in itertools.product((math.nan, low, high), repeat=a.shape[1]):
        t = np.array(sides)
        free = np.isnan(t)
        t[free] = np.linalg.pinv(a[:, free], rcond=1e-9) @ (b - a[:, ~free] @ t[~free])
        if (t >= low - 1e-9).all() and (t <= high + 1e-9).all():
            found.append((np.linalg.norm(a @ t - b).round(12), t @ t, tuple(t)))
    return found


def by_all_sets_of_bounds(f, n2):
    """Yield, for each pivot, the copies that `joint_reuse` takes, and (error, length, copies) by sets of bounds."""
    (d, k), g = f.shape, f - 1 / f.shape[1]
    for m, column in enumerate(corr_rr.joint_reuse(f, n2).T):
        others = np.arange(d) != m
        goal = ((d - 1) * n2 + 1) / (n2 - 1) * g[m]
        yield corr_rr.shrinkage(column[others], k), all_sets_of_bounds(g[others].T, goal, -1 / (k - 1), 1)


def test_joint_reuse_is_the_shortest_of_the_best_by_trying_all_sets_of_bounds():
    shorter = 0
    for f in reuse_cases():
        for copies, found in by_all_sets_of_bounds(f, 50):
            shorter += sum(error == min(found)[0] for error, *_ in found) > 1
            assert np.allclose(copies, min(found)[2], rtol=0, atol=1e-8)
    assert shorter > 100  # or the length had nothing to decide


def test_the_last_bits_of_the_frequencies_do_not_matter_to_a_reuse_table():
    rng = np.random.default_rng(4)
    for f in reuse_cases():
        shaken = f * (1 + rng.integers(-2, 3, size=f.shape) * 2.0**-52)
        assert np.allclose(corr_rr.joint_reuse(f, 50), corr_rr.joint_reuse(shaken, 50), rtol=0, atol=1e-9)
        one, other = (corr_rr.reuse_table(v, n2=50) for v in (f, shaken))
        assert np.allclose(one, other, rtol=0, atol=1e-9)


def test_zero_deviations_are_not_copied():
    even = np.where(np.eye(4) == 1, 1, 1 / 7)
    assert np.array_equal(corr_rr.joint_reuse(np.full((4, 7), 1 / 7), 50), even)
    assert np.array_equal(corr_rr.reuse_table(np.full((4, 7), 1 / 7), n2=50), even)
    copier = np.arange(1, 14) / 91
    for k in range(2, 14):  # the sum of k times 1 / k is not always 1
        target = copier[:k] / copier[:k].sum()
        assert corr_rr.reuse_probability(target, np.full(k, 1 / k), n2=50) == 1 / k
    across = 1 / 3 + np.array([[0.1, -0.1, 0], [0.07, 0.07, -0.14]])  # with one user the error is linear, here constant
    assert corr_rr.reuse_probability(*across, n2=1) == 1 / 3


def test_equal_binary_attributes_share_the_copying():
    table = corr_rr.joint_reuse([[0.6, 0.4], [0.7, 0.3], [0.7, 0.3], [0.7, 0.3]], 1001)
    t = corr_rr.shrinkage(table[1:, 0], 2)
    assert np.allclose(t, (3 * 1001 + 1) / 1000 * 0.1 / 0.6, rtol=1e-12)


@pytest.mark.parametrize("n2", [1, 0, 2.0, True])
def test_joint_reuse_needs_two_users(n2):
    with pytest.raises(ValueError, match="n2 must be"):
        corr_rr.joint_reuse([[0.5, 0.5], [0.25, 0.75]], n2)


def test_joint_reuse_names_bad_frequencies():
    for bad in ([0.5, 0.5], [[0.5, 0.5]], [[1.0], [1.0]], [[math.nan, 1], [0.5, 0.5]]):
        with pytest.raises(ValueError, match="frequencies must be"):
            corr_rr.joint_reuse(bad, 50)


@pytest.mark.parametrize(
    "mechanism",
    [
        CorrRR(k=(3, 3), epsilon=2.0, n1=30),
        AppendixCorrRR(k=(3, 3), epsilon=2.0, n1=30, exchanged=True),
        CondRR(k=(3, 3), epsilon=2.0, n1=30),
        CondRR(k=(3, 3), epsilon=2.0, n1=30, debias=False),
        TwoPhaseRSRFD(k=(3, 3), epsilon=2.0, n1=30),
    ],
    ids=repr,
)
def test_simulation_and_users_agree_when_the_first_phase_decides(mechanism):
    population = Population.from_counts([[30, 5, 2], [1, 20, 9], [0, 8, 25]])
    runs = np.hstack(mechanism.simulate(population, rng=np.random.default_rng(1), runs=60_000))
    rng, x = np.random.default_rng(2), population.users()
    users = np.array([np.hstack(mechanism.estimate(mechanism.perturb(x, rng=rng))) for _ in range(3_000)])
    assert check.mean_z(users, runs.mean(axis=0)) < 5
    assert check.mean_z(users, runs.mean(axis=0) + 0.1 * runs.std(axis=0)) > 5
    assert check.variance_z(users, np.cov(runs.T)) < 5 < check.variance_z(users, 1.2 * np.cov(runs.T))


def test_cond_rr_learns_the_true_conditionals_from_the_expected_reports():
    joint = np.arange(1.0, 13.0).reshape(2, 3, 2)
    joint /= joint.sum()
    mechanism = CondRR(k=joint.shape, epsilon=1.5, n1=1_000)
    channel = splitting.channel(math.exp(0.5), joint.shape).astype(float)
    tables = 1_000 * (joint.ravel() @ channel).reshape(1, *joint.shape)
    laws = mechanism.conditionals(
        {pair: tables.sum(axis=4 - sum(pair)) for pair in itertools.combinations(range(3), 2)}
    )
    for j, m in itertools.permutations(range(3), 2):
        pair = joint.sum(axis=({0, 1, 2} - {j, m}).pop())
        pair = pair if j < m else pair.T
        assert np.allclose(laws[j, m][0], pair / pair.sum(axis=1, keepdims=True), rtol=0, atol=1e-12)


def test_a_value_without_estimated_mass_gets_the_uniform_conditional():
    tables = np.zeros((1, 2, 2), dtype=int)
    tables[0, 0] = 30, 20  # nobody reports value 1 of the first attribute, so its estimated mass is negative
    laws = CondRR(k=(2, 2), epsilon=4.0, n1=50).conditionals({(0, 1): tables})[0, 1][0]
    assert laws[1].tolist() == [0.5, 0.5] != laws[0].tolist()


@pytest.mark.parametrize("different", [False, True])
def test_tree_law_has_the_stated_correlation(different):
    k, rho = 4, Fraction(1, 10)
    law = tree_law([Fraction(1, 4)] * 4, rho, [0, 1], different=different)
    assert law.sum() == 1
    values = np.array([Fraction(v) for v in range(k)])
    centred = values - values.mean()
    for pair, power in (((0, 1), 1), ((1, 2), 1), ((0, 2), 2)):
        joint = law.sum(axis=({0, 1, 2} - set(pair)).pop())
        correlation = (centred @ joint @ centred) / ((centred**2).sum() / k)
        assert correlation == ((k * rho - 1) / (k - 1) if different else rho) ** power


def test_synthetic_populations_have_the_law_of_their_tree():
    rng = np.random.default_rng(3)
    f = [0.4, 0.3, 0.2, 0.1]
    draws = np.array([syn_a(500, d=2, rho=0.5, frequencies=f, rng=rng).histogram.ravel() for _ in range(4_000)])
    law = tree_law(f, 0.5, [0]).ravel()
    assert check.mean_z(draws, 500 * law) < 5 < check.mean_z(draws, 500 * law + 0.1 * np.sqrt(500 * law))


@pytest.mark.parametrize("k", [129, 200, 256, 257])
def test_copies_in_large_domains_take_every_other_value(k):
    x = np.full((60 * k, 2), k - 1)
    y = SecondPhase(k=(k, k), epsilon=60.0, reuse=0.0).perturb(x, rng=np.random.default_rng(1))
    assert y.dtype == np.min_scalar_type(k - 1)
    kept = y == k - 1  # by the pivot, at this budget always
    assert (kept.sum(axis=1) == 1).all()
    counts = np.bincount(y[~kept], minlength=k)[: k - 1]
    assert counts.min() > 60 * k / (k - 1) - 6 * 60**0.5 > 0 < counts.max() < 60 * k / (k - 1) + 6 * 60**0.5


def test_cond_rr_of_many_attributes_needs_little_memory():
    records = np.random.default_rng(1).integers(5, size=(50, 13))
    population = Population.from_records(records, k=(5,) * 13)  # 1.2e9 records: no table of them can be built
    mechanism = CondRR(k=population.k, epsilon=8.0, n1=0.5)
    simulated = np.hstack(mechanism.simulate(population, rng=np.random.default_rng(1), runs=800))
    rng = np.random.default_rng(2)
    users = np.array([np.hstack(mechanism.estimate(mechanism.perturb(records, rng=rng))) for _ in range(200)])
    assert check.mean_z(users, simulated.mean(axis=0)) < 5
    assert check.variance_z(users, simulated.var(axis=0)) < 5


def test_cond_rr_draws_its_first_phase_in_two_ways_by_one_law():
    population, mechanism = Population.from_counts([[9, 4, 0], [1, 3, 8]]), CondRR(k=(2, 3), epsilon=3.0, n1=5)
    chosen = np.tile([2, 1, 0, 1, 1], (100_000, 1))
    assert (population.records == [[0, 0], [0, 1], [1, 0], [1, 1], [1, 2]]).all()
    (by_user,) = mechanism._count_first(population.records, chosen, [(0, 1)], np.random.default_rng(1))
    (by_table,) = mechanism._count_first(population.records, 2 * chosen, [(0, 1)], np.random.default_rng(2))
    twice = by_user[: len(by_user) // 2] + by_user[len(by_user) // 2 :]  # ten users, as many as the table's
    by_user, by_table = twice, by_table[: len(twice)]
    flat, other = by_user.reshape(-1, 6), by_table.reshape(-1, 6)
    assert check.mean_z(flat.astype(float) - other, 0) < 5
    assert check.variance_z(flat, np.cov(other.T)) < 5 < check.variance_z(flat, 1.1 * np.cov(other.T))


def test_cond_rr_undoes_its_copies_and_the_raw_estimate_does_not():
    law = np.array([[25, 15, 10], [5, 10, 33], [2, 0, 0]])
    population = Population.from_counts(10_000 * law)
    truth, how = np.hstack([law.sum(axis=1), law.sum(axis=0)]) / 100, {"rng": np.random.default_rng(1), "runs": 400}
    found = {d: np.hstack(CondRR(k=(3, 3), epsilon=1.1, debias=d).simulate(population, **how)) for d in (True, False)}
    bias = {d: np.abs(runs.mean(axis=0) - truth).max() for d, runs in found.items()}
    assert bias[True] < 0.02 < 0.1 < bias[False]


@pytest.mark.parametrize("family", [CorrRR, CondRR, TwoPhaseRSRFD])
@pytest.mark.parametrize("n1", [0, -1, 1.5, True, None, "3"])
def test_a_first_phase_without_users_is_refused(family, n1):
    with pytest.raises(ValueError, match="n1 must be an integer of at least 1"):
        family(k=(2, 2), epsilon=1.0, n1=n1)


@pytest.mark.parametrize("family", [CorrRR, CondRR, TwoPhaseRSRFD])
def test_a_second_phase_without_users_is_refused(family):
    mechanism, rng = family(k=(2, 2), epsilon=1.0, n1=3), np.random.default_rng(1)
    population = Population.from_counts([[1, 1], [1, 0]])
    for act in (
        lambda: mechanism.perturb(population.users(), rng=rng),
        lambda: mechanism.simulate(population, rng=rng, runs=2),
    ):
        with pytest.raises(ValueError, match="n1 must be below the number of users, 3; got 3"):
            act()
    with pytest.raises(ValueError, match="y must start with the reports of n1 = 3 users"):
        mechanism.estimate((np.zeros((2, 2), dtype=int), np.zeros((2, 2), dtype=int)))


@pytest.mark.parametrize("k", [(2, 3), (1,), 3, (3, 3, 2), (1, 1), ()])
def test_domains_that_differ_or_are_too_few_are_refused(k):
    for family in (lambda k: CorrRR(k=k, epsilon=1.0, n1=2), lambda k: SecondPhase(k=k, epsilon=1.0, reuse=0.5)):
        with pytest.raises((TypeError, ValueError), match="k must"):
            family(k)


@pytest.mark.parametrize(
    "reuse",
    [-0.1, 1.1, math.nan, "best", [[1, 0.5]], [[0.5, 0.5], [0.5, 1]], [[1, 2], [0.5, 1]], [[1, "a"], [0, 1]]],
    ids=str,
)
def test_reuse_probabilities_out_of_range_are_refused(reuse):
    with pytest.raises((TypeError, ValueError), match="reuse must"):
        CorrRR(k=(3, 3), epsilon=1.0, n1=2, reuse=reuse)


def test_moments_without_a_short_form_are_refused():
    mechanism, population = CorrRR(k=(2, 2), epsilon=1.0, n1=1), Population.from_counts([[1, 1], [1, 0]])
    for act in (mechanism.mean, mechanism.variance):
        with pytest.raises(NoExactMoments, match="CorrRR: mean and variance have no closed form here; use simulate"):
            act(population)


def test_frequencies_are_checked():
    for a, b in (([0.5, 0.5], [1, 0, 0]), ([0.5, math.nan], [0.5, 0.5]), (0.5, 0.5), ([1.0], [1.0])):
        with pytest.raises(ValueError, match="f_target and f_pivot must be finite and of one shape"):
            corr_rr.reuse_probability(a, b, n2=10)
    for n2 in (0, 2.5, True, None):
        with pytest.raises(ValueError, match="n2 must be an integer of at least 1; got"):
            corr_rr.reuse_probability([0.5, 0.5], [0.4, 0.6], n2=n2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "n must"),
        ({"d": 1}, "d must"),
        ({"rho": 1.2}, "rho must"),
        ({"frequencies": [0.5, 0.6]}, "frequencies must"),
        ({"frequencies": [1.5, -0.5]}, "frequencies must"),
        ({"rng": 1}, "rng must"),
    ],
    ids=str,
)
def test_synthetic_data_with_bad_arguments_are_refused(change, message):
    good = {"n": 10, "d": 2, "rho": 0.5, "frequencies": [0.5, 0.5], "rng": np.random.default_rng(1)}
    arguments = good | change
    with pytest.raises((TypeError, ValueError), match=message):
        syn_a(arguments["n"], **{name: v for name, v in arguments.items() if name != "n"})


def test_the_shortest_least_squares_by_hand():
    shortest = _least_squares.shortest_least_squares
    cases = [
        ([[1, 1]], [1], (0.5, 0.5)),
        ([[1, 1]], [3], (1, 1)),
        ([[1, 1]], [-3], (-0.5, -0.5)),
        ([[1, 2]], [1], (0.2, 0.4)),
        ([[1, 2]], [2.5], (0.5, 1)),
        ([[1, 2]], [2.8], (0.8, 1)),
        ([[1, 2]], [4], (1, 1)),
        ([[1, -2]], [1], (0.2, -0.4)),
        ([[1, -2]], [1.6], (0.6, -0.5)),
        ([[-2, 1]], [1.6], (-0.5, 0.6)),
        ([[1, 2, 3]], [7], None),
        ([[1, 0], [0, 0]], [0.3, 0.7], (0.3, 0)),
        ([[0, 0], [0, 0]], [0.3, 0.7], (0, 0)),
        ([[1, 0], [0, 1]], [0.25, -7], (0.25, -0.5)),
        ([[1, 0], [0, 1]], [7, -7], (1, -0.5)),
        ([[3, 4], [0, 5]], [5, 20], (1 / 3, 1)),
        ([[1, 1, 0], [0, 0, 2]], [5, 0.5], (1, 1, 0.25)),
        ([[4, 1]], [4.5], None),
    ]
    for a, b, want in cases:
        found = shortest(np.array(a, float), np.array(b, float), -0.5, 1.0)
        if want is None:  # one row: t = a s, cut to the bounds, with the s that reaches b
            row, (goal,) = np.array(a[0], float), b
            steps = np.linspace(0, 3, 300_001)[:, None]
            reached = np.clip(steps * row, -0.5, 1)
            want = reached[np.abs(reached @ row - goal).argmin()]
            assert found == pytest.approx(want, abs=1e-4)
        else:
            assert found == pytest.approx(want, abs=1e-12)


def test_a_few_joint_tables_are_the_shortest_of_the_best():
    """As the slow test of all sets of bounds, for sixteen cases."""
    for f in itertools.islice(reuse_cases(), 16):
        if len(f) <= 4:
            for copies, found in by_all_sets_of_bounds(f, 3):
                assert np.allclose(copies, min(found)[2], rtol=0, atol=1e-8)


def test_bounds_of_joint_reuse_are_probabilities_to_the_last_bit():
    """Opposite attributes copy as little as can be: 1 + (k-1) t is 0, whatever -1 / (k-1) is in floats."""
    for k in range(2, 60):
        up = 1 / k + np.where(np.arange(k) == 0, 0.01, -0.01 / (k - 1))
        table = corr_rr.joint_reuse([up, 2 / k - up], 50)
        assert 0 <= table.min() < 1e-15
        assert corr_rr.joint_reuse([up, up], 50).tolist() == [[1, 1], [1, 1]]
    f = [0.8, 0, 0.2], [0, 0.8, 0.2], [0.6, 0.3, 0.1]  # 1 + (k-1) t may be a bit below 0, which no mechanism takes
    table = corr_rr.joint_reuse(f, 5)
    assert corr_rr.SecondPhase(k=(3,) * 3, epsilon=1.0, reuse=table).reuse == tuple(map(tuple, table.tolist()))


def test_joint_reuse_of_large_and_of_small_deviations_is_that_of_their_directions():
    rows = np.array([[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.2, 0.7]])
    along = 1 / 3 + np.outer([1, 0.5, -0.3, 0.7], [0.31, -0.17, -0.14])  # all on one line
    for f, factor in itertools.product((rows, along), (1e-6, 1e-3, 40.0, 1e6)):
        scaled = 1 / 3 + factor * (f - 1 / 3)
        assert np.allclose(corr_rr.joint_reuse(scaled, 9), corr_rr.joint_reuse(f, 9), rtol=0, atol=1e-9)


def test_a_uniform_attribute_copies_nothing_of_others_that_are_nearly_alike():
    """Counts of a million people: a change of all three copies hardly changes the error, and is still not the best."""
    one = [[333593, 333212, 333195], [333539, 333238, 333223], [333593, 333212, 333195]]
    other = [[2756, 145010, 830183, 22051], [2728, 145140, 830114, 22018], [22051, 830183, 145010, 2756]]
    for counts in (one, other):
        k = len(counts[0])
        f = np.vstack([np.array(counts) / 1e6, np.full(k, 1 / k)])
        assert np.allclose(corr_rr.joint_reuse(f, 3)[:3, 3], 1 / k, rtol=0, atol=1e-9)


def test_the_shortest_least_squares_at_corners():
    """The goal is a corner of the box, where bounds, columns and rows meet in more ways than they need."""
    rng = np.random.default_rng(8)
    shorter = 0
    for _ in range(300):
        a = rng.integers(-3, 4, size=rng.integers(1, (4, 5))).astype(float)
        low = -1 / int(rng.integers(1, 4))
        corner = rng.choice([low, 1.0], size=a.shape[1])
        t = _least_squares.shortest_least_squares(a, a @ corner, low, 1.0)
        assert np.allclose(t, min(all_sets_of_bounds(a, a @ corner, low, 1.0))[2], rtol=0, atol=1e-8)
        shorter += t @ t < corner @ corner - 1e-9
    assert shorter > 50


def test_the_shortest_least_squares_where_sets_of_bounds_could_come_twice():
    a = np.array([[-1, -3, -3, -1, -1, 1, -2, 1], [-3, -2, -1, -2, 0, 1, 0, 2], [2, 1, 3, 2, 0, -1, -2, 3]], float)
    a = np.vstack([a, [1, -3, 1, 2, 3, -1, 0, -1]])
    t = _least_squares.shortest_least_squares(a, np.array([1.0, 3, 3, 4]), -0.2, 1.0)
    assert 25 * np.sum((a @ t - [1, 3, 3, 4]) ** 2) == pytest.approx(32, rel=1e-12)
    assert t @ t < 2.3275  # another best one, 2.33, has all but two of its coordinates at tenths
    assert t[[0, 1, 4, 7]].tolist() == [-0.2, -0.2, 1, 1]
    a, b = np.array([[2.0, -1, -3], [-2, 2, -2]]), np.array([-4.0, -2])
    assert _least_squares.shortest_least_squares(a, b, -1.0, 1.0).tolist() == [-1, -1, 1]


@pytest.mark.parametrize(
    ("c", "want"),
    [
        ((-1.0, 1.0), 0.5),
        ((-0.5, 1.0), 0.25),
        ((1.0, 1.0), 0),
        ((-3.0, 1.0), 1),
        ((-1.0, 0.0), 1),
        ((1.0, 0.0), 0),
        ((0.0, 0.0), 0),
        ((1.0, -1.0), 0),
        ((0.5, -1.0), 1),
        ((1.5, -1.0), 0),
    ],
)
def test_the_best_probability_is_a_vertex_or_an_end(c, want):
    assert _reuse.best_from_0_to_1(*map(np.array, c)) == want


def test_a_pivot_is_uniform_to_within_rounding():
    target, off = np.array([0.7, 0.2, 0.1]), np.array([1.0, -2.0, 1.0])
    for size, want in ((0, 1 / 3), (1e-13, 1 / 3), (1e-9, None)):
        found = corr_rr.reuse_probability(target, 1 / 3 + size * off, n2=50)
        assert (found == 1 / 3) == (want == 1 / 3)
    tables = corr_rr.reuse_probability(np.array([target] * 2), np.array([[1 / 3] * 3, [0.5, 0.3, 0.2]]), n2=50)
    assert tables.tolist() == [1 / 3, 1]


def test_a_reuse_probability_of_one_user_goes_all_the_way():
    """With n2 = 1 the error is linear: c1 = -k product / (k-1)."""
    target, pivot = np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.4, 0.2])
    assert corr_rr.quadratic(target, pivot, 1)[1] == 0
    assert corr_rr.reuse_probability(target, pivot, n2=1) == 1
    assert corr_rr.reuse_probability(2 / 3 - target, pivot, n2=1) == 0
    assert corr_rr.reuse_probability(100 * target, 100 * pivot, n2=1) == 1


@pytest.mark.parametrize("reuse", [0, 1, 0.0, [[1, 0], [1, 1]], np.eye(2)])
def test_reuse_probabilities_may_be_zero_and_one(reuse):
    table = np.array(SecondPhase(k=(2, 2), epsilon=1.0, reuse=reuse).reuse)
    assert np.array_equal(table, np.where(np.eye(2) == 1, 1, reuse))


@pytest.mark.parametrize(
    ("reuse", "told"),
    [
        (-1e-9, "reuse must be 2 by 2 probabilities p_y from 0 to 1; got -1e-09"),
        (1 + 1e-9, "reuse must be 2 by 2 probabilities"),
        ([[1, 0.5], [1.5, 1]], "reuse must be 2 by 2 probabilities"),
        ([[1, 0.5], [-0.5, 1]], "reuse must be 2 by 2 probabilities"),
        ([1, 1], "reuse must be 2 by 2 probabilities"),
        (np.ones((3, 3)), "reuse must be 2 by 2 probabilities"),
        ([[1, 0.5], [0.5, 0.9]], "reuse must have ones on its diagonal"),
        ([[0, 0.5], [0.5, 1]], "reuse must have ones on its diagonal"),
        ("x", "reuse must be None, a number or a 2 by 2 table; got 'x'"),
        (object(), "reuse must be None, a number or a 2 by 2 table"),
    ],
    ids=lambda value: None,
)
def test_reuse_tables_that_are_none_are_refused(reuse, told):
    with pytest.raises((TypeError, ValueError), match=told):
        SecondPhase(k=(3, 3), epsilon=1.0, reuse=reuse)


def test_joint_reuse_of_two_users_is_allowed_and_frequencies_are_finite_rows():
    assert corr_rr.joint_reuse([[0.5, 0.5], [0.25, 0.75]], 2).shape == (2, 2)
    for bad in ([[math.inf, 0.5]], [[[0.5, 0.5]]], [[1.0], [1.0]]):
        with pytest.raises(ValueError, match=r"frequencies must be finite and of shape \(d, k\), k at least 2"):
            corr_rr.joint_reuse(bad, 50)
    for bad in (([0.5, 0.5], [math.inf, 0.5]), ([math.inf, 0.5], [0.5, 0.5]), ([[0.5, 0.5]], [0.5, 0.5])):
        with pytest.raises(ValueError, match="f_target and f_pivot must be finite and of one shape"):
            corr_rr.reuse_probability(*bad, n2=10)
    assert corr_rr.reuse_probability([0.5, 0.5], [0.25, 0.75], n2=1) == 0.5


@pytest.mark.parametrize("mechanism", [
    SecondPhase(k=(3, 3, 3), epsilon=1.5, reuse=[[1, 0.2, 0.9], [0, 1, 0.5], [1, 0.7, 1]]),
    CorrRR(k=(3, 3, 3), epsilon=1.5, n1=5, reuse=[[1, 0.2, 0.9], [0, 1, 0.5], [1, 0.7, 1]]),
], ids=lambda m: type(m).__name__)  # fmt: skip
def test_copies_are_simulated_with_the_stated_moments(mechanism):
    people = Population.from_records(np.array([[0, 1, 2]] * 8 + [[0, 0, 0]] * 5 + [[2, 1, 1]]), k=(3, 3, 3))
    mean, variance = np.hstack(mechanism.mean(people)), np.hstack(mechanism.variance(people))
    runs = np.hstack(mechanism.simulate(people, rng=np.random.default_rng(1), runs=4_000))
    assert check.mean_z(runs, mean) < 5 < check.mean_z(runs, mean + 0.2 * np.sqrt(variance))
    assert check.variance_z(runs, variance) < 5 < check.variance_z(runs, 1.2 * variance)


def test_reports_of_the_second_phase_follow_its_channel():
    mechanism = SecondPhase(k=(3, 3, 3), epsilon=1.5, reuse=[[1, 0.2, 0.9], [0, 1, 0.5], [1, 0.7, 1]])
    reports, matrix = all_records(3, 3), mechanism.channel()
    for record in ((0, 1, 2), (2, 0, 0)):
        y = mechanism.perturb(np.tile(record, (4_000, 1)), rng=np.random.default_rng(2))
        row = reports.index(record)
        assert check.law_z(y, dict(zip(reports, matrix[row], strict=True))) < 5
        assert check.law_z(y, dict(zip(reports, matrix[row - 1], strict=True))) > 5


def test_both_phases_of_corr_rr_report_every_user_once():
    x = np.repeat([[0, 0], [1, 1], [2, 2]], [10, 20, 30], axis=0)
    mechanism = CorrRR(k=(3, 3), epsilon=300.0, n1=0.25, reuse=1)  # all tell the truth
    first, second = mechanism.perturb(x, rng=np.random.default_rng(1))
    assert (first.shape, second.shape) == ((15, 2), (45, 2))
    assert np.array_equal(np.sort(np.concatenate([first, second]), axis=0), x)
    assert np.hstack(mechanism.estimate((first, second))) == pytest.approx(np.array([1, 2, 3] * 2) / 6)
    learned = CorrRR(k=(3, 3), epsilon=300.0, n1=0.25)
    _, copied = learned.perturb(x, rng=np.random.default_rng(1))
    assert np.array_equal(copied[:, 0], copied[:, 1])  # alike in the first phase: always copied


def test_the_second_phase_s_default_copies_tell_nothing():
    assert np.array(SecondPhase(k=(4, 4), epsilon=1.0).reuse_).tolist() == [[1, 0.25], [0.25, 1]]
    channel = SecondPhase(k=(2, 2), epsilon=1.0).channel()
    assert channel[0] == pytest.approx([0.5 * math.e / (1 + math.e), 0.25, 0.25, 0.5 / (1 + math.e)])


@pytest.mark.parametrize("k", [(2,) * 12, (46, 46)])
def test_channels_of_corr_rr_that_are_too_large_are_refused_by_their_numbers(k):
    size = math.prod(k)
    with pytest.raises(ValueError, match=f"{size} rows and {size} columns"):
        SecondPhase(k=k, epsilon=1.0).channel()
    for wrong in (CorrRR(k=k, epsilon=1.0), CorrRR(k=k, epsilon=1.0, reuse=0.5), CondRR(k=k, epsilon=1.0)):
        with pytest.raises(ValueError, match=f"{type(wrong).__name__} has no channel of one user"):
            wrong.channel()


@pytest.mark.parametrize("family", [CorrRR, CondRR, TwoPhaseRSRFD])
def test_the_least_number_of_users_leaves_one_for_the_second_phase(family):
    for n1, least in ((0.1, 2), (0.99, 2), (1, 2), (7, 8)):
        mechanism, rng = family(k=(2, 2), epsilon=1.0, n1=n1), np.random.default_rng(1)
        assert mechanism.least_users == least
        y = mechanism.perturb(np.zeros((least, 2), int), rng=rng)
        assert len(y[1]) == 1
        assert np.isfinite(np.hstack(mechanism.estimate(y))).all()
        with pytest.raises(ValueError, match="users"):
            mechanism.perturb(np.zeros((least - 1, 2), int), rng=rng)


# Cond-RR.


def test_expected_reports_of_values_without_mass_give_exact_conditionals():
    joint = np.array([[0.3, 0.0, 0.7], [0.0, 0.0, 0.0]])
    mechanism = CondRR(k=(2, 3), epsilon=1.5)
    tables = 1_000 * (joint.ravel() @ splitting.channel(math.exp(0.75), (2, 3)).astype(float)).reshape(1, 2, 3)
    laws = mechanism.conditionals({(0, 1): tables})
    assert laws[0, 1][0] == pytest.approx(np.array([[0.3, 0, 0.7], [1 / 3] * 3]), abs=1e-12)
    assert laws[0, 1][0][0, 1] == 0
    assert laws[1, 0][0].tolist() == [[1, 0], [0.5, 0.5], [1, 0]]


def test_what_is_not_given_has_its_default():
    assert repr(CondRR(k=(2, 3), epsilon=1.0)) == "CondRR(k=(2, 3), epsilon=1.0, n1=0.1, debias=True)"
    assert repr(CorrRR(k=(2, 2), epsilon=1.0)) == "CorrRR(k=(2, 2), epsilon=1.0, n1=0.1, reuse=None)"
    assert repr(TwoPhaseRSRFD(k=(2, 3), epsilon=1.0)) == "TwoPhaseRSRFD(k=(2, 3), epsilon=1.0, n1=0.1)"
    assert not AppendixCorrRR(k=(2, 2), epsilon=1.0).exchanged


def test_each_way_serves_its_domains_and_says_whether_it_has_moments():
    people = Population.from_counts([[3, 1], [1, 2]])
    for family, one, unequal in ((CondRR, True, True), (CorrRR, True, False), (SecondPhase, True, False),
                                 (TwoPhaseRSRFD, True, True)):  # fmt: skip
        assert [family.serves(k) for k in ((2, 2), (3,), (2, 3), (1, 2), 2)] == [True, one, unequal, False, False]
    for mechanism in (CondRR(k=(2, 2), epsilon=1.0), CorrRR(k=(2, 2), epsilon=1.0)):
        assert mechanism.has_exact_moments is False
        for moment in (mechanism.mean, mechanism.variance):
            with pytest.raises(NoExactMoments):
                moment(people)
    assert SecondPhase(k=(2, 2), epsilon=1.0).has_exact_moments is True
    assert CorrRR(k=(2, 2), epsilon=1.0, reuse=0.5).has_exact_moments is True


def test_copies_are_undone_exactly_where_the_conditionals_allow():
    """What pivots of unequal domains report on average, passed on by known conditionals, and back."""
    k, rng = (2, 3, 4), np.random.default_rng(3)
    laws = {(j, m): rng.dirichlet(np.ones(k[m]), size=(2, k[j])) for j, m in itertools.permutations(range(3), 2)}
    truth = [rng.dirichlet(np.ones(size), size=2) for size in k]
    shares = []
    for m in range(3):
        parts = [truth[j] if j == m else np.einsum("rj,rjm->rm", truth[j], laws[j, m]) for j in range(3)]
        shares.append(sum(parts) / 3)
    for found, want in zip(cond_rr._undo_copies(shares, laws, k), truth, strict=True):
        assert found == pytest.approx(want, abs=1e-10)


@pytest.mark.parametrize(("t", "seen"), [(0.8, True), (0.83, False), (-0.8, True), (-0.83, False), (9 / 11, False)])
def test_directions_that_copies_hide_stay_uniform(t, seen):
    """Two bits that copy each other: singular values are as 1 + t to 1 - t, and a tenth of the largest is the limit."""
    law = np.array([[[1 + t, 1 - t], [1 - t, 1 + t]]]) / 2
    truth = [np.array([[0.9, 0.1]]), np.array([[0.6, 0.4]])]
    shares = [(truth[m] + truth[1 - m] @ law[0]) / 2 for m in (0, 1)]
    found = np.concatenate(cond_rr._undo_copies(shares, {(0, 1): law, (1, 0): law}, (2, 2)))
    sign = np.sign(t)
    middle = (0.4 + sign * 0.1) / 2  # of the deviations 0.4 and 0.1, what the copies show
    want = [0.4, 0.1] if seen else [middle, sign * middle]
    assert found[:, 0] - 0.5 == pytest.approx(want, abs=1e-12)
    assert found.sum(axis=1) == pytest.approx(1)


def test_a_pair_s_reports_are_counted_by_run():
    reports = np.array([[0, 2, 1], [1, 0, 0], [1, 0, 3], [0, 2, 1]])
    for some in [(0,), (2,), (0, 1), (0, 2), (1, 2)]:
        want = np.zeros((2, *((2, 3, 4)[j] for j in some)), int)
        for i, row in enumerate(reports):
            want[(i // 2, *row[list(some)])] += 1
        assert (cond_rr._count(reports, (2, 3, 4), some, runs=2) == want).all()


@pytest.mark.parametrize("n1", [3, 30])  # below and above the number of records, 24
def test_cond_rr_s_first_phase_counts_each_attribute(n1):
    k, mechanism = (2, 3, 4), CondRR(k=(2, 3, 4), epsilon=60.0, n1=n1)
    records = np.array([[0, 2, 3], [1, 0, 1]])
    sets, chosen = [(0,), (1,), (2,), (0, 2), (1, 2)], np.array([[n1 - 1, 1], [1, n1 - 1]])
    *singles, first, last = mechanism._count_first(records, chosen, sets, np.random.default_rng(1))
    for j in range(3):  # at this budget all tell the truth
        want = np.zeros((2, k[j]), int)
        want[:, records[0, j]] += [n1 - 1, 1]
        want[:, records[1, j]] += [1, n1 - 1]
        assert (singles[j] == want).all()
    assert first[0, 0, 3] == n1 - 1
    assert last[1, 0, 1] == n1 - 1


def test_cond_rr_s_blocks_of_runs_change_nothing(monkeypatch):
    people, how = Population.from_counts([[9, 4, 0], [1, 3, 8]]), {"runs": 60}
    for n1 in (4, 9):
        mechanism = CondRR(k=(2, 3), epsilon=3.0, n1=n1)
        whole = mechanism.simulate(people, rng=np.random.default_rng(1), **how)
        monkeypatch.setattr(cond_rr, "BLOCK", 1)
        single = mechanism.simulate(people, rng=np.random.default_rng(1), **how)
        monkeypatch.undo()
        assert [part.shape for part in single] == [part.shape for part in whole] == [(60, 2), (60, 3)]
        for a, b in zip(single, whole, strict=True):
            error = np.sqrt((a.var(axis=0) + b.var(axis=0)) / 60)
            assert (np.abs(a.mean(axis=0) - b.mean(axis=0)) < 5 * error).all()


@pytest.mark.parametrize("debias", [True, False])
def test_cond_rr_at_a_large_budget_tells_the_truth(debias):
    """Two attributes that are the same for all: copies are exact, whoever is the pivot, so they cannot be undone."""
    x = np.repeat([[0, 2], [1, 1], [1, 0]], [10, 20, 30], axis=0)
    mechanism, rng = CondRR(k=(2, 3), epsilon=300.0, n1=30, debias=debias), np.random.default_rng(1)
    first, second = mechanism.perturb(x, rng=rng)
    both = np.concatenate([first, second])
    seen = {tuple(row) for row in both.tolist()}
    assert seen == {(0, 2), (1, 1), (1, 0)}  # a copy is drawn from what the first phase saw
    assert first.shape == (30, 2)
    estimate = mechanism.estimate((first, second))
    if not debias:
        for j, found in enumerate(estimate):
            assert found == pytest.approx(np.bincount(both[:, j], minlength=(2, 3)[j]) / 60, abs=1e-12)


def test_cond_rr_s_first_phase_is_simulated_without_bias():
    """Of 60 users two are in the second phase."""
    people = Population.from_records(np.array([[0, 2]] * 40 + [[1, 0]] * 20), k=(2, 3))
    runs = np.hstack(CondRR(k=(2, 3), epsilon=3.0, n1=58).simulate(people, rng=np.random.default_rng(1), runs=400))
    assert np.abs(runs.mean(axis=0) - np.array([2, 1, 1, 0, 2]) / 3).max() < 0.05


def test_debias_is_true_or_false():
    for wrong in (1, None, "yes"):
        with pytest.raises(TypeError, match="debias must be True or False; got"):
            CondRR(k=(2, 2), epsilon=1.0, debias=wrong)


# Synthetic data.


def test_synthetic_data_take_the_ends_of_their_ranges():
    rng = np.random.default_rng(1)
    for rho in (0, 1):
        people = syn_a(1, d=2, rho=rho, frequencies=[0.0, 1.0], rng=rng)
        assert (people.n, people.k) == (1, (2, 2))
        assert people.histogram[1].sum() == 1
    assert syn_a(50, d=4, rho=1, frequencies=[0.2, 0.3, 0.5], rng=rng).histogram[0, 1, 0, 0] == 0
    assert syn_a(5, d=3, rho=0.5, frequencies=np.array([0.5, 0.5 + 9e-10]), rng=rng).n == 5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": True}, "n must be an integer of at least 1; got True"),
        ({"n": 2.0}, "n must be an integer of at least 1"),
        ({"d": np.bool_(True)}, "d must be an integer of at least 2"),
        ({"rho": -0.01}, "rho must be from 0 to 1; got -0.01"),
        ({"rho": 1.01}, "rho must be from 0 to 1"),
        ({"frequencies": [[0.5, 0.5]]}, "frequencies must be at least two"),
        ({"frequencies": [1.0]}, "frequencies must be at least two"),
        ({"frequencies": [0.5, 0.5 + 3e-9]}, "frequencies must be at least two"),
        ({"frequencies": [-1e-3, 1 + 1e-3]}, "frequencies must be at least two"),
        ({"frequencies": [math.nan, 0.5]}, "frequencies must be at least two"),
    ],
    ids=str,
)
def test_synthetic_data_outside_their_ranges_are_refused(change, message):
    good = {"n": 10, "d": 2, "rho": 0.5, "frequencies": [0.5, 0.5], "rng": np.random.default_rng(1)} | change
    with pytest.raises(ValueError, match=message):
        syn_a(good.pop("n"), **good)


@pytest.mark.parametrize("rho", [-0.01, 2, math.nan, Fraction(3, 2)])
def test_a_tree_copies_with_a_probability(rho):
    with pytest.raises(ValueError, match="rho must be from 0 to 1; got"):
        tree_law([0.5, 0.5], rho, [0])


@pytest.mark.parametrize(("k", "d", "epsilon", "runs"), [(2, 2, 8.0, 20_000), (3, 4, 0.5, 4_000)])
def test_errors_with_the_second_phase_s_noise_taken_out_have_the_mean_of_simulated_ones(k, d, epsilon, runs):
    rng = np.random.default_rng(4)
    people = syn_a(2_000, d=d, rho=0.5, frequencies=np.arange(k, 0, -1) / (k * (k + 1) / 2), rng=rng)
    one = {"k": people.k, "epsilon": epsilon, "n1": 0.3}
    table = np.where(np.eye(d) == 1, 1, rng.random((d, d)))
    known = CorrRR(**one, reuse=table)
    errors = expected_errors(known, people, rng=rng, runs=1_000)
    exact = expected_error(known, people)
    assert check.mean_z(errors, exact) < 5 < check.mean_z(errors, 1.1 * exact)
    for family in (CorrRR, AppendixCorrRR):
        errors = expected_errors(family(**one), people, rng=rng, runs=2_000)
        drawn = phase_errors(family(**one), people, rng=rng, runs=runs)
        noise = math.hypot(errors.std() / 2_000**0.5, drawn.std() / runs**0.5)
        assert abs(errors.mean() - drawn.mean()) < 5 * noise < 0.1 * drawn.mean()
        assert errors.std() < drawn.std() / 1.2

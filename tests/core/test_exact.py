"""Exact facts by enumeration, in rational numbers: every comparison is ==."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from ldp_lib import channel, check, grr, hashing, pure, unary
from ldp_lib.population import Population

RATIOS = [Fraction(3), Fraction(5, 2), Fraction(9, 4)]


def pure_moments(matrix, x, k, p, q, supports):
    """Exact mean and covariance of the debiased counts; `supports(v, y)` says whether report y supports value v."""

    def statistic(reports):
        counts = [sum(supports(v, y) for y in reports) for v in range(k)]
        return [pure.estimate(Fraction(count), len(x), p, q) for count in counts]

    return channel.exact_moments(matrix, x, statistic)


def frequencies(x, k):
    return [Fraction(x.count(v), len(x)) for v in range(k)]


@pytest.mark.parametrize("e", RATIOS)
@pytest.mark.parametrize("k", [2, 3, 4])
def test_grr_moments_and_budget_are_exact(e, k):
    x = [0, 0, 1, k - 1]
    p, q = grr.probabilities(e, k)
    matrix = grr.channel(e, k)
    assert all(sum(row) == 1 for row in matrix)
    assert channel.privacy_ratio(matrix) == e
    mean, covariance = pure_moments(matrix, x, k, p, q, lambda v, y: v == y)
    f = frequencies(x, k)
    assert list(mean) == f
    assert list(np.diag(covariance)) == [pure.variance(share, len(x), p, q) for share in f]
    assert (covariance == grr.covariance(f, len(x), e)).all()
    assert (grr.channel(e, k) @ grr.inverse(e, k) == np.eye(k, dtype=int)).all()


@pytest.mark.parametrize("e", RATIOS)
def test_grr_moments_are_exact_for_users_drawn_at_random(e):
    f, n = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], 4
    p, q = grr.probabilities(e, 3)
    report_law = np.array([f]) @ grr.channel(e, 3)
    mean, covariance = pure_moments(report_law, [0] * n, 3, p, q, lambda v, y: v == y)
    assert list(mean) == f
    assert list(np.diag(covariance)) == [pure.iid_variance(share, n, p, q) for share in f]


@pytest.mark.parametrize("r", [Fraction(2), Fraction(3, 2)])
@pytest.mark.parametrize("kind", ["SUE", "OUE", "other"])
def test_unary_moments_and_budget_are_exact(r, kind):
    e, k, x = r**2, 3, [0, 0, 2]
    p, q = {
        "SUE": unary.sue_probabilities(r),
        "OUE": unary.oue_probabilities(e),
        "other": unary.probabilities(e, Fraction(1, 7)),
    }[kind]
    matrix = unary.channel(p, q, k)
    assert all(sum(row) == 1 for row in matrix)
    assert channel.privacy_ratio(matrix) == e
    mean, covariance = pure_moments(matrix, x, k, p, q, lambda v, y: y >> v & 1)
    f = frequencies(x, k)
    assert list(mean) == f
    assert list(np.diag(covariance)) == [pure.variance(share, len(x), p, q) for share in f]
    off_diagonal = covariance - np.diag(np.diag(covariance))
    assert (off_diagonal == 0).all()  # so `simulate` may draw the values independently


SEEDS = np.array(list(itertools.product(range(7), repeat=4)))  # all of them, for the prime 7


def test_four_hashes_are_independent_over_all_seeds_and_five_are_not():
    hashes = [hashing.hash_values(SEEDS, v, 7, prime=7).astype(int) for v in range(7)]
    for four in itertools.combinations(hashes, 4):
        assert (np.bincount(np.ravel_multi_index(four, (7,) * 4), minlength=7**4) == 1).all()
    assert np.bincount(np.ravel_multi_index(hashes[:5], (7,) * 5)).max() == 1  # of 7**5 cells, 7**4 occur
    assert sorted(hashing._points(range(7), prime=7)) == list(range(7))


@pytest.mark.parametrize("g", [2, 3, 4, 5])
def test_olh_support_probabilities_are_exact_over_all_seeds(g):
    e, k = Fraction(3), 3
    stay, leave = grr.probabilities(e, g)
    p, q = hashing.probabilities(e, g)
    hashes = [hashing.hash_values(SEEDS, v, g, prime=7).astype(int) for v in range(k)]
    sizes = np.bincount(np.arange(7) * g // 7, minlength=g)  # buckets are as even as 7 numbers can be
    shared = sum(Fraction(int(size), 7) ** 2 for size in sizes)
    for x in range(k):
        for v in range(k):
            # Given the seed, the reported bucket is v's with probability `stay` if v and x collide, else `leave`.
            together = Fraction(int((hashes[v] == hashes[x]).sum()), len(SEEDS))
            assert together == (1 if v == x else shared)
    assert shared * stay + (1 - shared) * leave - q == (stay - leave) * (shared - Fraction(1, g))
    assert 0 <= shared - Fraction(1, g) <= Fraction(g, 4 * 49)  # in general: at most g / (2 * prime)**2
    # The seed says nothing about x. Given the seed, x's row is GRR's row for x's bucket.
    collisions = np.unique(np.stack(hashes), axis=1).T
    ratios = {channel.privacy_ratio(grr.channel(e, g)[buckets]) for buckets in collisions}
    assert max(ratios) == e == p * (1 - q) / (q * (1 - p))


def test_simulate_follows_the_exact_law():
    population, e = Population.from_counts([2, 1, 0]), 3.0
    epsilon = float(np.log(e))
    cases = [
        (grr.GRR(k=3, epsilon=epsilon), grr.channel(Fraction(3), 3), lambda v, y: v == y),
        (
            unary.OUE(k=3, epsilon=epsilon),
            unary.channel(*unary.oue_probabilities(Fraction(3)), 3),
            lambda v, y: y >> v & 1,
        ),
    ]
    for mechanism, matrix, supports in cases:
        p, q = mechanism.probabilities

        def statistic(reports, supports=supports, p=p, q=q):
            counts = [sum(bool(supports(v, y)) for y in reports) for v in range(3)]
            return [pure.estimate(count, 3, p, q) for count in counts]

        x = [int(v) for v in population.users()]
        law = channel.exact_law(matrix, x, statistic)
        runs = mechanism.simulate(population, rng=np.random.default_rng(1), runs=20_000)
        assert check.law_z(runs, law) < 5
        other = channel.exact_law(matrix, [0, 1, 1], statistic)
        assert check.law_z(runs, other) > 5
        rng = np.random.default_rng(2)
        users = np.array([mechanism.estimate(mechanism.perturb(x, rng=rng)) for _ in range(5_000)])
        assert check.law_z(users, law) < 5
        assert check.law_z(users, other) > 5


def test_one_definition_serves_floats_arrays_fractions_and_symbols():
    e, _k = sp.symbols("e k", positive=True)
    for formula, point in [
        (lambda t: grr.probabilities(t, 4), 3),
        (lambda t: hashing.probabilities(t, 4), 3),
        (lambda t: unary.oue_probabilities(t), 3),
        (lambda t: unary.sue_probabilities(t), 2),
        (lambda t: (pure.variance(t / 7, 5, *grr.probabilities(t, 4)),), 3),
        (lambda t: (pure.iid_variance(t / 7, 5, *grr.probabilities(t, 4)),), 3),
        (lambda t: (pure.estimate(t, 5, *grr.probabilities(t, 4)),), 3),
    ]:
        exact = formula(Fraction(point))
        assert all(isinstance(value, Fraction) for value in exact)
        assert [sp.Rational(v.numerator, v.denominator) for v in exact] == [
            sp.nsimplify(value.subs(e, point)) for value in map(sp.sympify, formula(e))
        ]
        assert np.allclose(formula(float(point)), [float(v) for v in exact], rtol=1e-14, atol=0)
        arrays = formula(np.array([float(point), 5.0]))
        assert all(np.broadcast_shapes(np.shape(array), (2,)) == (2,) for array in arrays)
        assert np.allclose([array[0] for array in arrays], [float(v) for v in exact], rtol=1e-14, atol=0)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 2.0, 3.3, 5.0])
def test_optimal_g_beats_every_other_number_of_buckets(epsilon):
    e = np.exp(epsilon)
    best = hashing.optimal_g(e)
    buckets = np.arange(2, 400)
    p, q = hashing.probabilities(e, buckets)
    assert buckets[np.argmin(pure.variance(0, 1, p, q))] == best


def test_the_float_mechanisms_spend_their_budget():
    for mechanism, matrix in [
        (grr.GRR(k=4, epsilon=1.3), grr.channel(np.exp(1.3), 4)),
        (unary.SUE(k=3, epsilon=1.3), unary.channel(*unary.SUE(k=3, epsilon=1.3).probabilities, 3)),
        (unary.OUE(k=3, epsilon=1.3), unary.channel(*unary.OUE(k=3, epsilon=1.3).probabilities, 3)),
    ]:
        assert np.log(channel.privacy_ratio(matrix)) == pytest.approx(mechanism.epsilon, rel=1e-12)


def test_symmetric_and_optimized_unary_encoding_are_the_ones_of_the_literature():
    epsilon = 1.3
    assert unary.SUE(k=3, epsilon=epsilon).probabilities == pytest.approx(
        unary.sue_probabilities(np.exp(epsilon / 2)), rel=1e-12
    )
    assert sum(unary.SUE(k=3, epsilon=epsilon).probabilities) == pytest.approx(1, rel=1e-12)
    assert unary.OUE(k=3, epsilon=epsilon).probabilities == pytest.approx((0.5, 1 / (np.exp(epsilon) + 1)), rel=1e-12)

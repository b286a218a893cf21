"""One attribute, everything public: the ends of all ranges give right numbers or a clear error, never NaN."""

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_lib import GRR, OLH, OUE, RR, SUE, Population, UnaryEncoding, channel, grr, hashing, pure, unary

ENDS = [1e-9, 1e-6, np.nextafter(1e-9, 1), 1.0, 37.0, 50.0, 74.0, 700.0]
epsilons = st.one_of(st.sampled_from(ENDS), st.floats(-20.7, 6.55).map(math.exp))
kinds = st.sampled_from([GRR, SUE, OUE, UnaryEncoding, OLH])
sizes = st.one_of(st.sampled_from([2, 3, 255, 256, 257, 65_535, 65_536, 65_537, 10**6]), st.integers(2, 40))


@given(kinds, epsilons, sizes)
def test_probabilities_are_probabilities_and_the_own_value_has_the_larger(kind, epsilon, k):
    mechanism = kind(k=k, epsilon=epsilon)
    p, q = mechanism.probabilities
    assert 0 < q < p <= 1
    assert 0 <= mechanism.realised_epsilon() <= epsilon


@given(kinds, epsilons, st.integers(2, 6), st.lists(st.integers(0, 3), min_size=6, max_size=6).filter(any))
def test_moments_and_simulated_estimates_are_finite_at_any_size(kind, epsilon, k, counts):
    if not any(counts[:k]):
        counts[0] = 1
    mechanism, rng = kind(k=k, epsilon=epsilon), np.random.default_rng(1)
    for scale in (1, 2_000_000_011, 2**48):
        population = Population.from_counts(np.array(counts[:k]) * scale)
        variance = mechanism.variance(population)
        assert (variance >= 0).all()
        assert np.isfinite(variance).all()
        assert mechanism.mean(population).sum() == pytest.approx(1, rel=1e-12)
        runs = mechanism.simulate(population, rng=rng, runs=20)
        # Twenty draws within 12 standard deviations, or a few people more or less.
        unit = 12 / (population.n * np.subtract(*mechanism.probabilities))
        assert (np.abs(runs - mechanism.mean(population)) < 12 * np.sqrt(variance) + unit).all()


@given(kinds, epsilons, st.integers(2, 9), st.integers(1, 3))
def test_a_few_users_reports_give_a_finite_estimate(kind, epsilon, k, n):
    mechanism, rng = kind(k=k, epsilon=epsilon), np.random.default_rng(2)
    for dtype in (np.uint8, np.int64, ">i4"):
        y = mechanism.perturb(np.full(n, k - 1, dtype), rng=rng)
        assert np.isfinite(mechanism.estimate(y)).all()
    if k <= 4 and kind is not OLH:
        ratio = channel.privacy_ratio(mechanism.channel())
        assert 0 <= math.log(ratio) <= epsilon + 1e-9


def test_large_budgets_report_the_truth():
    rng, x = np.random.default_rng(3), np.arange(5).repeat(200)
    assert np.array_equal(GRR(k=5, epsilon=700.0).perturb(x, rng=rng), x)
    assert np.array_equal(SUE(k=5, epsilon=700.0).perturb(x, rng=rng), np.eye(5, dtype=np.uint8)[x])
    ones = OUE(k=5, epsilon=700.0).perturb(x, rng=rng)
    assert not ones[np.eye(5)[x] == 0].any()
    assert 400 < ones.sum() < 600  # the own bit stays a fair coin
    buckets = OLH(k=5, epsilon=700.0).perturb(x, rng=rng)
    assert np.array_equal(buckets["y"], hashing.hash_values(buckets["seed"], x, 2**20))


@pytest.mark.parametrize("kind", [GRR, SUE, OUE, UnaryEncoding, OLH])
@pytest.mark.parametrize(
    ("k", "epsilon"),
    [
        (2**65, 1.0), (2**32 + 1, 1.0), (1, 1.0), (0, 1.0), (-5, 1.0), (3, 0.0), (3, -1.0), (3, np.nextafter(1e-9, 0)),
        (3, np.nextafter(700, 701)), (3, math.inf), (3, math.nan), (3, 10**400), (3, sys.float_info.min),
    ],
)  # fmt: skip
def test_what_lies_outside_is_refused_by_name(kind, k, epsilon):
    name = "k" if epsilon == 1.0 else "epsilon"
    with pytest.raises(ValueError, match=rf"{name} must be .* from .*; got"):
        kind(k=k, epsilon=epsilon)


@pytest.mark.parametrize(("epsilon", "q"), [(1.0, 5e-324), (1e-9, 1 - 2**-53), (1e-9, 1e-40), (700.0, 1 - 2**-53)])
def test_bits_that_tell_nothing_are_refused(epsilon, q):
    with pytest.raises(ValueError, match="q must be such that p and q differ in floating point; got"):
        UnaryEncoding(k=3, epsilon=epsilon, q=q)


@given(st.fractions(1, 1000).filter(lambda e: e > 1), st.integers(2, 10**6), st.fractions(0, 1), st.integers(1, 10**12))
def test_formulas_stay_in_their_ranges_exactly(e, k, f, n):
    pairs = [grr.probabilities(e, k), unary.oue_probabilities(e), unary.sue_probabilities(e)]
    pairs += [hashing.probabilities(e, hashing.optimal_g(e)), hashing.probabilities(e, min(k, 2**20))]
    for p, q in pairs:
        assert 0 < q < p < 1
        least = pure.variance(f, n, p, q)
        assert 0 < least <= pure.iid_variance(f, n, p, q)
        assert pure.estimate(n * (f * p + (1 - f) * q), n, p, q) == f


def test_randomized_response_is_for_two_values():
    assert RR(epsilon=1.0) == RR(k=2, epsilon=1.0)
    with pytest.raises(ValueError, match="k must be 2 for randomized response; got 3"):
        RR(k=3, epsilon=1.0)

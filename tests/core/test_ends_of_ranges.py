"""Mechanisms for several attributes at the ends of their ranges: no NaN, no negative variance, no lost coin."""

import itertools
import math
import tracemalloc

import numpy as np
import pytest

import ldp_lib
from ldp_lib import fake_data, splitting
from ldp_lib.mechanism import NoExactMoments
from ldp_lib.population import Population
from ldp_lib.splitting import allocation
from ldp_lib.tables import product

SEVERAL = [
    ldp_lib.SPL,
    ldp_lib.BRR,
    ldp_lib.MRR,
    ldp_lib.OBRR,
    ldp_lib.OMRR,
    ldp_lib.RSFD,
    ldp_lib.RSRFD,
    ldp_lib.TwoPhaseRSRFD,
    ldp_lib.RRIndependent,
    ldp_lib.RRJoint,
    ldp_lib.RRClusters,
    ldp_lib.ProductRR,
]
DOMAINS = [(2,), (2, 2), (1_000,), (2, 1_000), (2,) * 12, (3, 2, 500)]
BUDGETS = [1e-6, np.nextafter(1e-6, 0), 0.1, 1.0, 50.0, 700.0, np.nextafter(700, 0)]
each_class = pytest.mark.parametrize("cls", SEVERAL, ids=lambda cls: cls.__name__)


@each_class
@pytest.mark.parametrize("k", DOMAINS, ids=str)
def test_estimates_and_variances_are_finite_at_every_budget(cls, k):
    assert cls.serves(k)
    ends = np.array([[0] * len(k), [size - 1 for size in k]])
    for epsilon, n in itertools.product(BUDGETS, (2, 5)):
        mechanism, rng = cls(k=k, epsilon=epsilon), np.random.default_rng(1)
        x = ends[np.arange(n) % 2]
        population = Population.from_records(x, k=k)
        assert all(np.isfinite(part).all() for part in mechanism.estimate(mechanism.perturb(x, rng=rng)))
        assert all(np.isfinite(part).all() for part in mechanism.simulate(population, rng=rng, runs=3))
        try:
            variances = mechanism.variance(population)
        except NoExactMoments:
            continue
        assert all(np.isfinite(part).all() and (part >= 0).all() for part in variances)


@each_class
def test_budgets_outside_their_range_are_refused_by_name(cls):
    for epsilon in (0, -1.0, math.nan, math.inf, 1e-10, np.nextafter(700, 701), True, "1", None):
        with pytest.raises((TypeError, ValueError), match="epsilon must be"):
            cls(k=(2, 3), epsilon=epsilon)


@each_class
def test_a_large_budget_reports_the_truth(cls):
    """At 690 a report lies once in exp(86) or less; only sampled attributes and fakes stand between it and the data."""
    k = (2, 3, 4, 2)
    x = np.random.default_rng(1).integers(2, size=(50, 4))
    mechanism = cls(k=k, epsilon=690.0)
    estimate = mechanism.estimate(mechanism.perturb(x, rng=np.random.default_rng(2)))
    if cls not in (ldp_lib.RSFD, ldp_lib.RSRFD, ldp_lib.TwoPhaseRSRFD):
        for j, part in enumerate(estimate):
            assert np.allclose(part, np.bincount(x[:, j], minlength=k[j]) / 50, rtol=0, atol=1e-12)


@pytest.mark.parametrize("k", [(2, 10**6), (10**6,), (2,) * 1000], ids=["two sizes", "one attribute", "a thousand"])
def test_splits_stay_within_the_budget_at_the_ends(k):
    for split, epsilon in itertools.product(
        (splitting.brr, splitting.mrr, splitting.obrr, splitting.omrr), (1.1e-6, 1.0, 700.0)
    ):
        budgets = split(k, epsilon)
        assert budgets.min() >= allocation.LEAST
        assert epsilon * (1 - 1e-9) <= math.fsum(budgets) <= epsilon


def test_formulas_give_probabilities_and_ratios_of_at_least_one():
    for e, k, d in itertools.product((1 + 1e-9, math.e, 1e300), (2, 10**6), (1, 2, 100)):
        for prior in (0.0, 0.5, 1.0):
            own, other = fake_data.probabilities(e, k, d, prior)
            assert 0 <= other <= own <= 1
        assert fake_data.amplified(e, d) >= e * (1 - 1e-12)
    for epsilon, k in itertools.product((1e-9, 1e-3, 1.0, 700.0), (2, 10**6, 2**60)):
        assert 0 < product.keep_probability(epsilon, k) <= 1


@pytest.mark.parametrize("epsilon", [40.0, 50.0, 700.0])
@pytest.mark.parametrize("cls", [ldp_lib.OneQuestion, ldp_lib.AskSome])
def test_where_no_noise_is_left_rounding_makes_no_variance_negative(cls, epsilon):
    for k, n in itertools.product([(5,), (2, 3), (2, 3, 4), (3, 7)], (3, 10, 1_000)):
        mechanism, people = cls(k=k, epsilon=epsilon, groups=False), Population.from_records([[1] * len(k)] * n, k=k)
        assert min(part.min() for part in mechanism.variance(people)) >= 0


def test_a_channel_that_rules_out_a_report_spends_an_infinite_budget():
    matrix = np.array([[1, 0, 0], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    for mechanism in (ldp_lib.RRJoint(k=(3,), matrix=matrix), ldp_lib.ProductRR(k=(3, 2), channels=(matrix, 1.0))):
        assert mechanism.realised_epsilon() == mechanism.epsilon == math.inf


@pytest.mark.parametrize("cls", [ldp_lib.RSFD, ldp_lib.TwoPhaseRSRFD, ldp_lib.SPL, ldp_lib.RRIndependent])
def test_memory_does_not_grow_with_the_square_of_a_domain(cls):
    k = (50_000, 2)  # a table of values times values would have 20 GB
    people = Population(records=[[0, 0], [49_999, 1]], counts=[2_500, 2_500], k=k)
    tracemalloc.start()
    cls(k=k, epsilon=2.0).simulate(people, rng=np.random.default_rng(1), runs=2)
    assert tracemalloc.get_traced_memory()[1] < 10**8
    tracemalloc.stop()


def test_variances_of_copies_need_no_square_of_a_domain_either():
    k = (50_000, 50_000)
    people, tables = Population(records=[[0, 0], [49_999, 1]], counts=[2_500, 2_500], k=k), []
    tracemalloc.start()
    for mechanism in (ldp_lib.SecondPhase(k=k, epsilon=2.0), ldp_lib.CorrRR(k=k, epsilon=2.0, reuse=0.5)):
        tables += mechanism.variance(people)
    assert tracemalloc.get_traced_memory()[1] < 10**8
    tracemalloc.stop()
    assert min(part.min() for part in tables) > 0

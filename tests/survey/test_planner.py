"""Intervals cover as often as they say, and the planned number of users is enough and no more."""

import dataclasses
import itertools
import math
import re
import time
from statistics import NormalDist

import numpy as np
import pytest

from ldp_lib import JRR, RSRFD, ProductRR, check, grr, limit, pure
from ldp_lib.corr_rr import CorrRR, SecondPhase
from ldp_lib.grr import GRR, RR
from ldp_lib.hashing import OLH
from ldp_lib.population import Population
from ldp_lib.postprocess import project_simplex
from ldp_lib.sampled import AskSome, OneQuestion, design
from ldp_lib.sampled.assignment import group_sizes
from ldp_lib.splitting import OBRR, OMRR, SPL, allocation
from ldp_lib.subset import SubsetSelection
from ldp_lib.survey import _intervals, planner
from ldp_lib.tables.covariance import table_covariance
from ldp_lib.tables.product import RRIndependent, RRJoint, squared_length
from ldp_lib.tables.sampled import ask_pairs
from ldp_lib.unary import OUE

MECHANISMS = [GRR(k=3, epsilon=1.0), OUE(k=5, epsilon=0.5), SPL(k=(2, 4), epsilon=2.0)]
each = pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)


def people(mechanism, n):
    """Shares that halve from value to value."""
    sizes = mechanism.k if isinstance(mechanism.k, tuple) else (mechanism.k,)
    shares = [0.5 ** np.arange(size) / (0.5 ** np.arange(size)).sum() for size in sizes]
    return planner.plug_in_population(shares, n)


def flat(estimate):
    return np.concatenate(estimate, axis=-1) if isinstance(estimate, list) else estimate


@each
def test_intervals_cover_as_often_as_they_say(mechanism):
    population = people(mechanism, 5_000)
    truth, runs = flat(mechanism.mean(population)), 400
    drawn = mechanism.simulate(population, rng=np.random.default_rng(1), runs=runs)
    for simultaneous in (False, True):
        hits = []
        for i in range(runs):
            estimate = [part[i] for part in drawn] if isinstance(drawn, list) else drawn[i]
            ends = planner.estimate_interval(mechanism, estimate, 5_000, confidence=0.8, simultaneous=simultaneous)
            low, high = map(flat, ends)
            hits.append((low <= truth) & (truth <= high))
        hits = np.array(hits)
        if simultaneous:  # Bonferroni: at least as often, whatever the dependence
            assert hits.all(axis=1).mean() > 0.8 - 5 * 0.4 / np.sqrt(runs)
            assert hits.mean() > 0.9
        else:
            assert check.mean_z(hits.mean(axis=1), 0.8) < 5 < check.mean_z(hits.mean(axis=1), 0.7)


def covered(mechanism, population, runs, simultaneous):
    """Whether the interval of value 0, or all intervals, held its share; one entry a run."""
    truth, hits = population.joint, []
    for estimate in mechanism.simulate(population, rng=np.random.default_rng(4), runs=runs):
        low, high = planner.estimate_interval(mechanism, estimate, population.n, simultaneous=simultaneous)
        hits.append((low <= truth) & (truth <= high))
    return np.array(hits).all(axis=1) if simultaneous else np.array(hits)[:, 0]


@pytest.mark.parametrize("k", [2, 9, 60])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_intervals_cover_common_and_rare_values(k, epsilon):
    mechanism, n = SubsetSelection(k=k, epsilon=epsilon), 10_000
    assert n * mechanism.probabilities[1] > 20
    for holders in (0, 1, n // 2):  # shares down to 1/n
        rest = np.full(k - 1, (n - holders) // (k - 1))
        rest[0] += n - holders - rest.sum()
        people = Population.from_counts(np.concatenate([[holders], rest]))
        one = covered(mechanism, people, 150, False)
        assert abs(one.mean() - 0.95) < 5 * np.sqrt(0.95 * 0.05 / len(one))
    together = covered(mechanism, people, 150, True)
    assert together.mean() > 0.95 - 5 * np.sqrt(0.95 * 0.05 / len(together))


def test_the_plug_in_fails_where_false_supports_are_few():
    few = GRR(k=2, epsilon=8.0)
    n = round(0.15 / few.probabilities[1])
    one = covered(few, Population.from_counts([0, n]), 1_000, False)
    assert abs(one.mean() - np.exp(-0.15)) < 5 * np.sqrt(0.12 / len(one)) < 0.95 - np.exp(-0.15)
    many = GRR(k=100, epsilon=8.0)
    n = round(0.05 / many.probabilities[1])
    assert covered(many, Population.from_counts([0] * 99 + [n]), 100, True).mean() < 0.1
    told = " ".join(planner.estimate_interval.__doc__.split())
    assert "If all are asked, and not by `OUE` or `OLH`, a false support then lies far outside" in told
    for kind in (OLH, OUE):  # where p is 1/2, one false support widens its own interval
        bits, many = kind(k=2, epsilon=8.0), kind(k=100, epsilon=8.0)
        one = covered(bits, Population.from_counts([0, round(0.15 / bits.probabilities[1])]), 1_000, False)
        assert one.mean() > 0.89 > np.exp(-0.15)
        assert covered(many, Population.from_counts([0] * 99 + [n]), 100, True).mean() > 0.2
    some, q = OneQuestion(k=(2, 2), epsilon=8.0), few.probabilities[1]  # and so does the error of asking a half
    shares = [np.array([x, 1 - x]) for x in ((1 / 447 - q) / (1 - 2 * q), 0.0)]
    low, high = planner.estimate_interval(some, shares, 894)
    assert low[0][0] < 0 < high[0][0]
    assert planner.estimate_interval(few, shares[0], 447)[0][0] > 0


@each
@pytest.mark.parametrize("n", [1, 2, 7, 1_000_003])
def test_the_plug_in_population_has_the_rounded_frequencies(mechanism, n):
    rng = np.random.default_rng(2)
    sizes = mechanism.k if isinstance(mechanism.k, tuple) else (mechanism.k,)
    raw = [rng.normal(1 / size, 0.3, size) for size in sizes]
    population = planner.plug_in_population(raw, n)
    assert population.n == n
    assert population.k == sizes
    for j, part in enumerate(raw):
        counts = np.bincount(population.records[:, j], weights=population.counts, minlength=sizes[j])
        assert abs(counts / n - project_simplex(part)).max() <= 1 / n


@pytest.mark.parametrize("mechanism", [SecondPhase(k=(3, 3), epsilon=1.0, reuse=0.8), CorrRR(k=(2, 2), epsilon=1.0)])
def test_biased_mechanisms_are_refused_since_their_intervals_do_not_cover(mechanism):
    with pytest.raises(TypeError, match="mechanism must be unbiased, with its parameters"):
        planner.required_users(mechanism, 0.05)
    with pytest.raises(TypeError, match="mechanism must be unbiased, with its parameters"):
        planner.estimate_interval(mechanism, [np.full(size, 1 / size) for size in mechanism.k], 1_000)


class LargeGroups(GRR):
    """As it is, but for at least 5,000 users."""

    least_users = 5_000


def test_no_fewer_users_are_planned_than_a_mechanism_needs():
    assert planner.required_users(GRR(k=2, epsilon=1.0), 0.05) < 5_000
    assert planner.required_users(LargeGroups(k=2, epsilon=1.0), 0.05) == 5_000


@each
@pytest.mark.parametrize("margin", [0.01, 0.05])
def test_the_planned_number_of_users_is_enough_in_the_worst_case_and_one_fewer_is_not(mechanism, margin):
    n, z = planner.required_users(mechanism, margin), 1.959963984540054
    sizes = mechanism.k if isinstance(mechanism.k, tuple) else (mechanism.k,)

    def widest(n):
        found = []
        for value in range(max(sizes)):
            for share in (0.0, 0.3, 0.5, 0.7, 1.0):  # not only where all are alike: groups have their say in between
                counts = np.zeros(sizes, dtype=int)
                counts[tuple(min(value, size - 1) for size in sizes)] += n - round(share * n)
                counts[tuple(min((value or max(sizes)) - 1, size - 1) for size in sizes)] += round(share * n)
                found.append(np.sqrt(flat(mechanism.variance(Population.from_counts(counts)))).max() * z)
        return max(found)

    assert widest(n) <= margin * (1 + 1e-12)
    assert widest(n - 1) > margin * (1 - 1e-3)  # the worst share may lie between those tried
    skewed = people(mechanism, n)
    assert np.sqrt(flat(mechanism.variance(skewed))).max() * z <= margin


def test_groups_vary_with_who_is_in_them_and_a_sample_with_who_is_drawn():
    """One question each of four: by the proof, v/w + f(1-f)(n - n w)/(n w (n-1)) at the worst f, here one half."""
    mechanism, z, e = OneQuestion(k=(2,) * 4, epsilon=1.0), 1.959963984540054, math.e
    noise = 4 * e / (e - 1) ** 2
    for sampling, drawn in ((False, 0.75), (True, 1.0)):  # f(1-f) is 1/4: three times for the groups, once for the draw
        n = planner.required_users(mechanism, 0.01, sampling=sampling)
        assert n == pytest.approx((noise + drawn) * (z / 0.01) ** 2, rel=1e-3)
    plain = (
        planner.required_users(RR(k=2, epsilon=1.0), 0.01),
        planner.required_users(RR(k=2, epsilon=1.0), 0.01, sampling=True),
    )
    assert plain == (35_368, 44_971)
    many = planner.required_users(GRR(k=9, epsilon=1.0), 0.01, sampling=True)
    p, q = grr.probabilities(e, 9)
    shares = np.linspace(0, 1, 10_001)
    right = (shares * p * (1 - p) + (1 - shares) * q * (1 - q)) / (p - q) ** 2 + shares * (1 - shares)
    assert many == math.ceil(right.max() * (z / 0.01) ** 2)  # where all are alike: the draw adds nothing there


def test_the_planned_margin_is_kept_as_often_as_promised():
    mechanism = GRR(k=3, epsilon=1.0)
    n = planner.required_users(mechanism, 0.02, confidence=0.9)
    everyone = Population.from_counts([n, 0, 0])  # the worst case: here the promise is kept with equality
    runs = mechanism.simulate(everyone, rng=np.random.default_rng(3), runs=20_000)
    variances = mechanism.variance(everyone)
    kept = (abs(runs - [1, 0, 0])[:, int(np.argmax(variances > variances.max() * (1 - 1e-9)))] <= 0.02).astype(float)
    assert abs(kept.mean() - 0.9) < 5 * np.sqrt(0.09 / len(kept)) + 1 / np.sqrt(n)  # the lattice of counts
    assert kept.mean() > 0.85


def test_bad_plans_are_refused():
    mechanism = GRR(k=3, epsilon=1.0)
    for margin in (0, 1, -0.1, float("nan"), "1", True):
        with pytest.raises((TypeError, ValueError), match="margin must be a number above 0 and below 1"):
            planner.required_users(mechanism, margin)
    with pytest.raises(ValueError, match="confidence must be"):
        planner.required_users(mechanism, 0.1, confidence=1.0)
    with pytest.raises(ValueError, match="margin must be reachable"):
        planner.required_users(GRR(k=2, epsilon=1e-6), 1e-6)


@pytest.mark.parametrize(
    ("k", "epsilon", "best"),
    [
        (2, 1.0, "RR"),
        (9, 1.0, "SubsetSelection"),
        ((9, 16, 7, 15, 6, 5, 2, 2), 1.0, "OneQuestion"),
        ((4, 4, 4, 4), 0.5, "OneQuestion"),
        ((2,) * 10, 8.0, "AskSome"),
    ],
)
def test_the_recommendation_has_the_least_error_of_all_that_fit(k, epsilon, best):
    found = planner.recommend(k=k, epsilon=epsilon, n=10_000)
    assert type(found.mechanism).__name__ == best
    assert found.mechanism.k == k
    assert found.mechanism.epsilon == epsilon
    others = [error for error, _ in planner._errors(k=k, epsilon=epsilon, n=10_000)]
    assert found.error == min(others) < max(others)
    sizes = k if isinstance(k, tuple) else (k,)
    even = planner.plug_in_population([np.full(size, 1 / size) for size in sizes], 10_000)
    assert found.error == pytest.approx(flat(found.mechanism.variance(even)).sum(), rel=1e-12)
    assert found.points == pytest.approx(100 * np.sqrt(found.error / sum(sizes)))


def test_of_more_than_12_attributes_of_different_sizes_too_some_are_asked_together_at_a_large_epsilon():
    few = planner.recommend(k=(2,) * 12 + (3,), epsilon=4.0, n=10_000)
    one = OneQuestion(k=(2,) * 12 + (3,), epsilon=4.0)
    even = planner.plug_in_population([np.full(size, 1 / size) for size in one.k], 10_000)
    assert (type(few.mechanism), few.mechanism.m_) == (AskSome, 4)
    assert 2.6 < planner.total_error(one, even) / few.error < 2.7


@pytest.mark.parametrize(("k", "epsilon", "fewer"), [((2, 16), 1.0, 1.29), ((2, 2, 2, 4), 0.1, 0.97)])
def test_frequencies_of_an_attribute_with_few_values_mostly_err_by_more_but_not_always(k, epsilon, fewer):
    even = planner.plug_in_population([np.full(size, 1 / size) for size in k], 10_000)
    few, *_, many = planner.recommend(k=k, epsilon=epsilon, n=10_000).mechanism.variance(even)
    assert np.sqrt(few.mean() / many.mean()) == pytest.approx(fewer, abs=0.005)


def test_biased_mechanisms_and_those_that_need_a_dealer_are_not_recommended():
    square = planner.recommend(k=(3, 3), epsilon=0.5, n=1_000)  # Corr-RR's copies have less variance, and a bias
    assert type(square.mechanism).__name__ == "OneQuestion"
    assert "SignedRR" not in planner.recommend(k=2, epsilon=0.5, n=1_000).why


def test_tables_are_recommended_where_they_are_wanted():
    found = planner.recommend(k=(4, 4, 4), epsilon=1.0, n=1_000, wants="tables")
    assert type(found.mechanism).__name__ == "AskSome"
    assert found.mechanism.m_ == 2
    assert found.points == pytest.approx(100 * np.sqrt(found.error / 48))
    pairs = planner.recommend(k=(2, 2), epsilon=1.0, n=1_000, wants="tables")
    assert type(pairs.mechanism).__name__ == "RRJoint"
    assert pairs.error == pytest.approx(squared_length(np.e, 4) / 1_000 - 1 / 1_000)


def test_whole_records_are_recommended_where_they_are_wanted():
    small = planner.recommend(k=(2, 3), epsilon=4.0, n=1_000, wants="records")
    assert type(small.mechanism).__name__ == "RRJoint"
    assert small.error > planner.recommend(k=(2, 3), epsilon=4.0, n=1_000).error * (1 - 1e-9)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"wants": "tables"}, "k must have at least two attributes for tables; got 3"),
        ({"wants": "records", "k": (3,)}, r"k must have at least two attributes for records; got \(3,\)"),
        ({"n": 0}, "n must be"),
        ({"n": 1.5}, "n must be"),
        ({"wants": "all"}, "wants must be"),
        ({"k": 1}, "k must be"),
    ],
)
def test_unfit_wishes_are_refused(change, message):
    with pytest.raises((TypeError, ValueError), match=message):
        planner.recommend(**({"k": 3, "epsilon": 1.0, "n": 10} | change))


def test_the_plug_in_population_by_hand():
    found = planner.plug_in_population([np.array([0.5, 0.5]), np.array([0.2, 0.3, 0.5])], 10)
    assert found.records.tolist() == [[0, 0], [0, 1], [1, 2]]
    assert found.counts.tolist() == [2, 3, 5]
    assert found.k == (2, 3)
    uneven = planner.plug_in_population([np.array([0.1, 0.9]), np.array([0.0, 0.4, 0.0, 0.6])], 10)
    assert list(zip(uneven.records.tolist(), uneven.counts.tolist(), strict=True)) == [
        ([0, 1], 1),
        ([1, 1], 3),
        ([1, 3], 6),
    ]


@pytest.mark.parametrize(
    ("shares", "n", "counts"),
    [
        ((0.5, 0.5), 1, (1, 0)),
        ((0.25, 0.25, 0.5), 3, (1, 1, 1)),
        ((0.125, 0.125, 0.125, 0.625), 4, (1, 1, 0, 2)),
        ((0.0, 0.4375, 0.5625), 4, (0, 2, 2)),
        ((1.0, 0.0), 7, (7, 0)),
        ((1.5, -0.5), 3, (3, 0)),
        ((0.75, 0.75), 6, (3, 3)),
    ],
)
def test_whole_users_go_by_largest_remainders_and_then_to_the_first(shares, n, counts):
    assert planner.plug_in_population(np.array(shares), n).histogram.tolist() == list(counts)


@pytest.mark.parametrize("simultaneous", [False, True])
def test_intervals_by_hand(simultaneous):
    one, n = GRR(k=3, epsilon=1.0), 8
    estimate = np.array([0.625, 0.25, 0.125])
    p, q = grr.probabilities(math.e, 3)
    spread = np.sqrt([(f * p * (1 - p) + (1 - f) * q * (1 - q)) / (n * (p - q) ** 2) for f in estimate])
    assert planner.standard_errors(one, estimate, n) == pytest.approx(spread, rel=1e-12)
    z = NormalDist().inv_cdf(1 - 0.1 / (6 if simultaneous else 2))
    low, high = planner.estimate_interval(one, estimate, n, confidence=0.9, simultaneous=simultaneous)
    assert low == pytest.approx(estimate - z * spread, rel=1e-12)
    assert high == pytest.approx(estimate + z * spread, rel=1e-12)
    both = SPL(k=(2, 3), epsilon=2.0)
    first = np.array([0.75, 0.25])
    spreads = [np.sqrt(v) for v in both.variance(planner.plug_in_population([first, estimate], n))]
    z = NormalDist().inv_cdf(1 - 0.05 / (10 if simultaneous else 2))
    found = planner.estimate_interval(both, [first, estimate], n, simultaneous=simultaneous)
    for sign, ends in zip((-1, 1), found, strict=True):
        for end, middle, half in zip(ends, (first, estimate), spreads, strict=True):
            assert end == pytest.approx(middle + sign * z * half, rel=1e-12)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
def test_the_least_number_of_users_is_found_from_one_on(confidence):
    mechanism, z = GRR(k=2, epsilon=6.0), NormalDist().inv_cdf(0.5 + confidence / 2)
    p, q = grr.probabilities(math.exp(6.0), 2)
    spread = math.sqrt(p * q) / (p - q)  # of one user
    for n in (1, 2, 3, 4, 5, 1_000, 1_025):
        margin = z * spread / math.sqrt(n) * (1 + 1e-9)
        if margin < 1:
            assert planner.required_users(mechanism, margin, confidence=confidence) == n
            assert planner.required_users(mechanism, margin * (1 - 1e-6), confidence=confidence) == n + 1


def test_as_many_users_as_there_may_be_can_be_planned():
    z, p = NormalDist().inv_cdf(0.975), math.exp(1e-6) / (math.exp(1e-6) + 1)
    margin = z * math.sqrt(p * (1 - p)) / (2 * p - 1) / math.sqrt(_intervals.MOST_USERS)
    mechanism = GRR(k=2, epsilon=1e-6)
    found = planner.required_users(mechanism, margin * (1 + 1e-7))
    assert found == pytest.approx(_intervals.MOST_USERS * (1 - 2e-7), rel=1e-8)
    with pytest.raises(ValueError, match=f"margin must be reachable with {10**15} users; got"):
        planner.required_users(mechanism, margin * (1 - 1e-7))


def test_the_error_of_tables_is_that_of_inverted_reports():
    """A user's table is a product of two inverted rows; its squared length, averaged over all records and reports."""
    k, n, total = (2, 3, 4), 10, 0.0
    mechanism = RRIndependent(k=k, epsilon=1.5)
    powers = np.exp(allocation.omrr(k, 1.5))
    for pair in itertools.combinations(zip(powers, k, strict=True), 2):
        squares = [
            (grr.channel(e, size).mean(axis=0) * (grr.inverse(e, size) ** 2).sum(axis=1)).sum() for e, size in pair
        ]
        total += squares[0] * squares[1] - 1
    assert planner.pairs_error(mechanism, n) == pytest.approx(total / n, rel=1e-9)


def test_what_is_compared_are_unbiased_mechanisms_of_the_domain():
    rows = planner._errors(k=[np.int64(2), 3], epsilon=1, n=np.int64(60))
    even = Population.from_counts(np.full((2, 3), 10))
    for error, mechanism in rows:
        assert mechanism.k == (2, 3)
        assert type(mechanism.epsilon) is float
        assert not type(mechanism).__module__.startswith("ldp_lib.jrr")
        skew = Population.from_counts([[30, 1, 0], [2, 0, 7]])
        assert flat(mechanism.mean(skew)) == pytest.approx([31 / 40, 9 / 40, 32 / 40, 1 / 40, 7 / 40])
        assert error == pytest.approx(flat(mechanism.variance(even)).sum(), rel=1e-9)
    names = [type(mechanism).__name__ for _, mechanism in rows]
    assert {"SPL", "OneQuestion", "RRJoint"} <= set(names)
    assert len(names) == len(set(names))
    records = planner._errors(k=(2, 3), epsilon=1.0, n=60, wants="records")
    assert {type(mechanism).__name__ for _, mechanism in records} < set(names)
    assert all(hasattr(mechanism, "simulate_tables") for _, mechanism in records)
    assert all(mechanism.k == 3 for _, mechanism in planner._errors(k=np.int64(3), epsilon=1.0, n=1))
    assert len(planner._errors(k=(3,), epsilon=1.0, n=10**15)) > 1
    assert [
        type(mechanism).__name__ for _, mechanism in planner._errors(k=(2, 2), epsilon=1.0, n=5, wants="tables")
    ] == [
        "RRIndependent",
        "RRJoint",
        "AskSome",
    ]


@pytest.mark.parametrize(("wants", "cells"), [("frequencies", 9), ("records", 9), ("tables", 26)])
def test_a_recommendation_is_the_first_of_the_least(wants, cells):
    wish = {"k": (2, 3, 4), "epsilon": 1.0, "n": 1_000, "wants": wants}
    rows, found = planner._errors(**wish), planner.recommend(**wish)
    least, *others = sorted({error for error, _ in rows})
    assert found.error == pytest.approx(least, rel=1e-9)
    assert found.points == pytest.approx(100 * math.sqrt(least / cells), rel=1e-9)
    second = min(error for error in others if error > least * (1 + 1e-9))
    (runner_up, *_) = [mechanism for error, mechanism in rows if error == second]
    assert found.why == (
        f"{type(found.mechanism).__name__} has the least exact error of {len(rows)} mechanisms at this budget; "
        f"{type(runner_up).__name__}, the next, has {second / least:.3g} times its squared error."
    )


def test_a_recommendation_without_error_says_so():
    found = planner.recommend(k=(3, 4), epsilon=700.0, n=1_000)
    assert found.error == 0
    (more,) = re.findall(r"SPL, the next, has (\S+), where it has none\.$", found.why)
    assert 0 < float(more) < 1e-40


@pytest.mark.parametrize("n", [0, 10**15 + 1, True, np.True_, 2.5, 0.0, math.inf, math.nan, "3", None])
def test_a_survey_has_a_whole_number_of_people(n):
    with pytest.raises(ValueError, match=r"n must be an integer from 1 to 10\*\*15; got"):
        planner._errors(k=3, epsilon=1.0, n=n)


def test_wishes_are_one_of_three():
    with pytest.raises(ValueError, match=r"wants must be one of .*tables.*; got 'cells'"):
        planner._errors(k=3, epsilon=1.0, n=5, wants="cells")
    with pytest.raises(ValueError, match="k must have at least two attributes for records; got 3"):
        planner._errors(k=3, epsilon=1.0, n=5, wants="records")
    for epsilon in (0, 701.0, True):
        with pytest.raises((TypeError, ValueError), match="epsilon must be"):
            planner._errors(k=3, epsilon=epsilon, n=5)
    for name in ("margin", "confidence"):
        for value in (0, 1, True):
            with pytest.raises((TypeError, ValueError), match=f"{name} must be a number above 0 and below 1"):
                planner.required_users(GRR(k=3, epsilon=1.0), **({"margin": 0.1} | {name: value}))
    with pytest.raises(ValueError, match="confidence must be a number"):
        planner.estimate_interval(GRR(k=2, epsilon=1.0), np.array([0.5, 0.5]), 5, confidence=1.0)


def test_whole_floats_are_numbers_of_people():
    assert planner.recommend(k=3, epsilon=1.0, n=1e4).error == planner.recommend(k=3, epsilon=1.0, n=10_000).error
    mechanism, shares = GRR(k=2, epsilon=1.0), np.array([0.4, 0.6])
    assert planner.standard_errors(mechanism, shares, 1e4) == pytest.approx(
        planner.standard_errors(mechanism, shares, 10_000)
    )
    for n in (0, -5, 2.5, "3"):
        with pytest.raises(ValueError, match="n must be an integer"):
            planner.estimate_interval(mechanism, shares, n)


@pytest.mark.parametrize("wants", ["frequencies", "tables"])
def test_a_random_sample_adds_the_variance_of_drawing(wants):
    wish = {"k": (2, 4), "epsilon": 1.0, "n": 500, "wants": wants}
    cells = 8 if wants == "tables" else 6
    drawn = (1 - 1 / 8) / 500 if wants == "tables" else (1 - 1 / 2 + 1 - 1 / 4) / 500
    fixed, sampling = planner.recommend(**wish), planner.recommend(**wish, sampling=True)
    assert sampling.error == pytest.approx(fixed.error + drawn)
    assert sampling.points == pytest.approx(100 * math.sqrt((fixed.error + drawn) / cells))
    assert fixed.margin() == pytest.approx(NormalDist().inv_cdf(0.975) * fixed.points)
    assert fixed.margin(0.5) < fixed.margin()


@pytest.mark.parametrize("sampling", [False, True])
@pytest.mark.parametrize(("k", "wants", "points"), [(5, "frequencies", 2.0), ((3, 4), "tables", 1.5)])
def test_the_budget_that_reaches_an_error_is_the_least(k, wants, points, sampling):
    wish = {"k": k, "n": 10_000, "wants": wants, "sampling": sampling}
    epsilon = planner.required_budget(points=points, **wish)
    assert planner.recommend(epsilon=epsilon, **wish).points <= points
    assert planner.recommend(epsilon=epsilon / 1.002, **wish).points > points
    for wrong in (1e-9, 0, -1):
        with pytest.raises(ValueError, match="points must be above 0, and reachable"):
            planner.required_budget(points=wrong, **wish)


def test_a_larger_budget_can_have_more_error_of_tables_so_that_less_than_the_required_one_may_do():
    wish = {"k": (4, 4), "n": 10_000, "wants": "tables"}
    enough, less, between = (planner.recommend(epsilon=epsilon, **wish).points for epsilon in (0.935, 0.875, 0.905))
    assert max(enough, less) < 2.4 < between
    assert 0.9 * 0.935 < 0.875 < 0.95 * planner.required_budget(points=2.4, **wish) < 0.95 * 0.935


def test_margins_of_the_widest_interval_and_of_a_typical_one_are_two_things():
    found = planner.recommend(k=5, epsilon=1.0, n=10_000)
    widest = planner.required_users(found.mechanism, found.margin() / 100)
    assert widest > 10_000  # the typical margin is not enough for the widest interval


WIDE = tuple(int(x) for x in np.geomspace(2, 10**6, 200))[::-1]
LONG = tuple(int(x) for x in np.geomspace(2, 3_000, 32))  # all values are listed


@pytest.mark.parametrize("epsilon", [1.0, 4.0])
@pytest.mark.parametrize("k", [tuple(range(2, 202)), (2,) * 200, (2, 3, 7, 50) * 50, (10**6,), WIDE, WIDE[:8], LONG])
def test_limit_and_recommendation_take_two_seconds_of_processor_time(k, epsilon):
    planner.recommend(k=(2, 3), epsilon=epsilon, n=100)  # what is imported once does not count
    start = time.process_time()
    bound = limit.least_error(k, epsilon)
    between = time.process_time()
    planner.recommend(k=k if len(k) > 1 else k[0], epsilon=epsilon, n=10**5)
    assert max(between - start, time.process_time() - between) < 2
    assert epsilon > 2 or bound.gap <= 1.05


def test_a_domain_with_too_many_values_is_refused_before_any_work():
    for wish in ({"k": 10**7 + 1}, {"k": (10**6,) * 20, "wants": "records"}):
        with pytest.raises(ValueError, match=r"k must have at most 10,000,000 values together; got"):
            planner.recommend(epsilon=1.0, n=100, **wish)


@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_closed_forms_are_the_errors_of_listed_values(epsilon):
    k = (2, 3, 4, 6)
    for family, n in itertools.product((OneQuestion, SPL, OMRR, OBRR), (1, 2, 7, 12**6 + 1)):
        even = planner.plug_in_population([np.full(size, 1 / size) for size in k], n)
        mechanism = family(k=k, epsilon=epsilon)
        assert mechanism.uniform_variance(n) == pytest.approx(planner.total_error(mechanism, even), rel=1e-12)
    assert [type(mechanism) for _, mechanism in planner._errors(k=WIDE, epsilon=epsilon, n=n)] == [
        OneQuestion,
        SPL,
        OMRR,
        OBRR,
    ]
    drawn = planner.recommend(k=WIDE, epsilon=epsilon, n=n, sampling=True)
    assert 1 <= drawn.error * n / limit.least_error(WIDE, epsilon).error < 1.01


def test_records_that_are_too_many_to_report_truthfully_are_not_served():
    assert RRJoint.serves((2,) * 399)
    assert not RRJoint.serves((2,) * 400)


@pytest.mark.parametrize("sampling", [False, True])
@pytest.mark.parametrize("make", [RRIndependent, RRJoint, ask_pairs])
def test_users_for_tables_reach_the_margin_in_every_cell_of_every_table(make, sampling):
    """The bound holds at any table, and is reached: at n - 1 some table of two records misses the margin."""
    mechanism, margin = make(k=(2, 3, 2), epsilon=2.0), 0.05
    n = planner.required_users(mechanism, margin, sampling=sampling, wants="tables")
    assert n >= planner.required_users(mechanism, margin, sampling=sampling)
    alone = dataclasses.replace(mechanism, groups=False) if hasattr(mechanism, "groups") else mechanism

    def widest(mechanism, table, at, n):
        variance = np.diag(table_covariance(mechanism, table, *at, n=n, sampling=sampling))
        return NormalDist().inv_cdf(0.975) * math.sqrt(variance.max())

    rng, reached = np.random.default_rng(1), False
    for at in itertools.combinations(range(3), 2):
        cells = math.prod(shape := [mechanism.k[j] for j in at])
        for one, other in itertools.combinations(range(cells), 2):
            for share in np.linspace(0, 1, 101):
                table = np.zeros(cells)
                table[one], table[other] = 1 - share, share
                half = widest(alone, table.reshape(shape), at, n - 1)
                reached |= half > margin * (1 - 1e-4)  # the worst share may lie between those tried
                assert widest(alone, table.reshape(shape), at, n) <= margin * (1 + 1e-12)
        for _ in range(20):
            assert widest(mechanism, rng.dirichlet(np.full(cells, 0.3)).reshape(shape), at, n) <= margin
    assert reached


def test_users_for_tables_that_cannot_be_planned_are_refused():
    with pytest.raises(TypeError, match=r"tell of 2 attributes of one person at once; OneQuestion.*wants='tables'"):
        planner.required_users(OneQuestion(k=(2, 3), epsilon=1.0), 0.05, wants="tables")
    with pytest.raises(ValueError, match=r"k must give tables of at most 512 cells to plan for; got \(30, 20\)"):
        planner.required_users(RRIndependent(k=(30, 20), epsilon=1.0), 0.05, wants="tables")
    with pytest.raises(ValueError, match="wants must be 'frequencies' or 'tables'; got 'cells'"):
        planner.required_users(GRR(k=2, epsilon=1.0), 0.05, wants="cells")


@pytest.mark.parametrize("sampling", [False, True])
def test_where_all_values_are_alike_two_of_them_settle_the_users(sampling, monkeypatch):
    for mechanism in (GRR(k=9, epsilon=1.0), OneQuestion(k=(9, 3), epsilon=1.0), JRR(epsilon=1.0)):
        found = planner.required_users(mechanism, 0.05, sampling=sampling)
        with monkeypatch.context() as patch:
            patch.setattr(type(mechanism), "symmetric", False)
            assert planner.required_users(mechanism, 0.05, sampling=sampling) == found
    assert not RSRFD(k=(2, 3), epsilon=1.0, priors=([0.5, 0.5], [0.2, 0.3, 0.5])).symmetric
    assert not ProductRR(k=(2,), epsilon=1.0, channels=[[[0.7, 0.3], [0.4, 0.6]]]).symmetric


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_users_of_an_asymmetric_channel_are_enough_for_any_two_values(order):
    """Two values that are taken for each other, and one that is not, in any order: found by trying all mixtures."""
    channel = np.array([[0.79, 0.01, 0.2], [0.01, 0.98, 0.01], [0.2, 0.01, 0.79]])[np.ix_(order, order)]
    ends, f = channel @ np.linalg.inv(channel) ** 2, np.linspace(0, 1, 2_001)
    pairs = itertools.permutations(range(3), 2)
    worst = max(max(f * (ends[v, v] - 1) + (1 - f) * ends[x, v] + f * (1 - f)) for v, x in pairs)
    found = planner.required_users(ProductRR(k=(3, 2), channels=(channel, 9.0)), 0.02, sampling=True)
    assert found == pytest.approx(worst * (1.96 / 0.02) ** 2, rel=1e-3)


def test_users_for_ten_thousand_values_take_few_variances(monkeypatch):
    calls, variance = [], pure.Oracle.variance
    monkeypatch.setattr(pure.Oracle, "variance", lambda self, people: calls.append(1) or variance(self, people))
    mechanism = GRR(k=10_000, epsilon=1.0)
    n = planner.required_users(mechanism, 0.01)
    assert len(calls) <= 3 * (1 + math.log2(10**15) + 1)  # three a step of the bisection
    f, (p, q) = np.array([0, 1]), mechanism.probabilities
    spread = [1.959963984540054 * np.sqrt(pure.variance(f, users, p, q).max()) for users in (n - 1, n)]
    assert spread[1] <= 0.01 < spread[0]


class Uneven:
    """A mechanism whose third value has the largest variance, whatever the data."""

    k, epsilon, least_users, unbiased, has_exact_moments = 3, 1.0, 1, True, True

    def variance(self, population):
        return np.array([1.0, 2.0, 9.0]) / population.n


def test_the_worst_standard_error_is_over_all_values():
    n = planner.required_users(Uneven(), 0.1)
    assert 1.959963984540054 * 3 / np.sqrt(n) <= 0.1 < 1.959963984540054 * 3 / np.sqrt(n - 1)


@pytest.mark.parametrize(("epsilon", "more"), [(1.0, 1.05), (2.0, 1.13), (3.0, 1.47)])
def test_users_for_tables_are_more_than_groups_need_by_what_is_told(epsilon, more):
    """The largest variance with groups, over tables that are alike but for one cell, its row and its column."""
    mechanism = planner.recommend(k=(2, 4, 3), epsilon=epsilon, n=20_000, wants="tables").mechanism
    assert mechanism.groups
    worst = 0.0
    for i, j in itertools.combinations(range(3), 2):
        rows, columns = mechanism.k[i] - 1, mechanism.k[j] - 1
        for own, row, column in itertools.product(np.linspace(0, 1, 11), repeat=3):
            if (rest := 1 - own - row - column) > -1e-9:
                table = np.full((rows + 1, columns + 1), max(rest, 0) / (rows * columns))
                table[0], table[:, 0] = row / columns, column / rows
                table[0, 0] = own
                covariance = table_covariance(mechanism, table / table.sum(), i, j, n=1, sampling=False)
                worst = max(worst, covariance[0, 0])
    needed = (_intervals.half_width(0.95) / 0.02) ** 2 * worst
    assert planner.required_users(mechanism, 0.02, wants="tables") / needed == pytest.approx(more, abs=0.005)


def test_rounded_groups_leave_some_table_fewer_than_planned():
    """It said that people dealt at once are enough: of all deals the pair that the fewest are asked about."""
    assert "12 yes-or-no questions and 197 users at epsilon = 3" in " ".join(planner.required_users.__doc__.split())
    mechanism, wider = planner.recommend(k=(2,) * 12, epsilon=3.0, n=1_000, wants="tables").mechanism, []
    n = planner.required_users(mechanism, 0.3, wants="tables")
    together, pairs = design.concerns(12, mechanism.m_, 2), [*itertools.combinations(range(12), 2)]
    chances, sizes = group_sizes(n * np.array(mechanism.weights_))
    for asked in sizes:
        told = dataclasses.replace(mechanism, m=mechanism.m_, sizes=mechanism.sizes_, weights=asked.tolist())
        pair, law = pairs[(asked @ together).argmin()], np.array([[0.5, 0.25], [0.25, 0]])
        worst = table_covariance(told, law, *pair, n=n, sampling=False).diagonal().max()
        wider.append(_intervals.half_width(0.95) * worst**0.5 / 0.3 - 1)
    assert n == 197
    assert round(100 * (chances @ wider)) == 4
    assert max(wider) > 0.1


def test_a_mechanism_for_tables_may_need_more_people_for_shares_alone():
    """The page's three questions at 1, not at 2: a share is a sum of cells."""
    for epsilon, more in ((1.0, 1.053), (2.0, 0.680)):
        best = planner.recommend(k=(2, 4, 3), epsilon=epsilon, n=20_000, wants="tables").mechanism
        tables = planner.required_users(best, 0.02, wants="tables")
        assert planner.required_users(best, 0.02) / tables == pytest.approx(more, abs=0.001)


@pytest.mark.parametrize("sampling", [2, -1, np.nan, "poisson", None])
def test_standard_errors_take_no_other_sampling_than_yes_or_no(sampling):
    with pytest.raises(TypeError, match="sampling must be True or False; got"):
        planner.standard_errors(GRR(k=2, epsilon=1.0), np.array([0.4, 0.6]), 100, sampling=sampling)

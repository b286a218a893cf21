"""Intervals cover as often as they say, and the planned number of users is enough and no more."""

import numpy as np
import pytest

from ldp_lib import check, planner
from ldp_lib.grr import GRR
from ldp_lib.population import Population
from ldp_lib.product import squared_length
from ldp_lib.splitting import SPL
from ldp_lib.subset import SubsetSelection
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
        assert abs(counts / n - planner.project_simplex(part)).max() <= 1 / n


@each
@pytest.mark.parametrize("margin", [0.01, 0.05])
def test_the_planned_number_of_users_is_enough_in_the_worst_case_and_one_fewer_is_not(mechanism, margin):
    n, z = planner.required_users(mechanism, margin), 1.959963984540054
    sizes = mechanism.k if isinstance(mechanism.k, tuple) else (mechanism.k,)

    def widest(n):
        found = []
        for value in range(max(sizes)):
            counts = np.zeros(sizes, dtype=int)
            counts[tuple(min(value, size - 1) for size in sizes)] = n
            found.append(np.sqrt(flat(mechanism.variance(Population.from_counts(counts)))).max() * z)
        return max(found)

    assert widest(n) <= margin * (1 + 1e-12)
    assert widest(n - 1) > margin
    skewed = people(mechanism, n)
    assert np.sqrt(flat(mechanism.variance(skewed))).max() * z <= margin


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
    assert found.error < found.runner_up_error
    assert type(found.runner_up).__name__ in found.why
    sizes = k if isinstance(k, tuple) else (k,)
    even = planner.plug_in_population([np.full(size, 1 / size) for size in sizes], 10_000)
    assert found.error == pytest.approx(flat(found.mechanism.variance(even)).sum(), rel=1e-12)
    assert found.points == pytest.approx(100 * np.sqrt(found.error / sum(sizes)))


def test_biased_mechanisms_and_those_that_need_a_dealer_are_not_recommended():
    square = planner.recommend(k=(3, 3), epsilon=0.5, n=1_000)  # Corr-RR's copies have less variance, and a bias
    assert type(square.mechanism).__name__ == "OneQuestion"
    assert "SignedRR" not in planner.recommend(k=2, epsilon=0.5, n=1_000).why


def test_tables_are_recommended_where_they_are_wanted():
    found = planner.recommend(k=(4, 4, 4), epsilon=1.0, n=1_000, wants="tables")
    assert type(found.mechanism).__name__ == "AskSome"
    assert found.mechanism.m == 2
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

"""One question and several: dealing, exact laws by enumeration, the best weights and sizes, bad input."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from ldp_lib import _inputs, channel, check, grr, limit, pure, subset
from ldp_lib.book import claims
from ldp_lib.datasets import load_adult
from ldp_lib.grr import GRR
from ldp_lib.hashing import OLH
from ldp_lib.jrr import JRR
from ldp_lib.population import Population
from ldp_lib.sampled import AskSome, OneQuestion, _dealing, assignment
from ldp_lib.sampled import design as formulas
from ldp_lib.splitting import SPL
from ldp_lib.subset import SubsetSelection
from ldp_lib.survey.planner import recommend
from ldp_lib.tables.product import RRJoint
from ldp_lib.unary import OUE


def flat(estimate):
    return np.concatenate(estimate, axis=-1)


@pytest.mark.parametrize("n", [1, 2, 7, 1000])
@pytest.mark.parametrize("weights", [(1.0,), (0.5, 0.5), (0.2, 0.3, 0.5), (0.01, 0.01, 0.98), (0.35, 0.0, 0.65)])
def test_group_sizes_are_the_expected_ones_rounded(n, weights):
    expected = n * np.array(weights)
    chances, sizes = assignment.group_sizes(expected)
    assert abs(chances.sum() - 1) < 1e-12
    assert chances.min() > 0
    assert (sizes.sum(axis=1) == n).all()
    assert (np.abs(sizes - expected) < 1 + 1e-9).all()
    assert np.allclose(chances @ sizes, expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("n", [1000, 10**9])
def test_rounding_adds_no_user_and_asks_no_question_of_weight_0(n):
    _, sizes = assignment.group_sizes(n * np.array([1 / 7] * 7 + [0]))
    assert (sizes.sum(axis=1) == n).all()
    assert not sizes[:, -1].any()


def test_groups_whose_sizes_are_rounded_at_random_can_have_more_variance_than_horvitz_and_thompsons_estimate():
    """The example of the claim own/one-question-groups: three users, two binary attributes, over all data."""
    p, q = grr.probabilities(Fraction(3), 2)
    squares = [sum(w * ((y - q) / (p - q)) ** 2 for y, w in ((1, one), (0, 1 - one))) for one in (q, p)]
    per_user = sum(2 * square - b for b, square in enumerate(squares))  # asked with probability 1/2, else 0
    assert Fraction(2 * 3, 3**2) * per_user == Fraction(8, 3)
    totals = {}
    for x, groups in itertools.product(itertools.product(np.ndindex(2, 2), repeat=3), (True, False)):
        mechanism = OneQuestion(k=(2, 2), epsilon=math.log(3), groups=groups)
        found = flat(mechanism.variance(Population.from_records(np.array(x), k=(2, 2)))).sum()
        totals.setdefault(groups, []).append(found)
    assert np.allclose(totals[False], 7 / 3, rtol=1e-12)
    assert math.isclose(max(totals[True]), 101 / 36, rel_tol=1e-12)


@pytest.mark.parametrize("groups", [True, False])
def test_records_are_dealt_as_users_are(groups):
    """Three users, two of one record: how many of each record get each question, users against records."""
    weights, rng = (0.3, 0.2, 0.5), np.random.default_rng(1)
    population = Population.from_counts([[2, 0], [0, 1]])
    asked = np.array([_dealing.deal(3, weights, groups, rng) for _ in range(40_000)])
    by_user = np.stack([[(part == q).sum(axis=1) for q in range(3)] for part in (asked[:, :2], asked[:, 2:])])
    dealt = _dealing.deal_records(population, weights, groups, rng=rng, runs=40_000)
    by_record = np.stack([part.T for _, part in dealt])
    codes = [(part.reshape(6, -1).T @ 4 ** np.arange(6))[:, None] for part in (by_user, by_record)]
    law = exact_dealing(weights, groups)
    assert all(check.law_z(code, law) < 5 for code in codes)
    foil = exact_dealing((0.33, 0.2, 0.47), groups)
    assert all(check.law_z(code, foil) > 5 for code in codes)


@pytest.mark.parametrize("sizes", [(2, 1, 2), (1, 4), (0, 2, 2)])
def test_all_ways_to_deal_many_users_are_equally_likely(sizes, monkeypatch):
    monkeypatch.setattr(_dealing, "FEW", 0)  # as if five users were many
    rng, groups = np.random.default_rng(2), np.repeat(np.arange(len(sizes)), sizes)
    runs = np.array([_dealing._random_groups(np.array(sizes), rng) for _ in range(6_000)])
    ways = sorted(set(itertools.permutations(groups.tolist())))
    assert (np.sort(runs) == groups).all()
    if len(ways) > 1:
        skewed = {way: (1 + 0.2 * (way[0] == groups[0]) - 0.2 * (way[-1] == groups[0])) / len(ways) for way in ways}
        assert check.law_z(runs, dict.fromkeys(ways, 1 / len(ways))) < 5 < check.law_z(runs, skewed)


def test_many_users_are_dealt_to_the_number():
    sizes, rng = np.array([150_000, 3, 0, 49_997]), np.random.default_rng(3)
    asked = _dealing._random_groups(sizes, rng)
    assert np.bincount(asked, minlength=4).tolist() == sizes.tolist()
    first = np.count_nonzero(asked[:100_000] == 0)  # hypergeometric
    assert abs(first - 75_000) < 5 * math.sqrt(100_000 * 0.75 * 0.25 * 0.5)


def exact_dealing(weights, groups):
    law = {}
    chances, sizes = assignment.group_sizes(3 * np.array(weights))
    for asked in itertools.product(range(3), repeat=3):
        numbers = tuple(asked.count(q) for q in range(3))
        if groups:
            ways = math.factorial(3) / math.prod(map(math.factorial, numbers))
            chance = sum(c for c, size in zip(chances, sizes, strict=True) if tuple(size) == numbers) / ways
        else:
            chance = math.prod(weights[q] for q in asked)
        cell = [asked[:2].count(q) for q in range(3)] + [asked[2:].count(q) for q in range(3)]
        code = (sum(c * 4**i for i, c in enumerate(cell)),)
        law[code] = law.get(code, 0) + chance
    return law


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_groups_variance_by_enumeration(size):
    """All groups of the given size out of four users, all reports of each: exact fractions, no tolerance."""
    e, k, x = Fraction(2), 3, [0, 0, 1, 2]
    p, q = subset.probabilities(e, k, 2)
    sets, matrix = list(itertools.combinations(range(k), 2)), subset.channel(e, k, 2)
    first = second = Fraction(0)
    groups = list(itertools.combinations(x, size))
    for group in groups:
        for reports in itertools.product(range(3), repeat=size):
            chance = math.prod(matrix[u, y] for u, y in zip(group, reports, strict=True)) / len(groups)
            estimate = pure.estimate(Fraction(sum(0 in sets[y] for y in reports)), size, p, q)
            first, second = first + chance * estimate, second + chance * estimate**2
    f = Fraction(1, 2)
    assert first == f
    assert second - first**2 == formulas.group_variance(f, 4, size, p, q)


def test_groups_of_rounded_sizes_can_cost_more_than_own_draws_of_the_question():
    """Three users and two binary attributes: sizes 1 and 2, dealt at random: not in `own/one-question-groups`."""
    records = list(itertools.product(range(2), repeat=2))
    totals = {}
    for groups, ratio in itertools.product((True, False), (math.exp(0.5), 3)):
        survey = OneQuestion(k=(2, 2), epsilon=math.log(ratio), groups=groups)
        data = [np.array(rows) for rows in itertools.combinations_with_replacement(records, 3)]
        people = [Population.from_records(x, k=(2, 2)) for x in data]
        totals[groups, ratio] = [3 * sum(v.sum() for v in survey.variance(one)) for one in people]
    for ratio in (math.exp(0.5), 3):
        dealt, drawn = totals[True, ratio], totals[False, ratio]
        assert np.ptp(drawn) < 1e-9 < np.ptp(dealt)  # the data matter for groups alone
        textbook = drawn[0] + 1  # Horvitz-Thompson: (1-w)/(k w) more than the centred, for each of two attributes
        assert max(dealt) > textbook > drawn[0]
    assert min(totals[True, math.exp(0.5)]) > totals[False, math.exp(0.5)][0]  # whatever the data, at small budgets
    assert [round(v, 9) for v in (drawn[0], textbook, max(dealt))] == [7, 8, round(101 / 12, 9)]
    small = totals[True, math.exp(0.5)], totals[False, math.exp(0.5)]
    assert [round(max(one), 1) for one in small] == [36.9, 32.3]
    # Users drawn from the uniform distribution: the order of three users' records, and sum f (1-f) of two attributes.
    orders = [len(set(itertools.permutations(map(tuple, x)))) for x in data]
    assert sum(orders) == 4**3
    assert np.average(dealt, weights=orders) + 1 > 1.02 * limit.least_error((2, 2), math.log(3)).error
    assert drawn[0] + 1 == pytest.approx(limit.least_error((2, 2), math.log(3)).error)  # 8


ONE_USER = [
    OneQuestion(k=(2, 3), epsilon=1.0),
    OneQuestion(k=(2, 3), epsilon=1.0, groups=False, weights=(1, 4)),
    OneQuestion(k=(4, 2), epsilon=0.5, oracle=OUE),
    AskSome(k=(2, 3), epsilon=1.5, m=2),
    AskSome(k=(2, 3, 3), epsilon=1.5, m=2, sizes=(1, 2, 1), weights=(1, 0, 2)),
    AskSome(k=(2, 3), epsilon=1.5, m=1, groups=False),
]


@pytest.mark.parametrize("mechanism", ONE_USER, ids=repr)
def test_the_channel_spends_exactly_epsilon_and_gives_the_stated_moments(mechanism):
    matrix = mechanism.channel()
    assert abs(math.log(channel.privacy_ratio(matrix)) - mechanism.epsilon) < 1e-9
    records = list(itertools.product(*map(range, mechanism.k)))
    outcomes = mechanism.reports()
    assert matrix.shape == (len(records), len(outcomes))
    values = np.array([flat(mechanism.estimate(outcomes[[y]])) for y in range(len(outcomes))])
    for record, row in zip(records, matrix, strict=True):
        alone = Population.from_records(np.array([record]), k=mechanism.k)
        mean = row @ values
        assert np.allclose(mean, flat(mechanism.mean(alone)), rtol=0, atol=1e-9)
        assert np.allclose(row @ (values - mean) ** 2, flat(mechanism.variance(alone)), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("mechanism", ONE_USER, ids=repr)
def test_reports_follow_the_channel(mechanism):
    records = np.array(list(itertools.product(*map(range, mechanism.k))))
    codes = {y.tobytes(): i for i, y in enumerate(mechanism.reports())}
    rng, matrix = np.random.default_rng(5), mechanism.channel()
    for u in (0, len(records) - 1):
        drawn = [mechanism.perturb(records[[u]], rng=rng)[0].tobytes() for _ in range(3_000)]
        seen = np.array([codes[y] for y in drawn])[:, None]
        law = {(y,): r for y, r in enumerate(matrix[u]) if r > 0}
        assert check.law_z(seen, law) < 5


def enumerated(mechanism, users):
    """Mean and variance of the estimate of a few users in groups: all deals, all reports, one after the other."""
    outcomes, matrix = mechanism.reports(), mechanism.channel()
    records = list(itertools.product(*map(range, mechanism.k)))
    rows, asked = [matrix[records.index(x)] for x in users], outcomes["asked"]
    weights = np.array(mechanism.weights_)
    chances, sizes = assignment.group_sizes(len(users) * weights)
    first = second = total = 0
    for deal in itertools.product(range(len(weights)), repeat=len(users)):
        numbers = np.bincount(deal, minlength=len(weights))
        ways = math.factorial(len(users)) / math.prod(map(math.factorial, numbers.tolist()))
        chance = chances[(sizes == numbers).all(axis=1)].sum() / ways
        if chance == 0:
            continue
        options = [np.flatnonzero(asked == q) for q in deal]
        for reports in itertools.product(*options):
            r = chance * math.prod(row[y] / weights[q] for row, y, q in zip(rows, reports, deal, strict=True))
            estimate = flat(mechanism.estimate(outcomes[list(reports)]))
            first, second, total = first + r * estimate, second + r * estimate**2, total + r
    assert abs(total - 1) < 1e-9
    return first, second - first**2


@pytest.mark.parametrize(
    ("mechanism", "users"),
    [
        (OneQuestion(k=(2, 3), epsilon=1.0), [(0, 0), (0, 2), (1, 2)]),
        (OneQuestion(k=(2, 2), epsilon=1.0, weights=(0.1, 0.9)), [(0, 0), (0, 1), (1, 1)]),
        (OneQuestion(k=(2, 3, 2), epsilon=2.0, weights=(1, 1, 2)), [(0, 2, 1), (1, 2, 1)]),
        (AskSome(k=(2, 2, 2), epsilon=1.0, m=2), [(0, 1, 1), (1, 1, 1)]),
        (AskSome(k=(2, 3, 2), epsilon=1.0, m=2, weights=(1, 2, 1)), [(0, 2, 1), (1, 2, 0)]),
        (AskSome(k=(2, 2, 3), epsilon=1.0, m=2, weights=(2, 3, 1)), [(0, 1, 1), (1, 1, 0), (1, 0, 1)]),
    ],
    ids=repr,
)
def test_groups_by_enumeration(mechanism, users):
    population = Population.from_records(np.array(users), k=mechanism.k)
    mean, variance = enumerated(mechanism, users)
    assert np.allclose(mean, flat(mechanism.mean(population)), rtol=0, atol=1e-9)
    assert np.allclose(variance, flat(mechanism.variance(population)), rtol=1e-9, atol=1e-9)


def test_one_question_is_asking_one_of_several_and_the_joint_answer_asking_all():
    population = Population.from_counts(np.arange(24).reshape(2, 3, 4) % 5)
    one = OneQuestion(k=population.k, epsilon=0.4)
    some = AskSome(k=population.k, epsilon=0.4, m=1, sizes=[part.size_ for part in one.oracle_], weights=one.weights_)
    assert np.allclose(flat(one.variance(population)), flat(some.variance(population)), rtol=1e-12)
    joint = RRJoint(k=population.k, epsilon=2.0)
    everything = AskSome(k=population.k, epsilon=2.0, m=3, sizes=(1, 1, 1))
    assert np.allclose(flat(joint.variance(population)), flat(everything.variance(population)), rtol=1e-9)


def test_the_default_weights_are_best_against_the_worst_population():
    k, rng = (2, 5, 16), np.random.default_rng(6)
    mechanism = OneQuestion(k=k, epsilon=1.0)
    errors = np.array([subset.error(math.e, size, subset.optimal_size(math.e, size)) for size in k])
    assert np.allclose(mechanism.weights_, np.sqrt(errors) / np.sqrt(errors).sum())
    least = (errors / mechanism.weights_).sum()
    assert abs(least - np.sqrt(errors).sum() ** 2) < 1e-9
    for _ in range(100):
        assert (errors / rng.dirichlet(np.ones(3))).sum() >= least
    n = 10**6
    even = Population.from_records(np.stack([np.arange(80) % size for size in k], axis=1), k=k)
    even = Population(records=even.records, counts=even.counts * n // 80, k=k)
    drawn = n * sum(v.sum() for v in mechanism.variance(even)) + sum(1 - 1 / size for size in k)
    assert abs(drawn / least - 1) < 1e-5


def test_adult_at_epsilon_one():
    adult = load_adult()
    held = sum(v.sum() for v in OneQuestion(k=adult.k, epsilon=1.0).variance(adult))
    drawn = held + sum((1 - (adult.select(j).frequencies ** 2).sum()) / adult.n for j in range(adult.d))
    assert held < drawn < 0.0355


def test_what_not_asking_everybody_costs():
    """At a budget of 8, equal weights: 33 in groups of fixed size, 44 by own coins, 56 where counts are not centred."""
    adult, d, e = load_adult(), 8, math.exp(8)
    total = {
        groups: adult.n
        * sum(v.sum() for v in OneQuestion(k=adult.k, epsilon=8.0, weights=[1] * d, groups=groups).variance(adult))
        for groups in (True, False)
    }
    pairs = [subset.probabilities(e, k, subset.optimal_size(e, k)) for k in adult.k]
    own = [(p * (1 - p) + (k - 1) * q * (1 - q)) / (p - q) ** 2 for k, (p, q) in zip(adult.k, pairs, strict=True)]
    asked = d * (d - 1) + d * sum(own)  # divide each user's (support - q) / (p - q) by 1/d, 0 if not asked
    assert [round(t) for t in (total[True], total[False], asked)] == [33, 44, 56]
    squares = [(adult.select(j).frequencies ** 2).sum() for j in range(d)]
    assert math.isclose(
        total[True], sum(d * t + (d - 1) * (1 - s) for t, s in zip(own, squares, strict=True)), rel_tol=1e-3
    )


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
@pytest.mark.parametrize("m", [1, 2, 3])
def test_the_best_design_is_the_best_of_all_sizes(epsilon, m):
    k, e = (2, 4, 5), math.exp(epsilon)
    _, sizes, weights = formulas.best_design(e, k, m)

    def total(sizes, weights):
        keep = formulas.keep_probabilities(e, k, sizes, m)
        return formulas.attribute_errors(k, sizes, m, keep, np.array(weights)).sum()

    found = total(sizes, weights)
    for tried in itertools.product(*(range(1, size) for size in k)):
        _, _, best = formulas.best_design(e, k, m, tried)
        assert found <= total(tried, best) * (1 + 1e-6)
    rng = np.random.default_rng(7)
    for _ in range(200):
        other = 0.9 * np.array(weights) + 0.1 * rng.dirichlet(np.ones(len(weights)))
        assert found <= total(sizes, other) * (1 + 1e-6)


def test_a_design_of_hundreds_of_answers_is_no_worse_than_one_of_single_answers():
    """Of sets of one answer each, which are where the search starts too, and of any number of questions."""
    domains = (2, 1_000), (2, 1_000, 1_000), (3, 400, 1_000), (2, 2, 1_000)
    for k, together, e in itertools.product(domains, (1, 2), np.exp([8.0, 10.0])):
        ones = [formulas.best_design(e, k, m, (1,) * len(k), together) for m in range(together, len(k) + 1)]
        best, *totals = (
            formulas.attribute_errors(
                k, sizes, m, formulas.keep_probabilities(e, k, sizes, m), np.array(weights), together
            ).sum()
            for m, sizes, weights in (formulas.best_design(e, k, together=together), *ones)
        )
        assert best <= min(totals) * (1 + 1e-5)
    found = recommend(k=(2, 1_000, 1_000), epsilon=10.0, n=1).mechanism
    assert (type(found), found.m_, found.sizes_) == (AskSome, 2, (1, 1, 1))


def test_several_answers_beat_one_at_large_budgets():
    small, large = (AskSome(k=(3, 3, 3, 3), epsilon=x) for x in (0.5, 6.0))
    assert small.m_ == 1
    assert large.m_ > 1
    assert len(set(large.weights_)) == 1


def test_where_all_people_answer_alike_one_answer_is_better_at_budgets_at_which_several_are_for_uniform_answers():
    """Of four questions with four answers at 4 two thirds of the variance of one, and where all agree 2.2 times."""
    uniform = Population.from_counts(np.full((4,) * 4, 40))
    alike = Population.from_counts(10_240 * np.eye(1, 4**4, dtype=int).reshape((4,) * 4))
    ways = [kind(k=alike.k, epsilon=4.0) for kind in (AskSome, OneQuestion)]
    even, equal = ([np.hstack(way.variance(people)).sum() for way in ways] for people in (uniform, alike))
    assert [round(some / one, 2) for some, one in (even, equal)] == [0.66, 2.22]


def test_the_default_oracle_has_the_least_error():
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        for k in (2, 3, 7, 40):
            default = OneQuestion(k=(k,), epsilon=epsilon).oracle_[0]
            errors = [
                formulas.attribute_error(k, *part.probabilities)
                for part in (default, GRR(k=k, epsilon=epsilon), OUE(k=k, epsilon=epsilon), OLH(k=k, epsilon=epsilon))
            ]
            assert errors[0] <= min(errors) * (1 + 1e-12)


def test_an_attribute_that_nobody_was_asked_gets_the_same_share_for_each_value():
    rng = np.random.default_rng(8)
    for mechanism in (OneQuestion(k=(4, 3), epsilon=1.0), AskSome(k=(4, 3), epsilon=1.0, m=1, groups=False)):
        y = mechanism.perturb(np.array([[3, 1]]), rng=rng)
        estimate = mechanism.estimate(y)
        silent = 1 - int(y["asked"][0])
        assert np.array_equal(estimate[silent], np.full(mechanism.k[silent], 1 / mechanism.k[silent]))
    alike = OneQuestion(k=(4, 3), epsilon=1.0)
    y = alike.perturb(np.array([[3, 1]] * 9), rng=rng)
    estimate = alike.estimate(y[y["asked"] == 0])
    assert np.array_equal(estimate[1], np.full(3, 1 / 3))


def test_reports_can_be_joined():
    mechanism, rng = OneQuestion(k=(4, 9), epsilon=0.3), np.random.default_rng(9)
    x = np.stack([rng.integers(4, size=400), rng.integers(9, size=400)], axis=1)
    y = np.concatenate([mechanism.perturb(part, rng=rng) for part in np.split(x, 4)])
    assert np.isfinite(flat(mechanism.estimate(y))).all()
    assert y.dtype.itemsize == 1 + max(part.size_ for part in mechanism.oracle_)


def test_a_place_in_the_report_tells_nothing_about_the_truth():
    """The own value is as often first as the law of sets says, whether it was drawn on purpose or not."""
    mechanism = AskSome(k=(5, 5), epsilon=2.0, m=2, sizes=(2, 2))
    y = mechanism.perturb(np.full((20_000, 2), 2), rng=np.random.default_rng(10))
    sets = y["sets"][:, 0]
    holds = sets[(sets == 2).any(axis=1)]
    share = (holds[:, 0] == 2).mean()  # of the four sets with 2, two have it first
    assert abs(share - 0.5) < 5 * math.sqrt(0.25 / len(holds))


BAD = [
    (OneQuestion, {"k": 5}, (TypeError, ValueError), "k must "),
    (OneQuestion, {"k": (5, 1)}, ValueError, "k must be"),
    (OneQuestion, {"weights": (1, -1)}, ValueError, r"weights must be 2 finite numbers .* got \(1, -1\)"),
    (OneQuestion, {"weights": (0, 0)}, ValueError, "weights must be 2 finite numbers"),
    (OneQuestion, {"weights": (1, 0)}, ValueError, "weights must be above 0"),
    (OneQuestion, {"weights": (1, 1, 1)}, ValueError, r"weights must be 2 .* got shape \(3,\)"),
    (OneQuestion, {"weights": (1, math.nan)}, ValueError, "weights must be 2 finite numbers"),
    (OneQuestion, {"weights": "ab"}, TypeError, "weights must be"),
    (OneQuestion, {"oracle": 3}, TypeError, "oracle must be a class of pure frequency oracles for users alone; got 3"),
    (OneQuestion, {"groups": 1}, TypeError, "groups must be True or False; got 1"),
    (OneQuestion, {"epsilon": -1.0}, ValueError, "epsilon must be"),
    (AskSome, {"k": 5}, (TypeError, ValueError), "k must "),
    (AskSome, {"m": 0}, ValueError, "m must be an integer from 1 to d = 2; got 0"),
    (AskSome, {"m": 3}, ValueError, "m must be an integer from 1 to d = 2; got 3"),
    (AskSome, {"m": 1.0}, TypeError, "m must be an integer"),
    (AskSome, {"sizes": (1, 4)}, ValueError, "size must be an integer from 1 to k-1 = 3; got 4"),
    (AskSome, {"sizes": (0, 1)}, ValueError, "size must be an integer from 1 to k-1 = 2; got 0"),
    (AskSome, {"sizes": (1,)}, ValueError, "sizes must have one entry for each of 2 attributes"),
    (AskSome, {"weights": (1, 1)}, ValueError, "weights must come with m"),
    (AskSome, {"m": 1, "weights": (1, 0)}, ValueError, "weights must be above 0 for at least one question"),
    (AskSome, {"m": 2, "weights": (1, 1)}, ValueError, "weights must be 1 finite"),
    (AskSome, {"k": (2,) * 40, "m": 20}, ValueError, "m must leave at most 5000 questions"),
]


@pytest.mark.parametrize(("make", "changes", "error", "message"), BAD)
def test_bad_parameters_are_named(make, changes, error, message):
    with pytest.raises(error, match=message):
        make(**{"k": (3, 4), "epsilon": 1.0, **changes})


@pytest.mark.parametrize("mechanism", [OneQuestion(k=(3, 4), epsilon=1.0), AskSome(k=(3, 4), epsilon=1.0)], ids=repr)
def test_bad_data_and_reports_are_named(mechanism):
    rng = np.random.default_rng(1)
    with pytest.raises(ValueError, match="x must"):
        mechanism.perturb([[0, 4]], rng=rng)
    with pytest.raises(TypeError, match="rng must be"):
        mechanism.perturb([[0, 0]], rng=1)
    other = Population.from_counts(np.ones((3, 5), int))
    for call in (mechanism.mean, mechanism.variance, lambda p: mechanism.simulate(p, rng=rng, runs=1)):
        with pytest.raises(ValueError, match="population must have"):
            call(other)
    y = mechanism.perturb([[0, 0], [2, 3]], rng=rng)
    for bad, error, message in (
        (y["asked"], TypeError, "y must be reports of type"),
        (y[:0], ValueError, "at least one report"),
        (y[None], ValueError, "one-dimensional"),
    ):
        with pytest.raises(error, match=message):
            mechanism.estimate(bad)
    y["asked"][1] = 2
    with pytest.raises(ValueError, match=r"y\['asked'\] must be from 0 to 1; got 2"):
        mechanism.estimate(y)


def test_too_many_users_in_groups_is_a_clear_error():
    population = Population.from_counts([[10**9, 1], [1, 1]])
    with pytest.raises(ValueError, match=r"at most 10\*\*9 users to deal groups"):
        OneQuestion(k=(2, 2), epsilon=1.0).simulate(population, rng=np.random.default_rng(1), runs=1)
    alone = OneQuestion(k=(2, 2), epsilon=1.0, groups=False)
    runs = alone.simulate(population, rng=np.random.default_rng(1), runs=2_000)
    assert check.variance_z(flat(runs), flat(alone.variance(population))) < 5


def test_formulas_take_fractions_and_symbols():
    p, q = grr.probabilities(Fraction(3), 4)
    assert formulas.attribute_error(4, p, q) == subset.error(Fraction(3), 4, 1)
    keep = subset.keep_probability(Fraction(3), Fraction(1, 2))
    assert formulas.support_probabilities(keep, 4, 2) == subset.probabilities(Fraction(3), 4, 2)


def test_weights_are_divided_by_their_sum_once():
    assert _inputs.check_weights([0.5, 1.0], 2) == (1 / 3, 2 / 3)
    assert _inputs.check_weights([0.25, 0.25, 0], 3) == (0.5, 0.5, 0.0)
    assert _inputs.check_weights((0.7, 0.2, 0.1), 3) == (0.7, 0.2, 0.1)  # in floats their sum is not quite 1


@pytest.mark.parametrize(
    "weights", [(2, -1), (math.inf, 1), (-math.inf, 1), (math.nan, 1), (0.0, 0.0), (-1, -1), [[1, 1]]]
)
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(ValueError, match="weights must be 2 finite numbers of at least 0, not all 0; got"):
        _inputs.check_weights(weights, 2)
    with pytest.raises(TypeError, match="weights must be 2 finite numbers"):
        _inputs.check_weights(object(), 2)


def test_a_group_is_counted_if_it_cannot_be_empty():
    sizes, pull = np.array([[2, 1], [0, 0]]), np.array([3.0, 5.0])
    assert assignment.divisor(sizes, np.array([0.4, 1.0]), pull, True).tolist() == [11, 3]
    for expected, groups in (((0.4, 0.99), True), ((4.0, 1.0), False)):
        want = 3 * expected[0] + 5 * expected[1]
        assert assignment.divisor(sizes, np.array(expected), pull, groups) == pytest.approx([want, want], rel=1e-15)
    total = np.array([[6.0, 10.0, 22.0], [0.0, 0.0, 0.0]])
    found = _dealing.centred_estimate(total, sizes, np.array([0.4, 1.0]), pull, True)
    third = 1 / 3
    assert found == pytest.approx(np.array([[6 / 11, 10 / 11, 2], [third] * 3]), rel=1e-14)


def test_a_thousand_million_users_are_dealt_in_groups_and_no_more():
    weights, how = (0.25, 0.75), {"rng": np.random.default_rng(1), "runs": 2}
    people = Population.from_counts([10**9 - 1, 1])
    dealt = sum(part for _, part in _dealing.deal_records(people, weights, True, **how))
    assert dealt.tolist() == [[25 * 10**7, 75 * 10**7]] * 2
    with pytest.raises(ValueError, match="got n = 1000000001"):
        list(_dealing.deal_records(Population.from_counts([10**9, 1]), weights, True, **how))


def test_there_are_at_most_five_thousand_questions():
    assert formulas.questions(5_000, 1).shape == (5_000, 1)
    with pytest.raises(ValueError, match="at most 5000 questions; got 5001, 1 out of 5001"):
        formulas.questions(5_001, 1)


def test_numbers_of_questions_that_are_too_many_are_passed_over(monkeypatch):
    monkeypatch.setattr(formulas, "MOST_QUESTIONS", 3)
    assert formulas.best_design(math.exp(0.51), (2, 2, 2))[0] == 1
    assert formulas.best_design(math.exp(5.1), (2, 2, 2))[0] == 3
    monkeypatch.setattr(formulas, "MOST_QUESTIONS", 1)
    assert formulas.best_design(math.exp(0.52), (2, 2, 2))[0] == 3
    assert formulas.best_design(math.exp(0.53), (2, 2, 2), 3)[0] == 3


def test_best_weights_of_single_questions_are_known_and_rounded_to_six_digits():
    e, k, sizes = 2.5, (2, 5, 16), (1, 2, 3)
    found = formulas.best_design(e, k, 1, sizes)
    roots = np.sqrt([subset.error(e, *one) for one in zip(k, sizes, strict=True)])
    rounded = np.round(roots / roots.sum(), 6)
    assert found[:2] == (1, sizes)
    assert found[2] == pytest.approx(rounded / rounded.sum(), rel=1e-12)
    assert np.abs(rounded - roots / roots.sum()).max() > 1e-8


@pytest.mark.parametrize("m", [1, 2])
def test_attribute_errors_are_those_of_the_support_probabilities(m):
    k, sizes, e = (2, 4, 5), (1, 3, 2), 3.0
    keep, weights = formulas.keep_probabilities(e, k, sizes, m), np.array([0.5, 0.3, 0.2])
    asked = list(itertools.combinations(range(3), m))
    for row, c in zip(asked, keep, strict=True):
        share = math.prod(Fraction(sizes[j], k[j]) for j in row)
        assert c == pytest.approx(float(2 * share / (1 + 2 * share)), rel=1e-14)
    found = formulas.attribute_errors(k, sizes, m, keep, weights)
    for j, (size, of) in enumerate(zip(sizes, k, strict=True)):
        # Each question's own error; several are weighted by keep^2, which adds up what they tell.
        told = 0
        for row, c, w in zip(asked, keep, weights, strict=True):
            if j in row:
                told += w / formulas.attribute_error(of, *formulas.support_probabilities(c, of, size))
        assert found[j] == pytest.approx(1 / told, rel=1e-12)


def test_the_questions_are_shared_and_cannot_be_overwritten():
    mechanism = AskSome(k=(2, 3, 2), epsilon=1.0, m=2)
    with pytest.raises(ValueError, match="read-only"):
        mechanism.questions[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        formulas.concerns(3, 2)[0] = 1
    assert mechanism.questions.tolist() == [[0, 1], [0, 2], [1, 2]]


def test_the_number_of_questions_may_be_numpy_s_and_is_kept_as_python_s():
    mechanism = AskSome(k=(2, 3), epsilon=1.25, m=np.int64(2))
    assert repr(mechanism) == repr(AskSome(k=(2, 3), epsilon=1.25, m=2))
    with pytest.raises(TypeError, match="m must be an integer from 1 to d = 2; got True"):
        AskSome(k=(2, 3), epsilon=1.0, m=True)


def test_one_attribute_is_subset_selection_in_every_way():
    people, alone = Population.from_counts([5, 0, 3, 1]), SubsetSelection(k=4, epsilon=0.3)
    assert alone.size_ == 2
    for some in (AskSome(k=(4,), epsilon=0.3, sizes=(2,)), OneQuestion(k=(4,), epsilon=0.3)):
        assert some.variance(people)[0] == pytest.approx(alone.variance(people), rel=1e-12)
        assert some.channel() == pytest.approx(alone.channel(), rel=1e-12)
        runs = some.simulate(people, rng=np.random.default_rng(1), runs=2_000)[0]
        assert check.mean_z(runs, alone.mean(people)) < 5 < check.mean_z(runs, alone.mean(people) + 0.3)
        assert check.variance_z(runs, alone.variance(people)) < 5 < check.variance_z(runs, 1.3 * alone.variance(people))


@pytest.mark.parametrize("groups", [True, False])
@pytest.mark.parametrize(("m", "sizes"), [(1, (1, 2, 1)), (2, (1, 2, 1)), (2, (1, 1, 3)), (3, (1, 2, 3))])
def test_asking_some_is_simulated_with_its_moments(m, sizes, groups):
    weights = {1: (2, 3, 1), 2: (1, 3, 2), 3: (1,)}[m]
    mechanism = AskSome(k=(2, 3, 4), epsilon=2.0, m=m, sizes=sizes, weights=weights, groups=groups)
    people = Population.from_records(np.array([[0, 0, 0]] * 9 + [[1, 2, 3]] * 4 + [[1, 0, 2]] * 3), k=(2, 3, 4))
    runs = flat(mechanism.simulate(people, rng=np.random.default_rng(3), runs=3_000))
    mean, variance = flat(mechanism.mean(people)), flat(mechanism.variance(people))
    assert check.mean_z(runs, mean) < 5 < check.mean_z(runs, mean + 0.2 * np.sqrt(variance))
    assert check.variance_z(runs, variance) < 5 < check.variance_z(runs, 1.3 * variance)


@pytest.mark.parametrize(
    ("mechanism", "cells"),
    [
        (AskSome(k=(2, 3, 9, 2, 40, 2, 7), epsilon=0.1, m=1, sizes=(1, 2, 1, 1, 1, 1, 3)), (60_480, 58 + 35)),
        (AskSome(k=(30, 4, 9), epsilon=0.1, m=2, sizes=(2, 2, 3)), (1080, 435 * 6 + 435 * 84 + 6 * 84)),
        (OneQuestion(k=(7,) * 6, epsilon=0.1), (7**6, 6 * 35)),
        (OneQuestion(k=(2,) * 17, epsilon=0.1), (2**17, 34)),
    ],
    ids=["one", "two", "sets", "bits"],
)
def test_channels_of_samples_that_are_too_large_are_refused_by_their_numbers(mechanism, cells):
    with pytest.raises(ValueError, match=f"{cells[0]} rows and {cells[1]} columns"):
        mechanism.channel()


@pytest.mark.parametrize("sizes", [3, (1, 1, 1), ((1, 1),)])
def test_sizes_come_one_an_attribute(sizes):
    with pytest.raises(ValueError, match="sizes must have one entry for each of 2 attributes; got"):
        AskSome(k=(2, 3), epsilon=1.0, sizes=sizes)


def test_reports_of_samples_are_as_small_as_can_be():
    some = AskSome(k=(2, 300), epsilon=1.0, m=1, sizes=(1, 5))
    assert some.dtype.itemsize == 1 + 2 * 5
    one = OneQuestion(k=(2, 300), epsilon=1.0, oracle=GRR)
    assert one.dtype.itemsize == 1 + 2
    y = one.perturb(np.array([[1, 299]] * 4), rng=np.random.default_rng(1))
    assert (y["report"][y["asked"] == 0][:, 1] == 0).all()


def test_sums_of_counts_are_counts_of_joined_reports():
    x = np.array([[1, 2, 3], [0, 1, 1], [1, 0, 2], [0, 2, 0], [1, 1, 3]])
    for make in (OneQuestion, AskSome):
        how = {"m": 2, "sizes": (1, 2, 2)} if make is AskSome else {}
        mechanism = make(k=(2, 3, 4), epsilon=1.0, groups=False, weights=(0.2, 0.3, 0.5), **how)
        y = mechanism.perturb(x, rng=np.random.default_rng(4))
        whole = mechanism.count(y)
        assert (mechanism.count(y[:2]) + mechanism.count(y[2:]) == whole).all()
        asked = np.bincount(y["asked"], minlength=3)
        assert whole[0] == 5
        if make is AskSome:
            assert whole[1:4].tolist() == asked.tolist()
            for number, row in enumerate(mechanism.questions.tolist()):
                sets = y["sets"][y["asked"] == number]
                for j in range(3):
                    start = 4 + 3 * sum(mechanism.k[:j]) + number * mechanism.k[j]
                    found = whole[start : start + mechanism.k[j]]
                    held = sets[:, row.index(j), : mechanism.sizes_[j]].ravel() if j in row else np.zeros(0, int)
                    assert found.tolist() == np.bincount(held, minlength=mechanism.k[j]).tolist()
        else:
            assert whole[[1, 4, 8]].tolist() == asked.tolist()
        for joined, alone in zip(mechanism.estimate_counts(whole), mechanism.estimate(y), strict=True):
            assert (joined == alone).all()
        assert [len(part) for part in mechanism.estimate(y)] == [2, 3, 4]


@pytest.mark.parametrize("groups", [True, False])
def test_one_user_s_variance_is_exact(groups):
    """One user of two attributes, dealt or not: all questions and all reports."""
    mechanism = OneQuestion(k=(2, 3), epsilon=1.0, weights=(1, 3), groups=groups)
    values = np.array([flat(mechanism.estimate(report[None])) for report in mechanism.reports()])
    for x in ([0, 2], [1, 0]):
        people = Population.from_records(np.array([x]), k=(2, 3))
        law = mechanism.channel()[x[0] * 3 + x[1]]
        assert law @ values == pytest.approx(flat(mechanism.mean(people)), abs=1e-12)
        assert law @ (values - law @ values) ** 2 == pytest.approx(flat(mechanism.variance(people)), rel=1e-10)


def test_an_oracle_is_a_class_of_pure_ones_for_users_alone():
    made = OneQuestion(k=(3, 4), epsilon=1.0, oracle=GRR)
    assert made.oracle_ == (GRR(k=3, epsilon=1.0), GRR(k=4, epsilon=1.0))
    for oracle in (3, (3, 4), GRR(k=3, epsilon=1.0), (GRR(k=3, epsilon=1.0),) * 2, JRR, SPL, int, "GRR"):
        with pytest.raises(TypeError, match="oracle must be a class of pure frequency oracles for users alone; got"):
            OneQuestion(k=(3, 4), epsilon=1.0, oracle=oracle)


@pytest.mark.parametrize("epsilon", [0.9, 2.2])
def test_equal_domains_of_one_question_get_the_best_size_of_one_attribute(epsilon):
    e = math.exp(epsilon)
    for k in ((9,), (9, 9)):
        m, sizes, weights = formulas.best_design(e, k, 1)
        assert (m, sizes) == (1, (subset.optimal_size(e, k[0]),) * len(k))
        assert weights == pytest.approx([1 / len(k)] * len(k), abs=1e-6)


@pytest.mark.parametrize("epsilon", [0.5, 4.5])
def test_the_number_of_questions_is_the_best_of_all(epsilon):
    e, k = math.exp(epsilon), (3, 3, 3)
    found = formulas.best_design(e, k)

    def total(design):
        keep = formulas.keep_probabilities(e, k, design[1], design[0])
        return formulas.attribute_errors(k, design[1], design[0], keep, np.array(design[2])).sum()

    others = [formulas.best_design(e, k, m, (size,) * 3) for m in (1, 2, 3) for size in (1, 2)]
    assert total(found) <= min(map(total, others)) * (1 + 1e-9)
    assert found == min(others, key=lambda design: (round(total(design), 9), design[0]))


@pytest.mark.parametrize("epsilon", [0.1, 5.0])
def test_two_hundred_attributes_of_mixed_sizes_have_a_design(epsilon):
    k = (*range(2, 102), *range(1_000, 1_100))
    mechanism = AskSome(k=k, epsilon=epsilon)
    best = OneQuestion(k=k, epsilon=epsilon)
    assert mechanism.m_ == 1
    assert mechanism.sizes_ == tuple(part.size_ for part in best.oracle_)
    assert mechanism.weights_ == pytest.approx(best.weights_, abs=1e-6)


def test_a_product_of_shares_that_is_rounded_to_nothing_is_refused():
    k = (10,) * 200
    with pytest.raises(
        ValueError, match="m must be so small that sets of m attributes tell their values apart; got 200"
    ):
        AskSome(k=k, epsilon=1.0, m=200, sizes=(1,) * 200).weights_  # noqa: B018
    assert len(AskSome(k=k, epsilon=1.0, m=199, sizes=(9,) * 200).weights_) == 200


@pytest.mark.parametrize("oracle", [OUE, SubsetSelection])
def test_padding_of_reports_is_zero_wherever_nothing_is_said(oracle):
    """Bytes that nobody set would be whatever lay in memory: other answers."""
    k = (3, 40)
    mechanism = OneQuestion(k=k, epsilon=1.0, oracle=oracle)
    np.full(2**20, 255, np.uint8)  # memory that is not zero
    y = mechanism.perturb(np.zeros((5_000, 2), int), rng=np.random.default_rng(4))
    for j, part in enumerate(mechanism.oracle_):
        width = part.perturb(np.zeros(1, int), rng=np.random.default_rng(1)).nbytes
        assert not y["report"][y["asked"] == j, width:].any()
    some = AskSome(k=(9, 2), epsilon=2.0, m=1, sizes=(3, 1))
    told = some.perturb(np.zeros((5_000, 2), int), rng=np.random.default_rng(5))
    assert not told["sets"][told["asked"] == 1][:, 0, 1:].any()


def test_an_array_that_was_given_away_and_overwritten_changes_no_estimate():
    m = AskSome(k=(2, 3, 4), epsilon=4.0)
    y = m.perturb(np.zeros((400, 3), int), rng=np.random.default_rng(1))
    before = np.concatenate(m.estimate(y))
    m.keep[...] = 0.5
    assert np.array_equal(np.concatenate(m.estimate(y)), before)
    with pytest.raises(ValueError, match="read-only"):
        m.questions[...] = 0


def test_at_small_budgets_one_question_is_best_if_each_number_of_questions_has_its_best_sets():
    """`own/several-questions`; with sets of three of four values two questions have less even there."""
    even = Population.from_counts(np.ones((4, 4), int))

    def total(m, size):
        some = AskSome(k=(4, 4), epsilon=0.01, m=m, sizes=(size,) * 2, groups=False)
        return even.n * sum(map(sum, some.variance(even)))

    one, two = ([total(m, size) for size in (1, 2, 3)] for m in (1, 2))
    assert min(one) < 0.9 * min(two)
    assert two[2] < 0.9 * one[2]
    assert "each with its best $s$, one is best" in " ".join(claims.claim("own/several-questions").statement.split())


def test_the_variance_of_several_questions_is_that_of_the_centred_estimator():
    """`own/several-questions`: counted as 0 where they were not asked, as by Horvitz and Thompson, users add more."""
    even, over = Population.from_counts(np.ones((2, 2, 2), int)), []
    for m in (1, 2, 3):
        some = AskSome(k=(2, 2, 2), epsilon=5.0, m=m, groups=False)
        p, q, _ = some.probabilities(0)
        counted = np.array([0, 1 / 2])  # as what a user counts who was not asked
        asked = pure.variance(1 / 2, 1, p[0], q[0]) + ((1 - counted) ** 2 + counted**2) / 2
        zero, centred = 6 * (asked * 3 / m - (1 / 2 - counted) ** 2)
        assert np.isclose(centred, 9 / (m * 2 * some.keep[0] ** 2))
        assert np.isclose(centred, even.n * sum(map(sum, some.variance(even))) + 3 / 2)
        over.append(round(zero / centred, 2))
    assert over == [1.65, 1.32, 1.0]

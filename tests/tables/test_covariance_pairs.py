"""Tables of pairs from reports that share a coin: exact moments by enumeration, against the split budget, bad input."""

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from ldp_lib import check
from ldp_lib.datasets import load_adult
from ldp_lib.population import Population
from ldp_lib.sampled import AskSome, assignment
from ldp_lib.tables._asked import set_gain as gain
from ldp_lib.tables._totals import pairs_error
from ldp_lib.tables.consistency import _interaction as interaction
from ldp_lib.tables.covariance import table_covariance
from ldp_lib.tables.product import RRIndependent
from ldp_lib.tables.sampled import ask_pairs, pair_tables


def interactions(k, epsilon, m, sizes, weights):
    """Return the total variance of all pairs' interactions, from its definition."""
    asked, total = list(itertools.combinations(range(len(k)), m)), 0.0
    for pair in itertools.combinations(range(len(k)), 2):
        told = 0.0
        for question, weight in zip(asked, weights, strict=True):
            if set(pair) <= set(question):
                odds = math.expm1(epsilon) * math.prod(sizes[j] / k[j] for j in question)
                told += weight * (odds / (1 + odds)) ** 2
        total += math.prod(sizes[j] * (k[j] - 1) ** 2 / (k[j] * (k[j] - sizes[j])) for j in pair) / told
    return total


def stacked(tables):
    return np.concatenate([table.ravel() for table in tables.values()])


def variances(mechanism, population, pairs=((0, 1), (0, 2), (1, 2))):
    """Return the stated variances of each pair's table, the users' data held fixed; exact for own assignments."""
    found, n = {}, population.n
    for pair in pairs:
        table = population.select(*pair).joint
        covariance = table_covariance(mechanism, table, *pair, n=n, sampling=False)
        found[pair] = np.diag(covariance).reshape(table.shape)
    return found


@pytest.mark.parametrize(
    ("k", "sizes", "m"), [((3, 2, 2), (1, 1, 1), 2), ((4, 3, 2), (2, 1, 1), 2), ((3, 2, 2), (2, 1, 1), 3)]
)
def test_own_coins_by_enumeration(k, sizes, m):
    """One user at a time, all reports: the table's mean is the user's cell, and the variance is the stated one."""
    mechanism = AskSome(k=k, epsilon=1.0, m=m, sizes=sizes, weights=np.ones(math.comb(3, m)), groups=False)
    chances = mechanism.channel()
    values = np.array([stacked(pair_tables(mechanism, report[None])) for report in mechanism.reports()])
    for record, law in zip(np.ndindex(*k), chances, strict=True):
        truth = Population.from_records(np.array([record]), k=k)
        mean = law @ values
        wanted = {pair: truth.select(*pair).joint for pair in itertools.combinations(range(3), 2)}
        assert np.allclose(mean, stacked(wanted), rtol=0, atol=1e-12)
        variance = law @ (values - mean) ** 2
        assert np.allclose(variance, stacked(variances(mechanism, truth)), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("records", [[[0, 0, 0], [2, 1, 1], [2, 1, 0]], [[1, 1, 1]] * 3])
def test_groups_by_enumeration(records):
    """Three users, one for each pair: all ways to deal them, and all their reports."""
    mechanism = AskSome(k=(3, 2, 2), epsilon=1.5, m=2, sizes=(1, 1, 1), weights=(1, 1, 1))
    outcomes = mechanism.reports()
    rows = np.ravel_multi_index(np.array(records).T, (3, 2, 2))
    law = mechanism.channel()[rows] * 3  # given the question
    mean = total = 0
    for dealt in itertools.permutations(range(3)):
        choices = [np.flatnonzero(outcomes["asked"] == question) for question in dealt]
        for reports in itertools.product(*choices):
            chance = math.prod(law[user, report] for user, report in enumerate(reports)) / 6
            value = stacked(pair_tables(mechanism, outcomes[list(reports)]))
            total, mean = total + chance, mean + chance * value
    population = Population.from_records(np.array(records), k=(3, 2, 2))
    assert abs(total - 1) < 1e-12
    wanted = {pair: population.select(*pair).joint for pair in itertools.combinations(range(3), 2)}
    assert np.allclose(mean, stacked(wanted), rtol=0, atol=1e-12)


def test_groups_of_unequal_sizes_by_simulation():
    mechanism = AskSome(k=(3, 4, 2), epsilon=2.0, m=2, sizes=(1, 2, 1), weights=(0.5, 0.3, 0.2))
    rng = np.random.default_rng(1)
    population = Population.from_counts(rng.multinomial(33, rng.dirichlet(np.ones(24))).reshape(3, 4, 2))
    x = population.users()
    runs = np.array([stacked(pair_tables(mechanism, mechanism.perturb(x, rng=rng))) for _ in range(2_000)])
    truth = {pair: population.select(*pair).joint for pair in itertools.combinations(range(3), 2)}
    assert check.mean_z(runs, stacked(truth)) < 5
    assert check.mean_z(runs, 0.8 * stacked(truth)) > 5


def test_the_tables_have_the_marginals_of_the_estimate():
    mechanism = AskSome(k=(3, 4, 2), epsilon=2.0, m=2, weights=(1, 1, 1))
    rng = np.random.default_rng(2)
    y = mechanism.perturb(rng.integers(2, size=(500, 3)), rng=rng)
    marginals = mechanism.estimate(y)
    for (j, i), table in pair_tables(mechanism, y).items():
        assert np.allclose(table.sum(axis=1), marginals[j], rtol=0, atol=1e-12)
        assert np.allclose(table.sum(axis=0), marginals[i], rtol=0, atol=1e-12)


def test_one_coin_undoes_the_interaction():
    """The mean product of two centred indicators, exactly: one chance, two gains."""
    k, sizes, keep = (4, 3), (2, 1), Fraction(1, 3)
    for truth, cell in itertools.product(itertools.product(range(4), range(3)), repeat=2):
        mean = 0
        for sets in itertools.product(*(itertools.combinations(range(a), s) for a, s in zip(k, sizes, strict=True))):
            holds = all(t in s for t, s in zip(truth, sets, strict=True))
            chance = (1 - keep) * Fraction(1, 6 * 3) + (keep * Fraction(1, 3 * 1) if holds else 0)
            mean += chance * math.prod((v in s) - Fraction(len(s), a) for v, s, a in zip(cell, sets, k, strict=True))
        told = math.prod(
            gain(Fraction(a), s) * ((v == t) - Fraction(1, a)) for a, s, v, t in zip(k, sizes, cell, truth, strict=True)
        )
        assert mean == keep * told


def test_the_interactions_error_for_uniform_users():
    """Exact variance of the interaction's cells, summed, by enumeration of one uniform user's reports."""
    mechanism = AskSome(k=(4, 3), epsilon=1.0, m=2, sizes=(2, 1), groups=False)
    outcomes, law = mechanism.reports(), mechanism.channel().mean(axis=0)
    values = np.array([interaction(pair_tables(mechanism, report[None])[0, 1]).ravel() for report in outcomes])
    stated = interactions((4, 3), mechanism.epsilon, 2, (2, 1), [1.0])
    assert math.isclose((law @ values**2).sum(), stated, rel_tol=1e-12)


def test_asking_pairs_beats_a_split_budget_on_adult():
    """Relationship and sex at the budget at which a keep chance of .1 for each of eight attributes is spent."""
    population = load_adult()
    budgets = [math.log1p(0.1 * k / 0.9) for k in population.k]
    asked = AskSome(k=population.k, epsilon=sum(budgets), m=2, sizes=(1,) * 8, weights=np.ones(28))
    root = math.sqrt(variances(asked, population, [(4, 6)])[4, 6].sum())
    lengths = [((1 - 0.9 / k) ** 2 + (k - 1) * (0.9 / k) ** 2) / 0.01 for k in (6, 2)]
    split = math.sqrt((math.prod(lengths) - 1) / population.n)
    assert RRIndependent(k=population.k, channels=budgets).epsilon == pytest.approx(asked.epsilon)
    assert root < split / 10
    y = asked.perturb(population.users(), rng=np.random.default_rng(3))
    off = pair_tables(asked, y, [(4, 6)])[4, 6] - population.select(4, 6).joint
    assert (off**2).sum() < 4 * root**2


def test_chosen_sizes_and_weights_are_better_than_plain_ones():
    k, epsilon = (9, 16, 7, 15, 6, 5, 2, 2), 1.0
    chosen = ask_pairs(k, epsilon)
    errors = lambda m: interactions(k, epsilon, 2, m.sizes_, m.weights_)  # noqa: E731
    plain = AskSome(k=k, epsilon=epsilon, m=2, sizes=(1,) * 8, weights=np.ones(28))
    assert errors(chosen) < errors(plain) / 2
    for weights in (np.ones(28), np.array(chosen.weights_) ** 2):
        assert errors(chosen) < errors(AskSome(k=k, epsilon=epsilon, m=2, sizes=chosen.sizes_, weights=weights))


def test_bad_input():
    mechanism = AskSome(k=(2, 2, 2), epsilon=1.0, m=2, weights=(0.5, 0.5, 0))
    y = mechanism.perturb(np.zeros((10, 3), int), rng=np.random.default_rng(1))
    assert sorted(pair_tables(mechanism, y)) == [(0, 1), (0, 2)]
    with pytest.raises(ValueError, match=r"attributes must be asked together, at most m = 2 of them; got \(1, 2\)"):
        pair_tables(mechanism, y, [(1, 2)])
    with pytest.raises(ValueError, match="numbers j < l from 0 to 2"):
        pair_tables(mechanism, y, [(1, 0)])
    with pytest.raises(ValueError, match=r"about all of \(0, 2\); got none"):
        pair_tables(mechanism, y[y["asked"] == 0])
    with pytest.raises(ValueError, match="at least m = 2"):
        pair_tables(AskSome(k=(2, 2), epsilon=1.0, m=1), y)
    with pytest.raises(TypeError, match="mechanism must be an AskSome"):
        pair_tables(RRIndependent(k=(2, 2), epsilon=1.0), y)
    assert len(assignment.group_sizes(np.array([5.0, 5.0, 0.0]))[0]) == 1


@pytest.mark.parametrize("groups", [True, False])
def test_two_users_by_enumeration(groups):
    """One user each for two of three questions, or own coins: all deals, all reports, as fractions of the law."""
    mechanism = AskSome(k=(3, 2, 2), epsilon=1.5, m=2, sizes=(2, 1, 1), weights=(1, 1, 0), groups=groups)
    outcomes, records = mechanism.reports(), np.array([[2, 1, 0], [0, 1, 1]])
    law = mechanism.channel()[np.ravel_multi_index(records.T, (3, 2, 2))]
    asked = np.flatnonzero(outcomes["asked"] < 2)
    mean = second = total = 0
    for pair in itertools.product(asked, repeat=2):
        questions = outcomes["asked"][list(pair)]
        if groups and questions[0] == questions[1]:
            continue
        chance = math.prod(law[user, report] for user, report in enumerate(pair)) * (2 if groups else 1)
        value = stacked(pair_tables(mechanism, outcomes[list(pair)]))
        total, mean, second = total + chance, mean + chance * value, second + chance * value**2
    people = Population.from_records(records, k=(3, 2, 2))
    assert total == pytest.approx(1)
    assert mean == pytest.approx(stacked({pair: people.select(*pair).joint for pair in ((0, 1), (0, 2))}), abs=1e-12)
    if not groups:
        stated = stacked(variances(mechanism, people, ((0, 1), (0, 2))))
        assert second - mean**2 == pytest.approx(stated, rel=1e-9)


def test_one_user_of_one_question_has_the_variance_of_the_channel():
    mechanism = AskSome(k=(4, 3), epsilon=1.0, m=2, sizes=(3, 1))
    values = np.array([pair_tables(mechanism, report[None])[0, 1] for report in mechanism.reports()])
    for record in ([0, 0], [3, 1]):
        people = Population.from_records(np.array([record]), k=(4, 3))
        law = mechanism.channel()[record[0] * 3 + record[1]]
        mean = np.tensordot(law, values, 1)
        assert mean == pytest.approx(people.joint, abs=1e-12)
        assert np.tensordot(law, (values - mean) ** 2, 1) == pytest.approx(variances(mechanism, people, [(0, 1)])[0, 1])


@pytest.mark.parametrize("k", [(2, 2), (2, 9), (5, 6), (8, 8), (3, 4, 6), (2, 12, 2)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_sizes_for_pairs_are_the_best_of_all(k, epsilon):
    chosen, pairs = ask_pairs(k, epsilon), list(itertools.combinations(range(len(k)), 2))

    def roots(sizes):
        errors = []
        for j, i in pairs:
            share = sizes[j] / k[j] * sizes[i] / k[i] * math.expm1(epsilon)
            ends = [sizes[a] * (k[a] - 1) ** 2 / (k[a] * (k[a] - sizes[a])) for a in (j, i)]
            errors.append(math.prod(ends) * ((1 + share) / share) ** 2)
        return np.sqrt(errors)

    least = min(roots(sizes).sum() for sizes in itertools.product(*(range(1, size) for size in k)))
    assert roots(chosen.sizes_).sum() == pytest.approx(least, rel=1e-9)
    assert chosen.weights_ == pytest.approx(roots(chosen.sizes_) / roots(chosen.sizes_).sum(), abs=1e-6)
    assert (chosen.m_, chosen.epsilon) == (2, epsilon)


@pytest.mark.parametrize("k", [(2, 3, 5), (2, 3, 2, 4), (2,) * 5])
@pytest.mark.parametrize("epsilon", [0.3, 3.0])
def test_more_questions_have_the_stated_error_and_nearly_the_best_design(k, epsilon):
    """Against the traces of the exact covariances, and against all sizes with weights by a general optimizer."""
    for m in range(2, len(k) + 1):
        chosen = ask_pairs(k, epsilon, m)
        assert (chosen.m, sum(chosen.weights_)) == (m, pytest.approx(1))
        total = 0.0
        for i, j in itertools.combinations(range(len(k)), 2):
            even = np.full((k[i], k[j]), 1 / (k[i] * k[j]))
            total += np.trace(table_covariance(chosen, even, i, j, n=1, sampling=False))
        assert pairs_error(chosen, 1) == pytest.approx(total, rel=1e-9)
        least = interactions(k, epsilon, m, chosen.sizes_, np.array(chosen.weights_))
        for sizes in itertools.product(*(range(1, size) for size in k)):
            start = np.zeros(math.comb(len(k), m))
            found = minimize(lambda x, s=sizes: math.log(interactions(k, epsilon, m, s, softmax(x))), start)  # noqa: B023
            assert least < math.exp(found.fun) * (1 + 1e-4), (m, sizes)


@pytest.mark.parametrize(
    ("arguments", "error", "told"),
    [
        (((3,), 1.0), ValueError, "k must give the domain sizes of at least two"),
        (((3, 2), 0), ValueError, "epsilon must be a number"),
        (((3, 2), "1"), TypeError, "epsilon must be a number"),
        (((3, 2, 2), 1.0, 1), ValueError, "m must be an integer from 2 to d = 3, or None; got 1"),
        (((3, 2, 2), 1.0, 4), ValueError, "m must be an integer from 2 to d = 3, or None; got 4"),
        (((3, 2, 2), 1.0, 2.0), TypeError, "m must be"),
    ],
)
def test_pairs_of_no_domain_or_budget_are_refused(arguments, error, told):
    with pytest.raises(error, match=told):
        ask_pairs(*arguments)


@pytest.mark.parametrize("pair", [(0,), (0, 1, 2), (0.0, 1), (0, "1"), (-1, 1), (0, 3), (1, 1), (2, 1)])
def test_pairs_are_two_attributes_in_order(pair):
    mechanism = AskSome(k=(2, 2, 2), epsilon=1.0, m=2)
    with pytest.raises(ValueError, match=re.escape(f"pairs must hold numbers j < l from 0 to 2; got {pair}")):
        pair_tables(mechanism, np.zeros(4, mechanism.dtype), [(0, 1), pair])


def test_the_first_pair_that_lacks_reports_is_named():
    mechanism = AskSome(k=(2, 2, 2), epsilon=1.0, m=2, weights=(1, 1, 1))
    y = np.zeros(4, mechanism.dtype)
    with pytest.raises(ValueError, match=r"a report about all of \(0, 2\); got none"):
        pair_tables(mechanism, y)
    assert list(pair_tables(mechanism, y, [(0, 1)])) == [(0, 1)]


def test_a_pair_is_asked_only_at_a_weight_above_zero():
    weights = np.array([1e-9, 1, 1])
    mechanism = AskSome(k=(2, 2, 2), epsilon=1.0, m=2, weights=weights, groups=False)
    y = mechanism.perturb(np.zeros((9, 3), int), rng=np.random.default_rng(1))
    assert list(pair_tables(mechanism, y)) == [(0, 1), (0, 2), (1, 2)]
    assert list(pair_tables(mechanism, y, [np.array([0, 2])])) == [(0, 2)]


def test_what_more_questions_gain_at_a_large_budget_turns_on_how_evenly_people_answer():
    """Eight yes-or-no questions at 4, drawn people: four a person against two; none is gained where all answer no."""

    def total(m, yes, k=(2,) * 8, epsilon=4.0):
        law = [1 - yes] + [yes / (k[0] - 1)] * (k[0] - 1)
        return np.trace(table_covariance(ask_pairs(k, epsilon, m=m), np.outer(law, law), 0, 1, n=10_000))

    assert [round(total(4, yes) / total(2, yes), 2) for yes in (0.5, 0.03, 0.0)] == [0.35, 0.59, 1.07]
    six = {"k": (6,) * 3, "epsilon": 6.0}  # all three together, answers even, nine in ten alike, all alike
    ratios = [total(3, other, **six) / total(2, other, **six) for other in (5 / 6, 0.1, 0.0)]
    assert ratios[0] < 1 < 1.1 < ratios[1] < 2 < ratios[2]

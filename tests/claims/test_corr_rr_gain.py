"""Where Corr-RR's gain comes from: what copies are, what inverting them costs, and where correlation enters.

Statements of the chapter `audit_corr_rr_evaluation` that no paper makes.
"""

import itertools
import math
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from second_phase import expected_errors

from ldp_lib import channel, check, corr_rr, datasets, fake_data, grr, leakage, shrinkage
from ldp_lib.book.printed_corr_rr import AppendixCorrRR, appendix_table
from ldp_lib.book.published import SKEWED, UNIFORM, shuffled
from ldp_lib.book.sweeps import mse
from ldp_lib.corr_rr import CondRR, CorrRR, SecondPhase, syn_a, tree_law
from ldp_lib.fake_data.two_phase import TwoPhaseRSRFD
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.postprocess import project_simplex
from ldp_lib.sampled import OneQuestion
from ldp_lib.splitting import SPL
from ldp_lib.survey.errors import total_error

ODDS, ONE = Fraction(3), Fraction(1)
TABLE = [[ONE, ONE * 4 / 5], [ONE / 10, ONE]]
THREE = [[ONE, ONE / 5, ONE], [0 * ONE, ONE, ONE / 2], [ONE / 3, ONE / 4, ONE]]


def ask_channel(e, k, d):
    """Channel from records to (pivot, its report)."""
    truth = grr.channel(e, k)
    return np.array([np.concatenate([truth[v] for v in x]) / d for x in itertools.product(range(k), repeat=d)])


def garbling(kernel, k, d):
    """Channel from (pivot, report) to reports; kernel(j, m, z, v) is Pr[v]."""
    words = list(itertools.product(range(k), repeat=d))

    def chance(j, z, y):
        return math.prod(kernel(j, m, z, y[m]) for m in range(d) if m != j) if y[j] == z else Fraction(0)

    return np.array([[chance(j, z, y) for y in words] for j, z in itertools.product(range(d), range(k))])


def test_every_copy_is_made_from_the_pivot_and_its_report_which_keep_the_budget():
    prior = [[ONE / 2, ONE / 3, ONE / 6], [ONE / 4, ONE / 4, ONE / 2]]
    asked, third = ask_channel(ODDS, 3, 2), [[ONE, ONE / 3], [ONE / 3, ONE]]

    def copy(j, m, z, v):
        return TABLE[j][m] if z == v else (1 - TABLE[j][m]) / 2

    made = {
        "Corr-RR": asked @ garbling(copy, 3, 2),
        "RS+FD": asked @ garbling(lambda j, m, z, v: ONE / 3, 3, 2),
        "RS+RFD": asked @ garbling(lambda j, m, z, v: prior[m][v], 3, 2),
    }
    assert (made["Corr-RR"] == corr_rr.channel(ODDS, 3, TABLE)).all()
    assert (made["RS+FD"] == fake_data.channel(ODDS, (3, 3), [[ONE / 3] * 3] * 2)).all()
    assert (made["RS+FD"] == corr_rr.channel(ODDS, 3, third)).all()  # p_y = 1/k is RS+FD
    assert (made["RS+RFD"] == fake_data.channel(ODDS, (3, 3), prior)).all()
    assert channel.privacy_ratio(asked) == ODDS


def test_reports_of_phase_one_are_not_made_from_one_question():
    """The question says nothing of whether two answers agree; both answers at half the budget do, and few are wrong."""
    agree, half = np.array([1, -1, -1, 1]), grr.channel(ODDS, 2)
    assert not (agree @ ask_channel(ODDS**2, 2, 2)).any()
    assert (agree @ channel.tensor(half, half)).any()
    people = Population.from_counts([[100, 100], [100, 100]])
    how, truth = {"rng": np.random.default_rng(4), "runs": 1_000}, marginal_frequencies(people)
    both, one = (
        mse(made.simulate(people, **how), truth)
        for made in (CorrRR(k=(2, 2), epsilon=8.0, n1=0.5), OneQuestion(k=(2, 2), epsilon=8.0))
    )
    assert (one / 2 - both).mean() > 5 * math.hypot((one / 2).std(), both.std()) / 1_000**0.5


@pytest.mark.parametrize(("k", "reuse"), [(3, TABLE), (2, THREE), (3, THREE)])
def test_the_mean_of_the_copies_has_less_variance_by_the_stated_part_for_every_record(k, reuse):
    p, q = grr.probabilities(ODDS, k)
    words = np.array(list(itertools.product(range(k), repeat=len(reuse))))
    chance, deviations = ask_channel(ODDS, k, len(reuse)), np.eye(k, dtype=int) - Fraction(1, k)
    for m in range(len(reuse)):
        pi = corr_rr.channel(ODDS, k, reuse) @ np.eye(k, dtype=int)[words[:, m]]
        t = [corr_rr.shrinkage(row[m], k) for row in reuse]
        each = np.vstack([weight * deviations / (p - q) for weight in t])
        mean = chance @ each
        averaged = chance @ (each**2).sum(axis=1) - (mean**2).sum(axis=1)
        gain = (1 - ONE / k) / (p - q) ** 2 * (1 - sum(x**2 for x in t) / len(t))
        assert gain > 0
        assert (mean + Fraction(1, k) == (pi - q) / (p - q)).all()
        assert ((pi * (1 - pi)).sum(axis=1) / (p - q) ** 2 - averaged == gain).all()


def test_the_advice_on_copies_names_the_rival_whose_collector_mixes_open_answers():
    """Chapter corr_rr and the card of SecondPhase: the gain of the test above is never below 0, and 0 at 1."""
    root = Path(__file__).resolve().parents[2]
    chapter = (root / "notebooks" / "corr_rr.ipynb").read_text(encoding="utf-8")
    assert "one question each, said openly and mixed by the collector" in chapter
    card = " ".join((root / "book" / "mechanisms.yml").read_text(encoding="utf-8").split())
    assert "`OneQuestion` with `groups=False`, whose collector mixes the answers as copies would" in card
    held, off = (0, 1, 0, 1), []  # planned groups, without noise: four people whose other answer is the opposite one
    for group in itertools.combinations(range(4), 2):
        off.append(sum(held[i] if i in group else 1 - held[i] for i in range(4)) - 2)
    assert Fraction(sum(x**2 for x in off), 6 * 16) == ONE / 12 > ONE / 16  # a sure copy of either answer by a coin
    for k in (2, 3, 9):
        gains = [1 - (1 + corr_rr.shrinkage(ONE * i / 20, k) ** 2) / 2 for i in range(21)]
        assert min(gains) == gains[-1] == 0
        assert all(gain > 0 for gain in gains[1:-1])


def test_sets_have_less_error_than_sure_copies_in_equal_groups_and_more_with_one_person_too_many():
    """Chapter corr_rr, its advice: the fewest answers named; all people agree, or answer as evenly as they can."""

    def over_copies(k, epsilon, d, n, spread):
        people = Population.from_records(np.tile(np.arange(n)[:, None] % k * spread, (1, d)), k=(k,) * d)
        copies = SecondPhase(k=people.k, epsilon=epsilon, reuse=np.ones((d, d)).tolist())
        return total_error(OneQuestion(k=people.k, epsilon=epsilon), people) / total_error(copies, people)

    for case in ((11, 0.5, 2), (17, 1.0, 2), (45, 2.0, 2), (24, 0.5, 4), (39, 1.0, 4), (104, 2.0, 4)):
        assert max(over_copies(*case, case[2] * size, spread) for size in (1, 3, 60) for spread in (0, 1)) < 1
        assert min(over_copies(*case, case[2] + 1, spread) for spread in (0, 1)) > 1.08


def test_copies_of_sex_and_income_stand_for_a_mixture_on_average():
    """Chapter corr_rr, on your own data: one survey's estimate differs from this by its noise."""
    people = datasets.load_adult().select("sex", "income")
    reuse = corr_rr.joint_reuse(np.array([[0.3, 0.7], [0.8, 0.2]]), people.n)
    mean = SecondPhase(k=people.k, epsilon=1.0, reuse=reuse).mean(people)[1][0]
    assert [round(x, 2) for x in (mean, marginal_frequencies(people)[1][0])] == [0.71, 0.76]


@pytest.mark.parametrize("k", [2, 3, 4])
def test_inverting_the_mixture_of_two_attributes_costs_two_over_one_less_the_product(k):
    a, b = sp.symbols("a b")
    own, other = (sp.Matrix([[1, b], [a, 1]]).inv() * 2)[0, :]
    square, total = 1 - sp.Rational(1, k), 0  # of an indicator less 1/k; second moments times (p - q)^2
    for t in (a, b):  # the pivot is attribute 1, or attribute 2
        p_y = (1 + (k - 1) * t) / k
        for agree, chance in ((1, p_y), (0, 1 - p_y)):
            product = agree - sp.Rational(1, k)
            total += chance * ((own**2 + other**2) * square + 2 * own * other * product) / 2
    check.same(total / (2 * square), 2 / (1 - a * b))


@pytest.mark.parametrize(
    ("k", "p_ab", "p_ba", "sign"),
    [(2, ONE / 5, ONE / 10, 1), (3, ONE, ONE / 2, 1), (3, ONE / 3, ONE, 0), (2, ONE, 0, -1)],
)
def test_undone_copies_have_the_stated_variance_for_every_record(k, p_ab, p_ba, sign):
    law, (p, q) = corr_rr.channel(ODDS, k, [[ONE, p_ab], [p_ba * ONE, ONE]]), grr.probabilities(ODDS, k)
    t_ab, t_ba = (corr_rr.shrinkage(x * ONE, k) for x in (p_ab, p_ba))
    pairs = itertools.product((np.eye(k, dtype=int) - ONE / k) / (p - q), repeat=2)
    added = np.array([2 * (a - t_ba * b) / (1 - t_ab * t_ba) for a, b in pairs])  # by each report, to attribute a
    assert (law @ added == np.repeat(np.eye(k, dtype=int) - ONE / k, k, axis=0)).all()
    variance = law @ (added**2).sum(axis=1) - ((law @ added) ** 2).sum(axis=1)
    stated, without = ((1 - ONE / k) * (4 / (1 - x) / (p - q) ** 2 - 1) for x in (t_ab * t_ba, 0))
    assert set(variance) == {stated}
    assert np.sign(stated - without) == np.sign(t_ab * t_ba) == sign
    assert stated >= (1 - ONE / k) * (2 / (p - q) ** 2 - 1)  # the pivot is named: a half of the users each


def test_undone_copies_by_the_appendix_s_formula_can_have_less_variance_than_none_and_by_the_best_never():
    """Its two shrinkages can have opposite signs: of three values, 20,000 users and ε = 0.5 the factor is 0.95."""
    shares = np.array([[0.427, 0.134, 0.439], [0.0, 0.999, 0.001]])

    def factor(copied):
        return 1 / (1 - math.prod(corr_rr.shrinkage(copied[i][1 - i], 3) for i in (0, 1)))

    assert 0.95 < factor(appendix_table(shares, n2=20_000, epsilon=0.5)) < 0.96
    assert factor(corr_rr.reuse_table(shares, n2=20_000)) >= 1


def test_copies_with_one_probability_lower_the_level_of_one_attribute_by_how_much_turns_on_the_other():
    """From 1 to 0.47 of two binary ones, uniform and independent; not so far of three values, or of uneven ones."""
    text = (Path(__file__).parents[2] / "notebooks/audit_corr_rr_evaluation.ipynb").read_text(encoding="utf-8")
    assert "its level is 0.47, not 1, if the other is averaged over (both binary and uniform, independent: " in text

    def level(copied, other):
        k = len(other)
        whole = corr_rr.channel(math.e, k, [[1, copied], [copied, 1]]).reshape(k, k, -1)
        seen = np.tensordot(other, whole, (0, 1))  # a row for each value of the first attribute
        return math.log((seen.max(axis=0) / seen.min(axis=0)).max())

    found = [level(0.3, [0.5, 0.5]), level(0.8, [0.5, 0.5]), level(0.8, [1 / 3] * 3), level(0.8, [0.9, 0.1])]
    assert [round(each, 2) for each in found] == [0.47, 0.47, 0.51, 0.58]


def test_what_no_memory_costs_where_attributes_are_equal_turns_on_their_frequencies():
    """Over seven times at .4, .3, .2, .1, 20,000 users and no first phase, 1.7 of 2,000, and nothing where even."""
    text = (Path(__file__).parents[2] / "notebooks/audit_corr_rr.ipynb").read_text(encoding="utf-8")
    assert "on the synthetic data (were its attributes equal, over seven times; of 2,000 users 1.7)" in text

    def over_the_least(counts, way=SecondPhase):
        people = Population.from_counts(counts)
        truth = np.hstack(marginal_frequencies(people))
        best = corr_rr.reuse_table(marginal_frequencies(people), n2=people.n)
        made = (way(k=people.k, epsilon=0.5, reuse=copied) for copied in (1 / 4, best))
        none, sure = (((np.hstack(m.mean(people)) - truth) ** 2 + np.hstack(m.variance(people))).sum() for m in made)
        return none / sure

    equal = [np.diag(v) for v in ([8_000, 6_000, 4_000, 2_000], [800, 600, 400, 200], [5_000] * 4)]
    many, few, even = map(over_the_least, equal)
    assert 7 < many < 8
    assert (round(few, 1), round(even, 1)) == (1.7, 1.0)
    synthetic = np.rint(20_000 * tree_law(SKEWED, 0.5, [0])).astype(int)
    assert round(over_the_least(synthetic), 1) == 2.8
    many, few, even = (over_the_least(counts, CorrRR) for counts in equal)  # with a tenth of the users in Phase I
    assert (round(many), round(few, 1), round(even, 1)) == (5, 1.4, 1.0)
    assert round(over_the_least(synthetic, CorrRR), 1) == 2.3
    assert "needs no Phase I, but has {check}`2.8 times <" in text


def test_copies_undone_by_both_entries_at_once_can_have_less_variance_than_none_but_not_than_a_named_pivot():
    """The least variance at uniform users, by weighted least squares over whole reports; RS+FD has p_y = 1/k."""
    targets = np.kron(np.eye(3), np.ones((3, 1))) - 1 / 3  # of a record's first answer

    def least(p_ab, p_ba):
        law = np.array(corr_rr.channel(3.0, 3, [[1, p_ab], [p_ba, 1]]), dtype=float)
        chances = law.mean(axis=0)
        added = (law / chances).T @ np.linalg.pinv((law / chances) @ law.T) @ targets
        assert np.allclose(law @ added, targets)  # unbiased for every record
        return chances @ (added**2).sum(axis=1)

    a, b = (1 / 3 + x * np.array([1, 0, -1]) for x in (0.03, 0.3))
    best = [float(corr_rr.reuse_probability(*pair, n2=10**9)) for pair in ((b, a), (a, b))]
    assert np.allclose(best, [1, 0.4], atol=1e-6)
    p, q = grr.probabilities(3.0, 3)
    assert math.isclose(least(1 / 3, 1 / 3), 2 / 3 * 4 / (p - q) ** 2)
    assert round(least(*best) / least(1 / 3, 1 / 3), 2) == 0.83
    grid = np.linspace(0.05, 1, 20)
    assert min(least(x, y) for x in grid for y in grid if x + y < 1.99) > 2 / 3 * 2 / (p - q) ** 2


def test_the_best_copies_of_three_attributes_undone_can_have_half_the_variance_of_none_but_not_that_of_a_named_pivot():
    """Chapter audit_corr_rr: what it says of two attributes fails where the best probabilities are 1, 1 and 0."""
    shares = np.array([[0.2, 0.65, 0.15], [0.05, 0.55, 0.4], [0.4, 0.58, 0.02]])
    best = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 1]])
    assert np.allclose(corr_rr.joint_reuse(shares, 10**5), best)
    (p, q), words = grr.probabilities(ODDS, 3), np.array(list(itertools.product(range(3), repeat=3)))
    held = (words[:, :, None] == np.arange(3)) - ONE / 3  # of a record, or in a report: attributes, values

    def total(table):
        mixed = np.array(sp.Matrix((3 * table - 1) / 2).inv() * 3)  # copying probabilities as shrinkages
        law, added = corr_rr.channel(ODDS, 3, table), np.einsum("rmv,ml->rlv", held / (p - q), mixed)
        mean, square = (np.tensordot(law, part, 1) for part in (added, (added**2).sum(axis=(1, 2))))
        assert (mean == held).all()  # unbiased for every record
        (spread,) = set(square - (mean**2).sum(axis=(1, 2)))
        return spread + 2  # 3 times 1 - 1/k

    copied, alone = (total(table * ONE) for table in (best, np.where(np.eye(3) > 0, ONE, ONE / 3)))
    assert copied / alone == Fraction(13, 27)
    assert 9 * (1 - ONE / 3) / (p - q) ** 2 == alone / 3  # each attribute from a third of the users, who name it


def test_with_the_data_fixed_agreement_takes_off_at_most_the_stated_share_and_it_is_reached():
    for k, d, epsilon in itertools.product((2, 4), (2, 4), (0.1, 0.5, 1.0)):
        p, q = grr.probabilities(math.exp(epsilon), k)
        equal, opposed = np.zeros((2, *(k,) * d), dtype=int)
        np.fill_diagonal(equal, k ** (d - 1))
        opposed[tuple((np.arange(k) + j) % k for j in range(d))] = k ** (d - 1)  # answers differ where they can
        phase = SecondPhase(k=(k,) * d, epsilon=epsilon, reuse=1.0)
        laws = (Population.from_counts(x) for x in (equal, np.ones_like(equal), opposed))
        same, apart, most = (phase.variance(x)[0].sum() for x in laws)
        leading = (1 - 1 / k) / (k**d * (p - q) ** 2)
        assert math.isclose((apart - same) / leading, (1 - 1 / d) * (p - q) ** 2, rel_tol=1e-9)
        assert math.isclose((most - same) / leading, min(1, (1 - 1 / d) / (1 - 1 / k)) * (p - q) ** 2, rel_tol=1e-9)
        assert (p - q) ** 2 < 0.06 or epsilon > 0.5


def drawn(law, epsilon, rng, runs):
    """Error from the law's frequencies, summed, of 1,000 users drawn each time, and its standard error.

    Phase II's users are drawn apart from Phase I's, so given Phase I their part is exact, and so is Phase I's own.
    """
    mechanism, n1, n2 = CorrRR(k=(2, 2), epsilon=epsilon), 100, 900
    records, f = np.array(list(np.ndindex(2, 2))), np.array([law.sum(axis=1), law.sum(axis=0)])
    first, learned = mechanism._draw_first(records, rng.multinomial(n1, law.ravel(), size=runs), rng)
    means = 1 / 2 + np.einsum("ajm,jv->amv", corr_rr.shrinkage(mechanism.table(learned, n2), 2), f - 1 / 2) / 2

    def noise(mean, budget, n):
        p, q = grr.probabilities(math.exp(budget), 2)
        reported = q + (p - q) * mean
        return reported * (1 - reported) / (n * (p - q) ** 2)

    squares = n1**2 * noise(f, epsilon / 2, n1) + n2**2 * (noise(means, epsilon, n2) + (means - f) ** 2)
    errors = (squares + 2 * n1 * n2 * (np.stack(first, axis=1) - f) * (means - f)).sum(axis=(1, 2)) / (n1 + n2) ** 2
    return errors.mean(), errors.std() / runs**0.5


def test_a_table_that_is_learned_carries_the_correlation_at_large_budgets():
    rng, f = np.random.default_rng(9), 0.55
    laws = np.diag([f, 1 - f]), np.outer([f, 1 - f], [f, 1 - f])
    ratios = {}
    for epsilon in (0.5, 1.0, 3.0, 5.0):
        (equal, noise), (other, more) = (drawn(law, epsilon, rng, 20_000) for law in laws)
        limit = 5 * math.hypot(noise, more)
        assert other - equal > limit if epsilon >= 3 else abs(other - equal) + limit < 0.06 * other
        ratios[epsilon] = equal / other
    assert 0.8 < ratios[3.0] < 0.92
    (equal, noise), (other, more) = (drawn(law, 3.0, rng, 100_000) for law in laws)
    spread = equal / other * math.hypot(noise / equal, more / other)
    assert abs(1 - equal / other - 0.13) < 3 * spread < 0.0105
    assert 0.65 < ratios[5.0] < 0.75  # more than a quarter less


@pytest.mark.parametrize("name", ["SynA 0.9", "SynB 0.9", "uniform 0.9", *datasets.CORR_RR])
def test_shuffled_columns_leave_the_error_as_it_is(name):
    rng = np.random.default_rng(3)
    if name in datasets.CORR_RR:
        people = datasets.load_corr_rr(name)
    else:
        kind, rho = name.split()
        f = UNIFORM if kind == "uniform" else SKEWED
        law = tree_law(f, float(rho), (0, 0, 2) if kind == "SynB" else (0, 0, 0))
        people = Population.from_counts(rng.multinomial(20_000, law.ravel()).reshape(law.shape))
    for epsilon in (0.1, 0.5):
        made = CorrRR(k=people.k, epsilon=epsilon, n1=0.2)
        one, two = (expected_errors(made, x, rng=rng, runs=800) for x in (people, shuffled(people, rng)))
        noise = math.hypot(one.std(), two.std()) / 800**0.5
        assert abs(one.mean() - two.mean()) + 5 * noise < 0.15 * one.mean()


def test_one_question_shrunk_as_the_data_choose_is_ahead_of_corr_rr_or_level():
    rng, behind = np.random.default_rng(5), {}
    people = {f"SynA {rho}": syn_a(20_000, d=4, rho=rho, frequencies=SKEWED, rng=rng) for rho in (0.1, 0.5, 0.9)}
    people["uniform"] = syn_a(20_000, d=4, rho=0.9, frequencies=UNIFORM, rng=rng)
    people |= {name: datasets.load_corr_rr(name) for name in datasets.CORR_RR}
    for (name, data), epsilon in itertools.product(people.items(), (0.1, 0.5)):
        truth, one = marginal_frequencies(data), {"k": data.k, "epsilon": epsilon}
        asked = OneQuestion(**one, oracle=grr.GRR)
        found = asked.simulate(data, rng=rng, runs=500)
        ours = mse(shrinkage.choose(found, shrinkage.question_noise(asked, data.n)).estimates, truth)
        for rule in (CorrRR, AppendixCorrRR):
            theirs = mse(rule(**one, n1=0.2).simulate(data, rng=rng, runs=500), truth)
            z = (theirs.mean() - ours.mean()) / math.hypot(theirs.std(), ours.std()) * 500**0.5
            behind[name, epsilon] = min(z, behind.get((name, epsilon), math.inf))
    level = {at for at, z in behind.items() if z < 3}
    assert level == {("clave", 0.1)}
    assert behind["clave", 0.1] > -3


def test_with_few_users_and_like_shares_one_question_shrunk_has_less_error_than_corr_rr():
    """Chapter audit_corr_rr, the advice: a tenth of the users in Phase I, both formulas of the copying probability."""
    rng = np.random.default_rng(8)
    for (d, n), rho in itertools.product(((2, 500), (4, 2_000)), (0.5, 0.9)):
        data = syn_a(n, d=d, rho=rho, frequencies=SKEWED, rng=rng)
        truth, one = marginal_frequencies(data), {"k": data.k, "epsilon": 0.1 if d == 2 else 0.5}
        asked = OneQuestion(**one)
        found = asked.simulate(data, rng=rng, runs=60)
        ours = mse(shrinkage.choose(found, shrinkage.question_noise(asked, n)).estimates, truth)
        for rule in (CorrRR, AppendixCorrRR):
            theirs = mse(rule(**one, n1=0.1).simulate(data, rng=rng, runs=60), truth)
            assert theirs.mean() - ours.mean() > 4 * math.hypot(theirs.std(), ours.std()) / 60**0.5
    # Of two attributes up to 0.5, also if Corr-RR has its best share of users in Phase I, and not at 5.
    data = Population.from_counts(np.diag([200, 150, 100, 50]))
    truth = marginal_frequencies(data)
    for epsilon, first, times in ((0.5, 0.01, 1.26), (5.0, 0.1, 0.31)):
        asked = OneQuestion(k=data.k, epsilon=epsilon)
        found = asked.simulate(data, rng=rng, runs=1_000)
        ours = mse(shrinkage.choose(found, shrinkage.question_noise(asked, data.n)).estimates, truth)
        theirs = mse(AppendixCorrRR(k=data.k, epsilon=epsilon, n1=first).simulate(data, rng=rng, runs=1_000), truth)
        off = 5 * times * math.hypot(*(e.std() / e.mean() for e in (theirs, ours))) / 1_000**0.5
        assert abs(theirs.mean() / ours.mean() - times) < off < abs(times - 1)
    # Not so for two values, where two attributes leave too few directions to shrink.
    data = Population.from_counts(np.rint(500 * tree_law([0.7, 0.3], 0.9, [0])).astype(int))
    truth, asked = marginal_frequencies(data), OneQuestion(k=data.k, epsilon=0.1)
    found = asked.simulate(data, rng=rng, runs=2_000)
    ours = mse(shrinkage.choose(found, shrinkage.question_noise(asked, data.n)).estimates, truth)
    theirs = mse(CorrRR(k=data.k, epsilon=0.1, n1=0.02).simulate(data, rng=rng, runs=2_000), truth)
    assert ours.mean() - theirs.mean() > 4 * math.hypot(theirs.std(), ours.std()) / 2_000**0.5


def test_a_named_pivot_has_less_variance_than_splitting_at_a_small_epsilon_only():
    """Chapter audit_corr_rr, the advice on unbiased estimates: two yes-or-no questions, even answers."""
    people = Population.from_counts([[100, 100], [100, 100]])
    over = [
        total_error(OneQuestion(k=(2, 2), epsilon=epsilon), people)
        / total_error(SPL(k=(2, 2), epsilon=epsilon), people)
        for epsilon in (0.1, 1.0, 2.0, 5.0)
    ]
    assert max(over[:3]) < 0.7
    assert over[3] > 2.5


def test_the_chosen_shrinkage_can_cost_a_sixth_where_two_shares_are_free():
    """Chapter shrinkage, the rows: two yes-or-no questions, 500 people, epsilon 0.5."""
    data = Population.from_counts([[140, 210], [60, 90]])
    truth, asked = marginal_frequencies(data), OneQuestion(k=data.k, epsilon=0.5)
    found = asked.simulate(data, rng=np.random.default_rng(10), runs=40_000)
    ours = mse(shrinkage.choose(found, shrinkage.question_noise(asked, data.n)).estimates, truth)
    over = ours.mean() / (sum(v.sum() for v in asked.variance(data)) / 4)  # the mean over four shares
    noise = over * ours.std() / ours.mean() / 40_000**0.5
    assert abs(over - 1.15) < 5 * noise < 0.05


def test_the_chosen_shrinkage_doubles_the_error_of_rare_answers_at_a_large_budget():
    """Chapter shrinkage, the advice: ten yes-or-no questions, 1 to 10 % say yes, 2,000 people; at 1 it gains."""
    yes, rng, over = np.linspace(0.01, 0.1, 10), np.random.default_rng(13), {}
    data = Population.from_records((np.arange(2_000)[:, None] < 2_000 * yes).astype(int), k=(2,) * 10)
    for epsilon in (1.0, 4.0):
        asked = OneQuestion(k=data.k, epsilon=epsilon)
        found, noise = asked.simulate(data, rng=rng, runs=2_000), shrinkage.question_noise(asked, data.n)
        ways = (shrinkage.choose, shrinkage.raw)
        ours, raw = (mse(way(found, noise).estimates, marginal_frequencies(data)).mean() for way in ways)
        over[epsilon] = ours / raw
    assert over[1.0] < 0.4
    assert 2 < over[4.0] < 2.5
    truths = (np.exp(4) * yes + 1 - yes) / (np.exp(4) + 1)  # shares of reports; drawn people, below a third of `noise`
    assert 0.2 < 20 * (truths * (1 - truths)).sum() / np.tanh(2) ** 2 / data.n / sum(noise) < 1 / 3


def test_the_chosen_shrinkage_has_four_times_the_error_of_a_share_far_from_the_rest():
    """Chapter shrinkage, the advice: to nine of ten questions 30 % say yes, to one 2 %; 2,000 people, at 1."""
    yes = np.array([0.3] * 9 + [0.02])
    data = Population.from_records((np.arange(2_000)[:, None] < 2_000 * yes).astype(int), k=(2,) * 10)
    asked, rng = OneQuestion(k=data.k, epsilon=1.0), np.random.default_rng(14)
    found, noise = asked.simulate(data, rng=rng, runs=2_000), shrinkage.question_noise(asked, data.n)
    squares = [
        np.array([((part[:, 1] - f) ** 2).mean() for part, f in zip(way(found, noise).estimates, yes, strict=True)])
        for way in (shrinkage.choose, shrinkage.raw)
    ]
    assert squares[0].sum() < 0.85 * squares[1].sum()
    assert 3.5 < squares[0][9] / squares[1][9] < 4.5


def test_where_one_of_a_hundred_values_is_frequent_projecting_has_an_eighth_of_the_error_of_shrinking():
    """Chapter shrinkage, the advice: 10,000 people at ε = 1; where all values are alike it is the other way round.

    Few values suffice: yes-or-no shares near 0 and near 1 lie too far apart to be shrunk, but projecting helps.
    """

    def errors(people):
        asked = OneQuestion(k=people.k, epsilon=1.0)
        found, truth = asked.simulate(people, rng=np.random.default_rng(4), runs=400), marginal_frequencies(people)
        chosen = shrinkage.choose(found, shrinkage.question_noise(asked, people.n)).estimates
        return [mse(one, truth).mean() for one in (found, chosen, [project_simplex(g) for g in found])]

    raw, chosen, projected = errors(Population.from_counts([8_020] + [20] * 99))
    assert 0.9 < chosen / raw < 1
    assert 8 < chosen / projected < 9
    raw, chosen, projected = errors(Population.from_counts([100] * 100))
    assert 10 * chosen < projected < 0.5 * raw
    rng, yes = np.random.default_rng(5), (20, 30, 50, 950, 970, 980)
    records = np.transpose([rng.permutation(np.arange(1_000) < count) for count in yes]).astype(int)
    raw, chosen, projected = errors(Population.from_records(records, k=(2,) * 6))
    assert 0.9 < chosen / raw < 1.05
    assert projected < 0.7 * chosen


def test_with_a_hundred_values_the_chosen_shrinkage_has_twenty_times_the_error_of_a_frequent_one():
    """Chapter shrinkage, the advice: held by 30 % of 10,000 people, at ε = 1; the total falls by a quarter."""
    people, asked = Population.from_counts([3_070] + [70] * 99), OneQuestion(k=(100,), epsilon=1.0)
    found, truth = asked.simulate(people, rng=np.random.default_rng(4), runs=800), people.frequencies
    chosen = shrinkage.choose(found, shrinkage.question_noise(asked, people.n)).estimates
    (raw,), (shrunk,) = ([((g - truth) ** 2).mean(axis=0) for g in one] for one in (found, chosen))
    assert shrunk.sum() < 0.8 * raw.sum()
    assert 17 < shrunk[0] / raw[0] < 23


def test_a_mean_of_shrunk_or_projected_shares_has_many_times_the_error_of_one_of_raw_shares():
    """Chapter shrinkage, the advice: shares falling from the first of 100 values on; 10,000 people, at ε = 1.

    It turns on the people: of shares highest in the middle, and of ten values, projected ones have the better mean.
    """

    def over_raw(k, weights):
        people = Population.from_counts(np.round(10_000 * weights / weights.sum()).astype(int))
        asked, values = OneQuestion(k=(k,), epsilon=1.0), np.arange(k)
        (found,) = asked.simulate(people, rng=np.random.default_rng(5), runs=1_500)
        chosen = shrinkage.choose([found], shrinkage.question_noise(asked, people.n)).estimates[0]
        ways = (found, chosen, project_simplex(found))
        raw, *others = [(((one - people.frequencies) @ values) ** 2).mean() for one in ways]
        return [other / raw for other in others]

    values = np.arange(100)
    shrunk, projected = over_raw(100, np.exp(-values / 10))
    assert 11 < shrunk < 14
    assert 4.5 < projected < 5.5
    assert max(over_raw(100, np.exp(-(((values - 50) / 12.5) ** 2) / 2))) < 0.3
    assert 0.4 < over_raw(10, np.exp(-(((values[:10] - 5) / 1.25) ** 2) / 2))[1] < 0.55
    assert over_raw(10, np.exp(-values[:10]))[1] < 1.05
    pages = (Path(__file__).parents[2] / page for page in ("notebooks/shrinkage.ipynb", "book/choose.md"))
    chapter, choose = (page.read_text(encoding="utf-8") for page in pages)
    assert "five by projected ones; of ten values these can halve it" in chapter
    assert "projected shares can multiply the mean" in choose


def test_with_two_questions_and_few_people_a_fixed_factor_costs_nothing_but_a_chosen_one_does():
    """Chapter limit_minimax, the advice: the same 100 people; by chosen shrinkage 1.13 times where 3 in 10 say yes."""
    far, factor = np.linspace(0, 1, 101), 1 / (1 + math.sqrt(2 / 100))
    raw = (2 / math.tanh(0.5) ** 2 - 2 * far) / 100
    assert round(factor, 2) == 0.88
    assert ((factor**2 * raw + (1 - factor) ** 2 * far) < raw).all()
    rare = (2 / math.tanh(1.5) ** 2 - 2 * 0.81) / 100  # at ε = 3, where 5 % say yes to both
    assert 2.2 < factor**2 + (1 - factor) ** 2 * 0.81 / rare < 2.4
    asked, rng = OneQuestion(k=(2, 2), epsilon=1.0), np.random.default_rng(1)
    said = 0.5 - 0.2 * math.tanh(0.5)  # share of reports
    yes = (rng.binomial(50, said, (2, 40_000, 1)) / 50 - 0.5) / math.tanh(0.5) + 0.5
    estimates, truth = [np.concatenate([1 - g, g], axis=1) for g in yes], (0.7, 0.3)
    ways = (shrinkage.choose, shrinkage.raw)
    found = [way(estimates, shrinkage.question_noise(asked, 100)).estimates for way in ways]
    chosen, alone = (np.mean([((g - truth) ** 2).sum(axis=1) for g in one]) for one in found)
    assert 1.1 < chosen / alone < 1.16


def test_sure_copies_have_less_error_than_the_chosen_shrinkage_in_more_rows_the_fewer_report_first():
    """Chapter shrinkage, its eight rows: in two of the synthetic ones with 5 % in Phase I, in all with ten people."""
    rng, how = np.random.default_rng(11), {"frequencies": SKEWED, "rng": np.random.default_rng(12)}
    half, most, pair = (syn_a(20_000, d=d, rho=rho, **how) for d, rho in ((4, 0.5), (4, 0.9), (2, 0.9)))
    equal = Population.from_records(np.repeat(half.users()[:, :1], 4, axis=1), k=half.k)
    rows = [(half, 0.5), (shuffled(half, rng), 0.5), (most, 0.5), (pair, 0.5), (equal, 5.0)]
    for first, ahead in ((0.05, [False] * 3 + [True] * 2), (10 / 20_000, [True] * 5)):
        for (data, epsilon), less in zip(rows, ahead, strict=True):
            asked, truth = OneQuestion(k=data.k, epsilon=epsilon), marginal_frequencies(data)
            found = asked.simulate(data, rng=rng, runs=4_000)
            chosen = mse(shrinkage.choose(found, shrinkage.question_noise(asked, data.n)).estimates, truth)
            copies = CorrRR(k=data.k, epsilon=epsilon, n1=first, reuse=1.0).simulate(data, rng=rng, runs=2_000)
            gap = chosen.mean() - mse(copies, truth).mean()
            off = math.hypot(chosen.std() / 4_000**0.5, mse(copies, truth).std() / 2_000**0.5)
            assert abs(gap) > 5 * off
            assert (gap > 0) == less


@pytest.mark.parametrize(
    ("k", "low", "high"),
    [((2, 2), 1.05, 1.15), ((2,) * 3, 1.01, 1.1), ((2,) * 4, 0.86, 0.97), ((5,), 1.01, 1.06), ((6,), 0.65, 0.85)],
)
def test_the_chosen_shrinkage_helps_from_five_free_shares_on_where_they_differ_by_no_more_than_the_noise(k, low, high):
    """Chapter shrinkage, what it changes: shares one standard error from even, the middle one of five even."""
    asked, rng, n = OneQuestion(k=k, epsilon=0.5), np.random.default_rng(10), 20_000
    off = np.rint(n * (shrinkage.question_noise(asked, n)[0] / k[0]) ** 0.5 * np.sign(np.arange(k[0]) - (k[0] - 1) / 2))
    counts = [np.rint(n / k[0] + (off, -off)[j % 2]).astype(int) for j in range(len(k))]
    x = [np.repeat(np.arange(k[0]), [n - c[1:].sum(), *c[1:]]) for c in counts]
    data = Population.from_records(np.transpose([rng.permutation(column) for column in x]), k=k)
    found = asked.simulate(data, rng=rng, runs=10_000)
    ours = shrinkage.choose(found, shrinkage.question_noise(asked, n)).estimates
    raw, chosen = (mse(guess, marginal_frequencies(data)) for guess in (found, ours))
    assert low < chosen.mean() / raw.mean() < high


def test_plurality_gains_where_noise_is_large_and_loses_with_many_people_or_a_large_budget():
    """The advice of chapter shrinkage, and Plurality's card: over one question each, both exact."""
    answer = (Path(__file__).parents[2] / "notebooks" / "shrinkage.ipynb").read_text(encoding="utf-8")
    joint = syn_a(20_000, d=4, rho=0.5, frequencies=SKEWED, rng=np.random.default_rng(9)).joint
    counts = np.rint(joint * 20_000).astype(int)

    def over(times, epsilon, data=None):
        data = data or Population.from_counts(counts * times)
        device = shrinkage.Plurality(k=data.k, epsilon=epsilon, shares=(0.85, 0.15, 0.0))
        off = (
            ((mean - truth) ** 2).sum()
            for mean, truth in zip(device.mean(data), marginal_frequencies(data), strict=True)
        )
        asked = sum(v.sum() for v in OneQuestion(k=data.k, epsilon=epsilon).variance(data))
        return (sum(off) + sum(v.sum() for v in device.variance(data))) / asked

    assert over(1, 0.5) < 1 / 3
    assert over(10, 0.5) > 1
    assert over(1, 2.0) > 2
    few = syn_a(500, d=4, rho=0.5, frequencies=SKEWED, rng=np.random.default_rng(9))
    assert round(over(1, 0.1, few), 1) == 3.7  # a product of two noisy estimates
    two = syn_a(20_000, d=2, rho=0.5, frequencies=SKEWED, rng=np.random.default_rng(9))
    assert f"two have {over(1, 0.5, two):.1f} times" in answer
    yes_no = syn_a(20_000, d=4, rho=0.5, frequencies=(0.7, 0.3), rng=np.random.default_rng(9))
    assert "twice as much at ε = 2 and for yes-or-no with shares .7 and .3" in answer
    assert 1.8 < over(1, 0.5, yes_no) < 2.4
    alike = Population.from_records(np.tile(np.arange(20_000) < 6_000, (4, 1)).T.astype(int), k=(2,) * 4)
    assert 1.3 < over(1, 0.5, alike) < 1.5  # chapter limit_correlation: one answer for all four would have a quarter
    real = [datasets.load_corr_rr(name) for name in datasets.CORR_RR]  # the chapter's answer
    found = [[over(1, epsilon, data) for data in real] for epsilon in (0.1, 0.5)]
    said = "its error is {:.0f} to {:.0f} times that of attribute sampling (at 0.1 {:.1f} to {:.1f})"
    assert said.format(*(end(row) for row in reversed(found) for end in (min, max))) in answer


def test_plurality_halves_the_error_of_loosely_correlated_attributes_and_gains_nothing_where_they_always_agree():
    """The answer of chapter shrinkage: over attribute sampling with the chosen shrinkage, at epsilon 0.5."""
    answer = (Path(__file__).parents[2] / "notebooks" / "shrinkage.ipynb").read_text(encoding="utf-8")
    asked, over = OneQuestion(k=(4,) * 4, epsilon=0.5), {}
    device = shrinkage.Plurality(k=(4,) * 4, epsilon=0.5, shares=(0.85, 0.15, 0.0))
    for shares, rho in itertools.product((SKEWED, (0.25,) * 4), (0.3, 0.5, 0.9, 1.0)):
        rng = np.random.default_rng(5)
        people = syn_a(20_000, d=4, rho=rho, frequencies=shares, rng=rng)
        truth = marginal_frequencies(people)
        found = asked.simulate(people, rng=rng, runs=3_000)
        chosen = shrinkage.choose(found, shrinkage.question_noise(asked, people.n)).estimates
        moments = zip(device.mean(people), device.variance(people), truth, strict=True)
        ours = np.mean([((mean - f) ** 2 + v).mean() for mean, v, f in moments])
        over[shares[0], rho] = ours / mse(chosen, truth).mean()
    assert 0.4 < over[0.4, 0.5] < 0.5
    assert 0.43 < over[0.25, 0.3] < 0.53 < 0.65 < over[0.25, 0.5] < 0.75
    assert over[0.4, 0.9] > 0.8
    assert 0.97 < over[0.4, 1.0] < 1.09
    assert over[0.25, 0.9] > 1.2
    assert "are loosely correlated in the way it assumes, also with equal shares" in answer
    assert "gains nothing where they always agree" in answer


def test_with_the_attributes_exchanged_corr_rr_has_less_error_than_the_chosen_shrinkage_of_two_like_ones():
    """Chapter shrinkage: 8 % in Phase I, rho 0.9, in expected counts; in the printed order it has more."""
    people = Population.from_counts(np.rint(20_000 * tree_law(SKEWED, 0.9, [0])).astype(int))
    asked, rng = OneQuestion(k=people.k, epsilon=0.5), np.random.default_rng(3)
    found = asked.simulate(people, rng=rng, runs=200_000)
    chosen = shrinkage.choose(found, shrinkage.question_noise(asked, people.n)).estimates
    chosen = mse(chosen, marginal_frequencies(people))
    for exchanged, stated in ((False, 1.02), (True, 0.96)):
        made = AppendixCorrRR(k=people.k, epsilon=0.5, n1=0.08, exchanged=exchanged)
        ours = expected_errors(made, people, rng=rng, runs=20_000)
        noise = math.hypot(*(e.std() / e.mean() / len(e) ** 0.5 for e in (ours, chosen)))
        assert abs(ours.mean() / chosen.mean() - stated) < 0.005 + 3 * noise < 0.015


def test_cond_rr_with_its_copies_left_in_the_counts_is_far_off_and_with_them_undone_is_not():
    people = syn_a(20_000, d=4, rho=0.9, frequencies=SKEWED, rng=np.random.default_rng(3))
    how, truth = {"rng": np.random.default_rng(4), "runs": 300}, marginal_frequencies(people)
    one = {"k": people.k, "epsilon": 0.5, "n1": 0.2}
    left, undone = (mse(CondRR(**one, debias=x).simulate(people, **how), truth) for x in (False, True))
    assert round(1000 * left.mean()) in range(60, 69)
    many = 1000 * mse(CondRR(**one, debias=False).simulate(people, rng=np.random.default_rng(14), runs=12_000), truth)
    assert abs(many.mean() - 65) < 0.25 + 3 * many.std() / 12_000**0.5 < 1.2
    assert 6 < 1000 * undone.mean() < 8
    ours = mse(AppendixCorrRR(**one).simulate(people, **how), truth)
    assert abs(1000 * ours.mean() - 2.6) < 5 * 1000 * ours.std() / 300**0.5 < 1
    for exchanged, told in ((False, 2.6), (True, 2.4)):  # exchanged as it was run
        made = AppendixCorrRR(**one, exchanged=exchanged)
        ours = 1000 * expected_errors(made, people, rng=np.random.default_rng(4), runs=2_000)
        assert abs(ours.mean() - told) < 0.05 + 3 * ours.std() / 2_000**0.5 < 0.1
    # With the copies undone it can have less error than fakes from learned priors, or more.
    for name, epsilon, low, high in (("adult", 0.1, 0.45, 0.6), ("mushroom", 1.0, 2.5, 3)):
        people, runs = datasets.load_corr_rr(name), 4_000
        made = (family(k=people.k, epsilon=epsilon, n1=0.2) for family in (CondRR, TwoPhaseRSRFD))
        rng, f = np.random.default_rng(5), marginal_frequencies(people)
        one, two = (mse(mechanism.simulate(people, rng=rng, runs=runs), f) for mechanism in made)
        for bound, sign in ((low, 1), (high, -1)):
            noise = math.hypot(one.std(), bound * two.std()) / runs**0.5
            assert sign * (one.mean() - bound * two.mean()) > 3 * noise


def phase_error(f, table, n2, e):
    """Total squared error of the second phase, users drawn at random, exact."""
    bias = corr_rr.expectation(f, table) - f
    return (bias**2).sum() + corr_rr.iid_variance(f, table, n2, e).sum()


def test_two_groups_cost_four_times_the_error_on_syn_a_and_pay_where_attributes_come_in_alike_pairs():
    people = syn_a(20_000, d=4, rho=0.9, frequencies=SKEWED, rng=np.random.default_rng(3))
    alike = np.array([[7, 1, 1, 1]] * 2 + [[2.5, 5.5, 1, 1]] * 2) / 10

    def two_over_one(f, epsilon, n2=16_000):
        whole = phase_error(f, corr_rr.joint_reuse(f, n2), n2, math.exp(epsilon))
        halves = (phase_error(g, corr_rr.joint_reuse(g, n2), n2, math.exp(epsilon / 2)) for g in (f[:2], f[2:]))
        return sum(halves) / whole

    f = np.array(marginal_frequencies(people))
    assert all(4 < two_over_one(f, epsilon) < 4.4 for epsilon in (0.1, 0.5, 1.0))
    wholes, halves = ([grr.probabilities(math.exp(part * e), 4) for e in (0.1, 0.5, 1.0)] for part in (1, 0.5))
    variances = [((p - q) / (u - v)) ** 2 for (p, q), (u, v) in zip(wholes, halves, strict=True)]
    assert [round(each, 1) for each in variances] == [4.1, 4.4, 4.6]
    assert two_over_one(f, 4.0) > 1
    apart = 0.1 * np.array(SKEWED) + 0.9 / 4  # at rho = 0.1 groups have less bias, and less error
    assert round(two_over_one(np.array([SKEWED, apart, apart, apart]), 1.0), 1) == 0.8
    assert two_over_one(alike, 0.1) > 2
    assert two_over_one(alike, 0.5) < 0.25
    near = np.array([SKEWED] * 2 + [[0.3, 0.3, 0.2, 0.2]] * 2)  # not so where the two pairs are near each other
    assert two_over_one(near, 0.5) > 2
    assert round(two_over_one(alike, 0.5, 1_600), 1) == 1.4  # a fifth of 2,000 users in Phase I


def test_which_formula_is_better_for_a_learned_copying_probability_turns_on_the_number_of_users():
    """The appendix's over the exact one's error, a tenth of the users in Phase I, attributes of like frequencies."""

    def over_exact(n, epsilon, rho, appendix=AppendixCorrRR, shares=SKEWED, first=0.1, runs=400):
        counts = np.rint(n * tree_law(shares, rho, [0])).astype(int)
        people, rng = Population.from_counts(counts), np.random.default_rng(7)
        made = (rule(k=people.k, epsilon=epsilon, n1=first) for rule in (appendix, CorrRR))
        errors = [mse(one.simulate(people, rng=rng, runs=runs), marginal_frequencies(people)) for one in made]
        ratio = errors[0].mean() / errors[1].mean()
        return ratio, 5 * ratio * math.hypot(*(e.std() / e.mean() for e in errors)) / runs**0.5

    few, many, most = (over_exact(*of) for of in ((20_000, 1.0, 0.5), (200_000, 1.0, 0.5), (2_000_000, 1.0, 0.9)))
    assert few[0] + few[1] < 1 < many[0] - many[1]
    assert abs(many[0] - 1.6) < max(many[1], 0.05)
    assert max(sum(over_exact(20_000, 0.25, rho)) for rho in (0.5, 0.9)) < 1
    as_run = partial(AppendixCorrRR, exchanged=True)
    few, many = (over_exact(n, 1.0, 0.5, as_run) for n in (20_000, 200_000))
    assert few[0] + few[1] < 1 < np.subtract(*over_exact(20_000, 1.0, 0.5, as_run, first=0.3, runs=1_600))  # no tenth
    assert abs(many[0] - 1.9) < many[1] < 0.2  # as the programs have it
    assert most[0] - most[1] > 1 > sum(over_exact(20_000, 0.5, 0.9))
    assert np.subtract(*over_exact(1_000_000, 0.5, 0.5)) > 1 > sum(over_exact(20_000, 0.5, 0.5))
    page = " ".join((Path(__file__).parents[2] / "book/results.md").read_text(encoding="utf-8").split())
    assert "learned where they are alike, of 20,000 users, the printed one" in page
    near, less = (over_exact(20_000, 2.0, rho) for rho in (0.9, 0.5))
    assert sum(near) < 1 < less[0] - less[1]
    assert "at ε = 0.5 (at 2 only if nearly equal)" in page
    ten = over_exact(20_000, 2.0, 0.5, shares=np.arange(10, 0, -1) / 55)
    assert sum(ten) < 1  # of ten values the printed one is ahead there too
    assert "for four values at ε = 0.5" in page


def test_learned_copies_of_alike_shares_lose_to_splitting_unless_noise_is_large():
    """Page results, the row's advice: two values with equal shares, and more whose shares are near each other."""

    def over_split(law, n, epsilon):
        data = Population.from_counts(np.rint(n * law).astype(int))
        one, truth = {"k": data.k, "epsilon": epsilon}, marginal_frequencies(data)
        errors = mse(AppendixCorrRR(**one, n1=0.1).simulate(data, rng=np.random.default_rng(9), runs=1_000), truth)
        over = errors / np.mean(SPL(**one).variance(data))
        return over.mean(), 5 * over.std() / 1_000**0.5

    for share, n, epsilon, gains in (
        (SKEWED, 20_000, 0.5, True),
        ([0.6, 0.3, 0.1], 20_000, 0.5, True),
        ([0.7, 0.3], 2_000, 0.1, True),
        ([0.7, 0.3], 20_000, 0.5, False),
        ([0.9, 0.1], 2_000, 0.5, False),
    ):
        over, off = over_split(np.multiply.outer(share, share), n, epsilon)
        assert over + off < 1 if gains else over - off > 1
    for n, epsilon, gains in ((20_000, 0.5, True), (20_000, 2.0, False), (1_000_000, 0.5, False)):
        over, off = over_split(tree_law(SKEWED, 0.5, [0]), n, epsilon)
        assert over + off < 1 if gains else over - off > 1
    page = " ".join((Path(__file__).parents[2] / "book/results.md").read_text(encoding="utf-8").split())
    assert "where frequencies are alike and {check}`noise is large <test_corr_rr_gain::" in page


def test_a_small_first_phase_at_a_tenth_pays_for_many_users_only():
    """Chapter audit_corr_rr, the advice: a learned copying probability against 1/k, which needs no first phase."""
    alike = np.multiply.outer([0.7, 0.1, 0.1, 0.1], [0.7, 0.1, 0.1, 0.1])
    many = Population.from_counts(np.rint(100_000 * alike).astype(int))
    cases = [(datasets.load_corr_rr(name), 0.1, True) for name in datasets.CORR_RR] + [(many, 0.02, False)]
    for data, first, costs in cases:
        one, truth, rng = {"k": data.k, "epsilon": 0.1}, marginal_frequencies(data), np.random.default_rng(3)
        made = SecondPhase(**one), AppendixCorrRR(**one, n1=first), CorrRR(**one, n1=first)
        without, *both = (mse(way.simulate(data, rng=rng, runs=1_000), truth) for way in made)
        for learned in both if costs else both[:1]:
            gap, off = learned.mean() - without.mean(), 4 * math.hypot(learned.std(), without.std()) / 1_000**0.5
            assert gap > off if costs else gap + off < -0.3 * without.mean()
    for rho, rule in itertools.product((0.5, 0.9), (CorrRR, AppendixCorrRR)):  # few users at a quarter
        few, rng = (
            Population.from_counts(np.rint(2_000 * tree_law(SKEWED, rho, [0])).astype(int)),
            np.random.default_rng(4),
        )
        one, truth = {"k": few.k, "epsilon": 0.25}, marginal_frequencies(few)
        made = rule(**one, n1=0.1), SecondPhase(**one)
        learned, without = (mse(way.simulate(few, rng=rng, runs=1_000), truth) for way in made)
        off = 4 * math.hypot(learned.std(), without.std()) / 1_000**0.5
        assert learned.mean() - without.mean() > off
    # Ten attributes: the first phase's own estimates spend a tenth of epsilon each, and 20,000 users are not enough.
    rng = np.random.default_rng(5)
    first = rng.choice(4, size=(20_000, 1), p=SKEWED)
    copied = np.where(rng.random((20_000, 9)) < 0.9, first, rng.integers(4, size=(20_000, 9)))
    ten = Population.from_records(np.hstack([first, copied]), k=(4,) * 10)
    one, truth = {"k": ten.k, "epsilon": 0.25}, marginal_frequencies(ten)
    without, *both = (
        mse(way.simulate(ten, rng=rng, runs=50), truth)
        for way in (SecondPhase(**one), CorrRR(**one, n1=0.1), AppendixCorrRR(**one, n1=0.1))
    )
    for learned in both:
        off = 4 * math.hypot(learned.std(), 2 * without.std()) / 50**0.5
        assert learned.mean() - 2 * without.mean() > off


class JointCorrRR(CorrRR):
    """Corr-RR whose first phase sets all copying probabilities of a target together."""

    def learn(self, first, n2):
        """Return one table for each run."""
        return np.array([corr_rr.joint_reuse(f, n2) for f in np.swapaxes(first, 0, 1)])


def test_solving_for_all_copies_of_a_target_pays_where_frequencies_are_known():
    """Chapter audit_corr_rr, the advice: SynA, four attributes, 20,000 users, epsilon 0.5, rho 0.9."""
    rng = np.random.default_rng(6)
    people = syn_a(20_000, d=4, rho=0.9, frequencies=SKEWED, rng=rng)
    truth, one = marginal_frequencies(people), {"k": people.k, "epsilon": 0.5, "n1": 0.1}
    table = corr_rr.joint_reuse(np.array(truth), 18_000)
    errors = {}
    for name, made in (
        ("joint", JointCorrRR(**one)),
        ("appendix", AppendixCorrRR(**one)),
        ("known", CorrRR(**one, reuse=table)),
    ):
        found = mse(made.simulate(people, rng=rng, runs=600), truth)
        errors[name] = found.mean(), found.std() / found.mean() / 600**0.5
    ratio = errors["joint"][0] / errors["appendix"][0]
    assert abs(ratio - 2.1) < 5 * ratio * math.hypot(errors["joint"][1], errors["appendix"][1]) < 0.6
    assert errors["known"][0] < 0.9 * errors["appendix"][0]


def test_more_users_in_the_first_phase_change_the_error_by_the_stated_factors():
    people = Population.from_counts(np.rint(20_000 * tree_law(SKEWED, 0.5, [0])).astype(int))
    rng = np.random.default_rng(1)
    stated = {(0.1, CorrRR): 2.03, (0.1, AppendixCorrRR): 2.07, (0.5, CorrRR): 0.75, (0.5, AppendixCorrRR): 1.19}
    for (epsilon, rule), factor in stated.items():
        made = (rule(k=people.k, epsilon=epsilon, n1=share) for share in (0.05, 0.5))
        one, two = (expected_errors(x, people, rng=rng, runs=4_000) for x in made)
        noise = math.hypot(*(x.std() / x.mean() for x in (one, two))) / 4_000**0.5
        assert abs(two.mean() / one.mean() - factor) < 0.005 + 3 * factor * noise


def test_a_tenth_or_a_fifth_of_the_users_steady_one_learned_copying_probability_and_half_of_them_both():
    people = Population.from_counts(np.rint(20_000 * tree_law(SKEWED, 0.5, [0])).astype(int))
    rng, squares = np.random.default_rng(1), {}
    for share in (0.05, 0.1, 0.2, 0.5):
        made = CorrRR(k=people.k, epsilon=0.5, n1=share)
        first, _ = made.simulate_phases(people, rng=rng, runs=60_000)
        p_y = made.table(first, round((1 - share) * people.n))[:, [0, 1], [1, 0]]
        squares[share] = (p_y - p_y.mean(axis=0)) ** 2
    fewest, *others = ((x.mean(axis=0), x.std(axis=0) / 60_000**0.5) for x in squares.values())
    tenth, fifth, half = ((x - fewest[0]) / np.hypot(se, fewest[1]) for x, se in others)
    assert min(tenth[1], fifth[1]) > 5 > -5 > max(tenth[0], fifth[0], *half)


@pytest.mark.parametrize(
    ("name", "epsilon", "first", "low", "high"),
    [
        ("adult", 0.1, 0.2, 0.84, 0.94),
        ("adult", 0.1, 0.1, 0.8, 0.87),
        (0.9, 0.5, 0.2, 0.35, 0.5),  # SynA by rho
        (0.1, 0.5, 0.2, 0.87, 0.92),
    ],
)
def test_the_table_of_the_true_frequencies_saves_a_ninth_at_small_budgets_and_half_at_larger_ones(
    name, epsilon, first, low, high
):
    rng = np.random.default_rng(6)
    people = (
        datasets.load_corr_rr(name)
        if name == "adult"
        else syn_a(20_000, d=4, rho=name, frequencies=SKEWED, rng=np.random.default_rng(3))
    )
    truth, one = marginal_frequencies(people), {"k": people.k, "epsilon": epsilon, "n1": first}
    known = corr_rr.reuse_table(truth, n2=people.n - int(first * people.n))
    runs = {0.9: 1_500, 0.1: 10_000}.get(name, 10_000 if first == 0.2 else 300_000)
    errors = [mse(CorrRR(**one, reuse=x).simulate(people, rng=rng, runs=runs), truth) for x in (known, None)]
    ratio = errors[0].mean() / errors[1].mean()
    noise = ratio * math.hypot(*(e.std() / e.mean() for e in errors)) / runs**0.5
    assert low < ratio - 2 * noise < ratio + 2 * noise < high
    if first == 0.1:
        assert abs(1 - ratio - 0.15) < 0.005 + 3 * noise < 0.012


def test_the_table_of_the_true_frequencies_saves_twelve_per_cent_where_attributes_are_near_independent():
    ratios = []
    for seed in range(16):  # data sets
        people = syn_a(20_000, d=4, rho=0.1, frequencies=SKEWED, rng=np.random.default_rng(seed))
        truth, one = marginal_frequencies(people), {"k": people.k, "epsilon": 0.5, "n1": 0.2}
        known = corr_rr.reuse_table(truth, n2=16_000)
        how = {"rng": np.random.default_rng((seed, 1)), "runs": 1_500}
        errors = [mse(CorrRR(**one, reuse=x).simulate(people, **how), truth).mean() for x in (known, None)]
        ratios.append(errors[0] / errors[1])
    error = np.std(ratios, ddof=1) / 4
    assert abs(1 - np.mean(ratios) - 0.12) < 0.005 + 3 * error < 0.02


@pytest.mark.parametrize(
    ("d", "exchanged", "stated"), [(2, False, 0.6), (4, False, 0.22), (2, True, 0.65), (4, True, 0.27)]
)
def test_the_error_falls_with_the_correlation_and_as_much_with_shuffled_columns(d, exchanged, stated):
    """SynA, ρ from 0.1 to 0.9, on average over data sets; exchanged as it was run."""
    rng, made = np.random.default_rng(4), AppendixCorrRR(k=(4,) * d, epsilon=0.5, n1=0.2, exchanged=exchanged)

    def means(rho):
        """Errors of data sets, as drawn and shuffled."""
        for _ in range(30):
            people = syn_a(20_000, d=d, rho=rho, frequencies=SKEWED, rng=rng)
            yield [expected_errors(made, x, rng=rng, runs=100).mean() for x in (people, shuffled(people, rng))]

    weak, strong = np.array([*means(0.1)]), np.array([*means(0.9)])
    left = strong.mean(axis=0) / weak.mean(axis=0)
    noise = left * np.hypot(*(x.std(axis=0) / x.mean(axis=0) for x in (weak, strong))) / 30**0.5
    assert (abs(1 - left - stated) < 0.005 + 3 * noise).all()
    assert noise.max() < 0.004


@pytest.mark.parametrize("name", [*datasets.CORR_RR, "SynA"])
def test_one_question_with_the_best_weights_is_below_every_table_and_the_guess(name):
    syn = syn_a(20_000, d=4, rho=0.9, frequencies=SKEWED, rng=np.random.default_rng(3))
    people = syn if name == "SynA" else datasets.load_corr_rr(name)
    f, n = np.array(marginal_frequencies(people)), people.n
    d, k = f.shape
    g, one = f - 1 / k, np.eye(d)
    for epsilon in (0.1, 0.5, 1.0, 4.0):
        e = math.exp(epsilon)
        p, q = grr.probabilities(e, k)
        noise = d * (1 - 1 / k) / (n * (p - q) ** 2)

        def weighted(a, noise=noise):
            """Error of one question, users drawn at random; column m of a has attribute m's weights."""
            fit = a.T @ g
            return ((g - fit) ** 2).sum() + noise * (a**2).sum() - (fit**2).sum() / n

        table = corr_rr.joint_reuse(f, n)
        t = corr_rr.shrinkage(table, k)
        copied = phase_error(f, table, n, e)
        saved = d * (1 - (t**2).mean()) * (1 - 1 / k) / (n * (p - q) ** 2)
        assert math.isclose(copied - weighted(t / d), saved, rel_tol=1e-6, abs_tol=1e-12)
        best = np.linalg.solve((1 - 1 / n) * g @ g.T + noise * one, g @ g.T)
        others = [
            weighted(one),
            weighted(t / d),
            copied,
            (g**2).sum(),
            phase_error(f, np.where(one == 1, 1, 1 / k), n, e),
        ]
        assert weighted(best) <= min(others) * (1 + 1e-9)


def test_along_the_line_of_best_tables_of_adult_the_error_is_one_fraction_and_the_shortest_is_returned():
    adult = datasets.load_corr_rr("adult")
    shares = [Fraction(int(adult.select(m).histogram[0]), adult.n) for m in range(3)]
    f, half = np.array([[x, 1 - x] for x in shares]), Fraction(1, 2)
    a0, a1, a2 = (x - half for x in shares)
    goal = Fraction(2 * adult.n + 1, adult.n - 1) * a0
    shortest = np.array([a1, a2]) * (goal / (a1**2 + a2**2))
    line = [shortest + s * np.array([a2, -a1]) for s in (0, 1, -2)]
    assert max(abs(x) for t in line for x in t) < 1
    errors = set()
    for t in line:
        table = np.array([[ONE, ONE, ONE], [(1 + t[0]) / 2, ONE, ONE], [(1 + t[1]) / 2, ONE, ONE]])
        bias = (corr_rr.expectation(f, table) - f)[0]
        errors.add((bias**2).sum() + corr_rr.iid_variance(f, table, adult.n, Fraction(2))[0].sum())
    assert len(errors) == 1
    assert min(line, key=lambda t: t @ t) is line[0]
    found = corr_rr.shrinkage(corr_rr.joint_reuse(f.astype(float), adult.n)[1:, 0], 2)
    assert np.allclose(found, shortest.astype(float), rtol=1e-12)


def test_both_phases_on_mushroom_have_the_stated_mean_and_variance_and_raw_estimates_leave_the_simplex():
    people = datasets.load_corr_rr("mushroom")
    made = CorrRR(k=(5, 5), epsilon=1.0, n1=1_600, reuse=[[1, 0.6], [0.3, 1]])
    runs = np.hstack(made.simulate(people, rng=np.random.default_rng(3), runs=20_000))
    mean, variance = (np.hstack(x(people)) for x in (made.mean, made.variance))
    check.close(runs, mean=mean, foil=mean + 0.1 * variance**0.5)
    check.close(runs, variance=variance, foil=1.1 * variance)
    learned = CorrRR(k=(5, 5), epsilon=0.5)
    first, _ = learned.simulate_phases(people, rng=np.random.default_rng(4), runs=2_000)
    p_y, values = learned.table(first, people.n - 800), np.hstack(first)
    assert ((values < 0) | (values > 1)).any(axis=1).mean() > 0.5
    assert ((p_y >= 0) & (p_y <= 1)).all()


@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_best_copying_probabilities_mostly_betray_in_some_reports_which_question_was_asked(k):
    """Chapter corr_rr, the advice: one of two is 0 or 1 and the other not, so an attribute spends the record's ε."""
    rng, full, alike = np.random.default_rng(4), [], []
    for _ in range(60):
        shares = -np.sort(-rng.dirichlet(np.ones(k), size=2))
        table = corr_rr.joint_reuse(shares, 10_000)
        one = (table[0, 1] + table[1, 0]) / 2
        for repeats, found in ((table, full), ([[1, one], [one, 1]], alike)):
            reports = corr_rr.channel(math.e, k, repeats)
            found.append(
                max(
                    channel.privacy_ratio(leakage.attribute_channel(reports, np.outer(*shares), j)) > 0.99 * math.e
                    for j in range(2)
                )
            )
    assert np.mean(full) > 0.75
    assert not any(alike)


def test_of_five_attributes_equal_copies_hide_what_was_asked_only_if_they_are_not_mostly_false():
    """Chapter corr_rr, the advice: one p_y of at least 1/k for all copies."""
    for k, e in itertools.product((2, 3), (math.exp(0.1), math.e)):
        joint = np.full((k,) * 5, 1.0 / k**5)
        spent = []
        for p_y in (0.1 / k, 1 / k, (1 + 1 / k) / 2, 0.95, 1.0):
            reports = corr_rr.channel(e, k, np.full((5, 5), p_y))
            ratio = channel.privacy_ratio(leakage.attribute_channel(reports, joint, 0))
            spent.append(math.log(ratio) / math.log(e))
        assert spent[0] > 0.99
        assert max(spent[1:]) < 0.4
    text = (Path(__file__).parents[2] / "notebooks" / "corr_rr.ipynb").read_text(encoding="utf-8")
    assert r"choose one $p_y \\ge 1/k$ for all copies" in text

"""The decision page, its picture and the planner's table say what the library computes, and what each chapter says."""

import functools
import itertools
import json
import math
import re
import types
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import softmax

from ldp_lib import (
    OUE,
    AskSome,
    OneQuestion,
    SignedRR,
    SubsetSelection,
    Survey,
    check,
    grr,
    limit,
    recommend,
    simple_error,
    simple_pair_error,
    subset,
    total_error,
)
from ldp_lib.book import choose
from ldp_lib.fake_data import RSRFD
from ldp_lib.jrr import calibration
from ldp_lib.limit.pair_tables import least_pair_error, pair_error, spaces
from ldp_lib.population import Population
from ldp_lib.sampled import design
from ldp_lib.splitting import allocation
from ldp_lib.survey import planner
from ldp_lib.tables import product
from ldp_lib.tables._totals import pairs_error
from ldp_lib.tables.clusters import RRClusters
from ldp_lib.tables.product import RRIndependent, RRJoint, squared_length
from ldp_lib.tables.sampled import ask_pairs, pair_tables

BOOK = Path(__file__).resolve().parents[2] / "book"
NAMES = ("RR", "SIGNED", "GRR", "SUBSET", "ONE", "SOME", "PAIR", "WHOLE", "ALONE")


@functools.cache
def leaves():
    """Return the page's leaves with their groups; the dealer's design takes seconds, and is for who asks for it."""
    return [(group, leaf) for group, found in choose.leaves().items() for leaf in found]


@functools.cache
def chosen():
    """Return the leaves by their names."""
    return types.SimpleNamespace(**dict(zip(NAMES, (leaf for _, leaf in leaves()), strict=True)))


def squared_errors(mechanism, population, *, runs):
    """Return the squared error of all pair tables, summed, of each of some simulated surveys."""
    x, rng, found = population.users(), np.random.default_rng(1), []
    truth = {pair: population.select(*pair).joint for pair in itertools.combinations(range(population.d), 2)}
    for _ in range(runs):
        tables = pair_tables(mechanism, mechanism.perturb(x, rng=rng))
        found.append(sum(((tables[pair] - truth[pair]) ** 2).sum() for pair in truth))
    return np.array(found)


def rows(heading):
    """Return the cells of the table below a heading of the decision page."""
    section = (BOOK / "choose.md").read_text(encoding="utf-8").split(f"## {heading}\n")[1].partition("\n## ")[0]
    lines = re.findall(r"^\| (.*) \|$", section, re.MULTILINE)
    return [line.split(" | ") for line in lines if "---" not in line][1:]


@pytest.mark.parametrize("name", NAMES)
def test_each_row_of_the_page_is_computed(name):
    row = dict(zip(NAMES, rows("The same as a table"), strict=True))[name]
    group, leaf = leaves()[NAMES.index(name)]
    name = type(leaf.mechanism).__name__
    budget = 4 if leaf.mechanism.epsilon == 4 else 1
    assert row[:2] == [f"{group}: {leaf.when}", f"{{doc}}`{name} <../notebooks/{leaf.chapter}>`"]
    assert row[2] == f"{leaf.example}, {budget}"
    assert row[3:] == [f"{leaf.points:.2f}", f"{leaf.users():,}", f"{leaf.users(sampled=True):,}"]


def test_each_error_is_that_of_its_chapter():
    e, n = math.e, choose.PEOPLE
    total = {leaf: (leaf.points / 100) ** 2 * n for _, leaf in leaves()}
    assert total[chosen().RR] == pytest.approx(calibration.plain_variance(1.0))  # of a count, for one person
    assert total[chosen().SIGNED] == pytest.approx(
        calibration.plain_variance(chosen().SIGNED.mechanism.epsilon) * (1 + chosen().SIGNED.mechanism.rho_)
    )
    assert 5 * total[chosen().GRR] == pytest.approx(allocation.mrr_error(e - 1, 5))
    assert 16 * total[chosen().SUBSET] == pytest.approx(subset.error(e, 16, subset.optimal_size(e, 16)) - 15 / 16)
    # Users drawn at random add sum f (1-f); those who were not asked, one part in n.
    assert 16 * total[chosen().ONE] == pytest.approx(16 * subset.error(e, 4, 1) - 3, rel=1e-4)
    assert 8 * total[chosen().WHOLE] == pytest.approx(squared_length(e, 8) - 1)
    assert 1582 * total[chosen().ALONE] == pytest.approx(planner.pairs_error(chosen().ALONE.mechanism, 1))
    of_two = 100 * math.sqrt(planner.pairs_error(chosen().WHOLE.mechanism, n) / 12)  # three tables of four cells
    assert f"of two {of_two:.2f})" in (BOOK / "choose.md").read_text(encoding="utf-8")
    assert total[chosen().SOME] < total[chosen().ONE] / 10
    even = choose.planner.plug_in_population([np.full(4, 0.25)] * 4, n)  # tables that are far from even
    assert check.mean_z(squared_errors(chosen().PAIR.mechanism, even, runs=60), 96 * total[chosen().PAIR] / n) < 5


def test_each_leaf_is_what_the_library_recommends():
    for leaf in (chosen().RR, chosen().GRR, chosen().SUBSET, chosen().ONE, chosen().SOME):
        found = recommend(k=leaf.mechanism.k, epsilon=leaf.mechanism.epsilon, n=choose.PEOPLE)
        assert found.mechanism == leaf.mechanism
        assert found.points == pytest.approx(leaf.points)
    assert (
        recommend(k=chosen().PAIR.mechanism.k, epsilon=1.0, n=10_000, wants="tables").mechanism
        == chosen().PAIR.mechanism
    )
    assert (
        recommend(k=chosen().WHOLE.mechanism.k, epsilon=1.0, n=10_000, wants="records").mechanism
        == chosen().WHOLE.mechanism
    )
    assert (
        recommend(k=chosen().ALONE.mechanism.k, epsilon=4.0, n=10_000, wants="records").mechanism
        == chosen().ALONE.mechanism
    )
    assert chosen().SIGNED.points < chosen().RR.points


def test_noise_alone_takes_fewer_people_than_a_random_sample():
    z = 1.959963984540054
    assert (chosen().RR.users(), chosen().RR.users(sampled=True)) == (
        35_368,
        44_971,
    )  # e/(e-1)^2; 1/4 more for one half
    for leaf, cells in ((chosen().WHOLE, 8), (chosen().PAIR, 16)):
        more = z**2 * 1e4 * (1 / cells - 1 / cells**2)
        assert leaf.users(sampled=True) - leaf.users() == pytest.approx(more, abs=1)
    for _, leaf in leaves():
        assert leaf.users() <= leaf.users(sampled=True) <= leaf.users() + math.ceil(z**2 * 1e4 / 4)


def test_the_words_between_the_numbers_hold():
    assert [k for k in range(2, 100) if subset.optimal_size(math.e, k) == 1][-1] == 5
    for k in ((2,) * 4, (4,) * 4, (10,) * 4, (9, 16, 7, 15, 6, 5, 2, 2)):
        assert type(recommend(k=k, epsilon=1.0, n=10_000).mechanism).__name__ == "OneQuestion"
    assert type(recommend(k=(4,) * 4, epsilon=3.0, n=10_000).mechanism).__name__ == "OneQuestion"
    assert type(recommend(k=(2,) * 4, epsilon=2.0, n=10_000).mechanism).__name__ == "AskSome"
    for epsilon in (1.0, 2.0, 4.0):  # the whole record or each answer alone
        for k, joint in (((2,) * 7, True), ((4,) * 3, True), ((4,) * 6, False), ((10,) * 4, False)):
            e, parts = math.exp(epsilon), RRIndependent(k=k, epsilon=epsilon).channels_
            lengths = [squared_length(math.exp(part), size) for part, size in zip(parts, k, strict=True)]
            assert squared_length(e, math.prod(k)) < math.prod(lengths)  # the table of all records
            if epsilon < 4 or joint:
                alone = planner.pairs_error(RRIndependent(k=k, epsilon=epsilon), 1)
                assert (planner.pairs_error(RRJoint(k=k, epsilon=epsilon), 1) < alone) == joint, (k, epsilon)
    shares = {type(m).__name__: error for error, m in planner._errors(k=(2, 2, 2), epsilon=4.0, n=10_000)}
    assert shares["AskSome"] < shares["RRJoint"]  # complete records cost, for the shares alone


def test_for_two_questions_the_whole_record_at_once_is_better_and_for_more_up_to_240_records():
    def over(k, d, epsilon):  # the variance of the table of two questions, the whole record at once over each alone
        ratio = product.mixing_ratio(product.keep_probability(epsilon, k**d), k * k)
        return (squared_length(ratio, k * k) - 1) / (squared_length(math.exp(epsilon / d), k) ** 2 - 1)

    whole, alone = RRJoint(k=(3,) * 4, epsilon=1.0), RRIndependent(k=(3,) * 4, epsilon=1.0)
    assert over(3, 4, 1.0) == pytest.approx(planner.pairs_error(whole, 1) / planner.pairs_error(alone, 1))
    for epsilon in (1.0, 2.0):
        found = {(k, d): over(k, d, epsilon) for k in range(2, 41) for d in range(2, 20) if k**d <= 10**6}
        assert all(found[k, 2] < 1 for k in range(2, 41))
        better = {k**d for (k, d), ratio in found.items() if d > 2 and ratio < 1}
        worse = {k**d for (k, d), ratio in found.items() if d > 2 and ratio > 1}
        assert max(better) <= 1_000
        assert min(worse) > 240
        assert worse & {243, 256}
        assert max(better) > min(worse)
    assert round(over(100, 2, 1.0), 2) == 0.06
    text = " ".join((BOOK / "choose.md").read_text(encoding="utf-8").split())
    assert "At ε = 4 it is better up to 500 records." in text
    assert all(over(k, d, 4.0) < 1 for k in range(2, 23) for d in range(2, 9) if k**d <= 500)
    for k, epsilon, said in (((2, 2, 300), 1.0, 0.1), ((2, 2, 2, 2, 3, 5), 2.0, 1.1)):  # each alone at its best parts

        def apart(roots, k=k, epsilon=epsilon):
            own = [squared_length(math.exp(b), size) for b, size in zip(epsilon * softmax(roots), k, strict=True)]
            return math.log(sum(one * other - 1 for one, other in itertools.combinations(own, 2)))

        least = math.exp(minimize(apart, np.log(k)).fun)
        whole = planner.pairs_error(RRJoint(k=k, epsilon=epsilon), 1)
        assert round(whole / least, 2) == said
        alone = RRIndependent(k=k, epsilon=epsilon)
        assert planner.pairs_error(alone, 1) == pytest.approx(math.exp(apart(np.log(alone.channels_))))
        assert k[2] == 2 or whole / planner.pairs_error(alone, 1) < 0.015
    assert "If all questions have equally many answers, the whole record at once is better at ε = 1 and 2" in text


def test_one_question_is_said_to_be_best_for_shares_at_small_budgets_only():
    """The words of the page survey and of `Survey` on what is asked if no mechanism is given."""
    text = " ".join((BOOK / "survey.md").read_text(encoding="utf-8").split())
    for epsilon, place in ((2.0, "{} times the variance of that at ε = 2"), (4.0, "and {} times at 4")):
        one = planner._errors((2,) * 8, epsilon, 10_000)
        alone = next(error for error, mechanism in one if isinstance(mechanism, OneQuestion))
        assert place.format(round(alone / min(error for error, _ in one), 1)) in text
    told = " ".join(Survey.__doc__.split())
    assert "the best known for frequencies" not in told
    assert "for frequencies at small budgets" in told


@pytest.mark.parametrize("k", [(2, 2), (2,) * 12, (3, 3), (4,) * 4, (10, 10), (2, 20), (9, 16, 7, 15, 6, 5, 2, 2)])
def test_up_to_a_budget_of_1_what_is_least_for_even_shares_is_least_where_all_people_agree(k):
    """The answer to the first question of chapter which_mechanism: the other extreme of populations."""
    said = "least total variance of this book's unbiased mechanisms depends little on the population (by about a fifth"
    said += " at most in the cases tried)"
    assert said in (BOOK / "teaching.yml").read_text(encoding="utf-8")
    people = Population.from_records(np.zeros((10_000, len(k)), int), k=k)
    for epsilon in (0.1, 0.5, 1.0):
        errors = [(even, total_error(mechanism, people)) for even, mechanism in planner._errors(k, epsilon, 10_000)]
        even, alike = min(errors)
        assert 0.78 < alike / even < 1.001
        assert alike < min(other for _, other in errors) * (1 + 1e-3)
    if set(k) == {2}:  # not so the variance of constant fakes: where all people hold them, and where half do
        faked = RSRFD(k=k, epsilon=1.0, priors=((1, 0),) * len(k))
        even = Population.from_records(np.repeat([[0] * len(k), [1] * len(k)], 5_000, axis=0), k=k)
        assert total_error(faked, people) < 0.7 * total_error(faked, even)


def test_a_mechanism_not_of_this_book_has_a_quarter_less_where_all_people_agree():
    """Eight binary attributes at e = 27/10, all zeros: "x_j = 1", "x_j = 0, and not all zeros", "all zeros".

    Its columns sum to 1, its estimates are unbiased everywhere, and it has 0.74 of the least variance at even shares.
    """
    e, d = Fraction(27, 10), 8
    records = list(itertools.product((0, 1), repeat=d))
    weights = [1 / (d * (2 + e))] * (2 * d) + [1 / (2 + e)]
    held = [[x[j] == 1 for x in records] for j in range(d)]
    held += [[x[j] == 0 and any(x) for x in records] for j in range(d)] + [[not any(x) for x in records]]
    columns = [[w * (e if yes else 1) for yes in own] for w, own in zip(weights, held, strict=True)]
    assert {sum(own) for own in zip(*columns, strict=True)} == {1}
    total = 0
    for j in range(d):
        signs = [int(i == j) - int(i == d + j or i == 2 * d) for i in range(2 * d + 1)]
        told = [sign / (2 * (e - 1) * w) for sign, w in zip(signs, weights, strict=True)]
        means = [sum(p * t for p, t in zip(own, told, strict=True)) for own in zip(*columns, strict=True)]
        assert {mean - x[j] for mean, x in zip(means, records, strict=True)} == {means[0]}  # a known constant
        total += 2 * (sum(own[0] * t**2 for own, t in zip(columns, told, strict=True)) - means[0] ** 2)
    least = Fraction(d * d, 2) * ((e + 1) / (e - 1)) ** 2  # at even shares, by thm-binary
    assert total == d * (d * (2 + e) + e) / (e - 1) ** 2
    assert round(float(total / least), 2) == 0.74


def test_yes_or_no_questions_randomized_in_pairs_have_less_error_than_alone_or_all_at_once():
    """Of reports that are records: the shares of pairs of binary answers are those of GRR among four, by hand."""

    def pairs(k, epsilon, first=0):
        together = zip(range(first, len(k), 2), range(first + 1, len(k), 2), strict=True)
        return RRClusters(k=k, clusters=(*((j,) for j in range(first)), *together), epsilon=epsilon)

    def over(k, epsilon, first=0, other=RRIndependent):
        two, rival = pairs(k, epsilon, first), other(k=k, epsilon=epsilon)
        return planner.pairs_error(two, 1) / planner.pairs_error(rival, 1)

    text = " ".join((BOOK / "choose.md").read_text(encoding="utf-8").split())
    tables = {(d, epsilon): over((2,) * d, epsilon) for d in (8, 10, 12) for epsilon in (1.0, 2.0)}
    assert max(over((2,) * d, epsilon, other=RRJoint) for d, epsilon in tables) < 0.7
    shares = []
    for d in (8, 10, 12):
        e, four = math.exp(1 / d), math.exp(2 / d)  # n times a share's variance, people held fixed
        alone, two = (((a + 1) / (a - 1)) ** 2 / 4 - 1 / 4 for a in (e, (four + 1) / 2))
        shares.append(two / alone)
        even = planner.plug_in_population([np.full(2, 0.5)] * d, 10_000)
        assert total_error(pairs((2,) * d, 1.0), even) == pytest.approx(2 * d * two / 10_000)
    one, double = ([f"{tables[d, epsilon]:.2f}" for d in (8, 10, 12)] for epsilon in (1.0, 2.0))
    said = [f"{share:.2f}" for share in shares]
    assert f"for 8, 10 and 12 at ε = 1 {one[0]}, {one[1]} and {one[2]} times the variance of each alone" in text
    assert f"({said[0]}, {said[1]} and {said[2]} for their shares)" in text
    assert f"at ε = 2 {double[0]}, {double[1]} and {double[2]} times" in text
    assert round(over(chosen().ALONE.mechanism.k, 4.0, 6), 2) == 0.95  # Adult's, with sex and income as a pair
    assert min(over((size,) * 6, epsilon) for size in (3, 4) for epsilon in (1.0, 2.0)) > 1


def test_larger_sets_can_need_fewer_people_in_the_worst_case_than_those_with_the_least_total_variance():
    text, said = " ".join((BOOK / "choose.md").read_text(encoding="utf-8").split()), []
    for k, epsilon in ((5, 1.0), (16, 1.0), (100, 4.0)):
        named = SubsetSelection(k=k, epsilon=epsilon)
        sizes = [SubsetSelection(k=k, epsilon=epsilon, size=size) for size in range(1, min(k, 25))]
        need = [planner.required_users(one, 0.01) for one in sizes]
        least = int(np.argmin(need))
        worst = [one.variance(Population.from_counts([10**6] + [0] * (k - 1))) for one in (named, sizes[least])]
        assert [one.argmax() for one in worst] == [0, 0]  # all hold the same answer
        assert worst[0].sum() < worst[1].sum()  # in total the sets named have less
        said.append(f"sets of {least + 1} need {need[least]:,} instead of {planner.required_users(named, 0.01):,}")
    for words in said:
        assert words in text


def test_the_worst_case_takes_more_people_than_a_typical_interval_but_for_shares_of_yes_or_no_questions():
    text = " ".join((BOOK / "choose.md").read_text(encoding="utf-8").split())
    assert "mostly asks for more (for shares of yes-or-no questions alone, by the mechanism named, for as many)" in text
    for k, epsilon in (((2,), 1.0), ((2,) * 3, 0.5), ((2,) * 8, 2.0), ((3,), 1.0), ((2, 4), 1.0)):
        for sampling in (False, True):
            found = recommend(k=k, epsilon=epsilon, n=10_000, sampling=sampling)
            need = planner.required_users(found.mechanism, found.margin() / 100, sampling=sampling)
            assert (need > 10_010) == (max(k) > 2), (k, sampling)  # as many but for rounding to whole people
    other = OUE(k=2, epsilon=4.0)  # not named for yes or no
    typical = planner.half_width(0.95) * math.sqrt(total_error(other, Population.from_counts([5_000] * 2)) / 2)
    assert planner.required_users(other, typical) > 1.8 * 10_000


def test_other_weights_can_need_fewer_people_in_the_worst_case_than_those_with_the_least_total_variance():
    text, said = " ".join((BOOK / "choose.md").read_text(encoding="utf-8").split()), []
    for k in ((2, 1_000), (9, 16, 7, 15, 6, 5, 2, 2)):
        alone = [planner.required_users(SubsetSelection(k=size, epsilon=1.0), 0.01, sampling=True) for size in k]
        ways = [OneQuestion(k=k, epsilon=1.0, weights=weights) for weights in (alone, None)]
        need = [planner.required_users(one, 0.01) for one in ways]
        assert ways[0].uniform_variance(10**6) > ways[1].uniform_variance(10**6)  # in total those named have less
        said.append("{:,} instead of {:,}".format(*need))
    assert f"for 2 and 1,000 answers at ε = 1 {said[0]}, for Adult's questions {said[1]}, by" in text
    fewest = []  # with the best sizes of each question alone
    for k, tried in (((2, 1_000), range(373, 381)), ((9, 16, 7, 15, 6, 5, 2, 2), range(1, 8))):
        alone = [
            min(
                (planner.required_users(SubsetSelection(k=answers, epsilon=1.0, size=size), 0.01, sampling=True), size)
                for size in (1, *tried)
                if size < answers
            )
            for answers in k
        ]
        weights, sizes = zip(*alone, strict=True)
        fewest.append(planner.required_users(AskSome(k=k, epsilon=1.0, m=1, sizes=sizes, weights=weights), 0.01))
    assert "by `AskSome` with `m=1`, {:,} and {:,} suffice".format(*fewest) in text


def test_where_not_all_numbers_of_questions_are_tried_two_fixed_halves_have_far_less_error():
    """Each share of 20 yes-or-no questions at 10, n times its variance; four a person, as `recommend` names."""
    text = " ".join((BOOK / "choose.md").read_text(encoding="utf-8").split())
    tried = [m for m in range(1, 21) if math.comb(20, m) <= design.MOST_QUESTIONS]
    assert tried == [1, 2, 3, 4, 16, 17, 18, 19, 20]
    assert "of 20 at most four a person or at least 16" in text
    keep = {m: subset.keep_probability(math.exp(10), 2.0**-m) for m in (*tried, 10)}
    each = {m: 20 / (4 * m * kept**2) - 1 / 4 for m, kept in keep.items()}
    assert min(tried, key=each.get) == 4
    four = AskSome(k=(2,) * 20, epsilon=10.0, m=4, sizes=(1,) * 20, weights=[1] * math.comb(20, 4))
    both = design.attribute_errors(four.k, four.sizes_, 4, four.keep, four.weights_)  # shares of each, people drawn
    assert both == pytest.approx(2 * each[4] + 1 / 2)
    people = Population.from_records(np.repeat([[0] * 10, [1] * 10], 500, axis=0), k=(2,) * 10)
    halves = 2 * people.n * RRJoint(k=people.k, epsilon=10.0).variance(people)[0][0] + 1 / 4  # and who is in the half
    assert halves == pytest.approx(each[10])
    assert f"have {each[10] / each[4]:.2f} times that variance, and for 200" in text
    one = recommend(k=(2,) * 200, epsilon=4.0, n=people.n)
    assert isinstance(one.mechanism, OneQuestion)
    people = Population.from_records(np.repeat([[0] * 4, [1] * 4], 500, axis=0), k=(2,) * 4)
    blocks = 50 * people.n * RRJoint(k=people.k, epsilon=4.0).variance(people)[0][0] + 49 / 4
    assert f"with four each {blocks / (people.n * one.error / 400):.2f} times. Of more" in text


def _numbered_pairs(k, epsilon):
    """Return n times the error of all tables if each person's pair is numbered and a set reported, data held fixed."""
    cells = [a * b for a, b in itertools.combinations(k, 2)]
    one = OneQuestion(k=cells, epsilon=epsilon)  # which question is asked is which pair
    return one.uniform_variance(10**9) * 10**9


def test_a_pair_whose_cells_are_numbered_has_less_error_where_questions_have_many_answers():
    text, adult = " ".join((BOOK / "choose.md").read_text(encoding="utf-8").split()), (9, 16, 7, 15, 6, 5, 2, 2)
    assert f"At ε = 1 that has {100 * math.sqrt(_numbered_pairs((4,) * 4, 1.0) / 96 / 10_000):.2f} points" in text
    over = [
        recommend(k=k, epsilon=1.0, n=1, wants="tables").error / _numbered_pairs(k, 1.0)
        for k in (adult, (20,) * 8, (2,) * 8)
    ]
    said = "{:.2f} times its variance on Adult's eight questions, {:.2f} times on eight with twenty answers, and {:.2f}"
    assert said.format(*over) in text
    best = []
    for k in (adult, (20,) * 8, (2,) * 8):
        cells, total = np.array([a * b for a, b in itertools.combinations(k, 2)]), _averaged(k, 1.0)
        found = minimize(lambda z, total=total: math.log(total(softmax(z))), np.log(cells))
        best.append(recommend(k=k, epsilon=1.0, n=1, wants="tables").error / (math.exp(found.fun) - sum(1 - 1 / cells)))
    assert "with averages {:.2f}, {:.2f} and {:.2f} times, at the shares of the pairs".format(*best) in text
    assert _numbered_pairs((6, 5, 2), 1.0) < planner.pairs_error(ask_pairs((6, 5, 2), 1.0), 1)  # `which_mechanism`
    limits = []  # over the proved bound, each table from its own reports alone
    for k, epsilon in (((10,) * 4, 1.0), (adult, 0.1), (adult, 1.0), (adult[4:], 1.0)):
        drawn = sum(1 - 1 / (a * b) for a, b in itertools.combinations(k, 2))
        limits.append((_numbered_pairs(k, epsilon) + drawn) / (simple_pair_error(k=k, epsilon=epsilon) + drawn))
    assert np.round(limits, 2).tolist() == [1.17, 1.48, 1.48, 1.57]
    e, law = math.e, np.full((4, 4), 100)
    people = Population.from_counts(law)
    oracle = SubsetSelection(k=16, epsilon=1.0)  # of one pair, simulated
    rng, x = np.random.default_rng(3), people.users() @ [4, 1]
    off = np.array([((oracle.estimate(oracle.perturb(x, rng=rng)) - 1 / 16) ** 2).sum() for _ in range(300)])
    stated = _numbered_pairs((4, 4), 1.0) / people.n
    assert stated == pytest.approx((subset.error(e, 16, subset.optimal_size(e, 16)) - 15 / 16) / people.n)
    assert check.mean_z(off, stated) < 5 < check.mean_z(off, planner.pairs_error(ask_pairs((4, 4), 1.0), people.n))


def _averaged(k, epsilon, size=None):
    """Return n times the error of all tables, a function of the pairs' shares, if a report is a set of a pair's cells.

    It informs about all directions of its table alike; a marginal is the best average of those from all its pairs.
    """
    pairs, told, t = list(itertools.combinations(range(len(k)), 2)), [], math.expm1(epsilon)
    for j, i in pairs:
        part = np.arange(1, k[j] * k[i]) / (k[j] * k[i])
        every = part * (1 - part) * (t / (1 + t * part)) ** 2
        told.append((every.max() if size is None else every[size - 1]) / len(part))
    held = np.array([[set(space) <= set(pair) for pair in pairs] for space, _ in spaces(k)])
    each = [float(square) / math.prod(k[j] - 1 for j in space) for space, square in spaces(k)]
    return lambda shares: each @ (1 / (held @ (told * np.asarray(shares))))


def test_one_set_of_a_pairs_cells_is_near_the_bound_if_marginals_are_averaged():
    """The table of `pair_tables`; with one cell a set the report is `AskSome`'s, with two attributes the bound's."""
    cells = json.loads((BOOK.parent / "notebooks" / "pair_tables.ipynb").read_text(encoding="utf-8"))["cells"]
    text, adult = "".join("".join(cell["source"]) for cell in cells), (9, 16, 7, 15, 6, 5, 2, 2)
    weights = np.arange(1, 7) / 21
    single = pair_error(adult[4:], 1.0, (1,) * 4, 2, weights)
    assert _averaged(adult[4:], 1.0, 1)(weights) == pytest.approx(single, rel=1e-12)
    assert _averaged((4, 4), math.log(3))([1]) == pytest.approx(3 * (15 / 4) ** 2, rel=1e-12)
    equal = []  # shares: the table is for the best ones
    for name, k, epsilon in (
        ("four of Adult's attributes", adult[4:], 1.0),
        ("all eight of Adult's", adult, 1.0),
        ("all eight of Adult's", adult, 0.1),
        ("four attributes with ten values", (10,) * 4, 1.0),
    ):
        asks, bound, total = ask_pairs(k, epsilon), simple_pair_error(k=k, epsilon=epsilon), _averaged(k, epsilon)
        drawn = sum(1 - 1 / (a * b) for a, b in itertools.combinations(k, 2))  # `bound` holds the data fixed
        start = np.log([a * b for a, b in itertools.combinations(k, 2)])
        found = minimize(lambda z, total=total: math.log(total(softmax(z))), start)
        over = np.array([pair_error(k, epsilon, asks.sizes_, 2, asks.weights_), math.exp(found.fun)]) / (bound + drawn)
        assert "| {} | {:g} | {:.2f} | {:.2f} |".format(name, epsilon, *over) in text
        equal.append(total(np.full(len(start), 1 / len(start))) / (bound + drawn))
    assert "at the best shares (at equal ones {:.2f}, {:.2f}, {:.2f} and {:.2f})".format(*equal) in text


def test_for_which_questions_pairs_have_at_most_twice_the_least_error():
    """The answer of `pair_tables` is for all of Adult's questions and for four named ones, not for any four."""
    cells = json.loads((BOOK.parent / "notebooks" / "pair_tables.ipynb").read_text(encoding="utf-8"))["cells"]
    named = "all eight of Adult's questions, or relationship, race, sex and income, no unbiased mechanism"
    assert named in "".join(cells[0]["source"])
    over = {}
    for k in ((9, 16, 7, 15, 6, 5, 2, 2), (6, 5, 2, 2), (9, 16, 7, 15)):
        asks = ask_pairs(k, 1.0)
        over[k] = pair_error(k, 1.0, asks.sizes_, 2, asks.weights_) / least_pair_error(k, 1.0).attained
    assert [ratio < 2 for ratio in over.values()] == [True, True, False]


def test_what_the_page_names_may_be_above_the_best_known_and_the_best_known_above_the_limit():
    text, many = " ".join((BOOK / "choose.md").read_text(encoding="utf-8").split()), (2,) * 200
    named = recommend(k=many, epsilon=2.0, n=10**6, sampling=True)
    assert isinstance(named.mechanism, OneQuestion)
    assert f"it has {1e6 * named.error / limit.least_error(many, 2.0).attained:.2f} times its variance" in text
    assert math.comb(100, 2) <= design.MOST_QUESTIONS < math.comb(101, 2)
    halves = math.cosh(0.05) ** 2 * simple_pair_error(k=(20,) * 8, epsilon=0.1)  # one part each, half of every row
    saved = 1 - halves / planner.pairs_error(ask_pairs((20,) * 8, 0.1, None), 1)
    assert f"{100 * saved:.0f} % for eight questions with twenty answers" in text
    unlike = re.search(r"not for two questions with (\d+) and (\d+) answers at ε = 8\)", text).groups()
    unlike, better = tuple(map(int, unlike)), []
    for k, epsilon in (((2,) * 7, 1.0), ((4,) * 4, 3.0), ((16,), 1.0), (unlike, 8.0), (unlike, 1.0), ((2,) * 7, 7.0)):
        simple = simple_error(k=k, epsilon=epsilon) + sum(1 - 1 / size for size in k)  # people drawn
        better.append(limit.least_error(k, epsilon).error > simple * (1 + 1e-6))
    assert better == [False, False, False, False, True, True]  # alike and a small budget, a large one, and else


def test_where_most_people_agree_one_question_is_best_up_to_a_larger_epsilon():
    people = Population.from_records(np.repeat([[0] * 8, [1] * 8], [9_700, 300], axis=0), k=(2,) * 8)
    even = Population.from_records(np.repeat([[0] * 8, [1] * 8], [5_000, 5_000], axis=0), k=(2,) * 8)
    ways = [family(k=(2,) * 8, epsilon=2.0) for family in (OneQuestion, AskSome)]
    assert total_error(ways[0], people) < total_error(ways[1], people)
    assert total_error(ways[0], even) > total_error(ways[1], even)


def test_from_which_epsilon_on_two_questions_together_have_less_error_than_one_turns_on_the_number_of_answers():
    """The page and the card of AskSome: each number is right to half a hundredth."""
    pages = ((BOOK / name).read_text(encoding="utf-8") for name in ("choose.md", "mechanisms.yml"))
    text, card = (" ".join(page.split()) for page in pages)
    said = re.search(r"from ε = ([\d.]+) on, with ten answers each from ([\d.]+) and with a hundred from (\S+),", text)
    assert "(from {} on with two answers each, {} with ten, if answers are spread)".format(*said.groups()) in card
    for k, first in zip((2, 10, 100), map(float, said.groups()), strict=True):
        for epsilon, gains in ((first - 0.005, False), (first + 0.005, True)):
            ways = [AskSome(k=(k,) * 3, epsilon=epsilon, m=m) for m in (1, 2, 3)]
            one, *more = (design.attribute_errors(a.k, a.sizes_, a.m, a.keep, a.weights_).sum() for a in ways)
            assert (min(more) < one) == gains


def test_sets_of_numbered_records_have_less_error_than_the_record_itself():
    """By symmetry a set's variance of any cells is that of one number times one factor; enumerated for 8 records."""
    e, text = math.e, " ".join((BOOK / "choose.md").read_text(encoding="utf-8").split())
    factor = {}
    for size in (8, 256):
        best, one = (subset.error(e, size, s) - 1 + 1 / size for s in (subset.optimal_size(e, size), 1))
        factor[size] = best / one
    records = list(itertools.product(range(2), repeat=3))
    cells = [
        [all(r[j] == v for j, v in zip(pair, values, strict=True)) for r in records]
        for pair in itertools.combinations(range(3), 2)
        for values in itertools.product(range(2), repeat=2)
    ]
    p, q = subset.probabilities(e, 8, 2)
    sets = [[x in named for x in range(8)] for named in itertools.combinations(range(8), 2)]
    told = (np.array(sets) - q) / (p - q) @ np.array(cells).T  # one row a report, one column a cell
    law = subset.channel(e, 8, 2).astype(float)
    total = (law @ told**2 - (law @ told) ** 2).sum(axis=1)
    joint = planner.pairs_error(chosen().WHOLE.mechanism, 1)
    assert total == pytest.approx(np.full(8, factor[8] * joint))
    points = chosen().WHOLE.points
    assert f"1 a cell's error is {points * math.sqrt(factor[8]):.2f} instead of {points:.2f}, with" in text
    assert "with 256 a fifth" in text
    over = []  # of pairs, by sets: the record's own error times the factor
    for k in ((6, 5, 2), (2,) * 8):
        size = math.prod(k)
        best, one = (subset.error(e, size, s) - 1 + 1 / size for s in (subset.optimal_size(e, size), 1))
        alone = planner.pairs_error(RRJoint(k=k, epsilon=1.0), 1)
        over.append(alone * best / one / planner.pairs_error(ask_pairs(k, 1.0), 1))
    assert f"{over[0]:.2f} times its variance for questions with 6, 5 and 2 answers, and {over[1]:.1f} times" in text
    two = [_numbered_pairs((s, s), 1.0) for s in (4, 2)]  # with two questions a pair is a record
    least = [limit.least_error(cells, 1.0).error - 1 + 1 / cells for cells in (16, 4)]
    assert two == pytest.approx(least)
    some = [
        [planner.pairs_error(AskSome(k=(s, s), epsilon=1.0, m=2, sizes=sizes), 1), sizes]
        for s in (4, 2)
        for sizes in itertools.product(range(1, s), repeat=2)
    ]
    (four, sizes), (same, _) = min(some[:9]), some[9]
    assert (sizes, round(two[0] / four, 2), round(two[1] / same, 2)) == ((2, 2), 0.75, 1)
    assert round(math.sqrt(factor[256]), 1) == 0.2


def test_signs_save_less_of_fewer_people():
    saved = {}
    for n in (100, 1_000, 10_000):
        p, rho = calibration.signed_parameters(epsilon=1.0, delta=1e-8, n=n)
        saved[n] = 1 - p * (1 - p) * (1 + rho) / (2 * p - 1) ** 2 / calibration.plain_variance(1.0, 1e-8)
    assert [round(20 * saved[n]) for n in (100, 1_000, 10_000)] == [0, 5, 7]
    text = (BOOK / "choose.md").read_text(encoding="utf-8")
    assert "of 1,000 a quarter of the variance instead of a third, of 100 nothing." in text


def test_signs_save_less_where_reports_are_lost():
    """Two reports under signs have the covariance -s^2 / (n-1), whoever else answers, or is of the subgroup."""

    def part(p, rho, n, came):
        return p * (1 - p) * (1 + rho * (came - 1) / (n - 1)) / (2 * p - 1) ** 2

    mechanism, rng, x = SignedRR(p=0.7, rho=-0.4), np.random.default_rng(1), np.arange(20) % 2
    runs = np.array([mechanism.perturb(x, rng=rng) for _ in range(20_000)])
    one, other = runs.reshape(-1, 2, 10).mean(axis=2).T / 0.4
    check.close(one, variance=part(0.7, -0.4, 20, 10) / 10, foil=part(0.7, -0.4, 10, 10) / 10)
    apart = 2 * part(0.7, 0.4, 20, 2) / 10  # the sum cancels, so the difference of halves has the covariance more
    check.close(one - other, variance=apart, foil=2 * part(0.7, -0.4, 10, 10) / 10)

    def saved(epsilon, share):
        p, rho = calibration.signed_parameters(epsilon=epsilon, delta=1e-8, n=10_000)
        return 1 - part(p, rho, 10_000, 10_000 * share) / calibration.plain_variance(epsilon, 1e-8)

    assert [round(8 * saved(1.0, 0.5)), round(saved(1.0, 0.2), 2)] == [1, 0.01]
    text = (BOOK / "choose.md").read_text(encoding="utf-8")
    assert f"(at ε = 0.1 {saved(0.1, 0.5):.0%} instead of {saved(0.1, 1):.0%})".replace("%", " %") in text
    assert "if one in five does, next to nothing" in text
    assert round(-saved(0.1, 0.2), 2) == 0.26  # "they cost a quarter"
    p, rho = calibration.signed_parameters(epsilon=0.1, delta=1e-8, n=10_000)
    each = part(*calibration.signed_parameters(epsilon=0.1, delta=1e-8, n=5_000), 5_000, 5_000)
    own, mixed = np.array([each, part(p, -rho, 10_000, 2)]) / calibration.plain_variance(0.1, 1e-8)
    assert f"their difference then has {own:.2f} times `RR`'s variance, else {mixed:.2f} times." in text
    assert "ask five times as many (with a dealer's signs that is not enough)" in text


def test_the_table_under_the_planner_is_computed():
    found = rows("Some surveys, worked out")
    assert len(found) == 9
    for text, *cells in found:
        d, size = re.fullmatch(r"(?:(\d+) times )?(.+)", text).groups()
        k = tuple(map(int, size.split(", "))) * int(d or 1)
        for epsilon, cell in zip((0.5, 1.0, 2.0, 4.0), cells, strict=True):
            best = recommend(k=k if len(k) > 1 else k[0], epsilon=epsilon, n=10_000)
            assert cell == f"{type(best.mechanism).__name__} {best.points:.2f}"


def test_pairs_error_is_the_exact_variance_at_an_even_table():
    for k in ((2, 3), (4, 4, 4)):
        cells = math.prod(k)
        people = Population.from_counts(np.full(k, 50))
        mechanism = ask_pairs(k, 1.5)
        stated = planner.pairs_error(mechanism, 50 * cells)
        off = squared_errors(mechanism, people, runs=200)
        assert check.mean_z(off, stated) < 5 < check.mean_z(off, 1.5 * stated)


def test_the_rules_without_an_epsilon_are_those_of_the_examples_as_the_page_says():
    for k, epsilon, best in ((4, 0.5, SubsetSelection), (3, 0.5, grr.GRR), (5, 1.0, grr.GRR), ((2,) * 8, 1.4, AskSome)):
        assert isinstance(planner.recommend(k=k, epsilon=epsilon, n=10_000).mechanism, best), (k, epsilon)
    text = " ".join((BOOK / "choose.md").read_text(encoding="utf-8").split())
    ends = {k: math.log((k - 1) * (k - 2) / 2) / 2 for k in (5, 4)}  # where sets of one and of two values are level
    assert "from five answers on below ε = {:.2f} and from four below {:.2f}".format(*ends.values()) in text
    for k, end in ends.items():
        for epsilon, best in ((end - 0.01, SubsetSelection), (end + 0.01, grr.GRR)):
            assert isinstance(planner.recommend(k=k, epsilon=epsilon, n=10_000).mechanism, best), (k, epsilon)
    eight = (2,) * 8
    assert isinstance(planner.recommend(k=eight, epsilon=1.3, n=10_000).mechanism, OneQuestion)


def test_for_tables_two_questions_are_best_at_small_epsilon_and_more_at_large_ones():
    eight = (2,) * 8
    for epsilon, best in ((1.0, 2), (2.0, 3), (4.0, 4)):
        errors = {
            m: pairs_error(AskSome(k=eight, epsilon=epsilon, m=m, weights=[1] * math.comb(8, m)), 10_000)
            for m in range(2, 9)
        }
        found = planner.recommend(k=eight, epsilon=epsilon, n=10_000, wants="tables")
        assert min(errors, key=errors.get) == found.mechanism.m == best
        assert found.error == pytest.approx(errors[best], rel=1e-9)
    assert 3 < errors[2] / errors[4] < 3.5
    assert chosen().PAIR.mechanism.m_ == 3  # the figure gave its error for "a pair each"
    figure = (BOOK / "_static" / "diagrams" / "choose.svg").read_text(encoding="utf-8")
    assert "a pair each" not in figure
    assert figure.index("two or more each") < figure.index(f"{chosen().PAIR.points:.2f}")
    assert [ask_pairs((9, 16, 7, 15, 6, 5, 2, 2), epsilon, None).m for epsilon in (0.1, 1.0)] == [3, 2]


def test_where_the_planner_does_not_search_others_have_less_error_of_tables():
    three = [
        planner.recommend(k=(3, 3), epsilon=epsilon, n=1, wants="tables").error
        / pairs_error(AskSome(k=(3, 3), epsilon=epsilon, m=2, sizes=(2, 2)), 1)
        for epsilon in (0.1, 0.5)
    ]
    assert [round(over, 2) for over in three] == [1.49, 1.11]
    named = planner.recommend(k=(2,) * 13, epsilon=4.0, n=1, wants="tables")
    four = AskSome(k=(2,) * 13, epsilon=4.0, m=4, weights=[1] * math.comb(13, 4))
    assert (named.mechanism.m_, round(pairs_error(four, 1) / named.error, 2)) == (2, 0.29)

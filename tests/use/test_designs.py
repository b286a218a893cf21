"""Classical designs are exact channels; records of several unrelated questions are enumerated in fractions."""

import functools
import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest
import sympy as sp

from ldp_lib import channel, check, designs

DESIGNS = {
    "warner": designs.warner(F(3, 4)),
    "unrelated": designs.unrelated_question(F(1, 2), F(1, 12)),
    "forced": designs.forced_response(F(1, 6), F(1, 5)),
    "kuk": designs.kuk(F(4, 5), F(1, 3)),
    "crosswise": designs.crosswise(F(2, 3)),
}
LAWS = {
    "independent": designs.joint_law(list(itertools.product([0, 1], [0, 0, 1], [0, 1, 1, 1]))),
    "exclusive": designs.joint_law([(0, 0, 0), (0, 0, 1), (1, 0, 0), (0, 1, 1), (0, 0, 1)]),
    "shuffled": designs.joint_law([*itertools.product([0, 1], repeat=3), (1, 1, 0), (1, 0, 1)]),
}


def brute(p, law, x, y, cards):
    """Go through all cards and all innocuous answers."""
    total, d = 0, len(x)
    asked = itertools.product([0, 1], repeat=d) if cards == "each" else [(0,) * d, (1,) * d]
    for own in asked:
        odds = np.broadcast_to(p, d)
        weight = math.prod(odds[j] if w else 1 - odds[j] for j, w in enumerate(own if cards == "each" else own[:1]))
        for answer in itertools.product([0, 1], repeat=d):
            if all((x[j] if own[j] else answer[j]) == y[j] for j in range(d)):
                total += weight * law[answer]
    return total


def test_each_design_asks_as_its_source_says():
    a = F(1, 12)
    # A card for the sensitive question, else whether one was born in July.
    assert DESIGNS["unrelated"].tolist() == [[F(23, 24), F(1, 24)], [F(11, 24), F(13, 24)]]
    assert designs.report_ratios(DESIGNS["unrelated"]) == ((2 - a) / (1 - a), (1 + a) / a)
    assert DESIGNS["forced"].tolist() == [[F(5, 6), F(1, 6)], [F(1, 5), F(4, 5)]]
    assert DESIGNS["crosswise"].tolist() == designs.warner(F(2, 3)).tolist()
    assert designs.report_ratios(designs.mangat(F(5, 6))) == (math.inf, 6)
    assert designs.report_ratios(designs.mangat(F(0))) == (1, 1)
    for matrix in DESIGNS.values():
        assert max(designs.report_ratios(matrix)) == channel.privacy_ratio(matrix)


@pytest.mark.parametrize("name", DESIGNS)
def test_weights_are_unbiased_and_the_variance_is_that_of_every_outcome(name):
    matrix, n = DESIGNS[name], 3
    low, high = designs.report_weights(matrix)
    assert (matrix @ [low, high]).tolist() == [0, 1]
    # All samples of three out of a population of five, two of whom hold; then users drawn independently.
    moments = []
    for held in itertools.combinations([1, 1, 0, 0, 0], n):
        law = channel.exact_law(matrix, held, lambda y: (sum((low, high)[r] for r in y) / F(n),))
        moments.append([sum(q * v[0] ** t for v, q in law.items()) for t in (1, 2)])
    mean, square = [sum(m[t] for m in moments) / len(moments) for t in (0, 1)]
    assert mean == F(2, 5)
    assert designs.variance(matrix, F(2, 5), n, population=5) == square - mean**2
    one = matrix[1, 1] * F(2, 5) + matrix[0, 1] * F(3, 5)
    assert designs.variance(matrix, F(2, 5), n) == one * (1 - one) / n / (matrix[1, 1] - matrix[0, 1]) ** 2


@pytest.mark.parametrize("name", DESIGNS)
def test_no_design_beats_warner_s_at_its_own_ratio(name):
    matrix = DESIGNS[name]
    e = channel.privacy_ratio(matrix)
    best = designs.warner(e / (1 + e))
    after = designs.garbling(matrix, e)
    assert (best @ after).tolist() == matrix.tolist()
    assert after.min() >= 0
    less = designs.garbling(matrix, e - F(1, 100))
    assert less.min() < 0
    for share in (F(0), F(1, 10), F(1, 2), F(1)):
        assert designs.variance(best, share, 1) <= designs.variance(matrix, share, 1)


@pytest.mark.parametrize("e", [F(3, 2), F(3), F(13)])
def test_what_follows_warner_s_design_is_a_channel_exactly_if_the_ratio_allows(e):
    fits = {True: 0, False: 0}  # by whether holders say yes more often than others
    for a, b in itertools.product([F(i, 12) for i in range(13)], repeat=2):
        after = designs.garbling([[1 - b, b], [1 - a, a]], e)
        allowed = a <= e * b and b <= e * a and 1 - a <= e * (1 - b) and 1 - b <= e * (1 - a)
        assert (after.min() >= 0 and after.max() <= 1) == allowed
        fits[a > b] += allowed and a != b
    assert fits[True] == fits[False] > 0


@pytest.mark.parametrize("share", [F(0), F(1, 10), F(1, 2), F(9, 10)])
@pytest.mark.parametrize("e", [F(3, 2), F(3), F(13)])
def test_a_design_that_protects_only_a_yes_needs_fewer_people_than_warner_s(e, share):
    only_yes, both = designs.mangat(1 - 1 / e), designs.warner(e / (1 + e))
    assert designs.report_ratios(only_yes) == (math.inf, e)
    assert designs.variance(only_yes, share, 1) < designs.variance(both, share, 1)


@pytest.mark.parametrize("alpha", [F(1, 12), F(1, 2), F(2, 3)])
def test_the_best_card_uses_the_whole_budget(alpha):
    p = designs.unrelated_probability(F(3), alpha)
    assert channel.privacy_ratio(designs.unrelated_question(p, alpha)) == 3
    assert channel.privacy_ratio(designs.unrelated_question(p + F(1, 100), alpha)) > 3


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("p", [F(1, 2), F(1, 3)])
def test_the_record_s_channel_is_every_card_and_every_innocuous_answer(law, p):
    records = list(itertools.product([0, 1], repeat=3))
    found = {"each": designs.record_channel(p, LAWS[law]), "one": designs.one_card_channel(p, LAWS[law])}
    for cards, matrix in found.items():
        assert matrix.tolist() == [[brute(p, LAWS[law], x, y, cards) for y in records] for x in records]


@pytest.mark.parametrize("law", LAWS)
def test_each_card_may_have_a_probability_of_its_own(law):
    p, records = (F(1, 2), F(1, 3), F(4, 5)), list(itertools.product([0, 1], repeat=3))
    matrix = designs.record_channel(p, LAWS[law])
    assert matrix.tolist() == [[brute(p, LAWS[law], x, y, "each") for y in records] for x in records]
    assert matrix.tolist() != designs.record_channel(p[::-1], LAWS[law]).tolist()
    with pytest.raises(ValueError, match="broadcast"):
        designs.record_channel(p[:2], LAWS[law])


@pytest.mark.parametrize("law", LAWS)
def test_the_record_s_ratio_is_infinite_if_and_only_if_an_answer_pattern_is_impossible(law):
    matrix, p = designs.record_channel(F(1, 2), LAWS[law]), F(1, 2)
    flat = LAWS[law].ravel()
    for y, chance in enumerate(flat):
        assert min(matrix[:, y]) == matrix[7 - y, y] == (1 - p) ** 3 * chance
        assert max(matrix[:, y]) == matrix[y, y]
    assert (channel.privacy_ratio(matrix) == math.inf) == (min(flat) == 0)
    each = [channel.privacy_ratio(designs.unrelated_question(p, LAWS[law].take(1, axis=j).sum())) for j in range(3)]
    assert (channel.privacy_ratio(matrix) == math.prod(each)) == (law == "independent")


def test_the_lie_detector_returns_what_was_put_in():
    holders, honest, p = F(2, 5), F(3, 4), (F(1, 6), F(5, 6))
    yes = [holders * honest + (1 - holders) * designs.mangat(one)[0, 1] for one in p]
    assert designs.lie_detector(yes, p) == (holders, honest)


def test_symbols_pass():
    p, alpha, e = sp.symbols("p alpha e", positive=True)
    matrix = designs.unrelated_question(p, alpha)
    r = e / (1 + e)
    assert check.same(designs.warner(r) @ designs.garbling(matrix, e), matrix)
    assert matrix[1, 1] - matrix[0, 1] == p


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: designs.warner(1.2), "p must be a probability, from 0 to 1; got 1.2"),
        (lambda: designs.unrelated_question(0.5, -0.1), "alpha must be a probability, from 0 to 1; got -0.1"),
        (lambda: designs.forced_response(np.nan, 0.1), "yes must be a probability, from 0 to 1; got nan"),
        (lambda: designs.forced_response(0.75, 0.5), r"yes \+ no must be a probability, from 0 to 1; got 1.25"),
        (lambda: designs.record_channel(1.5, LAWS["exclusive"]), "p must be a probability, from 0 to 1; got .*1.5"),
        (lambda: designs.record_channel([F(1, 2), F(-1, 9)], np.full((2, 2), F(1, 4))), "p must be a probability"),
        (lambda: designs.one_card_channel(-0.01, [0.5, 0.5]), "p must be a probability, from 0 to 1; got -0.01"),
        (lambda: designs.record_channel(0.5, [[3, 1], [2, 2]]), "rows of probabilities that sum to 1; .* sum 8"),
        (lambda: designs.one_card_channel(0.5, [1.2, -0.2]), "rows of probabilities that sum to 1; got"),
    ],
)
def test_what_is_no_probability_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_students_for_a_standard_error_of_one_point():
    """The last exercise of chapter real_survey: the question about drugs, drawn of 10,777, and Warner's design."""
    asked = designs.unrelated_question(F(1, 2), F(10, 30))
    ratio = channel.privacy_ratio(asked)
    assert ratio == 4
    for card, people, per_cent, sampled in (asked, 6_438, 60, 7), (designs.warner(ratio / (1 + ratio)), 5_043, 47, 12):
        found = [float(designs.variance(card, F(129, 1000), n, population=10_777)) for n in (people - 1, people)]
        assert found[1] <= 1e-4 < found[0]
        assert round(100 * people / 10_777) == per_cent
        assert round(100 * 0.129 * 0.871 / people * (10_777 - people) / 10_776 / found[1]) == sampled


def test_what_reports_tell_of_types_is_about_people_who_are_drawn():
    """Chapter noncompliance: held fixed, people let designs go below the least deviation, and reports tell more."""
    p, q, people = F(3, 4), F(1, 4), "ttnn"  # two who tell, two non-holders, e = 3
    says = {"t": (p, q), "n": (q, p)}  # in the group of randomized response, and of its reverse
    weights = (-q / (p - q), p / (p - q))
    mean, square = 0, 0
    for alone in range(4):  # groups of one and three, in the ratio of the two terms
        groups = [int(j != alone) for j in range(4)]
        terms = [(says[who][g], weights[g] / (1, 3)[g]) for who, g in zip(people, groups, strict=True)]
        middle = sum(one * w for one, w in terms)
        mean += middle / 4
        square += (middle**2 + sum(one * (1 - one) * w**2 for one, w in terms)) / 4
    drawn = ((q + p) * F(1, 2) / (p - q)) ** 2 / len(people)  # both groups' reports are 1 with probability 1/2
    assert (mean, square - mean**2, drawn) == (F(1, 2), F(3, 16), F(1, 4))

    def ones(always, never, coin):  # law of the number of ones in one group, everybody in it
        return functools.reduce(np.convolve, [[0, 1]] * always + [[1, 0]] * never + [[0.5, 0.5]] * coin)

    laws = ones(2, 2, 2), ones(1, 1, 4)  # the same M w, three ones on average
    assert [law @ range(7) for law in laws] == [3, 3]
    assert [law[3] for law in laws] == [1 / 2, 3 / 8]

"""The same question in every round: exact losses by enumeration of all answers and reports, errors by simulation."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from ldp_lib import _sampling, check, repeated

E = Fraction(3)


def worst_now(e, change, rounds, first=(1, 1)):
    """Enumerate all answers and reports: the likelihood ratio of the last round's answer; `first` are prior odds."""
    worst = 0
    for reports in itertools.product((0, 1), repeat=rounds):
        likelihood, prior = [0, 0], [0, 0]
        for answers in itertools.product((0, 1), repeat=rounds):
            moves = sum(a != b for a, b in itertools.pairwise(answers))
            lies = sum(a != b for a, b in zip(answers, reports, strict=True))
            path = first[answers[0]] * change**moves * (1 - change) ** (rounds - 1 - moves)
            prior[answers[-1]] += path
            likelihood[answers[-1]] += path * (e / (e + 1)) ** (rounds - lies) * (1 / (e + 1)) ** lies
        no, yes = likelihood[0] / prior[0], likelihood[1] / prior[1]
        worst = max(worst, no / yes, yes / no)
    return worst


@pytest.mark.parametrize("change", [Fraction(1, 100), Fraction(1, 10), Fraction(2, 5)])
def test_a_first_answer_that_is_not_uniform_can_reveal_more_up_to_a_bound(change):
    found = {}
    for rounds, rare in itertools.product((1, 2, 3, 5), (1, 2, 5, 20)):
        found[rounds, rare] = worst_now(Fraction(4), change, rounds, first=(rare, 1))
        assert found[rounds, rare] <= repeated.ratio_now(Fraction(2), change, rounds) ** 2
    assert found[2, 2] == repeated.ratio_now(Fraction(2), change, 2) ** 2 > found[2, 1]


@pytest.mark.parametrize("change", [Fraction(0), Fraction(1, 10), Fraction(2, 5), Fraction(1, 2)])
def test_the_loss_about_the_last_answer_is_enumerated(change):
    for rounds in (1, 2, 3, 5):
        assert repeated.ratio_now(E, change, rounds) == worst_now(E, change, rounds)
    limit = repeated.ratio_ever(3.0, float(change))
    if change:
        assert float(repeated.ratio_now(E, change, 60)) == pytest.approx(limit, rel=1e-6)
    else:
        assert limit == math.inf


def worst_two_stage(memo, fresh, rounds):
    """Enumerate all reports of a memoized answer that is randomized again in each round."""
    right, worst = memo / (memo + 1), 0
    for reports in itertools.product((0, 1), repeat=rounds):
        yes = sum(reports)
        told = fresh**yes, fresh ** (rounds - yes)  # both over (fresh + 1)**rounds
        ones, zeros = (right * told[i] + (1 - right) * told[1 - i] for i in (0, 1))
        worst = max(worst, ones / zeros, zeros / ones)
    return worst


def test_the_loss_of_two_stages_is_enumerated():
    for rounds in (1, 2, 5):
        found = repeated.two_stage_ratio(E, Fraction(3, 2), rounds)
        assert found == worst_two_stage(E, Fraction(3, 2), rounds) < E
    fresh = repeated.round_ratio(3.0, 2.0, 5)
    assert repeated.two_stage_ratio(3.0, fresh, 5) == pytest.approx(2)


def test_equal_reports_have_the_two_stage_ratio_exactly_only_if_both_stages_are_symmetric():
    told = Fraction(1, 2), Fraction(3, 4)  # a report's chance of a one, if a zero or a one is kept: a ratio of 2
    for rounds in (1, 2, 5):
        ratios = []
        for ones in range(rounds + 1):
            kept = [v**ones * (1 - v) ** (rounds - ones) for v in told]
            yes, no = ((E * kept[i] + kept[1 - i]) / (E + 1) for i in (1, 0))
            ratios.append(max(yes / no, no / yes))
        bound = repeated.two_stage_ratio(E, Fraction(2), rounds)
        assert max(ratios) == ratios[0] == bound > ratios[rounds]  # all zeros reach it, all ones do not


@pytest.mark.parametrize(("memo", "fresh"), [(3.0, math.inf), (math.inf, 2.0), (4.0, 2.0)])
def test_the_variance_of_the_average_is_simulated(memo, fresh):
    n, rounds, rng = 40, 3, np.random.default_rng(1)
    x = np.repeat((np.arange(n) < 12).astype(np.uint8)[:, None], rounds, axis=1)
    m, s = (1 if e == math.inf else repeated.slope(e) for e in (memo, fresh))
    means = [repeated.two_stage_reports(x, memo, fresh, rng=rng).mean() for _ in range(6_000)]
    shares = (np.array(means) - (1 - m * s) / 2) / (m * s)
    right = repeated.mean_variance(memo, fresh, rounds, n)
    assert check.mean_z(shares, 12 / 40) < 5 < check.mean_z(shares, 13 / 40)
    assert check.variance_z(shares, right) < 5 < check.variance_z(shares, 1.2 * right)


def test_memoized_answers_are_kept_and_one_for_each_value():
    x = np.tile([0, 1, 0, 1, 1], (500, 1))
    y = repeated.two_stage_reports(x, 2.0, math.inf, rng=np.random.default_rng(1))
    assert (y[:, 0] == y[:, 2]).all()
    assert (y[:, 1] == y[:, 3]).all()
    assert (y[:, 0] == y[:, 1]).any()


def test_reports_of_all_rounds_come_from_random_bits_and_exact_probabilities(monkeypatch):
    """A truth has at most the probability of the ratio as given, and a double cannot say 1 - 2**-60."""
    asked, bernoulli = [], _sampling.bernoulli
    monkeypatch.setattr(_sampling, "bernoulli", lambda p, *rest: [asked.append(p), bernoulli(p, *rest)][1])
    monkeypatch.setattr(_sampling, "_words", lambda size, rng: np.full(size, 2**64 - 1, np.uint64))  # the last bits
    y = repeated.two_stage_reports([[0, 1]], 2**60 - 1, math.inf, rng=np.random.default_rng(1))
    assert asked == [1 - Fraction(1, 2**60), 1]
    assert y.tolist() == [[1, 0]]  # both kept answers are lies


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: repeated.round_ratio(3, 4, 2), "total must lie between 1 and memo = 3; got 4"),
        (lambda: repeated.round_ratio(math.inf, 4, 2), "memo must be finite"),
        (lambda: repeated.round_ratio(3, 2, 0), "rounds at least 1; got 0"),
        (lambda: repeated.ratio_now(3, 0.1, 0), "rounds at least 1; got 0"),
        (lambda: repeated.two_stage_reports([[0, 1]], math.nan, 3, rng=np.random.default_rng(1)), "got nan and 3"),
        (
            lambda: repeated.two_stage_reports([[0, 1]], 3, 0.5, rng=np.random.default_rng(1)),
            "at least 1, .* 3 and 0.5",
        ),
        (lambda: repeated.ratio_now(3, 0.6, 2), "change must be from 0 to 1/2; got 0.6"),
        (lambda: repeated.ratio_ever(3, 0.9), "change must be from 0 to 1/2; got 0.9"),  # the formula has 1.8, not 18
        (lambda: repeated.two_stage_reports([[0, 2]], 3, 3, rng=np.random.default_rng(1)), "x must be from 0 to 1"),
    ],
)
def test_bad_input_is_named(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_many_rounds_overflow_nowhere():
    assert repeated.two_stage_ratio(3.0, 2.0, 5_000) == 3.0
    assert repeated.ratio_now(3.0, 0, 5_000) == repeated.ratio_ever(3.0, 0) == math.inf

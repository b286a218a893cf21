"""The JRR paper's protocols, Section 4.5: the rule, what server and partner learn, the permutation, who is missing."""

import itertools
import math
from fractions import Fraction

import numpy as np
import sympy as sp

from ldp_lib import jrr
from ldp_lib.book.claims import claim
from ldp_lib.book.enumeration import pairings, truth_law
from ldp_lib.jrr import protocols

T, S, R = Fraction(3, 5), Fraction(1, 5), Fraction(-1, 6)  # s^2 = -rho p q


def deals(n):
    """All pairings with all signs, each as likely: (partner of each user, signs)."""
    for pairing in pairings(range(n)):
        for flips in itertools.product((1, -1), repeat=n // 2):
            signs, partner = [0] * n, [0] * n
            for (i, j), flip in zip(pairing, flips, strict=True):
                signs[i], signs[j], partner[i], partner[j] = flip, -flip, j, i
            yield partner, signs


def message_law(n):
    """The law of all truths, from signs and the chances p + s and p - s."""
    law, every = {}, list(deals(n))
    for (_, signs), told in itertools.product(every, itertools.product((0, 1), repeat=n)):
        chances = [T + S * r if t else 1 - T - S * r for r, t in zip(signs, told, strict=True)]
        law[told] = law.get(told, 0) + math.prod(chances) / len(every)
    return law


def test_the_rule_always_decides_and_keeps_each_marginal():
    p, s = sp.symbols("p s", real=True)
    coin = dict(zip(protocols.STEPS, protocols.coin(p, s), strict=True))
    told = {sign: sum(w for v, w in coin.items() if v + sign > 0) for sign in (1, -1)}
    run = jrr.ServerProtocol(p=0.6, rho=-0.5).run(np.arange(60) % 2, rng=np.random.default_rng(1))
    claim("jrr/eq-26").holds(
        bool((run["true"] == (run["coin"] + run["sign"] > 0)).all() and 0 < run["true"].mean() < 1),
        all(v + sign != 0 for v in coin for sign in (1, -1)),
        sp.expand(told[1] - p - s) == 0,
        sp.expand(told[-1] - p + s) == 0,
        sp.expand((told[1] + told[-1]) / 2 - p) == 0,
    )
    assert sp.expand(sum(w for v, w in coin.items() if v > 0) - p) == 0  # without a sign: randomized response


def test_six_users_messages_have_the_law_of_the_table():
    assert message_law(6) == truth_law(6, T, R)


def test_the_messages_run_as_described():
    values = np.array([1, 1, 1, 0, 0, 0])
    run = jrr.ServerProtocol(p=0.6, rho=-0.5).run(values, rng=np.random.default_rng(1))
    assert (run["sign"] == -run["sign"][run["partner"]]).all()
    assert (run["true"] == (run["coin"] + run["sign"] > 0)).all()
    assert ((run["y"] == values) == run["true"]).all()


def test_what_server_and_partner_learn():
    runs = [
        jrr.ServerProtocol(p=0.6, rho=-0.5).run(x, rng=np.random.default_rng(2))
        for x in ([0] * 6, [1] * 6, [1, 1, 1, 0, 0, 0])
    ]
    same = {name: all(np.array_equal(runs[0][name], run[name]) for run in runs) for name in ("partner", "sign", "y")}
    weights = list(zip(protocols.STEPS, protocols.coin(T, S), strict=True))
    true = [sum(weight for value, weight in weights if value + sign > 0) for sign in (1, -1)]
    odds = [odd for v in true for odd in (v / (1 - v), (1 - v) / v)]  # all that a report tells who knows the sign
    claim("jrr/sec-4.5.1-s1").holds(
        same["partner"] and same["sign"],
        not same["y"],
        max(odds) == odds[0] == (T + S) / (1 - T - S),
        S**2 == -R * T * (1 - T),
    )
    found = []
    for n in (4, 6):
        mine = [(partner, signs) for partner, signs in deals(n) if signs[0] == 1]
        who = [sum(partner[0] == j for partner, _ in mine) for j in range(1, n)]
        plus = [Fraction(sum(signs[j] == 1 for _, signs in mine), len(mine)) for j in range(1, n)]
        found += [len(set(who)) == 1, all(signs[partner[0]] == -1 for partner, signs in mine)]
        found += [set(plus) == {Fraction(n // 2 - 1, n - 1)}]
    found.append(all(partner[0] == 1 for partner, _ in deals(2)))  # the note: of two users each knows
    claim("jrr/sec-4.5.1-s5").holds(*found)


def test_a_uniform_permutation_pairs_uniformly():
    """Every pairing comes from (n/2)! 2^(n/2) permutations: order its pairs, and the two users in each."""
    found = {}
    for n in (4, 6):
        counts = {}
        for places in itertools.permutations(range(1, n + 1)):
            at = [places.index(i) for i in range(1, n + 1)]
            groups = tuple(sorted(tuple(sorted(at[i : i + 2])) for i in range(0, n, 2)))
            counts[groups] = counts.get(groups, 0) + 1
        found[n] = len(counts), set(counts.values())
    claim("jrr/sec-4.5.2-s1").holds(found == {4: (3, {8}), 6: (15, {48})})


def test_whose_peer_is_missing_answers_by_randomized_response():
    left = {}
    for told, weight in message_law(4).items():
        left[told[:3]] = left.get(told[:3], 0) + weight
    cells, odd = jrr.table(T, R), {}
    for told in left:
        odd[told] = Fraction(0)
        for single in range(3):
            i, j = (u for u in range(3) if u != single)
            odd[told] += (T if told[single] else 1 - T) * cells[2 - told[i] - told[j]] / 3
    coin = zip(protocols.STEPS, protocols.coin(T, S), strict=True)
    newcomer = sum(weight for value, weight in coin if value > 0)  # without a sign
    # The note: a sign, or a lie, that keeps one of two users away changes the other's probability of the truth.
    by_sign = sum(T + S * signs[1] for _, signs in deals(2) if signs[0] == 1)
    by_lie = cells[1] / (1 - T)
    claim("jrr/sec-4.5.2-s5").holds(left == odd, newcomer == T, by_sign == T - S, by_lie == (1 - R) * T != T)


def test_public_signs_bias_the_estimate():
    """With the parity of a public number for a sign, people with one parity lie more often."""
    signs, x = [1, -1, 1, -1], [1, 0, 1, 0]
    chances = [T + S * r if v else 1 - T - S * r for r, v in zip(signs, x, strict=True)]  # of a 1
    estimate = (sum(chances) - 4 * (1 - T)) / (2 * T - 1)
    assert estimate == 6 != sum(x)


def test_what_cannot_be_settled():
    for n in (2, 4, 10, 30):
        grows = [protocols.sign_ratio(T, S, n, shown) for shown in range(n)]
        assert grows[: n // 2 + 1] == sorted(set(grows))
        assert set(grows[n // 2 :]) == {(T + S) / (1 - T - S)}
    claim("jrr/sec-4.5.1-s4").not_checkable(
        "A judgement about practice. What can be said: the loss does not need all others; at worst, if all "
        "shown signs are equal, it grows with every colluder who shows a sign, until half of the users do."
    )
    claim("jrr/sec-4.5.2-s4").not_checkable(
        "A statement about the cited shuffling protocol. Its abstract states "
        "polylogarithmic communication and work per party, without the exponent; "
        "the JRR paper does not derive its order."
    )


def test_the_four_probabilities_are_a_distribution_up_to_the_least_rho():
    within, outside, as_printed = [], [], []
    for truth in (Fraction(3, 5), Fraction(3, 4), Fraction(9, 10)):
        for move in [(1 - truth) * Fraction(i, 8) for i in range(9)]:  # s from 0 to q
            within.append(list(protocols.coin(truth, move)))
            as_printed.append(within[-1] == [truth - move, move, move, 1 - truth - move])
        outside.append(min(protocols.coin(truth, 1 - truth + Fraction(1, 100))))
    imaginary = sp.sqrt(-sp.Rational(1, 10) * sp.Rational(6, 25))  # rho = 1/10
    p, corr = sp.symbols("p rho")
    claim("jrr/eq-25").holds(
        all(min(v) >= 0 and sum(v) == 1 for v in within),
        all(as_printed),
        max(outside) < 0,
        sp.expand((-corr * p * (1 - p)).subs(corr, 1 - 1 / p) - (1 - p) ** 2) == 0,  # s = q at the least rho
        imaginary.is_real is False,
        tuple(protocols.STEPS) == (1.5, 0.5, -0.5, -1.5),
        S**2 == -R * T * (1 - T) and message_law(4) == truth_law(4, T, R),  # the s that makes Table 2
    )


def test_opposite_signs_in_random_pairs_are_a_uniformly_random_half():
    for n in (4, 6):
        every = [tuple(signs) for _, signs in deals(n)]
        counts = {signs: every.count(signs) for signs in every}
        assert set(map(sum, counts)) == {0}
        assert len(counts) == math.comb(n, n // 2)
        assert len(set(counts.values())) == 1


def test_the_rule_with_its_draws_gives_the_distribution_of_the_table():
    """All signs and all draws of four users, and the rule C + R > 0, at two rho."""
    for move, corr in ((S, R), (Fraction(2, 5), Fraction(-2, 3))):
        law, every = {}, [signs for _, signs in deals(4)]
        weights = dict(zip(protocols.STEPS, protocols.coin(T, move), strict=True))
        for signs, draws in itertools.product(every, itertools.product(weights, repeat=4)):
            told = tuple(int(v + w > 0) for v, w in zip(draws, signs, strict=True))
            law[told] = law.get(told, 0) + math.prod(map(weights.get, draws)) / len(every)
        assert law == truth_law(4, T, corr)


def test_messages_dealt_ahead_do_not_depend_on_values_but_serve_one_report_only():
    ahead = [jrr.ServerProtocol(p=0.6, rho=-0.5).run(x, rng=np.random.default_rng(2)) for x in ([0] * 6, [1] * 6)]
    same = all(np.array_equal(ahead[0][name], ahead[1][name]) for name in ("partner", "sign", "coin"))
    end = 1 - T  # s at the least rho
    truths = ((T + end) ** 2 + (T - end) ** 2) / 2  # two reports with one sign: both true
    lies = ((1 - T - end) ** 2 + (1 - T + end) ** 2) / 2
    mixed = (1 - truths - lies) / 2  # one given truth and one lie
    again, alone = max(truths / lies, lies / truths), T / (1 - T)
    assert (alone, jrr.rho_range(T)[0]) == (Fraction(3, 2), Fraction(-2, 3))
    claim("jrr/sec-4.5.2-s6").conditional(
        same and again == Fraction(13, 8) < alone**2, truths / mixed == Fraction(13, 2) > alone**2 == Fraction(9, 4)
    )

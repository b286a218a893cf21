"""The JRR paper's Appendices B and H, step by step, and the steps of our proofs on colluders."""

import itertools
import math
from fractions import Fraction
from pathlib import Path

import pytest
import sympy as sp

from ldp_lib import jrr
from ldp_lib.book import printed_jrr
from ldp_lib.book.claims import claim
from ldp_lib.book.enumeration import half_law, pairings, truth_law
from ldp_lib.jrr import privacy, protocols

p, rho = sp.symbols("p rho")
q = 1 - p
POINTS = [(Fraction(3, 5), Fraction(-1, 2)), (Fraction(9, 10), Fraction(1, 3)), (Fraction(4, 5), Fraction(-1, 6))]


def zero(expression):
    return sp.expand(sp.cancel(expression)) == 0


def extremes(t, r):
    """Eq. (45), as printed."""
    return max(t + r * (1 - t), (1 - r) * t), min(1 - t + r * t, (1 - r) * (1 - t))


def with_pairing(size, t, r):
    """The chance of each (partner of user 0, truths)."""
    cells, groups, law = jrr.table(t, r), pairings(range(size)), {}
    for group, told in itertools.product(groups, itertools.product((0, 1), repeat=size)):
        partner = next(j for i, j in group if i == 0)
        chance = math.prod(cells[2 - told[i] - told[j]] for i, j in group) / len(groups)
        law[partner, told] = law.get((partner, told), 0) + chance
    return law


def given(law, shown, keep):
    """Pr[user 0 lies, tells the truth | the colluders' coins, the partner is kept]."""
    chances = [0, 0]
    for (partner, told), chance in law.items():
        if keep(partner) and told[1 : len(shown) + 1] == shown:
            chances[told[0]] += chance
    return [chance / sum(chances) for chance in chances]


def given_truths(law, shown):
    """The odds that user 0 tells the truth, given the next users' truths."""
    lie, truth = (sum(v for told, v in law.items() if told[: len(shown) + 1] == (own, *shown)) for own in (0, 1))
    return truth / lie


def test_one_truth_given_the_other():
    both, one, none = jrr.table(p, rho)
    claim("jrr/eq-41").holds(zero(both / p - (p + rho * q)))
    claim("jrr/eq-42").holds(zero(one / p - (1 - rho) * q))
    claim("jrr/eq-43").holds(zero(one / q - (1 - rho) * p))
    claim("jrr/eq-44").holds(zero(none / q - (q + rho * p)))


def test_the_chance_that_the_partner_colludes():
    inside, outside = {}, {}
    for size in (4, 6, 8):
        groups = pairings(range(size))
        partners = [next(j for i, j in group if i == 0) for group in groups]
        for m in range(size):
            inside[size, m] = Fraction(sum(j <= m for j in partners), len(groups))
            outside[size, m] = Fraction(sum(j > m for j in partners), len(groups))
    claim("jrr/eq-35").holds(all(chance == Fraction(n - m - 1, n - 1) for (n, m), chance in outside.items()))
    claim("jrr/eq-36").holds(all(chance == Fraction(m, n - 1) for (n, m), chance in inside.items()))


def test_the_two_cases_of_the_partner():
    outside, inside, partner_colludes = [], [], {}
    for t, r in POINTS:
        cells = jrr.table(t, r)
        after = {1: [cells[1] / t, cells[0] / t], 0: [cells[2] / (1 - t), cells[1] / (1 - t)]}
        for size in (4, 6):
            law = with_pairing(size, t, r)
            for m in range(1, size):
                for shown in itertools.product((0, 1), repeat=m):
                    if m < size - 1:  # otherwise the partner colludes for certain
                        outside.append((t, given(law, shown, lambda j, m=m: j > m)))
                    partner_colludes[t, r, size, shown] = given(law, shown, lambda j, m=m: j <= m)
                    for mate in range(1, m + 1):
                        found = given(law, shown, lambda j, mate=mate: j == mate)
                        inside.append((t, r, found, after[shown[mate - 1]]))
    # The note: at the ends of rho, where a pair has at most one lie, or none or two, truths that leave only colluders.
    forced, counted = [], []
    for size, r in itertools.product((4, 6), (Fraction(-2, 3), Fraction(1))):
        law = with_pairing(size, Fraction(3, 5), r)
        for m in range(size - 1):
            chances = {}
            for (partner, told), chance in law.items():
                chances.setdefault(told[1 : m + 1], [0, 0])[partner <= m] += chance
            forced.append({shown for shown, (others, own) in chances.items() if others == 0 < own})
            lies = (size // 2,) if r < 0 else range(1, m, 2) if m == size - 2 else ()
            counted.append({shown for shown, both in chances.items() if any(both) and shown.count(0) in lies})
    claim("jrr/eq-37").holds(
        all(chances == [1 - t, t] for t, chances in outside),
        forced == counted and [forced[2], forced[5]] == [{(0, 0)}, {(0, 1), (1, 0)}],  # four users, two colluders
        [len(lists) for lists in forced] == [0, 0, 1, 0, 0, 2, 0, 0, 0, 1, 4, 0, 0, 0, 0, 8],
    )
    claim("jrr/eq-38").holds(all(max(chances) == t for t, chances in outside))
    claim("jrr/eq-39").holds(all(min(chances) == 1 - t for t, chances in outside))
    # The note: if only j in C is known, all of T_c can count, here by its number of truths. Not at rho = 0.
    mixed = [{tuple(partner_colludes[*at, 6, v]) for v in ((0, 0), (0, 1), (1, 1))} for at in POINTS]
    plain = with_pairing(6, Fraction(3, 5), Fraction(0))
    free = [given(plain, v, lambda j: j <= 2) for v in ((0, 0), (0, 1), (1, 1))]
    claim("jrr/eq-40").holds(
        all(found == listed for _, _, found, listed in inside),
        all(len(chances) == 3 for chances in mixed),
        free == 3 * [[Fraction(2, 5), Fraction(3, 5)]],
    )
    seen = {}
    for (*at, size, shown), found in partner_colludes.items():
        seen.setdefault((*at, size, len(shown)), []).extend(found)
    told = (*POINTS[0], 4, (1,))  # one colluder, who told the truth: not the extremes of Eq. (45)
    assert extremes(*POINTS[0]) == (Fraction(9, 10), Fraction(1, 10))
    # On Eq. (33) and (50): nor is the ratio of these truths the stated one.
    assert given_truths(truth_law(4, *POINTS[0]), (1,)) == Fraction(8, 7)
    assert printed_jrr.ratio(*POINTS[0], 4, 1) == Fraction(7, 3)
    claim("jrr/eq-46").conditional(
        all(max(found) == extremes(*at[:2])[0] for at, found in seen.items()),
        max(partner_colludes[told]) == Fraction(3, 5),
    )
    claim("jrr/eq-47").conditional(
        all(min(found) == extremes(*at[:2])[1] for at, found in seen.items()),
        min(partner_colludes[told]) == Fraction(2, 5),
    )


def test_the_extremes_of_equation_45():
    found = []
    for t in (Fraction(51, 100), Fraction(3, 5), Fraction(9, 10)):
        for i in range(17):
            r = 1 - 1 / t + Fraction(i, 16) / t  # from the least rho to 1
            both, one, none = jrr.table(t, r)
            chances = [both / t, one / t, one / (1 - t), none / (1 - t)]
            found.append((max(chances), min(chances)) == extremes(t, r))
    # In general: of the four, Eq. (41) to (44), the two left out each time are not beyond the others: p >= q, rho <= 1.
    both, one, none = jrr.table(p, rho)
    beyond = both / p - none / q, one / q - one / p
    claim("jrr/eq-45").holds(len(found) == 51, all(found), *(zero(gap - (p - q) * (1 - rho)) for gap in beyond))


def test_the_derivative_of_appendix_h():
    m, n, high, low = sp.symbols("m n p_max p_min", positive=True)
    top, bottom = m * high + (n - m - 1) * p, m * low + (n - m - 1) * q
    printed_slope = (high * q - low * p) * (n - 1) / bottom**2
    at = [{m: c, n: 10, p: t, high: extremes(t, r)[0], low: extremes(t, r)[1]} for t, r in POINTS for c in range(10)]
    ratios = [printed_jrr.ratio(t, r, 10, c) for t, r in POINTS for c in range(10)]
    # The note: where g_2 is 0, from p = 1, the least rho, rho = 1 and points between.
    none = {
        (t, r, c)
        for t, c in itertools.product((Fraction(3, 5), Fraction(9, 10), Fraction(1)), range(10))
        for r in (1 - 1 / t, (1 - 1 / t) / 2, Fraction(0), Fraction(1, 2), Fraction(1))
        if c * extremes(t, r)[1] + (9 - c) * (1 - t) == 0
    }
    claim("jrr/eq-79").holds(
        zero(sp.diff(top / bottom, m) - printed_slope),
        all((top / bottom).subs(v) == sp.Rational(str(f)) for v, f in zip(at, ratios, strict=True)),
        all(t == 1 or (c == 9 and r in (1 - 1 / t, 1)) for t, r, c in none),
        len(none) == 2 * 2 + 3 * 10,  # at p = 1 three values of rho: the least is 0
    )


@pytest.mark.parametrize(("r", "s"), [(Fraction(-2, 3), Fraction(2, 5)), (Fraction(-1, 6), Fraction(1, 5))])
@pytest.mark.parametrize("size", [2, 4, 6])
def test_tied_truths_are_a_secret_half_with_plus(size, r, s):
    assert half_law((1,) * size, Fraction(3, 5), s, -1) == truth_law(size, Fraction(3, 5), r)


def test_at_the_least_rho_half_of_the_others_less_one_tell_the_truth_at_least():
    """Chapter audit_jrr, secret halves: the ratio by the number of other truths; all others can lie only if n = 2."""
    for size in (2, 4, 6):
        law, least = truth_law(size, Fraction(3, 5), Fraction(-2, 3)), size // 2 - 1
        odds = {sum(rest): [law[own, *rest] for own in (0, 1)] for rest in itertools.product((0, 1), repeat=size - 1)}
        assert all(odds[h] == [0, 0] for h in range(least))
        assert odds[least][0] == 0 < odds[least][1]
        assert all(odds[h][0] > 0 for h in range(least + 1, size))


def test_one_of_an_odd_number_is_one_who_is_not_heard():
    t, r = POINTS[0]
    three, four = truth_law(3, t, r), truth_law(4, t, r)
    assert all(three[told] == four[0, *told] + four[1, *told] for told in three)


def test_to_forget_a_user_keeps_real_roots():
    """The identities behind the proof that all lies are the worst case.

    W_k(a) is the probability that k given users show one given list with a truths, G_k(z) the sum of binom(k, a) W_k(a)
    z^a. To forget a user is to add over truth and lie: k G_{k-1} = k G_k + (1-z) G_k'. With z = 1 + 1/x and F(x) = x^k
    G_k(1 + 1/x) the right side is x^{1-k} F'(x), so by Rolle's theorem all roots stay real. By Newton's inequalities
    W_{m+1}(a+1) / W_{m+1}(a) falls with a. Its inverse, largest at a = m, is never the larger one, because there the
    weights are tilted by (1 + rho q/p)^j, less than for lies.
    """
    k, x, z = 5, *sp.symbols("x z")
    chances = sp.symbols("W_0:6")
    G = sum(sp.binomial(k, a) * chances[a] * z**a for a in range(k + 1))
    forget = sum(sp.binomial(k - 1, a) * (chances[a] + chances[a + 1]) * z**a for a in range(k))
    polar = k * G + (1 - z) * sp.diff(G, z)
    F = sp.expand(x**k * G.subs(z, 1 + 1 / x))
    assert sp.expand(k * forget - polar) == 0
    assert sp.expand(polar.subs(z, 1 + 1 / x) - sp.diff(F, x) / x ** (k - 1)) == 0


def test_uniform_bits_of_the_others_leave_the_ratio_of_one_report():
    """The notes on sec-4.5.1-s2, sec-4.5.2-s3 and concl-s1, at other p and at both ends of rho: p/q, for every list."""
    ends = [(Fraction(3, 4), Fraction(-1, 3)), (Fraction(3, 4), Fraction(1))]
    for (t, r), size in itertools.product((*POINTS, *ends), (2, 4)):
        law, rests = truth_law(size, t, r), list(itertools.product((0, 1), repeat=size - 1))
        for y in itertools.product((0, 1), repeat=size):
            told = [[tuple(int(a == b) for a, b in zip(y, (own, *x), strict=True)) for x in rests] for own in (0, 1)]
            zero_held, one_held = (sum(law[v] for v in part) for part in told)
            assert max(zero_held / one_held, one_held / zero_held) == t / (1 - t)


def test_all_lies_are_the_worst_and_all_truths_the_other_end():
    for t, r in (POINTS[0], POINTS[2]):
        law = truth_law(6, t, r)
        for m in range(1, 6):
            found = {}
            for shown in itertools.product((0, 1), repeat=m):
                mine = [sum(v for u, v in law.items() if u[: m + 1] == (own, *shown)) for own in (0, 1)]
                found.setdefault(sum(shown), set()).add(mine[1] / sum(mine))
            chances = [found[a] for a in range(m + 1)]
            assert all(len(values) == 1 for values in chances)
            chances = [min(values) for values in chances]
            assert chances == sorted(chances, reverse=True)
            assert chances[0] + chances[-1] >= 1  # so the inverse is never the larger ratio
            assert chances[0] / (1 - chances[0]) == privacy.colluder_ratio(t, r, 6, m)
            # Eq. (48) and (49), corrected; as printed they are right for one colluder and if all others collude.
            partner = privacy.partner_posterior(t, r, 6, m)
            high, low = extremes(t, r)
            assert chances[0] == partner * high + (1 - partner) * t
            assert 1 - chances[0] == partner * low + (1 - partner) * (1 - t)
            assert (partner == Fraction(m, 5)) == (m in (1, 5))
    t = Fraction(3, 5)  # at the least rho: from n/2 colluders on a user can be certain to tell the truth
    for size in (4, 6):
        law = truth_law(size, t, 1 - 1 / t)
        for m in range(1, size):
            seen = {}
            for told, chance in law.items():
                seen.setdefault(told[1 : m + 1], [0, 0])[told[0]] += chance
            most = max(mine[1] / sum(mine) for mine in seen.values() if sum(mine))
            assert (most == 1) == (m >= size // 2)
            assert (sum(seen[(0,) * m]) == 0) == (m > size // 2)


def test_the_printed_ratio_is_too_small_for_every_number_of_colluders_between():
    for t, r in ((POINTS[0][0], Fraction(-1, 100)), POINTS[0], (Fraction(9, 10), Fraction(-1, 20))):
        for m in range(2, 29):
            assert privacy.partner_posterior(t, r, 30, m) > Fraction(m, 29)
            assert privacy.colluder_ratio(t, r, 30, m) > printed_jrr.ratio(t, r, 30, m)


def test_all_reports_say_more_at_every_rho_but_0_and_at_equal_ratio_there_is_no_gain():
    """On Section 3 and the abstract, without a delta, for an observer who knows the others' values."""
    gap, low, z = sp.symbols("g q z", positive=True)  # p - q and q, before they are scaled to p + q = 1
    t, x = (gap + low) / (gap + 2 * low), 1 / (1 + z)
    for sign, r in ((-1, -x * low / (gap + low)), (1, x)):  # rho from -q/p to 0, and from 0 to 1
        both, one, none = map(sp.factor, jrr.table(t, r))
        told = sp.factor(one / none if sign < 0 else both / one)
        # The variance is least where A is n (rho < 0), or -n/(n-1), which is least for two users.
        own, plain = sp.factor(t * (1 - t) / (2 * t - 1) ** 2 * (1 - sign * r)), told / sp.factor(told - 1) ** 2
        for excess in (told - (gap + low) / low, own - plain):
            top, bottom = sp.fraction(sp.together(excess))
            assert min(sp.Poly(sp.expand(top * bottom), gap, low, z).coeffs()) > 0
    for r in (Fraction(-1, 2), Fraction(1, 3)):  # the ratios are the library's
        both, one, none = jrr.table(Fraction(3, 5), r)
        assert privacy.transcript_ratio(Fraction(3, 5), r) == max(both / one, one / none) > Fraction(3, 2)


def test_the_recurrence_for_positive_rho():
    """(n-1) Z_n(a, b) is a sum over the partner of one truthful colluder; Z is the probability shown over p^a q^b.

    So Eq. (20) is a bound for rho > 0 while m (m-1) <= n-1. The table is a mixture: with probability rho the two
    share one random draw. The colluders show a truths and b lies with probability p^a q^b Z_n(a, b), and the user
    shares a draw with a truthful colluder with probability rho a / (n-1) Z_{n-2}(a-1, b) / Z_n(a, b). The partner
    of one truthful colluder is one of the n - m others, another truthful one, or a liar, so (n-1) Z_n(a, b) >=
    (n-m) Z_{n-2}(a-1, b). For b >= 1 we have m (n-m) >= a (n-1), and the probability is at most rho m / (n-1); for
    b = 0 it is so by the tilt.
    """
    t, r = Fraction(3, 5), Fraction(1, 2)
    laws = {size: truth_law(size, t, r) for size in (4, 6)}

    def Z(size, a, b):
        shown = (1,) * a + (0,) * b
        chance = sum(v for told, v in laws[size].items() if told[: a + b] == shown)
        return chance / (t**a * (1 - t) ** b)

    for a, b in ((1, 0), (1, 1), (2, 0), (2, 1), (3, 1), (2, 3), (1, 4)):
        terms = [
            (6 - a - b) * Z(4, a - 1, b),
            (a - 1) * (1 + r * (1 - t) / t) * (Z(4, a - 2, b) if a > 1 else 0),
            b * (1 - r) * (Z(4, a - 1, b - 1) if b else 0),
        ]
        assert 5 * Z(6, a, b) == sum(terms)
    # All lists of four and six users: no ratio is above Eq. (20), and it is met for m = 0, 1 and n - 1.
    for size, at in itertools.product((4, 6), ((t, r), POINTS[1], (t, Fraction(1, 20)))):
        law = truth_law(size, *at)
        for m in range(size):
            odds = {shown: given_truths(law, shown) for shown in itertools.product((0, 1), repeat=m)}
            largest, stated = max(max(v, 1 / v) for v in odds.values()), printed_jrr.ratio(*at, size, m)
            assert (largest == stated) if m in (0, 1, size - 1) else (largest < stated)


def test_the_delta_of_two_thousand_reports_lies_between_two_integer_sums():
    def exact_delta(t, r, n, e):
        """The sum in integers; e is (numerator, denominator)."""
        cells = jrr.table(t, r)
        scale = math.lcm(*(c.denominator for c in cells))
        both, one, none = (int(c * scale) for c in cells)
        law, before, total = none ** (n // 2), 0, 0
        for k in range(n + 1):
            step = (n // 2 - k) * 2 * one * law + (n - k + 1) * both * before
            before, law = law, step // (none * (k + 1))
            true, false = law * (k + 1), before * (n - k)  # both over n * scale^(n/2)
            total += max(0, true * e[1] - false * e[0]) + max(0, false * e[1] - true * e[0])
        return Fraction(total, n * scale ** (n // 2) * e[1])

    t, r, n = Fraction(21, 40), Fraction(-2, 5), 2_000
    below, above = (110517091, 10**8), (110517092, 10**8)
    assert Fraction(*below) < Fraction(math.exp(0.1)) < Fraction(*above)
    found = privacy.transcript_delta(0.1, float(t), float(r), n)
    assert float(exact_delta(t, r, n, above)) <= found <= float(exact_delta(t, r, n, below))


def test_whoever_knows_the_pairs_has_the_delta_of_two_people():
    """Chapter transcript, its advice, at the parameters of its exercise with code; and shown signs tell more still."""
    (t, r), e, law = POINTS[0], Fraction(3, 2), {}
    cells = jrr.table(t, r)
    for told in itertools.product((1, 0), repeat=4):  # pairs (0, 1) and (2, 3), known
        chance = math.prod(cells[2 - told[i] - told[j]] for i, j in ((0, 1), (2, 3)))
        law.setdefault(told[1:], {})[told[0]] = chance
    delta = sum(max(0, one[1] - e * one[0]) + max(0, one[0] - e * one[1]) for one in law.values())
    hidden = [privacy.transcript_delta(math.log(e), float(t), float(r), n) for n in (2, 10_000)]
    assert hidden[0] == pytest.approx(float(delta), abs=1e-12)
    chapter = (Path(__file__).parents[2] / "notebooks/transcript.ipynb").read_text(encoding="utf-8")
    assert "has the δ of two people, in the last exercise but one {:.1f} in place of {:.3f}.".format(*hidden) in chapter
    s = math.sqrt(-r * t * (1 - t))  # a sign moves the truth's chance by it
    assert (t + s) - e * (1 - t - s) > 2 * delta


@pytest.mark.parametrize(("n", "s"), [(4, Fraction(1, 10)), (4, Fraction(1, 5)), (6, Fraction(1, 5))])
def test_a_shown_sign_beside_all_reports_tells_more_than_either(n, s):
    """Chapter audit_jrr, its advice: the others' values are known, and m of them show their signs."""
    t, found = Fraction(3, 5), []
    halves = [half for half in itertools.product((1, -1), repeat=n) if sum(half) == 0]
    for m in range(n):
        law = {}  # by shown signs and truths: the chances that user 0 tells the truth, and lies
        for half, told in itertools.product(halves, itertools.product((1, 0), repeat=n - 1)):
            chance = math.prod(t + s * h if x else 1 - t - s * h for h, x in zip(half[1:], told, strict=True))
            true, false = law.get((half[1 : m + 1], told), (0, 0))
            own = t + s * half[0]
            law[half[1 : m + 1], told] = true + chance * own, false + chance * (1 - own)
        found.append(max(max(x / y, y / x) for x, y in law.values()))
    assert found[0] == privacy.transcript_ratio(t, -(s**2) / (t * (1 - t)), n)
    assert all(ratio > max(found[0], protocols.sign_ratio(t, s, n, m)) for m, ratio in enumerate(found[: n // 2]) if m)
    assert max(found) == protocols.sign_ratio(t, s, n, n // 2) == (t + s) / (1 - t - s)

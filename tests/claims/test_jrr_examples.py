"""The JRR paper's Sections 3 and 4.1, its estimator, and what it says of the variance formula."""

import itertools
import math
from fractions import Fraction

import numpy as np
import sympy as sp

from ldp_lib import channel, check, grr, jrr
from ldp_lib.book.claims import claim
from ldp_lib.book.enumeration import truth_law

p, rho, n, n1 = sp.symbols("p rho n n_1")
q = 1 - p
BOTH, ONE, NONE = p**2 + rho * p * q, (1 - rho) * p * q, q**2 + rho * p * q  # Table 2, as printed
LAW = {(1, 1): BOTH, (1, 0): ONE, (0, 1): ONE, (0, 0): NONE}
PAIRS = list(itertools.product((0, 1), repeat=2))
TRUTH = Fraction(4, 5)
TABLE_1 = dict(zip(LAW, (Fraction(v, 100) for v in (61, 19, 19, 1)), strict=True))
INDEPENDENT = {t: math.prod(TRUTH if v else 1 - TRUTH for v in t) for t in PAIRS}


def zero(expression):
    return sp.expand(sp.cancel(sp.sympify(expression))) == 0


def reports(law, x):
    """The law of two reports, from the law of two truths."""
    found = {}
    for told, chance in law.items():
        y = tuple(v if t else 1 - v for v, t in zip(x, told, strict=True))
        found[y] = found.get(y, 0) + chance
    return found


def mean(law, value):
    return sum(chance * value(y) for y, chance in law.items())


def variance(law, value):
    centre = mean(law, value)
    return mean(law, lambda y: (value(y) - centre) ** 2)


def covariance(law):
    return mean(law, lambda y: y[0] * y[1]) - mean(law, lambda y: y[0]) * mean(law, lambda y: y[1])


def estimate(y):
    """Eq. (5), as printed."""
    return (sum(y) - Fraction(2, 5)) / Fraction(3, 5)


def test_example_1():
    found = {x: mean(reports(INDEPENDENT, x), estimate) for x in PAIRS}
    spread, *others = [variance(reports(INDEPENDENT, x), estimate) for x in PAIRS]
    exact = grr.channel(Fraction(4), 2)  # a budget of ln 4
    x = np.repeat([0, 1], 50_000)
    told = grr.RR(epsilon=math.log(4)).perturb(x, rng=np.random.default_rng(1)) == x
    claim("jrr/ex-1").holds(channel.privacy_ratio(exact) == 4, round(float(spread), 2) == 0.89, set(others) == {spread})
    claim("jrr/eq-4").holds(
        exact[0][0] == exact[1][1] == Fraction(8, 10), check.mean_z(told, 0.8) < 5 < check.mean_z(told, 0.79)
    )
    claim("jrr/eq-5").holds(all(found[x] == sum(x) for x in PAIRS))
    claim("jrr/eq-6").holds(spread == Fraction(32, 36), round(float(spread), 2) == 0.89)


def test_example_2():
    alone = [sum(chance for t, chance in TABLE_1.items() if t[j]) for j in (0, 1)]
    laws = {x: reports(TABLE_1, x) for x in PAIRS}
    ones = laws[1, 1]
    each = [variance(ones, lambda y, j=j: y[j]) for j in (0, 1)]
    spread, alone_spread = variance(ones, estimate), variance(reports(INDEPENDENT, (1, 1)), estimate)
    claim("jrr/tab-1").holds(
        sum(TABLE_1.values()) == 1,
        alone == [TRUTH, TRUTH],
        list(TABLE_1.values()) == [jrr.table(TRUTH, Fraction(-3, 16))[t.count(0)] for t in TABLE_1],
    )
    claim("jrr/ex-2").holds(
        all(mean(laws[x], estimate) == sum(x) for x in PAIRS), round(float(spread), 2) == 0.72, spread < alone_spread
    )
    claim("jrr/eq-7").holds(all(mean(laws[x], sum) == Fraction(4, 10) + Fraction(6, 10) * sum(x) for x in PAIRS))
    claim("jrr/eq-8").holds(Fraction(25, 9) * (sum(each) + 2 * covariance(ones)) == spread)
    claim("jrr/eq-9").holds(sum(each) == Fraction(32, 100))
    mixed = laws[1, 0]  # the note on Eq. (10): for other values than the example's
    claim("jrr/eq-10").holds(
        covariance(ones) == Fraction(-3, 100),
        covariance(mixed) == Fraction(3, 100) and variance(mixed, estimate) == Fraction(38, 36),
    )
    claim("jrr/eq-11").holds(Fraction(32 - 6, 36) == spread, round(float(spread), 2) == 0.72)


def test_table_2():
    """A joint law of two truths is fixed by two equal marginals and the correlation."""
    cells = sp.symbols("a b c")
    conditions = [
        cells[0] + 2 * cells[1] + cells[2] - 1,
        cells[0] + cells[1] - p,
        cells[0] - p**2 - rho * (p - p**2),
    ]
    (solved,) = sp.linsolve(conditions, cells)
    shipped = jrr.table(p, rho)
    # The range: the entries are linear in rho, so that both ends decide; just outside one is negative.
    ends = [v.subs(rho, r) for r in (1 - 1 / p, 1) for v in (BOTH, ONE, NONE)]
    assert all(zero(v - w) for v, w in zip(ends, (2 * p - 1, q, 0, p, 0, q), strict=True))  # for every p from 1/2 on
    tops, tiny = [Fraction(i, 20) for i in range(11, 21)], Fraction(1, 1000)
    inside = [min(jrr.table(t, r)) for t in tops for r in (1 - 1 / t, Fraction(1))]
    outside = [min(jrr.table(t, r)) for t in tops[:-1] for r in (1 - 1 / t - tiny, 1 + tiny)]
    claim("jrr/tab-2").holds(
        all(zero(a - b) for a, b in zip(solved, (BOTH, ONE, NONE), strict=True)),
        all(zero(a - b) for a, b in zip(solved, shipped, strict=True)),
        min(inside) == 0 > max(outside),
    )
    told = [[sum(chance for t, chance in LAW.items() if t[j] == v) for v in (1, 0)] for j in (0, 1)]
    claim("jrr/eq-12").holds(all(zero(one - p) and zero(other - (1 - p)) for one, other in told))
    claim("jrr/eq-14").holds(zero(mean(LAW, lambda t: t[0] * t[1]) - (p**2 + rho * p * (1 - p))))
    claim("jrr/eq-15").holds(*(zero(mean(LAW, lambda t, j=j: t[j]) - p) for j in (0, 1)))
    claim("jrr/eq-16").holds(*(zero(variance(LAW, lambda t, j=j: t[j]) - (p - p**2)) for j in (0, 1)))
    correlation = sp.cancel(covariance(LAW) / variance(LAW, lambda t: t[0]))
    no_lie = zero(covariance(LAW).subs(p, 1)) and zero(variance(LAW, lambda t: t[0]).subs(p, 1))  # 0/0 at p = 1
    points = [(Fraction(3, 5), Fraction(-1, 2)), (Fraction(9, 10), Fraction(1, 3))]
    by_definition = []
    for t, r in points:
        law = {k: v.subs({p: sp.Rational(str(t)), rho: sp.Rational(str(r))}) for k, v in LAW.items()}
        spreads = [variance(law, lambda y, j=j: y[j]) for j in (0, 1)]
        by_definition.append(covariance(law) / sp.sqrt(spreads[0] * spreads[1]))
    claim("jrr/eq-13").holds(by_definition == [sp.Rational(str(r)) for _, r in points], no_lie)
    claim("jrr/eq-17").holds(correlation == rho, no_lie)


def test_the_range_of_rho():
    least = sp.solve(NONE, rho)[0]
    inside = all(
        min(jrr.table(t, r)) >= 0
        for t in (Fraction(51, 100), Fraction(3, 5), Fraction(9, 10))
        for r in (1 - 1 / t, Fraction(0), Fraction(1))
    )
    outside = [min(jrr.table(t, 1 - 1 / t - Fraction(1, 1000))) for t in (Fraction(51, 100), Fraction(3, 5))]
    assert {tuple(jrr.table(Fraction(1), Fraction(r))) for r in (-1, 0, 1)} == {(1, 0, 0)}  # the note: at p = 1
    claim("jrr/sec-4.1-s1").holds(zero(least - (1 - 1 / p)), inside, max(outside) < 0)
    free = {t: math.prod(p if v else 1 - p for v in t) for t in PAIRS}
    claim("jrr/sec-4.1-s2").holds(all(zero(LAW[t].subs(rho, 0) - free[t]) for t in PAIRS))


def moments(size, ones, t, r):
    """Mean and variance of the estimated number of ones, and the mean for zeros, from all pairings and coins."""
    law, wrong = truth_law(size, t, r), 1 - t
    counts = {}
    for told, chance in law.items():
        count = sum(v if j < ones else 1 - v for j, v in enumerate(told))
        counts[count] = counts.get(count, 0) + chance
    first = sum(chance * (count - size * wrong) / (t - wrong) for count, chance in counts.items())
    other = sum(chance * (size - count - size * wrong) / (t - wrong) for count, chance in counts.items())
    second = sum(chance * ((count - size * wrong) / (t - wrong) - first) ** 2 for count, chance in counts.items())
    return first, second, other


def test_the_estimator_and_the_variance_formula():
    t = Fraction(3, 5)
    free = [moments(4, ones, t, Fraction(0)) for ones in range(5)]
    # The mean times p - q is a polynomial, of degree 4 in p and 2 in rho at most: five p and three rho decide all.
    points = [(Fraction(i, 20), Fraction(j, 10)) for i in (11, 12, 14, 16, 18) for j in (-1, 0, 5)]
    found = {(*at, ones): moments(4, ones, *at) for at in points for ones in range(5)}
    claim("jrr/eq-18").holds(
        all(v[0] == ones and v[2] == 4 - ones for (_, _, ones), v in found.items()),
        len({v[1] for (_, _, ones), v in found.items() if ones == 0}) == len(points),  # the laws do differ
    )
    A = ((2 * n1 - n) ** 2 - n) / (n - 1)
    stated = jrr.variance(n1, n, p, rho)  # Theorem 3's, as audit_jrr checks
    # The note on Theorem 3: four users drawn at random, of whom each holds 1 with probability f.
    for (a, b), f in itertools.product(points, (Fraction(1, 2), Fraction(9, 10))):
        weights = [math.comb(4, c) * f**c * (1 - f) ** (4 - c) for c in range(5)]
        second = sum(w * (found[a, b, c][1] + found[a, b, c][0] ** 2) for c, w in enumerate(weights))
        held = a * (1 - a) / (2 * a - 1) ** 2 * (4 + b * 4 * (2 * f - 1) ** 2)
        assert second - (4 * f) ** 2 == held + 4 * f * (1 - f)
    claim("jrr/sec-4.3-s1").holds(
        zero(stated.subs(rho, 0) - n * p * q / (p - q) ** 2),
        {v[1] for v in free} == {4 * t * (1 - t) / (2 * t - 1) ** 2},
    )
    gains = [
        (found[a, b, ones][1] < found[a, 0, ones][1]) == (b * ((2 * ones - 4) ** 2 - 4) < 0)
        for a, b in points
        for ones in range(5)
    ]
    factor = sp.cancel((stated - stated.subs(rho, 0)) / (rho * A) - p * q / (p - q) ** 2)
    claim("jrr/sec-4.3-s2").conditional(all(gains) and factor == 0, zero(stated.subs(p, 1)))


def test_how_the_variance_changes():
    noise = p * q / (p - q) ** 2
    falls = zero(sp.diff(noise, p) + 1 / (2 * p - 1) ** 3)  # negative above 1/2
    claim("jrr/lem-3").holds(falls)
    A = ((2 * n1 - n) ** 2 - n) / (n - 1)
    shipped = jrr.variance(n1, n, p, rho)
    assert zero(shipped - noise * (n + rho * A))  # h, as Appendix G has it
    slope_p = zero(sp.diff(shipped, p) + (n + rho * A) / (2 * p - 1) ** 3)
    slope_rho = zero(sp.diff(shipped, rho) - noise * A)
    # Lemma 2: at rho = 1 and -1 these are all the zeros, and there are none between.
    at = sp.lambdify((n, n1, rho), n + rho * A)
    cases = [(size, c) for size in range(2, 31) for c in range(size + 1)]
    zeros = {(r, *case) for case in cases for r in (-1, 1) if at(*map(Fraction, case), r) == 0}
    assert zeros == {(1, 2, 1)} | {(-1, size, c) for size in range(2, 31) for c in (0, size)}
    assert all(at(*map(Fraction, case), Fraction(r, 100)) > 0 for case in cases for r in (-99, 99))
    # A lies between -n/(n-1) and n, whatever n1 is, so that n + rho A is not negative.
    bounded = zero(n - A - 4 * n1 * (n - n1) / (n - 1)) and zero(A + n / (n - 1) - (2 * n1 - n) ** 2 / (n - 1))
    assert all(jrr.rho_range(1 / (1 - r))[0] == r for r in (Fraction(-1, 2), Fraction(-1, 9)))  # where Table 2 ends
    claim("jrr/thm-4-b2").holds(
        slope_p, bounded, all(jrr.variance(1, 2, t, 1) == 0 for t in (Fraction(3, 5), Fraction(9, 10)))
    )
    claim("jrr/app-G").holds(slope_rho, slope_p, bounded)


def test_the_example_gains_by_its_covariance():
    """Two users who hold 1 gain; a holder and a non-holder have positively correlated reports and lose."""
    tied, free = ({x: reports(law, x) for x in PAIRS} for law in (TABLE_1, INDEPENDENT))
    spread = {x: (variance(tied[x], estimate), variance(free[x], estimate)) for x in PAIRS}
    assert spread[1, 1] == (Fraction(13, 18), Fraction(8, 9))
    assert spread[1, 0] == (Fraction(19, 18), Fraction(8, 9))
    claim("jrr/sec-3-s1").holds(
        spread[1, 1][0] < spread[1, 1][1],
        covariance(tied[1, 1]) < 0 < covariance(tied[1, 0]),
        all((spread[x][0] < spread[x][1]) == (covariance(tied[x]) < 0) for x in PAIRS),
    )

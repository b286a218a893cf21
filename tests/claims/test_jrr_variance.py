"""The JRR paper's appendices A to F, step by step: the mean, the variance and the lemmas."""

import itertools
from fractions import Fraction

import numpy as np
import sympy as sp

from ldp_lib.book.claims import claim
from ldp_lib.book.enumeration import pairings

HALF = Fraction(1, 2)
# Both sides of each equation are of degree 2 in p and 1 in rho, over the same (p - q)^2 if any: three p with two rho
# decide, also where a pair is outside the range of Table 2. Six users at two of the six.
POINTS = [(Fraction(*v), corr) for v in ((3, 5), (3, 4), (9, 10)) for corr in (Fraction(-2, 3), HALF)]
SIZES = {at: (2, 4, 6) if at in POINTS[::3] else (2, 4) for at in POINTS}
p, rho, n, n1, m1 = sp.symbols("p rho n n_1 m_1")
q = 1 - p


def cell(first, second, p, rho):
    """Table 2."""
    if first != second:
        return (1 - rho) * p * (1 - p)
    return (p if first else 1 - p) ** 2 + rho * p * (1 - p)


def pair_moments(x, p, rho):
    """E[Y Y'], E[Y] E[Y'] and Var[Y + Y'] of one pair with values x, enumerated."""
    law = {}
    for told in itertools.product((0, 1), repeat=2):
        y = tuple(v if t else 1 - v for v, t in zip(x, told, strict=True))
        law[y] = law.get(y, 0) + cell(*told, p, rho)
    means = [sum(chance * y[j] for y, chance in law.items()) for j in (0, 1)]
    cross = sum(chance * y[0] * y[1] for y, chance in law.items())
    variance = sum(chance * (y[0] + y[1] - sum(means)) ** 2 for y, chance in law.items())
    return cross, means[0] * means[1], variance, means


def count_law(x, pairing, p, rho):
    """Law of the number of reported ones for one pairing."""
    law = {0: Fraction(1)}
    for i, j in pairing:
        step = {}
        for (count, chance), told in itertools.product(law.items(), itertools.product((0, 1), repeat=2)):
            total = count + sum(x[u] if t else 1 - x[u] for u, t in zip((i, j), told, strict=True))
            step[total] = step.get(total, 0) + chance * cell(*told, p, rho)
        law = step
    return law


def mixed(laws, types=None, m=None):
    """The mean of the laws: of all pairings, or of those with m pairs of ones."""
    kept, total = [law for i, law in enumerate(laws) if types is None or types[i] == m], {}
    for law in kept:
        for count, chance in law.items():
            total[count] = total.get(count, 0) + chance / len(kept)
    return total


def mean_and_variance(law):
    mean = sum(count * chance for count, chance in law.items())
    return mean, sum((count - mean) ** 2 * chance for count, chance in law.items())


def zero(expression):
    return sp.expand(sp.cancel(sp.sympify(expression))) == 0


def test_a_pair_has_the_moments_of_equations_55_to_62():
    types = [pair_moments(x, p, rho) for x in ((1, 1), (1, 0), (0, 0))]
    (c1, m1_, v1, _), (c2, m2, v2, _), (c3, m3, v3, _) = types
    claim("jrr/eq-55").holds(
        all(zero(v - (sum(m * (1 - m) for m in means) + 2 * (c - product))) for c, product, v, means in types)
    )
    claim("jrr/eq-56").holds(zero(c1 - (rho * p * q + p**2)))
    claim("jrr/eq-57").holds(zero(m1_ - p**2))
    claim("jrr/eq-58").holds(zero(c2 - (1 - rho) * p * q))
    claim("jrr/eq-59").holds(zero(m2 - p * q))
    claim("jrr/eq-60").holds(zero(c3 - (q**2 + rho * p * q)))
    claim("jrr/eq-61").holds(zero(m3 - q**2))
    claim("jrr/eq-62").holds(
        zero(v1 - 2 * p * q * (1 + rho)), zero(v2 - 2 * p * q * (1 - rho)), zero(v3 - 2 * p * q * (1 + rho))
    )
    # Eq. (63) and (66), for every even n.
    given = n * p * q + (8 * m1 + n - 4 * n1) * rho * p * q
    assert zero(m1 * v1 + (n1 - 2 * m1) * v2 + (m1 + n / 2 - n1) * v3 - given)
    closed = n * p * q + ((2 * n1 - n) ** 2 - n) / (n - 1) * rho * p * q
    assert zero(given.subs(m1, n1 * (n1 - 1) / (2 * (n - 1))) - closed)


def test_the_count_has_the_moments_of_equations_31_and_51_to_70():
    evidence = {}

    def note(name, value):
        evidence.setdefault(name, []).append(value)

    cases = [(*at, size, ones) for at in POINTS for size in SIZES[at] for ones in range(size + 1)]
    for t, r, size, ones in cases:
        u, groups = 1 - t, pairings(list(range(size)))
        x = [1] * ones + [0] * (size - ones)
        laws = [count_law(x, pairing, t, r) for pairing in groups]
        types = [sum(x[i] + x[j] == 2 for i, j in pairing) for pairing in groups]
        weights = {m: Fraction(types.count(m), len(groups)) for m in types}
        given = {m: mean_and_variance(mixed(laws, types, m)) for m in weights}
        mixture = mixed(laws)
        mean, variance = mean_and_variance(mixture)
        v1, v2, v3 = (pair_moments(pair, t, r)[2] for pair in ((1, 1), (1, 0), (0, 0)))
        note("31", mean == (t - u) * ones + size * u)
        estimates = {(count - size * u) / (t - u): chance for count, chance in mixture.items()}
        note("32", mean_and_variance(estimates)[0] == ones)
        zeros = {(size - count - size * u) / (t - u): chance for count, chance in mixture.items()}
        note("51", mean_and_variance(estimates)[1] == variance / (t - u) ** 2 == mean_and_variance(zeros)[1])
        sums = [sum(pair_moments((x[i], x[j]), t, r)[2] for i, j in pairing) for pairing in groups]
        note("52", sums == [mean_and_variance(law)[1] for law in laws])
        # Not over random groupings: a group's own variance then has its mean's in it, if users differ.
        means = [sum(t if x[u] else 1 - t for u in group) for pairing in groups for group in pairing]
        spread = sum((m - Fraction(sum(means), len(means))) ** 2 for m in means) / len(groups)
        note("apart", (Fraction(sum(sums), len(sums)) + spread > variance) == (size > 2 and 0 < ones < size))
        note(
            "53",
            all(v == m * v1 + (ones - 2 * m) * v2 + (m + size // 2 - ones) * v3 for m, (_, v) in given.items()),
        )
        average = sum(weights[m] * v for m, (_, v) in given.items())
        between = sum(weights[m] * (centre - mean) ** 2 for m, (centre, _) in given.items())
        note("54", variance == average + between)
        note("63", all(v == size * t * u + (8 * m + size - 4 * ones) * r * t * u for m, (_, v) in given.items()))
        expected = sum(weight * m for m, weight in weights.items())
        note("64", average == size * t * u + (8 * expected + size - 4 * ones) * r * t * u)
        note("65", expected == Fraction(ones * (ones - 1), 2 * (size - 1)))
        closed = size * t * u + Fraction((2 * ones - size) ** 2 - size, size - 1) * r * t * u
        note("66", average == closed)
        # Pr[Y_j = 1 | m_1] for a user j drawn at random, from all users' marginals.
        marginal = sum(t if v else u for v in x) / size
        note("67", all(centre == size * marginal for centre, _ in given.values()))
        note("68", all(centre == (2 * ones - size) * t + size - ones for centre, _ in given.values()))
        note("69", between == 0)
        note("70", variance == closed)
    assert all(len(results) == len(cases) for results in evidence.values())
    # Eq. (65), on which (66) rests, for every even n: a user's partner is any other user with the same chance, so that
    # each of the n1 (n1 - 1) / 2 pairs of ones is together with chance 1 / (n - 1). Counted for two more n:
    for size in (8, 10):
        groups = pairings(list(range(size)))
        for ones in range(size + 1):
            total = sum(i < ones and j < ones for pairing in groups for i, j in pairing)
            note("more", 2 * (size - 1) * total == len(groups) * ones * (ones - 1))
    assert evidence["more"] == [True] * 20
    assert all(evidence["apart"])
    claim("jrr/eq-31").holds(all(evidence["31"]))
    claim("jrr/eq-32").holds(all(evidence["32"]))
    claim("jrr/eq-51").holds(all(evidence["51"]))
    claim("jrr/eq-52").holds(all(evidence["52"]))
    claim("jrr/eq-53").holds(all(evidence["53"]))
    claim("jrr/eq-54").holds(all(evidence["54"]))
    claim("jrr/eq-63").holds(all(evidence["63"]))
    claim("jrr/eq-64").holds(all(evidence["64"]))
    claim("jrr/eq-65").holds(all(evidence["65"]))
    claim("jrr/eq-66").holds(all(evidence["66"]))
    claim("jrr/eq-67").holds(all(evidence["67"]))
    claim("jrr/eq-68").holds(all(evidence["68"]))
    claim("jrr/eq-69").holds(all(evidence["69"]))
    claim("jrr/eq-70").holds(all(evidence["70"]))


def test_the_steps_of_lemmas_1_and_2():
    grid = [(m, c) for m in range(2, 80) for c in range(m + 1)]
    square = {(m, c): (2 * c - m) ** 2 for m, c in grid}
    # For every n: a product of two factors is negative between their roots only, and these are the ends.
    root = sp.symbols("r", positive=True)  # of n
    claim("jrr/eq-71").holds(
        zero((2 * n1 - n) ** 2 - root**2 - (2 * n1 - n - root) * (2 * n1 - n + root)),
        all((square[m, c] < m) == (-np.sqrt(m) < 2 * c - m < np.sqrt(m)) for m, c in grid),
    )
    claim("jrr/eq-72").holds(
        zero((2 * n1 - n) ** 2 - root**2 - 4 * (n1 - (n - root) / 2) * (n1 - (n + root) / 2)),
        all((square[m, c] < m) == ((m - np.sqrt(m)) / 2 < c < (m + np.sqrt(m)) / 2) for m, c in grid),
    )
    a = {(m, c): Fraction(square[m, c] - m, m - 1) for m, c in grid}
    middle = ((2 * n1 - n) ** 2 - n) / (n - 1)
    claim("jrr/eq-73").holds(
        zero(middle + n / (n - 1) - (2 * n1 - n) ** 2 / (n - 1)),  # not negative
        zero(n - middle - 4 * n1 * (n - n1) / (n - 1)),  # nor this, for n1 from 0 to n
        all(Fraction(-m, m - 1) <= a[m, c] <= m for m, c in grid),
        a[4, 2] == Fraction(-4, 3),
    )
    # -n/(n-1) is -1 - 1/(n-1), not 1/(n-1) - 1.
    claim("jrr/eq-74").refuted(
        a[4, 2] < Fraction(1, 3) - 1, all(Fraction(-m, m - 1) == -1 - Fraction(1, m - 1) for m in range(2, 80))
    )
    # Multiplying by a negative rho turns the inequalities round; by a positive one it keeps the slip of (74).
    ends = [Fraction(i, 10) for i in range(-10, 11)]
    assert all(-m <= r * a[m, c] <= m for m, c in grid if m < 25 for r in ends)  # corrected
    claim("jrr/eq-75").refuted(
        -HALF * (Fraction(1, 3) - 1) > -HALF * a[4, 4], a[4, 4] == 4, HALF * (Fraction(1, 3) - 1) > HALF * a[4, 2]
    )
    inside = [Fraction(i, 10) for i in range(-9, 10)]
    some = [(m, c) for m, c in grid if m < 25]
    claim("jrr/eq-76").conditional(all(-m < r * a[m, c] <= m for m, c in some for r in inside), -a[6, 6] == -6)
    claim("jrr/eq-77").conditional(all(0 < m + r * a[m, c] <= 2 * m for m, c in some for r in inside), 2 + a[2, 1] == 0)
    claim("jrr/eq-78").conditional(all(m + r * a[m, c] > 0 for m, c in some for r in inside), 6 - a[6, 6] == 0)

"""The JRR paper's Appendix K, its remarks on groups, its data, and what it says of itself and of other work."""

import itertools
import math
from fractions import Fraction

import numpy as np
import sympy as sp

from ldp_lib import jrr
from ldp_lib.book import printed_jrr
from ldp_lib.book.claims import claim
from ldp_lib.book.enumeration import truth_law
from ldp_lib.datasets import load_binary

p, rho, k, n, n_v = sp.symbols("p rho k n n_v", positive=True)
q = (1 - p) / (k - 1)
BOTH, ONE, NONE = (
    p**2 + rho * p * q,
    p * q - rho * p * q / (k - 1),
    q**2 + rho * p * q / (k - 1) ** 2,
)  # Eq. (27), as printed


def pair_law(x, k, p, rho):
    """The joint law of two reports, Eq. (27), over the rationals."""
    q = (1 - p) / (k - 1)
    cells = {
        2: p**2 + rho * p * q,
        1: p * q - rho * p * q / (k - 1),
        0: q**2 + rho * p * q / (k - 1) ** 2,
    }
    return {y: cells[(y[0] == x[0]) + (y[1] == x[1])] for y in itertools.product(range(k), repeat=2)}


def test_the_marginals_of_k_jrr():
    truth = BOTH + (k - 1) * ONE
    lie = ONE + (k - 1) * NONE
    point = pair_law((0, 2), 3, Fraction(3, 5), Fraction(-1, 2))
    first = [sum(chance for y, chance in point.items() if y[0] == v) for v in range(3)]
    claim("jrr/eq-83").holds(sp.cancel(truth - p) == 0, first[0] == Fraction(3, 5))
    claim("jrr/eq-84").holds(sp.cancel(lie - q) == 0, first[1] == first[2] == Fraction(1, 5))


def test_the_estimator_of_k_jrr_is_unbiased():
    x, size = (0, 1, 0, 2), 4
    pairings = ((0, 1), (2, 3)), ((0, 2), (1, 3)), ((0, 3), (1, 2))  # a pair of equal values in the second

    def mean(v, pairs, *at):
        laws = [pair_law((x[i], x[j]), *at) for i, j in pairs]
        return sum(chance * y.count(v) for law in laws for y, chance in law.items())

    listed, estimates = [], []
    points = (3, Fraction(3, 5), Fraction(1, 3)), (3, Fraction(1, 4), Fraction(-2, 3)), (5, Fraction(2, 3), -1)
    for m, truth, r in points:
        wrong = (1 - truth) / (m - 1)
        expected = [x.count(v) * truth + (size - x.count(v)) * wrong for v in range(m)]
        for pairs in pairings:
            means = [mean(v, pairs, m, truth, r) for v in range(m)]
            listed.append(means == expected)
            estimates.append([(v - size * wrong) / (truth - wrong) for v in means] == [2, 1, 1, 0, 0][:m])
    symbolic = sp.cancel((n_v * p + (n - n_v) * q - n * q) / (p - q) - n_v)
    claim("jrr/eq-85").holds(len(listed) == 9, all(listed))
    claim("jrr/eq-86").holds(symbolic == 0, all(estimates))


def test_how_many_numbers_a_group_needs():
    """A law on g truths has 2^g - 1 numbers; g means are fixed. A symmetric one has g, and one mean is fixed."""
    free = {}
    for size in range(2, 7):
        outcomes = list(itertools.product((0, 1), repeat=size))
        products = [
            [math.prod(t[j] for j in chosen) for t in outcomes]
            for r in range(size + 1)
            for chosen in itertools.combinations(range(size), r)
        ]
        fixed = [row for row in products if row.count(1) >= len(outcomes) // 2]  # the total and the means
        rank = np.linalg.matrix_rank(np.array(products))
        ways = [math.comb(size, t) for t in range(size + 1)]
        symmetric = np.array([[1] * (size + 1), list(range(size + 1))])
        free[size] = rank - len(fixed), len(ways) - np.linalg.matrix_rank(symmetric)
    pairs = math.comb(3, 2)
    claim("jrr/sec-4.6.4-s1").holds(free[3][0] == pairs + 1 == 4)
    claim("jrr/sec-4.6.4-s2").holds(
        all(free[size][0] == 2**size - 1 - size for size in free),
        all(free[size][1] == size - 1 for size in free),
    )


def test_larger_groups_are_more_likely_to_hold_a_colluder():
    """Pr[some of g - 1 random others collude] = 1 - C(n-1-m, g-1) / C(n-1, g-1), for m colluders of n - 1 others."""

    def chance(size, colluders, g):
        return 1 - Fraction(math.comb(size - 1 - colluders, g - 1), math.comb(size - 1, g - 1))

    others, found = range(1, 6), {}
    for g in (2, 3, 4):  # six users, user 0 the target, users 1 and 2 collude
        groups = list(itertools.combinations(others, g - 1))
        found[g] = Fraction(sum(1 in group or 2 in group for group in groups), len(groups))
    # The other reading, a given group, whoever is in it: as if one more user were its first, and no colluder.
    for size, m in itertools.product((6, 10), (1, 2, 3)):
        given = {}
        for g in range(2, size - m + 1):
            groups = list(itertools.combinations(range(size), g))
            given[g] = Fraction(sum(min(group) < m for group in groups), len(groups))  # users 0 to m - 1 collude
            assert given[g] == chance(size + 1, m, g + 1) == 1 - Fraction(math.comb(size - m, g), math.comb(size, g))
        assert list(given.values()) == sorted(set(given.values()))
    few = [chance(10_000, 5, g) / Fraction((g - 1) * 5, 9_999) for g in range(2, 11)]
    assert all(Fraction(99, 100) < v <= 1 for v in few)  # the note: in proportion to g - 1
    claim("jrr/sec-4.6.4-s4").holds(
        all(found[g] == chance(6, 2, g) for g in found),
        found == {2: Fraction(2, 5), 3: Fraction(7, 10), 4: Fraction(9, 10)},
        all(
            chance(size, m, g) < chance(size, m, g + 1)
            for size in (10, 100)
            for m in (1, 3, 5)
            for g in range(2, size - m)
        ),
    )


def test_the_share_of_frequencies_for_which_jrr_wins():
    """At the same p JRR wins outside a band of width 1/sqrt(n). Algorithm 1 lowers p, and that widens the band."""

    def share(size, pair, plain):
        counts = np.arange(size + 1)
        return np.mean(jrr.variance(counts, size, *pair) < jrr.variance(counts, size, plain, 0.0))

    same = {size: share(size, (0.55, -0.5), 0.55) for size in (20, 1_000, 1_164, 1_166, 10_000)}
    for t, r in ((0.51, -0.9), (0.9, -0.1), (0.9, -0.001)):  # whatever p and rho below 0 are
        assert {size: share(size, (t, r), t) for size in same} == same
    # The counts in the band, at most sqrt(n) + 1 of n + 1, rise by two at squares of even numbers, as at 34 and 36.
    later = [share(size, (0.55, -0.5), 0.55) for size in range(1_168, 1_300, 2)]
    assert (math.sqrt(1_300) + 1) / 1_301 < 0.03  # and from there on
    default = {"epsilon": 0.1, "n": 10_000, "colluders": 5}
    plain = 1 / (1 + math.exp(-0.1))
    excess = math.log(printed_jrr.ratio(plain, 1 - 1 / plain, 10_000, 5)) / 0.1  # on the abstract
    assert 1 < excess < 1.01  # by less than one per cent
    searched = share(10_000, printed_jrr.algorithm_1(**default), plain)
    best = share(10_000, printed_jrr.optimum(**default), plain)
    claim("jrr/intro-c3").conditional(
        min(same[1_166], same[10_000], *later) > 0.97,
        max(same[20], same[1_164], best) < 0.97
        and (round(100 * same[1_000], 1), round(100 * searched, 1)) == (96.9, 85.5),
    )


def test_what_can_be_said_of_the_data():
    counts = {name: load_binary(name).histogram for name in ("kosarak", "amazon_beauty", "ipums_2010")}
    assert [int(h.sum()) for h in counts.values()] == [20_000, 10_000, 10_000]
    assert [int(h[1]) for h in counts.values()] == [659, 762, 9_528]
    clothing = load_binary("ecommerce_clothing")
    assert (clothing.n, int(clothing.histogram[1])) == (23_486, 19_314)
    claim("jrr/app-J-s1").not_checkable(
        "The full click stream is not at hand, and the pages and clicks drawn are not named. The counts, 659 of "
        "20,000, agree with the authors' published vector and with Table 3."
    )
    claim("jrr/app-J-s2").not_checkable(
        "The ratings may not be passed on. The authors' published vector, whose counts, 762 of 10,000, are those of "
        "Table 3, is no random draw: in a public copy of the data set's first 9,999 ratings (named beside "
        "`binary_marginals.csv`) all are the vector's, in its order, and come from 9,697 customers."
    )
    claim("jrr/app-J-s3").not_checkable(
        "The reviews are not shipped, so no check that runs counts features. A public copy of the data set (named "
        "beside `binary_marginals.csv`) has 23,486 records in ten columns, the flag among them; its 19,314 "
        "recommendations are those of Table 3."
    )
    claim("jrr/app-J-s4").not_checkable(
        "The census extract is not at hand, and the records drawn are not named. The counts, 9,528 of 10,000, agree "
        "with the authors' published vector and with Table 3."
    )


def test_what_is_said_of_other_work():
    gains = []  # an estimate cut off at 0 and n, at all counts of four users
    for ones, r in itertools.product(range(5), (Fraction(-1, 2), Fraction(-1, 6))):
        errors = [Fraction(0), Fraction(0)]
        for told, chance in truth_law(4, Fraction(3, 5), r).items():
            estimate = (sum(true == (i < ones) for i, true in enumerate(told)) - Fraction(8, 5)) * 5
            errors[0] += chance * (estimate - ones) ** 2
            errors[1] += chance * (min(max(estimate, 0), 4) - ones) ** 2
        gains.append(errors[1] < errors[0] == jrr.variance(Fraction(ones), 4, Fraction(3, 5), r))
    assert len(gains) == 10
    assert all(gains)
    claim("jrr/intro-novelty").not_checkable(
        "A statement about the whole literature. Correlated noise among contributors is older for sums of numbers, as "
        "in the correlation-assisted estimation of Imtiaz, Mohammadi and Sarwate (2019). No earlier use for "
        "frequencies under local privacy is known to us, which proves nothing."
    )
    claim("jrr/sec-6-s1").not_checkable(
        "A survey of other work, most of which is outside the sources of this book. What the paper says of its own "
        "mechanism there is checked: that shuffling complements it as jrr/sec-4.6.5-s2, that the server sees no report "
        "as jrr/sec-4.5.1-s1, and here that post-processing can add to its utility."
    )

"""Protocols, clusters and raking of multi-dimensional randomized response: definitions and steps nobody doubts."""

import functools
import itertools
import json
import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import secure_sums
import sympy as sp
from scipy.stats import chi2

from ldp_lib import channel, grr, pure, subset
from ldp_lib.book.claims import claim
from ldp_lib.datasets import load_adult
from ldp_lib.population import Population
from ldp_lib.postprocess import project_simplex
from ldp_lib.tables import clusters, product
from ldp_lib.tables.covariance import table_covariance
from ldp_lib.tables.product import RRIndependent, RRJoint
from ldp_lib.tables.queries import ask_cells
from ldp_lib.tables.raking import rake
from ldp_lib.tables.sampled import ask_pairs

HALF, RATIO = Fraction(1, 2), Fraction(3)


@pytest.fixture(scope="module")
def adult():
    """Adult's 32,561 people and eight attributes."""
    return load_adult()


def keeping(t, k):
    """The channel that keeps a value with probability t and else draws one of k uniformly."""
    return t * np.eye(k, dtype=int) + (1 - t) * Fraction(1, k)


def random_channel(rng, k):
    """A channel of k values with rational entries, all positive."""
    return np.array([[Fraction(int(c), int(sum(row))) for c in row] for row in rng.integers(1, 9, size=(k, k))])


def exact_inverse(matrix):
    """The inverse of a matrix of fractions, in fractions."""
    exact = sp.Matrix(matrix).inv()
    return np.array([[Fraction(int(v.p), int(v.q)) for v in exact.row(i)] for i in range(len(matrix))])


# Section 3: separately, or at once.


def covariance(table):
    """The covariance of two attributes whose values are scored 0, 1, ..., from their joint table."""
    scores = [
        np.arange(size) - np.arange(size) @ table.sum(axis=1 - axis) / table.sum()
        for axis, size in enumerate(table.shape)
    ]
    return scores[0] @ table @ scores[1] / table.sum()


def mean_of_the_product(sizes, people, rng):
    """The exact mean of the product of estimated marginals, and the product of the true ones, for random channels."""
    channels = [random_channel(rng, k) for k in sizes]
    undo, records = [exact_inverse(P).T for P in channels], list(np.ndindex(*sizes))

    def marginals(found):  # of records
        return [
            np.array([Fraction(sum(r[j] == v for r in found), len(found)) for v in range(k)])
            for j, k in enumerate(sizes)
        ]

    def outer(factors):
        return functools.reduce(np.multiply.outer, factors).ravel()

    mean, _ = channel.exact_moments(
        channel.tensor(*channels),
        [records.index(r) for r in people],
        lambda y: outer([u @ share for u, share in zip(undo, marginals([records[v] for v in y]), strict=True)]),
    )
    return mean, outer(marginals(people))


def test_separate_randomization_gives_unbiased_marginals_and_their_product():
    # Two people hold (0, 0) and one (1, 1), so that the attributes depend on each other; all 64 outcomes.
    people, pair = [0, 0, 3], channel.tensor(grr.channel(RATIO, 2), grr.channel(RATIO, 2))

    def singles(reports):
        ones = [Fraction(y // 2) for y in reports], [Fraction(y % 2) for y in reports]
        return [pure.estimate(sum(x), 3, *grr.probabilities(RATIO, 2)) for x in ones]

    def multiplied(reports):
        a, b = singles(reports)
        return np.outer([1 - a, a], [1 - b, b]).ravel()

    marginal = np.array([Fraction(2, 3), Fraction(1, 3)])
    found, _ = channel.exact_moments(pair, people, singles)
    tables, _ = channel.exact_moments(pair, people, multiplied)
    # And for any two channels and any table: the marginal of the reports is the channel's image of the marginal.
    table = sp.Matrix(2, 3, sp.symbols("f:6"))
    rows = sp.Matrix([[*sp.symbols("a:2")], [*sp.symbols("b:2")]])
    free = sp.Matrix(3, 2, sp.symbols("c:6"))
    columns = free.row_join(sp.ones(3, 1) - free * sp.ones(2, 1))
    image = rows.T * table * columns * sp.ones(3, 1) - rows.T * (table * sp.ones(3, 1))
    # And the library inverts each observed marginal by the attribute's own matrix.
    rng, sizes = np.random.default_rng(5), (2, 3, 4)
    y, own = rng.integers(sizes, size=(20, 3)), [random_channel(rng, k) for k in sizes]
    whole = RRIndependent(k=sizes, channels=[P.astype(float) for P in own])
    undone = [
        np.allclose(
            whole.estimate_table(y, j), exact_inverse(P).T.astype(float) @ np.bincount(y[:, j], minlength=k) / 20
        )
        for j, (k, P) in enumerate(zip(sizes, own, strict=True))
    ]
    claim("rr-multidim/prot-1").holds(
        (found == marginal[1]).all(), image.applyfunc(sp.expand) == sp.zeros(2, 1), all(undone)
    )
    # Of three attributes, any channels and people that depend on each other: cell by cell, so for every set of cells.
    rng, groups = np.random.default_rng(3), ([(0, 2, 1), (1, 0, 0)], [(1, 1, 1), (1, 0, 1)])
    three = [mean_of_the_product((2, 3, 2), people, rng) for people in groups]
    claim("rr-multidim/s3.1-product").holds(
        (tables == np.outer(marginal, marginal).ravel()).all(), all((mean == true).all() for mean, true in three)
    )


def test_the_whole_record_at_once(adult):
    # As printed, (P^T)^-1 lambda, summed over S: any channel of the six records, any three people, any S.
    P = random_channel(np.random.default_rng(1), 6)
    sets = [[0], [1], [2], [3], [4], [5], [0, 3], [1, 2, 5]]

    def found_and_true(people, matrix):
        inverse = exact_inverse(matrix)

        def each_set(reports):
            table = inverse @ np.array([Fraction(c, 3) for c in channel.counts(reports, 6)])
            return [table[s].sum() for s in sets]

        mean, _ = channel.exact_moments(P, people, each_set)
        return list(mean) == [Fraction(sum(x in s for x in people), 3) for s in sets]

    groups = ([0, 0, 3], [1, 4, 5], [2, 2, 2])

    def only_the_count(matrix):
        scores = [exact_inverse(matrix)[:, s].sum(axis=1) for s in sets]  # what one report adds
        return all(len(set(v[s])) == 1 == len(set(np.delete(v, s))) for v, s in zip(scores, sets, strict=True))

    bent = np.array([[Fraction(c, 12) for c in np.roll([6, 1, 1, 2, 1, 1], i).tolist()] for i in range(6)])
    assert (bent == bent.T).all()  # the foil: symmetric, with unequal entries off the diagonal
    # The library asks for one count: the reports in the set, on all 1,814,400 cells.
    joint, rng = RRJoint(k=adult.k, epsilon=15.9), np.random.default_rng(1)
    y, inside = joint.perturb(adult.users(), rng=rng), rng.random(adult.k) < 0.1
    p, q = grr.probabilities(math.exp(joint.epsilon), inside.size)
    by_count = (inside[tuple(y.T)].mean() - inside.sum() * q) / (p - q)
    assert not any(found_and_true(people, P) for people in groups)  # the foil: P in place of its transpose
    claim("rr-multidim/prot-2").holds(
        all(found_and_true(people, P.T) for people in groups),
        only_the_count(grr.channel(Fraction(4), 6)) and not only_the_count(bent),
        np.isclose(ask_cells(joint, y, range(8), inside).estimate, by_count, rtol=1e-9),
    )


def test_the_data_and_their_cells(adult):
    names = ("workclass", "education", "marital-status", "occupation", "relationship", "race", "sex", "income")
    claim("rr-multidim/s6.1-adult").holds(
        32_500 < adult.n < 33_000,
        adult.names == names and adult.k == (9, 16, 7, 15, 6, 5, 2, 2),
        all(adult.select(j).histogram.min() > 0 for j in range(8)),  # every category is somebody's
    )
    claim("rr-multidim/s6.2-domain").holds(math.prod(adult.k) == 1_814_400)


def test_one_set_does_not_cost_a_table():
    big, rng = RRJoint(k=(2,) * 60, epsilon=45.0), np.random.default_rng(1)
    people = rng.integers(2, size=(1_000, 60))
    low = np.array([[True, False], [False, False]])
    estimate = ask_cells(big, big.perturb(people, rng=rng), (0, 1), low).estimate
    share = (people[:, :2].sum(axis=1) == 0).mean()
    q = (1 - product.keep_probability(45.0, 2**60)) / 4
    error = math.sqrt(pure.variance(share, 1_000, 1 - 3 * q, q))
    sizes = [RRJoint(k=(2,) * d, epsilon=1.0).estimate_table(people[:, :d]).size for d in (2, 4, 8)]
    # The note: what few people report leaves most of the table's cells at one and the same estimate.
    few = RRJoint(k=(2,) * 12, epsilon=1.0)
    y = few.perturb(people[:20, :12], rng=rng)
    table = few.estimate_table(y)
    assert len(np.unique(table)) <= len(np.unique(y, axis=0)) + 1 <= 21 < table.size
    reported = np.zeros(table.shape, dtype=bool)
    reported[tuple(y.T)] = True
    assert len(np.unique(table[~reported])) == 1
    assert reported.sum() <= 20 < table.size
    swapped = few.estimate_table(1 - y)  # the same numbers in other cells: the numbers alone do not say the table
    assert (np.unique(swapped) == np.unique(table)).all()
    assert (swapped != table).any()
    claim("rr-multidim/s3.2-cost").holds(sizes == [4, 16, 256], abs(estimate - share) < 5 * error < 0.1)


def test_the_confidence_factor_is_above_two():
    factors = np.sqrt(chi2.isf(0.05 / np.arange(2, 5_000), 1))
    claim("rr-multidim/s3.2-200pct").holds(factors[0] > 2, (np.diff(factors) > 0).all())


# Section 4: clusters.


def test_the_moments_of_the_proof_and_its_corollary():
    one = sp.ones(3, 1)
    ta, tb, p = sp.symbols("t_a t_b p", positive=True)
    F = sp.Matrix(3, 3, lambda u, w: sp.Symbol(f"f{u}{w}"))
    F = F.subs(F[2, 2], 1 - sum(F) + F[2, 2])
    # Any distributions of U^a and of U^b.
    ha, hb = (sp.Matrix([*sp.symbols(two), 1 - sum(sp.symbols(two))]) for two in ("g1 g2", "h1 h2"))
    sa, sb = sp.Matrix(sp.symbols("x1:4")), sp.Matrix(sp.symbols("y1:4"))

    def kept(t, h):
        return t * sp.eye(3) + (1 - t) * one * h.T

    mean = {"X": (sa.T * F * one)[0], "U": (sa.T * ha)[0]}
    other = {"X": (sb.T * F.T * one)[0], "U": (sb.T * hb)[0]}
    cases = list(itertools.product("XU", repeat=2))
    joint = {(i, j): mean[i] * other[j] for i, j in cases} | {("X", "X"): (sa.T * F * sb)[0]}
    chance = {(i, j): {"X": ta, "U": 1 - ta}[i] * {"X": tb, "U": 1 - tb}[j] for i, j in cases}
    by_twelve = sum(chance[c] * joint[c] for c in cases)
    by_eleven = sum(chance[i, j] * mean[i] * other[j] for i, j in cases)
    directly = (sa.T * kept(ta, ha).T * F * kept(tb, hb) * sb)[0]
    ends = (kept(ta, ha) * sa).T * F * one, (kept(tb, hb) * sb).T * F.T * one
    plain = joint["X", "X"] - mean["X"] * other["X"]
    claim("rr-multidim/eq-10-12").holds(
        sp.expand(by_twelve - directly) == 0,
        sp.expand(by_eleven - ends[0][0] * ends[1][0]) == 0,
        sp.expand(by_twelve - by_eleven - ta * tb * plain) == 0,
    )
    shrunk, draw, keep = [], np.random.default_rng(2), Fraction(2, 5)
    for a, b in ((2, 3), (4, 2), (3, 3), (5, 4)):
        table = draw.integers(1, 9, size=(a, b)) * Fraction(1)
        told = covariance(keeping(keep, a).T @ table @ keeping(keep, b))  # of the expected table
        shrunk.append(told == keep**2 * covariance(table))
    # The note: at one budget the pair of five values has the larger covariance, and not after the randomization.
    at_budget = [level * np.subtract(*grr.probabilities(RATIO, size)) ** 2 for level, size in ((1, 2), (2, 5))]
    assert at_budget[0] > at_budget[1]
    claim("rr-multidim/cor-1").holds(
        all(shrunk), sp.expand((by_twelve - by_eleven).subs({ta: p, tb: p}) - p**2 * plain) == 0
    )


def test_pearsons_correlation_is_that_of_the_records(adult):
    table = adult.select("education", "income").histogram
    records = np.repeat(np.argwhere(table > 0), table[table > 0], axis=0)
    random_tables, like_records = np.random.default_rng(1).integers(9, size=(20, 3, 4)), []
    for some in random_tables:  # r of either sign
        each = np.repeat(np.argwhere(some > 0), some[some > 0], axis=0)
        like_records.append((clusters.pearson(some), np.corrcoef(each.T)[0, 1]))
    assert min(r for _, r in like_records) < -0.1 < 0.1 < max(r for _, r in like_records)
    claim("rr-multidim/eq-8").holds(
        all(math.isclose(found, abs(r), rel_tol=1e-9) for found, r in like_records),
        math.isclose(clusters.pearson(table), abs(np.corrcoef(records.T)[0, 1]), rel_tol=1e-12),
        clusters.pearson(np.diag([Fraction(1, 4), Fraction(3, 4)])) == 1,
    )


def ends(dependence, sizes, max_cells, min_dependence):
    """Whether steps 5 to 18 of Algorithm 1, to the letter, end for two attributes, always finding the next element."""
    listed, place = [dependence], 0  # the list holds one pair until the two merge
    while place < len(listed) and listed[place] >= min_dependence:
        listed, place = ([], 0) if math.prod(sizes) <= max_cells else (listed, place + 1)  # "first", "the next element"
    return place < len(listed)


def algorithm_1(dependence, sizes, max_cells, min_dependence):
    """Algorithm 1 step by step, ending where its list ends."""
    parts = [{j} for j in range(len(sizes))]
    while True:
        listed = sorted(
            ((max(dependence[i, j] for i in a for j in b), a, b) for a, b in itertools.combinations(parts, 2)),
            key=lambda entry: -entry[0],
        )
        for between, a, b in listed:
            if between < min_dependence:
                return parts
            if math.prod(sizes[j] for j in a | b) <= max_cells:
                parts = [c for c in parts if c not in (a, b)] + [a | b]
                break
        else:
            return parts


def partitions(d):
    """Yield all partitions of 0 to d - 1, as tuples of tuples."""
    if not d:
        yield ()
        return
    for rest in partitions(d - 1):
        yield (*rest, (d - 1,))
        for i, c in enumerate(rest):
            yield (*rest[:i], (*c, d - 1), *rest[i + 1 :])


def left_between(dependence, parts):
    """The dependences between attributes of different clusters."""
    return [dependence[i, j] for a, b in itertools.combinations(parts, 2) for i in a for j in b]


def the_clusterings_agree(trials):
    """Whether the library and the steps of Algorithm 1 find the same clusters, and how often none fits at the end.

    Whether they are a partition, with no cluster of several attributes above the limit. And, for the trials that the
    threshold does not end, how far the largest dependence left and the sum of those left are above the least possible.
    (If a partition leaves at most t, the pairs above t are within its clusters, so their mergers fit and come first.)
    """
    rng, agree, full, kept, above = np.random.default_rng(1), True, 0, True, []
    for _ in range(trials):
        d = int(rng.integers(2, 6))
        upper = np.triu(rng.random((d, d)), 1)
        sizes, T_v, T_d = tuple(map(int, rng.integers(2, 6, size=d))), int(rng.integers(5, 130)), rng.random() * 0.6
        ours = clusters.cluster_attributes(upper + upper.T, sizes, max_cells=T_v, min_dependence=T_d)
        theirs = algorithm_1(upper + upper.T, sizes, T_v, T_d)
        agree &= {frozenset(c) for c in ours} == {frozenset(c) for c in theirs}
        cells = [math.prod(sizes[j] for j in c) for c in ours]
        kept &= sorted(j for c in ours for j in c) == list(range(d)) and max(cells) <= max(T_v, *sizes)
        full += len(ours) > 1 and all(
            max(upper[min(i, j), max(i, j)] for i in a for j in b) >= T_d for a, b in itertools.combinations(ours, 2)
        )
        allowed = [p for p in partitions(d) if all(len(c) == 1 or math.prod(sizes[j] for j in c) <= T_v for c in p)]
        pairs, every = left_between(upper + upper.T, ours), [left_between(upper + upper.T, p) for p in allowed]
        if max(pairs, default=0) >= T_d:
            least = min(max(x, default=0) for x in every), min(map(sum, every))
            above.append((max(pairs) - least[0], sum(pairs) - least[1]))
    return agree, full, kept, np.transpose(above)


def test_the_clustering_keeps_its_limits():
    two, merge = np.array([[1, 0.5], [0.5, 1]]), clusters.cluster_attributes
    alone, together = ((0,), (1,)), ((0, 1),)
    agree, full, kept, above = the_clusterings_agree(300)
    claim("rr-multidim/s4-conditions").holds(
        kept,
        above.shape[1] > 100 and (above[0] == 0).all() and above[1].max() > 0.1,  # the largest left, not their sum
        merge(two, (3, 4), max_cells=12, min_dependence=0.5) == together,
        merge(two, (3, 4), max_cells=11, min_dependence=0.5) == alone,
        merge(two, (3, 4), max_cells=12, min_dependence=0.6) == alone,
        merge(two, (16, 2), max_cells=10, min_dependence=0) == alone,  # a cluster of 16 cells: none is split
    )
    claim("rr-multidim/alg-1").misprint(
        ends(0.5, (3, 4), 12, 0.6),
        not ends(0.5, (3, 4), 11, 0.5) and not ends(0.5, (3, 4), 12, 0.5),  # to the letter
        agree and full > 20,  # with the list's end as the end
    )
    below_one = merge(0.99 * np.ones((2, 2)), (2, 2), max_cells=4, min_dependence=1)
    at_zero = merge(0 * two, (2, 2), max_cells=4, min_dependence=0)
    copies, with_a_value_nobody_has = (clusters.dependences({(0, 1): np.diag(held)}) for held in ([3, 1, 7], [0, 1, 3]))
    claim("rr-multidim/s6.5-td-limits").conditional(
        below_one == alone and at_zero == together,
        merge(copies, (3, 3), max_cells=9, min_dependence=1) == together
        and merge(copies, (3, 3), max_cells=8, min_dependence=1) == alone
        and merge(with_a_value_nobody_has, (3, 3), max_cells=9, min_dependence=1) == alone,
    )


def test_the_ends_of_cramers_v():
    """All tables of 2 by 3 values with counts up to 2, and of 3 by 3 with counts up to 1: exact.

    For every table: chi-squared over n, plus one, is the sum of (o / n_a)(o / n_b). That is at most the sum of o / n_a,
    the number of values of the first attribute that occur, and equal to it only if each o / n_b is 0 or 1, that is, if
    the second determines the first. The same with the two exchanged.
    """
    zero, one, unequal, stated = [], [], [], []

    def by_hand(table):  # chi-squared over n and over the smaller number of categories less one
        rows, columns, n = table.sum(axis=1), table.sum(axis=0), table.sum()
        cells = ((table[a, b], Fraction(rows[a] * columns[b], n)) for a, b in np.ndindex(*table.shape))
        return sum((o - e) ** 2 / e for o, e in cells if e) / n / min(len(rows) - 1, len(columns) - 1)

    def determined(table):  # whether the attribute of the rows is a function of the other and takes all its values
        return table.any(axis=1).all() and ((table > 0).sum(axis=0) <= 1).all()

    for shape, most in (((2, 3), 2), ((3, 3), 1)):
        for counts in itertools.product(range(most + 1), repeat=math.prod(shape)):
            table = np.array(counts).reshape(shape) * Fraction(1)
            rows, columns = table.sum(axis=1), table.sum(axis=0)
            if min(np.count_nonzero(rows), np.count_nonzero(columns)) < 2:
                continue  # an attribute that does not vary
            v = clusters.cramers_v(table, squared=True)
            stated.append(clusters.cramers_v(table.T, squared=True) == v == by_hand(table))
            stated.append(math.isclose(clusters.cramers_v(table), math.sqrt(v)))
            zero.append((v == 0) == (table * table.sum() == np.outer(rows, columns)).all())
            one.append((v == 1) == (determined(table) or determined(table.T)))
            unequal.append(0 <= v <= 1)
    unused = clusters.cramers_v(np.diag([1, 1, 0]) * Fraction(1), squared=True)
    claim("rr-multidim/eq-9").holds(all(stated), all(zero), all(one), all(unequal), unused == Fraction(1, 2))


def test_cramers_v_may_rise_if_a_report_stands_for_two_values():
    """Chi-squared over n never rises; its divisor falls if there are fewer reports than values."""
    merged = np.array([[1, 0], [0, 1], [0, 1]])
    table = np.diag([1, 1, 0]) * Fraction(1)
    v, told = (clusters.cramers_v(t, squared=True) for t in (table, merged.T @ table @ merged))
    assert (v, told) == (Fraction(1, 2), 1)
    keep = keeping(Fraction(9, 10), 2)
    private = merged @ keep  # so it is with a private channel
    assert clusters.cramers_v(private.T @ table @ private, squared=True) == Fraction(9, 10) ** 4 > v


def test_measuring_dependence_spends_budget_and_the_release_adds_its_own():
    one_record = channel.tensor(keeping(HALF, 2), keeping(HALF, 3))
    claim("rr-multidim/s4.1-dp").holds(
        channel.privacy_ratio(one_record) == 3 * 4, channel.privacy_ratio(keeping(Fraction(1), 2)) == math.inf
    )
    draw, spent = np.random.default_rng(1), []
    for _ in range(50):  # what is released may depend on the dependence that was found
        learnt, *releases = (random_channel(draw, 3) for _ in range(4))
        both = np.hstack([learnt[:, [y]] * releases[y] for y in range(3)])
        bound = channel.privacy_ratio(learnt) * max(map(channel.privacy_ratio, releases))
        spent.append(channel.privacy_ratio(both) <= bound)
    first, second = grr.channel(Fraction(2), 3), grr.channel(Fraction(5), 3)
    claim("rr-multidim/s4-composition").holds(
        all(spent), channel.privacy_ratio(channel.compose(first, second)) == 2 * 5
    )


def test_a_secure_sum_says_the_count_and_nothing_else():
    zero_sums = [s for s in itertools.product(range(4), repeat=3) if sum(s) % 4 == 0]
    received = [tuple(map(sum, zip(*choice, strict=True))) for choice in itertools.product(zero_sums, repeat=3)]
    assert len(received) == 4**6

    def broadcasts(bits, modulus=4):
        return Counter(tuple((b + s) % modulus for b, s in zip(bits, sums, strict=True)) for sums in received)

    laws = {bits: broadcasts(bits) for bits in itertools.product((0, 1), repeat=3)}
    right = all(sum(said) % 4 == sum(bits) for bits, law in laws.items() for said in law)
    hidden = all((laws[a] == laws[b]) == (sum(a) == sum(b)) for a in laws for b in laws)
    whole = [broadcasts(bits, modulus=99) for bits in laws]  # not reduced, as the step is printed
    assert all(a != b for a, b in itertools.combinations(whole, 2))
    # The least modulus that tells the counts 0 to n apart, and what n ones give.
    least = {n: min(m for m in range(1, 99) if len({c % m for c in range(n + 1)}) == n + 1) for n in range(1, 13)}
    coins = np.random.default_rng(1)
    count, _ = secure_sums.secure_sum([1, 0, 1, 1] * 50, rng=coins)
    claim("rr-multidim/s4.2-secure-sum").holds(right, hidden, count == 150)
    claim("rr-multidim/s4.2-modulus").holds(
        least == {n: n + 1 for n in least},
        [secure_sums.secure_sum([1] * n, rng=coins)[0] for n in least] == list(least),
    )


def test_the_symmetric_matrix_randomizes_least():
    e, k = sp.symbols("e k", positive=True)
    largest = sp.solve(sp.Symbol("T") * (1 + (k - 1) / e) - k, sp.Symbol("T"))[0]  # columns hold k in all
    kept = sp.Symbol("p", positive=True)  # the mended matrix: p + (1-p)/k on the diagonal, (1-p)/k elsewhere
    assert sp.cancel(kept + (1 - kept) / k - grr.probabilities(1 + kept * k / (1 - kept), k)[0]) == 0
    draw, within = np.random.default_rng(1), []
    for size in (2, 3, 5) * 20:
        some = random_channel(draw, size)
        level = channel.privacy_ratio(some)
        within.append(np.trace(some) <= size * level / (level + size - 1))
    claim("rr-multidim/s6.3.1-optimal").holds(sp.cancel(k * grr.probabilities(e, k)[0] - largest) == 0, all(within))


def test_a_cluster_spends_what_its_attributes_spend():
    equal = []
    for sizes in ((2, 3), (2, 2), (3, 4), (2, 5), (2, 2, 3)):
        for own in ((2, 3, 5), (Fraction(3, 2), 4, 2), (7, Fraction(9, 8), 3)):
            ratios = [Fraction(r) for r in own[: len(sizes)]]
            due, cells = math.prod(ratios), math.prod(sizes)
            level = 1 / (1 + (cells - 1) / due)  # p_C with the sign put right; off the diagonal p_C / due
            whole = np.full((cells, cells), level / due)
            np.fill_diagonal(whole, level)
            apart = channel.tensor(*map(grr.channel, ratios, sizes))
            equal.append(channel.privacy_ratio(whole) == channel.privacy_ratio(apart) == due)
    k, own = (2, 3, 4), (1.0, 0.5, 2.0)
    makes = clusters.RRClusters(k=k, clusters=((0, 2), (1,)), epsilons=own), RRIndependent(k=k, channels=own)
    levels = [math.log(channel.privacy_ratio(mechanism.channel())) for mechanism in makes]
    claim("rr-multidim/s6.3.2-equivalence").holds(all(equal), abs(levels[0] - levels[1]) < 1e-12)


def test_a_pair_at_once_has_less_error_than_the_whole_record_unless_epsilon_is_large(adult):
    """Each attribute would be kept with probability t by itself; a cluster spends what its attributes would."""
    some, sizes = list(itertools.combinations(range(8), 2)), adult.k

    def keeps_more(own):  # whoever keeps more has less error
        whole = product.keep_probability(math.fsum(own), math.prod(sizes))
        return {product.keep_probability(own[i] + own[j], sizes[i] * sizes[j]) > whole for i, j in some}

    ahead = {}
    for t in (0.1, 0.3, 0.4, 0.5, 0.7):
        own = [math.log(product.mixing_ratio(t, size)) for size in sizes]
        ahead[round(math.fsum(own), 1)] = keeps_more(own)
    assert ahead == {4.6: {True}, 10.7: {True}, 13.3: {True}, 15.9: {False}, 21.9: {False}}
    equal = {epsilon: keeps_more([epsilon / 8] * 8) for epsilon in (10.7, 13.3, 15.9)}  # parts, not one t
    assert equal == {10.7: {True}, 13.3: {True, False}, 15.9: {True, False}}
    chapter = (Path(__file__).parents[2] / "notebooks/audit_multidim.ipynb").read_text(encoding="utf-8")
    assert "as a cluster, with their part of ε at one $t$, give their table with less error" in chapter
    assert round(math.log(math.prod(adult.k)), 1) == 14.4


@pytest.mark.parametrize(("d", "size"), list(itertools.product((3, 4, 6, 12), (2, 3, 5, 20))))
def test_the_whole_record_overtakes_pairs_near_the_logarithm_of_the_number_of_cells(d, size):
    """Chapter audit_multidim, its advice: clusters of two at 2/d of epsilon, equal domains."""

    def pair_keeps_more(share):  # epsilon as a share of the logarithm
        epsilon = share * d * math.log(size)
        of_pair = product.keep_probability(2 * epsilon / d, size**2)
        return of_pair > product.keep_probability(epsilon, size**d)

    assert pair_keeps_more(0.69)
    assert not pair_keeps_more(1.01)


@pytest.mark.parametrize(("size", "stated"), [(2, 0.6), (10, 13)])
def test_at_once_single_frequencies_gain_or_pay_by_the_number_of_values(size, stated):
    """Chapter audit_multidim, its advice: two attributes at epsilon 1, uniform, the data held fixed."""
    people = Population.from_counts(np.full((size, size), 100))
    made = RRJoint(k=people.k, epsilon=1.0), RRIndependent(k=people.k, channels=[0.5, 0.5])
    at_once, apart = (np.hstack(one.variance(people)).sum() for one in made)
    assert float(f"{at_once / apart:.{1 if size == 2 else 2}g}") == stated


def test_a_table_from_separate_reports_has_up_to_the_product_of_both_factors(adult):
    """Chapter audit_multidim, its advice: all pairs of attributes at t = 0.3, users drawn at random."""
    kept, found = 0.3, []
    for pair in itertools.combinations(range(8), 2):
        truth = adult.select(*pair).histogram / adult.n
        steps = [keeping(kept, size).astype(float) for size in truth.shape]
        undo = np.kron(*map(np.linalg.inv, steps))
        told = (steps[0].T @ truth @ steps[1]).ravel()
        spread = np.diag(told) - np.outer(told, told)
        found.append(math.sqrt(np.trace(undo.T @ spread @ undo) / np.trace(spread)))
        assert math.isclose(np.linalg.norm(undo, 2), kept**-2)
    assert [round(of(found), 1) for of in (min, max)] == [7.0, 10.5]


def test_a_product_of_shares_is_nearer_at_a_small_epsilon(adult):
    """The advice of audit_multidim_evaluation: roots of all 28 tables' squared errors, and few people at t = 0.3."""
    pairs = list(itertools.combinations(range(8), 2))
    shares = {pair: adult.select(*pair).histogram / adult.n for pair in pairs}

    def of_product(totals):
        squares = 0
        for pair, table in shares.items():
            f = [table.sum(axis=1), table.sum(axis=0)]
            lengths = [(v**2).sum() for v in f]
            noisy = math.prod(v + totals[j] for v, j in zip(lengths, pair, strict=True))
            squares += ((np.outer(*f) - table) ** 2).sum() + noisy - math.prod(lengths)
        return math.sqrt(squares)

    found = {}
    for epsilon, n in [*itertools.product((1, 2, 3), (adult.n, 10**6)), (4, 3_000)]:
        ask = ask_pairs(adult.k, epsilon, None)
        spread = [np.trace(table_covariance(ask, shares[q], *q, n=n, sampling=False)) for q in pairs]
        best = [min(subset.error(math.exp(epsilon), k, size) for size in range(1, k)) for k in adult.k]
        alone = np.sqrt(best) * np.sqrt(best).sum() / n  # people dealt in proportion to the roots
        found[epsilon, n] = math.sqrt(sum(spread)), of_product(alone)
    assert [round(v, 1) for v in found[1, adult.n] + found[1, 10**6]] == [2.3, 0.6, 0.4, 0.5]
    assert [round(v, 1) for v in found[4, 3_000]] == [0.9, 0.6]
    assert found[2, adult.n][0] > found[2, adult.n][1]
    assert found[3, adult.n][0] < found[3, adult.n][1]
    for t, n, less in ((0.1, adult.n, True), (0.3, 3_000, True), (0.3, adult.n, False)):
        lengths = [product.squared_length(product.mixing_ratio(t, k), k) for k in adult.k]
        inverted = math.sqrt(sum(lengths[i] * lengths[j] - 1 for i, j in pairs) / n)
        assert (of_product([(v - 1) / n for v in lengths]) < inverted) is less


def test_clusters_known_beforehand_pay_from_a_third_on_and_at_a_tenth_for_many_people(adult):
    """The advice of audit_multidim_evaluation: roots of all 28 tables' squared errors, at the same risk."""
    shares = {q: adult.select(*q).histogram / adult.n for q in itertools.combinations(range(8), 2)}
    measured = clusters.dependences(shares)
    groups = [tuple((j,) for j in range(8))]  # apart, and clusters of up to 50, 100 and 300 cells
    groups += [clusters.cluster_attributes(measured, adult.k, max_cells=v, min_dependence=0.1) for v in (50, 100, 300)]

    def error(t, grouped, n):
        home = {j: group for group in grouped for j in group}
        spent = {g: math.prod(product.mixing_ratio(t, adult.k[j]) for j in g) for g in grouped}

        def noise(group, size):
            kept = product.keep_probability(math.log(spent[group]), math.prod(adult.k[j] for j in group))
            return (product.squared_length(product.mixing_ratio(kept, size), size) - 1) / n

        squares = 0
        for (i, j), table in shares.items():
            if home[i] == home[j]:
                squares += noise(home[i], table.size)
            else:
                f = [table.sum(axis=1), table.sum(axis=0)]
                lengths = [(v**2).sum() for v in f]
                noisy = math.prod(v + noise(home[x], adult.k[x]) for v, x in zip(lengths, (i, j), strict=True))
                squares += ((np.outer(*f) - table) ** 2).sum() + noisy - math.prod(lengths)
        return math.sqrt(squares)

    for t, n in itertools.product((0.3, 0.5, 0.7), (3_000, adult.n, 10**6)):
        apart, *grouped = (error(t, each, n) for each in groups)
        assert sorted(grouped, reverse=True) == grouped
        assert grouped[0] < 0.9 * apart
    apart, small, middle, large = (error(0.1, each, adult.n) for each in groups)
    assert 0.9 * apart < small < apart < middle < large
    apart, *grouped = (error(0.1, each, 10**6) for each in groups)
    assert sorted(grouped, reverse=True) == grouped
    assert grouped[0] < 0.9 * apart
    assert grouped[-1] < 0.55 * apart
    page = (Path(__file__).parents[2] / "notebooks/audit_multidim_evaluation.ipynb").read_text(encoding="utf-8")
    assert "they paid from $t = 0.3$ on, of a million people at 0.1 too, because their ε add up" in page


def test_a_relative_error_needs_somebody_in_the_set(adult):
    tables = [adult.select(*pair).histogram.ravel() for pair in itertools.combinations(range(8), 2)]
    emptiest, fullest = max(tables, key=lambda t: (t == 0).mean()), min(tables, key=lambda t: (t == 0).mean())

    def least_in_a_tenth(table):  # of all sets of a tenth of the cells
        return np.sort(table)[: round(0.1 * table.size)].sum()

    claim("rr-multidim/eq-16").conditional(least_in_a_tenth(fullest) > 0, least_in_a_tenth(emptiest) == 0)


def test_inverted_channels_are_nearer_than_raked_reports_only_where_randomization_is_light(adult):
    """Page results, the row's advice: all 28 tables of two attributes, their squared error in all."""
    rng, held, sizes, ahead = np.random.default_rng(6), adult.users(), adult.k, {}
    for t in (0.1, 0.3, 0.5):
        drawn = np.column_stack([rng.integers(size, size=adult.n) for size in sizes])
        sent, squares = np.where(rng.random(held.shape) < t, held, drawn), np.zeros(2)
        for i, j in itertools.combinations(range(8), 2):
            bins = [np.arange(sizes[x] + 1) for x in (i, j)]
            true, seen = (np.histogram2d(x[:, i], x[:, j], bins)[0] / adult.n for x in (held, sent))
            left, right = ((np.eye(sizes[x]) - (1 - t) / sizes[x]) / t for x in (i, j))
            inverted = left @ seen @ right
            nearest = project_simplex(inverted.ravel()).reshape(true.shape)
            aims = [project_simplex(inverted.sum(axis)) for axis in (1, 0)]
            there = np.argwhere(seen > 0)
            raked = np.zeros_like(true)
            raked[tuple(there.T)] = rake(there, aims, weights=seen[seen > 0], tolerance=1e-4).weights
            squares += [((nearest - true) ** 2).sum(), ((raked / raked.sum() - true) ** 2).sum()]
        ahead[t] = round(math.log2(squares[0] / squares[1]))
    assert ahead[0.1] > 0 > ahead[0.3] > ahead[0.5]
    page = " ".join((Path(__file__).parents[2] / "book/results.md").read_text(encoding="utf-8").split())
    assert "instead of raking {check}`where randomization is light <test_rr_multidim_records::" in page


# Section 5: raking.


def test_example_1():
    start = np.array([[Fraction(4, 10), 0], [Fraction(2, 10), Fraction(4, 10)]])

    def rescale(table, axis):
        return table * HALF / table.sum(axis=1 - axis, keepdims=True)

    first = rescale(start, 0)
    middle, table, others = [], start, []
    for _ in range(30):
        table = rescale(rescale(table, 0), 1)
        middle.append(table[1, 0])
        others.append(table[0, 1] == 0 and HALF - table[0, 0] == table[1, 0] and table[1, 1] == HALF)
    raked = rake([[0, 0]] * 4 + [[1, 0]] * 2 + [[1, 1]] * 4, [[0.5, 0.5]] * 2)
    # Let the middle weight be x after a pass; one more gives x / (4x + 1), so 1/x grows by 4.
    x = sp.symbols("x", positive=True)
    after = sp.Matrix([[sp.Rational(1, 2) - x, 0], [x, sp.Rational(1, 2)]])
    rows = sp.diag(*[1 / (2 * sum(after.row(i))) for i in range(2)]) * after
    both = rows * sp.diag(*[1 / (2 * sum(rows.col(j))) for j in range(2)])
    assert sp.cancel(1 / both[1, 0] - 1 / x) == 4
    claim("rr-multidim/ex-1").holds(
        [first[0, 0] / 4, first[1, 0] / 2, first[1, 1] / 4] == [Fraction(1, 8), Fraction(1, 12), Fraction(1, 12)],
        list(first.sum(axis=0)) == [Fraction(2, 3), Fraction(1, 3)],
        middle == [Fraction(1, 4 * (s + 1)) for s in range(1, 31)] and all(others),  # of four records: to 1/8 each
        not raked.converged and np.isclose(2 * raked.weights[4], 1 / (4 * 1001)),
        np.allclose(raked.weights[[0, 9]], 1 / 8, rtol=0, atol=1 / (4 * 1001)),
    )


def test_the_marginals_of_example_1():
    reports = sp.Matrix([4, 6]) / 10, sp.Matrix([6, 4]) / 10
    tilted = sp.Matrix([[6, 4], [2, 8]]) / 10, sp.Matrix([[8, 2], [4, 6]]) / 10
    wanted = [P.T.inv() * lam for P, lam in zip(tilted, reports, strict=True)]
    e = sp.symbols("e", positive=True)
    symmetric = (sp.Matrix(grr.inverse(e, 2)).T * reports[0])[0]
    assert sp.solve(symmetric - sp.Rational(1, 2), e) == []  # never with the symmetric matrices of Section 6.3
    assert sp.limit(symmetric, e, sp.oo) == sp.Rational(2, 5)
    claim("rr-multidim/ex-1-attainable").holds(
        wanted == [sp.Matrix([1, 1]) / 2] * 2, all(min(P) > 0 and P * sp.ones(2, 1) == sp.ones(2, 1) for P in tilted)
    )
    # Plausible: covariance c of the truth gives s = c t1 t2 in the reports, with t the channels' determinants.
    s = sp.symbols("s")
    slope = sp.diff(8 * sp.log(sp.Rational(24, 100) + s) + 2 * sp.log(sp.Rational(36, 100) - s), s)
    (peak,) = sp.solve(slope, s)
    lying = sp.Matrix([[3, 7], [5, 5]]) / 10
    assert lying.T.inv() * reports[0] == sp.Matrix([1, 1]) / 2
    assert lying.det() * tilted[1].det() < 0  # a channel with p_u < p_d in one column: the other table is the likelier
    assert slope.subs(s, sp.Rational(-1, 10)) > 0
    claim("rr-multidim/ex-1-plausible").holds(
        peak > sp.Rational(16, 100), slope.subs(s, 0) > 0, min(P.det() for P in tilted) > 0
    )


def divergence(a, b):
    used = a > 0
    return math.inf if (b[used] == 0).any() else float((a[used] * np.log(a[used] / b[used])).sum())


def test_closer_in_which_distance():
    observed, raked, independent = np.array([0.4, 0, 0.2, 0.4]), np.array([0.5, 0, 0, 0.5]), np.full(4, 0.25)
    distances = {
        "total variation": lambda a, b: np.abs(a - b).sum() / 2,
        "Euclidean": lambda a, b: math.sqrt(((a - b) ** 2).sum()),
    }
    assert divergence(independent, observed) == math.inf > divergence(raked, observed)
    assert divergence(observed, raked) == math.inf > divergence(observed, independent)
    claim("rr-multidim/ex-1-closer").holds(
        all(far(raked, observed) < far(independent, observed) for far in distances.values())
    )


def test_raking_finds_the_nearest_table():
    rng = np.random.default_rng(1)
    lam, aim = rng.dirichlet(np.ones(12), 2).reshape(2, 3, 4)
    aims = [aim.sum(axis=1), aim.sum(axis=0)]
    cells = np.argwhere(lam > 0)

    def raked(table):
        found = rake(cells, aims, weights=table.ravel())
        assert found.converged
        return found.table(cells, (3, 4))

    nearest = raked(lam)
    for _ in range(100):
        other = raked(rng.random((3, 4)))
        gap = divergence(other, lam) - divergence(other, nearest) - divergence(nearest, lam)
        assert abs(gap) < 1e-8
        assert divergence(other, lam) > divergence(nearest, lam)


def literally(records, marginals, passes):
    """Algorithm 2 to the letter, in fractions."""
    w = [Fraction(1, len(records))] * len(records)
    for _ in range(passes):
        for j, target in enumerate(marginals):
            sums = [Fraction(0)] * len(target)
            for wi, record in zip(w, records, strict=True):
                sums[record[j]] += wi
            factors = [(target[r[j]], sums[r[j]]) for r in records]
            w = [wi * f / s for wi, (f, s) in zip(w, factors, strict=True)]
    return w


def test_when_raking_cannot_work():
    square = [[0, 0], [0, 1], [1, 0], [1, 1]]
    quarter, zero = [Fraction(1, 4), Fraction(3, 4)], [Fraction(0), Fraction(1)]
    circle = [literally(square[::3], [[HALF] * 2, quarter], passes) for passes in (1, 2, 50)]
    stuck = rake(square[::3], [[0.5, 0.5], [0.25, 0.75]])
    rng, matched = np.random.default_rng(1), []
    while len(matched) < 90:  # tables with holes: the marginals of one are asked of another with the same holes
        shape = ((3, 4), (2, 5), (2, 3, 2))[len(matched) % 3]
        holes = rng.random(shape) < 0.3
        tables = np.where(holes, 0, rng.random((2, *shape)))
        axes = range(len(shape))
        aims = [tables[0].sum(axis=tuple(a for a in axes if a != j)) / tables[0].sum() for j in axes]
        if np.min(np.hstack(aims)) > 0:
            found = rake(np.argwhere(~holes), aims, weights=tables[1][~holes])
            matched.append(found.converged and found.gap < 1e-8)
    shrunk = []
    while len(shrunk) < 15:  # the table that has the marginals may be empty in more cells: slow, but in the limit
        holes = rng.random((3, 4)) < 0.3
        asked, start = np.where(holes, 0, rng.random((2, 3, 4)))
        asked[rng.random((3, 4)) < 0.4] = 0
        aims = [asked.sum(axis=1 - j) / asked.sum() for j in range(2)]
        if np.min(np.hstack(aims)) > 0:
            gaps = [
                rake(np.argwhere(~holes), aims, weights=start[~holes], max_passes=m, tolerance=1e-12).gap
                for m in (20, 200, 1_000)
            ]
            shrunk.append([b < max(a / 4, 1e-11) for a, b in itertools.pairwise(gaps)] + [gaps[1] > 1e-6])
    assert any(slow for *_, slow in shrunk)
    claim("rr-multidim/alg-2").conditional(
        all(matched) and all(first and second for first, second, _ in shrunk),
        circle[0] == circle[1] == circle[2] == quarter and not stuck.converged,
    )

    def divides_by_zero(*arguments):
        try:
            literally(*arguments)
        except ZeroDivisionError:
            return True
        return False

    early, late = [], []
    for _ in range(100):  # people with three attributes; the marginal of 0 is of value 0 of the attribute j
        people, j = rng.integers(2, size=(5, 3)), int(rng.integers(3))
        gone = people[:, j] == 0
        if gone.any():
            of_later = [gone[people[:, i] == v] for i in range(j + 1, 3) for v in (0, 1)]
            at_once = any(len(those) and those.all() for those in of_later)
            asked = people.tolist(), [zero if i == j else quarter for i in range(3)]
            early.append(divides_by_zero(*asked, 1) == at_once)
            late.append(divides_by_zero(*asked, 2))
    assert len(late) > 50
    assert all(early)
    assert all(late)
    claim("rr-multidim/alg-2-zero-division").conditional(
        not divides_by_zero(square, [quarter, [HALF] * 2], 5)
        and not divides_by_zero(square[2:], [zero, [HALF] * 2], 5),  # nobody reports the value whose marginal is 0
        not divides_by_zero(square, [zero, [HALF] * 2], 1)
        and divides_by_zero(square, [zero, [HALF] * 2], 2)
        and divides_by_zero(square[::3], [zero, [HALF] * 2], 1),  # all with one value of the next attribute report it
    )


def test_raking_costs_no_privacy():
    @functools.cache
    def raked(reports, budgets):
        y = np.array([[r // 2, r % 2] for r in reports])  # raked to RR-Independent's estimates
        found = [pure.estimate(m, 1, *grr.probabilities(e, 2)) for m, e in zip(y.mean(axis=0), budgets, strict=True)]
        return np.round(rake(y, [project_simplex([1 - f, f]) for f in found], max_passes=20).weights, 9)

    kept = []
    for budgets in ((3, 2), (5, 4), (2, 2)):
        step = channel.tensor(*(grr.channel(Fraction(e), 2) for e in budgets))
        adjusted = functools.partial(raked, budgets=budgets)  # of three users; of two all weights stay equal
        laws = {x: channel.exact_law(step, x, adjusted) for x in itertools.product(range(4), repeat=3)}
        users = itertools.product(range(4), repeat=4)
        ratios = [laws[u, *rest][o] / laws[v, *rest][o] for u, v, *rest in users for o in laws[u, *rest]]
        kept.append(1 < max(ratios) <= channel.privacy_ratio(step) == math.prod(budgets))
    claim("rr-multidim/s5-privacy").holds(len(kept) == 3, all(kept))


def test_the_two_extremes():
    everything = RRIndependent(k=(2, 3), channels=(np.eye(2), np.eye(3)))
    y = np.argwhere(np.ones((2, 3)))[[0, 0, 4, 5]]
    claim("rr-multidim/s5-extremes").holds(
        channel.privacy_ratio(keeping(Fraction(0), 4)) == 1,
        (everything.perturb(y, rng=np.random.default_rng(1)) == y).all(),
    )


def test_how_far_apart_the_methods_of_figure_3_are_in_many_randomizations():
    """Ratios of median relative errors, averaged over the coverages, by the code of the page."""
    page = Path(__file__).parents[2] / "notebooks/audit_multidim_evaluation.ipynb"
    starts = ("import it", "adult, ", "def randomized(", "def clusters_of", "best =", "def rew", "def est", "coverages")
    code, runs = {}, 200
    for cell in json.loads(page.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "code" and source.startswith(starts):
            exec(source, code)
    stated = {0.1: (1.06, 1.07), 0.3: (1.08, 1.27, 1.4)}
    for t, ratios in stated.items():
        rng, pairs = np.random.default_rng(21), {0.1: [(1, 0), (3, 2)], 0.3: [(0, 1), (0, 2), (0, 3)]}[t]
        each = [code["errors_of_sets"](t, rng, np.random.default_rng((22, run)))[1, 1:5] for run in range(runs)]
        batches = np.array(each).reshape(8, -1, 4, 9, 48)  # of 25 randomizations
        logs = np.log(np.median(np.moveaxis(batches, 1, -1).reshape(8, 4, 9, -1), axis=-1)).mean(axis=2)
        for (more, less), ratio in zip(pairs, ratios, strict=True):
            gap = logs[:, more] - logs[:, less]
            error = gap.std(ddof=1) / 8**0.5
            assert abs(gap.mean() - math.log(ratio)) < 0.005 + 3 * error, (t, more, less, np.exp(gap.mean()), error)
            assert error < 0.012

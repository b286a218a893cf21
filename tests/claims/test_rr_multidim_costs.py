"""The costs that the paper on multi-dimensional randomized response states, by counting operations and messages."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
import secure_sums
import sympy as sp
from scipy.stats import chi2, poisson

from ldp_lib import channel, grr, pure
from ldp_lib.book.claims import claim
from ldp_lib.datasets import load_adult
from ldp_lib.population import Population
from ldp_lib.tables import clusters as clustering
from ldp_lib.tables.clusters import RRClusters
from ldp_lib.tables.product import RRIndependent
from ldp_lib.tables.raking import rake

DONE = Counter()
ADULT = (9, 16, 7, 15, 6, 5, 2, 2)  # domain sizes of its eight attributes


class Counted:
    """An exact number that counts in DONE what is done with it; an array stands to its left."""

    def __init__(self, value):
        self.value = Fraction(value)


def operation(name, result):
    def apply(a, b):
        DONE[name] += 1
        return Counted(result(getattr(a, "value", a), getattr(b, "value", b)))

    return apply


for sign, name in (("+", "add"), ("+", "sub"), ("*", "mul"), ("/", "truediv")):
    function = operation(sign, getattr(Fraction, f"__{name}__"))
    setattr(Counted, f"__{name}__", function)
    setattr(Counted, f"__r{name}__", lambda a, b, function=function: function(Counted(b), a))
value = np.frompyfunc(lambda number: number.value, 1, 1)
counted = np.frompyfunc(Counted, 1, 1)


def count(call, *arguments):
    """Return a call's result and the numbers of additions (with subtractions), multiplications and divisions."""
    DONE.clear()
    return call(*arguments), (DONE["+"], DONE["*"], DONE["/"])


def quarters(a):
    half = len(a) // 2
    return a[:half, :half], a[:half, half:], a[half:, :half], a[half:, half:]


def strassen(a, b):
    """The product of two square matrices whose size is a power of 2, by seven products of half the size."""
    if len(a) == 1:
        return a * b
    (p, q, r, s), (t, u, v, w) = quarters(a), quarters(b)
    one, two, three = strassen(p + s, t + w), strassen(r + s, t), strassen(p, u - w)
    four, five, six, seven = strassen(s, v - t), strassen(p + q, w), strassen(r - p, t + u), strassen(q - s, v + w)
    return np.block([[one + four - five + seven, three + five], [two + four, one - two + three + six]])


def block_inverse(a):
    """The inverse of a matrix with positive leading minors: two inverses of half the size and six products."""
    if len(a) == 1:
        return 1 / a
    p, q, r, s = quarters(a)
    first = block_inverse(p)
    left, right = strassen(r, first), strassen(first, q)
    last = block_inverse(s - strassen(left, q))
    corner = strassen(right, last)
    return np.block([[first + strassen(corner, left), -1 * corner], [-1 * strassen(last, left), last]])


def any_inverse(a):
    """The inverse of a nonsingular matrix: a^T a has positive leading minors."""
    return strassen(block_inverse(strassen(a.T, a)), a.T)


def by_elimination(a):
    """The inverse of a matrix with positive leading minors in the schoolbook way."""
    rows = np.hstack([a, counted(np.eye(len(a), dtype=int))])
    for i in range(len(a)):
        rows[i] = rows[i] / rows[i, i]
        for j in set(range(len(a))) - {i}:
            rows[j] = rows[j] - rows[i] * rows[j, i]
    return rows[:, len(a) :]


def product_and_inverse(s):
    """Additions and multiplications for size 2^s: the solutions of the recursions of `strassen` and `any_inverse`."""
    s = sp.Integer(s) if isinstance(s, int) else s
    product = 6 * (7**s - 4**s), 7**s
    # I(2m) = 2 I(m) + 6 M(m), and per level two additions and two changes of sign of m by m matrices.
    added = sp.Rational(36, 5) * (7**s - 2**s) - 17 * (4**s - 2**s)
    multiplied = sp.Rational(6, 5) * (7**s - 2**s) + (4**s - 2**s)
    return product, (added + 2 * product[0], multiplied + 2 * product[1])


def test_inversion_by_strassen_takes_a_bounded_multiple_of_size_to_the_log2_of_7():
    turn = [[0, 1], [1, 0]]  # a leading block of it is singular
    inverse = any_inverse(counted(np.array(turn)))
    assert (value(inverse) == turn).all()
    exact, schoolbook = [], []
    for s in range(1, 5):
        matrix = counted(grr.channel(Fraction(3), 2**s))
        found, (added, multiplied, divided) = count(any_inverse, matrix)
        exact.append(bool((value(found) == grr.inverse(Fraction(3), 2**s)).all()))
        exact.append((added, multiplied) == product_and_inverse(s)[1] and divided == 2**s)
        plain, work = count(by_elimination, matrix)
        assert (value(plain) == value(found)).all()
        schoolbook.append(sum(work))
    s = sp.symbols("s", positive=True)
    bounded = sp.limit(sp.expand(sum(product_and_inverse(s)[1]) / 7**s), s, sp.oo)
    cubic = [large / small for small, large in itertools.pairwise(schoolbook)]
    assert min(cubic) > 8  # doubling the size: no bounded multiple of 7^s holds for the schoolbook
    assert 2.807 < math.log2(7) < 2.808

    entries, arithmetic = [], set()
    for k in (2, 4, 8, 16):
        matrix, work = count(grr.inverse, Counted(3), k)
        entries.append(matrix.size)
        arithmetic.add(work)
    # Counting Adult's reports takes more additions than all eight inversions by Strassen's algorithm.
    inversions = {k: sum(product_and_inverse(math.ceil(math.log2(k)))[1]) for k in ADULT}
    assert 32_561 < inversions[16] < sum(map(inversions.get, ADULT)) < 32_561 * len(ADULT)
    claim("rr-multidim/s3.1-cost").holds(
        all(exact), bounded.is_finite, entries == [4, 16, 64, 256], arithmetic == {(4, 0, 2)}
    )


@pytest.fixture
def thirds():
    """Marginals of nine attributes of three values, as counted numbers and as they are."""
    plain = [np.array([Fraction(j + 1, j + 6), Fraction(2, j + 6), Fraction(3, j + 6)]) for j in range(9)]
    return [counted(marginal) for marginal in plain], plain


def test_a_joint_cell_is_a_product_of_as_many_factors_as_attributes(thirds):
    marginals, plain = thirds
    right, one_cell, whole_table = [], [], []
    for m in range(1, 7):
        place, whole = ((1, 2, 0) * 2)[:m], RRIndependent(k=(3,) * m, epsilon=1.0)
        entries = [marginal[v : v + 1] for marginal, v in zip(marginals, place, strict=False)]
        found, done = count(whole.independent_table, entries, *range(m))
        table = plain[0]
        for marginal in plain[1:m]:
            table = np.multiply.outer(table, marginal)
        right.append(found.item().value == table[place])
        one_cell.append(done)
        whole_table.append(sum(count(whole.independent_table, marginals[:m], *range(m))[1]))
    assert whole_table[-1] > 3**6  # to build the table for one of its cells would be exponential
    claim("rr-multidim/s3.1-cost-joint").holds(all(right), one_cell == [(0, m, 0) for m in range(1, 7)])


def test_a_cluster_costs_what_one_attribute_with_as_many_values_costs(thirds):
    work, right = [], []
    for sizes in ((8,), (2, 4), (2, 2, 2)):
        pieces = [grr.channel(Fraction(3), k) for k in sizes]
        matrix = pieces[0]
        for piece in pieces[1:]:
            matrix = np.kron(matrix, piece)
        inverse, done = count(any_inverse, counted(matrix))
        right.append(bool((value(inverse) @ matrix == np.eye(8, dtype=int)).all()))
        work.append(done)
    marginals, plain = thirds
    pairs = [np.multiply.outer(*marginals[j : j + 2]) for j in (0, 2, 4)]
    place, done = (np.s_[0:1, 1:2], np.s_[1:2, 2:3], np.s_[2:3, 2:3]), []
    for number in (1, 2, 3):  # of clusters
        whole = RRClusters(k=(3, 3) * number, clusters=((0, 1), (2, 3), (4, 5))[:number], epsilons=(1.0, 1.0) * number)
        entries = [table[where] for table, where in zip(pairs, place[:number], strict=False)]
        found, work_of_cell = count(whole.independent_table, entries, *range(2 * number))
        done.append(work_of_cell)
        right.append(
            found.item().value == math.prod(plain[j][v.start] for j, v in enumerate(itertools.chain(*place[:number])))
        )
    claim("rr-multidim/s4-cost").holds(
        all(right), work == [(*product_and_inverse(3)[1], 8)] * 3, done == [(0, 1, 0), (0, 2, 0), (0, 3, 0)]
    )


def test_randomized_attributes_cost_each_person_three_times_m_numbers():
    def run(n, m, to_all=False):
        """Play the protocol; return how many numbers pass the collector, and each person, and whether it went right."""
        rng, k, passed, inbox = np.random.default_rng(1), (2, 3) * (m // 2), Counter(), []

        def send(sender, receiver, numbers):
            passed[sender] += np.size(numbers)
            passed[receiver] += np.size(numbers)

        def gather(reports):
            inbox.clear()
            for i, row in enumerate(reports):
                send(i, "collector", row)
                inbox.append(row)

        x = np.column_stack([rng.integers(size, size=n) for size in k])
        gather(RRIndependent(k=k, channels=(3.0,) * m).perturb(x, rng=rng))
        dependence = clustering.dependences(Population.from_records(np.array(inbox), k=k))  # from the messages alone
        clusters = clustering.cluster_attributes(dependence, k, max_cells=12, min_dependence=0.2)
        labels = [next(c for c, members in enumerate(clusters) if j in members) for j in range(m)]
        for i in range(n):
            send("collector", i, inbox if to_all else labels)
        told = [[j for j in range(m) if labels[j] == c] for c in range(len(clusters))]  # what a person makes of it
        gather(RRClusters(k=k, clusters=told, epsilons=(3.0,) * m).perturb(x, rng=rng))
        right = {frozenset(c) for c in told} == {frozenset(c) for c in clusters}
        return passed["collector"], {passed[i] for i in range(n)}, right

    sizes = list(itertools.product((5, 50, 500), (2, 4, 8)))
    played = {at: run(*at) for at in sizes}
    assert run(50, 4, to_all=True)[1] == {50 * 4 + 8}  # the foil: the whole data set for everybody to cluster
    claim("rr-multidim/s4.1-cost").holds(
        all(total == 3 * n * m for (n, m), (total, _, _) in played.items()),
        all(each == {3 * m} and right for (_, m), (_, each, right) in played.items()),
    )


class Watched(np.random.Generator):
    """A generator that notes how many numbers each call draws."""

    def integers(self, *arguments, size, **options):
        self.drawn.append(size)
        return super().integers(*arguments, size=size, **options)


def test_each_attribute_is_randomized_m_minus_one_times():
    """A change of one attribute shows in all pairs that hold it, and nowhere else: the ratio counts them."""
    pair, found = grr.channel(Fraction(2), 4), {}
    for m in (2, 3, 4):
        records = list(itertools.product((0, 1), repeat=m))
        rows = [
            channel.compose(*(pair[[2 * x[i] + x[j]]] for i, j in itertools.combinations(range(m), 2))) for x in records
        ]
        for x, y in itertools.combinations(range(len(records)), 2):
            changed = sum(a != b for a, b in zip(records[x], records[y], strict=True))
            ratio = channel.privacy_ratio(np.vstack([rows[x], rows[y]]))
            found.setdefault((m, changed), set()).add(ratio)
    claim("rr-multidim/s4.3-count").holds(
        {m: found[m, 1] for m in (2, 3, 4)} == {m: {2 ** (m - 1)} for m in (2, 3, 4)},
        {m: found[m, m] for m in (2, 3, 4)} == {m: {2 ** math.comb(m, 2)} for m in (2, 3, 4)},
    )


def test_a_secure_sum_is_linear_for_each_party_and_quadratic_for_all():
    by_party, in_all = {}, {}
    for n, k in itertools.product((5, 20, 40), ((2, 3), (2, 3, 4))):
        rng = Watched(np.random.PCG64(1))
        rng.drawn = []
        x = np.column_stack([np.arange(n) % size for size in k])
        for i, j in itertools.combinations(range(len(k)), 2):
            table = secure_sums.secure_table(x[:, [i, j]], (k[i], k[j]), rng=rng)
            assert (table == Population.from_records(x, k=k).select(i, j).histogram).all()
        sums = len(rng.drawn) // n
        shares = np.reshape(rng.drawn, (sums, n))  # by sum and party; the one that a party keeps included
        by_party[n, k] = set(shares.sum(axis=0).tolist())
        in_all[n, k] = sum(rng.drawn)
    cells = {k: sum(a * b for a, b in itertools.combinations(k, 2)) for _, k in in_all}
    assert cells == {(2, 3): 6, (2, 3, 4): 26}
    claim("rr-multidim/s4.2-cost").holds(
        by_party == {(n, k): {cells[k] * n} for n, k in by_party},
        in_all == {(n, k): cells[k] * n**2 for n, k in in_all},
    )


def test_masking_pairs_sends_no_more_and_inverts_more(monkeypatch):
    sums = []
    secure_sum = secure_sums.secure_sum

    def watched(bits, *, rng):
        sums.append(len(bits))
        return secure_sum(bits, rng=rng)

    monkeypatch.setattr(secure_sums, "secure_sum", watched)
    exchanged = {}
    for n, k in itertools.product((4, 8, 16), ((2, 2), (2, 3), (3, 4))):
        rng = np.random.default_rng(1)
        x = np.column_stack([rng.integers(size, size=n) for size in k])
        for way, call in (
            ("exact", lambda: secure_sums.secure_table(x, k, rng=rng)),  # noqa: B023
            ("masked", lambda: secure_sums.masked_table(x, k, 1.0, rng=rng)),  # noqa: B023
        ):
            sums.clear()
            call()
            exchanged[way, n, k] = list(sums)
    equal = all(exchanged["exact", n, k] == exchanged["masked", n, k] == [n] * math.prod(k) for _, n, k in exchanged)
    # Step 3c, estimation: two operations a cell with a symmetric matrix, an inversion with a general one.
    symmetric = [
        count(lambda: [pure.estimate(Counted(c), 20, *grr.probabilities(Fraction(3), cells)) for c in range(cells)])[1]  # noqa: B023
        for cells in (4, 6, 12)
    ]
    inversion = sum(product_and_inverse(6)[1])
    assert inversion > 64 * 1000  # more than 1,000 parties exchange with one of them for 64 cells
    claim("rr-multidim/s4.3-cost").holds(equal, symmetric == [(cells, 0, cells) for cells in (4, 6, 12)])


def adjust(records, marginals, passes):
    """Algorithm 2 as printed, each sum in one scan of the records."""
    w = [Counted(Fraction(1, len(records))) for _ in records]
    for _ in range(passes):
        for j, marginal in enumerate(marginals):
            sums = [Counted(0) for _ in marginal]
            for i, record in enumerate(records):
                sums[record[j]] = sums[record[j]] + w[i]
            for i, record in enumerate(records):
                w[i] = w[i] * marginal[record[j]] / sums[record[j]]
    return w


def test_a_pass_of_raking_takes_three_operations_for_each_record_and_attribute(monkeypatch):
    literal, scans = {}, []
    for (n, m), passes in itertools.product(((8, 2), (16, 2), (8, 3), (24, 3)), (1, 2, 5)):
        records = list(itertools.product((0, 1), repeat=m)) * (n // 2**m)
        marginals = [[Fraction(1, 3), Fraction(2, 3)]] * m
        weights, work = count(adjust, records, marginals, passes)
        literal[n, m, passes] = work
        raked = rake(records, np.array(marginals, float), max_passes=passes)
        assert np.allclose(raked.weights, value(weights).astype(float), rtol=1e-12, atol=0)
    bincount = np.bincount
    monkeypatch.setattr(
        np, "bincount", lambda column, **options: scans.append(len(column)) or bincount(column, **options)
    )
    shipped = {}
    for n, m, passes in ((20, 2, 3), (200, 2, 3), (200, 4, 3), (200, 4, 30)):
        scans.clear()
        y = np.random.default_rng(1).integers(2, size=(n, m))
        done = rake(y, [[0.3, 0.7]] * m, tolerance=1e-15, max_passes=passes).passes
        shipped[n, m, done] = sum(scans)
    assert len(shipped) == 4
    example_1 = [(0, 0)] * 4 + [(1, 0)] * 2 + [(1, 1)] * 4
    slow = [2 * value(adjust(example_1, [[Fraction(1, 2)] * 2] * 2, passes))[4] for passes in (1, 9, 40)]
    claim("rr-multidim/alg-2-cost").holds(
        literal == {(n, m, it): (n * m * it,) * 3 for n, m, it in literal},
        shipped == {(n, m, it): n * m * (it + 1) for n, m, it in shipped},  # and once more for the gap
        slow == [Fraction(1, 4 * (passes + 1)) for passes in (1, 9, 40)],  # two weights that add up to this
    )


def test_an_earlier_scheme_is_described_in_two_sentences_only():
    # Two independent coins and the pair of them: Algorithm 1 puts all three into one cluster, by way of the pair.
    sides = np.kron(np.eye(2), np.ones(2))
    dependence = clustering.dependences({(0, 1): np.ones((2, 2)), (0, 2): sides, (1, 2): np.tile(np.eye(2), 2)})
    one = clustering.cluster_attributes(dependence, (2, 2, 4), max_cells=16, min_dependence=0.3)
    assert one == ((0, 1, 2),)
    assert dependence[0, 1] == 0
    claim("rr-multidim/s7-superior").not_checkable(
        "Section 7 says of the earlier scheme that it needs non-negligible disclosure and can form clusters that are "
        "large or of nearly independent attributes. Whether Algorithm 1 is superior depends on the earlier scheme's "
        "algorithm, which our text does not give. Algorithm 1 too can put two independent attributes into one cluster, "
        "by way of a third."
    )


@pytest.mark.parametrize(("size", "keep"), [(9, Fraction(1, 10)), (3, Fraction(1, 2)), (2, Fraction(1, 5))])
def test_the_printed_level_is_that_of_the_printed_entries_if_what_is_missing_is_a_refusal(size, keep):
    other = (1 - keep) / size
    entries = np.full((size, size + 1), other)
    np.fill_diagonal(entries, keep)
    assert channel.privacy_ratio(channel.check_channel(entries)) == max(keep / other, other / keep)
    proper = (keep + other) / other  # Corollary 1
    assert channel.privacy_ratio(keep * np.eye(size, dtype=int) + other) == proper != keep / other


def test_at_a_thousand_answers_a_cell_the_intervals_cover_all_cells_of_adult_three_times_in_ten():
    cells = math.prod(ADULT)

    def covered(answers):
        """Probability that the relative intervals of equal cells all hold, the cells' counts taken as independent."""
        half = math.sqrt(chi2.isf(0.05 / cells, 1) * (1 - 1 / cells) / answers)
        below = poisson.cdf(math.ceil(answers / (1 + half)) - 1, answers)
        return math.exp(cells * math.log1p(-below - poisson.sf(math.floor(answers / (1 - half)), answers)))

    assert round(covered(1_000), 1) == 0.3
    assert covered(100) < 0.01 < 0.9 < covered(10_000) < 0.95
    assert round(load_adult().n / cells, 2) == 0.02

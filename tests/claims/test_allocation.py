"""The budget-allocation paper's definitions, costs and asides: what needs no chapter of its own."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import sympy as sp

from ldp_lib import channel, grr, hashing, pure, unary
from ldp_lib.book import printed_obrr
from ldp_lib.book.claims import claim
from ldp_lib.population import Population
from ldp_lib.splitting import BRR, MRR, OBRR, OMRR, allocation

FIRST, SECOND = (2, 4, 6, 7, 100), (5, 6, 150, 200, 250)


def largest_excess(matrix, level):
    """max over inputs x, x' and sets M of reports of Pr[F(x) in M] - level Pr[F(x') in M]."""
    reports = range(len(matrix[0]))
    sets = itertools.chain.from_iterable(itertools.combinations(reports, r) for r in range(len(matrix[0]) + 1))
    return max(
        sum(a[y] for y in chosen) - level * sum(b[y] for y in chosen)
        for chosen in sets
        for a, b in itertools.permutations(matrix, 2)
    )


def test_the_definition_by_sets_is_the_ratio_of_single_reports():
    levels = [Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4)]
    matrices = [
        grr.channel(Fraction(2), 3),
        grr.channel(Fraction(3), 4),
        unary.channel(Fraction(1, 2), Fraction(1, 4), 3),
    ]
    agree = [
        (largest_excess(m, level) <= 0) == (channel.privacy_ratio(m) <= level) for m in matrices for level in levels
    ]
    some_of_each = {largest_excess(m, level) <= 0 for m in matrices for level in levels}
    claim("obrr/def-1").holds(all(agree), some_of_each == {True, False})
    claim("obrr/eq-1").holds(
        all(largest_excess(grr.channel(e, 3), e) == 0 for e in levels),
        all(largest_excess(grr.channel(e, 3), e - Fraction(1, 100)) > 0 for e in levels),
    )


def test_different_domain_sizes_are_assumed_and_not_needed():
    equal = allocation.obrr((3, 3, 9), 1.0)
    for sizes, total in (((3, 3, 9), 1.0), ((2, 2, 2), 4.0), ((5, 250, 5, 250), 0.1)):  # and the optimum is one
        ways = (
            (allocation.obrr, lambda b, s: allocation.brr_error(math.expm1(b / 2), s)),
            (allocation.omrr, lambda b, s: allocation.mrr_error(math.expm1(b), s)),
        )
        for best, error in ways:
            budgets = np.array(best(sizes, total))
            assert len(set(budgets)) == len(set(sizes))  # as much for equal sizes
            for i, j in itertools.permutations(range(len(sizes)), 2):
                moved = budgets.copy()
                moved[[i, j]] += total / 100 * np.array([1, -1])
                assert sum(map(error, moved, sizes)) > sum(map(error, budgets, sizes))
    claim("obrr/s-distinct-k").holds(
        all(len(set(sizes)) == 5 for sizes in (FIRST, SECOND)), equal[0] == equal[1] < equal[2]
    )


def values_told_apart(k, bits, cohorts):
    """Return how many of k values so many bits tell apart: each cohort of people hashes the values anew."""
    hashed = np.random.default_rng(1).integers(bits, size=(cohorts, k))
    return np.linalg.matrix_rank(np.vstack([np.eye(bits)[:, named] for named in hashed]))


def test_a_filter_over_the_joint_domain_needs_the_product_of_the_sizes_if_every_candidate_has_a_bit():
    joint = [Population.from_counts(np.ones(k, dtype=int)).records.shape[0] for k in ((2, 3), (4, 2, 5), FIRST)]
    assert joint == [6, 40, math.prod(FIRST)]

    def sent(make):
        """Bytes of one person's report; a bit of a unary report takes one."""
        return [make(k=k, epsilon=1.0).perturb([k - 1], rng=np.random.default_rng(1)).nbytes for k in joint]

    hashed = sent(hashing.OLH)
    assert max(sent(grr.GRR)) <= 2  # other encodings of one value
    assert min(hashed) == max(hashed) < 20
    claim("obrr/s-rappor-domain").conditional(
        sent(unary.SUE) == sent(unary.OUE) == joint,
        [values_told_apart(k, 16, cohorts) for k, cohorts in ((6, 3), (40, 5), (480, 40))] == [6, 40, 480]
        and values_told_apart(40, 16, cohorts=1) < 40,  # the foil: with one group the bits do not suffice
    )


def test_quoted_orders_cannot_be_checked():
    claim("obrr/s-rappor-bound").not_checkable(
        "Quoted without a source for the order, and without saying in which norm the error is measured."
    )
    claim("obrr/s-em-exponential").not_checkable(
        "A remark on algorithms of other papers, which are cited (LoPub's, and that of RAPPOR-unknown) but not "
        "described; it is not said in what their computational complexity is exponential."
    )


def test_curves_without_values_cannot_be_checked():
    claim("obrr/fig-2").not_checkable(
        "The start, the step and the interval are not stated, and the values behind the curves are not printed."
    )
    claim("obrr/fig-3").not_checkable(
        "The curves' values are not printed; the percentages read from them are checked as sentences."
    )


def errors(k, budget):
    """Return n times the exact total variance of the four mechanisms."""
    equal = allocation.brr(k, budget)
    bits = [sum(allocation.brr_error(np.expm1(b / 2), k)) for b in (equal, allocation.obrr(k, budget))]
    values = [sum(allocation.mrr_error(np.expm1(b), k)) for b in (equal, allocation.omrr(k, budget))]
    return dict(zip(("BRR", "OBRR", "MRR", "OMRR"), bits + values, strict=True))


def test_the_errors_of_values_decline_gradually_as_the_budget_increases():
    x, k = sp.symbols("x k", positive=True)
    slope = sp.diff(allocation.mrr_error(x, k), x) * x**3 / (k - 1)  # x = e^budget - 1
    steps = []
    for sizes in (FIRST, SECOND):
        curves = [errors(np.array(sizes), b) for b in np.linspace(1, 6, 11)]
        steps += [np.diff(np.log10([of[m] for of in curves])) for m in ("MRR", "OMRR")]
    claim("obrr/fig-4").reproduced(
        sp.cancel(slope + 2 * x + 2 * k) == 0,  # below zero for every attribute
        np.min(steps) > -0.5 and np.max(steps) < -0.1,  # per half a unit of budget
    )


def test_at_budgets_above_those_of_table_3_obrr_is_not_best_and_mrr_not_worst():
    """`obrr/s-ranking-tab3`."""
    found = {b: errors(np.array(SECOND), b) for b in (1, 6, 11, 12, 17, 18, 20, 50, 200)}
    assert [b for b, of in found.items() if min(of, key=of.get) == "OBRR"] == [1, 6, 11]
    assert [b for b, of in found.items() if min(of, key=of.get) == "OMRR"] == [12, 17, 18, 20, 50, 200]
    assert [b for b, of in found.items() if max(of, key=of.get) == "MRR"] == [1, 6, 11, 12, 17]
    assert [b for b, of in found.items() if max(of, key=of.get) == "BRR"] == [18, 20, 50, 200]


def reports(make, k, n=7):
    x = np.column_stack([np.arange(n) % size for size in k])
    return make(k=k, epsilon=2.0).perturb(x, rng=np.random.default_rng(1))


class Counted:
    """A number that counts the arithmetic that is done with it."""

    operations = 0

    def __init__(self, value):
        self.value = value

    def counted(self, other):
        Counted.operations += 1
        return Counted(0)

    __add__ = __radd__ = __sub__ = __truediv__ = counted


def collecting(n, sizes):
    """Return the operations that it takes to add up n people's bits and to debias every sum."""
    Counted.operations = 0
    for size in sizes:
        for count in [sum(map(Counted, range(n))) for _ in range(size)]:
            pure.estimate(count, n, 0.75, 0.25)
    return Counted.operations


def words_drawn(make, k, n=2_000):
    """Return the random words of 64 bits that the library draws for one of n people; a Philox generator counts them."""
    source = np.random.Philox(1)
    x = np.column_stack([np.arange(n) % size for size in k])
    make(k=k, epsilon=2.0).perturb(x, rng=np.random.Generator(source))
    return (4 * int(source.state["state"]["counter"][0]) + source.state["buffer_pos"] - 4) / n


def test_the_size_of_reports():
    n, items, domains = 7, sum(SECOND), (FIRST, SECOND, tuple(2 * size for size in SECOND), SECOND * 2)
    sent = [[sum(y.size for y in reports(make, k)) for make in (BRR, OBRR, MRR, OMRR)] for k in domains]
    in_all = [[n * sum(k), n * sum(k), n * len(k), n * len(k)] for k in domains]

    def length(sizes):  # in bits, of one person's numbers
        return sum(math.ceil(math.log2(size)) for size in sizes)

    claim("obrr/s-comm").holds(sent == in_all, length(SECOND) == 30 < items == 611)
    claim("obrr/s-client-cost").holds(
        sent == in_all,
        all(len(k) < sum(k) for k in domains),
        # A byte a bit and one more for each 1, also where every second bit is a 1; and seldom a word.
        all(1 / 8 <= words_drawn(OBRR, k) / (sum(k) + len(k)) < 1 / 7 for k in (*domains, (2, 2), (2,) * 20)),
        all(1 / 8 <= words_drawn(OMRR, k) / len(k) < 1 for k in (*domains, (2, 2), (100_000,) * 5)),
    )
    claim("obrr/s-aggregator-cost").holds(
        # n additions for each of the d sums, and two operations to debias it.
        all(collecting(people, k) == (people + 2) * sum(k) for people in (1, 5, 9) for k in domains[:2]),
        sent == in_all,  # what there is to add: for OMRR one value an attribute
    )


def test_each_person_has_one_ticket_an_attribute():
    """The words beside Algorithm 3 ask for l ones a row; the bit vectors of Preliminaries have one in each block."""
    rng, blocks = np.random.default_rng(2), np.cumsum(FIRST)[:-1]
    x = np.column_stack([rng.integers(size, size=50) for size in FIRST])
    encoded = BRR(k=FIRST, epsilon=700.0).perturb(x, rng=rng)  # the library's bits: one flips with probability e^-70
    people = Population.from_records(x, k=FIRST)
    histograms = np.concatenate([people.select(j).histogram for j in range(people.d)])
    votes = np.split(encoded, blocks, axis=1)
    anywhere = rng.permuted(encoded, axis=1)  # the sums alone allow tickets for any attribute
    assert (anywhere.sum(axis=1) == 5).all()
    assert any((part.sum(axis=1) != 1).any() for part in np.split(anywhere, blocks, axis=1))
    claim("obrr/alg-3").holds(
        all((part.sum(axis=1) == 1).all() for part in votes),
        all((part.argmax(axis=1) == held).all() for part, held in zip(votes, x.T, strict=True)),
        (encoded.sum(axis=1) == 5).all(),
        (encoded.sum(axis=0) == histograms).all(),
        encoded.sum() == 5 * people.n,
    )


def newton_steps(digits):
    """Steps of Newton's method on f = x1 x2 - exp(eps/2) to this many digits, for 2 and 8 values, exact root."""
    with mpmath.workdps(2 * digits + 10):

        def total(level):  # both cubics by mpmath's own root finder; x = 2 and x = 3 at lambda T = 12
            found = mpmath.mpf(1)
            for size, near in ((2, 2), (8, 3)):
                found *= mpmath.findroot(lambda x, s=size: level * (x - 1) ** 3 - s * x * (x + 1), near)
            return found - 6

        level, steps, exact = mpmath.mpf(11), 0, mpmath.mpf(12)
        while abs(level / exact - 1) > mpmath.mpf(10) ** -digits:
            h = mpmath.mpf(10) ** -(digits + 5)
            level -= total(level) * h / (total(level + h) - total(level))
            steps += 1
        return steps


def test_the_cost_of_the_allocation():
    steps = [newton_steps(digits) for digits in (4, 8, 16, 32, 64)]
    root = printed_obrr.newton(FIRST, 6.0, start=1e-3, threshold=1e-9).lam
    bad_start = printed_obrr.newton(FIRST, 6.0, start=2 * root)
    x = sp.symbols("x")

    def above_one(level):
        """How many x above 1 solve Eq. (8), size by size."""
        a = sp.Rational(level) * 20  # about exp(epsilon / 2); only the sign matters
        return [sp.Poly(a * (x - 1) ** 3 - size * x * (x + 1), x).count_roots(1, None) for size in FIRST]

    claim("obrr/s-complexity").conditional(
        steps == list(range(steps[0], steps[0] + 5)),
        bad_start.end == "lambda <= 0"
        and not bad_start.budgets
        and (above_one(root), above_one(bad_start.lam)) == ([1] * 5, [0] * 5),
    )


def test_the_allocation_needs_no_data():
    tables = (np.arange(1, 7).reshape(2, 3), [[9, 0, 0], [1, 5, 80]], [[0, 0, 0], [0, 0, 7]])
    populations = [Population.from_counts(table) for table in tables]
    step, total = 1 / 25, 4.0
    grid = np.arange(step, total, step)

    def best_with_the_data(oracle, people, values=slice(None)):
        """Attribute 0's budget at which the exact error of the chosen values is least, found by trying them all."""
        alone = [people.select(j) for j in range(people.d)]

        def error(first):
            budgets = (first, total - first)
            pairs = zip(people.k, budgets, alone, strict=True)
            return sum(oracle(k=size, epsilon=b).variance(p)[values].sum() for size, b, p in pairs)

        return min(grid, key=error)

    offline = [make(k=(2, 3), epsilon=total).budgets[0] for make in (OBRR, OMRR)]
    best = [{best_with_the_data(oracle, p) for p in populations} for oracle in (unary.SUE, grr.GRR)]
    # The foil: were only each attribute's first value of interest, the best budgets would depend on the data.
    assert len({best_with_the_data(grr.GRR, p, slice(1)) for p in populations}) > 1
    claim("obrr/s-offline").holds(
        [len(found) for found in best] == [1, 1],
        all(abs(found.pop() - stated) <= step for found, stated in zip(best, offline, strict=True)),
    )


def test_the_first_root_of_cardanos_formula_is_the_one_above_one():
    x, r = sp.symbols("x r", positive=True)  # the cubic (x-1)^3 = r x (x+1), r = n k / A
    m = sp.symbols("m", positive=True)  # 1 for OBRR, k - 1 for OMRR
    depressed = printed_obrr.depressed(*printed_obrr.coefficients(sp.S(1), r, m))
    p, q = (sp.expand(part.subs(m, 1)) for part in depressed)
    cases = list(itertools.product((1, 10, sp.Rational(52, 5), 11, 1000), (1, 3, 249)))
    cubics = [sp.Poly((x - 1) ** 3 - v * x * (x + size), x) for v, size in cases]
    misses = []
    for (v, size), cubic in zip(cases, cubics, strict=True):
        first = printed_obrr.first_root(*printed_obrr.coefficients(1.0, float(v), size))
        misses.append(abs(first / complex(max(cubic.nroots(20), key=sp.re)) - 1))
    # The note: digits at a budget of 0.001, by the formula and by u = 4x / (x-1)^2, for which u^3 + u^2 = (4 / r)^2.
    above_one = math.expm1(0.0005)
    level = above_one**3 / ((1 + above_one) * (2 + above_one))
    by_formula = printed_obrr.first_root(*printed_obrr.coefficients(1.0, level, 1)).real
    u = np.roots([1, 1, 0, -((4 / level) ** 2)]).real.max()
    found = 2 * math.log(by_formula), 4 * math.asinh(1 / math.sqrt(u))
    lost = [abs(budget / 0.001 - 1) for budget in found]
    # For every r and m: none from 0 to 1, where (x-1)^3 <= 0 <= r x (x+m) and not both are 0. For x = 1 + t Descartes'
    # rule: one change of sign, so one root above 1.
    t = sp.symbols("t")
    printed = zip(printed_obrr.coefficients(sp.S(1), r, m), (3, 2, 1, 0), strict=True)
    above = sp.Poly(sp.expand(sum(c * (1 + t) ** power for c, power in printed)), t).all_coeffs()
    claim("obrr/s-root-selection").holds(
        above[0] == 1 and all(min(sp.Poly(-c, r, m).coeffs()) > 0 for c in above[1:]),
        all(c.count_roots(1, None) == c.count_roots(0, None) == 1 for c in cubics),  # Sturm: no other is positive
        # p < 0 and q < 0: the two cubes are positive or conjugate, so the sum of their roots is the largest root.
        all(min(sp.Poly(sp.expand(-part), r, m).coeffs()) > 0 for part in depressed),
        sp.expand(q**2 / 4 + p**3 / 27 + r**2 * (r**2 - 108) / 108) == 0,  # three real roots above 6 sqrt 3
        max(misses) < 1e-12,
        lost[0] > 1e-7 and lost[1] < 1e-12,
    )

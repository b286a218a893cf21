"""The steps of the Corr-RR paper's proofs (first version, Appendix 6; revised version, Appendix 7) and its notation.

The report law that every step is held against is summed over the coin, the values, the randomized report and the copy.
The first version's d in the appendix is the domain size, here k; f_a belongs to the attribute that copies, f_b to the
pivot.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import sympy as sp

from ldp_lib import channel as channels
from ldp_lib import check, corr_rr, grr, splitting
from ldp_lib.book.claims import claim
from ldp_lib.book.printed_corr_rr import appendix_minimizer, appendix_table
from ldp_lib.corr_rr import CorrRR
from ldp_lib.datasets import load_corr_rr
from ldp_lib.population import Population, marginal_frequencies

e, n2, py = sp.symbols("e n_2 p_y", positive=True)
fa, fb, k = sp.symbols("f_a f_b k", positive=True)
SIZES = (2, 3, 4)
HALF = sp.Rational(1, 2)
ELEVENTHS = [Fraction(i, 11) for i in range(12)]


def shares(name, size):
    """Return symbols for a distribution over `size` values."""
    free = sp.symbols(f"{name}1:{size}", positive=True)
    return (*free, 1 - sum(free))


def copied(size, f):
    """Return the law of a copy of a pivot with frequencies f: sum over the true value, the report and the copy."""
    truth, law = grr.channel(e, size), [sp.Integer(0)] * size
    for x, y, v in itertools.product(range(size), repeat=3):
        law[v] += f[x] * truth[x, y] * (py if v == y else (1 - py) / (size - 1))
    return law


def direct(size, f):
    """Return the law of the pivot's own report."""
    truth = grr.channel(e, size)
    return [sum(f[x] * truth[x, v] for x in range(size)) for v in range(size)]


def is_zero(expression):
    """Whether a rational expression is 0: its numerator is, expanded, which is faster than to cancel."""
    return bool(sp.expand(sp.numer(sp.together(expression))) == 0)


def differs(expression):
    """Whether an expression is not 0 at one rational point, with small shares for the symbols of a distribution."""
    names = sorted(expression.free_symbols, key=str)
    point = {x: sp.Rational(i + 2, 23) if str(x)[0] in "ab" else sp.Rational(i + 5, 2) for i, x in enumerate(names)}
    return bool(expression.subs(point) != 0)


def printed(size, a=fa, b=fb):
    """Return the first version's quantities for one value, as printed, with its d replaced by the domain size."""
    p, q = grr.probabilities(e, size)
    gap, d0, slope = p - q, 1 - a - b, 2 * b - 1
    alpha, beta = (1 - gap) / size + gap / 2 * (d0 + 2 * a), gap / 2 * slope
    return {
        "p": p,
        "q": q,
        "gap": gap,
        "d0": d0,
        "slope": slope,
        "alpha": alpha,
        "beta": beta,
        "A": (d0 + py * slope) / 2,
        "B": gap / 2 * (a - b + py * slope),
        "L1": beta * (1 - 2 * alpha) / (n2 * gap**2),
        "L2": beta**2 / (n2 * gap**2),
    }


def true_pi(size):
    """Return the true probability of reporting value 0 on the copying attribute, and the two frequency tuples."""
    a, b = shares("a", size), shares("b", size)
    return (direct(size, a)[0] + copied(size, b)[0]) / 2, a, b


def everywhere(identity):
    """Whether an identity between the truth and what is printed holds: k = 2; k = 3; k = 3 and p_y = 1 or f_b = 1."""
    found = []
    for size in (2, 3):
        pi, a, b = true_pi(size)
        found.append(identity(size, pi, a[0], b[0], printed(size, a[0], b[0])))
    ends = found[1].subs(py, 1), found[1].subs(b[0], 1)
    return is_zero(found[0]), is_zero(found[1]), all(map(is_zero, ends))


def first_phase(mechanism, users, record=0):
    """Return the first phase's reports, (n1, d), where all users hold one record: of zeros if none is given."""
    x = np.zeros((users, len(mechanism.k)), dtype=int) + record
    return mechanism.perturb(x, rng=np.random.default_rng(1))[0]


def law_of_zeros(matrices):
    """Return the law of the reports on the record of zeros if each attribute has its own channel."""
    words = itertools.product(*(range(len(matrix)) for matrix in matrices))
    return dict(zip(words, channels.tensor(*matrices)[0], strict=True))


def test_phase_one_and_the_notation():
    root, size, d = sp.symbols("r k d", positive=True)
    p1, q1 = grr.probabilities(root, size)
    truths = (first_phase(CorrRR(k=(3, 3), epsilon=1.0, n1=0.9), 400_000) == 0).astype(float)
    stated, doubled = (grr.probabilities(math.exp(budget), 3)[0] for budget in (1 / 2, 1))
    claim("corr-rr-v1/eq-phase1-grr").holds(
        is_zero(p1 - root / (root + size - 1)),
        is_zero(q1 - 1 / (root + size - 1)),
        max(check.mean_z(column, stated) for column in truths.T) < 5,
        min(check.mean_z(column, doubled) for column in truths.T) > 5,
    )
    # The whole law of three attributes' reports, each with another value, so that all rows of the channel are seen.
    # Foils: another budget, and false values that are not equally likely.
    record, each = (0, 1, 2), grr.channel(math.e, 3)
    three = first_phase(CorrRR(k=(3, 3, 3), epsilon=3.0, n1=0.9), 200_000, record)
    other = grr.channel(1.1 * math.e, 3)
    uneven = each + np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]]) / 100
    laws = [law_of_zeros([np.roll(matrix, -x, axis=0) for x in record]) for matrix in (each, other, uneven)]
    one_coin = {tuple((x + y) % 3 for x in record): each[0, y] for y in range(3)}
    claim("corr-rr-v1/alg-1-phase1").holds(
        check.law_z(three, laws[0]) < 5,
        min(check.law_z(three, law) for law in laws[1:]) > 5,
        check.law_z(three, one_coin) > 5,  # one coin for each attribute and not one for all
    )
    claim("corr-rr-v1/rem-p1q1").conditional(
        is_zero((p1 + q1 - 1).subs(size, 2)),
        (p1 + q1).subs({root: 2, size: 3}) == sp.Rational(3, 4) and is_zero(p1 + (size - 1) * q1 - 1),
    )
    claim("corr-rr-v1/rem-p2q2").conditional(
        is_zero(sum(grr.probabilities(e, 2)) - 1),
        sum(grr.probabilities(Fraction(3), 4)) == Fraction(2, 3),
    )
    # Read as printed, without brackets, p is d whatever the budget; with them, d is the domain size, not the number 2.
    as_printed = e / e + d - 1
    p_two, q_two = grr.probabilities(Fraction(3), 2)
    claim("corr-rr-v1/notation-d").misprint(is_zero(as_printed - d), p_two + 3 * q_two != 1)


def test_phase_one_is_unbiased_whatever_the_correlation():
    root, users = Fraction(2), [(0, 0), (1, 1), (1, 1)]  # the two attributes are equal
    words = list(itertools.product(range(2), repeat=2))
    p1, q1 = grr.probabilities(root, 2)

    def estimates(reports):
        n1, counts = len(reports), [sum(words[y][j] == v for y in reports) for j in (0, 1) for v in (0, 1)]
        return [(count - n1 * q1) / (n1 * (p1 - q1)) for count in counts]

    def mean_of(group):
        return list(
            channels.exact_moments(splitting.channel(root, (2, 2)), list(map(words.index, group)), estimates)[0]
        )

    truth = [Fraction(1, 3), Fraction(2, 3)] * 2
    unbiased = []
    for size in SIZES:  # and in general, for any frequencies and budget
        f, (p, q) = shares("f", size), grr.probabilities(e, size)
        unbiased += [is_zero((law - q) / (p - q) - v) for law, v in zip(direct(size, f), f, strict=True)]
    # Two of the three users, chosen at random: the mean is all users' frequencies, but not that of a given choice.
    groups = [mean_of(group) for group in itertools.combinations(users, 2)]
    drawn = [sum(column) / len(groups) for column in zip(*groups, strict=True)]
    claim("corr-rr-v1/eq-2").holds(mean_of(users) == drawn == truth, truth not in groups, *unbiased)
    claim("corr-rr-v2/eq-phase1-est").holds(mean_of([(0, 1), (1, 0), (1, 1)]) == drawn == truth, *unbiased)


def test_the_two_phases_are_combined_by_their_numbers_of_users():
    mechanism = CorrRR(k=(3, 3), epsilon=2 * math.log(2), n1=2)
    first, second = np.array([[0, 2], [1, 2]]), np.array([[0, 0], [1, 0], [0, 2]])
    found, by_hand = mechanism.estimate((first, second)), []
    (p1, q1), (p2, q2) = grr.probabilities(Fraction(2), 3), grr.probabilities(Fraction(4), 3)
    for j in (0, 1):
        one = [(Fraction(int((first[:, j] == v).sum())) - 2 * q1) / (2 * (p1 - q1)) for v in range(3)]
        two = [(Fraction(int((second[:, j] == v).sum())) - 3 * q2) / (3 * (p2 - q2)) for v in range(3)]
        by_hand.append([(2 * x + 3 * y) / 5 for x, y in zip(one, two, strict=True)])
    same = bool(np.allclose(found, np.array(by_hand, dtype=float), rtol=1e-12, atol=1e-12))
    # Phase I has no bias, so what is left is Phase II's, by its share of the users: none for equal frequencies only.
    laws = np.array([[Fraction(4, 5), Fraction(1, 5)]] * 2), np.array([[Fraction(4, 5), Fraction(1, 5)], [HALF, HALF]])
    for f, same_shares in zip(laws, (True, False), strict=True):
        people = Population.from_counts((100 * np.outer(*f)).astype(int))
        off = np.array(CorrRR(k=(2, 2), epsilon=1.0, n1=25, reuse=1.0).mean(people)) - f.astype(float)
        beyond = (corr_rr.expectation(f, [[1, 1], [1, 1]]) - f).astype(float)
        same &= bool(np.allclose(off, 0.75 * beyond, rtol=0, atol=1e-12)) and (not beyond.any()) == same_shares
    claim("corr-rr-v1/eq-combine").holds(same)
    claim("corr-rr-v1/alg-1-l14").holds(same, all(sum(row) == 1 for row in by_hand))
    claim("corr-rr-v2/eq-combine").holds(same)
    # A number of its own for each quantity: 4 values, 3 attributes, 2 + 60 users.
    mechanism = CorrRR(k=(4, 4, 4), epsilon=1.0, n1=2)
    x = np.random.default_rng(1).integers(4, size=(62, 3))
    one, two = mechanism.perturb(x, rng=np.random.default_rng(2))
    claim("corr-rr-v2/tab-1").holds(one.shape == (2, 3), two.shape == (60, 3), {*one.flat, *two.flat} == {0, 1, 2, 3})


def test_first_version_the_two_branches():
    p, q = grr.probabilities(e, k)
    gap = p - q
    cases = []
    for size in SIZES:
        f = shares("f", size)
        own, (pk, qk) = direct(size, f), grr.probabilities(e, size)
        cases.append(all(is_zero(own[v] - (qk + (pk - qk) * f[v])) for v in range(size)))
    claim("corr-rr-v1/app-6.1-case1").holds(*cases)
    claim("corr-rr-v1/app-6.1-case2").holds(*cases, is_zero(p * fb + q * (1 - fb) - (q + gap * fb)))
    claim("corr-rr-v1/app-6.1-complement").holds(is_zero(1 - (q + gap * fb) - ((k - 1) * q + gap * (1 - fb))))
    claim("corr-rr-v1/app-6.1-q").holds(is_zero(q - (1 - gap) / k))
    left = (1 - py) / (k - 1) * ((k - 1) * q + gap * (1 - fb))
    right = (1 - py) * (q + gap * (1 - fb))
    witness = {k: 3, e: 4, fb: HALF, py: HALF}
    mended = (1 - py) * (q + gap * (1 - fb) / (k - 1))
    claim("corr-rr-v1/app-6.1-conditional").conditional(
        all(is_zero((left - right).subs(*at)) for at in ((k, 2), (py, 1), (fb, 1))),
        (left.subs(witness), right.subs(witness)) == (sp.Rational(7, 48), sp.Rational(5, 24))
        and is_zero(right - left - gap * (1 - fb) * (1 - py) * (k - 2) / (k - 1))
        and is_zero(left - mended),
    )


def averages_are_enumerated(size, odds, reuse):
    """Whether the average of the two branches is attribute 1's law in the channel of records, for dependent data."""
    records = list(itertools.product(range(size), repeat=2))
    weights = [Fraction(1 + (3 * x + y * y) % 5) for x, y in records]
    joint = [w / sum(weights) for w in weights]
    a, b = ([sum(c for c, x in zip(joint, records, strict=True) if x[j] == v) for v in range(size)] for j in (0, 1))
    assert joint[0] != a[0] * b[0]
    reports = np.array(joint) @ corr_rr.channel(odds, size, [[Fraction(1), Fraction(1, 7)], [reuse, Fraction(1)]])
    point = {e: odds, py: reuse}
    for v in range(size):
        enumerated = sum(c for c, y in zip(reports, records, strict=True) if y[0] == v)
        if sp.Rational(enumerated) != ((direct(size, a)[v] + copied(size, b)[v]) / 2).subs(point):
            return False
    return True


def test_first_version_the_report_law():
    claim("corr-rr-v1/app-6.1-marginalise").holds(
        *[averages_are_enumerated(size, Fraction(3), Fraction(2, 5)) for size in SIZES]
    )
    s = printed(k)
    bracket = fa + (1 - py) + fb * (2 * py - 1)
    claim("corr-rr-v1/app-6.1-identity").holds(is_zero(bracket - (s["d0"] + 2 * fa + py * s["slope"])))

    def as_printed(size, pi, a, b, s):
        return pi - (s["q"] + s["gap"] / 2 * (a + (1 - py) + b * (2 * py - 1)))

    # For k = 3 the printed probabilities of the three values sum to 1 + (gap/2)(1 - p_y).
    b3, a3, s3 = shares("b", 3), shares("a", 3), printed(3)
    total = sum(s3["q"] + s3["gap"] / 2 * (a + (1 - py) + b * (2 * py - 1)) for a, b in zip(a3, b3, strict=True))
    # For any k (the law is enumerated below for (4)): too large by this excess, which is 0 in the three cases only.
    pk, qk = grr.probabilities(e, k)
    own = qk + (pk - qk) * fb
    anyone = (qk + (pk - qk) * fa + py * own + (1 - py) / (k - 1) * (1 - own)) / 2
    excess = (pk - qk) / 2 * (1 - py) * (1 - fb) * (k - 2) / (k - 1)
    assert is_zero(as_printed(k, anyone, fa, fb, s) + excess)
    two, three, sure = everywhere(as_printed)
    claim("corr-rr-v1/app-6.1-pi").conditional(
        two and sure, not three and is_zero(total - 1 - s3["gap"] * (1 - py) / 2)
    )
    two, three, sure = everywhere(lambda size, pi, a, b, s: pi - (s["alpha"] + s["beta"] * py))
    slopes = []
    for size in SIZES:
        pi, a, b = true_pi(size)
        copied_part = (size * py - 1) / (size - 1) * (b[0] - sp.Rational(1, size))
        corrected = sp.Rational(1, size) + printed(size)["gap"] / 2 * (a[0] - sp.Rational(1, size) + copied_part)
        assert is_zero(pi - corrected)
        slopes.append(is_zero(sp.diff(pi, py) - printed(size)["gap"] / 2 * (size * b[0] - 1) / (size - 1)))
    claim("corr-rr-v1/app-6.1-alpha-beta").conditional(two and sure, not three and all(slopes))


def test_first_version_bias_and_variance():
    def mean(size, pi, a, b, s):
        return (pi - s["q"]) / s["gap"] - (s["d0"] / 2 + a + py * s["slope"] / 2)

    # In general, with t for what a copy keeps of its pivot's distance from uniform; and the printed bias less the true.
    means, surplus = [], []
    for size in SIZES:
        pi, a, b = true_pi(size)
        s, t = printed(size, a[0], b[0]), (size * py - 1) / (size - 1)
        found, third = (pi - s["q"]) / s["gap"], sp.Rational(1, size)
        means.append(is_zero(found - third - (a[0] - third + t * (b[0] - third)) / 2))
        extra = sp.Rational(size - 2, 2 * (size - 1)) * (1 - b[0]) * (1 - py)
        surplus.append(is_zero(s["A"] - (found - a[0]) - extra))
    two, three, sure = everywhere(mean)
    claim("corr-rr-v1/app-6.1-mean").conditional(two and sure, not three and all(means))
    two, three, sure = everywhere(lambda size, pi, a, b, s: (pi - s["q"]) / s["gap"] - a - s["A"])
    pi, a, b = true_pi(3)
    point = dict(zip([*a[:2], *b[:2], py, e], [HALF, HALF / 2, HALF, HALF / 2, HALF, 4], strict=True))
    s = printed(3, a[0], b[0])
    bias = ((pi - s["q"]) / s["gap"] - a[0]).subs(point), s["A"].subs(point)
    claim("corr-rr-v1/app-6.1-bias").conditional(
        two and sure, not three and all(surplus) and bias == (-sp.Rational(1, 16), 0)
    )

    s = printed(k)
    square = s["d0"] ** 2 / 4 + s["d0"] * s["slope"] / 2 * py + s["slope"] ** 2 / 4 * py**2
    claim("corr-rr-v1/app-6.1-bias-sq").holds(is_zero(s["A"] ** 2 - square))
    # The variance of the debiased share of ones among independent users, from all outcomes.
    x, gap, q = sp.symbols("x gap q")

    def spread(users):
        outcomes = [
            (sum(y), x ** sum(y) * (1 - x) ** (users - sum(y))) for y in itertools.product((0, 1), repeat=users)
        ]
        values = [((sp.Rational(c, users) - q) / gap, chance) for c, chance in outcomes]
        centre = sum(v * chance for v, chance in values)
        return sum((v - centre) ** 2 * chance for v, chance in values)

    shipped = []  # for more than two values only the true probability gives the library's variance
    for size in (2, 3):
        pi, a, b = true_pi(size)
        s, found = printed(size, a[0], b[0]), corr_rr.iid_variance(np.array([a, b]), [[1, 1], [py, 1]], n2, e)[0][0]
        shown, other = (found - v * (1 - v) / (n2 * s["gap"] ** 2) for v in (pi, s["alpha"] + s["beta"] * py))
        shipped += [not differs(shown), differs(other) == (size > 2)]
    claim("corr-rr-v1/app-6.1-variance").holds(
        *[is_zero(spread(users) - x * (1 - x) / (users * gap**2)) for users in (1, 2, 3, 4)], *shipped
    )
    s = printed(k)
    shown = s["alpha"] + s["beta"] * py
    pieces = s["alpha"] * (1 - s["alpha"]) + s["beta"] * (1 - 2 * s["alpha"]) * py - s["beta"] ** 2 * py**2
    claim("corr-rr-v1/app-6.1-var-expansion").holds(is_zero(shown * (1 - shown) - pieces))
    scale = n2 * s["gap"] ** 2
    expanded = s["alpha"] * (1 - s["alpha"]) / scale + s["L1"] * py - s["L2"] * py**2
    claim("corr-rr-v1/app-6.2-expansion").holds(is_zero(shown * (1 - shown) / scale - expanded))
    # The printed pi is 1/2 + B only if 1/k = 1/2.
    assert is_zero(shown - HALF - s["B"] - (1 - s["gap"]) * (1 / k - HALF))
    difference = shown * (1 - shown) - (sp.Rational(1, 4) - s["B"] ** 2)
    witness = {k: 3, e: 4, fa: HALF, fb: HALF, py: HALF}
    claim("corr-rr-v1/app-6.1-quarter-minus-B2").conditional(
        is_zero(difference.subs(k, 2)), difference.subs(witness) == -sp.Rational(1, 144)
    )
    # The constant term leaves out a part that does not depend on p_y, which the line before it has.
    whole = s["A"] ** 2 + shown * (1 - shown) / scale
    constant = sp.expand(sp.cancel(whole)).subs(py, 0)
    claim("corr-rr-v1/app-6.1-D0").misprint(
        is_zero(constant - s["d0"] ** 2 / 4 - s["alpha"] * (1 - s["alpha"]) / scale),
        not is_zero(constant - s["d0"] ** 2 / 4),
    )


def first_version_sums(size):
    """Return the sums over the values of D_1 and D_2, and the error that the appendix averages, all as printed."""
    a, b = shares("a", size), shares("b", size)
    rows = [printed(size, x, y) for x, y in zip(a, b, strict=True)]
    d1 = sum(s["d0"] * s["slope"] / 2 + s["L1"] for s in rows)
    d2 = sum(s["slope"] ** 2 / 4 - s["L2"] for s in rows)
    shown = [s["alpha"] + s["beta"] * py for s in rows]
    error = sum(s["A"] ** 2 + x * (1 - x) / (n2 * s["gap"] ** 2) for s, x in zip(rows, shown, strict=True))
    return a, b, d1, d2, error


def test_first_version_the_average_and_its_minimiser():
    checks = []
    for size in (2, 3):
        _, _, d1, d2, error = first_version_sums(size)
        moving = error / size - (error / size).subs(py, 0)
        right = is_zero(moving - (d1 * py + d2 * py**2) / size)
        checks += [right, differs(moving - d1 * py - d2 * py**2)]
    claim("corr-rr-v1/app-6.1-avg").misprint(*checks)
    # Proposition 1 prints c_1 / c_2 of the quadratic that Equation 4 has with A and B, for more than two values too.
    a, b = shares("a", 3), shares("b", 3)
    rows = [(printed(3, x, y), x - y) for x, y in zip(a, b, strict=True)]
    eq4 = sum(s["A"] ** 2 + (sp.Rational(1, 4) - s["B"] ** 2) / (n2 * s["gap"] ** 2) for s, _ in rows) / 3
    top = sum(s["d0"] * s["slope"] / 6 - gap * s["slope"] / (6 * n2) for s, gap in rows)
    bottom = sum(s["slope"] ** 2 / 12 - s["slope"] ** 2 / (12 * n2) for s, _ in rows)
    assert is_zero(sp.diff(eq4, py).subs(py, 0) - top)
    assert is_zero(sp.diff(eq4, py, 2) / 2 - bottom)

    def true_error(a, b, size, own=HALF):
        pi = [own * x + (1 - own) * y for x, y in zip(direct(size, a), copied(size, b), strict=True)]
        p, q = grr.probabilities(e, size)
        return sum(((x - q) / (p - q) - f) ** 2 + x * (1 - x) / (n2 * (p - q) ** 2) for x, f in zip(pi, a, strict=True))

    # Attribute 1 and attribute 2 exchange roles. A copy keeps t of its pivot's distance from uniform; the two errors
    # agree only if t is 1 or -1, which p_y is 1, or 0 with two values, equal squared distances, or n2 = 1.
    gaps, as_stated = {}, []
    for size in (2, 3):
        a, b = shares("a", size), shares("b", size)
        gaps[size] = true_error(a, b, size) - true_error(b, a, size)
        t = (size * py - 1) / (size - 1)
        apart = sum(x**2 - y**2 for x, y in zip(a, b, strict=True))  # of the squared distances: both sum to 1
        as_stated.append(is_zero(gaps[size] - (1 - t**2) * apart * (n2 - 1) / (4 * n2)))
    a, b = shares("a", 2), shares("b", 2)
    factors = 2 * py * (1 - py) * (n2 - 1) * (a[0] - b[0]) * (a[0] + b[0] - 1) / n2
    point = {a[0]: sp.Rational(9, 10), b[0]: HALF, py: HALF, n2: 2, e: 3}
    claim("corr-rr-v1/app-6.2-symmetry").conditional(
        all(as_stated) and is_zero(gaps[2] - factors), gaps[2].subs(point) == sp.Rational(4, 100)
    )
    star, curved, mended = [], [], []
    for size in (2, 3):
        a, b, d1, d2, _ = first_version_sums(size)
        slope = sp.diff(true_error(a, b, size), py)
        star.append(slope.subs(py, -d1 / (2 * d2)))
        g, h = ([x - sp.Rational(1, size) for x in f] for f in (a, b))
        t = (n2 + 1) / (n2 - 1) * sum(x * y for x, y in zip(g, h, strict=True)) / sum(y**2 for y in h)
        mended.append(not differs(slope.subs(py, (1 + (size - 1) * t) / size)))
        # The pivot is drawn; if it always is attribute 2, its own reports are gone, and n2 takes the place of n2 + 1.
        always = sp.diff(true_error(a, b, size, own=0), py)
        other = [always.subs(py, (1 + (size - 1) * x) / size) for x in (t, t * n2 / (n2 + 1))]
        assert [differs(x) for x in other] == [True, False]
        curved.append(sp.diff(slope, py) - (1 - 1 / n2) * (2 * b[0] - 1) ** 2)  # two values: a minimum, for n2 > 1
        if size == 2:  # a uniform pivot: no p_y is better than another
            flat = all(is_zero(x.subs(b[0], HALF)) for x in (slope, d1, d2))
    # With three values and many users (1/n2 is 0) it is a negative multiple of <g_a,g_b> - |g_b|^2, so 0 only there.
    u = sp.symbols("u")
    limits = [x.subs(n2, 1 / u).subs(u, 0) for x in (slope, d1, d2)]
    inner, square = (sum(x * y for x, y in zip(z, h, strict=True)) for z in (g, h))
    left = limits[0].subs(py, -limits[1] / (2 * limits[2]))
    only_there = is_zero(left + sp.Rational(3, 4) * (inner - square) * (1 + 3 * square) / (1 + 12 * square))
    many = dict(zip([*a[:2], *b[:2], n2, e], [HALF, HALF * 2 / 3, HALF * 5 / 6, HALF / 2, 10**9, 3], strict=True))
    apart = many | {a[0]: HALF * 2 / 3, a[1]: HALF}
    found = [abs(star[1].subs(at)) for at in (many, apart)]
    claim("corr-rr-v1/app-6.2-pstar").conditional(
        is_zero(star[0]) and is_zero(curved[0]) and flat,
        differs(star[1]) and found[0] < 1e-8 < 1e-3 < found[1] and all(mended) and only_there,
    )


def test_revised_version_what_its_words_determine():
    laws, affine = [], []
    for size in SIZES:
        f = shares("f", size)
        own, copy = direct(size, f), copied(size, f)
        # (4): copied with p_y, else one of the other k-1 values.
        laws += [is_zero(copy[v] - py * own[v] - (1 - py) / (size - 1) * (1 - own[v])) for v in range(size)]
        pi, a, b = true_pi(size)
        # The library's mean over both pivots holds this law as its other half.
        p, q = grr.probabilities(e, size)
        mean = corr_rr.expectation(np.array([a, b]), [[1, 1], [py, 1]])[0]
        laws += [is_zero(q + (p - q) * mean[v] - (direct(size, a)[v] + copied(size, b)[v]) / 2) for v in range(size)]
        affine.append(is_zero(sp.diff(pi, py, 2)) and not is_zero(sp.diff(pi, py)))
    claim("corr-rr-v2/eq-3").holds(*[averages_are_enumerated(size, Fraction(9), Fraction(3, 4)) for size in SIZES])
    claim("corr-rr-v2/eq-4").holds(*laws)
    # For any number k of values: the report's probability needs two frequencies only, and is as enumerated for 2 to 4.
    pk, qk = grr.probabilities(e, k)
    own = qk + (pk - qk) * fb
    anyone = (qk + (pk - qk) * fa + py * own + (1 - py) / (k - 1) * (1 - own)) / 2
    for size in SIZES:
        pi, a, b = true_pi(size)
        assert is_zero(anyone.subs({k: size, fa: a[0], fb: b[0]}) - pi)
    # As the note on (5) has it, by the distances from 1/k.
    assert is_zero(anyone - 1 / k - (pk - qk) / 2 * (fa - 1 / k + (k * py - 1) / (k - 1) * (fb - 1 / k)))
    slope_k, error_k = (k * fb - 1) / (k - 1), ((anyone - qk) / (pk - qk) - fa) ** 2
    error_k += anyone * (1 - anyone) / (n2 * (pk - qk) ** 2)
    claim("corr-rr-v2/eq-6").holds(*affine, is_zero(sp.diff(anyone, py) - (pk - qk) / 2 * slope_k))
    p, q = grr.probabilities(e, 3)
    pi, a, b = true_pi(3)
    bias, variance = (pi - q) / (p - q) - a[0], pi * (1 - pi) / (n2 * (p - q) ** 2)
    # (7): the mean squared error of two users' estimate, from all outcomes, is bias^2 + variance.
    outcomes = [(c, pi**c * (1 - pi) ** (2 - c) * math.comb(2, c)) for c in range(3)]
    second = sum(((c * HALF - q) / (p - q) - a[0]) ** 2 * chance for c, chance in outcomes)
    x, f, gap, base = sp.symbols("x f gap q_2")  # and for one to four users, whatever is estimated
    spreads = []
    for users in (1, 2, 3, 4):
        chances = [math.comb(users, c) * x**c * (1 - x) ** (users - c) for c in range(users + 1)]
        found = sum(((sp.Rational(c, users) - base) / gap - f) ** 2 * chance for c, chance in enumerate(chances))
        spreads.append(is_zero(found - ((x - base) / gap - f) ** 2 - x * (1 - x) / (users * gap**2)))
    claim("corr-rr-v2/eq-7").holds(is_zero(second - (bias**2 + variance).subs(n2, 2)), *spreads)
    # (8), and the leading coefficient: with e(v)/2 for the slope of the mean in p_y it is e(v)^2 (1 - 1/n2) / 4.
    claim("corr-rr-v2/eq-8").holds(
        is_zero(sp.diff(bias**2 + variance, py, 3)), sp.degree(sp.numer(sp.together(error_k)), py) == 2
    )
    convex = [is_zero(sp.diff(error_k, py, 2) / 2 - slope_k**2 * (n2 - 1) / (4 * n2))]
    for size in SIZES:
        pi, a, b = true_pi(size)
        p, q = grr.probabilities(e, size)
        bias, variance = (pi - q) / (p - q) - a[0], pi * (1 - pi) / (n2 * (p - q) ** 2)
        leading, slope = sp.diff(bias**2 + variance, py, 2) / 2, 2 * sp.diff(bias, py)
        convex.append(is_zero(leading - slope**2 * (n2 - 1) / (4 * n2)))
        convex.append(is_zero(slope - (size * b[0] - 1) / (size - 1)))
    claim("corr-rr-v2/app-7.2-convexity").holds(*convex)


def test_revised_version_what_its_words_leave_open():
    claim("corr-rr-v2/eq-5").not_checkable(
        "The formula is missing from our text. For two attributes the words lead to $1/k+\\frac{p-q}2[g_a+tg_b]$ with "
        "$g=f-1/k$ and $t=(kp_y-1)/(k-1)$; the first version's printed form, which the authors' published code uses, "
        "is in general right for $k=2$ only. What is printed we cannot tell."
    )
    claim("corr-rr-v2/eq-9").not_checkable(
        "The formula is missing from our text. For two attributes and users drawn independently the words lead to "
        "$t=\\frac{n_2+1}{n_2-1}\\langle g_a,g_b\\rangle/|g_b|^2$ with $p_y=(1+(k-1)t)/k$. The first version has two "
        "others: Proposition 1's, and its appendix's, in general right for $k=2$ only. What is printed we cannot tell."
    )
    right = []  # the note: the appendix's p_y, and -2 times it, which is Proposition 1's for k = 2, against the words'
    for f, g in (((3, 2), (4, 1)), ((3, 1, 1), (2, 2, 1))):
        a, b = (np.array([Fraction(v, 5) for v in x]) for x in (f, g))
        h, size = b - Fraction(1, len(b)), len(b)
        t = Fraction(11, 9) * (h @ a) / (h @ h)  # n_2 = 10
        found, words = appendix_minimizer(a, b, 10, Fraction(3)), (1 + (size - 1) * t) / size
        right.append((found == words, -2 * found == words))
    assert right == [(True, False), (False, False)]


def by_rule(f_target, f_pivot, users, averaged=False):
    """Return the best of 0, 1 and the minimiser, if that lies between them, by comparing errors; and clipping."""
    c1, c2 = corr_rr.quadratic(f_target, f_pivot, users)
    if averaged:  # over the two attributes
        d1, d2 = corr_rr.quadratic(f_pivot, f_target, users)
        c1, c2 = (c1 + d1) / 2, (c2 + d2) / 2
    star = -c1 / (2 * c2)
    candidates = [Fraction(0), Fraction(1)] + [star] * (0 <= star <= 1)
    return min(candidates, key=lambda x: c1 * x + c2 * x**2), min(max(star, Fraction(0)), Fraction(1))


def test_the_endpoint_rule_is_clipping():
    parts = [x for x in itertools.product(range(9), repeat=3) if sum(x) == 8]
    laws = [np.array([Fraction(v, 8) for v in x]) for x in parts]
    pairs = list(itertools.product(laws, repeat=2))
    chosen = [by_rule(x, y, 10) for x, y in pairs]
    assert {x for x, _ in chosen} > {0, 1}
    two = [np.array([Fraction(v, 9), Fraction(9 - v, 9)]) for v in range(10)]  # two values, and the fewest users
    small = [by_rule(x, y, 2, way) for x, y in itertools.product(two, repeat=2) for way in (False, True)]
    small += [by_rule(x, y, 10, True) for x, y in pairs[::11]]
    third = np.array([Fraction(1, 3)] * 3)  # a uniform pivot has no minimiser, and all p_y are equally good
    assert all(corr_rr.quadratic(x, third, 10) == (0, 0) for x in (third, *laws))
    # For the average over both, both must be: if one is, it is best copied to with 1/3, so that its report is uniform.
    assert {by_rule(x, third, 10, True) for x in laws} == {(third[0], third[0])}
    shipped = [corr_rr.reuse_probability(x, y, n2=10) for x, y in pairs]
    # The chosen p_y is the best of all elevenths, by the exact error of the copying attribute.
    best = []
    for (x, y), (p_y, _) in zip(pairs[::97], chosen[::97], strict=True):
        found = [errors(np.array([x, y]), [[1, 1], [v, 1]], Fraction(3), 10)[0] for v in (p_y, *ELEVENTHS)]
        best.append(found[0] == min(found))
    claim("corr-rr-v1/rule-endpoints").holds(all(x == y for x, y in chosen + small), all(best))
    claim("corr-rr-v2/procedure-endpoints").holds(
        bool(np.allclose(shipped, [float(x) for x, _ in chosen], rtol=0, atol=1e-12))
    )


def errors(f, table, odds, users):
    """Return each attribute's exact error, summed over its values."""
    bias = corr_rr.expectation(f, table) - f
    return (bias**2).sum(axis=1) + corr_rr.iid_variance(f, table, users, odds).sum(axis=1)


def test_the_appendixs_minimiser_is_optimal_for_two_values_only():
    pair = np.array([[Fraction(v, 8) for v in x] for x in ([3, 2, 2, 1], [4, 2, 1, 1])])
    odds, users = Fraction(3), 101
    a1, a2 = corr_rr.quadratic(pair[0], pair[1], users)
    as_used = min(appendix_minimizer(pair[0], pair[1], users, odds), Fraction(1))
    run, least = (errors(pair, [[1, x], [x, 1]], odds, users)[0] for x in (as_used, -a1 / (2 * a2)))
    x, y = np.array(shares("a", 2)), np.array(shares("b", 2))
    same = is_zero(appendix_minimizer(x, y, n2, e) - corr_rr.minimizer(x, y, n2))
    # With many users and four values it is never below 1/2: (1 + 2<g_a,g_b> + 2|g_b|^2) / (1 + 4|g_b|^2) and
    # <g_a,g_b> is at least -1/4. At the end, where an attribute that never has the pivot's only value copies, it is.
    never, only = np.array([0, 1, 0, 0]), np.array([1, 0, 0, 0])
    assert sp.limit(appendix_minimizer(never, only, n2, sp.Integer(3)), n2, sp.oo) == HALF
    # What is left to 1 is a share of what is left by the best one: at most 2/k, because y = |g_b|^2 is at most 1 - 1/k.
    # So where the best one is below 1 it is too large, and for four values its error too; otherwise both are cut to 1.
    square = sp.Symbol("y")

    def left(size, y):
        return 2 * size**2 * y / ((size - 1) * (4 * size * y + (size - 2) ** 2))

    rest = 2 * (k - 2) ** 2 * (k - 1 - k * square) / (k * (k - 1) * (4 * k * square + (k - 2) ** 2))
    assert is_zero(2 / k - left(k, square) - rest)
    for size in (3, 4):
        laws = np.array([x for x in itertools.product(range(7), repeat=size) if sum(x) == 6]) / 6
        f_copy, f_pivot = (laws[i] for i in np.indices((len(laws), len(laws))).reshape(2, -1))
        uneven = np.ptp(f_pivot, axis=1) > 0
        f_copy, f_pivot = f_copy[uneven], f_pivot[uneven]
        c1, c2 = corr_rr.quadratic(f_copy, f_pivot, 10**9)
        best, shown = -c1 / (2 * c2), appendix_minimizer(f_copy, f_pivot, 10**9, 3.0)
        inside = best < 1 - 1e-6
        squares = ((f_pivot - 1 / size) ** 2).sum(axis=1)
        assert np.allclose(1 - shown, (1 - best) * left(size, squares), rtol=0, atol=1e-6)
        more = [c1 * x + c2 * x**2 for x in (np.clip(shown, 0, 1), np.clip(best, 0, 1))]
        too_large = more[0] - more[1] > 1e-4
    too_large = bool((too_large == inside).all() and 0 < inside.mean() < 1)  # of four values
    # For three binary attributes it is the best of each pair, and not the best table.
    adult = load_corr_rr("adult")
    f, n = np.array(marginal_frequencies(adult)), adult.n
    pairwise = appendix_table(f, epsilon=0.5, n2=n)
    assert np.allclose(pairwise, corr_rr.reuse_table(f, n2=n))
    assert (
        errors(f, pairwise, math.exp(0.5), n).sum()
        > 1.005 * errors(f, corr_rr.joint_reuse(f, n), math.exp(0.5), n).sum()
    )
    claim("corr-rr-v1/sent-conclusion-optimal").conditional(same, bool(run > least) and too_large)

"""Part 2 of the theorem of the chapter `limit_correlation`: a certificate's inequalities, for every set of records.

A record of d binary attributes is a row of signs x, a set of records a function f = 1 or -1, with Fourier coefficients
f_0 and f_j, and W = sum_j f_j^2. With delta = (e-1)/(e+1) the certificate holds at the joint law F if, for every f,

    1 - W - delta^2 (s^2 - sum_j m_j^2 f_j^2) + 2 delta f_0 (1 + delta s) >= 0,

s and m_j being the means of f and x_j under F. That is a quadratic form in F; none of its coefficients is negative.
"""

import functools
import itertools
import json
import math
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

from ldp_lib import subset
from ldp_lib.book.claims import claim
from ldp_lib.corr_rr import tree_law
from ldp_lib.datasets import load_corr_rr
from ldp_lib.limit import TableCertificate, least_error

LARGEST = {2: Fraction(1, 3), 3: Fraction(1, 3), 4: Fraction(3, 11)}  # delta, coefficient by coefficient: e = 2, 2, 7/4


def never_negative(c0, c1, c2, top):
    """Return whether c0 + c1 t + c2 t^2 >= 0 for all t from 0 to the fraction `top`; arrays of integers."""
    a, z = top.numerator, top.denominator
    end = c0 * z**2 + c1 * a * z + c2 * a**2 >= 0
    inside = (c2 > 0) & (c1 < 0) & (-c1 * z < 2 * c2 * a)
    return end & (c0 >= 0) & (~inside | (4 * c0 * c2 >= c1**2))


def slack_is_never_negative(d, top):
    """Return whether all coefficients of the form are non-negative for delta up to `top`, for all sets of records."""
    return next(sets_with_a_negative_coefficient(d, top), None) is None


def sets_with_a_negative_coefficient(d, top, portion=4096):
    """Yield the form's coefficients, shape (3, 2^d, 2^d) by powers of delta, of all sets for which one is negative."""
    size = 2**d
    x = np.array(list(itertools.product((1, -1), repeat=d)))
    products = x[:, None, :] * x[None, :, :]
    for start in range(0, 2**size, portion):
        codes = np.arange(start, min(start + portion, 2**size))[:, None]
        f = 1 - 2 * ((codes >> np.arange(size)) & 1)
        mean, first = f.sum(axis=1)[:, None, None], f @ x  # `size` times the Fourier coefficients
        both, pairs = f[:, :, None] + f[:, None, :], f[:, :, None] * f[:, None, :]
        c0 = size**2 - (first**2).sum(axis=1)[:, None, None] + 0 * both  # size^2 times the form's coefficients
        c2 = (products @ (first**2).T).transpose(2, 0, 1) - size**2 * pairs + size * mean * both
        parts = np.stack([c0, 2 * size * mean + 0 * both, c2], axis=1)
        yield from parts[~never_negative(c0, parts[:, 1], c2, top).all(axis=(1, 2))]


DELTA = sp.symbols("delta")
BETWEEN = [sp.Rational(3, 11), sp.Rational(1, 3)]


@functools.cache
def not_negative_between(*coefficients):
    """Return whether a polynomial in delta has no root between 3/11 and 1/3 (e = 7/4 and 2), and is positive there."""
    poly = sp.Poly(coefficients[::-1], DELTA)
    return poly.is_zero or (poly.count_roots(*BETWEEN) == 0 and poly.eval(BETWEEN[0]) > 0)


def is_copositive_between(parts):
    """Return whether the form is never negative at F >= 0, by completing a square, for delta from 3/11 to 1/3.

    If all negative coefficients are in one row c, a_cc times the form is (sum_l a_cl F_l)^2 plus the sum of
    (a_cc a_lm - a_cl a_cm) F_l F_m and of what has no negative coefficient. Else those of m cells are all equal, b, and
    so is their diagonal, a: a matrix with the eigenvalues a - b and a + (m-1) b.
    """

    def entry(i, j):
        return np.polynomial.Polynomial([int(c) for c in parts[:, i, j]])

    def holds(polynomial):
        return not_negative_between(*(int(c) for c in polynomial.coef))

    size = parts.shape[1]
    pairs = [(i, j) for i in range(size) for j in range(i, size) if not holds(entry(i, j))]
    centres = set(pairs[0]).intersection(*map(set, pairs))
    if centres:
        c = min(centres, key=lambda i: -sum(i in pair for pair in pairs))
        leaves = sorted({i for pair in pairs for i in pair} - {c})
        minors = [entry(c, c) * entry(i, j) - entry(c, i) * entry(c, j) for i in leaves for j in leaves if i <= j]
        return holds(entry(c, c)) and all(map(holds, minors))
    clique = sorted({i for pair in pairs for i in pair})
    a, b = entry(clique[0], clique[0]), entry(clique[0], clique[1])
    equal = all(entry(i, i) == a and (i == j or entry(i, j) == b) for i in clique for j in clique)
    return equal and holds(a - b) and holds(a + (len(clique) - 1) * b)


def certificate(law, e, v):
    """Return the certificate for two binary attributes, from rational v_1 and v_2; records as in `law`."""
    signs, total = [(1, 1), (1, -1), (-1, 1), (-1, -1)], sum(v)
    half = [[Fraction(total * v[j] * x[j]) / 8 for x in signs] for j in (0, 1)]
    directions = tuple(tuple(sign * z for z in row) for row in half for sign in (1, -1))
    prices = tuple(Fraction(total) ** 2 / 2 * (Fraction(1, 2) - p) for p in law)
    return TableCertificate(
        k=(2, 2),
        e=(e, e),
        frequencies=tuple(law),
        dual=prices,
        directions=directions,
        error=Fraction(total) ** 2 / 2,
    )


def fair_coins_slack():
    """Return the least slack for two fair coins with correlation 1 or -1, for delta up to 1/2 (e = 3), set by set.

    In between the slack is concave in the correlation rho, so it is least at one of the two.
    """
    rho, t = sp.symbols("rho t", real=True)
    least = []
    for f in itertools.product((1, -1), repeat=4):
        mean, last = sp.Rational(sum(f), 4), sp.Rational(f[0] - f[1] - f[2] + f[3], 4)
        at = mean + rho * last  # and W = 1 - mean^2 - last^2, by Parseval
        slack = mean**2 + last**2 - t**2 * at**2 + 2 * t * mean * (1 + t * at)
        assert sp.expand(sp.diff(slack, rho, 2) + 2 * last**2 * t**2) == 0
        for end in (-1, 1):
            least.append(sp.minimum(sp.expand(slack.subs(rho, end)), t, sp.Interval(0, sp.S.Half)))
    return least


def test_the_condition_is_what_is_multiplied_out():
    delta, s, f0 = sp.symbols("delta s f_0")
    right = (1 + delta * s) * (1 + delta * (2 * f0 - s))
    assert sp.expand(right - (1 - delta**2 * s**2 + 2 * delta * f0 * (1 + delta * s))) == 0


@pytest.mark.parametrize("d", [2, 3])
def test_the_bounds_on_the_budget_cannot_be_pushed_further_with_this_certificate(d):
    assert not slack_is_never_negative(d, LARGEST[d] + Fraction(1, 1000))


@functools.cache
def four_attributes():
    """Return the coefficients of the sets that four binary attributes leave between e = 7/4 and 2."""
    return tuple(sets_with_a_negative_coefficient(4, Fraction(1, 3)))


def test_four_binary_attributes_to_e_2():
    """80 of 65,536 sets have a negative coefficient between e = 7/4 and 2; a square settles 64, four eigenvalues 16."""
    left = four_attributes()
    assert len(left) == 80
    assert all(map(is_copositive_between, left))
    assert not all(map(is_copositive_between, [part * [[[1]], [[1]], [[2]]] for part in left]))  # the check can fail


def test_correlation_does_not_enter_the_limit_of_binary_attributes():
    together = [Fraction(a, 200) for a in (99, 1, 1, 99)]
    skew = [Fraction(73, 74), Fraction(0), Fraction(0), Fraction(1, 74)]
    v = Fraction(105, 37)  # v^2 = 9 - (36/37)^2
    v1, v2 = sp.symbols("v_1 v_2", positive=True)
    share = v1 / (v1 + v2)  # of the question about attribute 1: proportional to v_1
    claim("own/correlation-binary").holds(
        all(slack_is_never_negative(d, top) for d, top in LARGEST.items()),
        all(map(is_copositive_between, four_attributes())),
        min(fair_coins_slack()) == 0,
        certificate(together, Fraction(2), (3, 3)).check() and certificate(together, Fraction(3), (2, 2)).check(),
        not certificate(skew, Fraction(3), (2, 2)).check() and certificate(skew, Fraction(2), (v, v)).check(),
        sp.simplify((v1**2 / share + v2**2 / (1 - share)) / 2 - (v1 + v2) ** 2 / 2) == 0,
    )


def composed(law, epsilon):
    """Return prices and directions for a joint law, put together from those of its attributes, and the error.

    Attribute j alone attains the least error E_j, and asking one question has (sum_j sqrt(E_j))^2. A direction of one
    attribute is spread evenly over the others; the prices are a sum of functions of one attribute, less the law.
    """
    d, size, values = law.ndim, law.size, np.indices(law.shape).reshape(law.ndim, -1)
    roots, directions, prices = [], [], np.full(size, -2.0 * (d - 1) / size) - law.ravel()
    for j, k in enumerate(law.shape):
        marginal = law.sum(axis=tuple(set(range(d)) - {j}))
        alone = least_error((k,), epsilon, marginal)
        price, h = (np.array(part, dtype=float) for part in (alone.certificate.dual, alone.certificate.directions))
        roots.append(math.sqrt(alone.attained))  # of a mechanism, not only of a bound
        directions.append((h * roots[-1] / np.trace(h))[:, values[j]] * k / size)
        prices += (price / price.sum() + marginal)[values[j]] * k / size
    return prices, np.vstack(directions), sum(roots) ** 2


def largest_excess(law, epsilon):
    """Return the largest of |Z w|^2 / (lambda.w F.w) over all sets of records; the certificate holds if it is 1."""
    prices, directions, _ = composed(law, epsilon)
    rows, half = np.vstack([law.ravel(), prices, directions]), law.size // 2
    first, second = np.zeros((len(rows), 1)), np.zeros((len(rows), 1))
    for column in rows.T[:half]:
        first = np.concatenate([first, first + column[:, None]], axis=1)
    for column in rows.T[half:]:
        second = np.concatenate([second, second + column[:, None]], axis=1)
    worst, base = 0, rows.sum(axis=1, keepdims=True)
    for part in first.T:
        held, price, *along = base + math.expm1(epsilon) * (part[:, None] + second)
        assert price.min() > 0
        worst = max(worst, (np.square(along).sum(axis=0) / (held * price)).max())
    return worst


def by_subset_selection(law, epsilon):
    """Return one question's error by subset selection in the best shares, over that by the best mechanisms."""
    e, roots = math.exp(epsilon), []
    for j, k in enumerate(law.shape):
        marginal = law.sum(axis=tuple(set(range(law.ndim)) - {j}))
        drawn = subset.error(e, k, subset.optimal_size(e, k)) + 1 / k - (marginal**2).sum()
        roots.append(math.sqrt(drawn))
    return sum(roots) ** 2 / composed(law, epsilon)[2]


def test_the_composed_error_is_that_of_one_question_and_depends_on_the_frequencies_alone():
    law = tree_law(np.array([0.4, 0.3, 0.3]), 0.9, [0])
    independent = np.outer(law.sum(axis=1), law.sum(axis=0))
    assert math.isclose(composed(law, 0.5)[2], composed(independent, 0.5)[2], rel_tol=1e-6)
    assert math.isclose(composed(law, 0.5)[2], least_error((3, 3), 0.5, law).attained, rel_tol=1e-5)
    assert math.isclose(composed(law, 0.5)[0].sum(), 1)


def test_in_the_corr_rr_papers_tables_correlation_does_not_enter_the_limit():
    tables = {name: load_corr_rr(name).joint for name in ("clave", "adult", "mushroom")}
    for rho, printed in itertools.product((0.1, 0.5, 0.9), (False, True)):  # SynA as corrected and as printed
        tables[rho, printed] = tree_law(np.array([0.4, 0.3, 0.2, 0.1]), rho, [0], different=printed)
    excess = {(name, b): largest_excess(law, b) for name, law in tables.items() for b in (0.1, 0.5)}
    claim("own/correlation-papers").holds(
        bool(max(excess.values()) < 1 + 1e-9),
        bool(largest_excess(tables["mushroom"], 0.65) > 1 + 1e-3),  # the check can fail
        round(100 * by_subset_selection(tables["mushroom"], 0.5) - 100, 1) == 0.9,
    )
    chapter = (Path(__file__).parents[2] / "notebooks/limit_correlation.ipynb").read_text(encoding="utf-8")
    (line,) = (line for line in chapter.splitlines() if "own/correlation-papers" in line)
    assert "is, to nine digits, the variance of attribute sampling" in line  # floats, and no proof


def independent(joint):
    """Return the product of a table's marginals."""
    axes = [tuple(set(range(joint.ndim)) - {j}) for j in range(joint.ndim)]
    return np.einsum(",".join("abc"[: joint.ndim]), *(joint.sum(axis=others) for others in axes))


def not_all_alike(d, epsilon, rho, part=Fraction(1, 100)):
    """Return n times the total variance by reports that name one answer and that not all are alike, users as in SynA.

    For each of d binary attributes and each answer one report names the records with this answer, but for the one in
    which all are alike; that one has a report of its own, d times as likely. A small part sends the whole record.
    """
    e, x = math.exp(epsilon), np.array(list(itertools.product((0, 1), repeat=d)))
    alike, law = (x == x[:, :1]).all(axis=1), tree_law([0.5, 0.5], rho, [0] * (d - 1)).ravel()
    answers = np.array([x[:, j] == v for j in range(d) for v in (0, 1)])
    named = np.vstack([e ** (answers & ~alike), d * e ** np.eye(2**d)[alike]])
    columns = np.vstack([(1 - part) * named / named[:, 0].sum(), part * e ** np.eye(2**d) / (e + 2**d - 1)]).astype(
        float
    )
    assert np.allclose(columns.sum(axis=0), 1)  # a channel
    assert np.allclose(columns.max(axis=1) / columns.min(axis=1), e)
    information = (columns.T / (columns @ law)[:, None].T) @ columns
    return np.trace(answers @ np.linalg.solve(information, answers.T * 1.0)) - ((answers @ law) ** 2).sum()


def test_with_rare_answers_two_attributes_that_agree_gain_more_than_uniform_ones():
    rare, even = np.array([[0.98998, 1e-5], [1e-5, 0.01]]), np.array([[0.499, 0.001], [0.001, 0.499]])
    gain = [
        1 - least_error((2, 2), epsilon, joint).attained / least_error((2, 2), epsilon, independent(joint)).error
        for joint, epsilon in ((rare, 5.0), (even, 2.5))
    ]
    assert 0.045 < gain[0] < 0.055
    assert gain[1] < 0.035


def test_at_larger_epsilon_correlation_gains_a_fifth_at_most_and_more_with_more_attributes():
    bits, first = [0.5, 0.5], {2: [0.7, 0.3], 3: [1 / 2, 1 / 3, 1 / 6]}
    tables = {(d, rho): tree_law(bits, rho, [0] * (d - 1)) for d in (2, 3) for rho in (0.5, 0.9, 0.99)}
    tables |= {("skewed", k, d): tree_law(first[k], 0.99, [0] * (d - 1)) for k, d in ((2, 2), (2, 3), (3, 2))}
    tables |= {name: load_corr_rr(name).joint for name in ("clave", "adult")}
    ratios, gaps = {}, []
    for (name, joint), epsilon in itertools.product(tables.items(), (0.5, 2.5)):
        pair = [least_error(joint.shape, epsilon, each) for each in (joint, independent(joint))]
        gaps += [one.gap - 1 for one in pair]
        ratios[name, epsilon] = pair[0].attained / pair[1].attained
    deepest = min(ratios, key=ratios.get)
    three = least_error((2, 2, 2), 2.5, tables[3, 0.99])
    claim("own/correlation-large-budgets").holds(
        deepest == ((3, 0.99), 2.5) and bool(0.79 < ratios[deepest] < 0.8) and len(tables) == 11,
        all(abs(ratio - 1) < 5e-5 for (_, epsilon), ratio in ratios.items() if epsilon == 0.5),
        max(gaps) < 1e-6,  # of what is attained, over what is proved: far below the one part in 10^4 that is told
        bool(not_all_alike(5, 2.5, 0.99) < 0.64 * least_error((2,) * 5, 2.5).error),
        bool(not_all_alike(8, 3.0, 0.99) < 0.54 * least_error((2,) * 8, 3.0).error),
        bool(not_all_alike(3, 2.5, 0.99) > three.attained),
        bool(not_all_alike(8, 3.0, 0.0) > least_error((2,) * 8, 3.0).error),
    )


def of_questions_about_others(d, e, part):
    """Return n times the total variance if all are 1s or all are -1s, each with probability 1/2, unbiased everywhere.

    A report is about one answer. A part of them is randomized response; of the others' sets half leave out the two
    records in which all answers agree, and half hold both, so where all agree they say nothing, with less variance.
    """
    records, delta = list(itertools.product((-1, 1), repeat=d)), Fraction(e - 1, e + 1)
    holds = {"plain": lambda x, j, v: x[j] == v, "without": lambda x, j, v: x[j] == v and len(set(x)) > 1}
    holds["with"] = lambda x, j, v: x[j] == v or len(set(x)) == 1
    often = {"plain": part, "without": (1 - part) / 2, "with": (1 - part) / 2}
    says = {"without": 2 * e / (delta * (1 + e) * (1 - part)), "with": 2 / (delta * (1 + e) * (1 - part))}
    names = list(itertools.product(often, range(d), (-1, 1)))
    columns = [
        [often[kind] * (e if holds[kind](x, j, v) else 1) / (d * (1 + e)) for x in records] for kind, j, v in names
    ]
    assert [sum(row) for row in zip(*columns, strict=True)] == [1] * len(records)
    assert {max(column) / min(column) for column in columns} == {e}
    total = 0
    for own in range(d):
        told = [
            v / (delta * part) if kind == "plain" else v * says[kind] * (d * (j == own) - 1) for kind, j, v in names
        ]
        means = [sum(w * t for w, t in zip(row, told, strict=True)) for row in zip(*columns, strict=True)]
        assert means == [x[own] for x in records]  # unbiased
        total += sum((w[0] + w[-1]) * t * t / 2 for w, t in zip(columns, told, strict=True))
    return total / 2  # a share is half of 1 plus the mean, and each attribute has two


def test_with_thousands_of_attributes_that_agree_correlation_helps_at_small_budgets_too():
    """So the pages say "hardly": the limit at such a population is at most this, and its shuffled twin's is V."""

    def formula(d, e, part):
        return ((d * d - d) * 4 * e / (1 + e) ** 2 / (1 - part) + d / part) * (e + 1) ** 2 / (e - 1) ** 2 / 2

    for d, e, part in (
        (2, Fraction(2), Fraction(1, 2)),
        (3, Fraction(3), Fraction(1, 3)),
        (4, Fraction(5, 2), Fraction(1, 5)),
    ):
        assert of_questions_about_others(d, e, part) == formula(d, e, part)
    d, e = 2_000, math.exp(0.5)
    ratio = min(formula(d, e, part) for part in np.linspace(0.01, 0.1, 91)) / (d**2 / 2 / math.tanh(0.25) ** 2)
    assert 1 / math.cosh(0.25) ** 4 < ratio < 0.984 < 1  # h of the theorem's third part
    choose, theorems = (
        " ".join((Path(__file__).parents[2] / f"book/{name}.md").read_text(encoding="utf-8").split())
        for name in ("choose", "theorems")
    )
    assert "the questions hardly helps any unbiased estimate of their shares at small ε" in choose
    assert "2,000 that always agree have at most 0.984 of that of independent ones at ε = 0.5" in theorems
    chapter = (Path(__file__).parents[2] / "notebooks/limit_correlation.ipynb").read_text(encoding="utf-8")
    assert "Five and more binary attributes are open, but the limit of very many does fall" in chapter


def test_what_is_known_beforehand_may_be_worth_more_than_the_number_of_attributes():
    """So the chapter says which knowledge gains d: if the second answer is always yes, only the first is asked."""
    first, second = 9 - 0, 9 - 1  # v^2 at e = 2, shares 1/2 and 1
    assert (math.sqrt(first) + math.sqrt(second)) ** 2 / first > 3.7
    chapter = (Path(__file__).parents[2] / "notebooks/limit_correlation.ipynb").read_text(encoding="utf-8")
    assert "knowing *beforehand* that $d$ bits are equal gains a factor $d$" in chapter
    assert "Knowing that $d$ bits are equal gains a factor $d$" in chapter
    assert "known relation is worth" not in chapter


def test_a_mechanism_may_gain_from_correlation_and_not_the_limit():
    """Half of the people asked one question and half their record, at e = 2: the chapter's own mixture, which gains."""
    e, x = 2, np.array(list(itertools.product((1, -1), repeat=2)))
    asked = [1 + (e - 1) * (sign * x[:, j] > 0) for j in (0, 1) for sign in (1, -1)]
    w = np.array([*(np.array(asked) / (4 * (e + 1))), *((1 + (e - 1) * np.eye(4)) / (2 * (e + 3)))])
    assert np.allclose(w.sum(axis=0), 1)
    errors = []
    for law in (np.full(4, 1 / 4), np.array([99, 1, 1, 99]) / 200):
        inverse = np.linalg.inv(w.T / (w @ law) @ w)
        errors.append(sum(2 * (x[:, j] @ inverse @ x[:, j] - (x[:, j] @ law) ** 2) / 4 for j in (0, 1)))
    assert np.round(errors, 2).tolist() == [20.93, 20.73]
    assert 18 < errors[1] < errors[0]  # 18 is the limit of both
    chapter = (Path(__file__).parents[2] / "notebooks/limit_correlation.ipynb").read_text(encoding="utf-8")
    assert "For two to four binary attributes it does not lower the limit up to ε = 0.69" in chapter
    assert "no unbiased mechanism gains" not in chapter


def test_nine_users_with_masks_of_a_dealer_have_less_than_every_population_leaves():
    """With secrets an unbiased and e-private mechanism may have less than h V / n: the chapter and the results say so.

    Each of n users sends the own bit plus a mask modulo m. The masks add up to noise, so all messages tell their sum.
    """
    e, n, m = 3, 9, 31
    likely = [Fraction(1, e**z) + Fraction(1, e ** (m - z)) for z in range(m)]
    noise = [w / sum(likely) for w in likely]
    assert max(noise[z] / noise[(z + step) % m] for z in range(m) for step in (1, -1)) <= e  # one bit changes
    near = [z if z <= 20 else z - m for z in range(m)]
    counts = [Fraction((e * e + 1) * near[z] - e * (near[z - 1] + near[(z + 1) % m]), (e - 1) ** 2) for z in range(m)]
    moments = [
        [sum(p * counts[(ones + z) % m] ** i for z, p in enumerate(noise)) for ones in range(n + 1)] for i in (1, 2)
    ]
    assert moments[0] == list(range(n + 1))  # unbiased, whatever the population
    square = sum(math.comb(n, ones) * moments[1][ones] for ones in range(n + 1)) / 2**n
    error = 2 * (square / n**2 - Fraction(1, 4))  # of both shares, users drawn uniformly
    floor = Fraction(16 * e**2, (e + 1) ** 4) * Fraction((e + 1) ** 2, 2 * (e - 1) ** 2)  # h V
    assert Fraction(3, 4) * floor > n * error > Fraction(2, 3) * floor
    root = Path(__file__).resolve().parents[2]
    cells = json.loads((root / "notebooks/limit_correlation.ipynb").read_text(encoding="utf-8"))["cells"]
    (advice,) = (line for cell in cells for line in cell["source"] if "below $h\\,V/n$" in line)
    assert "drawn at random and share no secrets" in advice
    results = (root / "book/results.md").read_text(encoding="utf-8")
    assert "| any, without a dealer | 1 |" in results
    assert "| any unbiased, without a dealer | up to ln 2 |" in results


def test_v_bounds_every_limit_but_is_not_the_largest_where_smaller_sets_are_better():
    """Two attributes of four values at ε = 1: the largest limit, that of the uniform population, is 0.79 of V."""
    most = 9 / math.tanh(0.5) ** 2
    skewed = np.random.default_rng(1).dirichlet(np.full(8, 0.3)).reshape(2, 4)
    assert 0.78 < least_error((4, 4), 1.0).attained / most < 0.79
    assert least_error((2, 4), 1.0, skewed).attained < (1 / math.sqrt(2) + 3 / 2) ** 2 / math.tanh(0.5) ** 2
    glossary = (Path(__file__).resolve().parents[2] / "book/glossary.md").read_text(encoding="utf-8")
    (row,) = (line for line in glossary.splitlines() if line.startswith("| $V$, $h$ |"))
    assert "a number that no $L(F)$ exceeds" in row


def test_where_the_attackers_chapter_says_dependence_does_not_change_the_limit_it_does_beyond():
    """Two uniform attributes that agree with probability (1 + 0.98) / 2, against independent ones."""
    text = (Path(__file__).parents[2] / "notebooks/attacker.ipynb").read_text(encoding="utf-8")
    (place,) = re.findall(r"does not change with δ up to \$e\^\\\\varepsilon = (\d+)\$", text)
    agree, over = np.array([[0.495, 0.005], [0.005, 0.495]]), []
    for e in (int(place), int(place) + 1):
        over.append(least_error((2, 2), math.log(e), agree).attained / least_error((2, 2), math.log(e)).error)
    assert abs(over[0] - 1) < 1e-6
    assert over[1] < 0.97


def test_where_few_say_yes_attribute_sampling_is_far_below_the_limit_of_uniform_records():
    """Chapter limit_bound, the advice: yes-or-no questions to which 1 % say yes; a fifth of it for two at 4."""
    for d, epsilon, stated in ((2, 1.0, 0.79), (10, 1.0, 0.79), (2, 4.0, 0.20)):
        gap = math.tanh(epsilon / 2)
        reports = (1 - gap) / 2 + 0.01 * gap  # the share of yes among them
        sampling = 2 * d**2 * reports * (1 - reports) / gap**2
        assert round(sampling / least_error((2,) * d, epsilon).error, 2) == stated
    rare = np.outer((0.99, 0.01), (0.99, 0.01))
    assert least_error((2, 2), 1.0, rare).error < 0.81 * least_error((2, 2), 1.0).error

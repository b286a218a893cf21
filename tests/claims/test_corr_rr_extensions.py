"""What the extensions of Corr-RR do to the error: exact cases in which each helps, and in which it does not.

All errors are exact, in rationals unless said otherwise, for Phase II with users drawn at random, summed over all
values of all attributes. The chapter `audit_corr_rr_evaluation` gives numbers for the papers' data.
"""

import itertools
from fractions import Fraction

import numpy as np
import sympy as sp
from scipy.stats import multinomial

from ldp_lib import channel, corr_rr, grr, pure, splitting
from ldp_lib.book.claims import claim
from ldp_lib.book.published import expected_error
from ldp_lib.population import Population

ONE, HALF, THIRD = Fraction(1), Fraction(1, 2), Fraction(1, 3)
CORNERS = (0 * ONE, THIRD, ONE)


def cond_expectation(frequencies, conditionals, e):
    """Expected raw estimate of Cond-RR's second phase for fixed conditionals; a test below enumerates it."""
    frequencies = [np.asarray(f) for f in frequencies]
    d, pairs = len(frequencies), [grr.probabilities(e, len(f)) for f in frequencies]
    pivots = [q + (p - q) * f for (p, q), f in zip(pairs, frequencies, strict=True)]
    means = []
    for m, (p, q) in enumerate(pairs):
        total = pivots[m] + sum(pivots[j] @ np.asarray(conditionals[j, m]) for j in range(d) if j != m)
        means.append((total / d - q) / (p - q))
    return means


def table(a, b):
    return [[ONE, a], [b, ONE]]


def error(f, reuse, n2, e):
    """Corr-RR with a given reuse table."""
    f = np.array(f)
    bias = corr_rr.expectation(f, reuse) - f
    return (bias**2).sum() + corr_rr.iid_variance(f, reuse, n2, e).sum()


def splitting_error(f, n, root):
    """SPL with exp(epsilon / d) = root."""
    return sum(pure.iid_variance(v, n, *grr.probabilities(root, len(row))) for row in f for v in row)


def test_a_fresh_table_helps_if_frequencies_moved_and_never_if_they_are_uniform():
    # Once both attributes had the frequencies `up`, and p_y = 1 was best of these; then the second became `down`.
    up, down = [HALF, Fraction(3, 10), Fraction(1, 5)], [Fraction(1, 5), Fraction(3, 10), HALF]
    e, n2 = Fraction(3), 1_000
    tables = [table(a, b) for a, b in itertools.product(CORNERS, repeat=2)]
    before = [error([up, up], t, n2, e) for t in tables]
    assert tables[before.index(min(before))] == table(ONE, ONE)
    after = [error([up, down], t, n2, e) for t in tables]
    helps = min(after) < error([up, down], table(ONE, ONE), n2, e)
    # But the estimates do not converge: of these tables the best, which never repeats, keeps a squared bias of 3/400.
    moved, best = np.array([up, down]), tables[after.index(min(after))]
    bias = corr_rr.expectation(moved, best) - moved
    stays = best == table(0 * ONE, 0 * ONE) and (bias**2).sum() == Fraction(3, 400)
    # Uniform frequencies: all tables are equally good, so there is nothing to refresh.
    indifferent = len({error([[THIRD] * 3] * 2, t, n2, e) for t in tables}) == 1
    # And frequencies alone matter: correlations that shift leave every error as it was.
    law = {"equal": np.diag(up), "independent": np.outer(up, up)}
    reports = {}
    for name, joint in law.items():
        seen = (joint.ravel() @ corr_rr.channel(e, 3, table(ONE, THIRD))).reshape(3, 3)
        reports[name] = [*seen.sum(axis=0), *seen.sum(axis=1)]
    useless = indifferent and reports["equal"] == reports["independent"]
    # For given users the correlation does matter, a little: the better of two tables may become the worse one.
    ends = [corr_rr.SecondPhase(k=(2, 2), epsilon=1.0, reuse=((1, v), (v, 1))) for v in (0, 1)]
    people = (Population.from_counts(np.array(law)) for law in ([[30, 20], [20, 30]], [[20, 30], [30, 20]]))
    assert [np.argmin([expected_error(m, each) for m in ends]) for each in people] == [1, 0]

    # Nor does Phase I see the correlation, but if attributes agree, so do more often the errors of its estimates. Exact
    # expected errors with tables learned from five users, over all counts of their reports:
    def learned(joint, f=(0.75, 0.25), n1=5, root=2.0):
        (p, q), seen, total = grr.probabilities(root, 2), joint.ravel() @ splitting.channel(root, (2, 2)), 0
        for c in (c for c in itertools.product(range(n1 + 1), repeat=4) if sum(c) == n1):
            ones = [pure.estimate(x, n1, p, q) for x in (c[0] + c[1], c[0] + c[2])]
            reuse = corr_rr.joint_reuse([[x, 1 - x] for x in ones], n2)
            total += multinomial.pmf(c, n1, seen) * error([f, f], reuse, n2, root**2)
        return total

    of = [learned(joint) for joint in (np.diag([0.75, 0.25]), np.outer([0.75, 0.25], [0.75, 0.25]))]
    assert [round(float(x), 4) for x in of] == [0.0982, 0.1034]
    claim("corr-rr-v1/ext-iterative").conditional(helps, useless and stays)
    claim("corr-rr-v2/ext-iterative").conditional(helps, useless)


def test_the_best_table_still_leaves_a_bias():
    # Attribute 2 is uniform, so nothing can be copied from it: the bias of attribute 1 is the same for every table.
    f = [[Fraction(9, 10), Fraction(1, 10)], [HALF, HALF]]
    means = {tuple(corr_rr.expectation(f, table(a, b))[0]) for a, b in itertools.product(CORNERS, repeat=2)}
    assert means == {(Fraction(7, 10), Fraction(3, 10))}
    alike = np.array([f[0], f[0]])  # no bias where frequencies are alike, or for two values mirrored
    assert (corr_rr.expectation(alike, table(ONE, ONE)) == alike).all()
    mirrored = np.array([f[0], f[0][::-1]])
    assert (corr_rr.expectation(mirrored, table(0 * ONE, 0 * ONE)) == mirrored).all()

    # And nowhere else: all pairs of sixths, with the p_y of least bias, that of the projection of one on the other.
    def best(a, b):
        g, h = a - Fraction(1, len(a)), b - Fraction(1, len(b))
        t = g @ h / (h @ h) if h.any() else 0 * ONE
        return min(max((1 + (len(a) - 1) * t) / len(a), 0 * ONE), ONE)

    for k in (2, 3):
        shares = [np.array(x) * ONE / 6 for x in itertools.product(range(7), repeat=k) if sum(x) == 6]
        for a, b in itertools.product(shares, repeat=2):
            kept = (corr_rr.expectation(np.array([a, b]), table(best(b, a), best(a, b))) == np.array([a, b])).all()
            assert kept == ((a == b).all() or (k == 2 and (a == b[::-1]).all()))
    # Nor with more attributes: the one farthest from uniform needs copies that are all as far, and not shrunk.
    for k, parts in ((2, 4), (3, 2)):
        shares = [np.array(x) / parts for x in itertools.product(range(parts + 1), repeat=k) if sum(x) == parts]
        for three in map(np.array, itertools.combinations_with_replacement(shares, 3)):
            off = abs(corr_rr.expectation(three, corr_rr.joint_reuse(three, 10**12)) - three).max()
            alike = [(three[0] == x).all() or (k == 2 and (three[0] == x[::-1]).all()) for x in three]
            assert off < 1e-6 if all(alike) else off > 1e-3


def test_groups_help_with_many_users_and_hurt_at_small_budgets():
    # Attributes 1, 2 are alike, and 3, 4 are; between them the deviations from 1/4 are orthogonal.
    first = [Fraction(7, 10), Fraction(1, 10), Fraction(1, 10), Fraction(1, 10)]
    second = [Fraction(1, 4), Fraction(11, 20), Fraction(1, 10), Fraction(1, 10)]
    f = [first, first, second, second]
    assert sum((a - Fraction(1, 4)) * (b - Fraction(1, 4)) for a, b in zip(first, second, strict=True)) == 0

    def least(g, n2, root):
        """Error of a group with its best table."""
        g = np.array(g, dtype=float)
        return error(g, corr_rr.joint_reuse(g, n2), n2, root)

    def ratio(n2, root, f=f):
        """Two groups with half the budget over one group, each with its best table."""
        return sum(least(g, n2, root) for g in (f[:2], f[2:])) / least(f, n2, root**2)

    helps, hurts = max(ratio(10**6, 2.0), ratio(1_000, 20.0)), ratio(1_000, 1.05)  # many users; a large budget
    assert hurts > 3  # the variance is four times as large
    uniform = [[Fraction(1, 4)] * 4] * 4  # all alike: one group has no bias, so groups lose there too
    assert min(ratio(*at, g) for at in ((10**6, 2.0), (1_000, 20.0)) for g in ([first] * 4, uniform)) > 1.4
    pair = [first, first]  # no bias is left in a group of alike attributes
    assert (corr_rr.expectation(np.array(pair), [[ONE, ONE]] * 2) == np.array(pair)).all()
    mirrored = [[Fraction(9, 10), Fraction(1, 10)], [Fraction(1, 10), Fraction(9, 10)]] * 2  # two values: nor in one
    assert min(ratio(*at, mirrored) for at in ((10**6, 2.0), (1_000, 20.0), (1_000, 1.05))) > 1
    # Alike attributes must share a group: with an unrelated partner attribute 1's bias doubles, from 1/4 to 1/2 of its
    # distance from uniform, though its own weight doubles too.
    apart, away = [first, second, first, first], (np.array(first) - Fraction(1, 4)) / 4
    bias = [
        corr_rr.expectation(np.array(g), t)[0] - first for g, t in ((apart, own_copies(4)), (apart[:2], own_copies(2)))
    ]
    assert [list(b) for b in bias] == [list(-away), list(-2 * away)]

    # Nor is it enough that attributes 1 and 2, which are alike, share one: the third lies between them and the fourth.
    # Its bias is an eighth of the fourth's distance from uniform in one group, and beside the fourth a quarter of 1's.
    g, h = (np.array(x) * Fraction(1, 8) for x in ([3, -1, -1, -1], [0, 2, -1, -1]))
    between = np.array([g, g, (g + h) / 2, h]) + Fraction(1, 4)
    of_four = [[ONE, ONE, Fraction(13, 16), ONE]] * 2 + [[ONE] * 4] * 2
    wide = corr_rr.expectation(between, of_four)[2] - between[2]
    narrow = corr_rr.expectation(between[2:], table(ONE, Fraction(5, 8)))[0] - between[2]
    assert (g @ h, list(wide), list(narrow)) == (0, list(-h / 8), list(-g / 4))  # with the tables of least bias
    assert wide @ wide < narrow @ narrow

    def noise(root, d):
        reuse = [[ONE] * d] * d
        return 4 / d * error(uniform[:d], reuse, 1_000, root)

    # At small budgets p - q falls to one h-th with one h-th of the budget (z for z^h), so the variance grows by h^2.
    z, k, h = sp.symbols("z k h", positive=True)
    grows = [sp.diff(np.subtract(*grr.probabilities(x, k)), z).subs(z, 1) for x in (z, z**h)]
    assert sp.cancel(grows[1] - h * grows[0]) == 0 != grows[0]
    root = Fraction(11, 10)
    # Two attributes are 0 for all, two are even. With the best tables the noise of two groups is more than that of one
    # at a small budget, and less at a large one: with less bias the reports are farther from even.
    sure, even, ones = [[ONE, 0 * ONE]] * 2, [[HALF, HALF]] * 2, [[ONE, ONE]] * 2
    best_of_four = [*[[ONE, ONE, HALF, HALF]] * 2, *[[ONE] * 4] * 2]
    shipped = corr_rr.joint_reuse(np.array([*sure, *even], dtype=float), 10**9)
    assert np.allclose(shipped[:2], np.array(best_of_four[:2], dtype=float))

    def spread(rows, reuse, e):
        return corr_rr.iid_variance(np.array(rows), reuse, 1_000, e).sum()

    more = [
        spread(sure, ones, x) + spread(even, ones, x) > spread([*sure, *even], best_of_four, x**2)
        for x in (Fraction(6, 5), Fraction(12))
    ]
    assert more == [True, False]
    claim("corr-rr-v1/ext-grouping-accuracy").conditional(bool(helps < 1), bool(hurts > 1))
    claim("corr-rr-v2/ext-grouping-accuracy").conditional(bool(helps < 1), noise(root, 2) > 3 * noise(root**2, 4))


def own_copies(d):
    """Attribute 1 copies from 3 and 4, which are like it, and takes from 2, which is not, a report without memory."""
    return [[ONE] * d, [Fraction(1, 4)] + [ONE] * (d - 1), *[[ONE] * d] * (d - 2)]


def conditionals(law):
    """The true conditionals of two attributes, in both directions."""
    return {(0, 1): law / law.sum(axis=1, keepdims=True), (1, 0): (law / law.sum(axis=0)).T}


def cond_error(law, n2, e):
    """Cond-RR with the true conditionals, and whether its bias is the printed one."""
    truth, laws, total, as_printed = [law.sum(axis=1), law.sum(axis=0)], conditionals(law), 0, True
    for m, mean in enumerate(cond_expectation(truth, laws, e)):
        p, q = grr.probabilities(e, len(mean))
        pi = q + (p - q) * mean
        total += ((mean - truth[m]) ** 2).sum() + (pi * (1 - pi)).sum() / (n2 * (p - q) ** 2)
        bias = q / (p - q) * (laws[1 - m, m].sum(axis=0) - 1) / 2
        as_printed &= bool((mean - truth[m] == bias).all())
    return total, as_printed


def held_errors(root):
    """Errors of Cond-RR and of SPL, four users with the four records of two binary attributes held fixed."""
    (p, q), (p1, q1) = (grr.probabilities(x, 2) for x in (root**2, root))
    shown = [(own + HALF) / 2 for own in (p, q)]  # the other attribute is no help: its copy is uniform
    return sum(x * (1 - x) for x in shown) / 2 / (p - q) ** 2, p1 * q1 / (p1 - q1) ** 2


def test_cond_rr_is_accurate_for_uniform_frequencies_and_not_for_others():
    even = np.array([[4, 1, 1], [1, 4, 1], [1, 1, 4]]) * Fraction(1, 18)
    uneven = np.outer([9, 1], [4, 1]) * Fraction(1, 50)
    root, n = Fraction(5, 4), 20_000  # a budget of 2 ln(5/4), about 0.45
    (good, first), (bad, second) = (cond_error(law, n, root**2) for law in (even, uneven))
    assert first
    assert second
    spl = [splitting_error([law.sum(axis=1), law.sum(axis=0)], n, root) for law in (even, uneven)]
    # Equal attributes: the conditionals are the identity, so nothing is biased whatever the frequencies.
    f = [Fraction(7, 10), Fraction(1, 5), Fraction(1, 10)]
    equal = np.diag(f)
    kept = all((mean == f).all() for mean in cond_expectation([f, f], conditionals(equal), root**2))
    # But a value that nobody has has no conditional, though it is reported: any but itself leaves a bias.
    some, drawn = [HALF, HALF, 0 * HALF], np.array([[1, 0, 0], [0, 1, 0], [THIRD] * 3])
    spread = cond_expectation([some, some], {(0, 1): drawn, (1, 0): drawn}, root**2)
    assert all(list(mean - some) == [Fraction(8, 27), Fraction(8, 27), -Fraction(16, 27)] for mean in spread)
    for x in (x for x in itertools.product(range(1, 7), repeat=3) if sum(x) == 8):
        f_, z = [Fraction(v, 8) for v in x], (Fraction(101, 100), root, 99 * ONE)
        found = [cond_error(np.diag(f_), n, y**2) for y in z]
        assert all(
            as_printed and y < splitting_error([f_, f_], n, w) for (y, as_printed), w in zip(found, z, strict=True)
        )
    # In general: both cases report like GRR at epsilon, whose error falls with the budget, and SPL at epsilon / d.
    w, t, share = sp.symbols("w t f", positive=True)  # w = q / (p - q), 2 + t values
    p, q = grr.probabilities(1 + 1 / w, 2 + t)
    assert sp.cancel(q / (p - q) - w) == 0
    assert min(sp.Poly(sp.cancel(pure.variance(share, n, p, q)), w, t, share).coeffs()) > 0
    assert bad > 100 * spl[1]
    # Nor with conditionals that are not the data's, which miss the frequencies themselves.
    own = [uneven.sum(axis=1), uneven.sum(axis=0)]
    missed = cond_expectation(own, {(0, 1): np.eye(2, dtype=int), (1, 0): np.eye(2, dtype=int)}, root**2)
    assert all((mean - f_ != 0).all() for mean, f_ in zip(missed, own, strict=True))  # though their columns sum to 1
    # The formula needs domains of one size: with two and three values attribute 2's bias is not as printed.
    law = np.array([[3, 1, 2], [1, 4, 1]]) * ONE / 12
    mean = cond_expectation([law.sum(axis=1), law.sum(axis=0)], conditionals(law), 3 * ONE)[1]
    assert list(mean - law.sum(axis=0)) == [0, ONE / 16, -ONE / 16]
    assert not cond_error(law, n, 3 * ONE)[1]
    # The bias of three attributes: records, noise and copies enumerated, and the stated sum over the two pivots.
    weights = np.random.default_rng(6).integers(1, 9, size=(2, 2, 2))
    law, truth, (p, q) = weights * (ONE / int(weights.sum())), grr.channel(root, 2), grr.probabilities(root, 2)
    seen, f3 = np.zeros((3, 2), dtype=object), [law.sum(axis=tuple({0, 1, 2} - {m})) for m in range(3)]
    drawn = {(j, m): law.sum(axis=3 - j - m) for j, m in itertools.combinations(range(3), 2)}
    drawn = {
        at: rows / rows.sum(axis=1, keepdims=True)
        for at, rows in (drawn | {x[::-1]: y.T for x, y in drawn.items()}).items()
    }
    for x, j, m, z, w in itertools.product(np.ndindex(2, 2, 2), range(3), range(3), (0, 1), (0, 1)):
        seen[m, w] += law[x] * truth[x[j], z] * (z == w if j == m else drawn[j, m][z, w]) / 3
    for m in range(3):
        sums = sum(drawn[j, m].sum(axis=0) - 1 for j in range(3) if j != m)
        assert list((seen[m] - q) / (p - q) - f3[m]) == list(q / (p - q) * sums / 3) != [0, 0]
    # Users drawn at random and uniform frequencies: below SPL's error at large budgets too, as both report uniformly.
    wide = [(cond_error(even, n, x**2)[0], splitting_error([[THIRD] * 3] * 2, n, x)) for x in (root, 8 * ONE, 99 * ONE)]
    # Not with the data held fixed: SPL's answers become true at large budgets, and Cond-RR's copies do not.
    (small, spl_small), (large, spl_large) = held_errors(Fraction(131, 20)), held_errors(Fraction(329, 50))
    assert small < spl_small
    assert large > spl_large  # budgets of 3.759 and 3.768
    assert all(x > y for x, y in map(held_errors, (7 * ONE, 10 * ONE, 100 * ONE, 10_000 * ONE)))  # and of more
    claim("corr-rr-v1/ext-cond-rr-accuracy").holds(good < spl[0], kept, all(x < y for x, y in wide))


def pair_given_pivot(law, kernel, e):
    """Joint law of both reports if the pivot is the first attribute, by enumeration of records, noise and copies."""
    k = len(law)
    truth, seen = grr.channel(e, k), np.zeros((k, k), dtype=object)
    for x, other, z, y in itertools.product(range(k), repeat=4):
        seen[z, y] += law[x, other] * truth[x, z] * kernel[z][y]
    return seen


def covariance(law):
    values = range(len(law))
    mean = [sum(v * share for v, share in zip(values, law.sum(axis=axis), strict=True)) for axis in (1, 0)]
    return sum((x - mean[0]) * (y - mean[1]) * law[x, y] for x, y in itertools.product(values, repeat=2))


def test_cond_rr_carries_dependence_over_through_the_noise():
    even = np.array([[4, 1, 1], [1, 4, 1], [1, 1, 4]]) * Fraction(1, 18)
    skewed = np.array([[6, 1, 0], [1, 5, 1], [0, 2, 4]]) * Fraction(1, 20)
    turned = np.array([[25, 15, 10], [5, 10, 33], [2, 0, 0]]) * Fraction(1, 100)
    kept, fakes = [], []
    for law, e in itertools.product((even, skewed, skewed[:, ::-1], turned), (Fraction(11, 10), Fraction(3))):
        seen = pair_given_pivot(law, conditionals(law)[0, 1], e)
        assert seen.sum() == 1
        # Given the pivot's report, the other one has the data's own conditional law, whatever the budget.
        kept.append((seen / seen.sum(axis=1, keepdims=True) == conditionals(law)[0, 1]).all())
        prior = [law.sum(axis=0)] * len(law)  # RS+RFD's fakes: the true frequencies, whatever the pivot's report is
        drawn = pair_given_pivot(law, prior, e)
        fakes.append((drawn == np.outer(drawn.sum(axis=1), drawn.sum(axis=0))).all())
    whole = (pair_given_pivot(even, conditionals(even)[0, 1], Fraction(3)) == even).all()
    # The joint law is not kept, nor is the direction: the pivot's reports are nearer to uniform than the pivot is.
    report = pair_given_pivot(turned, conditionals(turned)[0, 1], Fraction(11, 10))
    assert (round(covariance(turned), 2), round(covariance(report), 2)) == (Fraction(18, 100), -Fraction(23, 100))
    # Over both pivots the binary reports of dependent attributes may be independent: the means of the two laws differ.
    rare = np.array([[9, 116], [116, 3509]]) * Fraction(1, 3750)
    one, two = (pair_given_pivot(law, conditionals(law)[0, 1], Fraction(23, 5)) for law in (rare, rare.T))
    assert min(map(covariance, (rare, one, two))) > 0 == covariance((one + two.T) / 2)
    claim("corr-rr-v2/ext-cond-rr-accuracy").holds(all(kept), all(fakes), bool(whole))


def rectangular(truths, kernels):
    """Channel of two attributes: a random pivot, the other value drawn from a kernel of its report."""
    k = [len(truth) for truth in truths]
    words = list(itertools.product(*map(range, k)))

    def chance(x, y):
        one = truths[0][x[0], y[0]] * kernels[0, 1][y[0]][y[1]]
        return (one + truths[1][x[1], y[1]] * kernels[1, 0][y[1]][y[0]]) / 2

    return np.array([[chance(x, y) for y in words] for x in words])


def test_a_stochastic_map_joins_domains_of_different_sizes():
    rng, ratios, agree = np.random.default_rng(1), [], []
    for e in [Fraction(3), Fraction(21, 20), Fraction(40)] * 7:
        truths, kernels = [grr.channel(e, 2), grr.channel(e, 4)], {}
        for pair, shape in (((0, 1), (2, 4)), ((1, 0), (4, 2))):
            weights = rng.integers(1, 9, size=shape)
            kernels[pair] = np.array([[Fraction(int(w), int(sum(row))) for w in row] for row in weights])
        matrix = rectangular(truths, kernels)
        ratios.append(channel.privacy_ratio(matrix) == e)
        law = np.outer([THIRD, 2 * THIRD], [HALF, HALF / 2, HALF / 4, HALF / 4])
        reports = (law.ravel() @ matrix).reshape(2, 4)
        f = [law.sum(axis=1), law.sum(axis=0)]
        for axis, mean in enumerate(cond_expectation(f, kernels, e)):
            p, q = grr.probabilities(e, len(mean))
            agree.append((mean == (reports.sum(axis=1 - axis) - q) / (p - q)).all())
    # At small budgets (e - 1) times the bias is k/2 times what the map to 4 values makes of uniform reports, less 1/k.
    z, (own, _) = sp.Symbol("e", positive=True), kernels.values()
    exact = sp.Matrix(2, 4, [sp.Rational(v) for v in own.ravel()])
    mean = cond_expectation([[sp.Rational(v) for v in x] for x in f], {(0, 1): exact, (1, 0): exact.T}, z)[1]

    def growths(mean):
        return [sp.limit(sp.cancel((x - sp.Rational(y)) * (z - 1)), z, 1) for x, y in zip(mean, f[1], strict=True)]

    halves = sp.Matrix(2, 4, [1, 0, 1, 0, 0, 1, 0, 1]) / 2  # uniform to uniform
    even = cond_expectation([[sp.Rational(v) for v in x] for x in f], {(0, 1): halves, (1, 0): halves.T}, z)[1]
    assert growths(even) == [0] * 4
    # The conditionals of Phase I's reports, each with half the budget, tend to uniform: the bias tends to a limit.
    root, joint = sp.Symbol("r", positive=True), sp.Matrix(2, 4, [6, 1, 0, 1, 2, 4, 6, 4]) / 24
    shares = [[sp.Rational(1, 3), sp.Rational(2, 3)], [sp.Rational(v, 24) for v in (8, 5, 6, 5)]]
    assert shares == [[sum(joint.row(x)) for x in (0, 1)], [sum(joint.col(x)) for x in range(4)]]
    seen = sp.Matrix(grr.channel(root, 2)) * joint * sp.Matrix(grr.channel(root, 4))
    limits = []
    for law in (seen, joint):
        drawn = {(0, 1): law, (1, 0): law.T}
        for at, rows in drawn.items():
            drawn[at] = np.array([[v / sum(rows.row(i)) for v in rows.row(i)] for i in range(rows.rows)])
        second = cond_expectation(shares, drawn, root**2)[1]
        limits.append([sp.limit(sp.cancel(x - y), root, 1) for x, y in zip(second, shares[1], strict=True)])
    assert limits[0] == [(sp.Rational(1, 4) - x) / 4 for x in shares[1]]
    assert not any(x.is_finite for x in limits[1])  # the conditionals of the values: no limit
    growth = growths(mean)
    assert growth == [2 * (sp.Rational(sum(column)) / 2 - sp.Rational(1, 4)) for column in own.T] != [0] * 4
    claim("corr-rr-v1/ext-domains").holds(all(ratios), all(agree))


def test_aligned_domains_show_the_groups_and_not_the_values():
    # Values 0, 1 and 2, 3 of the second attribute become "yes" and "no"; a random member of the group is reported.
    into = np.kron(np.eye(2, dtype=int), np.eye(2, dtype=int)[[0, 0, 1, 1]])
    back = into.T * HALF
    e, reuse = Fraction(3), table(Fraction(4, 5), Fraction(3, 5))
    aligned = into @ corr_rr.channel(e, 2, reuse) @ back
    assert (aligned.sum(axis=1) == 1).all()
    records = aligned.reshape(2, 2, 2, -1)  # first value, group, member: within a group all members report alike
    assert (records[:, :, 0] == records[:, :, 1]).all()
    assert (records[:, 0] != records[:, 1]).any(axis=-1).all()

    def reports(second):
        law = np.outer([THIRD, 2 * THIRD], second)
        return (law.ravel() @ aligned).reshape(2, 4)

    even = [Fraction(3, 8), Fraction(3, 8), Fraction(1, 8), Fraction(1, 8)]
    groups = corr_rr.expectation(np.array([[THIRD, 2 * THIRD], [Fraction(3, 4), Fraction(1, 4)]]), reuse)[1]
    p, q = grr.probabilities(e, 2)
    seen = reports(even).sum(axis=0).reshape(2, 2).sum(axis=1)  # of the groups
    as_corr_rr = list((seen - q) / (p - q)) == list(groups) and len(set(reports(even).sum(axis=0))) == 2
    one, other = [Fraction(3, 4), 0, Fraction(1, 4), 0], [0, Fraction(3, 4), 0, Fraction(1, 4)]
    # If the pivot is reported on its own domain, and only a copy is aligned, its half of the reports tells them apart.
    kernels = {(1, 0): np.array([[HALF, HALF]] * 4), (0, 1): np.array([[HALF, 0, HALF, 0]] * 2)}
    means = [cond_expectation([[THIRD, 2 * THIRD], second], kernels, e)[1] for second in (one, other)]
    assert list(means[0] - means[1]) == [(a - b) / 2 for a, b in zip(one, other, strict=True)]
    claim("corr-rr-v2/ext-domains").conditional(as_corr_rr, bool((reports(one) == reports(other)).all()))


def two_pivots(root, kernel, second=None):
    """Channel of three binary attributes: two random pivots, the third drawn given both; kernel[m][a, b] = Pr[1].

    `second` is the ratio of the second pivot's report, if it is not `root` too.
    """
    one, two = grr.channel(root, 2), grr.channel(second or root, 2)
    words = list(itertools.product((0, 1), repeat=3))

    def chance(x, y):
        total = 0
        for m in range(3):
            a, b = (j for j in range(3) if j != m)
            third = kernel[m][y[a], y[b]] if y[m] else 1 - kernel[m][y[a], y[b]]
            total += one[x[a], y[a]] * two[x[b], y[b]] * third / 3
        return total

    return np.array([[chance(x, y) for y in words] for x in words])


def best_of_two_pivots(ones, n, root):
    """Least total error over all kernels: each third report can have any probability of a 1, from 0 to 1."""
    p, q = grr.probabilities(root, 2)
    total = 0
    for f in ones:

        def loss(drawn, f=f):
            pi = (2 * (q + (p - q) * f) + drawn) / 3
            return 2 * (((pi - q) / (p - q) - f) ** 2 + pi * (1 - pi) / (n * (p - q) ** 2))

        # A convex quadratic in `drawn`: its minimum from three values.
        low, middle, high = loss(Fraction(0)), loss(HALF), loss(ONE)
        curve, slope = 2 * (high - 2 * middle + low), 4 * middle - 3 * low - high
        assert curve > 0
        total += loss(min(max(-slope / (2 * curve), Fraction(0)), ONE))
    return total


def test_two_pivots_help_with_many_users_and_hurt_with_few():
    rng, root = np.random.default_rng(2), Fraction(2)
    kernels = [[[Fraction(int(v), 10) for v in row] for row in rng.integers(0, 11, size=(2, 2))] for _ in range(3)]
    matrix = two_pivots(root, [np.array(kernel) for kernel in kernels])
    assert (matrix.sum(axis=1) == 1).all()
    sure = [[[0 * ONE, ONE], [ONE, 0 * ONE]]] * 3  # the pivots' budgets must sum to the user's, whatever the kernel is
    for each, z in itertools.product((kernels, kernels[::-1], sure), (root, Fraction(21, 20), Fraction(9))):
        assert channel.privacy_ratio(two_pivots(z, [np.array(kernel) for kernel in each])) == z**2
        assert channel.privacy_ratio(two_pivots(z, [np.array(kernel) for kernel in each], 5 * ONE)) == 5 * z
    law = splitting.channel(root, (2, 2, 2))[3]  # some law of records, all positive
    free = [two_pivots(root, [np.full((2, 2), v)] * 3) for v in (0 * ONE, ONE)]
    ones = [[y[m] for y in itertools.product((0, 1), repeat=3)] for m in range(3)]
    span = [[law @ c @ np.array(mask) for mask in ones] for c in free]  # 0 and 1 are the ends of the third report
    assert all(high - low == THIRD for low, high in zip(*span, strict=True))

    def corr_error(f, p_y, n, e):
        reuse = [[ONE if j == m else p_y for m in range(3)] for j in range(3)]
        return error([[1 - v, v] for v in f], reuse, n, e)

    # One attribute is uneven, the others uniform: Corr-RR keeps two thirds of the deviation as its bias, for any table.
    uneven, even = [Fraction(9, 10), HALF, HALF], [Fraction(11, 20), HALF, HALF]
    kept = 2 * (2 * THIRD * Fraction(2, 5)) ** 2
    shown = [[1 - v, v] for v in uneven]
    reuse = [[[ONE if j == m else p_y for m in range(3)] for j in range(3)] for p_y in CORNERS]
    means = {corr_rr.expectation(shown, each)[0, 1] for each in reuse}
    assert means == {HALF + THIRD * Fraction(2, 5)}
    helps = best_of_two_pivots(uneven, 10**6, root) < kept
    small = Fraction(21, 20)
    hurts = best_of_two_pivots(even, 1_000, small) > corr_error(even, HALF, 1_000, small**2)
    claim("corr-rr-v2/ext-higher-order").conditional(helps, hurts)

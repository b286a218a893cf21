"""The JRR paper's Section 4.6: steps, and what we searched and did not prove."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from scipy import stats

from ldp_lib import channel, check, grr, jrr, unary
from ldp_lib.book import printed_jrr
from ldp_lib.book.claims import claim
from ldp_lib.book.enumeration import half_law, least_delta, pairings, worst_ratio
from ldp_lib.jrr import extensions, privacy
from ldp_lib.population import Population

HALF, FIFTH = Fraction(1, 2), Fraction(1, 5)
CORNERS = [(t, m) for t in (Fraction(3, 5), Fraction(1, 2), Fraction(9, 10)) for m in (2, 3, 6)]


def largest(both, one, none):
    """The largest quotient of neighbouring entries: the ratio of the transcript, others' values known."""
    return max(both / one, one / both, one / none, none / one)


def truth_law(size, t, r, m):
    """The law of all truths, m values: a lie is any of m - 1."""
    both, one, none = jrr.table(t, r, m)
    cells, groups = (both, (m - 1) * one, (m - 1) ** 2 * none), pairings(range(size))
    law = dict.fromkeys(itertools.product((0, 1), repeat=size), Fraction(0))
    for told, group in itertools.product(law, groups):
        law[told] += math.prod(cells[2 - told[i] - told[j]] for i, j in group) / len(groups)
    return law


def worst(law, m):
    """The largest ratio about user 0: a report that is a lie for one value is a given lie."""
    pairs = [(c, law[0, *told[1:]] / (m - 1)) for told, c in law.items() if told[0]]
    return max(max(a / b, b / a) for a, b in pairs)


def count_variance(x, t, r, m):
    """Variance of the estimated number of users with value 0, by listing all reports."""
    cells, wrong, size = jrr.table(t, r, m), (1 - t) / (m - 1), len(x)
    groups, moments = pairings(range(size)), [0, 0]
    for y in itertools.product(range(m), repeat=size):
        lied = [a != b for a, b in zip(x, y, strict=True)]
        chance = sum(math.prod(cells[lied[i] + lied[j]] for i, j in g) for g in groups) / len(groups)
        value = (y.count(0) - size * wrong) / (t - wrong)
        moments = [v + chance * value**i for i, v in enumerate(moments, 1)]
    return moments[1] - moments[0] ** 2


def test_the_table_of_k_values():
    p, k, rho = sp.symbols("p k rho", positive=True)
    lie = (1 - p) / (k - 1)
    printed = [
        p**2 + rho * p * lie,
        p * lie - rho * p * lie / (k - 1),
        lie**2 + rho * p * lie / (k - 1) ** 2,
    ]
    total = printed[0] + 2 * (k - 1) * printed[1] + (k - 1) ** 2 * printed[2]
    w = (1 - p) / p  # the entries rise, fall and rise with rho, each in a line through its zero
    zeros, slopes = (-(k - 1) / w, k - 1, -(k - 1) * w), (1, -1 / (k - 1), 1 / (k - 1) ** 2)
    lines = [v - p * lie * slope * (rho - at) for v, slope, at in zip(printed, slopes, zeros, strict=True)]
    edges = [min(jrr.table(t, r, m)) for t, m in CORNERS for r in jrr.rho_range(t, m)]
    odds = {(t, m): (1 - t) / t for t, m in (*CORNERS, (Fraction(1, 5), 3), (Fraction(1, 5), 6))}  # of a lie
    outside = [jrr.table(t, r, m) for (t, m), w in odds.items() for r in (m, -(m - 1) * min(w, 1 / w) - FIFTH)]
    claim("jrr/eq-27").holds(
        sp.cancel(total - 1) == 0,
        all(sp.cancel(v) == 0 for v in lines),
        all(sp.cancel(a - b) == 0 for a, b in zip(printed, jrr.table(p, rho, k), strict=True)),
        edges == [0] * 18,
        all(jrr.rho_range(t, m) == (-(m - 1) * min(w, 1 / w), m - 1) for (t, m), w in odds.items()),
        all(min(cells) < 0 for cells in outside),
    )
    assert {tuple(jrr.table(Fraction(1), Fraction(r), m)) for r in (-1, 0, 9) for m in (3, 6)} == {(1, 0, 0)}
    assert all(jrr.table(Fraction(0), r, m) == (0, 0, Fraction(1, (m - 1) ** 2)) for r in (-1, 0, 9) for m in (3, 6))
    found = []
    for t, m in CORNERS:
        low, high = jrr.rho_range(t, m)
        for r in (low, high, (low + high) / 3):
            cells, law = jrr.table(t, r, m), [Fraction(0)] * m
            for a, b in itertools.product(range(m), repeat=2):
                law[a] += cells[(a != 0) + (b != 0)]
            lie = (1 - t) / (m - 1)
            found.append(law == [t] + [lie] * (m - 1))
            if t != lie:  # two users who hold 0: two are expected, and none of any other value
                found.append([(2 * v - 2 * lie) / (t - lie) for v in law] == [2] + [0] * (m - 1))
    claim("jrr/sec-4.6.1-marginal").holds(len(found) == 27 + 24, all(found))


def test_privacy_and_utility_of_k_jrr_follow_as_for_two_values():
    t, r, m = Fraction(1, 2), Fraction(-1), 3
    people = [(0, 0, 0, 0), (0, 0, 1, 2), (0, 1, 1, 2), (1, 1, 2, 2)]
    listed = [count_variance(x, t, c, m) for x in people for c in (r, -r)]
    closed = [jrr.variance(Fraction(x.count(0)), 4, t, c, m) for x in people for c in (r, -r)]
    ratios = []
    rarest = Fraction(1, 4), Fraction(-1), 5
    for at in ((t, r, m), (t, Fraction(3, 2), m), (Fraction(2, 5), Fraction(-2), 5), (Fraction(2, 5), 3, 5), rarest):
        cells = jrr.table(*at)
        ratios += [worst(truth_law(size, *at), at[2]) == largest(*cells) for size in (2, 4, 6)]
        ratios.append(largest(*cells) > at[0] * (at[2] - 1) / (1 - at[0]))
    # Of four users two colluders lied: the truth is likelier than with the partner among them in two cases of three.
    law = truth_law(4, t, r, m)
    true, lie = (law[own, 0, 0, 0] + law[own, 0, 0, 1] for own in (1, 0))
    as_theorem_2 = (2 * (m - 1) * jrr.table(t, r, m)[1] / (1 - t) + t) / 3
    claim("jrr/sec-4.6.1-s3").holds(
        listed == closed, all(ratios), worst(law, m) == 6, true / (true + lie) > as_theorem_2 > t
    )
    assert largest(*cells) == cells[1] / cells[0] > cells[1] / cells[2]  # two truths can be the rarest


def test_the_truth_gets_rarer_as_the_domain_grows():
    e, k = sp.symbols("e k", positive=True)
    slope = sp.diff(grr.probabilities(e, k)[0], k)
    # GRR's is the largest mean probability of the truth that a ratio allows: Pr[v | v] is at most e times each of the
    # k - 1 others Pr[v | u]; add up over v, where all of them make k. All channels of sixths, two and three values.
    most = []
    for size in (2, 3):
        rows = [row for row in itertools.product([Fraction(i, 6) for i in range(1, 6)], repeat=size) if sum(row) == 1]
        for m in itertools.product(rows, repeat=size):
            mean = sum(m[i][i] for i in range(size)) / size
            most.append((mean, grr.probabilities(Fraction(channel.privacy_ratio(m)), size)[0]))
    rng = np.random.default_rng(1)
    for size in (4, 6, 10):  # larger domains: channels at random, and GRR moved towards them
        top = grr.channel(3.0, size)
        for part, m in ((v, rng.dirichlet([2.0] * size, size)) for v in (1, 0.1, 0.01) for _ in range(20)):
            m = (1 - part) * np.array(top, dtype=float) + part * m
            level = (m.max(axis=0) / m.min(axis=0)).max()
            assert np.trace(m) / size < level / (level + size - 1)
    own_bits = set()  # reported as 1, by OUE
    for size in (2, 3, 5):
        m = unary.channel(*unary.oue_probabilities(Fraction(3)), size)
        own_bits |= {sum(chance for y, chance in enumerate(m[v]) if y >> v & 1) for v in range(size)}
    claim("jrr/sec-4.6.3-s3").conditional(
        sp.cancel(slope + e / (k + e - 1) ** 2) == 0
        and len(most) == 1025
        and all(mean <= bound for mean, bound in most)
        and (Fraction(2, 3), Fraction(2, 3)) in most,
        own_bits == {HALF},
    )


def test_inside_hashing_a_negative_correlation_never_loses():
    n, n_v, p, g, r = sp.symbols("n n_v p g r", positive=True)
    extra = jrr.hashed_variance(n_v, n, p, g, -r)
    growth = sp.cancel(extra - extra.subs(r, 0))
    printed = -r * p * (1 - p) * n_v * (n_v - 1) / ((n - 1) * (p - 1 / g) ** 2)  # never positive for whole n_v
    crowd = Population.from_counts([400, 500, 1, 0])
    joint = extensions.JointHashing(k=4, epsilon=math.log(3), rho=-2.7)
    bare = extensions.JointHashing(k=4, epsilon=math.log(3), rho=0.0).variance(crowd)
    claim("jrr/sec-4.6.3-s4").holds(sp.cancel(growth - printed) == 0, bool((joint.variance(crowd) <= bare).all()))
    runs = joint.simulate(crowd, rng=np.random.default_rng(1), runs=20_000)
    right = joint.variance(crowd)
    assert check.variance_z(runs, right) < 5 < check.variance_z(runs, 1.1 * right)
    assert check.variance_z(runs, bare) > 5
    assert sp.cancel((1 - 1 / g) / (g - 1) - 1 / g) == 0  # a lie of one who does not hold v hits its bucket as a truth


def test_bits_with_signs_have_the_stated_law():
    people, wanted = Population.from_counts([400, 500, 0]), extensions.JointUnary(k=3, epsilon=math.log(4), rho=-1 / 4)
    runs = wanted.simulate(people, rng=np.random.default_rng(1), runs=20_000)
    right = wanted.variance(people)
    assert check.mean_z(runs, people.frequencies) < 5
    assert check.variance_z(runs, right) < 5 < check.variance_z(runs, 1.1 * right)


@pytest.mark.parametrize("e", [1.2, 2, 4])
@pytest.mark.parametrize("m", [2, 3, 5, 8])
def test_no_k_jrr_of_a_grid_beats_grr_at_equal_privacy_of_all_reports(e, m):
    top = grr.probabilities(e, m)[0]
    counts = {size: np.arange(size + 1) for size in (2, 100)}
    base = {size: jrr.variance(count, size, top, 0.0, m) for size, count in counts.items()}
    drops, shares = 2.0 ** -np.arange(0.125, 10, 0.125), 2.0 ** -np.arange(1, 9)
    tried = 0
    for drop, part, end in itertools.product(drops, shares, (0, 1)):
        t = top - drop * (top - 1 / m)
        r = part * jrr.rho_range(t, m)[end]
        if largest(*jrr.table(t, r, m)) <= e:
            tried += 1
            assert all((jrr.variance(count, size, t, r, m) > base[size]).all() for size, count in counts.items())
    assert tried > 50


def test_shuffled_reports_give_the_same_estimate():
    mechanism, rng = jrr.JRR(p=0.6, rho=-0.5), np.random.default_rng(1)
    reports = mechanism.perturb([1, 1, 1, 0, 0, 1], rng=rng)
    mixed_up = rng.permutation(reports)
    before, after = mechanism.estimate(reports), mechanism.estimate(mixed_up)
    one_each = []  # for all vectors of reports the estimate depends on the number of ones only
    for (p, rho), size in itertools.product(((0.6, -0.5), (0.6, 0.4), (0.9, -0.1)), (2, 5, 6)):
        found = {}
        for y in itertools.product((0, 1), repeat=size):
            found.setdefault(sum(y), set()).add(tuple(jrr.JRR(p=p, rho=rho).estimate(np.array(y))))
        one_each += [len(estimates) == 1 for estimates in found.values()]
    claim("jrr/sec-4.6.5-s1").holds(not np.array_equal(reports, mixed_up), bool((before == after).all()), all(one_each))


def test_k_jrr_gains_over_grr_but_not_for_a_share_of_one_in_k():
    p, k, rho, n, c = sp.symbols("p k rho n c", positive=True)
    slope = sp.diff(jrr.variance(c, n, p, rho, k), rho)
    everyone = jrr.variance(n, n, p, rho, k) / jrr.variance(n, n, p, 0, k)
    t, r = Fraction(1, 2), Fraction(-3, 2)
    nobody = [count_variance((1, 1, 2, 2), t, c, 3) for c in (r, Fraction(0))]
    third = [jrr.variance(Fraction(3), 9, t, c, 3) for c in (r, Fraction(0))]
    # Two of four, not a third, lose as well: near n / k too, and for larger counts the same inequality decides.
    half = [count_variance((0, 0, 1, 2), t, c, 3) for c in (r, Fraction(0))]
    excess, positive = (k * c - n) ** 2 - n - k * (k - 2) * c, p * (1 - p) / ((k - 1) * (n - 1) * (k * p - 1) ** 2)
    band = not slope.has(rho) and sp.cancel(slope / positive - excess) == 0
    # The note on the transcript: a rho below 0 with the p that keeps the ratio of all reports at GRR's, here 4.
    kept = []
    for m, part in itertools.product((2, 3, 6), (Fraction(1, 9), HALF)):
        top, w = grr.probabilities(Fraction(4), m)[0], Fraction(m - 1, 4)  # of GRR; its odds of a lie
        x = part / (w + 1)  # minus the correlation; the odds rise by (w + 1) x
        at = 1 / (1 + w + (w + 1) * x), -(m - 1) * x, m
        better = jrr.variance(Fraction(20), 20, *at) < jrr.variance(Fraction(20), 20, top, 0, m)
        kept.append(largest(*jrr.table(*at)) == 4 and not better)
    for m, at in ((2, 2), (3, 4), (10, 4)):  # sec-4.6.3-s2: at the least rho, all users' value gains most
        top = grr.probabilities(Fraction(at), m)[0]
        gains = [
            jrr.variance(Fraction(c), 20, top, jrr.rho_range(top, m)[0], m) / jrr.variance(Fraction(c), 20, top, 0, m)
            for c in range(21)
        ]
        assert min(gains) == gains[20]
    claim("jrr/sec-4.6.3-s1").conditional(
        nobody[0] < nobody[1] and sp.cancel(everyone - 1 - rho / (k - 1)) == 0 and len(kept) == 6 and all(kept),
        third[0] > third[1] and half[0] > half[1] and band and sp.expand(excess.subs(c, n / k) + n * (k - 1)) == 0,
    )


def test_at_equal_privacy_of_the_transcript_k_jrr_has_no_gain_if_all_hold_one_value():
    """To keep the ratio at e the odds of a lie rise from w0 to w0 + x (w0 + 1), x = -rho / (k-1)."""
    w0, x, k = sp.symbols("w_0 x k", positive=True)
    w = w0 + x * (w0 + 1)
    assert sp.cancel((k - 1) * (1 + x) / (w - x) - (k - 1) / w0) == 0  # one / none stays e
    assert sp.expand(w * (1 - x) - w0 - x * (1 - x - w0 * x)) == 0  # the numerator of the variance
    assert sp.cancel((x * w - 1).subs(x, 1 / (w0 + 1))) == 0  # the range ends where the change becomes negative
    p, rho = sp.symbols("p rho", positive=True)
    both, one, _ = jrr.table(p, rho, k)
    more = sp.cancel(both / one - p * (k - 1) / (1 - p))  # positive: a rho above 0 raises the ratio, and the variance
    assert sp.cancel(more - rho * (k - 1) / ((1 - p) * (k - 1 - rho))) == 0


def test_signs_with_the_least_rho_drop_into_oue():
    e, root = sp.symbols("e r", positive=True)  # root: square root of -rho
    half, wrong = unary.oue_probabilities(e)
    deviation = [sp.sqrt(v * (1 - v)) for v in (half, wrong)]
    step = [root * v for v in deviation]
    truth = half, 1 - wrong  # of a one, of a zero
    found = []
    for i, j in ((0, 0), (0, 1), (1, 1)):
        both = sum((truth[i] + v * step[i]) * (truth[j] - v * step[j]) for v in (1, -1)) / 2
        found.append(sp.expand(both - truth[i] * truth[j] + root**2 * deviation[i] * deviation[j]) == 0)
    edge = [(v - s).subs(root, 1 / sp.sqrt(e)) for v, s in zip((half, wrong), step, strict=True)]
    # The note on the gain of moved truths: at e = 4 the deviations are 5/10 and 4/10; moves of a half and a third.
    for c, part in itertools.product(range(37), (Fraction(1, 2), Fraction(1, 3))):
        moved = [jrr.signed_variance(c, 36, HALF, FIFTH, x * HALF, -x * 2 * FIFTH) for x in (0, part)]
        assert (moved[1] < moved[0]) == ((5 * c - 4 * (36 - c)) ** 2 > 25 * c + 16 * (36 - c))
    claim("jrr/sec-4.6.2-oue-join").conditional(
        len(found) == 3
        and all(found)
        and sp.solve(wrong - step[1], root) == [1 / sp.sqrt(e)]
        and sp.simplify(edge[1]) == 0 < edge[0].subs(e, sp.Rational(11, 10)),
        unary.oue_probabilities(Fraction(4)) == (Fraction(1, 2), Fraction(1, 5)),
    )


def test_two_bits_reveal_more_whether_the_signs_move_truths_or_reports():
    """Two users, two bits, e = 4, rho = -1/16: the ratio about the own value if the other's is known. OUE has 4."""
    chances, known = (HALF, FIFTH), {}
    for lean, t in (("truth", Fraction(-1, 10)), ("report", Fraction(1, 10))):
        moves = Fraction(1, 8), t
        shipped = extensions.JointUnary(k=2, epsilon=math.log(4), rho=-1 / 16, lean=lean)
        assert shipped.moves == pytest.approx([float(v) for v in moves], rel=1e-12)

        def report(zero, bit, sign, moves=moves):
            one = chances[zero] + sign * moves[zero]
            return one if bit else 1 - one

        def law(own, other, report=report):
            return {
                y: math.prod(
                    sum(report(own != v, y[v], s) * report(other != v, y[2 + v], -s) for s in (1, -1)) / 2
                    for v in (0, 1)
                )
                for y in itertools.product((0, 1), repeat=4)
            }

        known[lean] = max(worst_ratio(law(0, other), law(1, other)) for other in (0, 1))
    assert known == {"truth": Fraction(33, 5), "report": Fraction(217, 45)}


def test_forty_bits_show_who_is_paired_with_whom():
    """At the least rho two partners never both report a false 1: the zero in each row is the partner."""
    wide = extensions.JointUnary(k=40, epsilon=math.log(1.5), rho=-2 / 3)
    y = wide.perturb([0] * 6, rng=np.random.default_rng(1))[:, 1:].astype(int)
    common = y @ y.T
    zeros = np.sort(common, axis=1)[:, :2]
    assert (zeros[:, 0] == 0).all()
    assert (zeros[:, 1] > 0).all()
    assert len({frozenset((i, int(np.argmin(v)))) for i, v in enumerate(common)}) == 3


def test_inside_hashing_one_report_keeps_its_ratio_only_if_the_others_buckets_are_unknown():
    bucket, ratios = grr.probabilities(Fraction(3), 4)[0], []
    cells = jrr.table(bucket, Fraction(-1), 4)
    for uniform in (True, False):
        laws = []
        for own in (0, 1):
            law = {}
            for y in itertools.product(range(4), repeat=2):
                weights = [cells[(y[0] != own) + (y[1] != x)] for x in range(4)]
                law[y] = sum(weights) / 4 if uniform else weights[0]
            laws.append(law)
        ratios.append(worst_ratio(*laws))
        alone = [[sum(law[y, other] for other in range(4)) for y in range(4)] for law in laws]
        assert alone == [[bucket if y == own else (1 - bucket) / 3 for y in range(4)] for own in (0, 1)]
        # A uniform partner's report says nothing about the user's own, so that no number of others does.
        independent = all(law[y] == one[y[0]] / 4 for law, one in zip(laws, alone, strict=True) for y in law)
        assert independent == uniform
    assert cells[1] / cells[2] == 6 > bucket / ((1 - bucket) / 3) == 3  # given that the other colludes and lied
    tied, groups = [{}, {}], pairings(range(4))  # the three others' buckets uniform, but all equal
    for own, y in itertools.product((0, 1), itertools.product((0,), *[range(4)] * 3)):  # the user reports 0
        lies = [[a != b for a, b in zip(y, (own, v, v, v), strict=True)] for v in range(4)]
        tied[own][y] = sum(cells[a[i] + a[j]] * cells[a[k] + a[m]] for a in lies for (i, j), (k, m) in groups)
    claim("jrr/sec-4.6.2-olh-privacy").conditional(ratios[0] == 3, ratios[1] == 6 and worst_ratio(*tied) > 3)
    assert worst_ratio(*tied) == Fraction(87, 19)


def groupings(users, g):
    """All ways to split the users into groups of g."""
    if not users:
        return [[]]
    first, *others = users
    return [
        [(first, *more), *rest]
        for more in itertools.combinations(others, g - 1)
        for rest in groupings([j for j in others if j not in more], g)
    ]


def group_law(n, g, t):
    """The distribution of n truths: groups of g at random, gt truths in each, rounded up or down."""
    (low, over), every = divmod(g * t, 1), groupings(list(range(n)), g)
    weights, law = {low: 1 - over, low + 1: over}, {}
    for told in itertools.product((0, 1), repeat=n):
        parts = [[sum(told[j] for j in group) for group in groups] for groups in every]
        law[told] = Fraction(
            sum(math.prod(weights.get(c, Fraction(0)) / math.comb(g, c) for c in part) for part in parts)
        ) / len(every)
    return law


@pytest.mark.parametrize(("size", "g", "t"), [(6, 3, Fraction(2, 3)), (8, 4, Fraction(21, 40))])
def test_groups_attain_their_least_correlation(size, g, t):
    law, least = group_law(size, g, t), (g - 1) * jrr.least_correlation(t, g)
    for ones in range(size + 1):
        count = {}
        for told, weight in law.items():
            c = sum(v if j < ones else 1 - v for j, v in enumerate(told))
            count[c] = count.get(c, 0) + weight
        mean = sum(c * w for c, w in count.items())
        spread = sum((c - mean) ** 2 * w for c, w in count.items()) / (2 * t - 1) ** 2
        assert spread == jrr.variance(Fraction(ones), size, t, least)
    lied = {told: w for told, w in law.items() if not told[1]}  # one colluder shows a lie
    given = sum(w for told, w in lied.items() if told[0]) / sum(lied.values())
    assert given == t - least / (size - 1) * t


def test_even_groups_are_never_worse_than_pairs_and_no_correlation_is_below_the_least():
    """jrr/sec-4.6.4-s3: in even groups (g - 1) r reaches as low as in pairs, and r itself is at least -1 / (g - 1)."""
    for g, t in itertools.product(range(2, 13), (Fraction(i, 40) for i in range(1, 40))):
        least = jrr.least_correlation(t, g)
        assert least >= Fraction(-1, g - 1)
        assert g % 2 or (g - 1) * least <= jrr.least_correlation(t, 2) == -min((1 - t) / t, t / (1 - t))


def information(epsilon):
    """Of one user's report by randomized response on the share at one half."""
    return 4 * math.sinh(epsilon / 2) ** 2


def test_two_phases_cost_more_than_one():
    users, epsilon = 10_000, 0.1
    design = {"epsilon": epsilon, "n": users, "colluders": 5}
    pair, start = printed_jrr.optimum(**design), 1 / (1 + math.exp(-epsilon))
    plain = users / information(epsilon)
    assert math.isclose(plain, jrr.variance(users / 2, users, start, 0.0))
    one_phase = jrr.variance(users / 2, users, *pair) / plain
    split = {
        part: users / (information(part * epsilon) + information((1 - part) * epsilon)) / plain
        for part in (i / 100 for i in range(1, 51))  # and the other way round it is the same
    }
    for rest in (i / 100 for i in range(1, 101)):  # of the budget: at one half the best second phase is RR
        second = printed_jrr.optimum(epsilon=rest * epsilon, n=users, colluders=5, n1=users // 2)
        assert second == (1 / (1 + math.exp(-rest * epsilon)), 0)
    assert [round(split[part], 2) for part in (0.1, 0.3)] == [1.22, 1.72]
    excess = (1 - (noise(start) / noise(pair[0]))) / -pair[1]
    band = math.sqrt(excess + (1 - excess) / users)
    needed = 2 * math.asinh(1 / (math.sqrt(users) * band))
    assert round(needed, 3) == 0.138

    def never_loses(ones):
        best = printed_jrr.optimum(**design, n1=ones)
        return jrr.variance(ones, users, *best) <= jrr.variance(ones, users, start, 0.0)

    claim("jrr/concl-s2").conditional(
        all(map(never_loses, [*range(0, users + 1, 500), *range(4_950, 5_051, 10)])),
        min(split.values()) > one_phase > 1 and needed > epsilon,
    )


def noise(p):
    """The variance per user of randomized response."""
    return p * (1 - p) / (2 * p - 1) ** 2


def shuffled(law):
    """The distribution of the number of ones."""
    counts = {}
    for y, weight in law.items():
        counts[sum(y)] = counts.get(sum(y), 0) + weight
    return counts


def test_shuffling_lowers_delta_and_need_not_lower_the_ratio():
    levels, ratios, deltas = (1, Fraction(5, 4), Fraction(3, 2), 2), {}, {}
    for name, by in (("RR", Fraction(0)), ("JRR", Fraction(1, 5))):
        for others in ((1, 1, 1), (1, 1, 0), (1, 0, 0), (0, 0, 0)):
            two = [half_law((v, *others), Fraction(3, 5), by, -1) for v in (0, 1)]
            both = two, [shuffled(law) for law in two]
            ratios[name, sum(others)] = [worst_ratio(*laws) for laws in both]
            for e in levels:
                deltas[name, sum(others), e] = [least_delta(*laws, e) for laws in both]
    claim("jrr/sec-4.6.5-s2").holds(
        all(after <= before for before, after in (*deltas.values(), *ratios.values())),
        all(after < before for (name, _, e), (before, after) in deltas.items() if e < 1.5 or (name, e) == ("JRR", 1.5)),
        {before for (name, _), (before, _) in ratios.items() if name == "JRR"}
        == {Fraction(7, 3)},  # whatever they hold
        ratios["RR", 3] == [Fraction(3, 2)] * 2 and ratios["JRR", 3] == ratios["JRR", 0] == [Fraction(7, 3)] * 2,
        deltas["JRR", 3, 2] == deltas["JRR", 0, 2] == [Fraction(48, 10_000)] * 2,
    )


def shuffled_delta(epsilon, t, r, size):
    """Least delta of the number of ones; all others hold 1 and are known."""
    true, false = privacy.transcript_chances(t, r, size)
    ones = np.zeros((2, size + 1))
    ones[1, 1:] += true  # holds 1: a other truths and this one
    ones[1, :-1] += false
    ones[0, :-1] += true  # holds 0 and says so
    ones[0, 1:] += false
    e = math.exp(epsilon)
    return max(np.maximum(0, a - e * b).sum() for a, b in (ones, ones[::-1]))


def test_behind_a_shuffler_delta_grows_with_the_correlation_if_all_hold_one():
    deltas = np.array([[shuffled_delta(v, 0.75, c, 100) for c in (0, -0.2, -1 / 3)] for v in (0.1, 0.2, 0.4)])
    assert (np.diff(deltas, axis=1) > 0).all()
    assert [round(v, 4) for v in deltas[1, [0, 2]]] == [0.0030, 0.0078]
    others = stats.binom(99, 0.75)
    before, after = others.pmf(np.arange(101)), others.pmf(np.arange(-1, 100))
    own = 0.75 * before + 0.25 * after, 0.25 * before + 0.75 * after
    by_hand = max(np.maximum(0, a - math.exp(0.2) * b).sum() for a, b in (own, own[::-1]))
    assert abs(by_hand / deltas[1, 0] - 1) < 1e-9

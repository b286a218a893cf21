"""The revised Corr-RR paper's evaluation: definitions, data, and the sentences that need no chapter of their own."""

import itertools
import math
from fractions import Fraction
from functools import cache, partial
from pathlib import Path

import numpy as np
import pytest
from second_phase import expected_errors

from ldp_lib import check, corr_rr, datasets, grr, splitting
from ldp_lib.book import printed_values
from ldp_lib.book.claims import claim
from ldp_lib.book.printed_corr_rr import AppendixCorrRR, appendix_table
from ldp_lib.book.published import (
    SKEWED,
    UNIFORM,
    capped,
    distance,
    expected_error,
    off,
    phase_errors,
    shuffled,
    sweep_points,
)
from ldp_lib.book.sweeps import mse
from ldp_lib.corr_rr import CorrRR, syn_a, tree_law
from ldp_lib.fake_data import RSFD
from ldp_lib.fake_data.two_phase import TwoPhaseRSRFD
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.splitting import SPL

RIVALS, TREES = ("SPL", "RS+FD", "RS+RFD"), ("star", "chain")  # SynA and SynB
LEARNED = {"exact": CorrRR, "appendix": AppendixCorrRR}


def two_phase_error(mechanism, people, rng, runs, second=None):
    """Mean and standard error of the error of the count-weighted estimate."""
    errors = phase_errors(mechanism, people, rng=rng, runs=runs, second=second)
    return errors.mean(), errors.std() / math.sqrt(runs)


def synthetic(d, rho, marginals, *, tree="star", n=20_000):
    """SynA ("star") or a chain of SynB, in expected counts where these are not tiny, else drawn."""
    parents = [0] * (d - 1) if tree == "star" else list(range(d - 1))
    law = tree_law(np.array(marginals), rho, parents)
    counts = np.rint(n * law) if d < 5 else np.random.default_rng(d).multinomial(n, law.ravel()).reshape(law.shape)
    return Population.from_counts(counts.astype(np.int64))


@cache
def baselines(d, rho, epsilon, marginals, share, tree, runs):
    people, rng = synthetic(d, rho, marginals, tree=tree), np.random.default_rng(1)
    settings = {"k": people.k, "epsilon": epsilon}
    rsrfd = TwoPhaseRSRFD(**settings, n1=round(share * people.n))
    return {
        "SPL": (expected_error(SPL(**settings), people), 0.0),
        "RS+FD": (expected_error(RSFD(**settings), people), 0.0),
        "RS+RFD": two_phase_error(rsrfd, people, rng, runs, capped),
    }


def four(d, rho, epsilon, marginals, *, share=0.2, reuse="exact", tree="star", runs=1000, drawn=False):
    """Mean and standard error of the four methods' errors; Corr-RR's as whole runs if `drawn`, else as expected."""
    people, rng = synthetic(d, rho, marginals, tree=tree), np.random.default_rng(2)
    settings = {"k": people.k, "epsilon": epsilon, "n1": round(share * people.n)}
    ours = LEARNED[reuse](**settings) if isinstance(reuse, str) else CorrRR(**settings, reuse=reuse)
    found = baselines(d, rho, epsilon, marginals, share, tree, runs)
    if drawn:
        return found | {"Corr-RR": two_phase_error(ours, people, rng, runs)}
    errors = expected_errors(ours, people, rng=rng, runs=runs // 2)
    return found | {"Corr-RR": (errors.mean(), errors.std() / math.sqrt(runs // 2))}


def better(found, one, two):
    """By how many standard errors `one` has the smaller error than `two`."""
    (a, sa), (b, sb) = found[one], found[two]
    return (b - a) / math.hypot(sa, sb) if sa or sb else math.copysign(math.inf, b - a)


def saved(found, one, two):
    """The share of the error of `two` that `one` saves."""
    return 1 - found[one][0] / found[two][0]


def lower(found, stated):
    """Corr-RR's saving against the strongest baseline less a stated one, in standard errors of a mean of 200 runs."""
    (a, sa), (b, sb) = found["Corr-RR"], min(found[m] for m in RIVALS)
    return (1 - a / b - stated) / (a / b * math.hypot(sa / a, sb / b) * math.sqrt(2000 / 200))


def test_the_theorem_on_uniform_attributes_for_three_values_and_a_rule_that_reads_the_first_phase():
    k, root, chain = 3, Fraction(3, 2), Fraction(1, 4)
    records = list(itertools.product(range(k), repeat=2))
    # uniform marginals, and dependence that is not symmetric: x2 is x1 or its successor
    copy = {0: Fraction(1, 2) + chain / 3, 1: Fraction(1, 4) + chain / 3, 2: Fraction(1, 4) - 2 * chain / 3}
    law = {x: copy[(x[1] - x[0]) % k] / k for x in records}
    assert sum(law.values()) == 1
    first = splitting.channel(root, (k, k))
    pairs = [grr.probabilities(root, k), grr.probabilities(root**2, k)]
    tables = [[[Fraction(1), Fraction(i, 9)], [Fraction(8 - i, 9), Fraction(1)]] for i in range(9)]
    seconds = [corr_rr.channel(root**2, k, table) for table in tables]
    to_uniform = to_shares = weighted = Fraction(0)
    beyond = (k * copy[0] - 1) / (k - 1)
    for (i, x1), a in itertools.product(enumerate(records), range(9)):
        reach = law[x1] * first[i, a]
        weighted += reach * sum(corr_rr.shrinkage(tables[a][1 - m][m], k) for m in range(2)) / 2 * beyond
        for (j, x2), b in itertools.product(enumerate(records), range(9)):
            chance = reach * law[x2] * seconds[a][j, b]
            for m, v in itertools.product(range(2), range(k)):
                reports = zip(pairs, (records[a], records[b]), strict=True)
                found = sum(((y[m] == v) - q) / (p - q) for (p, q), y in reports) / 2
                to_uniform += chance * (found - Fraction(1, k)) ** 2 / (2 * k)
                to_shares += chance * (found - Fraction((x1[m] == v) + (x2[m] == v), 2)) ** 2 / (2 * k)
    gap1, gap2 = (p - q for p, q in pairs)
    stated = Fraction(k - 1, 4 * k**2) * (1 / gap1**2 + 1 / gap2**2)
    assert to_uniform == stated
    assert to_shares == stated - Fraction(k - 1, 4 * k**2) * (1 + (2 + 2 * weighted - 2) / 2)


@pytest.mark.parametrize(("d", "k", "p_y", "rho"), [(3, 4, 1.0, 0.9), (3, 4, 0.0, 0.5), (4, 3, 0.6, 0.9)])
def test_the_theorem_on_uniform_attributes_for_more_than_two(d, k, p_y, rho):
    n, n1, epsilon, rng = 300, 100, 2.5, np.random.default_rng(1)
    ours = CorrRR(k=(k,) * d, epsilon=epsilon, n1=n1, reuse=p_y)
    errors = np.array(
        [expected_error(ours, syn_a(n, d=d, rho=rho, frequencies=(1 / k,) * k, rng=rng)) for _ in range(300)]
    )
    gap1, gap2 = (np.subtract(*grr.probabilities(math.exp(budget), k)) for budget in (epsilon / d, epsilon))
    beyond = [[rho if 0 in (i, j) else rho**2 for i in range(d)] for j in range(d)]
    t = corr_rr.shrinkage(p_y, k)
    s = np.mean([sum(t * beyond[j][m] for j in range(d) if j != m) for m in range(d)])
    scale = (k - 1) / (k * n) ** 2
    to_uniform = scale * (n1 / gap1**2 + (n - n1) / gap2**2)
    to_shares = to_uniform - scale * (n1 + (n - n1) * (2 + 2 * s - d) / d)
    foil = to_uniform - scale * (n1 + (n - n1) * (2 - d) / d)
    assert check.mean_z(errors, to_shares) < 5 < check.mean_z(errors, foil)


def test_the_data_set_moves_the_error_of_the_tables_by_less_than_a_tenth_of_a_standard_error():
    rng, shares = np.random.default_rng(1), []
    for n, epsilon, p_y in itertools.product((200, 20_000), (0.1, 0.5), (0.0, 1.0)):
        ours = CorrRR(k=(4, 4), epsilon=epsilon, n1=n // 20, reuse=p_y)
        law = {"d": 2, "rho": 0.1, "frequencies": UNIFORM, "rng": rng}
        errors = [expected_error(ours, syn_a(n, **law)) for _ in range(50)]
        mean, se = two_phase_error(ours, syn_a(n, **law), rng, 1000)
        shares.append(np.std(errors) / mean / (se / mean * math.sqrt(10)))  # of 100 runs
    assert max(shares) < 0.1


def test_the_error_is_averaged_over_values_and_then_over_attributes():
    truth = [[Fraction(1, 2), Fraction(1, 2)], [Fraction(1, 5), Fraction(3, 10), Fraction(1, 2)]]
    found = [[Fraction(1, 4), Fraction(3, 4)], [Fraction(1, 5), Fraction(1, 2), Fraction(3, 10)]]
    by_hand = Fraction(0)
    for f, g in zip(truth, found, strict=True):
        by_hand += sum((a - b) ** 2 for a, b in zip(f, g, strict=True)) / len(f) / len(truth)
    shipped = mse([np.array([g], dtype=float) for g in found], [np.array(f, dtype=float) for f in truth])
    pooled = sum((a - b) ** 2 for f, g in zip(truth, found, strict=True) for a, b in zip(f, g, strict=True)) / 5
    assert pooled != by_hand  # the order of averaging matters where domains differ
    claim("corr-rr-v1/eq-5").holds(math.isclose(shipped[0], by_hand, rel_tol=1e-12))
    # the revised version has one domain size, where the two averages agree
    same = [v[:2] for v in found], [v[:2] for v in truth]
    pairs = [(a, b) for f, g in zip(*same, strict=True) for a, b in zip(f, g, strict=True)]
    flat = sum((a - b) ** 2 for a, b in pairs) / len(pairs)
    shipped = mse(*([np.array(v, dtype=float) for v in part] for part in ([[f] for f in same[0]], same[1])))
    # The printed tables for 20,000 users have this scale, by the theorem on uniform attributes, and not that of a sum.
    cells = printed_values.load("corr_rr_tables").query("n == 20_000 and method == 'Corr-RR'")
    gap1, gap2 = (np.subtract(*grr.probabilities(np.exp(budget), 4)) for budget in (cells.epsilon / 2, cells.epsilon))
    ratios = cells.mse / (3 / (4 * cells.n) ** 2 * (cells.n1 / gap1**2 + (cells.n - cells.n1) / gap2**2))
    scale = check.mean_z(ratios.to_numpy(), 1) < 5 < check.mean_z(ratios.to_numpy(), 4)
    claim("corr-rr-v2/eq-2").holds(
        math.isclose(shipped[0], flat, rel_tol=1e-12), scale, len(ratios) == 60, round(ratios.mean(), 2) == 0.99
    )
    with pytest.raises(ValueError, match="estimates must have shape"):
        mse([np.zeros(3)], [np.zeros(3)])


def correlations(marginals, rho, parents, *, different=False, order=None):
    """Pearson correlations of all pairs under the law of the tree, its attributes drawn in another order if wished."""
    law = tree_law(np.array(marginals), rho, parents, different=different)
    law = law.transpose(order or range(law.ndim))
    grids, d = np.indices(law.shape), law.ndim
    mean = [(law * g).sum() for g in grids]
    covariance = np.array([[(law * g * h).sum() for h in grids] for g in grids]) - np.outer(mean, mean)
    spread = np.sqrt(np.diag(covariance))
    return (covariance / np.outer(spread, spread))[np.triu_indices(d, 1)]


CHAIN, LAST = (0, 1, 2), (0, 0, 2)  # 1-2-3-4, and 1-2, 1-3, 3-4


def test_table_2_needs_a_uniform_root_and_draws_that_may_repeat_the_value():
    printed = printed_values.load("corr_rr_correlations")
    near_0 = 1 / math.sqrt(20_000)  # standard error of a correlation near 0

    def largest(data, rho, *law, se=lambda c: near_0, **options):
        cells = printed[(printed.data == data) & (printed.rho == rho)].correlation.to_numpy()
        expected = correlations(*law, **options)
        return float(np.max(abs(cells - expected) / se(expected)))

    def own_se(c):
        """Of the correlation of two uniform attributes that agree with probability c and else are drawn anew."""
        z, agree = (np.arange(4) - 1.5) / math.sqrt(1.25), np.asarray(c)[:, None, None]
        noise = np.multiply.outer(z, z) - agree / 2 * np.add.outer(z**2, z**2)
        return np.sqrt((noise**2 * (agree * np.eye(4) / 4 + (1 - agree) / 16)).sum(axis=(1, 2)) / 20_000)

    columns = list(itertools.product((0.1, 0.5, 0.9), ("SynA", "SynB")))
    trees = {("SynA", rho): (0, 0, 0) for rho in (0.1, 0.5, 0.9)}
    trees |= {("SynB", 0.1): CHAIN, ("SynB", 0.5): CHAIN, ("SynB", 0.9): LAST}
    anew = [largest(s, rho, UNIFORM, rho, trees[s, rho]) for rho, s in columns]
    other = [largest(s, rho, UNIFORM, rho, trees[s, rho], different=True) for rho, s in columns]
    skewed = [largest(s, rho, SKEWED, rho, trees[s, rho]) for rho, s in columns]
    # All trees of four attributes, by their edges: the first attribute drawn can be any, and so can the next.
    every = {}
    for tree, order in itertools.product(itertools.product((0,), (0, 1), (0, 1, 2)), itertools.permutations(range(4))):
        edges = frozenset(frozenset((order.index(a), order.index(b))) for a, b in enumerate(tree, 1))
        every.setdefault(edges, {"parents": tree, "order": order})
    assert len(every) == 4**2  # Cayley's number
    wrong_tree = {
        (s, rho, edges): largest(s, rho, UNIFORM, rho, **tree)
        for rho, s in columns
        for edges, tree in every.items()
        if edges != frozenset(frozenset(edge) for edge in enumerate(trees[s, rho], 1))
    }
    own = [largest(s, rho, UNIFORM, rho, trees[s, rho], se=own_se) for rho, s in columns]
    claim("corr-rr-v2/tab-2").reproduced(
        max(own) < 4, min(other) > 5, max(skewed) > 5, len(wrong_tree) == 6 * 15, min(wrong_tree.values()) > 5
    )
    averages = printed.groupby(["rho", "data"]).correlation.mean().to_numpy()
    claim("corr-rr-v2/tab-2-averages").reproduced(
        (abs(averages - [0.053, 0.054, 0.370, 0.348, 0.855, 0.841]) < 0.001).all()
    )
    for rho, k in itertools.product((0.1, 0.5, 0.9), (2, 3, 4, 7)):  # the notes' formula
        found = correlations((1 / k,) * k, rho, (0,), different=True)
        assert np.allclose(found, (k * rho - 1) / (k - 1), rtol=0, atol=1e-12)
    # A different value is excluded whatever the parents are.
    least = [
        min(largest(s, rho, UNIFORM, rho, **tree, different=True) for tree in every.values()) for rho, s in columns
    ]
    # At rho = .1 whatever the pivot is: there a child's mean falls as its parent's value grows, so that attributes an
    # odd number of edges apart are not positively correlated. But however they are divided in two, some pair apart is.
    # At .9 an even split between the first and the last value would fit.
    means = [tree_law(parent, 0.1, (0,), different=True).sum(axis=0) @ np.arange(4) for parent in np.eye(4)]
    assert np.allclose(np.diff(means), -0.2, rtol=0, atol=1e-12)
    ends, weak = (0.5, 0, 0, 0.5), printed[printed.rho == 0.1]
    for s, side in itertools.product(("SynA", "SynB"), itertools.product((0, 1), repeat=4)):
        apart = [r.correlation for r in weak[weak.data == s].itertuples() if side[r.first - 1] != side[r.second - 1]]
        assert max(apart, default=1) > 5 * near_0
    for root, s in itertools.product((SKEWED, ends), ("SynA", "SynB")):
        assert min(largest(s, 0.1, root, 0.1, **tree, different=True) for tree in every.values()) > 5
    assert largest("SynA", 0.9, ends, 0.9, trees["SynA", 0.9], different=True) < 4
    claim("corr-rr-v2/def-syna").misprint(min(least[0::2]) > 5, max(anew[0::2]) < 5)
    claim("corr-rr-v2/def-synb").misprint(min(least[1::2]) > 5, max(anew[1::2]) < 5)


def test_with_two_attributes_both_synthetic_designs_are_one():
    def designs(d):
        choices = itertools.product(*(range(child) for child in range(1, d)))
        return {tree_law(np.array(UNIFORM), 0.5, choice).round(12).tobytes() for choice in choices}

    cells = printed_values.load("corr_rr_tables").sort_values(["table", "method", "epsilon", "n1"])
    one, two = (np.log(cells[cells.table.isin(tables)].mse.to_numpy()) for tables in ((4, 5, 6), (7, 8, 9)))
    ratio = one - two
    by_chance = abs(ratio.mean()) / (ratio.std() / math.sqrt(len(ratio))) < 5 and ratio.std() < 0.2

    def other(d, marginals):
        """Whether SynB can have a distribution that SynA has not, whatever the attributes are called."""
        choices = itertools.product(*(range(child) for child in range(1, d)))
        star, *trees = (tree_law(np.array(marginals), 0.5, choice) for choice in choices)
        stars = [star.transpose(order) for order in itertools.permutations(range(d))]
        return any(not any(np.allclose(tree, x, rtol=0, atol=1e-9) for x in stars) for tree in trees)

    assert not other(3, UNIFORM)  # three in a row are a star too
    assert other(4, UNIFORM)
    more = all(other(d, SKEWED) for d in (3, 4, 5))
    three = printed_values.load("corr_rr_figures").query("d == 3 and panel in ('6a', '6b', '6c')")
    assert three.parents.to_list() == [(0, 0)] * 3  # drawn, and SynA's star
    claim("corr-rr-v2/sent-syna-synb-d2").conditional(more, len(designs(2)) == 1 and by_chance)


def test_the_real_data_are_as_table_3_and_figure_12_describe_them():
    def skew(f):
        v = np.arange(len(f))
        mean = f @ v
        return float(f @ (v - mean) ** 3 / (f @ (v - mean) ** 2) ** 1.5)

    printed = {"clave": (2, 2, 10_000), "mushroom": (2, 5, 8_000), "adult": (3, 2, 10_000)}
    sizes, links, skews = [], {}, {}
    for name, (d, k, n) in printed.items():
        people = datasets.load_corr_rr(name)
        sizes.append((people.d, people.n) == (d, n) and set(people.k) == {k})
        links[name] = np.corrcoef(people.users().T)[np.triu_indices(d, 1)].round(4)
        skews[name] = [skew(f) for f in marginal_frequencies(people)]
    assert sorted(links["adult"].round(3)) == [-0.447, -0.432, 0.957]
    adult = sorted(abs(links["adult"]))
    claim("corr-rr-v2/tab-3").reproduced(
        all(sizes),
        round(links["clave"][0], 3) == 0.298,
        round(links["mushroom"][0], 3) == 0.209,
        round(adult[0], 2) == 0.43,
        math.floor(100 * adult[-1]) == 95,
    )
    clave, mushroom, adult = skews["clave"], skews["mushroom"], skews["adult"]
    bars = printed_values.load("corr_rr_figure12").groupby(["data_set", "attribute"]).count_implied  # of all rows
    drawn = {at: skew(counts.to_numpy() / counts.sum()) for at, counts in bars}
    most = ("adult", "X3"), ("mushroom", "X1"), ("clave", "X2"), ("mushroom", "X2")
    slight = max(map(abs, (*clave, mushroom[1], *adult[:2]))) < 0.5
    claim("corr-rr-v2/sent-7.4.1").conditional(
        slight and mushroom[1] < 0 and 0.5 < adult[2] < 1 and max(map(max, skews.values())) == mushroom[0],
        mushroom[0] < 1
        and abs(clave[1]) > abs(mushroom[1])  # moderate, by the scale that fits Adult's third
        and [round(v, 2) for v in (adult[2], mushroom[0], clave[1], mushroom[1])] == [0.72, 0.95, 0.42, -0.29]
        and [round(drawn[at], 2) for at in most] == [0.72, 0.95, 0.41, -0.29],
    )


def test_the_bars_of_figure_12_are_the_frequencies_of_the_whole_data_sets():
    bars = printed_values.load("corr_rr_figure12")
    share = bars.count_implied / bars.rows_implied
    people = {name: datasets.load_corr_rr(name) for name in datasets.CORR_RR}
    held = [
        marginal_frequencies(people[row.data_set])[int(row.attribute[1]) - 1][row.value] for row in bars.itertuples()
    ]
    totals = share.groupby([bars.data_set, bars.attribute]).sum()
    assert (len(bars), len(totals)) == (20, 7)  # two values for five attributes, five for two
    rows = bars.groupby("data_set").rows_implied.first().to_dict()
    assert rows == {"adult": 48_842, "clave": 10_800, "mushroom": 8_124}
    claim("corr-rr-v2/fig-12").reproduced(
        bool((share - held).abs().max() < 0.002), bool((abs(totals - 1) < 1e-6).all()), share.std() > 0.1
    )


def test_it_is_the_marginals_that_weaken_corr_rr_on_mushroom():
    rng, changes, runs = np.random.default_rng(6), {}, 4_000
    AsRun = partial(AppendixCorrRR, exchanged=True)
    for name, epsilon in itertools.product(datasets.CORR_RR, (0.1, 0.3, 0.5)):
        people = datasets.load_corr_rr(name)
        made = AsRun(k=people.k, epsilon=epsilon)
        errors = [phase_errors(made, x, rng=rng, runs=runs) for x in (people, shuffled(people, rng))]
        scale, noise = errors[0].mean(), math.hypot(*(e.std() for e in errors)) / runs**0.5
        changes[name, epsilon] = errors[1].mean() / scale - 1, noise / scale
    unmoved = max(abs(change) / noise for change, noise in changes.values()) < 4
    assert 5 * max(noise for _, noise in changes.values()) < 0.16  # a change by a sixth would show
    # Nor does the largest correlation that these marginals allow, with both attributes in order, change the error.
    sample, ordered = datasets.load_corr_rr("mushroom"), np.zeros((5, 5), dtype=np.int64)
    np.add.at(ordered, tuple(np.sort(sample.users(), axis=0).T), 1)
    couplings, ratios = (sample, Population.from_counts(ordered)), []
    assert round(np.corrcoef(couplings[1].users().T)[0, 1], 2) == 0.74
    for epsilon in (0.1, 0.3, 0.5):
        made = AsRun(k=(5, 5), epsilon=epsilon)
        own, other = (expected_errors(made, x, rng=np.random.default_rng(9), runs=4_000) for x in couplings)
        noise = math.hypot(*(x.std() / x.mean() for x in (own, other))) / 4_000**0.5
        ratios.append((abs(other.mean() / own.mean() - 1), noise))
    unmoved &= all(change < 4 * noise < 0.02 for change, noise in ratios)
    even = Population.from_counts(np.full((5, 5), 320))
    ours = phase_errors(AsRun(k=even.k, epsilon=0.5), even, rng=rng, runs=2_000)
    theirs = phase_errors(TwoPhaseRSRFD(k=even.k, epsilon=0.5), even, rng=rng, runs=2_000, second=capped)
    both = [  # at .1 Corr-RR is behind with uniform marginals too
        phase_errors(make(k=even.k, epsilon=0.1), even, rng=np.random.default_rng(8), runs=6_000, second=second)
        for make, second in ((AsRun, None), (TwoPhaseRSRFD, capped))
    ]
    assert (both[0].mean() - both[1].mean()) / math.hypot(*(e.std() / 6_000**0.5 for e in both)) > 5

    def to_fakes(who, epsilon, second, runs=1_500, rng=rng):
        """RS+RFD's error over RS+FD's, and its standard error."""
        fakes = expected_error(RSFD(k=who.k, epsilon=epsilon), who)
        mean, se = two_phase_error(TwoPhaseRSRFD(k=who.k, epsilon=epsilon), who, rng, runs, second)
        return mean / fakes, se / fakes

    load = datasets.load_corr_rr
    # RS+RFD gains by Mushroom's skew at .5, at .1 it loses; and it is the cap that gains, the prior hardly.
    gains = []
    for epsilon, second, many in ((0.5, capped, 150_000), (0.5, None, 1_500), (0.1, capped, 10_000)):
        (flat, s1), (skewed, s2) = (to_fakes(x, epsilon, second, many) for x in (even, load("mushroom")))
        gains.append((1 - skewed / flat, math.hypot(s1, s2) / flat))
        if (epsilon, second) == (0.5, capped):  # 95 and 78 per cent of RS+FD's error
            assert max(abs(flat - 0.952) / s1, abs(skewed - 0.7845) / s2) < 3 < (0.79 - skewed) / s2
        if epsilon == 0.1:  # 31 and 33
            assert max(abs(flat - 0.31) / s1, abs(skewed - 0.331) / s2) < 3
    (cap, s1), (raw, s2), (tight, s3) = gains
    assert abs(cap - 0.176) < 3 * s1 < 0.176 / 2
    assert (cap - raw) / math.hypot(s1, s2) > 5
    assert tight / s3 < -5
    assert abs(raw) / s2 < 3
    draws = np.random.default_rng(7)  # many runs show what the prior gains: 97 and 95 per cent of RS+FD's error
    (flat, s1), (skewed, s2) = (to_fakes(x, 0.5, None, 150_000, draws) for x in (even, load("mushroom")))
    assert 5 * math.hypot(s1, s2) < flat - skewed
    assert max(abs(flat - 0.969) / s1, abs(skewed - 0.954) / s2) < 3
    # At .1 the cap alone makes RS+RFD strong: on uniform marginals as well it saves more than half of the error.
    saves = [1 - to_fakes(x, 0.1, capped)[0] / to_fakes(x, 0.1, None)[0] for x in (even, load("mushroom"))]
    assert min(saves) > 0.5
    both = phase_errors(AsRun(k=(5, 5), epsilon=0.1), load("mushroom"), rng=rng, runs=1_500)
    fakes = expected_error(RSFD(k=(5, 5), epsilon=0.1), load("mushroom"))
    assert both.mean() / fakes < to_fakes(load("mushroom"), 0.1, None)[0] / 2  # with both raw, by far
    # As run, Corr-RR's error at .1 is 16.5 per cent above RS+RFD's, not 16 and not 17; at .2 6.5, not 6 and not 7.
    for epsilon, stated in ((0.1, 1.165), (0.2, 1.065)):
        fakes = expected_error(RSFD(k=(5, 5), epsilon=epsilon), load("mushroom"))
        mine = expected_errors(AsRun(k=(5, 5), epsilon=epsilon), load("mushroom"), rng=draws, runs=20_000) / fakes
        capped_one, se = to_fakes(load("mushroom"), epsilon, capped, 400_000, draws)
        above = mine.mean() / capped_one
        noise = above * math.hypot(mine.std() / 20_000**0.5 / mine.mean(), se / capped_one)
        assert abs(above - stated) < 3 * noise < 0.005
    drawn = printed_values.load("corr_rr_figures").set_index(["panel", "epsilon"])
    drawn = drawn.loc[["11a", "11c"]].query("epsilon < 0.4")
    least = drawn["Corr-RR"] / drawn[list(RIVALS)].min(axis=1)
    assert least[least > 1].round(2).to_dict() == {("11a", 0.3): 1.03}  # the note on Clave and Adult
    claim("corr-rr-v2/sent-4.4-mushroom-cause").conditional(bool(ours.mean() < theirs.mean() / 2), bool(unmoved))


def test_figure_11_does_not_show_which_way_round_the_programs_take_two_attributes():
    """The note on Figure 11: the formula of the first version's appendix fits exchanged too, the exact one does not."""
    points = printed_values.load("corr_rr_figures")
    points = points[points.panel.str.startswith("11")]
    rules = {"as printed": AppendixCorrRR, "exchanged": partial(AppendixCorrRR, exchanged=True), "exact": CorrRR}
    made = {k: sweep_points(points, seed=2, runs=400, methods=["Corr-RR"], corr=rule) for k, rule in rules.items()}
    assert max(off(made["as printed"]), off(made["exchanged"])) < 3
    assert min(off(made["exact"]), off(made["exchanged"], 0.8), off(made["exchanged"], 1.2)) > 3


def test_with_the_attributes_exchanged_as_it_was_run_corr_rr_is_ahead_and_behind_where_the_chapter_says():
    rng, error = np.random.default_rng(3), {}
    star = {rho: synthetic(4, rho, SKEWED) for rho in (0.1, 0.5, 0.9)}
    settings = [(name, epsilon) for name in datasets.CORR_RR for epsilon in (0.1, 0.2, 0.3, 0.4, 0.5)]
    for name, epsilon in [*settings, *((rho, 0.1) for rho in star)]:
        people = star[name] if name in star else datasets.load_corr_rr(name)
        one = {"k": people.k, "epsilon": epsilon}
        two = one | {"n1": 0.2 if name in star else 0.1}
        ours = expected_errors(AppendixCorrRR(**two, exchanged=True), people, rng=rng, runs=1_500)
        found = {name: (expected_error(x(**one), people), 0.0) for name, x in (("SPL", SPL), ("RS+FD", RSFD))}
        found["RS+RFD"] = two_phase_error(TwoPhaseRSRFD(**two), people, rng, 6_000, capped)
        error[name, epsilon] = found | {"Corr-RR": (ours.mean(), ours.std() / 1_500**0.5)}
    for (name, epsilon), found in error.items():
        ahead = [better(found, "Corr-RR", x) for x in RIVALS]
        if name == "mushroom":  # at .3 about level with RS+FD
            assert ahead[2] < -4
            assert epsilon == 0.3 or (min(ahead[:2]) > 5 if epsilon < 0.3 else max(ahead[:2]) < -5)
        else:
            assert min(ahead) > 5 if epsilon < 0.4 else max(ahead) < -5
    for name, method in itertools.product(datasets.CORR_RR, (*RIVALS, "Corr-RR")):
        row = [error[name, epsilon][method][0] for epsilon in (0.1, 0.2, 0.3, 0.4, 0.5)]
        assert max(np.diff(row)) < 0


def test_four_attributes_as_the_budget_grows():
    data = [(UNIFORM, "star"), (SKEWED, "star"), (SKEWED, "chain")]
    settings = [(rho, budget, *which) for rho in (0.1, 0.9) for budget in (0.1, 0.5) for which in data]
    found = {at: four(4, *at[:3], tree=at[3], runs=1500) for at in settings}
    steps = np.array(
        [[better(one, b, a) for a, b in itertools.pairwise((*RIVALS, "Corr-RR"))] for one in found.values()]
    )
    by_appendix = [four(4, *at[:3], tree=at[3], runs=1500, reuse="appendix") for at in settings]
    drawn = printed_values.load("corr_rr_figures")
    as_drawn = drawn[drawn.panel.str.startswith(("3", "4"))][[*RIVALS, "Corr-RR"]].to_numpy()
    small = [saved(found[at], "RS+FD", "SPL") for at in settings]
    assert [round(100 * lead) for lead in small] == [4, 4, 4, 15, 15, 15] * 2
    assert (as_drawn[:, 2] < as_drawn[:, 0]).all()  # RS+RFD is below SPL too, also where RS+FD is above
    above = drawn[drawn.panel.str.startswith(("3", "4")) & (drawn["RS+FD"] > drawn.SPL)]
    assert len(above) == 4
    assert abs(distance(sweep_points(above, seed=1, runs=60, methods=RIVALS[:2]))).max() < 3  # noise of 50 runs
    claim("corr-rr-v2/sent-4.3.1-order").reproduced(
        (np.diff(as_drawn) < 0).sum(axis=0).tolist() == [26, 30, 30],
        (steps > 0).all(),
        (steps[:, 2] > 5).all(),
        steps[:, 1].sum() / math.sqrt(len(steps)) > 5,
        min(better(one, "Corr-RR", "RS+RFD") for one in by_appendix) > 5,
    )
    strong = []
    for marginals in (UNIFORM, SKEWED):  # with RS+RFD without post-processing, as "raw"
        people, rng = synthetic(4, 0.9, marginals), np.random.default_rng(1)
        raw = two_phase_error(TwoPhaseRSRFD(k=people.k, epsilon=0.1, n1=4_000), people, rng, 1500)
        strong.append(found[0.9, 0.1, marginals, "star"] | {"raw": raw})
    stated = {"Corr-RR": (0.735, 0.752), "RS+FD": (0.036, 0.036), "raw": (0.22, 0.225), "RS+RFD": (0.61, 0.61)}
    for (name, bounds), one in itertools.product(stated.items(), strong):
        near = 3 * (1 - saved(one, name, "SPL")) * one[name][1] / one[name][0] + 0.001
        assert bounds[0] - near < saved(one, name, "SPL") < bounds[1] + near
    claim("corr-rr-v2/sent-4.3.1-70").conditional(
        all(0.15 < saved(one, "raw", "SPL") < 0.35 for one in strong),
        min(saved(one, "RS+RFD", "SPL") for one in strong) > 0.55
        and round(1 - drawn["RS+RFD"] / drawn.SPL, 2)[(drawn.panel == "3c") & (drawn.epsilon == 0.1)].item() == 0.62,
    )
    loose = [four(4, 0.5, 2.0, SKEWED, reuse=reuse) for reuse in LEARNED]  # beyond the budgets of the figures
    assert max(better(one, "Corr-RR", m) for one in loose for m in ("RS+FD", "RS+RFD")) < -5
    even = [four(4, 0.5, 2.0, UNIFORM, reuse=reuse, runs=300) for reuse in LEARNED]  # where Corr-RR has no bias
    assert min(better(one, "Corr-RR", m) for one in even for m in RIVALS) > 5
    as_run = dict(zip(settings, by_appendix, strict=True))
    last = [one for each in (found, as_run) for at, one in each.items() if at[1] == 0.5]
    ends = [
        [each[rho, b, *which] for b in (0.1, 0.5)] for each in (found, as_run) for rho in (0.1, 0.9) for which in data
    ]
    gaps = [[one["SPL"][0] - one["Corr-RR"][0] for one in two] for two in ends]
    # In percent the lead over RS+RFD grows, as it was run and in all panels of Figures 3 and 4.
    assert all(saved(one, "Corr-RR", "RS+RFD") + 0.1 < saved(two, "Corr-RR", "RS+RFD") for one, two in ends[6:])
    # With the minimiser it may shrink, as for SynA with skewed marginals at .9.
    assert log_ratio_z(*(found[0.9, b, SKEWED, "star"] for b in (0.1, 0.5))) > 3
    panels = drawn[drawn.panel.str.startswith(("3", "4"))].set_index(["panel", "epsilon"])
    lead = (1 - panels["Corr-RR"] / panels["RS+RFD"]).unstack()[[0.1, 0.5]].round(2)
    assert lead.agg(["min", "max"]).to_numpy().T.tolist() == [[0.34, 0.52], [0.57, 0.7]]
    leads = [[saved(as_run[rho, 0.5, SKEWED, tree], "Corr-RR", "RS+RFD") for tree in TREES] for rho in (0.1, 0.9)]
    exact = [[saved(found[rho, 0.5, SKEWED, tree], "Corr-RR", "RS+RFD") for tree in TREES] for rho in (0.1, 0.9)]
    assert max(exact[1]) + 0.05 < min(exact[0])  # not with the minimiser that Phase I estimates
    for rho, noted in ((0.1, 0.51), (0.9, 0.24)):  # the note on the advantage that grows
        (a, sa), (b, sb) = (found[rho, 0.5, SKEWED, "star"][m] for m in ("Corr-RR", "RS+RFD"))
        assert abs(1 - a / b - noted) < 3 * a / b * math.hypot(sa / a, sb / b)
    # With that minimiser the error itself rises with rho.
    for tree in TREES:
        (low, se), (high, other) = (found[rho, 0.5, SKEWED, tree]["Corr-RR"] for rho in (0.1, 0.9))
        assert (high - low) / math.hypot(se, other) > 5
    # The lead over RS+RFD grows with rho at .5; at .1 it does not.
    grown = {
        b: [log_ratio_z(*(as_run[rho, b, SKEWED, tree] for rho in (0.1, 0.9))) for tree in TREES] for b in (0.1, 0.5)
    }
    assert min(grown[0.1]) > -3 > -5 > max(grown[0.5])
    claim("corr-rr-v2/sent-4.3.1-converge").reproduced(
        all(0 < second < first / 10 for first, second in gaps),
        min(better(one, "Corr-RR", m) for one in last for m in RIVALS) > 5,
        max(leads[0]) + 0.05 < min(leads[1]),  # especially at high correlation
    )


@cache
def by_number(marginals, rho, epsilon, d):
    return four(d, rho, epsilon, marginals, runs=1500 if d < 5 else 300)


def log_ratio_z(one, other):
    """Change of the log of Corr-RR's error over RS+RFD's from one setting to another, in standard errors."""
    logs = [math.log(f["Corr-RR"][0] / f["RS+RFD"][0]) for f in (one, other)]
    errors = [f[m][1] / f[m][0] for f in (one, other) for m in ("Corr-RR", "RS+RFD")]
    return (logs[1] - logs[0]) / math.hypot(*errors)


def test_as_the_number_of_attributes_grows():
    strong = {(f, d): by_number(f, 0.9, 0.1, d) for f in (UNIFORM, SKEWED) for d in (2, 4, 6)}
    loose = {(f, d): by_number(f, 0.9, 0.5, d) for f in (UNIFORM, SKEWED) for d in (2, 4, 6)}
    methods = (*RIVALS, "Corr-RR")
    rising, slowest = [], []
    for runs, f in itertools.product((strong, loose), (UNIFORM, SKEWED)):
        table = np.array([[runs[f, d][m][0] for m in methods] for d in (2, 4, 6)])
        rising.append((np.diff(table, axis=0) > 0).all())
        slowest.append((np.diff(table[2] - table[0]) < 0).all())  # SPL, RS+FD, RS+RFD, Corr-RR
    faster = log_ratio_z(*(four(d, 0.9, 0.1, UNIFORM, runs=runs) for d, runs in ((2, 6000), (6, 600))))
    drawn = printed_values.load("corr_rr_figures").sort_values("x")
    panels = {name: panel[[*methods]].to_numpy() for name, panel in drawn.groupby("panel")}
    as_drawn = [table for name, table in panels.items() if name[0] in "56"]
    total = [table[-1] - table[0] for table in as_drawn]
    less = [round(100 * (1 - x[3] / x[2])) for x in total]  # than RS+RFD's, of the increase
    markedly = []
    for runs, f in itertools.product((strong, loose), (UNIFORM, SKEWED)):
        rise, noise = zip(
            *((runs[f, 6][m][0] - runs[f, 2][m][0], math.hypot(runs[f, 6][m][1], runs[f, 2][m][1])) for m in methods),
            strict=True,
        )
        markedly.append((0.9 * rise[2] - rise[3]) / math.hypot(0.9 * noise[2], noise[3]) > 5)
        if runs is strong:
            part = rise[3] / rise[2]
            assert abs(1 - part - 0.25) < 3 * part * math.hypot(noise[2] / rise[2], noise[3] / rise[3])
    claim("corr-rr-v2/sent-4.3.2-growth").reproduced(
        all(rising),
        all(slowest) and all(markedly),
        len(as_drawn) == 6 and all((np.diff(table, axis=0) > 0).all() for table in as_drawn),
        all((np.diff(x) < 0).all() for x in total) and all((x.argmin(axis=1) == 3).all() for x in as_drawn),
        (less[0], less[3]) == (18, 10) and min(less[1:3] + less[4:]) > 55,
    )
    six = [strong[f, 6] for f in (UNIFORM, SKEWED)]
    assert min(f["SPL"][0] / f["Corr-RR"][0] for f in six) > 4
    tight, middle = (four(6, 0.9, budget, SKEWED, reuse="appendix", runs=400) for budget in (0.1, 0.3))
    shown = printed_values.load("corr_rr_figures")
    shown = shown[shown.panel.str.startswith(("5", "6")) & (shown.x == 6)].sort_values(["epsilon", "panel"])
    as_read = (shown["Corr-RR"] < 0.5 * shown["RS+RFD"]) & (shown["Corr-RR"] < shown.SPL / 4)
    percent, times = (100 * (1 - shown["Corr-RR"] / shown["RS+RFD"])).round(), (shown.SPL / shown["Corr-RR"]).round(1)
    assert percent.to_list() == [22, 17, 56, 57, 57, 60]
    assert times[shown.epsilon > 0.2].to_list() == [4.1, 4.4, 3.5, 3.8]
    as_read = as_read.groupby(shown.epsilon).agg(["all", "any"])
    half = {key: (value / 2, noise / 2) for key, (value, noise) in tight.items()} | {"Corr-RR": tight["Corr-RR"]}
    (ours, own), (other, else_) = middle["Corr-RR"], middle["RS+RFD"]
    noise = own * math.sqrt(400 / 50)  # of a mean of 50 runs
    share, quotient = ours / other, middle["SPL"][0] / ours  # as noted: 56 % and 4.03 times
    assert abs(1 - share - 0.56) < 3 * share * math.hypot(own / ours, else_ / other)
    assert abs(quotient - 4.03) < 3 * quotient * own / ours
    claim("corr-rr-v2/sent-4.3.2-50").reproduced(
        as_read["all"].to_dict() == as_read["any"].to_dict() == {0.1: False, 0.3: True, 0.5: False},
        saved(middle, "Corr-RR", "RS+RFD") > 0.5 and ours - middle["SPL"][0] / 4 < 3 * noise,
        ours - middle["SPL"][0] / 5 > 3 * noise,  # and not 5 times
        better(half, "Corr-RR", "RS+RFD") < -5,  # at .1 above half of RS+RFD's error
    )
    gains = [
        [saved(runs[f, d], "Corr-RR", m) for d in (2, 4, 6)]
        for runs, f, m in itertools.product((strong, loose), (UNIFORM, SKEWED), ("SPL", "RS+FD"))
    ]
    names = [figure + part for figure in ("5", "6", "13", "14") for part in "abc"]  # rho = .9 and .1
    two = {name: panels[name][[0, -1]] for name in names}  # d = 2 and 6
    ends = {name: np.round(100 * (1 - table[:, 3:] / table[:, :3])) for name, table in two.items()}  # percent
    falling = {name: tuple(v[:, 2]) for name, v in ends.items() if name[-1] == "a"}
    strongly = np.array([ends[name][:, 2] for name in ("5b", "5c", "6b", "6c")])
    assert np.sort(strongly, axis=0)[[0, -1]].tolist() == [[50, 56], [63, 60]]
    claim("corr-rr-v2/sent-4.5-scaling").conditional(
        (np.diff(gains) > 0.02).all()
        and all((last > first)[:2].all() for first, last in ends.values())
        and all(slowest)
        and all((np.diff(table[:, :3] - table[:, 3:], axis=0) > 0).all() for table in two.values()),
        faster > 5
        and falling == {"5a": (34, 22), "6a": (40, 17), "13a": (37, 28), "14a": (47, 28)}
        and all(ends[name][0, 2] < ends[name][1, 2] for name in ("13b", "13c", "14b", "14c")),
    )
    most = max(saved(f, "Corr-RR", "SPL") for f in [*six, by_number(UNIFORM, 0.9, 0.3, 6)])
    cells = printed_values.load("corr_rr_tables").pivot(
        index=["table", "epsilon", "n1"], columns="method", values="mse"
    )
    worse = cells["Corr-RR"] > cells["RS+RFD"]
    ten = saved(four(4, 0.9, 0.1, UNIFORM, share=0.1, reuse="appendix", runs=400), "Corr-RR", "SPL")
    shown = printed_values.load("corr_rr_figures")
    drawn = 1 - shown["Corr-RR"] / shown.SPL
    panels = shown[shown.panel.str[0].isin(["3", "4"])].sort_values("epsilon")
    gaps = [one[[*RIVALS]].min(axis=1) - one["Corr-RR"] for _, one in panels.groupby("panel")]
    assert len(gaps) == 6
    assert all((np.diff(gap) < 0).all() and min(gap) > 0 for gap in gaps)  # narrower, and an advantage
    weak = (shown.d == 2) & (shown.rho == 0.1) & (shown.epsilon == 0.5) & (shown["first"] == 0.2)
    twenty = drawn[shown["first"] == 0.2]
    strongest = 1 - shown["Corr-RR"] / shown[list(RIVALS)].min(axis=1)
    ends = twenty, twenty[shown.d == 6], drawn, drawn[shown.panel.str.startswith("4")], strongest
    assert [round(x.max(), 2) for x in ends] == [0.79, 0.79, 0.86, 0.86, 0.71]
    real = shown[shown.panel.str.startswith("11")]
    last = (real["Corr-RR"] > real[list(RIVALS)].max(axis=1)).groupby([real["data"], real.epsilon]).all().unstack()
    behind = real["Corr-RR"] > real["RS+RFD"]
    claim("corr-rr-v2/sent-4.5-80").conditional(
        0.75 < most < 0.8 and max(twenty) < 0.8 and not worse.loc[[6, 9]].any(),
        ten > 0.83
        and max(drawn) > 0.85
        and max(strongest) < 0.71
        and worse.loc[[4, 5, 7, 8]].loc[:, [0.1], :].all()
        and worse.loc[[4, 7]].loc[:, [0.3], :].sum() == 19
        and shown.panel[weak & (shown["Corr-RR"] > shown[list(RIVALS)].max(axis=1))].tolist()
        == ["7a", "8a", "13c", "14c"]
        and last.columns[last.all()].to_list() == last.columns[last.any()].to_list() == [0.4, 0.5]
        and last.index.to_list() == ["adult", "clave", "mushroom"]
        and behind[real["data"] == "mushroom"].to_list() == [True] * 5,
    )


def test_weak_correlation():
    runs = {2: 1500, 3: 1500, 4: 500, 5: 80, 6: 100}
    uniform = [four(d, 0.1, eps, UNIFORM, runs=runs[d]) for d in runs for eps in (0.1, 0.3, 0.5)]
    loss = [four(2, 0.1, 0.5, SKEWED, reuse=reuse, runs=5000) for reuse in ("exact", "appendix")]
    settings = [(d, b) for d in runs for b in (0.1, 0.3, 0.5) if (d, b) != (2, 0.5)]
    as_run = [four(d, 0.1, b, SKEWED, reuse="appendix", runs=runs[d]) for d, b in settings]
    always = min(better(one, "Corr-RR", m) for one in (*uniform, *as_run) for m in RIVALS)
    worst = max(better(loss[1], "Corr-RR", m) for m in RIVALS), better(loss[0], "Corr-RR", "RS+FD")
    assert better(loss[0], "Corr-RR", "RS+RFD") < -3 < 5 < better(loss[0], "Corr-RR", "SPL")
    shown = printed_values.load("corr_rr_figures")
    weak = shown[shown.panel.str[:-1].isin(["13", "14"])]
    behind = weak[weak["Corr-RR"] > weak[list(RIVALS)].min(axis=1)]
    one_in_each = len(weak) == 30 and list(zip(behind.panel, behind.x, strict=True)) == [("13c", 2), ("14c", 2)]
    assert (behind["Corr-RR"] > behind[list(RIVALS)].max(axis=1)).all()  # and there behind all three rivals
    claim("corr-rr-v2/sent-4.3.2-low-corr").conditional(always > 5, max(worst) < -5 and one_in_each)
    expected = dict(zip(settings, as_run, strict=True)) | {(2, 0.5): loss[1]}
    grown = [np.array([[expected[d, b][m][0] for m in (*RIVALS, "Corr-RR")] for d in runs]) for b in (0.1, 0.3, 0.5)]
    grown += [part.sort_values("x")[[*RIVALS, "Corr-RR"]].to_numpy() for _, part in weak.groupby("panel")]
    grows = len(grown) == 9 and all((np.diff(table, axis=0) > 0).all() for table in grown)
    claim("corr-rr-v2/sent-7.4.2-lowest").conditional(always > 5 and grows, max(worst) < -5 and one_in_each)
    drawn = shown[shown.panel.isin(["7a", "8a"]) & (shown.x == 0.1)]
    assert (shown.d.min(), shown.rho.min()) == (2, 0.1)
    assert better(uniform[2], "Corr-RR", "RS+RFD") > 5  # with uniform marginals it is a gain
    claim("corr-rr-v2/sent-4.3.3-low-corr-loss").reproduced(
        better(loss[1], "Corr-RR", "RS+RFD") < -5, len(drawn) == 2 and bool((drawn["Corr-RR"] > drawn["RS+RFD"]).all())
    )
    # Figures 9 and 10: two attributes, every rival, every budget, weak and strong correlation, small and large Phase I.
    shares = [four(2, rho, b, UNIFORM, share=s) for rho in (0.1, 0.9) for b in (0.1, 0.3, 0.5) for s in (0.1, 0.2, 0.5)]
    tenth, fifth, half = (  # the foil: skewed marginals, unless half of the users are in Phase I
        [better(four(2, 0.1, 0.5, SKEWED, reuse=r, share=s, runs=10_000), "Corr-RR", "RS+RFD") for r in LEARNED]
        for s in (0.1, 0.2, 0.5)
    )
    assert max(tenth + fifth) < -5 < 5 < min(half)
    nine_ten = shown[shown.panel.str[:-1].isin(["9", "10"])]
    claim("corr-rr-v2/sent-tables-robustness").reproduced(
        min(better(one, "Corr-RR", m) for one in (*uniform[:3], *shares) for m in RIVALS) > 5,
        len(nine_ten) == 30 and bool((nine_ten["Corr-RR"] < nine_ten[list(RIVALS)].min(axis=1)).all()),
    )
    # Half of 2,000 users in Phase I at .1, both methods capped: Corr-RR leads by some 4 per cent, so the notes say.
    people, rng = synthetic(2, 0.1, UNIFORM, n=2_000), np.random.default_rng(1)
    both = [
        two_phase_error(make(k=people.k, epsilon=0.1, n1=1_000), people, rng, 16_000, capped)
        for make in (CorrRR, TwoPhaseRSRFD)
    ]
    (mean, noise), (other, noise_of_other) = both
    noise = mean / other * math.hypot(noise / mean, noise_of_other / other)
    assert 5 * noise < 1 - mean / other < 0.04 + 3 * noise
    shares = (
        printed_values.load("corr_rr_tables").query("table == 6 and epsilon == 0.5").pivot_table("mse", "n1", "method")
    )
    table_6 = shares.loc[4000]
    as_drawn = four(2, 0.1, 0.5, UNIFORM, runs=1500, drawn=True)["Corr-RR"]
    stronger = four(2, 0.9, 0.5, UNIFORM, runs=1500, drawn=True)["Corr-RR"]
    panel_9c = shown[(shown.panel == "9c") & (shown.x == 20)].iloc[0]
    part = 1 - shares["Corr-RR"] / shares["RS+RFD"]  # at every share in Phase I
    assert [round(part.min(), 2), round(part.max(), 2)] == [0.38, 0.69]
    assert len(shares) == 10
    claim("corr-rr-v2/sent-internal-conflict").not_reproduced(
        # uniform marginals give what Table 6 prints,
        abs(as_drawn[0] - table_6["Corr-RR"]) < 5 * as_drawn[1] * math.sqrt(1500 / 100),
        table_6["Corr-RR"] < 0.5 * table_6["RS+RFD"],
        # and Figure 9(c) at 20 %, at either correlation,
        all(abs(one[0] - panel_9c["Corr-RR"]) < 5 * one[1] * math.sqrt(1500 / 50) for one in (as_drawn, stronger)),
        (panel_9c.rho, panel_9c["Corr-RR"] < 0.5 * panel_9c["RS+RFD"]) == (0.9, True),
        # and skewed ones what the text reads from Figure 7(a)
        better(loss[1], "Corr-RR", "RS+RFD") < -5,
        min(f["Corr-RR"][0] for f in loss) > 2 * max(table_6["Corr-RR"], panel_9c["Corr-RR"]),
    )


def true_table(rho, formula):
    """The reuse table from the true marginals of SynA with two attributes, n1 = 20 %."""
    f = np.array(SKEWED)
    pair = [f, rho * f + (1 - rho) / 4]
    return corr_rr.reuse_table(pair, n2=16_000) if formula == "exact" else appendix_table(pair, n2=16_000, epsilon=0.5)


def test_what_makes_corr_rr_lose_at_weak_correlation():
    learned = four(2, 0.1, 0.5, SKEWED, runs=5000)
    known = four(2, 0.1, 0.5, SKEWED, runs=5000, reuse=tuple(map(tuple, true_table(0.1, "exact"))))
    printed = true_table(0.1, "appendix")
    by_code = [four(2, 0.1, 0.5, SKEWED, runs=5000, reuse=tuple(map(tuple, x))) for x in (printed, printed.T)]
    claim("corr-rr-v2/sent-4.3.3-low-corr-cause").conditional(
        better(learned, "Corr-RR", "RS+RFD") < -3 and better(known, "Corr-RR", "RS+RFD") > 5,
        max(better(x, "Corr-RR", "RS+RFD") for x in by_code) < -5,  # in the printed order, and exchanged as in the code
    )
    # With four attributes, and less for each in Phase I, no loss, and learning costs a smaller part of the error.
    more = by_number(SKEWED, 0.1, 0.5, 4)
    assert better(more, "Corr-RR", "RS+RFD") > 5
    f = np.array([SKEWED, *[0.1 * np.array(SKEWED) + 0.9 / 4] * 3])
    told = four(4, 0.1, 0.5, SKEWED, runs=1500, reuse=tuple(map(tuple, corr_rr.reuse_table(f, n2=16_000))))
    costs = [a["Corr-RR"][0] / b["Corr-RR"][0] for a, b in ((learned, known), (more, told))]
    noise = [
        x * math.hypot(*(f["Corr-RR"][1] / f["Corr-RR"][0] for f in two))
        for x, two in zip(costs, ((learned, known), (more, told)), strict=True)
    ]
    assert (costs[0] - costs[1]) / math.hypot(*noise) > 5
    assert [round(x, 1) for x in costs] == [1.3, 1.1]
    assert abs(costs[1] - 1.133) < 3 * noise[1]


def test_moderate_and_strong_correlation():
    moderate = {reuse: four(2, 0.5, 0.5, SKEWED, reuse=reuse, runs=2000) for reuse in ("exact", "appendix")}
    (ours, own), (other, else_) = (moderate["exact"][m] for m in ("Corr-RR", "RS+RFD"))
    assert ours / other - 0.9 > 3 * ours / other * math.hypot(own / ours, else_ / other)
    stronger = [four(d, rho, 0.5, SKEWED, reuse="appendix") for d, rho in ((2, 0.9), (3, 0.5), (3, 0.9), (4, 0.5))]
    drawn = printed_values.load("corr_rr_figures")
    drawn = drawn[drawn.panel.str.startswith(("7", "8"))]
    lead = 1 - drawn["Corr-RR"] / drawn[list(RIVALS)].min(axis=1)
    assert min(lead[drawn.x < 0.5]) < 0  # the condition on rho is needed
    ends = [part.sort_values("x")["Corr-RR"].iloc[[0, -1]] for _, part in drawn.groupby("panel")]
    assert [first > last for first, last in ends] == [True] * 6  # the note on the trend: each curve falls
    # And why: as rho grows the marginals of SynA are more alike, and Phase II's squared bias falls to a fiftieth.
    for d in (2, 4):
        apart, squares = [], []
        for rho in (0.1, 0.3, 0.5, 0.7, 0.9):
            f = np.array(marginal_frequencies(synthetic(d, rho, SKEWED)))
            bias = corr_rr.expectation(f, appendix_table(f, n2=16_000, epsilon=0.5)) - f
            apart.append(np.ptp(f, axis=0).max())
            squares.append((bias**2).sum())
        assert max(*np.diff(apart), *np.diff(squares)) < 0 < squares[-1] < squares[0] / 50
    # With four attributes the advantage over SPL and RS+FD, whose errors stay, is less at .9 than at .8; as run more.
    for exchanged, sign in ((False, 1), (True, -1)):
        late, rng = [], np.random.default_rng(5)
        for rho in (0.8, 0.9):
            people = synthetic(4, rho, SKEWED)
            made = AppendixCorrRR(k=people.k, epsilon=0.5, n1=0.2, exchanged=exchanged)
            errors = np.concatenate([expected_errors(made, people, rng=rng, runs=5_000) for _ in range(8)])
            late.append(errors / expected_error(SPL(k=people.k, epsilon=0.5), people))
        noise = math.hypot(*(x.std() / len(x) ** 0.5 for x in late))
        assert sign * (late[1].mean() - late[0].mean()) / noise > 3
    claim("corr-rr-v2/sent-4.3.3-moderate").reproduced(
        min(better(one, "Corr-RR", m) for one in (moderate["appendix"], *stronger) for m in RIVALS) > 5,
        min(saved(one, "Corr-RR", "RS+RFD") for one in (moderate["appendix"], *stronger)) > 0.3,
        min(lead[drawn.x >= 0.5]) > 0.25,  # as shown in Figures 7 and 8
    )
    shown = [
        four(4, rho, 0.5, SKEWED, reuse="appendix", tree=tree, runs=2000, drawn=True)
        for tree in TREES
        for rho in (0.9, 0.1)
    ]
    # The last setting of the claim above: four attributes at .9.
    assert min(better(one, "Corr-RR", m) for one in shown[::2] for m in RIVALS) > 5
    assert min(saved(one, "Corr-RR", "RS+RFD") for one in shown[::2]) > 0.3
    strong, weak = (
        [lower(found, stated) for found in half] for half, stated in ((shown[::2], 0.6), (shown[1::2], 0.5))
    )
    # The note's numbers, of 2,000 runs: within three of their own standard errors, or one of 200 runs.
    assert all(abs(lower(*pair)) < 1 for pair in zip(shown, (0.63, 0.54, 0.63, 0.52), strict=True))
    other = {}  # neither uniform marginals nor the true minimiser gives both numbers
    for marginals, reuse in [(SKEWED, "exact"), (UNIFORM, "appendix"), (UNIFORM, "exact")]:
        runs = [four(4, rho, 0.5, marginals, reuse=reuse, runs=2000, drawn=True) for rho in (0.9, 0.1)]
        other[marginals, reuse] = lower(runs[0], 0.6) > -3 and abs(lower(runs[1], 0.5)) < 3
        ends = (0.7, 0.7) if marginals == UNIFORM else (0.25, 0.52)
        assert all(abs(lower(*pair)) < 1 for pair in zip(runs, ends, strict=True))
    seen = {rho: lead[drawn.panel.isin(["7c", "8c"]) & (drawn.x == rho)] for rho in (0.9, 0.1)}
    claim("corr-rr-v2/sent-4.3.3-60-50").reproduced(
        min(seen[0.9]) > 0.6 and {round(v, 1) for v in seen[0.1]} == {0.5},
        min(strong) > 0 and np.abs(weak).max() < 3,
        all(lower(found, 0.4) > 3 and lower(found, 0.65) < -3 for found in shown[1::2]),
        not any(other.values()),
    )


def test_forty_per_cent_below_rsrfd_needs_a_small_phase_one():
    ten, twenty = (four(2, 0.9, 0.1, UNIFORM, share=share, runs=8000) for share in (0.1, 0.2))
    times = [one["SPL"][0] / one["Corr-RR"][0] for one in (ten, twenty)]
    shown = printed_values.load("corr_rr_figures").query("panel == '9a' and x <= 20")
    as_shown = (shown["Corr-RR"] < 0.6 * shown["RS+RFD"]) & (shown["Corr-RR"] < shown.SPL / 3)
    assert len(as_shown) == 2
    assert (shown["Corr-RR"] > shown.SPL / 4).all()
    panels = printed_values.load("corr_rr_figures").query("panel in ('9a', '9b', '9c')")
    least = [part.x[part["Corr-RR"].idxmin()] for _, part in panels.groupby("panel")]
    looser = [four(2, 0.9, budget, UNIFORM, share=0.1, runs=1500) for budget in (0.3, 0.5)]
    further = panels[panels.epsilon.isin([0.3, 0.5]) & (panels.x <= 20)]
    part, factor = 1 - further["Corr-RR"] / further["RS+RFD"], further.SPL / further["Corr-RR"]
    assert [round(part.min(), 2), round(part.max(), 2)] == [0.56, 0.66]
    assert [round(factor.min(), 1), round(factor.max(), 1)] == [2.8, 3.1]
    # Under uniform marginals the table that Phase I sets is of no matter: the error is exact for each share.
    people, shares = synthetic(2, 0.9, UNIFORM), (0.05, 0.1, 0.2, 0.3, 0.4, 0.5)
    grows = [
        [expected_error(CorrRR(k=people.k, epsilon=b, n1=round(x * people.n), reuse=1.0), people) for x in shares]
        for b in (0.1, 0.3, 0.5)
    ]
    one, ten_of = (expected_error(CorrRR(k=(4, 4), epsilon=0.5, n1=x, reuse=0.25), people) for x in (200, 2000))
    assert round(ten_of / one, 2) == 1.3  # the notes on 10 to 20 and 5 to 10 %
    assert set(panels.rho) == {0.9}
    rsrfd = TwoPhaseRSRFD(k=people.k, epsilon=0.1, n1=people.n // 5)
    raw = two_phase_error(rsrfd, people, np.random.default_rng(3), 8000)
    for (rival, error), less in ((twenty["RS+RFD"], 0.38), (raw, 0.57)):
        rest = twenty["Corr-RR"][0] / rival
        assert abs(1 - rest - less) < 0.005 + 3 * rest * error / rival
    assert round(times[1], 1) == 2.5
    claim("corr-rr-v2/sent-4.3.4-40").reproduced(
        saved(ten, "Corr-RR", "RS+RFD") > 0.4,
        times[0] > 3,
        bool(as_shown.all()),
        least == [10, 10, 20],
        bool((np.diff(grows) > 0).all()),
        min(saved(one, "Corr-RR", "RS+RFD") for one in looser) > 0.4,
        min(one["SPL"][0] / one["Corr-RR"][0] for one in looser) > 3,
        saved(twenty, "Corr-RR", "RS+RFD") < 0.4 and times[1] < 3,  # at the other end it is less: the check can tell
    )


def test_where_corr_rr_is_behind_in_tables_and_figure_11_as_printed():
    cells = printed_values.load("corr_rr_tables").pivot(index=["n", "epsilon", "table", "n1"], columns="method")["mse"]
    behind = (cells["Corr-RR"] > cells["RS+RFD"]).groupby(["n", "epsilon"]).sum().unstack()
    assert behind.to_numpy().tolist() == [[20, 19, 7], [20, 0, 0], [0, 0, 0]]  # of 20 each
    # With both methods capped Corr-RR is ahead by far at 5 % (the chapter); at 50 % it is by 4 % where it is most.
    rng, lead = np.random.default_rng(3), {}
    for (n, epsilon), runs in (((200, 0.1), 80_000), ((200, 0.3), 16_000), ((2000, 0.1), 4_000)):
        people, found = syn_a(n, d=2, rho=0.1, frequencies=UNIFORM, rng=rng), {}
        for name, make in (("RS+RFD", TwoPhaseRSRFD), ("Corr-RR", CorrRR)):
            made = make(k=people.k, epsilon=epsilon, n1=n // 2)
            found[name] = two_phase_error(made, people, rng, runs, capped)
        lead[n, epsilon] = saved(found, "Corr-RR", "RS+RFD"), better(found, "Corr-RR", "RS+RFD")
    assert lead[200, 0.1][1] > 3
    assert lead[200, 0.3][1] > 5
    assert max(abs(part) for part, _ in lead.values()) < 0.06
    noted = {(200, 0.1): 0.01, (200, 0.3): 0.04, (2000, 0.1): 0.04}
    assert all(abs(part - noted[at]) < 3 * abs(part / z) for at, (part, z) in lead.items())
    middle = cells["Corr-RR"].loc[2000, [0.3, 0.5]].groupby(["epsilon", "table"]).idxmin()
    assert [at[-1] for at in middle] == [100] * 4  # of 2,000: 5 %
    binary = printed_values.load("corr_rr_figures").query("panel in ('11a', '11c')")  # Clave and Adult
    greatest = binary["Corr-RR"] > binary[list(RIVALS)].max(axis=1)
    assert greatest.tolist() == [False, False, False, True, True] * 2
    assert (binary["Corr-RR"] / binary.SPL).round(2).iloc[2] == 1.03  # on Clave at .3
    mean, se = two_phase_error(AppendixCorrRR(k=(2, 2), epsilon=0.3), datasets.load_corr_rr("clave"), rng, 2_000)
    assert se * math.sqrt(2_000 / 50) / mean > 0.03  # less than one standard error of 50 runs


def test_with_even_shares_the_correlation_of_panel_9c_leaves_no_trace():
    panel = printed_values.load("corr_rr_figures").query("panel == '9c'")
    assert set(panel.rho) == {0.9}

    def squares(rho, factor=1.0):
        made = sweep_points(panel.assign(rho=rho), seed=3, runs=300, methods=["Corr-RR"])
        return (distance(made.assign(shown=factor * made.shown)) ** 2).sum()

    limit = 5 + 3 * math.sqrt(2 * 5)
    assert max(squares(0.1), squares(0.9)) < limit < squares(0.1, 1.5)


@pytest.mark.parametrize("exchanged", [False, True])
def test_panel_4a_does_not_fit_its_stated_correlation_whoever_copies_whom(exchanged):
    points = printed_values.load("corr_rr_figures")
    rule, how = partial(AppendixCorrRR, exchanged=exchanged), {"seed": 14, "runs": 500, "methods": ["Corr-RR"]}

    def squares(rho, tree, panel="4a"):
        part = points[points.panel == panel]
        part = part.assign(rho=rho, parents=[tree] * len(part))
        return (distance(sweep_points(part, corr=rule, **how)) ** 2).sum()

    trees, limit = itertools.product((0,), (0, 1), (0, 1, 2)), 5 + 3 * math.sqrt(2 * 5)
    assert min(squares(0.1, tree) for tree in trees) > 25 > limit > squares(0.9, LAST)
    assert max(squares(rho, LAST, "4b") for rho in (0.5, 0.9)) < limit < squares(0.1, LAST, "4b")


def test_the_seeds_of_the_programs_give_the_splitting_errors_of_figure_9_with_a_correlation_of_point_nine():
    """SPL comes first in each run, so its randomness is that of the run's seed: 42, the run's number, 1,000 rho."""

    def by_the_seeds(rho, epsilon, n=20_000, runs=50):
        errors, (p, q) = [], grr.probabilities(math.exp(epsilon / 2), 4)
        for run in range(runs):
            coins = np.random.RandomState(42 + run + int(1_000 * rho))
            first = coins.choice(4, size=n, p=UNIFORM)
            anew = coins.rand(n) >= rho
            second = first.copy()
            second[anew] = coins.choice(4, size=anew.sum(), p=UNIFORM)
            orders = [list(dict.fromkeys(x.tolist())) for x in (first, second)]  # of the values, as they turn up
            others = [{v: [w for w in order if w != v] for v in order} for order in orders]
            counts, toss, pick = np.zeros((2, 4)), coins.random_sample, coins.randint
            for record in zip(first.tolist(), second.tolist(), strict=True):
                for j, v in enumerate(record):
                    counts[j, v if toss() < p else others[j][v][pick(0, 3)]] += 1
            truth = np.array([np.bincount(x, minlength=4) for x in (first, second)]) / n
            errors.append((((counts / n - q) / (p - q) - truth) ** 2).mean())
        return np.mean(errors)

    shown = printed_values.load("corr_rr_figures").query("panel == '9c'").SPL.unique()
    assert by_the_seeds(0.9, 0.5) == pytest.approx(shown.item(), rel=5e-6)  # six digits; with 0.1 it is 0.00191


def test_which_figures_tell_the_formulas_for_the_copying_probability_apart():
    """Which figures and panels of Corr-RR do not come out with the exact formula: the notes, and the audit's table."""
    points = printed_values.load("corr_rr_figures")
    points = points[~points.panel.str.startswith("10")]
    made = sweep_points(points, seed=1, runs=100, methods=["Corr-RR"], corr=CorrRR)
    panels = {panel: off(part) for panel, part in made.groupby("panel")}
    whole = {figure: off(part) for figure, part in made.groupby(made.panel.str[:-1])}
    assert {figure for figure, z in whole.items() if z > 10} == {*"345678", "11"}
    assert sorted(panel for panel, z in panels.items() if z > 10) == (
        ["11b", "3b", "3c", "4a", "4b", "4c", "5b", "5c", "6b", "6c", "7a", "7b", "7c", "8a", "8b", "8c"]
    )
    assert max(z for z in [*whole.values(), *panels.values()] if z <= 10) < 5


def test_nearly_equal_marginals_the_exact_formula_follows_the_noise_of_a_tenth_of_the_users():
    """As the chapter says: in thousandths 2.2 against the appendix's 0.8, where a p_y near 1 is the best fixed one."""
    people, rng, runs = synthetic(2, 0.9, SKEWED), np.random.default_rng(1), 4_000
    settings = {"k": people.k, "epsilon": 0.5, "n1": 0.1}
    found = {name: two_phase_error(make(**settings), people, rng, runs) for name, make in LEARNED.items()}
    for name, error in {"exact": 2.22e-3, "appendix": 0.776e-3}.items():
        mean, se = found[name]
        assert abs(mean - error) < 0.02 * error + 4 * se < 0.1 * error
    text = (Path(__file__).parents[2] / "notebooks/audit_corr_rr_evaluation.ipynb").read_text(encoding="utf-8")
    assert "nearly three times the appendix's MSE, 2.2 against 0.8 with 10 per cent" in text
    assert "0.8 against 2.2 thousandths (synthetic data, 20,000 users, ε = 0.5, correlation 0.9)" in text
    copied, truth = np.linspace(0, 1, 21), np.array(marginal_frequencies(people))
    made = [CorrRR(**settings, reuse=v) for v in copied]
    fixed = [((np.array(m.mean(people)) - truth) ** 2 + np.array(m.variance(people))).mean() for m in made]
    assert copied[np.argmin(fixed)] >= 0.95
    first = SPL(k=people.k, epsilon=0.5).simulate(synthetic(2, 0.9, SKEWED, n=2_000), rng=rng, runs=runs)
    low, high = (np.quantile(m(**settings).learn(first, 18_000)[:, 0, 1], 0.05) for m in LEARNED.values())
    assert low < 0.05 < 0.7 < high

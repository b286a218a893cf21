"""The JRR paper's Section 4.6: steps, and what we searched and did not prove."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from ldp_lib import check, grr, jrr
from ldp_lib.book.claims import claim
from ldp_lib.book.enumeration import pairings
from ldp_lib.jrr import extensions
from ldp_lib.population import Population

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
    edges = [min(jrr.table(t, r, m)) for t, m in CORNERS for r in jrr.rho_range(t, m)]
    claim("jrr/eq-27").holds(
        sp.cancel(total - 1) == 0,
        all(sp.cancel(a - b) == 0 for a, b in zip(printed, jrr.table(p, rho, k), strict=True)),
        edges == [0] * 18,
    )
    found = []
    for t, m in CORNERS:
        low, high = jrr.rho_range(t, m)
        for r in (low, high, (low + high) / 3):
            cells, law = jrr.table(t, r, m), [Fraction(0)] * m
            for a, b in itertools.product(range(m), repeat=2):
                law[a] += cells[(a != 0) + (b != 0)]
            found.append(law == [t] + [(1 - t) / (m - 1)] * (m - 1))
    claim("jrr/sec-4.6.1-marginal").holds(len(found) == 27, all(found))


def test_privacy_and_utility_of_k_jrr_follow_as_for_two_values():
    t, r, m = Fraction(1, 2), Fraction(-1), 3
    people = [(0, 0, 0, 0), (0, 0, 1, 2), (0, 1, 1, 2), (1, 1, 2, 2)]
    listed = [count_variance(x, t, r, m) for x in people]
    closed = [jrr.variance(Fraction(x.count(0)), 4, t, r, m) for x in people]
    ratios = []
    for at in ((t, r, m), (Fraction(2, 5), Fraction(-2), 5), (Fraction(1, 4), Fraction(-1), 5)):
        cells = jrr.table(*at)
        ratios += [worst(truth_law(size, *at), at[2]) == largest(*cells) for size in (2, 4, 6)]
        ratios.append(largest(*cells) > at[0] * (at[2] - 1) / (1 - at[0]))
    claim("jrr/sec-4.6.1-s3").holds(listed == closed, all(ratios), worst(truth_law(4, t, r, m), m) == 6)
    assert largest(*cells) == cells[1] / cells[0] > cells[1] / cells[2]  # two truths can be the rarest


def test_the_truth_gets_rarer_as_the_domain_grows():
    e, k = sp.symbols("e k", positive=True)
    slope = sp.diff(grr.probabilities(e, k)[0], k)
    claim("jrr/sec-4.6.3-s3").holds(sp.cancel(slope + e / (k + e - 1) ** 2) == 0)


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
    every = {tuple(mechanism.estimate(np.array(y))) for y in itertools.permutations([1, 0, 0, 1, 1])}
    claim("jrr/sec-4.6.5-s1").holds(
        not np.array_equal(reports, mixed_up), bool((before == after).all()), len(every) == 1
    )

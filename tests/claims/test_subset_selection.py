"""Subset selection: its best size among integers, and the sets that other oracles draw, both by enumeration."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from ldp_lib import grr, pure, subset, unary
from ldp_lib.book.claims import claim

RATIOS = [Fraction(x, 10) for x in range(11, 80)]


def test_the_best_size_is_next_to_the_optimum_and_not_always_the_nearer_integer():
    pairs = [(e, k) for e in RATIOS for k in range(2, 41)]
    errors = [[subset.error(e, k, size) for size in range(1, k)] for e, k in pairs]
    best = [row.index(min(row)) + 1 for row in errors]
    nearer = [
        (e, k, size)
        for (e, k), size in zip(pairs, best, strict=True)
        if size != max(round(k / (e + 1)), 1) and 2 * k % (e + 1) != 0  # exact halves are left out
    ]

    def alone(size, f):
        return pure.variance(f, 1, *subset.probabilities(Fraction(3), 8, size))

    # The note: the total is the same for all data, but a single value's variance has its least where its share says.
    data = [[Fraction(v, 8) for v in row] for row in ((1,) * 8, (8,) + (0,) * 7, (5, 3) + (0,) * 6)]
    totals = {tuple(sum(alone(size, f) for f in shares) for size in range(1, 8)) for shares in data}
    assert totals == {tuple(subset.error(Fraction(3), 8, size) - Fraction(7, 8) for size in range(1, 8))}
    assert [min(range(1, 8), key=lambda size: alone(size, f)) for f in (0, 1)] == [2, 4]
    assert subset.optimal_size(Fraction(3), 8) == 2
    claim("own/subset-selection-size").holds(
        best == [subset.optimal_size(e, k) for e, k in pairs],
        all(abs(size - k / (e + 1)) < 1 for (e, k), size in zip(pairs, best, strict=True) if k > e + 1),
        all(size == 1 for (e, k), size in zip(pairs, best, strict=True) if k <= e + 1),
        (Fraction(17, 10), 4, 2) in nearer,
    )


def bits(e, k):
    """The distribution of the set of ones, for each value."""
    return unary.channel(*unary.probabilities(e, Fraction(2, 7)), k)


def buckets(e, k, g=3):
    """The distribution of the set of values in the reported bucket, over all functions to g buckets."""
    law, rows = np.full((k, 2**k), Fraction(0)), grr.channel(e, g)
    for function in itertools.product(range(g), repeat=k):
        for y, x in itertools.product(range(g), range(k)):
            named = sum(1 << v for v in range(k) if function[v] == y)
            law[x, named] += rows[function[x], y] / g**k
    return law


@pytest.mark.parametrize("k", [2, 3, 4, 5])
@pytest.mark.parametrize("law", [bits, buckets])
def test_given_its_size_the_set_of_another_oracle_is_that_of_subset_selection(law, k):
    e = Fraction(3)
    drawn = law(e, k)
    assert (drawn.sum(axis=1) == 1).all()
    for size in range(1, k):
        sets = list(itertools.combinations(range(k), size))
        part = drawn[:, [sum(1 << v for v in names) for names in sets]]
        chance = part.sum(axis=1)
        assert (chance == chance[0]).all()
        assert (part / chance[0] == subset.channel(e, k, size)).all()


@pytest.mark.parametrize("k", [2, 3, 5, 16, 100])
@pytest.mark.parametrize("e", [Fraction(11, 10), Fraction(5, 3), Fraction(3), Fraction(20)])
def test_no_other_oracle_has_a_smaller_total_variance(e, k):
    rates = [Fraction(i, 50) for i in range(1, 50)] + [1 / (e + 1)] + [Fraction(1, g) for g in range(2, 31)]
    rivals = [unary.probabilities(e, rate) for rate in rates] + [grr.probabilities(e, k)]
    totals = [(p * (1 - p) + (k - 1) * q * (1 - q)) / (p - q) ** 2 for p, q in rivals]
    assert subset.error(e, k, subset.optimal_size(e, k)) - 1 + Fraction(1, k) <= min(totals)

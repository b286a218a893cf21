"""Exact distributions of small surveys by listing every pairing or every half: only the table goes in, no formula."""

import itertools
import math
from fractions import Fraction

from ldp_lib.jrr import table


def pairings(users):
    """Return all ways to pair the users, each a list of tuples; one of an odd number stays alone."""
    users = list(users)
    if not users:
        return [[]]
    if len(users) % 2:
        return [[(u,), *rest] for u in users for rest in pairings(v for v in users if v != u)]
    first, *others = users
    return [[(first, u), *rest] for u in others for rest in pairings(v for v in others if v != u)]


def truth_law(n, p, rho):
    """Return the distribution of (T_1, ..., T_n) under random pairing: a dict, vectors of truths to probabilities."""
    cells = table(p, rho)
    groups = pairings(range(n))
    law = dict.fromkeys(itertools.product((0, 1), repeat=n), 0)
    for told, pairing in itertools.product(law, groups):
        chance = Fraction(1, len(groups))
        for group in pairing:
            truths = sum(told[u] for u in group)
            chance *= cells[2 - truths] if len(group) == 2 else (p if truths else 1 - p)
        law[told] += chance
    return law


def half_law(x, p, s, lean=1):
    """Return the distribution of all reports of an even number of users with values x if a random half has plus.

    The sign adds s to the probability of a 1 for users who hold 1, and lean * s for others, or takes it away: `lean` is
    1 for signed reports, -1 for signed truths.
    """
    n = len(x)
    law = dict.fromkeys(itertools.product((0, 1), repeat=n), 0)
    halves = list(itertools.combinations(range(n), n // 2))
    for half in halves:
        chances = [Fraction(1, len(halves))]  # of the first users' reports, in the order of `law`
        for j, value in enumerate(x):
            one = (p if value else 1 - p) + (s if value else lean * s) * (1 if j in half else -1)
            chances = [chance * report for chance in chances for report in (1 - one, one)]
        law = {y: known + chance for (y, known), chance in zip(law.items(), chances, strict=True)}
    return law


def worst_ratio(first, second):
    """Return the largest likelihood ratio of two distributions, either way; infinite if only one allows a report."""
    pairs = [sorted((first.get(y, 0), second.get(y, 0))) for y in {*first, *second}]
    return max(b / a if a else math.inf for a, b in pairs if b)


def least_delta(first, second, ratio):
    """Return by how much, at most, an event's probability exceeds `ratio` times that by the other, either way."""
    ways = (first, second), (second, first)
    return max(sum(max(0, a[y] - ratio * b.get(y, 0)) for y in a) for a, b in ways)


def mixture(laws):
    """Return the average of distributions."""
    laws = list(laws)
    return {y: sum(law.get(y, 0) for law in laws) * Fraction(1, len(laws)) for y in set().union(*laws)}

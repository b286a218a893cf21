"""A bound for all sets of records at once: draw a few records at random and count how many of them are in the set.

Draw m records so that attribute j's values differ as much as they can. The expected square of the number in the set S
is linear in the weights W_T of S on the sets T of attributes, and is at least (2s+1) m mu - s(s+1) for every integer s.
With the sum of all weights, mu (1-mu), this bounds the weights on single attributes (chapter `optimal_sets`).
"""

import functools
import math
from collections import Counter
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy.optimize import linprog, minimize

from ldp_lib.limit._rational import GRID, never_negative, rounded

SEARCHED = 24  # different domains whose weights are searched for, at most
DRAWN = 40  # different numbers of attributes in which drawn records differ, at most
MANY = 1_000  # of more values than these some share a piece


@functools.cache
def overlap(size, part, differ, k):
    """Return the mean of (-1/(k-1))^|T and D| over all D of `differ` of `size` attributes, for T of `part` of them."""
    total, power = 0, min(part, differ)
    for s in range(max(0, part + differ - size), power + 1):
        total += math.comb(part, s) * math.comb(size - part, differ - s) * (-1) ** s * (k - 1) ** (power - s)
    return Fraction(total, math.comb(size, differ) * (k - 1) ** power)


def equal_row(d, k, share):
    """Return the draws of equal domains with the least dual variable if Parseval's sum has weight `share`, or None.

    Entry i of the result is how often i attributes differ; Fractions, so that `row` can check them.
    """
    number = np.unique(np.linspace(1, d, min(d, DRAWN)).round().astype(int)).tolist()
    table = np.array([[float(overlap(d, part, i, k)) for i in number] for part in number])
    need = np.array([share - 1] + [share] * (len(number) - 1), float)
    found = linprog(np.ones(len(number)), A_ub=table, b_ub=need, bounds=(0, None), method="highs").x
    if found is None:
        return None
    often = dict(zip(number, found, strict=True))
    return tuple(Fraction(math.ceil(often.get(i, 0) * GRID), GRID) for i in range(1, d + 1))


def row(k, weights, share, often=None):
    """Return B and V with sum_j weights_j W_j <= B mu (1-mu) + V R(mu) for every set of records, exactly.

    R is `remainder`. For equal domains and weights 1, `often` says how often i attributes differ, and B is `share` or
    what rounding makes of it. Else every attribute differs by a chance of its own, and B is `share`.
    """
    if often is None:
        kinds = Counter(zip(weights, k, strict=True))  # what is equal is compared once
        excess = [(max(w - share, 0), size) for (w, size), often in kinds.items() for _ in range(min(often, 2))]
        first, second = [*sorted((x for x, _ in excess), reverse=True), 0][:2]
        return share, max(*(x * (size - 1) for x, size in excess), first * second / share)
    d = len(k)
    lack = (
        sum(v * overlap(d, part, i, k[0]) for i, v in enumerate(often, 1) if v) + (part == 1)
        for part in range(1, d + 1)
    )
    return max(share, *lack), sum(often)


def remainder(m, s):
    """Return the coefficients of R(mu) = mu^2 - 2 s mu / (m-1) + s (s+1) / (m (m-1)): of m records s or s+1 are in."""
    return Fraction(s * (s + 1), m * (m - 1)), Fraction(-2 * s, m - 1), Fraction(1)


def pieces(k, rows):
    """Yield, for consecutive intervals of mu from 0 to 1, (low, high, row number, m, s): what bounds best there."""
    m = k[0] if len(set(k)) == 1 else 2
    knots = {Fraction(s, m) for s in range(min(m, MANY) + 1)} | {rounded(x) for x in np.geomspace(1e-4 / m, 1, 400)}
    b, v = np.array(rows, float).T
    for low, high in pairwise(sorted(knots | {Fraction(0), Fraction(1)})):
        s = min(int(low * m), m - 1)
        mu = float(high if s >= MANY else (low + high) / 2)  # from there on an interval may go beyond the share (s+1)/m
        r0, r1, r2 = map(float, remainder(m, s))
        rest = r0 + mu * (r1 + mu * r2)
        yield low, high, int(np.argmin(b * mu * (1 - mu) + v * rest)), m, s


def quadratic(row, m, s):
    """Return the coefficients of B mu (1-mu) + V R(mu)."""
    (b, v), (r0, r1, r2) = row, remainder(m, s)
    return v * r0, b + v * r1, v * r2 - b


def largest(k, t, rows):
    """Return an upper bound of t^2 sum_j weights_j W_j / (1 + t mu)^2 over all sets of records, as a float."""
    top = 0.0
    for low, high, i, m, s in pieces(k, rows):
        c0, c1, c2 = map(float, quadratic(rows[i], m, s))
        turn = (2 * t * c0 - c1) / (2 * c2 - t * c1) if 2 * c2 != t * c1 else 0.0
        for mu in (float(low), float(high), min(max(turn, float(low)), float(high))):
            top = max(top, (c0 + mu * (c1 + mu * c2)) * (t / (1 + t * mu)) ** 2)
    return top


def holds(k, t, rows, limit):
    """Return whether `limit` is such an upper bound, exactly: all arguments are Fractions."""
    for low, high, i, m, s in pieces(k, rows):
        c0, c1, c2 = (limit * a - t * t * c for a, c in zip((1, 2 * t, t * t), quadratic(rows[i], m, s), strict=True))
        if not never_negative(c0, c1, c2, low, high):
            return False
    return True


def equal_rows(d, k, t):
    """Return rows for equal domains: all attributes differ; beyond t = k (2k-3), where these are not enough, more."""
    rows = [(s, (*[0] * (d - 1), (1 - s) * (k - 1))) for s in (Fraction(1), Fraction(1, k if d > 1 else GRID))]
    if d > 1 and t > k * (2 * k - 3):
        least = max(float(k) ** -min(d, 5), 1e-9)
        steps = 39 if d <= DRAWN else 11
        finest = max(1, math.log(min(t, 1e9)) / -math.log(least))  # down to a share of 1/t
        grid = least ** (np.arange(int(steps * finest), -1, -1) / steps)
        rows += [(share, often) for share in map(rounded, grid) if (often := equal_row(d, k, share))]
    return tuple(rows)


def mixed_rows(k, t, rho, weights):
    """Return weights of the attributes, one row a search from `weights` on, and the rows that bound best."""
    sizes, first, kind, often = np.unique(k, return_index=True, return_inverse=True, return_counts=True)
    logs = np.outer((1, 1.5, 2), np.log(weights[first]))
    mu = np.geomspace(1e-3 / max(k), 1, 150)
    gain = (t / (1 + t * mu)) ** 2
    shares = np.geomspace(1e-3, 1, 100)
    gained = np.bincount(kind, weights=rho)

    def bound(log):
        w = np.exp(log - max(log))
        excess = np.clip(w - shares[:, None], 0, None)
        two = np.sort(np.repeat(excess, np.minimum(often, 2), axis=1))[:, -2:].prod(axis=1) / shares
        v = np.maximum((excess * (sizes - 1)).max(axis=1), two)
        top = max(gain * (np.outer(shares, mu * (1 - mu)) + np.outer(v, mu**2)).min(axis=0))
        return -((gained @ np.sqrt(w)) ** 2) / top

    for _ in range(4 * (len(sizes) <= SEARCHED)):  # Nelder and Mead's search gets stuck; begun again, it goes on
        logs = [minimize(bound, log, method="Nelder-Mead", options={"maxiter": 600}).x for log in logs]
    found = np.exp([log - max(log) for log in logs])
    return found[:, kind], [(rounded(b), None) for b in shares]

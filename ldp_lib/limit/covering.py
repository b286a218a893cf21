"""A bound for all sets of records at once: draw a few records at random and count how many of them are in the set.

Draw m records so that attribute j's values differ as much as they can. The expected square of the number in the set S
is linear in the weights W_T of S on the sets T of attributes, and is at least (2s+1) m mu - s(s+1) for every integer s.
With the sum of all weights, mu (1-mu), this bounds the weights on single attributes (chapter `optimal_sets`).
"""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
from scipy.optimize import linprog, minimize

from ldp_lib.limit.rational import GRID, never_negative, rounded


def overlap(size, part, differ, k):
    """Return the mean of (-1/(k-1))^|T and D| over all D of `differ` of `size` attributes, for T of `part` of them."""
    terms = (
        math.comb(part, s) * math.comb(size - part, differ - s) * Fraction(-1, k - 1) ** s
        for s in range(min(part, differ) + 1)
    )
    return sum(terms) / math.comb(size, differ)


def equal_row(d, k, share):
    """Return the draws of equal domains that give the least price of drawing when Parseval's sum has weight `share`.

    Entry i of the result is how often i attributes differ; Fractions, so that `price` can check them.
    """
    table = np.array([[float(overlap(d, part, i, k)) for i in range(1, d + 1)] for part in range(1, d + 1)])
    need = np.array([share - 1] + [share] * (d - 1))
    found = linprog(np.ones(d), A_ub=table, b_ub=need, bounds=(0, None), method="highs")
    return tuple(Fraction(math.ceil(v * GRID), GRID) for v in found.x)


def row(k, weights, share, often=None):
    """Return B and V with sum_j weights_j W_j <= B mu (1-mu) + V R(mu) for every set of records, exactly.

    R is `remainder`. For equal domains and weights 1, `often` says how often i attributes differ, and B is `share` or
    what rounding makes of it. Else every attribute differs by a chance of its own, and B is `share`.
    """
    if often is None:
        excess = [max(w - share, Fraction(0)) for w in weights]
        first, second = [*sorted(excess, reverse=True), Fraction(0)][:2]
        return share, max(*(x * (size - 1) for x, size in zip(excess, k, strict=True)), first * second / share)
    d = len(k)
    lack = (
        sum(v * overlap(d, part, i, k[0]) for i, v in enumerate(often, 1)) + (part == 1) for part in range(1, d + 1)
    )
    return max(share, *lack), sum(often)


def remainder(m, s):
    """Return the coefficients of R(mu) = mu^2 - 2 s mu / (m-1) + s (s+1) / (m (m-1)): of m records s or s+1 are in."""
    return Fraction(s * (s + 1), m * (m - 1)), Fraction(-2 * s, m - 1), Fraction(1)


def pieces(k, rows):
    """Yield, for consecutive intervals of mu from 0 to 1, (low, high, row number, m, s): what bounds best there."""
    m = k[0] if len(set(k)) == 1 else 2
    knots = {Fraction(s, m) for s in range(m + 1)} | {rounded(x) for x in np.geomspace(1e-4 / m, 1, 400)}
    for low, high in pairwise(sorted(knots | {Fraction(0), Fraction(1)})):
        s = min(int(low * m), m - 1)
        middle = float(low + high) / 2
        r0, r1, r2 = (float(c) for c in remainder(m, s))
        rest = r0 + middle * (r1 + middle * r2)
        values = [float(b) * middle * (1 - middle) + float(v) * rest for b, v in rows]
        yield low, high, int(np.argmin(values)), m, s


def quadratic(row, m, s):
    """Return the coefficients of B mu (1-mu) + V R(mu)."""
    (b, v), (r0, r1, r2) = row, remainder(m, s)
    return v * r0, b + v * r1, v * r2 - b


def largest(k, t, rows):
    """Return an upper bound of t^2 sum_j weights_j W_j / (1 + t mu)^2 over all sets of records, as a float."""
    top = 0.0
    for low, high, i, m, s in pieces(k, rows):
        c0, c1, c2 = (float(c) for c in quadratic(rows[i], m, s))
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


def rows_for(k, t, rho, weights):
    """Return the attributes' weights and the rows that bound best; `weights` is where the search begins."""
    if len(set(k)) == 1:
        grid = [Fraction(1, k[0])] + [rounded(b) for b in np.geomspace(float(k[0]) ** -min(len(k), 5), 1, 40)]
        return np.ones(len(k)), tuple((share, equal_row(len(k), k[0], share)) for share in grid)
    sizes, kind = np.unique(k, return_inverse=True)
    start = np.array([weights[list(kind).index(i)] for i in range(len(sizes))])
    mu, grid = np.geomspace(1e-3 / max(k), 1, 300), np.geomspace(1e-3, 1, 60)
    gain = (t / (1 + t * mu)) ** 2

    def bound(log):
        w = np.exp(log - log.max())[kind]
        excess = np.clip(w[:, None] - grid, 0, None)
        two = np.sort(excess, axis=0)[-2:].prod(axis=0) / grid
        v = np.maximum((excess * (np.array(k)[:, None] - 1)).max(axis=0), two)
        top = (gain * (np.outer(grid, mu * (1 - mu)) + np.outer(v, mu**2)).min(axis=0)).max()
        return -((rho @ np.sqrt(w)) ** 2) / top

    log = np.log(start)
    for _ in range(4):  # Nelder and Mead's search gets stuck; begun again where it stopped, it goes on
        log = minimize(bound, log, method="Nelder-Mead", options={"maxiter": 600}).x
    return np.exp(log - log.max())[kind], tuple((rounded(b), None) for b in np.geomspace(1e-3, 1, 300))

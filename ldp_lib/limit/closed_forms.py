"""Closed forms that no unbiased mechanism's error is below: what the planner shows, without a search.

Users are drawn from the uniform distribution and randomize independently, and what drawing them adds is left out: every
unbiased mechanism without a dealer of secrets has at least this variance at some data set held fixed. (At a given one a
design that knows it may have less.)
Errors are for one user: divide by their number. A set of records with the share mu informs by at most
(e-1)^2 mu (1-mu) / (1 + (e-1) mu)^2, and so by sinh(epsilon/2)^2. In floats what is left
without drawing has few right digits below 10^-12, as at epsilon = 30, and none below 10^-15.
"""

import itertools
import math

from ldp_lib._inputs import check_attributes, check_domain, require
from ldp_lib.limit.pair_tables import spaces
from ldp_lib.subset import error, optimal_size


def simple_error(k, epsilon):
    """Return a bound of the total error of all frequencies that no unbiased mechanism is below, on average over data.

    Parameters
    ----------
    k : int or sequence of d ints
        Domain sizes, each at least 2.
    epsilon : float
        Privacy budget of one user's whole report.

    Notes
    -----
    Data are drawn uniformly, and users randomize independently (no dealer sends them secrets). It is the least error
    itself for one attribute, and for equal domains up to e = 1 + k (2k-3). Else the larger of two: the squared sum of
    (k_j - 1) / sqrt(k_j) over sinh(epsilon/2)^2, and each attribute alone at the whole budget; less the sum of
    1 - 1/k_j, which drawing adds. With it `limit.least_error` proves no less up to epsilon = 5 in all domains tried,
    but less at larger budgets: for two attributes of 4 and 50 values at epsilon = 8 0.95 times, for twenty binary ones
    at 17 0.08 times as much. Chapter `limit_attained`.
    """
    k, _ = check_domain(k), require(epsilon=epsilon)
    drawing = sum(1 - 1 / size for size in k)
    alone = [_alone(math.exp(epsilon), size) for size in k]
    if len(set(k)) == 1 and epsilon <= math.log(1 + k[0] * (2 * k[0] - 3)) + 1e-12:
        return len(k) ** 2 * alone[0] - drawing
    return max(_together([(size - 1) / math.sqrt(size) for size in k], epsilon), sum(alone)) - drawing


def simple_pair_error(k, epsilon):
    """Return a bound of the total error of all pair tables that no unbiased mechanism is below, on average over data.

    `k` has at least two domain sizes. Data are drawn uniformly, and users randomize independently (no dealer sends them
    secrets). But for rounding `limit.pair_tables.least_pair_error` is never below. Chapter `pair_tables`.
    """
    k, _ = check_attributes(k), require(epsilon=epsilon)
    cells = [a * b for a, b in itertools.combinations(k, 2)]
    alone = sum(_alone(math.exp(epsilon), size) for size in cells)
    together = _together([math.sqrt(square) for _, square in spaces(k)], epsilon)
    return max(together, alone) - sum(1 - 1 / size for size in cells)


def _alone(e, k):
    return error(e, k, optimal_size(e, k))


def _together(roots, epsilon):
    return (sum(roots) / math.sinh(epsilon / 2)) ** 2

"""Corr-RR's second phase in closed form, of numbers, Fractions or symbols alike.

A *reuse table* is a d by d array: row j, column m holds p_y for pivot j and the copying attribute m; its diagonal is 1.
"""

import itertools
import math

import numpy as np

from ldp_lib import grr


def shrinkage(p_y, k):
    """Return t = (k p_y - 1) / (k-1), from -1/(k-1) to 1: a copy's deviation from 1/k is t times the pivot report's."""
    return (k * p_y - 1) / (k - 1)


def channel(e, k, reuse):
    """Return the second phase's channel from records to reports, both in lexicographic order; exact on Fractions.

    Parameters
    ----------
    e : number or symbol
        exp(epsilon).
    k : int
        Domain size of every attribute.
    reuse : sequence of d sequences
        The reuse table.
    """
    d, truth = len(reuse), grr.channel(e, k)
    words = list(itertools.product(range(k), repeat=d))

    def report(x, y, j):
        """Probability of the report y if j is the pivot."""
        copies = [reuse[j][m] if y[m] == y[j] else (1 - reuse[j][m]) / (k - 1) for m in range(d) if m != j]
        return truth[x[j], y[j]] * math.prod(copies)

    return np.array([[sum(report(x, y, j) for j in range(d)) / d for y in words] for x in words])


def expectation(frequencies, reuse):
    """Return the second phase's expected estimate, shape (d, k); it does not depend on the budget.

    Parameters
    ----------
    frequencies : array_like, shape (d, k)
        The attributes' true frequencies; numbers, Fractions or symbols.
    reuse : array_like, shape (d, d)
        The reuse table.

    Returns
    -------
    array, shape (d, k)
        1/k + (1/d) sum over j of t_jm (f_j - 1/k), with t the `shrinkage` of the reuse table.

    Notes
    -----
    Derived in the chapter `audit_corr_rr`.
    """
    f = np.asarray(frequencies)
    d, k = f.shape
    t = shrinkage(np.asarray(reuse) + 0 * f[0, 0], k)  # of the kind of f, so that Fractions stay exact
    return (t.T @ f + (d - t.sum(axis=0))[:, None] / k) / d


def iid_variance(frequencies, reuse, n2, e):
    """Return the second phase's variance, shape (d, k), if its n2 users are drawn independently.

    It is pi (1-pi) / (n2 (p-q)^2), with pi the probability that an attribute's report is v. Arguments as in
    `expectation`; e is exp(epsilon). Derived in the chapter `audit_corr_rr`.
    """
    p, q = grr.probabilities(e, np.shape(frequencies)[1])
    pi = q + (p - q) * expectation(frequencies, reuse)
    return pi * (1 - pi) / (n2 * (p - q) ** 2)


def quadratic(f_target, f_pivot, n2):
    """Return (c1, c2): for two attributes, the target's error, summed over values, is c1 p_y + c2 p_y^2 + constant.

    Parameters
    ----------
    f_target, f_pivot : array_like, shape (..., k)
        Frequencies of the attribute that copies, and of the pivot.
    n2 : number or symbol
        Number of users in the second phase, drawn independently.

    Notes
    -----
    The budget does not enter. Derived in the chapters `corr_rr` and `audit_corr_rr`.
    """
    a, b = np.asarray(f_target), np.asarray(f_pivot)
    k = a.shape[-1]
    a, b = (f - f.sum(axis=-1, keepdims=True) / k for f in (a, b))  # deviations from 1/k
    product, square = (a * b).sum(axis=-1), (b * b).sum(axis=-1)
    c1 = -k * ((n2 + 1) * (k - 1) * product + (n2 - 1) * square) / (2 * (k - 1) ** 2 * n2)
    return c1, (n2 - 1) * k**2 * square / (4 * (k - 1) ** 2 * n2)


def minimizer(f_target, f_pivot, n2):
    """Return the p_y with the least error for two attributes, which may lie outside [0, 1]: -c1 / (2 c2).

    It is (1 + (k-1) t) / k, with t the coefficient of f_target - 1/k projected on f_pivot - 1/k, times
    (n2+1) / (n2-1). Arguments as in `quadratic`.
    """
    c1, c2 = quadratic(f_target, f_pivot, n2)
    return -c1 / (2 * c2)

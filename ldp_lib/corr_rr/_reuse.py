"""How Corr-RR sets its reuse table: how often an attribute copies the pivot's report. `_formulas` says what it is."""

import itertools

import numpy as np

from ldp_lib.corr_rr._formulas import quadratic
from ldp_lib.corr_rr._least_squares import shortest_least_squares
from ldp_lib.corr_rr._two_phases import check_n1


def reuse_probability(f_target, f_pivot, *, n2):
    """Return the reuse probability p_y of an ordered pair of attributes, shape (...): the best number from 0 to 1.

    It is `minimizer`, or the nearer end if that lies outside [0, 1]. Where the error does not depend on p_y at all, the
    result is 1/k: where the pivot is uniform (to within 1e-12, which is rounding), and for some at n2 = 1.

    Parameters
    ----------
    f_target, f_pivot : array_like, shape (..., k)
        Estimated frequencies of the attribute that copies, and of the pivot. They may be negative or exceed 1, as raw
        estimates do; the result is from 0 to 1 all the same.
    n2 : int
        Number of users in the second phase.

    Notes
    -----
    The rule of Seeam et al. (2025, revised 2026, Section 3.2.2) in words. Derived in the chapters
    `corr_rr` and `audit_corr_rr`.
    """
    a, b, n2 = check_pair(f_target, f_pivot, n2)
    k, scale = b.shape[-1], np.abs(b).max(axis=-1) + 1
    away = np.abs(b - b.mean(axis=-1, keepdims=True)).max(axis=-1)
    c1, c2 = quadratic(a, b, n2)
    flat = (c2 == 0) & (np.abs(c1) <= 1e-12 * scale)  # with one user, n2 = 1
    return np.where((away <= 1e-12 * scale) | flat, 1 / k, best_from_0_to_1(c1, c2))[()]


def check_pair(f_target, f_pivot, n2):
    """Return two attributes' frequencies as arrays of floats of one shape (..., k), and n2 as an int, or raise."""
    a, b = np.asarray(f_target, float), np.asarray(f_pivot, float)
    alike = a.shape == b.shape and a.ndim > 0 and a.shape[-1] > 1
    if not (alike and np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError(f"f_target and f_pivot must be finite and of one shape (..., k); got {a.shape} and {b.shape}")
    return a, b, check_n1(n2, name="n2")


def best_from_0_to_1(c1, c2):
    """Return the p_y from 0 to 1 with the least c1 p_y + c2 p_y^2: of 0, 1 and -c1 / (2 c2)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        star = np.clip(np.where(c2 == 0, 0, -c1 / (2 * c2)), 0, 1)  # outside, it joins an end
    candidates = np.stack(np.broadcast_arrays(star, 0.0, 1.0))
    handicap = 1e-12 * np.multiply.outer(np.arange(3), np.abs(c1) + np.abs(c2))  # so that rounding decides no tie
    best = np.argmin(c1 * candidates + c2 * candidates**2 + handicap, axis=0)
    return np.take_along_axis(candidates, best[None], axis=0)[0]


def reuse_table(frequencies, *, n2):
    """Return the reuse table, shape (..., d, d), of the pairwise rule: `reuse_probability` for each ordered pair.

    `frequencies` are d arrays of shape (..., k). For more than two attributes the pairwise rule is not the best one:
    see `joint_reuse`.
    """
    return table_of(reuse_probability, frequencies, n2=n2)


def table_of(rule, frequencies, **how):
    """Return the table, shape (..., d, d), that a rule for ordered pairs (target, pivot) makes of d arrays (..., k)."""
    f = [np.asarray(v, float) for v in frequencies]
    table = np.ones((*f[0].shape[:-1], len(f), len(f)))
    for j, m in itertools.permutations(range(len(f)), 2):
        table[..., j, m] = rule(f[m], f[j], **how)
    return table


def joint_reuse(frequencies, n2):
    """Return the reuse table, shape (d, d), that minimises the second phase's total error over all tables at once.

    For each copying attribute m, the shrinkages t_j solve a least-squares problem in a box:
    the sum of t_j (f_j - 1/k) over the pivots j is to be nearest to ((d-1) n2 + 1) / (n2 - 1) (f_m - 1/k).
    Where several t are best, as often with k = 2 and d > 2, the shortest is returned, with the least sum of squares.

    Parameters
    ----------
    frequencies : array_like, shape (d, k)
        The attributes' frequencies.
    n2 : int
        Number of users in the second phase, drawn independently; at least 2.

    Notes
    -----
    Derived in the chapter `audit_corr_rr`. The result is unique. The points that the box can reach are a
    compact convex set, which has one point nearest to the goal; the t that lead there are a compact convex set, which
    has one point nearest to 0. Deviations from 1/k, and from each other's span, shorter than 1e-12 count as rounding.
    """
    f = np.asarray(frequencies, float)
    if f.ndim != 2 or min(f.shape) < 2 or not np.isfinite(f).all():
        raise ValueError(f"frequencies must be finite and of shape (d, k), k at least 2 as is d; got shape {f.shape}")
    n2 = check_n1(n2, name="n2")
    if n2 < 2:
        raise ValueError(f"n2 must be at least 2; got {n2}")
    d, k = f.shape
    g, table = f - 1 / k, np.ones((d, d))
    scale = max(1.0, np.abs(f).max())
    for m in range(d):
        others = [j for j in range(d) if j != m]
        target = ((d - 1) * n2 + 1) / (n2 - 1) * g[m]
        t = shortest_least_squares(g[others].T / scale, target / scale, -1 / (k - 1), 1)
        table[others, m] = np.clip((1 + (k - 1) * t) / k, 0, 1)  # rounding
    return table


def check_reuse(reuse, d):
    """Return a reuse table (d, d) as nested tuples, from a table or from one number for all pairs, or raise."""
    try:
        table = np.array(reuse, float)
    except (TypeError, ValueError):
        raise TypeError(f"reuse must be None, a number or a {d} by {d} table; got {reuse!r}") from None
    if table.ndim == 0:
        table = np.where(np.eye(d, dtype=bool), 1.0, table)
    if table.shape != (d, d) or not ((table >= 0) & (table <= 1)).all():
        raise ValueError(f"reuse must be {d} by {d} probabilities p_y from 0 to 1; got {reuse!r}")
    if not (np.diagonal(table) == 1).all():
        raise ValueError(f"reuse must have ones on its diagonal: the pivot reports itself; got {np.diagonal(table)}")
    return tuple(map(tuple, table.tolist()))

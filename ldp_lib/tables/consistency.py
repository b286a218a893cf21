"""Repair joint tables: given marginals, and shrinkage towards independence.

Both take raw estimates, which may be negative. What comes out is not unbiased.
"""

import math
import numbers
from functools import reduce

import numpy as np

from ldp_lib.tables._checks import check_marginal, check_numbers, check_positive
from ldp_lib.tables._results import Projected, ShrunkTable


def project_marginals(table, marginals, *, tolerance: float = 1e-9, max_passes: int = 10_000) -> Projected:
    """Return the table of probabilities with the given marginals that is nearest in Euclidean distance.

    Parameters
    ----------
    table : array_like, shape (k_1, ..., k_d)
        Raw estimates.
    marginals : sequence of d arrays (k_j,)
        The wanted sums over all other axes: at least 0, each with sum 1. Their product always is such a table.
    tolerance : float
        It stops when no marginal is further than this from its target.
    max_passes : int
        Most passes over the axes.

    Returns
    -------
    Projected
        With ``converged=False`` if `max_passes` did not suffice; the last axis is matched even then if no target is 0.

    Notes
    -----
    The nearest table is max(table + a_1 + ... + a_d, 0) with one number in a_j for each value of axis j, by the
    conditions of Karush, Kuhn and Tucker. One axis after the other is matched, as in raking, but by adding: each step
    maximizes the concave dual over one a_j, so the passes converge. Where a target is 0 the cells are 0, and not what
    the last pass leaves: Cramer's V would take two such values for alike.
    """
    table = check_numbers(table)
    if len(marginals) != table.ndim:
        raise ValueError(f"marginals must be one for each of {table.ndim} axes; got {len(marginals)}")
    targets = [check_marginal(marginal, j, table.shape[j]) for j, marginal in enumerate(marginals)]
    check_positive(tolerance=tolerance, max_passes=max_passes)
    held = reduce(np.multiply.outer, [target > 0 for target in targets])
    shifts = [np.zeros(size) for size in table.shape]
    done, gap = 0, math.inf
    while gap > tolerance and done < max_passes:
        done += 1
        for axis, target in enumerate(targets):
            moved = table + sum(_along(s, j, table.ndim) for j, s in enumerate(shifts) if j != axis)
            shifts[axis] = _levels(np.moveaxis(moved, axis, 0).reshape(len(target), -1), target)
        nearest = held * np.maximum(table + sum(_along(s, j, table.ndim) for j, s in enumerate(shifts)), 0)
        gap = max(np.abs(_marginal(nearest, j) - target).max() for j, target in enumerate(targets))
    return Projected(table=nearest, converged=bool(gap <= tolerance), passes=done, gap=float(gap))


def _interaction(table):
    """Return a two-way table less its row and column effects and mean: what the marginals do not say."""
    table = check_numbers(table, axes=2)
    return table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()


def shrink_dependence(table, noise: float) -> ShrunkTable:
    """Return a raw pair table whose dependence is multiplied by a factor that the data choose (Stein's rule).

    Parameters
    ----------
    table : array_like, shape (k_1, k_2)
        Raw estimates that sum to 1. Its marginals are kept.
    noise : float
        Variance of the table's interaction, summed over all cells (`covariance.interaction_noise`).

    Returns
    -------
    ShrunkTable
        The product of the marginals plus factor times the rest; `risk` estimates the expected squared error of the
        interaction.

    Notes
    -----
    With p = (k_1 - 1) (k_2 - 1) directions and a rest of squared length S in the interaction, the factor is
    max(0, 1 - a / S) with a = noise min(1, 2 (p - 2) / p), for which the error never exceeds the raw one (James and
    Stein, 1961); for p of at most 2 it is 1. Noise is taken as normal, alike in all directions, and much larger than
    that of the product of the marginals.
    """
    table = check_numbers(table, axes=2)
    if isinstance(noise, bool) or not isinstance(noise, numbers.Real) or not 0 <= noise < math.inf:
        raise ValueError(f"noise must be a finite number of at least 0; got {noise!r}")
    total = table.sum()
    if abs(total - 1) > 1e-6 * np.abs(table).sum():  # noise may be large, and its sum rounded
        raise ValueError(f"table must be shares, which sum to 1; got sum {total}")
    independent = np.outer(table.sum(axis=1), table.sum(axis=0))
    rest = _interaction(table) - _interaction(independent)
    directions = (len(table) - 1) * (table.shape[1] - 1)
    a = noise * max(0, min(1, 2 - 4 / directions))
    square = float((rest**2).sum())
    factor = max(0.0, 1 - a / square) if square > 0 else 0.0
    slack = a * (a - 2 * noise * (1 - 2 / directions)) / square if a and square > 0 else 0.0
    risk = noise + slack if square > a or not a else square - noise
    return ShrunkTable(table=independent + factor * rest, factor=factor, risk=float(risk))


def _along(vector, axis, axes):
    return vector.reshape([-1 if j == axis else 1 for j in range(axes)])


def _marginal(table, axis):
    return table.sum(axis=tuple(j for j in range(table.ndim) if j != axis))


def _levels(rows, targets):
    """Return for each row the number that makes the positive part of row plus number sum to its target."""
    descending = -np.sort(-rows, axis=1)
    levels = (targets[:, None] - np.cumsum(descending, axis=1)) / np.arange(1, rows.shape[1] + 1)
    support = np.maximum((descending + levels > 0).sum(axis=1), 1)
    found = levels[np.arange(len(rows)), support - 1]
    return np.where(targets > 0, found, -descending[:, 0])

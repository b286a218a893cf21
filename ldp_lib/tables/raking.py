"""Raking: reweight records until their marginals are as wanted (iterative proportional fitting)."""

import math
import numbers

import numpy as np

from ldp_lib._inputs import check_records, unmasked
from ldp_lib.tables._checks import check_marginal
from ldp_lib.tables._results import Raked


def rake(records, marginals, *, weights=None, tolerance: float = 1e-9, max_passes: int = 1000) -> Raked:
    """Reweight records until each column's distribution is as given, as far as that is possible.

    Parameters
    ----------
    records : array_like of int, shape (n, d)
        Randomized records. A column may be a cluster of attributes, coded as one number.
    marginals : sequence of d arrays
        The wanted distribution of each column, in the order of its values, also of a pandas Series: not negative,
        summing to 1. Repair raw estimates first, with `postprocess.project_simplex` or `postprocess.clip_normalize`.
    weights : array_like, shape (n,), optional
        Starting weights, such as counts of distinct records; equal if not given.
    tolerance : float
        A pass that changes every positive weight by a factor within `tolerance` of 1, at each column, is the last.
    max_passes : int
        Most passes over the columns.

    Returns
    -------
    Raked
        With ``converged=False`` if a wanted value has no record or only records of weight 0, if it is proved that no
        reweighting of these records has these marginals, or if `max_passes` did not suffice. Nothing is ever divided
        by 0.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong shape or is out of range.

    Notes
    -----
    Deming and Stephan (1940); Domingo-Ferrer and Soria-Comas (2022), Algorithm 2. Chapter `audit_multidim`.

    The proof is a certificate of Farkas: if weights T have the marginals m_j, then for any numbers g_j(v) the sum of
    all m_j(v) g_j(v) is the average under T of the sum over j of g_j at the record's values, hence at most that sum's
    largest value. The logarithms of one pass's factors violate this, sooner or later, where no T exists.
    """
    marginals = [check_marginal(marginal, j) for j, marginal in enumerate(marginals)]
    records = check_records(records, tuple(map(len, marginals)), "records")
    if not (isinstance(tolerance, numbers.Real) and 0 < tolerance < 1):
        raise ValueError(f"tolerance must be a number above 0 and below 1; got {tolerance!r}")
    if isinstance(max_passes, bool) or not (isinstance(max_passes, numbers.Integral) and max_passes >= 1):
        raise ValueError(f"max_passes must be an integer of at least 1; got {max_passes!r}")
    w = np.ones(len(records)) if weights is None else np.array(unmasked(weights, "weights"), float)
    if w.shape != (len(records),) or not np.isfinite(w).all() or w.min() < 0 or not w.any():
        raise ValueError(f"weights must be {len(records)} finite numbers of at least 0, not all 0; got {weights!r}")
    held = w > 0
    w = np.ldexp(w, 900 - np.frexp(w.max())[1])  # so that the smallest floats keep their digits
    total = w.sum()
    columns = [np.ascontiguousarray(column).astype(np.intp) for column in records.T]

    def found(w, message, converged=False):
        gaps = [np.bincount(c, weights=w, minlength=m.size) - m for c, m in zip(columns, marginals, strict=True)]
        gap = float(max(np.abs(gap).max() for gap in gaps))
        return Raked(weights=w, converged=converged, passes=done, gap=gap, message=message)

    for done in range(1, max_passes + 1):
        factors = []
        for j, (column, target) in enumerate(zip(columns, marginals, strict=True)):
            share = np.bincount(column, weights=w, minlength=target.size)
            lost = np.flatnonzero((share == 0) & (target > 0))
            if lost.size:
                why = f"no weight on value {lost[0]} of column {j}, whose marginal is {target[lost[0]]:.3g}"
                possible = held & np.all([m[c] > 0 for c, m in zip(columns, marginals, strict=True)], axis=0)
                kind = "not converged: too small for a float," if possible[column == lost[0]].any() else "infeasible:"
                return found(w / total, f"{kind} {why}")
            own = w / np.where(share > 0, share, 1)[column]  # at most 1: no overflow
            w = target[column] * own
            with np.errstate(over="ignore"):  # then infinite, and not the last
                factors.append(np.divide(target, share / total, out=np.ones_like(target), where=share / total > 0))
            total = 1.0
        largest = max(np.abs(factor - 1).max() for factor in factors)
        if largest <= tolerance:
            return found(w, "converged", converged=True)
        if (done & (done - 1) == 0 or done % 64 == 0) and _impossible(factors, columns, marginals, held):
            return found(w, "infeasible: no reweighting of these records has these marginals")
    why = f"not converged in {max_passes} passes: the last changed a weight by a factor {largest:.3g} away from 1"
    return found(w, why)


def _impossible(factors, columns, marginals, held):
    """Return whether the logarithms of the factors prove that no weights on the held records have the marginals."""
    average, most, size = 0.0, np.zeros(np.count_nonzero(held)), 0.0
    for factor, column, target in zip(factors, columns, marginals, strict=True):
        wanted = target > 0
        if not np.isfinite(factor).all():
            return False
        log = np.log(factor, out=np.full(factor.size, -math.inf), where=wanted)
        average += math.fsum(target[wanted] * log[wanted])
        most += log[column[held]]
        size += np.abs(log[wanted]).max()
    return average > most.max() + 1e-12 * (1 + size)  # rounding is a thousandth of that

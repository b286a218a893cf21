"""Any linear target: frequencies, tables of pairs, or the cumulative shares of an ordered attribute."""

import math

import numpy as np

from ldp_lib._inputs import require, unmasked


def linear_error(target, epsilon):
    """Return a bound of the total variance of unbiased estimates of linear targets, for one user drawn uniformly.

    Parameters
    ----------
    target : array_like, shape (m, N)
        One row a target, one column a record: the targets are `target @ F`, F the users' distribution on N records.
        Numbers up to 1e100.
    epsilon : float
        Privacy budget of one user's whole report.

    Returns
    -------
    float
        The squared sum of the singular values of `target`, its rows' means subtracted, over N sinh(epsilon/2)^2. No
        protocol whose estimates are unbiased near the uniform distribution has less for users who are drawn from it,
        and randomize, independently; divide by their number.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong type or out of range.

    Notes
    -----
    Attained if a random set of a share 1 / (1 + exp(epsilon)) of the records, which holds each record equally often,
    has a covariance matrix proportional to the root of that of the targets' rows. Chapter `limit_bound`.
    """
    told = unmasked(target, "target")
    rows = np.asarray(told, None if told.dtype.kind in "cmMSU" else float)
    if rows.ndim != 2 or rows.size <= len(rows) or rows.dtype != float or not abs(rows).max() <= 1e100:
        raise ValueError(f"target must be finite numbers up to 1e100, in rows of at least two; got shape {rows.shape}")
    require(epsilon=epsilon)
    values = np.linalg.svd(rows - rows.mean(axis=1, keepdims=True), compute_uv=False)
    return float(values.sum() ** 2 / rows.shape[1] / math.sinh(epsilon / 2) ** 2)


def prefixes(k):
    """Return the targets "at most v" for v = 0, ..., k-2, shape (k-1, k): cumulative shares of one attribute."""
    require(k=k)
    return np.tri(k - 1, k, dtype=int)

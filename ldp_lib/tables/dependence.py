"""Cramer's V from a noisy table and its covariance, with an interval; the power of the test of independence.

`Survey.associations` has the test.
"""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2

from ldp_lib import _inputs
from ldp_lib.tables._checks import check_table, check_users
from ldp_lib.tables._independence import check_noisy, departure, membership
from ldp_lib.tables._results import CramersV, Measured
from ldp_lib.tables.covariance import table_covariance

RARE_VALUE = 4.0  # standard errors above 0 below which a share is too rare to divide by


def cramers_v(table, covariance) -> CramersV:
    """Measure Cramer's V of a raw or repaired table, with its noise taken off.

    Parameters
    ----------
    table : array_like, shape (k_1, k_2)
        Cells may be negative.
    covariance : array_like, shape (cells, cells)
        Of the raw table, such as `covariance.table_covariance` at the repaired one.

    Returns
    -------
    CramersV
        Its `warning` says if a value is too rare: estimated at less than four standard errors above 0. Then the value
        is NaN and the interval all of [0, 1].

    Notes
    -----
    Noise adds to a sum of squares: the bias is half the trace of second derivatives times covariance, and twice that
    trace of the square is added to the variance, which is all that is left where the attributes are independent.
    """
    table, covariance = check_noisy(table, covariance)
    most, warning = min(table.shape) - 1, _rare_marginal(table, covariance)
    if warning:
        return CramersV(square=Measured.unknown(warning))
    a, b = table.sum(axis=1), table.sum(axis=0)
    over = 1 / np.outer(a, b)
    square = table**2 * over
    rows, columns = membership(table.shape)
    slope = 2 * table * over - (square.sum(axis=1) / a)[:, None] - square.sum(axis=0) / b
    by_row, by_column = (2 * table * over / a[:, None]).ravel(), (2 * table * over / b).ravel()
    second = np.diag(2 * over.ravel())
    for member, by, total in (
        (rows, by_row, square.sum(axis=1) / a**2),
        (columns, by_column, square.sum(axis=0) / b**2),
    ):
        second -= by[:, None] * (member.T @ member) + (member.T @ member) * by
        second += 2 * (member.T * total) @ member
    cross = rows.T @ (square * over) @ columns
    second += cross + cross.T
    slope, curved = slope.ravel() / most, second @ covariance / most
    found = Measured(
        value=float((square.sum() - 1) / most),
        bias=float(np.trace(curved)) / 2,
        slope_variance=max(float(slope @ covariance @ slope), 0.0),
        curve_variance=float((curved * curved.T).sum()) / 2,
    )
    return CramersV(square=found)


def power(mechanism, table, *attributes, n, level=0.05) -> float:
    """Return the probability that `independence_test` rejects at this level, for n users drawn from `table`.

    Notes
    -----
    For many users and weak dependence: reports are taken to vary as under independence. Where dependence lies in rare
    cells, fewer reject: in the table ((0.9, 0.03), (0.03, 0.04)), reported by `RRJoint`, 74 % for 80 with 329 users at
    epsilon 3, and 63 % with 29 at epsilon 8.
    """
    _inputs.require_share("level", level)
    per_user, freedom = _noncentrality(mechanism, table, attributes)
    shift = check_users(n) * per_user
    return float(ncx2.sf(chi2.isf(level, freedom), freedom, shift)) if shift < 1e5 else 1.0


def users_to_see(mechanism, table, *attributes, chance=0.8, level=0.05) -> int:
    """Return how many users `independence_test` needs to reject independence in `table` with probability `chance`.

    As told by `power`: where few users suffice and dependence lies in rare cells, plan a fifth more, or twice as many.
    """
    _inputs.require_share("chance", chance)
    _inputs.require_share("level", level)
    if chance <= level:
        raise ValueError(f"chance must be above the level {level}; got {chance}")
    per_user, freedom = _noncentrality(mechanism, table, attributes)
    if not per_user > 1e-15:
        raise ValueError("table must hold some dependence; got the product of its marginals")
    limit = chi2.isf(level, freedom)
    high = 10.0
    while ncx2.sf(limit, freedom, high) < chance:
        high *= 2
    return math.ceil(brentq(lambda x: ncx2.sf(limit, freedom, x) - chance, 1e-9, high) / per_user)


def _noncentrality(mechanism, table, attributes):
    """Squared distance from independence for one user, in the metric of the test, and the degrees of freedom."""
    table = check_table(table, axes=2)
    a, b = table.sum(axis=1), table.sum(axis=0)
    if min(a.min(), b.min()) <= 0:
        raise ValueError(f"table must have positive marginals; got least {min(a.min(), b.min())}: leave values out")
    covariance = table_covariance(mechanism, np.outer(a, b), *attributes, n=1)
    apart, spread = departure(table - np.outer(a, b), covariance, a, b)
    return float(apart @ np.linalg.solve(spread, apart)), len(apart)


def _rare_marginal(table, covariance):
    """Say which value is estimated at less than RARE_VALUE standard errors above 0, or nothing."""
    for axis, member in enumerate(membership(table.shape)):
        share = table.sum(axis=1 - axis)
        error = np.sqrt(np.diag(member @ covariance @ member.T).clip(0))
        low = np.flatnonzero((share <= RARE_VALUE * error) | (share <= 0))
        if low.size:
            v = int(low[0])
            return f"value {v} of attribute {axis} is too rare: {share[v]:.2g}, standard error {error[v]:.2g}"
    return ""

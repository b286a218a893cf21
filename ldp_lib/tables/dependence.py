"""Measures of association from a noisy table and its covariance: value, interval, test of independence, power.

All take a table of two attributes and the covariance of its cells, as the module `covariance` gives them.
"""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtri
from scipy.stats import chi2, false_discovery_control, ncx2

from ldp_lib import inputs
from ldp_lib.tables._checks import check_table, check_users
from ldp_lib.tables._results import CramersV, Measured, Tested
from ldp_lib.tables.covariance import table_covariance

RARE_VALUE, RARE_CELL = 4.0, 3.0  # standard errors above 0 below which a share is too rare to divide by


def cramers_v(table, covariance):
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
    table, covariance = _check(table, covariance)
    most, warning = min(table.shape) - 1, _rare_marginal(table, covariance)
    if warning:
        return CramersV(square=Measured.unknown(1.0, warning))
    a, b = table.sum(axis=1), table.sum(axis=0)
    over = 1 / np.outer(a, b)
    square = table**2 * over
    rows, columns = _membership(table.shape)
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
    return CramersV(square=_measure((square.sum() - 1) / most, slope / most, second / most, covariance, largest=1.0))


def mutual_information(table, covariance):
    """Measure the mutual information in nats of a table without rare cells; arguments as in `cramers_v`.

    Returns
    -------
    Measured
        Its `warning` says if a cell is estimated at less than three standard errors above 0. Then the value is NaN and
        the interval all that is possible, from 0 to log min k.
    """
    table, covariance = _check(table, covariance)
    largest, warning = math.log(min(table.shape)), _rare_cell(table, covariance)
    if warning:
        return Measured.unknown(largest, warning)
    a, b = table.sum(axis=1), table.sum(axis=0)
    slope = np.log(table / np.outer(a, b))  # less 1, which does not count: changes sum to 0
    rows, columns = _membership(table.shape)
    second = np.diag(1 / table.ravel()) - (rows.T / a) @ rows - (columns.T / b) @ columns
    return _measure((table * slope).sum(), slope, second, covariance, largest=largest)


def log_odds_ratio(table, covariance):
    """Measure the log odds ratio of a two by two table; arguments and warning as in `mutual_information`."""
    table, covariance = _check(table, covariance)
    if table.shape != (2, 2):
        raise ValueError(f"table must be two by two; got shape {table.shape}")
    if warning := _rare_cell(table, covariance):
        return Measured.unknown(None, warning)
    sign = np.array([[1, -1], [-1, 1]])
    second = np.diag((-sign / table**2).ravel())
    return _measure((sign * np.log(table)).sum(), sign / table, second, covariance, largest=None)


def bootstrap_interval(value, draws, confidence=0.95):
    """Return the ends of an interval from simulated values of a measure: as many standard deviations as normal ones.

    Parameters
    ----------
    value : float
        The measure at the estimated table.
    draws : array_like, shape (runs,)
        The measure at estimates simulated from that table, such as those of `covariance.simulated_tables`.

    Notes
    -----
    Only the spread of the draws is used. Where the estimate lies at the boundary, as after maximum likelihood with
    cells of 0, the draws' bias is not the estimate's: cells of 0 stay 0 in every draw, and others move towards the
    boundary once more. Intervals from the draws' quantiles take that bias for known. A measure that cannot be below 0
    may be covered less, Cramer's V of a most likely table .90 where .95 is meant: use `cramers_v`. Page `coverage`.
    """
    inputs.require_share("confidence", confidence)
    draws = np.asarray(draws, dtype=float)
    if draws.ndim != 1 or draws.size < 2 or not np.isfinite(draws).all() or not np.isfinite(value):
        raise ValueError(f"draws must be at least 2 finite numbers, and value finite; got {draws!r} and {value!r}")
    half = ndtri((1 + confidence) / 2) * draws.std(ddof=1)
    return float(value - half), float(value + half)


def independence_test(table, covariance):
    """Test whether two attributes are independent, from the raw table.

    Parameters
    ----------
    table : array_like, shape (k_1, k_2)
        Raw unbiased estimates.
    covariance : array_like, shape (cells, cells)
        Of the raw table where the attributes are independent: `covariance.table_covariance` at the product of the
        repaired marginals.

    Notes
    -----
    The table less the product of its marginals, in the metric of its own covariance (Wald, 1943); for many users its
    law under independence is chi-squared. Gaboardi and Rogers (2018) have it for several mechanisms of one report.
    """
    table, covariance = _check(table, covariance)
    a, b = table.sum(axis=1), table.sum(axis=0)
    apart, spread = _departure(table - np.outer(a, b), covariance, a, b)
    statistic = float(apart @ np.linalg.solve(spread, apart))
    return Tested(statistic=statistic, freedom=len(apart), p_value=float(chi2.sf(statistic, len(apart))))


def power(mechanism, table, *attributes, n, level=0.05):
    """Return the probability that `independence_test` rejects at this level, for n users drawn from `table`."""
    inputs.require_share("level", level)
    per_user, freedom = _noncentrality(mechanism, table, attributes)
    shift = check_users(n) * per_user
    return float(ncx2.sf(chi2.isf(level, freedom), freedom, shift)) if shift < 1e5 else 1.0


def users_to_see(mechanism, table, *attributes, chance=0.8, level=0.05):
    """Return how many users `independence_test` needs to reject independence in `table` with probability `chance`."""
    inputs.require_share("chance", chance)
    inputs.require_share("level", level)
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


def adjusted_p_values(p_values, method="holm"):
    """Return p-values adjusted for their number: reject those of at most the level.

    Parameters
    ----------
    p_values : dict or array_like
        Such as those of `independence_test` for each pair of attributes.
    method : {"holm", "benjamini-hochberg"}
        Holm (1979) bounds the probability of any false rejection, whatever the dependence of the tests. Benjamini and
        Hochberg (1995) bound the expected share of false ones among the rejections, for exploration, if the tests are
        independent or positively dependent.

    Returns
    -------
    dict or array, as `p_values`
    """
    if isinstance(p_values, dict):
        return dict(zip(p_values, adjusted_p_values(list(p_values.values()), method).tolist(), strict=True))
    p = np.asarray(p_values, dtype=float)
    if p.ndim != 1 or not p.size or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p_values must be at least one number from 0 to 1; got {p_values!r}")
    if method == "benjamini-hochberg":
        return false_discovery_control(p)
    if method != "holm":
        raise ValueError(f"method must be 'holm' or 'benjamini-hochberg'; got {method!r}")
    order, adjusted = np.argsort(p, kind="stable"), np.empty(p.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1)
    return adjusted


def _noncentrality(mechanism, table, attributes):
    """Squared distance from independence for one user, in the metric of the test, and the degrees of freedom."""
    table = check_table(table, axes=2)
    a, b = table.sum(axis=1), table.sum(axis=0)
    if min(a.min(), b.min()) <= 0:
        raise ValueError(f"table must have positive marginals; got least {min(a.min(), b.min())}: leave values out")
    covariance = table_covariance(mechanism, np.outer(a, b), *attributes, n=1)
    apart, spread = _departure(table - np.outer(a, b), covariance, a, b)
    return float(apart @ np.linalg.solve(spread, apart)), len(apart)


def _departure(apart, covariance, a, b):
    """The departure from independence without its last row and column, which are told by the others; its covariance."""
    rows, columns = _membership(apart.shape)
    change = (
        np.eye(apart.size) - np.kron(np.eye(len(a)), b[:, None]) @ rows - np.kron(a[:, None], np.eye(len(b))) @ columns
    )
    kept = np.arange(apart.size).reshape(apart.shape)[:-1, :-1].ravel()
    return apart.ravel()[kept], (change @ covariance @ change.T)[np.ix_(kept, kept)]


def _measure(value, slope, second, covariance, *, largest):
    slope, curved = slope.ravel(), second @ covariance
    return Measured(
        value=float(value),
        bias=float(np.trace(curved)) / 2,
        slope_variance=max(float(slope @ covariance @ slope), 0.0),
        curve_variance=float((curved * curved.T).sum()) / 2,
        largest=largest,
    )


def _rare_marginal(table, covariance):
    """Say which value is estimated at less than RARE_VALUE standard errors above 0, or nothing."""
    for axis, member in enumerate(_membership(table.shape)):
        share, error = table.sum(axis=1 - axis), np.sqrt(np.diag(member @ covariance @ member.T).clip(0))
        low = np.flatnonzero((share <= RARE_VALUE * error) | (share <= 0))
        if low.size:
            v = int(low[0])
            return f"value {v} of attribute {axis} is too rare: {share[v]:.2g}, standard error {error[v]:.2g}"
    return ""


def _rare_cell(table, covariance):
    """Say which cell is estimated at less than RARE_CELL standard errors above 0, or nothing."""
    error = np.sqrt(np.diag(covariance).clip(0)).reshape(table.shape)
    low = np.argwhere((table <= RARE_CELL * error) | (table <= 0))
    if not low.size:
        return ""
    cell = tuple(map(int, low[0]))
    return f"cell {cell} is too rare: {table[cell]:.2g}, standard error {error[cell]:.2g}"


def _membership(shape):
    """Which cells are in each row, shape (k_1, cells), and in each column, shape (k_2, cells)."""
    rows, columns = np.indices(shape).reshape(2, -1)
    return (np.arange(shape[0])[:, None] == rows).astype(float), (np.arange(shape[1])[:, None] == columns).astype(float)


def _check(table, covariance):
    table, covariance = np.asarray(table, float), np.asarray(covariance, float)
    if table.ndim != 2 or min(table.shape) < 2 or not np.isfinite(table).all():
        raise ValueError(f"table must be finite, with two axes of at least 2 values; got shape {table.shape}")
    if covariance.shape != (table.size, table.size) or not np.isfinite(covariance).all():
        raise ValueError(f"covariance must be finite, of shape {(table.size,) * 2}; got {covariance.shape}")
    return table, covariance

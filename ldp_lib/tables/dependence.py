"""How two attributes hang together, from a noisy table and its covariance: value, bias, interval, test, users needed.

All take a table of two attributes and the covariance of its cells, as `uncertainty` gives them for any mechanism.
"""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.stats import chi2, ncx2, norm

from ldp_lib import inputs
from ldp_lib.tables._checks import check_table, check_users
from ldp_lib.tables.covariance import table_covariance


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A measure of dependence: its value at the table, and by the delta method its bias and its standard error."""

    value: float
    bias: float
    standard_error: float

    @property
    def corrected(self):
        """The value less its bias."""
        return self.value - self.bias

    def interval(self, confidence=0.95):
        """Return the ends of the interval around the corrected value."""
        inputs.require_share("confidence", confidence)
        half = norm.ppf((1 + confidence) / 2) * self.standard_error
        return float(self.corrected - half), float(self.corrected + half)


def phi_squared(table, covariance):
    """Measure chi-squared over n; negative cells will do, as long as both marginals are positive.

    Notes
    -----
    Noise adds to a sum of squares: the bias is half the trace of second derivatives times covariance, and twice that
    trace of the square is added to the variance, which is all that is left where the attributes are independent.
    """
    table, covariance = _check(table, covariance)
    a, b = table.sum(axis=1), table.sum(axis=0)
    if min(a.min(), b.min()) <= 0:
        raise ValueError(f"table must have positive marginals; got least {min(a.min(), b.min())}: repair it first")
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
    return _measure(float(square.sum() - 1), slope, second + cross + cross.T, covariance)


def cramers_v(table, covariance):
    """Return Cramer's V with its noise taken off, at least 0, and the measured square that intervals come from.

    Returns
    -------
    value : float
    square : Measured
        V^2: `cramers_interval` takes the roots of its interval's ends.
    """
    found, most = phi_squared(table, covariance), min(np.shape(table)) - 1
    square = Measured(value=found.value / most, bias=found.bias / most, standard_error=found.standard_error / most)
    return math.sqrt(max(square.corrected, 0)), square


def cramers_interval(square, confidence=0.95):
    """Return the ends of the interval for Cramer's V from its measured square, within 0 and 1."""
    low, high = square.interval(confidence)
    return math.sqrt(min(max(low, 0), 1)), math.sqrt(min(max(high, 0), 1))


def mutual_information(table, covariance):
    """Measure the mutual information in nats of a table without zeros, such as the most likely one."""
    table, covariance = _check(table, covariance)
    if table.min() <= 0:
        raise ValueError(f"table must be positive for a logarithm; got least {table.min()}: repair it first")
    a, b = table.sum(axis=1), table.sum(axis=0)
    slope = np.log(table / np.outer(a, b))  # less 1, which does not count: changes sum to 0
    rows, columns = _membership(table.shape)
    second = np.diag(1 / table.ravel()) - (rows.T / a) @ rows - (columns.T / b) @ columns
    return _measure(float((table * slope).sum()), slope, second, covariance)


def log_odds_ratio(table, covariance):
    """Measure the logarithm of the odds ratio of a positive two by two table."""
    table, covariance = _check(table, covariance)
    if table.shape != (2, 2) or table.min() <= 0:
        raise ValueError(f"table must be positive, two by two; got shape {table.shape}, least {table.min()}")
    sign = np.array([[1, -1], [-1, 1]])
    return _measure(float((sign * np.log(table)).sum()), sign / table, np.diag((-sign / table**2).ravel()), covariance)


def bootstrap_interval(value, truth, draws, confidence=0.95):
    """Return the ends of an interval from simulated values of a measure, whose true value there is known.

    Parameters
    ----------
    value : float
        The measure at the estimated table.
    truth : float
        The measure at the table from which `draws` were simulated.
    draws : array, shape (runs,)
        The measure at the simulated estimates, such as those of `uncertainty.simulated_tables`.
    """
    inputs.require_share("confidence", confidence)
    low, high = np.quantile(np.asarray(draws) - truth, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(value - high), float(value - low)


@dataclass(frozen=True, kw_only=True)
class Tested:
    """A test of independence: chi-squared corrected for the mechanism, its degrees of freedom, and the p-value."""

    statistic: float
    freedom: int
    p_value: float


def independence_test(table, covariance):
    """Test whether two attributes are independent, from the raw table.

    Parameters
    ----------
    table : array_like, shape (k_1, k_2)
        Raw unbiased estimates.
    covariance : array_like, shape (cells, cells)
        Of the raw table where the attributes are independent: `uncertainty.table_covariance` at the product of the
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
    """Return the chance that `independence_test` at this level sees the dependence of n users drawn from `table`."""
    inputs.require_share("level", level)
    per_user, freedom = _noncentrality(mechanism, table, attributes)
    return float(ncx2.sf(chi2.isf(level, freedom), freedom, check_users(n) * per_user))


def users_to_see(mechanism, table, *attributes, chance=0.8, level=0.05):
    """Return how many users `independence_test` needs to see the dependence in `table` with the given chance."""
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


def _noncentrality(mechanism, table, attributes):
    """Squared distance from independence for one user, in the metric of the test, and the degrees of freedom."""
    table = check_table(table, axes=2)
    a, b = table.sum(axis=1), table.sum(axis=0)
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


def _measure(value, slope, second, covariance):
    slope, curved = slope.ravel(), second @ covariance
    variance = slope @ covariance @ slope + (curved * curved.T).sum() / 2
    return Measured(value=value, bias=float(np.trace(curved)) / 2, standard_error=math.sqrt(max(variance, 0)))


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

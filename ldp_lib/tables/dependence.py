"""Cramer's V from a noisy table and its covariance, with an interval; the power of the test of independence.

`Survey.associations` has the test.
"""

import bisect
import math

import numpy as np
from scipy.stats import chi2, ncx2

from ldp_lib import _inputs
from ldp_lib.tables._checks import check_table, check_users
from ldp_lib.tables._independence import check_noisy, departure, membership
from ldp_lib.tables._results import CramersV, Measured
from ldp_lib.tables.covariance import table_covariance

RARE_VALUE = 4.0  # standard errors above 0 below which a share is too rare to divide by


def cramers_v(table, covariance) -> CramersV:
    """Measure Cramer's V of a raw table, with its noise taken off.

    Parameters
    ----------
    table : array_like, shape (k_1, k_2)
        In shares; cells may be negative. Not a repaired one, some of whose noise is off already: of two attributes with
        10 values, 6,000 users at epsilon 2.5, intervals then held in 15 of 100 surveys.
    covariance : array_like, shape (cells, cells)
        Of the raw table, such as `covariance.table_covariance` at the repaired one. Of a table in percent it is 10,000
        times as large.

    Returns
    -------
    CramersV
        Its `warning` says if a value is too rare: estimated at less than four standard errors above 0. Then the value
        is NaN and the interval all of [0, 1]. Where two values truly have four, an interval that comes held in as few
        as 82 of 100 surveys, from six on in 92.

    Notes
    -----
    Noise adds to a sum of squares: the bias is half the trace of second derivatives times covariance, and half the
    trace of its square is added to the variance, which is all that is left where the attributes are independent.
    """
    table, covariance = check_noisy(table, covariance)
    most = min(table.shape) - 1
    warning = _rare_marginal(table, covariance)
    if warning:
        return CramersV(square=Measured(warning=warning))
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
    For many users the statistic is nearly a multiple of a noncentral chi-squared variable: its metric is that of
    reports under independence, its noise that of reports from `table`. Of 60 random tables at epsilon 1 to 8, the 49
    of which five people or more held each value were rejected in 500 surveys within 4 of 100 as often as told, but
    one, 7 fewer; with fewer holders it is up to 22 fewer. So it is with strong dependence of several values: where
    Cramer's V is 0.9 and 80 of 100 are told, as few as 54 reject (`RRJoint` at epsilon 0.5, two attributes with 12
    values), of three values 70 to 74.
    """
    return _power(mechanism, table, attributes, level)[0](check_users(n))


def users_to_see(mechanism, table, *attributes, chance=0.8, level=0.05) -> int:
    """Return how many users `independence_test` needs to reject independence in `table` with probability `chance`.

    `table` is the dependence that matters. An estimated one, repaired, shows noise as dependence, and tells too few:
    for a V of 0.1, after 3,000 users at epsilon 1, 6,800 in place of 50,000 (two attributes with 4 values).

    As told by `power`, and so many that five are expected to hold each value, because with fewer it tells too much.
    For strong dependence of three to five values each give a `chance` of 0.9 where 0.8 is wanted, of more 0.95.
    """
    _inputs.require_share("chance", chance)
    told, least = _power(mechanism, table, attributes, level)
    if chance <= level:
        raise ValueError(f"chance must be above the level {level}; got {chance}")
    numbers = range(math.ceil(5 / least), 2**60)
    if told(numbers[-1]) < chance:
        raise ValueError(
            "table must hold some dependence that 2**60 users show; got the product of its marginals, or nearly"
        )
    return numbers[bisect.bisect_left(numbers, chance, key=told)]


def _power(mechanism, table, attributes, level):
    """Return the probability of a rejection, as a function of the number of users, and the least marginal."""
    _inputs.require_share("level", level)
    table = check_table(table, axes=2)
    a, b = table.sum(axis=1), table.sum(axis=0)
    least = min(*a, *b)
    if least <= 1e-15:
        raise ValueError(f"table must have positive marginals; got least {least}: leave values out")
    covariances = (table_covariance(mechanism, one, *attributes, n=1) for one in (np.outer(a, b), table))
    (apart, null), (_, noise) = (departure(table, one) for one in covariances)
    noise += 1e-9 * null  # never none at all, which has no distribution
    pull = np.linalg.solve(null, apart)
    freedom = np.trace(np.linalg.solve(null, noise))
    far = pull @ apart
    scale = pull @ noise @ pull / far if far else 1.0
    limit = chi2.isf(level, len(apart))
    return lambda n: float(ncx2.sf(limit / scale, freedom / scale, min(n * far, 1e6) / scale)), least


def _rare_marginal(table, covariance):
    """Say which value is estimated at less than RARE_VALUE standard errors above 0, or nothing."""
    for axis, member in enumerate(membership(table.shape)):
        share = table.sum(axis=1 - axis)
        error = np.sqrt(np.diag(member @ covariance @ member.T).clip(0))
        low = np.flatnonzero(share <= RARE_VALUE * error)
        if low.size:
            v = int(low[0])
            return f"value {v} of attribute {axis} is too rare: {share[v]:.2g}, standard error {error[v]:.2g}"
    return ""

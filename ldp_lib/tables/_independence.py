"""The test of independence from a noisy table and its covariance, and p-values of many tests: `Survey.associations`."""

import numpy as np
from scipy.stats import chi2, false_discovery_control

from ldp_lib.postprocess import project_simplex
from ldp_lib.tables._results import Tested
from ldp_lib.tables.covariance import table_covariance


def independence_test(table, covariance) -> Tested:
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
    apart, spread = departure(*check_noisy(table, covariance))
    statistic = float(apart @ np.linalg.pinv(spread, hermitian=True) @ apart)
    return Tested(statistic=statistic, freedom=len(apart), p_value=float(chi2.sf(statistic, len(apart))))


def p_value(mechanism, raw, attributes, n):
    """Return the p-value of independence of two attributes, from their raw table of n reports."""
    apart = np.outer(*(project_simplex(raw.sum(axis=axis)) for axis in (1, 0)))
    return independence_test(raw, table_covariance(mechanism, apart, *attributes, n=n)).p_value


def adjusted_p_values(p_values, method="holm"):
    """Return p-values adjusted for their number: reject those of at most the level.

    Parameters
    ----------
    p_values : array_like
        Such as those of `independence_test` for each pair of attributes.
    method : {"holm", "benjamini-hochberg"}
        Holm (1979) bounds the probability of any false rejection, whatever the dependence of the tests. Benjamini and
        Hochberg (1995) bound the expected share of false ones among the rejections, for exploration, if the tests are
        independent or positively dependent.
    """
    p = np.asarray(p_values, float)
    if p.ndim != 1 or not p.size or not ((p >= 0) & (p <= 1)).all():
        raise ValueError(f"p_values must be at least one number from 0 to 1, as of two attributes; got {p_values!r}")
    if method == "benjamini-hochberg":
        return false_discovery_control(p)
    if method != "holm":
        raise ValueError(f"method must be 'holm' or 'benjamini-hochberg'; got {method!r}")
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(p.size)
    adjusted[order] = np.minimum(np.maximum.accumulate(p[order] * np.arange(p.size, 0, -1)), 1)
    return adjusted


def departure(table, covariance):
    """The departure from independence without its last row and column, which are told by the others; its covariance."""
    a, b = table.sum(axis=1), table.sum(axis=0)
    rows, columns = membership(table.shape)
    by_row = np.kron(np.eye(len(a)), b[:, None]) @ rows
    by_column = np.kron(a[:, None], np.eye(len(b))) @ columns
    change = np.eye(table.size) - by_row - by_column
    kept = np.arange(table.size).reshape(table.shape)[:-1, :-1].ravel()
    return (table - np.outer(a, b)).ravel()[kept], (change @ covariance @ change.T)[np.ix_(kept, kept)]


def membership(shape):
    """Which cells are in each row, shape (k_1, cells), and in each column, shape (k_2, cells)."""
    cells = np.indices(shape).reshape(2, -1)
    return tuple((np.arange(size)[:, None] == cell).astype(float) for size, cell in zip(shape, cells, strict=True))


def check_noisy(table, covariance):
    table, covariance = np.asarray(table, float), np.asarray(covariance, float)
    if table.ndim != 2 or min(table.shape) < 2 or not np.isfinite(table).all():
        raise ValueError(f"table must be finite, with two axes of at least 2 values; got shape {table.shape}")
    if covariance.shape != (table.size, table.size) or not np.isfinite(covariance).all():
        raise ValueError(f"covariance must be finite, of shape {(table.size,) * 2}; got {covariance.shape}")
    return table, covariance

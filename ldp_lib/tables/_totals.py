"""Covariances of tables that were estimated, and total errors of the tables of two attributes."""

import itertools

import numpy as np

from ldp_lib.postprocess import project_simplex
from ldp_lib.sampled import AskSome, design
from ldp_lib.tables.covariance import table_covariance


def pairs_error(mechanism, n):
    """Return the total variance of all cells of the tables of two attributes, for n users spread evenly.

    The users' data are held fixed. The mechanism is one that `table_covariance` takes, whose traces these are; for
    `AskSome` in closed form.
    """
    if isinstance(mechanism, AskSome):
        # Where there is nearly none, rounding may leave less.
        return abs(asked_error(mechanism.k, mechanism.sizes_, mechanism.m_, mechanism.keep, mechanism.weights_)) / n
    total = 0.0
    for i, j in itertools.combinations(range(mechanism.d), 2):
        even = np.full((mechanism.k[i], mechanism.k[j]), 1 / (mechanism.k[i] * mechanism.k[j]))
        total += float(np.trace(table_covariance(mechanism, even, i, j, n=n, sampling=False)))
    return total


def asked_error(k, sizes, m, keep, weights):
    """Return the total variance of all tables of two attributes from `AskSome`, for one user, the data held fixed.

    An attribute's own error counts in each table that it is in, spread over the other's values; a pair's once. From
    both, which are for a user drawn uniformly, what drawing adds is taken off. Infinite if some pair is never asked.
    """
    inverse, given = 1 / np.array(k), (k, sizes, m, keep, np.asarray(weights))
    with np.errstate(divide="ignore"):
        alone, pairs = (design.attribute_errors(*given, together=together) for together in (1, 2))
    drawn = sum(1 - one * other for one, other in itertools.combinations(inverse, 2))
    return float(alone @ (inverse.sum() - inverse) + pairs.sum() - drawn)


def near_covariance(mechanism, table, attributes, n, sampling):
    """Return the covariance of a raw table's cells, from the nearest table of probabilities."""
    near = project_simplex(table.ravel()).reshape(table.shape)
    return table_covariance(mechanism, near, *attributes, n=n, sampling=sampling)

"""Covariances of tables that were estimated, and total errors of the tables of two attributes."""

import itertools

import numpy as np

from ldp_lib.postprocess import project_simplex
from ldp_lib.tables.covariance import table_covariance


def pairs_error(mechanism, n):
    """Return the total variance of all cells of the tables of two attributes, for n users spread evenly.

    The users' data are held fixed. The mechanism is one that `table_covariance` takes.
    """
    total = 0.0
    for (i, first), (j, second) in itertools.combinations(enumerate(mechanism.k), 2):
        even = np.full((first, second), 1 / (first * second))
        total += float(np.trace(table_covariance(mechanism, even, i, j, n=n, sampling=False)))
    return total


def near_covariance(mechanism, table, attributes, n, sampling):
    """Return the covariance of a raw table's cells, from the nearest table of probabilities."""
    near = project_simplex(table.ravel()).reshape(table.shape)
    return table_covariance(mechanism, near, *attributes, n=n, sampling=sampling)

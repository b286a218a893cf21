"""Clusters of dependent attributes: measures of dependence, the clustering, and a mechanism of clusters."""

import itertools
import math
import numbers
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_lib import _inputs
from ldp_lib.tables import _checks
from ldp_lib.tables._product_channel import ProductChannel


def pearson(table):
    """Return the absolute correlation of two ordinal attributes scored 0, 1, ..., from their joint table.

    Zero if an attribute does not vary. Domingo-Ferrer and Soria-Comas (2022), Eq. (8). Chapter `audit_multidim`.
    """
    table = _check_table(table)
    counts = [table.sum(axis=axis) for axis in (1, 0)]
    if any(np.count_nonzero(count) == 1 for count in counts):
        return 0.0
    a, b = (np.arange(count.size) - np.arange(count.size) @ count / table.sum() for count in counts)
    spread = float(a**2 @ counts[0]) * float(b**2 @ counts[1])
    return min(1.0, abs(float(a @ table @ b)) / math.sqrt(spread))  # rounding may exceed 1, no more


def cramers_v(table, *, squared=False):
    """Return Cramer's V of two attributes, in [0, 1], from their joint table of counts or shares.

    Squared it is chi-squared over n and over the smaller side less one; exact if the table holds Fractions. A value
    that nobody holds adds nothing to chi-squared, but counts as a category in the divisor. Domingo-Ferrer and
    Soria-Comas (2022), Eq. (9). Chapter `audit_multidim`.
    """
    table = _check_table(table)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    seen = expected > 0
    square = ((table - expected)[seen] ** 2 / expected[seen]).sum() / table.sum() / (min(table.shape) - 1)
    return square if squared else min(1.0, math.sqrt(float(square)))


def dependences(source, measure=cramers_v):
    """Return the symmetric (d, d) matrix of a measure over all pairs of attributes, with ones on the diagonal.

    Parameters
    ----------
    source : Population or dict
        A dict has a table for each pair (j, l), j < l. `Population.from_records(y, k=k)` of randomized records gives
        the attenuated dependences of Domingo-Ferrer and Soria-Comas (2022), Section 4.1.
    measure : function
        From a table to a number.
    """
    if not isinstance(source, dict):
        pairs = itertools.combinations(range(source.d), 2)
        source = {pair: source.select(*pair).histogram for pair in pairs}
    matrix = np.eye(1 + max((j for pair in source for j in pair), default=0))
    for (j, i), table in source.items():
        matrix[j, i] = matrix[i, j] = measure(table)
    return matrix


def cluster_attributes(dependence, k, *, max_cells, min_dependence):
    """Return clusters of attributes by greedy merging, strongest dependence first.

    Two clusters are as dependent as their most dependent pair of attributes. The strongest pair of clusters that fits
    into `max_cells` is merged, until none has at least `min_dependence`. Ties go to the clusters that hold the lowest
    attribute numbers. It ends after at most d - 1 merges.

    Parameters
    ----------
    dependence : array_like, shape (d, d)
        Symmetric, entries from 0 to 1; the diagonal is not read.
    k : sequence of d ints
        Domain sizes.
    max_cells : int
        Most cells of a merged cluster (the paper's T_v), at least the smallest domain size.
    min_dependence : float
        Least dependence at which clusters are merged (the paper's T_d), from 0 to 1.

    Returns
    -------
    tuple of tuples of int
        Sorted attribute numbers, clusters in the order of their first. An attribute above `max_cells` stays alone.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong shape, is out of range, or no attribute fits into `max_cells`.

    Notes
    -----
    Domingo-Ferrer and Soria-Comas (2022), Algorithm 1. Chapter `audit_multidim`. Dependences and `min_dependence` count
    to 12 decimals, so that rounding decides nothing: of pairs of clusters with the same dependence the first is merged.
    """
    k, dependence = _inputs.check_domain(k), np.asarray(dependence, float)
    if dependence.shape != (len(k), len(k)) or not np.array_equal(dependence, dependence.T, equal_nan=True):
        raise ValueError(f"dependence must be a symmetric {len(k)} by {len(k)} matrix; got shape {dependence.shape}")
    pairs = dependence[~np.eye(len(k), dtype=bool)]
    if not ((pairs >= 0) & (pairs <= 1)).all():
        raise ValueError(f"dependence must be from 0 to 1; got {pairs[~((pairs >= 0) & (pairs <= 1))][0]}")
    allowed = f"an integer of at least the smallest domain size, {min(k)}"
    _inputs.require_one("max_cells", max_cells, numbers.Integral, lambda v: v >= min(k), allowed)
    allowed = "a number from 0 to 1"
    _inputs.require_one("min_dependence", min_dependence, numbers.Real, lambda v: 0 <= v <= 1, allowed)
    clusters = [(j,) for j in range(len(k))]
    least = np.round(float(min_dependence), 12)
    while True:
        candidates = [
            (-dependence[np.ix_(a, b)].max().round(12), a, b)
            for a, b in itertools.combinations(clusters, 2)
            if math.prod(k[j] for j in a + b) <= max_cells
        ]
        if not candidates or -min(candidates)[0] < least:
            return tuple(clusters)
        _, a, b = min(candidates)
        clusters = sorted([c for c in clusters if c not in (a, b)] + [tuple(sorted(a + b))])


def _neighbours(k, max_cells=50):
    """Return clusters of consecutive attributes, each as large as `max_cells` cells allow: a choice without data."""
    clusters = []
    for j, size in enumerate(_inputs.check_domain(k)):
        if clusters and math.prod(k[i] for i in clusters[-1]) * size <= max_cells:
            clusters[-1].append(j)
        else:
            clusters.append([j])
    return tuple(map(tuple, clusters))


@dataclass(frozen=True, kw_only=True)
class RRClusters(ProductChannel):
    """Randomize each cluster through its symmetric channel, at the summed budgets of the cluster's attributes.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes.
    epsilon : float, optional
        Budget of one whole report. If not given, the sum of `epsilons`.
    clusters : sequence of sequences of int, optional
        A partition of the attributes, such as `cluster_attributes` gives. If not given,
        consecutive attributes, at most 50 cells a cluster, the least limit that the paper tries.
    epsilons : sequence of d floats, optional
        What each attribute would spend on its own; a cluster spends the sum of its attributes'. If not given, the
        split of `allocation.omrr`.

    Notes
    -----
    Domingo-Ferrer and Soria-Comas (2022), Section 6.3.2, with the sign put right. Chapter `audit_multidim`.
    """

    k: tuple
    epsilon: float | None = None
    clusters: tuple | None = None
    epsilons: tuple | None = None

    def __post_init__(self):
        _checks.settle(self)

    @cached_property
    def clusters_(self) -> tuple:
        """The clusters."""
        return _neighbours(self.k) if self.clusters is None else self.clusters

    @cached_property
    def epsilons_(self) -> tuple:
        """What each attribute would spend on its own."""
        return _checks.default_budgets(self.epsilon, self.k, "epsilons") if self.epsilons is None else self.epsilons

    @property
    def channels_(self) -> tuple:
        """What each cluster spends."""
        return tuple(math.fsum(self.epsilons_[j] for j in cluster) for cluster in self.clusters_)


def _check_table(table):
    """Return the table in floats, whose sums cannot overflow, or as it is if it holds objects such as Fractions."""
    table = _inputs.unmasked(table, "table")
    if table.ndim != 2 or min(table.shape) < 2:
        raise ValueError(f"table must have two axes of at least 2 values; got shape {table.shape}")
    if table.dtype.kind not in "iufO":
        raise TypeError(f"table must hold numbers; got type {table.dtype}")
    table = table if table.dtype.kind == "O" else table.astype(float)
    if table.dtype.kind == "f" and not np.isfinite(table).all():
        raise ValueError("table must be finite; got NaN or infinity")
    if table.min() < 0 or not table.sum() > 0:
        raise ValueError(f"table must have no negative entry and a positive sum; got least {table.min()}")
    return table

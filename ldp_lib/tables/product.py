"""Randomized response on several attributes: each on its own, all as one, or any clusters of them.

`RRIndependent` has one attribute a cluster, `RRJoint` one cluster with all attributes, `ProductRR` any clusters and
channels. `clusters.RRClusters` has symmetric channels on clusters of dependent attributes.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_lib import _inputs
from ldp_lib.tables import _checks
from ldp_lib.tables._product_channel import ProductChannel
from ldp_lib.tables._product_channel import keep_probability as keep_probability

MOST_RECORDS = 2**400  # of which one is reported truthfully with a probability that floats hold, at any budget


def squared_length(e, k):
    """Return the sum of squares of one row of `grr.inverse(e, k)`: ((e+k-2)^2 + k-1) / (e-1)^2, the same for each row.

    One report's estimate of the whole table has this squared length, whatever is reported. Derived in the chapter
    `audit_multidim`.
    """
    return ((e + k - 2) ** 2 + k - 1) / (e - 1) ** 2


def total_variance(lengths, n):
    """Return the exact sum of the variances of all cells of the estimated joint table, the users' data held fixed.

    Parameters
    ----------
    lengths : iterable of numbers or symbols
        `squared_length` of each cluster's symmetric channel.
    n : number or symbol
        Number of users.

    Returns
    -------
    number or symbol
        (product of the lengths - 1) / n. It does not depend on the data. Derived in the chapter `audit_multidim`.
    """
    return (math.prod(lengths) - 1) / n


def mixing_ratio(keep, k):
    """Return e = exp(epsilon) of the channel that keeps the truth with probability `keep`, else draws uniformly.

    It is 1 + keep k / (1 - keep). Derived in the chapter `audit_multidim`.
    """
    return 1 + keep * k / (1 - keep)


class _OwnChannels(ProductChannel):
    """What `ProductRR` and `RRIndependent`, which sets no clusters, share."""

    clusters: tuple | None = None
    channels: tuple | None

    def __post_init__(self):
        _checks.settle(self)

    @property
    def clusters_(self) -> tuple:
        """The clusters: if none are given, one for each attribute."""
        return tuple((j,) for j in range(self.d)) if self.clusters is None else self.clusters

    @cached_property
    def channels_(self) -> tuple:
        """For each cluster its matrix, or the budget of its symmetric channel."""
        if self.channels is not None:
            return self.channels
        own = _checks.default_budgets(self.epsilon, self.k, "channels")
        return tuple(math.fsum(own[j] for j in cluster) for cluster in self.clusters_)


@dataclass(frozen=True, kw_only=True)
class ProductRR(_OwnChannels):
    """Randomize each cluster of attributes through its own channel.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes.
    epsilon : float, optional
        Budget of one whole report. If not given, what the channels spend together.
    clusters : sequence of sequences of int, optional
        The attributes' numbers, each in exactly one cluster; if not given, every attribute is alone.
    channels : sequence, optional
        One a cluster: a budget above 0, which stands for the symmetric channel (generalized randomized response on the
        cluster's cells), or a nonsingular row-stochastic matrix over the cluster's cells in lexicographic order. If
        not given, a cluster spends what its attributes have in `allocation.omrr`, the split of `epsilon` that makes
        the total squared error of the marginals least if every attribute is alone.

    Raises
    ------
    TypeError, ValueError
        If the clusters do not partition the attributes, a channel is neither, neither `epsilon` nor `channels` is
        given, or the channels spend more than `epsilon`.

    Notes
    -----
    Domingo-Ferrer and Soria-Comas (2022), Protocols 1 and 2 and Section 4. Chapter `audit_multidim`.
    """

    k: tuple
    epsilon: float | None = None
    clusters: tuple | None = None
    channels: tuple | None = None


@dataclass(frozen=True, kw_only=True)
class RRIndependent(_OwnChannels):
    """Randomize each attribute on its own: `ProductRR` with a cluster for each attribute.

    Parameters
    ----------
    k, epsilon, channels
        As in `ProductRR`. The default is the split of `epsilon` of least total error of the marginals, as in `OMRR`.

    Notes
    -----
    Domingo-Ferrer and Soria-Comas (2022), Protocol 1. Chapter `audit_multidim`.
    """

    k: tuple
    epsilon: float | None = None
    channels: tuple | None = None


@dataclass(frozen=True, kw_only=True)
class RRJoint(ProductChannel):
    """Randomize the whole record at once: `ProductRR` with all attributes in one cluster.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes.
    epsilon : float, optional
        Budget of the report, which goes through the symmetric channel on all cells if there is no matrix.
    matrix : array_like, optional
        A nonsingular row-stochastic matrix over all cells, in lexicographic order.

    Notes
    -----
    Domingo-Ferrer and Soria-Comas (2022), Protocol 2. Chapter `audit_multidim`.
    """

    k: tuple
    epsilon: float | None = None
    matrix: tuple | None = None

    @classmethod
    def serves(cls, k) -> bool:
        """Return whether `k` is a tuple of domain sizes with so few records that the truth is ever reported."""
        return super().serves(k) and math.prod(k) < MOST_RECORDS

    def __post_init__(self):
        cells = math.prod(_inputs.check_attributes(self.k, least=1))
        if self.matrix is not None and np.ndim(self.matrix) == 0:
            raise TypeError(f"matrix must be a matrix over all {cells} cells; got {self.matrix!r}")
        (channel,) = _checks.settle(self)
        object.__setattr__(self, "matrix", None if self.matrix is None else channel)

    @property
    def clusters_(self) -> tuple:
        """One cluster with all attributes."""
        return (tuple(range(self.d)),)

    @property
    def channels_(self) -> tuple:
        """The matrix, or the budget of the symmetric channel."""
        return (self.epsilon if self.matrix is None else self.matrix,)

"""Randomized response on several attributes: each on its own, all as one, or any clusters of them.

`RRIndependent` has one attribute a cluster, `RRJoint` one cluster with all attributes, `ProductRR` any clusters and
channels. `clustering.RRClusters` has symmetric channels on clusters of dependent attributes.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from ldp_lib import channel, inputs
from ldp_lib.splitting import allocation
from ldp_lib.tables.clustered import Clustered, keep_probability


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


@dataclass(frozen=True, kw_only=True)
class ProductRR(Clustered):
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

    k: tuple[int, ...]
    epsilon: float | None = None
    clusters: tuple | None = None
    channels: tuple | None = None

    def __post_init__(self):
        k = inputs.check_attributes(self.k, least=1)
        clusters = tuple((j,) for j in range(len(k))) if self.clusters is None else check_clusters(self.clusters, k)
        channels = self.channels
        if channels is None:
            own = default_budgets(self.epsilon, k, "channels")
            channels = [math.fsum(own[j] for j in cluster) for cluster in clusters]
        settle(self, k=k, clusters=clusters, channels=channels)


@dataclass(frozen=True, kw_only=True)
class RRIndependent(Clustered):
    """Randomize each attribute on its own: `ProductRR` with a cluster for each attribute.

    Parameters
    ----------
    k, epsilon, channels
        As in `ProductRR`. The default is the split of `epsilon` of least total error of the marginals, as in `OMRR`.

    Notes
    -----
    Domingo-Ferrer and Soria-Comas (2022), Protocol 1. Chapter `audit_multidim`.
    """

    k: tuple[int, ...]
    epsilon: float | None = None
    channels: tuple | None = None

    def __post_init__(self):
        k = inputs.check_attributes(self.k, least=1)
        channels = default_budgets(self.epsilon, k, "channels") if self.channels is None else self.channels
        settle(self, k=k, channels=channels)

    @property
    def clusters(self) -> tuple:
        """One cluster for each attribute."""
        return tuple((j,) for j in range(len(self.k)))


@dataclass(frozen=True, kw_only=True)
class RRJoint(Clustered):
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

    k: tuple[int, ...]
    epsilon: float | None = None
    matrix: tuple | None = None

    def __post_init__(self):
        k = inputs.check_attributes(self.k, least=1)
        if self.matrix is None:
            inputs.require(epsilon=self.epsilon)
        elif np.ndim(self.matrix) == 0:
            raise TypeError(f"matrix must be a matrix over all {math.prod(k)} cells; got {self.matrix!r}")
        channels = check_channels([self.epsilon if self.matrix is None else self.matrix], [math.prod(k)])
        object.__setattr__(self, "k", k)
        object.__setattr__(self, "epsilon", check_spent(channels, self.epsilon))
        object.__setattr__(self, "matrix", None if self.matrix is None else channels[0])

    @property
    def clusters(self) -> tuple:
        """One cluster with all attributes."""
        return (tuple(range(len(self.k))),)

    @property
    def channels(self) -> tuple:
        """The matrix, or the budget of the symmetric channel."""
        return (self.epsilon if self.matrix is None else self.matrix,)


def settle(mechanism, *, k, channels, clusters=None):
    """Set a frozen mechanism's parameters, checked; the budget is what the channels spend if none was given."""
    cells = [math.prod(k[j] for j in cluster) for cluster in clusters or [(j,) for j in range(len(k))]]
    channels = check_channels(channels, cells)
    found = {"k": k, "channels": channels, "epsilon": check_spent(channels, mechanism.epsilon)}
    for name, value in (found | ({"clusters": clusters} if clusters else {})).items():
        object.__setattr__(mechanism, name, value)


def default_budgets(epsilon, k, other):
    """Return what each attribute spends by `allocation.omrr`; without `epsilon`, say that `other` is missing too."""
    if epsilon is None:
        raise TypeError(f"epsilon must be a number from 1e-9 to 700 if there are no {other}; got None")
    inputs.require(epsilon=epsilon)
    return tuple(allocation.omrr(k, float(epsilon)).tolist())


def check_clusters(clusters, k):
    """Return the clusters as tuples of ints after checking that they partition the attributes, or raise."""
    allowed = f"clusters must hold each of 0 to {len(k) - 1} exactly once"
    try:
        found = tuple(tuple(cluster) for cluster in clusters)
    except TypeError:
        raise TypeError(f"{allowed}, as a sequence of sequences of integers; got {clusters!r}") from None
    members = [j for cluster in found for j in cluster]
    if any(isinstance(j, (bool, np.bool_)) or not isinstance(j, Integral) for j in members):
        raise TypeError(f"{allowed}, as integers; got {clusters!r}")
    if sorted(members) != list(range(len(k))) or not all(found):
        raise ValueError(f"{allowed}; got {clusters!r}")
    return tuple(tuple(map(int, cluster)) for cluster in found)


def check_channels(channels, cells):
    """Return one entry a cluster, a budget or a nonsingular stochastic matrix as nested tuples, or raise."""
    if not isinstance(channels, Iterable) or isinstance(channels, str):
        raise TypeError(f"channels must be a sequence with one entry a cluster, {len(cells)}; got {channels!r}")
    channels = tuple(channels)
    if len(channels) != len(cells):
        raise ValueError(f"channels must have one entry a cluster, {len(cells)}; got {len(channels)}")
    return tuple(_check_channel(entry, size) for entry, size in zip(channels, cells, strict=True))


def check_spent(channels, epsilon=None):
    """Return what the channels spend together if `epsilon` is None, else `epsilon` if they spend no more, or raise."""
    up = 1 + 2.0**-50  # a matrix's budget is rounded up, so that its reports keep it exactly
    spent = math.fsum(math.log(channel.privacy_ratio(c)) * up if isinstance(c, tuple) else c for c in channels)
    if epsilon is None:
        if 700 < spent < math.inf:
            raise ValueError(f"channels must spend at most 700 together; got {spent}")
        return spent
    if epsilon != math.inf:
        inputs.require(epsilon=epsilon)
    if spent > epsilon * up**2:
        raise ValueError(f"channels must spend at most epsilon = {epsilon} together; got {spent}")
    return float(epsilon)


def _check_channel(entry, cells):
    if np.ndim(entry) == 0:
        inputs.require(epsilon=entry)
        entry = float(entry)
        if cells.bit_length() > 500 or keep_probability(entry, cells) < 1e-150:
            raise ValueError(
                f"k must have fewer than 2**500 cells in a cluster, and few enough for its budget of {entry} to report "
                f"the truth with probability 1e-150; got 2**{math.log2(cells):.1f}"
            )
        return float(entry)
    matrix = np.asarray(entry, dtype=float)
    if matrix.shape != (cells, cells):
        raise ValueError(f"channel must be a budget or a {cells} by {cells} matrix; got shape {matrix.shape}")
    channel.check_channel(matrix)
    if np.linalg.matrix_rank(matrix) < cells:
        raise ValueError(f"channel must be nonsingular; got rank {np.linalg.matrix_rank(matrix)} of {cells}")
    return tuple(map(tuple, matrix.tolist()))

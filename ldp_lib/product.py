"""Randomized response on several attributes: one channel for each cluster of attributes, with coins of its own.

`RRIndependent` has one attribute a cluster, `RRJoint` one cluster with all attributes; `clustering.RRClusters` is
between. A symmetric channel is never written out, so a cluster may have any number of cells.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_lib import channel, grr, inputs, pure, sampling
from ldp_lib.inputs import check_domain, check_records


def squared_length(e, k):
    """Return the sum of squares of one row of `grr.inverse(e, k)`: ((e+k-2)^2 + k-1) / (e-1)^2, the same for each row.

    One report's estimate of the whole table has this squared length, whatever is reported. Derived in the chapter
    `rr_joint`.
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
        (product of the lengths - 1) / n. It does not depend on the data. Derived in the chapter `rr_joint`.
    """
    return (math.prod(lengths) - 1) / n


@dataclass(frozen=True, kw_only=True, eq=False)
class ProductRR:
    """Randomize each cluster of attributes through its own channel.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes.
    clusters : sequence of sequences of int
        The attributes' numbers, each in exactly one cluster.
    channels : sequence
        One a cluster: a budget above 0, which stands for the symmetric channel (generalized randomized response on the
        cluster's cells), or a nonsingular row-stochastic matrix over the cluster's cells in lexicographic order.

    Raises
    ------
    TypeError, ValueError
        If the clusters do not partition the attributes, or a channel is neither.

    Notes
    -----
    Domingo-Ferrer and Soria-Comas (2022), Protocols 1 and 2 and Section 4. Chapters `rr_joint` and `rr_clusters`.
    """

    k: tuple
    clusters: tuple
    channels: tuple

    def __post_init__(self):
        object.__setattr__(self, "k", check_domain(self.k))
        clusters = tuple(tuple(int(j) for j in cluster) for cluster in self.clusters)
        if sorted(j for cluster in clusters for j in cluster) != list(range(len(self.k))) or not all(clusters):
            raise ValueError(f"clusters must hold each of 0 to {len(self.k) - 1} exactly once; got {self.clusters}")
        if len(self.channels) != len(clusters):
            raise ValueError(f"channels must have one entry a cluster, {len(clusters)}; got {len(self.channels)}")
        checked = tuple(
            _check_channel(c, math.prod(self.k[j] for j in m)) for c, m in zip(self.channels, clusters, strict=True)
        )
        object.__setattr__(self, "clusters", clusters)
        object.__setattr__(self, "channels", checked)

    @cached_property
    def epsilon(self):
        """The budget of one whole report: the sum over the clusters; infinite if some report rules out a record."""
        return sum(math.log(channel.privacy_ratio(c)) if isinstance(c, np.ndarray) else c for c in self.channels)

    @cached_property
    def _blocks(self):
        """For each cluster its attributes, their domain sizes, its chance to tell the truth, its matrix and inverse."""
        blocks = []
        for cluster, c in zip(self.clusters, self.channels, strict=True):
            sizes = tuple(self.k[j] for j in cluster)
            dense = isinstance(c, np.ndarray)
            keep = None if dense else keep_probability(c, math.prod(sizes))
            blocks.append((cluster, sizes, keep, c if dense else None, np.linalg.inv(c) if dense else None))
        return blocks

    def perturb(self, x, *, rng):
        """Return one report a user.

        Parameters
        ----------
        x : array_like of int, shape (n, d)
            The users' records.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        array of shape (n, d)
            Randomized records, in the smallest unsigned integer type that holds them.
        """
        inputs.require(rng=rng)
        x = check_records(x, self.k)
        y = np.empty(x.shape, dtype=inputs.small_dtype(max(self.k)), order="F")
        for cluster, sizes, keep, matrix, _ in self._blocks:
            if matrix is None:  # the truth, or a uniform cell: independent uniform values of its attributes
                noisy = sampling.bernoulli(1 - keep, len(x), rng)
                for j in cluster:
                    truth = x[:, j].astype(y.dtype)
                    y[:, j] = truth + noisy * (rng.integers(self.k[j], size=len(x), dtype=y.dtype) - truth)
                continue
            cell = np.ravel_multi_index(tuple(x[:, j] for j in cluster), sizes)
            steps = np.cumsum(matrix, axis=1)
            steps[:, -1] = 1
            drawn = np.empty(len(x), dtype=np.int64)
            for u in np.unique(cell):
                who = np.flatnonzero(cell == u)
                drawn[who] = np.searchsorted(steps[u], rng.random(who.size), side="right")
            for j, values in zip(cluster, np.unravel_index(drawn, sizes), strict=True):
                y[:, j] = values
        return y

    def estimate(self, y):
        """Return the attributes' raw unbiased frequencies, a list of d arrays (k_j,), from reports of shape (n, d)."""
        y = check_records(y, self.k, "y")
        return [self._table(y, (j,)) for j in range(len(self.k))]

    def estimate_table(self, y, *attributes):
        """Return the raw unbiased joint table of some attributes (all if none is named), whatever their dependence.

        The reports' table is sent through the inverse channel of each cluster, one cluster at a time. The cost is that
        of the table, not of a matrix over its cells. Chapter `rr_joint`.
        """
        y = check_records(y, self.k, "y")
        attributes = attributes or tuple(range(len(self.k)))
        if len(set(attributes)) != len(attributes) or not set(attributes) <= set(range(len(self.k))):
            raise ValueError(f"attributes must be distinct numbers from 0 to {len(self.k) - 1}; got {attributes}")
        return self._table(y, attributes)

    def frequency(self, y, attributes, subset):
        """Return the raw unbiased estimate of the share of users in a subset.

        Parameters
        ----------
        y : array_like of int, shape (n, d)
            Reports.
        attributes : sequence of int
            The attributes that say who is in the subset.
        subset : array_like of bool, shape (k_j for j in attributes)
            True for the cells of the subset.
        """
        subset, table = np.asarray(subset), self.estimate_table(y, *attributes)
        if subset.dtype != bool or subset.shape != table.shape:
            raise ValueError(f"subset must be booleans of shape {table.shape}; got {subset.dtype}, {subset.shape}")
        return float(table[subset].sum())

    def simulate(self, population, *, rng, runs):
        """Return a list of d arrays (runs, k_j), drawn from the exact joint law of ``estimate(perturb(x))``."""
        inputs.require(rng=rng, runs=runs)
        estimates = [None] * len(self.k)
        for block in self._blocks:
            cluster, _, keep, matrix, _ = block
            if matrix is None:
                part = self._part(population, cluster)
                truths = rng.binomial(part.counts, keep, (runs, len(part.counts)))
                noise = population.n - truths.sum(axis=1)
            else:
                tables = self._simulate_block(population, block, rng, runs)
            for axis, j in enumerate(cluster):
                if matrix is None:
                    told = truths @ (part.records[:, axis, None] == np.arange(self.k[j]))
                    count = told + rng.multinomial(noise, np.full(self.k[j], 1 / self.k[j]))
                    estimates[j] = (count / population.n - (1 - keep) / self.k[j]) / keep
                else:
                    estimates[j] = tables.sum(axis=tuple(1 + a for a in range(len(cluster)) if a != axis))
        return estimates

    def simulate_tables(self, population, *, rng, runs):
        """Return, for each cluster, `runs` raw estimates of its table, shape (runs, k_j for j in the cluster)."""
        inputs.require(rng=rng, runs=runs)
        return [self._simulate_block(population, block, rng, runs) for block in self._blocks]

    def mean(self, population):
        """Return the exact expectation of the estimates, a list of d arrays: the true frequencies."""
        return [self._part(population, (j,)).frequencies for j in range(len(self.k))]

    def variance(self, population):
        """Return the exact variances of the estimates, a list of d arrays, the users' data held fixed."""
        variances = self.mean(population)
        for cluster, sizes, keep, matrix, inverse in self._blocks:
            counts = None if matrix is None else self._part(population, cluster).histogram.ravel()
            for axis, j in enumerate(cluster):
                f, k = variances[j], self.k[j]
                if matrix is None:
                    q = (1 - keep) / k
                    variances[j] = pure.variance(f, population.n, keep + q, q)
                else:
                    member = np.indices(sizes)[axis].ravel()[:, None] == np.arange(k)
                    score = inverse @ member  # what one report adds to the estimate
                    variances[j] = counts @ (matrix @ score**2 - member) / population.n**2
        return variances

    def _table(self, y, attributes):
        # A written-out channel acts on its cluster as a whole: take all of it in, and sum the rest out at the end.
        whole = [c for c, _, _, matrix, _ in self._blocks if matrix is not None and set(c) & set(attributes)]
        taken = [*attributes, *(j for c in whole for j in c if j not in attributes)]
        sizes = [self.k[j] for j in taken]
        cell = np.ravel_multi_index(tuple(y[:, j] for j in taken), sizes)
        table = np.bincount(cell, minlength=math.prod(sizes)).reshape(sizes) / len(y)
        for cluster, _, keep, _, inverse in self._blocks:
            axes = tuple(taken.index(j) for j in cluster if j in taken)
            if axes and inverse is None:
                table -= (1 - keep) * table.mean(axis=axes, keepdims=True)
                table /= keep
            elif axes:
                moved = np.moveaxis(table, axes, range(-len(axes), 0))
                flat = moved.reshape(*moved.shape[: -len(axes)], -1) @ inverse
                table = np.moveaxis(flat.reshape(moved.shape), range(-len(axes), 0), axes)
        return table.sum(axis=tuple(range(len(attributes), len(taken))))

    def _part(self, population, attributes):
        if population.k != self.k:
            raise ValueError(f"population must have k = {self.k}; got k = {population.k}")
        return population.select(*attributes)

    def _simulate_block(self, population, block, rng, runs):
        cluster, sizes, keep, matrix, inverse = block
        counts, cells = self._part(population, cluster).histogram.ravel(), math.prod(sizes)
        if matrix is None:
            told = rng.binomial(counts, keep, (runs, cells))
            count = told + rng.multinomial(population.n - told.sum(axis=1), np.full(cells, 1 / cells))
            tables = (count / population.n - (1 - keep) / cells) / keep
        else:
            drawn = sum(rng.multinomial(c, row, runs) for c, row in zip(counts, matrix, strict=True) if c)
            tables = drawn / population.n @ inverse
        return tables.reshape(runs, *sizes)


def RRIndependent(*, k, channels):
    """Return randomized response on each attribute on its own: `ProductRR` with a cluster for each attribute."""
    k = check_domain(k)
    return ProductRR(k=k, clusters=tuple((j,) for j in range(len(k))), channels=channels)


def RRJoint(*, k, channel):
    """Return one randomized response on the whole record: `ProductRR` with all attributes in one cluster."""
    k = check_domain(k)
    return ProductRR(k=k, clusters=(tuple(range(len(k))),), channels=(channel,))


def keep_probability(epsilon, k):
    """Return the chance that the symmetric channel reports the truth on purpose, and not by a uniform draw: p - q."""
    e = math.exp(epsilon)
    p, q = grr.probabilities(e, k)
    return p - q


def mixing_ratio(keep, k):
    """Return e = exp(epsilon) of the channel that keeps the truth with probability `keep`, else draws uniformly.

    It is 1 + keep k / (1 - keep). Derived in the chapter `rr_clusters`.
    """
    return 1 + keep * k / (1 - keep)


def _check_channel(entry, cells):
    """Return a budget, or a nonsingular stochastic float matrix over `cells` cells, or raise."""
    if np.ndim(entry) == 0:
        inputs.require(epsilon=entry)
        return entry
    matrix = np.asarray(entry, dtype=float)
    if matrix.shape != (cells, cells):
        raise ValueError(f"channel must be a budget or a {cells} by {cells} matrix; got shape {matrix.shape}")
    channel.check_channel(matrix)
    if np.linalg.matrix_rank(matrix) < cells:
        raise ValueError(f"channel must be nonsingular; got rank {np.linalg.matrix_rank(matrix)} of {cells}")
    matrix = matrix.copy()
    matrix.flags.writeable = False
    return matrix

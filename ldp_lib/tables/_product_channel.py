"""Randomized response on clusters of attributes: independent channels, one for each cluster.

What the mechanisms of `product` and `RRClusters` share. No report needs a symmetric channel written out, so a cluster
may have nearly 2**500 cells.
"""

import math
from collections.abc import Iterable
from functools import cached_property

import numpy as np

from ldp_lib import _inputs, _sampling, grr
from ldp_lib import channel as channels
from ldp_lib.mechanism import Rng, Several
from ldp_lib.population import Population


def keep_probability(epsilon, k):
    """Return the probability p - q with which the symmetric channel keeps the truth, and does not draw uniformly."""
    if epsilon < 0.01:  # p and q are nearly equal, and their difference would lose its digits
        return math.expm1(epsilon) / (math.expm1(epsilon) + k)
    p, q = grr.probabilities(math.exp(epsilon), k)
    return p - q


def cells_of(records, k, attributes):
    """Return the number of the cell, in lexicographic order, in which each record lies by some attributes."""
    return np.ravel_multi_index(tuple(records[:, j] for j in attributes), [k[j] for j in attributes])


def distinct(attributes, d):
    """Return distinct ones of d attributes as a tuple of ints, or raise; a single one may come alone."""
    chosen = tuple(attributes) if isinstance(attributes, Iterable) else (attributes,)
    if not chosen or len(set(chosen)) != len(chosen) or not set(chosen) <= set(range(d)):
        raise ValueError(f"attributes must be distinct numbers from 0 to {d - 1}; got {attributes}")
    return tuple(map(int, chosen))


class ProductChannel(Several):
    """Randomize each cluster of attributes through a channel of its own: what all mechanisms of this kind share.

    Subclasses give `k`, `epsilon`, `clusters_` and `channels_`: one budget or one matrix a cluster.
    """

    k: tuple
    epsilon: float
    clusters_: tuple
    channels_: tuple

    @property
    def symmetric(self) -> bool:
        """Whether no cluster's channel is written out: all values are alike in randomized response."""
        return not any(isinstance(c, tuple) for c in self.channels_)

    @property
    def tied(self) -> bool:
        """Whether variances depend on who holds which values together: if a matrix is over several attributes."""
        return any(len(cluster) > 1 and matrix is not None for cluster, _, _, matrix, *_ in self._blocks)

    @property
    def joint(self) -> int:
        """Of how many attributes the reports give an unbiased joint table: all."""
        return self.d

    @cached_property
    def _blocks(self):
        """For each cluster its attributes, their domain sizes, chance of truth, matrix, inverse, and chance as drawn.

        The chances are those to tell the truth on purpose, a float and the exact one of `perturb`; None for a matrix.
        """
        blocks = []
        for cluster, c in zip(self.clusters_, self.channels_, strict=True):
            sizes = tuple(self.k[j] for j in cluster)
            if isinstance(c, tuple):
                blocks.append((cluster, sizes, None, np.array(c), np.linalg.inv(np.array(c)), None))
            else:
                cells = math.prod(sizes)
                told = _sampling.realised(_sampling.proved_keep(c, cells))
                blocks.append((cluster, sizes, keep_probability(c, cells), None, None, told))
        return blocks

    def realised_epsilon(self) -> float:
        """Return the budget that `perturb` spends, proved from its thresholds: at most epsilon."""
        if self.epsilon == math.inf:  # a matrix with zeros
            return math.inf
        ratio = 1
        for (_, sizes, *_, told), c in zip(self._blocks, self.channels_, strict=True):
            if told is None:
                ratio *= channels.privacy_ratio([_sampling.realised_shares(row) for row in c])
            else:
                ratio *= 1 + math.prod(sizes) * told / (1 - told)
        return _sampling.proved_epsilon(ratio, self.epsilon)

    @property
    def keeps(self) -> list:
        """For each cluster the chance to tell the truth on purpose; None if its channel is written out."""
        return [keep for _, _, keep, *_ in self._blocks]

    @property
    def probabilities(self) -> list:
        """For each cluster p and q, with which a report is the true cell and any other one, or its matrix."""
        cells = [math.prod(sizes) for _, sizes, *_ in self._blocks]
        pairs = zip(self.channels_, cells, strict=True)
        return [np.array(c) if isinstance(c, tuple) else grr.probabilities(math.exp(c), cell) for c, cell in pairs]

    def channel(self) -> np.ndarray:
        """Return the channel from whole records to whole reports, both in lexicographic order."""
        cells = math.prod(self.k)
        _inputs.check_cells(cells, cells)
        records, matrix = self.reports(), np.ones((cells, cells))
        for (cluster, sizes, *_), c in zip(self._blocks, self.channels_, strict=True):
            part = np.array(c) if isinstance(c, tuple) else grr.channel(math.exp(c), math.prod(sizes))
            cell = cells_of(records, self.k, cluster)
            matrix *= part[np.ix_(cell, cell)]
        return matrix / matrix.sum(axis=1, keepdims=True)  # a matrix may come with rounded rows

    @_inputs.users_checked
    def perturb(self, x, *, rng: Rng) -> np.ndarray:
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
        y = np.empty(x.shape, self.dtype.base, order="F")
        for cluster, sizes, _, matrix, _, told in self._blocks:
            if matrix is None:  # the truth, or a uniform cell: independent uniform values of its attributes
                noisy = _sampling.bernoulli(1 - told, len(x), rng)
                for j in cluster:
                    truth = x[:, j].astype(y.dtype)
                    y[:, j] = truth + noisy * (rng.integers(self.k[j], size=len(x), dtype=y.dtype) - truth)
                continue
            cell = cells_of(x, self.k, cluster)
            drawn = np.empty(len(x), np.int64)
            for u in np.unique(cell):
                who = np.flatnonzero(cell == u)
                drawn[who] = _sampling.draw(matrix[u], who.size, rng)
            for j, values in zip(cluster, np.unravel_index(drawn, sizes), strict=True):
                y[:, j] = values
        return y

    def count(self, y) -> np.ndarray:
        """Return the number of reports, then counts for each attribute; counts of disjoint sets of reports add up."""
        y = _inputs.check_records(y, self.k, "y")
        return np.concatenate([[len(y)], *(self._count(y, self.taken((j,))) for j in range(self.d))])

    def estimate_counts(self, counts) -> list:
        """Return unbiased frequencies, one array (k_j,) for each attribute, from the counts of all reports."""
        shapes = [[self.k[i] for i in self.taken((j,))] for j in range(self.d)]
        parts = np.split(counts[1:], np.cumsum([math.prod(shape) for shape in shapes])[:-1])
        tables = [part.reshape(shape) / counts[0] for part, shape in zip(parts, shapes, strict=True)]
        return [self._inverted(table, (j,)) for j, table in enumerate(tables)]

    def estimate_table(self, y, *attributes) -> np.ndarray:
        """Return the raw unbiased joint table of some attributes (all if none is named), whatever their dependence.

        The cost is that of the table. Chapter `audit_multidim`.
        """
        y = _inputs.check_records(y, self.k, "y")
        attributes = distinct(attributes or range(self.d), self.d)
        taken = self.taken(attributes)
        counts = self._count(y, taken).reshape([self.k[j] for j in taken])
        return self._inverted(counts / len(y), attributes)

    def simulate(self, population: Population, *, rng: Rng, runs: int) -> list:
        """Return a list of d arrays (runs, k_j), drawn from the exact joint law of ``estimate(perturb(x))``."""
        _inputs.require(rng=rng, runs=runs)
        estimates: list = [None] * self.d
        for block in self._blocks:
            cluster, _, keep, matrix, *_ = block
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

    def simulate_tables(self, population: Population, *, rng: Rng, runs: int) -> list:
        """Return, for each cluster, `runs` raw estimates of its table, shape (runs, k_j for j in the cluster)."""
        _inputs.require(rng=rng, runs=runs)
        return [self._simulate_block(population, block, rng, runs) for block in self._blocks]

    def independent_table(self, tables, *attributes) -> np.ndarray:
        """Return the joint table of some attributes as if clusters were independent: the product of what they say.

        Domingo-Ferrer and Soria-Comas (2022), Protocol 1, steps 8 to 10, for clusters. Chapter `audit_multidim`.

        Parameters
        ----------
        tables : sequence of arrays
            One a cluster, such as `estimate_table` or `simulate_tables` gives. The last axes are those of the cluster's
            attributes; axes before them, such as runs, are the same for all clusters and are kept.
        *attributes : int
            The attributes wanted, distinct, in the order wanted.
        """
        attributes = distinct(attributes, self.d)
        product = np.ones(())
        for cluster, table in zip(self.clusters_, tables, strict=True):
            others = tuple(axis - len(cluster) for axis, j in enumerate(cluster) if j not in attributes)
            if len(others) < len(cluster):
                places = [attributes.index(j) for j in cluster if j in attributes]
                part = np.einsum(np.sum(table, axis=others), [..., *places], [..., *sorted(places)])  # in their order
                new = [axis - len(attributes) for axis in range(len(attributes)) if axis not in places]
                product = product * np.expand_dims(part, new)
        return product

    def variance(self, population: Population) -> list:
        """Return the exact variances of the estimates, a list of d arrays, the users' data held fixed."""
        variances = self.mean(population)
        for cluster, sizes, keep, matrix, inverse, _ in self._blocks:
            counts = None if matrix is None else self._part(population, cluster).histogram.ravel()
            for axis, j in enumerate(cluster):
                f, k = variances[j], self.k[j]
                if matrix is None:
                    q = (1 - keep) / k  # in place of the difference of p and q stands `keep`, which has all digits
                    p = keep + q
                    variances[j] = (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (population.n * keep**2)
                else:
                    member = np.indices(sizes)[axis].ravel()[:, None] == np.arange(k)
                    score = inverse @ member  # what one report adds to the estimate
                    variances[j] = counts @ (matrix @ score**2 - member) / population.n**2
        return variances

    def taken(self, attributes) -> list:
        """Return the attributes and, after them, the rest of each cluster whose channel is written out."""
        return [*attributes, *(j for mine, _ in self.parts(attributes) for j in mine if j not in attributes)]

    def parts(self, attributes) -> list:
        """Return, for each cluster that has some of the attributes, these and the probability to keep them.

        A cluster whose channel is written out comes whole, with its matrix.
        """
        blocks = [block for block in self._blocks if set(block[0]) & set(attributes)]
        return [
            ([j for j in cluster if j in attributes], keep) if matrix is None else (list(cluster), matrix)
            for cluster, _, keep, matrix, *_ in blocks
        ]

    def _count(self, y, taken):
        if (cells := math.prod(self.k[j] for j in taken)) > 2**30:
            raise ValueError(f"attributes must have at most 2**30 cells together; got {cells}")
        return np.bincount(cells_of(y, self.k, taken), minlength=cells)

    def _inverted(self, table, attributes):
        """The estimated table of some attributes, from the reports' table of these and of what their clusters add."""
        taken = self.taken(attributes)
        for cluster, _, keep, _, inverse, _ in self._blocks:
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
        _inputs.check_population(population, self.k)
        return population.select(*attributes)

    def _simulate_block(self, population, block, rng, runs):
        cluster, sizes, keep, matrix, inverse, _ = block
        counts = self._part(population, cluster).histogram.ravel()
        cells = math.prod(sizes)
        if matrix is None:
            told = rng.binomial(counts, keep, (runs, cells))
            count = told + rng.multinomial(population.n - told.sum(axis=1), np.full(cells, 1 / cells))
            tables = (count / population.n - (1 - keep) / cells) / keep
        else:
            drawn = sum(rng.multinomial(c, row, runs) for c, row in zip(counts, matrix, strict=True) if c)
            tables = drawn / population.n @ inverse
        return tables.reshape(runs, *sizes)

"""Splitting the budget (SPL): every attribute goes through randomized response of its own, at an equal share."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_lib import channel as channels
from ldp_lib import grr, pure
from ldp_lib.population import Population, check_domain, check_records


def check_attributes(k):
    """Return the domain sizes of at least two attributes as a tuple, or raise an error that names `k`."""
    sizes = check_domain(k)
    if len(sizes) < 2:
        raise ValueError(f"k must give the domain sizes of at least two attributes; got {k!r}")
    return sizes


def check_population(population, k):
    """Raise ValueError unless the population has the domain sizes `k`."""
    if population.k != k:
        raise ValueError(f"population must have domain sizes k = {k}; got k = {population.k}")


def frequencies(population):
    """Return the true frequencies, one array of shape (k_j,) for each attribute j."""
    return [marginal.frequencies for marginal in marginals(population)]


def marginals(population):
    """Return each attribute's population on its own."""
    return [
        Population.from_counts(np.bincount(column, weights=population.counts, minlength=size).astype(np.int64))
        for column, size in zip(population.records.T, population.k, strict=True)
    ]


def channel(root, k):
    """Return the channel from whole records to whole reports, both in lexicographic order.

    Parameters
    ----------
    root : number or symbol
        exp(epsilon / d), so that all stays rational in it.
    k : sequence of d ints
        Domain sizes.

    Returns
    -------
    array, shape (K, K) with K the product of all k_j
        The tensor product of the d channels of randomized response.
    """
    return channels.tensor(*(grr.channel(root, size) for size in k))


@dataclass(frozen=True, kw_only=True)
class SPL:
    """Report every attribute through randomized response (GRR) with the budget epsilon / d.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes, each at least 2, for at least two attributes.
    epsilon : float
        Privacy budget of one user's whole report, finite and above 0.

    Raises
    ------
    TypeError, ValueError
        If `k` or `epsilon` is of the wrong type or out of range.

    Notes
    -----
    Splitting is sequential composition (Dwork et al., 2006). Chapter `composition_spl`.
    """

    k: tuple
    epsilon: float

    def __post_init__(self):
        object.__setattr__(self, "k", check_attributes(self.k))
        pure.require(epsilon=self.epsilon)
        pure.require(epsilon=self.epsilon / len(self.k))

    @cached_property
    def _parts(self):
        return [grr.GRR(k=size, epsilon=self.epsilon / len(self.k)) for size in self.k]

    def perturb(self, x, *, rng):
        """Return one row of d reported values a user.

        Parameters
        ----------
        x : array_like of int, shape (n, d)
            The users' records; column j holds values 0 to k_j - 1.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        array of shape (n, d)
            Reports, in the smallest unsigned integer type that holds them.
        """
        pure.require(rng=rng)
        x = check_records(x, self.k)
        y = np.empty(x.shape, pure.small_dtype(max(self.k)), order="F")
        for j, part in enumerate(self._parts):
            y[:, j] = part.perturb(x[:, j], rng=rng)
        return y

    def estimate(self, y):
        """Return unbiased frequencies, one array (k_j,) for each attribute, from reports of shape (n, d)."""
        y = check_records(y, self.k, "y")
        return [part.estimate(y[:, j]) for j, part in enumerate(self._parts)]

    def simulate(self, population, *, rng, runs):
        """Return one array (runs, k_j) for each attribute, from the exact joint law of ``estimate(perturb(x))``.

        The users' data are fixed and each attribute has coins of its own, so the attributes' estimates are
        independent, whatever the correlation in the data. The cost is free of n.
        """
        pure.require(rng=rng, runs=runs)
        check_population(population, self.k)
        pairs = zip(self._parts, marginals(population), strict=True)
        return [part.simulate(marginal, rng=rng, runs=runs) for part, marginal in pairs]

    def mean(self, population):
        """Return the exact expectation of the estimate, the true frequencies: one array (k_j,) for each attribute."""
        check_population(population, self.k)
        return frequencies(population)

    def variance(self, population):
        """Return the exact variance of the estimate, the users' data held fixed: one array (k_j,) per attribute."""
        root, n = math.exp(self.epsilon / len(self.k)), population.n
        shares = zip(self.mean(population), self.k, strict=True)
        return [pure.variance(f, n, *grr.probabilities(root, size)) for f, size in shares]

"""Splitting the budget (SPL): every attribute goes through randomized response of its own, at an equal share."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_lib import channel as channels
from ldp_lib import grr, inputs, pure
from ldp_lib.allocation import brr, mrr, obrr, omrr
from ldp_lib.grr import GRR
from ldp_lib.inputs import check_domain, check_records
from ldp_lib.population import marginal_frequencies, marginal_populations
from ldp_lib.unary import SUE


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
        object.__setattr__(self, "k", inputs.check_attributes(self.k))
        inputs.require(epsilon=self.epsilon)
        inputs.require(epsilon=self.epsilon / len(self.k))

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
        inputs.require(rng=rng)
        x = check_records(x, self.k)
        y = np.empty(x.shape, inputs.small_dtype(max(self.k)), order="F")
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
        inputs.require(rng=rng, runs=runs)
        inputs.check_population(population, self.k)
        pairs = zip(self._parts, marginal_populations(population), strict=True)
        return [part.simulate(marginal, rng=rng, runs=runs) for part, marginal in pairs]

    def mean(self, population):
        """Return the exact expectation of the estimate, the true frequencies: one array (k_j,) for each attribute."""
        inputs.check_population(population, self.k)
        return marginal_frequencies(population)

    def variance(self, population):
        """Return the exact variance of the estimate, the users' data held fixed: one array (k_j,) per attribute."""
        root, n = math.exp(self.epsilon / len(self.k)), population.n
        shares = zip(self.mean(population), self.k, strict=True)
        return [pure.variance(f, n, *grr.probabilities(root, size)) for f, size in shares]


@dataclass(frozen=True, kw_only=True)
class Split:
    """Report each attribute through an oracle of its own, with independent coins.

    Parameters
    ----------
    oracles : tuple of d mechanisms
        One-attribute mechanisms, such as `GRR` or `SUE`, each with its share of the budget.
    epsilon : float
        Budget of one user's whole report; the oracles' budgets must not add up to more.

    Raises
    ------
    TypeError, ValueError
        If there is no oracle, or `epsilon` is out of range or below the oracles' sum.

    Notes
    -----
    `BRR`, `MRR`, `OBRR` and `OMRR` make the OBRR paper's four. Chapter `allocation_evaluation`.
    """

    oracles: tuple
    epsilon: float

    def __post_init__(self):
        inputs.require(epsilon=self.epsilon)
        object.__setattr__(self, "oracles", tuple(self.oracles))
        if not self.oracles:
            raise ValueError("oracles must hold at least one mechanism; got none")
        spent = math.fsum(oracle.epsilon for oracle in self.oracles)
        if spent > self.epsilon:
            raise ValueError(f"oracles must spend at most epsilon = {self.epsilon} together; got {spent}")

    @property
    def k(self):
        """Domain sizes, a tuple of d ints."""
        return tuple(oracle.k for oracle in self.oracles)

    def perturb(self, x, *, rng):
        """Return a list of d arrays, each oracle's reports; `x` has shape (n, d)."""
        inputs.require(rng=rng)
        x = check_records(x, self.k)
        return [oracle.perturb(column, rng=rng) for oracle, column in zip(self.oracles, x.T, strict=True)]

    def estimate(self, y):
        """Return a list of d arrays of unbiased frequencies, (k_j,), from the list of reports."""
        if not isinstance(y, list | tuple) or len(y) != len(self.oracles):
            raise ValueError(f"y must be a list of {len(self.oracles)} arrays of reports; got {type(y).__name__}")
        if len({len(reports) for reports in y}) != 1:
            raise ValueError(f"y must hold as many reports for each attribute; got {[len(r) for r in y]}")
        return [oracle.estimate(reports) for oracle, reports in zip(self.oracles, y, strict=True)]

    def simulate(self, population, *, rng, runs):
        """Return d arrays (runs, k_j) from the exact joint law: given the data, attributes are independent."""
        return [o.simulate(alone, rng=rng, runs=runs) for o, alone in self._alone(population)]

    def mean(self, population):
        """Return the exact expectations, a list of d arrays (k_j,): the true frequencies."""
        return [oracle.mean(alone) for oracle, alone in self._alone(population)]

    def variance(self, population):
        """Return the exact variances, a list of d arrays (k_j,), the users' data held fixed."""
        return [oracle.variance(alone) for oracle, alone in self._alone(population)]

    def _alone(self, population):
        if population.k != self.k:
            raise ValueError(f"population must have domain sizes k = {self.k}; got k = {population.k}")
        return [(oracle, population.select(j)) for j, oracle in enumerate(self.oracles)]


def _make(family: Callable, split: Callable, k, epsilon):
    budgets = split(k, epsilon)
    oracles = [family(k=size, epsilon=float(b)) for size, b in zip(check_domain(k), budgets, strict=True)]
    return Split(oracles=tuple(oracles), epsilon=epsilon)


def BRR(*, k, epsilon):
    """Return `Split` into `SUE` reports of equal budgets."""
    return _make(SUE, brr, k, epsilon)


def MRR(*, k, epsilon):
    """Return `Split` into `GRR` reports of equal budgets."""
    return _make(GRR, mrr, k, epsilon)


def OBRR(*, k, epsilon):
    """Return `Split` into `SUE` reports of the budgets that `obrr` gives."""
    return _make(SUE, obrr, k, epsilon)


def OMRR(*, k, epsilon):
    """Return `Split` into `GRR` reports of the budgets that `omrr` gives."""
    return _make(GRR, omrr, k, epsilon)

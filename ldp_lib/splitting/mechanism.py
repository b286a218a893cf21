"""Splitting the budget: every attribute is reported on its own, at a share of it, independently.

`SPL` is the usual name for equal shares and randomized response. `BRR`, `MRR`, `OBRR` and `OMRR` are those of the OBRR
paper: bits (B) or values (M), equal shares or the shares of least error (O). `brr`, `mrr`, `obrr` and `omrr` give these
shares.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ldp_lib import _inputs, _sampling, grr, pure, unary
from ldp_lib import channel as channels
from ldp_lib.mechanism import Rng, Several
from ldp_lib.population import Population
from ldp_lib.splitting.allocation import brr, mrr, obrr, omrr


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
class _Split(Several):
    """Report each attribute through an oracle of its own: what the five mechanisms of this module share."""

    k: tuple
    epsilon: float
    symmetric = True

    shares: ClassVar[Callable]
    oracle: ClassVar[Any]

    def __post_init__(self):
        super().__post_init__()
        self.budgets  # noqa: B018  (refuses a budget that is out of range)

    @cached_property
    def budgets(self) -> tuple:
        """What each attribute's report spends; never more than `epsilon` together."""
        return tuple(type(self).shares(self.k, self.epsilon).tolist())

    @cached_property
    def oracles(self) -> tuple:
        """The d mechanisms for one attribute."""
        return tuple(self.oracle(k=size, epsilon=b) for size, b in zip(self.k, self.budgets, strict=True))

    @cached_property
    def _edges(self):
        """Where each attribute's report starts in a row, and where the row ends."""
        return (0, *itertools.accumulate(math.prod(oracle.dtype.shape) for oracle in self.oracles))

    @cached_property
    def _sizes(self):
        """How many values each entry of a row may have: two where it is a bit."""
        parts = zip(self.oracles, self.k, strict=True)
        return tuple(itertools.chain(*((2,) * size if oracle.dtype.shape else (size,) for oracle, size in parts)))

    @property
    def probabilities(self) -> list:
        """For each attribute p and q, with which a report supports the user's own value, and any other one."""
        return [oracle.probabilities for oracle in self.oracles]

    def uniform_variance(self, n) -> float:
        """Return the total variance for n users whose values are uniform, without listing these."""
        return sum(k * pure.variance(1 / k, n, p, q) for k, (p, q) in zip(self.k, self.probabilities, strict=True))

    def realised_epsilon(self) -> float:
        """Return the budget that `perturb` spends, proved from its thresholds: at most epsilon."""
        return _sampling.proved_epsilon(math.prod(oracle.realised_ratio for oracle in self.oracles), self.epsilon)

    @_inputs.users_checked
    def perturb(self, x, *, rng: Rng) -> np.ndarray:
        """Return one row a user, the attributes' reports side by side, from records of shape (n, d).

        Shape (n, d), or (n, sum of all k_j) if values are reported as bits, in the smallest unsigned integer type.
        """
        y = np.empty((len(x), self._edges[-1]), self.dtype.base, order="F")
        x = x.astype(_inputs.small_dtype(max(self.k)), order="F")
        for column, oracle, (start, stop) in zip(x.T, self.oracles, itertools.pairwise(self._edges), strict=True):
            y[:, start:stop] = oracle.perturb(column, rng=rng).reshape(len(x), -1)
        return y

    def count(self, y) -> np.ndarray:
        """Return the number of reports, then counts for each attribute; counts of disjoint sets of reports add up."""
        y = _inputs.check_records(y, self._sizes, "y")
        parts = zip(self.oracles, np.split(y, self._edges[1:-1], axis=1), strict=True)
        counts = [oracle.count(part.reshape(len(y), *oracle.dtype.shape)) for oracle, part in parts]
        return np.concatenate([counts[0][:1], *(part[1:] for part in counts)])

    def estimate_counts(self, counts) -> list:
        """Return unbiased frequencies, one array (k_j,) for each attribute, from the counts of all reports."""
        parts = np.split(counts[1:], np.cumsum(self.k)[:-1])
        pairs = zip(self.oracles, parts, strict=True)
        return [oracle.estimate_counts(np.concatenate([counts[:1], part])) for oracle, part in pairs]

    def simulate(self, population: Population, *, rng: Rng, runs: int) -> list:
        """Return one array (runs, k_j) for each attribute, distributed exactly as ``estimate(perturb(x))``.

        The users' data are fixed and each attribute is perturbed on its own, so the attributes' estimates are
        independent, whatever the correlation in the data. The cost is free of n.
        """
        _inputs.require(rng=rng, runs=runs)
        return [oracle.simulate(alone, rng=rng, runs=runs) for oracle, alone in self._alone(population)]

    def variance(self, population: Population) -> list:
        """Return the exact variance of the estimate, the users' data held fixed: one array (k_j,) per attribute."""
        return [oracle.variance(alone) for oracle, alone in self._alone(population)]

    def channel(self) -> np.ndarray:
        """Return the channel from records, in lexicographic order, to reports, in the order of `reports`."""
        _inputs.check_cells(math.prod(self.k), math.prod(self._sizes))
        return channels.tensor(*(oracle.channel() for oracle in self.oracles))

    @property
    def dtype(self) -> np.dtype:
        """Type and shape of one report: the attributes' reports side by side."""
        return np.dtype((_inputs.small_dtype(max(self._sizes)), (self._edges[-1],)))

    def reports(self) -> np.ndarray:
        """Return all reports, one a row; the last attribute's changes fastest."""
        _inputs.check_cells(math.prod(self.k), math.prod(self._sizes))
        parts = itertools.product(*(oracle.reports() for oracle in self.oracles))
        return np.array([np.hstack(row) for row in parts], self.dtype.base)

    def _alone(self, population):
        _inputs.check_population(population, self.k)
        return zip(self.oracles, map(population.select, range(population.d)), strict=True)


class SPL(_Split):
    """Report every attribute through randomized response (GRR) at an equal share of the budget.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes, each at least 2.
    epsilon : float
        Privacy budget of one user's whole report, finite and above 0.

    Notes
    -----
    Splitting is sequential composition (Dwork et al., 2006). Chapter `attribute_sampling`.
    """

    shares, oracle = staticmethod(mrr), grr.GRR


class MRR(_Split):
    """Report every attribute through GRR at an equal share of the budget: `SPL` under the OBRR paper's name."""

    shares, oracle = staticmethod(mrr), grr.GRR


class OMRR(_Split):
    """Report every attribute through GRR at the shares of least total squared error; parameters as `SPL`.

    The OBRR paper (2020). Chapter `audit_allocation`.
    """

    shares, oracle = staticmethod(omrr), grr.GRR


class BRR(_Split):
    """Report every attribute's bits (SUE) at an equal share of the budget; parameters as `SPL`.

    The OBRR paper (2020). Chapters `budget_splitting` and `audit_allocation`.
    """

    shares, oracle = staticmethod(brr), unary.SUE


class OBRR(_Split):
    """Report every attribute's bits (SUE) at the shares of least total squared error; parameters as `SPL`.

    The OBRR paper (2020). Chapters `budget_splitting` and `audit_allocation`.
    """

    shares, oracle = staticmethod(obrr), unary.SUE

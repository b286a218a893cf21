"""Correlated randomized response (Corr-RR): one attribute, the pivot, is randomized; the others copy its report.

Seeam, Zheng and Hu (2025; revised 2026). In the first phase n1 users split their budget (`SPL`); their estimates set
the reuse probabilities. In the second, each user sends a random pivot through randomized response (GRR) with the whole
budget; any other attribute copies the pivot's report with probability p_y, else takes another value at random. See
`_formulas` for what a reuse table is, and `_reuse` for how it is set.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_lib import _inputs, _sampling, grr, pure
from ldp_lib.corr_rr._formulas import channel, expectation, shrinkage
from ldp_lib.corr_rr._reuse import check_reuse, reuse_table
from ldp_lib.corr_rr._two_phases import TwoPhase, combine, draw_pivots, first_users
from ldp_lib.mechanism import NoExactMoments, Rng, Several
from ldp_lib.population import Population, marginal_frequencies


class _Copies(Several):
    """Serves equal domain sizes; biased, unless there is one attribute, which has nothing to copy."""

    reuse: tuple | None
    equal = True

    def __post_init__(self):
        super().__post_init__()
        if self.reuse is not None:
            object.__setattr__(self, "reuse", check_reuse(self.reuse, self.d))

    @property
    def _size(self):
        """The size of every attribute's domain."""
        return self.k[0]

    @property
    def unbiased(self) -> bool:
        """Whether there is one attribute only."""
        return self.d == 1


@dataclass(frozen=True, kw_only=True)
class SecondPhase(_Copies):
    """Randomize a random pivot with the whole budget; each other attribute copies its report with given probability.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes, all equal.
    epsilon : float
        Privacy budget of one user's whole report.
    reuse : float or array_like, shape (d, d), optional
        The reuse table, or one p_y for all pairs. If not given, 1/k: copies are drawn regardless of the report.

    Notes
    -----
    The estimate is raw and biased: `mean` is not the true frequencies. Chapter `audit_corr_rr`.
    """

    k: tuple
    epsilon: float
    reuse: tuple | None = None

    @cached_property
    def reuse_(self) -> tuple:
        """The reuse table."""
        return check_reuse(1 / self._size, self.d) if self.reuse is None else self.reuse

    @cached_property
    def probabilities(self):
        """p and q of the pivot's randomized response."""
        return grr.probabilities(self._e, self._size)

    def channel(self) -> np.ndarray:
        """Return Pr[report | record], both in lexicographic order; ValueError if it is too large."""
        size = math.prod(self.k)
        _inputs.check_cells(size, size)
        return channel(self._e, self._size, self.reuse_)

    def realised_epsilon(self) -> float:
        """Return the budget that `perturb` spends, proved from its thresholds: that of the pivot's report."""
        return grr.GRR(k=self._size, epsilon=self.epsilon).realised_epsilon()

    @_inputs.users_checked
    def perturb(self, x, *, rng: Rng) -> np.ndarray:
        """Return one row of d reported values a user, in the smallest unsigned integer type that holds them."""
        k, d, n = self._size, self.d, len(x)
        pivot = rng.integers(d, size=n)
        report = grr.GRR(k=k, epsilon=self.epsilon).perturb(x[np.arange(n), pivot], rng=rng)
        y = np.empty((n, d), self.dtype.base, order="F")
        for m, chances in enumerate(np.transpose(self.reuse_)):
            shift = rng.integers(1, k, size=n, dtype=_inputs.small_dtype(2 * k))
            shift[_sampling.toss(chances[pivot], rng)] = 0  # always so for the pivot itself
            y[:, m] = (report + shift) % k
        return y

    def estimate(self, y) -> list:
        """Return the estimates of randomized response, one array (k,) for each attribute; raw and biased."""
        y = _inputs.check_records(y, self.k, "y")
        counts = [np.bincount(y[:, j], minlength=size) for j, size in enumerate(self.k)]
        return [pure.estimate(count, len(y), *self.probabilities) for count in counts]

    def simulate(self, population: Population, *, rng: Rng, runs: int) -> list:
        """Return one array (runs, k) for each attribute, distributed exactly as ``estimate(perturb(x))``."""
        _inputs.check_population(population, self.k, rng=rng, runs=runs)
        counts = np.broadcast_to(population.counts, (runs, len(population.counts)))
        held = draw_pivots(population.records, counts, self.k, rng)
        return _draw_estimates(held, np.array(self.reuse_), population.n, self.epsilon, rng)

    def mean(self, population: Population) -> list:
        """Return the exact expectation of the estimate, one array (k,) for each attribute: not the true frequencies."""
        return list(expectation(super().mean(population), self.reuse_))

    def variance(self, population: Population) -> list:
        """Return the exact variance of the estimate, the users' data held fixed: one array (k,) for each attribute."""
        _inputs.check_population(population, self.k)
        p, q = self.probabilities
        pi = q + (p - q) * _record_means(population.records, self.reuse_, self._size)
        return list(population.counts @ (pi * (1 - pi)) / (population.n * (p - q)) ** 2)


@dataclass(frozen=True, kw_only=True)
class CorrRR(_Copies, TwoPhase):
    """Corr-RR in two phases, as published (Algorithm 1), for any number of attributes with equal domains.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes, all equal.
    epsilon : float
        Privacy budget of one user's whole report, in either phase.
    n1 : int or float
        Users in the first phase, chosen at random: their number, at least 1 and below that of all users, or a share of
        all users, above 0 and below 1, rounded.
    reuse : float or array_like, shape (d, d), optional
        A reuse table fixed in advance, or one p_y for all pairs. If not given, the first phase's estimates set it:
        see `learn`.

    Notes
    -----
    The two phases' raw estimates are averaged with their numbers of users as weights. The estimate is biased. `mean`
    and `variance` are exact where the reuse table is fixed in advance; if the first phase sets it they have no short
    form, and `simulate` draws from the exact distribution. With fewer users than attributes some attributes are
    nobody's pivot; all distributions hold still. Chapters `corr_rr`, `audit_corr_rr` and `audit_corr_rr_evaluation`.
    """

    k: tuple
    epsilon: float
    n1: int | float = 0.1
    reuse: tuple | None = None

    @property
    def has_exact_moments(self) -> bool:
        """Whether the reuse table is fixed in advance."""
        return self.reuse is not None

    def learn(self, first, n2):
        """Return the reuse table, (d, d) or (runs, d, d), that the first phase's estimates set for n2 other users.

        The raw estimates go into `reuse_table` as they are, negative or not. A subclass may learn in another way.
        """
        return reuse_table(first, n2=n2)

    def table(self, first, n2):
        """Return the reuse table that is used: the fixed one, or what is learned from the first phase's estimates."""
        return self.learn(first, n2) if self.reuse is None else np.array(self.reuse)

    def _report_second(self, first, x, rng):
        return self._second(self.table(self._first.estimate(first), len(x))).perturb(x, rng=rng)

    def _estimate_second(self, first, second):
        return self._second(None).estimate(second)

    def _draw_second(self, learned, held, n2, rng):
        return _draw_estimates(held, self.table(learned, n2), n2, self.epsilon, rng)

    def mean(self, population: Population) -> list:
        """Return the exact expectation of the estimate, one array (k,) for each attribute, for a fixed reuse table."""
        n1, second = self._fixed(population)
        parts = marginal_frequencies(population), second.mean(population)
        return combine(*parts, n1, population.n - n1)

    def variance(self, population: Population) -> list:
        """Return the exact variance, one array (k,) for each attribute, the data held fixed, for a fixed reuse table.

        Random are the users' random numbers and who is in the first phase.
        """
        (n1, second), n = self._fixed(population), population.n
        n2, shares = n - n1, population.counts / n
        coins1 = [v * n for v in self._first.variance(population)]  # of one user's debiased report, on average
        coins2 = [v * n for v in second.variance(population)]
        k, d = self._size, self.d
        held = (population.records[..., None] == np.arange(k)).transpose(1, 0, 2)
        moved = held - _record_means(population.records, self.reuse, k)  # by the choice of the phase
        spread = [shares @ (moved[m] - shares @ moved[m]) ** 2 for m in range(d)]
        split = n1 * n2 / (n - 1)
        return [(n1 * a + n2 * b + split * c) / n**2 for a, b, c in zip(coins1, coins2, spread, strict=True)]

    def _second(self, table):
        return SecondPhase(k=self.k, epsilon=self.epsilon, reuse=table)

    def _fixed(self, population):
        if self.reuse is None:
            raise NoExactMoments(self)
        _inputs.check_population(population, self.k)
        return first_users(self.n1, population.n), self._second(self.reuse)


def _record_means(records, reuse, k):
    """Return each record's expected debiased second-phase reports, shape (d, m, k), from records of shape (m, d)."""
    centred = (records[..., None] == np.arange(k)) - 1 / k
    return 1 / k + np.einsum("jm,rjv->mrv", shrinkage(np.asarray(reuse), k), centred) / records.shape[1]


def _draw_estimates(held, table, n, epsilon, rng):
    """Draw second-phase estimates, d arrays (runs, k).

    `held` says how many of the n users picked each attribute and hold each value, d arrays (runs, k), and `table` is
    (d, d) or (runs, d, d).
    """
    oracle, totals = grr.GRR(k=held[0].shape[-1], epsilon=epsilon), [0] * len(held)
    for j, values in enumerate(held):
        report = oracle.draw_support(values, rng)
        for m in range(len(held)):
            copies = report if m == j else rng.binomial(report, table[..., j, m, None])
            totals[m] = totals[m] + copies + _sampling.draw_others(report - copies, rng)
    return [pure.estimate(total, n, *oracle.probabilities) for total in totals]

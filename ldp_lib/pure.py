"""What all pure frequency oracles share: the debiased count, its two variances, and the methods that follow from them.

An oracle is pure when a user whose value is v supports v with probability p, and any other user supports v with
probability q, whatever the other value is. Then the number of users who support v, the count, settles everything.
"""

from functools import cached_property
from typing import Any

import numpy as np

from ldp_lib import _inputs, _sampling
from ldp_lib.mechanism import Rng, Stated
from ldp_lib.population import Population


def estimate(count, n, p, q):
    """Return the debiased frequency (count/n - q) / (p - q).

    Parameters
    ----------
    count : number, array or symbol
        Number of users who support the value.
    n : number or symbol
        Number of users.
    p, q : number, array or symbol
        Probability that a user supports a value that is, or is not, the user's own; p must differ from q.

    Returns
    -------
    number, array or symbol
        An unbiased estimate of the value's frequency. It may lie outside [0, 1]; nothing is clipped.

    Notes
    -----
    Wang, Blocki, Li and Jha (2017), Eq. (1), divided by n. Derived in the chapter `randomized_response`.
    """
    return (count - n * q) / (n * (p - q))


def variance(f, n, p, q):
    """Return the exact variance of `estimate` when the users' data are held fixed.

    Parameters
    ----------
    f : number, array or symbol
        The value's true frequency among the n users.
    n, p, q : number, array or symbol
        As in `estimate`.

    Returns
    -------
    number, array or symbol
        (f p (1-p) + (1-f) q (1-q)) / (n (p-q)^2), in squared units of frequency.

    Notes
    -----
    Only the perturbation is random here. Derived in the chapter `randomized_response`.
    """
    return (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (n * (p - q) ** 2)


def iid_variance(f, n, p, q):
    """Return the exact variance of `estimate` when users are drawn independently, with the value at probability f.

    It exceeds `variance` by f (1-f) / n, the error of sampling users.
    """
    return variance(f, n, p, q) + f * (1 - f) / n


class Oracle(Stated):
    """A pure frequency oracle; subclasses give `k`, `epsilon`, `probabilities`, `realised_ratio` and `perturb`.

    If a report is not a value, they give `dtype`, `reports`, `channel` and `count` too.
    """

    k: int
    realised_probabilities: Any
    realised_ratio: Any
    symmetric = True

    def __post_init__(self):
        _inputs.settle(self, "k", "epsilon")

    @cached_property
    def probabilities(self) -> tuple[float, float]:
        """Probabilities p and q that a report supports the user's own value, and any other: as realised, in floats."""
        p, q = self.realised_probabilities
        return float(p), float(q)

    def realised_epsilon(self) -> float:
        """Return the budget that `perturb` spends, proved from its thresholds: at most epsilon."""
        return _sampling.proved_epsilon(self.realised_ratio, self.epsilon)

    @property
    def dtype(self) -> np.dtype:
        """Type of one report: a value."""
        return _inputs.small_dtype(self.k)

    def reports(self) -> np.ndarray:
        """Return all reports of one user, in the order of the channel's columns, if a report is a value."""
        return super().reports() if self.dtype.names else np.arange(self.k, dtype=self.dtype)

    def channel(self) -> np.ndarray:
        """Return Pr[y | x] of one report on its own, shape (k, k)."""
        _inputs.check_cells(self.k, self.k)
        return np.where(np.eye(self.k, dtype=bool), *self.probabilities)

    def count(self, y) -> np.ndarray:
        """Return the number of reports and how many support each value: counts of disjoint sets of reports add up."""
        y = _inputs.check_values(y, self.k, "y")
        return np.append(y.size, np.bincount(y, minlength=self.k))

    def estimate(self, y) -> np.ndarray:
        """Return unbiased frequencies, shape (k,), from the reports of `perturb`; raw, so some may be negative."""
        return self.estimate_counts(self.count(y))

    def estimate_counts(self, counts) -> np.ndarray:
        """Return unbiased frequencies, shape (k,), from the counts of all reports."""
        return estimate(counts[1:], counts[0], *self.probabilities)

    def draw_support(self, histogram, rng: Rng) -> np.ndarray:
        """Draw counts of support by independent users, from numbers with each value, both of shape (runs, k)."""
        p, q = self.probabilities
        others = histogram.sum(axis=-1, keepdims=True) - histogram
        return rng.binomial(histogram, p) + rng.binomial(others, q)

    def simulate(self, population: Population, *, rng: Rng, runs: int) -> np.ndarray:
        """Return estimates of shape (runs, k), from the distribution of ``estimate(perturb(x))``, at a cost free of n.

        The joint distribution is exact; of `OLH` that of any three values, as any four values' hashes are independent.
        """
        histogram = _inputs.check_histogram(population, self.k, rng=rng, runs=runs)
        counts = self.draw_support(np.broadcast_to(histogram, (runs, self.k)), rng)
        return estimate(counts, population.n, *self.probabilities)

    def mean(self, population: Population) -> np.ndarray:
        """Return the exact expectation of the estimate, shape (k,): the true frequencies."""
        return _inputs.check_histogram(population, self.k) / population.n

    def variance(self, population: Population) -> np.ndarray:
        """Return the exact variance of the estimate, shape (k,), the users' data held fixed."""
        return variance(self.mean(population), population.n, *self.probabilities)

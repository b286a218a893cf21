"""What all pure frequency oracles share: the debiased count, its two variances, and the methods that follow from them.

An oracle is pure when a user whose value is v supports v with probability p, and any other user supports v with
probability q, whatever the other value is. Then the number of users who support v, the count, settles everything.
"""

import numpy as np

from ldp_lib import inputs
from ldp_lib.mechanism import Stated
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
    """A pure frequency oracle: subclasses give `k`, `epsilon`, `probabilities`, `dtype`, `perturb` and `count`."""

    k: int
    epsilon: float
    probabilities: tuple[float, float]

    @classmethod
    def serves(cls, k) -> bool:
        """Return whether `k` is one attribute's domain size."""
        return inputs.is_size(k)

    def count(self, y) -> np.ndarray:
        """Return the number of reports and how many support each value: counts of disjoint sets of reports add up."""
        y = inputs.check_values(y, self.k, "y")
        return np.concatenate([[y.size], np.bincount(y, minlength=self.k)])

    def estimate(self, y) -> np.ndarray:
        """Return unbiased frequencies, shape (k,), from the reports of `perturb`; raw, so some may be negative."""
        return self.estimate_counts(self.count(y))

    def estimate_counts(self, counts) -> np.ndarray:
        """Return unbiased frequencies, shape (k,), from the counts of all reports."""
        return estimate(counts[1:], counts[0], *self.probabilities)

    def draw_support(self, histogram, rng: np.random.Generator) -> np.ndarray:
        """Draw counts of support, shape (runs, k), for numbers of users with each value, shape (runs, k)."""
        p, q = self.probabilities
        others = histogram.sum(axis=-1, keepdims=True) - histogram
        return rng.binomial(histogram, p) + rng.binomial(others, q)

    def simulate(self, population: Population, *, rng: np.random.Generator, runs: int) -> np.ndarray:
        """Return estimates of shape (runs, k), from the law of ``estimate(perturb(x))``, at a cost free of n.

        The joint law is exact; of `OLH` that of any three values, as any four values' hashes are independent.
        """
        inputs.require(rng=rng, runs=runs)
        histogram = inputs.check_histogram(population, self.k)
        counts = self.draw_support(np.broadcast_to(histogram, (runs, self.k)), rng)
        return estimate(counts, population.n, *self.probabilities)

    def mean(self, population: Population) -> np.ndarray:
        """Return the exact expectation of the estimate, shape (k,): the true frequencies."""
        return inputs.check_histogram(population, self.k) / population.n

    def variance(self, population: Population) -> np.ndarray:
        """Return the exact variance of the estimate, shape (k,), the users' data held fixed."""
        return variance(self.mean(population), population.n, *self.probabilities)

"""Optimized local hashing (OLH): hash the value to one of g buckets, then randomize the bucket."""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from ldp_lib import grr, inputs, pure, sampling
from ldp_lib.population import Population


def probabilities(e, g):
    """Return p and q, the probabilities that a user supports the user's own value and any other value.

    Parameters
    ----------
    e : number, array or symbol
        exp(epsilon), above 1.
    g : int or symbol
        Number of buckets, at least 2.

    Returns
    -------
    p, q : as the arguments
        e / (e+g-1) and 1/g. A value is supported when its hash is the reported bucket.

    Notes
    -----
    Wang, Blocki, Li and Jha (2017). Derived in the chapter `unary_and_hashing`.
    """
    one = e**0  # in the number type of e, so that a Fraction stays one
    return grr.probabilities(e, g)[0], one / g


def optimal_g(e):
    """Return the number of buckets with the least variance for a value that nobody holds: e + 1, moved to an integer.

    The variance is proportional to h + e^2 / h + 2 e at h = g - 1, so h and h + 1 tie at e^2 = h (h + 1).
    """
    h = max(int(e), 1)
    return h + 2 if e * e > h * (h + 1) else h + 1


def hash_values(a, b, x, g):
    """Return the bucket, 0 to g-1, of each value under the multiply-shift hash function with seed (a, b).

    Parameters
    ----------
    a, b : array of an unsigned integer type of w bits
        Seeds, each uniform over the whole type.
    x : int or array of the same type
        Values, below 2**(w/2).
    g : int
        Number of buckets, at most 2**(w/2).

    Returns
    -------
    array of the same type
        The high w/2 bits of a x + b, computed modulo 2**w, scaled down to g buckets.

    Notes
    -----
    The high halves of two different values are exactly independent and uniform over random seeds (Dietzfelbinger,
    1996). So two values share a bucket with probability 1/g exactly if g is a power of two, and within g / 2**w
    otherwise. Checked over all seeds of an 8-bit word in the chapter `unary_and_hashing`.
    """
    half = a.dtype.itemsize * 4
    return ((a * x + b) >> half) * g >> half


@dataclass(frozen=True, kw_only=True)
class OLH:
    """Report a random hash function and the value's bucket under it, the bucket through GRR.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget of one report, finite and above 0.
    g : int, optional
        Number of buckets, 2 to 2**32. If not given, `optimal_g` or 2**32, whichever is less.

    Raises
    ------
    TypeError, ValueError
        If a parameter is of the wrong type or out of range.

    Notes
    -----
    Wang, Blocki, Li and Jha (2017). Chapter `unary_and_hashing`. Seeds are 128 public random bits from the same
    generator as the coins, which is fine for a simulation and not for a deployment.
    """

    k: int
    epsilon: float
    g: int | None = None
    has_exact_moments: ClassVar[bool] = True

    def __post_init__(self):
        inputs.require(k=self.k, epsilon=self.epsilon)
        if self.g is None:
            object.__setattr__(self, "g", min(optimal_g(math.exp(self.epsilon)), 2**32))
        inputs.require(g=self.g)

    @classmethod
    def serves(cls, k) -> bool:
        """Return whether `k` is one attribute's domain size."""
        return inputs.is_size(k)

    @cached_property
    def probabilities(self) -> tuple[float, float]:
        """Probabilities p and q that a user supports the user's own value, and any other."""
        return probabilities(math.exp(self.epsilon), self.g)

    def channel(self) -> np.ndarray:
        """Return Pr[function, bucket | x], shape (k, g**k * g), the function uniform over all from values to buckets.

        Columns go by function, whose buckets of the values 0, ..., k-1 are in lexicographic order, then by bucket.
        """
        inputs.check_cells(self.k, self.g ** min(self.k + 1, 64))
        buckets = np.array(list(itertools.product(range(self.g), repeat=self.k)))
        return np.concatenate(grr.channel(math.exp(self.epsilon), self.g)[buckets], axis=1) / len(buckets)

    @property
    def _dtype(self):
        return np.dtype([("a", np.uint64), ("b", np.uint64), ("y", inputs.small_dtype(self.g))])

    def perturb(self, x, *, rng: np.random.Generator) -> np.ndarray:
        """Return one report a user.

        Parameters
        ----------
        x : array_like of int, shape (n,)
            The users' values, 0 to k-1.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        structured array, shape (n,)
            Fields `a` and `b`, the 64-bit seeds of the user's hash function, and `y`, the reported bucket.
        """
        inputs.require(rng=rng)
        x = inputs.check_values(x, self.k)
        y = np.empty(x.size, self._dtype)
        a, b = rng.integers(2**64, size=(2, x.size), dtype=np.uint64)
        bucket = hash_values(a, b, x.astype(np.uint64), self.g)
        y["a"], y["b"] = a, b
        y["y"] = grr.GRR(k=self.g, epsilon=self.epsilon).perturb(bucket, rng=rng)
        return y

    def estimate(self, y) -> np.ndarray:
        """Return unbiased frequencies, shape (k,), from the reports of `perturb`; they need not sum to 1."""
        y = np.asarray(y)
        if y.dtype != self._dtype:
            raise TypeError(f"y must be reports of type {self._dtype}; got type {y.dtype}")
        bucket = inputs.check_values(y["y"], self.g, "y['y']")
        a, b = np.ascontiguousarray(y["a"]), np.ascontiguousarray(y["b"])
        count = [np.count_nonzero(hash_values(a, b, v, self.g) == bucket) for v in range(self.k)]
        return pure.estimate(np.array(count), y.size, *self.probabilities)

    def simulate(self, population: Population, *, rng: np.random.Generator, runs: int) -> np.ndarray:
        """Return estimates of shape (runs, k); each value's column has the exact law of ``estimate(perturb(x))``.

        The columns are drawn independently. The user-level estimates of different values are not quite independent,
        and their joint law has no short form. The cost is free of n.
        """
        histogram = inputs.check_histogram(population, self.k)
        counts = sampling.simulate_counts(histogram, *self.probabilities, rng=rng, runs=runs)
        return pure.estimate(counts, population.n, *self.probabilities)

    def mean(self, population: Population) -> np.ndarray:
        """Return the exact expectation of the estimate, shape (k,): the true frequencies."""
        return inputs.check_histogram(population, self.k) / population.n

    def variance(self, population: Population) -> np.ndarray:
        """Return the exact variance of the estimate, shape (k,), the users' data held fixed."""
        return pure.variance(self.mean(population), population.n, *self.probabilities)

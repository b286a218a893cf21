"""Optimized local hashing (OLH): hash the value to one of g buckets, then randomize the bucket."""

import itertools
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ldp_lib import _inputs, grr, pure

PRIME = 2**31 - 1
BLOCK = 2**12  # users at a time: what is computed for them stays in the cache


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
    Wang, Blocki, Li and Jha (2017). Derived in the chapter `frequency_oracles`.
    """
    one = e**0  # in the number type of e, so that a Fraction stays one
    return grr.probabilities(e, g)[0], one / g


def optimal_g(e):
    """Return the number of buckets with the least variance for a value that nobody holds: e + 1, moved to an integer.

    The variance is proportional to h + e^2 / h + 2 e at h = g - 1, so h and h + 1 tie at e^2 = h (h + 1). The smaller
    wins a tie, and what is one but for the last bits of `e`, in which machines differ.
    """
    h = int(e)
    return h + 2 if e * e * (1 - 1e-12) > h * (h + 1) else h + 1


def _points(x, prime=PRIME):
    """Return the point at which the polynomials of `hash_values` stand for each value: (x+1)**5 modulo the prime.

    Different values below the prime have different points, as 5 does not divide prime - 1. Values in a row would do
    for independence of four; at such points five polynomial values have no relation with small coefficients either.
    """
    t = _rest(np.asarray(x).astype(np.uint64) + np.uint64(1), prime)
    square = _rest(t * t, prime)
    return _rest(_rest(square * square, prime) * t, prime)


def hash_values(seed, x, g, prime=PRIME):
    """Return the bucket, 0 to g-1, of each value under the hash functions with the given seeds.

    Parameters
    ----------
    seed : array of int, shape (..., 4)
        Seeds: four numbers below the prime, each uniform; the coefficients of a polynomial of degree 3.
    x : int or array of int, shape (...)
        Values, below the prime.
    g : int
        Number of buckets, at most 2**20.
    prime : int
        A prime below 2**31 such that 5 does not divide prime - 1.

    Returns
    -------
    array of uint64
        The polynomial's value modulo the prime, scaled down to g buckets.

    Notes
    -----
    Over random seeds the polynomials' values for any four different x are exactly independent and uniform (Wegman and
    Carter, 1981). So the buckets of four values are independent, and each bucket has the probability 1/g to within
    1/prime. Checked over all seeds for the prime 7 in `tests/core/test_exact.py`.
    """
    *lower, value = np.moveaxis(np.asarray(seed), -1, 0).astype(np.uint64, order="C")
    t = _points(x, prime)
    for c in reversed(lower):
        value = _rest(value * t + c, prime)
    return value * np.uint64(g) // np.uint64(prime)


def _rest(value, prime):
    # NumPy divides many integers by one several times faster than it takes their remainders.
    return value - value // np.uint64(prime) * np.uint64(prime)


def _draw_seeds(n, rng):
    """Return n seeds for `hash_values`, shape (n, 4)."""
    seed = rng.integers(2**64, size=(n, 2), dtype=np.uint64).view(np.uint32) >> np.uint32(1)
    while (again := seed == PRIME).any():
        seed[again] = rng.integers(2**31, size=np.count_nonzero(again), dtype=np.uint32)
    return seed


def _count_support(seed, bucket, k, g):
    """Return how many users support each of k values: whose hash function sends the value to the user's bucket."""
    # A bucket is an interval of polynomial values, so neither a product nor a quotient is needed for each.
    prime, low = np.uint64(PRIME), np.uint64(31)
    edges = (np.arange(g + 1, dtype=np.uint64) * prime + np.uint64(g - 1)) // np.uint64(g)
    t = _points(np.arange(k))
    powers = np.stack([t, t * t % prime, t * t % prime * t % prime], axis=1)
    count, other = np.zeros(k, np.int64), np.empty(BLOCK, np.uint64)
    for first in range(0, len(bucket), BLOCK):
        block = slice(first, first + BLOCK)
        c0, c1, c2, c3 = np.ascontiguousarray(seed[block].T.astype(np.uint64))
        start = edges[bucket[block]]
        width = edges[bucket[block] + np.uint64(1)] - start
        w = other[: c0.size]
        for v, (t1, t2, t3) in enumerate(powers):
            z = c1 * t1
            np.multiply(c2, t2, out=w)
            z += w
            np.multiply(c3, t3, out=w)
            z += w
            z += c0  # below 2**64
            for _ in range(2):  # 2**31 is 1 modulo the prime
                np.right_shift(z, low, out=w)
                z &= prime
                z += w
            np.subtract(z, prime, out=w)
            np.minimum(z, w, out=z)
            z -= start
            count[v] += np.count_nonzero(z < width)
    return count


@dataclass(frozen=True, kw_only=True)
class OLH(pure.Oracle):
    """Report a random hash function and the value's bucket under it, the bucket through GRR.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget of one report, finite and above 0.
    g : int, optional
        Number of buckets, 2 to 2**20. If not given, `optimal_g` or 2**20, whichever is less.

    Notes
    -----
    Wang, Blocki, Li and Jha (2017). Chapter `frequency_oracles`. Seeds are public. They come from the same generator
    as the noise, which is fine for a simulation and not for a deployment.
    """

    k: int
    epsilon: float
    g: int | None = None

    def __post_init__(self):
        super().__post_init__()
        if self.g is not None:
            _inputs.settle(self, "g")
        if self.k > PRIME:
            raise ValueError(f"k must be at most {PRIME} for hashing; got {self.k}")

    @cached_property
    def g_(self) -> int:
        """Number of buckets."""
        return min(optimal_g(self._e), 2**20) if self.g is None else self.g

    @cached_property
    def probabilities(self) -> tuple[float, float]:
        """Probabilities p and q that a user supports the user's own value, and any other."""
        return self._buckets.probabilities[0], 1 / self.g_

    @cached_property
    def _buckets(self):
        return grr.GRR(k=self.g_, epsilon=self.epsilon)

    @property
    def realised_ratio(self) -> Fraction:
        """Largest ratio of a report's probabilities under two values, exactly: that of GRR on the buckets."""
        return self._buckets.realised_ratio

    def channel(self) -> np.ndarray:
        """Return Pr[function, bucket | x], shape (k, g**k * g), the function uniform over all from values to buckets.

        Columns go by function, whose buckets of the values 0, ..., k-1 are in lexicographic order, then by bucket.
        """
        _inputs.check_cells(self.k, self.g_ ** min(self.k + 1, 64))
        buckets = np.array(list(itertools.product(range(self.g_), repeat=self.k)))
        return np.concatenate(self._buckets.channel()[buckets], axis=1) / len(buckets)

    @property
    def dtype(self) -> np.dtype:
        """Type of one report: fields `seed` and `y`."""
        return np.dtype([("seed", np.uint32, (4,)), ("y", _inputs.small_dtype(self.g_))])

    @_inputs.users_checked
    def perturb(self, x, *, rng: pure.Rng) -> np.ndarray:
        """Return one report a user, a structured array of shape (n,), from values 0 to k-1 of shape (n,).

        Fields `seed`, the four numbers of the user's hash function, and `y`, the reported bucket.
        """
        y = np.empty(x.size, self.dtype)
        for start in range(0, x.size, 4 * BLOCK):
            block = slice(start, start + 4 * BLOCK)
            y["seed"][block] = seed = _draw_seeds(x[block].size, rng)
            y["y"][block] = self._buckets.perturb(hash_values(seed, x[block], self.g_), rng=rng)
        return y

    def count(self, y) -> np.ndarray:
        """Return the number of reports and how many support each value: counts of disjoint sets of reports add up."""
        y = _inputs.unmasked(y, "y")
        if y.dtype != self.dtype:
            raise TypeError(f"y must be reports of type {self.dtype}; got type {y.dtype}")
        bucket = _inputs.check_values(y["y"], self.g_, "y['y']")
        if y["seed"].max() >= PRIME:
            raise ValueError(f"y['seed'] must be below {PRIME}; got {y['seed'].max()}")
        return np.append(y.size, _count_support(y["seed"], bucket, self.k, self.g_))

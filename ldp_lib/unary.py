"""Unary encoding: one bit a value, each bit randomized on its own (SUE, OUE, and any q between)."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_lib import inputs, pure, sampling


def probabilities(e, q):
    """Return p and q, the probabilities that a user's own bit and any other bit are reported as 1.

    Parameters
    ----------
    e : number, array or symbol
        exp(epsilon), above 1.
    q : number, array or symbol
        Probability that another value's bit is reported as 1, between 0 and 1.

    Returns
    -------
    p, q : as the arguments
        p = e q / (1 - q + e q), so that p (1-q) / (q (1-p)) = e: the whole report spends exactly epsilon.

    Notes
    -----
    Derived in the chapter `unary_and_hashing`.
    """
    return e * q / (1 - q + e * q), q


def sue_probabilities(root):
    """Return p and q of symmetric unary encoding, p = 1 - q; `root` is exp(epsilon / 2), so all stays rational in it.

    Erlingsson, Pihur and Korolova (2014), basic RAPPOR. Derived in the chapter `unary_and_hashing`.
    """
    return root / (root + 1), 1 / (root + 1)


def oue_probabilities(e):
    """Return p = 1/2 and q = 1/(e+1) of optimized unary encoding, best for a value that nobody holds.

    Wang, Blocki, Li and Jha (2017). Derived in the chapter `unary_and_hashing`.
    """
    return probabilities(e, 1 / (e + 1))


def channel(p, q, k):
    """Return the k by 2**k matrix of report probabilities; column y has value v's bit at position v, least first."""
    bits = np.arange(2**k)[:, None] >> np.arange(k) & 1
    rows = []
    for x in range(k):
        one = [p if v == x else q for v in range(k)]
        rows.append([math.prod(one[v] if bit[v] else 1 - one[v] for v in range(k)) for bit in bits])
    return np.array(rows)


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding:
    """Encode a value as k bits, a single 1 among them; report each bit through a coin of its own.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget of one whole report, finite and above 0.
    q : float
        Probability that a 0 is reported as 1, in (0, 1). A 1 stays 1 with the p that `probabilities` gives.

    Raises
    ------
    TypeError, ValueError
        If a parameter is of the wrong type or out of range.

    Notes
    -----
    `SUE` and `OUE` make the two usual choices of q. Chapter `unary_and_hashing`.
    """

    k: int
    epsilon: float
    q: float

    def __post_init__(self):
        inputs.require(k=self.k, epsilon=self.epsilon, q=self.q)

    @cached_property
    def _pq(self):
        return probabilities(math.exp(self.epsilon), self.q)

    def perturb(self, x, *, rng):
        """Return one row of k bits a user.

        Parameters
        ----------
        x : array_like of int, shape (n,)
            The users' values, 0 to k-1.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        array of uint8, shape (n, k)
            The reported bits.
        """
        inputs.require(rng=rng)
        x = inputs.check_values(x, self.k)
        p, q = self._pq
        y = sampling.bernoulli(q, (x.size, self.k), rng).view(np.uint8)
        y[np.arange(x.size), x] = sampling.bernoulli(p, x.size, rng)
        return y

    def estimate(self, y):
        """Return unbiased frequencies, shape (k,), from reports of shape (n, k); they need not sum to 1."""
        y = np.asarray(y)
        allowed = f"y must be an integer array of 0 and 1 with at least one row and {self.k} columns"
        if y.ndim != 2 or y.shape[1] != self.k or len(y) == 0:
            raise ValueError(f"{allowed}; got shape {y.shape}")
        if y.dtype.kind not in "iu":
            raise TypeError(f"{allowed}; got type {y.dtype}")
        if y.max() > 1 or (y.dtype.kind == "i" and y.min() < 0):
            raise ValueError(f"{allowed}; got values from {y.min()} to {y.max()}")
        return pure.estimate(count_ones(y), len(y), *self._pq)

    def simulate(self, population, *, rng, runs):
        """Return estimates of shape (runs, k), drawn from the exact joint law of ``estimate(perturb(x))``.

        The bits are independent given the users' values, so the k counts are too. The cost is free of n.
        """
        histogram = inputs.check_histogram(population, self.k)
        return pure.estimate(
            sampling.simulate_counts(histogram, *self._pq, rng=rng, runs=runs), population.n, *self._pq
        )

    def mean(self, population):
        """Return the exact expectation of the estimate, shape (k,): the true frequencies."""
        return inputs.check_histogram(population, self.k) / population.n

    def variance(self, population):
        """Return the exact variance of the estimate, shape (k,), the users' data held fixed."""
        return pure.variance(self.mean(population), population.n, *self._pq)


def SUE(*, k, epsilon):
    """Return symmetric unary encoding, `UnaryEncoding` with q = 1 / (exp(epsilon/2) + 1)."""
    inputs.require(epsilon=epsilon)
    return UnaryEncoding(k=k, epsilon=epsilon, q=sue_probabilities(math.exp(epsilon / 2))[1])


def OUE(*, k, epsilon):
    """Return optimized unary encoding, `UnaryEncoding` with q = 1 / (exp(epsilon) + 1)."""
    inputs.require(epsilon=epsilon)
    return UnaryEncoding(k=k, epsilon=epsilon, q=oue_probabilities(math.exp(epsilon))[1])


def count_ones(y):
    """Return the column sums of rows of 0 and 1; sums of 255 rows fit a byte, which is 10 times faster."""
    m, k = len(y) // 255, y.shape[1]
    whole = y[: 255 * m].reshape(255, m * k).sum(axis=0, dtype=np.uint8).reshape(m, k)
    return whole.sum(axis=0, dtype=np.int64) + y[255 * m :].sum(axis=0, dtype=np.int64)

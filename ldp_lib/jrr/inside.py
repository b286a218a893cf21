"""Joint randomized response (`jrr`) inside unary encoding and local hashing, and in groups of more than two."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_lib import grr, hashing, inputs, pure, unary
from ldp_lib.jrr import pairs
from ldp_lib.jrr.protocols import server_messages
from ldp_lib.jrr.signed import signed_variance, simulate_counts


def hashed_variance(n_v, n, p, g, correlation, odd=0):
    """Return the exact variance of the estimated number of users with a value, for `JointHashing`.

    Parameters
    ----------
    n_v, n : number, array or symbol
        Users with the value, and all users.
    p, g : number or symbol
        Probability of the true bucket, and the number of buckets.
    correlation : number or symbol
        Correlation of the truthfulness of two paired users, rho / (g-1).
    odd : {0, 1}
        1 if n is odd.

    Notes
    -----
    Only holders' truths make supports depend on each other. Derived in the chapter `jrr_extensions`.
    """
    q = p**0 / g
    alone = n_v * p * (1 - p) + (n - n_v) * q * (1 - q)
    return (alone + correlation * p * (1 - p) * n_v * (n_v - 1) / (n - 1 + odd)) / (p - q) ** 2


def least_correlation(p, g):
    """Return the least correlation of g exchangeable truths, each true with probability p below 1.

    It is reached when the number of truths among the g is g p, rounded up or down: for g = 2, -(1-p)/p if p >= 1/2.
    Fractions give an exact result. Derived in the chapter `jrr_beyond_pairs`.
    """
    over = g * p % 1
    return (over * (1 - over) / (p * (1 - p)) - g) / (g * (g - 1))


@dataclass(frozen=True, kw_only=True)
class JointUnary:
    """Unary encoding in which two paired users' bits are correlated, each bit by a sign of its own.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Budget of one user's report on its own, finite and above 0.
    rho : float
        Minus the square of the share of a bit's standard deviation by which the sign moves its chance; at most 0.
    q : float, optional
        Probability that a 0 is reported as 1; if not given that of `unary.OUE`. A 1 stays 1 with the p that
        `unary.probabilities` gives.
    lean : {"truth", "report"}
        What the sign moves: whether the bit is kept, as in Section 4.6.2, or whether it is reported as 1.

    Raises
    ------
    TypeError, ValueError
        If a parameter is of the wrong type or out of range.

    Notes
    -----
    Zheng, Seeam, Hu, Zhang and Zhang (2025), Section 4.6.2, with the joint law that two different chances allow: the
    truths of a bit have correlation rho. All bits share one pairing. Chapter `jrr_extensions`.
    """

    k: int
    epsilon: float
    rho: float
    q: float | None = None
    lean: str = "truth"

    def __post_init__(self):
        if self.q is None:
            inputs.require(epsilon=self.epsilon)
            object.__setattr__(self, "q", unary.oue_probabilities(math.exp(self.epsilon))[1])
        inputs.require(k=self.k, epsilon=self.epsilon, q=self.q)
        if self.lean not in ("truth", "report"):
            raise ValueError(f"lean must be 'truth' or 'report'; got {self.lean!r}")
        low = -min(min(chance, 1 - chance) / max(chance, 1 - chance) for chance in self._pq)
        if isinstance(self.rho, (bool, np.bool_)) or not isinstance(self.rho, (int, float, np.number)):
            raise TypeError(f"rho must be a number; got {self.rho!r}")
        if not low * (1 + 1e-12) <= self.rho <= 0:
            raise ValueError(f"rho must be from {low:.12g} to 0 for these bits; got {self.rho!r}")

    @cached_property
    def _pq(self):
        return unary.probabilities(math.exp(self.epsilon), self.q)

    @cached_property
    def _moves(self):
        s, t = (math.sqrt(-self.rho * chance * (1 - chance)) for chance in self._pq)
        return s, t if self.lean == "report" else -t

    def perturb(self, x, *, rng):
        """Return one row of k bits a user, an array of uint8 of shape (n, k)."""
        inputs.require(rng=rng)
        x = inputs.check_values(x, self.k)
        (p, q), (s, t) = self._pq, self._moves
        own = x[:, None] == np.arange(self.k)
        dealt = server_messages(x.size, rng)
        flips = 2 * rng.integers(2, size=own.shape, dtype=np.int8) - 1
        pair = np.minimum(np.arange(x.size), dealt["partner"])  # a pair shares its flips
        sign = dealt["sign"][:, None] * flips[pair]
        return (rng.random(own.shape) < np.where(own, p + s * sign, q + t * sign)).astype(np.uint8)

    def estimate(self, y):
        """Return unbiased frequencies, shape (k,), from reports of shape (n, k); they need not sum to 1."""
        return self._independent.estimate(y)

    @cached_property
    def _independent(self):
        return unary.UnaryEncoding(k=self.k, epsilon=self.epsilon, q=self.q)

    def simulate(self, population, *, rng, runs):
        """Return estimates of shape (runs, k); each value's column has the exact law of ``estimate(perturb(x))``.

        The columns are drawn independently. The user-level ones are uncorrelated, but not independent: one pairing
        serves all bits. The cost is free of n.
        """
        histogram = inputs.check_histogram(population, self.k)
        counts = simulate_counts(histogram, *self._pq, *self._moves, rng=rng, runs=runs)
        return pure.estimate(counts, population.n, *self._pq)

    def mean(self, population):
        """Return the exact expectation of the estimate, shape (k,): the true frequencies."""
        return inputs.check_histogram(population, self.k) / population.n

    def variance(self, population):
        """Return the exact variance of the estimate, shape (k,), the users' data held fixed."""
        histogram, n = inputs.check_histogram(population, self.k).astype(float), population.n
        return signed_variance(histogram, n, *self._pq, *self._moves, odd=n % 2) / n**2


@dataclass(frozen=True, kw_only=True)
class JointHashing:
    """Optimized local hashing with `jrr.KJRR` in place of generalized randomized response on the buckets.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Budget of one report on its own, finite and above 0.
    rho : float
        As for `jrr.KJRR` with g values.
    g : int, optional
        Number of buckets, as for `hashing.OLH`.

    Raises
    ------
    TypeError, ValueError
        If a parameter is of the wrong type or out of range.

    Notes
    -----
    Zheng et al. (2025), Section 4.6.2. Chapter `jrr_extensions`.
    """

    k: int
    epsilon: float
    rho: float
    g: int | None = None

    def __post_init__(self):
        object.__setattr__(self, "g", self._hashing.g)
        _ = self._pairs  # checks rho

    @cached_property
    def _hashing(self):
        return hashing.OLH(k=self.k, epsilon=self.epsilon, g=self.g)

    @cached_property
    def _pairs(self):
        return pairs.KJRR(k=self.g, p=grr.probabilities(math.exp(self.epsilon), self.g)[0], rho=self.rho)

    def perturb(self, x, *, rng):
        """Return one report a user, in the form of `hashing.OLH.perturb`."""
        y = self._hashing.perturb(x, rng=rng)  # draws the seeds; its reports are replaced
        bucket = hashing.hash_values(y["a"].copy(), y["b"].copy(), np.asarray(x).astype(np.uint64), self.g)
        y["y"] = self._pairs.perturb(bucket, rng=rng)
        return y

    def estimate(self, y):
        """Return unbiased frequencies, shape (k,), from the reports of `perturb`; they need not sum to 1."""
        return self._hashing.estimate(y)

    def simulate(self, population, *, rng, runs):
        """Return estimates of shape (runs, k); each value's column has the exact law of ``estimate(perturb(x))``.

        The columns are drawn independently, as for `hashing.OLH`. The cost is free of n.
        """
        inputs.require(rng=rng, runs=runs)
        histogram, n = inputs.check_histogram(population, self.k), population.n
        types = rng.multinomial(n // 2, self._pairs._truths, size=(runs, self.k))
        true = 2 * types[..., 0] + types[..., 1] + rng.binomial(n % 2, self._pairs.p, (runs, self.k))
        counts = rng.hypergeometric(true, n - true, histogram) + rng.binomial(n - histogram, 1 / self.g, (runs, self.k))
        return pure.estimate(counts, n, self._pairs.p, 1 / self.g)

    def mean(self, population):
        """Return the exact expectation of the estimate, shape (k,): the true frequencies."""
        return inputs.check_histogram(population, self.k) / population.n

    def variance(self, population):
        """Return the exact variance of the estimate, shape (k,), the users' data held fixed."""
        histogram, n = inputs.check_histogram(population, self.k).astype(float), population.n
        correlation = self.rho / (self.g - 1)
        return hashed_variance(histogram, n, self._pairs.p, self.g, correlation, odd=n % 2) / n**2

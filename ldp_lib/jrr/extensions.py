"""Joint randomized response (`jrr`) inside unary encoding and local hashing."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ldp_lib import _inputs, _sampling, hashing, pure, unary
from ldp_lib.jrr._checks import check_number, check_users
from ldp_lib.jrr._formulas import hashed_variance, signed_variance
from ldp_lib.jrr._signs import exact_moves, server_messages, simulate_counts, toss
from ldp_lib.jrr.mechanism import KJRR
from ldp_lib.population import Population


@dataclass(frozen=True, kw_only=True)
class JointUnary(unary.UnaryEncoding):
    """Unary encoding in which two paired users' bits are correlated, each bit by a sign of its own.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Budget of one user's report on its own, finite and above 0, to an observer who knows nothing of the others.
    q : float, optional
        Probability that a 0 is reported as 1; if not given that of `unary.OUE`. A 1 stays 1 with the p that
        `unary.probabilities` gives.
    rho : float, optional
        Minus the square of the share of a bit's standard deviation by which the sign moves its probability; at most 0.
        If not given the least for these bits.
    lean : {"truth", "report"}
        What the sign moves: whether the bit is kept, as in Section 4.6.2, or whether it is reported as 1.

    Notes
    -----
    Zheng, Seeam, Hu, Zhang and Zhang (2025), Section 4.6.2, with the joint distribution that two different
    probabilities allow: the truths of a bit have correlation rho. All bits share one pairing. Chapter
    `audit_jrr_evaluation`.
    """

    rho: float | None = None
    lean: str = "truth"
    independent = False
    needs_dealer = True

    def __post_init__(self):
        super().__post_init__()
        if self.lean not in ("truth", "report"):
            raise ValueError(f"lean must be 'truth' or 'report'; got {self.lean!r}")
        check_number("rho", self.rho_)
        if not (low := self._least) * (1 + 1e-12) <= self.rho_ <= 0:
            raise ValueError(f"rho must be from {low:.12g} to 0 for these bits; got {self.rho!r}")

    @property
    def _least(self):
        return -min(min(chance, 1 - chance) / max(chance, 1 - chance) for chance in self.probabilities)

    @property
    def rho_(self) -> float:
        """Minus the squared share of a bit's standard deviation by which the sign moves its probability."""
        return self._least if self.rho is None else self.rho

    @cached_property
    def moves(self) -> tuple[float, float]:
        """What the sign +1 adds to p and to q."""
        s, t = (math.sqrt(-self.rho_ * chance * (1 - chance)) for chance in self.probabilities)
        return s, t if self.lean == "report" else -t

    @_inputs.users_checked
    def perturb(self, x, *, rng: pure.Rng) -> np.ndarray:
        """Return one row of k bits a user, an array of uint8 of shape (n, k)."""
        chances = self.realised_probabilities
        own = x[:, None] == np.arange(self.k)
        dealt = server_messages(x.size, rng)
        flips = 2 * rng.integers(2, size=own.shape, dtype=np.int8) - 1
        pair = np.minimum(np.arange(x.size), dealt["partner"])  # a pair shares its flips
        sign = dealt["sign"][:, None] * flips[pair]
        return toss(own, sign, chances, exact_moves(chances, self.moves), rng)

    def simulate(self, population: Population, *, rng: pure.Rng, runs: int) -> np.ndarray:
        """Return estimates of shape (runs, k); each column is distributed exactly as that of ``estimate(perturb(x))``.

        The columns are drawn independently. The user-level ones are uncorrelated, but not independent: one pairing
        serves all bits. The cost is free of n.
        """
        histogram, n = _inputs.check_histogram(population, self.k), check_users(population)
        counts = simulate_counts(histogram, *self.probabilities, *self.moves, rng=rng, runs=runs)
        return pure.estimate(counts, n, *self.probabilities)

    def variance(self, population: Population) -> np.ndarray:
        """Return the exact variance of the estimate, shape (k,), the users' data held fixed."""
        histogram, n = _inputs.check_histogram(population, self.k).astype(float), population.n
        return signed_variance(histogram, n, *self.probabilities, *self.moves, odd=n % 2) / n**2


@dataclass(frozen=True, kw_only=True)
class JointHashing(hashing.OLH):
    """Optimized local hashing with `jrr.KJRR` in place of generalized randomized response on the buckets.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Budget of one user's report on its own, finite and above 0, to an observer who knows nothing of the others.
    g : int, optional
        Number of buckets, as for `hashing.OLH`.
    rho : float, optional
        As for `jrr.KJRR` with g values.

    Notes
    -----
    Zheng et al. (2025), Section 4.6.2. Chapter `audit_jrr_evaluation`.
    """

    rho: float | None = None
    independent = False
    needs_dealer = True

    def __post_init__(self):
        super().__post_init__()
        self._pairs  # noqa: B018  (checks rho)

    @cached_property
    def _pairs(self):
        e = _sampling.exp_below(self.epsilon)
        p = float(exact := e / (e + self.g_ - 1))
        return KJRR(k=self.g_, p=p if p <= exact else math.nextafter(p, 0), rho=self.rho)

    @property
    def rho_(self) -> float:
        """The parameter of `jrr.KJRR` on the buckets."""
        return self._pairs.rho_

    @property
    def realised_ratio(self) -> Fraction:
        """Largest ratio of one report's probabilities under two values, exactly: at most exp(epsilon)."""
        return self._pairs.realised_ratio

    def perturb(self, x, *, rng: pure.Rng) -> np.ndarray:
        """Return one report a user, in the form of `hashing.OLH.perturb`."""
        y = super().perturb(x, rng=rng)  # draws the seeds; its reports are replaced
        bucket = hashing.hash_values(y["seed"], x, self.g_)
        y["y"] = self._pairs.perturb(bucket, rng=rng)
        return y

    def simulate(self, population: Population, *, rng: pure.Rng, runs: int) -> np.ndarray:
        """Return estimates of shape (runs, k); each column is distributed exactly as that of ``estimate(perturb(x))``.

        Who tells the truth is drawn for all values together. Supports by others are drawn independently for each value,
        as for `hashing.OLH`. The cost is free of n.
        """
        histogram = _inputs.check_histogram(population, self.k, rng=rng, runs=runs)
        n = check_users(population)
        counts = rng.binomial(n - histogram, 1 / self.g_, (runs, self.k))
        held = np.flatnonzero(histogram)
        counts[:, held] += self._pairs.draw_truths(histogram[held], rng=rng, runs=runs)
        return pure.estimate(counts, n, *self.probabilities)

    def variance(self, population: Population) -> np.ndarray:
        """Return the exact variance of the estimate, shape (k,), the users' data held fixed."""
        histogram, n = _inputs.check_histogram(population, self.k).astype(float), population.n
        correlation = self.rho_ / (self.g_ - 1)
        return hashed_variance(histogram, n, self._pairs.p_, self.g_, correlation, odd=n % 2) / n**2

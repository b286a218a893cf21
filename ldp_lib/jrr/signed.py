"""Secret signs that move a user's report: joint randomized response (`jrr`) seen from the signs, and `SignedRR`."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ldp_lib import inputs, pure, sampling
from ldp_lib.jrr import mechanism as pairs
from ldp_lib.jrr.protocols import server_messages
from ldp_lib.population import Population


def signed_variance(n_v, n, p, q, s, t, odd=0):
    """Return the exact variance of the estimated number of users with a value, if secret signs move the reports.

    Parameters
    ----------
    n_v, n : number, array or symbol
        Users with the value, and all users.
    p, q : number or symbol
        Probability that a user who holds the value supports it, and that any other user does.
    s, t : number or symbol
        What the sign +1 adds to p and to q; the sign -1 takes it away. t = -s is `jrr.JRR`, t = s is `SignedRR`.
    odd : {0, 1}
        1 if n is odd: then one user, chosen at random, has no sign.

    Notes
    -----
    Two users have opposite signs with probability 1/(n-1) more than equal ones. Derived in `audit_jrr_beyond`.
    """
    alone = n_v * p * (1 - p) + (n - n_v) * q * (1 - q)
    excess = (n_v * s + (n - n_v) * t) ** 2 - n_v * s**2 - (n - n_v) * t**2
    return (alone - excess / (n - 1 + odd)) / (p - q) ** 2


def simulate_counts(histogram, p, q, s, t, *, rng, runs):
    """Draw counts of support, shape (runs, k), for each value on its own; p, q, s, t as in `signed_variance`.

    A random half of the users has plus; of an odd number, a random one has no sign.
    """
    inputs.require(rng=rng, runs=runs)
    n = int(histogram.sum())
    single = rng.random((runs, histogram.size)) * n < histogram * (n % 2)
    none = n % 2 - single
    own, rest = histogram - single, n - histogram - none
    plus = rng.hypergeometric(own, rest, n // 2)
    parts = [(plus, p + s), (own - plus, p - s), (n // 2 - plus, q + t), (rest - n // 2 + plus, q - t)]
    return sum(rng.binomial(m, min(1, max(0, chance))) for m, chance in [*parts, (single * 1, p), (none, q)])


def exact_moves(chances, moves):
    """Return the moves as exact rationals that take no chance, itself exact, out of 0 to 1."""
    pairs = zip(map(Fraction, moves), chances, strict=True)
    return [(1 - 2 * (move < 0)) * sampling.realised(min(abs(move), chance, 1 - chance)) for move, chance in pairs]


def toss(own, sign, chances, moves, rng):
    """Draw bits: 1 with p + s sign where `own` is true, else with q + t sign, exactly for p, q and s, t as given.

    Over a sign that is +1 or -1 with equal chances, a bit is 1 with probability p or q, exactly.
    """
    y = np.zeros(own.shape, np.uint8)
    for holds, chance, move in zip((True, False), chances, moves, strict=True):
        for direction in (-1, 0, 1):
            who = (own == holds) & (sign == direction)
            y[who] = sampling.bernoulli(chance + direction * move, np.count_nonzero(who), rng)
    return y


@dataclass(frozen=True, kw_only=True)
class SignedRR(pairs.Reports):
    """Randomized response on {0, 1} in which a secret sign moves the *report*, not the truth as in `jrr.JRR`.

    A random half of the users reports 1 with probability s more, the other half with s less, s^2 = -rho p (1-p). Of an
    odd number of users one, chosen at random, has no sign.

    Parameters
    ----------
    k : int, optional
        2.
    epsilon : float, optional
        Budget of one user's report on its own, ln(p/q), to an observer who knows nothing of the other users. For all
        reports together see `jrr.signed_delta` and `jrr.signed_parameters`.
    p : float, optional
        Probability that a user tells the truth, above 1/2 and at most 1. Give `epsilon`, at most 15, or `p`.
    rho : float, optional
        From -(1-p)/p, which it is if not given, to 0. The reports of any two paired users have covariance rho p (1-p),
        whatever their values.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong type or out of range, or `epsilon` and `p` disagree.

    Notes
    -----
    Ours. Chapter `audit_jrr_beyond`. Each call of `perturb` deals new signs: a sign that serves two questions betrays
    both, and signs dealt in small batches, or shown by many, hide less. Chapter `transcript` has the figures.
    """

    k: int = 2

    def __post_init__(self):
        super().__post_init__()
        pairs.check_negative(self)

    @cached_property
    def move(self) -> float:
        """What the sign +1 adds to the chance of a 1."""
        return math.sqrt(-self.rho_ * self.p_ * (1 - self.p_))

    def perturb(self, x, *, rng: np.random.Generator) -> np.ndarray:
        """Return all users' reports, shape (n,), in the smallest unsigned integer type."""
        inputs.require(rng=rng)
        if np.ndim(x) > 1:
            raise ValueError(
                "x must hold one question's answers, shape (n,): a secret sign serves one question, and a second one "
                f"needs signs dealt anew; got shape {np.shape(x)}"
            )
        x = inputs.check_values(x, 2)
        chances, sign = (self.realised_p, 1 - self.realised_p), server_messages(x.size, rng)["sign"]
        return toss(x == 1, sign, chances, exact_moves(chances, (self.move, self.move)), rng)

    def simulate(self, population: Population, *, rng: np.random.Generator, runs: int) -> np.ndarray:
        """Return estimates of shape (runs, 2), drawn from the exact joint law of ``estimate(perturb(x))``."""
        histogram, n, q = inputs.check_histogram(population, 2), pairs.check_users(population), 1 - self.p_
        ones = simulate_counts(histogram, self.p_, q, self.move, self.move, rng=rng, runs=runs)[:, 1]
        return pure.estimate(np.column_stack([n - ones, ones]), n, self.p_, q)

    def variance(self, population: Population) -> np.ndarray:
        """Return the exact variance of the estimate, shape (2,), the users' data held fixed."""
        histogram, n = inputs.check_histogram(population, 2).astype(float), population.n
        return signed_variance(histogram, n, self.p_, 1 - self.p_, self.move, self.move, odd=n % 2) / n**2

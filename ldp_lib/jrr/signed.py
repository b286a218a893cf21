"""Secret signs that move a user's report: joint randomized response (`jrr`) seen from the signs, and `SignedRR`."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_lib import _inputs, pure
from ldp_lib.jrr._checks import check_negative, check_users
from ldp_lib.jrr._formulas import signed_variance
from ldp_lib.jrr._signs import exact_moves, server_messages, simulate_counts, toss
from ldp_lib.jrr.mechanism import Reports
from ldp_lib.population import Population


@dataclass(frozen=True, kw_only=True)
class SignedRR(Reports):
    """Randomized response on {0, 1} in which a secret sign moves the *report*, not the truth as in `jrr.JRR`.

    A random half of the users reports 1 with probability s more, the other half with s less, s^2 = -rho p (1-p). Of an
    odd number of users one, chosen at random, has no sign.

    Parameters
    ----------
    k : int, optional
        2.
    epsilon : float, optional
        Budget of one user's report on its own, ln(p/q), to an observer who knows nothing of the other users. For all
        reports together see `jrr.signed_delta_bound` and `jrr.signed_parameters`.
    p : float, optional
        Probability that a user tells the truth, above 1/2 and at most 1. Give `epsilon`, at most 15, or `p`.
    rho : float, optional
        From -(1-p)/p, which it is if not given, to 0. The reports of any two paired users have covariance rho p (1-p),
        whatever their values.

    Notes
    -----
    Ours. Chapter `helpers` has the figures. Each call of `perturb` deals new signs: a sign that serves two questions
    spends more than both budgets, and signs dealt in small batches, or shown by many, hide less.
    """

    k: int = 2

    def __post_init__(self):
        super().__post_init__()
        check_negative(self)

    @cached_property
    def move(self) -> float:
        """What the sign +1 adds to the probability of a 1."""
        return math.sqrt(-self.rho_ * self.p_ * (1 - self.p_))

    def perturb(self, x, *, rng: pure.Rng) -> np.ndarray:
        """Return all users' reports, shape (n,), in the smallest unsigned integer type."""
        _inputs.require(rng=rng)
        x = _inputs.unmasked(x, "x")
        if x.ndim > 1:
            raise ValueError(
                "x must hold one question's answers, shape (n,): a secret sign serves one question, and a second one "
                f"needs signs dealt anew; got shape {x.shape}"
            )
        x = _inputs.check_values(x, 2)
        chances, sign = (self.realised_p, 1 - self.realised_p), server_messages(x.size, rng)["sign"]
        return toss(x == 1, sign, chances, exact_moves(chances, (self.move, self.move)), rng)

    def simulate(self, population: Population, *, rng: pure.Rng, runs: int) -> np.ndarray:
        """Return estimates of shape (runs, 2), drawn distributed exactly as ``estimate(perturb(x))``."""
        histogram, n, q = _inputs.check_histogram(population, 2), check_users(population), 1 - self.p_
        ones = simulate_counts(histogram, self.p_, q, self.move, self.move, rng=rng, runs=runs)[:, 1]
        return pure.estimate(np.column_stack([n - ones, ones]), n, self.p_, q)

    def variance(self, population: Population) -> np.ndarray:
        """Return the exact variance of the estimate, shape (2,), the users' data held fixed."""
        histogram, n = _inputs.check_histogram(population, 2).astype(float), population.n
        return signed_variance(histogram, n, self.p_, 1 - self.p_, self.move, self.move, odd=n % 2) / n**2

"""Generalized randomized response (GRR, k-RR) over the values 0, ..., k-1, and randomized response (RR) over 0, 1.

Estimate and variance are those of all oracles that count supports: `ldp_lib.pure`.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ldp_lib import _inputs, _sampling, pure


def probabilities(e, k):
    """Return p = Pr[y = x] and q = Pr[y = v] for each v other than x.

    Parameters
    ----------
    e : number, array or symbol
        exp(epsilon), above 1.
    k : int or symbol
        Domain size, at least 2.

    Returns
    -------
    p, q : as `e`
        e / (e+k-1) and 1 / (e+k-1); p + (k-1) q = 1 and p / q = e.

    Notes
    -----
    Warner (1965) for k = 2; Kairouz, Bonawitz and Ramage (2016). Derived in the chapter `randomized_response`.
    """
    return e / (e + k - 1), 1 / (e + k - 1)


def channel(e, k):
    """Return the k by k matrix with Pr[y = v | x = u] in row u, column v; exact if `e` is a Fraction or a symbol."""
    return np.where(np.eye(k, dtype=bool), *probabilities(e, k))


def inverse(e, k):
    """Return the inverse of `channel(e, k)`: (e+k-2)/(e-1) on the diagonal and -1/(e-1) elsewhere."""
    diagonal, other = (e + k - 2) / (e - 1), -1 / (e - 1)
    return np.where(np.eye(k, dtype=bool), diagonal, other)


def covariance(f, n, e):
    """Return the exact covariance matrix of the GRR estimates when the users' data are held fixed.

    Parameters
    ----------
    f : array of shape (k,)
        True frequencies, which sum to 1.
    n : number or symbol
        Number of users.
    e : number or symbol
        exp(epsilon).

    Returns
    -------
    array of shape (k, k)
        (diag(lam) - sum_u f_u P_u P_u^T) / (n (p-q)^2) with lam = P^T f and P_u the channel's row u. Rows sum to 0.

    Notes
    -----
    Derived in the chapter `channel_matrix`.
    """
    f = np.asarray(f)
    rows = channel(e, len(f))
    p, q = probabilities(e, len(f))
    return (np.diag(f @ rows) - rows.T @ np.diag(f) @ rows) / (n * (p - q) ** 2)


@dataclass(frozen=True, kw_only=True)
class GRR(pure.Oracle):
    """Report the true value with probability p, else a uniform other value.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget of one report, finite and above 0.

    Notes
    -----
    Kairouz, Bonawitz and Ramage (2016). Chapter `randomized_response`.
    """

    k: int
    epsilon: float

    @cached_property
    def _keep(self):
        return _sampling.proved_keep(self.epsilon, self.k)

    @cached_property
    def realised_probabilities(self) -> tuple[Fraction, ...]:
        """Probabilities p and q with which `perturb` reports the true and any other value, exactly."""
        q = (1 - _sampling.realised_keep(self._keep, self.k)) / self.k
        return 1 - (self.k - 1) * q, q

    @property
    def realised_ratio(self) -> Fraction:
        """Largest ratio of a report's probabilities under two values, exactly: at most exp(epsilon)."""
        p, q = self.realised_probabilities
        return p / q

    @_inputs.users_checked
    def perturb(self, x, *, rng: pure.Rng) -> np.ndarray:
        """Return one report a user, 0 to k-1, from values 0 to k-1 of shape (n,), in the smallest integer type."""
        return _sampling.grr_reports(x, self.k, self._keep, rng)

    def draw_support(self, histogram, rng: pure.Rng) -> np.ndarray:
        """Draw counts of reports, shape (..., k), for numbers of users with each value, shape (..., k)."""
        alike = histogram.strides[0] == 0  # then value by value, which is faster
        truths = rng.binomial(histogram.T, float(self._keep)).T if alike else rng.binomial(histogram, float(self._keep))
        return truths + rng.multinomial((histogram - truths).sum(axis=-1), np.full(self.k, 1 / self.k))


@dataclass(frozen=True, kw_only=True)
class RR(GRR):
    """Warner's (1965) randomized response on {0, 1}: GRR with k = 2, which may be left out."""

    k: int = 2

    def __post_init__(self):
        super().__post_init__()
        if self.k != 2:
            raise ValueError(f"k must be 2 for randomized response; got {self.k!r}")

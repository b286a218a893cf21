"""Unary encoding: one bit a value, each bit randomized on its own (SUE, OUE, and any q between).

Estimate and variance are those of all oracles that count supports: `ldp_lib.pure`.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ldp_lib import _inputs, _sampling, pure


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
    Derived in the chapter `frequency_oracles`.
    """
    return e * q / (1 - q + e * q), q


def sue_probabilities(root):
    """Return p and q of symmetric unary encoding, p = 1 - q; `root` is exp(epsilon / 2), so all stays rational in it.

    Erlingsson, Pihur and Korolova (2014), basic RAPPOR. Derived in the chapter `frequency_oracles`.
    """
    return root / (root + 1), 1 / (root + 1)


def oue_probabilities(e):
    """Return p = 1/2 and q = 1/(e+1) of optimized unary encoding, best for a value that nobody holds.

    Wang, Blocki, Li and Jha (2017). Derived in the chapter `frequency_oracles`.
    """
    return probabilities(e, 1 / (e + 1))


def channel(p, q, k):
    """Return the k by 2**k matrix of report probabilities; column y has value v's bit at position v, least first."""
    return _channel(k, (1 - p, p), (1 - q, q))


def _channel(k, own, other):
    """Return `channel` from the probabilities that a user's own bit, and any other bit, is reported as 0 and as 1."""
    bits = _all_bits(k)
    rest = np.array(other)[bits]
    return rest.prod(axis=1) * (np.array(own)[bits] / rest).T


def _all_bits(k):
    """Return all rows of k bits, shape (2**k, k); row y has bit v of the number y, the least first, at position v."""
    return (np.arange(2**k)[:, None] >> np.arange(k) & 1).astype(np.uint8)


class _Bits(pure.Oracle):
    """Encode a value as k bits, a single 1 among them; report each bit through randomized response of its own."""

    @property
    def q_(self) -> float:
        """Probability that a 0 is reported as 1."""
        return float(oue_probabilities(self._e)[1])

    def __post_init__(self):
        super().__post_init__()
        _inputs.require(q=self.q_)
        p, q = self.probabilities
        if p - q < 1000 * np.spacing(p):
            raise ValueError(f"q must be such that p and q differ in floating point; got {self.q_!r}")

    @cached_property
    def realised_probabilities(self) -> tuple[Fraction, ...]:
        """Probabilities p and q that `perturb` realises, exactly: p is rounded down and q up, so the ratio falls."""
        p, q = probabilities(_sampling.exp_below(self.epsilon), Fraction(self.q_))
        return _sampling.realised(p), 1 - _sampling.realised(1 - q)

    @property
    def realised_ratio(self) -> Fraction:
        """Largest ratio of a report's probabilities under two values, exactly: at most exp(epsilon)."""
        p, q = self.realised_probabilities
        return p * (1 - q) / (q * (1 - p))

    def channel(self) -> np.ndarray:
        """Return Pr[y | x], shape (k, 2**k); column y has value v's bit at position v, least first."""
        _inputs.check_cells(self.k, 2**self.k)
        return _channel(self.k, *((float(1 - chance), float(chance)) for chance in self.realised_probabilities))

    @property
    def dtype(self) -> np.dtype:
        """Type and shape of one report: k bits."""
        return np.dtype((np.uint8, (self.k,)))

    def reports(self) -> np.ndarray:
        """Return all reports of one user, shape (2**k, k), in the order of the channel's columns."""
        _inputs.check_cells(self.k, 2**self.k)
        return _all_bits(self.k)

    @_inputs.users_checked
    def perturb(self, x, *, rng: pure.Rng) -> np.ndarray:
        """Return one row of k bits a user, uint8 of shape (n, k), from values 0 to k-1 of shape (n,)."""
        p, q = self.realised_probabilities
        y = _sampling.bernoulli(q, (x.size, self.k), rng).view(np.uint8)
        y[np.arange(x.size), x] = _sampling.bernoulli(p, x.size, rng)
        return y

    def count(self, y) -> np.ndarray:
        """Return the number of reports and how many support each value: counts of disjoint sets of reports add up."""
        y = _inputs.unmasked(y, "y")
        allowed = f"y must be an integer array of 0 and 1 with at least one row and {self.k} columns"
        if y.ndim != 2 or y.shape[1] != self.k or len(y) == 0:
            raise ValueError(f"{allowed}; got shape {y.shape}")
        if y.dtype.kind not in "iu":
            raise TypeError(f"{allowed}; got type {y.dtype}")
        if y.max() > 1 or (y.dtype.kind == "i" and y.min() < 0):
            raise ValueError(f"{allowed}; got values from {y.min()} to {y.max()}")
        return np.append(len(y), _count_ones(y))


@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(_Bits):
    """Encode a value as k bits, a single 1 among them; report each bit through randomized response of its own.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget of one whole report, finite and above 0.
    q : float, optional
        Probability that a 0 is reported as 1, in (0, 1). A 1 stays 1 with the p that `probabilities` gives. If not
        given, that of `OUE`.

    Notes
    -----
    `SUE` and `OUE` make the two usual choices of q. Chapter `frequency_oracles`.
    """

    k: int
    epsilon: float
    q: float | None = None

    def __post_init__(self):
        if self.q is not None:
            _inputs.settle(self, "q")
        super().__post_init__()

    @property
    def q_(self) -> float:
        """Probability that a 0 is reported as 1."""
        return super().q_ if self.q is None else self.q


@dataclass(frozen=True, kw_only=True)
class SUE(_Bits):
    """Symmetric unary encoding: q = 1 / (exp(epsilon/2) + 1), so that p = 1 - q."""

    k: int
    epsilon: float

    @property
    def q_(self) -> float:
        """Probability that a 0 is reported as 1."""
        return sue_probabilities(math.exp(self.epsilon / 2))[1]


@dataclass(frozen=True, kw_only=True)
class OUE(_Bits):
    """Optimized unary encoding: q = 1 / (exp(epsilon) + 1), so that p = 1/2."""

    k: int
    epsilon: float


def _count_ones(y):
    """Return the column sums of rows of 0 and 1; sums of 255 rows fit a byte, which is 10 times faster."""
    m, k = len(y) // 255, y.shape[1]
    whole = y[: 255 * m].reshape(255, m * k).sum(axis=0, dtype=np.uint8).reshape(m, k)
    return whole.sum(axis=0, dtype=np.int64) + y[255 * m :].sum(axis=0, dtype=np.int64)

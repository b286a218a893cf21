"""Two protocols that realise joint randomized response (`jrr`) without a shared coin, message by message.

Each user gets a sign R_j in secret, tosses a coin C_j alone and tells the truth if C_j + R_j is positive.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np

from ldp_lib import _inputs, _sampling
from ldp_lib.jrr._checks import check_colluders, check_negative, check_number, check_p
from ldp_lib.jrr._formulas import coin
from ldp_lib.jrr._signs import server_messages, shuffle_messages
from ldp_lib.jrr.mechanism import JRR

STEPS = (1.5, 0.5, -0.5, -1.5)


def sign_ratio(p, s, n, colluders):
    """Return the largest likelihood ratio of one user's report if `colluders` of the n users show their signs.

    Parameters
    ----------
    p, s : number or Fraction
        As in `coin`; p is above 1/2, s from 0 to 1-p.
    n, colluders : int
        Number of users, at least 1, and of those who show their signs, 0 to n-1.

    Notes
    -----
    It is reached when all shown signs, or half of all signs, are equal. Infinite if the signs then settle the user's
    truth. The bound for colluders who show their truths only is `privacy.colluder_ratio`. Chapter `audit_jrr`.
    """
    check_p(p)
    check_number("s", s)
    check_colluders(n, colluders)
    if not 0 <= s <= (1 - p) * (1 + 1e-12):
        raise ValueError(f"s must be from 0 to 1 - p = {float(1 - p):.12g}; got {s!r}")
    lean = s * min(colluders, n - colluders) / (n - colluders)
    return (p + lean) / (1 - p - lean) if 1 - p - lean > 1e-15 else math.inf


@dataclass(frozen=True, kw_only=True)
class ServerProtocol(JRR):
    """Joint randomized response by messages: a server pairs the users and never sees a report; Section 4.5.1.

    Parameters
    ----------
    k : int, optional
        2.
    epsilon, p, rho : float, optional
        As for `jrr.JRR`, with rho at most 0: opposite signs cannot give more.

    Notes
    -----
    The reports have the distribution of `jrr.JRR` with the same parameters, which gives everything but `perturb`. Zheng
    et al. (2025), Section 4.5 and Theorem 5. Chapter `audit_jrr`.
    """

    deal: ClassVar = staticmethod(server_messages)

    def __post_init__(self):
        super().__post_init__()
        check_negative(self)

    @cached_property
    def realised_p(self) -> Fraction:
        """Probability that `perturb` tells a user's truth, exactly: `p` rounded down to a multiple of 2**-64."""
        return _multiple(super().realised_p)

    @cached_property
    def realised_coin(self) -> tuple[Fraction, ...]:
        """Probabilities of C = 1.5, 0.5, -0.5 and -1.5, exactly: `coin` in multiples of 2**-64."""
        s = Fraction(math.sqrt(-self.rho_ * self.p_ * (1 - self.p_)))
        return coin(self.realised_p, _multiple(min(s, 1 - self.realised_p)))

    @property
    def realised_pair(self) -> tuple[Fraction, ...]:
        """Probabilities that both of a pair are true, only the first, only the second, and none, exactly."""
        p, square = self.realised_p, self.realised_coin[1] ** 2
        return p**2 - square, p * (1 - p) + square, p * (1 - p) + square, (1 - p) ** 2 - square

    @_inputs.users_checked
    def run(self, x, *, rng: np.random.Generator) -> dict:
        """Run the protocol for users' values x, shape (n,), and return everything that anybody knows.

        Returns
        -------
        dict
            The messages of `deal`; ``coin`` (n,) and ``true`` (n,), known to each user alone; ``y`` (n,), the reports
            to the collector.
        """
        messages = self.deal(x.size, rng)
        tossed = np.array(STEPS)[_sampling.draw(self.realised_coin, x.size, rng)]
        true = tossed + messages["sign"] > 0
        return {**messages, "coin": tossed, "true": true, "y": np.where(true, x, 1 - x).astype(np.uint8)}

    def perturb(self, x, *, rng: np.random.Generator) -> np.ndarray:
        """Return all users' reports, shape (n,), those of `run`."""
        return self.run(x, rng=rng)["y"]


@dataclass(frozen=True, kw_only=True)
class ShuffleProtocol(ServerProtocol):
    """Joint randomized response by messages: a secret permutation in place of the server; Section 4.5.2.

    Parameters, errors and methods are those of `ServerProtocol`.
    """

    deal: ClassVar = staticmethod(shuffle_messages)


def _multiple(chance):
    return Fraction(math.floor(chance * 2**64), 2**64)

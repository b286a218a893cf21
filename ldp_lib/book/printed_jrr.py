"""Formulas and the algorithm of the joint randomized response paper, as printed."""

import math

import numpy as np

from ldp_lib.jrr import best_of_three, check_design, weight


def ratio(p, rho, n, colluders):
    """Return exp of Eq. (20): the ratio that Theorem 2 states for `colluders` of n users who show their coins.

    It is not a bound when rho is negative and from 2 to n-2 users collude: see the chapter `audit_jrr`.
    Takes numbers, arrays and Fractions; infinite where its denominator is 0.
    """
    most, least = _printed_extremes(p, rho, n, colluders)
    with np.errstate(divide="ignore"):
        return most / least if np.ndim(least) or least else math.inf


def _printed_extremes(p, rho, n, colluders):
    q = 1 - p
    share = n - colluders - 1
    p_max = np.maximum((1 - rho) * p, p + rho * q)
    p_min = np.maximum(0, np.minimum((1 - rho) * q, q + rho * p))  # rounding may miss 0
    return colluders * p_max + share * p, colluders * p_min + share * q


def optimum(*, epsilon, n, colluders, n1=None):
    """Return the exact minimiser (p, rho) of the variance under problem (22), whose constraint is Eq. (20).

    Arguments as for `jrr.optimal_parameters`, with n even. The exact ratio at this point exceeds exp(epsilon) if at
    least two users collude and rho is negative: by less than a millionth for 5 of 10,000 at epsilon = 0.1. Chapter
    `audit_jrr`.
    """
    _check(epsilon, n, colluders)
    a = weight(n, n1)
    p0 = 1 / (1 + math.exp(-epsilon))
    c = colluders / (n - 1)
    return best_of_three(p0, c, a) if c < math.tanh(epsilon / 2) else (p0, 0.0)


def _check(epsilon, n, colluders):
    check_design(epsilon, n, colluders)
    if n % 2:
        raise ValueError(f"n must be an even integer of at least 2, as the paper has it; got {n!r}")


def algorithm_1(*, epsilon, n, colluders, step_p=1e-4, step_rho=1e-4):
    """Return (p, rho) by Algorithm 1 of Zheng et al. (2025), exactly as printed, or None where it returns Null.

    It scans p downwards from e/(1+e) - step_p, and for each p scans rho upwards from 1 - 1/p, and returns the first
    pair that satisfies the constraints of Eq. (22).
    """
    _check(epsilon, n, colluders)
    for name, step in (("step_p", step_p), ("step_rho", step_rho)):
        if not 1e-7 <= step < 1:
            raise ValueError(f"{name} must be from 1e-7 to 1; got {step!r}")
    e = math.exp(epsilon)
    p = 1 / (1 + 1 / e) - step_p
    while p > 0.5:
        rho = 1 - 1 / p + step_rho * np.arange(int(1 / p / step_rho) + 1)
        most, least = _printed_extremes(p, rho, n, colluders)
        feasible = np.flatnonzero(most <= e * least)
        if feasible.size:
            return p, float(rho[feasible[0]])
        p -= step_p
    return None

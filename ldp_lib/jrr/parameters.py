"""The best parameters of joint randomized response, for a budget and a number of colluders."""

import math

import numpy as np

from ldp_lib import inputs


def corner(p0, c):
    """Return p* = (p0 - c) / (1 - c), the largest p for which every rho satisfies the constraint of problem (22).

    Here p0 = e / (1+e) and c = colluders / (n-1), below 1.
    """
    return (p0 - c) / (1 - c)


def optimal_parameters(*, epsilon, n, colluders, n1=None):
    """Return the exact minimiser (p, rho) of the variance under the constraints of problem (22).

    The optimum is one of three points: plain randomized response, or the corner p* with the least or the largest rho.

    Parameters
    ----------
    epsilon : float
        Budget in the sense of Eq. (20), which is not the budget of the whole transcript.
    n : int
        Number of users, even and at least 2.
    colluders : int
        Number of users who show the collector their coins, 0 to n-1.
    n1 : int, optional
        Number of users with value 1. Without it the mean variance over n1 = 0, ..., n, each as likely, is minimised.

    Returns
    -------
    (float, float)

    Notes
    -----
    Derived in the chapter `jrr_parameters`.
    """
    check_design(epsilon, n, colluders)
    if n1 is not None and (isinstance(n1, bool) or not isinstance(n1, (int, np.integer)) or not 0 <= n1 <= n):
        raise ValueError(f"n1 must be None or an integer from 0 to {n}; got {n1!r}")
    # The variance is pq/(p-q)^2 (1 + a rho) n. The mean of a over all n1 is exactly 1/3.
    a = 1 / 3 if n1 is None else ((2 * n1 - n) ** 2 - n) / (n * (n - 1))
    p0, c = 1 / (1 + math.exp(-epsilon)), colluders / (n - 1)
    best = (p0, 0.0)
    if c < math.tanh(epsilon / 2):  # otherwise p* is not above 1/2
        p = corner(p0, c)
        candidates = [best, (p, -(1 - p) / p), (p, 1.0)]
        best = min(candidates, key=lambda c: c[0] * (1 - c[0]) / (2 * c[0] - 1) ** 2 * (1 + a * c[1]))
    return best


def check_design(epsilon, n, colluders):
    """Check the inputs of problem (22); the error says what is allowed."""
    inputs.require(epsilon=epsilon)
    for name, value, low, high in (("n", n, 2, math.inf), ("colluders", colluders, 0, n)):
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"{name} must be an integer; got {value!r}")
        if name == "n" and (value < low or value % 2):
            raise ValueError(f"n must be an even integer of at least 2; got {value!r}")
        if name == "colluders" and not low <= value < high:
            raise ValueError(f"colluders must be from 0 to n - 1 = {n - 1}; got {value!r}")

"""The best parameters of joint randomized response, for a budget and a number of colluders."""

import math

import numpy as np

from ldp_lib import inputs


def corner(p0, c):
    """Return p* = (p0 - c) / (1 - c): with it and the least or the largest rho a ratio is exp(epsilon).

    Here p0 = e / (1+e). With c = colluders / (n - colluders) it is the exact ratio, with colluders / (n-1) the printed
    one; c is below 1. Derived in the chapter `audit_jrr`.
    """
    return (p0 - c) / (1 - c)


def optimal_parameters(*, epsilon, n, colluders, n1=None):
    """Return (p, rho) with the least variance at which one report, given the colluders' coins, spends epsilon.

    Colluders show whether they told the truth, or the secret signs of `jrr.ServerProtocol`; the other reports are left
    aside (for all reports together see `jrr.privacy`). The result is one of three points: plain randomized response, or
    the corner p* with the least or the largest rho. At the least rho the largest likelihood ratio is exp(epsilon).

    Parameters
    ----------
    epsilon : float
        Budget of one report on its own, given what the colluders show.
    n : int
        Number of users, at least 1. Of an odd number one user answers alone.
    colluders : int
        Number of users who show the collector their coins, 0 to n-1. From n tanh(epsilon/2) / (1 + tanh(epsilon/2)) on,
        randomized response is best.
    n1 : int, optional
        Number of users with value 1. Without it the mean variance over n1 = 0, ..., n, each as likely, is minimised.

    Returns
    -------
    (float, float)

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong type or out of range.

    Notes
    -----
    Derived in the chapter `audit_jrr`. The optimum of problem (22) of Zheng et al. (2025), whose bound on the
    ratio is a little too small, is `printed.optimum`.
    """
    check_design(epsilon, n, colluders)
    epsilon = float(epsilon)
    a = weight(n, n1)
    p0, c = 1 / (1 + math.exp(-epsilon)), colluders / (n - colluders)
    return best_of_three(p0, c, a) if c < math.tanh(epsilon / 2) else (p0, 0.0)


def weight(n, n1=None):
    """Return a: the variance of the count is n pq/(p-q)^2 (1 + a rho). Without n1, its mean over n1 = 0, ..., n."""
    if n1 is not None and (isinstance(n1, bool) or not isinstance(n1, (int, np.integer)) or not 0 <= n1 <= n):
        raise ValueError(f"n1 must be None or an integer from 0 to {n}; got {n1!r}")
    below = n - 1 + n % 2
    return (n - 1) / (3 * below) if n1 is None else ((2 * n1 - n) ** 2 - n) / (n * below)


def best_of_three(p0, c, a):
    """Return the best of randomized response and the corner with the least and with the largest rho."""
    p = corner(p0, c)
    candidates = [(p0, 0.0), (p, -(1 - p) / p), (p, 1.0)]
    return min(candidates, key=lambda pair: pair[0] * (1 - pair[0]) / (2 * pair[0] - 1) ** 2 * (1 + a * pair[1]))


def check_design(epsilon, n, colluders):
    """Check a budget, a number of users and one of colluders; the error says what is allowed."""
    inputs.require(epsilon=epsilon)
    check_colluders(n, colluders)


def check_colluders(n, colluders=0):
    """Check a number of users, at least 1, and of colluders, 0 to n-1."""
    for name, value in (("n", n), ("colluders", colluders)):
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"{name} must be an integer; got {value!r}")
    if n < 1:
        raise ValueError(f"n must be an integer of at least 1; got {n!r}")
    if not 0 <= colluders < n:
        raise ValueError(f"colluders must be from 0 to n - 1 = {n - 1}; got {colluders!r}")

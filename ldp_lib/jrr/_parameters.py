"""The best parameters of joint randomized response, for a budget and a number of colluders."""

import math

from ldp_lib._inputs import is_integer
from ldp_lib.jrr._checks import check_design
from ldp_lib.jrr._formulas import corner


def optimal_parameters(*, epsilon, n, colluders, n1=None):
    """Return (p, rho) with the least variance at which one report, given the colluders' coins, spends epsilon.

    Colluders show whether they told the truth, or the secret signs of `jrr.ServerProtocol`; the other reports are left
    aside (for all reports together see `jrr.privacy`). The result is one of three points: plain randomized response, or
    the corner p* with the least or the largest rho. At the least rho the largest ratio, by signs, is exp(epsilon).

    Parameters
    ----------
    epsilon : float
        Budget of one report on its own, given what the colluders show.
    n : int
        Number of users, at least 1. Of an odd number one answers alone; if truths are shown, less may be possible.
    colluders : int
        Number of users who show the collector their coins, 0 to n-1. From n tanh(epsilon/2) / (1 + tanh(epsilon/2)) on,
        randomized response is best.
    n1 : int, optional
        Users with value 1 (of those possible, nearest n/2). Without it the mean variance over 0, ..., n is minimised.

    Returns
    -------
    (float, float)

    Notes
    -----
    The bound of the chapter `jrr`, with its optimum derived in `audit_jrr`. The optimum of problem (22) of Zheng et al.
    (2025), whose bound on the ratio is a little too small, is `book.printed_jrr.optimum`.
    """
    check_design(epsilon, n, colluders)
    epsilon = float(epsilon)
    a = weight(n, n1)
    p0, c = 1 / (1 + math.exp(-epsilon)), colluders / (n - colluders)
    return best_of_three(p0, c, a) if c < math.tanh(epsilon / 2) else (p0, 0.0)


def weight(n, n1=None):
    """Return a: the variance of the count is n pq/(p-q)^2 (1 + a rho). Without n1, its mean over n1 = 0, ..., n."""
    if n1 is not None and (not is_integer(n1) or not 0 <= n1 <= n):
        raise ValueError(f"n1 must be None or an integer from 0 to {n}; got {n1!r}")
    n = int(n)
    below = n - 1 + n % 2
    if n1 is None:
        return (n - 1) / (3 * below)
    return ((2 * int(n1) - n) ** 2 - n) / (n * below)


def best_of_three(p0, c, a):
    """Return the best of randomized response and the corner with the least and with the largest rho."""
    p = corner(p0, c)
    candidates = [(p0, 0.0), (p, -(1 - p) / p), (p, 1.0)]

    def variance_of(pair):
        return pair[0] * (1 - pair[0]) / (2 * pair[0] - 1) ** 2 * (1 + a * pair[1])

    return min(candidates, key=variance_of)

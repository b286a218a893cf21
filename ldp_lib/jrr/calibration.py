"""Parameters for the goal that all reports together are (epsilon, delta)-private, others' data known."""

import math

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from ldp_lib._inputs import check_bool
from ldp_lib.jrr._checks import check_design, check_number
from ldp_lib.jrr._privacy_profile import signed_delta, signed_delta_bound


def signed_parameters(*, epsilon, delta, n, colluders=0, alike=False):
    """Return (p, rho) at which all signed reports are (epsilon, delta)-private for each user, with little variance.

    Parameters
    ----------
    epsilon : float
        Budget, above 0.
    delta : float
        From 1e-30 to 0.1.
    n, colluders : int
        As for `signed_delta`.
    alike : bool
        False: `signed_delta_bound` is at most delta, so the budget is kept whatever the others hold. True:
        `signed_delta` is, the exact one if all others hold the same value, and the variance is the least found. What is
        not tried, more than .999 of the least rho, can have 6 % less for two users at epsilon = 0.1, 70 % less at 0.01,
        and 1 % less for 400 users at 0.1.

    Returns
    -------
    (float, float)
        Randomized response, with rho = 0 and p = (e + delta) / (1 + e) or a little less in the tenth digit, where no
        sign helps. As n grows the variance of the count tends to n q / (p-q) at p = e / (1+e).
    """
    check_design(epsilon, n, colluders)
    check_number("delta", delta)
    check_bool(alike=alike)
    if not 1e-30 <= delta <= 0.1:
        raise ValueError(f"delta must be from 1e-30 to 0.1; got {delta!r}")

    def spent(p, rho):
        return signed_delta(epsilon, p, rho, n, colluders)

    def factor(rho):
        return 1 + rho * (n - 1) / (n - 1 + n % 2)  # as in `signed_variance`

    p, share = _tune(spent, epsilon, delta, factor)
    aim = delta
    while not alike and share:
        over = signed_delta_bound(epsilon, p, _rho_at(p, share), n, colluders) / delta
        if over <= 1:
            break
        aim *= min(0.8, 0.95 / over)
        p = largest_p(spent, epsilon, aim, share) if aim > 1e-35 else None
        if p is None or _cost(p, share, factor) > plain_variance(epsilon, delta):
            p, share = largest_p(spent, epsilon, delta, 0.0), 0.0
    return float(p), float(_rho_at(p, share)) if share else 0.0


def _rho_at(p, share):
    """Return the given share of the least rho, -(1-p)/p."""
    return -share * (1 - p) / p


def _cost(p, share, factor):
    """Return p q / (p-q)^2 factor(rho), the variance per user of the count."""
    return p * (1 - p) / (2 * p - 1) ** 2 * factor(_rho_at(p, share))


def plain_variance(epsilon, delta=0.0):
    """Return the variance per user of the count by randomized response with p = (e + delta) / (1 + e)."""
    e = math.exp(epsilon)
    return (e + delta) * (1 - delta) / (e - 1 + 2 * delta) ** 2


def largest_p(spent, epsilon, delta, share):
    """Return the largest p at which `spent(p, rho)`, a delta, is at most `delta`; None if none is found.

    `rho` is the given share of the least one, -(1-p)/p. What holds on less than one part in 50 may be missed.
    """
    top = (math.exp(epsilon) + delta) / (1 + math.exp(epsilon))  # that of randomized response

    def over(p):
        return spent(p, _rho_at(p, share)) / delta - 1

    kept = top
    for part in [1, *(1 - np.geomspace(1e-4, 0.02, 16)), *np.linspace(0.97, 0.01, 49), 1e-3, 1e-4]:
        p = 0.5 + (top - 0.5) * part
        if over(p) <= 1e-12:
            if p == top:
                return top
            p = brentq(over, p, kept, xtol=1e-12)
            step = 10.0 ** (math.floor(math.log10(p - 0.5)) - 9)
            p = 0.5 + math.floor((p - 0.5) / step) * step  # no more digits than the solver settles
            while over(p) > 0:
                p -= step
            return p
        kept = p
    return None


def _tune(spent, epsilon, delta, factor):
    """Return p and the share of the least rho with the least p q / (p-q)^2 factor(rho) at which `spent` is in budget.

    Arguments as for `largest_p`. Shares from 0, which is randomized response, to .999 are tried; of equally good ones
    the least is taken, and what is searched between them has four digits.
    """

    def value(share):
        p = largest_p(spent, epsilon, delta, share)
        return _cost(p, share, factor) if p else math.inf

    shares = np.array([0.0, 0.05, 0.2, 0.4, 0.6, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999])
    values = np.array([value(share) for share in shares])
    best = int(np.flatnonzero(values <= values.min() * (1 + 1e-9))[0])
    low, high = shares[max(0, best - 1)], shares[min(len(shares) - 1, best + 1)]
    found = minimize_scalar(value, bounds=(low, high), method="bounded", options={"xatol": 1e-3})
    share = round(float(found.x), 4)
    if not value(share) < values[best] * (1 - 1e-9):
        share = float(shares[best])
    return largest_p(spent, epsilon, delta, share), share

"""What the reports of joint randomized response (`jrr`) reveal about one user: exact, for every kind of observer.

Under random pairing the users' truthfulness T_1, ..., T_n is exchangeable: only the number of truths matters.
"""

import math

import numpy as np

from ldp_lib.jrr import pairs


def partner_posterior(p, rho, n, colluders):
    """Return the probability that a user's partner is among the colluders, given that all colluders lied.

    Parameters
    ----------
    p, rho : float or Fraction
        As in `jrr.table`; Fractions give an exact result.
    n, colluders : int
        Number of users, even, and of colluders, 0 to n-1.

    Notes
    -----
    With j pairs inside the set of colluders, colluders - 2j of the n - colluders others have a colluder for partner.
    The number j has weight (number of pairings) * (none / q^2)^j, with none = q^2 + rho p q. Chapter `jrr_privacy`.
    """
    q, m = 1 - p, colluders
    tilt = pairs.table(p, rho)[2] / q**2
    least = max(0, m - n // 2)
    weight = total = 1 + 0 * tilt
    moment = (m - 2 * least) * total
    for j in range(least, m // 2):
        weight *= tilt * ((m - 2 * j) * (m - 2 * j - 1)) / (2 * (j + 1) * (n - 2 * m + 2 * j + 2))
        total, moment = total + weight, moment + weight * (m - 2 * j - 2)
        if weight > 1e200:  # rescale
            total, moment, weight = total / weight, moment / weight, weight / weight
    return moment / total / (n - m)


def colluder_ratio(p, rho, n, colluders):
    """Return the largest likelihood ratio of one user's report, given the coins of the colluders, for rho at most 0.

    It is reached when all colluders lied and the user tells the truth. Arguments as in `partner_posterior`. This is
    Eq. (20) with the posterior probability of a colluding partner in place of the prior one; it may be infinite.
    """
    if rho > 0:
        raise ValueError(f"rho must be at most 0 for this ratio; got {rho!r}")
    q, weight = 1 - p, partner_posterior(p, rho, n, colluders)
    lies = q + weight * rho * p
    return (p - weight * rho * p) / lies if lies else math.inf


def transcript_ratio(p, rho):
    """Return the largest likelihood ratio of all n reports about one user, if the others' data are known.

    The same for every even n of at least 2: both / one and one / none of `jrr.table` are the extremes, whatever
    the sign of rho. Infinite if none is 0.
    """
    both, one, none = _cells(p, rho)
    ratios = [(both, one), (one, none), (one, both), (none, one)]
    return max(a / b if b else math.inf for a, b in ratios if a or b)


def transcript_chances(p, rho, n):
    """Return Pr[this user is true and a of the other n-1 are], and the same for false, as two arrays over a.

    Parameters
    ----------
    p, rho : float
        As in `jrr.table`.
    n : int
        Number of users, even.

    Notes
    -----
    The number of truths has the coefficients of (none + 2 one z + both z^2)^(n/2) for its law. Given t truths, this
    user's is among them with probability t/n.
    """
    pairs = n // 2
    law = np.exp(_log_coefficients(*_cells(p, rho)[::-1], pairs))
    truths = np.arange(n + 1)
    return (law * truths / n)[1:], (law * (n - truths) / n)[:-1]


def _cells(p, rho):
    both, one, none = pairs.table(p, rho)
    # At the ends of rho's range an entry is 0; floats may miss it by rounding.
    rounding = 8 * np.finfo(float).eps * p if isinstance(p, float) else 0
    return both, max(0, one) * (one > rounding), max(0, none) * (none > rounding * (1 - p))


def _log_coefficients(none, one, both, pairs):
    # From either end to the middle every term of the recurrence is positive, so nothing cancels.
    half = [_log_half(a, 2 * one, b, pairs) for a, b in ((none, both), (both, none))]
    return np.concatenate([half[0], half[1][:-1][::-1]])


def _log_half(low, middle, high, pairs):
    # c[t] for t = 0, ..., pairs of (low + middle z + high z^2)^pairs: low (t+1) c[t+1] = (pairs-t) middle c[t] + ...
    logs = np.full(pairs + 1, -np.inf)
    if low == 0:
        logs[pairs] = pairs * math.log(middle)
        return logs
    logs[0], ratio = pairs * math.log(low), math.inf
    for t in range(pairs):
        ratio = ((pairs - t) * middle + (2 * pairs - t + 1) * high / ratio) / (low * (t + 1))
        logs[t + 1] = logs[t] + math.log(ratio)
    return logs


def transcript_delta(epsilon, p, rho, n):
    """Return the least delta with which all n reports are (epsilon, delta)-private for one user, others' data known.

    Parameters
    ----------
    epsilon : float or array
        At least 0.
    p, rho, n :
        As in `transcript_chances`.

    Returns
    -------
    float or array
        Sum over all transcripts of max(0, Pr[transcript | x] - exp(epsilon) Pr[transcript | x']).
    """
    true, false = transcript_chances(p, rho, n)
    e = np.exp(np.asarray(epsilon, dtype=float))[..., None]
    return (np.maximum(0, true - e * false) + np.maximum(0, false - e * true)).sum(axis=-1)

"""What the reports of joint randomized response (`jrr`) reveal about one user: exact, for two kinds of observer.

Under random pairing the users' truthfulness T_1, ..., T_n is exchangeable: only the number of truths matters.
"""

import math
from fractions import Fraction

import numpy as np
from scipy.special import gammaln, xlogy

from ldp_lib.jrr._checks import check_epsilons, check_pairs
from ldp_lib.jrr._formulas import table


def partner_posterior(p, rho, n, colluders):
    """Return the probability that a user's partner is among the colluders, given that all colluders lied.

    Parameters
    ----------
    p, rho : float or Fraction
        As in `jrr.table`, p above 1/2; Fractions give an exact result.
    n, colluders : int
        Number of users, at least 1, and of colluders, 0 to n-1.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong type or out of range; this holds for all functions here.

    Notes
    -----
    With j pairs inside the set of colluders, colluders - 2j of the n - colluders others have a colluder for partner.
    The number j has weight (number of pairings) * (none / q^2)^j, with none = q^2 + rho p q. An odd n is one user more,
    of whom nobody hears: whoever is paired with that user answers alone. Chapter `audit_jrr`.
    """
    n, colluders = check_pairs(p, rho, n, colluders)
    inside, outside = _partner_odds(p, rho, n, colluders)
    return inside / (inside + outside)


def _partner_odds(p, rho, n, m):
    """The partner's probabilities to collude or not, up to a common factor: sums of terms that are not negative."""
    n, tilt = n + n % 2, _cells(p, rho)[2] / (1 - p) ** 2 if p < 1 else 0
    least = max(0, m - n // 2)
    weight = tilt**0  # 1, of the same type
    inside, outside = weight * (m - 2 * least), weight * (n - 2 * m + 2 * least)
    for j in range(least, m // 2):
        weight *= tilt * ((m - 2 * j) * (m - 2 * j - 1)) / (2 * (j + 1) * (n - 2 * m + 2 * j + 2))
        inside, outside = inside + weight * (m - 2 * j - 2), outside + weight * (n - 2 * m + 2 * j + 2)
        if weight > 1e200:  # rescale
            inside, outside, weight = inside / weight, outside / weight, weight / weight
    return inside, outside


def colluder_ratio(p, rho, n, colluders):
    """Return the largest likelihood ratio of a yes-or-no report, given the coins of the colluders, for rho at most 0.

    It is reached when all colluders lied and the user tells the truth. Arguments as in `partner_posterior`. This is
    Eq. (20) with the posterior probability of a colluding partner in place of the prior one. It is infinite where the
    colluders' lies leave the user nothing but the truth.
    """
    n, colluders = check_pairs(p, rho, n, colluders, "this ratio")
    _, one, none = _cells(p, rho)
    q = 1 - p
    if q == 0:
        return math.inf
    inside, outside = _partner_odds(p, rho, n, colluders)
    lies = inside * none / q + outside * q
    return (inside * one / q + outside * p) / lies if lies else math.inf


def transcript_ratio(p, rho, n=2):
    """Return the largest likelihood ratio of all n yes-or-no reports about one user, if the others' data are known.

    The same for every even n of at least 2: both / one and one / none of `jrr.table` are the extremes, whatever the
    sign of rho, infinite if none is 0. For odd n the user may be the one who answers alone: the ratio is no larger.
    """
    check_pairs(p, rho, n)
    if p == 1:
        return math.inf
    (both, one, none), odds = _cells(p, rho), p / (1 - p)
    alone = Fraction(1, n) if n % 2 else 0  # the chance to answer alone
    # If all others lied the odds of the truth are an average over the partner; if all were true those of a lie are.
    lied = alone * odds + (1 - alone) * (one / none if none else math.inf) if n > 1 else odds
    true = alone / odds + (1 - alone) * one / both
    return max(ratio for value in (lied, true) for ratio in (value, 1 / value if value else math.inf))


def transcript_chances(p, rho, n):
    """Return Pr[this user is true and a of the other n-1 are], and the same for false, as two arrays over a.

    Parameters
    ----------
    p, rho : float
        As in `jrr.table`, p above 1/2.
    n : int
        Number of users, at least 1.

    Notes
    -----
    The number of truths has the coefficients of (none + 2 one z + both z^2)^(n/2) for its distribution, for odd n those
    of (none + 2 one z + both z^2)^((n-1)/2) (q + p z). Given t truths, this user's is among them with probability t/n.
    """
    check_pairs(p, rho, n)
    if n > 10**7:
        raise ValueError(f"n must be at most 10**7 for the law of all reports; got {n}")
    p, rho = float(p), float(rho)
    law = np.exp(_log_coefficients(*_cells(p, rho)[::-1], n // 2))
    if n % 2:
        law = np.append((1 - p) * law, 0) + np.append(0, p * law)
    truths = np.arange(n + 1)
    return (law * truths / n)[1:], (law * (n - truths) / n)[:-1]


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
        Sum over all transcripts of max(0, Pr[transcript | x] - exp(epsilon) Pr[transcript | x']). The same for all
        values of the others.
    """
    e = check_epsilons(epsilon)
    true, false = transcript_chances(p, rho, n)
    delta = (np.maximum(0, true - e * false) + np.maximum(0, false - e * true)).sum(axis=-1)
    return float(delta) if delta.ndim == 0 else delta


def _cells(p, rho):
    both, one, none = table(p, rho)
    # At the ends of rho's range an entry is 0; floats may miss it by rounding.
    exact = isinstance(p, int | Fraction) and isinstance(rho, int | Fraction)
    rounding = 0 if exact else 8 * np.finfo(float).eps * p * (1 - p)
    return both, one if one > rounding else 0, none if none > rounding else 0


def _log_coefficients(none, one, both, pairs):
    if one == 0:  # the truths come in twos
        law = np.full(2 * pairs + 1, -np.inf)
        pool = np.arange(pairs + 1)
        law[::2] = gammaln(pairs + 1) - gammaln(pool + 1) - gammaln(pairs - pool + 1)
        law[::2] += xlogy(pool, both) + xlogy(pairs - pool, none)
        return law
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

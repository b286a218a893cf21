"""The same yes-or-no question in every round: what all reports reveal, and how well they estimate.

Three policies: fresh noise in each round; a memoized answer, randomized once; two stages, a memoized answer that is
randomized again in each round. Ratios are exp of a loss; all formulas are rational in them.
"""

import math
from fractions import Fraction

import numpy as np

from ldp_lib import _inputs, _sampling
from ldp_lib.leakage import contracted


def slope(e):
    """Return p - q of randomized response: (e-1) / (e+1)."""
    return (e - 1) / (e + 1)


def two_stage_ratio(memo, fresh, rounds):
    """Return the likelihood ratio of all reports on an answer that does not change.

    Parameters
    ----------
    memo, fresh : number or symbol
        exp(epsilon) of the memoized answer and of the noise added in each round.
    rounds : int or symbol
        Number of reports.

    Returns
    -------
    as `memo`
        (memo + z) / (memo z + 1) with z = fresh**-rounds; it rises to `memo`.

    Notes
    -----
    All reports equal is the worst case. Erlingsson, Pihur and Korolova (2014) for the idea. Chapter `repeated`.
    """
    z = (1 / fresh) ** rounds
    return (memo + z) / (memo * z + 1)


def round_ratio(memo, total, rounds):
    """Return the `fresh` for which `two_stage_ratio` is `total` after so many rounds; a float.

    Raises
    ------
    ValueError
        Unless 1 < total < memo, and this is finite: a memoized answer never reveals more than itself.
    """
    if not (1 < total < memo < math.inf and rounds >= 1):
        more = f"memo must be finite, rounds at least 1; got {rounds!r}"
        raise ValueError(f"total must lie between 1 and memo = {memo!r}; got {total!r}; {more}")
    return ((total * memo - 1) / (memo - total)) ** (1 / rounds)


def mean_variance(memo, fresh, rounds, n):
    """Return the variance of the estimated share from the average of all rounds' reports, the users' data held fixed.

    For answers that do not change: ((1-s^2) / (rounds s^2) + 1 - m^2) / (4 n m^2), m and s the slopes of `memo` and
    `fresh`. Without a memoized answer (`memo` infinite) m is 1; without fresh noise s is 1.
    """
    m, s = (1 if ratio == math.inf else slope(ratio) for ratio in (memo, fresh))
    return ((1 - s**2) / (rounds * s**2) + 1 - m**2) / 4 / n / m**2


def ratio_now(e, change, rounds):
    """Return the likelihood ratio of all reports, fresh noise in each round, on the answer of the last round.

    Parameters
    ----------
    e : number
        exp(epsilon) of each report.
    change : number
        Probability that the answer changes between two rounds, either way, at most 1/2, known to the attacker.
    rounds : int
        Number of reports.

    Returns
    -------
    number
        Exact for Fractions: from e on, each round multiplies the `contracted` ratio by e. The first answer is uniform;
        otherwise the ratio is at most `ratio_now(sqrt(e), change, rounds)**2`.
    """
    if not (0 <= change <= 1 / 2 and rounds >= 1):
        raise ValueError(f"change must be from 0 to 1/2; got {change!r}; rounds at least 1; got {rounds!r}")
    ratio = e
    for _ in range(rounds - 1):
        ratio = e * (contracted(ratio, change) if change else ratio)
    return ratio


def ratio_ever(e, change):
    """Return the limit of `ratio_now` as rounds go on: the positive root of c x^2 - (1-c)(e-1) x - e c = 0; a float."""
    b = (1 - change) * (ratio_now(e, change, 1) - 1)  # refuses what `ratio_now` does
    return math.inf if change == 0 else (b + math.sqrt(b * b + 4 * e * change**2)) / (2 * change)


def two_stage_reports(x, memo, fresh, *, rng):
    """Draw the reports of all rounds for answers that may change: one memoized answer a user and value.

    Parameters
    ----------
    x : array_like of int, shape (n, rounds)
        Each user's answers, 0 or 1.
    memo, fresh : float
        exp(epsilon) of the memoized answers and of each round's noise; infinity for no noise.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of int, shape (n, rounds)
    """
    _inputs.require(rng=rng)
    x = _inputs.check_records(x, (2,) * np.shape(x)[-1])
    if not (memo >= 1 and fresh >= 1):  # no number at all would be no noise
        raise ValueError(f"memo and fresh must be at least 1, as exp(epsilon) is; got {memo!r} and {fresh!r}")
    kept = np.array([1, 0]) ^ _truths(memo, (len(x), 2), rng)
    return 1 - np.take_along_axis(kept, x, axis=1) ^ _truths(fresh, x.shape, rng)


def _truths(ratio, size, rng):
    return _sampling.bernoulli(1 - 1 / (1 + Fraction(ratio)) if ratio < math.inf else 1, size, rng)

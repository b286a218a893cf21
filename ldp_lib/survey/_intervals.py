"""How sure an estimate is, and how many users it takes: exact variances at the estimated frequencies."""

import itertools
from numbers import Integral
from typing import Any

import numpy as np
from scipy.special import ndtri

from ldp_lib.inputs import check_domain, require_share
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.postprocess import project_simplex
from ldp_lib.sampled import assignment

MOST_USERS = 10**15


def check_users(n: Any) -> int:
    """Return a number of users as an int; also 1e4, but not 2.5."""
    whole = isinstance(n, Integral) or (isinstance(n, (float, np.floating)) and float(n).is_integer())
    if isinstance(n, (bool, np.bool_)) or not whole or not 1 <= n <= MOST_USERS:
        raise ValueError(f"n must be an integer from 1 to 10**15; got {n!r}")
    return int(n)


def standard_errors(mechanism, estimate, n):
    """Return the standard error of each estimated frequency among the n users, in the shape of `estimate`.

    Parameters
    ----------
    mechanism : Mechanism
        One with exact moments.
    estimate : array (k,) or list of d arrays (k_j,)
        What ``mechanism.estimate(reports)`` returned.
    n : int
        Number of users.

    Returns
    -------
    array or list of arrays
        Square roots of `mechanism.variance` at a population that has the estimated frequencies, projected to
        probabilities. They describe the people who were asked; for those people drawn from a larger population add
        f (1-f) / n to the square. Chapter `which_mechanism`.

    Raises
    ------
    NoExactMoments
        If the mechanism has no closed form.
    """
    variances = mechanism.variance(plug_in_population(estimate, check_users(n)))
    if isinstance(variances, list):
        return [np.sqrt(v) for v in variances]
    return np.sqrt(variances)


def estimate_interval(mechanism, estimate, n, *, confidence=0.95, simultaneous=False):
    """Return the ends of a confidence interval for each frequency among the users, in the shape of `estimate`.

    Parameters
    ----------
    mechanism, estimate, n :
        As in `standard_errors`.
    confidence : float
        Above 0 and below 1.
    simultaneous : bool
        Whether all intervals together, over all values of all attributes, are to hold with this confidence
        (Bonferroni), and not each one on its own.

    Returns
    -------
    low, high : arrays or lists of arrays
        The normal interval around the raw estimate; neither end is clipped.

    Notes
    -----
    The plug-in fails where the false supports of a value are few: where n q, with q the chance that somebody who does
    not hold it supports it, is below about 5 for one interval, or 20 for all of many values together. That is at large
    budgets. One false support then lies far outside an interval made for none: at n q = 0.15 the interval for a value
    that nobody holds covers 86 times in 100 instead of 95; at n q = 0.05 those of a hundred values together hardly
    ever hold. Simulated in the chapter `which_mechanism`.
    """
    require_share("confidence", confidence)
    spread = standard_errors(mechanism, estimate, n)
    cells = sum(map(len, spread)) if isinstance(spread, list) else len(spread)
    z = -ndtri((1 - confidence) / (2 * cells if simultaneous else 2))
    if not isinstance(spread, list):
        return estimate - z * spread, estimate + z * spread
    pairs = list(zip(estimate, spread, strict=True))
    return [a - z * s for a, s in pairs], [a + z * s for a, s in pairs]


def required_users(mechanism, margin, *, confidence=0.95, sampled=False):
    """Return the least number of users at which no interval of `estimate_interval` is wider than `margin` each way.

    Parameters
    ----------
    mechanism : Mechanism
        One with exact moments.
    margin : float
        Half the width of the widest interval, in shares: 0.01 is one percentage point.
    confidence : float
        Of each interval on its own.
    sampled : bool
        False: the users are those of interest, and only their noise counts. True: they are a random sample of many
        more, whose frequencies are wanted; then f (1-f) / n is added to the variance.

    Returns
    -------
    int

    Notes
    -----
    It holds whatever the users' data are, where the variance of an estimate is a quadratic function of that value's own
    frequency, as that of every mechanism here with exact moments and symmetric channels is: three populations settle
    it. Chapter `which_mechanism`.
    """
    assignment.check_bool(sampled=sampled)
    require_share("margin", margin)
    require_share("confidence", confidence)
    z = -ndtri((1 - confidence) / 2)

    def enough(n):
        return z * np.sqrt(_worst_variance(mechanism, n, sampled)) <= margin

    # Nearly always the variance is proportional to 1/n, and this is the answer; else it is near.
    scale = 10**6 + mechanism.least_users
    near = scale * _worst_variance(mechanism, scale, sampled) * (z / margin) ** 2
    least, most = mechanism.least_users - 1, max(mechanism.least_users, min(int(near) + 1, MOST_USERS))
    step = 1
    while not enough(most):
        if most == MOST_USERS:
            raise ValueError(f"margin must be reachable with {MOST_USERS} users; got {margin!r} for {mechanism!r}")
        least, most, step = most, min(most + step, MOST_USERS), 2 * step
    step = 1
    while most - step > least and enough(most - step):
        most, step = most - step, 2 * step
    least = max(least, most - step)
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if enough(middle) else (middle, most)
    return most


def _worst_variance(mechanism, n, sampled):
    """Return the largest variance of an estimated frequency over all populations, from quadratics in that frequency."""
    sizes, half = check_domain(mechanism.k), n // 2
    values = [[min(value, size - 1) for size in sizes] for value in range(max(sizes))]

    def moments(records, counts):
        people = Population(records=np.array(records), counts=np.array(counts), k=sizes)
        return np.hstack(mechanism.variance(people)), np.hstack(marginal_frequencies(people))

    same = [moments([value], [n]) for value in values]
    worst = max(variance.max() for variance, _ in same)
    for pair, ((first, f), (last, g)) in zip(itertools.pairwise(values), itertools.pairwise(same), strict=True):
        bend = sampled * (f - g) ** 2 / n
        if half:
            mixed, _ = moments(pair, [n - half, half])
            bend = bend + (mixed - first - half / n * (last - first)) / (half / n * (1 - half / n))
        bend = np.maximum(bend, 1e-300)  # where it is convex, the ends are worst
        part = np.clip((1 + (last - first) / bend) / 2, 0, 1)
        worst = max(worst, np.max(first + part * (last - first) + bend * part * (1 - part)))
    return worst


def plug_in_population(estimate, n):
    """Return a population of n users whose frequencies are the estimates, projected and rounded to whole users.

    The attributes are put together in the order of their values: the joint table is no estimate of anything. Only the
    frequencies matter to the variances that `standard_errors` asks for. The cost does not depend on n.
    """
    parts = estimate if isinstance(estimate, list) else [estimate]
    reached = [np.cumsum(_whole(project_simplex(np.asarray(part)), n)) for part in parts]
    ends = np.unique(np.concatenate([[0], *reached]))  # between two of these all users have the same record
    records = np.column_stack([np.searchsorted(steps, ends[:-1], side="right") for steps in reached])
    return Population(records=records, counts=np.diff(ends), k=tuple(map(len, parts)))


def _whole(shares, n):
    # Largest remainders; of equal ones, the first.
    counts = np.floor(shares * n).astype(np.int64)
    missing = n - counts.sum()
    counts[np.argsort(counts - shares * n, kind="stable")[:missing]] += 1
    return counts

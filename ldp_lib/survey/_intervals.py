"""How sure an estimate is, and how many users it takes: exact variances at the estimated frequencies."""

import bisect
import itertools
from typing import Any

import numpy as np
from scipy.special import ndtri

from ldp_lib._inputs import MOST_USERS, check_bool, check_domain, check_users, require_share
from ldp_lib._pair_errors import worst_cell
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.postprocess import project_simplex


def check_unbiased(mechanism):
    """Raise unless it is unbiased, and shares settle its variances: intervals of others do not cover as they say."""
    if isinstance(mechanism, type) or not getattr(mechanism, "unbiased", False) or getattr(mechanism, "tied", False):
        told = "unbiased, with its parameters, as GRR(k=3, epsilon=1.0), and without a matrix over several attributes"
        raise TypeError(f"mechanism must be {told}; got {mechanism!r}")


def listed(estimate):
    """Return an estimate, an array or a list of one for each attribute, as a list."""
    return estimate if isinstance(estimate, list) else [estimate]


def joined(estimate):
    """Return an estimate as one array of all values of all attributes."""
    return np.concatenate(listed(estimate), axis=-1)


def half_width(confidence, intervals=1):
    """Return how many standard errors a normal interval extends each way, if so many are to hold together."""
    require_share("confidence", confidence)
    return float(-ndtri((1.0 - confidence) / (2 * intervals)))


def standard_errors(mechanism: Any, estimate: Any, n: float, *, sampling: bool = False) -> Any:
    """Return the standard error of each estimated frequency, in the shape of `estimate`.

    Parameters
    ----------
    mechanism : Mechanism
        One with exact moments. In groups n times the weights are the numbers asked: where others came, give these as
        weights; `Survey.estimate` does.
    estimate : array (k,) or list of d arrays (k_j,)
        What ``mechanism.estimate(reports)`` returned, or shares that are planned for: fractions, not percentages.
    n : int
        Number of users.
    sampling : bool
        False: errors are those of the frequencies among the users. True: the users are a random sample of many more,
        whose frequencies are wanted; this adds f (1-f) / n to the variance.

    Returns
    -------
    array or list of arrays
        From `mechanism.variance` at a population that has the estimated frequencies, projected to probabilities.
        Page `quality`.

    Raises
    ------
    NoExactMoments
        If the mechanism has no closed form.
    """
    check_unbiased(mechanism)
    check_bool(sampling=sampling)
    sizes = [getattr(part, "shape", None) for part in listed(estimate)]
    if sizes != [(size,) for size in check_domain(mechanism.k)]:
        raise ValueError(f"estimate must be what the mechanism estimates, for k = {mechanism.k}; got shapes {sizes}")
    near = plug_in_population(estimate, check_users(n))
    pairs = zip(listed(mechanism.variance(near)), marginal_frequencies(near), strict=True)
    spread = [(variance + sampling * f * (1 - f) / n) ** 0.5 for variance, f in pairs]
    return spread if isinstance(mechanism.k, tuple) else spread[0]


def estimate_interval(
    mechanism: Any, estimate: Any, n: float, *, confidence: float = 0.95, simultaneous: bool = False
) -> tuple[Any, Any]:
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
    The plug-in fails where the false supports of a value are few. With q the chance that somebody who does not hold it
    supports it, one interval needs an n q of at least 5, or 20 if there are hundreds of values; together they need 50
    for all of 100 values, 100 for all of 1,000 or 300 for all of 100,000. Where users are asked some questions, at
    budgets from 3 on, five of those asked must hold the value too, or for all of 50 questions together 100, of 300
    questions 200. All settings tried then held in 87 of 100 surveys and more, of `OUE` and `OLH` up to budgets of 8: at
    10 in 82 beside a common value. At large budgets n q is small. If all are asked, and not by `OUE` or `OLH`, a false
    support then lies far outside an interval made for none: at n q = 0.15 that of a value that nobody holds covers 86
    times in 100, not 95; at 0.05 those of a hundred values together hardly ever hold. Simulated on the page `quality`.
    """
    check_bool(simultaneous=simultaneous)
    spread = standard_errors(mechanism, estimate, n)
    z = half_width(confidence, len(joined(spread)) if simultaneous else 1)
    low, high = ([a + side * s for a, s in zip(listed(estimate), listed(spread), strict=True)] for side in (-z, z))
    return (low, high) if isinstance(spread, list) else (low[0], high[0])


def required_users(
    mechanism: Any, margin: float, *, confidence: float = 0.95, sampling: bool = False, wants: str = "frequencies"
) -> int:
    """Return the least number of users at which no interval is wider than `margin` each way.

    Parameters
    ----------
    mechanism : Mechanism
        One with exact moments.
    margin : float
        Half the width of the widest interval, in shares: 0.01 is one percentage point.
    confidence : float
        Of each interval on its own.
    sampling : bool
        False: the users are those of interest, and only their noise counts. True: they are a random sample of many
        more, whose frequencies are wanted; then f (1-f) / n is added to the variance.
    wants : {"frequencies", "tables"}
        Whose intervals: those of `estimate_interval`, or those of the cells of every table of two attributes, which can
        take far more users, or fewer; also for a mechanism made for tables only shares are planned if it is not given.

    Returns
    -------
    int

    Notes
    -----
    It holds whatever the users' data are, where the variance of an estimate is a quadratic function of that value's own
    frequency, as that of every mechanism here with exact moments and symmetric channels is: three populations settle
    it. Chapter `randomized_response`. For shares, ``groups=True`` is planned as if all users are dealt into groups at
    once, but for rounding to whole users: intervals may be wider by one part in 2 g where g are asked a question by
    `OneQuestion`. By `AskSome`, whose many groups are each rounded, they may be wider by more: of 330 users on average
    by 3 to 6 % for 12 yes-or-no questions, four to six a user at epsilon = 4 to 6, and by 9 % for 16, four at 4. If
    each device collects alone, or a region is picked out of users dealt together, chance makes some groups smaller and
    their intervals wider still; those of ``groups=False`` stay within the margin. For tables each user counts as
    drawing the question alone. With ``groups=True``, as `recommend` builds them, dealt all at once, that is enough but
    for such rounding (wider by 4 % on average for 12 yes-or-no questions and 197 users at epsilon = 3), and of many
    users more than needed: for k = (2, 4, 3) by 5 % at epsilon = 1, by 13 % at 2 and by 47 % at 3. If each device
    collects alone, intervals are wider where few are asked about a pair: by 10 to 12 % on average for eight yes-or-no
    questions and 1,192 users at epsilon = 1.
    """
    check_bool(sampling=sampling)
    require_share("margin", margin)
    check_unbiased(mechanism)
    if wants not in ("frequencies", "tables"):
        raise ValueError(f"wants must be 'frequencies' or 'tables'; got {wants!r}")
    if wants == "tables":
        check_joint(mechanism, 2)
        cell = worst_cell(mechanism, sampling)

    def enough(n):
        worst = cell / n if wants == "tables" else _worst_variance(mechanism, n, sampling)
        return half_width(confidence) * np.sqrt(worst) <= margin

    users = range(mechanism.least_users, MOST_USERS + 1)
    if enough(MOST_USERS):
        return users[bisect.bisect_left(users, True, key=enough)]
    raise ValueError(f"margin must be reachable with {MOST_USERS} users; got {margin!r} for {mechanism!r}")


def _worst_variance(mechanism, n, sampling):
    """Return the largest variance of an estimated frequency over all populations, from quadratics in that frequency."""
    sizes, half, alike = check_domain(mechanism.k), n // 2, getattr(mechanism, "symmetric", False)
    values = [[min(value, size - 1) for size in sizes] for value in range(2 if alike else max(sizes))]

    def moments(records, counts):
        people = Population(records=np.array(records), counts=np.array(counts), k=sizes)
        return joined(mechanism.variance(people)), joined(marginal_frequencies(people))

    ends, shares = map(np.array, zip(*(moments([value], [n]) for value in values), strict=True))
    own, other = ((ends * held).max(axis=0) for held in (shares, 1 - shares))  # others hold what is worst for it
    bend = 1e-300  # where it is convex, the ends are worst
    for a, pair in enumerate(itertools.pairwise(values)):
        curve = sampling * (shares[a] - shares[a + 1]) ** 2 / n
        if half:
            mixed, _ = moments(pair, [n - half, half])
            curve += (mixed - ends[a] - half / n * (ends[a + 1] - ends[a])) / (half / n * (1 - half / n))
        bend = np.maximum(bend, curve)
    part = np.clip(0.5 + (other - own) / bend / 2, 0, 1)
    return np.max(own + part * (other - own) + bend * part * (1 - part))


def check_joint(mechanism, attributes):
    """Raise TypeError unless the reports of a mechanism give an unbiased table of so many attributes."""
    if mechanism.joint < attributes:
        told = f"mechanism must tell of {attributes} attributes of one person at once; {mechanism!r} does not: before"
        raise TypeError(f"{told} asking, take AskSome(m=) with weights above 0, for two recommend(wants='tables')")


def plug_in_population(estimate, n):
    """Return a population of n users whose frequencies are the estimates, projected and rounded to whole users.

    Only the frequencies matter to the variances that `standard_errors` asks for.
    """
    return Population.from_shares([project_simplex(np.asarray(part)) for part in listed(estimate)], n)

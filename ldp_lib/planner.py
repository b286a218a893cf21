"""How sure an estimate is, and how many users it takes: from exact variances at the estimated frequencies."""

import numpy as np
from scipy.stats import norm

from ldp_lib.inputs import require_share
from ldp_lib.population import Population
from ldp_lib.postprocess import project_simplex

MOST_USERS = 10**15


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
    variances = mechanism.variance(plug_in_population(estimate, n))
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
    The plug-in fails where reports are so few that a count of supports is far from normal, and where a share of nearly
    0 or 1 makes a coin nearly certain: at large budgets. Its coverage is simulated in the chapter `which_mechanism`.
    """
    require_share("confidence", confidence)
    spread = standard_errors(mechanism, estimate, n)
    cells = sum(map(len, spread)) if isinstance(spread, list) else len(spread)
    z = norm.isf((1 - confidence) / (2 * cells if simultaneous else 2))
    if isinstance(spread, list):
        return [a - z * s for a, s in zip(estimate, spread, strict=True)], [
            a + z * s for a, s in zip(estimate, spread, strict=True)
        ]
    return estimate - z * spread, estimate + z * spread


def required_users(mechanism, margin, *, confidence=0.95):
    """Return the least number of users at which no interval of `estimate_interval` is wider than `margin` each way.

    Parameters
    ----------
    mechanism : Mechanism
        One with exact moments.
    margin : float
        Half the width of the widest interval, in shares: 0.01 is one percentage point.
    confidence : float
        Of each interval on its own.

    Returns
    -------
    int

    Notes
    -----
    It holds whatever the users' data are, where the variance of an estimate is linear in the attribute's frequencies,
    as that of every unbiased mechanism here but the correlated pairs of `jrr` is: the worst case is then among the
    populations in which all users hold the same record. Chapter `which_mechanism`.
    """
    require_share("margin", margin)
    require_share("confidence", confidence)
    z = norm.isf((1 - confidence) / 2)

    def enough(n):
        return z * _worst_standard_error(mechanism, n) <= margin

    most = 2
    while not enough(most):
        most *= 2
        if most > MOST_USERS:
            raise ValueError(f"margin must be reachable with {MOST_USERS} users; got {margin!r} for {mechanism!r}")
    least = most // 2
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if enough(middle) else (middle, most)
    return most


def _worst_standard_error(mechanism, n):
    sizes = mechanism.k if isinstance(mechanism.k, tuple) else (mechanism.k,)
    worst = 0.0
    for value in range(max(sizes)):
        record = np.array([[min(value, size - 1) for size in sizes]])
        same = Population(records=record, counts=np.array([n]), k=sizes)
        variances = mechanism.variance(same)
        worst = max(worst, *(float(np.max(v)) for v in (variances if isinstance(variances, list) else [variances])))
    return np.sqrt(worst)


def plug_in_population(estimate, n):
    """Return a population of n users whose frequencies are the estimates, projected and rounded to whole users.

    The attributes are put together in the order of their values: the joint table is no estimate of anything. Only the
    frequencies matter to the variances that `standard_errors` asks for.
    """
    parts = estimate if isinstance(estimate, list) else [estimate]
    columns = [np.repeat(np.arange(len(part)), _whole(project_simplex(np.asarray(part)), n)) for part in parts]
    ends = np.unique(np.concatenate([np.flatnonzero(np.diff(column)) + 1 for column in columns] + [[0]]))
    records = np.column_stack(columns)[ends]
    counts = np.diff(np.append(ends, n))
    order = np.lexsort(records.T[::-1])
    return Population(records=records[order], counts=counts[order], k=tuple(map(len, parts)))


def _whole(shares, n):
    # Largest remainders; of equal ones, the first.
    counts = np.floor(shares * n).astype(np.int64)
    missing = n - counts.sum()
    counts[np.argsort(counts - shares * n, kind="stable")[:missing]] += 1
    return counts

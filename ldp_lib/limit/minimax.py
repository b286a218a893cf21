"""A lower bound of the worst mean squared error of every estimator, biased ones too, by van Trees' inequality."""

import math
from numbers import Integral

import numpy as np

from ldp_lib._inputs import check_bool, require_one
from ldp_lib.limit.bound import least_error


def minimax_error(k, epsilon, n, *, interactive=True):
    """Return a lower bound of the worst mean squared error of every estimator, total over all values.

    Parameters
    ----------
    k : int or sequence of d ints
        Domain sizes, each at least 2.
    epsilon : float
        Privacy budget of one user's whole report, or of all that a user sends; from 1e-6 to 20.
    n : int
        Number of users, from 1 to 2**53.
    interactive : bool
        True: the bound holds for every protocol, also if users are asked in turn or many times (fully interactive).
        False: a bound at least as large, for protocols in which no user's mechanism depends on other users' reports.

    Returns
    -------
    float
        For every such protocol (users randomize independently) and every estimator there is a joint distribution of the
        records, from which the n users are drawn independently, at which the expected squared error of all frequencies
        together is at least this. It is n times never above the larger of ``least_error(k, epsilon).error`` and the sum
        of 1 - 1/k_j, the error of the records themselves, and tends to it. (For two attributes and more the second may
        be larger, at large budgets.)

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong type or out of range.

    Notes
    -----
    The larger of van Trees' bound and of what is known without privacy. With few users the bound for some of many
    attributes may be larger than that for all, and then holds for all as well. Chapter `limit_minimax`.
    """
    require_one("n", n, Integral, lambda v: 1 <= v <= 2**53, "an integer from 1 to 2**53")
    check_bool(interactive=interactive)
    found = least_error(k, epsilon)
    k = found.k
    widest = _radius(k, found.certificate.roots, found.certificate.ceiling) * (1 - 1e-9)
    s = np.geomspace(1e-6, 1, 200)[:, None] * widest
    b = 1 + np.geomspace(0.05, 1e6, 200)
    loss = extra(s, b, sum(k) - len(k), int(n), interactive).min()
    without_privacy = sum(1 - 1 / size for size in k) / (math.sqrt(n) + 1) ** 2
    return max(found.error / n / (1 + float(loss)), without_privacy)


def _radius(k, roots, ceiling):
    """Return the largest s = R^2 Lambda of a ball of distributions: R^2 sum_j zeta_j (k_j - 1) = 1, s below 1."""
    spread = sum(float(root) ** 2 * (size - 1) / size for root, size in zip(roots, k, strict=True))
    return min(float(ceiling) / spread, 1.0)


def extra(s, b, free, n, interactive):
    """Return by how much van Trees' bound is below the limit: it is the limit over n, divided by 1 plus this.

    The prior's density is proportional to (1 - z^2)^b at the distance z R from the centre of a ball of radius R in
    `free` dimensions, b > 1, and s = R^2 Lambda: what it adds to the information of n users, and by how
    much theirs may be larger than at its centre.
    """
    prior = b * free * (free + 2 * b) / ((b - 1) * s * n)
    if interactive:
        return prior + free * s / ((free + 2 * b + 2) * (1 - np.sqrt(s)))
    return prior + s / ((free + 2 * b + 2) * (1 - s))

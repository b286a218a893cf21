"""Splitting one privacy budget over several attributes: equal shares, and those of least error.

Two ways to report an attribute: symmetric unary encoding (binary randomized response, BRR) and generalized randomized
response (multivariate, MRR). Equal shares make BRR and MRR; the shares of least total squared error, OBRR and OMRR.
The mechanisms that spend them are in `ldp_lib.splitting`.
"""

import math

import numpy as np

from ldp_lib import _inputs

LEAST = 1e-9  # the least budget of a report


def brr_error(z, k):
    """Return n times the total squared error of one attribute's frequencies under symmetric unary encoding.

    Parameters
    ----------
    z : number, array or symbol
        exp(budget / 2) - 1, where the budget is what the attribute's report spends; use `numpy.expm1`.
    k : number, array or symbol
        Domain size.

    Returns
    -------
    number, array or symbol
        k (1+z) / z^2, whatever the data. With counts in place of frequencies, divide by n instead.

    Notes
    -----
    The OBRR paper (2020), squared error of the BRR. Derived in the chapter `budget_splitting`.
    """
    return k * (1 + z) / z**2


def mrr_error(z, k):
    """Return n times the total squared error of one attribute's frequencies under generalized randomized response.

    Here z is exp(budget) - 1, and the error is (k-1) (2z+k) / z^2, whatever the data; else as in `brr_error`. The
    OBRR paper (2020), objective of the OMRR. Derived in the chapter `audit_allocation`.
    """
    return (k - 1) * (2 * z + k) / z**2


def brr(k, epsilon):
    """Return equal budgets, one for each attribute, as BRR and MRR use them.

    Parameters
    ----------
    k : int or sequence of d ints
        Domain sizes, each at least 2.
    epsilon : float
        Budget of one user's whole report.

    Returns
    -------
    array of shape (d,)
        What each attribute's report spends. All are multiples of the spacing of floats at `epsilon`, so that sums of
        them are exact in any order, and never above `epsilon`.

    Raises
    ------
    TypeError, ValueError
        If a domain size is no integer of at least 2, there is no attribute, or `epsilon` is out of range or less than
        `LEAST` an attribute.
    """
    return _equal(_sizes(k, epsilon).size, epsilon)


def mrr(k, epsilon):
    """Return equal budgets, one for each attribute; the same as `brr`."""
    return brr(k, epsilon)


def obrr(k, epsilon):
    """Return the budgets, one for each attribute, of least total `brr_error`.

    Parameters
    ----------
    k : int or sequence of d ints
        Domain sizes, each at least 2.
    epsilon : float
        Budget of one user's whole report.

    Returns
    -------
    array of shape (d,)
        What each attribute's report spends: twice the paper's value, which is per bit. Larger domains get more, and
        none less than `LEAST`, below which no mechanism reports. The sum, in floating point and in whatever order, is
        never above `epsilon`, and below it by less than (d + 4) * 2**-52 of it.

    Raises
    ------
    TypeError, ValueError
        As in `brr`.

    Notes
    -----
    The OBRR paper (2020), Eqs. (5) to (14), solved by another route. Derived in the chapter `budget_splitting`.
    """
    return _optimal(k, epsilon, lambda b: np.sinh(b / 4) ** -2.0, _brr_at)


def omrr(k, epsilon):
    """Return the budgets, one for each attribute, of least total `mrr_error`; else as `obrr`.

    The OBRR paper (2020), Eqs. (15) and (16), solved by another route. Derived in the chapter `audit_allocation`.
    """
    return _optimal(k, epsilon, lambda b: 1 / np.expm1(b), _mrr_at)


def _brr_at(u, k):
    # u = 4x / (x-1)^2 with x = exp(b/2): the cubic becomes u^3 + u^2 = (8 lambda / k)^2.
    root = np.sqrt(1 + u)
    budget, marginal = 4 * np.arcsinh(1 / np.sqrt(u)), k / 8 * u * root
    return budget, -2 / root, np.log(marginal), 1 + u / (2 + 2 * u)


def _mrr_at(u, k):
    # u = 1 / (x-1) with x = exp(b): the cubic becomes 2 (k-1) u (1+u) (1+ku) = lambda.
    marginal = 2 * (k - 1) * u * (1 + u) * (1 + k * u)
    steepness = 1 + u / (1 + u) + k * u / (1 + k * u)
    return np.log1p(1 / u), -1 / (1 + u), np.log(marginal), steepness


def _optimal(k, epsilon, start, at):
    sizes = _sizes(k, epsilon)
    if (sizes == sizes[0]).all():
        return _equal(sizes.size, epsilon)
    # A floating-point sum of d positive numbers, in any order, exceeds the true sum by at most (d-1) 2**-53 of it.
    total, free = epsilon * (1 - (sizes.size + 5) * 2.0**-53), np.ones(sizes.size, bool)
    while free.any():  # the problem is convex: who would get less than the least gets the least
        rest, budgets = total - LEAST * np.count_nonzero(~free), np.full(sizes.size, LEAST)
        found = _least_error(sizes[free], rest, start, at)
        budgets[free] = found * (rest / math.fsum(found))
        if budgets.min() >= LEAST:
            return budgets
        free &= budgets >= LEAST
    return _equal(sizes.size, epsilon)


def _least_error(k, epsilon, start, at):
    """Solve sum of budgets = epsilon for mu, the log of the common marginal error -d error / d budget.

    ``at(u, k)`` gives the budget, the log marginal and their slopes in log u. The log marginal is convex and rising in
    log u; the total budget is convex and falling in mu. So both Newton iterations close in from one side.
    """
    sizes, inverse, counts = np.unique(k, return_inverse=True, return_counts=True)
    if sizes.size == 1:
        return np.full(k.size, epsilon / k.size)
    u = start(np.full(sizes.size, epsilon / k.size))
    mu = at(u, sizes)[2].min()  # at which everyone would spend at least the equal share
    while True:
        while True:
            budget, slope, marginal, steepness = at(u, sizes)
            step = (marginal - mu) / steepness
            if np.abs(step).max() < 1e-7:  # one more step is below rounding: Newton doubles the digits
                break
            u *= np.exp(-step)
        budget = budget - step * slope
        over = counts @ budget - epsilon
        if over <= 1e-13 * epsilon:
            return budget[inverse.ravel()]
        change = over / -(counts @ (slope / steepness))
        mu += change
        u *= np.exp(change / steepness - step)


def _equal(d, epsilon):
    epsilon = float(epsilon)
    grid = math.ulp(epsilon)
    return np.full(d, int(epsilon / grid) // d * grid)


def _sizes(k, epsilon):
    _inputs.require(epsilon=epsilon)
    sizes = _inputs.check_domain(k)
    if max(sizes) > 2**63:
        raise ValueError(f"k must be integers of at most 2**63; got {max(sizes)}")
    sizes = np.array(sizes, float)
    part = float(_equal(sizes.size, epsilon)[0])
    if part < LEAST:
        allowed = f"epsilon must be at least {LEAST:g} for each of {sizes.size} attributes"
        raise ValueError(f"{allowed}; got {epsilon!r}, that is {part!r}")
    return sizes

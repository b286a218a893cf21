"""Errors of any mechanism at any population: exact where it has exact moments, else simulated with a standard error.

All errors are mean squared errors over the users' coins, the users' data held fixed.
"""

import numpy as np
import pandas as pd

from ldp_lib import inputs
from ldp_lib.inputs import NoExactMoments
from ldp_lib.population import marginal_frequencies

RUNS = 500
SEED = 1


def squared_errors(mechanism, population, *, rng=None, runs=RUNS):
    """Return the mean squared error of each estimated frequency, and its standard error.

    Parameters
    ----------
    mechanism : Mechanism
        Of this library or the reader's own.
    population : Population
        With the mechanism's domain.
    rng : numpy.random.Generator, optional
        Source of randomness for a mechanism without exact moments. Without one such a mechanism is simulated from a
        generator of fixed seed, so that a call gives the same number each time.
    runs : int
        Simulated estimates, for a mechanism without exact moments.

    Returns
    -------
    error, standard_error : list of d arrays of shape (k_j,)
        Variance plus squared bias, in squared units of frequency. The standard error is 0 where the error is exact.

    Notes
    -----
    Chapter `head_to_head`.
    """
    truth = marginal_frequencies(population)
    try:
        means, variances = (_listed(part(population)) for part in (mechanism.mean, mechanism.variance))
    except NoExactMoments:
        inputs.require(runs=runs)
        rng = np.random.default_rng(SEED) if rng is None else rng
        drawn = [(part - f) ** 2 for part, f in _pairs(mechanism.simulate(population, rng=rng, runs=runs), truth)]
        return [s.mean(axis=0) for s in drawn], [s.std(axis=0, ddof=1) / np.sqrt(runs) for s in drawn]
    exact = [v + (m - f) ** 2 for v, (m, f) in zip(variances, _pairs(means, truth), strict=True)]
    return exact, [np.zeros_like(part) for part in exact]


def total_error(mechanism, population, *, rng=None, runs=RUNS):
    """Return the mean squared error summed over all values of all attributes; arguments as in `squared_errors`."""
    return float(sum(part.sum() for part in squared_errors(mechanism, population, rng=rng, runs=runs)[0]))


def attribute_errors(mechanism, population, *, rng=None, runs=RUNS):
    """Return the mean squared error summed over each attribute's values, shape (d,); see `squared_errors`."""
    return np.array([part.sum() for part in squared_errors(mechanism, population, rng=rng, runs=runs)[0]])


def relative_error(mechanism, population, *, rng, runs=RUNS, at_least=0.001):
    """Return the averaged relative error of the estimated frequencies, and its standard error.

    It is ``|estimate - f| / max(f, at_least)``, averaged over an attribute's values, then over attributes and runs: the
    measure of Wang et al. (2019) and others. It has no closed form, so it is simulated.

    Parameters
    ----------
    mechanism, population, rng, runs :
        As in `squared_errors`; `rng` must be given.
    at_least : float
        Shares below this count as this; above 0.
    """
    inputs.require(rng=rng, runs=runs)
    if not at_least > 0:
        raise ValueError(f"at_least must be above 0; got {at_least!r}")
    truth = marginal_frequencies(population)
    pairs = _pairs(mechanism.simulate(population, rng=rng, runs=runs), truth)
    each = np.mean([(abs(part - f) / np.maximum(f, at_least)).mean(axis=1) for part, f in pairs], axis=0)
    return float(each.mean()), float(each.std(ddof=1) / np.sqrt(runs))


def count_query_error(mechanism, population, values, *, rng, runs=RUNS):
    """Return the root mean squared error of the estimated number of users whose value is among some, in users.

    Parameters
    ----------
    mechanism, population, rng, runs :
        As in `squared_errors`; `rng` must be given: the answer needs the estimates' joint law.
    values : sequence of (int, int)
        Pairs of an attribute's number and a value of it, all of one attribute, at least one.

    Returns
    -------
    float
    """
    inputs.require(rng=rng, runs=runs)
    pairs = [(int(j), int(v)) for j, v in values]
    truth = marginal_frequencies(population)
    if not pairs or len({j for j, _ in pairs}) > 1 or len(set(pairs)) < len(pairs):
        raise ValueError(f"values must be distinct values of one attribute, at least one; got {values!r}")
    for j, v in pairs:
        if not (0 <= j < len(truth) and 0 <= v < len(truth[j])):
            raise ValueError(f"values must lie within the domain k = {population.k}; got {(j, v)}")
    j, chosen = pairs[0][0], [v for _, v in pairs]
    estimates = _listed(mechanism.simulate(population, rng=rng, runs=runs))[j]
    off = (estimates[:, chosen].sum(axis=1) - truth[j][chosen].sum()) * population.n
    return float(np.sqrt((off**2).mean()))


def side_by_side(mechanisms, population, *, rng, runs=RUNS):
    """Return a table of mechanisms and their errors, the least total error first.

    Parameters
    ----------
    mechanisms : sequence of Mechanism
        All with the population's domain.
    population, rng, runs :
        As in `squared_errors`; `rng` must be given.

    Returns
    -------
    pandas.DataFrame
        Columns mechanism, epsilon, total (error), standard_error (0 if exact), points (the root mean squared error of
        one frequency, in percentage points).
    """
    inputs.require(rng=rng, runs=runs)
    rows = []
    for mechanism in mechanisms:
        error, spread = squared_errors(mechanism, population, rng=rng, runs=runs)
        total = float(sum(part.sum() for part in error))
        rows.append(
            {
                "mechanism": type(mechanism).__name__,
                "epsilon": mechanism.epsilon,
                "total": total,
                "standard_error": float(sum(part.sum() for part in spread)),  # an upper bound: they may depend
                "points": 100 * np.sqrt(total / sum(population.k)),
            }
        )
    return pd.DataFrame(rows).sort_values("total", kind="stable", ignore_index=True)


def _listed(estimate):
    return estimate if isinstance(estimate, list) else [estimate]


def _pairs(estimate, truth):
    return zip(_listed(estimate), truth, strict=True)

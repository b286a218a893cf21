"""Errors of any mechanism at any population: exact where it has exact moments, else simulated with a standard error.

All errors are mean squared errors over the users' coins, the users' data held fixed.

`rng` is the source of randomness where something must be simulated. Where a function allows to leave it out, the
generator is then seeded by the question itself, a checksum of the mechanism's `repr` and the population: the same
question has the same answer each time, on every machine, and two mechanisms share no coins. It is one draw all the
same: `total_errors` gives its standard error, and another `rng` another draw.
"""

import hashlib
import math

import numpy as np
import pandas as pd

from ldp_lib import inputs
from ldp_lib.inputs import NoExactMoments
from ldp_lib.population import marginal_frequencies

RUNS = 200


def squared_errors(mechanism, population, *, rng=None, runs=RUNS):
    """Return the mean squared error of each estimated frequency, and its standard error.

    Parameters
    ----------
    mechanism : Mechanism
        Of this library or the reader's own.
    population : Population
        With the mechanism's domain.
    rng : numpy.random.Generator, optional
        Source of randomness for a mechanism without exact moments; if not given, `generator`.
    runs : int
        Simulated estimates, for a mechanism without exact moments.

    Returns
    -------
    error, standard_error : list of d arrays of shape (k_j,)
        Variance plus squared bias, in squared units of frequency. The standard error is 0 where the error is exact.

    Notes
    -----
    Chapter `which_mechanism`.
    """
    exact, drawn = _squares(mechanism, population, rng, runs)
    if exact is not None:
        return exact, [np.zeros_like(part) for part in exact]
    return [s.mean(axis=0) for s in drawn], [_spread(s) for s in drawn]


def attribute_errors(mechanism, population, *, rng=None, runs=RUNS):
    """Return the mean squared error summed over each attribute's values, and its standard error; two arrays (d,).

    Parameters as in `squared_errors`.
    """
    exact, drawn = _squares(mechanism, population, rng, runs)
    if exact is not None:
        return np.array([part.sum() for part in exact]), np.zeros(len(exact))
    sums = [s.sum(axis=1) for s in drawn]
    return np.array([s.mean() for s in sums]), np.array([_spread(s) for s in sums])


def total_error(mechanism, population, *, rng=None, runs=RUNS):
    """Return the mean squared error summed over all values of all attributes, a float; see `total_errors`.

    Exact where the mechanism has exact moments. Else it is the mean of simulated runs, by default from a generator that
    is seeded by the question (`generator`): the same call returns the same number, which is an estimate nonetheless.
    """
    return total_errors(mechanism, population, rng=rng, runs=runs)[0]


def total_errors(mechanism, population, *, rng=None, runs=RUNS):
    """Return the mean squared error summed over all values of all attributes, and its standard error; two floats.

    Parameters as in `squared_errors`.
    """
    exact, drawn = _squares(mechanism, population, rng, runs)
    if exact is not None:
        return float(sum(part.sum() for part in exact)), 0.0
    sums = sum(s.sum(axis=1) for s in drawn)
    return float(sums.mean()), float(_spread(sums))


def generator(mechanism, population):
    """Return a generator seeded by a checksum of the mechanism's `repr` and the population's records and counts."""
    seed = hashlib.sha256(repr((mechanism, population.k)).encode())
    for part in (population.records, population.counts):
        seed.update(part.astype("<i8").tobytes())
    return np.random.default_rng(int.from_bytes(seed.digest(), "big"))


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


def count_query_error(mechanism, population, values, *, rng=None, runs=RUNS):
    """Return the root mean squared error of the estimated number of users whose value is among some, in users.

    Parameters
    ----------
    mechanism, population, runs :
        As in `squared_errors`.
    values : sequence of (int, int)
        Pairs of an attribute's number and a value of it, all of one attribute, at least one.
    rng : numpy.random.Generator, optional
        Must be given but for a single value and a mechanism with exact moments: more values need the estimates' joint
        law, which is simulated.

    Returns
    -------
    error, standard_error : float
        The standard error is 0 where the error is exact.
    """
    pairs = [(int(j), int(v)) for j, v in values]
    truth = marginal_frequencies(population)
    if not pairs or len({j for j, _ in pairs}) > 1 or len(set(pairs)) < len(pairs):
        raise ValueError(f"values must be distinct values of one attribute, at least one; got {values!r}")
    for j, v in pairs:
        if not (0 <= j < len(truth) and 0 <= v < len(truth[j])):
            raise ValueError(f"values must lie within the domain k = {population.k}; got {(j, v)}")
    j, chosen = pairs[0][0], [v for _, v in pairs]
    if len(chosen) == 1 and mechanism.has_exact_moments:
        return population.n * math.sqrt(squared_errors(mechanism, population)[0][j][chosen[0]]), 0.0
    inputs.require(rng=rng, runs=runs)
    estimates = _listed(mechanism.simulate(population, rng=rng, runs=runs))[j]
    squares = ((estimates[:, chosen].sum(axis=1) - truth[j][chosen].sum()) * population.n) ** 2
    error = math.sqrt(squares.mean())
    return error, float(_spread(squares)) / (2 * error) if error > 0 else 0.0


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
        total, spread = total_errors(mechanism, population, rng=rng, runs=runs)
        rows.append(
            {
                "mechanism": type(mechanism).__name__,
                "epsilon": mechanism.epsilon,
                "total": total,
                "standard_error": spread,
                "points": 100 * np.sqrt(total / sum(population.k)),
            }
        )
    return pd.DataFrame(rows).sort_values("total", kind="stable", ignore_index=True)


def _squares(mechanism, population, rng, runs):
    """Return the exact mean squared errors and None, or None and the squared errors of simulated runs."""
    truth = marginal_frequencies(population)
    try:
        means, variances = (_listed(part(population)) for part in (mechanism.mean, mechanism.variance))
    except NoExactMoments:
        rng = generator(mechanism, population) if rng is None else rng
        inputs.require(rng=rng, runs=runs)
        return None, [(part - f) ** 2 for part, f in _pairs(mechanism.simulate(population, rng=rng, runs=runs), truth)]
    return [v + (m - f) ** 2 for v, (m, f) in zip(variances, _pairs(means, truth), strict=True)], None


def _spread(sample):
    """Standard error of the mean of runs, along the first axis; infinite for one run."""
    if len(sample) == 1:
        return np.full(sample.shape[1:], np.inf)
    return sample.std(axis=0, ddof=1) / np.sqrt(len(sample))


def _listed(estimate):
    return estimate if isinstance(estimate, list) else [estimate]


def _pairs(estimate, truth):
    return zip(_listed(estimate), truth, strict=True)

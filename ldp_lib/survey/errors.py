"""Mean squared errors of any mechanism at any population, and of tables of two attributes; the users' data held fixed.

Shares: exact where the mechanism has exact moments, else simulated with a standard error. Where `rng` may be left out,
the generator is seeded by the question itself, a checksum of the mechanism's `repr` and the population: the same
question has the same answer on every machine, and two mechanisms share no random numbers.
Tables: ways to collect and, from the same reports, ways to estimate; squared distance from the true table.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from ldp_lib import _inputs
from ldp_lib._pair_errors import ESTIMATORS, Pairs, every_pair, pair_estimates
from ldp_lib._pair_errors import strength_errors as strength_errors
from ldp_lib.mechanism import NoExactMoments, Rng
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.sampled import OneQuestion
from ldp_lib.survey._intervals import joined
from ldp_lib.tables.product import RRIndependent, RRJoint
from ldp_lib.tables.sampled import ask_pairs

RUNS = 200


def total_error(mechanism: Any, population: Population, *, rng: Rng | None = None, runs: int = RUNS) -> float:
    """Return the mean squared error summed over all values of all attributes, a float; see `total_errors`."""
    return total_errors(mechanism, population, rng=rng, runs=runs)[0]


def total_errors(
    mechanism: Any, population: Population, *, rng: Rng | None = None, runs: int = RUNS
) -> tuple[float, float]:
    """Return the mean squared error summed over all values of all attributes, and its standard error; two floats.

    Parameters
    ----------
    mechanism : Mechanism
        Of this library or the reader's own.
    population : Population
        With the mechanism's domain.
    rng : numpy.random.Generator, optional
        For a mechanism without exact moments; if not given, seeded by mechanism and population.
    runs : int
        Simulated estimates, for a mechanism without exact moments; its standard error is 0 otherwise.

    Notes
    -----
    Variance plus squared bias, in squared shares. Chapter `which_mechanism`.
    """
    truth = joined(marginal_frequencies(population))
    try:
        mean, variance = joined(mechanism.mean(population)), joined(mechanism.variance(population))
    except NoExactMoments:
        rng = _seeded(mechanism, population) if rng is None else rng
        _inputs.require(rng=rng, runs=runs)
        sums = ((joined(mechanism.simulate(population, rng=rng, runs=runs)) - truth) ** 2).sum(axis=1)
        return float(sums.mean()), float(sums.std(ddof=1) / runs**0.5) if runs > 1 else np.inf
    return float((variance + (mean - truth) ** 2).sum()), 0.0


def _seeded(mechanism, population):
    """Return a generator seeded by a checksum of the mechanism's `repr` and the population's records and counts."""
    seed = hashlib.sha256(f"{(mechanism, population.k)!r}".encode())
    for part in population.records, population.counts:
        seed.update(part.astype("<i8").tobytes())
    return np.random.default_rng(int.from_bytes(seed.digest(), "big"))


def collectors(k: Sequence[int], epsilon: float, m: int | None = 2) -> list:
    """Return the ways to collect that are compared: a split budget, the whole record, `ask_pairs`, one question."""
    some: Any = {"k": tuple(k), "epsilon": epsilon}
    return [RRIndependent(**some), RRJoint(**some), ask_pairs(k, epsilon, m), OneQuestion(**some)]


def pair_table_errors(
    population: Population,
    epsilon: float,
    *,
    rng: Rng,
    runs: int = 4,
    pairs: Pairs = None,
    mechanisms: Sequence | None = None,
    estimators: Sequence[str] = ESTIMATORS,
) -> pd.DataFrame:
    """Return a table of the errors of pair tables: one row a way to collect and a way to estimate, the least first.

    Parameters
    ----------
    population : Population
        Of at least two attributes.
    epsilon : float
        Budget of one user's whole report.
    rng : numpy.random.Generator
    runs : int
        At least 2; all estimators see the same reports.
    pairs, estimators : as in `pair_estimates`
    mechanisms : sequence, optional
        `collectors` if not given.

    Returns
    -------
    pandas.DataFrame
        Columns mechanism, estimator, error (squared, summed over cells and pairs), standard_error, root (of the mean
        error of a table).
    """
    _inputs.require(rng=rng, runs=runs)
    pairs = every_pair(population.d, pairs)
    if runs < 2 or not pairs:
        raise ValueError(f"runs must be at least 2 for a standard error; got {runs}; pairs at least one; got {pairs}")
    truth, users, rows = {pair: population.select(*pair).joint for pair in pairs}, population.users(), []
    for way, mechanism in enumerate(collectors(population.k, epsilon) if mechanisms is None else mechanisms):
        for _ in range(runs):
            tables = pair_estimates(mechanism, mechanism.perturb(users, rng=rng), pairs, estimators)
            for name, found in tables.items():
                error = sum(((found[p] - truth[p]) ** 2).sum() for p in pairs)
                rows.append((way, type(mechanism).__name__, name, error))
    every = pd.DataFrame(rows, columns=["way", "mechanism", "estimator", "error"])
    errors = every.groupby(["way", "mechanism", "estimator"], sort=False)["error"]
    told = errors.agg(error="mean", standard_error="sem").reset_index().drop(columns="way")
    return told.assign(root=(told["error"] / len(pairs)) ** 0.5).sort_values("error", kind="stable", ignore_index=True)

"""Mean squared errors of any mechanism at any population, and of tables of two attributes; the users' data held fixed.

Shares: exact where the mechanism has exact moments, else simulated with a standard error. Where `rng` may be left out,
the generator is seeded by the question itself, a checksum of the mechanism's `repr` and the population: the same
question has the same answer on every machine, and two mechanisms share no random numbers.
Tables: ways to collect and, from the same reports, ways to estimate; squared distance from the true table.
"""

import hashlib
import itertools
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from ldp_lib import _inputs
from ldp_lib._strength_errors import strength_errors as strength_errors
from ldp_lib.mechanism import NoExactMoments
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.postprocess import project_simplex
from ldp_lib.sampled import OneQuestion
from ldp_lib.survey._intervals import joined
from ldp_lib.tables import _agreement, consistency
from ldp_lib.tables._asked import raw_table
from ldp_lib.tables.covariance import interaction_noise, table_covariance
from ldp_lib.tables.product import RRIndependent, RRJoint
from ldp_lib.tables.sampled import ask_pairs

RUNS = 200
Rng: TypeAlias = np.random.Generator
Pairs: TypeAlias = Sequence[tuple[int, ...]] | None


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
        drawn = mechanism.simulate(population, rng=rng, runs=runs)
        sums = ((np.concatenate(drawn if isinstance(drawn, list) else [drawn], axis=1) - truth) ** 2).sum(axis=1)
        return float(sums.mean()), float(sums.std(ddof=1) / np.sqrt(runs)) if runs > 1 else float("inf")
    return float((variance + (mean - truth) ** 2).sum()), 0.0


def _seeded(mechanism, population):
    """Return a generator seeded by a checksum of the mechanism's `repr` and the population's records and counts."""
    seed = hashlib.sha256(repr((mechanism, population.k)).encode())
    for part in (population.records, population.counts):
        seed.update(part.astype("<i8").tobytes())
    return np.random.default_rng(int.from_bytes(seed.digest(), "big"))


def collectors(k: Sequence[int], epsilon: float) -> list:
    """Return the ways to collect that are compared: a split budget, the whole record, pairs, one question."""
    some: Any = {"k": tuple(k), "epsilon": epsilon}
    return [RRIndependent(**some), RRJoint(**some), ask_pairs(k, epsilon), OneQuestion(**some)]


ESTIMATORS = ("raw", "projected", "shrunk", "product")


def pair_estimates(
    mechanism: Any, y: np.ndarray, pairs: Pairs = None, estimators: Sequence[str] = ESTIMATORS
) -> dict[str, dict[tuple[int, ...], np.ndarray]]:
    """Return estimated pair tables from the same reports: a dict from the estimator's name to a dict of tables.

    Parameters
    ----------
    mechanism : AskSome, one of clusters, or any other (then only the product of its marginals)
    y : reports
    pairs : sequence of pairs of ints, optional
        All if not given.
    estimators : sequence of str
        Of ESTIMATORS.

    Notes
    -----
    raw: unbiased. projected: the nearest table of probabilities. shrunk: dependence multiplied by Stein's factor, then
    agreeing on marginals and nearest (`repair_pairs`). product: of the projected marginals, as if nothing
    depended on anything.
    """
    pairs = list(itertools.combinations(range(len(mechanism.k)), 2)) if pairs is None else [tuple(p) for p in pairs]
    if not set(estimators) <= set(ESTIMATORS):
        raise ValueError(f"estimators must be among {ESTIMATORS}; got {estimators!r}")
    marginals = [project_simplex(part) for part in mechanism.estimate(y)]
    found: dict[str, dict] = {"product": {(j, i): np.outer(marginals[j], marginals[i]) for j, i in pairs}}
    if mechanism.joint > 1:
        raw = {pair: raw_table(mechanism, y, *pair) for pair in pairs}
        found |= {"raw": raw, "projected": {p: project_simplex(t.ravel()).reshape(t.shape) for p, t in raw.items()}}
        if "shrunk" in estimators:
            shrunk = {p: _shrunk(mechanism, t, found["product"][p], p, len(y)) for p, t in raw.items()}
            found["shrunk"] = _agreement.repair_pairs(shrunk)
    return {name: found[name] for name in estimators if name in found}


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
    if runs < 2:
        raise ValueError(f"runs must be at least 2 for a standard error; got {runs}")
    pairs = list(itertools.combinations(range(population.d), 2)) if pairs is None else [tuple(p) for p in pairs]
    truth, users, rows = {pair: population.select(*pair).joint for pair in pairs}, population.users(), []
    for mechanism in collectors(population.k, epsilon) if mechanisms is None else mechanisms:
        errors: dict[str, list] = {}
        for _ in range(runs):
            tables = pair_estimates(mechanism, mechanism.perturb(users, rng=rng), pairs, estimators)
            for name, found in tables.items():
                errors.setdefault(name, []).append(sum(((found[p] - truth[p]) ** 2).sum() for p in pairs))
        for name, values in errors.items():
            error, noise = float(np.mean(values)), float(np.std(values, ddof=1) / np.sqrt(runs))
            rows.append((type(mechanism).__name__, name, error, noise, float(np.sqrt(error / len(pairs)))))
    found = pd.DataFrame(rows, columns=["mechanism", "estimator", "error", "standard_error", "root"])
    return found.sort_values("error", kind="stable", ignore_index=True)


def _shrunk(mechanism, raw, product, pair, n):
    covariance = table_covariance(mechanism, product, *pair, n=n)
    return consistency.shrink_dependence(raw, interaction_noise(covariance, raw.shape)).table

"""Pair tables estimated in several ways from the same reports, and how far strengths of dependence are off."""

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from ldp_lib import _inputs
from ldp_lib.population import Population
from ldp_lib.postprocess import project_simplex
from ldp_lib.sampled import AskSome
from ldp_lib.tables import _agreement, consistency
from ldp_lib.tables._asked import raw_table
from ldp_lib.tables.clusters import cramers_v
from ldp_lib.tables.covariance import interaction_noise, table_covariance

MOST_CELLS = 512  # of a table of two attributes for which users are planned
ESTIMATORS = ("raw", "projected", "shrunk", "product")
Pairs: TypeAlias = Sequence[tuple] | None


def every_pair(d, pairs=None):
    """Return pairs of attributes as a list of tuples, or all of d attributes."""
    return list(itertools.combinations(range(d), 2) if pairs is None else map(tuple, pairs))


def pair_estimates(
    mechanism: Any, y: np.ndarray, pairs: Pairs = None, estimators: Sequence[str] = ESTIMATORS
) -> dict[str, dict]:
    """Return estimated pair tables from the same reports: a dict from the estimator's name to a dict of tables.

    Parameters
    ----------
    mechanism : AskSome, one of clusters, or any other
        Where its `joint` is 1, as of an `AskSome` with one question, only the product of its marginals.
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
    pairs = every_pair(len(mechanism.k), pairs)
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


def _shrunk(mechanism, raw, product, pair, n):
    covariance = table_covariance(mechanism, product, *pair, n=n)
    return consistency.shrink_dependence(raw, interaction_noise(covariance, raw.shape)).table


def strength_errors(
    mechanism: Any, population: Population, users: Sequence[float], *, rng: np.random.Generator, runs: int = 1
) -> np.ndarray:
    """Return how far estimated strengths of dependence are off: the root mean square over all pairs, by Cramer's V.

    Parameters
    ----------
    mechanism : AskSome or one of clusters
    population : Population
        Its law is the truth.
    users : sequence of numbers
        How many users report, one answer each.
    rng : numpy.random.Generator
    runs : int
        Draws; the same for all numbers of users, so that they can be compared.

    Returns
    -------
    array, one entry for each number of users
        Tables are drawn with normal noise of the exact covariance, shrunk by Stein's rule and repaired, each on its
        own.
    """
    _inputs.require(rng=rng, runs=runs)
    squares = []
    for pair in every_pair(population.d):
        truth = population.select(*pair).joint
        covariance = table_covariance(mechanism, truth, *pair, n=1)
        sizes, turned = np.linalg.eigh(covariance)
        root = turned * np.sqrt(np.maximum(sizes, 0)) @ turned.T  # the same whatever signs the solver gives
        spread = interaction_noise(covariance, truth.shape)
        for noise, n in itertools.product(rng.normal(size=(runs, truth.size)) @ root, users):
            raw = truth + noise.reshape(truth.shape) / np.sqrt(n)
            shrunk = consistency.shrink_dependence(raw, spread / n).table
            ends = [project_simplex(raw.sum(axis=axis)) for axis in (1, 0)]
            table = consistency.project_marginals(shrunk, ends, tolerance=1e-6).table
            squares.append((cramers_v(table) - cramers_v(truth)) ** 2)
    return np.sqrt(np.mean(np.reshape(squares, (-1, len(users))), axis=0))


def worst_cell(mechanism, sampling):
    """Return the largest variance of a cell of a table of two attributes, for one user: over all cells and tables.

    Of independent users it is linear in the table, but for what drawing adds: two records settle it.
    """
    if isinstance(mechanism, AskSome):
        mechanism = dataclasses.replace(mechanism, groups=False)
    worst = 0.0
    for i, j in every_pair(len(mechanism.k)):
        shape = mechanism.k[i], mechanism.k[j]
        if (cells := math.prod(shape)) > MOST_CELLS:
            raise ValueError(f"k must give tables of at most {MOST_CELLS} cells to plan for; got {shape}")
        all_alike = np.eye(cells).reshape(cells, *shape)
        variance = np.array([np.diag(table_covariance(mechanism, one, i, j, n=1)) for one in all_alike])
        own, other = np.diag(variance), np.where(np.eye(cells), -np.inf, variance).max(axis=0)
        share = np.clip((1 + own - other) / 2, 0, 1) if sampling else own > other
        worst = max(worst, np.max(other + share * (own - other + sampling * (1 - share))))
    return worst

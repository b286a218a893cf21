"""How far estimated strengths of dependence are off, for any number of users."""

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from ldp_lib import _inputs
from ldp_lib.population import Population
from ldp_lib.postprocess import project_simplex
from ldp_lib.tables import consistency
from ldp_lib.tables.clusters import cramers_v
from ldp_lib.tables.covariance import interaction_noise, table_covariance


def strength_errors(
    mechanism: Any,
    population: Population,
    users: Sequence[float],
    *,
    rng: np.random.Generator,
    runs: int = 1,
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
    for pair in itertools.combinations(range(population.d), 2):
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

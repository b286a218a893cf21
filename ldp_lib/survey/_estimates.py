"""Estimates with their variances: tables of attributes, sums of shares, and shares with design weights.

Variances hold the people who were asked fixed, unless `sampling` adds the error of drawing them at random.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from ldp_lib.inputs import require_share
from ldp_lib.postprocess import project_simplex
from ldp_lib.sampled import AskSome, OneQuestion
from ldp_lib.subset import SubsetSelection
from ldp_lib.survey import _files as files
from ldp_lib.survey import planner
from ldp_lib.tables.covariance import held_fixed, raw_table, table_covariance
from ldp_lib.tables.product_channel import ProductChannel


def joint_table(mechanism: Any, blocks: Iterable, attributes: tuple[int, ...]) -> tuple[np.ndarray, int]:
    """Return the raw table of some attributes and the number of reports, from blocks of reports.

    The mean of the blocks' tables, weighted by their sizes: each is unbiased, and its covariance goes by 1/size.
    """
    if mechanism.joint < len(attributes):
        raise TypeError(
            f"mechanism must tell of {len(attributes)} attributes of one person at once; {mechanism!r} does not. Take, "
            "before anybody is asked, recommend(k=..., epsilon=..., n=..., wants='tables').mechanism"
        )
    total, n = np.zeros([mechanism.k[j] for j in attributes]), 0
    for y in blocks:
        total = total + len(y) * raw_table(mechanism, y, *attributes)
        n += len(y)
    if not n:
        raise ValueError("reports must hold at least one report; got none")
    return total / n, n


def joint_covariance(mechanism: Any, table: np.ndarray, attributes: tuple[int, ...], n: int, sampling: bool) -> Any:
    """Return the covariance of a raw table's cells, from the nearest table of probabilities."""
    near = project_simplex(table.ravel()).reshape(table.shape)
    covariance = table_covariance(mechanism, near, *attributes, n=n)
    return covariance if sampling else held_fixed(covariance, near, n)


def value_covariance(mechanism: Any, estimate: Any, j: int, n: int, sampling: bool) -> np.ndarray | None:
    """Return the covariance of the estimated shares of one attribute's values, or None where no formula is here."""
    if isinstance(mechanism, OneQuestion) and all(isinstance(one, SubsetSelection) for one in mechanism.oracle_):
        sizes, weights = tuple(one.size_ for one in mechanism.oracle_), mechanism.weights_
        mechanism = AskSome(
            k=mechanism.k, epsilon=mechanism.epsilon, m=1, sizes=sizes, weights=weights, groups=mechanism.groups
        )
    if isinstance(mechanism, (AskSome, ProductChannel)):
        return joint_covariance(mechanism, np.asarray(estimate[j]), (j,), n, sampling)
    return None


def spread(mechanism: Any, estimate: Any, n: int, sampling: bool) -> Any:
    """Return the standard errors of estimated shares; with `sampling` for people drawn at random from many."""
    parts = planner.standard_errors(mechanism, estimate, n)
    if not sampling:
        return parts
    pairs = [(s, project_simplex(np.asarray(f))) for s, f in zip(_listed(parts), _listed(estimate), strict=True)]
    return [np.sqrt(s**2 + f * (1 - f) / n) for s, f in pairs]


def contributions(mechanism: Any, frame: pd.DataFrame) -> np.ndarray:
    """Return each person's own unbiased estimate of the indicators of all values, shape (people, values).

    It is what the mechanism would estimate from this report alone; equal reports are computed once.
    """
    flat = frame[files.columns(mechanism)]
    distinct = files.from_frame(flat[~flat.duplicated()], mechanism)
    group = flat.groupby(list(flat.columns), sort=False).ngroup().to_numpy()  # by first appearance, as above
    rows = []
    for i in range(int(group.max()) + 1):
        one = type(distinct)(part[i : i + 1] for part in distinct) if _several(distinct) else distinct[i : i + 1]
        rows.append(np.concatenate(_listed(mechanism.estimate(one))))
    return np.array(rows)[group]


def weighted_shares(
    z: np.ndarray, weights: Any, *, population: float | None = None, sampling: Any = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return shares in a population and their variances, from people's contributions and design weights.

    Parameters
    ----------
    z : array, shape (people, values)
        What `contributions` gives.
    weights : array, shape (people,)
        One over each person's probability of being asked, at least 1.
    population : float, optional
        Number of people in the population: totals are divided by it (Horvitz and Thompson, 1952). If not given, by the
        sum of the weights (Hajek, 1971).
    sampling : bool, "poisson", "with replacement" or array of shape (people, people)
        What is random beside the randomizers. False: nothing; the people asked are fixed. True or "poisson": each
        person was asked independently of the others. An array: the probabilities that two people are both asked, in
        the order of the reports. "with replacement": the approximation of Hansen and Hurwitz (1943), for designs whose
        joint probabilities are not known.

    Notes
    -----
    An indicator is its own square, so E[z^2 - z] is the variance that the randomizer adds: for Horvitz and Thompson the
    variances are unbiased for the randomization, for Poisson sampling and for given joint probabilities; for Hajek they
    are those of the linearized ratio. They may be below 0 where people are few, and are slightly too large where
    people are assigned to questions in groups.
    """
    w = np.asarray(weights, dtype=float)
    if w.shape != (len(z),) or not np.isfinite(w).all() or w.min() < 1:
        raise ValueError(f"weights must be {len(z)} finite numbers of at least 1, one a person; got {weights!r}")
    if population is not None and not population >= 1:
        raise ValueError(f"population must be the number of people in it; got {population!r}")
    total = w.sum() if population is None else float(population)
    shares = w @ z / total
    centre = shares if population is None else np.zeros_like(shares)
    square = z * (1 - 2 * centre) + centre**2  # unbiased for the square of the indicator less the centre
    if isinstance(sampling, str) and sampling == "with replacement":
        apart = w[:, None] * (z - centre)
        variance = ((apart - apart.mean(axis=0)) ** 2).sum(axis=0) * len(w) / max(len(w) - 1, 1)
        return shares, variance / total**2
    variance = w**2 @ (z**2 - z)
    if isinstance(sampling, str) and sampling != "poisson":
        raise ValueError(f"sampling must be a bool, 'poisson', 'with replacement' or an array; got {sampling!r}")
    if isinstance(sampling, np.ndarray):
        variance = variance + _from_pairs(sampling, w, z - centre)
    if sampling is not False:
        variance = variance + (w**2 - w) @ square
    return shares, variance / total**2


def _from_pairs(joint, w, z):
    """Return what two different people add to the variance of a total, by their joint probabilities."""
    if joint.shape != (len(w), len(w)) or (joint <= 0).any() or not np.allclose(np.diag(joint), 1 / w):
        raise ValueError(
            "sampling must hold the probabilities that two people are both asked, above 0, with one over each person's "
            f"weight on the diagonal; got shape {joint.shape}"
        )
    pull = (joint - np.outer(1 / w, 1 / w)) / joint * np.outer(w, w)
    np.fill_diagonal(pull, 0)
    return np.einsum("ic,ij,jc->c", z, pull, z, optimize=True)


def half_width(confidence: float, simultaneous: int = 1) -> float:
    """Return how many standard errors an interval reaches each way; so many together hold at once (Bonferroni)."""
    from scipy.special import ndtri

    require_share("confidence", confidence)
    return float(-ndtri((1 - confidence) / (2 * simultaneous)))


def _several(part):
    return isinstance(part, list | tuple)


def _listed(part):
    return part if isinstance(part, list) else [part]

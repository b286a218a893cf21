"""Sums of cells from the reports of clusters, with exact variances and intervals; no table is ever built.

A query is a box, such as ``{0: [1, 2], 5: [0]}``: the users whose attribute 0 is 1 or 2 and whose attribute 5 is 0. It
may also be a list of boxes that have no user in common, or a share within a box. Other sets of cells: `predicates`.
"""

import itertools
import math
import numbers
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.stats import norm

from ldp_lib import inputs
from ldp_lib.tables.clustered import Clustered

BLOCK = 2**14


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The raw unbiased estimate of a share of users, and that of its variance, which may be below 0."""

    estimate: float
    variance: float

    def interval(self, confidence=0.95):
        """Return the ends of the interval that holds the share with the given probability, for many users."""
        if isinstance(confidence, bool) or not isinstance(confidence, numbers.Real) or not 0 < confidence < 1:
            raise ValueError(f"confidence must be a number above 0 and below 1; got {confidence!r}")
        half = norm.ppf((1 + confidence) / 2) * math.sqrt(max(self.variance, 0))
        return float(self.estimate - half), float(self.estimate + half)


def ask(mechanism, y, where):
    """Return the estimated share of users in a box, or in any of several, from the reports of a `Clustered` mechanism.

    Parameters
    ----------
    mechanism : RRIndependent, RRJoint, RRClusters or ProductRR
    y : array_like of int, shape (n, d)
        Reports.
    where : dict from attributes to values, or a list of such
        Boxes must not overlap. An attribute that is not named may have any value.

    Returns
    -------
    Answer

    Notes
    -----
    A report adds the product over clusters of a score whose mean is 1 for users in the box, else 0. The mean square of
    the scores less the estimate, over n, has the estimate's variance as its mean, the users' data held fixed: the
    square of a user's own mean is that mean. The cost is that of reading the named columns once a box.
    """
    boxes, y = check_boxes(mechanism, where), inputs.check_records(y, mechanism.k, "y")
    total = square = 0.0
    for start in range(0, len(y), BLOCK):
        rows = y[start : start + BLOCK]
        scores = sum(_score(mechanism, box, rows) for box in boxes)
        total, square = total + scores.sum(), square + scores @ scores
    estimate = total / len(y)
    return Answer(estimate=float(estimate), variance=float((square / len(y) - estimate) / len(y)))


def query_variance(mechanism, population, where):
    """Return the exact variance of the estimate of `ask`, the users' data held fixed."""
    boxes = check_boxes(mechanism, where)
    inputs.check_population(population, mechanism.k)
    square, inside = np.zeros((2, len(population.records)))
    for one, other in itertools.product(boxes, repeat=2):
        part = np.ones(len(population.records))
        for number, cluster in enumerate(mechanism.clusters):
            if any(j in one or j in other for j in cluster):
                part *= _second_moment(mechanism, number, one, other, population.records)
        square += part
    for box in boxes:
        inside += _inside(box, population.records)
    return float(population.counts @ (square - inside)) / population.n**2


def ask_given(mechanism, y, where, given):
    """Return the share of users in one box among those in another, such as a cell of a table given a third attribute.

    Parameters
    ----------
    mechanism, y : as in `ask`
    where, given : dict from attributes to values
        Different attributes.

    Returns
    -------
    Answer
        A ratio of two estimates: nearly unbiased for many users; its variance is by the delta method.
    """
    (one,), (other,) = check_boxes(mechanism, where), check_boxes(mechanism, given)
    if set(one) & set(other):
        raise ValueError(f"given must name other attributes than where; got {sorted(set(one) & set(other))} in both")
    y, total, sums = inputs.check_records(y, mechanism.k, "y"), 0.0, 0.0
    for start in range(0, len(y), BLOCK):
        rows = y[start : start + BLOCK]
        scores = np.array([_score(mechanism, box, rows) for box in (one | other, other)])
        total, sums = total + scores.sum(axis=1), sums + scores @ scores.T
    inside, base = total / len(y)
    if not base > 0:
        raise ValueError(f"given must hold some users; it is estimated to hold a share of {base}")
    ratio, slope = inside / base, np.array([1, -inside / base])
    variance = (slope @ sums @ slope / len(y) - base * ratio * (1 - ratio)) / (len(y) * base**2)
    return Answer(estimate=float(ratio), variance=float(variance))


def _score(mechanism, box, rows):
    scores = np.ones(len(rows))
    for number, cluster in enumerate(mechanism.clusters):
        if any(j in box for j in cluster):
            keep, matrix = mechanism.keeps[number], mechanism.channels[number]
            if keep is None:
                sizes = [mechanism.k[j] for j in cluster]
                cells = np.ravel_multi_index(tuple(rows[:, j] for j in cluster), sizes)
                scores *= np.linalg.solve(np.array(matrix), _cells(mechanism, cluster, box))[cells]
            else:
                free = (1 - keep) * _share(mechanism, cluster, box)
                scores *= np.where(_inside(box, rows, cluster), (1 - free) / keep, -free / keep)
    return scores


def _second_moment(mechanism, number, one, other, records):
    """Mean product of two boxes' scores in one cluster, for each record."""
    cluster, keep, matrix = mechanism.clusters[number], mechanism.keeps[number], mechanism.channels[number]
    if keep is None:
        matrix = np.array(matrix)
        scores = [np.linalg.solve(matrix, _cells(mechanism, cluster, box)) for box in (one, other)]
        cells = np.ravel_multi_index(tuple(records[:, j] for j in cluster), [mechanism.k[j] for j in cluster])
        return (matrix @ (scores[0] * scores[1]))[cells]
    both = {j: one.get(j, other.get(j)) & other.get(j, one.get(j)) for j in cluster if j in one or j in other}
    free = [(1 - keep) * _share(mechanism, cluster, box) for box in (one, other, both)]
    chance = [keep * _inside(box, records, cluster) + f for box, f in zip((one, other, both), free, strict=True)]
    return (chance[2] - free[0] * chance[1] - free[1] * chance[0] + free[0] * free[1]) / keep**2


def _share(mechanism, cluster, box):
    return math.prod(box[j].mean() for j in cluster if j in box)


def _inside(box, rows, cluster=None):
    inside = np.ones(len(rows), bool)
    for j, chosen in box.items():
        if cluster is None or j in cluster:
            inside &= chosen[rows[:, j]]
    return inside


def _cells(mechanism, cluster, box):
    """Indicator of the box over the cells of one cluster."""
    parts = [box.get(j, np.ones(mechanism.k[j], bool)).astype(float) for j in cluster]
    return reduce(np.multiply.outer, parts).ravel()


def check_boxes(mechanism, where):
    """Return boxes as dicts from attributes to arrays of booleans, or raise."""
    if not isinstance(mechanism, Clustered):
        raise TypeError(f"mechanism must be one of clusters, such as RRIndependent; got {mechanism!r}")
    boxes, d = [where] if isinstance(where, dict) else list(where), len(mechanism.k)
    if not boxes or not all(isinstance(box, dict) and box for box in boxes):
        raise TypeError(f"where must be a dict from attributes to values, or a list of such; got {where!r}")
    found = []
    for box in boxes:
        found.append({})
        for j, values in box.items():
            if isinstance(j, bool) or not isinstance(j, numbers.Integral) or not 0 <= j < d:
                raise ValueError(f"where must name attributes from 0 to {d - 1}; got {j!r}")
            values = np.atleast_1d(np.asarray(values))
            if values.dtype.kind not in "iu" or values.ndim != 1 or not values.size:
                raise TypeError(f"where must give at least one integer for attribute {j}; got {values!r}")
            if values.min() < 0 or values.max() >= mechanism.k[j]:
                raise ValueError(
                    f"where must give values from 0 to {mechanism.k[j] - 1} for attribute {j}; got {values}"
                )
            found[-1][int(j)] = np.bincount(values, minlength=mechanism.k[j]) > 0
    for one, other in itertools.combinations(found, 2):
        if all((one[j] & other[j]).any() for j in one if j in other):
            raise ValueError("where must hold boxes without a common cell; two overlap")
    return found

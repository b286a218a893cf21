"""Shares of users in a set of cells, from reports of whole records, with variances and intervals.

A query is a box, such as ``{0: [1, 2], 5: [0]}``: the users whose attribute 0 is 1 or 2 and whose attribute 5 is 0. It
may also be a list of boxes that have no user in common, a share within a box, or any set of cells (`ask_cells`).
"""

import itertools
import math
import numbers
from functools import reduce

import numpy as np

from ldp_lib import inputs
from ldp_lib.tables._results import Answer
from ldp_lib.tables.product_channel import ProductChannel

BLOCK = 2**14


def ask(mechanism, y, where):
    """Return the estimated share of users in a box, or in any of several, from reports of whole records.

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
    boxes, y = _check_boxes(mechanism, where), inputs.check_records(y, mechanism.k, "y")
    total = square = 0.0
    for start in range(0, len(y), BLOCK):
        rows = y[start : start + BLOCK]
        scores = sum(_score(mechanism, box, rows) for box in boxes)
        total, square = total + scores.sum(), square + scores @ scores
    return _answer(total, square, len(y), max(_step(mechanism, box) for box in boxes))


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
    (one,), (other,) = _check_boxes(mechanism, where), _check_boxes(mechanism, given)
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
    step = _step(mechanism, one | other) / (len(y) * base)
    return Answer(estimate=float(ratio), variance=float(variance), step=float(step))


def ask_cells(mechanism, y, attributes, subset):
    """Return the estimated share of users in any set of cells of a few attributes.

    Parameters
    ----------
    mechanism, y : as in `ask`
    attributes : sequence of int
        With at most 2**22 cells together.
    subset : array_like or callable
        Distinct cells, one a row; a table of booleans; or a function from cells, one a row, to booleans, such as
        ``lambda cells: cells.sum(axis=1) >= 2``.

    Returns
    -------
    Answer
    """
    _check_mechanism(mechanism)
    attributes, y = mechanism.check_attributes(attributes), inputs.check_records(y, mechanism.k, "y")
    taken = mechanism.taken(attributes)
    sizes = tuple(mechanism.k[j] for j in taken)
    if math.prod(sizes) > 2**22:
        raise ValueError(f"attributes must have at most 2**22 cells together; got {math.prod(sizes)}: see ask")
    scores = np.zeros(sizes)
    scores[tuple(_check_subset(subset, sizes[: len(attributes)]).T)] = 1
    for cluster, keep, matrix in zip(mechanism.clusters_, mechanism.keeps, mechanism.channels_, strict=True):
        axes = tuple(taken.index(j) for j in cluster if j in taken)
        if axes and keep is None:
            moved = np.moveaxis(scores, axes, range(len(axes)))
            flat = np.linalg.solve(np.array(matrix), moved.reshape(len(matrix), -1))
            scores = np.moveaxis(flat.reshape(moved.shape), range(len(axes)), axes)
        elif axes:
            scores = (scores - (1 - keep) * scores.mean(axis=axes, keepdims=True)) / keep
    flat, cells = scores.ravel(), np.ravel_multi_index(tuple(y[:, j] for j in taken), sizes)
    counts = np.bincount(cells, minlength=flat.size)
    return _answer(counts @ flat, counts @ flat**2, len(y), float(np.ptp(flat)))


def _answer(total, square, n, step):
    """The estimate from the sum of the reports' scores, and its variance from their sum of squares."""
    return Answer(estimate=float(total / n), variance=float((square / n - total / n) / n), step=step / n)


def _step(mechanism, box):
    """The difference between the largest and the least score of a report, but for factors next to 1."""
    step = 1.0
    for cluster, keep, matrix in zip(mechanism.clusters_, mechanism.keeps, mechanism.channels_, strict=True):
        if any(j in box for j in cluster):
            own = None if keep else np.linalg.solve(np.array(matrix), _cells(mechanism, cluster, box))
            step *= 1 / keep if keep else float(np.ptp(own))
    return step


def _score(mechanism, box, rows):
    scores = np.ones(len(rows))
    for number, cluster in enumerate(mechanism.clusters_):
        if any(j in box for j in cluster):
            keep, matrix = mechanism.keeps[number], mechanism.channels_[number]
            if keep is None:
                sizes = [mechanism.k[j] for j in cluster]
                cells = np.ravel_multi_index(tuple(rows[:, j] for j in cluster), sizes)
                scores *= np.linalg.solve(np.array(matrix), _cells(mechanism, cluster, box))[cells]
            else:
                free = (1 - keep) * _share(mechanism, cluster, box)
                scores *= np.where(_inside(box, rows, cluster), (1 - free) / keep, -free / keep)
    return scores


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


def _check_mechanism(mechanism):
    if not isinstance(mechanism, ProductChannel):
        raise TypeError(f"mechanism must be one of clusters, such as RRIndependent; got {mechanism!r}")


def _check_boxes(mechanism, where):
    """Return boxes as dicts from attributes to arrays of booleans, or raise."""
    _check_mechanism(mechanism)
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


def _check_subset(subset, sizes):
    """Return the cells of a subset of a table, one a row, from booleans, from cells or from a function; or raise."""
    allowed = f"subset must be booleans of shape {sizes}, distinct cells of shape (m, {len(sizes)}), or a function"
    if callable(subset):
        if math.prod(sizes) > 2**22:
            raise ValueError(f"subset must list its cells if there are more than 2**22; there are {math.prod(sizes)}")
        every = np.indices(sizes).reshape(len(sizes), -1).T
        chosen = np.asarray(subset(every))
        if chosen.dtype != bool or chosen.shape != every.shape[:1]:
            raise ValueError(f"subset must give one boolean a row; got {chosen.dtype}, shape {chosen.shape}")
        return every[chosen]
    subset = np.asarray(subset)
    if subset.dtype == bool and subset.shape == sizes:
        return np.argwhere(subset)
    if subset.dtype.kind not in "iu" or subset.ndim != 2:
        raise ValueError(f"{allowed}; got {subset.dtype}, shape {subset.shape}")
    inputs.check_records(subset, sizes, "subset")
    if len(np.unique(subset, axis=0)) < len(subset):
        raise ValueError(f"{allowed}; got a cell twice")
    return subset

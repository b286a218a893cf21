"""Shares of users in a set of cells, from reports of whole records, with variances and intervals.

A query is a box, such as ``{0: [1, 2], 5: [0]}``: the users whose attribute 0 is 1 or 2 and whose attribute 5 is 0. It
may also be a list of boxes that have no user in common, a share within a box, or any set of cells (`ask_cells`).
"""

import itertools
import math
from functools import reduce

import numpy as np

from ldp_lib import _inputs
from ldp_lib.tables._product_channel import ProductChannel, cells_of, distinct
from ldp_lib.tables._results import Answer

BLOCK = 2**14


def ask(mechanism, y, where, given=None) -> Answer:
    """Return the estimated share of users in a box, or in any of several, from reports of whole records.

    Parameters
    ----------
    mechanism : RRIndependent, RRJoint, RRClusters or ProductRR
    y : array_like of int, shape (n, d)
        Reports.
    where : dict from attributes to values, or a list of such
        Both are numbers from 0, no labels. Boxes must not overlap. An attribute that is not named may have any value.
    given : dict from attributes to values, optional
        A box of other attributes than those of `where`: the share is that among the users in it.
        This is a ratio of two estimates: nearly unbiased for many users; its variance is by the delta method. Where the
        box's true share is less than six of its own standard errors, intervals hold less often: at 3.1, in 87 of 100
        surveys whose estimate of it is above three of them; within two, they may in two of three only.

    Returns
    -------
    Answer

    Notes
    -----
    It is for the users who reported. If they are drawn at random from many more, f (1-f) / n is to be added to the
    variance of a share f, and within a given box of share g this over g.

    A report adds the product over clusters of a score whose mean is 1 for users in the box, else 0. The mean square of
    the scores less the estimate, over n, has the estimate's variance as its mean, the users' data held fixed: the
    square of a user's own mean is that mean. `step` is the largest of the boxes'. The cost is that of reading the named
    columns once a box.
    """
    boxes = _check_boxes(mechanism, where)
    y = _inputs.check_records(y, mechanism.k, "y")
    (base,) = _check_boxes(mechanism, given) if given is not None else [{}]
    if both := sorted({j for box in boxes for j in box} & set(base)):
        raise ValueError(f"given must name other attributes than where; got {both} in both")
    total, sums = np.zeros(2), np.zeros((2, 2))
    for start in range(0, len(y), BLOCK):
        rows = y[start : start + BLOCK]
        inside = sum(_score(mechanism, box | base, rows) for box in boxes)
        scores = np.array([inside, _score(mechanism, base, rows)])
        total, sums = total + scores.sum(axis=1), sums + scores @ scores.T
    share, whole = total / len(y)
    if not whole > 0:
        raise ValueError(f"given must hold some users; it is estimated to hold a share of {whole}")
    ratio, slope, users = share / whole, np.array([1, -share / whole]), len(y) * whole
    variance = (slope @ sums @ slope / users - ratio * (1 - ratio)) / users
    step = max(_step(mechanism, box | base) for box in boxes) / users
    return Answer(estimate=float(ratio), variance=float(variance), step=float(step))


def ask_cells(mechanism, y, attributes, subset) -> Answer:
    """Return the estimated share of users in any set of cells of a few attributes.

    Parameters
    ----------
    mechanism, y : as in `ask`
    attributes : sequence of int
        With at most 2**22 cells together.
    subset : array_like or callable
        Distinct cells, one a row; a table of booleans; or a function from cells, one a row, to booleans, such as
        ``lambda cells: cells.sum(axis=1) >= 2``. One that holds for no cell, such as one on labels, has the share 0.

    Returns
    -------
    Answer
    """
    _check_mechanism(mechanism)
    attributes = distinct(attributes, mechanism.d)
    y = _inputs.check_records(y, mechanism.k, "y")
    taken = mechanism.taken(attributes)
    sizes = tuple(mechanism.k[j] for j in taken)
    if math.prod(sizes) > 2**22:
        raise ValueError(f"attributes must have at most 2**22 cells together; got {math.prod(sizes)}: see ask")
    scores = np.zeros(sizes)
    scores[tuple(_check_subset(subset, sizes[: len(attributes)]).T)] = 1
    for mine, channel in mechanism.parts(attributes):
        axes = tuple(taken.index(j) for j in mine)
        if np.ndim(channel):
            moved = np.moveaxis(scores, axes, range(len(axes)))
            flat = np.linalg.solve(channel, moved.reshape(len(channel), -1))
            scores = np.moveaxis(flat.reshape(moved.shape), range(len(axes)), axes)
        else:
            scores = (scores - (1 - channel) * scores.mean(axis=axes, keepdims=True)) / channel
    flat, n = scores.ravel(), len(y)
    counts = np.bincount(cells_of(y, mechanism.k, taken), minlength=flat.size)
    variance = (counts @ flat**2 - counts @ flat) / n**2
    return Answer(estimate=float(counts @ flat / n), variance=float(variance), step=float(np.ptp(flat)) / n)


def _step(mechanism, box):
    """The difference between the largest and the least score of a report on one box."""
    ends = np.ones(1)
    for mine, channel in mechanism.parts(box):
        if np.ndim(channel):
            own = _solved(mechanism, mine, channel, box)
        else:
            share = math.prod(box[j].mean() for j in mine)
            own = (np.arange(share == 1, 2) - (1 - channel) * share) / channel  # nobody is outside of all values
        ends = np.outer(ends, own)
        ends = np.array([ends.min(), ends.max()])
    return np.ptp(ends)


def _score(mechanism, box, rows):
    scores = np.ones(len(rows))
    for mine, channel in mechanism.parts(box):
        if np.ndim(channel):
            scores *= _solved(mechanism, mine, channel, box)[cells_of(rows, mechanism.k, mine)]
        else:
            free = (1 - channel) * math.prod(box[j].mean() for j in mine)
            inside = np.all([box[j][rows[:, j]] for j in mine], axis=0)
            scores *= np.where(inside, (1 - free) / channel, -free / channel)
    return scores


def _solved(mechanism, cluster, matrix, box):
    """What a report of a cluster adds to the estimate of the box."""
    parts = [box.get(j, np.ones(mechanism.k[j], bool)).astype(float) for j in cluster]
    return np.linalg.solve(matrix, reduce(np.multiply.outer, parts).ravel())


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
            if not _inputs.is_integer(j) or not 0 <= j < d:
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
    _inputs.check_records(subset, sizes, "subset")
    if len(np.unique(subset, axis=0)) < len(subset):
        raise ValueError(f"{allowed}; got a cell twice")
    return subset

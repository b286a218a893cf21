"""Shares of users that no box describes: any cells of a few attributes, or how many of many conditions hold.

From the reports of clusters, with exact variances and intervals as in `queries`; no table of all attributes is built.
"""

import math

import numpy as np
from scipy.stats import binom

from ldp_lib import inputs
from ldp_lib.tables.clustered import Clustered
from ldp_lib.tables.queries import BLOCK, Answer, check_boxes


def ask_cells(mechanism, y, attributes, subset):
    """Return the estimated share of users in any set of cells of a few attributes.

    Parameters
    ----------
    mechanism, y : as in `ask`
    attributes : sequence of int
        With at most 2**22 cells together.
    subset : array_like or callable
        As in `Clustered.frequency`: distinct cells, a table of booleans, or a function from cells, one a row.

    Returns
    -------
    Answer
    """
    taken, chosen = _cells_of(mechanism, attributes, subset)
    y = inputs.check_records(y, mechanism.k, "y")
    scores = _through(mechanism, taken, chosen, back=True).ravel()
    counts = np.zeros(scores.size)
    for start in range(0, len(y), BLOCK):
        rows = y[start : start + BLOCK]
        counts += np.bincount(np.ravel_multi_index(tuple(rows[:, j] for j in taken), chosen.shape), None, scores.size)
    estimate = counts @ scores / len(y)
    return Answer(estimate=float(estimate), variance=float((counts @ scores**2 / len(y) - estimate) / len(y)))


def cells_variance(mechanism, population, attributes, subset):
    """Return the exact variance of the estimate of `ask_cells`, the users' data held fixed."""
    taken, chosen = _cells_of(mechanism, attributes, subset)
    inputs.check_population(population, mechanism.k)
    square = _through(mechanism, taken, _through(mechanism, taken, chosen, back=True) ** 2, back=False) - chosen
    return float(population.counts @ square[tuple(population.records[:, taken].T)]) / population.n**2


def ask_count(mechanism, y, where, which):
    """Return the estimated share of users for whom the number of conditions that hold is among some numbers.

    Parameters
    ----------
    mechanism, y : as in `ask`
    where : dict from attributes to values
        Each is one condition, that the attribute has one of the values; attributes of different clusters.
    which : function from numbers of conditions to booleans, or booleans
        For the numbers 0, 1, ..., len(where), such as ``lambda count: count >= 40``, or ``count % 2 == 1``.

    Returns
    -------
    Answer

    Notes
    -----
    Conditions have coins of their own, so the mean product of 1 + (z - 1) score over all conditions is z to the number
    that hold: its coefficients are scores of the numbers. They depend on how many reports fit, of each kind of coin.
    """
    kinds, which = _kinds(mechanism, where, which)
    y, total, square = inputs.check_records(y, mechanism.k, "y"), 0.0, 0.0
    for start in range(0, len(y), 64 * BLOCK):
        fits, often = _fitting(kinds, y[start : start + 64 * BLOCK])
        scores = _count_scores(kinds, which, fits)
        total, square = total + often @ scores, square + often @ scores**2
    estimate = total / len(y)
    return Answer(estimate=float(estimate), variance=float((square / len(y) - estimate) / len(y)))


def count_variance(mechanism, population, where, which):
    """Return the exact variance of the estimate of `ask_count`, the users' data held fixed.

    At most 2**16 numbers of fitting reports, over all kinds of coins, are told apart.
    """
    kinds, which = _kinds(mechanism, where, which)
    inputs.check_population(population, mechanism.k)
    sizes = [len(boxes) + 1 for *_, boxes in kinds]
    if math.prod(sizes) > 2**16:
        raise ValueError(f"where must tell at most 2**16 numbers of fitting reports apart; got {math.prod(sizes)}")
    squares = _count_scores(kinds, which, np.indices(sizes).reshape(len(sizes), -1).T).reshape(sizes) ** 2
    laws = []
    for (keep, free, boxes), size in zip(kinds, sizes, strict=True):
        p, q, law = keep + free, free, np.zeros((size, size))
        for held in range(size):
            one, other = (binom.pmf(np.arange(m + 1), m, c) for m, c in ((held, p), (len(boxes) - held, q)))
            law[held] = np.convolve(one, other)
        laws.append(law)
    for law in laws:  # mean square for every number of conditions that hold
        squares = np.moveaxis(np.tensordot(law, squares, axes=(1, 0)), 0, -1)
    held, own = [np.zeros(len(population.records), np.int64) for _ in kinds], 0
    for number, (*_, boxes) in enumerate(kinds):
        for j, chosen in boxes:
            held[number] += chosen[population.records[:, j]]
    own = which[sum(held)]
    return float(population.counts @ (squares[tuple(held)] - own)) / population.n**2


def _cells_of(mechanism, attributes, subset):
    """Return the attributes that are read, whole clusters if written out, and an indicator over their cells."""
    if not isinstance(mechanism, Clustered):
        raise TypeError(f"mechanism must be one of clusters, such as RRIndependent; got {mechanism!r}")
    attributes = mechanism._check_attributes(attributes)
    taken = mechanism._taken(attributes)
    sizes = tuple(mechanism.k[j] for j in taken)
    if math.prod(sizes) > 2**22:
        raise ValueError(f"attributes must have at most 2**22 cells together; got {math.prod(sizes)}: see ask_count")
    cells = inputs.check_subset(subset, sizes[: len(attributes)])
    chosen = np.zeros(sizes)
    chosen[tuple(cells.T)] = 1
    return taken, chosen


def _through(mechanism, taken, table, back):
    """Send a table of values for each report back to values for each cell by the channel; or by its inverse."""
    for number, cluster in enumerate(mechanism.clusters):
        axes, keep = tuple(taken.index(j) for j in cluster if j in taken), mechanism.keeps[number]
        if axes and keep is None:
            moved, matrix = np.moveaxis(table, axes, range(len(axes))), np.array(mechanism.channels[number])
            flat = moved.reshape(len(matrix), -1)
            flat = np.linalg.solve(matrix, flat) if back else matrix @ flat
            table = np.moveaxis(flat.reshape(moved.shape), range(len(axes)), axes)
        elif axes:
            mean = table.mean(axis=axes, keepdims=True)
            table = (table - (1 - keep) * mean) / keep if back else keep * table + (1 - keep) * mean
    return table


def _kinds(mechanism, where, which):
    """Return conditions by kind of coin: the chance to tell the truth, that to fit by chance, and the conditions."""
    (box,) = check_boxes(mechanism, where)
    owner = {j: number for number, cluster in enumerate(mechanism.clusters) for j in cluster}
    if len({owner[j] for j in box}) < len(box) or any(mechanism.keeps[owner[j]] is None for j in box):
        raise ValueError(f"where must name attributes of different clusters with a budget each; got {sorted(box)}")
    kinds = {}
    for j, chosen in box.items():
        keep = mechanism.keeps[owner[j]]
        kinds.setdefault((keep, (1 - keep) * float(chosen.mean())), []).append((j, chosen))
    which = np.asarray(which(np.arange(len(box) + 1)) if callable(which) else which)
    if which.dtype != bool or which.shape != (len(box) + 1,):
        raise ValueError(f"which must be booleans for 0 to {len(box)} conditions; got {which.dtype}, {which.shape}")
    return [(keep, free, boxes) for (keep, free), boxes in kinds.items()], which


def _fitting(kinds, rows):
    """Return the distinct numbers of fitting reports, one column a kind, and how often they are."""
    fits = np.zeros((len(kinds), len(rows)), np.int64)
    for number, (*_, boxes) in enumerate(kinds):
        for start in range(0, len(rows), BLOCK):
            for j, chosen in boxes:
                fits[number, start : start + BLOCK] += chosen[rows[start : start + BLOCK, j]]
    sizes = [len(boxes) + 1 for *_, boxes in kinds]
    if math.prod(sizes) >= 2**63:
        raise ValueError(f"where must have fewer kinds of coins; got {len(kinds)}")
    codes, often = np.unique(np.ravel_multi_index(tuple(fits), sizes), return_counts=True)
    return np.stack(np.unravel_index(codes, sizes), axis=1), often


def _count_scores(kinds, which, fits):
    """Return what each row of numbers of fitting reports adds to the estimate."""
    found = np.ones((len(fits), 1))
    for (keep, free, boxes), fit in zip(kinds, fits.T, strict=True):
        m, powers = len(boxes), []
        for number in range(m + 1):
            part = np.ones(1)
            for score in [(1 - free) / keep] * number + [-free / keep] * (m - number):
                part = np.convolve(part, [1 - score, score])
            powers.append(part)
        powers, longer = np.array(powers), np.zeros((len(fits), found.shape[1] + m))
        for power in range(m + 1):
            longer[:, power : power + found.shape[1]] += powers[fit, power, None] * found
        found = longer
    return found @ which

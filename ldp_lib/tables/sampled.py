"""Tables of up to m attributes from the reports of `AskSome`: raw, most likely, and the raw one's exact covariance.

Of a report only the sets of the table's attributes are read, from every question that concerns one of them.
"""

import itertools
import math
from functools import reduce

import numpy as np

from ldp_lib.sampled import assignment
from ldp_lib.sampled.ask_some import AskSome
from ldp_lib.tables import likelihood
from ldp_lib.tables.sampled_pairs import _held, gain


def asked_table(mechanism, y, *attributes):
    """Return the raw unbiased table of some attributes that are asked together: pairs, triples, at most m.

    Parameters
    ----------
    mechanism : AskSome
    y : structured array, shape (n,)
        Reports of its `perturb`.
    *attributes : int
        Distinct numbers; some question of positive weight concerns them all. The table's axes are in this order.

    Notes
    -----
    With every indicator centred, the mean product over a set B of attributes is keep times the gains times the product
    of the truth's centred indicators. The table is the sum over all B of these, spread evenly over the other
    attributes; each B is read from all questions that hold it, weighted by keep^2. For pairs it is `pair_tables`.
    """
    parts = _read(mechanism, y, attributes)
    total, pull = {}, {}
    for (keep, _, size, planned, mine), held in parts:
        centred = [h - mechanism.sizes[j] / mechanism.k[j] for j, h in zip(mine, held, strict=True)]
        for subset in _subsets(mine):
            chosen = [centred[mine.index(j)] for j in subset]
            spread = reduce(
                lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(a), -1), chosen[1:], np.ones((size, 1))
            )
            total[subset] = total.get(subset, 0) + keep * (chosen[0].T @ spread)
            pull[subset] = pull.get(subset, 0) + keep**2 * (size if mechanism.groups else planned)
    if tuple(attributes) not in total:
        raise ValueError(f"y must hold a report about all of {attributes}; got none")
    sizes = [mechanism.k[j] for j in attributes]
    table = np.full(sizes, 1 / math.prod(sizes))
    for subset, value in total.items():
        scale = pull[subset] * math.prod(gain(mechanism.k[j], mechanism.sizes[j]) for j in subset)
        others = math.prod(k for j, k in zip(attributes, sizes, strict=True) if j not in subset)
        shape = [k if j in subset else 1 for j, k in zip(attributes, sizes, strict=True)]
        table = table + np.reshape(value, shape) / (scale * others)
    return table


def fit_asked(mechanism, y, *attributes, gap=None, max_steps=10_000):
    """Return the most likely table of some attributes that are asked together, by `joint.maximize`.

    A report about some of the attributes says 1 + t [its sets hold the user's values], up to a factor, with t = e - 1
    times the shares of its other sets. Arguments as in `asked_table` and `joint.fit`.

    Returns
    -------
    Fitted
    """
    counts, boxes = asked_boxes(mechanism, y, *attributes)
    return likelihood.maximize(boxes, counts, gap=gap, max_steps=max_steps)


def asked_boxes(mechanism, y, *attributes):
    """Return how often each distinct report came, and their `Boxes`, as far as they concern some attributes."""
    parts = _read(mechanism, y, attributes)
    if not any(len(mine) == len(attributes) for (*_, mine), _ in parts):
        raise ValueError(f"y must hold a report about all of {attributes}; got none")
    boxes = Boxes([mechanism.k[j] for j in attributes])
    for (_, t, _, _, mine), held in parts:
        boxes.add([attributes.index(j) for j in mine], held, t)
    return np.concatenate(boxes.counts).astype(float), boxes


class Boxes:
    """Reports that are 1 + t [the cell is in a box], up to a factor: applied as a `Tensor`, never written out."""

    def __init__(self, rows):
        self.rows, self.parts, self.counts = tuple(rows), [], []

    def add(self, axes, held, t):
        """Add reports: for each of some axes which values the box holds, shape (n, k_axis); equal ones are counted."""
        bits = np.packbits(np.hstack(held).astype(bool), axis=1)
        keys = np.ascontiguousarray(bits).view(f"V{bits.shape[1]}").ravel()
        _, first, counts = np.unique(keys, return_index=True, return_counts=True)
        self.parts.append((axes, [h[first] for h in held], t))
        self.counts.append(counts)

    def forward(self, table):
        """Return 1 + t times each box's share, flat."""
        table, found = table.reshape(self.rows), []
        for axes, held, t in self.parts:
            marginal = np.moveaxis(table, axes, range(len(axes))).reshape(*(self.rows[a] for a in axes), -1).sum(-1)
            inside = held[0] @ marginal.reshape(len(marginal), -1)
            for h in held[1:]:
                inside = (h[:, :, None] * inside.reshape(*h.shape, -1)).sum(axis=1)
            found.append(1 + t * inside.ravel())
        return np.concatenate(found)

    def backward(self, values):
        """Return, for each cell, the sum over reports of a value times what the report says of the cell, flat."""
        total, start = np.full(self.rows, values.sum()), 0
        for axes, held, t in self.parts:
            value = values[start : start + len(held[0]), None]
            start += len(value)
            right = reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(a), -1), held[1:], value)
            part = (held[0].T @ right).reshape([self.rows[a] for a in axes])
            order = np.argsort(axes)
            shape = [self.rows[a] if a in axes else 1 for a in range(len(self.rows))]
            total += t * part.transpose(order).reshape(shape)
        return total.ravel()


def asked_covariance(mechanism, table, attributes, n):
    """Return the exact covariance of `asked_table`, shape (cells, cells), for n users drawn from the table's law.

    The rest of the record does not matter. Without groups a user's question is drawn too. With groups their sizes are
    taken as planned, n times the weights: exact where these are whole numbers.
    """
    attributes = check_asked(mechanism, attributes)
    k, sizes = ([values[j] for j in attributes] for values in (mechanism.k, mechanism.sizes))
    gains = [gain(*one) for one in zip(k, sizes, strict=True)]
    pull, asks = dict.fromkeys(_subsets(range(len(k))), 0.0), {}
    for keep, weight, asked in zip(mechanism.keep, mechanism.weights, mechanism.questions.tolist(), strict=True):
        mine = tuple(a for a, j in enumerate(attributes) if j in asked)
        if weight and mine:
            asks.setdefault(mine, []).append((keep, weight))
            for subset in _subsets(mine):
                pull[subset] += weight * keep**2
    told = [_second_moments(of, size) for of, size in zip(k, sizes, strict=True)]
    free = [np.mean(one, axis=0, keepdims=True) for one in told]
    centred = [g * (np.eye(of) - 1 / of) for g, of in zip(gains, k, strict=True)]
    cov, mean = np.zeros((math.prod(k),) * 2), np.zeros(math.prod(k))
    for mine, questions in asks.items():
        keep, weight = np.array(questions).T
        square, own = np.zeros_like(cov), np.zeros_like(mean)
        scale = {b: 1 / (pull[b] * math.prod(gains[a] for a in b)) for b in _subsets(mine)}
        for one, other in itertools.product(scale, repeat=2):
            sides = [(a in one, a in other) for a in range(len(k))]
            blocks = [_block(told[a], gains[a], k[a], sides[a]) for a in range(len(k))]
            loose = [_block(free[a], 0, k[a], sides[a])[0] for a in range(len(k))]
            part = (weight @ keep**3) * _contract(table, blocks)
            part = part + weight @ (keep**2 * (1 - keep)) * reduce(np.kron, loose)
            square += scale[one] * scale[other] * part
        for one in scale:
            own += scale[one] * _spread(centred, table, one)
        cov += square - np.outer(own, own) * (weight @ keep**4) * mechanism.groups
        mean += weight @ keep**2 * own
    return (cov - (0 if mechanism.groups else np.outer(mean, mean))) / n


def check_asked(mechanism, attributes):
    """Return the attributes as ints, or raise unless an `AskSome` asks them together."""
    if not isinstance(mechanism, AskSome):
        raise TypeError(f"mechanism must be an AskSome; got {mechanism!r}")
    d = len(mechanism.k)
    if not attributes or len(set(attributes)) != len(attributes) or not set(attributes) <= set(range(d)):
        raise ValueError(f"attributes must be distinct numbers from 0 to {d - 1}; got {attributes}")
    together = [set(attributes) <= set(asked) for asked in mechanism.questions.tolist()]
    if not any(w > 0 and same for w, same in zip(mechanism.weights, together, strict=True)):
        raise ValueError(f"attributes must be asked together, at most m = {mechanism.m} of them; got {attributes}")
    return tuple(map(int, attributes))


def _read(mechanism, y, attributes):
    """Return for each question that concerns some of the attributes what it says of them, and the sets held."""
    attributes = check_asked(mechanism, attributes)
    y = assignment.check_reports(y, mechanism._dtype, len(mechanism.weights))
    dealt = np.bincount(y["asked"], minlength=len(mechanism.weights))
    order, ends, parts = np.argsort(y["asked"], kind="stable"), np.cumsum([0, *dealt]), []
    for number, asked in enumerate(mechanism.questions.tolist()):
        mine = tuple(j for j in attributes if j in asked)
        if not mine or not dealt[number]:
            continue
        sets = y["sets"][order[ends[number] : ends[number + 1]]]
        held = [_held(sets[:, asked.index(j)], mechanism.k[j], mechanism.sizes[j]) for j in mine]
        t = math.expm1(mechanism.epsilon)
        t *= math.prod(mechanism.sizes[j] / mechanism.k[j] for j in asked if j not in mine)
        planned = len(y) * mechanism.weights[number]
        parts.append(((mechanism.keep[number], t, int(dealt[number]), planned, mine), held))
    return parts


def _subsets(attributes):
    """Return all non-empty subsets of a tuple, in its order."""
    sizes = range(1, len(attributes) + 1)
    return [subset for size in sizes for subset in itertools.combinations(attributes, size)]


def _second_moments(k, size):
    """Mean product of two values' centred indicators in a set that holds the truth, shape (truth, k, k)."""
    share = size / k
    both = np.full((k, k, k), (size - 1) * (size - 2) / ((k - 1) * max(k - 2, 1)))
    alone = np.full((k, k), (size - 1) / (k - 1))
    for x in range(k):
        alone[x, x] = 1
        both[x, x, :] = both[x, :, x] = (size - 1) / (k - 1)
        both[x, range(k), range(k)] = alone[x]
    return both - share * (alone[:, :, None] + alone[:, None, :]) + share**2


def _block(second, gain, k, sides):
    """One attribute's factor, shape (truth, k, k): both indicators, one of them, or none, where 1/k stands in."""
    if all(sides):
        return second
    first = gain * (np.eye(k)[: len(second)] - 1 / k)
    if not any(sides):
        return np.full((len(second), k, k), 1 / k**2)
    return np.broadcast_to((first[:, :, None] if sides[0] else first[:, None, :]) / k, (len(second), k, k))


def _contract(table, blocks):
    """Mean over records drawn from the table of the product of the attributes' factors, shape (cells, cells)."""
    for block in blocks:
        table = np.tensordot(table, block, axes=(0, 0))  # the first axis is used up, two come last
    order = [*range(0, 2 * len(blocks), 2), *range(1, 2 * len(blocks), 2)]
    side = math.prod(block.shape[1] for block in blocks)
    return table.transpose(order).reshape(side, side)


def _spread(centred, table, subset):
    """Mean over records of the product of some attributes' centred indicators, evenly over the others, flat."""
    for a, own in enumerate(centred):
        if a not in subset:
            own = np.full_like(own, 1 / len(own))
        table = np.tensordot(table, own, axes=(0, 0))
    return table.ravel()

"""How uncertain an estimated joint table is: exact covariances, for users drawn at random or held fixed."""

import itertools
import math
from functools import reduce

import numpy as np

from ldp_lib import _inputs
from ldp_lib.sampled.ask_some import AskSome
from ldp_lib.tables._asked import check_together, set_gain, subsets_of
from ldp_lib.tables._checks import check_cells, check_table, check_users


def table_covariance(mechanism, table, *attributes, n, sampling=True) -> np.ndarray:
    """Return the exact covariance of the raw unbiased table, shape (cells, cells), for n users drawn from `table`.

    Parameters
    ----------
    mechanism : AskSome, RRIndependent, RRJoint, RRClusters or ProductRR
        Of `AskSome` n times the weights are the numbers asked: those that came, where answers were lost.
    table : array, shape (k_j for j in attributes)
        Probabilities: the true ones, or what a repair gives; then this is an estimate.
    *attributes : int
        Distinct numbers.
    n : int
        Number of users.
    sampling : bool
        False: the users' data are held fixed; what drawing them adds is taken off. In groups of a few of n users it is
        up to 1 part in n too small.
    """
    _inputs.check_bool(sampling=sampling)
    table, n, attributes = check_table(table), check_users(n), check_together(mechanism, attributes)
    wanted = tuple(mechanism.k[j] for j in attributes)
    check_cells(table.size)
    if table.shape != wanted:
        raise ValueError(f"table must have shape {wanted} for attributes {attributes}; got {table.shape}")
    if isinstance(mechanism, AskSome):
        found = _asked_covariance(mechanism, table, attributes)
    else:
        channel, inverse = _channel(mechanism, attributes)
        found = inverse.T * (table.ravel() @ channel) @ inverse - np.outer(table, table)
    return (found if sampling else found - np.diag(table.ravel()) + np.outer(table, table)) / n


def interaction_noise(covariance, shape):
    """Return the variance of a table's interaction, summed over cells, from the covariance of its cells."""
    parts = covariance.reshape(*shape, *shape)
    parts = parts - parts.mean(axis=0, keepdims=True)  # on one side: the trace is that of both, a projection
    parts = parts - parts.mean(axis=1, keepdims=True)
    return float(np.trace(parts.reshape(covariance.shape)))


def _asked_covariance(mechanism, table, attributes):
    """Return the exact covariance of a table of `asked_tables`, shape (cells, cells), times n: users are drawn from it.

    The rest of the record does not matter. Without groups a user's question is drawn too. With groups their sizes are
    taken as planned, n times the weights: exact where these are whole numbers.
    """
    k, sizes = ([values[j] for j in attributes] for values in (mechanism.k, mechanism.sizes_))
    gains = [set_gain(*one) for one in zip(k, sizes, strict=True)]
    pull, asks = dict.fromkeys(subsets_of(range(len(k))), 0.0), {}
    for keep, weight, asked in zip(mechanism.keep, mechanism.weights_, mechanism.questions.tolist(), strict=True):
        mine = tuple(a for a, j in enumerate(attributes) if j in asked)
        if weight and mine:
            asks.setdefault(mine, []).append((keep, weight))
            for subset in subsets_of(mine):
                pull[subset] += weight * keep**2
    cells = math.prod(k)
    cov, mean, even = np.zeros((cells, cells)), np.zeros(cells), np.full(k, 1 / cells)
    for mine, questions in asks.items():
        keep, weight = np.array(questions).T
        square, own = np.zeros_like(cov), np.zeros_like(mean)
        scale = {b: 1 / (pull[b] * math.prod(gains[a] for a in b)) for b in subsets_of(mine)}
        for one, other in itertools.product(scale, repeat=2):
            told = [_moments(*each, a in one, a in other) for a, each in enumerate(zip(k, sizes, strict=True))]
            part = (weight @ keep**3) * _contract(table, told)
            if one == other:  # a set that is drawn among all is centred: alone, its mean is 0
                part = part + weight @ (keep**2 * (1 - keep)) * _contract(even, told)
            square += scale[one] * scale[other] * part
        for one in scale:
            own += _effect(table, one) / pull[one]
        cov += square - np.outer(own, own) * (weight @ keep**4) * mechanism.groups
        mean += weight @ keep**2 * own
    return cov - (0 if mechanism.groups else np.outer(mean, mean))


def _channel(mechanism, attributes):
    """Return the channel of the reports about some attributes, cells in lexicographic order, and its inverse."""
    order, parts, inverses = [], [], []
    for mine, part in mechanism.parts(attributes):
        if not set(mine) <= set(attributes):
            raise ValueError(f"attributes must hold all of {tuple(mine)}, which share a channel; got {attributes}")
        cells = math.prod(mechanism.k[j] for j in mine)
        _inputs.check_cells(cells, cells)
        if np.ndim(part):
            pair = part, np.linalg.inv(part)
        else:
            pair = [keep * np.eye(cells) + (1 - keep) / cells for keep in (part, 1 / part)]
        parts.append(pair[0])
        inverses.append(pair[1])
        order += mine
    shape = [mechanism.k[j] for j in order]
    cells = np.arange(math.prod(shape)).reshape(shape)
    _inputs.check_cells(cells.size, cells.size)
    moved = cells.transpose([order.index(j) for j in attributes]).ravel()
    return [reduce(np.kron, one)[np.ix_(moved, moved)] for one in (parts, inverses)]


def _moments(k, size, left, right):
    """Mean product of two values' indicators in a set that holds the truth, each centred, or where 1/k stands in.

    A matrix of values in five parts: everywhere, in the row and in the column of the truth, on the diagonal, and where
    all of these meet.
    """
    gain, share, other = set_gain(k, size), size / k, (size - 1) / (k - 1)
    if not (left and right):
        return (-gain if left or right else 1) / k**2, left * gain / k, right * gain / k, 0, 0
    apart = other * (size - 2) / max(k - 2, 1)
    row = other - apart - share * gain
    return apart - 2 * share * other + share**2, row, row, other - apart, 1 + 2 * apart - 3 * other


def _contract(table, told):
    """Mean over records drawn from the table of the product of the attributes' `_moments`, shape (cells, cells)."""
    cells, axes = table.size, table.ndim
    for everywhere, row, column, diagonal, meet in told:
        table = np.moveaxis(table, 0, -1)  # the first axis is used up, two come last
        whole, on = table.sum(axis=-1, keepdims=True), np.arange(table.shape[-1])
        found = (everywhere * whole + row * table)[..., None] + (column * table)[..., None, :]
        found[..., on, on] += diagonal * whole + meet * table
        table = found
    return table.transpose(*range(0, 2 * axes, 2), *range(1, 2 * axes, 2)).reshape(cells, cells)


def _effect(table, subset):
    """The part of a table that is the interaction of some attributes, spread evenly over the others, flat."""
    for a in range(table.ndim):
        even = table.mean(axis=a, keepdims=True)
        table = table - even if a in subset else even + 0 * table
    return table.ravel()

"""How uncertain an estimated joint table is: exact covariances, those of maximum likelihood, and simulated tables.

Everywhere users are drawn at random from the table's law; for fixed users `held_fixed` takes off what drawing adds.
"""

import itertools
import math
from functools import reduce

import numpy as np

from ldp_lib import inputs
from ldp_lib.sampled.ask_some import AskSome
from ldp_lib.tables._asked import asked_tables, check_asked, set_gain, subsets_of
from ldp_lib.tables._checks import check_table, check_users
from ldp_lib.tables._operators import Kronecker, check_channels
from ldp_lib.tables.product_channel import ProductChannel


def table_covariance(mechanism, table, *attributes, n):
    """Return the exact covariance of the raw unbiased table, shape (cells, cells), for n users drawn from `table`.

    Parameters
    ----------
    mechanism : AskSome, RRIndependent, RRJoint, RRClusters or ProductRR
    table : array, shape (k_j for j in attributes)
        Probabilities: the true ones, or what a repair gives; then this is an estimate.
    *attributes : int
        Distinct numbers.
    n : int
        Number of users.
    """
    table, n, attributes = check_table(table), check_users(n), _check_attributes(mechanism, attributes)
    wanted = tuple(mechanism.k[j] for j in attributes)
    if table.shape != wanted:
        raise ValueError(f"table must have shape {wanted} for attributes {attributes}; got {table.shape}")
    if isinstance(mechanism, AskSome):
        return _asked_covariance(mechanism, table, attributes, n)
    parts = _channel(mechanism, attributes)
    inverse = np.linalg.inv(parts)
    reports = table.ravel() @ parts
    return (inverse.T * reports @ inverse - np.outer(table, table)) / n


def held_fixed(covariance, table, n):
    """Return a covariance for users drawn at random less what drawing adds: that of the users' data held fixed."""
    table = np.ravel(table)
    return covariance - (np.diag(table) - np.outer(table, table)) / n


def observed_covariance(table, counts, channels, *, least=None):
    """Return the covariance of a most likely table by the inverse of the observed information, shape (cells, cells).

    Parameters
    ----------
    table : array
        What `joint.fit` found.
    counts, channels :
        As in `joint.fit`, or what `sampled.tables.asked_boxes` gives.
    least : float, optional
        Cells below it are taken to be 0 and get no variance; 1/n if not given.

    Notes
    -----
    Where all cells are well above 0 this is right for many users. A cell that the maximum puts at 0 is taken as known,
    so it errs below where the table has many zeros: `simulated_tables` shows what is true there.
    """
    table, counts = np.asarray(table, float), np.asarray(counts, float)
    product = (
        channels if hasattr(channels, "forward") else Kronecker(check_channels(channels, counts.shape), counts.shape)
    )
    n, flat = counts.sum(), table.ravel()
    inside = np.flatnonzero(flat > (1 / n if least is None else least))
    chance = product.forward(flat)
    rows = []
    for cell in inside:
        unit = np.zeros_like(flat)
        unit[cell] = 1
        rows.append(product.forward(unit))  # but for a constant, which directions of sum 0 do not see
    rows = np.array(rows) * (np.sqrt(counts.ravel()) / chance)
    free = np.linalg.svd(np.ones((1, len(inside))))[2][1:]  # directions that sum to 0
    information = free @ rows
    found = np.zeros((flat.size, flat.size))
    found[np.ix_(inside, inside)] = free.T @ np.linalg.inv(information @ information.T) @ free
    return found


def raw_table(mechanism, y, *attributes):
    """Return the raw unbiased table of some attributes, from the reports of an `AskSome` or of whole records."""
    if isinstance(mechanism, AskSome):
        return asked_tables(mechanism, y, [attributes])[attributes]
    _check_attributes(mechanism, attributes)
    return mechanism.estimate_table(y, *attributes)


def simulated_tables(mechanism, table, *attributes, n, rng, runs, estimator=raw_table):
    """Return estimated tables, shape (runs, k_j ...), from the reports of n users drawn from `table`, again and again.

    Parameters
    ----------
    mechanism, table, attributes, n : as in `table_covariance`
        All other attributes are 0 for every user.
    rng : numpy.random.Generator
    runs : int
    estimator : function
        Called with mechanism, reports and attributes; `raw_table` if not given.
    """
    inputs.require(rng=rng, runs=runs)
    table, n, attributes = check_table(table), check_users(n), _check_attributes(mechanism, attributes)
    if estimator is raw_table and isinstance(mechanism, ProductChannel):  # the same law from the reports' counts
        parts = _channel(mechanism, attributes)
        drawn = rng.multinomial(n, table.ravel() @ parts / table.sum(), size=runs)
        return (drawn / n @ np.linalg.inv(parts)).reshape(runs, *table.shape)
    found = []
    for counts in rng.multinomial(n, table.ravel() / table.sum(), size=runs):
        x = np.zeros((n, len(mechanism.k)), inputs.small_dtype(max(mechanism.k)))
        cells = np.repeat(np.arange(table.size), counts)
        x[:, list(attributes)] = np.transpose(np.unravel_index(cells, table.shape))
        found.append(estimator(mechanism, mechanism.perturb(x, rng=rng), *attributes))
    return np.array(found)


def _asked_covariance(mechanism, table, attributes, n):
    """Return the exact covariance of a table of `asked_tables`, shape (cells, cells), for n users drawn from it.

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
    told = [_second_moments(of, size) for of, size in zip(k, sizes, strict=True)]
    free = [np.mean(one, axis=0, keepdims=True) for one in told]
    centred = [g * (np.eye(of) - 1 / of) for g, of in zip(gains, k, strict=True)]
    cov, mean = np.zeros((math.prod(k),) * 2), np.zeros(math.prod(k))
    for mine, questions in asks.items():
        keep, weight = np.array(questions).T
        square, own = np.zeros_like(cov), np.zeros_like(mean)
        scale = {b: 1 / (pull[b] * math.prod(gains[a] for a in b)) for b in subsets_of(mine)}
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


def _check_attributes(mechanism, attributes):
    """Return distinct attributes, of an `AskSome` asked together, or raise."""
    if isinstance(mechanism, AskSome):
        return check_asked(mechanism, attributes)
    if not isinstance(mechanism, ProductChannel):
        raise TypeError(f"mechanism must be an AskSome or one of clusters; got {mechanism!r}")
    return mechanism.check_attributes(attributes)


def _channel(mechanism, attributes):
    """Return the channel of the reports about some attributes, whose cells are in lexicographic order."""
    order, parts = [], []
    for cluster, part, keep in zip(mechanism.clusters_, mechanism.channels_, mechanism.keeps, strict=True):
        mine = [j for j in cluster if j in attributes]
        if mine and keep is None and set(mine) < set(cluster):
            raise ValueError(f"attributes must hold all of {cluster}, which share a channel; got {attributes}")
        if mine:
            mine = list(cluster) if keep is None else mine
            cells = math.prod(mechanism.k[j] for j in mine)
            inputs.check_cells(cells, cells)
            parts.append(np.array(part) if keep is None else keep * np.eye(cells) + (1 - keep) / cells)
            order += mine
    cells = np.arange(math.prod(mechanism.k[j] for j in order)).reshape([mechanism.k[j] for j in order])
    inputs.check_cells(cells.size, cells.size)
    moved = cells.transpose([order.index(j) for j in attributes]).ravel()
    return reduce(np.kron, parts)[np.ix_(moved, moved)]


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

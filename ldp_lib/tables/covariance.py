"""How uncertain an estimated joint table is: exact covariances, those of maximum likelihood, and simulated tables.

Everywhere users are drawn at random from the table's law; for fixed users `held_fixed` takes off what drawing adds.
"""

import math
from functools import reduce

import numpy as np

from ldp_lib import inputs
from ldp_lib.sampled.ask_some import AskSome
from ldp_lib.tables.clustered import Clustered
from ldp_lib.tables.kronecker import Tensor, check_channels
from ldp_lib.tables.sampled import asked_covariance, asked_table


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
    table, n = check_table(table), check_users(n)
    wanted = tuple(mechanism.k[j] for j in attributes)
    if table.shape != wanted:
        raise ValueError(f"table must have shape {wanted} for attributes {attributes}; got {table.shape}")
    if isinstance(mechanism, AskSome):
        return asked_covariance(mechanism, table, attributes, n)
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
    product = channels if hasattr(channels, "forward") else Tensor(check_channels(channels, counts.shape), counts.shape)
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
    """Return the raw unbiased table of some attributes, from the reports of an `AskSome` or a `Clustered` mechanism."""
    if isinstance(mechanism, AskSome):
        return asked_table(mechanism, y, *attributes)
    if not isinstance(mechanism, Clustered):
        raise TypeError(f"mechanism must be an AskSome or one of clusters; got {mechanism!r}")
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
    table, n = check_table(table), check_users(n)
    if estimator is raw_table and isinstance(mechanism, Clustered):  # the same law from the reports' counts
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


def check_table(table, axes=None):
    """Return a table of probabilities as floats, or raise an error that names it."""
    table = np.asarray(table, dtype=float)
    if table.ndim < 1 or (axes and table.ndim != axes) or min(table.shape) < 2:
        raise ValueError(f"table must have {axes or 'some'} axes of at least 2 values; got shape {table.shape}")
    if not np.isfinite(table).all() or table.min() < 0 or abs(table.sum() - 1) > 1e-6:
        raise ValueError(f"table must hold probabilities; got least {table.min()} and sum {table.sum()}")
    return table


def check_users(n):
    """Return a number of users, or raise an error that names it."""
    if isinstance(n, bool) or not isinstance(n, (int, float, np.integer)) or not 1 <= n < math.inf:
        raise ValueError(f"n must be a number of users of at least 1; got {n!r}")
    return n


def _channel(mechanism, attributes):
    """Return the channel of the reports about some attributes, whose cells are in lexicographic order."""
    if not isinstance(mechanism, Clustered):
        raise TypeError(f"mechanism must be an AskSome or one of clusters; got {mechanism!r}")
    order, parts = [], []
    for cluster, part, keep in zip(mechanism.clusters, mechanism.channels, mechanism.keeps, strict=True):
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

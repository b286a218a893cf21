"""What the modules of this ring refuse: tables, numbers of users, clusters of attributes and their channels."""

import math
from collections.abc import Iterable, Mapping, Set
from numbers import Real

import numpy as np

from ldp_lib import _inputs, channel
from ldp_lib.splitting import allocation
from ldp_lib.tables._product_channel import keep_probability

MOST_CELLS = 2**13


def check_table(table, axes=None):
    """Return a table of probabilities as floats, or raise an error that names it."""
    table = _inputs.unmasked(table, "table").astype(float)
    if table.ndim < 1 or (axes and table.ndim != axes) or min(table.shape) < 2:
        raise ValueError(f"table must have {axes or 'some'} axes of at least 2 values; got shape {table.shape}")
    if not np.isfinite(table).all() or table.min() < 0 or abs(table.sum() - 1) > 1e-6:
        raise ValueError(f"table must hold probabilities; got least {table.min()} and sum {table.sum()}")
    return table


def check_cells(cells):
    """Raise ValueError if the covariance of so many shares is too large to be built."""
    if cells > MOST_CELLS:
        told = f"a matrix of {cells:,} times {cells:,} numbers; got a table of {cells:,} cells"
        raise ValueError(f"attributes must have at most {MOST_CELLS:,} cells together, for their covariance is {told}")


def check_users(n):
    """Return a number of users, or raise an error that names it."""
    if isinstance(n, bool) or not isinstance(n, int | float | np.integer) or not 1 <= n < math.inf:
        raise ValueError(f"n must be a number of users of at least 1; got {n!r}")
    return n


def check_positive(**numbers):
    """Raise ValueError unless each named argument is a number above 0."""
    for name, value in numbers.items():
        if isinstance(value, bool) or not isinstance(value, Real) or not 0 < float(value) < math.inf:
            raise ValueError(f"{name} must be a number above 0; got {value!r}")


def check_numbers(table, axes=None):
    """Return a table of numbers as floats, or raise an error that names it."""
    table = _inputs.unmasked(table, "table")
    if table.dtype.kind not in "iuf" or table.ndim < 2 or (axes and table.ndim != axes):
        raise ValueError(f"table must be numbers with {axes or 'at least 2'} axes; got {table.dtype}, {table.shape}")
    if not np.isfinite(table).all() or min(table.shape) < 2:
        raise ValueError(f"table must be finite, with at least 2 values an axis; got shape {table.shape}")
    return table.astype(float)


def check_marginal(marginal, j, size=None):
    """Return a distribution as floats whose sum is 1 exactly, or raise an error that names its axis."""
    marginal = np.asarray(_inputs.unmasked(marginal, "marginals"), float)
    allowed = f"marginals must be {size or 'at least 2'} numbers of at least 0 that sum to 1 for axis {j}"
    if marginal.ndim != 1 or marginal.size != (size or max(marginal.size, 2)):
        raise ValueError(f"{allowed}; got shape {marginal.shape}")
    if not np.isfinite(marginal).all() or marginal.min() < 0 or abs(math.fsum(marginal) - 1) > 1e-9:
        raise ValueError(f"{allowed}; got least {marginal.min()} and sum {math.fsum(marginal)}")
    return marginal / math.fsum(marginal)


def check_pairs(tables):
    """Return tables of pairs of attributes as floats, of equal sizes, or raise an error that names them."""
    if not isinstance(tables, dict) or not tables:
        raise TypeError(f"tables must be a dict from pairs of attributes to tables; got {type(tables).__name__}")
    found, sizes = {}, {}
    for pair, table in tables.items():
        if len(pair) != 2 or pair[0] == pair[1] or pair[::-1] in found:
            raise ValueError(f"tables must be of two different attributes, each pair once; got {pair}")
        found[pair] = check_numbers(table, axes=2)
        if abs(found[pair].sum() - 1) > 1e-6:
            raise ValueError(f"tables must sum to 1; that of {pair} sums to {found[pair].sum()}")
        for j, size in zip(pair, found[pair].shape, strict=True):
            if sizes.setdefault(j, size) != size:
                raise ValueError(f"tables must agree on the number of values of {j}; got {sizes[j]} and {size}")
    return found


def settle(mechanism):
    """Check a frozen mechanism's parameters, return its channels; the budget is what they spend if none is given."""
    object.__setattr__(mechanism, "k", _inputs.check_attributes(mechanism.k, least=1))
    for name, check in (("clusters", check_clusters), ("epsilons", _check_budgets)):
        if getattr(mechanism, name, None) is not None:
            object.__setattr__(mechanism, name, check(getattr(mechanism, name), mechanism.k))
    cells = [math.prod(mechanism.k[j] for j in cluster) for cluster in mechanism.clusters_]
    channels = check_channels(mechanism.channels_, cells)
    if getattr(mechanism, "channels", None) is not None:
        object.__setattr__(mechanism, "channels", channels)
        vars(mechanism).pop("channels_", None)
    object.__setattr__(mechanism, "epsilon", check_spent(channels, mechanism.epsilon))
    return channels


def default_budgets(epsilon, k, other):
    """Return what each attribute spends by `allocation.omrr`; without `epsilon`, say that `other` is missing too."""
    if epsilon is None:
        raise TypeError(f"epsilon must be a number from 1e-9 to 700 if there are no {other}; got None")
    _inputs.require(epsilon=epsilon)
    return tuple(allocation.omrr(k, float(epsilon)).tolist())


def check_clusters(clusters, k):
    """Return the clusters as tuples of ints after checking that they partition the attributes, or raise."""
    allowed = f"clusters must hold each of 0 to {len(k) - 1} exactly once"
    try:
        found = tuple(tuple(cluster) for cluster in clusters)
    except TypeError:
        raise TypeError(f"{allowed}, as a sequence of sequences of integers; got {clusters!r}") from None
    members = [j for cluster in found for j in cluster]
    if not all(map(_inputs.is_integer, members)):
        raise TypeError(f"{allowed}, as integers; got {clusters!r}")
    if sorted(members) != list(range(len(k))) or not all(found):
        raise ValueError(f"{allowed}; got {clusters!r}")
    return tuple(tuple(map(int, cluster)) for cluster in found)


def check_channels(channels, cells):
    """Return one entry a cluster, a budget or a nonsingular stochastic matrix as nested tuples, or raise."""
    channels = _check_entries("channels", channels, "a cluster", len(cells))
    return tuple(_check_channel(entry, size) for entry, size in zip(channels, cells, strict=True))


def _check_budgets(epsilons, k):
    """Return one budget an attribute as floats, or raise."""
    epsilons = _check_entries("epsilons", epsilons, "an attribute", len(k))
    for budget in epsilons:
        _inputs.require(epsilon=budget)
    return tuple(map(float, epsilons))


def _check_entries(name, entries, each, count):
    """Return a sequence with one entry for each cluster or attribute as a tuple, or raise an error that names it."""
    unordered = isinstance(entries, str | Mapping | Set)  # of a mapping the keys would be taken
    if unordered or not isinstance(entries, Iterable):
        raise TypeError(f"{name} must be a sequence with one entry {each}, {count}; got {entries!r}")
    entries = tuple(entries)
    if len(entries) != count:
        raise ValueError(f"{name} must have one entry {each}, {count}; got {len(entries)}")
    return entries


def check_spent(channels, epsilon=None):
    """Return what the channels spend together if `epsilon` is None, else `epsilon` if they spend no more, or raise."""
    up = 1 + 2.0**-50  # a matrix's budget is rounded up, so that its reports keep it exactly
    spent = math.fsum(math.log(channel.privacy_ratio(c)) * up if isinstance(c, tuple) else c for c in channels)
    if epsilon is None:
        if 700 < spent < math.inf:
            raise ValueError(f"channels must spend at most 700 together; got {spent}")
        return spent
    if epsilon != math.inf:
        _inputs.require(epsilon=epsilon)
    if spent > epsilon * up**2:
        raise ValueError(f"channels must spend at most epsilon = {epsilon} together; got {spent}")
    return float(epsilon)


def _check_channel(entry, cells):
    if np.ndim(entry) == 0:
        _inputs.require(epsilon=entry)
        if cells.bit_length() > 500 or keep_probability(entry, cells) < 1e-150:
            raise ValueError(
                f"k must have fewer than 2**500 cells in a cluster, and few enough for its budget of {entry} to report "
                f"the truth with probability 1e-150; got 2**{math.log2(cells):.1f}"
            )
        return float(entry)
    matrix = np.asarray(entry, float)
    if matrix.shape != (cells, cells):
        raise ValueError(f"channel must be a budget or a {cells} by {cells} matrix; got shape {matrix.shape}")
    channel.check_channel(matrix)
    if np.linalg.matrix_rank(matrix) < cells:
        raise ValueError(f"channel must be nonsingular; got rank {np.linalg.matrix_rank(matrix)} of {cells}")
    return tuple(map(tuple, matrix.tolist()))

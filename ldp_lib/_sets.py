"""Sets of values as reports: what they may be, and draws of them or of how many hold each value."""

import itertools
import math
from functools import lru_cache
from numbers import Integral

import numpy as np

from ldp_lib import _inputs, _sampling


def check_size(size, k):
    """Return `size` as an int, or raise unless it is an integer from 1 to k-1."""
    _inputs.require_one("size", size, Integral, lambda v: 1 <= v < k, f"an integer from 1 to k-1 = {k - 1}")
    return int(size)


def check_sets(y, k, size):
    """Return reports as an (n, size) integer array after checking shape, range and order, or raise."""
    y = _inputs.unmasked(y, "y")
    allowed = f"y must have at least one row of {size} ascending integers from 0 to {k - 1}"
    if y.ndim != 2 or y.shape[1] != size or not len(y):
        raise ValueError(f"{allowed}; got shape {y.shape}")
    if y.dtype.kind not in "iu":
        raise TypeError(f"{allowed}; got type {y.dtype}")
    bad = (y[:, 0] < 0) | (y[:, -1] >= k)
    for left in range(size - 1):
        bad |= y[:, left] >= y[:, left + 1]
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"{allowed}; got {y[row].tolist()} in row {row}")
    return y


def all_sets(k, size):
    """Return all sets of `size` of the k values in lexicographic order, one a row."""
    return np.array(list(itertools.combinations(range(k), size)), _inputs.small_dtype(k))


def draw_sets(x, told, k, size, rng):
    """Return one ascending set a user: uniform among those that hold x where `told` is true, else among all."""
    dtype = _inputs.small_dtype(k)
    if size == 1:
        return np.where(told, x.astype(dtype), _sampling.uniform(k, x.size, rng))[:, None]
    if k <= 2**14 and math.comb(k, size) <= 2**14:  # there are at least k sets
        sets, holding = _tables(k, size)
        drawn, who, most = _sampling.uniform(len(sets), x.size, rng), np.flatnonzero(told), holding.shape[1]
        drawn[who] = holding.take(x[who].astype(np.intp) * most + _sampling.uniform(most, who.size, rng))
        return sets.take(drawn, axis=0)
    few = size * (k + 2_500) < 500 * k  # where a look at every value would take longer
    return (_floyd if few else _least_keys)(x, told, k, size, rng)


def _least_keys(x, told, k, size, rng):
    """Draw the sets as the values with the `size` least random keys; the user's value has the least where told.

    Where the last key taken and the first one left are equal, the user draws anew: so all sets are equally likely.
    """
    y, left = np.empty((x.size, size), _inputs.small_dtype(k)), np.arange(x.size)
    block, kind = max(2**18 // k, 1), np.uint16 if k <= 2**12 else np.uint32  # so that few users have a tie
    while left.size:
        again = []
        for start in range(0, left.size, block):
            who = left[start : start + block]
            keys = _sampling.random_bits(kind, who.size * k, rng).reshape(who.size, k)
            keys[told[who], x[who][told[who]]] = 0
            named = keys <= np.partition(keys, size - 1, axis=1)[:, size - 1 : size]
            right = np.count_nonzero(named, axis=1) == size
            y[who[right]] = (np.flatnonzero(named[right]) % k).reshape(-1, size)
            again.append(who[~right])
        left = np.concatenate(again)
    return y


@lru_cache(maxsize=64)
def _tables(k, size):
    """All sets, one a row, and for each value the row numbers of those that hold it."""
    sets = all_sets(k, size)
    holding = [np.flatnonzero((sets == v).any(axis=1)) for v in range(k)]
    return sets, np.array(holding, _inputs.small_dtype(len(sets)))


def _floyd(x, told, k, size, rng):
    """Draw the sets value by value, by Floyd's method, with k-1 in the place of the user's value until the end."""
    y = np.empty((x.size, size), _inputs.small_dtype(k))
    block = max(2**20 // k, 1)  # a block's table of users and values stays in the cache
    for start in range(0, x.size, block):
        own, sure = x[start : start + block].astype(np.intp), told[start : start + block]
        row = np.arange(own.size) * k
        named = np.zeros(own.size * k, bool)
        for last in range(k - size, k):
            pick = row + rng.integers(last + 1, size=own.size, dtype=y.dtype)
            taken = named[pick] | sure if last == k - 1 else named[pick]
            named[np.where(taken, row + last, pick)] = True
        named[row + own], named[row + k - 1] = named[row + k - 1], named[row + own]
        y[start : start + block] = np.flatnonzero(named).reshape(-1, size) - row[:, None]
    return y


def simulate_counts(told, free, size, rng):
    """Draw how many sets hold each value, shape (runs, k), without drawing users.

    Of the users who hold each value, `told` (runs, k) report a uniform set among those that hold it, and `free` (runs,)
    users one among all. Goes through the values, and keeps count of the users by how many values they have still to
    name. With r to name out of m values left, the next is named with probability r / m. Those who wait for their own
    value, which is certain, are counted apart; who among them reaches it next is a draw without replacement.
    """
    runs, k = told.shape
    if size == 1:
        return told + rng.multinomial(free, np.full(k, 1 / k))
    settled, waiting = np.zeros((2, size + 1, runs), np.int64)  # row r: users with r values still to name
    settled[size], waiting[size - 1] = free, told.sum(axis=1)
    to_name, counts = np.arange(size + 1)[:, None], told.astype(np.int64)
    for v in range(k):
        arrived, coming = np.zeros_like(waiting), told[:, v].copy()
        pool = waiting.sum(axis=0)
        for r in np.flatnonzero(waiting.any(axis=1)):
            pool -= waiting[r]
            arrived[r] = rng.hypergeometric(waiting[r], pool, coming)
            coming -= arrived[r]
        waiting -= arrived
        for users, left in ((settled, k - v), (waiting, k - v - 1)):
            named = rng.binomial(users, np.minimum(to_name / max(left, 1), 1))
            users -= named
            users[:-1] += named[1:]
            counts[:, v] += named.sum(axis=0)
        settled += arrived
    return counts

"""Subset selection: report a random set of values, which holds the true one with better odds than any other set.

Of all sets of `size` values, each that holds the user's is e times as likely as each other; size 1 is GRR.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from ldp_lib import inputs, pure, sampling


def keep_probability(e, share):
    """Return the chance that a report is drawn on purpose among the sets that hold the truth; else from all sets.

    It is (e-1) share / (1 + (e-1) share), where a set holds that share of all values (or records), such as size / k.
    Takes numbers, arrays and symbols. Derived in the chapter `subset_selection`.
    """
    return (e - 1) * share / (1 + (e - 1) * share)


def probabilities(e, k, size):
    """Return p and q, the probabilities that a report holds the user's own value, and any other given value.

    p = e size / (e size + k - size) and q = (size - p) / (k-1). Wang et al. (2016); Ye and Barg (2018). Derived in the
    chapter `subset_selection`.

    Parameters
    ----------
    e : number, array or symbol
        exp(epsilon), above 1.
    k : int or symbol
        Domain size, at least 2.
    size : int or symbol
        Number of values in a report, 1 to k-1.
    """
    p = size / (size + (k - size) / e)  # in this form a large e does not overflow
    return p, (size - p) / (k - 1)


def error(e, k, size):
    """Return the total variance over all values, for one user drawn from the uniform distribution; divide by n.

    (k-1)^2 (k + (e-1) size)^2 / (k (e-1)^2 size (k-size)), for arguments as in `probabilities`. With the data held
    fixed it is less by 1 - 1/k, whatever the data are. Ye and Barg (2018). Derived in the chapter `subset_selection`.
    """
    return (k - 1) ** 2 * (k / (e - 1) + size) ** 2 / (k * size * (k - size))


def optimal_size(e, k):
    """Return the size with the least `error`: one of the two integers next to k / (e+1), from 1 to k-1.

    `error` falls up to k / (e+1) and rises from there on; of the two, the smaller wins a tie. The nearest integer is
    not always best. Derived in the chapter `subset_selection`.
    """
    below = int(k / (e + 1))
    if below < 1:
        return 1
    return below if error(e, k, below) <= error(e, k, below + 1) else below + 1


def channel(e, k, size):
    """Return the channel from values to sets in lexicographic order; exact if `e` is a Fraction or a symbol."""
    sets = list(itertools.combinations(range(k), size))
    total = e * math.comb(k - 1, size - 1) + math.comb(k - 1, size)
    return np.array([[(e if x in names else e**0) / total for names in sets] for x in range(k)])


def all_sets(k, size):
    """Return all sets of `size` of the k values in lexicographic order, one a row."""
    return np.array(list(itertools.combinations(range(k), size)), inputs.small_dtype(k))


def draw_sets(x, told, k, size, rng):
    """Return one ascending set a user: uniform among those that hold x where `told` is true, else among all."""
    dtype = inputs.small_dtype(k)
    if size == 1:
        return np.where(told, x.astype(dtype), sampling.uniform(k, x.size, rng))[:, None]
    if math.comb(k, size) <= 2**14:
        sets, holding = _tables(k, size)
        drawn, who, most = sampling.uniform(len(sets), x.size, rng), np.flatnonzero(told), holding.shape[1]
        drawn[who] = holding.take(x[who].astype(np.intp) * most + sampling.uniform(most, who.size, rng))
        return sets.take(drawn, axis=0)
    few = size * (k + 2_500) < 500 * k  # where a look at every value would take longer
    return (_floyd if few else _least_keys)(x, told, k, size, rng)


def _least_keys(x, told, k, size, rng):
    """Draw the sets as the values with the `size` least random keys; the user's value has the least where told.

    Where the last key taken and the first one left are equal, the user draws anew: so all sets are equally likely.
    """
    y, left = np.empty((x.size, size), inputs.small_dtype(k)), np.arange(x.size)
    block = max(2**18 // k, 1)
    while left.size:
        again = []
        for start in range(0, left.size, block):
            who = left[start : start + block]
            keys = sampling.random_bits(np.uint32, who.size * k, rng).reshape(who.size, k)
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
    return sets, np.array(holding, inputs.small_dtype(len(sets)))


def _floyd(x, told, k, size, rng):
    """Draw the sets value by value, by Floyd's method, with k-1 in the place of the user's value until the end."""
    y = np.empty((x.size, size), inputs.small_dtype(k))
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

    Goes through the values, and keeps count of the users by how many values they have still to name. With r to name out
    of m values left, the next is named with probability r / m. Those who wait for their own value, which is certain,
    are counted apart; who among them reaches it next is a draw without replacement.

    Parameters
    ----------
    told : array of int, shape (runs, k)
        Number of users who hold each value and report a uniform set among those that hold it.
    free : array of int, shape (runs,)
        Number of users who report a uniform set among all.
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


@dataclass(frozen=True, kw_only=True)
class SubsetSelection(pure.Oracle):
    """Report a set of `size` values, each set that holds the true value e times as likely as each that does not.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float
        Privacy budget of one report, finite and above 0.
    size : int, optional
        Number of values in a report, 1 to k-1. If not given, `optimal_size`.

    Raises
    ------
    TypeError, ValueError
        If a parameter is of the wrong type or out of range.

    Notes
    -----
    Wang et al. (2016); Ye and Barg (2018). With the best size no pure oracle of this library has a smaller total
    variance. Chapter `subset_selection`.
    """

    k: int
    epsilon: float
    size: int | None = None

    def __post_init__(self):
        inputs.settle(self, "k", "epsilon")
        if self.size is not None:
            check_size(self.size, self.k)

    @cached_property
    def size_(self) -> int:
        """Number of values in a report."""
        return optimal_size(math.exp(self.epsilon), self.k) if self.size is None else self.size

    @cached_property
    def probabilities(self) -> tuple[float, float]:
        """Probabilities p and q that a report holds the user's own value, and any other given one."""
        return probabilities(math.exp(self.epsilon), self.k, self.size_)

    @cached_property
    def _keep(self):
        return sampling.realised(keep_probability(sampling.exp_below(self.epsilon), Fraction(self.size_, self.k)))

    def realised_epsilon(self) -> float:
        """Return the budget that `perturb` spends, proved from its thresholds: at most epsilon."""
        return sampling.proved_epsilon(1 + self._keep / (1 - self._keep) * Fraction(self.k, self.size_), self.epsilon)

    def channel(self) -> np.ndarray:
        """Return Pr[y | x], shape (k, number of sets), the sets in lexicographic order."""
        inputs.check_cells(self.k, math.comb(self.k, self.size_))
        return channel(math.exp(self.epsilon), self.k, self.size_)

    @property
    def dtype(self) -> np.dtype:
        """Type and shape of one report: `size_` ascending values."""
        return np.dtype((inputs.small_dtype(self.k), (self.size_,)))

    def reports(self) -> np.ndarray:
        """Return all reports of one user, shape (number of sets, size), in the order of the channel's columns."""
        inputs.check_cells(self.k, math.comb(self.k, self.size_))
        return all_sets(self.k, self.size_)

    def perturb(self, x, *, rng: np.random.Generator) -> np.ndarray:
        """Return one set of values a user.

        Parameters
        ----------
        x : array_like of int, shape (n,)
            The users' values, 0 to k-1.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        array of shape (n, size)
            Each row a set of values in ascending order, in the smallest unsigned integer type that holds them.
        """
        inputs.require(rng=rng)
        x = inputs.check_values(x, self.k)
        told = sampling.bernoulli(self._keep, x.size, rng)
        return draw_sets(x, told, self.k, self.size_, rng)

    def count(self, y) -> np.ndarray:
        """Return the number of reports and how many support each value: counts of disjoint sets of reports add up."""
        y = check_sets(y, self.k, self.size_)
        return np.concatenate([[len(y)], np.bincount(y.ravel(), minlength=self.k)])

    def draw_support(self, histogram, rng: np.random.Generator) -> np.ndarray:
        """Draw how many sets hold each value, shape (runs, k), for numbers of users with each value, shape (runs, k).

        The cost grows with k times `size_`, not with the number of users, of which there may be up to 10**9.
        """
        users = histogram.sum(axis=1)
        if users.max() > 10**9:
            raise ValueError(f"population must have at most 10**9 users to simulate; got n = {users.max()}")
        told = rng.binomial(histogram, float(self._keep))
        return simulate_counts(told, users - told.sum(axis=1), self.size_, rng)


def check_size(size, k):
    """Raise unless `size` is an integer from 1 to k-1."""
    if isinstance(size, (bool, np.bool_)) or not isinstance(size, (int, np.integer)):
        raise TypeError(f"size must be an integer from 1 to k-1 = {k - 1}; got {size!r}")
    if not 1 <= size <= k - 1:
        raise ValueError(f"size must be an integer from 1 to k-1 = {k - 1}; got {size!r}")


def check_sets(y, k, size):
    """Return reports as an (n, size) integer array after checking shape, range and order, or raise."""
    y = inputs.unmasked(y, "y")
    allowed = f"y must have at least one row of {size} ascending integers from 0 to {k - 1}"
    if y.ndim != 2 or y.shape[1] != size or len(y) == 0:
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

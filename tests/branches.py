"""Go through every branch of a mechanism's own code: the law of its reports as exact rationals, without sampling.

Each random draw that the code asks for is answered in turn by each of its outcomes, by running the code again and
again. The coins of `ldp_lib._sampling` are answered by their realised probabilities, which core/test_sampling.py proves
from the random words themselves; NumPy's bounded integers, permutations and choices are uniform, exactly.
"""

import itertools
import math
from contextlib import ExitStack
from fractions import Fraction
from unittest import mock

import numpy as np

from ldp_lib import _sampling, hashing


class Walk(np.random.Generator):
    """A generator that follows one path of outcomes, and notes each fork on its way."""

    def __init__(self, path, most):
        super().__init__(np.random.PCG64(0))
        self.path, self.weight, self.forks, self.most = path, Fraction(1), [], most

    def fork(self, chances):
        """Return the number of the outcome on the path, or the first possible one, and multiply its chance in."""
        possible = [i for i, chance in enumerate(chances) if chance]
        if len(possible) == 1:
            return possible[0]
        place = len(self.forks)
        taken = self.path[place] if place < len(self.path) else 0
        self.forks.append((taken, len(possible)))
        self.weight *= chances[possible[taken]]
        return possible[taken]

    def each(self, size, draw, dtype):
        """An array of the given size, its entries drawn one after the other."""
        count = int(np.prod(size)) if size is not None else 1
        assert count <= self.most, f"{count} draws at once"
        values = np.array([draw() for _ in range(count)], dtype=dtype)
        return values.reshape(size if size is not None else ())[()]

    def integers(self, low, high=None, size=None, dtype=np.int64):
        low, high = (0, low) if high is None else (low, high)
        assert high - low <= 1000, "a draw of too many values"
        uniform = [Fraction(1, int(high - low))] * int(high - low)
        return self.each(size, lambda: low + self.fork(uniform), dtype)

    def permutation(self, x):
        orders = list(itertools.permutations(range(x)))
        return np.array(orders[self.fork([Fraction(1, len(orders))] * len(orders))])

    def shuffle(self, x):
        x[:] = x[self.permutation(len(x))]

    def choice(self, a, size, replace, shuffle):
        assert (replace, shuffle) == (False, False)
        sets = list(itertools.combinations(range(a), size))
        return np.array(sets[self.fork([Fraction(1, len(sets))] * len(sets))], dtype=int)

    def random(self, size=None):
        """Floats that only break ties: all the same, which breaks them by order."""
        return np.full(size, 0.5)


def _bernoulli(p, size, rng):
    chance = _sampling.realised(p)
    return rng.each(size, lambda: rng.fork([1 - chance, chance]) == 1, bool)


def _draw(shares, size, rng):
    chances = _sampling.realised_shares(shares)
    return rng.each(size, lambda: rng.fork(chances), np.uint8)


def _coins(chances, rng):
    hits = [Fraction(int(chance), 2**64) for chance in chances]
    return np.array([rng.fork([1 - hit, hit]) == 1 for hit in hits], dtype=bool)


def _bits(dtype, size, rng):
    top = 2 ** (8 * np.dtype(dtype).itemsize)
    return rng.each(size, lambda: rng.fork([Fraction(1, top)] * top), dtype)


def _reports(x, k, keep, rng):
    kept = _sampling.realised_keep(keep, k)
    chances = [[(1 - kept) / k + kept * (u == v) for v in range(k)] for u in range(k)]
    return np.array([rng.fork(chances[u]) for u in x], dtype=np.uint8)


def _places(n, size, rng):
    sets = list(itertools.combinations(range(n), size))
    return np.isin(np.arange(n), sets[rng.fork([Fraction(1, len(sets))] * len(sets))])


def _seeds(n, rng):
    return np.arange(1, 4 * n + 1, dtype=np.uint32).reshape(n, 4)  # public, and whatever the data are


def law(perturb, x, *, bits=True, most=64):
    """Return the law of ``perturb(x, rng=rng)``: a dict from reports, as bytes, to their exact probabilities.

    Parameters
    ----------
    perturb : function
        Takes data and `rng`.
    x : array
        Users' data.
    bits : bool
        Whether generalized randomized response is followed down to its random bytes, or only to its realised law.
    most : int
        The most values that the code may draw at once.
    """
    perturb(x, rng=np.random.default_rng(1))  # what is computed once is computed with real coins
    total, path = {}, []
    parts = {"bernoulli": _bernoulli, "draw": _draw, "coins": _coins, "random_bits": _bits}
    if not bits:
        parts["grr_reports"] = _reports
        parts["uniform"] = lambda k, size, rng: rng.integers(k, size=size, dtype=np.uint8)
    with ExitStack() as stack:
        for name, part in parts.items():
            stack.enter_context(mock.patch.object(_sampling, name, part))
        stack.enter_context(mock.patch.object(hashing, "_draw_seeds", _seeds))
        stack.enter_context(mock.patch.object(_sampling, "random_places", _places))
        while True:
            walk = Walk(path, most)
            y = perturb(x, rng=walk)
            key = b"|".join(np.ascontiguousarray(part).tobytes() for part in (y if isinstance(y, tuple) else (y,)))
            total[key] = total.get(key, 0) + walk.weight
            path = [taken for taken, _ in walk.forks]
            while path and path[-1] + 1 == walk.forks[len(path) - 1][1]:
                path.pop()
            if not path:
                break
            path[-1] += 1
    assert sum(total.values()) == 1
    return total


def ratio(laws):
    """Return the largest ratio of an outcome's probabilities under two laws; infinite if only one of them allows it."""
    worst = Fraction(1)
    for outcome in set().union(*laws):
        chances = [law.get(outcome, 0) for law in laws]
        worst = max(worst, math.inf if min(chances) == 0 else max(chances) / min(chances))
    return worst

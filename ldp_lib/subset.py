"""Subset selection: report a random set of values, which holds the true one with better odds than any other set.

Of all sets of `size` values, each that holds the user's is e times as likely as each other; size 1 is GRR.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ldp_lib import _inputs, _sampling, _sets, pure


def keep_probability(e, share):
    """Return the probability that a report is drawn on purpose among the sets that hold the truth; else from all sets.

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
    return ((k - 1) * (k / (e - 1) + size)) ** 2 / k / size / (k - size)


def optimal_size(e, k):
    """Return the size with the least `error`: one of the two integers next to k / (e+1), from 1 to k-1.

    `error` falls up to k / (e+1) and rises from there on; of the two, the smaller wins a tie, and what is one but for
    the last bits of `e`, in which machines differ. The nearest integer is not always best. Derived in the chapter
    `subset_selection`.
    """
    below = int(k / (e + 1))
    if below < 1:
        return 1
    return below if error(e, k, below) <= error(e, k, below + 1) * (1 + 1e-12) else below + 1


def channel(e, k, size):
    """Return the channel from values to sets in lexicographic order; exact if `e` is a Fraction or a symbol."""
    sets = list(itertools.combinations(range(k), size))
    total = e * math.comb(k - 1, size - 1) + math.comb(k - 1, size)
    return np.array([[(e if x in names else e**0) / total for names in sets] for x in range(k)])


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

    Notes
    -----
    Wang et al. (2016); Ye and Barg (2018). With the best size no pure oracle of this library whose users report alone
    has a smaller total variance. Chapter `subset_selection`.
    """

    k: int
    epsilon: float
    size: int | None = None

    def __post_init__(self):
        super().__post_init__()
        if self.size is not None:
            object.__setattr__(self, "size", _sets.check_size(self.size, self.k))

    @cached_property
    def size_(self) -> int:
        """Number of values in a report."""
        return optimal_size(self._e, self.k) if self.size is None else self.size

    @cached_property
    def probabilities(self) -> tuple[float, float]:
        """Probabilities p and q that a report holds the user's own value, and any other given one."""
        return probabilities(self._e, self.k, self.size_)

    @cached_property
    def _keep(self):
        return _sampling.realised(keep_probability(_sampling.exp_below(self.epsilon), Fraction(self.size_, self.k)))

    @property
    def realised_ratio(self) -> Fraction:
        """Largest ratio of a report's probabilities under two values, exactly: at most exp(epsilon)."""
        return 1 + self._keep / (1 - self._keep) * Fraction(self.k, self.size_)

    def channel(self) -> np.ndarray:
        """Return Pr[y | x], shape (k, number of sets), the sets in lexicographic order."""
        _inputs.check_cells(self.k, math.comb(self.k, self.size_))
        return channel(self._e, self.k, self.size_)

    @property
    def dtype(self) -> np.dtype:
        """Type and shape of one report: `size_` ascending values."""
        return np.dtype((_inputs.small_dtype(self.k), (self.size_,)))

    def reports(self) -> np.ndarray:
        """Return all reports of one user, shape (number of sets, size), in the order of the channel's columns."""
        _inputs.check_cells(self.k, math.comb(self.k, self.size_))
        return _sets.all_sets(self.k, self.size_)

    @_inputs.users_checked
    def perturb(self, x, *, rng: pure.Rng) -> np.ndarray:
        """Return one set of ascending values a user, shape (n, size), from values 0 to k-1 of shape (n,).

        In the smallest unsigned integer type that holds them.
        """
        told = _sampling.bernoulli(self._keep, x.size, rng)
        return _sets.draw_sets(x, told, self.k, self.size_, rng)

    def count(self, y) -> np.ndarray:
        """Return the number of reports and how many support each value: counts of disjoint sets of reports add up."""
        y = _sets.check_sets(y, self.k, self.size_)
        return np.append(len(y), sum(np.bincount(each, minlength=self.k) for each in y.T))

    def draw_support(self, histogram, rng: pure.Rng) -> np.ndarray:
        """Draw how many sets hold each value, shape (runs, k), for numbers of users with each value, shape (runs, k).

        The cost grows with k times `size_`, not with the number of users, of which there may be up to 10**9.
        """
        if (users := histogram.sum(axis=1)).max() > 10**9:
            raise ValueError(f"population must have at most 10**9 users to simulate; got n = {users.max()}")
        told = rng.binomial(histogram, float(self._keep))
        return _sets.simulate_counts(told, users - told.sum(axis=1), self.size_, rng)

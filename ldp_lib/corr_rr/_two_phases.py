"""Two phases: some users split their budget, and what they show decides how the others report."""

import math
from functools import cached_property
from typing import Any

import numpy as np

from ldp_lib import _inputs, grr, pure, splitting
from ldp_lib.mechanism import NoExactMoments, Rng, Several
from ldp_lib.population import Population


class TwoPhase(Several):
    """What mechanisms of two phases share: `n1` users split their budget (`SPL`) and set how the others report.

    Subclasses give `_report_second(first, x, rng)`, the second phase's reports from the first's and from the records
    of the second's users, `_estimate_second(first, second)`, its estimates from both phases' reports, and
    `_draw_second(learned, held, n2, rng)`, its estimates from what it learns, if its n2 users are in `held` as
    `draw_pivots` gives them.
    """

    n1: int | float
    _report_second: Any
    _estimate_second: Any
    _draw_second: Any
    independent = False
    dtype = None

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "n1", check_first(self.n1))

    @property
    def least_users(self) -> int:
        """The least number of users: one in the second phase."""
        return 2 if isinstance(self.n1, float) else self.n1 + 1

    @cached_property
    def _first(self):
        return splitting.SPL(k=self.k, epsilon=self.epsilon)

    def first_users(self, n) -> int:
        """Return how many of n users are in the first phase."""
        return first_users(self.n1, n)

    def realised_epsilon(self) -> float:
        """Return the budget that `perturb` spends, proved from its thresholds: the larger of the two phases'."""
        pivots = (grr.GRR(k=size, epsilon=self.epsilon).realised_epsilon() for size in self.k)
        return max(self._first.realised_epsilon(), *pivots)

    @_inputs.users_checked
    def perturb(self, x, *, rng: Rng) -> tuple:
        """Return the reports of both phases, shapes (n1, d) and (n - n1, d), from records of shape (n, d)."""
        first, second = split_users(x, self.n1, rng)
        first = self._first.perturb(first, rng=rng)
        return first, self._report_second(first, second, rng)

    def estimate(self, y) -> list:
        """Return raw estimates, one array (k_j,) for each attribute, from both phases' reports; see `unbiased`."""
        first, second = check_phases(y, self.n1)
        parts = self._first.estimate(first), self._estimate_second(first, second)
        return combine(*parts, len(first), len(second))

    def simulate(self, population: Population, *, rng: Rng, runs: int) -> list:
        """Return one array (runs, k_j) for each attribute: the exact joint distribution of ``estimate(perturb(x))``.

        The first phase's users are drawn without replacement. The cost is free of n; n must be below 10**9.
        """
        phases = self.simulate_phases(population, rng=rng, runs=runs)
        n1 = self.first_users(population.n)
        return combine(*phases, n1, population.n - n1)

    def simulate_phases(self, population: Population, *, rng: Rng, runs: int) -> tuple[list, list]:
        """Return the two phases' estimates, jointly distributed as they are: two lists of d arrays (runs, k_j)."""
        _inputs.check_population(population, self.k, rng=rng, runs=runs)
        chosen, rest = draw_phases(population, self.n1, rng=rng, runs=runs)
        first, learned = self._draw_first(population.records, chosen, rng)
        held = draw_pivots(population.records, rest, self.k, rng)
        return first, self._draw_second(learned, held, int(rest[0].sum()), rng)

    def _draw_first(self, records, chosen, rng):
        """Return the first phase's estimates, d arrays (runs, k_j), and what the second phase learns: these."""
        root, n1 = math.exp(self.epsilon / self.d), chosen[0].sum()
        parts = zip(self._first.oracles, marginal_counts(records, chosen, self.k), strict=True)
        counts = [part.draw_support(held, rng) for part, held in parts]
        first = [pure.estimate(count, n1, *grr.probabilities(root, count.shape[1])) for count in counts]
        return first, first

    def channel(self) -> np.ndarray:
        """Raise ValueError: the second phase's reports depend on the first's, so no user has a channel alone."""
        name = type(self).__name__
        raise ValueError(f"{name} has no channel of one user: the second phase depends on the first's reports")

    def mean(self, population: Population) -> list:
        """Raise `NoExactMoments`."""
        raise NoExactMoments(self)

    def variance(self, population: Population) -> list:
        """Raise `NoExactMoments`."""
        raise NoExactMoments(self)


def check_n1(n1, name="n1", more=""):
    """Return n1 as an int, or raise unless it is an integer of at least 1; `more` says what else is allowed."""
    if not _inputs.is_integer(n1) or n1 < 1:
        raise ValueError(f"{name} must be an integer of at least 1{more}; got {n1!r}")
    return int(n1)


def check_first(n1):
    """Return n1 as an int or a float; raise unless it is a number of users, at least 1, or a share from 0 to 1."""
    if isinstance(n1, float | np.floating) and 0 < n1 < 1:
        return float(n1)
    return check_n1(n1, more=", or a share of the users from 0 to 1")


def first_users(n1, n):
    """Return how many of n users are in the first phase: n1, or the share n1 of them, rounded; each phase has some."""
    if n < 2:
        raise ValueError(f"x and y must have at least two users, one for each phase; got {n}")
    if isinstance(n1, float):
        return min(max(1, round(n1 * n)), n - 1)
    if n <= n1:
        raise ValueError(f"n1 must be below the number of users, {n}; got {n1}")
    return n1


def check_phases(y, n1):
    """Return the two phases' reports after checking that their numbers of users are those that n1 says."""
    try:
        first, second = y
        n = len(first) + len(second)
    except (TypeError, ValueError):
        raise ValueError(f"y must be two arrays, the reports of either phase; got {y!r}") from None
    wanted = first_users(n1, n) if isinstance(n1, float) else n1
    if len(first) != wanted or not len(second):
        raise ValueError(
            f"y must start with the reports of n1 = {wanted} users, and have others; got {len(first)} and {len(second)}"
        )
    return first, second


def split_users(x, n1, rng):
    """Return the records of the first phase's users, chosen at random, and those of the others."""
    chosen = np.zeros(len(x), bool)
    chosen[rng.choice(len(x), size=first_users(n1, len(x)), replace=False, shuffle=False)] = True
    return x[chosen], x[~chosen]


def combine(first, second, n1, n2):
    """Return the average of the two phases' estimates, weighted with their numbers of users."""
    return [(n1 * a + n2 * b) / (n1 + n2) for a, b in zip(first, second, strict=True)]


def draw_phases(population, n1, *, rng, runs):
    """Return how many users with each record are in the first and in the second phase: two arrays (runs, m)."""
    if population.n >= 10**9:
        raise ValueError(f"population must have fewer than 10**9 users to simulate two phases; got {population.n}")
    n1 = first_users(n1, population.n)
    chosen = rng.multivariate_hypergeometric(population.counts, n1, size=runs, method="marginals")
    return chosen, population.counts - chosen


def draw_pivots(records, counts, k, rng):
    """Return how many users picked each attribute and hold each value: d arrays (runs, k_j).

    Every user picks one of the d attributes at random. `counts` has shape (runs, m), one column a record.
    """
    picked = [None] * len(k)
    for j in range(len(k) - 1, -1, -1):
        chosen = rng.binomial(counts, 1 / (j + 1)) if j else counts
        (picked[j],) = marginal_counts(records[:, [j]], chosen, [k[j]])
        counts = counts - chosen
    return picked


def marginal_counts(records, counts, k):
    """Return the numbers of users with each value, d arrays (runs, k_j), from counts of records (runs, m)."""
    columns = zip(records.T, k, strict=True)
    held = [(column[:, None] == np.arange(size)).astype(float) for column, size in columns]
    return [(counts @ one).astype(np.int64) for one in held]  # exact below 2**53

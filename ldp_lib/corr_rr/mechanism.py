"""Correlated randomized response (Corr-RR): one attribute, the pivot, is randomized; the others copy its report.

Seeam, Zheng and Hu (2025; revised 2026). In the first phase n1 users split their budget (`SPL`); their estimates set
the reuse probabilities. In the second, each user sends a random pivot through randomized response (GRR) with the whole
budget; any other attribute copies the pivot's report with probability p_y, else takes another value at random.

`reuse` sets the reuse probabilities, and says what a reuse table is.
"""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_lib import grr, inputs, pure, splitting, two_phase
from ldp_lib.corr_rr.reuse import FORMULAS, check_reuse, reuse_table, shrinkage
from ldp_lib.inputs import check_records
from ldp_lib.population import marginal_frequencies


def channel(e, k, reuse):
    """Return the second phase's channel from records to reports, both in lexicographic order; exact on Fractions.

    Parameters
    ----------
    e : number or symbol
        exp(epsilon).
    k : int
        Domain size of every attribute.
    reuse : sequence of d sequences
        The reuse table.
    """
    d, truth = len(reuse), grr.channel(e, k)
    words = list(itertools.product(range(k), repeat=d))

    def report(x, y, j):
        """Probability of the report y if j is the pivot."""
        copies = [reuse[j][m] if y[m] == y[j] else (1 - reuse[j][m]) / (k - 1) for m in range(d) if m != j]
        return truth[x[j], y[j]] * math.prod(copies)

    return np.array([[sum(report(x, y, j) for j in range(d)) / d for y in words] for x in words])


def expectation(frequencies, reuse):
    """Return the second phase's expected estimate, shape (d, k); it does not depend on the budget.

    Parameters
    ----------
    frequencies : array_like, shape (d, k)
        The attributes' true frequencies; numbers, Fractions or symbols.
    reuse : array_like, shape (d, d)
        The reuse table.

    Returns
    -------
    array, shape (d, k)
        1/k + (1/d) sum over j of t_jm (f_j - 1/k), with t the `shrinkage` of the reuse table.

    Notes
    -----
    Derived in the chapter `corr_rr_mse`.
    """
    f = np.asarray(frequencies)
    d, k = f.shape
    t = shrinkage(np.asarray(reuse) + 0 * f[0, 0], k)  # of the kind of f, so that Fractions stay exact
    return (t.T @ f + (d - t.sum(axis=0))[:, None] / k) / d


def iid_variance(frequencies, reuse, n2, e):
    """Return the second phase's variance, shape (d, k), if its n2 users are drawn independently.

    It is pi (1-pi) / (n2 (p-q)^2), with pi the probability that an attribute's report is v. Arguments as in
    `expectation`; e is exp(epsilon). Derived in the chapter `corr_rr_mse`.
    """
    p, q = grr.probabilities(e, np.shape(frequencies)[1])
    pi = q + (p - q) * expectation(frequencies, reuse)
    return pi * (1 - pi) / (n2 * (p - q) ** 2)


def check_equal(k):
    """Return the domain sizes of at least two attributes as a tuple, or raise unless they are all equal."""
    sizes = inputs.check_attributes(k)
    if len(set(sizes)) > 1:
        raise ValueError(f"k must be the same for all attributes, since they copy each other's values; got {sizes}")
    return sizes


@dataclass(frozen=True, kw_only=True)
class SecondPhase:
    """Randomize a random pivot with the whole budget; each other attribute copies its report with given probability.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes, all equal.
    epsilon : float
        Privacy budget of one user's whole report.
    reuse : float or array_like, shape (d, d)
        The reuse table, or one p_y for all pairs.

    Notes
    -----
    The estimate is raw and biased: `mean` is not the true frequencies. Chapter `corr_rr_mse`.
    """

    k: tuple
    epsilon: float
    reuse: tuple

    def __post_init__(self):
        object.__setattr__(self, "k", check_equal(self.k))
        inputs.require(epsilon=self.epsilon)
        table = check_reuse(self.reuse, len(self.k))
        object.__setattr__(self, "reuse", tuple(map(tuple, table.tolist())))

    @cached_property
    def _pq(self):
        return grr.probabilities(math.exp(self.epsilon), self.k[0])

    def perturb(self, x, *, rng):
        """Return one row of d reported values a user, in the smallest unsigned integer type that holds them."""
        inputs.require(rng=rng)
        x = check_records(x, self.k)
        k, d, n = self.k[0], len(self.k), len(x)
        pivot = rng.integers(d, size=n)
        report = grr.GRR(k=k, epsilon=self.epsilon).perturb(x[np.arange(n), pivot], rng=rng)
        y = np.empty((n, d), inputs.small_dtype(k), order="F")
        for m, chances in enumerate(np.transpose(self.reuse)):
            shift = rng.integers(1, k, size=n, dtype=inputs.small_dtype(2 * k))
            shift[rng.random(n) < chances[pivot]] = 0  # always so for the pivot itself
            y[:, m] = (report + shift) % k
        return y

    def estimate(self, y):
        """Return the estimates of randomized response, one array (k,) for each attribute; raw and biased."""
        y = check_records(y, self.k, "y")
        counts = [np.bincount(y[:, j], minlength=size) for j, size in enumerate(self.k)]
        return [pure.estimate(count, len(y), *self._pq) for count in counts]

    def simulate(self, population, *, rng, runs):
        """Return one array (runs, k) for each attribute, from the exact joint law of ``estimate(perturb(x))``."""
        inputs.require(rng=rng, runs=runs)
        inputs.check_population(population, self.k)
        counts = np.broadcast_to(population.counts, (runs, len(population.counts)))
        return simulate_second(population.records, counts, self.epsilon, np.array(self.reuse), self.k, rng)

    def mean(self, population):
        """Return the exact expectation of the estimate, one array (k,) for each attribute: not the true frequencies."""
        inputs.check_population(population, self.k)
        return list(expectation(marginal_frequencies(population), self.reuse))

    def variance(self, population):
        """Return the exact variance of the estimate, the users' data held fixed: one array (k,) for each attribute."""
        inputs.check_population(population, self.k)
        p, q = self._pq
        pi = q + (p - q) * record_means(population.records, self.reuse, self.k[0])
        return list(population.counts @ (pi * (1 - pi)) / (population.n * (p - q)) ** 2)


@dataclass(frozen=True, kw_only=True)
class CorrRR:
    """Corr-RR in two phases, as published (Algorithm 1), for any number of attributes with equal domains.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes, all equal.
    epsilon : float
        Privacy budget of one user's whole report, in either phase.
    n1 : int
        Number of users in the first phase, chosen at random; at least 1, and fewer than there are users.
    reuse : {"exact", "v1", "v1-appendix"}, float or array_like, shape (d, d)
        The formula by which the first phase's estimates set the reuse table; or a table, or one p_y for all pairs,
        fixed in advance.

    Raises
    ------
    TypeError, ValueError
        If a parameter is of the wrong type or out of range, or the domains differ.

    Notes
    -----
    The first phase's raw estimates go into the formula as they are, negative or not: see `reuse_probability`. The two
    phases' raw estimates are averaged with their numbers of users as weights. The estimate is biased. `mean` and
    `variance` are exact where the reuse table is fixed in advance; if the first phase sets it they have no short form,
    and `simulate` draws from the exact law. With fewer users than attributes some attributes are nobody's pivot; all
    laws hold still. Chapters `corr_rr_mse`, `corr_rr_privacy` and `corr_rr_evaluation`.
    """

    k: tuple
    epsilon: float
    n1: int
    reuse: str | tuple = "exact"

    def __post_init__(self):
        object.__setattr__(self, "k", check_equal(self.k))
        inputs.require(epsilon=self.epsilon)
        two_phase.check_n1(self.n1)
        if isinstance(self.reuse, str):
            if self.reuse not in FORMULAS:
                raise ValueError(f"reuse must be one of {FORMULAS}, a number or a table; got {self.reuse!r}")
        else:
            table = check_reuse(self.reuse, len(self.k))
            object.__setattr__(self, "reuse", tuple(map(tuple, table.tolist())))

    @cached_property
    def _first(self):
        return splitting.SPL(k=self.k, epsilon=self.epsilon)

    def table(self, first, n2):
        """Return the reuse table, (d, d) or (runs, d, d), that the first phase's estimates set for n2 other users."""
        if isinstance(self.reuse, str):
            return reuse_table(first, epsilon=self.epsilon, n2=n2, formula=self.reuse)
        return np.array(self.reuse)

    def perturb(self, x, *, rng):
        """Return the reports of both phases, shapes (n1, d) and (n - n1, d), from records of shape (n, d)."""
        inputs.require(rng=rng)
        first, second = two_phase.split_users(check_records(x, self.k), self.n1, rng)
        first = self._first.perturb(first, rng=rng)
        table = self.table(self._first.estimate(first), len(second))
        return first, SecondPhase(k=self.k, epsilon=self.epsilon, reuse=table).perturb(second, rng=rng)

    def estimate(self, y):
        """Return the estimates, one array (k,) for each attribute, from the reports of both phases; raw and biased."""
        first, second = two_phase.check_phases(y, self.n1)
        parts = self._first.estimate(first), SecondPhase(k=self.k, epsilon=self.epsilon, reuse=1).estimate(second)
        return two_phase.combine(*parts, self.n1, len(second))

    def simulate(self, population, *, rng, runs):
        """Return one array (runs, k) for each attribute, from the exact joint law of ``estimate(perturb(x))``.

        The cost depends on the number of distinct records and on `runs`, not on n, which must be below 10**9.
        """
        phases = self.simulate_phases(population, rng=rng, runs=runs)
        return two_phase.combine(*phases, self.n1, population.n - self.n1)

    def simulate_phases(self, population, *, rng, runs):
        """Return the two phases' estimates on their own, from their exact joint law: two lists of d (runs, k)."""
        inputs.require(rng=rng, runs=runs)
        inputs.check_population(population, self.k)
        chosen, rest = two_phase.draw_phases(population, self.n1, rng=rng, runs=runs)
        first = two_phase.simulate_spl(population.records, chosen, self.k, self.epsilon, rng)
        table = self.table(first, population.n - self.n1)
        return first, simulate_second(population.records, rest, self.epsilon, table, self.k, rng)

    def mean(self, population):
        """Return the exact expectation of the estimate, one array (k,) for each attribute, for a fixed reuse table."""
        second = self._fixed(population)
        parts = marginal_frequencies(population), second.mean(population)
        return two_phase.combine(*parts, self.n1, population.n - self.n1)

    def variance(self, population):
        """Return the exact variance, one array (k,) for each attribute, the data held fixed, for a fixed reuse table.

        Random are the users' coins and who is in the first phase.
        """
        second, n = self._fixed(population), population.n
        n2, shares = n - self.n1, population.counts / n
        coins1 = [v * n for v in self._first.variance(population)]  # of one user's debiased report, on average
        coins2 = [v * n for v in second.variance(population)]
        k, d = self.k[0], len(self.k)
        held = np.eye(k)[population.records].transpose(1, 0, 2)
        moved = held - record_means(population.records, self.reuse, k)  # by the choice of the phase
        spread = [shares @ (moved[m] - shares @ moved[m]) ** 2 for m in range(d)]
        split = self.n1 * n2 / (n - 1)
        return [(self.n1 * a + n2 * b + split * c) / n**2 for a, b, c in zip(coins1, coins2, spread, strict=True)]

    def _fixed(self, population):
        if isinstance(self.reuse, str):
            raise ValueError(f"reuse must be fixed for an exact mean or variance; got {self.reuse!r}: use simulate")
        inputs.check_population(population, self.k)
        two_phase.check_n1(self.n1, population.n)
        return SecondPhase(k=self.k, epsilon=self.epsilon, reuse=self.reuse)


def record_means(records, reuse, k):
    """Return each record's expected debiased second-phase reports, shape (d, m, k), from records of shape (m, d)."""
    centred = np.eye(k)[records] - 1 / k
    return 1 / k + np.einsum("jm,rjv->mrv", shrinkage(np.asarray(reuse), k), centred) / records.shape[1]


def simulate_second(records, counts, epsilon, table, k, rng):
    """Draw second-phase estimates, d arrays (runs, k): `counts` is (runs, m), `table` (d, d) or (runs, d, d)."""
    size, n, e = k[0], counts[0].sum(), math.exp(epsilon)
    totals = [0] * len(k)
    for j, held in enumerate(two_phase.draw_pivots(records, counts, k, rng)):
        report = two_phase.grr_counts(held, e, rng)
        for m in range(len(k)):
            totals[m] = totals[m] + (report if m == j else _copies(report, table[..., j, m, None], size, rng))
    return [pure.estimate(total, n, *grr.probabilities(e, size)) for total in totals]


def _copies(report, p_y, k, rng):
    counts = rng.binomial(report, p_y)
    changed = report - counts
    for v in range(k):
        others = [u for u in range(k) if u != v]
        counts[:, others] += rng.multinomial(changed[:, v], np.full(k - 1, 1 / (k - 1)))
    return counts

"""Correlated randomized response (Corr-RR): one attribute, the pivot, is randomized; the others copy its report.

Seeam, Zheng and Hu (2025; revised 2026). In the first phase n1 users split their budget (`SPL`); their estimates set
the reuse probabilities. In the second, each user sends a random pivot through randomized response (GRR) with the whole
budget; any other attribute copies the pivot's report with probability p_y, else takes another value at random.

A *reuse table* is a d by d array: row j, column m holds p_y for pivot j and the copying attribute m; its diagonal is 1.
"""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.optimize import lsq_linear

from ldp_lib import composition, grr, pure, two_phase
from ldp_lib.cond_rr import CondRR  # noqa: F401  (its sibling, to be had from here too)
from ldp_lib.population import check_records

FORMULAS = ("exact", "v1", "v1-appendix")


def shrinkage(p_y, k):
    """Return t = (k p_y - 1) / (k-1), from -1/(k-1) to 1: a copy's deviation from 1/k is t times the pivot report's."""
    return (k * p_y - 1) / (k - 1)


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


def quadratic(f_target, f_pivot, n2, *, e=None, formula="exact"):
    """Return (c1, c2): for two attributes, the target's error, summed over values, is c1 p_y + c2 p_y^2 + constant.

    Parameters
    ----------
    f_target, f_pivot : array_like, shape (..., k)
        Frequencies of the attribute that copies, and of the pivot.
    n2 : number or symbol
        Number of users in the second phase, drawn independently.
    e : number or symbol, optional
        exp(epsilon); only the appendix's formula depends on it.
    formula : {"exact", "v1", "v1-appendix"}
        What is true; what Theorem 4 of the first version implies; its Appendix 6.1. They agree for k = 2.

    Notes
    -----
    Derived in the chapters `corr_rr_mse` and `corr_rr_reuse_probability`.
    """
    if formula not in FORMULAS:
        raise ValueError(f"formula must be one of {FORMULAS}; got {formula!r}")
    a, b = np.asarray(f_target), np.asarray(f_pivot)
    k = a.shape[-1]
    if formula == "exact":
        a, b = (f - f.sum(axis=-1, keepdims=True) / k for f in (a, b))  # deviations from 1/k
        product, square = (a * b).sum(axis=-1), (b * b).sum(axis=-1)
        c1 = -k * ((n2 + 1) * (k - 1) * product + (n2 - 1) * square) / (2 * (k - 1) ** 2 * n2)
        return c1, (n2 - 1) * k**2 * square / (4 * (k - 1) ** 2 * n2)
    slope, offset = 2 * b - 1, 1 - a - b  # the paper's e(v) and d_0(v)
    c2 = (n2 - 1) * (slope**2).sum(axis=-1) / (4 * n2)
    if formula == "v1":
        return ((n2 * offset - (a - b)) * slope).sum(axis=-1) / (2 * n2), c2
    p, q = grr.probabilities(e, k)
    alpha = q + (p - q) * (offset + 2 * a) / 2
    return ((n2 * offset + (1 - 2 * alpha) / (p - q)) * slope).sum(axis=-1) / (2 * n2), c2


def minimizer(f_target, f_pivot, n2, *, e=None, formula="exact"):
    """Return the p_y that each formula calls the unconstrained minimiser; it may lie outside [0, 1].

    Arguments as in `quadratic`. "exact" and "v1-appendix" return -c1 / (2 c2) of their own quadratics; "v1" returns
    c1 / c2, which is what Proposition 1 prints. For two attributes the exact one is, in terms of `shrinkage`,
    ``t = (n2+1)/(n2-1) <f_target - 1/k, f_pivot - 1/k> / |f_pivot - 1/k|^2``.
    """
    c1, c2 = quadratic(f_target, f_pivot, n2, e=e, formula=formula)
    return c1 / c2 if formula == "v1" else -c1 / (2 * c2)


def reuse_probability(f_target, f_pivot, *, epsilon, n2, formula="exact"):
    """Return the reuse probability p_y of an ordered pair of attributes, shape (...), by the endpoint rule.

    Of 0, 1 and the formula's `minimizer`, if that lies between them, the one with the least error by `quadratic` is
    taken. Where the error does not depend on p_y at all, because the pivot is uniform, the result is 1/k.

    Parameters
    ----------
    f_target, f_pivot : array_like, shape (..., k)
        Estimated frequencies of the attribute that copies, and of the pivot. They may be negative or exceed 1, as raw
        estimates do; the result is from 0 to 1 all the same.
    epsilon : float
        Budget of the second phase.
    n2 : int
        Number of users in the second phase.
    formula : {"exact", "v1", "v1-appendix"}
        As in `quadratic`. The revised version's formula is lost in our copy; its words define "exact".

    Notes
    -----
    Seeam et al. (2025), Section 3.2.2 and Appendix 6; derived in the chapter `corr_rr_reuse_probability`.
    """
    a, b = np.asarray(f_target, dtype=float), np.asarray(f_pivot, dtype=float)
    if a.shape != b.shape or a.ndim == 0 or a.shape[-1] < 2 or not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise ValueError(f"f_target and f_pivot must be finite and of one shape (..., k); got {a.shape} and {b.shape}")
    pure.require(epsilon=epsilon)
    two_phase.check_n1(n2, name="n2")
    e = math.exp(epsilon)
    c1, c2 = quadratic(a, b, n2, e=e, formula=formula)
    with np.errstate(divide="ignore", invalid="ignore"):
        star = np.asarray(minimizer(a, b, n2, e=e, formula=formula))
    star = np.where((star >= 0) & (star <= 1), star, 0.0)
    candidates = np.stack(np.broadcast_arrays(0.0, 1.0, star))
    best = np.argmin(c1 * candidates + c2 * candidates**2, axis=0)
    chosen = np.take_along_axis(candidates, best[None], axis=0)[0]
    return np.where((c1 == 0) & (c2 == 0), 1 / a.shape[-1], chosen)[()]


def reuse_table(frequencies, *, epsilon, n2, formula="exact"):
    """Return the reuse table, shape (..., d, d), of the pairwise rule: `reuse_probability` for each ordered pair.

    `frequencies` are d arrays of shape (..., k). For more than two attributes the pairwise rule is not the best one:
    see `joint_reuse`.
    """
    f = [np.asarray(v, dtype=float) for v in frequencies]
    table = np.ones((*f[0].shape[:-1], len(f), len(f)))
    for j, m in itertools.permutations(range(len(f)), 2):
        table[..., j, m] = reuse_probability(f[m], f[j], epsilon=epsilon, n2=n2, formula=formula)
    return table


def joint_reuse(frequencies, n2):
    """Return the reuse table, shape (d, d), that minimises the second phase's total error over all tables at once.

    For each copying attribute m, the shrinkages t_j solve a least-squares problem in a box:
    the sum of t_j (f_j - 1/k) over the pivots j is to be nearest to ((d-1) n2 + 1) / (n2 - 1) (f_m - 1/k).

    Parameters
    ----------
    frequencies : array_like, shape (d, k)
        The attributes' frequencies.
    n2 : int
        Number of users in the second phase, drawn independently; at least 2.

    Notes
    -----
    Derived in the chapter `corr_rr_reuse_probability`.
    """
    g = np.asarray(frequencies, dtype=float)
    d, k = g.shape
    g = g - 1 / k
    table = np.ones((d, d))
    for m in range(d):
        others = [j for j in range(d) if j != m]
        target = ((d - 1) * n2 + 1) / (n2 - 1) * g[m]
        t = lsq_linear(g[others].T, target, bounds=(-1 / (k - 1), 1)).x
        table[others, m] = (1 + (k - 1) * t) / k
    return np.clip(table, 0, 1)  # the solver's rounding


def check_reuse(reuse, d):
    """Return a reuse table (d, d) of floats, from a table or from one number for all pairs, or raise."""
    try:
        table = np.array(reuse, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"reuse must be a number, a {d} by {d} table or one of {FORMULAS}; got {reuse!r}") from None
    if table.ndim == 0:
        table = np.where(np.eye(d, dtype=bool), 1.0, table)
    if table.shape != (d, d) or not ((table >= 0) & (table <= 1)).all():
        raise ValueError(f"reuse must be {d} by {d} probabilities p_y from 0 to 1; got {reuse!r}")
    if not (np.diagonal(table) == 1).all():
        raise ValueError(f"reuse must have ones on its diagonal: the pivot reports itself; got {np.diagonal(table)}")
    return table


def check_equal(k):
    """Return the domain sizes of at least two attributes as a tuple, or raise unless they are all equal."""
    sizes = composition.check_attributes(k)
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
        pure.require(epsilon=self.epsilon)
        table = check_reuse(self.reuse, len(self.k))
        object.__setattr__(self, "reuse", tuple(map(tuple, table.tolist())))

    @cached_property
    def _pq(self):
        return grr.probabilities(math.exp(self.epsilon), self.k[0])

    def perturb(self, x, *, rng):
        """Return one row of d reported values a user, in the smallest unsigned integer type that holds them."""
        pure.require(rng=rng)
        x = check_records(x, self.k)
        k, d, n = self.k[0], len(self.k), len(x)
        pivot = rng.integers(d, size=n)
        report = grr.GRR(k=k, epsilon=self.epsilon).perturb(x[np.arange(n), pivot], rng=rng)
        y = np.empty((n, d), pure.small_dtype(k), order="F")
        for m, chances in enumerate(np.transpose(self.reuse)):
            shift = rng.integers(1, k, size=n, dtype=pure.small_dtype(2 * k))
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
        pure.require(rng=rng, runs=runs)
        composition.check_population(population, self.k)
        counts = np.broadcast_to(population.counts, (runs, len(population.counts)))
        return simulate_second(population.records, counts, self.epsilon, np.array(self.reuse), self.k, rng)

    def mean(self, population):
        """Return the exact expectation of the estimate, one array (k,) for each attribute: not the true frequencies."""
        composition.check_population(population, self.k)
        return list(expectation(composition.frequencies(population), self.reuse))

    def variance(self, population):
        """Return the exact variance of the estimate, the users' data held fixed: one array (k,) for each attribute."""
        composition.check_population(population, self.k)
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
        pure.require(epsilon=self.epsilon)
        two_phase.check_n1(self.n1)
        if isinstance(self.reuse, str):
            if self.reuse not in FORMULAS:
                raise ValueError(f"reuse must be one of {FORMULAS}, a number or a table; got {self.reuse!r}")
        else:
            table = check_reuse(self.reuse, len(self.k))
            object.__setattr__(self, "reuse", tuple(map(tuple, table.tolist())))

    @cached_property
    def _first(self):
        return composition.SPL(k=self.k, epsilon=self.epsilon)

    def table(self, first, n2):
        """Return the reuse table, (d, d) or (runs, d, d), that the first phase's estimates set for n2 other users."""
        if isinstance(self.reuse, str):
            return reuse_table(first, epsilon=self.epsilon, n2=n2, formula=self.reuse)
        return np.array(self.reuse)

    def perturb(self, x, *, rng):
        """Return the reports of both phases, shapes (n1, d) and (n - n1, d), from records of shape (n, d)."""
        pure.require(rng=rng)
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
        pure.require(rng=rng, runs=runs)
        composition.check_population(population, self.k)
        chosen, rest = two_phase.draw_phases(population, self.n1, rng=rng, runs=runs)
        first = two_phase.simulate_spl(population.records, chosen, self.k, self.epsilon, rng)
        table = self.table(first, population.n - self.n1)
        return first, simulate_second(population.records, rest, self.epsilon, table, self.k, rng)

    def mean(self, population):
        """Return the exact expectation of the estimate, one array (k,) for each attribute, for a fixed reuse table."""
        second = self._fixed(population)
        parts = composition.frequencies(population), second.mean(population)
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
        composition.check_population(population, self.k)
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

"""Sampling one attribute and faking the others: RS+FD (uniform fakes) and RS+RFD (fakes from priors).

A user picks one of d attributes at random, reports it through randomized response with the whole budget, and reports
values drawn from public priors for the others. The collector does not learn which attribute was picked.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_lib import channel as channels
from ldp_lib import grr, inputs, pure, sampling
from ldp_lib.inputs import check_records
from ldp_lib.population import marginal_frequencies

BLOCK = 2**20  # entries of working memory in `simulate`


def probabilities(e, k, d, prior):
    """Return the probabilities that a user's whole report supports the user's own value, and another given value.

    Parameters
    ----------
    e : number, array or symbol
        exp(epsilon), above 1.
    k : int or symbol
        Domain size of the attribute.
    d : int or symbol
        Number of attributes.
    prior : number, array or symbol
        Probability of the value among the attribute's fakes.

    Returns
    -------
    own, other : as the arguments
        (p + (d-1) prior) / d and (q + (d-1) prior) / d with p and q of randomized response.

    Notes
    -----
    With these two in place of p and q, `pure.estimate` and `pure.variance` are exact. Arcolezi et al. (2021) for
    uniform and (2023) for other priors. Derived in the chapter `fake_data`.
    """
    p, q = grr.probabilities(e, k)
    return (p + (d - 1) * prior) / d, (q + (d - 1) * prior) / d


def amplified(e, d):
    """Return exp(epsilon') = d (e-1) + 1, the budget that the papers grant the sampled attribute.

    The whole report then spends epsilon', not epsilon: `RSFD(k=k, epsilon=math.log(amplified(e, d)))` says so. Records
    that differ in one attribute keep a ratio of e if all domains are equal and the fakes are uniform, and not in
    general. Derived in the chapter `amplification`.
    """
    return d * (e - 1) + 1


def privacy_ratio(e, k, priors, changed):
    """Return the largest ratio of one report's probabilities under two records that differ in the given attributes.

    Parameters
    ----------
    e : number
        exp of the budget with which the sampled attribute is reported.
    k : sequence of d ints
        Domain sizes.
    priors : sequence of d sequences
        Probabilities of each attribute's fakes.
    changed : sequence of int
        The attributes in which the records differ, at least one.

    Returns
    -------
    number
        1 + (e-1) A / (A + B), where A sums q_j / min(prior_j) over the attributes that differ, and B sums
        q_j / max(prior_j) over the others, q_j = 1 / (e + k_j - 1). It is e if all attributes differ.

    Notes
    -----
    Proved and enumerated in the chapter `amplification`.
    """
    chosen = {int(j) for j in changed}
    if not chosen or not chosen <= set(range(len(k))):
        raise ValueError(f"changed must name at least one of the attributes 0 to {len(k) - 1}; got {changed!r}")
    if any(min(priors[j]) == 0 for j in chosen):
        return e  # that fake gives the sampled attribute away
    a = sum(grr.probabilities(e, k[j])[1] / min(priors[j]) for j in chosen)
    b = sum(grr.probabilities(e, k[j])[1] / max(priors[j]) for j in range(len(k)) if j not in chosen)
    return 1 + (e - 1) * a / (a + b)


def channel(e, k, priors):
    """Return the channel from whole records to whole reports, both in lexicographic order; exact on Fractions.

    Parameters
    ----------
    e : number or symbol
        exp(epsilon).
    k : sequence of d ints
        Domain sizes.
    priors : sequence of d sequences
        Probabilities of each attribute's fakes.

    Returns
    -------
    array, shape (K, K) with K the product of all k_j
        The mean over the d choices of the sampled attribute.
    """
    fakes = [np.array([list(prior)] * size) for prior, size in zip(priors, k, strict=True)]
    total = 0
    for j, size in enumerate(k):
        total = total + channels.tensor(*fakes[:j], grr.channel(e, size), *fakes[j + 1 :])
    return total * (e**0 / len(k))


def check_priors(priors, k):
    """Return the priors as a tuple of d tuples of floats, or raise an error that names `priors`.

    Each must have k_j finite, non-negative entries that sum to 1 within rounding.
    """
    try:
        rows = [np.array(prior, dtype=float) for prior in priors]
    except (TypeError, ValueError):
        raise TypeError(f"priors must be {len(k)} sequences of probabilities; got {priors!r}") from None
    if len(rows) != len(k) or any(row.shape != (size,) for row, size in zip(rows, k, strict=False)):
        lengths = [row.shape for row in rows]
        raise ValueError(f"priors must be one vector an attribute, of lengths {k}; got shapes {lengths}")
    for j, row in enumerate(rows):
        if not (np.isfinite(row).all() and row.min() >= 0 and abs(row.sum() - 1) <= 1e-9):
            raise ValueError(
                f"priors must be non-negative and sum to 1; got {row.tolist()} for attribute {j}, sum {row.sum():g}"
            )
    return tuple(tuple((row / row.sum()).tolist()) for row in rows)


@dataclass(frozen=True, kw_only=True)
class RSRFD:
    """Report one attribute, picked at random, through GRR with the whole budget, and fakes from priors for the others.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes, each at least 2, for at least two attributes.
    epsilon : float
        Privacy budget of one user's whole report, finite and above 0. The sampled attribute spends all of it.
    priors : sequence of d sequences
        Probabilities of the fakes, public; each non-negative with sum 1. They need not be true.

    Raises
    ------
    TypeError, ValueError
        If a parameter is of the wrong type, length or range.

    Notes
    -----
    Arcolezi et al. (2023). Chapters `fake_data` and `amplification`.
    """

    k: tuple
    epsilon: float
    priors: tuple

    def __post_init__(self):
        object.__setattr__(self, "k", inputs.check_attributes(self.k))
        inputs.require(epsilon=self.epsilon)
        object.__setattr__(self, "priors", check_priors(self.priors, self.k))

    @cached_property
    def _pq(self):
        return [grr.probabilities(math.exp(self.epsilon), size) for size in self.k]

    @cached_property
    def _support(self):
        e, d = math.exp(self.epsilon), len(self.k)
        return [probabilities(e, size, d, np.array(prior)) for size, prior in zip(self.k, self.priors, strict=True)]

    def perturb(self, x, *, rng):
        """Return one row of d reported values a user.

        Parameters
        ----------
        x : array_like of int, shape (n, d)
            The users' records; column j holds values 0 to k_j - 1.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        array of shape (n, d)
            Reports, in the smallest unsigned integer type that holds them.
        """
        inputs.require(rng=rng)
        x = check_records(x, self.k)
        y = np.empty(x.shape, inputs.small_dtype(max(self.k)), order="F")
        sampled = rng.integers(len(self.k), size=len(x), dtype=inputs.small_dtype(len(self.k)))
        for j, (size, prior) in enumerate(zip(self.k, self.priors, strict=True)):
            y[:, j] = draw(prior, len(x), rng)
            mine = sampled == j
            if len(set(prior)) > 1:  # uniform fakes serve as the uniform noise of GRR too
                y[mine, j] = rng.integers(size, size=np.count_nonzero(mine), dtype=y.dtype)
            p, q = self._pq[j]
            mine &= sampling.bernoulli(p - q, len(x), rng)
            np.copyto(y[:, j], x[:, j], where=mine, casting="unsafe")
        return y

    def estimate(self, y):
        """Return unbiased frequencies, one array (k_j,) for each attribute, from reports of shape (n, d)."""
        y = check_records(y, self.k, "y")
        counts = [np.bincount(y[:, j], minlength=size) for j, size in enumerate(self.k)]
        return self._debias(counts, len(y))

    def simulate(self, population, *, rng, runs):
        """Return one array (runs, k_j) for each attribute, from the exact joint law of ``estimate(perturb(x))``.

        The cost depends on the number of distinct records and on `runs`, not on the number of users.
        """
        inputs.require(rng=rng, runs=runs)
        inputs.check_population(population, self.k)
        sampled = draw_sampled(population, rng=rng, runs=runs)
        counts = [self._draw_reports(j, table, population.n, rng) for j, table in enumerate(sampled)]
        return self._debias(counts, population.n)

    def mean(self, population):
        """Return the exact expectation of the estimate, the true frequencies: one array (k_j,) for each attribute."""
        inputs.check_population(population, self.k)
        return marginal_frequencies(population)

    def variance(self, population):
        """Return the exact variance of the estimate, the users' data held fixed: one array (k_j,) per attribute."""
        shares = zip(self.mean(population), self._support, strict=True)
        return [pure.variance(f, population.n, *pair) for f, pair in shares]

    def _draw_reports(self, j, sampled, n, rng):
        p, q = self._pq[j]
        truths = rng.binomial(sampled, p - q)
        total = sampled.sum(axis=1)
        noise = rng.multinomial(total - truths.sum(axis=1), np.full(self.k[j], 1 / self.k[j]))
        return truths + noise + rng.multinomial(n - total, self.priors[j])

    def _debias(self, counts, n):
        return [pure.estimate(count, n, *pair) for count, pair in zip(counts, self._support, strict=True)]


def RSFD(*, k, epsilon):
    """Return RS+FD (Arcolezi et al., 2021): `RSRFD` with uniform fakes."""
    sizes = inputs.check_attributes(k)
    return RSRFD(k=sizes, epsilon=epsilon, priors=tuple((1 / size,) * size for size in sizes))


def draw(prior, size, rng):
    """Return `size` independent values drawn from a prior of Python floats."""
    if len(set(prior)) == 1:
        return rng.integers(len(prior), size=size, dtype=inputs.small_dtype(len(prior)))
    edges = np.cumsum(prior)
    edges[np.flatnonzero(prior)[-1] :] = 1.0  # rounding must not reach a value of probability 0
    return np.searchsorted(edges, rng.random(size), side="right").astype(inputs.small_dtype(len(prior)))


def draw_sampled(population, *, rng, runs):
    """Return how many users sampled each attribute and hold each value: d arrays of int, shape (runs, k_j).

    Each user picks one of the d attributes. Holders of rare records are drawn one by one. Of a common record, a
    binomial number picks the last attribute; records that agree in all others are then merged, and so on.
    """
    k, common = population.k, population.counts > 16
    offsets = np.cumsum((0, *k))
    cells = np.repeat(population.records[~common] + offsets[:-1], population.counts[~common], axis=0).astype(np.int32)
    rows = np.arange(len(cells), dtype=np.int32)
    table = np.zeros((runs, offsets[-1]), dtype=np.int64)
    for run in range(runs):
        picked = cells[rows, rng.integers(len(k), size=len(cells), dtype=inputs.small_dtype(len(k)))]
        table[run] = np.bincount(picked, minlength=offsets[-1])
    records, counts = population.records[common], population.counts[common]
    block = max(1, BLOCK // max(1, len(records)))
    for start in range(0, runs if len(records) else 0, block):
        stop = min(start + block, runs)
        left, merged = np.broadcast_to(counts, (stop - start, len(counts))), records
        for j in range(len(k) - 1, -1, -1):
            chosen = rng.binomial(left, 1 / (j + 1)) if j else left
            one_hot = np.eye(k[j])[merged[:, j]]  # sums below 2**53 are exact in floats
            table[start:stop, offsets[j] : offsets[j + 1]] += (chosen @ one_hot).astype(np.int64)
            if j:
                first = np.flatnonzero(np.r_[True, (np.diff(merged[:, :j], axis=0) != 0).any(axis=1)])
                merged, left = merged[first, :j], np.add.reduceat(left - chosen, first, axis=1)
    return np.split(table, offsets[1:-1], axis=1)

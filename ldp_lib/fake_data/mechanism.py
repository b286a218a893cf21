"""Sampling one attribute and faking the others: RS+FD (uniform fakes) and RS+RFD (fakes from priors).

A user picks one of d attributes at random, reports it through randomized response with the whole budget, and reports
values drawn from public priors for the others. The collector does not learn which attribute was picked.
"""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_lib import _inputs, _sampling, grr, pure
from ldp_lib import channel as channels
from ldp_lib.fake_data._sampled import draw_sampled
from ldp_lib.mechanism import Rng, Several
from ldp_lib.population import Population


def probabilities(e, k, d, prior):
    """Return the probabilities that a user's whole report supports the user's own value, and another given value.

    (p + (d-1) prior) / d and (q + (d-1) prior) / d with p and q of randomized response. With them in place of p and q,
    `pure.estimate` and `pure.variance` are exact. Arcolezi et al. (2021) for uniform and (2023) for other priors.

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
    """
    p, q = grr.probabilities(e, k)
    return (p + (d - 1) * prior) / d, (q + (d - 1) * prior) / d


def amplified(e, d):
    """Return exp(epsilon') = d (e-1) + 1, the budget that the papers grant the sampled attribute.

    The whole report then spends epsilon', not epsilon: `RSFD(k=k, epsilon=math.log(amplified(e, d)))` says so. Records
    that differ in one attribute keep a ratio of e if all domains are equal and the fakes are uniform, and not in
    general. Derived in the chapter `audit_baselines`.
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
    Proved and enumerated in the chapter `audit_baselines`.
    """
    _check_priors(priors, k)
    chosen = set(changed)
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


def _check_priors(priors, k):
    """Return the priors as a tuple of d tuples of floats, or raise an error that names `priors`.

    Each must have k_j finite, non-negative entries that sum to 1 within rounding.
    """
    try:
        rows = [np.array(prior, float) for prior in priors]
    except (TypeError, ValueError):
        raise TypeError(f"priors must be {len(k)} sequences of probabilities; got {priors!r}") from None
    if len(rows) != len(k) or any(row.shape != (size,) for row, size in zip(rows, k, strict=False)):
        lengths = [row.shape for row in rows]
        raise ValueError(f"priors must be one vector an attribute, of lengths {k}; got shapes {lengths}")
    for j, row in enumerate(rows):
        if not (np.isfinite(row).all() and row.min() >= 0 and abs(row.sum() - 1) <= 1e-9):
            raise ValueError(
                f"priors must be non-negative and sum to 1; got {row.tolist()} for attribute {j}, sum {row.sum()}"
            )
    return tuple(tuple(_normalized(row).tolist()) for row in rows)


def _normalized(row):
    """Return the vector divided by its sum, or itself if the sum is 1 to rounding: twice is the same as once."""
    total = math.fsum(row)
    return row if abs(total - 1) <= row.size * 2.0**-52 else row / total


class _FakeData(Several):
    """Report one attribute, picked at random, through GRR, and fakes for the others: what both mechanisms share.

    Subclasses give `k`, `epsilon` and, if the fakes are not uniform, `priors_`.
    """

    @cached_property
    def priors_(self) -> tuple:
        """The fakes' probabilities."""
        return tuple((1 / size,) * size for size in self.k)

    @property
    def symmetric(self) -> bool:
        """Whether all values are alike: whether the fakes are uniform."""
        return all(len(set(prior)) == 1 for prior in self.priors_)

    @cached_property
    def probabilities(self) -> list:
        """For each attribute, the probabilities that a report supports the own value, and another, one a value."""
        pairs = zip(self.k, self.priors_, strict=True)
        return [probabilities(self._e, size, self.d, np.array(prior)) for size, prior in pairs]

    def channel(self) -> np.ndarray:
        """Return the channel from whole records to whole reports, both in lexicographic order."""
        _inputs.check_cells(math.prod(self.k), math.prod(self.k))
        return channel(self._e, self.k, self.priors_)

    def realised_epsilon(self) -> float:
        """Return the budget that `perturb` spends, proved from its thresholds: that of the worst sampled attribute."""
        ratio = max(1 + size * keep / (1 - keep) for size, keep in zip(self.k, self._keep, strict=True))
        return _sampling.proved_epsilon(ratio, self.epsilon)

    @_inputs.users_checked
    def perturb(self, x, *, rng: Rng) -> np.ndarray:
        """Return one row of d reported values a user, shape (n, d), from records of shape (n, d)."""
        y = np.empty(x.shape, self.dtype.base, order="F")
        sampled = rng.integers(self.d, size=len(x), dtype=_inputs.small_dtype(self.d))
        for j, (size, prior) in enumerate(zip(self.k, self.priors_, strict=True)):
            y[:, j] = _sampling.draw(prior, len(x), rng)
            mine = sampled == j
            if len(set(prior)) > 1:  # uniform fakes serve as the uniform noise of GRR too
                y[mine, j] = rng.integers(size, size=np.count_nonzero(mine), dtype=y.dtype)
            mine &= _sampling.bernoulli(self._keep[j], len(x), rng)
            np.copyto(y[:, j], x[:, j], where=mine, casting="unsafe")
        return y

    def count(self, y) -> np.ndarray:
        """Return the number of reports, then counts for each attribute; counts of disjoint sets of reports add up."""
        y = _inputs.check_records(y, self.k, "y")
        return np.concatenate([[len(y)], *(np.bincount(y[:, j], minlength=size) for j, size in enumerate(self.k))])

    def estimate_counts(self, counts) -> list:
        """Return unbiased frequencies, one array (k_j,) for each attribute, from the counts of all reports."""
        return self._debias(np.split(counts[1:], np.cumsum(self.k)[:-1]), counts[0])

    def simulate(self, population: Population, *, rng: Rng, runs: int) -> list:
        """Return one array (runs, k_j) for each attribute, distributed exactly as ``estimate(perturb(x))``.

        The cost depends on the number of distinct records and on `runs`, not on the number of users.
        """
        _inputs.check_population(population, self.k, rng=rng, runs=runs)
        counts, n = [], population.n
        for j, held in enumerate(draw_sampled(population, rng=rng, runs=runs)):
            own = grr.GRR(k=self.k[j], epsilon=self.epsilon).draw_support(held, rng)
            counts.append(own + rng.multinomial(n - held.sum(axis=1), self.priors_[j]))
        return self._debias(counts, n)

    def variance(self, population: Population) -> list:
        """Return the exact variance of the estimate, the users' data held fixed: one array (k_j,) per attribute."""
        shares = zip(self.mean(population), self.probabilities, strict=True)
        return [pure.variance(f, population.n, *pair) for f, pair in shares]

    @cached_property
    def _keep(self):
        return [_sampling.realised(_sampling.proved_keep(self.epsilon, size)) for size in self.k]

    def _debias(self, counts, n):
        return [pure.estimate(count, n, *pair) for count, pair in zip(counts, self.probabilities, strict=True)]


@dataclass(frozen=True, kw_only=True)
class RSRFD(_FakeData):
    """RS+RFD: report one attribute, picked at random, through GRR with the whole budget, and fakes from priors.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes, each at least 2.
    epsilon : float
        Privacy budget of one user's whole report, finite and above 0. The sampled attribute spends all of it.
    priors : sequence of d sequences, optional
        Probabilities of the fakes, public; each non-negative with sum 1. They need not be true. Uniform if not given.

    Notes
    -----
    Arcolezi et al. (2023). Chapters `fake_data` and `audit_baselines`.
    """

    k: tuple
    epsilon: float
    priors: tuple | None = None

    def __post_init__(self):
        super().__post_init__()
        if self.priors is not None:
            object.__setattr__(self, "priors", _check_priors(self.priors, self.k))

    @cached_property
    def priors_(self) -> tuple:
        """The fakes' probabilities."""
        return super().priors_ if self.priors is None else self.priors


@dataclass(frozen=True, kw_only=True)
class RSFD(_FakeData):
    """RS+FD: `RSRFD` with uniform fakes; parameters as there. Arcolezi et al. (2021). Chapter `fake_data`."""

    k: tuple
    epsilon: float

"""RS+RFD in two phases: some users split their budget, and what they show serves as the prior for the others' fakes."""

from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

import numpy as np

from ldp_lib import composition, postprocess, pure
from ldp_lib.fake_data import RSRFD
from ldp_lib.population import Population, check_records


@dataclass(frozen=True, kw_only=True)
class TwoPhaseRSRFD:
    """Learn the priors from n1 users who split their budget (`SPL`); the others use `RSRFD` with these priors.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes, each at least 2, for at least two attributes.
    epsilon : float
        Privacy budget of one user's whole report, in either phase.
    n1 : int
        Number of users in the first phase, chosen at random; at least 1, and fewer than there are users.

    Notes
    -----
    The baseline of the revised Corr-RR paper (2026, Section 4.2.2): the first phase's estimates are normalized by
    `postprocess.clip_normalize` and serve as priors; the two phases' raw estimates are averaged with the numbers of
    users as weights. The estimate is unbiased. Its variance has no short form, because the priors are clipped, and
    there is no method for it. Chapter `fake_data`.
    """

    k: tuple
    epsilon: float
    n1: int

    def __post_init__(self):
        object.__setattr__(self, "k", composition.check_attributes(self.k))
        pure.require(epsilon=self.epsilon)
        if isinstance(self.n1, bool) or not isinstance(self.n1, Integral) or self.n1 < 1:
            raise ValueError(f"n1 must be an integer of at least 1; got {self.n1!r}")

    @cached_property
    def _first(self):
        return composition.SPL(k=self.k, epsilon=self.epsilon)

    def second_phase(self, first):
        """Return the second phase's `RSRFD`, with the priors that the first phase's reports (n1, d) give."""
        priors = [postprocess.clip_normalize(v) for v in self._first.estimate(first)]
        return RSRFD(k=self.k, epsilon=self.epsilon, priors=priors)

    def perturb(self, x, *, rng):
        """Return the reports of both phases, shapes (n1, d) and (n - n1, d), from records of shape (n, d)."""
        pure.require(rng=rng)
        x = check_records(x, self.k)
        self._check_n(len(x))
        x = x[rng.permutation(len(x))]
        first = self._first.perturb(x[: self.n1], rng=rng)
        return first, self.second_phase(first).perturb(x[self.n1 :], rng=rng)

    def estimate(self, y):
        """Return unbiased frequencies, one array (k_j,) for each attribute, from the reports of both phases."""
        first, second = y
        if len(first) != self.n1:
            raise ValueError(f"y must start with the reports of n1 = {self.n1} users; got {len(first)}")
        return self._combine(self._first.estimate(first), self.second_phase(first).estimate(second), len(second))

    def simulate(self, population, *, rng, runs):
        """Return one array (runs, k_j) for each attribute, from the exact joint law of ``estimate(perturb(x))``.

        The first phase's users are drawn without replacement. The cost is free of n; n must be below 10**9.
        """
        pure.require(rng=rng, runs=runs)
        composition.check_population(population, self.k)
        self._check_n(population.n)
        splits = rng.multivariate_hypergeometric(population.counts, self.n1, size=runs, method="marginals")
        results = []
        for chosen in splits:
            parts = [_subset(population, counts) for counts in (chosen, population.counts - chosen)]
            first = [v[0] for v in self._first.simulate(parts[0], rng=rng, runs=1)]
            priors = [postprocess.clip_normalize(v) for v in first]
            second = RSRFD(k=self.k, epsilon=self.epsilon, priors=priors).simulate(parts[1], rng=rng, runs=1)
            results.append(self._combine(first, [v[0] for v in second], parts[1].n))
        return [np.array(column) for column in zip(*results, strict=True)]

    def mean(self, population):
        """Return the exact expectation of the estimate, the true frequencies: one array (k_j,) for each attribute."""
        composition.check_population(population, self.k)
        self._check_n(population.n)
        return composition.frequencies(population)

    def _check_n(self, n):
        if n <= self.n1:
            raise ValueError(f"n1 must be below the number of users, {n}; got {self.n1}")

    def _combine(self, first, second, n2):
        n = self.n1 + n2
        return [(self.n1 * a + n2 * b) / n for a, b in zip(first, second, strict=True)]


def _subset(population, counts):
    held = counts > 0
    return Population(records=population.records[held], counts=counts[held], k=population.k)

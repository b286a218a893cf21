"""Conditional randomized response (Cond-RR): attributes that are not the pivot are drawn from learned conditionals."""

import itertools
import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_lib import grr, inputs, postprocess, pure, splitting, two_phase
from ldp_lib.inputs import check_records


def expectation(frequencies, conditionals, e):
    """Return the second phase's expected estimate, d arrays (k_j,), for fixed conditionals.

    Parameters
    ----------
    frequencies : sequence of d arrays (k_j,)
        True frequencies; numbers, Fractions or symbols.
    conditionals : dict
        For each ordered pair (j, m) a matrix (k_j, k_m): the law of attribute m's report in row v if the pivot's is v.
    e : number or symbol
        exp(epsilon).

    Notes
    -----
    Derived in the chapter `corr_rr_extensions`. Even with the true conditionals it is not the true frequencies.
    """
    d, f = len(frequencies), [np.asarray(v) for v in frequencies]
    pairs = [grr.probabilities(e, len(v)) for v in f]
    means = []
    for m in range(d):
        pivots = [q + (p - q) * v for (p, q), v in zip(pairs, f, strict=True)]
        total = pivots[m] + sum(pivots[j] @ np.asarray(conditionals[j, m]) for j in range(d) if j != m)
        means.append((total / d - pairs[m][1]) / (pairs[m][0] - pairs[m][1]))
    return means


@dataclass(frozen=True, kw_only=True)
class CondRR:
    """Cond-RR: as Corr-RR, but a copy is drawn from the conditional distribution that the first phase estimated.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes; they may differ.
    epsilon : float
        Privacy budget of one user's whole report, in either phase.
    n1 : int
        Number of users in the first phase, chosen at random; at least 1, and fewer than there are users.

    Notes
    -----
    Seeam et al. (2025, Section 3.3.5; revised 2026, Section 3.3.6), who leave the estimators open. Here the first
    phase's joint estimate of each pair is unbiased, then normalized by `postprocess.clip_normalize`; a value without
    any mass gets the uniform conditional. The second phase's reports are debiased like those of randomized response,
    as in Corr-RR, so the estimate is biased. Chapter `corr_rr_extensions`.
    """

    k: tuple
    epsilon: float
    n1: int

    def __post_init__(self):
        object.__setattr__(self, "k", inputs.check_attributes(self.k))
        inputs.require(epsilon=self.epsilon)
        two_phase.check_n1(self.n1)

    @cached_property
    def _first(self):
        return splitting.SPL(k=self.k, epsilon=self.epsilon)

    def conditionals(self, tables):
        """Return the estimated conditionals of each ordered pair, a dict of arrays (runs, k_j, k_m).

        `tables` counts the first phase's reports, shape (runs, k_1, ..., k_d).
        """
        root, d, found = math.exp(self.epsilon / len(self.k)), len(self.k), {}
        for j, m in itertools.combinations(range(d), 2):
            others = tuple(axis + 1 for axis in range(d) if axis not in (j, m))
            joint = tables.sum(axis=others) / self.n1
            for axis in (-1, -2):  # invert randomized response along each axis
                p, q = grr.probabilities(root, joint.shape[axis])
                joint = (joint - q * joint.sum(axis=axis, keepdims=True)) / (p - q)
            joint = postprocess.clip_normalize(joint.reshape(len(joint), -1)).reshape(joint.shape)
            found[j, m], found[m, j] = _rows(joint), _rows(joint.swapaxes(1, 2))
        return found

    def perturb(self, x, *, rng):
        """Return the reports of both phases, shapes (n1, d) and (n - n1, d), from records of shape (n, d)."""
        inputs.require(rng=rng)
        first, second = two_phase.split_users(check_records(x, self.k), self.n1, rng)
        first = self._first.perturb(first, rng=rng)
        table = np.zeros((1, *self.k), dtype=np.int64)
        np.add.at(table[0], tuple(first.T), 1)
        laws = self.conditionals(table)
        pivot = rng.integers(len(self.k), size=len(second))
        y = np.empty(second.shape, inputs.small_dtype(max(self.k)))
        for j, size in enumerate(self.k):
            mine = np.flatnonzero(pivot == j)
            if mine.size:
                y[mine, j] = grr.GRR(k=size, epsilon=self.epsilon).perturb(second[mine, j], rng=rng)
            for m in range(len(self.k)):
                if m != j:
                    edges = np.cumsum(laws[j, m][0], axis=1)[:, :-1]
                    y[mine, m] = (rng.random(mine.size)[:, None] >= edges[y[mine, j]]).sum(axis=1)
        return first, y

    def estimate(self, y):
        """Return raw, biased estimates, one array (k_j,) for each attribute, from the reports of both phases."""
        first, second = two_phase.check_phases(y, self.n1)
        second = check_records(second, self.k, "y")
        e, parts = math.exp(self.epsilon), []
        for j, size in enumerate(self.k):
            count = np.bincount(second[:, j], minlength=size)
            parts.append(pure.estimate(count, len(second), *grr.probabilities(e, size)))
        return two_phase.combine(self._first.estimate(first), parts, self.n1, len(second))

    def simulate(self, population, *, rng, runs):
        """Return one array (runs, k_j) for each attribute, from the exact joint law of ``estimate(perturb(x))``.

        The cost is free of n, which must be below 10**9, but grows with the product of all k_j.
        """
        inputs.require(rng=rng, runs=runs)
        inputs.check_population(population, self.k)
        chosen, rest = two_phase.draw_phases(population, self.n1, rng=rng, runs=runs)
        root, e = math.exp(self.epsilon / len(self.k)), math.exp(self.epsilon)
        tables = np.zeros((runs, *self.k), dtype=np.int64)
        tables[(slice(None), *population.records.T)] = chosen
        for axis in range(1, len(self.k) + 1):  # each attribute's coins are its own
            tables = np.moveaxis(two_phase.grr_counts(np.moveaxis(tables, axis, -1), root, rng), -1, axis)
        laws, n2 = self.conditionals(tables), population.n - self.n1
        totals = [0] * len(self.k)
        for j, held in enumerate(two_phase.draw_pivots(population.records, rest, self.k, rng)):
            report = two_phase.grr_counts(held, e, rng)
            for m in range(len(self.k)):
                drawn = report if m == j else rng.multinomial(report, laws[j, m]).sum(axis=1)
                totals[m] = totals[m] + drawn
        first, second = [], []
        for j, size in enumerate(self.k):
            others = tuple(axis + 1 for axis in range(len(self.k)) if axis != j)
            first.append(pure.estimate(tables.sum(axis=others), self.n1, *grr.probabilities(root, size)))
            second.append(pure.estimate(totals[j], n2, *grr.probabilities(e, size)))
        return two_phase.combine(first, second, self.n1, n2)


def _rows(joint):
    mass = joint.sum(axis=-1, keepdims=True)
    return np.where(mass > 0, joint / np.where(mass > 0, mass, 1), 1 / joint.shape[-1])

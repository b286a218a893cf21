"""One question a user: each is asked about one attribute, at the whole budget, and says which."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from ldp_lib import grr, hashing, inputs, pure, subset, unary
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.sampled import assignment
from ldp_lib.sampled.design import attribute_error, best_weights

ORACLES = (grr.GRR, subset.SubsetSelection, unary.UnaryEncoding, hashing.OLH)


@dataclass(frozen=True, kw_only=True)
class OneQuestion:
    """Ask each user about one attribute, at the whole budget; the report says which.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes, each at least 2.
    epsilon : float
        Privacy budget of one user's whole report, finite and above 0.
    oracle : class, or sequence of d oracles, optional
        Each attribute's frequency oracle, with its domain size and this budget: `GRR`, `SubsetSelection`,
        `UnaryEncoding` or `OLH`; a class stands for ``oracle(k=k_j, epsilon=epsilon)``. If not given, `SubsetSelection`
        with its best size, which has the least exact error of all these (of `GRR` it is the general case).
    weights : sequence of d numbers, optional
        How often each attribute is asked, each above 0; divided by their sum. If not given, proportional to the square
        root of each attribute's `attribute_error`.
    groups : bool
        True: users are dealt at random into groups of the planned sizes, and each group is divided by its own size.
        False: each user draws the question alone, and sums are divided by the expected number of users.

    Raises
    ------
    TypeError, ValueError
        If a parameter is of the wrong type or out of range, or an oracle has another domain or budget.

    Notes
    -----
    Asking one attribute at the whole budget: Nguyen et al. (2016), Wang et al. (2019). `attribute_sampling`
    proves that the default weights make the largest total variance over all populations least.
    """

    k: tuple
    epsilon: float
    oracle: Any = None  # afterwards a tuple
    weights: tuple | None = None
    groups: bool = True
    has_exact_moments: ClassVar[bool] = True

    def __post_init__(self):
        object.__setattr__(self, "k", inputs.check_attributes(self.k, least=1))
        inputs.settle(self, "epsilon")
        object.__setattr__(self, "oracle", self._checked_oracles())
        if self.weights is None:
            errors = [attribute_error(part.k, *part.probabilities) for part in self.oracle]
            object.__setattr__(self, "weights", best_weights(errors))
        object.__setattr__(self, "weights", assignment.check_weights(self.weights, len(self.k)))
        if min(self.weights) == 0:
            raise ValueError(f"weights must be above 0 for every attribute; got {self.weights}")
        assignment.check_bool(groups=self.groups)

    def _checked_oracles(self):
        make = subset.SubsetSelection if self.oracle is None else self.oracle
        if callable(make):
            return tuple(make(k=size, epsilon=self.epsilon) for size in self.k)
        names = ", ".join(kind.__name__ for kind in ORACLES)
        try:
            parts = tuple(make)
        except TypeError:
            raise TypeError(f"oracle must be a class, or one oracle for each attribute; got {make!r}") from None
        if len(parts) != len(self.k):
            raise ValueError(f"oracle must have one entry for each of {len(self.k)} attributes; got {len(parts)}")
        for j, (part, size) in enumerate(zip(parts, self.k, strict=True)):
            if not isinstance(part, ORACLES):
                raise TypeError(f"oracle must hold mechanisms out of {names}; got {part!r} for attribute {j}")
            if part.k != size or part.epsilon != self.epsilon:
                wanted = f"k = {size} and epsilon = {self.epsilon}"
                raise ValueError(f"oracle must have {wanted} for attribute {j}; got {part!r}")
        return parts

    @classmethod
    def serves(cls, k) -> bool:
        """Return whether `k` is a tuple of domain sizes of one attribute or more."""
        return inputs.are_sizes(k)

    @cached_property
    def _formats(self):
        """For each attribute the type and the shape of one report, and its length in bytes."""
        samples = [part.perturb(np.zeros(1, int), rng=np.random.default_rng(0)) for part in self.oracle]
        return [(y.dtype, y.shape[1:], y.nbytes) for y in samples]

    @cached_property
    def _dtype(self):
        width = max(size for _, _, size in self._formats)
        return np.dtype([("asked", inputs.small_dtype(len(self.k))), ("report", np.uint8, (width,))])

    def realised_epsilon(self) -> float:
        """Return the budget that `perturb` spends, proved from its thresholds: the most that an oracle spends."""
        return max(part.realised_epsilon() for part in self.oracle)

    def channel(self) -> np.ndarray:
        """Return the channel from records in lexicographic order to pairs of attribute and report, as floats."""
        parts = [w * part.channel() for w, part in zip(self.weights, self.oracle, strict=True)]
        inputs.check_cells(math.prod(self.k), sum(part.shape[1] for part in parts))
        records = np.indices(self.k).reshape(len(self.k), -1)
        return np.hstack([part[values] for part, values in zip(parts, records, strict=True)])

    def outcomes(self) -> np.ndarray:
        """Return all reports of one user, in the order of the channel's columns, where each oracle can list its own."""
        parts = []
        for j, (part, (_, _, width)) in enumerate(zip(self.oracle, self._formats, strict=True)):
            answers = np.ascontiguousarray(part.reports())
            parts.append(np.zeros(len(answers), self._dtype))
            parts[-1]["asked"], parts[-1]["report"][:, :width] = j, answers.view(np.uint8).reshape(-1, width)
        return np.concatenate(parts)

    def perturb(self, x, *, rng: np.random.Generator) -> np.ndarray:
        """Return one report a user.

        Parameters
        ----------
        x : array_like of int, shape (n, d)
            The users' records; column j holds values 0 to k_j - 1.
        rng : numpy.random.Generator
            Source of randomness.

        Returns
        -------
        structured array, shape (n,)
            Fields `asked`, the attribute, and `report`, the bytes of its oracle's report, filled up with zeros.
        """
        inputs.require(rng=rng)
        x = inputs.check_records(x, self.k)
        y = np.zeros(len(x), self._dtype)
        y["asked"] = asked = assignment.deal(len(x), self.weights, self.groups, rng)
        start = self._dtype.fields["report"][1]
        for j, (part, (_, _, width)) in enumerate(zip(self.oracle, self._formats, strict=True)):
            who = np.flatnonzero(asked == j)
            if who.size:
                answer = np.ascontiguousarray(part.perturb(x[:, j][who], rng=rng))
                own = y.view(
                    {"names": ["report"], "formats": [f"V{width}"], "offsets": [start], "itemsize": y.itemsize}
                )
                own["report"][who] = answer.view(f"V{width}").ravel()  # all bytes of a report at once
        return y

    def estimate(self, y) -> list:
        """Return unbiased frequencies, one array (k_j,) for each attribute, from the reports of `perturb`.

        Each group is divided by its own size if n times its weight is at least 1 (and `groups` is true), else by that
        product. An attribute that nobody was asked gets 1/k for each value.
        """
        return self.estimate_counts(self.count(y))

    def count(self, y) -> np.ndarray:
        """Return the number of reports, then for each attribute how many were asked it, and counts of their reports.

        Counts of disjoint sets of reports add up.
        """
        y = assignment.check_reports(y, self._dtype, len(self.k))
        asked, counts = y["asked"].copy(), [np.array([len(y)])]
        for j, (part, (kind, shape, width)) in enumerate(zip(self.oracle, self._formats, strict=True)):
            rows = y.take(np.flatnonzero(asked == j))["report"]
            told = np.ascontiguousarray(rows[:, :width]).view(kind).reshape(-1, *shape)
            counts.append(part.count(told) if len(rows) else np.zeros(1 + part.k, np.int64))
        return np.concatenate(counts)

    def estimate_counts(self, counts) -> list:
        """Return unbiased frequencies, one array (k_j,) for each attribute, from the counts of all reports."""
        parts, estimates = np.split(counts[1:], np.cumsum(np.add(self.k, 1))[:-1]), []
        for j, (part, told) in enumerate(zip(self.oracle, parts, strict=True)):
            total = part.estimate_counts(told) * told[0] if told[0] else np.zeros(part.k)
            estimates.append(self._estimate(j, total, told[:1], counts[0]))
        return estimates

    def _estimate(self, j, total, size, n):
        return assignment.centred_estimate(total, size, np.array([n * self.weights[j]]), np.ones(1), self.groups)

    def simulate(self, population: Population, *, rng: np.random.Generator, runs: int) -> list:
        """Return one array (runs, k_j) for each attribute, from the exact joint law of ``estimate(perturb(x))``.

        As exact as each oracle's own `simulate`. The cost grows with the distinct records, not with the users.
        """
        inputs.require(rng=rng, runs=runs)
        inputs.check_population(population, self.k)
        asked = [np.zeros((runs, size), np.int64) for size in self.k]
        for record, dealt in assignment.deal_records(population, self.weights, self.groups, rng=rng, runs=runs):
            for j, value in enumerate(record):
                asked[j][:, value] += dealt[:, j]
        estimates = []
        for j, (part, histogram) in enumerate(zip(self.oracle, asked, strict=True)):
            size = histogram.sum(axis=1, keepdims=True)
            p, q = part.probabilities
            total = (support_counts(part, histogram, rng) - size * q) / (p - q)
            estimates.append(self._estimate(j, total, size, population.n))
        return estimates

    def mean(self, population: Population) -> list:
        """Return the exact expectation of the estimate, the true frequencies: one array (k_j,) for each attribute."""
        inputs.check_population(population, self.k)
        return marginal_frequencies(population)

    def variance(self, population: Population) -> list:
        """Return the exact variance of the estimate, the users' data held fixed: one array (k_j,) per attribute."""
        means, n, variances = self.mean(population), population.n, []
        for j, (f, part) in enumerate(zip(means, self.oracle, strict=True)):
            noise = pure.variance(f, 1, *part.probabilities)[None]
            variances.append(
                assignment.centred_variance(f, noise, n, self.weights, np.array([j]), np.ones(1), self.groups)
            )
        return variances


def support_counts(oracle, histogram, rng):
    """Draw counts of support, shape (runs, k), for numbers of users with each value that differ from run to run."""
    p, q = oracle.probabilities
    if isinstance(oracle, (grr.GRR, subset.SubsetSelection)):
        size = getattr(oracle, "size", 1)
        told = rng.binomial(histogram, subset.keep_probability(math.exp(oracle.epsilon), size / oracle.k))
        return subset.simulate_counts(told, (histogram - told).sum(axis=1), size, rng)
    others = histogram.sum(axis=1, keepdims=True) - histogram
    return rng.binomial(histogram, p) + rng.binomial(others, q)

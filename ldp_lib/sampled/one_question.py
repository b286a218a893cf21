"""One question a user: each is asked about one attribute, at the whole budget, and says which."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ldp_lib import _inputs, pure, subset
from ldp_lib.mechanism import Rng
from ldp_lib.population import Population
from ldp_lib.sampled import _dealing
from ldp_lib.sampled.design import attribute_error


@dataclass(frozen=True, kw_only=True)
class OneQuestion(_dealing.Dealt):
    """Ask each user about one attribute, at the whole budget; the report says which.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes, each at least 2.
    epsilon : float
        Privacy budget of one user's whole report, finite and above 0.
    oracle : class, optional
        The attributes' frequency oracle, ``oracle(k=k_j, epsilon=epsilon)``: `GRR`, `SubsetSelection`, `UnaryEncoding`
        or `OLH`. If not given, `SubsetSelection` with its best size, which has the least exact error of all these (of
        `GRR` it is the general case).
    weights : sequence of d numbers, optional
        How often each attribute is asked, each above 0; divided by their sum. If not given, proportional to the square
        root of each attribute's `attribute_error`.
    groups : bool
        True: users are dealt at random into groups of the planned sizes, and each group is divided by its own size.
        False: each user draws the question alone, and sums are divided by the expected number of users.

    Raises
    ------
    TypeError, ValueError
        If a parameter is of the wrong type or out of range.

    Notes
    -----
    Asking one attribute at the whole budget: Nguyen et al. (2016), Wang et al. (2019). `attribute_sampling`
    proves that the default weights make the largest total variance over all populations least.
    """

    k: tuple
    epsilon: float
    oracle: Any = None
    weights: tuple | None = None
    groups: bool = True

    def __post_init__(self):
        super().__post_init__()
        pure_one = isinstance(self.oracle, type) and issubclass(self.oracle, pure.Oracle) and self.oracle.independent
        if self.oracle is not None and not pure_one:
            raise TypeError(f"oracle must be a class of pure frequency oracles for users alone; got {self.oracle!r}")
        if self.weights is not None:
            object.__setattr__(self, "weights", _inputs.check_weights(self.weights, self.d))
        if min(self.weights_) == 0:
            raise ValueError(f"weights must be above 0 for every attribute; got {self.weights}")
        _inputs.check_bool(groups=self.groups)

    def __repr__(self):
        how = f"oracle={self.oracle and self.oracle.__name__}, weights={self.weights!r}, groups={self.groups!r}"
        return f"{type(self).__name__}(k={self.k!r}, epsilon={self.epsilon!r}, {how})"

    @cached_property
    def oracle_(self) -> tuple:
        """Each attribute's frequency oracle."""
        make = subset.SubsetSelection if self.oracle is None else self.oracle
        return tuple(make(k=size, epsilon=self.epsilon) for size in self.k)

    @cached_property
    def weights_(self) -> tuple:
        """How often each attribute is asked."""
        if self.weights is not None:
            return self.weights
        roots = [math.sqrt(attribute_error(part.k, *part.probabilities)) for part in self.oracle_]
        return _inputs.check_weights(roots, self.d)  # by the inequality of Cauchy and Schwarz

    @cached_property
    def dtype(self) -> np.dtype:
        """Type of one report: fields `asked` and `report`, wide enough for each oracle's bytes."""
        width = max(part.dtype.itemsize for part in self.oracle_)
        return np.dtype([("asked", _inputs.small_dtype(self.d)), ("report", np.uint8, (width,))])

    def realised_epsilon(self) -> float:
        """Return the budget that `perturb` spends, proved from its thresholds: the most that an oracle spends."""
        return max(part.realised_epsilon() for part in self.oracle_)

    def _told(self, j):
        return *np.array(self.oracle_[j].probabilities)[:, None], np.array([j]), np.ones(1)

    def uniform_variance(self, n) -> float:
        """Return the total variance for n users whose values are as even as can be, without listing these."""
        total = 0.0
        for j, k in enumerate(self.k):
            held, more = divmod(n, k)
            total += float([k - more, more] @ self._variances(j, np.array([held, held + 1]) / n, n, k))
        return total

    def channel(self) -> np.ndarray:
        """Return the channel from records in lexicographic order to pairs of attribute and report, as floats."""
        parts = [w * part.channel() for w, part in zip(self.weights_, self.oracle_, strict=True)]
        _inputs.check_cells(math.prod(self.k), sum(part.shape[1] for part in parts))
        records = np.indices(self.k).reshape(self.d, -1)
        return np.hstack([part[values] for part, values in zip(parts, records, strict=True)])

    def reports(self) -> np.ndarray:
        """Return all reports of one user, in the order of the channel's columns, where each oracle can list its own."""
        parts = []
        for j, part in enumerate(self.oracle_):
            answers, width = np.ascontiguousarray(part.reports()), part.dtype.itemsize
            parts.append(np.zeros(len(answers), self.dtype))
            parts[-1]["asked"], parts[-1]["report"][:, :width] = j, answers.view(np.uint8).reshape(-1, width)
        return np.concatenate(parts)

    @_inputs.users_checked
    def perturb(self, x, *, rng: Rng) -> np.ndarray:
        """Return one report a user, a structured array of shape (n,), from records of shape (n, d).

        Fields `asked`, the attribute, and `report`, the bytes of its oracle's report, filled up with zeros.
        """
        y = np.zeros(len(x), self.dtype)
        y["asked"] = asked = _dealing.deal(len(x), self.weights_, self.groups, rng)
        start = self.dtype.fields["report"][1]
        for j, part in enumerate(self.oracle_):
            who = np.flatnonzero(asked == j)
            if who.size:
                answer = np.ascontiguousarray(part.perturb(x[:, j][who], rng=rng))
                whole = f"V{part.dtype.itemsize}"
                own = y.view({"names": ["report"], "formats": [whole], "offsets": [start], "itemsize": y.itemsize})
                own["report"][who] = answer.view(whole).ravel()  # all bytes of a report at once
        return y

    def count(self, y) -> np.ndarray:
        """Return how many reports there are, then for each attribute how many were asked it, and counts that add up."""
        y = _inputs.check_reports(y, self.dtype, self.d)
        asked, counts = y["asked"].copy(), [np.array([len(y)])]
        for j, part in enumerate(self.oracle_):
            own = y.take(np.flatnonzero(asked == j))["report"]
            if own[:, part.dtype.itemsize :].any():
                raise ValueError(f"y must have zeros after the {part.dtype.itemsize} bytes of attribute {j}")
            told = np.asfortranarray(own[:, : part.dtype.itemsize].view(part.dtype.base)).reshape(-1, *part.dtype.shape)
            counts.append(part.count(told) if len(own) else np.zeros(1 + part.k, np.int64))
        return np.concatenate(counts)

    def estimate_counts(self, counts) -> list:
        """Return unbiased frequencies, one array (k_j,) for each attribute, from the counts of all reports."""
        parts, estimates = np.split(counts[1:], np.cumsum(np.add(self.k, 1))[:-1]), []
        for j, (part, told) in enumerate(zip(self.oracle_, parts, strict=True)):
            total = part.estimate_counts(told) * told[0] if told[0] else np.zeros(part.k)
            estimates.append(self._estimate(j, total, told[:1], counts[0]))
        return estimates

    def _estimate(self, j, total, size, n):
        return _dealing.centred_estimate(total, size, np.array([n * self.weights_[j]]), np.ones(1), self.groups)

    def simulate(self, population: Population, *, rng: Rng, runs: int) -> list:
        """Return one array (runs, k_j) for each attribute, distributed exactly as ``estimate(perturb(x))``.

        As exact as each oracle's own `simulate`. The cost grows with the distinct records, not with the users.
        """
        _inputs.check_population(population, self.k, rng=rng, runs=runs)
        asked = [np.zeros((runs, size), np.int64) for size in self.k]
        for record, dealt in _dealing.deal_records(population, self.weights_, self.groups, rng=rng, runs=runs):
            for j, value in enumerate(record):
                asked[j][:, value] += dealt[:, j]
        estimates = []
        for j, (part, histogram) in enumerate(zip(self.oracle_, asked, strict=True)):
            size = histogram.sum(axis=1, keepdims=True)
            p, q = part.probabilities
            total = (part.draw_support(histogram, rng) - size * q) / (p - q)
            estimates.append(self._estimate(j, total, size, population.n))
        return estimates

"""Several questions a user, answered together: one product of sets, which holds the answers with better odds."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from numbers import Integral

import numpy as np

from ldp_lib import _inputs, _sampling, _sets, subset
from ldp_lib.mechanism import Rng
from ldp_lib.population import Population
from ldp_lib.sampled import _dealing, design


@dataclass(frozen=True, kw_only=True)
class AskSome(_dealing.Dealt):
    """Ask each user about m attributes, at the whole budget for all answers together; the report says which.

    The report is a set of values for each of the m attributes. If the sets hold all of the user's values, the report is
    exp(epsilon) times as likely as if they do not. One attribute is subset selection, `OneQuestion`; all attributes
    with sizes 1 is randomized response on the whole record, `RRJoint`.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes, each at least 2.
    epsilon : float
        Privacy budget of one user's whole report, finite and above 0.
    m : int, optional
        Number of attributes that each user is asked, 1 to d.
    sizes : sequence of d ints, optional
        Number of values in each attribute's set, 1 to k_j - 1.
    weights : sequence of numbers, optional
        How often each choice of m attributes is asked, in lexicographic order (`questions`); divided by their sum. Some
        may be 0, but each attribute must be asked.
    groups : bool
        True: users are dealt at random into groups of the planned sizes, and the users who were asked are counted.
        False: each user draws the question alone, and the expected numbers stand in.

    Notes
    -----
    What is not given is chosen by the exact error of shares, `design.best_design`: the largest total variance over all
    populations; some weights may then be 0. An m with more than 5,000 choices is not tried. Chapter
    `attribute_sampling`. An attribute's estimate adds up all its reports, each weighted by the square of its question's
    `keep`, which is best at given sizes.
    """

    k: tuple
    epsilon: float
    m: int | None = None
    sizes: tuple | None = None
    weights: tuple | None = None
    groups: bool = True

    def __post_init__(self):
        super().__post_init__()
        d, sizes = self.d, self.sizes
        if self.m is not None:
            _inputs.require_one("m", self.m, Integral, lambda v: 1 <= v <= d, f"an integer from 1 to d = {d}")
            object.__setattr__(self, "m", int(self.m))
        if sizes is not None:
            if np.shape(sizes) != (d,):
                raise ValueError(f"sizes must have one entry for each of {d} attributes; got {sizes!r}")
            object.__setattr__(self, "sizes", tuple(map(_sets.check_size, sizes, self.k)))
        if self.weights is not None and self.m is None:
            raise ValueError(f"weights must come with m, which says what they weigh; got weights {self.weights!r}")
        if self.weights is not None:
            object.__setattr__(self, "weights", _inputs.check_weights(self.weights, math.comb(d, self.m)))
        searched = self.m is self.sizes is None  # such a design is right, and searched for when it is used
        if not searched and (np.array(self.weights_) @ design.concerns(d, self.m_) == 0).any():
            raise ValueError(f"weights must be above 0 for at least one question on each attribute; got {self.weights}")
        _inputs.check_bool(groups=self.groups)

    @property
    def joint(self) -> int:
        """Of how many attributes the reports give an unbiased joint table: those asked together."""
        return self.m_

    @cached_property
    def _design(self):
        return design.best_design(self._e, self.k, self.m, self.sizes)

    @property
    def m_(self) -> int:
        """Number of attributes that each user is asked."""
        return self._design[0] if self.m is None else self.m

    @property
    def sizes_(self) -> tuple:
        """Number of values in each attribute's set."""
        return self._design[1] if self.sizes is None else self.sizes

    @cached_property
    def weights_(self) -> tuple:
        """How often each of the `questions` is asked."""
        weights = self._design[2] if self.weights is None else self.weights
        return _inputs.check_weights(weights, math.comb(self.d, self.m_))

    @property
    def questions(self) -> np.ndarray:
        """All choices of m attributes in lexicographic order, shape (Q, m)."""
        return design.questions(self.d, self.m_)

    @property
    def keep(self) -> np.ndarray:
        """For each question the probability that its sets are drawn to hold the truth, not among all; shape (Q,)."""
        return design.keep_probabilities(self._e, self.k, self.sizes_, self.m_)

    @cached_property
    def _shares(self):
        """For each question the share of all combinations of its sets that hold the truth."""
        return [math.prod(Fraction(self.sizes_[j], self.k[j]) for j in asked) for asked in self.questions.tolist()]

    @cached_property
    def _thresholds(self):
        """`keep` in units of 2**-64, rounded down, so that no report spends more than epsilon."""
        e = _sampling.exp_below(self.epsilon)
        return np.array([int(subset.keep_probability(e, share) * 2**64) for share in self._shares], np.uint64)

    def realised_epsilon(self) -> float:
        """Return the budget that `perturb` spends, proved from its thresholds: at most epsilon."""
        pairs = zip(self._thresholds.tolist(), self._shares, strict=True)
        ratio = max(1 + Fraction(told, 2**64 - told) / share for told, share in pairs)
        return _sampling.proved_epsilon(ratio, self.epsilon)

    def probabilities(self, j) -> tuple:
        """Return p and q of attribute j, and the questions that concern it: three arrays of shape (Q_j,)."""
        concern = np.flatnonzero(design.concerns(self.d, self.m_)[:, j])
        return *design.support_probabilities(self.keep[concern], self.k[j], self.sizes_[j]), concern

    def _told(self, j):
        p, q, concern = self.probabilities(j)
        return p, q, concern, self.keep[concern] ** 2

    @cached_property
    def dtype(self) -> np.dtype:
        """Type of one report: fields `asked` and `sets`."""
        sets = (_inputs.small_dtype(max(self.k)), (self.m_, max(self.sizes_)))
        return np.dtype([("asked", _inputs.small_dtype(len(self.weights_))), ("sets", *sets)])

    def channel(self) -> np.ndarray:
        """Return the channel from records in lexicographic order to `reports`, as floats."""
        columns = sum(math.prod(math.comb(self.k[j], self.sizes_[j]) for j in asked) for asked in self.questions)
        _inputs.check_cells(math.prod(self.k), columns)
        sets = [_sets.all_sets(k, size) for k, size in zip(self.k, self.sizes_, strict=True)]
        records, blocks = np.indices(self.k).reshape(self.d, -1), []
        for asked, weight in zip(self.questions, self.weights_, strict=True):
            inside = np.ones((records.shape[1], 1), bool)
            for j in asked:
                holds = (sets[j] == records[j][:, None, None]).any(axis=2)
                inside = (inside[:, :, None] & holds[:, None, :]).reshape(len(inside), -1)
            odds = np.where(inside, self._e, 1)
            blocks.append(weight * odds / odds[0].sum())
        return np.hstack(blocks)

    def reports(self) -> np.ndarray:
        """Return all reports of one user, in the order of the channel's columns."""
        sets, parts = [_sets.all_sets(k, size) for k, size in zip(self.k, self.sizes_, strict=True)], []
        for number, asked in enumerate(self.questions):
            choices = list(itertools.product(*(sets[j] for j in asked)))
            parts.append(np.zeros(len(choices), self.dtype))
            parts[-1]["asked"] = number
            for place, j in enumerate(asked):
                parts[-1]["sets"][:, place, : self.sizes_[j]] = [choice[place] for choice in choices]
        return np.concatenate(parts)

    @_inputs.users_checked
    def perturb(self, x, *, rng: Rng) -> np.ndarray:
        """Return one report a user, a structured array of shape (n,), from records of shape (n, d).

        Fields `asked`, the row of `questions`, and `sets`, shape (m, largest size): one set of ascending values for
        each attribute asked, filled up with zeros.
        """
        y = np.zeros(len(x), self.dtype)
        y["asked"] = asked = _dealing.deal(len(x), self.weights_, self.groups, rng)
        told = _sampling.coins(self._thresholds[asked], rng)
        for j, (k, size) in enumerate(zip(self.k, self.sizes_, strict=True)):
            who, place = self._asked(asked, j)
            if who.size:
                y["sets"][who, place, :size] = _sets.draw_sets(x[:, j][who], told[who], k, size, rng)
        return y

    def _asked(self, asked, j):
        """The users who were asked attribute j, and the place of its set in their reports."""
        places = (self.questions == j) @ np.arange(1, self.m_ + 1) - 1
        who = np.flatnonzero(places[asked] >= 0)
        return who, places[asked[who]]

    def count(self, y) -> np.ndarray:
        """Return the number of reports, how many were asked each question, then counts for each attribute by question.

        Counts of disjoint sets of reports add up.
        """
        y = _inputs.check_reports(y, self.dtype, len(self.weights_))
        counts = [np.array([len(y)]), np.bincount(y["asked"], minlength=len(self.weights_))]
        for j, (k, size) in enumerate(zip(self.k, self.sizes_, strict=True)):
            who, place = self._asked(y["asked"], j)
            sets = _sets.check_sets(y["sets"][who, place, :size], k, size) if who.size else np.zeros((0, size), int)
            cells = y["asked"][who, None].astype(np.int64) * k + sets
            counts.append(np.bincount(cells.ravel(), minlength=len(self.weights_) * k))
        return np.concatenate(counts)

    def estimate_counts(self, counts) -> list:
        """Return unbiased frequencies, one array (k_j,) for each attribute, from the counts of all reports."""
        questions = len(self.weights_)
        _, dealt, *told = np.split(counts, np.cumsum([1, questions, *(questions * k for k in self.k[:-1])]))
        tables = [part.reshape(questions, -1) for part in told]
        return self._estimates(tables, dealt, counts[0])

    def _estimates(self, counts, dealt, n):
        """Estimates from how many sets hold each value, shape (..., Q, k_j), by question, and how many were asked."""
        estimates = []
        for j, count in enumerate(counts):
            p, q, concern, pull = self._told(j)
            size = dealt[..., concern]
            total = (pull / (p - q)) @ (count[..., concern, :] - (size * q)[..., None])
            expected = n * np.array(self.weights_)[concern]
            estimates.append(_dealing.centred_estimate(total, size, expected, pull, self.groups))
        return estimates

    def simulate(self, population: Population, *, rng: Rng, runs: int) -> list:
        """Return one array (runs, k_j) for each attribute, distributed exactly as ``estimate(perturb(x))``.

        The cost grows with distinct records times questions, not with the users.
        """
        _inputs.check_population(population, self.k, rng=rng, runs=runs)
        told = [np.zeros((runs, len(self.weights_), k), np.int64) for k in self.k]
        sizes, free = np.zeros((2, runs, len(self.weights_)), np.int64)
        for record, dealt in _dealing.deal_records(population, self.weights_, self.groups, rng=rng, runs=runs):
            kept = rng.binomial(dealt, self.keep)
            sizes += dealt
            free += dealt - kept
            for j, value in enumerate(record):
                told[j][:, :, value] += kept
        counts = [np.zeros_like(part) for part in told]
        for question, asked in enumerate(self.questions):
            for j in asked:
                drawn = _sets.simulate_counts(told[j][:, question], free[:, question], self.sizes_[j], rng)
                counts[j][:, question] = drawn
        return self._estimates(counts, sizes, population.n)

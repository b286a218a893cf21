"""Conditional randomized response (Cond-RR): attributes that are not the pivot are drawn from learned conditionals."""

import itertools
import math
from dataclasses import dataclass

import numpy as np

from ldp_lib import _inputs, _sampling, grr, postprocess, pure
from ldp_lib.corr_rr._two_phases import TwoPhase

BLOCK = 2**22  # entries of working memory in `simulate`
NOTHING = 1e-12  # shares and singular values that are this near to 0, or to each other, count as equal: rounding


@dataclass(frozen=True, kw_only=True)
class CondRR(TwoPhase):
    """Cond-RR: as Corr-RR, but a copy is drawn from the conditional distribution that the first phase estimated.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes; they may differ.
    epsilon : float
        Privacy budget of one user's whole report, in either phase.
    n1 : int or float
        Users in the first phase, chosen at random: their number, at least 1 and below that of all users, or a share of
        all users, above 0 and below 1, rounded.
    debias : bool
        Whether to undo the copies, as far as the conditionals allow. If not, the second phase's counts are debiased as
        if all reports were randomized response, as Corr-RR does, and the estimate has a large bias.

    Notes
    -----
    Seeam et al. (2025, Section 3.3.5; revised 2026, Section 3.3.6) describe the reports and leave all estimators open.
    Here the first phase's joint estimate of each pair is unbiased, then normalized by `postprocess.clip_normalize`; a
    value without any mass gets the uniform conditional. Given the conditionals, the second phase's expected shares are
    a known linear function of the true frequencies; `debias` solves for these by least squares. Where no singular value
    is too small the second phase's estimate is then unbiased. The two phases' estimates are averaged with their numbers
    of users as weights. Chapter `audit_corr_rr_evaluation`.
    """

    k: tuple
    epsilon: float
    n1: int | float = 0.1
    debias: bool = True
    has_exact_moments = False
    unbiased = False

    def __post_init__(self):
        super().__post_init__()
        _inputs.check_bool(debias=self.debias)

    def conditionals(self, pairs):
        """Return the estimated conditionals of each ordered pair, a dict of arrays (runs, k_j, k_m).

        `pairs` counts the first phase's reports of each pair j < m, a dict of arrays (runs, k_j, k_m).
        """
        root, found = math.exp(self.epsilon / self.d), {}
        for (j, m), counts in pairs.items():
            joint = counts / counts[0].sum()
            for axis in (-1, -2):  # invert randomized response along each axis
                p, q = grr.probabilities(root, joint.shape[axis])
                joint = (joint - q * joint.sum(axis=axis, keepdims=True)) / (p - q)
            joint = np.where(np.abs(joint) < NOTHING, 0, joint)
            joint = postprocess.clip_normalize(joint.reshape(len(joint), -1)).reshape(joint.shape)
            found[j, m], found[m, j] = _rows(joint), _rows(joint.swapaxes(1, 2))
        return found

    def _report_second(self, first, x, rng):
        laws = self._learn(first)
        pivot = rng.integers(self.d, size=len(x))
        y = np.empty(x.shape, _inputs.small_dtype(max(self.k)))
        for j, size in enumerate(self.k):
            mine = np.flatnonzero(pivot == j)
            if mine.size:
                y[mine, j] = grr.GRR(k=size, epsilon=self.epsilon).perturb(x[mine, j], rng=rng)
            for m in range(self.d):
                if m != j:
                    for v in np.unique(y[mine, j]):
                        told = mine[y[mine, j] == v]
                        y[told, m] = _sampling.draw(laws[j, m][0, v], told.size, rng)
        return y

    def _estimate_second(self, first, second):
        first, second = _inputs.check_records(first, self.k, "y"), _inputs.check_records(second, self.k, "y")
        counts = [np.bincount(second[:, j], minlength=size)[None] for j, size in enumerate(self.k)]
        laws = self._learn(first) if self.debias else None
        return [v for (v,) in self._second_estimates(counts, laws)]

    def _learn(self, first):
        pairs = itertools.combinations(range(self.d), 2)
        return self.conditionals({pair: _count(first, self.k, pair) for pair in pairs})

    def _draw_first(self, records, chosen, rng):
        """Return the first phase's estimates, and the conditionals that it shows."""
        d, n1, oracles = self.d, int(chosen[0].sum()), self._first.oracles
        sets = [*((j,) for j in range(d)), *itertools.combinations(range(d), 2)]
        step = max(1, BLOCK // min(math.prod(self.k), n1 * d))
        parts = (chosen[start : start + step] for start in range(0, len(chosen), step))
        blocks = [self._count_first(records, part, sets, rng) for part in parts]
        counts = list(map(np.concatenate, zip(*blocks, strict=True)))
        first = [pure.estimate(count, n1, *one.probabilities) for count, one in zip(counts[:d], oracles, strict=True)]
        return first, self.conditionals(dict(zip(sets[d:], counts[d:], strict=True)))

    def _count_first(self, records, chosen, sets, rng):
        """Draw the first phase's reports; return how often each combination of values of each set of attributes is met.

        They are drawn as counts where there are fewer different reports than users, else user by user.
        """
        if math.prod(self.k) <= chosen[0].sum():
            tables = np.zeros((len(chosen), *self.k), np.int64)
            tables[(slice(None), *records.T)] = chosen
            for axis, oracle in enumerate(self._first.oracles, 1):  # each attribute's coins are its own
                tables = np.moveaxis(oracle.draw_support(np.moveaxis(tables, axis, -1), rng), -1, axis)
            return [np.einsum(tables, range(tables.ndim), (0, *(j + 1 for j in some))) for some in sets]
        users = np.repeat(np.tile(np.arange(len(records)), len(chosen)), chosen.ravel())
        reports = self._first.perturb(records[users], rng=rng)
        return [_count(reports, self.k, some, len(chosen)) for some in sets]

    def _draw_second(self, learned, held, n2, rng):
        totals = [0] * self.d
        for j, values in enumerate(held):
            report = grr.GRR(k=self.k[j], epsilon=self.epsilon).draw_support(values, rng)
            for m in range(self.d):
                drawn = report if m == j else rng.multinomial(report, learned[j, m]).sum(axis=1)
                totals[m] = totals[m] + drawn
        return self._second_estimates(totals, learned)

    def _second_estimates(self, counts, laws):
        """Return the second phase's estimates, d arrays (runs, k_j), from its counts of reports."""
        pairs = [grr.probabilities(self._e, size) for size in self.k]
        shares = [count / count.sum(axis=1, keepdims=True) for count in counts]
        if self.debias:
            shares = _undo_copies(shares, laws, self.k)
        return [pure.estimate(share, 1, p, q) for share, (p, q) in zip(shares, pairs, strict=True)]


def _undo_copies(shares, laws, k):
    """Return what the pivots alone would have reported, d arrays (runs, k_j), from the shares of all reports.

    The expected share of attribute m is the mean over the pivots j of the pivot's reports, passed on by the conditional
    of m given j. This is a linear system, solved by least squares for the deviations from 1/k. They sum to 0. Singular
    values up to a tenth of the largest count as 0: in directions that the copies hide, the result stays at 1/k.
    """
    d, edges = len(k), np.cumsum([0, *k])
    if d == 1:  # there are no copies
        return shares
    whole = np.empty((len(shares[0]), edges[-1], edges[-1]))
    for m, j in itertools.product(range(d), repeat=2):
        block = np.eye(k[m]) if m == j else laws[j, m].swapaxes(1, 2)
        whole[:, edges[m] : edges[m + 1], edges[j] : edges[j + 1]] = block / d
    attribute, even = np.repeat(np.arange(d), k), np.repeat(1 / np.array(k), k)
    means = np.where(attribute[:, None] == attribute, even, 0)
    passed = whole - whole @ means  # deviations of each attribute sum to 0
    rest = np.hstack(shares) - whole @ even
    moved = np.linalg.pinv(passed, rcond=0.1 + NOTHING) @ rest[..., None]
    return np.split(even + moved[..., 0], edges[1:-1], axis=1)


def _rows(joint):
    mass = joint.sum(axis=-1, keepdims=True)
    return np.divide(joint, mass, out=np.full(joint.shape, 1 / joint.shape[-1]), where=mass > 0)


def _count(reports, k, some, runs=1):
    """Return counts of the values of some attributes, (runs, their domain sizes); each run has as many reports."""
    run, sizes = np.repeat(np.arange(runs), len(reports) // runs), (runs, *(k[j] for j in some))
    cells = np.ravel_multi_index((run, *(reports[:, j] for j in some)), sizes)
    return np.bincount(cells, minlength=math.prod(sizes)).reshape(sizes)

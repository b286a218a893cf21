"""Formulas for Corr-RR as printed or as published in code, where they are not the exact ones; for those who compare.

The first version of the paper (Seeam et al. 2025) derives its reuse probability in Theorem 4, Proposition 1 and
Appendix 6.1; for k = 2 these are right up to a factor of Proposition 1, for k > 2 they are not. The authors' published
programs compute the appendix's formula, attributes exchanged, in all experiments and another one for Figure 2 of the
revised version (2026).
Chapters `audit_corr_rr` and `audit_corr_rr_evaluation`.
"""

import math
from dataclasses import dataclass

import numpy as np

from ldp_lib import _inputs, grr
from ldp_lib.corr_rr import CorrRR, best_from_0_to_1, check_pair, table_of


def _appendix_quadratic(f_target, f_pivot, n2, e):
    """Return (c1, c2) of the first version's Appendix 6.1, with e = exp(epsilon). The same as the exact for k = 2."""
    a = np.asarray(f_target)
    b = np.asarray(f_pivot)
    k = a.shape[-1]
    slope = 2 * b - 1
    offset = 1 - a - b
    p, q = grr.probabilities(e, k)
    alpha = q + (p - q) * (offset + 2 * a) / 2
    c2 = (n2 - 1) * (slope**2).sum(axis=-1) / (4 * n2)
    return ((n2 * offset + (1 - 2 * alpha) / (p - q)) * slope).sum(axis=-1) / (2 * n2), c2


def appendix_minimizer(f_target, f_pivot, n2, e):
    """Return -c1 / (2 c2) of `_appendix_quadratic`: formula A of the published programs, before it is cut to [0, 1]."""
    c1, c2 = _appendix_quadratic(f_target, f_pivot, n2, e)
    return -c1 / (2 * c2)


def _appendix_probability(f_target, f_pivot, *, n2, epsilon):
    """Return the reuse probability by the appendix's formula, shape (...); 1/2 for two values and a uniform pivot."""
    a, b, n2 = check_pair(f_target, f_pivot, n2)
    _inputs.require(epsilon=epsilon)
    uniform = (a.shape[-1] == 2) & (np.abs(b - 0.5).max(axis=-1) <= 1e-12)
    return np.where(uniform, 0.5, best_from_0_to_1(*_appendix_quadratic(a, b, n2, math.exp(epsilon))))[()]


def appendix_table(frequencies, *, n2, epsilon):
    """Return the reuse table, shape (..., d, d), of `_appendix_probability` for each ordered pair."""
    return table_of(_appendix_probability, frequencies, n2=n2, epsilon=epsilon)


def figure_2_probability(f_first, f_second, n2, e):
    """Return the p_y that the published program of Figure 2 draws, before it is cut to [0, 1]: formula B.

    Parameters
    ----------
    f_first, f_second : array_like, shape (..., k)
        Frequencies of two attributes over the values 0, ..., k-1, which the formula takes for numbers.
    n2 : number or symbol
        Number of users in the second phase.
    e : number or symbol
        exp(epsilon).
    """
    a = np.asarray(f_first)
    b = np.asarray(f_second)
    k = a.shape[-1]
    v, (p, q) = np.arange(k), grr.probabilities(e, k)
    mean_gap = ((a - b) * v).sum(axis=-1)
    second = (b * v**2).sum(axis=-1)
    slope = 2 * (b * v).sum(axis=-1) - v.sum()
    square = 2 * second - (v**2).sum()
    level = (p - q) * mean_gap + v.sum()  # twice the mean report
    cross = ((1 - a - b) * ((2 * a - 1) + (2 * b - 1))).sum(axis=-1)
    norms = ((2 * a - 1) ** 2 + (2 * b - 1) ** 2).sum(axis=-1)
    top = (square - level * slope) / (2 * n2 * (p - q)) + cross / (4 * k)
    return top / (slope**2 / (2 * n2) - norms / (4 * k))


@dataclass(frozen=True, kw_only=True)
class AppendixCorrRR(CorrRR):
    """Corr-RR with the appendix's formula; with `exchanged`, as the authors' published experiments ran it.

    Parameters
    ----------
    exchanged : bool
        Whether the formula gets the pivot's frequencies for the target's, and the other way round, as in the published
        programs.
    k, epsilon, n1, reuse
        As for `CorrRR`.
    """

    exchanged: bool = False

    def learn(self, first, n2):
        """Return the reuse table, (d, d) or (runs, d, d), that the first phase's estimates set by the appendix."""
        table = appendix_table(first, n2=n2, epsilon=self.epsilon)
        return table.swapaxes(-1, -2) if self.exchanged else table

"""Plurality: users first look at how their own values are associated; a mechanism that makes use of correlation.

A user's plurality c is the value that most of the user's d attributes have, ties at random. Some users vote, that is,
send c; some say whether a random attribute agrees with c; some are asked a random attribute. Each sends one report,
through randomized response with the whole budget.
"""

import math
import numbers
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ldp_lib import _inputs, _sampling, grr
from ldp_lib.corr_rr._two_phases import marginal_counts
from ldp_lib.mechanism import NoExactMoments, Rng, Several
from ldp_lib.population import Population
from ldp_lib.shrinkage import _stein


def _votes(records, k):
    """Return how many attributes of each record have each value, shape (m, k)."""
    return np.stack([(records == v).sum(axis=1) for v in range(k)], axis=1)


def _law(records, k, one=1):
    """Return the distribution of each record's plurality, shape (m, k); exact if `one` is a Fraction."""
    votes = _votes(np.asarray(records), k)
    top = (votes == votes.max(axis=1, keepdims=True)).astype(int)
    return top * one / top.sum(axis=1, keepdims=True)


def _starts(k, d):
    """Return where the votes start among the reports, and where each attribute's agreements and answers do."""
    return np.cumsum([0, k, *[2] * d, *[k] * (d - 1)])


def channel(e, k, d, shares):
    """Return the channel from records, in lexicographic order, to reports: k votes, 2d agreements, d k answers.

    Parameters
    ----------
    e : number or symbol
        exp(epsilon).
    k, d : int
        Domain size of every attribute, and number of attributes.
    shares : sequence of 3 numbers
        Shares of the users who vote, who say whether an attribute agrees (no, then yes), and who are asked.
    """
    records, (vote, agree, ask) = np.array(list(np.ndindex(*(k,) * d))), shares
    chances = _law(records, k, Fraction(1))
    agrees = np.take_along_axis(chances, records, axis=1)  # how probably each attribute agrees with the plurality
    bits = np.stack([1 - agrees, agrees], axis=2).reshape(len(records), -1)
    held = np.eye(k, dtype=int)[records].reshape(len(records), -1)
    answers = np.hstack([vote * chances, agree / d * bits, ask / d * held])  # before the noise
    parts = np.split(answers, _starts(k, d)[1:], axis=1)
    return np.hstack([part @ grr.channel(e, part.shape[1]) for part in parts])


@dataclass(frozen=True, kw_only=True)
class Plurality(Several):
    """Estimate every attribute from the distribution of the users' plurality and its agreement with the attribute.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes, all equal.
    epsilon : float
        Privacy budget of one user's whole report.
    shares : sequence of 3 floats
        Probabilities that a user votes, says whether an attribute agrees, and is asked an attribute. The first two are
        above 0; all sum to 1.

    Notes
    -----
    The model: an attribute's deviation from 1/k is its agreement beyond chance times the plurality's deviation. If
    nobody is asked, the estimate is the model's, biased wherever the model is wrong, and `mean` and `variance` are
    exact. If some are asked, their unbiased answers are shrunk towards the model's estimate
    (`shrinkage.together`): then, where nearly all noise is that of randomization, normal and alike in all directions,
    the error is at most about 1/(share asked) times that of `OneQuestion` by GRR, whatever the data. At large budgets
    no multiple bounds it: with the default shares, at 5 and the record (0, 1), three values each, for all users, it is
    over 38 times (3 if `OneQuestion` has no groups). It goes to zero as the users grow, and has no closed form.
    Chapter `shrinkage`.
    """

    k: tuple
    epsilon: float
    shares: tuple = (0.4, 0.1, 0.5)
    unbiased = False
    equal = True

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "shares", _check_shares(self.shares))

    @property
    def _size(self):
        """The size of every attribute's domain."""
        return self.k[0]

    @property
    def has_exact_moments(self) -> bool:
        """Whether `mean` and `variance` are exact: if nobody is asked."""
        return self.shares[2] == 0

    @cached_property
    def probabilities(self) -> tuple:
        """(p, q) of the votes and answers, and (p, q) of the agreements."""
        return grr.probabilities(self._e, self._size), grr.probabilities(self._e, 2)

    def channel(self) -> np.ndarray:
        """Return the channel from records, in lexicographic order, to reports, as floats."""
        _inputs.check_cells(math.prod(self.k), self._reports)
        return channel(self._e, self._size, self.d, self.shares).astype(float)

    @property
    def _reports(self):
        """How many different reports there are."""
        return self._size + self.d * (2 + self._size)

    @property
    def dtype(self) -> np.dtype:
        """Type of one report."""
        return _inputs.small_dtype(self._reports)

    def reports(self) -> np.ndarray:
        """Return every report of one user, in the order of the channel's columns."""
        return np.arange(self._reports, dtype=self.dtype)

    def realised_epsilon(self) -> float:
        """Return the budget that `perturb` spends, proved from its thresholds: the most that one answer spends."""
        return max(grr.GRR(k=size, epsilon=self.epsilon).realised_epsilon() for size in (2, self._size))

    @_inputs.users_checked
    def perturb(self, x, *, rng: Rng) -> np.ndarray:
        """Return one report a user, shape (n,): below k a vote, then d times no, yes, then d times k answers."""
        k, d, n, (vote, agree, ask) = self._size, self.d, len(x), self.shares
        kind = _sampling.draw([vote] + [agree / d] * d + [ask / d] * d, n, rng).astype(np.intp)
        plurality = (_votes(x, k) + rng.random((n, k))).argmax(axis=1)
        asked = x[np.arange(n), (kind - 1) % d].astype(np.intp)  # a vote looks at none
        value = np.where(kind == 0, plurality, np.where(kind <= d, plurality == asked, asked))
        y = np.empty(n, self.dtype)
        for size, chosen in ((k, (kind == 0) | (kind > d)), (2, (kind > 0) & (kind <= d))):
            if chosen.any():
                sent = grr.GRR(k=size, epsilon=self.epsilon).perturb(value[chosen], rng=rng)
                y[chosen] = _starts(k, d)[kind[chosen]] + sent
        return y

    def count(self, y) -> np.ndarray:
        """Return the number of reports, then how often each occurs; counts of disjoint sets of reports add up."""
        y = _inputs.check_values(y, self._reports, "y")
        return np.append(y.size, np.bincount(y, minlength=self._reports))

    def estimate_counts(self, counts) -> list:
        """Return the estimates, one array (k,) for each attribute, from the counts of all reports."""
        return [found for (found,) in self._estimate(counts[None, 1:])]

    def simulate(self, population: Population, *, rng: Rng, runs: int) -> list:
        """Return one array (runs, k) for each attribute, distributed exactly as ``estimate(perturb(x))``.

        The cost depends on the number of distinct records and on `runs`, not on n.
        """
        _inputs.check_population(population, self.k, rng=rng, runs=runs)
        k, d, (vote, agree, ask) = self._size, self.d, self.shares
        chances, reports = _law(population.records, k), []
        agrees = np.take_along_axis(chances, population.records, axis=1)
        rest = np.tile(population.counts, (runs, 1))
        cells = np.array([vote] + [agree / d] * d + [ask / d] * d)
        for kind, cell in enumerate(cells):
            chosen = rng.binomial(rest, cell / max(cells[kind:].sum(), cell)) if cell else 0 * rest
            rest = rest - chosen
            if kind == 0:
                held = _draw(chosen, chances, rng)
            elif kind <= d:
                held = _draw(chosen, np.stack([1 - agrees[:, kind - 1], agrees[:, kind - 1]], axis=1), rng)
            else:
                (held,) = marginal_counts(population.records[:, [kind - 1 - d]], chosen, [k])
            reports.append(grr.GRR(k=held.shape[1], epsilon=self.epsilon).draw_support(held, rng))
        return self._estimate(np.hstack(reports))

    def mean(self, population: Population) -> list:
        """Return the exact expectation of the estimate, one array (k,) for each attribute, if nobody is asked."""
        users, m10, m01, _, _ = self._moments(population)
        first, second = users @ m10, users @ m01
        return list(1 / self._size + second[:, None] * first - np.einsum("r,rj,rv->jv", users, m01, m10))

    def variance(self, population: Population) -> list:
        """Return the exact variance, one array (k,) for each attribute, the data held fixed, if nobody is asked."""
        users, a, b, a2, b2 = self._moments(population)
        a, a2, b, b2 = a[:, None, :], a2[:, None, :], b[:, :, None], b2[:, :, None]
        # Joint cumulants of one user's two parts, whose product is 0; cumulants of independent users add up.
        one = [a, b, a2 - a**2, -a * b, b2 - b**2, 2 * a**2 * b - a2 * b, 2 * a * b**2 - a * b2]
        one.append(2 * a2 * b**2 + 2 * a**2 * b2 - a2 * b2 - 6 * a**2 * b**2)
        k10, k01, k20, k11, k02, k21, k12, k22 = (np.tensordot(users, term, 1) for term in one)
        # The mean square less the squared mean, without what cancels.
        found = k22 + 2 * k21 * k01 + 2 * k12 * k10 + k20 * k02 + k11**2
        return list(found + k20 * k01**2 + k02 * k10**2 + 2 * k11 * k10 * k01)

    def _moments(self, population):
        """Return the counts and each record's first and second moments of its terms in vote and agreement."""
        if not self.has_exact_moments:
            raise NoExactMoments(self)
        _inputs.check_population(population, self.k)
        (p, q), (p2, q2) = self.probabilities
        k, n, (vote, agree, _) = self._size, population.n, self.shares
        agree, chances = agree / self.d, _law(population.records, self._size)
        share = q + (p - q) * chances
        second = (share * (1 - 2 / k) + 1 / k**2) / (vote * (n * (p - q)) ** 2)
        right = np.take_along_axis(chances, population.records, axis=1)
        yes = q2 + (p2 - q2) * right
        no_term, yes_term = ((k * (bit - q2) / (p2 - q2) - 1) / ((k - 1) * n) for bit in (0, 1))
        squares = (yes * yes_term**2 + (1 - yes) * no_term**2) / agree
        return population.counts, (chances - 1 / k) / n, (k * right - 1) / (k - 1) / n, second, squares

    def _estimate(self, counts):
        """Return the estimates, d arrays (runs, k), from counts of reports, (runs, reports)."""
        k, d, (vote, agree, ask) = self._size, self.d, self.shares
        (p, q), (p2, q2) = self.probabilities
        n = counts[0].sum()
        votes, bits, answers = np.split(counts, [k, k + 2 * d], axis=1)
        votes = (votes - votes.sum(axis=1, keepdims=True) / k) / (n * vote * (p - q))
        bits = bits.reshape(-1, d, 2)
        yes = (bits[..., 1] - q2 * bits.sum(axis=-1)) / (p2 - q2)
        beyond = (k * yes - bits.sum(axis=-1)) * d / ((k - 1) * n * agree)
        model = [1 / k + beyond[:, [j]] * votes for j in range(d)]
        if not ask:
            return model
        answers = answers.reshape(-1, d, k)
        answers = (answers - answers.sum(axis=-1, keepdims=True) / k) * d / (n * ask * (p - q))
        noise = [d * (1 - 1 / k) / (n * ask * (p - q) ** 2)] * d
        return _stein.together(list(np.moveaxis(1 / k + answers, 1, 0)), noise, model).estimates


def _draw(counts, chances, rng):
    """Return counts of values (runs, k) if each of counts (runs, m) users draws one by its row of chances (m, k)."""
    total = 0
    for row in np.unique(chances, axis=0):
        users = counts[:, (chances == row).all(axis=1)].sum(axis=1)
        total = total + (np.outer(users, row.astype(int)) if row.max() == 1 else rng.multinomial(users, row))
    return total


def _check_shares(shares):
    allowed = "shares must be three numbers from 0 to 1 that sum to 1, the first two above 0"
    values = tuple(shares) if isinstance(shares, Iterable) else (shares,)
    if not all(isinstance(v, numbers.Real) and not isinstance(v, bool | np.bool_) for v in values):
        raise TypeError(f"{allowed}; got {shares!r}")
    if len(values) != 3 or not (min(values) >= 0 < min(values[:2]) and abs(sum(values) - 1) <= 1e-9):
        raise ValueError(f"{allowed}; got {shares!r}")
    return tuple(map(float, values))

"""What the functions of this ring find: tables, estimates and tests, each with how far it can be trusted."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import chdtr, ndtr, ndtri

from ldp_lib import _inputs


@dataclass(frozen=True, kw_only=True, eq=False)
class Fitted:
    """What `fit` found.

    Parameters
    ----------
    table : array
        Probabilities, one axis a channel; from `estimate` one axis an attribute.
    converged : bool
        Whether the gap is at most what was asked for.
    steps : int
        How often the likelihood was evaluated.
    log_likelihood : float
        Of all reports, in natural logarithms, without the multinomial coefficient.
    gap : float
        An upper bound of how much larger the log-likelihood of any table is.
    message : str
        Why it stopped.
    """

    table: np.ndarray
    converged: bool
    steps: int
    log_likelihood: float
    gap: float
    message: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Raked:
    """What `rake` found.

    Parameters
    ----------
    weights : array of shape (n,)
        The records' weights. They sum to 1 unless a value with a positive marginal has no weight left.
    converged : bool
        Whether a whole pass multiplied every positive weight by 1 to within `tolerance`, and all marginals are matched.
    passes : int
        Passes over the attributes that were made.
    gap : float
        Largest distance of a marginal of `weights` from its target.
    message : str
        Why it stopped.
    """

    weights: np.ndarray
    converged: bool
    passes: int
    gap: float
    message: str

    def table(self, records, k):
        """Return the weights summed over equal records, as an array of shape `k`."""
        cell = np.ravel_multi_index(tuple(_inputs.check_records(records, k, "records").T), k)
        return np.bincount(cell, weights=self.weights, minlength=math.prod(k)).reshape(k)


@dataclass(frozen=True, kw_only=True, eq=False)
class Projected:
    """What `project_marginals` found: the table, and the largest distance of one of its marginals from its target."""

    table: np.ndarray
    converged: bool
    passes: int
    gap: float


@dataclass(frozen=True, kw_only=True, eq=False)
class ShrunkTable:
    """A shrunken table, the factor by which its dependence was multiplied, and Stein's estimate of its error."""

    table: np.ndarray
    factor: float
    risk: float


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A measure of association, from 0 for independent attributes to 1, at a noisy table.

    Parameters
    ----------
    value : float
        At the table as it is, noise included; NaN, as all numbers, if `warning` says why.
    bias : float
        What noise adds to it on average, to second order.
    slope_variance, curve_variance : float
        The variance of its linear and of its quadratic part.
    warning : str
        Empty, or why the measure cannot be had.
    """

    value: float = math.nan
    bias: float = math.nan
    slope_variance: float = math.nan
    curve_variance: float = math.nan
    warning: str = ""

    @property
    def standard_error(self) -> float:
        """By the delta method, to second order."""
        return math.sqrt(max(self.slope_variance + self.curve_variance, 0))

    @property
    def corrected(self) -> float:
        """The value less its bias, at least 0; NaN if a value is too rare."""
        found = self.value - self.bias
        return found if found > 0 or self.warning else 0.0

    def interval(self, confidence=0.95) -> tuple[float, float]:
        """Return the ends of the interval that holds the measure with the given probability.

        Notes
        -----
        The measure is nearly a squared length: of the true vector of length sqrt(theta) plus noise, with variance
        s = slope_variance / (4 value) along that vector, and c times chi-squared across it. The interval holds each
        theta for which the value is between the quantiles of this distribution, a noncentral chi-squared one if s = c;
        c and the degrees of freedom are such that the quadratic part has its mean and variance (Satterthwaite, 1946).
        It holds too seldom at large budgets, if fewer than about five users are in the rare cells: for a V near 1, or
        near 0 of rare values.
        """
        _inputs.require_share("confidence", confidence)
        if self.warning:
            return 0.0, 1.0
        tail = (1.0 - confidence) / 2
        return self._quantile(1 - tail), self._quantile(tail)

    def _quantile(self, wanted):
        """The theta for which a value of at most the one found has the wanted probability; from 0 to 1."""
        if self._probability(0.0) <= wanted:
            return 0.0
        if self._probability(1.0) >= wanted:
            return 1.0
        return brentq(lambda theta: self._probability(theta) - wanted, 0.0, 1.0, xtol=1e-14)

    def _probability(self, theta):
        """The probability of a value of at most the one found, by the trapezoid rule for the noise along the vector."""
        value, tiny = max(self.value, 1e-300), 1e-300
        s = self.slope_variance / (4 * value)
        c = max(self.curve_variance / max(2 * self.bias, tiny), tiny)
        freedom = max(self.bias - s, 0) / c
        if freedom < 1e-3:  # no noise across the vector
            ends = (np.array([1, -1]) * math.sqrt(value) - math.sqrt(theta)) / math.sqrt(max(s, tiny))
            return ndtr(ends[0]) - ndtr(ends[1])
        left = (value - (math.sqrt(theta) + math.sqrt(s) * _NORMAL) ** 2) / c
        return np.average(chdtr(freedom, left.clip(0)), weights=np.exp(_NORMAL**2 / -2))


_NORMAL = np.linspace(-6, 6, 481)


@dataclass(frozen=True, kw_only=True)
class CramersV:
    """Cramer's V of two attributes, from its measured square."""

    square: Measured

    @property
    def value(self) -> float:
        """The root of the square less its bias; NaN if a value is too rare."""
        return math.sqrt(self.square.corrected) if not self.warning else math.nan

    @property
    def warning(self) -> str:
        """Empty, or which value is too rare."""
        return self.square.warning

    def interval(self, confidence=0.95) -> tuple[float, float]:
        """Return the ends of the interval, within 0 and 1: the roots of those of the square."""
        low, high = self.square.interval(confidence)
        return math.sqrt(low), math.sqrt(high)


@dataclass(frozen=True, kw_only=True)
class Tested:
    """A test of independence: chi-squared corrected for the mechanism, its degrees of freedom, and the p-value."""

    statistic: float
    freedom: int
    p_value: float


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The raw unbiased estimate of a share of users, that of its variance, and by how much one report moves it."""

    estimate: float
    variance: float
    step: float

    def interval(self, confidence=0.95) -> tuple[float, float]:
        """Return the ends of the interval that holds the share with the given probability; it may leave [0, 1].

        Notes
        -----
        Normal, with half a step for what is discrete, and half a squared step added to the variance: where few reports
        tell, as for one holder at a large budget, the estimated variance is often 0. Where many do, neither matters.
        Where few false reports of what is asked are expected, as of one of many cells, it holds less often: `RRJoint`
        at two in 85 of 100 surveys, at four in 90.
        """
        _inputs.require_share("confidence", confidence)
        error = math.sqrt(max(self.variance, 0) + self.step**2 / 2)
        half = float(-ndtri((1.0 - confidence) / 2)) * error + self.step / 2
        return self.estimate - half, self.estimate + half

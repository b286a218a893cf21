"""Joint randomized response (JRR): two users at a time toss correlated coins for whether they tell the truth."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_lib import pure


def table(p, rho, k=2):
    """Return the pair's probabilities: both true; the first true and the second one given lie; two given lies.

    Parameters
    ----------
    p : number, array or symbol
        Probability that a user tells the truth; each lie has q = (1-p) / (k-1).
    rho : number, array or symbol
        The table's parameter. The correlation of the two users' truthfulness is rho / (k-1).
    k : int or symbol
        Domain size.

    Notes
    -----
    Zheng, Seeam, Hu, Zhang and Zhang (2025), Table 2 and Eq. (27). Chapters `jrr_variance` and `jrr_privacy`.
    """
    q = (1 - p) / (k - 1)
    return p * p + rho * p * q, p * q - rho * p * q / (k - 1), q * q + rho * p * q / (k - 1) ** 2


def rho_range(p, k=2):
    """Return the least and the largest `rho` for which no entry of `table` is negative."""
    odds = (1 - p) / p  # of a lie
    return -(k - 1) * (min(odds, 1 / odds) if odds else odds), k - 1


def variance(n_v, n, p, rho, k=2, odd=0):
    """Return the exact variance of the estimated number of users with a value, the users' data held fixed.

    Parameters
    ----------
    n_v, n : number, array or symbol
        Users with the value, and all users.
    p, rho, k : number, array or symbol
        As in `table`.
    odd : {0, 1}
        1 if n is odd: then one user, chosen at random, answers alone.

    Notes
    -----
    For k = 2 and even n this is Theorem 3 of Zheng et al. (2025). Derived in the chapter `jrr_variance`.
    """
    q = (1 - p) / (k - 1)
    alone = n_v * p * (1 - p) + (n - n_v) * q * (1 - q)
    others = n - n_v
    excess = (n_v - others / (k - 1)) ** 2 - n_v - others / (k - 1) ** 2
    return (alone + rho * p * q * excess / (n - 1 + odd)) / (p - q) ** 2


@dataclass(frozen=True, kw_only=True)
class KJRR:
    """Pair the users at random; each pair's truthfulness is correlated, and a lie is a uniform other value.

    With an odd number of users, one of them, chosen at random, answers alone: true with probability p.

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    p : float
        Probability that a user tells the truth, above 1/k and at most 1.
    rho : float
        The parameter of Eq. (27), within `rho_range`. For k = 2 it is the correlation of the pair's truthfulness.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong type or out of range.

    Notes
    -----
    Zheng et al. (2025), Eq. (27). `epsilon` is the budget of one report alone, ln(p/q). The reports of all users
    together say more about each of them: see `jrr_privacy`, module and chapter.
    """

    k: int
    p: float
    rho: float

    def __post_init__(self):
        pure.require(k=self.k)
        check_parameters(self.p, self.rho, self.k)

    @property
    def epsilon(self):
        """Budget of one report on its own, ln(p/q); infinite if p = 1."""
        p, q = self._pq
        return math.log(p / q) if q else math.inf

    @cached_property
    def _pq(self):
        return self.p, (1 - self.p) / (self.k - 1)

    @cached_property
    def _truths(self):
        both, mixed, _ = table(self.p, self.rho, self.k)
        one = 2 * (self.k - 1) * mixed
        return np.array([both, one, max(0.0, 1 - both - one)])  # two truths, one, none

    def perturb(self, x, *, rng):
        """Return all users' reports, shape (n,): an integer array of the smallest unsigned type that holds them."""
        pure.require(rng=rng)
        x = pure.check_values(x, self.k)
        true = self._shuffled_truths(x.size, rng)
        dtype = pure.small_dtype(self.k)
        if self.k == 2:
            return x.astype(dtype) ^ ~true
        shift = rng.integers(1, self.k, size=x.size)
        return ((x + np.where(true, 0, shift)) % self.k).astype(dtype)

    def _shuffled_truths(self, n, rng):
        # To pair at random is to toss the coins of fixed pairs and deal them out at random.
        true = np.empty(n, dtype=bool)
        true[::2] = pure.bernoulli(self.p, true[::2].size, rng)
        first, second = true[: n // 2 * 2 : 2], true[1::2]
        both, mixed, _ = table(self.p, self.rho, self.k)
        after_lie = (self.k - 1) * mixed / (1 - self.p) if self.p < 1 else 0.0
        second[:] = np.where(first, pure.bernoulli(both / self.p, n // 2, rng), pure.bernoulli(after_lie, n // 2, rng))
        rng.shuffle(true)
        return true

    def estimate(self, y):
        """Return unbiased frequencies, shape (k,), from reports of shape (n,); raw, as for `GRR`."""
        y = pure.check_values(y, self.k, "y")
        return pure.estimate(np.bincount(y, minlength=self.k), y.size, *self._pq)

    def simulate(self, population, *, rng, runs):
        """Return estimates of shape (runs, k), drawn from the exact joint law of ``estimate(perturb(x))``.

        Pairs with two truths, one and none are counted. Given their number, the true reports are a uniform sample of
        the users. The cost depends on k and `runs` only.
        """
        pure.require(rng=rng, runs=runs)
        histogram = pure.check_population(population, self.k)
        n = population.n
        types = rng.multinomial(n // 2, self._truths, size=runs)
        left = 2 * types[:, 0] + types[:, 1] + rng.binomial(n % 2, self.p, runs)
        counts, pool = np.zeros((runs, self.k), dtype=np.int64), n
        for v, size in enumerate(histogram):
            pool -= size
            true = rng.hypergeometric(size, pool, left) if size + pool else np.zeros(runs, dtype=np.int64)
            left = left - true
            counts[:, v] += true
            others = [u for u in range(self.k) if u != v]
            counts[:, others] += rng.multinomial(size - true, np.full(self.k - 1, 1 / (self.k - 1)))
        return pure.estimate(counts, n, *self._pq)

    def mean(self, population):
        """Return the exact expectation of the estimate, shape (k,): the true frequencies."""
        return pure.check_population(population, self.k) / population.n

    def variance(self, population):
        """Return the exact variance of the estimate, shape (k,), the users' data held fixed."""
        histogram, n = pure.check_population(population, self.k).astype(float), population.n
        return variance(histogram, n, self.p, self.rho, self.k, odd=n % 2) / n**2


def JRR(*, p, rho):
    """Return joint randomized response on {0, 1}: ``KJRR(k=2, p=p, rho=rho)``; Zheng et al. (2025), Table 2."""
    return KJRR(k=2, p=p, rho=rho)


def printed_ratio(p, rho, n, colluders):
    """Return exp of Eq. (20): the ratio that Theorem 2 states for `colluders` of n users who show their coins.

    It is not a bound when rho is negative and there are at least two colluders: see the chapter `jrr_privacy`.
    Takes numbers, arrays and Fractions; infinite where its denominator is 0.
    """
    most, least = _printed_extremes(p, rho, n, colluders)
    with np.errstate(divide="ignore"):
        return most / least if np.ndim(least) or least else math.inf


def _printed_extremes(p, rho, n, colluders):
    q, share = 1 - p, n - colluders - 1
    p_max = np.maximum((1 - rho) * p, p + rho * q)
    p_min = np.maximum(0, np.minimum((1 - rho) * q, q + rho * p))  # rounding may miss 0
    return colluders * p_max + share * p, colluders * p_min + share * q


def algorithm_1(*, epsilon, n, colluders, step_p=1e-4, step_rho=1e-4):
    """Return (p, rho) by Algorithm 1 of Zheng et al. (2025), exactly as printed, or None where it returns Null.

    It scans p downwards from e/(1+e) - step_p, and for each p scans rho upwards from 1 - 1/p, and returns the first
    pair that satisfies the constraints of Eq. (22).
    """
    check_design(epsilon, n, colluders)
    for name, step in (("step_p", step_p), ("step_rho", step_rho)):
        if not 1e-7 <= step < 1:
            raise ValueError(f"{name} must be from 1e-7 to 1; got {step!r}")
    e = math.exp(epsilon)
    p = 1 / (1 + 1 / e) - step_p
    while p > 0.5:
        rho = 1 - 1 / p + step_rho * np.arange(int(1 / p / step_rho) + 1)
        most, least = _printed_extremes(p, rho, n, colluders)
        feasible = np.flatnonzero(most <= e * least)
        if feasible.size:
            return p, float(rho[feasible[0]])
        p -= step_p
    return None


def corner(p0, c):
    """Return p* = (p0 - c) / (1 - c), the largest p for which every rho satisfies the constraint of problem (22).

    Here p0 = e / (1+e) and c = colluders / (n-1), below 1.
    """
    return (p0 - c) / (1 - c)


def optimal_parameters(*, epsilon, n, colluders, n1=None):
    """Return the exact minimiser (p, rho) of the variance under the constraints of problem (22).

    The optimum is one of three points: plain randomized response, or the corner p* with the least or the largest rho.

    Parameters
    ----------
    epsilon : float
        Budget in the sense of Eq. (20), which is not the budget of the whole transcript.
    n : int
        Number of users, even and at least 2.
    colluders : int
        Number of users who show the collector their coins, 0 to n-1.
    n1 : int, optional
        Number of users with value 1. Without it the mean variance over n1 = 0, ..., n, each as likely, is minimised.

    Returns
    -------
    (float, float)

    Notes
    -----
    Derived in the chapter `jrr_parameters`.
    """
    check_design(epsilon, n, colluders)
    if n1 is not None and (isinstance(n1, bool) or not isinstance(n1, (int, np.integer)) or not 0 <= n1 <= n):
        raise ValueError(f"n1 must be None or an integer from 0 to {n}; got {n1!r}")
    # The variance is pq/(p-q)^2 (1 + a rho) n. The mean of a over all n1 is exactly 1/3.
    a = 1 / 3 if n1 is None else ((2 * n1 - n) ** 2 - n) / (n * (n - 1))
    p0, c = 1 / (1 + math.exp(-epsilon)), colluders / (n - 1)
    best = (p0, 0.0)
    if c < math.tanh(epsilon / 2):  # otherwise p* is not above 1/2
        p = corner(p0, c)
        candidates = [best, (p, -(1 - p) / p), (p, 1.0)]
        best = min(candidates, key=lambda c: c[0] * (1 - c[0]) / (2 * c[0] - 1) ** 2 * (1 + a * c[1]))
    return best


def check_parameters(p, rho, k=2):
    """Check p and rho of `table`; the error says which range is allowed."""
    for name, value in (("p", p), ("rho", rho)):
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.number)):
            raise TypeError(f"{name} must be a number; got {value!r}")
    if not 1 / k < p <= 1:
        raise ValueError(f"p must be above 1/k = {1 / k:g} and at most 1; got {p!r}")
    low, high = rho_range(p, k)
    if not low * (1 + 1e-12) - 1e-15 <= rho <= high:
        raise ValueError(f"rho must be from {low:.12g} to {high} for p = {p:g} and k = {k}; got {rho!r}")


def check_design(epsilon, n, colluders):
    """Check the inputs of problem (22); the error says what is allowed."""
    pure.require(epsilon=epsilon)
    for name, value, low, high in (("n", n, 2, math.inf), ("colluders", colluders, 0, n)):
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
            raise TypeError(f"{name} must be an integer; got {value!r}")
        if name == "n" and (value < low or value % 2):
            raise ValueError(f"n must be an even integer of at least 2; got {value!r}")
        if name == "colluders" and not low <= value < high:
            raise ValueError(f"colluders must be from 0 to n - 1 = {n - 1}; got {value!r}")


def __getattr__(name):
    # The protocols live in jrr_protocols, which needs this module first.
    if name in ("ServerProtocol", "ShuffleProtocol"):
        from ldp_lib import jrr_protocols

        return getattr(jrr_protocols, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

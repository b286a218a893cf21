"""Joint randomized response (JRR): two users at a time toss correlated coins for whether they tell the truth."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_lib import inputs, pure, sampling


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
        inputs.require(k=self.k)
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
        inputs.require(rng=rng)
        x = inputs.check_values(x, self.k)
        true = self._shuffled_truths(x.size, rng)
        dtype = inputs.small_dtype(self.k)
        if self.k == 2:
            return x.astype(dtype) ^ ~true
        shift = rng.integers(1, self.k, size=x.size)
        return ((x + np.where(true, 0, shift)) % self.k).astype(dtype)

    def _shuffled_truths(self, n, rng):
        # To pair at random is to toss the coins of fixed pairs and deal them out at random.
        true = np.empty(n, dtype=bool)
        true[::2] = sampling.bernoulli(self.p, true[::2].size, rng)
        first, second = true[: n // 2 * 2 : 2], true[1::2]
        both, mixed, _ = table(self.p, self.rho, self.k)
        after_lie = (self.k - 1) * mixed / (1 - self.p) if self.p < 1 else 0.0
        second[:] = np.where(
            first, sampling.bernoulli(both / self.p, n // 2, rng), sampling.bernoulli(after_lie, n // 2, rng)
        )
        rng.shuffle(true)
        return true

    def estimate(self, y):
        """Return unbiased frequencies, shape (k,), from reports of shape (n,); raw, as for `GRR`."""
        y = inputs.check_values(y, self.k, "y")
        return pure.estimate(np.bincount(y, minlength=self.k), y.size, *self._pq)

    def simulate(self, population, *, rng, runs):
        """Return estimates of shape (runs, k), drawn from the exact joint law of ``estimate(perturb(x))``.

        Pairs with two truths, one and none are counted. Given their number, the true reports are a uniform sample of
        the users. The cost depends on k and `runs` only.
        """
        inputs.require(rng=rng, runs=runs)
        histogram = inputs.check_histogram(population, self.k)
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
        return inputs.check_histogram(population, self.k) / population.n

    def variance(self, population):
        """Return the exact variance of the estimate, shape (k,), the users' data held fixed."""
        histogram, n = inputs.check_histogram(population, self.k).astype(float), population.n
        return variance(histogram, n, self.p, self.rho, self.k, odd=n % 2) / n**2


def JRR(*, p, rho):
    """Return joint randomized response on {0, 1}: ``KJRR(k=2, p=p, rho=rho)``; Zheng et al. (2025), Table 2."""
    return KJRR(k=2, p=p, rho=rho)


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

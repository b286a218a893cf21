"""Joint randomized response (JRR): correlated randomization of whether two paired users tell the truth."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from ldp_lib import _inputs, _sampling, grr, pure
from ldp_lib.jrr._checks import check_number, check_p, check_parameters, check_users
from ldp_lib.jrr._formulas import rho_range, table, variance
from ldp_lib.population import Population


@dataclass(frozen=True, kw_only=True)
class Reports(pure.Oracle):
    """What all mechanisms with one report a user and p, rho share: parameters, estimate, and the report on its own."""

    k: int
    epsilon: float | None = None
    p: float | None = None
    rho: float | None = None
    independent = False
    needs_dealer = True
    binary = True

    def __post_init__(self):
        _inputs.settle(self, "k")
        if self.binary and self.k != 2:
            raise ValueError(f"k must be 2 for {type(self).__name__}; got {self.k!r}")
        if self.p is None:
            _inputs.settle(self, "epsilon")
        check_p(self.p_, self.k)
        if self.p is not None:  # in 32 bits it would round its budget
            object.__setattr__(self, "p", float(self.p))
        own = math.log(self.p_ * (self.k - 1) / (1 - self.p_)) if self.p_ < 1 else math.inf
        if own < 0.99e-9:  # a budget of 1e-9, with p rounded, is a little less
            raise ValueError(f"p must be such that ln(p (k-1) / (1-p)) is at least 1e-9; got {self.p!r}")
        if self.epsilon is None:
            object.__setattr__(self, "epsilon", max(own, 1e-9))
        check_number("epsilon", self.epsilon)
        if self.epsilon != own and not abs(self.epsilon - own) <= 1e-9:
            raise ValueError(
                f"epsilon must be ln(p (k-1) / (1-p)) = {own:.12g} and at most 15, so that p is not rounded away; "
                f"got {self.epsilon!r} with p = {self.p_!r}"
            )
        check_parameters(self.p_, self.rho_, self.k)
        for name in "epsilon", "rho":
            if getattr(self, name) is not None:
                object.__setattr__(self, name, float(getattr(self, name)))

    @property
    def p_(self) -> float:
        """Probability that a user tells the truth."""
        return grr.probabilities(self._e, self.k)[0] if self.p is None else self.p

    @property
    def rho_(self) -> float:
        """The parameter of Eq. (27): the least if it is not given."""
        return float(rho_range(self.p_, self.k)[0]) if self.rho is None else self.rho

    @cached_property
    def probabilities(self) -> tuple[float, float]:
        """Probabilities p and q of the true and of any other value."""
        return self.p_, (1 - self.p_) / (self.k - 1)

    @cached_property
    def realised_p(self) -> Fraction:
        """Probability that `perturb` tells a user's truth, exactly or at least: `p` rounded down, to keep epsilon."""
        if self.p_ == 1:
            return Fraction(1)
        e = _sampling.exp_below(self.epsilon)
        return _sampling.realised(min(Fraction(self.p_), e / (e + self.k - 1)))

    @property
    def realised_ratio(self) -> Fraction:
        """Largest ratio of one report's probabilities under two values, for p below 1: at most exp(epsilon)."""
        return self.realised_p * (self.k - 1) / (1 - self.realised_p)

    def realised_epsilon(self) -> float:
        """Return what one report on its own spends, proved from the thresholds of `perturb`: at most epsilon."""
        return super().realised_epsilon() if self.p_ < 1 else math.inf


@dataclass(frozen=True, kw_only=True)
class KJRR(Reports):
    """Pair the users at random; each pair's truthfulness is correlated, and a lie is a uniform other value.

    With an odd number of users, one of them, chosen at random, answers alone: true with probability p. Zheng et al.
    (2025), Eq. (27).

    Parameters
    ----------
    k : int
        Domain size, at least 2.
    epsilon : float, optional
        Budget of one user's report on its own, ln(p/q), to an observer who knows nothing of the other users. The
        reports of all together say more about each: see `jrr.privacy` and the chapter `audit_jrr`.
    p : float, optional
        Probability that a user tells the truth, above 1/k and at most 1. Give `epsilon`, at most 15, or `p`.
    rho : float, optional
        The parameter of Eq. (27), within `rho_range`. For k = 2 it is the correlation of the pair's truthfulness. If
        not given the least.
    """

    binary = False

    @cached_property
    def truths(self) -> np.ndarray:
        """Probabilities that two paired users tell two truths, one, and none."""
        both, mixed, _ = table(self.p_, self.rho_, self.k)
        one = max(0.0, 2 * (self.k - 1) * mixed)
        return np.array([max(0.0, both), one, max(0.0, 1 - both - one)])

    @cached_property
    def _chances(self):
        """Probabilities that the first of a pair is true, the second after a truth, and after a lie; rounded down."""
        p, (low, high) = self.realised_p, rho_range(self.realised_p, self.k)
        both, mixed, _ = table(p, min(max(Fraction(self.rho_), low), high), self.k)
        chances = p, both / p, (self.k - 1) * mixed / (1 - p) if p < 1 else 0
        return tuple(map(_sampling.realised, chances))

    @property
    def realised_pair(self) -> tuple[Fraction, ...]:
        """Probabilities that both of a pair are true, only the first, only the second, and none, exactly."""
        p, after_truth, after_lie = self._chances
        return p * after_truth, p * (1 - after_truth), (1 - p) * after_lie, (1 - p) * (1 - after_lie)

    @_inputs.users_checked
    def perturb(self, x, *, rng: pure.Rng) -> np.ndarray:
        """Return all users' reports, shape (n,): an integer array of the smallest unsigned type that holds them."""
        true = self._dealt_truths(x.size, rng)
        dtype = _inputs.small_dtype(self.k)
        if self.k == 2:
            return (x.astype(bool) == true).view(dtype)
        lie = x + (np.int64(1) + _sampling.uniform(self.k - 1, x.size, rng))  # around the circle of values
        lie -= self.k * (lie >= self.k)
        return np.where(true, x, lie).astype(dtype)

    def _dealt_truths(self, n, rng):
        # To pair at random is to toss the coins of all pairs, and to deal out the truths, however many there are.
        p, after_truth, after_lie = self._chances
        first = _sampling.bernoulli(p, n - n // 2, rng)
        truths = np.count_nonzero(first[: n // 2])
        second = (after_truth, truths), (after_lie, n // 2 - truths)
        told = np.count_nonzero(first) + sum(np.count_nonzero(_sampling.bernoulli(*coins, rng)) for coins in second)
        return _sampling.random_places(n, told, rng)

    def simulate(self, population: Population, *, rng: pure.Rng, runs: int) -> np.ndarray:
        """Return estimates of shape (runs, k), drawn distributed exactly as ``estimate(perturb(x))``.

        Pairs with two truths, one and none are counted. Given their number, the true reports are a uniform sample of
        the users. The cost depends on k and `runs` only.
        """
        histogram = _inputs.check_histogram(population, self.k, rng=rng, runs=runs)
        n = check_users(population)
        counts = self.draw_truths(histogram, rng=rng, runs=runs)
        counts += _sampling.draw_others(histogram - counts, rng)
        return pure.estimate(counts, n, *self.probabilities)

    def draw_truths(self, histogram, *, rng: pure.Rng, runs: int) -> np.ndarray:
        """Draw how many of each value's holders tell the truth, shape (runs, k), jointly distributed as they are."""
        pool = int(histogram.sum())
        types = rng.multinomial(pool // 2, self.truths, size=runs)
        truths = 2 * types[:, 0] + types[:, 1] + rng.binomial(pool % 2, self.p_, runs)
        return _sampling.draw_sample(np.tile(histogram, (runs, 1)), truths, rng)

    def variance(self, population: Population) -> np.ndarray:
        """Return the exact variance of the estimate, shape (k,), the users' data held fixed."""
        histogram, n = _inputs.check_histogram(population, self.k).astype(float), population.n
        return variance(histogram, n, self.p_, self.rho_, self.k, odd=n % 2) / n**2


@dataclass(frozen=True, kw_only=True)
class JRR(KJRR):
    """Joint randomized response on {0, 1}: `KJRR` with k = 2, which may be left out; Zheng et al. (2025), Table 2."""

    k: int = 2
    binary = True

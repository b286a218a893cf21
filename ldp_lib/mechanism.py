"""What a mechanism is: the protocol that all of them keep, and what most of them state and do alike."""

import math
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from ldp_lib import _inputs
from ldp_lib.population import Population, marginal_frequencies

Rng: TypeAlias = np.random.Generator
CHUNK = 2**20  # users; each chunk has a generator of its own


class NoExactMoments(ValueError):
    """A mechanism's mean and variance have no closed form here."""

    def __init__(self, mechanism):
        super().__init__(f"{type(mechanism).__name__}: mean and variance have no closed form here; use simulate")


@runtime_checkable
class Mechanism(Protocol):
    """What a mechanism is: users' data in, reports out, frequencies from reports, and their exact distribution.

    One attribute: `k` is an int, data have shape (n,), estimates (k,), simulated estimates (runs, k). Several: `k` is a
    tuple of d sizes, data have shape (n, d), estimates are lists of d arrays. Estimates are in shares, raw.

    Attributes
    ----------
    k : int or tuple of int
        Domain size or sizes.
    epsilon : float
        The budget of one user's whole report about the user's whole record.
    has_exact_moments : bool
        Whether `mean` and `variance` have a closed form. If not, both raise `NoExactMoments`.
    independent : bool
        Whether users report independently of each other, as if each were alone.
    unbiased : bool
        Whether the expected estimate is the true frequencies, whatever the data.
    needs_dealer : bool
        Whether somebody other than the collector must deal secrets to the users.
    least_users : int
        The least number of users that `estimate` and the moments need.
    joint : int
        Of how many attributes the reports give an unbiased joint table.
    dtype : numpy.dtype or None
        Type and shape of one report: ``numpy.zeros(n, dtype)`` has room for n. None if there are two phases.

    Notes
    -----
    A mechanism is a frozen, keyword-only dataclass, validated when it is made: a parameter of the wrong type or out of
    range is a TypeError or ValueError that names it. Its `repr` evaluates back, it can be pickled, and it equals any
    other with the same parameters. A parameter that is left out stays None; what is used in
    its place is a property with an underscore after its name, such as `size_`. So ``dataclasses.replace(m, epsilon=2)``
    is the mechanism made anew. `Stated` and `Several` spare what most mechanisms have alike, `pure.Oracle` what
    frequency oracles have. Optional: `realised_epsilon()`, a proved bound on the budget of the code that runs;
    `count(y)` and `estimate_counts(counts)`, if the estimate needs only sums over the reports; `symmetric`, true if
    exchanging an attribute's values exchanges their variances and changes no other; `tied`, true if `variance` needs
    more of a population than each attribute's frequencies.
    """

    k: Any
    epsilon: float
    has_exact_moments: bool
    independent: bool
    unbiased: bool
    needs_dealer: bool
    least_users: int
    joint: int
    dtype: Any

    def perturb(self, x, *, rng: Rng):
        """Return all users' reports."""

    def estimate(self, y):
        """Return frequencies from all reports."""

    def simulate(self, population: Population, *, rng: Rng, runs: int):
        """Return `runs` estimates drawn from the distribution of ``estimate(perturb(x))``, at a cost free of n."""

    def mean(self, population: Population):
        """Return the exact expectation of the estimate."""

    def variance(self, population: Population):
        """Return the exact variance of the estimate, the users' data held fixed."""

    def channel(self) -> np.ndarray:
        """Return Pr[report | record] of one user, records in lexicographic order; ValueError if it is too large."""

    def reports(self) -> np.ndarray:
        """Return every report of one user, in the order of the channel's columns; ValueError if they are not listed."""

    @classmethod
    def serves(cls, k) -> bool:
        """Return whether the class can serve this domain."""


class Stated:
    """What a mechanism states of itself if it does not say otherwise."""

    epsilon: float
    has_exact_moments = True
    independent = True
    unbiased = True
    needs_dealer = False
    symmetric = False
    least_users = 1
    joint = 1

    @property
    def _e(self):
        """exp(epsilon), of which formulas are functions."""
        return math.exp(self.epsilon)

    @classmethod
    def serves(cls, k) -> bool:
        """Return whether the class can be made for this domain."""
        try:
            cls(k=k, epsilon=1.0)  # type: ignore[call-arg]
        except (TypeError, ValueError):
            return False
        return True

    def reports(self) -> np.ndarray:
        """Raise ValueError: the reports of one user are not listed."""
        raise ValueError(f"reports of {type(self).__name__} are not listed")


class Several(Stated):
    """What unbiased mechanisms for several attributes share.

    Subclasses give `count` and `estimate_counts`, or `estimate`; those that set `equal` serve equal domains only.
    """

    k: tuple
    count: Any
    estimate_counts: Any
    equal = False

    def __post_init__(self):
        object.__setattr__(self, "k", _inputs.check_attributes(self.k, least=1, equal=self.equal))
        _inputs.settle(self, "epsilon")

    @property
    def d(self) -> int:
        """Number of attributes."""
        return len(self.k)

    @property
    def dtype(self) -> np.dtype | None:
        """Type and shape of one report: a record."""
        return np.dtype((_inputs.small_dtype(max(self.k)), (self.d,)))

    def reports(self) -> np.ndarray:
        """Return all reports, one a row, in lexicographic order, if a report is a record."""
        if getattr(self.dtype, "shape", None) != (self.d,):
            return super().reports()
        _inputs.check_cells(1, math.prod(self.k))
        return np.array(list(np.ndindex(*self.k)), self.dtype.base)

    def estimate(self, y) -> list:
        """Return frequencies, one array (k_j,) for each attribute, from the reports of `perturb`; raw."""
        return self.estimate_counts(self.count(y))

    def mean(self, population: Population) -> list:
        """Return the exact expectation of the estimate, the true frequencies: one array (k_j,) for each attribute."""
        _inputs.check_population(population, self.k)
        return marginal_frequencies(population)


def perturb_in_chunks(mechanism: Any, x: Any, *, rng: Rng, threads: int = 1) -> np.ndarray:
    """Return one report a user, as ``mechanism.perturb(x, rng=rng)`` does, made by several threads at once.

    Parameters
    ----------
    mechanism : Mechanism
        One that asks each user alone: none of two phases or of correlated coins, and none with ``groups=True``, since
        these deal their questions to all users together.
    x : array of int, shape (n,) or (n, d)
        The users' values or records.
    rng : numpy.random.Generator
        Source of randomness. Each chunk of `CHUNK` users gets a generator that is spawned from it, so the reports
        depend on this generator and on nothing else: on its seed, and on how often it has spawned, not on its state. So
        the next call makes other reports, but one that was moved on by ``bit_generator.advance``, or whose state was
        set, makes those of a new one with its seed: for batches, take seeds of their own.
    threads : int
        How many chunks to work on at a time: as many as there are processor cores, at best. NumPy's generators and
        arithmetic let threads run at the same time.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong type or out of range, or the mechanism does not ask each user alone.
    """
    _inputs.require(rng=rng, threads=threads)
    if not mechanism.independent:
        raise ValueError(f"mechanism must ask each user alone, not in phases or groups; got {mechanism!r}")
    x = _inputs.unmasked(x, "x")
    starts = range(0, max(len(x), 1), CHUNK)  # without users the first one raises
    streams, y = rng.spawn(len(starts)), np.empty(len(x), mechanism.dtype)

    def fill(start, stream):
        try:
            y[start : start + CHUNK] = mechanism.perturb(x[start : start + CHUNK], rng=stream)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{error}, counted from user {start}") from error

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, starts, streams))
    return y

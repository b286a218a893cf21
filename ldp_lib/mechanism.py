"""What a mechanism is: the protocol that all of them keep, and what most of them state and do alike."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from ldp_lib import inputs
from ldp_lib.population import Population, marginal_frequencies


@runtime_checkable
class Mechanism(Protocol):
    """What a mechanism is: users' data in, reports out, frequencies from reports, and the exact law of the result.

    One attribute: `k` is an int, data have shape (n,), estimates (k,), simulated estimates (runs, k). Several: `k` is a
    tuple of d sizes, data have shape (n, d), estimates are lists of d arrays. Estimates are in shares, raw.

    Attributes
    ----------
    k : int or tuple of int
        Domain size or sizes.
    epsilon : float
        The budget of one user's whole report about the user's whole record.
    has_exact_moments : bool
        Whether `mean` and `variance` have a closed form. If not, both raise `inputs.NoExactMoments`.
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
    A mechanism is a frozen, keyword-only dataclass, validated when it is made; its `repr` evaluates back, it can be
    pickled, and it equals any other with the same parameters. A parameter that is left out stays None; what is used in
    its place is a property with an underscore after its name, such as `size_`. So ``dataclasses.replace(m, epsilon=2)``
    is the mechanism made anew. `Stated` and `Several` spare what most mechanisms have alike, `pure.Oracle` what
    frequency oracles have. Optional: `realised_epsilon()`, a proved bound on the budget of the code that runs;
    `count(y)` and `estimate_counts(counts)`, if the estimate needs only sums over the reports.
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

    def perturb(self, x, *, rng: np.random.Generator):
        """Return all users' reports."""

    def estimate(self, y):
        """Return frequencies from all reports."""

    def simulate(self, population: Population, *, rng: np.random.Generator, runs: int):
        """Return `runs` estimates drawn from the law of ``estimate(perturb(x))``, at a cost free of n."""

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

    has_exact_moments = True
    independent = True
    unbiased = True
    needs_dealer = False
    least_users = 1
    joint = 1

    def reports(self) -> np.ndarray:
        """Raise ValueError: the reports of one user are not listed."""
        raise ValueError(f"reports of {type(self).__name__} are not listed")


class Several(Stated):
    """What an unbiased mechanism for several attributes has in common with others."""

    k: tuple[int, ...]

    @classmethod
    def serves(cls, k) -> bool:
        """Return whether `k` is a tuple of domain sizes of one attribute or more."""
        return inputs.are_sizes(k)

    def mean(self, population: Population) -> list[np.ndarray]:
        """Return the exact expectation of the estimate, the true frequencies: one array (k_j,) for each attribute."""
        inputs.check_population(population, self.k)
        return marginal_frequencies(population)

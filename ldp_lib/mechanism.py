"""What a mechanism is: the protocol that all of them keep."""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from ldp_lib.population import Population


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

    Notes
    -----
    A mechanism is a frozen, keyword-only dataclass, validated when it is made; its `repr` evaluates back, it can be
    pickled, and it equals any other with the same parameters. Optional: `realised_epsilon()`, a proved bound on the
    budget of the code that runs; `reports()`, every report of one user in the order of the columns of `channel()`, if
    users report independently of each other; `count(y)` and `estimate_counts(counts)`, if the estimate needs only sums
    over the reports; and `least_users`, the least number of users that `estimate` needs, 1 if absent.
    """

    k: Any
    epsilon: float
    has_exact_moments: bool

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

    @classmethod
    def serves(cls, k) -> bool:
        """Return whether the class can serve this domain."""

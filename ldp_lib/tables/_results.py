"""What the functions of this ring find: tables, estimates and tests, each with how far it can be trusted."""

import math
from dataclasses import dataclass

import numpy as np

from ldp_lib import inputs


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
        cell = np.ravel_multi_index(tuple(inputs.check_records(records, k, "records").T), k)
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

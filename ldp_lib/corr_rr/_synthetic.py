"""The Corr-RR paper's synthetic data: attributes that copy one another. SynB is `tree_law` with random parents."""

from numbers import Real

import numpy as np

from ldp_lib import _inputs
from ldp_lib.population import Population


def tree_law(frequencies, rho, parents, *, different=False):
    """Return the joint distribution, shape (k,) * d, of attributes that copy an earlier one with probability rho.

    Parameters
    ----------
    frequencies : array_like, shape (k,)
        Distribution of attribute 0.
    rho : number or symbol
        Probability to copy the parent, from 0 to 1.
    parents : sequence of d-1 ints
        The parent of attributes 1, ..., d-1; each lower than the attribute's own number.
    different : bool
        What the others do: draw a uniform value (False), or a uniform value other than the parent's (True).

    Notes
    -----
    With a uniform root and uniform draws, attribute and parent have Pearson correlation rho; with different draws it
    is (k rho - 1) / (k-1). Chapter `audit_corr_rr_evaluation`.
    """
    if isinstance(rho, Real) and not 0 <= rho <= 1:
        raise ValueError(f"rho must be from 0 to 1; got {rho!r}")
    law = np.asarray(frequencies)
    k = len(law)
    for child, parent in enumerate(parents, 1):
        if not 0 <= parent < child:
            raise ValueError(f"parents must come before their children; got {parent} for attribute {child}")
        same, other = (rho, (1 - rho) / (k - 1)) if different else (rho + (1 - rho) / k, (1 - rho) / k)
        copy = np.where(np.eye(k, dtype=bool), same, other)
        shape = [k if axis in (parent, child) else 1 for axis in range(child + 1)]
        law = law[..., None] * copy.reshape(shape)
    return law


def syn_a(n, *, d, rho, frequencies, rng, different=False):
    """Return n users of the Corr-RR paper's SynA: attribute 0 is drawn, each other one copies it or draws anew.

    Parameters
    ----------
    n : int
        Number of users.
    d : int
        Number of attributes, at least 2.
    rho : float
        Probability to copy, from 0 to 1.
    frequencies : array_like, shape (k,)
        Distribution of attribute 0.
    rng : numpy.random.Generator
        Source of randomness.
    different : bool
        As in `tree_law`. The paper's words say True, its table of correlations says False.

    Notes
    -----
    Seeam et al. (revised 2026), Section 4.2.3. Chapter `audit_corr_rr_evaluation`.
    """
    for name, value, least in (("n", n, 1), ("d", d, 2)):
        if not _inputs.is_integer(value) or value < least:
            raise ValueError(f"{name} must be an integer of at least {least}; got {value!r}")
    _inputs.require(rng=rng)
    f = np.asarray(frequencies, float)
    if f.ndim != 1 or f.size < 2 or not (f.min() >= 0 and abs(f.sum() - 1) <= 1e-9):
        raise ValueError(f"frequencies must be at least two probabilities that sum to 1; got {frequencies!r}")
    law = tree_law(f / f.sum(), rho, [0] * (d - 1), different=different)
    return Population.from_counts(rng.multinomial(n, law.ravel() / law.sum()).reshape(law.shape))

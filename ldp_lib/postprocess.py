"""Turn a raw estimate into a probability vector. Never applied silently: raw estimates are unbiased, these are not."""

import numpy as np

from ldp_lib import _inputs


def clip_normalize(v):
    """Replace negative entries by 0 and divide by the sum.

    Parameters
    ----------
    v : array_like, shape (..., k)
        Raw estimates; floats or Fractions.

    Returns
    -------
    array, shape (..., k)
        Non-negative entries that sum to 1 along the last axis. In general not the nearest such vector.

    Raises
    ------
    ValueError
        If an entry is not finite, or if no entry of a vector is positive.
    """
    v = _check(v)
    clipped = np.maximum(v, 0)
    total = clipped.sum(axis=-1, keepdims=True)
    if not (total > 0).all():
        raise ValueError("v must have a positive entry in every vector; got one without")
    return clipped / total


def project_simplex(v):
    """Return the nearest probability vector in Euclidean distance.

    Parameters
    ----------
    v : array_like, shape (..., k)
        Raw estimates; floats or Fractions (then the answer is exact).

    Returns
    -------
    array, shape (..., k)
        max(v - t, 0), with the one t for which it sums to 1 along the last axis.

    Notes
    -----
    Held, Wolfe and Crowder (1974). Derived in the chapter `audit_multidim_evaluation`.
    """
    v = _check(v)
    v = v - v.max(axis=-1, keepdims=True)  # a common shift does not matter, and keeps rounding small
    descending = np.flip(np.sort(v, axis=-1), axis=-1)
    size = np.arange(1, v.shape[-1] + 1)
    shifts = (np.cumsum(descending, axis=-1) - 1) / size
    support = (descending > shifts).sum(axis=-1, keepdims=True)
    return np.maximum(v - np.take_along_axis(shifts, support - 1, axis=-1), 0)


def _check(v):
    v = _inputs.unmasked(v, "v")
    if v.ndim == 0 or v.shape[-1] == 0:
        raise ValueError(f"v must have at least one entry along its last axis; got shape {v.shape}")
    if v.dtype.kind not in "iufO":
        raise TypeError(f"v must hold numbers; got type {v.dtype}")
    if v.dtype.kind in "iu" or v.dtype.itemsize < 8:  # differences of narrow or unsigned integers wrap around
        v = v.astype(float)
    bad = ~np.isfinite(v.astype(float))
    if bad.any():
        raise ValueError(f"v must be finite; got {v[bad][0]}")
    return v

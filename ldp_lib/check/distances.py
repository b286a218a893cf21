"""Distances of simulated numbers from theory, in standard errors, never in typed tolerances.

Compare what the functions that end in `_z` return with 5; of several components it is the largest distance.
"""

import numpy as np

from ldp_lib.check import exact


def mean_z(runs, mean):
    """Return how many standard errors the average of `runs`, shape (R,) or (R, m), lies from `mean`."""
    runs = _check(runs)
    return _largest(runs.mean(axis=0) - mean, runs.std(axis=0, ddof=1) / np.sqrt(len(runs)), runs)


def variance_z(runs, variance):
    """Return how many standard errors the sample variance of `runs`, shape (R,) or (R, m), lies from `variance`.

    If `variance` is a covariance matrix (m, m), the sample covariances are compared with it. The standard error comes
    from the sample's own second and fourth moments, so no normality is assumed. Like any such estimate it
    needs runs that are not nearly all equal: a rare event must have been seen some dozens of times.
    """
    runs = _check(runs)
    size, centred, terms = len(runs), runs - runs.mean(axis=0), runs**2
    if np.ndim(variance) == 2:
        products, terms = centred[:, :, None] * centred[:, None, :], runs[:, :, None] * runs[:, None, :]
        second, error = products.mean(axis=0), products.std(axis=0, ddof=1) / np.sqrt(size)
    else:
        second = runs.var(axis=0)
        error = np.sqrt(((centred**4).mean(axis=0) - second**2 * (size - 3) / (size - 1)) / size)
    return _largest(second * size / (size - 1) - variance, error, terms)


def law_z(runs, law):
    """Return how many standard errors the chi-squared distance of `runs` from a distribution lies from its mean.

    Parameters
    ----------
    runs : array, shape (R, m)
        Simulated values.
    law : dict
        All values, as tuples of m numbers, and their probabilities, as `channel.exact_law` gives them.

    Returns
    -------
    float
        (X^2 - E[X^2]) / sd[X^2], both moments exact under the distribution, after pooling the rarest values until they
        are expected five times together; infinity if a run has a value outside the distribution.
    """
    runs = _check(runs)
    values = np.array(list(law), float)
    probabilities = np.array(list(law.values()), float)
    values, probabilities = values[probabilities > 0], probabilities[probabilities > 0]
    distance = np.abs(runs.reshape(len(runs), 1, -1) - values).max(axis=2)
    nearest = distance.argmin(axis=1)
    if (distance.min(axis=1) > 1e-9 * max(1, np.abs(values).max())).any():
        return float("inf")
    # Pool the rarest values, until the pool is expected five times: a rare cell would drown all others.
    # Equal ones in their own order: a processor's fast sort has another, and rounding is no reason to come first.
    order, size = np.argsort(np.round(probabilities, 12), kind="stable"), len(runs)
    pooled = int(np.searchsorted(np.round(size * np.cumsum(probabilities[order]), 9), 5)) + 1
    cell = np.empty(len(values), int)
    cell[order] = np.maximum(np.arange(len(values)) - pooled + 1, 0)
    chance = np.bincount(cell, weights=probabilities)
    count = np.bincount(cell[nearest], minlength=len(chance))
    cells = len(chance)
    statistic = ((count - size * chance) ** 2 / (size * chance)).sum()
    spread = 2 * (cells - 1) * (size - 1) / size + ((1 / chance).sum() - cells**2) / size
    if cells == 1:
        raise ValueError(f"runs must be enough for two cells expected five times; got {size}")
    return float((statistic - (cells - 1)) / np.sqrt(spread))


def _check(runs):
    runs = np.asarray(runs, float)
    if runs.ndim not in (1, 2) or len(runs) < 2:
        raise ValueError(f"runs must have shape (R,) or (R, m) with R of at least 2; got shape {runs.shape}")
    if not np.isfinite(runs).all():
        raise ValueError("runs must be finite; got NaN or infinity")
    return runs


def _largest(difference, error, terms):
    # Rounding in a sum of equal terms is no evidence against a theory.
    rounding = len(terms) * np.finfo(float).eps * np.abs(terms).max(axis=0)
    difference = np.where(np.abs(difference) <= rounding, 0, np.abs(difference))
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.max(np.where(difference == 0, 0, difference / error)))


def close(runs, *, mean=None, variance=None, foil):
    """Check that simulated numbers agree with theory within 5 standard errors, and that a wrong theory does not.

    Parameters
    ----------
    runs : array of shape (R,) or (R, m)
        Simulated values.
    mean, variance : number or array of shape (m,)
        What one of the two is in theory; give exactly one.
    foil : number or array
        A wrong value of the same quantity, which must be more than 5 standard errors away.

    Raises
    ------
    AssertionError
        If the theory is too far off, or the foil is not far enough: it gives the distance.
    """
    if (mean is None) == (variance is None):
        raise TypeError("close needs exactly one of mean and variance")
    distance, theory = (mean_z, mean) if variance is None else (variance_z, variance)
    off, wrong = distance(runs, theory), distance(runs, foil)
    if not off < 5:
        return exact._fail(f"the theory is {off:.1f} standard errors off")
    if not wrong > 5:
        return exact._fail(f"the foil is only {wrong:.1f} standard errors off: this check cannot see it")
    return exact.passed(True)

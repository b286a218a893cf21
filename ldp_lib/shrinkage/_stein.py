"""Shrink raw estimates by factors that the estimates choose themselves; each way with Stein's estimate of its error.

The raw estimate is unbiased, what comes out here is not. An attribute's `noise` is the total variance of its estimate,
summed over its values; noise is taken as normal and alike in every direction in which the values sum to 1. For the
reports of one question with budgets up to 1 this is close. Chapter `shrinkage`.
"""

import math
from dataclasses import dataclass

import numpy as np

from ldp_lib._inputs import check_users, unmasked
from ldp_lib.sampled.design import attribute_error


@dataclass(frozen=True, eq=False)
class Shrunk:
    """Estimates, d arrays of shape (..., k_j), and Stein's unbiased estimate of their total squared error, (...)."""

    estimates: list
    risk: np.ndarray


def question_noise(mechanism, n):
    """Return the noise of each attribute's estimate by a `OneQuestion` with n users: a list of d floats.

    The oracle's total variance for uniform frequencies over the number of users asked: for users drawn at random too
    much, by what the true frequencies are apart from uniform (near 0 or 1 several times at a large epsilon); for users
    held fixed far too much at a large epsilon.
    """
    n = check_users(n)
    parts = zip(mechanism.oracle_, mechanism.weights_, strict=True)
    return [attribute_error(part.k, *part.probabilities) / (n * weight) for part, weight in parts]


def raw(estimates, noise):
    """Leave the estimates as they are."""
    parts, noise, shape = _check(estimates, noise)
    return Shrunk(parts, np.full(shape, sum(noise)))


def together(estimates, noise, centre=None):
    """Shrink all attributes by one factor towards `centre`.

    Parameters
    ----------
    estimates : sequence of d arrays, shape (..., k_j)
        Unbiased estimates.
    noise : sequence of d numbers
        Total variance of each attribute's estimate.
    centre : sequence of d arrays, shape (k_j,) or (..., k_j), optional
        Where to shrink to: 1/k_j if not given. It must be independent of the estimates.

    Returns
    -------
    Shrunk
        centre + max(0, 1 - a/N) (estimate - centre), with N the squared distance of all estimates from the centre.

    Notes
    -----
    James and Stein (1961), with the a of Bock (1975) up to which the error never exceeds the raw one:
    2 (S - 2 max v_j), with S the sum of the noise and v_j = noise_j / (k_j - 1); but no more than S, and at least 0.
    """
    parts, noise, _ = _check(estimates, noise)
    centre = _centre(parts, centre)
    dimensions = [g.shape[-1] - 1 for g in parts]
    moved, risk = _factor([g - c for g, c in zip(parts, centre, strict=True)], noise, dimensions)
    return Shrunk([c + g for c, g in zip(centre, moved, strict=True)], risk)


def separately(estimates, noise, centre=None):
    """Shrink each attribute by a factor of its own towards `centre`; arguments as in `together`."""
    parts, noise, _ = _check(estimates, noise)
    centre = _centre(parts, centre)
    each = [together([g], [s], [c]) for g, s, c in zip(parts, noise, centre, strict=True)]
    return Shrunk([one.estimates[0] for one in each], sum(one.risk for one in each))


def common(estimates, noise):
    """Shrink the attributes' average towards 1/k, and each attribute towards the average: for equal domains.

    Two factors, one for the average and one for the distances from it, as in Lindley's remark on James and Stein.
    The noise is taken as equal: its mean is used.
    """
    stack, level = _stack(estimates, noise)
    d, k = stack.shape[-2:]
    mean = stack.mean(axis=-2, keepdims=True)
    centre, first = _block(np.sqrt(d) * (mean - 1 / k), (k - 1), level)
    around, second = _block(stack - mean, (d - 1) * (k - 1), level)
    return Shrunk(_split(1 / k + centre / np.sqrt(d) + around), first + second)


def pooled(estimates, noise):
    """Shrink the singular values of the d by k table of all estimates less 1/k: for equal domains.

    A singular value s becomes max(0, s - a/s), with a = v max(d, k-1) and v the noise in one direction. So patterns
    that several attributes share are kept, others are not. The noise is taken as equal: its mean is used. The risk is
    that of Candes, Sing-Long and Trzasko (2013).
    """
    stack, level = _stack(estimates, noise)
    d, k = stack.shape[-2:]
    left, s, right = np.linalg.svd(stack - 1 / k, full_matrices=False)
    kept = min(d, k - 1)
    left, s, right = left[..., :kept], s[..., :kept], right[..., :kept, :]
    a = level * max(d, k - 1)
    s = np.maximum(s, np.finfo(float).tiny ** 0.25)
    new = np.maximum(0, s - a / s)
    slope = np.where(new > 0, 1 + a / s**2, 0).sum(axis=-1)
    slope += abs(d - k + 1) * (new / s).sum(axis=-1)
    square = s**2
    gap = square[..., :, None] - square[..., None, :] + np.eye(kept)
    apart = np.where(gap == 0, np.inf, gap)
    slope += 2 * ((s * new)[..., :, None] / apart * (1 - np.eye(kept))).sum(axis=(-1, -2))
    risk = ((s - new) ** 2).sum(axis=-1) + level * (2 * slope - d * (k - 1))
    return Shrunk(_split(1 / k + (left * new[..., None, :]) @ right), risk)


WAYS = (raw, together, separately, common, pooled)


def choose(estimates, noise, ways=WAYS):
    """Return the way of shrinking that has the least estimated error, for each run on its own.

    `common` and `pooled` are left out where the domains differ or there is one attribute. The risk that is returned
    is the least of several, so it is too small on average.
    """
    parts, noise, _ = _check(estimates, noise)
    alike = len({g.shape[-1] for g in parts}) == 1 < len(parts)
    found = [way(parts, noise) for way in ways if alike or way not in (common, pooled)]
    if not found:
        raise ValueError(f"ways must hold one that serves these domains; got {[way.__name__ for way in ways]}")
    risks = np.stack([one.risk for one in found])
    best = risks.argmin(axis=0)[None, ..., None]
    columns = zip(*(one.estimates for one in found), strict=True)
    picked = [np.take_along_axis(np.stack(column), best, axis=0)[0] for column in columns]
    return Shrunk(picked, risks.min(axis=0))


def _factor(parts, noise, dimensions):
    """Return the centred parts times one factor, and the risk; each part's noise is spread over its dimensions."""
    total = sum(noise)
    each = [s / dimension for s, dimension in zip(noise, dimensions, strict=True)]
    a = max(0, min(total, 2 * (total - 2 * max(each))))
    squares = [(g**2).sum(axis=-1, keepdims=True) for g in parts]
    size = np.maximum(sum(squares), np.finfo(float).tiny ** 0.5)
    factor = np.maximum(0, 1 - a / size)
    spread = sum(v * square for v, square in zip(each, squares, strict=True))
    live = total + a / size * (a - 2 * total + 4 * spread / size)
    return [factor * g for g in parts], np.where(factor > 0, live, size - total)[..., 0]


def _block(values, dimension, level):
    """Return values (..., r, k) times one factor, and the risk; noise `level` in each of `dimension` directions."""
    (moved,), risk = _factor([values.reshape(*values.shape[:-2], -1)], [level * dimension], [dimension])
    return moved.reshape(values.shape), risk


def _check(estimates, noise):
    parts = [np.asarray(unmasked(g, "estimates"), float) for g in estimates]
    small = any(g.ndim == 0 or g.shape[-1] < 2 for g in parts)
    if not parts or small or len({g.shape[:-1] for g in parts}) > 1:
        raise ValueError(
            f"estimates must be arrays (..., k_j) with k_j of at least 2, alike but for k_j; "
            f"got shapes {[g.shape for g in parts]}"
        )
    finite = all(np.isfinite(g).all() for g in parts)
    if not finite:
        raise ValueError("estimates must be finite; got NaN or infinity")
    noise = [float(s) for s in noise]
    if len(noise) != len(parts) or not all(s >= 0 and math.isfinite(s) for s in noise):
        raise ValueError(f"noise must be one number of at least 0 for each of {len(parts)} attributes; got {noise}")
    return parts, noise, parts[0].shape[:-1]


def _centre(parts, centre):
    if centre is None:
        return [np.full(g.shape[-1], 1 / g.shape[-1]) for g in parts]
    centre = [np.asarray(c, float) for c in centre]
    if len(centre) != len(parts) or any(c.shape[-1:] != g.shape[-1:] for c, g in zip(centre, parts, strict=True)):
        raise ValueError(
            f"centre must have the shapes of the estimates, {[g.shape for g in parts]}; got {[c.shape for c in centre]}"
        )
    return centre


def _stack(estimates, noise):
    parts, noise, _ = _check(estimates, noise)
    sizes = {g.shape[-1] for g in parts}
    if len(sizes) > 1 or len(parts) < 2:
        raise ValueError(f"estimates must be two attributes or more of equal size k; got {[g.shape for g in parts]}")
    return np.stack(parts, axis=-2), sum(noise) / len(parts) / (sizes.pop() - 1)


def _split(stack):
    return list(np.moveaxis(stack, -2, 0))

"""The shortest least-squares solution in a box."""

import numpy as np


def shortest_least_squares(a, b, low, high, *, tolerance=1e-12):
    """Return the shortest of all t from low < 0 to high > 0 whose a @ t is nearest to b; entries of a up to order 1.

    First one of the nearest is found. Where the error has a slope, every nearest t is at that bound; the others can
    move in the null space of their columns, and the shortest way to within the bounds is a problem of the same kind
    (least distance programming: Lawson and Hanson 1974, chapter 23). Singular values below `tolerance` count as 0,
    as do slopes and distances from a bound that a change by so much of a and b, or of t, would take away.
    """
    from scipy.optimize import lsq_linear, nnls

    t = lsq_linear(a, b, (low, high), method="bvls", tol=1e-15, max_iter=100 * a.size).x
    error = b - a @ t
    movable = np.abs(a.T @ error) <= tolerance * (np.linalg.norm(a, axis=0) + np.linalg.norm(error))
    if not movable.any():
        return t
    _, size, right = np.linalg.svd(a[:, movable])
    moves = right[np.count_nonzero(size > tolerance) :].T
    start = t[movable] - moves @ (moves.T @ t[movable])
    sides = np.block([[moves.T, -moves.T], [low - start, start - high]])
    at = nnls(sides, np.eye(len(sides))[-1])[0] > 0  # the bounds it reaches
    t[movable] = start + moves @ np.linalg.lstsq(sides[:-1, at].T, sides[-1, at], rcond=None)[0]
    return np.where(t < low + tolerance, low, np.where(t > high - tolerance, high, t))

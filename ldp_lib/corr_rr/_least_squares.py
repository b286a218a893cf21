"""The shortest least-squares solution in a box."""

import numpy as np


def shortest_least_squares(a, b, low, high, *, tolerance=1e-12):
    """Return the shortest of all t from low < 0 to high > 0 whose a @ t is nearest to b; entries of a up to order 1.

    First one of the nearest is found. Where the error has a slope, every nearest t is at that bound; the others can
    move in the null space of their columns, and the shortest way to within the bounds is a problem of the same kind
    (least distance programming: Lawson and Hanson 1974, chapter 23). Singular values below `tolerance` count as 0,
    as do slopes and distances from a bound that a change by so much of a and b, or of t, would take away.
    """
    t = _nearest_in_box(a, b, low, high, tolerance=1e-15)
    error = b - a @ t
    movable = np.abs(a.T @ error) <= tolerance * (np.linalg.norm(a, axis=0) + np.linalg.norm(error))
    _, size, right = np.linalg.svd(a[:, movable])
    moves = right[np.count_nonzero(size > tolerance) :].T
    start = t[movable] - moves @ (moves.T @ t[movable])
    sides = np.block([[moves.T, -moves.T], [low - start, start - high]])
    at = _nearest_in_box(sides, np.eye(len(sides))[-1], 0, np.inf, tolerance=tolerance) > 0  # the bounds it reaches
    t[movable] = start + moves @ np.linalg.lstsq(sides[:-1, at].T, sides[-1, at], rcond=None)[0]
    return np.where(t < low + tolerance, low, np.where(t > high - tolerance, high, t))


def _nearest_in_box(a, b, low, high, *, tolerance):
    """Return a t from low to high with a @ t nearest to b; slopes that changing a by `tolerance` makes count as 0.

    An active-set method (bounded-variable least squares, Stark and Parker 1995). All start at `low`. Of those at a
    bound that a slope draws inward, the one with the steepest slope is freed. Its column is independent of the free
    ones, and those are between the bounds; so each round lowers the error, and the same ones are never free again with
    the others at the same bounds. Only rounding could bring that about, and a round that does is taken back.
    """
    norm, t, seen = np.linalg.norm, np.full(a.shape[1], float(low)), set()
    free, blocked = np.zeros((2, len(t)), dtype=bool)
    rounding = sum(a.shape) * np.finfo(float).eps * norm(a, axis=0)
    while True:
        error = b - a @ t
        flat = tolerance * norm(error) + rounding * (norm(b) + norm(a) * norm(t))
        slope = np.where(t == low, 1, -1) * (a.T @ error)
        inward = np.where(free | blocked | (slope <= flat), 0, slope)
        if not inward.any():
            return t
        chosen = inward.argmax()
        found, left = _solve_free(a, b, t, free | (np.arange(len(t)) == chosen), low, high)
        if (state := np.array([left, found == low]).tobytes()) in seen:
            blocked[chosen] = True
        else:
            t, free, blocked = found, left, np.zeros_like(free)
            seen.add(state)


def _solve_free(a, b, t, free, low, high):
    """Move the free coordinates to their best place; fix at its bound what would pass it."""
    while True:
        goal = t.copy()
        goal[free] = np.linalg.lstsq(a[:, free], b - a[:, ~free] @ t[~free], rcond=None)[0]
        passed = free & ((goal <= low) | (goal >= high))
        if not passed.any():
            return goal, free
        bound, share = np.where(goal >= high, high, low), np.where(passed, 0.0, np.inf)
        np.divide(bound - t, goal - t, out=share, where=passed & (goal != t))
        t = np.where(free, t + share.min() * (goal - t), t)
        stopped = passed & (share <= share.min())
        t, free = np.where(stopped, bound, t), free & ~stopped

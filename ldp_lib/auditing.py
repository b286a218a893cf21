"""Privacy audit: what a mechanism is seen to spend, as a lower confidence bound from samples of its reports."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta

from ldp_lib import _inputs, hashing


@dataclass(frozen=True, kw_only=True)
class Audit:
    """What an audit found.

    Attributes
    ----------
    epsilon : float
        The budget that was promised.
    bound : float
        With probability `confidence` the mechanism spends at least this.
    hits : (int, int)
        How often the event occurred under the likelier data and under the other, each out of `runs`.
    runs : int
        Reports, or surveys, under each data that were not used to choose the event.
    confidence : float
    """

    epsilon: float
    bound: float
    hits: tuple[int, int]
    runs: int
    confidence: float

    @property
    def passed(self) -> bool:
        """Whether what was seen is compatible with the promise."""
        return self.bound <= self.epsilon


def audit(
    mechanism: Any,
    x: ArrayLike,
    x2: ArrayLike,
    *,
    rng: np.random.Generator,
    runs: int = 100_000,
    confidence: float = 1 - 1e-6,
    epsilon: float | None = None,
    view: Callable | None = None,
) -> Audit:
    """Look for an event that tells x from x2 better than epsilon allows.

    Parameters
    ----------
    mechanism : object
        Anything with ``perturb(x, rng=)``, `k` (an int, or a tuple for several attributes) and `epsilon`.
    x, x2 : int or sequence of int, or array of one dimension more
        Two values or records of one user. Then `runs` users hold each, and their reports count as independent. Or the
        data of a whole survey, shape (n,) or (n, d), twice, different in one user's row: then `runs` surveys are made
        of each. So it must be where users' coins hang together, or where one user's report depends on others'.
    rng : numpy.random.Generator
        Source of randomness.
    runs : int
        Reports or surveys under each of x and x2, at least 2. Half of them choose the event, the others test it.
    confidence : float
        Probability, above 0 and below 1, with which the bound holds.
    epsilon : float, optional
        The promise; if not given ``mechanism.epsilon``.
    view : function, optional
        What the observer sees, from what `perturb` returns: an array with a row for each report, or for a whole survey
        anything of arrays. If not given everything; of a hashed report the bucket, and the buckets of x and x2.

    Returns
    -------
    Audit

    Notes
    -----
    The event is a set of reports, those with the largest ratio of counts in the first half, as many as give the largest
    bound there. In the second half its probabilities are bounded as Clopper and Pearson (1934) do. A mechanism that
    passes may still spend more, in an event too rare to be seen: a proof is `realised_epsilon()`.
    """
    _inputs.require(rng=rng, runs=runs)
    _inputs.require_share("confidence", confidence)
    if runs < 2:
        raise ValueError(f"runs must be at least 2, one to choose the event and one to test it; got {runs}")
    one, other = np.asarray(x), np.asarray(x2)
    depth = int(isinstance(mechanism.k, tuple))
    if one.shape != other.shape or one.ndim not in (depth, depth + 1):
        raise ValueError(f"x and x2 must be two values or records, or two surveys; got {x!r} and {x2!r}")
    if np.array_equal(one, other):
        raise ValueError(f"x2 must differ from x; got {x!r} twice")
    survey = one.ndim > depth
    if survey and (one != other).reshape(len(one), -1).any(axis=1).sum() > 1:
        raise ValueError("x2 must differ from x in one user's data only")
    if view is None:
        hashed = isinstance(mechanism, hashing.OLH)
        view = (lambda y: _bucket_view(y, mechanism.g_, one, other)) if hashed else lambda y: y
    rows = [(_survey_rows if survey else _report_rows)(mechanism, side, runs, rng, view) for side in (one, other)]
    _, codes = np.unique(np.concatenate(rows), return_inverse=True)
    halves = np.split(codes.reshape(2, runs), [half := runs // 2], axis=1)
    chosen, tested = ([np.bincount(part, minlength=codes.max() + 1) for part in sides] for sides in halves)
    events = []
    for (likely, rare), seen in ((chosen, tested), (chosen[::-1], tested[::-1])):
        order = np.argsort(-(likely + 0.5) / (rare + 0.5), kind="stable")
        bounds = _log_ratio_bound(np.cumsum(likely[order]), np.cumsum(rare[order]), half, confidence)
        event = order[: np.argmax(bounds) + 1]
        first, second = (int(counts[event].sum()) for counts in seen)
        events.append((bounds.max(), (first, second)))
    _, hits = max(events, key=lambda event: event[0])
    promise = float(mechanism.epsilon if epsilon is None else epsilon)
    bound = max(0.0, float(_log_ratio_bound(*hits, runs - half, confidence)))
    return Audit(epsilon=promise, bound=bound, hits=hits, runs=runs - half, confidence=float(confidence))


def _log_ratio_bound(hits, hits2, runs, confidence):
    """Return a lower confidence bound on ln(P / P2) from two binomial counts, Clopper and Pearson's for each share."""
    error = (1 - confidence) / 2
    low = np.where(hits > 0, beta.ppf(error, hits, runs - hits + 1), 1e-300)
    high = np.where(hits2 < runs, beta.isf(error, hits2 + 1, runs - hits2), 1)
    return np.log(low) - np.log(high)


def _bucket_view(y, g, *values):
    return np.column_stack([y["y"], *(hashing.hash_values(y["seed"], int(value), g) for value in values)])


def _bytes(y):
    return b"|".join(map(_bytes, y)) if isinstance(y, tuple) else np.ascontiguousarray(y).tobytes()


def _report_rows(mechanism, x, runs, rng, view):
    y = np.ascontiguousarray(view(mechanism.perturb(np.repeat(x[None], runs, axis=0), rng=rng)))
    return y.view(np.dtype((np.void, y.nbytes // runs))).reshape(runs)


def _survey_rows(mechanism, x, runs, rng, view):
    surveys = (mechanism.perturb(x, rng=rng) for _ in range(runs))
    return np.array([_bytes(view(y)) for y in surveys], object)

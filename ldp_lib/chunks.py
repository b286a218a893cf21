"""Reports made by several threads at once, the same whatever their number: for simulations and servers."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from ldp_lib import _inputs

CHUNK = 2**20  # users; each chunk has a generator of its own


def perturb_in_chunks(mechanism: Any, x: Any, *, rng: np.random.Generator, threads: int = 1) -> np.ndarray:
    """Return one report a user, as ``mechanism.perturb(x, rng=rng)`` does, made by several threads at once.

    Parameters
    ----------
    mechanism : Mechanism
        One that asks each user alone: none of two phases or of correlated coins, and none with ``groups=True``, since
        these deal their questions to all users together.
    x : array of int, shape (n,) or (n, d)
        The users' values or records.
    rng : numpy.random.Generator
        Source of randomness. Each chunk of `CHUNK` users gets a generator that is spawned from it, so the reports
        depend on this generator and on nothing else.
    threads : int
        How many chunks to work on at a time: as many as there are processor cores, at best. NumPy's generators and
        arithmetic let threads run at the same time.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong type or out of range, or the mechanism does not ask each user alone.
    """
    _inputs.require(rng=rng, threads=threads)
    if not mechanism.independent:
        raise ValueError(f"mechanism must ask each user alone, not in phases or groups; got {mechanism!r}")
    x = _inputs.unmasked(x, "x")
    starts = range(0, max(len(x), 1), CHUNK)  # without users the first one raises
    streams, y = rng.spawn(len(starts)), np.empty(len(x), mechanism.dtype)

    def fill(start, stream):
        try:
            y[start : start + CHUNK] = mechanism.perturb(x[start : start + CHUNK], rng=stream)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{error}, counted from user {start}") from error

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, starts, streams))
    return y

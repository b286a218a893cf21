"""Many users' reports on several processor cores: the same reports whatever the number of threads."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ldp_lib import inputs

CHUNK = 2**20  # users; each chunk has a generator of its own


def perturb_in_chunks(mechanism, x, *, rng: np.random.Generator, threads=1):
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
    inputs.require(rng=rng, threads=threads)
    if any(hasattr(mechanism, name) for name in ("n1", "rho")) or getattr(mechanism, "groups", False):
        allowed = "mechanism must ask each user alone: not in two phases, in groups or with correlated coins"
        raise ValueError(f"{allowed}; got {mechanism!r}")
    x = inputs.unmasked(x, "x")
    starts = range(0, len(x), CHUNK)
    *streams, spare = rng.spawn(len(starts) + 1)
    one = mechanism.perturb(x[:1], rng=spare)  # what a report looks like
    y = np.empty((len(x), *one.shape[1:]), one.dtype)

    def fill(start, stream):
        try:
            y[start : start + CHUNK] = mechanism.perturb(x[start : start + CHUNK], rng=stream)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{error}, counted from user {start}") from error

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, starts, streams))
    return y

"""Coins: Bernoulli draws from random bytes, and counts of support drawn without drawing users."""

import numpy as np

from ldp_lib.inputs import require, small_dtype


def bernoulli(p, size, rng):
    """Draw booleans of the given size that are True with probability p.

    One random byte decides 255 of 256 draws; where the byte ties with p, a float draw settles it. The probability is
    p to within 2**-61, and the cost is a fraction of one float per draw.
    """
    threshold = int(p * 256)
    hit = np.empty(size, dtype=bool)
    flat = hit.reshape(-1)
    for start in range(0, flat.size, 2**16):  # a block stays in the cache
        block = flat[start : start + 2**16]
        byte = rng.integers(2**64, size=-(-block.size // 8), dtype=np.uint64).view(np.uint8)[: block.size]
        np.less(byte, threshold, out=block)
        tie = np.flatnonzero(byte == threshold)
        block[tie] = rng.random(tie.size) < p * 256 - threshold
    return hit


def simulate_counts(histogram, p, q, *, rng, runs):
    """Draw counts of support, shape (runs, k): for each value on its own, Bin(n_v, p) + Bin(n - n_v, q)."""
    require(rng=rng, runs=runs)
    others = histogram.sum() - histogram
    return rng.binomial(histogram, p, (runs, histogram.size)) + rng.binomial(others, q, (runs, histogram.size))


def draw(probabilities, size, rng):
    """Draw `size` values independently, each v with probability ``probabilities[v]``, in the smallest integer type."""
    chances = np.asarray(probabilities, dtype=float)
    dtype = small_dtype(chances.size)
    if (chances == chances[0]).all():
        return rng.integers(chances.size, size=size, dtype=dtype)
    edges = np.cumsum(chances)
    edges[np.flatnonzero(chances)[-1] :] = 1.0  # rounding must not reach a value of probability 0
    return np.searchsorted(edges, rng.random(size), side="right").astype(dtype)

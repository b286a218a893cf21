"""Coins: Bernoulli draws from random bytes, and counts of support drawn without drawing users."""

import numpy as np

from ldp_lib.inputs import require, small_dtype

BLOCK = 2**20  # entries of working memory in `draw_sampled`


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


def draw_sampled(population, *, rng, runs):
    """Return how many users sampled each attribute and hold each value: d arrays of int, shape (runs, k_j).

    Each user picks one of the d attributes. Holders of rare records are drawn one by one. Of a common record, a
    binomial number picks the last attribute; records that agree in all others are then merged, and so on.
    """
    k, common = population.k, population.counts > 16
    offsets = np.cumsum((0, *k))
    cells = np.repeat(population.records[~common] + offsets[:-1], population.counts[~common], axis=0).astype(np.int32)
    rows = np.arange(len(cells), dtype=np.int32)
    table = np.zeros((runs, offsets[-1]), dtype=np.int64)
    for run in range(runs):
        picked = cells[rows, rng.integers(len(k), size=len(cells), dtype=small_dtype(len(k)))]
        table[run] = np.bincount(picked, minlength=offsets[-1])
    records, counts = population.records[common], population.counts[common]
    block = max(1, BLOCK // max(1, len(records)))
    for start in range(0, runs if len(records) else 0, block):
        stop = min(start + block, runs)
        left, merged = np.broadcast_to(counts, (stop - start, len(counts))), records
        for j in range(len(k) - 1, -1, -1):
            chosen = rng.binomial(left, 1 / (j + 1)) if j else left
            one_hot = np.eye(k[j])[merged[:, j]]  # sums below 2**53 are exact in floats
            table[start:stop, offsets[j] : offsets[j + 1]] += (chosen @ one_hot).astype(np.int64)
            if j:
                first = np.flatnonzero(np.r_[True, (np.diff(merged[:, :j], axis=0) != 0).any(axis=1)])
                merged, left = merged[first, :j], np.add.reduceat(left - chosen, first, axis=1)
    return np.split(table, offsets[1:-1], axis=1)

"""How many users sample each attribute, drawn from counts of records."""

import numpy as np

from ldp_lib import _inputs

ENTRIES = 2**20  # of working memory


def draw_sampled(population, *, rng, runs):
    """Return how many users sampled each attribute and hold each value: d arrays of int, shape (runs, k_j).

    Each user picks one of the d attributes. Holders of rare records are drawn one by one. Of a common record, a
    binomial number picks the last attribute; records that agree in all others are then merged, and so on.
    """
    k, common = population.k, population.counts > 16
    offsets = np.cumsum((0, *k))
    cells = np.repeat(population.records[~common] + offsets[:-1], population.counts[~common], axis=0).astype(np.int32)
    rows = np.arange(len(cells), dtype=np.int32)
    table = np.zeros((runs, offsets[-1]), np.int64)
    for run in range(runs):
        picked = cells[rows, rng.integers(len(k), size=len(cells), dtype=_inputs.small_dtype(len(k)))]
        table[run] = np.bincount(picked, minlength=offsets[-1])
    records, counts = population.records[common], population.counts[common]
    block = max(1, ENTRIES // max(1, len(records)))
    for start in range(0, runs if len(records) else 0, block):
        stop = min(start + block, runs)
        left, merged = np.broadcast_to(counts, (stop - start, len(counts))), records
        for j in range(len(k) - 1, -1, -1):
            chosen = rng.binomial(left, 1 / (j + 1)) if j else left
            one_hot = (merged[:, [j]] == np.arange(k[j])).astype(float)  # sums below 2**53 are exact in floats
            table[start:stop, offsets[j] : offsets[j + 1]] += (chosen @ one_hot).astype(np.int64)
            if j:
                first = np.flatnonzero(np.r_[True, (np.diff(merged[:, :j], axis=0) != 0).any(axis=1)])
                merged, left = merged[first, :j], np.add.reduceat(left - chosen, first, axis=1)
    return np.split(table, offsets[1:-1], axis=1)

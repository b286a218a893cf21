"""Dealing out truths, or questions: random users in groups of given sizes, faster than by shuffling all users.

Each user first draws a group alone. Then random users of groups that are too large change over until all sizes are
right. Nothing looks at who a user is, and the sizes are what they are: so all ways to fill the groups are as likely.
"""

import numpy as np

from ldp_lib import inputs, sampling

FEW = 2**16  # users who are shuffled


def random_places(n, size, rng):
    """Return n booleans of which `size` are true, all ways equally likely."""
    chosen = sampling.bernoulli(size / max(n, 1), n, rng)
    surplus = int(np.count_nonzero(chosen)) - size
    if surplus:
        chosen[_some(chosen if surplus > 0 else ~chosen, abs(surplus), rng)] = surplus < 0
    return chosen


def random_groups(sizes, rng):
    """Return each user's group, 0 to Q-1, in the smallest unsigned integer type; all ways equally likely.

    Parameters
    ----------
    sizes : array of int, shape (Q,)
        How many users each group has.
    rng : numpy.random.Generator
        Source of randomness.
    """
    dtype, ends = inputs.small_dtype(len(sizes)), np.cumsum(sizes)
    group = np.empty(ends[-1], dtype)
    for number, (size, end) in enumerate(zip(sizes, ends, strict=True)):
        group[end - size : end] = number
    if group.size <= FEW:
        rng.shuffle(group)
        return group
    shares = group[np.arange(2**16) * group.size >> 16]  # a group for each number of 16 bits, nearly by its size
    for start in range(0, group.size, sampling.BLOCK):
        block = group[start : start + sampling.BLOCK]
        shares.take(sampling.random_bits(np.uint16, block.size, rng), out=block, mode="clip")
    surplus = np.bincount(group, minlength=len(sizes)) - sizes
    movers = [_some(group == number, surplus[number], rng) for number in np.flatnonzero(surplus > 0)]
    if movers:
        group[np.concatenate(movers)] = np.repeat(np.arange(len(sizes), dtype=dtype), np.maximum(-surplus, 0))
    return group


def _some(member, size, rng):
    """Return so many different members, all sets of them equally likely: by trying users at random."""
    tries = min(4 * size * member.size // np.count_nonzero(member) + 8, 2**20)
    found = np.empty(0, dtype=np.int64)
    while found.size < size:
        tried = rng.integers(member.size, size=tries)
        found = np.concatenate([found, tried[member[tried]]])
        found = found[np.sort(np.unique(found, return_index=True)[1])]
    return found[:size]

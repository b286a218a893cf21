"""Dealing out truths: a random set of users of a given size, faster than by shuffling all users."""

import numpy as np

from ldp_lib import sampling


def random_places(n, size, rng):
    """Return n booleans of which `size` are true, all ways equally likely.

    Each user first tosses a coin alone. Then random users of the larger side change over until the number is right.
    Nothing looks at who a user is, and the number is what it is: so all ways are equally likely.
    """
    chosen = sampling.bernoulli(size / max(n, 1), n, rng)
    surplus = int(np.count_nonzero(chosen)) - size
    if surplus:
        chosen[_some(chosen if surplus > 0 else ~chosen, abs(surplus), rng)] = surplus < 0
    return chosen


def _some(member, size, rng):
    """Return so many different members, all sets of them equally likely: by trying users at random."""
    tries = min(4 * size * member.size // np.count_nonzero(member) + 8, 2**20)
    found = np.empty(0, dtype=np.int64)
    while found.size < size:
        tried = rng.integers(member.size, size=tries)
        found = np.concatenate([found, tried[member[tried]]])
        found = found[np.sort(np.unique(found, return_index=True)[1])]
    return found[:size]

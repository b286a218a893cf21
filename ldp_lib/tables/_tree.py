"""A tree of attributes, each drawn given its parent: what `fit_tree` finds."""

from dataclasses import dataclass

import numpy as np

from ldp_lib import _inputs
from ldp_lib.tables._operators import places_of


@dataclass(frozen=True, kw_only=True, eq=False)
class Tree:
    """Attributes in an order in which each but the first follows its parent, with tables of each and its parent.

    Parameters
    ----------
    k : tuple of int
        Domain sizes.
    root : array, shape (k_j,)
        Distribution of the first attribute.
    edges : tuple of (int, int)
        Parent and child, in an order in which parents come first.
    conditionals : tuple of arrays, shape (k_parent, k_child)
        Distribution of the child for each value of its parent.
    """

    k: tuple
    root: np.ndarray
    edges: tuple
    conditionals: tuple

    def sample(self, n, *, rng) -> np.ndarray:
        """Return n records drawn from the tree, shape (n, d)."""
        _inputs.require(rng=rng)
        if not _inputs.is_integer(n) or n < 1:
            raise ValueError(f"n must be an integer of at least 1; got {n!r}")
        if n * max(self.k) > 2**30:
            most, size = 2**30 // max(self.k), int(n) * max(self.k)
            raise ValueError(f"n must be at most {most}, or the table of users and values has {size} entries; got {n}")
        x = np.zeros((n, len(self.k)), _inputs.small_dtype(max(self.k)))
        first = self.edges[0][0]
        x[:, first] = _draw(self.root[None], np.zeros(n, int), rng)
        for (parent, child), rows in zip(self.edges, self.conditionals, strict=True):
            x[:, child] = _draw(rows, x[:, parent], rng)
        return x


def _draw(rows, which, rng):
    """Return one value for each entry of `which`, drawn from that row's distribution; no table of (n, k) is built."""
    drawn, u = np.empty(len(which), _inputs.small_dtype(rows.shape[1])), rng.random(len(which))
    for row, mine in zip(rows, places_of(which, len(rows)), strict=True):
        steps = np.cumsum(row)
        drawn[mine] = np.searchsorted(steps[:-1], u[mine] * steps[-1], side="right")
    return drawn

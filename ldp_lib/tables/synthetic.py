"""Synthetic records from estimated pair tables: a tree of attributes, fitted and sampled.

Whatever is made from private reports alone stays private, so records may be drawn as often as wanted. Queries of them
agree with each other by construction.
"""

import itertools
import math
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from ldp_lib import inputs
from ldp_lib.tables._checks import check_pairs, check_table


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

    def sample(self, n, *, rng):
        """Return n records drawn from the tree, shape (n, d)."""
        inputs.require(rng=rng)
        if isinstance(n, bool) or not isinstance(n, Integral) or n < 1:
            raise ValueError(f"n must be an integer of at least 1; got {n!r}")
        if n * max(self.k) > 2**30:
            most, entries = 2**30 // max(self.k), int(n) * max(self.k)
            raise ValueError(
                f"n must be at most {most}, or the table of users and values has {entries} entries; got {n}"
            )
        x = np.zeros((n, len(self.k)), inputs.small_dtype(max(self.k)))
        first = self.edges[0][0]
        x[:, first] = _draw(self.root[None], np.zeros(n, int), rng)
        for (parent, child), rows in zip(self.edges, self.conditionals, strict=True):
            x[:, child] = _draw(rows, x[:, parent], rng)
        return x

    def table(self, j, i):
        """Return the table of two attributes under the tree, shape (k_j, k_i), without sampling."""
        d = len(self.k)
        if not (0 <= j < d and 0 <= i < d) or j == i:
            raise ValueError(f"j and i must be two attributes from 0 to {d - 1}; got {j} and {i}")
        first = self.edges[0][0]
        laws, joint = {first: self.root}, {(first, first): np.diag(self.root)}
        for (parent, child), rows in zip(self.edges, self.conditionals, strict=True):
            for other in laws:
                joint[other, child] = joint[other, parent] @ rows
                joint[child, other] = joint[other, child].T
            laws[child] = laws[parent] @ rows
            joint[child, child] = np.diag(laws[child])
        return joint[j, i]


def fit_tree(tables, scores=None):
    """Return the tree nearest to tables of all pairs: that of the largest sum of scores along its edges.

    Parameters
    ----------
    tables : dict
        For every pair (j, l) of attributes, j < l, an array (k_j, k_l) of probabilities; with equal marginals, such as
        `consistency.repair_pairs` gives.
    scores : dict, optional
        For every pair a number; the mutual information of its table if not given.

    Returns
    -------
    Tree

    Notes
    -----
    Chow and Liu (1968). Noise looks like dependence: shrink noisy tables first (`consistency.shrink_dependence`), or
    give scores without their bias.
    """
    tables = {pair: check_table(table, axes=2) for pair, table in check_pairs(tables).items()}
    d = 1 + max(max(pair) for pair in tables)
    missing = [pair for pair in itertools.combinations(range(d), 2) if pair not in tables]
    if missing or len(tables) > math.comb(d, 2):
        raise ValueError(f"tables must hold each pair j < l of {d} attributes once; missing {missing[:1]}")
    both = tables | {(i, j): table.T for (j, i), table in tables.items()}
    scores = {pair: _information(table) for pair, table in tables.items()} if scores is None else scores
    worth = lambda edge: scores[min(edge), max(edge)]  # noqa: E731
    known, edges = [0], []
    while len(known) < d:
        outside = [i for i in range(d) if i not in known]
        edge = max(itertools.product(known, outside), key=lambda edge: (round(worth(edge), 12), -edge[1], -edge[0]))
        edges.append(edge)
        known.append(edge[1])
    conditionals = []
    for edge in edges:
        rows, total = both[edge], both[edge].sum(axis=1, keepdims=True)
        free = np.tile(rows.sum(axis=0), (len(rows), 1))
        conditionals.append(np.divide(rows, total, out=free, where=total > 0))
    k = tuple(both[j, (j + 1) % d].shape[0] for j in range(d))
    return Tree(k=k, root=both[edges[0]].sum(axis=1), edges=tuple(edges), conditionals=tuple(conditionals))


def _information(table):
    """Return the mutual information of a table of probabilities in nats; cells of 0 add nothing."""
    table = check_table(table, axes=2)
    product = np.outer(table.sum(axis=1), table.sum(axis=0))
    seen = table > 0
    return float((table[seen] * np.log(table[seen] / product[seen])).sum())


def _draw(rows, which, rng):
    """Return one value for each entry of `which`, drawn from that row's distribution; no table of (n, k) is built."""
    drawn, u = np.empty(len(which), inputs.small_dtype(rows.shape[1])), rng.random(len(which))
    order, ends = np.argsort(which, kind="stable"), np.cumsum([0, *np.bincount(which, minlength=len(rows))])
    for number, row in enumerate(rows):
        mine, steps = order[ends[number] : ends[number + 1]], np.cumsum(row)
        drawn[mine] = np.searchsorted(steps[:-1], u[mine] * steps[-1], side="right")
    return drawn

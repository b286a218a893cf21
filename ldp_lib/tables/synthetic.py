"""Synthetic records from estimated pair tables: a tree of attributes, fitted and sampled.

Whatever is made from private reports alone stays private, so records may be drawn as often as wanted. Queries of them
agree with each other by construction.
"""

import itertools
import math

import numpy as np
from scipy.special import rel_entr

from ldp_lib.tables._checks import check_pairs, check_table
from ldp_lib.tables._tree import Tree


def fit_tree(tables, scores=None) -> Tree:
    """Return the tree nearest to tables of all pairs: that of the largest sum of scores along its edges.

    Parameters
    ----------
    tables : dict
        For every pair (j, l) of attributes, j < l, an array (k_j, k_l) of probabilities; with equal marginals, such as
        `consistency.project_marginals` gives.
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
    if scores is not None and not all(math.isfinite(scores.get(pair, math.nan)) for pair in tables):
        raise ValueError(f"scores must hold a finite number for each pair of tables; got {scores}")
    if missing or len(tables) > math.comb(d, 2):
        raise ValueError(f"tables must hold each pair j < l of {d} attributes once; missing {missing[:1]}")
    both = tables | {(i, j): table.T for (j, i), table in tables.items()}
    scores = {pair: _information(table) for pair, table in tables.items()} if scores is None else scores
    worth = lambda edge: scores[min(edge), max(edge)]  # noqa: E731
    known, edges = [0], []
    while len(known) < d:
        outside = [i for i in range(d) if i not in known]
        pairs = itertools.product(known, outside)
        edge = max(pairs, key=lambda pair: (round(worth(pair), 12), -pair[1], -pair[0]))
        edges.append(edge)
        known.append(edge[1])
    conditionals = []
    for edge in edges:
        rows, total = both[edge], both[edge].sum(axis=1, keepdims=True)
        free = np.tile(rows.sum(axis=0), (len(rows), 1))
        conditionals.append(np.divide(rows, total, out=free, where=total > 0))
    k = tuple(len(both[j, (j + 1) % d]) for j in range(d))
    return Tree(k=k, root=both[edges[0]].sum(axis=1), edges=tuple(edges), conditionals=tuple(conditionals))


def _information(table):
    """Return the mutual information of a table of probabilities in nats; cells of 0 add nothing."""
    return float(rel_entr(table, np.outer(table.sum(axis=1), table.sum(axis=0))).sum())

"""Tables of attributes that are asked together, from the reports of `AskSome`: pairs, triples, at most m of them.

All sets of a report are drawn to hold the truth with one probability, `keep` of its question, else all are drawn at
random. So an interaction of two attributes is multiplied by one keep probability, not by two: this is why asking pairs
finds dependence. Chapter `pair_tables`.
"""

import itertools
import math
from numbers import Integral

import numpy as np

from ldp_lib import _inputs
from ldp_lib.sampled import design
from ldp_lib.sampled.ask_some import AskSome
from ldp_lib.tables._asked import are_asked, asked_tables, require_ask_some
from ldp_lib.tables._totals import pairs_error


def ask_pairs(k, epsilon, m=2):
    """Return the `AskSome` of m questions a user whose interactions have the least error, over all cells and pairs.

    Users and values are taken as uniform; sizes and weights are those of `design.best_design`, a search that need not
    find the best. With m = None all numbers of questions are tried, for the least error of all cells: with yes-or-no
    questions two have it where epsilon is small, more where it is large; with more values more may at a small one too.
    """
    k, _ = _inputs.check_attributes(k), _inputs.require(epsilon=epsilon)
    allowed = f"an integer from 2 to d = {len(k)}, or None"
    _inputs.require_one("m", 2 if m is None else m, Integral, lambda v: 2 <= v <= len(k), allowed)
    designs = [design.best_design(math.exp(epsilon), k, n, None, 2) for n in ([int(m)] if m else range(2, len(k) + 1))]
    found = [AskSome(k=k, epsilon=epsilon, m=m, sizes=sizes, weights=weights) for m, sizes, weights in designs]
    return min(found, key=lambda one: pairs_error(one, 1))


def pair_tables(mechanism, y, pairs=None):
    """Return unbiased tables of pairs of attributes from the reports of an `AskSome`, as `asked_tables` does.

    Parameters
    ----------
    mechanism : AskSome
        With m of at least 2.
    y : structured array, shape (n,)
        Reports of its `perturb`.
    pairs : sequence of pairs of ints, optional
        Which pairs (j, l) with j < l; all that are asked if not given. The default weights of `AskSome` leave some out.

    Returns
    -------
    dict
        For each pair an array (k_j, k_l) with sum 1, maybe with negative entries. All tables have the marginals of
        `mechanism.estimate`, for which every report about an attribute counts, so they agree; in groups, where one
        person or more was planned for a question on each attribute.
    """
    require_ask_some(mechanism)
    if mechanism.m_ < 2:
        raise ValueError(f"mechanism must ask at least m = 2 questions a user to give pairs; got m = {mechanism.m_}")
    if pairs is None:
        every = itertools.combinations(range(len(mechanism.k)), 2)
        pairs = [pair for pair in every if are_asked(mechanism, pair)]
    else:
        pairs = [tuple(pair) for pair in pairs]
    for pair in pairs:
        whole = all(isinstance(j, int | np.integer) for j in pair)
        if len(pair) != 2 or not whole or not 0 <= pair[0] < pair[1] < len(mechanism.k):
            raise ValueError(f"pairs must hold numbers j < l from 0 to {len(mechanism.k) - 1}; got {pair}")
    return asked_tables(mechanism, y, pairs)

"""Tables of attributes that are asked together, from the reports of `AskSome`: pairs, triples, at most m of them.

All sets of a report are drawn to hold the truth with one probability, `keep` of its question, else all are drawn at
random. So an interaction of two attributes is multiplied by one keep probability, not by two: this is why asking pairs
finds dependence. Chapter `pair_tables`.
"""

import itertools
import math

import numpy as np

from ldp_lib import _inputs
from ldp_lib.sampled import design
from ldp_lib.sampled.ask_some import AskSome
from ldp_lib.tables._asked import are_asked, asked_tables, require_ask_some


def ask_pairs(k, epsilon):
    """Return the `AskSome` with m = 2 whose interactions have the least error, summed over all cells and pairs.

    Users and values are taken as uniform. Weights are proportional to the square root of each pair's error; sizes are
    changed by one at a time as long as that helps, a search that need not find the best.
    """
    k, _ = _inputs.check_attributes(k), _inputs.require(epsilon=epsilon)
    e, asked = math.exp(epsilon), design.questions(len(k), 2)

    def roots(sizes):
        keep = design.keep_probabilities(e, k, sizes, 2)
        each = [([k[j] for j in pair], [sizes[j] for j in pair]) for pair in asked]
        return [math.sqrt(_interaction_error(*one, c)) for one, c in zip(each, keep, strict=True)]

    sizes = tuple(max(1, round(size / (1 + math.sqrt(e)))) for size in k)
    while True:
        steps = [(*sizes[:j], sizes[j] + s, *sizes[j + 1 :]) for j in range(len(k)) for s in (-1, 1)]
        around = [step for step in steps if all(1 <= s < size for s, size in zip(step, k, strict=True))]
        best = min(around, key=lambda step: sum(roots(step)), default=sizes)
        if sum(roots(best)) >= sum(roots(sizes)) * (1 - 1e-9):
            return AskSome(k=k, epsilon=epsilon, m=2, sizes=sizes, weights=roots(sizes))
        sizes = best


def _interaction_error(k, sizes, keep):
    """Return the total variance of a pair's interaction for one user who was asked, drawn from the uniform law.

    It is the product over both attributes of size (k-1)^2 / (k (k-size)), divided by keep^2. Takes numbers and symbols.
    """
    ends = [size * (j - 1) ** 2 / (j * (j - size)) for j, size in zip(k, sizes, strict=True)]
    return math.prod(ends) / keep**2


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
        `mechanism.estimate`, for which every report about an attribute counts, so they agree.
    """
    if isinstance(mechanism, AskSome) and mechanism.m_ < 2:
        raise ValueError(f"mechanism must ask at least m = 2 questions a user to give pairs; got m = {mechanism.m_}")
    require_ask_some(mechanism)
    every = itertools.combinations(range(len(mechanism.k)), 2)
    pairs = [pair for pair in every if are_asked(mechanism, pair)] if pairs is None else [tuple(p) for p in pairs]
    for pair in pairs:
        whole = all(isinstance(j, int | np.integer) for j in pair)
        if len(pair) != 2 or not whole or not 0 <= pair[0] < pair[1] < len(mechanism.k):
            raise ValueError(f"pairs must hold numbers j < l from 0 to {len(mechanism.k) - 1}; got {pair}")
    return asked_tables(mechanism, y, pairs)

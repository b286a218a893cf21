"""The errors of asking some attributes, and the weights, sizes and numbers of questions that make them least."""

import itertools
import math
from functools import lru_cache

import numpy as np

from ldp_lib import _inputs, pure, subset

MOST_QUESTIONS = 5_000


def attribute_error(k, p, q):
    """Return a pure oracle's total variance over all values, for one user drawn from the uniform distribution.

    (p (1-p) + (k-1) q (1-q)) / (p-q)^2 + 1 - 1/k: the first part is the oracle's own and the same for all data, the
    second is the most that drawing users can add. Takes numbers and symbols. Derived in `attribute_sampling`.
    """
    return (p * (1 - p) + (k - 1) * q * (1 - q)) / (p - q) ** 2 + 1 - p**0 / k


def group_variance(f, n, size, p, q):
    """Return the exact variance of a pure oracle's estimate from a random group of `size` of n users, data held fixed.

    `pure.variance` at `size` users, plus f (1-f) (n-size) / (size (n-1)) for the others, who were not asked. Takes
    numbers and symbols. Derived in the chapter `attribute_sampling`.
    """
    return pure.variance(f, size, p, q) + f * (1 - f) * (n - size) / size / (n - 1)


def support_probabilities(keep, k, size):
    """Return p and q, the probabilities that the set of one attribute holds the user's own value, and any other.

    `keep` is the probability that all sets of the report are drawn to hold the truth. Takes arrays and symbols.
    """
    return keep + (1 - keep) * size / k, keep * (size - 1) / (k - 1) + (1 - keep) * size / k


@lru_cache
def questions(d, m):
    """Return all choices of m of d attributes in lexicographic order, an array of shape (Q, m)."""
    if math.comb(d, m) > MOST_QUESTIONS:
        raise ValueError(f"m must leave at most {MOST_QUESTIONS} questions; got {math.comb(d, m)}, {m} out of {d}")
    chosen = np.array(list(itertools.combinations(range(d), m)))
    chosen.flags.writeable = False  # all mechanisms share it
    return chosen


def keep_probabilities(e, k, sizes, m):
    """Return, for each of the `questions`, the probability that its sets are drawn to hold the truth, shape (..., Q).

    `sizes` has shape (..., d). A report's sets hold together the product of the attributes' shares size / k.
    """
    shares = np.asarray(sizes) / np.array(k)
    return subset.keep_probability(e, shares[..., questions(len(k), m)].prod(axis=-1))


def attribute_errors(k, sizes, m, keep, weights, together=1):
    """Return each attribute's total variance for one user drawn from the uniform distribution, shape (..., d).

    size (k-1)^2 / (k (k-size)) over the sum of weights keep^2 of the questions that concern the attribute: with weight
    1 it is `attribute_error` of the `support_probabilities`. The weights of all questions are not divided by their sum:
    it must be 1. Derived in the chapter `attribute_sampling`. With `together` = 2 each pair's interaction instead,
    shape (..., d (d-1) / 2): the numerators of both are multiplied.
    """
    return _ends(k, sizes, together) / ((weights * keep**2) @ concerns(len(k), m, together))


def _ends(k, sizes, together):
    """Return the numerators of `attribute_errors`."""
    k, sizes = np.array(k, float), np.asarray(sizes)
    return (sizes * (k - 1) ** 2 / (k * (k - sizes)))[..., questions(len(k), together)].prod(axis=-1)


@lru_cache
def concerns(d, m, together=1):
    """Return the matrix with 1 where a question (row) concerns an attribute, or all of so many together (column)."""
    asked = (questions(d, m)[:, :, None] == np.arange(d)).any(axis=1)
    found = asked[:, questions(d, together)].all(axis=-1).astype(int)
    found.flags.writeable = False
    return found


@lru_cache
def best_design(e, k, m=None, sizes=None, together=1):
    """Return the m, sizes and weights of the least total error, what is given held fixed: `AskSome`'s default.

    The error is that of all attributes or, with `together` = 2, of the interactions of all pairs; m is at least that.
    Weights minimize the total, which is convex, by the multiplicative algorithm of optimal design, and are rounded to
    six digits. Equal domains get equal sizes, all of which are tried; for pairs they are the start. Otherwise sizes
    start at 1 or at equal shares of the domains. Then one of them is changed by one, or by 1/128 of a domain of 256 and
    more values, as long as that helps: a search that need not find the very best.
    """
    k = _inputs.check_domain(k)
    best = (math.inf,)
    for number in [m] if m else range(together, len(k) + 1):
        if not m and math.comb(len(k), number) > MOST_QUESTIONS:
            continue
        chosen = sizes or _best_sizes(e, k, number, best[0], together)
        keep = keep_probabilities(e, k, chosen, number)
        weights = np.round(_best_weights(k, chosen, number, keep, 500, together), 6)
        weights /= weights.sum()
        total = _total(k, chosen, number, keep, weights, together)
        if total < best[0] * (1 - 1e-9):
            best = total, number, tuple(map(int, chosen)), tuple(weights.tolist())
    if best[0] == math.inf:
        raise ValueError(f"m must be so small that sets of m attributes tell their values apart; got {m} of k = {k}")
    return best[1:]


@np.errstate(all="ignore")
def _total(*how):
    """Return the sum of `attribute_errors`; infinity where the product of many shares is rounded to 0."""
    return np.nan_to_num(attribute_errors(*how).sum(axis=-1), nan=math.inf, posinf=math.inf)


def _best_sizes(e, k, m, known, together):
    """Return the sizes; those of the start if even twice the `known` error is less than theirs."""

    def total(sizes, rounds):
        how = k, sizes, m, keep_probabilities(e, k, sizes, m)
        return _total(*how, _best_weights(*how, rounds, together), together)

    if m == 1:
        return [subset.optimal_size(e, size) for size in k]
    k, equal = np.array(k), len(set(k)) == 1
    parts = np.arange(1, k[0])[:, None] * np.ones(len(k)) if equal else np.rint(np.linspace(0.01, 0.9, 90)[:, None] * k)
    starts = np.unique(np.clip(np.vstack([0 * k, parts]), 1, k - 1).astype(int), axis=0)
    if equal and together == 1:
        return starts[_first_least(total(starts, 0))]
    sizes = starts[_first_least(errors := total(starts, 50))]
    while errors.min() < 2 * known:
        steps = np.diag(np.clip(sizes // 2, 1, np.maximum(k // 128, 1)))
        around = np.vstack([sizes, *np.clip([sizes + steps, sizes - steps], 1, k - 1)])
        errors = total(around, 100)
        if errors.min() >= errors[0] * (1 - 1e-9):
            break
        sizes = around[_first_least(errors)]
    return sizes


def _first_least(errors):
    """Return the place of the least error; of those within rounding of each other the first, on every machine."""
    return int(np.argmax(errors <= errors.min() * (1 + 1e-9)))


def _best_weights(k, sizes, m, keep, rounds, together):
    """Weights of shape (..., Q) for sizes (..., d), by the multiplicative algorithm of optimal design.

    Where each question tells of one attribute or pair alone, its first round is the solution.
    """
    member, ends = concerns(len(k), m, together), _ends(k, sizes, together)
    weights, gain = np.full(keep.shape, 1 / keep.shape[-1]), keep / keep.max(axis=-1, keepdims=True).clip(1e-300)
    gain = gain.clip(1e-60) ** 2  # only ratios matter: no product of many shares overflows or vanishes
    for _ in range(min(rounds, 1) if m == together else rounds):
        slope = gain * ((ends / ((weights * gain) @ member) ** 2) @ member.T)
        weights = weights * np.sqrt(slope)
        weights /= weights.sum(axis=-1, keepdims=True)
    return weights

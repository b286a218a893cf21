"""Tables of two attributes from the reports of `AskSome`, whose users answer several questions with one coin.

All sets of a report are drawn to hold the truth, with one chance c for its question, or none is. So what two attributes
have together is undone by c once, not by the product of two chances: this is why asking pairs finds dependence.
"""

import itertools
import math

import numpy as np

from ldp_lib import inputs, subset
from ldp_lib.sampled import assignment, design
from ldp_lib.sampled.ask_some import AskSome


def gain(k, size):
    """Return (k - size) / (k - 1): what a set drawn to hold the truth tells of it.

    The mean of the set's indicator less size / k is the gain times the truth's indicator less 1 / k.
    """
    return (k - size) / (k - 1)


def interaction_error(k, sizes, keep):
    """Return the total variance of a pair's interaction for one user who was asked, drawn from the uniform law.

    It is the product over both attributes of size (k-1)^2 / (k (k-size)), divided by keep^2. Takes numbers and symbols.
    """
    ends = [size * (j - 1) ** 2 / (j * (j - size)) for j, size in zip(k, sizes, strict=True)]
    return math.prod(ends) / keep**2


def ask_pairs(k, epsilon):
    """Return the `AskSome` with m = 2 whose interactions have the least error, summed over all cells and pairs.

    Users and values are taken as uniform. Weights are proportional to the square root of each pair's
    `interaction_error`; sizes are changed by one at a time as long as that helps, a search that need not find the best.
    """
    k, _ = inputs.check_attributes(k), inputs.require(epsilon=epsilon)
    e, asked = math.exp(epsilon), design.questions(len(k), 2)

    def roots(sizes):
        keep = design.keep_probabilities(e, k, sizes, 2)
        each = [([k[j] for j in pair], [sizes[j] for j in pair]) for pair in asked]
        return [math.sqrt(interaction_error(*one, c)) for one, c in zip(each, keep, strict=True)]

    sizes = tuple(max(1, round(size / (1 + math.sqrt(e)))) for size in k)
    while True:
        steps = [(*sizes[:j], sizes[j] + s, *sizes[j + 1 :]) for j in range(len(k)) for s in (-1, 1)]
        around = [step for step in steps if all(1 <= s < size for s, size in zip(step, k, strict=True))]
        best = min(around, key=lambda step: sum(roots(step)), default=sizes)
        if sum(roots(best)) >= sum(roots(sizes)) * (1 - 1e-9):
            return AskSome(k=k, epsilon=epsilon, m=2, sizes=sizes, weights=roots(sizes))
        sizes = best


def pair_tables(mechanism, y, pairs=None):
    """Return unbiased tables of pairs of attributes from the reports of an `AskSome`.

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

    Raises
    ------
    TypeError, ValueError
        If the reports are of another type, or nobody was asked a pair.

    Notes
    -----
    With both indicators centred at size / k, the mean of their product is keep times both gains times the product of
    the truth's indicators centred at 1 / k. Several questions with the same pair are weighted by keep^2.
    """
    pairs = _check_pairs(mechanism, pairs)
    y = assignment.check_reports(y, mechanism._dtype, len(mechanism.weights))
    k, questions = mechanism.k, mechanism.questions
    dealt = np.bincount(y["asked"], minlength=len(questions))
    missing = [pair for pair in pairs if not dealt[_questions(mechanism, pair)].any()]
    if missing and mechanism.groups:
        raise ValueError(f"y must hold a report about both attributes of every pair; got none for {missing[0]}")
    singles = [np.zeros((len(questions), size)) for size in k]
    products = {pair: np.zeros((len(_questions(mechanism, pair)), k[pair[0]], k[pair[1]])) for pair in pairs}
    order, ends = np.argsort(y["asked"], kind="stable"), np.cumsum([0, *dealt])
    for number, asked in enumerate(questions):
        sets = y["sets"][order[ends[number] : ends[number + 1]]]
        if not len(sets):
            continue
        held = [_held(sets[:, place], k[j], mechanism.sizes[j]) for place, j in enumerate(asked)]
        for part, j in zip(held, asked, strict=True):
            singles[j][number] = part.sum(axis=0)
        for (j, one), (i, other) in itertools.combinations(zip(asked.tolist(), held, strict=True), 2):
            if (j, i) in products:
                products[j, i][_questions(mechanism, (j, i)).index(number)] = one.T @ other
    marginals = mechanism._estimates(singles, dealt, len(y))
    tables = {}
    for (j, i), product in products.items():
        concern, (a, b) = _questions(mechanism, (j, i)), (mechanism.sizes[j] / k[j], mechanism.sizes[i] / k[i])
        centred = product - b * singles[j][concern][:, :, None] - a * singles[i][concern][:, None, :]
        centred += a * b * dealt[concern][:, None, None]
        keep, size = (
            mechanism.keep[concern],
            dealt[concern] if mechanism.groups else len(y) * _weights(mechanism, concern),
        )
        scale = gain(k[j], mechanism.sizes[j]) * gain(k[i], mechanism.sizes[i]) * (size @ keep**2)
        tables[j, i] = np.tensordot(keep, centred, 1) / scale + _effects(marginals[j], marginals[i])
    return tables


def pair_variances(mechanism, population, pairs=None):
    """Return the exact variances of `pair_tables`, the users' data held fixed: a dict of arrays (k_j, k_l).

    Raises
    ------
    ValueError
        If, in groups, a pair may be asked of nobody.

    Notes
    -----
    A report adds to a cell's estimate a function of two bits, whether each set holds the cell's value. Its law depends
    on the question and on whether the user's values are the cell's: four classes of users. Dealing groups adds the
    variance of a sum over a random permutation (Hoeffding, 1951).
    """
    pairs = _check_pairs(mechanism, pairs)
    inputs.check_population(population, mechanism.k)
    n, weights = population.n, np.array(mechanism.weights)
    chances, dealt = assignment.group_sizes(n * weights) if mechanism.groups else (np.ones(1), (n * weights)[None])
    variances = {}
    for pair in pairs:
        concern = _questions(mechanism, pair)
        if mechanism.groups and dealt[:, concern].sum(axis=1).min() == 0:
            raise ValueError(f"population must have enough users for every pair; of {n}, {pair} may be asked of nobody")
        both = population.select(*pair).histogram.astype(float)
        rows, columns = both.sum(axis=1, keepdims=True), both.sum(axis=0)
        users = np.stack([n - rows - columns + both, columns - both, rows - both, both])  # neither, second, first, both
        total = 0
        for chance, sizes in zip(chances, dealt, strict=True):
            mean, square = _moments(mechanism, pair, sizes)
            share = sizes / n
            average = share @ mean
            if not mechanism.groups:
                own = np.tensordot(share @ square - average**2, users, 1)
            else:
                apart = mean - average
                spread = np.tensordot(apart**2, users, 1) - np.tensordot(apart, users, 1) ** 2 / n
                own = np.tensordot(share @ (square - mean**2), users, 1)
                own = own + np.tensordot(sizes, spread, 1) / max(n - 1, 1)
            total = total + chance * own
        variances[pair] = total
    return variances


def _moments(mechanism, pair, sizes):
    """Mean and mean square of what one report adds to a cell, shape (Q, 4): by question, and by class of users."""
    k, size = ([values[j] for j in pair] for values in (mechanism.k, mechanism.sizes))
    pull, keep = sizes * mechanism.keep**2, mechanism.keep
    asks = [(mechanism.questions == j).any(axis=1) for j in pair]
    gains = [gain(*one) for one in zip(k, size, strict=True)]
    scale = [ask * keep / (g * (pull @ ask)) for ask, g in zip(asks, gains, strict=True)]
    together = asks[0] & asks[1]
    scale_both = together * keep / (gains[0] * gains[1] * (pull @ together))
    mean, square = np.zeros((2, len(keep), 4))
    for bits in itertools.product((0, 1), repeat=2):
        z = [bit - s / m for bit, s, m in zip(bits, size, k, strict=True)]
        value = scale[0] * z[0] / k[1] + scale[1] * z[1] / k[0] + scale_both * z[0] * z[1]
        for number, truth in enumerate(itertools.product((0, 1), repeat=2)):
            told, free = 1.0, 1.0
            for bit, true, s, m in zip(bits, truth, size, k, strict=True):
                holds = 1.0 if true else (s - 1) / (m - 1)
                told *= holds if bit else 1 - holds
                free *= s / m if bit else 1 - s / m
            law = keep * told + (1 - keep) * free
            mean[:, number] += law * value
            square[:, number] += law * value**2
    return mean, square


def _effects(one, other):
    """The table of two marginals without any interaction."""
    return (one[:, None] - 1 / len(one)) / len(other) + other / len(one)


def _held(sets, k, size):
    sets = subset.check_sets(sets[:, :size], k, size)
    held = np.zeros((len(sets), k))
    rows = np.arange(len(sets)) * k
    for column in sets.T:
        held.ravel()[rows + column] = 1
    return held


def _questions(mechanism, pair):
    member = (mechanism.questions[:, :, None] == np.array(pair)).any(axis=1).all(axis=1)
    return np.flatnonzero(member & (np.array(mechanism.weights) > 0)).tolist()


def _weights(mechanism, concern):
    return np.array(mechanism.weights)[concern]


def _check_pairs(mechanism, pairs):
    if not isinstance(mechanism, AskSome):
        raise TypeError(f"mechanism must be an AskSome; got {mechanism!r}")
    if mechanism.m < 2:
        raise ValueError(f"mechanism must ask at least m = 2 questions a user to give pairs; got m = {mechanism.m}")
    d = len(mechanism.k)
    if pairs is None:
        return [pair for pair in itertools.combinations(range(d), 2) if _questions(mechanism, pair)]
    found = [tuple(pair) for pair in pairs]
    for pair in found:
        if len(pair) != 2 or not all(isinstance(j, (int, np.integer)) for j in pair) or not 0 <= pair[0] < pair[1] < d:
            raise ValueError(f"pairs must hold numbers j < l from 0 to {d - 1}; got {pair}")
        if not _questions(mechanism, pair):
            raise ValueError(f"weights must be above 0 for a question about both attributes of {pair}")
    return found

"""The least error of all tables of two attributes together, where every record is equally likely.

Renaming values at random leaves a mechanism's error over uniform users as it is, and makes its information a number on
each of the spaces that renaming keeps apart: one a single attribute (its marginal) and one a pair (its interaction).
For a set of records the numbers are t^2 / (1 + t mu)^2 times the squared lengths of the parts of its indicator, with
t = e - 1 and mu the set's share of all records. As in `_uniform`, the best mechanism mixes sets.
"""

import itertools
import math
from fractions import Fraction

import numpy as np

from ldp_lib import _inputs, subset
from ldp_lib.limit._given_population import TableCertificate, target_rows
from ldp_lib.limit._rational import ABOVE, below, check_budget, rounded
from ldp_lib.limit._uniform import chosen, mixture
from ldp_lib.limit.certificates import Limit
from ldp_lib.sampled import AskSome
from ldp_lib.tables._totals import pairs_error

RECORDS = 16  # of domains whose sets are all tried, at most
STEPS = 4_000  # intervals of shares for other domains
MOST = 20_000_000  # parts of candidates for other domains, about
GROUPS = 5_000  # of m attributes whose records are tried, at most
SPACES = 66  # whose weights are searched for, at most


def spaces(k):
    """Return the spaces that renaming keeps apart and, for each, the square of its part in the root of the error.

    A single attribute j counts in each table that it is in, spread over the other's values: (k_j - 1)^2 / k_j times the
    sum of 1/k_l over all others. A pair counts (k_j - 1)^2 (k_l - 1)^2 / (k_j k_l). The error of a mechanism is the sum
    of these numbers over its information.
    """
    d, found = len(k), []
    for j in range(d):
        others = sum(Fraction(1, k[i]) for i in range(d) if i != j)
        found.append(((j,), Fraction((k[j] - 1) ** 2, k[j]) * others))
    for j, i in itertools.combinations(range(d), 2):
        found.append(((j, i), Fraction(((k[j] - 1) * (k[i] - 1)) ** 2, k[j] * k[i])))
    return found


def _kernels(k):
    """Return a matrix for each space: N^2 times the squared length of a set's part is s . K s, s its indicator."""
    values = np.indices(k).reshape(len(k), -1)
    same = [size * (own[:, None] == own).astype(object) - 1 for size, own in zip(k, values, strict=True)]
    return [math.prod(same[j] for j in space) for space, _ in spaces(k)]


def _every_set(k):
    """Return all sets of records but the empty one: sizes, N^2 times the squared lengths of the parts, and masks."""
    n = math.prod(k)
    masks = np.arange(1, 2**n)
    bits = (masks[:, None] >> np.arange(n)) & 1
    parts = [((bits @ kernel.astype(np.int64)) * bits).sum(axis=1) for kernel in _kernels(k)]
    return bits.sum(axis=1), np.array(parts), masks


def least_pair_error(k, epsilon):
    """Return the least error of all pair tables that any unbiased mechanism can have over uniform users.

    Parameters
    ----------
    k : sequence of d ints
        At least two domain sizes.
    epsilon : float
        From 1e-6 to 20.

    Returns
    -------
    Limit
        For users who are drawn uniformly, and randomize, independently. For at most 16 records `error` and `attained`
        agree to rounding. For others the bound lets every space have what the total and its own largest share allow: it
        may be loose for large budgets, and has no certificate. The sets have names: ("values", j, size) asks whether
        attribute j has one of so many values, ("boxes", j, l, size, size) whether both of two do, ("balanced", j, l,
        size) whether a pair's values fit, with so many values of l for every value of j, as evenly as can be;
        ("record", j, l, ...) asks for one value of each of m attributes, tried if at most 5,000 groups have m;
        ("records", mask) is any set of records. `attained` may be loose too, for two attributes, of which a set of
        cells has `error`, by 10 % for 8 and 8 values at 3, and for 33 binary attributes from epsilon = 1.54 on.

    Raises
    ------
    ValueError
        If an argument is out of range, or there are too many sets to try: the message names how many.

    Notes
    -----
    The parts' squared lengths add up to mu (1 - mu) at most, and t^2 mu (1 - mu) / (1 + t mu)^2 is at most
    sinh(epsilon / 2)^2. So no error is below (sum of roots)^2 / sinh(epsilon / 2)^2, which questions about one space
    each attain if a share of 1 / (1 + e) of the values can be asked for. Chapter `pair_tables`.
    """
    k = _inputs.check_attributes(k)
    e = check_budget(epsilon)
    tried = sum(k) ** 2 * len(k) ** 2 // 2  # about as many numbers as sets of one or two attributes take
    if math.prod(k) > RECORDS and tried > MOST:
        raise ValueError(f"k must have less than {MOST:,} parts of sets of pairs to try; got {tried:,} for {k}")
    t, squares = float(e[1] - 1), [square for _, square in spaces(k)]
    rho = np.sqrt([float(square) for square in squares])
    if math.prod(k) <= RECORDS:
        size, parts, masks = _every_set(k)
        share = size / math.prod(k)
        informs = parts / math.prod(k) ** 2 * (t / (1 + t * share)) ** 2

        def best(weights):
            values = np.asarray(weights) @ informs
            top = int(np.round(values / values.max(), 12).argmax())
            return float(values[top]), informs[:, top], ("records", int(masks[top]))

        with np.errstate(divide="ignore"):
            _, weights, attained, names, often = mixture(best, rho)
        certificate = _certify(k, e, weights, squares, size, parts)
        error = min(below(certificate.error), float(attained))
    else:
        names, informs = _candidates(k, t)
        often, attained = _spread(informs, rho)
        error, certificate = min(_relaxed(k, t, rho), attained), None
    sets, weights = chosen(names, often, min(1e-6, 1e-3 / len(names)))
    found = {"error": error, "attained": float(attained), "certificate": certificate}
    return Limit(k=k, epsilon=float(epsilon), sets=sets, weights=weights, target="pairs", **found)


def _certify(k, e, weights, squares, size, parts):
    """Return the certificate with these weights of the spaces, rounded, and the dual variables that all sets need."""
    n, t, rows = math.prod(k), float(e[1] - 1), target_rows(k, "pairs")
    roots = [rounded(math.sqrt(w / float(s))) for w, s in zip(weights, squares, strict=True)]
    exact = np.array([float(root**2 * square) for root, square in zip(roots, squares, strict=True)])
    dual = Fraction(float((exact @ parts * (t / (n + t * size)) ** 2).max()) / n) * ABOVE
    scaled = [root * math.prod(k[j] - 1 for j in space) for root, (space, _) in zip(roots, spaces(k), strict=True)]
    h = sum(root * (rows.astype(object) @ kernel) for root, kernel in zip(scaled, _kernels(k), strict=True))
    gained = sum(root * square for root, square in zip(roots, squares, strict=True))
    even = (Fraction(1, n),) * n
    directions = tuple(map(tuple, h / Fraction(n * n)))
    bound = {"frequencies": even, "dual": (dual,) * n, "directions": directions, "error": gained**2 / (n * dual)}
    return TableCertificate(k=k, e=e, target="pairs", **bound)


def _set_parts(k, name):
    """Return the share of all records in a set, by its name, and the squared lengths of its parts, space by space."""
    kind, *of = name
    if kind == "values":
        j, size = of
        return size / k[j], {(j,): size / k[j] * (1 - size / k[j])}
    if kind == "boxes":
        j, i, size, other = of
        u = size / k[j]
        v = other / k[i]
        a, b = u * (1 - u), v * (1 - v)
        return u * v, {(j,): a * v**2, (i,): b * u**2, (j, i): a * b}
    if kind == "balanced":
        row, column, size = of
        share = size / k[column]
        more = k[row] * size % k[column] / k[column]  # the part of the columns with one more
        main = more * (1 - more) / k[row] ** 2
        return share, {(column,): main, (min(of[:2]), max(of[:2])): share * (1 - share) - main}
    n = math.prod(k)
    if kind == "records":
        s = np.array([of[0] >> x & 1 for x in range(n)])
        every = zip(spaces(k), _kernels(k), strict=True)
        return s.sum() / n, {space: float(s @ kernel @ s) / n**2 for (space, _), kernel in every}
    share = 1 / math.prod(k[j] for j in of)
    held = [space for size in (1, 2) for space in itertools.combinations(of, size)]
    return share, {space: share**2 * math.prod(k[j] - 1 for j in space) for space in held}


def _informed(k, t, names):
    """Return what sets tell, by their names, shape (spaces, sets)."""
    where = {space: i for i, (space, _) in enumerate(spaces(k))}
    found = np.zeros((len(where), len(names)))
    for column, name in enumerate(names):
        share, parts = _set_parts(k, name)
        for space, part in parts.items():
            found[where[space], column] = part * (t / (1 + t * share)) ** 2
    return found


def _mixture_error(k, t, names, weights):
    """Return the error of reporting copies of these sets so often."""
    with np.errstate(divide="ignore"):
        return float((np.array([float(square) for _, square in spaces(k)]) / (_informed(k, t, names) @ weights)).sum())


def _candidates(k, t):
    """Return names and information, shape (spaces, sets), of sets of one attribute, of two, or of one value of more."""
    names = [("values", j, size) for j, of in enumerate(k) for size in range(1, of)]
    for j, i in itertools.combinations(range(len(k)), 2):
        names += [("boxes", j, i, a, b) for a, b in itertools.product(range(1, k[j]), range(1, k[i]))]
        names += [("balanced", *pair, size) for pair in ((j, i), (i, j)) for size in range(1, k[pair[1]])]
    for m in (m for m in range(3, len(k) + 1) if math.comb(len(k), m) <= GROUPS):
        names += [("record", *chosen) for chosen in itertools.combinations(range(len(k)), m)]
    return names, _informed(k, t, names)


def _spread(informs, rho, rounds=3_000):
    """Return how often to ask each set, and the error; the multiplicative algorithm of optimal design."""
    often = np.full(informs.shape[1], 1 / informs.shape[1])
    for _ in range(rounds):  # never raises the error
        slope = (rho**2 / (informs @ often) ** 2) @ informs
        if slope.max() <= 1.0001 * (slope @ often):
            break
        often = often * np.sqrt(slope)
        often /= often.sum()
    return often, float((rho**2 / (informs @ often)).sum())


def _relaxed(k, t, rho):
    """Return a lower bound of the error: the spaces share mu (1 - mu), and none has more than sets of its own could."""
    e = 1 + t
    flat = 4 * e * (rho.sum() / t) ** 2
    sizes = [a * b for a, b in itertools.combinations(k, 2)]  # of the tables, each for itself at the whole budget
    alone = sum(subset.error(e, size, subset.optimal_size(e, size)) for size in sizes)
    if len(rho) > SPACES:
        return float(max(flat, alone))
    least = 1 / math.prod(k)  # a set has at least one record
    shares = np.unique([least, *np.geomspace(max(least, 1e-9), 1, STEPS)])
    low, high = shares[:-1], shares[1:]
    cells = [math.prod(k[j] for j in space) for space, _ in spaces(k)]
    # The mean square of conditional shares with mean mu is largest if they are 0 or 1, but for one.
    caps = np.array([(np.floor(m * high) + (m * high % 1) ** 2) / m - low**2 for m in cells])
    whole, gain = high - low**2, (t / (1 + t * low)) ** 2

    def best(weights):
        order = np.argsort(-np.asarray(weights), kind="stable")
        room, parts = whole.copy(), np.zeros_like(caps)
        for space in order:
            parts[space] = np.minimum(caps[space], room)
            room = room - parts[space]
        parts *= gain
        values = np.asarray(weights) @ parts
        top = int(values.argmax())
        return values[top], parts[:, top], (top, *order)

    with np.errstate(divide="ignore"):
        bound = mixture(best, rho)[0]
    return float(max(bound, flat, alone))


def pair_error(k, epsilon, sizes, m, weights):
    """Return the total error of all pair tables of `AskSome`, for one user drawn uniformly."""
    asks = AskSome(k=k, epsilon=epsilon, m=m, sizes=sizes, weights=weights)
    drawn = sum(1 - 1 / (one * other) for one, other in itertools.combinations(asks.k, 2))
    return pairs_error(asks, 1) + drawn

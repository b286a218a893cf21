"""The least error of all tables of two attributes together, where every record is equally likely.

Renaming values at random leaves a mechanism's error over uniform users as it is, and makes its information a number on
each of the spaces that renaming keeps apart: one a single attribute (its marginal) and one a pair (its interaction).
For a set of records the numbers are t^2 / (1 + t mu)^2 times the squared lengths of the parts of its indicator, with
t = e - 1 and mu the set's share of all records. As in `uniform`, the best mechanism mixes sets.
"""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ldp_lib import inputs
from ldp_lib.limit.bound import BUDGETS, enclose
from ldp_lib.limit.rational import ABOVE, rounded
from ldp_lib.limit.uniform import mixture
from ldp_lib.subset import keep_probability

RECORDS = 16  # of domains whose sets are all tried, at most
STEPS = 4_000  # intervals of shares for other domains


@dataclass(frozen=True, kw_only=True)
class PairLimit:
    """The least error of all pair tables for one user: divide by the number of users.

    The error is the total variance of all cells of all tables of two attributes, users drawn at random from the uniform
    law, of estimates that are unbiased near it.

    Parameters
    ----------
    k : tuple of int
    epsilon : float
    error, attained : float
        No mechanism is better than `error`; a mixture of the sets has `attained`.
    sets : tuple
        Names of the sets in the mixture: ("values", j, size) asks whether attribute j has one of so many values,
        ("boxes", j, l, size, size) whether both of two do, ("balanced", j, l, size) whether a pair's values fit, with
        so many values of l for every value of j, as evenly as can be; ("record", j, l, ...) asks for one value of each
        of these attributes; ("records", mask) is any set of records.
    weights : tuple of float
        How often a report is a copy of each.
    certificate : PairCertificate or None
        For at most 16 records, checked in rational arithmetic over all sets; else None, and the bound is a float.
    """

    k: tuple
    epsilon: float
    error: float
    attained: float
    sets: tuple
    weights: tuple
    certificate: object

    @property
    def gap(self):
        """What the best mechanism may still gain: `attained` over `error`."""
        return self.attained / self.error


@dataclass(frozen=True, kw_only=True)
class PairCertificate:
    """Why no mechanism has an error below `error`: no set's weighted information is above `ceiling`.

    Parameters
    ----------
    k : tuple of int
    e : tuple of two Fractions
        Bounds of exp(epsilon).
    roots : tuple of Fraction
        One for each space, in the order of `spaces`: its weight is the square times what `spaces` says.
    ceiling, error : Fraction
        The largest weighted information of a set, and the error that follows by the inequality of Cauchy and Schwarz.
    """

    k: tuple
    e: tuple
    roots: tuple
    ceiling: Fraction
    error: Fraction

    def check(self):
        """Return whether the bound holds, in rational arithmetic: every set of records is tried."""
        if math.prod(self.k) > RECORDS:
            return False
        size, parts, _ = every_set(self.k)
        weights = [root**2 * square for root, (_, square) in zip(self.roots, spaces(self.k), strict=True)]
        gained = sum(root * square for root, (_, square) in zip(self.roots, spaces(self.k), strict=True))
        scale = math.lcm(*(w.denominator for w in weights))
        total = np.array([int(w * scale) for w in weights], dtype=object) @ parts.astype(object)
        t = self.e[1] - 1
        below = self.ceiling * scale * (math.prod(self.k) + t * size.astype(object)) ** 2
        return bool((total * t**2 <= below).all()) and 0 < self.error * self.ceiling <= gained**2


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


def every_set(k):
    """Return all sets of records but the empty one: sizes, N^2 times the squared lengths of the parts, and masks."""
    n = math.prod(k)
    masks = np.arange(1, 2**n)
    bits = (masks[:, None] >> np.arange(n)) & 1
    size, values = bits.sum(axis=1), np.indices(k).reshape(len(k), -1)
    parts = []
    for attributes, _ in spaces(k):
        sizes = [k[j] for j in attributes]
        cell = np.ravel_multi_index(tuple(values[list(attributes)]), sizes)
        counts = (bits @ (cell[:, None] == np.arange(math.prod(sizes)))).reshape(-1, *sizes)
        square = math.prod(sizes) * (counts.reshape(len(masks), -1) ** 2).sum(axis=1)
        if len(attributes) == 1:
            parts.append(square - size**2)
        else:
            rows = (sizes[0] * (counts.sum(axis=2) ** 2).sum(axis=1), sizes[1] * (counts.sum(axis=1) ** 2).sum(axis=1))
            parts.append(square - sum(rows) + size**2)
    return size, np.array(parts), masks


def least_pair_error(k, epsilon):
    """Return the least error of all pair tables that any mechanism can have over uniform users, and what attains it.

    Parameters
    ----------
    k : sequence of d ints
        At least two domain sizes.
    epsilon : float
        From 1e-6 to 20.

    Returns
    -------
    PairLimit
        For at most 16 records `error` and `attained` agree to rounding. For others the bound lets every space have
        what the total and its own largest share allow: it may be loose for large budgets.

    Notes
    -----
    The parts' squared lengths add up to mu (1 - mu) at most, and t^2 mu (1 - mu) / (1 + t mu)^2 is at most
    sinh(epsilon / 2)^2. So no error is below (sum of roots)^2 / sinh(epsilon / 2)^2, which questions about one space
    each attain if a share of 1 / (1 + e) of the values can be asked for. Chapter `pair_tables`.
    """
    k = inputs.check_attributes(k)
    inputs.require(epsilon=epsilon)
    if not BUDGETS[0] <= epsilon <= BUDGETS[1]:
        raise ValueError(f"epsilon must be from {BUDGETS[0]} to {BUDGETS[1]} for a limit; got {epsilon!r}")
    e = enclose(float(epsilon))
    t, squares = float(e[1] - 1), [square for _, square in spaces(k)]
    rho = np.sqrt([float(square) for square in squares])
    if math.prod(k) <= RECORDS:
        size, parts, masks = every_set(k)
        share = size / math.prod(k)
        informs = parts / math.prod(k) ** 2 * (t / (1 + t * share)) ** 2

        def best(weights):
            values = np.asarray(weights) @ informs
            top = int(np.round(values / values.max(), 12).argmax())
            return float(values[top]), informs[:, top], ("records", int(masks[top]))

        with np.errstate(divide="ignore"):
            _, weights, attained, names, often = mixture(best, rho)
        certificate = certify(k, e, weights, squares)
        error = min(float(certificate.error), attained)
        if Fraction(error) > certificate.error:
            error = math.nextafter(error, 0)
    else:
        names, informs = candidates(k, t)
        often, attained = spread(informs, rho)
        error, certificate = min(relaxed(k, t, rho), attained), None
    order = [int(i) for i in np.argsort(-np.round(often, 9), kind="stable") if often[i] > 1e-6]
    return PairLimit(
        k=k,
        epsilon=float(epsilon),
        error=error,
        attained=attained,
        sets=tuple(names[i] for i in order),
        weights=tuple(float(often[i] / often[order].sum()) for i in order),
        certificate=certificate,
    )


def certify(k, e, weights, squares):
    """Return the certificate with these weights of the spaces, rounded, and the ceiling that they need."""
    roots = [rounded(math.sqrt(w / float(s))) for w, s in zip(weights, squares, strict=True)]
    size, parts, _ = every_set(k)
    exact = np.array([float(root**2 * square) for root, square in zip(roots, squares, strict=True)])
    t = float(e[1] - 1)
    top = float((exact @ parts * (t / (math.prod(k) + t * size)) ** 2).max())
    ceiling = Fraction(top) * ABOVE
    gained = sum(root * square for root, square in zip(roots, squares, strict=True))
    return PairCertificate(k=k, e=e, roots=tuple(roots), ceiling=ceiling, error=gained**2 / ceiling)


def candidates(k, t):
    """Return names and information, shape (spaces, sets), of sets of one attribute, of two, or of one value of more."""
    names, columns, where = [], [], {space: i for i, (space, _) in enumerate(spaces(k))}

    def add(name, share, parts):
        column = np.zeros(len(where))
        for space, part in parts.items():
            column[where[space]] = part * (t / (1 + t * share)) ** 2
        names.append(name)
        columns.append(column)

    for j, of in enumerate(k):
        for size in range(1, of):
            add(("values", j, size), size / of, {(j,): size / of * (1 - size / of)})
    for j, i in itertools.combinations(range(len(k)), 2):
        for a, b in itertools.product(range(1, k[j]), range(1, k[i])):
            u, v = a / k[j], b / k[i]
            lengths = {(j,): u * (1 - u) * v**2, (i,): v * (1 - v) * u**2, (j, i): u * (1 - u) * v * (1 - v)}
            add(("boxes", j, i, a, b), u * v, lengths)
        for row, column in ((j, i), (i, j)):
            for size in range(1, k[column]):
                member = balanced(k[row], k[column], size)
                share, of = size / k[column], member.mean(axis=0)
                main, total = float(((of - share) ** 2).mean()), share * (1 - share)
                add(("balanced", row, column, size), share, {(column,): main, (j, i): total - main})
    for m in range(3, len(k) + 1 if len(k) <= 10 else 3):
        for chosen in itertools.combinations(range(len(k)), m):
            share = 1 / math.prod(k[j] for j in chosen)
            held = [space for size in (1, 2) for space in itertools.combinations(chosen, size)]
            parts = {space: share**2 * math.prod(k[j] - 1 for j in space) for space in held}
            add(("record", *chosen), share, parts)
    return names, np.array(columns).T


def balanced(rows, columns, size):
    """Return a set of cells with `size` in each row and as equally many as can be in each column, as booleans."""
    member, cells = np.zeros((rows, columns), bool), np.arange(rows * size)
    member[cells // size, cells % columns] = True
    return member


def spread(informs, rho, rounds=3_000):
    """Return how often to ask each set, and the error; the multiplicative algorithm of optimal design."""
    often = np.full(informs.shape[1], 1 / informs.shape[1])
    for _ in range(rounds):  # never raises the error
        slope = (rho**2 / (informs @ often) ** 2) @ informs
        if slope.max() <= (1 + 1e-4) * (slope @ often):
            break
        often = often * np.sqrt(slope)
        often /= often.sum()
    return often, float((rho**2 / (informs @ often)).sum())


def relaxed(k, t, rho):
    """Return a lower bound of the error: the spaces share mu (1 - mu), and none has more than sets of its own could."""
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
    flat = (rho.sum()) ** 2 / math.sinh(math.log1p(t) / 2) ** 2
    drawing = sum(1 - 1 / (k[j] * k[i]) for j, i in itertools.combinations(range(len(k)), 2))  # without any coins
    return float(max(bound, flat, drawing))


def pair_error(k, epsilon, sizes, m, weights):
    """Return the total error of all pair tables of `AskSome`, users uniform, for one user, by `spaces`."""
    found, e, asked = 0.0, math.exp(epsilon), list(itertools.combinations(range(len(k)), m))
    shares = [size / of for size, of in zip(sizes, k, strict=True)]
    for space, square in spaces(k):
        inform = 0.0
        for question, weight in zip(asked, weights, strict=True):
            if set(space) <= set(question):
                keep = keep_probability(e, math.prod(shares[j] for j in question))
                inform += weight * keep**2 * math.prod(1 / shares[j] - 1 for j in space)
        found += float(square) / inform if inform else math.inf
    return found

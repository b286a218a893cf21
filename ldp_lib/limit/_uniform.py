"""The least error where every record is equally likely: the best sets of records, and bounds for all other sets."""

import math
from dataclasses import dataclass
from itertools import combinations_with_replacement, pairwise

import numpy as np

from ldp_lib.limit._rational import never_negative

PAIRS = 20_000  # nested pairs of sets that are tried, at most
SETS = 50_000  # sets of records that are tried, at most
RECORDS = 256  # of domains whose sets are listed, at most
MANY = 40  # attributes whose product sets are searched for at every step, at most
KINDS = 12  # different attributes that product sets of several begin with, at most
SEARCHED = 100  # different domains whose product sets are mixed, at most
ROUNDS = 100  # of the search for shares, which ends after some twenty


def up_sets(k, most):
    """Return all sets of records that contain, with a record, every one with no smaller values; as bit masks.

    Bit r stands for record r in lexicographic order. None if there are more than `most`. Among the sets of one size,
    some of these have the most information on any weighting of the attributes (chapter `optimal_sets`).
    """
    if math.prod(k) > RECORDS:
        return None
    records = list(np.ndindex(*k))
    strides = [math.prod(k[j + 1 :]) for j in range(len(k))]
    masks = [0]
    for r in sorted(range(len(records)), key=lambda r: -sum(records[r])):
        above = sum(1 << r + s for s, v, size in zip(strides, records[r], k, strict=True) if v + 1 < size)
        masks += [mask | 1 << r for mask in masks if mask & above == above]
        if len(masks) > most:
            return None
    return masks


def marginal_counts(masks, k):
    """Return how many records each set has, shape (m,), and with each value, a list of shapes (m, k_j)."""
    size = math.prod(k)
    bits = np.array([[mask >> r & 1 for r in range(size)] for mask in masks], np.int64)
    values = np.indices(k).reshape(len(k), -1)
    return bits.sum(axis=1), [bits @ (own[:, None] == np.arange(size)) for own, size in zip(values, k, strict=True)]


@dataclass(frozen=True, kw_only=True, eq=False)
class Cells:
    """What sets of records can tell about some attributes (kept exactly) and about all others, taken as one.

    A set is described by nested sets A within B of the kept attributes' records: it holds all records of A, and of
    those of B but not A the share u, chosen by the other attributes. Its weight on attribute j, k_j times the sum of
    its squared deviations, is a polynomial of u of degree 2; `poly[j]` has the coefficients times `size` squared.
    The last row is the others' weight. It is never below what real sets have, and exact if nothing is left over.
    """

    size: int
    inner: np.ndarray
    extra: np.ndarray
    poly: np.ndarray  # (weights, 3, pairs), integers
    k: tuple
    masks: list

    @classmethod
    def of(cls, k, rest):
        """Return the cells of the attributes with sizes `k`; `rest` says whether there are others. None if too many."""
        masks = up_sets(k, SETS if not rest else math.isqrt(2 * PAIRS))
        if masks is None or (rest and math.prod(k) > 63):
            return None
        total, parts = marginal_counts(masks, k)
        if rest:
            short = np.array(masks, np.uint64)
            low, high = np.nonzero((short[:, None] & ~short) == 0)
            low, high = low[low != high], high[low != high]
        else:
            low = high = np.arange(len(masks))
        a, b = total[low], total[high] - total[low]
        poly = [
            (
                size * (part[low] ** 2).sum(axis=1) - a * a,
                2 * (size * (part[low] * (part[high] - part[low])).sum(axis=1) - a * b),
                size * ((part[high] - part[low]) ** 2).sum(axis=1) - b * b,
            )
            for size, part in zip(k, parts, strict=True)
        ]
        poly = [*poly, (0 * b, b * b, -b * b)] if rest else poly
        return cls(size=math.prod(k), inner=a, extra=b, poly=np.array(poly), k=k, masks=masks)

    def best(self, weights, t):
        """Return the largest information, its attributes' parts, and (the share of records, the pair's number)."""
        n0, n1, n2 = np.tensordot(np.asarray(weights, float), self.poly, axes=1)
        p = self.size + t * self.inner
        q = t * self.extra
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = np.clip(np.nan_to_num((2 * q * n0 - n1 * p) / (2 * n2 * p - n1 * q)), 0, 1)
        tries = np.array([0 * inside, inside, 0 * inside + 1])
        value = (n0 + tries * (n1 + tries * n2)) * (t / (p + q * tries)) ** 2
        i, s = np.unravel_index(value.argmax(), value.shape)
        u = tries[i, s]
        parts = self.poly[:, :, s] @ np.array([1, u, u * u]) * (t / (p[s] + q[s] * u)) ** 2
        return value[i, s], parts, ((self.inner[s] + self.extra[s] * u) / self.size, s)

    def records(self, number, order):
        """Return the set with this number as a tuple of records, their attributes put in `order`."""
        rows = [row for r, row in enumerate(np.ndindex(*self.k)) if self.masks[number] >> r & 1]
        return tuple(sorted(tuple(row[j] for j in order) for row in rows))

    def holds(self, weights, t, limit):
        """Return whether no set has more information than `limit`, exactly: all arguments are Fractions."""
        scale = math.lcm(*(w.denominator for w in weights))
        n = np.tensordot(np.array([int(w * scale) for w in weights], object), self.poly.astype(object), axes=1)
        n *= t.numerator**2 * limit.denominator
        p = t.denominator * self.size + t.numerator * self.inner.astype(object)
        q = t.numerator * self.extra.astype(object)
        top = limit.numerator * scale
        return bool(never_negative(top * p * p - n[0], 2 * top * p * q - n[1], top * q * q - n[2]).all())


def kept(k, keep):
    """Return the attributes that are taken exactly, the `keep` smallest, the others, and the cells of all."""
    order = sorted(range(len(k)), key=lambda j: (k[j], j))
    taken = order[:keep]
    rest = order[keep:]
    return taken, rest, Cells.of(tuple(k[j] for j in taken), bool(rest))


def shares(parts, rho):
    """Return the shares of several sets with the least sum of rho^2 / information, and that sum.

    They are q / sum(q), where q > 0 has the least sum(q) plus sum of rho^2 / (q @ parts): a primal-dual interior-point
    method, z being the multipliers of q. Where several shares are best, it ends amid them.
    """
    parts, squares = np.asarray(parts), np.asarray(rho) ** 2
    q = np.full(len(parts), math.sqrt((squares / parts.sum(axis=0)).sum() / len(parts)))
    z = np.ones(len(q))
    for _ in range(ROUNDS):
        told = q @ parts
        pull = squares / told**2
        slope = 1 - parts @ pull
        if q @ z < 1e-13 * q.sum():
            break
        aim = 0.1 * np.mean(q * z) / q
        curved = (parts * (2 * pull / told)) @ parts.T
        curved += np.diag(z / q)
        move = np.linalg.solve(curved, aim - slope)
        turn = aim - z - z / q * move
        step = 0.99 / max(0.99, np.max(-move / q), np.max(-turn / z))
        q += step * move
        z += step * turn
    p = q / q.sum()
    return p, (squares / (p @ parts)).sum()


def chosen(names, often, least=1e-6):
    """Return the sets that are reported often enough to count, and how often, the most frequent first."""
    order = [i for i in np.argsort(-np.round(often, 9), kind="stable") if often[i] > least]
    weights = np.sort(np.take(often, order))[::-1]  # those that are equal to rounding may change places
    return tuple(names[i] for i in order), tuple((weights / weights.sum()).tolist())


def mixture(best, rho, tolerance=1e-9, rounds=200):
    """Return the best mixture of sets as (bound, weights of the bound, error, sets, shares).

    `best(weights)` returns the largest information, its parts and a name of the set. Each round adds the set that the
    present weights miss most; their bound is (sum of rho sqrt(weight))^2 over the largest information.
    """
    rho = np.asarray(rho, float)
    found = [best(unit) for unit in np.eye(len(rho)) + 1e-9]
    parts, names, top = [f[1] for f in found], [f[2] for f in found], (0.0, None)
    for _ in range(rounds):
        p, error = shares(parts, rho)
        weights = (rho / (p @ np.asarray(parts))) ** 2
        weights /= weights.max()
        value, part, name = best(weights)
        top = max(top, ((rho @ np.sqrt(weights)) ** 2 / value, tuple(weights)))
        if name in names or error <= top[0] * (1 + tolerance):
            break
        parts.append(part)
        names.append(name)
    return *top, error, names[: len(p)], p  # without the last one found, if rounds ran out


def product_set(weights, t, k):
    """Return the best product set found: its information, its attributes' parts, and its sizes; a local search.

    It begins with single values of a few attributes, equal ones in turn. With the share mu = c s and the others' part
    R, s of attribute j's values inform (t c s)^2 (R + w (k/s - 1)) / (1 + t c s)^2, which rises and then falls.
    """
    k, weights = np.array(k), np.asarray(weights, float)
    d, alone = len(k), weights * (k - 1.0)
    order = np.argsort(-alone, kind="stable").tolist()
    kinds = list(dict.fromkeys((k[j], weights[j]) for j in order))
    members = [[j for j in order if (k[j], weights[j]) == kind] for kind in kinds]
    few = d <= MANY  # with more attributes not every number of them is tried, and of equal ones three are moved
    numbers = range(1, d + 1) if few else sorted({round(x) for x in np.geomspace(1, d, MANY)})
    moved = range(d) if few else [j for each in members for j in each[:3]]
    asked = {tuple(order[:m]) for m in numbers} | {(each[0],) for each in members}
    for m in (2, 3):
        for chosen in combinations_with_replacement(range(min(len(kinds), KINDS)), m):
            if all(chosen.count(i) <= len(members[i]) for i in chosen):
                asked.add(tuple(members[i][chosen[:n].count(i)] for n, i in enumerate(chosen)))
    sizes = np.repeat(k[None].astype(float), len(asked), axis=0)
    for row, chosen in zip(sizes, sorted(asked, key=lambda c: (len(c), c)), strict=True):
        row[list(chosen)] = 1
    share, told = (sizes / k).prod(axis=1), (k / sizes - 1) @ weights

    def value(share, told):
        return (t * share / (1 + t * share)) ** 2 * told

    for _ in range(3):
        for j in moved:
            a, unit = weights[j] * k[j], share / sizes[:, j]
            rest = told - weights[j] * (k[j] / sizes[:, j] - 1)
            steep = a * t * unit - 2 * (rest - weights[j])
            turn = np.clip(np.divide(a, steep, out=np.full(len(steep), float(k[j])), where=steep > 0), 1, k[j])
            tries = np.array([np.floor(turn), np.ceil(turn)])
            values = value(unit * tries, rest + weights[j] * (k[j] / tries - 1))
            sizes[:, j] = np.where(values[1] > values[0], tries[1], tries[0])
            share = unit * sizes[:, j]
            told = rest + weights[j] * (k[j] / sizes[:, j] - 1)
    best = sizes[value((sizes / k).prod(axis=1), (k / sizes - 1) @ weights).argmax()]
    mu = (best / k).prod()
    return value(mu, (k / best - 1) @ weights), (t * mu / (1 + t * mu)) ** 2 * (k / best - 1), tuple(map(int, best))


def product_mixture(k, t):
    """Return weights of the attributes, the error of a mixture of product sets, these and how often each is reported.

    Attributes with equal domains take turns. If the kinds of domains are many, each set is one attribute's.
    """
    sizes, kind = np.unique(k, return_inverse=True)
    often, rho = np.bincount(kind), (sizes - 1) / np.sqrt(sizes)
    members = [np.flatnonzero(kind == i) for i in range(len(sizes))]

    def best(weights):
        value, parts, found = product_set((np.asarray(weights) / often)[kind], t, k)
        return value, np.bincount(kind, weights=parts) / often, found

    def turns(found, often):
        uneven = [own for own in members if len({found[j] for j in own}) > 1]
        ends = {0.0, 1.0}.union(*({i / len(own) for i in range(len(own))} for own in uneven))
        for low, high in pairwise(sorted(ends)):
            turned = np.array(found)
            for own in uneven:
                turned[own] = np.roll(turned[own], int((low + high) / 2 * len(own)))
            yield tuple(turned.tolist()), often * (high - low)

    if len(sizes) <= SEARCHED:
        _, weights, error, names, p = mixture(best, np.sqrt(often) * rho, 1e-9 if len(k) <= MANY else 1e-4)
        copies = []
        for name, share in zip(names, p, strict=True):
            if share > 1e-9:
                copies += turns(name, share)
        return (np.array(weights) / often)[kind], error, *zip(*copies, strict=True)
    value = [product_set([1.0], t, (size,))[::2] for size in sizes.tolist()]
    roots = rho / np.sqrt([v for v, _ in value])  # of the error of each attribute alone
    names = [(*k[:j], value[i][1][0], *k[j + 1 :]) for j, i in enumerate(kind)]
    weights = 1 / np.array([v for v, _ in value])
    return (weights / weights.max())[kind], roots[kind].sum() ** 2, names, roots[kind] / roots[kind].sum()

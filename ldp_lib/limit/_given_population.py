"""The least error at a given population of few records: a convex program over all sets, with exact certificate."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import linprog

from ldp_lib.limit._rational import holds_for_all_sets, subset_sums, well_formed
from ldp_lib.limit.linear_targets import prefixes

RECORDS = 10  # at most: the program runs over all sets of records
ALL_SETS = 16  # records of domains whose certificates try all sets, at most
GRID = 2**40  # denominators of what is rounded


@dataclass(frozen=True, kw_only=True)
class TableCertificate:
    """Why no unbiased mechanism has an error below `error` at a population.

    For every direction h_r and every set S, with w = exp(epsilon) on S and 1 elsewhere, the dual variables lambda meet

        sum_r (w . h_r)^2 <= (lambda . w) (F . w).

    Then n times the error is at least (sum_r a_r . h_r)^2 / sum(lambda), a_r the target's rows. What holds at the
    upper bound of exp(epsilon) holds below: a mechanism that spends less is one that may spend so much.

    Parameters
    ----------
    k : tuple of int
        Domain sizes.
    e : tuple of two Fractions
        Bounds of exp(epsilon).
    frequencies, dual : tuple of Fraction
        F and lambda, one entry a record, in lexicographic order.
    directions : tuple of tuples of Fraction
        One h for each row of the target; each sums to 0.
    error : Fraction
        The bound.
    target : {"shares", "pairs", "prefixes"}
        What is estimated: `target_rows`.
    """

    k: tuple
    e: tuple
    frequencies: tuple
    dual: tuple
    directions: tuple
    error: Fraction
    target: str = "shares"

    def check(self):
        """Return whether the bound holds, in rational arithmetic: every set of records is tried."""
        vectors = (self.frequencies, self.dual, *self.directions)
        # not sum(vectors, ()): an array and a tuple add up entry by entry, which hides what they hold
        if not well_formed(self.k, self.e, *itertools.chain(*vectors), self.error) or math.prod(self.k) > ALL_SETS:
            return False
        size, rows, t = math.prod(self.k), target_rows(self.k, self.target), self.e[1] - 1
        if (
            rows is None
            or len(self.directions) != len(rows)
            or any(len(vector) != size for vector in vectors)
            or any(sum(h) for h in self.directions)
            or min(self.frequencies) < 0
            or sum(self.frequencies) != 1
        ):
            return False
        f, dual, h = (np.array(v, object) for v in (self.frequencies, self.dual, self.directions))
        total = sum(self.dual)
        both = np.outer(f, dual)
        covered = holds_for_all_sets(total, t * (total * f + dual), t * t * ((both + both.T) / Fraction(2) - h.T @ h))
        return covered and 0 < self.error * total <= (rows * h).sum() ** 2


def target_rows(k, target):
    """Return what is estimated as rows over the records, in lexicographic order; None for an unknown target.

    "shares" has a row for each value of each attribute; "pairs" one for each cell of each table of two attributes;
    "prefixes", for one attribute, one for each share of the values up to v, but the last.
    """
    values = np.indices(k).reshape(len(k), -1)
    if target == "shares":
        return np.array([values[j] == v for j in range(len(k)) for v in range(k[j])], int)
    if target == "pairs" and len(k) > 1:
        pairs = itertools.combinations(range(len(k)), 2)
        cells = [(j, i, v, u) for j, i in pairs for v in range(k[j]) for u in range(k[i])]
        return np.array([(values[j] == v) & (values[i] == u) for j, i, v, u in cells], int)
    if target == "prefixes" and len(k) == 1:
        return prefixes(k[0])
    return None


def check_frequencies(counts, k):
    """Return a population's frequencies as Fractions in lexicographic order, or raise."""
    counts = np.asarray(counts)
    if counts.shape != k:
        raise ValueError(f"population must have the domain k = {k}; got shape {counts.shape}")
    if counts.size > RECORDS:
        raise ValueError(f"population must have at most {RECORDS} possible records; got {counts.size}")
    if counts.dtype.kind not in "iuf" or not 0 <= counts.min() <= counts.max() < math.inf or not counts.any():
        raise ValueError(f"population must hold numbers of at least 0, not all 0; got {counts.tolist()}")
    exact = [Fraction(x) for x in counts.ravel().tolist()]
    return tuple(x / sum(exact) for x in exact)


def newton(columns, a, f, q, rounds=150):
    """Return the weights q of columns with the least trace of a J^-1 a^T and sum_S q_S w_S = 1, and that inverse.

    An interior point method: the logarithmic barrier's weight falls until it does not count.
    """
    basis = np.linalg.svd(np.ones((1, columns.shape[1])))[2][1:].T  # directions that sum to 0
    v = columns @ basis / np.sqrt(columns @ f)[:, None]
    c = basis.T @ a.T @ a @ basis

    def value(q):
        return np.trace(c @ inverted(q)) - barrier * np.log(q).sum() if q.min() > 0 else np.inf

    def inverted(q):
        information = (v.T * q) @ v
        return np.linalg.inv(information + np.eye(len(c)) * np.trace(information) * 1e-12)

    barrier = 0.0
    first = barrier = value(q) / len(q)
    for _ in range(rounds):
        inverse = inverted(q)
        middle = inverse @ c @ inverse
        scaled = v * q[:, None]  # steps are taken relative to q
        slope = -np.einsum("si,ij,sj->s", v, middle, scaled) - barrier
        hessian = 2 * (scaled @ inverse @ v.T) * (v @ middle @ scaled.T)
        ridge = barrier + 1e-9 * np.abs(slope).max()
        root = np.linalg.cholesky((hessian + hessian.T) / 2 + ridge * np.eye(len(q)))
        whitened = solve_triangular(root, np.column_stack([columns * q[:, None], slope]), lower=True)
        price = np.linalg.lstsq(whitened[:, :-1], whitened[:, -1], rcond=None)[0]
        step = solve_triangular(root.T, whitened[:, :-1] @ price - whitened[:, -1], lower=False)
        size, now = min(1.0, 0.9 / max(1e-300, -step.min())), value(q)
        while size > 1e-9 and not value(q * (1 + size * step)) < now:
            size /= 2
        q = q * (1 + size * step)
        if size > 0.5 or size < 1e-9:
            if barrier < first * 1e-7:
                break
            barrier /= 5
    return q, basis @ inverted(q) @ basis.T


def dual_variables(told, every, f):
    """Return the dual variables with the least sum that cover sum_r told_r^2 / (F . w) for every column w."""
    mean = every.mean(axis=1)
    rows, cost = every / mean[:, None], (told**2).sum(axis=1) / (every @ f) / mean
    unit = cost.max()  # the solver's tolerances are absolute
    found = linprog(np.ones(len(f)), A_ub=-rows, b_ub=-cost / unit, bounds=(None, None), method="highs").x * unit
    lack = max(0.0, (cost - rows @ found).max())  # what is added to each is added n times to every row
    return found + (lack + 1e-10 * unit) / len(f)


def solve(k, e, frequencies):
    """Return a certificate, the error attained, the sets and their weights, at a population."""
    size, t = math.prod(k), float(e[1] - 1)
    f, a = np.array(frequencies, float), target_rows(k, "shares")
    member = subset_sums(np.eye(size, dtype=np.int8)).T[1:-1]
    every = 1 + t * member
    q, inverse = newton(every, a, f, balanced(every))
    along = inverse @ a.T
    units = np.round(along * (GRID * size / np.abs(along).max()))
    units[-1] -= units.sum(axis=0)  # each direction sums to 0
    directions = tuple(tuple(Fraction(int(x), GRID) for x in h) for h in units.T)
    dual = tuple(Fraction(x * (1 + 1e-8)) for x in dual_variables(t * (member @ units) / GRID, every, f).tolist())
    gained = sum(h[x] for row, h in zip(a, directions, strict=True) for x in np.flatnonzero(row))
    bound = {"dual": dual, "directions": directions, "error": gained**2 / sum(dual)}
    certificate = TableCertificate(k=k, e=e, frequencies=frequencies, **bound)
    often = q * (every @ f)
    likely = q * every.max(axis=1)  # for some record
    order = [i for i in np.argsort(-often, kind="stable") if likely[i] > 1e-5]
    few = q[order] + np.linalg.lstsq(every[order].T, 1 - every[order].T @ q[order])[0]
    if min(few) <= 0 or max(abs(every[order].T @ few - 1)) > 1e-9:  # too few sets are left
        order = np.argsort(-often, kind="stable")
        few = q[order]
    records = list(np.ndindex(*k))
    sets = tuple(tuple(records[x] for x in np.flatnonzero(member[i])) for i in order)
    often = few * (every[order] @ f)
    weights = tuple((often / often.sum()).tolist())
    return certificate, mixture_error(k, t, f, sets, weights, a), sets, weights


def mixture_error(k, t, f, sets, weights, rows):
    """Return the error of reporting these sets so often; infinite if that is no mechanism or tells too little."""
    told = np.zeros((len(sets), math.prod(k)))
    for line, chosen in zip(told, sets, strict=True):
        line[np.ravel_multi_index(np.transpose(chosen), k)] = t
    mean = 1 + told @ f
    q = np.array(weights) / mean
    if not abs(q @ (1 + told) - 1).max() < 1e-6 * min(1, t):  # what a set tells is of the order of t
        return math.inf
    basis = np.linalg.svd(np.ones((1, len(f))))[2][1:].T  # directions that sum to 0
    columns, half = (told @ basis * np.sqrt(q / mean)[:, None]).T, basis.T @ rows.T
    values = np.linalg.lstsq(columns, half)[0]
    fits = np.allclose(columns @ values, half, atol=1e-6)
    return float((values**2).sum()) if fits else math.inf


def balanced(columns):
    """Return weights above 0, the same for all columns but those of one record, with sum_S q_S w_S = 1."""
    single = np.flatnonzero((columns > 1).sum(axis=1) == 1)
    others = np.setdiff1d(np.arange(len(columns)), single)
    base, taken = np.linalg.solve(
        columns[single].T, np.column_stack([np.ones(columns.shape[1]), columns[others].sum(axis=0)])
    ).T
    q = np.full(len(columns), 0.5 / max((taken / base).max(), len(columns)))
    q[single] = base - q[0] * taken
    return q

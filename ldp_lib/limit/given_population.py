"""The least error at a given population of few records: a convex program over all sets, with exact certificate."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import linprog

RECORDS = 10  # at most: the program runs over all sets of records
GRID = 2**40  # denominators of what is rounded


@dataclass(frozen=True, kw_only=True)
class TableCertificate:
    """Why no mechanism has an error below `error` at a population.

    For every direction h_r and every set S, with w = exp(epsilon) on S and 1 elsewhere, the prices lambda must meet

        sum_r (w . h_r)^2 <= (lambda . w) (F . w).

    Then n times the error is at least (sum_r a_r . h_r)^2 / sum(lambda), a_r the records that have value r.

    Parameters
    ----------
    k : tuple of int
        Domain sizes.
    e : tuple of two Fractions
        Bounds of exp(epsilon).
    frequencies, prices : tuple of Fraction
        F and lambda, one entry a record, in lexicographic order.
    directions : tuple of tuples of Fraction
        One h a value, attribute by attribute; each sums to 0.
    error : Fraction
        The bound.
    """

    k: tuple
    e: tuple
    frequencies: tuple
    prices: tuple
    directions: tuple
    error: Fraction

    def check(self):
        """Return whether the bound holds, in rational arithmetic: every set of records is tried."""
        size, rows = math.prod(self.k), marginal_rows(self.k)
        shapes = len(self.frequencies) == len(self.prices) == size and len(self.directions) == len(rows)
        if (
            not shapes
            or min(self.frequencies) < 0
            or sum(self.frequencies) != 1
            or any(len(h) != size or sum(h) for h in self.directions)
        ):
            return False
        scale = math.lcm(*(x.denominator for x in (*self.prices, *self.frequencies, *sum(self.directions, ()))))
        units = np.array([[int(x * scale) for x in row] for row in (self.prices, self.frequencies, *self.directions)])
        units = units.astype(object)
        priced, held, *along = subset_sums(units)
        # w = 1 + t s:  lambda.w F.w - sum (w.h)^2 is linear + t^2 square, and t lies between two Fractions.
        total, t = sum(int(x) for x in units[0]), [x - 1 for x in self.e]
        linear = total * held + scale * priced
        square = priced * held - sum(h * h for h in along)
        least = [total * scale + t[a < 0] * a + t[b < 0] ** 2 * b for a, b in zip(linear, square, strict=True)]
        gained = sum(h[x] for row, h in zip(rows, self.directions, strict=True) for x in np.flatnonzero(row))
        return min(least) >= 0 and 0 < self.error * sum(self.prices) <= gained**2


def marginal_rows(k):
    """Return one row a value, attribute by attribute: which records, in lexicographic order, have it."""
    values = np.indices(k).reshape(len(k), -1)
    return np.array([values[j] == v for j in range(len(k)) for v in range(k[j])], dtype=int)


def subset_sums(rows):
    """Return the sums of each row's entries over all sets of columns, set by set: bit x of the number is column x."""
    sums = np.zeros((len(rows), 1), dtype=rows.dtype)
    for column in rows.T:
        sums = np.concatenate([sums, sums + column[:, None]], axis=1)
    return sums


def check_frequencies(counts, k):
    """Return a population's frequencies as Fractions in lexicographic order, or raise."""
    counts = np.asarray(counts)
    if counts.shape != k:
        raise ValueError(f"population must have the domain k = {k}; got shape {counts.shape}")
    if counts.size > RECORDS:
        raise ValueError(f"population must have at most {RECORDS} possible records; got {counts.size}")
    if counts.dtype.kind not in "iuf" or not np.isfinite(counts).all() or counts.min() < 0 or not counts.any():
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


def prices(told, every, f):
    """Return the prices with the least sum that cover sum_r told_r^2 / (F . w) for every column w."""
    mean = every.mean(axis=1)
    rows, cost = every / mean[:, None], (told**2).sum(axis=1) / (every @ f) / mean
    unit = cost.max()  # the solver's tolerances are absolute
    found = linprog(np.ones(len(f)), A_ub=-rows, b_ub=-cost / unit, bounds=(None, None), method="highs").x * unit
    lack = max(0.0, (cost - rows @ found).max())  # what is added to every price is added n times to every row
    return found + (lack + 1e-10 * unit) / len(f)


def solve(k, e, frequencies):
    """Return a certificate, the error attained, the sets and their weights, at a population."""
    size, t = math.prod(k), float(e[1] - 1)
    f, a = np.array([float(x) for x in frequencies]), marginal_rows(k)
    member = subset_sums(np.eye(size, dtype=np.int8)).T[1:-1]
    every = 1 + t * member
    q, inverse = newton(every, a, f, balanced(every))
    along = inverse @ a.T
    units = np.round(along * (GRID * size / np.abs(along).max()))
    units[-1] -= units.sum(axis=0)  # each direction sums to 0
    directions = tuple(tuple(Fraction(int(x), GRID) for x in h) for h in units.T)
    price = tuple(Fraction(x * (1 + 1e-8)) for x in prices(t * (member @ units) / GRID, every, f).tolist())
    attained = float(((a @ inverse) * a).sum())
    gained = sum(h[x] for row, h in zip(a, directions, strict=True) for x in np.flatnonzero(row))
    certificate = TableCertificate(
        k=k,
        e=e,
        frequencies=frequencies,
        prices=price,
        directions=directions,
        error=gained**2 / sum(price),
    )
    often = q * (every @ f)
    order = [i for i in np.argsort(-often, kind="stable") if often[i] > 1e-5]
    records = list(np.ndindex(*k))
    sets = tuple(tuple(records[x] for x in np.flatnonzero(member[i])) for i in order)
    return certificate, attained, sets, tuple(float(often[i] / often[order].sum()) for i in order)


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

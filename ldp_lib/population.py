"""A population: its distinct records and how many users hold each."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ldp_lib._inputs import check_domain, check_records, check_users, is_integer, unmasked


@dataclass(frozen=True, kw_only=True, eq=False)
class Population:
    """Distinct records of d attributes and their counts: all that exact distributions need of the data.

    Make one with `from_counts`, `from_records` or `from_frame`.

    Parameters
    ----------
    records : array of int, shape (m, d)
        The distinct records, in lexicographic order; attribute j takes values 0 to k[j]-1.
    counts : array of int, shape (m,)
        The number of users with each record, at least 1; fewer than 2**53 in all, so that every sum is exact.
    k : tuple of d ints
        Domain sizes.
    names : tuple of d str, optional
        The attributes' names.
    labels : tuple of d tuples of str, optional
        The values' labels.
    """

    records: np.ndarray
    counts: np.ndarray
    k: tuple
    names: tuple | None = None
    labels: tuple | None = None

    def __post_init__(self):
        object.__setattr__(self, "k", check_domain(self.k))
        records = check_records(self.records, self.k, name="records")
        counts = unmasked(self.counts, "counts")
        if counts.shape != (len(records),):
            raise ValueError(f"counts must have one entry a record, shape ({len(records)},); got shape {counts.shape}")
        if counts.dtype.kind not in "iu":
            raise TypeError(f"counts must be integers; got type {counts.dtype}")
        if counts.min() < 1:
            raise ValueError(f"counts must be at least 1 for a record that is listed; got {counts.min()}")
        if counts.sum(dtype=float) >= 2**53:
            raise ValueError(f"counts must add up to less than 2**53; got {counts.sum(dtype=float):.6g}")
        if not _increasing(records):
            raise ValueError("records must be distinct and in lexicographic order; use Population.from_records")
        for name, value, sizes in (("names", self.names, None), ("labels", self.labels, self.k)):
            if value is None:
                continue
            object.__setattr__(self, name, tuple(tuple(v) if sizes else v for v in value))
            if len(value) != self.d:
                raise ValueError(f"{name} must have one entry an attribute, {self.d}; got {len(value)}")
            if sizes and tuple(map(len, value)) != sizes:
                raise ValueError(f"labels must match k = {sizes}; got lengths {tuple(map(len, value))}")
        if self.names and len(set(self.names)) < self.d:
            raise ValueError(f"names must differ from each other; got {self.names}")
        object.__setattr__(self, "records", _frozen(records.astype(np.int64)))
        object.__setattr__(self, "counts", _frozen(counts.astype(np.int64)))

    @classmethod
    def from_counts(cls, counts, *, names=None, labels=None):
        """Return the population with `counts[v]` users of value v, or `counts[v1, ..., vd]` of record (v1, ..., vd).

        Parameters
        ----------
        counts : array_like of int, shape (k,) or (k_1, ..., k_d)
            Numbers of users, none negative, not all zero. Those in a pandas Series count by their places, whatever its
            index says; `value_counts` sorts by number, so give ``value_counts().reindex(range(k), fill_value=0)``.

        Raises
        ------
        TypeError, ValueError
            If a count is not an integer, is negative, or all are zero, or an attribute has fewer than two values.
        """
        counts = unmasked(counts, "counts")
        if counts.dtype.kind not in "iu":
            raise TypeError(f"counts must be integers of at least 0; got type {counts.dtype}")
        if counts.ndim == 0 or not counts.any() or counts.min() < 0:
            least = f"least {counts.min()}" if counts.size else "no entry"
            raise ValueError(f"counts must be at least 0 and not all 0; got shape {counts.shape}, {least}")
        records = np.argwhere(counts)
        return cls(records=records, counts=counts[tuple(records.T)], k=counts.shape, names=names, labels=labels)

    @classmethod
    def from_records(cls, x, *, k, names=None, labels=None):
        """Return the population of users with values `x`, shape (n,), or records `x`, shape (n, d).

        Parameters
        ----------
        x : array_like of int, shape (n,) or (n, d)
            One value or record a user.
        k : int or sequence of d ints
            Domain sizes.
        """
        k = check_domain(k)
        x = check_records(x, k)
        if math.prod(k) < 2**63:  # sorted by one number a record, which is faster
            codes, counts = np.unique(np.ravel_multi_index(tuple(x.T), k), return_counts=True)
            records = np.column_stack(np.unravel_index(codes, k))
        else:
            records, counts = np.unique(x, axis=0, return_counts=True)
        return cls(records=records, counts=counts, k=k, names=names, labels=labels)

    @classmethod
    def from_frame(cls, frame):
        """Return the population of a pandas DataFrame with one row a user and one column an attribute.

        A categorical column keeps the order of its categories; any other column's distinct values are sorted.
        Missing values are an error: give them a label of their own first. `Survey.encode` codes records in row order.
        """
        import pandas as pd

        if not isinstance(frame, pd.DataFrame) or not frame.size:
            raise TypeError(f"frame must be a pandas.DataFrame with rows and columns; got {type(frame).__name__}")
        if frame.isna().any(axis=None):
            raise ValueError(f"frame must not have missing values; got {list(frame.columns[frame.isna().any()])}")
        columns = {str(name): column.astype("category").cat for name, column in frame.items()}
        labels = tuple(tuple(map(str, column.categories)) for column in columns.values())
        if len(columns) < frame.shape[1] or min(map(len, labels)) < 2:
            needed = "columns of different names, each with at least two values or, made categorical, categories"
            raise ValueError(f"frame must have {needed}; got {list(zip(frame.columns, labels, strict=False))}")
        x = np.column_stack([column.codes for column in columns.values()])
        return cls.from_records(x, k=tuple(map(len, labels)), names=tuple(columns), labels=labels)

    @classmethod
    def from_shares(cls, shares, n):
        """Return a population of n users with these shares of values, one array an attribute, rounded to whole users.

        Those of a list or a series are read by their places too. The attributes are put together in the order of their
        values: the joint table is no estimate of anything. The cost does not depend on n.
        """
        reached = [np.cumsum(_whole(part, n)) for part in shares]
        ends = np.unique(np.concatenate([[0], *reached]))  # between two of these all users have the same record
        records = np.column_stack([np.searchsorted(steps, ends[:-1], side="right") for steps in reached])
        return cls(records=records, counts=np.diff(ends), k=tuple(map(len, shares)))

    @cached_property
    def n(self):
        """Number of users."""
        return int(self.counts.sum())

    @property
    def d(self):
        """Number of attributes."""
        return len(self.k)

    @cached_property
    def histogram(self):
        """Number of users with each value, shape (k,), or with each record, shape (k_1, ..., k_d)."""
        table = np.zeros(self.k, np.int64)
        table[tuple(self.records.T)] = self.counts
        return _frozen(table)

    @property
    def joint(self):
        """Share of users with each record, shape (k_1, ..., k_d): the histogram divided by n."""
        return self.histogram / self.n

    @property
    def frequencies(self):
        """True frequencies, as mechanisms estimate them: shape (k,), or for several attributes d arrays (k_j,)."""
        return marginal_frequencies(self) if self.d > 1 else self.joint

    def __eq__(self, other):
        if not isinstance(other, Population):
            return NotImplemented
        same = (self.k, self.names, self.labels) == (other.k, other.names, other.labels)
        return same and np.array_equal(self.records, other.records) and np.array_equal(self.counts, other.counts)

    def __hash__(self):
        return hash((self.k, self.names, self.labels, self.records.tobytes(), self.counts.tobytes()))

    def select(self, *attributes):
        """Return the population of the named (or numbered) attributes alone."""
        names, allowed = self.names or (), f"attributes must be among {self.names or ()} or 0 to {self.d - 1}"
        columns = [names.index(one) if one in names else one for one in attributes]
        for j in columns:
            if not is_integer(j) or not 0 <= j < self.d:
                raise ValueError(f"{allowed}; got {j!r}")
        if not columns or len(set(columns)) < len(columns):
            raise ValueError(f"{allowed}, at least one of them, each once; got {attributes}")
        k, names, labels = (part and tuple(part[j] for j in columns) for part in (self.k, self.names, self.labels))
        if (cells := math.prod(k)) <= 2**16:  # counting is faster than sorting, and exact below 2**53
            codes = np.ravel_multi_index(self.records[:, columns].T, k)
            counts = np.bincount(codes, weights=self.counts, minlength=cells).astype(np.int64).reshape(k)
            return Population.from_counts(counts, names=names, labels=labels)
        rows, inverse = np.unique(self.records[:, columns], axis=0, return_inverse=True)
        counts = np.bincount(inverse.ravel(), weights=self.counts).astype(np.int64)
        return Population(records=rows, counts=counts, k=k, names=names, labels=labels)

    def users(self):
        """Return one row a user: shape (n,) for one attribute, (n, d) for several, in the order of the records.

        The order in which users came is not kept.
        """
        rows = np.repeat(self.records, self.counts, axis=0)
        return rows[:, 0] if self.d == 1 else rows


def _increasing(records):
    """Whether every record comes after the one before it, in lexicographic order."""
    step = np.diff(records.astype(np.int64), axis=0)
    first = (step != 0).argmax(axis=1)
    return (step[np.arange(len(step)), first] > 0).all()


def _whole(shares, n):
    n = check_users(n)
    shares = np.asarray(shares, float)
    if not (min(shares) >= 0 and abs(shares.sum() - 1) <= 1e-6):
        raise ValueError(f"shares must be at least 0 and sum to 1 for each attribute; got {shares!r}")
    counts = (exact := shares / shares.sum() * n).astype("i8")  # rounded down
    counts[np.argsort(counts - exact, kind="stable")[: n - counts.sum()]] += 1  # of equal ones the first
    return counts


def _frozen(array):
    array = np.array(array)
    array.flags.writeable = False
    return array


def marginal_frequencies(population):
    """Return the true frequencies, a list of one array (k_j,) for each attribute j, also if there is one only."""
    columns = zip(population.records.T, population.k, strict=True)
    return [np.bincount(column, weights=population.counts, minlength=size) / population.n for column, size in columns]

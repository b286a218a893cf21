"""A population: its distinct records and how many users hold each."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral

import numpy as np


@dataclass(frozen=True, kw_only=True, eq=False)
class Population:
    """Distinct records of d attributes and their counts; all that the exact laws of this library need of the data.

    Make one with `from_counts`, `from_records` or `from_frame`.

    Parameters
    ----------
    records : array of int, shape (m, d)
        The distinct records, in lexicographic order; attribute j takes values 0 to k[j]-1.
    counts : array of int, shape (m,)
        The number of users with each record, at least 1.
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
        counts = np.asarray(self.counts)
        if counts.shape != (len(records),):
            raise ValueError(f"counts must have one entry a record, shape ({len(records)},); got shape {counts.shape}")
        if counts.dtype.kind not in "iu":
            raise TypeError(f"counts must be integers; got type {counts.dtype}")
        if counts.min() < 1:
            raise ValueError(f"counts must be at least 1 for a record that is listed; got {counts.min()}")
        codes = np.ravel_multi_index(tuple(records.T), self.k) if np.prod(self.k, dtype=float) < 2**63 else None
        if codes is not None and (np.diff(codes) <= 0).any():
            raise ValueError("records must be distinct and in lexicographic order; use Population.from_records")
        for name, value, sizes in (("names", self.names, None), ("labels", self.labels, self.k)):
            if value is None:
                continue
            object.__setattr__(self, name, tuple(tuple(v) if sizes else v for v in value))
            if len(value) != self.d:
                raise ValueError(f"{name} must have one entry an attribute, {self.d}; got {len(value)}")
            if sizes and tuple(map(len, value)) != sizes:
                raise ValueError(f"labels must match k = {sizes}; got lengths {tuple(map(len, value))}")
        object.__setattr__(self, "records", _frozen(records))
        object.__setattr__(self, "counts", _frozen(counts.astype(np.int64)))

    @classmethod
    def from_counts(cls, counts, *, names=None, labels=None):
        """Return the population with `counts[v]` users of value v, or `counts[v1, ..., vd]` of record (v1, ..., vd).

        Parameters
        ----------
        counts : array_like of int, shape (k,) or (k_1, ..., k_d)
            Numbers of users, none negative, not all zero.

        Raises
        ------
        TypeError, ValueError
            If a count is not an integer, is negative, or all are zero, or an attribute has fewer than two values.
        """
        counts = np.asarray(counts)
        if counts.dtype.kind not in "iu":
            raise TypeError(f"counts must be integers of at least 0; got type {counts.dtype}")
        if counts.ndim == 0 or counts.size == 0 or counts.min() < 0 or not counts.any():
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
        records, counts = np.unique(x, axis=0, return_counts=True)
        return cls(records=records, counts=counts, k=k, names=names, labels=labels)

    @classmethod
    def from_frame(cls, frame):
        """Return the population of a pandas DataFrame with one row a user and one column an attribute.

        A categorical column keeps the order of its categories; any other column's distinct values are sorted.
        Missing values are an error: give them a label of their own first.
        """
        if frame.isna().any(axis=None):
            raise ValueError(
                f"frame must not have missing values; got some in {list(frame.columns[frame.isna().any()])}"
            )
        columns = [frame[name].astype("category").cat for name in frame.columns]
        x = np.column_stack([column.codes for column in columns])
        labels = tuple(tuple(map(str, column.categories)) for column in columns)
        return cls.from_records(x, k=tuple(map(len, labels)), names=tuple(map(str, frame.columns)), labels=labels)

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
        table = np.zeros(self.k, dtype=np.int64)
        table[tuple(self.records.T)] = self.counts
        return _frozen(table)

    @property
    def frequencies(self):
        """The histogram divided by n."""
        return self.histogram / self.n

    def select(self, *attributes):
        """Return the population of the named (or numbered) attributes alone."""
        if not attributes:
            raise ValueError("attributes must name at least one attribute; got none")
        allowed = f"attributes must be among {self.names or ()} or 0 to {self.d - 1}"
        columns = []
        for attribute in attributes:
            if self.names and attribute in self.names:
                columns.append(self.names.index(attribute))
            elif isinstance(attribute, Integral) and 0 <= attribute < self.d:
                columns.append(int(attribute))
            else:
                raise ValueError(f"{allowed}; got {attribute!r}")
        records, inverse = np.unique(self.records[:, columns], axis=0, return_inverse=True)
        counts = np.zeros(len(records), dtype=np.int64)
        np.add.at(counts, inverse.ravel(), self.counts)
        pick = lambda values: values and tuple(values[j] for j in columns)  # noqa: E731
        return Population(
            records=records, counts=counts, k=pick(self.k), names=pick(self.names), labels=pick(self.labels)
        )

    def users(self):
        """Return one row a user: shape (n,) for one attribute, (n, d) for several, in the order of the records."""
        rows = np.repeat(self.records, self.counts, axis=0)
        return rows[:, 0] if self.d == 1 else rows


def tree_law(frequencies, rho, parents, *, different=False):
    """Return the joint law, shape (k,) * d, of attributes each of which copies an earlier one with probability rho.

    Parameters
    ----------
    frequencies : array_like, shape (k,)
        Law of attribute 0.
    rho : number or symbol
        Probability to copy the parent, from 0 to 1.
    parents : sequence of d-1 ints
        The parent of attributes 1, ..., d-1; each lower than the attribute's own number.
    different : bool
        What the others do: draw a uniform value (False), or a uniform value other than the parent's (True).

    Notes
    -----
    With a uniform root and uniform draws, attribute and parent have Pearson correlation rho; with different draws it
    is (k rho - 1) / (k-1). Chapter `corr_rr_evaluation`.
    """
    law = np.asarray(frequencies)
    k = len(law)
    for child, parent in enumerate(parents, 1):
        if not 0 <= parent < child:
            raise ValueError(f"parents must come before their children; got {parent} for attribute {child}")
        same, other = (rho, (1 - rho) / (k - 1)) if different else (rho + (1 - rho) / k, (1 - rho) / k)
        copy = np.array([[same if u == v else other for v in range(k)] for u in range(k)])
        shape = [k if axis in (parent, child) else 1 for axis in range(child + 1)]
        law = law[..., None] * copy.reshape(shape)
    return law


def syn_a(n, *, d, rho, frequencies, rng, different=False):
    """Return n users of the Corr-RR paper's SynA: attribute 0 is drawn, each other one copies it or draws anew.

    Parameters
    ----------
    n : int
        Number of users.
    d : int
        Number of attributes, at least 2.
    rho : float
        Probability to copy, from 0 to 1.
    frequencies : array_like, shape (k,)
        Law of attribute 0.
    rng : numpy.random.Generator
        Source of randomness.
    different : bool
        As in `tree_law`. The paper's words say True, its table of correlations says False.

    Notes
    -----
    Seeam et al. (revised 2026), Section 4.2.3. Chapter `corr_rr_evaluation`.
    """
    return _synthetic(n, d, rho, frequencies, rng, different, lambda child: 0)


def syn_b(n, *, d, rho, frequencies, rng, different=False):
    """Return n users of the Corr-RR paper's SynB: as `syn_a`, but each attribute's parent is a random earlier one."""
    return _synthetic(n, d, rho, frequencies, rng, different, lambda child: int(rng.integers(child)))


def _synthetic(n, d, rho, frequencies, rng, different, parent):
    for name, value, least in (("n", n, 1), ("d", d, 2)):
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, Integral) or value < least:
            raise ValueError(f"{name} must be an integer of at least {least}; got {value!r}")
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator; got {rng!r}")
    f = np.asarray(frequencies, dtype=float)
    if f.ndim != 1 or f.size < 2 or not (f.min() >= 0 and abs(f.sum() - 1) <= 1e-9):
        raise ValueError(f"frequencies must be at least two probabilities that sum to 1; got {frequencies!r}")
    if not 0 <= rho <= 1:
        raise ValueError(f"rho must be from 0 to 1; got {rho!r}")
    law = tree_law(f / f.sum(), rho, [parent(child) for child in range(1, d)], different=different)
    return Population.from_counts(rng.multinomial(n, law.ravel() / law.sum()).reshape(law.shape))


def check_domain(k):
    """Return the domain sizes as a tuple of ints of at least 2, or raise."""
    sizes = tuple(k) if isinstance(k, Iterable) else (k,)
    complaint = f"k must be an integer of at least 2, or one for each attribute; got {k!r}"
    if any(isinstance(size, (bool, np.bool_)) or not isinstance(size, Integral) for size in sizes):
        raise TypeError(complaint)
    if not sizes or min(sizes) < 2:
        raise ValueError(complaint)
    return tuple(map(int, sizes))


def check_records(x, k, name="x"):
    """Return records as an (n, d) integer array after checking the shape and every column's range, or raise."""
    x = np.asarray(x)
    if x.ndim == 1 and len(k) == 1:
        x = x[:, None]
    if x.ndim != 2 or x.shape[1] != len(k) or len(x) == 0:
        raise ValueError(
            f"{name} must have at least one row and {len(k)} columns, one an attribute; got shape {x.shape}"
        )
    if x.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers; got type {x.dtype}, first row {x[0]!r}")
    for j, size in enumerate(k):
        bad = (x[:, j] < 0) | (x[:, j] >= size)
        if bad.any():
            row = int(np.argmax(bad))
            raise ValueError(f"{name} must be from 0 to {size - 1} in column {j}; got {x[row, j]} in row {row}")
    return x


def _frozen(array):
    array = np.array(array)
    array.flags.writeable = False
    return array

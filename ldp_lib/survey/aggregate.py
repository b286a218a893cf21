"""Reports that are too many for one machine's memory: counted where they lie, chunk by chunk, and the counts added up.

What an estimate needs of the reports are counts, and those of disjoint sets of reports add up. So reports may lie in
arrays, data frames, Parquet files or a Dask collection, on one machine or on many.
"""

import contextlib
import json
import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ldp_lib
from ldp_lib import inputs
from ldp_lib.survey import files as tables

CHUNK = 2**20  # users; each chunk has a generator of its own


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of reports of one mechanism; ``a + b`` are those of both together.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism that made the reports, with its parameters.
    counts : array of int64
        What the mechanism's `count` gives; the first entry is the number of reports.
    parts : tuple of str
        Names of the parts that were counted, if they have names, such as files. No part can be added twice.
    """

    mechanism: Any
    counts: np.ndarray
    parts: tuple = ()

    def __post_init__(self):
        check_countable(self.mechanism)
        counts = np.asarray(self.counts)
        if counts.ndim != 1 or counts.dtype.kind not in "iu" or not counts.size or counts.min() < 0 or counts[0] < 1:
            raise ValueError(
                f"counts must be a vector of whole numbers that starts with a positive one; got {counts!r}"
            )
        object.__setattr__(self, "counts", counts.astype(np.int64))
        object.__setattr__(self, "parts", tuple(self.parts))

    @property
    def n(self) -> int:
        """Number of reports."""
        return int(self.counts[0])

    def __add__(self, other):
        if not isinstance(other, Counts):
            return NotImplemented
        if other.mechanism != self.mechanism:
            raise ValueError(f"counts must be of one mechanism; got {self.mechanism!r} and {other.mechanism!r}")
        twice = sorted(set(self.parts) & set(other.parts))
        if twice:
            raise ValueError(f"counts must be of different reports; {twice[0]!r} is in both")
        return Counts(self.mechanism, self.counts + other.counts, self.parts + other.parts)

    def estimate(self):
        """Return the mechanism's estimate, as from all reports at once."""
        return self.mechanism.estimate_counts(self.counts)

    def save(self, path):
        """Write the counts to a JSON file with a manifest: mechanism, parameters, number of reports, parts, version."""
        manifest = {"mechanism": repr(self.mechanism), "reports": self.n, "parts": self.parts}
        whole = manifest | {"ldp_lib": ldp_lib.__version__, "counts": self.counts.tolist()}
        scratch = Path(f"{path}.{os.getpid()}.tmp")
        try:
            scratch.write_text(json.dumps(whole), encoding="utf-8")
            scratch.replace(path)  # a file of this name is always whole
        finally:
            scratch.unlink(missing_ok=True)

    @classmethod
    def load(cls, path, mechanism):
        """Read counts that `save` wrote, for the mechanism that made the reports.

        Raises
        ------
        ValueError
            If the file is no manifest, is damaged, or is about another mechanism, budget or domain.
        """
        try:
            whole = json.loads(Path(path).read_text(encoding="utf-8"))
            made, count, parts, counts = (whole[key] for key in ("mechanism", "reports", "parts", "counts"))
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"path must be a file of counts; {str(path)!r} is none, or is damaged") from None
        if made != repr(mechanism):
            raise ValueError(f"mechanism must be {made}, as {str(path)!r} says; got {mechanism!r}")
        found = cls(mechanism, np.array(counts), tuple(parts))
        length = len(mechanism.count(tables.template(mechanism)))
        if found.n != count or len(found.counts) != length:
            what = f"{len(found.counts)} counts of {found.n} reports where {length} of {count} belong"
            raise ValueError(f"path must be a file of counts; {str(path)!r} is damaged: it holds {what}")
        return found


def check_countable(mechanism):
    """Raise ValueError unless the mechanism's estimate needs nothing but sums over the reports."""
    if not (hasattr(mechanism, "count") and hasattr(mechanism, "estimate_counts")):
        raise ValueError(f"mechanism must have reports whose counts add up; those of {mechanism!r} do not")


def aggregate(reports, mechanism) -> Counts:
    """Count reports, one chunk after the other; only one chunk is in memory at a time.

    Parameters
    ----------
    reports : array, DataFrame, path, Dask data frame, or iterable of any of these
        Arrays as `perturb` returns them; data frames and Parquet files as `reports.to_frame` makes them. A Parquet
        file, or a folder of such files, is read row group by row group. A Dask data frame is counted by Dask's
        workers, where its partitions lie.
    mechanism : Mechanism
        One whose counts add up: not one with two phases.

    Returns
    -------
    Counts
        The same, to the last bit, however the reports are cut into chunks.

    Raises
    ------
    TypeError, ValueError
        If a report does not fit the mechanism, or a file is damaged or lacks a column: file and row group are named.
    """
    check_countable(mechanism)
    total = None
    for part in _parts(reports, mechanism):
        total = part if total is None else total + part
    if total is None:
        raise ValueError("reports must hold at least one report; got none")
    return total


def count_frame(frame, mechanism) -> np.ndarray:
    """Return the counts of the reports in a data frame; what a Dask worker does with its partition."""
    if not len(frame):
        return np.zeros(1, np.int64)
    return mechanism.count(tables.from_frame(frame, mechanism))


def _parts(reports, mechanism):
    """Yield the counts of each chunk."""
    if isinstance(reports, str | os.PathLike):
        yield from _files(Path(reports), mechanism)
    elif isinstance(reports, pd.DataFrame):
        counts = count_frame(reports, mechanism)
        if counts[0]:
            yield Counts(mechanism, counts)
    elif hasattr(reports, "to_delayed"):
        yield from _partitions(reports, mechanism)
    elif isinstance(reports, np.ndarray):
        yield Counts(mechanism, mechanism.count(reports))
    elif isinstance(reports, Iterable):
        for chunk in reports:
            yield from _parts(chunk, mechanism)
    else:
        raise TypeError(
            f"reports must be arrays, data frames, paths or a Dask data frame; got {type(reports).__name__}"
        )


def _files(path, mechanism):
    """Yield the counts of each Parquet file, the file's name as its part."""
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    names = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
    if not names:
        raise ValueError(f"reports must be Parquet files; there is none in {str(path)!r}")
    wanted = tables.columns(mechanism)
    for name in names:
        total = np.zeros(1, np.int64)
        with contextlib.ExitStack() as stack:
            try:
                file = stack.enter_context(ParquetFile(name))
            except (ArrowException, OSError) as error:
                raise ValueError(f"reports must be whole Parquet files; {str(name)!r} is not: {error}") from error
            lacking = [column for column in wanted if column not in file.schema_arrow.names]
            if lacking:
                raise ValueError(f"reports must have the columns {wanted}; {str(name)!r} lacks {lacking[0]!r}")
            for group in range(file.num_row_groups):
                columns = {}
                try:
                    table = file.read_row_group(group, columns=wanted)
                    columns = {column: table[column].to_numpy() for column in wanted}
                    if table.num_rows:
                        total = total + mechanism.count(tables.from_columns(columns, mechanism))
                except (ArrowException, OSError, TypeError, ValueError) as error:
                    where = f"in row group {group} of {str(name)!r}{ranges(columns)}"
                    raise type_of(error)(f"{error} ({where})") from error
        if total[0]:
            yield Counts(mechanism, total, (str(name.resolve()),))


def ranges(columns, most=12):
    """Return words about what columns hold, to tell which of them has a value that no report has."""
    found = [f"{name} {c.min()} to {c.max()}" for name, c in columns.items() if len(c) and c.dtype.kind in "iu"]
    return "; its columns hold " + ", ".join(found[:most]) + ", ..." * (len(found) > most) if found else ""


def type_of(error):
    """Return TypeError for a TypeError, else ValueError."""
    return TypeError if isinstance(error, TypeError) else ValueError


def _partitions(collection, mechanism):
    """Yield the counts of a Dask data frame, added up by the workers in pairs."""
    from dask import compute, delayed

    counts = [delayed(count_frame)(part, mechanism) for part in collection.to_delayed()]
    while len(counts) > 1:
        counts = [delayed(np.add)(*pair) if len(pair) > 1 else pair[0] for pair in _pairs(counts)]
    (total,) = compute(*counts)
    if total[0]:
        yield Counts(mechanism, total)


def _pairs(items):
    return [items[i : i + 2] for i in range(0, len(items), 2)]


def perturb_in_chunks(mechanism, x, *, rng: np.random.Generator, threads=1):
    """Return one report a user, as ``mechanism.perturb(x, rng=rng)`` does, made by several threads at once.

    Parameters
    ----------
    mechanism : Mechanism
        One that asks each user alone: none of two phases or of correlated coins, and none with ``groups=True``, since
        these deal their questions to all users together.
    x : array of int, shape (n,) or (n, d)
        The users' values or records.
    rng : numpy.random.Generator
        Source of randomness. Each chunk of `CHUNK` users gets a generator that is spawned from it, so the reports
        depend on this generator and on nothing else.
    threads : int
        How many chunks to work on at a time: as many as there are processor cores, at best. NumPy's generators and
        arithmetic let threads run at the same time.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong type or out of range, or the mechanism does not ask each user alone.
    """
    inputs.require(rng=rng, threads=threads)
    if any(hasattr(mechanism, name) for name in ("n1", "rho")) or getattr(mechanism, "groups", False):
        allowed = "mechanism must ask each user alone: not in two phases, in groups or with correlated coins"
        raise ValueError(f"{allowed}; got {mechanism!r}")
    x = inputs.unmasked(x, "x")
    starts = range(0, len(x), CHUNK)
    *streams, spare = rng.spawn(len(starts) + 1)
    one = mechanism.perturb(x[:1], rng=spare)  # what a report looks like
    y = np.empty((len(x), *one.shape[1:]), one.dtype)

    def fill(start, stream):
        try:
            y[start : start + CHUNK] = mechanism.perturb(x[start : start + CHUNK], rng=stream)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{error}, counted from user {start}") from error

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, starts, streams))
    return y

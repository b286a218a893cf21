"""Reports that are too many for one machine's memory: counted where they lie, and the counts added up.

Estimated shares need only counts, and those of disjoint sets of reports add up. So reports may lie in arrays, data
frames, files or a Dask collection, on one machine or on many.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ldp_lib
from ldp_lib import inputs
from ldp_lib.survey import _files as files

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
        Names of the parts that were counted: of a file its name and checksum. No part can be added twice, and files of
        one checksum are one part.
    survey : str, optional
        The description of the survey, if the reports carry one.
    """

    mechanism: Any
    counts: np.ndarray
    parts: tuple[str, ...] = ()
    survey: str | None = None

    def __post_init__(self) -> None:
        files.check_countable(self.mechanism)
        counts = np.asarray(self.counts)
        if counts.ndim != 1 or counts.dtype.kind not in "iu" or not counts.size or counts.min() < 0 or counts[0] < 1:
            raise ValueError(f"counts must be a vector of whole numbers, the first positive; got {counts!r}")
        object.__setattr__(self, "counts", counts.astype(np.int64))
        object.__setattr__(self, "parts", tuple(self.parts))
        if self.counts.max() > self.counts[0]:
            raise ValueError(f"counts must be possible: no answer in more reports than there are; got {counts!r}")
        files.check_parts(self.parts)

    @property
    def n(self) -> int:
        """Number of reports."""
        return int(self.counts[0])

    def __add__(self, other: "Counts") -> "Counts":
        if not isinstance(other, Counts):
            return NotImplemented
        if other.mechanism != self.mechanism:
            raise ValueError(f"counts must be of one mechanism; got {self.mechanism!r} and {other.mechanism!r}")
        if other.survey != self.survey:
            files.check_description(other.survey or self.survey, self.survey or "", "the second part")
        return Counts(self.mechanism, self.counts + other.counts, self.parts + other.parts, self.survey)

    def estimate(self) -> Any:
        """Return the mechanism's estimate, as from all reports at once."""
        return self.mechanism.estimate_counts(self.counts)

    def save(self, path: Any) -> None:
        """Write the counts to a JSON file: mechanism, survey, number of reports, parts, version, and a checksum."""
        manifest = {"mechanism": repr(self.mechanism), "survey": self.survey, "reports": self.n, "parts": self.parts}
        whole = manifest | {"ldp_lib": ldp_lib.__version__, "counts": self.counts.tolist()}
        with files.atomic(path) as scratch:
            scratch.write_text(json.dumps(whole | {"sha256": _checksum(whole)}), encoding="utf-8")

    @classmethod
    def load(cls, path: Any, mechanism: Any) -> "Counts":
        """Read counts that `save` wrote, for the mechanism that made the reports.

        Raises
        ------
        ValueError
            If the file is damaged, holds counts that cannot be, or is about another mechanism, budget or domain.
        """
        try:
            whole = json.loads(Path(path).read_text(encoding="utf-8"))
            wanted = whole.pop("sha256")
            made, count, parts, counts = (whole[key] for key in ("mechanism", "reports", "parts", "counts"))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise ValueError(f"path must be a file of counts; {str(path)!r} is none, or is damaged") from None
        if made != repr(mechanism):
            raise ValueError(f"mechanism must be {made}, as {str(path)!r} says; got {mechanism!r}")
        x = np.zeros((2, len(mechanism.k)) if isinstance(mechanism.k, tuple) else 2, dtype=int)
        length = len(mechanism.count(mechanism.perturb(x, rng=np.random.default_rng(1))))
        if wanted != _checksum(whole) or len(counts) != length or counts[0] != count:
            raise ValueError(f"path must be a file of counts as written; {str(path)!r} is damaged or was changed")
        return cls(mechanism, np.array(counts), tuple(parts), whole["survey"])


def _checksum(whole):
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def aggregate(reports: Any, mechanism: Any, *, survey: str | None = None) -> Counts:
    """Count reports, one block after the other; only one block of about a million is in memory at a time.

    Parameters
    ----------
    reports : array, DataFrame, path, Dask data frame, or iterable of any of these
        Arrays as `perturb` returns them; data frames and files as `Survey.collect`, `files.to_frame` and `files.write`
        make them. Of a folder all files are read. A Dask data frame is counted by Dask's workers, where its partitions
        lie.
    mechanism : Mechanism
        One whose counts add up: not one with two phases.
    survey : str, optional
        The description that all reports must carry. If not given, all must carry the same one, or none.

    Returns
    -------
    Counts
        The same, to the last bit, however the reports are cut into blocks.

    Raises
    ------
    TypeError, ValueError
        If a report does not fit the mechanism, is of another survey, or a file is damaged, lacks a column or is there
        twice: the file and its row group are named.
    """
    files.check_countable(mechanism)
    total = None
    if hasattr(reports, "to_delayed"):
        total = _counted_by_dask(reports, mechanism)
    else:
        for counted, told, part in _sources(reports, mechanism, survey, mechanism.count):
            counts = sum(counted)
            if np.ndim(counts):  # a file may hold no reports
                found = Counts(mechanism, counts, (part,) if part else (), told)
                total = found if total is None else total + found
    if total is None:
        raise ValueError("reports must hold at least one report; got none")
    return total


def blocks(reports: Any, mechanism: Any, survey: str) -> Iterator:
    """Yield arrays of about a million reports (all, if there are fewer), for estimates that need more than counts."""
    waiting: list = []
    parts: list = []
    for ys, _, part in _sources(reports, mechanism, survey, lambda y: y):
        parts += [part] if part else []
        files.check_parts(parts)
        for y in ys:
            waiting.append(y)
            if sum(map(len, waiting)) >= CHUNK:
                yield np.concatenate(waiting)
                waiting = []
    if waiting:
        yield np.concatenate(waiting)


def _count_frame(frame: pd.DataFrame, mechanism: Any) -> np.ndarray:
    """Return the counts of the reports in a data frame; what a Dask worker does with its partition."""
    if not len(frame):
        return np.zeros(1, np.int64)
    return mechanism.count(files.from_frame(frame, mechanism))


def _sources(reports, mechanism, survey, act):
    """Yield for each array, frame or file what `act` gives for its blocks of reports, its description, its name."""
    if isinstance(reports, str | os.PathLike):
        for path in files.listed(reports):
            part = files.part_name(path)
            if path.suffix == ".csv":
                yield *next(_sources(files.read(path), mechanism, survey, act))[:2], part
            else:
                with files.opened(path) as file:
                    told = files.description(file)
                    _check_survey(told, survey, mechanism, repr(str(path)))
                    yield files.row_groups(file, path, mechanism, act, CHUNK), told, part
    elif isinstance(reports, pd.DataFrame):
        told = reports.attrs.get(files.KEY)
        _check_survey(told, survey, mechanism, "the data frame")
        frames = [reports] if len(reports) else []
        yield (act(files.from_frame(frame, mechanism)) for frame in frames), told, None
    elif isinstance(reports, np.ndarray):
        _check_survey(None, survey, mechanism, "the array")
        yield iter([act(reports)]), None, None
    elif isinstance(reports, Iterable):
        for one in reports:
            yield from _sources(one, mechanism, survey, act)
    else:
        raise TypeError(f"reports must be arrays, frames, paths or a Dask frame; got {type(reports).__name__}")


def _check_survey(told, survey, mechanism, what):
    if survey is not None:
        files.check_description(told, survey, what)
    elif told is not None and (made := json.loads(told)["mechanism"]) != repr(mechanism):
        raise ValueError(f"mechanism must be {made}, which made the reports of {what}; got {mechanism!r}")


def _counted_by_dask(collection, mechanism):
    """Return the counts of a Dask data frame, added up by the workers in pairs; None if there are no reports."""
    from dask import compute, delayed

    counts = [delayed(_count_frame)(part, mechanism) for part in collection.to_delayed()]
    while len(counts) > 1:
        pairs = [counts[i : i + 2] for i in range(0, len(counts), 2)]
        counts = [delayed(np.add)(*pair) if len(pair) > 1 else pair[0] for pair in pairs]
    (total,) = compute(*counts)
    return Counts(mechanism, total) if total[0] else None


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
    if not mechanism.independent:
        allowed = "mechanism must ask each user alone: not in two phases, in groups or with correlated coins"
        raise ValueError(f"{allowed}; got {mechanism!r}")
    x = inputs.unmasked(x, "x")
    if not len(x):
        return mechanism.perturb(x, rng=rng)  # raises
    starts = range(0, len(x), CHUNK)
    streams, y = rng.spawn(len(starts)), np.empty(len(x), mechanism.dtype)

    def fill(start, stream):
        try:
            y[start : start + CHUNK] = mechanism.perturb(x[start : start + CHUNK], rng=stream)
        except (TypeError, ValueError) as error:
            raise type(error)(f"{error}, counted from user {start}") from error

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(fill, starts, streams))
    return y

"""Reports that are too many for one machine's memory: counted where they lie, and the counts added up.

Estimated shares need only counts, and those of disjoint sets of reports add up. So reports may lie in arrays, data
frames, files or a Dask collection, on one machine or on many.
"""

import hashlib
import itertools
import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import ldp_lib
from ldp_lib.survey import _files as files

MARK = " sha256:"
HEADS = 32, 64, 128, 256  # so many reports tell a part from all others, if they differ enough among themselves


@dataclass(frozen=True, eq=False)
class Counts:
    """Counts of reports of one mechanism; ``a + b`` are those of both together.

    Parameters
    ----------
    mechanism : Mechanism
        The mechanism that made the reports, with its parameters.
    counts : array of int64
        What the mechanism's `count` gives; the first entry is the number of reports. Nothing compares one entry with
        the others: of numbers kept elsewhere, as in a database, all that one report raises must be raised together.
    parts : tuple of str
        Names of the parts that were counted: of a file its name and checksum, and a checksum of how the reports begin.
        No part can be added twice, and parts of one checksum are one part. A frame or an array of fewer than 32
        reports, or of reports that are too alike, has none: its counts can be added twice (page `survey`).
    survey : str or int, optional
        The description of the survey, if the reports carry one; its checksum, if the rows carry no more.
    """

    mechanism: Any
    counts: np.ndarray
    parts: tuple[str, ...] = ()
    survey: str | int | None = None

    def __post_init__(self) -> None:
        files.check_countable(self.mechanism)
        counts, least = np.asarray(self.counts), np.zeros((2, *np.shape(self.mechanism.k)), int)
        length = len(self.mechanism.count(self.mechanism.perturb(least, rng=np.random.default_rng(1))))
        whole = counts.shape == (length,) and counts.dtype.kind in "iu"
        if not (whole and 2**63 > counts.max() == counts[0] > 0 <= counts.min()):
            raise ValueError(f"counts must be {length} possible whole numbers, first that of reports; got {counts!r}")
        _check_parts(self.parts, {})
        object.__setattr__(self, "counts", counts.astype(np.int64))
        self.counts.flags.writeable = False
        object.__setattr__(self, "parts", tuple(self.parts))

    @property
    def n(self) -> int:
        """Number of reports."""
        return int(self.counts[0])

    def __add__(self, other: "Counts") -> "Counts":
        if not isinstance(other, Counts):
            return NotImplemented
        if other is self or self.mechanism != other.mechanism:
            raise ValueError(f"counts must be of one mechanism and new reports; got {self.mechanism, other.mechanism}")
        files.check_description(other.survey, self.survey, "the second part")
        return Counts(self.mechanism, self.counts + other.counts, self.parts + other.parts, self.survey)

    def estimate(self) -> Any:
        """Return the mechanism's estimate, as from all reports at once.

        If users are asked some of the attributes, and nobody was asked this one, its shares are told as even;
        `Survey.estimate` refuses such counts.
        """
        return self.mechanism.estimate_counts(self.counts)

    def save(self, path: Any) -> None:
        """Write the counts to a JSON file: mechanism, survey, number of reports, parts, version, and a checksum."""
        whole = {"mechanism": repr(self.mechanism), "survey": self.survey, "reports": self.n, "parts": self.parts}
        whole |= {"ldp_lib": ldp_lib.__version__, "counts": self.counts.tolist()}
        files.save_json(whole | {"sha256": _checksum(whole)}, path)

    @classmethod
    def load(cls, path: Any, mechanism: Any) -> "Counts":
        """Read counts that `save` wrote, for the mechanism that made the reports.

        Raises
        ------
        ValueError
            If the file is damaged, holds counts that cannot be, or is about another mechanism, budget or domain.
        """
        whole = files.load_json(path, {"mechanism", "reports", "parts", "counts", "survey", "sha256"})
        if whole is None or whole.pop("sha256") != _checksum(whole):
            raise ValueError(f"path must be a file of counts; {str(path)!r} is none, or is damaged or was changed")
        if (made := whole["mechanism"]) != repr(mechanism):
            raise ValueError(f"mechanism must be {made}, as {str(path)!r} says; got {mechanism!r}")
        return cls(mechanism, whole["counts"], whole["parts"], whole["survey"])


def _checksum(whole):
    return hashlib.sha256(json.dumps(whole, sort_keys=True).encode()).hexdigest()


def aggregate(reports: Any, mechanism: Any, *, survey: str | None = None) -> Counts:
    """Count reports, one block after the other; only one block of about a million is in memory at a time.

    Parameters
    ----------
    reports : array, DataFrame, path, Dask data frame, or iterable of any of these
        Arrays as `perturb` returns them; data frames and files as `Survey.collect`, `files.to_frame` and `files.write`
        make them. Of a folder all files are read, those of its folders too, also if their names begin with an
        underscore, which Spark and Arrow leave aside. Arrays, and files of arrays, say nothing of
        the mechanism that made them: reports at another budget are counted like those of this one. Of pairs, as a
        dictionary's items or a groupby by path give them, both parts are counted: the file and the frame. A Dask data
        frame is counted by Dask's workers, where its partitions lie, each by itself: one that was doubled, then cut
        anew, is noticed only if two parts begin alike.
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
    if hasattr(reports, "to_delayed"):
        from dask import compute, delayed

        if survey is not None:
            raise TypeError("reports must be in memory or in files; give the folder that Dask's to_parquet wrote")
        each = compute(*[delayed(_counted)(part, mechanism, None) for part in reports.to_delayed()])
        found = [(one, None, names) for one, _, names in itertools.chain(*each)]  # rows tell their survey
    else:
        found = _counted(reports, mechanism, survey)
    total, every = sum(one[0] for one, *_ in found), []
    for _, described, names in found:  # noqa: B007  (the same of all)
        every += names
        names.clear()  # all blocks of a part have one list
    if not np.any(total):
        raise ValueError("reports must hold at least one report; got none")
    numbers = [number for (counts, number), *_ in found if np.any(counts)]
    return Counts(mechanism, total, tuple(every), described or files.one_number(numbers))


def _counted(reports, mechanism, survey):
    """Return what `sources` yields, a list: counts of each block, which may be empty, and its survey's checksum."""

    def act(frame, y):
        return mechanism.count(y) if y.size else 0, files.one_number(frame.get(files.NUMBER))

    return list(sources(reports, mechanism, survey, act))


def _watched(blocks, mechanism, what, known, parts):
    """Yield what was found in blocks, pairs of this and of an array of reports; append to `parts` how they begin.

    ValueError if they begin like this once more, or if others began so.
    """
    text, head = b"", None
    for found, y in itertools.chain(blocks, [(None, np.empty(0))]):
        text += b"" if head == b"" else y.tobytes()
        if head is None and (found is None or len(text) >= 4_096 * mechanism.dtype.itemsize):
            head = _beginning(text, mechanism)
            begun = [f"the beginning of {what}{MARK}{hashlib.sha256(head).hexdigest()}"] if head else []
            _check_parts(begun, known)
            parts += begun
            text = text[1:]
        if head and head in text:
            told = "copied, or merged; if they are sorted and of different people, shuffle them"
            raise ValueError(f"reports must be there once; the beginning of {what} is in it twice: {told}")
        text = text[1 - len(head) :] if head else text  # a copy may begin in one block and end in the next
        if found is not None:
            yield found


def _beginning(text, mechanism):
    """Return as much of the reports' bytes as tells them from all others; nothing if they are too few, or too alike."""
    rows = np.frombuffer(text, f"V{mechanism.dtype.itemsize}")
    alike = {size: np.unique(rows[:size], return_counts=True)[1] / size for size in HEADS if size <= rows.size}
    # A size is enough if others begin like this with so small a probability.
    enough = [size for size, shares in alike.items() if (shares**2).sum() < 1e-15 ** (1 / size)]
    return rows[: min(enough, default=0)].tobytes()


def _check_parts(parts, known):
    """Raise ValueError if two parts are the same: of one name, or of one checksum, whole or of their beginning.

    `known` has the parts that were there before by their marks; these are added.
    """
    for part in parts:
        mark = part.rpartition(MARK)[2]
        if mark in known:
            told = f"{part!r} is in both: copied, or merged, or few and alike by chance; the other is {known[mark]!r}"
            raise ValueError(f"counts must be of different reports; {told}")
        known[mark] = part


def _leaves(reports):
    """Yield the arrays and frames, as frames, and the files that reports lie in.

    What has items by a key, a dictionary, a series, or a frame of other software, does not yield reports if iterated.
    """
    if isinstance(reports, str | os.PathLike):
        yield from files.listed(reports)
    elif isinstance(reports, pd.DataFrame | np.ndarray):
        yield reports if hasattr(reports, "attrs") else files.to_frame(reports)
    elif isinstance(reports, Iterable) and not hasattr(type(reports), "items"):
        if isinstance(reports, list | tuple) and len(set(map(id, reports))) < len(reports):
            raise ValueError("counts must be of different reports; the same frame, array or path is there twice")
        for one in reports:
            yield from _leaves(one)
    else:
        raise TypeError(f"reports must be arrays, frames or paths, or for counts Dask's; got {type(reports).__name__}")


def sources(reports: Any, mechanism: Any, survey: str, act: Callable, whole: bool = False) -> Iterator[tuple]:
    """Yield what `act` gives for each block of reports, a frame and its array; its survey's description; its names."""
    known, surveys = dict[str, str](), [] if survey is None else [survey]
    for one in _leaves(reports):
        parts, what = [], "the data frame"
        if isinstance(one, Path):
            parts, what = [f"{one.name}{MARK}{files.digest(one)}"], f"{str(one)!r}"
            _check_parts(parts, known)
            one = files.read(one) if whole or one.suffix == ".csv" else one
        told = files.description(one)
        surveys = surveys or [told]  # if none is given, all have that of the first
        files.check_description(told, surveys[0], what)
        if told is not None and (made := json.loads(told).get("mechanism")) != repr(mechanism):
            raise ValueError(f"mechanism must be {made}, which made the reports of {what}; got {mechanism!r}")
        blocks = (files.row_groups if isinstance(one, Path) else files.whole)(one, mechanism, act, told)
        yield from ((found, told, parts) for found in _watched(blocks, mechanism, what, known, parts))

"""Where reports lie: in frames, arrays, files and folders, each read once and from one survey."""

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd

from ldp_lib.survey import _files as files

MARK = " sha256:"
HEADS = 32, 64, 128, 256  # so many reports tell a part from all others, if they differ enough among themselves


def _beginnings(y, what):
    """Return a name for how reports begin, in a list: the same for a copy, and for a file that starts with a copy."""
    for size in (size for size in HEADS if size <= len(y)):
        head = np.ascontiguousarray(y[:size]).view(np.uint8).reshape(size, -1)
        shares = np.unique(head, axis=0, return_counts=True)[1] / size
        if (shares**2).sum() ** size < 1e-15:  # the probability that others begin like this by chance
            return [f"the beginning of {what}{MARK}{hashlib.sha256(head.tobytes()).hexdigest()}"]
    return []


def check_parts(parts, known):
    """Raise ValueError if two parts are the same: of one name, or of one checksum, whole or of their beginning.

    `known` is a set of what was there before, to which the parts are added.
    """
    for part in parts:
        mark = part.rpartition(MARK)[2]
        if mark in known:
            raise ValueError(f"counts must be of different reports; {part!r} is in both: copied, or merged")
        known.add(mark)


def rows(reports, mechanism, survey):
    """Return reports from memory and files as one data frame, with the columns that travelled with them."""
    frames = [frame for frame, _, _ in sources(reports, mechanism, survey, lambda frame, _: frame, whole=True)]
    if not frames:
        raise ValueError("reports must hold at least one report; got none")
    return frames[0] if len(frames) == 1 else pd.concat(frames, ignore_index=True)


def blocks(reports, mechanism, survey):
    """Yield arrays of about a million reports (all, if there are fewer), for estimates that need more than counts."""
    waiting = []
    for y, _, _ in sources(reports, mechanism, survey, files.from_frame):
        waiting.append(y)
        if sum(map(len, waiting)) >= files.CHUNK:
            yield np.concatenate(waiting)
            waiting = []
    if waiting:
        yield np.concatenate(waiting)


def _leaves(reports):
    """Yield the arrays and frames, as frames, and the files that reports lie in."""
    if isinstance(reports, str | os.PathLike):
        yield from files.listed(reports)
    elif isinstance(reports, pd.DataFrame | np.ndarray):
        yield reports if isinstance(reports, pd.DataFrame) else files.to_frame(reports)
    elif isinstance(reports, Iterable) and not isinstance(reports, pd.Series):
        if isinstance(reports, list | tuple) and len(set(map(id, reports))) < len(reports):
            raise ValueError("counts must be of different reports; the same frame, array or path is there twice")
        for one in reports:
            yield from _leaves(one)
    else:
        raise TypeError(f"reports must be arrays, frames, paths or a Dask frame; got {type(reports).__name__}")


def sources(reports, mechanism, survey, act, whole=False):
    """Yield what `act` gives for each block of reports, the description of its survey, and the names of its part."""
    known, surveys = set(), [] if survey is None else [survey]
    for one in _leaves(reports):
        parts, what = [], "the data frame"
        if isinstance(one, Path):
            parts, what = [f"{one.name}{MARK}{files.digest(one)}"], repr(str(one))
            check_parts(parts, known)
            if whole or one.suffix == ".csv":
                one = files.read(one)
        told = files.description(one)
        surveys = surveys or [told]  # if none is given, all have that of the first
        files.check_description(told, surveys[0], what)
        if told is not None and (made := json.loads(told)["mechanism"]) != repr(mechanism):
            raise ValueError(f"mechanism must be {made}, which made the reports of {what}; got {mechanism!r}")
        file = isinstance(one, Path)
        heads = files.row_groups(one, mechanism, files.from_frame, None, HEADS[-1]) if file else None
        begun = _beginnings(next(heads, []) if heads else files.from_frame(one[: HEADS[-1]], mechanism), what)
        check_parts(begun, known)
        if file:
            yield from ((found, told, parts + begun) for found in files.row_groups(one, mechanism, act, told))
        elif len(one):
            files.check_numbers(one, told, what)
            yield act(one, mechanism), told, parts + begun

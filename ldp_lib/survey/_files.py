"""Reports as a flat table of integers, one row a user: data frames and files that say of which survey they are.

A description is a text in JSON: domain, labels in order, mechanism, budget. It travels in the attributes of a data
frame, in the metadata of a Parquet file, and in the manifest beside a CSV file.
"""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

KEY = "ldp_lib"
PARQUET = (".parquet", ".pq")
MARK = " sha256:"


def template(mechanism: Any) -> Any:
    """Return room for the reports of two users; ValueError if there is not one row a user, as with two phases."""
    if mechanism.dtype is None:
        raise ValueError(f"mechanism must report one row a user; {mechanism!r} does not")
    return np.zeros(2, mechanism.dtype)


def columns(mechanism: Any) -> list[str]:
    """Return the names of the columns of the mechanism's reports as a table; ValueError as of `template`."""
    return [name for name, _ in _flat(template(mechanism))]


def check_countable(mechanism: Any) -> None:
    """Raise ValueError unless the mechanism's estimate needs nothing but sums over the reports."""
    if not (hasattr(mechanism, "count") and hasattr(mechanism, "estimate_counts")):
        raise ValueError(f"mechanism must have reports whose counts add up; those of {mechanism!r} do not")


def to_frame(reports: Any, index: Any = None) -> pd.DataFrame:
    """Return reports as a data frame with one row a user and integer columns."""
    return pd.DataFrame(dict(_flat(reports)), index=index)


def from_frame(frame: pd.DataFrame, mechanism: Any) -> Any:
    """Return a data frame of reports in the form and types that the mechanism's `estimate` takes.

    Columns whose names do not begin with "report" are left aside.

    Raises
    ------
    TypeError, ValueError
        If columns of reports are missing, in excess or not of integers that fit.
    """
    wanted = columns(mechanism)
    check_columns(list(frame.columns), wanted, "reports")
    return from_columns({name: frame[name].to_numpy() for name in wanted}, mechanism)


def from_columns(columns: dict, mechanism: Any) -> Any:
    """Return the columns of `from_frame`, a dict of arrays of integers, in the form that `estimate` takes."""
    return _unflat(columns, template(mechanism))


def check_columns(found: list, wanted: list[str], what: str) -> None:
    """Raise ValueError unless each wanted column is there once, and no other one of reports."""
    own = [name for name in found if str(name).startswith("report")]
    lacking = [name for name in wanted if name not in own]
    if lacking:
        raise ValueError(f"reports must have the columns {wanted}; {what} lacks {lacking[0]!r}, and has {found}")
    if sorted(own) != sorted(wanted):
        raise ValueError(f"reports must have the columns {wanted}; {what} has {own}")


def check_description(found: str | None, wanted: str, what: str) -> None:
    """Raise ValueError unless a description is the wanted one; the error says what differs."""
    if found is None:
        raise ValueError(
            f"reports must say of which survey they are, and {what} does not. Reports of different surveys lose it "
            "when they are put together; if all of them are of this survey, say so: survey.mark(reports)"
        )
    if found == wanted:
        return
    one, other = json.loads(found), json.loads(wanted)
    if list(one["domain"]) != list(other["domain"]):
        one, other = ({"attributes": list(told["domain"])} for told in (one, other))
    else:
        one, other = ({f"labels of {a!r}": v for a, v in told["domain"].items()} | told for told in (one, other))
    name = next((name for name in other if other[name] != one.get(name)), "description")
    differs = f"{name} is {other.get(name, wanted)}; for those of {what} it is {one.get(name, found)}"
    raise ValueError(f"reports must be of a survey whose {differs}")


@contextlib.contextmanager
def atomic(path: Any) -> Iterator[Path]:
    """Give a path to write to; the file takes the place of `path` when all of it has been written, and not before."""
    path = Path(path)
    scratch = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield scratch
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def digest(path: Any) -> str:
    """Return the SHA-256 checksum of a file."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def part_name(path):
    """Return the name of a file as a part of a count, with its checksum: the same for a copy of it, anywhere."""
    path = Path(path)
    return f"{path.name}{MARK}{digest(path)}" if path.is_file() else path.name


def check_parts(parts):
    """Raise ValueError if two parts are the same: of one name, or files of one checksum."""
    first = {}
    for part in parts:
        mark = part.rpartition(MARK)[2]
        if mark in first:
            raise ValueError(f"counts must be of different reports; {part!r} is in both, first as {first[mark]!r}")
        first[mark] = part


def write(frame: pd.DataFrame, path: Any) -> None:
    """Write a data frame of reports to a .parquet, .pq or .csv file, without its index.

    A file that is there is replaced when the new one is whole. Beside `a.csv` stands its manifest, `a.csv.json`.
    """
    suffix = _suffix(path)
    with atomic(path) as scratch:
        if suffix == ".csv":
            frame.to_csv(scratch, index=False)
            whole = {"rows": len(frame), "sha256": digest(scratch), "survey": frame.attrs.get(KEY)}
            whole["types"] = {name: str(frame[name].dtype) for name in frame.columns}
            with atomic(f"{path}.json") as manifest:
                manifest.write_text(json.dumps(whole), encoding="utf-8")
        else:
            frame.to_parquet(scratch, index=False)


def read(path: Any) -> pd.DataFrame:
    """Read a data frame of reports that `write` wrote.

    Raises
    ------
    ValueError
        If the file is damaged or cut short, or a CSV file has no manifest.
    """
    if _suffix(path) != ".csv":
        try:
            return pd.read_parquet(path)
        except (OSError, ValueError) as error:
            raise ValueError(f"path must be a whole Parquet file; {str(path)!r} is not: {error}") from error
    try:
        manifest = json.loads(Path(f"{path}.json").read_text(encoding="utf-8"))
        wanted, types, survey = (manifest[key] for key in ("sha256", "types", "survey"))
    except (FileNotFoundError, KeyError, TypeError, json.JSONDecodeError):
        raise ValueError(
            f"path must be a CSV file with the manifest that `write` puts beside it; {str(path) + '.json'!r} is none. "
            "If you know that the rows are whole and of which survey: survey.mark(pandas.read_csv(path))"
        ) from None
    if digest(path) != wanted:
        raise ValueError(f"path must be a whole CSV file; {str(path)!r} was cut short or changed after it was written")
    frame = pd.read_csv(path, dtype=types)
    frame.attrs |= {} if survey is None else {KEY: survey}
    return frame


def listed(path: Any) -> list[Path]:
    """Return the report files in a folder and its folders, or the one file; hidden files and Dask's own left aside."""
    path = Path(path)
    if not path.is_dir():
        _suffix(path)
        return [path]
    names = sorted(name for name in path.rglob("*") if name.is_file() and not _hidden(name.relative_to(path)))
    names = [name for name in names if not (name.name.endswith(".csv.json") and name.with_suffix("").is_file())]
    if not names:
        raise ValueError(f"reports must be Parquet or CSV files; there is none in {str(path)!r}")
    for name in names:
        _suffix(name)
    return names


@contextlib.contextmanager
def opened(path):
    """Open a Parquet file."""
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        file = ParquetFile(path)
    except (ArrowException, OSError) as error:
        raise ValueError(f"reports must be whole Parquet files; {str(path)!r} is not: {error}") from error
    with file:
        yield file


def description(file):
    """Return the description of the survey that an open Parquet file carries, or None."""
    return json.loads((file.schema_arrow.metadata or {}).get(b"PANDAS_ATTRS", b"{}")).get(KEY)


def row_groups(file, path, mechanism, act, size):
    """Yield what `act` gives for each block of a Parquet file; errors name the row group."""
    from pyarrow import ArrowException

    wanted = columns(mechanism)
    check_columns(file.schema_arrow.names, wanted, repr(str(path)))
    for group in range(file.num_row_groups):
        held = {}
        try:
            for batch in file.iter_batches(size, row_groups=[group], columns=wanted):
                held = {name: batch[name].to_numpy(zero_copy_only=False) for name in wanted}
                if batch.num_rows:
                    yield act(from_columns(held, mechanism))
        except (ArrowException, OSError, TypeError, ValueError) as error:
            where = f"in row group {group} of {str(path)!r}{_ranges(held)}"
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{error} ({where})") from error


def _ranges(columns, most=12):
    """Return words about what columns hold, to tell which of them has a value that no report has."""
    found = [f"{name} {c.min()} to {c.max()}" for name, c in columns.items() if len(c) and c.dtype.kind in "iu"]
    return "; its columns hold " + ", ".join(found[:most]) + ", ..." * (len(found) > most) if found else ""


def _hidden(path):
    return any(part.startswith((".", "_")) for part in path.parts)


def _suffix(path):
    suffix = Path(path).suffix
    if suffix not in (*PARQUET, ".csv"):
        raise ValueError(f"path must end in .parquet, .pq or .csv; got {str(path)!r}")
    return suffix


def _flat(reports, name="report"):
    """Yield the names and columns of a flat table that holds a mechanism's reports."""
    if isinstance(reports, list | tuple):
        for j, part in enumerate(reports):
            yield from _flat(part, f"{name}_{j}")
    elif reports.dtype.names:
        for field in reports.dtype.names:
            yield from _flat(reports[field], f"{name}_{field}")
    elif reports.ndim == 1:
        yield name, reports
    else:
        for j, column in enumerate(np.moveaxis(reports, 1, 0)):
            yield from _flat(column, f"{name}_{j}")


def _unflat(columns, like, name="report"):
    """Return the reports from their flat table, in the form and of the types of `like`."""
    if isinstance(like, list | tuple):
        return type(like)(_unflat(columns, part, f"{name}_{j}") for j, part in enumerate(like))
    if like.dtype.names:
        flat = dict(_flat(like, name))
        kind = next(iter(flat.values())).dtype
        if {column.dtype for column in flat.values()} == {kind}:
            rows = np.stack([_typed(columns[column], kind, column) for column in flat], axis=1)
            return rows.view(like.dtype).ravel()  # fields of one type lie side by side
        parts = {field: _unflat(columns, like[field], f"{name}_{field}") for field in like.dtype.names}
        whole = np.empty(next(map(len, parts.values())), like.dtype)
        for field, part in parts.items():
            whole[field] = part
        return whole
    if like.ndim == 1:
        return _typed(columns[name], like.dtype, name)
    return np.stack([_unflat(columns, like[:, j], f"{name}_{j}") for j in range(like.shape[1])], axis=1)


def _typed(column, dtype, name):
    if column.dtype.kind not in "iu":
        raise TypeError(f"reports must hold integers in column {name!r}; got type {column.dtype}")
    ends = np.iinfo(dtype)
    if len(column) and (int(column.min()) < ends.min or int(column.max()) > ends.max):
        raise ValueError(
            f"reports must be from {ends.min} to {ends.max} in column {name!r}; got {column.min()} to {column.max()}"
        )
    return column.astype(dtype, copy=False)

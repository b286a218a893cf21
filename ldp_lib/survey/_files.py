"""Reports as a flat table of integers, one row a user: data frames and files that say of which survey they are.

A description is a text in JSON: domain, labels in order, mechanism, budget. It travels in the attributes of a data
frame, in the metadata of a Parquet file, and in the manifest beside a CSV file. Each row has its checksum, so that rows
of two surveys are told apart also where other software put them together, which keeps one of two descriptions.
"""

import contextlib
import hashlib
import json
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from ldp_lib import _inputs

KEY, NUMBER = "ldp_lib", "report_survey"  # where descriptions are, and the column of their checksums
SUFFIXES = (".parquet", ".pq", ".csv")
CHUNK = 2**20  # reports in memory at a time


def columns(mechanism):
    """Return the columns of the mechanism's reports, name -> type; ValueError if there is not one row a user."""
    if mechanism.dtype is None:
        raise ValueError(f"mechanism must report one row a user; {mechanism!r} does not")
    return dict(_flat(mechanism.dtype))


def check_countable(mechanism):
    """Raise ValueError unless the mechanism's estimate needs nothing but sums over the reports."""
    if not (hasattr(mechanism, "count") and hasattr(mechanism, "estimate_counts")):
        raise ValueError(f"mechanism must have reports whose counts add up; those of {mechanism!r} do not")


def to_frame(reports: Any) -> pd.DataFrame:
    """Return reports, an array, as a data frame with one row a user and integer columns."""
    # Without gaps, in the order of its fields' names: y[["report", "asked"]] is a view of the other order.
    reports = np.ascontiguousarray(y := _inputs.unmasked(reports, "reports"), np.result_type(y))
    return pd.DataFrame(reports.view(_flat(np.dtype((reports.dtype, reports.shape[1:])))).reshape(len(reports)))


def from_frame(frame: pd.DataFrame, mechanism: Any) -> np.ndarray:
    """Return a data frame of reports in the form and types that the mechanism's `estimate` takes, or raise.

    Columns whose names do not begin with "report" are left aside. Of which survey or mechanism the frame says it is, is
    not looked at, as `aggregate` does.
    """
    kinds, like = columns(mechanism), np.zeros(1, mechanism.dtype)
    check_columns(frame, kinds, "the data frame")
    flat = np.empty(len(frame), list(kinds.items()))
    for name, kind in kinds.items():
        column, ends = frame[name].to_numpy(), np.iinfo(kind)
        if column.dtype.kind not in "iu":
            raise TypeError(f"reports must hold integers in column {name!r}; got type {column.dtype}")
        if column.size and not ends.min <= column.min() <= column.max() <= ends.max:
            told = f"from {ends.min} to {ends.max} in column {name!r}"
            raise ValueError(f"reports must be {told}; got {column.min()} to {column.max()}")
        flat[name] = column
    return flat.view(like.dtype).reshape(flat.size, *like.shape[1:])


def check_columns(names, wanted, what):
    """Raise ValueError unless each wanted column is there once, and no other one of reports."""
    own = [name for name in names if str(name).startswith("report") and name != NUMBER]
    if sorted(own) != sorted(wanted):
        strange = sorted(set(wanted) ^ set(own)) or "one is there twice"
        raise ValueError(f"reports must have the columns {[*wanted]}; of {what} lacking or in excess: {strange}")


def check_description(found, wanted, what):
    """Raise ValueError unless a description is the wanted one; the error says what differs."""
    if found == wanted:
        return
    if {f"{found!s:.1}", f"{wanted!s:.1}"} != {"{"}:  # None, or no dict in JSON
        known = "if you know that all are of this one: survey.mark(reports), a data frame or counts"
        raise ValueError(f"reports must say of which survey they are, and not all do: {what}; {known}")
    a, b = map(_parts, (found, wanted))
    one = next((one for one in b if a.get(one) != b[one]), "description")
    raise ValueError(f"reports must be of a survey whose {one} is {b.get(one)}; for those of {what} it is {a.get(one)}")


def number(description):
    """Return the checksum of a survey's description, which each of its reports carries."""
    return np.uint32(int(hashlib.sha256(description.encode()).hexdigest()[:8], 16))


def one_number(numbers):
    """Return the one checksum of a survey that rows have, or None; ValueError if they have several, or some none."""
    found = pd.Series(numbers, dtype=float).to_numpy()  # holds each checksum exactly, and a missing one as nan
    if not (same := found == found[:1]).all() and np.nansum(found):
        raise ValueError("reports must be of one survey; the rows of the data frame are of several, or some of none")
    return int(found[0]) if same.any() else None


def check_numbers(frame, told, what):
    """Raise ValueError unless all rows have the number of the survey that they are said to be of, if of any.

    Arrow's data sets give all files what the first one says, also where rows lost their numbers.
    """
    if told and (NUMBER not in frame or frame[NUMBER].ne(number(told)).to_numpy(bool, na_value=True).any()):
        raise ValueError(f"reports must be of one survey; some rows of {what} are of another one than it says, or none")


def _parts(description):
    told = json.loads(description)
    domain = told.pop("domain", {})
    return {"attributes": list(domain)} | {f"labels of {name!r}": str(values) for name, values in domain.items()} | told


@contextlib.contextmanager
def atomic(path):
    """Give a path to write to; the file takes the place of `path` when all of it has been written, and not before."""
    path = Path(path)
    scratch = path.with_name(f".{path.name[:50]}.{uuid.uuid4().hex}.tmp")
    try:
        yield scratch
        scratch.replace(path)
    finally:
        scratch.unlink(missing_ok=True)


def save_json(told, path, indent=None):
    """Write a dict to a JSON file: in one line of ASCII, or if `indent` is given in indented lines and all letters."""
    with atomic(path) as scratch:
        scratch.write_text(json.dumps(told, indent=indent, ensure_ascii=not indent) + "\n", "utf-8", "backslashreplace")


def load_json(path, keys):
    """Return the dict that a JSON file holds, or None unless it is one with these keys, a set."""
    with contextlib.suppress(ValueError, TypeError):
        told = json.loads(Path(path).read_text(encoding="utf-8"))
        return told if isinstance(told, dict) and keys <= set(told) else None


def digest(path, told=""):
    """Return the SHA-256 checksum of a file, and of what is told of it."""
    with open(path, "rb") as file:
        whole = hashlib.file_digest(file, "sha256")
    whole.update(told.encode())
    return whole.hexdigest()


def write(frame: pd.DataFrame, path: Any) -> None:
    """Write a data frame of reports to a .parquet, .pq or .csv file, without its index.

    A file that is there is replaced when the new one is whole, a symbolic link by a file, with the permissions of a new
    one. Beside `a.csv` stands its manifest, `a.csv.json`. Columns that `read` would give otherwise are refused,
    such as times and ordered categories in a CSV file, and in a Parquet file ordered categories that are no texts and,
    but for columns of pandas' own type for them, times with a time zone.
    """
    frame, suffix = frame.reset_index(drop=True), _suffix(path)
    told = {"survey": frame.attrs.get(KEY), "types": dict(frame.dtypes.astype(str))}
    with atomic(path) as scratch:
        try:
            if suffix == ".csv":
                frame.to_csv(scratch, index=False)
                back = _from_csv(scratch, told)
            else:
                frame.to_parquet(scratch, index=False, write_page_checksum=True)  # so that a changed bit is noticed
                back = pd.read_parquet(scratch)
                # Of these `read` gives the values, but neither their order nor their local time.
                zone = back.select_dtypes("datetimetz")
                lost = [c for c, d in frame.dtypes.items() if getattr(d, "ordered", 0) or (c in zone and d.kind == "O")]
                back = back.astype(frame.dtypes.drop(lost))
            if not back.equals(frame):
                raise ValueError("values, their order or their time zone come back changed")
        except (TypeError, ValueError, NotImplementedError, OverflowError) as why:
            raise ValueError(f"frame must have columns that a {suffix} file keeps; got {told['types']}: {why}") from why
        if suffix == ".csv":
            save_json(told | {"sha256": digest(scratch, json.dumps(told))}, f"{Path(path)}.json")


def _from_csv(path, told):
    exact = {} if int(pd.__version__.split(".")[0]) > 2 else {"float_precision": "round_trip"}
    return pd.read_csv(path, dtype=told["types"], keep_default_na=False, na_values=[""], **exact)


def read(path: Any) -> pd.DataFrame:
    """Read a frame that `write` wrote; ValueError if it was cut short or changed, or a CSV file has no manifest.

    Of a Parquet file's footer, which has no checksum, changed names go unnoticed, or are an error of pandas.
    Who reads such a file by `pandas.read_csv`, Dask, Polars, DuckDB or Arrow names the type of all kept columns of
    texts, in `dtype` or `schema_overrides`: "01" and "1", or the versions "1.1" and "1.10", become one else.
    """
    if _suffix(path) != ".csv":
        with opened(path):
            return pd.read_parquet(path, page_checksum_verification=True)
    manifest = Path(f"{Path(path)}.json")
    told = load_json(manifest, {"sha256", "types", "survey"}) if manifest.is_file() else None
    if told is None:
        known = "if the rows are whole: survey.mark(pandas.read_csv(path, keep_default_na=False, dtype={'group': str}))"
        raise ValueError(f"path must have the manifest of `write` beside it; {str(path)!r} has none; {known}")
    if told.pop("sha256") != digest(path, json.dumps(told)):
        raise ValueError(f"path must be a whole CSV file; {str(path)!r} was cut short or changed after it was written")
    frame = _from_csv(path, told)
    frame.attrs |= {KEY: told["survey"]} if told["survey"] else {}
    return frame


def listed(path):
    """Return the report files in a folder and its folders, or the one file; what Dask and Spark add is left aside."""
    path, found = Path(path), []
    if not path.exists():
        raise FileNotFoundError(f"reports must lie in a file or a folder that is there; there is no {str(path)!r}")
    for name in sorted(path.rglob("*")) if path.is_dir() else [path]:
        hidden = any(part.startswith(".") for part in name.relative_to(path).parts)
        manifest = name.name.endswith(".csv.json") and name.with_suffix("").is_file()
        folder = name.is_dir() and not name.is_symlink() and bool([name, *name.iterdir()])  # raises if shut
        if hidden and name.name.lower().endswith(SUFFIXES) and not folder:  # also a file named .csv and no more
            raise ValueError(f"reports must not lie in hidden files or folders; got {str(name)!r}: move or rename it")
        if not (hidden or manifest or folder or name.name in ("_SUCCESS", "_metadata", "_common_metadata")):
            _suffix(name)
            found.append(name)
    if not found:
        raise ValueError(f"reports must be Parquet or CSV files; there is none in {str(path)!r}")
    if len({name.with_suffix("") for name in found}) < len(found):
        raise ValueError(f"reports must be in one file each; some of {str(path)!r} have one name and two endings")
    return found


@contextlib.contextmanager
def opened(path):
    """Open a Parquet file."""
    import pyarrow.parquet

    try:
        with pyarrow.parquet.ParquetFile(path, page_checksum_verification=True) as file:
            if sum(file.metadata.row_group(i).num_rows for i in range(file.num_row_groups)) != file.metadata.num_rows:
                raise OSError("its numbers of rows disagree")
            yield file
    except (pyarrow.ArrowException, OSError, UnicodeError, json.JSONDecodeError) as error:
        raise ValueError(f"reports must be whole Parquet files; {str(path)!r} is not: {error}") from error


def description(reports):
    """Return the description of the survey that a data frame or a Parquet file carries, or None."""
    if isinstance(reports, pd.DataFrame):
        one_number(None if KEY in reports.attrs else reports.get(NUMBER))
        return reports.attrs.get(KEY)
    with opened(reports) as file:
        return json.loads((file.schema_arrow.metadata or {}).get(b"PANDAS_ATTRS", b"{}")).get(KEY)


def whole(frame, mechanism, act, told):
    """Yield what `act` gives for a data frame and its array of reports, and this array, as `row_groups` for a file."""
    y = from_frame(frame, mechanism)
    check_numbers(frame, told, "the data frame")
    _check_drawn(frame[:4_096], to_frame(y[:4_096]), mechanism)
    yield act(frame, y), y


def _check_drawn(frame, rows, mechanism):
    """Raise ValueError if no two rows agree where even users have a chance below 1e-8; kept columns tell rows apart."""
    kept = [[*map(repr, column)] for name, column in frame.items() if not str(name).startswith("report")]
    if kept:  # couples may differ, and so may those of one batch, which is dealt by itself
        rows = rows[(group := rows.groupby(kept).ngroup()) == group.mode().max()]
    if len(rows) > 6 and not rows.duplicated().any():  # of fewer no 20 pairs could agree
        rng, shape = np.random.default_rng(1), (len(rows), *np.shape(mechanism.k))
        times = 1 if len(rows) > 400 else 10
        made = (to_frame(mechanism.perturb(rng.integers(0, mechanism.k, shape), rng=rng)) for _ in range(times))
        if sum((y.value_counts() ** 2).sum() - len(rows) for y in made) > 40 * times:
            raise ValueError("reports must be all that were collected; these all differ as if duplicates were dropped")


def row_groups(path, mechanism, act, told):
    """Yield what `act` gives for each block of a Parquet file, and the block; errors name the row group."""
    with opened(path) as file:
        names = file.schema_arrow.names
        check_columns(names, columns(mechanism), f"{str(path)!r}")
        wanted = [name for name in names if name.startswith("report")]
        for group in range(file.num_row_groups):
            try:
                for batch in file.iter_batches(CHUNK, row_groups=[group], columns=wanted):
                    yield from whole(batch.to_pandas(ignore_metadata=True), mechanism, act, told)
            except (OSError, TypeError, ValueError) as error:
                error.args = (f"{error} (in row group {group} of {str(path)!r})",)
                raise


def _suffix(path):
    suffix = Path(path).suffix
    if suffix not in SUFFIXES:
        raise ValueError(f"path must end in .parquet, .pq or .csv; got {str(path)!r}; .csv.json is of another file")
    return suffix


def _flat(kind, name="report"):
    """Return names and types of the columns that hold the parts of one report, whose type has fields or a shape."""
    if kind.names:
        parts = [(kind[field], f"{name}_{field}") for field in kind.names]
    elif kind.subdtype:
        base, (size, *rest) = kind.subdtype
        parts = [(np.dtype((base, tuple(rest))), f"{name}_{j}") for j in range(size)]
    else:
        return [(name, kind)]
    return [column for part in parts for column in _flat(*part)]

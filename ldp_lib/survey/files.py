"""Reports as a flat table of integers, one row a user: to data frames and files, and back."""

from pathlib import Path

import numpy as np
import pandas as pd


def template(mechanism):
    """Return the reports of two users with the first record, for their form and types; their values mean nothing."""
    several = isinstance(mechanism.k, tuple)
    x = np.zeros((2, len(mechanism.k)) if several else 2, dtype=int)
    return mechanism.perturb(x, rng=np.random.default_rng(1))


def columns(mechanism):
    """Return the names of the columns of the mechanism's reports as a table.

    Raises
    ------
    ValueError
        If the mechanism does not report one row a user, as one with two phases.
    """
    problem = f"mechanism must report one row a user; {mechanism!r} does not"
    try:
        flat = list(_flat(template(mechanism)))
    except ValueError as error:  # a first phase of more than two users
        raise ValueError(problem) from error
    if any(len(column) != 2 for _, column in flat):
        raise ValueError(problem)
    return [name for name, _ in flat]


def to_frame(reports, index=None):
    """Return reports as a data frame with one row a user and integer columns."""
    return pd.DataFrame(dict(_flat(reports)), index=index)


def from_frame(frame, mechanism):
    """Return a data frame of reports in the form and types that the mechanism's `estimate` takes.

    Raises
    ------
    TypeError, ValueError
        If columns are missing, in excess or not of integers that fit.
    """
    wanted = columns(mechanism)
    if sorted(map(str, frame.columns)) != sorted(wanted):
        raise ValueError(f"reports must have the columns {wanted}; got {list(frame.columns)}")
    return from_columns({name: frame[name].to_numpy() for name in wanted}, mechanism)


def from_columns(columns, mechanism):
    """Return the columns of `from_frame`, a dict of arrays of integers, in the form that `estimate` takes."""
    return _unflat(columns, template(mechanism))


def write(frame, path):
    """Write a data frame of reports to a .parquet or .csv file."""
    if Path(path).suffix == ".parquet":
        frame.to_parquet(path)
    elif Path(path).suffix == ".csv":
        frame.to_csv(path)
    else:
        raise ValueError(f"path must end in .parquet or .csv; got {str(path)!r}")


def read(path):
    """Read a data frame of reports that `write` wrote."""
    if Path(path).suffix == ".parquet":
        return pd.read_parquet(path)
    if Path(path).suffix == ".csv":
        return pd.read_csv(path, index_col=0)
    raise ValueError(f"path must end in .parquet or .csv; got {str(path)!r}")


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

"""Labels and the people who hold them: what a domain may be, answers as numbers, and surveys in files."""

import ast
import contextlib
import json
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from ldp_lib.survey import _files as files
from ldp_lib.survey.catalogue import MECHANISMS

FORMAT = "ldp_lib survey 1"


class Randomizer(Protocol):
    """What a survey needs of a mechanism, beside its parameters."""

    @property
    def k(self) -> Any: ...
    def perturb(self, x: Any, *, rng: np.random.Generator) -> Any: ...


def check_domain(domain: Any) -> dict[str, tuple]:
    """Return a domain as a dict from names to tuples of labels, Python's own types for NumPy's, or raise."""
    if not isinstance(domain, Mapping) or not domain:
        raise TypeError(f"domain must map at least one attribute to its labels; got {domain!r}")
    found = {}
    for name, labels in domain.items():
        if not isinstance(name, str):
            raise TypeError(f"domain must name attributes by texts; got {name!r}. Rename the frame's columns")
        if isinstance(labels, str) or not isinstance(labels, (Sequence, np.ndarray, pd.Index, pd.Series)):
            raise TypeError(f"domain must list at least two different labels for {name!r}, in order; got {labels!r}")
        found[name] = tuple(label.item() if isinstance(label, np.generic) else label for label in labels)
        try:
            different = len(set(found[name]))
        except TypeError:
            raise TypeError(f"domain must have labels such as texts or numbers for {name!r}; got {labels!r}") from None
        if different < max(2, len(found[name])):
            raise ValueError(f"domain must list at least two different labels for {name!r}; got {labels!r}")
        if pd.isna(pd.Series(found[name], dtype=object)).any():
            raise ValueError(f"domain must not list a missing value for {name!r}; name a label by missing=")
        if len(set(map(str, found[name]))) < different:
            raise ValueError(f"domain must list labels for {name!r} that differ in print; got {labels!r}")
    return found


def check_mechanism(mechanism: Any, k: tuple[int, ...], epsilon: float) -> None:
    """Raise unless a survey can collect with the mechanism, and estimate what it collected."""
    if isinstance(mechanism, (str, type)) or not all(hasattr(mechanism, name) for name in ("k", "epsilon", "perturb")):
        raise TypeError(f"mechanism must be one with its parameters, as GRR(k=3, epsilon=1.0); got {mechanism!r}")
    sizes = mechanism.k if isinstance(mechanism.k, tuple) else (mechanism.k,)
    if sizes != k:
        raise ValueError(f"mechanism must have the domain sizes {k} of the survey; got {mechanism.k}")
    if mechanism.epsilon > epsilon:
        raise ValueError(f"mechanism must spend at most epsilon = {epsilon}; got {mechanism.epsilon}")
    files.columns(mechanism)
    files.check_countable(mechanism)
    if mechanism.needs_dealer:
        raise ValueError(f"mechanism must let each person report alone, without a dealer; got {mechanism!r}")
    if not (mechanism.unbiased and mechanism.has_exact_moments):
        raise ValueError(f"mechanism must be unbiased, with exact moments, for intervals that cover; got {mechanism!r}")


def categories(frame: pd.DataFrame, epsilon: float) -> dict[str, tuple]:
    """Return the categories of a frame's columns, or raise if a column has none; warn if they look read off."""
    check_people(frame, least=0)
    loose = [name for name in frame.columns if not isinstance(frame[name].dtype, pd.CategoricalDtype)]
    if loose:
        told = (
            f"frame must have categorical columns only; {loose[0]!r} is {frame[loose[0]].dtype}. Its labels must not be"
        )
        raise TypeError(f"{told} read off the answers: declare them, as in Survey({{{loose[0]!r}: [...]}}, {epsilon=})")
    kinds = {name: frame[name].cat.categories for name in frame.columns}
    if kinds and all(_look_read_off(frame[name], kind) for name, kind in kinds.items()):
        told = 'all categories are sorted, and all occur: if astype("category") read them off the answers, they '
        warnings.warn(told + "tell what people said; declare the domain", stacklevel=3)
    return {name: tuple(kind) for name, kind in kinds.items()}


def _look_read_off(column, kind):
    return not column.cat.ordered and kind.is_monotonic_increasing and set(column.dropna()) == set(kind)


def check_people(frame: Any, least: int = 1) -> None:
    """Raise unless a frame is one of pandas, with at least one row and no column twice."""
    if not isinstance(frame, pd.DataFrame):
        told = "one partition after the other" if hasattr(frame, "to_delayed") else "one person is DataFrame([answers])"
        raise TypeError(f"frame must be a pandas DataFrame, one row a person; got {type(frame).__name__}: {told}")
    if len(frame) < least:
        raise ValueError("frame must have at least one row, a person; got none")


def check_kept(frame: pd.DataFrame, keep: list, domain: Mapping) -> None:
    """Raise unless the columns that are to travel with the reports are there, and are no answers."""
    for name in keep:
        wrong = name in domain or str(name).startswith("report") or keep.count(name) > 1
        if wrong or list(frame.columns).count(name) != 1:
            told = "weights and keep must name different columns of the frame, none of answers or of reports"
            raise ValueError(f"{told}; got {keep}")


def codes(frame: pd.DataFrame, name: str, survey: Any) -> np.ndarray:
    """Return one column's answers as numbers, or raise an error that names the column, the row and the value."""
    if list(frame.columns).count(name) != 1:
        raise ValueError(f"frame must have one column {name!r}; got {list(frame.columns)}")
    labels, column = survey.domain[name], frame[name]
    place, distinct = pd.factorize(column)  # a missing value has place -1
    known = pd.Index(labels, dtype=object).get_indexer(pd.Index(distinct).astype(object))
    found, gone = np.append(known, -1)[place], place < 0
    for role, bad in (("missing", gone), ("other", (found < 0) & ~gone)):
        label = getattr(survey, role)
        if bad.any() and label not in labels:
            row = int(np.flatnonzero(bad)[0])
            what = "a missing value" if role == "missing" else repr(column.iloc[row])
            told = f"frame must hold one of the labels {labels} in column {name!r}; got {what} in row"
            raise ValueError(
                f"{told} {frame.index.tolist()[row]!r}. Declare a label for such values and name it by {role}="
            )
        if bad.any():
            found[bad] = labels.index(label)
    return found


def load(path: str | Path) -> dict:
    """Return what a survey's file tells, or raise ValueError if it is none."""
    with contextlib.suppress(json.JSONDecodeError, KeyError, TypeError):
        told = json.loads(Path(path).read_text(encoding="utf-8"))
        if told["format"] == FORMAT and {"domain", "epsilon", "mechanism", "missing", "other"} <= set(told):
            return told
    raise ValueError(f"path must be a file that Survey.save wrote, of {FORMAT!r}; {str(path)!r} is none, or is damaged")


def rebuild(text: str) -> Any:
    """Return the library's mechanism whose repr is a text; nothing else in it is run."""
    families = {family.__name__: family for family in MECHANISMS}

    def value(node):
        if isinstance(node, ast.Call) and getattr(node.func, "id", None) in families and not node.args:
            return families[node.func.id](**{one.arg: value(one.value) for one in node.keywords})
        if isinstance(node, ast.Tuple):
            return tuple(map(value, node.elts))
        return ast.literal_eval(node)

    try:
        return value(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"mechanism must be one of the library to be read from a file; got {text}: {error}") from None

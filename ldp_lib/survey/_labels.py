"""Labels and the people who hold them: what a domain may be, answers as numbers, and surveys in files."""

import ast
import contextlib
import warnings
from collections.abc import Hashable, Mapping, Sequence
from datetime import UTC, datetime
from enum import Enum
from unicodedata import category, normalize

import numpy as np
import pandas as pd

from ldp_lib import _inputs
from ldp_lib.survey import _files as files
from ldp_lib.survey._intervals import check_unbiased
from ldp_lib.survey.catalogue import MECHANISMS

NOTHING = r"  \n nan none nat na n.a n/a null nil blank missing undefined 1.#ind 1.#qnan #n/a #na #nv #n/an/a #null "
# Signs that look alike, and those that nobody sees:
LOOKS = str.maketrans('ıİ−~⁄∕"`´ʹʼʻ׳״′″„“”‘’‚‛‟«»‹›', "iI--//''''''''''''''''''''''", "\0\x7f\u0307\ufe0e\ufe0f")
ALIKE = {"Cf": "", "Pd": "-", "Ps": "(", "Pe": ")"}  # what few look at, by Unicode's categories


def check_domain(domain):
    """Return a domain as a dict from names to tuples of labels, Python's own types for NumPy's and enums', or raise."""
    if not isinstance(domain, Mapping) or not domain:
        raise TypeError(f"domain must map at least one attribute to its labels; got {domain!r}")
    found = {}
    for name, labels in domain.items():
        if not isinstance(name, str):
            raise TypeError(f"domain must name attributes by texts; got {name!r}. Rename the frame's columns")
        if isinstance(labels, str | bytes) or not isinstance(labels, Sequence | np.ndarray | pd.Index | pd.Series):
            raise TypeError(f"domain must list at least two different labels for {name!r}, in order; got {labels!r}")
        values = tuple(pd.Index([one]).item() if isinstance(one, np.generic | Enum) else one for one in labels)
        if not all(isinstance(one, Hashable) for one in values) or any(map(np.ndim, values)):
            raise TypeError(f"domain must have labels such as texts or numbers for {name!r}; got {labels!r}")
        kept, shown = pd.Index(values), set(map(printed, values))
        if kept.hasnans or kept.tolist() != [*values] or not 2 <= len(values) == len(set(values)) == len(shown):
            told = f"at least two different labels for {name!r} that differ in print, and none for missing values"
            raise ValueError(f"domain must list {told}, as pandas reads them; got {labels!r}")
        found[name] = values
    return found


def printed(label):
    """Return how a label prints for who does not look closely at case, dashes, closed ends, midnight and writing.

    Composed first, so that a dot is unseen only over an i that has one; then once more, for what 1/2 in one sign holds.
    """
    text = normalize("NFKC", normalize("NFC", str(label)).translate(LOOKS)).translate(LOOKS).partition(" 00:00:00")[0]
    text = " ".join("".join(ALIKE.get(category(one), one) for one in text).split()).casefold()
    with contextlib.suppress(ValueError):
        return text if text.lstrip("-").isdigit() else f"{float(text):.12g}"
    return text


def guises(label):
    """Return how a label reads if bytes, quotes, commas for points and 32-bit numbers make no difference.

    What reads like a missing value reads like an empty text too.
    """
    text = printed(label.decode("utf-8", "replace") if isinstance(label, bytes) else label)
    found = {text := text.strip("\"'").replace(".0,", ",").replace(".0)", ")").replace(" ", "").replace("_", "")}
    for way in (text.replace(",", "."), text.replace(",", "")):
        with contextlib.suppress(ValueError):
            found.add(np.float32(way) if "." in way else float(way))
    return found | {"" if f" {text.strip('!$()*-./:;<>?[]{}')} " in NOTHING else text}


def places(values, labels):
    """Return the place of each value among the labels, -1 if it is not there; True is not 1, nor False 0."""
    known = {_key(one): i for i, one in enumerate(labels)}
    return [known.get(_key(one), -1) if isinstance(one, Hashable) else -1 for one in values]


def _key(one):
    """Return what tells labels apart; in an hour that a clock tells twice, equal times may have two hashes."""
    return isinstance(one, bool | np.bool_), one.astimezone(UTC) if isinstance(one, datetime) and one.tzinfo else one


def check_mechanism(mechanism, k, epsilon):
    """Raise unless a survey can collect with the mechanism, and estimate what it collected."""
    if isinstance(mechanism, str | type) or not all(hasattr(mechanism, name) for name in ("k", "epsilon", "perturb")):
        raise TypeError(f"mechanism must be one with its parameters, as GRR(k=3, epsilon=1.0); got {mechanism!r}")
    if _inputs.check_domain(mechanism.k) != k:
        raise ValueError(f"mechanism must have the domain sizes {k} of the survey; got {mechanism.k}")
    if mechanism.epsilon != epsilon:
        raise ValueError(f"mechanism must have the survey's epsilon = {epsilon}; got {mechanism.epsilon}")
    files.columns(mechanism)
    files.check_countable(mechanism)
    if mechanism.needs_dealer or mechanism.least_users > 1 or not (mechanism.unbiased and mechanism.has_exact_moments):
        raise ValueError(f"mechanism must be unbiased with one user, with moments, without a dealer; got {mechanism!r}")
    check_unbiased(mechanism)


def categories(frame, epsilon):
    """Return the categories of a frame's columns, or raise if a column has none; warn if they look read off."""
    check_people(frame, least=0)
    loose = [name for name in frame if frame[name].dtype != "category"]
    if loose:
        told = f"frame must have categorical columns only; {loose[0]!r} is {frame[loose[0]].dtype}. Not to read labels"
        raise TypeError(f"{told} off the answers, declare them, as in Survey({{{loose[0]!r}: [...]}}, {epsilon=})")
    kinds = {name: frame[name].cat.categories for name in frame}
    if kinds and all(_looks_read_off(frame[name]) for name in frame):
        told = 'if astype("category") read them off the answers, they tell what people said'
        warnings.warn(f"all categories are sorted, and all occur: {told}", stacklevel=3)
    return kinds


def _looks_read_off(one):
    """Return whether a column's categories are sorted, not ordered, and all occur."""
    return not one.cat.ordered and set(one.dropna()) == {*(kind := one.cat.categories)} and kind.is_monotonic_increasing


def check_people(frame, least=1):
    """Raise unless a frame is one of pandas, with at least one row and no column twice."""
    if not isinstance(frame, pd.DataFrame):
        told = "one partition after the other" if hasattr(frame, "to_delayed") else "one person is DataFrame([answers])"
        raise TypeError(f"frame must be a pandas DataFrame, one row a person; got {type(frame).__name__}: {told}")
    if len(frame) < least:
        raise ValueError("frame must have at least one row, a person; got none")


def check_kept(frame, weights, keep, domain):
    """Return the columns that are to travel with the reports; raise unless they are there, and are no answers."""
    names = [*keep] if weights is None else [weights, *keep]
    for name in names:
        wrong = not isinstance(name, str) or name in domain or name.startswith("report") or names.count(name) > 1
        if wrong or isinstance(keep, str) or list(frame).count(name) != 1 or frame[name].dtype.type in (list, dict):
            told = "weights and keep, a list, must name different columns of the frame, none of answers, reports or"
            raise ValueError(f"{told} Arrow's lists; got {weights=}, {keep=} of {[*frame]}")
    if weights is not None:
        check_weights(frame, weights)
    return names


def check_weights(frame, name):
    """Return a column of design weights as floats, or raise unless it holds numbers of at least 1."""
    if not isinstance(name, str) or list(frame).count(name) != 1:
        raise ValueError(f"weights must name a column of the reports; got {name!r} of {list(frame.columns)}")
    w = frame[name]
    if w.dtype.kind not in "iuf" or not w.between(1, 1e15).fillna(False).all():
        told = f"{name!r} of {w.dtype}, {w.isna().sum()} missing, the least of {w.tolist()[:9]}"
        raise ValueError(f"weights must be {len(w)} numbers from 1 on, 1 over the chance of being asked; got {told}")
    return w.to_numpy(float)


def codes(frame, name, survey):
    """Return one column's answers as numbers, or raise an error that names the column, the row and the value."""
    if list(frame).count(name) != 1:
        raise ValueError(f"frame must have one column {name!r}; got {list(frame.columns)}")
    labels, column = survey.domain[name], frame[name]
    if column.dtype == object and len({_key(v)[0] for v in column if hasattr(v, "real") and pd.notna(v) is True}) > 1:
        raise TypeError(f"frame must not mix booleans with numbers in column {name!r}, since True equals 1")
    try:
        number, distinct = pd.factorize(column)  # a missing value has number -1
    except Exception as error:  # of pandas or Arrow, as for big-endian numbers
        raise TypeError(f"frame must hold labels such as texts or numbers in column {name!r}: {error}") from None
    known = np.array(places(distinct, labels), int)
    alike = {"", *labels}.union(*map(guises, labels))  # 1 is found by True
    meant = (known < 0) & np.array([alike & {value, *guises(value)} for value in distinct], bool)
    found, meant, gone = np.append(known, -1)[number], np.append(meant, False)[number], number < 0
    for role, bad in (("missing", gone), ("other", (found < 0) & ~gone)):
        [to] = places([vars(survey)[role]], labels)
        refused = bad if to < 0 else bad & meant
        if refused.any():
            row = int(refused.argmax())
            what = "a missing value" if role == "missing" else repr(column.iloc[row])
            told = f"frame must hold one of the labels {labels} in column {name!r}; got {what} in row"
            where = f"{frame.index.tolist()[row]!r}" if frame.index.is_unique else f"{row} (its place, from 0)"
            way = f"Recode it, or declare a label here ({role}={vars(survey)[role]!r} elsewhere) and name it by {role}="
            if meant[row]:
                seen = {column.iloc[row], *guises(column.iloc[row])}
                near = [one for one in labels if seen & {one, *guises(one)}] or "a missing value"
                way = f"It reads like {near}, so it is not put to other=: convert the column, as by replace or astype"
            elif role == "missing" and isinstance(column.dtype, pd.CategoricalDtype):
                way = f"Where pandas.cut made it missing, and it is no code, let limits be -inf and inf. Else: {way}"
            raise ValueError(f"{told} {where}. {way}")
        if to >= 0:
            found[bad] = to
    return found


def rebuild(text):
    """Return the library's mechanism whose repr is a text; nothing else in it is run."""
    families = {family.__name__: family for family in MECHANISMS}
    try:
        made = ast.parse(text, mode="eval").body
        told = {one.arg: families.get(ast.unparse(one.value)) or ast.literal_eval(one.value) for one in made.keywords}
        return families[made.func.id](**told)
    except (AttributeError, KeyError, SyntaxError, TypeError, ValueError) as error:
        raise ValueError(f"mechanism must be one of the library to be read from a file; got {text}: {error}") from None

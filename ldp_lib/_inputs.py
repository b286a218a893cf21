"""Checks of what callers pass in: every message names the argument, its value and what is allowed."""

import functools
import numbers
from collections.abc import Callable, Iterable, Mapping, Set
from typing import TypeVar

import numpy as np

_Perturb = TypeVar("_Perturb", bound=Callable)
MOST_USERS = 10**15
_RULES = {
    "k": (numbers.Integral, lambda v: 2 <= v <= 2**32, "an integer from 2 to 2**32"),
    "g": (numbers.Integral, lambda v: 2 <= v <= 2**20, "an integer from 2 to 2**20"),
    "runs": (numbers.Integral, lambda v: 1 <= v <= 10**7, "an integer from 1 to 10**7"),
    "threads": (numbers.Integral, lambda v: 1 <= v <= 1024, "an integer from 1 to 1024"),
    "q": (numbers.Real, lambda v: 0 < v < 1, "a number above 0 and below 1"),
    "epsilon": (numbers.Real, lambda v: 1e-9 <= v <= 700, "a number from 1e-9 to 700"),
    "rng": (np.random.Generator, lambda v: True, "a numpy.random.Generator, such as numpy.random.default_rng(1)"),
}


def check_cells(records, reports):
    """Raise ValueError if a channel with so many records and reports is too large to be built."""
    if records * reports > 2**22:
        size = f"{records} rows and {reports} columns"
        raise ValueError(f"k must be small for a channel: it would have {size}; at most {2**22} entries are built")


def is_integer(value):
    """Return whether a value is an integer, of Python or of NumPy, and no bool."""
    return isinstance(value, numbers.Integral) and not isinstance(value, bool | np.bool_)


def require(**arguments):
    """Raise TypeError or ValueError unless the named arguments, each one of `_RULES`, are allowed."""
    for name, value in arguments.items():
        require_one(name, value, *_RULES[name])


def require_one(name, value, kind, fits, allowed):
    """Raise TypeError unless the value is of this kind, and no bool, and ValueError unless it fits."""
    if isinstance(value, bool | np.bool_) or not isinstance(value, kind):
        raise TypeError(f"{name} must be {allowed}; got {value!r}")
    if not fits(value):
        raise ValueError(f"{name} must be {allowed}; got {value!r}")


def settle(mechanism, *names):
    """Check the named parameters of a mechanism as `require` does, and keep them as Python's own numbers."""
    for name in names:
        value = getattr(mechanism, name)
        require(**{name: value})
        if type(value) not in (int, float):
            object.__setattr__(mechanism, name, int(value) if isinstance(value, numbers.Integral) else float(value))


def small_dtype(k):
    """Return the smallest unsigned integer type that holds 0, ..., k-1."""
    return np.min_scalar_type(int(k) - 1)


def unmasked(x, name):
    """Return `x` as an array, or raise ValueError if it is a masked array with masked entries."""
    if np.ma.is_masked(x):
        raise ValueError(f"{name} must not have masked entries; got {np.ma.count_masked(x)} of them")
    try:
        return np.asarray(x)
    except (TypeError, ValueError, OverflowError) as error:  # ragged, or with missing values
        told = f"{type(x).__name__}, of which NumPy makes none: {error}"
        raise ValueError(f"{name} must be an array; got {told}") from None


def check_values(x, k, name="x"):
    """Return x, shape (n,), as an array after checking that it holds at least one integer, all 0 to k-1, or raise."""
    x = unmasked(x, name)
    allowed = f"{name} must be a one-dimensional array of at least one integer from 0 to {k - 1}"
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"{allowed}; got shape {x.shape}")
    if x.dtype.kind not in "iu":
        raise TypeError(f"{allowed}; got type {x.dtype}, first value {x[0]!r}")
    unsigned, least = x.view(x.dtype.str.replace("i", "u")), 2 ** (8 * x.dtype.itemsize - 1)
    if unsigned.max() >= (k if x.dtype.kind == "u" else min(k, least)):  # a negative number reads as a large one
        where = int(np.flatnonzero((x < 0) | (x >= k))[0])
        raise ValueError(f"{allowed}; got {int(x[where])} at position {where}")
    return x


def check_histogram(population, k, **given):
    """Return the counts of a population of one attribute with k values, or raise; `given` as in `check_population`."""
    check_population(population, (k,), **given)
    return population.histogram


def _lists(k):
    scalar = getattr(k, "shape", None) == ()  # NumPy's arrays of no dimension say they are iterable
    return isinstance(k, Iterable) and not scalar and not isinstance(k, bytes | bytearray | Set | Mapping)


def check_domain(k):
    """Return the domain sizes as a tuple of ints of at least 2, or raise."""
    sizes = tuple(k) if _lists(k) else (k,)
    complaint = f"k must be an integer of at least 2, or one for each attribute; got {k!r}"
    if not all(map(is_integer, sizes)):
        raise TypeError(complaint)
    if not sizes or min(sizes) < 2:
        raise ValueError(complaint)
    return tuple(map(int, sizes))


def check_records(x, k, name="x"):
    """Return records as an (n, d) integer array after checking the shape and every column's range, or raise."""
    x = unmasked(x, name)
    if x.ndim == 1 and len(k) == 1:
        x = x[:, None]
    if x.ndim != 2 or x.shape[1] != len(k) or len(x) == 0:
        allowed = f"{name} must have at least one row and {len(k)} columns, one an attribute"
        raise ValueError(f"{allowed}; got shape {x.shape}")
    if x.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold integers; got type {x.dtype}, first row {x[0]!r}")
    unsigned = np.dtype(x.dtype.str.replace("i", "u"))
    largest = np.array([min(size - 1, np.iinfo(x.dtype).max) for size in k], unsigned)
    rows = min(len(x), 2**13)  # a block stays in the cache, and is compared in the order in which it lies there
    most = np.broadcast_to(largest, (rows, len(k))) if x.flags.f_contiguous else np.tile(largest, (rows, 1))
    for start in range(0, len(x), 2**13):  # a negative number reads as a large one
        if (x[start : start + 2**13].view(unsigned) > most[: len(x) - start]).any():
            row, j = np.argwhere((x < 0) | (x >= np.array(k)))[0].tolist()
            raise ValueError(f"{name} must be from 0 to {k[j] - 1} in column {j}; got {x[row, j]} in row {row}")
    return x


def users_checked(perturb: _Perturb) -> _Perturb:
    """Decorate a mechanism's `perturb`: its generator, and the users' values or records, are checked before it runs."""

    @functools.wraps(perturb)
    def checked(self, x, *, rng):
        require(rng=rng)
        x = check_records(x, self.k) if isinstance(self.k, tuple) else check_values(x, self.k)
        return perturb(self, x, rng=rng)

    return checked  # type: ignore[return-value]


def check_attributes(k, least=2, *, equal=False):
    """Return the domain sizes of at least `least` attributes, all equal if asked, as a tuple, or raise naming `k`.

    A bare integer is refused: it is the domain of a mechanism for one attribute, which takes and gives plain arrays.
    """
    allowed = f"k must give the domain sizes of at least {'two attributes' if least == 2 else 'one attribute'}"
    if not _lists(k):
        raise TypeError(f"{allowed}, as a tuple of integers of at least 2; got {k!r}")
    sizes = check_domain(k)
    if len(sizes) < least:
        raise ValueError(f"{allowed}; got {k!r}")
    if equal and len(set(sizes)) > 1:
        raise ValueError(f"k must be the same for all attributes, since they share their values; got {sizes}")
    return sizes


def check_population(population, k, **given):
    """Raise unless `population` is one, with the domain sizes `k`, and the other arguments given are allowed."""
    require(**given)
    if not (hasattr(population, "k") and hasattr(population, "counts")):
        raise TypeError(f"population must be a Population; got {type(population).__name__}")
    if population.k != k:
        wanted = f"domain sizes k = {k}" if len(k) > 1 else f"one attribute with k = {k[0]}"
        raise ValueError(f"population must have {wanted}; got k = {population.k}")


def check_users(n):
    """Return a number of users as an int; also 1e4, but not 2.5."""
    whole = is_integer(n) or (isinstance(n, float | np.floating) and float(n).is_integer())
    if not whole or not 1 <= n <= MOST_USERS:
        raise ValueError(f"n must be an integer from 1 to 10**15; got {n!r}")
    return int(n)


def require_share(name, value):
    """Raise unless `value` is a number above 0 and below 1."""
    require_one(name, value, *_RULES["q"])


def check_weights(weights, questions):
    """Return weights, divided by their sum, as a tuple of floats, or raise an error that names them."""
    allowed = f"weights must be {questions} finite numbers of at least 0, not all 0"
    try:
        w = np.asarray(weights, float)
    except (TypeError, ValueError):
        raise TypeError(f"{allowed}; got {weights!r}") from None
    if w.shape != (questions,):
        raise ValueError(f"{allowed}; got shape {w.shape}")
    if not (np.isfinite(w).all() and w.min() >= 0 and w.sum() > 0):
        raise ValueError(f"{allowed}; got {weights!r}")
    if abs(w.sum() - 1) > 1e-12:  # what has been divided stays as it is
        w = w / w.sum()
    return tuple(w.tolist())


def check_bool(**arguments):
    """Raise TypeError unless each named argument is True or False."""
    for name, value in arguments.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be True or False; got {value!r}")


def check_reports(y, dtype, questions):
    """Return reports after checking type, number and the questions' numbers, or raise."""
    y = unmasked(y, "y")
    if y.dtype != dtype:
        raise TypeError(f"y must be reports of type {dtype}; got type {y.dtype}")
    if y.ndim != 1 or y.size == 0:
        raise ValueError(f"y must be a one-dimensional array of at least one report; got shape {y.shape}")
    if y["asked"].max() >= questions:
        raise ValueError(f"y['asked'] must be from 0 to {questions - 1}; got {y['asked'].max()}")
    return y

"""Experiments: one function over many settings, on any number of cores, with a progress bar; errors; random sets."""

import contextlib
import numbers
import os
import sys
from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
from tqdm import tqdm

from ldp_lib import _inputs


def sweep(function, settings, *, rng, executor=None, label=None):
    """Call a function at every setting and return all results as one table.

    Each call gets a generator of its own, spawned from `rng` in the order of the settings. So the table depends on the
    state of `rng` and on the settings alone, not on the executor or on who finishes first.

    Parameters
    ----------
    function : callable
        Called as ``function(**setting, rng=generator)``. Returns one row as a dict, or several as a list of dicts.
        What all calls share, such as a population, is best bound by ``functools.partial``.
    settings : iterable of dicts
        The keyword arguments of each call, all with the same names.
    rng : numpy.random.Generator
        Source of randomness.
    executor : concurrent.futures.Executor, optional
        Such as a ProcessPoolExecutor, whose function must be defined in a module that it can import, or a Dask client's
        ``get_executor()``. It is not shut down. If not given, all is done in this process.
    label : str, optional
        What the progress bar says. The bar is drawn on standard error if that is a terminal, and else only where the
        environment variable ``LDP_LIB_PROGRESS`` gives the number of an open file descriptor, as it does while the
        book is built. So no notebook stores it.

    Returns
    -------
    pandas.DataFrame
        One row a result, in the order of the settings: the setting's entries, then those of the result.

    Raises
    ------
    TypeError, ValueError
        If an argument is unfit, or results are not dicts with the same names, other than those of the setting.
    """
    _inputs.require(rng=rng)
    if not callable(function):
        raise TypeError(f"function must be callable; got {function!r}")
    settings = list(settings)
    if not settings or not all(isinstance(setting, Mapping) for setting in settings):
        raise TypeError(f"settings must be at least one dict; got {settings[:3]!r}")
    _check_names(settings, "settings")
    calls = partial(_rows, function), settings, rng.spawn(len(settings))
    with _bar(len(settings), label) as bar:
        rows = []
        for found in (map if executor is None else executor.map)(*calls):
            rows += found
            bar.update()
    _check_names(rows, "results of function")
    return pd.DataFrame(rows)


def mse(estimates, truth):
    """Return each run's squared error, averaged over an attribute's values and then over the attributes, (runs,).

    Parameters
    ----------
    estimates : sequence of d arrays, shape (runs, k_j)
        As `simulate` gives them.
    truth : sequence of d arrays, shape (k_j,)
        The true frequencies.

    Notes
    -----
    Seeam et al. (revised 2026), Eq. 2; chapter `audit_corr_rr_evaluation`.
    """
    pairs = [(np.asarray(a), np.asarray(b)) for a, b in zip(estimates, truth, strict=True)]
    for found, true in pairs:
        if found.ndim != 2 or found.shape[1:] != true.shape:
            raise ValueError(f"estimates must have shape (runs, k_j) and truth (k_j,); got {found.shape}, {true.shape}")
    return np.mean([((found - true) ** 2).mean(axis=1) for found, true in pairs], axis=0)


def random_set(k, coverage, *, rng):
    """Return a uniformly random set of cells of a table, as booleans of shape `k`.

    Parameters
    ----------
    k : sequence of ints
        The table's shape.
    coverage : float
        Share of the cells in the set, above 0 and at most 1. Their number is rounded, and at least one.
    rng : numpy.random.Generator
        Source of randomness.
    """
    _inputs.require(rng=rng)
    cells = np.zeros(_inputs.check_domain(k), bool)
    if isinstance(coverage, bool) or not (isinstance(coverage, numbers.Real) and 0 < coverage <= 1):
        raise ValueError(f"coverage must be a number above 0 and at most 1; got {coverage!r}")
    cells.flat[rng.permutation(cells.size)[: max(1, round(coverage * cells.size))]] = True
    return cells


def _rows(function, setting, rng):
    found = function(**setting, rng=rng)
    rows = [found] if isinstance(found, Mapping) else found
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        raise TypeError(f"function must return a dict or a list of at least one dict; got {found!r} at {setting}")
    for row in rows:
        if row.keys() & setting:
            raise ValueError(f"function must return other names than those of the setting; got {row} at {setting}")
    return [{**setting, **row} for row in rows]


def _check_names(dicts, what):
    for position, entries in enumerate(dicts):
        if {*entries} != {*dicts[0]}:
            raise ValueError(f"{what} must all have the names {list(dicts[0])}; got {list(entries)} at {position}")


@contextlib.contextmanager
def _bar(total, label):
    number = os.environ.get("LDP_LIB_PROGRESS")
    if number is None:
        with tqdm(total=total, desc=label, disable=not (sys.stderr and sys.stderr.isatty())) as bar:
            yield bar
    else:
        with (
            open(int(number), "w", encoding="utf-8", closefd=False) as file,
            tqdm(total=total, desc=label, file=file, ascii=True, ncols=100, mininterval=1) as bar,
        ):
            yield bar

"""Which mechanism has the least error for a survey, what its error is, and which budget reaches an error."""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np

from ldp_lib._inputs import check_bool, check_domain, check_users, require
from ldp_lib.sampled import AskSome, OneQuestion
from ldp_lib.splitting import OBRR, OMRR, SPL
from ldp_lib.survey._intervals import estimate_interval, half_width, plug_in_population, required_users, standard_errors
from ldp_lib.survey.catalogue import MECHANISMS
from ldp_lib.survey.errors import collectors, total_error
from ldp_lib.tables._totals import pairs_error

__all__ = ["Recommendation", "estimate_interval", "recommend", "required_budget", "required_users", "standard_errors"]
WANTS = ("frequencies", "records", "tables")
DESIGNED = 12  # attributes of different sizes, or for tables of any, with which `AskSome` is designed freely, at most
MANY = 20_000  # values of several attributes: above it none are listed
MOST_VALUES = 10**7  # of one attribute or of all


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """The best mechanism for a survey.

    Attributes
    ----------
    mechanism : Mechanism
    error : float
        Total mean squared error, summed over all values of all attributes, or over all cells of all tables wanted.
    points : float
        Root mean squared error of one frequency, or of one cell, in percentage points: over all of them, so that
        attributes with many values count most, and frequencies of one with few mostly err by more.
    why : str
        One sentence, which compares it with the second best.
    """

    mechanism: Any
    error: float
    points: float
    why: str

    def margin(self, confidence: float = 0.95) -> float:
        """Return half the width of a typical interval, in percentage points; `required_users` bounds the widest one."""
        return half_width(confidence) * self.points


def recommend(
    *, k: int | Sequence[int], epsilon: float, n: float, wants: str = "frequencies", sampling: bool = False
) -> Recommendation:
    """Return the mechanism with the least exact error for a survey, before anybody is asked.

    Parameters
    ----------
    k : int or sequence of d ints
        Domain size of one attribute, or of each of several.
    epsilon : float
        Privacy budget of one user's whole report.
    n : int
        Number of users, at least 1.
    wants : {"frequencies", "records", "tables"}
        What is wanted: the frequencies of each attribute; these, from reports that are whole records; or the joint
        table of every two attributes (then, and for records, `k` has at least two).
    sampling : bool
        False: errors are those of the frequencies among the users. True: the users are a random sample of many more,
        whose frequencies are wanted; this adds f (1-f) / n.

    Returns
    -------
    Recommendation

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong type or out of range.

    Notes
    -----
    Compared are all unbiased mechanisms of the library with exact moments whose users need nobody but the collector (so
    not `jrr`, which needs somebody who deals secrets), built from the domain and the budget alone, for users whose
    values are uniform. With more than 12 attributes of different sizes, `AskSome` is compared with sets of one value
    only, since its search for the best sizes takes minutes. It tries no m with more than 5,000 groups of m attributes,
    so of 20 it asks at most 4 or at least 16, of more than 100 one or nearly all. For frequencies of more than 20,000
    values together only attribute sampling and budget splitting (SPL, OMRR, OBRR) are compared, by closed forms.
    Mechanisms equal to within rounding count as one; the first of the list is taken. For tables compared are those of
    `errors.collectors` from which unbiased tables follow; up to 12 attributes, people are asked two or more of them
    together (`ask_pairs`), as many as have the least error, with more attributes two. Its sets are best for the
    dependences, so others may have less error of all cells. Tables of more than 2,048 cells are refused, since two of
    the ways compared build matrices of all cells: take `ask_pairs` itself. Not compared are reports about numbered
    cells or lines of one pair's table, which have less error for many answers or small budgets: `book/choose.md`.
    """
    rows = _errors(k, epsilon, n, wants, sampling)
    least = min(error for error, _ in rows) * (1 + 1e-9)
    error, mechanism = next(row for row in rows if row[0] <= least)
    others = [row for row in rows if row[0] > least]
    why = f"{type(mechanism).__name__} has the least exact error of {len(rows)} mechanisms at this budget"
    if others:
        more, runner_up = min(others, key=lambda row: row[0])
        times = f"{more / error:.3g} times its squared error" if error else f"{more:.3g}, where it has none"
        why += f"; {type(runner_up).__name__}, the next, has {times}"
    points = 100 * math.sqrt(error / sum(_cells(check_domain(k), wants)))
    return Recommendation(mechanism=mechanism, error=error, points=points, why=why + ".")


def required_budget(
    *, k: int | Sequence[int], n: float, points: float, wants: str = "frequencies", sampling: bool = False
) -> float:
    """Return the least epsilon, to 1 part in 1,000, at which the typical error of the best mechanism is `points`.

    Parameters as in `recommend`; `points` is the root mean squared error of one frequency, or cell, in percentage
    points: a margin divided by 1.96, at 95 % confidence. For tables a tenth less may do, because the error can rise
    with epsilon where `ask_pairs` changes to other sets.

    Raises
    ------
    ValueError
        If no epsilon from 0.001 to 20 reaches it; with `sampling`, drawing people alone may err by more.
    """

    def enough(epsilon):
        return recommend(k=k, epsilon=epsilon, n=n, wants=wants, sampling=sampling).points <= points

    if isinstance(points, bool) or not isinstance(points, Real) or not points > 0 or not enough(20.0):
        raise ValueError(f"points must be above 0, and reachable with {n} users at epsilon = 20; got {points!r}")
    low, high = 1e-3, 20.0
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _cells(sizes, wants):
    """Return the number of values of each attribute, or of cells of each table of two."""
    return [a * b for a, b in itertools.combinations(sizes, 2)] if wants == "tables" else sizes


def _errors(k, epsilon, n, wants="frequencies", sampling=False):
    """Return what `recommend` compares: a list of pairs, a mechanism's total error and the mechanism.

    The order is that of the list compared, by which ties are broken. Parameters, errors raised and what is compared as
    in `recommend`.
    """
    require(epsilon=epsilon)
    epsilon, sizes = float(epsilon), check_domain(k)
    k, n = sizes[0] if isinstance(k, Integral) else sizes, check_users(n)
    check_bool(sampling=sampling)
    if wants not in WANTS:
        raise ValueError(f"wants must be one of {WANTS}; got {wants!r}")
    if wants != "frequencies" and len(sizes) < 2:
        raise ValueError(f"k must have at least two attributes for {wants}; got {k!r}")
    drawn = sampling * sum(1 - 1 / cells for cells in _cells(sizes, wants)) / n
    if wants == "tables":
        ways = collectors(sizes, epsilon, None if len(sizes) <= DESIGNED else 2)
        return [(pairs_error(one, n) + drawn, one) for one in ways if one.joint > 1]
    if sum(sizes) > MANY and len(sizes) > 1 and wants == "frequencies":
        ways = [family(k=sizes, epsilon=epsilon) for family in (OneQuestion, SPL, OMRR, OBRR)]
        return [(one.uniform_variance(n) + drawn, one) for one in ways]
    if sum(sizes) > MOST_VALUES:
        raise ValueError(f"k must have at most {MOST_VALUES:,} values together; got {sum(sizes):,}")
    even = plug_in_population([np.full(size, 1 / size) for size in sizes], n)
    plain = {"sizes": [1] * len(sizes)} if len(sizes) > DESIGNED and len(set(sizes)) > 1 else {}
    compared = [one for one in MECHANISMS if one.serves(k) and not one.needs_dealer]
    ways = [one(k=k, epsilon=epsilon, **(plain if one is AskSome else {})) for one in compared]
    ways = [one for one in ways if one.unbiased and one.has_exact_moments and n >= one.least_users]
    if wants == "records":
        ways = [one for one in ways if one.joint == len(sizes) and one.dtype.shape == (len(sizes),)]
    return [(total_error(one, even) + drawn, one) for one in ways]

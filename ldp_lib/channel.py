"""Exact facts about channels by enumeration: with rational inputs, every answer is a rational.

A channel is a matrix with Pr[y | x] in row x and column y. Entries may be floats, Fractions or SymPy expressions.
"""

import itertools
import math
from fractions import Fraction
from functools import reduce

import numpy as np

from ldp_lib import _inputs


def check_channel(channel):
    """Return `channel` as a matrix after checking its shape, signs and row sums.

    Rows of Fractions or integers must sum to 1 exactly, rows of floats to rounding. Symbolic entries are not checked.

    Raises
    ------
    TypeError, ValueError
        If it is not a matrix, an entry is negative or not a number, or a row does not sum to 1.
    """
    matrix = _inputs.unmasked(channel, "channel")
    if matrix.dtype.kind in "mMSU":
        raise TypeError(f"channel must hold numbers; got type {matrix.dtype}")
    if matrix.ndim != 2 or matrix.size == 0:
        raise ValueError(f"channel must be a matrix, one row an input; got shape {matrix.shape}")
    if not all(isinstance(entry, int | float | Fraction | np.number | np.bool_) for entry in matrix.flat):
        return matrix
    for row in matrix:
        total = math.fsum(row) if matrix.dtype.kind == "f" else sum(row)
        exact = not any(isinstance(entry, float | np.floating) for entry in row)
        if not (min(row) >= 0 and abs(total - 1) <= (0 if exact else len(row) * np.finfo(float).eps)):
            raise ValueError(f"channel must have rows of probabilities that sum to 1; got {list(row)}, sum {total}")
    return matrix


def privacy_ratio(channel):
    """Return the largest Pr[y | x] / Pr[y | x'] over all inputs x, x' and reports y: exp(epsilon), exactly.

    Parameters
    ----------
    channel : array_like, shape (inputs, reports)
        Numbers only. A report that no input can produce is left out.

    Returns
    -------
    number
        A Fraction if the entries are; infinity if some input rules out a report that another can produce.
    """
    matrix = check_channel(channel)
    worst = 1
    for column in matrix.T:
        least, most = min(column), max(column)
        if most > 0:
            worst = max(worst, most / least if least > 0 else math.inf)
    return worst


def success_rate(channel, prior):
    """Return the probability that the best guess of the input, made from one report, is right.

    An attacker who knows the channel and the prior guesses, for each report, the input with the largest posterior
    probability (Bayes vulnerability). No other rule is right more often.

    Parameters
    ----------
    channel : array_like, shape (inputs, reports)
        Pr[y | x], numbers only.
    prior : array_like, shape (inputs,)
        Probabilities of the inputs, which sum to 1.

    Returns
    -------
    number
        The sum over reports y of the largest prior[x] Pr[y | x]; a Fraction if all entries are.

    Raises
    ------
    TypeError, ValueError
        If `channel` is none, or `prior` is not one probability an input.

    Notes
    -----
    Chapter `attacker`.
    """
    matrix = check_channel(channel)
    prior = _inputs.unmasked(prior, "prior")
    if prior.shape != matrix.shape[:1]:
        raise ValueError(f"prior must have one probability for each of {len(matrix)} inputs; got shape {prior.shape}")
    try:
        check_channel([prior])
    except (TypeError, ValueError) as error:
        raise type(error)(f"prior must be probabilities that sum to 1; got {list(prior)}") from error
    return sum(max(column) for column in (matrix * prior[:, None]).T)


def compose(*channels):
    """Return the channel that sends one input through each channel, independently, and reports all outputs."""
    matrix = check_channel(channels[0])
    for other in map(check_channel, channels[1:]):
        if len(other) != len(matrix):
            raise ValueError(f"channels must have the same inputs; got {len(matrix)} and {len(other)}")
        matrix = (matrix[:, :, None] * other[:, None, :]).reshape(len(matrix), -1)
    return matrix


def tensor(*channels):
    """Return the channel of several inputs, each sent through a channel of its own: the Kronecker product."""
    return reduce(np.kron, map(check_channel, channels))


def exact_law(channel, x, statistic):
    """Return the exact distribution of a statistic of all reports, by enumerating every outcome.

    Parameters
    ----------
    channel : array_like, shape (inputs, reports)
        The channel that every user applies.
    x : sequence of int
        The users' inputs (row numbers). The cost grows as reports ** len(x).
    statistic : callable
        Takes the tuple of all reports (column numbers), returns a sequence of numbers.

    Returns
    -------
    dict
        The statistic's values, as tuples, and their probabilities.
    """
    matrix, law = check_channel(channel), {}
    rows = matrix[_inputs.check_values(x, len(matrix))]
    for reports in itertools.product(range(matrix.shape[1]), repeat=len(rows)):
        probability = math.prod(row[y] for row, y in zip(rows, reports, strict=True))
        value = tuple(statistic(reports))
        law[value] = law.get(value, 0) + probability
    return law


def exact_moments(channel, x, statistic):
    """Return the exact mean, shape (m,), and covariance matrix, (m, m), of a statistic; arguments as in `exact_law`."""
    law = exact_law(channel, x, statistic)
    values = np.array(list(law), object)
    weights = np.array(list(law.values()), object)
    mean = weights @ values
    return mean, (values - mean).T @ ((values - mean) * weights[:, None])


def counts(reports, m):
    """Return how often each report 0, ..., m-1 occurs, as a list: the usual statistic for `exact_moments`."""
    return [reports.count(y) for y in range(m)]

"""What one user's report tells an attacker who knows the joint distribution, also about a question never asked."""

import itertools
from fractions import Fraction

import numpy as np

from ldp_lib._inputs import unmasked
from ldp_lib.channel import check_channel


def posterior(channel, prior):
    """Return Pr[input | report], shape (inputs, reports), by Bayes' rule; a report that cannot occur gets zeros."""
    matrix, prior = check_channel(channel), unmasked(prior, "prior")
    if prior.shape != matrix.shape[:1]:
        raise ValueError(f"prior must have one entry for each of {len(matrix)} inputs; got shape {prior.shape}")
    joint = matrix * prior[:, None]
    total = joint.sum(axis=0)
    return joint / np.where(total == 0, 1, total)


def attribute_channel(channel, joint, attribute):
    """Return Pr[report | value of one attribute], the other attributes drawn from the joint distribution.

    Parameters
    ----------
    channel : array_like, shape (records, reports)
        Pr[report | record], records in lexicographic order, as `Mechanism.channel` gives it.
    joint : array_like, shape (k_1, ..., k_d)
        Probabilities of the records.
    attribute : int
        From 0 to d-1.

    Returns
    -------
    array, shape (k_j, reports)
        Exact if both inputs are Fractions.

    Raises
    ------
    ValueError
        If the shapes do not fit, a value of the attribute has probability 0, or a record one below 0.
    """
    matrix = check_channel(channel)
    joint = unmasked(joint, "joint")
    if joint.size != len(matrix):
        raise ValueError(f"joint must have one entry for each of {len(matrix)} records; got shape {joint.shape}")
    weights = transition(joint, attribute)
    records = np.moveaxis(matrix.reshape(*joint.shape, -1), attribute, 0).reshape(*weights.shape, -1)
    return (weights[:, :, None] * records).sum(axis=1)


def transition(joint, attribute):
    """Return Pr[the other attributes | one attribute], shape (k_j, number of the others' records)."""
    joint = unmasked(joint, "joint")
    if not -joint.ndim <= attribute < joint.ndim:
        raise ValueError(f"attribute must be from 0 to {joint.ndim - 1}; got {attribute!r}")
    rows = np.moveaxis(joint, attribute, 0).reshape(joint.shape[attribute], -1)
    totals = rows.sum(axis=1)
    if not rows.min() >= 0 < min(totals):
        raise ValueError(f"joint must be at least 0, of positive probability at each value of {attribute}; got {rows}")
    return rows / totals[:, None]


def dobrushin(table):
    """Return the largest total variation distance between two rows of Pr[asked | hidden]: Dobrushin's coefficient."""
    return max((sum(np.ptp(two, axis=0)) / 2 for two in itertools.combinations(check_channel(table), 2)), default=0)


def inferred_ratio(e, table):
    """Return the largest likelihood ratio about a hidden attribute of any epsilon-LDP report on another one.

    Parameters
    ----------
    e : number
        exp(epsilon), at least 1: the bound for the attribute that was asked.
    table : array_like, shape (hidden values, asked values)
        Pr[asked | hidden].

    Returns
    -------
    number
        The largest (1 + a (e-1)) / (1 + b (e-1)) with a and b the probabilities of one set of asked values under two
        hidden values. Randomized response on "is the value in the set" attains it. Exact for Fractions.

    Notes
    -----
    For two hidden values the best set collects the values with the largest ratios (Neyman and Pearson). At most
    1 + delta (e-1) with delta from `dobrushin`. Chapter `attacker`.
    """
    if not 1 <= e < np.inf:
        raise ValueError(f"e must be a finite number of at least 1; got {e!r}")
    worst = Fraction(1)
    for one, other in itertools.permutations(check_channel(table), 2):
        a = b = 0
        ratios = [x / y if y else np.inf for x, y in zip(one, other, strict=True)]
        for v in sorted(range(len(one)), key=ratios.__getitem__, reverse=True):
            a, b = a + one[v], b + other[v]
            worst = max(worst, (1 + a * (e - 1)) / (1 + b * (e - 1)))
    return worst


def binary_ratio(e, a, b):
    """Return `inferred_ratio` for two binary attributes with Pr[asked = 1 | hidden] = a and b, where a >= b.

    The closed form 1 + (a-b)(e-1) / (1 + m (e-1)) with m the smaller of b and 1-a; numbers only.
    """
    if not 0 <= b <= a <= 1:
        raise ValueError(f"a and b must be probabilities with a >= b; got a = {a!r}, b = {b!r}")
    return 1 + (a - b) * (e - 1) / (1 + min(b, 1 - a) * (e - 1))


def contracted(ratio, change):
    """Return a likelihood ratio after a symmetric binary channel that flips with probability `change`.

    With delta = 1 - 2 change it is (1 + delta t) / (1 - delta t), t = (ratio-1) / (ratio+1): artanh scales tanh.
    """
    return ((1 - change) * ratio + change) / (change * ratio + 1 - change)


def unary_success(p, q, k):
    """Return the success rate of the best guess from k bits, uniform prior: Pr[bit = 1] is p for the value, else q."""
    return ((1 - p) * (1 - q) ** (k - 1) + p / q * (1 - (1 - q) ** k)) / k


def hashing_success(e, k, g):
    """Return the success rate of the best guess from a random hash to g buckets and GRR on it, uniform prior."""
    empty = (1 - e**0 / g) ** k
    return g * (e * (1 - empty) + empty) / (k * (e + g - 1))


def below_as_float32(rate):
    """Return the probability that a random double m / 2**53, stored as a 32-bit float, is below a rate; exactly.

    Storing rounds to nearest, ties to even; the comparison is made in doubles. A Fraction, for rates from 0 to 1.
    """
    if not 0 <= rate <= 1:
        raise ValueError(f"rate must be from 0 to 1; got {rate!r}")
    largest = np.float32(rate)
    if float(largest) >= rate:
        largest = np.nextafter(largest, np.float32(-1))
    following = np.nextafter(largest, np.float32(2))
    middle = (Fraction(float(largest)) + Fraction(float(following))) / 2 * 2**53
    count = middle // 1 + 1  # the integers up to the middle, where rounding changes
    return Fraction(count - (middle.denominator == 1 and int(largest.view(np.uint32)) % 2), 2**53)

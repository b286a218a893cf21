"""Estimates with their variances: tables of attributes, sums of shares, and shares with design weights.

Variances hold the people who were asked fixed, unless `sampling` adds the error of drawing them at random.
"""

import itertools
import warnings
from numbers import Real

import numpy as np
import pandas as pd

from ldp_lib.sampled import AskSome, OneQuestion, design
from ldp_lib.sampled._dealing import as_counted as as_counted
from ldp_lib.subset import SubsetSelection
from ldp_lib.survey import _files as files
from ldp_lib.survey._intervals import check_joint, joined, listed, standard_errors
from ldp_lib.survey.aggregate import sources
from ldp_lib.tables._asked import raw_table
from ldp_lib.tables._product_channel import ProductChannel
from ldp_lib.tables._totals import near_covariance as near_covariance


def rows(reports, mechanism, survey):
    """Return reports from memory and files as one data frame, with the columns that travelled with them."""
    parts = [one for one, *_ in sources(reports, mechanism, survey, lambda one, _: one, whole=True)] or [pd.DataFrame()]
    return pd.concat(parts, ignore_index=len(parts) > 1).__finalize__(parts[0])  # all tell this survey


def blocks(reports, mechanism, survey):
    """Yield arrays of reports, each of a few parts, for estimates that need more than counts."""
    parts = (y for y, *_ in sources(reports, mechanism, survey, lambda _, y: y) if y.size)
    while some := [*itertools.islice(parts, 32)]:
        yield np.concatenate(some)


def joint_table(mechanism, blocks, attributes):
    """Return the raw table of some attributes, the mechanism `as_counted`, and the number of reports, from blocks.

    Groups are divided by how many were asked in all blocks: reports may be sorted, and a block hold one question only.
    """
    check_joint(mechanism, len(attributes))
    counts = []
    table = raw_table(mechanism, (y for y in blocks if counts.append(mechanism.count(y)) is None), *attributes)
    return table, as_counted(mechanism, sum(counts)), sum(counts)[0]


def value_covariance(mechanism, estimate, j, n, sampling):
    """Return the covariance of the estimated shares of one attribute's values; NaN beside the diagonal if unknown."""
    if isinstance(mechanism, OneQuestion) and all(isinstance(one, SubsetSelection) for one in mechanism.oracle_):
        some = {name: getattr(mechanism, name) for name in ("k", "epsilon", "groups")}
        # The same mechanism, told of tables.
        mechanism = AskSome(**some, m=1, sizes=[one.size_ for one in mechanism.oracle_], weights=mechanism.weights_)
    if isinstance(mechanism, AskSome | ProductChannel):
        return near_covariance(mechanism, np.asarray(estimate[j]), (j,), n, sampling)
    variance = listed(standard_errors(mechanism, estimate, n, sampling=sampling))[j] ** 2
    return np.where(np.eye(len(variance)), variance, np.nan)


def contributions(mechanism, frame):
    """Return each person's own unbiased estimate of the indicators of all values, shape (people, values).

    It is what the mechanism would estimate from this report alone; equal reports are computed once. With a mechanism
    `as_counted` from the same reports, their mean is the estimate.
    """
    y = files.from_frame(frame, mechanism)
    _, first, group = np.unique(np.frombuffer(y, f"V{y[0].nbytes}"), return_index=True, return_inverse=True)
    return np.array([joined(mechanism.estimate(y[i : i + 1])) for i in first])[group]


def weighted_shares(z, weights, *, population=None, sampling=False, dealt=None):
    """Return shares in a population and their variances, from people's contributions and design weights.

    Parameters
    ----------
    z : array, shape (people, values)
        What `contributions` gives.
    weights : array, shape (people,)
        One over each person's probability of being asked, at least 1.
    population : float, optional
        Number of people in the population, near the sum of the weights: totals are divided by it (Horvitz and Thompson,
        1952). If not given, by the sum of the weights (Hajek, 1971).
    sampling : bool, "poisson" or "with replacement"
        What is random beside the randomizers. False: nothing; the people asked are fixed. True or "poisson": each
        person was asked independently of the others. "with replacement": the approximation of Hansen and Hurwitz
        (1943), for other designs.
    dealt : tuple, optional
        The mechanism that gave the contributions and, if people were asked some of the questions, the number of each
        person's. In groups its weights must be the sums of the weights of those asked; then lost answers do not count
        as even ones, in whichever group they were lost.

    Notes
    -----
    An indicator is its own square, so E[z^2 - z] is the variance that the randomizer adds: for Horvitz and Thompson the
    variances are unbiased for the randomization and for Poisson sampling; for Hajek they
    are those of the linearized ratio. They may be below 0 where people are few. In groups shares are ratios to the
    weights of those asked, so variances are from the distances of what came from the share, not from 1/k.
    """
    w = np.asarray(weights, float)
    n, mean, own = len(w), w @ z / w.sum(), z
    total = w.sum() if population is None else population
    far = 4 * (w @ (w - 1)) ** 0.5 + w.max()  # what an independent choice of people nearly never exceeds
    if not isinstance(total, Real) or total < n or not abs(w.sum() - total) <= far:
        raise ValueError(f"population must be near the sum of the weights, {w.sum():.6g}; got {population!r}")
    if not isinstance(sampling, bool | str) or sampling not in (False, True, "poisson", "with replacement"):
        raise ValueError(f"sampling must be a bool, 'poisson' or 'with replacement'; got {sampling!r}")
    counts = tell = np.ones_like(z)
    if dealt and isinstance(dealt[0], AskSome | OneQuestion):
        told, asked = dealt
        pull = design.concerns(told.d, getattr(told, "m_", 1)) * np.atleast_2d(getattr(told, "keep", 1)).T ** 2
        tell = np.repeat(pull / (told.weights_ @ pull), told.k, axis=1)[asked]  # what an answer counts
        if told.groups:
            counts, own = tell, z + (tell - 1) / np.repeat(told.k, told.k)
    even = (w @ tell) ** 2 / (w**2 @ tell**2)  # so many even weights would tell as much
    if min(even) < 30:
        told = "intervals hold less often than they say, and of rare values far less often"
        warnings.warn(f"weights of those asked a question tell as {min(even):.0f} even ones: {told}", stacklevel=3)
    left = np.where(even > 1 + 1e-9, 1 - 1 / even, np.nan) if own is not z else 1  # one person tells of no variance
    square = own * (1 - 2 * mean) + counts * mean**2  # unbiased for the square of the distance from the share
    noise = (own - counts * mean) ** 2 / left - square
    square = own if population else square
    variance = w**2 @ noise + bool(sampling) * (w**2 - w) @ square
    if sampling == "with replacement":
        variance = (variance + w @ square - bool(population) * (w @ z) ** 2 / n) * n / max(n - 1, 1)
        variance[variance / total**2 < 1e-12] = np.nan  # one person, or reports that agree, tell nothing
    return w @ z / float(total), variance / float(total) ** 2

"""Attribute sampling with groups of users: the groups' sizes, the estimate from one group, and its variance."""

import numpy as np


def group_sizes(expected):
    """Return the possible sizes of the groups, and their probabilities: each expected size rounded down or up.

    Parameters
    ----------
    expected : array of shape (Q,)
        n times the weights.

    Returns
    -------
    chances : array of shape (P,), with P at most Q
    sizes : array of int, shape (P, Q)
        Rows sum to n, and have the expected sizes on average.

    Notes
    -----
    Systematic sampling: with one uniform number U, group j gets the integers between the sums of the expected sizes of
    the groups up to j-1 and up to j, both moved by U. Chapter `attribute_sampling`.
    """
    steps = np.cumsum(expected)
    steps[steps == steps[-1]] = np.round(steps[-1])  # also where the last weights are 0
    ends = np.unique(np.concatenate([[0.0], 1 - steps % 1, [1.0]]))
    middle = (ends[:-1] + ends[1:]) / 2
    reached = np.minimum(np.floor(steps + middle[:, None]), steps[-1])  # rounding may exceed it
    return np.diff(ends), np.diff(reached, axis=1, prepend=0).astype(np.int64)


def divisor(sizes, expected, pull, groups):
    """Return what the sum of the asked users' contributions is divided by: their number, each counted by its pull.

    Parameters
    ----------
    sizes : array of shape (..., Q)
        How many users were asked each of the questions that concern an attribute.
    expected : array of shape (Q,)
        How many were expected.
    pull : array of shape (Q,)
        The weight of one contribution.
    groups : bool
        In groups the users who were asked are counted, if one of the groups cannot be empty; else the expected number
        stands in, which leaves the estimate unbiased where nobody may have been asked.
    """
    if groups and np.max(expected) >= 1:
        return np.maximum(sizes @ pull, np.min(pull))  # never 0, whatever reports are handed in
    return np.full(np.shape(sizes)[:-1], expected @ pull)

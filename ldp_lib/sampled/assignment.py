"""Random assignment of users to groups, or of questions to users, with given weights.

Two ways: in groups of planned sizes, every assignment equally probable, or each user at random with the weights as
probabilities. The first has less error for data held fixed. What is said here of questions holds for any part of each
user's data that is asked for. In large groups each user first draws a group alone, then random users of groups that are
too large change over until all sizes are right, which is faster than shuffling all users.
"""

import numpy as np

from ldp_lib import inputs, sampling

FEW = 2**16  # users who are shuffled


def check_weights(weights, questions):
    """Return weights, divided by their sum, as a tuple of floats, or raise an error that names them."""
    allowed = f"weights must be {questions} finite numbers of at least 0, not all 0"
    try:
        w = np.asarray(weights, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"{allowed}; got {weights!r}") from None
    if w.shape != (questions,):
        raise ValueError(f"{allowed}; got shape {w.shape}")
    if not (np.isfinite(w).all() and w.min() >= 0 and w.sum() > 0):
        raise ValueError(f"{allowed}; got {weights!r}")
    if abs(w.sum() - 1) > 1e-12:  # what has been divided stays as it is
        w = w / w.sum()
    return tuple(w.tolist())


def group_sizes(expected):
    """Return the possible sizes of the groups, and their chances: each expected size rounded down or up.

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
    steps[-1] = np.round(steps[-1])
    ends = np.unique(np.concatenate([[0.0], 1 - steps % 1, [1.0]]))
    middle = (ends[:-1] + ends[1:]) / 2
    reached = np.floor(steps + middle[:, None])
    return np.diff(ends), np.diff(reached, axis=1, prepend=0).astype(np.int64)


def deal(n, weights, groups, rng):
    """Return the number of the question that each of n users is asked, in the smallest unsigned integer type."""
    if not groups:
        return sampling.draw(weights, n, rng)
    chances, sizes = group_sizes(n * np.array(weights))
    return _random_groups(sizes[sampling.draw(chances, 1, rng).item()], rng)


def deal_records(population, weights, groups, *, rng, runs):
    """Yield each distinct record with the numbers of its users asked each question, shape (runs, Q).

    The joint law is that of `deal`. The cost grows with distinct records times questions, not with users. Groups are
    dealt record by record from the places that are left, for at most 10**9 users.
    """
    if not groups:
        for record, count in zip(population.records, population.counts, strict=True):
            yield record, rng.multinomial(count, weights, runs)
        return
    if population.n > 10**9:
        raise ValueError(f"population must have at most 10**9 users to deal groups; got n = {population.n}")
    chances, sizes = group_sizes(population.n * np.array(weights))
    left = sizes[rng.choice(len(chances), size=runs, p=chances)]
    for record, count in zip(population.records, population.counts, strict=True):
        dealt, to_deal, rest = np.zeros_like(left), np.full(runs, count), left.sum(axis=1)
        for question in range(len(weights)):
            rest -= left[:, question]
            dealt[:, question] = rng.hypergeometric(left[:, question], rest, to_deal)
            to_deal -= dealt[:, question]
        left -= dealt
        yield record, dealt


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


def centred_estimate(total, sizes, expected, pull, groups):
    """Return 1/k plus the mean of the asked users' contributions less 1/k; 1/k alone where nobody was asked.

    Parameters
    ----------
    total : array of shape (..., k)
        Sum over the asked users of pull times an unbiased estimate of their own indicator.
    sizes, expected, pull, groups : as in `divisor`
    """
    k = total.shape[-1]
    by = divisor(sizes, expected, pull, groups)
    return 1 / k + (total - (sizes @ pull)[..., None] / k) / by[..., None]


def centred_variance(f, noise, n, weights, concern, pull, groups):
    """Return the exact variance of `centred_estimate`, shape (k,), the users' data held fixed.

    Parameters
    ----------
    f : array of shape (k,)
        True frequencies.
    noise : array of shape (Q, k)
        Variance of one user's contribution before the pull, averaged over all users: `pure.variance(f, 1, p, q)`.
    n : int
        Number of users.
    weights : array of shape (all questions,)
    concern : array of int, shape (Q,)
        Which of the questions concern the attribute.
    pull : array of shape (Q,)
    groups : bool
    """
    k, expected = len(f), n * np.asarray(weights)
    centre = f * (1 - 1 / k) ** 2 + (1 - f) / k**2  # mean square of the users' centred indicators
    if not groups:
        asked = expected[concern]
        return (asked * pull**2 @ (noise + centre)) / (asked @ pull) ** 2 - centre / n
    chances, sizes = group_sizes(expected)
    sizes = sizes[:, concern]
    by = divisor(sizes, expected[concern], pull, groups)
    spread = (sizes @ pull**2 - (sizes @ pull) ** 2 / n) * n / max(n - 1, 1)  # of the pulls, over all users
    given = (sizes * pull**2 @ noise + spread[:, None] * f * (1 - f)) / by[:, None] ** 2
    share = sizes @ pull / by  # 1 where the users are counted
    return chances @ given + (chances @ (share - 1) ** 2) * (f - 1 / k) ** 2


def check_bool(**arguments):
    """Raise TypeError unless each named argument is True or False."""
    for name, value in arguments.items():
        if not isinstance(value, bool):
            raise TypeError(f"{name} must be True or False; got {value!r}")


def check_reports(y, dtype, questions):
    """Return reports after checking type, number and the questions' numbers, or raise."""
    y = inputs.unmasked(y, "y")
    if y.dtype != dtype:
        raise TypeError(f"y must be reports of type {dtype}; got type {y.dtype}")
    if y.ndim != 1 or y.size == 0:
        raise ValueError(f"y must be a one-dimensional array of at least one report; got shape {y.shape}")
    if y["asked"].max() >= questions:
        raise ValueError(f"y['asked'] must be from 0 to {questions - 1}; got {y['asked'].max()}")
    return y


def random_places(n, size, rng):
    """Return n booleans of which `size` are true, all ways equally likely."""
    chosen = sampling.bernoulli(size / max(n, 1), n, rng)
    surplus = int(np.count_nonzero(chosen)) - size
    if surplus:
        chosen[_some(chosen if surplus > 0 else ~chosen, abs(surplus), rng)] = surplus < 0
    return chosen


def _random_groups(sizes, rng):
    """Return each user's group, 0 to Q-1, in the smallest unsigned integer type; all ways equally likely.

    Parameters
    ----------
    sizes : array of int, shape (Q,)
        How many users each group has.
    rng : numpy.random.Generator
        Source of randomness.
    """
    dtype, ends = inputs.small_dtype(len(sizes)), np.cumsum(sizes)
    group = np.empty(ends[-1], dtype)
    for number, (size, end) in enumerate(zip(sizes, ends, strict=True)):
        group[end - size : end] = number
    if group.size <= FEW:
        rng.shuffle(group)
        return group
    shares = group[np.arange(2**16) * group.size >> 16]  # a group for each number of 16 bits, nearly by its size
    for start in range(0, group.size, sampling.BLOCK):
        block = group[start : start + sampling.BLOCK]
        shares.take(sampling.random_bits(np.uint16, block.size, rng), out=block, mode="clip")
    surplus = np.bincount(group, minlength=len(sizes)) - sizes
    movers = [_some(group == number, surplus[number], rng) for number in np.flatnonzero(surplus > 0)]
    if movers:
        group[np.concatenate(movers)] = np.repeat(np.arange(len(sizes), dtype=dtype), np.maximum(-surplus, 0))
    return group


def _some(member, size, rng):
    """Return so many different members, all sets of them equally likely: by trying users at random."""
    tries = min(4 * size * member.size // np.count_nonzero(member) + 8, 2**20)
    found = np.empty(0, dtype=np.int64)
    while found.size < size:
        tried = rng.integers(member.size, size=tries)
        found = np.concatenate([found, tried[member[tried]]])
        found = found[np.sort(np.unique(found, return_index=True)[1])]
    return found[:size]

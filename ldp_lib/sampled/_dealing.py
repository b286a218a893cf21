"""Random assignment of users to groups, or of questions to users, with given weights.

Two ways: in groups of planned sizes, every assignment equally probable, or each user at random with the weights as
probabilities. The first has less variance, the data held fixed, but for terms in 1/n, which count where values are
evenly spread. What is said of questions holds for any part of each user's data that is asked for. In large groups each
user first draws a group alone, then random users of groups that are too large change over until all sizes are right,
which is faster than shuffling all users.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from ldp_lib import _inputs, _sampling, pure
from ldp_lib.mechanism import Several
from ldp_lib.population import Population
from ldp_lib.sampled import design
from ldp_lib.sampled.assignment import divisor, group_sizes

FEW = 2**16  # users who are shuffled


def deal(n, weights, groups, rng):
    """Return the number of the question that each of n users is asked, in the smallest unsigned integer type."""
    if not groups:
        return _sampling.draw(weights, n, rng)
    chances, sizes = group_sizes(n * np.array(weights))
    return _random_groups(sizes[_sampling.draw(chances, 1, rng).item()], rng)


def deal_records(population, weights, groups, *, rng, runs):
    """Yield each distinct record with the numbers of its users asked each question, shape (runs, Q).

    The joint distribution is that of `deal`. The cost grows with distinct records times questions, not with users.
    Groups are dealt record by record from the places that are left, for at most 10**9 users.
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
        dealt = _sampling.draw_sample(left, np.full(runs, count), rng)
        left -= dealt
        yield record, dealt


def centred_estimate(total, sizes, expected, pull, groups):
    """Return 1/k plus the mean of the asked users' contributions less 1/k; 1/k alone where nobody was asked.

    `total` (..., k) sums, over the asked users, pull times an unbiased estimate of their own indicator; the others are
    as in `divisor`.
    """
    k = total.shape[-1]
    by = divisor(sizes, expected, pull, groups)
    return 1 / k + (total - (sizes @ pull)[..., None] / k) / by[..., None]


class Dealt(Several):
    """What mechanisms share that ask each user some questions.

    Subclasses give `_told(j)`: p, q, numbers and pulls of the questions that concern attribute j, arrays (Q_j,).
    """

    symmetric = True
    groups: bool
    weights_: tuple
    _told: Any

    @property
    def independent(self) -> bool:
        """Whether each user draws the question alone."""
        return not self.groups

    def variance(self, population: Population) -> list:
        """Return the exact variance of the estimate, the users' data held fixed: one array (k_j,) per attribute."""
        return [self._variances(j, f, population.n, len(f)) for j, f in enumerate(self.mean(population))]

    def _variances(self, j, f, n, k):
        """Return the exact variance of the estimates of those of attribute j's k values with true frequencies f."""
        p, q, concern, pull = self._told(j)
        noise = pure.variance(f, 1, p[:, None], q[:, None])  # of one user's contribution before the pull, on average
        expected = n * np.array(self.weights_)
        centre = f * (1 - 1 / k) ** 2 + (1 - f) / k**2  # mean square of the users' centred indicators
        if not self.groups:
            asked = expected[concern]
            return np.maximum((asked * pull**2 @ (noise + centre)) / (asked @ pull) ** 2 - centre / n, 0)
        chances, sizes = group_sizes(expected)
        sizes = sizes[:, concern]
        by = divisor(sizes, expected[concern], pull, self.groups)
        spread = (sizes @ pull**2 - (sizes @ pull) ** 2 / n) * n / max(n - 1, 1)  # of the pulls, over all users
        given = (sizes * pull**2 @ noise + spread[:, None] * f * (1 - f)) / by[:, None] ** 2
        share = sizes @ pull / by  # 1 where the users are counted
        return chances @ given + (chances @ (share - 1) ** 2) * (f - 1 / k) ** 2


def as_counted(mechanism, counts):
    """Return a mechanism whose planned groups are those that reported, given which its variances are exact; or raise.

    `counts` are those of the reports of a mechanism that asks each user one question, or some; others pass. So do those
    whose users draw questions alone: their estimate is divided by numbers expected.
    """
    from scipy.special import bdtr, bdtrc

    if not hasattr(mechanism, "weights_"):
        return mechanism
    n, weights, m = counts[0], np.array(mechanism.weights_), getattr(mechanism, "m_", None)
    asked = counts[1 : 1 + len(weights)] if m else counts[np.cumsum([1, *np.add(mechanism.k[:-1], 1)])]
    users, share = (np.append(one, one @ design.concerns(mechanism.d, m) if m else one) for one in (asked, weights))
    share = np.minimum(share, 1)  # of each question, then of each attribute
    chance = len(weights) * np.minimum(bdtr(users, n, share), bdtrc(users - 1, n, share))
    if min(users[len(weights) :]) == 0 or min(chance) < 1e-6:
        told = f"got {asked.tolist()} of {n} for weights {weights.round(3).tolist()}"
        raise ValueError(f"reports must ask each attribute of somebody, and not be chosen by what was asked; {told}")
    some = {"m": m, "sizes": mechanism.sizes_} if m else {}
    return replace(mechanism, weights=asked, **some) if mechanism.groups else mechanism


def _random_groups(sizes, rng):
    """Return each user's group, 0 to Q-1, for groups of these sizes (Q,), all ways equally probable."""
    numbers = np.arange(len(sizes), dtype=_inputs.small_dtype(len(sizes)))
    group = np.repeat(numbers, sizes)
    if group.size <= FEW:
        rng.shuffle(group)
        return group
    shares = group[np.arange(2**16) * group.size >> 16]  # a group for each number of 16 bits, nearly by its size
    for start in range(0, group.size, _sampling.BLOCK):
        block = group[start : start + _sampling.BLOCK]
        shares.take(_sampling.random_bits(np.uint16, block.size, rng), out=block, mode="clip")
    surplus = np.bincount(group, minlength=len(sizes)) - sizes
    movers = [_sampling.members(group == number, surplus[number], rng) for number in np.flatnonzero(surplus > 0)]
    if movers:
        group[np.concatenate(movers)] = np.repeat(numbers, np.maximum(-surplus, 0))
    return group

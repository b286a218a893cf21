"""Sequential composition, parallel composition and post-processing, as statements about finite channels.

Proofs are short for finite channels, and stand here beside exact checks over many small channels.
Sequential: Pr[y1, y2 | x] = Pr[y1 | x] Pr[y2 | x] with independent coins, and ratios of products are at most products
of ratios. Post-processing: Pr[z | x] = sum_y Pr[y | x] Pr[z | y] is a non-negative combination of the columns.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ldp_lib import channel, grr
from ldp_lib.book.claims import claim

E1, E2 = Fraction(2), Fraction(3)


def several(inputs, reports, number=100):
    """Random rational channels with positive entries, always the same ones."""
    draws = np.random.default_rng(1).integers(1, 9, size=(number, inputs, reports))
    return [np.array([[Fraction(int(a), int(sum(row))) for a in row] for row in rows]) for rows in draws]


ratio = channel.privacy_ratio


def channels(inputs, reports):
    row = st.lists(st.integers(1, 5), min_size=reports, max_size=reports)
    return st.lists(row, min_size=inputs, max_size=inputs).map(
        lambda rows: np.array([[Fraction(v, sum(r)) for v in r] for r in rows])
    )


def test_sequential_composition_adds_budgets():
    first, second = grr.channel(E1, 3), grr.channel(E2, 3)
    pairs = list(zip(several(3, 2), several(3, 4), strict=True))
    claim("corr-rr-v1/thm-1").holds(
        all(ratio(channel.compose(a, b)) <= ratio(a) * ratio(b) for a, b in pairs),
        ratio(channel.compose(first, second, second)) == E1 * E2**2,  # the sum of budgets is attained
    )


@given(channels(3, 2), channels(3, 3))
def test_sequential_composition_never_exceeds_the_sum(first, second):
    budgets = channel.privacy_ratio(first) * channel.privacy_ratio(second)
    assert channel.privacy_ratio(channel.compose(first, second)) <= budgets


def test_sequential_composition_holds_if_the_second_mechanism_is_chosen_by_the_first_report():
    # The revised paper's statement, and a little more: the second channel may depend on the first report.
    def adaptive(first, seconds):
        return np.hstack([first[:, [y]] * second for y, second in enumerate(seconds)])

    cases = [(a, several(3, 3, 202)[2 * i : 2 * i + 2]) for i, a in enumerate(several(3, 2))]
    # Three in a row, by induction: the third is chosen by the first two reports.
    thirds = [grr.channel(E1, 3), grr.channel(E2, 3)] * 3
    three = [ratio(adaptive(adaptive(a, bs), thirds)) <= ratio(a) * max(map(ratio, bs)) * E2 for a, bs in cases[::10]]
    attained = adaptive(grr.channel(E1, 2), [grr.channel(E2, 2), np.array([[Fraction(1, 2)] * 2] * 2)])
    claim("corr-rr-v2/thm-2-seq").holds(
        all(ratio(adaptive(a, bs)) <= ratio(a) * max(map(ratio, bs)) for a, bs in cases),
        ratio(attained) == E1 * E2,
        all(three) and ratio(adaptive(attained, [grr.channel(E2, 2)] * 4)) == E1 * E2**2,
    )


def test_sequential_composition_fails_with_shared_coins():
    # y1 = x xor key and y2 = key: either report alone is a fair coin, together they give x away.
    half = Fraction(1, 2)
    alone = [[half, half], [half, half]]
    together = [[half, 0, 0, half], [0, half, half, 0]]  # columns (y1, y2) = 00, 01, 10, 11
    assert channel.privacy_ratio(alone) == 1
    y1, y2 = [[1, 0], [1, 0], [0, 1], [0, 1]], [[1, 0], [0, 1], [1, 0], [0, 1]]
    assert (np.array(together) @ y1).tolist() == (np.array(together) @ y2).tolist() == alone
    assert channel.privacy_ratio(together) == math.inf
    # So a map of y1 that has the key, the mechanism's own coin, is no post-processing: y1 xor y2 is x.
    assert (np.array(together) @ [[1, 0], [0, 1], [0, 1], [1, 0]]).tolist() == [[1, 0], [0, 1]]


def ratio_between_neighbours(matrix, sizes):
    """Worst ratio over pairs of inputs that differ in one user's value."""
    inputs = list(itertools.product(*map(range, sizes)))
    return max(
        channel.privacy_ratio(matrix[[u, v]])
        for u, v in itertools.combinations(range(len(inputs)), 2)
        if sum(a != b for a, b in zip(inputs[u], inputs[v], strict=True)) == 1
    )


def by_value():
    """Randomized response on {0, 1} for users who hold 0 or 1, and on {2, 3} for users who hold 2 or 3."""
    matrix = np.full((4, 4), Fraction(0))
    matrix[:2, :2], matrix[2:, 2:] = grr.channel(E1, 2), grr.channel(E2, 2)
    return matrix


def test_parallel_composition_holds_for_disjoint_users_and_fails_for_disjoint_inputs():
    pairs = list(zip(several(2, 2), several(3, 3), strict=True))
    users = all(ratio_between_neighbours(channel.tensor(a, b), (2, 3)) == max(ratio(a), ratio(b)) for a, b in pairs)
    assert ratio(by_value()) == math.inf  # by value, not by user
    three = [(a, b, c) for (a, b), (c, _) in zip(pairs[:2], pairs[2:4], strict=True)]
    more = all(ratio_between_neighbours(channel.tensor(*x), (2, 3, 2)) == max(map(ratio, x)) for x in three)
    claim("corr-rr-v1/thm-2").holds(users, more)


def test_parallel_composition_holds_for_a_random_split_of_the_users():
    # A public coin, the same for every value, decides which mechanism serves the user; the report says which.
    pairs = list(zip(several(3, 2), several(3, 3), strict=True))
    split = all(ratio(np.hstack([Fraction(1, 3) * a, Fraction(2, 3) * b])) == max(ratio(a), ratio(b)) for a, b in pairs)
    claim("corr-rr-v2/thm-3-parallel").conditional(split, ratio(by_value()) == math.inf > max(E1, E2))


def test_post_processing_keeps_the_budget():
    first = grr.channel(E1, 3)
    relabel = np.eye(3, dtype=int)[[2, 0, 1]]
    claim("corr-rr-v1/thm-3").holds(
        all(ratio(a @ kernel) <= ratio(a) for a, kernel in zip(several(3, 3), several(3, 4), strict=True)),
        ratio(first @ relabel) == E1,  # attained if it can be undone
    )


@given(channels(3, 3), channels(3, 4))
def test_post_processing_keeps_any_budget(first, kernel):
    assert channel.privacy_ratio(first @ kernel) <= channel.privacy_ratio(first)


def test_post_processing_keeps_the_budget_unless_the_map_sees_the_input():
    channels, kernels = several(4, 4), several(4, 3)
    pairs = list(zip(channels, kernels, strict=True))
    by_input = [np.vstack([row @ kernel for row, kernel in zip(a, kernels, strict=False)]) for a in channels]
    assert any(ratio(seen) > ratio(a) for seen, a in zip(by_input, channels, strict=True))
    collapse = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    claim("corr-rr-v2/thm-4-post").holds(
        all(ratio(a @ kernel) <= ratio(a) for a, kernel in pairs), ratio(grr.channel(E2, 4) @ collapse) < E2
    )

"""Counts behind the costs that the paper on multi-dimensional randomized response states."""

import itertools

from ldp_lib.claims import claim


def messages(n):
    """Shares sent by each party to each other party in one secure sum, and broadcasts."""
    shares = [(i, j) for i in range(n) for j in range(n) if i != j]
    return len(shares), n


def test_each_attribute_is_in_m_minus_one_pairs():
    for m in range(2, 9):
        pairs = list(itertools.combinations(range(m), 2))
        assert len(pairs) == m * (m - 1) // 2
        uses = [sum(j in pair for pair in pairs) for j in range(m)]
        last = uses == [m - 1] * m
        assert last
    claim("rr-multidim/s4.3-count").holds(last, len(pairs) == 28)


def test_a_secure_sum_is_linear_for_each_party_and_quadratic_for_all():
    for_each = [sum(messages(n)) / n for n in (10, 100, 1000)]
    claim("rr-multidim/s4.2-cost").conditional(
        for_each == [10, 100, 1000], [messages(n)[0] for n in (10, 100)] == [90, 9900]
    )


def test_an_earlier_scheme_is_not_described():
    claim("rr-multidim/s7-superior").not_checkable(
        "The comparison is with a scheme of another paper, which our text does not describe."
    )

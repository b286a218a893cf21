"""The definition of local differential privacy, in its two forms, and the JRR paper's threat model."""

import itertools
import math
from fractions import Fraction

from ldp_lib import channel
from ldp_lib.book.claims import claim

THIRDS = [Fraction(a, 3) for a in range(4)]
ROWS = [row for row in itertools.product(THIRDS, repeat=3) if sum(row) == 1]
CHANNELS = list(itertools.combinations_with_replacement(ROWS, 2)) + list(itertools.combinations(ROWS, 3))
LEVELS = [Fraction(1), Fraction(3, 2), Fraction(2), Fraction(5)]


def product_form(matrix, level):
    """Pr[y|x] <= level Pr[y|x'] for all x, x' and y."""
    return all(a <= level * b for column in zip(*matrix, strict=True) for a, b in itertools.permutations(column, 2))


def ratio_form(matrix, level):
    """Pr[y|x] / Pr[y|x'] <= level, where a/0 is infinite for a > 0, and 0/0 is left out."""
    pairs = [pair for column in zip(*matrix, strict=True) for pair in itertools.permutations(column, 2) if any(pair)]
    return all((a / b if b else math.inf) <= level for a, b in pairs)


def test_the_library_decides_the_definition_for_every_small_channel():
    agree = all(
        product_form(matrix, level) == (channel.privacy_ratio(matrix) <= level)
        for matrix in CHANNELS
        for level in LEVELS
    )
    some_of_each = {product_form(matrix, Fraction(2)) for matrix in CHANNELS} == {True, False}
    claim("corr-rr-v1/def-1").holds(agree, some_of_each)
    claim("corr-rr-v2/def-1").holds(agree, some_of_each)


def test_the_ratio_form_says_the_same_as_the_product_form():
    same = all(product_form(matrix, level) == ratio_form(matrix, level) for matrix in CHANNELS for level in LEVELS)
    decided = all(product_form(m, level) == (channel.privacy_ratio(m) <= level) for m in CHANNELS for level in LEVELS)
    some_of_each = {ratio_form(matrix, Fraction(2)) for matrix in CHANNELS} == {True, False}
    claim("jrr/def-1").holds(decided, some_of_each)
    claim("jrr/eq-1").holds(same, some_of_each)


def test_the_forms_differ_if_a_zero_denominator_were_ignored():
    matrix = [[Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]]
    assert not product_form(matrix, Fraction(5))
    assert not ratio_form(matrix, Fraction(5))
    assert channel.privacy_ratio(matrix) == math.inf


def test_the_threat_model_is_an_assumption():
    claim("jrr/sec-2.1-s1").not_checkable(
        "An assumption about people, not a statement about a mechanism; what it is worth is a matter of the privacy "
        "claims that rest on it."
    )

"""GRR and unary encoding at their edges: which parameters and reports they take, and what they say of the others."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from ldp_lib import GRR, OUE, RR, SUE, Population, UnaryEncoding, _sampling, grr, pure, unary


def test_p_and_q_are_a_thousand_steps_of_a_float_apart():
    taken, refused = [], []
    for i in range(60):
        q = 1 - (1.10e-4 + i * 5e-8)  # a step of 5e-8 moves the difference by half a float's
        p = float(unary.probabilities(_sampling.exp_below(1e-9), Fraction(q))[0])
        try:
            taken.append((p - UnaryEncoding(k=3, epsilon=1e-9, q=q).q) * 2**53)
        except ValueError as error:
            assert str(error) == f"q must be such that p and q differ in floating point; got {q!r}"  # noqa: PT017
            refused.append((p - q) * 2**53)
    assert max(refused) == 999
    assert min(taken) == 1000


def test_q_is_that_of_the_optimized_encoding_unless_given():
    assert UnaryEncoding(k=3, epsilon=1.0).q_ == OUE(k=3, epsilon=1.0).q_ == 1 / (math.exp(1.0) + 1)
    assert UnaryEncoding(k=3, epsilon=1.0).q is None
    assert SUE(k=3, epsilon=1.0).q_ == 1 / (math.exp(0.5) + 1)
    assert UnaryEncoding(k=3, epsilon=1.0, q=Fraction(1, 4)).q == 0.25
    for q in (0, 1, 0.0, -0.1, math.nan):
        with pytest.raises(ValueError, match="q must be a number above 0 and below 1; got"):
            UnaryEncoding(k=3, epsilon=1.0, q=q)


@pytest.mark.parametrize("n", [1, 254, 255, 256, 511, 1_000])
def test_ones_are_counted_whatever_the_number_of_rows(n):
    y = np.ones((n, 3), np.uint8)
    y[::2, 1] = y[n // 2 :, 2] = 0
    assert unary._count_ones(y).tolist() == [n, n // 2, n // 2]
    assert SUE(k=3, epsilon=1.0).count(y.astype(np.int16)).tolist() == [n, n, n // 2, n // 2]


@pytest.mark.parametrize(
    ("y", "error", "says"),
    [
        ([0, 1, 0], ValueError, r"at least one row and 3 columns; got shape \(3,\)"),
        ([[[0, 1, 0]]], ValueError, r"got shape \(1, 1, 3\)"),
        ([[0, 1]], ValueError, r"got shape \(1, 2\)"),
        (np.zeros((0, 3), int), ValueError, r"got shape \(0, 3\)"),
        ([[0.0, 1.0, 0.0]], TypeError, "got type float64"),
        ([[True, False, True]], TypeError, "got type bool"),
        ([[0, 1, 0], [0, 0, 2]], ValueError, "got values from 0 to 2"),
        ([[0, 1, 0], [0, 0, -1]], ValueError, "got values from -1 to 1"),
        (np.array([[0, 255, 0]], np.uint8), ValueError, "got values from 0 to 255"),
    ],
)
def test_bits_are_zero_or_one_and_as_many_as_values(y, error, says):
    with pytest.raises(error, match=says):
        OUE(k=3, epsilon=1.0).estimate(y)


def test_a_large_budget_reports_the_code_of_the_value():
    x = np.array([2, 0, 1, 1])
    y = SUE(k=3, epsilon=300.0).perturb(x, rng=np.random.default_rng(1))
    assert (y.dtype, y.tolist()) == (np.uint8, np.eye(3)[x].tolist())
    mechanism = UnaryEncoding(k=3, epsilon=300.0, q=1 - 1e-12)
    assert mechanism.perturb(x, rng=np.random.default_rng(1)).tolist() == [[1] * 3] * 4


def test_the_least_bit_is_the_first_value_s():
    mechanism = UnaryEncoding(k=3, epsilon=1.0, q=0.2)
    assert mechanism.reports().tolist() == [list(bits)[::-1] for bits in itertools.product(range(2), repeat=3)]
    p, q = mechanism.probabilities
    assert np.allclose(mechanism.channel(), unary.channel(p, q, 3), rtol=1e-12, atol=0)
    assert mechanism.channel()[2, 4] == pytest.approx(p * (1 - q) ** 2)
    for build in (OUE(k=24, epsilon=1.0).reports, OUE(k=24, epsilon=1.0).channel):
        with pytest.raises(ValueError, match="it would have 24 rows and 16777216 columns"):
            build()


def test_probabilities_of_bits_by_hand():
    assert unary.probabilities(Fraction(3), Fraction(1, 4)) == (Fraction(1, 2), Fraction(1, 4))
    assert unary.sue_probabilities(Fraction(3)) == (Fraction(3, 4), Fraction(1, 4))
    assert unary.oue_probabilities(Fraction(3)) == (Fraction(1, 2), Fraction(1, 4))
    mechanism = UnaryEncoding(k=3, epsilon=1.0, q=0.3)
    p, q = mechanism.realised_probabilities
    assert mechanism.realised_ratio == p * (1 - q) / (q * (1 - p)) <= _sampling.exp_below(1.0)
    assert q - Fraction(0.3) < Fraction(1, 2**135)


def test_moments_by_hand():
    people = Population.from_counts([3, 1])
    for mechanism in (OUE(k=2, epsilon=1.0), GRR(k=2, epsilon=1.0)):
        p, q = mechanism.probabilities
        wanted = [(n * p * (1 - p) + (4 - n) * q * (1 - q)) / 16 / (p - q) ** 2 for n in (3, 1)]
        assert mechanism.variance(people) == pytest.approx(wanted)
        assert mechanism.mean(people).tolist() == [0.75, 0.25]
        assert mechanism.estimate_counts(np.array([10, 4, 7])) == pytest.approx(
            [(0.4 - q) / (p - q), (0.7 - q) / (p - q)]
        )
    assert pure.estimate(Fraction(3), 4, Fraction(2, 3), Fraction(1, 6)) == Fraction(7, 6)
    assert pure.variance(Fraction(1, 4), 3, Fraction(2, 3), Fraction(1, 6)) == Fraction(23, 108)
    assert pure.iid_variance(Fraction(1, 4), 3, Fraction(2, 3), Fraction(1, 6)) == Fraction(23, 108) + Fraction(1, 16)


def test_randomized_response_has_two_values():
    assert RR(epsilon=1.0) == RR(k=2, epsilon=1.0)
    assert RR.serves(2)
    for k in (3, 1, 2.0, "2", (2,), True):
        assert not RR.serves(k)
    for k in (3, 4):
        with pytest.raises(ValueError, match=f"k must be 2 for randomized response; got {k}"):
            RR(k=k, epsilon=1.0)
    assert GRR.serves(3)
    assert not GRR.serves((3,))


def test_randomized_response_keeps_its_probabilities_exactly():
    for k in (2, 3, 300, 70_000):
        keep = _sampling.proved_keep(0.7, k)
        e = _sampling.exp_below(0.7)
        assert keep == (e - 1) / (e + k - 1)
        mechanism = GRR(k=k, epsilon=0.7)
        p, q = mechanism.realised_probabilities
        assert p + (k - 1) * q == 1
        assert p - q == _sampling.realised_keep(keep, k)
        assert mechanism.realised_ratio == p / q <= e
        assert mechanism.probabilities == (float(p), float(q))


def test_reports_of_randomized_response_are_its_values():
    assert GRR(k=3, epsilon=1.0).reports().tolist() == [0, 1, 2]
    assert [GRR(k=k, epsilon=1.0).reports().dtype for k in (256, 257)] == [np.uint8, np.uint16]
    mechanism = GRR(k=3, epsilon=1.0)
    p, q = mechanism.probabilities
    assert mechanism.channel().tolist() == [[p, q, q], [q, p, q], [q, q, p]]
    assert mechanism.count(np.array([2, 0, 2, 2])).tolist() == [4, 1, 0, 3]
    with pytest.raises(ValueError, match="it would have 3000 rows and 3000 columns"):
        GRR(k=3_000, epsilon=1.0).channel()
    with pytest.raises(ValueError, match="from 0 to 2; got 3 at position 1"):
        mechanism.estimate([0, 3])


def test_counts_are_drawn_with_the_chance_of_truth():
    mechanism = GRR(k=3, epsilon=math.log(3))
    found = mechanism.draw_support(np.array([[10**6, 0, 0], [0, 0, 9]]), np.random.default_rng(1))
    assert found.sum(axis=1).tolist() == [10**6, 9]
    for count, chance in zip(found[0], grr.channel(3.0, 3)[0], strict=True):
        assert abs(count - 10**6 * chance) < 5 * 1_000 * math.sqrt(chance * (1 - chance))

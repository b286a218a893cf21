"""Errors side by side: exact where they can be, simulated where not, and the two agree."""

import math

import numpy as np
import pytest

from ldp_lib import check
from ldp_lib.catalogue import MECHANISMS
from ldp_lib.corr_rr import SecondPhase
from ldp_lib.grr import GRR
from ldp_lib.inputs import NoExactMoments
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.splitting import SPL
from ldp_lib.survey import errors
from ldp_lib.two_phase import TwoPhaseRSRFD

PEOPLE = Population.from_counts([[30, 10, 0], [5, 20, 35]])
BIASED = SecondPhase(k=(3, 3), epsilon=1.0, reuse=0.8)
SQUARE = Population.from_counts(np.diag([30, 10, 5]) + 1)


def test_an_unbiased_mechanism_s_error_is_its_variance():
    mechanism = SPL(k=(2, 3), epsilon=1.0)
    wanted = sum(v.sum() for v in mechanism.variance(PEOPLE))
    assert errors.total_error(mechanism, PEOPLE) == pytest.approx(wanted, rel=1e-12)
    error, spread = errors.attribute_errors(mechanism, PEOPLE)
    assert error.sum() == pytest.approx(wanted, rel=1e-12)
    assert not spread.any()


def test_a_biased_mechanism_s_error_counts_its_bias_and_agrees_with_simulation():
    exact = errors.total_error(BIASED, SQUARE)
    runs = BIASED.simulate(SQUARE, rng=np.random.default_rng(1), runs=20_000)
    squares = sum(((a - f) ** 2).sum(axis=1) for a, f in zip(runs, marginal_frequencies(SQUARE), strict=True))
    spread = squares.std(ddof=1) / np.sqrt(len(squares))
    assert abs(squares.mean() - exact) < 5 * spread
    assert abs(squares.mean() - sum(v.sum() for v in BIASED.variance(SQUARE))) > 5 * spread


def test_a_mechanism_without_closed_form_is_simulated_with_a_standard_error():
    mechanism = TwoPhaseRSRFD(k=(2, 3), epsilon=1.0, n1=20)
    error, spread = errors.squared_errors(mechanism, PEOPLE, rng=np.random.default_rng(1), runs=4_000)
    again, _ = errors.squared_errors(mechanism, PEOPLE, rng=np.random.default_rng(2), runs=4_000)
    assert all((s > 0).all() for s in spread)
    assert all((abs(a - b) < 5 * np.sqrt(2) * s).all() for a, b, s in zip(error, again, spread, strict=True))
    total, off = errors.total_errors(mechanism, PEOPLE, rng=np.random.default_rng(1), runs=4_000)
    parts, offs = errors.attribute_errors(mechanism, PEOPLE, rng=np.random.default_rng(1), runs=4_000)
    assert total == pytest.approx(sum(part.sum() for part in error))
    assert total == pytest.approx(parts.sum())
    rng = np.random.default_rng(3)
    many = np.array([errors.total_error(mechanism, PEOPLE, rng=rng, runs=40) for _ in range(400)])
    assert check.variance_z(many, off**2 * 100) < 5 < check.variance_z(many, 2 * off**2 * 100)
    assert (offs < off).all()


def test_without_a_generator_the_question_is_the_seed():
    mechanism = TwoPhaseRSRFD(k=(2, 3), epsilon=1.0, n1=20)
    found = errors.total_error(mechanism, PEOPLE)
    assert found == errors.total_error(TwoPhaseRSRFD(k=(2, 3), epsilon=1.0, n1=20), PEOPLE)
    assert found == errors.total_error(mechanism, PEOPLE, rng=errors.generator(mechanism, PEOPLE))
    other, others = TwoPhaseRSRFD(k=(2, 3), epsilon=1.0, n1=21), Population.from_counts([[30, 10, 0], [5, 21, 34]])
    questions = [(mechanism, PEOPLE), (other, PEOPLE), (mechanism, others)]
    assert len({errors.generator(*pair).random() for pair in questions}) == 3


@pytest.mark.parametrize("family", MECHANISMS, ids=lambda family: family.__name__)
def test_one_loop_runs_over_all_mechanisms(family):
    one = family.serves(2)
    mechanism = family(k=2 if one else (2, 2), epsilon=1.0)
    people = Population.from_counts([60, 40] if one else [[30, 10], [5, 55]])
    error, spread = errors.total_errors(mechanism, people, runs=20)
    assert 0 < error < 10
    assert (spread == 0) == mechanism.has_exact_moments
    relative, _ = errors.relative_error(mechanism, people, rng=np.random.default_rng(1), runs=20)
    query, _ = errors.count_query_error(mechanism, people, [(0, 0)], rng=np.random.default_rng(1), runs=20)
    assert 0 < relative < 10
    assert 0 < query < 500


def test_relative_and_count_query_errors_are_what_their_words_say():
    mechanism, alone = GRR(k=3, epsilon=1.0), Population.from_counts([50, 30, 20])
    runs = mechanism.simulate(alone, rng=np.random.default_rng(3), runs=500)
    relative = (abs(runs - [0.5, 0.3, 0.2]) / [0.5, 0.3, 0.2]).mean()
    found, spread = errors.relative_error(mechanism, alone, rng=np.random.default_rng(3), runs=500)
    assert found == pytest.approx(relative)
    assert spread > 0
    query, off = errors.count_query_error(mechanism, alone, [(0, 0), (0, 2)], rng=np.random.default_rng(3), runs=500)
    assert query == pytest.approx(np.sqrt(((runs[:, [0, 2]].sum(axis=1) - 0.7) ** 2).mean()) * 100)
    # The three estimates sum to 1, so the error of two is that of the third.
    assert query == pytest.approx(100 * np.sqrt(((runs[:, 1] - 0.3) ** 2).mean()))
    exact, none = errors.count_query_error(mechanism, alone, [(0, 1)])
    assert none == 0
    assert abs(query - exact) < 5 * off < 0.3 * exact
    assert exact == pytest.approx(100 * np.sqrt(mechanism.variance(alone)[1]))


def test_side_by_side_starts_with_the_least_error():
    table = errors.side_by_side([SPL(k=(2, 3), epsilon=e) for e in (0.5, 2.0)], PEOPLE, rng=np.random.default_rng(1))
    assert list(table["epsilon"]) == [2.0, 0.5]
    assert (table["standard_error"] == 0).all()
    assert table["points"][0] == pytest.approx(100 * np.sqrt(table["total"][0] / 5))


def test_bad_queries_are_refused():
    mechanism, rng = SPL(k=(2, 3), epsilon=1.0), np.random.default_rng(1)
    for values in ([], [(0, 0), (1, 0)], [(0, 2)], [(2, 0)], [(1, 1), (1, 1)], [(1, -1)]):
        with pytest.raises(ValueError, match="values must"):
            errors.count_query_error(mechanism, PEOPLE, values, rng=rng)
    with pytest.raises(ValueError, match="at_least must be above 0"):
        errors.relative_error(mechanism, PEOPLE, rng=rng, at_least=0)
    with pytest.raises(TypeError, match="rng must be"):
        errors.relative_error(mechanism, PEOPLE, rng=None)


class Written:
    """A mechanism of two attributes whose estimates, or their mean and variance, are written down."""

    k, epsilon = (2, 3), 1.5

    def __init__(self, runs=None, mean=None, variance=None):
        self.runs, self.moments, self.has_exact_moments = runs, (mean, variance), mean is not None

    def __repr__(self):
        return "Written()"

    def mean(self, population):
        if not self.has_exact_moments:
            raise NoExactMoments(self)
        return self.moments[0]

    def variance(self, population):
        return self.moments[1]

    def simulate(self, population, *, rng, runs):
        return [part[:runs] for part in self.runs]


# Shares of PEOPLE are 0.4 and 0.6; 0.35, 0.3 and 0.35.
OFF = [np.array([[0.1, -0.1], [0.3, 0.0], [0.0, 0.2]]), np.array([[0.2, 0.0, 0.0], [0.0, 0.4, 0.1], [0.1, 0.0, -0.1]])]
SHARES = [np.array([0.4, 0.6]), np.array([0.35, 0.3, 0.35])]
SIMULATED = Written([off + share for off, share in zip(OFF, SHARES, strict=True)])
EXACT = Written(mean=[SHARES[0] + [0.1, 0], SHARES[1] - [0, 0, 0.3]], variance=[np.array([1, 2]), np.array([3, 4, 5])])
FEWER = PEOPLE.select(0)
RNG = np.random.default_rng(1)


def test_errors_of_three_written_estimates_by_hand():
    error, spread = errors.squared_errors(SIMULATED, PEOPLE, rng=RNG, runs=3)
    # Squares of the first value: 0.01, 0.09 and 0.
    assert error[0] == pytest.approx([0.1 / 3, 0.05 / 3])
    assert error[1] == pytest.approx([0.05 / 3, 0.16 / 3, 0.02 / 3])
    assert spread[0][0] == pytest.approx(np.sqrt((0.0001 + 0.0081 - 0.01 / 3) / 2 / 3))
    assert [part.shape for part in spread] == [(2,), (3,)]
    # Sums over values: 0.02, 0.09, 0.04 and 0.04, 0.17, 0.02.
    parts, off = errors.attribute_errors(SIMULATED, PEOPLE, rng=RNG, runs=3)
    assert parts == pytest.approx([0.05, 0.23 / 3])
    assert off[0] == pytest.approx(np.sqrt((0.0009 + 0.0016 + 0.0001) / 2 / 3))
    total, off = errors.total_errors(SIMULATED, PEOPLE, rng=RNG, runs=3)
    assert total == pytest.approx(0.38 / 3)
    assert off == pytest.approx(np.std([0.06, 0.26, 0.06]) / np.sqrt(2))
    assert errors.total_error(SIMULATED, PEOPLE, rng=RNG, runs=3) == total
    one = errors.squared_errors(SIMULATED, PEOPLE, rng=RNG, runs=1)
    assert one[0][1] == pytest.approx([0.04, 0, 0])
    assert [part.tolist() for part in one[1]] == [[np.inf] * 2, [np.inf] * 3]
    assert errors.total_errors(SIMULATED, PEOPLE, rng=RNG, runs=1) == (pytest.approx(0.06), np.inf)


def test_an_exact_error_is_variance_and_squared_bias_of_each_value():
    error, spread = errors.squared_errors(EXACT, PEOPLE)
    assert [part.tolist() for part in error] == [[pytest.approx(1.01), 2], [3, 4, pytest.approx(5.09)]]
    assert [part.tolist() for part in spread] == [[0, 0], [0, 0, 0]]
    parts, off = errors.attribute_errors(EXACT, PEOPLE)
    assert parts == pytest.approx([3.01, 12.09])
    assert off.tolist() == [0, 0]
    assert errors.total_errors(EXACT, PEOPLE) == (pytest.approx(15.1), 0.0)
    table = errors.side_by_side([EXACT, SIMULATED], PEOPLE, rng=RNG, runs=3)
    assert table["total"].to_numpy() == pytest.approx([0.38 / 3, 15.1])
    assert table["standard_error"].to_numpy() == pytest.approx([np.std([0.06, 0.26, 0.06]) / np.sqrt(2), 0])
    assert table["points"].to_numpy() == pytest.approx([100 * np.sqrt(0.38 / 15), 100 * np.sqrt(15.1 / 5)])
    assert table["epsilon"].tolist() == [1.5, 1.5]
    assert table.index.tolist() == [0, 1]
    for call in (errors.squared_errors, errors.attribute_errors, errors.total_errors):
        with pytest.raises(ValueError, match="runs must be"):
            call(SIMULATED, PEOPLE, rng=RNG, runs=0)


def test_relative_errors_by_hand():
    first, second = (OFF[0] / SHARES[0]).__abs__().mean(axis=1), abs(OFF[1] / SHARES[1]).mean(axis=1)
    each = (first + second) / 2
    found, spread = errors.relative_error(SIMULATED, PEOPLE, rng=RNG, runs=3)
    assert found == pytest.approx(each.mean())
    assert spread == pytest.approx(np.std(each) / np.sqrt(2))
    each = (abs(OFF[0] / [0.5, 0.6]).mean(axis=1) + abs(OFF[1] / 0.5).mean(axis=1)) / 2
    assert errors.relative_error(SIMULATED, PEOPLE, rng=RNG, runs=3, at_least=0.5)[0] == pytest.approx(each.mean())
    rare = Population.from_counts([[10_000, 0, 0], [0, 0, 0]])  # shares below a thousandth count as that
    off = [np.array([[1, 0.002], [1, 0.004]]), np.array([[1, 0, 0.001], [1, 0, 0]])]
    assert errors.relative_error(Written(off), rare, rng=RNG, runs=2)[0] == pytest.approx((1 + 2 + 1 / 3 + 0) / 4)
    for wrong in (0, -1, float("nan")):
        with pytest.raises(ValueError, match="at_least must be above 0; got"):
            errors.relative_error(SIMULATED, PEOPLE, rng=RNG, at_least=wrong)


def test_count_queries_by_hand():
    # The sum of values 2 and 0 of attribute 1 is off by 0.2, 0.1 and 0, of a hundred users.
    error, spread = errors.count_query_error(SIMULATED, PEOPLE, [(1, 2), (1, 0)], rng=RNG, runs=3)
    squares = np.array([400.0, 100.0, 0.0])
    assert error == pytest.approx(np.sqrt(500 / 3))
    assert spread == pytest.approx(squares.std() / np.sqrt(2) / (2 * error))
    error, spread = errors.count_query_error(SIMULATED, PEOPLE, [(1, 1)], rng=RNG, runs=3)
    assert error == pytest.approx(40 / np.sqrt(3))
    assert spread == pytest.approx(np.std([0, 1600, 0]) / np.sqrt(2) / (2 * error))
    assert errors.count_query_error(EXACT, PEOPLE, [(1, 2)]) == (pytest.approx(100 * np.sqrt(5.09)), 0.0)
    assert errors.count_query_error(EXACT, PEOPLE, [(0, 1)]) == (pytest.approx(100 * np.sqrt(2)), 0.0)
    near = Written([np.array([[0.401, 0.6], [0.4, 0.6]])])  # a tenth of a user, once
    assert errors.count_query_error(near, FEWER, [(0, 0)], rng=RNG, runs=2)[0] == pytest.approx(math.sqrt(0.005))
    right = Written([np.array([share, share]) for share in SHARES])
    assert errors.count_query_error(right, PEOPLE, [(0, 1), (0, 0)], rng=RNG, runs=2) == (0.0, 0.0)
    for values in ([(-1, 0)], [(0, -1)], [(0, 2)], [(2, 0)], [(1, 3)], [(1, 0), (0, 1)], [(0, 0), (0, 2)]):
        with pytest.raises(ValueError, match="values must"):
            errors.count_query_error(SIMULATED, PEOPLE, values, rng=RNG)
    with pytest.raises(TypeError, match="rng must be"):
        errors.count_query_error(SIMULATED, PEOPLE, [(0, 0)])
    with pytest.raises(TypeError, match="rng must be"):
        errors.count_query_error(EXACT, PEOPLE, [(0, 0), (0, 1)])


def test_a_question_is_its_mechanism_its_records_and_their_counts():
    others = [Population.from_counts(c) for c in ([[1, 2, 0]] * 2, [[1, 0, 2]] * 2, [[2, 1, 0]] * 2)]
    others += [Population.from_counts([[1, 2, 0, 0]] * 2)]
    draws = {errors.generator(mechanism, other).random() for mechanism in (EXACT, BIASED) for other in others}
    assert len(draws) == 8
    assert errors.generator(EXACT, others[0]).random() in draws

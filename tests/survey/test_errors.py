"""Errors side by side: exact where they can be, simulated where not, and the two agree."""

import numpy as np
import pytest

from ldp_lib import check
from ldp_lib.corr_rr import SecondPhase
from ldp_lib.fake_data import TwoPhaseRSRFD
from ldp_lib.mechanism import NoExactMoments
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.splitting import SPL
from ldp_lib.survey import errors
from ldp_lib.survey.catalogue import MECHANISMS

PEOPLE = Population.from_counts([[30, 10, 0], [5, 20, 35]])
BIASED = SecondPhase(k=(3, 3), epsilon=1.0, reuse=0.8)
SQUARE = Population.from_counts(np.diag([30, 10, 5]) + 1)


def test_an_unbiased_mechanism_s_error_is_its_variance():
    mechanism = SPL(k=(2, 3), epsilon=1.0)
    wanted = sum(v.sum() for v in mechanism.variance(PEOPLE))
    assert errors.total_error(mechanism, PEOPLE) == pytest.approx(wanted, rel=1e-12)
    assert errors.total_errors(mechanism, PEOPLE) == (pytest.approx(wanted, rel=1e-12), 0.0)


def test_a_biased_mechanism_s_error_counts_its_bias_and_agrees_with_simulation():
    exact = errors.total_error(BIASED, SQUARE)
    runs = BIASED.simulate(SQUARE, rng=np.random.default_rng(1), runs=20_000)
    squares = sum(((a - f) ** 2).sum(axis=1) for a, f in zip(runs, marginal_frequencies(SQUARE), strict=True))
    spread = squares.std(ddof=1) / np.sqrt(len(squares))
    assert abs(squares.mean() - exact) < 5 * spread
    assert abs(squares.mean() - sum(v.sum() for v in BIASED.variance(SQUARE))) > 5 * spread


def test_a_mechanism_without_closed_form_is_simulated_with_a_standard_error():
    mechanism = TwoPhaseRSRFD(k=(2, 3), epsilon=1.0, n1=20)
    total, off = errors.total_errors(mechanism, PEOPLE, rng=np.random.default_rng(1), runs=4_000)
    again, _ = errors.total_errors(mechanism, PEOPLE, rng=np.random.default_rng(2), runs=4_000)
    assert 0 < abs(total - again) < 5 * np.sqrt(2) * off
    rng = np.random.default_rng(3)
    many = np.array([errors.total_error(mechanism, PEOPLE, rng=rng, runs=40) for _ in range(400)])
    assert check.variance_z(many, off**2 * 100) < 5 < check.variance_z(many, 2 * off**2 * 100)


def test_without_a_generator_the_question_is_the_seed():
    mechanism = TwoPhaseRSRFD(k=(2, 3), epsilon=1.0, n1=20)
    found = errors.total_error(mechanism, PEOPLE)
    assert found == errors.total_error(TwoPhaseRSRFD(k=(2, 3), epsilon=1.0, n1=20), PEOPLE)
    assert found == errors.total_error(mechanism, PEOPLE, rng=errors._seeded(mechanism, PEOPLE))
    other, others = TwoPhaseRSRFD(k=(2, 3), epsilon=1.0, n1=21), Population.from_counts([[30, 10, 0], [5, 21, 34]])
    questions = [(mechanism, PEOPLE), (other, PEOPLE), (mechanism, others)]
    assert len({errors._seeded(*pair).random() for pair in questions}) == 3


@pytest.mark.parametrize("family", MECHANISMS, ids=lambda family: family.__name__)
def test_one_loop_runs_over_all_mechanisms(family):
    one = family.serves(2)
    mechanism = family(k=2 if one else (2, 2), epsilon=1.0)
    people = Population.from_counts([60, 40] if one else [[30, 10], [5, 55]])
    error, spread = errors.total_errors(mechanism, people, runs=20)
    assert 0 < error < 10
    assert (spread == 0) == mechanism.has_exact_moments


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
RNG = np.random.default_rng(1)


def test_errors_of_three_written_estimates_by_hand():
    # Sums over values: 0.02, 0.09, 0.04 and 0.04, 0.17, 0.02.
    total, off = errors.total_errors(SIMULATED, PEOPLE, rng=RNG, runs=3)
    assert total == pytest.approx(0.38 / 3)
    assert off == pytest.approx(np.std([0.06, 0.26, 0.06]) / np.sqrt(2))
    assert errors.total_error(SIMULATED, PEOPLE, rng=RNG, runs=3) == total
    assert errors.total_errors(SIMULATED, PEOPLE, rng=RNG, runs=1) == (pytest.approx(0.06), np.inf)
    with pytest.raises(ValueError, match="runs must be"):
        errors.total_errors(SIMULATED, PEOPLE, rng=RNG, runs=0)


def test_an_exact_error_is_variance_and_squared_bias_of_each_value():
    # Variances sum to 15; two biases, of 0.1 and of 0.3.
    assert errors.total_errors(EXACT, PEOPLE) == (pytest.approx(15.1), 0.0)


def test_a_question_is_its_mechanism_its_records_and_their_counts():
    others = [Population.from_counts(c) for c in ([[1, 2, 0]] * 2, [[1, 0, 2]] * 2, [[2, 1, 0]] * 2)]
    others += [Population.from_counts([[1, 2, 0, 0]] * 2)]
    draws = {errors._seeded(mechanism, other).random() for mechanism in (EXACT, BIASED) for other in others}
    assert len(draws) == 8
    assert errors._seeded(EXACT, others[0]).random() in draws

"""Errors side by side: exact where they can be, simulated where not, and the two agree."""

import numpy as np
import pytest

from ldp_lib import check, compare
from ldp_lib.catalogue import MECHANISMS
from ldp_lib.corr_rr import SecondPhase
from ldp_lib.grr import GRR
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.splitting import SPL
from ldp_lib.two_phase import TwoPhaseRSRFD

PEOPLE = Population.from_counts([[30, 10, 0], [5, 20, 35]])
BIASED = SecondPhase(k=(3, 3), epsilon=1.0, reuse=0.8)
SQUARE = Population.from_counts(np.diag([30, 10, 5]) + 1)


def test_an_unbiased_mechanism_s_error_is_its_variance():
    mechanism = SPL(k=(2, 3), epsilon=1.0)
    wanted = sum(v.sum() for v in mechanism.variance(PEOPLE))
    assert compare.total_error(mechanism, PEOPLE) == pytest.approx(wanted, rel=1e-12)
    error, spread = compare.attribute_errors(mechanism, PEOPLE)
    assert error.sum() == pytest.approx(wanted, rel=1e-12)
    assert not spread.any()


def test_a_biased_mechanism_s_error_counts_its_bias_and_agrees_with_simulation():
    exact = compare.total_error(BIASED, SQUARE)
    runs = BIASED.simulate(SQUARE, rng=np.random.default_rng(1), runs=20_000)
    squares = sum(((a - f) ** 2).sum(axis=1) for a, f in zip(runs, marginal_frequencies(SQUARE), strict=True))
    spread = squares.std(ddof=1) / np.sqrt(len(squares))
    assert abs(squares.mean() - exact) < 5 * spread
    assert abs(squares.mean() - sum(v.sum() for v in BIASED.variance(SQUARE))) > 5 * spread


def test_a_mechanism_without_closed_form_is_simulated_with_a_standard_error():
    mechanism = TwoPhaseRSRFD(k=(2, 3), epsilon=1.0, n1=20)
    error, spread = compare.squared_errors(mechanism, PEOPLE, rng=np.random.default_rng(1), runs=4_000)
    again, _ = compare.squared_errors(mechanism, PEOPLE, rng=np.random.default_rng(2), runs=4_000)
    assert all((s > 0).all() for s in spread)
    assert all((abs(a - b) < 5 * np.sqrt(2) * s).all() for a, b, s in zip(error, again, spread, strict=True))
    total, off = compare.total_errors(mechanism, PEOPLE, rng=np.random.default_rng(1), runs=4_000)
    parts, offs = compare.attribute_errors(mechanism, PEOPLE, rng=np.random.default_rng(1), runs=4_000)
    assert total == pytest.approx(sum(part.sum() for part in error))
    assert total == pytest.approx(parts.sum())
    rng = np.random.default_rng(3)
    many = np.array([compare.total_error(mechanism, PEOPLE, rng=rng, runs=40) for _ in range(400)])
    assert check.variance_z(many, off**2 * 100) < 5 < check.variance_z(many, 2 * off**2 * 100)
    assert (offs < off).all()


def test_without_a_generator_the_question_is_the_seed():
    mechanism = TwoPhaseRSRFD(k=(2, 3), epsilon=1.0, n1=20)
    found = compare.total_error(mechanism, PEOPLE)
    assert found == compare.total_error(TwoPhaseRSRFD(k=(2, 3), epsilon=1.0, n1=20), PEOPLE)
    assert found == compare.total_error(mechanism, PEOPLE, rng=compare.generator(mechanism, PEOPLE))
    other, others = TwoPhaseRSRFD(k=(2, 3), epsilon=1.0, n1=21), Population.from_counts([[30, 10, 0], [5, 21, 34]])
    questions = [(mechanism, PEOPLE), (other, PEOPLE), (mechanism, others)]
    assert len({compare.generator(*pair).random() for pair in questions}) == 3


@pytest.mark.parametrize("family", MECHANISMS, ids=lambda family: family.__name__)
def test_one_loop_runs_over_all_mechanisms(family):
    one = family.serves(2)
    mechanism = family(k=2 if one else (2, 2), epsilon=1.0)
    people = Population.from_counts([60, 40] if one else [[30, 10], [5, 55]])
    error, spread = compare.total_errors(mechanism, people, runs=20)
    assert 0 < error < 10
    assert (spread == 0) == mechanism.has_exact_moments
    relative, _ = compare.relative_error(mechanism, people, rng=np.random.default_rng(1), runs=20)
    query, _ = compare.count_query_error(mechanism, people, [(0, 0)], rng=np.random.default_rng(1), runs=20)
    assert 0 < relative < 10
    assert 0 < query < 500


def test_relative_and_count_query_errors_are_what_their_words_say():
    mechanism, alone = GRR(k=3, epsilon=1.0), Population.from_counts([50, 30, 20])
    runs = mechanism.simulate(alone, rng=np.random.default_rng(3), runs=500)
    relative = (abs(runs - [0.5, 0.3, 0.2]) / [0.5, 0.3, 0.2]).mean()
    found, spread = compare.relative_error(mechanism, alone, rng=np.random.default_rng(3), runs=500)
    assert found == pytest.approx(relative)
    assert spread > 0
    query, off = compare.count_query_error(mechanism, alone, [(0, 0), (0, 2)], rng=np.random.default_rng(3), runs=500)
    assert query == pytest.approx(np.sqrt(((runs[:, [0, 2]].sum(axis=1) - 0.7) ** 2).mean()) * 100)
    # The three estimates sum to 1, so the error of two is that of the third.
    assert query == pytest.approx(100 * np.sqrt(((runs[:, 1] - 0.3) ** 2).mean()))
    exact, none = compare.count_query_error(mechanism, alone, [(0, 1)])
    assert none == 0
    assert abs(query - exact) < 5 * off < 0.3 * exact
    assert exact == pytest.approx(100 * np.sqrt(mechanism.variance(alone)[1]))


def test_side_by_side_starts_with_the_least_error():
    table = compare.side_by_side([SPL(k=(2, 3), epsilon=e) for e in (0.5, 2.0)], PEOPLE, rng=np.random.default_rng(1))
    assert list(table["epsilon"]) == [2.0, 0.5]
    assert (table["standard_error"] == 0).all()
    assert table["points"][0] == pytest.approx(100 * np.sqrt(table["total"][0] / 5))


def test_bad_queries_are_refused():
    mechanism, rng = SPL(k=(2, 3), epsilon=1.0), np.random.default_rng(1)
    for values in ([], [(0, 0), (1, 0)], [(0, 2)], [(2, 0)], [(1, 1), (1, 1)], [(1, -1)]):
        with pytest.raises(ValueError, match="values must"):
            compare.count_query_error(mechanism, PEOPLE, values, rng=rng)
    with pytest.raises(ValueError, match="at_least must be above 0"):
        compare.relative_error(mechanism, PEOPLE, rng=rng, at_least=0)
    with pytest.raises(TypeError, match="rng must be"):
        compare.relative_error(mechanism, PEOPLE, rng=None)

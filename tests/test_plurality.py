"""Plurality: the plurality's law, the channel, exact moments by enumeration, and the exact law of `simulate`."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from ldp_lib import channel, check, plurality
from ldp_lib.corr_rr import syn_a
from ldp_lib.plurality import Plurality
from ldp_lib.population import Population

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
MODEL = Plurality(k=(3, 3), epsilon=1.0, shares=(0.6, 0.4, 0))
GATED = Plurality(k=(3, 3), epsilon=1.0)


def small():
    return Population.from_counts([[6, 1, 0], [2, 3, 1], [0, 1, 4]])


def test_the_plurality_is_the_most_frequent_value_and_ties_are_split():
    found = plurality.law([[0, 0, 1], [0, 1, 2], [2, 1, 2]], 3, Fraction(1))
    third = Fraction(1, 3)
    assert (found == np.array([[1, 0, 0], [third] * 3, [0, 0, 1]])).all()


@pytest.mark.parametrize(("k", "d"), [(2, 1), (2, 3), (3, 2), (4, 2)])
@pytest.mark.parametrize("shares", [(HALF, HALF, Fraction(0)), (HALF, QUARTER, QUARTER)])
def test_the_privacy_ratio_is_e_exactly(k, d, shares):
    assert channel.privacy_ratio(plurality.channel(Fraction(3), k, d, shares)) == 3


def test_the_channel_of_an_instance_is_the_function_in_floats():
    exact = plurality.channel(math.exp(1.0), 3, 2, GATED.shares).astype(float)
    assert (GATED.channel() == exact).all()
    assert math.isclose(channel.privacy_ratio(GATED.channel()), math.e, rel_tol=1e-12)


@pytest.mark.parametrize(
    ("k", "x"), [(2, [(0, 0), (0, 1)]), (3, [(0, 0), (1, 2), (1, 1)]), (2, [(0, 1, 1), (0, 0, 0)])]
)
def test_mean_and_variance_are_those_of_all_outcomes(k, x):
    d = len(x[0])
    mechanism = Plurality(k=(k,) * d, epsilon=math.log(3), shares=(0.5, 0.5, 0))
    matrix = plurality.channel(Fraction(3), k, d, (HALF, HALF, Fraction(0)))[:, : k + 2 * d].astype(float)
    rows = [list(itertools.product(range(k), repeat=d)).index(record) for record in x]
    mean, covariance = channel.exact_moments(matrix, rows, lambda y: np.concatenate(mechanism.estimate(np.array(y))))
    population = Population.from_records(np.array(x), k=mechanism.k)
    assert np.allclose(mean, np.concatenate(mechanism.mean(population)), rtol=0, atol=1e-12)
    assert np.allclose(np.diag(covariance), np.concatenate(mechanism.variance(population)), rtol=1e-12)


def test_simulate_has_the_exact_moments_and_a_wrong_variance_shows():
    runs = np.concatenate(MODEL.simulate(small(), rng=np.random.default_rng(1), runs=40_000), axis=1)
    mean, variance = (np.concatenate(moment(small())) for moment in (MODEL.mean, MODEL.variance))
    assert check.mean_z(runs, mean) < 5 < check.mean_z(runs, mean + 0.1 * np.sqrt(variance))
    assert check.variance_z(runs, variance) < 5 < check.variance_z(runs, 1.1 * variance)


@pytest.mark.parametrize("mechanism", [MODEL, GATED], ids=repr)
def test_simulate_has_the_law_of_perturb_and_estimate(mechanism):
    users, rng = small().users(), np.random.default_rng(2)
    long = np.array([np.concatenate(mechanism.estimate(mechanism.perturb(users, rng=rng))) for _ in range(4_000)])
    short = np.concatenate(mechanism.simulate(small(), rng=rng, runs=40_000), axis=1)
    assert check.mean_z(long, short.mean(axis=0)) < 5
    assert check.covariance_z(long, np.cov(short.T)) < 5 < check.covariance_z(long, 1.4 * np.cov(short.T))


def test_if_all_attributes_agree_the_model_is_right():
    population = Population.from_counts(np.diag([5, 3, 2]))
    assert np.allclose(MODEL.model(population), [[0.5, 0.3, 0.2]] * 2)
    assert not np.allclose(MODEL.model(small()), [small().select(j).frequencies for j in range(2)])


def test_with_many_users_the_model_stays_wrong_and_the_answers_put_it_right():
    population = Population.from_counts(10**8 * small().histogram)
    truth = np.concatenate([small().select(j).frequencies for j in range(2)])
    rng = np.random.default_rng(3)
    wrong, right = (np.concatenate(m.simulate(population, rng=rng, runs=5), axis=1) for m in (MODEL, GATED))
    assert np.abs(wrong - np.concatenate(MODEL.model(small()))).max() < 1e-3
    assert np.abs(right - truth).max() < 1e-3 < np.abs(wrong - truth).max() / 10


def test_the_loss_is_bounded_where_the_model_fails():
    rng = np.random.default_rng(4)
    population = syn_a(20_000, d=4, rho=0, frequencies=[0.7, 0.1, 0.1, 0.1], rng=rng)
    truth = [population.select(j).frequencies for j in range(4)]
    error = {}
    for shares in ((0.8, 0.2, 0), (0.4, 0.1, 0.5)):
        runs = Plurality(k=(4,) * 4, epsilon=1.0, shares=shares).simulate(population, rng=rng, runs=1_000)
        error[shares] = sum(((a - b) ** 2).sum(axis=1) for a, b in zip(runs, truth, strict=True)).mean()
    e = math.e
    one_question = 4 * 4 * (1 - 1 / 4) * ((e + 3) / (e - 1)) ** 2 / population.n
    assert error[0.4, 0.1, 0.5] < 2 * one_question < error[0.8, 0.2, 0]


def test_exact_moments_are_refused_if_some_are_asked():
    assert MODEL.has_exact_moments
    assert not GATED.has_exact_moments
    for moment in (GATED.mean, GATED.variance):
        with pytest.raises(ValueError, match="use simulate"):
            moment(small())


def test_a_report_is_one_small_integer_and_the_same_generator_gives_the_same_reports():
    users = small().users()
    y, again = (GATED.perturb(users, rng=np.random.default_rng(5)) for _ in range(2))
    assert y.dtype == np.uint8
    assert (y == again).all()
    assert eval(repr(GATED)) == GATED


def test_it_serves_equal_domains_only():
    assert Plurality.serves((4, 4))
    assert Plurality.serves((2,))
    assert not any(map(Plurality.serves, [4, (), (2, 3), (1, 1), (2.0, 2.0), (True, True)]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": (2, 3)}, r"k must be the same .* got \(2, 3\)"),
        ({"k": 4}, "k must give the domain sizes .* got 4"),
        ({"epsilon": -1.0}, "epsilon must be .* got -1.0"),
        ({"shares": (0.5, 0.5)}, r"shares must be three .* got \(0.5, 0.5\)"),
        ({"shares": (1.0, 0, 0)}, r"shares must be three .* got \(1.0, 0, 0\)"),
        ({"shares": (0.5, 0.6, -0.1)}, "shares must be three"),
        ({"shares": ("a", 0.5, 0.5)}, "shares must be three"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Plurality(**{"k": (3, 3), "epsilon": 1.0} | arguments)


def test_a_large_channel_is_refused():
    with pytest.raises(ValueError, match="k must be small for a channel"):
        Plurality(k=(5,) * 8, epsilon=1.0).channel()

"""One contract for every mechanism: a new mechanism adds one line to MECHANISMS."""

import numpy as np
import pytest

from ldp_lib import check
from ldp_lib.grr import GRR, RR
from ldp_lib.hashing import OLH
from ldp_lib.jrr import JRR, KJRR
from ldp_lib.population import Population
from ldp_lib.unary import OUE, SUE, UnaryEncoding

MECHANISMS = [
    RR(epsilon=1.0),
    GRR(k=5, epsilon=0.5),
    GRR(k=3, epsilon=3.0),
    SUE(k=4, epsilon=1.0),
    OUE(k=4, epsilon=1.0),
    UnaryEncoding(k=3, epsilon=2.0, q=0.4),
    OLH(k=6, epsilon=1.0),
    OLH(k=4, epsilon=2.0, g=3),
    JRR(p=0.6, rho=-0.5),
    JRR(p=0.75, rho=0.8),
    KJRR(k=4, p=0.5, rho=-0.9),
    KJRR(k=3, p=0.4, rho=1.5),
]
JOINT = [mechanism for mechanism in MECHANISMS if not isinstance(mechanism, OLH)]
each_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)


def population_of(mechanism):
    """A skewed population in which one value is held by nobody."""
    return Population.from_counts([7, 0, 3, 2, 4, 1][: mechanism.k])


def user_level(mechanism, population, rng, runs):
    x = population.users()
    return np.array([mechanism.estimate(mechanism.perturb(x, rng=rng)) for _ in range(runs)])


@each_mechanism
def test_simulate_has_the_stated_mean_and_variance(mechanism):
    population = population_of(mechanism)
    runs = mechanism.simulate(population, rng=np.random.default_rng(1), runs=20_000)
    assert check.mean_z(runs, mechanism.mean(population)) < 5
    assert check.variance_z(runs, mechanism.variance(population)) < 5
    assert check.variance_z(runs, 1.1 * mechanism.variance(population)) > 5


@each_mechanism
def test_users_reports_have_the_stated_mean_and_variance(mechanism):
    population = population_of(mechanism)
    runs = user_level(mechanism, population, np.random.default_rng(2), 6_000)
    assert check.mean_z(runs, mechanism.mean(population)) < 5
    assert check.variance_z(runs, mechanism.variance(population)) < 5
    assert check.variance_z(runs, 1.2 * mechanism.variance(population)) > 5
    shifted = mechanism.mean(population) + 0.1 * np.sqrt(mechanism.variance(population))
    assert check.mean_z(runs, shifted) > 5


@pytest.mark.parametrize("mechanism", JOINT, ids=repr)
def test_simulate_and_perturb_have_the_same_covariance(mechanism):
    population = population_of(mechanism)
    users = user_level(mechanism, population, np.random.default_rng(3), 6_000)
    runs = mechanism.simulate(population, rng=np.random.default_rng(4), runs=200_000)
    assert check.covariance_z(users, np.cov(runs.T)) < 5
    assert check.covariance_z(users, 1.2 * np.cov(runs.T)) > 5


@each_mechanism
def test_the_estimate_is_unbiased(mechanism):
    population = population_of(mechanism)
    assert np.array_equal(mechanism.mean(population), population.frequencies)


@each_mechanism
def test_shapes_are_as_documented(mechanism):
    rng = np.random.default_rng(5)
    population = population_of(mechanism)
    assert mechanism.estimate(mechanism.perturb(population.users(), rng=rng)).shape == (mechanism.k,)
    assert mechanism.simulate(population, rng=rng, runs=3).shape == (3, mechanism.k)
    assert mechanism.variance(population).shape == (mechanism.k,)


@each_mechanism
def test_the_same_generator_gives_the_same_reports(mechanism):
    x = population_of(mechanism).users()
    first, again, other = (mechanism.perturb(x, rng=np.random.default_rng(seed)) for seed in (6, 6, 7))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@each_mechanism
def test_one_user_is_enough_and_input_is_left_alone(mechanism):
    x = np.array([1])
    estimate = mechanism.estimate(mechanism.perturb(x, rng=np.random.default_rng(8)))
    assert np.isfinite(estimate).all()
    assert x.tolist() == [1]


@each_mechanism
def test_a_mechanism_is_frozen_and_says_what_it_spends(mechanism):
    assert mechanism.epsilon > 0
    with pytest.raises(AttributeError):
        mechanism.epsilon = 2.0


def test_reports_use_the_smallest_integer_type():
    rng = np.random.default_rng(9)
    x = np.array([0, 1])
    for k, dtype in ((2, np.uint8), (256, np.uint8), (257, np.uint16), (70_000, np.uint32)):
        assert GRR(k=k, epsilon=1.0).perturb(x, rng=rng).dtype == dtype
    assert OUE(k=9, epsilon=1.0).perturb(x, rng=rng).dtype == np.uint8
    assert OLH(k=9, epsilon=1.0).perturb(x, rng=rng)["y"].dtype == np.uint8


def test_grr_estimates_sum_to_one():
    runs = GRR(k=5, epsilon=1.0).simulate(
        Population.from_counts([3, 1, 4, 1, 5]), rng=np.random.default_rng(1), runs=50
    )
    assert np.allclose(runs.sum(axis=1), 1, rtol=0, atol=1e-12)

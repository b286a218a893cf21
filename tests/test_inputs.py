"""Bad input gets an error that names the argument, the value and what is allowed; nothing is clipped or reordered."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_lib.grr import GRR, RR
from ldp_lib.hashing import OLH
from ldp_lib.jrr.inside import JointHashing, JointUnary
from ldp_lib.population import Population
from ldp_lib.unary import OUE, SUE, UnaryEncoding


def joint_unary(**arguments):
    return JointUnary(rho=-0.01, **arguments)


def joint_hashing(**arguments):
    return JointHashing(rho=-0.01, **arguments)


FAMILIES = [GRR, SUE, OUE, OLH, joint_unary, joint_hashing]
each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
WRONG_TYPE = [None, "3", 2.5, True, [3], np.array([3]), 3 + 0j]


@each_family
@given(k=st.one_of(st.integers(max_value=1), st.sampled_from(WRONG_TYPE), st.floats()))
def test_a_domain_of_fewer_than_two_values_is_refused(family, k):
    with pytest.raises((TypeError, ValueError), match=r"k must be an integer from 2 to 2\*\*32; got"):
        family(k=k, epsilon=1.0)


@each_family
@given(
    epsilon=st.one_of(
        st.floats(max_value=0.99e-9),
        st.floats(min_value=701),
        st.sampled_from([float("nan"), float("inf"), 1e-17, "1", None, True, 1j, [1.0]]),
    )
)
def test_a_budget_that_is_not_positive_and_finite_is_refused(family, epsilon):
    with pytest.raises((TypeError, ValueError), match=r"epsilon must be a number from .* got"):
        family(k=3, epsilon=epsilon)


@pytest.mark.parametrize(
    "rng", [None, 1, np.random.RandomState(1), np.random, "seed"], ids=["None", "1", "RandomState", "module", "str"]
)
@each_family
def test_a_seed_or_nothing_in_place_of_a_generator_is_refused(family, rng):
    mechanism, population = family(k=3, epsilon=1.0), Population.from_counts([1, 1, 1])
    with pytest.raises(TypeError, match=r"rng must be a numpy\.random\.Generator.* got"):
        mechanism.perturb([0, 1], rng=rng)
    with pytest.raises(TypeError, match=r"rng must be a numpy\.random\.Generator.* got"):
        mechanism.simulate(population, rng=rng, runs=1)
    with pytest.raises(TypeError, match="rng"):
        mechanism.perturb([0, 1])


BAD_VALUES = [
    ([0, 3], ValueError, "got 3 at position 1"),
    ([-1, 0], ValueError, "got -1 at position 0"),
    ([0.0, 1.0], TypeError, "got type float64"),
    ([0.5], TypeError, "first value .*0.5"),
    ([float("nan")], TypeError, "nan"),
    ([[0, 1]], ValueError, r"got shape \(1, 2\)"),
    ([], ValueError, r"got shape \(0,\)"),
    (1, ValueError, r"got shape \(\)"),
    ([True, False], TypeError, "got type bool"),
    (["a"], TypeError, "got type <U1"),
    ([None], TypeError, "got type object"),
]


@each_family
@pytest.mark.parametrize(("x", "error", "message"), BAD_VALUES, ids=lambda value: repr(value)[:30])
def test_bad_values_are_refused(family, x, error, message):
    with pytest.raises(error, match=rf"x must be .* integer from 0 to 2; .*{message}"):
        family(k=3, epsilon=1.0).perturb(x, rng=np.random.default_rng(1))


@each_family
@settings(max_examples=25)
@given(data=st.data(), k=st.integers(2, 300))
def test_any_values_within_the_domain_are_taken_and_any_value_outside_is_refused(family, data, k):
    x = np.array(data.draw(st.lists(st.integers(0, k - 1), min_size=1, max_size=20)))
    mechanism, rng = family(k=k, epsilon=1.0), np.random.default_rng(1)
    estimate = mechanism.estimate(mechanism.perturb(x, rng=rng))
    assert estimate.shape == (k,)
    assert np.isfinite(estimate).all()
    outside = data.draw(st.integers(-(2**40), 2**40).filter(lambda v: not 0 <= v < k))
    place = data.draw(st.integers(0, len(x)))
    with pytest.raises(ValueError, match=f"got {outside} at position {place}"):
        mechanism.perturb(np.insert(x, place, outside), rng=rng)


@pytest.mark.parametrize(("y", "error", "message"), BAD_VALUES, ids=lambda value: repr(value)[:30])
def test_bad_grr_reports_are_refused(y, error, message):
    with pytest.raises(error, match=rf"y must be .*{message}"):
        GRR(k=3, epsilon=1.0).estimate(y)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        ([[0, 2, 0]], ValueError, "got values from 0 to 2"),
        ([[0, -1, 0]], ValueError, "got values from -1 to 0"),
        ([[0.0, 1.0, 0.0]], TypeError, "got type float64"),
        ([[0, 1]], ValueError, r"got shape \(1, 2\)"),
        ([0, 1, 0], ValueError, r"got shape \(3,\)"),
        (np.zeros((0, 3), int), ValueError, r"got shape \(0, 3\)"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_bad_unary_reports_are_refused(y, error, message):
    with pytest.raises(error, match=rf"y must be .* 3 columns; {message}"):
        OUE(k=3, epsilon=1.0).estimate(y)


def test_bad_hashed_reports_are_refused():
    mechanism = OLH(k=3, epsilon=1.0)
    reports = mechanism.perturb([0, 1, 2], rng=np.random.default_rng(1))
    with pytest.raises(TypeError, match=r"y must be reports of type .* got type int64"):
        mechanism.estimate([0, 1])
    with pytest.raises(ValueError, match=r"y\['y'\] must be .* got shape \(0,\)"):
        mechanism.estimate(reports[:0])
    reports["y"][1] = mechanism.g
    with pytest.raises(ValueError, match=rf"y\['y'\] must be .* got {mechanism.g} at position 1"):
        mechanism.estimate(reports)


@each_family
def test_a_population_with_another_domain_is_refused(family):
    mechanism = family(k=3, epsilon=1.0)
    for population in (Population.from_counts([1, 1]), Population.from_counts([[1, 1, 1], [1, 1, 1]])):
        for call in (
            mechanism.mean,
            mechanism.variance,
            lambda p: mechanism.simulate(p, rng=np.random.default_rng(1), runs=1),
        ):
            with pytest.raises(ValueError, match=r"population must have one attribute with k = 3; got k = \(2,"):
                call(population)


@pytest.mark.parametrize("runs", [0, -1, 1.5, None, True, "9"])
@each_family
def test_a_number_of_runs_below_one_is_refused(family, runs):
    with pytest.raises((TypeError, ValueError), match=r"runs must be an integer from 1 to 10\*\*7; got"):
        family(k=2, epsilon=1.0).simulate(Population.from_counts([1, 1]), rng=np.random.default_rng(1), runs=runs)


@pytest.mark.parametrize("q", [0, 1, -0.1, float("nan"), "0.5"])
def test_a_bit_probability_outside_the_open_unit_interval_is_refused(q):
    with pytest.raises((TypeError, ValueError), match="q must be a number above 0 and below 1; got"):
        UnaryEncoding(k=3, epsilon=1.0, q=q)


@pytest.mark.parametrize("g", [1, 0, 2.0, "2", True, 2**20 + 1])
def test_fewer_than_two_buckets_are_refused(g):
    with pytest.raises((TypeError, ValueError), match=r"g must be an integer from 2 to 2\*\*20; got"):
        OLH(k=3, epsilon=1.0, g=g)


def test_arguments_go_by_keyword():
    for call in (lambda: GRR(3, 1.0), lambda: RR(1.0), lambda: OUE(3, 1.0), lambda: OLH(3, 1.0)):
        with pytest.raises(TypeError):
            call()


def test_a_large_budget_gets_as_many_buckets_as_there_can_be():
    mechanism = OLH(k=3, epsilon=50.0)
    assert mechanism.g == 2**20
    reports = mechanism.perturb([2, 2, 2], rng=np.random.default_rng(1))
    assert mechanism.estimate(reports).argmax() == 2

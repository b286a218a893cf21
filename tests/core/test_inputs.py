"""Bad input gets an error that names the argument, the value and what is allowed; nothing is clipped or reordered."""

import math
import re
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_lib import _inputs, jrr, repeated, subset
from ldp_lib.corr_rr import SecondPhase, joint_reuse, reuse_probability
from ldp_lib.grr import GRR, RR
from ldp_lib.hashing import OLH
from ldp_lib.jrr.extensions import JointHashing, JointUnary
from ldp_lib.population import Population
from ldp_lib.sampled import design
from ldp_lib.splitting import SPL
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
    reports["y"][1] = mechanism.g_
    with pytest.raises(ValueError, match=rf"y\['y'\] must be .* got {mechanism.g_} at position 1"):
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
    assert mechanism.g_ == 2**20
    reports = mechanism.perturb([2, 2, 2], rng=np.random.default_rng(1))
    assert mechanism.estimate(reports).argmax() == 2


ENDS = [
    ("k", [2, 2**32], [1, 2**32 + 1]),
    ("g", [2, 2**20], [1, 2**20 + 1]),
    ("runs", [1, 10**7], [0, 10**7 + 1]),
    ("threads", [1, 1024], [0, 1025]),
    ("q", [5e-324, np.nextafter(1, 0)], [0.0, 1.0, math.nan]),
    ("epsilon", [1e-9, 700, 700.0], [np.nextafter(1e-9, 0), np.nextafter(700, 701), math.nan, -1]),
]


@pytest.mark.parametrize(("name", "fits", "wrong"), ENDS, ids=[name for name, *_ in ENDS])
def test_numbers_are_taken_up_to_their_ends_and_no_further(name, fits, wrong):
    for value in fits:
        _inputs.require(**{name: value})
    for value in wrong:
        with pytest.raises(ValueError, match=rf"{name} must be .*; got {re.escape(repr(value))}"):
            _inputs.require(**{name: value})
    for value in (True, np.True_, "2", None, 2j, [2], *([2.0] if isinstance(fits[0], int) else [])):
        with pytest.raises(TypeError, match=rf"{name} must be .*; got {re.escape(repr(value))}"):
            _inputs.require(**{name: value})


def test_a_share_lies_between_0_and_1():
    _inputs.require_share("share", Fraction(1, 2))
    for value in (0, 1, 0.0, 1.0, -0.5, math.nan):
        with pytest.raises(ValueError, match="share must be a number above 0 and below 1; got"):
            _inputs.require_share("share", value)
    for value in (True, np.False_, "0.5", None):
        with pytest.raises(TypeError, match="share must be a number above 0 and below 1; got"):
            _inputs.require_share("share", value)


def test_a_mechanism_serves_the_domains_that_it_can_be_made_for():
    assert all(map(GRR.serves, (2, 3, np.int8(2), 2**32)))
    assert not any(map(GRR.serves, (1, 0, -2, 2**32 + 1, 2.0, True, np.True_, "2", None, (2,))))
    assert all(map(SPL.serves, ((2,), (2, 3, 4))))
    assert not any(map(SPL.serves, ((), 2, (2, 1), (1, 2), (2.0, 2.0), (True, 2), "22", None)))
    assert SecondPhase.serves((3, 3, 3))
    assert not any(map(SecondPhase.serves, ((2, 3), (3, 3, 2))))


def test_a_channel_of_at_most_four_million_entries_is_built():
    _inputs.check_cells(2**20, 4)
    with pytest.raises(ValueError, match="it would have 1398102 rows and 3 columns; at most 4194304 entries"):
        _inputs.check_cells(1398102, 3)


@pytest.mark.parametrize("error", [TypeError, ValueError, OverflowError])
def test_what_numpy_makes_no_array_of_is_named(error):
    class Refusing:
        def __array__(self, dtype=None, copy=None):
            raise error("none of mine")

    with pytest.raises(ValueError, match="x must be an array; got Refusing, of which NumPy makes none: none of mine"):
        _inputs.check_values(Refusing(), 3)


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.dtype(">i2"), np.uint16, np.int64])
def test_values_of_every_type_are_taken_within_the_domain_only(kind):
    ends = np.iinfo(kind)
    for k in (2, 100, 128, 129, 200, 256, 257, 300, 2**15 + 1):
        most = min(k - 1, ends.max)
        x = np.array([0, most, 1, most // 2 + 1, 0], kind)
        assert _inputs.check_values(x, k) is x
        assert _inputs.check_records(np.column_stack([x, 0 * x]), (k, 2)).tolist() == [[v, 0] for v in x]
        for value in {-1, ends.min, k, ends.max}:
            if ends.min <= value <= ends.max and not 0 <= value < k:
                x = np.array([0, value, 0, value - (value > k)], kind)
                with pytest.raises(ValueError, match=f"x must be .* from 0 to {k - 1}; got {value} at position 1"):
                    _inputs.check_values(x, k)
                with pytest.raises(ValueError, match=f"x must be from 0 to {k - 1} in column 1; got {value} in row 1"):
                    _inputs.check_records(np.column_stack([0 * x, x]), (2, k))


def test_the_first_value_of_a_wrong_type_is_shown():
    with pytest.raises(TypeError, match=r"got type float64, first value np.float64\(0\.5\)"):
        _inputs.check_values([0.5, 1.0, 2.0], 3)
    with pytest.raises(TypeError, match=r"x must hold integers; got type float64, first row array\(\[0\. , 0\.5\]\)"):
        _inputs.check_records([[0.0, 0.5], [1.0, 1.0]], (2, 2))


def test_a_wrong_value_among_very_many_records_is_found_and_named():
    x, k = np.zeros((2**14 + 5, 3), np.uint8), (2, 3, 4)
    x[:, 2] = 3
    assert _inputs.check_records(x, k) is x
    for row in (0, 1, 2**12, 2**13 - 1, 2**13, 2**13 + 1, 3 * 2**12, 2**14 - 1, 2**14, 2**14 + 4):
        for column, size in enumerate(k):
            wrong = x.copy()
            wrong[row, column] = size
            with pytest.raises(ValueError, match=f"0 to {size - 1} in column {column}; got {size} in row {row}$"):
                _inputs.check_records(wrong, k)


@pytest.mark.parametrize("x", [3, [[[0, 1]]], [[0, 1, 1]], [0, 1], np.zeros((0, 2), int)])
def test_records_have_a_row_a_user_and_a_column_an_attribute(x):
    with pytest.raises(ValueError, match="x must have at least one row and 2 columns, one an attribute; got shape"):
        _inputs.check_records(x, (2, 3))
    assert _inputs.check_records([[1], [0]], (2,)).shape == _inputs.check_records([1, 0], (2,)).shape == (2, 1)


@pytest.mark.parametrize(
    "k", [True, np.True_, 2.0, None, (2, True), (2.0, 2), np.array(3), b"ab", (2, b"a"), ((2, 2),)]
)
def test_domain_sizes_are_integers(k):
    with pytest.raises(TypeError, match="k must be an integer of at least 2, or one for each attribute; got"):
        _inputs.check_domain(k)


def test_domain_sizes_become_a_tuple_of_ints():
    for k in (2, (2,), [np.int8(2)], np.array([2])):
        assert _inputs.check_domain(k) == (2,)
        assert type(_inputs.check_domain(k)[0]) is int
    assert _inputs.check_domain(range(2, 5)) == (2, 3, 4)
    for k in (1, (1,), (2, 1), (1, 2), (0, 2), (), []):
        with pytest.raises(ValueError, match=rf"k must be an integer of at least 2.*; got {re.escape(repr(k))}"):
            _inputs.check_domain(k)


def test_so_many_attributes_as_are_needed_are_asked_for():
    assert _inputs.check_attributes((2, 3)) == _inputs.check_attributes([2, 3], 2) == (2, 3)
    assert _inputs.check_attributes((2,), 1) == (2,)
    assert _inputs.check_attributes((3, 3, 3), equal=True) == (3, 3, 3)
    for k, least, error, words in [
        ((2,), 2, ValueError, r"two attributes; got \(2,\)"),
        (2, 2, TypeError, "two attributes, as a tuple of integers of at least 2; got 2"),
        (2, 1, TypeError, "one attribute, as a tuple of integers of at least 2; got 2"),
    ]:
        with pytest.raises(error, match=f"k must give the domain sizes of at least {words}"):
            _inputs.check_attributes(k, least)
    with pytest.raises(ValueError, match=r"k must be the same for all attributes.*; got \(3, 3, 2\)"):
        _inputs.check_attributes([3, 3, 2], equal=True)


def test_what_is_no_population_or_another_one_is_named():
    people = Population.from_counts([[1, 0, 2], [0, 0, 3]])
    _inputs.check_population(people, (2, 3))
    assert _inputs.check_histogram(people.select(1), 3).tolist() == [1, 0, 5]
    for wrong in (GRR(k=3, epsilon=1.0), SimpleNamespace(counts=[1]), None):
        with pytest.raises(TypeError, match=f"population must be a Population; got {type(wrong).__name__}"):
            _inputs.check_population(wrong, (3,))
    with pytest.raises(ValueError, match=r"must have domain sizes k = \(3, 2\); got k = \(2, 3\)"):
        _inputs.check_population(people, (3, 2))
    with pytest.raises(ValueError, match=r"must have one attribute with k = 4; got k = \(3,\)"):
        _inputs.check_histogram(people.select(1), 4)


def test_reports_have_the_smallest_type_that_holds_them():
    assert [_inputs.small_dtype(k) for k in (2, 256, 257, 2**16, 2**16 + 1)] == [np.uint8] * 2 + [np.uint16] * 2 + [
        np.uint32
    ]


SHORT = {  # formulas of numbers of users, values or rounds, and such numbers: the last are larger
    "subset.error": (lambda *of: subset.error(3.0, *of), (100, 30), (40_000, 10_000)),
    "optimal_size": (lambda k: subset.optimal_size(math.exp(1.1), k), (100,), (40_000,)),
    "SubsetSelection": (
        lambda size: subset.SubsetSelection(k=130, epsilon=1.0, size=size).perturb([129], rng=np.random.default_rng(1)),
        (120,),
        (128,),
    ),
    "best_design": (lambda *k: design.best_design.__wrapped__(3.0, k, 1)[1:], (100, 120), (300, 40_000)),
    "given sizes": (
        lambda *of: design.best_design.__wrapped__(3.0, of[:3], 2, of[3:])[2],
        (99, 120, 60, 30, 9, 5),
        (300, 400, 50_000, 30, 98, 5_000),
    ),
    "group_variance": (lambda *of: design.group_variance(0.3, *of, 0.7, 0.1), (120, 100), (60_000, 40_000)),
    "two_stage_ratio": (lambda rounds: repeated.two_stage_ratio(3.0, 1.1, rounds), (3,), (300,)),
    "mean_variance": (lambda *of: repeated.mean_variance(math.inf, 2.0, *of), (100, 100), (300, 40_000)),
    "weight": (jrr.weight, (100, 70), (40_000, 100)),
    "optimal_parameters": (lambda n: jrr.optimal_parameters(epsilon=1.0, n=n, colluders=9), (100,), (40_000,)),
    "rho_range": (lambda k: jrr.rho_range(0.6, k), (100,), (40_000,)),
    "least_correlation": (lambda g: jrr.least_correlation(0.6, g), (100,), (40_000,)),
    "reuse_probability": (lambda n2: reuse_probability([0.2, 0.3, 0.5], [0.3, 0.3, 0.4], n2=n2), (100,), (255,)),
    "joint_reuse": (lambda n2: joint_reuse([[0.2, 0.3, 0.5], [0.3, 0.1, 0.6]], n2), (127,), (65_535,)),
}


@pytest.mark.parametrize("name", SHORT)
@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint64])
def test_numpys_short_and_unsigned_integers_do_not_wrap_around(name, kind):
    formula, *numbers = SHORT[name]
    for those in (each for each in numbers if max(each) <= np.iinfo(kind).max):
        found, wanted = (np.ravel(formula(*map(of, those))) for of in (kind, int))
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_the_design_for_millions_of_values_does_not_wrap_around_either():
    (_, (size, _), weights), k = design.best_design(math.e, (8_000_000, 5), 1), 8_000_000
    pull = [math.sqrt(subset.error(math.e, *of)) for of in ((k, size), (5, 1))]
    assert weights == pytest.approx(np.divide(pull, sum(pull)), abs=2e-6)

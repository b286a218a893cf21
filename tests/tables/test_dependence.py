"""Measures of dependence: derivatives by differences, exact size, simulated size, power and coverage."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chi2, multinomial, ncx2, norm

from ldp_lib import RRJoint, check
from ldp_lib.datasets import load_adult
from ldp_lib.postprocess import project_simplex
from ldp_lib.sampled import AskSome
from ldp_lib.tables import clusters, dependence
from ldp_lib.tables import covariance as uncertainty
from ldp_lib.tables._asked import raw_table
from ldp_lib.tables._independence import adjusted_p_values, independence_test
from ldp_lib.tables.product import RRIndependent
from ldp_lib.tables.sampled import ask_pairs

A, B = np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.4])
INDEPENDENT = np.outer(A, B)
DEPENDENT = INDEPENDENT + 0.02 * np.array([[1, -1], [-1, 1], [0, 0]])
SPLIT = RRIndependent(k=(3, 2), epsilon=3.0)
FAINT = RRIndependent(k=(3, 2), epsilon=1e-6)
PAIRS = AskSome(k=(3, 2), epsilon=2.0, m=2, sizes=(1, 1))


TINY = 1e-9  # so small that no cell is rare


def phi_squared(table, covariance):
    """V^2 times the smaller side less one, measured."""
    return dependence.cramers_v(table, covariance).square


def simulated(mechanism, table, n, rng, runs):
    """Raw tables from the reports of n users drawn from `table`."""
    for counts in rng.multinomial(n, table.ravel(), size=runs):
        x = np.array(list(np.ndindex(table.shape)))[np.repeat(np.arange(table.size), counts)]
        yield raw_table(mechanism, mechanism.perturb(x, rng=rng), 0, 1)


def repaired(table):
    return project_simplex(table.ravel()).reshape(table.shape)


@pytest.mark.parametrize(
    ("measure", "table"),
    [
        (phi_squared, DEPENDENT),
        (phi_squared, np.array([[0.4, 0.1], [0.2, 0.3]])),
    ],
)
def test_bias_and_error_are_those_of_differences(measure, table):
    """Along any direction of sum 0, with the covariance of a step in that direction."""
    rng, h = np.random.default_rng(1), 1e-4
    value = lambda t: measure(t, TINY * np.eye(t.size)).value  # noqa: E731
    for _ in range(3):
        step = rng.normal(size=table.shape)
        step -= step.mean()
        up, here, down = (value(table + s * h * step) for s in (1, 0, -1))
        first, second = (up - down) / (2 * h), (up - 2 * here + down) / h**2
        found = measure(table, TINY * np.outer(step, step))
        assert math.isclose(found.bias, TINY * second / 2, rel_tol=1e-5)
        assert math.isclose(found.slope_variance, TINY * first**2, rel_tol=1e-5)
        assert math.isclose(found.curve_variance, TINY**2 * second**2 / 2, rel_tol=1e-5)
        assert found.standard_error == pytest.approx(math.sqrt(found.slope_variance + found.curve_variance))


def test_values_are_those_of_the_true_table():
    found = phi_squared(DEPENDENT, np.zeros((6, 6)))
    assert math.isclose(found.value, clusters.cramers_v(DEPENDENT, squared=True), rel_tol=1e-12)
    value = dependence.cramers_v(DEPENDENT, np.zeros((6, 6))).value
    assert math.isclose(value, clusters.cramers_v(DEPENDENT), rel_tol=1e-12)


@pytest.mark.parametrize("table", [INDEPENDENT, DEPENDENT], ids=["independent", "dependent"])
@pytest.mark.parametrize("mechanism", [SPLIT, PAIRS], ids=["split", "pairs"])
def test_bias_and_standard_error_are_those_of_simulated_estimates(mechanism, table):
    runs, n = (4_000, 20_000) if mechanism is SPLIT else (300, 4_000)
    draws = list(simulated(mechanism, table, n, np.random.default_rng(2), runs))
    stated = phi_squared(table, uncertainty.table_covariance(mechanism, table, 0, 1, n=n))
    values = np.array([phi_squared(draw, np.zeros((6, 6))).value for draw in draws])
    assert check.mean_z(values, stated.value + stated.bias) < 5 < check.mean_z(values, stated.value)
    assert abs(values.std() / stated.standard_error - 1) < 0.15


@pytest.mark.parametrize("n", [20, 40])
def test_the_exact_size_for_reports_of_own_coins(n):
    """All tables of n reports of two bits: where the data are independent the reports are, so nothing is to correct."""
    mechanism = RRIndependent(k=(2, 2), channels=(1.0, 2.0))
    a, b = (np.array(p) for p in ([0.3, 0.7], [0.5, 0.5]))
    ends = [keep * p + (1 - keep) / 2 for keep, p in zip(mechanism.keeps, (a, b), strict=True)]
    cuts = np.array(list(itertools.combinations(range(n + 3), 3)))
    counts = np.diff(cuts, axis=1, prepend=-1, append=n + 3) - 1
    chance = multinomial.pmf(counts, n, np.outer(*ends).ravel())
    one, two, three, four = counts.T
    margins = (one + two) * (three + four) * (one + three) * (two + four)
    with np.errstate(invalid="ignore"):
        statistic = n * (one * four - two * three) ** 2 / margins  # not a number, so not rejected, if one is empty
    assert abs(chance.sum() - 1) < 1e-9
    rejected = chance[statistic > chi2.isf(0.05, 1)].sum()
    assert 0.03 < rejected < 0.06


def test_on_the_reports_marginals_the_test_is_pearsons():
    """With own coins the corrected statistic is chi-squared of the reports, if the covariance is at their product."""
    rng, n = np.random.default_rng(3), 5_000
    parts = np.kron(*[np.eye(k) * c + (1 - c) / k for k, c in zip((3, 2), SPLIT.keeps, strict=True)])
    counts = rng.multinomial(n, DEPENDENT.ravel() @ parts).reshape(3, 2)
    raw = (counts.ravel() / n @ np.linalg.inv(parts)).reshape(3, 2)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    pearson = ((counts - expected) ** 2 / expected).sum()
    product = np.outer(raw.sum(axis=1), raw.sum(axis=0))
    found = independence_test(raw, uncertainty.table_covariance(SPLIT, product, 0, 1, n=n))
    assert math.isclose(found.statistic, pearson, rel_tol=1e-9)
    assert found.freedom == 2


@pytest.mark.parametrize(
    ("mechanism", "n", "runs"), [(SPLIT, 5_000, 1_000), (PAIRS, 2_000, 500)], ids=["split", "pairs"]
)
def test_size_and_power_of_the_test(mechanism, n, runs):
    rng, rejected = np.random.default_rng(4), {}
    for name, table in (("size", INDEPENDENT), ("power", DEPENDENT)):
        seen = []
        for draw in simulated(mechanism, table, n, rng, runs):
            product = np.outer(repaired(draw.sum(axis=1)), repaired(draw.sum(axis=0)))
            covariance = uncertainty.table_covariance(mechanism, product, 0, 1, n=n)
            seen.append(independence_test(draw, covariance).p_value < 0.05)
        rejected[name] = np.array(seen, float)
    stated = dependence.power(mechanism, DEPENDENT, 0, 1, n=n)
    assert abs(rejected["size"].mean() - 0.05) < 5 * math.sqrt(0.05 * 0.95 / runs)
    assert check.mean_z(rejected["power"], stated) < 5
    assert stated > 0.2  # what the size would be is far off


def test_users_needed_have_the_chance_that_was_asked_for():
    table = load_adult().select(4, 6).joint
    for mechanism in (ask_pairs(load_adult().k, 1.0), RRIndependent(k=load_adult().k, epsilon=4.0)):
        n = dependence.users_to_see(mechanism, table, 4, 6, chance=0.9)
        assert dependence.power(mechanism, table, 4, 6, n=n) >= 0.9 > dependence.power(mechanism, table, 4, 6, n=n - 2)


@pytest.mark.parametrize("name", ["V.1", "rare", "independent", "strong"])
def test_intervals_cover(name):
    """A sample of the page `coverage`: at least .93 but for chance; halved intervals do not, unless V is 0."""
    table, n = {
        "V.1": (np.array([[0.275, 0.225], [0.225, 0.275]]), 2_000),
        "rare": (np.array([[0.019, 0.081], [0.081, 0.819]]), 2_000),
        "independent": (INDEPENDENT, 2_000),
        "strong": (np.array([[0.4, 0.1], [0.1, 0.2], [0.1, 0.1]]), 2_000),
    }[name]
    mechanism, runs, held = RRIndependent(k=table.shape, epsilon=4.0), 150, np.zeros(2)
    truth = clusters.cramers_v(table)
    for draw in simulated(mechanism, table, n, np.random.default_rng(5), runs):
        covariance = uncertainty.table_covariance(mechanism, repaired(draw), 0, 1, n=n)
        found = dependence.cramers_v(draw, covariance)
        for column, confidence in enumerate((0.95, 0.5)):
            low, high = found.interval(confidence)
            held[column] += low - 1e-12 <= truth <= high + 1e-12
    assert held[0] / runs > 0.93 - 3 * math.sqrt(0.93 * 0.07 / runs)
    assert (held[1] / runs < 0.8) or name == "independent"


@pytest.mark.parametrize(("holders", "least", "most"), [(50, 0.4, 0.7), (150, 0.9, 1)])
def test_intervals_of_independent_rare_values_hold_too_seldom_where_hardly_anybody_holds_both(holders, least, most):
    """As `Measured.interval` says: at a large budget 0.8 and 7.5 users of 3,000 are expected to; it named V near 1."""
    n, mechanism, runs, held = 3_000, RRJoint(k=(2, 2), epsilon=12.0), 200, 0
    table = np.outer(*2 * [[holders / n, 1 - holders / n]])
    for draw in simulated(mechanism, table, n, np.random.default_rng(9), runs):
        covariance = uncertainty.table_covariance(mechanism, repaired(draw), 0, 1, n=n)
        held += dependence.cramers_v(draw, covariance).interval()[0] < 1e-9
    assert least < held / runs <= most


def test_the_interval_is_that_of_a_noncentral_chi_squared_variable():
    """Where noise is alike in all directions: s = c, and the degrees of freedom are whole numbers."""
    for freedom, value in ((1, 0.03), (3, 0.05), (6, 0.2)):
        c = 0.004  # the quadratic part has mean c freedom, variance 2 c^2 freedom; slope 2 sqrt(value) along the vector
        found = dependence.Measured(
            value=value, bias=c * freedom, slope_variance=4 * value * c, curve_variance=2 * c**2 * freedom
        )
        low, high = found.interval(0.9)
        if low:
            assert ncx2.cdf(value / c, freedom, low / c) == pytest.approx(0.95, abs=2e-3)
        else:
            assert chi2.cdf(value / c, freedom) < 0.95
        assert ncx2.cdf(value / c, freedom, high / c) == pytest.approx(0.05, abs=2e-3)
        assert found.corrected == max(value - c * freedom, 0)


@pytest.mark.parametrize("confidence", [0.95, 0.999, 0.9999])
@pytest.mark.parametrize(("freedom", "value", "c"), [(3, 0.3, 3e-5), (2, 0.07, 1e-4), (6, 2e-6, 2e-10)])
def test_intervals_at_high_confidence_reach_the_tails_of_that_variable(confidence, freedom, value, c):
    """As those of many pairs together need, and those of billions of people whose V is near 0."""
    slope = {"slope_variance": 4 * value * c, "curve_variance": 2 * c**2 * freedom}
    low, high = dependence.Measured(value=value, bias=c * freedom, **slope).interval(confidence)
    told = [f(value / c, freedom, end / c) for f, end in ((ncx2.sf, low), (ncx2.cdf, high))]
    assert told == pytest.approx(2 * [(1 - confidence) / 2], rel=0.06)


def test_a_measure_of_rare_values_says_so_and_knows_nothing():
    """Values held by 2 in 100, little privacy budget: V near 1 was told as 0."""
    table = np.array([[0.0196, 0.0004], [0.0004, 0.9796]])
    mechanism, warned = RRIndependent(k=(2, 2), epsilon=1.0), 0
    for draw in simulated(mechanism, table, 20_000, np.random.default_rng(6), 50):
        v = dependence.cramers_v(draw, uncertainty.table_covariance(mechanism, repaired(draw), 0, 1, n=20_000))
        warned += "too rare" in v.warning and math.isnan(v.value) and v.interval() == (0, 1)
    assert warned == 50
    no_noise = dependence.cramers_v([[0.5, 0.5], [0, 0]], np.zeros((4, 4)))
    assert no_noise.warning == "value 1 of attribute 0 is too rare: 0, standard error 0"


def test_rare_is_less_than_four_standard_errors():
    table = np.full((2, 2), 0.25)
    for spread, rare in ((0.5 / 4 * 1.001, True), (0.5 / 4 * 0.999, False)):
        covariance = np.diag([spread**2 / 2] * 4)  # two cells a value
        assert bool(dependence.cramers_v(table, covariance).warning) == rare


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: phi_squared(np.full((2, 2), 0.25), np.eye(3)),
            r"covariance must be finite, of shape \(4, 4",
        ),
        (lambda: phi_squared([0.5, 0.5], np.eye(2)), "table must be finite, with two axes"),
        (lambda: dependence.power(SPLIT, [[0.5, 0.5], [0, 0], [0, 0]], 0, 1, n=10), "positive marginals; got least 0"),
        (lambda: dependence.power(SPLIT, DEPENDENT * np.nan, 0, 1, n=10), "table must hold probabilities"),
        (lambda: dependence.power(SPLIT, DEPENDENT, 0, 1, n=math.nan), "n must be a number of users"),
        (lambda: dependence.power(SPLIT, DEPENDENT, 0, 1, n=10, level=math.nan), "level must be a number above 0"),
        (lambda: dependence.users_to_see(SPLIT, INDEPENDENT, 0, 1), "must hold some dependence"),
        (lambda: dependence.users_to_see(FAINT, DEPENDENT, 0, 1), "some dependence that .* users show.*, or nearly"),
        (lambda: dependence.users_to_see(SPLIT, DEPENDENT, 0, 1, chance=0.01), "above the level 0.05; got 0.01"),
        (
            lambda: dependence.power(SPLIT, DEPENDENT, 0, 1, n=10, level=5),
            "level must be a number above 0 and below 1",
        ),
    ],
)
def test_bad_input(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_cramers_v_divides_by_the_smaller_side_less_one():
    table = np.array([[0.2, 0.05, 0.05, 0.1], [0.05, 0.1, 0.05, 0.05], [0.05, 0.05, 0.2, 0.05]])
    spread = 1e-6 * (np.eye(12) - 1 / 12)
    found = dependence.cramers_v(table, spread)
    assert found.square.value == pytest.approx(clusters.cramers_v(table, squared=True))
    assert found.value**2 == pytest.approx(found.square.corrected)
    low, high = found.square.interval()
    assert found.interval() == pytest.approx((math.sqrt(low), math.sqrt(high)))
    assert dependence.cramers_v(np.outer(A, B), 1e-3 * np.eye(6)).value == 0  # less noise than its bias


def test_p_values_are_adjusted_for_their_number():
    p = [0.01, 0.04, 0.03, 0.005]
    assert adjusted_p_values(p).tolist() == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert adjusted_p_values(p, "benjamini-hochberg").tolist() == pytest.approx([0.02, 0.04, 0.04, 0.02])
    assert adjusted_p_values([0.5, 0.9]).tolist() == [1, 1]
    for wrong in ([], [0.5, math.nan], [-0.1], [[0.5]]):
        with pytest.raises(ValueError, match="p_values must be at least one number from 0 to 1"):
            adjusted_p_values(wrong)
    with pytest.raises(ValueError, match="method must be 'holm' or 'benjamini-hochberg'; got 'bonferroni'"):
        adjusted_p_values(p, "bonferroni")


def test_holm_keeps_the_probability_of_any_false_rejection_where_single_tests_do_not():
    p = np.random.default_rng(8).random((4_000, 10))
    any_false = lambda rows: (rows.min(axis=1) <= 0.05).astype(float)  # noqa: E731
    adjusted = np.array([adjusted_p_values(row) for row in p])
    assert check.mean_z(any_false(adjusted), 1 - 0.995**10) < 5 < check.mean_z(any_false(p), 0.05)


def test_power_stays_a_number_for_very_many_users():
    assert dependence.power(TWO, [[0.4, 0.1], [0.2, 0.3]], 0, 1, n=10**14) == 1
    for truthful in ([[0.5, 0], [0, 0.5]], [[0.99, 0], [0, 0.01]]):  # no noise at all, and a rare value
        mechanism = RRJoint(k=(2, 2), epsilon=60.0)
        assert dependence.power(mechanism, truthful, 0, 1, n=2_000) == pytest.approx(1, abs=1e-3)
        assert dependence.users_to_see(mechanism, truthful, 0, 1) == 5 / truthful[1][1]
    with pytest.raises(ValueError, match="positive marginals; got least 1e-30"):
        dependence.users_to_see(mechanism, [[1, 0], [0, 1e-30]], 0, 1)


@pytest.mark.parametrize("k", [(2, 4), (4, 3), (3, 3)])
def test_the_corrected_test_of_any_shape_is_pearsons(k):
    mechanism, rng, n = RRIndependent(k=k, channels=(1.0, 2.0)), np.random.default_rng(7), 900
    parts = np.kron(*[np.eye(size) * c + (1 - c) / size for size, c in zip(k, mechanism.keeps, strict=True)])
    counts = rng.multinomial(n, np.full(math.prod(k), 1 / math.prod(k))).reshape(k)
    raw = (counts.ravel() / n @ np.linalg.inv(parts)).reshape(k)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    pearson = ((counts - expected) ** 2 / expected).sum()
    product = np.outer(raw.sum(axis=1), raw.sum(axis=0))
    found = independence_test(raw, uncertainty.table_covariance(mechanism, product, 0, 1, n=n))
    freedom = (k[0] - 1) * (k[1] - 1)
    assert (found.statistic, found.freedom) == (pytest.approx(pearson), freedom)
    assert found.p_value == pytest.approx(chi2.sf(pearson, freedom))


TWO = RRIndependent(k=(2, 2), channels=(1.0, 2.0))


def seen(n, level):
    """The power for two bits: their reports' covariance is normal, and judged by its variance under independence."""
    table = np.array([[0.4, 0.1], [0.2, 0.3]])
    ends = [np.eye(2) * keep + (1 - keep) / 2 for keep in TWO.keeps]
    reports = ends[0].T @ table @ ends[1]
    one, other = (reports.sum(axis=axis)[1] for axis in (1, 0))
    product = np.outer([-one, 1 - one], [-other, 1 - other])
    mean, judged = (reports * product).sum(), one * (1 - one) * other * (1 - other)
    spread = math.sqrt((reports * product**2).sum() - mean**2)
    limit, shift = norm.isf(level / 2) * math.sqrt(judged), math.sqrt(n) * mean
    return norm.sf((limit - shift) / spread) + norm.cdf((-limit - shift) / spread)


def test_the_power_is_that_of_a_shifted_normal_variable():
    table = [[0.4, 0.1], [0.2, 0.3]]
    for n in (50, 500, 2_000):
        assert dependence.power(TWO, table, 0, 1, n=n) == pytest.approx(seen(n, 0.05))
        assert dependence.power(TWO, table, 0, 1, n=n, level=0.01) == pytest.approx(seen(n, 0.01))
    for chance, level in ((0.8, 0.05), (0.2, 0.05), (0.9999, 0.01)):
        n = dependence.users_to_see(TWO, table, 0, 1, chance=chance, level=level)
        assert seen(n, level) >= chance > seen(n - 1, level)
    assert seen(dependence.users_to_see(TWO, table, 0, 1), 0.05) == pytest.approx(0.8, abs=0.001)
    assert dependence.users_to_see(TWO, table, 0, 1, chance=0.06) == math.ceil(
        5 / 0.4
    )  # five who hold the rarest value
    for chance in (0.05, 0.04):
        with pytest.raises(ValueError, match=f"chance must be above the level 0.05; got {chance}"):
            dependence.users_to_see(TWO, table, 0, 1, chance=chance)


NO_TABLES = [
    (np.full((2, 2, 2), 0.125), np.eye(8), r"table must be finite, with two axes .*; got shape \(2, 2, 2\)"),
    ([[0.5, 0.5]], np.eye(2), r"table must be finite, with two axes of at least 2 values; got shape \(1, 2\)"),
    ([[0.5], [0.5]], np.eye(2), r"table must be finite, with two axes of at least 2 values; got shape \(2, 1\)"),
    ([[0.5, np.nan], [0.2, 0.3]], np.eye(4), "table must be finite"),
    ([[0.4, 0.1], [0.2, 0.3]], np.diag([1, 1, 1, np.nan]), "covariance must be finite"),
    ([[0.4, 0.1], [0.2, 0.3]], np.eye(4)[:3], r"covariance must be finite, of shape \(4, 4\); got \(3, 4\)"),
]


@pytest.mark.parametrize(("table", "covariance", "says"), NO_TABLES)
def test_tables_and_covariances_that_do_not_fit_are_refused(table, covariance, says):
    for call in (phi_squared, independence_test):
        with pytest.raises(ValueError, match=says):
            call(table, covariance)


def test_values_of_nothing_are_rare_and_not_divided_by():
    for table in ([[0.5, 0.0], [0.5, 0.0]], [[0.5, -0.1], [0.5, 0.1]]):
        assert dependence.cramers_v(table, TINY * np.eye(4)).warning.startswith("value 1 of attribute 1 is too rare: 0")


@pytest.mark.parametrize(("value", "ends"), [(1.5, (1.0, 1.0)), (0.0, (0.0, 0.0))])
def test_both_ends_of_an_interval_for_v_are_from_0_to_1(value, ends):
    square = dependence.Measured(value=value, bias=0.0, slope_variance=1e-4, curve_variance=1e-9)
    assert square.interval() == ends
    assert dependence.CramersV(square=square).interval() == ends

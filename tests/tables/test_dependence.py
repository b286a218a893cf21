"""Measures of dependence: derivatives by differences, exact size, simulated size, power and coverage."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chi2, multinomial, norm

from ldp_lib import check
from ldp_lib.datasets import load_adult
from ldp_lib.postprocess import project_simplex
from ldp_lib.sampled import AskSome
from ldp_lib.tables import clusters, dependence
from ldp_lib.tables import covariance as uncertainty
from ldp_lib.tables.product import RRIndependent
from ldp_lib.tables.sampled import ask_pairs

A, B = np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.4])
INDEPENDENT = np.outer(A, B)
DEPENDENT = INDEPENDENT + 0.02 * np.array([[1, -1], [-1, 1], [0, 0]])
SPLIT = RRIndependent(k=(3, 2), epsilon=3.0)
PAIRS = AskSome(k=(3, 2), epsilon=2.0, m=2, sizes=(1, 1))


def repaired(table):
    return project_simplex(table.ravel()).reshape(table.shape)


@pytest.mark.parametrize(
    ("measure", "table"),
    [
        (dependence.phi_squared, DEPENDENT),
        (dependence.mutual_information, DEPENDENT),
        (dependence.log_odds_ratio, np.array([[0.4, 0.1], [0.2, 0.3]])),
    ],
)
def test_bias_and_error_are_those_of_differences(measure, table):
    """Along any direction of sum 0, with the covariance of a step in that direction."""
    rng, h = np.random.default_rng(1), 1e-4
    value = lambda t: measure(t, np.eye(t.size)).value  # noqa: E731
    for _ in range(3):
        step = rng.normal(size=table.shape)
        step -= step.mean()
        up, here, down = (value(table + s * h * step) for s in (1, 0, -1))
        first, second = (up - down) / (2 * h), (up - 2 * here + down) / h**2
        found = measure(table, np.outer(step, step))
        assert math.isclose(found.bias, second / 2, rel_tol=1e-5)
        assert math.isclose(found.standard_error, math.sqrt(first**2 + second**2 / 2), rel_tol=1e-5)


def test_values_are_those_of_the_true_table():
    found = dependence.phi_squared(DEPENDENT, np.zeros((6, 6)))
    assert math.isclose(found.value, clusters.phi_squared(DEPENDENT), rel_tol=1e-12)
    value, _ = dependence.cramers_v(DEPENDENT, np.zeros((6, 6)))
    assert math.isclose(value, clusters.cramers_v(DEPENDENT), rel_tol=1e-12)
    assert abs(dependence.mutual_information(INDEPENDENT, np.zeros((6, 6))).value) < 1e-15
    odds = dependence.log_odds_ratio([[0.4, 0.1], [0.2, 0.3]], np.zeros((4, 4)))
    assert math.isclose(odds.value, math.log(6), rel_tol=1e-12)


@pytest.mark.parametrize("table", [INDEPENDENT, DEPENDENT], ids=["independent", "dependent"])
@pytest.mark.parametrize("mechanism", [SPLIT, PAIRS], ids=["split", "pairs"])
def test_bias_and_standard_error_are_those_of_simulated_estimates(mechanism, table):
    runs, n = (4_000, 20_000) if mechanism is SPLIT else (300, 4_000)
    draws = uncertainty.simulated_tables(mechanism, table, 0, 1, n=n, rng=np.random.default_rng(2), runs=runs)
    stated = dependence.phi_squared(table, uncertainty.table_covariance(mechanism, table, 0, 1, n=n))
    values = np.array([dependence.phi_squared(draw, np.zeros((6, 6))).value for draw in draws])
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
    found = dependence.independence_test(raw, uncertainty.table_covariance(SPLIT, product, 0, 1, n=n))
    assert math.isclose(found.statistic, pearson, rel_tol=1e-9)
    assert found.freedom == 2


@pytest.mark.parametrize(
    ("mechanism", "n", "runs"), [(SPLIT, 5_000, 1_000), (PAIRS, 2_000, 500)], ids=["split", "pairs"]
)
def test_size_and_power_of_the_test(mechanism, n, runs):
    rng, rejected = np.random.default_rng(4), {}
    for name, table in (("size", INDEPENDENT), ("power", DEPENDENT)):
        seen = []
        for draw in uncertainty.simulated_tables(mechanism, table, 0, 1, n=n, rng=rng, runs=runs):
            product = np.outer(repaired(draw.sum(axis=1)), repaired(draw.sum(axis=0)))
            covariance = uncertainty.table_covariance(mechanism, product, 0, 1, n=n)
            seen.append(dependence.independence_test(draw, covariance).p_value < 0.05)
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


GRID = [(table, n) for table in ("independent", "weak", "strong") for n in (2_000, 20_000)]
TABLES = {
    "independent": INDEPENDENT,
    "weak": DEPENDENT,
    "strong": np.array([[0.4, 0.1], [0.1, 0.2], [0.1, 0.1]]),
}


@pytest.mark.parametrize(("name", "n"), GRID)
def test_intervals_cover(name, n):
    """Of 95 per cent intervals for Cramer's V and for information, over a grid, at least 90 in 100 cover.

    Half as sure ones do not, unless the attributes are independent: there intervals begin at 0 and are too long.
    """
    table, runs, covered = TABLES[name], 300, np.zeros((2, 2))
    truths = clusters.cramers_v(table), dependence.mutual_information(table, np.zeros((6, 6))).value
    for draw in uncertainty.simulated_tables(SPLIT, table, 0, 1, n=n, rng=np.random.default_rng(5), runs=runs):
        assert draw.min() > 0
        covariance = uncertainty.table_covariance(SPLIT, draw, 0, 1, n=n)
        _, square = dependence.cramers_v(draw, covariance)
        told = dependence.mutual_information(draw, covariance)
        for column, confidence in enumerate((0.95, 0.5)):
            ends = dependence.cramers_interval(square, confidence), told.interval(confidence)
            for row, ((low, high), truth) in enumerate(zip(ends, truths, strict=True)):
                covered[row, column] += max(low, 0) - 1e-12 <= truth <= high
    assert (covered[:, 0] / runs > 0.9 - 3 * math.sqrt(0.9 * 0.1 / runs)).all()
    assert (covered[:, 1] / runs < 0.8).all() or name == "independent" or n * square.value < 20


def test_bootstrap_intervals_cover():
    """Log odds of a two by two table: basic bootstrap intervals from simulated reports, against the delta method's."""
    mechanism, n, rng = RRIndependent(k=(2, 2), channels=(2.0, 2.0)), 3_000, np.random.default_rng(6)
    table = np.array([[0.35, 0.15], [0.2, 0.3]])
    truth, covered = math.log(0.35 * 0.3 / (0.15 * 0.2)), np.zeros(2)
    value = lambda t: dependence.log_odds_ratio(t, np.zeros((4, 4))).value  # noqa: E731
    for draw in uncertainty.simulated_tables(mechanism, table, 0, 1, n=n, rng=rng, runs=200):
        again = uncertainty.simulated_tables(mechanism, draw, 0, 1, n=n, rng=rng, runs=100)
        low, high = dependence.bootstrap_interval(value(draw), value(draw), [value(t) for t in again])
        covered[0] += low <= truth <= high
        covariance = uncertainty.table_covariance(mechanism, draw, 0, 1, n=n)
        low, high = dependence.log_odds_ratio(draw, covariance).interval()
        covered[1] += low <= truth <= high
    assert (np.abs(covered / 200 - 0.94) < 5 * math.sqrt(0.95 * 0.05 / 200)).all()


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: dependence.phi_squared([[0.5, 0.5], [0, 0]], np.eye(4)), "positive marginals; got least 0"),
        (
            lambda: dependence.phi_squared(np.full((2, 2), 0.25), np.eye(3)),
            r"covariance must be finite, of shape \(4, 4",
        ),
        (lambda: dependence.phi_squared([0.5, 0.5], np.eye(2)), "table must be finite, with two axes"),
        (lambda: dependence.mutual_information([[0.5, 0], [0.2, 0.3]], np.eye(4)), "positive for a logarithm"),
        (lambda: dependence.log_odds_ratio(INDEPENDENT, np.eye(6)), "positive, two by two"),
        (lambda: dependence.users_to_see(SPLIT, INDEPENDENT, 0, 1), "must hold some dependence"),
        (lambda: dependence.users_to_see(SPLIT, DEPENDENT, 0, 1, chance=0.01), "above the level 0.05; got 0.01"),
        (lambda: dependence.power(SPLIT, DEPENDENT, 0, 1, n=10, level=5), "level must be a number above 0 and below 1"),
        (lambda: dependence.bootstrap_interval(0, 0, [1], 95), "confidence must be a number above 0 and below 1"),
    ],
)
def test_bad_input(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_intervals_by_hand():
    found = dependence.Measured(value=1.0, bias=0.25, standard_error=2.0)
    assert found.corrected == 0.75
    assert found.interval() == pytest.approx((0.75 - 2 * 1.959963985, 0.75 + 2 * 1.959963985))
    assert found.interval(0.5) == pytest.approx((0.75 - 2 * 0.6744897502, 0.75 + 2 * 0.6744897502))
    assert dependence.cramers_interval(found) == (0, 1)
    square = dependence.Measured(value=0.26, bias=0.01, standard_error=0.05)
    low, high = dependence.cramers_interval(square)
    assert (low**2, high**2) == pytest.approx((0.25 - 0.05 * 1.959963985, 0.25 + 0.05 * 1.959963985))
    draws = np.arange(101.0)  # the quantiles are 2.5 and 97.5, and a quarter and three
    assert dependence.bootstrap_interval(7.0, 10.0, draws) == pytest.approx((7 - 87.5, 7 + 7.5))
    assert dependence.bootstrap_interval(7.0, 10.0, draws, 0.5) == pytest.approx((7 - 65, 7 - 15))


def test_cramers_v_divides_by_the_smaller_side_less_one():
    table = np.array([[0.2, 0.05, 0.05, 0.1], [0.05, 0.1, 0.05, 0.05], [0.05, 0.05, 0.2, 0.05]])
    spread = 1e-6 * (np.eye(12) - 1 / 12)
    value, square = dependence.cramers_v(table, spread)
    whole = dependence.phi_squared(table, spread)
    assert (square.value, square.bias, square.standard_error) == pytest.approx(
        (whole.value / 2, whole.bias / 2, whole.standard_error / 2)
    )
    assert value**2 == pytest.approx(square.corrected)
    assert dependence.cramers_v(np.outer(A, B), np.eye(6))[0] == 0  # less noise than its bias


def test_a_covariance_that_is_negative_by_rounding_has_no_error():
    table = np.array([[0.4, 0.1], [0.2, 0.3]])
    assert dependence.log_odds_ratio(table, -1e-9 * np.eye(4)).standard_error == 0


@pytest.mark.parametrize("k", [(2, 4), (4, 3), (3, 3)])
def test_the_corrected_test_of_any_shape_is_pearsons(k):
    mechanism, rng, n = RRIndependent(k=k, channels=(1.0, 2.0)), np.random.default_rng(7), 900
    parts = np.kron(*[np.eye(size) * c + (1 - c) / size for size, c in zip(k, mechanism.keeps, strict=True)])
    counts = rng.multinomial(n, np.full(math.prod(k), 1 / math.prod(k))).reshape(k)
    raw = (counts.ravel() / n @ np.linalg.inv(parts)).reshape(k)
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / n
    pearson = ((counts - expected) ** 2 / expected).sum()
    product = np.outer(raw.sum(axis=1), raw.sum(axis=0))
    found = dependence.independence_test(raw, uncertainty.table_covariance(mechanism, product, 0, 1, n=n))
    freedom = (k[0] - 1) * (k[1] - 1)
    assert (found.statistic, found.freedom) == (pytest.approx(pearson), freedom)
    assert found.p_value == pytest.approx(chi2.sf(pearson, freedom))


TWO = RRIndependent(k=(2, 2), channels=(1.0, 2.0))


def seen(n, level):
    """The power for two bits, from the law of the reports: they are independent of each other as the data are."""
    table = np.array([[0.4, 0.1], [0.2, 0.3]])
    ends = [np.eye(2) * keep + (1 - keep) / 2 for keep in TWO.keeps]
    reports = ends[0].T @ table @ ends[1]
    shift = math.sqrt(n * clusters.phi_squared(reports))
    return norm.sf(norm.isf(level / 2) - shift) + norm.cdf(-norm.isf(level / 2) - shift)


def test_the_power_is_that_of_a_shifted_normal_variable():
    table = [[0.4, 0.1], [0.2, 0.3]]
    for n in (50, 500, 2_000):
        assert dependence.power(TWO, table, 0, 1, n=n) == pytest.approx(seen(n, 0.05))
        assert dependence.power(TWO, table, 0, 1, n=n, level=0.01) == pytest.approx(seen(n, 0.01))
    for chance, level in ((0.8, 0.05), (0.06, 0.05), (0.9999, 0.01)):
        n = dependence.users_to_see(TWO, table, 0, 1, chance=chance, level=level)
        assert seen(n, level) >= chance > seen(n - 1, level)
    assert seen(dependence.users_to_see(TWO, table, 0, 1), 0.05) == pytest.approx(0.8, abs=0.001)
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
    for call in (dependence.phi_squared, dependence.log_odds_ratio, dependence.independence_test):
        with pytest.raises(ValueError, match=says):
            call(table, covariance)


def test_measures_say_which_tables_they_take():
    for table in ([[0.5, 0.0], [0.2, 0.3]], [[0.6, -0.1], [0.2, 0.3]]):
        with pytest.raises(ValueError, match=r"two by two; got shape \(2, 2\), least"):
            dependence.log_odds_ratio(table, np.eye(4))
        with pytest.raises(ValueError, match="table must be positive for a logarithm; got least"):
            dependence.mutual_information(table, np.eye(4))
    for table in ([[0.5, 0.0], [0.5, 0.0]], [[0.5, -0.1], [0.5, 0.1]]):
        with pytest.raises(ValueError, match=r"table must have positive marginals; got least .*: repair it first"):
            dependence.phi_squared(table, np.eye(4))
    for confidence in (0.0, 1.0):
        with pytest.raises(ValueError, match="confidence must be a number above 0 and below 1"):
            dependence.Measured(value=1.0, bias=0.0, standard_error=1.0).interval(confidence)


@pytest.mark.parametrize(("value", "ends"), [(1.5, (1.0, 1.0)), (-1.5, (0.0, 0.0))])
def test_both_ends_of_an_interval_for_v_are_from_0_to_1(value, ends):
    square = dependence.Measured(value=value, bias=0.0, standard_error=0.01)
    assert dependence.cramers_interval(square) == ends

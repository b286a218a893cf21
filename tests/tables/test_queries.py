"""Queries of boxes: the estimate is the table's sum, the variance is exact, intervals cover, large domains do."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from ldp_lib import check
from ldp_lib.population import Population
from ldp_lib.splitting import SPL
from ldp_lib.tables import queries
from ldp_lib.tables.clusters import RRClusters
from ldp_lib.tables.product import ProductRR, RRIndependent, RRJoint

MATRIX = 0.7 * np.eye(4) + 0.3 * np.array([[0.1, 0.2, 0.3, 0.4]] * 4)
MECHANISMS = [
    RRIndependent(k=(2, 3, 2), epsilon=3.0),
    RRJoint(k=(2, 3, 2), epsilon=2.0),
    RRClusters(k=(2, 3, 2), epsilon=3.0, clusters=((2, 0), (1,))),
    ProductRR(k=(2, 3, 2), clusters=((2, 0), (1,)), channels=(MATRIX, 1.0)),
]
QUERIES = [
    {0: [1]},
    {1: [0, 2], 2: 1},
    {0: [0], 1: [1], 2: [0]},
    [{0: [0], 1: [1]}, {0: [1], 2: [0]}, {1: [2], 0: [0]}],
]


def indicator(where, k):
    table = np.zeros(k)
    for box in [where] if isinstance(where, dict) else where:
        table[np.ix_(*(np.atleast_1d(box.get(j, np.arange(size))) for j, size in enumerate(k)))] += 1
    return table


@pytest.mark.parametrize("where", QUERIES)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_against_the_table_and_by_enumeration(mechanism, where):
    """One record at a time: the mean is whether it is in, and the estimate of the variance is unbiased."""
    law, member = mechanism.channel(), indicator(where, mechanism.k)
    answers = [queries.ask(mechanism, report[None], where) for report in mechanism.reports()]
    scores = np.array([answer.estimate for answer in answers])
    tables = [(mechanism.estimate_table(report[None]) * member).sum() for report in mechanism.reports()]
    assert np.allclose(scores, tables, rtol=1e-9, atol=1e-9)
    for record, row in zip(np.ndindex(*mechanism.k), law, strict=True):
        variance = row @ (scores - member[record]) ** 2
        assert math.isclose(row @ scores, member[record], abs_tol=1e-9)
        assert math.isclose(row @ [answer.variance for answer in answers], variance, rel_tol=1e-8, abs_tol=1e-9)


@pytest.mark.parametrize(("share", "confidence"), list(itertools.product([0.02, 0.5], [0.8, 0.95])))
def test_intervals_cover(share, confidence):
    mechanism, rng, runs = RRIndependent(k=(3, 2), epsilon=2.0), np.random.default_rng(1), 1_500
    x = np.zeros((2_000, 2), int)
    x[: int(share * 2_000)] = 1
    truth = int(share * 2_000) / 2_000
    held = []
    for _ in range(runs):
        low, high = queries.ask(mechanism, mechanism.perturb(x, rng=rng), {0: [1], 1: [1]}).interval(confidence)
        held.append(float(low <= truth <= high))
    assert check.mean_z(np.array(held), confidence) < 5
    assert check.mean_z(np.array(held), confidence - 0.1) > 5


def test_sixty_binary_attributes():
    """A million cells of a million would not fit: 2**60 of them, and a conjunction of eight answers."""
    rng, n = np.random.default_rng(2), 20_000
    mechanism = RRIndependent(k=(2,) * 60, epsilon=180.0)
    x = rng.integers(2, size=(n, 60))
    x[:8_000, :8] = 1
    where, everything = {j: [1] for j in range(8)}, {j: [0, 1] for j in range(60)}
    y = mechanism.perturb(x, rng=rng)
    answer, mean = queries.ask(mechanism, y, where), np.ones(n)
    square = np.ones(n)  # of the product of independent scores, one a condition
    for j, keep in enumerate(mechanism.keeps[:8]):
        p = keep * x[:, j] + (1 - keep) / 2  # of a report that fits
        square *= (p * (1 + keep) ** 2 + (1 - p) * (1 - keep) ** 2) / (4 * keep**2)
        mean *= x[:, j]
    variance = (square - mean).sum() / n**2
    truth = x[:, :8].all(axis=1).mean()
    assert abs(answer.estimate - truth) < 5 * math.sqrt(variance)
    assert abs(answer.estimate - 1.1 * truth) > 5 * math.sqrt(variance)
    assert math.isclose(answer.variance, variance, rel_tol=0.2)
    assert math.isclose(queries.ask(mechanism, y, everything).estimate, 1, rel_tol=1e-9)


@pytest.mark.parametrize(
    ("where", "error", "says"),
    [
        ({3: [0]}, ValueError, "attributes from 0 to 2; got 3"),
        ({"age": [0]}, ValueError, "attributes from 0 to 2; got 'age'"),
        ({1: [3]}, ValueError, "values from 0 to 2 for attribute 1"),
        ({1: []}, TypeError, "at least one integer for attribute 1"),
        ({1: [0.5]}, TypeError, "at least one integer for attribute 1"),
        ({}, TypeError, "where must be a dict"),
        ([{0: [1]}, {1: [1]}], ValueError, "two overlap"),
    ],
)
def test_bad_input(where, error, says):
    with pytest.raises(error, match=says):
        queries.ask(MECHANISMS[0], np.zeros((2, 3), int), where)


def test_bad_mechanism_and_confidence():
    with pytest.raises(TypeError, match="mechanism must be one of clusters"):
        queries.ask(SPL(k=(2, 2), epsilon=1.0), np.zeros((2, 2), int), {0: [1]})
    answer = queries.ask(MECHANISMS[0], np.zeros((2, 3), int), {0: [1]})
    with pytest.raises(ValueError, match="confidence must be a number above 0 and below 1; got 95"):
        answer.interval(95)


SURVEY = np.array([[0, 0, 1], [1, 2, 1], [1, 1, 0], [0, 2, 1], [1, 2, 0]])


@pytest.mark.parametrize("where", QUERIES)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_several_reports_add_up(mechanism, where):
    scores = np.array([queries.ask(mechanism, report[None], where).estimate for report in SURVEY])
    answer = queries.ask(mechanism, SURVEY, where)
    assert answer.estimate == pytest.approx(scores.mean())
    assert answer.variance == pytest.approx(((scores**2).mean() - scores.mean()) / 5)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_a_share_within_a_box_is_a_ratio_with_its_delta_variance(mechanism):
    where, given = {1: [0, 2]}, {0: [1], 2: [0, 1]}
    both, base = (
        np.array([queries.ask(mechanism, row[None], box).estimate for row in SURVEY]) for box in (where | given, given)
    )
    ratio = both.sum() / base.sum()
    spread = ((both - ratio * base) ** 2).mean() - base.mean() * ratio * (
        1 - ratio
    )  # less what the data themselves add
    answer = queries.ask(mechanism, SURVEY, where, given=given)
    assert answer.estimate == pytest.approx(ratio)
    assert answer.variance == pytest.approx(spread / (5 * base.mean() ** 2))


def test_reports_of_all_blocks_are_read(monkeypatch):
    mechanism, where, given = MECHANISMS[0], {1: [0, 2], 2: [1]}, {0: [1]}
    y = np.random.default_rng(3).integers(0, mechanism.k, (2 * queries.BLOCK + 7, 3))
    y[[0, queries.BLOCK - 1, queries.BLOCK, 2 * queries.BLOCK, -1]] = [1, 0, 1]
    whole = [queries.ask(mechanism, y, where), queries.ask(mechanism, y, where, given=given)]
    monkeypatch.setattr(queries, "BLOCK", len(y))
    again = [queries.ask(mechanism, y, where), queries.ask(mechanism, y, where, given=given)]
    for one, other in zip(whole, again, strict=True):
        assert one.estimate == pytest.approx(other.estimate, rel=1e-12)
        assert one.variance == pytest.approx(other.variance, rel=1e-9)
    table = mechanism.estimate_table(y, 1, 2)
    assert whole[0].estimate == pytest.approx(table[0, 1] + table[2, 1])


def test_an_interval_is_the_normal_one_with_half_a_step():
    answer = queries.Answer(estimate=0.5, variance=0.04, step=0.0)
    assert answer.interval() == pytest.approx((0.5 - 0.2 * 1.959963984540054, 0.5 + 0.2 * 1.959963984540054))
    assert answer.interval(0.5) == pytest.approx((0.5 - 0.2 * 0.6744897501960817, 0.5 + 0.2 * 0.6744897501960817))
    assert answer.interval(1 - 2.0**-53)[1] == pytest.approx(0.5 + 0.2 * 8.292361075813595, rel=1e-12)  # not infinite
    half = 0.1 * math.sqrt(0.5) * 1.959963984540054 + 0.05
    assert queries.Answer(estimate=0.5, variance=-0.04, step=0.1).interval() == pytest.approx((0.5 - half, 0.5 + half))
    for wrong in (0, 1, 0.0, 1.0, True, "0.9", None, math.nan):
        with pytest.raises((TypeError, ValueError), match="confidence must be a number above 0 and below 1; got"):
            answer.interval(wrong)


@pytest.mark.parametrize("holders", [0, 1, 2])
@pytest.mark.parametrize("epsilon", [4.0, 6.0, 8.0])
def test_few_holders_at_a_large_budget_are_covered(holders, epsilon):
    """From the exact distribution of the number of reports in the cell; without the step one holder is missed."""
    mechanism, n = RRJoint(k=(4, 4), epsilon=epsilon), 200
    (keep,) = mechanism.keeps
    free = (1 - keep) / 16
    law = np.convolve(binom.pmf(range(holders + 1), holders, keep + free), binom.pmf(range(n + 1), n - holders, free))
    covered = np.zeros(2)
    for fits, probability in enumerate(law[:40]):
        y = np.zeros((n, 2), int)
        y[:fits] = [1, 2]
        answer = queries.ask(mechanism, y, {0: [1], 1: [2]})
        assert answer.step == pytest.approx(1 / (keep * n))
        for row, one in enumerate((answer, dataclasses.replace(answer, step=0.0))):
            low, high = one.interval()
            covered[row] += probability * (low - 1e-12 <= holders / n <= high + 1e-12)
    assert covered[0] > 0.93
    assert covered[1] < covered[0]


@pytest.mark.parametrize(("n", "told"), [(1_900, 0.85), (4_000, 0.91), (20_000, 0.953)])
def test_a_cell_with_few_false_reports_is_covered_less_often_as_told(n, told):
    """1.9, 4 and 20 of them, of 1,000 cells: nobody holds it, from the exact distribution of its reports."""
    mechanism = RRJoint(k=(10, 100), epsilon=0.5)
    false, covered = (1 - mechanism.keeps[0]) / 1_000, 0.0
    for fits in range(80):
        answer = queries.ask(mechanism, np.repeat([[1, 2], [0, 0]], [fits, n - fits], axis=0), {0: [1], 1: [2]})
        covered += binom.pmf(fits, n, false) * (answer.interval()[0] <= 0 <= answer.interval()[1])
    assert covered == pytest.approx(told, abs=0.005)


def test_the_step_is_the_range_of_a_reports_scores():
    for mechanism in MECHANISMS:
        answer = queries.ask_cells(mechanism, SURVEY, (0, 1, 2), [[1, 2, 0]])
        scores = [queries.ask_cells(mechanism, r[None], (0, 1, 2), [[1, 2, 0]]).estimate for r in mechanism.reports()]
        assert answer.step == pytest.approx(np.ptp(scores) / len(SURVEY))
        assert queries.ask(mechanism, SURVEY, {0: [1]}).step == pytest.approx(
            queries.ask_cells(mechanism, SURVEY, (0,), [[1]]).step
        )
        for box in ({0: [1], 1: [2], 2: [0]}, {0: [0], 1: [0, 1, 2], 2: [1]}, {0: [0, 1]}):
            scores = [queries.ask(mechanism, report[None], box).estimate for report in mechanism.reports()]
            step = queries.ask(mechanism, SURVEY, box).step
            assert step == pytest.approx(np.ptp(scores) / len(SURVEY), abs=1e-12)


def test_the_step_hardly_widens_an_interval_of_many_reports():
    """About 39 of 10,000 users are in the box: the product of the attributes' own ranges is 1.2 standard errors."""
    mechanism, rng = RRIndependent(k=(2,) * 8, epsilon=8.0), np.random.default_rng(5)
    y = mechanism.perturb(rng.integers(2, size=(10_000, 8)), rng=rng)
    answer = queries.ask(mechanism, y, {j: [0] for j in range(8)})
    assert math.prod(1 / keep for keep in mechanism.keeps) / 10_000 > 1.1 * math.sqrt(answer.variance)
    assert answer.step < 0.15 * math.sqrt(answer.variance)


@pytest.mark.parametrize(
    ("where", "error", "says"),
    [
        ([], TypeError, "where must be a dict from attributes to values, or a list of such"),
        ([{0: [1]}, {}], TypeError, "where must be a dict"),
        ([{0: [1]}, [1]], TypeError, "where must be a dict"),
        ({-1: [0]}, ValueError, "attributes from 0 to 2; got -1"),
        ({True: [0]}, ValueError, "attributes from 0 to 2; got True"),
        ({1.0: [0]}, ValueError, r"attributes from 0 to 2; got 1\.0"),
        ({1: [-1, 0]}, ValueError, "values from 0 to 2 for attribute 1"),
        ({1: [0, 3]}, ValueError, "values from 0 to 2 for attribute 1"),
        ({2: [2]}, ValueError, "values from 0 to 1 for attribute 2"),
        ({1: [[0, 1]]}, TypeError, "at least one integer for attribute 1"),
        ([{0: [0]}, {0: [1], 1: [1]}, {1: [1, 2], 2: [0]}], ValueError, "two overlap"),
        ([{0: [1], 1: [0, 1]}, {0: [1], 1: [1, 2]}], ValueError, "two overlap"),
    ],
)
def test_each_part_of_a_box_is_looked_at(where, error, says):
    with pytest.raises(error, match=says):
        queries._check_boxes(MECHANISMS[0], where)


def test_boxes_become_members_of_each_attribute():
    found = queries._check_boxes(MECHANISMS[0], [{np.int64(1): [2, 2]}, {0: 1, 1: np.array([0, 1])}])
    assert [{j: member.tolist() for j, member in box.items()} for box in found] == [
        {1: [False, False, True]},
        {0: [False, True], 1: [True, True, False]},
    ]
    for call in (
        lambda: queries.ask(MECHANISMS[0], SURVEY, {0: 1}, given=[{1: 0}, {1: 1}]),
        lambda: queries.ask(MECHANISMS[0], SURVEY + 2, {0: 1}),
    ):
        with pytest.raises(ValueError, match=r"unpack|y must be from 0"):
            call()


def test_boxes_within_a_box_add_up():
    one, other = (queries.ask(MECHANISMS[0], SURVEY, box, given={1: 1}).estimate for box in ({0: 1}, {0: 0, 2: 1}))
    both = queries.ask(MECHANISMS[0], SURVEY, [{0: 1}, {0: 0, 2: 1}], given={1: 1})
    assert both.estimate == pytest.approx(one + other)


def test_a_box_that_is_estimated_to_hold_nobody_has_no_shares():
    channels = ([[0.5, 0.5], [0.25, 0.75]], 1.0)  # a report of the value 1 adds 2 to it, one of 0 takes off 2
    mechanism = ProductRR(k=(2, 2), clusters=((0,), (1,)), channels=channels)
    assert queries.ask(mechanism, np.array([[0, 0], [1, 0]]), {0: [1]}).estimate == 0
    with pytest.raises(ValueError, match=r"given must hold some users; it is estimated to hold a share of 0\.0"):
        queries.ask(mechanism, np.array([[0, 0], [1, 0]]), {1: [0]}, given={0: [1]})


ODD = lambda cells: cells.sum(axis=1) % 2 == 1  # noqa: E731


@pytest.mark.parametrize("attributes", [(0, 1, 2), (2, 0), (1,)])
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_any_cells_by_enumeration(mechanism, attributes):
    """One user at a time, over all reports: the mean is whether the user is in, the variance's estimate is unbiased."""
    answers = [queries.ask_cells(mechanism, r[None], attributes, ODD) for r in mechanism.reports()]
    values, variances = np.array([(a.estimate, a.variance) for a in answers]).T
    for record, law in zip(np.ndindex(*mechanism.k), mechanism.channel(), strict=True):
        truth = ODD(np.array([record])[:, attributes])[0]
        assert math.isclose(law @ values, truth, abs_tol=1e-12)
        assert math.isclose(law @ (values - truth) ** 2, law @ variances, rel_tol=1e-9, abs_tol=1e-9)
    found = queries.ask_cells(mechanism, SURVEY, attributes, ODD)
    scores = [queries.ask_cells(mechanism, report[None], attributes, ODD).estimate for report in SURVEY]
    assert found.estimate == pytest.approx(np.mean(scores))
    assert found.variance == pytest.approx((np.mean(np.square(scores)) - np.mean(scores)) / 5)


def test_a_box_by_its_cells_is_the_box():
    mechanism, y = RRIndependent(k=(2,) * 6, epsilon=9.0), np.random.default_rng(1).integers(2, size=(3_000, 6))
    one = queries.ask(mechanism, y, {0: [1], 3: [0]})
    other = queries.ask_cells(mechanism, y, (3, 0), [[0, 1]])
    assert (one.estimate, one.variance) == pytest.approx((other.estimate, other.variance), rel=1e-9)


def test_cells_that_do_not_fit_are_refused():
    for call, error, says in (
        (lambda m, y: queries.ask_cells(m, y, (0, 7), np.ones((2, 2), bool)), ValueError, "from 0 to 2"),
        (lambda m, y: queries.ask_cells(None, y, (0,), [[0]]), TypeError, "mechanism must be one of clusters"),
        (lambda m, y: queries.ask_cells(m, y, (0,), [[5]]), ValueError, "subset must be from 0 to 1 in column 0"),
        (lambda m, y: queries.ask(m, y, {0: [1]}, given={0: [0]}), ValueError, "other attributes than where"),
    ):
        with pytest.raises(error, match=says):
            call(MECHANISMS[0], np.zeros((40, 3), int))
    mechanism = RRIndependent(k=(2,) * 60, epsilon=60.0)
    with pytest.raises(ValueError, match=r"at most 2\*\*22 cells together; got 1152921504606846976: see ask"):
        queries.ask_cells(mechanism, np.zeros((2, 60), int), range(60), [[0] * 60])


def test_a_share_within_a_box_is_unbiased_for_many_users_with_the_stated_variance():
    mechanism, rng = RRIndependent(k=(2, 3), epsilon=3.0), np.random.default_rng(4)
    x, values = Population.from_counts([[700, 300, 500], [200, 900, 400]]).users(), []
    for _ in range(800):
        answer = queries.ask(mechanism, mechanism.perturb(x, rng=rng), {0: [1]}, given={1: [1, 2]})
        values.append((answer.estimate, answer.variance))
    estimates, variances = np.array(values).T
    assert check.mean_z(estimates, 1300 / 2100) < 5 < check.mean_z(estimates, 0.95 * 1300 / 2100)
    assert check.variance_z(estimates, variances.mean()) < 5 < check.variance_z(estimates, 1.5 * variances.mean())


@pytest.mark.parametrize(("holders", "least", "most"), [(1_457, 0.8, 0.91), (2_820, 0.92, 0.98)])
def test_a_given_box_needs_six_of_its_standard_errors(holders, least, most):
    """Told are 87 of 100 at 3.1 of them, where the estimate is above three: the page said that three are enough."""
    mechanism, n, rng, held = RRJoint(k=(10, 3), epsilon=1.0), 3_000, np.random.default_rng(3), []
    x = np.array([[0, 0], [9, 0], [9, 1]]).repeat([holders * 9 // 10, holders - holders * 9 // 10, n - holders], axis=0)
    while len(held) < 400:
        y = mechanism.perturb(x, rng=rng)
        box = queries.ask(mechanism, y, {1: [0]})
        if box.estimate > 3 * box.variance**0.5:
            low, high = queries.ask(mechanism, y, {0: [0]}, given={1: [0]}).interval()
            held.append(low <= holders * 9 // 10 / holders <= high)
    assert least < np.mean(held) < most


def test_a_subset_is_cells_booleans_or_a_function():
    cells, sizes = [[0, 1], [1, 0], [1, 2]], (2, 3)
    member = np.array([[False, True, False], [True, False, True]])
    for subset in (cells, member, lambda every: every.sum(axis=1) % 2 == 1):
        assert queries._check_subset(subset, sizes).tolist() == cells
    for wrong in (member.T, member.astype(float), [0, 1], [[0.0, 1.0]], [*cells, [0, 1]]):
        with pytest.raises(
            ValueError, match=r"subset must be booleans of shape \(2, 3\), distinct cells of shape \(m, 2\)"
        ):
            queries._check_subset(wrong, sizes)
    for wrong in (lambda every: every[:, 0], lambda every: every > 0, lambda every: np.array([True])):
        with pytest.raises(ValueError, match="subset must give one boolean a row; got"):
            queries._check_subset(wrong, sizes)


def test_a_function_is_asked_about_four_million_cells_and_no_more():
    def asked(every):
        raise LookupError(len(every))

    with pytest.raises(LookupError, match="4194304"):
        queries._check_subset(asked, (2**22,))
    large = RRIndependent(k=(2**22 + 1, 2), epsilon=1.0)
    with pytest.raises(ValueError, match=r"at most 2\*\*22 cells together; got 4194305"):
        queries.ask_cells(large, np.zeros((2, 2), int), (0,), asked)

"""Sets of cells that are no box: by enumeration of one user's reports, against the table, and for sixty attributes."""

import math
import tracemalloc

import numpy as np
import pytest

from ldp_lib import check
from ldp_lib.population import Population
from ldp_lib.tables import predicates, queries
from ldp_lib.tables.clusters import RRClusters
from ldp_lib.tables.product import ProductRR, RRIndependent, RRJoint

MATRIX = 0.7 * np.eye(4) + 0.3 * np.array([[0.1, 0.2, 0.3, 0.4]] * 4)
MECHANISMS = [
    RRIndependent(k=(2, 3, 2), epsilon=3.0),
    RRJoint(k=(2, 3, 2), epsilon=2.0),
    ProductRR(k=(2, 3, 2), clusters=((2, 0), (1,)), channels=(MATRIX, 1.0)),
]
each = pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
WHERE = {0: [1], 1: [0, 2], 2: [0]}


def users(k):
    return [Population.from_records(np.array([record]), k=k) for record in np.ndindex(*k)]


@each
@pytest.mark.parametrize("attributes", [(0, 1, 2), (2, 0), (1,)])
def test_any_cells_by_enumeration(mechanism, attributes):
    """One user at a time: the mean over all reports is whether the user is in, the variance is the stated one."""
    subset = lambda cells: cells.sum(axis=1) % 2 == 1  # noqa: E731
    channel, reports = mechanism.channel(), mechanism.reports()
    values = np.array([predicates.ask_cells(mechanism, r[None], attributes, subset).estimate for r in reports])
    for population, law in zip(users(mechanism.k), channel, strict=True):
        truth = subset(population.records[:, attributes])[0]
        variance = predicates.cells_variance(mechanism, population, attributes, subset)
        assert math.isclose(law @ values, truth, abs_tol=1e-12)
        assert math.isclose(law @ (values - truth) ** 2, variance, rel_tol=1e-9)


@pytest.mark.parametrize("which", [lambda count: count >= 2, lambda count: count % 2 == 1, [False, True, False, False]])
def test_how_many_conditions_hold_by_enumeration(which):
    mechanism = MECHANISMS[0]
    values = [predicates.ask_count(mechanism, r[None], WHERE, which).estimate for r in mechanism.reports()]
    chosen = np.asarray(which(np.arange(4)) if callable(which) else which)
    for population, law in zip(users(mechanism.k), mechanism.channel(), strict=True):
        held = sum(population.records[0, j] in WHERE[j] for j in WHERE)
        variance = predicates.count_variance(mechanism, population, WHERE, which)
        assert math.isclose(law @ values, chosen[held], abs_tol=1e-12)
        assert math.isclose(law @ (np.array(values) - chosen[held]) ** 2, variance, rel_tol=1e-9)


def test_two_ways_to_ask_the_same():
    mechanism, rng = RRIndependent(k=(2,) * 6, epsilon=9.0), np.random.default_rng(1)
    population = Population.from_records(rng.integers(2, size=(3_000, 6)), k=mechanism.k)
    y = mechanism.perturb(population.users(), rng=rng)
    where = {j: [1] for j in range(6)}
    one = predicates.ask_count(mechanism, y, where, lambda count: count >= 4)
    other = predicates.ask_cells(mechanism, y, range(6), lambda cells: cells.sum(axis=1) >= 4)
    assert math.isclose(one.estimate, other.estimate, rel_tol=1e-9)
    assert math.isclose(one.variance, other.variance, rel_tol=1e-9)
    exact = predicates.count_variance(mechanism, population, where, lambda count: count >= 4)
    subset = lambda cells: cells.sum(axis=1) >= 4  # noqa: E731
    assert math.isclose(exact, predicates.cells_variance(mechanism, population, range(6), subset), rel_tol=1e-9)


def test_sixty_attributes_need_little_memory():
    rng = np.random.default_rng(2)
    mechanism = RRIndependent(k=(2,) * 60, epsilon=360.0)
    x = (rng.random((100_000, 60)) < 0.5).astype(np.uint8)
    y, where = mechanism.perturb(x, rng=rng), {j: [1] for j in range(60)}
    tracemalloc.start()
    answer = predicates.ask_count(mechanism, y, where, lambda count: count >= 33)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    population = Population.from_records(x[:2_000], k=mechanism.k)
    variance = predicates.count_variance(mechanism, population, where, lambda count: count >= 33) * 2_000 / 100_000
    truth = (x.sum(axis=1) >= 33).mean()
    assert most < 50e6
    assert abs(answer.estimate - truth) < 5 * math.sqrt(variance)
    assert abs(answer.estimate - 1.2 * truth) > 5 * math.sqrt(variance)
    assert math.isclose(answer.variance, variance, rel_tol=0.2)


def test_intervals_cover_as_often_as_they_say():
    mechanism, rng = RRIndependent(k=(2, 3, 2, 2), epsilon=6.0), np.random.default_rng(3)
    population = Population.from_counts(rng.multinomial(500, rng.dirichlet(np.ones(24))).reshape(mechanism.k))
    x, subset = population.users(), lambda cells: cells.sum(axis=1) >= 3
    truth, covered = subset(x).mean(), np.zeros((2, 2))
    inside, base = ((x[:, 0] == 1) & (x[:, 2] == 0)).sum(), (x[:, 2] == 0).sum()
    runs = 300
    for _ in range(runs):
        y = mechanism.perturb(x, rng=rng)
        answers = (
            (predicates.ask_cells(mechanism, y, range(4), subset), truth),
            (queries.ask_given(mechanism, y, {0: [1]}, {2: [0]}), inside / base),
        )
        for row, (answer, right) in enumerate(answers):
            for column, confidence in enumerate((0.95, 0.5)):
                low, high = answer.interval(confidence)
                covered[row, column] += low <= right <= high
    spread = np.sqrt(np.array([0.95 * 0.05, 0.25]) / runs)
    assert (np.abs(covered / runs - [0.95, 0.5]) < 5 * spread).all()


def test_a_share_within_a_box_is_unbiased_for_many_users_with_the_stated_variance():
    mechanism, rng = RRIndependent(k=(2, 3), epsilon=3.0), np.random.default_rng(4)
    population = Population.from_counts([[700, 300, 500], [200, 900, 400]])
    x, values = population.users(), []
    for _ in range(800):
        answer = queries.ask_given(mechanism, mechanism.perturb(x, rng=rng), {0: [1]}, {1: [1, 2]})
        values.append((answer.estimate, answer.variance))
    estimates, variances = np.array(values).T
    assert check.mean_z(estimates, 1300 / 2100) < 5 < check.mean_z(estimates, 0.95 * 1300 / 2100)
    assert check.variance_z(estimates, variances.mean()) < 5 < check.variance_z(estimates, 1.5 * variances.mean())


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda m, y: predicates.ask_count(m, y, {9: [0]}, [True, False]), ValueError, "attributes from 0 to 2; got 9"),
        (lambda m, y: predicates.ask_count(m, y, {0: [0]}, [1, 0]), ValueError, "which must be booleans for 0 to 1"),
        (
            lambda m, y: predicates.ask_count(RRJoint(k=(2, 3, 2), epsilon=1.0), y, WHERE, lambda c: c > 1),
            ValueError,
            "attributes of different clusters",
        ),
        (lambda m, y: predicates.ask_cells(m, y, (0, 7), np.ones((2, 2), bool)), ValueError, "from 0 to 2"),
        (lambda m, y: predicates.ask_cells(None, y, (0,), [[0]]), TypeError, "mechanism must be one of clusters"),
        (lambda m, y: predicates.ask_cells(m, y, (0,), [[5]]), ValueError, "subset must be from 0 to 1 in column 0"),
        (lambda m, y: queries.ask_given(m, y, {0: [1]}, {0: [0]}), ValueError, "other attributes than where"),
        (lambda m, y: queries.ask_given(m, y, {0: [1]}, {1: [2]}), ValueError, "given must hold some users"),
    ],
)
def test_bad_input(call, error, says):
    with pytest.raises(error, match=says):
        call(MECHANISMS[0], np.zeros((40, 3), int))


def test_too_many_cells_are_refused_and_the_message_says_what_to_do():
    mechanism = RRIndependent(k=(2,) * 60, epsilon=60.0)
    with pytest.raises(ValueError, match=r"at most 2\*\*22 cells together; got 1152921504606846976: see ask_count"):
        predicates.ask_cells(mechanism, np.zeros((2, 60), int), range(60), [[0] * 60])


SURVEY = np.array([[0, 0, 1], [1, 2, 1], [1, 1, 0], [0, 2, 1], [1, 2, 0]])
ODD = lambda cells: cells.sum(axis=1) % 2 == 1  # noqa: E731


def is_the_mean(answer, singles):
    """Check that an answer is the mean of single reports' scores, with the variance of fixed data that they give."""
    scores = np.array([single.estimate for single in singles])
    assert answer.estimate == pytest.approx(scores.mean())
    assert answer.variance == pytest.approx(((scores**2).mean() - scores.mean()) / len(scores))


@each
@pytest.mark.parametrize("attributes", [(0, 1, 2), (2, 0), (1,)])
def test_several_reports_add_up(mechanism, attributes):
    ask = lambda y: predicates.ask_cells(mechanism, y, attributes, ODD)  # noqa: E731
    is_the_mean(ask(SURVEY), [ask(report[None]) for report in SURVEY])
    people = Population.from_records(np.vstack([SURVEY, SURVEY[:2]]), k=mechanism.k)
    own = [
        predicates.cells_variance(mechanism, Population.from_records(row[None], k=mechanism.k), attributes, ODD)
        for row in people.users()
    ]
    assert predicates.cells_variance(mechanism, people, attributes, ODD) == pytest.approx(sum(own) / 49)


KINDS = RRClusters(k=(2, 3, 2, 4), clusters=((0,), (1,), (2,), (3,)), epsilons=(1.0, 0.7, 1.0, 2.0))


@pytest.mark.parametrize("which", [lambda count: count % 3 == 1, [True, False, False, True, False]])
def test_conditions_of_several_kinds_of_coins_add_up(which):
    where = {0: [1], 2: [0], 1: [0, 2], 3: [1, 2]}
    y = np.column_stack([SURVEY, [3, 0, 1, 1, 2]])
    ask = lambda y: predicates.ask_count(KINDS, y, where, which)  # noqa: E731
    singles = [ask(report[None]) for report in y]
    is_the_mean(ask(y), singles)
    chosen = np.asarray(which(np.arange(5)) if callable(which) else which)
    member = lambda cells: chosen[sum(np.isin(cells[:, j], where[j]).astype(int) for j in where)]  # noqa: E731
    for row, single in zip(y, singles, strict=True):
        assert single.estimate == pytest.approx(predicates.ask_cells(KINDS, row[None], range(4), member).estimate)
    people = Population.from_records(np.vstack([y, y[:3]]), k=KINDS.k)
    exact = predicates.cells_variance(KINDS, people, range(4), member)
    assert predicates.count_variance(KINDS, people, where, which) == pytest.approx(exact)


def test_blocks_are_all_read(monkeypatch):
    y = np.random.default_rng(5).integers(0, KINDS.k, (300, 4))
    where = {0: [1], 2: [0], 1: [0, 2]}
    calls = (
        lambda: predicates.ask_count(KINDS, y, where, lambda count: count >= 2),
        lambda: predicates.ask_cells(KINDS, y, (3, 1), ODD),
    )
    whole = [call() for call in calls]
    for block in (1, 2, 7):
        monkeypatch.setattr(predicates, "BLOCK", block)
        for call, answer in zip(calls, whole, strict=True):
            assert call().estimate == pytest.approx(answer.estimate, rel=1e-12)
            assert call().variance == pytest.approx(answer.variance, rel=1e-9)


def test_too_many_kinds_or_cells_are_refused_by_number():
    budgets = tuple(1 + j / 100 for j in range(64))
    many = RRClusters(k=(2,) * 64, clusters=tuple((j,) for j in range(64)), epsilons=budgets)
    y, which = np.zeros((2, 64), int), lambda count: count >= 1
    some = {j: [1] for j in range(16)}  # 2**16 numbers: as many as there may be
    people = Population.from_records(y, k=many.k)
    assert predicates.count_variance(many, people, some, which) > 0
    with pytest.raises(ValueError, match=r"at most 2\*\*16 numbers of fitting reports apart; got 131072"):
        predicates.count_variance(many, people, {j: [1] for j in range(17)}, which)
    with pytest.raises(ValueError, match="where must have fewer kinds of coins; got 63"):
        predicates.ask_count(many, y, {j: [1] for j in range(63)}, which)
    with pytest.raises(ValueError, match=r"at most 2\*\*22 cells together; got 8388608: see ask_count"):
        predicates.cells_variance(many, people, range(23), [[0] * 23])
    with pytest.raises(ValueError, match="subset must be from 0 to 1 in column 1; got 5 in row 0"):
        predicates.cells_variance(many, people, range(22), [[0, 5] + [0] * 20])
    assert math.isfinite(predicates.ask_count(many, y, {j: [1] for j in range(62)}, which).estimate)


def test_each_half_of_a_count_s_conditions_is_looked_at():
    matrix = MECHANISMS[2]
    for where in ({0: [1]}, {0: [1], 1: [1]}):
        with pytest.raises(ValueError, match=r"different clusters with a budget each; got \[0"):
            predicates.ask_count(matrix, SURVEY, where, [True, False, False][: len(where) + 1])
    assert predicates.ask_count(matrix, SURVEY, {1: [1]}, [False, True]).estimate == pytest.approx(
        queries.ask(matrix, SURVEY, {1: [1]}).estimate
    )
    for which in ([True, False, True], np.ones((2, 1), bool), lambda count: count, [1, 0]):
        with pytest.raises(ValueError, match="which must be booleans for 0 to 1 conditions; got"):
            predicates.ask_count(MECHANISMS[0], SURVEY, {1: [1]}, which)
    with pytest.raises(TypeError, match="mechanism must be one of clusters, such as RRIndependent; got None"):
        predicates.cells_variance(None, None, (0,), [[0]])

"""Tables from shared coins, their covariance, and maximum likelihood: against other routes, enumeration, simulation."""

import itertools
import math

import numpy as np
import pytest

from ldp_lib import check
from ldp_lib.datasets import load_adult
from ldp_lib.population import Population
from ldp_lib.sampled import AskSome, OneQuestion
from ldp_lib.splitting import SPL
from ldp_lib.tables import covariance as uncertainty
from ldp_lib.tables import likelihood
from ldp_lib.tables._asked import asked_boxes, asked_tables, check_asked, raw_table
from ldp_lib.tables._operators import Boxes
from ldp_lib.tables.clusters import RRClusters
from ldp_lib.tables.product import ProductRR, RRIndependent, RRJoint
from ldp_lib.tables.sampled import ask_pairs, pair_tables

K = (3, 4, 2)


def asked_table(mechanism, y, *attributes):
    return asked_tables(mechanism, y, [attributes])[attributes]


def simulated(mechanism, table, attributes, n, rng, runs, estimator):
    """Tables estimated from the reports of n users drawn from `table`, whose other attributes are 0."""
    found = []
    for counts in rng.multinomial(n, table.ravel() / table.sum(), size=runs):
        x = np.zeros((n, len(mechanism.k)), int)
        cells = np.repeat(np.arange(table.size), counts)
        x[:, list(attributes)] = np.transpose(np.unravel_index(cells, table.shape))
        found.append(estimator(mechanism, mechanism.perturb(x, rng=rng), *attributes))
    return np.array(found)


def some(m, groups=True):
    return AskSome(k=K, epsilon=1.5, m=m, sizes=(1, 2, 1), weights=range(1, math.comb(3, m) + 1), groups=groups)


def drawn(seed, n=200):
    rng = np.random.default_rng(seed)
    return Population.from_counts(rng.multinomial(n, rng.dirichlet(np.ones(24))).reshape(K)), rng


@pytest.mark.parametrize(("m", "groups"), [(2, True), (2, False), (3, True)])
def test_a_pair_is_the_table_of_pairs_and_its_order_is_free(m, groups):
    mechanism, (population, rng) = some(m, groups), drawn(1)
    y = mechanism.perturb(population.users(), rng=rng)
    for pair in itertools.combinations(range(3), 2):
        table = asked_table(mechanism, y, *pair)
        assert np.allclose(table, pair_tables(mechanism, y, [pair])[pair], rtol=0, atol=1e-12)
        assert np.allclose(table.T, asked_table(mechanism, y, *pair[::-1]), rtol=0, atol=1e-12)


def test_three_attributes_one_report_at_a_time():
    """The mean over all reports of one user is the user's cell; the covariance is that of the enumerated reports."""
    mechanism = AskSome(k=(3, 2, 2), epsilon=1.0, m=3, sizes=(2, 1, 1), groups=False)
    outcomes, channel = mechanism.reports(), mechanism.channel()
    values = np.array([asked_table(mechanism, report[None], 0, 1, 2).ravel() for report in outcomes])
    assert np.allclose(channel @ values, np.eye(12), rtol=0, atol=1e-12)
    law = np.random.default_rng(2).dirichlet(np.ones(12))
    reports = law @ channel
    wanted = (values.T * reports) @ values - np.outer(law, law)
    assert np.allclose(
        uncertainty._asked_covariance(mechanism, law.reshape(3, 2, 2), (0, 1, 2)), wanted, rtol=1e-9, atol=1e-12
    )


@pytest.mark.parametrize(
    ("mechanism", "attributes"),
    [
        (some(2), (2, 0)),
        (some(3), (0, 1, 2)),
        (RRIndependent(k=K, epsilon=4.0), (2, 0)),
        (RRJoint(k=K, epsilon=3.0), (0, 1)),
        (ProductRR(k=K, clusters=((2, 0), (1,)), channels=(np.eye(6) * 0.4 + 0.1, 1.0)), (0, 1, 2)),
    ],
    ids=["two", "three", "split", "whole", "matrix"],
)
def test_the_covariance_is_that_of_simulated_tables(mechanism, attributes):
    population, rng = drawn(4, n=240)
    times = 800 if isinstance(mechanism, AskSome) else 300
    table = population.select(*attributes).joint
    runs = simulated(mechanism, table, attributes, 240, rng, times, raw_table).reshape(times, -1)
    covariance = uncertainty.table_covariance(mechanism, table, *attributes, n=240)
    assert check.mean_z(runs, table.ravel()) < 5
    assert check.variance_z(runs, covariance) < 5
    assert check.variance_z(runs, 2 * covariance) > 5


@pytest.mark.parametrize(("m", "attributes"), [(2, (2, 0)), (3, (0, 1, 2))])
def test_the_most_likely_table_is_that_of_written_out_probabilities(m, attributes):
    """Boxes against every report's probability, written out; and no vertex of the simplex lies uphill."""
    mechanism, (population, rng) = some(m), drawn(5, n=3_000)
    y = mechanism.perturb(population.users(), rng=rng)
    found = likelihood.estimate(mechanism, y, *attributes, gap=1e-6)
    assert found.converged
    assert abs(found.table.sum() - 1) < 1e-12
    counts, boxes = asked_boxes(mechanism, y, attributes)
    rows = []
    for number, asked in enumerate(mechanism.questions.tolist()):
        keep, mine = mechanism.keep[number], [j for j in asked if j in attributes]
        for report in y[y["asked"] == number]:
            sets = [set(report["sets"][asked.index(j)][: mechanism.sizes_[j]].tolist()) for j in mine]
            cells = np.array(list(np.ndindex(found.table.shape)))
            told, free = 1.0, 1.0
            for j, held in zip(mine, sets, strict=True):
                k, size = mechanism.k[j], mechanism.sizes_[j]
                told = told * np.isin(cells[:, attributes.index(j)], list(held)) / math.comb(k - 1, size - 1)
                free /= math.comb(k, size)
            rows.append(keep * told + (1 - keep) * free)
    chance = np.array([np.broadcast_to(row, found.table.size) for row in rows])
    slope = (chance / (chance @ found.table.ravel())[:, None]).sum(axis=0)
    assert slope.max() / len(y) - 1 < 1e-9 + 1e-6 / len(y)
    assert math.isclose(len(y) * math.log(slope.max() / len(y)), found.gap, rel_tol=1e-6, abs_tol=1e-9)
    assert counts.sum() == len(y) if m == 3 else counts.sum() <= len(y)
    assert len(boxes.forward(found.table)) == len(counts)


def test_the_most_likely_table_errs_less_than_the_raw_one():
    population, rng = load_adult(), np.random.default_rng(6)
    mechanism, squares = ask_pairs(population.k, 1.0), []
    truth = population.select(4, 5).joint
    for _ in range(9):
        y = mechanism.perturb(population.users(), rng=rng)
        tables = asked_table(mechanism, y, 4, 5), likelihood.estimate(mechanism, y, 4, 5).table
        squares.append([((table - truth) ** 2).sum() for table in tables])
    raw, fitted = np.array(squares).T
    assert check.mean_z(fitted - raw / 4, 0) > 5
    assert fitted.mean() < raw.mean() / 4


def test_the_stated_error_of_the_most_likely_table_is_the_simulated_one():
    """Inside the simplex the maximum is the raw table, so its covariance is known; a foil is seen."""
    table, n = np.array([[0.2, 0.15, 0.15], [0.15, 0.15, 0.2]]), 20_000
    mechanism = RRIndependent(k=(2, 3), channels=(1.5, 1.5))
    fitted = lambda *of: likelihood.estimate(*of, gap=1e-3).table  # noqa: E731
    runs = simulated(mechanism, table, (0, 1), n, np.random.default_rng(7), 300, fitted).reshape(300, -1)
    stated = uncertainty.table_covariance(mechanism, table, 0, 1, n=n)
    assert check.variance_z(runs, np.diag(stated)) < 5
    assert check.variance_z(runs, 1.6 * np.diag(stated)) > 5


def only_first():
    """Return reports of users who were all asked the first two attributes."""
    y = some(2).perturb(np.zeros((50, 3), int), rng=np.random.default_rng(8))
    return y[y["asked"] == 0]


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: asked_table(SPL(k=(2, 2), epsilon=1.0), [], 0, 1), TypeError, "mechanism must be an AskSome"),
        (lambda: asked_table(some(2), np.zeros(3, some(2).dtype), 0, 1, 2), ValueError, "at most m = 2 of them"),
        (lambda: asked_table(some(2), np.zeros(3, some(2).dtype), 0, 0), ValueError, "distinct numbers from 0 to 2"),
        (lambda: asked_table(some(2), only_first(), 1, 2), ValueError, r"all of \(1, 2\); got none"),
        (lambda: likelihood.estimate(some(2), only_first(), 1, 2), ValueError, r"all of \(1, 2\); got none"),
        (
            lambda: uncertainty.table_covariance(some(2), np.full((2, 2), 0.25), 0, 1, n=5),
            ValueError,
            r"table must have shape \(3, 4\)",
        ),
        (
            lambda: uncertainty.table_covariance(some(2), np.full((3, 4), 0.25), 0, 1, n=5),
            ValueError,
            "table must hold probabilities; got least 0.25 and sum 3.0",
        ),
        (
            lambda: uncertainty.table_covariance(some(2), np.full((3, 4), 1 / 12), 0, 1, n=0),
            ValueError,
            "n must be a number of users of at least 1; got 0",
        ),
        (
            lambda: uncertainty.table_covariance(OneQuestion(k=(2, 2), epsilon=1.0), np.full((2, 2), 0.25), 0, 1, n=5),
            TypeError,
            "mechanism must be an AskSome or one of clusters",
        ),
        (
            lambda: uncertainty.table_covariance(
                ProductRR(k=(2, 2), clusters=((0, 1),), channels=(np.eye(4) * 0.6 + 0.1,)), [0.5, 0.5], 0, n=5
            ),
            ValueError,
            r"attributes must hold all of \(0, 1\)",
        ),
    ],
)
def test_bad_input(call, error, says):
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize("attributes", [(0, 1), (2, 0), (1,), (0,)])
def test_the_covariance_of_one_user_a_question_by_enumeration(attributes):
    """Groups of one user each, drawn from a law: all reports of all three users."""
    k = (3, 2, 2)
    mechanism = AskSome(k=k, epsilon=1.5, m=2, sizes=(2, 1, 1), weights=(1, 1, 1))
    law = np.arange(1.0, 13) ** 2
    law, outcomes = law / law.sum(), mechanism.reports()
    chances = law @ mechanism.channel() * 3  # of each report, given its question
    mean = second = total = 0
    for pick in itertools.product(*(np.flatnonzero(outcomes["asked"] == q) for q in range(3))):
        value = asked_table(mechanism, outcomes[list(pick)], *attributes).ravel()
        chance = math.prod(chances[y] for y in pick)
        total, mean, second = total + chance, mean + chance * value, second + chance * np.outer(value, value)
    table = law.reshape(k).sum(axis=tuple({0, 1, 2} - set(attributes)))
    table = table if list(attributes) == sorted(attributes) else table.T
    assert total == pytest.approx(1)
    assert mean == pytest.approx(table.ravel(), abs=1e-12)
    stated = uncertainty._asked_covariance(mechanism, table, attributes)
    assert 3 * (second - np.outer(mean, mean)) == pytest.approx(stated, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(
    ("k", "sizes", "groups"),
    [((5,), (3,), True), ((4,), (1,), False), ((5, 2), (3, 1), False), ((5, 4), (4, 3), True)],
)
def test_the_covariance_of_large_sets_is_that_of_the_channel(k, sizes, groups):
    d = len(k)
    mechanism = AskSome(k=k, epsilon=1.0, m=d, sizes=sizes, groups=groups)
    law = np.arange(1.0, math.prod(k) + 1)
    law, outcomes = law / law.sum(), mechanism.reports()
    values = np.array([asked_table(mechanism, report[None], *range(d)).ravel() for report in outcomes])
    chances = law @ mechanism.channel()
    assert chances @ values == pytest.approx(law, abs=1e-12)
    wanted = (values.T * chances) @ values - np.outer(law, law)
    assert uncertainty._asked_covariance(mechanism, law.reshape(k), tuple(range(d))) == pytest.approx(
        wanted, rel=1e-9, abs=1e-12
    )


def test_boxes_are_their_written_out_matrix():
    rows, rng = (2, 3, 4), np.random.default_rng(1)
    boxes, matrix, counts = Boxes(rows), [], []
    for axes, t in (([2, 0], 3.0), ([1], 0.5), ([1, 2, 0], 2.0)):
        held = [rng.integers(2, size=(6, rows[a])) for a in axes]
        distinct = {}
        for i in range(6):
            inside = np.ones(rows)
            for a, h in zip(axes, held, strict=True):
                inside = inside * h[i].reshape([-1 if b == a else 1 for b in range(3)])
            key = np.packbits(np.hstack([h[i] for h in held])).tobytes()  # equal reports are counted, in this order
            distinct[key] = (1 + t * inside.ravel(), distinct.get(key, (0, 0))[1] + 1)
        matrix += [distinct[key][0] for key in sorted(distinct)]
        counts += [distinct[key][1] for key in sorted(distinct)]
        boxes.add(axes, [h.astype(float) for h in held], t)
    matrix, table = np.array(matrix), rng.dirichlet(np.ones(24))
    values = rng.random(len(matrix))
    assert np.concatenate(boxes.counts).tolist() == counts
    assert boxes.forward(table.reshape(rows)) == pytest.approx(matrix @ table, rel=1e-12)
    assert boxes.backward(values) == pytest.approx(values @ matrix, rel=1e-12)


def test_a_report_about_other_attributes_has_the_odds_of_their_sets():
    """Asked about 0 and 1, told of 1 alone: e - 1 times the share of the other set."""
    mechanism = AskSome(k=(5, 3, 2), epsilon=1.0, m=2, sizes=(2, 1, 1), weights=(1, 1, 1))
    y = np.zeros(3, mechanism.dtype)
    y["asked"], y["sets"][:, :, 0] = [0, 1, 2], [[1, 2], [0, 1], [2, 1]]
    y["sets"][:2, 0, 1] = [3, 4]
    counts, boxes = asked_boxes(mechanism, y, (1, 2))
    t = math.expm1(1.0)
    want = [1 + t * 2 / 5 * 0.2, 1 + t * 2 / 5 * 0.75, 1 + t * 0.1]
    table = np.array([[0.05, 0.4], [0.1, 0.25], [0.1, 0.1]])
    assert counts.tolist() == [1, 1, 1]
    assert boxes.forward(table) == pytest.approx(want, rel=1e-12)


@pytest.mark.parametrize("attributes", [(), (0, 3), (-1, 0), (1, 1), (0.5, 1)])
def test_attributes_of_a_table_are_distinct_numbers(attributes):
    with pytest.raises(ValueError, match="attributes must be distinct numbers from 0 to 2; got"):
        check_asked(some(2), attributes)
    assert check_asked(some(2), (np.int64(2), np.int64(0))) == (2, 0)


def test_attributes_of_a_table_are_asked_together():
    mechanism = AskSome(k=K, epsilon=1.0, m=2, weights=(0.3, 0.7, 0))
    for pair in ((1, 2), (2, 1), (0, 1, 2)):
        with pytest.raises(ValueError, match="attributes must be asked together, at most m = 2 of them; got"):
            check_asked(mechanism, pair)
    assert check_asked(mechanism, (2, 0)) == (2, 0)


def test_a_table_holds_probabilities_to_a_millionth():
    for table in ([0.5, 0.5], [0.0, 1.0], [[0.25, 0.25, 0.5 + 0.9e-6], [0, 0, 0]], [0.5, 0.5 - 0.9e-6]):
        assert uncertainty.check_table(table).sum() == pytest.approx(1, abs=1e-6)
    for table in ([0.5, 0.5 + 1.1e-6], [0.5, 0.5 - 1.1e-6], [1.1, -0.1], [math.nan, 1.0], [math.inf, 0.0]):
        with pytest.raises(ValueError, match="table must hold probabilities; got least"):
            uncertainty.check_table(table)
    for table in (1.0, [1.0], [[0.5, 0.5]], [[0.5], [0.5]], [[[1.0]]]):
        with pytest.raises(ValueError, match="table must have some axes of at least 2 values; got shape"):
            uncertainty.check_table(table)
    assert uncertainty.check_table([0.5, 0.5], 1).shape == (2,)
    with pytest.raises(ValueError, match=r"table must have 2 axes of at least 2 values; got shape \(2,\)"):
        uncertainty.check_table([0.5, 0.5], 2)


def test_the_covariance_of_a_table_by_enumeration():
    mechanism = RRClusters(k=(2, 3, 2), clusters=((2, 0), (1,)), epsilons=(0.7, 0.6, 0.4))
    table = np.array([[1, 4, 2], [5, 3, 1]]) / 16
    answers = np.array([mechanism.estimate_table(report[None], 0, 1).ravel() for report in mechanism.reports()])
    law = np.zeros((2, 3, 2))
    law[..., 0] = table  # what is not asked about does not matter
    chances = law.ravel() @ mechanism.channel()
    wanted = (answers.T * chances) @ answers - np.outer(table, table)
    assert chances @ answers == pytest.approx(table.ravel())
    assert uncertainty.table_covariance(mechanism, table, 0, 1, n=1) == pytest.approx(wanted)
    assert uncertainty.table_covariance(mechanism, table, 0, 1, n=20) == pytest.approx(wanted / 20)
    turned = np.arange(6).reshape(2, 3).T.ravel()
    assert uncertainty.table_covariance(mechanism, table.T, 1, 0, n=4) == pytest.approx(
        wanted[np.ix_(turned, turned)] / 4
    )
    fixed = uncertainty.table_covariance(mechanism, table, 0, 1, n=20, sampling=False)
    flat = table.ravel()
    assert fixed == pytest.approx((wanted - np.diag(flat) + np.outer(flat, flat)) / 20)
    with pytest.raises(ValueError, match=r"shape \(2, 3\) for attributes \(0, 1\); got \(3, 2\)"):
        uncertainty.table_covariance(mechanism, table.T, 0, 1, n=5)


def test_a_whole_cluster_with_a_matrix_is_read_in_any_order():
    matrix = np.eye(6) * 0.4 + np.outer(np.ones(6), np.arange(6) / 25)
    mechanism = ProductRR(k=(2, 2, 3), clusters=((2, 0), (1,)), channels=(matrix, 1.0))
    table = np.random.default_rng(3).dirichlet(np.ones(12)).reshape(2, 2, 3)
    chances = table.ravel() @ mechanism.channel()
    answers = np.array([mechanism.estimate_table(report[None], 0, 1, 2).ravel() for report in mechanism.reports()])
    wanted = (answers.T * chances) @ answers - np.outer(table, table)
    assert uncertainty.table_covariance(mechanism, table, 0, 1, 2, n=1) == pytest.approx(wanted)
    with pytest.raises(ValueError, match=r"attributes must hold all of \(2, 0\), which share a channel; got \(1, 2\)"):
        uncertainty.table_covariance(mechanism, np.full((2, 3), 1 / 6), 1, 2, n=1)


def test_too_many_cells_for_a_covariance_are_refused():
    mechanism = RRIndependent(k=(45, 46), epsilon=1.0)
    with pytest.raises(ValueError, match="it would have 2070 rows and 2070 columns"):
        uncertainty.table_covariance(mechanism, np.full((45, 46), 1 / 2070), 0, 1, n=1)
    one = RRIndependent(k=(2050, 2), epsilon=1.0)
    with pytest.raises(ValueError, match="it would have 2050 rows and 2050 columns"):
        uncertainty.table_covariance(one, np.full(2050, 1 / 2050), 0, n=1)


@pytest.mark.parametrize("attributes", [(), (0, 0), (2,), (-1, 0)])
def test_attributes_of_a_covariance_exist_and_come_once(attributes):
    for mechanism in (RRIndependent(k=(2, 2), epsilon=1.0), AskSome(k=(2, 2), epsilon=1.0, m=2)):
        table = np.full((2,) * max(len(attributes), 1), 0.5 ** max(len(attributes), 1))
        y = np.zeros((3, 2), int) if isinstance(mechanism, RRIndependent) else np.zeros(3, mechanism.dtype)
        for call in (
            lambda m, y, t: uncertainty.table_covariance(m, t, *attributes, n=5),
            lambda m, y, t: raw_table(m, y, *attributes),
        ):
            with pytest.raises(ValueError, match="attributes must be distinct numbers from 0 to 1; got"):
                call(mechanism, y, table)

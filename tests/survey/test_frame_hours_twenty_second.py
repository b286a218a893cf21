"""An hour on a statistician's ways: errors of differences, plans of unequal questions, weights, batches, few people."""

import itertools

import numpy as np
import pandas as pd
import pytest

from ldp_lib import (
    GRR,
    OLH,
    OUE,
    SUE,
    AskSome,
    OneQuestion,
    Population,
    RRClusters,
    RRIndependent,
    RRJoint,
    Survey,
    recommend,
)
from ldp_lib.sampled.assignment import group_sizes
from ldp_lib.survey._estimates import value_covariance
from ldp_lib.survey.planner import standard_errors
from ldp_lib.tables import dependence
from ldp_lib.tables.covariance import table_covariance

RNG = np.random.default_rng
K = (2, 4, 3)
TABLE = RNG(3).dirichlet(np.ones(24)).reshape(K)
PEOPLE = np.column_stack(np.unravel_index(RNG(4).choice(24, 2_000, p=TABLE.ravel()), K))
EVERY = [
    AskSome(k=K, epsilon=2.0, m=2),
    AskSome(k=K, epsilon=2.0, m=3),
    RRJoint(k=K, epsilon=2.0),
    RRIndependent(k=K, epsilon=2.0),
    RRClusters(k=K, epsilon=2.0, clusters=((0, 2), (1,))),
]


def survey_of(mechanism):
    return Survey(
        {f"q{j}": [f"v{v}" for v in range(k)] for j, k in enumerate(mechanism.k)}, mechanism.epsilon, mechanism
    )


def times_root(covariance, a, b):
    """Return the error of a difference over the root of the sum of both squared errors."""
    return float(((a - b) @ covariance @ (a - b) / (a @ covariance @ a + b @ covariance @ b)) ** 0.5)


def within(table, row, column):
    """Return the slope of the share of a row within a column."""
    inside, whole = np.zeros(table.shape), np.zeros(table.shape)
    inside[row, column] = whole[:, column] = 1
    total = table[:, column].sum()
    return ((inside - table[row, column] / total * whole) / total).ravel()


# Differences.


def test_two_labels_of_five_err_together_by_more_than_even_ones_if_they_hold_nearly_all():
    """The page's numbers; it said 1.12 to 1.15, for any shares."""
    a, b = np.eye(5)[:2]
    even, uneven = np.full(5, 0.2), np.array([0.48, 0.48, 0.02, 0.01, 0.01])
    for mechanism, told in ((OneQuestion(k=(5,), epsilon=4.0), 1.18), (OneQuestion(k=(5,) * 3, epsilon=4.0), 1.34)):
        shares = [[one] * len(mechanism.k) for one in (even, uneven)]
        found = [times_root(value_covariance(mechanism, one, 0, 10_000, False), a, b) for one in shares]
        assert np.round(found, 2).tolist() == [1.12, told]
    whole = table_covariance(RRJoint(k=(5, 2), epsilon=4.0), np.outer(uneven, [1, 0]), 0, 1, n=10_000, sampling=False)
    assert 1 < times_root(whole, np.repeat(a, 2), np.repeat(b, 2)) < 2**0.5


@pytest.mark.parametrize("kind", [GRR, OUE, SUE, OLH])
def test_yes_less_no_errs_by_the_root_of_both_squares_if_sent_as_bits_or_hashes_and_not_if_as_one_answer(kind):
    """The page says of bits and hashes that their shares need not add up: 2,000 surveys of the same 200 people."""
    mechanism, people = kind(k=2, epsilon=1.0), Population.from_counts([140, 60])
    reports = mechanism.perturb(np.tile(people.users(), 2_000).ravel(), rng=RNG(6))
    found = np.array([np.diff(mechanism.estimate(one))[0] for one in np.split(reports, 2_000)]) + 0.4
    over, noise = (found**2).mean() / mechanism.variance(people).sum(), (2 / 2_000) ** 0.5
    right, wrong = (2, 1) if kind is GRR else (1, 2)
    assert abs(over / right - 1) < 5 * noise < abs(over / wrong - 1)


def test_questions_that_are_randomized_alone_err_together_where_people_are_drawn():
    """Root and error agree for the people asked alone, as the page says."""
    exclusive, a, b = np.array([[0.01, 0.49], [0.49, 0.01]]), np.array([0, 0, 1, 1.0]), np.array([0, 1, 0, 1.0])
    told = {False: [1.0, 1.0], True: [1.1, 1.34]}
    for sampling, expected in told.items():
        ways = (RRIndependent(k=(2, 2), epsilon=epsilon) for epsilon in (2.0, 6.0))
        found = [table_covariance(way, exclusive, 0, 1, n=1_000, sampling=sampling) for way in ways]
        assert [round(times_root(one, a, b), 2) for one in found] == expected


def test_shares_within_others_err_together_most_where_each_question_is_randomized_alone():
    even = np.full((4, 2), 1 / 8)
    slopes = [within(even, 0, column) for column in (0, 1)]
    found = []
    for family in (RRIndependent, RRJoint, AskSome):
        some = {"m": 2} if family is AskSome else {}
        covariance = table_covariance(family(k=(4, 2), epsilon=1.0, **some), even, 0, 1, n=10_000, sampling=False)
        found.append(round(times_root(covariance, *slopes), 2))
    assert found == [1.39, 1.0, 1.0]


def test_no_dependence_makes_a_difference_err_by_more_than_the_root_of_two_times_the_root():
    rng, found = RNG(5), []
    for i in range(60):
        table = rng.dirichlet(np.full(12, (0.3, 1, 10)[i % 3])).reshape(4, 3) + 1e-3
        family = (RRIndependent, RRJoint)[i % 2]
        covariance = table_covariance(
            family(k=(4, 3), epsilon=1.0), table / table.sum(), 0, 1, n=100, sampling=i % 4 > 1
        )
        slopes = [within(table / table.sum(), 0, column) for column in (0, 1)]
        found.append(times_root(covariance, *slopes))
    assert 1.2 < max(found) < 2**0.5


# Plans.


def test_a_typical_interval_is_that_of_all_labels_and_few_beside_many_have_wider_ones():
    shares = recommend(k=(2, 100), epsilon=1.0, n=20_000)
    few, many = standard_errors(shares.mechanism, [np.full(2, 0.5), np.full(100, 0.01)], 20_000)
    assert round(100 * few[0] / shares.points, 1) == 1.9
    assert shares.points**2 == pytest.approx(100**2 * (100 * many[0] ** 2 + 2 * few[0] ** 2) / 102)
    tables = recommend(k=(2, 2, 2, 40), epsilon=2.0, n=20_000, wants="tables")
    even = np.full((2, 2), 1 / 4)
    cell = np.diag(table_covariance(tables.mechanism, even, 0, 1, n=20_000, sampling=False)).mean() ** 0.5
    assert (round(tables.margin(), 1), round(196 * cell, 1)) == (1.9, 3.2)


@pytest.mark.parametrize(
    ("d", "m", "n", "wider"), [(8, 2, 400, (0.9, 1.1)), (12, 4, 391, (2, 4)), (12, 5, 332, (5, 7))]
)
def test_many_groups_of_few_people_leave_a_question_fewer_than_one_group_does(d, m, n, wider):
    """Of groups that are each rounded a question may lack several people, in place of less than one."""
    concerns = np.zeros((len(sets := [*itertools.combinations(range(d), m)]), d))
    concerns[np.arange(len(sets))[:, None], sets] = 1
    _, sizes = group_sizes(np.full(len(sets), n / len(sets)))
    least = (sizes @ concerns).min()
    low, high = wider
    assert low < 100 * ((n * m / d / least) ** 0.5 - 1) < high
    _, alone = group_sizes(np.full(d, n * m / d))
    assert alone.min() > n * m / d - 1


# Tables and queries.


@pytest.mark.parametrize("mechanism", EVERY, ids=lambda one: f"{type(one).__name__}{getattr(one, 'm', '')}")
def test_the_order_of_questions_changes_no_number(mechanism):
    survey = survey_of(mechanism)
    reports = survey.collect(survey.decode(PEOPLE), rng=RNG(6))
    table = survey.table("q0", "q1", reports)
    turned = survey.table("q1", "q0", reports).swaplevel().reindex(table.index)
    np.testing.assert_allclose(table, turned, atol=1e-12)
    pair = TABLE.sum(axis=2)
    assert dependence.users_to_see(mechanism, pair, 0, 1) == dependence.users_to_see(mechanism, pair.T.copy(), 1, 0)
    alone, also = survey.query({"q0": "v1"}, reports), survey.query({"q0": "v1", "q1": survey.domain["q1"]}, reports)
    assert also == pytest.approx(alone)
    ratio = survey.query({"q0": "v1"}, reports, given={"q1": ["v1", "v3"]}).estimate
    whole, both = (survey.query(w | {"q1": ["v1", "v3"]}, reports).estimate for w in ({}, {"q0": "v1"}))
    assert ratio * whole == pytest.approx(both)
    everybody = survey.query({"q0": ["v0", "v1"], "q1": survey.domain["q1"]}, reports)
    assert everybody == pytest.approx((1, 0, 1, 1), abs=1e-7)


def test_a_table_of_a_pair_that_nobody_was_asked_is_refused_and_shares_are_told():
    survey = survey_of(AskSome(k=(2,) * 8, epsilon=2.0, m=2))
    reports = survey.collect(survey.decode(RNG(7).integers(0, 2, (12, 8))), rng=RNG(8))
    asked = set(reports["report_asked"])
    a, b = next(pair for i, pair in enumerate(survey.mechanism.questions.tolist()) if i not in asked)
    assert np.isfinite(survey.estimate(reports)["standard_error"]).all()
    for act in (lambda: survey.table(f"q{a}", f"q{b}", reports), lambda: survey.associations(reports)):
        with pytest.raises(ValueError, match="a report about all of"):
            act()
    with pytest.raises(ValueError, match="a report about all of"):
        survey.synthetic(10, reports, rng=RNG(9))


# Weights.


def test_weights_on_another_scale_tell_the_same_shares_and_not_the_error_of_drawing_people():
    survey = Survey({"a": ["x", "y"]}, 4.0, GRR(k=2, epsilon=4.0))
    rng, n = RNG(10), 2_000
    people = pd.DataFrame(
        {"a": np.where(rng.random(n) < 0.4, "x", "y"), "w": np.where(rng.random(n) < 0.5, 20.0, 80.0)}
    )
    reports = survey.collect(
        people.assign(one=1.0, even=40.0, least=people["w"] / 20), rng=rng, weights="w", keep=["one", "even", "least"]
    )
    told = {w: survey.estimate(reports, weights=w, sampling=True).iloc[0] for w in ("w", "least", "even", "one")}
    assert told["w"]["estimate"] == pytest.approx(told["least"]["estimate"])
    assert told["even"]["estimate"] == pytest.approx(told["one"]["estimate"])
    errors = {w: row["standard_error"] for w, row in told.items()}
    assert errors["least"] < 0.9 * errors["w"]
    assert errors["one"] < 0.3 * errors["even"]
    fixed, drawn = (survey.estimate(reports, sampling=one)["standard_error"][0] for one in (False, True))
    assert errors["one"] == pytest.approx(fixed, rel=0.1)
    assert errors["even"] == pytest.approx(drawn, rel=0.05)


# Intervals, by simulation.


def test_groups_of_one_deal_differ_and_add_up_with_the_errors_that_are_told():
    survey, runs = survey_of(EVERY[0]), 30
    people = survey.decode(PEOPLE[:600]).assign(g=(PEOPLE[:600, 0] == 1) & (RNG(11).random(600) < 0.8))
    rng, shares = RNG(12), []
    for half in (True, False):
        x = PEOPLE[:600][people["g"].to_numpy() == half]
        shares.append(np.concatenate([np.bincount(x[:, j], minlength=k) / len(x) for j, k in enumerate(K)]))
    apart, together = [], []
    for _ in range(runs):
        reports = survey.collect(people, rng=rng, keep=["g"])
        one, other = (survey.estimate(reports[reports["g"] == half]) for half in (True, False))
        a, b = (part["estimate"] - share for part, share in zip((one, other), shares, strict=True))
        errors = one["standard_error"], other["standard_error"]
        apart.append((a - b) / np.hypot(*errors))
        together.append((0.2 * a + 0.8 * b) / np.hypot(0.2 * errors[0], 0.8 * errors[1]))
    for z in np.array(apart), np.array(together):
        square = (z**2).mean(axis=1)  # of one survey: surveys are independent, labels are not
        right, short = (abs(square.mean() - 1 / f) / square.std(ddof=1) * runs**0.5 for f in (1, 1.6**2))
        assert right < 5 < short  # errors that are 1.6 times too large are seen

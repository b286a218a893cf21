"""Hours of trying to get a wrong statistic without a word: plans, worst cells, sums, audits; right, or it says so."""

import itertools
import math
import warnings

import numpy as np
import pandas as pd
import pytest

import ldp_lib
from ldp_lib import (
    GRR,
    OUE,
    SPL,
    AskSome,
    OneQuestion,
    Population,
    RRIndependent,
    RRJoint,
    Survey,
    auditing,
    recommend,
    required_users,
)
from ldp_lib._pair_errors import worst_cell
from ldp_lib.survey import _estimates as estimates
from ldp_lib.survey._intervals import half_width, listed
from ldp_lib.tables._asked import raw_table
from ldp_lib.tables._independence import adjusted_p_values, p_value
from ldp_lib.tables.covariance import table_covariance

YES_NO = {"a": ["n", "y"], "b": ["n", "y"]}


def weighted(mechanism, w, **options):
    """What a survey of people with these weights says of weights, as texts."""
    survey, rng = Survey(YES_NO, 4.0, mechanism), np.random.default_rng(1)
    people = survey.decode(rng.integers(0, 2, (len(w), 2))).assign(w=np.asarray(w, float))
    reports = survey.collect(people, rng=rng, weights="w")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        survey.estimate(reports, weights="w", **options)
    assert all(one.filename == __file__ for one in told)
    return reports, [str(one.message) for one in told]


@pytest.mark.parametrize("sampling", [False, True, "with replacement"])
def test_few_weights_that_tell_are_told(sampling):
    whole, asked = RRIndependent(k=(2, 2), epsilon=4.0), OneQuestion(k=(2, 2), epsilon=4.0)
    assert weighted(whole, [50.0] * 3 + [1.0] * 57, sampling=sampling)[1][0].split(":")[0].endswith(" 6 even ones")
    assert "29 even ones" in weighted(whole, [2.0] * 29, sampling=sampling)[1][0]
    assert weighted(whole, [2.0] * 31, sampling=sampling)[1] == []
    assert weighted(asked, [2.0] * 62, sampling=sampling)[1] == []
    assert "29 even ones" in weighted(asked, [2.0] * 58, sampling=sampling)[1][0]
    reports, told = weighted(asked, np.resize([9.0, 1, 1, 1], 120), sampling=sampling)
    parts = [part["w"] for _, part in reports.groupby("report_asked")]
    assert f" {min(w.sum() ** 2 / (w**2).sum() for w in parts):.0f} even ones" in told[0]


@pytest.mark.filterwarnings("ignore:weights of those")
@pytest.mark.parametrize(("heavy", "holds"), [(3, (0.3, 0.8)), (60, (0.92, 0.98))])
def test_intervals_of_few_heavy_people_hold_less_often(heavy, holds):
    """Which is why they are told: one person in twenty has half of the weight, and one in ten says no."""
    rng, w, held = np.random.default_rng(2), np.repeat([20.0, 1.0], [20 * heavy, 20 * heavy]), []
    answers = rng.random(len(w)) < 0.9
    for _ in range(200):
        who = rng.random(len(w)) < 1 / w
        share, variance = estimates.weighted_shares(1.0 * answers[who, None], w[who], sampling=True)
        held.append(abs(share - answers.mean()) <= 1.96 * math.sqrt(max(variance[0], 0)))
    assert holds[0] < np.mean(held) < holds[1]


@pytest.mark.parametrize(
    ("k", "epsilon", "n", "wants"),
    [
        ((2, 3), 1.0, 12, "frequencies"),
        ((2, 4, 3), 2.0, 48, "tables"),
        ((3, 3), 0.05, 18, "records"),
        ((4,), 2.0, 8, "frequencies"),
    ],
)
@pytest.mark.parametrize("sampling", [False, True])
def test_a_plan_s_error_is_that_of_few_people(k, epsilon, n, wants, sampling):
    plan, rng, errors = (
        recommend(k=k, epsilon=epsilon, n=n, wants=wants, sampling=sampling),
        np.random.default_rng(3),
        [],
    )
    one, every = plan.mechanism, np.indices(k).reshape(len(k), -1).T
    tables = [*itertools.combinations(range(len(k)), 2)] if wants == "tables" else [(j,) for j in range(len(k))]
    for _ in range(80):
        x, error = every[rng.integers(0, len(every), n)] if sampling else np.tile(every, (n // len(every), 1)), 0.0
        y = one.perturb(x if isinstance(one.k, tuple) else x[:, 0], rng=rng)
        shares = listed(one.estimate(y))
        for at in tables:
            cells = np.ravel_multi_index(tuple(x[:, j] for j in at), size := [k[j] for j in at])
            true = np.bincount(cells, minlength=math.prod(size)) / n if not sampling else 1 / math.prod(size)
            found = raw_table(one, y, *at).ravel() if wants == "tables" else shares[at[0]]
            error += ((found - true) ** 2).sum()
        errors.append(error)
    assert abs(np.mean(errors) - plan.error) < 5 * np.std(errors) / math.sqrt(len(errors))


@pytest.mark.parametrize(
    "mechanism",
    [
        AskSome(k=(2, 4, 3), epsilon=1.0, m=2, sizes=(1, 3, 1), weights=(0.5, 0.2, 0.3)),
        AskSome(k=(3, 2, 5), epsilon=4.0, m=3, groups=False),
        RRIndependent(k=(2, 5), epsilon=0.5),
        RRJoint(k=(4, 3), epsilon=12.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("sampling", [False, True])
def test_no_table_has_a_cell_worse_than_the_worst(mechanism, sampling):
    """The bound by which `required_users` plans tables, which some table nearly reaches."""
    rng, found = np.random.default_rng(4), 0.0
    for i, j in itertools.combinations(range(len(mechanism.k)), 2):
        size = mechanism.k[i] * mechanism.k[j]
        two = [np.eye(size)[0] * c + np.eye(size)[other] * (1 - c) for c in np.linspace(0, 1, 7) for other in (1, -1)]
        for table in (*two, *(rng.dirichlet(np.full(size, c)) for c in (0.1, 1, 9) for _ in range(2))):
            square = table.reshape(mechanism.k[i], mechanism.k[j])
            spread = table_covariance(mechanism, square, i, j, n=1, sampling=sampling)
            found = max(found, np.diag(spread).max())
    assert 0.9 < found / worst_cell(mechanism, sampling) < 1 + 1e-9


@pytest.mark.parametrize(
    "mechanism",
    [
        GRR(k=3, epsilon=4.0),
        SPL(k=(2, 3), epsilon=8.0),
        OneQuestion(k=(2, 2), epsilon=4.0, weights=(0.7, 0.3)),
        AskSome(k=(2, 2, 2), epsilon=4.0, m=2, groups=False),
    ],
    ids=repr,
)
def test_so_many_users_are_enough_and_no_fewer(mechanism):
    """Against every number of holders of each value, one by one; with more users than needed it holds as well."""
    k = mechanism.k if isinstance(mechanism.k, tuple) else (mechanism.k,)

    def widest(n):
        found = 0.0
        for j, holders in itertools.product(range(len(k)), range(n + 1)):
            counts = np.array([holders, n - holders])
            records = np.zeros((2, len(k)), int)
            records[1, j] = 1
            people = Population(records=records[counts > 0], counts=counts[counts > 0], k=k)
            found = max(found, listed(mechanism.variance(people))[j][:2].max())
        return half_width(0.95) * math.sqrt(found)

    n, margin = required_users(mechanism, 0.5), 0.5
    assert max(map(widest, range(n, n + 5))) <= margin * (1 + 1e-9)
    assert n == mechanism.least_users or min(map(widest, range(mechanism.least_users, n))) > margin


@pytest.mark.parametrize("sampling", [False, True])
@pytest.mark.parametrize("name", ["OneQuestion", "AskSome", "RSFD"])
def test_a_sum_of_one_label_is_its_share_with_its_error(name, sampling):
    mechanism, rng = getattr(ldp_lib, name)(k=(2, 4, 3), epsilon=2.0), np.random.default_rng(5)
    survey = Survey({"a": [0, 1], "b": [0, 1, 2, 3], "c": [0, 1, 2]}, 2.0, mechanism)
    reports = survey.collect(pd.DataFrame(rng.integers(0, (2, 4, 3), (900, 3)), columns=[*survey.domain]), rng=rng)
    if "report_asked" in reports:  # of which some are lost
        reports = reports[(reports["report_asked"] > 0) | (rng.random(900) < 0.9)]
    for row in survey.estimate(reports, sampling=sampling).itertuples():
        found = survey.query({row.attribute: row.value}, reports, sampling=sampling)
        assert found.estimate == pytest.approx(row.estimate)
        assert found.standard_error == pytest.approx(row.standard_error, rel=3 / 900)  # n for n - 1


@pytest.mark.parametrize("mechanism", [GRR(k=3, epsilon=1.0), OUE(k=3, epsilon=2.0)], ids=repr)
def test_audits_raise_no_more_false_alarms_than_they_say(mechanism):
    rng, runs = np.random.default_rng(6), 40
    alarms = [not auditing.audit(mechanism, 0, 2, rng=rng, runs=400, confidence=0.9).passed for _ in range(runs)]
    assert np.mean(alarms) < 0.1
    easier = [
        auditing.audit(mechanism, 0, 2, rng=rng, runs=4_000, confidence=0.9, epsilon=0.5).passed for _ in range(9)
    ]
    assert not any(easier)


def test_many_tests_find_nothing_among_questions_with_rare_labels():
    """By Holm's method: five questions that do not depend on each other, and two people in 500 who say yes."""
    mechanism, rng, least = RRJoint(k=(2,) * 5, epsilon=6.0), np.random.default_rng(7), []
    for _ in range(30):
        y = mechanism.perturb((rng.random((500, 5)) < 0.004).astype(int), rng=rng)
        pairs = itertools.combinations(range(5), 2)
        found = [p_value(mechanism, mechanism.estimate_table(y, *at), at, 500) for at in pairs]
        least.append(min(adjusted_p_values(found)) < 0.05)
    assert np.mean(least) < 0.05 + 4 * math.sqrt(0.05 * 0.95 / len(least))

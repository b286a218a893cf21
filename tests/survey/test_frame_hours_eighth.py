"""Hours of trying to get a wrong published number without a word: worst cases, huge counts, false findings, losses."""

import dataclasses
import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import hypergeom

from ldp_lib import AskSome, OneQuestion, ProductRR, RRClusters, RRIndependent, RRJoint, SubsetSelection, Survey
from ldp_lib._pair_errors import worst_cell
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.survey._intervals import _worst_variance, joined
from ldp_lib.survey.aggregate import Counts
from ldp_lib.tables import _agreement, synthetic
from ldp_lib.tables._asked import raw_table
from ldp_lib.tables._independence import p_value
from ldp_lib.tables._totals import pairs_error
from ldp_lib.tables.covariance import table_covariance


def uneven(k, rng):
    matrix = rng.dirichlet(np.full(k, 2), k) + rng.uniform(0.1, 1) * np.eye(k)
    return matrix / matrix.sum(axis=1, keepdims=True)


def mechanisms(k):
    rng, d = np.random.default_rng(len(k)), len(k)
    yield ProductRR(k=k, channels=tuple(uneven(size, rng).tolist() for size in k))
    yield RRClusters(k=k, epsilon=2.0)
    yield OneQuestion(k=k, epsilon=2.0, weights=rng.dirichlet(np.ones(d)).tolist())
    some = {"m": 2, "sizes": (1,) * d}
    yield AskSome(k=k, epsilon=3.0, **some, weights=rng.dirichlet(np.ones(math.comb(d, 2))).tolist())


def domain(k):
    return {f"question {j}": [f"{j}: {v}" for v in range(size)] for j, size in enumerate(k)}


@pytest.mark.parametrize("sampling", [False, True])
@pytest.mark.parametrize("mechanism", [*mechanisms((3, 2, 2)), *mechanisms((2, 4))], ids=lambda one: type(one).__name__)
def test_no_population_has_more_variance_than_is_planned_for(mechanism, sampling):
    k, n, rng = mechanism.k, 12, np.random.default_rng(1)
    told, most = _worst_variance(mechanism, n, sampling), 0
    for _ in range(15):
        records = rng.integers(0, k, (n, len(k)))[rng.integers(0, rng.integers(1, 4), n)]
        people = Population.from_records(records, k=k)
        f = joined(marginal_frequencies(people))
        most = max(most, (joined(mechanism.variance(people)) + sampling * f * (1 - f) / n).max())
    assert 0.5 * told < most < told * (1 + 1e-9)
    if mechanism.joint > 1:
        alone = dataclasses.replace(mechanism, groups=False) if isinstance(mechanism, AskSome) else mechanism
        for i, j in itertools.combinations(range(len(k)), 2):
            table = rng.dirichlet(np.full(k[i] * k[j], 0.1)).reshape(k[i], k[j])
            cells = np.diag(table_covariance(alone, table, i, j, n=1, sampling=sampling))
            assert cells.max() < worst_cell(mechanism, sampling) * (1 + 1e-9)


@pytest.mark.parametrize(
    "mechanism",
    [
        OneQuestion(k=(2, 3), epsilon=1.0, weights=(1, 1)),
        AskSome(k=(2, 3), epsilon=2.0, m=1, weights=(3, 2)),
        RRJoint(k=(2, 3), epsilon=1.0),
        RRIndependent(k=(2, 3), epsilon=2.0),
    ],
    ids=repr,
)
def test_counts_of_very_many_people_tell_the_same_with_errors_by_the_root_of_their_number(mechanism):
    survey, rng = Survey(domain((2, 3)), mechanism.epsilon, mechanism=mechanism), np.random.default_rng(2)
    counts = mechanism.count(mechanism.perturb(rng.integers(0, (2, 3), (3_000, 2)), rng=rng))
    for sampling in (False, True):
        few, many = (
            survey.estimate(survey.mark(Counts(mechanism, counts * m)), sampling=sampling) for m in (1, 10**11)
        )
        assert many["estimate"].to_numpy() == pytest.approx(few["estimate"].to_numpy(), abs=1e-12)
        ratio = few["standard_error"] / many["standard_error"] / math.sqrt(1e11)
        assert ratio.to_numpy() == pytest.approx(1, abs=2e-3)  # shares of 3,000 are rounded to whole people


@pytest.mark.parametrize(("holders", "seen"), [(20, range(7)), (300, [*range(60, 76), *range(105, 121)])])
def test_single_p_values_are_too_small_where_few_hold_two_answers_and_nearly_all_tell_the_truth(holders, seen):
    """Of the 45 pairs of ten questions each may reject once in 900 surveys; less than one holds both, or ninety."""
    mechanism, n, level = RRJoint(k=(2, 2), epsilon=16.0), 1_000, 0.05 / 45
    inverse, rejected = np.linalg.inv(mechanism.channel()), 0
    for both in seen:
        counts = [n - 2 * holders + both, holders - both, holders - both, both]
        raw = (np.array(counts) / n @ inverse).reshape(2, 2)
        rejected += hypergeom(n, holders, holders).pmf(both) * (p_value(mechanism, raw, (0, 1), n) < level)
    assert (rejected > 4 * level) == (holders == 20)
    assert rejected > level / 2


def test_errors_after_losses_are_for_those_whose_reports_came():
    """At a budget at which all tell the truth: of 180 answers to the first question 80 are lost."""
    mechanism, rng = OneQuestion(k=(2, 2), epsilon=40.0, weights=(9, 1)), np.random.default_rng(4)
    survey = Survey(domain((2, 2)), 40.0, mechanism=mechanism)
    reports = survey.collect(survey.decode(np.tile(np.arange(200)[:, None] % 2, 2)), rng=rng)
    reports = reports.drop(reports.index[reports["report_asked"] == 0][:80])
    for sampling in (False, True):
        told = survey.estimate(reports, sampling=sampling).loc[0]
        spread = told["estimate"] * (1 - told["estimate"]) / 100
        came, asked = spread * (1 - 100 / 120) * 120 / 119, spread * (1 - 100 / 200) * 200 / 199
        assert told["standard_error"] ** 2 == pytest.approx(came + sampling * spread * 100 / 120, rel=0.01)
        assert (told["standard_error"] ** 2 > asked) == sampling


def test_the_covariance_for_v_with_the_numbers_that_came_is_that_of_the_table():
    mechanism, rng = (
        AskSome(k=(2, 2, 2), epsilon=3.0, m=2, sizes=(1, 1, 1), weights=(1, 1, 1)),
        np.random.default_rng(5),
    )
    survey = Survey(domain((2, 2, 2)), 3.0, mechanism=mechanism)
    reports = survey.collect(survey.decode(rng.integers(0, 2, (600, 3))), rng=rng)
    reports = reports.drop(reports.index[reports["report_asked"] == 0][:70])
    table = survey.table("question 0", "question 1", reports)
    came = dataclasses.replace(mechanism, weights=np.bincount(reports["report_asked"]))
    near, n = table["estimate"].to_numpy().reshape(2, 2), len(reports)
    right, planned = (table_covariance(one, near, 0, 1, n=n, sampling=False).diagonal() for one in (came, mechanism))
    assert right == pytest.approx(table["standard_error"].to_numpy() ** 2)
    assert (planned < 0.9 * right).all()


@pytest.mark.parametrize(
    ("m", "sizes", "weights", "at"),
    [
        (2, (1, 2, 1), (1, 2, 3), (1, 0)),
        (2, (1, 1, 1), (3, 0, 1), (1,)),
        (1, (1, 2, 1), (3, 2, 4), (1,)),
        (3, (1, 2, 1), (1,), (2, 1)),
    ],
)
def test_tables_of_any_design_are_unbiased_with_their_covariance_by_enumeration(m, sizes, weights, at):
    mechanism = AskSome(k=(2, 3, 2), epsilon=1.5, m=m, sizes=sizes, weights=weights, groups=False)
    reports, law = mechanism.reports(), np.random.default_rng(6).dirichlet(np.ones(12)).reshape(2, 3, 2)
    each = [
        raw_table(mechanism, np.concatenate([reports[[i]], reports[[-1]]]), *at).ravel() for i in range(len(reports))
    ]
    each = np.array(each) * 2 - each[-1]  # what the first of two reports adds: a table needs one about all
    chance = law.ravel() @ mechanism.channel()
    table = law.sum(axis=tuple({0, 1, 2} - {*at}))
    table = table.transpose(np.argsort(np.argsort(at)))
    assert chance @ each == pytest.approx(table.ravel())
    covariance = (each.T * chance) @ each - np.outer(table, table)
    assert table_covariance(mechanism, table, *at, n=1) == pytest.approx(covariance)


@pytest.mark.parametrize("k", [(2, 3), (3, 2, 2), (2, 257)])
def test_made_up_people_have_the_tables_along_the_tree(k):
    mechanism, rng, n = RRJoint(k=k, epsilon=9.0), np.random.default_rng(7), 50_000
    survey, x = Survey(domain(k), 9.0, mechanism=mechanism), np.random.default_rng(8).integers(0, k, (4_000, len(k)))
    x[:2_000, 1] = x[:2_000, 0] % k[1]
    reports = survey.collect(survey.decode(x), rng=rng)
    made = survey.encode(survey.synthetic(n, reports, rng=rng))
    pairs, names = [*itertools.combinations(range(len(k)), 2)], list(survey.domain)
    tables = {(i, j): survey.table(names[i], names[j], reports)["estimate"].unstack().to_numpy() for i, j in pairs}
    repaired = _agreement.repair_pairs(tables)
    for edge in synthetic.fit_tree(repaired).edges:
        i, j = sorted(edge)
        share = repaired[i, j]
        off = Population.from_records(made[:, [i, j]], k=(k[i], k[j])).joint - share
        spread = np.sqrt(share * (1 - share) / n)
        assert (np.abs(off) < 5.5 * spread + 10 / n).all()


def test_numbers_of_the_page_on_choosing_are_those_of_the_library():
    for d, epsilon, ratio in ((8, 1.0, 0.68), (10, 1.0, 0.73), (8, 2.0, 0.55), (10, 2.0, 0.62)):
        some = {"k": (2,) * d, "epsilon": epsilon}
        clusters = RRClusters(**some, clusters=[(i, i + 1) for i in range(0, d, 2)])
        assert pairs_error(clusters, 1) / pairs_error(RRIndependent(**some), 1) == pytest.approx(ratio, abs=0.005)
    sets, pairs = SubsetSelection(k=16, epsilon=1.0), math.comb(4, 2)
    p, q = sets.probabilities
    noise = 16 * (p * (1 - p) / 16 + q * (1 - q) * 15 / 16) / (p - q) ** 2
    total = pairs**2 * (noise + 15 / 16) - pairs * 15 / 16  # a sixth of the people for each pair, and its own reports
    assert 100 * math.sqrt(total / 10_000 / (16 * pairs)) == pytest.approx(4.41, abs=0.005)


def test_contributions_average_to_what_estimate_says_also_after_losses():
    survey, rng = Survey(domain((3, 2)), 2.0), np.random.default_rng(9)
    people = survey.decode(rng.integers(0, (3, 2), (500, 2))).assign(group=np.arange(500) % 2)
    reports = survey.collect(people, rng=rng, keep=["group"])
    reports = reports.drop(reports.index[reports["report_asked"] == 1][:40])
    for some in (reports, reports[reports["group"] == 0]):
        each = survey.contributions(some)
        assert isinstance(each, pd.DataFrame)
        told = survey.estimate(some)["estimate"].to_numpy()
        assert each.drop(columns="group").mean().to_numpy() == pytest.approx(told, abs=1e-12)

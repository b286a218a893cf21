"""Reports that were lost by their question, or are of a subgroup: the numbers counted stand in for those planned."""

import contextlib
import dataclasses
import itertools
import math
import resource

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from ldp_lib import (
    GRR,
    OLH,
    RR,
    SPL,
    AskSome,
    OneQuestion,
    ProductRR,
    RRIndependent,
    RRJoint,
    SubsetSelection,
    Survey,
    UnaryEncoding,
)
from ldp_lib.population import Population
from ldp_lib.sampled._dealing import as_counted
from ldp_lib.survey import _estimates as estimates
from ldp_lib.survey import _files as files
from ldp_lib.survey.planner import required_users, standard_errors
from ldp_lib.tables._asked import raw_table
from ldp_lib.tables._independence import p_value
from ldp_lib.tables._totals import near_covariance
from ldp_lib.tables.covariance import table_covariance

TEN = {f"q{j}": ["no", "yes"] for j in range(10)}
SOME = {"k": (2, 3, 3), "epsilon": 1.5}
MECHANISMS = [
    OneQuestion(**SOME),
    OneQuestion(**SOME, groups=False, weights=(0.5, 0.3, 0.2)),
    OneQuestion(**SOME, oracle=GRR),
    OneQuestion(**SOME, oracle=UnaryEncoding),
    AskSome(**SOME),
    AskSome(**SOME, m=2),
    AskSome(**SOME, m=2, sizes=(1, 2, 1), weights=(0.2, 0.3, 0.5)),
    AskSome(**SOME, m=3, sizes=(1, 1, 2)),
    AskSome(**SOME, m=2, weights=(0.0, 0.4, 0.6), groups=False),
    RRIndependent(**SOME),
    RRJoint(**SOME),
    SPL(**SOME),
    GRR(k=4, epsilon=1.0),
    SubsetSelection(k=5, epsilon=1.0),
    RR(k=2, epsilon=1.0),
]


def nine_in_ten(n):
    """People of whom nine in ten answer "yes" to everything."""
    answers = np.where(np.arange(n) < 0.9 * n, "yes", "no")
    return pd.DataFrame(dict.fromkeys(TEN, answers)).assign(w=np.arange(n) % 3 + 1.0)


def lossy(survey, rng, n=2_000, lost=0.25):
    """Reports of which those about q3 are lost with a probability, whatever they say."""
    given = survey.collect(nine_in_ten(n), rng=rng, weights="w")
    m = getattr(survey.mechanism, "m_", 1)
    about = {i for i, asked in enumerate(itertools.combinations(range(10), m)) if 3 in asked}
    return given[~(given["report_asked"].isin(about) & (rng.random(n) < lost))]


def told_of_q3(found):
    return found[(found["attribute"] == "q3") & (found["value"] == "yes")].iloc[0]


@pytest.mark.parametrize("mechanism", [None, AskSome(k=(2,) * 10, epsilon=2.0, m=2)], ids=["one", "two"])
def test_lost_answers_to_one_question_do_not_bend_weighted_shares(mechanism):
    survey, rng = Survey(TEN, 2.0, mechanism), np.random.default_rng(1)
    for _ in range(3):
        got = lossy(survey, rng)
        plain = told_of_q3(survey.estimate(got))
        even = told_of_q3(survey.estimate(got.assign(w=2.0), weights="w"))
        assert even["estimate"] == pytest.approx(plain["estimate"])
        assert even["standard_error"] == pytest.approx(plain["standard_error"], rel=0.05)
        assert survey.contributions(got)["q3=yes"].mean() == pytest.approx(plain["estimate"])
        weighted = told_of_q3(survey.estimate(got, weights="w"))
        assert abs(weighted["estimate"] - 0.9) < 4 * weighted["standard_error"]
        apart = survey.difference(got, survey.collect(nine_in_ten(2_000), rng=rng, weights="w"), weights="w")
        assert abs(told_of_q3(apart)["estimate"]) < 4 * told_of_q3(apart)["standard_error"]


@pytest.mark.parametrize("mechanism", [None, AskSome(k=(2,) * 10, epsilon=2.0, m=2)], ids=["one", "two"])
def test_answers_lost_where_weights_are_large_do_not_bend_weighted_shares(mechanism):
    """Divided by the unweighted number of those asked, the share of yes, 0.9, would be near 0.84."""
    survey, rng, runs, found = Survey(TEN, 2.0, mechanism), np.random.default_rng(3), 16, []
    about = {i for i, asked in enumerate(itertools.combinations(range(10), 2 if mechanism else 1)) if 3 in asked}
    for _ in range(runs):
        given = survey.collect(nine_in_ten(2_000).assign(w=np.arange(2_000) % 2 * 3 + 1.0), rng=rng, weights="w")
        lost = given["report_asked"].isin(about) & (given["w"] == 4) & (rng.random(2_000) < 0.4)
        found.append(told_of_q3(survey.estimate(given[~lost], weights="w")))
    error = math.sqrt(sum(one["standard_error"] ** 2 for one in found)) / runs
    assert abs(np.mean([one["estimate"] for one in found]) - 0.9) < 3 * error < 0.06


@pytest.mark.parametrize(("light", "heavy"), [(0.6, 1.0), (1.0, 0.6)])
def test_weighted_errors_are_those_of_the_answers_that_came(light, heavy):
    """Without noise, where answers to one of ten questions are lost among people of small, or of large, weights.

    Taken as lost evenly, the variance stated would be a fifth, or twice, that of the shares.
    """
    mechanism, rng, n, runs = OneQuestion(k=(5, *(2,) * 9), epsilon=4.0), np.random.default_rng(4), 2_000, 300
    w, yes, shares, told = np.where(np.arange(n) % 8 == 0, 5.0, 1.0), rng.random(n) < 0.9, [], []
    for _ in range(runs):
        asked = rng.permutation(np.arange(n) % 10)
        came = np.flatnonzero((asked > 0) | (rng.random(n) < np.where(w > 1, heavy, light)))
        y, dealt = asked[came], dataclasses.replace(mechanism, weights=np.bincount(asked[came], w[came]))
        z = np.tile(1 / np.repeat(dealt.k, dealt.k), (len(came), 1))
        z[y == 0, 0] += (yes[came][y == 0] - 0.2) / dealt.weights_[0]
        share, variance = estimates.weighted_shares(z, w[came], dealt=(dealt, y))
        shares.append(share[0])
        told.append(variance[0])
    assert np.mean(told) == pytest.approx(np.var(shares), rel=4 * math.sqrt(2 / runs))


@pytest.mark.parametrize("m", [1, 2])
def test_weighted_errors_in_groups_are_those_of_simulated_shares(m):
    """The variance stated is on average that of the shares; the foil takes no notice of groups."""
    mechanism = AskSome(k=(2, 2, 2, 2), epsilon=3.0, m=m, sizes=(1, 1, 1, 1), weights=(1,) * math.comb(4, m))
    rng, n, runs = np.random.default_rng(2), 240, 2_000
    x, w = np.repeat((np.arange(n) < 0.95 * n)[:, None], 4, axis=1).astype(int), np.arange(n) % 2 * 3 + 1.0
    every = mechanism.reports()
    shares, told, foil = [], [], []
    for _ in range(runs):
        y = mechanism.perturb(x, rng=rng)
        asked = dataclasses.replace(mechanism, weights=np.bincount(y["asked"], w))
        contribution = dict(zip(map(bytes, every), estimates.contributions(asked, files.to_frame(every)), strict=True))
        z = np.array([contribution[bytes(one)] for one in y])
        shares.append(estimates.weighted_shares(z, w)[0][0])
        told.append(estimates.weighted_shares(z, w, dealt=(asked, y["asked"]))[1][0])
        foil.append(estimates.weighted_shares(z, w)[1][0])
    noise = 3 * math.sqrt(2 / runs)
    assert as_counted(mechanism, mechanism.count(y)) == mechanism  # as planned, to the person
    assert np.mean(told) == pytest.approx(np.var(shares), rel=noise)
    assert np.mean(foil) > (1 + noise) * np.var(shares)


def test_reports_chosen_by_what_was_asked_are_refused_from_one_in_a_million_on():
    """Also if everybody draws the question alone, where a lost answer would count as an even one."""

    def refused(mechanism, lost):
        asked = np.full(10, 200)
        asked[3] -= lost
        counts = np.concatenate([[asked.sum()], np.column_stack([asked, asked, asked * 0]).ravel()])
        with contextlib.suppress(ValueError):
            return as_counted(mechanism, counts) is None
        return True

    chance = [10 * binom.cdf(200 - lost, 2_000 - lost, 0.1) for lost in range(100)]
    assert 60 < sum(one >= 1e-6 for one in chance) < 80
    for groups in (True, False):
        mechanism = OneQuestion(k=(2,) * 10, epsilon=2.0, groups=groups)
        assert [refused(mechanism, lost) for lost in range(100)] == [one < 1e-6 for one in chance]


@pytest.mark.parametrize("lost", [0.0, 0.25])
def test_a_share_s_error_is_that_of_those_who_reported(lost):
    survey, rng = Survey(TEN, 2.0), np.random.default_rng(3)
    got = lossy(survey, rng, lost=lost)
    asked = got["report_asked"].value_counts().sort_index().to_numpy()
    counted = dataclasses.replace(survey.mechanism, weights=asked)
    raw = survey.mechanism.estimate(files.from_frame(got, survey.mechanism))
    told = survey.estimate(got)["standard_error"].to_numpy()
    assert told == pytest.approx(np.concatenate(standard_errors(counted, raw, len(got))))
    assert told[7] / told[5] == pytest.approx(math.sqrt(asked[2] / asked[3]), rel=0.1)  # q3 and q2, yes


def test_a_subgroup_s_tests_keep_their_level_and_its_intervals_cover():
    """The number asked a pair is random there; with the one planned, independence is rejected too often."""
    mechanism, rng, n, runs = AskSome(k=(2,) * 10, epsilon=3.0, m=2), np.random.default_rng(4), 200, 400
    found: dict = {"counted": [], "planned": []}
    covered = []
    for _ in range(runs):
        x = rng.integers(0, 2, (2_000, 10))
        y = mechanism.perturb(x, rng=rng)[:n]
        with contextlib.suppress(ValueError):  # where nobody was asked about the pair
            raw, asked = raw_table(mechanism, y, 3, 4), as_counted(mechanism, mechanism.count(y))
        for name, one in (("counted", asked), ("planned", mechanism)):
            found[name].append(p_value(one, raw, (3, 4), n) < 0.05)
        share = raw_table(mechanism, y, 3)[0]
        spread = math.sqrt(near_covariance(asked, np.array([share, 1 - share]), (3,), n, False)[0, 0])
        covered.append(abs(share - (x[:n, 3] == 0).mean()) < 1.96 * spread)
    noise = 3 * math.sqrt(0.05 * 0.95 / runs)
    assert np.mean(found["counted"]) < 0.05 + noise < np.mean(found["planned"])
    assert np.mean(covered) > 0.95 - noise


PAIRS = AskSome(k=(2,) * 24, epsilon=3.0, m=2, sizes=(1,) * 24, weights=(1,) * 276)


def test_fewer_than_one_report_planned_for_each_pair_are_counted_too():
    """Of 24 questions each is asked of some 20 people in a subgroup, each pair of less than one; q3's get lost."""
    survey, rng, n, off = Survey({f"q{j}": [0, 1] for j in range(24)}, 3.0, PAIRS), np.random.default_rng(1), 240, []
    about = {i for i, asked in enumerate(PAIRS.questions.tolist()) if 3 in asked}
    for _ in range(15):
        x = (rng.random((1_000, 24)) < 0.9).astype(int)
        got = survey.collect(survey.decode(x).assign(mine=np.arange(1_000) < n), rng=rng, keep=["mine"])
        got = got[got["mine"] & ~(got["report_asked"].isin(about) & (rng.random(1_000) < 0.4))]
        found = survey.estimate(got)
        off.append(found["estimate"].iloc[7] - x[:n, 3].mean())
    asked = got["report_asked"].value_counts().reindex(range(276), fill_value=0).to_numpy()
    counted = dataclasses.replace(PAIRS, weights=asked)
    raw = counted.estimate(files.from_frame(got, PAIRS))
    assert found["estimate"].to_numpy() == pytest.approx(np.concatenate(raw))
    assert found["standard_error"].to_numpy() == pytest.approx(np.concatenate(standard_errors(counted, raw, len(got))))
    assert survey.contributions(got).mean()[:48].to_numpy() == pytest.approx(np.concatenate(raw))
    one, other = PAIRS.questions[np.argmax(asked)]
    table = survey.table(f"q{one}", f"q{other}", got)["estimate"].unstack()
    assert table.sum(axis=1).to_numpy() == pytest.approx(raw[one])
    assert abs(np.mean(off)) < 4 * np.std(off) / math.sqrt(len(off))


@pytest.mark.parametrize("lost", [0.0, 0.6])
def test_answers_lost_to_one_question_are_noticed_among_many_pairs(lost):
    """Each pair has five reports, of which none may come by chance; the question has 115."""
    mechanism, rng, n = dataclasses.replace(PAIRS, groups=False), np.random.default_rng(1), 1_380
    y = mechanism.perturb(rng.integers(0, 2, (n, 24)), rng=rng)
    y = y[~((mechanism.questions[y["asked"]] == 3).any(axis=1) & (rng.random(n) < lost))]
    with pytest.raises(ValueError, match="chosen by what was asked") if lost else contextlib.nullcontext():
        assert as_counted(mechanism, mechanism.count(y)) == mechanism


def test_a_matrix_over_several_questions_is_refused_where_shares_stand_for_people():
    """Two populations with equal shares, whose estimates have errors of 0.062 and 0.106."""
    matrix = [[0.7, 0.1, 0.1, 0.1], [0.1, 0.4, 0.25, 0.25], [0.25, 0.25, 0.4, 0.1], [0.1, 0.1, 0.1, 0.7]]
    joint = RRJoint(k=(2, 2), epsilon=2.0, matrix=matrix)
    errors = [
        joint.variance(Population.from_counts(c))[0][0] ** 0.5 for c in ([[500, 0], [0, 500]], [[0, 500], [500, 0]])
    ]
    assert errors == pytest.approx([0.0615, 0.1062], abs=1e-4)
    clustered = ProductRR(k=(2, 2, 3), clusters=((0, 2), (1,)), channels=(np.eye(6) * 0.4 + 0.1, 1.0))
    alone = RRIndependent(k=(2, 3), channels=([[0.9, 0.1], [0.2, 0.8]], 1.0))
    for one in (joint, clustered):
        shares = [np.full(size, 1 / size) for size in one.k]
        for act in (
            lambda one=one: Survey({f"q{j}": list(range(k)) for j, k in enumerate(one.k)}, one.epsilon, one),
            lambda one=one, shares=shares: standard_errors(one, shares, 100),
            lambda one=one: required_users(one, 0.1),
            lambda one=one: required_users(one, 0.1, wants="tables"),
        ):
            with pytest.raises(TypeError, match="several attributes"):
                act()
    Survey({"a": [0, 1], "b": [0, 1, 2]}, alone.epsilon, alone)
    assert required_users(alone, 0.1) > 1


def test_contributions_are_unbiased_by_enumeration():
    for mechanism in MECHANISMS:
        k = mechanism.k if isinstance(mechanism.k, tuple) else (mechanism.k,)
        z = estimates.contributions(mechanism, files.to_frame(mechanism.reports()))
        records = np.array(list(itertools.product(*map(range, k))))
        truth = np.hstack([np.eye(size)[records[:, j]] for j, size in enumerate(k)])
        assert np.asarray(mechanism.channel(), float) @ z == pytest.approx(truth, abs=1e-12)


@pytest.mark.parametrize("mechanism", [one for one in MECHANISMS if isinstance(one, AskSome) and one.m_ > 1])
def test_covariances_are_those_of_the_whole_channel(mechanism):
    free, law = dataclasses.replace(mechanism, groups=False), np.random.default_rng(3).dirichlet(np.ones(18))
    y, p = mechanism.reports(), law @ np.asarray(mechanism.channel(), float)
    for at in [(1, 2), (2, 1)] + [(2, 0, 1)] * (mechanism.m_ > 2):
        base = next(i for i in range(len(y)) if set(at) <= set(free.questions[y["asked"][i]].tolist()))
        own = raw_table(free, y[[base]], *at).ravel()
        z = np.array([2 * raw_table(free, y[[base, i]], *at).ravel() - own for i in range(len(y))])
        mean, marginal = p @ z, np.einsum(law.reshape(2, 3, 3), [0, 1, 2], list(at))
        assert mean == pytest.approx(marginal.ravel())
        covariance = (z.T * p) @ z - np.outer(mean, mean)
        assert covariance == pytest.approx(table_covariance(free, marginal, *at, n=1), abs=1e-9)


def test_contributions_of_reports_of_very_many_columns_stay_with_their_rows():
    for k, epsilon, n in (((300, 2), 1.0, 60), ((60, 40), 0.5, 200)):
        mechanism, rng = OneQuestion(k=k, epsilon=epsilon), np.random.default_rng(1)
        frame = files.to_frame(mechanism.perturb(rng.integers(0, k, (n, 2)), rng=rng))
        frame = pd.concat([frame, frame.iloc[::3]], ignore_index=True)
        y = files.from_frame(frame, mechanism)
        own = [np.concatenate(mechanism.estimate(y[i : i + 1])) for i in range(len(y))]
        assert np.array_equal(estimates.contributions(mechanism, frame), own)


@pytest.mark.parametrize("oracle", [OLH, UnaryEncoding, GRR])
def test_other_oracles_have_weights_but_no_covariances(oracle):
    survey, rng = Survey({"a": [0, 1], "b": [0, 1, 2]}, 2.0, OneQuestion(k=(2, 3), epsilon=2.0, oracle=oracle)), None
    rng = np.random.default_rng(1)
    people = pd.DataFrame(rng.integers(0, (2, 3), (2_000, 2)), columns=["a", "b"]).assign(w=3.0)
    given = survey.collect(people, rng=rng, weights="w")
    one, two = survey.estimate(given), survey.estimate(given, weights="w")
    assert two["estimate"].to_numpy() == pytest.approx(one["estimate"].to_numpy())
    assert two["standard_error"].to_numpy() == pytest.approx(one["standard_error"].to_numpy(), rel=0.15)
    assert survey.query({"b": 1}, given).standard_error == pytest.approx(one["standard_error"][3])
    with pytest.raises(TypeError, match="covariances"):
        survey.query({"b": [1, 2]}, given)


def test_a_query_of_a_thousand_labels_needs_little_memory():
    survey, rng = Survey({"city": list(range(1_000)), "a": ["x", "y"]}, 3.0), np.random.default_rng(1)
    people = pd.DataFrame({"city": rng.integers(0, 1_000, 2_000), "a": rng.choice(["x", "y"], 2_000)})
    given = survey.collect(people, rng=rng)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = survey.query({"city": 1}, given)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 * 1024  # kilobytes
    one = survey.estimate(given).iloc[1]
    assert found.estimate == pytest.approx(one["estimate"])
    assert found.standard_error == pytest.approx(one["standard_error"], rel=0.03)


def test_a_query_of_too_many_labels_is_refused_with_their_number():
    survey = Survey({"city": list(range(9_000)), "a": ["x", "y"]}, 3.0)
    with pytest.raises(ValueError, match=r"at most 8,192 cells together.* got a table of 9,000 cells"):
        survey.query({"city": 1}, "no folder")
    with pytest.raises(ValueError, match="got a table of 18,000 cells"):
        survey.table("city", "a", "no folder")


def test_a_query_of_one_label_has_the_error_of_its_share():
    for n, d in ((20, 2), (100, 2), (100, 6)):
        k, rng = (2, 3) * (d // 2), np.random.default_rng(1)
        survey = Survey({f"q{j}": list(range(size)) for j, size in enumerate(k)}, 2.0)
        given = survey.collect(pd.DataFrame(rng.integers(0, k, (n, d)), columns=list(survey.domain)), rng=rng)
        one = survey.estimate(given)["standard_error"][0]
        assert survey.query({"q0": 0}, given).standard_error == pytest.approx(one, rel=0.03)

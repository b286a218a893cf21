"""An hour of an app engineer and analyst of experiments: arms, days, small groups, JSON, uploads in parts, counters."""

import io
import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm

from ldp_lib import GRR, AskSome, OneQuestion, Population, RRJoint, Survey, recommend, required_users
from ldp_lib.survey import files
from ldp_lib.survey.aggregate import Counts, aggregate
from ldp_lib.survey.planner import required_budget, standard_errors

RNG = np.random.default_rng
PAIR = Survey({"a": ["x", "y"], "b": [1, 2, 3]}, 2.0, AskSome(k=(2, 3), epsilon=2.0, m=2))
ONE = Survey(PAIR.domain, 2.0)
PEOPLE = pd.DataFrame(
    {"a": ["x", "y"] * 300, "b": [1, 2, 3] * 200, "arm": ["A", "B", "B", "A"] * 150, "day": [1, 2, 2] * 200}
)
REPORTS = PAIR.collect(PEOPLE, rng=RNG(1), keep=["arm", "day"])


def yes_no(epsilon):
    return Survey({"buy": ["no", "yes"]}, epsilon, GRR(k=2, epsilon=epsilon))


def truth(epsilon):
    """Return the probability that a report of yes or no is true."""
    return np.exp(epsilon) / (1 + np.exp(epsilon))


# Arms of an experiment.


def arm(survey, yes, n, rng):
    """Return the counts of an arm's reports, of whose people so many say yes."""
    p = truth(survey.epsilon)
    reported = rng.binomial(yes, p) + rng.binomial(n - yes, 1 - p)
    return survey.mark(Counts(survey.mechanism, [n, n - reported, reported]))


@pytest.mark.parametrize(("epsilon", "alone"), [(1.0, 0.92), (2.0, 0.82), (4.0, 0.42)])
def test_arms_are_drawn_from_the_people_asked_and_their_difference_needs_sampling(epsilon, alone):
    """As the page says, for 2,000 people of whom 600 say yes in both arms."""
    survey, p, rng, n, runs = yes_no(epsilon), truth(epsilon), RNG(1), 1_000, 20_000
    yes = rng.hypergeometric(600, 1_400, n, runs)
    reported = [rng.binomial(some, p) + rng.binomial(n - some, 1 - p) for some in (yes, 600 - yes)]
    apart = (reported[0] - reported[1]) / n / (2 * p - 1)
    arms = [survey.mark(Counts(survey.mechanism, [n, n - one[0], one[0]])) for one in reported]
    for sampling, holds in ((False, alone), (True, 0.95)):
        found = survey.difference(*arms, sampling=sampling).loc[1]
        assert found["estimate"] == pytest.approx(apart[0])
        held = abs(apart) < 1.96 * found["standard_error"]
        assert abs(held.mean() - holds) < 0.005 + 4 * (holds * (1 - holds) / runs) ** 0.5  # rounded on the page


@pytest.mark.parametrize(("weight", "holds"), [(1.0, 0.42), (2.0, 0.85)])
def test_weighted_arms_need_sampling_with_replacement(weight, holds):
    """Poisson sampling takes people who were sure to be asked as certain, but which arm they are in is random."""
    survey, n, arms = Survey({"buy": ["no", "yes"]}, 4.0, OneQuestion(k=(2,), epsilon=4.0)), 1_000, [0, 1]
    people = survey.decode((np.arange(2 * n) % n < 300).astype(int)[:, None]).assign(w=weight, arm=np.repeat(arms, n))
    reports = survey.collect(people, rng=RNG(20), weights="w", keep=["arm"])
    parts = [reports[reports["arm"] == one] for one in arms]
    true = (2 * (np.exp(4) / (np.exp(4) - 1) ** 2 + 0.21) / n) ** 0.5
    for sampling, held in ((True, holds), ("with replacement", 0.95)):
        told = survey.difference(*parts, sampling=sampling, weights="w")["standard_error"][1]
        assert 2 * norm.cdf(1.96 * told / true) - 1 == pytest.approx(held, abs=0.02)


def test_an_effect_on_some_only_leaves_intervals_of_the_people_asked_too_wide_with_sampling():
    """The people are fixed, and which arm they are in is random: every twentieth person changes from no to yes."""
    n, rng, draws = 1_000, RNG(2), 20_000
    sure, moved = 600, 100  # of 2,000: who say yes in any arm, and in the first only
    in_first = rng.multivariate_hypergeometric([sure, moved, 2 * n - sure - moved], n, draws)
    first, second = (in_first[:, 0] + in_first[:, 1]) / n, (sure - in_first[:, 0]) / n
    told = (0.35 * 0.65 / n + 0.3 * 0.7 / n) ** 0.5
    assert abs((first - second).mean() - moved / 2 / n) < 5 * told / draws**0.5
    assert 0.9 * told < (first - second).std() < told * (1 + 4 / (2 * draws) ** 0.5)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_so_many_people_in_each_arm_show_a_difference_as_the_page_says(epsilon):
    mechanism, delta = GRR(k=2, epsilon=epsilon), 0.05
    n = required_users(mechanism, 0.49 * delta, sampling=True)
    shares = [np.array([1 - f, f]) for f in (0.5 - delta / 2, 0.5 + delta / 2)]
    error = np.hypot(*(standard_errors(mechanism, one, n, sampling=True)[1] for one in shares))
    assert 0.8 < norm.sf(1.96 - delta / error) < 0.815
    survey, p, runs = yes_no(epsilon), truth(epsilon), 20_000
    reported = RNG(3).binomial(n, [[f[1] * p + f[0] * (1 - p)] for f in shares], (2, runs))
    seen = abs(np.diff(reported, axis=0) / n / (2 * p - 1)) > 1.96 * error
    assert abs(seen.mean() - norm.sf(1.96 - delta / error)) < 5 * 0.4 / runs**0.5 + 1e-3
    halves = [arm(survey, n // 4, n // 2, RNG(4 + i)) for i in range(2)]  # if all together have a margin
    apart = survey.difference(*halves, sampling=True).loc[1, "standard_error"]
    whole = survey.estimate(halves[0] + halves[1], sampling=True).loc[1, "standard_error"]
    assert apart == pytest.approx(2 * whole, rel=0.01)


@pytest.mark.parametrize("sampling", [False, True])
def test_a_budget_for_each_arm_gives_the_difference_its_typical_error(sampling):
    n, points = 4_000, 2.0
    epsilon = required_budget(k=3, n=n, points=points / 2**0.5, sampling=sampling)
    mechanism = recommend(k=3, epsilon=epsilon, n=n, sampling=sampling).mechanism
    error = standard_errors(mechanism, np.full(3, 1 / 3), n, sampling=sampling) * 2**0.5
    assert (100 * np.mean(error**2) ** 0.5) == pytest.approx(points, rel=2e-3)


def test_a_main_question_beside_one_of_many_answers_needs_weights_of_its_own():
    even, n = [np.full(2, 1 / 2), np.full(200, 1 / 200)], 10_000
    best = recommend(k=(2, 200), epsilon=1.0, n=n)
    for mechanism, told in (
        (best.mechanism, [9.1, 3.8]),
        (OneQuestion(k=(2, 200), epsilon=1.0, weights=[1, 1]), [2.8, 5.3]),
    ):
        widths = [196 * one[0] for one in standard_errors(mechanism, even, n)]
        assert widths == pytest.approx(told, abs=0.05)
    assert best.margin() == pytest.approx(3.9, abs=0.05)


def test_looks_at_a_growing_experiment_add_up_as_the_page_says():
    survey, p, runs, each = yes_no(1.0), truth(1.0), 4_000, 100
    reported = RNG(5).binomial(each, 0.3 * p + 0.7 * (1 - p), (2, runs, 20)).cumsum(axis=2)
    n = each * np.arange(1, 21)
    apart = np.diff(reported, axis=0)[0] / n / (2 * p - 1)
    law = np.array([0.7, 0.3])
    error = np.array([2**0.5 * standard_errors(survey.mechanism, law, int(i), sampling=True)[1] for i in n])
    for confidence, found in ((0.95, 0.25), (1 - 0.05 / 20, None)):
        outside = (abs(apart) > norm.isf((1 - confidence) / 2) * error).any(axis=1).mean()
        assert outside < 0.05 if found is None else abs(outside - found) < 4 * (found * (1 - found) / runs) ** 0.5


def test_households_in_one_arm_are_clusters():
    """Two who answer alike and are in one arm: 500 households, of whom three in ten say yes, at epsilon = 5."""
    survey, p, n, runs, rng = yes_no(5.0), truth(5.0), 500, 20_000, RNG(19)
    yes = 2 * rng.binomial(n // 2, 0.3, (2, runs))
    reported = rng.binomial(yes, p) + rng.binomial(n - yes, 1 - p)
    apart = np.diff(reported, axis=0)[0] / n / (2 * p - 1)
    law = np.array([0.7, 0.3])
    told = 2**0.5 * standard_errors(survey.mechanism, law, n, sampling=True)[1]
    held = (abs(apart) < 1.96 * told).mean()
    assert abs(held - 0.84) < 0.005 + 4 * (0.84 * 0.16 / runs) ** 0.5
    sums = [2**0.5 * (told**2 / 2 + 0.21 / n) ** 0.5 * side for side in (-1.96, 1.96)]  # with pairs that answer alike
    assert abs(((sums[0] < apart) & (apart < sums[1])).mean() - 0.95) < 0.01


# Days, and what is no sum.


@pytest.mark.parametrize(("epsilon", "n", "held", "told"), [(1.0, 200, 4, 0.038), (1.0, 200, 100, 0.5)])
def test_means_of_projected_estimates_are_too_large_for_what_few_hold_by_enumeration(epsilon, n, held, told):
    p, mechanism = truth(epsilon), GRR(k=2, epsilon=epsilon)
    law = np.convolve(binom.pmf(range(held + 1), held, p), binom.pmf(range(n - held + 1), n - held, 1 - p))
    raw = np.array([mechanism.estimate_counts(np.array([n, n - c, c]))[1] for c in range(n + 1)])
    assert law @ raw == pytest.approx(held / n)
    assert law @ raw.clip(0, 1) == pytest.approx(told, abs=5e-4)
    survey, c = yes_no(epsilon), n // 5
    one = survey.mark(Counts(mechanism, [n, n - c, c]))
    projected = survey.estimate(one, projected=True).loc[1, "estimate"]
    assert projected == pytest.approx(max(survey.estimate(one).loc[1, "estimate"], 0))


@pytest.mark.parametrize(("epsilon", "n", "told"), [(3.0, 200, 0.045), (4.0, 50, 0.030)])
def test_weights_of_one_over_the_squared_error_favour_small_estimates_by_enumeration(epsilon, n, told):
    """The mean over very many days, of whose people one in twenty says yes."""
    p, mechanism = truth(epsilon), GRR(k=2, epsilon=epsilon)
    law = binom.pmf(range(n + 1), n, 0.05 * p + 0.95 * (1 - p))
    raw = [mechanism.estimate_counts(np.array([n, n - c, c])) for c in range(n + 1)]
    weight = law / [standard_errors(mechanism, one, n, sampling=True)[1] ** 2 for one in raw]
    assert weight @ np.array(raw)[:, 1] / weight.sum() == pytest.approx(told, abs=5e-4)
    assert law @ np.array(raw)[:, 1] == pytest.approx(0.05)


def test_stored_reports_have_the_same_noise_every_day():
    """Ten days, on each of which four in five of 1,000 devices send the report that they stored."""
    n, days, runs, p, rng = 1_000, 10, 1_500, truth(1.0), RNG(18)
    x = np.arange(n) < 300
    stored = np.where(rng.random((runs, n)) < p, x, ~x)
    sent = [rng.random((runs, n)) < 0.8 for _ in range(days)]
    daily = [(stored * some).sum(axis=1) / some.sum(axis=1) for some in sent]
    mean = (np.mean(daily, axis=0) - (1 - p)) / (2 * p - 1)
    told = standard_errors(GRR(k=2, epsilon=1.0), np.array([0.7, 0.3]), 800)[1] / days**0.5
    assert abs(mean.std() / told - 2.9) < 0.05 + 4 * 2.9 / (2 * runs) ** 0.5


def test_noise_adds_to_squares_and_distances_as_the_page_says():
    mechanism, people = Survey({"a": range(20)}, 1.0).mechanism, Population.from_shares([np.full(20, 0.05)], 2_000)
    found = mechanism.simulate(people, rng=RNG(6), runs=1_000)[0]
    squares, noise = (found**2).sum(axis=1), mechanism.variance(people)[0].sum()
    assert abs(squares.mean() - 0.05 - noise) < 5 * squares.std() / 1_000**0.5
    assert round(0.05 + noise, 3) == 0.083
    distance = abs(found[::2] - found[1::2]).sum(axis=1) / 2
    assert abs(distance.mean() - 0.46) < 0.005 + 4 * distance.std() / 500**0.5


def test_estimates_times_people_are_no_counts_for_a_test():
    """The power of a test of two proportions where these do not differ: half of both say yes, and people are drawn."""
    noise = standard_errors(GRR(k=2, epsilon=1.0), np.full(2, 0.5), 1_000, sampling=True)[1] ** 2 * 1_000
    assert 2 * norm.sf(1.96 * (0.25 / noise) ** 0.5) == pytest.approx(0.37, abs=0.005)


# Small groups.


def test_a_group_of_whom_nobody_was_asked_has_even_contributions_and_no_error_and_no_estimate():
    survey, groups, size = Survey({f"q{j}": ["no", "yes"] for j in range(8)}, 1.0), 400, 10
    x = (RNG(7).random((groups * size, 8)) < 0.9).astype(int)
    people = survey.decode(x).assign(group=np.repeat(np.arange(groups), size))
    reports = survey.collect(people, rng=RNG(8), keep=["group"])
    columns = survey.contributions(reports).groupby("group")["q0=yes"]
    mean, sem = columns.mean(), columns.sem()
    asked = (reports["report_asked"] == 0).groupby(reports["group"]).sum()
    nobody = asked == 0
    assert abs(nobody.mean() - (7 / 8) ** size) < 4 * (0.26 * 0.74 / groups) ** 0.5
    assert mean[nobody].to_numpy() == pytest.approx(0.5)
    assert sem[nobody].max() < 1e-12 < sem[~nobody].min()
    held = (abs(mean - 0.9) < 1.96 * sem).mean()
    assert abs(held - 0.75) < 4 * (0.75 * 0.25 / groups) ** 0.5
    with pytest.raises(ValueError, match="must ask each attribute of somebody"):
        survey.estimate(reports[reports["group"] == nobody.idxmax()])


READS = {
    "estimate": lambda none: PAIR.estimate(none),
    "difference": lambda none: PAIR.difference(REPORTS, none),
    "table": lambda none: PAIR.table("a", "b", none),
    "query": lambda none: PAIR.query({"a": "x"}, none, given={"b": 1}),
    "associations": lambda none: PAIR.associations(none),
    "contributions": lambda none: PAIR.contributions(none),
    "synthetic": lambda none: PAIR.synthetic(5, none, rng=RNG(1)),
}


@pytest.mark.parametrize("way", READS)
def test_a_day_without_reports_is_an_error_of_ours(way):
    none = REPORTS[REPORTS["day"] == 9]
    with pytest.raises(ValueError, match=r"must hold (a|at least one) report"):
        READS[way](none)


def test_days_and_arms_by_groups_of_pandas_are_estimated_each_alone():
    sure = Survey({"a": ["x", "y"]}, 40.0, GRR(k=2, epsilon=40.0))
    people = pd.DataFrame({"a": list("xyyy") * 30, "arm": list("AABB") * 30, "day": [1, 2, 1, 2] * 30})
    reports = sure.collect(people, rng=RNG(9), keep=["arm", "day"])
    found = {key: sure.estimate(part)["estimate"][0] for key, part in reports.groupby(["arm", "day"])}
    assert found == pytest.approx({("A", 1): 1, ("A", 2): 0, ("B", 1): 0, ("B", 2): 0}, abs=1e-9)
    with pytest.raises((TypeError, FileNotFoundError), match="reports must"):  # pairs of a key and a frame
        sure.estimate(reports.groupby("day"))


# JSON, uploads again and in parts.


def lines(reports):
    return reports.to_json(orient="records", lines=True).splitlines()


def test_reports_of_devices_as_lines_of_json_tell_the_same_and_a_part_of_one_is_refused():
    rows = [json.loads(line) for line in lines(REPORTS)]
    assert PAIR.estimate(PAIR.mark(pd.DataFrame(rows))).equals(PAIR.estimate(REPORTS))
    for name in ("report_asked", "report_sets_0_0", "report_survey"):
        part = [{key: value for key, value in row.items() if i or key != name} for i, row in enumerate(rows)]
        with pytest.raises((TypeError, ValueError), match=r"reports must (hold integers|be of one survey)"):
            PAIR.estimate(PAIR.mark(pd.DataFrame(part)))
    old = [row | {"report_survey": 0} if i < 9 else row for i, row in enumerate(rows)]
    with pytest.raises(ValueError, match="of one survey"):
        PAIR.mark(pd.DataFrame(old))
    again = pd.concat([PAIR.mark(pd.DataFrame(rows[:300])), PAIR.mark(pd.DataFrame(rows[:300] + rows[300:]))])
    with pytest.raises(ValueError, match="reports must be there once"):
        PAIR.estimate(PAIR.mark(again))


def collected(survey):
    return survey.collect(pd.DataFrame({"buy": ["no", "yes"] * 20}), rng=RNG(1))


@pytest.mark.parametrize("kind", ["str", "float32", "int32"])  # the last as a phone's signed number
def test_checksums_of_a_survey_in_another_type_are_refused_and_never_passed_over(kind):
    some = (yes_no(1 + i / 8) for i in range(64))
    survey, reports = next((one, got) for one in some if (got := collected(one))["report_survey"][0] >= 2**31)
    number = reports["report_survey"]
    other = number.to_numpy().view("int32") if kind == "int32" else number.astype(kind)
    assert kind != "float32" or int(np.float32(number[0])) != number[0]
    assert len(survey.estimate(reports.assign(report_survey=number.astype("float64")))) == 2
    with pytest.raises(ValueError, match="reports must be of one survey"):
        survey.estimate(reports.assign(report_survey=other))


TEXT = '[{"v": "01", "date": "2024-01", "seen_at": 40000000}, {"v": "1", "date": "2024-02", "seen_at": 31536001}]'


def test_read_json_makes_numbers_and_times_of_texts_and_json_itself_does_not():
    made, kept = pd.read_json(io.StringIO(TEXT)), pd.read_json(io.StringIO(TEXT), dtype=False)
    assert made["v"].tolist() == [1, 1]
    assert kept["v"].tolist() == ["01", "1"]
    month = Survey({"date": ["2024-01", "2024-02", "else"]}, 1.0, other="else")
    assert month.encode(made).ravel().tolist() == [2, 2]
    plain = pd.DataFrame(json.loads(TEXT), dtype=object)
    assert month.encode(plain).ravel().tolist() == [0, 1]
    newer = int(pd.__version__.split(".")[0]) > 2
    assert month.encode(kept).ravel().tolist() == ([0, 1] if newer else [2, 2])
    assert str(made["seen_at"][0]).startswith("1971-04-08")
    assert plain["seen_at"].tolist() == [40000000, 31536001]
    assert pd.read_json(io.StringIO('[{"seen_at": 31536000}]'))["seen_at"].tolist() == [31536000]
    codes = '[{"v": 9007199254740993}, {"v": null}]'
    assert pd.read_json(io.StringIO(codes), dtype=False)["v"][0] == 9007199254740992
    assert pd.DataFrame(json.loads(codes), dtype=object)["v"][0] == 9007199254740993
    assert pd.read_json(io.StringIO('[{"v": "1.10"}, {"v": "1.1"}]'))["v"].nunique() == 1
    with pytest.raises(ValueError, match="reads like"):
        Survey({"v": ["01", "1", "else"]}, 1.0, other="else").encode(made)


def test_days_of_times_with_a_zone_are_others_after_json_and_not_after_a_parquet_file(tmp_path):
    pytest.importorskip("pyarrow")
    times = pd.date_range("2024-01-01", periods=48, freq="h", tz="Europe/Berlin")
    people = PEOPLE.head(48).assign(t=times)
    reports = PAIR.collect(people, rng=RNG(10), keep=["t"])
    files.write(reports, tmp_path / "batch.parquet")
    text = reports.to_json(orient="records", date_format="iso")
    back = pd.to_datetime(pd.DataFrame(json.loads(text))["t"])
    assert files.read(tmp_path / "batch.parquet")["t"].dt.day.value_counts().to_dict() == {1: 24, 2: 24}
    assert back.dt.day.value_counts().to_dict() == {31: 1, 1: 24, 2: 23}


def test_what_one_person_answered_twice_is_averaged_by_a_pivot_table_and_an_old_answer_stands_for_none():
    long = pd.DataFrame({"id": [1, 1, 2], "q": "a", "v": [1, 3, 2]})
    survey = Survey({"a": [1, 2, 3]}, 1.0)
    assert survey.encode(long.pivot_table(index="id", columns="q", values="v")).ravel().tolist() == [1, 1]
    with pytest.raises(ValueError, match="duplicate"):
        long.pivot(index="id", columns="q", values="v")
    twice = pd.DataFrame({"id": [1, 1], "a": ["yes", None]})
    asked = Survey({"a": ["yes", "no", "none"]}, 1.0, missing="none")
    for way in ("first", "last"):
        assert asked.encode(getattr(twice.groupby("id"), way)()).item() == 0
    for newest in (twice.drop_duplicates("id", keep="last"), twice.groupby("id").nth(-1), twice.groupby("id").tail(1)):
        assert asked.encode(newest).item() == 2


def test_versions_that_read_as_one_number_are_refused_and_told_apart_by_a_letter():
    for pair in (["1.1", "1.10"], ["1_0", "10"], ["1e3", "1000"]):
        with pytest.raises(ValueError, match="differ in print"):
            Survey({"v": pair}, 1.0)
    version = Survey({"v": ["v1.1", "v1.10", "else"]}, 1.0, other="else")
    assert version.encode(pd.DataFrame({"v": ["v1.10", "v1.1", "v1.100"]})).ravel().tolist() == [1, 0, 2]
    whole = Survey({"v": ["2.0.1", "2.0.10", "1.1", "else"]}, 1.0, other="else")
    assert whole.encode(pd.DataFrame({"v": ["2.0.10", "2.0.1"]})).ravel().tolist() == [1, 0]
    with pytest.raises(ValueError, match="reads like"):
        whole.encode(pd.DataFrame({"v": ["1.10"]}))


@pytest.mark.parametrize("answer", ["answer.yes", "ja", "yes!", "\U0001f44d\U0001f3fd", "3\ufe0f\u20e3", "R.string.no"])
def test_what_apps_write_for_an_answer_goes_to_other_as_the_page_says(answer):
    survey = Survey({"v": ["yes", "no", "\U0001f44d", "3", "else"]}, 1.0, other="else")
    assert survey.encode(pd.DataFrame({"v": [answer]})).item() == 4
    for same in ("YES", " no", "\U0001f44d\ufe0f", "\u0663", "\u0969"):
        with pytest.raises(ValueError, match="reads like"):
            survey.encode(pd.DataFrame({"v": [same]}))


# Counters of servers, and devices alone.


def test_counters_kept_by_hand_are_read_as_they_are_and_not_compared_with_each_other():
    """As the docstring says; shares that do not add up to 1 show some slips, and others nothing."""
    reports = ONE.collect(PEOPLE, rng=RNG(11))
    right = aggregate(reports, ONE.mechanism).counts
    assert ONE.estimate(ONE.mark(Counts(ONE.mechanism, right.tolist()))).equals(ONE.estimate(reports))

    def sums(change):
        found = ONE.estimate(ONE.mark(Counts(ONE.mechanism, right + change)))
        return found.groupby("attribute")["estimate"].sum().tolist()

    assert sums(0) == pytest.approx([1, 1])
    assert sums(np.eye(8, dtype=int)[0] * 9) == pytest.approx([1, 1])  # a report more, and no answer
    for j in range(1, 8):
        shown = sums(np.eye(8, dtype=int)[j] * 9)
        assert (abs(np.subtract(shown, 1)) > 0.01).tolist() == [j < 4, j >= 4]
    for wrong in (right[:-1], right * 1.0, -right, np.append(right, 0), right - right[0]):
        with pytest.raises(ValueError, match="counts must be 8 possible whole numbers"):
            Counts(ONE.mechanism, wrong)


def test_counts_of_servers_that_share_a_part_are_never_merged(tmp_path):
    parts = [ONE.mark(aggregate(ONE.collect(PEOPLE, rng=RNG(i)), ONE.mechanism)) for i in range(3)]
    (parts[0] + parts[1]).save(tmp_path / "first.json")
    told = json.loads((tmp_path / "first.json").read_text())
    (tmp_path / "again.json").write_text(json.dumps(dict(reversed(told.items())), indent=3))
    first = Counts.load(tmp_path / "again.json", ONE.mechanism)
    assert (first + parts[2]).n == 1_800
    for again in (parts[0], parts[1] + parts[2], first):
        with pytest.raises(ValueError, match=r"counts must be of (different|one mechanism and new) reports"):
            first + again
    (tmp_path / "floats.json").write_text(json.dumps(told | {"counts": [float(one) for one in told["counts"]]}))
    with pytest.raises(ValueError, match="damaged or was changed"):
        Counts.load(tmp_path / "floats.json", ONE.mechanism)


@pytest.mark.parametrize("bits", [np.random.PCG64, np.random.MT19937, lambda seed: np.random.Philox(key=seed)])
def test_devices_with_seeds_in_a_row_are_independent_of_each_other(bits):
    n, x = 300, np.array([[1, 1]])
    counts = sum(ONE.mechanism.count(ONE.mechanism.perturb(x, rng=np.random.Generator(bits(i)))) for i in range(n))
    found = ONE.estimate(ONE.mark(Counts(ONE.mechanism, counts)))
    assert (abs(found["estimate"] - [0, 1, 0, 1, 0]) < 4.5 * found["standard_error"]).all()
    share = ONE.mechanism.weights_[0]
    assert abs(counts[1] - n * share) < 4.5 * (n * share * (1 - share)) ** 0.5


def test_cells_of_booleans_and_numbers_are_found_by_their_labels():
    survey = Survey({"p": [True, False], "q": [1, 0]}, 40.0, RRJoint(k=(2, 2), epsilon=40.0))
    reports = survey.collect(survey.decode(np.repeat([[0, 0], [1, 0], [1, 1]], [50, 30, 20], axis=0)), rng=RNG(12))
    cells = survey.table("p", "q", reports)["estimate"]
    assert cells.loc[True].tolist() == pytest.approx([0.5, 0], abs=1e-9)
    assert cells[False].tolist() == pytest.approx([0.3, 0.2])
    assert cells.loc[(False, 0)] == pytest.approx(0.2)
    assert cells.unstack().loc[False, 1] == pytest.approx(0.3)
    assert cells.xs(0, level="q").tolist() == pytest.approx([0, 0.2], abs=1e-9)
    for wrong in ({"p": 1}, {"q": True}, {"q": "1"}):
        with pytest.raises(ValueError, match="where must name labels"):
            survey.query(wrong, reports)


def test_one_question_s_planner_takes_arms_by_their_own_people():
    """Ten in a hundred are in one arm: the planned error of the difference is that of the reports that came."""
    survey, n = Survey({"a": ["x", "y"], "b": [1, 2, 3]}, 1.5, OneQuestion(k=(2, 3), epsilon=1.5)), (400, 3_600)
    shares = [np.array([0.8, 0.2]), np.array([0.5, 0.3, 0.2])]
    planned = np.hypot(*(standard_errors(survey.mechanism, shares, one, sampling=True)[0][1] for one in n))
    people = [Population.from_shares(shares, one) for one in n]
    runs = [survey.mechanism.simulate(one, rng=RNG(13 + i), runs=4_000)[0][:, 1] for i, one in enumerate(people)]
    noise = np.var(runs[0] - runs[1])
    assert abs(noise + sum(0.16 / one for one in n) - planned**2) < 5 * noise * (2 / 4_000) ** 0.5


@pytest.mark.parametrize("said", [False, True])
def test_reports_of_two_versions_in_one_stream_are_divided_by_their_column(said):
    """As the page says; `said`: whether the stream says that all are of the first, as an Arrow data set does."""
    other = Survey({"a": ["x", "y"], "b": [1, 2, 4]}, 2.0)
    parts = [ONE.collect(PEOPLE, rng=RNG(14)), other.collect(PEOPLE.replace({"b": {3: 4}}), rng=RNG(15))]
    stream = pd.concat(parts, ignore_index=True).sample(frac=1, random_state=1)
    stream.attrs = dict(parts[0].attrs) if said else {}
    for survey in (ONE, other):
        with pytest.raises(ValueError, match="reports must be of one survey"):
            survey.estimate(survey.mark(stream))
    number = parts[0]["report_survey"][0]
    for key, part in stream.groupby("report_survey"):
        part.attrs.clear()
        survey, wrong = (ONE, other) if key == number else (other, ONE)
        right = parts[survey is other]
        assert survey.estimate(survey.mark(part)).equals(survey.estimate(right))
        with pytest.raises(ValueError, match="reports must be of one survey"):
            wrong.mark(part)


def test_a_mean_of_ratios_is_too_large_and_the_ratio_of_means_is_not():
    days, rng = 200_000, RNG(16)
    divisor, divided = 6 + rng.normal(size=days), 7.2 + rng.normal(size=days)
    ratios = divided / divisor
    assert abs(ratios.mean() - 1.24) < 0.005 + 4 * ratios.std() / days**0.5
    assert abs(divided.mean() / divisor.mean() - 1.2) < 5 * 1.6 / 6 / days**0.5
    assert ratios.mean() > 1.2 + 20 * ratios.std() / days**0.5


def test_kept_versions_are_told_apart_by_read_and_not_by_readers_that_guess_types(tmp_path):
    people = PEOPLE.assign(version=["1.1", "1.10"] * 300, site=["01", "1"] * 300)
    files.write(PAIR.collect(people, rng=RNG(17), keep=["version", "site"]), path := tmp_path / "batch.csv")
    assert files.read(path)[["version", "site"]].nunique().tolist() == [2, 2]
    assert pd.read_csv(path)[["version", "site"]].nunique().tolist() == [1, 1]
    named = pd.read_csv(path, dtype={"version": str, "site": str})
    assert named[["version", "site"]].nunique().tolist() == [2, 2]
    csv = pytest.importorskip("pyarrow.csv")
    assert len(csv.read_csv(str(path))["version"].unique()) == 1

"""An hour of a platform team: a yearly survey, teams, indices, partitions by day, counts that grow every night."""

import io
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from ldp_lib import GRR, OLH, AskSome, RRJoint, Survey
from ldp_lib.survey import files
from ldp_lib.survey.aggregate import Counts, aggregate

RNG = np.random.default_rng
PAGE = (Path(__file__).resolve().parents[2] / "book" / "survey.md").read_text(encoding="utf-8")
SCALE = [1, 2, 3, 4, 5]
SURVEY = Survey(
    {f"q{i}": [*SCALE, "none"] for i in range(1, 4)}, 2.0, AskSome(k=(6, 6, 6), epsilon=2.0, m=2), missing="none"
)


def staff(n, seed=1):
    rng = RNG(seed)
    answers = pd.DataFrame({name: rng.choice(SCALE, n, p=[0.05, 0.1, 0.2, 0.4, 0.25]) for name in SURVEY.domain})
    day = pd.Timestamp("2026-11-01") + pd.to_timedelta(rng.integers(0, 4, n), "D")
    return answers.assign(team=rng.choice(["a", "b", "É"], n), day=day)


REPORTS = SURVEY.collect(staff(1_500), rng=RNG(2), keep=["team", "day"])
SHARES = SURVEY.estimate(REPORTS)["estimate"]


def same(reports):
    return SURVEY.estimate(reports)["estimate"].equals(SHARES)


# Teams.


def by_team(questions, size, teams, rng):
    survey = Survey({f"q{i}": ["no", "yes"] for i in range(questions)}, 1.0)
    for i in range(teams):
        answers = survey.decode(rng.integers(0, 2, (size, questions))).assign(team=f"team {i}")
        yield survey, survey.collect(answers, rng=rng, keep=["team"])


def test_teams_that_are_dealt_each_by_itself_need_not_agree_within_a_team():
    """Of a team of 60 no two are asked the same of 60 questions, so no two of its reports agree."""
    surveys, parts = zip(*by_team(60, 60, 4, RNG(1)), strict=True)
    together = pd.concat(parts)
    assert not together.duplicated().any()
    assert together.drop(columns="team").duplicated().any()
    assert aggregate(together, surveys[0].mechanism).n == 240
    with pytest.raises(ValueError, match="as if duplicates were dropped"):
        aggregate(together.drop(columns="team").drop_duplicates(), surveys[0].mechanism)


@pytest.mark.parametrize("ending", [None, "csv", "parquet"])
def test_dropped_duplicates_are_seen_beside_kept_columns_that_are_read(ending, tmp_path):
    """Of 8,000 reports 384 are left; of a Parquet file counting does not read kept columns, as the page says."""
    survey = Survey({"a": list(range(8)), "b": list(range(12))}, 2.0, RRJoint(k=(8, 12), epsilon=2.0))
    crowd = survey.decode(RNG(1).integers(0, (8, 12), (8_000, 2))).assign(team=RNG(3).choice(list("wxyz"), 8_000))
    given = survey.collect(crowd, rng=RNG(2), keep=["team"])
    left = given.drop_duplicates()
    assert len(left) == 4 * 96
    assert left.drop(columns="team").duplicated().any()
    if ending:
        for name, frame in (("given", given), ("left", left)):
            files.write(frame, tmp_path / f"{name}.{ending}")
        given, left = (tmp_path / f"{name}.{ending}" for name in ("given", "left"))
    for call in (survey.estimate, lambda y: survey.table("a", "b", y), survey.contributions):
        assert len(call(given)) in (20, 96, 8_000)
        if ending == "parquet" and call != survey.contributions:
            assert len(call(left)) in (20, 96)
            assert "a Parquet file's kept columns are not read for counting" in " ".join(PAGE.split())
        else:
            with pytest.raises(ValueError, match="as if duplicates were dropped"):
                call(left)
    if ending == "parquet":
        with pytest.raises(ValueError, match="as if duplicates were dropped"):
            survey.estimate(files.read(left))


def test_dropped_duplicates_are_seen_in_the_first_4096_rows_only():
    """As the page says: of a hundred teams in no order these hold 41 of each, and shares come out more even."""
    assert "fewer than 50 of the first 4,096 rows alike in kept columns" in " ".join(PAGE.split())
    survey = Survey({"a": list(range(8)), "b": list(range(12))}, 4.0, RRJoint(k=(8, 12), epsilon=4.0))
    people = survey.decode(np.minimum(RNG(1).geometric(0.4, (30_000, 2)) - 1, (7, 11)))
    given = survey.collect(people.assign(team=RNG(2).choice(100, 30_000)), rng=RNG(3), keep=["team"])
    left = given.drop_duplicates()
    whole, part = (survey.estimate(frame)["estimate"] for frame in (given, left))
    assert abs(whole[0] - 0.4) < 0.03 < 0.05 < whole[0] - part[0]
    with pytest.raises(ValueError, match="as if duplicates were dropped"):
        survey.estimate(left.sort_values("team"))


@pytest.mark.parametrize("index", [["team"], ["day", "team"], ["report_asked"]])
def test_an_index_may_have_the_names_of_columns(index):
    assert same(REPORTS.set_index(index, drop=False))


@pytest.mark.parametrize("name", ["self", "group", ""])
def test_kept_columns_may_have_any_name(name, tmp_path):
    given = SURVEY.collect(staff(300).rename(columns={"team": name}), rng=RNG(2), keep=[name])
    files.write(given, tmp_path / "a.parquet")
    assert SURVEY.estimate(tmp_path / "a.parquet").equals(SURVEY.estimate(given))
    assert name in SURVEY.contributions(files.read(tmp_path / "a.parquet"))


def test_a_change_of_the_same_people_has_the_error_of_their_own_differences():
    """Both contributions of a person are joined by a number that travels; the root of both squares is too large."""
    survey, rng, n = Survey({"q": SCALE}, 4.0, GRR(k=5, epsilon=4.0)), RNG(1), 20_000
    before = rng.integers(0, 5, (n, 1))
    waves = before, np.where(rng.random((n, 1)) < 0.2, rng.integers(0, 5, (n, 1)), before)
    people = [survey.decode(wave).assign(number=np.arange(n)) for wave in waves]
    each = [survey.contributions(survey.collect(wave, rng=rng, keep=["number"])) for wave in people]
    one, other = (part.set_index("number").sort_index() @ SCALE for part in each)
    own = survey.contributions(survey.mark(pd.DataFrame({"report": np.arange(5, dtype="u1")}))) @ SCALE
    told = np.exp(4.0 * np.eye(5)) / (np.exp(4.0) + 4)
    noise = told @ own.to_numpy() ** 2 - np.square(SCALE)  # of one report about each answer
    spread = (waves[1] - waves[0]).var() + sum(noise[wave].mean() for wave in waves)
    error = (other - one).sem()
    assert error == pytest.approx((spread / n) ** 0.5, rel=0.03)
    assert error < 0.8 * np.hypot(one.sem(), other.sem())


def test_regions_beyond_a_limit_are_too_many_as_the_page_says():
    """By enumeration of all numbers of yes among 80 reports, at epsilon = 1."""
    told = "of regions of 80 people each, drawn where 60 % say yes, 20 in 100 come out above 70 % at ε = 1"
    assert told in " ".join(PAGE.split())
    survey, p = Survey({"q": ["no", "yes"]}, 1.0, GRR(k=2, epsilon=1.0)), np.e / (np.e + 1)
    shares = [
        survey.estimate(survey.mark(pd.DataFrame({"report": (np.arange(80) < yes).astype("u1")})))["estimate"][1]
        for yes in range(40, 56)
    ]
    first = 40 + np.argmax(np.array(shares) > 0.7)
    assert 40 < first < 55
    assert binom.sf(first - 1, 80, 0.6 * p + 0.4 * (1 - p)) == pytest.approx(0.2, abs=0.005)


def test_an_index_of_several_questions_is_no_quotient_of_sums_as_the_page_says():
    answers = pd.DataFrame({"a": [1, 5.0], "b": [1, np.nan], "c": [1, np.nan]})
    quotient = answers.sum().sum() / answers.notna().sum().sum()
    assert quotient == 2
    assert answers.mean(axis=1).mean() == 3
    assert "it is 2, and that mean is 3" in " ".join(PAGE.split())


# Days and weeks.


def test_a_day_that_is_a_time_is_not_found_by_its_text_and_its_opposite_leaves_none_out():
    """As the page says; a day that is a text is found, and picking nothing is an error."""
    assert REPORTS["day"].dtype.kind == "M"
    dates = REPORTS.assign(day=REPORTS["day"].dt.date)
    texts = REPORTS.assign(day=REPORTS["day"].dt.strftime("%Y-%m-%d"))
    by_text = [frame["day"].isin(["2026-11-02"]).sum() for frame in (dates, texts)]
    assert by_text == [0, (REPORTS["day"] == "2026-11-02").sum()]
    if int(pd.__version__.split(".")[0]) > 2:
        assert not REPORTS["day"].isin(["2026-11-02"]).any()
    with pytest.raises(ValueError, match="at least one report"):
        SURVEY.estimate(dates[dates["day"].isin(["2026-11-02"])])
    assert same(dates[~dates["day"].isin(["2026-11-02"])])
    assert not same(texts[~texts["day"].isin(["2026-11-02"])])


def test_a_folder_of_days_that_are_times_leaves_the_last_day_out(tmp_path):
    REPORTS.to_parquet(tmp_path / "times", partition_cols=["day"])
    texts = REPORTS.assign(day=REPORTS["day"].dt.strftime("%Y-%m-%d"))
    texts.to_parquet(tmp_path / "texts", partition_cols=["day"])
    until = [("day", "<=", "2026-11-02")]
    left, right = (len(pd.read_parquet(tmp_path / name, filters=until)) for name in ("times", "texts"))
    assert left == (REPORTS["day"] <= "2026-11-01").sum() < right == (REPORTS["day"] <= "2026-11-02").sum()
    back = pd.read_parquet(tmp_path / "texts")
    assert SURVEY.estimate(SURVEY.mark(back))["estimate"].equals(SHARES)


def test_weeks_are_those_of_their_own_year():
    days = pd.to_datetime(["2025-01-01", "2025-12-29"])
    assert days.strftime("%Y-%V").nunique() == 1
    assert days.strftime("%G-W%V").tolist() == ["2025-W01", "2026-W01"]
    assert "%Y-%V` puts 29 December 2025 into the first week of 2025" in PAGE


@pytest.mark.parametrize("kind", ["string", "category"])
def test_all_but_one_team_leaves_out_who_has_none_in_a_nullable_column_only(kind):
    team = REPORTS["team"].astype(object).where(np.arange(len(REPORTS)) % 3 > 0, None)
    others = REPORTS[(team.astype(kind) != "a")]
    without = len(team) - team.notna().sum()
    assert len(others) == (team.notna() & (team != "a")).sum() + (without if kind == "category" else 0)


# Nights and restarts.


def test_a_restart_with_the_same_seed_repeats_the_coins_of_the_first_batch():
    answers = staff(200)[["q1", "q2", "q3"]]
    rng = RNG(42)
    first, second = (SURVEY.collect(answers, rng=rng, shuffle=False) for _ in "ab")
    again = SURVEY.collect(answers, rng=RNG(42), shuffle=False)
    assert again.equals(first)
    assert not second.equals(first)


def test_threads_that_share_one_generator_have_numbers_of_their_own():
    survey, rng = Survey({"q": SCALE}, 1.0, OLH(k=5, epsilon=1.0)), RNG(1)
    people = pd.DataFrame({"q": SCALE * 40})
    with ThreadPoolExecutor(8) as pool:
        every = pd.concat(pool.map(lambda _: survey.collect(people, rng=rng), range(20)))
    seeds = every[[name for name in every if name.startswith("report_seed")]]
    assert len(seeds) == 4_000
    assert not seeds.duplicated().any()


def test_a_total_that_grows_every_night_holds_each_night_once(tmp_path):
    total, kept = None, tmp_path / "total.json"
    for night in range(5):
        path = tmp_path / f"night_{night}.parquet"
        files.write(REPORTS.iloc[300 * night : 300 * night + 300], path)
        counts = aggregate(path, SURVEY.mechanism)
        total = counts if total is None else Counts.load(kept, SURVEY.mechanism) + counts
        total.save(kept)
    assert same(Counts.load(kept, SURVEY.mechanism))
    path.rename(tmp_path / "moved.parquet")
    pd.read_parquet(tmp_path / "moved.parquet").to_parquet(tmp_path / "again.parquet", row_group_size=50)
    for name in ("night_2", "moved", "again"):
        with pytest.raises(ValueError, match="counts must be of different reports"):
            Counts.load(kept, SURVEY.mechanism) + aggregate(tmp_path / f"{name}.parquet", SURVEY.mechanism)
    week = Counts(SURVEY.mechanism, total.counts - aggregate(REPORTS.iloc[:300], SURVEY.mechanism).counts)
    assert SURVEY.estimate(SURVEY.mark(week)).equals(SURVEY.estimate(REPORTS.iloc[300:]))
    sums = total.counts.astype(float)  # as SQL's sum of whole numbers comes back
    with pytest.raises(ValueError, match="possible whole numbers"):
        Counts(SURVEY.mechanism, sums)


def test_late_reports_at_the_end_of_a_night_are_noticed_and_before_the_others_are_not(tmp_path):
    """As the page says of rows that also stand in another file, if neither begins like the other."""
    path = tmp_path / "night.parquet"
    for first, noticed in ((REPORTS.iloc[:299], True), (REPORTS.iloc[1:300], False)):
        files.write(first, path)
        counts = aggregate(path, SURVEY.mechanism)
        files.write(REPORTS.iloc[:300], path)
        if noticed:
            with pytest.raises(ValueError, match="counts must be of different reports"):
                counts + aggregate(path, SURVEY.mechanism)
        else:
            assert (counts + aggregate(path, SURVEY.mechanism)).n == 599


def test_two_days_without_reports_are_copies_and_one_is_none(tmp_path):
    files.write(REPORTS, tmp_path / "day_0.parquet")
    files.write(REPORTS.iloc[:0], tmp_path / "day_1.parquet")
    assert same(tmp_path)
    files.write(REPORTS.iloc[:0], tmp_path / "day_2.parquet")
    with pytest.raises(ValueError, match="few and alike by chance"):
        SURVEY.estimate(tmp_path)
    assert same(pd.concat(map(files.read, sorted(tmp_path.iterdir()))))


def test_a_table_that_was_sorted_anew_beside_its_old_files_is_counted_twice(tmp_path):
    files.write(REPORTS, tmp_path / "old.parquet")
    files.write(REPORTS.sort_values("team"), tmp_path / "new.parquet")
    assert aggregate(tmp_path, SURVEY.mechanism).n == 2 * len(REPORTS)
    files.write(REPORTS, tmp_path / "new.parquet")
    with pytest.raises(ValueError, match="copied, or merged"):
        aggregate(tmp_path, SURVEY.mechanism)


# Scales.


def test_promoters_less_detractors_have_one_error_by_queries_and_by_contributions():
    survey = Survey({"likely": list(range(11))}, 2.0)
    people = pd.DataFrame({"likely": RNG(1).choice(11, 3_000, p=[0.04] * 7 + [0.2, 0.2, 0.16, 0.16])})
    given = survey.collect(people, rng=RNG(2))
    good, bad, both = (
        survey.query({"likely": which}, given, sampling=True) for which in (range(9, 11), range(7), [9, 10, *range(7)])
    )
    error = (2 * good.standard_error**2 + 2 * bad.standard_error**2 - both.standard_error**2) ** 0.5
    each = survey.contributions(given)
    score = each[["likely=9", "likely=10"]].sum(axis=1) - each[[f"likely={i}" for i in range(7)]].sum(axis=1)
    assert score.mean() == pytest.approx(good.estimate - bad.estimate)
    assert score.sem() == pytest.approx(error, rel=0.05)
    assert error > 1.02 * np.hypot(good.standard_error, bad.standard_error)


def test_a_yes_that_a_reader_made_true_goes_to_other_as_the_page_says():
    survey = Survey({"q": ["yes", "no", "other"]}, 1.0, other="other")
    assert survey.decode(survey.encode(pd.DataFrame({"q": [True, False]})))["q"].tolist() == ["other"] * 2
    assert '`True` that DuckDB\'s `read_csv` made of "yes"' in PAGE


@pytest.mark.parametrize("order", [SCALE, SCALE[::-1]])
def test_whole_numbers_are_found_by_their_labels_in_either_order(order):
    survey = Survey({"a": SCALE, "b": order}, 30.0, RRJoint(k=(5, 5), epsilon=30.0))
    people = pd.DataFrame({"a": RNG(1).choice(SCALE, 2_000), "b": RNG(2).choice([1, 2, 2, 3, 4, 5, 5, 5], 2_000)})
    given = survey.collect(people, rng=RNG(3))
    table, share = survey.table("a", "b", given)["estimate"], lambda mask: pytest.approx(mask.mean(), abs=1e-6)
    assert table.loc[(1, 5)] == share((people["a"] == 1) & (people["b"] == 5))
    assert table[table.index.get_level_values("b").isin([4, 5])].sum() == share(people["b"] > 3)
    assert table.unstack().loc[1, 5] == table.loc[(1, 5)]
    assert table.unstack().columns.tolist() == order
    back = pd.read_csv(io.StringIO(table.to_csv())).query("a == 1 and b == 5")["estimate"].item()
    assert back == pytest.approx(table.loc[(1, 5)])
    wide = survey.estimate(given).pivot(index="attribute", columns="value", values="estimate")
    assert wide.loc["b", 5] == share(people["b"] == 5)

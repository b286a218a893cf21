"""An hour of a platform team: a yearly survey, teams, indices, partitions by day, counts that grow every night."""

import numpy as np
import pandas as pd
import pytest

from ldp_lib import AskSome, RRJoint, Survey
from ldp_lib.survey import files
from ldp_lib.survey.aggregate import aggregate

RNG = np.random.default_rng
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


def test_dropped_duplicates_are_seen_in_the_largest_of_several_groups():
    survey = Survey({"a": list(range(8)), "b": list(range(12))}, 2.0, RRJoint(k=(8, 12), epsilon=2.0))
    crowd = survey.decode(RNG(1).integers(0, (8, 12), (8_000, 2))).assign(team=RNG(3).choice(4, 8_000))
    given = survey.collect(crowd, rng=RNG(2), keep=["team"])
    assert aggregate(given, survey.mechanism).n == 8_000
    with pytest.raises(ValueError, match="as if duplicates were dropped"):
        aggregate(given.drop_duplicates(), survey.mechanism)


@pytest.mark.parametrize("index", [["team"], ["day", "team"], ["report_asked"]])
def test_an_index_may_have_the_names_of_columns(index):
    assert same(REPORTS.set_index(index, drop=False))


@pytest.mark.parametrize("name", ["self", "group", ""])
def test_kept_columns_may_have_any_name(name, tmp_path):
    given = SURVEY.collect(staff(300).rename(columns={"team": name}), rng=RNG(2), keep=[name])
    files.write(given, tmp_path / "a.parquet")
    assert SURVEY.estimate(tmp_path / "a.parquet").equals(SURVEY.estimate(given))
    assert name in SURVEY.contributions(files.read(tmp_path / "a.parquet"))

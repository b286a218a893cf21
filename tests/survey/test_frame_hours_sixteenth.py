"""An hour of trying on data engineers' ways: lakes, flags, seeds of lists, capitals, ids beyond what a float holds."""

import contextlib

import numpy as np
import pandas as pd
import pytest

from ldp_lib import GRR, Survey
from ldp_lib.survey import _files, files

SURE = GRR(k=2, epsilon=40.0)  # its reports are the answers
OURS, THEIRS = (Survey({"a": labels}, 40.0, SURE) for labels in (["x", "y"], ["y", "x"]))


def two_files(folder):
    """Return the paths of two files of reports, one of each survey; nine in ten say x to ours, and y to theirs."""
    rng, paths = np.random.default_rng(1), [folder / "a.parquet", folder / "b.parquet"]
    for survey, often, path in zip((OURS, THEIRS), "xy", paths, strict=True):
        answers = pd.DataFrame({"a": rng.permutation([often] * 90 + [*"xy"] * 5), "g": np.arange(100) % 2})
        files.write(survey.collect(answers, rng=rng, keep=["g"]), path)
    return paths


REWRITTEN = {
    "partitioned by survey": {"partitioning": ["report_survey"], "partitioning_flavor": "hive"},
    "partitioned by group": {"partitioning": ["g"], "partitioning_flavor": "hive"},
    "in small files": {"max_rows_per_file": 40, "max_rows_per_group": 40},
}


@pytest.mark.parametrize("way", REWRITTEN)
def test_a_lake_of_two_surveys_is_refused_though_arrow_says_that_all_are_of_the_first(way, tmp_path):
    """Partitioned by survey its rows had no number, and shares of 0.95 were 0.5, or 0.05 in the other one's folder."""
    dataset = pytest.importorskip("pyarrow.dataset")
    paths = two_files(tmp_path)
    assert OURS.estimate(paths[0])["estimate"][0] == pytest.approx(0.95)
    dataset.write_dataset(dataset.dataset(paths), tmp_path / "lake", format="parquet", **REWRITTEN[way])
    for place in (tmp_path / "lake", *(tmp_path / "lake").rglob("*.parquet")):
        found = []
        for survey in (OURS, THEIRS):
            for act in (survey.estimate, survey.contributions):
                with contextlib.suppress(ValueError):
                    found.append((survey is OURS, act(place)))
        for ours, one in found:  # of small files some hold one survey only
            share = one["estimate"][0] if "estimate" in one else one["a=x"].mean()
            assert ours
            assert share > 0.85


def test_reports_without_their_numbers_are_refused_until_somebody_vouches(tmp_path):
    dataset, parquet = pytest.importorskip("pyarrow.dataset"), pytest.importorskip("pyarrow.parquet")
    paths = two_files(tmp_path)
    some = dataset.dataset(paths).to_table(columns=["report", "g"])
    parquet.write_table(some, tmp_path / "c.parquet")
    frame = some.to_pandas()
    assert _files.description(frame) == OURS.description
    for form in (frame, tmp_path / "c.parquet", [frame[:50], frame[50:]]):
        for act in (OURS.estimate, OURS.contributions, THEIRS.estimate):
            with pytest.raises(ValueError, match="reports must be of"):
                act(form)
    alone = files.read(paths[0])
    with pytest.raises(ValueError, match="of another one than it says, or none"):
        OURS.estimate(alone.drop(columns="report_survey"))
    assert OURS.estimate(OURS.mark(alone.drop(columns="report_survey"))).equals(OURS.estimate(alone))

"""An hour of trying on data engineers' ways: lakes, flags, seeds of lists, capitals, ids beyond what a float holds."""

import contextlib
import enum

import numpy as np
import pandas as pd
import pytest

from ldp_lib import GRR, RRJoint, Survey
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
    "in small files": {"max_rows_per_file": 70, "max_rows_per_group": 70},
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


class Drinks(enum.IntFlag):
    TEA = 1
    COFFEE = 2


def test_a_flag_of_two_is_one_label_and_not_the_two_that_it_is_made_of():
    """The share of those who drink one only was given for that of those who drink both."""
    both, mechanism = Drinks.TEA | Drinks.COFFEE, RRJoint(k=(3, 2), epsilon=40.0)
    survey = Survey({"drinks": [Drinks.TEA, Drinks.COFFEE, both], "b": [0, 1]}, 40.0, mechanism)
    people = pd.DataFrame({"drinks": [Drinks.TEA] * 10 + [Drinks.COFFEE] * 20 + [both] * 70, "b": [0, 1] * 50})
    reports = survey.collect(people, rng=np.random.default_rng(1))
    assert survey.query({"drinks": both}, reports).estimate == pytest.approx(0.7)
    assert survey.query({"drinks": list(both)}, reports).estimate == pytest.approx(0.3)
    assert survey.query({"b": 1}, reports, given={"drinks": both}).estimate == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("label", "answer"), [("hayır", "HAYIR"), ("Hayır", "hayir"), ("iyi", "İYİ"), ("iyi", "İyi"), ("kırk", "KIRK")]
)
def test_turkish_capitals_are_not_put_to_other(label, answer):
    survey = Survey({"a": [label, "evet", "diğer"]}, 1.0, other="diğer")
    with pytest.raises(ValueError, match="It reads like"):
        survey.encode(pd.DataFrame({"a": ["evet", answer]}))
    assert survey.encode(pd.DataFrame({"a": [label, "belki"]})).ravel().tolist() == [0, 2]


@pytest.mark.parametrize(
    ("label", "answer"),
    [("όχι", "ΟΧΙ"), ("葛飾", "葛\U000e0100飾"), ("5%", 0.05), ("1-5", pd.Timestamp("2024-05-01"))],
)
def test_what_is_written_in_another_way_goes_to_other_as_the_page_says(label, answer):
    survey = Survey({"a": [label, "b", "rest"]}, 1.0, other="rest")
    assert survey.encode(pd.DataFrame({"a": [answer, label]})).ravel().tolist() == [2, 0]


def test_a_zero_at_the_end_makes_no_other_seed():
    """As the page says: the first of seeds [42, i] is 42, with which the order of people may have been drawn."""
    first, plain, second = (np.random.default_rng(seed).random() for seed in ([42, 0], 42, [42, 1]))
    assert first == plain
    assert first != second


@pytest.mark.parametrize(
    ("kinds", "ids"),
    [(["int64", "uint64"], 1), (["int64", "Int64"], 40), (["uint64", "uint64"], 40), ([str, str], 40)],
    ids=str,
)
def test_ids_beyond_what_a_float_holds_become_equal_beside_unsigned_ones_and_as_texts_do_not(kinds, ids):
    batches = []
    for i, kind in enumerate(kinds):
        numbers = pd.Series(np.arange(40) // 2 + 20 * i + 2**60).astype(kind)
        people = pd.DataFrame({"a": ["x", "y"] * 20, "id": numbers})
        batches.append(OURS.collect(people, rng=np.random.default_rng(i), keep=["id"]))
    assert OURS.contributions(batches)["id"].nunique() == ids

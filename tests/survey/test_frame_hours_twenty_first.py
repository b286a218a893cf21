"""An hour on engines and folders: what may not be read, attributes of one's own, labels of other types, SQL's names."""

import collections
import os
import pickle
import re
import sqlite3

import numpy as np
import pandas as pd
import pytest

from ldp_lib import GRR, OLH, OUE, RSFD, SPL, AskSome, OneQuestion, RRIndependent, RRJoint, SubsetSelection, Survey
from ldp_lib.survey import files
from ldp_lib.survey.aggregate import Counts, aggregate
from ldp_lib.tables import queries

RNG = np.random.default_rng
PAIR = Survey({"a": ["x", "y"], "b": [1, 2, 3]}, 2.0, AskSome(k=(2, 3), epsilon=2.0, m=2))
TWO = pd.DataFrame({"a": ["x"] * 240 + ["y"] * 160, "b": [1, 2] * 200, "g": [1, 2] * 200, "w": [1.0, 2.0] * 200})
ONE, OTHER = (PAIR.collect(TWO, rng=RNG(seed), keep=["g"], weights="w") for seed in (1, 2))


def sure(labels, **how):
    return Survey({"a": labels}, 40.0, GRR(k=len(labels), epsilon=40.0), **how)


# Folders.


def test_a_folder_that_may_not_be_read_is_an_error_and_not_left_aside(tmp_path, monkeypatch):
    """Python's `rglob` passes over it in silence; as its owner may read it, the system's answer is played."""
    for name in "north", "south":
        (tmp_path / name).mkdir()
        files.write(ONE if name == "north" else OTHER, tmp_path / name / "batch.parquet")
    assert aggregate(tmp_path, PAIR.mechanism).n == 800
    shut = tmp_path / "south"

    def refusing(act):
        def listed(path=".", *more):
            if str(path) == str(shut):
                raise PermissionError(13, "Permission denied", str(path))
            return act(path, *more)

        return listed

    for name in "listdir", "scandir":
        monkeypatch.setattr(os, name, refusing(getattr(os, name)))
    assert [one.name for one in tmp_path.rglob("*.parquet") if one.parent != shut] == ["batch.parquet"]
    with pytest.raises(PermissionError, match="south"):
        aggregate(tmp_path, PAIR.mechanism)


def test_names_with_an_underscore_are_counted_and_lake_logs_are_refused(tmp_path):
    """The page: Spark and Arrow leave them aside, and the number of reports shows them here."""
    files.write(ONE, tmp_path / "batch_0.parquet")
    (tmp_path / "_temporary").mkdir()
    files.write(OTHER, tmp_path / "_temporary" / "part.parquet")
    assert aggregate(tmp_path, PAIR.mechanism).n == 800
    (tmp_path / "_delta_log").mkdir()
    (tmp_path / "_delta_log" / "0.json").write_text("{}")
    with pytest.raises(ValueError, match="_delta_log"):
        aggregate(tmp_path, PAIR.mechanism)


@pytest.mark.parametrize("folder", ["g=7", "w=3", "report_asked=0"])
def test_a_folder_s_name_changes_no_column_of_the_file_in_it(folder, tmp_path):
    (tmp_path / folder).mkdir()
    files.write(ONE, tmp_path / folder / "batch.parquet")
    back = PAIR.contributions(tmp_path)
    pd.testing.assert_frame_equal(back, PAIR.contributions(ONE), check_like=True)
    found = PAIR.estimate(tmp_path, weights="w")
    assert np.allclose(found["estimate"], PAIR.estimate(ONE, weights="w")["estimate"])


# Frames.


def test_batches_may_have_attributes_of_their_own():
    named = [one.copy() for one in (ONE, OTHER)]
    for one, source in zip(named, ("first", {"when": pd.Timestamp("2024-01-01")}), strict=True):
        one.attrs["source"] = source
    for how in ({}, {"weights": "w"}):
        pd.testing.assert_frame_equal(PAIR.estimate(named, **how), PAIR.estimate([ONE, OTHER], **how))
        pd.testing.assert_frame_equal(PAIR.difference(named[:1], named[1:], **how), PAIR.difference(ONE, OTHER, **how))
    pd.testing.assert_frame_equal(PAIR.contributions(named), PAIR.contributions([ONE, OTHER]))
    assert named[0].attrs["source"] == "first"
    assert set(ONE.attrs) == {"ldp_lib"}


def test_one_frame_of_contributions_keeps_its_index_and_several_have_a_new_one():
    odd = ONE.set_axis(np.arange(len(ONE))[::-1] * 2)
    assert PAIR.contributions(odd).index.equals(odd.index)
    assert PAIR.contributions([odd, OTHER]).index.equals(pd.RangeIndex(800))


def test_groups_of_another_type_are_other_groups():
    texts = PAIR.collect(TWO.assign(g=TWO["g"].astype(str)), rng=RNG(3), keep=["g"])
    each = PAIR.contributions([ONE, texts])
    assert each.groupby("g").size().to_dict() == {1: 200, 2: 200, "1": 200, "2": 200}


@pytest.mark.parametrize("labels", [[0.0, 1.0], [False, True]])
def test_surveys_whose_labels_differ_in_type_only_are_named(labels):
    whole, other = sure([0, 1]), sure(labels)
    reports = other.collect(pd.DataFrame({"a": labels * 20}), rng=RNG(1))
    told = f"labels of 'a' is [0, 1]; for those of the data frame it is {labels}"
    with pytest.raises(ValueError, match=re.escape(told)):
        whole.estimate(reports)


@pytest.mark.parametrize("cell", [np.array([1, 2]), np.array(["a"]), ["a"], {"a": 1}, {"a"}])
def test_a_cell_that_holds_several_answers_is_refused_by_an_error_that_names_its_column(cell):
    with pytest.raises(TypeError, match="in column 'a'"):
        sure(["a", "b"], other="b").encode(pd.DataFrame({"a": pd.Series([cell, "a"], dtype=object)}))


def test_booleans_beside_missing_numbers_are_no_mixture():
    answers = pd.Series([True, None, np.nan, False, pd.NA, pd.NaT], dtype=object)
    told = sure([True, False, "none"], missing="none").encode(pd.DataFrame({"a": answers}))
    assert told.ravel().tolist() == [0, 2, 2, 1, 2, 2]
    with pytest.raises(TypeError, match="mix booleans"):
        sure([True, False, 2]).encode(pd.DataFrame({"a": pd.Series([True, 1, 2], dtype=object)}))


@pytest.mark.parametrize("nothing", ["$null$", "$NULL$", " $Null$ "])
def test_what_modelling_software_writes_for_nothing_is_not_put_to_other(nothing):
    with pytest.raises(ValueError, match="reads like a missing value"):
        sure(["yes", "no"], other="no").encode(pd.DataFrame({"a": [nothing]}))
    assert sure(["yes", "no"], other="no").encode(pd.DataFrame({"a": ["$5"]})).tolist() == [[1]]


def test_kept_categories_with_missing_ones_keep_long_numbers():
    labels = [2**53, 2**53 + 1, 2**53 + 2]
    people = pd.DataFrame({"a": ["x", "y"] * 50, "i": range(100)})
    people["id"] = pd.Categorical([None if i % 4 == 3 else labels[i % 4] for i in range(100)], pd.Index(labels))
    kept = sure(["x", "y"]).collect(people, rng=RNG(1), keep=["id", "i"])
    assert kept["id"].value_counts().to_dict() == dict.fromkeys(labels, 25)
    at = kept["id"].notna()
    assert [labels[i % 4] for i in kept["i"][at]] == kept["id"][at].tolist()


# Programs.

WAYS = {
    "pickle": lambda frame, path: pickle.loads(pickle.dumps(frame)),
    "objects": lambda frame, path: frame.astype(object).infer_objects(),
    "nullable": lambda frame, path: frame.convert_dtypes(),
    "arrow": lambda frame, path: frame.convert_dtypes(dtype_backend="pyarrow"),
    "json": lambda frame, path: pd.read_json(frame.to_json(path / "r.json", orient="records") or path / "r.json"),
    "csv by arrow": lambda frame, path: pd.read_csv(
        frame.to_csv(path / "r.csv", index=False) or path / "r.csv", engine="pyarrow"
    ),
}
MECHANISMS = [
    GRR(k=300, epsilon=3.0),
    SubsetSelection(k=9, epsilon=1.0),
    OUE(k=5, epsilon=2.0),
    OLH(k=5, epsilon=2.0),
    OneQuestion(k=(2, 30), epsilon=2.0),
    AskSome(k=(2, 3, 4), epsilon=2.0, m=2),
    RRJoint(k=(2, 3), epsilon=2.0),
    RRIndependent(k=(2, 3), epsilon=2.0),
    SPL(k=(2, 3), epsilon=2.0),
    RSFD(k=(2, 3), epsilon=2.0),
]


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: type(one).__name__)
def test_reports_through_a_program_are_the_same_reports_or_refused(mechanism, tmp_path):
    sizes = mechanism.k if isinstance(mechanism.k, tuple) else (mechanism.k,)
    survey = Survey({f"q{j}": range(size) for j, size in enumerate(sizes)}, mechanism.epsilon, mechanism)
    rng = RNG(5)
    people = pd.DataFrame({f"q{j}": rng.integers(0, size, 120) for j, size in enumerate(sizes)})
    people["w"] = [1.0, 1.25] * 60
    reports, told = survey.collect(people, rng=rng, weights="w"), collections.Counter()
    right = survey.estimate(reports)
    for name, way in WAYS.items():
        try:
            marked = survey.mark(way(reports.copy(), tmp_path))
            found = survey.estimate(marked)
        except (TypeError, ValueError, OverflowError):
            told["refused"] += 1
            continue
        pd.testing.assert_frame_equal(found, right, obj=name)
        assert marked["w"].tolist() == reports["w"].tolist(), name
        told["the same"] += 1
    assert told["the same"] >= 4, told


def test_counts_of_one_file_in_another_form_or_saved_again_are_not_added_twice(tmp_path):
    files.write(ONE, tmp_path / "r.parquet")
    files.write(ONE, tmp_path / "r2.csv")
    first = aggregate(tmp_path / "r.parquet", PAIR.mechanism)
    first.save(tmp_path / "c.json")
    again = Counts.load(tmp_path / "c.json", PAIR.mechanism)
    assert (again.counts == first.counts).all()
    assert again.parts == first.parts
    assert isinstance(again.parts, tuple)
    again.save(tmp_path / "d.json")
    parts = [again, Counts.load(tmp_path / "d.json", PAIR.mechanism), aggregate(ONE, PAIR.mechanism)]
    for other in [*parts, aggregate(tmp_path / "r2.csv", PAIR.mechanism)]:
        with pytest.raises(ValueError, match="different reports"):
            first + other
    assert (first + aggregate(OTHER, PAIR.mechanism)).n == 800


def test_a_table_that_was_saved_has_its_cells_under_their_labels(tmp_path):
    """The page's order of labels is that of `table`; read again, pandas sorts, and the labels go with the cells."""
    table = Survey({"a": ["z", "a"], "b": [3, 1, 2]}, 2.0, RRJoint(k=(2, 3), epsilon=2.0))
    people = pd.DataFrame({"a": ["z", "a"] * 60, "b": [3, 1, 2] * 40})
    found = table.table("a", "b", table.collect(people, rng=RNG(1)))["estimate"]
    found.to_csv(tmp_path / "t.csv")
    back = pd.read_csv(tmp_path / "t.csv", index_col=[0, 1])["estimate"]
    assert back.index.tolist() == found.index.tolist()
    square = back.unstack()
    assert (square.index.tolist(), square.columns.tolist()) == (["a", "z"], [1, 2, 3])
    assert np.allclose(square.loc[["z", "a"], [3, 1, 2]], found.unstack())


# What the page says of what happens before and after.


def test_a_missing_number_falls_in_the_last_band_and_a_row_without_a_dummy_in_the_first():
    age = pd.Series([20, np.nan, 70])
    assert np.searchsorted([30, 60], age, side="right").tolist() == [0, 2, 2]
    assert np.digitize(age, [30, 60]).tolist() == [0, 2, 2]
    dummies = pd.get_dummies(pd.Series(["poor", "good", None])).astype(int)
    assert dummies.idxmax(axis=1).tolist() == ["poor", "good", dummies.columns[0]]


def test_sql_does_not_tell_capitals_of_two_questions_apart():
    survey = Survey({"Age": ["x", "y"], "age": ["x", "y"]}, 40.0, SPL(k=(2, 2), epsilon=40.0))
    people = pd.DataFrame({"Age": ["x"] * 80 + ["y"] * 20, "age": ["x"] * 30 + ["y"] * 70})
    each = survey.contributions(survey.collect(people, rng=RNG(1)))
    assert each[["Age=x", "age=x"]].mean().round(6).tolist() == [0.8, 0.3]
    with sqlite3.connect(":memory:") as base:
        each[["Age=x"]].to_sql("each", base)
        assert base.execute('select avg("age=x") from each').fetchone()[0] == pytest.approx(0.8, abs=1e-6)
        with pytest.raises(sqlite3.OperationalError, match="duplicate column"):
            each.to_sql("both", base)


def test_a_condition_on_labels_holds_for_no_place_and_tells_nothing():
    whole = RRIndependent(k=(2, 3), epsilon=4.0)
    y = whole.perturb(PAIR.encode(TWO), rng=RNG(1))
    none = queries.ask_cells(whole, y, (0, 1), lambda cells: cells[:, 1] == 3)
    assert (none.estimate, none.variance) == (0, 0)
    assert queries.ask_cells(whole, y, (0, 1), lambda cells: cells[:, 1] == 0).estimate == pytest.approx(0.5, abs=0.2)

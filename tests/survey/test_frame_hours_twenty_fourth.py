"""An hour of a data engineer: what files keep of columns that travel, columns put together by place, texts cut."""

import datetime
import io
import os
import sqlite3
import zoneinfo

import numpy as np
import pandas as pd
import pytest

from ldp_lib import GRR, AskSome, OneQuestion, RRIndependent, RRJoint, Survey
from ldp_lib.survey import files
from ldp_lib.survey.aggregate import aggregate

RNG = np.random.default_rng
SURE = Survey({"a": ["x", "y"]}, 40.0, GRR(k=2, epsilon=40.0))
PAIR = Survey({"a": ["x", "y"], "b": [1, 2, 3]}, 2.0, AskSome(k=(2, 3), epsilon=2.0, m=2))
TWO = pd.DataFrame({"a": ["x"] * 240 + ["y"] * 160, "b": [1, 2] * 200, "g": [1, 2] * 200, "w": [1.0, 2.0] * 200})
BERLIN, YORK = map(zoneinfo.ZoneInfo, ("Europe/Berlin", "America/New_York"))


def sure(labels, **how):
    return Survey({"a": labels}, 40.0, GRR(k=len(labels), epsilon=40.0), **how)


def with_kept(column, seed=1):
    """Return reports beside a column, and each person's number."""
    column = pd.Series(column)
    people = pd.DataFrame({"a": np.where(np.arange(len(column)) % 2, "x", "y"), "kept": column, "id": column.index})
    return SURE.collect(people, rng=RNG(seed), keep=["kept", "id"])


# What files keep of columns that travel.


def times(n=60, **how):
    return pd.Series(pd.date_range("2024-05-31 23:00", periods=n, freq="h", **how))


def repeated(values, **how):
    return pd.Series([values[i % len(values)] for i in range(60)], **how)


def ordered(categories):
    return pd.Series(pd.Categorical([categories[i % len(categories)] for i in range(60)], categories, ordered=True))


LOST = {
    "grades": ordered([3, 2, 1]),
    "grades of which some are missing": pd.Series(pd.Categorical([3, None, 1, 2] * 15, [3, 1, 2], ordered=True)),
    "grades upwards": ordered([1, 2, 3]),
    "fractions": ordered([1.5, 0.5]),
    "booleans": ordered([True, False]),
    "times": ordered([pd.Timestamp("2021"), pd.Timestamp("2020")]),
    "days": ordered([datetime.date(2021, 1, 1), datetime.date(2020, 1, 1)]),
    "zoned categories": pd.Series(pd.Categorical(times(tz="Europe/Berlin"))),
    "two zones": repeated([datetime.datetime(2024, 6, 1, 12, tzinfo=zone) for zone in (BERLIN, YORK)], dtype=object),
    "beyond 64 bits": repeated([2**64, 1], dtype=object),
}
KEPT = {
    "texts in an order": ordered(["low", "mid", "high"]),
    "texts, some missing": pd.Series(pd.Categorical(["low", None, "mid"] * 20, ["mid", "low"], ordered=True)),
    "texts as objects": ordered(["low", "mid"]).astype(
        pd.CategoricalDtype(pd.Index(["low", "mid"], dtype=object), True)
    ),
    "digits in an order": ordered(["9", "10"]),
    "numbers in no order": pd.Series(pd.Categorical([1, 3, 2] * 20)),
    "zoned times": times(tz="Europe/Berlin"),
    "zoned times, in seconds": times(tz="Europe/Berlin", unit="s"),
    "zoned times, an offset": times(tz=datetime.timezone(datetime.timedelta(hours=5, minutes=30))),
    "plain times": times(),
    "days as objects": repeated([datetime.date(2024, 6, 2), datetime.date(2024, 6, 1)], dtype=object),
    "texts": repeated(["b", "a", None], dtype=object),
    "nullable": repeated([2, None, 1], dtype="Int64"),
    "booleans and missing": repeated([True, None, False], dtype=object),
    "32 bits": repeated([0.1, 0.3], dtype="float32"),
    "months": pd.Series(pd.period_range("2020-01", periods=60, freq="M")),
}
WAYS = {
    "not above": lambda column: (column <= column.iloc[0]).fillna(False).tolist(),
    "same": lambda column: (column == column.iloc[0]).fillna(False).tolist(),
    "least first": lambda column: column.sort_values(kind="stable").index.tolist(),
    "day": lambda column: [None if pd.isna(one) else one.day for one in column],
    "hour": lambda column: [None if pd.isna(one) else one.hour for one in column],
    "greatest": lambda column: str(column.max()),
}


def picked(frame, way):
    """Return what one way of picking tells of a column, or the error's type, by the people's numbers."""
    try:
        return WAYS[way](frame.sort_values("id").set_index("id")["kept"])
    except (AttributeError, TypeError) as error:
        return type(error)


@pytest.mark.parametrize("name", LOST)
def test_columns_whose_order_or_zone_a_parquet_file_does_not_keep_are_refused(name, tmp_path):
    """They came back as plain numbers or times, so another group was picked; values alone had been compared."""
    reports = with_kept(LOST[name])
    for ending in "parquet", "csv":
        with pytest.raises(ValueError, match=rf"^frame must have columns that a \.{ending} file keeps"):
            files.write(reports, tmp_path / f"batch.{ending}")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.parametrize("name", KEPT)
def test_columns_that_a_parquet_file_keeps_pick_the_same_people(name, tmp_path):
    reports = with_kept(KEPT[name])
    files.write(reports, tmp_path / "batch.parquet")
    back = files.read(tmp_path / "batch.parquet")
    plain = {"not above", "greatest"} if name == "numbers in no order" else set()  # then numbers, which have an order
    for way in WAYS.keys() - plain:
        assert picked(back, way) == picked(reports, way), way
    assert (back["id"] % 2 == 1).eq(back["report"] == 0).all()


def test_pandas_own_parquet_files_lose_an_order_of_numbers_and_filters_go_by_letters(tmp_path):
    """The page: pick groups by their names."""
    grades = with_kept(LOST["grades"])
    grades.to_parquet(tmp_path / "grades.parquet")
    back = pd.read_parquet(tmp_path / "grades.parquet")
    assert [sorted(set(one["kept"][one["kept"] >= 2])) for one in (grades, back)] == [[1, 2], [2, 3]]
    assert all(set(one["kept"][one["kept"].isin([2, 1])]) == {1, 2} for one in (grades, back))
    bands = with_kept(KEPT["texts in an order"])
    files.write(bands, tmp_path / "bands.parquet")
    by_letters = pd.read_parquet(tmp_path / "bands.parquet", filters=[("kept", "<=", "mid")])
    assert len(by_letters) == 60 > (bands["kept"] <= "mid").sum() == 40


def test_categories_in_orders_that_differ_compare_by_their_letters_where_batches_are_put_together(tmp_path):
    """What the docstring of `contributions` says, and of groups of other types."""

    def together(one, other):
        for i, column in enumerate((one, other)):
            files.write(with_kept(column, i), tmp_path / f"{i}.parquet")
        return SURE.contributions(tmp_path)["kept"]

    low, high = (ordered([*names])[:50] for names in (("low", "mid", "high"), ("low", "mid", "high", "top")))
    assert sorted(set(together(low, low).pipe(lambda column: column[column <= "mid"]))) == ["low", "mid"]
    assert sorted(set(together(low, high).pipe(lambda column: column[column <= "mid"]))) == ["high", "low", "mid"]
    assert together(pd.Series([0.1] * 40, dtype="float32"), pd.Series([0.1] * 40)).nunique() == 2
    assert together(pd.Series([True] * 40), pd.Series([1] * 40)).nunique() == 1
    assert together(pd.Series(["1"] * 40), pd.Series([1] * 40, dtype=object)).nunique() == 2


def test_csv_files_are_written_and_read_by_entries_of_a_folder(tmp_path, monkeypatch):
    """The manifest's name was made of the entry's print: beside no file, in the working directory."""
    reports = with_kept(KEPT["zoned times"]).drop(columns="kept")
    files.write(reports, tmp_path / "batch.csv")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    (entry,) = (one for one in os.scandir(tmp_path) if one.name == "batch.csv")
    assert len(files.read(entry)) == aggregate(entry, SURE.mechanism).n == 60
    files.write(reports.iloc[:40], entry)
    assert len(files.read(tmp_path / "batch.csv")) == 40
    assert [*(tmp_path / "here").iterdir()] == []


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_who_interrupts_a_write_keeps_the_old_file(ending, tmp_path, monkeypatch):
    path = tmp_path / f"batch.{ending}"
    files.write(PAIR.collect(TWO, rng=RNG(1)), path)
    before = sorted(one.name for one in tmp_path.iterdir())

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(pd, "read_parquet" if ending == "parquet" else "read_csv", interrupted)
        with pytest.raises(KeyboardInterrupt):
            files.write(PAIR.collect(TWO.iloc[:99], rng=RNG(2)), path)
    assert sorted(one.name for one in tmp_path.iterdir()) == before
    assert aggregate(tmp_path, PAIR.mechanism).n == 400


# Answers before they are collected: what the page says of places, indexes, texts and readers.


HALF = pd.DataFrame({"smoker": ["yes"] * 30 + ["no"] * 70, "drinker": ["yes"] * 90 + ["no"] * 10})


def test_columns_put_together_by_place_are_those_of_other_questions(tmp_path):
    base, turned = sqlite3.connect(":memory:"), HALF[["drinker", "smoker"]]
    HALF.to_sql("one", base, index=False)
    turned.to_sql("other", base, index=False)

    def shares(frame):
        return frame.eq("yes").mean().round(2).to_dict()

    by_place = pd.read_sql("select * from one union all select * from other", base)
    by_name = pd.read_sql("select * from one union all select smoker, drinker from other", base)
    HALF.to_csv(tmp_path / "all.csv", index=False)
    turned.to_csv(tmp_path / "all.csv", index=False, mode="a", header=False)
    assert shares(by_place) == shares(pd.read_csv(tmp_path / "all.csv")) == {"smoker": 0.6, "drinker": 0.6}
    assert shares(by_name) == shares(pd.concat([HALF, turned])) == {"smoker": 0.3, "drinker": 0.9}


def test_kept_columns_put_together_by_place_are_other_groups_and_reports_of_unlike_questions_are_refused():
    base, kept = sqlite3.connect(":memory:"), ["wave", "region"]
    for name, answer, keep in (("one", "x", kept), ("other", "y", kept[::-1])):
        people = pd.DataFrame({"a": [answer] * 100, "wave": 1, "region": 2})
        SURE.collect(people, rng=RNG(len(name)), keep=keep).to_sql(name, base, index=False)
    told = SURE.mark(pd.read_sql("select * from one union all select * from other", base))
    assert SURE.estimate(told[told["wave"] == 1])["estimate"].round(6).tolist() == [1, 0]  # of all people 0.5
    both = Survey({"a": ["x", "y"], "b": [1, 2, 3]}, 4.0, RRIndependent(k=(2, 3), epsilon=4.0))
    reports = both.collect(TWO, rng=RNG(1))
    reports.to_sql("first", base, index=False)
    reports[["report_1", "report_0", "report_survey"]].to_sql("second", base, index=False)
    with pytest.raises(ValueError, match="from 0 to 1 in column 0"):
        both.estimate(both.mark(pd.read_sql("select * from first union all select * from second", base)))


def test_a_series_a_join_and_a_concat_go_by_the_index():
    people, answers = pd.DataFrame({"id": [0, 1, 2, 3]}), pd.Series([10, 12, 13])
    left = people[people["id"] != 1]  # 10, 12 and 13 are those of 0, 2 and 3
    for told in (left.assign(b=answers), left.join(answers.rename("b"))):
        assert told["b"].fillna(-1).tolist() == [10, 13, -1]
    assert len(pd.concat([left, answers], axis=1)) == 4
    assert left.assign(b=answers.to_numpy())["b"].tolist() == [10, 12, 13]


def test_an_array_of_texts_cuts_what_is_longer_than_all_that_it_was_made_of():
    survey = sure(["no", "no answer", "yes"], missing="no answer")
    narrow, wide = np.full(5, "no"), np.full(5, "no", dtype=object)
    narrow[2:] = wide[2:] = "no answer"
    assert survey.encode(pd.DataFrame({"a": narrow})).ravel().tolist() == [0] * 5
    assert survey.encode(pd.DataFrame({"a": wide})).ravel().tolist() == [0, 0, 1, 1, 1]
    cut = np.where([True, False], "yes", "no")
    cut[1] = "no answer"  # "no " reads like "no"
    with pytest.raises(ValueError, match="reads like"):
        survey.encode(pd.DataFrame({"a": cut}))


def test_codes_that_are_named_by_place_are_those_of_sorted_texts():
    codes, names = pd.Series([str(i) for i in range(1, 12)]), np.array([f"n{i}" for i in range(1, 12)])
    wrong = ["n1", "n4", "n5", "n6", "n7", "n8", "n9", "n10", "n11", "n2", "n3"]
    assert codes.astype("category").cat.rename_categories([*names]).tolist() == wrong
    assert names[codes.astype("category").cat.codes].tolist() == wrong
    assert names[pd.factorize(codes[::-1])[0]].tolist() == [*names]  # n1 for 11
    assert codes.map(dict(zip(codes, names, strict=True))).tolist() == [*names]


def test_readers_of_texts_join_lines_divide_thousands_and_cut_codes():
    quoted = 'id,note,smoker\n1,"6 foot,no\n2,fine,yes\n3,"5 foot,no\n4,ok,yes\n'
    assert pd.read_csv(io.StringIO(quoted))["id"].tolist() == [1, 4]
    assert pd.read_csv(io.StringIO("q;x\n1.234;a\n"), sep=";")["q"].tolist() == [1.234]
    assert pd.read_csv(io.StringIO("q;x\n1.234;a\n"), sep=";", thousands=".")["q"].tolist() == [1234]
    lines = "q r\n" + "".join(f"{i % 9 + 1} x\n" for i in range(120)) + "10x\n"
    assert pd.read_fwf(io.StringIO(lines))["q"].iloc[-1] == 1
    assert pd.read_fwf(io.StringIO(lines), colspecs=[(0, 2), (2, 3)])["q"].iloc[-1] == 10


def test_a_missing_answer_in_a_nullable_column_or_without_a_comparison_becomes_another_one():
    age, young = pd.Series([20, None, 70], dtype="Int64"), pd.Series(["young"] * 3)
    for told in (young.mask(age >= 60, "old"), young.where(age < 60, "old"), young.case_when([(age >= 60, "old")])):
        assert told.tolist() == ["young", "old", "old"]
    smokes = pd.Series([1.0, np.nan, 0.0])
    assert np.where(smokes, "yes", "no").tolist() == smokes.map(lambda one: "yes" if one else "no").tolist()
    assert np.where(smokes, "yes", "no").tolist() == ["yes", "yes", "no"]
    assert np.where(smokes == 1, "yes", "no").tolist() == ["yes", "no", "no"]


def test_people_who_answered_nothing_are_left_out_by_a_pivot_table_and_codes_of_16_bits_are_their_neighbours():
    long = pd.DataFrame({"id": [1, 1, 2, 2], "q": ["a", "b"] * 2, "v": ["x", "y", None, None]})
    assert len(long.pivot(index="id", columns="q", values="v")) == 2
    assert len(long.pivot_table(index="id", columns="q", values="v", aggfunc="first")) == 1
    codes = sure([2048, 2049, 2050])
    assert codes.encode(pd.DataFrame({"a": np.array([2048, 2049, 2050], "float16")})).ravel().tolist() == [0, 0, 2]


# Reports in other hands.


MECHANISMS = [family(k=(2, 3), epsilon=3.0) for family in (OneQuestion, RRIndependent, RRJoint)]
HANDS = {
    "nullable": lambda reports: reports.convert_dtypes(),
    "arrow": lambda reports: reports.convert_dtypes(dtype_backend="pyarrow"),
    "category": lambda reports: reports.astype({name: "category" for name in reports if name.startswith("report")}),
    "sparse": lambda reports: reports.astype(
        {name: pd.SparseDtype(reports[name].dtype, 0) for name in reports if name.startswith("report_")}
    ),
    "weights": lambda reports: reports.astype({"w": pd.SparseDtype(float, 1.0)}),
    "counted and repeated": lambda reports: (
        counts := reports.groupby([*reports], as_index=False).size(),
        counts.loc[counts.index.repeat(counts["size"])].drop(columns="size"),
    )[1],
    "lines": lambda reports: pd.read_json(io.StringIO(reports.to_json(orient="records", lines=True)), lines=True),
}


@pytest.mark.parametrize("hand", HANDS)
def test_reports_in_any_columns_of_whole_numbers_tell_the_same(hand):
    for mechanism in MECHANISMS:
        survey = Survey({"a": ["x", "y"], "b": [1, 2, 3]}, 3.0, mechanism)
        reports = survey.collect(TWO, rng=RNG(3), weights="w", keep=["g"])
        other = survey.mark(HANDS[hand](reports))
        assert not other[[*reports]].equals(reports) or hand == "lines"
        for how in ({}, {"weights": "w", "sampling": True}):
            both = [survey.estimate(one, **how).iloc[:, 2:].to_numpy() for one in (reports, other)]
            np.testing.assert_allclose(*both, rtol=1e-9)
        means = [
            np.sort(survey.contributions(one).iloc[:, :5].to_numpy(float).mean(axis=0)) for one in (reports, other)
        ]
        np.testing.assert_allclose(*means, atol=1e-12)


@pytest.mark.parametrize("name", ["dtype", "attrs", "values", "T", "index", "columns", "loc", "report", "estimate"])
def test_attributes_may_have_names_that_frames_have(name, tmp_path):
    survey = Survey({name: ["x", "y"], "b": [1, 2, 3]}, 30.0, RRIndependent(k=(2, 3), epsilon=30.0))
    reports = survey.collect(TWO.rename(columns={"a": name}), rng=RNG(1))
    files.write(reports, tmp_path / "batch.csv")
    told = [survey.estimate(tmp_path)["estimate"].iloc[0], survey.contributions(reports)[f"{name}=x"].mean()]
    told += [survey.table(name, "b", reports).loc["x", "estimate"].sum(), survey.query({name: "x"}, reports).estimate]
    np.testing.assert_allclose(told, 0.6, atol=0.01)


def test_columns_stay_beside_their_own_report_whatever_the_index():
    survey = Survey({"a": list(range(60))}, 60.0, GRR(k=60, epsilon=60.0))
    indexes = [[0] * 60, pd.MultiIndex.from_product([range(6), range(10)]), pd.CategoricalIndex(list("ab") * 30)]
    for index in (*indexes, range(59, -1, -1), pd.RangeIndex(0, 120, 2), pd.date_range("2020", periods=60)):
        people = pd.DataFrame({"a": range(60), "id": pd.array(range(60), dtype="Int64")}).set_axis(index)
        reports = survey.collect(people, rng=RNG(5), keep=["id"])
        assert (reports["report"] == reports["id"]).all()
        assert not reports["id"].is_monotonic_increasing


def test_labels_of_a_query_may_come_in_whatever_tells_them():
    reports = PAIR.collect(TWO, rng=RNG(1))
    told, table = PAIR.estimate(reports), PAIR.table("a", "b", reports)
    expected = PAIR.query({"b": [1, 3]}, reports)
    forms = [told["value"].iloc[[2, 4]], table.index.levels[1][[0, 2]], pd.Categorical([1, 3]), {1, 3}, range(1, 4, 2)]
    assert all(PAIR.query({"b": one}, reports) == expected for one in (*forms, np.array([1, 3], "uint8"), [3, 1, 3]))
    for wrong in (["1", "3"], [True, 3], {1: 0, 3: 0}, slice(1, 3), [[1, 3]], None, [1, np.nan]):
        with pytest.raises(ValueError, match="where must name labels"):
            PAIR.query({"b": wrong}, reports)
    for name in (1, None, ["a"], pd.Series(["a"]), b"a"):
        with pytest.raises(ValueError, match="attributes must be different ones"):
            PAIR.table(name, "b", reports)

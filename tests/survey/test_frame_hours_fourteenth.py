"""Hours of trying on the ways of data: answers as other software reads them, files of one device, joined tables."""

import io
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest

from ldp_lib import GRR, OneQuestion, RRJoint, Survey
from ldp_lib.survey import files
from ldp_lib.survey.aggregate import aggregate

DRINK = Survey({"a": ["tea", "coffee", "other"]}, 1.0, other="other")
NOTHING = ["n.a.", "N. A.", "#N/A!", "(blank)", "<NULL>", "[NA]", "(missing)", "undefined", "nil", "NaN.", "NULL;"]
NOTHING += ["..", ":", "...", "\u2026", "___", "*", "()", "[]", "//", "#NV", "#NULL!", "(#N/A)"]


@pytest.mark.parametrize("nothing", NOTHING)
def test_more_that_software_writes_for_nothing_is_not_put_to_other(nothing):
    with pytest.raises(ValueError, match="It reads like a missing value"):
        DRINK.encode(pd.DataFrame({"a": ["tea", nothing]}))


def test_words_that_only_begin_or_end_so_are_answers():
    words = [
        "Nevada",
        "nina",
        "n",
        "N",
        "#1",
        "#top",
        "-9",
        "C++",
        ".NET",
        "<5",
        "n=1",
        "nullable",
        "naan",
        "\U0001f44d",
    ]
    assert DRINK.encode(pd.DataFrame({"a": words})).ravel().tolist() == [2] * len(words)


@pytest.mark.parametrize("answer", ["not_yet", "Not_Yet", "NOT_YET_", "notYet"])
def test_a_label_in_the_spelling_of_programs_is_not_put_to_other(answer):
    survey = Survey({"a": ["yes", "not yet", "rest"]}, 1.0, other="rest")
    with pytest.raises(ValueError, match=r"It reads like \['not yet'\]"):
        survey.encode(pd.DataFrame({"a": ["yes", answer]}))


@pytest.mark.parametrize("word", ["None", "NA", "null", "N/A"])
def test_read_csv_makes_labels_missing_unless_it_is_told_not_to(word):
    survey = Survey({"a": [word, "some", "no answer"]}, 1.0, missing="no answer")
    text = f"a,i\n{word},1\nsome,2\n,3\n"
    for how in ({}, {"dtype": str}, {"dtype": "category"}, {"dtype_backend": "pyarrow"}):
        assert survey.encode(pd.read_csv(io.StringIO(text), **how)).ravel().tolist() == [2, 1, 2]
    told = pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""])
    assert survey.encode(told).ravel().tolist() == [0, 1, 2]


BANDS = ["under 30", "30 to 59", "60 and over"]


def test_codes_fall_in_outer_bands_and_parts_of_years_in_their_own():
    survey = Survey({"age": [*BANDS, "no answer"]}, 1.0, missing="no answer")
    age = pd.Series([29.0, 29.5, 30.0, 59.9, 60.0, -9.0, 999.0, np.nan])
    for codes, last in (([], [0, 2, 3]), ([-9, 999], [3, 3, 3])):
        cut = pd.cut(age.replace(codes, np.nan), [-np.inf, 30, 60, np.inf], right=False, labels=BANDS)
        x = survey.encode(pd.DataFrame({"age": cut})).ravel().tolist()
        assert x == [0, 0, 1, 1, 2, *last]


LABELS = np.array(["no", "yes"])
WAYS = {  # what becomes of "yes", "no" and a missing answer
    "a comparison": (lambda a: a == "yes", [1, 0, 0]),
    "not equal": (lambda a: a != "no", [1, 0, 1]),
    "isin": (lambda a: a.isin(["yes"]), [1, 0, 0]),
    "astype(bool)": (lambda a: a.astype(bool), [1, 1, 1]),
    "None as bool": (lambda a: a.astype(object).mask(a.isna(), None).astype(bool), [1, 1, 0]),
    "nullable texts": (lambda a: a.astype("string") == "yes", [1, 0, 2]),
    "labels[codes]": (lambda a: LABELS[pd.Categorical(a, LABELS).codes] == "yes", [1, 0, 1]),
    "a dictionary": (lambda a: a.map({"yes": True, "no": False}), [1, 0, 2]),
    "a left join": (
        lambda a: a.to_frame("k").merge(pd.DataFrame({"k": ["yes"], "v": [True]}), how="left")["v"],
        [1, 2, 2],
    ),
    "to_numeric": (lambda a: pd.to_numeric(a, errors="coerce").astype("boolean"), [2, 2, 2]),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_missing_answer_becomes_what_pandas_makes_of_it(way):
    act, codes = WAYS[way]
    survey = Survey({"a": [False, True, "no answer"]}, 1.0, missing="no answer")
    found = survey.encode(pd.DataFrame({"a": act(pd.Series(["yes", "no", np.nan]))}))
    assert found.ravel().tolist() == codes


def test_answers_in_a_column_of_another_name_are_missing_where_frames_are_put_together():
    """Alone such a frame is refused."""
    survey = Survey({"a": ["yes", "no", "no answer"]}, 1.0, missing="no answer")
    first, second = pd.DataFrame({"a": ["yes", "no"]}), pd.DataFrame({"A": ["no", "no"]})
    with pytest.raises(ValueError, match="frame must have one column 'a'"):
        survey.encode(second)
    for both in (pd.concat([first, second]), pd.concat([first, second.reindex(columns=["a"])])):
        assert survey.encode(both).ravel().tolist() == [0, 1, 2, 2]


def test_numbers_beside_texts_are_lost_to_methods_of_texts():
    survey, mixed = (
        Survey({"a": [1, 2, "more", "no answer"]}, 1.0, missing="no answer"),
        pd.Series([1, 2, "more", None]),
    )
    for column, codes in ((mixed, [0, 1, 2, 3]), (mixed.str.strip(), [3, 3, 2, 3])):
        assert survey.encode(pd.DataFrame({"a": column})).ravel().tolist() == codes


SURE = Survey({"a": ["x", "y"]}, 12.0, GRR(k=2, epsilon=12.0))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_files_of_one_device_each_may_be_equal_by_chance_and_are_read_together(suffix, tmp_path):
    rng, people = np.random.default_rng(1), [pd.DataFrame({"a": [one]}) for one in "xxxxyyxxxx"]
    reports = [SURE.collect(one, rng=rng) for one in people]
    paths = [tmp_path / f"{i}.{suffix}" for i in range(10)]
    for one, path in zip(reports, paths, strict=True):
        files.write(one, path)
    for given in (tmp_path, paths):
        with pytest.raises(ValueError, match="copied, or merged, or few and alike by chance"):
            SURE.estimate(given)
    counts = sum([aggregate(one, SURE.mechanism) for one in reports[1:]], start=aggregate(reports[0], SURE.mechanism))
    for given in (reports, pd.concat(map(files.read, paths)), counts):
        assert SURE.estimate(given)["estimate"].tolist() == pytest.approx([0.8, 0.2], abs=1e-4)


def test_a_lazy_frame_collects_anew_whenever_it_is_computed():
    """Of which nothing tells but the number of reports: two reports of each person would be counted."""
    dd = pytest.importorskip("dask.dataframe")
    survey = Survey({"a": ["x", "y"], "b": ["p", "q"]}, 1.0)
    people = survey.decode(np.random.default_rng(2).integers(0, 2, (200, 2))).astype(str)
    meta = survey.collect(people, rng=np.random.default_rng(3)).iloc[:0]
    lazy = dd.from_pandas(people, npartitions=2).map_partitions(
        lambda part: survey.collect(part, rng=np.random.default_rng()), meta=meta
    )
    first, second = (aggregate(lazy, survey.mechanism) for _ in range(2))
    assert (first.counts != second.counts).any()
    assert (first + second).n == 2 * len(people)
    once = aggregate(written := lazy.compute(), survey.mechanism)
    with pytest.raises(ValueError, match="counts must be of different reports"):
        once + aggregate(written, survey.mechanism)


SIDES = [
    (["yes", "no"], ["z", "m", "a"]),
    ([1, 0], [30, 10, 20]),
    ([True, False], ["b", "a", "c"]),
    (["b", 2], [3, 1, 2]),
]


@pytest.mark.parametrize("sides", SIDES)
def test_tables_are_put_together_by_their_labels_whatever_the_order_of_these(sides):
    """With tables of another survey, and with the truth as pandas counts it, at a budget at which all tell it."""
    rng, (rows, columns) = np.random.default_rng(4), sides
    surveys = [
        Survey({"a": a, "b": b}, 60.0, RRJoint(k=(2, 3), epsilon=60.0))
        for a, b in (sides, (rows[::-1], columns[1:] + columns[:1]))
    ]
    held = surveys[0].decode(np.column_stack([rng.choice(2, 300, p=[0.3, 0.7]), rng.choice(3, 300, p=[0.5, 0.3, 0.2])]))
    people = held.astype(object)
    one, other = (survey.table("a", "b", survey.collect(people, rng=rng))["estimate"] for survey in surveys)
    turned = surveys[1].table("b", "a", surveys[1].collect(people, rng=rng))["estimate"]
    truth = pd.crosstab(people["a"], people["b"], normalize="all")
    for apart in (
        one - other,
        (one.unstack() - other.unstack()).T.unstack(),
        (one.unstack() - turned.unstack().T).T.unstack(),
        one - truth.T.unstack(),
        (one.unstack() - truth).T.unstack(),
        one - people.value_counts(normalize=True),
        one.to_frame().join(truth.T.unstack().rename("true")).eval("estimate - true"),
        one.groupby("b", sort=False, observed=True).sum() - people["b"].value_counts(normalize=True),
    ):
        assert len(apart) == apart.notna().sum() == (3 if apart.index.nlevels == 1 else 6)
        assert apart.abs().max() < 1e-9


def test_labels_that_read_csv_makes_missing_are_lost_from_written_results_too():
    survey = Survey({"a": ["None", "some"]}, 12.0, GRR(k=2, epsilon=12.0))
    reports = survey.collect(pd.DataFrame({"a": ["None"] * 30 + ["some"] * 10}), rng=np.random.default_rng(5))
    text = survey.estimate(reports).to_csv(index=False)
    lost, kept = (pd.read_csv(io.StringIO(text), **how) for how in ({}, {"keep_default_na": False}))
    assert [frame.groupby("value")["estimate"].sum().round(2).to_dict() for frame in (lost, kept)] == [
        {"some": 0.25},
        {"None": 0.75, "some": 0.25},
    ]


def test_a_group_of_the_name_na_is_kept_by_the_way_that_an_error_tells(tmp_path):
    people = pd.DataFrame({"a": ["x", "y"] * 50, "g": ["EU", "NA", "NA", "EU"] * 25})
    reports, path = SURE.collect(people, rng=np.random.default_rng(9), keep=["g"]), tmp_path / "a.csv"
    reports.to_csv(path, index=False)
    with pytest.raises(ValueError, match="the rows are whole: ") as caught:
        SURE.estimate(path)
    told = str(caught.value).rpartition("whole: ")[2]
    again = eval(told, {"survey": SURE, "pandas": pd, "path": path})
    assert len(pd.read_csv(path).groupby("g")) == 1
    for name, part in again.groupby("g"):
        assert SURE.estimate(part).equals(SURE.estimate(reports[reports["g"] == name]))
    assert again["g"].value_counts().to_dict() == {"EU": 50, "NA": 50}


MIXED = {
    "update": lambda a, b: (one := a.copy(), one.update(b))[0],
    "where": lambda a, b: a.where(a["g"] == 0, b),
    "combine_first": lambda a, b: a.iloc[:30].combine_first(b),
    "some rows": lambda a, b: (one := a.copy(), one.__setitem__(slice(0, 20), b[:20]))[0],
    "one description for all": lambda a, b: pd.concat([a, b]).__finalize__(a),
    "shifted": lambda a, b: a.shift(fill_value=0),
    "running sums": lambda a, b: a.cumsum(),
    "remainders": lambda a, b: a % 2,
}


@pytest.mark.parametrize("way", MIXED)
def test_rows_of_two_surveys_are_told_apart_after_any_way_of_pandas(way):
    a, b = (
        survey.collect(pd.DataFrame({"a": ["x", "y"] * 40, "g": [0, 1] * 40}), rng=np.random.default_rng(i), keep=["g"])
        for i, survey in enumerate([SURE, Survey({"a": ["y", "x"]}, 12.0, SURE.mechanism)])
    )
    for act in (SURE.estimate, lambda given: SURE.estimate(SURE.mark(given))):
        with pytest.raises(ValueError, match="reports must be of one survey"):
            act(MIXED[way](a, b))


def test_shards_add_up_by_any_way_of_summing_and_none_twice():
    rng, survey = np.random.default_rng(6), Survey({"a": ["n", "y"], "b": [1, 2, 3]}, 2.0)
    parts = [survey.collect(survey.decode(rng.integers(0, (2, 3), (90, 2))), rng=rng) for _ in range(3)]
    shards = [aggregate(one, survey.mechanism) for one in parts]
    whole = aggregate(pd.concat(parts), survey.mechanism).counts
    for total in (np.sum(shards), pd.Series(shards).sum(), [*itertools.accumulate(shards)][-1]):
        assert (total.counts == whole).all()
        for again in (shards[1], pickle.loads(pickle.dumps(shards[2])), shards[0]):
            with pytest.raises(ValueError, match="counts must be of different reports"):
                total + again


READERS = {
    "a text": lambda f: pd.read_csv(io.StringIO(f.to_csv(index=False)), keep_default_na=False, na_values=[""]),
    "a text of texts": lambda f: pd.read_csv(io.StringIO(f.to_csv(index=False)), dtype=str),
    "thousands": lambda f: pd.read_csv(io.StringIO(f.to_csv(index=False)), thousands=","),
    "Arrow's reader": lambda f: pd.read_csv(io.BytesIO(f.to_csv(index=False).encode()), engine="pyarrow"),
    "JSON": lambda f: pd.read_json(io.StringIO(f.to_json(orient="records"))),
    "texts": lambda f: f.astype(str),
    "categories of texts": lambda f: f.astype(str).astype("category"),
    "numbers": lambda f: f.astype("float32"),
    "long and wide": lambda f: f.melt("i").pivot(index="i", columns="variable", values="value").reset_index(),
}
KINDS = [["01", "02", "rest", "gone"], [1, 2, 99, -9], [True, False, "rest", "gone"], [0.1, 0.25, 9.0, -9.0]]
KINDS += [["1.10", "1.2", "rest", "gone"], ["1E5", "2E7", "rest", "gone"], ["a,b", 'say "c"', "rest", "gone"]]
KINDS += [
    ["2020-01-01", "2020-02-01", "rest", "gone"],
    ["10%", "\u00bd", "rest", "gone"],
    ["True", "False", "rest", "gone"],
]


@pytest.mark.parametrize("labels", KINDS, ids=str)
def test_answers_that_other_software_read_are_the_same_or_refused(labels):
    survey = Survey({"a": labels}, 1.0, missing=labels[3], other=labels[2])
    people, right = pd.DataFrame({"a": [labels[0]] * 3 + [labels[1], None], "i": range(5)}), 0
    for read in READERS.values():
        try:
            x = survey.encode(read(people))
        except (TypeError, ValueError):
            continue
        assert x.ravel().tolist() == [0, 0, 0, 1, 3]
        right += 1
    assert right >= 2


def test_what_is_joined_by_the_index_of_reports_is_another_person_s():
    """Reports have an index of their own: what is to stay with a report travels with it."""
    people = pd.DataFrame({"a": ["x", "y"] * 200, "g": np.arange(400) % 2})
    reports = SURE.collect(people, rng=np.random.default_rng(7), keep=["g"])
    told = SURE.estimate(reports[reports["g"] == 1])["estimate"][1]
    other = SURE.estimate(reports[people["g"] == 1])["estimate"][1]
    assert (round(told, 3), 0.3 < other < 0.7) == (1, True)


def test_one_question_s_reports_as_a_table_of_counts_are_few_reports():
    """Rows with how often they occurred are not the reports: only their number says so."""
    survey = Survey({"a": ["x", "y"], "b": ["p", "q"]}, 12.0, OneQuestion(k=(2, 2), epsilon=12.0))
    people = pd.DataFrame({"a": ["x"] * 90 + ["y"] * 10, "b": "p"})
    reports = survey.collect(people, rng=np.random.default_rng(8))
    short = reports.value_counts().reset_index()
    assert aggregate(short, survey.mechanism).n == len(short) < 5
    long = short.loc[short.index.repeat(short["count"])].drop(columns="count")
    assert survey.estimate(survey.mark(long))["estimate"].tolist() == survey.estimate(reports)["estimate"].tolist()

"""An hour on data engineers' ways: codes among texts, long codes in floats, changed bits, places for labels, joins."""

import collections
import contextlib
import io
import json
import re
import sqlite3

import numpy as np
import pandas as pd
import pytest

from ldp_lib import GRR, AskSome, RRIndependent, RRJoint, Survey
from ldp_lib.survey import files
from ldp_lib.survey.aggregate import Counts, aggregate
from ldp_lib.tables import queries

RNG = np.random.default_rng
SURE = Survey({"a": ["x", "y"]}, 40.0, GRR(k=2, epsilon=40.0))  # its reports are the answers
PEOPLE = pd.DataFrame({"a": ["x"] * 60 + ["y"] * 40, "g": ["01", "1"] * 50})
PAIR = Survey({"a": ["x", "y"], "b": [1, 2, 3]}, 2.0, AskSome(k=(2, 3), epsilon=2.0, m=2))
TWO = pd.DataFrame({"a": ["x"] * 240 + ["y"] * 160, "b": [1, 2] * 200, "g": [1, 2] * 200, "w": [1.0, 2.0] * 200})
REPORTS = PAIR.collect(TWO, rng=RNG(1), keep=["g"], weights="w")
SHARES = PAIR.estimate(REPORTS)["estimate"].to_numpy()


def sure(labels, **how):
    return Survey({"a": labels}, 40.0, GRR(k=len(labels), epsilon=40.0), **how)


# Answers.


@pytest.mark.parametrize("kind", ["float64", "float32", "Int64", "Float64", "object", "string"])
def test_codes_are_made_missing_among_numbers_and_not_among_texts(kind):
    """The page's way, in its order: among texts `replace` finds no number, and -9 is under 30, 999 is 60 and over."""
    texts = pd.Series(["12", "-9", "45", "999", "60", None], dtype=object)
    ages = texts.astype(kind) if kind in ("object", "string") else texts.astype(float).astype(kind)

    def banded(numbers):
        return pd.cut(numbers, [-np.inf, 30, 60, np.inf], right=False, labels=["u", "m", "o"])

    survey = sure(["u", "m", "o", "none"], missing="none")
    told = survey.encode(pd.DataFrame({"a": banded(ages.astype(float).replace([-9, 999], np.nan))}))
    assert told.ravel().tolist() == [0, 3, 1, 3, 2, 3]
    other = survey.encode(pd.DataFrame({"a": banded(ages.replace([-9, 999], np.nan).astype(float))}))
    assert (other.ravel().tolist() == [0, 0, 1, 2, 2, 3]) == (kind in ("object", "string"))


def test_numbers_with_decimals_keep_to_their_limits_if_these_are_typed_and_they_are_rounded():
    single = pd.Series([18.4, 18.5, 29.8, 29.9, 99.9], dtype="float32").astype(float)
    limits = [-np.inf, 18.5, 29.9, np.inf]
    codes = [pd.cut(one.replace(99.9, np.nan), limits, right=False).cat.codes for one in (single, single.round(1))]
    assert [one.tolist() for one in codes] == [[0, 1, 1, 1, 2], [0, 1, 1, 2, -1]]
    tenths, places = pd.Series(np.arange(10) / 10), []
    for start in (np.arange(0, 1, 0.1), [0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]):
        places.append(pd.cut(tenths, [*start, np.inf], right=False).cat.codes.tolist())
    assert places == [[0, 1, 2, 2, 4, 5, 5, 6, 8, 9], [*range(10)]]


BECOMES = {
    "a comparison": (lambda s: (s == "yes").tolist(), [True, False, False]),
    "an order": (lambda s: (pd.Categorical(s, ["no", "yes"], ordered=True) >= "no").tolist(), [True, True, False]),
    "a multiple choice": (lambda s: s.str.get_dummies(";")["yes"].tolist(), [1, 0, 0]),
    "a default": (lambda s: s.map(collections.defaultdict(lambda: "no", yes="yes")).tolist(), ["yes", "no", "no"]),
    "a join": (
        lambda s: s.to_frame("c").merge(pd.DataFrame({"c": ["yes", "no", None], "l": [1, 2, 3]}))["l"].tolist(),
        [1, 2, 3],
    ),
    "a sum": (lambda s: pd.concat([s.map({"yes": 1, "no": 0})] * 2, axis=1).sum(axis=1).tolist(), [2, 0, 0]),
    "a first": (lambda s: s[::-1].groupby([1, 1, 1]).first().tolist(), ["no"]),
    "a moved line": (lambda s: pd.read_csv(io.StringIO("a,b\nyes,no,\n"))["a"].tolist(), ["no"]),
    "a line": (lambda s: pd.read_csv(io.StringIO("a,b\nyes,no,\n"), index_col=False)["a"].tolist(), ["yes"]),
    "a type": (lambda s: pd.Series([999, 256]).astype("int8").tolist(), [-25, 0]),
    "a code twice": (lambda s: len(s.to_frame("c").merge(pd.DataFrame({"c": ["yes", "yes"]}), how="left")), 4),
}


@pytest.mark.parametrize("way", BECOMES)
def test_an_answer_becomes_what_pandas_makes_of_it(way):
    act, found = BECOMES[way]
    assert act(pd.Series(["yes", "no", None], dtype=object)) == found


@pytest.mark.parametrize(
    ("codes", "kind", "read"),
    [
        ([20240103, 20240104], "float32", [1, 1, 2]),
        ([33333331, 33333332], "float32", [1, 1, 2]),
        ([2**53, 2**53 + 1], "float64", [0, 0, 2]),
        ([20240103, 20240104], "float64", [0, 1, 2]),
        ([2**53, 2**53 + 1], "Int64", [0, 1, 2]),
    ],
)
def test_long_codes_become_their_neighbours_in_floats_and_not_as_texts(codes, kind, read):
    column = pd.Series([*codes, None], dtype="Int64")
    survey = sure([*codes, "none"], missing="none")
    assert survey.encode(pd.DataFrame({"a": column.astype(kind)})).ravel().tolist() == read
    texts = sure([*map(str, codes), "none"], missing="none")
    assert texts.encode(pd.DataFrame({"a": column.astype("string")})).ravel().tolist() == [0, 1, 2]


def test_one_label_stands_for_what_is_missing_in_all_questions():
    """With 0 for no answer to one question and for no children, who does not say how many children has none."""
    people = pd.DataFrame({"smoker": [1, None], "children": [None, 2]})
    own = Survey({"smoker": [0, 1, 2], "children": [0, 1, 2]}, 1.0, missing=0)
    assert own.encode(people).tolist() == [[1, 0], [0, 2]]
    with pytest.raises(ValueError, match="a missing value in row 0"):
        Survey({"smoker": [-9, 1, 2], "children": [0, 1, 2]}, 1.0, missing=-9).encode(people)


@pytest.mark.parametrize(
    ("labels", "answer"),
    [(["20-30", "30-40"], 25), ([*pd.IntervalIndex.from_breaks([20, 30, 40])], 25), (["yes", "no"], "yes\u3164")],
)
def test_a_number_in_a_band_and_what_nobody_sees_go_to_other_as_the_page_says(labels, answer):
    survey = sure([*labels, "rest"], other="rest")
    column = pd.Series([answer, labels[0]], dtype=object)
    assert survey.encode(pd.DataFrame({"a": column})).ravel().tolist() == [2, 0]


@pytest.mark.parametrize("kind", [">i4", ">u2", ">f8"])
def test_numbers_that_pandas_cannot_read_are_refused_by_an_error_that_names_their_column(kind):
    people = pd.DataFrame({"a": TWO["a"], "b": TWO["b"].to_numpy().astype(kind)})
    with pytest.raises(TypeError, match="labels such as texts or numbers in column 'b'"):
        PAIR.encode(people)


ONE = {
    "iterrows": lambda people: [row.to_frame().T for _, row in people.iterrows()],
    "a list of a row": lambda people: [pd.DataFrame([row]) for row in people.itertuples()],
    "a dictionary": lambda people: [pd.DataFrame([row]) for row in people.to_dict("records")],
    "json": lambda people: [pd.DataFrame([row]) for row in json.loads(people.to_json(orient="records"))],
    "json of all": lambda people: [pd.read_json(io.StringIO(people.to_json(orient="records")))],
    "turned twice": lambda people: [people.T.T],
    "an array": lambda people: [pd.DataFrame(people.to_numpy(), columns=[*people])],
}


@pytest.mark.parametrize("way", ONE)
def test_people_one_by_one_hold_the_same_answers(way):
    domain = {"b": [True, False], "i": [0, 1, 2], "f": [0.5, 1.0], "t": ["0", "1", "x"], "m": [1, 2, "none"]}
    survey, rng = Survey(domain, 1.0, missing="none"), RNG(1)
    x = np.column_stack([rng.integers(0, k, 6) for k in survey.k])
    people = pd.DataFrame({name: [domain[name][i] for i in x[:, j]] for j, name in enumerate(domain)})
    people["m"] = pd.to_numeric(people["m"], errors="coerce")
    assert np.concatenate([survey.encode(one) for one in ONE[way](people)]).tolist() == x.tolist()


# Reports in files.


def flipped(whole, path, places):
    """Return how often which share is read from a file one bit of which is changed, or that it is refused."""
    found = collections.Counter()
    for place in places:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 2]) + whole[place + 1 :])
        try:
            found[round(float(SURE.estimate(path)["estimate"][0]), 6)] += 1
        except ValueError:
            found["refused"] += 1
    return found


def test_a_changed_bit_is_noticed_in_files_of_write_and_not_in_those_of_pandas(tmp_path):
    pytest.importorskip("pyarrow")
    reports, path = SURE.collect(PEOPLE, rng=RNG(1)), tmp_path / "a.parquet"
    files.write(reports, path)
    assert set(flipped(path.read_bytes(), path, range(4, 120, 3))) == {0.6, "refused"}
    reports.to_parquet(path, compression=None)
    assert len(flipped(path.read_bytes(), path, range(4, 120, 3))) > 2


def test_a_survey_s_file_with_a_changed_bit_is_refused_or_tells_that_it_is_another_one(tmp_path):
    PAIR.save(path := tmp_path / "survey.json")
    whole, found = path.read_bytes(), collections.Counter()
    for place in range(0, len(whole), 7):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        try:
            again = Survey.load(path)
        except (ValueError, TypeError):
            found["refused"] += 1
            continue
        same = again == PAIR and np.array_equal(again.encode(TWO), PAIR.encode(TWO))
        found["same" if same else "another"] += 1
        if not same:
            with pytest.raises(ValueError, match="must be of a survey whose"):
                again.estimate(REPORTS)
    assert min(found["refused"], found["another"]) > 0


def test_no_digit_of_saved_counts_can_be_changed(tmp_path):
    aggregate(REPORTS, PAIR.mechanism).save(path := tmp_path / "counts.json")
    whole = path.read_text(encoding="utf-8")
    assert Counts.load(path, PAIR.mechanism).n == 400
    for digit in [*re.finditer(r"\d", whole)][::8]:
        path.write_text(whole[: digit.start()] + str(9 - int(digit[0])) + whole[digit.end() :], encoding="utf-8")
        with pytest.raises(ValueError, match=r"damaged or was changed"):
            Counts.load(path, PAIR.mechanism)


@pytest.mark.parametrize("make", [GRR(k=2, epsilon=2.0), RRJoint(k=(2, 3), epsilon=2.0)])
def test_files_of_arrays_do_not_say_their_budget_and_reports_of_a_survey_do(make, tmp_path):
    pytest.importorskip("pyarrow")
    other, people = type(make)(k=make.k, epsilon=1.0), np.zeros((2_000, *np.shape(make.k)), int)
    domain = {name: [*range(k)] for name, k in zip("ab", np.atleast_1d(make.k).tolist(), strict=False)}
    for i, mechanism in enumerate((make, other)):
        y = mechanism.perturb(people, rng=RNG(i))
        files.write(files.to_frame(y), tmp_path / f"{i}.parquet")
        survey = Survey(domain, mechanism.epsilon, mechanism)
        files.write(survey.mark(files.to_frame(y)), tmp_path / f"{i}.csv")
    found = aggregate(sorted(tmp_path.glob("*.parquet")), make).estimate()
    assert float(np.ravel(found[0])[0]) < 0.9  # everybody gives the first answer
    with pytest.raises(ValueError, match="must be of a survey whose epsilon"):
        aggregate(sorted(tmp_path.glob("*.csv")), make)


def test_the_way_that_an_error_tells_keeps_groups_of_digits_apart(tmp_path):
    reports, path = SURE.collect(PEOPLE.rename(columns={"g": "group"}), rng=RNG(1), keep=["group"]), tmp_path / "a.csv"
    reports.to_csv(path, index=False)
    with pytest.raises(ValueError, match="the rows are whole: ") as caught:
        SURE.estimate(path)
    way, groups = str(caught.value).rpartition("whole: ")[2], []
    for told in (way, way.replace(", dtype={'group': str}", "")):
        again = eval(told, {"survey": SURE, "pandas": pd, "path": path})
        groups.append(again["group"].nunique())
    assert groups == [2, 1]


@pytest.mark.parametrize("name", ["x" * 247 + ".parquet", "é" * 120 + ".csv"])
def test_a_file_may_have_any_name_that_its_folder_takes(name, tmp_path):
    pytest.importorskip("pyarrow")
    reports = SURE.collect(PEOPLE, rng=RNG(1))
    files.write(reports, tmp_path / name)
    assert files.read(tmp_path / name).equals(reports)


def test_folders_within_a_folder_are_counted_too(tmp_path):
    (tmp_path / "old").mkdir()
    for i, path in enumerate((tmp_path / "a.csv", tmp_path / "old" / "a.csv")):
        files.write(SURE.collect(PEOPLE, rng=RNG(i)), path)
    assert aggregate(tmp_path, SURE.mechanism).n == 200


REWRITTEN = {
    "in order of names": lambda told: json.dumps(told, sort_keys=True),
    "as JavaScript does": lambda told: json.dumps(told).replace("1.0", "1"),
    "on one line": lambda told: json.dumps(told, separators=(",", ":")),
    "in its own letters": lambda told: json.dumps(told, ensure_ascii=False),
    "for Windows": lambda told: json.dumps(told, indent=1).replace("\n", "\r\n"),
}


@pytest.mark.parametrize("way", REWRITTEN)
def test_a_survey_s_file_that_other_software_wrote_anew_is_the_same_survey_or_its_reports_are_refused(way, tmp_path):
    survey = Survey({"é": ["yes", "no"], "a": ["no", "yes"], "f": [0.5, 1.0]}, 2.0)
    survey.save(path := tmp_path / "s.json")
    told = REWRITTEN[way](json.loads(path.read_text(encoding="utf-8")))
    path.write_bytes(told.encode())
    device, people = Survey.load(path), pd.DataFrame({"é": ["yes"], "a": ["no"], "f": [1.0]})
    assert (device == survey) == (way not in ("in order of names", "as JavaScript does"))
    if device != survey:
        with pytest.raises(ValueError, match="must be of a survey whose"):
            survey.estimate(device.collect(pd.concat([people] * 50), rng=RNG(1)))


# Reports in memory.


def test_parts_without_a_row_before_the_first_with_some_change_no_result():
    """As where a group is picked out of more than 32 batches, of which the first have nobody of it."""
    late = [*(REPORTS[:0] for _ in range(33)), REPORTS]
    assert PAIR.table("a", "b", late).equals(PAIR.table("a", "b", REPORTS))
    assert PAIR.synthetic(30, late, rng=RNG(3)).equals(PAIR.synthetic(30, REPORTS, rng=RNG(3)))
    with pytest.raises(ValueError, match="got none"):
        PAIR.table("a", "b", late[:33])


def test_a_recoding_of_a_whole_frame_recodes_reports_too_and_one_of_its_group_does_not():
    joined = REPORTS.replace({"g": {2: 1}})
    assert joined["g"].nunique() == 1
    assert PAIR.estimate(joined)["estimate"].to_numpy() == pytest.approx(SHARES)
    assert np.abs(PAIR.estimate(REPORTS.replace({2: 1}))["estimate"] - SHARES).max() > 0.1


KEPT = {
    "sorted": lambda f: f.sort_values(["g", "w"]),
    "joined with its groups": lambda f: f.merge(pd.DataFrame({"g": [1, 2], "n": 0}), on="g", how="left"),
    "group by group": lambda f: pd.concat([part for _, part in f.groupby("g")]),
    "in long form and back": lambda f: (
        f.reset_index(names="i")
        .melt(["i", "w"])
        .pivot(index=["i", "w"], columns="variable", values="value")
        .reset_index()
        .astype({"report_survey": "int64"})
    ),
    "as an array": lambda f: pd.DataFrame.from_records(f.to_records(index=False)),
    "with smaller types": lambda f: f.apply(pd.to_numeric, downcast="unsigned"),
    "with nullable types": lambda f: f.convert_dtypes(),
    "cut and put together": lambda f: pd.concat([f[200:], f[:200]], ignore_index=True),
}


@pytest.mark.parametrize("way", KEPT)
def test_frames_of_reports_that_keep_their_rows_tell_the_same(way):
    frame, wanted = PAIR.mark(KEPT[way](REPORTS)), PAIR.estimate(REPORTS, weights="w")["estimate"].to_numpy()
    assert PAIR.estimate(frame)["estimate"].to_numpy() == pytest.approx(SHARES)
    assert PAIR.estimate(frame, weights="w")["estimate"].to_numpy() == pytest.approx(wanted)


@pytest.mark.parametrize("kind", ["int8", "Float64", "Sparse[float64]", "float16", "double[pyarrow]", "str", "object"])
def test_weights_of_another_type_in_one_batch_are_the_same_weights_or_refused(kind):
    if "pyarrow" in kind:
        pytest.importorskip("pyarrow")
    parts = [REPORTS[:200], REPORTS[200:].assign(w=REPORTS["w"][200:].astype(kind))]
    if kind in ("str", "object"):
        with pytest.raises(ValueError, match="weights must be 400 numbers"):
            PAIR.estimate(parts, weights="w")
    else:
        wanted = PAIR.estimate(REPORTS, weights="w")["estimate"].to_numpy()
        assert PAIR.estimate(parts, weights="w")["estimate"].to_numpy() == pytest.approx(wanted)


@pytest.mark.parametrize(("one", "other"), [(1, [1]), (1, [1, 0]), (2**32 + 1, [1, 1]), (0, [0, 0])])
def test_brackets_and_zeros_make_no_other_seed(one, other):
    assert SURE.collect(PEOPLE, rng=RNG(one)).equals(SURE.collect(PEOPLE, rng=RNG(other)))
    assert not SURE.collect(PEOPLE, rng=RNG(one)).equals(SURE.collect(PEOPLE, rng=RNG([7, 7])))


# Results.


def test_a_picture_of_labels_that_are_no_texts_has_their_names():
    """The page's line."""
    shares = PAIR.estimate(REPORTS)
    names = shares["attribute"] + " " + shares["value"].astype(str)
    assert names.tolist() == ["a x", "a y", "b 1", "b 2", "b 3"]


def test_boxes_are_of_places_and_queries_of_labels():
    """Of the labels 1 to 5, places 1 and 2 are 2 and 3."""
    survey = Survey({"s": [1, 2, 3, 4, 5], "t": ["u", "v"]}, 80.0, RRIndependent(k=(5, 2), epsilon=80.0))
    people = pd.DataFrame({"s": np.repeat([1, 2, 3, 4, 5], [400, 300, 150, 100, 50]), "t": ["u", "v"] * 500})
    y = survey.mechanism.perturb(survey.encode(people.sample(frac=1, random_state=2)), rng=RNG(1))
    labels = survey.query({"s": [1, 2]}, survey.mark(files.to_frame(y)))
    assert (labels.estimate, queries.ask(survey.mechanism, y, {0: [1, 2]}).estimate) == pytest.approx((0.7, 0.45))
    assert queries.ask(survey.mechanism, y, {0: [0, 1]}).estimate == pytest.approx(0.7)


def test_sql_averages_what_is_quoted_rightly_and_makes_0_of_a_wrong_name_if_it_takes_this_for_a_text():
    table = SURE.contributions(SURE.collect(PEOPLE, rng=RNG(1), keep=["g"]))
    connection = sqlite3.connect(":memory:")
    table.to_sql("c", connection, index=False)
    right, wrong = connection.execute('SELECT AVG("a=x") FROM c').fetchone()[0], "refused"
    with contextlib.suppress(sqlite3.OperationalError):  # as it may be built
        wrong = connection.execute('SELECT AVG("a=X ") FROM c').fetchone()[0]
    connection.close()
    assert right == pytest.approx(0.6)
    assert wrong in (0, "refused")


def test_a_kept_column_that_one_batch_names_otherwise_is_missing_there():
    parts = [SURE.collect(PEOPLE.rename(columns={"g": name}), rng=RNG(i), keep=[name]) for i, name in enumerate("gG")]
    found = SURE.contributions(parts)
    assert len(found) == 200
    assert found.groupby("g").size().sum() == 100
    assert found.groupby("g", dropna=False).size().sum() == 200

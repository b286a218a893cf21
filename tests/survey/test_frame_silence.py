"""Adversarial use: what once gave a wrong number, or told an answer, without a word is refused or right."""

import datetime as dt
import enum
import json
import re
import zoneinfo

import numpy as np
import pandas as pd
import pytest
from pyarrow.parquet import ParquetFile

from ldp_lib import (
    GRR,
    JRR,
    OLH,
    AskSome,
    OneQuestion,
    Plurality,
    RRIndependent,
    RRJoint,
    SecondPhase,
    Survey,
    UnaryEncoding,
    recommend,
)
from ldp_lib.survey import _files as files
from ldp_lib.survey.aggregate import Counts, aggregate

DOMAIN = {"smoker": ["no", "yes"], "region": ["north", "east", "south", "west"]}
SURVEY = Survey(DOMAIN, 1.0)
RNG = np.random.default_rng


def people(n=400, seed=1):
    rng = np.random.default_rng(seed)
    return pd.DataFrame({name: rng.choice(labels, n) for name, labels in DOMAIN.items()})


def reports(survey=SURVEY, n=400, seed=2):
    return survey.collect(people(n), rng=np.random.default_rng(seed))


OTHERS = {
    "epsilon": Survey(DOMAIN, 2.0),
    "labels of 'smoker'": Survey({**DOMAIN, "smoker": ["yes", "no"]}, 1.0),
    "labels of 'region'": Survey({**DOMAIN, "region": ["north", "east", "south", "abroad"]}, 1.0, other="abroad"),
    "attributes": Survey({"smoking": DOMAIN["smoker"], "region": DOMAIN["region"]}, 1.0),
    "mechanism": Survey(DOMAIN, 1.0, RRIndependent(k=(2, 4), epsilon=1.0)),
    "missing": Survey(DOMAIN, 1.0, missing="no"),
    "attributes in another order": Survey(dict(reversed(DOMAIN.items())), 1.0),
}


@pytest.mark.parametrize("what", OTHERS)
@pytest.mark.parametrize("form", ["frame", "parquet", "csv", "counts", "table", "weights"])
def test_reports_of_another_survey_are_refused_with_what_differs(what, form, tmp_path):
    other = OTHERS[what]
    given = other.collect(people().assign(w=1.0, smoking=people()["smoker"]), rng=np.random.default_rng(3), weights="w")
    if form in ("parquet", "csv"):
        path = tmp_path / f"a.{form}"
        files.write(given, path)
        given = path
    elif form == "counts":
        given = aggregate(given, other.mechanism)
    told = what.split(" in another")[0]
    with pytest.raises(ValueError, match=f"reports must be of a survey whose {told} is|counts must be of OneQ"):
        SURVEY.estimate(given, weights="w" if form == "weights" else None)
    if form == "table":
        pairs = Survey(DOMAIN, 1.0, RRIndependent(k=(2, 4), epsilon=1.0), other="no")
        with pytest.raises(ValueError, match="reports must be of"):
            pairs.table("smoker", "region", given)


def test_reports_without_a_description_are_refused_until_somebody_vouches():
    given = reports()
    bare = pd.DataFrame(given.to_numpy(), columns=given.columns)
    with pytest.raises(ValueError, match=r"must say of which survey they are.*survey\.mark\(reports\)"):
        SURVEY.estimate(bare)
    assert SURVEY.estimate(SURVEY.mark(bare)).equals(SURVEY.estimate(given))
    assert files.KEY not in bare.attrs
    for same in (given.sample(frac=1, random_state=1), pd.concat([given[:100], given[100:]]), given.iloc[:, ::-1]):
        assert SURVEY.estimate(same).equals(SURVEY.estimate(given))


def test_rows_tell_their_survey_wherever_other_software_copies_them(tmp_path):
    """pandas and Arrow keep one of two descriptions, and half of the rows would be read as those of another survey."""
    pq, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    (tmp_path / "two").mkdir()
    for i, survey in enumerate((SURVEY, OTHERS["labels of 'smoker'"])):
        files.write(reports(survey, seed=i), tmp_path / "two" / f"{i}.parquet")
    tables = [pq.read_table(tmp_path / "two" / f"{i}.parquet") for i in range(2)]
    pq.write_table(pa.concat_tables(tables), tmp_path / "arrow.parquet")
    both = pd.read_parquet(tmp_path / "two")
    assert both.attrs[files.KEY] == SURVEY.description
    both.to_parquet(tmp_path / "pandas.parquet")
    files.write(both, tmp_path / "pandas.csv")
    lost = both.astype({files.NUMBER: "Int64"})
    lost.loc[400:, files.NUMBER] = pd.NA
    forms = [both, lost, both.astype("category"), *(tmp_path / name for name in ("arrow.parquet", "pandas.parquet"))]
    for form in (*forms, tmp_path / "pandas.csv", [both[:400], both[400:]]):
        for call in (SURVEY.estimate, SURVEY.contributions, lambda found: aggregate(found, SURVEY.mechanism)):
            with pytest.raises(ValueError, match="are of another one than it says"):
                call(form)
    with pytest.raises(ValueError, match="are of another one than it says"):
        SURVEY.mark(both)
    assert SURVEY.estimate(both[:400]).equals(SURVEY.estimate(reports(seed=0)))
    whole = reports().drop(columns=files.NUMBER)  # Arrow may have given it the description of other rows
    with pytest.raises(ValueError, match="are of another one than it says, or none"):
        SURVEY.estimate(whole)
    assert SURVEY.estimate(SURVEY.mark(whole)).equals(SURVEY.estimate(reports()))
    for other in ("x", None, pd.Timestamp("2026")):  # what is no number is no survey's either
        with pytest.raises(ValueError, match="are of another one than it says, or none"):
            SURVEY.estimate(reports().assign(**{files.NUMBER: other}))


@pytest.mark.parametrize("labels", [{"yes", "no"}, frozenset("ab"), "no", {"a": 1, "b": 2}, iter("ab"), 3])
def test_domains_without_an_order_are_refused(labels):
    with pytest.raises(TypeError, match="domain must list at least two different labels for 'a', in order; got"):
        Survey({"a": labels}, 1.0)


@pytest.mark.parametrize(
    ("domain", "error", "told"),
    [
        ({"a": [1, "1"]}, ValueError, "that differ in print"),
        ({"a": [True, 1]}, ValueError, "at least two different labels"),
        ({"a": [[1], [2]]}, TypeError, r"such as texts or numbers for 'a'; got \[\[1\], \[2\]\]"),
        ({0: ["a", "b"]}, TypeError, "must name attributes by texts; got 0"),
        ({"a": [np.nan, 1.0]}, ValueError, "missing value"),
    ],
)
def test_labels_that_could_be_mixed_up_are_refused(domain, error, told):
    with pytest.raises(error, match=told):
        Survey(domain, 1.0)


@pytest.mark.parametrize(
    "mechanism", [SecondPhase(k=(3, 3), epsilon=1.0, reuse=0.8), Plurality(k=(3, 3), epsilon=1.0)], ids=repr
)
def test_biased_mechanisms_are_refused_before_anything_is_collected(mechanism):
    labels = ["a", "b", "c"]
    with pytest.raises(ValueError, match="mechanism must"):
        Survey({"x": labels, "y": labels}, 1.0, mechanism)


def test_mechanisms_with_a_dealer_are_refused():
    with pytest.raises(ValueError, match="without a dealer; got JRR"):
        Survey({"x": ["a", "b"]}, 1.0, JRR(k=2, epsilon=1.0))


@pytest.mark.parametrize("mechanism", ["GRR", GRR, 3, {"k": 2}], ids=repr)
def test_what_is_no_mechanism_is_named(mechanism):
    with pytest.raises(TypeError, match=r"mechanism must be one with its parameters, as GRR\(k=3, epsilon=1\.0\); got"):
        Survey({"x": ["a", "b"]}, 1.0, mechanism)


def test_neither_index_nor_order_tells_an_answer():
    frame = people().sort_values("smoker")
    given = SURVEY.collect(frame.set_index(frame["smoker"].rename("answer")), rng=np.random.default_rng(1))
    assert given.index.equals(pd.RangeIndex(len(frame)))
    # At a large budget a report tells the answer, and so does its place in a sorted frame, but not after shuffling.
    sure = Survey({"smoker": ["no", "yes"]}, 20.0, GRR(k=2, epsilon=20.0))
    rng, places = np.random.default_rng(1), {}
    for shuffle in (False, True):
        told = [sure.collect(frame, rng=rng, shuffle=shuffle)["report"].to_numpy() for _ in range(50)]
        places[shuffle] = np.corrcoef(np.tile(np.arange(len(frame)), 50), np.concatenate(told))[0, 1]
    spread = 1 / np.sqrt(50 * len(frame))
    assert abs(places[True]) < 5 * spread < places[False]


def test_weights_and_groups_travel_with_their_own_report():
    frame = people(300).assign(w=np.arange(300) + 1.0, group=["a", "b", "c"] * 100)
    exact = Survey({"smoker": ["no", "yes"]}, 30.0, GRR(k=2, epsilon=30.0))
    given = exact.collect(frame, rng=np.random.default_rng(1), weights="w", keep=["group"])
    back = given.set_index("w").loc[frame["w"]]
    assert (np.array(["no", "yes"])[back["report"]] == frame["smoker"]).all()
    assert (back["group"].to_numpy() == frame["group"]).all()
    assert not (given["w"].diff().dropna() == 1).all()
    for keep in (["smoker"], ["nothing"], ["w", "w"]):
        with pytest.raises(ValueError, match="weights and keep, a list, must name different columns"):
            exact.collect(frame, rng=np.random.default_rng(1), keep=keep)


@pytest.mark.parametrize("wrong", [{"smoker": "no", "region": "east"}, [1, 2], None, people()["smoker"]], ids=type)
def test_people_come_in_a_frame(wrong):
    with pytest.raises(TypeError, match=r"frame must be a pandas DataFrame, .*one person is DataFrame\(\[answers\]\)"):
        SURVEY.collect(wrong, rng=np.random.default_rng(1))
    with pytest.raises(ValueError, match="frame must have at least one row"):
        SURVEY.collect(people()[:0], rng=np.random.default_rng(1))


def test_categories_that_look_read_off_the_answers_are_noticed():
    with pytest.warns(UserWarning, match="tell what people said"):
        Survey.from_frame(people().astype("category"), epsilon=1.0)
    declared = people().astype({name: pd.CategoricalDtype(labels) for name, labels in DOMAIN.items()})
    assert Survey.from_frame(declared, epsilon=1.0).domain["region"] == tuple(DOMAIN["region"])


@pytest.mark.parametrize("suffix", ["csv", "parquet", "pq"])
def test_a_file_that_was_cut_short_is_refused_wherever_it_was_cut(suffix, tmp_path):
    path = tmp_path / f"a.{suffix}"
    files.write(reports(), path)
    whole = path.read_bytes()
    lines = [i + 1 for i, byte in enumerate(whole) if byte == 10][3:-1:97] if suffix == "csv" else []
    for end in [*lines, len(whole) // 3, len(whole) - 5]:
        path.write_bytes(whole[:end])
        for call in (files.read, SURVEY.estimate, lambda p: aggregate(p, SURVEY.mechanism)):
            with pytest.raises(ValueError, match="whole"):
                call(path)
    path.write_bytes(whole)
    assert SURVEY.estimate(path).equals(SURVEY.estimate(reports()))


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_good_file_is_never_lost_to_a_broken_one(suffix, tmp_path, monkeypatch):
    path = tmp_path / f"a.{suffix}"
    files.write(reports(), path)
    before = path.read_bytes()

    def fail(self, target, **kwargs):
        target.write_text("half")
        raise OSError("disk full")

    monkeypatch.setattr(pd.DataFrame, {"csv": "to_csv", "parquet": "to_parquet"}[suffix], fail)
    with pytest.raises(OSError, match="disk full"):
        files.write(reports(seed=9), path)
    assert path.read_bytes() == before
    assert {name.name for name in tmp_path.iterdir()} <= {path.name, f"{path.name}.json"}
    assert len(SURVEY.estimate(path)) == 6


def test_a_csv_file_without_its_manifest_is_refused(tmp_path):
    reports().to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ValueError, match=r"manifest.*survey\.mark\(pandas\.read_csv\(path, keep_"):
        SURVEY.estimate(tmp_path / "a.csv")
    again = SURVEY.mark(pd.read_csv(tmp_path / "a.csv"))
    assert SURVEY.estimate(again).equals(SURVEY.estimate(reports()))


def test_kept_columns_survive_a_csv_file(tmp_path):
    frame = people(4).assign(district=["01", "02", "10", "01"])
    given = SURVEY.collect(frame, rng=np.random.default_rng(1), keep=["district"])
    files.write(given, tmp_path / "a.csv")
    assert files.read(tmp_path / "a.csv")["district"].tolist() == given["district"].tolist()


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_copy_of_a_file_is_counted_once(suffix, tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    files.write(reports(), tmp_path / "one" / f"a.{suffix}")
    files.write(reports(seed=5), tmp_path / "two" / f"a.{suffix}")  # another part of the same name
    assert aggregate(tmp_path, SURVEY.mechanism).n == 800
    for name in [f"a.{suffix}", *([f"a.{suffix}.json"] if suffix == "csv" else [])]:
        (tmp_path / "two" / name.replace("a.", "b.")).write_bytes((tmp_path / "one" / name).read_bytes())
    pairs = Survey(DOMAIN, 1.0, RRIndependent(k=(2, 4), epsilon=1.0))
    for call in (lambda path: aggregate(path, SURVEY.mechanism), SURVEY.estimate, SURVEY.contributions):
        with pytest.raises(ValueError, match="must be of different reports"):
            call(tmp_path)
    files.write(pairs.collect(people(), rng=np.random.default_rng(1)), tmp_path / "p.parquet")
    with pytest.raises(ValueError, match="must be of different reports"):
        pairs.table("smoker", "region", [tmp_path / "p.parquet"] * 2)


def test_files_of_other_kinds_are_refused_and_what_dask_adds_is_left_aside(tmp_path):
    files.write(reports(), tmp_path / "a.pq")
    (tmp_path / "_metadata").write_text("dask")
    (tmp_path / ".a.pq.crc").write_text("checksum")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "notes.txt").write_text("notes")
    assert aggregate(tmp_path, SURVEY.mechanism).n == 400
    for name in (".hidden/a.parquet", ".b.pq", ".c.csv"):
        (tmp_path / name).write_bytes((tmp_path / "a.pq").read_bytes())
        with pytest.raises(ValueError, match="must not lie in hidden files or folders"):
            SURVEY.estimate(tmp_path)
        (tmp_path / name).unlink()
    for name in ("more.feather", "counts.json", "0.part"):
        (tmp_path / name).write_text("x")
        with pytest.raises(ValueError, match=rf"path must end in \.parquet, \.pq or \.csv; got .*{re.escape(name)}"):
            SURVEY.estimate(tmp_path)
        (tmp_path / name).unlink()


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_a_folder_that_dask_wrote_is_read(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    given = reports()
    dd.from_pandas(given, npartitions=3).to_parquet(tmp_path / "dask")
    whole = SURVEY.mechanism.count(files.from_frame(given, SURVEY.mechanism))
    assert np.array_equal(aggregate(tmp_path / "dask", SURVEY.mechanism).counts, whole)
    with pytest.raises(TypeError, match="give the folder that Dask's to_parquet wrote"):
        SURVEY.estimate(dd.from_pandas(given, npartitions=2))
    with pytest.raises(TypeError, match="one partition after the other"):
        SURVEY.collect(dd.from_pandas(people(), npartitions=2), rng=np.random.default_rng(1))


def test_counts_that_cannot_be_are_refused(tmp_path):
    found, path = aggregate(reports(), SURVEY.mechanism), tmp_path / "c.json"
    found.save(path)
    whole = json.loads(path.read_text())
    changed = {
        "counts": [whole["counts"][0], *(1000 * count for count in whole["counts"][1:])],
        "reports": 4,
        "parts": ["a", "a"],
        "survey": Survey(DOMAIN, 2.0).description,
    }
    for name, value in changed.items():
        path.write_text(json.dumps(whole | {name: value}))
        with pytest.raises(ValueError, match="path must be a file of counts"):
            Counts.load(path, SURVEY.mechanism)
    with pytest.raises(ValueError, match="counts must be 9 possible whole numbers"):
        Counts(SURVEY.mechanism, np.array(changed["counts"]))
    with pytest.raises(ValueError, match="must be of different reports"):
        Counts(SURVEY.mechanism, found.counts, ("a", "a"))


def test_counts_of_two_surveys_do_not_add_up():
    one, other = (aggregate(reports(survey), SURVEY.mechanism) for survey in (SURVEY, OTHERS["labels of 'smoker'"]))
    with pytest.raises(ValueError, match="labels of 'smoker'"):
        one + other
    again = aggregate(reports(seed=5), SURVEY.mechanism)
    both = SURVEY.estimate(one + again)["estimate"]
    assert ((both - SURVEY.estimate(one)["estimate"]).abs() > 0).any()
    assert (one + again).n == 800


def test_a_saved_survey_is_the_same_and_runs_nothing(tmp_path):
    path = tmp_path / "s.json"
    for survey in (*OTHERS.values(), Survey({"age": [1, 2.5, True, "old"][1:]}, 1.0)):
        survey.save(path)
        assert Survey.load(path) == survey
        assert Survey.load(path).description == survey.description
    whole = json.loads(path.read_text())
    for text in ("__import__('os').getcwd()", "GRR(k=__import__('os'))", "open('x')", "GRR(*[1])", "GRR("):
        path.write_text(json.dumps(whole | {"mechanism": text}))
        with pytest.raises(ValueError, match="mechanism must be one of the library to be read from a file"):
            Survey.load(path)
    for text in ("{}", "[]", "3", "", json.dumps(whole | {"format": "ldp_lib survey 2"})):
        path.write_text(text)
        with pytest.raises(ValueError, match=r"path must be a file that Survey\.save wrote"):
            Survey.load(path)
    with pytest.raises(TypeError, match="domain must hold texts, numbers or booleans to be saved"):
        Survey({"age": pd.interval_range(0, 3)}, 1.0).save(path)


def test_a_saved_survey_has_its_labels_in_their_own_letters(tmp_path):
    """People can read the file whatever their script; half a pair of surrogates, which UTF-8 has not, stays escaped."""
    domain, path = {"年龄": ["三十以下", "其他"], "\ud83d": ["männlich", "weiblich\u2028\r"]}, tmp_path / "s.json"
    survey = Survey(domain, 1.0)
    survey.save(path)
    assert all(text in path.read_text(encoding="utf-8") for text in ("年龄", "三十以下", "männlich"))
    assert Survey.load(path) == survey
    assert Survey.load(path).description == survey.description
    assert survey.description.isascii()


def test_a_survey_whose_design_was_searched_for_says_what_was_found(tmp_path):
    """Another version's search might find other sizes, and would read each other's reports."""
    survey = Survey({"a": [1, 2], "b": [*range(5)]}, 1.0, AskSome(k=(2, 5), epsilon=1.0))
    rng = np.random.default_rng(1)
    given = survey.collect(survey.decode(rng.integers(0, (2, 5), (50, 2))), rng=rng)
    sizes = survey.mechanism.sizes_
    assert json.loads(survey.description)["sizes"] == [*sizes]
    survey.save(tmp_path / "s.json")
    assert Survey.load(tmp_path / "s.json") == survey
    given.attrs["ldp_lib"] = survey.description.replace(json.dumps(sizes), "[1, 3]")
    with pytest.raises(ValueError, match=rf"survey whose sizes is {re.escape(str([*sizes]))}; .* it is \[1, 3\]"):
        survey.estimate(given)


def test_a_column_in_another_place_is_the_same_column():
    frame = people()
    for columns in (["region", "smoker"], ["smoker", "region"]):
        assert np.array_equal(SURVEY.encode(frame[columns]), SURVEY.encode(frame))


def test_a_single_question_and_counts_have_no_tables():
    with pytest.raises(TypeError, match=r"tell of 2 attributes of one person at once; OneQuestion.*wants='tables'"):
        SURVEY.table("smoker", "region", reports())
    pairs = Survey(DOMAIN, 1.0, recommend(k=(2, 4), epsilon=1.0, n=400, wants="tables").mechanism)
    given = reports(pairs)
    with pytest.raises(TypeError, match="must be rows here, not counts"):
        pairs.table("smoker", "region", aggregate(given, pairs.mechanism))
    for names in (("smoker", "smoker"), ("smoker", "age")):
        with pytest.raises(ValueError, match="attributes must be different ones of"):
            pairs.table(*names, given)
    for where in ({"smoker": "maybe"}, {"smoker": []}, {"smoker": ["no", "never"]}):
        with pytest.raises(ValueError, match="where must name labels out of"):
            pairs.query(where, given)


def test_a_file_is_read_in_blocks_however_large_its_row_groups_are(tmp_path, monkeypatch):
    given, lengths = reports(), []
    given.to_parquet(tmp_path / "a.parquet", row_group_size=len(given))
    whole, kind = SURVEY.estimate(given), type(SURVEY.mechanism)
    count = kind.count
    monkeypatch.setattr(files, "CHUNK", 90)
    monkeypatch.setattr(kind, "count", lambda self, y: lengths.append(len(y)) or count(self, y))
    assert SURVEY.estimate(tmp_path).equals(whole)
    assert lengths[:5] == [90, 90, 90, 90, 40]


@pytest.mark.parametrize(
    ("labels", "answer"),
    [
        ([1, 2], "2.0"),
        ([0.3, 1.0], 0.1 + 0.2),
        (["30-59", "60-99"], "30–59"),
        (["don't know", "yes"], "don’t know"),
        (["very good", "good"], "very\tgood"),
        (["(20, 30]", "(30, 40]"], "[20, 30)"),
        ([dt.date(2026, 1, 2), dt.date(2026, 1, 3)], pd.Timestamp("2026-01-02")),
        (["2026-01-02", "2026-01-03"], pd.Timestamp("2026-01-02", tz="UTC")),
        ([0, 1], True),
        ([False, True], 1),
    ],
)
def test_what_only_looks_like_a_label_is_not_put_to_other(labels, answer):
    survey = Survey({"a": [*labels, "rest"]}, 1.0, other="rest")
    with pytest.raises(ValueError, match="frame must hold one of the labels"):
        survey.encode(pd.DataFrame({"a": pd.Series([answer], dtype=object)}))
    assert survey.encode(pd.DataFrame({"a": ["anything"]})).tolist() == [[2]]


def test_surveys_are_equal_if_their_reports_are_of_one_survey():
    one = Survey({"a": [0, 1], "b": ["x", "y"]}, 1.0)
    assert one == Survey({"a": [0, 1], "b": ["x", "y"]}, 1.0)
    assert one != Survey({"b": ["x", "y"], "a": [0, 1]}, 1.0)
    assert one != Survey({"a": [False, True], "b": ["x", "y"]}, 1.0)


def test_a_changed_bit_in_the_pages_of_a_parquet_file_is_refused(tmp_path):
    survey = Survey({"a": ["x", "y"], "b": ["p", "q", "r"]}, 1.0)
    people = survey.decode(np.random.default_rng(1).integers(0, 2, (2_000, 2)))
    files.write(survey.collect(people, rng=np.random.default_rng(2)), path := tmp_path / "a.parquet")
    whole, wanted, changed = path.read_bytes(), survey.estimate(path), 0
    with ParquetFile(path) as file:
        column = file.metadata.row_group(0).column(0)
    start = min(x for x in (column.dictionary_page_offset, column.data_page_offset) if x)
    for at in np.linspace(start + 40, start + column.total_compressed_size - 1, 25).astype(int):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        try:
            changed += not survey.estimate(path).equals(wanted)
        except ValueError:
            continue
    assert changed == 0


@pytest.mark.parametrize("suffix", [None, "csv", "parquet"])
def test_reports_that_repeat_their_own_beginning_are_refused(suffix, tmp_path):
    """A cell run twice: n and the standard error would be those of twice as many people."""
    one, two = reports(), reports(seed=3)
    assert SURVEY.estimate([one, two])["standard_error"][0] > 0

    def given(frame):
        if suffix is None:
            return frame
        files.write(frame, tmp_path / f"a.{suffix}")
        return tmp_path / f"a.{suffix}"

    for frame in (pd.concat([one, one]), pd.concat([one, two, one]), pd.concat([one, one[:40], two])):
        for call in (lambda y: aggregate(y, SURVEY.mechanism), SURVEY.estimate, SURVEY.contributions):
            with pytest.raises(ValueError, match=r"beginning of .* is in it twice: copied, or merged.* shuffle"):
                call(given(SURVEY.mark(frame)))
    assert aggregate(given(SURVEY.mark(pd.concat([one, two]))), SURVEY.mechanism).n == 800


@pytest.mark.parametrize("order", ["sorted", "by report of one group after the other", "alternating"])
def test_reports_in_an_order_do_not_repeat_themselves(order):
    given = SURVEY.collect(people(4_000).assign(g=np.arange(4_000) % 2), rng=np.random.default_rng(1), keep=["g"])
    by = [name for name in given if name not in ("g", files.NUMBER)]
    if order != "alternating":
        given = given.sort_values((["g"] if "group" in order else []) + by)
    else:
        given = given.groupby(by, sort=False).head(40).sort_values("g")
    assert aggregate(given, SURVEY.mechanism).n == len(given)


def test_reports_of_which_duplicates_were_dropped_are_refused():
    """Rows that agree are different people; what is left of 6,366 were 142, and a share of 0.5 where 0.68 was true."""
    domain = {"a": list("xyz"), "b": list("pqrs"), "c": list("uvwxy")}
    survey = Survey(domain, 3.0, recommend(k=(3, 4, 5), epsilon=3.0, n=6_000, wants="tables").mechanism)
    rng = np.random.default_rng(1)
    answers = pd.DataFrame({name: rng.choice(labels, 6_000) for name, labels in domain.items()})
    given = survey.collect(answers, rng=rng)
    assert aggregate(given, survey.mechanism).n == 6_000
    for call in (survey.estimate, lambda y: survey.table("a", "b", y), survey.contributions):
        with pytest.raises(ValueError, match="as if duplicates were dropped"):
            call(survey.mark(given.drop_duplicates()))
    # Many attributes have so many reports that few people agree, and few people are no sign.
    wide = Survey({f"q{j}": list(range(9)) for j in range(6)}, 6.0, RRIndependent(k=(9,) * 6, epsilon=6.0))
    many = wide.decode(rng.integers(0, 9, (3_000, 6)))
    assert aggregate(wide.collect(many, rng=rng).drop_duplicates(), wide.mechanism).n > 2_900
    assert aggregate(given[:30].drop_duplicates(), survey.mechanism).n <= 30


@pytest.mark.parametrize("spent", [0.5, 2.0])
def test_a_mechanism_of_another_budget_is_refused(spent):
    """People are told the survey's epsilon, and its description says it."""
    with pytest.raises(ValueError, match=rf"mechanism must have the survey's epsilon = 1\.0; got {spent}"):
        Survey(DOMAIN, 1.0, RRIndependent(k=(2, 4), epsilon=spent))
    assert Survey(DOMAIN, 1, RRIndependent(k=(2, 4), epsilon=1)).epsilon == 1.0


def test_rows_of_two_surveys_are_named_as_such_where_no_description_is_left():
    """`pandas.concat` drops descriptions that differ: to vouch for such rows would be the wrong way."""
    mixed = pd.concat([reports(), reports(Survey(DOMAIN, 2.0), seed=3)], ignore_index=True)
    assert files.KEY not in mixed.attrs
    with pytest.raises(ValueError, match="the rows of the data frame are of several"):
        SURVEY.estimate(mixed)


def test_paths_that_are_not_there_and_manifests_alone_are_named(tmp_path):
    for path in (tmp_path / "batchs", tmp_path / "batch_1.parquet", tmp_path / "b.csv"):
        with pytest.raises(FileNotFoundError, match=rf"there is no .*{path.name}"):
            SURVEY.estimate(path)
    files.write(reports(), tmp_path / "b.csv")
    (tmp_path / "b.csv").rename(tmp_path / "old")
    (tmp_path / "old").unlink()
    with pytest.raises(ValueError, match=r"b\.csv\.json'; \.csv\.json is of another file"):
        SURVEY.estimate(tmp_path)


def test_a_copy_names_both_files(tmp_path):
    for name in ("first.parquet", "second.parquet"):
        files.write(reports(), tmp_path / name)
    with pytest.raises(ValueError, match=r"'second\.parquet.* is in both: .* the other is 'first\.parquet"):
        SURVEY.estimate(tmp_path)


@pytest.mark.parametrize("roles", [{}, {"other": "other"}])
@pytest.mark.parametrize(
    ("answer", "like"),
    [
        ("10000 TO 24999", "['10000 to 24999']"),
        ("", "a missing value"),
        ("N/A", "a missing value"),
        (" other", "['other']"),
    ],
)
def test_what_reads_like_a_label_is_named_before_another_label_is_asked_for(answer, like, roles):
    survey = Survey({"a": ["10000 to 24999", "more", "other"]}, 1.0, **roles)
    told = rf"got {answer!r} in row 1\. It reads like {re.escape(like)}, .*: convert the column"
    with pytest.raises(ValueError, match=told):
        survey.encode(pd.DataFrame({"a": ["more", answer]}))


@pytest.mark.parametrize(("labels", "answer"), [([False, True], 0), ([0, 1], "0"), (["0", "1"], np.int8(1))])
def test_dummies_are_to_be_converted(labels, answer):
    with pytest.raises(ValueError, match=rf"It reads like .*{int(answer)}|It reads like \[False\]"):
        Survey({"a": labels}, 1.0).encode(pd.DataFrame({"a": [answer]}))


def test_dropped_duplicates_are_seen_within_the_groups_of_kept_columns():
    """Kept years told some equal reports apart: of 60,000 were left 630, and every share came out even."""
    domain = {"a": list("xyz"), "b": list("uvw"), "c": list("pqrst"), "d": list("mn")}
    survey, rng, n = Survey(domain, 2.0, RRJoint(k=(3, 3, 5, 2), epsilon=2.0)), np.random.default_rng(1), 20_000
    answers = pd.DataFrame({name: rng.choice(labels, n) for name, labels in domain.items()})
    answers = answers.assign(year=rng.integers(2000, 2007, n), household=np.arange(n) // 2, gap=np.nan)
    given = survey.collect(answers, keep=["year", "gap"], rng=rng)
    assert survey.estimate(given)["estimate"].between(-0.1, 1.1).all()
    with pytest.raises(ValueError, match="as if duplicates were dropped"):
        survey.estimate(given.drop_duplicates())
    # Of couples both may differ in each answer, at a large budget in each report.
    couples = Survey({"role": ["one", "other"]}, 12.0)
    pairs = pd.DataFrame({"role": ["one", "other"] * 2_000, "household": np.repeat(np.arange(2_000), 2)})
    apart = couples.collect(pairs, keep=["household"], rng=rng)
    assert not apart.duplicated().any()
    assert len(couples.estimate(apart)) == 2
    # A column that is added later may hold anything.
    assert len(survey.estimate(given.assign(notes=[[1]] * n, **{"3": 3}).rename(columns={"3": 3}))) == 13


def test_a_number_beyond_the_limits_is_no_missing_answer():
    """To declare a label for them would file people as nonresponse."""
    bands = ["under 30", "30 to 59"]
    ages = pd.DataFrame({"age": pd.cut([20.0, 75.0], [-np.inf, 29, 59], labels=bands)})
    with pytest.raises(ValueError, match=r"pandas\.cut made it missing, and .* limits be .* inf\. Else: Recode"):
        Survey({"age": bands}, 1.0).encode(ages)


def test_normalised_weights_are_told_what_a_weight_is():
    frame = people(4).assign(w=[0.5, 1.5, 0.8, 1.2])
    with pytest.raises(ValueError, match=r"1 over the chance of being asked; got 'w' of float64, .*least .*0\.5"):
        SURVEY.collect(frame, rng=np.random.default_rng(1), weights="w")


def test_labels_that_differ_in_case_only_are_refused_as_answers_are():
    with pytest.raises(ValueError, match="labels for 'a' that differ in print"):
        Survey({"a": ["x", "X "]}, 1.0)


@pytest.mark.parametrize(
    ("label", "answer"),
    [
        *(("20-30", one) for one in ("20\u221230", "20 - 30", "20-30\0", "20-30\x7f")),
        *(("don't", f"don{one}t") for one in "\u00b4`\u2032\u2019"),
        ('the "old"', "the \u201cold\u201d"),
        ("1/2", "1\u20442"),
        ("\u2764", "\u2764\ufe0f"),
        (1000, "1\u202f000"),
        *(("yes", one) for one in ("#N/A N/A", "-1.#IND", "1.#QNAN", "\u2212")),
    ],
)
def test_signs_that_are_typed_for_others_are_not_put_to_other(label, answer):
    survey = Survey({"a": [label, "none of these", "rest"]}, 1.0, other="rest")
    with pytest.raises(ValueError, match="frame must hold one of the labels"):
        survey.encode(pd.DataFrame({"a": pd.Series([answer], dtype=object)}))


def test_numpy_s_true_beside_a_number_is_refused():
    with pytest.raises(TypeError, match="must not mix booleans with numbers"):
        Survey({"a": [0, 1]}, 1.0).encode(pd.DataFrame({"a": pd.Series([0, 1, np.True_], dtype=object)}))


def test_reports_that_are_read_for_each_pair_are_the_same_for_all(tmp_path):
    """A generator in a list is empty when it is read again, and a folder may have a batch more."""
    survey, rng = Survey({"a": [0, 1], "b": [0, 1], "c": [0, 1]}, 6.0, AskSome(k=(2, 2, 2), epsilon=6.0, m=2)), RNG(1)
    tied, free = pd.DataFrame(dict.fromkeys("abc", np.arange(900) % 2)), survey.decode(rng.integers(0, 2, (300, 3)))
    given = [survey.collect(frame, rng=rng) for frame in (tied, free)]
    assert survey.associations([(one for one in given[:1]), given[1]]).equals(survey.associations(given))
    made = [survey.synthetic(90, one, rng=RNG(2)) for one in (given, [map(pd.DataFrame.copy, given[:1]), given[1]])]
    assert made[0].equals(made[1])


def test_a_parquet_file_whose_numbers_of_rows_disagree_is_refused(tmp_path):
    """One changed bit in what a file says of a row group, and its last reports are not read."""
    survey, path, lost = Survey({"a": [0, 1], "b": [0, 1]}, 1.0), tmp_path / "a.parquet", 0
    files.write(survey.collect(survey.decode(np.ones((200, 2), int)), rng=RNG(1)), path)
    whole, said = path.read_bytes(), bytes([0x90, 0x03])  # 200, as Parquet writes it
    start = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    places = [at for at in range(start, len(whole)) if whole.startswith(said, at)]
    for at in places:
        path.write_bytes(whole[:at] + bytes([0x80]) + whole[at + 1 :])  # 192
        for read in (lambda: aggregate(path, survey.mechanism).n, lambda: len(files.read(path))):
            try:
                lost += read() < 200
            except ValueError:
                continue
    assert len(places) > 1
    assert lost == 0


def test_who_vouches_does_not_rename_reports_that_say_of_which_survey_they_are():
    ours, other = (Survey({"a": labels}, 3.0) for labels in (["no", "yes"], ["yes", "no"]))
    given = other.collect(pd.DataFrame({"a": ["no"] * 40}), rng=RNG(1)).drop(columns=files.NUMBER)
    with pytest.raises(ValueError, match="labels of 'a' is"):
        ours.estimate(ours.mark(given))


@pytest.mark.parametrize("oracle", [GRR, OLH, UnaryEncoding])
def test_a_survey_with_a_named_oracle_is_read_from_its_file(oracle, tmp_path):
    survey = Survey({"a": [0, 1], "b": [0, 1]}, 1.0, OneQuestion(k=(2, 2), epsilon=1.0, oracle=oracle))
    survey.save(tmp_path / "s.json")
    assert Survey.load(tmp_path / "s.json") == survey


def test_a_hidden_report_file_is_named_however_its_ending_is_written(tmp_path):
    survey = Survey({"a": [0, 1]}, 1.0)
    for name in ("a", "b"):
        files.write(survey.collect(survey.decode(np.ones((40, 1), int)), rng=RNG(ord(name))), tmp_path / f"{name}.csv")
    files.write(survey.collect(survey.decode(np.ones((40, 1), int)), rng=RNG(3)), tmp_path / "c.parquet")
    (tmp_path / "c.parquet").rename(tmp_path / ".c.PARQUET")
    with pytest.raises(ValueError, match="hidden"):
        aggregate(tmp_path, survey.mechanism)


@pytest.mark.parametrize("role", ["missing", "other"])
def test_a_role_of_numpy_s_type_is_the_label_itself_in_a_file_too(role, tmp_path):
    survey = Survey({"a": [1, 9], "b": ["9", "x"]}, 1.0, **{role: np.int64(9)})
    survey.save(tmp_path / "s.json")
    for one in (survey, Survey.load(tmp_path / "s.json")):
        assert (getattr(one, role), type(getattr(one, role))) == (9, int)
    assert survey == Survey({"a": [1, 9], "b": ["9", "x"]}, 1.0, **{role: 9})


def test_members_of_enums_that_equal_their_values_are_these_values():
    """Another enum may give the same values other names, and their surveys are one."""
    for kind, values in ((enum.IntEnum, [1, 0]), (enum.StrEnum, ["y", "n"]), (enum.IntFlag, [2, 1])):
        ours, other = (kind("K", zip(names, values, strict=True)) for names in (["YES", "NO"], ["NO", "YES"]))
        survey = Survey({"a": list(ours)}, 3.0)
        given = survey.collect(pd.DataFrame({"a": [ours.YES] * 300}), rng=RNG(1))
        found = Survey({"a": list(other)}, 3.0).estimate(given)
        assert [(type(one), one) for one in found["value"]] == [(type(one), one) for one in values]
        assert found["estimate"][0] > 0.9


def test_counts_beyond_what_is_counted_are_refused():
    with pytest.raises(ValueError, match="counts must be 4 possible whole numbers"):
        Counts(GRR(k=3, epsilon=1.0), np.array([2**63 + 5, 7, 7, 7], np.uint64))


def test_a_changed_bit_in_a_parquet_file_s_description_is_refused_by_an_error_of_ours(tmp_path):
    path, whole = tmp_path / "a.parquet", reports()
    files.write(whole, path)
    text, own = path.read_bytes(), ("reports must", "mechanism must", "counts must")
    for word in (b'"domain', b"mechanism", b"PANDAS_ATTRS", b"ldp_lib"):
        for at in (at + i for at in range(len(text)) if text.startswith(word, at) for i in range(len(word))):
            for bit in (1, 2, 128):
                path.write_bytes(text[:at] + bytes([text[at] ^ bit]) + text[at + 1 :])
                for read in (SURVEY.estimate, lambda one: aggregate(one, SURVEY.mechanism)):
                    try:
                        read(path)
                    except ValueError as error:
                        assert str(error).startswith(own)  # noqa: PT017


@pytest.mark.parametrize("other", [None, "rest"])
def test_the_hour_that_a_clock_tells_twice_is_two_hours(other):
    """Times of a zone in both hours, as labels and as answers, in each of pandas' and Python's types."""
    utc = list(pd.to_datetime(["2020-10-25 00:30", "2020-10-25 01:30"], utc=True))
    ways = [utc, [one.tz_convert("Europe/Berlin") for one in utc], [one.tz_convert("US/Eastern") for one in utc]]
    ways.append([dt.datetime.fromtimestamp(one.timestamp(), zoneinfo.ZoneInfo("Europe/Berlin")) for one in utc])
    for labels in ways[:3]:
        survey = Survey({"a": labels + [other] * (other is not None)}, 1.0, other=other)
        for values in ways:
            for kind in (None, "category"):
                people = pd.DataFrame({"a": pd.Series(values, dtype=kind)})
                assert survey.encode(people).ravel().tolist() == [0, 1]

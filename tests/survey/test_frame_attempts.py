"""Attempts with frames, files, weights and plans of every kind: each gives the right number, or an error of ours."""

import contextlib
import copy
import dataclasses
import datetime as dt
import itertools
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from ldp_lib import GRR, AskSome, OneQuestion, ProductRR, RRIndependent, RRJoint, Survey, recommend
from ldp_lib.survey import files
from ldp_lib.survey.aggregate import aggregate
from ldp_lib.survey.planner import required_budget, required_users, standard_errors
from ldp_lib.tables import likelihood
from ldp_lib.tables._asked import raw_table
from ldp_lib.tables.covariance import table_covariance

pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
AB = {"a": ["x", "y"], "b": ["p", "q", "r"]}
ABC = {**AB, "c": ["u", "v"]}
YES = ["yes", "no", "rest"]


def people(n=2_000, seed=0):
    rng = np.random.default_rng(seed)
    a, b, c = rng.integers(0, 2, n), rng.integers(0, 2, n), rng.integers(0, 2, n)
    frame = {"a": np.array(AB["a"])[a], "b": np.array(AB["b"])[(a + b) % 3], "c": np.array(ABC["c"])[a * c]}
    return pd.DataFrame(frame).assign(g=np.arange(n) % 2, w=2.0)


PAIR = Survey(AB, 3.0, AskSome(k=(2, 3), epsilon=3.0, m=2))
REPORTS = PAIR.collect(people(), rng=np.random.default_rng(1), keep=["g"], weights="w")
TABLE = PAIR.table("a", "b", REPORTS)


def own(act):
    """Assert that an act is refused by an error of the library: a ValueError or TypeError that says what must be."""
    with pytest.raises((ValueError, TypeError)) as caught:
        act()
    assert type(caught.value) in (ValueError, TypeError)
    assert " must " in str(caught.value)


def arrow(values, kind):
    return pd.array(values, dtype=pd.ArrowDtype(kind))


# Answers: labels, the column, the label for missing and for other values; then the codes, or None if it is refused.

ANSWERS = {
    "Arrow texts": (YES, arrow(["yes", "no"], pa.string()), None, None, [0, 1]),
    "large Arrow texts": (YES, arrow(["yes", "no"], pa.large_string()), None, None, [0, 1]),
    "an Arrow dictionary": (YES, arrow(["yes", None], pa.dictionary(pa.int8(), pa.string())), "rest", None, [0, 2]),
    "Arrow booleans": ([False, True, "none"], arrow([True, None], pa.bool_()), "none", None, [1, 2]),
    "NaN and null in Arrow": ([0.5, 1, "none"], arrow([0.5, None, np.nan], pa.float64()), "none", None, [0, 2, 2]),
    "Arrow decimals": ([1, 2], arrow([Decimal("1.00")], pa.decimal128(5, 2)), None, None, [0]),
    "Arrow days": (
        [dt.date(2020, 1, 1), dt.date(2020, 1, 2)],
        arrow([dt.date(2020, 1, 2)], pa.date32()),
        None,
        None,
        [1],
    ),
    "nothing but nulls": (YES, arrow([None], pa.null()), "rest", None, [2]),
    "sparse numbers": ([0, 1], pd.arrays.SparseArray([0, 1, 1]), None, None, [0, 1, 1]),
    "unused categories": (YES, pd.Categorical(["yes"], ["zzz", "no", "yes"]), None, None, [0]),
    "categories in another order": ([1, 2], pd.Categorical([2, 1], [2, 1]), None, None, [1, 0]),
    "periods": ([pd.Period("2020"), pd.Period("2021")], pd.PeriodIndex(["2021"], freq="Y"), None, None, [1]),
    "bands of whole and of real numbers": (
        list(pd.interval_range(0, 2)),
        pd.cut([0.5, 1.5], [0.0, 1, 2]),
        None,
        None,
        [0, 1],
    ),
    "an exploded column": (YES, pd.Series([["yes", "no"], ["rest"]]).explode(), None, None, [0, 1, 2]),
    "a text that is no label": (["C", "D", "rest"], ["C++", "c#"], None, "rest", [2, 2]),
    "numbers below and beside labels": ([1, 1_000_001, "rest"], [-1, 1_000_002, 0.5], None, "rest", [2, 2, 2]),
    "bytes": (YES, [b"yes", b"no"], None, "rest", None),
    "NumPy's bytes": (YES, np.array([b"yes"]), None, "rest", None),
    "Arrow's bytes": (YES, arrow([b"yes"], pa.binary()), None, "rest", None),
    "32-bit numbers": ([0.1, 0.2, "rest"], np.array([0.1], np.float32), None, "rest", None),
    "a decimal comma": ([1.5, 2.5, "rest"], ["1,5"], None, "rest", None),
    "a comma for thousands": ([1_000, 2_000, "rest"], ["1,000"], None, "rest", None),
    "zeros in front that were lost": (["01", "02", "rest"], [1, 2], None, "rest", None),
    "the same as real numbers": (["01", "02", "rest"], [1.0, 2.0], None, "rest", None),
    "True where the label is a text": (["0", "1", "rest"], [True], None, "rest", None),
    "quotes": (YES, ['"yes"'], None, "rest", None),
    "bands as texts": (["(0, 10]", "(10, 20]", "rest"], pd.cut([5], [0.0, 10, 20]), None, "rest", None),
    "bands of real numbers as texts": (
        ["(0.0, 10.0]", "b", "rest"],
        pd.cut([5], [0, 10, 20]).astype(str),
        None,
        "rest",
        None,
    ),
    "MySQL's missing value": (YES, [r"\N"], None, "rest", None),
    "SAS's missing value": (YES, ["."], None, "rest", None),
    "a question mark": (YES, ["?"], None, "rest", None),
    "a number before a boolean": ([0, 1, "rest"], np.array([1, True, 0], object), None, "rest", None),
    "a boolean before a number": ([0, 1], np.array([True, 1], object), None, None, None),
    "Arrow lists": (YES, arrow([["yes"]], pa.list_(pa.string())), None, "rest", None),
    "Arrow records": (YES, arrow([{"x": 1}], pa.struct([("x", pa.int8())])), None, "rest", None),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_answers_of_any_type_are_read_right_or_refused(what):
    labels, column, missing, other, codes = ANSWERS[what]
    survey, frame = Survey({"a": labels}, 1.0, missing=missing, other=other), pd.DataFrame({"a": column})
    if codes is None:
        own(lambda: survey.encode(frame))
    else:
        assert survey.encode(frame).ravel().tolist() == codes


# Reports in other frames, and in files of other writers.

BY_ROW = REPORTS.columns.str.startswith("report")
KEPT = {
    "columns in reverse": lambda y: y[y.columns[::-1]],
    "an index with one entry": lambda y: y.set_axis([0] * len(y)),
    "keys of concat": lambda y: pd.concat({"k": y}),
    "an old index as a column": lambda y: y.reset_index(),
    "types that may be missing": lambda y: y.convert_dtypes(),
    "types of Arrow": lambda y: y.convert_dtypes(dtype_backend="pyarrow"),
    "sparse columns": lambda y: y.astype(pd.SparseDtype("int")),
    "wide whole numbers": lambda y: y.astype("int64"),
    "head and tail": lambda y: [y.head(700), y.tail(1_300)],
    "groups": lambda y: (part for _, part in y.groupby("g")),
    "a random order": lambda y: y.sample(frac=1, random_state=1),
    "a copy from a pickle": lambda y: pickle.loads(pickle.dumps(copy.deepcopy(y))),
    "JSON, vouched for": lambda y: PAIR.mark(pd.DataFrame(json.loads(y.to_json(orient="records")))),
}


@pytest.mark.parametrize("what", KEPT)
def test_reports_in_another_frame_are_the_same_reports(what):
    assert np.allclose(PAIR.table("a", "b", KEPT[what](REPORTS)), TABLE, atol=1e-12)


LOST = {
    "merged": lambda y: y.merge(pd.DataFrame({"g": [0, 1]}), on="g"),
    "a column as index": lambda y: y.set_index("report_asked"),
    "a frame on its side": lambda y: y.T,
    "long": lambda y: y.melt(),
    "booleans": lambda y: y.assign(report_asked=y["report_asked"].astype(bool)),
    "objects": lambda y: y.astype(object),
    "real numbers": lambda y: y.astype(float),
    "columns of two levels": lambda y: y.set_axis(pd.MultiIndex.from_product([["r"], y.columns]), axis=1),
    "a set that is none": lambda y: y.assign(report_sets_0_0=7),
    "rows one by one": lambda y: y.iterrows(),
    "groups with their names": lambda y: y.groupby("g"),
    "an Arrow table": lambda y: pa.Table.from_pandas(y),
    "a part twice": lambda y: [y, y.head(500)],
}


@pytest.mark.parametrize("what", LOST)
def test_reports_that_a_frame_lost_are_refused(what):
    own(lambda: PAIR.table("a", "b", LOST[what](REPORTS)))


def retyped(kind):
    return lambda t, path: pq.write_table(
        t.cast(pa.schema([(n, kind) for n in t.column_names], metadata=t.schema.metadata)), path
    )


WRITERS = {
    "whole numbers of 64 bits": (retyped(pa.int64()), True),
    "zstd, version 1": (lambda t, path: pq.write_table(t, path, compression="zstd", version="1.0"), True),
    "row groups of 90": (lambda t, path: pq.write_table(t, path, row_group_size=90), True),
    "a column of records": (
        lambda t, path: pq.write_table(t.append_column("e", pa.array([{"q": 1}] * 2_000)), path),
        True,
    ),
    "no description": (lambda t, path: pq.write_table(t.replace_schema_metadata(None), path), False),
    "texts": (retyped(pa.string()), False),
    "real numbers": (retyped(pa.float64()), False),
    "a report more": (lambda t, path: pq.write_table(t.append_column("report", t["g"]), path), False),
    "half of the file": (lambda t, path: (pq.write_table(t, path), path.write_bytes(path.read_bytes()[:-900])), False),
    "nothing": (lambda t, path: path.write_bytes(b""), False),
    "CSV by another name": (lambda t, path: t.to_pandas().to_csv(path), False),
}


@pytest.mark.parametrize("what", WRITERS)
def test_parquet_files_of_other_writers_are_read_right_or_refused(what, tmp_path):
    files.write(REPORTS, tmp_path / "a.pq")
    write, read = WRITERS[what]
    (tmp_path / "new").mkdir()
    write(pq.read_table(tmp_path / "a.pq"), tmp_path / "new" / "b.parquet")
    if read:
        assert np.allclose(PAIR.table("a", "b", tmp_path / "new"), TABLE, atol=1e-12)
    else:
        own(lambda: PAIR.table("a", "b", tmp_path / "new"))


def test_a_partitioned_folder_is_read_unless_the_question_is_in_its_names(tmp_path):
    REPORTS.to_parquet(tmp_path / "by_group", partition_cols=["g"])
    REPORTS.to_parquet(tmp_path / "by_question", partition_cols=["report_asked"])
    assert np.allclose(PAIR.table("a", "b", tmp_path / "by_group"), TABLE, atol=1e-12)
    own(lambda: PAIR.table("a", "b", tmp_path / "by_question"))


@pytest.mark.parametrize(
    "change", [lambda b: b.replace(b"\n", b"\r\n"), lambda b: b"\xef\xbb\xbf" + b, lambda b: b[:-9]]
)
def test_a_csv_file_that_an_editor_saved_is_refused(change, tmp_path):
    files.write(REPORTS, path := tmp_path / "a.csv")
    path.write_bytes(change(path.read_bytes()))
    own(lambda: PAIR.estimate(tmp_path))


@pytest.mark.parametrize(
    ("values", "kept"),
    [
        (np.array([2**53 + 1, None] * 1_000, object), False),  # Arrow makes it a real number, and another one
        ([[1], [2]] * 1_000, False),
        (pd.Categorical([3, 1] * 1_000, [3, 1, 7]), True),
        (arrow(["a", "b"] * 1_000, pa.string()), True),
        (pd.period_range("2020", periods=2_000, freq="D"), True),
        (np.array(["a", None] * 1_000, object), True),
        (np.array([dt.date(2020, 1, 1)] * 2_000, object), True),
    ],
    ids=["ids with gaps", "lists", "categories", "Arrow", "periods", "texts with gaps", "days"],
)
def test_columns_that_travel_in_a_parquet_file_keep_their_values(values, kept, tmp_path):
    given = PAIR.collect(people().assign(k=values), rng=np.random.default_rng(1), keep=["k"])
    with contextlib.nullcontext() if kept else pytest.raises(ValueError, match=r"that a \.parquet file keeps"):
        files.write(given, tmp_path / "a.parquet")
        back = files.read(tmp_path / "a.parquet")["k"].astype(given["k"].dtype)
        assert back.equals(given["k"])
    assert (tmp_path / "a.parquet").exists() == kept


# Numbers, compared with plain NumPy.


@pytest.mark.parametrize("order", [["report_asked"], ["report_sets_0_0", "report_sets_1_0"], ["report_sets_1_0"]])
def test_tables_of_more_reports_than_a_block_hold_in_any_order(order, monkeypatch):
    """Sorted reports come block by block: a block may hold one question only, or one answer."""
    survey, frame = Survey(ABC, 3.0, AskSome(k=(2, 3, 2), epsilon=3.0, m=2)), people(6_000)
    given = survey.collect(frame, rng=np.random.default_rng(1))
    whole = {pair: survey.table(*pair, given) for pair in ("ab", "cb")}
    found = survey.associations(given)["p_value"]
    monkeypatch.setattr("ldp_lib.survey._files.CHUNK", 1_000)
    given = given.sort_values(order, kind="stable")
    parts = [given[i : i + 300] for i in range(0, 6_000, 300)]
    for (a, b), table in whole.items():
        assert np.allclose(survey.table(a, b, parts), table, atol=1e-10)
        truth = pd.crosstab(frame[a], frame[b], normalize="all").to_numpy().ravel()
        assert (abs(table["estimate"] - truth) < 5 * table["standard_error"]).all()
    assert np.allclose(survey.associations(parts)["p_value"], found)


def test_contributions_stay_beside_their_own_columns_where_an_index_has_entries_twice():
    """`concat` without ignore_index gives each index twice; joined by it, groups would be mixed."""
    survey = Survey({"b": AB["b"]}, 12.0, GRR(k=3, epsilon=12.0))
    batches = [
        survey.collect(pd.DataFrame({"b": [label] * 50, "g": label}), rng=np.random.default_rng(1), keep=["g"])
        for label in AB["b"]
    ]
    z = survey.contributions(pd.concat(batches))
    assert len(z) == 150
    assert z.groupby("g")[[f"b={label}" for label in AB["b"]]].mean().to_numpy() == pytest.approx(np.eye(3), abs=0.01)


def by_hand(y, w, k, epsilon):
    """Shares by Hajek and their variances with Poisson sampling, of reports by generalized randomized response."""
    p, q = np.exp(epsilon) / (np.exp(epsilon) + k - 1), 1 / (np.exp(epsilon) + k - 1)
    z = ((y[:, None] == np.arange(k)) - q) / (p - q)
    shares = w @ z / w.sum()
    apart = z * (1 - 2 * shares) + shares**2
    return shares, (w**2 @ (z**2 - z) + (w**2 - w) @ apart) / w.sum() ** 2


def test_a_difference_of_weighted_groups_of_different_size_by_hand():
    survey, rng = Survey({"b": AB["b"]}, 1.5, GRR(k=3, epsilon=1.5)), np.random.default_rng(5)
    parts, found = [], []
    for n in (900, 70):
        frame = pd.DataFrame({"b": rng.choice(AB["b"], n), "w": rng.uniform(1, 500, n)})
        parts.append(survey.collect(frame, rng=rng, weights="w"))
        found.append(by_hand(parts[-1]["report"].to_numpy(), parts[-1]["w"].to_numpy(), 3, 1.5))
    got = survey.difference(*parts, weights="w", sampling=True, simultaneous=True, confidence=0.9)
    apart, spread = found[0][0] - found[1][0], np.sqrt(found[0][1] + found[1][1])
    assert got["estimate"].to_numpy() == pytest.approx(apart)
    assert got["high"].to_numpy() == pytest.approx(apart + norm.ppf(1 - 0.1 / 6) * spread)


def test_a_query_that_names_a_label_twice_by_hand():
    survey = Survey(AB, 2.0, RRJoint(k=(2, 3), epsilon=2.0))
    given = survey.collect(people(), rng=np.random.default_rng(3))
    e, cells = np.exp(2.0), 6
    channel = np.where(np.eye(cells), e, 1) / (e + cells - 1)
    inverse = np.linalg.inv(channel)
    seen = np.bincount(given["report_0"] * 3 + given["report_1"], minlength=cells) / len(given)
    raw = seen @ inverse
    falling = np.sort(raw)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, cells + 1)
    near = np.maximum(raw - excess[falling > excess][-1], 0)  # the nearest probabilities
    picked = np.array([1, 0, 1, 0, 0, 0])  # x with p or r
    covariance = inverse.T * (near @ channel) @ inverse - np.diag(near)  # people held fixed
    got = survey.query({"a": ["x", "x"], "b": ["r", "p", "r"]}, given)
    assert got.estimate == pytest.approx(raw @ picked)
    assert got.standard_error == pytest.approx(np.sqrt(picked @ covariance @ picked / len(given)))


ASKED = AskSome(k=(2, 3), epsilon=2.0, m=1, groups=False)


@pytest.mark.parametrize("make", [AskSome, RRIndependent, RRJoint])
def test_attributes_named_in_any_order_tell_the_same(make):
    """Of three attributes an order and its inverse differ: axes moved the wrong way round go unnoticed with two."""
    survey = Survey(ABC, 4.0, make(k=(2, 3, 2), epsilon=4.0, **({"m": 3} if make is AskSome else {})))
    given = survey.collect(people(1_000), rng=np.random.default_rng(1))
    y = files.from_frame(given, survey.mechanism)
    wanted, likely = (
        survey.query({"a": "x", "b": ["p", "r"], "c": "v"}, given),
        likelihood.estimate(survey.mechanism, y),
    )
    for order in itertools.permutations(range(3)):
        where = {name: {"a": "x", "b": ["p", "r"], "c": "v"}[name] for name in ("abc"[j] for j in order)}
        assert survey.query(where, given) == pytest.approx(wanted)
        raw = raw_table(survey.mechanism, y, *order)
        assert raw == pytest.approx(raw_table(survey.mechanism, y, 0, 1, 2).transpose(order))
        found = likelihood.estimate(survey.mechanism, y, *order).table
        assert found == pytest.approx(likely.table.transpose(order), abs=1e-3)
        if make is RRIndependent:
            each = [raw_table(survey.mechanism, y, j) for j in range(3)]
            whole = survey.mechanism.independent_table(each, 0, 1, 2)
            assert survey.mechanism.independent_table(each, *order) == pytest.approx(whole.transpose(order))


def test_a_projected_table_has_the_intervals_of_the_raw_one():
    survey = Survey(AB, 0.5, AskSome(k=(2, 3), epsilon=0.5, m=2))
    given = survey.collect(people(300), rng=np.random.default_rng(1))
    raw, shown = (survey.table("a", "b", given, projected=projected) for projected in (False, True))
    assert raw["estimate"].min() < 0 <= shown["estimate"].min()
    assert shown["estimate"].sum() == pytest.approx(1)
    assert shown.drop(columns="estimate").equals(raw.drop(columns="estimate"))
    half = norm.ppf(0.975) * raw["standard_error"]
    assert np.allclose(raw[["low", "high"]].T, [raw["estimate"] - half, raw["estimate"] + half])


@pytest.mark.filterwarnings("ignore:weights of those")
@pytest.mark.parametrize(
    ("mechanism", "sampling"),
    [(ASKED, False), (ASKED, True), (RRIndependent(k=(2, 3), epsilon=2.0), "with replacement")],
    ids=["people fixed", "Poisson", "with replacement"],
)
def test_no_interval_of_few_weighted_people_has_no_width(mechanism, sampling):
    """An estimated variance below 0 is no variance of 0: the interval is not known."""
    survey, rng, seen = Survey(AB, 2.0, mechanism), np.random.default_rng(2), []
    for n in [1, 2, 4, 4] * 6:
        frame = pd.DataFrame({"a": ["x"] * n, "b": "p", "w": rng.integers(1, 4, n)})
        given = survey.collect(frame, rng=rng, weights="w")
        with contextlib.suppress(ValueError):  # where an attribute was asked of nobody
            seen.append(survey.estimate(given, weights="w", sampling=sampling)["standard_error"])
    seen = np.concatenate(seen)
    assert (seen > 0).any()
    assert np.isnan(seen).any()
    assert not (seen == 0).any()


@pytest.mark.parametrize("epsilon", [12.0, 100.0, 700.0])
@pytest.mark.parametrize("make", [RRJoint, RRIndependent, AskSome])
def test_independence_is_tested_where_nobody_holds_a_label(make, epsilon):
    """The covariance of the empty cells is 0 to a float, and has no inverse."""
    more = {"m": 2} if make is AskSome else {}
    survey = Survey(AB, epsilon, make(k=(2, 3), epsilon=epsilon, **more))
    free = pd.DataFrame({"a": ["x", "y"] * 200, "b": ["p", "p", "q", "q"] * 100})
    tied = pd.DataFrame({"a": ["x", "y"] * 200, "b": ["p", "q"] * 200})
    p = [survey.associations(survey.collect(f, rng=np.random.default_rng(2)))["p_value"][0] for f in (free, tied)]
    assert p[0] > 0.01
    assert p[1] < 1e-9 or epsilon > 12  # with no noise at all nothing is left to compare with


@pytest.mark.parametrize("d", [2, 54, 60])
def test_a_table_s_variance_is_exact_where_records_are_told_hardly_ever(d):
    keep = Fraction(np.expm1(1.0)) / (2**d + Fraction(np.expm1(1.0)))
    seen = [keep * f + (1 - keep) / 4 for f in (1, 0)]
    wanted = [one * (1 - one) / keep**2 for one in seen]
    table = np.array([[1.0, 0], [0, 0]])
    found = np.diag(table_covariance(RRJoint(k=(2,) * d, epsilon=1.0), table, 0, 1, n=1))[:2]
    assert found == pytest.approx(np.array(wanted, float), rel=1e-6)


# Plans.

TABLES = AskSome(k=(2, 3), epsilon=1.0, m=2)
UNFIT = {
    "n in words": lambda: recommend(k=(2, 3), epsilon=1.0, n="100"),
    "n as an array": lambda: recommend(k=(2, 3), epsilon=1.0, n=np.array([100])),
    "n as a decimal": lambda: recommend(k=(2, 3), epsilon=1.0, n=Decimal(100)),
    "nearly endless n": lambda: recommend(k=(2, 3), epsilon=1.0, n=1e16),
    "k in words": lambda: recommend(k="23", epsilon=1.0, n=100),
    "k of one": lambda: recommend(k=(1, 2), epsilon=1.0, n=100),
    "a mask for sampling": lambda: recommend(k=(2, 3), epsilon=1.0, n=100, sampling=np.True_),
    "tables with a capital": lambda: recommend(k=(2, 3), epsilon=1.0, n=100, wants="Tables"),
    "a margin in words": lambda: required_users(TABLES, "0.1", wants="tables"),
    "a confidence in percent": lambda: required_users(TABLES, 0.1, confidence=95, wants="tables"),
    "tables of one question each": lambda: required_users(OneQuestion(k=(2, 3), epsilon=1.0), 0.1, wants="tables"),
    "a margin for shares that cannot be met": lambda: required_users(GRR(k=3, epsilon=1.0), 1e-9),
    "a margin for tables that cannot be met": lambda: required_users(TABLES, 1e-9, wants="tables"),
    "points that cannot be met": lambda: required_budget(k=(2, 3), n=1_000, points=1e-12),
    "an estimate in a tuple": lambda: standard_errors(TABLES, (np.ones(2) / 2, np.ones(3) / 3), 100),
    "an estimate of unequal lists": lambda: standard_errors(TABLES, [[0.5, 0.5], [0.2, 0.3, 0.5]], 100),
}


@pytest.mark.parametrize("what", UNFIT)
def test_an_unfit_plan_is_refused(what):
    own(UNFIT[what])


@pytest.mark.parametrize("sampling", [False, True])
@pytest.mark.parametrize("margin", [0.3, 0.02])
def test_users_for_tables_are_enough_and_one_fewer_is_not_by_hand(margin, sampling):
    """Whatever two records people hold, in any shares."""
    n, worst = required_users(TABLES, margin, wants="tables", sampling=sampling), 0.0
    alone = dataclasses.replace(TABLES, groups=False)
    for one, other in [((0, 0), (0, 0)), ((0, 0), (0, 1)), ((0, 0), (1, 1)), ((1, 2), (0, 1))]:
        for share in np.linspace(0, 1, 21):
            table = np.zeros((2, 3))
            table[one] += share
            table[other] += 1 - share
            worst = max(worst, np.diag(table_covariance(alone, table, 0, 1, n=1, sampling=sampling)).max())
    z = norm.ppf(0.975)
    assert z * np.sqrt(worst / n) <= margin * (1 + 1e-9)
    assert z * np.sqrt(worst / (n - 1)) > margin * (1 - 1e-3)


def test_users_for_tables_can_be_far_more_than_for_shares_or_fewer():
    """A record at once names a pair of ten by ten values better than either value; separate reports do not."""

    def over(mechanism):
        return required_users(mechanism, 0.01, wants="tables") / required_users(mechanism, 0.01)

    assert over(RRIndependent(k=(2, 2), epsilon=0.5)) > 17
    assert over(RRJoint(k=(10, 10), epsilon=1.0)) < 0.26
    assert 0.77 < over(AskSome(k=(10, 10), epsilon=2.0, m=2)) < 0.78


@pytest.mark.parametrize("skew", [((0.9, 0.1), (0.4, 0.6)), ((0.6, 0.4), (0.1, 0.9))])
def test_users_for_tables_are_those_of_the_worst_cell(skew):
    """Cells are not alike where a channel is not symmetric; with people fixed a variance is linear in the table."""
    mechanism, alone = ProductRR(k=(2, 2), channels=(skew, 1.0)), np.eye(4).reshape(4, 2, 2)
    told = [np.diag(table_covariance(mechanism, one, 0, 1, n=1, sampling=False)) for one in alone]
    wanted = np.max(told, axis=0) * (norm.ppf(0.975) / 0.1) ** 2
    assert required_users(mechanism, 0.1, wants="tables") == np.ceil(wanted.max())
    assert np.ceil(wanted.min()) < 0.7 * wanted.max()


# Copies of surveys, and surveys in files that were edited.


def test_copies_of_a_survey_are_the_survey_and_changed_ones_are_others():
    for same in (copy.deepcopy(PAIR), pickle.loads(pickle.dumps(PAIR)), dataclasses.replace(PAIR)):
        assert same == PAIR
        assert np.allclose(same.table("a", "b", REPORTS), TABLE)
    turned = {"a": ["y", "x"], "b": AB["b"]}
    for change in (
        {"epsilon": 4.0},
        {"domain": turned},
        {"mechanism": dataclasses.replace(PAIR.mechanism, groups=False)},
    ):
        own(lambda change=change: dataclasses.replace(PAIR, **change).estimate(REPORTS))
    own(lambda: dataclasses.replace(PAIR, epsilon=2.0))
    counts = aggregate(REPORTS, PAIR.mechanism)
    own(lambda: counts + copy.deepcopy(counts))
    own(lambda: counts + pickle.loads(pickle.dumps(counts)))


EDITS = {
    "labels in another order": {"domain": {**AB, "a": ["y", "x"]}},
    "attributes in another order": {"domain": dict(reversed(AB.items()))},
    "a text for labels": {"domain": {**AB, "a": "xy"}},
    "a label that is missing": {"domain": {**AB, "a": ["x", None]}},
    "labels in lists": {"domain": {**AB, "a": [["x"], ["y"]]}},
    "a list for a domain": {"domain": [["a", ["x", "y"]]]},
    "no domain": {"domain": None},
    "a budget in words": {"epsilon": "3"},
    "a larger budget": {"epsilon": 9},
    "a smaller budget": {"epsilon": 1},
    "a label for missing values": {"missing": "x"},
    "one that there is not": {"missing": "zz"},
    "no mechanism": {"mechanism": None},
    "a mechanism that is a number": {"mechanism": 5},
    "a mechanism that runs something": {"mechanism": "__import__('os')"},
    "a mechanism by its class": {"mechanism": "AskSome.__class__(k=(2,3),epsilon=3.0)"},
    "a mechanism of dictionaries": {"mechanism": "AskSome(**{'k':(2,3),'epsilon':3.0})"},
    "a mechanism in many brackets": {"mechanism": "(" * 500 + ")" * 500},
    "a mechanism with an unknown word": {"mechanism": "AskSome(k=(2,3),epsilon=3.0,zzz=1)"},
    "a mechanism of a larger budget": {"mechanism": "AskSome(k=(2,3),epsilon=9.0,m=2)"},
    "a mechanism in other groups": {"mechanism": "AskSome(k=(2,3),epsilon=3.0,m=2,groups=False)"},
    "another format": {"format": 1},
}


@pytest.mark.parametrize("what", EDITS)
def test_an_edited_survey_is_refused_or_does_not_read_the_old_reports(what, tmp_path):
    PAIR.save(path := tmp_path / "s.json")
    path.write_text(json.dumps(json.loads(path.read_text()) | EDITS[what]))
    own(lambda: Survey.load(path).estimate(REPORTS))


def test_threads_that_share_a_secure_generator_share_no_draw():
    pytest.importorskip("randomgen")
    from ldp_lib.survey.secure import generator

    rng = generator()
    with ThreadPoolExecutor(8) as pool:
        drawn = list(pool.map(lambda _: rng.integers(2**63, size=200), range(64)))
    assert len(np.unique(drawn)) == 64 * 200

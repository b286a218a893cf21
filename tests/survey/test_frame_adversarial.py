"""What an adversary tried on a survey: each attempt is refused by an error of ours, or gives the right number."""

import json
import os
import pickle
import tempfile
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldp_lib import (
    GRR,
    AskSome,
    Plurality,
    RRIndependent,
    SecondPhase,
    Survey,
    fit_tree,
    recommend,
    required_budget,
    required_users,
    table_covariance,
)
from ldp_lib.survey import files, planner
from ldp_lib.survey.aggregate import Counts, aggregate
from ldp_lib.tables import dependence

DOMAIN = {"smoker": ["no", "yes"], "region": ["north", "east", "south", "west"]}
SHARES = [1 / 3, 2 / 3, 0.1, 0.2, 0.3, 0.4]
SURE = Survey(DOMAIN, 8.0)
PAIRS = Survey(DOMAIN, 8.0, recommend(k=(2, 4), epsilon=8.0, n=4_000, wants="tables").mechanism)


def people(seed=1, n=4_000):
    rng = np.random.default_rng(seed)
    laws = {"smoker": SHARES[:2], "region": SHARES[2:]}
    return pd.DataFrame({name: rng.choice(labels, n, p=laws[name]) for name, labels in DOMAIN.items()})


def given(survey=SURE, seed=1, **more):
    frame = people(seed).assign(w=2.0, group="NA")
    return survey.collect(frame, rng=np.random.default_rng(seed), **more)


SOME = Survey(DOMAIN, 8.0, AskSome(k=(2, 4), epsilon=8.0, m=1))
ASKED = given(SOME)
REPORTS, TABLES, WEIGHTED = given(), given(PAIRS), given(weights="w", keep=["group"])
BARE = files.from_frame(REPORTS, SURE.mechanism)
COUNTS = aggregate(REPORTS, SURE.mechanism)


def right(found):
    """Assert that shares are the true ones, to within five of their standard errors and those of drawing people."""
    far = np.abs(found["estimate"].to_numpy() - SHARES)
    assert (far < 5 * np.hypot(found["standard_error"], np.sqrt(0.25 / 4_000))).all()


def coded(labels, values, **roles):
    return lambda: Survey({"a": labels}, 1.0, **roles).encode(pd.DataFrame({"a": values}))


def kept(values, suffix="csv"):
    """Write reports with a column that travels along."""

    def call():
        frame = people().assign(g=values if isinstance(values, pd.Series | np.ndarray) else pd.Series(values * 2_000))
        given = SURE.collect(frame, rng=np.random.default_rng(1), keep=["g"])
        with tempfile.TemporaryDirectory() as place:
            files.write(given, Path(place) / f"a.{suffix}")

    return call


def changed(**entries):
    """Load a survey from its file after a change."""

    def call():
        with tempfile.TemporaryDirectory() as place:
            SURE.save(path := Path(place) / "survey.json")
            path.write_text(json.dumps(json.loads(path.read_text()) | entries))
            return Survey.load(path)

    return call


def collected(**options):
    return lambda: SURE.collect(people().assign(w=2.0, g=1, h=1), rng=np.random.default_rng(1), **options)


ODD = Survey({"n": [0, 1, 2]}, 8.0)
NUMBERS = ODD.collect(pd.DataFrame({"n": np.arange(3_000) % 3}), rng=np.random.default_rng(1))
SPLIT = RRIndependent(k=(2, 4), epsilon=2.0)
EVEN = np.full((2, 4), 1 / 8)
OTHER_MARGINALS = {(0, 1): np.full((2, 2), 0.25), (0, 2): np.full((2, 3), 1 / 6), (1, 2): np.full((3, 3), 1 / 9)}


def weighted(frame=WEIGHTED, **options):
    return lambda: SURE.estimate(frame, **({"weights": "w"} | options))


REFUSED = {
    "a frame twice": lambda: SURE.estimate([REPORTS, REPORTS]),
    "an array twice": lambda: aggregate([BARE, BARE], SURE.mechanism),
    "counts twice": lambda: COUNTS + COUNTS,
    "bare arrays": lambda: SURE.estimate(BARE),
    "counts of bare arrays": lambda: SURE.estimate(aggregate(BARE, SURE.mechanism)),
    "reports as texts": lambda: SURE.estimate(REPORTS.astype(str)),
    "reports as floats": lambda: SURE.estimate(REPORTS.astype(float)),
    "reports as booleans": lambda: SURE.estimate(REPORTS.astype(bool)),
    "a missing report": lambda: SURE.estimate(REPORTS.astype("Int64").where(REPORTS.index > 3)),
    "reports that wrap": lambda: SURE.estimate(REPORTS.astype(np.int64) + 2**40),
    "negative reports": lambda: SURE.estimate(REPORTS.astype(np.int64) - 1),
    "columns with each other's names": lambda: SURE.estimate(REPORTS.set_axis(REPORTS.columns[::-1], axis=1)),
    "a column twice": lambda: SURE.estimate(SURE.mark(pd.concat([REPORTS, REPORTS], axis=1))),
    "two mechanisms side by side": lambda: SURE.estimate(SURE.mark(pd.concat([REPORTS, TABLES], axis=1))),
    "two mechanisms, one below the other": lambda: SURE.estimate(pd.concat([REPORTS, TABLES])),
    "another mechanism's, vouched for": lambda: SURE.estimate(SURE.mark(TABLES)),
    "no reports": lambda: SURE.estimate(REPORTS[:0]),
    "no weighted reports": weighted(WEIGHTED[:0]),
    "a percentage": lambda: SURE.estimate(REPORTS, confidence=95),
    "a word for all at once": lambda: SURE.estimate(REPORTS, simultaneous="no"),
    "a word for projected": lambda: SURE.estimate(REPORTS, projected="no"),
    "a word for a random sample": lambda: SURE.estimate(REPORTS, sampling="yes"),
    "a design for a table": lambda: PAIRS.table("smoker", "region", TABLES, sampling="poisson"),
    "a design for a query": lambda: PAIRS.query({"smoker": "yes"}, TABLES, sampling="poisson"),
    "a difference of two surveys": lambda: SURE.difference(REPORTS, TABLES),
    "weights in a series": weighted(weights=WEIGHTED["w"]),
    "weights of which one is missing": weighted(WEIGHTED.assign(w=np.where(WEIGHTED.index > 3, 2.0, np.nan))),
    "weights in one batch only": weighted([WEIGHTED, REPORTS]),
    "reports as weights": weighted(weights="report_asked"),
    "a population of fewer than were asked": weighted(population=10),
    "an endless population": weighted(population=np.inf),
    "a population in words": weighted(population="4000"),
    "a list for joint probabilities": lambda: SURE.estimate(
        WEIGHTED[:2], weights="w", sampling=[[0.5, 0.2], [0.2, 0.5]]
    ),
    "None for a design": weighted(sampling=None),
    "labels that are equal": lambda: Survey({"a": [0, False]}, 1.0),
    "answers of another type": lambda: Survey({"a": [0, 1]}, 1.0).encode(pd.DataFrame({"a": ["1", "0"]})),
    "times without a zone": lambda: Survey(
        {"a": [pd.Timestamp("2020-01-01", tz="UTC"), pd.Timestamp("2020-01-02", tz="UTC")]}, 1.0
    ).encode(pd.DataFrame({"a": pd.to_datetime(["2020-01-01"])})),
    "counts of a wrong length": lambda: Counts(GRR(k=3, epsilon=1.0), np.array([4, 2, 2])),
    "counts that overflow": lambda: (
        Counts(GRR(k=2, epsilon=1.0), np.array([2**62] * 3)) + Counts(GRR(k=2, epsilon=1.0), np.array([2**62] * 3))
    ),
    "counts changed in place": lambda: COUNTS.counts.__setitem__(1, 0),
    "more people than are planned for": lambda: SURE.estimate(
        Counts(SURE.mechanism, COUNTS.counts * 10**12, (), COUNTS.survey)
    ),
    "a copy of a frame": lambda: SURE.estimate([REPORTS, REPORTS.copy()]),
    "a frame from a generator twice": lambda: SURE.estimate(REPORTS for _ in range(2)),
    "a part beside the whole": lambda: SURE.estimate([REPORTS, REPORTS[:500]]),
    "counts of a copy": lambda: COUNTS + aggregate(REPORTS.copy(), SURE.mechanism),
    "a difference of the same": lambda: SURE.difference(REPORTS, REPORTS),
    "a difference of a copy": lambda: SURE.difference(REPORTS, REPORTS.copy()),
    "a difference of a part": lambda: SURE.difference(REPORTS, REPORTS[:1_000]),
    "a difference of the same counts": lambda: SURE.difference(COUNTS, COUNTS),
    "a difference of a copy with weights": lambda: SURE.difference(WEIGHTED, WEIGHTED.copy(), weights="w"),
    "a difference from projected shares": lambda: SURE.difference(REPORTS, given(seed=2), projected=True),
    "an attribute asked of nobody": lambda: SURE.estimate(REPORTS[REPORTS["report_asked"] == 0]),
    "an attribute asked of nobody, with weights": weighted(WEIGHTED[WEIGHTED["report_asked"] == 0]),
    "reports chosen by their question": lambda: SURE.estimate(
        REPORTS[(REPORTS["report_asked"] == 0) | (REPORTS.index < 2_000)]
    ),
    "a table of reports chosen by their question": lambda: SOME.table(
        "smoker", "region", ASKED[(ASKED["report_asked"] != 0) | (ASKED.index < 500)]
    ),
    "weights of texts": weighted(WEIGHTED.assign(w="2")),
    "weights of booleans": weighted(WEIGHTED.assign(w=True)),
    "weights of times": weighted(WEIGHTED.assign(w=pd.Timestamp("2020-01-01"))),
    "weights of decimals": weighted(WEIGHTED.assign(w=Decimal(2))),
    "complex weights": weighted(WEIGHTED.assign(w=2 + 1j)),
    "nullable weights, one missing": weighted(WEIGHTED.assign(w=pd.array([2] * 3_999 + [None], dtype="Int64"))),
    "negative weights": weighted(WEIGHTED.assign(w=-2.0)),
    "weights below one": weighted(WEIGHTED.assign(w=0.5)),
    "weights without an end": weighted(WEIGHTED.assign(w=1e300)),
    "negative weights, before anything is collected": lambda: SURE.collect(
        people().assign(w=-1.0), rng=np.random.default_rng(1), weights="w"
    ),
    "an array for weights": collected(weights=np.ones(4_000)),
    "a text for columns to keep": collected(keep="gh"),
    "a column kept twice": collected(weights="w", keep=["w"]),
    "a column kept that is an answer": collected(keep=["smoker"]),
    "a word for shuffle": collected(shuffle="no"),
    "joint probabilities in an unknown order": lambda: SURE.estimate(
        WEIGHTED[:2], weights="w", sampling=np.array([[0.5, 0.2], [0.2, 0.5]])
    ),
    "joint probabilities of others": weighted(sampling=pd.DataFrame(np.eye(2), pd.Index(["x", "y"], name="group"))),
    "a mask for labels": lambda: ODD.query({"n": [True, False, True]}, NUMBERS),
    "a slice for labels": lambda: ODD.query({"n": slice(0, 1)}, NUMBERS),
    "a function for labels": lambda: ODD.query({"n": lambda n: n > 0}, NUMBERS),
    "a word for a projected table": lambda: PAIRS.table("smoker", "region", TABLES, projected="no"),
    "columns of contributions with one name": lambda: Survey({"a": ["b=c", "d"], "a=b": ["c", "e"]}, 1.0).contributions(
        Survey({"a": ["b=c", "d"], "a=b": ["c", "e"]}, 1.0).collect(
            pd.DataFrame({"a": ["d"] * 9, "a=b": ["c"] * 9}), rng=np.random.default_rng(1)
        )
    ),
    "bytes as labels": lambda: Survey({"a": b"ab"}, 1.0),
    "labels that differ by a space": lambda: Survey({"a": ["x", "x "]}, 1.0),
    "labels that differ by how Unicode writes them": lambda: Survey({"a": ["\u00e9", "e\u0301"]}, 1.0),
    "1.0 beside a text": lambda: Survey({"a": [1.0, "1"]}, 1.0),
    "a label for missing values that is another's": lambda: Survey(
        {"children": [0, 1, 2], "smoker": [False, True]}, 1.0, missing=0
    ).encode(pd.DataFrame({"children": [1], "smoker": [None]})),
    "a missing label that is missing": lambda: Survey(DOMAIN, 1.0, missing=pd.NA),
    "numbers where labels are texts": coded(["1", "2", "rest"], [1, 2], other="rest"),
    "floats where labels are texts": coded(["1", "2", "rest"], [1.0, 2.0], other="rest"),
    "a space at the end": coded(["yes", "no", "rest"], ["yes ", "no"], other="rest"),
    "Excel's space": coded(["yes", "no", "rest"], ["yes\u00a0", "no"], other="rest"),
    "capitals": coded(["yes", "no", "rest"], ["Yes", "no"], other="rest"),
    "Excel's TRUE": coded(["TRUE", "FALSE", "rest"], [True, False], other="rest"),
    "a missing value that became a text": coded(["yes", "no", "rest"], ["nan", "no"], other="rest"),
    "a mark of order of bytes before the first answer": coded(["yes", "no", "rest"], ["\ufeffyes", "no"], other="rest"),
    "a space of no width": coded(["yes", "no", "rest"], ["yes\u200b", "no"], other="rest"),
    "Excel's missing value": coded(["yes", "no", "rest"], ["#N/A", "no"], other="rest"),
    "SQL's missing value": coded(["yes", "no", "rest"], ["NULL", "no"], other="rest"),
    "an empty cell": coded(["yes", "no", "rest"], ["", "no"], other="rest"),
    "leading zeros that were lost": coded(["01", "02"], [1, 2]),
    "a label that became a date": coded(["1-5", "6-10"], [pd.Timestamp("2024-05-01"), "6-10"]),
    "lists as answers": coded(["x", "y"], [["x"], ["y"]]),
    "float32 beside float": coded([0.1, 0.2], np.array([0.1, 0.2], np.float32)),
    "bands closed on the other side": coded(list(pd.interval_range(0, 3)), pd.cut([0.5, 1], [0, 1, 2, 3], right=False)),
    "a number outside of all bands": coded(list(pd.interval_range(0, 3)), pd.cut([0.5, 7], [0, 1, 2, 3])),
    "days beside times": coded([date(2020, 1, 1), date(2021, 1, 1)], pd.to_datetime(["2020-01-01"])),
    "a masked array": coded([0, 1], np.ma.array([0, 1], mask=[False, True])),
    "numbers as texts in CSV": kept([1, "1"]),
    "whole numbers as objects in CSV": kept(pd.Series([1, 2] * 2_000, dtype=object)),
    "decimals in CSV": kept([Decimal("1.10"), Decimal(2)]),
    "empty texts in CSV": kept(["a", ""]),
    "missing booleans in CSV": kept(pd.Series([True, None] * 2_000, dtype=object)),
    "times in CSV": kept(pd.Series(pd.to_datetime(["2020-01-01", "2021-01-01"] * 2_000)).dt.tz_localize("UTC")),
    "ordered labels in CSV": kept(pd.Series(pd.Categorical(["u", "v"] * 2_000, categories=["v", "u"], ordered=True))),
    "a carriage return in CSV": kept(["a\rb", "c"]),
    "numbers beside texts in Parquet": kept([1, "1"], "parquet"),
    "complex numbers in Parquet": kept(np.arange(4_000) * 1j, "parquet"),
    "a survey's file without its mechanism": changed(mechanism=None),
    "a survey's file with a budget in words": changed(epsilon="8.0"),
    "a survey's file with an endless budget": changed(epsilon=float("nan")),
    "a survey's file with one label more": changed(domain={**DOMAIN, "smoker": ["no", "yes", "rarely"]}),
    "a survey's file of an older format": changed(format="ldp_lib survey 0"),
    "labels that a file cannot hold": lambda: Survey({"a": [(1, 2), (3, 4)]}, 1.0).save("never.json"),
    "a set of domain sizes": lambda: recommend(k={3, 4}, epsilon=1.0, n=100),
    "a dict of domain sizes": lambda: recommend(k={3: "a"}, epsilon=1.0, n=100),
    "a budget as text": lambda: recommend(k=(2, 3), epsilon="1", n=100),
    "an endless budget": lambda: Survey(DOMAIN, np.inf),
    "no budget": lambda: Survey(DOMAIN, 0),
    "a budget that is no number": lambda: Survey(DOMAIN, np.nan),
    "a decimal budget": lambda: Survey(DOMAIN, Decimal(1)),
    "half a person": lambda: recommend(k=(2, 3), epsilon=1.0, n=1.5),
    "users for a class": lambda: required_users(GRR, 0.1),
    "users for a survey": lambda: required_users(SURE, 0.1),
    "users for a biased mechanism": lambda: required_users(SecondPhase(k=(3, 3), epsilon=1.0, reuse=0.8), 0.1),
    "a margin in percent": lambda: required_users(SPLIT, 5),
    "True for points": lambda: required_budget(k=(2, 3), n=1_000, points=True),
    "points in words": lambda: required_budget(k=(2, 3), n=1_000, points="1"),
    "an estimate of two dimensions": lambda: planner.standard_errors(GRR(k=3, epsilon=1.0), np.eye(3), 100),
    "an estimate of another length": lambda: planner.standard_errors(GRR(k=3, epsilon=1.0), np.ones(2) / 2, 100),
    "a word for all intervals at once": lambda: planner.estimate_interval(
        GRR(k=2, epsilon=1.0), np.ones(2) / 2, 100, simultaneous="no"
    ),
    "power for no number of users": lambda: dependence.power(SPLIT, EVEN, 0, 1, n=np.nan),
    "power of a table that is none": lambda: dependence.power(SPLIT, EVEN * np.nan, 0, 1, n=100),
    "a covariance of no attributes": lambda: table_covariance(SPLIT, EVEN, n=100),
    "a covariance of one attribute twice": lambda: table_covariance(SPLIT, EVEN, 0, 0, n=100),
    "a covariance, sampled in words": lambda: table_covariance(SPLIT, EVEN, 0, 1, n=100, sampling="no"),
    "a tree from tables of different sizes": lambda: fit_tree(OTHER_MARGINALS),
    "a tree with scores that are none": lambda: fit_tree({(0, 1): EVEN}, {(0, 1): np.nan}),
    "a tree with scores of other pairs": lambda: fit_tree({(0, 1): EVEN}, {}),
    "signed records where there are none": lambda: Plurality(k=(3, 3), epsilon=1.0).perturb(
        np.array([[-1, 0]]), rng=np.random.default_rng(1)
    ),
    "a column of reports": lambda: SURE.estimate(REPORTS["report_asked"]),
    "a table of reports first": lambda: PAIRS.table(TABLES, "smoker", "region"),
    "half a made-up person": lambda: PAIRS.synthetic(2.5, TABLES, rng=np.random.default_rng(1)),
    "made-up people without a generator": lambda: PAIRS.synthetic(10, TABLES, rng=1),
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_wrong_use_is_refused(what):
    with pytest.raises((ValueError, TypeError)) as caught:
        REFUSED[what]()
    assert type(caught.value) in (ValueError, TypeError)  # not one of pandas' or Arrow's own
    assert len(str(caught.value)) > 20


def test_what_only_looks_odd_is_right():
    for frame in (
        REPORTS.astype("Int64"),
        REPORTS.astype("category"),
        REPORTS[REPORTS.columns[::-1]],
        REPORTS.sample(frac=1, random_state=1),
        pickle.loads(pickle.dumps(REPORTS)),
        SURE.mark(aggregate(BARE, SURE.mechanism)),
        (part for part in (REPORTS[:100], REPORTS[100:])),
    ):
        right(SURE.estimate(frame))
    changed = {name: list(labels) for name, labels in DOMAIN.items()}
    survey = Survey(changed, 8.0)
    changed["smoker"].reverse()
    right(survey.estimate(REPORTS))
    survey.domain["smoker"] = ("yes", "no")
    with pytest.raises(ValueError, match="labels of 'smoker'"):
        survey.estimate(REPORTS)
    for index in (people()["smoker"], pd.MultiIndex.from_arrays([range(4_000)] * 2)):
        assert np.array_equal(SURE.encode(people().set_index(index)), SURE.encode(people()))
    other = people().astype({"smoker": pd.CategoricalDtype(["yes", "no"])})
    assert np.array_equal(SURE.encode(other), SURE.encode(people()))
    zones = Survey({"a": [pd.Timestamp("2020-01-01", tz="UTC"), pd.Timestamp("2020-01-02", tz="UTC")]}, 1.0)
    assert zones.encode(pd.DataFrame({"a": pd.to_datetime(["2020-01-02 01:00+01:00"])})).tolist() == [[1]]
    assert len(PAIRS.synthetic(1e3, TABLES, rng=np.random.default_rng(1))) == 1_000
    missing = Survey({"a": ["x", "y"]}, 1.0, missing="x")
    assert missing.encode(pd.DataFrame({"a": [None, np.nan, pd.NaT, pd.NA, "y"]})).ravel().tolist() == [0, 0, 0, 0, 1]


def test_one_person_at_a_time_and_in_many_blocks(monkeypatch):
    """Devices collect for one person each; blocks of any size give one table."""
    some = Survey(DOMAIN, 8.0, AskSome(k=(2, 4), epsilon=8.0, m=2))
    collected = given(some)
    whole = some.table("smoker", "region", collected)["estimate"]
    monkeypatch.setattr("ldp_lib.survey._files.CHUNK", 500)
    parts = [collected[i : i + 100] for i in range(0, 4_000, 100)]
    assert some.table("smoker", "region", parts)["estimate"].to_numpy() == pytest.approx(whole.to_numpy())
    rng, frame = np.random.default_rng(3), people(n=400)
    alone = [PAIRS.collect(frame[i : i + 1], rng=rng) for i in range(400)]
    found = PAIRS.table("smoker", "region", alone)["estimate"].unstack()
    assert found.sum(axis=1).to_numpy() == pytest.approx(SHARES[:2], abs=5 * np.sqrt(0.3 / 400))


def folder(path):
    for i in range(3):
        files.write(given(seed=i), path / f"{i}.parquet")
    return path


def test_files_are_counted_once_or_refused(tmp_path):
    path = folder(tmp_path)
    assert aggregate(path, SURE.mechanism).n == 12_000
    files.write(files.read(path / "0.parquet"), path / "0.csv")
    with pytest.raises(ValueError, match=r"some of .* have one name and two endings"):
        SURE.estimate(path)
    for name in ("0.csv", "0.csv.json"):
        (path / name).unlink()
    (path / "0.parquet").rename(path / "_0.parquet")  # not a marker of Dask, so it is read
    assert aggregate(path, SURE.mechanism).n == 12_000
    (path / "_SUCCESS").write_text("")
    (path / "_metadata").write_text("")
    assert aggregate(path, SURE.mechanism).n == 12_000
    os.symlink(path / "1.parquet", path / "link.parquet")
    with pytest.raises(ValueError, match="must be of different reports"):
        SURE.estimate(path)
    (path / "link.parquet").unlink()
    (path.parent / "elsewhere").mkdir(exist_ok=True)
    os.symlink(path.parent / "elsewhere", path / "more")
    with pytest.raises(ValueError, match="path must end in"):
        SURE.estimate(path)
    (path / "more").unlink()
    pd.DataFrame({"note": [1, 2]}).to_parquet(path / "notes.parquet")
    with pytest.raises(ValueError, match=r"notes\.parquet"):
        SURE.estimate(path)


def test_a_manifest_that_was_changed_is_refused(tmp_path):
    path = tmp_path / "a.csv"
    files.write(WEIGHTED, path)
    assert files.read(path)["group"].tolist() == ["NA"] * 4_000
    whole = json.loads(Path(f"{path}.json").read_text(encoding="utf-8"))
    turned = whole["survey"].replace('["no", "yes"]', '["yes", "no"]')
    changes = {"survey": turned, "types": {}, "sha256": "0"}
    for name, value in changes.items():
        assert whole[name] != value
        Path(f"{path}.json").write_text(json.dumps(whole | {name: value}), encoding="utf-8")
        for survey in (SURE, Survey({**DOMAIN, "smoker": ["yes", "no"]}, 8.0)):
            with pytest.raises(ValueError, match="changed after it was written"):
                survey.estimate(path)
    Path(f"{path}.json").write_text(json.dumps(whole), encoding="utf-8")
    right(SURE.estimate(path))
    path.write_bytes(path.read_bytes() + path.read_bytes().splitlines(keepends=True)[1])
    with pytest.raises(ValueError, match="changed after it was written"):
        SURE.estimate(path)


def test_threads_neither_mix_estimates_nor_break_a_file(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: SURE.estimate(REPORTS), range(16)))
        list(pool.map(lambda seed: files.write(given(seed=seed), tmp_path / "a.parquet"), range(16)))
    assert all(one.equals(found[0]) for one in found)
    assert len(files.read(tmp_path / "a.parquet")) == 4_000
    assert [name.name for name in tmp_path.iterdir()] == ["a.parquet"]


def test_copies_and_mergers_are_noticed_however_they_are_named(tmp_path):
    path = folder(tmp_path)
    frames = [files.read(path / f"{i}.parquet") for i in range(3)]
    for name, frame in {"merged.parquet": pd.concat(frames), "same.csv": frames[1], "part.pq": frames[2][:300]}.items():
        files.write(frame, path / name)
        for call in (SURE.estimate, SURE.contributions, lambda p: aggregate(p, SURE.mechanism)):
            with pytest.raises(ValueError, match=r"the beginning of .* is in both: copied, or merged"):
                call(path)
        for made in (name, f"{name}.json"):
            (path / made).unlink(missing_ok=True)
    frames[0].to_parquet(path / "other.parquet", compression="gzip")
    with pytest.raises(ValueError, match="copied, or merged"):
        SURE.estimate(path)
    (path / "other.parquet").unlink()
    assert aggregate(path, SURE.mechanism).n == 12_000
    # What nobody can notice, as the page says: a copy in another order.
    files.write(frames[0].sample(frac=1, random_state=1), path / "other.parquet")
    assert aggregate(path, SURE.mechanism).n == 16_000


def test_reports_that_are_nearly_all_alike_are_no_copies():
    """Different people may well give the same 256 reports if hardly any of these differ."""
    sure = Survey({"a": ["x", "y"]}, 12.0)
    batches = [sure.collect(pd.DataFrame({"a": ["x"] * 300}), rng=np.random.default_rng(i)) for i in range(2)]
    assert batches[0].equals(batches[1])
    assert aggregate(batches, sure.mechanism).n == 600


def test_kept_values_come_back_as_they_were(tmp_path):
    columns = {
        "ids": pd.array([2**53 + 1, None] * 2_000, dtype="Int64"),
        "floats": np.random.default_rng(1).random(4_000),
        "texts": ["NA", "nan", "01", 'a"b,c\nd'] * 1_000,
        "bands": pd.Categorical(["u", "v"] * 2_000),
    }
    frame = people().assign(**columns)
    given = SURE.collect(frame, rng=np.random.default_rng(1), keep=[*columns])
    for suffix in ("csv", "parquet"):
        files.write(given, tmp_path / f"a.{suffix}")
        assert files.read(tmp_path / f"a.{suffix}").equals(given)
    assert sorted(given["ids"].dropna().unique()) == [2**53 + 1]


def test_times_as_an_array_are_labels_and_not_numbers():
    days = np.array(["2020-01-01", "2021-01-01"], "datetime64[ns]")
    assert Survey({"a": days}, 1.0).domain["a"] == (pd.Timestamp("2020-01-01"), pd.Timestamp("2021-01-01"))
    assert Survey({"a": days}, 1.0).encode(pd.DataFrame({"a": days[::-1]})).ravel().tolist() == [1, 0]


def test_a_budget_of_any_kind_of_number_is_one_survey():
    surveys = [Survey(DOMAIN, one) for one in (1, 1.0, np.float32(1), np.int64(1))]
    assert len({survey.description for survey in surveys}) == 1

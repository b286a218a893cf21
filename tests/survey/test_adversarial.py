"""What an adversary tried on a survey: each attempt is refused by an error of ours, or gives the right number."""

import json
import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldp_lib import GRR, AskSome, Survey, recommend
from ldp_lib.survey import files
from ldp_lib.survey.aggregate import Counts, aggregate

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


REPORTS, TABLES, WEIGHTED = given(), given(PAIRS), given(weights="w", keep=["group"])
BARE = files.from_frame(REPORTS, SURE.mechanism)
COUNTS = aggregate(REPORTS, SURE.mechanism)


def right(found):
    """Assert that shares are the true ones, to within five of their standard errors and those of drawing people."""
    far = np.abs(found["estimate"].to_numpy() - SHARES)
    assert (far < 5 * np.hypot(found["standard_error"], np.sqrt(0.25 / 4_000))).all()


def joint(matrix):
    return lambda: SURE.estimate(WEIGHTED[: len(matrix)], weights="w", sampling=np.array(matrix))


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
    "joint probabilities that differ by order": joint([[0.5, 0.1, 0.2], [0.3, 0.5, 0.2], [0.2, 0.2, 0.5]]),
    "joint probabilities above each one's own": joint([[0.5, 0.9], [0.9, 0.5]]),
    "joint probabilities that are missing": joint([[0.5, np.nan], [np.nan, 0.5]]),
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
    "a table drawn": lambda: PAIRS.plot(PAIRS.table("smoker", "region", TABLES)),
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

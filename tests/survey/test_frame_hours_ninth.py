"""Attempts of an hour on the ways of data: what came out right, or was refused, stays so."""

import collections
import io
import os
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ldp_lib import GRR, RRJoint, SubsetSelection, Survey
from ldp_lib.survey import files, secure
from ldp_lib.survey.aggregate import aggregate

SURE = Survey({"a": ["x", "y"]}, 12.0, GRR(k=2, epsilon=12.0))
IDS = [f"v{i:03}" for i in np.random.default_rng(1).permutation(200)]
FLAT, ENDS, ONES = pa.array(IDS), pa.array(np.arange(201, dtype="int32")), np.ones(200, "int32")
NESTED = {
    "lists": lambda words: pa.ListArray.from_arrays(ENDS, words),
    "views of lists": lambda words: pa.ListViewArray.from_arrays(ENDS[:-1], pa.array(ONES), words),
    "structs": lambda words: pa.StructArray.from_arrays([words], ["id"]),
    "maps": lambda words: pa.MapArray.from_arrays(ENDS, FLAT, words),
}


@pytest.mark.parametrize("words", [FLAT, FLAT.dictionary_encode()], ids=["texts", "categories"])
@pytest.mark.parametrize("nested", NESTED)
def test_what_lies_within_arrow_s_lists_does_not_travel_in_the_order_of_the_rows(nested, words):
    """Taking rows in a random order leaves buffers and categories inside as they were, also those of other rows."""
    column = NESTED[nested](words)
    people = pd.DataFrame({"a": ["x"] * 120 + ["y"] * 80, "id": pd.array(column, dtype=pd.ArrowDtype(column.type))})
    with pytest.raises((ValueError, NotImplementedError), match=r"Arrow's lists|list_view"):
        SURE.collect(people, rng=np.random.default_rng(2), keep=["id"])
    loose = people.assign(id=[str(one) for one in people["id"]])  # as texts they may travel
    told = pickle.dumps(SURE.collect(loose.iloc[:150], rng=np.random.default_rng(2), keep=["id"])).decode("latin-1")
    place = [told.find(one) for one in IDS]
    assert min(place[:150]) >= 0 > max(place[150:])
    assert abs(np.corrcoef(place[:150], np.arange(150))[0, 1]) < 0.4


def sent(rng):
    """What a process of a pool gets."""
    return pickle.loads(pickle.dumps(rng))


def test_a_pool_of_processes_gives_five_batches_one_generator_s_coins():
    """Lies agree, whatever is answered, so that errors are 2.1 times those that are told if nine in ten say yes."""
    mechanism, rng = GRR(k=2, epsilon=1.0), np.random.default_rng(9)
    p, q = mechanism.probabilities
    x = (np.random.default_rng(8).random((2, 40_000)) < 0.9).astype(int)
    lie, differ = 2 * q, 2 * 0.9 * 0.1  # the chance of a lie that is drawn among both, and of two answers that differ
    agree = 1 - differ + differ * (lie / 2 - p * q) / (p * q)
    for batches, want in (([sent(rng) for _ in x], agree), (rng.spawn(2), 0)):
        one, other = (mechanism.perturb(a, rng=b) - q - (p - q) * a for a, b in zip(x, batches, strict=True))
        assert abs(np.mean(one * other) / (p * q) - want) < 5 * (p / q + q / p) / x.shape[1] ** 0.5
    assert 2 < (1 + 4 * agree) ** 0.5 < 2.2
    one = secure.generator()
    assert (sent(one).random(5) == one.random(5)).all()


@pytest.mark.parametrize(
    ("kinds", "rows"), [((1, 1, 1, 1), 32), ((1, 1), 64), ((2, 1), 64), ((3, 1), 128), ((9, 1), 256)]
)
def test_so_many_rows_as_the_page_says_tell_a_merged_batch(kinds, rows):
    """Fewer are counted twice without a word: others could begin like them."""
    mechanism, rng = GRR(k=4, epsilon=1.0), np.random.default_rng(3)
    pattern = np.repeat(np.arange(len(kinds), dtype="uint8"), kinds)
    one, other = (rng.permuted(np.resize(pattern, rows), axis=0) for _ in "ab")
    with pytest.raises(ValueError, match="counts must be of different reports"):
        aggregate([np.concatenate([one, other]), one], mechanism)
    with pytest.raises(ValueError, match="reports must be there once"):
        aggregate(np.concatenate([one, one]), mechanism)
    assert aggregate([np.concatenate([one, other])[1:], one[1:]], mechanism).n == 3 * rows - 2


@pytest.mark.parametrize("make", [GRR, RRJoint, SubsetSelection], ids=lambda make: make.__name__)
@pytest.mark.parametrize("left", [32, 50, 96])
def test_reports_without_duplicates_are_refused_from_50_on_if_all_that_are_possible_are_left(make, left):
    """Of fewer, the number that is left says it, and nothing else."""
    mechanism = make(k=(2, left // 2) if make is RRJoint else left, epsilon=5.0)
    people = np.random.default_rng(4).integers(0, mechanism.k, (4_000, 2) if make is RRJoint else 4_000)
    reports = files.to_frame(mechanism.perturb(people, rng=np.random.default_rng(5))).drop_duplicates()
    assert len(reports) == left
    if left == 32:
        assert aggregate(reports, mechanism).n == left
        return
    with pytest.raises(ValueError, match="all differ as if duplicates were dropped"):
        aggregate(reports, mechanism)


@pytest.mark.parametrize(
    ("label", "answer"),
    [
        ("\u2714", "\u2714\ufe0e"),
        ("5'11\"", "5\u203211\u2033"),
        *(("don't", f"don{one}t") for one in "\u02b9\u02bc\uff07"),
        *(("co-op", f"co{one}op") for one in "\u2010\u2011\u2013\uff0d"),
        *(("a b", f"a{one}b") for one in "\t\u00a0\u2009\u3000"),
        ("Caf\u00e9", "cafe\u0301"),
        ("10%", "10\u202f%"),
        ("1", "\u0661"),
    ],
)
def test_what_looks_like_a_label_in_any_way_of_typing_is_not_put_to_other(label, answer):
    survey = Survey({"a": [label, "none of these", "rest"]}, 1.0, other="rest")
    assert survey.encode(pd.DataFrame({"a": [label, "tea"]})).ravel().tolist() == [0, 2]
    with pytest.raises(ValueError, match="frame must hold one of the labels"):
        survey.encode(pd.DataFrame({"a": [answer]}))


def by_stata(frame, folder):
    frame.to_stata(folder / "x.dta", write_index=False)
    return pd.read_stata(folder / "x.dta")


def by_feather(frame, folder):
    frame.to_feather(folder / "x.feather")
    return pd.read_feather(folder / "x.feather")


def by_lines(frame, _):
    return pd.read_json(io.StringIO(frame.to_json(orient="records", lines=True)), lines=True)


def by_tables(frame, _):
    return pd.read_json(io.StringIO(frame.to_json(orient="table", index=False)), orient="table")


WAYS = {
    "Stata": by_stata,
    "Feather": by_feather,
    "lines of JSON": by_lines,
    "a table of JSON": by_tables,
    "long and wide": lambda f, _: f.drop(columns="town").melt("i").pivot(index="i", columns="variable").droplevel(0, 1),
    "group by group": lambda f, _: pd.concat([part for _, part in f.groupby("town")]),
    "a register": lambda f, _: f.merge(pd.DataFrame({"town": ["S", "N"], "size": [7, 9]}), on="town"),
    "a longer register": lambda f, _: f.merge(pd.DataFrame({"i": range(200)}), on="i", how="right"),
    "filled up": lambda f, _: f.iloc[:50].combine_first(f),
    "halves of columns": lambda f, _: pd.concat([f.iloc[:, 2:], f.iloc[:, :2]], axis=1),
    "repeated counts": lambda f, _: f.value_counts([*f], sort=False).reset_index().drop(columns="count"),
    "floats": lambda f, _: f.astype({name: float for name in f if name != "town"}),
    "floats and back": lambda f, _: f.astype({name: float for name in f if name != "town"}).convert_dtypes(),
    "an index": lambda f, _: f.set_index([name for name in f if name.startswith("report")]).reset_index(),
    "turned twice": lambda f, _: f.T.T.infer_objects(),
    "numbers with a sign": lambda f, _: f.astype({name: "int32" for name in f if name != "town"}),
}


@pytest.mark.parametrize("way", WAYS)
def test_reports_on_the_ways_of_teams_tell_the_same_or_are_refused(way, tmp_path):
    survey, rng = Survey({"a": ["n", "y"], "b": [1, 2, 3]}, 60.0), np.random.default_rng(6)
    people = survey.decode((rng.random((160, 2)) ** 2 * (2, 3)).astype(int))
    people = people.assign(town=rng.choice(["N", "S"], 160), i=rng.permutation(160))
    reports = survey.collect(people, rng=rng, keep=["town", "i"])
    if way in ("floats", "a longer register", "numbers with a sign"):
        with pytest.raises((TypeError, ValueError), match="reports must"):
            survey.estimate(survey.mark(WAYS[way](reports, tmp_path).reset_index(drop=True)))
        return
    same, want = survey.estimate(survey.mark(WAYS[way](reports, tmp_path))), survey.estimate(reports)
    assert same["estimate"].tolist() == pytest.approx(want["estimate"].tolist())
    assert same["standard_error"].tolist() == pytest.approx(want["standard_error"].tolist())


CONTAINERS = {
    "a view of values": lambda frames: {name: frames[name] for name in frames}.values(),
    "a queue": lambda frames: collections.deque(frames.values()),
    "a set of paths": set,
    "what a folder scan gives": lambda frames: os.scandir(min(frames).parent),
    "lists in lists": lambda frames: [[[one] for one in frames.values()]],
    "paths and frames": lambda frames: [min(frames), *(frames[name] for name in sorted(frames)[1:])],
    "slices": lambda frames: (frames[name].iloc[i : i + 40] for name in frames for i in range(0, 120, 40)),
    "a folder and its files": lambda frames: [min(frames).parent, *frames],
    "a walk": lambda frames: os.walk(min(frames).parent),
    "two ways to a file": lambda frames: [min(frames), min(frames).parent / "." / min(frames).name],
    "pairs": lambda frames: frames.items(),
    "rows": lambda frames: frames[min(frames)].itertuples(),
    "columns": lambda frames: frames[min(frames)].items(),
}


@pytest.fixture(scope="module")
def batches(tmp_path_factory):
    """Three files of one survey, by their paths as frames."""
    folder, rng = tmp_path_factory.mktemp("batches"), np.random.default_rng(7)
    for name in ("a.parquet", "b.parquet", "c.parquet"):
        people = pd.DataFrame({"a": rng.choice(["x", "y"], 120)})
        files.write(SURE.collect(people, rng=rng), folder / name)
    return {path: files.read(path) for path in sorted(folder.iterdir())}


@pytest.mark.parametrize("kind", CONTAINERS)
def test_reports_in_any_container_are_counted_once_or_refused(kind, batches):
    held = CONTAINERS[kind](batches)
    if [*CONTAINERS].index(kind) > 6:
        with pytest.raises((TypeError, ValueError, FileNotFoundError), match=r"counts must|reports must|path must"):
            aggregate(held, SURE.mechanism, survey=SURE.description)
        return
    found = aggregate(held, SURE.mechanism, survey=SURE.description)
    assert (found.counts == SURE.mechanism.count(pd.concat(batches.values())["report"].to_numpy())).all()


def test_files_partitioned_by_their_survey_do_not_tell_it_and_are_refused_until_somebody_vouches(tmp_path):
    """Of the two surveys that are counted together then, as the page says."""
    other, rng = Survey({"a": ["y", "x"]}, 12.0, SURE.mechanism), np.random.default_rng(8)
    people = pd.DataFrame({"a": ["x"] * 90 + ["y"] * 10})
    parts = [survey.collect(people, rng=rng) for survey in (SURE, other)]
    pd.concat(parts).to_parquet(tmp_path, partition_cols=["report_survey"])
    with pytest.raises(ValueError, match="reports must say of which survey they are"):
        SURE.estimate(tmp_path)
    with pytest.raises(ValueError, match="reports must be of one survey"):
        SURE.mark(pd.read_parquet(tmp_path))
    vouched = SURE.mark(aggregate(tmp_path, SURE.mechanism))
    assert SURE.estimate(vouched)["estimate"].tolist() == pytest.approx([0.5, 0.5], abs=1e-3)

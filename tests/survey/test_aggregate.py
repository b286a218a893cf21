"""Reports counted where they lie: chunks, files and a cluster give the counts of all reports, to the last bit."""

import os
import signal
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from test_protocol import MECHANISMS

from ldp_lib import mechanism as protocol
from ldp_lib.book.sweeps import sweep
from ldp_lib.corr_rr import CorrRR
from ldp_lib.grr import GRR
from ldp_lib.sampled import AskSome, OneQuestion
from ldp_lib.splitting import SPL
from ldp_lib.survey import Survey, aggregate
from ldp_lib.survey import _files as files
from ldp_lib.survey.aggregate import Counts
from ldp_lib.unary import OUE

dd = pytest.importorskip("dask.dataframe")
COUNTABLE = [m for m in MECHANISMS if hasattr(m, "count")]
ONE = OneQuestion(k=(9, 16, 7, 2), epsilon=1.0)


def users(k, n=60):
    """Return records of n users."""
    sizes = k if isinstance(k, tuple) else (k,)
    x = np.random.default_rng(1).integers(0, sizes, (n, len(sizes)))
    return x if isinstance(k, tuple) else x[:, 0]


@pytest.fixture
def folder(tmp_path):
    """Return a folder of three Parquet files of two row groups each, and the reports that are in them."""
    y = ONE.perturb(users(ONE.k, 3_000), rng=np.random.default_rng(2))
    for i, part in enumerate(np.split(y, 3)):
        files.to_frame(part).to_parquet(tmp_path / f"{i}.parquet", row_group_size=600)
    return tmp_path, y


@pytest.mark.parametrize("mechanism", COUNTABLE, ids=repr)
def test_counts_of_parts_add_up_and_give_the_estimate_of_all(mechanism):
    y = mechanism.perturb(users(mechanism.k), rng=np.random.default_rng(3))
    found = aggregate.aggregate((y[i : i + 7] for i in range(0, 60, 7)), mechanism)
    assert found.n == 60
    assert np.array_equal(found.counts, mechanism.count(y))
    assert found.counts.dtype == np.int64
    for one, other in zip(found.estimate(), mechanism.estimate(y), strict=True):
        assert np.array_equal(one, other)


def test_most_mechanisms_can_be_counted_and_the_others_say_so():
    others = {type(m).__name__ for m in MECHANISMS} - {type(m).__name__ for m in COUNTABLE}
    assert others == {"CorrRR", "CondRR", "TwoPhaseRSRFD", "SecondPhase"}
    with pytest.raises(ValueError, match="mechanism must have reports whose counts add up; those of CorrRR"):
        aggregate.aggregate(np.zeros((3, 2), int), CorrRR(k=(2, 2), epsilon=1.0))


def test_arrays_frames_files_and_dask_give_the_same_counts(folder):
    path, y = folder
    whole = ONE.count(y)
    for form in (
        y,
        np.split(y, 5),
        files.to_frame(y),
        [files.to_frame(part) for part in np.split(y, 4)],
        path,
        [str(path / f"{i}.parquet") for i in range(3)],
        dd.from_pandas(files.to_frame(y), npartitions=7),
    ):
        assert np.array_equal(aggregate.aggregate(form, ONE).counts, whole)


def test_counts_are_saved_with_a_manifest_and_merged(folder, tmp_path_factory):
    path, y = folder
    store = tmp_path_factory.mktemp("counts") / "a.json"
    first = aggregate.aggregate(path / "0.parquet", ONE)
    first.save(store)
    back = Counts.load(store, ONE)
    rest = aggregate.aggregate([path / "1.parquet", path / "2.parquet"], ONE)
    assert (back + rest).n == 3_000
    assert np.array_equal((back + rest).counts, ONE.count(y))
    with pytest.raises(ValueError, match=r"0\.parquet sha256:\w{64}' is in both"):
        back + aggregate.aggregate(path / "0.parquet", ONE)


def test_counts_of_another_mechanism_or_budget_are_refused(tmp_path):
    counts = aggregate.aggregate(np.array([0, 1, 2]), GRR(k=3, epsilon=1.0))
    with pytest.raises(ValueError, match="counts must be of one mechanism"):
        counts + aggregate.aggregate(np.array([0, 1, 2]), GRR(k=3, epsilon=2.0))
    counts.save(tmp_path / "c.json")
    with pytest.raises(ValueError, match=r"mechanism must be GRR\(k=3, epsilon=1.0\)"):
        Counts.load(tmp_path / "c.json", GRR(k=3, epsilon=2.0))


@pytest.mark.parametrize("damage", ["", "{}", "cut", "one count less", "one report more"])
def test_a_damaged_file_of_counts_is_refused(damage, tmp_path):
    mechanism, path = GRR(k=3, epsilon=1.0), tmp_path / "c.json"
    aggregate.aggregate(np.array([0, 1, 2]), mechanism).save(path)
    text = path.read_text(encoding="utf-8")
    assert Counts.load(path, mechanism).n == 3
    changed = {"cut": text[:-9], "one count less": text.replace("1, 1, 1]", "1, 1]")}
    changed |= {"one report more": text.replace('"reports": 3', '"reports": 4')}
    assert changed.get(damage, damage) != text
    path.write_text(changed.get(damage, damage))
    with pytest.raises(ValueError, match="path must be a file of counts"):
        Counts.load(path, mechanism)


def test_a_bad_file_is_named_with_its_row_group_and_column(folder):
    path, y = folder
    frame = files.to_frame(y[::-1][:100])
    frame.drop(columns="report_asked").to_parquet(path / "a.parquet")
    with pytest.raises(ValueError, match=r"a\.parquet' lacking or in excess: \['report_asked'\]"):
        aggregate.aggregate(path, ONE)
    (path / "a.parquet").write_bytes((path / "0.parquet").read_bytes()[:-40])
    with pytest.raises(ValueError, match=r"whole Parquet files; .*a\.parquet' is not"):
        aggregate.aggregate(path, ONE)
    frame.astype(float).to_parquet(path / "a.parquet")
    with pytest.raises(TypeError, match=r"integers in column 'report_asked'; .* row group 0 of .*a\.parquet"):
        aggregate.aggregate(path, ONE)
    frame.loc[70, "report_asked"] = 4
    frame.to_parquet(path / "a.parquet", row_group_size=50)
    with pytest.raises(ValueError, match=r"0 to 3; got 4 \(in row group 1 of .*a\.parquet'\)"):
        aggregate.aggregate(path, ONE)
    (path / "empty").mkdir()
    with pytest.raises(ValueError, match="there is none"):
        aggregate.aggregate(path / "empty", ONE)
    with pytest.raises(FileNotFoundError, match=r"missing\.parquet"):
        aggregate.aggregate(path / "missing.parquet", ONE)


def test_nothing_and_what_is_no_report_are_refused():
    grr = GRR(k=3, epsilon=1.0)
    with pytest.raises(ValueError, match="at least one report; got none"):
        aggregate.aggregate([], grr)
    with pytest.raises(TypeError, match="reports must be arrays, frames or paths, or for counts Dask's; got int"):
        aggregate.aggregate(3, grr)
    with pytest.raises(ValueError, match="from 0 to 2"):
        aggregate.aggregate([np.array([0, 1]), np.array([3])], grr)
    with pytest.raises(ValueError, match="counts must be 4 possible whole numbers"):
        Counts(grr, np.array([0, 1, 2]))


@pytest.mark.parametrize("mechanism", [GRR(k=3, epsilon=1.0), SPL(k=(3, 4), epsilon=1.0)], ids=repr)
def test_reports_behind_a_mask_are_not_counted_in_silence(mechanism):
    y = np.ma.array(mechanism.perturb(users(mechanism.k, 300), rng=np.random.default_rng(1)))
    assert aggregate.aggregate(y, mechanism).n == 300
    y[:100] = np.ma.masked
    with pytest.raises(ValueError, match="reports must not have masked entries"):
        aggregate.aggregate(y, mechanism)


def test_fields_in_another_order_are_the_same_reports():
    """Of one type each, so that the bytes of one may be read as the other's."""
    mechanism = OneQuestion(k=(3, 3, 3), epsilon=1.0)
    y = mechanism.perturb(users(mechanism.k, 300), rng=np.random.default_rng(1))
    turned = y[["report", "asked"]]  # a view, whose fields are not in the order of its names
    for one in (turned, turned.copy(), y.astype([("asked", ">i4"), ("report", ">i4", (1,))])[["report", "asked"]]):
        assert np.array_equal(aggregate.aggregate(one, mechanism).counts, mechanism.count(y))
        assert files.to_frame(one)["report_asked"].tolist() == y["asked"].tolist()


def test_bits_are_counted_from_a_frame_too():
    oue = OUE(k=4, epsilon=1.0)
    y = oue.perturb(users(4), rng=np.random.default_rng(5))
    assert np.array_equal(aggregate.aggregate(files.to_frame(y), oue).counts, oue.count(y))


def slowly(frame, seconds):
    """Return the frame after some time: a partition that takes long to read."""
    time.sleep(seconds)
    return frame


def one_total(n, rng):
    """Return the total of one small survey's estimate, for a sweep."""
    mechanism = GRR(k=3, epsilon=1.0)
    return {"share": float(mechanism.estimate(mechanism.perturb(np.zeros(n, int), rng=rng))[0])}


def test_two_worker_processes_of_which_one_is_killed_give_the_same_counts_and_the_same_sweep():
    from dask.distributed import Client, LocalCluster

    y = ONE.perturb(users(ONE.k, 4_000), rng=np.random.default_rng(6))
    frame = dd.from_pandas(files.to_frame(y), npartitions=16)
    slow = frame.map_partitions(slowly, 0.15, meta=frame._meta)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, processes=True) as cluster,
        Client(cluster) as client,
    ):
        client.upload_file(__file__)
        settings = [{"n": n} for n in (10, 20, 30)]
        alone = sweep(one_total, settings, rng=np.random.default_rng(7))
        assert sweep(one_total, settings, rng=np.random.default_rng(7), executor=client.get_executor()).equals(alone)
        pids = client.run(os.getpid)
        assert len(set(pids.values())) == 2
        victim = next(iter(pids.values()))
        client.loop.call_later(0.6, lambda: os.kill(victim, signal.SIGKILL))
        found = aggregate.aggregate(slow, ONE)
        assert victim not in client.run(os.getpid).values()
    assert np.array_equal(found.counts, ONE.count(y))


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_chunks_have_their_own_coins_whatever_the_number_of_threads(mechanism, monkeypatch):
    monkeypatch.setattr(protocol, "CHUNK", 25)
    x, made = users(mechanism.k), []
    together = type(mechanism).__module__.startswith("ldp_lib.jrr") or hasattr(mechanism, "n1")
    if together or getattr(mechanism, "groups", False):
        with pytest.raises(ValueError, match="mechanism must ask each user alone"):
            protocol.perturb_in_chunks(mechanism, x, rng=np.random.default_rng(1))
        return
    for threads in (1, 3):
        made.append(protocol.perturb_in_chunks(mechanism, x, rng=np.random.default_rng(1), threads=threads))
    streams = np.random.default_rng(1).spawn(3)
    parts = [mechanism.perturb(x[25 * i : 25 * i + 25], rng=stream) for i, stream in enumerate(streams)]
    assert made[0].dtype == parts[0].dtype
    assert made[0].tobytes() == made[1].tobytes() == np.concatenate(parts).tobytes()
    again = protocol.perturb_in_chunks(mechanism, x, rng=streams[0])
    assert again.tobytes() != made[0].tobytes()  # another generator, other coins


def test_chunks_go_by_the_seed_and_not_by_the_state():
    """As the docstring warns: `perturb` goes by the state."""
    grr, x, make = GRR(k=9, epsilon=1.0), np.zeros(300, int), protocol.perturb_in_chunks
    new, moved, used = (np.random.default_rng(7) for _ in range(3))
    moved.bit_generator.advance(10**9)
    used.random(9)
    first = make(grr, x, rng=new).tolist()
    assert make(grr, x, rng=moved).tolist() == make(grr, x, rng=used).tolist() == first
    assert make(grr, x, rng=new).tolist() != first
    assert grr.perturb(x, rng=moved).tolist() != grr.perturb(x, rng=np.random.default_rng(7)).tolist()


def test_chunks_name_what_is_wrong_and_where(monkeypatch):
    monkeypatch.setattr(protocol, "CHUNK", 25)
    grr, rng = GRR(k=3, epsilon=1.0), np.random.default_rng(1)
    with pytest.raises(ValueError, match="got 3 at position 5, counted from user 50"):
        protocol.perturb_in_chunks(grr, np.where(np.arange(60) == 55, 3, 0), rng=rng, threads=2)
    with pytest.raises(ValueError, match=r"at least one integer from 0 to 2; got shape \(0,\)"):
        protocol.perturb_in_chunks(grr, np.zeros(0, int), rng=rng)
    for wrong in (0, 1.5, True, "2"):
        with pytest.raises((TypeError, ValueError), match="threads must be an integer from 1 to 1024; got"):
            protocol.perturb_in_chunks(grr, np.zeros(3, int), rng=rng, threads=wrong)


def test_counts_start_with_a_positive_number_and_may_be_one():
    grr = GRR(k=3, epsilon=1.0)
    assert Counts(grr, np.array([1, 0, 1, 0])).n == 1
    assert Counts(grr, np.array([1, 0, 1, 0]), ["a"]).parts == ("a",)
    both = Counts(grr, np.array([1, 0, 1, 0]), ("c", "b")) + Counts(grr, np.array([2, 0, 0, 2]), ("d",))
    assert (both.counts.tolist(), both.parts) == ([3, 0, 1, 2], ("c", "b", "d"))
    with pytest.raises(ValueError, match="counts must be of different reports; 'd' is in both"):
        both + Counts(grr, np.array([1, 1, 0, 0]), ("d", "e"))
    with pytest.raises(TypeError):
        both + 1
    for lacking in ("count", "estimate_counts"):
        with pytest.raises(ValueError, match="whose counts add up; those of namespace"):
            files.check_countable(SimpleNamespace(**{lacking: len}))


@pytest.mark.parametrize("text", ["[]", "3", "null", '{"mechanism": "GRR"}'])
def test_what_is_no_manifest_is_refused(text, tmp_path):
    (tmp_path / "c.json").write_text(text)
    with pytest.raises(ValueError, match=r"path must be a file of counts; .*c\.json' is none, or is damaged"):
        Counts.load(tmp_path / "c.json", GRR(k=3, epsilon=1.0))
    with pytest.raises(FileNotFoundError):
        Counts.load(tmp_path / "d.json", GRR(k=3, epsilon=1.0))


@pytest.mark.parametrize("value", [0, 1, 2])
def test_reports_that_are_all_alike_are_counted_wherever_they_lie(value, tmp_path):
    grr, y = GRR(k=3, epsilon=1.0), np.full(4, value, np.uint8)
    whole = [4, *(4 * (v == value) for v in range(3))]
    frame = files.to_frame(y)
    frame.to_parquet(tmp_path / "a.parquet", row_group_size=3)
    frame[:0].to_parquet(tmp_path / "b.parquet")
    for form in (y, frame, [frame[:0], frame], tmp_path, dd.from_pandas(frame, npartitions=1)):
        found = aggregate.aggregate(form, grr)
        assert found.counts.tolist() == whole
        assert found.parts == (
            (f"a.parquet{aggregate.MARK}{files.digest(tmp_path / 'a.parquet')}",) if form is tmp_path else ()
        )
    for nothing in (frame[:0], tmp_path / "b.parquet", [], dd.from_pandas(frame[:0], npartitions=1)):
        with pytest.raises(ValueError, match="reports must hold at least one report; got none"):
            aggregate.aggregate(nothing, grr)


def test_the_first_column_that_is_missing_is_named(tmp_path):
    spl = SPL(k=(2, 3), epsilon=1.0)
    pd.DataFrame({"other": [1, 2]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(
        ValueError,
        match=r"must have the columns \['report_0', 'report_1'\]; of .*a\.parquet' lacking or in excess: .*_0'",
    ):
        aggregate.aggregate(tmp_path, spl)


def test_a_page_that_is_damaged_is_named_with_its_row_group(tmp_path):
    path = tmp_path / "a.parquet"
    frame = files.to_frame(np.arange(3_000, dtype=np.uint8) % 3)
    frame.to_parquet(path, row_group_size=1_500, compression=None, use_dictionary=False)
    whole = bytearray(path.read_bytes())
    whole[4:20] = b"\xff" * 16
    path.write_bytes(whole)
    with pytest.raises(ValueError, match=r"\(in row group 0 of .*a\.parquet'\)$"):
        aggregate.aggregate(path, GRR(k=3, epsilon=1.0))


class Echo:
    """Reports are the values themselves, and a coin."""

    k, independent, dtype = 7, True, np.dtype((np.int64, (2,)))

    def perturb(self, x, *, rng):
        if (np.asarray(x) == 6).any():
            raise TypeError("no sixes")
        return np.column_stack([x, rng.integers(2**62, size=len(x))])


def test_a_chunk_is_two_to_the_20_users():
    x = np.zeros(2**20 + 2, np.int64)
    x[-1] = 1
    y = protocol.perturb_in_chunks(Echo(), x, rng=np.random.default_rng(1), threads=2)
    streams = np.random.default_rng(1).spawn(2)
    assert y[[0, 2**20 - 1], 1].tolist() == streams[0].integers(2**62, size=2**20)[[0, -1]].tolist()
    assert y[2**20 :].tolist() == np.column_stack([[0, 1], streams[1].integers(2**62, size=2)]).tolist()


@pytest.mark.parametrize("threads", [1, 2])
def test_errors_of_every_chunk_say_where_it_starts(threads, monkeypatch):
    monkeypatch.setattr(protocol, "CHUNK", 2)
    with pytest.raises(TypeError, match="no sixes, counted from user 4"):
        protocol.perturb_in_chunks(Echo(), [0, 1, 2, 3, 4, 6, 5], rng=np.random.default_rng(1), threads=threads)
    assert protocol.perturb_in_chunks(Echo(), [5], rng=np.random.default_rng(1)).shape == (1, 2)


def surveys_in_two_orders():
    """Two surveys of one mechanism, their labels in two orders, and reports of each."""
    ours, theirs = Survey({"a": ["x", "y"]}, 2.0), Survey({"a": ["y", "x"]}, 2.0)
    rng = np.random.default_rng(1)
    people = pd.DataFrame({"a": rng.choice(["x", "y"], 600, p=[0.2, 0.8])})
    return ours, ours.collect(people, rng=rng), theirs.collect(people, rng=rng)


def test_counts_know_of_which_survey_their_rows_are(tmp_path):
    """Marked, those of another one would be read with its labels in the wrong order, and 0.2 be 0.8."""
    ours, mine, other = surveys_in_two_orders()
    bare, own = (pd.DataFrame(dict(frame)) for frame in (other, mine))
    counts = aggregate.aggregate(bare, ours.mechanism)
    counts.save(tmp_path / "c.json")
    for wrong in (counts, Counts.load(tmp_path / "c.json", ours.mechanism), aggregate.aggregate(other, ours.mechanism)):
        with pytest.raises(ValueError, match="must be of this survey"):
            ours.mark(wrong)
    with pytest.raises(ValueError, match="must say of which survey"):
        counts + aggregate.aggregate(own, ours.mechanism)
    good = ours.mark(aggregate.aggregate(own, ours.mechanism))
    assert ours.estimate(good).equals(ours.estimate(mine))
    without = aggregate.aggregate(bare.drop(columns="report_survey"), ours.mechanism)
    assert ours.mark(without).survey == ours.description  # who vouches is believed where rows say nothing


@pytest.mark.parametrize("told", ["x", "[]", 3])
def test_a_description_that_is_none_is_refused_by_name(told, tmp_path):
    ours, mine, _ = surveys_in_two_orders()
    mine.to_parquet(tmp_path / "a.parquet")
    for reports, what in (mine, "the data frame"), (tmp_path, ".*a.parquet'"):
        with pytest.raises(ValueError, match=f"must say of which survey they are, and not all do: {what};"):
            aggregate.aggregate(reports, ours.mechanism, survey=told)


def test_a_parquet_file_whose_attributes_are_damaged_is_named(tmp_path):
    ours, mine, _ = surveys_in_two_orders()
    table = pyarrow.Table.from_pandas(mine).replace_schema_metadata({b"PANDAS_ATTRS": b"{"})
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    for act in (lambda: aggregate.aggregate(tmp_path, ours.mechanism), lambda: ours.estimate(tmp_path)):
        with pytest.raises(ValueError, match=r"must be whole Parquet files; .*a.parquet' is not"):
            act()


@pytest.mark.parametrize("kind", ["category", "Int64", "uint32[pyarrow]", "float64", object])
def test_rows_tell_their_survey_in_any_type(kind):
    pytest.importorskip("pyarrow")
    ours, mine, other = surveys_in_two_orders()
    whole = ours.estimate(mine)
    assert ours.estimate(mine.astype({"report_survey": kind})).equals(whole)
    both = pd.concat([mine, other]).astype({"report_survey": kind})
    with pytest.raises(ValueError, match="must be of one survey"):
        aggregate.aggregate(both, ours.mechanism)


def test_rows_of_two_surveys_are_not_counted_together(tmp_path):
    parquet, arrow = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    ours, mine, other = surveys_in_two_orders()
    for name, frame in (("a", mine), ("b", other)):
        bare = arrow.Table.from_pandas(frame, preserve_index=False).replace_schema_metadata(None)
        parquet.write_table(bare, tmp_path / f"{name}.parquet")
    bare = [pd.DataFrame(dict(frame)) for frame in (mine, other)]
    for both in (tmp_path, bare, pd.concat(bare), dd.concat([dd.from_pandas(one, npartitions=2) for one in bare])):
        with pytest.raises(ValueError, match="must be of one survey"):
            aggregate.aggregate(both, ours.mechanism)
    alone = aggregate.aggregate(dd.from_pandas(bare[1], npartitions=2), ours.mechanism)
    with pytest.raises(ValueError, match="must be of this survey"):
        ours.mark(alone)


def test_partitions_of_two_surveys_are_not_counted_together():
    """They say of which, each its own: the last one's labels were given to all."""
    ours, *given = surveys_in_two_orders()
    both = dd.concat([dd.from_pandas(one, npartitions=2) for one in given])
    with pytest.raises(ValueError, match="must be of one survey"):
        aggregate.aggregate(both, ours.mechanism)


def test_rows_that_tell_of_no_survey_are_not_counted_beside_those_that_do():
    """They may be another one's: who then vouches for the counts vouches for what nobody told of."""
    ours, mine, other = surveys_in_two_orders()
    bare = pd.DataFrame(dict(other)).drop(columns="report_survey")
    own = pd.DataFrame(dict(mine))
    for a, b in ((own, bare), (bare, own)):
        for both in ([a, b], pd.concat([a, b]), dd.concat([dd.from_pandas(one, npartitions=2) for one in (a, b)])):
            with pytest.raises(ValueError, match="must be of one survey"):
                aggregate.aggregate(both, ours.mechanism)
    alone = pd.concat([bare[:300], bare[300:].assign(report_survey=np.nan)])  # rows of no survey, with their column
    for nobody in (alone, [bare[:0], alone], dd.from_pandas(alone, npartitions=2)):
        assert aggregate.aggregate(nobody, ours.mechanism).survey is None
    for some in ([bare[:0], own], dd.concat([dd.from_pandas(one, npartitions=1) for one in (bare[:0], own)])):
        assert ours.mark(aggregate.aggregate(some, ours.mechanism)).n == 600


def test_counts_of_a_dask_frame_are_added_once(tmp_path):
    ours, mine, _ = surveys_in_two_orders()
    counts = ours.mark(aggregate.aggregate(dd.from_pandas(mine, npartitions=3), ours.mechanism))
    counts.save(tmp_path / "c.json")
    loaded = Counts.load(tmp_path / "c.json", ours.mechanism)
    for again in (loaded, aggregate.aggregate(mine, ours.mechanism)):
        with pytest.raises(ValueError, match="must be of different reports"):
            counts + again
    with pytest.raises(ValueError, match="must be of different reports"):
        ours.difference(counts, loaded)
    twice = dd.concat([dd.from_pandas(mine, npartitions=2)] * 2)
    with pytest.raises(ValueError, match="must be of different reports"):
        aggregate.aggregate(twice, ours.mechanism)
    assert counts.counts.tolist() == aggregate.aggregate(mine, ours.mechanism).counts.tolist()


def test_reports_that_are_in_a_file_twice_are_refused_whatever_its_row_groups(tmp_path):
    """Other writers begin a row group where they like; a copy may begin in any, and across two."""
    mechanism, rng = OneQuestion(k=(2, 3), epsilon=1.0), np.random.default_rng(1)
    some, others = (files.to_frame(mechanism.perturb(rng.integers(0, (2, 3), (3_000, 2)), rng=rng)) for _ in range(2))
    path, twice = tmp_path / "a.parquet", pd.concat([some, some], ignore_index=True)
    for size in (100, 500, 2_000, 2_990, 3_000, 6_000):
        twice.to_parquet(path, index=False, row_group_size=size)
        with pytest.raises(ValueError, match="is in it twice"):
            aggregate.aggregate(path, mechanism)
        pd.concat([some, others]).to_parquet(path, index=False, row_group_size=size)
        counts = aggregate.aggregate(path, mechanism)
        assert counts.n == 6_000
        with pytest.raises(ValueError, match="copied, or merged"):
            counts + aggregate.aggregate(some, mechanism)


@pytest.mark.parametrize("n", [300, 430])
def test_people_of_whom_no_two_are_asked_the_same_need_not_agree(n):
    """Dealt in groups, fewer people than questions differ for sure; those who draw theirs alone would not."""
    mechanism, rng = (
        AskSome(k=(2,) * 30, epsilon=3.0, m=2, sizes=(1,) * 30, weights=(1,) * 435),
        np.random.default_rng(1),
    )
    y = mechanism.perturb(rng.integers(0, 2, (n, 30)), rng=rng)
    assert len(np.unique(y)) == aggregate.aggregate(y, mechanism).n == n
    more = mechanism.perturb(rng.integers(0, 2, (10 * n, 30)), rng=rng)
    with pytest.raises(ValueError, match="as if duplicates were dropped"):
        aggregate.aggregate(rng.permutation(np.unique(more)), mechanism)

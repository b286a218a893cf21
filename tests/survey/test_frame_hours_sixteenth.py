"""An hour of trying on data engineers' ways: lakes, flags, seeds of lists, capitals, ids beyond what a float holds."""

import contextlib
import enum
import io

import numpy as np
import pandas as pd
import pytest

from ldp_lib import GRR, OLH, OUE, OneQuestion, Population, RRJoint, Survey
from ldp_lib.survey import _files, files
from ldp_lib.survey._intervals import listed
from ldp_lib.survey.planner import standard_errors
from ldp_lib.tables import raking

SURE = GRR(k=2, epsilon=40.0)  # its reports are the answers
OURS, THEIRS = (Survey({"a": labels}, 40.0, SURE) for labels in (["x", "y"], ["y", "x"]))


def two_files(folder):
    """Return the paths of two files of reports, one of each survey; of a hundred people 95 say x to each."""
    rng, paths = np.random.default_rng(1), [folder / "a.parquet", folder / "b.parquet"]
    for survey, path in zip((OURS, THEIRS), paths, strict=True):
        answers = pd.DataFrame({"a": rng.permutation(["x"] * 90 + [*"xy"] * 5), "g": np.arange(100) % 2})
        files.write(survey.collect(answers, rng=rng, keep=["g"]), path)
    return paths


REWRITTEN = {
    "partitioned by survey": {"partitioning": ["report_survey"], "partitioning_flavor": "hive"},
    "partitioned by group": {"partitioning": ["g"], "partitioning_flavor": "hive"},
    "in small files": {"max_rows_per_file": 70, "max_rows_per_group": 70},
}


@pytest.mark.parametrize("way", REWRITTEN)
def test_a_lake_of_two_surveys_is_refused_though_arrow_says_that_all_are_of_the_first(way, tmp_path):
    """Partitioned by survey its rows had no number, and shares of 0.95 were 0.5, or 0.05 in the other one's folder."""
    dataset = pytest.importorskip("pyarrow.dataset")
    paths = two_files(tmp_path)
    assert OURS.estimate(paths[0])["estimate"][0] == pytest.approx(0.95)
    dataset.write_dataset(dataset.dataset(paths), tmp_path / "lake", format="parquet", **REWRITTEN[way])
    for place in (tmp_path / "lake", *(tmp_path / "lake").rglob("*.parquet")):
        found = []
        for survey in (OURS, THEIRS):
            for act in (survey.estimate, survey.contributions):
                with contextlib.suppress(ValueError):
                    found.append((survey is OURS, act(place)))
        for ours, one in found:  # of small files some hold one survey only
            share = one["estimate"][0] if "estimate" in one else one["a=x"].mean()
            assert ours
            assert share > 0.85


def test_reports_without_their_numbers_are_refused_until_somebody_vouches(tmp_path):
    dataset, parquet = pytest.importorskip("pyarrow.dataset"), pytest.importorskip("pyarrow.parquet")
    paths = two_files(tmp_path)
    some = dataset.dataset(paths).to_table(columns=["report", "g"])
    parquet.write_table(some, tmp_path / "c.parquet")
    frame = some.to_pandas()
    assert _files.description(frame) == OURS.description
    for form in (frame, tmp_path / "c.parquet", [frame[:50], frame[50:]]):
        for act in (OURS.estimate, OURS.contributions, THEIRS.estimate):
            with pytest.raises(ValueError, match="reports must be of"):
                act(form)
    alone = files.read(paths[0])
    with pytest.raises(ValueError, match="of another one than it says, or none"):
        OURS.estimate(alone.drop(columns="report_survey"))
    assert OURS.estimate(OURS.mark(alone.drop(columns="report_survey"))).equals(OURS.estimate(alone))


class Drinks(enum.IntFlag):
    TEA = 1
    COFFEE = 2


def test_a_flag_of_two_is_one_label_and_not_the_two_that_it_is_made_of():
    """The share of those who drink one only was given for that of those who drink both."""
    both, mechanism = Drinks.TEA | Drinks.COFFEE, RRJoint(k=(3, 2), epsilon=40.0)
    survey = Survey({"drinks": [Drinks.TEA, Drinks.COFFEE, both], "b": [0, 1]}, 40.0, mechanism)
    people = pd.DataFrame({"drinks": [Drinks.TEA] * 10 + [Drinks.COFFEE] * 20 + [both] * 70, "b": [0, 1] * 50})
    reports = survey.collect(people, rng=np.random.default_rng(1))
    assert survey.query({"drinks": both}, reports).estimate == pytest.approx(0.7)
    assert survey.query({"drinks": list(both)}, reports).estimate == pytest.approx(0.3)
    assert survey.query({"b": 1}, reports, given={"drinks": both}).estimate == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("label", "answer"), [("hayır", "HAYIR"), ("Hayır", "hayir"), ("iyi", "İYİ"), ("iyi", "İyi"), ("kırk", "KIRK")]
)
def test_turkish_capitals_are_not_put_to_other(label, answer):
    survey = Survey({"a": [label, "evet", "diğer"]}, 1.0, other="diğer")
    with pytest.raises(ValueError, match="It reads like"):
        survey.encode(pd.DataFrame({"a": ["evet", answer]}))
    assert survey.encode(pd.DataFrame({"a": [label, "belki"]})).ravel().tolist() == [0, 2]


@pytest.mark.parametrize(
    ("label", "answer"),
    [("όχι", "ΟΧΙ"), ("葛飾", "葛\U000e0100飾"), ("5%", 0.05), ("1-5", pd.Timestamp("2024-05-01"))],
)
def test_what_is_written_in_another_way_goes_to_other_as_the_page_says(label, answer):
    survey = Survey({"a": [label, "b", "rest"]}, 1.0, other="rest")
    assert survey.encode(pd.DataFrame({"a": [answer, label]})).ravel().tolist() == [2, 0]


def test_a_zero_at_the_end_makes_no_other_seed():
    """As the page says: the first of seeds [42, i] is 42, with which the order of people may have been drawn."""
    first, plain, second = (np.random.default_rng(seed).random() for seed in ([42, 0], 42, [42, 1]))
    assert first == plain
    assert first != second


@pytest.mark.parametrize(
    ("kinds", "ids"),
    [(["int64", "uint64"], 1), (["int64", "Int64"], 40), (["uint64", "uint64"], 40), ([str, str], 40)],
    ids=str,
)
def test_ids_beyond_what_a_float_holds_become_equal_beside_unsigned_ones_and_as_texts_do_not(kinds, ids):
    batches = []
    for i, kind in enumerate(kinds):
        numbers = pd.Series(np.arange(40) // 2 + 20 * i + 2**60).astype(kind)
        people = pd.DataFrame({"a": ["x", "y"] * 20, "id": numbers})
        batches.append(OURS.collect(people, rng=np.random.default_rng(i), keep=["id"]))
    assert OURS.contributions(batches)["id"].nunique() == ids


RNG = np.random.default_rng
PAIR = Survey({"a": ["x", "y"], "b": [0, 1, 2]}, 40.0, RRJoint(k=(2, 3), epsilon=40.0))


def grouped(n, seed):
    """Return people whose group depends on an answer."""
    rng = RNG(seed)
    a = rng.random(n) < 0.3
    group = np.where(rng.random(n) < 0.3 + 0.4 * a, "p", "q")
    return pd.DataFrame({"a": np.where(a, "y", "x"), "b": rng.integers(0, 3, n), "g": group, "w": 1.0 + a})


KINDS = {
    "categories in two orders": (lambda g: pd.Categorical(g, [*"pq"]), lambda g: pd.Categorical(g, [*"qp"])),
    "orders that differ": (
        lambda g: pd.Categorical(g, [*"pq"], ordered=True),
        lambda g: pd.Categorical(g, [*"qp"], ordered=True),
    ),
    "categories and texts": (lambda g: pd.Categorical(g, [*"pqz"]), lambda g: g),
    "texts of two types": (lambda g: g.astype("string"), lambda g: g.astype(object)),
    "booleans and numbers": (lambda g: g == "q", lambda g: (g == "q").astype("int8")),
    "booleans with gaps": (lambda g: g == "q", lambda g: (g == "q").astype("boolean")),
    "times in two units": (
        lambda g: pd.to_datetime(np.where(g == "p", "2020", "2021")).as_unit("s"),
        lambda g: pd.to_datetime(np.where(g == "p", "2020", "2021")).as_unit("ns"),
    ),
}


@pytest.mark.parametrize("kinds", KINDS)
def test_groups_of_two_batches_are_one_whatever_the_types_of_their_columns(kinds):
    every = [grouped(200, 1), grouped(150, 2)]
    batches = [
        PAIR.collect(people.assign(g=make(people["g"])), rng=RNG(i), keep=["g"], weights="w")
        for i, (people, make) in enumerate(zip(every, KINDS[kinds], strict=True))
    ]
    found = PAIR.contributions(batches).groupby("g", observed=True)["a=y"].agg(["mean", "size"])
    wanted = pd.concat(every).groupby("g")["a"].agg([lambda a: a.eq("y").mean(), "size"])
    assert found.to_numpy(float) == pytest.approx(wanted.to_numpy(), abs=1e-9)


INDEXES = {
    "one entry": [0] * 200,
    "two levels": pd.MultiIndex.from_arrays([["a"] * 200, [1] * 200]),
    "nothing": [np.nan] * 200,
    "categories": pd.CategoricalIndex(["u", "v"] * 100),
    "bands": pd.IntervalIndex.from_tuples([(0, 1)] * 200),
    "gaps": pd.Index([1, None] * 100, dtype="Int64"),
}


@pytest.mark.parametrize("index", INDEXES)
def test_an_index_of_any_kind_with_entries_twice_moves_no_row(index):
    given = PAIR.collect(grouped(200, 3), rng=RNG(4), keep=["g"], weights="w")
    frame = given.set_axis(INDEXES[index])
    assert PAIR.estimate(frame, weights="w").equals(PAIR.estimate(given, weights="w"))
    assert PAIR.mark(pd.DataFrame(dict(frame))).equals(frame)
    means = [PAIR.contributions(one).groupby("g").mean() for one in (given, frame)]
    assert means[0].equals(means[1])
    other = frame.assign(report_survey=given["report_survey"].to_numpy() + (np.arange(200) == 77))
    with pytest.raises(ValueError, match="must be of one survey"):
        PAIR.estimate(other)


@pytest.mark.parametrize("bits", [np.random.MT19937, np.random.Philox, np.random.SFC64, np.random.PCG64DXSM])
def test_generators_of_any_bits_give_reports_of_one_law(bits):
    """MT19937 has words of 32 bits only."""
    rng, n = np.random.Generator(bits(1)), 20_000
    for mechanism in (*(family(k=5, epsilon=1.0) for family in (GRR, OUE, OLH)), OneQuestion(k=(5, 3), epsilon=1.0)):
        sizes = np.atleast_1d(mechanism.k)
        x = np.minimum(np.arange(n)[:, None] * (sizes + 2) // n, sizes - 1)
        found = mechanism.estimate(mechanism.perturb(x.squeeze(), rng=rng))
        for one, error, column, size in zip(
            listed(found), listed(standard_errors(mechanism, found, n)), x.T, sizes, strict=True
        ):
            assert (abs(one - np.bincount(column, minlength=size) / n) < 5 * error).all()


@pytest.mark.parametrize("seed", [6, 10])
def test_no_program_of_arrow_and_pandas_counts_a_row_of_another_survey(seed, tmp_path):
    """Batches of two surveys, put together, cut, stripped of numbers or given another file's metadata."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    rng, right = RNG(seed), 0
    for turn in range(8):
        (path := tmp_path / str(turn)).mkdir()
        tables, origin = [], {}
        for i in range(3):
            survey, ids = (OURS, THEIRS)[int(rng.random() < 0.5 * (turn % 2))], np.arange(70) + 70 * i
            people = pd.DataFrame({"a": rng.choice([*"xy"], 70, p=[0.8, 0.2]), "id": ids})
            origin |= {one: (survey is OURS, a) for one, a in zip(ids.tolist(), people["a"], strict=True)}
            reports = survey.collect(people, rng=rng, keep=["id"])
            tables.append(arrow.Table.from_pandas(reports, preserve_index=False))
        for act in rng.choice(["strip", "swap", "join", "cut", "pandas"], 2):
            one, *rest = (tables[i] for i in rng.permutation(len(tables)))
            if act == "strip":
                one, *rest = (
                    table.select([name for name in table.column_names if "sur" not in name]) for table in tables
                )
            elif act == "swap" and rest:
                one = one.replace_schema_metadata(rest[0].schema.metadata)
            elif act == "join" and rest:
                one = arrow.concat_tables([one, rest.pop()], promote_options="default")
            elif act == "cut":
                rest.append(one.slice(len(one) // 2))
                one = one.slice(0, len(one) // 2)
            elif act == "pandas":
                one = arrow.Table.from_pandas(one.to_pandas().sample(frac=1, random_state=turn), preserve_index=False)
            tables = [one, *rest]
        for i, table in enumerate(tables):
            parquet.write_table(table, path / f"{i}.parquet")
        told = [origin[one] for table in tables for one in table["id"].to_pylist()]
        for place in (path, [table.to_pandas() for table in tables]):
            with contextlib.suppress(ValueError):
                share = OURS.estimate(place)["estimate"][1]
                assert all(ours for ours, _ in told)
                assert share == pytest.approx(np.mean([a == "y" for _, a in told]))
                right += 1
    assert right >= 1


def test_counts_in_a_series_are_read_by_their_places_as_the_docstring_says():
    values = pd.Series([1, 1, 1, 0, 2, 2])
    truth = Population.from_records(values.to_numpy(), k=4)
    counts = values.value_counts()
    assert Population.from_counts(counts.reindex(range(4), fill_value=0)) == truth
    assert Population.from_counts(counts).histogram.tolist() == [3, 2, 1]
    places, sorted_by_value = raking.rake(values.to_numpy()[:, None], [counts / 6]).weights, counts.sort_index() / 6
    assert places[3] == pytest.approx(0.5)
    assert raking.rake(values.to_numpy()[:, None], [sorted_by_value]).weights == pytest.approx(np.full(6, 1 / 6))


def test_numbers_in_a_frame_are_decoded_by_their_places_as_the_docstring_says():
    survey = Survey({"a": ["x", "y"], "b": ["p", "q"]}, 1.0)
    turned = pd.DataFrame({"b": [1, 1], "a": [0, 1]})
    assert survey.decode(turned[[*survey.domain]]).to_numpy().tolist() == [["x", "q"], ["y", "q"]]
    assert survey.decode(turned).to_numpy().tolist() == [["y", "p"], ["y", "q"]]


def test_contributions_of_one_frame_keep_its_index_and_those_of_several_have_their_own():
    """As the docstring says: joined by it, those of several are other people's."""
    given = PAIR.collect(grouped(200, 5), rng=RNG(6), keep=["g"]).sort_values("report_0")
    for parts, right in (([given], True), ([given[:90], given[90:]], False)):
        z = PAIR.contributions(parts)
        joined = z.join(given["report_0"]).groupby("report_0")["a=y"].mean().to_numpy()
        assert z.index.equals(given.index) == right
        assert (joined == pytest.approx([0, 1], abs=1e-6)) == right
        assert z["a=y"].to_numpy() == pytest.approx(given["report_0"].to_numpy(), abs=1e-6)


FORMATS = {
    "a pickle": lambda frame, path: (frame.to_pickle(path), pd.read_pickle(path))[1],
    "Feather": lambda frame, path: (frame.to_feather(path), pd.read_feather(path))[1],
    "ORC": lambda frame, path: (frame.astype("int64").to_orc(path), pd.read_orc(path))[1],
    "JSON": lambda frame, _: pd.read_json(io.StringIO(frame.to_json(orient="table")), orient="table"),
    "Stata": lambda frame, path: (frame.astype("int64").to_stata(path, write_index=False), pd.read_stata(path))[1],
    "columns of a width": lambda frame, _: pd.read_fwf(io.StringIO(frame.to_string(index=False))),
    "long and wide": lambda frame, _: frame.stack().unstack(),
    "32-bit numbers": lambda frame, _: frame.astype("f4").astype("int64"),
    "32-bit whole numbers": lambda frame, _: frame.astype("i4"),
}


@pytest.mark.parametrize("name", FORMATS)
def test_reports_by_any_format_tell_the_same_or_are_refused_and_those_of_two_surveys_always(name, tmp_path):
    pytest.importorskip("pyarrow")
    mine, other = (
        survey.collect(pd.DataFrame({"a": ["x"] * 50 + ["y"] * 10}), rng=RNG(i))
        for i, survey in enumerate((OURS, THEIRS))
    )
    both = pd.concat([mine, other], ignore_index=True).__finalize__(mine)
    for act in (OURS.estimate, lambda frame: OURS.estimate(OURS.mark(frame))):
        with contextlib.suppress(ValueError):
            assert act(FORMATS[name](mine, tmp_path / "a"))["estimate"].tolist() == pytest.approx([5 / 6, 1 / 6])
        with pytest.raises(ValueError, match="reports must"):
            act(FORMATS[name](both, tmp_path / "a"))

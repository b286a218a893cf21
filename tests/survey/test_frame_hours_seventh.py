"""Attempts of an hour, from the data frame to the counts: what came out right, or was refused, stays so."""

import io
import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ldp_lib import (
    GRR,
    OLH,
    AskSome,
    OneQuestion,
    Population,
    RRClusters,
    RRIndependent,
    RRJoint,
    SubsetSelection,
    Survey,
)
from ldp_lib.survey import files
from ldp_lib.survey.aggregate import Counts, aggregate

SURE = Survey({"a": ["x", "y"]}, 12.0, GRR(k=2, epsilon=12.0))
IDS = [f"v{i}" for i in np.random.default_rng(1).permutation(200)]
KINDS = {
    "categories": pd.Categorical(IDS, IDS),
    "more of them than people": pd.Categorical(IDS, [*IDS, "z", "y"]),
    "some missing": pd.Categorical([None, *IDS[1:]], IDS[1:]),
    "of two types": pd.Categorical([7, *IDS[1:]], [7, *IDS[1:]]),
    "of numbers": pd.Categorical([int(one[1:]) for one in IDS], [int(one[1:]) for one in IDS]),
    "Arrow's": pd.array(pa.array(IDS).dictionary_encode(), dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string()))),
}


@pytest.mark.parametrize("kind", KINDS)
def test_categories_in_the_order_of_the_rows_do_not_travel(kind):
    """Of a frame that is sorted by an answer they would tell it, however the reports are shuffled."""
    people = pd.DataFrame({"a": ["x"] * 120 + ["y"] * 80, "id": KINDS[kind]})
    kept = SURE.collect(people, rng=np.random.default_rng(2), keep=["id"])["id"]
    order = kept.cat.categories.tolist()
    first = pd.Series(people["id"].tolist()).dropna().tolist()
    assert np.mean([a == b for a, b in zip(order, first, strict=False)]) < 0.1
    assert sorted(kept.dropna(), key=str) == sorted(first, key=str)


@pytest.mark.parametrize("labels", [["b", "a"], ["ordered=0", "a"], ["ordered=False", "a"]])
def test_an_order_that_is_declared_travels(labels):
    people = pd.DataFrame({"a": ["x", "y"], "id": pd.Categorical(labels, labels, ordered=True)})
    kept = SURE.collect(people, rng=np.random.default_rng(2), keep=["id"])["id"]
    assert kept.dtype == people["id"].dtype
    same = SURE.collect(people, rng=np.random.default_rng(2), keep=["id"], shuffle=False)["id"]
    assert same.tolist() == labels


def test_frames_in_a_dictionary_are_not_the_files_that_its_keys_name(tmp_path):
    people = pd.DataFrame({"a": ["x", "y"] * 40, "wave": [0, 1] * 40})
    files.write(SURE.collect(people, rng=np.random.default_rng(2), keep=["wave"]), tmp_path / "a.parquet")
    first = {path: frame[frame["wave"] == 0] for path in tmp_path.iterdir() for frame in [files.read(path)]}
    assert SURE.estimate(first.values())["estimate"].tolist() == pytest.approx([1, 0], abs=1e-4)
    for one in (first, {str(path): frame for path, frame in first.items()}):
        for act in (SURE.estimate, SURE.contributions):
            with pytest.raises(
                TypeError, match="reports must be arrays, frames or paths, or for counts Dask's; got dict"
            ):
                act(one)


@pytest.mark.parametrize("shares", [[[20, 80]], [[0.4, 0.3, 0.2]], [[0.5, 0.7]], [[0.5, 0.5], [0.5, -0.1, 0.6]]])
def test_shares_that_do_not_sum_to_1_make_no_population(shares):
    """Percent or a raw estimate gave other numbers of people, or other shares."""
    with pytest.raises(ValueError, match="shares must be at least 0 and sum to 1"):
        Population.from_shares([np.array(part) for part in shares], 100)
    even = Population.from_shares([np.array([0.25, 0.75]), np.full(3, 1 / 3)], 100)
    assert even.n == 100
    assert [part.tolist() for part in even.frequencies] == [[0.25, 0.75], [0.34, 0.33, 0.33]]


OWN = {
    "independent": lambda own: RRIndependent(k=(2, 3, 2), channels=own),
    "clusters": lambda own: RRClusters(k=(2, 3, 2), clusters=((0, 2), (1,)), epsilons=own),
}


@pytest.mark.parametrize("make", OWN.values(), ids=OWN)
def test_budgets_of_one_s_own_are_proved_or_refused_to_the_last_bit(make):
    """0.5 and 0.9 are 1.4 to a float, which is less than the two floats: the proof says so."""
    proved = []
    for own in itertools.product((0.1, 0.3, 0.5, 0.7, 1.1), (0.1, 0.9), (0.2, 0.6)):
        mechanism = make(own)
        proved.append(sum(map(Fraction, mechanism.channels_)) <= Fraction(mechanism.epsilon))
        if proved[-1]:
            assert mechanism.epsilon * (1 - 1e-12) < mechanism.realised_epsilon() <= mechanism.epsilon
        else:
            with pytest.raises(ArithmeticError, match="ratio must be from 1 to exp"):
                mechanism.realised_epsilon()
    assert {True, False} == set(proved)


ASKED = {
    "GRR": GRR(k=3, epsilon=1.0),
    "SubsetSelection": SubsetSelection(k=40, epsilon=1.0),
    "OLH": OLH(k=300, epsilon=1.0),
    "OneQuestion": OneQuestion(k=(3, 2, 40), epsilon=1.0),
    "AskSome": AskSome(k=(3, 2, 4), epsilon=1.0, m=2, sizes=(1, 1, 2)),
    "RRIndependent": RRIndependent(k=(3, 2, 4), epsilon=1.0),
}
DISGUISES = {
    "other bytes": lambda x: x.astype(">i4"),
    "small": lambda x: x.astype(np.uint16),
    "by columns": np.asfortranarray,
    "backwards": lambda x: x[::-1].copy()[::-1],
    "every other": lambda x: np.repeat(x, 2, axis=0)[::2],
    "lists": lambda x: x.tolist(),
    "of pandas": lambda x: pd.DataFrame(x).squeeze().set_axis(np.arange(len(x))[::-1]),
    "nullable": lambda x: pd.DataFrame(x).astype("Int64").squeeze(),
}


@pytest.mark.parametrize("mechanism", ASKED.values(), ids=ASKED)
def test_people_in_any_array_give_the_same_reports(mechanism):
    x = np.random.default_rng(3).integers(0, mechanism.k, (99, 3) if isinstance(mechanism.k, tuple) else 99)
    plain = mechanism.perturb(x, rng=np.random.default_rng(4))
    for form, disguise in DISGUISES.items():
        try:
            same = mechanism.perturb(disguise(x), rng=np.random.default_rng(4))
        except TypeError:
            assert form == "nullable"
            continue
        assert np.array_equal(same, plain), form


@pytest.mark.parametrize("mechanism", list(ASKED.values())[3:], ids=list(ASKED)[3:])
def test_settings_of_other_libraries_change_neither_description_nor_estimate(mechanism):
    def told():
        survey = Survey({name: list(range(k)) for name, k in zip("abc", mechanism.k, strict=True)}, 1.0, mechanism)
        people = survey.decode(np.random.default_rng(3).integers(0, mechanism.k, (300, 3)))
        reports = survey.collect(people, rng=np.random.default_rng(4))
        return survey.description, survey.estimate(reports)["estimate"].tolist()

    plain = told()
    with np.printoptions(precision=2, threshold=3, legacy="1.13"), np.errstate(all="raise"):
        assert told() == plain
    with pd.option_context("display.precision", 1, "compute.use_bottleneck", False, "mode.string_storage", "python"):
        assert told() == plain


def test_seeds_of_hashes_survive_floats_and_text():
    """They are of 32 bits, which a float of 64 holds; one of 32 does not, and is noticed."""
    survey = Survey({"a": [*"abcdef"]}, 4.0, OLH(k=6, epsilon=4.0))
    people = pd.DataFrame({"a": [*"aaaaaabbbcdef"] * 20, "wave": -1})
    reports = survey.collect(people, rng=np.random.default_rng(5), keep=["wave"])
    want = survey.estimate(reports)["estimate"].to_numpy()
    for same in (
        pd.DataFrame([row for _, row in reports.iterrows()]).astype(float).astype(reports.dtypes),
        pd.read_json(io.StringIO(reports.to_json(orient="records"))),
        reports.reindex(range(300)).dropna().astype(reports.dtypes),
        pd.read_csv(io.StringIO(reports.to_csv(index=False))),
    ):
        assert survey.estimate(survey.mark(same))["estimate"].to_numpy() == pytest.approx(want)
    with pytest.raises(ValueError, match="reports must be of one survey"):
        survey.estimate(reports.astype("float32").astype(reports.dtypes))


@pytest.mark.parametrize("kind", ["text", "category", "string[pyarrow]"])
def test_what_travels_stays_with_its_own_person_through_batches_of_three_forms(kind, tmp_path):
    """At a budget at which all tell the truth."""
    sure, rng = (
        Survey({"a": ["n", "y"], "b": [1, 2, 3]}, 80.0, RRJoint(k=(2, 3), epsilon=80.0)),
        np.random.default_rng(6),
    )
    people = sure.decode(rng.integers(0, (2, 3), (240, 2))).sort_values("a", ignore_index=True)
    town = pd.Series(rng.choice(["north", "s", "east"], 240), dtype="str" if kind == "text" else kind)
    people = people.assign(town=town, w=rng.choice([1.0, 2.5], 240), i=rng.permutation(240))
    parts = [sure.collect(people.iloc[i::3], rng=rng, weights="w", keep=["town", "i"]) for i in range(3)]
    files.write(parts[0], tmp_path / "0.parquet")
    parts[0] = tmp_path / "0.parquet"
    if kind == "text":
        files.write(parts[1], tmp_path / "1.csv")
        parts[1] = tmp_path / "1.csv"
    each = sure.contributions(parts).merge(people, on="i", suffixes=("", "_own"))
    assert len(each) == 240
    assert (each["town"].astype(object) == each["town_own"].astype(object)).all()
    assert (each["w"] == each["w_own"]).all()
    assert each["a=y"].to_numpy() == pytest.approx(each["a"].eq("y").to_numpy(float), abs=1e-9)
    assert each["b=3"].to_numpy() == pytest.approx(each["b"].eq(3).to_numpy(float), abs=1e-9)
    weighted = sure.estimate(parts, weights="w")["estimate"][1]
    assert weighted == pytest.approx(np.average(people["a"].eq("y"), weights=people["w"]), abs=1e-9)


def test_counts_by_any_program_hold_each_batch_once(tmp_path):
    survey = Survey({"a": ["n", "y"], "b": [1, 2, 3]}, 2.0, RRJoint(k=(2, 3), epsilon=2.0))
    rng, mechanism, done = np.random.default_rng(7), survey.mechanism, {"right": 0, "refused": 0}
    batches = [survey.collect(survey.decode(rng.integers(0, (2, 3), (90, 2))), rng=rng) for _ in range(4)]
    batches[3].to_parquet(tmp_path / "3.parquet", row_group_size=40)
    made = [batches[0], [batches[1].iloc[:40], batches[1].iloc[40:]], files.from_frame(batches[2], mechanism)]
    made = [aggregate(one, mechanism) for one in (*made, tmp_path / "3.parquet")]
    for _ in range(12):
        pool = [(survey.mark(one), {i}) for i, one in enumerate(made)]
        for _ in range(6):
            (a, some), (b, more) = (pool[i] for i in rng.integers(len(pool), size=2))
            a.save(tmp_path / "c.json")
            again = Counts.load(tmp_path / "c.json", mechanism)
            if some & more:
                with pytest.raises(ValueError, match="counts must be of"):
                    again + b
                done["refused"] += 1
            else:
                pool.append((again + b, some | more))
                assert (pool[-1][0].counts == sum(made[i].counts for i in some | more)).all()
                done["right"] += 1
    assert min(done.values()) > 15

"""Attempts of an hour, from the data frame to the counts: what came out right, or was refused, stays so."""

import dataclasses
import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ldp_lib import GRR, Population, RRClusters, RRIndependent, Survey
from ldp_lib.survey import files

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


def test_an_order_that_is_declared_travels():
    people = pd.DataFrame({"a": ["x", "y"], "id": pd.Categorical(["b", "a"], ["b", "a"], ordered=True)})
    kept = SURE.collect(people, rng=np.random.default_rng(2), keep=["id"])["id"]
    assert kept.dtype == people["id"].dtype
    same = SURE.collect(people, rng=np.random.default_rng(2), keep=["id"], shuffle=False)["id"]
    assert same.tolist() == ["b", "a"]


def test_frames_in_a_dictionary_are_not_the_files_that_its_keys_name(tmp_path):
    people = pd.DataFrame({"a": ["x", "y"] * 40, "wave": [0, 1] * 40})
    files.write(SURE.collect(people, rng=np.random.default_rng(2), keep=["wave"]), tmp_path / "a.parquet")
    first = {path: frame[frame["wave"] == 0] for path in tmp_path.iterdir() for frame in [files.read(path)]}
    assert SURE.estimate(first.values())["estimate"].tolist() == pytest.approx([1, 0], abs=1e-4)
    for one in (first, {str(path): frame for path, frame in first.items()}):
        for act in (SURE.estimate, SURE.contributions):
            with pytest.raises(TypeError, match="reports must be arrays, frames, paths or a Dask frame; got dict"):
                act(one)


@pytest.mark.parametrize("shares", [[[20, 80]], [[0.4, 0.3, 0.2]], [[0.5, 0.7]], [[0.5, 0.5], [0.5, -0.1, 0.6]]])
def test_shares_that_do_not_sum_to_1_make_no_population(shares):
    """Percent or a raw estimate gave other numbers of people, or other shares."""
    with pytest.raises(ValueError, match="shares must be at least 0 and sum to 1"):
        Population.from_shares([np.array(part) for part in shares], 100)
    even = Population.from_shares([np.array([0.25, 0.75]), np.full(3, 1 / 3)], 100)
    assert even.n == 100
    assert [part.tolist() for part in even.frequencies] == [[0.25, 0.75], [0.34, 0.33, 0.33]]


@pytest.mark.parametrize(
    "make",
    [
        lambda own: RRIndependent(k=(2, 3, 2), channels=own),
        lambda own: RRClusters(k=(2, 3, 2), clusters=((0, 2), (1,)), epsilons=own),
    ],
)
def test_budgets_of_one_s_own_add_up_to_no_less_than_is_spent(make):
    """0.5 and 0.9 are 1.4 to a float, which is less than the two floats."""
    for own in itertools.product((0.1, 0.3, 0.5, 0.7, 1.1), (0.1, 0.9), (0.2, 0.6)):
        for mechanism in (make(own), dataclasses.replace(make(own), epsilon=sum(own))):
            assert mechanism.epsilon * (1 - 1e-12) < mechanism.realised_epsilon() <= mechanism.epsilon

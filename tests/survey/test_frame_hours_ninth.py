"""Attempts of an hour on the ways of data: what came out right, or was refused, stays so."""

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
    mechanism, square, one = GRR(k=2, epsilon=1.0), {"sent": [], "spawned": []}, np.random.default_rng(9)
    p, q = mechanism.probabilities
    x = (np.random.default_rng(8).random((100, 5, 100)) < 0.9).astype(int)
    for people in x:
        [one] = one.spawn(1)
        for kind, batches in (("sent", [sent(one) for _ in people]), ("spawned", one.spawn(5))):
            y = [mechanism.perturb(part, rng=rng) for part, rng in zip(people, batches, strict=True)]
            off = mechanism.estimate(np.concatenate(y))[1] - people.mean()
            square[kind].append(off**2 / (p * q) * (p - q) ** 2 * people.size)  # over the variance that is told
    lie, other = 2 * q, 2 * 0.9 * 0.1  # the chance of a lie that is drawn among both, and of two answers that differ
    agree = 1 - other + other * (lie / 2 - p * q) / (p * q)
    for kind, want in (("sent", 1 + 4 * agree), ("spawned", 1)):
        assert abs(np.mean(square[kind]) - want) < 4 * want * (2 / len(x)) ** 0.5
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

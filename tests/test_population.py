"""Population: distinct records and counts, from any of three sources, and back to users."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_lib.population import Population


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=40))
def test_records_and_counts_and_users_are_three_views_of_one_population(rows):
    x = np.array(rows)
    population = Population.from_records(x, k=(3, 2, 4))
    assert population.n == len(rows)
    assert population.d == 3
    assert sorted(map(tuple, population.users().tolist())) == sorted(rows)
    again = Population.from_counts(population.histogram)
    assert np.array_equal(again.records, population.records)
    assert np.array_equal(again.counts, population.counts)
    assert again.k == population.k == (3, 2, 4)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3)), min_size=1, max_size=40))
def test_select_is_the_marginal_table(rows):
    population = Population.from_records(np.array(rows), k=(3, 2, 4), names=("a", "b", "c"))
    assert np.array_equal(population.select("c").histogram, population.histogram.sum(axis=(0, 1)))
    swapped = population.select("c", 0)
    assert swapped.names == ("c", "a")
    assert swapped.k == (4, 3)
    assert np.array_equal(swapped.histogram, population.histogram.sum(axis=1).T)


def test_one_attribute_reads_as_vectors():
    population = Population.from_counts([2, 0, 1])
    assert population.users().tolist() == [0, 0, 2]
    assert population.histogram.tolist() == [2, 0, 1]
    assert population.frequencies.tolist() == [2 / 3, 0, 1 / 3]
    assert Population.from_records([2, 0, 0], k=3).histogram.tolist() == [2, 0, 1]


def test_a_frame_keeps_names_labels_and_the_order_of_categories():
    frame = pd.DataFrame(
        {"size": pd.Categorical(["s", "l", "s"], categories=["s", "m", "l"]), "ok": ["yes", "no", "no"]}
    )
    population = Population.from_frame(frame)
    assert population.names == ("size", "ok")
    assert population.labels == (("s", "m", "l"), ("no", "yes"))
    assert population.histogram.tolist() == [[1, 1], [0, 0], [1, 0]]


def test_a_population_cannot_be_changed():
    population = Population.from_counts([2, 1])
    for array in (population.counts, population.records, population.histogram):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5
    with pytest.raises(AttributeError):
        population.k = (3,)


def test_the_caller_s_array_is_copied():
    counts = np.array([2, 1])
    population = Population.from_counts(counts)
    counts[0] = 9
    assert population.n == 3


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Population.from_counts([3, -1]), ValueError, "counts must be at least 0 .* least -1"),
        (lambda: Population.from_counts([0, 0]), ValueError, "counts must be at least 0 and not all 0"),
        (lambda: Population.from_counts([]), TypeError, "counts must be integers"),
        (lambda: Population.from_counts(np.zeros(0, int)), ValueError, "no entry"),
        (lambda: Population.from_counts([1.0, 2.0]), TypeError, "counts must be integers .* float64"),
        (lambda: Population.from_counts([1, np.nan]), TypeError, "float64"),
        (lambda: Population.from_counts([4]), ValueError, r"k must be an integer of at least 2.* got \(1,\)"),
        (lambda: Population.from_counts([[1], [2]]), ValueError, r"got \(2, 1\)"),
        (lambda: Population.from_counts([1, 2], names=("a", "b")), ValueError, "names must have one entry .* got 2"),
        (lambda: Population.from_counts([1, 2], labels=(("a",),)), ValueError, r"labels must match k = \(2,\)"),
        (
            lambda: Population.from_records([0, 1, 2], k=2),
            ValueError,
            "x must be from 0 to 1 in column 0; got 2 in row 2",
        ),
        (lambda: Population.from_records([[0, 1]], k=2), ValueError, r"got shape \(1, 2\)"),
        (lambda: Population.from_records([0, 1], k=(2, 2)), ValueError, r"2 columns.*got shape \(2,\)"),
        (lambda: Population.from_records([], k=2), ValueError, r"got shape \(0, 1\)"),
        (lambda: Population.from_records([0.0, 1.0], k=2), TypeError, "x must hold integers; got type float64"),
        (lambda: Population.from_records([0, 1], k=2.0), TypeError, "k must be an integer of at least 2.* got 2.0"),
        (lambda: Population.from_records([0, 1], k=(2.0,)), TypeError, "k must be an integer of at least 2"),
        (lambda: Population.from_records([0, 1], k=()), ValueError, r"k must be an integer of at least 2.* got \(\)"),
        (lambda: Population.from_frame(pd.DataFrame({"a": ["x", None, "y"]})), ValueError, r"missing values; .*'a'"),
        (lambda: Population.from_counts([1, 2]).select("age"), ValueError, "got 'age'"),
        (lambda: Population.from_counts([1, 2]).select(1), ValueError, "0 to 0; got 1"),
        (lambda: Population.from_counts([1, 2]).select(), ValueError, "got none"),
        (
            lambda: Population(records=np.array([[0], [1]]), counts=np.array([1]), k=(2,)),
            ValueError,
            r"counts must have one entry a record, shape \(2,\); got shape \(1,\)",
        ),
        (
            lambda: Population(records=np.array([[1], [0]]), counts=np.array([1, 1]), k=(2,)),
            ValueError,
            "records must be distinct and in lexicographic order",
        ),
        (
            lambda: Population(records=np.array([[0], [1]]), counts=np.array([1, 0]), k=(2,)),
            ValueError,
            "counts must be at least 1",
        ),
    ],
)
def test_bad_input_is_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()

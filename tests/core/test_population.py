"""Population: distinct records and counts, from any of three sources, and back to users."""

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_lib.corr_rr import _two_phases
from ldp_lib.population import Population, marginal_frequencies


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


@pytest.mark.parametrize("k", [(3, 256, 256), (3, 256, 257)])
def test_tables_that_are_counted_and_sorted_are_the_same(k):
    x = np.random.default_rng(1).integers(k, size=(500, 3)) // (1, 40, 40)
    population = Population.from_records(x, k=k)
    assert population.select(2, 1) == Population.from_records(x[:, [2, 1]], k=(k[2], k[1]))


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


def test_frequencies_are_what_mechanisms_estimate_and_joint_is_the_whole_table():
    population = Population.from_counts([[1, 2], [3, 4], [0, 10]])
    assert [part.tolist() for part in population.frequencies] == [[0.15, 0.35, 0.5], [0.2, 0.8]]
    assert population.joint.tolist() == [[0.05, 0.1], [0.15, 0.2], [0, 0.5]]
    assert [part.tolist() for part in marginal_frequencies(population.select(1))] == [[0.2, 0.8]]
    assert population.select(1).frequencies.tolist() == [0.2, 0.8]


def test_populations_compare_by_value():
    population = Population.from_counts([[1, 2], [3, 4]], names=("a", "b"))
    again = Population.from_records(population.users().astype(np.uint8), k=(2, 2), names=("a", "b"))
    assert population == again
    assert hash(population) == hash(again)
    assert pickle.loads(pickle.dumps(population)) == population
    others = [Population.from_counts([[1, 2], [3, 5]], names=("a", "b")), Population.from_counts([[1, 2], [3, 4]])]
    assert all(population != other for other in [*others, population.select(0), None])


@given(st.lists(st.tuples(*[st.integers(0, 2**20)] * 4), min_size=1, max_size=9), st.integers(0, 8))
def test_records_of_a_huge_domain_are_sorted_and_distinct(rows, place):
    k = (2**20 + 1,) * 4  # more than 2**63 cells
    population = Population.from_records(rows + rows[:1], k=k)
    assert list(map(tuple, population.records.tolist())) == sorted(set(rows))
    assert population.n == len(rows) + 1
    place %= population.counts.size
    twice = np.insert(population.records, place, population.records[place], axis=0)
    with pytest.raises(ValueError, match="records must be distinct and in lexicographic order"):
        Population(records=twice, counts=np.ones(len(twice), int), k=k)


def test_large_counts_are_summed_exactly_or_refused():
    assert Population.from_counts([2**52, 2**52 - 1]).n == 2**53 - 1
    population = Population.from_counts([[2**51, 1], [3, 2**51 + 1]])
    assert population.select(0).counts.tolist() == [2**51 + 1, 2**51 + 4]
    with pytest.raises(ValueError, match=r"counts must add up to less than 2\*\*53; got 1\.38351e\+19"):
        Population.from_counts([2**62] * 3)


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
        (
            lambda: Population.from_counts(np.ma.masked_equal([3, 9], 9)),
            ValueError,
            "counts must not have masked .* 1 of",
        ),
        (
            lambda: Population.from_records(np.ma.masked_equal([0, 9], 9), k=2),
            ValueError,
            "x must not have masked entries; got 1",
        ),
        (lambda: Population.from_frame(pd.Series([1, 2])), TypeError, "frame must be a pandas.DataFrame .* got Series"),
        (lambda: Population.from_frame(pd.DataFrame({"a": []})), TypeError, "with rows and columns; got DataFrame"),
        (
            lambda: Population.from_frame(pd.DataFrame([[1, 2], [2, 1]], columns=["a", "a"])),
            ValueError,
            r"columns of different names, .* categories; got \[\('a', \('1', '2'\)\)",
        ),
        (
            lambda: Population.from_frame(pd.DataFrame({"a": [1, 2], "b": ["x", "x"]})),
            ValueError,
            r"each with at least two values .*; got \[\('a', \('1', '2'\)\), \('b', \('x',\)\)\]",
        ),
        (
            lambda: Population.from_counts([[1, 2], [0, 1]]).select(0, 0),
            ValueError,
            r"attributes must be .*, each once; got \(0, 0\)",
        ),
        (
            lambda: Population.from_counts([[1, 2], [0, 1]], names=("a", "a")),
            ValueError,
            r"names must differ from each other; got \('a', 'a'\)",
        ),
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
        (lambda: Population.from_counts([1, 2]).select(), ValueError, r"at least one of them, each once; got \(\)"),
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


def test_two_to_the_53_users_are_one_too_many():
    with pytest.raises(ValueError, match=r"counts must add up to less than 2\*\*53; got 9\.0072e\+15"):
        Population.from_counts([2**52, 2**52])


@pytest.mark.parametrize("k", [(2**21,) * 3, (2**32, 2**31), (2**32, 2**32 - 1), (3, 2**62)])
def test_records_of_domains_about_the_largest_integer_are_sorted(k):
    rows = [[size - 1 for size in k], [0] * len(k), [size - 1 for size in k], [0, *(size - 1 for size in k[1:])]]
    population = Population.from_records(rows, k=k)
    assert population.records.tolist() == [rows[1], rows[3], rows[0]]
    assert population.counts.tolist() == [1, 1, 2]


@pytest.mark.parametrize("attribute", [True, np.True_, 2, -1, "b", 1.0, None])
def test_attributes_to_select_are_names_or_numbers(attribute):
    with pytest.raises(ValueError, match=r"attributes must be among \('a', 'c'\) or 0 to 1; got"):
        Population.from_frame(pd.DataFrame({"a": [0, 1], "c": [1, 0]})).select(attribute)


def test_populations_that_differ_in_one_thing_are_not_equal():
    one = {"records": np.array([[0], [1]]), "counts": np.array([2, 1]), "k": (3,), "names": ("a",), "labels": ("xyz",)}
    for name, other in [
        ("records", np.array([[0], [2]])),
        ("counts", np.array([1, 2])),
        ("k", (4,)),
        ("names", ("b",)),
        ("labels", ("xyw",)),
        ("names", None),
    ]:
        changed = one | {name: other} | ({"labels": ("xyzw",)} if name == "k" else {})
        assert Population(**one) != Population(**changed)
    assert Population(**one) == Population(**one)
    assert Population(**one).labels == (("x", "y", "z"),)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Population.from_counts(5), ValueError, r"counts must be at least 0 .* got shape \(\), least 5"),
        (lambda: Population.from_counts([[0, 0], [0, 0]]), ValueError, r"not all 0; got shape \(2, 2\), least 0"),
        (lambda: Population.from_frame(pd.DataFrame(index=[0, 1])), TypeError, "with rows and columns; got DataFrame"),
        (lambda: LABELLED.select(-1), ValueError, r"among \('a', 'b'\) or 0 to 1; got -1"),
        (lambda: LABELLED.select(2), ValueError, r"among \('a', 'b'\) or 0 to 1; got 2"),
        (lambda: LABELLED.select(0, "a"), ValueError, r"attributes must be .*, each once; got \(0, 'a'\)"),
        (
            lambda: Population.from_counts([[1, 2], [3, 4]], labels=("ab", "abc")),
            ValueError,
            r"labels must match k = \(2, 2\); got lengths \(2, 3\)",
        ),
        (
            lambda: Population.from_counts([[1, 2], [3, 4]], labels=("ab",)),
            ValueError,
            "labels must have one entry an attribute, 2; got 1",
        ),
        (
            lambda: Population(records=np.array([[0], [1]]), counts=np.array([1.0, 1.0]), k=2),
            TypeError,
            "counts must be integers; got type float64",
        ),
        (
            lambda: Population(records=np.array([[0, 1], [0, 1]]), counts=np.array([1, 1]), k=(2, 2)),
            ValueError,
            "lexicographic order",
        ),
        (
            lambda: Population(records=np.array([[0, 1], [0, 0]]), counts=np.array([1, 1]), k=(2, 2)),
            ValueError,
            "lexicographic order",
        ),
        (
            lambda: Population(records=np.array([[1, 0], [0, 1]], np.uint8), counts=np.array([1, 1]), k=(2, 2)),
            ValueError,
            "lexicographic order",
        ),
    ],
)
def test_each_half_of_what_is_allowed_is_looked_at(make, error, message):
    with pytest.raises(error, match=message):
        make()


LABELLED = Population.from_counts([[1, 0, 2], [0, 4, 3]], names=("a", "b"), labels=("xy", "uvw"))


def test_attributes_are_picked_with_their_names_and_labels():
    swapped = LABELLED.select("b", 0)
    assert swapped == Population.from_counts([[1, 0], [0, 4], [2, 3]], names=("b", "a"), labels=("uvw", "xy"))
    assert LABELLED.select(np.int64(1)).counts.tolist() == [1, 4, 5]
    assert [part.histogram.tolist() for part in map(LABELLED.select, range(2))] == [[3, 7], [1, 4, 5]]
    assert LABELLED.users().tolist() == np.repeat([[0, 0], [0, 2], [1, 1], [1, 2]], [1, 2, 4, 3], axis=0).tolist()
    counts = _two_phases.marginal_counts(LABELLED.records, np.array([[1, 2, 4, 3], [0, 0, 2**52, 1]]), (2, 3))
    assert [part.tolist() for part in counts] == [[[3, 7], [0, 2**52 + 1]], [[1, 4, 5], [0, 2**52, 1]]]


def test_a_single_record_or_value_makes_a_population():
    assert Population(records=[[1, 2]], counts=[3], k=(2, 3)).n == 3
    assert Population.from_counts([0, 1]).records.tolist() == [[1]]
    assert Population.from_records([1], k=2).users().tolist() == [1]


@pytest.mark.parametrize("shares", [[[0.3333333] * 3], [[0.5000001, 0.5]], [[0.3333333] * 3, [0.5, 0.5]]])
def test_shares_that_are_rounded_give_as_many_users_as_asked_for(shares):
    people = Population.from_shares(shares, 1e8)
    assert people.n == 10**8
    for found, wanted in zip(marginal_frequencies(people), shares, strict=True):
        assert np.abs(found - np.array(wanted) / sum(wanted)).max() <= 1e-8


@pytest.mark.parametrize(("n", "first"), [(0, 0.5), (-3, 0.5), (2.5, 0.5), (np.nan, 0.5), (10, np.nan), (10, 0.6)])
def test_shares_and_users_that_are_none_are_named(n, first):
    with pytest.raises(ValueError, match="shares must be at least 0" if n == 10 else "n must be an integer from 1"):
        Population.from_shares([[first, 0.5]], n)

"""Dependence measures, private ways to measure dependence, and the clustering."""

import math
from fractions import Fraction

import numpy as np
import pytest
import secure_sums
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import contingency

from ldp_lib import check
from ldp_lib.datasets import load_adult
from ldp_lib.population import Population
from ldp_lib.tables import clusters as clustering
from ldp_lib.tables import covariance
from ldp_lib.tables.clusters import RRClusters
from ldp_lib.tables.product import ProductRR

TABLE = np.array([[20, 5, 1], [4, 9, 11]])


def test_measures_agree_with_scipy_and_numpy():
    a, b = np.repeat(np.argwhere(TABLE >= 0), TABLE.ravel(), axis=0).T
    assert math.isclose(clustering.cramers_v(TABLE), contingency.association(TABLE, method="cramer"))
    assert math.isclose(clustering.pearson(TABLE), abs(np.corrcoef(a, b)[0, 1]))
    assert clustering.cramers_v(np.array([[Fraction(1, 2), 0], [0, Fraction(1, 2)]]), squared=True) == 1


def test_measures_at_their_ends():
    assert clustering.cramers_v(np.eye(3)) == clustering.pearson(np.eye(3)) == 1
    assert clustering.cramers_v(np.ones((2, 3))) == clustering.pearson(np.ones((2, 3))) == 0
    assert clustering.pearson([[1, 1], [0, 0]]) == clustering.cramers_v([[1, 1], [0, 0]]) == 0


def test_large_counts_do_not_overflow():
    """Two attributes of 100 values, 71 million people, half of them on the diagonal and half anywhere."""
    table = np.full((100, 100), 3_550)
    table[np.diag_indices(100)] += 355_000
    for scale in (1, 10**6):
        big = table * scale
        assert math.isclose(clustering.pearson(big), 0.5)
        assert math.isclose(clustering.cramers_v(big), 0.5)
        assert math.isclose(clustering.cramers_v(big, squared=True), 0.25)
    narrow = np.array([[200, 5, 1], [4, 190, 110]], np.uint8)
    for measure in (clustering.pearson, clustering.cramers_v):
        for same in (narrow.astype(object), narrow.tolist()):
            assert math.isclose(measure(narrow), measure(same))


@given(table=st.lists(st.lists(st.integers(0, 2**55), min_size=3, max_size=3), min_size=2, max_size=4))
def test_measures_stay_in_their_range(table):
    if not np.any(table):
        return
    for measure in (clustering.pearson, clustering.cramers_v):
        assert 0 <= measure(table) <= 1
    scaled = np.array(table) / np.sum(table, dtype=float)
    assert math.isclose(clustering.pearson(table), clustering.pearson(scaled), rel_tol=1e-9, abs_tol=1e-7)


def test_clusters_without_data_are_neighbours_within_the_limit():
    assert clustering._neighbours((9, 16, 7, 15, 6, 5, 2, 2)) == ((0,), (1,), (2,), (3,), (4, 5), (6, 7))
    assert clustering._neighbours((2,) * 12) == ((0, 1, 2, 3, 4), (5, 6, 7, 8, 9), (10, 11))
    assert clustering._neighbours((99, 2), max_cells=3) == ((0,), (1,))


@pytest.mark.parametrize("table", [[[1, 2]], [1, 2], [[0, 0], [0, 0]], [[-1, 2], [3, 4]], [[np.nan, 1.0], [1, 1]]])
def test_bad_tables_are_refused(table):
    for measure in (clustering.cramers_v, clustering.pearson):
        with pytest.raises(ValueError, match="table must"):
            measure(table)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_tables_must_be_finite(bad):
    with pytest.raises(ValueError, match="table must be finite"):
        clustering.cramers_v([[bad, 1.0], [1, 1]])


def test_secure_sums_need_a_generator_and_bits():
    with pytest.raises(TypeError, match="rng must be"):
        secure_sums.secure_sum([0, 1], rng=1)
    with pytest.raises(ValueError, match=r"bits must be .*; got 2 at position 1"):
        secure_sums.secure_sum([0, 2], rng=np.random.default_rng(1))


@given(bits=st.lists(st.integers(0, 1), min_size=1, max_size=30), seed=st.integers(0, 99))
def test_the_secure_sum_is_the_sum(bits, seed):
    count, broadcasts = secure_sums.secure_sum(bits, rng=np.random.default_rng(seed))
    assert count == sum(bits)
    assert len(broadcasts) == len(bits)
    assert ((broadcasts >= 0) & (broadcasts <= len(bits))).all()


def test_the_broadcasts_are_uniform_whoever_has_the_one():
    rng = np.random.default_rng(1)
    for bits in ([1, 0, 0], [0, 0, 1]):
        runs = np.array([secure_sums.secure_sum(bits, rng=rng)[1] for _ in range(8000)])
        law = {(a, b, (1 - a - b) % 4): 1 / 16 for a in range(4) for b in range(4)}
        assert check.law_z(runs, law) < 5
        tilted = {key: (1.2 if key[0] < 2 else 0.8) / 16 for key in law}
        assert check.law_z(runs, tilted) > 5


def test_secure_and_masked_tables():
    x = Population.from_counts([[5, 0, 2], [1, 4, 3]]).users()
    rng = np.random.default_rng(1)
    assert secure_sums.secure_table(x, (2, 3), rng=rng).tolist() == [[5, 0, 2], [1, 4, 3]]
    runs = np.array([secure_sums.masked_table(x, (2, 3), 2.0, rng=rng).ravel() for _ in range(2000)])
    truth = np.array([5, 0, 2, 1, 4, 3]) / 15
    assert check.mean_z(runs, truth) < 5 < check.mean_z(runs, np.roll(truth, 1))


def test_dependences_of_adult_are_those_of_its_tables():
    adult = load_adult()
    matrix = clustering.dependences(adult)
    assert matrix.shape == (8, 8)
    assert np.array_equal(matrix, matrix.T)
    assert math.isclose(matrix[4, 6], contingency.association(adult.select(4, 6).histogram, method="cramer"))


def test_clusters_of_a_small_case_by_hand():
    dependence = np.array([[1, 0.9, 0.5, 0.4], [0.9, 1, 0.8, 0.1], [0.5, 0.8, 1, 0.6], [0.4, 0.1, 0.6, 1]])

    def clusters(max_cells, min_dependence):
        return clustering.cluster_attributes(
            dependence, (2, 3, 4, 5), max_cells=max_cells, min_dependence=min_dependence
        )

    assert clusters(10**6, 0) == ((0, 1, 2, 3),)
    assert clusters(6, 0) == ((0, 1), (2,), (3,))
    assert clusters(20, 0.5) == ((0, 1), (2, 3))  # {0, 1} and {2} are next, but have 24 cells
    assert clusters(24, 0.5) == ((0, 1, 2), (3,))
    assert clusters(20, 0.7) == ((0, 1), (2,), (3,))
    assert clusters(2, 0) == ((0,), (1,), (2,), (3,))
    assert clusters(10**6, 1) == ((0,), (1,), (2,), (3,))


@given(data=st.data(), d=st.integers(1, 6))
def test_clustering_ends_with_a_partition_within_the_cap(data, d):
    k = data.draw(st.lists(st.integers(2, 9), min_size=d, max_size=d))
    upper = np.triu(data.draw(st.lists(st.lists(st.sampled_from([0, 0.3, 0.5, 1]), min_size=d, max_size=d), min_size=d, max_size=d)), 1)  # fmt: skip  # noqa: E501
    cap, floor = data.draw(st.integers(min(k), 200)), data.draw(st.sampled_from([0, 0.3, 0.5, 1]))
    dependence = upper + upper.T
    clusters = clustering.cluster_attributes(dependence, k, max_cells=cap, min_dependence=floor)
    assert sorted(j for c in clusters for j in c) == list(range(d))
    sizes = [math.prod(k[j] for j in c) for c in clusters]
    assert all(size <= cap or len(c) == 1 for c, size in zip(clusters, sizes, strict=True))
    for i, a in enumerate(clusters):
        for b, size in zip(clusters[:i], sizes, strict=False):
            assert size * sizes[i] > cap or dependence[np.ix_(a, b)].max() < floor


def test_equal_dependences_are_merged_in_order_whatever_the_last_bits():
    k, rng = (2, 3, 2, 3, 2), np.random.default_rng(1)
    for _ in range(50):
        values = rng.integers(1, 4, size=(5, 5)) / 3
        even = np.triu(values, 1) + np.triu(values, 1).T
        shaken = even * (1 - rng.integers(0, 3, size=(5, 5)) * 2.0**-52)
        shaken = np.triu(shaken, 1) + np.triu(shaken, 1).T
        least = 2 / 3  # itself one of the values
        found = [clustering.cluster_attributes(m, k, max_cells=12, min_dependence=least) for m in (even, shaken)]
        assert found[0] == found[1]


def test_independent_clusters_multiply_their_tables():
    rng = np.random.default_rng(1)
    one, two = rng.random((2, 3)), rng.random((4, 5))
    clusters = ((1, 3), (2, 0))  # attributes 0, 1, 2, 3 with 5, 2, 4, 3 values
    product = ProductRR(k=(5, 2, 4, 3), epsilon=1.0, clusters=clusters)
    whole = np.einsum("bd,ca->abcd", one, two)
    for attributes in ((0,), (3, 1), (1, 0), (0, 1, 2, 3), (2, 3, 1)):
        others = tuple({0, 1, 2, 3} - set(attributes))
        missing = math.prod(t.sum() for t, c in zip((one, two), clusters, strict=True) if not set(c) & set(attributes))
        right = whole.sum(axis=others).transpose(np.argsort(np.argsort(attributes))) / missing
        assert np.allclose(product.independent_table((one, two), *attributes), right, rtol=1e-12, atol=0)
    runs = product.independent_table((np.stack([one, 2 * one]), np.stack([two, two])), 2, 3, 1)
    single = product.independent_table((one, two), 2, 3, 1)
    assert np.allclose(runs, [single, 2 * single], rtol=1e-12, atol=0)
    for attributes in ((0, 0), (4,)):
        with pytest.raises(ValueError, match=r"attributes must be distinct numbers from 0 to 3; got"):
            product.independent_table((one, two), *attributes)
    with pytest.raises(ValueError, match="zip"):
        product.independent_table((one,), 0)


def test_bad_thresholds_and_matrices_are_refused():
    good = {"dependence": np.eye(2), "k": (3, 4), "max_cells": 12, "min_dependence": 0.5}
    for change, error, message in (
        ({"max_cells": 2}, ValueError, "max_cells must be an integer of at least the smallest domain size, 3; got 2"),
        (
            {"max_cells": 12.0},
            TypeError,
            "max_cells must be an integer of at least .* 3; got 12.0",
        ),
        ({"max_cells": True}, TypeError, "max_cells must be an integer of .*; got True"),
        ({"min_dependence": -0.1}, ValueError, "min_dependence must be a number from 0 to 1; got -0.1"),
        ({"min_dependence": 1.1}, ValueError, "min_dependence must be a number from 0 to 1; got 1.1"),
        ({"min_dependence": float("nan")}, ValueError, "min_dependence must be a number from 0 to 1; got nan"),
        ({"min_dependence": True}, TypeError, "min_dependence must be a number from 0 to 1; got True"),
        ({"min_dependence": "0"}, TypeError, "min_dependence must be a number from 0 to 1; got '0'"),
        ({"dependence": np.eye(3)}, ValueError, r"2 by 2 matrix; got shape \(3, 3\)"),
        ({"dependence": [[1, 0.2], [0.3, 1]]}, ValueError, "symmetric"),
        ({"dependence": [[1, 1.2], [1.2, 1]]}, ValueError, "from 0 to 1; got 1.2"),
        ({"dependence": [[1, np.nan], [np.nan, 1]]}, ValueError, "from 0 to 1; got nan"),
        ({"dependence": [[1, -0.2], [-0.2, 1]]}, ValueError, "from 0 to 1; got -0.2"),
        ({"dependence": [[9, 1, 0], [1, 9, 1.2], [0, 1.2, 9]], "k": (3, 4, 2)}, ValueError, "from 0 to 1; got 1.2"),
        ({"max_cells": np.bool_(True)}, TypeError, "max_cells must be an integer of"),
    ):
        with pytest.raises(error, match=message):
            clustering.cluster_attributes(**{**good, **change})


def test_bad_input_to_secure_sums_is_refused():
    with pytest.raises(ValueError, match="bits must be"):
        secure_sums.secure_sum([0, 2], rng=np.random.default_rng(1))
    with pytest.raises(TypeError, match="rng must be"):
        secure_sums.secure_sum([0, 1], rng=1)
    with pytest.raises(ValueError, match="epsilon must be"):
        secure_sums.masked_table([[0, 1]], (2, 2), 0, rng=np.random.default_rng(1))


def test_measures_by_hand():
    table = np.array([[Fraction(n) for n in row] for row in ([1, 2, 3], [6, 4, 4])])
    a, b, both = Fraction(14, 20), Fraction(6 + 2 * 7, 20), Fraction(4 + 2 * 4, 20)  # E[A], E[B], E[A B]
    spread = (a - a**2) * (Fraction(6 + 4 * 7, 20) - b**2)
    assert clustering.pearson(table) == pytest.approx(abs(both - a * b) / math.sqrt(spread))
    squares = sum(table[i, j] ** 2 / (table[i].sum() * table[:, j].sum()) for i in range(2) for j in range(3))
    assert clustering.cramers_v(table, squared=True) == squares - 1
    assert clustering.cramers_v(table / 20, squared=True) == squares - 1
    assert clustering.pearson([[1, 0, 0], [2, 0, 0]]) == 0
    corner = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]]
    assert clustering.cramers_v(corner) == pytest.approx(1)
    assert clustering.cramers_v(np.transpose(corner)) == pytest.approx(1)


def test_rounding_does_not_lift_a_measure_above_one():
    for a, b, c in np.ndindex(7, 7, 7):
        table = np.diag([a + 1, b + 1, c + 1])
        for measure in (clustering.pearson, clustering.cramers_v):
            assert 1 - 1e-12 < measure(table) <= 1


@pytest.mark.parametrize(
    ("table", "error", "says"),
    [
        (np.ones((2, 1)), ValueError, r"two axes of at least 2 values; got shape \(2, 1\)"),
        (np.ones((2, 2, 2)), ValueError, r"two axes of at least 2 values; got shape \(2, 2, 2\)"),
        ([["a", "b"], ["c", "d"]], TypeError, "table must hold numbers; got type"),
        ([[True, False], [False, True]], TypeError, "table must hold numbers; got type bool"),
        ([[1.0, 2.0], [3.0, -0.5]], ValueError, r"table must have no negative entry .*; got least -0.5"),
        ([[Fraction(1), Fraction(-1, 2)], [1, 1]], ValueError, "table must have no negative entry"),
        ([[Fraction(0)] * 2] * 2, ValueError, "table must have no negative entry and a positive sum; got least 0"),
        ([[-1, -1], [-1, -1]], ValueError, "table must have no negative entry"),
    ],
)
def test_tables_that_are_none_are_refused(table, error, says):
    for measure in (clustering.pearson, clustering.cramers_v):
        with pytest.raises(error, match=says):
            measure(table)


def test_twelve_decimals_of_a_dependence_count():
    def clusters(first, second):
        matrix = np.array([[1, first, 0], [first, 1, second], [0, second, 1]])
        return clustering.cluster_attributes(matrix, (2, 2, 2), max_cells=4, min_dependence=0)

    assert clusters(0.5, 0.5 + 2e-12) == ((0,), (1, 2))
    assert clusters(0.5, 0.5 + 4e-13) == ((0, 1), (2,))
    matrix = np.array([[1, 0.5 - 4e-13], [0.5 - 4e-13, 1]])
    for least, found in ((0.5, ((0, 1),)), (0.5 + 2e-12, ((0,), (1,)))):
        assert clustering.cluster_attributes(matrix, (2, 2), max_cells=4, min_dependence=least) == found
    for least in (1 / 3, Fraction(1, 3), 0.2 / 3):  # a dependence that is the least one itself, however it is rounded
        matrix = np.full((2, 2), float(least))
        assert clustering.cluster_attributes(matrix, (2, 2), max_cells=4, min_dependence=least) == ((0, 1),)


def test_neighbours_may_have_fifty_cells():
    assert clustering._neighbours((5, 10)) == ((0, 1),)
    assert clustering._neighbours((3, 17)) == ((0,), (1,))
    assert RRClusters(k=(2, 5, 5, 3), epsilon=1.0).clusters_ == ((0, 1, 2), (3,))


def test_what_is_given_to_clusters_is_kept():
    mechanism = RRClusters(k=(2, 3, 4), clusters=((2, 0), (1,)), epsilons=[1, np.float64(0.25), 2])
    assert mechanism.channels_ == (3.0, 0.25)
    assert mechanism.epsilon == 3.25
    assert mechanism.epsilons_ == (1.0, 0.25, 2.0)
    for wrong in (1.0, "123", None):
        with pytest.raises(TypeError, match="epsilon"):
            RRClusters(k=(2, 3, 4), epsilons=wrong)


def test_tables_of_clusters_of_unequal_length_multiply():
    rng = np.random.default_rng(2)
    one, two = rng.random((7, 2, 3, 4)), rng.random((7, 5))
    found = ProductRR(k=(3, 4, 2, 5), epsilon=1.0, clusters=((2, 0, 1), (3,))).independent_table((one, two), 3, 0, 2)
    assert np.allclose(found, np.einsum("rcab,rd->rdac", one, two), rtol=1e-12, atol=0)
    found = ProductRR(k=(3, 4, 2, 5), epsilon=1.0, clusters=((3,), (2, 0, 1))).independent_table((two, one), 1, 3)
    assert np.allclose(found, np.einsum("rcab,rd->rbd", one, two), rtol=1e-12, atol=0)


def test_dependences_are_cramer_s_unless_another_measure_is_asked_for():
    people = Population.from_counts(np.arange(24).reshape(2, 3, 4) ** 2)
    for measure, found in (
        (clustering.cramers_v, clustering.dependences(people)),
        (clustering.pearson, clustering.dependences(people, clustering.pearson)),
    ):
        assert np.diag(found).tolist() == [1, 1, 1]
        for i, j in ((0, 1), (0, 2), (1, 2)):
            assert found[i, j] == found[j, i] == measure(people.select(i, j).histogram) > 0


def test_a_table_with_a_masked_cell_is_refused():
    table = np.ma.masked_equal([[0.5, 0.1], [0.1, 0.3]], 0.3)
    mechanism = RRClusters(k=(2, 2), epsilon=1.0)
    for measure in (
        clustering.cramers_v,
        clustering.pearson,
        lambda t: covariance.table_covariance(mechanism, t, 0, 1, n=10),
    ):
        with pytest.raises(ValueError, match="table must not have masked entries; got 1"):
            measure(table)

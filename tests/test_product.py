"""Randomized response on several attributes: exact facts, agreement with written-out matrices, and bad input."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_lib import channel, check, grr, product
from ldp_lib.clustering import RRClusters
from ldp_lib.population import Population
from ldp_lib.product import ProductRR, RRIndependent, RRJoint

FLIP = np.array([[0.8, 0.2], [0.1, 0.9]])
TURN = np.array([[0.6, 0.3, 0.1], [0.1, 0.7, 0.2], [0.3, 0.1, 0.6]])
MECHANISMS = [
    RRIndependent(k=(2, 3, 2), channels=(1.0, 0.5, 2.0)),
    RRIndependent(k=(2, 3, 2), channels=(FLIP, TURN, 1.0)),
    RRJoint(k=(2, 3, 2), channel=1.5),
    ProductRR(k=(2, 3, 2), clusters=((2, 1), (0,)), channels=(np.kron(FLIP, TURN), 0.7)),
    RRClusters(k=(2, 3, 2), clusters=((0, 2), (1,)), epsilons=(1.0, 0.5, 2.0)),
]
each_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=range(len(MECHANISMS)))


def written_out(mechanism):
    """The channel over all records, (12, 12), by multiplying the clusters' probabilities record by record."""
    records = list(itertools.product(*map(range, mechanism.k)))
    matrix = np.ones((len(records), len(records)))
    for cluster, c in zip(mechanism.clusters, mechanism.channels, strict=True):
        sizes = [mechanism.k[j] for j in cluster]
        block = c if isinstance(c, np.ndarray) else grr.channel(math.exp(c), math.prod(sizes))
        cell = np.array([np.ravel_multi_index([record[j] for j in cluster], sizes) for record in records])
        matrix *= block[np.ix_(cell, cell)]
    return np.array(records), matrix


@each_mechanism
def test_the_table_is_that_of_the_written_out_inverse(mechanism):
    records, matrix = written_out(mechanism)
    y = records[np.random.default_rng(1).integers(12, size=50)]
    shares = Population.from_records(y, k=mechanism.k).histogram / 50
    table = (shares.ravel() @ np.linalg.inv(matrix)).reshape(mechanism.k)
    assert np.allclose(mechanism.estimate_table(y), table, rtol=0, atol=1e-9)
    for attributes in ((0,), (1,), (2, 0), (2, 1), (1, 2, 0)):
        others = tuple(set(range(3)) - set(attributes))
        right = table.sum(axis=others).transpose(np.argsort(np.argsort(attributes)))
        assert np.allclose(mechanism.estimate_table(y, *attributes), right, rtol=0, atol=1e-9)
    for j, estimate in enumerate(mechanism.estimate(y)):
        assert np.allclose(estimate, mechanism.estimate_table(y, j), rtol=0, atol=1e-9)
    subset = table > table.mean()
    assert np.isclose(mechanism.frequency(y, (0, 1, 2), subset), table[subset].sum(), rtol=0, atol=1e-9)


@each_mechanism
def test_reports_follow_the_written_out_channel(mechanism):
    records, matrix = written_out(mechanism)
    assert math.isclose(mechanism.epsilon, math.log(channel.privacy_ratio(matrix / matrix.sum(1, keepdims=True))))
    for record, row in zip(records[[0, 5, 11]], matrix[[0, 5, 11]], strict=True):
        y = mechanism.perturb(np.tile(record, (20_000, 1)), rng=np.random.default_rng(2))
        assert check.law_z(y, dict(zip(map(tuple, records), row, strict=True))) < 5
        tilted = row * np.where(np.arange(12) % 2, 1.1, 0.9)
        assert check.law_z(y, dict(zip(map(tuple, records), tilted / tilted.sum(), strict=True))) > 5


@each_mechanism
def test_simulated_tables_have_the_law_of_the_written_out_channel(mechanism):
    population = Population.from_counts(np.resize([3, 0, 1, 5], mechanism.k))
    tables = mechanism.simulate_tables(population, rng=np.random.default_rng(3), runs=40_000)
    records, matrix = written_out(mechanism)
    n, counts = population.n, population.histogram.ravel()
    inverse = np.linalg.inv(matrix)
    spread = sum(c * (np.diag(row) - np.outer(row, row)) for c, row in zip(counts, matrix, strict=True))
    for cluster, runs in zip(mechanism.clusters, tables, strict=True):
        assert runs.shape == (40_000, *(mechanism.k[j] for j in cluster))
        sizes = [mechanism.k[j] for j in cluster]
        member = np.eye(math.prod(sizes))[np.ravel_multi_index(tuple(records[:, j] for j in cluster), sizes)]
        covariance = (inverse @ member).T @ spread @ (inverse @ member) / n**2
        assert check.mean_z(runs.reshape(40_000, -1), counts @ member / n) < 5
        assert check.covariance_z(runs.reshape(40_000, -1), covariance) < 5
        assert check.covariance_z(runs.reshape(40_000, -1), 1.1 * covariance) > 5


@each_mechanism
def test_simulated_marginals_have_the_law_of_the_written_out_channel(mechanism):
    population = Population.from_counts(np.resize([3, 0, 1, 5], mechanism.k))
    runs = np.hstack(mechanism.simulate(population, rng=np.random.default_rng(4), runs=40_000))
    records, matrix = written_out(mechanism)
    n, counts = population.n, population.histogram.ravel()
    member = np.hstack([records[:, [j]] == np.arange(size) for j, size in enumerate(mechanism.k)]).astype(float)
    score = np.linalg.inv(matrix) @ member
    spread = sum(c * (np.diag(row) - np.outer(row, row)) for c, row in zip(counts, matrix, strict=True))
    covariance = score.T @ spread @ score / n**2
    assert check.mean_z(runs, counts @ member / n) < 5
    assert check.covariance_z(runs, covariance) < 5 < check.covariance_z(runs, 1.1 * covariance)
    assert np.allclose(np.hstack(mechanism.variance(population)), np.diag(covariance), rtol=1e-9, atol=0)
    assert np.allclose(np.hstack(mechanism.mean(population)), counts @ member / n, rtol=1e-12, atol=0)


def test_arguments_are_kept_as_plain_tuples_and_matrices_as_read_only_copies():
    own = FLIP.copy()
    mechanism = ProductRR(k=[2, np.int64(3)], clusters=[[1], [np.int64(0)]], channels=[1.0, own])
    assert (mechanism.k, mechanism.clusters) == ((2, 3), ((1,), (0,)))
    assert isinstance(mechanism.channels, tuple)
    own[0] = own[1]
    assert np.array_equal(mechanism.channels[1], FLIP)
    with pytest.raises(ValueError, match="read-only"):
        mechanism.channels[1][0, 0] = 1


@pytest.mark.parametrize(("draw", "record", "report"), [(0.0, 1, 1), (1 - 2**-53, 0, 9)])
def test_the_ends_of_a_row_are_drawn_with_the_right_probability(draw, record, report):
    """Ten times 0.1 add up to less than 1, and a draw of 0 must not pick a report of probability 0."""
    matrix = np.eye(10)
    matrix[0] = 0.1
    mechanism = ProductRR(k=(10,), clusters=((0,),), channels=(matrix,))

    class Fixed(np.random.Generator):
        def random(self, size):
            return np.full(size, draw)

    assert mechanism.perturb([[record]], rng=Fixed(np.random.PCG64(1))).tolist() == [[report]]


@pytest.mark.parametrize(("budgets", "sizes"), [((3, 2), (2, 3)), ((Fraction(5, 2), 4), (3, 2))])
def test_the_total_variance_is_exact_whatever_the_data(budgets, sizes):
    matrix = channel.tensor(*(grr.channel(Fraction(e), k) for e, k in zip(budgets, sizes, strict=True)))
    inverse = np.array(
        [
            [math.prod(row) for row in itertools.product(*rows)]
            for rows in itertools.product(*(grr.inverse(Fraction(e), k) for e, k in zip(budgets, sizes, strict=True)))
        ]
    )
    assert (matrix @ inverse == np.eye(6, dtype=int)).all()
    lengths = [product.squared_length(Fraction(e), k) for e, k in zip(budgets, sizes, strict=True)]
    for users in ([0, 0], [1, 5]):
        statistic = lambda y: [Fraction(c, 2) for c in channel.counts(y, 6)] @ inverse  # noqa: E731
        _, covariance = channel.exact_moments(matrix, users, statistic)
        assert np.trace(covariance) == product.total_variance(lengths, 2)


def test_the_mixing_ratio_belongs_to_its_channel():
    for keep, k in ((Fraction(1, 10), 9), (Fraction(7, 10), 2)):
        e = product.mixing_ratio(keep, k)
        assert (grr.channel(e, k) == keep * np.eye(k, dtype=int) + (1 - keep) / k).all()
        assert math.isclose(product.keep_probability(math.log(e), k), keep)


def test_a_huge_domain_needs_no_table_for_its_marginals():
    mechanism = RRJoint(k=(1000,) * 20, channel=100.0)
    x = np.arange(400).reshape(20, 20)
    y = mechanism.perturb(x, rng=np.random.default_rng(1))
    assert [e.shape for e in mechanism.estimate(y)] == [(1000,)] * 20


SINGULAR = np.full((2, 2), 0.5)
BAD_CHANNELS = [
    ([[0.8, 0.3], [0.1, 0.9]], ValueError, "sum to 1"),
    ([[1.2, -0.2], [0.1, 0.9]], ValueError, "rows of probabilities"),
    ([[np.nan, 1], [0.1, 0.9]], ValueError, "rows of probabilities"),
    (SINGULAR, ValueError, "nonsingular; got rank 1 of 2"),
    (np.eye(3), ValueError, r"2 by 2 matrix; got shape \(3, 3\)"),
    (np.full((2, 3), 1 / 3), ValueError, r"2 by 2 matrix; got shape \(2, 3\)"),
    (0.0, ValueError, "epsilon must be"),
    ("1", TypeError, "epsilon must be"),
    (float("nan"), ValueError, "epsilon must be"),
]


@pytest.mark.parametrize(("bad", "error", "message"), BAD_CHANNELS, ids=lambda v: repr(v)[:30])
def test_bad_channels_are_refused(bad, error, message):
    with pytest.raises(error, match=message):
        RRIndependent(k=(2, 2), channels=(1.0, bad))


@pytest.mark.parametrize("clusters", [((0,),), ((0,), (0, 1)), ((0, 2), (1,)), ((0, 1), ())])
def test_clusters_that_do_not_partition_are_refused(clusters):
    with pytest.raises(ValueError, match="clusters must hold each of 0 to 1 exactly once; got"):
        ProductRR(k=(2, 2), clusters=clusters, channels=(1.0,) * len(clusters))


def test_wrong_numbers_of_channels_and_budgets_are_refused():
    for number in (1, 3):
        with pytest.raises(ValueError, match=f"channels must have one entry a cluster, 2; got {number}"):
            RRIndependent(k=(2, 2), channels=(1.0,) * number)
    with pytest.raises(ValueError, match="epsilons must have one entry an attribute, 2; got 3"):
        RRClusters(k=(2, 2), clusters=((0, 1),), epsilons=(1, 1, 1))


@given(
    x=st.sampled_from([[[0, 3]], [[-1, 0]], [[0.0, 1.0]], [0, 1], np.zeros((0, 2), int), [["a", "b"]], [[True, False]]])
)
def test_bad_records_are_refused(x):
    mechanism = RRIndependent(k=(2, 3), channels=(1.0, 1.0))
    for call in (lambda: mechanism.perturb(x, rng=np.random.default_rng(1)), lambda: mechanism.estimate(x)):
        with pytest.raises((TypeError, ValueError), match=r"(x|y) must .*; got"):
            call()


def test_bad_attributes_subsets_and_populations_are_refused():
    mechanism, y = RRIndependent(k=(2, 3), channels=(1.0, 1.0)), [[0, 1]]
    for attributes in ((0, 0), (2,), (-1,)):
        with pytest.raises(ValueError, match="attributes must be distinct numbers from 0 to 1; got"):
            mechanism.estimate_table(y, *attributes)
    for subset in (np.ones((2, 3)), np.ones((3, 2), bool)):
        with pytest.raises(ValueError, match="subset must be booleans of shape"):
            mechanism.frequency(y, (0, 1), subset)
    with pytest.raises(ValueError, match=r"population must have k = \(2, 3\); got"):
        mechanism.mean(Population.from_counts([1, 2]))
    rng, people = np.random.default_rng(1), Population.from_counts([[1, 2, 0], [0, 1, 1]])
    with pytest.raises(TypeError, match="rng must be"):
        mechanism.perturb(y, rng=1)
    for simulate in (mechanism.simulate, mechanism.simulate_tables):
        with pytest.raises(TypeError, match="rng must be"):
            simulate(people, rng=None, runs=1)
        with pytest.raises(ValueError, match="runs must be"):
            simulate(people, rng=rng, runs=0)

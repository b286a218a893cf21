"""Randomized response on several attributes: exact facts, agreement with written-out matrices, and bad input."""

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ldp_lib import _sampling, channel, check, grr
from ldp_lib.population import Population
from ldp_lib.tables import _checks, product
from ldp_lib.tables.clusters import RRClusters
from ldp_lib.tables.product import ProductRR, RRIndependent, RRJoint
from ldp_lib.tables.queries import ask, ask_cells

FLIP = np.array([[0.8, 0.2], [0.1, 0.9]])
TURN = np.array([[0.6, 0.3, 0.1], [0.1, 0.7, 0.2], [0.3, 0.1, 0.6]])
MECHANISMS = [
    RRIndependent(k=(2, 3, 2), channels=(1.0, 0.5, 2.0)),
    RRIndependent(k=(2, 3, 2), channels=(FLIP, TURN, 1.0)),
    RRJoint(k=(2, 3, 2), epsilon=1.5),
    ProductRR(k=(2, 3, 2), clusters=((2, 1), (0,)), channels=(np.kron(FLIP, TURN), 0.7)),
    RRClusters(k=(2, 3, 2), clusters=((0, 2), (1,)), epsilons=(1.0, 0.5, 2.0)),
]
each_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=range(len(MECHANISMS)))


def written_out(mechanism):
    """The channel over all records, (12, 12), by multiplying the clusters' probabilities record by record."""
    records = list(itertools.product(*map(range, mechanism.k)))
    matrix = np.ones((len(records), len(records)))
    for cluster, c in zip(mechanism.clusters_, mechanism.channels_, strict=True):
        sizes = [mechanism.k[j] for j in cluster]
        block = np.array(c) if isinstance(c, tuple) else grr.channel(math.exp(c), math.prod(sizes))
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
    assert np.isclose(ask_cells(mechanism, y, (0, 1, 2), subset).estimate, table[subset].sum(), rtol=0, atol=1e-9)


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
    for cluster, runs in zip(mechanism.clusters_, tables, strict=True):
        assert runs.shape == (40_000, *(mechanism.k[j] for j in cluster))
        sizes = [mechanism.k[j] for j in cluster]
        member = np.eye(math.prod(sizes))[np.ravel_multi_index(tuple(records[:, j] for j in cluster), sizes)]
        covariance = (inverse @ member).T @ spread @ (inverse @ member) / n**2
        assert check.mean_z(runs.reshape(40_000, -1), counts @ member / n) < 5
        assert check.variance_z(runs.reshape(40_000, -1), covariance) < 5
        assert check.variance_z(runs.reshape(40_000, -1), 1.1 * covariance) > 5


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
    assert check.variance_z(runs, covariance) < 5 < check.variance_z(runs, 1.1 * covariance)
    assert np.allclose(np.hstack(mechanism.variance(population)), np.diag(covariance), rtol=1e-9, atol=0)
    assert np.allclose(np.hstack(mechanism.mean(population)), counts @ member / n, rtol=1e-12, atol=0)


def test_arguments_are_kept_as_plain_tuples():
    own = FLIP.copy()
    mechanism = ProductRR(k=[2, np.int64(3)], clusters=[[1], [np.int64(0)]], channels=[1.0, own])
    assert (mechanism.k, mechanism.clusters_) == ((2, 3), ((1,), (0,)))
    own[0] = own[1]
    assert mechanism.channels_ == (1.0, tuple(map(tuple, FLIP.tolist())))
    again = ProductRR(k=(2, 3), clusters=((1,), (0,)), channels=(1, FLIP))
    assert again == mechanism
    assert hash(again) == hash(mechanism)
    assert again != ProductRR(k=(2, 3), clusters=((1,), (0,)), channels=(1, FLIP[::-1]))


@each_mechanism
def test_a_mechanism_is_its_parameters(mechanism):
    assert eval(repr(mechanism)) == mechanism
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism


@pytest.mark.parametrize("family", [RRIndependent, RRJoint, RRClusters, ProductRR], ids=lambda f: f.__name__)
@given(k=st.lists(st.integers(2, 10**6), min_size=1, max_size=20), epsilon=st.floats(1e-6, 50))
def test_domain_and_budget_suffice_and_the_budget_is_kept(family, k, epsilon):
    mechanism = family(k=tuple(k), epsilon=epsilon)
    assert mechanism.epsilon == epsilon
    assert math.fsum(mechanism.channels_) <= epsilon * (1 + 2.0**-50)
    assert eval(repr(mechanism)) == mechanism
    small = family(k=tuple(2 + size % 3 for size in k[:3]), epsilon=epsilon)
    assert math.log(channel.privacy_ratio(small.channel())) <= epsilon + 1e-9


def test_the_default_is_the_split_of_least_total_error():
    population = Population.from_counts(np.resize([3, 0, 1, 5], (2, 3, 2)))

    def error(mechanism):
        return np.concatenate(mechanism.variance(population)).sum()

    default = RRIndependent(k=(2, 3, 2), epsilon=3.0)
    for budgets in ((1.0, 1.0, 1.0), (0.9, 1.2, 0.9), (0.5, 1.5, 1.0)):
        assert error(default) < error(RRIndependent(k=(2, 3, 2), channels=budgets))


def test_what_is_given_twice_must_agree():
    assert RRIndependent(k=(2, 3), channels=(1.0, 0.5)).epsilon == 1.5
    assert RRIndependent(k=(2, 3), epsilon=1.6, channels=(1.0, 0.5)).epsilon == 1.6
    assert RRClusters(k=(2, 3), epsilons=(1.0, 0.5)).epsilon == 1.5
    assert math.isclose(RRJoint(k=(2,), matrix=FLIP).epsilon, math.log(8))
    for family, extra in (
        (RRIndependent, {"channels": (1.0, 0.5)}),
        (ProductRR, {"channels": (1.0, 0.5)}),
        (RRClusters, {"epsilons": (1.0, 0.5)}),
        (RRJoint, {"matrix": np.full((6, 6), 0.1) + np.diag([0.4] * 6)}),
    ):
        with pytest.raises(ValueError, match=r"channels must spend at most epsilon = 1\.4 together; got 1\."):
            family(k=(2, 3), epsilon=1.4, **extra)
        with pytest.raises(TypeError, match=r"epsilon must be a number from 1e-9 to 700.*; got None"):
            family(k=(2, 3))


@each_mechanism
def test_a_query_by_cells_is_the_sum_of_the_table(mechanism):
    y = written_out(mechanism)[0][np.random.default_rng(1).integers(12, size=50)]
    for attributes in ((0, 1, 2), (2, 0), (1,)):
        table = mechanism.estimate_table(y, *attributes)
        cells = np.argwhere(table > np.median(table))
        right = table[tuple(cells.T)].sum()
        for subset in (cells, cells[::-1].tolist(), table > np.median(table)):
            assert np.isclose(ask_cells(mechanism, y, attributes, subset).estimate, right, rtol=0, atol=1e-9)
        first = ask_cells(mechanism, y, attributes, lambda cells: cells[:, 0] == 1).estimate
        assert np.isclose(first, mechanism.estimate(y)[attributes[0]][1], rtol=0, atol=1e-9)


@pytest.mark.parametrize("family", [RRJoint, RRIndependent, RRClusters], ids=lambda f: f.__name__)
def test_one_record_of_sixty_attributes_needs_no_table(family):
    k, rng = (2,) * 60, np.random.default_rng(1)
    mechanism = family(k=k, epsilon=60.0)
    x = rng.integers(2, size=(3_000, 60))
    x[:900] = record = x[0]
    y = mechanism.perturb(x, rng=rng)
    found = ask(mechanism, y, {j: [int(value)] for j, value in enumerate(record)}).estimate
    if family is RRJoint:
        assert abs(found - 0.3) < 0.05
    share = 1.0
    for cluster, c in zip(mechanism.clusters_, mechanism.channels_, strict=True):
        keep, hit = product.keep_probability(c, 2 ** len(cluster)), (y[:, cluster] == record[list(cluster)]).all(axis=1)
        share = share * (hit - (1 - keep) / 2 ** len(cluster)) / keep
    assert np.isclose(found, share.mean(), rtol=1e-9, atol=0)
    pair = ask_cells(mechanism, y, (59, 0), lambda cells: cells.sum(axis=1) == 1).estimate
    assert np.isclose(pair, mechanism.estimate_table(y, 0, 59)[[0, 1], [1, 0]].sum(), rtol=1e-9, atol=1e-12)


def test_subsets_that_do_not_fit_are_refused():
    mechanism, y = RRJoint(k=(2, 3), epsilon=1.0), [[0, 1]]
    for subset, message in (
        (np.ones((2, 3)), "subset must be booleans of shape"),
        (np.ones((3, 2), bool), "subset must be booleans of shape"),
        ([[0, 3]], "subset must be from 0 to 2 in column 1; got 3"),
        ([[0, 1], [0, 1]], "subset must .*; got a cell twice"),
        (lambda cells: cells, "subset must give one boolean a row"),
    ):
        with pytest.raises(ValueError, match=message):
            ask_cells(mechanism, y, (0, 1), subset)
    assert ask_cells(mechanism, y, (0, 1), np.zeros((2, 3), bool)).estimate == 0
    large = RRJoint(k=(2,) * 60, epsilon=1.0)
    with pytest.raises(
        ValueError, match=r"attributes must have at most 2\*\*22 cells together; got 1152921504606846976"
    ):
        ask_cells(large, np.zeros((1, 60), int), range(60), lambda cells: cells[:, 0] == 0)
    with pytest.raises(ValueError, match="attributes must have at most"):
        large.estimate_table(np.zeros((1, 60), int))


def test_too_many_cells_are_refused():
    for k, epsilon in (((2,) * 2000, 1.0), ((2,) * 499, 1e-9)):
        with pytest.raises(ValueError, match=r"k must have fewer than 2\*\*500 cells in a cluster, .*; got 2\*\*"):
            RRJoint(k=k, epsilon=epsilon)
    mechanism = RRJoint(k=(2,) * 400, epsilon=1.0)
    assert np.isfinite(np.array(mechanism.estimate(np.zeros((3, 400), int)))).all()


@pytest.mark.parametrize(("draw", "record", "report"), [(0, 1, 1), (2**64 - 1, 0, 9)])
def test_the_ends_of_a_row_are_drawn_with_the_right_probability(draw, record, report):
    """Ten times 0.1 add up to less than 1, and a draw of 0 must not pick a report of probability 0."""
    matrix = np.eye(10)
    matrix[0] = 0.1
    mechanism = ProductRR(k=(10,), clusters=((0,),), channels=(matrix,))

    class Fixed(np.random.Generator):
        def integers(self, high, size, dtype):
            return np.full(size, draw if high == 2**64 else 9, dtype)

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


def test_the_printed_level_of_the_mixing_matrix_is_that_of_a_refusal():
    """`rr-multidim/s6.3.1-epsilon`: t k/(1 - t), printed, belongs to refusing where an answer is drawn anew."""
    k, t = 9, Fraction(1, 4)
    drawn = (1 - t) / k
    refusing = np.full((k, k + 1), drawn)
    np.fill_diagonal(refusing, t)
    assert (refusing.sum(axis=1) == 1).all()
    assert channel.privacy_ratio(refusing) == t * k / (1 - t) == 3


def test_the_mixing_ratio_belongs_to_its_channel():
    for keep, k in ((Fraction(1, 10), 9), (Fraction(7, 10), 2)):
        e = product.mixing_ratio(keep, k)
        assert (grr.channel(e, k) == keep * np.eye(k, dtype=int) + (1 - keep) / k).all()
        assert math.isclose(product.keep_probability(math.log(e), k), keep)


def test_a_huge_domain_needs_no_table_for_its_marginals():
    mechanism = RRJoint(k=(1000,) * 20, epsilon=100.0)
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


@pytest.mark.parametrize("family", [ProductRR, RRClusters], ids=lambda f: f.__name__)
@pytest.mark.parametrize("clusters", [((0,),), ((0,), (0, 1)), ((0, 2), (1,)), ((0, 1), ()), ((0, 5),), ((-1, 0),)])
def test_clusters_that_do_not_partition_are_refused(family, clusters):
    with pytest.raises(ValueError, match="clusters must hold each of 0 to 1 exactly once; got"):
        family(k=(2, 2), epsilon=1.0, clusters=clusters)


@pytest.mark.parametrize("family", [ProductRR, RRClusters], ids=lambda f: f.__name__)
@pytest.mark.parametrize(
    "clusters", [((0.9,), (1.2,)), ((0.0,), (1,)), ((False,), (True,)), (0, 1), 1.0, "01", (("0", "1"),)]
)
def test_clusters_that_are_no_integers_are_refused(family, clusters):
    with pytest.raises(TypeError, match=r"clusters must hold each of 0 to 1 exactly once, as .*; got"):
        family(k=(2, 2), epsilon=1.0, clusters=clusters)


@pytest.mark.parametrize("told", [{1: 0.5, 2: 1.5}, {2: 0.5, 1: 1.5}, {0.5, 1.5}, {"a": 0.5, "b": 1.5}, "12"])
def test_budgets_that_are_in_no_order_are_refused(told):
    """Of a dict the keys, 1 and 2, were the budgets: 3 was spent where 2 was asked for."""
    for family in (RRIndependent, ProductRR):
        with pytest.raises(TypeError, match="channels must be a sequence with one entry a cluster, 2; got"):
            family(k=(2, 3), channels=told)
    with pytest.raises(TypeError, match="epsilons must be a sequence with one entry an attribute, 2; got"):
        RRClusters(k=(2, 3), epsilons=told)


def test_wrong_numbers_of_channels_and_budgets_are_refused():
    for number in (1, 3):
        with pytest.raises(ValueError, match=f"channels must have one entry a cluster, 2; got {number}"):
            RRIndependent(k=(2, 2), channels=(1.0,) * number)
    with pytest.raises(ValueError, match="epsilons must have one entry an attribute, 2; got 3"):
        RRClusters(k=(2, 2), clusters=((0, 1),), epsilons=(1, 1, 1))
    with pytest.raises(TypeError, match=r"channels must be a sequence with one entry a cluster, 2; got 1\.0"):
        RRIndependent(k=(2, 2), channels=1.0)
    with pytest.raises(TypeError, match=r"epsilons must be a sequence with one entry an attribute, 2; got 1\.0"):
        RRClusters(k=(2, 2), epsilons=1.0)
    with pytest.raises(TypeError, match=r"matrix must be a matrix over all 4 cells; got 1\.0"):
        RRJoint(k=(2, 2), matrix=1.0)
    for bad in (-1.0, 0.0, 1e-10):
        with pytest.raises(ValueError, match="epsilon must be a number from 1e-9"):
            RRClusters(k=(2, 2), clusters=((0, 1),), epsilons=(bad, 3.0))


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
    with pytest.raises(ValueError, match=r"population must have domain sizes k = \(2, 3\); got"):
        mechanism.mean(Population.from_counts([1, 2]))
    rng, people = np.random.default_rng(1), Population.from_counts([[1, 2, 0], [0, 1, 1]])
    with pytest.raises(TypeError, match="rng must be"):
        mechanism.perturb(y, rng=1)
    for simulate in (mechanism.simulate, mechanism.simulate_tables):
        with pytest.raises(TypeError, match="rng must be"):
            simulate(people, rng=None, runs=1)
        with pytest.raises(ValueError, match="runs must be"):
            simulate(people, rng=rng, runs=0)


@pytest.mark.parametrize(("epsilon", "k"), [(1e-9, 3), (1e-6, 10**6), (0.0099, 7), (0.011, 2), (3.0, 50), (700.0, 4)])
def test_small_budgets_keep_their_digits(epsilon, k):
    e = _sampling.exp_below(epsilon)
    assert product.keep_probability(epsilon, k) == pytest.approx(float((e - 1) / (e - 1 + k)), rel=1e-12)


def test_what_a_cluster_spends_is_told():
    mechanism = ProductRR(k=(2, 3, 2), clusters=((2, 1), (0,)), channels=(1.0, FLIP))
    assert mechanism.probabilities[0] == pytest.approx((math.e / (math.e + 5), 1 / (math.e + 5)))
    assert mechanism.probabilities[1].tolist() == FLIP.tolist()
    assert mechanism.keeps == [pytest.approx((math.e - 1) / (math.e + 5)), None]
    assert mechanism.reports().dtype == np.uint8
    assert mechanism.reports().tolist() == [list(record) for record in itertools.product(range(2), range(3), range(2))]
    with pytest.raises(ValueError, match="it would have 1 rows and 8388608 columns"):
        RRJoint(k=(2,) * 23, epsilon=1.0).reports()
    with pytest.raises(ValueError, match="it would have 4096 rows and 4096 columns"):
        RRJoint(k=(2,) * 12, epsilon=1.0).channel()


@pytest.mark.parametrize("attributes", [(), (0, 0), (2,), (-1, 0), 2])
def test_attributes_are_distinct_and_exist(attributes):
    mechanism = RRIndependent(k=(2, 3), channels=(1.0, 1.0))
    with pytest.raises(ValueError, match="attributes must be distinct numbers from 0 to 1; got"):
        ask_cells(mechanism, [[0, 1]], attributes, np.ones((2, 3), bool))


def test_one_attribute_may_be_named_by_its_number():
    mechanism, y = RRJoint(k=(2, 3), epsilon=1.0), [[0, 1], [1, 1], [1, 2]]
    assert ask_cells(mechanism, y, 1, [[1]]).estimate == pytest.approx(mechanism.estimate(y)[1][1])


def test_a_table_of_two_to_the_thirty_first_cells_is_refused():
    with pytest.raises(ValueError, match=r"attributes must have at most 2\*\*30 cells together; got 2147483648"):
        RRJoint(k=(2,) * 31, epsilon=1.0).estimate_table(np.zeros((1, 31), int))


def test_the_largest_cluster_has_two_to_the_four_hundred_ninety_ninth_cells():
    assert RRJoint(k=(2,) * 499, epsilon=1.0).epsilon == 1.0  # kept with probability 1.05e-150
    for d, epsilon in ((499, 0.9), (500, 700.0)):
        with pytest.raises(ValueError, match=rf"budget of {epsilon} .* 1e-150; got 2\*\*{d}.0"):
            RRJoint(k=(2,) * d, epsilon=epsilon)


def test_channels_may_spend_seven_hundred_or_everything():
    assert RRIndependent(k=(2, 2), channels=(350.0, 350.0)).epsilon == 700
    assert RRIndependent(k=(2, 2), channels=(1.0, np.eye(2))).epsilon == math.inf
    assert RRIndependent(k=(2, 2), epsilon=math.inf, channels=(1.0, 2.0)).epsilon == math.inf
    with pytest.raises(ValueError, match="channels must spend at most 700 together; got 700"):
        RRIndependent(k=(2, 2), channels=(350.0, 350.5))
    with pytest.raises(ValueError, match=r"channels must spend at most epsilon = 3\.0 together; got 3\.000000"):
        RRIndependent(k=(2, 2), epsilon=3.0, channels=(1.0, 2.0 + 1e-14))
    assert RRIndependent(k=(2, 2), epsilon=np.float64(3), channels=(1, 2)).epsilon == 3


@pytest.mark.parametrize("matrix", [FLIP, TURN, TURN.T / TURN.T.sum(axis=1, keepdims=True)], ids=["flip", "turn", "t"])
def test_a_matrix_s_budget_is_rounded_up(matrix):
    columns = zip(*matrix.tolist(), strict=True)
    ratio = max(Fraction(max(column)) / Fraction(min(column)) for column in columns)
    for mechanism in (RRJoint(k=(len(matrix),), matrix=matrix), ProductRR(k=(len(matrix),), channels=(matrix,))):
        assert ratio <= _sampling.exp_below(mechanism.epsilon) <= ratio * (1 + Fraction(1, 10**14))


def test_the_last_digits_of_a_matrix_are_no_reason_to_refuse_it():
    for one, two, ratio in ((0.9, 0.25, 7.5), (0.9, 0.4, 6.0), (0.8, 0.25, 3.75), (0.55, 0.25, 2.2)):
        mechanism = RRJoint(k=(2,), epsilon=math.log(ratio), matrix=[[one, 1 - one], [two, 1 - two]])
        assert mechanism.epsilon == math.log(ratio)
    with pytest.raises(ValueError, match="channels must spend at most epsilon"):
        RRJoint(k=(2,), epsilon=math.log(7.5) * (1 - 1e-14), matrix=[[0.9, 1 - 0.9], [0.25, 0.75]])


def test_formulas_of_lengths_and_ratios_by_hand():
    assert product.squared_length(Fraction(3), 4) == Fraction(25 + 3, 4)
    assert product.total_variance([Fraction(7), Fraction(3, 2)], 5) == Fraction(19, 10)
    assert product.mixing_ratio(Fraction(1, 3), 4) == 3


@pytest.mark.parametrize(("given", "missing"), [(ProductRR, "channels"), (RRIndependent, "channels"), (RRClusters, "epsilons")])  # fmt: skip  # noqa: E501
def test_what_is_missing_is_named(given, missing):
    with pytest.raises(TypeError, match=f"epsilon must be a number from 1e-9 to 700 if there are no {missing}; got"):
        given(k=(2, 3))


@pytest.mark.parametrize("channels", [1.0, "12", None])
def test_channels_come_as_a_sequence(channels):
    with pytest.raises(TypeError, match="channels must be a sequence with one entry a cluster, 2; got"):
        _checks.check_channels(channels, [2, 3])

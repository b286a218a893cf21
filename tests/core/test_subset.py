"""Subset selection: exact facts by enumeration, the law of its coins, and its place among the frequency oracles."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from ldp_lib import JRR, SignedRR, _sets, channel, check, grr, hashing, pure, subset, unary
from ldp_lib.population import Population
from ldp_lib.subset import SubsetSelection

DOMAINS = [(k, size) for k in range(2, 7) for size in range(1, k)]
each_domain = pytest.mark.parametrize(("k", "size"), DOMAINS)


@each_domain
@pytest.mark.parametrize("e", [Fraction(2), Fraction(7, 5)])
def test_the_channel_has_ratio_e_and_the_stated_probabilities(k, size, e):
    matrix = subset.channel(e, k, size)
    assert [sum(row) for row in matrix] == [1] * k
    assert channel.privacy_ratio(matrix) == e
    holds = np.array([[v in names for names in itertools.combinations(range(k), size)] for v in range(k)])
    support = matrix @ holds.T
    p, q = subset.probabilities(e, k, size)
    assert (support == [[p if u == v else q for v in range(k)] for u in range(k)]).all()
    share = Fraction(size, k)
    keep = subset.keep_probability(e, share)
    assert p == keep + (1 - keep) * share
    assert p - q == keep * Fraction(k - size, k - 1)


@pytest.mark.parametrize("k", [2, 3, 7])
def test_size_one_is_randomized_response(k):
    e = Fraction(5, 2)
    assert subset.probabilities(e, k, 1) == grr.probabilities(e, k)
    assert (subset.channel(e, k, 1) == grr.channel(e, k)).all()


@each_domain
def test_the_error_is_the_total_variance_for_any_data(k, size):
    e, n = Fraction(3), 7
    for counts in ([n] + [0] * (k - 1), [4, 3] + [0] * (k - 2)):
        shares = [Fraction(c, n) for c in counts]
        held = sum(pure.variance(f, n, *subset.probabilities(e, k, size)) for f in shares)
        assert n * held == subset.error(e, k, size) - (1 - Fraction(1, k))
    uniform = sum(pure.iid_variance(Fraction(1, k), 1, *subset.probabilities(e, k, size)) for _ in range(k))
    assert uniform == subset.error(e, k, size)


def test_mean_and_covariance_by_enumeration():
    e, users = Fraction(3), [0, 0, 2]
    k, size = 4, 2
    sets = list(itertools.combinations(range(k), size))
    p, q = subset.probabilities(e, k, size)

    def estimate(reports):
        counts = Counter(v for y in reports for v in sets[y])
        return [pure.estimate(Fraction(counts[v]), 3, p, q) for v in range(k)]

    mean, covariance = channel.exact_moments(subset.channel(e, k, size), users, estimate)
    assert list(mean) == [Fraction(2, 3), 0, Fraction(1, 3), 0]
    assert list(np.diag(covariance)) == [pure.variance(f, 3, p, q) for f in mean]
    assert not covariance.sum(axis=1).any()


@pytest.mark.parametrize("k", [2, 3, 9, 10, 64, 301])
def test_the_optimal_size_is_the_best_of_all(k):
    for e in [Fraction(11, 10), Fraction(3, 2), Fraction(2), Fraction(9, 2), Fraction(40)]:
        assert subset.optimal_size(e, k) == min(range(1, k), key=lambda size: subset.error(e, k, size))


def test_the_rounded_size_is_not_always_best():
    e, k = Fraction(2), 7
    assert round(k / (e + 1)) == 2 == subset.optimal_size(e, k)
    worse = [
        (e, k)
        for e in (Fraction(x, 20) for x in range(21, 200))
        for k in range(3, 60)
        if max(round(k / (e + 1)), 1) != subset.optimal_size(e, k)
    ]
    assert worse
    for e, k in worse:
        assert subset.error(e, k, subset.optimal_size(e, k)) <= subset.error(e, k, max(round(k / (e + 1)), 1))


def test_no_other_pure_oracle_has_less_total_error():
    for epsilon in (0.1, 0.5, 1.0, 2.0, 4.0, 8.0):
        e = math.exp(epsilon)
        for k in (2, 3, 4, 8, 16, 50, 300):
            best = subset.error(e, k, subset.optimal_size(e, k)) - (1 - 1 / k)
            others = [
                grr.probabilities(e, k),
                unary.oue_probabilities(e),
                unary.sue_probabilities(math.sqrt(e)),
                hashing.probabilities(e, hashing.optimal_g(e)),
                *(unary.probabilities(e, q) for q in np.linspace(0.01, 0.99, 50)),
            ]
            for p, q in others:
                assert best <= (p * (1 - p) + (k - 1) * q * (1 - q)) / (p - q) ** 2 * (1 + 1e-12)


def exact_reports(e, k, size, x):
    """The law of one user's report."""
    row = subset.channel(Fraction(e), k, size)[x]
    return {tuple(names): float(r) for names, r in zip(itertools.combinations(range(k), size), row, strict=True)}


@pytest.mark.parametrize("route", [_sets.draw_sets, _sets._floyd], ids=["tables", "floyd"])
@pytest.mark.parametrize(("k", "size", "x"), [(4, 2, 0), (5, 3, 4), (5, 2, 2), (4, 3, 3), (3, 1, 1)])
def test_sets_have_the_stated_law(route, k, size, x):
    rng, n, e = np.random.default_rng(1), 20_000, 3
    told = rng.random(n) < subset.keep_probability(e, size / k)
    sets = route(np.full(n, x), told, k, size, rng)
    assert (np.diff(sets.astype(int), axis=1) > 0).all()
    seen = [tuple(map(int, row)) for row in sets]
    codes = {names: i for i, names in enumerate(itertools.combinations(range(k), size))}
    law = {(codes[names],): r for names, r in exact_reports(e, k, size, x).items()}
    wrong = {(codes[names],): r for names, r in exact_reports(Fraction(12, 5), k, size, x).items()}
    drawn = np.array([codes[names] for names in seen])
    assert check.law_z(drawn, law) < 5 < check.law_z(drawn, wrong)


def test_simulated_counts_have_the_exact_joint_law():
    e, k, size, users = Fraction(2), 4, 2, [0, 0, 3]
    sets = list(itertools.combinations(range(k), size))
    law = channel.exact_law(
        subset.channel(e, k, size), users, lambda reports: [sum(v in sets[y] for y in reports) for v in range(k)]
    )
    mechanism = SubsetSelection(k=k, epsilon=math.log(2), size=size)
    population = Population.from_records(np.array(users), k=k)
    runs = mechanism.simulate(population, rng=np.random.default_rng(2), runs=40_000)
    p, q = mechanism.probabilities
    counts = np.rint(runs * 3 * (p - q) + 3 * q).astype(int)
    assert check.law_z(counts, {c: float(r) for c, r in law.items()}) < 5
    foil = channel.exact_law(
        subset.channel(e, k, size), [0, 1, 3], lambda reports: [sum(v in sets[y] for y in reports) for v in range(k)]
    )
    assert check.law_z(counts, {c: float(r) for c, r in foil.items()}) > 5


def test_estimates_sum_to_one_and_reports_are_small():
    mechanism = SubsetSelection(k=300, epsilon=1.0)
    y = mechanism.perturb(np.arange(300), rng=np.random.default_rng(3))
    assert y.shape == (300, mechanism.size_)
    assert y.dtype == np.uint16
    assert abs(mechanism.estimate(y).sum() - 1) < 1e-9


def test_simulate_is_free_of_the_number_of_users():
    population = Population.from_counts([10**8, 3 * 10**8, 5 * 10**8, 0, 7])
    runs = SubsetSelection(k=5, epsilon=0.3).simulate(population, rng=np.random.default_rng(4), runs=2_000)
    assert check.variance_z(runs, SubsetSelection(k=5, epsilon=0.3).variance(population)) < 5


@pytest.mark.parametrize(
    ("kwargs", "error", "message"),
    [
        ({"k": 5, "epsilon": 1.0, "size": 0}, ValueError, "size must be an integer from 1 to k-1 = 4; got 0"),
        ({"k": 5, "epsilon": 1.0, "size": 5}, ValueError, "size must be an integer from 1 to k-1 = 4; got 5"),
        ({"k": 5, "epsilon": 1.0, "size": 2.0}, TypeError, "size must be an integer from 1 to k-1 = 4; got 2.0"),
        ({"k": 5, "epsilon": 1.0, "size": True}, TypeError, "size must be"),
        ({"k": 1, "epsilon": 1.0}, ValueError, "k must be"),
        ({"k": 5, "epsilon": 0.0}, ValueError, "epsilon must be"),
    ],
)
def test_bad_parameters_are_named(kwargs, error, message):
    with pytest.raises(error, match=message):
        SubsetSelection(**kwargs)


@pytest.mark.parametrize(
    ("y", "error", "message"),
    [
        ([[0, 1, 2]], ValueError, r"y must have at least one row of 2 ascending integers from 0 to 4; got shape"),
        (np.zeros((0, 2), int), ValueError, "got shape"),
        ([[0.0, 1.0]], TypeError, "got type float64"),
        ([[0, 1], [3, 3]], ValueError, r"got \[3, 3\] in row 1"),
        ([[1, 0]], ValueError, r"got \[1, 0\] in row 0"),
        ([[1, 5]], ValueError, r"got \[1, 5\] in row 0"),
        ([[-1, 2]], ValueError, r"got \[-1, 2\] in row 0"),
    ],
)
def test_bad_reports_are_named(y, error, message):
    with pytest.raises(error, match=message):
        SubsetSelection(k=5, epsilon=1.0, size=2).estimate(y)


def test_too_many_users_to_simulate_is_a_clear_error():
    with pytest.raises(ValueError, match=r"at most 10\*\*9 users"):
        SubsetSelection(k=4, epsilon=0.3).simulate(
            Population.from_counts([10**9, 1, 1, 1]), rng=np.random.default_rng(1), runs=1
        )


def test_sets_of_three_ascend_all_the_way():
    mechanism = SubsetSelection(k=6, epsilon=1.0, size=3)
    assert mechanism.count([[0, 1, 5], [0, 2, 3]]).tolist() == [2, 2, 1, 1, 1, 0, 1]
    for row in ([0, 2, 1], [1, 0, 2], [0, 1, 1], [1, 1, 2], [0, 1, 6], [-1, 0, 1]):
        with pytest.raises(ValueError, match=rf"3 ascending integers from 0 to 5; got \[{str(row)[1:-1]}\] in row 1"):
            mechanism.estimate([[0, 1, 5], row])
    for y in ([0, 1, 2], [[[0, 1, 2]]], [[0, 1]], [[0, 1, 2, 3]]):
        with pytest.raises(
            ValueError, match="y must have at least one row of 3 ascending integers from 0 to 5; got shape"
        ):
            mechanism.estimate(y)


def test_a_thousand_million_users_can_be_simulated():
    mechanism, rng = SubsetSelection(k=4, epsilon=0.3), np.random.default_rng(1)
    assert mechanism.simulate(Population.from_counts([10**9, 0, 0, 0]), rng=rng, runs=1).shape == (1, 4)
    with pytest.raises(ValueError, match=r"at most 10\*\*9 users to simulate; got n = 1000000001"):
        mechanism.simulate(Population.from_counts([10**9, 1, 0, 0]), rng=rng, runs=1)


@pytest.mark.parametrize("size", [1, 3])
def test_large_domains_are_drawn_block_by_block(size):
    k, n = 1_500, 2_000  # more sets than are listed, and more users than one block holds
    x = np.arange(n) % k
    sets = _sets.draw_sets(x, np.arange(n) % 2 == 0, k, size, np.random.default_rng(2))
    assert (sets.shape, sets.dtype) == ((n, size), np.uint16)
    assert (np.diff(sets.astype(int), axis=1) > 0).all()
    assert sets.max() < k
    holds = (sets == x[:, None]).any(axis=1)
    assert holds[::2].all()
    assert holds[1::2].mean() < 0.02
    assert abs(sets[1::2].mean() - (k - 1) / 2) < 5 * k / math.sqrt(12 * n * size / 2)


@pytest.mark.parametrize("told", [False, True])
def test_sets_by_least_keys_are_equally_likely(told, monkeypatch):
    """All keys of 3 values, one user each: without a tie at the end of the set each set comes from as many of them."""
    keys, asked = np.array(list(itertools.product(range(3), repeat=4)), np.uint32), []

    def random_bits(dtype, size, rng):
        asked.append(size)
        return keys.ravel().copy() if len(asked) == 1 else np.tile(np.arange(4, dtype=dtype), size // 4)

    monkeypatch.setattr(_sets._sampling, "random_bits", random_bits)
    drawn = _sets._least_keys(np.full(81, 3), np.full(81, told), 4, 2, None)
    if told:
        keys[:, 3] = 0
    second, third = np.sort(keys, axis=1)[:, 1:3].T
    assert asked == [4 * 81, 4 * np.count_nonzero(second == third)]  # who has a tie draws anew
    found = Counter(map(tuple, drawn[second < third].tolist()))
    assert set(found) == {names for names in itertools.combinations(range(4), 2) if 3 in names or not told}
    assert len(set(found.values())) == 1
    assert (drawn[second == third] == ([0, 3] if told else [0, 1])).all()


def test_a_block_holds_one_user_at_least():
    k = 2**20 + 1
    sets = _sets.draw_sets(np.array([k - 1, 5, 0]), np.array([True, False, True]), k, 2, np.random.default_rng(3))
    assert (sets[:, 0] < sets[:, 1]).all()
    assert (sets[0, 1], sets[2, 0]) == (k - 1, 0)


def test_the_best_sizes_of_small_domains():
    assert [subset.optimal_size(e, 2) for e in (1.001, 5.0)] == [1, 1]
    assert [subset.optimal_size(1.001, k) for k in (3, 4, 5, 6)] == [1, 2, 2, 3]
    assert subset.error(Fraction(6), 10, 1) == subset.error(Fraction(6), 10, 2)  # a tie goes to the smaller
    assert subset.optimal_size(Fraction(6), 10) == 1
    assert SubsetSelection(k=9, epsilon=0.001).size_ == 4
    assert SubsetSelection(k=9, epsilon=0.001).size is None
    assert SubsetSelection(k=9, epsilon=0.001, size=8).size == 8
    assert SubsetSelection(k=9, epsilon=0.001, size=np.int64(1)).size == 1
    with pytest.raises(TypeError, match="size must be an integer from 1 to k-1 = 8; got"):
        SubsetSelection(k=9, epsilon=0.001, size=np.bool_(True))


def test_only_oracles_whose_reports_depend_on_other_users_have_a_smaller_total_variance_than_the_best_sets():
    """GRR, unary encoding and hashing have none, at any budget; secret halves of the users do."""
    for k, epsilon in itertools.product((2, 3, 9, 40), (0.1, 1.0, 4.0)):
        least, people = SubsetSelection(k=k, epsilon=epsilon), Population.from_counts(np.arange(1, k + 1))
        for alone in (grr.GRR, unary.SUE, unary.OUE, hashing.OLH):
            assert alone(k=k, epsilon=epsilon).variance(people).sum() > (1 - 1e-9) * least.variance(people).sum()
    people = Population.from_counts([1, 99])
    least = SubsetSelection(k=2, epsilon=1.0).variance(people).sum()
    for together in (SignedRR, JRR):
        assert issubclass(together, pure.Oracle)
        assert together(k=2, epsilon=1.0).variance(people).sum() < 0.7 * least


def test_sets_are_listed_in_order_and_not_too_many():
    mechanism = SubsetSelection(k=4, epsilon=1.0, size=2)
    assert mechanism.reports().tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]
    total = 3 * math.e + 3
    wanted = [[(math.e if x in names else 1) / total for names in mechanism.reports().tolist()] for x in range(4)]
    assert mechanism.channel() == pytest.approx(np.array(wanted))
    for build in (
        SubsetSelection(k=30, epsilon=1.0, size=5).reports,
        SubsetSelection(k=30, epsilon=1.0, size=5).channel,
    ):
        with pytest.raises(ValueError, match="it would have 30 rows and 142506 columns"):
            build()


def test_the_proved_budget_is_that_of_the_ratio():
    mechanism = SubsetSelection(k=5, epsilon=0.4, size=2)
    p, q = (Fraction(share) for share in mechanism.probabilities)
    keep = (p - q) * Fraction(4, 3)  # p - q is keep (k - size) / (k - 1)
    assert mechanism.realised_epsilon() == pytest.approx(
        math.log1p(float(keep / (1 - keep) * Fraction(5, 2))), rel=1e-9
    )

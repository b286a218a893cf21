"""Budget splits: against 50 digits, never overspent in any order of summation; and the mechanisms that spend them."""

import itertools
import math
import pickle
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ldp_lib import channel, check, grr, splitting, unary
from ldp_lib.book import printed_obrr
from ldp_lib.population import Population
from ldp_lib.splitting import BRR, MRR, OBRR, OMRR, SPL, allocation

SPLITS = [allocation.brr, allocation.mrr, allocation.obrr, allocation.omrr]
each_split = pytest.mark.parametrize("split", SPLITS, ids=lambda split: split.__name__)
domains = st.lists(st.integers(2, 10**6), min_size=1, max_size=40)
budgets = st.floats(1e-6, 100)


def reference(k, epsilon, multivariate):
    """The optimal split in 50 digits, to 24 of them, by bisection in the logarithm of the common marginal error."""

    def budget(size, level):  # bisection on the marginal error itself, no cubic
        low, high = mpmath.mpf(epsilon) * mpmath.mpf("1e-12"), mpmath.mpf(epsilon)
        for _ in range(90):
            b = (low + high) / 2
            if multivariate:
                x = mpmath.exp(b)
                marginal = 2 * (size - 1) * x * (x + size - 1) / (x - 1) ** 3
            else:
                x = mpmath.exp(b / 2)
                marginal = size * x * (x + 1) / (2 * (x - 1) ** 3)
            low, high = (b, high) if marginal > level else (low, b)
        return low

    with mpmath.workdps(50):
        low, high = mpmath.mpf(-1000), mpmath.mpf(1000)
        for _ in range(90):
            level = (low + high) / 2
            found = [budget(size, mpmath.exp(level)) for size in k]
            low, high = (level, high) if mpmath.fsum(found) > epsilon else (low, level)
        return found


@pytest.mark.parametrize("k", [(2, 10**6), (5, 6, 150), (2, 3, 3)], ids=str)
@pytest.mark.parametrize("epsilon", [2e-5, 0.37, 8.0, 100.0])
@pytest.mark.parametrize("multivariate", [False, True])
def test_optimal_budgets_agree_with_fifty_digits(k, epsilon, multivariate):
    split = allocation.omrr if multivariate else allocation.obrr
    exact = reference(k, epsilon, multivariate)
    found = split(k, epsilon)
    assert max(abs(b - e) / e for b, e in zip(found, exact, strict=True)) < 1e-12


def conditions(k, b, multivariate):
    """The marginal errors at these budgets in 50 digits, with their slopes: equal at the optimum."""
    with mpmath.workdps(50):
        if multivariate:
            x = [mpmath.exp(mpmath.mpf(v)) for v in b]
            return [2 * (s - 1) * v * (v + s - 1) / (v - 1) ** 3 for s, v in zip(k, x, strict=True)]
        x = [mpmath.exp(mpmath.mpf(v) / 2) for v in b]
        return [s * v * (v + 1) / (2 * (v - 1) ** 3) for s, v in zip(k, x, strict=True)]


@pytest.mark.parametrize("multivariate", [False, True])
@settings(max_examples=60)
@given(k=domains, epsilon=budgets)
def test_marginal_errors_are_equal_at_the_optimum(multivariate, k, epsilon):
    found = (allocation.omrr if multivariate else allocation.obrr)(k, epsilon)
    marginal = conditions(k, map(float, found), multivariate)
    # d log marginal / d log b is at most 3 + 3 b in size, so this bounds the relative error of b by about 1e-12.
    free = found > allocation.LEAST
    # Who has the least budget would have less, were it allowed; all others' errors fall equally fast.
    equal = [m for m, f in zip(marginal, free, strict=True) if f]
    assert max(equal) / min(equal) - 1 < 1e-12 * (3 + 3 * max(found)) + (not free.all()) * 1e-9
    assert max(marginal) <= max(equal) * (1 + 1e-9)
    assert (found > 0).all()
    order = np.argsort(k, kind="stable")
    assert (np.diff(found[order]) >= 0).all()
    assert math.fsum(found) >= epsilon * (1 - (len(k) + 8) * 2.0**-52)


@each_split
@settings(max_examples=200)
@given(k=domains, epsilon=st.one_of(budgets, st.floats(1e-7, 690)), seed=st.integers(0, 2**32))
def test_no_order_of_summation_exceeds_the_budget(split, k, epsilon, seed):
    b = split(k, epsilon)
    assert b.shape == (len(k),)
    assert b.min() >= allocation.LEAST
    rng = np.random.default_rng(seed)
    assert sum(map(Fraction, b.tolist())) <= Fraction(epsilon)
    for order in (b, np.sort(b), np.sort(b)[::-1], rng.permutation(b), rng.permutation(b)):
        assert sum(order.tolist()) <= epsilon
        assert math.fsum(order) <= epsilon
        assert np.sum(order) <= epsilon
        assert np.cumsum(order)[-1] <= epsilon
        assert np.add.reduceat(order, [0, len(order) // 2])[::1].sum() <= epsilon or len(order) == 1
        assert order @ np.ones(len(order)) <= epsilon


@each_split
def test_a_hundred_thousand_attributes_do_not_exceed_the_budget(split):
    k = np.random.default_rng(1).integers(2, 10**6, 100_000)
    for epsilon in (2e-4, 0.1, 1.0, 100.0):
        b = split(k, epsilon)
        for order in (b, np.sort(b), np.sort(b)[::-1]):
            assert max(sum(order.tolist()), math.fsum(order), order.sum(), np.cumsum(order)[-1]) <= epsilon
        assert math.fsum(b) >= epsilon * (1 - 2e-10)


@each_split
def test_the_least_budget_of_a_report_is_never_undercut(split):
    for k, epsilon in (((2, 10**6), 1e-6), ((2, 2**63), 1e-6), ((2, 10**9, 5), 1e-8), ((2, 3), 2.0000001e-9)):
        b = split(k, epsilon)
        assert b.min() >= allocation.LEAST
        assert epsilon * (1 - 1e-14) <= math.fsum(b) <= epsilon
    with pytest.raises(ValueError, match=r"epsilon must be at least 1e-09 for each of 2 attributes; got 1\.9e-09"):
        split((2, 3), 1.9e-9)
    with pytest.raises(ValueError, match=r"k must be integers of at most 2\*\*63; got 10+$"):
        split((2, 10**155), 1.0)


@each_split
@given(k=st.integers(2, 10**6), d=st.integers(1, 50), epsilon=budgets)
def test_equal_domains_get_equal_budgets(split, k, d, epsilon):
    b = split([k] * d, epsilon)
    assert len(set(b.tolist())) == 1
    assert b[0] == pytest.approx(epsilon / d, rel=1e-13)
    assert d > 1 or b[0] == epsilon


def test_round_shares_stay_round():
    assert allocation.brr((2, 9), 1.0).tolist() == [0.5, 0.5]
    assert allocation.obrr((7, 7, 7), 3.0).tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("split", "error", "scale"),
    [(allocation.obrr, allocation.brr_error, 0.5), (allocation.omrr, allocation.mrr_error, 1.0)],
)
@given(k=st.lists(st.integers(2, 1000), min_size=2, max_size=6), epsilon=st.floats(0.01, 20), seed=st.integers(0, 99))
def test_no_other_split_has_less_error(split, error, scale, k, epsilon, seed):
    sizes, b = np.array(k), split(k, epsilon)
    other = np.random.default_rng(seed).dirichlet(np.ones(len(k))) * epsilon
    least = error(np.expm1(scale * b), sizes).sum()
    for weight in (1e-3, 0.1, 1.0):
        mixed = (1 - weight) * b + weight * other
        assert error(np.expm1(scale * mixed), sizes).sum() >= least * (1 - 1e-12)


@pytest.mark.parametrize("e", [Fraction(3), Fraction(5, 2)])
@pytest.mark.parametrize("k", [2, 3])
def test_errors_equal_enumeration(e, k):
    x = [0, 1, 1]
    p, q = grr.probabilities(e, k)
    _, covariance = channel.exact_moments(
        grr.channel(e, k), x, lambda r: [(Fraction(r.count(v)) - 3 * q) / (3 * (p - q)) for v in range(k)]
    )
    assert 3 * np.trace(covariance) == allocation.mrr_error(e - 1, k)
    p, q = unary.sue_probabilities(e)
    _, covariance = channel.exact_moments(
        unary.channel(p, q, k),
        x,
        lambda r: [(Fraction(sum(y >> v & 1 for y in r)) - 3 * q) / (3 * (p - q)) for v in range(k)],
    )
    assert 3 * np.trace(covariance) == allocation.brr_error(e - 1, k)


BAD = [
    ([], ValueError, "k must be an integer of at least 2"),
    ((2, 1), ValueError, "k must be an integer of at least 2"),
    ((2, 2.5), TypeError, "k must be an integer of at least 2"),
    ((2, True), TypeError, "k must be an integer of at least 2"),
    ("23", TypeError, "k must be an integer of at least 2"),
    (None, TypeError, "k must be an integer of at least 2"),
    (np.array([2, 1]), ValueError, "k must be an integer of at least 2"),
    (np.array([2.0, 3.0]), TypeError, "k must be an integer of at least 2"),
    (np.array([], dtype=int), ValueError, "k must be an integer of at least 2"),
]


@each_split
@pytest.mark.parametrize(("k", "error", "message"), BAD, ids=lambda value: repr(value)[:25])
def test_bad_domains_are_refused(split, k, error, message):
    with pytest.raises(error, match=message):
        split(k, 1.0)


@each_split
@given(epsilon=st.one_of(st.floats(max_value=0), st.sampled_from([math.nan, math.inf, "1", None, True, [1.0], 1e300])))
def test_bad_budgets_are_refused(split, epsilon):
    with pytest.raises((TypeError, ValueError), match="epsilon must be a number from"):
        split((2, 3), epsilon)


def test_equal_shares_are_multiples_of_the_spacing():
    for d, epsilon in ((3, 1.0), (7, 0.3), (5, 100.0), (1, 0.1)):
        spacing = Fraction(math.ulp(epsilon))
        share = Fraction(allocation.brr((9,) * d, epsilon)[0])
        assert share % spacing == 0
        assert share * d <= Fraction(epsilon) < (share + spacing) * d
    assert allocation.mrr((2, 3), 0.5).tolist() == allocation.brr((2, 3), 0.5).tolist() == [0.25, 0.25]


@pytest.mark.parametrize("split", [allocation.obrr, allocation.omrr])
def test_the_best_split_leaves_only_what_rounding_may_take(split):
    for k in ((2, 5), (3, 2, 90), tuple(range(2, 40))):
        for epsilon in (0.1, 1.0, 30.0):
            spent = sum(map(Fraction, split(k, epsilon).tolist()))
            assert Fraction(epsilon) * (1 - Fraction(len(k) + 4, 2**52)) < spent <= Fraction(epsilon)
    least = math.nextafter(2e-9, 1)  # what is kept for rounding leaves less than the least for both
    assert split((2, 3), least).tolist() == [least / 2] * 2
    assert least / 2 >= allocation.LEAST
    assert split((7, 2, 7), 1.0)[0] == split((7, 2, 7), 1.0)[2] > split((7, 2, 7), 1.0)[1]


def test_the_best_split_by_hand():
    assert allocation.obrr((2, 8), 2 * math.log(6)) == pytest.approx(2 * np.log([2, 3]), rel=1e-13)
    assert allocation.omrr((4, 2), math.log(3)) == pytest.approx(np.log([2, 1.5]), rel=1e-13)


@pytest.mark.parametrize("split", SPLITS)
def test_domain_sizes_are_at_most_so_many(split):
    assert split((2, 2**63), 1.0).shape == (2,)
    assert split(np.array([2, 3], dtype=np.uint8), 1.0).tolist() == split([2, 3], 1.0).tolist()
    for k in ((2, 2**63 + 1), np.array([2, 2**63 + 1], dtype=np.uint64), 2**63 + 1):
        with pytest.raises(ValueError, match=rf"k must be integers of at most 2\*\*63; got {2**63 + 1}"):
            split(k, 1.0)
    with pytest.raises(TypeError, match="k must be"):
        split(np.array([[2, 3]]), 1.0)
    assert split((5,), 1e-9).tolist() == [1e-9]
    for k, epsilon in (((2, 3), 2e-9), ((2, 2, 2), 3e-9)):
        assert split(k, epsilon * (1 + 1e-12)).min() >= 1e-9
        with pytest.raises(ValueError, match=f"epsilon must be at least 1e-09 for each of {len(k)} attributes; got"):
            split(k, epsilon * (1 - 1e-12))
    with pytest.raises(ValueError, match=r"got 2e-09, that is 9\.99999999999999\d*e-10"):  # parts are rounded down
        split((2, 3), 2e-9)


@pytest.mark.parametrize(("z", "k"), [(Fraction(2), 5), (Fraction(1, 3), 2)])
def test_errors_by_hand(z, k):
    assert allocation.brr_error(z, k) == {5: Fraction(15, 4), 2: Fraction(24)}[k]
    assert allocation.mrr_error(z, k) == {5: Fraction(9), 2: Fraction(24)}[k]


# The mechanisms.

K = (3, 2, 4)
FAMILIES = [SPL, BRR, MRR, OBRR, OMRR]
MECHANISMS = [make(k=K, epsilon=3.0) for make in FAMILIES]
each_mechanism = pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
TABLE = np.arange(24).reshape(K) % 3
POPULATION = Population.from_counts(TABLE)


def flat(arrays):
    return np.concatenate(arrays, axis=-1)


@each_mechanism
def test_simulate_and_perturb_have_the_stated_law(mechanism):
    mean, variance = flat(mechanism.mean(POPULATION)), flat(mechanism.variance(POPULATION))
    shares = [TABLE.sum(axis=tuple(a for a in range(3) if a != j)) / TABLE.sum() for j in range(3)]
    assert np.allclose(mean, flat(shares), rtol=1e-15, atol=0)
    runs = flat(mechanism.simulate(POPULATION, rng=np.random.default_rng(1), runs=20_000))
    assert check.mean_z(runs, mean) < 5
    assert check.variance_z(runs, variance) < 5 < check.variance_z(runs, 1.1 * variance)
    rng, x = np.random.default_rng(2), POPULATION.users()
    users = np.array([flat(mechanism.estimate(mechanism.perturb(x, rng=rng))) for _ in range(5_000)])
    assert check.mean_z(users, mean) < 5 < check.mean_z(users, mean + 0.1 * np.sqrt(variance))
    assert check.variance_z(users, variance) < 5 < check.variance_z(users, 1.25 * variance)
    assert check.variance_z(users, np.cov(runs.T)) < 5
    # Given the data, two attributes' estimates are uncorrelated.
    together = np.cov(runs.T)
    independent = np.zeros_like(together)
    for a, b in itertools.pairwise(np.cumsum((0, *K))):
        independent[a:b, a:b] = together[a:b, a:b]
    assert check.variance_z(users, independent) < 5


@each_mechanism
def test_shapes_and_types(mechanism):
    rng = np.random.default_rng(3)
    reports = mechanism.perturb(POPULATION.users(), rng=rng)
    assert reports.shape == (POPULATION.n, 9 if isinstance(mechanism, (BRR, OBRR)) else 3)
    assert reports.dtype == np.uint8
    assert [e.shape for e in mechanism.estimate(reports)] == [(k,) for k in K]
    assert [s.shape for s in mechanism.simulate(POPULATION, rng=rng, runs=4)] == [(4, k) for k in K]
    again = mechanism.perturb(POPULATION.users(), rng=np.random.default_rng(4))
    assert np.array_equal(again, mechanism.perturb(POPULATION.users(), rng=np.random.default_rng(4)))
    assert math.fsum(o.epsilon for o in mechanism.oracles) <= mechanism.epsilon
    with pytest.raises(AttributeError):
        mechanism.epsilon = 1.0


@each_mechanism
def test_a_mechanism_is_its_parameters(mechanism):
    assert eval(repr(mechanism)) == mechanism
    assert pickle.loads(pickle.dumps(mechanism)) == mechanism
    assert hash(mechanism) == hash(type(mechanism)(k=list(K), epsilon=3.0))
    assert mechanism != type(mechanism)(k=K, epsilon=2.0)
    assert (mechanism == SPL(k=K, epsilon=3.0)) == isinstance(mechanism, SPL)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_domains_that_are_served(family):
    for k in ((2,), (3, 2), (5, 5, 5)):
        assert family.serves(k)
        assert family(k=list(k), epsilon=1.0).k == k
    for k in (2, (), (1,), (2, 1), "ab", None, 2.5):
        assert not family.serves(k)
        with pytest.raises((TypeError, ValueError), match="k must"):
            family(k=k, epsilon=1.0)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
@given(d=st.integers(1, 60), epsilon=st.floats(1e-6, 700))
def test_no_split_is_refused_by_its_own_oracles(family, d, epsilon):
    mechanism = family(k=tuple(range(2, d + 2)), epsilon=epsilon)
    assert len(mechanism.oracles) == d
    assert sum(map(Fraction, mechanism.budgets)) <= Fraction(epsilon)


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)
def test_the_channel_has_the_law_of_the_reports(family):
    mechanism = family(k=(3, 2), epsilon=2.0)
    matrix, reports = mechanism.channel(), mechanism.reports()
    assert math.log(channel.privacy_ratio(matrix)) == pytest.approx(2.0, rel=1e-12)
    for row, record in zip(matrix, np.ndindex(3, 2), strict=True):
        y = mechanism.perturb(np.tile(record, (4_000, 1)), rng=np.random.default_rng(1))
        assert check.law_z(y, dict(zip(map(tuple, reports), row, strict=True))) < 5
    assert check.law_z(y, dict(zip(map(tuple, reports), matrix[0], strict=True))) > 5
    with pytest.raises(ValueError, match="k must be small for a channel"):
        family(k=(3000, 3000), epsilon=2.0).channel()


@pytest.mark.parametrize(("make", "error", "scale"), [
    (BRR, allocation.brr_error, 0.5), (OBRR, allocation.brr_error, 0.5),
    (MRR, allocation.mrr_error, 1.0), (OMRR, allocation.mrr_error, 1.0),
])  # fmt: skip
def test_total_variance_is_the_stated_error_whatever_the_data(make, error, scale):
    mechanism = make(k=K, epsilon=3.0)
    spent = np.array([oracle.epsilon for oracle in mechanism.oracles])
    stated = error(np.expm1(scale * spent), np.array(K)).sum()
    for table in (TABLE, TABLE**3 + 1):
        population = Population.from_counts(table)
        assert population.n * flat(mechanism.variance(population)).sum() == pytest.approx(stated, rel=1e-12)


def test_the_whole_report_spends_the_budget():
    x = Fraction(2)  # exp of each per-bit budget: two attributes of two bits' change each
    whole = channel.tensor(*(unary.channel(*unary.sue_probabilities(x), k) for k in (2, 3)))
    assert channel.privacy_ratio(whole) == x**4


def test_bad_mechanism_input_is_refused():
    mechanism = OMRR(k=(2, 3), epsilon=1.0)
    with pytest.raises(ValueError, match="x must be from 0 to 1 in column 0; got 2 in row 0"):
        mechanism.perturb([[2, 2]], rng=np.random.default_rng(1))
    with pytest.raises(ValueError, match="population must have domain sizes"):
        mechanism.variance(Population.from_counts([1, 1]))
    with pytest.raises(ValueError, match="y must have at least one row and 2 columns"):
        mechanism.estimate([np.array([0, 1, 1])])
    with pytest.raises(ValueError, match="y must be from 0 to 1 in column 4; got 2 in row 0"):
        OBRR(k=(2, 3), epsilon=1.0).estimate([[0, 0, 0, 1, 2]])
    with pytest.raises(TypeError, match="rng must be"):
        mechanism.perturb([[0, 0]], rng=1)
    with pytest.raises(TypeError):
        OMRR((2, 3), 1.0)


def test_the_splits_are_reachable_beside_the_mechanisms():
    for name in ("brr", "mrr", "obrr", "omrr"):
        assert getattr(splitting, name) is getattr(allocation, name)


# The paper's own route.


@pytest.mark.parametrize("multivariate", [False, True])
@pytest.mark.parametrize("k", [(2, 4, 6, 7, 100), (3, 3), (7,)])
def test_the_printed_route_agrees_where_it_converges(k, multivariate):
    run = printed_obrr.newton(k, 6.0, start=1e-6, multivariate=multivariate, threshold=1e-11)
    exact = (allocation.omrr if multivariate else allocation.obrr)(k, 6.0)
    assert run.end == "converged"
    assert np.allclose(np.array(run.budgets) * (1 if multivariate else 2), exact, rtol=1e-10, atol=0)


def test_the_printed_route_says_how_it_ends():
    k = (2, 4, 6, 7, 100)
    assert printed_obrr.newton(k, 6.0, start=1e9).end == "lambda <= 0"
    assert printed_obrr.newton(k, 1e-3, start=1e18, threshold=0).end == "x <= 1"
    assert printed_obrr.newton(k, 6.0, start=1e-3, most=3).end == "too many steps"
    searched = printed_obrr.newton(k, 6.0, start=1.0, window=(0, 5.0), delta=0.1)
    assert searched.end == "converged"
    assert searched.searched > 0
    assert printed_obrr.newton(k, 6.0, start=10.0, window=(0, 1.0), delta=0.1).end == "too many steps"
    for start in (0, -1.0, math.inf):
        with pytest.raises(ValueError, match="start must be"):
            printed_obrr.newton(k, 6.0, start=start)

"""SPL, RS+FD, RS+RFD and its two phases: exact moments, laws and budgets, and bad input."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from ldp_lib import _sampling, channel, check, fake_data, grr, postprocess, pure, splitting
from ldp_lib.corr_rr import _two_phases as two_phase
from ldp_lib.fake_data import RSFD, RSRFD, _sampled
from ldp_lib.fake_data import mechanism as fakes
from ldp_lib.fake_data.two_phase import TwoPhaseRSRFD
from ldp_lib.grr import GRR
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.splitting import SPL

HALF, THIRD = Fraction(1, 2), Fraction(1, 3)
UNIFORM = ((HALF, HALF), (THIRD, THIRD, THIRD))
SKEWED = ((Fraction(1, 5), Fraction(4, 5)), (Fraction(1, 2), Fraction(0), Fraction(1, 2)))
USERS = [(0, 0), (0, 2), (1, 2)]


def all_records(k):
    return list(itertools.product(*map(range, k)))


def joined_counts(reports, k):
    """Counts of every value of every attribute, one after the other, from whole reports' column numbers."""
    rows = [all_records(k)[y] for y in reports]
    return [sum(row[j] == v for row in rows) for j, size in enumerate(k) for v in range(size)]


def exact_moments(matrix, users, k, support):
    """Exact mean and covariance of the debiased counts; `support` lists (own, other) for every value."""

    def statistic(reports):
        counts = joined_counts(reports, k)
        return [pure.estimate(Fraction(c), len(users), *pair) for c, pair in zip(counts, support, strict=True)]

    return channel.exact_moments(matrix, [all_records(k).index(x) for x in users], statistic)


def shares(users, k):
    return [Fraction(sum(x[j] == v for x in users), len(users)) for j, size in enumerate(k) for v in range(size)]


@pytest.mark.parametrize("root", [Fraction(2), Fraction(3, 2)])
def test_spl_moments_and_budget_are_exact(root):
    k = (2, 3)
    matrix = splitting.channel(root, k)
    assert all(sum(row) == 1 for row in matrix)
    assert channel.privacy_ratio(matrix) == root**2
    support = [grr.probabilities(root, size) for size in k for _ in range(size)]
    mean, covariance = exact_moments(matrix, USERS, k, support)
    assert list(mean) == shares(USERS, k)
    exact = [pure.variance(f, 3, *pair) for f, pair in zip(mean, support, strict=True)]
    assert list(np.diag(covariance)) == exact
    assert (covariance[:2, 2:] == 0).all()  # so `simulate` may draw the attributes independently


@pytest.mark.parametrize("e", [Fraction(3), Fraction(5, 4)])
@pytest.mark.parametrize("priors", [UNIFORM, SKEWED])
def test_fake_data_moments_and_budget_are_exact(e, priors):
    k = (2, 3)
    matrix = fake_data.channel(e, k, priors)
    assert all(sum(row) == 1 for row in matrix)
    assert channel.privacy_ratio(matrix) == e
    support = [fake_data.probabilities(e, len(prior), 2, share) for prior in priors for share in prior]
    mean, covariance = exact_moments(matrix, USERS, k, support)
    assert list(mean) == shares(USERS, k)
    exact = [pure.variance(f, 3, *pair) for f, pair in zip(mean, support, strict=True)]
    assert list(np.diag(covariance)) == exact


@pytest.mark.parametrize("k", [(2, 2), (2, 3), (2, 3, 2)])
@pytest.mark.parametrize("skewed", [False, True])
def test_privacy_ratio_is_the_enumerated_one_for_every_set_of_changed_attributes(k, skewed):
    weights = [range(size) if skewed else [1] * size for size in k]
    if skewed:
        weights[0] = range(1, k[0] + 1)  # one attribute keeps a fake of probability 0, one does not
    priors = [[Fraction(w, sum(row)) for w in row] for row in weights]
    e = Fraction(7, 2)
    matrix, records = fake_data.channel(e, k, priors), all_records(k)
    worst = {}
    for u, v in itertools.combinations(range(len(records)), 2):
        changed = tuple(j for j in range(len(k)) if records[u][j] != records[v][j])
        ratio = channel.privacy_ratio(matrix[[u, v]])
        worst[changed] = max(worst.get(changed, 1), ratio)
    assert len(worst) == 2 ** len(k) - 1
    assert worst == {changed: fake_data.privacy_ratio(e, k, priors, changed) for changed in worst}


def test_simulate_and_perturb_follow_the_enumerated_joint_law():
    k, e = (2, 3), 3.0
    for mechanism, matrix, pairs in [
        (
            SPL(k=k, epsilon=2 * math.log(e)),
            splitting.channel(Fraction(3), k),
            [grr.probabilities(e, size) for size in k for _ in range(size)],
        ),
        (
            RSRFD(k=k, epsilon=math.log(e), priors=SKEWED),
            fake_data.channel(Fraction(3), k, SKEWED),
            [fake_data.probabilities(e, len(prior), 2, float(share)) for prior in SKEWED for share in prior],
        ),
    ]:

        def statistic(reports, pairs=pairs):
            counts = joined_counts(reports, k)
            return [pure.estimate(c, 2, *pair) for c, pair in zip(counts, pairs, strict=True)]

        population = Population.from_records(np.array([(0, 2), (1, 0)]), k=k)
        law, other = (
            channel.exact_law(matrix, [all_records(k).index(x) for x in users], statistic)
            for users in ([(0, 2), (1, 0)], [(0, 0), (1, 2)])  # the same marginals
        )
        runs = np.hstack(mechanism.simulate(population, rng=np.random.default_rng(1), runs=20_000))
        assert check.law_z(runs, law) < 5
        rng, x = np.random.default_rng(2), population.users()
        users = np.array([np.hstack(mechanism.estimate(mechanism.perturb(x, rng=rng))) for _ in range(5_000)])
        assert check.law_z(users, law) < 5
        if isinstance(mechanism, RSRFD):  # SPL's law depends on the marginals alone
            assert check.law_z(runs, other) > 5
            assert check.law_z(users, other) > 5


def test_common_and_rare_records_are_sampled_by_the_same_law():
    # 40 users with one record are drawn at once, 40 users with one record each are drawn one by one.
    k = (40, 2)
    common = Population.from_records(np.tile([3, 1], (40, 1)), k=k)
    rare = Population.from_records(np.column_stack([np.arange(40), np.ones(40, int)]), k=k)
    for population in (common, rare):
        first, second = _sampled.draw_sampled(population, rng=np.random.default_rng(1), runs=20_000)
        assert (first.sum(axis=1) + second.sum(axis=1) == 40).all()
        assert check.mean_z(second[:, 1], 20) < 5
        assert check.variance_z(second[:, 1], 10) < 5 < check.variance_z(second[:, 1], 11)


def test_one_definition_serves_fractions_and_symbols():
    e, k, d, share = sp.symbols("e k d share", positive=True)
    own, other = fake_data.probabilities(e, k, d, share)
    exact = fake_data.probabilities(Fraction(3), 4, 5, Fraction(1, 7))
    point = {e: 3, k: 4, d: 5, share: sp.Rational(1, 7)}
    assert [own.subs(point), other.subs(point)] == [sp.Rational(v.numerator, v.denominator) for v in exact]
    assert fake_data.amplified(Fraction(3, 2), 2) == 2
    matrix = fake_data.channel(sp.Integer(3), (2, 3), [[sp.Rational(1, size)] * size for size in (2, 3)])
    assert (matrix == fake_data.channel(Fraction(3), (2, 3), UNIFORM)).all()


@pytest.mark.parametrize("frequency", ["rare", "all"])
def test_uniform_fakes_multiply_the_variance_by_at_least_the_square_of_the_number_of_attributes(frequency):
    """Chapter fake_data: of a value that nobody holds, and in total, over everybody's answer at the whole budget."""

    def variance(k, p, q):
        return pure.variance(0 if frequency == "rare" else 1 / k, 1, p, q)

    for k, d, epsilon in itertools.product((2, 3, 4, 16, 100), (2, 3, 8, 50), (0.01, 0.5, 1.0, 4.0, 8.0)):
        faked = variance(k, *fake_data.probabilities(math.exp(epsilon), k, d, 1 / k))
        assert faked > d**2 * variance(k, *grr.probabilities(math.exp(epsilon), k))


def test_constant_fakes_multiply_the_variance_of_a_value_nobody_holds_by_less_than_twice_the_number_of_attributes():
    """Chapter fake_data: nearly twice it where two values share a small budget, and not nearly the number alone."""
    for k, d, epsilon in itertools.product((2, 3, 4, 16, 100), (2, 3, 8, 50), (0.01, 0.5, 1.0, 4.0, 8.0)):
        faked = pure.variance(0, 1, *fake_data.probabilities(math.exp(epsilon), k, d, 0.0))
        ratio = faked / pure.variance(0, 1, *grr.probabilities(math.exp(epsilon), k))
        assert d < ratio < 2 * d
        if (k, d, epsilon) == (2, 50, 0.01):
            assert ratio > 1.9 * d


def test_two_phase_mean_is_exact():
    # Two users of two binary attributes, one in each phase: every split and every pair of reports, in rationals.
    k, users, root = (2, 2), [(0, 1), (1, 1)], Fraction(2)
    first_law, e, total = splitting.channel(root, k), root**2, np.zeros(4, dtype=object)
    for order in ((0, 1), (1, 0)):
        mine, other = (all_records(k).index(users[u]) for u in order)
        for y1, record in enumerate(all_records(k)):
            first = [
                [pure.estimate(Fraction(int(record[j] == v)), 1, *grr.probabilities(root, 2)) for v in (0, 1)]
                for j in (0, 1)
            ]
            priors = [postprocess.clip_normalize(v) for v in first]
            support = [fake_data.probabilities(e, 2, 2, share) for prior in priors for share in prior]
            second_law = fake_data.channel(e, k, priors)
            for y2 in range(4):
                counts = joined_counts([y2], k)
                second = [pure.estimate(Fraction(c), 1, *pair) for c, pair in zip(counts, support, strict=True)]
                weight = HALF * first_law[mine, y1] * second_law[other, y2]
                total = total + weight * (np.hstack(first) + np.array(second)) * HALF
    assert list(total) == shares(users, k)


def test_two_phase_simulation_and_users_agree():
    mechanism = TwoPhaseRSRFD(k=(2, 3), epsilon=2.0, n1=15)
    population = Population.from_counts([[20, 3, 0], [1, 25, 6]])
    runs = np.hstack(mechanism.simulate(population, rng=np.random.default_rng(1), runs=3_000))
    rng, x = np.random.default_rng(2), population.users()
    users = np.array([np.hstack(mechanism.estimate(mechanism.perturb(x, rng=rng))) for _ in range(3_000)])
    mean = np.hstack(marginal_frequencies(population))
    for sample in (runs, users):
        assert check.mean_z(sample, mean) < 5 < check.mean_z(sample, mean + 0.1 * sample.std(axis=0))
    pooled = np.cov(runs.T)
    assert check.variance_z(users, pooled) < 5 * math.sqrt(2)  # both sides are samples of the same size
    assert check.variance_z(users, 1.3 * np.diag(pooled)) > 5 * math.sqrt(2)


FAMILIES = [SPL, RSFD]
each_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.__name__)


@each_family
@pytest.mark.parametrize("k", [3, (1,), (3, 1), (3, 2.0), (), None, "ab", (True, 2)])
def test_domains_that_are_not_sizes_of_at_least_two_are_refused(family, k):
    with pytest.raises((TypeError, ValueError), match=r"k must .*; got"):
        family(k=k, epsilon=1.0)


@each_family
@pytest.mark.parametrize("epsilon", [0, -1.0, float("nan"), float("inf"), "1", None, 1e-16])
def test_a_budget_that_is_not_positive_and_finite_is_refused(family, epsilon):
    with pytest.raises((TypeError, ValueError), match="epsilon must be"):
        family(k=(2, 3), epsilon=epsilon)


@each_family
def test_records_and_populations_of_other_domains_are_refused(family):
    mechanism, rng = family(k=(2, 3), epsilon=1.0), np.random.default_rng(1)
    for x, message in [
        ([[0, 3]], "x must be from 0 to 2 in column 1; got 3 in row 0"),
        ([[0, 0, 0]], "x must have .* 2 columns"),
        ([0, 1], "x must have .* 2 columns"),
        ([[0.0, 1.0]], "x must hold integers"),
    ]:
        with pytest.raises((TypeError, ValueError), match=message):
            mechanism.perturb(x, rng=rng)
    with pytest.raises(ValueError, match="y must be from 0 to 1 in column 0; got 2 in row 1"):
        mechanism.estimate([[0, 0], [2, 0]])
    for population in (Population.from_counts([1, 1]), Population.from_counts([[1, 1], [1, 1], [1, 1]])):
        for call in (mechanism.mean, mechanism.variance, lambda p: mechanism.simulate(p, rng=rng, runs=1)):
            with pytest.raises(ValueError, match=r"population must have domain sizes k = \(2, 3\); got k = "):
                call(population)
    with pytest.raises(TypeError, match="rng must be"):
        mechanism.perturb([[0, 0]], rng=1)
    with pytest.raises(ValueError, match="runs must be"):
        mechanism.simulate(Population.from_counts(np.ones((2, 3), int)), rng=rng, runs=0)


@pytest.mark.parametrize(
    ("priors", "message"),
    [
        ([[0.5, 0.6], [1, 0, 0]], "priors must be non-negative and sum to 1; got .* attribute 0, sum 1.1"),
        ([[0.5, 0.5], [1.5, -0.5, 0]], "priors must be non-negative and sum to 1; got .* attribute 1"),
        ([[0.5, 0.5], [float("nan"), 0.5, 0.5]], "priors must be non-negative"),
        ([[0.5, 0.5]], "priors must be one vector an attribute, of lengths"),
        ([[0.5, 0.5], [0.5, 0.5]], "priors must be one vector an attribute"),
        ([[0.5, 0.5], [1, 0, 0], [1]], "priors must be one vector an attribute"),
        ([0.5, 0.5], "priors must be one vector an attribute"),
        (1.0, "priors must be 2 sequences"),
        ([["a", "b"], [1, 0, 0]], "priors must be 2 sequences"),
    ],
)
def test_priors_that_are_no_probabilities_are_refused(priors, message):
    with pytest.raises((TypeError, ValueError), match=message):
        RSRFD(k=(2, 3), epsilon=1.0, priors=priors)


def test_a_share_of_the_users_in_the_first_phase_is_their_rounded_number():
    population = Population.from_counts([[9, 0, 4], [2, 5, 6]])  # 26 users
    for share, n1 in ((0.1, 3), (0.5, 13), (0.001, 1), (0.999, 25)):
        by_share, by_number = (TwoPhaseRSRFD(k=(2, 3), epsilon=1.0, n1=first) for first in (share, n1))
        for act in ("perturb", "simulate"):
            data, how = (population.users(), {}) if act == "perturb" else (population, {"runs": 4})
            results = [getattr(m, act)(data, rng=np.random.default_rng(1), **how) for m in (by_share, by_number)]
            assert all(np.array_equal(a, b) for a, b in zip(*results, strict=True))
        reports = by_share.perturb(population.users(), rng=np.random.default_rng(1))
        assert np.array_equal(np.hstack(by_share.estimate(reports)), np.hstack(by_number.estimate(reports)))
    assert TwoPhaseRSRFD(k=(2, 3), epsilon=1.0) == TwoPhaseRSRFD(k=(2, 3), epsilon=1.0, n1=0.1)
    with pytest.raises(ValueError, match=r"fewer than 10\*\*9 users"):
        by_share.simulate(Population.from_counts([[10**9, 1, 1]] * 2), rng=np.random.default_rng(1), runs=2)


def test_a_first_phase_of_no_user_or_of_all_users_is_refused():
    for n1 in (0, -1, 2.0, True, None):
        with pytest.raises(ValueError, match="n1 must be an integer of at least 1"):
            TwoPhaseRSRFD(k=(2, 3), epsilon=1.0, n1=n1)
    mechanism = TwoPhaseRSRFD(k=(2, 3), epsilon=1.0, n1=2)
    with pytest.raises(ValueError, match="n1 must be below the number of users, 2; got 2"):
        mechanism.perturb([[0, 0], [1, 1]], rng=np.random.default_rng(1))
    with pytest.raises(ValueError, match="y must start with the reports of n1 = 2 users, and have others; got 1 and 1"):
        mechanism.estimate((np.array([[0, 0]]), np.array([[0, 0]])))


def test_a_set_of_changed_attributes_that_does_not_fit_is_refused():
    for changed in ((), (2,), (-1,)):
        with pytest.raises(ValueError, match="changed must name at least one of the attributes 0 to 1; got"):
            fake_data.privacy_ratio(Fraction(3), (2, 3), UNIFORM, changed)


def test_what_a_ratio_is_not_defined_for_is_refused():
    for changed in ((0.7,), "1"):
        with pytest.raises(ValueError, match="changed must name at least one of the attributes 0 to 1; got"):
            fake_data.privacy_ratio(Fraction(3), (2, 3), UNIFORM, changed)
    for k, priors in (((2,), UNIFORM), ((2, 3), ((-0.5, 1.5), (0.2, 0.3, 0.5))), ((2, 3), ((1.0, 1.0), (1, 1, 1)))):
        with pytest.raises(ValueError, match="priors must be"):
            fake_data.privacy_ratio(Fraction(3), k, priors, (0,))


@pytest.mark.parametrize("prior", [(0.25, 0.25, 0.5), (0.0, 1.0, 0.0), (0.1, 0.0, 0.9, 0.0), (0.25,) * 4])
def test_fakes_follow_their_prior_and_never_take_an_impossible_value(prior):
    values = _sampling.draw(prior, 200_000, np.random.default_rng(1))
    share = (values[:, None] == np.arange(len(prior))).astype(float)
    assert check.mean_z(share, np.array(prior)) < 5


@pytest.mark.parametrize(
    ("prior", "draw", "value"),
    [((0.1,) * 10 + (0.0,), 2**64 - 1, 9), ((0.0, 0.4, 0.6), 0, 1), ((0.0, 1.0, 0.0), 2**64 - 1, 1)],
)
def test_a_value_of_probability_0_is_not_drawn_at_the_ends(prior, draw, value):
    """Ten times 0.1 add up to less than 1: the rest must not go to the value after them."""

    class Fixed(np.random.Generator):
        def integers(self, high, size, dtype):
            return np.full(size, draw, dtype)

    assert _sampling.draw(prior, 3, Fixed(np.random.PCG64(1))).tolist() == [value] * 3


def test_priors_are_normalized_once():
    priors = ((0.1,) * 10, (0.3 + 4e-10, 0.7))
    mechanism = RSRFD(k=(10, 2), epsilon=1.0, priors=priors)
    assert mechanism.priors_[0] == priors[0]
    assert math.fsum(mechanism.priors_[1]) == pytest.approx(1, abs=2.0**-52)
    assert eval(repr(mechanism)) == mechanism
    uniform = ((1 / 3,) * 3, (0.5, 0.5))
    assert RSRFD(k=(3, 2), epsilon=1.0).priors_ == RSFD(k=(3, 2), epsilon=1.0).priors_ == uniform
    assert RSRFD(k=(3, 2), epsilon=1.0).priors is None


@pytest.mark.parametrize("family", [RSFD, RSRFD])
def test_one_attribute_needs_no_fakes(family):
    population = Population.from_counts([5, 0, 3])
    alone = GRR(k=3, epsilon=1.5)
    mechanism = family(k=(3,), epsilon=1.5)
    assert np.allclose(mechanism.channel(), alone.channel(), rtol=1e-15, atol=0)
    assert np.allclose(mechanism.variance(population)[0], alone.variance(population), rtol=1e-14, atol=0)


# Small cases by hand, ends of ranges, and what errors say.


@pytest.mark.parametrize("make", [RSFD, RSRFD])
def test_fakes_of_a_single_user_follow_the_channel(make):
    k = (2, 3, 4)
    how = {"priors": ((1.0, 0.0), (0.2, 0.2, 0.6), (0.1, 0.2, 0.3, 0.4))} if make is RSRFD else {}
    mechanism = make(k=k, epsilon=1.5, **how)
    reports, matrix = mechanism.reports(), mechanism.channel()
    for row, record in ((6, (0, 1, 2)), (23, (1, 2, 3))):
        y = mechanism.perturb(np.tile(record, (6_000, 1)), rng=np.random.default_rng(row))
        assert y.dtype == reports.dtype == np.uint8
        assert check.law_z(y, dict(zip(map(tuple, reports), matrix[row], strict=True))) < 5
        assert check.law_z(y, dict(zip(map(tuple, reports), matrix[row - 1], strict=True))) > 5


@pytest.mark.parametrize("make", [RSFD, RSRFD, SPL, splitting.OBRR])
def test_simulated_estimates_have_their_moments(make):
    how = {"priors": ((1.0, 0.0), (0.2, 0.2, 0.6), (0.1, 0.2, 0.3, 0.4))} if make is RSRFD else {}
    mechanism = make(k=(2, 3, 4), epsilon=2.5, **how)
    people = Population.from_records(np.array([[0, 0, 3]] * 40 + [[1, 2, 0]] * 20 + [[0, 1, 1]] * 5), k=(2, 3, 4))
    runs = np.hstack(mechanism.simulate(people, rng=np.random.default_rng(1), runs=3_000))
    mean, variance = np.hstack(mechanism.mean(people)), np.hstack(mechanism.variance(people))
    assert mean == pytest.approx([45 / 65, 20 / 65, 40 / 65, 5 / 65, 20 / 65, 20 / 65, 5 / 65, 0, 40 / 65])
    assert check.mean_z(runs, mean) < 5 < check.mean_z(runs, mean + 0.2 * np.sqrt(variance))
    assert check.variance_z(runs, variance) < 5 < check.variance_z(runs, 1.25 * variance)


def test_a_prior_with_two_different_entries_is_not_the_noise():
    y = RSRFD(k=(2,), epsilon=1e-6, priors=((1.0, 0.0),)).perturb(np.zeros(2_000, int), rng=np.random.default_rng(1))
    assert abs(y.mean() - 0.5) < 5 * 0.5 / math.sqrt(2_000)


def test_what_a_report_supports_by_hand():
    own, other = fake_data.probabilities(Fraction(3), 4, 3, Fraction(1, 5))
    assert own == (Fraction(1, 2) + 2 * Fraction(1, 5)) / 3
    assert other == (Fraction(1, 6) + 2 * Fraction(1, 5)) / 3
    assert fake_data.amplified(Fraction(5, 2), 4) == 7
    assert RSFD(k=(2, 4), epsilon=1.0).priors_ == RSRFD(k=(2, 4), epsilon=1.0).priors_ == ((0.5, 0.5), (0.25,) * 4)


def test_priors_are_probabilities_to_a_thousand_millionth():
    for end in (0.5 + 9e-10, 0.5 - 9e-10):
        assert math.fsum(fakes._check_priors([(0.5, end)], (2,))[0]) == pytest.approx(1, abs=2.0**-52)
    for end in (0.5 + 2e-9, 0.5 - 2e-9):
        with pytest.raises(
            ValueError, match=r"priors must be non-negative and sum to 1; got \[0.5, .*\] for attribute 0"
        ):
            fakes._check_priors([(0.5, end)], (2,))
    with pytest.raises(ValueError, match=r"for attribute 1, sum 0\.9999999999999999$"):
        fakes._check_priors([(0.5, 0.5), (-1e-3, 1 + 1e-3)], (2, 2))
    with pytest.raises(ValueError, match="for attribute 1, sum inf"):
        fakes._check_priors([(0.5, 0.5), (math.inf, 0.5)], (2, 2))
    with pytest.raises(ValueError, match=r"of lengths \(2, 3\); got shapes \[\(2,\), \(2,\)\]"):
        fakes._check_priors([(0.5, 0.5), (0.5, 0.5)], (2, 3))
    with pytest.raises(ValueError, match=r"of lengths \(2,\); got shapes \[\(2,\), \(2,\)\]"):
        fakes._check_priors([(0.5, 0.5), (0.5, 0.5)], (2,))
    for wrong in (3.0, [("a", "b")], [object()]):
        with pytest.raises(TypeError, match="priors must be 1 sequences of probabilities; got"):
            fakes._check_priors(wrong, (2,))


def test_priors_that_sum_to_one_in_floats_stay_and_others_are_divided():
    for stays in ((1 / 3, 1 / 3, 1 / 3 + 2.0**-53), (0.25, 0.25, 0.5 + 2.0**-51), (0.25, 0.25, 0.25, 0.25 + 2.0**-50)):
        assert fakes._check_priors([stays], (len(stays),)) == (stays,)
    assert fakes._check_priors([(0.25, 0.25, 0.5 + 2.0**-50)], (3,))[0][0] < 0.25
    off = (0.25, 0.25, 0.5 + 2.0**-49)  # further than three roundings
    assert fakes._check_priors([off], (3,))[0][0] == 0.25 / (1 + 2.0**-49) < 0.25
    assert fakes._check_priors([(0.2 + 1e-10, 0.8)], (2,))[0][1] < 0.8


@pytest.mark.parametrize("changed", [(0, 2), (1,), (2, 1), (0, 1, 2)])
def test_the_ratio_by_its_formula_for_unequal_domains(changed):
    e, k = Fraction(3), (2, 3, 5)
    priors = [
        [Fraction(1, 4), Fraction(3, 4)],
        [Fraction(v, 6) for v in (1, 2, 3)],
        [Fraction(v, 15) for v in range(1, 6)],
    ]
    q = [1 / (e + size - 1) for size in k]
    a = sum(q[j] / min(priors[j]) for j in changed)
    b = sum(q[j] / max(priors[j]) for j in range(3) if j not in changed)
    assert fake_data.privacy_ratio(e, k, priors, changed) == 1 + 2 * a / (a + b)
    with pytest.raises(ValueError, match=r"attributes 0 to 2; got \(3,\)"):
        fake_data.privacy_ratio(e, k, priors, (3,))


@pytest.mark.parametrize("k", [(2,) * 12, (3, 7, 100), (2_049, 2)])
def test_channels_of_several_attributes_that_are_too_large_are_refused_by_their_numbers(k):
    size, bits = math.prod(k), 2 ** sum(k)
    for make in (RSFD, RSRFD, SPL, splitting.OMRR):
        with pytest.raises(ValueError, match=f"{size} rows and {size} columns"):
            make(k=k, epsilon=1.0).channel()
    for call in (SPL(k=k, epsilon=1.0).reports, splitting.MRR(k=k, epsilon=1.0).reports):
        with pytest.raises(ValueError, match=f"{size} rows and {size} columns"):
            call()
    with pytest.raises(ValueError, match=f"{size} rows and {bits} columns"):
        splitting.BRR(k=k, epsilon=1.0).channel()
    assert RSFD(k=k, epsilon=1.0).reports().shape == (size, len(k))
    with pytest.raises(ValueError, match=f"1 rows and {2**23} columns"):
        RSFD(k=(2,) * 23, epsilon=1.0).reports()


def test_reports_of_several_attributes_are_in_order_and_small():
    assert RSFD(k=(2, 3), epsilon=1.0).reports().tolist() == [list(row) for row in all_records((2, 3))]
    for make in (RSFD, SPL):
        assert make(k=(2, 257), epsilon=1.0).reports().dtype == np.uint16
        assert make(k=(256, 2), epsilon=1.0).reports().dtype == np.uint8


def test_counts_are_of_each_value_and_make_the_estimate():
    y = np.array([[0, 2, 3], [1, 0, 3], [1, 1, 0], [1, 2, 3]])
    for mechanism in (RSFD(k=(2, 3, 4), epsilon=1.0), SPL(k=(2, 3, 4), epsilon=1.0)):
        counts = mechanism.count(y)
        assert counts.tolist() == [4, 1, 3, 1, 1, 2, 1, 0, 0, 3]
        for j, found in enumerate(mechanism.estimate_counts(counts)):
            p, q = mechanism.probabilities[j]
            assert found == pytest.approx((np.bincount(y[:, j]) / 4 - q) / (p - q), rel=1e-13)


def test_the_first_phase_s_size_has_its_bounds():
    for wrong in (0, -1, 0.0, 1.0, -0.5, 1.5, math.nan, True, np.bool_(True), "1", None, Fraction(1, 2)):
        with pytest.raises(
            ValueError, match="n1 must be an integer of at least 1, or a share of the users from 0 to 1"
        ):
            two_phase.check_first(wrong)
    found = [two_phase.check_first(n1) for n1 in (1, np.int8(3), 1e-9, np.float32(0.5))]
    assert found == [1, 3, 1e-9, 0.5]
    assert [type(n1) for n1 in found] == [int, int, float, float]
    assert [two_phase.first_users(*how) for how in ((0.5, 2), (0.01, 2), (0.99, 2), (0.5, 9), (8, 9), (1, 2))] == [
        1,
        1,
        1,
        4,
        8,
        1,
    ]
    for n in (0, 1):
        with pytest.raises(ValueError, match=f"at least two users, one for each phase; got {n}"):
            two_phase.first_users(0.5, n)
    with pytest.raises(ValueError, match="n1 must be below the number of users, 9; got 9"):
        two_phase.first_users(9, 9)
    two_phase.check_n1(1)
    two_phase.check_n1(8, 9)


def test_two_phases_hand_in_two_arrays_of_the_right_lengths():
    rows = lambda n: np.zeros((n, 2), int)  # noqa: E731
    assert [len(part) for part in two_phase.check_phases((rows(3), rows(1)), 3)] == [3, 1]
    assert [len(part) for part in two_phase.check_phases((rows(1), rows(9)), 0.1)] == [1, 9]
    for y, n1, told in (
        ((rows(3), rows(0)), 3, "n1 = 3 users, and have others; got 3 and 0"),
        ((rows(2), rows(8)), 0.1, "n1 = 1 users, and have others; got 2 and 8"),
        ((rows(2), rows(3)), 3, "n1 = 3 users, and have others; got 2 and 3"),
        ((rows(1), rows(0)), 0.5, "at least two users"),
    ):
        with pytest.raises(ValueError, match=told):
            two_phase.check_phases(y, n1)
    for y in ((rows(1),), (rows(1),) * 3, 5, (1, 2), None):
        with pytest.raises(ValueError, match="y must be two arrays, the reports of either phase; got"):
            two_phase.check_phases(y, 1)


def test_phases_are_averaged_by_their_users():
    first, second = [np.array([1.0, 0.0])], [np.array([0.25, 0.75])]
    assert two_phase.combine(first, second, 1, 3)[0].tolist() == [(1 + 0.75) / 4, 2.25 / 4]


def test_users_are_split_and_pivots_drawn_by_their_laws():
    people = Population.from_records(np.array([[0, 2]] * 6 + [[1, 0]] * 2), k=(2, 3))
    chosen, rest = two_phase.draw_phases(people, 3, rng=np.random.default_rng(1), runs=4_000)
    assert (chosen + rest == people.counts).all()
    assert (chosen.sum(axis=1) == 3).all()
    assert check.mean_z(chosen, [2.25, 0.75]) < 5 < check.mean_z(chosen, [2.1, 0.9])
    held = two_phase.draw_pivots(people.records, np.tile([6, 3], (4_000, 1)), (2, 3), np.random.default_rng(2))
    assert (held[0].sum(axis=1) + held[1].sum(axis=1) == 9).all()
    assert [part.shape for part in held] == [(4_000, 2), (4_000, 3)]
    assert check.mean_z(np.hstack(held), [3, 1.5, 1.5, 0, 3]) < 5
    assert check.variance_z(np.hstack(held)[:, [0, 1]], [1.5, 0.75]) < 5
    third = two_phase.draw_pivots(np.array([[1, 1, 0]]), np.full((4_000, 1), 9), (2, 2, 2), np.random.default_rng(3))
    assert check.mean_z(np.hstack(third), [0, 3, 0, 3, 3, 0]) < 5
    x = np.arange(20).reshape(10, 2)
    first, second = two_phase.split_users(x, 0.3, np.random.default_rng(4))
    assert len(first) == 3
    assert sorted(np.concatenate([first, second])[:, 0].tolist()) == x[:, 0].tolist()


def test_two_phases_of_a_thousand_million_users_are_too_many():
    how = {"rng": np.random.default_rng(1), "runs": 1}
    chosen, _ = two_phase.draw_phases(Population.from_counts([10**9 - 2, 1]), 5, **how)
    assert chosen.sum() == 5
    with pytest.raises(ValueError, match=r"fewer than 10\*\*9 users to simulate two phases; got 1000000000"):
        two_phase.draw_phases(Population.from_counts([10**9 - 1, 1]), 5, **how)


def test_two_phases_are_simulated_without_bias_and_with_their_parts():
    people = Population.from_records(np.array([[0, 0, 3]] * 40 + [[1, 2, 0]] * 20), k=(2, 3, 4))
    mechanism = TwoPhaseRSRFD(k=(2, 3, 4), epsilon=3.0, n1=25)
    first, second = mechanism.simulate_phases(people, rng=np.random.default_rng(1), runs=2_000)
    whole = mechanism.simulate(people, rng=np.random.default_rng(1), runs=2_000)
    truth = [2 / 3, 1 / 3, 2 / 3, 0, 1 / 3, 1 / 3, 0, 0, 2 / 3]
    assert np.hstack(whole) == pytest.approx((25 * np.hstack(first) + 35 * np.hstack(second)) / 60, abs=1e-12)
    for part in (first, second, whole):
        runs = np.hstack(part)
        assert check.mean_z(runs, truth) < 5 < check.mean_z(runs, truth + 0.2 * runs.std(axis=0))
    split = SPL(k=(2, 3, 4), epsilon=3.0)
    drawn = np.array([f * (1 - f) for f in truth]) / 25 * (60 - 25) / 59
    assert check.variance_z(np.hstack(first), np.hstack(split.variance(people)) * 60 / 25 + drawn) < 5


def test_two_phases_have_no_channel_and_spend_the_larger_budget():
    mechanism = TwoPhaseRSRFD(k=(2, 3), epsilon=1.0)
    with pytest.raises(ValueError, match="TwoPhaseRSRFD has no channel of one user"):
        mechanism.channel()
    parts = SPL(k=(2, 3), epsilon=1.0), RSFD(k=(2, 3), epsilon=1.0)
    assert mechanism.realised_epsilon() == max(part.realised_epsilon() for part in parts)
    assert mechanism.least_users == 2
    assert TwoPhaseRSRFD(k=(2, 3), epsilon=1.0, n1=4).least_users == 5

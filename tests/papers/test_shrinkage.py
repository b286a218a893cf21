"""Shrinkage: Stein's estimate of the error is right on average, and the error is bounded where it is said to be."""

import numpy as np
import pytest

from ldp_lib import check, shrinkage
from ldp_lib.population import Population
from ldp_lib.sampled import OneQuestion
from ldp_lib.shrinkage import WAYS, choose, common, pooled, question_noise, separately, together

SKEW = np.array([0.4, 0.3, 0.2, 0.1])
TRUTHS = {
    "uniform": np.full((4, 4), 0.25),
    "equal": np.tile(SKEW, (4, 1)),
    "one pattern": 0.25 + np.outer([1, -0.5, 0.5, 0.2], SKEW - 0.25),
    "unlike": np.array([SKEW, SKEW[[1, 0, 3, 2]], SKEW[[2, 3, 1, 0]], SKEW[::-1]]),
}
NOISE = 0.03
each_truth = pytest.mark.parametrize("truth", TRUTHS.values(), ids=TRUTHS)


def noisy(truth, noise, rng, runs):
    """Normal noise of total variance `noise` an attribute, alike in all directions of sum 0."""
    parts = []
    for f, s in zip(truth, noise, strict=True):
        z = rng.normal(size=(runs, len(f))) * np.sqrt(s / (len(f) - 1))
        parts.append(f + z - z.mean(axis=1, keepdims=True))
    return parts


def errors(estimates, truth):
    return sum(((a - b) ** 2).sum(axis=1) for a, b in zip(estimates, truth, strict=True))


@each_truth
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_the_estimated_risk_is_right_on_average(way, truth):
    found = way(noisy(truth, [NOISE] * 4, np.random.default_rng(1), 40_000), [NOISE] * 4)
    gap = found.risk - errors(found.estimates, truth)
    assert check.mean_z(gap, 0) < 5 < check.mean_z(gap, 0.05 * 4 * NOISE)


@pytest.mark.parametrize("way", [together, separately])
def test_the_risk_is_right_for_unequal_domains_and_noise_too(way):
    truth, noise = [np.array([0.5, 0.3, 0.2]), SKEW, np.full(6, 1 / 6)], [0.05, 0.02, 0.1]
    found = way(noisy(truth, noise, np.random.default_rng(2), 40_000), noise)
    gap = found.risk - errors(found.estimates, truth)
    assert check.mean_z(gap, 0) < 5 < check.mean_z(gap, 0.05 * sum(noise))


@each_truth
@pytest.mark.parametrize("way", [together, separately, common])
def test_on_average_the_error_is_never_larger_than_the_raw_one(way, truth):
    parts = noisy(truth, [NOISE] * 4, np.random.default_rng(3), 20_000)
    lost = errors(way(parts, [NOISE] * 4).estimates, truth) - errors(parts, truth)
    assert lost.mean() < 5 * lost.std() / np.sqrt(20_000)


def test_pooling_can_lose():
    rng, lost = np.random.default_rng(4), []
    truth = np.array([[0.9, 0.1, 0, 0, 0], [0, 0, 0, 0.1, 0.9]])
    parts = noisy(truth, [0.05] * 2, rng, 20_000)
    lost = errors(pooled(parts, [0.05] * 2).estimates, truth) - errors(parts, truth)
    assert lost.mean() > 5 * lost.std() / np.sqrt(20_000)


def test_binary_attributes_on_their_own_are_left_alone():
    parts = noisy([np.array([0.5, 0.5])] * 2, [0.1] * 2, np.random.default_rng(5), 10)
    for way in (together, separately):
        assert np.allclose(way(parts, [0.1] * 2).estimates, parts, rtol=1e-14)


def test_each_way_gains_where_it_should():
    rng, gains = np.random.default_rng(6), {}
    for name, truth in TRUTHS.items():
        parts = noisy(truth, [NOISE] * 4, rng, 4_000)
        for way in (*WAYS, choose):
            gains[name, way.__name__] = errors(way(parts, [NOISE] * 4).estimates, truth).mean()
    assert gains["uniform", "together"] < gains["uniform", "raw"] / 3
    assert gains["equal", "common"] < min(
        gains["equal", "together"], gains["equal", "pooled"], gains["equal", "raw"] / 2
    )
    assert gains["one pattern", "pooled"] < gains["one pattern", "raw"] / 1.3
    for name in TRUTHS:
        ways = [gains[name, way.__name__] for way in WAYS]
        assert gains[name, "choose"] < (min(ways) + max(ways)) / 2


def test_choose_takes_the_least_risk_run_by_run():
    parts = noisy(TRUTHS["equal"], [NOISE] * 4, np.random.default_rng(7), 50)
    found, risks = choose(parts, [NOISE] * 4), [way(parts, [NOISE] * 4).risk for way in WAYS]
    assert (found.risk == np.min(risks, axis=0)).all()
    one = choose([g[3] for g in parts], [NOISE] * 4)
    assert all((a == b[3]).all() for a, b in zip(one.estimates, found.estimates, strict=True))


def test_unequal_domains_can_be_chosen_for_but_not_pooled():
    parts = [np.full((5, 3), 1 / 3), np.full((5, 4), 1 / 4)]
    assert [g.shape for g in choose(parts, [0.1, 0.2]).estimates] == [(5, 3), (5, 4)]
    for way in (pooled, common):
        with pytest.raises(ValueError, match="equal size k"):
            way(parts, [0.1, 0.2])


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_rows_keep_their_sum(way):
    parts = noisy(TRUTHS["unlike"], [NOISE] * 4, np.random.default_rng(8), 20)
    for g in way(parts, [NOISE] * 4).estimates:
        assert np.allclose(g.sum(axis=1), 1)


@pytest.mark.parametrize(
    ("estimates", "noise", "message"),
    [
        ([], [], "estimates must be arrays"),
        ([np.ones((2, 3)), np.ones((3, 3))], [1, 1], "estimates must be arrays"),
        ([np.ones((2, 3))], [1, 1], "noise must be one number"),
        ([np.ones((2, 3))], [-1], "noise must be one number"),
        ([np.ones((2, 3))], [np.nan], "noise must be one number"),
        ([np.ones(3), np.array([0.5, np.inf])], [1, 1], "estimates must be finite"),
        ([np.array([0.2, np.nan])], [1], "estimates must be finite"),
        ([np.ma.array(np.ones(3), mask=[1, 0, 0])], [1], "estimates must not have masked entries"),
    ],
)
def test_bad_arguments_are_named(estimates, noise, message):
    with pytest.raises(ValueError, match=message):
        together(estimates, noise)


def test_a_centre_of_another_shape_is_named():
    with pytest.raises(ValueError, match="centre must have the shapes"):
        together([np.ones((2, 3))], [1], [np.ones(4)])
    with pytest.raises(ValueError, match="ways must hold"):
        choose([np.ones(3)], [1], ways=(shrinkage.pooled,))


def test_the_noise_of_one_question_is_its_variance_at_uniform_frequencies():
    population = Population.from_counts(np.full((2, 3, 4), 10_000))
    mechanism = OneQuestion(k=(2, 3, 4), epsilon=0.5)
    stated = shrinkage.question_noise(mechanism, population.n)
    exact = [v.sum() + f.size * f[0] * (1 - f[0]) / population.n for v, f in moments(mechanism, population)]
    assert np.allclose(stated, exact, rtol=1e-4)
    runs = mechanism.simulate(population, rng=np.random.default_rng(9), runs=20_000)
    found = shrinkage.together(runs, stated)
    gap = found.risk - errors(found.estimates, mechanism.mean(population))
    assert abs(gap.mean()) < 0.02 * sum(stated)


@pytest.mark.parametrize(("k", "over"), [((2, 10), [1.742, 2.324]), ((6,), [249.1])])
def test_the_noise_of_one_question_is_far_above_that_of_users_held_fixed_at_a_large_budget(k, over):
    population = Population.from_counts(np.full(k, 30_000 // np.prod(k)))
    mechanism = OneQuestion(k=k, epsilon=8.0)
    fixed = [v.sum() for v in mechanism.variance(population)]
    ratios = np.divide(shrinkage.question_noise(mechanism, population.n), fixed)
    assert np.allclose(ratios, over, rtol=1e-3)


def moments(mechanism, population):
    return zip(mechanism.variance(population), mechanism.mean(population), strict=True)


# Factors and risks by hand: 1 - a/N, and S + a/N (a - 2 S + 4 (sum of v N_j) / N), or N - S where the factor is 0.


def test_one_factor_for_all_by_hand():
    parts = [np.array([0.6, 0.4]), 0.25 + np.array([0.1, -0.1, 0.2, -0.2])]  # N = 0.02 + 0.1
    found = together(parts, [0.02, 0.03])  # v = 0.02 and 0.01, so a = 2 (0.05 - 2 * 0.02) = 0.02
    assert found.estimates[0] == pytest.approx(0.5 + 5 / 6 * np.array([0.1, -0.1]))
    assert found.estimates[1] == pytest.approx(0.25 + 5 / 6 * np.array([0.1, -0.1, 0.2, -0.2]))
    assert found.risk == pytest.approx(0.05 + (0.02 - 0.1 + 4 * 0.0014 / 0.12) / 6)
    many = together([1 / 7 + 0.1 * np.array([1, -1, 1, -1, 1, -1, 0])], [0.03])  # a = 2 (0.03 - 0.01) is above S
    assert many.estimates[0] == pytest.approx(1 / 7 + 0.05 * np.array([1, -1, 1, -1, 1, -1, 0]))
    assert many.risk == pytest.approx(0.03 + (0.03 - 0.06 + 4 * 0.005) / 2)
    none = together([1 / 7 + 0.1 * np.array([1, -1, 1, -1, 1, -1, 0])], [0.07])  # a = S = 0.07 is above N = 0.06
    assert none.estimates[0] == pytest.approx(1 / 7)
    assert none.risk == pytest.approx(0.06 - 0.07)


def test_a_given_centre_is_what_estimates_move_to():
    centre = [np.array([0.2, 0.3, 0.5]), np.array([0.4, 0.2, 0.2, 0.2])]
    parts = [np.array([[0.4, 0.1, 0.5]]), np.array([[0.2, 0.2, 0.2, 0.4]])]  # 0.08 from the centre, each
    alone = separately(parts, [0.03, 0.06], centre)  # a = 0 for three values, 2 (0.06 - 2 * 0.02) = 0.04 for four
    assert alone.estimates[0] == pytest.approx(parts[0])
    assert alone.estimates[1] == pytest.approx(np.array([[0.3, 0.2, 0.2, 0.3]]))
    assert alone.risk == pytest.approx(0.03 + 0.06 + (0.04 - 0.12 + 0.08) / 2)
    both = together(parts, [0.03, 0.06], centre)  # a = min(S, 2 (0.09 - 2 * 0.02)) = 0.09, N = 0.16
    assert both.estimates[0] == pytest.approx(centre[0] + 7 / 16 * (parts[0] - centre[0]))
    assert both.estimates[1] == pytest.approx(centre[1] + 7 / 16 * (parts[1] - centre[1]))


def test_two_factors_for_the_average_and_around_it_by_hand():
    mean, apart = np.array([0.1, -0.1, 0.1, -0.1]), np.array([0.2, -0.2, 0, 0])
    parts = [0.25 + mean + apart, 0.25 + mean - apart, 0.25 + mean]
    found = common(parts, [0.03, 0.06, 0.09])  # v = 0.02; three directions and six: a = 2 v and 6 v
    assert found.estimates[0] == pytest.approx(0.25 + (1 - 0.04 / 0.12) * mean + (1 - 0.12 / 0.16) * apart)
    assert found.estimates[2] == pytest.approx(0.25 + (1 - 0.04 / 0.12) * mean)
    first, second = 0.06 + (0.04 - 0.04) / 3, 0.12 + 0.75 * (0.12 - 2 * 0.02 * 4)
    assert found.risk == pytest.approx(first + second)
    few = common([0.5 + np.array([0.1, -0.1]), 0.5 + np.array([0.3, -0.3])], [0.1, 0.1])
    assert np.concatenate(few.estimates) == pytest.approx([0.6, 0.4, 0.8, 0.2])  # one direction each: left alone
    assert few.risk == pytest.approx(0.2)


def test_singular_values_shrink_by_what_is_said():
    """Rows that are orthogonal: their lengths are the singular values."""
    one, two = 0.4 * np.array([1, -1, 0, 0, 0]) / np.sqrt(2), 0.25 * np.array([0, 0, 1, -1, 0]) / np.sqrt(2)
    found = pooled([0.2 + one, 0.2 + two], [0.02, 0.06])  # v = 0.01 and a = v max(2, 4)
    assert found.estimates[0] == pytest.approx(0.2 + one * (0.4 - 0.04 / 0.4) / 0.4)
    assert found.estimates[1] == pytest.approx(0.2 + two * (0.25 - 0.04 / 0.25) / 0.25)


@pytest.mark.parametrize("way", WAYS[1:], ids=lambda way: way.__name__)
@pytest.mark.parametrize("k", [2, 4])
def test_estimates_at_the_centre_stay_there(way, k):
    found = way([np.full((5, k), 1 / k)] * 3, [0.01] * 3)
    assert all(np.allclose(g, 1 / k, rtol=0, atol=1e-15) for g in found.estimates)
    assert found.risk.shape == (5,)
    if k == 4:
        assert found.risk == pytest.approx(-0.03)


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_without_noise_nothing_moves_or_costs(way):
    parts = [np.array([0.5, 0.2, 0.3]), np.array([0.1, 0.2, 0.7])]
    found = way(parts, [0.0, 0.0])
    assert np.allclose(found.estimates, parts, rtol=0, atol=1e-15)
    assert found.risk == pytest.approx(0, abs=1e-15)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: together([0.5], [1]), r"estimates must be arrays .*; got shapes \[\(\)\]"),
        (lambda: together([np.ones((2, 1))], [1]), r"estimates must be arrays .*; got shapes \[\(2, 1\)\]"),
        (lambda: together([np.ones(3)], [np.inf]), r"noise must be one number .* each of 1 attributes; got \[inf\]"),
        (lambda: together([np.ones(3)] * 2, [1, 1], [np.ones(3)]), "centre must have the shapes of the estimates"),
        (lambda: question_noise(OneQuestion(k=(3, 2), epsilon=1.0), -1), "n must be an integer from 1"),
        (lambda: common([np.ones(3)], [1]), "estimates must be two attributes or more of equal size k"),
        (lambda: choose([np.ones(3)], [1], ways=(pooled, common)), r"ways must hold .*; got \['pooled', 'common'\]"),
    ],
)
def test_what_does_not_fit_is_said(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_one_attribute_alone_is_chosen_for():
    assert choose([np.array([0.5, 0.2, 0.2, 0.1])], [0.01]).risk <= 0.01

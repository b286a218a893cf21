"""Plurality: the plurality's law, the channel, exact moments by enumeration, and the exact law of `simulate`."""

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from ldp_lib import channel, check, shrinkage
from ldp_lib.corr_rr import syn_a
from ldp_lib.grr import GRR
from ldp_lib.population import Population
from ldp_lib.shrinkage import plurality
from ldp_lib.shrinkage.plurality import Plurality

HALF, QUARTER = Fraction(1, 2), Fraction(1, 4)
MODEL = Plurality(k=(3, 3), epsilon=1.0, shares=(0.6, 0.4, 0))
GATED = Plurality(k=(3, 3), epsilon=1.0)


def small():
    return Population.from_counts([[6, 1, 0], [2, 3, 1], [0, 1, 4]])


def test_the_plurality_is_the_most_frequent_value_and_ties_are_split():
    found = plurality._law([[0, 0, 1], [0, 1, 2], [2, 1, 2]], 3, Fraction(1))
    third = Fraction(1, 3)
    assert (found == np.array([[1, 0, 0], [third] * 3, [0, 0, 1]])).all()


@pytest.mark.parametrize(("k", "d"), [(2, 1), (2, 3), (3, 2), (4, 2)])
@pytest.mark.parametrize("shares", [(HALF, HALF, Fraction(0)), (HALF, QUARTER, QUARTER)])
def test_the_privacy_ratio_is_e_exactly(k, d, shares):
    assert channel.privacy_ratio(plurality.channel(Fraction(3), k, d, shares)) == 3


def test_the_channel_of_an_instance_is_the_function_in_floats():
    exact = plurality.channel(math.exp(1.0), 3, 2, GATED.shares).astype(float)
    assert (GATED.channel() == exact).all()
    assert math.isclose(channel.privacy_ratio(GATED.channel()), math.e, rel_tol=1e-12)


@pytest.mark.parametrize(
    ("k", "x"), [(2, [(0, 0), (0, 1)]), (3, [(0, 0), (1, 2), (1, 1)]), (2, [(0, 1, 1), (0, 0, 0)])]
)
def test_mean_and_variance_are_those_of_all_outcomes(k, x):
    d = len(x[0])
    mechanism = Plurality(k=(k,) * d, epsilon=math.log(3), shares=(0.5, 0.5, 0))
    matrix = plurality.channel(Fraction(3), k, d, (HALF, HALF, Fraction(0)))[:, : k + 2 * d].astype(float)
    rows = [list(itertools.product(range(k), repeat=d)).index(record) for record in x]
    mean, covariance = channel.exact_moments(matrix, rows, lambda y: np.concatenate(mechanism.estimate(np.array(y))))
    population = Population.from_records(np.array(x), k=mechanism.k)
    assert np.allclose(mean, np.concatenate(mechanism.mean(population)), rtol=0, atol=1e-12)
    assert np.allclose(np.diag(covariance), np.concatenate(mechanism.variance(population)), rtol=1e-12)


def test_the_variance_of_very_many_users_keeps_its_digits():
    few, many = (Population.from_counts(n // 15 * small().histogram) for n in (15 * 10**9, 15 * 10**13))
    variances = [np.concatenate(MODEL.variance(people)) * people.n for people in (few, many)]  # alike but for 1/n
    assert np.allclose(*variances, rtol=1e-7, atol=0)


def test_simulate_has_the_exact_moments_and_a_wrong_variance_shows():
    runs = np.concatenate(MODEL.simulate(small(), rng=np.random.default_rng(1), runs=40_000), axis=1)
    mean, variance = (np.concatenate(moment(small())) for moment in (MODEL.mean, MODEL.variance))
    assert check.mean_z(runs, mean) < 5 < check.mean_z(runs, mean + 0.1 * np.sqrt(variance))
    assert check.variance_z(runs, variance) < 5 < check.variance_z(runs, 1.1 * variance)


@pytest.mark.parametrize("mechanism", [MODEL, GATED], ids=repr)
def test_simulate_has_the_law_of_perturb_and_estimate(mechanism):
    users, rng = small().users(), np.random.default_rng(2)
    long = np.array([np.concatenate(mechanism.estimate(mechanism.perturb(users, rng=rng))) for _ in range(4_000)])
    short = np.concatenate(mechanism.simulate(small(), rng=rng, runs=40_000), axis=1)
    assert check.mean_z(long, short.mean(axis=0)) < 5
    assert check.variance_z(long, np.cov(short.T)) < 5 < check.variance_z(long, 1.4 * np.cov(short.T))


def model(mechanism, population):
    """What the model makes of the data without noise: the expected estimate with very many users."""
    return mechanism.mean(Population.from_counts(10**12 * population.histogram))


def test_if_all_attributes_agree_the_model_is_right():
    population = Population.from_counts(np.diag([5, 3, 2]))
    assert np.allclose(model(MODEL, population), [[0.5, 0.3, 0.2]] * 2)
    assert not np.allclose(model(MODEL, small()), [small().select(j).frequencies for j in range(2)])


def test_with_many_users_the_model_stays_wrong_and_the_answers_put_it_right():
    population = Population.from_counts(10**8 * small().histogram)
    truth = np.concatenate([small().select(j).frequencies for j in range(2)])
    rng = np.random.default_rng(3)
    wrong, right = (np.concatenate(m.simulate(population, rng=rng, runs=5), axis=1) for m in (MODEL, GATED))
    assert np.abs(wrong - np.concatenate(model(MODEL, small()))).max() < 1e-3
    assert np.abs(right - truth).max() < 1e-3 < np.abs(wrong - truth).max() / 10


def test_the_loss_is_bounded_where_the_model_fails():
    rng = np.random.default_rng(4)
    population = syn_a(20_000, d=4, rho=0, frequencies=[0.7, 0.1, 0.1, 0.1], rng=rng)
    truth = [population.select(j).frequencies for j in range(4)]
    error = {}
    for shares in ((0.8, 0.2, 0), (0.4, 0.1, 0.5)):
        runs = Plurality(k=(4,) * 4, epsilon=1.0, shares=shares).simulate(population, rng=rng, runs=1_000)
        error[shares] = sum(((a - b) ** 2).sum(axis=1) for a, b in zip(runs, truth, strict=True)).mean()
    e = math.e
    one_question = 4 * 4 * (1 - 1 / 4) * ((e + 3) / (e - 1)) ** 2 / population.n
    assert error[0.4, 0.1, 0.5] < 2 * one_question < error[0.8, 0.2, 0]


def test_exact_moments_are_refused_if_some_are_asked():
    assert MODEL.has_exact_moments
    assert not GATED.has_exact_moments
    for moment in (GATED.mean, GATED.variance):
        with pytest.raises(ValueError, match="use simulate"):
            moment(small())


def test_a_report_is_one_small_integer_and_the_same_generator_gives_the_same_reports():
    users = small().users()
    y, again = (GATED.perturb(users, rng=np.random.default_rng(5)) for _ in range(2))
    assert y.dtype == np.uint8
    assert (y == again).all()
    assert eval(repr(GATED)) == GATED


def test_it_serves_equal_domains_only():
    assert Plurality.serves((4, 4))
    assert Plurality.serves((2,))
    assert not any(map(Plurality.serves, [4, (), (2, 3), (1, 1), (2.0, 2.0), (True, True)]))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"k": (2, 3)}, r"k must be the same .* got \(2, 3\)"),
        ({"k": 4}, "k must give the domain sizes .* got 4"),
        ({"epsilon": -1.0}, "epsilon must be .* got -1.0"),
        ({"shares": (0.5, 0.5)}, r"shares must be three .* got \(0.5, 0.5\)"),
        ({"shares": (1.0, 0, 0)}, r"shares must be three .* got \(1.0, 0, 0\)"),
        ({"shares": (0.5, 0.6, -0.1)}, "shares must be three"),
        ({"shares": ("a", 0.5, 0.5)}, "shares must be three"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Plurality(**{"k": (3, 3), "epsilon": 1.0} | arguments)


def test_a_large_channel_is_refused():
    with pytest.raises(ValueError, match="k must be small for a channel"):
        Plurality(k=(5,) * 8, epsilon=1.0).channel()


def single(mechanism, y):
    """The estimate from one report: the model's, and the unbiased answers that it is mixed with."""
    k, d = mechanism.k[0], len(mechanism.k)
    told = []

    def together(estimates, noise, centre):
        told.append((estimates, noise, centre))
        return shrinkage.together(estimates, noise, centre)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plurality, "_stein", SimpleNamespace(together=together))
        mechanism.estimate(np.array([y]))
    ((estimates, noise, _),) = told
    assert len(estimates) == len(noise) == d
    assert estimates[0].shape == (1, k)
    return np.concatenate(estimates, axis=1)[0]


@pytest.mark.parametrize(
    ("k", "d", "shares"), [(3, 2, (0.4, 0.1, 0.5)), (2, 3, (0.2, 0.3, 0.5)), (4, 1, (0.5, 0.25, 0.25))]
)
def test_answers_of_one_user_are_unbiased(k, d, shares):
    mechanism = Plurality(k=(k,) * d, epsilon=1.5, shares=shares)
    matrix = mechanism.channel()
    values = np.array([single(mechanism, y) for y in mechanism.reports()])
    for record, row in zip(itertools.product(range(k), repeat=d), matrix, strict=True):
        assert (row @ values).reshape(d, k) == pytest.approx(np.eye(k)[list(record)], abs=1e-12)


@pytest.mark.parametrize(
    "mechanism", [GATED, Plurality(k=(2,) * 3, epsilon=2.0, shares=(0.2, 0.3, 0.5))], ids=["3", "2"]
)
def test_reports_follow_the_channel(mechanism):
    k, d = mechanism.k[0], len(mechanism.k)
    records, reports = list(itertools.product(range(k), repeat=d)), mechanism.reports()
    matrix = mechanism.channel()
    for row in (1, len(records) - 1):
        y = mechanism.perturb(np.tile(records[row], (6_000, 1)), rng=np.random.default_rng(row))
        assert y.dtype == reports.dtype
        assert check.law_z(y, {(int(r),): c for r, c in zip(reports, matrix[row], strict=True)}) < 5
        assert check.law_z(y, {(int(r),): c for r, c in zip(reports, matrix[row - 1], strict=True)}) > 5


def test_simulated_reports_have_the_channel_s_mean():
    people, told = (
        Population.from_records(np.array([[0, 0, 1]] * 9 + [[2, 1, 1]] * 5 + [[0, 1, 2]] * 3), k=(3,) * 3),
        [],
    )
    mechanism = Plurality(k=(3,) * 3, epsilon=1.5, shares=(0.2, 0.3, 0.5))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Plurality, "_estimate", lambda self, counts: told.append(counts) or [])
        mechanism.simulate(people, rng=np.random.default_rng(1), runs=3_000)
    rows = people.records @ [9, 3, 1]
    want, law = people.counts @ mechanism.channel()[rows], mechanism.channel()[rows]
    (counts,) = told
    assert (counts.sum(axis=1) == people.n).all()
    assert check.mean_z(counts, want) < 5 < check.mean_z(counts, want * np.linspace(0.9, 1.1, want.size))
    covariance = np.diag(want) - (law.T * people.counts) @ law
    assert check.variance_z(counts, covariance) < 5


def test_half_of_the_plurality_is_a_tie_s_and_the_model_is_the_estimate_s_mean_with_many_users():
    people = Population.from_counts([[[6, 1], [0, 2]], [[3, 0], [1, 5]]])
    mechanism = Plurality(k=(2, 2, 2), epsilon=1.0, shares=(0.7, 0.3, 0))
    records, weights = people.records, people.counts / people.n
    plural = np.array([[(row == v).sum() > 1.5 for v in (0, 1)] for row in records.tolist() for row in [np.array(row)]])
    law = weights @ plural
    for j, found in enumerate(model(mechanism, people)):
        agreement = sum(w * p[x[j]] for w, p, x in zip(weights, plural, records, strict=True))
        assert found == pytest.approx(0.5 + (2 * agreement - 1) * (law - 0.5), abs=1e-11)


@pytest.mark.parametrize(
    "shares",
    [
        (0, 1, 0),
        (1, 0, 0),
        (0, 0, 1),
        (0.5, 0.5, 0, 0),
        (0.5, 0.25),
        (0.5, 0.5, 3e-9),
        (0.6, 0.6, -0.2),
        0.5,
        (-0.1, 0.6, 0.5),
    ],
)
def test_shares_out_of_range_are_refused(shares):
    with pytest.raises(
        ValueError, match="shares must be three numbers from 0 to 1 that sum to 1, the first two above 0"
    ):
        Plurality(k=(3, 3), epsilon=1.0, shares=shares)


@pytest.mark.parametrize(
    "shares", [(True, 0.5, 0.5), (np.bool_(True), 0, 0), ("0.5", 0.5, 0), (0.5, 0.5, None), None, (0.5, 0.5j, 0)]
)
def test_shares_that_are_no_numbers_are_refused(shares):
    with pytest.raises(TypeError, match=r"shares must be three numbers .*; got "):
        Plurality(k=(3, 3), epsilon=1.0, shares=shares)


def test_shares_are_kept_as_floats():
    mechanism = Plurality(k=(3, 3), epsilon=1.0, shares=(Fraction(1, 2), np.float32(0.5), 4e-10))
    assert repr(mechanism.shares) == "(0.5, 0.5, 4e-10)"
    assert not mechanism.has_exact_moments
    assert not Plurality(k=(3, 3), epsilon=1.0).has_exact_moments
    assert Plurality(k=(3, 3), epsilon=1.0, shares=[0.5, 0.5, 0]).has_exact_moments


@pytest.mark.parametrize(("k", "d"), [(3, 12), (129, 3), (2, 17)])
def test_a_large_channel_is_refused_by_its_numbers(k, d):
    with pytest.raises(ValueError, match=f"{k**d} rows and {k + 2 * d + d * k} columns"):
        Plurality(k=(k,) * d, epsilon=1.0).channel()


def test_what_is_proved_is_the_worst_answer():
    for k in (2, 3, 50):
        mechanism = Plurality(k=(k, k), epsilon=0.7)
        proved = [GRR(k=size, epsilon=0.7).realised_epsilon() for size in (2, k)]
        assert mechanism.realised_epsilon() == max(proved)


def test_counts_of_plurality_s_reports():
    mechanism = Plurality(k=(3, 3), epsilon=1.0)
    assert mechanism.count([0, 12, 12, 5]).tolist() == [4, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 2]
    with pytest.raises(ValueError, match=r"y must be .* from 0 to 12; got 13 at position 1"):
        mechanism.count([0, 13])
    assert mechanism.reports().tolist() == list(range(13))


@pytest.mark.parametrize("kind", ["i1", "u1", "u8"])
def test_records_of_any_type_of_integers_give_the_same_reports(kind):
    x = np.array([[0, 1], [2, 2], [1, 0]] * 20)
    sent = [GATED.perturb(part, rng=np.random.default_rng(1)) for part in (x, x.astype(kind))]
    assert np.array_equal(*sent)

"""What all signed reports reveal: by enumeration of all signs and reports, and parameters for epsilon and delta."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from ldp_lib import jrr
from ldp_lib.jrr import goal, profile

POINTS = [(Fraction(3, 5), Fraction(1, 5)), (Fraction(3, 4), Fraction(1, 8)), (Fraction(3, 5), Fraction(2, 5))]
E = [Fraction(1), Fraction(5, 4), Fraction(8, 5), Fraction(5, 2)]


def views(p, s, n, colluders, others):
    """Chances of all that can be seen, signs of colluders and other reports, if user 0 holds 0 or 1."""
    seen, half = {}, n // 2
    singles = range(n) if n % 2 else [None]
    for single in singles:
        seats = [j for j in range(n) if j != single]
        for plus in itertools.combinations(seats, half):
            signs = [0 if j == single else 1 if j in plus else -1 for j in range(n)]
            free = [0, *range(colluders + 1, n)]
            for y in itertools.product((0, 1), repeat=len(free)):
                for own in (0, 1):
                    chance = Fraction(1, len(singles) * math.comb(2 * half, half))
                    for j, report, value in zip(free, y, (own, *others), strict=True):
                        one = (p if value else 1 - p) + signs[j] * s
                        chance *= one if report else 1 - one
                    seen.setdefault((tuple(signs[1 : colluders + 1]), y), [0, 0])[own] += chance
    return seen.values()


@pytest.mark.parametrize(("p", "s"), POINTS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_delta_equals_enumeration_for_all_values_of_the_others_and_all_colluders(n, p, s):
    rho = -float(s * s / (p * (1 - p)))
    for colluders in range(n):
        for ones in range(n - colluders):
            seen = views(p, s, n, colluders, (1,) * ones + (0,) * (n - 1 - colluders - ones))
            exact = [max(sum(max(0, v[a] - e * v[1 - a]) for v in seen) for a in (0, 1)) for e in E]
            logs = np.log([float(e) for e in E])
            got = profile.signed_delta(logs, float(p), rho, n, colluders, ones=ones)
            assert got == pytest.approx([float(v) for v in exact], abs=1e-13)
            bound = profile.signed_delta_bound(logs, float(p), rho, n, colluders)
            assert (bound >= got - 1e-13).all()
            if ones == n - 1 - colluders:
                default = profile.signed_delta(logs, float(p), rho, n, colluders)
                assert default == pytest.approx(got, abs=1e-13)
            if ones == n - 1 and n % 2 == 0 and s < 1 - p:
                worst = max(v[a] / v[1 - a] for v in seen for a in (0, 1))
                assert worst == jrr.signed_ratio(p, -s * s / (p * (1 - p)))


def test_the_headline():
    p, n = 0.5225, 10_000
    rho = 0.95 * jrr.rho_range(p)[0]
    assert jrr.signed_delta(0.1, p, rho, n) == pytest.approx(9.6e-9, rel=0.01)
    assert jrr.transcript_delta(0.1, p, rho, n) == pytest.approx(7.7e-3, rel=0.01)
    # Fewer alike, less delta: 9,990 and 9,000 of 9,999 others.
    deltas = [jrr.signed_delta(0.1, p, rho, n, ones=ones) for ones in (9_000, 9_990, 9_999)]
    assert deltas == sorted(deltas)
    assert jrr.signed_delta_bound(0.1, p, rho, n) < 20 * deltas[-1]


def test_alike_is_not_always_the_worst_of_the_others_but_nearly():
    p, n = 0.6, 30
    rho = 0.4 * jrr.rho_range(p)[0]
    epsilon = math.log(p / (1 - p)) + 0.6 * (math.log(jrr.signed_ratio(p, rho)) - math.log(p / (1 - p)))
    deltas = [jrr.signed_delta(epsilon, p, rho, n, ones=ones) for ones in range(n)]
    assert max(deltas) == deltas[28] > 1.09 * deltas[29]
    assert jrr.signed_delta(epsilon, p, rho, n) == pytest.approx(deltas[29], rel=1e-9)
    assert max(deltas) < jrr.signed_delta_bound(epsilon, p, rho, n)


@pytest.mark.parametrize(
    ("alike", "epsilon", "n"), [(True, 0.1, 400), (True, 1.0, 400), (False, 1.0, 100), (False, 0.5, 101)]
)
def test_the_parameters_keep_the_budget_and_no_point_of_a_grid_beats_those_for_others_alike(alike, epsilon, n):
    delta = 1e-6
    p, rho = jrr.signed_parameters(epsilon=epsilon, delta=delta, n=n, alike=alike)
    spent = jrr.signed_delta if alike else jrr.signed_delta_bound
    assert delta / 2 < spent(epsilon, p, rho, n) <= delta * (1 + 1e-9)
    if not alike:
        return
    best = p * (1 - p) * (1 + rho) / (2 * p - 1) ** 2
    top = (math.exp(epsilon) + delta) / (1 + math.exp(epsilon))
    assert best <= top * (1 - top) / (2 * top - 1) ** 2
    for share, lower in itertools.product((0, 0.2, 0.5, 0.8, 0.9, 0.97), (0.7, 0.9, 0.97, 1)):
        at = 0.5 + (top - 0.5) * lower
        value = at * (1 - at) * (1 - share * (1 - at) / at) / (2 * at - 1) ** 2
        if value < 0.998 * best:
            assert spent(epsilon, at, -share * (1 - at) / at, n) > delta


def test_colluders_who_show_their_signs_cost_little_and_all_of_them_cost_all():
    deltas = [jrr.signed_delta(0.1, 0.52, -0.8, 1_000, m) for m in (0, 5, 50, 500, 999)]
    assert deltas == sorted(deltas)
    assert deltas[1] < 1.05 * deltas[0]
    assert deltas[-1] > 0.01  # the last sign is known


def test_without_a_sign_it_is_randomized_response():
    for n in (1, 2, 7, 50):
        p, e = 0.6, math.exp(0.2)
        assert jrr.signed_delta(0.2, p, 0.0, n) == pytest.approx(p - e * (1 - p), rel=1e-12)
        assert jrr.signed_delta_bound(0.2, p, 0.0, n) == pytest.approx(p - e * (1 - p), rel=1e-12)


def test_the_best_variances_of_ten_thousand_users():
    for epsilon, alike, proved in ((0.1, 0.113, 0.121), (0.5, 0.417, 0.428), (1.0, 0.655, 0.664)):
        for expected, kind in ((alike, True), (proved, False)):
            p, rho = jrr.signed_parameters(epsilon=epsilon, delta=1e-8, n=10_000, alike=kind)
            variance = jrr.signed_variance(0, 10_000, p, 1 - p, *[math.sqrt(-rho * p * (1 - p))] * 2)
            assert variance / (10_000 * goal.plain_variance(epsilon, 1e-8)) == pytest.approx(expected, abs=6e-4)
        # No pair of truths does better even if all hold the same value, where they do best.
        if epsilon == 0.1:
            gains = []
            for share in (0.01, 0.1, 0.5):
                at = goal.largest_p(lambda p, rho: jrr.transcript_delta(0.1, p, rho, 10_000), 0.1, 1e-8, share)
                if at:
                    gains.append(jrr.variance(0, 10_000, at, -share * (1 - at) / at) / 10_000)
            assert min(gains) > goal.plain_variance(0.1, 1e-8)


def test_the_variance_tends_to_its_limit():
    epsilon, e = 0.5, math.exp(0.5)
    ratio = []
    for n in (1_000, 10_000, 100_000):
        p, rho = jrr.signed_parameters(epsilon=epsilon, delta=1e-8, n=n, alike=True)
        ratio.append(p * (1 - p) * (1 + rho) / (2 * p - 1) ** 2 * (e - 1))  # over q / (p-q) at p = e/(1+e)
    assert ratio == sorted(ratio, reverse=True)
    assert 1 < ratio[-1] < 1.03 < 1.2 < ratio[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"epsilon": -0.1}, "epsilon must be a number from 0"),
        ({"epsilon": "1"}, "epsilon must be a number from 0"),
        ({"p": 0.5}, "p must be above"),
        ({"rho": 0.1}, "rho must be at most 0 for signed reports; got 0.1"),
        ({"rho": -0.7}, "rho must be from"),
        ({"n": 0}, "n must be an integer of at least 1; got 0"),
        ({"n": 10.0}, "n must be an integer; got 10.0"),
        ({"colluders": 10}, "colluders must be from 0 to n - 1 = 9; got 10"),
        ({"ones": 10}, "ones must be None or an integer from 0 to n - 1 - colluders = 9; got 10"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        jrr.signed_delta(**{"epsilon": 0.1, "p": 0.6, "rho": -0.5, "n": 10, **arguments})


@pytest.mark.parametrize("delta", [0, 0.2, 1e-31, math.nan])
def test_a_delta_out_of_range_is_refused(delta):
    with pytest.raises(ValueError, match="delta must be from 1e-30 to"):
        jrr.signed_parameters(epsilon=1.0, delta=delta, n=10)


@pytest.mark.parametrize(("epsilon", "best"), [(0.5, 0.55), (1.0, 0.69)])
def test_the_best_case_of_tied_truths(epsilon, best):
    p = goal.largest_p(lambda p, rho: jrr.transcript_delta(epsilon, p, rho, 10_000), epsilon, 1e-8, 0.999)
    variance = jrr.variance(0, 10_000, p, -0.999 * (1 - p) / p) / 10_000
    assert round(variance / goal.plain_variance(epsilon, 1e-8), 2) == best

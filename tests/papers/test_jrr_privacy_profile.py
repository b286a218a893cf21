"""What all signed reports reveal: by enumeration of all signs and reports, and parameters for epsilon and delta."""

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from scipy import signal, stats

from ldp_lib import jrr
from ldp_lib.jrr import _privacy_profile, calibration

POINTS = [(Fraction(3, 5), Fraction(1, 5)), (Fraction(3, 4), Fraction(1, 8)), (Fraction(3, 5), Fraction(2, 5))]
E = [Fraction(1), Fraction(5, 4), Fraction(8, 5), Fraction(5, 2)]


def views(p, s, n, colluders, others):
    """Chances of all that can be seen, signs of colluders and other reports, if user 0 holds 0 or 1.

    Of others with value None it is seen whether they tossed a coin, chance 2q, and its side.
    """
    seen, half = {}, n // 2
    singles = range(n) if n % 2 else [None]
    for single in singles:
        seats = [j for j in range(n) if j != single]
        for plus in itertools.combinations(seats, half):
            signs = [0 if j == single else 1 if j in plus else -1 for j in range(n)]
            free = [0, *range(colluders + 1, n)]
            for y in itertools.product((0, 1), *[(0, 1, 2) if v is None else (0, 1) for v in others]):
                for own in (0, 1):
                    chance = Fraction(1, len(singles) * math.comb(2 * half, half))
                    for j, report, value in zip(free, y, (own, *others), strict=True):
                        one = (p if value else 1 - p) + signs[j] * s
                        no = 1 - p - signs[j] * s if value is None else 1 - one
                        chance *= (no, one, 2 * p - 1)[report]
                    seen.setdefault((tuple(signs[1 : colluders + 1]), y), [0, 0])[own] += chance
    return seen.values()


@pytest.mark.parametrize("p", [Fraction(51, 100), Fraction(3, 5), Fraction(9, 10)])
@pytest.mark.parametrize("n", [2, 3, 4])
def test_at_the_least_rho_delta_is_right_at_every_budget(n, p):
    seen = views(p, 1 - p, n, 0, (1,) * (n - 1))  # a sign may settle the report, so delta does not fall to 0
    for epsilon in (0.0, 1.0, 14.0, 36.0, 50.0, 700.0):
        e = Fraction(math.exp(epsilon))
        exact = float(max(sum(max(0, v[a] - e * v[1 - a]) for v in seen) for a in (0, 1)))
        found = [
            spent(epsilon, float(p), float((p - 1) / p), n) for spent in (jrr.signed_delta, jrr.signed_delta_bound)
        ]
        assert found[0] == pytest.approx(exact, abs=1e-13)
        assert exact - 1e-13 <= found[1] <= 1 + 1e-13


@pytest.mark.parametrize(("p", "s"), POINTS)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_delta_equals_enumeration_for_all_values_of_the_others_and_all_colluders(n, p, s):
    rho = -float(s * s / (p * (1 - p)))
    for colluders in range(n):
        for ones in range(n - colluders):
            seen = views(p, s, n, colluders, (1,) * ones + (0,) * (n - 1 - colluders - ones))
            exact = [max(sum(max(0, v[a] - e * v[1 - a]) for v in seen) for a in (0, 1)) for e in E]
            logs = np.log([float(e) for e in E])
            got = _privacy_profile.signed_delta(logs, float(p), rho, n, colluders, ones=ones)
            assert got == pytest.approx([float(v) for v in exact], abs=1e-13)
            bound = _privacy_profile.signed_delta_bound(logs, float(p), rho, n, colluders)
            assert (bound >= got - 1e-13).all()
            if ones == n - 1 - colluders:
                default = _privacy_profile.signed_delta(logs, float(p), rho, n, colluders)
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


def test_alike_is_not_always_the_worst_of_the_others():
    p, n = 0.6, 30
    rho = 0.4 * jrr.rho_range(p)[0]
    epsilon = math.log(p / (1 - p)) + 0.6 * (math.log(jrr.signed_ratio(p, rho)) - math.log(p / (1 - p)))
    deltas = [jrr.signed_delta(epsilon, p, rho, n, ones=ones) for ones in range(n)]
    assert max(deltas) == deltas[28] > 1.09 * deltas[29]
    assert jrr.signed_delta(epsilon, p, rho, n) == pytest.approx(deltas[29], rel=1e-9)
    assert max(deltas) < jrr.signed_delta_bound(epsilon, p, rho, n)
    few = [jrr.signed_delta(1.8, 0.85, -0.05, 3, ones=ones) for ones in range(3)]
    assert few[2] == pytest.approx(jrr.signed_delta(1.8, 0.85, -0.05, 3))
    assert f"{few[1] / few[2]:.1f}" == "1.6"
    alike, mixed = (jrr.signed_delta(4.268, 0.98, -0.02, 3, ones=ones) for ones in (None, 1))
    assert 1.9 * alike < mixed


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


@pytest.mark.parametrize(
    ("epsilon", "delta", "n", "less"), [(0.1, 0.0032, 2, 6), (0.01, 1e-4, 2, 70), (0.1, 0.0022, 400, 1)]
)
def test_what_the_least_rho_would_save(epsilon, delta, n, less):
    p, rho = jrr.signed_parameters(epsilon=epsilon, delta=delta, n=n, alike=True)
    least = calibration.largest_p(lambda p, rho: jrr.signed_delta(epsilon, p, rho, n), epsilon, delta, 1.0)
    saved = 1 - calibration._cost(least, 1, lambda rho: 1 + rho) / calibration._cost(
        p, -rho * p / (1 - p), lambda rho: 1 + rho
    )
    assert round(100 * saved) == less


def test_a_budget_kept_on_a_narrow_range_is_found():
    # At the least rho the budget holds below 0.509, and from 0.5357 to 0.5366.
    p = calibration.largest_p(lambda p, rho: jrr.signed_delta(0.2, p, rho, 50), 0.2, 0.0056234, 1.0)
    assert p == pytest.approx(0.53659, abs=1e-5)


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
            assert variance / (10_000 * calibration.plain_variance(epsilon, 1e-8)) == pytest.approx(expected, abs=6e-4)
        # No pair of truths does better even if all hold the same value, where they do best.
        if epsilon == 0.1:
            gains = []
            for share in (0.01, 0.1, 0.5):
                at = calibration.largest_p(lambda p, rho: jrr.transcript_delta(0.1, p, rho, 10_000), 0.1, 1e-8, share)
                if at:
                    gains.append(jrr.variance(0, 10_000, at, -share * (1 - at) / at) / 10_000)
            assert min(gains) > calibration.plain_variance(0.1, 1e-8)


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


@pytest.mark.parametrize("alike", ["False", 0, None, math.nan])
def test_the_weaker_promise_is_asked_for_by_true_alone(alike):
    with pytest.raises(TypeError, match="alike must be True or False; got"):
        jrr.signed_parameters(epsilon=1.0, delta=1e-6, n=10, alike=alike)


@pytest.mark.parametrize(("epsilon", "best"), [(0.5, 0.55), (1.0, 0.69)])
def test_the_best_case_of_tied_truths(epsilon, best):
    p = calibration.largest_p(lambda p, rho: jrr.transcript_delta(epsilon, p, rho, 10_000), epsilon, 1e-8, 0.999)
    variance = jrr.variance(0, 10_000, p, -0.999 * (1 - p) / p) / 10_000
    assert round(variance / calibration.plain_variance(epsilon, 1e-8), 2) == best


@pytest.mark.parametrize(("n", "colluders"), [(1, 0), (2, 0), (2, 1), (3, 0), (3, 1), (4, 0), (4, 2), (5, 1), (5, 3)])
def test_the_bound_is_what_is_spent_if_tosses_are_seen(n, colluders):
    p, s = POINTS[1]  # where the bound rounds no number of others who tossed
    others, ratios = n - 1 - colluders, [*E, Fraction(3), Fraction(16, 5)]  # the tosses count at the last two

    def spent(values):
        seen = views(p, s, n, colluders, values)
        return [max(sum(max(0, v[a] - e * v[1 - a]) for v in seen) for a in (0, 1)) for e in ratios]

    exact = spent((None,) * others)
    assert (exact[-1] > 0) == (n > 1)
    rho, logs = -float(s * s / (p * (1 - p))), np.log([float(e) for e in ratios])
    got = jrr.signed_delta_bound(logs, float(p), rho, n, colluders)
    assert got == pytest.approx([float(v) for v in exact], abs=1e-14)
    for ones in range(others + 1):
        told = spent((1,) * ones + (0,) * (others - ones))
        assert all(a <= b for a, b in zip(told, exact, strict=True))


def sum_of(*groups):
    """The law of the number of ones among groups of users, each (size, chance)."""
    law = np.ones(1)
    for size, chance in groups:
        law = np.convolve(law, stats.binom.pmf(np.arange(size + 1), size, chance))
    return law


def spent_if_alike(e, p, s, n, middle, lean):
    """Delta if each of n - 1 others, n even, has a 1 with chance `middle`, and `lean` more or less by the sign."""
    half = n // 2
    plus = sum_of((half - 1, middle + lean), (half, middle - lean)) / 2  # this user has plus
    minus = sum_of((half, middle + lean), (half - 1, middle - lean)) / 2
    laws = [[(c + s) * plus + (c - s) * minus for c in (p, 1 - p)]]
    laws.append([(1 - c - s) * plus + (1 - c + s) * minus for c in (1 - p, p)])
    return np.max([np.maximum(0, one - e[:, None] * other).sum(axis=1) for one, other in laws], axis=0)


@pytest.mark.parametrize("n", [120, 1_004])
def test_rare_reports_of_many_alike_count_in_full(n):
    for p, share in ((0.6, 0.1), (0.6, 0.3), (0.6, 0.81), (0.52, 0.81)):
        s, rho = math.sqrt(share) * (1 - p), share * jrr.rho_range(p)[0]
        e = np.exp(np.linspace(0.001, 4 * math.log(p / (1 - p)), 80))
        exact = spent_if_alike(e, p, s, n, p, s)
        seen = exact > 1e-34
        assert 1e-34 < exact[seen].min() < 1e-9 < 1e-4 < exact[seen].max()
        assert jrr.signed_delta(np.log(e[seen]), p, rho, n) == pytest.approx(exact[seen], rel=1e-6, abs=0)
    # The bound is at most what is spent if all others toss coins and show them, and at least what they spend.
    bound = jrr.signed_delta_bound(np.log(e[seen]), p, rho, n)
    assert (bound <= spent_if_alike(e[seen], p, s, n, 0.5, s / (2 * (1 - p))) * (1 + 1e-6)).all()
    assert (bound >= exact[seen] * (1 - 1e-9)).all()


def test_the_bound_is_no_smaller_than_delta_where_both_are_rarer_than_what_is_left_out():
    rho = -0.9 * 0.45 / 0.55
    assert 0 < jrr.signed_delta(0.5, 0.55, rho, 2_001) < 1e-60 < jrr.signed_delta_bound(0.5, 0.55, rho, 2_001) < 1e-37


def tosses(size, one, zero):
    """The law of the numbers of ones and zeros shown among users who show a 1, a 0 or no coin."""
    law = np.ones((1, 1))
    for _ in range(size):
        law = (
            (1 - one - zero) * np.pad(law, (0, 1))
            + one * np.pad(law, ((1, 0), (0, 1)))
            + zero * np.pad(law, ((0, 1), (1, 0)))
        )
    return law


def test_the_bound_is_little_above_what_is_spent_if_tosses_are_seen():
    p, n = 0.6, 60
    q, s, half = 1 - p, 0.6 * (1 - p), n // 2
    laws = {sign: [tosses(half - (sign == side), q + side * s, q - side * s) for side in (1, -1)] for sign in (1, -1)}
    plus, minus = (signal.convolve2d(*laws[sign]) / 2 for sign in (1, -1))
    one, zero = ((c + s) * plus + (c - s) * minus for c in (p, q))
    for times, most in ((1.0, 1.01), (1.1, 1.1), (1.2, 1.3)):  # of ln(p/q): what is spent is 4e-3, 4e-5, 8e-9
        spent = np.maximum(0, one - (p / q) ** times * zero).sum()
        bound = jrr.signed_delta_bound(times * math.log(p / q), p, -s * s / (p * q), n)
        assert 1 <= bound / spent < most


@pytest.mark.parametrize("p", [0.51, 0.59, 0.6, 0.75, 0.79, 0.9, 1 - 1e-9])  # at .59 and .79 sums round upwards
def test_the_ratio_of_floats_is_that_of_rational_arithmetic(p):
    exact = Fraction(p)
    low = -(1 - exact) / exact
    for share in (0, Fraction(1, 3), 1 - Fraction(1, 10**5)):
        want = jrr.signed_ratio(exact, low * share)
        for first, second in ((p, float(low * share)), (exact, float(low * share)), (p, low * share)):
            assert jrr.signed_ratio(first, second) == pytest.approx(float(want), rel=1e-4)
    for first, second in ((p, float(low)), (exact, float(low)), (p, low), (exact, low)):
        assert jrr.signed_ratio(first, second) == math.inf


def test_at_the_least_rho_signs_may_settle_reports():
    for p in np.linspace(0.505, 0.995, 50):
        rho, epsilon = jrr.rho_range(float(p))[0], math.log(p / (1 - p)) + 0.1
        # The last of two reports tells the first one's sign, and with it the report, but for chance 2 q^2.
        for spent in (jrr.signed_delta, jrr.signed_delta_bound):
            assert p - math.exp(epsilon) * (1 - p) < spent(epsilon, float(p), rho, 2) < 1


@pytest.mark.parametrize("ones", [-1, 8, True, 1.0, "1"])
def test_the_number_of_ones_is_one_of_those_who_do_not_collude(ones):
    with pytest.raises(ValueError, match=re.escape(f"integer from 0 to n - 1 - colluders = 7; got {ones!r}")):
        jrr.signed_delta(0.1, 0.6, -0.5, 10, 2, ones=ones)
    assert jrr.signed_delta(0.1, 0.6, -0.5, 10, 2, ones=np.int64(7)) == jrr.signed_delta(0.1, 0.6, -0.5, 10, 2)


def test_rho_is_at_most_0_for_signed_reports():
    for spent in (jrr.signed_delta, jrr.signed_delta_bound):
        with pytest.raises(ValueError, match=r"rho must be at most 0 for signed reports; got 0\.001"):
            spent(0.1, 0.6, 0.001, 10)
        with pytest.raises(TypeError, match=r"colluders must be an integer; got 1\.0"):
            spent(0.1, 0.6, 0, 10, 1.0)
    with pytest.raises(ValueError, match="rho must be at most 0"):
        jrr.signed_ratio(0.6, 0.001)


def test_the_variance_of_randomized_response_by_hand():
    assert calibration.plain_variance(math.log(3)) == pytest.approx(0.75)
    assert calibration.plain_variance(math.log(3), 0.1) == pytest.approx(0.775 * 0.225 / 0.55**2)
    assert calibration._cost(0.75, 0.6, lambda rho: 2 + rho) == pytest.approx(0.75 * 1.8)
    assert calibration._rho_at(0.75, 0.6) == pytest.approx(-0.2)


@pytest.mark.parametrize(
    ("limit", "found"),
    [
        (0.6234567899987, 0.6234567899),
        (0.534567899987, 0.53456789998),
        (0.775, 0.775),
        (0.8, 0.775),
        (0.5275012345678, 0.52750123456),
        (0.5274012345678, 0.52740123456),
        (0.50123456789012, 0.50123456789),
        (0.50002, None),
    ],
)
def test_the_largest_p_has_ten_digits_and_is_that_of_randomized_response_at_most(limit, found):
    told = []

    def spent(p, rho):
        told.append(rho + 0.6 * (1 - p) / p)
        return 0.1 * (p - 0.5) / (limit - 0.5)

    p = calibration.largest_p(spent, math.log(3), 0.1, 0.6)  # at most (3 + 0.1) / (1 + 3)
    assert p == (found if found is None else pytest.approx(found, abs=1e-14))
    assert max(map(abs, told)) < 1e-15


def test_the_largest_p_keeps_the_budget_to_the_last_digit():
    for limit in np.arange(0.56, 0.99, 0.01):
        p = calibration.largest_p(lambda p, rho, limit=limit: (p - 0.5) / (limit - 0.5), math.log(3), 1.0, 0.0)
        assert (p - 0.5) / (limit - 0.5) <= 1
        assert p == pytest.approx(limit, abs=2e-10)


def test_of_budgets_kept_here_and_there_the_largest_p_is_found():
    top = (3 + 0.1) / 4

    def spent(p, rho):  # within budget below 0.6, and from 0.77 to 0.774
        return 0.05 + 0.1 * (p - 0.6) if p < 0.7 else 0.05 + 20 * abs(p - 0.772) + 0.01

    p = calibration.largest_p(spent, math.log(3), 0.1, 0.5)
    assert 0.7735 < p < 0.774 < top


@pytest.mark.parametrize("best", [0.013, 0.0437, 0.33333, 0.45678, 0.87654, 0.93217, 0.998])
def test_the_best_share_is_found_between_those_tried(best):
    def spent(p, rho):  # the largest p is 0.7 for all shares
        return 0.1 * (p - 0.5) / 0.2

    def factor(rho):
        return 1 + (-rho * 0.7 / 0.3 - best) ** 2

    p, share = calibration._tune(spent, math.log(3), 0.1, factor)
    assert p == pytest.approx(0.7, abs=1e-9)
    assert share == round(share, 4)
    assert share == pytest.approx(best, abs=2e-4)


def test_of_equally_good_shares_the_least_is_taken():
    def spent(p, rho):
        return 0.1 * (p - 0.5) / 0.2

    assert calibration._tune(spent, math.log(3), 0.1, lambda rho: 1) == (pytest.approx(0.7), 0.0)
    assert calibration._tune(spent, math.log(3), 0.1, lambda rho: 1 + rho)[1] == pytest.approx(0.999, abs=1e-3)
    # Nothing between 0.2 and 0.4 is better.
    assert calibration._tune(spent, math.log(3), 0.1, lambda rho: 1 + abs(-rho * 0.7 / 0.3 - 0.2))[1] == pytest.approx(
        0.2, abs=1e-3
    )


def test_one_user_s_sign_helps_nobody():
    p, rho = jrr.signed_parameters(epsilon=1.0, delta=0.1, n=1)
    assert (p, rho) == (pytest.approx((math.e + 0.1) / (1 + math.e), rel=1e-9), 0.0)
    assert p - math.e * (1 - p) <= 0.1
    for wrong in (True, "0.1", None):
        with pytest.raises(TypeError, match=f"delta must be a number; got {wrong!r}"):
            jrr.signed_parameters(epsilon=1.0, delta=wrong, n=2)


def reach(share):
    """A largest p: at most that of randomized response with e = 3, and less, the more the signs move."""
    return 0.5 + 0.25 * (1 - 0.2 * share**2)


@pytest.fixture
def told(monkeypatch):
    """What is spent is made up: delta at the largest p, and the bound is a little more."""
    told = []

    def spent(epsilon, p, rho, n, colluders):
        told.append((epsilon, n, colluders))
        return 1e-3 * ((p - 0.5) / (reach(-rho * p / (1 - p)) - 0.5)) ** 400

    monkeypatch.setattr(calibration, "signed_delta", spent)
    monkeypatch.setattr(calibration, "signed_delta_bound", lambda *arguments: 1.05 * spent(*arguments))
    return told


@pytest.mark.parametrize("n", [2, 3, 4, 7, 1_000])
def test_the_least_variance_is_that_with_the_odd_user(n, told):
    def variance(p, share):
        s = np.sqrt(share) * (1 - p)
        return jrr.signed_variance(0, n, p, 1 - p, s, s, odd=n % 2)

    shares = np.linspace(0, 0.999, 4_000)
    best = shares[np.argmin(variance(reach(shares), shares))]
    assert 0.1 < best < 0.9
    p, rho = jrr.signed_parameters(epsilon=math.log(3), delta=1e-3, n=n, colluders=1, alike=True)
    assert -rho * p / (1 - p) == pytest.approx(best, abs=2e-3)
    assert p == pytest.approx(reach(-rho * p / (1 - p)), abs=1e-9)
    assert set(told) == {(math.log(3), n, 1)}
    # The bound costs a little of p, no sign.
    lower, other = jrr.signed_parameters(epsilon=math.log(3), delta=1e-3, n=n, colluders=1)
    assert -other * lower / (1 - lower) == pytest.approx(-rho * p / (1 - p), rel=1e-9)
    assert 1e-3 / 2 < 1.05e-3 * ((lower - 0.5) / (p - 0.5)) ** 400 <= 1e-3
    assert set(told) == {(math.log(3), n, 1)}


@pytest.mark.parametrize("times", [1e9, math.inf])
def test_where_the_bound_leaves_no_gain_it_is_randomized_response(times, told, monkeypatch):
    made_up = calibration.signed_delta
    monkeypatch.setattr(calibration, "signed_delta_bound", lambda *arguments: times * made_up(*arguments))
    p, rho = jrr.signed_parameters(epsilon=math.log(3), delta=1e-3, n=4)
    assert (p, rho) == (pytest.approx(reach(0), abs=1e-9), 0.0)


@pytest.mark.parametrize("delta", [1e-30, 0.1])
def test_a_delta_at_either_end_is_served(delta, told):
    assert 0.5 < jrr.signed_parameters(epsilon=math.log(3), delta=delta, n=4)[0] < 0.8


def test_a_budget_spent_to_the_last_bit_is_kept():
    p = calibration.largest_p(lambda p, rho: 0.1 if p <= 0.7 else 0.2, math.log(3), 0.1, 0.5)
    assert 0.65 < p <= 0.7


@pytest.mark.parametrize("arguments", [{"n": 2**31}, {"n": 2**31, "ones": 1_000}, {"n": 10**6, "colluders": 10**5}])
def test_more_users_than_can_be_computed_are_refused_with_the_size_before_any_work(arguments, monkeypatch):
    monkeypatch.setattr(_privacy_profile, "_views", None)  # any work would call it
    with pytest.raises(ValueError, match=r"n must take at most 2\*\*36 .* steps, .*; got [\d.]+e\+\d\d steps and"):
        jrr.signed_delta(0.1, 0.52, -0.8, **arguments)
    arguments.pop("ones", None)
    with pytest.raises(ValueError, match=r"got [\d.]+e\+\d\d steps and [\d.]+e\+\d\d numbers"):
        jrr.signed_delta_bound(0.1, 0.52, -0.8, **arguments)

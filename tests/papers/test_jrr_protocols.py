"""The two protocols of joint randomized response, message by message, against the table and by enumeration."""

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest

from ldp_lib import check, jrr
from ldp_lib.jrr import protocols
from ldp_lib.jrr.protocols import ServerProtocol, ShuffleProtocol

BOTH = pytest.mark.parametrize("make", [ServerProtocol, ShuffleProtocol], ids=lambda make: make.__name__)


@BOTH
@pytest.mark.parametrize(("p", "rho"), [(0.6, -0.5), (0.6, -2 / 3), (0.9, -0.05)])
def test_a_pairs_truths_have_the_law_of_the_table(make, p, rho):
    rng = np.random.default_rng(1)
    x = rng.integers(2, size=200_000)
    run = make(p=p, rho=rho).run(x, rng=rng)
    users, partner, sign = np.arange(x.size), run["partner"], run["sign"]
    assert (partner[partner] == users).all()
    assert (partner != users).all()
    assert (sign == -sign[partner]).all()
    assert (run["true"] == (run["coin"] + sign > 0)).all()
    assert ((run["y"] == x) == run["true"]).all()
    one = users < partner
    cell = 2 * run["true"][one] + run["true"][partner[one]]
    both, mixed, none = jrr.table(p, rho)
    q = 1 - p
    assert check.law_z(cell[:, None], {(3,): both, (2,): mixed, (1,): mixed, (0,): max(0, none)}) < 5
    assert check.law_z(cell[:, None], {(3,): p * p, (2,): p * q, (1,): p * q, (0,): q * q}) > 5


@BOTH
def test_with_an_odd_number_one_user_has_no_sign_and_tosses_a_coin_of_chance_p(make):
    protocol, rng = make(p=0.6, rho=-0.6), np.random.default_rng(1)
    alone = []
    for _ in range(4_000):
        run = protocol.run([0, 1, 1], rng=rng)
        (user,) = np.flatnonzero(run["partner"] == np.arange(3))
        assert run["sign"][user] == 0
        assert sorted(run["sign"]) == [-1, 0, 1]
        alone.append((user, run["true"][user]))
    law = {(u, t): (0.6 if t else 0.4) / 3 for u in range(3) for t in (0, 1)}
    wrong = {(u, t): 0.5 / 3 for u in range(3) for t in (0, 1)}
    assert check.law_z(np.array(alone), law) < 5 < check.law_z(np.array(alone), wrong)


@BOTH
def test_every_pairing_and_sign_is_as_likely(make):
    deal, rng = make(p=0.6, rho=-0.5).deal, np.random.default_rng(1)
    dealt = []
    for _ in range(6_000):
        messages = deal(4, rng)
        dealt.append((messages["partner"][0], *messages["sign"][:3]))
    law = {}
    for partner, first, second in itertools.product((1, 2, 3), (-1, 1), (-1, 1)):
        others = [j for j in (1, 2, 3) if j != partner]
        signs = {0: first, partner: -first, others[0]: second, others[1]: -second}
        law[partner, *(signs[j] for j in range(3))] = 1 / 12
    assert check.law_z(np.array(dealt), law) < 5


@BOTH
def test_the_messages_do_not_depend_on_the_values(make):
    protocol = make(p=0.6, rho=-0.5)
    runs = [protocol.run(x, rng=np.random.default_rng(3)) for x in ([0] * 9, [1] * 9)]
    for name in ("partner", "sign", "coin", "true"):
        assert np.array_equal(runs[0][name], runs[1][name])
    assert np.array_equal(runs[0]["y"], 1 - runs[1]["y"])


@pytest.mark.parametrize("n", [2, 4, 6])
def test_the_ratio_given_signs_is_the_largest_over_all_signs(n):
    p, s = Fraction(3, 5), Fraction(1, 5)
    halves = list(itertools.combinations(range(n), n // 2))  # the users with sign +
    for m in range(n):
        worst = 0
        for shown in itertools.product((0, 1), repeat=m):
            fits = [half for half in halves if all((j + 1 in half) == shown[j] for j in range(m))]
            if fits:
                true = sum(p + s if 0 in half else p - s for half in fits) / len(fits)
                worst = max(worst, true / (1 - true), (1 - true) / true)
        assert protocols.sign_ratio(p, s, n, m) == worst
    assert protocols.sign_ratio(p, 1 - p, n, n - 1) == np.inf


@BOTH
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"p": 0.8, "rho": 0.1}, r"rho must be from -0\.25 to 0 for (Server|Shuffle)Protocol; got 0\.1"),
        ({"p": 0.8, "rho": -0.3}, r"rho must be from -0\.25 to 1 for p = 0\.8 and k = 2; got -0\.3"),
        ({"p": 0.5, "rho": 0.0}, r"p must be above 1/k = 0\.5 and at most 1; got 0\.5"),
        ({"p": "a", "rho": 0.0}, "p must be a number; got 'a'"),
    ],
)
def test_bad_parameters_are_refused(make, arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make(**arguments)


@BOTH
def test_bad_values_and_seeds_are_refused(make):
    protocol, rng = make(p=0.6, rho=-0.5), np.random.default_rng(1)
    with pytest.raises(ValueError, match=r"x must be .* got 2 at position 1"):
        protocol.run([0, 2], rng=rng)
    with pytest.raises(TypeError, match="rng must be"):
        protocol.perturb([0, 1], rng=1)


def test_the_protocols_are_found_in_jrr_too():
    assert jrr.ServerProtocol is ServerProtocol
    assert jrr.ShuffleProtocol is ShuffleProtocol
    with pytest.raises(AttributeError, match=r"'ldp_lib\.jrr' has no attribute 'Server'"):
        _ = jrr.Server


def test_the_coin_has_a_law_by_hand():
    assert protocols.coin(Fraction(7, 10), Fraction(1, 10)) == tuple(Fraction(c, 10) for c in (6, 1, 1, 2))


@BOTH
def test_shown_coins_have_the_law_of_the_paper(make):
    run = make(p=0.7, rho=-0.01 / 0.21).run(np.zeros(5_000, int), rng=np.random.default_rng(1))
    law = {(c,): chance for c, chance in zip((3, 1, -1, -3), (0.6, 0.1, 0.1, 0.2), strict=True)}
    wrong = {(c,): chance for c, chance in zip((3, 1, -1, -3), (0.55, 0.15, 0.1, 0.2), strict=True)}
    coins = (2 * run["coin"])[:, None]
    assert check.law_z(coins, law) < 5 < check.law_z(coins, wrong)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 9])
def test_places_two_by_two_are_partners_with_signs_by_parity(n):
    dealt = protocols.shuffle_messages(n, np.random.default_rng(n))
    assert sorted(dealt["place"]) == list(range(1, n + 1))
    for user, place in enumerate(dealt["place"]):
        other = place + 1 if place % 2 else place - 1
        if other > n:
            assert (dealt["partner"][user], dealt["sign"][user]) == (user, 0)
        else:
            assert dealt["place"][dealt["partner"][user]] == other
            assert dealt["sign"][user] == (-1 if place % 2 else 1)


@BOTH
def test_exact_coins_stay_within_the_chances_at_the_least_rho(make):
    for p in (*np.linspace(0.505, 0.995, 50), 1 - 1e-9):
        protocol = make(p=float(p))
        coins, (both, first, second, none) = protocol.realised_coin, protocol.realised_pair
        assert min(coins) >= 0
        assert sum(coins) == 1
        assert coins[0] + coins[1] == protocol.realised_p == both + first
        assert all((coin * 2**64).denominator == 1 for coin in coins)
        assert [float(c) for c in coins] == pytest.approx([2 * p - 1, 1 - p, 1 - p, 0], abs=1e-15)
        assert first == second
        assert both + first + second + none == 1
        assert float(none) == pytest.approx(0, abs=1e-15)


def test_the_ratio_given_signs_at_the_ends_of_the_move():
    third = Fraction(1, 3)
    for n, m in ((1, 0), (4, 1), (7, 5)):
        assert protocols.sign_ratio(2 * third, 0, n, m) == 2
    # Two of five show their signs: all are worth a lean of 2 s / 3.
    assert protocols.sign_ratio(2 * third, third, 5, 2) == Fraction(8, 1)
    assert protocols.sign_ratio(2 * third, third, 5, 3) == math.inf
    assert protocols.sign_ratio(0.75, 0.25 * (1 + 1e-13), 4, 1) == pytest.approx(5)
    for wrong in (-1e-9, 0.25 + 1e-9, math.nan):
        with pytest.raises(ValueError, match=re.escape(f"s must be from 0 to 1 - p = 0.25; got {wrong!r}")):
            protocols.sign_ratio(0.75, wrong, 4, 1)
    for wrong in (True, "0", None):
        with pytest.raises(TypeError, match=f"s must be a number; got {wrong!r}"):
            protocols.sign_ratio(0.75, wrong, 4, 1)


@BOTH
def test_values_other_than_0_and_1_are_refused_and_reports_are_bytes(make):
    protocol = make(p=1.0)
    y = protocol.perturb(np.array([0, 1, 1]), rng=np.random.default_rng(1))
    assert (y.dtype, y.tolist()) == (np.uint8, [0, 1, 1])
    for wrong in ([0, 2], [-1, 0], [0.5], []):
        with pytest.raises((TypeError, ValueError), match=r"x must be a one-dimensional array .* from 0 to 1"):
            protocol.run(wrong, rng=np.random.default_rng(1))

"""Joint randomized response in other mechanisms: exact variances by enumeration, laws of reports, bad input."""

import itertools
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from ldp_lib import channel, check, hashing, jrr
from ldp_lib.jrr import _signs
from ldp_lib.jrr.extensions import JointHashing, JointUnary
from ldp_lib.jrr.signed import SignedRR
from ldp_lib.population import Population


def signs(n):
    """All sign vectors of a random half; with an odd number one user has 0."""
    half = n // 2
    return sorted(set(itertools.permutations([1] * half + [-1] * half + [0] * (n % 2))))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize(
    ("p", "q", "s", "t"),
    [
        (Fraction(3, 5), Fraction(2, 5), Fraction(1, 5), Fraction(1, 5)),
        (Fraction(3, 5), Fraction(2, 5), Fraction(2, 5), Fraction(-2, 5)),
        (Fraction(1, 2), Fraction(1, 5), Fraction(1, 4), Fraction(-1, 5)),
        (Fraction(1, 2), Fraction(1, 5), Fraction(1, 8), Fraction(1, 10)),
    ],
)
def test_the_variance_under_signs_equals_enumeration(n, p, q, s, t):
    for n_v in range(n + 1):
        first = second = 0
        for dealt in signs(n):
            chances = [p + s * r if j < n_v else q + t * r for j, r in enumerate(dealt)]
            mean = sum(chances)
            spread = sum(c * (1 - c) for c in chances)
            first, second = first + mean, second + spread + mean**2
        first, second = first / Fraction(len(signs(n))), second / Fraction(len(signs(n)))
        assert (first - n * q) / (p - q) == n_v
        exact = (second - first**2) / (p - q) ** 2
        assert exact == jrr.signed_variance(Fraction(n_v), n, p, q, s, t, odd=n % 2)


def test_signed_truths_are_joint_randomized_response_and_signed_reports_are_not_worse():
    p, rho, s = Fraction(3, 5), Fraction(-1, 6), Fraction(1, 5)
    for n, n1 in itertools.product((2, 4, 10), range(11)):
        if n1 <= n:
            truths = jrr.signed_variance(Fraction(n1), n, p, 1 - p, s, -s)
            reports = jrr.signed_variance(Fraction(n1), n, p, 1 - p, s, s)
            assert truths == jrr.variance(Fraction(n1), n, p, rho)
            assert reports == n * p * (1 - p) * (1 + rho) / (2 * p - 1) ** 2
            assert reports < truths or n1 in (0, n)


@pytest.mark.parametrize(("n_v", "n"), [(0, 2), (1, 2), (2, 2), (2, 3), (3, 4)])
@pytest.mark.parametrize("g", [2, 3])
def test_the_variance_of_joint_hashing_equals_enumeration(n_v, n, g):
    p, r = Fraction(3, 5), Fraction(-1, 4)  # r: correlation of two partners' truths
    q, every = 1 - p, list(itertools.permutations(range(n)))
    first = second = 0
    for order in every:
        for told in itertools.product((0, 1), repeat=n):
            chance = Fraction(1, len(every))
            for i in range(0, n - 1, 2):
                own, other = told[order[i]], told[order[i + 1]]
                chance *= (p if own else q) * (p if other else q) + r * p * q * (1 if own == other else -1)
            if n % 2:
                chance *= p if told[order[-1]] else q
            # A holder supports if true. Any other user's value v and own value have independent uniform buckets.
            for hit in itertools.product(range(g * g), repeat=n - n_v):
                same = [h // g == h % g for h in hit]
                # buckets differ: a lie is one of g-1 others, and hits v's bucket with chance 1/(g-1)
                sure = sum(told[:n_v]) + sum(t for t, equal in zip(told[n_v:], same, strict=True) if equal)
                maybe = sum(1 - t for t, equal in zip(told[n_v:], same, strict=True) if not equal)
                weight, c = chance / (g * g) ** (n - n_v), Fraction(1, g - 1)
                first += weight * (sure + maybe * c)
                second += weight * ((sure + maybe * c) ** 2 + maybe * c * (1 - c))
    exact = (second - first**2) / (p - Fraction(1, g)) ** 2
    assert exact == jrr.hashed_variance(Fraction(n_v), n, p, g, r, odd=n % 2)


@pytest.mark.parametrize("g", [2, 3, 4, 7])
@pytest.mark.parametrize("p", [Fraction(21, 40), Fraction(3, 5), Fraction(2, 3), Fraction(9, 10)])
def test_no_law_of_the_number_of_truths_has_a_smaller_correlation(g, p):
    truths, mean = np.arange(g + 1), float(g * p)
    least = linprog(truths**2, A_eq=[np.ones(g + 1), truths], b_eq=[1, mean]).fun - mean**2
    spread = float(p * (1 - p))
    assert jrr.least_correlation(p, g) == pytest.approx((least / (g * spread) - 1) / (g - 1), abs=1e-9)
    if g == 2:
        assert jrr.least_correlation(p, g) == -(1 - p) / p
    assert jrr.least_correlation(p, g) >= Fraction(-1, g - 1)


@pytest.mark.parametrize("lean", ["truth", "report"])
def test_two_users_bits_have_the_law_of_a_common_sign_a_bit(lean):
    mechanism = JointUnary(k=2, epsilon=math.log(4), rho=-0.25, lean=lean)
    p, q, s, t = 0.5, 0.2, 0.25, 0.2 if lean == "report" else -0.2
    law, wrong = {}, {}
    for y in itertools.product((0, 1), repeat=4):  # users 0 and 1 with values 0 and 1; two bits each
        for target, weight in ((law, 1), (wrong, 0)):
            chance = 1
            for bit in (0, 1):
                both = 0
                for sign in (1, -1):
                    chances = [
                        p + weight * s * r if user == bit else q + weight * t * r
                        for user, r in enumerate((sign, -sign))
                    ]
                    both += math.prod(c if y[2 * u + bit] else 1 - c for u, c in enumerate(chances)) / 2
                chance *= both
            target[y] = chance
    rng = np.random.default_rng(1)
    runs = np.array([mechanism.perturb([0, 1], rng=rng).ravel() for _ in range(8_000)])
    assert check.law_z(runs, law) < 5 < check.law_z(runs, wrong)


def test_a_pairs_bits_all_take_part_in_one_pairing():
    # With p near 1/2 and the least rho, two ones at a bit of nobody never come from one pair.
    mechanism, rng = JointUnary(k=40, epsilon=math.log(1.5), rho=-2 / 3), np.random.default_rng(1)
    y = mechanism.perturb([0] * 6, rng=rng)
    never = [[not (y[i] & y[j])[1:].any() for j in range(6)] for i in range(6)]
    assert np.array_equal(np.sum(never, axis=1), np.ones(6))


def test_joint_hashing_keeps_the_seeds_and_the_budget_of_olh():
    joint, plain = JointHashing(k=9, epsilon=1.0, rho=-0.5), hashing.OLH(k=9, epsilon=1.0)
    assert joint.g_ == plain.g_
    x = [0, 3, 8]
    reports, expected = (m.perturb(x, rng=np.random.default_rng(1)) for m in (joint, plain))
    assert np.array_equal(reports["seed"], expected["seed"])
    assert reports.dtype == expected.dtype
    population = Population.from_counts([1] * 9)
    assert np.allclose(JointHashing(k=9, epsilon=1.0, rho=0.0).variance(population), plain.variance(population))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SignedRR(p=0.8, rho=0.1), r"rho must be from -0\.25 to 0 for SignedRR; got 0\.1"),
        (lambda: SignedRR(p=0.4, rho=0.0), r"p must be above 1/k = 0\.5 and at most 1; got 0\.4"),
        (lambda: SignedRR(p=0.8, rho=-0.3), r"rho must be from -0\.25 to 1 for p = 0\.8"),
        (lambda: JointUnary(k=1, epsilon=1.0, rho=0.0), r"k must be an integer from 2 to 2\*\*32; got 1"),
        (lambda: JointUnary(k=3, epsilon=-1.0, rho=0.0), "epsilon must be a number from"),
        (
            lambda: JointUnary(k=3, epsilon=1.0, rho=0.1),
            r"rho must be from -0\.367879441171 to 0 for these bits; got 0\.1",
        ),
        (lambda: JointUnary(k=3, epsilon=1.0, rho=-0.4), r"rho must be from -0\.367879441171 to 0 .* got -0\.4"),
        (lambda: JointUnary(k=3, epsilon=1.0, rho="a"), "rho must be a number; got 'a'"),
        (lambda: JointUnary(k=3, epsilon=1.0, rho=0.0, q=1.0), "q must be a number above 0 and below 1; got 1"),
        (lambda: JointUnary(k=3, epsilon=1.0, rho=0.0, lean="x"), "lean must be 'truth' or 'report'; got 'x'"),
        (lambda: JointHashing(k=3, epsilon=1.0, rho=2.0, g=2), "rho must be from .* to 1 for p = .* got 2"),
        (lambda: JointHashing(k=3, epsilon=1.0, rho=0.0, g=1), r"g must be an integer from 2 to 2\*\*20; got 1"),
    ],
)
def test_bad_parameters_are_refused(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


@pytest.mark.parametrize(
    ("mechanism", "counts"),
    [
        (SignedRR(p=0.6, rho=-0.6), [5, 5]),
        (SignedRR(p=0.6, rho=-0.6), [2, 3]),
        (JointUnary(k=3, epsilon=1.5, rho=-0.2), [1, 2, 0]),
        (JointUnary(k=3, epsilon=1.5, rho=-0.2, lean="report"), [1, 2, 2]),
        (JointHashing(k=3, epsilon=1.5, rho=-2.0, g=4), [1, 4, 0]),
    ],
)
def test_even_and_odd_surveys_with_mixed_values_have_the_stated_variance(mechanism, counts):
    population, rng = Population.from_counts(counts), np.random.default_rng(1)
    right, x = mechanism.variance(population), population.users()
    users = np.array([mechanism.estimate(mechanism.perturb(x, rng=rng)) for _ in range(3_000)])
    for runs, wrong in ((users, 1.2), (mechanism.simulate(population, rng=rng, runs=20_000), 1.1)):
        assert check.mean_z(runs, population.frequencies) < 5
        assert check.variance_z(runs, right) < 5 < check.variance_z(runs, wrong * right)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("lean", ["truth", "report"])
def test_variances_of_estimates_count_the_odd_user(n, lean):
    counts = [n // 3, n - n // 3, 0]
    bits = JointUnary(k=3, epsilon=1.0, rho=-0.1, lean=lean)
    (p, q), (s, t) = bits.probabilities, bits.moves
    assert (s, t) == (pytest.approx(math.sqrt(0.1 * p * (1 - p))), bits.moves[1])
    assert abs(t) == pytest.approx(math.sqrt(0.1 * q * (1 - q)))
    want = [jrr.signed_variance(c, n, p, q, s, t, odd=n % 2) / n**2 for c in counts]
    assert bits.variance(Population.from_counts(counts)) == pytest.approx(want, rel=1e-13)
    hashed = JointHashing(k=3, epsilon=1.0, g=4, rho=-0.6)
    own = math.e / (math.e + 3)
    assert hashed.probabilities == pytest.approx((own, 1 / 4))
    want = [jrr.hashed_variance(c, n, own, 4, -0.2, odd=n % 2) / n**2 for c in counts]
    assert hashed.variance(Population.from_counts(counts)) == pytest.approx(want, rel=1e-12)
    counts = counts[:2]
    reports = SignedRR(p=0.6, rho=-0.5)
    want = [jrr.signed_variance(c, n, 0.6, 0.4, *[math.sqrt(0.12)] * 2, odd=n % 2) / n**2 for c in counts]
    assert reports.variance(Population.from_counts(counts)) == pytest.approx(want, rel=1e-13)


def test_moves_are_exact_and_leave_chances_between_0_and_1():
    half, third, tenth = Fraction(1, 2), Fraction(1, 3), Fraction(1, 10)
    assert _signs.exact_moves((half, half), (0.25, -0.125)) == [Fraction(1, 4), -Fraction(1, 8)]
    assert _signs.exact_moves((half, half), (0.0, 0.5)) == [0, half]
    for chance in (third, 1 - third, tenth, 1 - tenth, 1 - tenth**9):
        most = min(chance, 1 - chance)
        for sign in (1, -1):
            for move in (float(most), math.nextafter(most, 1)):
                (found,) = _signs.exact_moves([chance], [sign * move])
                assert most * (1 - Fraction(1, 10**9)) < sign * found <= most


@pytest.mark.parametrize("n", [1, 2, 3])
def test_at_the_least_rho_signs_leave_no_chance_out_of_range(n):
    people, rng = Population.from_counts([n - n // 2, n // 2]), np.random.default_rng(1)
    for p in (*np.linspace(0.505, 0.995, 50), 1 - 1e-9, 1.0):
        for mechanism in (SignedRR(p=float(p)), jrr.JRR(p=float(p)), jrr.ServerProtocol(p=float(p))):
            assert np.isfinite(mechanism.simulate(people, rng=rng, runs=2)).all()
            assert mechanism.perturb(people.users(), rng=rng).shape == (n,)


def test_the_least_rho_of_bits_is_that_of_both_chances():
    for epsilon, q in ((1.0, None), (1.0, 0.4), (3.0, 0.45), (0.1, 0.2)):
        for lean in ("truth", "report"):
            mechanism = JointUnary(k=3, epsilon=epsilon, q=q, lean=lean)
            low = -min(min(c / (1 - c), (1 - c) / c) for c in mechanism.probabilities)
            assert mechanism.rho_ == pytest.approx(low, rel=1e-12)
            again = JointUnary(k=3, epsilon=epsilon, q=q, rho=mechanism.rho_, lean=lean)
            assert (again.rho_, again.moves) == (mechanism.rho_, mechanism.moves)
            assert JointUnary(k=3, epsilon=epsilon, q=q, rho=0, lean=lean).moves == (0, 0)
            for wrong in (low - 1e-9, 1e-9, math.nan):
                with pytest.raises(
                    ValueError, match=re.escape(f"rho must be from {low:.12g} to 0 for these bits; got {wrong!r}")
                ):
                    JointUnary(k=3, epsilon=epsilon, q=q, rho=wrong, lean=lean)
    assert JointUnary(k=3, epsilon=1.0).probabilities == pytest.approx((0.5, 1 / (1 + math.e)))


@pytest.mark.parametrize(
    ("make", "chances"),
    [
        (lambda: JointUnary(k=2, epsilon=math.log(4), rho=-0.25), (0.5, 0.2, 0.25, -0.2)),
        (lambda: JointUnary(k=2, epsilon=math.log(4), rho=-0.25, lean="report"), (0.5, 0.2, 0.25, 0.2)),
        (lambda: SignedRR(p=0.6, rho=-0.5), (0.6, 0.4, math.sqrt(0.12), math.sqrt(0.12))),
    ],
)
@pytest.mark.parametrize("n", [2, 3])
def test_a_simulated_count_has_the_law_of_signs(make, chances, n):
    (p, q, s, t), mechanism, law = chances, make(), {}
    for dealt in signs(n):  # user 0 holds 1, the others 0
        each = [p + s * dealt[0], *(q + t * sign for sign in dealt[1:])]
        for y in itertools.product((0, 1), repeat=n):
            chance = math.prod(c if bit else 1 - c for c, bit in zip(each, y, strict=True)) / len(signs(n))
            law[sum(y),] = law.get((sum(y),), 0) + chance
    runs = mechanism.simulate(Population.from_counts([n - 1, 1]), rng=np.random.default_rng(3), runs=40_000)[:, 1]
    counts = np.rint(runs * (p - q) * n + q * n).astype(int)
    assert check.law_z(counts[:, None], law) < 5
    wrong = {key: chance + (0.02 if key == (0,) else -0.02 / n) for key, chance in law.items()}
    assert check.law_z(counts[:, None], wrong) > 5


def test_one_sign_for_two_questions_has_the_stated_ratio_and_the_class_refuses_a_second_question():
    p, s = Fraction(3, 5), Fraction(3, 10)

    def both(x, y):
        """Probability of two reports y of one person with answers x, under one sign of either kind."""
        one = [[p + z * s if v else 1 - p + z * s for v in x] for z in (1, -1)]
        return sum(math.prod(c if r else 1 - c for c, r in zip(row, y, strict=True)) for row in one) / 2

    records = list(itertools.product((0, 1), repeat=2))
    assert all(sum(both(x, y) for y in records) == 1 for x in records)
    worst = max(both(a, y) / both(b, y) for a in records for b in records for y in records)
    assert worst == (p**2 - s**2) / ((1 - p) ** 2 - s**2) > (p / (1 - p)) ** 2  # the budgets' sum allows the last
    with pytest.raises(ValueError, match="x must hold one question's answers"):
        SignedRR(p=0.6, rho=-0.5).perturb(np.zeros((4, 2), int), rng=np.random.default_rng(1))
    with pytest.raises(ValueError, match="x must be an array"):
        SignedRR(p=0.6, rho=-0.5).perturb([[0, 1], [0]], rng=np.random.default_rng(1))


def test_a_probability_in_32_bits_is_taken_at_its_value():
    for kind in (np.float32, Fraction):
        mechanism = jrr.KJRR(k=4, p=kind(0.9))
        assert mechanism == jrr.KJRR(k=4, p=float(kind(0.9)))
        assert math.log(channel.privacy_ratio(mechanism.channel())) <= mechanism.epsilon + 1e-14

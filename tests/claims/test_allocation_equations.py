"""The budget-allocation paper's equations, step by step: mechanisms, estimators, Lagrangians and cubics as printed."""

import math
from fractions import Fraction

import numpy as np
import sympy as sp

from ldp_lib import channel, check, grr, pure, splitting, unary
from ldp_lib.book import printed_obrr as cardano
from ldp_lib.book.claims import claim
from ldp_lib.splitting import allocation

FIRST = (2, 4, 6, 7, 100)
x, n, k, lam, T = sp.symbols("x n k lambda T", positive=True)
x1, x2, k1, k2, eps = sp.symbols("x_1 x_2 k_1 k_2 epsilon", positive=True)
e1, e2 = sp.symbols("epsilon_1 epsilon_2", positive=True)
H, reported = sp.symbols("H H_r")


# Bits: BRR and OBRR.


def test_the_estimator_and_the_squared_error_of_bits():
    p, q = unary.sue_probabilities(x)
    solved = sp.solve(sp.Eq(H * p + (n - H) * (1 - p), reported), H)[0]
    printed = (reported * (x + 1) - n) / (x - 1)
    expected_ones = H * p + (n - H) * q
    claim("obrr/eq-brr-unbiased").holds(
        sp.cancel(solved - printed) == 0, sp.cancel(printed.subs(reported, expected_ones) - H) == 0
    )
    count_variance = sp.factor(n**2 * pure.variance(H / n, n, p, q))  # of one estimated count
    claim("obrr/eq-brr-se").holds(
        H not in count_variance.free_symbols, sp.cancel(k * count_variance - n * k * x / (x - 1) ** 2) == 0
    )
    assert sp.cancel(k * count_variance / n - allocation.brr_error(x - 1, k)) == 0
    spent = {
        ratios: channel.privacy_ratio(
            channel.tensor(
                *(unary.channel(*unary.sue_probabilities(r), s) for r, s in zip(ratios, (2, 3), strict=True))
            )
        )
        for ratios in ((Fraction(2), Fraction(3)), (Fraction(5), Fraction(3, 2)))
    }
    claim("obrr/eq-brr-objective").holds(
        all(ratio == math.prod(ratios) ** 2 for ratios, ratio in spent.items()),  # e^epsilon, if the parts sum to half
        sp.simplify(
            sum((s * count_variance).subs(x, sp.exp(b)) for b, s in ((e1, k1), (e2, k2)))
            - sum(n * s * sp.exp(b) / (sp.exp(b) - 1) ** 2 for b, s in ((e1, k1), (e2, k2)))
        )
        == 0,
    )


def codes_of(sizes):
    """Return all records of a domain as concatenated unit vectors."""
    return np.array([np.concatenate([np.eye(s)[v] for s, v in zip(sizes, r, strict=True)]) for r in np.ndindex(*sizes)])


def test_bits_spend_their_budget():
    sizes, levels = (2, 3), (Fraction(2), Fraction(5, 4), Fraction(9))
    codes = codes_of(sizes)
    # All reports: the bits of a for one attribute, those of b for the other, as the library numbers them.
    reports = [[a >> v & 1 for v in range(2)] + [b >> v & 1 for v in range(3)] for a in range(4) for b in range(8)]
    kept = (codes[:, None] == np.array(reports)).sum(axis=2).tolist()
    flipped, whole = [], []
    for r in levels:
        keep = r / (1 + r)
        flipped.append([[keep**m * (1 - keep) ** (5 - m) for m in row] for row in kept])
        whole.append(channel.tensor(*(unary.channel(*unary.sue_probabilities(r), s) for s in sizes)))
    claim("obrr/eq-2").holds(
        all(sum(row) == 1 for matrix in whole for row in matrix),
        all((a == np.array(b)).all() for a, b in zip(whole, flipped, strict=True)),
    )
    differ = {s: max((a != b).sum() for a in codes_of(s) for b in codes_of(s)) for s in ((3,), (2, 3), (2, 2, 4))}
    claim("obrr/s-brr-sensitivity").holds(all(most == 2 * len(s) for s, most in differ.items()))
    ratios = {
        (s, e): channel.privacy_ratio(channel.tensor(*(unary.channel(*unary.sue_probabilities(e), v) for v in s)))
        for s in ((3,), (2, 3), (2, 2, 2))
        for e in (Fraction(11, 10), Fraction(2), Fraction(5))  # exp of epsilon / 2l
    }
    claim("obrr/eq-3").holds(
        unary.sue_probabilities(x)[0] == x / (x + 1),
        all(ratio == e ** (2 * len(s)) for (s, e), ratio in ratios.items()),
        all(
            np.allclose(
                splitting.BRR(k=s, epsilon=2 * len(s) * math.log(e)).probabilities,
                np.array(unary.sue_probabilities(e), float),
                rtol=1e-12,
            )
            for s, e in ratios
        ),
    )


def test_unequal_shares_of_bits_add_up():
    unequal = [unary.channel(*unary.sue_probabilities(Fraction(r)), s) for r, s in ((2, 2), (3, 3))]
    encoder = splitting.OBRR(k=(2, 8), epsilon=2 * math.log(6))  # whose best split is x = 2 and x = 3
    reports = encoder.perturb(np.tile([1, 7], (20_000, 1)), rng=np.random.default_rng(1))
    kept = np.array([2 / 3, 3 / 4])[[0, 0] + [1] * 8]
    ones = np.array([0, 1] + [0] * 7 + [1])
    law = np.where(ones == 1, kept, 1 - kept)
    swapped = np.where(ones == 1, kept[::-1], 1 - kept[::-1])
    told, pairs = reports == ones, np.triu_indices(10, 1)
    both = told[:, pairs[0]] & told[:, pairs[1]]
    claim("obrr/alg-1").holds(
        channel.privacy_ratio(channel.tensor(*unequal)) == (2 * 3) ** 2,
        np.allclose([p for p, q in encoder.probabilities], [2 / 3, 3 / 4], rtol=1e-14),
        check.mean_z(reports, law) < 5 < check.mean_z(reports, swapped),
        check.mean_z(both, (kept[:, None] * kept)[pairs]) < 5 < check.mean_z(both, kept[pairs[0]]),  # own coins
    )


def bits_lagrangian():
    """Return the Lagrangian in the paper's per-bit budgets, from the library's error."""
    error = sum(allocation.brr_error(sp.exp(b) - 1, s) for b, s in ((e1, k1), (e2, k2)))
    return n * error + lam * (e1 + e2 - eps / 2)


def test_the_lagrangian_of_bits_and_its_second_derivative():
    L = bits_lagrangian()
    prices = [sp.solve(sp.diff(L, b), lam)[0] for b in (e1, e2)]
    best, equal = (
        [price.subs({k1: 2, k2: 8, n: 1, e1: sp.log(u), e2: sp.log(v)}) for price in prices]
        for u, v in ((2, 3), (sp.sqrt(6), sp.sqrt(6)))
    )
    errors = sum(n * s * sp.exp(b) / (sp.exp(b) - 1) ** 2 for b, s in ((e1, k1), (e2, k2)))
    parts = [unary.channel(*unary.sue_probabilities(Fraction(r)), s) for r, s in ((2, 2), (3, 3))]
    spent = sp.log(channel.privacy_ratio(channel.tensor(*parts)))
    kept = sp.diff(L, lam).subs({e1: sp.log(2), e2: sp.log(3), eps: spent})
    claim("obrr/eq-5").holds(
        sp.simplify(L.subs(lam, 0) - errors) == 0,
        sp.simplify(kept) == 0,  # bits that spend ln 2 and ln 3 spend ln 36 together
        sp.simplify(best[0] - best[1]) == 0,
        sp.simplify(equal[0] - equal[1]) != 0,
    )
    printed = n * k1 * (x**3 + 4 * x**2 + x) / (x - 1) ** 4
    above_one = sp.Poly((x**3 + 4 * x**2 + x).subs(x, 1 + x), x).all_coeffs()
    claim("obrr/s-brr-convex-eps").holds(
        sp.simplify(sp.diff(L, e1, 2) - printed.subs(x, sp.exp(e1))) == 0,
        sp.diff(L, e1, e2) == 0,
        min(above_one) > 0,
        sp.limit(allocation.brr_error(x - 1, k1), x, 1, "+") == sp.oo,  # so the minimum is not at the edge
    )


def test_the_problem_of_bits_in_x():
    L = bits_lagrangian().subs({e1: sp.log(x1), e2: sp.log(x2)})
    error = n * k1 * x1 / (x1 - 1) ** 2 + n * k2 * x2 / (x2 - 1) ** 2
    constraint = sp.exp(L.coeff(lam) + eps / 2)
    stationary = sp.diff(error + lam * (x1 * x2 - T), x1)
    same = sp.diff(L.subs(lam, lam * T), x1) - stationary  # where the constraint holds, with T times the multiplier
    claim("obrr/eq-6").holds(
        sp.simplify(L.subs(lam, 0) - error) == 0,
        sp.simplify(constraint) == x1 * x2,
        sp.cancel(same.subs(x2, T / x1)) == 0,
    )
    printed_7 = -n * k1 * (x1 + 1) / (x1 - 1) ** 3 + lam * x1 * x2 / x1
    claim("obrr/eq-7").holds(sp.simplify(stationary - printed_7) == 0)
    multiplied = sp.cancel((stationary * x1 * (x1 - 1) ** 3).subs(x2, T / x1))
    printed_8 = lam * T * (x1 - 1) ** 3 - n * k1 * (x1 + 1) * x1
    claim("obrr/eq-8").holds(sp.expand(multiplied - printed_8) == 0)


def test_the_cubic_of_bits():
    A, w = lam * T, n * k
    cubic = sp.Poly(A * (x - 1) ** 3 - w * (x + 1) * x, x).all_coeffs()
    claim("obrr/eq-9").holds([sp.expand(c) for c in cubic] == [A, sp.expand(-(3 * A + w)), sp.expand(3 * A - w), -A])
    a, b, c, d = cardano.coefficients(A, w, 1)
    claim("obrr/eq-10").holds([sp.expand(v) for v in (a - A, b + 3 * A + w, c - 3 * A + w, d + A)] == [0, 0, 0, 0])


def test_the_depressed_cubic():
    a, b, c, d, Y = sp.symbols("a b c d Y")
    general = (a * x**3 + b * x**2 + c * x + d) / a
    shifted = sp.Poly(sp.expand(general.subs(x, Y - b / (3 * a))), Y).all_coeffs()
    shipped = cardano.depressed(a, b, c, d)
    claim("obrr/eq-11").holds(
        shifted[:2] == [1, 0], [sp.cancel(s - t) for s, t in zip(shifted[2:], shipped, strict=True)] == [0, 0]
    )
    printed = c / a - b**2 / (3 * a**2), d / a + 2 * b**3 / (27 * a**3) - b * c / (3 * a**2)
    claim("obrr/eq-12").holds([sp.cancel(s - t) for s, t in zip(shifted[2:], printed, strict=True)] == [0, 0])


def test_newtons_step_on_the_product():
    target = math.exp(3)

    def f(level):  # the product of the roots of Eq. (8), less what it has to reach
        a = level * target
        roots = [np.roots([a, -3 * a - size, 3 * a - size, -a]).real.max() for size in FIRST]
        return math.prod(roots) - target

    root = cardano.newton(FIRST, 6.0, start=1e-3, threshold=1e-12).lam
    assert abs(f(root)) < 1e-9
    around = [scale * root for scale in (0.9 * 0.9999, 0.9, 0.9 * 1.0001)]
    left, here, right = map(f, around)
    slope = (right - left) / (around[2] - around[0])
    step = cardano.newton(FIRST, 6.0, start=around[1], threshold=here / 2)
    # The central difference misses the slope by h^2 f''' / 6, here below 1e-7 of it.
    claim("obrr/eq-14").holds(step.steps == 1, abs(step.lam - (around[1] - here / slope)) < 1e-6 * root)


# One value an attribute: MRR and OMRR.


def ratio(*shares):
    """Return the privacy ratio of a report of one randomized value an attribute, each with its own x."""
    return channel.privacy_ratio(channel.tensor(*(grr.channel(Fraction(share), size) for share, size in shares)))


def test_randomized_values_spend_their_budget():
    shipped, printed = [], []
    for level, size in ((Fraction(5), 3), (Fraction(3, 2), 2), (Fraction(101, 100), 7), (Fraction(400), 5)):
        shipped.append(grr.channel(level, size).tolist())
        total = level + size - 1
        printed.append([[(level if a == b else 1) / total for b in range(size)] for a in range(size)])
    claim("obrr/eq-4").holds(shipped == printed, all(sum(row) == 1 for matrix in shipped for row in matrix))
    shares = Fraction(11, 10), Fraction(2), Fraction(5)  # exp of epsilon / l
    domains = (3,), (2, 4), (3, 3), (2, 3, 5)
    p, q = grr.probabilities(x, k)  # one value: x for every size of its domain; and independent reports multiply
    claim("obrr/s-mrr-sensitivity").holds(
        sp.cancel(p / q - x) == 0,
        all(ratio(*[(e, v) for v in k]) == e ** len(k) for e in shares for k in domains),
        all(
            np.allclose(
                splitting.MRR(k=k, epsilon=len(k) * math.log(e)).probabilities,
                np.array([grr.probabilities(e, v) for v in k], float),
                rtol=1e-12,
            )
            for e in shares
            for k in domains
        ),
    )
    encoder = splitting.OMRR(k=(2, 4), epsilon=math.log(3))  # whose best split is x = 3/2 and x = 2
    reports = encoder.perturb(np.tile([1, 2], (20_000, 1)), rng=np.random.default_rng(1))

    def law(*levels):  # of the report of the record (1, 2)
        first, second = (grr.channel(level, size)[v] for level, size, v in zip(levels, (2, 4), (1, 2), strict=True))
        return {(a, b): first[a] * second[b] for a in range(2) for b in range(4)}

    claim("obrr/alg-2").holds(
        ratio((Fraction(3, 2), 2), (2, 4)) == 3,
        np.allclose(encoder.probabilities, [(3 / 5, 2 / 5), (2 / 5, 1 / 5)], rtol=1e-13),
        check.law_z(reports, law(1.5, 2.0)) < 5 < check.law_z(reports, law(math.sqrt(3), math.sqrt(3))),  # equal shares
    )


def test_the_objective_is_the_expected_squared_distance():
    per_value = n**2 * pure.variance(H / n, n, *grr.probabilities(x, k))
    slope, level = sp.Poly(sp.cancel(per_value), H).all_coeffs()  # linear in H, so the sum over values needs only n
    printed = n * (k - 1) * (2 * x + k - 2) / (x - 1) ** 2
    claim("obrr/eq-mrr-objective").holds(
        sp.cancel(n * slope + k * level - printed) == 0,
        ratio((2, 2), (5, 3), (Fraction(3, 2), 4)) == 2 * 5 * Fraction(3, 2),  # e^epsilon, if the parts sum to epsilon
    )
    claim("obrr/s-uniform-not-needed").holds(
        sp.cancel(n * slope + k * level - printed) == 0,  # any histogram
        sp.cancel(k * per_value.subs(H, n / k) - printed) == 0,  # the uniform one
    )
    assert sp.cancel(printed / n - allocation.mrr_error(x - 1, k)) == 0

    # By definition: two people, two attributes, every outcome of each listed with its probability.
    def squared_error(column, size, e):
        pq = grr.probabilities(e, size)

        def distance(reports):
            found = [2 * pure.estimate(reports.count(v), 2, *pq) for v in range(size)]
            return [sum((found[v] - column.count(v)) ** 2 for v in range(size))]

        law = channel.exact_law(grr.channel(e, size), column, distance)
        return sum(value * chance for (value,), chance in law.items())

    expected = squared_error([0, 1], 2, Fraction(2)) + squared_error([2, 0], 3, Fraction(3))
    stated = sum(printed.subs({n: 2, k: size, x: e}) for e, size in ((2, 2), (3, 3)))

    # Of bits, two people and one attribute of two values; report a sends the bits of a.
    def distance_of_bits(reports):
        found = [
            2 * pure.estimate(sum(a >> v & 1 for a in reports), 2, *unary.sue_probabilities(Fraction(3)))
            for v in (0, 1)
        ]
        return [sum((count - 1) ** 2 for count in found)]

    bits = channel.exact_law(unary.channel(*unary.sue_probabilities(Fraction(3)), 2), [0, 1], distance_of_bits)
    claim("obrr/s-se-definition").holds(
        expected == stated, sum(value * chance for (value,), chance in bits.items()) == 2 * allocation.brr_error(2, 2)
    )


def test_the_lagrangian_and_the_cubic_of_values():
    error = sum(n * (s - 1) * (2 * t + s - 2) / (t - 1) ** 2 for t, s in ((x1, k1), (x2, k2)))
    L = error + lam * (x1 * x2 - T)
    prices = [sp.solve(sp.diff(L, t), lam)[0] for t in (x1, x2)]
    best, equal = (
        [price.subs({x1: u, x2: v, k1: 2, k2: 4, n: 1}) for price in prices]
        for u, v in ((sp.Rational(3, 2), 2), (sp.sqrt(3), sp.sqrt(3)))
    )
    claim("obrr/eq-15").holds(
        sp.cancel(error - n * sum(allocation.mrr_error(t - 1, s) for t, s in ((x1, k1), (x2, k2)))) == 0,
        sp.simplify(best[0] - best[1]) == 0,
        sp.simplify(equal[0] - equal[1]) != 0,
        # The constraint: T is e^epsilon, of both reports.
        sp.diff(L, lam).subs({x1: sp.Rational(3, 2), x2: 2, T: ratio((Fraction(3, 2), 2), (2, 4))}) == 0,
    )
    stationary = sp.cancel(sp.diff(L, x1) * x1 * (x1 - 1) ** 3)
    printed = lam * T * (x1 - 1) ** 3 - 2 * n * (k1 - 1) * (x1 + k1 - 1) * x1
    shipped = cardano.coefficients(lam * T, 2 * n * (k - 1), k - 1)
    cubic = sp.Poly(printed.subs({x1: x, k1: k}), x).all_coeffs()
    claim("obrr/eq-16").holds(
        sp.expand(stationary.subs(x2, T / x1) - printed) == 0,
        [sp.expand(s - t) for s, t in zip(shipped, cubic, strict=True)] == [0, 0, 0, 0],
    )


# Sentences that one line decides.


def test_the_truth_drowns_in_large_domains():
    truth, other = grr.probabilities(x, k)
    noise = truth * (1 - truth) + (k - 1) * other * (1 - other)  # of all counts of reports; divided by p - q squared
    t = sp.symbols("t", positive=True)  # e^(epsilon_i / 2) - 1, the same for both
    values, bits = allocation.mrr_error((1 + t) ** 2 - 1, k), allocation.brr_error(t, k)
    claim("obrr/s-pm-small").holds(
        sp.limit(truth, k, sp.oo) == 0,
        sp.cancel(sp.diff(truth, k) + truth**2 / x) == 0,
        sp.cancel(allocation.mrr_error(x - 1, k) - noise / (truth - other) ** 2) == 0,
        sp.limit(noise, k, sp.oo) == 1,
        sp.limit(k * (truth - other), k, sp.oo) == x - 1,
        # Of bits, whose p has no k in it, the error grows as k only: the quotient grows as k, with a positive slope.
        sp.cancel(sp.limit(sp.cancel(values / bits) / k, k, sp.oo) - 1 / ((t + 2) ** 2 * (t + 1))) == 0,
    )


def test_the_saving_does_not_depend_on_the_number_of_people():
    h = sp.symbols("h1:3")
    holders, free = (*h, n - sum(h)), []  # of three values, any histogram
    for p, q in (unary.sue_probabilities(x), grr.probabilities(x, 3)):
        each = [n**2 * pure.variance(m / n, n, p, q) for m in holders]  # of the counts
        free.append(sp.cancel(sum(each) / n).free_symbols == {x})
    assert sp.cancel(each[0] / n).free_symbols == {x, n, h[0]}  # of one value alone, MRR's error over n does depend
    claim("obrr/s-n-independent").holds(len(free) == 2, all(free))

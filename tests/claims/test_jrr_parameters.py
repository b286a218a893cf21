"""The JRR paper's problem (22) and what it says of it, and steps of our proof of the best parameters."""

import itertools
import math
from fractions import Fraction

import numpy as np
import sympy as sp

from ldp_lib import jrr
from ldp_lib.book import printed_jrr
from ldp_lib.book.claims import claim
from ldp_lib.book.enumeration import truth_law
from ldp_lib.jrr import privacy

p, rho, a, c, p0 = sp.symbols("p rho a c p_0", positive=True)
q, noise = 1 - p, p * (1 - p) / (2 * p - 1) ** 2


def feasible(t, r, n, colluders, e):
    """The first constraint of problem (22), as printed; the ranges of p and rho are the caller's."""
    top = colluders * max((1 - r) * t, t + r * (1 - t)) + t * (n - colluders - 1)
    low = min((1 - r) * (1 - t), 1 - t + r * t)
    return top <= e * (colluders * low + (1 - t) * (n - colluders - 1))


def test_the_constraint_is_two_lines_in_rho():
    n, colluders, start = 21, 4, Fraction(3, 4)  # e = 3
    share, agree = Fraction(colluders, n - 1), []
    for t in (Fraction(i, 60) for i in range(31, 46)):
        for r in (Fraction(i, 50) for i in range(-50, 51)):
            if 1 - 1 / t <= r <= 1:
                inside = -(start - t) / (share * t) <= r <= (start - t) / (share * (1 - t))
                agree.append(inside == feasible(t, r, n, colluders, 3))
    ratio, even = (printed_jrr.ratio(Fraction(3, 5), Fraction(-1, 2), users, colluders) for users in (n, 20))
    claim("jrr/eq-22").holds(
        len(agree) > 1000,
        all(agree),
        feasible(Fraction(3, 5), Fraction(-1, 2), n, colluders, ratio),
        not feasible(Fraction(3, 5), Fraction(-1, 2), n, colluders, ratio - Fraction(1, 1000)),
        privacy.colluder_ratio(Fraction(3, 5), Fraction(-1, 2), 20, colluders) > even,  # the exact ratio
        feasible(Fraction(3, 5), Fraction(-1, 2), 20, colluders, even),
    )


def enumerated(n1, n, t, r):
    """Return the variance of the estimated number of ones by going through all pairings and truths."""
    law = truth_law(n, t, r)
    found = {truths: sum(true == (i < n1) for i, true in enumerate(truths)) / (2 * t - 1) for truths in law}
    mean = sum(chance * found[truths] for truths, chance in law.items())
    return sum(chance * (found[truths] - mean) ** 2 for truths, chance in law.items())


def test_far_from_one_half_less_rho_and_more_p_are_better():
    variance = noise * (1 + a * rho)
    rises = sp.cancel(sp.diff(variance, rho) - a * noise) == 0
    falls = sp.cancel(sp.diff(variance, p) + (1 + a * rho) / (2 * p - 1) ** 3) == 0
    grid, steps = [Fraction(11, 20), Fraction(3, 5), Fraction(7, 10)], [Fraction(i, 3) for i in (-1, 0, 1)]
    ordered = []
    for n, n1 in ((4, 0), (4, 4), (6, 0), (6, 1), (6, 5)):  # (2 n1 - n)^2 > n
        table = [[enumerated(n1, n, t, r) for r in steps] for t in grid]
        ordered += [left < right for row in table for left, right in itertools.pairwise(row)]
        ordered += [high > low for column in zip(*table, strict=True) for high, low in itertools.pairwise(column)]
    claim("jrr/sec-4.4.2-s3").holds(rises, falls, len(ordered) == 60 and all(ordered))
    best = {}
    for n1, t in itertools.product(range(21), (0.55, 0.6, 0.7, 0.74)):
        values = [jrr.variance(n1, 20, t, r) for r in np.linspace(1 - 1 / t, 1, 201) if feasible(t, r, 20, 3, 3)]
        far = (2 * n1 - 20) ** 2 > 20
        steps = np.diff(values) if far else -np.diff(values)  # inside the band the largest rho is best
        best.setdefault(far, []).append(steps.min() > 0)
    claim("jrr/sec-4.4.2-s4").holds(
        rises, (len(best[True]), len(best[False])) == (64, 20), all(best[True]), all(best[False])
    )


def test_the_upper_edge_has_no_minimum_inside_either():
    most = sp.solve((p + c * rho * q) - p0 / (1 - p0) * (1 - c * rho) * q, rho)[0]
    assert sp.cancel(most - (p0 - p) / (c * q)) == 0
    assert sp.cancel(sp.solve(most - 1, p)[0] - jrr.corner(p0, c)) == 0
    slope = sp.expand(sp.cancel(sp.diff((noise * (1 - a * most)), p) * c * (2 * p - 1) ** 3))
    poly = sp.Poly(slope, p)
    assert poly.degree() == 1
    assert sp.expand(poly.LC() + 2 * a * (1 - p0)) == 0


def test_with_a_colluder_the_third_point_loses():
    gap, room = sp.symbols("d c", positive=True)  # 2 p_0 - 1, and colluders / (n-1)
    at_third = (noise * (1 - room)).subs(p, (1 + (gap - room) / (1 - room)) / 2)
    bracket = gap * (gap + 2) - room * (1 + 2 * gap)  # positive for c < d < 1
    scale = room * (1 - gap) ** 2 / (4 * gap**2 * (gap - room) ** 2)
    assert sp.cancel(at_third - noise.subs(p, (1 + gap) / 2) - scale * bracket) == 0
    assert sp.cancel(jrr.corner((1 + gap) / 2, room) - (1 + (gap - room) / (1 - room)) / 2) == 0


def test_how_many_colluders_leave_randomized_response_as_the_only_answer():
    turns = []
    for budget, most in ((0.1, 451), (1.0, 1699)):
        design = {"epsilon": budget, "n": 10_000, "n1": 0}
        pairs = [printed_jrr.optimum(**design, colluders=m) for m in (most, most + 1)]
        turns += [pairs[0][1] < 0, pairs[1][1] == 0]
    assert all(turns)


def test_the_printed_optimum_exceeds_the_budget_only_where_rho_is_negative():
    for budget, n, m in ((0.1, 10, 2), (1.0, 10, 5), (1.0, 10, 2), (1.0, 10_000, 5)):
        t, r = printed_jrr.optimum(epsilon=budget, n=n, colluders=m)
        over = privacy.colluder_ratio(t, r, n, m) / math.exp(budget) - 1
        assert over > 1e-8 if r < 0 else abs(over) < 1e-12
    least = Fraction(3, 5), Fraction(-1, 2)  # the printed ratio is too small for 2 to n-2 colluders
    assert [m for m in range(10) if printed_jrr.ratio(*least, 10, m) < privacy.colluder_ratio(*least, 10, m)] == [
        *range(2, 9)
    ]


def test_for_a_pure_budget_of_all_reports_positive_rho_is_no_better_than_randomized_response():
    e = sp.symbols("e", positive=True)
    ceiling = sp.solve((p + rho * q) - e * (1 - rho) * q, rho)[0]
    lowest = sp.cancel(noise * (1 - ceiling))  # 1 + a rho is at least 1 - rho
    assert sp.cancel(lowest - p / ((1 + e) * (2 * p - 1) ** 2)) == 0
    assert sp.cancel(lowest.subs(p, e / (1 + e)) - e / (e - 1) ** 2) == 0
    assert sp.cancel(sp.diff(lowest, p) + (2 * p + 1) / ((1 + e) * (2 * p - 1) ** 3)) == 0  # falls with p


def test_a_mean_over_all_counts_needs_one_number():
    """The mean of a over n1 = 0, ..., n is 1/3 for every even n."""
    for n in (2, 4, 10, 50):
        assert sum(Fraction((2 * k - n) ** 2 - n, n * (n - 1)) for k in range(n + 1)) / (n + 1) == Fraction(1, 3)


def loop(epsilon, n, colluders, step_p, step_rho):
    """Algorithm 1 as printed, line by line: its pair, and how many were tried."""
    e, tried = math.exp(epsilon), 0
    p = e / (1 + e) - step_p
    while p > 0.5:
        r = 1 - 1 / p
        while r <= 1:
            tried += 1
            if printed_jrr.ratio(p, r, n, colluders) <= e:
                return (p, r), tried
            r += step_rho
        p -= step_p
    return None, tried


def test_algorithm_1_is_shipped_as_printed_and_bounded_as_stated():
    settings = [(0.1, 10_000, 5, step, 1e-3) for step in (1e-3, 5e-4, 1e-4)]
    loops = [loop(*v) for v in settings]
    shipped = [printed_jrr.algorithm_1(epsilon=b, n=k, colluders=m, step_p=u, step_rho=v) for b, k, m, u, v in settings]
    claim("jrr/alg-1").holds(
        np.allclose([v for v, _ in loops], shipped, rtol=0, atol=1e-9),
        all(printed_jrr.ratio(*v, 10_000, 5) <= math.exp(0.1) for v in shipped),
    )
    assert math.isclose(loop(0.1, 10_000, 0, 1e-5, 1e-3)[0][1], -math.exp(-0.1), rel_tol=1e-4)  # no colluder: not RR
    assert abs(loop(0.1, 10_000, 5, 1e-7, 1e-3)[0][1]) < 1e-3  # with colluders: near RR
    (wide, coarse), (near, fine) = (loop(0.1, 10_000, 5, step, 1e-3) for step in (1e-4, 1e-5))
    top = 1 / (1 + math.exp(-0.1))
    found = [*zip((1e-3, 5e-4, 1e-4), loops, strict=True), (1e-4, (wide, coarse)), (1e-5, (near, fine))]
    area = 2 * (1 / (1 + math.exp(-0.1)) - 0.5)
    within = all(v[1] <= area / (u[3] * u[4]) for u, v in zip(settings, loops, strict=True))
    for b, stated in ((0.01, 0.000249), (0.1, 0.000238), (1.0, 0.000135)):  # on sec-5.3.4-s4: the step of the optimum
        design, wrong, share = {"epsilon": b, "n": 10_000, "colluders": 5}, 1 / (1 + math.exp(b)), 5 / 9_999
        step = share * wrong / (1 - share)
        best = printed_jrr.optimum(**design, n1=1_000)
        assert round(step, 6) == stated
        assert best[1] < 0
        assert np.allclose(printed_jrr.algorithm_1(**design, step_p=step * (1 + 1e-9)), best, rtol=0, atol=1e-8)
        assert not np.allclose(printed_jrr.algorithm_1(**design), best, rtol=0, atol=1e-5)
    # A search that fails tries every pair: the stated area over both steps, and up to one rho more for each p.
    none, tried = loop(0.1, 20, 19, 1e-4, 0.3)
    rows = (1 / (1 + math.exp(-0.1)) - 0.5) / 1e-4
    assert none is None
    assert area / (1e-4 * 0.3) < tried < area / (1e-4 * 0.3) + rows
    # Where the steps of rho are long, a tenth of the step of p leads to nine times as many pairs or more.
    slow = [loop(0.1, 20, 10, step, 1e-2)[1] for step in (1e-3, 1e-4, 1e-5)]
    many = min(slow[1] / slow[0], slow[2] / slow[1]) > 9
    # Up to four steps of p they are short enough: the search ends at its first p. There the two lines of the constraint
    # (above) leave the rho from -step/(cp) to step/(cq), with c = M/(n-1) at most 1: four steps or more.
    assert sp.cancel(1 / p + 1 / q - 4 - (p - q) ** 2 / (p * q)) == 0
    found += [(step, loop(0.1, 20, 10, step, 1e-3)) for step in (1e-3, 2.5e-4)]
    at_once = all(math.isclose(pair[0], top - step, rel_tol=1e-14) for step, (pair, _) in found)
    claim("jrr/alg-1-complexity").conditional(within, at_once and fine < 2 * coarse and many)


def test_algorithm_1_returns_a_pair_at_the_papers_settings_and_none_at_a_tiny_epsilon():
    """At p = p_0 - step the feasible rho are an interval with 0 in it, of length step / (share p q) or cut by Table 2.

    That is at least 4 step, so a step of rho up to 4 step does not miss it.
    """
    step, long, zero = Fraction(1, 10_000), [], []
    for e, (n, m) in itertools.product(map(Fraction, ("1001/1000", "11/10", "3")), ((20, 5), (20, 19), (10_000, 5))):
        top = e / (1 + e)
        t, share = top - step, Fraction(m, n - 1)
        low, high = max(1 - 1 / t, -step / (share * t)), min(1, step / (share * (1 - t)))
        ends = [feasible(t, r, n, m, e) for r in (low, 0, high)]
        beyond = [feasible(t, r, n, m, e) for r in (low * (1 + step), high * (1 + step)) if 1 - 1 / t <= r <= 1]
        long += [all(ends), not any(beyond), low == 1 - 1 / t or high - low >= 4 * step]
        zero += [feasible(Fraction(i, 20) * top, 0, n, m, e) for i in range(11, 21)]
        zero.append(not feasible(top + step, 0, n, m, e))
    settings = itertools.product((0.00041, 0.001, 0.01, 0.1, 1.0, 3.0), (20, 10_000, 2_000_000), (0, 5, None))
    first = []
    for b, k, m in settings:
        found, _ = printed_jrr.algorithm_1(epsilon=b, n=k, colluders=k - 1 if m is None else m)
        first.append(1 / (1 + math.exp(-b)) - found < 1.5e-4)  # the second p is two steps below
    null, _ = loop(1e-4, 10_000, 5, 1e-4, 1e-4)
    over, _ = loop(0.1, 20, 19, 1e-4, 0.3)  # steps over the feasible interval at every p
    claim("jrr/alg-1-terminates").holds(all(long), all(zero), len(first) == 54 and all(first), null is over is None)


def test_the_largest_p_forces_rho_to_be_zero_if_there_is_a_colluder():
    allowed = []
    for e, size, m in itertools.product((Fraction(11, 10), Fraction(3)), (2, 20), (1, 4, 19)):
        if m < size:
            start = e / (1 + e)
            tiny = [Fraction(i, 10**9) for i in (-1, 1)]
            steps = [v for v in (*tiny, *(Fraction(i, 50) for i in range(-50, 51))) if v >= 1 - 1 / start]
            allowed.append([v for v in steps if feasible(start, v, size, m, e)])
    without = []  # M = 0: from the least rho to 1
    for e, size in itertools.product((Fraction(11, 10), Fraction(3), Fraction(20)), (2, 20)):
        every = [Fraction(i, 50) for i in range(-50, 51) if Fraction(i, 50) >= -1 / e]
        without += [feasible(e / (1 + e), v, size, 0, e) for v in (-1 / e, *every)]
    claim("jrr/sec-4.4.2-s5").conditional(len(allowed) == 8 and all(v == [0] for v in allowed), all(without))


def test_parameters_for_an_unknown_count_lose_at_an_even_split():
    """Chapter audit_jrr, its advice: the largest loss over numbers of colluders; and what a leaked sign tells."""
    n, epsilon = 10_000, 0.1
    plain = 1 / (1 + math.exp(-epsilon))

    def over_rr(colluders, n1=None):
        pair = jrr.optimal_parameters(epsilon=epsilon, n=n, colluders=colluders, n1=n1)
        return jrr.variance(n // 2, n, *pair) / jrr.variance(n // 2, n, plain, 0.0)

    assert round(max(over_rr(m) for m in range(100)), 1) == 1.4
    assert max(over_rr(m, n // 2) for m in range(100)) <= 1 + 1e-12  # told of the even split
    even = jrr.optimal_parameters(epsilon=epsilon, n=n, colluders=0, n1=n // 2)  # a gain there only, and how small
    assert 0.9998 < over_rr(0, n // 2) < 1 == even[1]
    assert round(jrr.variance(3_000, n, *even) / jrr.variance(3_000, n, plain, 0.0), 2) == 1.16
    told = {most: jrr.optimal_parameters(epsilon=epsilon, n=n, colluders=100, n1=most) for most in (6_000, 9_500)}
    found = [jrr.variance(6_000, n, *pair) / jrr.variance(6_000, n, plain, 0.0) for pair in told.values()]
    assert round(found[0], 2) == 1  # above half the fewest holders expected are to be told
    assert found[1] > 1.4
    t, least = jrr.optimal_parameters(epsilon=epsilon, n=n, colluders=5)
    move = math.sqrt(-0.9 * least * t * (1 - t))
    assert round(math.log((t + move) / (1 - t - move)), 1) == 3.7

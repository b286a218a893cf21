"""The experiments of the Corr-RR paper's first version (Section 4): which of its sentences the exact law bears out.

The paper leaves open the marginals of its synthetic data, the share of the first phase in most figures, and the
priors of RS+RFD. Here attribute 0 is uniform or falls linearly, the others copy it with probability rho or else are
drawn uniformly, p_y follows the paper's appendix, and RS+RFD knows the true frequencies. Where a sentence leaves the
share of the first phase open, it is 10 %, which the paper calls best; a sentence that needs another share is
conditional, and its note names the share. SPL's and RS+(R)FD's errors are exact; Corr-RR's is a mean over simulated
runs with its standard error.
"""

import csv
import itertools
from fractions import Fraction
from functools import cache
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sympy as sp
from second_phase import expected_errors
from test_datasets import needs_raw, raw  # noqa: F401  (a fixture)

from ldp_lib import check, grr, pure, splitting, unary
from ldp_lib.book import raw as raw_files
from ldp_lib.book.claims import claim
from ldp_lib.book.printed_corr_rr import AppendixCorrRR
from ldp_lib.book.published import expected_error
from ldp_lib.book.sweeps import mse
from ldp_lib.corr_rr import CorrRR, syn_a, tree_law
from ldp_lib.fake_data import RSFD, RSRFD
from ldp_lib.population import Population, marginal_frequencies

N = 10_000
LINEAR = tuple(np.arange(10, 0, -1) / 55)


def errors(population, epsilon, share, runs, rng, make=AppendixCorrRR):
    """Mean squared error, averaged over values, then attributes, of the four mechanisms; Corr-RR's with its error."""
    f = marginal_frequencies(population)
    exact = {
        "spl": splitting.SPL(k=population.k, epsilon=epsilon),
        "rsfd": RSFD(k=population.k, epsilon=epsilon),
        "rsrfd": RSRFD(k=population.k, epsilon=epsilon, priors=f),
    }
    known = {name: np.mean([v.mean() for v in m.variance(population)]) for name, m in exact.items()}
    mechanism = make(k=population.k, epsilon=epsilon, n1=round(share * population.n))
    each = expected_errors(mechanism, population, rng=rng, runs=runs)
    return SimpleNamespace(corr=each.mean(), noise=each.std(ddof=1) / np.sqrt(runs), **known)


def fake_bits(population, epsilon):
    """RS+FD's error in optimized unary encoding, fakes of zeros and of uniform values; RS+RFD's with true priors."""
    p, q = unary.oue_probabilities(np.exp(epsilon))
    found = [[], [], []]
    for f in marginal_frequencies(population):
        for errors_of, held in zip(found, (0, 1 / len(f), f), strict=True):
            fake = (population.d - 1) * (q + (p - q) * held)
            support = [(own + fake) / population.d for own in (p, q)]
            errors_of.append(pure.variance(f, population.n, *support).mean())
    return [np.mean(v) for v in found]


@cache
def synthetic(k, d, rho, epsilon, share=0.1, skewed=False, shuffled=False, runs=None, make=AppendixCorrRR):
    runs = runs or {2: 2_000, 10: 200 if d == 2 else 30}[k]  # rare records cost more
    rng = np.random.default_rng(1)
    population = syn_a(N, d=d, rho=rho, frequencies=LINEAR if skewed else np.full(k, 1 / k), rng=rng)
    if shuffled:
        users = np.column_stack([rng.permutation(column) for column in population.users().T])
        population = Population.from_records(users, k=population.k)
    return errors(population, epsilon, share, runs, rng, make)


def uniform_error(k, d, rho, epsilon, share=0.1):
    """Corr-RR's error for uniform marginals if copies always repeat, averaged over data sets too (thm-corr-uniform)."""
    gaps = [np.subtract(*grr.probabilities(np.exp(budget), k)) for budget in (epsilon / d, epsilon)]
    s = (d - 1) / d * (2 * rho + (d - 2) * rho**2)  # attribute 0 is the others' parent
    noise = share / gaps[0] ** 2 + (1 - share) / gaps[1] ** 2
    return (k - 1) / k**2 / N * (noise - share - (1 - share) * (2 + 2 * s - d) / d)


def below(a, bound, sign=1):
    """Whether Corr-RR's error is below (sign -1: above) a bound by five standard errors."""
    return bool(sign * (bound - a.corr) > 5 * a.noise)


def between(a, low, high):
    """Whether Corr-RR's error lies between two bounds, by five standard errors from either."""
    return below(a, low, -1) and below(a, high)


def falls(first, second, sign=1):
    """Whether Corr-RR's error is lower in the second setting than in the first by five standard errors."""
    return bool(sign * (first.corr - second.corr) > 5 * np.hypot(first.noise, second.noise))


def same(first, second):
    """Whether two errors differ by less than 15 per cent, by five standard errors."""
    noise = 5 * np.hypot(first.noise, second.noise)
    return bool(abs(first.corr - second.corr) + noise < 0.15 * first.corr)


def test_data_with_every_pairwise_correlation_equal_to_rho_exist():
    def correlation(k, rho):  # all attributes equal with probability rho, else independent; all uniform
        joint = np.array([[rho * Fraction(int(u == v), k) + (1 - rho) / k**2 for v in range(k)] for u in range(k)])
        centred = np.array([Fraction(2 * v - k + 1, 2) for v in range(k)])
        return centred @ joint @ centred / (centred**2).mean()

    rhos = [Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)]

    # The revised version's generators, with draws that may repeat the value: from a uniform root rho to the parent, and
    # its square to a sibling (SynA) or a grandparent (SynB); from its own frequencies less to the parent, too.
    def between_two(law, left_out):
        pair = np.cov(*np.indices((4, 4)).reshape(2, -1), aweights=law.sum(axis=left_out).ravel())
        return pair[0, 1] / np.sqrt(pair[0, 0] * pair[1, 1])

    for parents, far in (([0, 0], 0), ([0, 1], 1)):
        law, own = (tree_law(f, 0.5, parents) for f in ([0.25] * 4, [0.4, 0.3, 0.2, 0.1]))
        assert np.allclose([between_two(law, m) for m in range(3)], [0.25 if m == far else 0.5 for m in range(3)])
        assert max(between_two(own, m) for m in range(3)) < 0.5
    claim("corr-rr-v1/def-synthetic").holds(all(correlation(k, rho) == rho for k in (2, 10) for rho in rhos))


def test_figures_without_numbers():
    claim("corr-rr-v1/figs-4-14").not_checkable(
        "Pictures without numbers in our text. The marginals of the synthetic data (Figures 4 to 13) are not stated, "
        "nor is every step in the preparation of the real data (Figure 14). "
        "The sentences about them are judged one by one."
    )


def test_a_larger_budget_means_less_error():
    # The report probability of every user and mechanism is c + D h: c is that at budget 0, 1/k if fakes are uniform,
    # and D grows with the budget. Minus the slope is the probability that one of two reports, with pi and c, shows it.
    D, h, c = sp.symbols("D h c")
    pi = c + D * h
    slope = sp.diff(pi * (1 - pi) / D**2, D) * D**3
    settings = ((2, 2), (2, 4), (10, 2), (10, 4))  # of Figures 4 to 7
    steps = [
        synthetic(size, d, rho, e) for (size, d), rho in itertools.product(settings, (0.1, 0.9)) for e in range(1, 6)
    ]
    pairs = [pair for i, pair in enumerate(itertools.pairwise(steps)) if (i + 1) % 5]
    claim("corr-rr-v1/sent-4.3.1-decreasing").reproduced(
        sp.expand(slope + pi * (1 - c) + c * (1 - pi)) == 0,
        all(a.spl > b.spl and a.rsfd > b.rsfd and a.rsrfd > b.rsrfd for a, b in pairs),
        all(falls(a, b) for a, b in pairs),
    )


def test_sixty_percent_below_splitting():
    # The paper has 200 runs. A run's error of SPL, two squared normal numbers, has its mean as standard deviation.
    ten = synthetic(2, 2, 0.9, 1)
    ratio, rng = ten.corr / ten.spl, np.random.default_rng(1)
    people = syn_a(N, d=2, rho=0.9, frequencies=(0.5, 0.5), rng=rng)
    alone = mse(AppendixCorrRR(k=(2, 2), epsilon=1.0).simulate(people, rng=rng, runs=20_000), [(0.5, 0.5)] * 2)
    error = ratio * np.hypot(alone.std() / alone.mean(), 1) / np.sqrt(200)
    uniform = (0.1 / np.tanh(0.25) ** 2 + 0.9 / np.tanh(0.5) ** 2) / 4 / N  # thm-corr-uniform; s is from -0.9 to 0.9
    limits = [uniform - (0.1 + 0.9 * s) / 4 / N for s in (0.9, -0.9)]
    assert below(ten, limits[0], -1)
    assert below(ten, limits[1])
    assert between(ten, 0.34 * ten.spl, 0.38 * ten.spl)
    sets = [syn_a(N, d=2, rho=0.9, frequencies=(0.5, 0.5), rng=rng) for _ in range(100)]
    saved = np.array([1 - x.corr / x.spl for x in (errors(people, 1, 0.1, 50, rng) for people in sets)])
    inside, noise = np.mean((saved > 0.58) & (saved < 0.66)), np.sqrt(0.9 * 0.1 / 100)
    assert abs(inside - 0.9) < 3 * noise  # the note: nine in ten
    assert np.mean(saved > 0.6) < 1 - 3 * noise  # not all have 60
    claim("corr-rr-v1/sent-4.3.1-60").reproduced(
        bool(abs(1 - ratio - 0.6) < 3 * error), [round(float(v), 2) for v in (1 - ratio, error)] == [0.64, 0.04]
    )


def test_ten_values():
    def best(a):
        return min(a.spl, a.rsfd, a.rsrfd)

    def converge(low, high):
        spread = [max(e) - min(e) for e in ((a.spl, a.rsfd, a.rsrfd, a.corr) for a in (low, high))]
        return spread[1] < 0.05 * spread[0]

    pairs = [(synthetic(10, 2, rho, 1), synthetic(10, 2, rho, 5)) for rho in (0.1, 0.5, 0.9)]
    skewed = [synthetic(10, 2, 0.1, budget, skewed=True) for budget in (1, 5)]
    assert below(skewed[1], 10 * skewed[1].spl, -1)  # with marginals that differ
    assert not converge(*skewed)
    low, high = pairs[-1]  # in per cent the lead is largest at 5
    at = (1, low), (2, synthetic(10, 2, 0.9, 2)), (5, high)
    lead = [round(1 - uniform_error(10, 2, 0.9, e) / best(a), 2) for e, a in at]
    claim("corr-rr-v1/sent-4.3.1-k10").conditional(
        all(below(low, 0.3 * low.spl) and below(low, best(low)) and below(high, best(high)) for low, high in pairs)
        and all(converge(*pair) for pair in pairs)
        and all(falls(a[1], b[1]) for a, b in itertools.pairwise(pairs)),  # ahead, more with stronger correlations
        between(low, 0.34 * best(low), 0.42 * best(low))
        and between(high, 0.17 * best(high), 0.21 * best(high))
        and lead == [0.63, 0.62, 0.82],
    )


def test_ninety_percent_below_splitting():
    # The first phase alone leaves the share n1/n of SPL's error, so a tenth of the users cannot bring more than 90 %.
    five, ten = (synthetic(10, 4, 0.9, 1, share) for share in (0.05, 0.1))
    less = [round(1 - uniform_error(10, 4, 0.9, 1, share) / a.spl, 2) for share, a in ((0.05, five), (0.1, ten))]
    # Here, with a fixed table, it leaves nearly all: with ten attributes and a small budget Phase II's own is small.
    k, people = (2,) * 10, Population.from_counts(np.full((2,) * 10, 10))
    whole = np.array(splitting.SPL(k=k, epsilon=0.1).variance(people))
    for share, reuse in itertools.product((0.05, 0.1), (0.0, 0.5, 1.0)):
        left = np.array(CorrRR(k=k, epsilon=0.1, n1=share, reuse=reuse).variance(people)) / whole
        assert share < left.min() <= left.max() < share + 0.01
    claim("corr-rr-v1/sent-4.3.1-90").conditional(
        between(five, 0.075 * five.spl, 0.09 * five.spl) and less[0] == 0.92,
        between(ten, 0.12 * ten.spl, 0.14 * ten.spl) and less[1] == 0.87,
    )


def test_error_grows_with_the_number_of_attributes():
    figures = ((2, 0.1), (2, 0.9), (10, 0.5))  # 8, 9 and 10
    settings = [(*figure, budget) for figure in figures for budget in (1, 3, 5)]
    found = {at: [synthetic(at[0], d, *at[1:]) for d in (2, 3, 4, 5, 6)] for at in settings}
    pairs = [(at, a, b) for at, row in found.items() for a, b in itertools.pairwise(row)]
    single = [  # exact, at 3, of one data set for each number of attributes, if all copies repeat
        expected_error(CorrRR(k=x.k, epsilon=3.0, n1=0.1, reuse=1.0), x)
        for x in (syn_a(N, d=d, rho=0.1, frequencies=(0.5, 0.5), rng=np.random.default_rng(11)) for d in (2, 3))
    ]
    assert single[0] > 1.5 * single[1]
    unclear = [(at[:2], d) for at, row in found.items() for d in (2, 3, 4, 5) if not falls(row[d - 1], row[d - 2])]
    claim("corr-rr-v1/sent-4.3.2-growth").reproduced(
        all(a.spl < b.spl and a.rsfd < b.rsfd and a.rsrfd < b.rsrfd for _, a, b in pairs),
        all(falls(b, a) for at, a, b in pairs if at[2] < 5),
        all(falls(row[-1], row[0]) for row in found.values()),
        unclear == [((2, 0.1), 3), ((2, 0.9), 5)],  # all at 5: from 3 to 4 attributes, and from 5 to 6
        all((np.diff([uniform_error(k, d, rho, e) for d in (2, 3, 4, 5, 6)]) > 0).all() for k, rho, e in settings),
    )


def test_three_to_four_times_below_splitting():
    found = {share: [synthetic(2, d, 0.1, 1, share) for d in (2, 3, 4, 6)] for share in (0.1, 0.2)}
    grows = all(a.spl / a.corr < b.spl / b.corr for each in found.values() for a, b in itertools.pairwise(each))
    as_stated = [between(a, a.spl / 4, a.spl / 3) for a in found[0.2][1:3]]
    rng = np.random.default_rng(3)
    for share, d, times in ((0.2, 2, 2.3), (0.2, 3, 3.2), (0.2, 4, 3.8), (0.1, 3, 4.4)):  # the note's
        sets = (syn_a(N, d=d, rho=0.1, frequencies=(0.5, 0.5), rng=rng) for _ in range(100))
        drawn = np.array([a.corr / a.spl for a in (errors(people, 1, share, 10, rng) for people in sets)])
        noise = drawn.std() / drawn.mean() ** 2 / 10
        assert abs(1 / drawn.mean() - times) < 0.05 + 3 * noise < 0.15
    alone = [[uniform_error(2, d, rho, 1, s) for rho in (0, 0.1)] for d, s in itertools.product((2, 3, 4, 6), found)]
    assert max(abs(a / b - 1) for a, b in alone) < 0.02  # and independent attributes gain as much
    claim("corr-rr-v1/sent-4.3.2-3to4").conditional(
        all(as_stated) and grows and below(found[0.2][3], found[0.2][3].spl / 4),
        all(below(a, a.spl / x) for a, x in zip(found[0.1][1:], (4.2, 5.5, 7), strict=True)),
    )


def test_five_times_below_fake_data():
    found = [synthetic(2, d, 0.9, 1, 0.2) for d in (2, 3, 4, 6)]
    over60 = [below(a, 0.4 * a.spl) for a in (*found[1:], synthetic(2, 5, 0.9, 1, 0.2))]
    six, ten = found[3], synthetic(2, 6, 0.9, 1, 0.1)
    up_to = between(six, six.rsfd / 5.5, six.rsfd / 5) and all(below(a, a.rsfd / 5, -1) for a in found[:3])
    loose = synthetic(2, 2, 0.9, 5, 0.2)
    # At larger budgets it turns on how far the marginals of the data set drawn are from uniform by chance.
    rng = np.random.default_rng(1)
    sets = [syn_a(N, d=6, rho=0.9, frequencies=(0.5, 0.5), rng=rng) for _ in range(300)]
    factors = [[a.rsfd / a.corr for a in (errors(x, e, 0.2, 10, rng) for x in sets)] for e in (3, 5)]
    three, five = np.median(factors, axis=1)
    more = abs(three - 10) < 0.4, abs(five - 17) < 0.8, min(map(min, factors)) < 7  # standard errors: 0.08 and 0.26
    claim("corr-rr-v1/sent-4.3.2-5x").conditional(
        up_to and all(over60),
        between(ten, ten.rsfd / 9.5, ten.rsfd / 8.5) and all(more) and below(loose, loose.spl, -1),
    )


def test_eighty_percent_below_splitting():
    a = synthetic(10, 6, 0.5, 1)
    # Uniform marginals, thm-corr-uniform: s is 0 for independent attributes, here from -5/18 (never copied) to 5/2.
    gaps = [np.subtract(*grr.probabilities(np.exp(budget), 10)) for budget in (1 / 6, 1)]
    whole = 0.1 / gaps[0] ** 2 + 0.9 / gaps[1] ** 2 - 0.1
    alone, *ends = (0.09 / N * (whole - 0.9 * (2 + 2 * s - 6) / 6) for s in (0, 2.5, -5 / 18))
    assert round(1 - alone / a.spl, 2) == 0.89
    assert max(abs(end / alone - 1) for end in ends) < 0.003  # no correlation of 1/2 can move it by more
    claim("corr-rr-v1/sent-4.3.2-80").reproduced(
        below(a, 0.2 * a.spl), below(a, 0.1 * a.spl, -1), abs(a.corr - alone) + 5 * a.noise < 0.1 * alone
    )
    fifth = [synthetic(k, d, 0.5, 1, 0.2) for k, d in ((2, 2), (2, 6), (10, 2), (10, 6))]
    moderate = [synthetic(k, 2, 0.5, 3, 0.2) for k in (2, 10)]
    ahead = all(below(x, min(x.spl, x.rsfd, x.rsrfd)) and not below(x, 0.2 * x.spl) for x in fifth + moderate)

    def two_values(rng, runs):  # at 3
        return errors(syn_a(N, d=2, rho=0.5, frequencies=(0.5, 0.5), rng=rng), 3, 0.2, runs, rng)

    rng, one = np.random.default_rng(7), two_values(np.random.default_rng(10), 1_000)
    drawn = np.array([x.corr / x.spl for x in (two_values(rng, 100) for _ in range(60))])
    ahead &= bool(drawn.mean() < 1 and check.mean_z(drawn, 1) > 5)  # on average over data sets,
    ahead &= below(one, one.spl, -1)  # and not with each of them
    apart = synthetic(10, 2, 0.1, 3, skewed=True)
    claim("corr-rr-v1/sent-4.5-80").conditional(
        ahead and below(fifth[-1], 0.24 * a.spl) and round(uniform_error(10, 6, 0.5, 1, 0.2) / a.spl, 2) == 0.21,
        below(a, 0.15 * a.spl) and below(apart, 3 * apart.spl, -1),
    )


def test_against_the_share_of_the_first_phase():
    ten, fifteen = synthetic(10, 2, 0.5, 1, 0.1), synthetic(10, 2, 0.5, 1, 0.15)
    assert below(ten, ten.spl / 3)
    assert below(ten, 0.4 * ten.rsrfd)  # at 10 % more than 60
    half, fifth = synthetic(10, 2, 0.5, 1, 0.5), uniform_error(10, 2, 0.5, 1, 0.2)
    less = [round(1 - x / ten.rsrfd, 2) for x in (uniform_error(10, 2, 0.5, 1), fifth)]
    for rho, share in itertools.product((0.1, 0.9), (0.1, 0.15, 0.2)):
        assert abs(uniform_error(10, 2, rho, 1, share) - uniform_error(10, 2, 0.5, 1, share)) < 0.01 * ten.rsrfd
    claim("corr-rr-v1/sent-4.3.3-60").reproduced(
        below(fifteen, 0.45 * fifteen.rsrfd),
        below(fifteen, 0.4 * fifteen.rsrfd, -1),
        below(fifteen, fifteen.spl / 3),
        below(half, 0.45 * half.rsrfd, -1),  # not with half of the users in Phase I
        less == [0.63, 0.51] and 2.9 < ten.spl / fifth < 3,
    )
    high = {share: synthetic(10, 2, 0.5, 5, share, runs=1_000) for share in (0.1, 0.2, 0.5)}
    assert [round(float(1 - high[s].corr / high[s].spl), 2) for s in (0.1, 0.2)] == [0.72, 0.63]
    skewed = [synthetic(10, 2, 0.5, 5, s, skewed=True) for s in (0.1, 0.3, 0.5)]
    claim("corr-rr-v1/sent-4.3.3-50").reproduced(
        between(high[0.1], 0.25 * high[0.1].spl, 0.32 * high[0.1].spl),
        between(high[0.2], 0.33 * high[0.2].spl, 0.39 * high[0.2].spl),
        below(high[0.5], high[0.5].spl / 2, -1),  # not with half of the users in Phase I
        [round(1 - uniform_error(10, 2, 0.5, 5, s) / a.spl, 2) for s, a in high.items()] == [0.68, 0.6, 0.38],
        # The figure's correlation is not stated: with 20 % in Phase I it must not be weak.
        [round(1 - uniform_error(10, 2, 0.1, 5, s) / high[s].spl, 2) for s in (0.1, 0.2)] == [0.54, 0.48],
        [round(1 - uniform_error(10, 2, 0.9, 5, s) / high[s].spl, 2) for s in (0.1, 0.2)] == [0.82, 0.73],
        all(below(a, a.spl, -1) for a in skewed),  # nor, with .5, may attribute 0 fall linearly
    )
    for rho, sign in ((0.1, -1), (0.9, 1)):  # SPL has less error with .1 too, and not with .9
        assert all(below(a, a.spl, sign) for a in (synthetic(10, 2, rho, 5, s, skewed=True) for s in (0.1, 0.3, 0.5)))
    uniform = [synthetic(10, d, 0.5, e, s) for d in (2, 4) for e in (1, 3, 5) for s in (0.1, 0.3, 0.5)]
    rises = [falls(b, a) for i, (a, b) in enumerate(itertools.pairwise(uniform)) if (i + 1) % 3]
    drops = [falls(a, b) for a, b in itertools.pairwise(skewed)]
    assert all(drops)  # with attribute 0 falling linearly the second phase is biased
    for a, b, c in zip(uniform[::3], uniform[1::3], uniform[2::3], strict=True):  # linear in the share
        bend = np.sqrt(a.noise**2 + 4 * b.noise**2 + c.noise**2)
        assert abs(a.corr - 2 * b.corr + c.corr) < 5 * bend < 0.3 * c.corr
    claim("corr-rr-v1/sent-4.3.3-monotone").reproduced(all(rises))
    twentieth = synthetic(10, 2, 0.5, 1, 0.05)
    ever = itertools.product((2, 4), (1, 3, 5))  # Figures 11 and 12: no optimum inside if all copies repeat
    more = [np.diff([uniform_error(10, d, 0.5, e, s) for s in (0.001, 0.01, 0.05, 0.1, 0.3, 0.5)]) for d, e in ever]
    learned = [synthetic(10, 2, 0.9, 5, share, runs=1_000) for share in (0.001, 0.005, 0.05)]
    assert falls(learned[0], learned[1])  # there is, where few users set p_y
    assert falls(learned[2], learned[1])
    strong = [synthetic(10, 2, 0.9, 5, s, skewed=True) for s in (0.1, 0.3)]
    assert falls(strong[1], strong[0])  # at a high correlation the bias is small: 30 % is the worse share
    claim("corr-rr-v1/sent-4.3.3-sweetspot").conditional(
        all(rises), falls(ten, twentieth) and falls(skewed[0], skewed[1]) and bool((np.array(more) > 0).all())
    )


def test_against_correlation():
    levels = (0.1, 0.5, 0.9)
    even = {e: [synthetic(10, 6, rho, e) for rho in levels] for e in (1, 3, 5)}
    skewed = {e: [synthetic(10, 6, rho, e, skewed=True) for rho in levels] for e in (1, 3, 5)}
    mixed = [synthetic(10, 6, rho, 3, skewed=True, shuffled=True) for rho in levels]

    def gains(first, second):
        """By how many standard errors the error, over each rival's, is less in the second setting."""
        for name in ("spl", "rsfd", "rsrfd"):
            a, b = getattr(first, name), getattr(second, name)
            yield (first.corr / a - second.corr / b) / np.hypot(first.noise / a, second.noise / b)

    fall = [round(1 - uniform_error(10, 6, 0.9, e) / uniform_error(10, 6, 0.1, e), 2) for e in (1, 3, 5)]
    assert fall == [0, 0.04, 0.13]  # on average over data sets
    # With unlike marginals the error falls at 3; it falls as much if all dependence is destroyed and they are kept.
    claim("corr-rr-v1/sent-4.3.4-trend").conditional(
        falls(even[5][0], even[5][2]),  # users whose values agree have less noise
        same(even[1][0], even[1][2])
        and same(even[3][0], even[3][2])
        and falls(skewed[3][0], skewed[3][2])
        and all(same(a, b) for a, b in zip(skewed[3], mixed, strict=True)),
    )
    exact = {e: [synthetic(10, 6, rho, e, skewed=True, make=CorrRR) for rho in (0.1, 0.9)] for e in (1, 3, 5)}
    rises = all(falls(*pair, sign=-1) for pair in exact.values())  # all three notes: not by the appendix's formula
    claim("corr-rr-v1/sent-4.5-corr").conditional(
        all(min(gains(skewed[e][0], skewed[e][2])) > 5 for e in (3, 5)),
        same(even[1][0], even[1][2]) and same(skewed[1][0], skewed[1][2]) and fall == [0, 0.04, 0.13] and rises,
    )

    def keeps(first, second, share):
        """By how many standard errors the second error is above a share of the first."""
        return (second.corr - share * first.corr) / np.hypot(second.noise, share * first.noise)

    few = [synthetic(10, 6, rho, 5, 0.01) for rho in (0.1, 0.9)]
    claim("corr-rr-v1/sent-4.3.4-40-50-2x").not_reproduced(
        # printed: a fall by nearly 40 %
        all(keeps(a, b[2], 0.8) > 5 and same(a, b[2]) for b in (even[1], skewed[1]) for a in b[:2]),
        keeps(even[3][0], even[3][2], 0.8) > 5,  # over 50 %
        keeps(even[5][0], even[5][2], 0.7) > 5 > -5 > keeps(skewed[5][0], skewed[5][2], 0.3),  # nearly half
        # Other shares of Phase I: at 1 no such fall. At 3 and at 5 one of them has the number.
        all(
            keeps(synthetic(10, 6, rho, 1, share, skewed=True), synthetic(10, 6, 0.9, 1, share, skewed=True), 0.8) > 5
            and keeps(synthetic(10, 6, rho, 1, share), synthetic(10, 6, 0.9, 1, share), 0.8) > 5
            for rho, share in itertools.product((0.1, 0.5), (0.01, 0.05, 0.2, 0.5))
        ),
        keeps(*(synthetic(10, 6, rho, 3, 0.05, skewed=True) for rho in (0.1, 0.9)), 0.5) < -5,
        keeps(*few, 0.5) > 5 > -5 > keeps(*few, 0.6),
    )
    assert same(synthetic(10, 6, 0.1, 1, 0.01), synthetic(10, 6, 0.9, 1, 0.01))
    # Not so with two attributes: there dependence alone, under uniform marginals, halves the error at 5.
    assert keeps(*(synthetic(10, 2, rho, 5) for rho in (0.1, 0.9)), 0.5) < -5
    # With either start one number of three comes out: from .1 that at 3, over a half, and from .5 that at 5, nearly 2x.
    for a, b in ((skewed[3][0], skewed[3][2]), (skewed[5][1], skewed[5][2])):
        assert keeps(a, b, 0.44) > 5 > -5 > keeps(a, b, 0.56)
    assert keeps(skewed[3][1], skewed[3][2], 0.6) > 5


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return [row for row in csv.reader(file) if row]


def frequent(column, k):
    """Keep the k-1 most frequent labels and call the others "Other", as the paper describes for Mushroom."""
    kept = column.value_counts().index[: k - 1]
    return column.where(column.isin(kept), "Other")


def correlations(frame, key=None):
    """Least and largest Pearson correlation of two columns, labels coded by their sorted order."""
    codes = frame.apply(lambda column: column.map(sorted(set(column), key=key).index))
    matrix = np.corrcoef(codes.to_numpy(dtype=float).T)
    other = matrix[~np.eye(len(matrix), dtype=bool)]
    return other.min(), other.max()


def mushroom():
    table = pd.DataFrame(rows(raw_files.fetch("mushroom")))
    large = [column for column in table if table[column].nunique() > 5]
    return table[large].apply(lambda column: frequent(column, 6))


def nursery(even=()):
    """Three values an attribute; in the columns `even`, whose labels are equally frequent, as even as can be."""
    table = pd.DataFrame(rows(raw_files.fetch("nursery"))).drop(columns=5)  # finance, the binary one
    for column in even:
        table[column] = (table[column].factorize()[0] * 3 // table[column].nunique()).astype(str)
    return table.apply(lambda column: frequent(column, 3) if column.nunique() > 3 else column)


def moved(people, places):
    """The same records with the value of the frequency that stands out, if one does, at the given place of a column."""
    users = people.users().copy()
    for column, place in places.items():
        f, order = marginal_frequencies(people)[column], np.arange(3)
        odd = np.argmax(abs(f - np.median(f)))
        order[[odd, place]] = place, odd
        users[:, column] = order[users[:, column]]
    return Population.from_records(users, k=people.k)


def clave():
    lines = raw_files.fetch("clave").read_text(encoding="utf-8").splitlines()
    return pd.DataFrame([line.split()[:16] for line in lines if line.strip()])


@needs_raw
@pytest.mark.usefixtures("raw")
def test_the_characteristics_of_the_real_data():
    table = clave()
    marked = [line.endswith("error fixed") for line in raw_files.fetch("clave").read_text("utf-8").splitlines()]
    assert (len(marked), sum(marked)) == (10_800, 13)
    ranges = {tuple(np.round(correlations(part), 2)) for part in (table, table[~np.array(marked)])}
    claim("corr-rr-v1/tab-1-clave").reproduced(
        table.shape[1] == 16, set(table.nunique()) == {2}, ranges == {(-0.07, 0.05)}
    )
    table = mushroom()
    low, high = correlations(table)
    assert all(min(table[column]) == "Other" for column in table)  # a capital is sorted first
    assert [round(float(v), 2) for v in correlations(table, str.lower)] == [-0.48, 0.52]
    odor, anise = pd.DataFrame(rows(raw_files.fetch("mushroom")))[5], table.copy()
    assert (sum(odor == "a"), "a" in set(table[5])) == (sum(odor == "l"), True)  # the fifth place is shared
    anise[5] = odor.where(odor.isin([*"fnsyl"]), "Other")
    assert [round(float(v), 2) for v in correlations(anise)] == [-0.32, 0.6]
    assert [round(float(v), 2) for v in correlations(anise, str.lower)] == [-0.48, 0.52]
    claim("corr-rr-v1/tab-1-mushroom").reproduced(
        table.shape == (8124, 9), set(table.nunique()) == {6}, round(low, 2) == -0.37, round(high, 2) == 0.6
    )
    # Seven inputs are a full factorial, so uncorrelated however they are coded; the class is the eighth attribute.
    table = nursery()
    low, high = correlations(table.iloc[:, :7])
    whole = pd.DataFrame(rows(raw_files.fetch("nursery"))).drop(columns=5)

    def coded(column):
        """The column in every order of three labels: its own, or of more, all as frequent, any two and the others."""
        labels = sorted(set(column))
        for kept in [labels] if len(labels) == 3 else itertools.combinations(labels, 2):
            short = column.where(column.isin(kept), "Other")
            for order in itertools.permutations(sorted(set(short))):
                yield np.select([short == v for v in order], (0, 1, 2))

    codes = [list(coded(whole[c])) for c in table.columns[:-1]]
    classes = list(coded(table[8]))[:3]  # the three others are these reversed, which only turns all signs
    ways = [[[np.corrcoef(x, y)[0, 1] for x in column] for column in codes] for y in classes]

    def reach(rows, first, last):
        """Whether the inputs can be coded so that first and last, rounded, are the range of their correlations."""
        inside = [{round(v, 2) for v in row if first - 0.005 <= v <= last + 0.005} for row in rows]
        ends = itertools.permutations(inside, 2)
        return all(inside) and any(first in x and last in y for x, y in ends)

    # Some choice of orders and groups gives the printed range, so a search over all of them settles nothing.
    assert any(reach(rows, -0.07, 0.05) for rows in ways)
    assert not any(reach(rows, -0.01, 0.01) for rows in ways)

    def numbered(column, labels):
        return np.select([table[column] == v for v in labels], (0, 1, 2))

    # Parents and health have three labels, so no groups. Parents' order in the file is the alphabet's, reversed.
    parents = numbered(0, own_order := ("usual", "pretentious", "great_pret"))
    assert list(own_order) == whole[0].drop_duplicates().tolist() == sorted(own_order, reverse=True)
    health = numbered(7, ("not_recom", "priority", "recommended"))
    # Of the three grouped classes the documentation has two before priority and one, nearly all of them, after it.
    own = [numbered(8, order) for order in (("not_recom", "priority", "Other"), ("not_recom", "Other", "priority"))]
    claim("corr-rr-v1/tab-1-nursery").not_reproduced(
        table.shape == (12_960, 8),
        max(-low, high) < 1e-12,
        min(abs(np.corrcoef(parents, y)[0, 1]) for y in classes) > 0.12,
        min(np.corrcoef(health, y)[0, 1] for y in own) > 0.7,
    )


@needs_raw
@pytest.mark.usefixtures("raw")
def test_the_sentences_on_the_real_data():
    rng = np.random.default_rng(1)
    people = Population.from_frame(clave())
    assert max(abs(f[0] - 0.5) for f in marginal_frequencies(people)) < 0.021  # all near 1/2
    bits = [errors(people, 1, share, 200, rng) for share in (0.1, 0.2)]
    claim("corr-rr-v1/sent-4.4-clave-5x").conditional(
        between(bits[1], bits[1].spl / 5, bits[1].spl / 4.7)
        and all(below(a, min(a.spl, a.rsfd, a.rsrfd)) for a in bits),
        between(bits[0], bits[0].spl / 9.7, bits[0].spl / 9),
    )
    ruled_out = list(itertools.product((0.01, 0.05, 0.2, 0.5), (AppendixCorrRR, CorrRR)))  # other readings
    people = Population.from_frame(nursery())
    low, high = errors(people, 1, 0.1, 100, rng), errors(people, 3, 0.1, 100, rng)
    tried = [low, *(errors(people, 1, share, 20, rng, make) for share, make in ruled_out)]
    tried.append(errors(people, 1, 0.1, 20, np.random.default_rng(3), CorrRR))
    even_people = Population.from_frame(nursery(even=(1, 2, 3)))
    evenly = errors(even_people, 1, 0.1, 50, np.random.default_rng(2))
    # The paper does not say how labels become numbers. Only columns 1 to 3 have unequal frequencies, all with a pair of
    # equal ones, so every order of the values has the frequencies of one of these nine (column 1 stays where it is).
    orders, dice = [{2: a, 3: b} for a in range(3) for b in range(3)], np.random.default_rng(4)
    for made, at in itertools.product((AppendixCorrRR, CorrRR), orders):
        tried.append(errors(moved(people, at), 1, 0.1, 20, dice, made))
        again = errors(moved(even_people, at), 1, 0.1, 40, dice, made)
        assert between(again, 0.4 * again.rsfd, 0.6 * again.rsfd)
    least, most = (errors(moved(people, at), 1, 0.1, 200, dice) for at in ({2: 0, 3: 0}, {2: 1, 3: 2}))
    assert between(least, 0.61 * least.rsfd, 0.69 * least.rsfd)
    assert between(most, 0.81 * most.rsfd, 0.86 * most.rsfd)
    # Left open: both rivals in unary encoding, which the paper does not mention.
    assert all(between(low, 0.28 * v, 0.36 * v) for v in fake_bits(people, 1))
    assert all(between(evenly, 0.16 * v, 0.22 * v) for v in fake_bits(even_people, 1))
    claim("corr-rr-v1/sent-4.4-nursery-70").not_reproduced(
        all(below(a, 0.5 * a.rsfd, -1) and below(a, 0.5 * a.rsrfd, -1) for a in tried),
        between(evenly, 0.4 * evenly.rsfd, 0.5 * evenly.rsfd) and below(evenly, 0.4 * evenly.rsrfd, -1),
        between(low, 0.68 * low.rsfd, 0.82 * low.rsfd) and between(high, 4.8 * high.spl, 5.6 * high.spl),
    )
    people = Population.from_frame(mushroom())
    low, high = errors(people, 1, 0.1, 50, rng), errors(people, 5, 0.1, 50, rng)
    tried = [low, *(errors(people, 1, share, 20, rng, make) for share, make in ruled_out)]
    tried.append(errors(people, 1, 0.1, 20, np.random.default_rng(3), CorrRR))
    # Left open: the rivals in unary encoding. SPL's 80 per cent are out of reach, RS+FD's 60 with 1 per cent are near.
    bits = unary.oue_probabilities(np.exp(1 / people.d))
    split = np.mean([pure.variance(f, people.n, *bits).mean() for f in marginal_frequencies(people)])
    zeros, values, _ = fake_bits(people, 1)
    assert all(between(low, 0.42 * v, 0.5 * v) for v in (split, zeros, values))
    assert between(tried[1], 0.37 * values, 0.43 * values)
    assert all(below(a, 0.35 * split, -1) for a in tried)
    claim("corr-rr-v1/sent-4.4-mushroom-80-60").not_reproduced(
        all(below(a, 0.3 * a.spl, -1) and below(a, 0.5 * a.rsfd, -1) for a in tried),
        between(low, 0.34 * low.spl, 0.4 * low.spl) and between(low, 0.57 * low.rsfd, 0.67 * low.rsfd),
        between(high, 8.7 * high.spl, 9.5 * high.spl),
    )

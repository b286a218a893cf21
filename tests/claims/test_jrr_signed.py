"""Signed reports, a result of this book: the ratio and the delta of the transcript, and what rivals reach at one goal.

Proof of the ratio. Write n = 2h, r_j for the probability of user j's report with plus over that with minus, and
lambda for the mean of a user's sign given the others' reports. User 0 has plus if h - 1 of the others have, and minus
if h have, so the odds (1 + lambda) / (1 - lambda) are sigma_{h-1}(r) / sigma_h(r), a quotient of elementary symmetric
functions. By Newton's inequalities it falls in each r_j, so it is least if all r_j take their largest value r, and
then it is 1/r. For known values r = (q+s)/(q-s) and lambda = -s/q; for uniform bits r = (1+2s)/(1-2s) and lambda =
-2s. The delta is derived in the chapter `helpers`.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from scipy import stats
from scipy.optimize import brentq

from ldp_lib import jrr
from ldp_lib.book import enumeration
from ldp_lib.book.claims import claim
from ldp_lib.book.enumeration import mixture, worst_ratio
from ldp_lib.jrr import calibration

p, s = sp.symbols("p s", positive=True)
q = 1 - p


def two_ratios(size, t, by, lean):
    """The largest ratio of the transcript: the others' values known, or uniform bits."""
    rests = list(itertools.product((0, 1), repeat=size - 1))
    laws = [[enumeration.half_law((own, *v), t, by, lean) for v in rests] for own in (0, 1)]
    known = max(worst_ratio(*pair) for pair in zip(*laws, strict=True))
    return known, worst_ratio(*map(mixture, laws))


def predicted(t, by, lean):
    q, v = 1 - t, by**2
    if lean == 1:
        return (t * q - v) / (q**2 - v), (t - 2 * v) / (q - 2 * v)
    return (t * q + v) / (q**2 - v), t / q


@pytest.mark.parametrize("lean", [1, -1])
@pytest.mark.parametrize(
    ("size", "t", "by"), [(2, "3/5", "1/5"), (4, "3/5", "1/5"), (6, "3/5", "1/5"), (4, "3/4", "1/8")]
)
def test_the_ratios_are_those_of_the_enumeration(size, t, by, lean):
    t, by = Fraction(t), Fraction(by)
    assert two_ratios(size, t, by, lean) == predicted(t, by, lean)
    if lean == 1:
        assert predicted(t, by, lean)[0] == jrr.signed_ratio(t, -(by**2) / (t * (1 - t)))


def test_of_an_odd_number_of_users_the_ratio_is_smaller():
    t, by = Fraction(3, 5), Fraction(1, 5)
    laws = []  # of three users, the others holding 0; a random one has no sign
    for own in (0, 1):
        signed = {two: enumeration.half_law(two, t, by) for two in ((own, 0), (0, 0))}
        alone = [[t, 1 - t] if held == 0 else [1 - t, t] for held in (own, 0, 0)]
        law = {}
        for y, left in itertools.product(itertools.product((0, 1), repeat=3), range(3)):
            pair = (own, 0) if left else (0, 0)
            law[y] = law.get(y, 0) + alone[left][y[left]] * signed[pair][y[:left] + y[left + 1 :]] / 3
        laws.append(law)
    assert [sum(law.values()) for law in laws] == [1, 1]
    assert worst_ratio(*laws) == Fraction(29, 18) < jrr.signed_ratio(t, -(by**2) / (t * (1 - t))) == Fraction(5, 3)


def test_the_mean_sign_is_extreme_where_all_others_speak_for_one_sign():
    x, u = sp.symbols("x u", positive=True)
    lean = (1 - x) / (1 + x)
    assert sp.cancel(lean.subs(x, (q + u) / (q - u)) + u / q) == 0
    assert sp.cancel(lean.subs(x, (1 + 2 * u) / (1 - 2 * u)) + 2 * u) == 0


def test_how_far_one_report_moves_the_mean_sign():
    """A report of a user who holds 0 or 1 moves the mean sign mu by s C over that report's probability."""
    mu, cov = sp.symbols("mu C", positive=True)
    second = mu**2 - cov  # E[sign sign_j]
    for one, zero in ((q, p), (p, q)):  # of a 1 and of a 0, if user j holds 0, or 1
        up = (zero * mu - s * second) / (zero - s * mu) - mu  # a report of 0
        down = (one * mu + s * second) / (one + s * mu) - mu
        assert sp.cancel(up - s * cov / (zero - s * mu)) == 0
        assert sp.cancel(down + s * cov / (one + s * mu)) == 0


def profile(size, t, part, epsilon, numbers):
    """Delta if all others are alike; by the number of ones among the others, over that; and the bound over it."""
    at = t, part * jrr.rho_range(t)[0], size
    alike = jrr.signed_delta(epsilon, *at)
    found = [jrr.signed_delta(epsilon, *at, ones=v) for v in numbers]
    return alike, *(v / alike for v in (*found, jrr.signed_delta_bound(epsilon, *at)))


def test_delta_is_that_of_the_enumeration_and_the_bound_is_above_it():
    off, above = [], []
    steps = Fraction(2, 5), Fraction(1, 5)  # s = q, and below
    for by, e, ones in itertools.product(steps, (Fraction(5, 4), Fraction(8, 5), Fraction(2)), range(4)):
        others, at = (1,) * ones + (0,) * (3 - ones), (math.log(e), 0.6, -float(by**2) / 0.24, 4)
        laws = [enumeration.half_law((own, *others), Fraction(3, 5), by) for own in (0, 1)]
        exact = enumeration.least_delta(*laws, e)
        off.append(abs(jrr.signed_delta(*at, ones=ones) - exact))
        above.append(jrr.signed_delta_bound(*at) >= exact)
    small = profile(30, 0.6, 0.4, 0.5259, (15, 25, 28, 29))  # one dissenter of 30 can raise delta
    large = profile(10_000, 0.5225, 0.95, 0.1, (9_000, 9_990, 9_998, 9_999))
    claim("own/jrr-signed-delta").holds(max(off) < 1e-14, all(above), max(large[1:4]) < 1 < small[3] < small[-1])
    assert round(large[-1]) == 13  # the bound costs little, because delta falls fast


def test_a_sign_that_moves_the_report_hides_behind_the_reports():
    at = 0.5225, 0.95 * jrr.rho_range(0.5225)[0], 10_000
    reports, truths = jrr.signed_delta(0.1, *at), jrr.transcript_delta(0.1, *at)
    whatever = []  # of four users: the delta of signed truths is the same for all values of the others
    for others in itertools.product((0, 1), repeat=3):
        laws = [enumeration.half_law((own, *others), Fraction(3, 5), Fraction(2, 5), -1) for own in (0, 1)]
        whatever.append(float(enumeration.least_delta(*laws, Fraction(8, 5))))
    claim("own/jrr-signed-gain").holds(
        abs(reports - 9.61e-9) < 1e-10,
        abs(truths - 7.7e-3) < 1e-4,
        np.allclose(whatever, jrr.transcript_delta(math.log(1.6), 0.6, -2 / 3, 4), rtol=1e-12, atol=0),
    )


def test_signed_reports_never_have_more_variance_than_signed_truths():
    """The ledger's "never above", for every share: the difference is a product of terms that are not negative."""
    n, ones = sp.symbols("n n_1", positive=True)
    reports, truths = (jrr.signed_variance(ones, n, p, q, s, by) for by in (s, -s))
    more = 4 * s**2 * ones * (n - ones) / ((n - 1) * (p - q) ** 2)
    assert sp.cancel(truths - reports - more) == 0
    assert sp.cancel(truths - jrr.variance(ones, n, p, -(s**2) / (p * q))) == 0  # signed truths are JRR


USERS, EPSILON, DELTA = 10_000, 0.1, 1e-8
E = math.exp(EPSILON)


def group_delta(t, share, g=4):
    """Delta of the transcript in groups of g truths, at a part of the least correlation."""
    low, over = int(g * t), g * t % 1
    law = (1 - share) * stats.binom.pmf(np.arange(g + 1), g, t)
    law[[low, low + 1]] += share * np.array([1 - over, over])
    total = np.fft.irfft(np.fft.rfft(law, USERS + 2) ** (USERS // g), USERS + 2)[:-1]
    told = np.arange(USERS + 1) / USERS
    laws = (total * told)[1:], (total * (1 - told))[:-1]
    return sum(np.maximum(0, a - E * b).sum() for a, b in (laws, laws[::-1]))


def group_error(share):
    t = calibration.largest_p(lambda t, r: group_delta(t, share), EPSILON, DELTA, share)
    gain = share * 3 * jrr.least_correlation(t, 4)
    return math.sqrt(USERS * t * (1 - t) * (1 + gain)) / (2 * t - 1)


def truth_error(share):
    t = calibration.largest_p(lambda t, r: jrr.transcript_delta(EPSILON, t, r, USERS), EPSILON, DELTA, share)
    return math.sqrt(jrr.variance(USERS, USERS, t, -share * (1 - t) / t))


def where_likely(n, t):
    """Where a binomial count is, to nine standard errors, and the probabilities there."""
    off = 9 * math.sqrt(n * t * (1 - t)) + 30
    values = np.arange(max(0, math.floor(n * t - off)), min(n, math.ceil(n * t + off)) + 1)
    return stats.binom.pmf(values, n, t)


def shuffled_excess(t, ones):
    """The logarithm of the delta of shuffled RR over the goal; `ones` of the others hold 1."""
    rest = np.convolve(where_likely(ones, t), where_likely(USERS - 1 - ones, 1 - t))
    less, more = np.append(rest, 0), np.append(0, rest)
    laws = t * less + (1 - t) * more, (1 - t) * less + t * more
    return math.log(max(np.maximum(0, a - E * b).sum() for a, b in (laws, laws[::-1])) / DELTA)


def test_shuffled_all_others_but_one_alike_are_the_worst_case():
    top = brentq(shuffled_excess, 0.6, 0.95, args=(1,))
    excess = [shuffled_excess(top, ones) for ones in range(USERS // 2)]
    assert np.argmax(excess) == 1
    assert max(excess) < 1e-9
    assert shuffled_excess(brentq(shuffled_excess, 0.6, 0.95, args=(0,)), 1) > 1e-4  # all alike are not
    assert shuffled_excess(top, USERS - 2) == pytest.approx(excess[1], abs=1e-6)


def test_what_each_trust_model_reaches_at_one_goal():
    """Standard errors of the count at (0.1, 1e-8) for the transcript of 10,000 users, others' values known."""
    plain = math.sqrt(USERS * calibration.plain_variance(EPSILON, DELTA))
    t, r = jrr.signed_parameters(epsilon=EPSILON, delta=DELTA, n=USERS)
    top = brentq(shuffled_excess, 0.6, 0.95, args=(1,))
    assert round(plain) == 1000
    assert min(map(truth_error, (0.01, 0.1))) > plain  # JRR, all alike: no gain
    assert min(map(group_error, (0.01, 0.1))) > plain
    assert round(math.sqrt(USERS * t * (1 - t) * (1 + r)) / (2 * t - 1)) == 347
    assert round(math.sqrt(USERS * top * (1 - top)) / (2 * top - 1)) == 47
    assert round(math.sqrt(2 / E) / (1 - 1 / E)) == 14  # a masked sum


def test_who_learns_the_masks_knows_every_answer_and_who_learns_the_signs_hardly_guesses_one():
    """Chapter helpers, the advice: the best guess of an answer, both equally likely, if the secrets come out."""
    t, r = jrr.signed_parameters(epsilon=EPSILON, delta=DELTA, n=USERS)
    moves = [sign * math.sqrt(-r * t * (1 - t)) for sign in (1, -1)]
    of_signs = [(max(t + move, 1 - t + move) + max(1 - t - move, t - move)) / 2 for move in moves]
    own = stats.nbinom.pmf(np.arange(1_000), 1 / USERS, 1 - 1 / E)  # noise is the difference of two of these
    noise = np.convolve(own, own[::-1])
    of_masks = np.maximum(np.append(noise, 0), np.append(0, noise)).sum() / 2
    assert np.mean(of_signs) == pytest.approx(t)
    assert round(t, 2) == 0.52
    minus = t + moves[1], 1 - t + moves[1]  # 1 under a minus, of a holder and of others
    assert round(100 * sum(minus) / 2) == 2
    assert minus[0] / sum(minus) > 0.99
    assert of_masks > 0.999
    t, r = jrr.signed_parameters(epsilon=1.0, delta=DELTA, n=USERS)
    move = math.sqrt(-r * t * (1 - t))
    assert round(t, 2) == 0.73
    assert round(100 * (1 - 2 * move) / 2) == 23
    assert (t - move) / (1 - 2 * move) > 0.99


def test_signs_have_more_error_than_randomized_response_where_few_answer():
    """Chapter helpers, the advice: two reports have the covariance -s^2 / (n-1), whoever else answers."""
    for n, least in ((USERS, 0.38), (1_000, 0.78)):
        t, r = jrr.signed_parameters(epsilon=EPSILON, delta=DELTA, n=n)
        came = np.linspace(0, 1, 1_001)
        part = t * (1 - t) * (1 + r * (came * n - 1) / (n - 1)) / (2 * t - 1) ** 2
        assert round(came[part > calibration.plain_variance(EPSILON, DELTA)].max(), 2) == least
    (t, r), (u, own) = (jrr.signed_parameters(epsilon=EPSILON, delta=DELTA, n=n) for n in (USERS, 1_000))
    dealt_with_all = t * (1 - t) * (1 + r * 999 / (USERS - 1)) / (2 * t - 1) ** 2  # a group of 1,000, each person
    by_itself = u * (1 - u) * (1 + own) / (2 * u - 1) ** 2
    assert dealt_with_all / by_itself > 4.7


def test_masks_keep_epsilon_only_with_the_noise_of_all_and_count_a_subgroup_that_has_its_own():
    """Chapter helpers, its last table: of the shares that add up to discrete Laplace noise a part is never sent."""
    for came, realised in ((1.0, 0.10), (0.9, 0.15), (0.8, 0.21), (0.5, 0.61)):
        one_side = stats.nbinom.pmf(np.arange(600), came, 1 - 1 / E)
        noise = np.convolve(one_side, one_side[::-1])[599:850]
        assert round(float(np.max(np.log(noise[:-1] / noise[1:]))), 2) == realised
    signs = jrr.signed_parameters(epsilon=EPSILON, delta=DELTA, n=USERS)
    for colluders, missing in ((USERS // 10, 0.008), (USERS // 2, 0.094)):  # if nobody planned for them
        one_side = stats.nbinom.pmf(np.arange(600), 1 - colluders / USERS, 1 - 1 / E)
        noise = np.convolve(one_side, one_side[::-1])
        of_masks = np.maximum(0, noise - E * np.append(noise[1:], 0)).sum()
        of_signs = jrr.signed_delta_bound(EPSILON, *signs, USERS, colluders)
        assert round(of_masks, 3) == missing
        assert of_signs < 3e-6 < of_masks / 1_000
    assert stats.nbinom.pmf(0, 1 / USERS, 1 - 1 / E) ** 2 > 0.999  # if all others tell theirs (chapter transcript)
    assert math.sqrt(2 / E) / (1 - 1 / E) < 0.05 * math.sqrt(1_000 * E) / (E - 1)  # 14 and 316, of 1,000 people

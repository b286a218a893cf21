"""Plurality: the variance derived for any number of users, its privacy, and what the safeguard needs.

One user sends one report, so the user's two parts, A of the vote and B of the agreement, have the product 0. The
logarithm of the moment generating function of (A, B) has the joint cumulants as coefficients; cumulants of independent
users are sums; and the exponential of the sum has the moments of (X, Y), X and Y the sums of the parts, back again.
"""

import itertools
import math
from fractions import Fraction
from functools import partial

import numpy as np
import sympy as sp

from ldp_lib import channel, check
from ldp_lib.book.claims import claim
from ldp_lib.book.sweeps import mse
from ldp_lib.grr import GRR
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.sampled import OneQuestion
from ldp_lib.shrinkage import plurality, together
from ldp_lib.shrinkage.plurality import Plurality
from ldp_lib.survey.errors import total_error

s, t = sp.symbols("s t")
a, b, a2, b2 = sp.symbols("a b a2 b2")
ORDERS = [(i, j) for i, j in itertools.product(range(3), repeat=2) if i + j]


def coefficient(series, i, j):
    """Return the coefficient of s^i t^j, times i! j!."""
    return math.factorial(i) * math.factorial(j) * sp.expand(series).coeff(s, i).coeff(t, j)


def cumulants():
    """Return one user's joint cumulants up to (2, 2), from a, b, a2, b2: first and second moments of the two parts."""
    x = a * s + b * t + a2 * s**2 / 2 + b2 * t**2 / 2  # no mixed terms, since A B = 0
    log = sum(sp.Rational((-1) ** (m + 1), m) * sp.expand(x**m) for m in range(1, 5))
    return {order: sp.expand(coefficient(log, *order)) for order in ORDERS}


def moments(kappa):
    """Return E[XY] and Var XY from the cumulants of (X, Y)."""
    x = sum(kappa[i, j] * s**i * t**j / (math.factorial(i) * math.factorial(j)) for i, j in ORDERS)
    exp = sum(sp.expand(x**m) / math.factorial(m) for m in range(1, 5))
    first = coefficient(exp, 1, 1)
    return first, sp.expand(coefficient(exp, 2, 2) - first**2)


def derived(mechanism, population):
    """Return the mean and variance of the first attribute's first share, from the derivation."""
    one = sp.lambdify((a, b, a2, b2), [cumulants()[order] for order in ORDERS])
    counts, m10, m01, m20, m02 = mechanism._moments(population)
    totals = counts @ np.array([one(*each) for each in zip(m10[:, 0], m01[:, 0], m20[:, 0], m02[:, 0], strict=True)])
    kappa = {order: sp.Symbol(f"k{order[0]}{order[1]}") for order in ORDERS}
    pair = sp.lambdify(list(kappa.values()), moments(kappa))(*totals)
    return 1 / mechanism.k[0] + pair[0], pair[1]


def enumerated(k, x):
    """Return the largest distance of stated mean and variance from all outcomes of three users or fewer."""
    d, half = len(x[0]), [Fraction(1, 2)] * 2 + [Fraction(0)]
    mechanism = Plurality(k=(k,) * d, epsilon=math.log(3), shares=half)
    matrix = plurality.channel(Fraction(3), k, d, half)[:, : k + 2 * d]
    records = list(itertools.product(range(k), repeat=d))
    rows = [records.index(record) for record in x]
    mean, cov = channel.exact_moments(
        matrix.astype(float), rows, lambda y: np.concatenate(mechanism.estimate(np.array(y)))
    )
    people = Population.from_records(np.array(x), k=mechanism.k)
    stated = mechanism.mean(people), mechanism.variance(people)
    return max(abs(np.concatenate(one) - two).max() for one, two in zip(stated, (mean, np.diag(cov)), strict=True))


def as_stated(k, x):
    """Return the mean of each attribute's estimate by the words of the claim, from every user's own record."""
    x = np.array(x)
    law = plurality._law(x, k)
    agrees = (k * np.take_along_axis(law, x, axis=1) - 1) / (k - 1)  # beyond chance, of user i in attribute j
    own = agrees[:, :, None] * (law - 1 / k)[:, None, :]
    return 1 / k + np.outer(agrees.mean(axis=0), law.mean(axis=0) - 1 / k) - own.mean(axis=0) / len(x)


def test_mean_and_variance_follow_from_cumulants_for_any_number_of_users():
    kappa = cumulants()
    one_user = moments(kappa)
    large = Population.from_counts(np.random.default_rng(1).integers(0, 500, size=(3, 3, 3)))
    shares = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)]
    found = []
    for mechanism in (Plurality(k=(3,) * 3, epsilon=e, shares=(v, 1 - v, 0)) for e in (0.5, 2.0) for v in (0.3, 0.8)):
        stated = mechanism.mean(large)[0][0], mechanism.variance(large)[0][0]
        found += [math.isclose(*pair, rel_tol=1e-9) for pair in zip(stated, derived(mechanism, large), strict=True)]
    crowd = np.random.default_rng(2).integers(3, size=(50, 3))
    people = [Population.from_records(x, k=(3,) * 3) for x in (crowd, crowd[:2])]
    three = Plurality(k=(3,) * 3, epsilon=0.5, shares=(0.3, 0.7, 0))
    small = [(2, [(0, 0), (0, 1)]), (3, [(0, 0), (1, 2), (1, 1)]), (2, [(0, 1, 1), (0, 0, 0)])]
    claim("own/plurality-exact").holds(
        sp.expand(kappa[1, 1] + a * b) == 0,  # so the sum over users lacks the users' own products
        one_user == (0, 0),  # one user's parts never meet
        all(found),
        all(enumerated(*survey) < 1e-12 for survey in small),
        all(np.allclose(three.mean(some), as_stated(3, some.users())) for some in people),
        all(channel.privacy_ratio(plurality.channel(e, 3, 2, shares)) == e for e in (Fraction(3), Fraction(8))),
    )


def test_the_safeguard_holds_for_normal_noise_and_not_for_every_survey():
    rng = np.random.default_rng(2)
    g, c, v = sp.symbols("g_1:5"), *sp.symbols("c v", positive=True)
    size, directions = sum(x**2 for x in g), len(g)
    h = [-c * x / size for x in g]
    slopes = sum(sp.diff(part, x) for part, x in zip(h, g, strict=True))
    risk = directions * v + sum(part**2 for part in h) + 2 * v * slopes
    change = sp.factor(sp.cancel((risk - directions * v) * size))  # never above 0 for c up to 2 v (D - 2)
    # Normal noise of known variance, a centre that is near, off and far: shrinking gains at each distance; the foil,
    # noise that is taken to be nine times as large, loses at the far one.
    k, d, noise, runs = 4, 3, 1.0, 40_000
    step = rng.normal(size=(d, runs, k)) * math.sqrt(noise / (k - 1))
    step -= step.mean(axis=2, keepdims=True)

    def gain(distance, taken):
        centre = [np.array([1 / k + distance, 1 / k - distance, 1 / k, 1 / k])] * d
        moved = together([1 / k + one for one in step], [taken] * d, centre).estimates
        saved = (step**2).sum(axis=(0, 2)) - sum(((one - 1 / k) ** 2).sum(axis=1) for one in moved)
        return saved.mean() / (saved.std() / math.sqrt(runs))

    gains, foil = [gain(distance, noise) for distance in (0.0, 0.5, 1.5)], gain(1.5, 9 * noise)
    # Reports at ε = 5, all users with the record (0, 1): who is asked is most of the error, and more than doubles.
    asked = Plurality(k=(3, 3), epsilon=5.0, shares=(0.4, 0.1, 0.5))
    rival = OneQuestion(k=(3, 3), epsilon=5.0, oracle=GRR, groups=False)
    people = Population.from_records(np.array([[0, 1]] * 200), k=(3, 3))
    truth = marginal_frequencies(people)
    with_votes = mse(asked.simulate(people, rng=rng, runs=4_000), truth)
    alone = mse(rival.simulate(people, rng=rng, runs=4_000), truth)
    over = with_votes - 2 * alone  # the bound with half of the users asked
    normal = sp.expand(change - c * (c - 2 * v * (directions - 2))) == 0 and min(gains) > 5 > -5 > foil
    reports = over.mean() > 5 * over.std() / math.sqrt(len(over))
    planned = OneQuestion(k=(3, 3), epsilon=5.0, oracle=GRR)  # groups have no such part: all answers are alike
    exact, dealt = (sum(x.sum() for x in way.variance(people)) / 6 for way in (rival, planned))
    own, other = rival.oracle_[0].probabilities
    each = 2 / 3 / (own - other) ** 2  # of one answer about its 1/k, squared; a share w asked has each / w - 2/3
    check.close(alone, mean=exact, foil=1.2 * exact)
    assert math.isclose(exact, (2 * each - 2 / 3) / 600)
    assert round((4 * each - 2 / 3) / 600 / exact, 1) == 2.9  # half asked, before any shrinking
    assert round(with_votes.mean() / alone.mean()) == 3  # the correction: about three times, not twice
    assert round((4 * each - 2 / 3) / 600 / dealt, 1) == 38.5  # in groups, which have no sampling error here
    check.close(with_votes, mean=39.06 * dealt, foil=36 * dealt)  # the same with the shrinking, 300,000 surveys
    agreeing = Population.from_records(np.zeros((200, 2), dtype=int), k=(3, 3))  # the model is right: a better centre
    centred = mse(asked.simulate(agreeing, rng=rng, runs=20_000), marginal_frequencies(agreeing))
    check.close(centred, mean=34.93 * dealt, foil=38.5 * dealt)  # 300,000 surveys
    larger = [made(k=(3, 3), epsilon=9.0) for made in (Plurality, partial(OneQuestion, oracle=GRR))]
    assert np.divide(*(total_error(made, people, rng=rng) for made in larger)) > 1_000  # no factor bounds it
    claim("own/plurality-gate").conditional(bool(normal), bool(reports))

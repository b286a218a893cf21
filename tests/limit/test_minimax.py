"""The bound for every estimator: its prior, its inequality at random mechanisms, Bayes risks, and known estimators."""

import itertools
import math
import re
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from scipy.special import comb

from ldp_lib import limit
from ldp_lib.limit.minimax import _radius, extra


@pytest.mark.parametrize(("free", "b"), list(itertools.product((1, 2, 3), (2, 3, 5))))
def test_the_priors_moments_are_the_integrals(free, b):
    z = sp.symbols("z", positive=True)
    weight = z ** (free - 1)
    mass = sp.integrate((1 - z**2) ** b * weight, (z, 0, 1))
    score = sp.diff((1 - z**2) ** b, z) ** 2 / (1 - z**2) ** b
    information = sp.integrate(sp.simplify(score) * weight, (z, 0, 1)) / mass  # of a ball of radius 1
    square = sp.integrate(z**2 * (1 - z**2) ** b * weight, (z, 0, 1)) / mass
    assert sp.nsimplify(information) == sp.Rational(b * free * (free + 2 * b), b - 1)
    assert square == sp.Rational(free, free + 2 * b + 2)
    s, n = 0.25, 10**6
    assert math.isclose(extra(s, b, free, n, False), float(information) / (s * n) + float(square) / free * s / (1 - s))
    assert math.isclose(extra(s, b, free, n, True), float(information) / (s * n) + float(square) * s / 0.5)


def bayes_risk(ratio, n, reach, a):
    """Exact least Bayes risk of both shares of one binary attribute by randomized response, f = (1 + x) / 2.

    x has a density proportional to (1 - (x / reach)^2)^a. Gauss's rule is exact for these polynomials.
    """
    node, weight = np.polynomial.legendre.leggauss(n + a + 5)
    x, prior = reach * node, weight * (1 - node**2) ** a
    prior /= prior.sum()
    yes = (1 + (ratio - 1) / (ratio + 1) * x) / 2
    count = np.arange(n + 1)[:, None]
    joint = comb(n, count) * yes**count * (1 - yes) ** (n - count) * prior
    posterior = (joint @ x) / joint.sum(axis=1)
    return (joint * (posterior[:, None] - x) ** 2).sum() / 2


@pytest.mark.parametrize("ratio", [1.5, math.e, 9.0])
@pytest.mark.parametrize("n", [1, 2, 10, 60])
@pytest.mark.parametrize(("reach", "a"), [(1.0, 2), (0.6, 3), (0.9, 6)])
def test_the_bound_is_below_the_bayes_risk_of_its_own_prior(ratio, n, reach, a):
    """Randomized response is the best mechanism for one bit, so this is close, and a bound half as tight would show."""
    delta = (ratio - 1) / (ratio + 1)
    limited, risk = 1 / (2 * delta**2 * n), bayes_risk(ratio, n, reach, a)
    for interactive in (True, False):
        assert limited / (1 + extra((reach * delta) ** 2, a, 1, n, interactive)) <= risk
    assert risk < limited  # without the prior's information it would be no bound
    assert limited / (1 + extra((reach * delta) ** 2, a, 1, n, False)) > risk / 2.5


@pytest.mark.parametrize("k", [(2, 2), (2, 3)])
def test_the_information_of_random_mechanisms_is_within_the_bound_at_random_distributions(k):
    """Every mechanism at every distribution of the ball: the inequality that covers interaction."""
    rng, t = np.random.default_rng(1), math.e - 1
    found, size = limit.least_error(k, 1.0).certificate, math.prod(k)
    values, zeta = np.indices(k).reshape(len(k), -1), [float(r) ** 2 / q for r, q in zip(found.roots, k, strict=True)]
    rows = [
        math.sqrt(zeta[j] * k[j]) * ((values[j] == v) - 1 / k[j]) / size for j in range(len(k)) for v in range(k[j])
    ]
    directions, ceiling, largest = np.array(rows), float(found.ceiling), 0.0
    reach = math.sqrt(_radius(k, found.roots, found.ceiling) / ceiling)
    for _ in range(300):
        columns = 1 + t * (rng.random((3 * size, size)) < rng.random((3 * size, 1)))
        often = rng.random(3 * size) / columns.sum(axis=0).max() / 3
        rest = np.linalg.solve((1 + t * np.eye(size)).T, 1 - often @ columns)
        if rest.min() < 0:
            continue
        every = np.vstack([columns * often[:, None], (1 + t * np.eye(size)) * rest[:, None]])
        parts = [rng.normal(size=q) for q in k]
        parts = [part - part.mean() for part in parts]
        eta = reach * rng.random() ** 0.3 / math.sqrt(sum((p**2).sum() for p in parts))
        shift = sum(
            math.sqrt(z * q) * eta * p[v] for z, q, p, v in zip(zeta, k, parts, values, strict=True)
        )  # sum_j u_j(x_j)
        law, length = (1 + shift) / size, eta * math.sqrt(sum((p**2).sum() for p in parts))
        assert law.min() >= 0
        information = ((every @ directions.T) ** 2).sum(axis=1) @ (1 / (every @ law))
        before, moved = every.mean(axis=1), every @ law
        assert information <= ceiling * (before**2 / moved).sum() * (1 + 1e-12)
        assert information <= ceiling * (1 + ceiling * length**2 / (1 - math.sqrt(ceiling) * length))
        largest = max(largest, information / ceiling)
    assert largest > 0.3  # the mechanisms tried are not all useless


def shrunk(delta, d, n):
    """Worst mean squared error of one question about d binary attributes, shrunk towards 1/2 in the best way."""
    c = np.linspace(0, 1, 2001)
    ends = [c**2 * (d / delta**2 - x) / n + (1 - c) ** 2 * x for x in (0, 1)]  # linear in x = (1 - 2f)^2
    return d / 2 * np.max(ends, axis=0).min()


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_no_known_estimator_is_below(d, epsilon):
    for n in (1, 3, 10, 100, 1000, 10**5):
        bound = limit.minimax_error((2,) * d, epsilon, n, interactive=False)
        assert bound <= d / 2  # "one half" whatever was reported
        assert bound <= shrunk(math.tanh(epsilon / 2), d, n)
        assert limit.minimax_error((2,) * d, epsilon, n) <= bound <= limit.least_error((2,) * d, epsilon).error / n


def test_what_is_known_without_privacy_is_the_risk_of_steinhaus_estimator():
    """Its risk is the same at every distribution, and it is Bayes for Dirichlet's prior: so it is minimax."""
    f, n = sp.symbols("f"), 4
    risk = sum(
        sp.binomial(n, c) * f**c * (1 - f) ** (n - c) * 2 * ((c + sp.Integer(1)) / (n + 2) - f) ** 2
        for c in range(n + 1)
    )
    assert sp.expand(risk) == sp.Rational(1, 2) / (sp.sqrt(n) + 1) ** 2
    assert math.isclose(limit.minimax_error(2, 20.0, n), 0.5 / 9)


@pytest.mark.parametrize("k", [(2, 2), (2, 3, 4), (3,) * 4])
def test_it_falls_with_n_and_n_times_it_rises_to_the_limit(k):
    users, bounds = [1, 2, 10, 10**2, 10**4, 10**6, 10**9], []
    for interactive in (True, False):
        found = np.array([limit.minimax_error(k, 1.0, n, interactive=interactive) for n in users])
        times = found * users / limit.least_error(k, 1.0).error
        assert (np.diff(found) < 0).all()
        assert (np.diff(times) > 0).all()
        assert 0.99 < times[-1] < 1
        bounds.append(found)
    more = bounds[1] / bounds[0]  # without interaction over with it; equal where the bound without privacy is larger
    assert (more[:3] == 1).all()
    assert (more[4:] > 1).all()


def test_two_binary_attributes_and_a_million_users():
    """A first version had .963 without interaction and .874 with it."""
    least = limit.least_error((2, 2), 1.0).error
    assert 0.997 < limit.minimax_error((2, 2), 1.0, 10**6, interactive=False) * 10**6 / least < 0.998
    assert 0.995 < limit.minimax_error((2, 2), 1.0, 10**6) * 10**6 / least < 0.996


@pytest.mark.parametrize("k", [(2,), (2, 3), (2,) * 7, (4,) * 5, (2, 3, 40)])
@pytest.mark.parametrize("epsilon", [1.0, 4.0, 9.0, 20.0])
def test_it_tends_to_the_larger_of_the_limit_and_what_drawing_users_costs(k, epsilon):
    most = max(limit.least_error(k, epsilon).error, sum(1 - 1 / size for size in k))
    found = [n * limit.minimax_error(k, epsilon, n) for n in (1, 10**3, 10**6, 2**53)]
    assert found == sorted(found)
    assert most * (1 - 1e-3) < found[-1] <= most * (1 + 1e-12)


def test_the_limit_may_be_below_what_drawing_users_costs():
    errors = [limit.least_error((4, 50), epsilon).error for epsilon in (7.5, 8.0, 9.0)]
    assert errors[0] > 3 / 4 + 49 / 50 > errors[1] > errors[2]
    assert limit.least_error((2,) * 20, 14.0).error > 20 / 2 > limit.least_error((2,) * 20, 17.0).error
    said = " ".join(limit.least_error.__doc__.split())
    for k, words, place in (((4, 50), "4 and 50 values", 7.87), ((2,) * 20, "twenty binary attributes", 14.25)):
        assert re.search(rf"{words} from (epsilon = )?{place} on", said)
        before, after = (limit.least_error(k, place - less).error for less in (0.015, 0))
        assert before > sum(1 - 1 / size for size in k) > after


def test_the_best_fixed_shrinkage_saves_most_where_it_shrinks_to_and_that_is_what_it_saves_of_the_worst_error():
    """Two yes-or-no questions at 1, half of 100 people each; `far` is the squared distance from one half, 1 at most."""
    text = (Path(__file__).parents[2] / "notebooks/limit_minimax.ipynb").read_text(encoding="utf-8")
    assert "saves 23 % of it, nowhere more" in text
    far, factor = np.linspace(0, 1, 101), np.linspace(0, 1, 4001)[:, None]
    raw = (2 / math.tanh(0.5) ** 2 - 2 * far) / 100
    error = factor**2 * raw + (1 - factor) ** 2 * far
    best = error.max(axis=1).argmin()
    saved = 1 - error / raw
    assert round(1 - error[best].max() / raw.max(), 2) == round(saved[best].max(), 2) == 0.23
    assert saved[best].argmax() == 0
    half = 2_000  # the factor 1/2 saves more there, and has a larger worst error
    assert saved[half, 0] > 0.7
    assert error[half].max() > raw.max()


def test_bad_input():
    for n in (2.0, True, "3"):
        with pytest.raises(TypeError, match=r"n must be an integer from 1 to 2\*\*53"):
            limit.minimax_error((2, 2), 1.0, n)
    for n in (0, 2**53 + 1, 10**400):
        with pytest.raises(ValueError, match=r"n must be an integer from 1 to 2\*\*53; got "):
            limit.minimax_error((2, 2), 1.0, n)
    with pytest.raises(TypeError, match="interactive must be True or False"):
        limit.minimax_error((2, 2), 1.0, 5, interactive="no")
    with pytest.raises(ValueError, match="epsilon must be"):
        limit.minimax_error((2, 2), 0.0, 5)

"""Hours of trying to get a wrong statistic in silence: sums of labels, boxes, likelihoods, nobody's answers, limits."""

import itertools
import math

import numpy as np
import pytest
from scipy.stats import chi2, chi2_contingency

from ldp_lib import (
    OLH,
    AskSome,
    OneQuestion,
    ProductRR,
    RRClusters,
    RRIndependent,
    RRJoint,
    Survey,
    recommend,
    simple_error,
    simple_pair_error,
)
from ldp_lib.population import Population
from ldp_lib.survey._estimates import value_covariance
from ldp_lib.survey._intervals import joined
from ldp_lib.tables import likelihood, queries
from ldp_lib.tables._independence import p_value


def uneven(k, rng):
    matrix = rng.dirichlet(np.full(k, 2), k) + rng.uniform(0.2, 1.5) * np.eye(k)
    return (matrix / matrix.sum(axis=1, keepdims=True)).tolist()


def whole_records(k):
    """Mechanisms whose reports are records; the last two have a matrix, one over two questions in turned order."""
    rng = np.random.default_rng(1)
    yield RRJoint(k=k, epsilon=1.1)
    yield RRIndependent(k=k, epsilon=2.0)
    yield RRClusters(k=k, epsilon=1.5, clusters=[(1, 0)])
    yield ProductRR(k=k, channels=[uneven(size, rng) for size in k])
    yield ProductRR(k=k, clusters=[(1, 0)], channels=[uneven(math.prod(k), rng)])


def name(one):
    return type(one).__name__


@pytest.mark.parametrize("mechanism", [*whole_records((3, 2))], ids=name)
def test_answers_about_sets_have_their_share_and_its_variance_on_average_by_enumeration(mechanism):
    reports, channel, held = np.array([*np.ndindex(3, 2)]), mechanism.channel(), [3, 4]  # (1, 1) and (2, 0)
    some = np.array([[True, False], [False, True], [True, True]])
    asked = {
        "boxes": (lambda y: queries.ask(mechanism, y, [{0: [0, 2], 1: [1]}, {0: [1, 2], 1: [0]}]), 0.5),
        "cells": (lambda y: queries.ask_cells(mechanism, y, (0, 1), some), 1.0),
        "turned": (lambda y: queries.ask_cells(mechanism, y, (1, 0), some.T), 1.0),
    }
    pairs = [*itertools.product(range(6), repeat=2)]
    chance = np.array([channel[held[0], a] * channel[held[1], b] for a, b in pairs])
    for way, (ask, share) in asked.items():
        found = [ask(reports[[*pair]]) for pair in pairs]
        each, told = np.array([(one.estimate, one.variance) for one in found]).T
        assert chance @ each == pytest.approx(share), way
        assert chance @ told == pytest.approx(chance @ (each - share) ** 2), way


def one_by_one(k):
    yield OneQuestion(k=k, epsilon=2.0, groups=False, weights=(2, 1))
    yield AskSome(k=k, epsilon=2.0, m=1, sizes=(1, k[1] - 1), weights=(3, 2), groups=False)
    yield AskSome(k=k, epsilon=2.0, m=2, sizes=(k[0] - 1, 1))
    yield from (one for one in whole_records(k) if not one.tied)  # which a survey refuses


@pytest.mark.parametrize("mechanism", [*one_by_one((3, 2)), *one_by_one((2, 4))], ids=name)
def test_shares_of_one_question_vary_together_as_told_by_enumeration(mechanism):
    law, reports = np.random.default_rng(2).dirichlet(np.full(math.prod(mechanism.k), 0.5)), mechanism.reports()
    shares = [law.reshape(mechanism.k).sum(axis=axis) for axis in (1, 0)]
    each = np.array([joined(mechanism.estimate(reports[i : i + 1])) for i in range(len(reports))])
    chance = law @ mechanism.channel()
    assert chance @ each == pytest.approx(joined(shares))
    every = (each.T * chance) @ each - np.outer(joined(shares), joined(shares))
    cut = mechanism.k[0]
    for j, own in enumerate((every[:cut, :cut], every[cut:, cut:])):
        told = value_covariance(mechanism, shares, j, 1, sampling=True)
        assert told == pytest.approx(own, abs=1e-9 * np.abs(own).max())


@pytest.mark.parametrize("n", [3, 1_000])
def test_no_table_is_likelier_than_the_fitted_one_by_more_than_its_gap(n):
    rng = np.random.default_rng(n)
    for shape in ((3, 2), (2, 2, 2), (4,)):
        channels = [np.array(uneven(size, rng)) for size in shape]
        channels[0] = 0.3
        flat = [0.3 * np.eye(shape[0]) + 0.7 / shape[0], *channels[1:]]
        whole = flat[0]
        for one in flat[1:]:
            whole = np.kron(whole, one)
        law = rng.dirichlet(np.full(len(whole), 0.3))
        counts = rng.multinomial(n, law @ whole).reshape(shape)
        quick, long = (likelihood.fit(counts, channels, gap=gap, max_steps=20_000) for gap in (None, 1e-3))
        assert quick.converged
        assert quick.gap <= (len(whole) - 1) / 200
        assert long.log_likelihood - quick.log_likelihood <= quick.gap + 1e-9 * n
        for table in (law, *rng.dirichlet(np.full(len(whole), 0.3), 20)):
            assert counts.ravel() @ np.log(table @ whole) <= quick.log_likelihood + quick.gap + 1e-9 * n


@pytest.mark.parametrize("epsilon", [2.0, 10.0])
@pytest.mark.parametrize("weight", [1.0, 3.0])
def test_even_weights_tell_what_no_weights_tell_whatever_shares_are_divided_by(epsilon, weight):
    survey, n = Survey({"a": ["no", "yes"], "b": ["no", "yes"]}, epsilon), 1_000
    people = survey.decode(np.tile(np.arange(n)[:, None] < 900, 2).astype(int)).assign(weight=weight)
    reports = survey.collect(people, rng=np.random.default_rng(3), weights="weight")
    plain = survey.estimate(reports)
    for population in (None, n * weight):
        found = survey.estimate(reports, weights="weight", population=population)
        assert found["estimate"].to_numpy() == pytest.approx(plain["estimate"].to_numpy())
        ratio = found["standard_error"] / plain["standard_error"]
        assert ratio.to_numpy() == pytest.approx(1, abs=5 / math.sqrt(n))  # one is of the spread seen, one exact


@pytest.mark.parametrize("epsilon", [36.0, 45.0, 300.0])
@pytest.mark.parametrize("family", [RRJoint, RRIndependent])
def test_an_answer_that_nobody_gives_leaves_the_test_of_independence_as_it_is(family, epsilon):
    """At budgets at which all tell the truth: chi-squared of the other answers, and a degree of freedom more."""
    mechanism, x = family(k=(2, 3), epsilon=epsilon), np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], [70, 50, 40, 60], 0)
    y = mechanism.perturb(x, rng=np.random.default_rng(4))
    chi_squared = chi2_contingency([[70, 50], [40, 60]], correction=False).statistic
    found = p_value(mechanism, mechanism.estimate_table(y, 0, 1), (0, 1), len(x))
    assert found == pytest.approx(chi2.sf(chi_squared, 2), rel=1e-3)


@pytest.mark.parametrize("k", [(5, 3), (2, 4, 2)])
@pytest.mark.parametrize("wants", ["frequencies", "tables", "records"])
def test_nothing_recommended_is_below_the_limit(k, wants):
    limit = simple_pair_error if wants == "tables" else simple_error
    for epsilon, n in ((0.1, 100), (9.5, 10**6)):
        ratio = n * recommend(k=k, epsilon=epsilon, n=n, wants=wants).error / limit(k=k, epsilon=epsilon)
        assert 1 - 1e-9 < ratio < 100


@pytest.mark.parametrize("mechanism", [OLH(k=2, epsilon=9.0), OLH(k=7, epsilon=5.0), OLH(k=40, epsilon=1.0)], ids=repr)
def test_hashes_favour_no_value_though_all_hold_one_or_two(mechanism):
    rng, off = np.random.default_rng(5), []
    for other in (0, mechanism.k - 1):
        x = np.where(np.arange(40_000) % 2, other, 0)
        people = Population.from_records(x[:, None], k=(mechanism.k,))
        spread = np.sqrt(joined(mechanism.variance(people)))
        off.extend((mechanism.estimate(mechanism.perturb(x, rng=rng)) - joined(mechanism.mean(people))) / spread)
    assert np.abs(off).max() < 5.5
    assert np.square(off).mean() < 1 + 5.5 * math.sqrt(2 / len(off))

"""Queries of boxes: the estimate is the table's sum, the variance is exact, intervals cover, large domains do."""

import itertools
import math

import numpy as np
import pytest

from ldp_lib import check, queries
from ldp_lib.clustering import RRClusters
from ldp_lib.population import Population
from ldp_lib.product import ProductRR, RRIndependent, RRJoint
from ldp_lib.splitting import SPL

MATRIX = 0.7 * np.eye(4) + 0.3 * np.array([[0.1, 0.2, 0.3, 0.4]] * 4)
MECHANISMS = [
    RRIndependent(k=(2, 3, 2), epsilon=3.0),
    RRJoint(k=(2, 3, 2), epsilon=2.0),
    RRClusters(k=(2, 3, 2), epsilon=3.0, clusters=((2, 0), (1,))),
    ProductRR(k=(2, 3, 2), clusters=((2, 0), (1,)), channels=(MATRIX, 1.0)),
]
QUERIES = [
    {0: [1]},
    {1: [0, 2], 2: 1},
    {0: [0], 1: [1], 2: [0]},
    [{0: [0], 1: [1]}, {0: [1], 2: [0]}, {1: [2], 0: [0]}],
]


def indicator(where, k):
    table = np.zeros(k)
    for box in [where] if isinstance(where, dict) else where:
        table[np.ix_(*(np.atleast_1d(box.get(j, np.arange(size))) for j, size in enumerate(k)))] += 1
    return table


@pytest.mark.parametrize("where", QUERIES)
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_against_the_table_and_by_enumeration(mechanism, where):
    """One record at a time: the mean is whether it is in, the variance is the stated one, its estimate is unbiased."""
    law, member = mechanism.channel(), indicator(where, mechanism.k)
    answers = [queries.ask(mechanism, report[None], where) for report in mechanism.reports()]
    scores = np.array([answer.estimate for answer in answers])
    tables = [(mechanism.estimate_table(report[None]) * member).sum() for report in mechanism.reports()]
    assert np.allclose(scores, tables, rtol=1e-9, atol=1e-9)
    for record, row in zip(np.ndindex(*mechanism.k), law, strict=True):
        population = Population.from_records(np.array([record]), k=mechanism.k)
        variance = queries.query_variance(mechanism, population, where)
        assert math.isclose(row @ scores, member[record], abs_tol=1e-9)
        assert math.isclose(row @ (scores - member[record]) ** 2, variance, rel_tol=1e-8, abs_tol=1e-9)
        assert math.isclose(row @ [answer.variance for answer in answers], variance, rel_tol=1e-8, abs_tol=1e-9)


@pytest.mark.parametrize(("share", "confidence"), list(itertools.product([0.02, 0.5], [0.8, 0.95])))
def test_intervals_cover(share, confidence):
    mechanism, rng, runs = RRIndependent(k=(3, 2), epsilon=2.0), np.random.default_rng(1), 1_500
    x = np.zeros((2_000, 2), int)
    x[: int(share * 2_000)] = 1
    truth = int(share * 2_000) / 2_000
    held = []
    for _ in range(runs):
        low, high = queries.ask(mechanism, mechanism.perturb(x, rng=rng), {0: [1], 1: [1]}).interval(confidence)
        held.append(float(low <= truth <= high))
    assert check.mean_z(np.array(held), confidence) < 5
    assert check.mean_z(np.array(held), confidence - 0.1) > 5


def test_sixty_binary_attributes():
    """A million cells of a million would not fit: 2**60 of them, and a conjunction of eight answers."""
    rng, n = np.random.default_rng(2), 20_000
    mechanism = RRIndependent(k=(2,) * 60, epsilon=180.0)
    x = rng.integers(2, size=(n, 60))
    x[:8_000, :8] = 1
    where, everything = {j: [1] for j in range(8)}, {j: [0, 1] for j in range(60)}
    y = mechanism.perturb(x, rng=rng)
    answer, population = queries.ask(mechanism, y, where), Population.from_records(x, k=mechanism.k)
    variance = queries.query_variance(mechanism, population, where)
    truth = x[:, :8].all(axis=1).mean()
    assert abs(answer.estimate - truth) < 5 * math.sqrt(variance)
    assert abs(answer.estimate - 1.1 * truth) > 5 * math.sqrt(variance)
    assert math.isclose(answer.variance, variance, rel_tol=0.2)
    assert math.isclose(queries.ask(mechanism, y, everything).estimate, 1, rel_tol=1e-9)


@pytest.mark.parametrize(
    ("where", "error", "says"),
    [
        ({3: [0]}, ValueError, "attributes from 0 to 2; got 3"),
        ({"age": [0]}, ValueError, "attributes from 0 to 2; got 'age'"),
        ({1: [3]}, ValueError, "values from 0 to 2 for attribute 1"),
        ({1: []}, TypeError, "at least one integer for attribute 1"),
        ({1: [0.5]}, TypeError, "at least one integer for attribute 1"),
        ({}, TypeError, "where must be a dict"),
        ([{0: [1]}, {1: [1]}], ValueError, "two overlap"),
    ],
)
def test_bad_input(where, error, says):
    with pytest.raises(error, match=says):
        queries.ask(MECHANISMS[0], np.zeros((2, 3), int), where)


def test_bad_mechanism_and_confidence():
    with pytest.raises(TypeError, match="mechanism must be one of clusters"):
        queries.ask(SPL(k=(2, 2), epsilon=1.0), np.zeros((2, 2), int), {0: [1]})
    answer = queries.ask(MECHANISMS[0], np.zeros((2, 3), int), {0: [1]})
    with pytest.raises(ValueError, match="confidence must be a number above 0 and below 1; got 95"):
        answer.interval(95)

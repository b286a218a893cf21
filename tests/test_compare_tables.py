"""Ways to collect and to estimate pair tables, side by side on the same reports."""

import itertools
import math

import numpy as np
import pytest

from ldp_lib.clustering import cramers_v
from ldp_lib.compare_tables import ESTIMATORS, collectors, pair_estimates, pair_table_errors, strength_errors
from ldp_lib.datasets import load_adult
from ldp_lib.population import Population
from ldp_lib.product import RRIndependent
from ldp_lib.sampled.pairs import ask_pairs, pair_variances


def test_rows_and_their_order_on_adult():
    """Asking pairs has far less error than splitting, and at a budget of 4 most of it is gone in the likelihood."""
    adult, rng = load_adult().select(4, 5, 6), np.random.default_rng(1)
    table = pair_table_errors(adult, 4.0, rng=rng, runs=6)
    assert list(table.index) == list(range(len(table)))
    assert table["error"].is_monotonic_increasing
    table = table.set_index(["mechanism", "estimator"])
    error = table["error"]
    assert set(table.index.get_level_values(0)) == {type(m).__name__ for m in collectors(adult.k, 4.0)}
    assert set(table.loc["AskSome"].index) == set(ESTIMATORS)
    assert list(table.loc["OneQuestion"].index) == ["product"]
    assert error["AskSome", "raw"] < error["RRIndependent", "raw"] / 5
    assert error["AskSome", "most likely"] < error["AskSome", "raw"]
    assert error["AskSome", "most likely"] < error["AskSome", "product"]
    asked = ask_pairs(adult.k, 4.0)
    exact = sum(v.sum() for v in pair_variances(asked, adult).values())
    off = abs(error["AskSome", "raw"] - exact)
    assert off < 5 * table["standard_error"]["AskSome", "raw"] + 0.1 * exact
    assert math.isclose(table["root"]["AskSome", "raw"], math.sqrt(error["AskSome", "raw"] / 3))


def test_estimates_are_probabilities_but_for_the_raw_one():
    mechanism, rng = RRIndependent(k=(3, 2, 2), epsilon=1.0), np.random.default_rng(2)
    y = mechanism.perturb(rng.integers(2, size=(500, 3)), rng=rng)
    for name, tables in pair_estimates(mechanism, y).items():
        assert sorted(tables) == [(0, 1), (0, 2), (1, 2)]
        for table in tables.values():
            assert abs(table.sum() - 1) < 1e-6
            assert name == "raw" or table.min() >= 0


def test_strengths_from_normal_noise_err_as_those_of_simulated_users():
    """Root mean square over the six pairs of four attributes, normal noise of exact covariance against real reports."""
    adult, rng = load_adult().select(4, 5, 6, 7), np.random.default_rng(4)
    mechanism, pairs, squares = ask_pairs(adult.k, 3.0), list(itertools.combinations(range(4), 2)), []
    for _ in range(12):
        y = mechanism.perturb(adult.users(), rng=rng)
        tables = pair_estimates(mechanism, y, estimators=["shrunk"])["shrunk"]
        found = [cramers_v(tables[p]) - cramers_v(adult.select(*p).joint) for p in pairs]
        squares.append(np.mean(np.square(found)))
    drawn = np.array([strength_errors(mechanism, adult, [adult.n, 16 * adult.n], rng=rng) for _ in range(12)])
    near, far = (drawn**2).T
    assert abs(np.mean(squares) - near.mean()) < 5 * np.hypot(np.std(squares), near.std()) / math.sqrt(12)
    assert near.mean() - 2 * far.mean() > 0


def test_bad_input():
    population, rng = Population.from_counts(np.full((2, 2), 10)), np.random.default_rng(3)
    with pytest.raises(ValueError, match="runs must be at least 2"):
        pair_table_errors(population, 1.0, rng=rng, runs=1)
    with pytest.raises(ValueError, match="estimators must be among"):
        pair_table_errors(population, 1.0, rng=rng, estimators=["best"])

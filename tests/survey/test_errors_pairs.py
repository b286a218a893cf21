"""Ways to collect and to estimate pair tables, side by side on the same reports."""

import itertools
import math

import numpy as np
import pytest

from ldp_lib.datasets import load_adult
from ldp_lib.population import Population
from ldp_lib.postprocess import project_simplex
from ldp_lib.sampled import AskSome, OneQuestion
from ldp_lib.survey.errors import (
    ESTIMATORS,
    collectors,
    pair_estimates,
    pair_table_errors,
    strength_errors,
)
from ldp_lib.tables import _agreement, consistency
from ldp_lib.tables import covariance as uncertainty
from ldp_lib.tables.clusters import cramers_v
from ldp_lib.tables.covariance import interaction_noise
from ldp_lib.tables.product import RRIndependent
from ldp_lib.tables.sampled import ask_pairs


def test_rows_and_their_order_on_adult():
    """Asking pairs has far less error than splitting, and at a budget of 4 shrinking takes off most of what is left."""
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
    assert error["AskSome", "shrunk"] < error["AskSome", "raw"]
    assert error["AskSome", "shrunk"] < error["AskSome", "product"]
    asked = ask_pairs(adult.k, 4.0)
    exact = 0
    for pair in ((0, 1), (0, 2), (1, 2)):
        truth = adult.select(*pair).joint
        exact += np.trace(uncertainty.table_covariance(asked, truth, *pair, n=adult.n, sampling=False))
    off = abs(error["AskSome", "raw"] - exact)
    assert off < 5 * table["standard_error"]["AskSome", "raw"] + 0.1 * exact
    assert math.isclose(table["root"]["AskSome", "raw"], math.sqrt(error["AskSome", "raw"] / 3))


@pytest.mark.parametrize(("epsilon", "asked", "comes"), [(0.5, 1, ["product"]), (3.0, 3, list(ESTIMATORS))])
def test_from_one_question_each_comes_the_product_only(epsilon, asked, comes):
    mechanism, rng = AskSome(k=(2, 2, 2), epsilon=epsilon), np.random.default_rng(1)
    assert mechanism.m_ == mechanism.joint == asked
    assert list(pair_estimates(mechanism, mechanism.perturb(rng.integers(2, size=(500, 3)), rng=rng))) == comes


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
    for people, pairs in (population, []), (population.select(0), None):
        with pytest.raises(ValueError, match=r"pairs at least one; got \[\]"):
            pair_table_errors(people, 1.0, rng=rng, pairs=pairs)


def test_an_interaction_s_variance_is_that_of_a_doubly_centred_table():
    assert interaction_noise(np.eye(6), (2, 3)) == pytest.approx(2)
    rng = np.random.default_rng(5)
    for shape in ((2, 3), (3, 2), (3, 4)):
        half = rng.normal(size=(math.prod(shape),) * 2)
        covariance = half @ half.T
        moved = np.kron(*(np.eye(size) - 1 / size for size in shape))
        assert interaction_noise(covariance, shape) == pytest.approx(np.trace(moved @ covariance @ moved.T))


def test_errors_of_pair_tables_by_hand():
    people = Population.from_counts([[[9, 1], [2, 3], [0, 5]], [[1, 1], [8, 2], [6, 2]]])
    mechanism, names, pairs = RRIndependent(k=(2, 3, 2), epsilon=3.0), ["raw", "product"], [(0, 1), (2, 1)]
    rng, errors = np.random.default_rng(6), {name: [] for name in names}
    for _ in range(2):
        y = mechanism.perturb(people.users(), rng=rng)
        marginals = [project_simplex(part) for part in mechanism.estimate(y)]
        for name, off in zip(names, np.zeros(2), strict=True):
            for j, i in pairs:
                found = mechanism.estimate_table(y, j, i) if name == "raw" else np.outer(marginals[j], marginals[i])
                off += ((found - people.select(j, i).joint) ** 2).sum()
            errors[name].append(off)
    more = {"rng": np.random.default_rng(6), "runs": 2, "pairs": pairs, "mechanisms": [mechanism]}
    table = pair_table_errors(people, 3.0, estimators=names, **more).set_index("estimator")
    for name, values in errors.items():
        row = table.loc[name]
        assert row["mechanism"] == "RRIndependent"
        assert row["error"] == pytest.approx(np.mean(values))
        assert row["standard_error"] == pytest.approx(abs(values[0] - values[1]) / 2)
        assert row["root"] == pytest.approx(math.sqrt(np.mean(values) / 2))
    assert table["error"].is_monotonic_increasing


def test_all_pairs_and_collectors_are_compared_if_none_are_named():
    people = Population.from_counts([[[9, 1], [2, 3], [0, 5]], [[1, 1], [8, 2], [6, 2]]])
    table = pair_table_errors(people, 3.0, rng=np.random.default_rng(9), runs=2, estimators=["product"])
    assert sorted(table["mechanism"]) == sorted(type(m).__name__ for m in collectors(people.k, 3.0))
    assert table["error"].is_monotonic_increasing
    assert table.index.tolist() == [0, 1, 2, 3]
    assert table["root"].to_numpy() == pytest.approx(np.sqrt(table["error"] / 3))


def test_every_estimator_starts_from_the_same_raw_tables():
    mechanism, rng = RRIndependent(k=(2, 3, 2), epsilon=4.0), np.random.default_rng(7)
    x = np.repeat([[0, 0, 1], [1, 2, 0], [0, 1, 1], [1, 1, 0]], [60, 50, 40, 30], axis=0)
    y = mechanism.perturb(x, rng=rng)
    found = pair_estimates(mechanism, y)
    assert tuple(found) == ESTIMATORS
    marginals = [project_simplex(part) for part in mechanism.estimate(y)]
    raw = {pair: mechanism.estimate_table(y, *pair) for pair in itertools.combinations(range(3), 2)}
    shrunk = {}
    for (j, i), table in raw.items():
        product = np.outer(marginals[j], marginals[i])
        assert found["raw"][j, i] == pytest.approx(table)
        assert found["product"][j, i] == pytest.approx(product)
        assert found["projected"][j, i] == pytest.approx(project_simplex(table.ravel()).reshape(table.shape))
        noise = interaction_noise(uncertainty.table_covariance(mechanism, product, j, i, n=180), table.shape)
        shrunk[j, i] = consistency.shrink_dependence(table, noise).table
    for pair, table in _agreement.repair_pairs(shrunk).items():
        assert found["shrunk"][pair] == pytest.approx(table)
    assert pair_estimates(mechanism, y, [(1, 0)], ["product"])["product"][1, 0] == pytest.approx(
        found["product"][0, 1].T
    )
    one = OneQuestion(k=(2, 3, 2), epsilon=4.0)
    y = one.perturb(x, rng=rng)
    assert pair_estimates(one, y, estimators=["raw"]) == {}
    assert list(pair_estimates(one, y)) == ["product"]


def test_strengths_err_as_their_slope_says_where_users_are_many():
    law, n, runs = np.array([[0.3, 0.1, 0.1], [0.05, 0.2, 0.25]]), 10**10, 150
    people = Population.from_counts((law * 1000).astype(int))
    mechanism, step = RRIndependent(k=(2, 3), epsilon=4.0), 1e-6
    slope = []
    for cell in range(6):
        ends = [law.copy().ravel() for _ in range(2)]
        for end, sign in zip(ends, (1, -1), strict=True):
            end[cell] += sign * step
        slope.append(np.subtract(*(cramers_v(end.reshape(2, 3) / end.sum()) for end in ends)) / (2 * step))
    spread = math.sqrt(slope @ uncertainty.table_covariance(mechanism, law, 0, 1, n=1) @ slope)
    found = strength_errors(mechanism, people, [n, 100 * n, 10_000 * n], rng=np.random.default_rng(8), runs=runs)
    assert found[0] * math.sqrt(n) == pytest.approx(spread, rel=5 / math.sqrt(2 * runs))
    assert found == pytest.approx([found[0], found[0] / 10, found[0] / 100], rel=0.02)

"""Faults that earlier tests let through, each found by its consequence."""

import numpy as np
import pandas as pd
import pytest

from ldp_lib import (
    GRR,
    OUE,
    AskSome,
    OneQuestion,
    Population,
    RRIndependent,
    RRJoint,
    SubsetSelection,
    Survey,
    _sampling,
)
from ldp_lib.survey import planner
from ldp_lib.tables import likelihood


def test_one_block_s_random_numbers_do_not_come_again_in_the_next():
    """Were they used twice, users of the second block would report as those of the first do."""
    grr, n = GRR(k=4, epsilon=1.0), 2 * max(_sampling.WIDE, 2**20)
    y = grr.perturb(np.zeros(n, np.uint8), rng=np.random.default_rng(1))
    for step in (_sampling.WIDE, _sampling.BLOCK, 2**20):
        agree = (y[:-step] == y[step:]).mean()
        p, q = grr.realised_probabilities
        wanted = float(p**2 + 3 * q**2)
        assert abs(agree - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / (n - step)) * 2  # neighbours share a report
        assert agree < 0.9


@pytest.mark.parametrize("make", [RRIndependent, RRJoint])
def test_axes_of_a_joint_estimate_are_in_the_order_that_was_asked(make):
    """Three attributes of one size: a cyclic permutation of the axes would keep the shape and move the mass."""
    cell, mechanism = (0, 1, 2), make(k=(3, 3, 3), epsilon=12.0)
    x = np.repeat([cell], 4_000, axis=0)
    y = mechanism.perturb(x, rng=np.random.default_rng(2))
    for order in ((0, 1, 2), (1, 2, 0), (2, 0, 1), (1, 0, 2)):
        raw = mechanism.estimate_table(y, *order)
        likely = likelihood.estimate(mechanism, y, *order).table
        at = tuple(cell[j] for j in order)
        assert np.unravel_index(raw.argmax(), raw.shape) == np.unravel_index(likely.argmax(), likely.shape) == at


def test_raw_intervals_are_raw_where_shares_are_projected():
    survey = Survey({"a": ["x", "y", "z"]}, 0.3, GRR(k=3, epsilon=0.3))
    given = survey.collect(pd.DataFrame({"a": ["x"] * 200}), rng=np.random.default_rng(3))
    raw, shown = survey.estimate(given), survey.estimate(given, projected=True)
    assert raw["estimate"].min() < -0.01
    for found in (raw, shown):
        middle = (found["low"] + found["high"]) / 2
        assert middle.to_numpy() == pytest.approx(raw["estimate"].to_numpy())
    assert not np.allclose(shown["estimate"], raw["estimate"])


class Uneven:
    """A mechanism whose third value has the largest variance, whatever the data."""

    k, epsilon, least_users, unbiased, has_exact_moments = 3, 1.0, 1, True, True

    def variance(self, population):
        return np.array([1.0, 2.0, 9.0]) / population.n


def test_the_worst_standard_error_is_over_all_values():
    n = planner.required_users(Uneven(), 0.1)
    assert 1.959963984540054 * 3 / np.sqrt(n) <= 0.1 < 1.959963984540054 * 3 / np.sqrt(n - 1)


def test_small_cells_count_in_the_gap_of_the_likelihood():
    """The gap bounds how far the likelihood is below its maximum, also where no cell has as much as 1 %."""
    k, rng = 15, np.random.default_rng(7)
    channels = [0.6 * np.eye(k) + 0.4 / k] * 2
    law = rng.dirichlet(np.full(k * k, 2.0)).clip(1e-4, 0.009)
    joint = np.kron(*channels)
    counts = rng.multinomial(20_000, law / law.sum() @ joint).reshape(k, k)

    def height(table):
        seen = counts.ravel() > 0
        return float((counts.ravel() * np.log(table.ravel() @ joint, where=seen, out=np.zeros(k * k))).sum())

    best = likelihood.fit(counts, channels, gap=1e-3, max_steps=100_000)
    for gap in (100.0, 1.0):
        found = likelihood.fit(counts, channels, gap=gap, max_steps=100_000)
        assert found.converged
        assert height(best.table) - height(found.table) <= gap
    early = likelihood.fit(counts, channels, gap=1e-3, max_steps=1)
    assert not early.converged
    assert early.gap >= height(best.table) - height(early.table) > 1


@pytest.mark.parametrize("oracle", [OUE, SubsetSelection])
def test_padding_of_reports_is_zero_wherever_nothing_is_said(oracle):
    """Bytes that nobody set would be whatever lay in memory: other answers."""
    k = (3, 40)
    mechanism = OneQuestion(k=k, epsilon=1.0, oracle=oracle)
    np.full(2**20, 255, np.uint8)  # memory that is not zero
    y = mechanism.perturb(np.zeros((5_000, 2), int), rng=np.random.default_rng(4))
    for j, part in enumerate(mechanism.oracle_):
        width = part.perturb(np.zeros(1, int), rng=np.random.default_rng(1)).nbytes
        assert not y["report"][y["asked"] == j, width:].any()
    some = AskSome(k=(9, 2), epsilon=2.0, m=1, sizes=(3, 1))
    told = some.perturb(np.zeros((5_000, 2), int), rng=np.random.default_rng(5))
    assert not told["sets"][told["asked"] == 1][:, 0, 1:].any()


def test_a_table_s_axes_follow_the_names_and_not_the_frame():
    labels = ["x", "y", "z"]
    survey = Survey({"a": labels, "b": labels}, 12.0, RRJoint(k=(3, 3), epsilon=12.0))
    frame = pd.DataFrame({"b": ["z"] * 500, "a": ["y"] * 500})
    given = survey.collect(frame, rng=np.random.default_rng(6))
    assert survey.table("a", "b", given)["estimate"].idxmax() == ("y", "z")
    assert survey.table("b", "a", given)["estimate"].idxmax() == ("z", "y")
    assert Population.from_records(survey.encode(frame), k=(3, 3)).joint[1, 2] == 1

"""The page of coverage: it shows what was computed, intervals cover or say so, a sample is computed anew."""

import json
import math
import sys
from pathlib import Path

import numpy as np
from scipy.stats import binom

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import interval_coverage as coverage  # noqa: E402

from ldp_lib import GRR, SubsetSelection  # noqa: E402
from ldp_lib.tables import likelihood  # noqa: E402

PAGE = (ROOT / "book" / "quality.md").read_text(encoding="utf-8")
ROWS = json.loads(coverage.FOUND.read_text(encoding="utf-8"))
# Intervals of few false reports at large budgets, and all after maximum likelihood: a docstring or the page warns.
BOOTSTRAP = "bootstrap of the most likely table"
REFLECTED = BOOTSTRAP + ", by reflected quantiles"
WARNED = {"share, `estimate_interval`", "Cramér's V", BOOTSTRAP + ": least cell"}
WARNED |= {"`Survey.table`", "`Survey.difference`"}
WARNED |= {f"{BOOTSTRAP}{way}: Cramér's V" for way in ("", ", by quantiles")}


def test_the_page_shows_what_was_computed():
    assert "```{measured} coverage\n" in PAGE
    assert {(row["setting"], row["epsilon"], row["n"]) for row in ROWS} == {s[:3] for s in coverage.settings()}
    assert {row["runs"] for row in ROWS} == {coverage.RUNS}


def test_every_interval_covers_or_is_one_that_warns():
    spread = math.sqrt(0.93 * 0.07 / coverage.RUNS)
    short = {row["interval"] for row in ROWS if row["covers"] < coverage.LEAST - 3 * spread}
    assert {name for name in short if not name.startswith(REFLECTED)} <= WARNED
    assert "fails where the false supports of a value are few" in coverage.planner.estimate_interval.__doc__
    assert "is covered less" in PAGE  # the bootstrap
    assert any(name.startswith(REFLECTED) for name in short)  # the foil


def test_quantiles_fail_for_a_cell_only_if_they_are_reflected():
    held = {(row["interval"], row["setting"], row["epsilon"]): row["covers"] for row in ROWS}
    settings = [setting for name, *setting in held if name == BOOTSTRAP + ": least cell"]
    assert len(settings) == 3
    for setting in settings:
        ways = [held[f"{BOOTSTRAP}{way}: least cell", *setting] for way in ("", ", by quantiles")]
        assert min(ways) > 0.85 > 0.6 > held[REFLECTED + ": least cell", *setting]


def test_quantiles_are_too_short_for_large_cells_beside_empty_ones_and_deviations_are_not():
    """The estimates of empty cells are above 0 and those of full ones too low, and of a draw they are so twice."""
    assert "at ε = 1, in some 76 of 100, deviations in 95." in PAGE
    rng, table, runs, draws = np.random.default_rng(6), np.array([0.5, 0, 0, 0.5]), 250, 60
    channel = coverage.RRIndependent(k=(2, 2), epsilon=1.0).channel()
    found = coverage.most_likely(rng.multinomial(2_000, table @ channel, size=runs), channel, 5_000)
    again = rng.multinomial(2_000, np.repeat(found, draws, axis=0) @ channel)
    drawn = coverage.most_likely(again, channel, 5_000).reshape(runs, draws, -1)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=1)
    inside = (abs(found - table) <= 1.96 * drawn.std(axis=1, ddof=1), (low <= table) & (table <= high))
    deviations, quantiles = (one[:, [0, 3]].mean() for one in inside)
    wide = 3 * (0.2 * 0.8 / runs) ** 0.5
    assert deviations > 0.92
    assert abs(quantiles - 0.76) < wide < 0.9 - 0.76


def test_a_plain_interval_is_short_where_few_reports_are_wrong_also_if_half_hold_the_value():
    """All numbers of lost and of false supports of each half, by their probabilities."""
    n, mechanism, wrong = 2_000, coverage.GRR(k=2, epsilon=9.0), np.arange(12)
    chances = np.outer(*2 * [binom.pmf(wrong, n // 2, 1 / (1 + math.exp(9)))])
    covered = 0.0
    for off in range(-11, 12):
        ones = n // 2 + off
        estimate = mechanism.estimate(np.repeat([0, 1], [n - ones, ones]))
        low, high = coverage.planner.estimate_interval(mechanism, estimate, n)
        covered += np.trace(chances, off) * (low[1] <= 0.5 <= high[1])
    (row,) = (row for row in ROWS if row["setting"] == "GRR, 1000 of 2000 hold it")
    assert abs(row["covers"] - covered) < 5 * math.sqrt(covered * (1 - covered) / coverage.RUNS)
    assert covered < 0.8


def test_a_plain_interval_is_short_where_each_of_many_answers_is_named_by_few():
    """Of 1,000 people half hold one of 100 answers, and some ten of all name it falsely; with sets far more do."""
    runs, held, rng = 2_000, {}, np.random.default_rng(1)
    people = coverage.Population.from_counts(np.array([500, 10, *[5] * 98]))
    for make in (GRR, SubsetSelection):
        mechanism = make(k=100, epsilon=1.0)
        estimates = mechanism.simulate(people, rng=rng, runs=runs)
        ends = [coverage.planner.estimate_interval(mechanism, estimate, people.n) for estimate in estimates]
        held[make] = np.mean([low[0] <= 0.5 <= high[0] for low, high in ends])
    assert held[GRR] + 3 * math.sqrt(0.93 * 0.07 / runs) < coverage.LEAST < held[SubsetSelection]
    assert "by `GRR` with 100 answers at ε = 1 (1,000 people)" in PAGE


def test_a_sample_is_what_is_stored():
    """With another seed and fewer runs, to within five standard errors of the difference."""
    runs, tried = 100, 0
    for name, epsilon, n, compute in coverage.settings():
        if (name, epsilon) in (("V = 0.1, 2 x 2", 4.0), ("5 of 200 hold it, 4 x 4 cells", 4.0)):
            for row in coverage.measured(name, epsilon, n, compute, runs=runs, seed=2):
                (stored,) = [r for r in ROWS if all(r[key] == row[key] for key in ("interval", "setting", "epsilon"))]
                for key in ("covers", "warns"):
                    p = (stored[key] * coverage.RUNS + row[key] * runs + 1) / (coverage.RUNS + runs + 2)
                    spread = math.sqrt(p * (1 - p) * (1 / coverage.RUNS + 1 / runs))
                    assert abs(stored[key] - row[key]) < 5 * spread
                    assert key == "warns" or abs(stored[key] - 0.5) > 5 * spread
                tried += 1
    assert tried == 3


def test_the_fast_maximum_is_the_librarys():
    table, rng = np.array([[0.01, 0.49], [0.25, 0.25]]), np.random.default_rng(3)
    mechanism = coverage.RRIndependent(k=(2, 2), epsilon=3.0)
    counts = rng.multinomial(2_000, table.ravel() @ mechanism.channel(), size=5)
    for one, found in zip(counts, coverage.most_likely(counts, mechanism.channel()), strict=True):
        whole = likelihood.fit(one.reshape(2, 2), mechanism.keeps, gap=1e-6).table
        assert np.abs(whole.ravel() - found).max() < 1e-3

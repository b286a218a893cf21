"""The page of coverage: it shows what was computed, intervals cover or say so, a sample is computed anew."""

import json
import math
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import interval_coverage as coverage  # noqa: E402

from ldp_lib.tables import likelihood  # noqa: E402

PAGE = (ROOT / "book" / "quality.md").read_text(encoding="utf-8")
ROWS = json.loads(coverage.FOUND.read_text(encoding="utf-8"))
COMPARED = "the same by quantiles"
# Intervals of few holders at large budgets, and all after maximum likelihood: a docstring or the page warns.
BOOTSTRAP = "bootstrap of the most likely table: "
WARNED = {"share, `estimate_interval`", "Cramér's V", BOOTSTRAP + "least cell", BOOTSTRAP + "Cramér's V"}


def test_the_page_shows_what_was_computed():
    assert "```{measured} coverage\n" in PAGE
    assert {(row["setting"], row["epsilon"], row["n"]) for row in ROWS} == {s[:3] for s in coverage.settings()}
    assert {row["runs"] for row in ROWS} == {coverage.RUNS}


def test_every_interval_covers_or_is_one_that_warns():
    spread = math.sqrt(0.93 * 0.07 / coverage.RUNS)
    short = {row["interval"] for row in ROWS if row["covers"] < coverage.LEAST - 3 * spread}
    assert {name for name in short if not name.startswith(COMPARED)} <= WARNED
    assert "fails where the false supports of a value are few" in coverage.planner.estimate_interval.__doc__
    assert "is covered less" in PAGE  # the bootstrap
    assert any(name.startswith(COMPARED) for name in short)  # the foil: quantiles of the bootstrap


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

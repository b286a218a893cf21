"""The numbers that the papers print or draw are there, all of them, each with its setting."""

import os
import re
from pathlib import Path

import build_data as build
import numpy as np
import pytest

from ldp_lib import datasets
from ldp_lib.book import printed_values

BESIDE = Path(__file__).parents[3] / "shared" / "data"
RAW_FOLDER = Path(os.environ.get("LDP_LIB_DATA") or BESIDE)
PAPER = BESIDE.parent / "papers" / "002_f18597ee7815adca.txt"

needs_raw = pytest.mark.skipif(
    "LDP_LIB_DATA" not in os.environ and not BESIDE.is_dir(),
    reason="raw files: set LDP_LIB_DATA to a folder that holds adult/adult.data and the others",
)


def test_the_corr_rr_tables_have_all_their_cells():
    cells = printed_values.load("corr_rr_tables")
    assert list(cells) == ["table", "n", "method", "epsilon", "n1", "mse"]
    assert len(cells) == 360
    assert not cells.duplicated(["table", "method", "epsilon", "n1"]).any()
    sizes = {4: 200, 5: 2000, 6: 20000, 7: 200, 8: 2000, 9: 20000}
    assert (cells.n == cells.table.map(sizes)).all()
    for _, one in cells.groupby(["table", "method", "epsilon"]):
        assert (20 * one.n1 == one.n * np.arange(1, 11)).all()  # 5 % to 50 %
    assert sorted(set(cells.epsilon)) == [0.1, 0.3, 0.5]


@pytest.mark.skipif(not PAPER.is_file(), reason="the paper's text is not beside the repository")
def test_the_corr_rr_tables_are_the_printed_ones():
    rows = [line for line in PAPER.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    rows = [re.findall(r"\d\.\d{3}e[+-]\d{2}", row) for row in rows]
    printed = [float(cell) for row in rows for cell in row]
    assert printed == printed_values.load("corr_rr_tables").mse.tolist()
    table = printed_values.load("corr_rr_correlations").pivot(index=["first", "second"], columns=["rho", "data"])
    for row in table.sort_index(axis=1).to_numpy():
        assert "| " + " | ".join(f"{value:.3f}" for value in row) + " |" in PAPER.read_text(encoding="utf-8")


def test_the_corr_rr_figures_have_all_their_points_each_with_its_setting():
    points = printed_values.load("corr_rr_figures")
    assert len(points) == 165
    assert points[["SPL", "RS+FD", "RS+RFD", "Corr-RR"]].gt(0).all().all()  # 660 values
    assert points.groupby("panel").size().eq(5).all()
    drawn = points.data.isin(["SynA", "SynB"])
    assert (points.parents.map(len)[drawn] == points.d[drawn] - 1).all()
    assert all(0 <= parent < child for tree in points.parents for child, parent in enumerate(tree, 1))
    assert points.rho.notna().equals(drawn)
    apart = points[points.rho.notna() & (points.rho != points.stated_rho)]
    assert set(apart.panel) == {"4a", "4b"}
    curves, bars = printed_values.load("corr_rr_figure2"), printed_values.load("corr_rr_figure12")
    assert sorted(curves.f_s.unique()) == sorted(set(curves.f_s))
    assert curves.p_y.between(0, 1).all()
    assert (
        bars.groupby(["data_set", "attribute"]).count_implied.sum().unstack().dropna(axis=1).nunique(axis=1) == 1
    ).all()


@needs_raw
def test_the_corr_rr_figures_are_what_was_read(tmp_path):
    build.build_corr_rr_figures(RAW_FOLDER / "published", tmp_path)
    for name in ("figures", "figure2", "figure12"):
        assert (tmp_path / f"corr_rr_{name}.csv").read_bytes() == (datasets.DATA / f"corr_rr_{name}.csv").read_bytes()


def test_the_jrr_figures_have_all_their_values_each_with_its_setting():
    values, runs = printed_values.load("jrr_figures"), printed_values.load("jrr_estimates")
    drawn = values[values.quantity != "are_percentile"]
    assert drawn.quantity.value_counts().to_dict() == {
        "fraction_below": 384,
        "mse_closed_form_stored": 348,
        "mse": 180,
        "are": 156,
    }
    assert len(runs) == 614
    # Figure 2 draws the shares up to .98; its script keeps what the same place had in the panel before.
    shares = drawn[drawn.quantity == "fraction_below"].sort_values("x")
    place = shares.groupby(["panel", "series", "mechanism"]).cumcount()
    panels = shares.assign(place=place).pivot_table("value", ["series", "mechanism", "place"], "panel")
    shown = panels <= 0.98
    assert shown.sum().tolist() == [104, 105, 104]  # 313
    kept = shown.cummax(axis=1) & ~shown
    assert kept[kept.any(axis=1)].index.tolist() == [("Amazon", "JRR", 14), ("E-commerce", "RR", 5)]
    assert kept.sum().to_dict() == {"2a": 0, "2b": 0, "2c": 2}
    assert values.notna().all(axis=None)
    assert runs.notna().all(axis=None)
    assert set(values.epsilon) == {0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0}
    # Every mean squared error that is drawn is the mean of one stored set.
    stored = runs[runs.runs == 1_000]
    stored = (stored.variance * 0.999 + (stored["mean"] - stored.n1) ** 2).to_numpy()
    shown = values.value[values.quantity == "mse"].to_numpy()
    assert (np.abs(shown[:, None] / stored - 1).min(axis=1) < 1e-5).all()


@needs_raw
def test_the_jrr_figures_are_what_was_read(tmp_path):
    build.build_jrr_figures(RAW_FOLDER / "published", tmp_path)
    for name in ("jrr_figures.csv", "jrr_estimates.csv"):
        assert (tmp_path / name).read_bytes() == (datasets.DATA / name).read_bytes()


@pytest.mark.parametrize("name", printed_values.ROWS)
def test_a_table_of_printed_numbers_that_was_cut_short_is_refused(name, tmp_path, monkeypatch):
    text = (datasets.DATA / f"{name}.csv").read_text(encoding="utf-8")
    monkeypatch.setattr(datasets, "DATA", tmp_path)
    for cut in (text[:-1], text[:-2], text[: text.rindex("\n", 0, -1) + 1]):
        (tmp_path / f"{name}.csv").write_text(cut, encoding="utf-8")
        with pytest.raises(ValueError, match=f"{name}.csv must have"):
            printed_values.load(name)
    (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
    assert len(printed_values.load(name)) == printed_values.ROWS[name]


def test_another_name_is_refused():
    with pytest.raises(ValueError, match=r"name must be one of corr_rr_tables, .*; got 'tables'"):
        printed_values.load("tables")

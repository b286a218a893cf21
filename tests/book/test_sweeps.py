"""Sweeps: the same table from any number of workers, in the order of the settings, with a bar that nobody stores."""

import contextlib
import itertools
import multiprocessing
import os
import subprocess
import sys
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbformat.v4 import new_code_cell, new_notebook

from ldp_lib import check
from ldp_lib.book.sweeps import random_set, sweep
from ldp_lib.grr import GRR
from ldp_lib.population import Population

ROOT = Path(__file__).resolve().parents[2]
PEOPLE = Population.from_counts([5, 3, 2])
SETTINGS = [{"epsilon": e, "runs": r} for e, r in itertools.product((0.5, 1.0, 2.0), (10, 20))]


def errors(population, epsilon, runs, rng):
    estimates = GRR(k=3, epsilon=epsilon).simulate(population, rng=rng, runs=runs)
    return {"squared error": ((estimates - population.frequencies) ** 2).sum(axis=1).mean()}


def several(a, rng):
    return [{"draw": i, "value": rng.random()} for i in range(a)]


def fails(a, rng):
    raise ZeroDivisionError(f"at {a}")


def run(executor=None, settings=SETTINGS, seed=1):
    return sweep(partial(errors, PEOPLE), settings, rng=np.random.default_rng(seed), executor=executor)


def test_the_table_is_the_same_whatever_the_workers():
    one = run()
    with ProcessPoolExecutor(2, mp_context=multiprocessing.get_context("spawn")) as pool:
        assert one.equals(run(pool))
    with ThreadPoolExecutor(3) as pool:
        assert one.equals(run(pool))
        assert pool.submit(len, "ab").result() == 2  # still open
    assert not one.equals(run(seed=2))


def test_each_setting_has_a_stream_of_its_own_in_the_order_given():
    table = run()
    assert list(table.columns) == ["epsilon", "runs", "squared error"]
    assert table[["epsilon", "runs"]].to_dict("records") == SETTINGS
    streams = np.random.default_rng(1).spawn(len(SETTINGS))
    own = [errors(PEOPLE, **s, rng=r)["squared error"] for s, r in zip(SETTINGS, streams, strict=True)]
    assert table["squared error"].tolist() == own
    twice = run(settings=[SETTINGS[0]] * 2)["squared error"]
    assert twice[0] != twice[1]


def test_two_sweeps_of_one_generator_differ():
    rng = np.random.default_rng(1)
    first, second = (sweep(several, [{"a": 2}], rng=rng) for _ in range(2))
    assert (first["value"] != second["value"]).all()


def test_a_call_may_give_several_rows():
    table = sweep(several, [{"a": 2}, {"a": 1}], rng=np.random.default_rng(1))
    assert table[["a", "draw"]].to_numpy().tolist() == [[2, 0], [2, 1], [1, 0]]


@pytest.mark.parametrize("threads", [0, 2])
def test_an_error_in_a_call_is_raised(threads):
    with contextlib.ExitStack() as stack:
        executor = stack.enter_context(ThreadPoolExecutor(threads)) if threads else None
        with pytest.raises(ZeroDivisionError, match="at 1"):
            sweep(fails, [{"a": 1}, {"a": 2}], rng=np.random.default_rng(1), executor=executor)


def test_the_bar_is_not_drawn_where_it_would_be_stored(capfd):
    run()
    assert capfd.readouterr() == ("", "")


def test_the_bar_is_drawn_on_the_descriptor_that_is_named(monkeypatch, tmp_path):
    with open(tmp_path / "log", "w", encoding="utf-8") as log:
        monkeypatch.setenv("LDP_LIB_PROGRESS", str(log.fileno()))
        sweep(several, [{"a": 1}] * 7, rng=np.random.default_rng(1), label="seven")
        os.fstat(log.fileno())  # left open
    assert "seven: 100%" in (tmp_path / "log").read_text(encoding="utf-8")
    assert "7/7" in (tmp_path / "log").read_text(encoding="utf-8")


BAD = [
    ({"rng": 1}, TypeError, "rng must be a numpy.random.Generator"),
    ({"function": 3}, TypeError, "function must be callable; got 3"),
    ({"settings": []}, TypeError, "settings must be at least one dict; got"),
    ({"settings": [1]}, TypeError, "settings must be at least one dict; got"),
    ({"settings": [{"a": 1}, {"b": 1}]}, ValueError, r"settings must all have the names \['a'\]; got \['b'\] at 1"),
    ({"function": lambda a, rng: 3}, TypeError, "function must return a dict or a list of at least one dict; got 3"),
    ({"function": lambda a, rng: []}, TypeError, r"function must return .*; got \[\] at \{'a': 1\}"),
    ({"function": lambda a, rng: [3]}, TypeError, r"function must return .*; got \[3\]"),
    ({"function": lambda a, rng: {"a": 3}}, ValueError, "other names than those of the setting; got {'a': 3}"),
    ({"function": lambda a, rng: {str(a): 3}}, ValueError, "results of function must all have the names .* at 1"),
]


@pytest.mark.parametrize(("change", "error", "message"), BAD, ids=[message for _, _, message in BAD])
def test_bad_input_is_refused(change, error, message):
    good = {"function": several, "settings": [{"a": 1}, {"a": 2}], "rng": np.random.default_rng(1)}
    with pytest.raises(error, match=message):
        sweep(**{**good, **change})


def test_random_sets_have_the_size_asked_for_and_every_cell_its_chance():
    rng = np.random.default_rng(1)
    sets = np.array([random_set((2, 5), 0.3, rng=rng) for _ in range(20_000)])
    assert sets.shape == (20_000, 2, 5)
    assert set(sets.sum(axis=(1, 2))) == {3}
    cells = sets.reshape(20_000, 10)
    assert (
        check.mean_z(cells.astype(float), np.full(10, 0.3)) < 5 < check.mean_z(cells.astype(float), np.full(10, 0.35))
    )
    both = cells[:, 0] & cells[:, 9]
    assert check.mean_z(both.astype(float), 3 * 2 / (10 * 9)) < 5 < check.mean_z(both.astype(float), 0.3**2)
    assert random_set((2, 2), 0.01, rng=rng).sum() == 1
    assert random_set((2, 2), 1, rng=rng).all()


@pytest.mark.parametrize("coverage", [0, -0.1, 1.1, float("nan"), "1", True, None])
def test_a_coverage_out_of_range_is_refused(coverage):
    with pytest.raises(ValueError, match=f"coverage must be a number above 0 and at most 1; got {coverage!r}"):
        random_set((2, 2), coverage, rng=np.random.default_rng(1))


def test_building_the_book_shows_the_bar_and_stores_none(tmp_path):
    code = (
        "import numpy as np\nfrom ldp_lib.book.sweeps import sweep\n"
        'sweep(lambda rng: {"value": 1}, [{}] * 7, rng=np.random.default_rng(1), label="seven")'
    )
    source, target = tmp_path / "source.ipynb", tmp_path / "target.ipynb"
    nbformat.write(new_notebook(cells=[new_code_cell(code)]), source)
    command = [sys.executable, ROOT / "tools" / "execute.py", source, target]
    log = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert "seven: 100%" in log
    outputs = nbformat.read(target, as_version=4).cells[0].outputs
    assert [output.output_type for output in outputs] == ["execute_result"]

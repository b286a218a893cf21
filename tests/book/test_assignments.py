"""The assignments grade: all points for the solution, none for the blank; a wrong answer loses its own task only."""

import importlib
import sys
import warnings
import zipfile
from fractions import Fraction
from pathlib import Path

import nbformat
import numpy as np
import problem_sets
import pytest
import sympy as sp

from ldp_lib.book import grading

ROOT = Path(__file__).resolve().parents[2]
SETS = problem_sets.sets()
by_set = pytest.mark.parametrize("problems", SETS, ids=lambda problems: problems.name)


def points(graded):
    """Return the points by task."""
    return {name: score for name, (score, _) in graded.items()}


@by_set
def test_a_set_has_five_to_eight_tasks_a_picture_and_a_paragraph(problems):
    assert 5 <= len(problems.tasks) <= 8
    assert 60 <= problems.minutes <= 90
    assert sum(task.by_hand for task in problems.tasks) == 1
    assert any("grading.drawn(" in task.hidden for task in problems.tasks)
    assert any("grading.own_work(" in task.hidden for task in problems.tasks)
    assert all((ROOT / "notebooks" / f"{chapter}.ipynb").exists() for chapter in problems.chapters)


@by_set
def test_the_solution_gets_full_marks(problems):
    graded = problem_sets.grade(problems, problem_sets.submission(problems))
    assert {name: message for name, (_, message) in graded.items() if message} == {}


@by_set
def test_the_blank_gets_nothing(problems):
    assert set(points(problem_sets.grade(problems, problem_sets.release(problems))).values()) == {0}


@by_set
def test_a_wrong_answer_loses_its_own_points_and_no_others(problems):
    for answers in problem_sets.wrong_answers(problems):
        graded = problem_sets.grade(problems, problem_sets.submission(problems, answers))
        assert points(graded) == {task.name: 0 if task.name in answers else task.points for task in problems.graded}
        # It is told what to look at: it did not just crash.
        assert {name: graded[name][1] for name in answers if not graded[name][1].startswith("AssertionError: ")} == {}


@by_set
def test_the_release_tells_no_answer(problems):
    text = nbformat.writes(problem_sets.release(problems))
    assert "HIDDEN" not in text
    assert "SOLUTION" not in text
    assert "grading" not in text
    assert text.count("NotImplementedError") == len(problems.graded)


def test_nbgrader_grades_as_we_do_stops_a_loop_and_restores_tests():
    problems = SETS[0]
    patched = next(w["code"] for task in problems.tasks for w in task.wrong if "patched" in w["why"])
    # Sleeps in place of counting: as endless, and cheap.
    answers = {"how_many_people": "import time\nwhile True:\n    time.sleep(1)", "variance": patched}
    handed = problem_sets.submission(problems, answers | {"budget": "return 1"})
    for cell in handed.cells:
        if cell.metadata.nbgrader.grade_id == "budget-tests":
            cell.source = "assert True"
    hurry = "c.ExecutePreprocessor.timeout_func = lambda cell: 2 if 'time.sleep' in cell.source else 120"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        released, scores = problem_sets.through_nbgrader(problems, {"student": handed}, config=hurry)
    lost = {"how_many_people", "variance", "budget"}
    assert scores["student"] == {
        task.name: None if task.by_hand else 0 if task.name in lost else task.points for task in problems.tasks
    }
    assert [cell.source for cell in released.cells] == [cell.source for cell in problem_sets.release(problems).cells]


def test_the_archives_hold_what_students_and_instructors_need(tmp_path):
    problem_sets.build(tmp_path)
    with zipfile.ZipFile(tmp_path / "release.zip") as packed:
        assert sorted(packed.namelist()) == [f"{s.name}/{s.name}.ipynb" for s in SETS]
    with zipfile.ZipFile(tmp_path / "instructor.zip") as packed:
        names = packed.namelist()
        source = nbformat.reads(packed.read("source/ps1/ps1.ipynb"), as_version=4)
    assert sorted(names) == ["nbgrader_config.py", *(f"source/{s.name}/{s.name}.ipynb" for s in SETS)]
    assert sum("BEGIN HIDDEN TESTS" in cell.source for cell in source.cells) == len(SETS[0].graded)


def test_a_set_that_lacks_something_is_refused(tmp_path):
    text = (ROOT / "assignments" / "ps1.yml").read_text(encoding="utf-8")
    for old, new, hint in (("    points: 4\n", "", "missing"), ("visible:", "visble:", "visble")):
        (tmp_path / "ps9.yml").write_text(text.replace(old, new, 1))
        with pytest.raises(ValueError, match=hint):
            problem_sets.read(tmp_path / "ps9.yml")


X, Y = sp.symbols("x y")
POINTS = grading.rationals("x", "y")


def test_an_answer_need_not_be_simplified():
    grading.same((X**2 - Y**2) / (X - Y) + 0 * X, lambda x, y: x + y, POINTS, "look")
    grading.same(lambda x, y: float(x) + float(y), lambda x, y: x + y, POINTS, "look")
    with pytest.raises(AssertionError, match="look"):
        grading.same((X**2 - Y**2) / (X - Y) + X / 10**9, lambda x, y: x + y, POINTS, "look")


@pytest.mark.parametrize("answer", [sp.sqrt(X), sp.Symbol("z"), sp.true, sp.nan, None, "x + y"], ids=str)
def test_what_is_no_rational_function_is_refused(answer):
    with pytest.raises((AssertionError, AttributeError, ValueError)):
        grading.same(answer, lambda x, y: x + y, POINTS, "look")


class Yes:
    """Equal to all."""

    __hash__ = None

    def __eq__(self, other):
        return True

    def __float__(self):
        return float("nan")


@pytest.mark.parametrize(
    "given",
    [Yes(), float("nan"), True, [1, 2, 3], 1 + 1e-6, np.array([[1.0, 3.0]])],
    ids=lambda value: type(value).__name__,
)
def test_numbers_that_do_not_agree_are_refused(given):
    with pytest.raises(AssertionError):
        grading.agree(given, [1, 2] if np.ndim(given) or isinstance(given, list) else 1, "look")


def test_numbers_that_agree_pass():
    grading.agree([np.int64(1), sp.Rational(1, 2), Fraction(1, 3), 0.25], [1, Fraction(1, 2), Fraction(1, 3), 0.25], "")
    grading.agree(np.array([[0.1 + 0.2]]), 0.3, "")
    grading.words(["a", "b"], ["a", "b"], "")
    with pytest.raises(AssertionError, match="look"):
        grading.words([Yes()], ["a"], "look")


BORROWED = [
    "from ldp_lib import pure\nanswer = pure.variance(1, 2, 3, 4)",
    "import ldp_lib.pure as other\nformula = other.variance\ndef answer(f):\n    return formula(f, 2, 3, 4)",
    "def answer(f):\n    from ldp_lib.pure import variance\n    return variance(f, 2, 3, 4)",
    "def answer(f):\n    return eval('pure' + '.variance')(f, 2, 3, 4)",
    "from ldp_lib import pure\n\nbox = {}\nbox['v'] = pure.variance(1, 2, 3, 4)\n\nanswer = box['v'] + 0",
    "import importlib\nanswer = importlib.import_module('ldp' + '_lib.pure').variance(1, 2, 3, 4)",
]


@pytest.mark.parametrize("cells", BORROWED)
def test_the_librarys_formula_is_not_own_work(cells):
    with pytest.raises(AssertionError, match="own derivation"):
        grading.own_work(["import sympy as sp", *cells.split("\n\n")], "answer")


def test_own_work_passes_beside_the_library():
    cells = ["from ldp_lib import pure", "%magic", "other = pure.variance(1, 2, 3, 4)", "x = 2\nanswer = x + 1"]
    cells += [f"{grading.HIDDEN}\nimport importlib\nx = importlib.import_module('ldp_lib')"]
    cells += [
        "def other(x):\n    return pure.mean(x)",
        "sp.expand(pure.variance(1, 2, 3, 4))",
        "answer = sp.expand(answer)",
    ]
    grading.own_work(["import sympy as sp", *cells], "answer")


def test_grading_is_imported_anew(monkeypatch):
    monkeypatch.setattr(grading, "agree", lambda *given: None)
    space = {}
    try:
        exec(problem_sets.HIDDEN, space)
        with pytest.raises(AssertionError, match="look"):
            space["grading"].agree(1, 2, "look")
    finally:
        sys.modules["ldp_lib.book.grading"] = grading
        importlib.import_module("ldp_lib.book").grading = grading

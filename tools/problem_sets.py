"""Make and grade the problem sets: each is one file in assignments/, from which all else comes.

    python tools/problem_sets.py build TARGET     release.zip and instructor.zip
    python tools/problem_sets.py check [SET ...]  grade every answer of the sets through nbgrader

A set says for each task its prompt, starter, solution, visible and hidden tests, points, and typical wrong answers with
the points that they keep. The solution and the wrong answers are what stands below the starter, and are indented as its
last line is. What grades, for instructors only, is the package `assignments/grader`.
"""

import argparse
import html
import importlib
import os
import re
import shutil
import sys
import tempfile
import textwrap
import zipfile
from dataclasses import dataclass
from pathlib import Path

import nbformat
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "assignments"
sys.path.append(str(FOLDER))
from grader.marking import Cell, mark  # noqa: E402

STUB = "# YOUR CODE HERE\nraise NotImplementedError()"
TEXT_STUB = "YOUR ANSWER HERE"
# Whoever tries the course hands in the solutions under this name.
NAME = "ada"
OWN_NUMBER = '''
import hashlib


def mine(task, low, high):
    """Return your own number for a task, from low to high: it depends on your name."""
    digest = hashlib.sha256(f"{my_name.strip().lower()}/{task}".encode()).hexdigest()
    return low + int(digest, 16) % (high - low + 1)
'''
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}


@dataclass(frozen=True, kw_only=True)
class Task:
    """One task of a set; without `hidden` it is graded by hand and `solution` is what a good answer says."""

    name: str
    points: int
    prompt: str
    solution: str
    starter: str = ""
    visible: str = ""
    hidden: str = ""
    wrong: tuple = ()

    @property
    def by_hand(self):
        """Whether a person grades it."""
        return not self.hidden

    def cell(self, body):
        """Return the answer's cell with this body below the starter."""
        last = self.starter.rstrip().rpartition("\n")[2]
        indent = last[: len(last) - len(last.lstrip())]
        return self.starter.rstrip() + "\n" * bool(self.starter) + textwrap.indent(body.rstrip(), indent)

    @property
    def tests(self):
        """The tests' cell, as it grades."""
        hidden = f"### BEGIN HIDDEN TESTS\n{self.hidden.rstrip()}\n### END HIDDEN TESTS"
        return f"{self.visible.rstrip()}\n{hidden}" if self.visible else hidden


@dataclass(frozen=True, kw_only=True)
class Set:
    """One problem set."""

    name: str
    title: str
    minutes: int
    chapters: tuple
    intro: str
    imports: str
    tasks: tuple

    @property
    def graded(self):
        """The tasks that grade themselves."""
        return [task for task in self.tasks if not task.by_hand]


def read(path):
    """Return the set in a file, validated; a ValueError says which task lacks what."""
    source = yaml.safe_load(path.read_text(encoding="utf-8"))
    tasks = []
    for item in source.pop("tasks"):
        where = f"{path.name}, task {item.get('name')!r}"
        unknown = item.keys() - {*Task.__dataclass_fields__}
        missing = {"name", "points", "prompt", "solution"} - item.keys()
        if unknown or missing:
            raise ValueError(f"{where}: unknown {sorted(unknown)}, missing {sorted(missing)}")
        task = Task(**{**item, "wrong": tuple(item.get("wrong", ()))})
        if not task.by_hand and len(task.wrong) < 3:
            raise ValueError(f"{where}: at least three typical wrong answers are needed; got {len(task.wrong)}")
        tasks.append(task)
    if len({task.name for task in tasks}) < len(tasks):
        raise ValueError(f"{path.name}: two tasks have one name")
    return Set(name=path.stem, tasks=tuple(tasks), **{**source, "chapters": tuple(source["chapters"])})


def sets():
    """Return all sets, in their order."""
    return [read(path) for path in sorted(FOLDER.glob("ps*.yml"))]


def notebook(problems):
    """Return the instructor's notebook: solutions between marks, hidden tests, and nbgrader's points."""
    links = ", ".join(f"`{chapter}`" for chapter in problems.chapters)
    first = (
        f"# {problems.title}\n\n{problems.intro.strip()}\n\n**Chapters:** {links}. **Minutes:** {problems.minutes}. "
        f"**Points:** {sum(task.points for task in problems.tasks)}.\n\n"
        "Answer in the cells that say so. Before you hand in, restart the kernel and run all cells: only what the "
        "notebook computes from top to bottom counts. The tests below a task are some of those that grade it.\n\n"
        "Some numbers are your own: they depend on your name. In the next cell, replace both lines by "
        '`my_name = "..."`, with the name under which you hand in.'
    )
    own = _code(f'### BEGIN SOLUTION\nmy_name = "{NAME}"\n### END SOLUTION', "name", solution=True)
    imports = f"{problems.imports.rstrip()}\n{OWN_NUMBER.rstrip()}"
    cells = [_text(first, "intro"), own, _code(imports, "imports", locked=True)]
    for number, task in enumerate(problems.tasks, 1):
        title = f"## {number}. {task.name.replace('_', ' ').capitalize()} ({task.points} points)"
        cells.append(_text(f"{title}\n\n{task.prompt.strip()}", f"{task.name}-prompt"))
        if task.by_hand:
            body = f"### BEGIN SOLUTION\n{task.solution.strip()}\n### END SOLUTION"
            cells.append(_text(body, task.name, solution=True, grade=True, locked=False, points=task.points))
        else:
            body = task.cell(f"### BEGIN SOLUTION\n{task.solution.rstrip()}\n### END SOLUTION")
            cells.append(_code(body, task.name, solution=True))
            tests = _code(task.tests, f"{task.name}-tests", grade=True, locked=True, points=task.points)
            cells.append(tests)
    return new_notebook(cells=cells, metadata=KERNEL)


def _marks(identity, *, solution=False, grade=False, locked=True, points=None):
    marks = {
        "schema_version": 3,
        "grade_id": identity,
        "solution": solution,
        "grade": grade,
        "locked": locked and not solution,
        "task": False,
    }
    return {"nbgrader": marks | ({"points": points} if grade else {})}


def _text(source, identity, **kind):
    return new_markdown_cell(source, id=identity.replace("_", "-"), metadata=_marks(identity, **kind))


def _code(source, identity, **kind):
    return new_code_cell(source, id=identity.replace("_", "-"), metadata=_marks(identity, **kind))


def release(problems):
    """Return the student's notebook, as nbgrader's `generate_assignment` makes it."""
    student = notebook(problems)
    for cell in student.cells:
        cell.source = re.sub(r"\n?### BEGIN HIDDEN TESTS\n.*?### END HIDDEN TESTS", "", cell.source, flags=re.DOTALL)
        stub = STUB if cell.cell_type == "code" else TEXT_STUB
        marked = r"^( *)### BEGIN SOLUTION\n.*?### END SOLUTION"
        cell.source = re.sub(
            marked, lambda m, stub=stub: textwrap.indent(stub, m[1]), cell.source, flags=re.DOTALL | re.MULTILINE
        )
    return student


def submission(problems, answers=None, *, rest="solution", name=NAME):
    """Return a notebook as handed in: `answers` by task name; the rest solved, or left blank."""
    handed = release(problems)
    by_name = {task.name: task for task in problems.tasks}
    for cell in handed.cells:
        task = cell.metadata.nbgrader.grade_id
        if task == "name":
            cell.source = f"my_name = {name!r}"
        if task in by_name and (task in (answers or {}) or rest == "solution"):
            body = (answers or {}).get(task, by_name[task].solution)
            cell.source = body.strip() if by_name[task].by_hand else by_name[task].cell(body)
    return handed


def grade(problems, handed, *, name=NAME, fork=True, **how):
    """Return the points and the messages of each task that grades itself, without nbgrader.

    By default in copies of this process, which is quick and for answers of our own; with ``fork=False`` as it is done
    to students.
    """
    if fork:  # what the sets import is then there already
        for module in ("IPython", "matplotlib.pyplot", "sympy", "ldp_lib.datasets", "ldp_lib.corr_rr", "ldp_lib.limit"):
            importlib.import_module(module)
    tests = {f"{task.name}-tests": task for task in problems.graded}
    cells = []
    for cell in handed.cells:
        if cell.cell_type == "code":
            task = tests.get(cell.metadata.get("nbgrader", {}).get("grade_id"))
            known = {"hidden": task.hidden, "points": task.points} if task else {}
            cells.append((task, Cell(source=cell.source, **known)))
    marked = mark([cell for _, cell in cells], name, fork=fork, **how)
    places = {task.name: place for place, (task, _) in enumerate(cells) if task}
    return {task: (marked.points[place], "\n".join(marked.said[place])) for task, place in places.items()}


def wrong_answers(problems):
    """Yield answers by task, and the points that they keep: one wrong answer to every other task, then to the others.

    So each solution is graded beside wrong answers to its neighbours. Answers that loop are left to nbgrader.
    """
    typical = {task.name: [w for w in task.wrong if not w.get("apart")] for task in problems.graded}
    names = list(typical)
    rounds = [{name: typical[name][0] for name in names[start::2]} for start in (0, 1)]
    for turn in range(1, max(map(len, typical.values()))):
        rounds.append({name: found[turn] for name, found in typical.items() if turn < len(found)})
    for chosen in rounds:
        yield {name: w["code"] for name, w in chosen.items()}, {name: w.get("keeps", 0) for name, w in chosen.items()}


def machinery():
    """Return the files that grade: settings, and the package `grader`."""
    return [FOLDER / "nbgrader_config.py", *sorted((FOLDER / "grader").glob("*.py"))]


def build(target):
    """Write the archives: one for students, one for instructors, which is a whole nbgrader course."""
    target.mkdir(parents=True, exist_ok=True)
    archives = {
        "release": {},
        "instructor": {str(path.relative_to(FOLDER)): path.read_text(encoding="utf-8") for path in machinery()},
    }
    for problems in sets():
        name = f"{problems.name}/{problems.name}.ipynb"
        archives["release"][name] = nbformat.writes(release(problems))
        archives["instructor"][f"source/{name}"] = nbformat.writes(notebook(problems))
    for archive, files in archives.items():
        with zipfile.ZipFile(target / f"{archive}.zip", "w", zipfile.ZIP_DEFLATED) as packed:
            for name, text in files.items():
                # A fixed time: the same sources give the same bytes.
                entry = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
                entry.external_attr = 0o644 << 16
                packed.writestr(entry, text)
        print(f"{target / archive}.zip: {len(files)} files")


def through_nbgrader(problems, handed, *, config=""):
    """Return for each submission the points of each task, as nbgrader gives them.

    Parameters
    ----------
    problems : Set
        The set.
    handed : dict
        Student's name -> notebook.
    config : str
        Lines that are added to the course's configuration.

    Returns
    -------
    released : notebook
        What `nbgrader generate_assignment` gives students.
    scores : dict
        Student's name -> task's name -> points; None where a person must grade.
    told : dict
        Student's name -> the page of feedback.
    """
    from nbgrader.apps import NbGraderAPI
    from traitlets.config.loader import PyFileConfigLoader

    course = Path(tempfile.mkdtemp(prefix="course-"))
    # nbgrader starts alembic, which is among its own programs.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    try:
        (course / "source" / problems.name).mkdir(parents=True)
        nbformat.write(notebook(problems), course / "source" / problems.name / f"{problems.name}.ipynb")
        for path in machinery():
            place = course / path.relative_to(FOLDER)
            place.parent.mkdir(exist_ok=True)
            text = path.read_text(encoding="utf-8")
            place.write_text(f"{text}\n{config}\n" if path.name == "nbgrader_config.py" else text, encoding="utf-8")
        settings = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
        settings.CourseDirectory.root = str(course)
        api = NbGraderAPI(config=settings)
        _succeed(api.generate_assignment(problems.name))
        for student, submitted in handed.items():
            place = course / "submitted" / student / problems.name
            place.mkdir(parents=True)
            nbformat.write(submitted, place / f"{problems.name}.ipynb")
            _succeed(api.autograde(problems.name, student))
            _succeed(api.generate_feedback(problems.name, student))
        released = nbformat.read(course / "release" / problems.name / f"{problems.name}.ipynb", as_version=4)
        told = {
            student: (course / "feedback" / student / problems.name / f"{problems.name}.html").read_text(
                encoding="utf-8"
            )
            for student in handed
        }
        return released, {student: _scores(api, problems, student) for student in handed}, told
    finally:
        shutil.rmtree(course)


def _succeed(result):
    if not result["success"]:
        raise RuntimeError(result.get("error") or result["log"])


def _scores(api, problems, student):
    with api.gradebook as book:
        grades = book.find_submission_notebook(problems.name, problems.name, student).grades
        return {g.name.removesuffix("-tests"): None if g.needs_manual_grade else g.score for g in grades}


def check(problems):
    """Grade the solution, the blank and every wrong answer through nbgrader; return what is not as it should be."""
    full = {task.name: task.points for task in problems.graded}
    alone = [
        ({t.name: w["code"]}, {t.name: w.get("keeps", 0)}) for t in problems.graded for w in t.wrong if w.get("apart")
    ]
    handed, wanted = {}, {}
    for i, (answers, keeps) in enumerate([*wrong_answers(problems), *alone]):
        handed[f"wrong{i}"] = submission(problems, answers, name=f"wrong{i}")
        wanted[f"wrong{i}"] = full | keeps
    handed |= {"solution": submission(problems, name="solution"), "blank": release(problems)}
    wanted |= {"solution": full, "blank": dict.fromkeys(full, 0)}
    _, scores, told = through_nbgrader(problems, handed)
    found = [
        f"{problems.name}, {student}, {name}: {scores[student].get(name)} points, not {points}"
        for student, tasks in wanted.items()
        for name, points in tasks.items()
        if scores[student].get(name) != points
    ]
    found += [
        f"{problems.name}, {student}: {leak}"
        for student, page in told.items()
        for leak in leaks(problems, handed[student], page)
    ]
    # One wrong answer at a time costs that task's points and no others.
    for task in problems.graded:
        for wrong in task.wrong:
            if not wrong.get("apart"):
                got = grade(problems, submission(problems, {task.name: wrong["code"]}))
                points = {name: points for name, (points, _) in got.items()}
                good = points == full | {task.name: wrong.get("keeps", 0)}
                found += [] if good else [f"{problems.name}, {task.name}, {wrong['why']}: {points}"]
    return found


def leaks(problems, handed, page):
    """Return the lines of hidden tests that a page of feedback shows, but for those that were handed in."""
    seen = "\n".join(cell.source for cell in handed.cells)
    said = html.unescape(re.sub(r"<[^>]+>", "", page))
    lines = {line.strip() for task in problems.graded for line in task.hidden.splitlines()}
    return sorted(line for line in lines if len(line) > 15 and line in said and line not in seen)


def main():
    """Build, or check."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build").add_argument("target", type=Path)
    commands.add_parser("check").add_argument("names", nargs="*")
    words = parser.parse_args()
    if words.command == "build":
        build(words.target)
    elif words.command == "check":
        wrong = []
        for problems in sets():
            if not words.names or problems.name in words.names:
                found = check(problems)
                print(f"{problems.name}: {found or 'as it should be'}", flush=True)
                wrong += found
        sys.exit(bool(wrong))


if __name__ == "__main__":
    main()

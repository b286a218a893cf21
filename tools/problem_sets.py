"""Make and grade the problem sets: each is one file in assignments/, from which all else comes.

    python tools/problem_sets.py build TARGET     release.zip and instructor.zip
    python tools/problem_sets.py check [SET ...]  grade every answer of the sets through nbgrader

A set says for each task its prompt, starter, solution, visible and hidden tests, points, and typical wrong answers.
The solution and the wrong answers are what stands below the starter; they are indented as its last line is.
"""

import argparse
import os
import re
import shutil
import sys
import tempfile
import textwrap
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path

import nbformat
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "assignments"
STUB = "# YOUR CODE HERE\nraise NotImplementedError()"
TEXT_STUB = "YOUR ANSWER HERE"
# What a submission may have patched is imported anew before each hidden test.
HIDDEN = (
    'import importlib\nimport sys\n\nsys.modules.pop("ldp_lib.book.grading", None)\n'
    'grading = importlib.import_module("ldp_lib.book.grading")\n'
)
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
        hidden = f"### BEGIN HIDDEN TESTS\n{HIDDEN}{self.hidden.rstrip()}\n### END HIDDEN TESTS"
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
        "notebook computes from top to bottom counts. The tests below a task are some of those that grade it."
    )
    cells = [_text(first, "intro"), _code(problems.imports.rstrip(), "imports", locked=True)]
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


def submission(problems, answers=None, *, rest="solution"):
    """Return a notebook as handed in: `answers` by task name; the rest solved, or left blank."""
    handed = release(problems)
    by_name = {task.name: task for task in problems.tasks}
    for cell in handed.cells:
        name = cell.metadata.nbgrader.grade_id
        if name in by_name and (name in (answers or {}) or rest == "solution"):
            body = (answers or {}).get(name, by_name[name].solution)
            cell.source = body.strip() if by_name[name].by_hand else by_name[name].cell(body)
    return handed


def grade(problems, handed):
    """Return the points and the message of each task that grades itself; the cells run in this process."""
    import matplotlib

    matplotlib.use("Agg")
    tests = {f"{task.name}-tests": task for task in problems.graded}
    cells, points = [], {}
    space = {"__name__": "__main__", "In": cells}
    for cell in handed.cells:
        if cell.cell_type != "code":
            continue
        task = tests.get(cell.metadata.nbgrader.grade_id)
        cells.append(task.tests if task else cell.source)
        message = _run(cells[-1], space)
        if task:
            points[task.name] = (0 if message else task.points, message)
    matplotlib.pyplot.close("all")
    return points


def _run(source, space):
    """Run a cell and return its error's message; what a student's code warns of is no error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(source, "<cell>", "exec"), space)
        except Exception as error:
            return f"{type(error).__name__}: {error}"
    return ""


def wrong_answers(problems):
    """Yield answers by task: the first wrong one of every other task, of the others, then all second ones, and so on.

    So each solution is graded beside wrong answers to its neighbours. Answers that loop or patch are left to nbgrader.
    """
    typical = {task.name: [w["code"] for w in task.wrong if not w.get("apart")] for task in problems.graded}
    names = list(typical)
    yield from ({name: typical[name][0] for name in names[start::2]} for start in (0, 1))
    for turn in range(1, max(map(len, typical.values()))):
        yield {name: codes[turn] for name, codes in typical.items() if turn < len(codes)}


def build(target):
    """Write the archives: one for students, one for instructors, which is a whole nbgrader course."""
    target.mkdir(parents=True, exist_ok=True)
    archives = {
        "release": {},
        "instructor": {"nbgrader_config.py": (FOLDER / "nbgrader_config.py").read_text(encoding="utf-8")},
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
    """
    from nbgrader.apps import NbGraderAPI
    from traitlets.config.loader import PyFileConfigLoader

    course = Path(tempfile.mkdtemp(prefix="course-"))
    # nbgrader starts alembic, which is among its own programs.
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    try:
        (course / "source" / problems.name).mkdir(parents=True)
        nbformat.write(notebook(problems), course / "source" / problems.name / f"{problems.name}.ipynb")
        (course / "nbgrader_config.py").write_text(
            f"{(FOLDER / 'nbgrader_config.py').read_text(encoding='utf-8')}\n{config}\n"
        )
        settings = PyFileConfigLoader("nbgrader_config.py", path=str(course)).load_config()
        settings.CourseDirectory.root = str(course)
        api = NbGraderAPI(config=settings)
        _succeed(api.generate_assignment(problems.name))
        for student, submitted in handed.items():
            place = course / "submitted" / student / problems.name
            place.mkdir(parents=True)
            nbformat.write(submitted, place / f"{problems.name}.ipynb")
            _succeed(api.autograde(problems.name, student))
        released = nbformat.read(course / "release" / problems.name / f"{problems.name}.ipynb", as_version=4)
        return released, {student: _scores(api, problems, student) for student in handed}
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
    alone = [{task.name: w["code"]} for task in problems.graded for w in task.wrong if w.get("apart")]
    answers = [*wrong_answers(problems), *alone]
    handed = {f"wrong{i}": submission(problems, wrong) for i, wrong in enumerate(answers)}
    wanted = {f"wrong{i}": full | dict.fromkeys(wrong, 0) for i, wrong in enumerate(answers)}
    handed |= {"solution": submission(problems), "blank": release(problems)}
    wanted |= {"solution": full, "blank": dict.fromkeys(full, 0)}
    _, scores = through_nbgrader(problems, handed)
    found = [
        f"{problems.name}, {student}, {name}: {scores[student].get(name)} points, not {points}"
        for student, tasks in wanted.items()
        for name, points in tasks.items()
        if scores[student].get(name) != points
    ]
    # One wrong answer at a time costs that task's points and no others.
    for task in problems.graded:
        for wrong in task.wrong:
            if not wrong.get("apart"):
                got = grade(problems, submission(problems, {task.name: wrong["code"]}))
                lost = [name for name, (points, _) in got.items() if points == 0]
                found += [] if lost == [task.name] else [f"{problems.name}, {task.name}, {wrong['why']}: lost {lost}"]
    return found


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

"""Mark one submission: run it twice, with the library and without, then run the hidden tests here, on its answers."""

import ast
import itertools
import math
import re
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction

from grader import compare
from grader.session import Answers, Session, absent

HIDDEN = re.compile(r"\n?### BEGIN HIDDEN TESTS\n(.*?)\n### END HIDDEN TESTS", re.DOTALL)
# Names that a solution has no need of. A person looks at a submission that has them; they cost no points.
LOOK_AT = {
    "builtins",
    "compile",
    "ctypes",
    "eval",
    "exec",
    "gc",
    "get_ipython",
    "globals",
    "importlib",
    "inspect",
    "mmap",
}
LOOK_AT |= {
    "nbgrader",
    "open",
    "os",
    "pathlib",
    "pickle",
    "shutil",
    "signal",
    "socket",
    "subprocess",
    "sys",
    "threading",
}
LOOK_AT |= {"__import__", "In", "gradebook", "grader", "vars", "locals", "getattr", "setattr"}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """A code cell: the student's, or with hidden tests and points an instructor's."""

    source: str
    hidden: str = ""
    points: float = 0


@dataclass
class Marked:
    """What came out of one submission, by the cells' places: outputs, points, messages; and what a person looks at."""

    shown: dict = field(default_factory=dict)
    points: dict = field(default_factory=dict)
    said: dict = field(default_factory=dict)
    look_at: list = field(default_factory=list)


def mark(cells, name, **how):
    """Return what a student's cells show and earn; ``how`` goes to the processes (see `Session`)."""
    marks = itertools.count()
    order = [(cell.source, next(marks) if cell.hidden else None) for cell in cells]
    marked = Marked(look_at=look_at([cell.source for cell in cells if not cell.hidden]))
    graded = [
        (place, cell, number) for place, (cell, (_, number)) in enumerate(zip(cells, order, strict=True)) if cell.hidden
    ]
    alone = [one for one in graded if "own." in one[1].hidden]
    missing = []
    # First the run without the library, and it ends before the other begins: no program with the library can help it.
    if alone:
        with Session(order, library=False, **how) as without:
            for place, cell, number in alone:
                answers = Answers(without, number)
                marked.points[place], marked.said[place] = earn(cell, name, own=answers)
                missing += [(place, number, one) for one in answers.missing]
    with Session(order, library=True, **how) as full:
        marked.shown = dict(enumerate(full.shown))
        for place, cell, number in graded:
            if place not in marked.points:
                marked.points[place], marked.said[place] = earn(cell, name, student=Answers(full, number))
        for place, number, one in missing:
            with suppress(compare.Wrong):
                if full.ask(number, one) is not None:
                    words = f"without the library there is no {one}: this task asks for your own derivation"
                    marked.said[place] = [words if absent(one) == said else said for said in marked.said[place]]
        with suppress(compare.Wrong, IndexError):
            given = full.ask(0, "my_name")
            if given is not None and (not isinstance(given, str) or given.strip().lower() != name.strip().lower()):
                marked.look_at.append("another name stands in the notebook")
    return marked


def earn(cell, name, *, own=None, student=None):
    """Return the points and messages of one task's hidden tests."""
    parts = compare.Parts()
    space = {name: getattr(compare, name) for name in ("agree", "flat", "rationals", "same", "words", "Wrong")}
    space |= {"Fraction": Fraction, "itertools": itertools, "math": math, "part": parts}
    space |= {"own": own, "student": student, "mine": lambda task, low, high: compare.own_number(name, task, low, high)}
    try:
        exec(compile(cell.hidden, "<hidden tests>", "exec"), space)
    except Exception as error:
        return 0, [*parts.said, compare.message(error)]
    return (parts.earned if parts.worth else cell.points), parts.said


def look_at(sources):
    """Return what a person should look at: names that no task needs, and lines that are no Python."""
    found = set()
    for source in sources:
        if "### BEGIN SOLUTION" in source:
            found.add("marks of the instructor's notebook")
        try:
            tree = ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            found.add("a cell that is no plain Python")
            continue
        for node in ast.walk(tree):
            for part in ("id", "attr", "module", "name", "arg"):
                name = getattr(node, part, None)
                words = name.split(".") if isinstance(name, str) else ()
                found.update(w for w in words if w in LOOK_AT or (w[:2] == w[-2:] == "__" and w != "__name__"))
            text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
            found.update(w for w in re.findall(r"\w+", text) if w in {"gradebook", "submitted", "site", "__import__"})
    return sorted(found)


def outputs(cell, marked, place):
    """Return a graded cell's outputs: its points, what to look at, and what the visible tests said."""
    earned = marked.points[place]
    text = "".join(f"{said}\n" for said in marked.said[place])
    shown = [
        {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": {"text/plain": f"{earned:g}"}}
    ]
    lines = f"{earned:g} of {cell.points:g} points\n{text}"
    return [*shown, {"output_type": "stream", "name": "stdout", "text": lines}, *marked.shown.get(place, ())]

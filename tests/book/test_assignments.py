"""The assignments grade: all points for the solution, none for the blank; a wrong answer loses its own task only.

A sample; `make assignments-check` grades every answer of every set through nbgrader.
"""

import ast
import importlib.util
import math
import os
import re
import resource
import sys
import textwrap
import warnings
import zipfile
from fractions import Fraction
from pathlib import Path

import matplotlib.pyplot as plt
import nbformat
import numpy as np
import problem_sets
import pytest
import sympy as sp
from grader import compare, marking, session, worker

from ldp_lib import SPL, OneQuestion, designs, grr, jrr, limit, pure, subset, total_error, unary
from ldp_lib.corr_rr import SecondPhase
from ldp_lib.population import Population

ROOT = Path(__file__).resolve().parents[2]
SETS = problem_sets.sets()
by_set = pytest.mark.parametrize("problems", SETS, ids=lambda problems: problems.name)
FENCED = sys.platform == "linux"


def points(graded):
    """Return the points by task."""
    return {name: score for name, (score, _) in graded.items()}


@by_set
def test_a_set_has_five_to_eight_tasks_a_picture_and_a_paragraph(problems):
    assert 5 <= len(problems.tasks) <= 8
    assert 60 <= problems.minutes <= 90
    (by_hand,) = [task for task in problems.tasks if task.by_hand]
    assert "*Points:*" in by_hand.solution
    assert by_hand.solution.partition("*Points:*")[2].count("(1)") == by_hand.points
    assert any("student.drawn()" in task.hidden for task in problems.tasks)
    assert any("own." in task.hidden for task in problems.tasks)
    assert any("part(" in task.hidden for task in problems.tasks)
    assert all((ROOT / "notebooks" / f"{chapter}.ipynb").exists() for chapter in problems.chapters)


def test_numbers_in_the_instructor_s_paragraphs_are_those_of_the_formulas():
    told = {
        problems.name: " ".join(task.solution.split()) for problems in SETS for task in problems.tasks if task.by_hand
    }
    apps, times = re.search(r"at ([\d,]+) it is (\d+) times that of bits", told["ps2"]).groups()
    (answer, other), bits = grr.probabilities(math.e, int(apps.replace(",", ""))), unary.oue_probabilities(math.e)
    assert round(pure.variance(0, 1, answer, other) / pure.variance(0, 1, *bits)) == int(times)
    asked = [
        OneQuestion(k=(2,) * 10, epsilon=1.0).variance(Population.from_shares([[f, 1 - f]] * 10, 50_000))
        for f in (1, 0.5)
    ]
    noise, even = (sum(map(np.sum, found)) for found in asked)  # all alike: no error of a sample
    split = sum(map(np.sum, SPL(k=(2,) * 10, epsilon=1.0).variance(Population.from_shares([[0.5, 0.5]] * 10, 50_000))))
    few, many, sample = re.search(
        r"still ([\d.]+) to ([\d.]+) of it.* up to (\d+) % of the noise", told["ps3"]
    ).groups()
    assert [few, many, sample] == [f"{noise / split:.2f}", f"{even / split:.2f}", f"{100 * (even / noise - 1):.0f}"]
    true, promised = re.search(r"ε = ([\d.]+) in place of ([\d.]+)", told["ps9"]).groups()
    p, k = sp.symbols("p k", positive=True)
    (keep,) = sp.solve(p / ((1 - p) / k) - math.exp(float(promised)), p)
    assert round(float(sp.log((p + (1 - p) / k) / ((1 - p) / k)).subs(p, keep).subs(k, 4)), 2) == float(true)
    agree = np.array([8789, 1, 3, 5, 1, 4, 3, 1194]).reshape(2, 2, 2) / 10_000  # at 1 dependence helps, if little
    ones = [1 - np.delete(agree, 0, axis).sum() * 2 for axis in range(3)]
    alone = sum((1 / math.tanh(0.5) ** 2 - mean**2) ** 0.5 for mean in ones) ** 2 / 2
    assert float(re.search(r"up to ε = ([\d.]+)", told["ps8"])[1]) <= math.log(2) < 1
    assert 0.99 < limit.least_error((2, 2, 2), 1.0, agree).attained / alone < 0.999
    factors = re.findall(r"a factor of (?:at most )?([\d.]+\d)", told["ps8"])
    assert len(factors) == 2
    assert all(math.e <= float(factor) < 2.73 for factor in factors)  # no bound is rounded down
    columns = [np.repeat([0, 1, 2], shares) for shares in ([2500, 1500, 1000], [2250, 1750, 1000])]
    tied, free = (
        total_error(
            SecondPhase(k=(3, 3), epsilon=0.1, reuse=1.0),
            Population.from_records(np.column_stack([columns[0], other]), k=(3, 3)),
        )
        for other in (columns[1], np.random.default_rng(1).permutation(columns[1]))
    )
    assert "stays the same (nearly, if people are held fixed)" in told["ps4"]
    assert 0.999 < tied / free < 1


def test_no_float_decides_how_many_people_are_enough():
    """Set 7: at 30 % and at 48 % the answer is a whole number, which floats exceed; these are nobody's own numbers."""
    (task,) = [task for problems in SETS for task in problems.tasks if task.name == "enough_people"]
    ends = re.findall(r'"(?:low|high)", (\d+), (\d+)', task.starter)
    assert ends == re.findall(r'"(?:low|high)", (\d+), (\d+)', task.hidden)

    def needed(percent):
        share = Fraction(percent, 100)
        best, card = designs.warner(Fraction(11, 12)), designs.unrelated_question(Fraction(1, 2), Fraction(1, 10))
        return 710 * designs.variance(best, share, 1) / designs.variance(card, share, 1)

    assert [percent for percent in range(6, 50) if needed(percent).denominator == 1] == [30, 48]
    assert all(needed(at).denominator > 1 for low, high in ends for at in range(int(low), int(high) + 1))


@by_set
def test_a_task_that_does_without_the_library_says_so_and_own_numbers_are_announced(problems):
    for task in problems.graded:
        assert ("own." in task.hidden) <= ("library" in task.prompt), task.name
        assert ("mine(" in task.hidden) == ("your own" in task.prompt) == ("mine(" in task.starter), task.name


@by_set
def test_the_solution_gets_full_marks(problems):
    graded = problem_sets.grade(problems, problem_sets.submission(problems))
    assert graded == {task.name: (task.points, "") for task in problems.graded}


ROADS = {
    ("ps1", "estimator"): "estimator = 1.0 * (c - n * q) / (n * (p - q))",  # for SymPy 0.5 is not equal to 1/2
    ("ps2", "two_bits"): "ratio = p * (1.0 - q) / (q * (1.0 - p))",
    ("ps2", "picture"): """
        e, between = math.e, np.geomspace(2, 100)
        sizes = sorted({round(k) for k in between})
        ax.loglog(between, (e + between - 2) / (e - 1) ** 2, label="answer")
        ax.axhline(4 * e / (e - 1) ** 2, label="bits")
        best = [subset.probabilities(e, k, subset.optimal_size(e, k)) for k in sizes]
        ax.loglog(sizes, [pure.variance(0, 1, *pair) for pair in best], label="set")
        ax.set(xlabel="answers", ylabel="variance")""",
    ("ps3", "small_budgets"): "split, asked = 1.0 * d**3 * (k**2 - k), d**2 * k * (k - 1)",
    ("ps7", "standard_errors"): """
        found, drawn = 2 * yes / 710 - 0.1, 4 * yes / 710 * (1 - yes / 710) / 709  # without bias: 709
        errors = [100 * drawn**0.5, 100 * (drawn - found * (1 - found) / 10_776) ** 0.5]""",
    ("ps9", "two_lies"): """
        q = 1 - p
        both_lie = q**2 + rho * p * q
        excess = p**2 + rho * p * q + 2 * (1 - rho) * p * q + q**2 - rho * p * q - 1""",
}


@pytest.mark.parametrize(("name", "task"), ROADS)
def test_a_right_answer_by_another_road_passes_what_students_see_and_what_grades(name, task):
    (problems,), body = [s for s in SETS if s.name == name], textwrap.dedent(ROADS[name, task]).strip()
    graded = problem_sets.grade(problems, problem_sets.submission(problems, {task: body}))
    (asked,) = [one for one in problems.graded if one.name == task]
    assert graded[task] == (asked.points, "")
    own = f"my_name = {problem_sets.NAME!r}\n{problems.imports}\n{problem_sets.OWN_NUMBER}"
    exec(f"{own}\n{asked.cell(body)}\n{asked.visible}", {})
    plt.close("all")  # other tests' figures do not start on this one's axes


def test_the_two_holders_whom_students_test_by_can_exist():
    (asked,) = [task for task in SETS[4].graded if task.name == "a_count"]
    rho, p = (Fraction(f"{sign}{a}/{b}") for sign, a, b in re.findall(r"(-?)sp.Rational.(\d), (\d)", asked.visible))
    assert p > Fraction(1, 2)
    assert rho == -(1 - p) / p
    assert p**2 + rho * p * (1 - p) == Fraction(1, 2)
    assert f"sp.nsimplify(two) == {jrr.variance(2, 2, p, rho):.12g}," in asked.visible


def test_the_picture_of_sets_says_which_size_since_the_best_for_an_answer_that_nobody_holds_is_another():
    def error(k, size):
        return pure.variance(0, 1, *subset.probabilities(math.e, k, size))

    best = {k: min(range(1, k), key=lambda size, k=k: error(k, size)) for k in range(2, 101)}
    assert sum(subset.optimal_size(math.e, k) != size for k, size in best.items()) == 23
    (asked,) = [task for task in SETS[1].graded if task.name == "picture"]
    assert "Sets have the size `subset.optimal_size`" in asked.prompt


@pytest.mark.parametrize("problems", SETS[-1:], ids=lambda problems: problems.name)
def test_a_wrong_answer_loses_its_own_points_and_no_others(problems):
    for answers, keeps in problem_sets.wrong_answers(problems):
        graded = problem_sets.grade(problems, problem_sets.submission(problems, answers))
        assert points(graded) == {task.name: task.points for task in problems.graded} | keeps
        assert [name for name in answers if not graded[name][1]] == []  # each is told what to look at


@by_set
def test_the_release_tells_no_answer(problems):
    text = nbformat.writes(problem_sets.release(problems))
    assert [word for word in ("HIDDEN", "SOLUTION", "same(", "student.", "with part(") if word in text] == []
    assert text.count("NotImplementedError") == len(problems.graded) + 1  # and the name


@by_set
def test_what_another_student_computed_is_not_accepted(problems):
    numeric = {task.name: task for task in problems.graded if "mine(" in task.starter}
    if problems.name != "ps2":
        assert numeric
    if problems.name in ("ps5", "ps9"):  # a sample: the others are graded alike
        graded = problem_sets.grade(problems, problem_sets.submission(problems, name="bob"), name="ada")
        assert [name for name in numeric if graded[name][0] == numeric[name].points] == []
        assert [name for name, task in points(graded).items() if name not in numeric and task == 0] == []


def test_own_numbers_are_the_same_in_notebooks_and_in_grading():
    space = {"my_name": " Ada Lovelace"}
    exec(problem_sets.OWN_NUMBER, space)
    found = {space["mine"]("task", low, 99) for low in range(20)}
    assert found == {compare.own_number("ada lovelace", "task", low, 99) for low in range(20)}
    assert len({compare.own_number(f"student{i}", "task", 0, 10**6) for i in range(200)}) == 200


def test_nbgrader_gives_no_leak_stops_a_loop_and_takes_points_from_the_source():
    problems = SETS[0]
    answers, _ = next(problem_sets.wrong_answers(problems))
    # Sleeps in place of counting: as endless, and cheap.
    wrong = problem_sets.submission(problems, answers | {"how_many_people": "while True:\n    pass"}, name="wrong")
    tests = {cell.metadata.nbgrader.grade_id: cell for cell in wrong.cells}
    for name, task in (("estimator-tests", "estimator"), ("variance-tests", "variance")):
        tests[name].source = f"### BEGIN HIDDEN TESTS\npass\n### END HIDDEN TESTS\n'{task}'"
        tests[name].metadata.nbgrader.points = 100
    shout = nbformat.v4.new_markdown_cell("<script>alert(2)</script> <img src=x onerror=alert(3)> [x](java:4)")
    wrong.cells += [nbformat.v4.new_code_cell("print('<script>alert(1)</script>')\n7"), shout]
    handed = {"ada": problem_sets.submission(problems), "wrong": wrong, "blank": problem_sets.release(problems)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        released, scores, told = problem_sets.through_nbgrader(problems, handed, config="c.Mark.seconds = 12")
    full = {task.name: task.points for task in problems.graded}
    (by_hand,) = [task.name for task in problems.tasks if task.by_hand]
    assert scores["ada"] == full | {by_hand: None}
    assert scores["wrong"] == full | dict.fromkeys(answers, 0) | {"how_many_people": 0, by_hand: None}
    assert scores["blank"] == dict.fromkeys(full, 0) | {by_hand: 0}
    assert {name: problem_sets.leaks(problems, handed[name], page) for name, page in told.items()} == {
        "ada": [],
        "wrong": [],
        "blank": [],
    }
    assert "Error" not in told["ada"].partition("<body")[2]
    assert "data:image/png" in told["ada"]
    assert not any(text in told["wrong"] for text in ("<script>alert", 'onerror="alert', "<img src=x", 'href="java'))
    assert "&lt;script&gt;alert(2)" in told["wrong"]
    assert [cell.source for cell in released.cells] == [cell.source for cell in problem_sets.release(problems).cells]


def test_leaks_are_seen():
    problems = SETS[0]
    page = f"<pre>{problems.graded[0].hidden}</pre>"
    assert problem_sets.leaks(problems, problem_sets.release(problems), page)


def test_the_archives_hold_what_students_and_instructors_need(tmp_path):
    problem_sets.build(tmp_path)
    with zipfile.ZipFile(tmp_path / "release.zip") as packed:
        assert sorted(packed.namelist()) == [f"{s.name}/{s.name}.ipynb" for s in SETS]
    with zipfile.ZipFile(tmp_path / "instructor.zip") as packed:
        names = packed.namelist()
        source = nbformat.reads(packed.read("source/ps1/ps1.ipynb"), as_version=4)
    grading = ["__init__", "compare", "marking", "session", "step", "worker"]
    assert sorted(names) == [
        *(f"grader/{name}.py" for name in grading),
        "nbgrader_config.py",
        *(f"source/{s.name}/{s.name}.ipynb" for s in SETS),
    ]
    assert sum("BEGIN HIDDEN TESTS" in cell.source for cell in source.cells) == len(SETS[0].graded)


def test_a_set_that_lacks_something_is_refused(tmp_path):
    text = (ROOT / "assignments" / "ps1.yml").read_text(encoding="utf-8")
    for old, new, hint in (("    points: 4\n", "", "missing"), ("visible:", "visble:", "visble")):
        (tmp_path / "ps10.yml").write_text(text.replace(old, new, 1))
        with pytest.raises(ValueError, match=hint):
            problem_sets.read(tmp_path / "ps10.yml")


# What cheats try. `cube(n)` is asked for, and one answer of another kind; the library's `pure.estimate` is forbidden.
CHEATS = {
    "frames": """
        import inspect
        import sys
        def cube(n):
            frame = sys._getframe()
            while frame:
                for value in [*frame.f_locals.values(), *frame.f_globals.values()]:
                    if getattr(value, "__name__", "") in ("<lambda>", "truth", "earn"):
                        return value(n)
                frame = frame.f_back
            return [f.frame.f_globals.get("truth", 0) for f in inspect.stack()][0]
        """,
    "globals": """
        import gc
        earned = points = 100
        def cube(n):
            for found in gc.get_objects():
                if type(found).__name__ in ("Parts", "Marked", "Cell"):
                    found.earned = found.points = 100
            return 0
        """,
    "the checker is patched": """
        import sys
        sys.path += ["SECRET/..", "SECRET", "."]
        try:
            from grader import compare, marking
            compare.agree = compare.same = marking.earn = lambda *given: None
        except ImportError:
            pass
        def cube(n):
            return 0
        """,
    "builtins are patched": """
        import builtins
        import fractions
        import json
        builtins.abs = builtins.float = lambda *given: 0
        builtins.all = lambda *given: True
        fractions.Fraction.__eq__ = lambda *given: True
        json.dumps = lambda *given: '["int", "8"]'
        def cube(n):
            return 0
        """,
    "always equal": """
        class Yes(int):
            def __eq__(self, other): return True
            def __le__(self, other): return True
            def __sub__(self, other): return Yes()
            def __int__(self): return 0
            __hash__ = None
        def cube(n):
            return Yes()
        """,
    "the checker's names": """
        same = agree = truth = lambda *given: None
        own = student = part = points = hint = None
        class Wrong(BaseException):
            pass
        AssertionError = Wrong
        def cube(n):
            raise Wrong("1 of 1 points")
        """,
    "nothing stays in the history": """
        from ldp_lib import pure
        estimate = pure.estimate
        try:
            In.clear(); Out.clear()
            del pure
        except NameError:
            pass
        def cube(n):
            return 0
        """,
    "exit": """
        import sys
        def cube(n):
            sys.exit(0)
        sys.exit(0)
        """,
    "the grade file is written": """
        import os
        def cube(n):
            for name in ("gradebook.db", "grades.csv", "source/ps1/ps1.ipynb", "new.txt"):
                try:
                    open("SECRET/" + name, "w").write("100")
                except OSError:
                    pass
            return 0
        cube(1)
        try:
            os.remove("SECRET/gradebook.db"); os.rename("SECRET", "SECRET.old")
        except OSError:
            pass
        """,
    "solutions are read": """
        import glob
        import os
        found = ["SECRET/solution.txt", *glob.glob("SECRET/**/*", recursive=True), "/proc/self/cwd/SECRET/solution.txt"]
        for name in ("link", "hard"):
            try:
                (os.symlink if name == "link" else os.link)("SECRET/solution.txt", name)
                found.append(name)
            except OSError:
                pass
        for name in found:
            try:
                exec(open(name).read())
                print("LEAKED")
            except OSError:
                pass
        """,
    "import hooks": """
        import importlib.machinery
        import importlib.util
        import sys
        sys.meta_path[:] = [importlib.machinery.BuiltinImporter, importlib.machinery.PathFinder]
        sys.modules = {k: v for k, v in sys.modules.items() if "ldp" not in k}
        sys.path.append("LIBRARY/..")
        try:
            spec = importlib.util.spec_from_file_location("mine", "LIBRARY/pure.py")
            pure = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(pure)
        except OSError:
            try:
                from ldp_lib import pure
            except ImportError:
                pass
        estimate = lambda c, n, p, q: pure.estimate(c, n, p, q)
        """,
    "environment variables": """
        import os
        print({k: v for k, v in os.environ.items() if "TOKEN" in k}, "LEAKED" if "GRADER_TOKEN" in os.environ else "")
        os.environ |= {"PYTHONPATH": "SECRET", "PYTHONSTARTUP": "SECRET/x.py", "JUPYTER_CONFIG_DIR": "."}
        def cube(n):
            return int(os.environ.get("ANSWER", 0))
        """,
    "other programs": """
        import os
        import subprocess
        import sys
        code = "print(open('SECRET/solution.txt').read())"
        for command in (["cat", "SECRET/solution.txt"], [sys.executable, "-c", code]):
            try:
                exec(subprocess.check_output(command))
                print("LEAKED")
            except Exception:
                pass
        os.system("echo 100 > SECRET/gradebook.db")
        """,
    "the fence is lifted": """
        import ctypes
        libc = ctypes.CDLL(None)
        libc.prctl(38, 0, 0, 0, 0)
        libc.setuid(0)
        libc.chroot(b"/")
        rules = libc.syscall(444, (ctypes.c_uint64 * 3)(0, 0, 0), 8, 0)
        libc.syscall(446, rules, 0)
        try:
            exec(open("SECRET/solution.txt").read())
            print("LEAKED")
        except OSError:
            pass
        """,
    "rights and messages": """
        import os
        import socket
        try:
            os.chmod("SECRET", 0o777); os.chmod("SECRET/solution.txt", 0o666); os.utime("SECRET/solution.txt", (1, 1))
        except OSError:
            pass
        try:
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"?", ("127.0.0.1", 9))
            print("LEAKED")
        except OSError:
            pass
        """,
    "another run answers": """
        import ctypes
        import json
        import os
        from fractions import Fraction
        libc = ctypes.CDLL(None)
        class Message(ctypes.Structure):
            _fields_ = [("kind", ctypes.c_long), ("text", ctypes.c_char * 400)]
        queue = libc.msgget(4711, 0o1600)
        def send(kind, text):
            libc.msgsnd(queue, ctypes.byref(Message(kind, text.encode())), 400, 0)
        def receive(kind):
            message = Message()
            libc.msgrcv(queue, ctypes.byref(message), 400, kind, 0)
            return message.text.decode()
        def estimate(c, n, p, q):
            send(1, json.dumps([str(v) for v in (c, n, p, q)]))
            return Fraction(receive(2))
        from ldp_lib import pure
        try:
            there = pure.estimate(1, 2, Fraction(3, 4), Fraction(1, 4)) == 1
        except RuntimeError:
            there = False
        if there and os.fork() == 0:
            try:
                os.setsid()
            except OSError:
                pass
            while queue >= 0:
                send(2, str(pure.estimate(*map(Fraction, json.loads(receive(1))))))
            os._exit(0)
        """,
    "the grader is slowed": """
        import ctypes
        import os
        libc, grader = ctypes.CDLL(None), os.getppid()
        libc.prlimit(grader, 7, (ctypes.c_uint64 * 2)(5, 5), None)
        libc.setpriority(0, grader, 19)
        libc.sched_setaffinity(grader, 8, (ctypes.c_uint64 * 1)(1))
        """,
    "a folder without end": """
        import os
        for _ in range(1_500):
            os.mkdir("d")
            os.chdir("d")
        """,
    "replies are forged": """
        import os
        for number in range(3, 60):
            try:
                os.write(number, b'["int", "0"]\\n["none"]\\n' * 3)
            except OSError:
                pass
        """,
    "the end of the grader": """
        import os
        import signal
        for number in (os.getppid(), -1):
            try:
                os.kill(os.getppid(), signal.SIGTERM)
            except OSError:
                pass
        """,
    "numbers that never end": """
        def cube(n):
            deep = 0
            for _ in range(5_000):
                deep = [deep]
            return deep
        """,
    "a formula without end": """
        import sympy
        estimate = ((sympy.Symbol("c") + 2) ** (10**9)) ** 2 + 10**4000
        """,
    "words in place of numbers": """
        def cube(n):
            raise type("the_test_asked_for_" + str(n), (Exception,), {})
        """,
}
LIBRARY = ("nothing stays in the history", "import hooks", "another run answers", "a formula without end")
HIDDEN = {
    False: "same(student.cube, lambda n: n**3, [{'n': 2}, {'n': 5}], 'look')",
    True: "same(own.estimate, lambda c, n, p, q: (c - n * q) / (n * (p - q)),"
    " [{'c': Fraction(5), 'n': Fraction(9), 'p': Fraction(3, 4), 'q': Fraction(1, 4)}], 'look')",
}
FAIR = """
    def cube(n):
        return n**3
    def estimate(c, n, p, q):
        return (c - n * q) / (n * (p - q))
    """


def marked(source, folder, monkeypatch, *, own):
    """Return what came out of one cell, in a course's folder with a solution and a gradebook."""
    (folder / "solution.txt").write_text(textwrap.dedent(FAIR))
    (folder / "gradebook.db").write_text("0")
    folder.chmod(0o700)
    monkeypatch.setenv("GRADER_TOKEN", "secret")
    library = Path(importlib.util.find_spec("ldp_lib").origin).parent
    source = textwrap.dedent(source).replace("SECRET", str(folder)).replace("LIBRARY", str(library))
    cells = [marking.Cell(source=source), marking.Cell(source="pass", hidden=HIDDEN[own], points=2)]
    return marking.mark(cells, "eve", seconds=20)


@pytest.mark.skipif(not FENCED, reason="submissions are fenced in on Linux only")
def test_the_run_without_the_library_is_over_before_the_other_begins(tmp_path, monkeypatch):
    """Two programs that run at a time find a way to talk, such as locks on a file that both can read."""
    seen = []

    class Seen(marking.Session):
        def __init__(self, cells, *, library, **how):
            seen.append(("begins", library))
            self.library = library
            super().__init__(cells, library=library, **how)

        def close(self):
            super().close()
            seen.append(("ends", self.library))

    monkeypatch.setattr(marking, "Session", Seen)
    assert marked(FAIR, tmp_path, monkeypatch, own=True).points == {1: 2}
    assert seen == [("begins", False), ("ends", False), ("begins", True), ("ends", True)]


def machine():
    """Return what this process may use."""
    return resource.getrlimit(resource.RLIMIT_NOFILE), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0)


@pytest.mark.skipif(not FENCED, reason="submissions are fenced in on Linux only")
@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_gains_nothing(cheat, tmp_path, monkeypatch):
    before = machine()
    found = marked(CHEATS[cheat], tmp_path, monkeypatch, own=cheat in LIBRARY)
    assert machine() == before
    assert found.points == {1: 0}
    assert "LEAKED" not in str(found.shown)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gradebook.db", "solution.txt"]
    assert (tmp_path / "gradebook.db").read_text() == "0"
    assert tmp_path.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "solution.txt").stat().st_mtime > 1
    # Messages are ours: a submission has no say in them.
    assert "asked_for" not in str(found.said)


@pytest.mark.skipif(not FENCED, reason="submissions are fenced in on Linux only")
@pytest.mark.parametrize("own", HIDDEN)
def test_fair_work_gains_all_where_cheats_gain_nothing(own, tmp_path, monkeypatch):
    assert marked(FAIR, tmp_path, monkeypatch, own=own).points == {1: 2}


def test_where_the_kernel_has_no_fence_grading_stops_and_says_so(tmp_path, monkeypatch):
    """As the page for instructors says of a Mac: nothing is run, with the library or without it."""
    bare, text = tmp_path / "worker.py", Path(worker.__file__).read_text(encoding="utf-8")
    bare.write_text(text.replace('if sys.platform != "linux":', "if True:"), encoding="utf-8")
    monkeypatch.setattr(worker, "__file__", str(bare))
    cells = [marking.Cell(source="print(7)")]
    with pytest.raises(session.NoFence, match="see the page for instructors"):
        marking.mark(cells, "eve", seconds=20)
    assert "7" in str(marking.mark(cells, "eve", seconds=20, unfenced=True).shown)


@pytest.mark.skipif(not FENCED, reason="submissions are fenced in on Linux only")
def test_what_others_handed_in_cannot_be_read_where_nbgrader_keeps_it(tmp_path, monkeypatch):
    monkeypatch.setattr(session, "ROOTS", (*session.ROOTS, str(tmp_path)))
    for name in ("share/nbgrader/exchange/ldp/inbound/ada+ps1", "share/jupyter/ps1"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "ps1.ipynb").write_text("SEEN")
    cell = f"""
        from pathlib import Path
        for name in ("jupyter/ps1", "nbgrader/exchange/ldp/inbound/ada+ps1"):
            print(name, Path({str(tmp_path)!r}, "share", name, "ps1.ipynb").read_text())
        """
    found = marking.mark([marking.Cell(source=textwrap.dedent(cell))], "eve", seconds=20)
    assert "jupyter/ps1 SEEN" in str(found.shown)
    assert "inbound/ada+ps1 SEEN" not in str(found.shown)
    assert "PermissionError" in str(found.shown)


@pytest.mark.skipif(not FENCED, reason="submissions are fenced in on Linux only")
def test_a_submission_that_root_grades_has_no_rights_of_root():
    may = """
        import ctypes
        import os
        import stat
        may = (ctypes.c_uint32 * 6)(*[7] * 6)
        print(ctypes.CDLL(None).capget((ctypes.c_uint32 * 2)(0x20080522), may), list(may))
        os.mknod("pipe", stat.S_IFIFO | 0o600)
        print("a pipe")
        os.mknod("disk", stat.S_IFBLK | 0o600, os.makedev(8, 0))
        """
    with session.Session([(textwrap.dedent(may), None)], library=True, seconds=20) as one:
        shown = one.shown[0][0]["text"]
    assert shown.startswith("0 [0, 0, 0, 0, 0, 0]\na pipe\n")
    assert "PermissionError" in shown


@pytest.mark.skipif(not FENCED, reason="submissions are fenced in on Linux only")
def test_slow_answers_to_many_questions_end_and_processes_are_limited():
    cells = [("import resource, time\nprint(resource.getrlimit(resource.RLIMIT_NPROC))", None)]
    cells += [("def slow(n):\n    time.sleep(0.9)\n    return n", 0)]
    with session.Session(cells, library=True, seconds=1) as one:
        (limit,) = ast.literal_eval(f"[{one.shown[0][0]['text']}]")
        assert 0 < limit[0] == limit[1] <= worker.PROCESSES
        for number in range(3):
            assert one.ask(0, "slow", "call", [number]) == number
        with pytest.raises(compare.Wrong, match="too long"):
            one.ask(0, "slow", "call", [3])


def test_a_person_is_told_whose_program_to_look_at():
    assert marking.look_at(["import sympy as sp\nx = sp.symbols('x').free_symbols", "y = [a.name for a in x]"]) == []
    looked = marking.look_at(["import os, sys", "x = ().__class__.__bases__", "!ls", "open('a')"])
    assert looked == ["__bases__", "__class__", "a cell that is no plain Python", "open", "os", "sys"]


@by_set
def test_no_solution_makes_anybody_look(problems):
    sources = [task.cell(task.solution) for task in problems.graded]
    assert marking.look_at([*sources, problems.imports, *(task.visible for task in problems.graded)]) == []


def test_copies_of_the_library_in_other_pythons_are_found(tmp_path):
    copies = [tmp_path / "lib/python3.12/site-packages/ldp_lib", tmp_path / "local/lib/python3/dist-packages/ldp_lib"]
    for copy in copies:
        copy.mkdir(parents=True)
    found = session.library_places([str(tmp_path), str(tmp_path / "local")])
    assert {str(copy.resolve()) for copy in copies} < set(found)


def test_a_link_to_the_library_opens_no_way_around(tmp_path):
    for name in ("lib/site/ldp_lib", "lib/site/numpy", "bin"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "lib64").symlink_to("lib")
    (tmp_path / "lib" / "again").symlink_to(tmp_path)
    (tmp_path / "bin" / "python").touch()
    found = dict(worker.spread([tmp_path], [tmp_path / "lib" / "site" / "ldp_lib"]))
    listed = {path.relative_to(tmp_path).as_posix() for path, rights in found.items() if rights == worker.READ_DIR}
    whole = {path.relative_to(tmp_path).as_posix() for path, rights in found.items() if rights != worker.READ_DIR}
    assert (listed, whole) == ({".", "lib", "lib/site"}, {"bin", "lib/site/numpy"})


def test_a_line_needs_its_range_and_finite_heights():
    places = [i / 10 for i in range(11)]
    picture = session.Picture({"lines": {"good": [places, places], "inf": [places, [*places[1:], float("inf")]]}})
    assert picture.line("good", 0, 1) == (places, places)
    for label, low, high in (("good", 0, 2), ("good", -1, 1), ("inf", 0, 1), ("none", 0, 1)):
        with pytest.raises(compare.Wrong):
            picture.line(label, low, high)
    with pytest.raises(compare.Wrong):
        compare.agree([0.0, 1.0], [5.0, float("inf")], "a huge value excuses no other")


def test_a_constant_may_be_drawn_from_edge_to_edge():
    drawn = {}
    for name, draw in {
        "across": lambda ax: (ax.plot([2, 5], [1, 1]), ax.axhline(3, label="here")),
        "a part": lambda ax: ax.axhline(3, 0.2, 0.8, label="here"),
        "from 0 to 1": lambda ax: ax.plot([0, 1], [3, 3], label="here"),
    }.items():
        drawn[name] = session.Picture(session.decode(worker.encode(worker.picture(draw))))
    assert drawn["across"].line("here", 2, 5, places=4) == ([2, 3, 4, 5], [3, 3, 3, 3])
    for name in ("a part", "from 0 to 1"):
        with pytest.raises(compare.Wrong):
            drawn[name].line("here", 2, 5, places=2)


def test_a_formula_that_never_ends_is_refused():
    import sympy as sp

    formula = sp.Symbol("x") + 2
    for _ in range(6):
        formula = sp.Pow(formula, 60, evaluate=False)
    with pytest.raises(compare.Wrong, match="too long"):
        compare.same(tree(formula), lambda x, y: x, POINTS, "look")


def test_a_students_text_has_formulas_and_nothing_that_acts():
    from grader.step import plain

    assert (
        plain(r"For $a < b$, $\frac{1}{2}$ and **so** on [1].") == r"For $a &lt; b$, $\frac{1}{2}$ and **so** on [1]."
    )
    acting = r"$\href{javascript:x}{y}$ [a](javascript:x) [b]: data:x ![c](http://x) [d][b] <b> $\style{top:0}{z}$"
    acting += r"$\classic \\href{x}{y}$"
    assert not any(word in plain(acting) for word in ("\\href", "](", "]:", "][", "<b", "\\style"))
    assert "\\classic" in plain(acting)


def test_what_to_look_at_is_noted_once(tmp_path):
    from grader.step import note

    path = tmp_path / "look_at.txt"
    for found in (["os"], ["os", "sys"]):
        note(path, "ps1 eve: ", found)
        note(path, "ps1 ada: ", [])
    assert path.read_text() == "ps1 eve: os, sys\n"
    note(path, "ps1 eve: ", [])
    assert path.read_text() == ""


POINTS = compare.rationals("x", "y")


def tree(formula):
    """Return a SymPy formula as it comes out of a submission's process."""
    return session.decode(worker.encode(formula))


def test_an_answer_need_not_be_simplified():
    import sympy as sp

    x, y = sp.symbols("x y")
    compare.same(tree((x**2 - y**2) / (x - y)), lambda x, y: x + y, POINTS, "look")
    compare.same(lambda x, y: float(x) + float(y), lambda x, y: x + y, POINTS, "look")
    with pytest.raises(compare.Wrong, match="look"):
        compare.same(tree((x**2 - y**2) / (x - y) + x / 10**9), lambda x, y: x + y, POINTS, "look")
    with pytest.raises(compare.Wrong, match="root"):
        compare.same(tree(sp.sqrt(x)), lambda x, y: x, POINTS, "look")


@pytest.mark.parametrize("given", [float("nan"), True, [1, 2, 3], 1 + 1e-6, None, "1", float("inf")], ids=repr)
def test_numbers_that_do_not_agree_are_refused(given):
    with pytest.raises(compare.Wrong):
        compare.agree(given, [1, 2] if isinstance(given, list) else 1, "look")


def test_replies_are_read_as_plain_data():
    import numpy as np

    for value in (3, 2.5, "a", [1, [2.0]], {"a": Fraction(1, 3)}, 10**50):
        assert session.decode(worker.encode(value)) == value
    assert session.decode(worker.encode(np.array([[1, 2]]))) == [[1, 2]]
    assert session.decode(worker.encode(np.float64(0.5))) == 0.5
    for reply in (["int", 5], ["code", "x"], ["list"], ["ratio", "1"], 7):
        with pytest.raises((ValueError, TypeError, IndexError)):
            session.decode(reply)

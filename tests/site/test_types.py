"""The examples of all pages pass a type checker, which also refuses wrong calls before anything runs."""

import ast
import re
from pathlib import Path

import pytest
from mypy import api

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
PAGES = ["about", "survey", "choose", "quality", "security"]
START = """
import numpy as np
import pandas as pd
from ldp_lib import Survey, audit, GRR, perturb_in_chunks, recommend, required_users, total_error
from ldp_lib.tables.dependence import cramers_v
from ldp_lib.tables.queries import ask
rng = np.random.default_rng(1)
domain = {"smoker": ["no", "yes"], "region": ["north", "south"]}
survey = Survey(domain, epsilon=1.0)
reports = survey.collect(pd.DataFrame(), rng=rng)
"""
WRONG = {
    "labels without an order": 'Survey({"smoker": {"no", "yes"}}, epsilon=1.0)',
    "a mechanism's name": 'Survey(domain, epsilon=1.0, mechanism="GRR")',
    "no generator": "survey.collect(pd.DataFrame())",
    "a seed": "survey.collect(pd.DataFrame(), rng=1)",
    "a percentage in words": 'survey.estimate(reports, confidence="95 %")',
    "no attribute": 'survey.table("smoker", reports)',
    "a field that no audit has": "audit(GRR(k=2, epsilon=1.0), 0, 1, rng=rng).budget",
    "a field that no share has": 'survey.query({"smoker": "no"}, reports).error',
    "a field that no recommendation has": "recommend(k=(2, 2), epsilon=1.0, n=100).epsilon",
    "a field that no test has": "cramers_v([[0.5, 0.5]], []).p_value",
    "a field that no answer has": "ask(None, None, {}).low",
    "an error in words": 'total_error(GRR(k=2, epsilon=1.0), "people")',
    "threads in words": 'perturb_in_chunks(GRR(k=2, epsilon=1.0), [0], rng=rng, threads="all")',
    "people by name": 'recommend(k=(2, 2), epsilon=1.0, n="many")',
}


def told(text, folder):
    """Return what mypy says of a program."""
    (folder / "program.py").write_text(text, encoding="utf-8")
    # The settings and the cache of `make types`, which has read the library.
    options = [f"--config-file={ROOT / 'pyproject.toml'}", f"--cache-dir={ROOT / '.mypy_cache'}"]
    out, err, _ = api.run([*options, "--no-error-summary", str(folder / "program.py")])
    return out + err


def test_the_examples_of_all_pages_pass_and_wrong_calls_do_not(tmp_path):
    programs = []
    for page in PAGES:
        sessions = re.findall(r"```python\n(>>> .*?)```", (BOOK / f"{page}.md").read_text(encoding="utf-8"), re.DOTALL)
        lines = [line[4:] for session in sessions for line in session.splitlines() if line[:4] in (">>> ", "... ")]
        programs.append(f"def {page}() -> None:\n" + "".join(f"    {line}\n" for line in lines))
    right = f"def right() -> None:{START}".replace("\n", "\n    ") + "\n"
    calls = "".join(f"    {call}  # {name}\n" for name, call in WRONG.items())
    text = "\n".join([*programs, right + calls])
    out = told(text, tmp_path)
    first = text.count("\n") - len(WRONG) + 1
    wrong = {int(line) for line in re.findall(r"program\.py:(\d+): error", out)}
    assert wrong == set(range(first, first + len(WRONG))), out


def unannotated(path):
    """Name the public functions of a file that lack the type of an argument, or of what they return."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    classes = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    functions = [node for body in (tree, *classes) for node in body.body if isinstance(node, ast.FunctionDef)]
    for one in functions:
        arguments = [
            a for a in [*one.args.args, *one.args.kwonlyargs, one.args.vararg] if a and a.arg not in ("self", "cls")
        ]
        lacks = one.returns is None or any(a.annotation is None for a in arguments)
        if lacks and (not one.name.startswith("_") or one.name == "__add__"):
            yield one.name


TYPED = [
    *sorted((ROOT / "ldp_lib" / "survey").glob("[a-z]*.py")),
    ROOT / "ldp_lib/auditing.py",
]


@pytest.mark.parametrize("path", TYPED, ids=lambda path: path.stem)
def test_what_a_survey_offers_is_annotated(path):
    assert list(unannotated(path)) == []


def test_a_function_without_types_is_found(tmp_path):
    (tmp_path / "a.py").write_text("def f(x: int): ...\ndef g(x) -> int: ...\ndef h(x: int) -> int: ...\n")
    assert list(unannotated(tmp_path / "a.py")) == ["f", "g"]

"""The examples of all pages pass a type checker, which also refuses wrong calls before anything runs."""

import re
from pathlib import Path

from mypy import api

BOOK = Path(__file__).resolve().parents[2] / "book"
PAGES = ["about", "survey", "choose", "quality", "security"]
START = """
import numpy as np
import pandas as pd
from ldp_lib import Survey, audit, GRR, recommend, required_users
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
    "people by name": 'recommend(k=(2, 2), epsilon=1.0, n="many")',
}


def told(text, folder):
    """Return what mypy says of a program."""
    (folder / "program.py").write_text(text, encoding="utf-8")
    options = ["--ignore-missing-imports", "--check-untyped-defs", "--no-error-summary", "--no-incremental"]
    out, err, _ = api.run([*options, "--follow-imports=silent", str(folder / "program.py")])
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

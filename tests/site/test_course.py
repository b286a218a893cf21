"""The example of a course that checks its own notebooks: it passes, and it fails where it should."""

import ast
from pathlib import Path

import nbformat
import pytest
import yaml

from ldp_lib.book.claims import claims_in

ROOT = Path(__file__).resolve().parents[2]
COURSE = ROOT / "book" / "course"


def test_the_workflow_has_ten_lines_and_ends_with_nbval():
    text = (COURSE / "check.yml").read_text(encoding="utf-8")
    assert len(text.splitlines()) == 10
    assert yaml.safe_load(text)["jobs"]["notebooks"]["steps"][-1]["run"] == "pytest --nbval *.ipynb"


def test_the_notebook_gives_what_it_stores(monkeypatch):
    """Here in this process; `make lab-check` runs the workflow's last command as it is."""
    monkeypatch.chdir(COURSE)
    space = {}
    cells = [c for c in nbformat.read("week1.ipynb", as_version=4).cells if c.cell_type == "code"]
    assert [cell.execution_count for cell in cells] == [1, 2, 3, 4]
    for cell in cells:
        *body, last = ast.parse(cell.source).body
        exec(compile(ast.Module([*body, *([] if cell.outputs else [last])], []), "week1", "exec"), space)
        for output in cell.outputs:
            assert repr(eval(ast.unparse(last), space)) == output.data["text/plain"]


def test_a_claim_fails_with_false_evidence_or_another_verdict():
    claim = claims_in(COURSE / "ledger")
    with pytest.raises(AssertionError, match="evidence 2 of 2"):
        claim("week1/truth").conditional(True, False)
    with pytest.raises(AssertionError, match="the ledger says conditional"):
        claim("week1/truth").holds(True)
    with pytest.raises(ValueError, match="nearest: week1/truth"):
        claim("week1/truths")


def test_a_ledger_of_ones_own_must_be_there_and_keep_the_format(tmp_path):
    with pytest.raises(FileNotFoundError, match="no claims ledger"):
        claims_in(tmp_path)
    (tmp_path / "own.yml").write_text(
        (COURSE / "ledger" / "week1.yml").read_text(encoding="utf-8").replace("holds", "true")
    )
    with pytest.raises(ValueError, match="verdict"):
        claims_in(tmp_path)

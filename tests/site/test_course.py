"""The example of a course that checks its own notebooks: it passes, and it fails where it should."""

import ast
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest
import yaml
from packaging.requirements import Requirement

from ldp_lib.book.claims import claims_in

ROOT = Path(__file__).resolve().parents[2]
COURSE = ROOT / "book" / "course"
IMPORTS = {"pyyaml": "yaml"}


def imports(nodes):
    """Yield the top-level names that these statements import."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module.partition(".")[0]


def test_the_workflow_has_ten_lines_and_ends_with_nbval():
    text = (COURSE / "check.yml").read_text(encoding="utf-8")
    assert len(text.splitlines()) == 10
    assert yaml.safe_load(text)["jobs"]["notebooks"]["steps"][-1]["run"] == "pytest --nbval *.ipynb"


def test_the_workflow_installs_what_the_notebook_and_its_ledger_import():
    """The extra `ci`: nbval, a kernel and the ledger, and nothing that the book and its tests do not have."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras, small = project["optional-dependencies"], project["optional-dependencies"]["ci"]
    assert set(small) <= set(extras["book"] + extras["test"])
    names = {IMPORTS.get(r.name, r.name) for r in map(Requirement, project["dependencies"] + small)}
    assert {"pytest", "nbval", "ipykernel"} <= names
    notebook = nbformat.read(COURSE / "week1.ipynb", as_version=4)
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    sources += [(ROOT / "ldp_lib" / "book" / name).read_text(encoding="utf-8") for name in ("claims.py", "__init__.py")]
    used = set(imports(ast.walk(ast.parse("\n".join(sources)))))
    assert used <= names | {"ldp_lib"} | set(sys.stdlib_module_names)
    assert '"ldp-lib[ci] @' in (COURSE / "check.yml").read_text(encoding="utf-8")


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
    with pytest.raises(ValueError, match=r"nearest: week1/truth; searched: .*ledger$") as told:
        claim("week1/truths")
    assert str((COURSE / "ledger").resolve()) in str(told.value)


def test_a_ledger_of_ones_own_must_be_there_and_keep_the_format(tmp_path):
    with pytest.raises(FileNotFoundError, match="no claims ledger") as empty:
        claims_in(tmp_path)
    with pytest.raises(FileNotFoundError, match=f"{tmp_path.name}/legder, which is no folder") as mistyped:
        claims_in(tmp_path / "legder")
    assert str(empty.value).endswith(f"in {tmp_path.resolve()}")
    assert "package data" not in str(empty.value) + str(mistyped.value)
    (tmp_path / "own.yml").write_text(
        (COURSE / "ledger" / "week1.yml").read_text(encoding="utf-8").replace("holds", "true")
    )
    with pytest.raises(ValueError, match="verdict"):
        claims_in(tmp_path)

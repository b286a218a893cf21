"""What the project ships and runs: nothing that can be swapped underneath, no secrets, nothing that runs by itself."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import policy  # noqa: E402

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
ACTIVE = re.compile(r"<\s*(script|iframe|object|embed|form|base|meta|link)\b|\son[a-z]+\s*=|javascript:", re.IGNORECASE)
SECRET = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY|AKIA[0-9A-Z]{16}|gh[pousr]_[A-Za-z0-9]{36}|github_pat_\w{60}|xox[abp]-\d|"
    r"sk-[A-Za-z0-9]{40}|AIza[\w-]{35}|pypi-AgE[\w-]{50}|https?://[^/\s:@]+:[^/\s:@]+@"
)


def tracked():
    """The texts of the project; without a repository, those of its folders."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    names = listed.stdout.decode().split("\0")[:-1] if listed.returncode == 0 else []
    paths = [ROOT / name for name in names] or [p for p in ROOT.glob("*/**/*") if "." not in p.parts[-2][:1]]
    return [
        path for path in paths if path.is_file() and path.suffix in (".py", ".md", ".yml", ".toml", ".ipynb", ".js", "")
    ]


def unpinned(workflow):
    """Steps of a workflow whose action is not named by a commit."""
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    return [
        step["uses"] for step in steps if "uses" in step and not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"])
    ]


def test_actions_are_pinned_by_commit_and_need_no_rights():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert unpinned(workflow) == []
        assert workflow["permissions"] == {"contents": "read"}
    planted = {"jobs": {"a": {"steps": [{"uses": "actions/checkout@v4"}, {"run": "make"}]}}}
    assert unpinned(planted) == ["actions/checkout@v4"]


def test_no_file_holds_a_secret():
    files = tracked()
    assert len(files) > 100
    assert [path for path in files if SECRET.search(path.read_text(encoding="utf-8", errors="replace"))] == []
    assert SECRET.search("key = 'AKIA" + "A" * 16 + "'")


def active(notebook):
    """Outputs of a notebook that could run something in a reader's browser."""
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    texts = [data for output in outputs for kind, data in output.get("data", {}).items() if kind != "image/png"]
    return [text for text in texts if ACTIVE.search(text if isinstance(text, str) else repr(text))]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_outputs_run_nothing(path):
    assert active(nbformat.read(path, as_version=4)) == []


@pytest.mark.parametrize(
    "planted", ["<script>alert(1)</script>", '<img src=x onerror="f()">', '<a href="javascript:f()">', "<IFRAME src=x>"]
)
def test_an_output_that_runs_something_is_found(planted):
    cell = nbformat.v4.new_code_cell(outputs=[nbformat.v4.new_output("display_data", {"text/html": planted})])
    assert active(nbformat.v4.new_notebook(cells=[cell])) == [planted]


UNSAFE = ("yaml.load", "yaml.unsafe_load", "yaml.full_load", "os.system", "pickle.load", "marshal.loads")


def unsafe(source):
    """Calls that read more than data: YAML objects, pickles, archives without a filter, shells."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            name, words = ast.unparse(node.func), {word.arg for word in node.keywords}
            safe = name == "yaml.load" and "loader=loader" in ast.unparse(node).lower()  # claims picks a safe one
            if name in UNSAFE and not safe:
                found.append(name)
            if name.endswith((".extractall", ".extract")) and "filter" not in words and "zip" not in name:
                found.append(name)
            if "shell" in words:
                found.append(name)
    return found


def test_data_is_read_as_data():
    for folder in ("ldp_lib", "tools", "book", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            if ".venv" not in path.parts:
                assert unsafe(path.read_text(encoding="utf-8")) == [], path
    for planted in ("yaml.load(text)", "tar.extractall('x')", "subprocess.run('ls', shell=True)", "pickle.load(f)"):
        assert unsafe(planted) != []


PAGE = """<html><head><meta charset="utf-8"><script>let a = 1;</script><script src="own.js"></script></head>
<body><button onclick="window.print()">print</button></body></html>"""


def test_a_page_allows_its_own_scripts_and_no_others():
    allowed = policy.policy(PAGE)
    assert policy.checksum("let a = 1;") in allowed
    assert policy.checksum("window.print()") in allowed
    assert policy.checksum("let a = 2;") not in allowed
    assert "unsafe-eval" not in allowed
    assert "script-src 'self' 'sha256-" in allowed
    assert "default-src 'none'" in policy.protect(PAGE).partition("</head>")[0]
    with pytest.raises(ValueError, match="encoding"):
        policy.protect("<html></html>")


def test_the_security_page_says_scope_and_contact():
    text = (ROOT / "SECURITY.md").read_text(encoding="utf-8")
    for word in ("epsilon", "Report a vulnerability", "realised_epsilon", "newest release"):
        assert word in text

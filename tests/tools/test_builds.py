"""Whole builds that go wrong: of a book of two chapters with this project's own Makefile and tools.

Clear messages, nothing half-written taken for done, and the next run works. `make faults` runs them.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(os.environ.get("FAULTS") != "all", reason="make faults runs it")
TOC = "format: jb-book\nroot: book/intro\nchapters:\n  - file: notebooks/a\n  - file: notebooks/b\n"
CONFIG = "title: Small\nonly_build_toc_files: true\nexecute:\n  execute_notebooks: 'off'\n"
PYPROJECT = """
[tool.pytest.ini_options]
testpaths = ["tests", "notebooks"]
[tool.mypy]
packages = ["ldp_lib"]
[tool.ruff]
include = ["ldp_lib/*.py"]
"""
KILLS = """
import os, pathlib, signal
mark = pathlib.Path("mark")
if not mark.exists():
    mark.touch()
    os.kill(os.getpid(), signal.SIGKILL)
6 * 7
""".strip()
SHORT, LONG = "6 * 7", "import time\ntime.sleep(60)"


def chapter(path, source):
    """Write a chapter whose only cell is this; 42 is the stored output."""
    output = nbformat.v4.new_output("execute_result", {"text/plain": "42"}, execution_count=1)
    cells = [
        nbformat.v4.new_markdown_cell(f"# Chapter {path.stem}", id="head"),
        nbformat.v4.new_code_cell(source, id="code", outputs=[output], execution_count=1),
    ]
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    nbformat.write(nbformat.v4.new_notebook(cells=cells, metadata=metadata), path)


@pytest.fixture
def project(tmp_path):
    """A small project, with the environment that runs this test; its tools cannot change it."""
    for name in ("notebooks", "book", "ldp_lib", "tests", ".venv/bin"):
        (tmp_path / name).mkdir(parents=True)
    make = (ROOT / "Makefile").read_text(encoding="utf-8")
    (tmp_path / "Makefile").write_text(make.replace("notebooks/jrr.ipynb", "notebooks/a.ipynb"), encoding="utf-8")
    shutil.copytree(ROOT / "tools", tmp_path / "tools", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "tests" / "browser.py", tmp_path / "tests")
    texts = {
        "_toc.yml": TOC,
        "_config.yml": CONFIG,
        "book/intro.md": "# Small\n",
        "ldp_lib/__init__.py": '"""A library."""\n',
        "requirements.lock": "",
        "pyproject.toml": PYPROJECT,
        "tests/core/test_exact.py": "def test_one():\n    pass\n",
        "tests/core/test_digits.py": "def test_two():\n    pass\n",
        "tests/site/test_site.py": "from pathlib import Path\n\n\ndef test_site():\n    "
        'assert "Chapter b" in Path("_build/html/notebooks/b.html").read_text(encoding="utf-8")\n',
        ".venv/ready": "",
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    os.utime(tmp_path / "requirements.lock", (0, 0))
    for path in Path(sys.executable).parent.iterdir():
        if path.name.startswith(("python", "jupyter", "ruff", "mypy", "pip")):
            wrapper = tmp_path / ".venv" / "bin" / path.name
            wrapper.write_text(f'#!/bin/sh\nexec "{path}" "$@"\n')
            wrapper.chmod(0o755)
    for name in "ab":
        chapter(tmp_path / "notebooks" / f"{name}.ipynb", SHORT)
    return tmp_path


def heeding():
    """Heed an interrupt: who runs tests in the background may have it ignored, and what is started inherits that."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Make:
    """One run of make, and what it has said so far."""

    def __init__(self, project, *words, before=(), **variables):
        drop = ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHONPATH")
        env = {name: value for name, value in os.environ.items() if name not in drop} | variables
        self.log = project.with_name(f"{project.name}.{time.monotonic_ns()}.log")
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                [*before, "make", "JOBS=1", *words],
                **{"cwd": project, "env": env, "stdout": log, "stderr": subprocess.STDOUT, "start_new_session": True},
                preexec_fn=heeding,
            )

    def said(self):
        """What it has said."""
        return self.log.read_text(encoding="utf-8")

    def done(self):
        """Wait for its end; return whether it succeeded."""
        return self.process.wait(400) == 0

    def stop(self, how, until):
        """Stop it, and all that it started, as soon as something is so."""
        end = time.monotonic() + 200
        while not until() and self.process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        assert self.process.poll() is None, self.said()
        os.killpg(self.process.pid, how)
        assert self.process.wait(100) != 0
        with contextlib.suppress(ProcessLookupError):  # what make started may outlive it
            os.killpg(self.process.pid, signal.SIGKILL)


def makes(project, *words, **how):
    """Run make, which must succeed; return what it said."""
    run = Make(project, *words, **how)
    assert run.done(), run.said()
    return run.said()


def executed(project, name):
    """Where a chapter is when it has run."""
    return project / "_build" / "source" / "notebooks" / f"{name}.ipynb"


def is_whole(project):
    """Whether both chapters have run and the site holds all pages, each to its end, and nothing is left over."""
    paths = executed(project, "a").parent.iterdir()
    names = {path.name for path in paths if not path.name.endswith((".seconds", "_checkpoints"))}
    pages = [project / "_build" / "html" / f"{name}.html" for name in ("book/intro", "notebooks/a", "notebooks/b")]
    return (
        names == {"a.ipynb", "b.ipynb"}
        and all("42" in executed(project, name).read_text(encoding="utf-8") for name in "ab")
        and all(page.read_text(encoding="utf-8").rstrip().endswith("</html>") for page in pages)
        and "Chapter b" in pages[-1].read_text(encoding="utf-8")
        and (project / "_build" / "html" / "searchindex.js").read_text(encoding="utf-8").endswith(")")
    )


OFFLINE = ["unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]  # the own machine can be reached
interrupted = pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda how: how.name)


@interrupted
def test_a_book_interrupted_in_a_chapter(how, project):
    chapter(project / "notebooks" / "b.ipynb", LONG)
    run = Make(project, "book")
    run.stop(how, lambda: "executing notebooks/b" in run.said())
    assert not executed(project, "b").exists()
    assert not (project / "_build" / "html").exists()
    before = executed(project, "a").stat().st_mtime_ns
    chapter(project / "notebooks" / "b.ipynb", SHORT)
    makes(project, "book")
    assert is_whole(project)
    assert executed(project, "a").stat().st_mtime_ns == before  # what was done is not done again


@interrupted
def test_a_book_interrupted_while_its_pages_are_written(how, project):
    Make(project, "book").stop(how, (project / "_build" / "html").exists)
    makes(project, "book")
    assert is_whole(project)


@interrupted
def test_an_interrupted_test_run(how, project):
    chapter(project / "notebooks" / "b.ipynb", LONG)
    Make(project, "test").stop(how, executed(project, "a").exists)
    assert not executed(project, "b").exists()
    assert "42" in executed(project, "a").read_text(encoding="utf-8")
    chapter(project / "notebooks" / "b.ipynb", SHORT)
    assert "1 passed" in makes(project, "test")
    assert is_whole(project)


@pytest.mark.parametrize("target", ["book", "test"])
def test_a_kernel_killed_in_a_build(target, project):
    chapter(project / "notebooks" / "b.ipynb", KILLS)
    run = Make(project, target)
    assert not run.done()
    assert "kernel died" in run.said().lower(), run.said()
    assert not executed(project, "b").exists()
    assert not (project / "_build" / "html").exists()
    makes(project, target)
    (project / "notebooks" / "mark").unlink()
    assert is_whole(project)


@pytest.mark.parametrize("target", ["book", "test"])
def test_a_damaged_chapter_in_a_build(target, project):
    path = project / "notebooks" / "b.ipynb"
    path.write_text(path.read_text(encoding="utf-8")[:-40])
    run = Make(project, target)
    assert not run.done()
    assert "notebooks/b.ipynb" in run.said()
    assert not executed(project, "b").exists()
    assert not (project / "_build" / "html").exists()
    chapter(path, SHORT)
    makes(project, target)
    assert is_whole(project)


@pytest.mark.parametrize("size", ["8k", "64k", "2m"])
def test_a_full_disk_during_a_build(size, project):
    folder = project / "_build"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], check=False).returncode:
        pytest.skip("only root can mount a small disk")
    try:
        run = Make(project, "book")
        assert not run.done()
        assert "No space left on device" in run.said(), run.said()
        for name in "ab":
            assert not executed(project, name).exists() or "42" in executed(project, name).read_text(encoding="utf-8")
        subprocess.run(["mount", "-o", "remount,size=1g", folder], check=True)
        makes(project, "book")
        assert is_whole(project)
    finally:
        subprocess.run(["umount", folder], check=True)


def test_two_builds_of_a_book_at_once(project):
    runs = [Make(project, "book") for _ in range(2)]
    assert [run.done() for run in runs] == [True, True], "".join(run.said() for run in runs)
    assert is_whole(project)
    makes(project, "book")
    assert is_whole(project)


@pytest.mark.parametrize("target", ["book", "test"])
def test_a_build_without_a_network(target, project):
    if subprocess.run([*OFFLINE, "true"], check=False).returncode:
        pytest.skip("no network can be taken away here")
    makes(project, target, before=OFFLINE)
    assert is_whole(project)


def test_no_network_where_packages_are_missing(project):
    shutil.rmtree(project / ".venv")
    (project / "requirements.lock").write_text(f"numpy==2.1.0 --hash=sha256:{'0' * 64}\n")
    run = Make(project, "book", before=OFFLINE, PIP_RETRIES="0", PYTHON=sys.executable)
    assert not run.done()
    assert "make again" in run.said()
    assert "hash" not in run.said().lower(), run.said()
    assert not (project / ".venv" / "ready").exists()


@pytest.mark.parametrize("target", ["book", "test"])
@pytest.mark.parametrize("home", ["/proc", "/nonexistent"])
def test_a_home_that_cannot_be_written(home, target, project):
    makes(project, target, HOME=home)
    assert is_whole(project)

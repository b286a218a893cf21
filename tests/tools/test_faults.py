"""Interruptions and damages: a clear message, nothing half-written taken for done, and the next run works.

The ones that start kernels or builds run by `make faults` only, which sets FAULTS.
"""

import gc
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import nbformat
import numpy as np
import pytest

from ldp_lib import datasets
from ldp_lib.book import raw as raw_files

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import execute  # noqa: E402

slow = pytest.mark.skipif(os.environ.get("FAULTS") != "all", reason="make faults runs it")


def notebook(path, *sources):
    """Write a notebook of these cells."""
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


def run(source, target, **how):
    """Execute a notebook as make does."""
    command = [sys.executable, ROOT / "tools" / "execute.py", source, target]
    return subprocess.run(command, capture_output=True, text=True, timeout=200, **how)


def no_leftovers(folder, *names):
    """Whether a folder holds these files and nothing else."""
    return sorted(path.name for path in folder.iterdir() if path.name != ".ipynb_checkpoints") == sorted(names)


# What is written, whole or not at all.


def test_a_full_disk_leaves_what_was_there(tmp_path):
    target = tmp_path / "a.ipynb"
    target.write_text("before")
    child = os.fork()
    if child == 0:  # files of at most 1,000 bytes, as if the disk were full
        code = 1
        try:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, 1_000))
            execute.replace(target, "x" * 10_000)
        except OSError:
            code = 7
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert target.read_text(encoding="utf-8") == "before"
    assert no_leftovers(tmp_path, "a.ipynb")


def test_two_builds_at_once_leave_one_whole_file(tmp_path):
    target, texts = tmp_path / "a.ipynb", [letter * 300_000 for letter in "ab"]
    seen, stop = set(), threading.Event()

    def read():
        while not stop.is_set():
            if target.exists():
                seen.add(target.read_text(encoding="utf-8"))

    reader = threading.Thread(target=read)
    reader.start()
    code = "import execute, pathlib, sys\nfor _ in range(30):\n    "
    code += "execute.replace(pathlib.Path(sys.argv[1]), sys.argv[2] * 300_000)"
    command = [sys.executable, "-c", code, target]
    builds = [subprocess.Popen([*command, letter], cwd=ROOT / "tools") for letter in "ab"]
    assert [build.wait(100) for build in builds] == [0, 0]
    stop.set()
    reader.join()
    assert target.read_text(encoding="utf-8") in texts
    assert seen <= set(texts)
    assert no_leftovers(tmp_path, "a.ipynb")


def test_a_damaged_notebook_is_named(tmp_path):
    source, target = notebook(tmp_path / "a.ipynb", "1 + 1"), tmp_path / "b.ipynb"
    source.write_text(source.read_text(encoding="utf-8")[:-40])
    ran = run(source, target)
    assert ran.returncode != 0
    assert "a.ipynb is no notebook, or a damaged one" in ran.stderr
    assert "Traceback" not in ran.stderr
    assert not target.exists()


def test_a_missing_notebook_is_named(tmp_path):
    ran = run(tmp_path / "none.ipynb", tmp_path / "b.ipynb")
    assert "none.ipynb could not be executed" in ran.stderr
    assert no_leftovers(tmp_path)


@slow
def test_a_killed_kernel_is_told_and_the_next_run_works(tmp_path):
    mark, target = tmp_path / "mark", tmp_path / "b.ipynb"
    target.write_text("before")
    source = notebook(
        tmp_path / "a.ipynb",
        f"import os, pathlib, signal\nmark = pathlib.Path({str(mark)!r})",
        "if not mark.exists():\n    mark.touch()\n    os.kill(os.getpid(), signal.SIGKILL)",
        "6 * 7",
    )
    ran = run(source, target)
    assert ran.returncode != 0
    assert "its kernel died" in ran.stderr
    assert target.read_text(encoding="utf-8") == "before"
    assert run(source, target).returncode == 0
    assert "42" in target.read_text(encoding="utf-8")


@slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_execution_leaves_nothing_half_written(how, tmp_path):
    source, target = notebook(tmp_path / "a.ipynb", "import time\ntime.sleep(60)"), tmp_path / "b.ipynb"
    command = [sys.executable, ROOT / "tools" / "execute.py", source, target]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    time.sleep(6)
    os.killpg(process.pid, how)
    assert process.wait(60) != 0
    assert not target.exists()
    assert run(notebook(source, "6 * 7"), target).returncode == 0


# What is read: data tables, and downloads.


@pytest.mark.parametrize("damage", ["cut", "missing", "changed"])
def test_a_damaged_table_is_refused(damage, tmp_path, monkeypatch):
    folder = tmp_path / "data"
    shutil.copytree(datasets.DATA, folder)
    for path in folder.glob("*.csv"):
        lines = path.read_bytes().splitlines(keepends=True)
        if damage == "missing":
            path.unlink()
        elif damage == "cut":
            path.write_bytes(b"".join(lines)[: -len(lines[-1]) // 2 - 2 * len(lines[-1])])
        else:
            path.write_bytes(b"".join([*lines[:-1], lines[-1].replace(lines[-1][:1], b"x")]))
    monkeypatch.setattr(datasets, "DATA", folder)
    with pytest.raises((ValueError, OSError, KeyError, IndexError, TypeError)):
        datasets.load_adult()


def test_a_missing_data_folder_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("LDP_LIB_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="nowhere"):
        raw_files.fetch("adult")


class Lying(BaseHTTPRequestHandler):
    """A server that cuts files short, changes them, sends visitors elsewhere, or breaks off."""

    way = "altered"

    def do_GET(self):
        """Answer as `way` says."""
        body = b"39, State-gov, 77516, Bachelors\n" * 100
        if self.way == "redirected" and not self.path.endswith("elsewhere"):
            self.send_response(302)
            self.send_header("Location", "/elsewhere")
            self.end_headers()
            return
        self.send_response(404 if self.way == "absent" else 200)
        self.send_header("Content-Length", str(2 * len(body) if self.way == "truncated" else len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if self.way == "broken" else body)

    def log_message(self, *args):
        """Say nothing."""


@pytest.mark.filterwarnings("ignore")  # a connection that breaks leaves its socket to the collector
@pytest.mark.parametrize("way", ["altered", "truncated", "redirected", "absent", "no server"])
def test_a_bad_download_never_yields_data(way, tmp_path, monkeypatch):
    pooch = pytest.importorskip("pooch")
    monkeypatch.delenv("LDP_LIB_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache")
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Way", (Lying,), {"way": way}))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setattr(raw_files, "UCI", f"http://127.0.0.1:{server.server_port}/")
    if way == "no server":
        server.shutdown()
        server.server_close()
    try:
        for name in ("mushroom", "nursery", "clave"):
            with pytest.raises((ConnectionError, ValueError)) as error:
                raw_files.fetch(name)
            assert "sha256" in str(error.value)
    finally:
        if way != "no server":
            server.shutdown()
            server.server_close()
        gc.collect()


def test_arrays_handed_in_are_never_changed_by_a_failed_call():
    x = np.array([0, 1, 7])
    before = x.copy()
    from ldp_lib import GRR

    with pytest.raises(ValueError, match="got 7"):
        GRR(k=3, epsilon=1.0).perturb(x, rng=np.random.default_rng(1))
    assert np.array_equal(x, before)

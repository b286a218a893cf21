"""What a reader does in JupyterLab, in a browser: open, run, change the budget, follow a link (`make lab-check`)."""

import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 90


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """A JupyterLab on a copy of the book: its folder and its address."""
    home = tmp_path_factory.mktemp("lab")
    folder = home / "clone"
    for name in ("book", "notebooks"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "lab_config.py", folder / "tools")
    shutil.copy(ROOT / "_toc.yml", folder)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(8)
    own = {f"JUPYTER_{name}_DIR": str(home / name.lower()) for name in ("CONFIG", "DATA", "RUNTIME")}
    words = ["lab", "--no-browser", "--expose-app-in-browser", "--allow-root", f"--port={port}"]
    words += [f"--IdentityProvider.token={token}", "--config=tools/lab_config.py"]
    log = home / "log.txt"
    with log.open("w") as out:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyter", *words],
            cwd=folder,
            env=os.environ | own | {"PYTHONPATH": str(ROOT)},
            stdout=out,
            stderr=out,
        )
    address = f"http://127.0.0.1:{port}"
    try:
        for _ in range(SECONDS):
            try:
                urllib.request.urlopen(f"{address}/api?token={token}", timeout=5).close()
                break
            except OSError:
                assert server.poll() is None, log.read_text(encoding="utf-8")
                time.sleep(1)
        yield folder, f"{address}/?token={token}"
    finally:
        server.terminate()
        server.wait(timeout=60)


def outputs(page):
    """Return the outputs of all code cells, as the notebook in front holds them."""
    cells = page.evaluate("jupyterapp.shell.currentWidget.context.model.toJSON().cells")
    return [cell["outputs"] for cell in cells if cell["cell_type"] == "code"]


def errors(page):
    """Return the names of all errors that are shown."""
    return [o["ename"] for cell in outputs(page) for o in cell if o["output_type"] == "error"]


def run_all(page):
    """Run all cells from the menu, and wait until they have run."""
    before = page.evaluate("jupyterapp.shell.currentWidget.sessionContext.session.kernel.id")
    assert before
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    page.wait_for_timeout(500)
    idle = "() => jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'"
    for _ in range(3):
        page.wait_for_function(idle, timeout=SECONDS * 1000)
        page.wait_for_timeout(700)


def dirty(page):
    """Return whether the notebook in front has something to save."""
    return page.evaluate("jupyterapp.shell.currentWidget.context.model.dirty")


def wait_for(page, name):
    """Wait until a notebook is in front, shown and connected."""
    ready = (
        "name => { const w = jupyterapp.shell.currentWidget; return w && w.context && w.context.path.endsWith(name) "
        "&& w.context.isReady && w.sessionContext.session?.kernel?.status === 'idle'; }"
    )
    page.wait_for_function(ready, arg=name, timeout=SECONDS * 1000)
    page.wait_for_timeout(1500)


def test_a_reader_opens_runs_changes_follows_and_saves(lab, browser):
    folder, address = lab
    page = browser.new_page(viewport={"width": 1300, "height": 1000})
    missing = []
    page.on("response", lambda answer: missing.append(answer.url) if answer.status >= 400 else None)
    page.goto(address)
    page.wait_for_function("() => window.jupyterapp?.shell?.currentWidget", timeout=SECONDS * 1000)

    wait_for(page, "reading_order.ipynb")
    assert not dirty(page)
    page.wait_for_timeout(5000)
    assert page.locator(".Toastify__toast").all_inner_texts() == []
    page.get_by_role("link", name="Randomized response: the unbiased estimator").first.click()
    wait_for(page, "randomized_response.ipynb")
    assert not dirty(page), "a chapter is unsaved as soon as it is opened"
    for words in ("Figure 1", "Warner, 1965"):
        page.locator(".jp-Notebook a:visible", has_text=words).first.wait_for(timeout=SECONDS * 1000)

    run_all(page)
    assert errors(page) == []
    shown = outputs(page)
    assert sum("✓" in json.dumps(cell, ensure_ascii=False) for cell in shown) >= 3

    place = page.evaluate(
        "jupyterapp.shell.currentWidget.content.widgets.findIndex("
        "cell => cell.model.sharedModel.source.includes('epsilon = 1.0'))"
    )
    source = page.evaluate(
        "i => { const n = jupyterapp.shell.currentWidget.content; n.activeCellIndex = i; n.scrollToItem(i); "
        "n.mode = 'edit'; return n.widgets[i].model.sharedModel.source; }",
        place,
    )
    page.wait_for_timeout(1000)
    page.locator(".jp-Notebook .jp-Cell.jp-mod-active .cm-content:visible").click()
    page.keyboard.press("ControlOrMeta+A")
    page.keyboard.insert_text(source.replace("epsilon = 1.0", "epsilon = 3.0"))
    run_all(page)
    changed = [i for i, (one, other) in enumerate(zip(shown, outputs(page), strict=True)) if one != other]
    assert changed, "nothing answers to the budget"
    assert dirty(page)

    page.evaluate(
        "jupyterapp.shell.currentWidget.content.scrollToItem(jupyterapp.shell.currentWidget.content.widgets.length - 1)"
    )
    page.wait_for_timeout(1500)
    last = nb_text(folder / "notebooks" / "randomized_response.ipynb")
    following = re.findall(r"\{doc\}`(\w+)`", last)[-1]
    page.locator(f".jp-Notebook a[href*='{following}.ipynb']:visible").last.click()
    wait_for(page, f"{following}.ipynb")
    assert not dirty(page)

    path = folder / "notebooks" / f"{following}.ipynb"
    before = path.read_text(encoding="utf-8")
    page.evaluate("jupyterapp.shell.currentWidget.context.save()")
    assert path.read_text(encoding="utf-8") == before, "saving an unchanged chapter changes its file"
    assert [url for url in missing if "/files/" in url or "/api/contents/" in url] == []
    page.close()


def nb_text(path):
    """Return the last cell's text."""
    return "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][-1]["source"])


def test_the_last_command_of_a_courses_workflow_passes_and_sees_a_change(tmp_path):
    folder = shutil.copytree(ROOT / "book" / "course", tmp_path / "course")
    command = [sys.executable, "-m", "pytest", "--nbval", "week1.ipynb", "-q", "-p", "no:cacheprovider"]
    options = {"cwd": folder, "env": os.environ | {"PYTHONPATH": str(ROOT)}, "capture_output": True, "text": True}
    run = subprocess.run(command, **options)
    assert "4 passed" in run.stdout
    ledger = folder / "ledger" / "week1.yml"
    ledger.write_text(ledger.read_text(encoding="utf-8").replace("verdict: conditional", "verdict: refuted"))
    run = subprocess.run(command, **options)
    assert run.returncode == 1
    assert "the ledger says refuted" in run.stdout

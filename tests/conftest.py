"""Settings of all tests, and fixtures for the checks of the built site: a local web server and a browser."""

import functools
import gc
import os
import re
import threading
from collections import Counter
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import browser as browsers
import pytest
from hypothesis import settings

# A busy machine is no failure, and all machines try the same examples.
settings.register_profile("everywhere alike", deadline=None, derandomize=True)
settings.load_profile("everywhere alike")

# What is imported and collected stays, 400 MB in each worker: it is not looked at for garbage.
gc.disable()

MARKED = {
    name: marker
    for marker in ("brief", "slow", "thorough")
    for name in (Path(__file__).parent / f"{marker}.txt").read_text(encoding="utf-8").split()
}

SITE = Path(__file__).resolve().parents[1] / "_build" / "html"


SAMPLE = 8

# Files whose tests share a kernel, a wheel or a page that takes seconds to make.
WHOLE = (".ipynb", "test_wheel.py", "test_pdf.py", "test_explore.py", "test_witness.py")


def pytest_collection_modifyitems(items):
    """Mark what `make check` leaves out (brief, slow) and what `make test` does too (thorough).

    Of a test with eight settings or more each eighth is a sample: `make check` takes no others, and `make test` takes
    the sample of a thorough test.
    """
    names = [f"{item.path.name}::{getattr(item, 'originalname', '')}" for item in items]
    settings, seen = Counter(names), Counter()
    for item, name in zip(items, names, strict=True):
        seen[name] += 1
        marker = MARKED.get(name)
        if settings[name] >= SAMPLE and marker in (None, "thorough"):
            more, fewer = ("thorough", "slow") if marker else ("brief", None)
            marker = more if seen[name] % SAMPLE else fewer
        if marker:
            item.add_marker(marker)


def pytest_collection_finish():
    """Look for garbage from here on, among what tests make."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """With `-n`, share out single tests, but keep together what shares a kernel, a page or a wheel.

    All settings of a test are one share: to hand out 8,000 shares takes longer than many of them run.
    """
    from xdist.scheduler import LoadScopeScheduling

    class Apart(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            file, _, test = nodeid.partition("::")
            if file.endswith("test_site.py"):
                page = re.search(r"\[((?:book|notebooks)/\w+)\]", test)
                return page[1] if page else nodeid.partition("[")[0]
            return file if file.endswith(WHOLE) else nodeid.partition("[")[0]

    return Apart(config, log)


class Quiet(SimpleHTTPRequestHandler):
    """Serve files without a line for each."""

    def log_message(self, *args):
        """Say nothing."""


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium. Where there is none, the checks are skipped, loudly; with CI=true they fail."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = browsers.find(playwright)
        if path is None:
            (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(browsers.MISSING)
        chromium = browsers.launch(playwright, path)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def serve():
    """A function that serves a folder on this machine and returns its address."""
    servers = []

    def start(folder):
        server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        servers.append(server)
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server in servers:
        server.shutdown()
        server.server_close()

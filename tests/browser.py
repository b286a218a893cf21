"""Find a Chromium for the site's checks, or install one: `make test` runs this file before pytest."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

# The shell does what the checks need in three quarters of the whole browser's time.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
MAC = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"
MISSING = (
    "NO BROWSER: the checks of the site did not run. Install chromium or google-chrome so that it is on the PATH, "
    "or run: .venv/bin/playwright install chromium"
)

# Quiet on a closed network: no updates, no look-ups of its own.
FLAGS = [
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--font-render-hinting=none",  # the shell would round the width of each letter, so that lines are too long
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",  # nothing but the site as served
]


def find(playwright):
    """Return the path of a browser that starts, or None: an installed one first, then Playwright's own."""
    paths = [shutil.which(name) for name in NAMES] + [MAC, playwright.chromium.executable_path]
    return next((path for path in paths if path and starts(path)), None)


def starts(path):
    """Return whether the program says its version (Ubuntu's package is a stub that may not)."""
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=60).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def install(playwright):
    """Try Debian's package where it may be installed, then Playwright's download."""
    if Path("/etc/debian_version").exists() and shutil.which("apt-get"):
        sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
        quiet = {"env": os.environ | {"DEBIAN_FRONTEND": "noninteractive"}, "stdout": subprocess.DEVNULL}
        if not sudo or subprocess.run([*sudo, "true"], capture_output=True).returncode == 0:
            print("Installing Debian's chromium for the checks of the site.", flush=True)
            subprocess.run([*sudo, "apt-get", "update", "-qq"], **quiet)
            for package in NAMES[:2]:  # not every system has the first one
                subprocess.run([*sudo, "apt-get", "install", "-y", "-qq", "--no-install-recommends", package], **quiet)
                if find(playwright):
                    return
    print("Downloading Playwright's chromium for the checks of the site.", flush=True)
    subprocess.run([sys.executable, "-m", "playwright", "install", "chromium"], stdout=subprocess.DEVNULL)


def launch(playwright, path):
    """Start the browser at this path, headless."""
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    return playwright.chromium.launch(executable_path=path, args=FLAGS + root)


def main():
    """Say which browser the checks will use; with CI=true, fail where there is none."""
    with sync_playwright() as playwright:
        if find(playwright) is None:
            install(playwright)
        path = find(playwright)
    print(f"Browser for the checks of the site: {path}" if path else MISSING, flush=True)
    sys.exit(path is None and os.environ.get("CI") == "true")


if __name__ == "__main__":
    main()

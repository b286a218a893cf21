"""The project's addresses, from the site's one setting in _config.yml; all else is in pyproject.toml."""

import os
import re
from pathlib import Path

from setuptools import setup


def urls(config, variable=""):
    """Return the addresses that follow from the setting, or from the variable BOOK_REPOSITORY; none without."""
    found = re.search(r'^    book_repository: "(.+)"$', config, re.MULTILINE)
    home = (found[1] if found else variable).rstrip("/")
    return {"Repository": home, "Issues": f"{home}/issues", "Changes": f"{home}/blob/main/CHANGES.md"} if home else {}


if __name__ == "__main__":
    path = Path(__file__).parent / "_config.yml"
    config = path.read_text(encoding="utf-8") if path.exists() else ""
    setup(project_urls=urls(config, os.environ.get("BOOK_REPOSITORY", "")))

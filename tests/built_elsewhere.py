"""A book of two pages, built as for several hosts: what it links to, and that no build warns (`make lab-check`)."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
HUB = "https://hub.example.org"
PAGE = "# A page\n\nEnough words for a first paragraph.\n\n```{run-elsewhere}\n```\n"
GITHUB, GITLAB, OTHER = (f"https://{host}/Some/book" for host in ("github.com", "gitlab.com", "git.example.org"))


@pytest.fixture(scope="module", params=["", GITHUB, GITLAB, OTHER])
def built(request, tmp_path_factory):
    """The setting, the folder of the site, and the addresses outside of it that its pages link to."""
    folder = tmp_path_factory.mktemp("book")
    for name in ("_ext", "_static", "references.bib"):
        (folder / "source" / "book").mkdir(parents=True, exist_ok=True)
        (folder / "source" / "book" / name).symlink_to(ROOT / "book" / name)
    (folder / "source" / "notebooks").mkdir()
    (folder / "source" / "book" / "intro.md").write_text(PAGE)
    cells = [
        nbformat.v4.new_markdown_cell("# A chapter\n\n**Answer.** It is so.\n\n**You need:** no more. **Minutes:** 1")
    ]
    metadata = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    nbformat.write(notebook, folder / "source" / "notebooks" / "randomized_response.ipynb")
    shutil.copy(ROOT / "_config.yml", folder / "source")
    toc = "format: jb-book\nroot: book/intro\nchapters:\n  - file: notebooks/randomized_response\n"
    (folder / "source" / "_toc.yml").write_text(toc)
    command = [Path(sys.executable).with_name("jupyter-book"), "build", folder / "source", "--path-output", folder]
    places = {"BOOK_REPOSITORY": request.param, "BOOK_JUPYTERHUB": HUB if request.param else ""}
    done = subprocess.run(
        [*command, "--all", "-W", "-n", "--keep-going"],
        env=os.environ | places | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    site = folder / "_build" / "html"
    pages = "".join(
        (site / f"{name}.html").read_text(encoding="utf-8") for name in ("book/intro", "notebooks/randomized_response")
    )
    return request.param, site, set(re.findall(r'href="(https?://[^"]+)"', pages)), pages


def test_pages_link_to_where_the_book_lives_and_nowhere_without_the_setting(built):
    home, _, links, pages = built
    chapter = "notebooks/randomized_response.ipynb"
    hub = (
        f"{HUB}/hub/user-redirect/git-pull?repo={home.replace(':', '%3A')}&urlpath=lab/tree/book/{chapter}&branch=main"
    )
    wanted = {
        "": set(),
        GITHUB: {
            home,
            f"{home}/edit/main/{chapter}",
            f"https://mybinder.org/v2/gh/Some/book/main?urlpath=lab/tree/{chapter}",
            f"https://colab.research.google.com/github/Some/book/blob/main/{chapter}",
            hub,
        },
        GITLAB: {
            home,
            f"{home}/-/edit/main/{chapter}",
            f"https://mybinder.org/v2/gl/Some%2Fbook/main?urlpath=lab/tree/{chapter}",
            hub,
        },
        OTHER: set(),
    }[home]
    assert wanted <= links
    assert any("issues/new?" in link for link in links) == bool(wanted)
    assert bool(links) == bool(wanted)
    assert ("Or install nothing" in pages) == bool(wanted)
    # A chapter has launch buttons, or says how to run it; its report of an error is an issue, or text to copy.
    assert ("To run this chapter:" in pages) == (not wanted)
    assert (f"git clone {home}" in re.sub("<[^>]*>", "", pages)) == (home == OTHER)
    assert ('class="witness-issue"' in pages) == bool(wanted)
    assert "Copy the report" in pages


def test_the_site_has_its_map_and_picture_and_downloads_their_install_line(built):
    home, site, _, pages = built
    with_pages = home in (GITHUB, GITLAB)
    assert (site / "sitemap.xml").exists() == with_pages
    assert ("og:image" in pages) == with_pages
    assert (site / "404.html").exists()
    first = json.loads((site / "_sources" / "notebooks" / "randomized_response.ipynb").read_text(encoding="utf-8"))[
        "cells"
    ][0]
    assert (f"git+{home}'" in "".join(first["source"])) == bool(home)
    assert (first["cell_type"] == "code") == bool(home)

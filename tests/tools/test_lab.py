"""Chapters are shown in JupyterLab with links that work, and are stored as they were. `make lab-check` looks at it."""

import copy
import re
from pathlib import Path

import lab_config
import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
DRESSER = lab_config.DRESSER


def dressed(path):
    """Return a chapter as it is shown."""
    notebook = nbformat.read(path, as_version=4)
    DRESSER.dress(notebook, path.name)
    return notebook


def links(notebook):
    """Yield the targets of all plain links, less their anchors."""
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            yield from (target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)", cell.source))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_chapter_is_stored_as_it_was(path):
    stored = nbformat.read(path, as_version=4)
    shown = dressed(path)
    assert shown != stored
    DRESSER.undress(shown)
    assert nbformat.writes(shown) == nbformat.writes(stored)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_link_leads_to_a_file(path):
    here = {label for label, place in DRESSER.labels.items() if place == path}
    found = [link for link in links(dressed(path)) if link and "://" not in link and link not in here]
    assert [link for link in found if not (path.parent / link).exists()] == []


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_no_role_is_left_that_jupyterlab_does_not_know(path):
    text = "\n".join(cell.source for cell in dressed(path).cells if cell.cell_type == "markdown")
    text = lab_config.SHOWN.sub("", text)
    left = re.findall(r"\{(doc|cite:[pt]|term)\}`([^`]+)`", text)
    # The site's build complains of a page that is missing.
    assert [name for role, name in left if role != "doc" or (ROOT / "notebooks" / f"{name}.ipynb").exists()] == []


def test_what_a_reader_writes_is_kept():
    path = ROOT / "notebooks" / "randomized_response.ipynb"
    shown = dressed(path)
    shown.cells[2].source += '\n\nMy own [note](https://example.org "a title").'
    want = copy.deepcopy(nbformat.read(path, as_version=4).cells[2].source)
    DRESSER.undress(shown)
    assert shown.cells[2].source == want + '\n\nMy own [note](https://example.org "a title").'


def test_a_caption_stands_below_each_drawn_figure():
    stored = nbformat.read(ROOT / "notebooks" / "randomized_response.ipynb", as_version=4)
    drawn = [cell.id for cell in stored.cells if cell.metadata.get("mystnb", {}).get("figure")]
    shown = dressed(ROOT / "notebooks" / "randomized_response.ipynb").cells
    after = [cell.metadata.get("caption_of") for cell in shown]
    assert drawn
    assert [name for name in after if name] == drawn
    assert [shown[i - 1].id for i, name in enumerate(after) if name] == drawn


def test_the_reading_order_lists_every_chapter():
    text = lab_config.reading_order().cells[0].source
    listed = re.findall(r"^\d+\. \[.+?\]\(../../notebooks/(\w+).ipynb\)$", text, re.MULTILINE)
    assert sorted(listed) == [path.stem for path in NOTEBOOKS]
    numbers = re.findall(r"^(\d+)\. ", text, re.MULTILINE)
    assert numbers == [str(i + 1) for i in range(len(listed))]


def test_nobody_is_asked_about_news():
    asked = "@jupyterlab/apputils-extension:announcements"
    config = {"disabledExtensions": ["another"]}
    for _ in range(2):
        assert sorted(lab_config.quiet(None, config)["disabledExtensions"]) == [asked, "another"]
    assert lab_config.quiet(None, {})["disabledExtensions"] == [asked]

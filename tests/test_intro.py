"""What the first pages show is what the book computes: the introduction's example and the README's picture."""

import base64
import doctest
import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[1]
INTRO = ROOT / "book" / "intro.md"
PAGES = [INTRO, *(ROOT / "book" / f"{name}.md" for name in ("survey", "planner", "at_scale"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_give_what_they_show(page):
    sessions = re.findall(r"```python\n(>>> .*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    example = doctest.DocTestParser().get_doctest("\n".join(sessions), {}, page.stem, str(page), 0)
    outcome = doctest.DocTestRunner(verbose=False).run(example)
    assert outcome.attempted >= 5
    assert outcome.failed == 0


def test_the_picture_of_the_readme_is_the_figure_of_its_chapter():
    (name,) = re.findall(r"!\[[^\]]+\]\((book/_static/\w+\.png)\)", (ROOT / "README.md").read_text(encoding="utf-8"))
    notebook = nbformat.read(ROOT / "notebooks" / "audit_baselines.ipynb", as_version=4)
    named = "fig-grr-standard-error"
    drawn = [c for c in notebook.cells if c.metadata.get("mystnb", {}).get("figure", {}).get("name") == named]
    outputs = [output for cell in drawn for output in cell.get("outputs", [])]
    (figure,) = [output.data["image/png"] for output in outputs if "image/png" in output.get("data", {})]
    assert (ROOT / name).read_bytes() == base64.b64decode(figure)

"""What the first pages show is what the book computes: their examples, the numbers of the results, README's picture."""

import base64
import doctest
import re
import sys
from pathlib import Path

import nbformat
import pytest

from ldp_lib.book.claims import ledger

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
sys.path.insert(0, str(BOOK / "_ext"))
import cards  # noqa: E402

PAGES = [BOOK / f"{name}.md" for name in ("about", "api", "survey", "choose", "quality", "security")]
NUMBER = re.compile(r"\d[\d,./]*\d|\d|\b(?:half|tenth|seventh|one|two|three|nine)\b")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_give_what_they_show(page):
    text = cards.whole(page.read_text(encoding="utf-8"))
    sessions = re.findall(r"```python\n(>>> .*?)```", text, re.DOTALL)
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


def findings(text):
    """Return each row's number and its chapters, of which one or several show it; a row has no empty cell."""
    chapter = r"\{doc\}`\.\./notebooks/\w+`"
    cell = r"(?=\S)[^|]*[^|\s]"
    between = rf"{cell} \| {cell} \| {cell} \| {cell}"  # mechanism, ε, population, rival
    rows = re.findall(rf"^\| {cell} \| ({cell}) \| {between} \| ({chapter}(?:, {chapter})*) \|$", text, re.MULTILINE)
    return [(number, tuple(re.findall(r"/(\w+)`", chapters))) for number, chapters in rows]


def read(name):
    """Return what a reader of a chapter sees: text, captions and outputs."""
    notebook = nbformat.read(ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    seen = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    for cell in notebook.cells:
        seen.append(str(cell.metadata.get("mystnb", "")))
        for output in cell.get("outputs", []):
            data = output.get("data", {})
            seen.append(output.get("text", "") + data.get("text/plain", "") + data.get("text/markdown", ""))
    return "\n".join(seen)


def missing(number, text):
    """Return the numbers of a finding that the chapter does not show."""
    shown = set(NUMBER.findall(text)) | set(NUMBER.findall(re.sub(r"(?<=\d)[{},]+(?=\d)", "", text)))
    return [part for part in NUMBER.findall(number) if part.strip(",.") not in {found.strip(",.") for found in shown}]


def test_each_finding_names_a_chapter_that_shows_its_number():
    rows = findings((BOOK / "results.md").read_text(encoding="utf-8"))
    lines = [line for line in (BOOK / "results.md").read_text(encoding="utf-8").splitlines() if "{doc}" in line]
    assert len(rows) == len(lines) > 15
    assert [number for number, _ in rows if not NUMBER.search(number)] == []
    seen = {name: read(name) for _, names in rows for name in names}
    assert [(names, lost) for number, names in rows if (lost := missing(number, "\n".join(map(seen.get, names))))] == []
    idle = [
        (names, name)
        for number, names in rows
        for name in names
        if missing(number, seen[name]) == NUMBER.findall(number)
    ]
    assert idle == []  # every chapter that is named shows a number


def test_a_number_that_a_chapter_does_not_show_is_found_missing():
    assert missing("0.53", "0.52 of the variance") == ["0.53"]
    assert missing("1,068 in 3/4", "1,068 and 3/4.") == []


def test_the_first_page_has_a_picture_three_doors_and_four_lines():
    text = (BOOK / "intro.md").read_text(encoding="utf-8")
    assert text.count("```{figure}") == 1
    assert re.findall(r"grid-item-card\} (\w+)", text) == ["Learn", "Choose", "Check"]
    opening = text.split("```{figure}")[0].split("\n\n", 1)[1]
    assert len(re.findall(r"[.?!](?=\s|$)", opening)) == 3
    shown = re.sub(
        r"^:.*$|^[:`]{3,}.*$| <[^>`]*>|\{[\w:]+\}", "", text, flags=re.MULTILINE
    )  # less what only the markup says
    assert len(re.findall(r"\w+", shown)) < 300
    readme = (BOOK.parent / "README.md").read_text(encoding="utf-8")  # the least error of biased ones is not known
    assert "bounds {doc}`for biased ones" in " ".join(text.split())
    assert "bounds for biased ones" in readme
    lines = re.findall(r"^\*\*([^*:]+):\*\*", text, re.MULTILINE)
    assert lines == ["Derivations", "New here", "Papers audited", "Install"]
    proved = ("thm-copies", "thm-two-coins", "thm-two-coins-bound", "thm-best-split")
    assert [f" <{label}>`" in text for label in proved] == [True] * 4
    audited = {c.paper.removesuffix("-v1").removesuffix("-v2") for c in ledger().values()} - {"own"}
    assert len(re.findall(r"^- \{doc\}`[^`]*audit_\w+>`: ", text, re.MULTILINE)) == len(audited) == 4
    (counted,) = re.findall(r"(\d+) statements of four papers", text)
    assert int(counted) == sum(c.paper != "own" for c in ledger().values())

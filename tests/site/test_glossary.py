"""Every word of the glossary is linked where the chapters first use it, and every link leads to a word."""

import re
from pathlib import Path

import nbformat
import yaml

ROOT = Path(__file__).resolve().parents[2]
TERMS = re.findall(r"^([a-z][a-z -]+)$", (ROOT / "book" / "glossary.md").read_text(encoding="utf-8"), re.MULTILINE)
TRACK = [
    part
    for part in yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"]
    if part["caption"].startswith(("Learn", "Further", "In use"))
]
CHAPTERS = [ROOT / f"{chapter['file']}.ipynb" for part in TRACK for chapter in part["chapters"]]
PAGES = [ROOT / "book" / name for name in ("intro.md", "api.md")]


def text(path):
    """Return a page's text, or that of a chapter."""
    if path.suffix == ".md":
        return path.read_text(encoding="utf-8")
    cells = nbformat.read(path, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def links(path):
    """Return the words that a page links to the glossary, in their order."""
    return [link.split("<")[-1].rstrip(">") for link in re.findall(r"\{term\}`([^`]+)`", text(path))]


def test_words_are_in_alphabetical_order_and_explained():
    assert len(TERMS) == len(set(TERMS)) >= 25
    shown = [term for term in TERMS if term != "privacy budget"]  # stands beside "budget"
    assert shown == sorted(shown)


def test_every_word_is_linked_and_every_link_is_a_word():
    linked = {word for path in (*CHAPTERS, *PAGES) for word in links(path)}
    assert linked == set(TERMS)


def test_a_page_links_a_word_once():
    twice = {path.stem: [word for word in links(path) if links(path).count(word) > 1] for path in (*CHAPTERS, *PAGES)}
    assert {stem: words for stem, words in twice.items() if words} == {}

"""Pages made from files of the project: execution times, the entry to cite, the changes."""

import doctest
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
import yaml

from ldp_lib.book import claims

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import ledger as ledger_pages  # noqa: E402
import pages  # noqa: E402

CITED = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))


def notebook(cells):
    return nbformat.writes(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("1 + 1") for _ in range(cells)]))


def test_times_are_those_that_execution_left_beside_the_chapters(tmp_path):
    for name, cells in (("a", 2), ("b", 1)):
        (tmp_path / f"{name}.ipynb").write_text(notebook(cells), encoding="utf-8")
    (tmp_path / "a.seconds").write_text("3.14\n", encoding="utf-8")
    rows = list(pages.measured(tmp_path, ["a", "b"]))
    assert [row[:3] for row in rows] == [("a", 3.14, 2), ("b", None, 1)]
    table = pages.times_table(rows)
    assert "| {doc}`../a` | 3.1 | 2 |" in table
    assert "| all | not all measured | 3 |" in table
    assert "| all | 3 |" in pages.times_table(rows[:1])


def test_no_stored_notebook_holds_a_time():
    stored = [path.name for path in (ROOT / "notebooks").iterdir() if path.suffix == ".seconds"]
    assert stored == []
    for path in sorted((ROOT / "notebooks").glob("*.ipynb")):
        read = nbformat.read(path, as_version=4)
        assert [cell.id for cell in read.cells if "execution" in cell.metadata] == [], path


@pytest.mark.parametrize("address", ["", "https://a.example/b/"])
def test_the_entry_to_cite_is_that_of_the_citation_file(address):
    entry = pages.bibtex(CITED, "2026", address)
    fields = dict(re.findall(r"^  (\w+) += \{(.+)\},$", entry, re.MULTILINE))
    assert entry.startswith("@software{ldp_lib,\n")
    assert entry.count("{") == entry.count("}")
    assert fields.pop("url", "") == address
    assert fields == {
        "author": "".join(f"{{{author['name']}}}" for author in CITED["authors"]),
        "title": f"{{{CITED['title']}}}",
        "year": yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["copyright"],
        "version": CITED["version"],
    }


def test_the_page_of_changes_is_the_file_of_changes():
    shown = []
    page = SimpleNamespace(
        env=SimpleNamespace(note_dependency=lambda path: None),
        parse_text_to_nodes=lambda text, allow_section_headings: shown.append(text),
    )
    pages.Changes.run(page)
    (text,) = shown
    assert re.match(r"### \d+\.\d+\.\d+\n", text)
    assert (ROOT / "CHANGES.md").read_text(encoding="utf-8").endswith(text.replace("### ", "## "))


def test_the_licences_that_come_with_files_of_the_site_are_on_their_page():
    page = (ROOT / "book" / "about.md").read_text(encoding="utf-8")
    files = [path.relative_to(ROOT).as_posix() for path in (ROOT / "book" / "_static").rglob("*LICENSE*")]
    assert len(files) >= 3
    assert [path for path in files if f"`{path}`" not in page] == []


def test_the_footer_names_the_version_and_leads_to_sections_of_the_page_about():
    context = {"pathto": lambda page: f"../{page}.html"}
    pages.add_footer(None, "notebooks/x", "page.html", context, None)
    footer = context["theme_extra_footer"]
    assert f"Version {CITED['version']} ·" in footer
    about = (ROOT / "book" / "about.md").read_text(encoding="utf-8")
    places = re.findall(r'href="\.\./book/about\.html#([\w-]+)"', footer)
    assert {"changes", "licences"} <= set(places) <= set(re.findall(r"^\(([\w-]+)\)=$", about, re.MULTILINE))


def test_every_theorem_is_on_the_page_of_theorems_and_those_on_limits_say_what_is_known():
    page = (ROOT / "book" / "theorems.md").read_text(encoding="utf-8")
    stated = r"\{prf:(?:theorem|proposition|lemma|corollary|definition)\}[^\n]*\n:label: ([\w-]+)"
    labels = [
        label
        for path in (ROOT / "notebooks").glob("*.ipynb")
        for cell in nbformat.read(path, as_version=4).cells
        for label in re.findall(stated, cell.source)
    ]
    assert len(labels) == len(set(labels)) > 50
    assert set(labels) - set(re.findall(r"\{prf:ref\}`([\w-]+)`", page)) == set()
    limits = page.split("## The limit\n")[1].partition("**Open.**")[0].split("\n{prf:ref}`")[1:]
    assert len(limits) > 10
    for words in ("*Check* {claim}`own/", "*Known:*"):
        assert [limit.partition("`")[0] for limit in limits if words not in limit] == []
    assert [limit.partition("`")[0] for limit in limits if not re.search(r"\n: For (every|equal)", limit)] == []


def test_each_check_that_a_page_names_is_a_test_whose_code_has_a_page():
    pages = [*(ROOT / "notebooks").glob("*.ipynb"), *(ROOT / "book").glob("*.md")]
    named = re.findall(r"\{check\}`[^`]* <(\w+)::(\w+)>`", "".join(page.read_text(encoding="utf-8") for page in pages))
    tests = {name: path.read_text(encoding="utf-8") for name, path in ledger_pages.CHECKS.items()}
    assert [name for name in named if f"\ndef {name[1]}(" not in tests.get(name[0], "")] == []
    assert len(named) > 10


def test_the_row_of_a_claim_that_a_test_settles_leads_to_the_line_that_settles_it():
    shown = {path.stem: ledger_pages.checked(path.read_text(encoding="utf-8")) for path in ledger_pages.CHECKS.values()}
    by_test = [c for c in claims.ledger().values() if c.chapter.startswith("tests/")]
    lost = [c.id for c in by_test if shown[c.chapter.rpartition("/")[2]].count(f'id="{c.anchor}"') != 1]
    assert lost == []
    assert len(by_test) > 100


def test_the_copy_button_takes_what_is_typed():
    """Lines with a prompt, without it; output is left, because pasted it would be an error."""
    config, blocks = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"], 0
    prompt = re.compile(f"^({config['copybutton_prompt_text']})(.*)")
    assert config["copybutton_prompt_is_regexp"]
    for path in sorted((ROOT / "book").glob("*.md")):
        for block in re.findall(r"(?ms)^```python\n(>>>.*?)^```$", path.read_text(encoding="utf-8")):
            copied = [found[2] for line in block.splitlines() if (found := prompt.match(line))]
            typed = "".join(one.source for one in doctest.DocTestParser().get_examples(block))
            assert "\n".join([*copied, ""]) == typed
            blocks += 1
    assert blocks > 20

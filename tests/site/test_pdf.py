"""The book as PDF: a small book comes out whole, and each fault that a printed page can have is found."""

import io
import re
import sys
from pathlib import Path

import pytest
from pypdf import PdfReader

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import pdf  # noqa: E402

TEX = '<annotation encoding="application/x-tex">x</annotation>'
FORMULA = f'<span class="math"><math><semantics><mi>x</mi>{TEX}</semantics></math></span>'
LINES = "\n".join(f"box %d line {line}" for line in range(14))
BOXES = "".join(f"<pre>{LINES % ((box,) * 14)}</pre><p>On.</p>" for box in range(12))
FIRST = f"""<section id="one"><h1>One<a class="headerlink" href="#one">#</a></h1><p>
See <a href="two.html#there">two</a>,
<a href="two.html">all of it</a>, <a href="../_sources/one.ipynb">a file</a>, <a href="https://example.org/">elsewhere</a>,
{FORMULA}.</p>
<details class="admonition hide"><summary><p>Show</p></summary><pre>folded = r"\\frac12"</pre></details>
<div class="admonition exercise" id="ex"><p class="admonition-title">Exercise 1</p><section id="exercise-content">
<p>Ask a question.</p></section></div>
<div class="solution admonition" id="s"><p class="admonition-title">Solution to<a href="#ex"> Exercise 1</a></p>
<section id="solution-content"><p>It is 42.</p></section></div>
<div class="cell tag_hide-input"><pre>print(42)</pre></div>
<pre>{"long" * 60}</pre><table><tr>{"<td>unbreakable</td>" * 12}</tr></table>
<section id="more"><h2>More</h2>{BOXES}</section></section>"""
SECOND = '<section id="two"><h1>Two</h1><p id="there">There are words here.</p></section>'
PARTS = [{"caption": "", "pages": ["book/intro"]}, {"caption": "All", "pages": ["book/one", "book/two"]}]
INTRO = "<section id='intro'><h1>Intro</h1><p>The first words of a book.</p></section>"


@pytest.fixture(scope="module")
def made(browser, tmp_path_factory):
    """A function that lays out a small book; returns the browser's page and what had to become smaller."""

    def make(first, second=SECOND):
        site = tmp_path_factory.mktemp("site")
        (site / "book").mkdir()
        for name, article in (("intro", INTRO), ("one", first), ("two", second)):
            html = f'<!doctype html><html><body><article class="bd-article">{article}</article></body></html>'
            (site / "book" / f"{name}.html").write_text(html, encoding="utf-8")
        page = browser.new_page()
        return page, pdf.lay_out(page, site, ["A small book", "Nobody"], PARTS)

    return make


@pytest.fixture(scope="module")
def small(made):
    """A small book: its document, what was made smaller, its PDF as printed and as packed."""
    page, smaller = made(FIRST)
    assert pdf.faults_of(page) == []
    raw = pdf.printed(page)
    return page, smaller, raw, pdf.packed(raw)


def test_a_small_book_has_no_faults(small):
    _, smaller, _, packed = small
    assert pdf.faults(packed, ["Intro", "One", "Two"]) == []
    (table,) = smaller
    assert 0.4 < table["share"] < 1


def test_it_has_contents_with_pages_an_outline_and_links(small):
    reader = PdfReader(io.BytesIO(small[3]))
    texts = [page.extract_text() for page in reader.pages]
    places = pdf.pages_of(small[3])
    assert texts[0].startswith("A small book")
    listed = re.findall(r"^(Intro|All|One|Two|Answers) (\d+)$", texts[1], re.MULTILINE)
    assert dict(listed) == {
        "Intro": str(places["book.intro"]),
        "All": str(places["part-1"]),
        "One": str(places["book.one"]),
        "Two": str(places["book.two"]),
        "Answers": str(places["answers"]),
    }
    assert texts[places["book.two"] - 1].count("There are words here.") == 1
    outline = pdf.flat(reader.outline)
    assert [title for title in outline if title in ("Contents", "All", "One", "More", "Two", "Answers")] == [
        "Contents", "All", "One", "More", "Two", "Answers", "One"]  # fmt: skip
    links = [link.get_object() for page in reader.pages for link in page.get("/Annots") or []]
    assert {link["/A"]["/URI"] for link in links if "/A" in link} == {"https://example.org/"}
    assert {"/book.two--there", "/book.two", "/book.one--print-answer-1", "/answers"} <= {
        str(link.get("/Dest")) for link in links
    }
    assert reader.trailer["/Root"]["/Lang"] == "en"


def test_folded_code_is_open_and_answers_stand_at_the_end(small):
    reader = PdfReader(io.BytesIO(small[3]))
    last = pdf.pages_of(small[3])["answers"]
    texts = [page.extract_text() for page in reader.pages]
    assert sum("folded = " in text for text in texts) == 1
    for words in ("It is 42.", "print(42)"):
        assert [number for number, text in enumerate(texts, 1) if words in text] == [last]
    assert any(f"Solution to Exercise 1: page {last}" in " ".join(text.split()) for text in texts)


def test_no_box_of_code_is_split(small):
    texts = [page.extract_text() for page in PdfReader(io.BytesIO(small[3])).pages]
    for box in range(12):
        lines = [len(re.findall(rf"box {box} line \d+", text)) for text in texts]
        assert sorted(lines)[-1] == sum(lines) == 14


def test_packing_changes_no_object(small):
    before, after = (PdfReader(io.BytesIO(data)) for data in small[2:])
    assert len(small[3]) < 0.8 * len(small[2])
    assert after.metadata == before.metadata
    assert len(before.xref[0]) > 50
    reader_id = re.compile(r"(?<=, 0), \d+(?=\))")
    for number in before.xref[0]:
        one, other = (reader.get_object(number) for reader in (before, after))
        assert re.sub(reader_id, "", repr(one)) == re.sub(reader_id, "", repr(other)), number
        assert not hasattr(one, "get_data") or one.get_data() == other.get_data()


BAD = FIRST.replace("Ask a question.", "Ask \\frac{1}{2}, \ufffd and \ue123.")  # the last one is in no font


def test_faults_on_paper_are_found(made):
    page, _ = made(BAD)
    found = pdf.faults(pdf.packed(pdf.printed(page)), ["Intro", "Three"])
    assert "not in the outline: Three" in found
    for words in (
        r"raw TeX: '\\frac{1}{2}",
        "a character that could not be read",
        "a missing glyph",
    ):
        assert any(words in one for one in found), words


@pytest.mark.parametrize(
    ("words", "planted"),
    [
        ("beyond the edge", '<div style="width:900px">wide</div>'),
        ("cut", '<div style="overflow:hidden"><div style="width:900px">wide</div></div>'),
        ("may split", '<div class="admonition" style="break-inside:auto !important">half</div>'),
        ("a link that leads nowhere", '<a href="#nowhere">lost</a>'),
        ("raw markup", r"\frac{1}{2}"),
        ("not typeset", '<span class="math">x</span>'),
    ],
)
def test_faults_of_the_layout_are_found(words, planted, small):
    page = small[0]
    page.evaluate(
        "html => document.querySelector('.chapter').insertAdjacentHTML('beforeend', `<div id=plant>${html}</div>`)",
        planted,
    )
    found = pdf.faults_of(page)
    page.evaluate("() => document.querySelector('#plant').remove()")
    assert any(words in one for one in found)
    assert pdf.faults_of(page) == []


def test_an_image_that_is_not_there_stops_the_print(made):
    with pytest.raises(Exception, match="decode"):
        made(FIRST.replace("</h1>", "</h1><img src='none.png'>"))


def test_the_first_page_links_to_the_pdf_only_where_there_is_one(tmp_path):
    assert (ROOT / "book" / "intro.md").read_text(encoding="utf-8").count(pdf.PLACE) == 1
    (tmp_path / "book").mkdir()
    intro = tmp_path / "book" / "intro.html"
    intro.write_text(f"<p>A</p>{pdf.PLACE}<p>B</p>")
    pdf.offer(tmp_path, b"%PDF" + b"x" * 2_000_000)
    assert f'<a href="../{pdf.NAME}">The book as PDF</a>, 2 MB' in intro.read_text(encoding="utf-8")
    assert (tmp_path / pdf.NAME).stat().st_size == 2_000_004
    with pytest.raises(RuntimeError, match="one place for the link"):
        pdf.offer(tmp_path, b"%PDF")


def test_the_book_is_printed_in_reading_order():
    title, parts = pdf.contents()
    pages = [page for part in parts for page in part["pages"]]
    assert pages[0] == "book/intro"
    assert len(set(pages)) == len(pages) > 40
    assert title[0] == "Local differential privacy, checked"


def test_on_paper_a_question_is_a_list_and_its_answers_stand_at_the_end(made):
    options = "".join(
        f'<li><details class="choice" data-verdict="{verdict}"><summary><span class="letter">{letter}.</span> '
        f'<span>{say}</span></summary><p class="why"><strong>{verdict}</strong> {why}</p></details></li>'
        for letter, verdict, say, why in (
            ("a", "Wrong.", "It is 41.", "One is missing."),
            ("b", "Right.", "It is 42.", "So."),
        )
    )
    asked = f'<p>What?</p><ul class="choices" aria-label="Answers to question 1">{options}</ul>'
    page, _ = made(f'<section id="one"><h1>One</h1>{asked}</section>')
    assert pdf.faults_of(page) == []
    assert page.locator("details, summary").count() == 0
    there = page.locator("#book\\.one li").all_inner_texts()
    assert [text.split() for text in there] == [["a.", "It", "is", "41."], ["b.", "It", "is", "42."]]
    told = page.locator("#answers .answer").inner_text()
    assert told.split("\n\n") == ["Answers to question 1", "a. Wrong. One is missing.", "b. Right. So."]

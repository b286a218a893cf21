"""The diagrams in the book are those that their source draws, and each says what it shows."""

import re
from pathlib import Path
from xml.etree import ElementTree

import diagrams
import pytest

each = pytest.mark.parametrize("name", diagrams.DIAGRAMS)


@each
def test_the_stored_diagram_is_what_its_source_draws(name):
    stored = (diagrams.FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    assert stored == diagrams.DIAGRAMS[name]().svg()


def test_no_stored_diagram_lacks_a_source():
    assert {path.stem for path in diagrams.FOLDER.glob("*.svg")} == set(diagrams.DIAGRAMS)


@each
def test_a_diagram_has_a_title_a_description_and_stays_inside_its_frame(name):
    root = ElementTree.fromstring((diagrams.FOLDER / f"{name}.svg").read_text(encoding="utf-8"))
    space = "{http://www.w3.org/2000/svg}"
    assert len(root.findtext(f".//{space}title")) > 5
    assert len(root.findtext(f".//{space}desc")) > 40
    width, height = (float(root.get(side)) for side in ("width", "height"))
    for text in root.iter(f"{space}text"):
        assert 0 < float(text.get("x")) < width
        assert 0 < float(text.get("y")) < height


# Words of a drawing, and the shapes that hide a part of them; those that hold all of the words are their ground.
OVERLAPS = """() => {
    const svg = document.querySelector('svg'), cut = svg.querySelector('#all'), all = cut || svg;
    if (cut) svg.append(cut);  // for a phone the whole is defined once and shown in parts
    const shapes = [...all.querySelectorAll('rect, circle, path[d$=Z]')].map(e => [e, e.getBoundingClientRect()]);
    return [...all.querySelectorAll('text')].flatMap(text => {
        const a = text.getBoundingClientRect();
        const hides = ([shape, b]) => b.width > 0 && (b.left > a.left + 1 || b.right < a.right - 1)
            && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1
            && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 0.3 * a.height;
        return shapes.filter(hides).map(([shape]) => `${text.textContent}: ${shape.outerHTML.slice(0, 60)}`);
    });
}"""


def test_no_shape_hides_words_of_a_diagram(browser):
    page = browser.new_page()
    for path in diagrams.FOLDER.rglob("*.svg"):
        page.set_content(path.read_text(encoding="utf-8"))
        assert page.locator("text").count() > 1
        assert page.evaluate(OVERLAPS) == [], path.name
    page.close()


@each
def test_a_diagram_is_used_with_alternative_text(name):
    root = Path(__file__).resolve().parents[2]
    pages = [*root.glob("book/*.md"), *root.glob("notebooks/*.ipynb")]
    used = [page for page in pages if f"diagrams/{name}.svg" in page.read_text(encoding="utf-8")]
    assert used, f"{name} is on no page"
    for page in used:
        assert re.search(rf"diagrams/{name}\.svg[^`]*?:alt: \S", page.read_text(encoding="utf-8")), page


def test_drawings_speak_the_book_s_words():
    drawn = [*diagrams.FOLDER.rglob("*.svg"), *diagrams.FOLDER.with_name("explore").glob("*.svg")]
    assert len(drawn) > 40
    not_ours = re.compile(r"\b(coins?|chances?|laws?|bits|pieces|somebody|At budget|budget \d)\b")
    found = {path.name: not_ours.findall(path.read_text(encoding="utf-8")) for path in drawn}
    assert {name: words for name, words in found.items() if words} == {}

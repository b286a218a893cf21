"""Live boxes in the built site: the page says of every formula what Python says. `make test` builds it first."""

import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import live  # noqa: E402

SITE = ROOT / "_build" / "html"
BOXES = {box.name: box for box in live.boxes()}


@pytest.fixture(scope="module")
def page(browser, serve):
    """A function that opens a chapter's page, with the addresses that it asks for."""
    assert (SITE / "index.html").is_file(), "there is no built site: run make book, or make test"
    base, opened = serve(SITE), []

    def visit(slug):
        page = browser.new_page()
        page.asked = []
        page.on("request", lambda request: page.asked.append(request.url))
        page.goto(f"{base}/notebooks/{slug}.html")
        opened.append(page)
        return page

    yield visit
    for page in opened:
        page.close()


def said(place):
    """Return a box's verdict and its rows: label, enumerated, the formula's, equal."""
    rows = [row.split("\t") for row in place.locator("tbody tr").all_inner_texts()]
    return place.locator(".live-says").inner_text()[:1], [[*row[:3], "equal" in row[-1]] for row in rows]


@pytest.mark.parametrize("chapter", sorted({box.chapter for box in BOXES.values()}))
def test_the_page_says_of_every_formula_what_python_says(chapter, page):
    opened = page(chapter)
    assert not [url for url in opened.asked if "brython" in url or "worker" in url]  # nothing before the first click
    for box in (box for box in BOXES.values() if box.chapter == chapter):
        place = opened.locator(f"#live-{box.name.replace('_', '-')}")
        shown = place.locator("tbody tr").all_inner_texts()
        assert len(shown) == len(box.rows())  # the listing with its result, as a reader without scripts sees it
        place.get_by_role("button", name="Edit and run it here").press("Enter")
        for name, (_, right) in box.formulas.items():
            place.get_by_role("combobox").select_option(name)
            wanted = [[*row[:3], row[3]] for row in box.rows(name)]
            end = time.monotonic() + 120
            while (found := said(place)) != ("✓" if right else "✗", wanted) and time.monotonic() < end:
                opened.wait_for_timeout(100)
            assert found == ("✓" if right else "✗", wanted)


SLOW_FIRST_WORKER = """() => {
const Quick = Worker;
window.made = 0;
window.Worker = class {
  constructor(address) {
    const own = this, slow = window.made++ === 0, worker = new Quick(address);
    const tell = (event) => own.onmessage?.(event);
    worker.onmessage = (event) => { slow && event.data.ready ? setTimeout(tell, 3000, event) : tell(event); };
    own.postMessage = (data) => worker.postMessage(data);
    own.terminate = () => worker.terminate();
  }
};
}"""


def test_an_answer_that_comes_late_is_not_shown_for_another_question(page):
    """Who asks again while Python is being loaded: one worker answers, and the last question's answer stays."""
    box = BOXES["best_copy"]
    (wrong, _), (right, _) = sorted(box.formulas.items(), key=lambda item: item[1][1])
    opened = page(box.chapter)
    opened.evaluate(SLOW_FIRST_WORKER)
    place = opened.locator("#live-best-copy")
    place.get_by_role("button", name="Edit and run it here").press("Enter")
    for name in (wrong, right):
        place.get_by_role("combobox").select_option(name)
    place.locator(".live-says").filter(has_text="✓").wait_for(timeout=60_000)
    opened.wait_for_timeout(4000)
    assert said(place)[0] == "✓"
    assert opened.evaluate("window.made") == 1


def test_a_formula_with_a_slip_of_python_says_what_is_wrong(page):
    box = BOXES["variance"]
    place = page(box.chapter).locator(f"#live-{box.name.replace('_', '-')}")
    place.get_by_role("button", name="Edit and run it here").click()
    place.locator(".live-says").filter(has_text="✓").wait_for(timeout=60_000)
    place.locator("textarea").fill("def nothing(:")
    place.get_by_role("button", name="Compare").click()
    place.locator(".live-says").filter(has_text="Not run").wait_for(timeout=60_000)
    assert "Error" in place.locator(".live-says").inner_text()

"""The fold at a chapter's end that writes a report about an error, on a page of its own."""

import re
import subprocess
import sys
from pathlib import Path
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import pages  # noqa: E402
import where  # noqa: E402
import witness  # noqa: E402

HOME = "https://github.com/Somebody/some-book"
KNOWN = {"Chapter": "8, A <chapter> & more (notebooks/one.ipynb)", "Version": "0.1.0"}


def test_a_report_without_a_script_has_a_blank_for_each_line():
    assert witness.report(KNOWN).splitlines() == [
        "Chapter: 8, A <chapter> & more (notebooks/one.ipynb)",
        "Formula or check:",
        "Numbers:",
        "The book gives:",
        "I find:",
        "Version: 0.1.0",
    ]


def test_a_report_names_the_commit_of_the_build_where_there_is_one(tmp_path):
    def git(*words):
        return subprocess.run(
            ["git", "-C", tmp_path, *words], check=True, capture_output=True, text=True
        ).stdout.strip()

    assert witness.version(pages.commit(tmp_path)) == pages.version()
    git("init", "--quiet")
    (tmp_path / "page.md").write_text("one", encoding="utf-8")
    git("add", "page.md")
    git("-c", "user.name=A", "-c", "user.email=a@example.org", "commit", "--quiet", "--message=one")
    git("tag", "v9")  # a name is not a commit
    found = pages.commit(tmp_path)
    assert len(found) == 12
    (tmp_path / "within").mkdir()
    assert pages.commit(tmp_path / "within") == ""
    assert git("rev-parse", "HEAD").startswith(found)
    assert witness.version(found) == f"{pages.version()}, commit {found}"
    (tmp_path / "page.md").write_text("two", encoding="utf-8")
    assert pages.commit(tmp_path) == f"{found}+"


@pytest.mark.parametrize("repository", ["", HOME, "https://gitlab.com/Some/book", "https://git.example.org/a/b"])
def test_the_link_to_an_issue_is_there_where_its_form_is_known(repository):
    html = witness.box(KNOWN, where.issue_of(repository))
    links = re.findall(r'href="([^"]+)"', html)
    assert bool(links) == (repository in (HOME, "https://gitlab.com/Some/book"))
    for link in links:
        assert link.startswith(f"{repository}/")
        told = parse_qs(urlsplit(link.replace("&amp;", "&")).query, keep_blank_values=True)
        assert witness.report(KNOWN) in [text for values in told.values() for text in values]
    assert html.count("<label") == 4
    assert "A &lt;chapter&gt; &amp; more" in html


# In a browser: a page with nothing but the fold, its script and its style.

PLACES = """<div class="proof"><p class="admonition-title">Theorem 8.1 (Sums)</p></div><div class="math">
<span class="eqno">(8.2)<a href="#">#</a></span></div><div class="claim-badge"><code>a/thm-1</code></div>"""


@pytest.fixture(scope="module")
def small(browser, serve, tmp_path_factory):
    """A function that opens a small page, with and without an address."""
    folder = tmp_path_factory.mktemp("witness")
    for name in ("witness.js", "witness.css"):
        (folder / name).write_text((ROOT / "book" / "_static" / name).read_text(encoding="utf-8"), encoding="utf-8")
    base, opened = serve(folder), []

    def visit(repository="", *, scripts=True, secure=True):
        html = f"""<!doctype html><html lang="en"><meta charset="utf-8"><title>One</title>
        <link rel="stylesheet" href="witness.css"><link rel="icon" href="data:,">
        <article>{PLACES}{witness.box(KNOWN, where.issue_of(repository))}</article><script src="witness.js"></script>"""
        (folder / "page.html").write_text(html, encoding="utf-8")
        context = browser.new_context(java_script_enabled=scripts)
        context.grant_permissions(["clipboard-read", "clipboard-write"])
        page = context.new_page()
        page.foreign = []
        page.on("request", lambda request: request.url.startswith(base) or page.foreign.append(request.url))
        if not secure:
            page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
        page.goto(f"{base}/page.html")
        opened.append(context)
        return page

    yield visit
    for context in opened:
        context.close()


GIVEN = {"Formula or check": "Theorem 8.1", "Numbers": "k = 3, e^ε = 2", "The book gives": "1/2", "I find": "2/3 & <b>"}
WRITTEN = [
    "Chapter: 8, A <chapter> & more (notebooks/one.ipynb)",
    "Formula or check: Theorem 8.1",
    "Numbers: k = 3, e^ε = 2",
    "The book gives: 1/2",
    "I find: 2/3 & <b>",
    "Version: 0.1.0",
]


@pytest.mark.parametrize("secure", [True, False])
def test_what_one_types_is_the_report_that_a_button_copies(small, secure):
    page = small(secure=secure)
    assert not page.get_by_label("Numbers").is_visible()
    page.get_by_text("Found an error? Your witness").press("Enter")
    for name, value in GIVEN.items():
        page.get_by_label(name).fill(value)
    assert page.locator(".witness-report").inner_text().splitlines() == WRITTEN
    page.get_by_role("button", name="Copy the report").press("Enter")
    page.get_by_role("status").get_by_text("Copied.", exact=True).wait_for()  # the clipboard takes its time
    pasted = page.get_by_label("Numbers")
    pasted.fill("")
    assert page.get_by_role("status").inner_text() == ""  # what was copied is not this any more
    pasted.press("ControlOrMeta+v")
    assert pasted.input_value().strip().splitlines() == WRITTEN
    assert page.foreign == []


def test_the_page_offers_its_places_and_takes_others(small):
    page = small()
    offered = page.locator("#witness-places option").evaluate_all("all => all.map(each => each.value)")
    assert offered == ["Theorem 8.1 (Sums)", "Equation (8.2)", "Claim a/thm-1"]
    page.get_by_text("Found an error? Your witness").click()
    page.get_by_label("Formula or check").fill("the second sentence")
    assert "Formula or check: the second sentence\n" in page.locator(".witness-report").inner_text()


def test_where_the_address_is_known_a_link_opens_the_same_report(small):
    page = small(HOME)
    page.get_by_text("Found an error? Your witness").click()
    link = page.get_by_role("link", name="Open it as an issue")
    for given, written in (({}, witness.report(KNOWN).splitlines()), (GIVEN, WRITTEN)):
        for name, value in given.items():
            page.get_by_label(name).fill(value)
        address = urlsplit(link.get_attribute("href"))
        assert address.geturl().startswith(f"{HOME}/issues/new?title=Chapter%208")
        told = parse_qs(address.query)
        assert told["body"][0].splitlines() == written
    assert told["title"] == ["Chapter 8, A <chapter> & more (notebooks/one.ipynb): Theorem 8.1"]
    assert small().get_by_role("link", name="Open it as an issue").count() == 0


def test_without_a_script_the_report_is_there_to_copy_and_nothing_that_does_not_work(small):
    page = small(HOME, scripts=False)
    page.get_by_text("Found an error? Your witness").click()
    assert page.locator(".witness-report").inner_text().splitlines() == witness.report(KNOWN).splitlines()
    assert page.get_by_role("button").count() == page.get_by_role("textbox").count() == 0
    assert "notebooks/one.ipynb" in unquote(page.locator(".witness-issue").get_attribute("href"))

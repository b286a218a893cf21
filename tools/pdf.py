"""Print the built site as one PDF, and look at what came out: python tools/pdf.py SITE TARGET.

A browser joins the articles of all pages in reading order (print.js), lays them out for paper (print.css) and prints
them, the last time with the numbers of pages where the book refers to them. What is printed is what the site shows,
except that answers stand at the end and folded code is open.
"""

import io
import json
import mimetypes
import re
import sys
import zlib
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml
from playwright.sync_api import sync_playwright
from pypdf import PdfReader

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests"))
import browser as browsers  # noqa: E402
import page_checks  # noqa: E402

HOST = "http://book.invalid"  # nothing leaves the machine: every request is answered below
COLUMN = {"width": 642, "height": 963}  # A4 less its margins, in pixels of 1/96 inch
NAME = "ldp-book.pdf"
LEAST = 0.6  # the least share of its size that anything may be shrunk to
PLACE = "<!-- pdf -->"
SHELL = '<!doctype html><html lang="en" data-theme="light"><head><title>{}</title></head><body></body></html>'


def contents():
    """Return what the title page says, and the parts of the book, each with its pages in reading order."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    title = [config["title"], config["author"], f"Version {cited['version']}, {config['copyright']}"]
    parts = [
        {"caption": part["caption"], "pages": [page["file"] for page in part["chapters"]]} for part in toc["parts"]
    ]
    return title, [{"caption": "", "pages": [toc["root"]]}, *parts]


def lay_out(page, site, title, parts):
    """Make one document of the pages of a site, ready for print; return what had to become smaller."""

    def serve(route):
        path = site / unquote(urlsplit(route.request.url).path).lstrip("/")
        if path == site / "joined":
            route.fulfill(body=SHELL.format(title[0]), content_type="text/html; charset=utf-8")
        elif path.is_file():
            route.fulfill(body=path.read_bytes(), content_type=mimetypes.guess_type(path)[0] or "text/plain")
        else:
            route.fulfill(status=404)

    page.route("**/*", serve)
    page.set_viewport_size(COLUMN)
    page.emulate_media(media="print")
    page.goto(f"{HOST}/joined")
    page.evaluate((ROOT / "tools" / "print.js").read_text(encoding="utf-8"))
    page.evaluate("([title, parts]) => book.join(title, parts)", [title, parts])
    page.add_style_tag(path=ROOT / "book" / "_static" / "print.css")
    page.evaluate("() => book.settle()")
    return page.evaluate("() => book.fit()")


def faults_of(page):
    """Return what is wrong with the laid-out document."""
    return page.evaluate("() => book.faults()") + page_checks.raw_markup(page) + page_checks.untypeset_formulas(page)


def printed(page):
    """Return the PDF of the document, with page numbers where it refers to pages."""
    options = {"prefer_css_page_size": True, "print_background": True, "tagged": True, "outline": True}
    pdf = page.pdf(**options)
    for _ in range(3):  # a number that is longer than what stood in its place may move what follows
        numbers = pages_of(pdf)
        page.evaluate("numbers => book.number(numbers)", numbers)
        pdf = page.pdf(**options)
        if pages_of(pdf) == numbers:
            return pdf
    raise RuntimeError("the numbers of pages moved what they number")


def pages_of(pdf):
    """Return the page, counted from 1, of each place that something links to."""
    reader = PdfReader(io.BytesIO(pdf))
    places = reader.named_destinations.items()
    return {name.lstrip("/"): reader.get_destination_page_number(place) + 1 for name, place in places}


def packed(pdf):
    """Return the same PDF with its many small objects compressed together; the browser leaves them as they are."""
    start = int(re.search(rb"startxref\s+(\d+)", pdf)[1])
    head = re.compile(rb"xref\s+0 (\d+)\s+").match(pdf, start)
    rows = [pdf[head.end() + 20 * i : head.end() + 20 * i + 10] for i in range(int(head[1]))]
    offsets = {i: int(row) for i, row in enumerate(rows) if int(row)}
    ends = dict(zip(sorted(offsets.values()), [*sorted(offsets.values())[1:], start], strict=True))
    out, place, small = bytearray(b"%PDF-1.5\n%\xe2\xe3\xcf\xd3\n"), {}, []
    for i, offset in offsets.items():
        body = re.fullmatch(rb"\d+ 0 obj\s(.*?)\s*endobj\s*", pdf[offset : ends[offset]], re.DOTALL)[1]
        if body.endswith(b"endstream"):
            place[i] = (1, len(out), 0)
            out += b"%d 0 obj\n%b\nendobj\n" % (i, body)
        else:
            small.append((i, body))
    count = len(rows)
    for group in (small[i : i + 200] for i in range(0, len(small), 200)):
        index, text = [], b""
        for slot, (i, body) in enumerate(group):
            index.append(b"%d %d" % (i, len(text)))
            text += body + b"\n"
            place[i] = (2, count, slot)
        first = b" ".join(index) + b"\n"
        out, count = add_stream(
            out, place, count, b"/Type /ObjStm /N %d /First %d" % (len(group), len(first)), first + text
        )
    keep = re.search(rb"/Root \d+ 0 R", pdf[start:])[0] + b" " + re.search(rb"/Info \d+ 0 R", pdf[start:])[0]
    begin, place[count] = len(out), (1, len(out), 0)
    table = b"".join(
        kind.to_bytes(1) + where.to_bytes(4) + slot.to_bytes(2)
        for kind, where, slot in (place.get(i, (0, 0, 0)) for i in range(count + 1))
    )
    out, _ = add_stream(out, place, count, b"/Type /XRef /Size %d /W [1 4 2] %b" % (count + 1, keep), table)
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % begin)


def add_stream(out, place, number, entries, data):
    """Append a compressed stream; return what there is now, and the next free number."""
    place[number] = (1, len(out), 0)
    data = zlib.compress(data, 9)
    out += b"%d 0 obj\n<<%b /Filter /FlateDecode /Length %d>>\nstream\n%b\nendstream\nendobj\n" % (
        number,
        entries,
        len(data),
        data,
    )
    return out, number + 1


SHOWN = re.compile(rb"/ActualText <[^>]*>|/(F\d+) [\d.]+ Tf|<([0-9A-Fa-f]+)>")


def missing_glyphs(page):
    """Return the fonts of a page that are not embedded, and those with a glyph that stands for a missing one."""
    found, absent = [], {}
    for name, font in (page["/Resources"].get("/Font") or {}).items():
        font = font.get_object()
        if (
            font["/Subtype"] == "/Type3"
        ):  # drawn glyph by glyph, so embedded; each code has a name, g0 is the missing one
            names = font["/Encoding"]["/Differences"]
            absent[name] = 2, {f"{i:02X}" for i, glyph in enumerate(names[1:], names[0]) if glyph == "/g0"}
        else:
            inner = font["/DescendantFonts"][0].get_object() if "/DescendantFonts" in font else font
            if not {"/FontFile", "/FontFile2", "/FontFile3"} & inner["/FontDescriptor"].keys():
                found.append(f"not embedded: {font['/BaseFont']}")
            absent[name] = 4, {"0000"}
    font, drawn = None, page.get_contents()
    for match in SHOWN.finditer(b"" if drawn is None else drawn.get_data()):
        if match[1]:
            font = f"/{match[1].decode()}"
        elif match[2] and font in absent:
            width, codes = absent[font]
            text = match[2].decode().upper()
            if codes & {text[i : i + width] for i in range(0, len(text), width)}:
                found.append(f"a missing glyph in {font}")
    return sorted(set(found))


def faults(pdf, chapters):
    """Return what is wrong with a PDF that should hold these chapters, counted from page 1."""
    reader, found = PdfReader(io.BytesIO(pdf)), []
    if len(reader.pages) < 2 or not reader.trailer["/Root"].get("/MarkInfo", {}).get("/Marked"):
        found.append("no tags")
    outline = json.dumps(flat(reader.outline)).replace(" ", "")  # Chromium drops the space where a heading is wrapped
    found += [f"not in the outline: {name}" for name in chapters if json.dumps(name).replace(" ", "") not in outline]
    for number, page in enumerate(reader.pages, 1):
        text, prose = read(page)
        wrong = missing_glyphs(page)
        if "\ufffd" in text:
            wrong.append("a character that could not be read")
        if raw := re.search(r"\\(?:frac|begin|left|sum|mathrm|text|hat|varepsilon)\b", prose):
            wrong.append(f"raw TeX: {prose[raw.start() : raw.start() + 30]!r}")
        if number > 1 and not re.search(rf"^{number}$", text, re.MULTILINE):
            wrong.append("no page number")
        if number > 1 and len(text.split()) < 4 and not page.images:
            wrong.append("nothing on it")
        found += [f"page {number}: {what}" for what in wrong]
    return found


def read(page):
    """Return the text of a page, and what of it is not code, where TeX may be meant."""
    prose: list[str] = []

    def keep(text, _matrix, _position, font, _size):
        inner = font or {}
        name = inner.get("/BaseFont") or inner.get("/FontDescriptor", {}).get("/FontName") or ""
        prose.append("" if "Code" in name or "Mono" in name else text)

    return page.extract_text(visitor_text=keep), "".join(prose)


def flat(outline):
    """Return the titles of an outline, at all depths."""
    return [title for item in outline for title in (flat(item) if isinstance(item, list) else [item.title])]


def offer(site, pdf):
    """Put the PDF beside the pages, and a link to it on the first one; a site without it has none."""
    (site / NAME).write_bytes(pdf)
    path = site / "book" / "intro.html"
    html = path.read_text(encoding="utf-8")
    if html.count(PLACE) != 1:
        raise RuntimeError(f"{path} must have one place for the link, {PLACE}")
    link = f'<p><a href="../{NAME}">The book as PDF</a>, {len(pdf) / 1e6:.0f} MB</p>'
    path.write_text(html.replace(PLACE, link), encoding="utf-8")


def main(site, target):
    """Print, check, write, link."""
    title, parts = contents()
    with sync_playwright() as playwright:
        path = browsers.find(playwright)
        if path is None:
            sys.exit(browsers.MISSING)
        browser = browsers.launch(playwright, path)
        page = browser.new_page()
        page.set_default_timeout(1_800_000)
        small = lay_out(page, site, title, parts)
        found = faults_of(page) + [f"too small to read: {one}" for one in small if one["share"] < LEAST]
        chapters = page.evaluate("() => [...document.querySelectorAll('.chapter h2')].map(e => e.textContent.trim())")
        pdf = packed(printed(page))
        browser.close()
    found += faults(pdf, chapters)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(pdf)
    if found:
        sys.exit("\n".join([f"{target} is not right:", *found[:50]]))
    offer(site, pdf)
    print(f"{target}: {len(PdfReader(io.BytesIO(pdf)).pages)} pages, {len(pdf) / 1e6:.1f} MB")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))

"""Sphinx extension: what rests on what, as pictures with links and as text, from ``book/rests_on.json``.

At the end of each chapter a fold draws its results, the claims on which they rest, the functions of the library that
ran for these, and the test files that call the same functions; the page *Quality* draws the whole book, by modules. The
stored trace is written by ``tools/rests_on.py``. No script is needed: a line of a picture is stressed while its row is
under the pointer or has the focus, and the same is said in lists below.
"""

import importlib
import json
import re
from collections import Counter, defaultdict
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from ldp_lib.book.claims import VERDICTS, ledger

ROOT = Path(__file__).resolve().parents[2]
STORE = ROOT / "book" / "rests_on.json"
WIDTHS = {"results": 92, "claims": 182, "functions": 175, "tests": 165}
WIDTHS |= {"chapters": 250, "modules": 130, "folders": 110}
GAP, ROW, TOP, LETTER = 44, 26, 30, 5.4
MOST_FUNCTIONS, MOST_TESTS = 15, 12  # drawn each for itself; the lists have all
RESULT = re.compile(r"\{prf:(theorem|proposition|lemma|corollary)\}[^\n]*\n:label: (\S+)")
PLACE = "<!-- what rests on what -->"


def load():
    """Return the stored trace; empty where none was made yet."""
    return json.loads(STORE.read_text(encoding="utf-8")) if STORE.exists() else {}


# What the picture of a chapter shows.


def named_claims(text):
    """Return the claims that the page of theorems names beside each result, by the result's label."""
    found = {}
    for block in re.split(r"\n\s*\n", text):
        head, _, body = block.partition("\n: ")
        for label in re.findall(r"\{prf:ref\}`([\w-]+)`", head) if body else ():
            found.setdefault(label, []).extend(re.findall(r"\{claim\}`([^`]+)`", body))
    return found


def results(notebook, named):
    """Return the results of a chapter with the claims on which each rests, none or more: kind, label, ids."""
    told = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    return [(kind, label, named.get(label, [])) for kind, label in RESULT.findall(told)]


def settled(trace):
    """Return the functions on which each claim rests, wherever it is settled."""
    return {id: each["functions"] for entry in trace.values() for id, each in entry["claims"].items()}


def module(name):
    """Return the part of the library that a function is of."""
    return name.partition(".")[0]


def short(name):
    """Return a function's name with its module alone."""
    parts = name.split(".")
    return ".".join(parts[-2:] if len(parts) > 2 else parts)


def grouped(functions):
    """Return what stands for each function: itself, or its module where all are many, the largest modules first."""
    count = Counter(map(module, functions))
    whole = {"check"}
    while sum(1 if name in whole else count[name] for name in count) > MOST_FUNCTIONS:
        if not (left := [name for name in sorted(count) if name not in whole and count[name] > 1]):
            break
        whole.add(max(left, key=count.get))
    return {name: module(name) if module(name) in whole else name for name in sorted(functions)}


def callers(trace):
    """Return the test files that call each function themselves, or, where none does, by way of another."""
    found, reached = defaultdict(list), defaultdict(list)
    for place, entry in trace.items():
        for name in entry.get("functions", ()):
            found[name].append(place)
        for name in entry.get("through", ()):
            reached[name].append(place)
    return defaultdict(list, reached | found)


# Drawing.


class Picture:
    """Columns of rows with links, and lines between rows of neighbouring columns."""

    def __init__(self, *columns):
        self.names, self.rows, self.lines = columns, {name: {} for name in columns}, {}

    def row(self, column, key, label, href, title=""):
        """Add a row."""
        self.rows[column][key] = label, href, title

    def line(self, column, key, other):
        """Add a line from a row to one of the next column."""
        self.lines[column, key, other] = True

    def order(self):
        """Put each row of a column near those that lead to it, and lines in one order, whatever order they came in."""
        self.lines = dict.fromkeys(sorted(self.lines))
        for before, column in zip(self.names, self.names[1:], strict=False):
            height = {key: number for number, key in enumerate(self.rows[before])}
            come = defaultdict(list)
            for at, key, other in self.lines:
                if at == before and key in height:
                    come[other].append(height[key])
            mean = {key: sum(come[key]) / len(come[key]) if come[key] else 1e9 for key in self.rows[column]}
            self.rows[column] = dict(sorted(self.rows[column].items(), key=lambda row: (mean[row[0]], row[0])))

    def svg(self, id, title, words):
        """Return the drawing."""
        self.order()
        width = sum(WIDTHS[name] for name in self.names) + GAP * (len(self.names) - 1)
        most = max(len(rows) for rows in self.rows.values())
        place, left = {}, 0
        for name in self.names:
            step = ROW * most / max(len(self.rows[name]), 1)
            for number, key in enumerate(self.rows[name]):
                place[name, key] = left, TOP + min(step, 3 * ROW) * (number + 0.5)
            left += WIDTHS[name] + GAP
        parts, left = [], 0
        for number, name in enumerate(self.names):
            parts.append(f'<text class="rests-head" x="{left}" y="16">{name}</text>')
            parts += [self.drawn(name, key, place, number) for key in self.rows[name]]
            left += WIDTHS[name] + GAP
        head = f'<title id="{id}-title">{escape(title)}</title><desc id="{id}-words">{escape(words)}</desc>'
        return (
            f'<div class="rests-box"><svg role="group" aria-labelledby="{id}-title" aria-describedby="{id}-words" '
            f'viewBox="0 0 {width} {TOP + ROW * most + 6}" style="min-width: {round(0.9 * width)}px; '
            f'max-width: {round(1.15 * width)}px">{head}{"".join(parts)}</svg></div>'
        )

    def drawn(self, name, key, place, number):
        """Return a row with the lines that leave it."""
        label, href, title = self.rows[name][key]
        x, y = place[name, key]
        paths = []
        for at, one, other in self.lines:
            if (at, one) == (name, key):
                end, height = place[self.names[number + 1], other]
                start = x + WIDTHS[name]
                middle = (start + end) / 2
                points = (start, y), (middle, y), (middle, height), (end, height)
                paths.append("M{} {}C{} {} {} {} {} {}".format(*(round(each) for point in points for each in point)))
        most = int((WIDTHS[name] - 14) / LETTER)
        told = escape(label if len(label) <= most else label[: most - 1] + "…")
        hover = f"<title>{escape(title or label)}</title>" if title or len(label) > most else ""
        box = f'<rect x="{x}" y="{y - 10:.1f}" width="{WIDTHS[name]}" height="20" rx="3"/>'
        text = f'<text x="{x + 7}" y="{y + 4:.1f}">{told}</text>'
        row = f'<a href="{escape(href)}">{hover}{box}{text}</a>'
        lines = f'<path d="{"".join(paths)}"/>' if paths else ""
        return f'<g class="rests-{name}">{lines}{row}</g>'


# Pages.


class Page:
    """The links of one page, and its pictures."""

    def __init__(self, app, pagename, trace):
        self.app, self.env, self.name, self.trace = app, app.env, pagename, trace
        self.objects = self.env.get_domain("py").objects
        self.calling = callers(trace)

    def to(self, docname, anchor=""):
        """Return the address of a place of the book."""
        here = self.app.builder.get_relative_uri(self.name, docname) if docname != self.name else ""
        return f"{here}#{anchor}" if anchor else here or "#"

    def function(self, name):
        """Return the address of a function's or a module's entry on the page of the library."""
        if "." not in name:
            inside = [each for each in sorted(self.objects) if f"{each}.".startswith(f"ldp_lib.{name}.")]
            return self.to("book/api", self.objects[inside[0]].node_id if inside else "")
        where, _, last = name.rpartition(".")
        thing = getattr(importlib.import_module(f"ldp_lib.{where}"), last)
        places = [f"{thing.__module__}.{thing.__qualname__}", f"ldp_lib.{name}"]
        return next((self.to("book/api", each) for each in places if each in self.objects), self.function(module(name)))

    def test(self, place):
        """Return the address of a test file's row on the page of quality."""
        return self.to("book/quality", anchor_of(place))

    def claim(self, id):
        """Return the address of a claim: its badge in its chapter, or its row in the ledger."""
        chapter = ledger()[id].chapter
        return self.to("book/claims" if "/" in chapter else f"notebooks/{chapter}", ledger()[id].anchor)

    def title(self, kind, label):
        """Return a result's name, as its chapter prints it."""
        number = self.env.toc_fignumbers.get(self.name, {}).get(kind, {}).get(label, ())
        return f"{kind.title()} {'.'.join(map(str, number))}".strip()

    def chapter_name(self, slug):
        """Return a chapter's number and title."""
        docname = f"notebooks/{slug}"
        number = ".".join(map(str, self.env.toc_secnumbers.get(docname, {}).get("", ())))
        return f"{number}. {self.env.titles[docname].astext()}"

    def chapter(self):
        """Return a chapter's fold."""
        slug = self.name.partition("/")[2]
        entry = self.trace[slug]
        notebook = json.loads((ROOT / f"{self.name}.ipynb").read_text(encoding="utf-8"))
        named = named_claims((ROOT / "book" / "theorems.md").read_text(encoding="utf-8"))
        proved = results(notebook, named)
        here = [*entry["claims"], *(id for *_, ids in proved for id in ids)]
        everywhere = settled(self.trace)
        rests = {id: everywhere[id] for id in here}
        checks = entry["checks"]["functions"]
        every = {name for functions in [*rests.values(), checks] for name in functions}
        stand = grouped(every)
        picture = Picture("results", "claims", "functions", "tests")
        for kind, label, ids in proved:
            picture.row("results", label, self.title(kind, label), f"#{label}")
            for id in ids or [""] * bool(checks):
                picture.line("results", label, id)
        for id, functions in [*rests.items(), ("", checks)]:
            if id:
                one = ledger()[id]
                said = f"{one.source}: {one.verdict}"
                picture.row("claims", id, f"{VERDICTS[one.verdict]} {id}", self.claim(id), said)
            elif functions:
                picture.row("claims", id, "other checks", "#rests-text", "checks of this chapter that settle no claim")
            for name in {stand[name] for name in functions}:
                picture.line("claims", id, name)
        for name in set(stand.values()):
            count = sum(each == name for each in stand.values())
            label = name if "." not in name else short(name)
            label += f" ({count} function{'s' * (count > 1)})" if "." not in name else ""
            picture.row("functions", name, label, self.function(name), f"ldp_lib.{name}")
        score = Counter(place for name in every for place in self.calling[name] if module(name) != "check")
        drawn = [place for place, _ in sorted(score.items(), key=lambda item: (-item[1], item[0]))[:MOST_TESTS]]
        for place in drawn:
            picture.row("tests", place, place.partition("/")[2].removesuffix(".py"), self.test(place), place)
        for name in every:
            for place in self.calling[name]:
                if place in drawn and module(name) != "check":
                    picture.line("functions", stand[name], place)
        if len(score) > len(drawn):
            picture.row("tests", "~", f"and {len(score) - len(drawn)} more, below", "#rests-text")
        words = (
            "Four columns: results, claims, functions of the library, test files. A line leads from each row to those "
            "on which it rests. The lists below say the same."
        )
        drawing = picture.svg("rests", "What this chapter's results rest on", words)
        return fold(drawing, self.lists(proved, rests, checks, every))

    def lists(self, proved, rests, checks, every):
        """Return a chapter's graph as lists."""
        rows = []
        for kind, label, ids in proved:
            links = ", ".join(link(self.claim(id), id) for id in ids) or "the other checks of the chapter"
            rows.append(f"{link(f'#{label}', self.title(kind, label), code=False)}: {links}")
        listed = [told("A result rests on claims", rows)]
        rows = [f"{link(self.claim(id), id)}: {codes(functions)}" for id, functions in rests.items()]
        rows += [f"other checks: {codes(checks)}"] if checks else []
        listed.append(told("A claim rests on functions", rows))
        rows = []
        for name in sorted(every):
            tests = ", ".join(link(self.test(place), place.partition("/")[2]) for place in self.calling[name])
            rows.append(f"{link(self.function(name), name)}: {tests or 'none'}")
        return "".join([*listed, told("A function rests on tests", rows)])

    def book(self):
        """Return the fold of the whole book."""
        picture = Picture("chapters", "modules", "folders")
        left, right = {}, defaultdict(set)
        for place, entry in self.trace.items():
            functions = {name for each in entry["claims"].values() for name in each["functions"]}
            if "/" not in place:
                left[place] = functions | set(entry["checks"]["functions"])
                continue
            for paper in {ledger()[id].paper for id in entry["claims"]}:
                ids = [id for id in entry["claims"] if ledger()[id].paper == paper]
                found = {name for id in ids for name in entry["claims"][id]["functions"]}
                left[f"{paper}/"] = left.get(f"{paper}/", set()) | found
            for name in entry["functions"]:
                right[module(name)].add(place.split("/")[1])
        chapters = [doc.partition("/")[2] for doc in self.env.toc_secnumbers if doc.startswith("notebooks/")]
        papers = sorted(key for key in left if "/" in key)
        rows = []
        for key in [*sorted(chapters, key=lambda slug: self.env.toc_secnumbers[f"notebooks/{slug}"][""]), *papers]:
            name = f"claims {key}… in tests" if "/" in key else self.chapter_name(key)
            href = self.to("book/claims") if "/" in key else self.to(f"notebooks/{key}", "rests")
            picture.row("chapters", key, name, href, name)
            count = Counter(module(each) for each in left[key])
            for each in count:
                picture.line("chapters", key, each)
            used = ", ".join(f"<code>{each}</code> ({number})" for each, number in sorted(count.items()))
            rows.append(f"{link(href, name, code=False)}: {used or 'none'}")
        modules = {each for functions in left.values() for each in map(module, functions)}
        for name in modules:
            picture.row("modules", name, name, self.function(name), f"ldp_lib.{name}")
            for folder in right[name]:
                picture.line("modules", name, folder)
        for folder in sorted({folder for name in modules for folder in right[name]}):
            picture.row("folders", folder, f"tests/{folder}", f"#rests-{folder}")
        words = (
            "Three columns: chapters, modules of the library, folders of tests. A line leads from each chapter to the "
            "modules whose functions its checks call, and from each module to the folders whose tests call it."
        )
        drawing = picture.svg("rests", "What the book rests on", words)
        texts = [told("A chapter rests on modules, with the number of functions that its checks call", rows)]
        rows = [
            f"{link(self.function(name), name)}: {', '.join(sorted(right[name])) or 'no test'}"
            for name in sorted(modules)
        ]
        texts.append(told("A module rests on folders of tests", rows))
        for folder in sorted({place.split("/")[1] for place in self.trace if "/" in place}):
            rows = []
            for place, entry in self.trace.items():
                if place.startswith(f"tests/{folder}/"):
                    source = self.source(place)
                    name = link(source, place) if source else f"<code>{place}</code>"
                    rows.append((anchor_of(place), f"{name}: {codes(entry['functions'])}"))
            texts.append(told(f"tests/{folder} calls", rows, id=f"rests-{folder}"))
        return fold(drawing, "".join(texts), "What rests on what, in the whole book")

    def source(self, place):
        """Return the address of a file's source, where the book knows its repository."""
        repository = self.app.config.book_repository
        return f"{repository}/blob/main/{place}" if repository else ""


def anchor_of(place):
    """Return the place of a test file on the page of quality."""
    return "rests-" + re.sub(r"[^a-z0-9]+", "-", place.removeprefix("tests/").removesuffix(".py"))


def link(href, words, code=True):
    """Return a link."""
    inner = f"<code>{escape(words)}</code>" if code else escape(words)
    return f'<a href="{escape(href)}">{inner}</a>'


def codes(names):
    """Return names in the font of code."""
    return ", ".join(f"<code>{escape(name)}</code>" for name in names) or "no function of the library"


def told(head, rows, id=""):
    """Return a list below its head; a row may have a place of its own."""
    items = [row if isinstance(row, tuple) else ("", row) for row in rows]
    inner = "".join(f"<li{place(at)}>{text}</li>" for at, text in items)
    return f'<p class="rests-of"{place(id)}>{escape(head)}</p><ul>{inner}</ul>'


def place(id):
    """Return the attribute of a place, if it is one."""
    return f' id="{id}"' if id else ""


def fold(drawing, text, summary="What rests on what"):
    """Return the picture and the lists in a fold."""
    return f"""
<details class="rests d-print-none" id="rests">
<summary>{summary}</summary>
{drawing}
<details class="rests-text" id="rests-text"><summary>As text</summary>
{text}
</details>
</details>
"""


class RestsOn(SphinxDirective):
    """The place of the picture of the whole book."""

    def run(self):
        """Return a mark that the picture replaces."""
        self.env.note_dependency(str(STORE))
        return [nodes.raw("", PLACE, format="html")]


def add(app, pagename, templatename, context, doctree):
    """Put the pictures on their pages."""
    if doctree is None or not (trace := load()):
        return
    body = context.get("body", "")
    if PLACE in body:
        context["body"] = body.replace(PLACE, Page(app, pagename, trace).book())
    elif pagename.startswith("notebooks/"):
        context["body"] = body + Page(app, pagename, trace).chapter()
    else:
        return
    app.add_css_file("rests.css")


def setup(app):
    """Connect the step."""
    app.add_directive("rests-on", RestsOn)
    app.connect("html-page-context", add)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

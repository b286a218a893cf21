"""Sphinx directives that render the claims ledger: its totals, its slips, and the claims of a paper by its short name.

The same claims are written beside the page as JSON and CSV, for those who count or search them with tools of their own.
A claim that a test settles links to a page with that test's code, so that nobody needs the repository to read it.
"""

import csv
import json
import re
from collections import Counter
from dataclasses import asdict
from functools import cache
from pathlib import Path

import where
from docutils import nodes
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective, SphinxRole

from ldp_lib.book import claims

logger = logging.getLogger(__name__)
MENDED = ("conditional", "misprint", "refuted", "not-reproduced")  # what does not hold as printed
ALONE = "alone: "
SIGNS = (
    "Signs: ✓ true as stated, or the numbers come out again; ± conditional, true under a condition that the paper "
    "leaves out; ≠ misprint, a slip that its context sets right; ✗ refuted, false by a witness, or not reproduced; "
    "– not checkable, for example because a formula is lost in the text that we read and its context leaves it open. "
    "The rules are "
)
NAMES = {
    "corr-rr-v1": "Corr-RR, first version",
    "corr-rr-v2": "Corr-RR, revised version",
    "jrr": "Joint randomized response",
    "obrr": "Optimal budget allocation",
    "rr-multidim": "Multi-dimensional randomized response",
}
SETTLES = re.compile(r'claim\("([^"]+)"\)\.')
TEST = re.compile(r"^def (test_\w+)\(")
TESTS = Path(__file__).resolve().parents[2] / "tests"
# The modules of tests that have a page with their code: those that settle claims, and others that chapters name.
NAMED = ("book/test_best_settings.py", "site/test_mechanism_cards.py", "tables/test_likelihood.py")
CHECKS = {path.stem: path for path in [*sorted(TESTS.glob("claims/test_*.py")), *(TESTS / name for name in NAMED)]}


@cache
def read(changed):
    """Return the claims of the files that last changed so: a build reads them once, not for each directive."""
    return list(claims.read_ledger(changed[0][0].parent).values())


class _Directive(SphinxDirective):
    """What both directives share: the claims, with the page rebuilt when the ledger changes."""

    def claims(self):
        """Return all claims, read anew where a file has changed."""
        paths = sorted(Path(claims.FOLDER).glob("*.yml"))
        for path in (*paths, claims.__file__, __file__):
            self.env.note_dependency(str(path))
        return read(tuple((path, path.stat().st_mtime_ns) for path in paths))


class Signs(_Directive):
    """What the badges' signs mean, with a link to the rules."""

    def run(self):
        """Return the paragraph."""
        rules = nodes.reference("", "in the ledger", internal=True)
        rules.attributes |= {"ledger_page": "book/claims", "ledger_anchor": "what-a-verdict-means", "ledger_name": 1}
        return [nodes.paragraph("", "", nodes.Text(SIGNS), rules, nodes.Text("."))]


class Totals(Signs):
    """A table of the number of claims by paper and verdict.

    With papers' short names: those alone, with the verdicts that occur, and below the table what the signs mean.
    """

    optional_arguments = len(NAMES)

    def run(self):
        """Return the table."""
        ledger = self.claims()
        papers = self.arguments or list(dict.fromkeys(c.paper for c in ledger))
        if unknown := set(papers) - {c.paper for c in ledger}:
            raise self.error(f"no claim of {sorted(unknown)} in the ledger")
        count = Counter((c.paper, c.verdict) for c in ledger)
        verdicts = [v for v in claims.VERDICTS if not self.arguments or any(count[p, v] for p in papers)]
        body = [[p, *(count[p, v] for v in verdicts), sum(c.paper == p for c in ledger)] for p in papers]
        if self.arguments:
            body = [[NAMES[p], *counts] for p, *counts in body]
            return [_counted(["statements of", *verdicts, "total"], body), *super().run()]
        body.append(["all", *map(sum, list(zip(*body, strict=True))[1:])])
        return [_counted(["paper", *verdicts, "total"], body, "ledger-sum")]


def _counted(header, body, *more):
    """Return a table of counts, with more classes."""
    group = nodes.tgroup(cols=len(header))
    group += [nodes.colspec(colwidth=1, stub=int(i == 0)) for i in range(len(header))]
    group += nodes.thead("", _row(header))
    # Narrow screens stack the cells and show these labels; wide screens show the header row.
    group += nodes.tbody("", *(_row(row, labels=header) for row in body))
    return nodes.table("", group, classes=["ledger-totals", *more])


def _row(cells, labels=None):
    row = nodes.row()
    for i, cell in enumerate(cells):
        text = nodes.paragraph()
        if labels and i > 0:
            text += [nodes.inline("", labels[i], classes=["ledger-label"]), nodes.Text(" ")]
        text += nodes.Text(str(cell))
        row += nodes.entry("", text, classes=["ledger-zero"] if cell == 0 else [])
    return row


def _links(ids):
    """Return links to the rows of some claims, with commas between them."""
    found = []
    for id in ids:
        anchor = claims.ledger()[id].anchor
        found += [nodes.Text(", "), nodes.reference("", "", nodes.literal("", id), refid=anchor, internal=True)]
    return found[1:]


class Slips(_Directive):
    """The slips on which more than one claim rests, each with its claims, most claims first.

    With a paper's short name: what does not hold in that paper as printed, grouped by cause, each claim with a link to
    the cell that settles it, or to its row in the ledger where a test module does.
    """

    optional_arguments = 1

    def run(self):
        """Return the list."""
        if self.arguments:
            return self.of_paper(self.arguments[0])
        found = sorted(claims.slips(self.claims()).items(), key=lambda slip: -len(slip[1]))
        rows = [nodes.paragraph("", f"{name} ({len(ids)}): ", *_links(ids)) for name, ids in found]
        return [nodes.bullet_list("", *(nodes.list_item("", row) for row in rows), classes=["ledger-slips"])]

    def of_paper(self, paper):
        """Return one list item a cause; claims with no common cause stand under their verdict."""
        causes = {}
        for claim in self.claims():
            if claim.paper == paper and claim.verdict in MENDED:
                causes.setdefault(claim.slip or f"{ALONE}{claim.verdict}", []).append(claim)
        if not causes:
            raise self.error(f"no claim of {paper!r} that does not hold as printed")
        rows, alone = [], []
        for name, group in sorted(causes.items(), key=lambda item: -len(item[1])):
            row = nodes.paragraph("", f"{name.removeprefix(ALONE)} ({len(group)}): ")
            for claim in group:
                row += [self.settled(claim), nodes.Text(", ")]
            row.pop()
            (alone if name.startswith(ALONE) else rows).append(nodes.list_item("", row))
        found = [nodes.bullet_list("", *rows, classes=["ledger-slips"])] if rows else []
        single = sum(len(group) for name, group in causes.items() if name.startswith(ALONE))
        if alone:
            said = f"<details><summary>{single} claims without a common cause, by verdict</summary>"
            found += [nodes.raw("", said, format="html"), nodes.bullet_list("", *alone, classes=["ledger-slips"])]
            found += [nodes.raw("", "</details>", format="html")]
        return found

    def settled(self, claim):
        """Return a link to the cell that settles a claim, or to its row in the ledger."""
        page = "book/claims" if claim.chapter.startswith("tests/") else f"notebooks/{claim.chapter}"
        name = nodes.literal("", claim.id.partition("/")[2])
        link = nodes.reference("", "", name, internal=True, ledger_page=page, ledger_anchor=claim.anchor, ledger_name=1)
        link["reftitle"] = where.plain(f"{claim.source}, {claim.verdict}: {claim.statement}")
        return link


class Ledger(_Directive):
    """The claims of one paper, as a list."""

    required_arguments = 1

    def run(self):
        """Return the list."""
        paper = self.arguments[0]
        ledger = self.claims()
        self.slips = claims.slips(ledger)
        rows = [c for c in ledger if c.paper == paper]
        if not rows:
            raise self.error(f"no claim of {paper!r} in the ledger")
        return [nodes.bullet_list("", *map(self.row, rows), classes=["ledger", f"paper-{paper}"])]

    def row(self, claim):
        """Return one claim as a list item."""
        item = nodes.list_item("", classes=["claim", f"claim-{claim.verdict}", f"kind-{claim.kind}"])
        item["ids"] = [claim.anchor]
        item["names"] = [claim.anchor]
        self.state.document.note_explicit_target(item, item)
        head = nodes.paragraph("", "", classes=["claim-head"])
        head += nodes.reference("", "", nodes.literal("", claim.id), refid=claim.anchor, internal=True)
        head += [nodes.Text(" "), nodes.inline("", f"{claim.source} · {claim.kind}", classes=["claim-source"])]
        badge = f"{claims.VERDICTS[claim.verdict]} {claim.verdict}"
        head += [nodes.Text(" "), nodes.inline("", badge, classes=["claim-verdict"])]
        item += head
        item += self.parse_text_to_nodes(claim.statement)
        for title, text in [("Correction", claim.correction), ("Note", claim.note)]:
            if text:
                item += self.remark(title, text)
        if others := [id for id in self.slips.get(claim.slip, []) if id != claim.id]:
            item += nodes.paragraph("", f"One slip ({claim.slip}) with ", *_links(others), nodes.Text("."))
        if claim.chapter:
            item += self.place(claim)
        return item

    def remark(self, title, text):
        """Return the nodes of a correction or note; a display formula stays below its title."""
        parsed = self.parse_text_to_nodes(text)
        if not isinstance(parsed[0], nodes.paragraph):
            parsed.insert(0, nodes.paragraph())
        parsed[0].insert(0, [nodes.strong("", f"{title}:"), nodes.Text(" ")])
        return parsed

    def place(self, claim):
        """Return the line that says where the claim is checked."""
        line = nodes.paragraph("", "Checked in ", classes=["claim-place"])
        if claim.chapter.startswith("tests/"):
            name = claim.chapter.rpartition("/")[2]
            code = nodes.literal("", f"{claim.chapter}.py")
            line += nodes.reference("", "", code, internal=True, refuri=f"checks/{name}.html#{claim.anchor}")
        else:
            page = f"notebooks/{claim.chapter}"
            link = nodes.reference("", claim.chapter, internal=True, ledger_page=page, ledger_anchor=claim.anchor)
            line += link
            if page not in self.env.found_docs:
                logger.warning("%s: no page %s", claim.id, page, location=self.get_location())
        return line


class Link(SphinxRole):
    """A claim's id as a link to its row."""

    def run(self):
        """Return the link."""
        if self.text not in claims.ledger():
            logger.warning("no claim %s", self.text, location=self.get_location())
            return [nodes.literal("", self.text)], []
        anchor = claims.ledger()[self.text].anchor
        return [nodes.reference("", "", nodes.literal("", self.text), internal=True, ledger_row=anchor)], []


class Check(SphinxRole):
    """A link to a test's code, as in {check}`words <module::test>`; a test that is not there is a warning."""

    def run(self):
        """Return the link."""
        words, _, place = self.text.rstrip(">").rpartition(" <")
        module, _, test = place.partition("::")
        if module not in CHECKS or f"\ndef {test}(" not in CHECKS[module].read_text(encoding="utf-8"):
            logger.warning("no test %s", place, location=self.get_location())
        return [nodes.reference("", words, internal=True, ledger_page=f"book/checks/{module}", ledger_anchor=test)], []


def resolve(app, doctree, docname):
    """Point each row's link at its chapter's cell and name it by the chapter's title; and links to rows at them.

    A path of a module of tests in the text becomes a link to the page with its code.
    """
    for link in doctree.findall(lambda node: isinstance(node, nodes.reference) and "ledger_row" in node):
        link["refuri"] = f"{app.builder.get_relative_uri(docname, 'book/claims')}#{link['ledger_row']}"
    for link in doctree.findall(lambda node: isinstance(node, nodes.reference) and "ledger_page" in node):
        page = link["ledger_page"]
        if page in app.env.titles or page.startswith("book/checks/"):
            link["refuri"] = f"{app.builder.get_relative_uri(docname, page)}#{link['ledger_anchor']}"
            if "ledger_name" not in link and page in app.env.titles:
                link.children = [nodes.Text(app.env.titles[page].astext())]
    for path in list(doctree.findall(nodes.literal)):
        module = re.fullmatch(r"tests/claims/(test_\w+)\.py", path.astext())
        if module and not isinstance(path.parent, nodes.reference):
            there = app.builder.get_relative_uri(docname, f"book/checks/{module[1]}")
            path.replace_self(nodes.reference("", "", path.deepcopy(), internal=True, refuri=there))


def checked(text):
    """Return a test module as HTML, with an anchor at each test and at each line that settles a claim."""
    shown = highlight(text, PythonLexer(), HtmlFormatter(cssclass="highlight", lineanchors="line"))
    for number, line in enumerate(text.splitlines(), 1):
        if found := SETTLES.search(line) or TEST.match(line):
            name = f'<a id="line-{number}" name="line-{number}"'
            anchor = found[1] if found.re is TEST else claims.ledger()[found[1]].anchor
            shown = shown.replace(name, f'<a id="{anchor}" name="{anchor}"', 1)
    return shown


def pages_of_checks(app):
    """Give each module of tests that settles claims, or that a chapter names, a page with its code."""
    for path in CHECKS.values():
        what = "that settles claims of the ledger" if path.parent.name == "claims" else "of checks that chapters name"
        place = path.relative_to(TESTS.parent).as_posix()
        body = f"<h1><code>{place}</code></h1>\n<p>The code {what}.</p>"
        body += f'<div class="highlight-python">{checked(path.read_text(encoding="utf-8"))}</div>'
        yield f"book/checks/{path.stem}", {"title": path.name, "body": body}, "page.html"


def finish(app, exception):
    """Write the claims as files that a reader may download."""
    if exception is not None or app.builder.format != "html":
        return
    rows = [{"page": f"claims.html#{c.anchor}", "paper": c.paper} | asdict(c) for c in claims.ledger().values()]
    folder = Path(app.outdir) / "book"
    text = json.dumps(rows, ensure_ascii=False, indent=1) + "\n"
    (folder / "claims.json").write_text(text, encoding="utf-8")
    with (folder / "claims.csv").open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, rows[0], lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def setup(app):
    """Register the directives and the files that style and filter the list."""
    app.add_directive("ledger-totals", Totals)
    app.add_directive("ledger-slips", Slips)
    app.add_directive("ledger-signs", Signs)
    app.add_directive("ledger", Ledger)
    app.add_role("claim", Link())
    app.add_role("check", Check())
    app.connect("doctree-resolved", resolve)
    app.connect("html-collect-pages", pages_of_checks)
    app.connect("build-finished", finish)
    app.add_css_file("ledger.css")
    app.add_js_file("ledger.js", loading_method="defer")
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

"""Pages made from files of the project: what changed, how to cite the book, its version, and how long chapters take."""

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]


class Changes(SphinxDirective):
    """CHANGES.md below its title."""

    def run(self):
        """Return its sections."""
        path = ROOT / "CHANGES.md"
        self.env.note_dependency(str(path))
        text = path.read_text(encoding="utf-8").partition("\n## ")[2]
        return self.parse_text_to_nodes(f"## {text}".replace("## ", "### "), allow_section_headings=True)


def bibtex(cited, year, address):
    """Return the entry of CITATION.cff for BibTeX."""
    fields = {
        "author": " and ".join(f"{{{author['name']}}}" for author in cited["authors"]),
        "title": f"{{{cited['title']}}}",
        "year": year,
        "version": cited["version"],
    }
    if address:
        fields["url"] = address
    width = max(map(len, fields))
    lines = [f"  {name:<{width}} = {{{value}}}," for name, value in fields.items()]
    return "\n".join(["@software{ldp_lib,", *lines, "}"])


class Cite(SphinxDirective):
    """The book's entry for BibTeX."""

    def run(self):
        """Return a block of code."""
        path = ROOT / "CITATION.cff"
        self.env.note_dependency(str(path))
        cited = yaml.safe_load(path.read_text(encoding="utf-8"))
        text = bibtex(cited, self.config.copyright, self.config.html_baseurl or self.config.book_repository)
        return [nodes.literal_block(text, text, language="bibtex")]


def measured(folder, names):
    """Return seconds, cells of code and kilobytes of each executed notebook; no seconds where none were measured."""
    for name in names:
        path = folder / f"{name}.ipynb"
        seconds = path.with_suffix(".seconds")
        cells = [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]
        took = float(seconds.read_text(encoding="utf-8")) if seconds.exists() else None
        yield name, took, len(cells), path.stat().st_size / 1000


class Times(SphinxDirective):
    """How long each chapter of this site took to execute."""

    def run(self):
        """Return a table and what was measured where."""
        self.env.note_reread()  # the site is as old as its chapters
        folder = Path(self.env.srcdir)
        toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
        files = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
        rows = list(measured(folder, [name for name in files if name.startswith("notebooks/")]))
        return self.parse_text_to_nodes(times_table(rows))


def times_table(rows):
    """Return the table in Markdown, with a sentence on the machine."""
    known = [seconds for _, seconds, *_ in rows if seconds is not None]
    lines = ["| chapter | seconds | cells of code | kilobytes |", "| --- | ---: | ---: | ---: |"]
    for name, seconds, cells, size in rows:
        took = "not measured" if seconds is None else f"{seconds:.1f}"
        lines.append(f"| {{doc}}`../{name}` | {took} | {cells} | {size:.0f} |")
    total = f"{sum(known):.0f}" if len(known) == len(rows) else "not all measured"
    lines.append(f"| all | {total} | {sum(r[2] for r in rows)} | {sum(r[3] for r in rows):.0f} |")
    where = f"Python {platform.python_version()} on {platform.system()} with {os.cpu_count()} processors"
    return "\n".join([*lines, "", f"Measured with {where}, several chapters at a time."])


class Atlas(SphinxDirective):
    """The tables of the atlas, from its file."""

    def run(self):
        """Return the tables."""
        sys.path.insert(0, str(ROOT / "tools"))
        import atlas

        self.env.note_dependency(str(atlas.STATIC / "atlas.json"))
        return self.parse_text_to_nodes(atlas.tables(atlas.load()))


def version():
    """Return the book's version."""
    return yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"]


def commit(folder=ROOT):
    """Return the commit that a folder stands at, with a plus if files differ from it; empty where nothing knows it."""
    git = ["git", "-C", str(folder), "describe", "--always", "--exclude=*", "--abbrev=12", "--dirty=+"]
    if not (folder / ".git").exists():  # a copy of the files, maybe within another repository
        return ""
    try:
        return subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def add_footer(app, pagename, templatename, context, doctree):
    """Say below each page which version this is, with links to what concerns all pages."""
    places = {"changes": "Changes", "licences": "Licences", "how-to-cite": "How to cite", "stable": "What is stable"}
    places["report-an-error"] = "Report an error"
    about = context["pathto"]("book/about").rstrip("#")
    links = [f'<a href="{about}#{place}">{words}</a>' for place, words in places.items()]
    context["theme_extra_footer"] = f"<p>{' · '.join([f'Version {version()}', *links])}</p>"


def setup(app):
    """Register the directives."""
    app.add_directive("atlas", Atlas)
    app.add_directive("changes", Changes)
    app.add_directive("cite-this-book", Cite)
    app.add_directive("execution-times", Times)
    app.connect("html-page-context", add_footer)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

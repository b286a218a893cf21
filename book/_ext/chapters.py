"""Links between chapters read "Chapter 5" in running text, never a title inside a sentence; a hover shows the title.

In the instructors' tables a link has the number before the title. A chapter's advice is headed by whom it is for.
"""

import json
import posixpath
import re

from docutils import nodes

TABLES = "book/instructors"
ADVICE = re.compile(r"^## (?:What it changes|For those who build on it)$", re.MULTILINE)
REACH = "*Whom such advice is for, and what reverses it: {ref}`advice-reach`.*"


def setup(app):
    """Rewrite the links once chapters have numbers, and add those to what advice is for."""
    app.connect("doctree-resolved", name_by_number)
    app.connect("source-read", say_whom_advice_is_for)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def say_whom_advice_is_for(app, docname, source):
    """Put a link below the heading of a chapter's advice."""
    if not docname.startswith("notebooks/"):
        return
    notebook = json.loads(source[0])
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = ADVICE.sub(lambda found: f"{found[0]}\n\n{REACH}", "".join(cell["source"]))
    source[0] = json.dumps(notebook)


def name_by_number(app, doctree, docname):
    """Name each numbered chapter by its number, where a chapter links to it without words of its own."""
    if not docname.startswith(("notebooks/", TABLES)):
        return  # the other pages list chapters by title
    for link in list(doctree.findall(nodes.reference)):
        words = next(iter(link.findall(nodes.inline)), None)
        if words is None or "doc" not in words["classes"] or not link.get("refuri"):
            continue
        target = posixpath.normpath(posixpath.join(posixpath.dirname(docname), link["refuri"].removesuffix(".html")))
        number = app.env.toc_secnumbers.get(target, {}).get("")
        title = app.env.titles[target].astext() if target in app.env.titles else None
        if not number or words.astext() != title:
            continue
        number = ".".join(map(str, number))
        said = f"{number}. {title}" if docname == TABLES else text_of(link, number, title)
        words.children = [nodes.Text(said)]
        link["reftitle"] = title


def text_of(link, number, title):
    """Return "Chapter 5", or "5" after the word chapter, or "Chapter 5, Title" where the reader is sent on."""
    place = link.parent.index(link)
    before = link.parent[place - 1].astext() if place else ""
    if re.search(r"\b[Cc]hapters?\s$", before):
        return number
    return f"Chapter {number}, {title}" if link.parent.astext().startswith("Next:") else f"Chapter {number}"

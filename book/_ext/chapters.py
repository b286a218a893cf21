"""Links between chapters read "Chapter 5" in running text, never a title inside a sentence; a hover shows the title.

In the instructors' tables a link has the number before the title.
"""

import posixpath
import re

from docutils import nodes

TABLES = "book/instructors"


def setup(app):
    """Rewrite the links once chapters have numbers."""
    app.connect("doctree-resolved", name_by_number)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


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

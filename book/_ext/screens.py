"""Sphinx extension: what depends on a screen, and what waits for a click.

A diagram has a second drawing for a narrow screen, its parts one below the other (`tools/diagrams.py`); a wide table of
a page has its cells one below the other there, each with its column's name. What a cell among the exercises computes
belongs to the solution above it, and is hidden with it. No line ends between a letter, its sign and its number.
"""

import re

from docutils import nodes

# An equation of a letter and a number, or a number with its unit: no line ends within it.
TOGETHER = re.compile(r"(?<!\w)(\w|e\^ε) ([=<>≤≥≈]) (?=[-−.]?\d)|(?<=\d) (?=%)")
PLACE = "_static/diagrams/"
SHORT = 12  # letters of a row's title that does not say what it is, such as a number
NARROW = '<picture><source media="screen and (max-width: 600px)" srcset="../{}phone/{}">'


def add_phone_drawings(app, doctree):
    """Offer a phone its own drawing of each diagram."""
    for image in list(doctree.findall(nodes.image)):
        _, place, name = image["uri"].partition(PLACE)
        if place and "/" not in name:
            image.parent.insert(image.parent.index(image), nodes.raw("", NARROW.format(PLACE, name), format="html"))
            image.parent.insert(image.parent.index(image) + 1, nodes.raw("", "</picture>", format="html"))


def name_cells(app, doctree):
    """Give each cell of a wide table the name of its column, shown where cells leave their row."""
    for table in doctree.findall(nodes.table):
        head = list(table.findall(nodes.thead))
        names = [entry.astext() for entry in head[0].findall(nodes.entry)] if head else []
        if (len(names) < 4 and "in code" not in names) or "ledger-totals" in table["classes"]:
            continue
        table["classes"] += ["stacked", "cards"] if len(names) > 6 else ["stacked"]  # too many columns for any screen
        for row in next(table.findall(nodes.tbody)).findall(nodes.row):
            for place, (name, entry) in enumerate(zip(names, row.children, strict=False)):
                said = entry.astext().strip()
                if place == 0 and (not name or len(said) > SHORT):
                    continue  # a row's title says itself what it is
                if said:
                    entry.insert(0, nodes.inline("", f"{name}: ", classes=["cell-label"]))
                else:
                    entry["classes"].append("cell-empty")


def mark_check_lines(app, doctree):
    """Mark outputs that say what passed: they are sentences, and wrap where a table of numbers would not."""
    for block in doctree.findall(nodes.literal_block):
        if block.astext().startswith(("✓ ", "≠ ")):
            block["classes"].append("check-line")


def keep_together(app, doctree):
    """Put blanks at which no line ends into short equations of the running text."""
    apart = nodes.literal, nodes.literal_block, nodes.math, nodes.math_block, nodes.raw, nodes.title
    for text in list(doctree.findall(nodes.Text)):
        whole = TOGETHER.sub(lambda found: found[0].replace(" ", "\xa0"), text)
        above = text.parent
        while above is not None and not isinstance(above, apart):
            above = above.parent
        if whole != text and above is None:
            text.parent.replace(text, nodes.Text(whole))


def is_of(node, kind):
    """Return whether a node is an element of this class."""
    return isinstance(node, nodes.Element) and kind in node["classes"]


def hide_what_solutions_compute(app, doctree):
    """Put each cell of code that follows a solution among the exercises into that solution."""
    for section in doctree.findall(nodes.section):
        if "exercises" not in section["ids"]:
            continue
        solution = None
        for node in list(section.children):
            if is_of(node, "solution"):
                solution = node
            elif is_of(node, "cell") and solution is not None:
                section.remove(node)
                solution += node


def setup(app):
    """Connect the steps."""
    app.connect("doctree-read", add_phone_drawings)
    app.connect("doctree-read", name_cells)
    app.connect("doctree-read", mark_check_lines)
    app.connect("doctree-read", hide_what_solutions_compute)
    app.connect("doctree-read", keep_together)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

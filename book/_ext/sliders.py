"""Sphinx extension: where an image has the class "explore", its page loads the scripts that give the figure sliders.

The image is the figure as it is at the start, stored by `tools/explore.py`: what JupyterLab, paper and readers without
scripts show.
"""

from docutils import nodes

SCRIPTS = ("formulas.js", "scenes.js", "explore.js")
NOTE = '<p class="explore-note">This picture has sliders; they need JavaScript.</p>'


def explored(doctree):
    """Return the figures with sliders."""
    return [image.parent for image in doctree.findall(nodes.image) if "explore" in image["classes"]]


def add_note(app, doctree):
    """Say below each picture what a reader without scripts misses."""
    for figure in explored(doctree):
        figure.parent.insert(figure.parent.index(figure) + 1, nodes.raw("", NOTE, format="html"))


def add_scripts(app, pagename, templatename, context, doctree):
    """Load the scripts and the style where a page has such a figure."""
    if doctree is not None and explored(doctree):
        for name in SCRIPTS:
            app.add_js_file(name, loading_method="defer")
        app.add_css_file("explore.css")


def setup(app):
    """Connect the steps."""
    app.connect("doctree-read", add_note)
    app.connect("html-page-context", add_scripts)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

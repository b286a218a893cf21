"""Sphinx extension: pages that a keyboard, a screen reader, a small screen and paper can read, and that are light.

What the theme or a directive writes otherwise is put right in the page's source once it is written, each by one line of
``REPAIRS``. The script ``access.js`` does what depends on a box's width, and ``access.css`` what is a matter of style.
"""

import re
import shutil
from pathlib import Path

REPAIRS = [
    # Half a megabyte that draws a dozen icons; a font of 3 KB does, see access.css.
    (r'<script src="[^"]*/fontawesome\.js[^"]*"></script>\s*', ""),
    (r'<(i|span) class="((?:theme-switch )?fa[srb ]?[ -])', r'<\1 aria-hidden="true" class="\2'),
    # Without a script nobody settles what "auto" is, and links and code have no colours.
    (r'(<html[^>]*) data-theme="auto"', r'\1 data-theme="light"'),
    # The title and the search stand outside of any landmark.
    (r'<div (id="pst-primary-sidebar")', r'<div role="complementary" aria-label="Book" \1'),
    # Titles are plain text, so that they can be searched and linked; where they are read, an index is an index.
    (r"(>[^<>]*\boptimal )p_y(?=[^<>]*<(?:/(?:h1|a|p|span|em)>|a class=.headerlink))", r"\1<em>p<sub>y</sub></em>"),
    # Deprecated; the list of citations is a list.
    (r'role="doc-biblioentry"', 'role="listitem"'),
    # The corner of a table heads no column.
    (r"<th\b([^>]*)>(\s*|<p></p>)</th>", r"<td\1>\2</td>"),
]
# What no page loads any more.
UNUSED = ["scripts/fontawesome.js", "scripts/fontawesome.js.map", "scripts/fontawesome.js.LICENSE.txt"]


def repair(source):
    """Return a page's source, put right."""
    for pattern, replacement in REPAIRS:
        source = re.sub(pattern, replacement, source)
    return source


def finish(app, exception):
    """Put every page right once all are written."""
    if exception is not None or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        source = path.read_text(encoding="utf-8")
        if (repaired := repair(source)) != source:
            path.write_text(repaired, encoding="utf-8")
    static = Path(app.outdir) / "_static"
    for name in UNUSED:
        (static / name).unlink(missing_ok=True)
    shutil.rmtree(static / "vendor" / "fontawesome", ignore_errors=True)


def setup(app):
    """Register the style, the script and the repairs, which come before the policy."""
    app.add_css_file("access.css")
    app.add_js_file("access.js", loading_method="defer")
    app.connect("build-finished", finish, priority=800)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

"""Sphinx extension: each page of the site says which scripts may run, its own and no others.

A content security policy in a meta tag. Scripts come from the site itself; inline ones, which the theme writes, are
allowed by their checksum. Nothing that a notebook's output or a page's text might hold can run, load or frame anything.
"""

import base64
import hashlib
import html
import re
from pathlib import Path

SCRIPT = re.compile(r"<script(?P<attributes>[^>]*)>(?P<text>.*?)</script>", re.DOTALL)
HANDLER = re.compile(r"<[a-z][^>]*?\son[a-z]+=\"(?P<text>[^\"]*)\"")
FIRST = re.compile(r"<meta charset=[^>]*>")


def checksum(text):
    """Return what a policy calls a script: the checksum of its text."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def policy(page):
    """Return the policy of a page, from its source."""
    inline = {found["text"] for found in SCRIPT.finditer(page) if "src=" not in found["attributes"]}
    handlers = {html.unescape(found["text"]) for found in HANDLER.finditer(SCRIPT.sub("", page))}
    scripts = ["'self'", *sorted(map(checksum, inline))]
    if handlers:
        scripts += ["'unsafe-hashes'", *sorted(map(checksum, handlers))]
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {' '.join(scripts)}",
            "style-src 'self' 'unsafe-inline'",  # formulas and the theme set styles
            "img-src 'self' data:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "worker-src 'self'",  # live boxes; what a worker may do is its own
            "form-action 'self'",
            "base-uri 'none'",
        ]
    )


def protect(page):
    """Return a page's source with its policy, right after its encoding."""
    tag = f'<meta http-equiv="Content-Security-Policy" content="{policy(page)}">'
    protected, places = FIRST.subn(lambda found: f"{found[0]}\n    {tag}", page, count=1)
    if not places:
        raise ValueError("page must say its encoding in a meta tag")
    return protected


def finish(app, exception):
    """Give every page its policy once all are written."""
    if exception is None and app.builder.format == "html":
        for path in Path(app.outdir).rglob("*.html"):
            source = path.read_text(encoding="utf-8")
            if "Content-Security-Policy" not in source and FIRST.search(source):
                path.write_text(protect(source), encoding="utf-8")


def setup(app):
    """Connect the last step of a build."""
    app.connect("build-finished", finish, priority=900)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

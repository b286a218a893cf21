"""Sphinx extension: at the end of each chapter a fold that writes the text of a report about an error.

The text is there without a script, with blanks; ``witness.js`` offers fields that fill it in, and a button that copies
it. Where the book knows its repository, a link opens the same text as a new issue. Nothing is sent by itself.
"""

from html import escape
from urllib.parse import quote

import pages
import where

# What a report says, line by line, with the help that its field shows; the first and the last are known.
LINES = {
    "Chapter": None,
    "Formula or check": "a theorem, an equation, a claim, an exercise, or a sentence",
    "Numbers": "for example: k = 3, e^ε = 2, two people with the answers 0 and 1",
    "The book gives": "a value, a verdict, or what the sentence says",
    "I find": "a value, and how: by hand, by listing all reports, by a cell that I changed",
    "Version": None,
}
LONG = {"Numbers", "I find"}


def name_of(env, docname):
    """Return a chapter's number and title."""
    number = env.toc_secnumbers.get(docname, {}).get("", ())
    return ", ".join([".".join(map(str, number)), env.titles[docname].astext()] if number else [docname])


def report(known):
    """Return the text of a report with blanks, but for what is known."""
    return "\n".join(f"{line}: {known.get(line, '')}".rstrip() for line in LINES)


def field(line, say):
    """Return a field with its label, in HTML."""
    tag = f'id="witness-{line.split()[0].lower()}" data-line="{line}" placeholder="{escape(say)}"'
    tag += ' list="witness-places"' if line == "Formula or check" else ""
    box = f'<textarea rows="2" {tag}></textarea>' if line in LONG else f'<input type="text" autocomplete="off" {tag}>'
    return f'<label for="witness-{line.split()[0].lower()}">{line}</label>{box}'


def box(known, issue):
    """Return the fold in HTML; `issue` is the address of a new issue with places for title and body, or empty."""
    text = report(known)
    link = ""
    if issue:
        address = issue.format(title=quote(f"Chapter {known['Chapter']}"), body=quote(text))
        link = f'<a class="witness-issue" href="{escape(address)}" data-issue="{escape(issue)}">Open it as an issue</a>'
    fields = "".join(f"<div>{field(line, say)}</div>" for line, say in LINES.items() if say)
    return f"""
<details class="witness d-print-none" id="witness">
<summary>Found an error? Your witness</summary>
<p>A witness is a set of numbers for which a formula or a check of this chapter is false. It decides, whoever is right.
Fill in the report; nothing is sent.</p>
<div class="witness-fields" hidden>{fields}<datalist id="witness-places"></datalist></div>
<pre class="witness-report">{escape(text)}</pre>
<p class="witness-do"><button type="button" class="witness-copy" hidden>Copy the report</button>{link}
<span class="witness-says" role="status"></span></p>
</details>
"""


def add_box(app, pagename, templatename, context, doctree):
    """Put the fold at a chapter's end."""
    if doctree is None or not pagename.startswith("notebooks/"):
        return
    app.add_js_file("witness.js", loading_method="defer")
    app.add_css_file("witness.css")
    known = {"Chapter": f"{name_of(app.env, pagename)} ({pagename}.ipynb)", "Version": app.config.witness_version}
    context["body"] += box(known, where.issue_of(app.config.book_repository))


def version(commit):
    """Return the version that a report names, with the commit of the build where that is known."""
    return f"{pages.version()}, commit {commit}" if commit else pages.version()


def setup(app):
    """Connect the step."""
    app.add_config_value("witness_version", version(pages.commit()), "")
    app.connect("html-page-context", add_box)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

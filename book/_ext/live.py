"""Sphinx extension: live boxes. A reader edits a formula, and the page compares it with an exact enumeration.

Each file of ``book/live`` is one box: a docstring (title, ``chapter: slug``, a question in Markdown), the part ``#
formula`` as it stands first, parts ``# right: ...``, ``# mistake: ...`` and ``# printed: ...`` that can be put in its
place, ``# numbers`` that the reader may change too, and ``# exact``, whose ``cases()`` yields a label, the exact
value and the formula's. The page runs a formula in Brython, in a worker that is loaded on the first click; what it
says without a script is computed when the site is built. Boxes come before a chapter's questions; in an audit at its
end.
"""

import json
import re
import shutil
from dataclasses import dataclass
from html import escape
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "book" / "live"
PLACE = re.compile(r"^(## (Check yourself|Exercises)$|\*\*Next:\*\*)", re.MULTILINE)
PART = re.compile(r"^# (formula|right|mistake|printed|numbers|exact)(?:: (.+))?\n", re.MULTILINE)
SCRIPTS = ("brython.js", "brython_stdlib.js")  # half a second's worth of formulas needs no smaller Python
IMPORTS = "from fractions import Fraction as F\nfrom itertools import product\n"


@dataclass(frozen=True, kw_only=True)
class Box:
    """One live box: what it asks, its formulas by what they are called, and the exact cases."""

    name: str
    title: str
    chapter: str
    question: str
    formulas: dict  # name -> (code, whether it is right)
    exact: str

    @property
    def first(self):
        """The name of the formula that stands in the box at first."""
        return next(iter(self.formulas))

    def rows(self, name=None):
        """Return (label, exact, the formula's, equal) of each case; `name` is one of the formulas."""
        space = {}
        exec(IMPORTS + self.formulas[name or self.first][0] + self.exact, space)
        return [(label, say(exact), say(yours), exact == yours) for label, exact, yours in space["cases"]()]


def say(value):
    """Return a value as a box shows it."""
    return f"({', '.join(map(say, value))})" if isinstance(value, (list, tuple)) else str(value)


def read(path):
    """Return the box of a file."""
    text = path.read_text(encoding="utf-8")
    _, words, rest = text.split('"""', 2)
    head, question = words.strip().split("\n\n", 1)
    title, chapter = re.fullmatch(r"(.+)\nchapter: (\w+)", head).groups()
    formulas, exact, numbers = {}, None, ""
    parts = PART.split(rest)[1:]
    for kind, name, code in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        if kind == "exact":
            exact = "\n" + code.strip() + "\n"
        elif kind == "numbers":
            numbers = "\n# your numbers\n" + code.strip() + "\n"
        else:
            name = {"printed": f"as printed: {name}", "mistake": f"a mistake: {name}"}.get(kind, name or "the formula")
            formulas[name] = (code.strip() + "\n", kind in ("formula", "right"))
    formulas = {name: (code + numbers, right) for name, (code, right) in formulas.items()}
    box = Box(name=path.stem, title=title, chapter=chapter, question=question, formulas=formulas, exact=exact)
    if exact is None or {right for _, right in formulas.values()} != {True, False}:
        raise ValueError(f"{path} must have an exact part, a right formula and a mistake")
    return box


def boxes():
    """Return all boxes, by name."""
    return [read(path) for path in sorted(FOLDER.glob("*.py"))]


def table(box):
    """Return what the formula gives at first, as a table in HTML."""
    lines = "".join(
        f'<tr class="{"same" if equal else "other"}"><td>{escape(label)}</td><td>{escape(exact)}</td>'
        f"<td>{escape(yours)}</td><td>{'equal' if equal else 'differs'}</td></tr>"
        for label, exact, yours, equal in box.rows()
    )
    head = "<tr><th>case</th><th>enumerated</th><th>formula</th><th></th></tr>"
    return f"<table><thead>{head}</thead><tbody>{lines}</tbody></table>"


def markdown(box):
    """Return a box as it stands in a chapter."""
    data = {"formulas": {name: code for name, (code, _) in box.formulas.items()}, "exact": box.exact}
    held = escape(json.dumps(data, ensure_ascii=False), quote=True)
    code, right = box.formulas[box.first]
    mend = "" if right else f"\n\n**Not right, on purpose** ({box.first}). Mend it, or choose the right one."
    return f"""
::::{{admonition}} {box.title}
:class: live
:name: live-{box.name.replace("_", "-")}

{box.question.strip()}{mend}

```python
{code.rstrip()}
```

```{{raw}} html
<div class="live-box" data-live="{held}"><div class="live-result">{table(box)}</div></div>
```
::::
"""


def add_boxes(app, docname, source):
    """Put the boxes of a chapter before its questions; in a chapter without any, at its end."""
    folder, _, slug = docname.rpartition("/")
    found = [box for box in boxes() if box.chapter == slug] if folder == "notebooks" else []
    if not found:
        return
    for box in found:  # a chapter is read again when one of its boxes has changed
        app.env.note_dependency(str(FOLDER / f"{box.name}.py"))
    text = "## Try it on this page\n" + "".join(map(markdown, found))
    notebook = json.loads(source[0])
    for cell in notebook["cells"]:
        written = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and PLACE.search(written):
            cell["source"] = PLACE.sub(lambda found: f"{text}\n{found[0]}", written, count=1)
            break
    else:
        notebook["cells"].append({"cell_type": "markdown", "id": "live", "metadata": {}, "source": text})
    source[0] = json.dumps(notebook)


def add_scripts(app, pagename, templatename, context, doctree):
    """Load the script and the style where a page has a box."""
    if any(f"notebooks/{box.chapter}" == pagename for box in boxes()):
        app.add_js_file("live.js", loading_method="defer")
        app.add_css_file("live.css")


def copy_python(app, exception):
    """Put the page's Python where the worker finds it."""
    if exception is None and app.builder.format == "html":
        data, target = Path(find_spec("brython").origin).parent / "data", Path(app.outdir) / "_static" / "brython"
        target.mkdir(parents=True, exist_ok=True)
        for name in SCRIPTS:
            shutil.copy(data / name, target / name)


def setup(app):
    """Connect the steps; the questions are there before the boxes."""
    app.connect("source-read", add_boxes, priority=700)
    app.connect("html-page-context", add_scripts)
    app.connect("build-finished", copy_python)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

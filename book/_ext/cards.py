"""Sphinx extension: the page on the library, from the library.

A block ``{cards}`` names classes and becomes their cards, by ``mechanisms.yml``; a block ``{modules}`` has a line of
modules for each heading, which is what the first of them says of itself. A plus after a name: with inherited members;
names in brackets: these only.
"""

import ast
import re
from importlib.util import find_spec
from pathlib import Path

import yaml

FILE = Path(__file__).resolve().parents[1] / "mechanisms.yml"
BLOCK = re.compile(r"^```\{(cards|modules)\}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PARTS = ("sent", "budget", "error", "forged", "attacker", "use")


def card(name, told):
    """Return a mechanism's card: what it sends and spends, and an example from people to shares."""
    import ldp_lib

    cls = getattr(ldp_lib, name)
    chapters = ", ".join(f"{{doc}}`../notebooks/{chapter}`" for chapter in told["see"])
    lines = [f"- **{part.capitalize()}:** {told[part]}" for part in PARTS]
    lines.append(f"- **See:** {chapters}; {{py:class}}`{name} <{cls.__module__}.{name}>`")
    given = told["with"].strip().splitlines()
    given = given[0] if len(given) == 1 else "\n" + "".join(f"...     {line}\n" for line in given) + "... "
    made = f">>> m = ldp.{name}({given})"
    drawn = f">>> reports = m.perturb({told['people']}.users(), rng=np.random.default_rng(1))"
    example = f"```python\n{made}\n{drawn}\n{told['shows'].rstrip()}\n```"
    return "\n".join([f":::{{card}} {name}: {told['title']}", "", *lines, "", example, ":::"])


def says(module):
    """Return what a module says of itself, up to its first stop; nothing of it is run."""
    doc = ast.get_docstring(ast.parse(Path(find_spec(module).origin).read_text(encoding="utf-8")))
    line = re.sub(r" \([^)]*\)(?=[ :;,.])", "", doc.partition("\n")[0])
    first = re.split(r"[:;.](?:\s|$)|,\s(?!\.\.\.|k-1|[^(]*\))", line)[0]
    return first if re.search("[-A-Z']", first.split()[0][1:]) else first[0].lower() + first[1:]


def listed(line):
    """Return a heading, and all that the modules of a line document."""
    entries = re.findall(r"([\w.]+)(\+)?(?:\(([\w,]*)\))?", line)
    blocks = []
    for name, inherited, chosen in entries:
        options = ["   :members:" + (f" {chosen}" if chosen else "")] + ["   :inherited-members:"] * bool(inherited)
        blocks.append("\n".join([f".. automodule:: ldp_lib.{name}", *options]))
    public = [name for name, *_ in entries if "._" not in f".{name}"] or [entries[0][0].partition("._")[0]]
    package = ".".join(
        part for part, *others in zip(*(name.split(".") for name in public), strict=False) if {part} >= set(others)
    )
    package = package or public[0]
    described = "\n\n".join(blocks)
    return f"### `{package}`: {says('ldp_lib.' + entries[0][0])}\n\n```{{eval-rst}}\n{described}\n```"


def whole(text):
    """Return a page with its cards and its modules."""
    told = yaml.safe_load(FILE.read_text(encoding="utf-8"))

    def filled(found):
        kind, body = found.groups()
        parts = [card(name, told[name]) for name in body.split()] if kind == "cards" else map(listed, body.splitlines())
        return "\n\n".join(parts)

    return BLOCK.sub(filled, text)


def fill(app, docname, source):
    """Fill in the page on the library."""
    if docname == "book/api":
        app.env.note_dependency(str(FILE))
        source[0] = whole(source[0])


def setup(app):
    """Connect the step."""
    app.connect("source-read", fill)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

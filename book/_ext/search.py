"""Search: formulas are indexed and shown as readable text, not as TeX; what explains comes before the library's list.

Each formula's text, such as (p − q)²/n, stands in the page as ``data-plain``; `book/_static/search.js` puts it into the
summaries of results, and orders them: first the pages that the last table of the glossary names for the words.
"""

import html
import json
import posixpath
import re
from pathlib import Path
from xml.etree import ElementTree

import math_core
import mathml
from docutils import nodes

BOOK = Path(__file__).resolve().parents[1]
ENTITY = re.compile(r"&(?!(?:lt|gt|amp|quot|#\w+);)\w+;")
SPACED = set("=<>≤≥≠≈∈∉∝→↔+−±∓·×∣")
RAISED = str.maketrans("0123456789+−()nk", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁽⁾ⁿᵏ")
ACCENTS = {"ˆ": "\u0302", "^": "\u0302", "˜": "\u0303", "~": "\u0303", "¯": "\u0304"}
WORD = "\u200a"  # after a name of several letters: a space, unless a bracket follows


def group(text):
    """Return a text in brackets, unless it is one sign or one name."""
    return text if re.fullmatch(r"\w*", text.strip(WORD)) else f"({text.strip()})"


def power(base, exponent):
    """Return a base with its exponent, as small digits where there are any."""
    exponent = exponent.strip()
    if exponent.startswith("′") or exponent in "∗*⊤":
        return base + exponent
    small = exponent.translate(RAISED)
    return base + small if not set(small) & set(exponent) else f"{base}^{group(exponent)}"


def plain(element):
    """Return an element of MathML as text."""
    parts = [plain(child) for child in element]
    text = re.sub(r"[\u2061-\u2064]", "", element.text or "")
    match element.tag:
        case "annotation":
            return ""
        case "mi":
            return text + WORD * (len(text) > 1)
        case "mo":
            unary = element.get("lspace") == element.get("rspace") == "0"
            return f" {text} " if text in SPACED and not unary else text + " " * (text in {",", ";", ":"})
        case "mspace":
            return " " * (element.get("width", "0") in {"1em", "2em"})
        case "mfrac":
            return " over ".join(parts) if element.get("linethickness") == "0" else "/".join(map(group, parts)) + " "
        case "msup":
            return power(*parts)
        case "msub" | "munder":
            name = WORD * (parts[0].endswith(WORD) or element.tag == "munder")
            return parts[0] if parts[1] in {"⏟", "̲"} else f"{parts[0].strip(WORD)}_{group(parts[1])}{name}"
        case "msubsup" | "munderover":
            return power(f"{parts[0]}_{group(parts[1])}", parts[2]) + WORD * (element.tag == "munderover")
        case "mover":
            return parts[0] + ACCENTS.get(parts[1], "")
        case "msqrt":
            return f"√{group(''.join(parts))}"
        case "mroot":
            return f"{group(parts[0])}^(1/{parts[1]})"
        case "mtr":
            return ", ".join(parts)
        case "mtable":
            return "; ".join(parts)
    return text + "".join(parts)


def readable(tex):
    """Return a formula in TeX as text."""
    source = ENTITY.sub(lambda entity: html.unescape(entity[0]), mathml.convert(mathml.TAG.sub("", tex)))
    text = re.sub(rf"{WORD}(?=[(\[{{])|[{WORD} ](?=[)\]}},;|]|\.(?!\d))", "", plain(ElementTree.fromstring(source)))
    return " ".join(text.replace(WORD, " ").split())


def name_formulas(app, doctree, docname):
    """Give each formula its text, which is what the index then reads; its TeX stays beside."""
    if app.builder.format == "html":
        for node in doctree.findall(lambda node: isinstance(node, nodes.math | nodes.math_block)):
            node["tex"] = node.astext()
            try:
                node["plain"] = readable(node["tex"])
            except math_core.LatexError:
                continue  # the writer warns
            node.children = [nodes.Text(node["plain"])]


def other_names(text):
    """Return the pages of each name in the last table of the glossary: name -> documents."""
    found = {}
    for names, places in re.findall(r"^\| (.+) \| (\{doc\}.+) \|$", text.rpartition("## Other names")[2], re.MULTILINE):
        pages = [posixpath.normpath(f"book/{page}") for page in re.findall(r"\{doc\}`([^`]+)`", places)]
        for name in names.split(", "):
            found.setdefault(name.casefold(), []).extend(pages)
    return found


def set_script(app, config):
    """Give the search its script, with the names before it."""
    names = other_names((BOOK / "glossary.md").read_text(encoding="utf-8"))
    script = (BOOK / "_static" / "search.js").read_text(encoding="utf-8")
    path = Path(app.doctreedir) / "search.js"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"const OTHER_NAMES = {json.dumps(names)};\n{script}", encoding="utf-8")
    config.html_search_scorer = str(path)


def setup(app):
    """Register the texts and the script."""
    app.connect("doctree-resolved", name_formulas, priority=900)
    app.connect("config-inited", set_script)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

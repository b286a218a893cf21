r"""Formulas as MathML, made when the site is built: pages need no script to show them, nor does paper.

math-core converts TeX; a formula that it does not understand is a warning, so the build fails. What is mended before:
lines outside of an environment are aligned, `\tag` becomes a number at the margin, brackets take sizes that browsers
set well, and a long formula is cut into several, between which a line may break: one of its own only at wide gaps.
"""

import re
from html import escape

import math_core
from docutils import nodes
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

logger = logging.getLogger(__name__)
CONVERTER = math_core.LatexToMathML(fancy_error=False)
ENVIRONMENT = re.compile(r"\\begin\{(\w+\*?)\}(?:(?!\\begin).)*?\\end\{\1\}", re.DOTALL)
TAG = re.compile(r"\s*\\tag\{([^{}]*)\}")
TALL = r"left|right|big|[dt]?frac|binom|sum|prod|int|sqrt|under|over|begin"
LOW = re.compile(rf"\\left\s*([(\[]|\\\{{)((?:(?!\\(?:{TALL})).)*)\\right\s*([)\]]|\\\}})", re.DOTALL | re.IGNORECASE)
RAISED = re.compile(r"\\([bB]ig+)l?([(\[|]|\\[{|])((?:(?!\\[bB]ig).)*)\\\1r?([)\]|]|\\[}|])(?=\s*[\^_])", re.DOTALL)

TOKEN = re.compile(r"\\(?:[a-zA-Z]+|.)|\S", re.DOTALL)
OPENING = {"{", "(", "[", r"\{", r"\left", r"\begin", r"\lVert", r"\lvert"}
CLOSING = {"}", ")", "]", r"\}", r"\right", r"\end", r"\rVert", r"\rvert"}
WIDE = {r"\quad", r"\qquad"}
GAP = WIDE | {r"\ "}
GAPS = re.compile(r"^(\s*\\(\s|q?quad\b))+")
RELATION = {"=", "<", ">", r"\le", r"\ge", r"\ne", r"\in", r"\approx", r"\propto", r"\to"}
SUM = {"+", "-"}
UNSEEN = {"{", "}", "^", "_", r"\,", r"\ ", r"\frac", r"\tfrac", r"\dfrac", r"\big", r"\Big", r"\left", r"\right"}
# A root stands on the line if what is under it has the height of a capital: the sign hangs from its bar.
ROOT = re.compile(r"<msqrt>(<m([in])[^>]*>[^<]*</m\2>)</msqrt>")
OPENED = re.compile(r"[(\[“‘]$")
LONG = 24  # signs, which fit on a line of a phone


def lines(tex):
    """Return a formula whose lines are aligned, if it has several outside of environments."""
    rest, count = tex, 1
    while count:
        rest, count = ENVIRONMENT.subn("", rest)
    return rf"\begin{{aligned}}{tex}\end{{aligned}}" if r"\\" in rest else tex


def brackets(tex):
    """Return a formula without two kinds of brackets that Chromium sets badly.

    One that may stretch has room for the tallest beside it, so those around low parts do not stretch. One with an
    exponent does not stretch, so the exponent goes to all that the brackets hold.
    """
    count = 1
    while count:
        tex, count = LOW.subn(r"\1\2\3", tex)
    return RAISED.sub(r"{\\\1\2\3\\\1\4}", tex)


def pieces(tex, places=(GAP, RELATION, SUM)):
    """Return a formula's parts between which a line may break: at gaps and, where still long, at relations, at sums."""
    tokens = list(TOKEN.finditer(tex))
    if not places or sum(token[0] not in UNSEEN for token in tokens) <= LONG:
        return [tex]
    depth, cuts, before = 0, [], "="
    for token in tokens:
        depth += (token[0] in OPENING) - (token[0] in CLOSING)
        if depth == 0 and token[0] in places[0] and (places[0] <= GAP or before not in {"^", "_", "="}):
            cuts.append(token.start())
        before = token[0] if token[0] not in RELATION | {","} else "="
    parts = [tex[i:j] for i, j in zip([0, *cuts], [*cuts, len(tex)], strict=True)]
    return [tex] if depth else [piece for part in parts for piece in pieces(part, places[1:])]


def convert(tex, *, block=False, before=""):
    """Return the MathML of a formula, which holds the TeX as an annotation; spaces are as after `before`."""
    tex = tex.strip()
    plain = tex.removeprefix(r"\displaystyle ") if block else tex
    mathml = CONVERTER.convert_with_local_state(before + brackets(lines(plain)), displaystyle=block)
    mathml = ROOT.sub(r'<msqrt><mpadded height="0.75em" depth="0.1em">\1</mpadded></msqrt>', mathml)
    start, body, end = re.fullmatch(r"(<math[^>]*>)(.*)(</math>)", mathml, re.DOTALL).groups()
    note = f'<annotation encoding="application/x-tex">{escape(tex, quote=False)}</annotation>'
    return f"{start}<semantics><mrow>{body}</mrow>{note}</semantics>{end}"


def write(translator, node, tex, **kinds):
    """Write a formula to the page."""
    try:
        translator.body.append(convert(tex, **kinds))
    except math_core.LatexError as error:
        logger.warning("formula not understood: %s: %s", error, tex, location=node)
        translator.body.append(escape(tex))


def start(translator, node, tag):
    """Open the box of a formula; return the formula's TeX."""
    text = {"data-plain": node["plain"]} if "plain" in node else {}  # what search shows, see search.py
    translator.body.append(translator.starttag(node, tag, "", CLASS="math notranslate nohighlight", **text))
    return node.get("tex", node.astext())


def visit_math(translator, node):
    """Write a formula within a line, to which a bracket or a quotation mark before it is tied."""
    tied = r'<span class="before-math">\g<0></span>'
    translator.body[-1:] = [OPENED.sub(tied, text) for text in translator.body[-1:]]
    parts = pieces(start(translator, node, "span"))
    style = r"\displaystyle{}" if parts[0].startswith(r"\displaystyle") else "{}"
    for i, tex in enumerate(parts):
        translator.body.append("<wbr>" if i else "")
        write(translator, node, tex, before=style if i else "")
    translator.body.append("</span>")
    raise nodes.SkipNode


def visit_math_block(translator, node):
    """Write a formula of its own, with its number."""
    tex = start(translator, node, "div")
    tag = TAG.search(tex)
    if node["number"]:
        translator.body.append(f'<span class="eqno">({get_node_equation_number(translator, node)})')
        translator.add_permalink_ref(node, "Link to this equation")
        translator.body.append("</span>")
    elif tag:
        translator.body.append(f'<span class="eqno">({escape(tag[1])})</span>')
    parts = [part for piece in pieces(TAG.sub("", tex), [WIDE]) if (part := GAPS.sub("", piece))]
    if len(parts) == 1:
        write(translator, node, TAG.sub("", tex), block=True)
    else:
        translator.body.append('<span class="parts">')
        for part in parts:
            write(translator, node, part, before=r"\displaystyle ")
            translator.body.append(" ")
        translator.body.append("</span>")
    translator.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

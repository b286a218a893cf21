"""A chapter can be finished: minutes, cells, pictures, first screen and exercises are measured, not hoped for."""

import ast
import functools
import itertools
import re
from pathlib import Path

import nbformat
import pytest
import yaml
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from ldp_lib.book.claims import VERDICTS, ledger

ROOT = Path(__file__).resolve().parents[2]
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))


def chapters(track):
    """Return the paths of the chapters of one track, by the captions of the table of contents."""
    parts = [part for part in TOC["parts"] if part["caption"].startswith(track)]
    return [ROOT / f"{chapter['file']}.ipynb" for part in parts for chapter in part["chapters"]]


THEORY, PRACTICE, AUDIT = chapters("Learn") + chapters("Further"), chapters("In use"), chapters("Audit")
LEARN = THEORY + PRACTICE
WORDS_A_MINUTE, LINES_A_MINUTE, FORMULAS_A_MINUTE, MOST_MINUTES, MOST_COLUMNS = 200, 20, 2, 15, 84
MOST_AUDIT_MINUTES, MOST_AUDIT_CELLS = 32, 60


def tags(cell):
    """Return the tags of a cell."""
    return cell.metadata.get("tags", [])


def prose(notebook, keep=str):
    """Return the text that a reader could read: all Markdown, solutions too, and the captions of figures.

    Left out is what no page shows: names and options of directives. `keep` says which part of the Markdown counts.
    """
    drawn = [cell.metadata.get("mystnb", {}).get("figure", {}).get("caption", "") for cell in notebook.cells]
    written = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    text = "\n\n".join([keep(written), *drawn])
    text = re.sub(r"^(:{3,}|`{3,})\{(figure|image)\}.*$|^:[a-z-]+:.*$", "", text, flags=re.MULTILINE)
    return re.sub(r"^(:{3,}|`{3,})(\{[\w:]+\})?", "", text, flags=re.MULTILINE)


def aside(text):
    """Return the text without what the argument does not need: exercises, solutions and folds "For referees"."""
    text = re.sub(r"^## Exercises$", "", text, flags=re.MULTILINE)
    marks = r"^(:{3,})\{(?:exercise\}|solution\}|dropdown\} For referees).*?^\1$"
    return re.sub(marks, "", text, flags=re.MULTILINE | re.DOTALL)


def minutes(notebook):
    """Return the minutes that the argument takes: 200 words, 20 lines of visible code or two displayed formulas each.

    Words are split at white space, as a stranger would count them; captions and other folds are counted too.
    """
    visible = [c for c in notebook.cells if c.cell_type == "code" and not {"hide-input", "remove-input"} & set(tags(c))]
    lines = sum(bool(line.strip()) for cell in visible for line in cell.source.splitlines())
    words, formulas = re.subn(r"\$\$.*?\$\$", "", prose(notebook, aside), flags=re.DOTALL)
    return len(words.split()) / WORDS_A_MINUTE + lines / LINES_A_MINUTE + formulas / FORMULAS_A_MINUTE


def pictures(notebook):
    """Return the number of the cell of each picture: a figure directive, or a drawn figure."""
    found = []
    for i, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            found += [i] * len(re.findall(r"^(?::{3,}|`{3,})\{(?:figure|image)\}", cell.source, re.MULTILINE))
        else:
            found += [i for output in cell.outputs if "image/png" in output.get("data", {})]
    return found


def exercises(notebook):
    """Return the text of each exercise."""
    text = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    return [match[0] for match in re.finditer(r"^:{3,}\{exercise\}.*?^:{3,}$", text, re.MULTILINE | re.DOTALL)]


def takes_fifteen_minutes(notebook, most=MOST_MINUTES):
    """At most 15 minutes, and the first cell says how many: at most half a minute less, or 1.5 more."""
    found, said = minutes(notebook), re.search(r"\*\*Minutes:\*\* (\d+)", notebook.cells[0].source)
    wrong = [f"{found:.1f} minutes"] if found > most else []
    if not said or not -0.5 <= int(said[1]) - found <= 1.5:
        wrong.append(f"the first cell says {said and said[1]} minutes; it takes {found:.1f}")
    return wrong


def takes_half_an_hour(notebook):
    """An audit goes through a whole paper, and still ends."""
    return takes_fifteen_minutes(notebook, most=MOST_AUDIT_MINUTES)


def has_15_to_35_cells(notebook):
    """Neither a stub nor a marathon."""
    return [] if 15 <= len(notebook.cells) <= 35 else [f"{len(notebook.cells)} cells"]


def has_at_most_60_cells(notebook):
    """What is only bookkeeping belongs in tests/claims."""
    return [f"{len(notebook.cells)} cells"] if len(notebook.cells) > MOST_AUDIT_CELLS else []


def opens_with_question_answer_and_findings(notebook):
    """The first cell of an audit: title, question, answer, what stands as a table or picture, what to know before.

    A table whose head names verdicts and whose rows name papers, as in "| `jrr` | 10 | 2 |", counts as the ledger does.
    """
    first, wrong = notebook.cells[0].source, []
    if not re.search(r"^\|[ :|-]+\|$", first, re.MULTILINE) and 0 not in pictures(notebook):
        wrong.append("no table or picture of what stands")
    head = []
    for line in re.findall(r"^\|(.+)\|$", first, re.MULTILINE):
        cells = [cell.strip(" `") for cell in line.split("|")]
        head = cells if set(cells[1:]) <= set(VERDICTS) else head
        said = dict(zip(head[1:], cells[1:], strict=False))
        found = [c.verdict for c in ledger().values() if c.paper == cells[0]]
        if found and head and said != (counted := {verdict: str(found.count(verdict)) for verdict in head[1:]}):
            wrong.append(f"the ledger counts {counted} in {cells[0]}")
    with_picture = opens_with_question_answer_and_picture(notebook)
    return wrong + [fault for fault in with_picture if "picture" not in fault]


def says_what_was_read_and_who_was_told(notebook):
    """Once, in the first cell: the papers were read as extracted text, and whether their authors know."""
    said = {words: notebook.cells[0].source.count(words) for words in ("extracted text", "not yet written to")}
    return [f"{words!r} {count} times in the first cell" for words, count in said.items() if count != 1]


def half_of_its_code_is_open(notebook):
    """An author sees the cells that settle a finding: at most half of them are folded."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    folded = sum("hide-input" in tags(cell) for cell in code)
    return [f"{folded} of {len(code)} code cells are folded"] if 2 * folded > len(code) else []


def findings_lead_to_an_open_cell(notebook):
    """Each row of the last table links to a place here; of the next two code cells one is open."""
    table = notebook.cells[0].source.rpartition("| --- |")[2].splitlines()[1:]
    rows = [line for line in table if line.startswith("|")]
    named = [re.search(r"\{ref\}`[^`]+ <([\w-]+)>`", row) for row in rows]
    wrong = [f"row {i} of the findings has no link" for i, link in enumerate(named, 1) if not link]
    wrong += [] if rows else ["no row of findings"]
    for place in (link[1] for link in named if link):
        found = [i for i, cell in enumerate(notebook.cells) if f"({place})=" in cell.source]
        after = [cell for cell in notebook.cells[found[0] :] if cell.cell_type == "code"][:2] if found else []
        if all("hide-input" in tags(cell) for cell in after):
            wrong.append(f"{place} leads to no open cell")
    return wrong


def what_is_wrong_is_settled_in_the_open(notebook):
    """An author need not unfold the cell that decides against a statement of the paper."""
    against = [c for c in notebook.cells if re.search(r"\.(?:refuted|not_reproduced)\(", c.source)]
    return [f"folded: {c.source[:60]!r}" for c in against if c.cell_type == "code" and "hide-input" in tags(c)]


def has_no_bare_assert(notebook):
    """`check.same`, `equal`, `close`, `passed` and claims show that they passed, or how far off they are."""
    trees = [ast.parse(cell.source) for cell in notebook.cells if cell.cell_type == "code"]
    return [ast.unparse(node) for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Assert)]


def opens_with_question_answer_and_picture(notebook):
    """The first cell: a title, one question, an answer of two sentences, a picture, what to know before."""
    first, wrong = notebook.cells[0].source, []
    if not re.match(r"# [^\n]{3,70}\n\n\*[^*\n]+\?\*\n", first):
        wrong.append("no short title with the question below it as *question?*")
    answer = re.search(r"\*\*Answer\.\*\* (.+?)\n\n", first, re.DOTALL)
    if not answer or len(re.findall(r"[.!](?=\s|$)", answer[1])) != 2:
        wrong.append("no **Answer.** of two sentences")
    if 0 not in pictures(notebook):
        wrong.append("no picture on the first screen")
    if "**You need:**" not in first:
        wrong.append("no **You need:**")
    return wrong


def has_three_pictures(notebook):
    """People look before they read."""
    return [] if len(pictures(notebook)) >= 3 else [f"{len(pictures(notebook))} pictures"]


def has_three_to_five_exercises(notebook):
    """Each has its stars; one changes a check, one is coded, one is for paper."""
    found = exercises(notebook)
    wrong = [] if 3 <= len(found) <= 5 else [f"{len(found)} exercises"]
    wrong += [f"no stars: {text[:60]!r}" for text in found if not re.search(r"\{exercise\} [^\n]*★", text)]
    text = "\n".join(found).lower()
    wrong += [
        f"no exercise says {words!r}" for words in ("which check fails", "on paper", "with code") if words not in text
    ]
    return wrong


def ends_with_what_it_changes(notebook):
    """The last headings: what it changes for somebody who collects data, exercises, what next."""
    text = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    wanted = ("## What it changes", "## Exercises", "**Next:**")
    return [f"no {heading}" for heading in wanted if heading not in text]


def no_verdict_on_a_paper(notebook):
    """Audits are for that."""
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return [f"verdict {m}" for s in sources for m in re.findall(r"claim\(\"(?!own/)[^\"]+\"\)", s)]


def has_visible_checks(notebook):
    """At least three checks ran, and a line says so."""
    texts = [str(o.get("text", "")) + str(o.get("data", "")) for c in notebook.cells for o in c.get("outputs", [])]
    count = sum(int(n) for text in texts for n in set(re.findall(r"✓ (?:[^\n]+ \()?(\d+) check", text)))
    return [] if count >= 3 else [f"{count} visible checks"]


def settles_a_result_of_its_own(notebook):
    """What the chapter is about stands in the ledger, and its badge says that it was checked here."""
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return [] if any('claim("own/' in source for source in sources) else ["no result of the book is settled"]


def code_fits_without_scrolling(notebook):
    """No code box scrolls; what only draws or formats is folded."""
    wrong = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            wrong += [f"long line {line!r}" for line in cell.source.splitlines() if len(line) > MOST_COLUMNS]
            if "plt.show()" in cell.source and not {"hide-input", "remove-input"} & set(tags(cell)):
                wrong.append(f"figure code is not folded: {cell.source[:40]!r}")
    return wrong


def displays_three_results(notebook):
    """A derivation is seen as SymPy prints it, not as a check that passed."""
    shown = [o for c in notebook.cells for o in c.get("outputs", []) if "text/latex" in o.get("data", {})]
    return [] if len(shown) >= 3 else [f"{len(shown)} results displayed by SymPy"]


def shows_own_data(notebook):
    """Every chapter of the theory ends in something that a reader can do with a data frame."""
    text = "\n".join(cell.source for cell in notebook.cells).lower()
    return [] if re.search(r"\bown (data|table|people)\b", text) else ["nothing on the reader's own data"]


RULES = [
    takes_fifteen_minutes,
    displays_three_results,
    has_15_to_35_cells,
    opens_with_question_answer_and_picture,
    has_three_pictures,
    has_three_to_five_exercises,
    ends_with_what_it_changes,
    no_verdict_on_a_paper,
    has_visible_checks,
    settles_a_result_of_its_own,
    code_fits_without_scrolling,
    has_no_bare_assert,
]


AUDIT_RULES = [
    takes_half_an_hour,
    has_at_most_60_cells,
    opens_with_question_answer_and_findings,
    says_what_was_read_and_who_was_told,
    half_of_its_code_is_open,
    findings_lead_to_an_open_cell,
    what_is_wrong_is_settled_in_the_open,
    has_no_bare_assert,
    code_fits_without_scrolling,
]


@pytest.mark.parametrize("path", AUDIT, ids=lambda path: path.stem)
@pytest.mark.parametrize("rule", AUDIT_RULES, ids=lambda rule: rule.__name__)
def test_every_audit_chapter_keeps_every_rule(rule, path):
    assert rule(read(path)) == []


@pytest.mark.parametrize("path", LEARN, ids=lambda path: path.stem)
@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_learn_chapter_keeps_every_rule(rule, path):
    assert rule(read(path)) == []


@pytest.mark.parametrize("path", THEORY, ids=lambda path: path.stem)
def test_every_chapter_of_theory_shows_own_data(path):
    assert shows_own_data(read(path)) == []


def test_a_chapter_without_own_data_is_seen():
    assert shows_own_data(good()) != []


def following(notebook):
    """Return the chapter that a chapter's last line leads to."""
    text = "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    found = re.search(r"\*\*Next:\*\*[^`\n]*\{doc\}`(?:\.\./notebooks/)?(\w+)", text)
    return found and found[1]


def test_what_comes_next_is_the_next_chapter():
    pairs = [*itertools.pairwise(THEORY), *itertools.pairwise(PRACTICE)]
    wrong = {path.stem: found for path, after in pairs if (found := following(read(path))) != after.stem}
    assert wrong == {}


@functools.cache
def read(path):
    """Return a stored notebook, which is read once."""
    return nbformat.read(path, as_version=4)


def good():
    """Return a small chapter that keeps every rule."""
    first = (
        "# Counting\n\n*How many?*\n\n**Answer.** Many. Not all.\n\n"
        "```{figure} ../book/_static/diagrams/a.svg\n:alt: A.\n```\n\n"
        "**You need:** nothing. **Minutes:** 1\n"
    )
    last = "## What it changes\n\nMuch.\n\n## Exercises\n\n" + "\n\n".join(
        f":::{{exercise}} {stars}\n{text}\n:::"
        for stars, text in (("★", "Which check fails?"), ("★★", "Do it on paper."), ("★★★", "Do it with code."))
    )
    picture = new_output("display_data", {"image/png": "iVBORw0KGgo="})
    formula = new_output("display_data", {"text/latex": "$x$"})
    fold = {"tags": ["hide-input"]}
    cells = [new_markdown_cell(first)]
    cells += [new_code_cell("plt.show()", outputs=[picture], metadata=fold) for _ in range(2)]
    cells += [new_code_cell("check.done()", outputs=[new_output("stream", text="✓ 3 checks")])]
    cells += [new_code_cell('claim("own/a").holds(1 < 2)')]
    cells += [new_code_cell(f"x = {i}", outputs=[formula] if i < 3 else []) for i in range(12)]
    return new_notebook(cells=[*cells, new_markdown_cell(last + "\n\n**Next:** more.")])


def good_audit():
    """Return a small audit that keeps every rule."""
    counts = [
        sum(c.verdict == verdict for c in ledger().values() if c.paper == "obrr") for verdict in ("holds", "misprint")
    ]
    first = (
        "# An audit\n\n*What stands?*\n\n**Answer.** Much. Not all.\n\n| | holds | misprint |\n| --- | --- | --- |\n"
        f"| `obrr` | {counts[0]} | {counts[1]} |\n\n| finding | number | cell |\n| --- | --- | --- |\n"
        "| It is. | 1 | {ref}`one <one>` |\n\nRead as extracted text. We have not yet written to its authors.\n\n"
        "**You need:** nothing. **Minutes:** 1\n"
    )
    cells = [new_markdown_cell(first), new_code_cell("check.passed(1 < 2)"), new_markdown_cell("(one)=\nOne:")]
    return new_notebook(cells=[*cells, new_code_cell("1", metadata={"tags": ["hide-input"]}), new_code_cell("1")])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_good_chapter_passes(rule):
    assert rule(good()) == []


def test_exercises_and_folds_for_referees_are_extra():
    notebook, said = good(), minutes(good())
    fold = ":::{dropdown} For referees: a case\n$$x$$ " + "Many " * 200 + "\n:::\n"
    notebook.cells.append(new_markdown_cell(fold + ":::{solution} ex\n$$y$$ Many.\n:::\n"))
    assert minutes(notebook) == said


@pytest.mark.parametrize("rule", AUDIT_RULES, ids=lambda rule: rule.__name__)
def test_a_good_audit_passes(rule):
    assert rule(good_audit()) == []


def source(cell, old, new):
    """Return a change of one cell's text."""

    def change(notebook):
        assert old in notebook.cells[cell].source
        notebook.cells[cell].source = notebook.cells[cell].source.replace(old, new)

    return change


def long_caption():
    """Return a figure's metadata with a caption of an hour."""
    return {"figure": {"caption": "Look at it. " * 4_000}}


BAD = [
    (takes_fifteen_minutes, source(0, "Many.", "Many " * 3_200)),
    (takes_fifteen_minutes, source(0, "Many.", "$$x$$\n\n" * 31)),
    (takes_fifteen_minutes, source(0, "Many.", ":::{dropdown} By hand\n" + "Many " * 3_200 + "\n:::\n")),
    (takes_fifteen_minutes, source(0, "**Minutes:** 1", "**Minutes:** 9")),
    (takes_fifteen_minutes, source(0, "**Minutes:** 1", "**Minutes:** 0")),
    (takes_fifteen_minutes, lambda notebook: notebook.cells[1].metadata.update(mystnb=long_caption())),
    (takes_fifteen_minutes, source(5, "x = 0", "x = 0\n" * 400)),
    (displays_three_results, lambda notebook: notebook.cells[5].update(outputs=[])),
    (has_15_to_35_cells, lambda notebook: notebook.cells.extend([new_code_cell("x")] * 30)),
    (opens_with_question_answer_and_picture, source(0, "*How many?*", "How many.")),
    (opens_with_question_answer_and_picture, source(0, "Many. Not all.", "Many. Not all. Or so.")),
    (opens_with_question_answer_and_picture, source(0, "{figure}", "{note}")),
    (has_three_pictures, lambda notebook: notebook.cells[1].update(outputs=[])),
    (has_three_to_five_exercises, source(-1, "{exercise} ★★★", "{note} ★★★")),
    (has_three_to_five_exercises, source(-1, "Which check fails?", "Why?")),
    (has_three_to_five_exercises, source(-1, "{exercise} ★★★", "{exercise}")),
    (ends_with_what_it_changes, source(-1, "**Next:**", "Then")),
    (no_verdict_on_a_paper, source(6, "x = 1", 'claim("jrr/eq-2").holds(True)')),
    (has_visible_checks, lambda notebook: notebook.cells[3].update(outputs=[])),
    (settles_a_result_of_its_own, source(4, "own/a", "jrr/a")),
    (code_fits_without_scrolling, source(7, "x = 2", "x = " + "2" * 90)),
    (code_fits_without_scrolling, lambda notebook: notebook.cells[1].update(metadata={})),
    (has_no_bare_assert, source(7, "x = 2", "assert x == 2")),
]


@pytest.mark.parametrize(("rule", "change"), BAD, ids=lambda value: getattr(value, "__name__", ""))
def test_a_bad_chapter_fails(rule, change):
    notebook = good()
    change(notebook)
    assert rule(notebook) != []


BAD_AUDITS = [
    (takes_half_an_hour, source(0, "Much.", "Much " * 6_200)),
    (takes_half_an_hour, source(0, "**Minutes:** 1", "**Minutes:** 9")),
    (has_at_most_60_cells, lambda notebook: notebook.cells.extend([new_code_cell("x")] * 60)),
    (opens_with_question_answer_and_findings, source(0, "*What stands?*", "What stands?")),
    (opens_with_question_answer_and_findings, source(0, "Much. Not all.", "Much.")),
    (opens_with_question_answer_and_findings, source(0, "| --- | --- | --- |", "")),
    (opens_with_question_answer_and_findings, source(0, "| `obrr` | ", "| `obrr` | 1")),
    (says_what_was_read_and_who_was_told, source(0, "Read as extracted text.", "")),
    (says_what_was_read_and_who_was_told, source(0, "not yet written to", "written to")),
    (half_of_its_code_is_open, lambda notebook: [c.metadata.update(tags=["hide-input"]) for c in notebook.cells]),
    (findings_lead_to_an_open_cell, source(0, "{ref}`one <one>`", "one")),
    (findings_lead_to_an_open_cell, source(0, "<one>", "<two>")),
    (findings_lead_to_an_open_cell, source(0, "| It is.", "It is.")),
    (findings_lead_to_an_open_cell, lambda notebook: notebook.cells[-1].metadata.update(tags=["hide-input"])),
    (what_is_wrong_is_settled_in_the_open, lambda notebook: notebook.cells[3].update(source='claim("a").refuted(1)')),
    (has_no_bare_assert, source(1, "check.passed(1 < 2)", "assert 1 < 2")),
    (code_fits_without_scrolling, source(1, "1 < 2", "1 < " + "2" * 90)),
]


@pytest.mark.parametrize(("rule", "change"), BAD_AUDITS, ids=lambda value: getattr(value, "__name__", ""))
def test_a_bad_audit_fails(rule, change):
    notebook = good_audit()
    change(notebook)
    assert rule(notebook) != []


def test_every_rule_is_shown_to_fail():
    assert {rule for rule, _ in BAD} == set(RULES)
    assert {rule for rule, _ in BAD_AUDITS} == set(AUDIT_RULES)

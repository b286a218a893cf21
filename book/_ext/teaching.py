"""What teachers and students find beside the chapters: tables of sets and chapters, and questions with answers.

The directives ``teaching-sets`` and ``teaching-chapters`` are for the instructors' page. Each Learn chapter is given
its three questions of ``book/teaching.yml`` before its exercises when it is read; the notebooks hold none of them.
An option is a ``details`` element, so that a click or a key says whether it is right, and why, without any script.
"""

import functools
import json
import re
from pathlib import Path
from typing import ClassVar

import yaml
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = ROOT / "book" / "teaching.yml"
EXERCISES = re.compile(r"^## Exercises$", re.MULTILINE)
HINT = "Choose an answer, and it says whether it is right, and why."
VERDICTS = {"right": "✓ Right.", "wrong": "✗ Wrong."}


def learn(parts=("Learn", "Further", "In use")):
    """Yield the notebooks of these parts, by default all but the audits, in the order of the table of contents."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    for part in toc["parts"]:
        if part["caption"].startswith(parts):
            yield from (ROOT / f"{chapter['file']}.ipynb" for chapter in part["chapters"])


def check_yourself(slug, entry):
    """Return a chapter's questions in Markdown; each option unfolds its verdict and its reason."""
    lines = ["## Check yourself", "", HINT, ""]
    for number, question in enumerate(entry["questions"], 1):
        lines += [
            f"**{number}.** {question['ask']}",
            "",
            f"::::{{choices}} {number}",
            f":name: check-{slug}-{number}",
            "",
        ]
        right = question["choices"][0]
        for letter, choice in zip("abcd", sorted(question["choices"], key=lambda each: each["say"]), strict=False):
            verdict = "right" if choice is right else "wrong"
            lines += [f":::{{choice}} {letter} {verdict}", choice["say"], "", choice["why"], ":::", ""]
        lines += ["::::", ""]
    return "\n".join(lines)


@functools.cache
def questions_in(text):
    """Return the questions of all chapters: read once for a text, not again for each page."""
    return yaml.safe_load(text)


def add_questions(app, docname, source):
    """Put the questions of a chapter before its exercises."""
    slug = docname.rpartition("/")[2]
    entry = questions_in(QUESTIONS.read_text(encoding="utf-8")).get(slug)
    if not docname.startswith("notebooks/") or entry is None:
        return
    notebook = json.loads(source[0])
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and EXERCISES.search(text):
            cell["source"] = EXERCISES.sub(lambda _: check_yourself(slug, entry) + "\n## Exercises", text, count=1)
    source[0] = json.dumps(notebook)


def add_style(app, pagename, templatename, context, doctree):
    """Load the style where a page has questions."""
    if doctree is not None and next(doctree.findall(choices), None) is not None:
        app.add_css_file("teaching.css")


class choices(nodes.General, nodes.Element):
    """The options of one question."""


class choice(nodes.General, nodes.Element):
    """One option: what it says, then the reason."""


class said(nodes.General, nodes.TextElement):
    """What an option says; the button of its fold."""


class reason(nodes.General, nodes.TextElement):
    """The verdict on an option, and why."""


class Choices(SphinxDirective):
    """The options of one question; the argument is its number."""

    required_arguments = 1
    option_spec: ClassVar = {"name": directives.unchanged}
    has_content = True

    def run(self):
        """Return the options."""
        node = choices(number=self.arguments[0])
        self.add_name(node)
        self.state.nested_parse(self.content, self.content_offset, node)
        return [node]


class Choice(SphinxDirective):
    """One option: a letter and the verdict; then a paragraph that it says, and one with the reason."""

    required_arguments = 2
    has_content = True

    def run(self):
        """Return the option."""
        letter, verdict = self.arguments
        parsed = nodes.Element()
        self.state.nested_parse(self.content, self.content_offset, parsed)
        says, why = parsed.children
        words = said("", "", *says.children, letter=letter)
        because = reason("", "", nodes.strong("", VERDICTS[verdict]), nodes.Text(" "), *why.children)
        return [choice("", words, because, verdict=verdict)]


def visit_choices(self, node):
    """Open the list."""
    self.body.append(
        self.starttag(node, "ul", CLASS="choices", **{"aria-label": f"Answers to question {node['number']}"})
    )


def depart_choices(self, node):
    """Close the list."""
    self.body.append("</ul>\n")


def visit_choice(self, node):
    """Open the fold."""
    self.body.append(f'<li><details class="choice" data-verdict="{node["verdict"]}">')


def depart_choice(self, node):
    """Close the fold."""
    self.body.append("</details></li>\n")


def visit_said(self, node):
    """Open the button."""
    self.body.append(f'<summary><span class="letter">{node["letter"]}.</span> <span>')


def depart_said(self, node):
    """Close the button."""
    self.body.append("</span></summary>\n")


def visit_reason(self, node):
    """Open the paragraph."""
    self.body.append('<p class="why">')


def depart_reason(self, node):
    """Close the paragraph."""
    self.body.append("</p>\n")


NODES = {
    choices: (visit_choices, depart_choices),
    choice: (visit_choice, depart_choice),
    said: (visit_said, depart_said),
    reason: (visit_reason, depart_reason),
}


class _Table(SphinxDirective):
    """A table from rows of Markdown."""

    def run(self):
        """Return the table."""
        rows = [[cell.replace("|", r"\|") for cell in row] for row in self.rows()]
        lines = [" | ".join(row) for row in [self.header, ["---"] * len(self.header), *rows]]
        for path in self.sources():
            self.env.note_dependency(str(path))
        return self.parse_text_to_nodes("\n".join(f"| {line} |" for line in lines))


class Sets(_Table):
    """The problem sets: title, chapters, minutes, tasks and points."""

    header = ("set", "about", "after", "minutes", "tasks", "points")

    def sources(self):
        """Return the files of the sets."""
        return sorted((ROOT / "assignments").glob("ps*.yml"))

    def rows(self):
        """Yield one row a set."""
        for path in self.sources():
            item = yaml.safe_load(path.read_text(encoding="utf-8"))
            chapters = ", ".join(f"{{doc}}`../notebooks/{name}`" for name in item["chapters"])
            total = sum(task["points"] for task in item["tasks"])
            by_hand = sum(task["points"] for task in item["tasks"] if "hidden" not in task)
            about = item["title"].partition(": ")[2]
            points = f"{total}, {by_hand} by hand"
            yield f"`{path.stem}`", about, chapters, str(item["minutes"]), str(len(item["tasks"])), points


class Chapters(_Table):
    """The chapters: what each teaches, needs and takes."""

    header = ("chapter", "afterwards a reader can; audits: question", "needs", "minutes")

    def sources(self):
        """Return the files of the chapters, and the goals."""
        return [*learn(), *learn("Audit"), QUESTIONS]

    def rows(self):
        """Yield one row a chapter."""
        goals = questions_in(QUESTIONS.read_text(encoding="utf-8"))
        for path in self.sources()[:-1]:
            first = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
            needs = re.search(r"\*\*You need:\*\* (.+?)\.?\s*\*\*Minutes:\*\* (\d+)", first, re.DOTALL)
            needed = re.sub(r"\{doc\}`(\w+)`", r"{doc}`../notebooks/\1`", " ".join(needs[1].split()))
            about = goals[path.stem]["goals"] if path.stem in goals else re.search(r"^\*(.+)\*$", first, re.M)[1]
            yield f"{{doc}}`../notebooks/{path.stem}`", about, needed, needs[2]


def setup(app):
    """Register the directives, and the questions."""
    for node, html in NODES.items():
        app.add_node(node, html=html)
    app.add_directive("choices", Choices)
    app.add_directive("choice", Choice)
    app.connect("html-page-context", add_style)
    app.add_directive("teaching-sets", Sets)
    app.add_directive("teaching-chapters", Chapters)
    app.connect("source-read", add_questions)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

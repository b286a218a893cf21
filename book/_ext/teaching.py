"""What teachers and students find beside the chapters: tables of sets and chapters, and questions with answers.

The directives ``teaching-sets`` and ``teaching-chapters`` are for the instructors' page. Each Learn chapter is given
its three questions of ``book/teaching.yml`` before its exercises when it is read; the notebooks hold none of them.
"""

import json
import re
from pathlib import Path

import yaml
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
QUESTIONS = ROOT / "book" / "teaching.yml"
EXERCISES = re.compile(r"^## Exercises$", re.MULTILINE)


def learn():
    """Yield the notebooks of the first track: those above the audit, in the order of the table of contents."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    for part in toc["parts"]:
        if part["caption"].startswith(("Learn", "Further", "In use")):
            yield from (ROOT / f"{chapter['file']}.ipynb" for chapter in part["chapters"])


def check_yourself(slug, entry):
    """Return a chapter's questions in Markdown; the answer unfolds on a click or a key."""
    lines = ["## Check yourself", ""]
    for number, question in enumerate(entry["questions"], 1):
        lines += [f"**{number}.** {question['ask']}", ""]
        choices = sorted(question["choices"])
        lines += [f"- **{letter}.** {choice}" for letter, choice in zip("abcd", choices, strict=False)]
        right = "abcd"[choices.index(question["choices"][0])]
        lines += ["", f":::{{dropdown}} Answer {number}", f":name: check-{slug}-{number}", ""]
        lines += [f"**{right}.** {question['why']}", ":::", ""]
    return "\n".join(lines)


def add_questions(app, docname, source):
    """Put the questions of a chapter before its exercises."""
    slug = docname.rpartition("/")[2]
    entry = yaml.safe_load(QUESTIONS.read_text(encoding="utf-8")).get(slug)
    if not docname.startswith("notebooks/") or entry is None:
        return
    notebook = json.loads(source[0])
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and EXERCISES.search(text):
            cell["source"] = EXERCISES.sub(lambda _: check_yourself(slug, entry) + "\n## Exercises", text, count=1)
    source[0] = json.dumps(notebook)


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

    header = ("chapter", "afterwards a reader can", "needs", "minutes")

    def sources(self):
        """Return the files of the chapters, and the goals."""
        return [*learn(), QUESTIONS]

    def rows(self):
        """Yield one row a chapter."""
        goals = yaml.safe_load(QUESTIONS.read_text(encoding="utf-8"))
        for path in learn():
            first = "".join(json.loads(path.read_text(encoding="utf-8"))["cells"][0]["source"])
            needs = re.search(r"\*\*You need:\*\* (.+?)\.?\s*\*\*Minutes:\*\* (\d+)", first, re.DOTALL)
            needed = re.sub(r"\{doc\}`(\w+)`", r"{doc}`../notebooks/\1`", " ".join(needs[1].split()))
            yield f"{{doc}}`../notebooks/{path.stem}`", goals[path.stem]["goals"], needed, needs[2]


def setup(app):
    """Register the directives, and the questions."""
    app.add_directive("teaching-sets", Sets)
    app.add_directive("teaching-chapters", Chapters)
    app.connect("source-read", add_questions)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

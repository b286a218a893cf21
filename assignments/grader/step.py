"""nbgrader's step that marks: it stands where nbgrader would execute the notebook with its hidden tests."""

import re
from pathlib import Path

import nbformat
from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import Bool, Integer

from grader.marking import HIDDEN, Cell, mark, outputs

MACROS = re.compile(r"\\(href|style|class|cssId|csname|require|def|let|newcommand|renewcommand|unicode)(?![a-zA-Z])")


def plain(text):
    """Return a student's text without tags, links, pictures and macros that act: the grader's browser shows it."""
    text = text.replace("<", "&lt;").replace("](", "] (").replace("]:", "] :").replace("][", "] [")
    return MACROS.sub(r" \1", text)


def note(path, whose, found):
    """Write what to look at in a submission, in place of what an earlier run said."""
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    lines = [line for line in lines if not line.startswith(whose)] + [whose + ", ".join(found)] * bool(found)
    if lines or path.exists():
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


class Mark(NbGraderPreprocessor):
    """Run a submission fenced in, mark its answers, and leave a notebook without hidden tests."""

    seconds = Integer(60, help="A cell that takes longer is stopped.").tag(config=True)
    unfenced = Bool(False, help="Run also where the kernel has no Landlock: in a container of its own.").tag(
        config=True
    )

    def preprocess(self, notebook, resources):
        """Set the outputs of all cells. Tests and points come from the source, whatever the submission says."""
        known, course = resources["nbgrader"], Path(self.config.CourseDirectory.get("root") or ".")
        source = course / "source" / known["assignment"] / f"{known['notebook']}.ipynb"
        written = nbformat.read(source, as_version=4)
        trusted = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in written.cells}
        notebook.metadata = written.metadata
        cells, code = [], [cell for cell in notebook.cells if cell.cell_type == "code"]
        for cell in notebook.cells:
            marks = cell.metadata.get("nbgrader", {})
            original = trusted.get(marks["grade_id"]) if marks.get("grade_id") else None
            kept = {} if original is None else {"nbgrader": {**marks, **original.metadata.nbgrader}}
            cell.metadata = nbformat.from_dict(kept)
            cell.pop("attachments", None)
            if not (original and original.metadata.nbgrader.locked) and cell.cell_type != "code":
                cell.source = plain(cell.source)
            if cell.cell_type == "code":
                found = HIDDEN.search(original.source) if original else None
                cell.source = HIDDEN.sub("", original.source) if found else cell.source
                points = float(original.metadata.nbgrader.get("points", 0)) if original else 0
                cells.append(Cell(source=cell.source, hidden=found[1] if found else "", points=points))
        marked = mark(cells, known["student"], seconds=self.seconds, unfenced=self.unfenced)
        for place, (cell, graded) in enumerate(zip(code, cells, strict=True)):
            shown = outputs(graded, marked, place) if graded.hidden else marked.shown.get(place, [])
            cell.outputs = [nbformat.from_dict(one) for one in shown]
            cell.execution_count = place + 1
        note(course / "look_at.txt", f"{known['notebook']} {known['student']}: ", marked.look_at)
        return notebook, resources

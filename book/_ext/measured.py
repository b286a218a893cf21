"""Sphinx extension: tables of what programs have counted and timed, from the files that they leave in ``book``."""

import json
import sys
from pathlib import Path

from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).resolve().parents[2]
COUNTS, LICENCES = ROOT / "book" / "hardening.json", ROOT / "book" / "licences.json"

# What is counted: its key, and the command that counts.
COUNTED = {
    "classes of mechanisms whose budget is proved": ("classes", "proofs"),
    "parameters drawn for these proofs": ("parameters_proved", "proofs"),
    "channels enumerated, every branch of the code": ("channels_enumerated", "proofs"),
    "mechanisms audited, all passed": ("mechanisms_audited", "audit"),
    "faults planted, all caught": ("faults_caught", "audit"),
    "mechanisms of other libraries audited": ("peers_audited", "audit"),
    "inputs tried, all answered rightly or refused": ("inputs_tried", "fuzz"),
    "changes of one place in the code tried": ("mutants_tried", "mutants"),
    "of these, noticed by a test": ("mutants_killed", "mutants"),
    "of the others, change nothing that is returned": ("mutants_same", "mutants"),
    "of the others, change only how a search goes": ("mutants_effort", "mutants"),
    "interruptions and damages survived": ("faults_survived", "faults"),
    "environments installed into, with nothing else in them": ("environments_installed", "installs"),
}


def counts(found):
    """Return the table of counts."""
    rows = [f"| {words} | {found[key]:,} | `make {command}` |" for words, (key, command) in COUNTED.items()]
    return "\n".join(["| what | how often | command |", "| --- | ---: | --- |", *rows])


def licences(found):
    """Return the table of licences."""
    rows = [f"| {name} | {', '.join(packages)} |" for name, packages in found.items()]
    return "\n".join(["| licence | packages |", "| --- | --- |", *rows])


def tables():
    """Return each table's file, and what makes the table of its text."""
    sys.path[:0] = [folder for name in ("tools", "benchmarks") if (folder := str(ROOT / name)) not in sys.path]
    import interval_coverage
    import mutants
    import report

    return {
        "benchmarks": (report.FULL, report.chosen),
        "counts": (COUNTS, lambda text: counts(json.loads(text))),
        "coverage": (interval_coverage.FOUND, lambda text: interval_coverage.page(json.loads(text))),
        "licences": (LICENCES, lambda text: licences(json.loads(text))),
        "mutants": (mutants.FOUND, lambda text: mutants.written(json.loads(text))),
    }


def markdown(name):
    """Return a table as it stands on its page."""
    path, made = tables()[name]
    return made(path.read_text(encoding="utf-8"))


class Measured(SphinxDirective):
    """A table by its name."""

    required_arguments = 1

    def run(self):
        """Return the table, and note the file that it is from."""
        self.env.note_dependency(str(tables()[self.arguments[0]][0]))
        return self.parse_text_to_nodes(markdown(self.arguments[0]))


def setup(app):
    """Register the directive."""
    app.add_directive("measured", Measured)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}

"""A pytest plugin, `-p tools.keep_executed`: what nbval ran and found equal is what the site is built from.

`make test` executes each notebook once. A notebook all of whose cells passed is written with the outputs of this run
(figures too, which nbval does not compare) to where `make book` looks for executed notebooks; beside it, the time it
took.
"""

from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import output_from_msg

from tools.execute import replace

EXECUTED = Path(__file__).resolve().parents[1] / "_build" / "source" / "notebooks"


def ran(output, count):
    """Return an output as nbformat has it, from what nbval recorded; nbval's kernel does not count the cells."""
    content = {"metadata": {}, **output, "execution_count": count}
    return output_from_msg({"header": {"msg_type": content.pop("output_type")}, "content": content})


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    """Keep a cell's outputs and time; after the last cell, write the notebook if none failed."""
    report = yield
    if hasattr(item, "cell_num"):  # the kernel starts while the first cell is set up
        item.parent.__dict__["seconds"] = item.parent.__dict__.get("seconds", 0) + call.duration
    if call.when == "call" and hasattr(item, "cell_num"):
        kept = item.parent.__dict__.setdefault("kept", [])
        if report.passed:
            item.cell.outputs = [ran(output, item.cell.execution_count) for output in item.test_outputs]
            kept.append(item.cell_num)
        cells = [cell for cell in item.parent.nb.cells if cell.cell_type == "code"]
        if kept == list(range(len(cells))):
            EXECUTED.mkdir(parents=True, exist_ok=True)
            path = EXECUTED / item.path.name
            path.with_suffix(".seconds").write_text(f"{item.parent.seconds:.2f}\n", encoding="utf-8")
            replace(path, nbformat.writes(item.parent.nb) + "\n")
    return report

"""A pytest plugin, `-p tools.keep_executed`: what nbval ran and found equal is what the site is built from.

`make test` executes each notebook once; of a kernel that died no answer is awaited. A notebook all of whose cells
passed is written with the outputs of this run (figures too, which nbval does not compare) to where `make book` looks
for executed notebooks; beside it, the time it took.
"""

import functools
import time
from pathlib import Path
from queue import Empty

import nbformat
import pytest
from nbformat.v4 import output_from_msg

from tools.execute import replace

EXECUTED = Path(__file__).resolve().parents[1] / "_build" / "source" / "notebooks"


def ran(output, count):
    """Return an output as nbformat has it, from what nbval recorded; nbval's kernel does not count the cells."""
    content = {"metadata": {}, **output, "execution_count": count}
    return output_from_msg({"header": {"msg_type": content.pop("output_type")}, "content": content})


def await_reply(kernel, msg_id, timeout):
    """Wait for a cell's reply as nbval does, but see within a second or two that the kernel died."""
    end = time.monotonic() + timeout
    while True:
        try:
            message = kernel.get_message(stream="shell", timeout=1)
        except Empty:
            if not kernel.is_alive():
                raise RuntimeError("The kernel died, for want of memory or by a signal.") from None
            if time.monotonic() > end:
                raise
            continue
        if message["parent_header"].get("msg_id") == msg_id:
            return


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item):
    """Have nbval wait so."""
    if hasattr(item, "cell_num"):
        item.parent.kernel.await_reply = functools.partial(await_reply, item.parent.kernel)


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

"""Execute one notebook and write it with its outputs: python tools/execute.py SOURCE TARGET."""

import os
import re
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from tools.kernels import AsyncSocketManager  # before nbformat, which it makes quicker to import

# isort: split
import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbformat.reader import NotJSONError


def execute(source, target):
    """Run `source` from its own folder in a new kernel; write to `target` what ran, and nothing of this machine.

    Progress bars of `ldp_lib.book.sweeps` go to this process's standard error and not into the notebook. How long it
    took goes into a file beside the target, which a stored notebook does not get.
    """
    notebook = nbformat.read(source, as_version=4)
    for cell in notebook.cells:
        for key in ("execution", "collapsed", "scrolled"):
            cell.metadata.pop(key, None)
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    client = NotebookClient(
        notebook,
        timeout=300,
        kernel_name="python3",
        kernel_manager_class=AsyncSocketManager,
        resources={"metadata": {"path": str(source.parent)}},
        record_timing=False,
        coalesce_streams=True,
        extra_arguments=["--log-level=ERROR"],
    )
    console, start = os.dup(2), time.perf_counter()
    client.execute(env={**os.environ, "LDP_LIB_PROGRESS": str(console)}, pass_fds=(console,))
    os.close(console)
    notebook.metadata["language_info"] = {"name": "python"}
    if target != source:
        replace(target.with_suffix(".seconds"), f"{time.perf_counter() - start:.2f}\n")
    replace(target, nbformat.writes(notebook) + "\n")


def replace(target, text):
    """Write a file at one stroke: whoever reads it finds what was there before, or all that is new."""
    partial = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        partial.write_text(text, encoding="utf-8")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)


if __name__ == "__main__":
    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    try:
        execute(source, target)
    except CellExecutionError as error:
        plain = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
        sys.exit(f"{source} failed in this cell:\n{plain}")
    except DeadKernelError:
        sys.exit(f"{source}: its kernel died, for want of memory or by a signal. {target} is as it was; run it again.")
    except NotJSONError as error:
        sys.exit(f"{source} is no notebook, or a damaged one: {str(error)[:200]}")
    except OSError as error:
        sys.exit(f"{source} could not be executed, and {target} is as it was: {error}")

"""Kernels reached over sockets in a folder of their own, not over ports: two that start at once never get the same.

A pytest plugin, `-p tools.kernels`, for nbval; `tools/execute.py` has nbclient use it. Jupyter picks free ports, closes
them and hands their numbers to the kernel, so another kernel may take one in between: "Kernel died before replying".
Where there are no such sockets (Windows), ports stay.

A chapter imports libraries for four seconds, half of what its cells compute: with the plugin, kernels are forked from a
process that has imported them (`make book` starts each kernel anew).
"""

import atexit
import functools
import multiprocessing
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

# jsonschema would build a grammar of international addresses, 1.5 seconds in each process; notebooks have none.
sys.modules.setdefault("rfc3987_syntax", None)

import nbval.kernel  # noqa: E402
from jupyter_client import AsyncKernelManager, KernelManager  # noqa: E402
from jupyter_client.provisioning import local_provisioner  # noqa: E402

IMPORTED = ["ipykernel.kernelapp", "ldp_lib.book.claims", "seaborn", "sympy"]


@functools.cache
def folder():
    """Make the folder of this process's sockets, its name short enough for an address; it goes with the process."""
    made = tempfile.mkdtemp(prefix="k-", dir="/tmp" if Path("/tmp").is_dir() else None)
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return Path(made)


class _Sockets:
    def __init__(self, **options):
        super().__init__(**options)
        self.transport = "ipc" if os.name == "posix" else "tcp"
        self.connection_file = str(folder() / f"{os.urandom(8).hex()}.json")


class AsyncSocketManager(_Sockets, AsyncKernelManager):
    """For nbclient."""


class SocketManager(_Sockets, KernelManager):
    """For nbval."""


@functools.cache
def server():
    """Return what starts processes that have IMPORTED; matplotlib draws as it does for any kernel."""
    os.environ.setdefault("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__, *IMPORTED])
    return context


def serve(connection_file, env, cwd):
    """Be the kernel of a connection file, in a process group of its own."""
    os.setsid()
    os.chdir(cwd or os.getcwd())
    os.environ.clear()
    os.environ.update(env)
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (1, 2):
        os.dup2(null, standard)
    threading.Thread(target=end_with, args=(multiprocessing.parent_process(),), daemon=True).start()
    import pandas
    from ipykernel.kernelapp import launch_new_instance

    pandas.set_option("display.max_columns", 20)  # what pandas takes when it is imported in a kernel
    launch_new_instance(argv=["-f", connection_file])


def end_with(parent):
    """End when the process that wanted a kernel does, as a kernel that it started itself would."""
    parent.join()
    os._exit(1)


class Forked:
    """A kernel's process, with what Jupyter asks of a `subprocess.Popen`."""

    stdin = stdout = stderr = None

    def __init__(self, cmd, *, env=None, cwd=None, **_):
        file = cmd[cmd.index("-f") + 1]
        self.process = server().Process(target=serve, args=(file, dict(env or os.environ), cwd))
        self.process.start()
        self.pid = self.process.pid
        while self.poll() is None and os.getpgid(self.pid) != self.pid:  # signals go to the group
            time.sleep(0.001)

    def poll(self):
        """Return the exit code, or None of a kernel that runs."""
        return self.process.exitcode

    def wait(self, timeout=None):
        """Wait for the end; return the exit code."""
        self.process.join(timeout)
        return self.poll()

    def send_signal(self, number):
        """Send a signal."""
        os.kill(self.pid, number)

    def kill(self):
        """End at once."""
        self.process.kill()

    def terminate(self):
        """Ask to end."""
        self.process.terminate()


nbval.kernel.KernelManager = SocketManager


def pytest_configure():
    """Fork kernels where a system can."""
    if "forkserver" in multiprocessing.get_all_start_methods():
        local_provisioner.launch_kernel = Forked

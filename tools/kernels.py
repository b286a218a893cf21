"""Kernels reached over sockets in a folder of their own, not over ports: two that start at once never get the same.

A pytest plugin, `-p tools.kernels`, for nbval; `tools/execute.py` has nbclient use it. Jupyter picks free ports, closes
them and hands their numbers to the kernel, so another kernel may take one in between: "Kernel died before replying".
Where there are no such sockets (Windows), ports stay.
"""

import atexit
import functools
import os
import shutil
import tempfile
from pathlib import Path

import nbval.kernel
from jupyter_client import AsyncKernelManager, KernelManager


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


nbval.kernel.KernelManager = SocketManager

"""Kernels that start at once: none gets another's address."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from tools import kernels  # noqa: E402

ALL = os.environ.get("FAULTS") == "all"

# Clients leave sockets to the garbage collector, so they have a process of their own.
ASK = """
import os, sys
from concurrent.futures import ThreadPoolExecutor
from tools import kernels

def answer(number):
    manager = kernels.SocketManager()
    manager.start_kernel(env={**os.environ, "NUMBER": str(number)})
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=300)
        client.execute("import os; print(os.environ['NUMBER'])")
        while (message := client.get_iopub_msg(timeout=60))["msg_type"] != "stream":
            pass
        return int(message["content"]["text"])
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)

number = int(sys.argv[1])
with ThreadPoolExecutor(number) as pool:
    assert list(pool.map(answer, range(number))) == list(range(number))
"""


@pytest.mark.skipif(os.name != "posix", reason="ports are used there")
def test_kernels_that_start_at_once_answer_each_for_itself():
    asked = [sys.executable, "-W", "ignore", "-c", ASK, "100" if ALL else "6"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_no_two_kernels_share_an_address():
    files = {kernels.SocketManager().connection_file for _ in range(100)}
    assert len(files) == 100
    assert all(len(file) + len("-ipc-5") < 104 for file in files)  # the longest address of a socket

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


# A kernel of the plugin is forked: it has its own variables and environment, and one that is killed is seen to be dead.
FORKED = """
import os, signal, sys
from jupyter_client.provisioning import local_provisioner
from tools import kernels

kernels.pytest_configure()
assert local_provisioner.launch_kernel is kernels.Forked

def printed(client, code):
    client.execute(code)
    while (message := client.get_iopub_msg(timeout=60))["msg_type"] not in ("stream", "error"):
        pass
    return message["content"].get("text", message["content"].get("ename"))

def start(number):
    manager = kernels.SocketManager()
    manager.start_kernel(env={**os.environ, "NUMBER": str(number)})
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=300)
    return manager, client

first, second = start(1), start(2)
code = "import os, sys; print(os.environ['NUMBER'], 'seaborn' in sys.modules, 'x' in globals(), os.getppid())"
told = [printed(client, code).split() for _, client in (first, second)]
assert [one[:3] for one in told] == [["1", "True", "False"], ["2", "True", "False"]], told
assert told[0][3] == told[1][3] != str(os.getpid()), told
assert printed(first[1], "x = 1; print(x)") == "1\\n"
assert printed(second[1], "print(x)") == "NameError"
os.killpg(first[0].provisioner.pgid, signal.SIGKILL)
assert first[0].provisioner.process.wait(60) == -signal.SIGKILL
assert not first[0].is_alive() and second[0].is_alive()
for manager, client in (first, second):
    client.stop_channels()
second[0].shutdown_kernel()
assert second[0].provisioner.process is None
"""


@pytest.mark.skipif(os.name != "posix", reason="kernels are forked there")
def test_a_forked_kernel_is_a_new_one():
    asked = [sys.executable, "-W", "ignore", "-c", FORKED]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.skipif(os.name != "posix", reason="ports are used there")
def test_kernels_that_start_at_once_answer_each_for_itself():
    asked = [sys.executable, "-W", "ignore", "-c", ASK, "100" if ALL else "6"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]


def test_no_two_kernels_share_an_address():
    files = {kernels.SocketManager().connection_file for _ in range(100)}
    assert len(files) == 100
    assert all(len(file) + len("-ipc-5") < 104 for file in files)  # the longest address of a socket

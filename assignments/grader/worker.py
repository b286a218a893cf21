"""Run a submission's cells and answer questions about them with plain data: the process that holds the student's code.

Nothing here is trusted. On Linux the process first fences itself in, for good: it and all that it starts read Python's
own files and write into one temporary folder; it starts no program, opens no socket, and changes no file's rights.
At each task's tests the process forks; the copy is asked after all cells have run, so no cell learns what is asked.
"""

import ctypes
import importlib.abc
import importlib.machinery
import json
import math
import os
import platform
import resource
import signal
import socket
import struct
import sys
import warnings
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

# By processor, with the number that names it: system calls that fail, such as do nothing (chmod, chown, utime, setxattr
# and their kin: to copy a file sets its rights, and must work), and the one that sets limits, for other processes too.
# What fails: socket, io_uring and signals; message queues, shared memory, semaphores and keys, by which two programs
# talk; the priority, processors and memory of other processes; leaving the group that is ended; other namespaces.
REFUSED = {
    "x86_64": (
        0xC000003E,
        (
            *(41, 62, 129, 200, 234, 297, 424, 425),
            *(*range(29, 32), *range(64, 72), 220, *range(240, 246), 248, 249, 250),
            *(141, 142, 144, 203, 251, 256, 279, 314, 109, 112, 272, 308),
        ),
        (90, 91, 92, 93, 94, 132, 188, 189, 190, 197, 198, 199, 235, 260, 261, 268, 280, 452, 463, 466),
        302,
    ),
    "aarch64": (
        0xC00000B7,
        (
            *(129, 130, 131, 138, 198, 240, 424, 425),
            *(*range(180, 198), 217, 218, 219),
            *(140, 118, 119, 122, 30, 238, 239, 274, 154, 157, 97, 268),
        ),
        (5, 6, 7, 14, 15, 16, 52, 53, 54, 55, 88, 452, 463, 466),
        261,
    ),
}
READ_FILE, READ_DIR = 1 << 2, 1 << 3
TEXT = 20_000
PROCESSES = 4_096  # of one user, who may be the grader; root has no such limit


def spread(readable, holes):
    """Yield files and folders that are below `readable`, and neither hold nor are one of `holes`; and their rights."""
    holes, seen = {Path(hole).resolve() for hole in holes}, set()
    waiting = [Path(path) for path in readable]
    while waiting:
        path = waiting.pop().resolve()  # a link may lead to a hole
        if path in seen or path in holes or not path.exists():
            continue
        seen.add(path)
        if any(path in hole.parents for hole in holes):
            yield path, READ_DIR
            waiting += path.iterdir()
        else:
            yield path, READ_FILE | READ_DIR


def fence(readable, holes, folder):
    """Restrict this process by Landlock; return whether the kernel could."""
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    abi = libc.syscall(444, None, 0, 1)  # landlock_create_ruleset, asked for its version
    if abi < 1:
        return False
    rights = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(abi, 16)) - 1
    # Files: all rights of this version; TCP from version 4 on; signals and abstract sockets from version 6 on.
    attributes = (ctypes.c_uint64 * 3)(rights, 3 if abi >= 4 else 0, 3 if abi >= 6 else 0)
    rules = libc.syscall(444, attributes, 8 if abi < 4 else 16 if abi < 6 else 24, 0)

    def allow(path, given):
        with suppress(OSError):
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
            allowed = (
                given if os.path.isdir(path) else given & ~READ_DIR & ~(1 << 4 | 1 << 5 | 0b1111111 << 6 | 1 << 13)
            )
            rule = allowed.to_bytes(8, sys.byteorder) + place.to_bytes(4, sys.byteorder)
            libc.syscall(445, rules, 1, rule, 0)
            os.close(place)

    for path in spread(readable, holes):
        allow(*path)
    for device in ("/dev/null", "/dev/urandom", "/dev/random"):
        allow(device, READ_FILE | 1 << 1)
    allow(folder, rights & ~(1 | 1 << 6 | 1 << 11))  # no programs, and no devices
    if libc.prctl(38, 1, 0, 0, 0) != 0 or libc.syscall(446, rules, 0) != 0:
        return False
    nothing = (ctypes.c_uint32 * 6)()
    return libc.capset((ctypes.c_uint32 * 2)(0x20080522), nothing) == 0 and refuse(libc)  # what root may, beside files


def refuse(libc):
    """Refuse system calls that Landlock lets pass; return whether the kernel could."""
    architecture, refused, silent, limits = REFUSED.get(platform.machine(), (0, (), (), 0))
    if not refused:
        return True
    load, equal, above, give, allow = 0x20, 0x15, 0x35, 0x06, 0x7FFF0000
    steps = [(load, 0, 0, 4), (equal, 1, 0, architecture), (give, 0, 0, 0x00050001), (load, 0, 0, 0)]
    steps += [(above, 0, 1, 0x40000000), (give, 0, 0, 0x00050001)]
    # Limits may be set and read for this process only, which is number 0.
    steps += [(equal, 0, 4, limits), (load, 0, 0, 16), (equal, 1, 0, 0), (give, 0, 0, 0x00050001), (give, 0, 0, allow)]
    for numbers, answer in ((refused, 0x00050001), (silent, 0x00050000)):
        for number in numbers:
            steps += [(equal, 0, 1, number), (give, 0, 0, answer)]
    steps.append((give, 0, 0, allow))
    code = b"".join(struct.pack("=HBBI", *step) for step in steps)
    held = ctypes.create_string_buffer(code)
    program = struct.pack("@HP", len(code) // 8, ctypes.addressof(held))
    return libc.prctl(22, 2, ctypes.c_char_p(program), 0, 0) == 0


class Absent:
    """What stands in for the library where a task does without it."""

    def __getattr__(self, name):
        raise RuntimeError("the library is not there: this task asks for your own derivation")

    def __call__(self, *given, **named):
        raise RuntimeError("the library is not there: this task asks for your own derivation")


class WithoutLibrary(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Find every module of the library empty, so that a cell's other imports still work."""

    def find_spec(self, name, path=None, target=None):
        """Find modules of the library only."""
        known = name.partition(".")[0] == "ldp_lib"
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if known else None

    def exec_module(self, module):
        """Give each name in the module its stand-in."""
        module.__getattr__ = self.name

    @staticmethod
    def name(name):
        """Return the stand-in of a name; what imports look for is not there."""
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent()


def encode(value, depth=0):
    """Return a value as lists, strings and numbers: what JSON holds."""
    if depth > 60:
        raise ValueError("too deep")
    for turn in ("tolist", "to_numpy"):
        if hasattr(value, turn) and not isinstance(value, type):
            value = getattr(value, turn)()
    kind = type(value).__name__
    if value is None or isinstance(value, bool):
        return ["none"]
    if isinstance(value, str):
        return ["text", value]
    if isinstance(value, int):
        return ["int", str(int(value))]
    if isinstance(value, Fraction):
        return ["ratio", str(value.numerator), str(value.denominator)]
    if isinstance(value, float):
        return ["float", float(value).hex()]
    if isinstance(value, dict):
        return ["dict", [[encode(k, depth + 1), encode(v, depth + 1)] for k, v in value.items()]]
    if isinstance(value, list | tuple):
        return ["list", [encode(part, depth + 1) for part in value]]
    if kind in ("Add", "Mul", "Pow"):
        return [kind, [encode(part, depth + 1) for part in value.args]]
    if kind == "Symbol":
        return ["symbol", value.name]
    if hasattr(value, "is_Rational") and value.is_Rational:
        return ["ratio", str(value.p), str(value.q)]
    if callable(value):
        return ["function"]
    return ["float", float(value).hex()]


def decode(given):
    """Return a question's arguments."""
    kind, *parts = given
    if kind == "ratio":
        return Fraction(int(parts[0]), int(parts[1]))
    if kind == "list":
        return [decode(part) for part in parts[0]]
    return {"int": int, "float": float.fromhex, "text": str}[kind](parts[0])


def picture(draw):
    """Return what ``draw(ax)`` has drawn, as data."""
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    draw(ax)
    names = ("xlabel", "ylabel", "xscale", "yscale", "xlim", "ylim")
    said = {name: getattr(ax, f"get_{name}")() for name in names}
    said["lines"] = {str(line.get_label()): places(line, ax) for line in ax.get_lines()}
    return said


def places(line, ax):
    """Return x and y of a line; what `axhline` draws from edge to edge runs from minus to plus infinity."""
    x, y = ([float(v) for v in part] for part in (line.get_xdata(), line.get_ydata()))
    across = line.get_transform() == ax.get_yaxis_transform(which="grid") and x == [0, 1]
    return [[-math.inf, math.inf], y] if across else [x, y]


def serve(channel, space):
    """Answer questions, one a line, until no more come."""
    with channel, channel.makefile("r", encoding="utf-8") as questions:
        for line in questions:
            asked = json.loads(line)
            try:
                value = space[asked["name"]]
                if asked["ask"] == "draw":
                    value = picture(value)
                elif asked["ask"] == "call":
                    value = value(*map(decode, asked["given"]), **{k: decode(v) for k, v in asked["named"].items()})
                reply = encode(value)
            except KeyError as error:
                reply = ["missing"] if error.args == (asked["name"],) else ["failed", "KeyError"]
            except BaseException as error:
                reply = ["failed", type(error).__name__]
            channel.sendall(json.dumps(reply).encode() + b"\n")


def cells(order, channels, report):
    """Run all cells; at each task's tests leave a copy of this process that answers."""
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output
    from traitlets.config import Config

    settings = Config()
    settings.HistoryManager.enabled = False
    shell = InteractiveShell(config=settings)
    InteractiveShell._instance = shell
    shell.display_formatter.active_types = ["text/plain", "image/png"]

    def late(number, frame):
        raise TimeoutError("this cell took too long")

    signal.signal(signal.SIGALRM, late)
    for source, mark in order["cells"]:
        signal.alarm(order["seconds"])
        outputs, text = [], ""
        try:
            with warnings.catch_warnings(), capture_output() as seen:
                warnings.simplefilter("ignore")
                shell.run_cell(source, store_history=True)
            text = (seen.stdout + seen.stderr)[:TEXT]
            outputs = [{k: v for k, v in one.data.items() if isinstance(v, str)} for one in seen.outputs]
            line = json.dumps({"text": text, "shown": outputs})
        except BaseException as error:
            line = json.dumps({"text": type(error).__name__, "shown": []})
        signal.alarm(0)
        report.sendall(line.encode() + b"\n")
        if mark is not None:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # newer Pythons warn of threads
                copy = os.fork()
            if copy == 0:
                report.close()
                for other, channel in enumerate(channels):
                    if other != mark:
                        channel.close()
                with suppress(BaseException):
                    serve(channels[mark], shell.user_ns)
                os._exit(0)
            channels[mark].close()


def main(report, channels):
    """Read the order, fence this process in, and run; never returns."""
    with suppress(BaseException):
        size = int.from_bytes(report.recv(8, socket.MSG_WAITALL))
        order = json.loads(report.recv(size, socket.MSG_WAITALL))
        os.chdir(order["folder"])
        sys.dont_write_bytecode = True
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 26, 1 << 26))
        if order["fence"]:
            _, most = resource.getrlimit(resource.RLIMIT_NPROC)
            most = PROCESSES if most == resource.RLIM_INFINITY else min(most, PROCESSES)
            resource.setrlimit(resource.RLIMIT_NPROC, (most, most))
        if sys.platform == "linux" and order["fence"]:
            resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33))
        if order["fence"]:
            sys.path[:] = [path for path in sys.path if path and Path(path) != Path(__file__).parent]
            if not fence(order["readable"], order["holes"], order["folder"]) and not order["unfenced"]:
                report.sendall(b'{"text": "no fence", "shown": []}\n')
                os._exit(1)
        if not order["library"]:
            for name in [name for name in sys.modules if name.partition(".")[0] == "ldp_lib"]:
                del sys.modules[name]
            sys.meta_path.insert(0, WithoutLibrary())
        report.sendall(b'{"text": "ready", "shown": []}\n')
        cells(order, channels, report)
    os._exit(0)


if __name__ == "__main__":
    first, *others = [socket.socket(fileno=int(number)) for number in sys.argv[1:]]
    main(first, others)

"""Talk to a submission's process: start it, read what its cells show, ask for answers. Replies are checked as data."""

import importlib.util
import json
import math
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

from grader import worker
from grader.compare import Tree, Wrong

LIMIT = 8 << 20  # bytes of one reply
BUILTIN = {"AttributeError", "IndexError", "KeyError", "NameError", "NotImplementedError", "RecursionError"}
BUILTIN |= {"RuntimeError", "TimeoutError", "TypeError", "ValueError", "ZeroDivisionError"}
# What Python reads, and nothing else: no passwords, no home.
ROOTS = ("/usr", "/lib", "/lib64", "/nix/store", "/etc/ld.so.cache", "/etc/localtime", sys.prefix, sys.base_prefix)


def library_places(roots):
    """Return the folders of the library: the one that this Python imports, and copies that other Pythons have."""
    found = importlib.util.find_spec("ldp_lib")
    mine = found.submodule_search_locations if found else ()
    others = [
        place
        for root in roots
        for depth in ("", "*/", "*/*/")
        for place in Path(root).glob(f"{depth}*-packages/ldp_lib")
    ]
    return [str(Path(place).resolve()) for place in (*mine, *others)]


def exchanges(roots):
    """Return where nbgrader keeps what students hand in, if nobody says otherwise: below what Python reads."""
    places = (Path(root).resolve() / "share" / "nbgrader" for root in roots)
    return [str(place) for place in places if place.exists()]


class NoFence(RuntimeError):
    """This machine cannot fence in submissions."""


class Session:
    """A process that has run a submission; ``marks`` counts its tasks' tests.

    Parameters
    ----------
    cells : list of (str, int or None)
        The code, and which tests stand there.
    library : bool
        Whether the library is there.
    seconds : int
        A cell, and an answer, may take so long; all answers of one task together three times as long.
    unfenced : bool
        Run even where the kernel has no Landlock.
    fork : bool
        Fork this process in place of starting one, without a fence: for code that is trusted, in tests.
    """

    def __init__(self, cells, *, library, seconds=60, unfenced=False, fork=False):
        self.seconds, self.shown, self.left = seconds, [], {}
        self.folder = tempfile.mkdtemp(prefix="submission-")
        marks = sum(mark is not None for _, mark in cells)
        pairs = [socket.socketpair() for _ in range(marks + 1)]
        theirs = [pair[1] for pair in pairs]
        self.report, *self.channels = [pair[0] for pair in pairs]
        if fork:
            self.popen, self.process = None, os.fork()
            if self.process == 0:
                os.setsid()
                for mine in (self.report, *self.channels):
                    mine.close()
                worker.main(theirs[0], theirs[1:])
        else:
            numbers = [one.fileno() for one in theirs]
            self.popen = subprocess.Popen(
                [sys.executable, "-I", worker.__file__, *map(str, numbers)],
                pass_fds=numbers,
                env=self._surroundings(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self.process = self.popen.pid
        for one in theirs:
            one.close()
        places = library_places((*ROOTS, "/usr/local"))
        order = {
            "cells": cells,
            "folder": self.folder,
            "seconds": seconds,
            "library": library,
            "fence": not fork,
            "unfenced": unfenced,
            "readable": [*dict.fromkeys(map(os.path.realpath, ROOTS)), *(places if library else ())],
            "holes": [os.getcwd(), *exchanges((*ROOTS, "/usr/local")), *(() if library else places)],
        }
        self._listen(json.dumps(order).encode(), len(cells))

    def _surroundings(self):
        """Return the environment: nothing of ours but where programs are; matplotlib's list of fonts saves seconds."""
        import matplotlib

        fonts = Path(self.folder) / "matplotlib"
        fonts.mkdir()
        for known in Path(matplotlib.get_cachedir()).glob("fontlist*.json"):
            shutil.copy(known, fonts)
        given = dict.fromkeys(("HOME", "IPYTHONDIR", "TMPDIR"), self.folder) | {"MPLCONFIGDIR": str(fonts)}
        given |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        return given | {"MPLBACKEND": "module://matplotlib_inline.backend_inline", "PATH": "", "PYTHONUTF8": "1"}

    def _listen(self, order, count):
        """Send the order; read what each cell shows, until the process ends, loops or says too much."""
        text, end = b"", time.monotonic() + 60
        last = end + count * self.seconds
        with suppress(OSError):
            self.report.sendall(len(order).to_bytes(8) + order)
            while len(text) < 4 * LIMIT:
                lines = text.count(b"\n")
                self.report.settimeout(max(0.01, min(end, last) - time.monotonic()))
                more = self.report.recv(1 << 16)
                if not more:
                    break
                text += more
                # The process stops a loop itself; what stops that is stopped here.
                end = time.monotonic() + self.seconds + 15 if text.count(b"\n") > lines else end
        with suppress(OSError):
            os.kill(self.process, signal.SIGKILL)
        if self.popen:
            self.popen.wait()
        else:
            os.waitpid(self.process, 0)
        said = []
        for line in text.split(b"\n")[: count + 1]:
            with suppress(ValueError, RecursionError):
                said.append(json.loads(line))
        if said and said[0] == {"text": "no fence", "shown": []}:
            self.close()
            raise NoFence("submissions cannot be fenced in on this machine: see the page for instructors")
        self.shown = [_show(one) for one in said[1:]]

    def ask(self, mark, name, ask="value", given=(), named=None):
        """Return the reply to one question, as data that this process made; Wrong where there is none."""
        question = {"ask": ask, "name": name, "given": [worker.encode(v) for v in given]}
        question["named"] = {key: worker.encode(value) for key, value in (named or {}).items()}
        channel, text, began = self.channels[mark], b"", time.monotonic()
        end = began + min(self.seconds, self.left.setdefault(mark, 3 * self.seconds))
        try:
            channel.settimeout(max(0.01, end - began))
            channel.sendall(json.dumps(question).encode() + b"\n")
            while not text.endswith(b"\n"):
                channel.settimeout(max(0.01, end - time.monotonic()))
                more = channel.recv(1 << 16)
                if not more or len(text) > LIMIT:
                    raise Wrong(f"no answer came for {name}: did an earlier cell end the program?")
                text += more
        except TimeoutError:
            channel.close()
            raise Wrong(f"{name} took too long") from None
        except OSError:
            raise Wrong(f"no answer came for {name}: did an earlier cell end the program?") from None
        finally:
            self.left[mark] -= time.monotonic() - began
        try:
            return decode(json.loads(text))
        except (ValueError, TypeError, RecursionError, ZeroDivisionError, OverflowError):
            raise Wrong(f"{name} could not be read as numbers") from None

    def close(self):
        """End the process and the copies that it left."""
        for channel in (self.report, *self.channels):
            channel.close()
        with suppress(OSError):
            os.killpg(self.process, signal.SIGKILL)
        try:
            shutil.rmtree(self.folder, ignore_errors=True)
        except RecursionError:  # folders in folders, by the thousand
            subprocess.run(["rm", "-rf", self.folder], check=False)

    def __enter__(self):
        return self

    def __exit__(self, *given):
        self.close()


def _show(said):
    """Return what a cell shows, as a notebook's outputs: text and pictures only."""
    found = []
    if isinstance(said, dict):
        text, shown = said.get("text"), said.get("shown")
        if isinstance(text, str) and text:
            found.append({"output_type": "stream", "name": "stdout", "text": text})
        for data in shown if isinstance(shown, list) else ():
            kept = {k: v for k, v in data.items() if k in ("text/plain", "image/png") and isinstance(v, str)}
            if set("".join(kept.get("image/png", "").split())) <= BASE64:
                found.append({"output_type": "display_data", "data": kept, "metadata": {}})
    return found


BASE64 = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=")


def decode(reply):
    """Return a reply as numbers, strings, lists, dicts and trees of a formula, of types that this process knows."""
    kind, *parts = reply
    if kind == "failed":
        name = parts[0] if parts[0] in BUILTIN else "an error"
        raise Wrong(f"the answer stopped with {name} at values that the tests chose")
    if kind == "missing":
        return None
    if kind == "function":
        return Function
    if kind == "ratio":
        return Fraction(int(parts[0]), int(parts[1]))
    if kind in ("int", "float", "text"):
        if not isinstance(parts[0], str):
            raise ValueError(kind)
        return {"int": int, "float": float.fromhex, "text": str}[kind](parts[0])
    if kind == "list":
        return [decode(part) for part in parts[0]]
    if kind == "dict":
        return {decode(key): decode(value) for key, value in parts[0]}
    if kind in ("Add", "Mul", "Pow"):
        return Tree(kind, tuple(decode(part) for part in parts[0]))
    if kind == "symbol":
        return Tree("Symbol", (str(parts[0]),))
    raise ValueError(kind)


class Function:
    """A function of the submission; a call is a question."""

    def __init__(self, session, mark, name):
        self._asked = session, mark, name

    def __call__(self, *given, **named):
        session, mark, name = self._asked
        return session.ask(mark, name, "call", given, named)


def absent(name):
    """Return what is said of a name that a submission lacks."""
    return f"there is no {name}, or it is no number"


class Answers:
    """What a submission calls by which name, where one task's tests stand."""

    def __init__(self, session, mark):
        self._session, self._mark, self.missing = session, mark, []

    def __getattr__(self, name):
        value = self._session.ask(self._mark, name)
        if value is Function:
            return Function(self._session, self._mark, name)
        if value is None:
            self.missing.append(name)
            raise Wrong(absent(name))
        return value

    def drawn(self, name="draw"):
        """Return what a function of axes draws: labels, scales, limits and lines."""
        return Picture(self._session.ask(self._mark, name, "draw"))


class Picture:
    """The axes after ``draw(ax)``."""

    def __init__(self, said):
        self._said = said if isinstance(said, dict) else {}

    def __getattr__(self, name):
        return self._said.get(name)

    def line(self, label, low, high, *, places=10):
        """Return x and y of the line with this label, which runs from low to high with so many places."""
        lines = self._said.get("lines")
        if not isinstance(lines, dict) or label not in lines:
            raise Wrong(f"no line has the label {label!r}")
        x, y = ([float(v) for v in part] for part in lines[label])
        if x == [-math.inf, math.inf] and len(y) == 2:  # from edge to edge: see `worker.places`
            x, y = [low + (high - low) * i / (places - 1) for i in range(places)], y[:1] * places
        if len(x) != len(y) or not all(map(math.isfinite, [*x, *y])):
            raise Wrong(f"the line {label!r} has places without a height")
        near = abs(min(x) - low) <= (low / 10 or high / 1000) and abs(max(x) - high) <= high / 50
        if not near or len(set(x)) < places:
            raise Wrong(f"Does the line {label!r} run from {low} to {high}, with {places} places or more?")
        return x, y

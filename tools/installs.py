"""Build the sdist and the wheel and install them where nothing else is: `make dist` and `make installs` call it.

    python tools/installs.py build FOLDER   the sdist, and the wheel built from it; the same bytes each time
    python tools/installs.py try            in new environments, with the declared dependencies alone: lowest and newest
                                            versions, each Python that is found

The time in the archives is SOURCE_DATE_EPOCH's, or that of the last commit.
"""

import argparse
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
from pathlib import Path

import portable

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
TESTERS = (
    "pytest",
    "iniconfig",
    "packaging",
    "pluggy",
    "pygments",
    "hypothesis",
    "sortedcontainers",
    "sympy",
    "mpmath",
)
FAST = ("postprocess", "population", "raking")  # of what is installed; without the extra `book`
BACKEND = "import sys; from setuptools import build_meta; build_meta.build_{}(sys.argv[1])"
CONTRACT = """
import importlib, pkgutil
import numpy as np
import ldp_lib
for module in pkgutil.walk_packages(ldp_lib.__path__, "ldp_lib."):
    if not module.name.startswith("ldp_lib.book"):  # of the book, with the extra of that name
        importlib.import_module(module.name)
rng = np.random.default_rng(1)
for cls in ldp_lib.MECHANISMS:
    k = next(k for k in (3, 2, (2, 3), (3, 3)) if cls.serves(k))
    m = cls(k=k, epsilon=1.0)
    x = np.zeros((20, len(k)) if isinstance(k, tuple) else 20, int)
    m.estimate(m.perturb(x, rng=rng))
    assert 0 < m.realised_epsilon() <= 1
ldp_lib.check_mechanism(ldp_lib.GRR(k=3, epsilon=1.0))
print(ldp_lib.__file__)
"""


def epoch():
    """The time that goes into the archives."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    told = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True)
    return int(told.stdout) if told.stdout.strip() else 1_600_000_000


def called(*command, **how):
    """Run a command; return what it says, or end with that."""
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, **how)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


def built(kind, source, target):
    """Let setuptools build an archive; return its path."""
    target.mkdir(parents=True, exist_ok=True)
    env = os.environ | {"SOURCE_DATE_EPOCH": str(epoch())}
    before = set(target.iterdir())
    called(sys.executable, "-c", BACKEND.format(kind), target, cwd=source, env=env)
    (path,) = set(target.iterdir()) - before
    return path


def settle(path, when):
    """Write an sdist anew: its files sorted, without owners, and all of one time."""
    with tarfile.open(path) as archive:
        members = [(member, archive.extractfile(member)) for member in archive.getmembers()]
        members = [(member, file.read() if file else None) for member, file in members]
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for member, data in sorted(members, key=lambda each: each[0].name):
            clean = tarfile.TarInfo(member.name)
            clean.type, clean.mtime, clean.size = member.type, when, len(data or b"")
            clean.mode = 0o755 if member.isdir() else 0o644
            archive.addfile(clean, None if data is None else io.BytesIO(data))
    path.write_bytes(gzip.compress(plain.getvalue(), mtime=when))


def build(target):
    """Build the sdist from the project's files, and the wheel from the sdist; return both paths."""
    with tempfile.TemporaryDirectory() as folder:
        source, unpacked = Path(folder) / "source", Path(folder) / "unpacked"
        shutil.copytree(ROOT / "ldp_lib", source / "ldp_lib", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, source)
        sdist = built("sdist", source, target)
        settle(sdist, epoch())
        with tarfile.open(sdist) as archive:
            archive.extractall(unpacked, filter="data")
        (inside,) = unpacked.iterdir()
        return sdist, built("wheel", inside, target)


def locked(*names):
    """The lock's lines for these packages, with their checksums."""
    parts = re.split(r"\n(?=\S)", (ROOT / "requirements.lock").read_text(encoding="utf-8"))
    found = [part for part in parts if part.startswith(tuple(f"{name}==" for name in names))]
    if len(found) != len(names):
        sys.exit(f"requirements.lock has {len(found)} of {names}")
    return "\n".join(found)


def attempt(uv, python, versions, archive, folder):
    """Install an archive into a new environment, and try what came with it."""
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LDP_LIB_DATA")}
    env |= {"VIRTUAL_ENV": str(folder), "PYTHONWARNINGS": "error"}
    own, how = folder / "bin" / "python", {"cwd": folder.parent, "env": env}
    called(uv, "venv", "--quiet", "--python", python, folder, **how)
    builds, testers = folder.with_suffix(".builds"), folder.with_suffix(".testers")
    builds.write_text(locked("setuptools"), encoding="utf-8")
    testers.write_text(locked(*TESTERS), encoding="utf-8")
    limits = ["--resolution", "lowest-direct" if versions == "lowest" else "highest", "--build-constraints", builds]
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["dependencies"]
    called(uv, "pip", "install", "--quiet", "--only-binary", "numpy,scipy,pandas", *limits, archive, *declared, **how)
    listed = {each["name"]: each["version"] for each in json.loads(called(uv, "pip", "list", "--format=json", **how))}
    called(uv, "pip", "check", **how)
    place = called(own, "-P", "-c", CONTRACT, **how)
    if not place.startswith(str(folder)):
        sys.exit(f"{place} is not what was installed")
    called(uv, "pip", "install", "--quiet", "--require-hashes", "--no-deps", "-r", testers, **how)
    tests = [next((ROOT / "tests").rglob(f"test_{name}.py")) for name in FAST]
    options = ["-q", "-p", "no:cacheprovider", "--noconftest", "--rootdir", ROOT, "-c", ROOT / "pyproject.toml"]
    last = called(own, "-P", "-m", "pytest", *options, *tests, **how).splitlines()[-1]
    print(f"{archive.suffix} on {python}, {versions}: {listed}; {last}", flush=True)


def pythons():
    """The Pythons that are found and start."""
    for version in PYTHONS:
        path = shutil.which(f"python{version}")
        if path and subprocess.run([path, "--version"], capture_output=True).returncode == 0:
            yield version, path


def tried():
    """Try all; return how many environments that were."""
    uv, count = portable.find_uv(), 0
    with tempfile.TemporaryDirectory() as folder:
        sdist, wheel = build(Path(folder) / "dist")
        for version, python in pythons():
            for versions, archive in (("lowest", sdist), ("newest", wheel)):
                attempt(uv, python, versions, archive, Path(folder) / f"{version}-{versions}")
                count += 1
    return count


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("build", "try"))
    parser.add_argument("folder", nargs="?", type=Path, default=ROOT / "_build" / "dist")
    given = parser.parse_args()
    print(*build(given.folder) if given.what == "build" else [tried()])

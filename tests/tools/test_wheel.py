"""The wheel alone runs a downloaded chapter: nothing is looked for in a checkout."""

import os
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import problem_sets
import pytest

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = ("randomized_response", "jrr", "audit_baselines")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The built wheel."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "ldp_lib", source / "ldp_lib", ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "--no-build-isolation", "-w", target, source]
    subprocess.run(command, check=True)
    (path,) = target.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def python(wheel, tmp_path_factory):
    """The interpreter of a new environment that holds the wheel, and the lock's packages but for this project."""
    folder = tmp_path_factory.mktemp("environment")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": folder, "platbase": folder}))
    # A folder named in a .pth file is searched, but its own .pth files, the editable install among them, are not read.
    (packages / "locked.pth").write_text(sysconfig.get_path("purelib"))
    zipfile.ZipFile(wheel).extractall(packages)
    return folder / "bin" / "python"


def run(*command, folder):
    environment = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "LDP_LIB_DATA")}
    return subprocess.run(command, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout


def test_the_wheel_holds_the_library_and_no_scripts(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    modules = {path.relative_to(ROOT).as_posix() for path in (ROOT / "ldp_lib").rglob("*.py")}
    assert {name for name in names if name.endswith(".py")} == modules
    data = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / "ldp_lib").rglob("*")
        if path.suffix in (".csv", ".yml", ".typed")
    }
    assert data <= set(names)
    assert {Path(name).parts[0] for name in names if "dist-info" not in name} == {"ldp_lib"}


def test_the_wheel_has_no_solutions_hidden_tests_or_grader(wheel):
    with zipfile.ZipFile(wheel) as packed:
        text = b"\n".join(packed.read(name) for name in packed.namelist()).decode(errors="replace")
    prompts = [task.prompt[:60] for problems in problem_sets.sets() for task in problems.tasks]
    assert prompts
    words = ["BEGIN HIDDEN", "BEGIN SOLUTION", "own_number", "class Wrong", *prompts]
    assert [word for word in words if word in text] == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_downloaded_chapter_runs_from_the_wheel(chapter, python, tmp_path):
    shutil.copy(ROOT / "notebooks" / f"{chapter}.ipynb", tmp_path)
    assert run(python, "-c", "import ldp_lib; print(ldp_lib.__file__)", folder=tmp_path).startswith(
        str(python.parents[1])
    )
    run(python, ROOT / "tools" / "execute.py", f"{chapter}.ipynb", "done.ipynb", folder=tmp_path)
    assert (tmp_path / "done.ipynb").stat().st_size > 10_000
    assert 0 < float((tmp_path / "done.seconds").read_text(encoding="utf-8")) < 300

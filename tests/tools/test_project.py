"""The project's own files agree with each other: packages, versions, conda users' environment, lock, site."""

import ast
import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import ldp_lib

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ENVIRONMENT = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))

# What a package is called in an import, where that is not its own name.
IMPORTS = {"pyyaml": "yaml"}


def project_ranges(project):
    """Return name -> version range over the library's dependencies and all extras."""
    lines = list(project["project"]["dependencies"])
    for extra in project["project"]["optional-dependencies"].values():
        lines += extra
    return ranges(lines) | {"python": Requirement(f"python{project['project']['requires-python']}").specifier}


def environment_ranges(environment):
    """Return name -> version range over an environment.yml, its pip section included."""
    lines = [line for line in environment["dependencies"] if isinstance(line, str) and line != "pip"]
    lines += [line for part in environment["dependencies"] if isinstance(part, dict) for line in part["pip"]]
    return ranges(line for line in lines if not line.startswith("--editable"))


def ranges(lines):
    """Parse requirement lines; a package named twice must be given the same range."""
    found = {}
    for requirement in map(Requirement, lines):
        name = canonicalize_name(requirement.name)
        assert found.setdefault(name, requirement.specifier) == requirement.specifier, name
    return found


def differences(project, environment):
    """Return the packages that the two files name or bound differently."""
    one, other = project_ranges(project), environment_ranges(environment)
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def locked():
    """Return the lock's requirements, with their markers, and the checksums of each one's files."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8").replace("\\\n", "")
    lines = [line.split("--hash=") for line in text.splitlines() if line and not line.startswith("#")]
    return [(Requirement(line), [found.strip() for found in hashes]) for line, *hashes in lines]


def test_conda_users_get_the_same_packages_and_ranges():
    assert differences(PROJECT, ENVIRONMENT) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("numpy>=2.1,<3", "numpy>=2.0,<3"), ("pooch>=1.8,<2", "pooch"), ("playwright>=1.48,<2", "playwrite>=1.48,<2")],
)
def test_a_planted_difference_is_found(old, new):
    text = (ROOT / "environment.yml").read_text(encoding="utf-8")
    assert old in text
    assert differences(PROJECT, yaml.safe_load(text.replace(old, new))) != []


def test_a_package_missing_from_the_environment_is_found():
    environment = {"dependencies": [line for line in ENVIRONMENT["dependencies"] if line != "scipy>=1.14,<2"]}
    assert differences(PROJECT, environment) == ["scipy"]


def test_the_library_says_which_version_it_is():
    assert ldp_lib.__version__ == PROJECT["project"]["version"]
    assert (ROOT / "ldp_lib" / "py.typed").exists()


def test_the_lock_holds_every_package_at_an_exact_version_in_its_range():
    exact = {canonicalize_name(requirement.name): requirement.specifier for requirement, _ in locked()}
    assert all(str(specifier).startswith("==") and "*" not in str(specifier) for specifier in exact.values())
    wanted = project_ranges(PROJECT)
    del wanted["python"]
    outside = [name for name in wanted if str(exact.get(name, "==0"))[2:] not in wanted[name]]
    assert outside == []


def test_the_lock_has_checksums_of_every_file():
    assert len(locked()) > 150
    for requirement, hashes in locked():
        assert hashes, requirement
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", found) for found in hashes), requirement
    assert "pip install --quiet --require-hashes -r requirements.lock" in (ROOT / "Makefile").read_text(
        encoding="utf-8"
    )


LOCKS = sorted(path for path in ROOT.glob("*/*.lock") if ".venv" not in path.parts)
# Versions that no lock names: the ends of the declared ranges, and requirements that `portable` puts together.
RANGES = {("tools/installs.py", "*declared"), ("tools/portable.py", "*requirements")}
INSTALL = re.compile(r"""\bpip3?["',\s]+install\b""")


def unhashed(name, text):
    """Return the lines of a file that install packages without checksums."""
    lines = [line for line in text.splitlines() if INSTALL.search(line) and line.lstrip()[:1] != "#"]
    own = re.compile(r"--no-deps --no-build-isolation -e \.")
    known = [word for place, word in RANGES if place == name]
    safe = [line for line in lines if "--require-hashes" in line or own.search(line) or any(w in line for w in known)]
    return [line.strip() for line in lines if line not in safe]


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_every_other_lock_has_exact_versions_and_checksums(path):
    packages = re.split(r"\n(?=[^\s#])", "\n" + path.read_text(encoding="utf-8"))[1:]
    assert len(packages) >= 1
    for package in packages:
        assert re.match(r"[\w.-]+==[\w.]+( ;[^\\]*)? \\\n", package), package
        assert re.fullmatch(r"[^\n]*(\n    --hash=sha256:[0-9a-f]{64}( \\)?)+\s*", package), package


def test_whatever_the_tools_install_has_checksums():
    assert {path.relative_to(ROOT).as_posix() for path in LOCKS} >= {
        "tools/mutants.lock",
        "tools/installer.lock",
        "benchmarks/requirements.lock",
    }
    places = ["Makefile", ".ci/run", "binder/*", ".github/workflows/*", "tools/*.py", "benchmarks/*.py", "tests/*.py"]
    files = {path.relative_to(ROOT).as_posix(): path for place in places for path in ROOT.glob(place)}
    texts = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    assert sum(len(INSTALL.findall(text)) for text in texts.values()) >= 8
    assert {name: found for name, text in texts.items() if (found := unhashed(name, text))} == {}
    assert "--require-hashes" in texts["tools/portable.py"].partition('f"python-{version}"')[2].splitlines()[0]


@pytest.mark.parametrize(
    "planted",
    [
        "- run: .venv/bin/pip install uv",
        'called(uv, "pip", "install", "pytest")',
        "python -m pip install -r tools/mutants.lock",
        "python -m pip install --no-deps -e .",
    ],
)
def test_an_install_without_checksums_is_found(planted):
    assert unhashed("tools/other.py", f"first\n{planted}\n# pip install by hand") == [planted]


def test_the_lock_names_no_index_and_no_address():
    lines = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in lines
    assert "--index" not in lines
    assert " @ " not in lines


def test_the_lock_gives_every_python_the_same_numbers():
    """Stored outputs are compared as they are, so what computes them must not differ between Python versions."""
    names = [requirement.name for requirement, _ in locked()]
    assert [names.count(name) for name in ("numpy", "scipy", "pandas", "sympy")] == [1, 1, 1, 1]


def test_what_the_library_imports_is_a_dependency():
    declared = ranges(PROJECT["project"]["dependencies"])
    allowed = {IMPORTS.get(name, name) for name in declared} | set(sys.stdlib_module_names) | {"ldp_lib"}
    # Only for those who draw figures, show a ledger badge, fetch raw data or count files: imported where used.
    optional = {"matplotlib", "IPython", "pooch", "pyarrow", "dask", "randomgen"}
    for path in sorted((ROOT / "ldp_lib").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        top = set(imports(tree.body))
        extra = {IMPORTS.get(name, name) for name in ranges(PROJECT["project"]["optional-dependencies"]["book"])}
        here = allowed | extra if path.parent.name == "book" else allowed
        assert top <= here, path
        assert set(imports(ast.walk(tree))) <= here | optional, path


def imports(nodes):
    """Yield the top-level names of the packages that these statements import."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.partition(".")[0]


def test_what_make_check_leaves_out_exists():
    there = {
        f"{path.name}::{name}"
        for path in (ROOT / "tests").rglob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.M)
    }
    for marker in ("brief", "slow", "thorough"):
        named = (ROOT / "tests" / f"{marker}.txt").read_text(encoding="utf-8").split()
        assert named == sorted(set(named) & there), marker


def test_every_notebook_is_in_the_table_of_contents():
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = {chapter["file"] for part in toc["parts"] for chapter in part["chapters"]}
    notebooks = {f"notebooks/{path.stem}" for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert notebooks == {name for name in listed if name.startswith("notebooks/")}


def test_the_site_names_every_module_of_the_library():
    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    import cards

    page = cards.whole((ROOT / "book" / "api.md").read_text(encoding="utf-8"))
    paths = [path.relative_to(ROOT).with_suffix("") for path in (ROOT / "ldp_lib").rglob("*.py")]
    modules = {".".join(path.parts[1:]) for path in paths if not path.name.startswith("_")}
    assert {name for name in modules if f"automodule:: ldp_lib.{name}\n" not in page} == set()

"""What is installed, and from what: archives that can be built again, packages that fit, licences that are known."""

import re
import subprocess
import sys
import tarfile
from importlib import metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import installs  # noqa: E402
import licences  # noqa: E402


def test_an_sdist_is_the_same_bytes_each_time(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    one = tmp_path / "one.tar.gz"
    for number, path in enumerate((one, tmp_path / "two.tar.gz")):
        with tarfile.open(path, "w:gz") as archive:
            for name in ("ab", "ba")[number]:
                (tmp_path / name).write_text(name)
                archive.add(tmp_path / name, f"x/{name}")
        assert path.read_bytes()[4:8] != (1_700_000_000).to_bytes(4, "little")
        installs.settle(path, installs.epoch())
    assert one.read_bytes() == (tmp_path / "two.tar.gz").read_bytes()
    with tarfile.open(one) as archive:
        assert [(m.name, m.mtime, m.uid) for m in archive] == [(f"x/{name}", 1_700_000_000, 0) for name in "ab"]


def test_sdist_and_wheel_are_built_again_as_they_were(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    first, second = (installs.build(tmp_path / name) for name in ("one", "two"))
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    with tarfile.open(first[0]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"pyproject.toml", "LICENSE", "README.md", "ldp_lib/py.typed", "ldp_lib/grr.py"} <= names
    assert {path.relative_to(ROOT).as_posix() for path in (ROOT / "ldp_lib" / "data").iterdir()} <= names


def test_installed_packages_fit_each_other():
    told = subprocess.run([sys.executable, "-m", "pip", "check"], capture_output=True, text=True, check=False)
    assert told.returncode == 0, told.stdout + told.stderr


def test_the_page_names_the_licence_of_every_package():
    page = licences.listed(licences.FOUND.read_text(encoding="utf-8"))
    locked = licences.locked()
    assert page.keys() == locked.keys()
    installed = {found.metadata["Name"].lower().replace("_", "-"): found.version for found in metadata.distributions()}
    here = [name for name, version in locked.items() if installed.get(name) == version]
    assert {name: page[name] for name in here} == {name: licences.licence(name) for name in here}
    assert all(page.values())
    assert [name for name, found in page.items() if "GPL" in found] == ["docutils"]  # some of its tools; not used


@pytest.mark.parametrize(("changed", "name"), [('"BSD":', '"MIT also":'), ('  "alabaster",\n', "")])
def test_a_wrong_or_missing_licence_is_found(changed, name):
    text = licences.FOUND.read_text(encoding="utf-8")
    assert changed in text
    planted = licences.listed(text.replace(changed, name))
    assert planted.get("alabaster") != licences.licence("alabaster")


def test_what_is_tried_after_an_install_needs_the_library_and_locked_testers_alone():
    """`make installs` runs these where the extras are not."""
    for name in installs.FAST:
        (path,) = (ROOT / "tests").rglob(f"test_{name}.py")
        heads = re.findall(r"^(?:from|import) ([\w.]+)", path.read_text(encoding="utf-8"), re.MULTILINE)
        allowed = {"numpy", "scipy", "pandas", "ldp_lib", *installs.TESTERS, *sys.stdlib_module_names}
        assert {head.partition(".")[0] for head in heads} <= allowed
        assert [head for head in heads if head.startswith("ldp_lib.book")] == []
    text = installs.locked(*installs.TESTERS)
    assert re.findall(r"^([\w-]+)==", text, re.MULTILINE) == sorted(installs.TESTERS)
    assert text.count("--hash=sha256:") >= 2 * len(installs.TESTERS)
    with pytest.raises(SystemExit, match=r"requirements\.lock has 0 of"):
        installs.locked("nothing")

"""List the licences of all packages of requirements.lock; python tools/licences.py writes them into book/about.md."""

import re
from importlib import metadata
from pathlib import Path

import marks

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "book" / "about.md"
HEAD = "| licence | packages |\n| --- | --- |\n"
FAMILIES = {
    "Apache 2.0": r"apache",
    "BSD": r"bsd|ncsa",
    "CC0": r"cc0",
    "GPL": r"gpl|general public",
    "ISC": r"\bisc",
    "MIT": r"\bmit\b",
    "MPL 2.0": r"mpl|mozilla",
    "Python": r"psf|python software",
    "public domain": r"public domain",
    "Zlib": r"zlib",
}
# Needed on macOS and Windows only; and one that names its licence in its files alone, MPL that of the axe-core within.
ELSEWHERE = {"appnope": "BSD", "colorama": "BSD", "pywinpty": "MIT", "axe-playwright-python": "MIT, MPL 2.0"}


def locked():
    """The lock's packages: name -> version."""
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    return dict(re.findall(r"^([\w.-]+)==([^\s;]+)", lock, re.MULTILINE))


def licence(name):
    """The licences that an installed package names."""
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    found = metadata.metadata(name)
    texts = [found.get("License-Expression") or "", (found.get("License") or "").strip().partition("\n")[0]]
    texts += [line for line in found.get_all("Classifier") or [] if line.startswith("License ::")]
    return ", ".join(family for family, words in FAMILIES.items() if re.search(words, " ".join(texts).lower()))


def table():
    """The table of licences, from what is installed."""
    packages = {}
    for name in sorted(locked()):
        packages.setdefault(licence(name), []).append(name)
    return HEAD + "".join(f"| {found} | {', '.join(names)} |\n" for found, names in sorted(packages.items()))


def listed(page):
    """What a page says: package -> licences."""
    lines = page.partition(HEAD)[2].partition("\n\n")[0].splitlines()
    return {
        name: found for found, names in (line.strip("| ").split(" | ") for line in lines) for name in names.split(", ")
    }


if __name__ == "__main__":
    marks.write("licences", table(), PAGE)

"""List the licences of all packages of requirements.lock; python tools/licences.py writes book/licences.json."""

import json
import re
from importlib import metadata
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOUND = ROOT / "book" / "licences.json"
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


def families():
    """The packages of each licence, from what is installed."""
    packages = {}
    for name in sorted(locked()):
        packages.setdefault(licence(name), []).append(name)
    return dict(sorted(packages.items()))


def listed(text):
    """What the file says: package -> licences."""
    return {name: found for found, names in json.loads(text).items() for name in names}


if __name__ == "__main__":
    FOUND.write_text(json.dumps(families(), indent=1) + "\n", encoding="utf-8")

"""The library is rings around a core: arrows point inward, no circle, and each ring keeps to its budget."""

import ast
import functools
import graphlib
import io
import tokenize
from pathlib import Path

import pytest

import ldp_lib

ROOT = Path(ldp_lib.__file__).parent
RINGS = {
    "papers": ["corr_rr", "jrr", "fake_data", "shrinkage"],
    "tables": ["tables"],
    "limit": ["limit"],
    "survey": ["survey"],
    "use": ["designs", "leakage", "repeated", "auditing", "_pair_errors"],
    "book": ["book"],
}
INWARD = {"core": set(), "papers": set(), "tables": {"papers"}, "limit": {"papers", "tables"}}
INWARD |= {"use": {"papers", "tables", "limit"}, "survey": {"papers", "tables", "limit", "use"}}
INWARD |= {"book": {"papers", "tables", "limit", "use", "survey"}}
# What a ring may grow to, in lines of code.
CEILINGS = {"core": 2_150, "papers": 1_700, "tables": 1_450, "limit": 1_000, "use": 300, "survey": 1_050, "book": 900}
LONGER = {}  # files that are still to be cut
FILES = {path: path.relative_to(ROOT.parent).with_suffix("") for path in sorted(ROOT.rglob("*.py"))}


def ring(module):
    """Return the ring of a module, named by its path below the library."""
    first = module.split(".")[1] if "." in module else ""
    return next((name for name, parts in RINGS.items() if first in parts), "core")


def module_of(path):
    return ".".join(FILES[path].parts).removesuffix(".__init__")


def imported(path):
    """Return the library's modules that a file imports, at its head or inside a function."""
    known, found = {module_of(each) for each in FILES}, set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            names = [name if name in known else node.module for name in whole]
        found |= {name for name in names if name in known}
    return found


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_no_arrow_points_outward(path):
    own = ring(module_of(path))
    reached = {name: ring(name) for name in imported(path)}
    assert {name for name, other in reached.items() if other not in {own, "core"} | INWARD[own]} == set()


def test_modules_do_not_import_each_other_in_a_circle():
    inner = {path: imported(path) - {module_of(path), "ldp_lib"} for path in FILES if path.name != "__init__.py"}
    tuple(graphlib.TopologicalSorter({module_of(path): names for path, names in inner.items()}).static_order())


def floors():
    """Return the floor of each room: a module or a package of the library, one above the highest that it imports."""
    below, found = {}, {}
    for path in FILES:
        room, *reached = (".".join(name.split(".")[:2]) for name in (module_of(path), *imported(path)))
        below.setdefault(room, set()).update({*reached} - {room, "ldp_lib"})
    for room in graphlib.TopologicalSorter(below).static_order():
        found[room] = 1 + max((found[other] for other in below[room]), default=0)
    return found


def test_the_library_has_at_most_30_rooms_on_11_floors():
    assert len(floors()) <= 30
    assert max(floors().values()) <= 11


@functools.cache
def counted(path):
    """Return a file's lines of code, without docstrings, comments and blanks, and its tokens."""
    text, doc = path.read_text(encoding="utf-8"), set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node, clean=False):
            doc |= set(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    skip = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    lines, tokens = set(), 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in skip and token.start[0] not in doc:
            lines |= set(range(token.start[0], token.end[0] + 1))
            tokens += 1
    return len(lines), tokens


def test_no_file_is_longer_than_300_lines():
    lengths = {module_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert {name: lines for name, lines in lengths.items() if lines > LONGER.get(name, 300)} == {}


def test_code_is_not_packed():
    counts = [counted(path) for path in FILES]
    assert sum(tokens for _, tokens in counts) / sum(lines for lines, _ in counts) <= 12.7


def public_names():
    """Return functions and classes without an underscore in modules without one."""
    found = []
    for path in FILES:
        if not any(part.startswith("_") for part in FILES[path].parts):
            body = ast.parse(path.read_text(encoding="utf-8")).body
            kinds = ast.ClassDef | ast.FunctionDef
            found += [
                (ring(module_of(path)), node.name)
                for node in body
                if isinstance(node, kinds) and not node.name.startswith("_")
            ]
    return found


@functools.cache
def sizes():
    """Return the lines of code, and the public names beside `__all__`, of each ring."""
    found = {name: [0, 0] for name in INWARD}
    for path in FILES:
        found[ring(module_of(path))][0] += counted(path)[0]
    for name, public in public_names():
        found[name][1] += public not in ldp_lib.__all__
    return found


@pytest.mark.parametrize("name", CEILINGS)
def test_a_ring_keeps_to_its_ceiling(name):
    assert sizes()[name][0] <= CEILINGS[name]


def test_few_names_are_public_beside_those_of_the_library_itself():
    assert sum(names for _, names in sizes().values()) <= 150


def test_the_core_is_read_in_an_afternoon():
    core = [path for path in FILES if ring(module_of(path)) == "core"]
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in core) <= 4_000


# Tests of what all modules promise, or of what several give together: no module has their name.
WHOLE = {
    "core": {
        "digits",
        "edges",
        "ends_of_ranges",
        "protocol",
        "public_names",
        "realised",
        "rings",
        "signatures",
    },
    "limit": {"atlas", "fixed_data"},
}


@pytest.mark.parametrize("name", [name for name in INWARD if name != "book"])
def test_a_test_file_is_named_by_what_it_tests(name):
    own = {part.lstrip("_") for path in FILES if ring(module_of(path)) == name for part in module_of(path).split(".")}
    files = [path.stem.removeprefix("test_") for path in (ROOT.parent / "tests" / name).glob("test_*.py")]
    assert files != []
    stray = [file for file in files if not any(file == part or file.startswith(f"{part}_") for part in own)]
    assert set(stray) == WHOLE.get(name, set())


BOOK = [path for path in FILES if ring(module_of(path)) == "book"]


@pytest.mark.parametrize("path", BOOK, ids=module_of)
def test_the_book_reads_no_private_module_of_the_papers(path):
    private = [name for name in imported(path) if ring(name) == "papers" and "._" in name]
    assert private == []

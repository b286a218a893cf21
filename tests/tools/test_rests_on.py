"""The graph of what rests on what: the tracer on a toy, and the stored trace against the ledger and a new one."""

import ast
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from ldp_lib.book.claims import ledger

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT / "book" / "_ext")]
import rests  # noqa: E402
import rests_on  # noqa: E402

STORED = rests.load()
AGAIN = "The trace is out of date: run make graph."
SHORT = ["browser", "tests/claims/test_composition.py"]

LIBRARY = '''
"""A toy."""
from functools import cache, cached_property, lru_cache

def outer(x):
    """Call another function."""
    return _between(x)

def _between(x):
    return inner(x)

def inner(x):
    return x + 1

@cache
def kept(x):
    return inner(x)

class Thing:
    def method(self):
        return outer(1)

    @cached_property
    def held(self):
        return inner(2)

class Kin(Thing):
    pass
'''


@pytest.fixture
def toy(monkeypatch, tmp_path):
    """The toy's names, and a function that runs a line of a client and returns what ran: called by it, and in all."""
    monkeypatch.setattr(rests_on, "LIBRARY", f"{tmp_path / 'library'}/")
    monkeypatch.setattr(rests_on, "CLIENTS", (f"{tmp_path / 'client'}/",))
    names = {"__says__": rests_on.says, "__replay__": rests_on.replay, "__replayed__": rests_on.Replayed}
    tree = ast.fix_missing_locations(rests_on.Instrument("ldp_lib.toy").visit(ast.parse(LIBRARY)))
    exec(compile(tree, str(tmp_path / "library" / "toy.py"), "exec"), names)

    def run(line):
        with rests_on.recording(keep=False) as ran:
            exec(compile(line, str(tmp_path / "client" / "one.py"), "exec"), names)
        told = lambda keys: sorted(f"{place[4:]} {kind.__name__ if kind else ''}".strip() for place, kind in keys)  # noqa: E731
        return [told(ran.direct), told(ran.all)]

    return names, run


def test_a_function_is_noted_as_called_by_a_client_or_through_another(toy):
    names, run = toy
    assert run("outer(1)") == [["outer"], ["inner", "outer"]]
    assert run("list(map(inner, [1, 2]))") == [["inner"], ["inner"]]
    assert run("inner") == [[], []]
    assert names["outer"].__doc__ == "Call another function."
    assert names["__doc__"] == "A toy."


def test_a_method_is_noted_for_the_class_of_its_object(toy):
    _, run = toy
    assert run("Kin().method()") == [["Thing.method Kin"], ["Thing.method Kin", "inner", "outer"]]


def test_what_a_cache_saves_is_noted_again(toy):
    names, run = toy
    assert run("kept(1)") == run("kept(1)") == [["kept"], ["inner", "kept"]]
    assert names["kept"].cache_info().hits == 1
    run("thing = Thing()")
    assert run("thing.held") == run("thing.held") == [["Thing.held Thing"], ["Thing.held Thing", "inner"]]
    assert vars(names["thing"]) == {"held": 3}


@pytest.mark.parametrize(
    ("source", "last"),
    [
        ("a = 1\nb = 2\nb", {1, 2}),
        ("a = 1\nb = a\nc = 3\nb + c", {0, 1, 2, 3}),
        ("a = 1\na = 2\na", {1, 2}),
        ("a = [1]\na[0] = 2\na", {0, 1, 2}),
        ("a = 1\ndef f():\n    return a\nf()", {0, 1, 2}),
        ("from m import a as b\nfor i in b:\n    c = i\nc", {0, 1, 2}),
        ("a = 1\na += 1\na", {0, 1, 2}),
        ("a = []\nfor i in (1, 2):\n    a.append(i)\na", {0, 1, 2}),
        ("a = 1\nprint([a for a in (1, 2)], (lambda a: a)(3))", {1}),
    ],
)
def test_a_statement_rests_on_those_whose_names_it_uses(source, last):
    assert rests_on.rests(ast.parse(source).body)[0][-1] == last


def test_the_stored_trace_has_every_chapter_every_test_file_and_every_claim_where_it_is_settled():
    assert list(STORED) == rests_on.places(), AGAIN
    found = {place: set(entry["claims"]) for place, entry in STORED.items()}
    settled = {place: set() for place in found}
    for id, claim in ledger().items():
        if claim.chapter:
            place = f"{claim.chapter}.py" if "/" in claim.chapter else claim.chapter
            settled.setdefault(place, set()).add(id)
    assert found == settled, AGAIN


def test_every_function_of_the_stored_trace_exists():
    known = set(rests_on.public().values())
    for place, entry in STORED.items():
        parts = [entry] if "functions" in entry else [entry["checks"]]
        for part in [*parts, *entry["claims"].values()]:
            assert set(part["functions"]) | set(part["through"]) <= known, (place, AGAIN)
            assert not set(part["functions"]) & set(part["through"])


def test_a_function_with_a_cache_is_public_too():
    assert {"sampled.design.best_design", "sampled.design.attribute_error"} <= set(rests_on.public().values())


@pytest.mark.parametrize("place", SHORT)
def test_a_new_trace_is_the_stored_one(place, tmp_path):
    assert rests_on.trace(place, tmp_path)[0] == STORED[place], AGAIN


# The extension.


def test_the_page_of_theorems_names_claims_of_results():
    named = rests.named_claims((ROOT / "book" / "theorems.md").read_text(encoding="utf-8"))
    assert named["thm-linear"] == ["own/limit-linear", "own/limit-any-domain"]
    assert named["thm-subset"] == ["own/subset-selection-size"]
    assert set().union(*named.values()) <= set(ledger())


def page_of(slug):
    """A chapter's page as the extension sees it, of a book without an address."""
    env = SimpleNamespace(get_domain=lambda name: SimpleNamespace(objects={}), toc_fignumbers={})
    builder = SimpleNamespace(get_relative_uri=lambda here, there: there)
    return rests.Page(SimpleNamespace(env=env, builder=builder), f"notebooks/{slug}", STORED)


@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
def test_each_result_of_a_chapter_rests_on_the_claims_beside_it_on_the_page_of_theorems(path):
    beside, labels = {}, []
    for line in (ROOT / "book" / "theorems.md").read_text(encoding="utf-8").splitlines():
        if line.startswith(("{prf:ref}`", "#", "**")):
            labels = re.findall(r"\{prf:ref\}`([\w-]+)`", line)
        for label in labels:
            beside.setdefault(label, []).extend(re.findall(r"\{claim\}`([^`]+)`", line))
    said = page_of(path.stem).chapter()
    listed = said.partition("A result rests on claims</p><ul>")[2].partition("</ul>")[0]
    rows = [re.match(r'<a href="#([\w-]+)">', row).group(1) for row in listed.split("<li>")[1:]]
    assert rows
    for label, row in zip(rows, listed.split("<li>")[1:], strict=True):
        assert re.findall(r"<code>([^<]+)</code>", row) == beside[label], label
    for id in STORED[path.stem]["claims"]:
        assert f"<code>{id}</code>: " in said.partition("A claim rests on functions")[2].replace("</a>", "")


def test_a_result_without_a_claim_rests_on_the_other_checks_and_on_no_other_results_claim():
    drawn = page_of("jrr").chapter()
    assert 'href="#thm-two-coins">Theorem</a>: the other checks of the chapter' in drawn
    assert drawn.count("own/two-coins-colluders</code></a></li>") == 1


def test_a_picture_has_a_row_for_each_key_and_a_line_for_each_pair():
    picture = rests.Picture("results", "claims")
    picture.row("results", "a", "Theorem 1.1", "#a")
    for key in ("own/one", "own/<two>", "own/a-name-that-is-longer-than-its-row-can-hold"):
        picture.row("claims", key, key, f"#{len(key)}")
        picture.line("results", "a", key)
    drawn = picture.svg("x", "A & B", "words")
    assert drawn.count("<a ") == 4
    assert drawn.count("M") == 3
    assert "A &amp; B" in drawn
    assert "own/&lt;two&gt;" in drawn
    assert "<title>own/a-name-that-is-longer-than-its-row-can-hold</title>" in drawn


def test_a_picture_is_the_same_in_whatever_order_its_lines_came():
    drawn = set()
    for lines in (["one", "two", "three"], ["three", "one", "two"]):
        picture = rests.Picture("claims", "functions")
        picture.row("claims", "a", "a", "#a")
        for name in ("one", "two", "three"):
            picture.row("functions", name, name, f"#{name}")
        for name in lines:
            picture.line("claims", "a", name)
        drawn.add(picture.svg("rests", "title", "words"))
    assert len(drawn) == 1

"""What callers rely on without naming it: defaults, frozen classes, keyword-only parameters, numbers that were chosen.

Whoever changes one on purpose writes it down here: `python tests/core/test_signatures.py` prints the tables anew.
"""

import dataclasses
import importlib
import inspect
import json
import pkgutil
from pathlib import Path

import pytest

import ldp_lib

STORE = Path(__file__).with_suffix(".json")


def modules():
    """The library's modules but for the book's."""
    for found in pkgutil.walk_packages(ldp_lib.__path__, "ldp_lib."):
        if not found.name.startswith("ldp_lib.book"):
            yield importlib.import_module(found.name)


def own(module):
    """What a module defines itself: name -> function, class, or function of a class."""
    for name, thing in vars(module).items():
        if getattr(thing, "__module__", None) != module.__name__:
            continue
        yield name, thing
        if inspect.isclass(thing):
            for part, method in vars(thing).items():
                method = getattr(method, "__func__", getattr(method, "func", method))
                if inspect.isfunction(method) and method.__module__ == module.__name__:
                    yield f"{name}.{part}", method


def defaults():
    """Every default that is a number, a text or a truth: "module.function(parameter)" -> its repr."""
    found = {}
    for module in modules():
        for name, thing in own(module):
            if inspect.isfunction(thing := inspect.unwrap(thing) if callable(thing) else thing):
                for each in inspect.signature(thing).parameters.values():
                    if isinstance(each.default, (bool, int, float, str)):
                        found[f"{module.__name__}.{name}({each.name})"] = repr(each.default)
    return found


def keywords():
    """The parameters of public functions that are given by name only: "module.function" -> their names."""
    found = {}
    for module in modules():
        for name, thing in own(module):
            if inspect.isfunction(thing) and not any(part.startswith("_") for part in name.split(".")):
                named = [p.name for p in inspect.signature(thing).parameters.values() if p.kind is p.KEYWORD_ONLY]
                found |= {f"{module.__name__}.{name}({each})": "by name only" for each in named}
    return found


def constants():
    """Every number that a module or class chooses: "module.NAME" -> its repr."""
    found = {}
    for module in modules():
        for name, value in vars(module).items():
            if name.isupper() and isinstance(value, (bool, int, float)):
                found[f"{module.__name__}.{name}"] = repr(value)
    return found


def classes():
    """Every dataclass: "module.Class" -> whether it is frozen, compared by value, and made with names only."""
    found = {}
    for module in modules():
        for name, thing in own(module):
            if inspect.isclass(thing) and dataclasses.is_dataclass(thing):
                words = [word for word in ("frozen", "eq") if getattr(thing.__dataclass_params__, word)]
                words += ["kw_only"] * all(field.kw_only for field in dataclasses.fields(thing))
                found[f"{module.__name__}.{name}"] = " ".join(words)
    return found


TABLES = (defaults, keywords, constants, classes)


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.__name__)
def test_what_is_relied_on_changes_on_purpose_only(table):
    stored, now = json.loads(STORE.read_text(encoding="utf-8"))[table.__name__], table()
    assert {name: now.get(name) for name in stored} == stored


if __name__ == "__main__":
    tables = {table.__name__: dict(sorted(table().items())) for table in TABLES}
    STORE.write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")

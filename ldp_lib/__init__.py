"""Frequency estimation under local differential privacy, small enough to read and exact enough to prove.

For research and teaching. Random numbers come from NumPy's generators, which are fast and reproducible but not
cryptographically secure: who sees enough of their output can predict the rest. To protect real people's data takes
others, `survey.secure.generator`, and more: see the page `security`.

Names and submodules are imported when they are first used; `__init__.pyi` lists the names, for type checkers as well.
"""

import importlib
import pkgutil
import re

__version__ = "0.1.0"

_STUB = pkgutil.get_data(__name__, "__init__.pyi").decode()
_HOME = {name: module for module, name in re.findall(r"from ldp_lib\.(\S+) import (\w+) as", _STUB)}
_MODULES = {found.name for found in pkgutil.iter_modules(__path__)}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name in _HOME:
        found = getattr(importlib.import_module(f"ldp_lib.{_HOME[name]}"), name)
    elif name in _MODULES:
        found = importlib.import_module(f"ldp_lib.{name}")
    else:
        raise AttributeError(f"module 'ldp_lib' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__():
    return sorted([*globals(), *__all__])

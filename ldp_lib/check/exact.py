"""Exact checks: rational functions that are the same, values that are equal, and a line that says what passed."""

import numpy as np

BOOLEANS = ("bool", "bool_", "BooleanTrue", "BooleanFalse")  # SymPy need not be installed


class _Passed:
    """Checks that passed: what a notebook shows of them is one line, and one for each fault at a reader's setting."""

    def __init__(self, count=1, says=None, faults=()):
        self.count = count
        self.says = says
        self.faults = [*faults]

    def __repr__(self):
        count = f"{self.count} check{'s' * (self.count != 1)}"
        if self.faults:
            told = dict.fromkeys(self.faults)  # what was changed is said once
            return "\n".join([f"≠ {self.says or 'a check'}: not at your setting ({count} passed)", *told])
        return f"✓ {self.says} ({count})" if self.says else f"✓ {count}"


def _fail(words, number=None):
    """Raise what a check says that fails; in chapters `ldp_lib.book.setting` puts another function in this place."""
    raise AssertionError(words)


def passed(*checks, says=None):
    """Return the line that says what was proved, if given, and how many checks passed.

    Each is a result of `same`, `equal`, `close`, or a boolean.

    Raises
    ------
    AssertionError
        If a boolean is false.
    TypeError
        If there is no check, or something else is among them.
    """
    if not checks:
        raise TypeError("passed needs at least one check; got none")
    count, faults = 0, []
    for number, item in enumerate(checks, 1):
        if type(item).__name__ in BOOLEANS:
            name = f" ({says})" if says else ""
            words = f"check {number} of {len(checks)} is false{name}"
            item = _Passed() if item else _fail(words, number - 1)
        elif not isinstance(item, _Passed):
            raise TypeError(f"check {number} of {len(checks)} must be a check or a boolean; got {item!r}")
        count += item.count
        faults += item.faults
    return _Passed(count, says, faults)


def same(derived, library):
    """Check that two SymPy expressions, or matrices of them, are the same rational function.

    Raises
    ------
    AssertionError
        If not: it shows the factored difference.
    """
    left, right = np.array(derived, object), np.array(library, object)
    if left.shape != right.shape:
        raise AssertionError(f"the shapes differ: {left.shape} and {right.shape}")
    for one, other in zip(left.flat, right.flat, strict=True):
        difference = one - other
        if hasattr(difference, "cancel"):
            difference = difference.cancel().factor()
        if difference != 0:
            raise AssertionError(f"the difference is {difference}")
    return _Passed()


def equal(found, wanted):
    """Check that two values are equal, exactly: numbers, fractions, arrays, lists or dicts.

    Raises
    ------
    AssertionError
        If not: it shows the first place at which they differ.
    """
    if isinstance(wanted, dict) or isinstance(found, dict):
        if not (isinstance(wanted, dict) and isinstance(found, dict)):
            raise AssertionError(f"{found!r}, not {wanted!r}: only one is a dict")
        if found != wanted:
            keys = [key for key in {**found, **wanted} if found.get(key) != wanted.get(key)]
            return _fail(f"at {keys[0]!r}: {found.get(keys[0])!r}, not {wanted.get(keys[0])!r}")
        return _Passed()
    left, right = np.asarray(found, object), np.asarray(wanted, object)
    if left.shape != right.shape:
        return _fail(f"the shapes differ: {left.shape} and {right.shape}")
    for place in np.ndindex(left.shape):
        if left[place] != right[place]:
            where = f"at {place}: " if place else ""
            return _fail(f"{where}{left[place]!r}, not {right[place]!r}: off by {left[place] - right[place]}")
    return _Passed()

"""What the hidden tests use: answers are compared as numbers. A correct answer need not be simplified.

The answers are data by now (see `session`), so this calls nothing of a submission. Messages hold no words of it either.
"""

import hashlib
import math
import operator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction


class Wrong(AssertionError):
    """An answer is not right; the message says what to look at."""


@dataclass(frozen=True)
class Tree:
    """A formula: Add, Mul or Pow and their parts, or Symbol and its name."""

    kind: str
    args: tuple


def own_number(name, task, low, high):
    """Return a student's own number for a task, from low to high; notebooks hold the same lines."""
    digest = hashlib.sha256(f"{name.strip().lower()}/{task}".encode()).hexdigest()
    return low + int(digest, 16) % (high - low + 1)


class Parts:
    """The points of one task, as its tests earn them."""

    def __init__(self):
        self.worth, self.earned, self.said = 0, 0, []

    @contextmanager
    def __call__(self, points):
        """Give these points if the block passes; what fails says why, and costs no other part."""
        self.worth += points
        try:
            yield
        except Exception as error:
            self.said.append(message(error))
        else:
            self.earned += points


def message(error):
    """Return what a student is told."""
    return str(error) if isinstance(error, AssertionError) else "The answer is not of the kind that is asked for."


def rationals(*names, count=4):
    """Return `count` points, dicts that give each name a fraction above 1 that no other name shares."""
    primes = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)
    spread = [
        {name: Fraction(primes[-1 - i] + 31 * point, primes[i]) for i, name in enumerate(names)}
        for point in range(count)
    ]
    return spread


def evaluate(node, at):
    """Return a formula's value at a point. Only sums, products and whole powers are served: rational functions."""
    if not isinstance(node, Tree):
        return number(node)
    if node.kind == "Symbol":
        if node.args[0] not in at:
            raise Wrong(f"the answer holds another symbol than {', '.join(at)}")
        return at[node.args[0]]
    parts = [evaluate(part, at) for part in node.args]
    if node.kind == "Pow":
        base, power = parts
        if power != int(power):
            raise Wrong("the answer holds a root; a rational function is asked for")
        if abs(power) > 64:
            raise Wrong("the answer holds a power that is too large")
        if base == 0 and power < 0:
            raise Wrong("the answer divides by zero")
        return short(base ** int(power))
    total, join = (Fraction(0), operator.add) if node.kind == "Add" else (Fraction(1), operator.mul)
    for part in parts:
        total = short(join(total, part))
    return total


def short(value):
    """Return a number; one of thousands of digits is none that a task asks for, and would keep the grader busy."""
    if isinstance(value, Fraction) and max(value.numerator.bit_length(), value.denominator.bit_length()) > 20_000:
        raise Wrong("the answer holds numbers that are too long")
    return value


def number(value):
    """Return a Fraction for an exact number, and a float as it is."""
    if type(value) is int:
        return Fraction(value)
    if type(value) in (Fraction, float):
        return value
    raise Wrong("a number is asked for, and no formula, truth value or text")


def flat(value):
    """Return the entries of nested lists in their order."""
    if isinstance(value, list | tuple):
        return [entry for part in value for entry in flat(part)]
    return [value]


def same(answer, truth, points, hint):
    """Check that an answer agrees with the truth at rational points.

    Parameters
    ----------
    answer : formula, or function of the point's names as keywords
        What is graded; numbers or nested lists of numbers. Fractions are compared exactly, floats to nine digits.
    truth : function
        The right values, of the same keywords.
    points : list of dict
        Where to compare.
    hint : str
        What to look at if they differ.
    """
    for at in points:
        given = answer(**at) if callable(answer) else [evaluate(part, at) for part in flat(answer)]
        agree(given, truth(**at), hint)


def agree(given, wanted, hint, digits=9):
    """Check that numbers, or nested lists of them, agree: fractions exactly, floats to so many digits."""
    found, right = [number(v) for v in flat(given)], [number(v) for v in flat(wanted)]
    if len(found) != len(right):
        raise Wrong(f"Another count of numbers came out than the {len(right)} that are asked for. {hint}")
    if not all(map(math.isfinite, right)):
        raise Wrong(hint)
    scale = max(map(abs, right), default=0)
    for one, other in zip(found, right, strict=True):
        if isinstance(one, Fraction) and isinstance(other, Fraction):
            good = one == other
        else:
            good = abs(_real(one) - float(other)) <= 10.0**-digits * max(abs(float(other)), 1e-3 * float(scale))
        if not good:
            raise Wrong(hint)


def _real(value):
    """Return a float; infinity where a fraction has none."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def words(given, wanted, hint):
    """Check that a string, or a list of strings, is the one that is asked for."""
    if flat(given) != flat(wanted):
        raise Wrong(hint)

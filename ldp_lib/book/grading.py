"""What the hidden tests of the assignments use: answers are compared as numbers, by code that no answer can change.

Hidden tests import this module anew, and it calls neither SymPy nor the library: an answer that patches either gains
nothing. A correct answer need not be simplified.
"""

import ast
import math
import symtable
from fractions import Fraction

# What nbgrader writes where the tests begin that students do not see.
HIDDEN = "### BEGIN HIDDEN TESTS"
# What reaches code by name, past the statements that `own_work` follows.
BACK_DOORS = {"__import__", "compile", "eval", "exec", "getattr", "globals", "importlib", "locals", "sys", "vars"}


def rationals(*names, count=4):
    """Return `count` points, dicts that give each name a fraction above 1 that no other name shares."""
    primes = (2, 3, 5, 7, 11, 13, 17, 19, 23, 29)
    spread = [
        {name: Fraction(primes[-1 - i] + 31 * point, primes[i]) for i, name in enumerate(names)}
        for point in range(count)
    ]
    return spread


def evaluate(node, at):
    """Return the value of a SymPy expression at a point; its tree is walked here, and SymPy is not called.

    Symbols are known by their names. Only sums, products and whole powers are served: rational functions.
    """
    kind = type(node).__name__
    if kind == "Symbol":
        if node.name not in at:
            raise AssertionError(f"the answer holds the symbol {node.name}; it may hold {', '.join(at)}")
        return at[node.name]
    if kind == "Add":
        return sum((evaluate(part, at) for part in node.args), Fraction(0))
    if kind == "Mul":
        return math.prod((evaluate(part, at) for part in node.args), start=Fraction(1))
    if kind == "Pow":
        base, power = (evaluate(part, at) for part in node.args)
        if power != int(power):
            raise AssertionError("the answer holds a root; a rational function is asked for")
        return base ** int(power)
    return number(node)


def number(value):
    """Return a Fraction for an exact number, a float for another, from plain Python, NumPy or SymPy."""
    if isinstance(value, bool) or type(value).__name__ in ("bool_", "bool"):
        raise AssertionError("the answer is True or False; a number is asked for")
    if isinstance(value, int):
        return Fraction(int(value))
    if isinstance(value, Fraction):
        return Fraction(int(value.numerator), int(value.denominator))
    if hasattr(value, "p") and hasattr(value, "q"):
        return Fraction(int(value.p), int(value.q))
    if hasattr(value, "dtype") and value.dtype.kind in "iu":
        return Fraction(int(value))
    try:
        return float(value)
    except (TypeError, ValueError):
        raise AssertionError(f"the answer is of type {type(value).__name__}; a number is asked for") from None


def flat(value):
    """Return the entries of nested lists, tuples, arrays, data frames or matrices in their order."""
    for turn in ("tolist", "to_numpy"):
        if hasattr(value, turn) and not isinstance(value, Fraction):
            value = getattr(value, turn)()
    if isinstance(value, list | tuple):
        return [entry for part in value for entry in flat(part)]
    return [value]


def same(answer, truth, points, hint):
    """Check that an answer agrees with the truth at rational points.

    Parameters
    ----------
    answer : SymPy expression, or function of the point's names as keywords
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
    """Check that numbers, or nested lists or arrays of them, agree: fractions exactly, floats to so many digits."""
    found, right = [number(v) for v in flat(given)], [number(v) for v in flat(wanted)]
    if len(found) != len(right):
        raise AssertionError(f"{len(found)} numbers came out; {len(right)} are asked for. {hint}")
    scale = max(map(abs, right), default=0)
    for one, other in zip(found, right, strict=True):
        if isinstance(one, Fraction) and isinstance(other, Fraction):
            good = (one.numerator, one.denominator) == (other.numerator, other.denominator)
        else:
            good = abs(float(one) - float(other)) <= 10.0**-digits * max(abs(float(other)), 1e-3 * float(scale))
        if not good:
            raise AssertionError(hint)


def words(given, wanted, hint):
    """Check that a string, or a list of strings, is the one that is asked for."""
    left, right = flat(given), flat(wanted)
    if not all(type(part) is str for part in left) or "\n".join(left) != "\n".join(right):
        raise AssertionError(hint)


def own_work(cells, name):
    """Check that what is called `name` was made without the library.

    Parameters
    ----------
    cells : list of str
        The code that ran: IPython's `In`. Cells with hidden tests are left out.
    name : str
        The answer. Every statement that it needs, in whatever cell, is looked through.
    """
    bound, changed = {}, {}
    for cell in cells:
        try:
            statements = ast.parse(cell).body if HIDDEN not in cell else []
        except SyntaxError:  # a magic, or a cell that did not run
            continue
        for statement in statements:
            for target in _binds(statement):
                bound.setdefault(target, []).append(statement)
            for target in _changes(statement):
                changed.setdefault(target, []).append(statement)
    imported = {name for name, found in bound.items() if any(isinstance(f, ast.Import | ast.ImportFrom) for f in found)}
    waiting, seen = [name], set()
    while waiting:
        needed = waiting.pop()
        if needed in BACK_DOORS:
            raise AssertionError(f"this task asks for your own derivation, without {needed}")
        makers = bound.get(needed, []) + (changed.get(needed, []) if needed not in imported else [])
        for statement in () if needed in seen else makers:
            modules = [node.module or "" for node in ast.walk(statement) if isinstance(node, ast.ImportFrom)]
            modules += [a.name for node in ast.walk(statement) if isinstance(node, ast.Import) for a in node.names]
            if any(module.partition(".")[0] == "ldp_lib" for module in modules):
                raise AssertionError("this task asks for your own derivation, without the library's formulas")
            waiting += _globals(symtable.symtable(ast.unparse(statement), "cell", "exec"))
        seen.add(needed)


def _globals(table):
    """Return the global names that a statement reads, in functions too; a function's own names are none."""
    own = [
        s.get_name()
        for s in table.get_symbols()
        if s.is_referenced() and (table.get_type() == "module" or s.is_global())
    ]
    return own + [name for inner in table.get_children() for name in _globals(inner)]


def _binds(statement):
    """Return the names that a statement binds."""
    table = symtable.symtable(ast.unparse(statement), "cell", "exec")
    return {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported()}


def _changes(statement):
    """Return the names whose objects a statement may change, through an index, an attribute or a method."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return set()
    names = set()
    for node in ast.walk(statement):
        stored = isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store)
        if stored or (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
            while isinstance(node, ast.Attribute | ast.Subscript | ast.Call):
                node = node.func if isinstance(node, ast.Call) else node.value
            names |= {node.id} if isinstance(node, ast.Name) else set()
    return names


def drawn(draw):
    """Return the axes after ``draw(ax)``, on a figure of their own."""
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    draw(ax)
    return ax


def line(ax, label):
    """Return x and y of the line with this label."""
    found = {item.get_label(): item for item in ax.get_lines()}
    if label not in found:
        raise AssertionError(f"no line has the label {label!r}; labels are {sorted(found)}")
    return [float(v) for v in found[label].get_xdata()], [float(v) for v in found[label].get_ydata()]

"""The OBRR paper's own route to the optimal split, as printed: Cardano's formula inside Newton's method.

For comparison only: `splitting.allocation` solves the same problem for all sizes and budgets. Here budgets are the
paper's (for OBRR per bit, half of what the report spends), and they may add up to more than they should.
"""

import cmath
import math
from dataclasses import dataclass

from ldp_lib import _inputs


def coefficients(a, weight, m):
    """Return a, b, c, d of the cubic a (x-1)^3 - weight x (x+m) = 0.

    OBRR: weight k, m = 1, Eqs. (9) and (10). OMRR: weight 2 (k-1), m = k-1, Eq. (16). `a` is lambda times the product
    that the x have to reach, for one user. Numbers, Fractions or symbols. Chapter `audit_allocation`.
    """
    return a, -(3 * a + weight), 3 * a - weight * m, -a


def depressed(a, b, c, d):
    """Return p and q with y^3 + p y + q = 0 for y = x + b/(3a), Eqs. (11) and (12)."""
    p = c / a - b**2 / (3 * a**2)
    return p, d / a + 2 * b**3 / (27 * a**3) - b * c / (3 * a**2)


def first_root(a, b, c, d):
    """Return the first root of Cardano's formula, Eq. (13), in complex floats, with principal roots."""
    p, q = depressed(a, b, c, d)
    root = cmath.sqrt(q**2 / 4 + p**3 / 27)
    return (-q / 2 + root) ** (1 / 3) + (-q / 2 - root) ** (1 / 3) - b / (3 * a)


@dataclass(frozen=True, kw_only=True)
class _Run:
    """One run of the printed route: its end, the steps taken, the last lambda, and the budgets there.

    `end` is "converged"; "lambda <= 0"; "overflow"; "x <= 1", where Cardano's formula has lost the root; or "too many
    steps". `gap` is f(lambda), the product of the x less the value that it has to reach. Budgets are empty unless the
    run converged.
    """

    end: str
    searched: int
    steps: int
    lam: float
    gap: float
    budgets: tuple


def newton(k, epsilon, *, start, multivariate=False, threshold=0.01, window=None, delta=0.0, most=1000):
    """Run the paper's search for lambda: fixed steps to a good start, then Newton's method on the product of the x.

    Parameters
    ----------
    k : int or sequence of d ints
        Domain sizes.
    epsilon : float
        Total budget of a report.
    start : float
        First lambda, above 0, for one user: the paper's is n times as large.
    multivariate : bool
        False for OBRR, Eqs. (5) to (14); True for OMRR, Eqs. (15) and (16).
    threshold : float
        Stop when the absolute gap is at most this; 0.01 in the paper.
    window : tuple of two floats, optional
        Before Newton, add `delta` to lambda until the absolute gap lies in this interval.
    delta : float
        Step of that search.
    most : int
        Largest number of steps of the search, and of Newton's method.

    Returns
    -------
    Run
    """
    _inputs.require(epsilon=epsilon)
    sizes = _inputs.check_domain(k)
    if not 0 < start < math.inf:
        raise ValueError(f"start must be a finite number above 0; got {start!r}")
    target = math.exp(epsilon if multivariate else epsilon / 2)
    shapes = [(2 * (size - 1), size - 1) if multivariate else (size, 1) for size in sizes]
    lam = start
    searched = 0
    steps = 0

    def run(end, gap=math.nan, x=()):
        found = tuple(map(math.log, x)) if end == "converged" else ()
        return _Run(end=end, searched=searched, steps=steps, lam=lam, gap=gap, budgets=found)

    while True:
        if lam <= 0:
            return run("lambda <= 0")
        try:
            x = [first_root(*coefficients(lam * target, *shape)).real for shape in shapes]
            product = math.prod(x)
        except ArithmeticError:
            return run("overflow")
        if min(x) <= 1:
            return run("x <= 1")
        gap = product - target
        if window is not None and not window[0] <= abs(gap) <= window[1]:
            if searched == most:
                return run("too many steps", gap)
            searched += 1
            lam += delta
            continue
        window = None  # the start is good; Newton from here on
        if abs(gap) <= threshold:
            return run("converged", gap, x)
        if steps == most or not math.isfinite(gap):
            return run("too many steps" if steps == most else "overflow", gap)
        # a = w x (x+m) / (x-1)^3, so d log a / d log x follows, and with it f'.
        slopes = [1 / (1 + xi / (xi + m) - 3 * xi / (xi - 1)) for xi, (_, m) in zip(x, shapes, strict=True)]
        steps += 1
        lam -= gap / (product * sum(slopes) / lam)

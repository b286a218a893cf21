"""What the certificates share: rational numbers near floats, and exact tests of quadratic inequalities."""

import math
from fractions import Fraction

import numpy as np

from ldp_lib._inputs import require

GRID = 2**30  # denominators of what is rounded
DIGITS = 10**20  # the denominator of the bounds of exp(epsilon)
BUDGETS = (1e-6, 20.0)  # beyond them floats do not find what can be proved
ABOVE = 1 + Fraction(1, 10**9)  # what rounding may cost


def rounded(x):
    """Return a float as a Fraction with a denominator that all share."""
    return Fraction(round(float(x) * GRID), GRID)


def gained(roots, k):
    """Return the square root of the bound times the largest information: sum of roots_j (k_j - 1) / k_j."""
    return sum(Fraction(root) * (size - 1) / size for root, size in zip(roots, k, strict=True))


def well_formed(k, e, *numbers):
    """Return whether `k` holds integers above 1, `e` is an interval above 1, and all numbers are ints or Fractions.

    NumPy's integers are neither, and no part of a Fraction may be one: they overflow. A tuple of a class of its own may
    show other numbers than it holds.
    """
    whole = type(k) is tuple and k and all(type(size) is int and size > 1 for size in k)
    numbers = (*e, *numbers)
    exact = type(e) is tuple and all(type(x) in (int, Fraction) for x in numbers)
    exact = exact and all(type(x.numerator * x.denominator) is int for x in numbers)
    return bool(whole and exact and len(e) == 2 and 1 <= e[0] <= e[1] > 1)


def never_negative(c0, c1, c2, low=0, high=1):
    """Return whether c0 + c1 x + c2 x^2 is never negative for x from `low` to `high`; also for arrays of integers."""
    ends = (c0 + low * (c1 + low * c2) >= 0) & (c0 + high * (c1 + high * c2) >= 0)
    no_valley = (c1 + 2 * c2 * low >= 0) | (c1 + 2 * c2 * high <= 0)  # between the ends; true if c2 is not above 0
    return ends & (no_valley | (4 * c0 * c2 >= c1 * c1))


def subset_sums(rows):
    """Return the sums of each row's entries over all sets of columns, set by set: bit x of the number is column x."""
    sums = np.zeros((len(rows), 1), rows.dtype)
    for column in rows.T:
        sums = np.concatenate([sums, sums + column[:, None]], axis=1)
    return sums


def holds_for_all_sets(constant, linear, square):
    """Return whether c + l . s + s . Q s is at least 0 for every vector s of zeros and ones; Q is symmetric."""
    numbers = [Fraction(x) for x in (constant, *linear, *np.ravel(square))]
    scale = math.lcm(*(x.denominator for x in numbers))
    c, *rest = (int(x * scale) for x in numbers)
    size = len(linear)
    q = np.array(rest[size:], object).reshape(size, size)
    values = np.array([c], object)
    for x in range(size):  # with record x, or without it
        values = np.concatenate([values, values + rest[x] + q[x, x] + 2 * subset_sums(q[x : x + 1, :x])[0]])
    return min(values) >= 0


def check_budget(epsilon):
    """Return bounds of exp(epsilon) as Fractions, or raise."""
    require(epsilon=epsilon)
    if not BUDGETS[0] <= epsilon <= BUDGETS[1]:
        raise ValueError(f"epsilon must be from {BUDGETS[0]} to {BUDGETS[1]} for a limit; got {epsilon!r}")
    return enclose(float(epsilon))


def enclose(epsilon):
    """Return two Fractions with exp(epsilon) between them, apart by less than one part in 10^12 of exp(epsilon) - 1."""
    x, term, total, i = Fraction(epsilon), Fraction(1), Fraction(1), 1
    while term * DIGITS > 1:  # below 1 only beyond i = 2x, where all that follow are together less than the last
        term *= x / i
        total += term
        i += 1
    return Fraction(math.floor(total * DIGITS), DIGITS), Fraction(math.ceil((total + term) * DIGITS), DIGITS)


def below(error):
    """Return the largest float that is not above a Fraction."""
    found = float(error)
    return math.nextafter(found, 0) if Fraction(found) > error else found

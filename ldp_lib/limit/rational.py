"""What the certificates share: rational numbers near floats, and whether a parabola is ever negative."""

from fractions import Fraction

GRID = 2**30  # denominators of what is rounded
ABOVE = 1 + Fraction(1, 10**9)  # what rounding may cost


def rounded(x):
    """Return a float as a Fraction with a denominator that all share."""
    return Fraction(round(float(x) * GRID), GRID)


def gained(roots, k):
    """Return the root of what an error times the largest information is at least: sum of roots_j (k_j - 1) / k_j."""
    return sum(root * (size - 1) / size for root, size in zip(roots, k, strict=True))


def never_negative(c0, c1, c2, low=0, high=1):
    """Return whether c0 + c1 x + c2 x^2 is never negative for x from `low` to `high`; also for arrays of integers."""
    ends = (c0 + low * (c1 + low * c2) >= 0) & (c0 + high * (c1 + high * c2) >= 0)
    no_valley = (c1 + 2 * c2 * low >= 0) | (c1 + 2 * c2 * high <= 0)  # between the ends; true if c2 is not above 0
    return ends & (no_valley | (4 * c0 * c2 >= c1 * c1))

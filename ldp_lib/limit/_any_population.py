"""A bound at any population whatever, however many records there are."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ldp_lib import subset
from ldp_lib.limit._rational import ABOVE, gained, never_negative, rounded, well_formed


@dataclass(frozen=True, kw_only=True)
class LawCertificate:
    """Why no unbiased mechanism has an error below `error`, whatever the population.

    With mu the share of all records in a set and f the share of the users, t = exp(epsilon) - 1, the dual
    variables Lambda ((1 + s/t) U - (s/t) F), U uniform, must cover t^2 mu (1-mu) for f = 0 and for f = 1.

    Parameters
    ----------
    k : tuple of int
        Domain sizes.
    e : tuple of two Fractions
        Bounds of exp(epsilon).
    roots : tuple of Fraction
        Square roots of the k_j, nearly.
    tilt, ceiling, error : Fraction
        s, Lambda and the bound.
    """

    k: tuple
    e: tuple
    roots: tuple
    tilt: Fraction
    ceiling: Fraction
    error: Fraction

    def check(self):
        """Return whether the bound holds, in rational arithmetic."""
        numbers = (*self.roots, self.tilt, self.ceiling, self.error)
        if not well_formed(self.k, self.e, *numbers) or len(self.roots) != len(self.k) or min(self.roots) <= 0:
            return False
        t, s, top = self.e[1] - 1, self.tilt, self.ceiling
        scale = max(Fraction(root * root) / size for root, size in zip(self.roots, self.k, strict=True))
        fits = s >= 0 and all(  # above 1 the second is negative at its beginning
            never_negative(top * a, top * b - t * t, t * t)
            for a, b in ((1, t + s), ((1 + t) * (1 - s), (1 + t) * (t + s)))
        )
        return fits and 0 < self.error * top * scale <= gained(self.roots, self.k) ** 2


def tilt_and_ceiling(e):
    """Return the best s and Lambda: 1 - e (3-e)^2 / (e+1)^2 and ((e^2-1) / (4e))^2 up to e = 3, beyond it s = 1.

    Derived in the chapter `limit_bound`.
    """
    if e <= 3:
        return 1 - e * (3 - e) ** 2 / (e + 1) ** 2, ((e * e - 1) / (4 * e)) ** 2
    return e / e, ((e - 1) / (1 + math.sqrt(e + 1))) ** 2


def solve(k, e, population):
    """Return a certificate, the error of one question at a population, its sets, and their weights."""
    roots = tuple(rounded(math.sqrt(size)) for size in k)
    tilt, ceiling = (Fraction(x) for x in tilt_and_ceiling(e[1]))
    ceiling *= ABOVE
    scale = max(root * root / size for root, size in zip(roots, k, strict=True))
    error = gained(roots, k) ** 2 / (ceiling * scale)
    certificate = LawCertificate(k=k, e=e, roots=roots, tilt=tilt, ceiling=ceiling, error=error)
    ratio = float(e[1])
    named = [subset.optimal_size(ratio, size) for size in k]
    each = np.sqrt([one_error(ratio, k, j, size, population) for j, size in enumerate(named)])
    sets = tuple((*k[:j], size, *k[j + 1 :]) for j, size in enumerate(named))
    return certificate, float(each.sum() ** 2), sets, tuple((each / each.sum()).tolist())


def one_error(ratio, k, j, size, population):
    """Return the error of one attribute if every report is one of its sets of `size` values, at a population."""
    return subset.error(ratio, k[j], size) + 1 / k[j] - ((population.select(j).counts / population.n) ** 2).sum()

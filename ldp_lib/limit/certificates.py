"""A limit, the certificate for equally likely records, and the files that hold them."""

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from ldp_lib.limit import _covering
from ldp_lib.limit._rational import gained, well_formed
from ldp_lib.limit._uniform import kept


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The least error of any unbiased mechanism, for one user: divide by the number of users.

    The error is the total variance of what is estimated, of estimates that are unbiased near the population, for users
    who are drawn, and randomize, independently (no dealer sends them secrets). `error` bounds it from below for
    every mechanism; `attained` is the error of a mixture of sets, and the two agree to rounding where the search is
    complete.

    Parameters
    ----------
    k : tuple of int
        Domain sizes.
    epsilon : float
        The budget of one user's whole report.
    error, attained : float
        Proven lower bound, and the error of the mixture: no mechanism is better than `error`, and one has `attained`.
    sets : tuple
        Sets of records, each as a tuple of records. A user reports one of them at random: one that holds the own record
        is exp(epsilon) times as likely as one that does not. At the uniform population, and at one of more than 10
        records, each stands for all its copies with values renamed, and a tuple of d sizes stands for a product set
        with so many values of each attribute.
        For pair tables: names, see `pair_tables.least_pair_error`.
    weights : tuple of float
        How often a report is (a copy of) each set.
    certificate : SetCertificate, TableCertificate, LawCertificate or None
        What `check_certificate` checks; None if the bound is one of floats.
    population : None, tuple of Fractions, or Population
        None if every record is equally likely; the frequencies of at most 10 records; or a larger population.
    target : {"shares", "pairs", "prefixes"}
        What is estimated: `_given_population.target_rows`.
    """

    k: tuple
    epsilon: float
    error: float
    attained: float
    sets: tuple
    weights: tuple
    certificate: Any
    population: Any = None
    target: str = "shares"

    @property
    def gap(self):
        """What the best mechanism may still gain: `attained` over `error`, at least 1."""
        return self.attained / self.error

    @property
    def bound(self):
        """Which bound `error` is, in words."""
        words = {"TableCertificate": "all sets of records", "LawCertificate": "the closed form for every population"}
        words |= {"NoneType": "shares of sets, relaxed"}
        certificate = self.certificate
        if not isinstance(certificate, SetCertificate):
            return words[type(certificate).__name__]
        if keep := certificate.keep:
            return "all sets of records" if keep == len(self.k) else f"{keep} attributes exactly, the others as one"
        drawn = min(share for share, _ in certificate.rows) < 1
        return "drawn records" if drawn else "the closed form for the uniform population"

    def to_json(self):
        """Return the certificate as text that `verify_limit.py`, a file that imports nothing of this library, reads."""
        if self.certificate is None:
            raise ValueError(f"there is no certificate for pair tables of the domain {self.k}: it has too many records")
        kind = type(self.certificate).__name__
        told = {"kind": kind, "target": self.target, "epsilon": Fraction(self.epsilon), **vars(self.certificate)}
        return json.dumps(told, default=Fraction.__str__)


@dataclass(frozen=True, kw_only=True)
class SetCertificate:
    """Why no set of records informs more than `ceiling`, and so no unbiased mechanism has an error below `error`.

    Parameters
    ----------
    k : tuple of int
        Domain sizes; the population is uniform.
    e : tuple of two Fractions
        Bounds of exp(epsilon).
    roots : tuple of Fraction
        The attributes' weights are their squares over k_j.
    keep : int
        How many of the smallest attributes are taken exactly, all others as one; 0 if `rows` are used instead.
    rows : tuple
        Numbers for `_covering.row`.
    ceiling, error : Fraction
        The largest information of a set, and the error that follows.
    """

    k: tuple
    e: tuple
    roots: tuple
    keep: int
    rows: tuple
    ceiling: Fraction
    error: Fraction

    def check(self):
        """Return whether the bound holds, in rational arithmetic: all sets of records are covered."""
        rows = (x for share, often in self.rows for x in (share, *(() if often is None else often)))
        if not well_formed(self.k, self.e, *self.roots, self.ceiling, self.error, *rows):
            return False
        if len(self.roots) != len(self.k) or min(self.roots) <= 0 or bool(self.keep) == bool(self.rows):
            return False
        weights = [Fraction(root * root) / size for root, size in zip(self.roots, self.k, strict=True)]
        t = self.e[1] - 1  # a set's information grows with t
        if self.keep:
            order, rest, cells = kept(self.k, self.keep)
            weights = [weights[j] for j in order] + ([max(weights[j] for j in rest)] if rest else [])
            covered = cells is not None and cells.holds(weights, t, self.ceiling)
        else:
            covered = self._drawn(weights, t)
        return covered and 0 < self.error * self.ceiling <= gained(self.roots, self.k) ** 2

    def _drawn(self, weights, t):
        equal = len(set(self.k)) == len(set(weights)) == 1  # draws of equal domains are for equal weights
        scale = weights[0] if equal else Fraction(1)
        for share, often in self.rows:
            if share <= 0 or (often is not None and not (equal and len(often) == len(self.k) and min(often) >= 0)):
                return False
        rows = [_covering.row(self.k, [w / scale for w in weights], share, often) for share, often in self.rows]
        return _covering.holds(self.k, t, rows, self.ceiling / scale)

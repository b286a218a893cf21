"""The least error of any mechanism: a proven bound, what attains it, and a certificate that can be checked exactly."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ldp_lib.inputs import check_domain, check_population, require
from ldp_lib.limit import any_population, covering, given_population
from ldp_lib.limit.rational import ABOVE, gained, rounded
from ldp_lib.limit.uniform import Cells, mixture, product_set
from ldp_lib.population import Population

BUDGETS = (1e-6, 20.0)  # beyond them floats do not find what can be proved
DIGITS = 10**20  # the denominator of the bounds of exp(epsilon)
CLOSE = 1.005  # a bound this near to what a mechanism attains is not looked for again


@dataclass(frozen=True, kw_only=True)
class Limit:
    """The least error of any mechanism, for one user: divide by the number of users.

    The error is the total variance of all attributes' estimated frequencies, users drawn at random, of estimates that
    are unbiased near the population. `error` bounds it from below for every mechanism; `attained` is the error of a
    mixture of sets, and the two agree to rounding where the search is complete.

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
        is exp(epsilon) times as likely as one that does not. At the uniform population each stands for all its copies
        with values renamed, and a tuple of d sizes stands for a product set with so many values of each attribute.
    weights : tuple of float
        How often a report is (a copy of) each set.
    certificate : SetCertificate, TableCertificate or LawCertificate
        What `check_certificate` checks.
    """

    k: tuple
    epsilon: float
    error: float
    attained: float
    sets: tuple
    weights: tuple
    certificate: object

    @property
    def gap(self):
        """What the best mechanism may still gain: `attained` over `error`, at least 1."""
        return self.attained / self.error


@dataclass(frozen=True, kw_only=True)
class SetCertificate:
    """Why no set of records informs more than `ceiling`, and so no mechanism has an error below `error`.

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
        Numbers for `draws.row`.
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
        weights = [root * root / size for root, size in zip(self.roots, self.k, strict=True)]
        t = self.e[1] - 1  # a set's information grows with t
        if self.keep:
            order, rest = kept(self.k, self.keep)
            cells = Cells.of(tuple(self.k[j] for j in order), bool(rest))
            weights = [weights[j] for j in order] + ([max(weights[j] for j in rest)] if rest else [])
            covered = cells is not None and cells.holds(weights, t, self.ceiling)
        else:
            scale = weights[0] if len(set(self.k)) == len(set(weights)) == 1 else Fraction(1)
            units = [w / scale for w in weights]
            for share, often in self.rows:
                if share <= 0 or (often is not None and not (set(units) == {1} and min(often) >= 0)):
                    return False
            rows = [covering.row(self.k, units, share, often) for share, often in self.rows]
            covered = covering.holds(self.k, t, rows, self.ceiling / scale)
        return covered and 0 < self.error * self.ceiling <= gained(self.roots, self.k) ** 2


def check_certificate(certificate):
    """Return whether a certificate, or the one of a `Limit`, proves its bound; in rational arithmetic alone."""
    if not isinstance(certificate, Limit):
        return certificate.check()
    least, most = enclose(certificate.epsilon)
    inner = certificate.certificate
    same = inner.k == certificate.k and inner.e[0] <= least and most <= inner.e[1]
    return same and Fraction(certificate.error) <= inner.error and inner.check()


def enclose(epsilon):
    """Return two Fractions with exp(epsilon) between them, apart by less than one part in 10^12 of exp(epsilon) - 1."""
    x, term, total, i = Fraction(epsilon), Fraction(1), Fraction(1), 1
    while term * DIGITS > 1:  # below 1 only beyond i = 2x, where all that follow are together less than the last
        term *= x / i
        total += term
        i += 1
    return Fraction(math.floor(total * DIGITS), DIGITS), Fraction(math.ceil((total + term) * DIGITS), DIGITS)


def kept(k, keep):
    """Return the attributes that are taken exactly, the `keep` smallest, and the others."""
    order = sorted(range(len(k)), key=lambda j: (k[j], j))
    return order[:keep], order[keep:]


def least_error(k, epsilon, population=None):
    """Return the least error that any mechanism can have, with what attains it and a certificate.

    Parameters
    ----------
    k : int or sequence of d ints
        Domain sizes, each at least 2.
    epsilon : float
        Privacy budget of one user's whole report, from 1e-6 to 20. Above 5 the bound is loose for large domains.
    population : Population or array of shape k, optional
        The joint law from which users are drawn: counts or frequencies. By default every record is equally likely. An
        array has at most 10 records. For a Population with more the bound is one that holds for every population: it
        and `attained`, the error of one question, agree to cosh(epsilon/2)^2 and to what whole sizes cost.

    Returns
    -------
    Limit

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong type or out of range, or the population has another or too large a domain.

    Notes
    -----
    Chapters `limit_bound` and `optimal_sets`.
    """
    k = check_domain(k)
    require(epsilon=epsilon)
    if not BUDGETS[0] <= epsilon <= BUDGETS[1]:
        raise ValueError(f"epsilon must be from {BUDGETS[0]} to {BUDGETS[1]} for a limit; got {epsilon!r}")
    e = enclose(float(epsilon))
    if population is not None:
        if isinstance(population, Population):
            check_population(population, k)
        if isinstance(population, Population) and math.prod(k) > given_population.RECORDS:
            certificate, attained, sets, weights = any_population.solve(k, e, population)
        else:
            counts = population.histogram if isinstance(population, Population) else np.asarray(population)
            certificate, attained, sets, weights = given_population.solve(
                k, e, given_population.check_frequencies(counts, k)
            )
    else:
        certificate, attained, sets, weights = at_uniform(k, e)
    error = float(certificate.error)
    if Fraction(error) > certificate.error:
        error = math.nextafter(error, 0)
    return Limit(
        k=k,
        epsilon=float(epsilon),
        error=error,
        attained=max(attained, error),
        sets=sets,
        weights=weights,
        certificate=certificate,
    )


def at_uniform(k, e):
    """Return a certificate, the error attained, the sets and their weights, where all records are equally likely."""
    t, equal = float(e[1] - 1), len(set(k)) == 1
    rho = np.array([(size - 1) / math.sqrt(size) for size in k])
    order, _ = kept(k, len(k))
    cells = Cells.of(tuple(k[j] for j in order), False)
    if cells is not None:  # every set of records
        _, weights, attained, names, share = mixture(lambda w: cells.best(w, t), rho[order])
        weights = np.array(weights)[np.argsort(order)]
        records = [cells.records(s, np.argsort(order)) for _, s in names]
        certificate = certify(k, e, weights, keep=len(k))
        return certificate, attained, *chosen(records, share)
    if equal:
        value, _, sizes = product_set(np.ones(len(k)), t, k)
        turns = tuple(sizes[-i:] + sizes[:-i] for i in range(len(k)) if i == 0 or len(set(sizes)) > 1)
        attained = rho.sum() ** 2 / value
        weights, rows = covering.rows_for(k, t, rho, None)
        return certify(k, e, weights, rows=rows), attained, turns, (1 / len(turns),) * len(turns)
    _, weights, attained, names, share = mixture(lambda w: product_set(w, t, k), rho)
    best = max((in_cells(k, e, rho, keep) for keep in range(1, len(k))), key=lambda c: c.error if c else 0)
    if attained > CLOSE * best.error:
        found, rows = covering.rows_for(k, t, rho, weights)
        best = max(best, certify(k, e, found, rows=rows), key=lambda c: c.error)
    return best, attained, *chosen(names, share)


def chosen(names, share):
    """Return the sets with a share that counts, and their shares, the largest first."""
    order = [i for i in np.argsort(-share, kind="stable") if share[i] > 1e-6]
    total = share[order].sum()
    return tuple(names[i] for i in order), tuple(float(share[i] / total) for i in order)


def certify(k, e, weights, *, keep=0, rows=()):
    """Return the certificate with these weights of the attributes and the ceiling that they need; None if too long."""
    if len(set(k)) == 1 and not keep:
        roots = (Fraction(1),) * len(k)
    else:
        roots = tuple(rounded(math.sqrt(w * size)) for w, size in zip(weights, k, strict=True))
    exact = [root * root / size for root, size in zip(roots, k, strict=True)]
    t = float(e[1] - 1)
    if keep:
        order, rest = kept(k, keep)
        cells = Cells.of(tuple(k[j] for j in order), bool(rest))
        if cells is None:
            return None
        others = [max(exact[j] for j in rest)] if rest else []
        top = cells.best([float(w) for w in [exact[j] for j in order] + others], t)[0]
    else:
        scale = exact[0] if len(set(k)) == 1 else Fraction(1)
        top = (
            covering.largest(k, t, [covering.row(k, [w / scale for w in exact], b, often) for b, often in rows]) * scale
        )
    ceiling = Fraction(top) * ABOVE
    error = gained(roots, k) ** 2 / ceiling
    return SetCertificate(k=k, e=e, roots=roots, keep=keep, rows=tuple(rows), ceiling=ceiling, error=error)


def in_cells(k, e, rho, keep):
    """Return the certificate that takes the `keep` smallest attributes exactly; None if there are too many sets."""
    order, rest = kept(k, keep)
    cells = Cells.of(tuple(k[j] for j in order), True)
    if cells is None:
        return None
    found = mixture(lambda w: cells.best(w, float(e[1] - 1)), [*rho[order], rho[rest].sum()])[1]
    weights = np.full(len(k), found[-1])
    weights[order] = found[:-1]
    return certify(k, e, weights, keep=keep)

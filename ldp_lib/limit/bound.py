"""The least error of any unbiased mechanism: a bound, what attains it, and a certificate that is checked exactly."""

import math
from fractions import Fraction

import numpy as np

from ldp_lib._inputs import check_domain, check_population, unmasked
from ldp_lib.limit import _any_population, _covering, _given_population
from ldp_lib.limit._given_population import RECORDS
from ldp_lib.limit._rational import ABOVE, below, check_budget, gained, rounded
from ldp_lib.limit._uniform import chosen, kept, mixture, product_mixture
from ldp_lib.limit.certificates import Limit, SetCertificate
from ldp_lib.population import Population

KEPT = 8  # attributes that are taken exactly, fewer than these
CLOSE = 1.005  # a bound this near to what a mechanism attains is not looked for again


def least_error(k, epsilon, population=None):
    """Return the least error that any unbiased mechanism can have, with what attains it and a certificate.

    Parameters
    ----------
    k : int or sequence of d ints
        Domain sizes, each from 2 to 2**32.
    epsilon : float
        Privacy budget of one user's whole report, from 1e-6 to 20.
    population : Population or array of shape k, optional
        The joint law from which users are drawn: counts or frequencies. By default every record is equally likely. An
        array has at most 10 records. For a Population with more the bound is one that holds for every population: it
        and `attained`, the error of one question, agree to cosh(epsilon/2)^2 and to what whole sizes cost.

    Returns
    -------
    Limit
        For users who are drawn, and randomize, independently.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong type or out of range, or the population has another or too large a domain.

    Notes
    -----
    At the uniform population `gap` is at most 1.16 up to epsilon = 2 on some 2,500 domains tried, of up to 1,000
    attributes, 24 different sizes and 10^6 values each (with more sizes it may be 1.34). It is 1.056 for 200 binary
    attributes at epsilon = 2, and wider where they come with some of many values: 1.159 for 561 and four with 136,
    204, 368 and 267,327 values at epsilon = 1.3364, the widest. Above it grows: at 4 it is 2.82 for 200 binary
    attributes. Up to exp(epsilon) = 1 + 2 sqrt(2) `attained` is the least error of any number of binary attributes,
    although the certificate does not use that theorem (`thm-binary`). For two and more attributes and large budgets
    `error` may even be below the sum of 1 - 1/k_j, the error of the records themselves: for 4 and 50 values from
    epsilon = 7.87 on, for twenty binary attributes from 14.25 on. `check_certificate` verifies what is found. Chapters
    `limit_bound`, `limit_attained` and `optimal_sets`.
    """
    k = check_domain(k)
    if max(k) > 2**32:
        raise ValueError(f"k must be at most 2**32 for a limit; got {max(k)}")
    e = check_budget(epsilon)
    if population is None:
        certificate, attained, sets, weights = _at_uniform(k, e)
    elif isinstance(population, Population) and math.prod(check_population(population, k) or k) > RECORDS:
        certificate, attained, sets, weights = _any_population.solve(k, e, population)
    else:
        counts = population.histogram if isinstance(population, Population) else unmasked(population, "population")
        population = _given_population.check_frequencies(counts, k)
        certificate, attained, sets, weights = _given_population.solve(k, e, population)
    error = below(certificate.error)
    return Limit(
        k=k,
        epsilon=float(epsilon),
        error=error,
        attained=max(float(attained), error),
        sets=sets,
        weights=weights,
        certificate=certificate,
        population=population,
    )


def fixed_data_error(k, epsilon, population):
    """Return the least total variance, times n, at data held fixed: the limit at a population of equal records.

    Parameters
    ----------
    k : int or sequence of d ints
        Domain sizes, each at least 2.
    epsilon : float
        Privacy budget of one user's whole report, from 1e-6 to 20.
    population : Population
        The data. The bound is the same for all: renaming values turns any record into any other.

    Returns
    -------
    Limit
        No protocol in which users randomize independently, and whose estimates are unbiased for every data set, has, at
        these data, a total variance below `error` divided by the number of users. `attained` is reached if each user's
        mechanism is chosen with the own record known to the designer; up to 10 possible records it is `error`, beyond
        them `error` holds for every population. Every such protocol has, at some data set, at least
        ``least_error(k, epsilon).error`` less the sum of 1 - 1/k_j, divided by n. For one attribute of two values that
        is `attained` divided by n, and randomized response has it at all data.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong type or out of range, or the population has another domain.

    Notes
    -----
    Chapter `limit_minimax`.
    """
    k = check_domain(k)
    check_population(population, k)
    alike = np.zeros((1, len(k)), int)
    return least_error(k, epsilon, Population.from_records(alike, k=k))


def _at_uniform(k, e):
    """Return a certificate, the error attained, the sets and their weights, where all records are equally likely."""
    t = float(e[1] - 1)
    rho = np.array([(size - 1) / math.sqrt(size) for size in k])
    order, _, cells = kept(k, len(k))
    if cells is not None:  # every set of records
        _, weights, attained, names, share = mixture(lambda w: cells.best(w, t), rho[order])
        weights = np.array(weights)[np.argsort(order)]
        records = [cells.records(s, np.argsort(order)) for _, s in names]
        certificate = _certify(k, e, weights, keep=len(k))
        return certificate, attained, *chosen(records, share)
    weights, attained, names, share = product_mixture(k, t)
    found = (attained, *chosen(names, share, 0))
    if len(set(k)) == 1:
        return _certify(k, e, rho, rows=_covering.equal_rows(len(k), k[0], t)), *found
    tried = [_certify(k, e, np.ones(len(k)), rows=((Fraction(1), None),))]
    tried += [_in_cells(k, e, rho, keep) for keep in range(1, min(len(k), KEPT))]
    best = max(filter(None, tried), key=lambda certificate: certificate.error)
    if attained > CLOSE * best.error:
        more, rows = _covering.mixed_rows(k, t, rho, weights)
        best = max(best, *(_certify(k, e, w, rows=rows) for w in more), key=lambda certificate: certificate.error)
    return best, *found


def _certify(k, e, weights, *, keep=0, rows=()):
    """Return the certificate with these weights of the attributes and the ceiling that they need; None if too long."""
    if len(set(k)) == 1 and not keep:
        roots = (Fraction(1),) * len(k)
    else:
        roots = tuple(rounded(max(1e-9, math.sqrt(w * size))) for w, size in zip(weights, k, strict=True))
    exact = [root * root / size for root, size in zip(roots, k, strict=True)]
    t = float(e[1] - 1)
    if keep:
        order, rest, cells = kept(k, keep)
        if cells is None:
            return None
        others = [max(exact[j] for j in rest)] if rest else []
        top = cells.best([exact[j] for j in order] + others, t)[0]
    else:
        scale = exact[0] if len(set(k)) == 1 else Fraction(1)
        units = [w / scale for w in exact]
        near = [_covering.row(k, [float(w) for w in units], float(b), often) for b, often in rows]
        rows = [rows[i] for i in sorted({piece[2] for piece in _covering.pieces(k, near)})]  # those that bound best
        top = _covering.largest(k, t, [_covering.row(k, units, *row) for row in rows]) * scale
    ceiling = Fraction(top) * ABOVE
    error = gained(roots, k) ** 2 / ceiling
    return SetCertificate(k=k, e=e, roots=roots, keep=keep, rows=tuple(rows), ceiling=ceiling, error=error)


def _in_cells(k, e, rho, keep):
    """Return the certificate that takes the `keep` smallest attributes exactly; None if there are too many sets."""
    order, rest, cells = kept(k, keep)
    if cells is None:
        return None
    found = mixture(lambda w: cells.best(w, float(e[1] - 1)), [*rho[order], rho[rest].sum()])[1]
    weights = np.full(len(k), found[-1])
    weights[order] = found[:-1]
    return _certify(k, e, weights, keep=keep)

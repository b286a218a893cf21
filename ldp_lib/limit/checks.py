"""Whether a limit is what it says: its bound in rational arithmetic, its mixture of sets by its own error."""

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from ldp_lib.limit import _any_population, _given_population, pair_tables
from ldp_lib.limit._rational import check_budget
from ldp_lib.limit.certificates import SetCertificate
from ldp_lib.population import Population

KINDS = (SetCertificate, _given_population.TableCertificate, _any_population.LawCertificate)
NEAR = 1e-6  # what rounding may cost the error of a mixture


def check_certificate(found):
    """Return whether a limit, or a certificate alone, proves what it states.

    A certificate's bound is proved in rational arithmetic. A `Limit` must further have this certificate for its own
    domain, budget, population and target, an `error` not above it, and sets and weights that are a mechanism with the
    error `attained`, to one part in a million. What lacks a certificate, or cannot be read, proves nothing.
    It is for limits made by the library or built of its types, of Python's and of NumPy's: an object of one's own class
    whose comparisons or numbers lie can deceive it, but not `verify_limit.py`, which reads JSON alone.
    """
    try:
        if type(found) in KINDS:  # no class or object with a `check` of its own, which might say anything
            return type(found).check(found)
        inner, (least, most) = found.certificate, check_budget(found.epsilon)
        return (
            type(inner) in KINDS
            and (inner.k, float(found.epsilon)) == (found.k, found.epsilon)  # a float's exponential is bounded
            and inner.e[0] <= least < most <= inner.e[1]
            and _same_question(found)
            and all(isinstance(x, float) for x in (found.error, found.attained))  # no machine's integers
            and 0 < Fraction(found.error) <= min(inner.error, Fraction(found.attained))
            and type(inner).check(inner)
            and abs(_attained(replace(found, k=inner.k)) / found.attained - 1) < NEAR
            and inner.error <= found.attained * (1 + NEAR)
        )
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError):
        return False


def _same_question(found):
    inner, population, even = found.certificate, found.population, (Fraction(1, math.prod(found.k)),)
    if isinstance(inner, _given_population.TableCertificate):
        return tuple(population or even * len(inner.frequencies)) == inner.frequencies and inner.target == found.target
    if isinstance(inner, _any_population.LawCertificate):
        return found.target == "shares" and isinstance(population, Population) and population.k == found.k
    return population is None and isinstance(inner, SetCertificate) and found.target == "shares"


def _attained(found):
    """Return the error of reporting a limit's sets as often as it says."""
    weights, sets, t = np.array(found.weights, float), found.sets, math.expm1(found.epsilon)
    if weights.shape != (len(sets),) or not weights.min() > 0 or not abs(weights.sum() - 1) < NEAR:
        return math.inf
    if found.population is None and found.target == "pairs":
        listed = all(kind == "records" and 0 < mask < 2 ** math.prod(found.k) for kind, mask in sets)
        return pair_tables._mixture_error(found.k, t, sets, weights) if listed else math.inf
    if found.population is None and found.target == "shares":
        return _uniform_error(found.k, t, sets, weights)
    if isinstance(found.population, Population):
        return _asked_error(found, weights)
    rows = _given_population.target_rows(found.k, found.target)
    f = np.array(found.certificate.frequencies, float)
    return _given_population.mixture_error(found.k, t, f, sets, weights, rows)


def _uniform_error(k, t, sets, weights):
    sizes, informs = np.array(k, float), np.zeros(len(k))  # the square of 2**32 is no int64
    for chosen, weight in zip(sets, weights, strict=True):
        values = np.array(chosen)
        whole = values.dtype.kind == "i" and values.shape[-1:] == sizes.shape
        if not whole or (values < (values.ndim < 2)).any() or (values > sizes - (values.ndim > 1)).any():
            return math.inf
        if values.ndim == 1:  # so many values of each attribute
            mu = (values / sizes).prod()
            parts = ((np.array(k, object) - values) / values).astype(float)  # sizes / values - 1, exactly
        else:
            mu = len(values) / math.prod(k)
            counts = [np.bincount(own, minlength=size) for own, size in zip(values.T, k, strict=True)]
            parts = np.array([len(c) * (c**2.0).sum() / max(len(values), 1) ** 2 - 1 for c in counts])
            parts *= parts > NEAR  # rounding tells nothing
            if len(np.unique(values, axis=0)) < len(values):  # a record is there twice
                return math.inf
        informs += weight * (t * mu / (1 + t * mu)) ** 2 * parts
    with np.errstate(divide="ignore"):
        return float(((sizes - 1) ** 2 / sizes / informs).sum())


def _asked_error(found, weights):
    """Return the error if each set is one attribute's, and each attribute has one."""
    total, ratio = 0.0, math.exp(found.epsilon)
    for j, (chosen, weight, values) in enumerate(zip(found.sets, weights, found.k, strict=True)):
        size = chosen[j]
        if chosen != (*found.k[:j], size, *found.k[j + 1 :]) or size not in range(1, values):
            return math.inf
        total += _any_population.one_error(ratio, found.k, j, int(size), found.population) / weight
    return total

"""Forged certificates are refused, by the library and by the verifier that imports nothing of it."""

import ast
import dataclasses
import importlib.util
import itertools
import json
import math
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from ldp_lib import limit
from ldp_lib.datasets import load_adult
from ldp_lib.limit import _any_population, checks, pair_tables
from ldp_lib.limit._given_population import TableCertificate, target_rows
from ldp_lib.limit._rational import below, enclose, rounded
from ldp_lib.limit.pair_tables import least_pair_error
from ldp_lib.population import Population

FILE = Path(__file__).parents[2] / "book/_static/verify_limit.py"
spec = importlib.util.spec_from_file_location("verify_limit", FILE)
verifier = importlib.util.module_from_spec(spec)
spec.loader.exec_module(verifier)

ADULT = (9, 16, 7, 15, 6, 5, 2, 2)
TABLE = np.array([[0.3, 0.1, 0.05], [0.05, 0.1, 0.4]])
GENUINE = {
    "all sets": limit.least_error((2, 3), 1.0),
    "monotone": limit.least_error((2, 17), 1.0),
    "drawn": limit.least_error((4, 4, 4), 1.0),
    "mixed": limit.least_error(ADULT, 4.0),
    "table": limit.least_error((2, 3), 1.0, TABLE),
    "any": limit.least_error((3, 5), 1.0, Population.from_counts(np.arange(1, 16).reshape(3, 5))),
    "pairs": least_pair_error((2, 3), 1.0),
}


def verified(found):
    """Whether the stand-alone file accepts what a limit, or a certificate, writes, and for its budget."""
    try:
        text = found.to_json()
        written, (low, high) = json.loads(text), enclose(found.epsilon)
        stated = [Fraction(x) for x in written["e"]]
        verifier.verify(text)
        return stated[0] <= low and high <= stated[1] and Fraction(found.error) <= Fraction(written["error"])
    except Exception:
        return False


def times(value, factor):
    """Multiply all numbers in nested tuples."""
    return tuple(times(x, factor) for x in value) if isinstance(value, tuple) else value * factor


def change(found, **fields):
    """Forge fields of the certificate, the limit's own where they have the same name."""
    inner = dataclasses.replace(found.certificate, **fields)
    error = below(min(inner.error, 10**300)) if isinstance(inner.error, Fraction) else inner.error
    outer = {name: fields[name] for name in ("k",) if name in fields}
    return dataclasses.replace(found, certificate=inner, error=error, attained=max(found.attained, error), **outer)


def more(found, factor=2):
    """Claim more than is proved, consistently in both."""
    return change(found, error=found.certificate.error * factor)


def forgeries():
    """Yield a name and a limit whose bound is false or does not follow."""
    bit = Fraction(10**6 + 1, 10**6)
    for name, found in GENUINE.items():
        c, up = found.certificate, found.certificate.error
        yield f"{name}: error", more(found, bit)
        yield f"{name}: negative error", more(found, -1)
        yield f"{name}: no error", more(found, 0)
        yield (
            f"{name}: interval of a smaller budget",
            change(found, e=(Fraction(1), 1 + (c.e[1] - 1) / 10), error=up * 9),
        )
        yield f"{name}: interval turned round", change(found, e=c.e[::-1], error=up * bit)
        yield f"{name}: a budget below zero", change(found, e=(Fraction(-3), Fraction(-2)), error=up * 2)
        yield f"{name}: another budget", change(dataclasses.replace(found, epsilon=0.5 * found.epsilon), error=up)
        yield f"{name}: a float", change(found, error=math.inf)
        if hasattr(c, "ceiling"):
            yield f"{name}: ceiling", change(found, ceiling=c.ceiling / 2, error=up * 2)
            yield f"{name}: negative ceiling", change(found, ceiling=-c.ceiling, error=-up)
            yield f"{name}: no ceiling", change(found, ceiling=Fraction(0), error=up * 100)
            yield f"{name}: roots", change(found, roots=times(c.roots, 2), error=up * 4)
            yield f"{name}: one root", change(found, roots=(c.roots[0] * 9, *c.roots[1:]), error=up * bit)
            yield f"{name}: roots missing", change(found, roots=c.roots[:-1], error=up / 2)
            yield f"{name}: too many roots", change(found, roots=(*c.roots, Fraction(9)), error=up * 2)
    found = GENUINE["table"]
    c, up = found.certificate, found.certificate.error
    halved = times(c.dual, Fraction(1, 2))
    yield (
        "interval turned round, dual variables halved",
        change(found, e=(c.e[1], Fraction(2)), dual=halved, error=up * 2),
    )
    yield "dual variables halved", change(found, dual=halved, error=up * 2)
    yield "dual variables negative", change(found, dual=times(c.dual, -1), error=-up)
    yield "one dual variable less", change(found, dual=(c.dual[0] - sum(c.dual) / 2, *c.dual[1:]), error=up * 2)
    yield "dual variables missing", change(found, dual=c.dual[:-1], error=up)
    yield "directions doubled", change(found, directions=times(c.directions, 2), error=up * 4)
    yield "directions missing", change(found, directions=c.directions[:-1], error=up / 2)
    shifted = tuple(tuple(x + 10**6 for x in h) for h in c.directions)
    yield "directions that do not add up to 0", change(found, directions=shifted, error=up * 100)
    other = limit.least_error((2, 3), 1.0, np.ones((2, 3))).certificate
    yield (
        "another population",
        dataclasses.replace(
            found, certificate=other, error=float(other.error), attained=float(other.error) * (1 + 1e-8)
        ),
    )
    yield "frequencies that do not add up", change(found, frequencies=times(c.frequencies, 9), error=up * 9)
    swapped = (*c.frequencies[1:], c.frequencies[0])
    yield "frequencies of other records", change(found, frequencies=swapped, error=up * 2)
    lower = (c.frequencies[0] - 1, c.frequencies[1] + 1, *c.frequencies[2:])
    yield "a negative frequency", change(found, frequencies=lower, error=up * 2)
    for target in ("pairs", "prefixes", "anything"):
        yield f"the target {target}", dataclasses.replace(change(found, target=target, error=up * 2), target=target)
    yield "a domain with the same records", change(found, k=(3, 2), error=up * bit)
    unequal = limit.SetCertificate(
        k=(4, 9),
        e=(Fraction(8), Fraction(8)),
        roots=(Fraction(2), Fraction(3)),
        keep=0,
        rows=((Fraction(1, 4), (0, Fraction(9, 4))), (Fraction(1), (0, 0))),
        ceiling=Fraction(5, 4),
        error=Fraction(25, 6) ** 2 / Fraction(5, 4),
    )
    base = dataclasses.replace(limit.least_error((4, 9), math.log(8)), certificate=unequal)
    assert base.attained < unequal.error  # one question is better than this bound
    yield "equal weights of unequal domains", change(base, error=unequal.error)
    for k in ((9, 4), (2, 25), (16, 4)):
        roots = tuple(Fraction(math.isqrt(size)) if math.isqrt(size) ** 2 == size else rounded(size**0.5) for size in k)
        rows = ((Fraction(1, k[0]), (0, Fraction((k[0] - 1) ** 2, k[0]))), (Fraction(1), (0, 0)))
        yield f"rows of equal domains for {k}", change(base, k=k, roots=roots, rows=rows, error=Fraction(10**3))
    found = GENUINE["drawn"]
    c, up = found.certificate, found.certificate.error
    for what, row in {
        "a negative share": (Fraction(-1), (0, 0, 0)),
        "a share of zero": (Fraction(0), (0, 0, 0)),
        "negative draws": (Fraction(1, 9), (0, Fraction(9, 4), -Fraction(9, 4))),
        "draws of too few": (Fraction(1, 9), (Fraction(9, 4),)),
        "another kind of row": (Fraction(1, 9), None),
    }.items():
        low = change(found, rows=(row,), ceiling=c.ceiling / 3, error=up * 3)
        yield f"drawn: {what}", low
    fewer = (Fraction(1, 9), (Fraction(-11, 25), Fraction(19, 50), Fraction(52, 25)))  # else they would be enough
    whole = (Fraction(1), (0, 0, 0))
    low = change(found, rows=(fewer, whole), ceiling=c.ceiling * Fraction(9, 10), error=up / 9 * 10)
    yield "drawn: fewer than none", low
    yield "drawn: no rows", change(found, rows=(), ceiling=c.ceiling / 3, error=up * 3)
    found = GENUINE["monotone"]
    c, up = found.certificate, found.certificate.error
    for keep in (-1, 3, 1.0, True, 10**6):
        yield f"keep {keep}", change(found, keep=keep, ceiling=c.ceiling / 2, error=up * 2)
    found = GENUINE["any"]
    c, up = found.certificate, found.certificate.error
    for tilt in (Fraction(-1), Fraction(2), Fraction(0)):
        yield f"tilt {tilt}", change(found, tilt=tilt, ceiling=c.ceiling / 2, error=up * 2)


def machine_numbers():
    """Yield forgeries of numbers that are no fractions: a machine's integers overflow, and integers became floats."""
    wide = np.int64(2**32)  # its square is 0, so a set would tell nothing
    for name in ("all sets", "monotone", "drawn", "mixed", "any", "table", "pairs"):
        c, up = GENUINE[name].certificate, GENUINE[name].certificate.error
        if hasattr(c, "roots"):
            small, roots = c.ceiling / 10**6, (wide,) * len(c.roots)
            yield f"{name}: roots that overflow", change(GENUINE[name], roots=roots, ceiling=small, error=up * 10**3)
        else:
            yield (
                f"{name}: machine's directions",
                change(
                    GENUINE[name],
                    directions=tuple(tuple(map(np.int64, map(round, h))) for h in times(c.directions, 10**6)),
                ),
            )
        yield f"{name}: a machine's bound", change(GENUINE[name], error=np.int64(max(1, up // 2)))
    for k in ((5,), (10,)):  # (k - 1) / k is rounded up
        (found, c), t = (limit.least_error(k, 1.0), limit.least_error(k, 1.0).certificate), Fraction(1)
        tops = [Fraction(s * (k[0] - s), k[0]) / (k[0] + t * s) ** 2 for s in range(1, k[0])]
        floated = {"roots": (1,) * len(k), "e": (t + 1, t + 1), "ceiling": max(tops) * t * t}
        gain = Fraction(sum([(k[0] - 1) / k[0]] * len(k)))
        assert gain > Fraction(len(k) * (k[0] - 1), k[0])
        yield f"{k}: floats in place of fractions", change(found, **floated, error=gain**2 / floated["ceiling"])


FORGED = dict(forgeries()) | dict(machine_numbers())


def test_genuine_limits_are_accepted_by_both():
    for found in (*GENUINE.values(), limit.least_error(load_adult().k, 1.0, load_adult())):
        assert limit.check_certificate(found), found.k
        assert verified(found), found.k


def rows_of(grid, *shares):
    """Return rows in which every attribute differs by a probability of its own."""
    return tuple((Fraction(share, grid), None) for share in shares)


PARTS = {  # domain, roots, `keep` or rows, exp(epsilon) - 1 and a set of records
    "draws of none": ((4, 4, 4), (2, 2, 2), ((Fraction(1, 9), (0, 0, 0)),), 1, "value"),
    "what two attributes share": ((6, 6), (1, 1), ((Fraction(1, 100), (0, 5)),), 1000, "record"),
    "two equal excesses": ((6, 6), (1, 1), rows_of(100, 1), 1000, "record"),
    "two unequal excesses": ((6, 7), (5, 5), rows_of(50, 3, 7, 16, 38, 88, 209), 151, "record"),
    "more records drawn than values": ((19, 2), (1, 9), rows_of(1, 1, 4, 12, 41), 2, "last value"),
    "the largest of the others": ((2, 5, 7), (1, 1, 9), 1, 3, "last value"),
}


@pytest.mark.parametrize("name", PARTS)
def test_no_ceiling_is_below_what_a_set_tells(name):
    """Each part of a check is needed: without it the ceiling, false by one part in a thousand or more, would pass."""
    k, roots, proof, t, kind = PARTS[name]
    sizes = {"value": (1, *k[1:]), "record": (1,) * len(k), "last value": (*k[:-1], 1)}[kind]  # a product set
    mu = Fraction(math.prod(sizes), math.prod(k))
    weight = sum(Fraction(r * r, q) * (Fraction(q, s) - 1) for r, q, s in zip(roots, k, sizes, strict=True))
    told = weight * (t * mu / (1 + t * mu)) ** 2
    keep, rows = (proof, ()) if isinstance(proof, int) else (0, proof)
    gained = sum(Fraction(r * (q - 1), q) for r, q in zip(roots, k, strict=True))
    parts = {"k": k, "e": (Fraction(1 + t),) * 2, "roots": tuple(map(Fraction, roots)), "keep": keep, "rows": rows}
    for factor, want in ((Fraction(999, 1000), False), (Fraction(100), True)):
        ceiling = told * factor
        found = limit.SetCertificate(**parts, ceiling=ceiling, error=gained**2 / ceiling)
        assert limit.check_certificate(found) is want
        text = json.dumps({"kind": "SetCertificate", "target": "shares"} | vars(found), default=Fraction.__str__)
        if want:
            verifier.verify(text)
        else:
            with pytest.raises(ValueError, match="refused"):
                verifier.verify(text)


def test_the_file_needs_the_largest_weight_frequencies_and_directions():
    any_law = GENUINE["any"].certificate
    roots = (any_law.roots[0], 9 * any_law.roots[1])
    told = [Fraction(root * root) / size for root, size in zip(roots, any_law.k, strict=True)]
    gained = sum(root * (size - 1) / size for root, size in zip(roots, any_law.k, strict=True))
    for weight, want in ((max(told), True), (min(told), False)):
        forged = dataclasses.replace(any_law, roots=roots, error=gained**2 / any_law.ceiling / weight)
        assert verified(dataclasses.replace(GENUINE["any"], certificate=forged, error=float(forged.error) / 2)) is want
    bit = {"kind": "TableCertificate", "target": "shares", "k": [2], "e": ["2", "2"], "error": "2/9"}
    bit |= {"dual": ["9", "9"], "directions": [["1", "-1"], ["-1", "1"]]}
    verifier.verify(json.dumps(bit | {"frequencies": ["1/100", "99/100"]}))
    one_side = {"directions": [["1", "0"], ["0", "1"]], "frequencies": ["1/2", "1/2"]}
    for wrong in ({"frequencies": ["-1/100", "101/100"]}, one_side):
        with pytest.raises(ValueError, match="negative frequency"):
            verifier.verify(json.dumps(bit | wrong))


@pytest.mark.parametrize("target", ["shares", "pairs", "prefixes"])
@pytest.mark.parametrize("number", range(12))
def test_the_file_needs_as_much_of_the_dual_variables_as_some_set_asks(target, number):
    """At random: what is exactly enough is accepted, what is less by one part in a million is refused."""
    rng = np.random.default_rng(number)
    k = {"shares": [(2,), (3,), (2, 2), (2, 3)], "pairs": [(2, 2), (2, 3), (3, 2), (2, 2, 2)]}.get(target, [(2,), (4,)])
    k = k[number % len(k)]
    n, rows, e = math.prod(k), target_rows(k, target), Fraction(int(rng.integers(3, 20)), 2)
    f = [Fraction(int(x)) for x in rng.integers(0, 9, n) + np.eye(n, dtype=int)[number % n]]
    f, dual = [x / sum(f) for x in f], [Fraction(int(x)) for x in rng.integers(1, 9, n)]
    h = [[Fraction(int(x)) - Fraction(int(a.sum()), n) for x in a] for a in 9 * rows + rng.integers(-3, 4, rows.shape)]
    every = list(itertools.product((1, e), repeat=n))

    def dot(a, b):
        return sum(x * y for x, y in zip(a, b, strict=True))

    enough = max(sum(dot(w, a) ** 2 for a in h) / dot(dual, w) / dot(f, w) for w in every)
    gain = sum(dot(map(int, a), b) for a, b in zip(rows, h, strict=True))
    told = {
        "kind": "TableCertificate",
        "target": target,
        "k": k,
        "e": (Fraction(1), e),
        "frequencies": f,
        "directions": h,
    }
    for factor in (Fraction(1), 1 - Fraction(1, 10**6)):
        held = [x * enough * factor for x in dual]
        text = json.dumps(told | {"dual": held, "error": gain**2 / sum(held)}, default=Fraction.__str__)
        if factor == 1:
            assert target in verifier.verify(text)
        else:
            with pytest.raises(ValueError, match="a set of records"):
                verifier.verify(text)


@pytest.mark.parametrize(("k", "epsilon"), [((4, 4, 4), 0.1), ((4, 4, 4), 0.7), ((5, 5, 5), 0.3), ((4, 4, 4), 4.0)])
def test_the_file_needs_nearly_the_whole_ceiling_of_draws(k, epsilon):
    found = limit.least_error(k, epsilon)
    near = found.attained / found.error - 1
    part = 1 - Fraction(max(near, 1e-6)) * 2
    low = change(found, ceiling=found.certificate.ceiling * part, error=found.certificate.error / part)
    assert verified(found)
    assert not verified(low)


def drawn(k, roots, ceiling, *rows):
    gained = sum(Fraction(r * (q - 1), q) for r, q in zip(roots, k, strict=True))
    told = {"kind": "SetCertificate", "target": "shares", "k": k, "roots": roots, "keep": 0, "rows": rows}
    return told | {"ceiling": ceiling, "error": gained**2 / ceiling}


def law(e, tilt, ceiling, target="shares"):
    told = {"kind": "LawCertificate", "target": target, "e": (e, e), "k": (3, 6), "roots": (1, 1), "tilt": tilt}
    return told | {"ceiling": ceiling, "error": Fraction(3, 2) ** 2 / ceiling * 3}


def table(**fields):
    told = {"kind": "TableCertificate", "target": "shares", "k": (2,), "e": (2, 2), "error": Fraction(2, 9)}
    told |= {"dual": (9, 9), "directions": ((1, -1), (-1, 1)), "frequencies": (Fraction(1, 100), Fraction(99, 100))}
    return told | fields


HALF, ALL = (Fraction(1, 2), (0, Fraction(1, 2))), (Fraction(1), (0, 0))
TRUE = {
    "draws": drawn((4, 9), (2, 3), Fraction(2), (Fraction(1), None)) | {"e": (4, 4)},
    "law": law(Fraction(2), Fraction(1), Fraction(1, 4)),
    "law at its tilt": law(Fraction(2), Fraction(7, 9), Fraction(9, 64)),
    "table": table(),
}
FALSE = {  # each is refused for one reason only
    "draws of equal domains for unequal ones": drawn((4, 9), (2, 3), Fraction(1, 2), HALF, ALL) | {"e": (4, 4)},
    "draws of equal weights for unequal ones": drawn((5, 5), (2, 1), Fraction(2, 5), HALF, ALL) | {"e": (4, 4)},
    "a part of three attributes": drawn(
        (4,) * 3, (2,) * 3, Fraction(29, 5), (Fraction(1, 100), (0, Fraction(2), Fraction(18, 5)))
    )
    | {"e": (301, 301)},
    "a set that nobody is outside of": law(Fraction(2), Fraction(1), Fraction(24, 100)),
    "a peak between two shares": drawn((4, 9), (2, 3), Fraction(9, 16) - Fraction(1, 10**6), (Fraction(1), None))
    | {"e": (4, 4)},
    "a share below 0": drawn((5, 5), (5, 5), 20, (Fraction(-1), None), (Fraction(1), None)) | {"e": (101, 101)},
    "a law of less": law(Fraction(2), Fraction(7, 9), Fraction(1405, 10000)),
    "a law of tables": law(Fraction(2), Fraction(1), Fraction(1, 4), "pairs"),
    "frequencies of less than 1": table(frequencies=(Fraction(1, 100), Fraction(98, 100))),
    "frequencies of more than 1": table(frequencies=(Fraction(1, 100), 1)),
    "a frequency too many": table(frequencies=(Fraction(1, 100), Fraction(98, 100), Fraction(1, 100))),
    "a dual variable too many": table(dual=(9, 9, 0)),
    "a direction too long": table(directions=((1, -1, 0), (-1, 1, 0))),
    "less than nothing by one": table(dual=(Fraction(2, 5),) * 2, frequencies=(Fraction(1, 2),) * 2, error=5),
    "too many records": table(
        k=(17,),
        dual=(99,) * 17,
        directions=tuple(tuple(17 * (x == r) - 1 for x in range(17)) for r in range(17)),
        frequencies=(Fraction(1, 17),) * 17,
    ),
    "cumulative shares of two attributes": table(
        target="prefixes", k=(2, 2), dual=(99,) * 4, directions=((1, -1, 0, 0),) * 3, frequencies=(Fraction(1, 4),) * 4
    )
    | {"error": Fraction(1, 999)},
}


@pytest.mark.parametrize("name", TRUE)
def test_what_is_forged_from_is_true(name):
    verifier.verify(json.dumps(TRUE[name], default=Fraction.__str__))


@pytest.mark.parametrize("name", FALSE)
def test_the_file_needs_each_of_its_checks(name):
    with pytest.raises(ValueError, match="refused"):
        verifier.verify(json.dumps(FALSE[name], default=Fraction.__str__))


def test_there_are_many_forgeries():
    assert len(FORGED) > 100


@pytest.mark.parametrize("name", FORGED)
def test_forgeries_are_refused_by_the_library(name):
    assert not limit.check_certificate(FORGED[name])


OUTSIDE = ("another population", "frequencies of other records")  # another true bound, of another question


@pytest.mark.parametrize("name", [name for name in FORGED if name != OUTSIDE[0]])
def test_forgeries_are_refused_by_the_file(name):
    assert not verified(FORGED[name])


@pytest.mark.parametrize("name", [name for name in FORGED if "budget" not in name and name not in OUTSIDE])
def test_forged_certificates_alone_are_refused(name):
    """What a certificate proves of itself, without the limit around it."""
    assert not limit.check_certificate(FORGED[name].certificate)


@pytest.mark.parametrize("name", GENUINE)
@pytest.mark.parametrize(
    "forged",
    [
        {"attained": 0.9},
        {"attained": 1.1},
        {"attained": math.nan},
        {"error": 1.0001},
        {"error": math.nan},
        {"error": 0.0},
        {"error": -1.0},
        {"k": (3, 2)},
        {"k": None},
        {"epsilon": 1.001},
        {"epsilon": "1"},
        {"weights": ()},
        {"weights": "turned"},
        {"weights": "doubled"},
        {"sets": ()},
        {"sets": "first"},
        {"population": (Fraction(1),)},
        {"population": "uniform"},
        {"target": "prefixes"},
        {"certificate": None},
        {"certificate": 3},
    ],
    ids=str,
)
def test_a_limit_is_tied_to_what_it_says(name, forged):
    found, (field, value) = GENUINE[name], next(iter(forged.items()))
    if field in ("attained", "error"):
        value *= getattr(found, field)
    if value == "turned":
        value = (found.weights[0] / 2 + 0.5, *(w / 2 for w in found.weights[1:]))
        if len(found.weights) == 1 or (len({*found.weights}) == 1 and name == "drawn"):
            value = (2.0,)
    if value == "doubled":
        value = tuple(2 * w for w in found.weights)
    if value == "first":
        value = (found.sets[0],) * len(found.sets) if len(found.sets) > 1 else ((1, 1),)
    assert not limit.check_certificate(dataclasses.replace(found, **{field: value}))


@pytest.mark.parametrize("name", GENUINE)
def test_what_cannot_be_read_is_refused_and_nothing_is_raised(name):
    found = GENUINE[name]
    for epsilon in (1e4, 0.0, -1.0, math.inf, math.nan, True, None):  # the first was a computation of hours
        assert not limit.check_certificate(dataclasses.replace(found, epsilon=epsilon)), epsilon
    for sets in (3, ("values",), (("boxes", 1, 0, 1, 1),), (("values", 0, 0.7),), ((-1,) * len(found.k),), ((),)):
        assert not limit.check_certificate(dataclasses.replace(found, sets=sets, weights=(1.0,))), sets
    assert not limit.check_certificate(dataclasses.replace(found, error=str(found.error)))


def test_a_set_has_a_record_of_every_attribute():
    found = limit.least_error((4, 4, 4), 6.0)
    assert found.sets == ((1, 1, 1),)
    for sets in (((1,),), (1,), ((1, 1),), ((1, 1, 1, 1),)):
        assert not limit.check_certificate(dataclasses.replace(found, sets=sets)), sets


def test_a_set_has_a_whole_number_of_values():
    """Of 1.3 values a set would tell more than any that exists: here the error would be below the least attained."""
    found, sizes = GENUINE["any"], (1, 1.3)
    errors = [_any_population.one_error(math.e, (3, 5), j, size, found.population) for j, size in enumerate(sizes)]
    roots = np.sqrt(errors)
    less = float(roots.sum() ** 2)
    assert found.certificate.error < less < 0.99 * found.attained
    sets, weights = ((sizes[0], 5), (3, sizes[1])), tuple((roots / roots.sum()).tolist())
    assert not limit.check_certificate(dataclasses.replace(found, sets=sets, weights=weights, attained=less))


def test_only_the_three_kinds_of_certificates_speak_for_themselves():
    """An object, or a class of one's own, could say of itself that it is true."""

    class Willing(limit.SetCertificate):
        def check(self):
            return True

    found = GENUINE["all sets"]
    parts = {field.name: getattr(found.certificate, field.name) for field in dataclasses.fields(found.certificate)}
    forged = Willing(**parts | {"error": found.certificate.error * 2})
    for said in (SimpleNamespace(check=lambda: True), forged, change(found, error=forged.error)):
        assert not limit.check_certificate(said)
    assert not limit.check_certificate(
        dataclasses.replace(found, certificate=forged, error=2 * found.error, attained=2.01 * found.attained)
    )
    assert not limit.check_certificate(dataclasses.replace(found, certificate=Willing(**parts)))


def test_a_certificate_has_no_check_of_its_own():
    """The class is right, but what is called is the object's."""
    for name, found in GENUINE.items():
        forged = more(found)
        forged.certificate.__dict__["check"] = lambda: True
        assert forged.certificate.check()
        assert not limit.check_certificate(forged.certificate), name
        assert not limit.check_certificate(dataclasses.replace(forged, attained=2.01 * found.attained)), name


def test_an_interval_that_shows_another_budget_than_it_holds_is_refused():
    class Small(tuple):  # a smaller budget, where it is computed with
        __slots__ = ()

        def __getitem__(self, i):
            return less.e[1] if i == 1 else super().__getitem__(i)

    less = limit.least_error((2, 3), 0.1).certificate
    assert limit.check_certificate(less)
    forged = dataclasses.replace(less, e=Small((Fraction(1), GENUINE["all sets"].certificate.e[1])))
    assert tuple(forged.e)[1] > math.e > forged.e[1]
    assert forged.error > 10 * GENUINE["all sets"].attained
    assert not limit.check_certificate(forged)


def test_a_population_does_not_say_itself_that_it_is_the_right_one():
    class Same:
        def __eq__(self, other):
            return True

        __hash__ = None

    found = GENUINE["table"]
    assert found.population == Same()
    assert not limit.check_certificate(dataclasses.replace(found, population=Same()))


def test_a_bound_for_a_smaller_budget_is_refused_though_the_mixture_is_a_poor_one_of_the_larger():
    """Its own error is above both bounds: only the interval of the exponential tells that one of them is none."""

    def poor(epsilon):
        attained = (1 / 2 + 2 / 3) * (1 + 6 / math.expm1(epsilon)) ** 2  # one value of each attribute, 1 record of 6
        changed = {"epsilon": epsilon, "sets": ((1, 1),), "weights": (1.0,), "attained": attained}
        return dataclasses.replace(GENUINE["all sets"], **changed)

    assert poor(1.0001).attained > poor(1.0001).error > limit.least_error((2, 3), 1.0001).attained
    assert limit.check_certificate(poor(1.0))
    assert not limit.check_certificate(poor(1.0001))


def test_a_budget_finer_than_a_float_is_not_that_float():
    """The exponential is enclosed at the float: the interval does not hold that of a slightly larger budget."""
    found = GENUINE["all sets"]
    for epsilon in (1, np.float32(1)):
        assert limit.check_certificate(dataclasses.replace(found, epsilon=epsilon))
    for epsilon in (1 + Fraction(1, 10**17), np.longdouble(1) + np.longdouble(2) ** -60):
        if epsilon != 1:  # where a long double is a double, it is
            assert not limit.check_certificate(dataclasses.replace(found, epsilon=epsilon)), epsilon


def test_numbers_that_overflow_are_refused_beside_an_array_too():
    """Tuples and an array add up entry by entry: the sums are Fractions, the directions' own numbers are not."""
    found = GENUINE["table"].certificate
    high, rest = np.int64(2**32), (np.int64(0),) * 2  # its square is 0
    for dual in (found.dual, np.array(found.dual, object)):
        told = dataclasses.replace(found, dual=dual, directions=((high, *rest, -high, *rest), *found.directions[1:]))
        forged = dataclasses.replace(told, error=100 * found.error)
        with np.errstate(over="ignore"):
            assert not limit.check_certificate(forged)


def test_no_part_of_a_fraction_is_a_machine_number():
    """Fraction(np.int64(2**32)) is a Fraction whose square is 0, so that no set would tell anything."""
    e, wide = (Fraction(5, 2), Fraction(3)), Fraction(np.int64(2**32))
    parts = {"k": (2,), "e": e, "keep": 1, "rows": (), "ceiling": Fraction(1), "error": Fraction(10**6)}
    assert type(wide) is Fraction
    with np.errstate(over="ignore"):
        assert not wide * wide
        assert not limit.check_certificate(limit.SetCertificate(roots=(wide,), **parts))
        assert not limit.check_certificate(
            limit.SetCertificate(roots=(Fraction(np.int64(2**32), np.int64(1)),), **parts)
        )


def test_a_stated_error_is_no_machine_integer():
    """Compared with a float's fraction, its product with the denominator overflows to 0."""
    found = GENUINE["all sets"]
    attained = float(found.certificate.error) * (1 - 5e-7)
    assert limit.check_certificate(dataclasses.replace(found, error=attained, attained=attained))
    with np.errstate(over="ignore"):
        error = np.int64(2**63 // Fraction(attained).denominator * 2)
        assert error > 100 * attained
        assert not Fraction(error) > Fraction(attained)
        assert not limit.check_certificate(dataclasses.replace(found, error=error, attained=attained))


def test_the_domain_of_a_limit_does_not_overflow():
    """So many records are 384 modulo 2^64: a hundred of them would be a quarter of all."""
    k = (2,) * 7 + (23, 23, 37, 67, 149, 853, 1471, 2939)
    found, wide = limit.least_error(k, 1.0), tuple(map(np.int64, k))
    lists = [tuple(tuple(i * (j == own) for j in range(len(k))) for i in range(103)) for own in (13, 14)]
    sets, told = (*lists, k), (found.error * 1.0001, found.error * 1.01)
    with np.errstate(over="ignore"):
        assert math.prod(wide) == math.prod(k) % 2**64 == 384
        for machine, share in itertools.product((wide, k), (0.0013, 0.0014)):
            weights = (share / 2, share / 2, 1 - share)
            for attained in (checks._uniform_error(machine, math.expm1(1), sets, weights), *told):
                forged = dataclasses.replace(found, k=wide, sets=sets, weights=weights, attained=attained)
                assert limit.check_certificate(forged) == (attained > 1e30), attained
        assert limit.check_certificate(dataclasses.replace(found, k=wide))


def test_the_size_of_a_set_does_not_overflow():
    k = (4_000_003, 3)
    population = Population.from_records(np.zeros((1, 2), int), k=k)
    found, weights = limit.least_error(k, 1.0, population), (1 - 1e-7, 1e-7)
    sizes = (np.int64(found.sets[0][0]), found.sets[1][1])
    with np.errstate(over="ignore"):
        errors, same = (
            [_any_population.one_error(math.e, k, j, kind(size), population) for j, size in enumerate(sizes)]
            for kind in (np.int64, int)
        )
        assert errors == same
        right, wrapped = k[0] * int(sizes[0]) * (k[0] - int(sizes[0])), k[0] * sizes[0] * (k[0] - sizes[0])
        errors[0] *= right / wrapped  # as a formula would have it that multiplies a machine's integers
        attained = float(sum(error / weight for error, weight in zip(errors, weights, strict=True)))
        assert errors[0] < 0 < found.error < attained < found.attained
        sets = ((sizes[0], k[1]), (k[0], sizes[1]))
        assert not limit.check_certificate(dataclasses.replace(found, sets=sets, weights=weights, attained=attained))
        assert limit.check_certificate(dataclasses.replace(found, sets=sets))


def test_rounding_is_no_information():
    """Five records with all values once tell nothing of one answer, but 5 * 5 / 25^2 is not quite (1/5)^2 in floats."""
    found = limit.least_error((5, 5), 1.0)
    sets = (tuple((i, i) for i in range(5)), tuple((0, i) for i in range(5)))
    assert 5 * 5 / 25**2 - 0.2**2
    for share in np.geomspace(1e-17, 1e-15, 100):
        forged = dataclasses.replace(found, sets=sets, weights=(1 - share, share))
        assert checks._attained(forged) == math.inf
    forged = dataclasses.replace(forged, weights=(1 - 8.673617379884033e-17, 8.673617379884033e-17), attained=128.0)
    assert not limit.check_certificate(forged)


@pytest.mark.parametrize("size", [2**32, 10**12, 2**53, 10**18])
def test_a_set_of_all_values_but_one_tells_what_it_does(size):
    """Beyond the library's domains too: size / (size - 1) - 1 in floats has lost all digits at 2^53."""
    t, share = Fraction(math.expm1(1)), Fraction(size - 1, size)
    error = Fraction((size - 1) ** 2, size) * ((1 + t * share) / (t * share)) ** 2 * (size - 1)
    assert checks._uniform_error((size,), float(t), ((size - 1,),), (1.0,)) == pytest.approx(float(error), rel=1e-9)


def test_shares_too_small_for_a_float_are_no_information():
    """The square of 3^-338 is rounded to a few digits, and what is left of its copies' difference counted as told."""
    t, one = math.expm1(20.0), ((0,) * 338,)
    told = 2 * (t / (3**338 + t)) ** 2
    assert checks._uniform_error((3,) * 338, t, (one,), (1.0,)) == pytest.approx(338 * 4 / 3 / told, rel=1e-9)
    k = (3,) * 339
    found, sets = limit.least_error(k, 20.0), (tuple((v,) * len(k) for v in range(3)),)
    assert checks._uniform_error(k, t, sets, (1.0,)) == math.inf
    forged = dataclasses.replace(found, sets=sets, weights=(1.0,), attained=1.2955472263461805e308)
    assert not limit.check_certificate(forged)


@pytest.mark.parametrize("often", [np.array([0.0]), np.array([0]), np.array([-0.0]), np.array([False])], ids=repr)
def test_an_array_of_a_zero_is_no_row_left_out(often):
    """It is as false as None, but is computed with: in floats, where the squares of 1e-170 are 0."""
    e, rows = (Fraction(1), 1 + Fraction(1, 10**170)), ((Fraction(1), often),)
    parts = {"k": (2,), "roots": (Fraction(1),), "keep": 0}
    forged = {"ceiling": Fraction(1, 10**1000), "error": Fraction(10**999)}
    assert not limit.check_certificate(limit.SetCertificate(e=e, rows=rows, **parts, **forged))


def test_records_are_those_of_the_domain():
    found = GENUINE["table"]
    other = tuple(tuple((0, 3 * a + b) for a, b in chosen) for chosen in found.sets)  # the same places in the list
    assert not limit.check_certificate(dataclasses.replace(found, sets=other))


def test_tables_of_pairs_are_told_of_by_sets_that_exist():
    """A share 1/(1 + e) of the values would be best; no set of two or three values has it."""
    found, best = GENUINE["pairs"], 1 / (1 + math.e)
    sets = (("values", 0, 2 * best), ("values", 1, 3 * best), ("boxes", 0, 1, 2 * best**0.5, 3 * best**0.5))
    weights = (0.3, 0.3, 0.4)
    least = pair_tables._mixture_error(found.k, math.e - 1, sets, weights)
    forged = dataclasses.replace(found, sets=sets, weights=weights, attained=least, error=min(found.error, least))
    assert not limit.check_certificate(forged)


@pytest.mark.parametrize("name", GENUINE)
def test_the_file_reads_fractions_only_and_names_the_population_itself(name):
    written = json.loads(GENUINE[name].to_json())
    for word in ("1e0", "0.5", " 1", "1_0", "inf", "nan", True, [], None, {}):
        with pytest.raises((TypeError, ValueError)):
            verifier.verify(json.dumps(written | {"error": word}))
    for kind in ("", "Certificate", None, ["SetCertificate"]):
        with pytest.raises((KeyError, TypeError)):
            verifier.verify(json.dumps(written | {"kind": kind}))
    if written["kind"] != "TableCertificate":
        said = verifier.verify(json.dumps(written | {"frequencies": ["9/10", "1/10"]}))
        assert said == verifier.verify(json.dumps(written))
        assert "9/10" not in said


def test_the_file_refuses_more_sets_than_it_can_try():
    written = json.loads(GENUINE["monotone"].to_json())
    for k, keep in (((2,) * 64, 64), ((2,) * 8, 8), ((2,) * 9, 7), ((300, 2), 2)):
        forged = written | {"k": k, "keep": keep, "roots": ["1"] * len(k), "error": "1/100"}
        with pytest.raises(ValueError, match=r"refused: (attributes that are kept|sets to try)"):
            verifier.verify(json.dumps(forged))


def test_the_file_shares_nothing_with_the_library_and_is_short():
    text = FILE.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    nodes = list(ast.walk(ast.parse(text)))
    modules = {name.name for node in nodes if isinstance(node, ast.Import) for name in node.names}
    modules |= {node.module for node in nodes if isinstance(node, ast.ImportFrom)}
    assert modules == {"json", "sys", "fractions", "itertools", "math"}
    assert not any(isinstance(node, ast.Constant) and isinstance(node.value, float) for node in nodes)


@pytest.mark.parametrize("name", GENUINE)
def test_the_file_names_the_theorem_that_it_assumes(name):
    """None for up to 16 records, but where the closed form for every population was used."""
    k, kind = GENUINE[name].k, type(GENUINE[name].certificate).__name__
    few = "none" if math.prod(k) <= 16 else "drawn records" if GENUINE[name].certificate.rows else "monotone sets"
    want = "any population" if kind == "LawCertificate" else few
    assert verifier.verify(GENUINE[name].to_json()).endswith(f"; theorem: {want}")


def test_the_file_runs_alone():
    def run(text):
        return subprocess.run([sys.executable, "-I", FILE], input=text, capture_output=True, text=True, check=False)

    good = GENUINE["table"].to_json()
    assert "theorem: none" in run(good).stdout
    assert run(good.replace('"error": "', '"error": "9')).returncode
    assert run(good.replace('"error": "', '"error": 1.5, "was": "')).returncode


def test_a_limit_without_a_certificate_writes_none():
    with pytest.raises(ValueError, match="too many records"):
        least_pair_error((4, 5), 1.0).to_json()
    assert not limit.check_certificate(least_pair_error((4, 5), 1.0))


def replaced(found, **parts):
    """Return a limit with other sets, whose stated numbers are what the check computes from them."""
    forged = dataclasses.replace(found, **parts)
    attained = checks._attained(forged)
    return dataclasses.replace(forged, attained=attained, error=min(found.error, attained * (1 - 1e-9)))


def test_what_attains_a_limit_is_judged_at_its_own_question():
    """An error attained below what the own certificate proves, records named twice, sets that are no mechanism."""
    shares, rows = limit.least_error((8,), 1.0), json.loads((FILE.parent / "atlas.json").read_text(encoding="utf-8"))
    told = next(one for one in rows if (one["target"], one["domain"], one["epsilon"]) == ("prefixes", [8], 1.0))
    told = {name: told["certificate"][name] for name in ("e", "frequencies", "dual", "directions", "error")}
    parts = {name: tuple(map(Fraction, told[name])) for name in ("e", "frequencies", "dual")}
    directions = tuple(tuple(map(Fraction, one)) for one in told["directions"])
    more = {"directions": directions, "error": Fraction(told["error"]), "target": "prefixes"}
    cumulative = TableCertificate(k=(8,), **parts, **more)
    assert limit.check_certificate(shares)
    assert limit.check_certificate(cumulative)
    swapped = dataclasses.replace(shares, certificate=cumulative, target="prefixes")
    assert shares.attained < cumulative.error  # the error of shares, for cumulative ones
    assert not limit.check_certificate(swapped)
    three = limit.least_error((4, 4, 4), 6.0)
    assert not limit.check_certificate(replaced(three, sets=(((0, 1, 2), range(3)),), weights=(1.0,)))
    for epsilon in (1e-6, 1e-4):
        one = limit.least_error((2,), epsilon, np.array([1, 1]))
        assert limit.check_certificate(one)
        assert not limit.check_certificate(replaced(one, weights=(0.505, 0.495)))
        assert not limit.check_certificate(replaced(one, sets=(((0,),),), weights=(1.0,)))


@pytest.mark.parametrize("k", [(3_037_000_501,), (2**32,), (2, 2**32)])
def test_limits_of_the_largest_domains_are_verified(k):
    found = limit.least_error(k, 1.0)
    assert limit.check_certificate(found)
    assert not limit.check_certificate(
        dataclasses.replace(found, attained=found.attained / 100, error=found.error / 100)
    )

"""Live boxes: right formulas equal the enumeration and the library, mistakes do not, in Python."""

import gzip
import importlib.util
import itertools
import math
import sys
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest

from ldp_lib import (
    GRR,
    Population,
    RRIndependent,
    channel,
    corr_rr,
    designs,
    fake_data,
    grr,
    jrr,
    limit,
    splitting,
    subset,
)
from ldp_lib.jrr import privacy

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import live  # noqa: E402

BOXES = {box.name: box for box in live.boxes()}
FORMULAS = [(box, name) for box in BOXES.values() for name in box.formulas]
MOST_BYTES = 6_000_000  # compressed, on the first click


def space(box, name=None):
    """Return what a box's file defines, with one of its formulas."""
    found = {}
    exec(live.IMPORTS + box.formulas[name or box.first][0] + box.exact, found)
    return found


def library_variance(formula):
    for yes, n, e in [(0, 5, F(3)), (2, 5, F(7, 2)), (9, 10, F(2))]:
        mechanism = GRR(k=2, epsilon=math.log(e))
        yield formula["variance"](yes, n, e), mechanism.variance(Population.from_counts([n - yes, yes]))[1]


def library_privacy_ratio(formula):
    for each in formula["CHANNELS"].values():
        yield formula["ratio"](each), channel.privacy_ratio(np.array(each))


def library_inverse(formula):
    for k, e in [(2, F(3)), (5, F(2))]:
        mechanism = GRR(k=k, epsilon=math.log(e))
        for value in range(k):  # one report of each value alone: what it adds to the estimate
            yield from zip(formula["inverse"](k, e)[value], mechanism.estimate(np.array([value])), strict=True)


def library_subset_size(formula):
    for k in (3, 4, 9, 17, 40):
        for e in (F(3, 2), F(2), F(5)):
            yield formula["size"](k, e), subset.optimal_size(e, k)


def library_sampling_or_splitting(formula):
    for f, d, r in [(0.5, 2, 2.0), (0.25, 3, 1.5)]:
        for own, (people, epsilon) in zip(
            formula["variances"](f, d, r), [(1, d * math.log(r)), (d, math.log(r))], strict=True
        ):
            fixed = GRR(k=2, epsilon=epsilon).variance(Population.from_counts([0, 1]))[1]
            yield own, (fixed + f * (1 - f)) / people


def library_cubic(formula):
    k = (2, 5, 16)
    x = np.exp(np.array(splitting.obrr(k, 3.0)) / 2)
    saving = np.array(k) * x * (x + 1) / (2 * (x - 1) ** 3)  # its own, and any other's, are the same
    for size, root in zip(k, x, strict=True):
        for other in saving:
            yield formula["cubic"](root, size / (2 * other)) / (root - 1) ** 3, 0


def library_corr_rr_mse(formula):
    a, b = [F(1, 2), F(1, 3), F(1, 6)], [F(1, 5), F(1, 5), F(3, 5)]
    for p_y, n, e in [(F(1, 2), 7, F(2)), (F(1), 3, F(3)), (F(1, 3), 10, F(3, 2))]:
        reuse = [[1, p_y], [p_y, 1]]
        bias = corr_rr.expectation([a, b], reuse)[0] - a
        yield formula["mse"](a, b, p_y, n, e), sum(corr_rr.iid_variance([a, b], reuse, n, e)[0]) + sum(bias**2)


def library_jrr_colluder(formula):
    for p, rho, n in [(F(3, 5), F(-1, 2), 4), (F(2, 3), F(-1, 3), 10), (F(4, 7), F(0), 100)]:
        yield formula["ratio"](p, rho, n), privacy.colluder_ratio(p, rho, n, 1)


def library_two_person_transcript(formula):
    for p, rho in [(F(3, 5), F(-1, 2)), (F(2, 3), F(-1, 3)), (F(4, 7), F(-1, 9))]:
        yield formula["ratio"](p, rho), privacy.transcript_ratio(p, rho, 2)


def library_certificate(formula):
    for epsilon in (0.5, 1.0, math.log(3)):
        yield formula["least"](math.exp(epsilon)), limit.least_error((2, 2), epsilon).error


def library_amplification(formula):
    half = [F(1, 2), F(1, 2)]
    for e in (F(2), F(3), F(9, 2)):
        matrix = fake_data.channel(2 * (e - 1) + 1, (2, 2), [half, half])
        yield formula["ratio"](e), channel.privacy_ratio(matrix)


def library_joint_from_separate(formula):
    mechanism, one = RRIndependent(k=(2, 2), epsilon=2 * math.log(3)), np.array([[0.75, 0.25], [0.25, 0.75]])
    counts = np.rint(160 * one.T @ np.array([[0.4, 0.1], [0.2, 0.3]]) @ one).astype(int)  # whole numbers
    reports = np.repeat([[a, b] for a in (0, 1) for b in (0, 1)], counts.ravel(), axis=0)
    yield from zip(formula["estimate"](counts / 160, 3.0), mechanism.estimate_table(reports, 0, 1).ravel(), strict=True)


def library_keep_ratio(formula):
    for p, k in [(F(1, 2), 2), (F(3, 10), 7), (F(9, 10), 3)]:
        matrix = np.array([[p * int(i == j) + (1 - p) / k for j in range(k)] for i in range(k)])
        yield formula["ratio"](p, k), channel.privacy_ratio(matrix)


def library_best_copy(formula):
    for n in (2, 7, 1000):
        a, b = [F(1, 2), F(1, 3), F(1, 6)], [F(1, 5), F(1, 5), F(3, 5)]
        yield formula["best"](a, b, n), corr_rr.minimizer(a, b, n)


def library_copies_and_dependence(formula):
    for table in ([[F(1, 2), F(0)], [F(0), F(1, 2)]], [[F(2, 5), F(1, 5)], [F(1, 10), F(3, 10)]], [[F(1, 4)] * 2] * 2):
        a, b = np.sum(table, axis=1), np.sum(table, axis=0)
        p_y, e = F(4, 5), F(3)
        mean = corr_rr.expectation([a, b], [[1, p_y], [p_y, 1]])[0, 1]
        p, q = grr.probabilities(e, 2)
        yield formula["seen"](table, p_y, e), q + (p - q) * mean


def library_two_colluders(formula):
    for p, rho, n in [(F(3, 5), F(-1, 2), 4), (F(2, 3), F(-1, 3), 10), (F(4, 7), F(-1, 9), 100)]:
        yield formula["ratio"](p, rho, n), privacy.colluder_ratio(p, rho, n, 2)


def library_correlation_of_truths(formula):
    for p, rho, k in [(F(1, 2), F(-1, 2), 3), (F(2, 5), F(-1), 4), (F(1, 3), F(1, 4), 5)]:
        both, *_ = jrr.table(p, rho, k)
        yield formula["correlation"](p, rho, k), (both - p * p) / (p * (1 - p))


def library_jrr_saving(formula):
    for n1, n, p, rho in [(8, 8, F(3, 5), F(-1, 2)), (5, 10, F(2, 3), F(-1, 3)), (40, 100, F(4, 7), F(-1, 5))]:
        yield formula["saving"](n1, n, p, rho), jrr.variance(F(n1), n, p, F(0)) - jrr.variance(F(n1), n, p, rho)


def library_balance(formula):
    for held, n, k, e in [(1, 2, 3, 2.0), (30, 100, 5, 3.0), (0, 7, 4, 1.5)]:
        p, q = grr.probabilities(e, k)
        yield formula["expected"](held, n, k, e), n * q + (p - q) * held


def library_survey_record(formula):
    cases = itertools.product(range(12), range(1, 31), range(10))
    law = designs.joint_law([(m == 6, g == 2, d <= 20, g == 5, 15 <= d <= 25, m == 3) for m, d, g in cases])
    matrix, records = designs.record_channel(F(1, 2), law), list(itertools.product((0, 1), repeat=6))
    for column in (0, 22, 33, 41, 63):
        known = formula["innocuous"](records[column])
        for row, record in enumerate(records):
            agree = formula["agreement"](record, records[column])
            yield formula["likelihood"](agree, *known), matrix[row, column]


LIBRARY = {name.removeprefix("library_"): test for name, test in list(globals().items()) if name.startswith("library_")}


def test_every_box_is_compared_with_the_library():
    assert set(LIBRARY) == set(BOXES)
    assert {box.chapter for box in BOXES.values()} <= {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")}


@pytest.mark.parametrize(("box", "name"), FORMULAS, ids=lambda part: getattr(part, "name", part))
def test_right_formulas_equal_the_enumeration_and_mistakes_do_not(box, name):
    rows = box.rows(name)
    assert len(rows) >= 3
    assert all(equal for *_, equal in rows) == box.formulas[name][1]


@pytest.mark.parametrize("box", BOXES.values(), ids=lambda box: box.name)
def test_right_formulas_are_the_library_s(box):
    for name, (_, right) in box.formulas.items():
        if right:
            pairs = list(LIBRARY[box.name](space(box, name)))
            assert len(pairs) >= 3
            for own, other in pairs:
                assert float(own) == pytest.approx(float(other), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("box", BOXES.values(), ids=lambda box: box.name)
def test_a_formula_is_short(box):
    for code, _ in box.formulas.values():
        assert len(code.strip().splitlines()) <= 16
        assert max(map(len, code.splitlines())) <= 88


def test_what_the_first_click_loads_is_small():
    data = Path(importlib.util.find_spec("brython").origin).parent / "data"
    assert sum(len(gzip.compress((data / name).read_bytes())) for name in live.SCRIPTS) < MOST_BYTES

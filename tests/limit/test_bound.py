"""The limit: certificates that hold and can fail, sets found by brute force, and mechanisms that do not beat it."""

import dataclasses
import importlib
import inspect
import itertools
import json
import math
import re
import time
from fractions import Fraction
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from ldp_lib import OneQuestion, SubsetSelection, channel, grr, limit, subset
from ldp_lib.datasets import load_adult
from ldp_lib.limit import LawCertificate, SetCertificate, TableCertificate, _covering, _uniform, closed_forms
from ldp_lib.limit._any_population import tilt_and_ceiling
from ldp_lib.limit._given_population import balanced, check_frequencies, dual_variables, target_rows
from ldp_lib.limit._rational import enclose, gained, never_negative, rounded, subset_sums
from ldp_lib.limit._uniform import Cells, kept, mixture, product_set, up_sets
from ldp_lib.limit.bound import _certify
from ldp_lib.limit.pair_tables import least_pair_error
from ldp_lib.population import Population, marginal_frequencies

ADULT = (9, 16, 7, 15, 6, 5, 2, 2)
SMALL = [(2,), (3,), (5,), (2, 2), (2, 3), (3, 3), (2, 2, 2), (2, 2, 2, 2)]


def all_weights(k):
    """Return (size, k_j |a_j|^2 mu^2 of every attribute) of all sets of records, by brute force, as integers."""
    records = list(np.ndindex(*k))
    total = len(records)
    sums = np.zeros((1, sum(k) + 1), dtype=np.int64)
    for record in records:
        row = np.concatenate([[1], *(np.arange(size) == v for size, v in zip(k, record, strict=True))])
        sums = np.concatenate([sums, sums + row])
    cuts = np.split(sums[:, 1:], np.cumsum(k)[:-1], axis=1)
    n = sums[:, 0]
    return n, np.array([size * (part**2).sum(axis=1) - n**2 for size, part in zip(k, cuts, strict=True)]), total


def fisher_error(matrix, f, k):
    """Return the trace of a J^-1 a^T of a channel at frequencies f: the least error of unbiased estimates from it."""
    rows = target_rows(k, "shares")
    columns = np.asarray(matrix, dtype=float).T
    columns = columns[columns.sum(axis=1) > 0]
    basis = np.linalg.svd(np.ones((1, len(f))))[2][1:].T
    v = columns @ basis / np.sqrt(columns @ f)[:, None]
    half = basis.T @ rows.T
    found, *_ = np.linalg.lstsq(v.T @ v, half, rcond=1e-11)
    assert np.allclose(v.T @ v @ found, half, atol=1e-6)  # else no unbiased estimate exists
    return np.trace(half.T @ found)


def set_channel(sets, weights, k, e):
    """Return the channel that reports symmetric copies of the sets: every copy with values renamed, equally often."""
    records = list(np.ndindex(*k))
    columns = []
    for members, weight in zip(sets, weights, strict=True):
        copies = set()
        for names in itertools.product(*(itertools.permutations(range(size)) for size in k)):
            copies.add(frozenset(tuple(names[j][v] for j, v in enumerate(r)) for r in members))
        share = len(members) / len(records)
        for copy in copies:
            w = np.array([e if r in copy else 1.0 for r in records])
            columns.append(weight / len(copies) * w / (1 + (e - 1) * share))
    return np.array(columns).T


@pytest.mark.parametrize("k", SMALL)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.5, 4.0])
def test_the_error_at_the_uniform_population_is_attained_and_certified(k, epsilon):
    found = limit.least_error(k, epsilon)
    assert limit.check_certificate(found)
    assert found.error <= found.attained <= found.error * (1 + 1e-6)
    assert math.isclose(sum(found.weights), 1)


@pytest.mark.parametrize(("k", "epsilon"), [((5,), 1.0), ((2, 2), 2.0), ((2, 3), 0.5), ((3, 2), 2.5), ((2, 2, 2), 3.0)])
def test_copies_of_the_sets_are_a_channel_with_the_error_that_is_stated(k, epsilon):
    found = limit.least_error(k, epsilon)
    matrix = set_channel(found.sets, found.weights, k, math.exp(epsilon))
    assert np.allclose(matrix.sum(axis=1), 1)
    assert np.isclose(channel.privacy_ratio(matrix), math.exp(epsilon))
    size = math.prod(k)
    assert np.isclose(fisher_error(matrix, np.full(size, 1 / size), k), found.attained)


@pytest.mark.parametrize("k", [(2, 2), (2, 3), (3, 3), (2, 2, 2), (4, 3), (2, 2, 2, 2), (2, 7)])
def test_monotone_sets_are_enough_among_all_sets_of_one_size(k):
    size, parts, total = all_weights(k)
    cells = Cells.of(k, False)
    for weights in ([1] * len(k), [3, 2, 7, 5][: len(k)], [1, 10, 1, 1][: len(k)]):
        every, some = np.zeros(total + 1, dtype=int), np.zeros(total + 1, dtype=int)
        np.maximum.at(every, size, np.tensordot(weights, parts, axes=1))
        np.maximum.at(some, cells.inner, np.tensordot(weights, cells.poly[:, 0], axes=1))
        assert (every == some).all()


def test_there_are_as_many_monotone_sets_as_known():
    assert [len(up_sets((2,) * d, 10**4)) for d in range(1, 6)] == [3, 6, 20, 168, 7581]  # Dedekind's numbers
    assert len(up_sets((5, 5), 10**4)) == math.comb(10, 5)
    assert up_sets((5, 5), 100) is None


@pytest.mark.parametrize(("k", "keep"), [((2, 4), 1), ((2, 2, 3), 2), ((2, 5), 1)])
def test_cells_and_draws_bound_all_sets_found_by_brute_force(k, keep):
    size, parts, total = all_weights(k)
    t = Fraction(2)
    cells = Cells.of(k[:keep], True)
    for w in ([1] * len(k), [4, 4, 3][: len(k)], [3, 1, 1][: len(k)]):
        truth = max(
            t * t * Fraction(int(v), total**2) / (1 + t * Fraction(int(n), total)) ** 2
            for n, v in zip(size, np.tensordot(w, parts, axes=1), strict=True)
        )
        weights = [Fraction(x) for x in w]
        bound = Fraction(cells.best([*w[:keep], max(w[keep:])], 2.0)[0]) * (1 + Fraction(1, 10**9))
        assert bound >= truth
        assert cells.holds([*weights[:keep], max(weights[keep:])], t, bound)
        assert not cells.holds([*weights[:keep], max(weights[keep:])], t, bound * Fraction(999, 1000))
        rows = [_covering.row(k, weights, Fraction(max(w) * i, 40)) for i in range(1, 41)]
        top = Fraction(_covering.largest(k, 2.0, rows)) * (1 + Fraction(1, 10**9))
        assert top >= truth
        assert _covering.holds(k, t, rows, top)
        assert not _covering.holds(k, t, rows, top * Fraction(999, 1000))


@pytest.mark.parametrize("k", [(2, 2, 2), (2, 2, 2, 2), (3, 3), (4, 4)])
def test_draws_from_equal_domains_bound_every_set_at_its_own_size(k):
    size, parts, total = all_weights(k)
    shares = [Fraction(1, k[0])] + [Fraction(i, 20) for i in range(1, 21)]
    rows = [_covering.row(k, None, share, _covering.equal_row(len(k), k[0], share)) for share in shares]
    every = np.zeros(total + 1, dtype=np.int64)
    np.maximum.at(every, size, parts.sum(axis=0))
    for n, weight in enumerate(every):
        mu = Fraction(n, total)
        s = min(int(mu * k[0]), k[0] - 1)
        bounds = []
        for row in rows:
            c0, c1, c2 = _covering.quadratic(row, k[0], s)
            bounds.append(c0 + mu * (c1 + mu * c2))
        assert Fraction(int(weight), total**2) <= min(bounds)
        if mu * k[0] == s:  # one attribute, so many values of it: no set of that size does better
            assert Fraction(int(weight), total**2) == min(bounds)


@pytest.mark.parametrize("k", [2, 3, 4, 7])
@pytest.mark.parametrize("d", [2, 10])
def test_one_question_is_best_for_equal_domains_up_to_a_budget(k, d):
    """Up to exp(epsilon) = 1 + k (2k - 3): the bound is d times d one-attribute errors."""
    for e in (1.9, 1 + k * (2 * k - 3)):
        sizes = np.arange(1, k)
        single = min((k - 1) ** 2 * (k + (e - 1) * sizes) ** 2 / (k * (e - 1) ** 2 * sizes * (k - sizes)))
        found = limit.least_error((k,) * d, math.log(e))
        assert np.isclose(found.error, d * d * single, rtol=2e-9)


@pytest.mark.parametrize("d", [2, 10])
def test_one_question_is_not_best_beyond(d):
    assert limit.least_error((2,) * d, math.log(12)).attained < d * d * (13 / 11) ** 2 / 2


def test_one_question_attains_the_planners_limit_at_every_budget_and_several_do_not():
    """So "far below what can be had at large epsilon" is for several."""
    for size, epsilon in itertools.product((2, 5, 16), (0.5, 4.0, 12.0)):
        people = Population.from_counts(np.ones(size, int))
        one = size * SubsetSelection(k=size, epsilon=epsilon).variance(people).sum()
        assert math.isclose(closed_forms.simple_error(size, epsilon), one, rel_tol=1e-6)
    fixed = limit.least_error((2, 2), 5.0).error - 1  # proved, all sets being tried
    assert fixed > 1.5 * closed_forms.simple_error((2, 2), 5.0)
    choose = (Path(__file__).parents[2] / "book/choose.md").read_text(encoding="utf-8")
    assert "One question attains it. For several" in " ".join(choose.split())


def test_one_attribute_is_subset_selection():
    for k, epsilon in [(4, 0.7), (16, 1.0), (300, 2.0), (257, 20.0), (1000, 16.0)]:
        e = math.exp(epsilon)
        sizes = np.arange(1, k)
        single = min((k - 1) ** 2 * (k + (e - 1) * sizes) ** 2 / (k * (e - 1) ** 2 * sizes * (k - sizes)))
        found = limit.least_error(k, epsilon)
        assert np.isclose(found.error, single, rtol=2e-9)
        assert limit.check_certificate(found)


@pytest.mark.parametrize(
    ("k", "d", "epsilon"), [(37_023, 1, 3.562), (11_837, 3, 2.368), (34_834, 11, 3.5), (2_519, 1, 0.062)]
)
def test_equal_domains_of_thousands_of_values_are_all_but_exact(k, d, epsilon):
    """The first three were 1.5, 2 and 0.4 parts in a thousand too low: the best sets have just over 1,000 values."""
    assert limit.least_error((k,) * d, epsilon).gap < 1 + 2e-7


@pytest.mark.parametrize("k", [(2,), (9,), (2, 2, 2), (4, 4), (2, 5, 9), (3, 3, 3, 3)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_the_closed_form_is_not_above_the_limit_and_is_it_where_it_says_so(k, epsilon):
    found = limit.least_error(k, epsilon)
    bound = closed_forms.simple_error(k, epsilon) + sum(1 - 1 / size for size in k)  # people drawn at random
    assert bound <= found.attained * (1 + 1e-9)
    if len(set(k)) == 1 and (len(k) == 1 or math.exp(epsilon) <= 1 + k[0] * (2 * k[0] - 3)):
        assert bound == pytest.approx(found.error, rel=1e-6)
    elif epsilon <= 1:
        assert bound > 0.95 * found.error


@pytest.mark.parametrize("k", [2, 3, 4, 6, 10, 100])
def test_the_closed_form_is_the_limit_up_to_the_very_end_of_where_it_says_so(k):
    end = 1 + k * (2 * k - 3)
    one = min(subset.error(end, k, size) for size in range(1, k))
    for epsilon in (math.log(end), math.log1p(end - 1), float(np.log(end))):  # their exp may be above the end
        assert closed_forms.simple_error((k,) * 4, epsilon) == pytest.approx(16 * one - 4 * (1 - 1 / k), rel=1e-9)


def over_the_closed_form(k, epsilon):
    """What the search proves, over the closed form with the drawing of people; and both over that drawing alone."""
    found, drawing = limit.least_error(k, epsilon), sum(1 - 1 / size for size in k)
    bound = closed_forms.simple_error(k, epsilon) + drawing
    assert bound <= found.attained * (1 + 1e-9)
    return found.error / bound, found.error / drawing


def test_the_closed_form_is_above_what_the_search_proves_at_large_budgets_from_two_attributes_on():
    said = " ".join(closed_forms.simple_error.__doc__.split())
    two, twenty = over_the_closed_form((4, 50), 8.0), over_the_closed_form((2,) * 20, 17.0)
    assert "less the sum of 1 - 1/k_j, which drawing adds. With it `limit.least_error` proves no less" in said
    assert f"at epsilon = 8 {two[0]:.2f} times, for twenty binary ones at 17 {twenty[0]:.2f} times as much." in said
    assert limit.least_error((4, 50), 8.0).error > 40 * closed_forms.simple_error((4, 50), 8.0)  # not as they are
    assert max(two + twenty) < 1 < min(over_the_closed_form((4, 50), 7.5) + over_the_closed_form((2,) * 20, 14.0))


def test_of_equal_domains_what_is_attained_is_all_but_the_limit_at_large_budgets_too():
    """Rows went down to a share of 1/32 only: of nine binary ones the gap was 1.75, 20 and 1,045 at 7, 10 and 14."""
    for k, epsilon in itertools.product(
        [(2,) * 7, (2,) * 9, (3,) * 5, (10,) * 3, (16,) * 2], [7.0, 8.5, 10.0, 12.0, 14.0]
    ):
        found = limit.least_error(k, epsilon)
        assert found.gap < 1.07
        assert limit.check_certificate(found)


@pytest.mark.parametrize(
    "k",
    [
        (4, 50),
        (10, 10),
        (158, 160),
        (2, 5, 7),
        (4, 4, 7),
        (2, 2, 2, 7),
        (2,) * 7,
        (3,) * 6,
        (2,) * 5 + (7,),
        (2,) * 40,
        ADULT,
    ],
)
def test_the_closed_form_is_not_above_what_the_search_proves_up_to_a_budget_of_five(k):
    for epsilon in (1.0, 3.0, 4.0, 5.0):
        assert over_the_closed_form(k, epsilon)[0] > 1 - 1e-7


@pytest.mark.parametrize("k", [(2, 3), (5, 7), (2, 2, 2), (4, 4, 4), (9, 16, 7)])
@pytest.mark.parametrize("epsilon", [1e-6, 0.2, 1.0, 6.0])
def test_the_closed_form_for_tables_is_not_above_the_limit(k, epsilon):
    cells = [a * b for a, b in itertools.combinations(k, 2)]
    found = least_pair_error(k, epsilon)
    bound = closed_forms.simple_pair_error(k, epsilon) + sum(1 - 1 / size for size in cells)
    assert bound <= found.attained * (1 + 1e-9)
    assert found.error >= bound * (1 - 1e-6)  # what the search for weights stops at
    if epsilon <= 1:
        assert bound > 0.9 * found.error


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0])
def test_adults_eight_attributes_are_answered_with_a_small_gap(epsilon):
    found = limit.least_error(ADULT, epsilon)
    assert limit.check_certificate(found)
    assert 1 <= found.gap < (1.01 if epsilon <= 2 else 1.1)
    spectral = 4 * math.exp(epsilon) / math.expm1(epsilon) ** 2 * sum((k - 1) / math.sqrt(k) for k in ADULT) ** 2
    assert found.error >= spectral * (1 - 1e-9)


def tables():
    rng = np.random.default_rng(1)
    diagonal = np.array([[0.49, 0.01], [0.02, 0.48]])
    yield (2, 2), diagonal
    yield (2, 3), np.array([[0.3, 0.1, 0.05], [0.05, 0.1, 0.4]])
    yield (3, 3), 0.1 / 9 + 0.3 * np.eye(3)
    yield (2, 2, 2), rng.dirichlet(np.ones(8)).reshape(2, 2, 2)


@pytest.mark.parametrize("number", range(4))
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_no_channel_beats_the_limit_at_a_population(number, epsilon):
    k, f = list(tables())[number]
    found = limit.least_error(k, epsilon, f)
    assert limit.check_certificate(found)
    assert found.gap < 1 + 1e-6
    e, size = math.exp(epsilon), f.size
    rng = np.random.default_rng(2)
    columns = np.where(rng.random((40, size)) < 0.5, e, 1.0)
    columns = np.concatenate([columns, 1 + e - columns])  # with each column its opposite: rows sum to 1
    kinds = [grr.channel(e, size).astype(float), columns.T / columns.T.sum(axis=1)[0]]
    half = [grr.channel(math.exp(epsilon / len(k)), s).astype(float) for s in k]
    kinds.append(channel.tensor(*half))
    for matrix in kinds:
        assert np.allclose(matrix.sum(axis=1), 1)
        assert channel.privacy_ratio(matrix) < e * (1 + 1e-9)
        assert fisher_error(matrix, f.ravel(), k) > found.error


@pytest.mark.parametrize("k", [(2, 2), (2, 3), (3, 3)])
def test_the_program_agrees_with_the_search_over_sets_where_the_population_is_uniform(k):
    for epsilon in (0.5, 2.0):
        program = limit.least_error(k, epsilon, np.ones(k, dtype=int))
        assert np.isclose(program.error, limit.least_error(k, epsilon).error, rtol=1e-6)
        assert program.error <= limit.least_error(k, epsilon).attained


def test_the_bound_for_every_population_is_below_the_limit_of_each():
    rng = np.random.default_rng(3)
    for k, epsilon in (((2, 2), 0.5), ((2, 3), 1.0), ((2, 2, 2), 2.0)):
        e = math.exp(epsilon)
        bound = sum((size - 1) / math.sqrt(size) for size in k) ** 2 / tilt_and_ceiling(e)[1]
        for weight in (0.1, 1.0):
            f = rng.dirichlet(np.full(math.prod(k), weight)).reshape(k)
            assert bound < limit.least_error(k, epsilon, f).error
    e = math.e
    assert math.isclose(1 / tilt_and_ceiling(e)[1], 4 / math.sinh(1) ** 2)
    assert math.isclose(tilt_and_ceiling(3.0)[1], tilt_and_ceiling(3.0 + 1e-12)[1], rel_tol=1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 1.5, 4.0])
def test_a_population_of_many_records_gets_a_certified_bound(epsilon):
    adult = load_adult()
    found = limit.least_error(adult.k, epsilon, adult)
    assert limit.check_certificate(found)
    for change in ({"ceiling": Fraction(99, 100) * found.certificate.ceiling}, {"tilt": Fraction(2)}):
        broken = dataclasses.replace(found.certificate, **change)
        honest = dataclasses.replace(broken, error=found.certificate.error * Fraction(100, 99))
        assert not limit.check_certificate(broken if "tilt" in change else honest)
    one = OneQuestion(k=adult.k, epsilon=epsilon)
    truth = marginal_frequencies(adult)
    drawn = sum(part.sum() for part in one.variance(adult)) * adult.n + sum(1 - (f**2).sum() for f in truth)
    assert found.error < found.attained <= drawn * (1 + 1e-6)
    assert drawn < found.attained * 1.02


def test_a_population_is_taken_as_it_is_or_as_counts():
    counts = np.array([[30, 10], [5, 55]])
    from_counts = limit.least_error((2, 2), 1.0, counts)
    assert limit.least_error((2, 2), 1.0, Population.from_counts(counts)) == from_counts
    assert from_counts.certificate.frequencies[0] == Fraction(3, 10)


@pytest.mark.parametrize(("k", "people"), [((2, 3), None), ((3, 3), np.eye(3) + 0.1)])
def test_a_certificate_that_claims_more_fails(k, people):
    found = limit.least_error(k, 1.0, people)
    more = found.certificate.error * Fraction(10**6 + 10, 10**6)
    assert not limit.check_certificate(dataclasses.replace(found.certificate, error=more))
    assert not limit.check_certificate(dataclasses.replace(found, error=float(more)))
    assert not limit.check_certificate(dataclasses.replace(found, epsilon=1.001))


def test_a_certificate_with_wrong_parts_fails():
    found = limit.least_error(ADULT, 1.0).certificate
    low = dataclasses.replace(found, ceiling=found.ceiling * Fraction(999, 1000), error=found.error)
    assert not limit.check_certificate(low)
    table = limit.least_error((2, 2), 1.0, np.ones((2, 2))).certificate
    cheap = tuple(price * Fraction(99, 100) for price in table.dual)
    assert not limit.check_certificate(dataclasses.replace(table, dual=cheap))
    assert not limit.check_certificate(dataclasses.replace(table, directions=table.directions[:3]))
    equal = limit.least_error((4,) * 4, 1.0).certificate
    share, often = equal.rows[0]
    negative = ((share, (*often[:-1], -often[-1])), *equal.rows[1:])
    assert not limit.check_certificate(dataclasses.replace(equal, rows=negative))


@pytest.mark.parametrize("epsilon", [1e-6, 1e-3, 10.0, 20.0])
@pytest.mark.parametrize("k", [(2,), (2, 3), (4,) * 4, ADULT])
def test_very_small_and_large_budgets_are_answered(k, epsilon):
    found = limit.least_error(k, epsilon)
    assert limit.check_certificate(found)
    assert 1 <= found.gap < (1.01 if epsilon < 1 or k == (2,) else np.inf)
    if k == (2, 3):
        table = limit.least_error(k, epsilon, np.ones(k))
        assert limit.check_certificate(table)
        assert table.gap < 1.001


def test_exp_is_enclosed():
    for epsilon in (1e-6, 1e-3, 0.1, 1.0, 4.0, 20.0, 100.0):
        low, high = enclose(epsilon)
        assert low < high
        assert low <= Fraction(math.exp(epsilon)) * (1 + Fraction(1, 10**15))
        assert high >= Fraction(math.exp(epsilon)) * (1 - Fraction(1, 10**15))
        assert (high - 1) / (low - 1) < 1 + Fraction(1, 10**10)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (((1, 2), 1.0), "k must"),
        (((2.5,), 1.0), "k must"),
        (((2, 2), 0.0), "epsilon"),
        (((2, 2), 1e-7), "epsilon"),
        (((2, 2), 21.0), "epsilon"),
        (((2, 2), 1.0, np.ones((2, 3))), "population"),
        (((4, 4), 1.0, np.ones((4, 4))), "population"),
        (((2, 2), 1.0, np.zeros((2, 2))), "population"),
        (((2, 2), 1.0, -np.ones((2, 2))), "population"),
    ],
)
def test_bad_input_is_named(arguments, named):
    with pytest.raises((TypeError, ValueError), match=named):
        limit.least_error(*arguments)


# Certificates by hand: what they must hold exactly, and not by one part in 10^15 more.

A_BIT = Fraction(1, 10**15)


def only_just(certificate, gained, scale=1):
    """Whether a certificate holds, and none with a lower ceiling, or with an error that does not follow or is none."""
    error, ceiling = gained**2 / (certificate.ceiling * scale), certificate.ceiling
    changes = [{"error": error * (1 + A_BIT)}, {"error": Fraction(0)}, {"error": -error, "ceiling": -ceiling}]
    changes += [{"error": error, "ceiling": ceiling * (1 - A_BIT)}]
    every = [{"error": error}, {"error": error * (1 - A_BIT)}, *changes]
    found = [dataclasses.replace(certificate, **change).check() for change in every]
    return found == [True, True, False, False, False, False]


@pytest.mark.parametrize(
    ("k", "roots", "gained"),
    [
        ((2,), (3,), Fraction(3, 2)),
        ((3, 2), (1, 2), Fraction(5, 3)),
        ((2, 3), (3, 1), Fraction(13, 6)),
        ((2, 4), (1, 1), Fraction(5, 4)),
        ((3, 3), (1, 2), Fraction(2)),
        ((2, 3, 2), (1, 3, 2), Fraction(7, 2)),
    ],
)
def test_a_certificate_of_all_sets_holds_from_the_best_set_s_information_on(k, roots, gained):
    size, parts, total = all_weights(k)
    t, weights = Fraction(2), [Fraction(root**2, of) for root, of in zip(roots, k, strict=True)]
    each = np.array(weights) @ parts.astype(object) * t**2 / (total + t * size.astype(object)) ** 2
    roots = tuple(map(Fraction, roots))
    certificate = SetCertificate(
        k=k, e=(Fraction(2), 1 + t), roots=roots, keep=len(k), rows=(), ceiling=max(each), error=Fraction(1)
    )
    assert only_just(certificate, gained)
    assert Cells.of(k, False).best([float(w) for w in weights], 2.0)[0] == pytest.approx(float(max(each)), rel=1e-14)


def nested(k, weights, rest, t):
    """The largest information of cells of one attribute and others, exactly: values in the set, in part, or outside."""
    most = Fraction(0)
    for kinds in itertools.product((0, 1, 2), repeat=k):
        inner, part = Fraction(kinds.count(1), k), Fraction(kinds.count(2), k)

        def weighed(u, inner=inner, part=part):
            mean = inner + part * u
            spread = inner + part * u * u - mean**2
            return weights * spread + rest * part**2 * u * (1 - u)

        zero, half, one = (weighed(Fraction(i, 2)) for i in range(3))
        c0, c1, c2 = zero, 4 * half - one - 3 * zero, 2 * (one - 2 * half + zero)
        p, q = 1 + t * inner, t * part
        tries = [Fraction(0), Fraction(1)]
        if 2 * c2 * p != c1 * q:
            tries.append(min(max((2 * q * c0 - c1 * p) / (2 * c2 * p - c1 * q), Fraction(0)), Fraction(1)))
        most = max(most, *(t**2 * weighed(u) / (p + q * u) ** 2 for u in tries))
    return most


@pytest.mark.parametrize(("k", "roots", "first"), [((4, 3), (3, 2), 1), ((2, 6), (1, 5), 0), ((9, 3, 5), (6, 1, 1), 1)])
@pytest.mark.parametrize("t", [Fraction(1, 3), Fraction(5)])
def test_a_certificate_of_some_attributes_holds_from_the_best_cell_s_information_on(k, roots, first, t):
    weights = [Fraction(root**2, of) for root, of in zip(roots, k, strict=True)]
    others = max(w for j, w in enumerate(weights) if j != first)
    top = nested(k[first], weights[first], others, t)
    assert kept(k, 1)[:2] == ([first], sorted(set(range(len(k))) - {first}, key=lambda j: k[j]))
    certificate = SetCertificate(
        k=k, e=(1 + t / 2, 1 + t), roots=tuple(map(Fraction, roots)), keep=1, rows=(), ceiling=top, error=Fraction(1)
    )
    assert only_just(certificate, sum(Fraction(root * (of - 1), of) for root, of in zip(roots, k, strict=True)))
    best = Cells.of((k[first],), True).best([float(weights[first]), float(others)], float(t))
    assert best[0] == pytest.approx(float(top), rel=1e-14)
    assert np.dot(best[1], [float(weights[first]), float(others)]) == pytest.approx(best[0], rel=1e-14)
    too_many = dataclasses.replace(certificate, k=(300,) * len(k), keep=len(k), error=Fraction(1, 10**9))
    assert not too_many.check()


@pytest.mark.parametrize(
    ("k", "roots", "rows", "scale", "gained"),
    [  # without a price of drawing what is left is scale t^2 mu (1-mu) / (1 + t mu)^2, at most 9/16 of it for t = 3
        ((2, 8), (1, 2), ((Fraction(1, 2), None),), Fraction(1, 2), Fraction(9, 4)),
        ((2, 2), (1, 2), ((Fraction(2), None),), Fraction(2), Fraction(3, 2)),
        ((2, 2), (3, 3), ((Fraction(1, 9), (0, 0)),), Fraction(9, 2), Fraction(3)),
        ((5, 5), (1, 1), ((Fraction(1), None),), Fraction(1, 5), Fraction(8, 5)),
    ],
)
def test_a_certificate_of_draws_holds_from_its_bound_on(k, roots, rows, scale, gained):
    certificate = SetCertificate(
        k=k,
        e=(Fraction(2), Fraction(4)),
        roots=tuple(map(Fraction, roots)),
        keep=0,
        rows=rows,
        ceiling=scale * Fraction(9, 16),
        error=Fraction(1),
    )
    assert only_just(certificate, gained)
    honest = dataclasses.replace(certificate, error=gained**2 / certificate.ceiling)
    for bad in ((Fraction(0), None), (Fraction(-1, 2), None), (Fraction(0), (0, 0)), (Fraction(1), (1, -1))):
        assert not dataclasses.replace(honest, rows=(*rows, bad)).check()
    if roots == (1, 2):  # draws of equal domains are for equal weights
        assert not dataclasses.replace(honest, rows=(*rows, (Fraction(2), (1, 1)))).check()


def test_a_limit_stands_for_its_own_domain_and_budget():
    found = limit.least_error((2, 3), 1.0)
    assert not limit.check_certificate(dataclasses.replace(found, k=(3, 2)))
    for epsilon in (0.999999, 1.000001):
        assert not limit.check_certificate(dataclasses.replace(found, epsilon=epsilon))
    exact = dataclasses.replace(found.certificate, error=Fraction(found.error))
    assert limit.check_certificate(dataclasses.replace(found, certificate=exact))
    above = dataclasses.replace(found, certificate=exact, error=math.nextafter(found.error, math.inf))
    assert not limit.check_certificate(above)
    assert dataclasses.replace(found, error=2.0, attained=3.0).gap == 1.5


@pytest.mark.parametrize("k", [2, 5])
def test_the_error_is_the_largest_float_that_is_proved(k):
    for epsilon in (0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 12.0):
        found = limit.least_error(k, epsilon)
        assert Fraction(found.error) <= found.certificate.error < Fraction(math.nextafter(found.error, math.inf))


def test_budgets_reach_from_a_millionth_to_twenty():
    for epsilon, beyond in ((1e-6, math.nextafter(1e-6, 0)), (20, math.nextafter(20, 99))):
        found = limit.least_error(2, epsilon)
        assert (found.k, found.epsilon, type(found.epsilon)) == ((2,), epsilon, float)
        assert found.error == pytest.approx(0.5 / math.tanh(epsilon / 2) ** 2, rel=2e-9)
        assert least_pair_error((2, 2), epsilon).gap < 1 + 3e-9
        for refuse in (limit.least_error, least_pair_error):
            with pytest.raises(ValueError, match=f"from 1e-06 to 20.0 for a limit; got {beyond!r}"):
                refuse((2, 2), beyond)


def test_exp_is_enclosed_between_fractions_that_are_near():
    for epsilon in (1e-6, 1e-3, 0.1, 1.0, 4.0, 20.0, 100.0):
        low, high = enclose(epsilon)
        with mpmath.workdps(80):
            power = mpmath.exp(mpmath.mpf(epsilon))
            assert mpmath.mpf(low.numerator) / low.denominator < power < mpmath.mpf(high.numerator) / high.denominator
        assert high - low < (low - 1) / 10**12


def test_attributes_are_kept_by_size_and_then_in_order():
    assert kept((3, 2, 2, 5), 2)[:2] == ([1, 2], [0, 3])
    assert kept((5, 3, 2), 3)[:2] == ([2, 1, 0], [])


def stated(found):
    """The error of a limit's mixture, from its sets as they are written: information of records, or of sizes."""
    t, k = math.expm1(found.epsilon), found.k
    informs = np.zeros(len(k))
    for chosen, weight in zip(found.sets, found.weights, strict=True):
        if isinstance(chosen[0], tuple):
            assert len(set(chosen)) == len(chosen)
            shares = [
                np.bincount(column, minlength=size) / math.prod(k)
                for size, column in zip(k, np.transpose(chosen), strict=True)
            ]
            mu, parts = len(chosen) / math.prod(k), [len(share) * (share**2).sum() for share in shares]
        else:
            mu = math.prod(size / of for size, of in zip(chosen, k, strict=True))
            parts = [mu**2 * of / size for size, of in zip(chosen, k, strict=True)]
        informs += weight * (t / (1 + t * mu)) ** 2 * (np.array(parts) - mu**2)
    return sum((of - 1) ** 2 / of / inform for of, inform in zip(k, informs, strict=True))


@pytest.mark.parametrize(
    ("k", "epsilon", "gap"),
    [
        ((4, 2, 3), 0.5, 1.4e-9),
        ((4, 2, 3), 5.0, 1.1e-9),
        ((3, 3, 3), 20.0, 1.1e-9),
        ((3, 2, 100), 0.5, 2.3e-5),
        ((2, 150), 5.0, 2.9e-6),
        ((16, 17), 3.0, 3.9e-3),
        ((4,) * 5, 5.0, 1.1e-4),
        ((300,), 3.0, 1.1e-9),
    ],
)
def test_the_mixture_has_its_stated_error_and_the_bound_is_near(k, epsilon, gap):
    found = limit.least_error(k, epsilon)
    assert found.attained == pytest.approx(stated(found), rel=1e-9)
    assert 1 <= found.gap < 1 + 1.01 * gap
    assert list(found.weights) == sorted(found.weights, reverse=True)
    assert sum(found.weights) == pytest.approx(1, rel=1e-12)
    assert min(found.weights) > 1e-6
    assert limit.check_certificate(found)


def test_sets_that_are_their_own_copies_count_once():
    found = limit.least_error((17, 17), 20.0)
    assert (found.sets, found.weights) == (((1, 1),), (1.0,))


# What they are made of.


def test_parabolas_are_tried_at_both_ends_and_in_the_valley():
    for c, low, high, fits in [
        ((1, -3, 2), 0, 1, False),  # zero at 1/2 and 1
        ((1, -3, 2), 1, 9, True),
        ((1, -3, 2), -9, Fraction(1, 2), True),
        ((1, -3, 2), -9, Fraction(1, 2) + A_BIT, False),
        ((1, -3, 2), 1 - A_BIT, 9, False),
        ((1, -2, 1), 0, 3, True),
        ((1 - A_BIT, -2, 1), 0, 3, False),
        ((4, 4, 1), -3, 0, True),
        ((4 - A_BIT, 4, 1), -3, 0, False),
        ((0, 1, -1), 0, 1, True),
        ((0, 1, -1), 0, 1 + A_BIT, False),
        ((0, 1, -1), -A_BIT, 1, False),
        ((2, -1, 0), 0, 2, True),
        ((2, -1, 0), 0, 2 + A_BIT, False),
        ((-2, 1, 0), 2, 3, True),
        ((-2, 1, 0), 2 - A_BIT, 3, False),
        ((Fraction(1, 32), Fraction(-1, 2), 1), 0, 1, False),
        ((0, Fraction(1, 2), 1), 0, 1, True),
        ((Fraction(3, 2), Fraction(-5, 2), 1), 0, 1, True),
    ]:
        assert never_negative(*map(Fraction, c), low, high) == fits, (c, low, high)
    assert never_negative(np.array([1, 1]), np.array([-2, -3]), np.array([1, 2])).tolist() == [True, False]


def test_what_is_gained_counts_every_attribute():
    assert gained((Fraction(3), Fraction(5), Fraction(7)), (2, 3, 4)) == Fraction(3, 2) + Fraction(10, 3) + Fraction(
        21, 4
    )


def test_rounding_is_to_the_nearest():
    assert rounded(0.75) == Fraction(3, 4)
    assert all(abs(rounded(x) - Fraction(x)) <= Fraction(1, 2**31) for x in (1 / 3, 2 / 3, math.pi, 1e-9))
    assert rounded(1 / 3).denominator <= 2**30


@pytest.mark.parametrize(("d", "k"), [(1, 2), (3, 2), (4, 3), (5, 4)])
def test_the_overlap_is_a_mean_over_all_sets_of_attributes(d, k):
    for part, differ in itertools.product(range(1, d + 1), repeat=2):
        sets = list(itertools.combinations(range(d), differ))
        mean = sum(Fraction(-1, k - 1) ** sum(j < part for j in chosen) for chosen in sets) / len(sets)
        assert _covering.overlap(d, part, differ, k) == mean


@pytest.mark.parametrize(("d", "k", "share"), [(2, 2, 0.3), (3, 3, 0.1), (4, 2, 0.6)])
def test_the_draws_with_the_least_price_pay_for_every_part(d, k, share):
    often = _covering.equal_row(d, k, share)
    assert len(often) == d
    assert min(often) >= 0
    bound, price = _covering.row((k,) * d, None, Fraction(share), often)
    assert share <= bound <= share + 1e-8
    for i in range(d):  # no draw is needless: less of any one pays for less
        less = [v - Fraction(1, 1000) * (i == j) for j, v in enumerate(often)]
        assert often[i] == 0 or _covering.row((k,) * d, None, Fraction(share), less)[0] > share + 1e-5
    assert price == sum(often)


@pytest.mark.parametrize(
    ("k", "weights", "share", "want"),
    [((2, 2, 2), (7, 12, 9), 3, 18), ((2, 5, 3), (4, 4, 4), 4, 0), ((7, 2, 3), (1, 9, 4), 3, Fraction(6))],
)
def test_draws_of_three_domains_cost_what_exceeds_their_share(k, weights, share, want):
    weights, share = [Fraction(w, 12) for w in weights], Fraction(share, 12)
    assert _covering.row(k, weights, share) == (share, Fraction(want, 12))


def test_the_number_of_drawn_records_in_a_set_is_one_of_two_neighbours():
    """With N of m records in the set, (N - s) (N - s - 1) is at least 0: R is what it leaves of mu^2."""
    for m, s in [(2, 0), (2, 1), (5, 0), (5, 3)]:
        c0, c1, c2 = _covering.remainder(m, s)
        for mu in (Fraction(0), Fraction(1, 3), Fraction(1)):
            pairs = ((2 * s + 1) * m * mu - s * (s + 1) - m * mu) / (m * (m - 1))  # the mean of N (N-1), at least
            assert c0 + mu * (c1 + mu * c2) == mu**2 - pairs
    assert _covering.quadratic((Fraction(2), Fraction(3)), 5, 2) == (Fraction(9, 10), Fraction(-1), Fraction(1))


@pytest.mark.parametrize("k", [(5, 5, 5), (2, 3)])
def test_intervals_cover_all_shares_each_with_its_best_row(k):
    rows = [(Fraction(b, 10), v) for b, v in ((1, 2), (3, Fraction(4, 5)), (10, Fraction(0)))]
    found = list(_covering.pieces(k, rows))
    assert (found[0][0], found[-1][1]) == (0, 1)
    assert all(one[1] == other[0] for one, other in itertools.pairwise(found))
    drawn = 5 if k[0] == 5 else 2
    for low, high, i, m, s in found:
        assert m == drawn
        assert low < high
        assert Fraction(s, m) <= low < high <= Fraction(s + 1, m)
        mu, values = (low + high) / 2, []
        for row in rows:
            c0, c1, c2 = _covering.quadratic(row, m, s)
            values.append(c0 + mu * (c1 + mu * c2))
        assert values[i] == pytest.approx(min(values), rel=1e-12)
    assert len({i for _, _, i, _, _ in found}) > 1


@pytest.mark.parametrize(
    ("row", "t", "top"),
    [
        ((Fraction(1), Fraction(0)), Fraction(3), Fraction(9, 16)),  # (e-1)^2 / (4e), between the ends of a piece
        ((Fraction(2), Fraction(0)), Fraction(1, 5), Fraction(1, 60)),
        ((Fraction(0), Fraction(1)), Fraction(3), Fraction(9, 25)),  # at 1/2, where R is 1/4
        ((Fraction(1), Fraction(1)), Fraction(1), Fraction(2, 9)),
        ((Fraction(1), Fraction(2)), Fraction(4), Fraction(4, 3)),
    ],
)
def test_the_largest_information_by_hand(row, t, top):
    assert _covering.largest((2, 3), float(t), [row]) == pytest.approx(float(top), rel=1e-14)
    assert _covering.holds((2, 3), t, [row], top)
    assert not _covering.holds((2, 3), t, [row], top * (1 - A_BIT))


@pytest.mark.parametrize(
    ("k", "e", "tilt", "ceiling", "roots", "scale"),
    [
        ((4, 9), 3, Fraction(1), Fraction(4, 9), (2, 3), 1),
        ((4, 9), 2, Fraction(7, 9), Fraction(9, 64), (2, 4), Fraction(16, 9)),
        ((9, 4, 2), 8, Fraction(1), Fraction(49, 16), (1, 3, 1), Fraction(9, 4)),
        ((4, 9), 2, Fraction(1), Fraction(1, 4), (2, 3), 1),  # not the best: with f = 1 alone 1/4 is needed
    ],
)
def test_a_certificate_for_every_population_holds_from_its_ceiling_on(k, e, tilt, ceiling, roots, scale):
    assert ceiling == Fraction(1, 4) or tilt_and_ceiling(float(e)) == pytest.approx((float(tilt), float(ceiling)))
    total = sum(Fraction(root * (size - 1), size) for root, size in zip(roots, k, strict=True))
    certificate = LawCertificate(
        k=k,
        e=(Fraction(1), Fraction(e)),
        roots=tuple(map(Fraction, roots)),
        tilt=tilt,
        ceiling=ceiling,
        error=Fraction(1),
    )
    assert only_just(certificate, total, scale)
    loose = dataclasses.replace(certificate, ceiling=Fraction(10**6), error=Fraction(1, 10**9))
    for s, fits in ((0, True), (1, True), (-A_BIT, False), (1 + A_BIT, False)):
        assert dataclasses.replace(loose, tilt=Fraction(s)).check() == fits


def test_one_question_s_error_at_a_population_is_stated():
    people = Population.from_counts(np.arange(12).reshape(3, 4))
    found = limit.least_error((3, 4), 1.0, people)
    first, second = marginal_frequencies(people)
    roots = []
    for k, f, size in ((3, first, 1), (4, second, 1)):
        e = math.e
        even = (k - 1) ** 2 * (k + (e - 1) * size) ** 2 / (k * (e - 1) ** 2 * size * (k - size))
        roots.append(math.sqrt(even - (1 - 1 / k) + 1 - (f**2).sum()))
    assert found.attained == pytest.approx(sum(roots) ** 2, rel=1e-12)
    assert found.weights == pytest.approx([root / sum(roots) for root in roots], rel=1e-12)
    assert found.sets == ((1, 4), (3, 1))
    assert limit.check_certificate(found)
    assert found.error == pytest.approx((2 / math.sqrt(3) + 1.5) ** 2 / tilt_and_ceiling(math.e)[1], rel=2e-9)


def test_monotone_sets_are_all_that_hold_what_is_above():
    for k in ((3, 2), (2, 2, 2)):
        records, found = list(np.ndindex(*k)), []
        above = [[all(a <= b for a, b in zip(r, other, strict=True)) for other in records] for r in records]
        for mask in range(2 ** len(records)):
            member = [mask >> i & 1 for i in range(len(records))]
            if all(member[j] for i in range(len(records)) if member[i] for j in range(len(records)) if above[i][j]):
                found.append(mask)
        assert sorted(up_sets(k, len(found))) == found
        assert up_sets(k, len(found) - 1) is None
    assert len(up_sets((256,), 300)) == 257
    assert up_sets((257,), 300) is None


def test_the_weights_of_nested_sets_are_polynomials_of_the_share_between():
    k, half = (2, 3), Fraction(1, 2)
    cells, expected = Cells.of(k, True), []
    masks = [np.array([mask >> i & 1 for i in range(6)]).reshape(k) for mask in up_sets(k, 99)]
    for inner, outer in itertools.product(masks, repeat=2):
        if (inner <= outer).all() and (inner < outer).any():
            rows = []
            for u in (0, half, 1):
                filled = inner + u * (outer - inner)
                parts = [size * (filled.sum(axis=1 - j) ** 2).sum() - filled.sum() ** 2 for j, size in enumerate(k)]
                rows.append([*parts, (outer - inner).sum() ** 2 * u * (1 - u)])
            expected.append((inner.sum(), (outer - inner).sum(), *np.transpose(rows).ravel()))
    at = cells.poly[:, 0, None], cells.poly[:, 1, None], cells.poly[:, 2, None]
    shares = np.array([0, half, 1])[:, None]
    values = (at[0] + shares * (at[1] + shares * at[2])).reshape(9, -1)
    assert sorted(map(tuple, np.vstack([cells.inner, cells.extra, values]).T.tolist())) == sorted(expected)
    assert cells.size == 6


def best_of(parts):
    """What `mixture` asks for, if these are all sets."""

    def best(weights):
        values = parts @ np.asarray(weights)
        return values.max(), parts[values.argmax()], int(values.argmax())

    return best


@pytest.mark.parametrize("seed", range(40))
def test_no_other_shares_of_sets_have_less_error(seed):
    """By the bound of the weights found for every mixture: (sum of rho sqrt(weight))^2 over the largest information."""
    rng = np.random.default_rng(seed)
    sets, attributes = rng.integers(1, 60), rng.integers(1, 40)
    parts = rng.random((sets, attributes)) ** rng.integers(1, 9) * 10.0 ** rng.uniform(-3, 3, attributes)
    if seed % 3 == 0:  # most sets say nothing of most attributes
        parts[rng.random(parts.shape) < 0.7] = 0
        parts = np.vstack([parts, np.diag(parts.mean(axis=0) + 1e-9)])
    if seed % 4 == 0:  # each set twice: the best shares are many
        parts = np.vstack([parts, parts]) if seed % 8 else np.exp(np.vstack([rng.uniform(-15, 15, (99, 3))] * 2))
        attributes = parts.shape[1]
    rho = 10.0 ** rng.uniform(-4, 4, attributes)
    parts = parts * 10.0 ** rng.uniform(-12, 0)
    p, error = _uniform.shares(parts, rho)
    assert p.min() >= 0
    assert p.sum() == pytest.approx(1, abs=1e-12)
    assert error == pytest.approx((rho**2 / (p @ parts)).sum(), rel=1e-12)
    assert (parts @ (rho / (p @ parts)) ** 2).max() <= error * (1 + 1e-9)  # the sum of rho sqrt(weight) is the error
    even = np.full(len(parts), 1 / len(parts))
    if len(parts) > 1 and seed % 4:
        assert error < (rho**2 / (even @ parts)).sum() * (1 - 1e-6)


@pytest.mark.parametrize("rho", [(1.0, 1.0), (0.3, 2.0)])
def test_sets_are_mixed_as_their_information_asks(rho):
    alone = (rho[0] / math.sqrt(2) + rho[1] / math.sqrt(3)) ** 2  # shares as rho over the root of the information
    p, error = _uniform.shares([[2.0, 0.0], [0.0, 3.0]], rho)
    assert error == pytest.approx(alone, rel=1e-12)
    assert p == pytest.approx(np.array([rho[0] / math.sqrt(2), rho[1] / math.sqrt(3)]) / math.sqrt(alone), rel=1e-6)
    parts = np.array([[2.0, 0.0], [0.0, 3.0], [1.5, 1.4], [0.1, 0.1]])
    bound, weights, error, names, p = mixture(best_of(parts), rho)
    assert bound == pytest.approx(error, rel=1e-8)
    assert bound <= error
    assert error < alone
    informs = p @ parts[names]
    assert error == pytest.approx((np.square(rho) / informs).sum(), rel=1e-12)
    assert bound == pytest.approx((rho @ np.sqrt(weights)) ** 2 / (parts @ weights).max(), rel=1e-12)
    assert (p.sum(), max(weights)) == (pytest.approx(1, rel=1e-12), 1)
    assert (p > 1e-3).sum() == 2  # of the two attributes' best sets one is needed no more
    assert sorted(set(names)) == [0, 1, 2]


def test_a_search_of_few_rounds_gives_a_bound_that_is_true():
    parts = np.array([[2.0, 0.0], [0.0, 3.0], [1.5, 1.4]])
    assert mixture(best_of(parts), (1.0, 1.0), rounds=1)[0] < mixture(best_of(parts), (1.0, 1.0))[0]
    assert mixture(best_of(parts), (1.0, 1.0), tolerance=9.0)[3] == [0, 1]
    *_, names, p = mixture(best_of(parts), (1.0, 1.0), rounds=1)
    assert len(names) == len(p)


@pytest.mark.parametrize("t", [0.2, 3.0, 40.0])
@pytest.mark.parametrize("weights", [(1.0, 1.0, 1.0), (0.1, 1.0, 3.0), (5.0, 2.0, 0.3)])
def test_the_best_product_set_is_the_best_of_all(t, weights):
    k, found = (3, 5, 2), []
    for sizes in itertools.product(*(range(1, size + 1) for size in k)):
        mu = math.prod(sizes) / 30
        parts = [(t * mu / (1 + t * mu)) ** 2 * (of / size - 1) for size, of in zip(sizes, k, strict=True)]
        found.append((np.dot(weights, parts), parts, sizes))
    value, parts, sizes = product_set(np.array(weights), t, k)
    best = max(found)
    assert (value, sizes) == (pytest.approx(best[0], rel=1e-14), best[2])
    assert parts == pytest.approx(np.array(best[1]), rel=1e-14)
    assert {type(size) for size in sizes} == {int}


def test_rows_and_sums_are_in_order():
    assert target_rows((2, 3), "shares").tolist() == [
        [1, 1, 1, 0, 0, 0],
        [0, 0, 0, 1, 1, 1],
        [1, 0, 0, 1, 0, 0],
        [0, 1, 0, 0, 1, 0],
        [0, 0, 1, 0, 0, 1],
    ]
    assert subset_sums(np.array([[1, 2, 4], [3, -1, 5]])).tolist() == [
        [0, 1, 2, 3, 4, 5, 6, 7],
        [0, 3, -1, 2, 5, 8, 4, 7],
    ]


DIRECTIONS = ((3, 2, 1, -1, -2, -3), (-1, -1, -1, 1, 1, 1), (4, -2, -2, 2, -1, -1), (-1, 3, -1, -2, 2, -1))
DIRECTIONS = tuple(tuple(map(Fraction, h)) for h in (*DIRECTIONS, (0, 0, 2, -3, 0, 1)))


@pytest.mark.parametrize("e", [(3, 3), (2, 4)])
@pytest.mark.parametrize(
    "numbers", [((1, 2, 3, 4, 5, 6), (3, 1, 4, 1, 5, 9)), ((1, 0, 3, 4, 5, 6), (3, Fraction(-1, 2), 4, 1, 5, 9))]
)
def test_a_certificate_at_a_population_holds_from_its_dual_variables_on(e, numbers):
    f, prices = [Fraction(x, sum(numbers[0])) for x in numbers[0]], numbers[1]
    scale = Fraction(0)
    for chosen in itertools.product((0, 1), repeat=6):
        price, share = np.dot(chosen, prices), np.dot(chosen, f)
        square = sum(np.dot(chosen, h) ** 2 for h in DIRECTIONS)
        t = e[1] - 1  # a mechanism that spends less is one that may spend so much, so the upper bound is enough
        scale = max(scale, t * t * square / (sum(prices) + t * (sum(prices) * share + price) + t * t * price * share))
    gained = Fraction(6 + 3 + 6 + 5 + 3)  # of each direction, the records that have its value
    certificate = TableCertificate(
        k=(2, 3),
        e=tuple(map(Fraction, e)),
        frequencies=tuple(f),
        dual=tuple(scale * x for x in prices),
        directions=DIRECTIONS,
        error=gained**2 / (scale * sum(prices)),
    )
    assert certificate.check()
    for factor in (1 + A_BIT, 0, -1):
        assert not dataclasses.replace(certificate, error=certificate.error * factor).check()
    for factor, fits in ((2, True), (1 - A_BIT, False)):
        less = tuple(x * factor for x in certificate.dual)
        assert dataclasses.replace(certificate, dual=less, error=certificate.error / 2).check() == fits


def test_a_certificate_at_a_population_has_its_shape():
    even, many = (Fraction(1, 6),) * 6, (Fraction(10**6),) * 6
    fine = TableCertificate(
        k=(2, 3),
        e=(Fraction(3), Fraction(3)),
        frequencies=even,
        dual=many,
        directions=DIRECTIONS,
        error=Fraction(1, 10**9),
    )
    assert fine.check()
    zero, below = (Fraction(0), Fraction(1, 3), *even[2:]), (Fraction(-1, 6), Fraction(1, 2), *even[2:])
    assert dataclasses.replace(fine, frequencies=zero).check()
    for changes in (
        {"frequencies": below},
        {"frequencies": even[1:]},
        {"frequencies": (*even, Fraction(0))},
        {"frequencies": (even[0] / 2, *even[1:])},
        {"frequencies": (even[0] * 2, *even[1:])},
        {"dual": (*many, Fraction(0))},
        {"directions": DIRECTIONS[:4]},
        {"directions": (*DIRECTIONS, DIRECTIONS[0])},
        {"directions": (*DIRECTIONS[:4], DIRECTIONS[4][1:])},
        {"directions": (*DIRECTIONS[:4], (*DIRECTIONS[4][:5], Fraction(2)))},
    ):
        assert not dataclasses.replace(fine, **changes).check(), changes


@pytest.mark.parametrize(
    ("counts", "k", "message"),
    [
        (np.ones(6), (2, 3), r"population must have the domain k = \(2, 3\); got shape \(6,\)"),
        (np.ones(11), (11,), "population must have at most 10 possible records; got 11"),
        ([1, -1], (2,), r"population must hold numbers of at least 0, not all 0; got \[1, -1\]"),
        ([0.0, 0.0], (2,), r"population must hold numbers of at least 0, not all 0; got \[0.0, 0.0\]"),
        ([1, np.nan], (2,), "population must hold numbers"),
        ([1, np.inf], (2,), "population must hold numbers"),
        ([True, False], (2,), "population must hold numbers"),
        ([1, 1j], (2,), "population must hold numbers"),
        (["1", "2"], (2,), "population must hold numbers"),
    ],
)
def test_populations_that_are_none_are_refused(counts, k, message):
    with pytest.raises(ValueError, match=message):
        check_frequencies(counts, k)


def test_frequencies_are_exact():
    found = check_frequencies(np.array([[0, 1], [2, 4]], dtype=np.uint8), (2, 2))
    assert found == (0, Fraction(1, 7), Fraction(2, 7), Fraction(4, 7))
    assert check_frequencies([0.1] * 10, (10,)) == (Fraction(1, 10),) * 10
    with pytest.raises(ValueError, match="population must have domain sizes"):
        limit.least_error((2, 3), 1.0, Population.from_counts(np.ones((3, 2), int)))
    ten, eleven = (Population.from_counts(np.ones(k, int)) for k in (10, 11))
    assert isinstance(limit.least_error(11, 1.0, eleven).certificate, LawCertificate)
    with pytest.raises(ValueError, match="at most 10 possible records"):
        limit.least_error(11, 1.0, eleven.histogram)
    assert check_frequencies(ten.histogram, (10,)) == (Fraction(1, 10),) * 10


@pytest.mark.parametrize("t", [0.1, 5.0])
def test_balanced_weights_fill_every_row(t):
    columns = 1 + t * subset_sums(np.eye(4, dtype=int)).T[1:-1]
    q = balanced(columns)
    assert q @ columns == pytest.approx(np.ones(4), rel=1e-12)
    assert q.min() > 0
    single = (columns > 1).sum(axis=1) == 1
    assert np.ptp(q[~single]) == 0
    assert q[0] < 0.6 / len(q) + single[0]


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 2.0, 5.0, 20.0])
@pytest.mark.parametrize("k", [(2, 3), (6,), (2, 2)])
def test_the_best_sets_at_a_population_have_the_error_that_is_stated(k, epsilon):
    f = np.arange(1.0, math.prod(k) + 1).reshape(k)
    found, f = limit.least_error(k, epsilon, f), f.ravel() / f.sum()
    assert limit.check_certificate(found)
    assert found.gap < 1 + 7e-8
    assert list(found.weights) == sorted(found.weights, reverse=True)
    assert sum(found.weights) == pytest.approx(1, rel=1e-12)
    assert min(found.weights) > 1e-5
    records, matrix = list(np.ndindex(*k)), []
    for chosen, often in zip(found.sets, found.weights, strict=True):
        w = np.array([math.exp(epsilon) if r in chosen else 1.0 for r in records])
        matrix.append(often * w / (w @ f))
    sums = np.sum(matrix, axis=0)
    assert sums == pytest.approx(np.ones(len(f)), abs=1e-3)
    if 1e-3 < epsilon < 9:
        assert fisher_error(np.transpose(matrix / sums), f, k) == pytest.approx(found.attained, rel=1e-3)


@pytest.mark.parametrize("epsilon", [1e-6, 1.0, 20.0])
@pytest.mark.parametrize(
    "f", [(5e-3, 0.41, 0.34, 0.2, 0.04, 3e-7), (0.5, 0.3, 0.2, 1e-9), (0.5, 0, 0.2, 0.3), (1, 0, 0, 0)]
)
def test_rare_records_leave_a_bound_that_is_proved(f, epsilon):
    found = limit.least_error(len(f), epsilon, np.array(f))
    assert limit.check_certificate(found)
    assert found.error > 0


@pytest.mark.parametrize("epsilon", [1e-6, 6.0, 10.0, 13.0, 15.0, 18.0, 19.0, 20.0])
@pytest.mark.parametrize(
    ("k", "counts"),
    [
        ((2, 2), [5, 0, 0, 1]),
        ((2, 2), [0, 5, 1, 0]),
        ((2, 2), [5, 1, 0, 0]),
        ((2, 3), [3, 8, 0, 28, 0, 50]),
        ((3,), [27, 0, 12]),
    ],
)
def test_records_that_nobody_has_leave_a_bound_that_is_proved_and_near(k, counts, epsilon):
    found = limit.least_error(k, epsilon, np.reshape(counts, k))
    assert limit.check_certificate(found)
    assert found.gap < 1 + 1e-6


def test_prices_cover_every_column():
    t = 3.0
    member = subset_sums(np.eye(4, dtype=int)).T[1:-1]
    every, f, told = (
        1 + t * member,
        np.array([0.1, 0.2, 0.3, 0.4]),
        member @ np.array([[1.0, 2], [0, -1], [2, 3], [-3, -4]]),
    )
    price = dual_variables(told, every, f)
    slack = (every @ price) * (every @ f) / (told**2).sum(axis=1)
    assert slack.min() == pytest.approx(1, rel=1e-9)
    assert slack.min() > 1 - 1e-12
    assert np.sort(slack)[3] < 1 + 1e-6  # as many are tight as there are prices


def alone(e, k):
    """The least error of one attribute at the uniform law, people drawn at random."""
    sizes = np.arange(1, k)
    return min((k - 1) ** 2 * (k + (e - 1) * sizes) ** 2 / (k * (e - 1) ** 2 * sizes * (k - sizes)))


@pytest.mark.parametrize(
    ("k", "e", "want"),
    [
        ((4, 4), 20.9, "one question"),
        ((4, 4), 21.1, "larger"),
        ((4, 4), 1e5, "larger"),
        ((4,), 30.0, "larger"),
        ((2, 2, 2), 2.9, "one question"),
        ((2, 2, 2), 3.1, "larger"),
        ((2, 5, 3), 1.5, "larger"),
        ((2, 5, 3), 1e4, "larger"),
    ],
)
def test_the_closed_form_by_hand(k, e, want):
    single, drawing = [alone(e, size) for size in k], sum(1 - 1 / size for size in k)
    together = sum((size - 1) / math.sqrt(size) for size in k) ** 2 * 4 * e / (e - 1) ** 2
    bound = len(k) ** 2 * single[0] if want == "one question" else max(together, sum(single))
    assert closed_forms.simple_error(k, math.log(e)) == pytest.approx(bound - drawing, rel=1e-10)


@pytest.mark.parametrize("e", [1.2, 1e4])
@pytest.mark.parametrize("k", [(2, 2), (2, 5, 3)])
def test_the_closed_form_for_tables_by_hand(k, e):
    pairs = list(itertools.combinations(k, 2))
    roots = sum((a - 1) * (b - 1) / math.sqrt(a * b) for a, b in pairs)
    for j, a in enumerate(k):
        roots += (a - 1) * math.sqrt(sum(1 / b for i, b in enumerate(k) if i != j) / a)
    bound = max(roots**2 * 4 * e / (e - 1) ** 2, sum(alone(e, a * b) for a, b in pairs))
    drawing = sum(1 - 1 / (a * b) for a, b in pairs)
    assert closed_forms.simple_pair_error(k, math.log(e)) == pytest.approx(bound - drawing, rel=1e-10)


def test_closed_forms_refuse_what_is_no_survey():
    for bound in (closed_forms.simple_error, closed_forms.simple_pair_error):
        for k, epsilon in (((2, 1), 1.0), ((2, 2.5), 1.0), ((2, 2), 0.0), ((2, 2), True), ((2, 2), 701.0)):
            with pytest.raises((TypeError, ValueError), match=r"k must|epsilon must"):
                bound(k, epsilon)
    with pytest.raises(ValueError, match="at least two attributes"):
        closed_forms.simple_pair_error((2,), 1.0)
    assert closed_forms.simple_error(3, 1.0) == closed_forms.simple_error((3,), 1.0)


WIDE = np.exp(np.random.default_rng(1).uniform(np.log(2), np.log(10**6), 200)).astype(int).tolist()
MIXED = np.random.default_rng(2).integers(2, 21, 200).tolist()


@pytest.mark.parametrize(
    ("k", "gaps"),
    [
        ([10**6], (1.001, 1.001)),
        ([10**6] * 200, (1.001, 1.001)),
        ([2] * 200, (1.001, 1.06)),
        (WIDE, (1.001, 1.001)),
        (MIXED, (1.01, 1.04)),
        (MIXED[:64], (1.02, 1.05)),
        ([2] * 199 + [10**6], (1.04, 1.09)),
        ([2] * 100 + [3] * 100, (1.02, 1.04)),
        ([100, 10**6], (1.001, 1.001)),
    ],
)
def test_any_size_is_answered_and_says_how_near(k, gaps):
    """At epsilon = 1 and 2; the widest gap between is where many binary attributes come with one of many values."""
    for epsilon, gap in zip((1.0, 2.0), gaps, strict=True):
        started = time.process_time()
        found = limit.least_error(k, epsilon)
        assert 1 <= found.gap < gap
        assert time.process_time() - started < 20  # 2 s on a quiet machine; a search that is too dear takes minutes
        assert limit.check_certificate(found)


@pytest.mark.parametrize(
    ("k", "epsilon", "words"),
    [
        ((4,) * 10, 1.0, "drawn records"),  # 1.002 times the closed form
        ((3,) * 7, 2.0, "drawn records"),  # 1.5 times
        ((64, 65), 1.0, "the closed form for the uniform population"),
        ((3, 4), 1.0, "all sets of records"),
        ((2, 2, 2**20), 1.0, "2 attributes exactly, the others as one"),
    ],
)
def test_the_bound_in_words_is_the_one_that_proves_the_error(k, epsilon, words):
    found = limit.least_error(k, epsilon)
    closed = (sum((size - 1) / math.sqrt(size) for size in k) / math.sinh(epsilon / 2)) ** 2
    assert (found.bound, found.error > closed * (1 + 1e-6)) == (words, words[:10] != "the closed")


@pytest.mark.parametrize(
    ("k", "epsilon", "gap"),
    [
        ([2] * 40 + [3] * 39, 4.0, 1.37),  # 1.36 with forty of each
        ([2] * 7 + [3] * 11 + [4] * 13, 5.0, 1.52),
        ([2] * 200 + [*range(3, 27)], 2.0, 1.14),  # 25 different sizes
    ],
)
def test_sets_of_several_attributes_are_mixed_whatever_the_numbers_of_equal_ones_are(k, epsilon, gap):
    """By one attribute a set the gaps are 2.74, 3.27 and 1.34."""
    found = limit.least_error(k, epsilon)
    assert 1 <= found.gap < gap
    assert limit.check_certificate(found)


@pytest.mark.parametrize(("k", "epsilon", "most"), [(range(2, 32), 8.0, 455.9), (range(2, 42), 8.0, 926.7)])
def test_many_sizes_are_answered_at_large_budgets_where_the_search_takes_more_than_forty_rounds(k, epsilon, most):
    """It ended there with an error; the second has 940.7 after forty."""
    found = limit.least_error(k, epsilon)
    assert found.attained < most
    assert limit.check_certificate(found)


def test_a_weight_that_the_search_makes_vanish_leaves_a_certificate():
    """The first was a division by a share of 0, the second a root of 0, which `check_certificate` refuses."""
    found = limit.least_error((145, 11, 31, 679_439, 14, 9_268, 2, 11, 65, 13), 3.862574748101614)
    assert limit.check_certificate(found)
    rows = ((Fraction(1), None),)
    assert limit.check_certificate(_certify((2, 3), enclose(1.0), [1.0, 1e-40], rows=rows))


def test_a_set_that_is_reported_less_than_once_in_a_million_is_kept_where_an_attribute_needs_it():
    found = limit.least_error([2] * 5 + [10**8] * 200, 1.0)
    assert min(found.weights) < 1e-6
    assert limit.check_certificate(found)


BINARY, ODD = [2] * 200, [2] * 561 + [136, 204, 368, 267_327]  # ODD: the widest gap found to epsilon = 2, at 1.3364


def test_the_gaps_are_those_of_the_docstring():
    said = limit.least_error.__doc__
    assert f" {limit.least_error(BINARY, 2.0).gap:.3f} for 200 binary" in said
    assert f" {limit.least_error(ODD, 1.3364).gap:.3f} for 561 and four" in said
    assert f" {limit.least_error(BINARY, 4.0).gap:.2f} for 200" in said
    assert f", {_covering.SEARCHED} different sizes and " in said  # beyond them no weights are searched for: 1.162
    assert limit.least_error([2] * 500 + [*range(33, 307, 8)], 2.0).gap > limit.least_error(ODD, 1.3364).gap
    gap = limit.least_error([2] * 800 + [*range(3, 111)], 2.0).gap  # beyond 100 sizes one attribute a set
    assert f"(with more sizes it may be {gap:.2f})" in said


@pytest.mark.parametrize(
    "k",
    [
        ODD,
        [2] * 338 + [103, 542, 542, 81_983],
        [2] * 76 + [8_000],  # 1.175 if the search has 40 shares and the certificate 300
        [2] * 45 + [2_300],
        [2] * 210 + [30, 500, 16_000],  # one search alone gets stuck at 1.22
        [2] * 134 + [9_500],
        [2] * 60 + [5_000],
        [2] * 8 + [20],
        [2] * 20 + [300],
        [2] * 40 + [1_000] * 2,
        [2] * 40 + [100] * 10,
        [3] * 60 + [10**4],
    ],
)
@pytest.mark.parametrize("epsilon", [1.0, 1.39, 1.5, 2.0])
def test_unlike_domains_have_the_widest_gap_and_it_is_below_16_percent(k, epsilon):
    assert limit.least_error(k, epsilon).gap <= limit.least_error(ODD, 1.3364).gap + 1e-9 < 1.16


@pytest.mark.parametrize("page", ["choose", "theorems"])
def test_pages_for_readers_say_how_wide_the_gap_is(page):
    text = " ".join((Path(__file__).resolve().parents[2] / f"book/{page}.md").read_text(encoding="utf-8").split())
    binary, odd, adult = (
        f"{100 * (limit.least_error(k, b).gap - 1):.1f} %"
        for k, b in ((BINARY, 2.0), (ODD, 1.3364), ((9, 16, 7, 15, 6, 5, 2, 2), 2.0))
    )
    assert re.search(rf"\b{binary} (at ε = 2 |above it )?for 200 binary attributes", text)
    tried = f"some 2,500 domains of up to {_covering.SEARCHED} different sizes tried"  # of more sizes it may be wider
    assert tried in text
    told = rf"(at ε = 1.3364 |above it on {tried} \(that )?for 561 (binary ones |binary attributes )?"
    assert re.search(rf"\b{odd} {told}and four with 136, 204, 368 and 267,327 values", text)
    assert page != "choose" or f"{adult} above the better limit on Adult's domain at ε = 2" in text
    assert f"{limit.least_error(BINARY, 4.0).gap:.1f} " in text.partition("267,327 values")[2][:160]


@pytest.mark.parametrize("d", [9, 12, 200])
def test_binary_attributes_have_the_least_error_of_one_question_exactly_up_to_the_theorems_place(d):
    """Beyond all sets of records the library's bound knows nothing of theorem `thm-binary`; its mixture does."""
    place = math.log(1 + 2 * math.sqrt(2))
    for epsilon, several in ((place - 1e-4, False), (place + 1e-4, True)):
        found = limit.least_error((2,) * d, epsilon)
        assert any(chosen.count(1) > 1 for chosen in found.sets) == several
        alone = d**2 * (math.exp(epsilon) + 1) ** 2 / 2 / math.expm1(epsilon) ** 2
        assert (found.attained < alone * (1 - 1e-6)) == several
        assert found.error < alone * (1 + 1e-9)


def test_what_is_no_domain_or_population_is_named():
    for k in (2**32 + 1, (2, 10**30)):
        with pytest.raises(ValueError, match=r"k must be at most 2\*\*32 for a limit; got "):
            limit.least_error(k, 1.0)
    with pytest.raises(ValueError, match="population must not have masked entries"):
        limit.least_error((2, 2), 1.0, np.ma.array(np.ones((2, 2)), mask=[[1, 0], [0, 0]]))
    with pytest.raises(ValueError, match="population must hold numbers"):
        limit.least_error(2, 1.0, [math.inf, 1.0])


def test_pair_tables_that_take_too_long_are_refused_at_once():
    found = least_pair_error((2,) * 20, 1.0)
    assert found.gap < 1.14  # the closed form alone
    assert found.bound == "shares of sets, relaxed"
    with pytest.raises(ValueError, match=r"20,000,000 parts of sets of pairs to try; got 3,200,000,000"):
        least_pair_error((200,) * 20, 1.0)


def most_of_one_question(k, d, t, tries):
    """Largest mean of max(g - b, 0) over that of one value, g a sum of functions of single attributes, E g^2 = 1.

    At most 1 if and only if no set informs more than one value of one attribute. Each step takes the best set of g, and
    the best g of that set, so the value never falls.
    """
    rng, size = np.random.default_rng(k * 10 + d), k**d
    share, level = math.sqrt(k - 1) / (k + t), math.sqrt(k - 1) * t / (k + t)
    values = np.indices((k,) * d).reshape(d, -1)
    best = 0.0
    for _ in range(tries):
        g = rng.normal(size=(d, k)) * rng.dirichlet(np.full(d, rng.choice([0.2, 1, 5])))[:, None] ** 0.5
        if rng.random() < 0.5:
            g[:, 0] += 5 * rng.random(d)
        last = -1.0
        for _ in range(60):
            g -= g.mean(axis=1, keepdims=True)
            g /= math.sqrt((g**2).mean(axis=1).sum())
            sums = np.take_along_axis(g, values, axis=1).sum(axis=0)
            inside, found = sums > level, np.maximum(sums - level, 0).mean() / share
            if not inside.any() or found < last + 1e-13:
                break
            best, last = max(best, found), found
            g = np.array([np.bincount(own[inside], minlength=k) for own in values]) * (k / size)
    return best


@pytest.mark.parametrize(("k", "d"), [(2, 7), (3, 2), (3, 3), (3, 5), (4, 2), (4, 4), (6, 3)])
def test_a_local_search_finds_no_better_set_at_the_place_of_two_attributes_and_one_beyond(k, d):
    place = k * (k - 2 + math.hypot(k - 1, 1))
    assert most_of_one_question(k, d, place, 400) < 1 + 1e-9
    assert most_of_one_question(k, d, 1.05 * place, 400) > 1 + 1e-6


def told_in_a_row(k, t, m):
    return t * t * (k * (m * m + m) - 2 * m * m) / (k * k + t * m) ** 2


@pytest.mark.parametrize("k", [3, 4])
def test_beyond_the_place_of_two_attributes_fewer_and_fewer_records_of_a_row_tell_most(k):
    """The set of k - 1 records tells most just beyond the place, but more than one value everywhere beyond."""
    place, cells = k * (k - 2 + math.hypot(k - 1, 1)), limit.Cells.of((k, k), False)
    for times, records in ((0.99, k), (1.001, k - 1), (2, 1)):
        value, _, (share, _) = cells.best([1.0, 1.0], times * place)
        assert share == records / k**2
        assert value == pytest.approx(told_in_a_row(k, times * place, records), rel=1e-12)
    for t in place * np.geomspace(1.001, 1e4, 50):
        assert told_in_a_row(k, t, k - 1) > told_in_a_row(k, t, k)
    few = [told_in_a_row(k, k * (k - 2), m) for m in range(1, k + 1)]  # here the derivative does not change sign
    assert few == sorted(few)
    text = (Path(__file__).parents[2] / "notebooks/limit_attained.ipynb").read_text(encoding="utf-8")
    assert "its derivative changes sign at most once" in text
    assert "records in one row tell more than one value (further on fewer tell more still)" in text


def test_the_answers_of_the_chapters_exercises():
    """Those with code of limit_bound, limit_minimax, limit_correlation, limit_attained and optimal_sets."""
    of_groups, cumulative = (limit.linear_error(target, 1.0) for target in (np.eye(100), limit.prefixes(100)))
    assert round(cumulative / of_groups, 1) == 3.0
    least = limit.least_error(ADULT, 1.0).error
    shares = [n * limit.minimax_error(ADULT, 1.0, n) / least for n in (10**5, 10**6)]
    assert [round(share, 2) for share in shares] == [0.10, 0.54]
    few = [limit.minimax_error(k, 1.0, 32_561) * 32_561 / least for k in (ADULT, (7, 6, 5, 2, 2))]  # and five
    chapter = (Path(__file__).parents[2] / "notebooks/limit_minimax.ipynb").read_text(encoding="utf-8")
    assert f"it is {few[0]:.0%} of the limit.".replace("%", " %") in chapter
    assert f"7, 6, 5, 2 and 2 values give {few[1]:.0%}.".replace("%", " %") in chapter
    agree = np.array([[0.495, 0.005], [0.005, 0.495]])
    over = [limit.least_error((2, 2), x, agree).attained * math.tanh(x / 2) ** 2 / 2 for x in (1.0986, 1.10, 1.11)]
    assert [share < 1 - 1e-6 for share in over] == [False, False, True]

    def named(k, epsilon):
        return [tuple(len({record[j] for record in s}) for j in (0, 1)) for s in limit.least_error(k, epsilon).sets]

    assert sorted(named((2, 3), 1.0)) == sorted(named((2, 3), 1.69)) == [(1, 3), (2, 1)]
    assert sorted(named((2, 3), 1.70)) == sorted(named((2, 3), 1.98)) == [(1, 2), (2, 1)]
    assert [named((2, 3), x) for x in (1.99, 2.0, 3.0)] == [[(1, 1)]] * 3
    text = (Path(__file__).parents[2] / "notebooks/optimal_sets.ipynb").read_text(encoding="utf-8")
    assert "If domains differ, a single set need not be best" in text  # here it is, from 1.99 on
    assert {frozenset(s) for s in named((4, 4), 3.07)} == {frozenset((1, 4))}
    assert {frozenset(s) for s in named((4, 4), 3.08)} == {frozenset((1, 3))}


def test_two_users_with_masks_of_a_dealer_have_less_error_than_the_bound():
    """The theorems ask that users randomize independently: a transcript whose ratio is e is not enough."""
    e, noise = 3, [Fraction(w, 17) for w in (9, 3, 1, 1, 3)]
    estimate = [Fraction(a, 56) for a in (-23, 28, 79, 62, -6)]  # of the share of 1, by the sum of both messages
    answers, messages = (list(itertools.product(range(m), repeat=2)) for m in (2, 5))
    law = {x: dict.fromkeys(messages, Fraction(0)) for x in answers}
    for x, mask, z in itertools.product(answers, range(5), range(5)):
        law[x][(x[0] + mask) % 5, (x[1] - mask + z) % 5] += noise[z] / 5
    near = [pair for pair in itertools.permutations(answers, 2) if sum(map(int.__ne__, *pair)) == 1]
    assert max(law[a][y] / law[b][y] for a, b in near for y in messages) == e  # one record changes
    mean = {x: sum(p * estimate[sum(y) % 5] for y, p in law[x].items()) for x in answers}
    assert mean == {x: Fraction(sum(x), 2) for x in answers}
    square = sum(p * estimate[sum(y) % 5] ** 2 for x in answers for y, p in law[x].items()) / 4
    assert 2 * (square - Fraction(1, 4)) == Fraction(51, 56)  # of both shares, users drawn uniformly
    alone = [sum(p for y, p in law[0, 1].items() if y[i] == v) for i in (0, 1) for v in range(5)]
    assert alone == [Fraction(1, 5)] * 10
    assert math.isclose(limit.least_error((2,), math.log(e)).error / 2, 1, rel_tol=1e-8)
    # without what drawing the users adds it is below the closed form too
    assert Fraction(51, 56) - Fraction(1, 4) < Fraction(closed_forms.simple_error(2, math.log(e)) / 2)
    root = Path(__file__).resolve().parents[2]
    chapter = json.loads((root / "notebooks/limit_bound.ipynb").read_text(encoding="utf-8"))["cells"]
    (theorem,) = ("".join(c["source"]) for c in chapter if ":label: thm-certificate" in "".join(c["source"]))
    assert "each randomizing independently, also" in theorem.partition(":::\n")[0]
    assert "51/56, and the bound is 1" in theorem
    conventions = (root / "book/theorems.md").read_text(encoding="utf-8").partition("## The limit")[0]
    assert "users randomize independently" in conventions
    claims = " ".join((root / "book/claims.md").read_text(encoding="utf-8").split())
    assert "In rows on the least error or variance users randomize independently" in claims


def test_what_the_library_says_of_all_mechanisms_says_that_users_randomize_independently():
    modules = [
        f"ldp_lib.limit.{name}" for name in ("bound", "closed_forms", "linear_targets", "minimax", "pair_tables")
    ]
    found = (f for name in modules for _, f in inspect.getmembers(importlib.import_module(name), inspect.isfunction))
    texts = {f.__name__: " ".join((f.__doc__ or "").split()) for f in found if f.__module__ in modules}
    told = {
        of: text for of, text in texts.items() if re.search(r"(?i)\b(no|any|every)\b[^.]* (mechanism|protocol)\b", text)
    }
    bounds = {"least_error", "fixed_data_error", "simple_error", "simple_pair_error", "linear_error", "minimax_error"}
    assert {*bounds, "least_pair_error"} <= set(told)
    independent = "users randomize independently|drawn.*, and randomize, independently"
    assert [of for of, text in told.items() if not re.search(independent, text)] == []


def test_on_adults_domains_sex_and_income_together_gain_from_where_two_binary_attributes_do():
    """The answer of `optimal_sets`: any mixture of single questions gains by that exchange beyond e = 1 + sqrt 8."""
    place = math.log(1 + math.sqrt(8))
    for epsilon, together in ((place - 1e-3, []), (place + 1e-3, [(9, 16, 7, 15, 6, 5, 1, 1)])):
        sets = limit.least_error(ADULT, epsilon).sets
        assert [s for s in sets if sum(map(int.__lt__, s, ADULT)) > 1] == together
    chapter = (Path(__file__).parents[2] / "notebooks/optimal_sets.ipynb").read_text(encoding="utf-8")
    told = f"from ε = {place:.2f} on, a mixture with reports about sex and income together gains a little"
    assert f"{told} (3 % at ε = 2, at 4 with other pairs 17 %)" in chapter
    for epsilon, saved in ((2.0, 0.03), (4.0, 0.17)):
        singles = sum(math.sqrt(limit.least_error(size, epsilon).attained) for size in ADULT) ** 2
        found = limit.least_error(ADULT, epsilon)
        assert round(1 - found.attained / singles, 2) == saved
        pairs = {tuple(j for j, size in enumerate(s) if size < ADULT[j]) for s in found.sets}
        assert max(map(len, pairs)) == 2
        assert ((6, 7) in pairs) == (epsilon == 2)


def test_splitting_costs_little_if_one_domain_is_much_larger_and_more_at_a_large_epsilon():
    over = []
    for epsilon in (0.05, 0.25, 4.0):

        def both(part, epsilon=epsilon):
            sizes = ((2, part * epsilon), (1_000, (1 - part) * epsilon))
            return sum(subset.error(math.exp(b), k, np.arange(1, k)).min() for k, b in sizes)

        best = minimize_scalar(both, bounds=(1e-3, 1 - 1e-3), method="bounded").fun
        over.append(round(best / limit.least_error((2, 1_000), epsilon).error, 1))
    assert over == [1.2, 1.2, 1.4]
    chapter = (Path(__file__).parents[2] / "notebooks/optimal_sets.ipynb").read_text(encoding="utf-8")
    assert f"for 2 and 1,000 values {over[1]} and {over[2]} times" in chapter


def test_where_some_budgets_were_tried_the_page_of_results_says_so():
    root = Path(__file__).resolve().parents[2]
    for epsilon in (0.02, 0.3, 0.75, 0.97):  # more than the chapter tries
        alone = sum(math.sqrt(limit.least_error(size, epsilon).attained) for size in ADULT) ** 2
        assert 1 < alone / limit.least_error(ADULT, epsilon).error < 1.01
    own = (root / "ldp_lib/book/ledger/own.yml").read_text(encoding="utf-8")
    assert "within 1 % of it at all budgets tried up to 1" in " ".join(own.split())
    page = (root / "book/results.md").read_text(encoding="utf-8")
    (row,) = (line for line in page.splitlines() if line.startswith("| Attribute sampling is near the least error "))
    assert "| within 1 % | attribute sampling | those tried up to 1 |" in row


def test_what_may_still_be_saved_on_adult_is_a_fifth_of_the_error_and_no_quarter():
    """What is proved at every population, over attribute sampling's error there, people held fixed or drawn."""
    people, notebooks = load_adult(), Path(__file__).parents[2] / "notebooks"
    fixed = people.n * sum(map(sum, OneQuestion(k=people.k, epsilon=1.0).variance(people)))
    drawn = sum(1 - (f**2).sum() for f in marginal_frequencies(people))
    proved, uniform = (limit.least_error(people.k, 1.0, of).error for of in (people, None))
    for most in (1 - proved / (fixed + drawn), 1 - (proved - drawn) / fixed):
        assert 1 / 5 < most < 1 / 4
    text = (notebooks / "which_mechanism.ipynb").read_text(encoding="utf-8")
    assert "nobody has excluded an unbiased mechanism with a fifth less error" in text
    closed = (sum((k - 1) / math.sqrt(k) for k in people.k) / math.sinh(0.5)) ** 2
    text = (notebooks / "optimal_sets.ipynb").read_text(encoding="utf-8")
    assert f"by what is proved at the uniform one, divided by {uniform / proved:.2f}." in text
    below = f"{1 - closed / uniform:.0%}".replace("%", " %")
    assert f"has {math.cosh(0.5) ** 2:.2f}, because" in text
    assert f"which is {below} below that here" in text

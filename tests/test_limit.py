"""The limit: certificates that hold and can fail, sets found by brute force, and mechanisms that do not beat it."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from ldp_lib import OneQuestion, channel, grr, limit
from ldp_lib.datasets import load_adult
from ldp_lib.limit import draws, simple
from ldp_lib.limit.bound import enclose
from ldp_lib.limit.law import tilt_and_ceiling
from ldp_lib.limit.pairs import least_pair_error
from ldp_lib.limit.table import marginal_rows
from ldp_lib.limit.uniform import Cells, up_sets
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
    rows = marginal_rows(k)
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
        rows = [draws.row(k, weights, Fraction(max(w) * i, 40)) for i in range(1, 41)]
        top = Fraction(draws.largest(k, 2.0, rows)) * (1 + Fraction(1, 10**9))
        assert top >= truth
        assert draws.holds(k, t, rows, top)
        assert not draws.holds(k, t, rows, top * Fraction(999, 1000))


@pytest.mark.parametrize("k", [(2, 2, 2), (2, 2, 2, 2), (3, 3), (4, 4)])
def test_draws_from_equal_domains_bound_every_set_at_its_own_size(k):
    size, parts, total = all_weights(k)
    shares = [Fraction(1, k[0])] + [Fraction(i, 20) for i in range(1, 21)]
    rows = [draws.row(k, None, share, draws.equal_row(len(k), k[0], share)) for share in shares]
    every = np.zeros(total + 1, dtype=np.int64)
    np.maximum.at(every, size, parts.sum(axis=0))
    for n, weight in enumerate(every):
        mu = Fraction(n, total)
        s = min(int(mu * k[0]), k[0] - 1)
        bounds = []
        for row in rows:
            c0, c1, c2 = draws.quadratic(row, k[0], s)
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
    beyond = limit.least_error((2,) * d, math.log(12))
    assert beyond.attained < d * d * (13 / 11) ** 2 / 2


def test_one_attribute_is_subset_selection():
    for k, epsilon in [(4, 0.7), (16, 1.0), (300, 2.0)]:
        e = math.exp(epsilon)
        sizes = np.arange(1, k)
        single = min((k - 1) ** 2 * (k + (e - 1) * sizes) ** 2 / (k * (e - 1) ** 2 * sizes * (k - sizes)))
        found = limit.least_error(k, epsilon)
        assert np.isclose(found.error, single, rtol=2e-9)
        assert limit.check_certificate(found)


@pytest.mark.parametrize("k", [(2,), (9,), (2, 2, 2), (4, 4), (2, 5, 9), (3, 3, 3, 3)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_the_closed_form_is_not_above_the_limit_and_is_it_where_it_says_so(k, epsilon):
    found = limit.least_error(k, epsilon)
    bound = simple.simple_error(k, epsilon) + sum(1 - 1 / size for size in k)  # people drawn at random
    assert bound <= found.attained * (1 + 1e-9)
    if len(set(k)) == 1 and (len(k) == 1 or math.exp(epsilon) <= 1 + k[0] * (2 * k[0] - 3)):
        assert bound == pytest.approx(found.error, rel=1e-6)
    elif epsilon <= 1:
        assert bound > 0.95 * found.error


@pytest.mark.parametrize("k", [(2, 3), (2, 2, 2), (4, 4, 4), (9, 16, 7)])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 6.0])
def test_the_closed_form_for_tables_is_not_above_the_limit(k, epsilon):
    cells = [a * b for a, b in itertools.combinations(k, 2)]
    found = least_pair_error(k, epsilon)
    bound = simple.simple_pair_error(k, epsilon) + sum(1 - 1 / size for size in cells)
    assert bound <= found.attained * (1 + 1e-9)
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


@pytest.mark.parametrize("found", [limit.least_error((2, 3), 1.0), limit.least_error((3, 3), 1.0, np.eye(3) + 0.1)])
def test_a_certificate_that_claims_more_fails(found):
    more = found.certificate.error * Fraction(10**6 + 10, 10**6)
    assert not limit.check_certificate(dataclasses.replace(found.certificate, error=more))
    assert not limit.check_certificate(dataclasses.replace(found, error=float(more)))
    assert not limit.check_certificate(dataclasses.replace(found, epsilon=1.001))


def test_a_certificate_with_wrong_parts_fails():
    found = limit.least_error(ADULT, 1.0).certificate
    low = dataclasses.replace(found, ceiling=found.ceiling * Fraction(999, 1000), error=found.error)
    assert not limit.check_certificate(low)
    table = limit.least_error((2, 2), 1.0, np.ones((2, 2))).certificate
    cheap = tuple(price * Fraction(99, 100) for price in table.prices)
    assert not limit.check_certificate(dataclasses.replace(table, prices=cheap))
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

"""The limit for all pair tables: certificates, mechanisms at random, and what is known to attain it."""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from ldp_lib import subset
from ldp_lib.limit.pair_tables import (
    _candidates,
    _every_set,
    _informed,
    _mixture_error,
    _relaxed,
    _spread,
    least_pair_error,
    pair_error,
    spaces,
)
from ldp_lib.sampled import AskSome
from ldp_lib.tables.covariance import table_covariance
from ldp_lib.tables.product import RRIndependent
from ldp_lib.tables.sampled import ask_pairs


def total(mechanism, k):
    """Total variance of all pair tables for one uniform user."""
    tables = {
        p: np.full([k[j] for j in p], 1 / math.prod(k[j] for j in p)) for p in itertools.combinations(range(len(k)), 2)
    }
    return sum(np.trace(table_covariance(mechanism, table, *pair, n=1)) for pair, table in tables.items())


@pytest.mark.parametrize("k", [(2, 2), (2, 3), (2, 2, 2), (2, 3, 2)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_bound_is_proved_and_attained_on_small_domains(k, epsilon):
    limit = least_pair_error(k, epsilon)
    assert limit.certificate.check()
    assert Fraction(limit.error) <= limit.certificate.error
    assert limit.gap < 1 + 1e-6
    assert not dataclasses.replace(limit.certificate, error=limit.certificate.error * Fraction(101, 100)).check()
    less = tuple(x * Fraction(99, 100) for x in limit.certificate.dual)
    assert not dataclasses.replace(limit.certificate, dual=less).check()
    for mechanism in (ask_pairs(k, epsilon), RRIndependent(k=k, epsilon=epsilon)):
        assert total(mechanism, k) >= limit.error * (1 - 1e-9)


@pytest.mark.parametrize("k", [(2, 2), (2, 3), (2, 2, 2)])
def test_no_mechanism_drawn_at_random_is_better(k):
    """Channels of two levels with random sets, not symmetrised: information matrix, then the best unbiased tables."""
    rng, e, n = np.random.default_rng(1), math.exp(1.0), math.prod(k)
    values, rows, found = np.indices(k).reshape(len(k), -1), [], []
    for j, i in itertools.combinations(range(len(k)), 2):
        rows += [(values[j] == v) & (values[i] == u) for v in range(k[j]) for u in range(k[i])]
    rows, singles = np.array(rows, float), np.where(np.eye(n) > 0, e, 1.0)
    basis = np.linalg.svd(np.ones((1, n)))[2][1:]
    for _ in range(150):
        columns = np.where(rng.random((2 * n, n)) < rng.random((2 * n, 1)), e, 1.0)
        often = rng.random(2 * n) * rng.random() / columns.sum(axis=0).max()
        rest = np.linalg.solve(singles.T, 1 - often @ columns)  # single records fill the rows up to 1
        if rest.min() >= 0:
            every, weights = np.vstack([columns, singles]), np.append(often, rest)
            information = (every.T * (weights / every.mean(axis=1))) @ every
            inverse = np.linalg.inv(basis @ information @ basis.T)
            found.append(np.trace(rows @ basis.T @ inverse @ basis @ rows.T))
    assert len(found) > 20
    assert min(found) >= least_pair_error(k, 1.0).error * (1 - 1e-9)
    assert min(found) < least_pair_error(k, 1.0).error * 3


def test_a_share_that_fits_attains_the_closed_form():
    """Four values each and e = 3: a quarter of the values is asked for, one space at a time."""
    k = (4, 4)
    limit, t = least_pair_error(k, math.log(3)), 2
    roots = sum(math.sqrt(square) for _, square in spaces(k))
    assert math.isclose(limit.attained, roots**2 * 4 * 3 / t**2, rel_tol=1e-6)
    assert total(ask_pairs(k, math.log(3)), k) > 1.3 * limit.attained
    # The theorem's reports: a set with its values renamed, of one attribute (one value) or of both (a permutation).
    first, second = np.indices(k).reshape(2, -1)
    parts = [[first == v for v in range(4)], [second == v for v in range(4)]]
    parts.append([np.array(order)[first] == second for order in itertools.permutations(range(4))])
    shares = [share / len(part) for part, share in zip(parts, (0.2, 0.2, 0.6), strict=True) for _ in part]
    sets = np.vstack(parts)
    named = np.array(shares)[:, None] * (1 + t * sets)
    yes_or_no = np.vstack([np.array(shares)[:, None] * (1 + t * held) for held in (sets, ~sets)])
    errors = []
    for columns in (named / named.sum(axis=0), yes_or_no / yes_or_no.sum(axis=0)):
        free = np.eye(16) - 1 / 16
        information = free @ (columns.T * (1 / columns.mean(axis=1))) @ columns @ free
        errors.append(np.trace(np.linalg.pinv(information, hermitian=True)))
    assert math.isclose(errors[0], limit.attained, rel_tol=1e-6)
    assert errors[1] > 1.6 * limit.attained  # whether the set holds the own value, by randomized response


@pytest.mark.parametrize("k", [(3, 4, 2), (4, 3, 2, 5)])
@pytest.mark.parametrize("epsilon", [0.5, 3.0])
def test_the_error_by_spaces_is_the_exact_total(k, epsilon):
    mechanism = ask_pairs(k, epsilon)
    assert math.isclose(
        pair_error(k, epsilon, mechanism.sizes_, 2, mechanism.weights_), total(mechanism, k), rel_tol=1e-9
    )
    three = AskSome(k=k, epsilon=epsilon, m=3, weights=np.ones(math.comb(len(k), 3)))
    assert math.isclose(pair_error(k, epsilon, three.sizes_, 3, three.weights_), total(three, k), rel_tol=1e-9)


@pytest.mark.parametrize(("k", "t"), [((3, 6), 1), ((6, 6, 12), 4), ((4, 4, 4), 2)])
def test_every_domain_whose_sizes_the_integer_e_plus_1_divides_attains_the_closed_bound(k, t):
    """Unequal ones too, and 6, no power of a prime: a share 1/(e+1) of an answer's values or of a pair's cells."""
    names = [("values" if len(space) == 1 else "balanced", *space, k[space[-1]] // (t + 2)) for space, _ in spaces(k)]
    roots = np.sqrt([float(square) for _, square in spaces(k)])
    attained = _mixture_error(k, t, names, roots / roots.sum())
    assert math.isclose(attained, roots.sum() ** 2 * 4 * (t + 1) / t**2, rel_tol=1e-12)


def test_the_general_bound_is_below_the_exact_one_and_near_at_small_budgets():
    for k, epsilon in itertools.product([(2, 2, 2), (3, 4)], [0.1, 4.0]):
        t, rho = math.expm1(epsilon), np.sqrt([float(square) for _, square in spaces(k)])
        assert _relaxed(k, t, rho) <= least_pair_error(k, epsilon).attained * (1 + 1e-9)
    adult = least_pair_error((9, 16, 7, 15, 6, 5, 2, 2), 1.0)
    assert adult.gap < 1.01
    assert adult.certificate is None
    assert math.isclose(sum(adult.weights), 1, rel_tol=1e-9)


def test_sets_of_every_size_are_tried():
    names, informs = _candidates((4, 2, 3), 1.5)
    assert [name[1:] for name in names if name[0] == "values"] == [(0, 1), (0, 2), (0, 3), (1, 1), (2, 1), (2, 2)]
    assert {name[1:] for name in names if name[0] == "boxes"} == {
        (j, i, a, b)
        for (j, u), (i, v) in itertools.combinations(enumerate((4, 2, 3)), 2)
        for a, b in itertools.product(range(1, u), range(1, v))
    }
    assert informs.shape[1] == len(names)
    assert informs.min() >= 0


@pytest.mark.parametrize(("d", "epsilon", "m"), [(13, 4.0, 4), (15, 8.0, 10)])
def test_what_attains_the_limit_has_no_more_error_than_a_few_questions_a_person_also_beyond_ten(d, epsilon, m):
    """Sets of one or two attributes have 3.2 times as much for thirteen, of up to five 1.8 times for fifteen."""
    k = (2,) * d
    some = pair_error(k, epsilon, (1,) * d, m, np.full(math.comb(d, m), 1 / math.comb(d, m)))
    assert 0.99 < least_pair_error(k, epsilon).attained / some < 1 + 1e-4


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_the_weights_and_sizes_of_ask_pairs_are_nearly_the_best(epsilon):
    """Against any weights, and sizes of sets that may differ from pair to pair: within five per cent."""
    k, t = (6, 5, 2, 2), math.expm1(epsilon)
    names, informs = _candidates(k, t)
    boxes = [number for number, (kind, *_) in enumerate(names) if kind == "boxes"]
    best = _spread(informs[:, boxes], np.sqrt([float(square) for _, square in spaces(k)]))[1]
    chosen = ask_pairs(k, epsilon)
    assert 1 - 1e-3 < pair_error(k, epsilon, chosen.sizes_, 2, chosen.weights_) / best < 1.05
    assert pair_error(k, epsilon, (1,) * 4, 2, np.full(6, 1 / 6)) / best > 1.05


def test_parts_of_a_set_add_up():
    """Three attributes of two values: what is left of a set's variance is its part on all three."""
    size, parts, masks = _every_set((2, 2, 2))
    sign = np.array([(-1) ** sum(cell) for cell in np.ndindex(2, 2, 2)])
    bits = (masks[:, None] >> np.arange(8)) & 1
    assert (parts.sum(axis=0) + (bits @ sign) ** 2 == 8 * size - size**2).all()


def _balanced(rows, columns, size):
    """Return a set of cells with `size` in each row and as equally many as can be in each column, as booleans."""
    member, cells = np.zeros((rows, columns), bool), np.arange(rows * size)
    member[cells // size, cells % columns] = True
    return member


def test_sets_by_name_inform_as_their_records_do():
    """Every candidate for three attributes, written out as a set of records, against the parts of all sets."""
    k, t = (2, 3, 2), 1.5
    values, (size, parts, _) = np.indices(k).reshape(3, -1), _every_set(k)
    names, informs = _candidates(k, t)
    kinds = {
        "values": lambda j, m: values[j] < m,
        "boxes": lambda j, i, a, b: (values[j] < a) & (values[i] < b),
        "balanced": lambda j, i, m: _balanced(k[j], k[i], m)[values[j], values[i]],
        "record": lambda *chosen: (values[list(chosen)] == 0).all(axis=0),
    }
    assert {kind for kind, *_ in names} == set(kinds)
    for (kind, *rest), inform in zip(names, informs.T, strict=True):
        mask = int(kinds[kind](*rest) @ 2 ** np.arange(12)) - 1
        wanted = parts[:, mask] / 144 * (t / (1 + t * size[mask] / 12)) ** 2
        assert np.allclose(inform, wanted, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize(("rows", "columns", "size"), [(2, 5, 2), (6, 4, 3), (7, 3, 1)])
def test_balanced_sets_are_balanced(rows, columns, size):
    member = _balanced(rows, columns, size)
    assert (member.sum(axis=1) == size).all()
    assert np.ptp(member.sum(axis=0)) <= 1


def test_bad_input():
    with pytest.raises(ValueError, match=r"epsilon must be from .* for a limit; got 50"):
        least_pair_error((2, 2), 50)
    with pytest.raises(ValueError, match="at least two attributes"):
        least_pair_error((2,), 1.0)


def test_spaces_by_hand():
    halves = {(0,): (7, 24), (1,): (1, 1), (2,): (15, 8), (0, 1): (2, 3), (0, 2): (9, 8), (1, 2): (3, 1)}
    assert spaces((2, 3, 4)) == [(space, Fraction(*number)) for space, number in halves.items()]


def test_parts_are_what_rows_columns_and_both_explain():
    size, parts, masks = _every_set((2, 3))
    assert masks.tolist() == list(range(1, 64))
    for n, part, mask in zip(size, parts.T, masks, strict=True):
        cells = np.array([mask >> i & 1 for i in range(6)]).reshape(2, 3)
        rows, columns, mean = cells.mean(axis=1, keepdims=True), cells.mean(axis=0), cells.mean()
        left = [
            ((rows - mean) ** 2).mean(),
            ((columns - mean) ** 2).mean(),
            ((cells - rows - columns + mean) ** 2).mean(),
        ]
        assert n == cells.sum()
        assert part == pytest.approx(36 * np.array(left), abs=1e-9)


@pytest.mark.parametrize("k", [(2, 3), (3, 2), (2, 2, 2)])
def test_directions_and_dual_variables_are_those_of_the_spaces(k):
    """What a set tells in every direction together is its weighted information; the dual variables are just enough."""
    (size, parts, masks), n = _every_set(k), math.prod(k)
    inner = least_pair_error(k, 1.0).certificate
    told = (np.array(masks)[:, None] >> np.arange(n) & 1) @ np.array(inner.directions).astype(float).T
    share = inner.e[1] - 1
    need = (float(share) * told) ** 2 / ((1 + float(share) * size / n) ** 2)[:, None]
    assert need.sum(axis=1).max() == pytest.approx(float(sum(inner.dual)), rel=1e-8)
    squares = np.array([float(square) for _, square in spaces(k)])
    a = np.linalg.lstsq((parts / n**2).T, (told**2).sum(axis=1))[0]  # the spaces' weights
    assert (told**2).sum(axis=1) == pytest.approx(a @ (parts / n**2), rel=1e-9, abs=1e-15)
    roots = np.sqrt(a / squares)
    assert float(inner.error) == pytest.approx((roots @ squares) ** 2 / float(sum(inner.dual)), rel=1e-8)


@pytest.mark.parametrize("epsilon", [1e-6, 0.5, 5.0, 20.0])
@pytest.mark.parametrize("k", [(2, 3), (3, 2), (2, 2, 2)])
def test_the_mixture_of_sets_of_records_has_its_stated_error(k, epsilon):
    found, t = least_pair_error(k, epsilon), math.expm1(epsilon)
    size, parts, _ = _every_set(k)
    informs = np.zeros(len(parts))
    for (kind, mask), often in zip(found.sets, found.weights, strict=True):
        assert kind == "records"
        informs += often * parts[:, mask - 1] * (t / (math.prod(k) + t * size[mask - 1])) ** 2
    assert found.attained == pytest.approx(
        sum(float(s) / i for (_, s), i in zip(spaces(k), informs, strict=True)), rel=1e-9
    )
    assert 1 <= found.gap < 1 + 1e-7
    assert Fraction(found.error) <= found.certificate.error
    assert found.certificate.check()
    assert list(found.weights) == sorted(found.weights, reverse=True)
    assert sum(found.weights) == pytest.approx(1, rel=1e-12)
    assert dataclasses.replace(found, error=2.0, attained=3.0).gap == 1.5


@pytest.mark.parametrize(("k", "epsilon", "gap"), [((4, 5), 0.5, 0.01), ((2, 3, 4), 2.0, 0.1), ((4, 5), 20.0, 5.0)])
def test_the_mixture_of_named_sets_has_its_stated_error(k, epsilon, gap):
    found, t = least_pair_error(k, epsilon), math.expm1(epsilon)
    names, informs = _candidates(k, t)
    total = sum(often * informs[:, names.index(name)] for name, often in zip(found.sets, found.weights, strict=True))
    squares = [float(square) for _, square in spaces(k)]
    assert found.attained == pytest.approx(sum(squares / total), rel=1e-4)
    assert list(found.weights) == sorted(found.weights, reverse=True)
    assert sum(found.weights) == pytest.approx(1, rel=1e-12)
    assert found.certificate is None
    assert 1 <= found.gap < 1 + gap
    assert (found.k, found.epsilon) == (k, epsilon)


def test_many_attributes_are_asked_for_single_records_where_groups_are_at_most_5000():
    names, informs = _candidates((2,) * 10, 1.0)
    assert sum(name[0] == "record" for name in names) == 2**10 - 1 - 10 - 45
    assert informs.shape == (55, len(names))
    for d, left in ((20, {3, 4, 16, 17, 18, 19, 20}), (33, {31, 32, 33})):  # 4,845 of four; 5,456 of three
        assert {len(name) - 1 for name in _candidates((2,) * d, 1.0)[0] if name[0] == "record"} == left


@pytest.mark.parametrize(("epsilon", "loose"), [(1.6, False), (1.7, True)])
def test_of_33_binary_attributes_three_together_would_have_less_than_what_is_attained(epsilon, loose):
    d = 33
    told = (math.expm1(epsilon) / 8 / (1 + math.expm1(epsilon) / 8)) ** 2  # of all triples, one value of each
    alone, pair = (float(square) for _, square in spaces((2,) * d)[:: d * (d + 1) // 2 - 1])
    three = (d * d * alone / 3 + math.comb(d, 2) ** 2 * pair / 3) / told
    assert (three < 0.95 * least_pair_error((2,) * d, epsilon).attained) == loose


@pytest.mark.parametrize(("epsilon", "loose"), [(1.53, False), (1.54, True)])
def test_of_33_binary_attributes_three_mixed_with_pairs_have_less_from_the_docstrings_place_on(epsilon, loose):
    """Each kind of set for all attributes alike, so the information of all of them alone, and of all pairs, counts."""
    d, names = 33, [("boxes", 0, 1, 1, 1), ("balanced", 0, 1, 1), ("record", 0, 1, 2)]
    alone, pair = (float(square) for _, square in spaces((2,) * d)[:: d * (d + 1) // 2 - 1])
    told, rho = _informed((2,) * d, math.expm1(epsilon), names), [d * alone**0.5, math.comb(d, 2) * pair**0.5]
    kinds = np.array([told[:d].sum(axis=0), told[d:].sum(axis=0)])
    two, three = (_spread(part, np.array(rho))[1] for part in (kinds[:, :2], kinds))
    assert two == pytest.approx(least_pair_error((2,) * d, epsilon).attained, rel=2e-4)
    assert (three < 0.9995 * two) == loose
    assert "for 33 binary attributes from epsilon = 1.54 on" in least_pair_error.__doc__


@pytest.mark.parametrize(("k", "epsilon"), [((8, 8), 3.0), ((3, 6), 0.5), ((4, 5), 2.0), ((2, 50), 1.0)])
def test_of_two_attributes_a_set_of_cells_has_the_bound_and_what_is_attained_may_have_more(k, epsilon):
    found, e, cells = least_pair_error(k, epsilon), math.exp(epsilon), math.prod(k)
    assert found.error == pytest.approx(subset.error(e, cells, subset.optimal_size(e, cells)), rel=1e-9)
    if k == (8, 8):
        told = f"of which a set of cells has `error`, by {100 * (found.gap - 1):.0f} % for 8 and 8 values at 3"
        assert told in " ".join(least_pair_error.__doc__.split())


def test_the_sets_of_a_large_table_have_the_error_attained_together():
    """Each of 90,000 may be seldom, and for two attributes of 1,000 values those of each alone are all."""
    found = least_pair_error((300, 300), 1.0)
    together = _mixture_error(found.k, math.expm1(1.0), found.sets, np.array(found.weights))
    assert together == pytest.approx(found.attained, rel=1e-6)


@pytest.mark.parametrize("rho", [(1.0, 1.0), (0.3, 2.0), (2**0.5, 3**0.5)])
def test_sets_are_asked_as_often_as_their_information_wants(rho):
    often, error = _spread(np.array([[2.0, 0.0], [0.0, 3.0]]), np.array(rho))
    roots = np.array(rho) / np.sqrt([2, 3])
    assert often.sum() == pytest.approx(1, rel=1e-12)
    assert often == pytest.approx(roots / roots.sum(), rel=1e-3)
    assert roots.sum() ** 2 * (1 - 1e-12) <= error < roots.sum() ** 2 * (1 + 1e-7)


@pytest.mark.parametrize(("space", "t"), [(0, 2.0), (1, 2.0), (2, 2.0), (0, 50.0), (1, 0.1)])
def test_the_general_bound_of_one_space_is_that_of_its_best_set(space, t):
    """All but one of the shares are 0 or 1: the spread of k_j values, or cells, with mean mu."""
    m, rho = (3, 4, 12)[space], 100 * np.eye(3)[space] + 0.01
    mu = np.linspace(1 / 12, 1, 200_001)
    most = (np.floor(m * mu) + (m * mu % 1) ** 2) / m - mu**2
    exact = 10_000 / (most * (t / (1 + t * mu)) ** 2).max()
    assert _relaxed((3, 4), t, rho) == pytest.approx(exact, rel=3e-3)
    alone = 100 * np.eye(3)[space] + 1e-7  # the others count for nothing, so that no bound may be above
    assert _relaxed((3, 4), t, alone) <= exact * (1 + 1e-7)


@pytest.mark.parametrize("epsilon", [0.5, 6.0])
def test_of_twelve_attributes_and_more_the_bound_is_the_larger_of_the_closed_forms(epsilon):
    k = (2,) * 12
    rho = np.sqrt([float(square) for _, square in spaces(k)])
    tables = 66 * min(subset.error(math.exp(epsilon), 4, size) for size in (1, 2))
    closed = max((rho.sum() / math.sinh(epsilon / 2)) ** 2, tables)
    assert _relaxed(k, math.expm1(epsilon), rho) == pytest.approx(closed, rel=1e-12)


def test_the_general_bound_is_not_below_what_is_known_without_a_search():
    # Tables of 6, 8 and 12 cells at e = 3, each alone: 2, 2 and 3 cells named.
    alone = 25 * 10**2 / (6 * 4 * 8) + 49 * 12**2 / (8 * 4 * 12) + 121 * 18**2 / (12 * 4 * 27)
    assert _relaxed((2, 3, 4), 2.0, np.full(6, 1e-9)) == pytest.approx(alone, rel=1e-12)
    rho, t = np.array([1.0, 2.0, 3.0]), 1e-5  # all share mu (1-mu), at a share of one half
    assert _relaxed((4, 6), t, rho) == pytest.approx(36 * 4 * (1 + t) / t**2, rel=1e-12)


def test_what_is_not_asked_is_not_known():
    assert pair_error((2, 2, 2), 1.0, (1, 1, 1), 1, (0.2, 0.3, 0.5)) == math.inf
    # One question: whether both of two values are one; e = 3, so a quarter is kept: (e-1) / ((e-1) / 4 + 1), mu = 1/4.
    keep = 2 / (2 / 4 + 1)
    want = sum(float(square) for _, square in spaces((2, 2))) / keep**2
    assert pair_error((2, 2), math.log(3), (1, 1), 2, (1.0,)) == pytest.approx(want * 16, rel=1e-12)


def test_weights_are_divided_by_their_sum_as_those_of_the_mechanism_are():
    ways = [pair_error((6, 5, 2, 2), 3.6, (1,) * 4, 3, np.full(4, each)) for each in (1 / 4, 1, 10)]
    assert ways == pytest.approx([ways[0]] * 3, rel=1e-12)
    assert ways[1] > least_pair_error((6, 5, 2, 2), 3.6).error
    assert pair_error((6, 5, 2, 2), 3.6, (1,) * 4, 3, (1,) * 4) == ways[1]


@pytest.mark.parametrize("weights", [(1,), 1, (1, 1, 1, -1), (1, 1, 1), (0, 0, 0, 0), (math.nan, 1, 1, 1), {0: 1}])
def test_weights_that_are_not_one_a_question_are_refused(weights):
    """One for all four told a quarter of the error, 9.8, and one below 0 told 2.2: no mechanism is below 26.5."""
    with pytest.raises((TypeError, ValueError), match="weights"):
        pair_error((6, 5, 2, 2), 3.6, (1,) * 4, 3, weights)


@pytest.mark.parametrize("sizes", [(7, 1, 1, 1), (6, 1, 1, 1), (-1, 1, 1, 1), (0, 1, 1, 1), (1,), 1])
def test_sizes_that_no_mechanism_has_are_refused(sizes):
    with pytest.raises((TypeError, ValueError), match="size"):
        pair_error((6, 5, 2, 2), 3.6, sizes, 3, (1,) * 4)
    with pytest.raises(ValueError, match="epsilon"):
        pair_error((6, 5, 2, 2), -1, (1,) * 4, 3, (1,) * 4)

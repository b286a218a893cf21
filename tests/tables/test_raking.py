"""Raking: what it reaches, and that it says so when it does not."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ldp_lib.tables.raking import rake

HALF = [0.5, 0.5]
EXAMPLE = [[0, 0]] * 4 + [[1, 0]] * 2 + [[1, 1]] * 4


@settings(max_examples=50)
@given(data=st.data())
def test_a_full_table_is_matched_and_its_odds_ratios_stay(data):
    a, b = data.draw(st.integers(2, 4)), data.draw(st.integers(2, 4))
    table = np.array(data.draw(st.lists(st.integers(1, 9), min_size=a * b, max_size=a * b)), float).reshape(a, b)
    targets = []
    for size in (a, b):
        raw = np.array(data.draw(st.lists(st.integers(1, 9), min_size=size, max_size=size)), float)
        targets.append(raw / raw.sum())
    cells = np.argwhere(table > 0)
    raked = rake(cells, targets, weights=table.ravel())
    assert raked.converged
    assert raked.gap < 1e-8
    found = raked.table(cells, (a, b))
    for axis, target in enumerate(targets):
        assert np.allclose(found.sum(axis=1 - axis), target, rtol=0, atol=1e-8)
    odds = lambda t: t[:-1, :-1] * t[1:, 1:] / (t[1:, :-1] * t[:-1, 1:])  # noqa: E731
    assert np.allclose(odds(found), odds(table), rtol=1e-9, atol=0)


def test_records_and_their_counts_give_the_same():
    rng = np.random.default_rng(1)
    y = rng.integers(3, size=(500, 3))
    targets = [[0.2, 0.3, 0.5], [0.6, 0.2, 0.2], [1 / 3, 1 / 3, 1 / 3]]
    distinct, counts = np.unique(y, axis=0, return_counts=True)
    one = rake(y, targets).table(y, (3, 3, 3))
    other = rake(distinct, targets, weights=counts).table(distinct, (3, 3, 3))
    assert np.allclose(one, other, rtol=1e-9, atol=0)


def test_slow_convergence_is_reported_as_such():
    raked = rake(EXAMPLE, [HALF, HALF])
    assert not raked.converged
    assert raked.passes == 1000
    assert "not converged in 1000 passes" in raked.message
    assert np.isclose(2 * raked.weights[4], 1 / (4 * 1001), rtol=1e-9)


def test_infeasible_marginals_are_reported():
    raked = rake([[0, 0], [1, 1]], [HALF, [0.25, 0.75]])
    assert not raked.converged
    assert raked.message == "infeasible: no reweighting of these records has these marginals"
    assert raked.passes == 2
    assert raked.gap == 0.25


def test_all_columns_must_be_matched_and_not_the_last_alone():
    """The third column is independent of the others and matched from the start; the first two are not."""
    cells = np.argwhere(np.ones((2, 2, 2)))
    weights = np.array([[8, 1], [2, 5]])[cells[:, 0], cells[:, 1]]
    raked = rake(cells, [[0.3, 0.7], [0.6, 0.4], HALF], weights=weights)
    assert raked.converged
    assert raked.gap < 1e-9
    assert raked.passes > 3
    assert rake(cells, [[0.3, 0.7], [0.6, 0.4], HALF], weights=weights, max_passes=2).gap > 1e-3


def tables(rng, count, spans):
    """Tables on random supports, with cells over so many powers of ten, and starting weights on the same cells."""
    for _ in range(count):
        k = tuple(rng.integers(2, 5, size=rng.integers(2, 4)))
        cells = np.argwhere(rng.random(k) < rng.uniform(0.3, 1))
        if len(cells) > 1:
            share = 10 ** -rng.uniform(0, rng.choice(spans), len(cells))
            yield k, cells, share / share.sum(), 10 ** -rng.uniform(0, 4, len(cells))


def margins(k, cells, share):
    return [np.bincount(column, share, size) for column, size in zip(cells.T, k, strict=True)]


def test_a_feasible_problem_is_never_called_infeasible():
    ends = []
    for k, cells, share, weights in tables(np.random.default_rng(1), 300, [1, 6, 12]):
        raked = rake(cells, margins(k, cells, share), weights=weights, max_passes=150)
        assert "infeasible" not in raked.message
        assert raked.converged == (raked.message == "converged")
        ends.append(raked.converged)
    assert sum(ends) > 150


def test_what_is_called_infeasible_is_so_and_most_of_it_is_found():
    found = []
    for k, cells, share, weights in tables(np.random.default_rng(2), 150, [1, 2]):
        wanted = margins(k, cells, share[::-1])
        table = np.array([cells[:, j] == v for j, size in enumerate(k) for v in range(size)], float)
        exact = linprog(np.ones(len(cells)), A_eq=table, b_eq=np.concatenate(wanted)).status == 0
        raked = rake(cells, wanted, weights=weights, max_passes=150)
        shifted = [np.roll(m, 1) for m in wanted]
        impossible = linprog(np.ones(len(cells)), A_eq=table, b_eq=np.concatenate(shifted)).status == 2
        other = rake(cells, shifted, weights=weights, max_passes=150)
        assert exact
        assert "infeasible" not in raked.message
        if impossible:
            found.append("infeasible" in other.message)
            assert not other.converged
        else:
            assert "infeasible" not in other.message
    assert len(found) > 25
    assert np.mean(found) > 0.9


@pytest.mark.parametrize("tiny", [1e-320, 5e-324, 1e-308])
def test_the_smallest_weights_do_no_harm(tiny):
    square = [[0, 0], [0, 1], [1, 0], [1, 1]]
    for weights in ([tiny, 1, 1, 1], [tiny] * 4, [tiny, tiny, 1, 1], [1, tiny, tiny, 1], [tiny, 1, 1, 1e300]):
        raked = rake(square, [[0.2, 0.8], [0.3, 0.7]], weights=weights)
        assert np.isfinite(raked.weights).all()
        assert np.isclose(raked.weights.sum(), 1, rtol=1e-12, atol=0)
        assert raked.converged == (raked.gap < 1e-8)
        assert "infeasible" not in raked.message
    assert rake(square, [[0.2, 0.8], [0.3, 0.7]], weights=[tiny] * 4).converged


def test_a_wanted_value_without_records_is_reported():
    raked = rake([[0, 0], [0, 1]], [HALF, HALF])
    assert not raked.converged
    assert "no weight on value 1 of column 0" in raked.message
    assert np.isfinite(raked.weights).all()


def test_a_slow_limit_of_many_records_is_not_called_infeasible():
    raked = rake(EXAMPLE * 10_000, [HALF, HALF], max_passes=120)
    assert raked.message.startswith("not converged in 120 passes")


def test_a_tiny_marginal_is_not_called_infeasible():
    square = [[0, 0], [0, 1], [1, 0], [1, 1]]
    raked = rake(square, [[1e-14, 1 - 1e-14], [0.3, 0.7]], weights=[5, 1, 2, 3])
    assert raked.converged
    assert raked.gap < 1e-12


def test_a_value_that_nobody_holds_or_wants_is_no_obstacle():
    raked = rake([[0, 0], [1, 1]], [[0.25, 0.75, 0], [0.25, 0.75]])
    assert raked.converged
    table = raked.table([[0, 0], [1, 1]], (3, 2))
    assert np.allclose(table, [[0.25, 0], [0, 0.75], [0, 0]], rtol=1e-12, atol=0)


def test_weights_sum_to_1_also_when_the_first_column_is_infeasible():
    raked = rake([[0, 0], [0, 1]], [HALF, HALF], weights=[1, 3])
    assert raked.weights.tolist() == [0.25, 0.75]
    assert raked.gap == 0.5
    assert raked.passes == 1


def test_weights_may_be_fractions_and_some_zero():
    square = [[0, 0], [0, 1], [1, 0], [1, 1]]
    assert rake(square, [HALF, HALF], weights=[0.5, 0, 0, 0.25]).weights.tolist() == [0.5, 0, 0, 0.5]
    assert rake(square, [HALF, HALF], max_passes=1).passes == 1


def test_marginals_sum_to_1_up_to_rounding():
    assert rake(EXAMPLE[:5], [[0.8, 0.2 + 5e-10], HALF], max_passes=1).passes == 1
    with pytest.raises(ValueError, match=r"for axis 0; got least 0\.2"):
        rake(EXAMPLE, [[0.8, 0.2 + 2e-9], HALF])


def test_zero_marginals_remove_records_and_never_divide():
    raked = rake([[0, 0], [0, 1], [1, 0], [2, 1]], [[0.5, 0.5, 0.0], HALF])
    assert np.isfinite(raked.weights).all()
    assert raked.weights[3] == 0
    both = rake([[0, 0], [1, 1]], [[1.0, 0.0], [0.0, 1.0]])
    assert not both.converged
    assert np.isfinite(both.weights).all()
    assert "no weight on value 1 of column 1" in both.message


@given(
    y=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 1)), min_size=1, max_size=12),
    first=st.sampled_from([[1, 0, 0], [0.5, 0.5, 0], [0.2, 0.3, 0.5]]),
    second=st.sampled_from([[1, 0], HALF, [0.1, 0.9]]),
)
def test_nothing_is_ever_nan_and_converged_means_matched(y, first, second):
    raked = rake(y, [first, second], max_passes=200)
    assert np.isfinite(raked.weights).all()
    assert raked.weights.min() >= 0
    assert raked.converged == (raked.message == "converged")
    if raked.converged:
        assert raked.gap < 1e-8


BAD = [
    ({"marginals": [HALF, [0.5, 0.6]]}, "for axis 1; got least 0.5 and sum 1.1"),
    ({"marginals": [HALF, [-0.1, 1.1]]}, "for axis 1; got least -0.1"),
    ({"marginals": [HALF, [np.nan, 1.0]]}, "for axis 1; got least nan"),
    ({"marginals": [HALF, [1.0]]}, "for axis 1; got shape"),
    ({"marginals": [HALF]}, "records must have at least one row and 1 columns"),
    ({"records": [[0, 2]]}, "records must be from 0 to 1 in column 1; got 2"),
    ({"records": np.zeros((0, 2), int)}, "records must have at least one row"),
    ({"weights": np.ma.array(np.ones(10), mask=np.eye(10)[0])}, "weights must not have masked entries"),
    ({"marginals": [HALF, np.ma.array([0.5, 0.5], mask=[1, 0])]}, "marginals must not have masked entries"),
    ({"weights": [1.0]}, "weights must be 10 finite numbers"),
    ({"weights": [0.0] * 10}, "weights must be 10 finite numbers"),
    ({"weights": [-1.0] + [1.0] * 9}, "weights must be 10 finite numbers"),
    ({"marginals": [HALF, [HALF]]}, "for axis 1; got shape"),
    ({"weights": [np.inf] + [1.0] * 9}, "weights must be 10 finite numbers"),
    ({"tolerance": 0}, "tolerance must be"),
    ({"tolerance": 1}, "tolerance must be a number above 0 and below 1; got 1"),
    ({"tolerance": True}, "tolerance must be a number above 0 and below 1; got True"),
    ({"tolerance": "1"}, "tolerance must be a number above 0 and below 1; got '1'"),
    ({"max_passes": True}, "max_passes must be an integer of at least 1; got True"),
    ({"tolerance": float("nan")}, "tolerance must be"),
    ({"max_passes": 0}, "max_passes must be"),
    ({"max_passes": 1.5}, "max_passes must be"),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=lambda v: str(v)[:40])
def test_bad_input_is_refused(change, message):
    with pytest.raises(ValueError, match=message):
        rake(**{"records": EXAMPLE, "marginals": [HALF, HALF], **change})


SQUARE = [[0, 0], [0, 1], [1, 0], [1, 1]]


def test_the_first_pass_by_hand():
    raked = rake(SQUARE, [[0.2, 0.8], [0.3, 0.7]], weights=[7, 7, 7, 7], max_passes=1)
    assert raked.weights == pytest.approx([0.06, 0.14, 0.24, 0.56])
    assert raked.message == "not converged in 1 passes: the last changed a weight by a factor 0.6 away from 1"
    assert rake(SQUARE, [[0.2, 0.8], [0.3, 0.7]]).passes == 2
    assert rake(SQUARE, [[0.2, 0.8], [0.3, 0.7]], weights=raked.weights, max_passes=1).converged
    half = rake(SQUARE, [[0.2, 0.8], [0.3, 0.7]], tolerance=0.61)
    assert (half.converged, half.passes) == (True, 1)


def test_the_gap_is_the_largest_distance_of_any_value():
    records, wanted = [[0, 0], [0, 1], [1, 0], [1, 1], [2, 1]], [[0.2, 0.3, 0.5], [0.4, 0.6]]
    for weights in ([1, 2, 3, 4, 5], [5, 1, 1, 1, 1]):
        raked = rake(records, wanted, weights=weights, max_passes=1)
        table = raked.table(records, (3, 2))
        off = [np.abs(table.sum(axis=1 - j) - target).max() for j, target in enumerate(wanted)]
        assert raked.gap == pytest.approx(max(off))
        assert off[0] > 0.01 > 1e-12 > off[1]


def test_a_value_without_weight_is_named_with_what_it_should_have():
    raked = rake([[0, 0], [0, 1], [2, 2]], [[0.25, 0.5, 0.25], [0.5, 0.25, 0.25]])
    assert raked.message == "infeasible: no weight on value 1 of column 0, whose marginal is 0.5"
    assert raked.passes == 1
    raked = rake([[0, 0], [0, 1]], [[0.2, 0.3, 0.5], HALF])
    assert raked.message == "infeasible: no weight on value 1 of column 0, whose marginal is 0.3"
    raked = rake([[0, 0], [1, 1], [2, 0]], [[0.25, 0.5, 0.25], [0.5, 0.125, 0.375]])
    assert raked.message == "infeasible: no weight on value 2 of column 1, whose marginal is 0.375"


def test_a_weight_that_is_too_small_for_a_float_proves_nothing():
    for weights in ([5e-324, 1e300], [5e-324, 1e308]):
        raked = rake([[0], [1]], [HALF], weights=weights)
        why = "not converged: too small for a float, no weight on value 0 of column 0, whose marginal is 0.5"
        assert (raked.converged, raked.message) == (False, why)
    raked = rake([[0], [1]], [HALF], weights=[0, 1e300])
    assert raked.message == "infeasible: no weight on value 0 of column 0, whose marginal is 0.5"
    raked = rake([[0], [1], [2]], [[0.2, 0.3, 0.5]], weights=[1e300, 0, 5e-324])
    assert raked.message == "infeasible: no weight on value 1 of column 0, whose marginal is 0.3"
    # The record that is too small would take up a value that has none, but another column does not want it.
    raked = rake([[0, 2], [1, 0], [1, 1]], [HALF, [*HALF, 0]], weights=[5e-324, 1e300, 1e300])
    assert raked.message.startswith("infeasible: no weight on value 0 of column 0")


def test_marginals_are_scaled_to_sum_to_one():
    raked = rake(SQUARE, [[0.2, 0.8 + 9e-10], [0.3, 0.7]], max_passes=2)
    assert abs(raked.table(SQUARE, (2, 2)).sum() - 1) < 1e-12
    one = rake([[0], [1]], [[0.2, 0.8 - 9e-10]])
    assert abs(one.weights.sum() - 1) < 1e-12
    for off in (-2e-9, 2e-9):
        with pytest.raises(ValueError, match=r"for axis 1; got least 0\.[0-9]+ and sum"):
            rake(SQUARE, [HALF, [0.2, 0.8 + off]])
    assert rake([[1, 0], [1, 1]], [[0, 1], HALF]).converged


@pytest.mark.parametrize("weights", [[[1.0] * 4], [1.0] * 5, [1, 1, 1, np.nan], [1, 1, 1, -0.5], [0, 0, 0, 0]])
def test_weights_are_one_finite_number_a_record(weights):
    with pytest.raises(ValueError, match="weights must be 4 finite numbers of at least 0, not all 0; got"):
        rake(SQUARE, [HALF, HALF], weights=weights)


def test_records_without_weight_make_nothing_possible():
    raked = rake(SQUARE, [HALF, [0.25, 0.75]], weights=[1, 0, 0, 1])
    assert raked.message == "infeasible: no reweighting of these records has these marginals"
    assert rake(SQUARE, [HALF, [0.25, 0.75]], weights=[1, 1e-9, 0, 1]).message.startswith("converged")

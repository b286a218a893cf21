"""Repairs of joint tables: nearest in truth, agreeing, and shrunk by the right factor."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from ldp_lib import check
from ldp_lib.tables._agreement import _agree as agree
from ldp_lib.tables._agreement import repair_pairs
from ldp_lib.tables.clusters import cramers_v
from ldp_lib.tables.consistency import _interaction as interaction
from ldp_lib.tables.consistency import project_marginals, shrink_dependence


@pytest.mark.parametrize("shape", [(2, 3), (3, 4), (2, 2, 3)])
def test_no_table_with_these_marginals_is_nearer(shape):
    rng = np.random.default_rng(1)
    raw = rng.dirichlet(np.ones(np.prod(shape))).reshape(shape) + rng.normal(0, 0.2, shape)
    marginals = [rng.dirichlet(np.ones(size)) for size in shape]
    found = project_marginals(raw, marginals)
    assert found.converged
    assert found.table.min() == 0
    sums = lambda t: [t.sum(axis=tuple(i for i in range(len(shape)) if i != j)) for j in range(len(shape))]  # noqa: E731
    for got, wanted in zip(sums(found.table), marginals, strict=True):
        assert np.abs(got - wanted).max() < 1e-8
    constraint = {
        "type": "eq",
        "fun": lambda t: np.concatenate(
            [a[1:] - b[1:] for a, b in zip(sums(t.reshape(shape)), marginals, strict=True)] + [[t.sum() - 1]]
        ),
    }
    other = minimize(
        lambda t: ((t - raw.ravel()) ** 2).sum(),
        np.multiply.outer(marginals[0], np.multiply.outer(*marginals[1:]) if len(shape) == 3 else marginals[1]).ravel(),
        jac=lambda t: 2 * (t - raw.ravel()),
        bounds=[(0, 1)] * raw.size,
        constraints=[constraint],
        options={"ftol": 1e-14, "maxiter": 500},
    )
    assert np.abs(other.x - found.table.ravel()).max() < 1e-5


def test_a_zero_in_a_marginal_empties_its_row():
    found = project_marginals([[0.5, 0.2], [0.3, 0.4]], [[1, 0], [0.25, 0.75]])
    assert found.converged
    assert np.allclose(found.table, [[0.25, 0.75], [0, 0]], rtol=0, atol=1e-8)


def test_too_few_passes_are_told():
    rng = np.random.default_rng(2)
    found = project_marginals(
        rng.normal(0, 1, (6, 5)), [rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(5))], max_passes=1
    )
    assert not found.converged
    assert found.gap > 1e-9


@pytest.mark.parametrize("emptied", [False, True])
def test_after_one_pass_the_last_axis_is_matched_unless_a_target_is_zero(emptied):
    rng = np.random.default_rng(1)
    rows, columns = rng.dirichlet(np.ones(4)), rng.dirichlet(np.ones(3))
    if emptied:
        rows = rows * [0, 1, 1, 1] / rows[1:].sum()
    found = project_marginals(rng.normal(1 / 12, 0.3, (4, 3)), [rows, columns], max_passes=1)
    off = np.abs(found.table.sum(axis=0) - columns).max()
    assert not found.converged
    assert (off > 0.01) == emptied
    assert emptied or off < 1e-14  # a sum of four numbers below 1


def raw_tables(rng, k=(2, 3, 4), noise=0.05):
    tables = {}
    for j, i in ((0, 1), (0, 2), (1, 2)):
        table = rng.dirichlet(np.ones(k[j] * k[i])).reshape(k[j], k[i])
        step = rng.normal(0, noise, table.shape)
        tables[j, i] = table + step - step.mean()
    return tables


def test_agreement_is_the_least_squares_solution():
    """Against the projection by a pseudo-inverse, on all cells of all tables at once."""
    tables = raw_tables(np.random.default_rng(3))
    corrected, marginals = agree(tables)
    pairs, sizes = list(tables), {0: 2, 1: 3, 2: 4}
    starts = np.cumsum([0, *(tables[pair].size for pair in pairs)])
    rows = []
    for j in sizes:
        sums = []
        for pair, start in zip(pairs, starts, strict=False):
            if j in pair:
                for value in range(sizes[j]):
                    member = np.zeros(tables[pair].shape)
                    np.moveaxis(member, pair.index(j), 0)[value] = 1
                    row = np.zeros(starts[-1])
                    row[start : start + member.size] = member.ravel()
                    sums.append(row)
        rows += [a - b for a, b in zip(sums[: sizes[j]], sums[sizes[j] :], strict=True)]
    rows = np.array(rows)
    stacked = np.concatenate([tables[pair].ravel() for pair in pairs])
    wanted = stacked - np.linalg.pinv(rows) @ rows @ stacked
    assert np.allclose(np.concatenate([corrected[pair].ravel() for pair in pairs]), wanted, rtol=0, atol=1e-12)
    for (j, i), table in corrected.items():
        assert np.allclose(table.sum(axis=1), marginals[j], rtol=0, atol=1e-12)
        assert np.allclose(table.sum(axis=0), marginals[i], rtol=0, atol=1e-12)


def test_repaired_pairs_are_probabilities_that_agree():
    repaired = repair_pairs(raw_tables(np.random.default_rng(5), noise=0.2))
    assert min(table.min() for table in repaired.values()) == 0
    for j, (one, other) in enumerate([((0, 1), (0, 2)), ((0, 1), (1, 2)), ((0, 2), (1, 2))]):
        sums = [repaired[pair].sum(axis=1 - pair.index(j)) for pair in (one, other)]
        assert np.allclose(*sums, rtol=0, atol=1e-8)


@pytest.mark.parametrize("strength", [0.0, 0.5])
def test_shrinking_has_the_risk_that_stein_tells(strength):
    """Noise in the interaction only, so that the theory holds exactly; independence gains most."""
    rng, shape, sigma = np.random.default_rng(6), (4, 5), 0.01
    truth = np.full(shape, 1 / 20) + strength * 0.02 * np.outer([1, -1, 1, -1], [1, -1, 0, 1, -1])
    noise = sigma**2 * 12
    losses, risks = [], []
    for _ in range(10_000):
        step = interaction(rng.normal(0, sigma, shape))
        found = shrink_dependence(truth + step, noise)
        losses.append(((found.table - truth) ** 2).sum())
        risks.append(found.risk)
    assert check.mean_z(np.array(losses) - risks, 0) < 5
    assert check.mean_z(np.array(losses) - risks, 0.1 * noise) > 5
    assert np.mean(losses) < noise * (0.3 if strength == 0 else 1.0)


def test_two_by_two_tables_are_not_shrunk():
    found = shrink_dependence([[0.3, 0.2], [0.1, 0.4]], 0.5)
    assert found.factor == 1
    assert np.allclose(found.table, [[0.3, 0.2], [0.1, 0.4]], rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: project_marginals([[0.5, 0.5], [0, 0]], [[0.5, 0.5]]), "marginals must be one for each of 2 axes"),
        (lambda: project_marginals([[0.5, 0.5], [0, 0]], [[0.5, 0.5], [0.5, 0.6]]), "sum to 1 for axis 1"),
        (lambda: project_marginals([[0.5, np.nan], [0, 0]], [[0.5, 0.5]] * 2), "table must be finite"),
        (lambda: agree({(0, 0): np.full((2, 2), 0.25)}), "two different attributes"),
        (lambda: agree({(0, 1): np.full((2, 2), 0.5)}), "sums to 2.0"),
        (lambda: agree({(0, 1): np.full((2, 2), 0.25), (1, 2): np.full((3, 2), 1 / 6)}), "number of values of 1"),
        (lambda: shrink_dependence([[30, 20], [10, 40]], 1.0), "table must be shares, which sum to 1; got sum 100"),
        (lambda: shrink_dependence(np.full((2, 2), 0.25), -1), "noise must be a finite number of at least 0; got -1"),
    ],
)
def test_bad_input(call, says):
    with pytest.raises(ValueError, match=says):
        call()


def test_a_sum_of_much_noise_may_be_rounded():
    table = np.array([[1e6, -1e6], [0.5, 0.5 + 1e-3]])
    assert np.isfinite(shrink_dependence(table, 1e12).table).all()


def test_a_value_that_nobody_holds_has_no_dust():
    """Were a crumb left in the cell of two values without people, their dependence would be that of a whole table."""
    table = np.array([[0.5, 0.1, -0.05], [0.1, 0.2, 0.02], [-0.04, 0.03, 0.14]])
    ends = [np.array([0.6, 0.4, 0.0]), np.array([0.7, 0.3, 0.0])]
    found = project_marginals(table, ends, tolerance=1e-3).table
    assert not found[2].any()
    assert not found[:, 2].any()
    assert cramers_v(found) == pytest.approx(cramers_v(found[:2, :2]) / math.sqrt(2), abs=1e-12)


def test_agreement_of_two_tables_by_hand():
    tables = {(0, 1): np.array([[0.3, 0.1, 0.2], [0.1, 0.2, 0.1]]), (2, 0): np.array([[0.1, 0.5], [0.3, 0.1]])}
    corrected, marginals = agree(tables)  # the rows' sums are 0.6 and 0.4, the columns' 0.4 and 0.6
    assert list(marginals) == [0, 1, 2]
    assert marginals[0] == pytest.approx([0.48, 0.52])  # two fifths of the one, three of the other
    assert marginals[1] == pytest.approx([0.4, 0.3, 0.3])
    assert marginals[2] == pytest.approx([0.6, 0.4])
    assert corrected[0, 1] == pytest.approx(tables[0, 1] + np.array([[-0.04], [0.04]]))
    assert corrected[2, 0] == pytest.approx(tables[2, 0] + np.array([0.04, -0.04]))


@pytest.mark.parametrize("tables", [{}, [], [((0, 1), np.full((2, 2), 0.25))], None])
def test_tables_of_pairs_come_by_name(tables):
    with pytest.raises(TypeError, match="tables must be a dict from pairs of attributes to tables; got"):
        agree(tables)


@pytest.mark.parametrize("pairs", [[(0, 1, 2)], [(0,)], [(1, 1)], [(0, 1), (1, 0)]])
def test_pairs_are_of_two_attributes_and_come_once(pairs):
    with pytest.raises(ValueError, match="tables must be of two different attributes, each pair once; got"):
        agree({pair: np.full((2, 2), 0.25) for pair in pairs})


def test_tables_sum_to_one_within_a_millionth():
    for change in (9e-7, -9e-7):
        agree({(0, 1): np.array([[0.25, 0.25], [0.25, 0.25 + change]])})
    for change in (1.1e-6, -1.1e-6):
        with pytest.raises(ValueError, match=r"that of \(0, 1\) sums to"):
            agree({(0, 1): np.array([[0.25, 0.25], [0.25, 0.25 + change]])})


def test_interaction_is_what_marginals_do_not_say():
    table = np.array([[0.3, 0.1, 0.2], [0.1, 0.2, 0.1]])  # less rows' and columns' means, plus the mean of all
    wanted = table - np.array([[0.2], [0.4 / 3]]) - np.array([0.2, 0.15, 0.15]) + 1 / 6
    assert interaction(table) == pytest.approx(wanted)


APART = 0.05 * np.outer([1, -1], [1, -1, 1, -1])  # of square 0.02


@pytest.mark.parametrize(
    ("rest", "noise", "factor", "risk"),
    [
        (APART, 0.015, 0.5, 0.015),  # three directions: a = noise 2/3
        (np.pad(APART, ((0, 1), (0, 0))), 0.005, 0.75, 0.005 + 0.25 * 0.005 * (1 - 8 / 6)),  # six: a = noise
        (np.pad(APART, ((0, 1), (0, 0))), 0.03, 0.0, -0.01),
        (APART[:, :2], 0.03, 1.0, 0.03),
        (np.pad(APART[:, :2], ((0, 0), (0, 1))), 0.03, 1.0, 0.03),  # two
        (np.zeros((2, 2)), 0.03, 0.0, 0.03),
        (APART, 0, 1.0, 0),
    ],
)
def test_the_factor_of_dependence_by_hand(rest, noise, factor, risk):
    independent = np.full(rest.shape, 1 / rest.size)
    found = shrink_dependence(independent + rest, noise)
    assert found.factor == pytest.approx(factor, abs=1e-12)
    assert found.risk == pytest.approx(risk, abs=1e-12)
    assert found.table == pytest.approx(independent + factor * rest)


def test_one_pass_leaves_the_gap_that_is_told():
    raw, wanted = np.array([[0.5, -0.2, 0.3], [0.1, 0.2, 0.1]]), [[0.4, 0.6], [0.3, 0.3, 0.4]]
    for passes in (1, 2):
        found = project_marginals(raw, wanted, max_passes=passes)
        assert (found.passes, found.converged) == (passes, False)
        off = [np.abs(found.table.sum(axis=1 - j) - target).max() for j, target in enumerate(wanted)]
        assert found.gap == pytest.approx(max(off))
        assert off[1] < 1e-15 < off[0]
        enough = project_marginals(raw, wanted, tolerance=found.gap)
        assert (enough.passes, enough.converged) == (passes, True)
    assert project_marginals(np.outer(*wanted), wanted).passes == 1


def test_marginals_are_scaled_to_sum_to_one():
    found = project_marginals(np.full((2, 3), 1 / 6), [[0.4, 0.6 + 9e-10], [0.3, 0.3, 0.4]])
    assert abs(found.table.sum() - 1) < 1e-12
    for target in ([0.4, 0.6 + 2e-9], [0.4, 0.6 - 2e-9], [-0.1, 1.1], [math.nan, 1.0], [math.inf, 0.0]):
        with pytest.raises(ValueError, match=r"marginals must be 2 numbers .* for axis 0; got least"):
            project_marginals(np.full((2, 3), 1 / 6), [target, [0.3, 0.3, 0.4]])
    with pytest.raises(ValueError, match=r"marginals must be 3 numbers .* for axis 1; got shape \(2,\)"):
        project_marginals(np.full((2, 3), 1 / 6), [[0.4, 0.6], [0.4, 0.6]])


@pytest.mark.parametrize("name", ["tolerance", "max_passes"])
@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan, True, "1"])
def test_bounds_of_the_search_are_numbers_above_zero(name, value):
    with pytest.raises(ValueError, match=f"{name} must be a number above 0; got {value!r}"):
        project_marginals(np.full((2, 2), 0.25), [[0.5, 0.5]] * 2, **{name: value})


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ([0.5, 0.5], r"table must be numbers with 2 axes; got float64, \(2,\)"),
        (np.full((2, 2, 2), 0.125), r"table must be numbers with 2 axes; got float64, \(2, 2, 2\)"),
        ([[True, False], [False, True]], "table must be numbers with 2 axes; got bool"),
        ([[0.5, 0.5]], r"table must be finite, with at least 2 values an axis; got shape \(1, 2\)"),
        ([[0.5], [0.5]], r"table must be finite, with at least 2 values an axis; got shape \(2, 1\)"),
        ([[0.5, np.inf], [0, 0]], "table must be finite"),
    ],
)
def test_tables_that_are_none_are_refused(table, says):
    for call in (interaction, lambda table: shrink_dependence(table, 1.0), lambda table: agree({(0, 1): table})):
        with pytest.raises(ValueError, match=says):
            call(table)
    with pytest.raises(ValueError, match="table must be numbers with at least 2 axes"):
        project_marginals([0.5, 0.5], [[0.5, 0.5]])

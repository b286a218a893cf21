"""Records from a tree: the tree of the largest information, its tables exactly and sampled, and what is gained."""

import itertools
import math

import numpy as np
import pytest

from ldp_lib import check
from ldp_lib.datasets import load_adult
from ldp_lib.population import Population
from ldp_lib.postprocess import clip_normalize
from ldp_lib.survey.errors import pair_estimates
from ldp_lib.tables import raking, synthetic
from ldp_lib.tables.product import RRIndependent
from ldp_lib.tables.sampled import ask_pairs

PAIRS = list(itertools.combinations(range(4), 2))


def population(seed, k=(2, 3, 2, 4), n=5_000):
    rng = np.random.default_rng(seed)
    return Population.from_counts(rng.multinomial(n, rng.dirichlet(np.full(math.prod(k), 0.3))).reshape(k))


def trees(d):
    """All sets of d - 1 pairs that connect all attributes."""
    for edges in itertools.combinations(itertools.combinations(range(d), 2), d - 1):
        reached = {0}
        for _ in edges:
            reached |= {j for edge in edges if reached & set(edge) for j in edge}
        if len(reached) == d:
            yield edges


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_other_tree_is_nearer(seed):
    """Against all 16 trees of four attributes: the sum of information is largest, and so is the likelihood."""
    people = population(seed)
    tables = {pair: people.select(*pair).joint for pair in PAIRS}
    tree = synthetic.fit_tree(tables)
    worth = {edges: sum(synthetic._information(tables[e]) for e in edges) for edges in trees(4)}
    assert len(worth) == 16
    assert {tuple(sorted(edge)) for edge in tree.edges} == set(max(worth, key=worth.get))


def table_of(tree, j, i):
    """The table of two attributes under a tree, from the probabilities of all its records."""
    joint = np.zeros(tree.k)
    for cell in np.ndindex(*tree.k):
        joint[cell] = tree.root[cell[tree.edges[0][0]]]
        for (parent, child), rows in zip(tree.edges, tree.conditionals, strict=True):
            joint[cell] *= rows[cell[parent], cell[child]]
    table = joint.sum(axis=tuple(a for a in range(len(tree.k)) if a not in (j, i)))
    return table if j < i else table.T


def test_tables_along_the_tree_are_those_given():
    people = population(4)
    tree = synthetic.fit_tree({pair: people.select(*pair).joint for pair in PAIRS})
    for parent, child in tree.edges:
        given = people.select(parent, child).joint
        assert np.allclose(table_of(tree, parent, child), given, rtol=0, atol=1e-12)


def along(tree, pairs):
    """The same tables, edge by edge: for many attributes."""
    first = tree.edges[0][0]
    laws, joint = {first: tree.root}, {(first, first): np.diag(tree.root)}
    for (parent, child), rows in zip(tree.edges, tree.conditionals, strict=True):
        for other in laws:
            joint[other, child] = joint[other, parent] @ rows
            joint[child, other] = joint[other, child].T
        laws[child] = laws[parent] @ rows
        joint[child, child] = np.diag(laws[child])
    return [joint[pair] for pair in pairs]


def test_samples_follow_the_tree():
    people, rng = population(5), np.random.default_rng(6)
    tree, n = synthetic.fit_tree({pair: people.select(*pair).joint for pair in PAIRS}), 20_000
    x = tree.sample(n, rng=rng)
    for j, i in PAIRS:
        cells = np.eye(people.k[j] * people.k[i])[x[:, j] * people.k[i] + x[:, i]]
        wanted = table_of(tree, j, i).ravel()
        seen = wanted > 0
        assert check.mean_z(cells[:, seen], wanted[seen]) < 5
        assert cells[:, ~seen].sum() == 0
        assert check.mean_z(cells[:, seen], people.select(j, i).joint.ravel()[::-1][seen]) > 5


def test_a_value_that_nobody_holds_gives_no_error():
    tables = {
        (0, 1): [[0.5, 0.5, 0], [0, 0, 0]],
        (0, 2): [[0.3, 0.7], [0, 0]],
        (1, 2): [[0.1, 0.4], [0.2, 0.3], [0, 0]],
    }
    x = synthetic.fit_tree(tables).sample(1_000, rng=np.random.default_rng(7))
    assert x[:, 0].max() == 0
    assert x[:, 1].max() == 1


def test_records_from_pairs_are_nearer_than_reweighted_reports():
    """Adult at a budget of 4, squared error of all pair tables: below a fifth of that of raked reports."""
    adult, rng = load_adult(), np.random.default_rng(8)
    pairs, users, errors = list(itertools.combinations(range(8), 2)), adult.users(), []
    truth = {pair: adult.select(*pair).joint for pair in pairs}
    asked, split = ask_pairs(adult.k, 4.0), RRIndependent(k=adult.k, epsilon=4.0)
    for _ in range(3):
        found = pair_estimates(asked, asked.perturb(users, rng=rng), estimators=["shrunk"])["shrunk"]
        tree = synthetic.fit_tree(found)
        y = split.perturb(users, rng=rng)
        raked = raking.rake(y, [clip_normalize(part) for part in split.estimate(y)])
        tables = (
            along(tree, pairs),
            [raking.Raked.table(raked, y[:, list(p)], (adult.k[p[0]], adult.k[p[1]])) for p in pairs],
        )
        errors.append([sum(((t - truth[p]) ** 2).sum() for t, p in zip(ts, pairs, strict=True)) for ts in tables])
    records, weighted = np.array(errors).T
    assert check.mean_z(weighted - 5 * records, 0) > 3
    assert weighted.mean() > 5 * records.mean()


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: synthetic.fit_tree({}), TypeError, "tables must be a dict from pairs"),
        (lambda: synthetic.fit_tree({(0, 2): np.full((2, 2), 0.25)}), ValueError, r"missing \[\(0, 1\)\]"),
        (lambda: synthetic.fit_tree({(0, 1): [[0.5, 0.6], [0, -0.1]]}), ValueError, "table must hold probabilities"),
        (lambda: tiny().sample(0, rng=np.random.default_rng(1)), ValueError, "n must be an integer of at least 1"),
        (lambda: tiny().sample(5, rng=1), TypeError, "rng must be a numpy"),
    ],
)
def test_bad_input(call, error, says):
    with pytest.raises(error, match=says):
        call()


def tiny():
    return synthetic.fit_tree({(0, 1): [[0.4, 0.1], [0.2, 0.3]]})


def test_ties_go_to_the_first_child_and_its_first_parent():
    """Without any dependence all trees are as good, and so are equal scores."""
    k, parts = (2, 3, 2, 4), [np.arange(1.0, size + 1) / sum(range(1, size + 1)) for size in (2, 3, 2, 4)]
    tables = {(j, i): np.outer(parts[j], parts[i]) for j, i in PAIRS}
    for scores in (None, dict.fromkeys(PAIRS, 0.25)):
        tree = synthetic.fit_tree(tables, scores)
        assert tree.edges == ((0, 1), (0, 2), (0, 3))
        assert tree.k == k
        assert tree.root == pytest.approx(parts[0])
        for rows, child in zip(tree.conditionals, (1, 2, 3), strict=True):
            assert rows == pytest.approx(np.tile(parts[child], (2, 1)))


@pytest.mark.parametrize(
    ("best", "edges"),
    [
        ({(2, 3): 3, (0, 3): 2, (1, 2): 1}, ((0, 3), (3, 2), (2, 1))),
        ({(0, 2): 1, (1, 2): 1, (2, 3): 1}, ((0, 2), (2, 1), (2, 3))),
        ({(0, 2): 5, (0, 1): 4, (1, 3): 3, (2, 3): 3}, ((0, 2), (0, 1), (1, 3))),
        ({(0, 1): -1, (0, 2): -2, (0, 3): -3}, None),
    ],
)
def test_given_scores_decide(best, edges):
    people = population(7)
    tables, scores = {pair: people.select(*pair).joint for pair in PAIRS}, dict.fromkeys(PAIRS, -9.0 if edges else 1.0)
    tree = synthetic.fit_tree(tables, scores | best)
    if edges:
        assert tree.edges == edges
    else:  # the bad ones are taken last: one of them is needed
        assert tree.edges == ((0, 1), (1, 2), (1, 3))


def test_information_is_that_of_the_definition_and_not_negative_zero_cells_add_nothing():
    table = np.array([[0.5, 0.0], [0.125, 0.375]])
    want = 0.5 * math.log(0.5 / (0.5 * 0.625)) + 0.125 * math.log(0.125 / (0.5 * 0.625)) + 0.375 * math.log(2)
    assert synthetic._information(table) == pytest.approx(want, rel=1e-12)
    assert synthetic._information(np.eye(4) / 4) == pytest.approx(math.log(4))


def test_a_value_without_mass_draws_from_its_child_s_marginal():
    tree = synthetic.fit_tree({(0, 1): [[0.25, 0.5, 0.25], [0, 0, 0]]})
    assert tree.conditionals[0].tolist() == [[0.25, 0.5, 0.25]] * 2
    assert tree.root.tolist() == [1, 0]


def test_records_of_a_tree_are_as_small_as_can_be_and_follow_sure_steps():
    step = np.array([[0.0, 1, 0], [0, 0, 1.0]])
    tree = synthetic.Tree(k=(3, 2), root=np.array([0.5, 0.5]), edges=((1, 0),), conditionals=(step,))
    x = tree.sample(4_000, rng=np.random.default_rng(1))
    assert (x.dtype, x.shape) == (np.uint8, (4_000, 2))
    assert np.array_equal(x[:, 0], x[:, 1] + 1)
    assert abs(x[:, 1].mean() - 0.5) < 5 * 0.5 / math.sqrt(4_000)
    twice = synthetic.Tree(k=(3, 2), root=np.array([2.0, 6.0]), edges=((1, 0),), conditionals=(4 * step,))
    assert abs(twice.sample(4_000, rng=np.random.default_rng(1))[:, 1].mean() - 0.75) < 5 * 0.5 / math.sqrt(4_000)
    wide = synthetic.Tree(k=(257, 2), root=np.eye(257)[256], edges=((0, 1),), conditionals=(np.full((257, 2), 0.5),))
    assert wide.sample(3, rng=np.random.default_rng(1)).dtype == np.uint16


@pytest.mark.parametrize("n", [2.5, 3.0, 0, -1, True, "4", None])
def test_a_tree_s_sample_is_a_whole_number_of_records(n):
    with pytest.raises(ValueError, match=f"n must be an integer of at least 1; got {n!r}"):
        tiny().sample(n, rng=np.random.default_rng(1))
    assert tiny().sample(np.int64(3), rng=np.random.default_rng(1)).shape == (3, 2)


def test_tables_of_all_pairs_are_needed_and_no_others():
    table = np.full((2, 2), 0.25)
    for pairs, missing in (
        ([(0, 1), (0, 2)], r"\(1, 2\)"),
        ([(0, 1), (2, 1), (0, 2)], r"\(1, 2\)"),
        ([(1, 2)], r"\(0, 1\)"),
    ):
        with pytest.raises(
            ValueError, match=rf"tables must hold each pair j < l of \d attributes once; missing \[{missing}\]"
        ):
            synthetic.fit_tree(dict.fromkeys(pairs, table))
    for pairs in ([(0, 1), (1, 0)], [(0, 1), (1, 2), (0, 2), (2, 2)]):
        with pytest.raises(ValueError, match="tables must be of two different attributes, each pair once"):
            synthetic.fit_tree(dict.fromkeys(pairs, table))
    with pytest.raises(ValueError, match="tables must agree on the number of values of 1; got 2 and 3"):
        synthetic.fit_tree({(0, 1): table, (0, 2): table, (1, 2): np.full((3, 2), 1 / 6)})
    for wrong in ([table], None, {}):
        with pytest.raises(TypeError, match=f"tables must be a dict from pairs of .* got {type(wrong).__name__}"):
            synthetic.fit_tree(wrong)


class Still(np.random.Generator):
    """A generator whose uniform numbers are all 0."""

    def random(self, size):
        return np.zeros(size)


def test_a_value_of_probability_zero_is_never_drawn():
    step = np.array([[0.0, 0.0, 1.0], [0.0, 0.5, 0.5]])
    tree = synthetic.Tree(k=(2, 3), root=np.array([0.0, 1.0]), edges=((0, 1),), conditionals=(step,))
    assert tree.sample(2, rng=Still(np.random.PCG64(1))).tolist() == [[1, 1], [1, 1]]


@pytest.mark.parametrize(("more", "first"), [(4e-13, (0, 1)), (4e-12, (0, 2)), (-4e-12, (0, 1))])
def test_scores_count_as_equal_within_rounding(more, first):
    tables = dict.fromkeys([(0, 1), (0, 2), (1, 2)], np.full((2, 2), 0.25))
    assert synthetic.fit_tree(tables, {(0, 1): 1.0, (0, 2): 1.0 + more, (1, 2): 0.0}).edges[0] == first

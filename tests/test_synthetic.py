"""Records from a tree: the tree of the largest information, its tables exactly and sampled, and what is gained."""

import itertools
import math

import numpy as np
import pytest

from ldp_lib import check, raking, synthetic
from ldp_lib.compare_tables import pair_estimates
from ldp_lib.datasets import load_adult
from ldp_lib.population import Population
from ldp_lib.postprocess import clip_normalize
from ldp_lib.product import RRIndependent
from ldp_lib.sampled.pairs import ask_pairs

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
    worth = {edges: sum(synthetic.information(tables[e]) for e in edges) for edges in trees(4)}
    assert len(worth) == 16
    assert {tuple(sorted(edge)) for edge in tree.edges} == set(max(worth, key=worth.get))


def test_tables_of_the_tree_are_those_of_all_its_records():
    people = population(4)
    tree = synthetic.fit_tree({pair: people.select(*pair).joint for pair in PAIRS})
    joint = np.zeros(people.k)
    for cell in np.ndindex(*people.k):
        joint[cell] = tree.root[cell[tree.edges[0][0]]]
        for (parent, child), rows in zip(tree.edges, tree.conditionals, strict=True):
            joint[cell] *= rows[cell[parent], cell[child]]
    assert math.isclose(joint.sum(), 1, rel_tol=1e-12)
    for j, i in itertools.permutations(range(4), 2):
        table = joint.sum(axis=tuple(a for a in range(4) if a not in (j, i)))
        assert np.allclose(tree.table(j, i), table if j < i else table.T, rtol=0, atol=1e-12)
    for parent, child in tree.edges:
        assert np.allclose(tree.table(parent, child), people.select(parent, child).joint, rtol=0, atol=1e-12)


def test_samples_follow_the_tree():
    people, rng = population(5), np.random.default_rng(6)
    tree, n = synthetic.fit_tree({pair: people.select(*pair).joint for pair in PAIRS}), 20_000
    x = tree.sample(n, rng=rng)
    for j, i in PAIRS:
        cells = np.eye(people.k[j] * people.k[i])[x[:, j] * people.k[i] + x[:, i]]
        wanted = tree.table(j, i).ravel()
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
            [tree.table(*p) for p in pairs],
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
        (lambda: tiny().sample(0, rng=np.random.default_rng(1)), ValueError, "n must be a number of users"),
        (lambda: tiny().sample(5, rng=1), TypeError, "rng must be a numpy"),
        (lambda: tiny().table(0, 0), ValueError, "two attributes from 0 to 1; got 0 and 0"),
    ],
)
def test_bad_input(call, error, says):
    with pytest.raises(error, match=says):
        call()


def tiny():
    return synthetic.fit_tree({(0, 1): [[0.4, 0.1], [0.2, 0.3]]})

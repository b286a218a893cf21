"""The comparison's table is what the library computes, at the same exact budget, and no seed decides it."""

import math
from pathlib import Path

import numpy as np
import pytest

from ldp_lib import limit
from ldp_lib.book import head_to_head
from ldp_lib.book.claims import claim
from ldp_lib.jrr import SignedRR
from ldp_lib.population import Population
from ldp_lib.postprocess import project_simplex
from ldp_lib.sampled import OneQuestion
from ldp_lib.survey import errors, planner
from ldp_lib.tables.clusters import RRClusters

TABLE = head_to_head.load().set_index(["population", "epsilon", "mechanism"]).sort_index()
RIGHT = TABLE[~TABLE["biased"]].drop("limit", level="mechanism")
GROUPS = {setting: part.droplevel([0, 1]) for setting, part in RIGHT.groupby(level=[0, 1])}


def test_the_table_has_every_mechanism_at_every_population_and_budget():
    assert set(TABLE.index.droplevel("mechanism")) == {
        (name, epsilon) for name in head_to_head.populations() for epsilon in head_to_head.BUDGETS
    }
    real, names = {"adult 8", "clave", "corr-rr adult", "mushroom", "nursery"}, set(head_to_head.populations())
    made = {name for name in names if name.startswith("Syn") and not name.endswith(" shuffled")}
    twins = {f"{name} shuffled" for name in made | {"adult 8"}}
    assert names == real | made | twins | {"clothing", "kosarak"}
    assert len(real | made | twins) == 58
    for name in ("adult 8", "clave", "kosarak"):
        made = {type(m).__name__ for m in head_to_head._made_for(head_to_head.population(name), 1.0)}
        assert set(TABLE.loc[name, 1.0].index) == made | {"guess 1/k", "limit"}


@pytest.mark.parametrize("name", ["clave", "mushroom", "clothing", "SynA uniform 4", "SynB skewed 3 shuffled"])
def test_a_sample_of_the_table_comes_out_again(name):
    for row in head_to_head._compared(name, 1.0, rng=np.random.default_rng(9)):
        stored = TABLE.loc[name, 1.0, row["mechanism"]]
        assert stored["biased"] == row["biased"]
        assert stored["raw"] == pytest.approx(row["raw"], rel=1e-5)  # simulated ones too: the question is the seed
        if row["repaired_error"] == row["repaired_error"]:
            off = math.hypot(stored["repaired_error"], row["repaired_error"])
            assert abs(stored["repaired"] - row["repaired"]) <= 5 * off + 1e-5 * row["repaired"]


@pytest.mark.parametrize("k", [(2, 2), (3, 3), (2, 3), 2, 5])
def test_all_spend_the_same_budget(k):
    people = type("People", (), {"k": k if isinstance(k, tuple) else (k,), "d": len(np.atleast_1d(k))})
    spent = {type(m).__name__: head_to_head.spent(m) for m in head_to_head._made_for(people, 1.0)}
    for name, value in spent.items():
        assert value is None or 0.99 < value < 1 + 1e-9, (name, value)
    assert sum(value is None for value in spent.values()) <= 7  # those whose users' reports hang together


def test_no_unbiased_mechanism_is_below_the_limit_at_its_own_people():
    for name in ("clave", "corr-rr adult"):
        people = head_to_head.population(name)
        for epsilon in head_to_head.BUDGETS:
            found = limit.least_error(people.k, epsilon, people)
            shares = [np.bincount(c, weights=people.counts) / people.n for c in people.records.T]
            floor = (found.error - sum(f @ (1 - f) for f in shares)) / people.n
            # Groups of planned sizes gain one part in n over users who are drawn.
            assert GROUPS[name, epsilon]["raw"].min() > floor * (1 - 5 / people.n)


def test_the_limit_is_a_proved_bound_and_the_chapter_says_so():
    """On Nursery's domain at 4 the least error may be a sixth above it, so "the least error" would be too much."""
    k = head_to_head.population("nursery").k
    found, drawn = limit.least_error(k, 4.0), sum(1 - 1 / size for size in k)
    bound = head_to_head.least_of_one(k, 4.0)
    assert bound == found.error - drawn
    assert 1.17 < (found.attained - drawn) / bound < 1.19
    chapter = Path(__file__).resolve().parents[2] / "notebooks/which_mechanism.ipynb"
    assert "is the proved bound of every unbiased mechanism's error" in chapter.read_text(encoding="utf-8")
    assert "within 3 % of the bound proved for users drawn" in claim("own/which-mechanism").statement


def test_signed_reports_which_need_a_dealer_are_below_the_limit_whatever_the_data():
    n, signed = 1_000, SignedRR(epsilon=1.0)
    errors = [signed.variance(Population.from_counts([n - ones, ones])).sum() for ones in range(0, n + 1, 50)]
    assert signed.unbiased
    assert signed.needs_dealer
    assert n * max(errors) < 0.64 * head_to_head.least_of_one((2,), 1.0)


def test_the_limit_of_every_population_and_budget_comes_out_again():
    for name, epsilon in GROUPS:
        people = head_to_head.population(name)
        limit_again = head_to_head.least_of_one(people.k, epsilon) / people.n
        assert TABLE.loc[name, epsilon, "limit"]["raw"] == pytest.approx(limit_again, rel=1e-4), (name, epsilon)


def test_another_seed_changes_no_recommendation():
    for (name, epsilon), part in GROUPS.items():
        exact = part[part["raw_error"] == 0]["raw"]
        for family, row in part[part["raw_error"] > 0].iterrows():
            error, off = row["raw"], row["raw_error"]
            if error - 5 * off < exact.min():  # 40 runs do not settle it
                people, rng = head_to_head.population(name), np.random.default_rng(7)
                assert people.d <= 4
                mechanism = {type(m).__name__: m for m in head_to_head._made_for(people, epsilon)}[family]
                error, off = errors.total_errors(mechanism, people, rng=rng, runs=1_000)
            assert error - 5 * off > exact.min(), (name, epsilon, family)
    people, winners = head_to_head.population("SynA skewed 3"), set()
    for seed in range(4):
        rng, found = np.random.default_rng(seed), {}
        for mechanism in head_to_head._made_for(people, 1.0):
            if mechanism.unbiased:
                found[type(mechanism).__name__] = errors.total_error(mechanism, people, rng=rng, runs=40)
        winners.add(min(found, key=lambda key: round(found[key], 9)))
    assert len(winners) == 1


def test_shuffled_people_have_the_same_shares_and_no_dependence():
    people = head_to_head.population("SynA skewed 3")
    twin = head_to_head.population("SynA skewed 3 shuffled")
    for j in range(3):
        assert np.array_equal(people.select(j).histogram, twin.select(j).histogram)
    for population, tied in ((people, True), (twin, False)):
        joint = population.select(0, 1).joint
        assert (abs(joint - np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum() > 0.1) == tied


def test_the_clusters_that_are_compared_are_those_of_the_default_and_others_can_have_less_error():
    """Relationship, race and sex at 1, as in the chapter's table; eight yes-or-no questions, as in its figure."""
    text = (Path(__file__).parents[2] / "notebooks" / "which_mechanism.ipynb").read_text(encoding="utf-8")
    three = (6, 5, 2)
    roots = {  # of a table
        clusters: math.sqrt(planner.pairs_error(RRClusters(k=three, epsilon=1.0, clusters=clusters), 32_561) / 3)
        for clusters in (((0, 1), (2,)), ((0, 2), (1,)), ((1, 2), (0,)))
    }
    assert RRClusters(k=three, epsilon=1.0).clusters_ == max(roots, key=roots.get) == ((0, 1), (2,))
    assert f"(race and sex: {min(roots.values()):.2f})" in text
    for epsilon in (0.5, 1.0):
        default, pairs, alone = (
            planner.pairs_error(RRClusters(k=(2,) * 8, epsilon=epsilon, clusters=clusters), 1)
            for clusters in (None, [(0, 1), (2, 3), (4, 5), (6, 7)], [(j,) for j in range(8)])
        )
        assert pairs < 0.8 * alone
        assert default > 4 * alone


def test_raw_estimates_take_about_three_times_as_many_people_as_projected_ones_to_beat_the_uniform_guess():
    """On Adult at 1 the raw error is the guess's at 727 of its people, the projected one's between 200 and 300."""
    people, rng = head_to_head.population("adult 8"), np.random.default_rng(1)
    guess, one = head_to_head.guess_error(people), OneQuestion(k=people.k, epsilon=1.0)
    assert math.ceil(errors.total_error(one, people) * people.n / guess) == 727
    users, off = people.users(), {}  # the projected error less the guess's, in standard errors
    for n in (200, 300):
        gaps = []
        for _ in range(400):
            some = rng.choice(users, n, replace=False)
            estimates = one.estimate(one.perturb(some, rng=rng))
            truths = [np.bincount(column, minlength=k) / n for column, k in zip(some.T, people.k, strict=True)]
            pairs = zip(map(project_simplex, estimates), truths, strict=True)
            gaps.append(sum(((a - b) ** 2).sum() - ((b - 1 / len(b)) ** 2).sum() for a, b in pairs))
        off[n] = np.mean(gaps) / np.std(gaps) * 20
    assert off[300] < -5 < 5 < off[200]

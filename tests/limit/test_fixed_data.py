"""The limit for data held fixed: attained by a design that knows the data, below that of evenly drawn users."""

import itertools
import json
import math
import re
import tracemalloc
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import yaml

from ldp_lib import GRR, OneQuestion, SubsetSelection, limit
from ldp_lib.datasets import load_adult
from ldp_lib.limit._given_population import target_rows
from ldp_lib.population import Population, marginal_frequencies


def of(records, k):
    """Return a population of these records."""
    return Population.from_records(np.array(records), k=k)


def test_four_users_with_four_values_have_less_than_evenly_drawn_users():
    """The counterexample to "held fixed, no unbiased mechanism has less than 1.5": 1.3995, and that is the least."""
    found = limit.fixed_data_error((4,), math.log(3), of([[0], [1], [2], [3]], (4,)))
    drawn = limit.least_error((4,), math.log(3)).error - 3 / 4
    assert round(found.attained / 4, 4) == 1.3995
    assert found.error / 4 <= found.attained / 4 < drawn / 4
    assert math.isclose(drawn / 4, 1.5, rel_tol=1e-8)
    held = GRR(k=4, epsilon=math.log(3)).variance(of([[0], [1], [2], [3]], (4,)))
    assert math.isclose(held.sum(), 6 / 4, rel_tol=1e-12)  # below the bound for drawn users: own/limit-any-domain
    assert math.isclose(limit.linear_error(np.eye(4), math.log(3)), 27 / 4)
    assert limit.check_certificate(found)


@pytest.mark.parametrize(
    ("k", "epsilon", "ratio"), [((3,), math.log(4), 0.971), ((2, 2), 1.0, 0.880), ((2, 4), 0.5, 0.954)]
)
def test_the_limit_of_drawn_users_less_their_sampling_error_is_no_bound_at_given_data(k, epsilon, ratio):
    """So "no report has less" and "within 3 % of the least possible" are for drawn users, or for the worst data."""
    held = limit.fixed_data_error(k, epsilon, of([[0] * len(k)], k)).attained
    drawn = limit.least_error(k, epsilon).error - sum(1 - 1 / size for size in k)
    assert round(held / drawn, 3) == ratio


def test_what_is_said_of_all_mechanisms_says_how_users_are_drawn_or_that_data_are_held_fixed():
    root = Path(__file__).parents[2]
    own = yaml.safe_load((root / "ldp_lib/book/ledger/own.yml").read_text(encoding="utf-8"))
    rows = {row["id"]: (row["statement"], "drawn|held fixed") for row in own}
    for name in ("limit_bound", "limit_attained", "limit_minimax", "pair_tables"):
        cells = json.loads((root / f"notebooks/{name}.ipynb").read_text(encoding="utf-8"))["cells"]
        text = "\n".join("".join(cell["source"]) for cell in cells)
        found = re.findall(r":::\{prf:(?:theorem|proposition)\}.*\n:label: (\S+)\n([\s\S]*?)\n:::", text)
        rows |= {label: (body, "drawn independently|data set") for label, body in found}
    of_all = "least possible|unbiased mechanisms|over all mechanisms|protocol"
    bounds = {name: row for name, row in rows.items() if re.search(of_all, " ".join(row[0].split()))}
    assert len(bounds) > 20
    assert {"thm-limit", "thm-two", "thm-binary", "thm-pairs-limit", "own/which-mechanism"} < set(bounds)
    assert [name for name, (text, words) in bounds.items() if not re.search(words, " ".join(text.split()))] == []


def test_own_data_are_told_which_population_the_limit_is_for():
    """Without a population it is that of equally likely records: on Adult's people one question each has less."""
    people = load_adult().select("sex", "race", "income")
    drawn = people.n * sum(map(sum, OneQuestion(k=people.k, epsilon=1.0).variance(people)))
    drawn += sum(1 - (f**2).sum() for f in marginal_frequencies(people))
    assert 0.95 < drawn / limit.least_error(people.k, 1.0).error < 0.96
    agree = limit.least_error((2, 2), 1.0, np.array([[99, 1], [1, 99]]))  # some other populations have no less
    assert abs(agree.error / limit.least_error((2, 2), 1.0).error - 1) < 1e-6
    for chapter, words in {
        "limit_bound": "it is for uniform records; other populations may have less",
        "limit_attained": "optimal up to ε = 3. (Other populations may differ.)",
        "optimal_sets": "Other populations may have less: for Adult's sex, race and income",
    }.items():
        assert words in (Path(__file__).parents[2] / f"notebooks/{chapter}.ipynb").read_text(encoding="utf-8")
    even = []
    for path in sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb")):
        text = "\n".join("".join(c["source"]) for c in json.loads(path.read_text(encoding="utf-8"))["cells"])
        own = text.partition("## On your own data")[2].partition("## What it changes")[0]
        if re.search(r"least_error\((?:[^(),]|\([^()]*\))+, [^(),]+\)", own):  # two arguments, no population
            even.append(path.stem)
            assert re.search("all records are equally likely|at the uniform distribution", own), path.stem
    assert even == ["limit_attained", "limit_minimax", "optimal_sets"]


def variance_of_a_design(channels, x, target):
    """Exact variance at data x, times n, of the mean of each user's best unbiased estimate from the own channel."""
    total = 0.0
    for matrix, value in zip(channels, x, strict=True):
        information = (matrix / matrix[value]) @ matrix.T
        assert np.abs(matrix.sum(axis=1) - 1).max() < 1e-9
        estimate = target @ np.linalg.inv(information) @ (matrix / matrix[value])  # one column a report
        assert np.abs(estimate @ matrix.T - target).max() < 1e-6  # unbiased for every record
        total += (estimate**2).sum(axis=0) @ matrix[value] - (target[:, value] ** 2).sum()
    return total / len(x)


def test_a_design_that_knows_the_data_attains_it_and_no_design_at_random_has_less():
    k, t = (4,), 2.0
    found = limit.fixed_data_error(k, math.log(3), of([[0], [1], [2], [3]], k))
    target, rng = target_rows(k, "shares").astype(float), np.random.default_rng(1)
    best = np.array([[1 + t * ((r,) in s) for s in found.sets] for r in range(4)])
    at_zero = best * (np.array(found.weights) / best[0])
    at_zero /= at_zero.sum(axis=1, keepdims=True)
    turned = [np.roll(at_zero, v, axis=0) for v in range(4)]
    assert math.isclose(variance_of_a_design(turned, range(4), target), found.attained, rel_tol=1e-3)
    wrong = [at_zero] * 4  # the channel best for users with value 0, given to all: not as good
    assert variance_of_a_design(wrong, range(4), target) > found.attained * 1.01
    for _ in range(200):
        channels = []
        for _ in range(4):
            columns = 1 + t * (rng.random((12, 4)) < 0.5)
            share = rng.random(12) / columns.sum(axis=0).max() / 4
            rest = np.linalg.solve((1 + t * np.eye(4)).T, 1 - share @ columns)
            channels.append(np.vstack([columns * share[:, None], (1 + t * np.eye(4)) * rest[:, None]]).T)
        if min(c.min() for c in channels) >= 0:
            assert variance_of_a_design(channels, rng.integers(4, size=4), target) >= found.error * (1 - 1e-9)


@pytest.mark.parametrize(("k", "epsilon"), [((2,), 1.0), ((3,), 0.5), ((2, 3), 1.0), ((2, 2, 2), 2.0), ((4, 5), 1.0)])
def test_it_is_the_same_for_all_data_and_at_most_what_no_mechanism_beats_everywhere(k, epsilon):
    corner, other = of([[0] * len(k)], k), of([[size - 1 for size in k], [1] + [0] * (len(k) - 1)], k)
    found = [limit.fixed_data_error(k, epsilon, people) for people in (corner, other)]
    drawn = limit.least_error(k, epsilon).error - sum(1 - 1 / size for size in k)
    assert found[0].error == found[1].error <= drawn * (1 + 1e-9)
    assert all(limit.check_certificate(one) for one in found)
    if k == (2,):  # randomized response, whatever the data are, and whether or not the designer knows them
        assert math.isclose(found[0].error, drawn, rel_tol=1e-6)
        for people in (corner, other):
            assert math.isclose(people.n * GRR(k=2, epsilon=epsilon).variance(people).sum(), drawn, rel_tol=1e-6)
    else:
        assert found[0].error < 0.995 * drawn


def test_data_with_an_attribute_of_many_values_need_no_table_of_them():
    tracemalloc.start()
    found = limit.fixed_data_error((2**24, 2), 1.0, of([(5, 1), (2**24 - 1, 0)], (2**24, 2)))
    assert tracemalloc.get_traced_memory()[1] < 2**24  # a table of 2^24 numbers takes 2^27 bytes
    tracemalloc.stop()
    assert limit.check_certificate(found)


def test_what_a_design_must_know_has_its_exception_where_it_is_said():
    """For one yes-or-no question none has to know the data, as the test above shows."""
    assert "one attribute of two values" in " ".join(limit.fixed_data_error.__doc__.split())
    text = (Path(__file__).parents[2] / "notebooks/limit_minimax.ipynb").read_text(encoding="utf-8")
    (said,) = re.findall(r"attains [^ ]* knows the data\.([^\n\"]*)", text)
    assert "one yes-or-no question, attains both" in said


def test_the_page_of_theorems_says_for_which_data_and_correlations():
    """Subset selection is best in the worst case, not at given data; positive correlation exceeds the ratio's bound."""
    page = " ".join((Path(__file__).parents[2] / "book/theorems.md").read_text(encoding="utf-8").split())
    assert "In the sections after *The limit* the data are held fixed, unless the statement in its chapter" in page
    people = of([[0], [1], [2], [3]], (4,))
    best = min(people.n * SubsetSelection(k=4, epsilon=1.0, size=s).variance(people).sum() for s in (1, 2, 3))
    assert limit.fixed_data_error((4,), 1.0, people).attained < 0.99 * best
    assert "Against all ε-LDP mechanisms this is known in the worst case" in page
    excess = []
    for p, rho in itertools.product((Fraction(3, 4), Fraction(2, 5)), (Fraction(-1, 6), Fraction(1, 4))):
        q = 1 - p  # two people: if the other told the truth, and if the other lied
        odds = (p * p + rho * p * q) / (p * q - rho * p * q), (p * q - rho * p * q) / (q * q + rho * p * q)
        excess.append(max(*odds, *(1 / x for x in odds)) - (1 - rho) * p / (q + rho * p))
    assert excess[0] == 0 < min(excess[1:])  # below one half a lie is the likelier
    assert r"For $p>\frac12$, $-q/p\le\rho<0$ and all answers of the others, known: the ratio" in page


def test_bad_input():
    with pytest.raises(ValueError, match="population must have"):
        limit.fixed_data_error((2, 2), 1.0, of([[0, 1]], (2, 3)))
    with pytest.raises(TypeError, match="population must be a Population"):
        limit.fixed_data_error((2, 2), 1.0, np.ones((2, 2)))

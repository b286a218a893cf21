"""The atlas: complete, verified by the stand-alone file (here a sample; `make atlas` all of it), and as on its page."""

import itertools
import math
import sys
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace

import atlas
import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from ldp_lib import limit
from ldp_lib.limit._given_population import balanced, newton, target_rows
from ldp_lib.limit._rational import subset_sums
from ldp_lib.limit.pair_tables import least_pair_error

sys.path.insert(0, str(Path(atlas.__file__).parents[1] / "book" / "_ext"))
import pages

EVERY = atlas.load()
FILE = atlas.verifier()


def test_every_domain_budget_and_target_is_there_once():
    keys = [(tuple(one["domain"]), one["epsilon"], one["target"]) for one in EVERY]
    sizes = {k for d in range(1, 5) for k in itertools.combinations_with_replacement(range(2, 17), d)}
    sizes = {k for k in sizes if math.prod(k) <= 16}
    wanted = {(k, b / 4, "shares") for k in sizes for b in range(1, 21)}
    wanted |= {(k, b / 4, "pairs") for k in sizes if len(k) > 1 for b in range(1, 21)}
    wanted |= {((k,), b / 4, "prefixes") for k in range(2, 17) for b in range(1, 21)}
    assert len(keys) == len(set(keys))
    assert set(keys) == wanted


@pytest.mark.parametrize("number", range(0, len(EVERY), 29))
def test_a_sample_is_verified_and_nothing_more_than_it_says(number):
    one = EVERY[number]
    atlas.verify(one, FILE)
    for error in (one["error"] * (1 + 1e-6), -1.0):
        with pytest.raises((AssertionError, ValueError)):
            atlas.verify(one | {"error": error}, FILE)
    for factor in (0.5, 1 - 1e-6, -1.0):  # no mechanism attains less than the row's own certificate proves
        with pytest.raises(AssertionError):
            atlas.verify(one | {name: factor * one[name] for name in ("error", "attained")}, FILE)
    more = one["certificate"] | {"error": str(Fraction(one["certificate"]["error"]) * Fraction(10**6 + 1, 10**6))}
    with pytest.raises(ValueError, match="refused"):
        atlas.verify(one | {"certificate": more}, FILE)


SMALL = [number for number in range(0, len(EVERY), 29) if math.prod(EVERY[number]["domain"]) <= 12]


@pytest.mark.parametrize("number", SMALL)
def test_what_attains_a_row_comes_out_again(number):
    """The file proves bounds only; the error attained and the sets that attain it have no certificate in the atlas."""
    one = EVERY[number]
    k, epsilon = tuple(one["domain"]), one["epsilon"]
    make = {
        "shares": limit.least_error,
        "pairs": least_pair_error,
        "prefixes": lambda k, b: atlas.prefix_error(k[0], b),
    }
    found = make[one["target"]](k, epsilon)
    assert limit.check_certificate(found)
    again = atlas.row(found)
    assert [again[name] for name in ("attributes", "sizes")] == [one[name] for name in ("attributes", "sizes")]
    for name in ("error", "attained"):
        assert again[name] == pytest.approx(one[name], rel=1e-6), name


def test_the_page_shows_the_atlas():
    text = (Path(atlas.__file__).parents[1] / "book/theorems.md").read_text(encoding="utf-8")
    assert "\n```{atlas}\n```\n" in text
    shown = []
    page = SimpleNamespace(env=SimpleNamespace(note_dependency=lambda path: None), parse_text_to_nodes=shown.append)
    pages.Atlas.run(page)
    assert shown == [atlas.tables(EVERY)]
    assert shown[0].count("| 2 × 2 | 33.34 | 9.365 | 2.644 | 1.155 | 2 attributes; 1 of 4 |") == 1


def outside(k, e, f, rows):
    """The least error by a general solver, over the probabilities of all sets of records at once."""
    n = math.prod(k)
    columns = 1 + (e - 1) * subset_sums(np.eye(n, dtype=int)).T[1:-1]
    basis = np.linalg.svd(np.ones((1, n)))[2][1:].T
    v, target = columns @ basis / np.sqrt(columns @ f)[:, None], basis.T @ rows.T

    def error(q):
        solved = np.linalg.solve((v.T * q) @ v + 1e-13 * np.eye(n - 1), target)
        return (target * solved).sum(), -((v @ solved) ** 2).sum(axis=1)

    found = minimize(
        error,
        np.full(len(columns), 1 / columns.sum(axis=0)[0]),
        jac=True,
        bounds=[(0, None)] * len(columns),
        constraints=LinearConstraint(columns.T, 1, 1),
        method="SLSQP",
        options={"maxiter": 2000, "ftol": 1e-13},
    )
    return found.fun


@pytest.mark.parametrize("number", range(20))
def test_an_outside_optimiser_agrees_at_random_tables(number):
    rng = np.random.default_rng(number)
    k, epsilon = [(4,), (2, 2), (5,), (2, 3), (3, 2)][number % 5], [0.5, 1.0, 2.0, 3.0][number % 4]
    f = rng.dirichlet(np.full(math.prod(k), 3.0))
    found = limit.least_error(k, epsilon, f.reshape(k))
    assert outside(k, math.exp(epsilon), f, target_rows(k, "shares")) == pytest.approx(found.error, rel=1e-6)


def test_the_theorems_page_says_how_near_cumulative_shares_are():
    """The stated ranges over all of the atlas; intervals alone by the convex program, at the ends of the range."""
    least = {(one["domain"][0], one["epsilon"]): one["error"] for one in EVERY if one["target"] == "prefixes"}
    over = [
        error / limit.linear_error(limit.prefixes(k), b) - 1 for (k, b), error in least.items() if k >= 5 and b <= 1
    ]
    assert (round(100 * min(over)), round(100 * max(over))) == (3, 9)
    cost = {}
    for k, epsilon in ((8, 1.0), (16, 1.0), (8, 5.0), (16, 5.0)):
        member = np.array([[a <= v < b for v in range(k)] for a in range(k) for b in range(a + 1, k + 1) if b - a < k])
        rows, every = target_rows((k,), "prefixes"), 1 + math.expm1(epsilon) * member
        _, inverse = newton(every, rows, np.full(k, 1 / k), balanced(every))
        cost[k, epsilon] = ((rows @ inverse) * rows).sum() / least[k, epsilon] - 1
    assert max(cost[8, 5.0], cost[16, 5.0]) < 1e-5
    assert cost[8, 1.0] < cost[16, 1.0]
    assert round(100 * cost[16, 1.0]) == 31
    page = (Path(atlas.__file__).parents[1] / "book/theorems.md").read_text(encoding="utf-8")
    assert "is 3 to 9 % above" in page
    assert "up to 31 % more" in page

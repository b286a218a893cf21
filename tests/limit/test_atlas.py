"""The atlas: complete, verified by the stand-alone file (here a sample; `make atlas` all of it), and as on its page."""

import itertools
import math
from fractions import Fraction
from pathlib import Path

import atlas
import numpy as np
import pytest
from scipy.optimize import LinearConstraint, minimize

from ldp_lib import limit
from ldp_lib.limit._given_population import target_rows
from ldp_lib.limit._rational import subset_sums

EVERY = atlas.load()
FILE = atlas.verifier()


def test_every_domain_budget_and_target_is_there_once():
    keys = [(tuple(one["domain"]), one["epsilon"], one["target"]) for one in EVERY]
    sizes = {k for d in range(1, 5) for k in itertools.combinations_with_replacement(range(2, 17), d)}
    sizes = {k for k in sizes if math.prod(k) <= 16}
    wanted = {(k, b / 4, "shares") for k in sizes for b in range(1, 21)}
    wanted |= {(k, b / 4, "pairs") for k in sizes if len(k) > 1 for b in range(1, 21)}
    wanted |= {((k,), b / 4, "prefixes") for k in range(2, 11) for b in range(1, 21)}
    assert len(keys) == len(set(keys))
    assert set(keys) == wanted


@pytest.mark.parametrize("number", range(0, len(EVERY), 29))
def test_a_sample_is_verified_and_nothing_more_than_it_says(number):
    one = EVERY[number]
    atlas.verify(one, FILE)
    for error in (one["error"] * (1 + 1e-6), -1.0):
        with pytest.raises((AssertionError, ValueError)):
            atlas.verify(one | {"error": error}, FILE)
    more = one["certificate"] | {"error": str(Fraction(one["certificate"]["error"]) * Fraction(10**6 + 1, 10**6))}
    with pytest.raises(ValueError, match="refused"):
        atlas.verify(one | {"certificate": more}, FILE)


def test_the_page_shows_the_atlas():
    text = (Path(atlas.__file__).parents[1] / "book/atlas.md").read_text(encoding="utf-8")
    assert atlas.tables(EVERY) in text


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

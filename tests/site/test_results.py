"""The numbers of the page of results are computed here, and must stand in the row that they belong to."""

import functools
import math
import re
from pathlib import Path

import pytest

from ldp_lib import fake_data, subset
from ldp_lib.book import best_settings
from ldp_lib.datasets import load_adult
from ldp_lib.grr import GRR
from ldp_lib.jrr import calibration, signed_parameters
from ldp_lib.limit.closed_forms import simple_pair_error
from ldp_lib.splitting import BRR, OBRR
from ldp_lib.subset import SubsetSelection
from ldp_lib.survey import planner
from ldp_lib.survey.errors import total_error

PAGE = (Path(__file__).resolve().parents[2] / "book" / "results.md").read_text(encoding="utf-8")
NUMBERS = [cells[1] for line in re.findall(r"^\| (.*) \|$", PAGE, re.MULTILINE) if len(cells := line.split(" | ")) == 3]
ADULT = load_adult()
SHARES = best_settings.load().loc[("adult 8", 1.0)]


def over_the_limit(name, k):
    """The best split's error of all tables over the bound in closed form, both for users drawn at random."""
    drawn = sum(1 - 1 / (a * b) for i, a in enumerate(k) for b in k[:i])
    return (best_settings.load("tables")["split"][name, 1.0] + drawn) / (simple_pair_error(k, 1.0) + drawn)


@functools.cache
def design():
    """The signed reports of 10,000 people that are (0.1, 1e-8)-private together: p and rho."""
    return signed_parameters(epsilon=0.1, delta=1e-8, n=10_000)


def people():
    several, one = SubsetSelection(k=9, epsilon=1.0), GRR(k=9, epsilon=1.0)
    return f"{planner.required_users(several, 0.01):,} people; {planner.required_users(one, 0.01):,} people"


def named():
    few, one = (subset.error(math.e, 16, size) - 15 / 16 for size in (4, 1))
    return f"{few / one:.2f}"


def saved():
    parts = [total_error(M(k=ADULT.k, epsilon=1.0), ADULT) for M in (OBRR, BRR)]
    return {7: "a seventh of the error"}[round(1 / (1 - parts[0] / parts[1]))]


def fakes():
    parts = [SHARES[kind] / SHARES["one question"] for kind in ("constant fakes", "constant fakes, equal weights")]
    return "{:.1f} times; {:.1f} times".format(*parts)


def tables():
    wide, four = over_the_limit("Adult's domain", ADULT.k), over_the_limit("four of Adult's", (6, 5, 2, 2))
    return f"{wide:.0f} times; {four:.0f} times"


def signed():
    p, rho = design()
    return f"{p * (1 - p) * (1 + rho) / (2 * p - 1) ** 2 / calibration.plain_variance(0.1, 1e-8):.0%}".replace(
        "%", " %"
    )


def one_sign():
    p, rho = design()
    square = -rho * p * (1 - p)
    return f"{(p**2 - square) / ((1 - p) ** 2 - square):.0f}"


def hidden():
    uniform = [[1 / size] * size for size in (2, 3)]
    ratio = max(fake_data.privacy_ratio(fake_data.amplified(2, 2), (2, 3), uniform, [j]) for j in (0, 1))
    assert ratio == pytest.approx(23 / 11)
    return "23/11"


@pytest.mark.parametrize(
    "computed",
    [
        people,
        named,
        saved,
        fakes,
        tables,
        signed,
        one_sign,
        hidden,
        lambda: f"{SHARES['split'] / SHARES['one question']:.1f} times",
    ],
)
def test_the_number_on_the_page_is_the_computed_one(computed):
    assert computed() in NUMBERS


def test_masks_have_the_stated_standard_error():
    """That of mixed reports, 47, is printed by the chapter; the promise is that of its figure."""
    own, r = 10_000 * calibration.plain_variance(0.1, 1e-8), math.exp(-0.1)
    assert round(math.sqrt(own), -1) == 1_000
    assert f"47; {math.sqrt(2 * r) / (1 - r):.0f}" in NUMBERS

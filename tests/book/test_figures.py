"""A mechanism looks the same in every figure, and unlike any other."""

import re

import pytest
from matplotlib.colors import is_color_like
from matplotlib.markers import MarkerStyle

from ldp_lib.book import figures
from ldp_lib.survey.catalogue import MECHANISMS


def test_every_mechanism_has_a_look():
    assert {mechanism.__name__ for mechanism in MECHANISMS} <= set(figures.LOOKS)


def test_no_two_mechanisms_share_colour_and_marker():
    assert len(set(figures.LOOKS.values())) == len(figures.LOOKS)


@pytest.mark.parametrize("name", figures.LOOKS)
def test_a_look_can_be_drawn(name):
    drawn = figures.look(name)
    assert is_color_like(drawn["color"])
    assert figures.COLOURS[name] == drawn["color"]
    assert re.fullmatch(r"\S", drawn["marker"])
    MarkerStyle(drawn["marker"])

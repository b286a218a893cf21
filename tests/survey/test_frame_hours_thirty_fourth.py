"""An official statistician: weighted regions of a Poisson sample, and the rest of the country."""

import numpy as np
import pandas as pd
import pytest

from ldp_lib import Survey

LABELS = {"smoker": ["no", "yes"]}


@pytest.mark.parametrize("kind", ["string", object])
def test_the_rest_of_the_country_leaves_out_who_has_no_region_in_a_nullable_column_only(kind):
    region = pd.Series(["north", "south", None, None] * 50, dtype=kind)
    people = pd.DataFrame({"smoker": ["yes", "no"] * 100, "region": region})
    kept = Survey(LABELS, 1.0).collect(people, rng=np.random.default_rng(1), keep=["region"])
    assert len(kept[kept["region"] != "north"]) == (50 if kind == "string" else 150)
    assert len(kept[~kept["region"].isin(["north"])]) == 150


def test_weighted_regions_of_a_poisson_sample_hold_with_their_own_number_of_people():
    rng = np.random.default_rng(34)
    chance, south = rng.choice([1.0, 0.5, 0.25], 1000), rng.random(1000) < 0.5
    yes = rng.random(1000) < np.where(chance > 0.4, 0.5, 0.3)
    frame = pd.DataFrame({"smoker": np.where(yes, "yes", "no"), "south": south, "w": 1 / chance})
    survey, held = Survey(LABELS, 2.0), []
    for _ in range(100):
        kept = survey.collect(frame[rng.random(1000) < chance], rng=rng, weights="w", keep=["south"])
        told = survey.estimate(kept[kept["south"]], weights="w", sampling=True, population=int(south.sum()))
        held.append(told["low"][1] <= yes[south].mean() <= told["high"][1])
    assert np.mean(held) > 0.95 - 4 * (0.95 * 0.05 / 100) ** 0.5

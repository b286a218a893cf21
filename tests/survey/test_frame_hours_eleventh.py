"""Attempts of an hour on the ways of data: what came out right, or was refused, stays so."""

import warnings

import numpy as np
import pandas as pd
import pytest

from ldp_lib import Survey

TYPED = pd.Series(["yes", "Yes", "yes ", "no", "NO", "ja"])
LOSSES = {
    "categories": lambda column: pd.Categorical(column, ["no", "yes"]),
    "a type": lambda column: column.astype(pd.CategoricalDtype(["no", "yes"])),
    "other categories": lambda column: column.astype("category").cat.set_categories(["no", "yes"]),
    "a dictionary": lambda column: column.map({"yes": "yes", "no": "no"}),
}


@pytest.mark.parametrize("way", LOSSES)
def test_pandas_makes_missing_what_is_typed_in_another_way_and_only_a_count_of_the_missing_tells(way):
    """As texts such answers are refused, also where labels for missing and for other ones are declared."""
    survey = Survey({"a": ["no", "yes", "no answer"]}, 1.0, missing="no answer", other="no answer")
    with warnings.catch_warnings(action="ignore"):  # pandas 3 warns of two of these ways
        lost = pd.Series(LOSSES[way](TYPED))
    assert lost.isna().sum() - TYPED.isna().sum() == 4
    assert np.bincount(survey.encode(pd.DataFrame({"a": lost})).ravel()).tolist() == [1, 1, 4]
    with pytest.raises(ValueError, match="It reads like"):
        survey.encode(pd.DataFrame({"a": TYPED}))

"""A survey goes from labels to reports and back, loses nothing, and refuses what it does not know."""

import numpy as np
import pandas as pd
import pytest

from ldp_lib import check, reports
from ldp_lib.fake_data import RSFD
from ldp_lib.grr import GRR
from ldp_lib.sampled import OneQuestion
from ldp_lib.splitting import SPL
from ldp_lib.survey import Survey
from ldp_lib.two_phase import TwoPhaseRSRFD

DOMAIN = {"smoker": ["no", "yes"], "region": ["north", "east", "south", "west"], "children": [0, 1, 2]}


def people(n=300):
    rng = np.random.default_rng(1)
    columns = {
        name: np.array(labels, dtype=object)[rng.integers(len(labels), size=n)] for name, labels in DOMAIN.items()
    }
    return pd.DataFrame(columns, index=rng.permutation(n) + 1000)


def test_labels_survive_encoding_and_decoding_in_the_frames_order():
    survey, frame = Survey(DOMAIN, epsilon=1.0), people()
    again = survey.decode(survey.encode(frame)).set_index(frame.index)
    assert again.astype(object).equals(frame.astype(object))


@pytest.mark.parametrize(
    "convert",
    [
        lambda column: column.astype("category"),
        lambda column: pd.Categorical(column, categories=sorted(set(column), reverse=True), ordered=True),
        lambda column: column.astype("string") if isinstance(column.iloc[0], str) else column.astype("Int64"),
    ],
    ids=["categorical", "ordered", "nullable"],
)
def test_every_type_of_column_is_encoded_alike(convert):
    survey, frame = Survey(DOMAIN, epsilon=1.0), people()
    other = frame.assign(**{name: convert(frame[name]) for name in frame})
    assert np.array_equal(survey.encode(other), survey.encode(frame))


@pytest.mark.parametrize("make", [OneQuestion, SPL, RSFD])
def test_reports_are_those_of_the_mechanism_and_so_is_the_estimate(make):
    mechanism, frame = make(k=(2, 4, 3), epsilon=2.0), people()
    survey = Survey(DOMAIN, 2.0, mechanism=mechanism)
    collected = survey.collect(frame, rng=np.random.default_rng(2))
    raw = mechanism.estimate(mechanism.perturb(survey.encode(frame), rng=np.random.default_rng(2)))
    result = survey.estimate(collected)
    assert collected.index.equals(frame.index)
    assert np.array_equal(result["estimate"], np.concatenate(raw))
    assert list(result["value"]) == [label for labels in DOMAIN.values() for label in labels]
    assert list(result["attribute"].unique()) == list(DOMAIN)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize("make", [OneQuestion, SPL, RSFD])
def test_reports_survive_a_file(make, suffix, tmp_path):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    survey = Survey(DOMAIN, 2.0, mechanism=make(k=(2, 4, 3), epsilon=2.0))
    collected = survey.collect(people(), rng=np.random.default_rng(2))
    reports.write(collected, tmp_path / f"reports{suffix}")
    again = reports.read(tmp_path / f"reports{suffix}")
    assert again.index.equals(collected.index)
    assert survey.estimate(again).equals(survey.estimate(collected))


def test_the_intervals_cover_as_often_as_they_say():
    survey, frame = Survey(DOMAIN, epsilon=2.0), people(2_000)
    x, mechanism = survey.encode(frame), survey.mechanism
    truth = np.concatenate([np.bincount(x[:, j], minlength=k) / len(x) for j, k in enumerate(survey.k)])
    hits = []
    for seed in range(200):
        result = survey.estimate(survey.collect(frame, rng=np.random.default_rng(seed)), confidence=0.8)
        hits.append((result["low"] <= truth) & (truth <= result["high"]))
    assert mechanism.epsilon == 2.0
    assert check.mean_z(np.mean(hits, axis=1), 0.8) < 5 < check.mean_z(np.mean(hits, axis=1), 0.7)


def test_a_projected_estimate_is_a_probability_vector():
    survey = Survey(DOMAIN, epsilon=0.2)
    collected = survey.collect(people(), rng=np.random.default_rng(3))
    raw, projected = survey.estimate(collected), survey.estimate(collected, projected=True)
    assert raw["estimate"].min() < 0 <= projected["estimate"].min()
    assert np.allclose(projected.groupby("attribute")["estimate"].sum(), 1)
    assert raw["standard_error"].equals(projected["standard_error"])


def test_one_attribute_works_with_a_mechanism_for_one():
    survey = Survey({"smoker": ["no", "yes"]}, 1.0, mechanism=GRR(k=2, epsilon=1.0))
    assert len(survey.estimate(survey.collect(people(), rng=np.random.default_rng(1)))) == 2


def test_a_domain_is_taken_from_categories_and_never_from_values():
    frame = people()
    categories = frame.assign(**{name: pd.Categorical(frame[name], categories=DOMAIN[name]) for name in frame})
    assert Survey.from_frame(categories, epsilon=1.0).domain == {name: tuple(v) for name, v in DOMAIN.items()}
    with pytest.raises(TypeError, match=r"categorical columns only; 'smoker' is \w+\..*declare them, as in Survey"):
        Survey.from_frame(frame, epsilon=1.0)


def test_unknown_and_missing_values_are_named_or_declared():
    survey, frame = Survey(DOMAIN, epsilon=1.0), people()
    odd = frame.copy()
    odd.iloc[7, 1] = "up"
    with pytest.raises(ValueError, match=rf"column 'region'; got 'up' in row {frame.index[7]}\..*other="):
        survey.encode(odd)
    odd.iloc[7, 1] = None
    with pytest.raises(ValueError, match=rf"column 'region'; got a missing value in row {frame.index[7]}\..*missing="):
        survey.encode(odd)
    wide = {**DOMAIN, "region": [*DOMAIN["region"], "unknown"]}
    for role, value in (("missing", None), ("other", "up")):
        odd.iloc[7, 1] = value
        assert Survey(wide, 1.0, **{role: "unknown"}).encode(odd)[7, 1] == 4
    odd.iloc[7, 1], odd.iloc[7, 2] = "north", None
    with pytest.raises(ValueError, match="column 'children'; got a missing value"):
        Survey(wide, 1.0, missing="unknown").encode(odd)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (({}, 1.0), TypeError, "domain must map at least one attribute"),
        (({"a": "no"}, 1.0), ValueError, "at least two different labels for 'a'; got 'no'"),
        (({"a": ["x"]}, 1.0), ValueError, "at least two different labels for 'a'"),
        (({"a": ["x", "x"]}, 1.0), ValueError, "at least two different labels for 'a'"),
        (({"a": ["x", None]}, 1.0), ValueError, "missing value for 'a'"),
        (({"a": ["x", "y"]}, 0), ValueError, "epsilon must be"),
        (({"a": ["x", "y"]}, 1.0, GRR(k=3, epsilon=1.0)), ValueError, r"domain sizes \(2,\) of the survey; got 3"),
        (({"a": ["x", "y"]}, 1.0, GRR(k=2, epsilon=2.0)), ValueError, r"at most epsilon = 1\.0; got 2\.0"),
        (({"a": [0, 1], "b": [0, 1]}, 1.0, TwoPhaseRSRFD(k=(2, 2), epsilon=1.0, n1=3)), ValueError, "one row a user"),
    ],
    ids=str,
)
def test_an_unfit_survey_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        Survey(*arguments)


def test_unfit_frames_and_reports_are_refused():
    survey = Survey(DOMAIN, epsilon=1.0)
    with pytest.raises(ValueError, match="frame must have one column 'region'"):
        survey.encode(people().drop(columns="region"))
    collected = survey.collect(people(), rng=np.random.default_rng(1))
    with pytest.raises(ValueError, match="reports must have the columns"):
        survey.estimate(collected.iloc[:, 1:])
    with pytest.raises(TypeError, match="reports must hold integers"):
        survey.estimate(collected.astype(float))
    with pytest.raises(ValueError, match="reports must be from 0 to 255"):
        survey.estimate(collected.astype(int) + 300)
    with pytest.raises(ValueError, match=r"path must end in \.parquet or \.csv"):
        reports.write(collected, "reports.xlsx")


def test_a_plot_has_a_panel_an_attribute():
    survey = Survey(DOMAIN, epsilon=1.0)
    result = survey.estimate(survey.collect(people(), rng=np.random.default_rng(1)))
    figure = survey.plot(result)
    assert [panel.get_title() for panel in figure.axes] == list(DOMAIN)
    for panel, name in zip(figure.axes, DOMAIN, strict=True):
        part = result[result["attribute"] == name].iloc[::-1]
        drawn = np.array([line[:, 0] for line in panel.collections[0].get_segments()])
        assert drawn == pytest.approx(part[["low", "high"]].to_numpy())
        assert [bar.get_width() for bar in panel.patches] == pytest.approx(list(part["estimate"]))

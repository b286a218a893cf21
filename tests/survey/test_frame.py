"""A survey goes from labels to reports and back, loses nothing, and refuses what it does not know."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from test_protocol import MECHANISMS

from ldp_lib import check
from ldp_lib.fake_data import RSFD
from ldp_lib.fake_data.two_phase import TwoPhaseRSRFD
from ldp_lib.grr import GRR
from ldp_lib.hashing import OLH
from ldp_lib.sampled import OneQuestion
from ldp_lib.splitting import SPL
from ldp_lib.survey import _files as files
from ldp_lib.survey import planner
from ldp_lib.survey.frame import Survey

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
    collected = survey.collect(frame, rng=np.random.default_rng(2), shuffle=False)
    raw = mechanism.estimate(mechanism.perturb(survey.encode(frame), rng=np.random.default_rng(2)))
    result = survey.estimate(collected)
    assert collected.index.equals(pd.RangeIndex(len(frame)))
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
    files.write(collected, tmp_path / f"reports{suffix}")
    again = files.read(tmp_path / f"reports{suffix}")
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
    result = survey.estimate(survey.collect(people(), rng=np.random.default_rng(1)))
    assert result["value"].tolist() == ["no", "yes"]


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


def test_a_label_that_another_attribute_has_is_to_be_declared_here_too():
    """An index with equal or missing entries tells no row, so its place is told."""
    survey = Survey({"a": ["x", "y", "none"], "b": ["x", "y"]}, 1.0, missing="none")
    frame = pd.DataFrame({"a": ["x"] * 4, "b": ["x", "x", None, "y"]}, index=[7, 7, np.nan, np.nan])
    told = r"column 'b'; got a missing value in row 2 \(its place, from 0\)\. Recode it, or declare a label here"
    with pytest.raises(ValueError, match=told):
        survey.encode(frame)
    with pytest.raises(ValueError, match=r"in row 'c'\. Recode it, or declare a label here \(missing='none'"):
        survey.encode(frame.set_axis(list("abcd")))


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (({}, 1.0), TypeError, "domain must map at least one attribute"),
        (({"a": "no"}, 1.0), TypeError, "at least two different labels for 'a', in order; got 'no'"),
        (({"a": ["x"]}, 1.0), ValueError, "at least two different labels for 'a'"),
        (({"a": ["x", "x"]}, 1.0), ValueError, "at least two different labels for 'a'"),
        (({"a": ["x", None]}, 1.0), ValueError, "for 'a' that differ in print, and none for missing values"),
        (({"a": ["x", "y"]}, 0), ValueError, "epsilon must be"),
        (({"a": ["x", "y"]}, 1.0, GRR(k=3, epsilon=1.0)), ValueError, r"domain sizes \(2,\) of the survey; got 3"),
        (({"a": ["x", "y"]}, 1.0, GRR(k=2, epsilon=2.0)), ValueError, r"have the survey's epsilon = 1\.0; got 2\.0"),
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
    with pytest.raises(ValueError, match=r"reports must have the columns .* lacking or in excess: \['report_asked'\]"):
        survey.estimate(collected.iloc[:, 1:])
    with pytest.raises(TypeError, match="reports must hold integers"):
        survey.estimate(collected.astype(float))
    with pytest.raises(ValueError, match="reports must be from 0 to 255"):
        survey.estimate(collected.astype(int) + 300)
    with pytest.raises(ValueError, match=r"path must end in \.parquet, \.pq or \.csv"):
        files.write(collected, "reports.xlsx")


def is_flat(mechanism):
    """Return whether the mechanism's reports are one row a user."""
    try:
        return bool(files.columns(mechanism))
    except ValueError:
        return False


@pytest.mark.parametrize("mechanism", [m for m in MECHANISMS if is_flat(m)], ids=repr)
def test_every_report_survives_a_table(mechanism):
    several = isinstance(mechanism.k, tuple)
    x = np.zeros((3, len(mechanism.k)) if several else 3, int)
    x[1:] = np.subtract(mechanism.k, 1)
    y = mechanism.perturb(x, rng=np.random.default_rng(1))
    frame = files.to_frame(y).set_axis([7, 5, 6])
    assert frame.index.tolist() == [7, 5, 6]
    assert list(frame.columns) == list(files.columns(mechanism))
    assert {kind.kind for kind in frame.dtypes} <= set("iu")
    again = files.from_frame(frame[frame.columns[::-1]].astype(object).infer_objects(), mechanism)
    assert type(again) is type(y)
    for rows in (slice(None), slice(1), slice(0)):
        parts = again if rows == slice(None) else files.from_frame(frame[rows], mechanism)
        for part, right in zip(*([v] if isinstance(v, np.ndarray) else v for v in (parts, y)), strict=True):
            assert part.dtype == right.dtype
            assert part.tobytes() == right[rows].tobytes()


def test_columns_are_named_by_their_place_and_field():
    assert list(files.columns(GRR(k=3, epsilon=1.0))) == ["report"]
    assert list(files.columns(SPL(k=(2, 3), epsilon=1.0))) == ["report_0", "report_1"]
    assert list(files.columns(OLH(k=3, epsilon=1.0))) == [*(f"report_seed_{i}" for i in range(4)), "report_y"]
    for first in (1, 2, 3):
        with pytest.raises(ValueError, match=r"mechanism must report one row a user; TwoPhaseRSRFD\(.* does not"):
            files.columns(TwoPhaseRSRFD(k=(2, 2), epsilon=1.0, n1=first))


def test_reports_fit_their_type_to_its_ends():
    grr = GRR(k=300, epsilon=1.0)  # reports of two bytes
    for value in (0, 2**16 - 1):
        assert files.from_frame(pd.DataFrame({"report": [value, 1]}), grr).tolist() == [value, 1]
    for wrong in ([-1, 2], [0, 2**16]):
        with pytest.raises(ValueError, match=f"from 0 to 65535 in column 'report'; got {wrong[0]} to {wrong[1]}"):
            files.from_frame(pd.DataFrame({"report": wrong}), grr)
    with pytest.raises(TypeError, match="reports must hold integers in column 'report'; got type bool"):
        files.from_frame(pd.DataFrame({"report": [True]}), grr)
    for frame in (
        pd.DataFrame({"y": [1]}),
        pd.DataFrame({"report": [1], "report_more": [1]}),
        pd.DataFrame({"report_0": [1]}),
    ):
        with pytest.raises(ValueError, match=r"reports must have the columns \['report'\]; of the data frame lacking"):
            files.from_frame(frame, grr)
    for call in (lambda path: files.write(pd.DataFrame(), path), files.read):
        with pytest.raises(ValueError, match=r"path must end in \.parquet, \.pq or \.csv; got 'a\.txt'"):
            call("a.txt")


def test_what_an_estimate_shows_is_the_mechanism_s_and_the_planner_s():
    """With the numbers asked that are counted in place of those planned, which are no whole numbers."""
    survey = Survey(DOMAIN, 1.5, mechanism=OneQuestion(k=(2, 4, 3), epsilon=1.5))
    collected = survey.collect(people(), rng=np.random.default_rng(4))
    raw = survey.mechanism.estimate(files.from_frame(collected, survey.mechanism))
    counted = replace(survey.mechanism, weights=collected["report_asked"].value_counts().sort_index().to_numpy())
    for confidence, z in ((0.95, 1.959963984540054), (0.5, 0.6744897501960817)):
        result = survey.estimate(collected, **({} if confidence == 0.95 else {"confidence": confidence}))
        spread = np.concatenate(planner.standard_errors(counted, raw, 300))
        assert result["estimate"].to_numpy() == pytest.approx(np.concatenate(raw))
        assert result["standard_error"].to_numpy() == pytest.approx(spread)
        assert result["low"].to_numpy() == pytest.approx(np.concatenate(raw) - z * spread)
        assert result["high"].to_numpy() == pytest.approx(np.concatenate(raw) + z * spread)
    assert result["attribute"].tolist() == ["smoker"] * 2 + ["region"] * 4 + ["children"] * 3


@pytest.mark.parametrize("role", ["missing", "other"])
def test_the_first_of_several_odd_rows_is_named(role):
    survey, frame = Survey(DOMAIN, epsilon=1.0), people(5)
    odd = None if role == "missing" else "up"
    frame.iloc[[2, 4], 1] = odd
    told = "a missing value" if role == "missing" else "'up'"
    with pytest.raises(ValueError, match=rf"column 'region'; got {told} in row {frame.index[2]}\..*name it by {role}="):
        survey.encode(frame)
    # Of a missing value and an unknown one the missing one is named first; a label of the one is none for the other.
    wide, frame.iloc[3, 1] = {**DOMAIN, "region": [*DOMAIN["region"], "?"]}, "up" if role == "missing" else None
    with pytest.raises(ValueError, match="name it by") as caught:
        Survey(wide, 1.0, **{role: "?"}).encode(frame)
    assert str(caught.value).endswith("other=" if role == "missing" else "missing=")
    both = Survey(wide, 1.0, missing="?", other="south").encode(frame)[:, 1]
    assert both[[2, 3, 4]].tolist() == ([4, 2, 4] if role == "missing" else [2, 4, 2])
    with pytest.raises(ValueError, match=f"{role} must be a label of the domain; got 'nowhere'"):
        Survey(DOMAIN, 1.0, **{role: "nowhere"})


def test_the_first_column_that_is_not_categorical_is_shown_with_its_type():
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y"]), "b": [1.5, 2.5], "c": [1, 2]})
    told = r"; 'b' is float64\. .*declare them, as in Survey\(\{'b': \[\.\.\.\]\}, epsilon=0\.5\)"
    with pytest.raises(TypeError, match=told):
        Survey.from_frame(frame, epsilon=0.5)
    frame = frame[["a"]].assign(b=pd.Categorical([3, 2], categories=[3, 1, 2]))
    assert Survey.from_frame(frame, epsilon=0.5, other="x").domain == {"a": ("x", "y"), "b": (3, 1, 2)}
    twice = pd.DataFrame([["no", "x", "y"]], columns=["a", "b", "b"])
    with pytest.raises(ValueError, match=r"frame must have one column 'b'; got \['a', 'b', 'b'\]"):
        Survey({"a": ["no", "yes"], "b": ["x", "y"]}, 1.0).encode(twice)


@pytest.mark.parametrize(
    ("domain", "error"),
    [([("a", "xy")], TypeError), ({"a": ["x", float("nan"), "y"]}, ValueError), ({"a": []}, ValueError)],
)
def test_a_domain_lists_labels(domain, error):
    with pytest.raises(error, match="domain must"):
        Survey(domain, 1.0)

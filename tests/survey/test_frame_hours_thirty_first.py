"""A registry's yearly waves: kept columns, thirty questions, counts after every batch, files that other software moved.

Whatever the way from the devices to a table, it tells the same numbers, or an error says what is wrong.
"""

import copy
import datetime
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest

from ldp_lib import Survey, recommend, required_users
from ldp_lib.survey import files
from ldp_lib.survey.aggregate import Counts, aggregate

RNG = np.random.default_rng
DOMAIN = {"smoker": ["no", "yes"], "age": ["1", "2", "3", "4"], "health": ["poor", "fair", "good"]}
SURVEY = Survey(DOMAIN, 2.0, mechanism=recommend(k=(2, 4, 3), epsilon=2.0, n=4_000, wants="tables").mechanism)
YEARS = range(2021, 2025)


def wave(seed, n=2_000, years=lambda drawn: drawn):
    rng = RNG(seed)
    people = pd.DataFrame({name: rng.choice(labels, n) for name, labels in DOMAIN.items()})
    people = people.assign(region=rng.choice(["Nord", "Süd"], n), weight=rng.choice([1.0, 2.5, 7.25], n))
    people["wave"] = years(rng.choice(YEARS, n))
    return [SURVEY.collect(people.iloc[i::4], rng=rng, weights="weight", keep=["region", "wave"]) for i in range(4)]


def told(reports, **options):
    return SURVEY.estimate(reports, **options).drop(columns=["attribute", "value"]).to_numpy()


KINDS = {
    "short": lambda drawn: drawn.astype("int16"),
    "text": lambda drawn: drawn.astype(str),
    "period": lambda drawn: pd.PeriodIndex(drawn.astype(str), freq="Y"),
    "Int64": lambda drawn: pd.array(drawn, dtype="Int64"),
    "gaps": lambda drawn: np.where(drawn == 2021, np.nan, drawn),
    "zone": lambda drawn: pd.to_datetime(drawn.astype(str)).tz_localize("Europe/Berlin"),
    "ordered": lambda drawn: pd.Categorical(drawn.astype(str), ordered=True),
    "date": lambda drawn: [datetime.date(year, 1, 1) for year in drawn],
    "interval": lambda drawn: pd.cut(drawn, [2020, 2022, 2025]),
    "mixed": lambda drawn: [int(year) if year % 2 else str(year) for year in drawn],
}
REFUSED = {"parquet": {"interval", "mixed"}, "csv": {"zone", "ordered", "date", "interval", "mixed"}}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("ending", REFUSED)
def test_years_of_any_type_pick_the_same_people_from_a_file_or_are_refused(kind, ending, tmp_path):
    reports, path = wave(1, 200, KINDS[kind])[0], tmp_path / f"wave.{ending}"
    if kind in REFUSED[ending]:
        with pytest.raises(ValueError, match="frame must have columns that"):
            files.write(reports, path)
        assert not path.exists()
        return
    files.write(reports, path)
    own, other = ({key: told(part) for key, part in one.groupby("wave")} for one in (reports, files.read(path)))
    assert own.keys() == other.keys()
    assert len(own) >= 3
    assert all(np.array_equal(own[key], other[key]) for key in own)


def test_interim_counts_of_every_machine_add_up_to_the_rows_and_no_batch_twice(tmp_path):
    batches, total = wave(2), None
    for i, batch in enumerate(batches):
        files.write(batch, tmp_path / f"{i}.parquet")
        aggregate(tmp_path / f"{i}.parquet", SURVEY.mechanism).save(tmp_path / f"{i}.json")
        counts = Counts.load(tmp_path / f"{i}.json", SURVEY.mechanism)
        total = counts if total is None else total + counts
        np.testing.assert_array_equal(told(total), told(batches[: i + 1]))
        np.testing.assert_array_equal(told(pickle.loads(pickle.dumps(total))), told(copy.deepcopy(total)))
    for again in (Counts.load(tmp_path / "0.json", SURVEY.mechanism), aggregate(batches[0], SURVEY.mechanism)):
        with pytest.raises(ValueError, match="is in both"):
            total + again
        with pytest.raises(ValueError, match="is in both"):
            SURVEY.difference(total, again)


def test_folders_by_wave_that_pandas_made_tell_shares_weights_and_differences_of_the_waves(tmp_path):
    reports = pd.concat(wave(3), ignore_index=True)
    reports.to_parquet(tmp_path, partition_cols=["wave"])
    for options in ({}, {"weights": "weight"}, {"weights": "weight", "sampling": "with replacement"}):
        np.testing.assert_allclose(told(tmp_path, **options), told(reports, **options), atol=1e-12)
    for one, other in itertools.combinations(YEARS, 2):
        apart = SURVEY.difference(*(tmp_path / f"wave={year}" for year in (one, other)), simultaneous=True)
        own = SURVEY.difference(*(reports[reports["wave"] == year] for year in (one, other)), simultaneous=True)
        pd.testing.assert_frame_equal(apart, own)


def test_a_wave_with_one_label_more_is_another_survey_for_shares_differences_and_counts():
    old, domain = wave(4, 400), DOMAIN | {"smoker": ["no", "yes", "former"]}
    more = Survey(domain, 2.0, mechanism=recommend(k=(3, 4, 3), epsilon=2.0, n=4_000, wants="tables").mechanism)
    people = pd.DataFrame({name: labels[:1] * 400 for name, labels in DOMAIN.items()})
    new = more.collect(people, rng=RNG(5))
    for act in (SURVEY.estimate, more.estimate, lambda both: SURVEY.difference(*both)):
        with pytest.raises(ValueError, match="reports must be of a survey whose labels of 'smoker'"):
            act([old[0], new])
    turned = Survey(DOMAIN | {"smoker": ["yes", "no"]}, 2.0, mechanism=SURVEY.mechanism)
    for reports in (old[0], aggregate(old, SURVEY.mechanism)):
        with pytest.raises(ValueError, match="of another"):
            turned.mark(reports)


@pytest.mark.parametrize(
    "change",
    [
        lambda w: w / w.mean(),
        lambda w: w.where(w.index > 3),
        lambda w: w.where(w.index > 3, np.inf),
        lambda w: w.astype(str),
        lambda w: w.astype(str).str.replace(".", ","),
    ],
    ids=["mean 1", "missing", "infinite", "text", "comma"],
)
def test_weights_that_a_register_changed_are_refused_for_shares_and_differences(change):
    batches = wave(6, 400)
    batches[0]["weight"] = change(batches[0]["weight"])
    for act in (SURVEY.estimate, lambda one, **how: SURVEY.difference(one, batches[1], **how)):
        with pytest.raises(ValueError, match="weights must be"):
            act(batches[0], weights="weight")


def test_thirty_questions_of_many_labels_keep_the_margin_that_was_planned_in_every_wave():
    """Whatever people hold: here all hold the first label, or the labels are even, of 2 to 40 labels."""
    k = [2, 3, 4, 5, 8, 12, 40] * 4 + [2, 6]
    domain = {f"q{i}": [f"a{j}" for j in range(size)] for i, size in enumerate(k)}
    survey, rng = Survey(domain, 1.0), RNG(7)
    n = required_users(survey.mechanism, 0.2)
    for even in (False, True):
        people = pd.DataFrame({name: rng.choice(labels[: None if even else 1], n) for name, labels in domain.items()})
        shares = survey.estimate(survey.collect(people, rng=rng))
        half = (shares["high"] - shares["low"]) / 2
        asked = n * min(survey.mechanism.weights_) / sum(survey.mechanism.weights_)
        assert 0.15 < half.max() < 0.2 * (1 + 1 / asked)
        truth = np.concatenate([people[name].value_counts().reindex(domain[name], fill_value=0) / n for name in domain])
        assert abs((shares["estimate"] - truth) / shares["standard_error"]).max() < 4.5

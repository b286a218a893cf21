"""Attempts of an hour on the ways of data: what came out right, or was refused, stays so."""

import warnings

import numpy as np
import pandas as pd
import pytest

from ldp_lib import AskSome, OneQuestion, RRIndependent, Survey
from ldp_lib.survey import files

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


BANDS = {
    "digitize": lambda age: np.array(["young", "old"])[np.digitize(age, [60])],
    "where": lambda age: np.where(age < 60, "young", "old"),
    "cut": lambda age: pd.cut(age, [-np.inf, 60, np.inf], labels=["young", "old"]),
}


@pytest.mark.parametrize("way", BANDS)
def test_numpy_puts_a_missing_number_in_the_last_band_and_pandas_does_not(way):
    survey = Survey({"age": ["young", "old", "no answer"]}, 1.0, missing="no answer")
    x = survey.encode(pd.DataFrame({"age": BANDS[way](np.array([20.0, np.nan, 70.0]))}))
    assert x.ravel().tolist() == [0, 2 if way == "cut" else 1, 1]


def two(answers):
    """Two questions, to which all give the same answer, and their survey."""
    answers = np.where(answers, "yes", "no")
    return pd.DataFrame({"a": answers, "b": answers}), Survey({"a": ["no", "yes"], "b": ["no", "yes"]}, 2.0)


def shares_off(people, survey, rng):
    """How many standard errors the share of yes is off, of both questions."""
    found, true = survey.estimate(survey.collect(people, rng=rng)), (people["a"] == "yes").mean()
    found = found[found["value"] == "yes"]
    return ((found["estimate"] - true) / found["standard_error"]).to_numpy()


def test_the_seed_that_drew_the_order_of_people_bends_shares_and_one_generator_for_both_does_not():
    """The groups that are asked a question are drawn as the order was: the first question is asked of the old."""
    people, survey = two(np.arange(2_000) < 800)
    rng, again = np.random.default_rng(42), np.random.default_rng(42)
    ordered = people.iloc[rng.permutation(len(people))]
    assert (abs(shares_off(ordered, survey, again)) > 20).all()
    assert (abs(shares_off(ordered, survey, rng)) < 4).all()


def test_the_seed_that_drew_made_up_answers_bends_shares_where_each_draws_a_question_alone():
    rng, again = np.random.default_rng(42), np.random.default_rng(42)
    people, survey = two(rng.random(5_000) < 0.3)
    domain, uneven = survey.domain | {"b": ["no", "yes", "maybe"]}, OneQuestion(k=(2, 3), epsilon=2.0, groups=False)
    survey = Survey(domain, 2.0, uneven)
    assert abs(shares_off(people, survey, again)[0]) > 20
    assert (abs(shares_off(people, survey, rng)) < 4).all()


@pytest.mark.parametrize("nothing", ["#NULL!", "(null)", "--", "\u2013\u2013", " . ", "#N/A", "\\N", "-1.#IND"])
def test_what_statistics_software_writes_for_nothing_is_not_put_to_other(nothing):
    survey = Survey({"a": ["tea", "coffee", "other"]}, 1.0, other="other")
    assert survey.encode(pd.DataFrame({"a": ["tea", "water"]})).ravel().tolist() == [0, 2]
    with pytest.raises(ValueError, match="It reads like a missing value"):
        survey.encode(pd.DataFrame({"a": ["tea", nothing]}))


def interview(rng, n):
    """People as a frame of an order, a band of numbers with gaps and nullable numbers; and as numbers of labels."""
    x = np.column_stack([rng.integers(0, k, n) for k in (4, 4, 3)])
    age, health = np.array([20.0, 45.5, 80.0, np.nan])[x[:, 1]], np.where(x[:, 0] < 3, x[:, 0], -1)
    people = pd.DataFrame(
        {
            "health": pd.Categorical.from_codes(health, ["poor", "fair", "good"], ordered=True),
            "age": pd.cut(age, [-np.inf, 29, 59, np.inf], labels=["<30", "30-59", "60+"]),
            "children": pd.Series(x[:, 2], dtype="Int8").mask(x[:, 2] == 2),
        },
        index=rng.permutation(n),
    )
    domain = {"health": ["poor", "fair", "good", "n.a."], "age": ["<30", "30-59", "60+", "n.a."]}
    return people, domain | {"children": [0, 1, "n.a."]}, x


SPLITS = {
    "every fifth": lambda people: [people.iloc[i::5] for i in range(5)],
    "sorted": lambda people: [people.sort_values("age").iloc[i : i + 100] for i in range(0, 500, 100)],
    "by an answer": lambda people: [part for _, part in people.groupby("age", dropna=False, observed=True)],
    "columns turned": lambda people: [people.iloc[i::5, ::-1].convert_dtypes() for i in range(5)],
}


@pytest.mark.parametrize(("asks", "split"), [*zip(["two", "all"] * 2, SPLITS, strict=True)])
def test_batches_on_disk_tell_the_table_of_their_people(asks, split, tmp_path):
    """Nobody lies: all are asked, or margins are of those asked a question, and dependence of those asked both."""
    rng, k = np.random.default_rng(10), (4, 4, 3)
    people, domain, x = interview(rng, 500)
    whole = RRIndependent(k=k, epsilon=160.0) if asks == "all" else AskSome(k=k, epsilon=160.0, m=2)
    survey = Survey(domain, 160.0, whole, missing="n.a.")
    people = people.assign(number=np.arange(500))
    for i, part in enumerate(SPLITS[split](people)):
        reports = survey.collect(part, rng=rng, keep=["number"])
        files.write(reports, tmp_path / f"{i}.{('csv', 'parquet')[i % 2]}")
    kept = pd.concat([files.read(path) for path in sorted(tmp_path.iterdir()) if path.suffix != ".json"])
    asked = [np.full(500, True)] * 2
    if asks == "two":  # of questions 0 and 1, 0 and 2, 1 and 2
        asked = [np.isin(kept["report_asked"], some) for some in ([0, 2], [0, 1])]
    age, health = (x[kept["number"], j] for j in (1, 0))
    pair = np.zeros((4, 4))
    np.add.at(pair, (age[asked[0] & asked[1]], health[asked[0] & asked[1]]), 1 / (asked[0] & asked[1]).sum())
    rows, columns = (np.bincount(a[on], minlength=4) / on.sum() for a, on in zip((age, health), asked, strict=True))
    pair += ((rows - pair.sum(1))[:, None] + columns - pair.sum(0)) / 4
    found = survey.table("age", "health", tmp_path)
    told = [found.loc[(a, h), "estimate"] for a in domain["age"] for h in domain["health"]]
    assert told == pytest.approx(pair.ravel().tolist(), abs=1e-9)
    assert found["estimate"].unstack().index.tolist() == domain["age"]

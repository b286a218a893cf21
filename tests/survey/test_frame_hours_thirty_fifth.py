"""A questionnaire of items from 1 to 5: files of statistics software, scores by contributions, groups, effect sizes.

Each way to a number tells what the people's own answers say, or an error says what is wrong.
"""

import io

import numpy as np
import pandas as pd
import pytest

from ldp_lib import Survey, recommend

RNG = np.random.default_rng
ITEMS, POINTS = ["q1", "q2", "q3", "q4"], [1, 2, 3, 4, 5]
K = (6,) * 4
DOMAIN = {item: [*POINTS, "no answer"] for item in ITEMS}
SURVEY = Survey(DOMAIN, 4.0, mechanism=recommend(k=K, epsilon=4.0, n=300).mechanism, missing="no answer")
COLUMNS, SCORES = [f"{item}={point}" for item in ITEMS for point in POINTS], np.tile(POINTS, 4)
WORDS = ["strongly disagree", "disagree", "neither", "agree", "strongly agree"]


def people(rng, n=300, lost=0.1, apart=0.0):
    group = rng.permutation(np.arange(n) % 2)
    depth = 0.7 * (rng.standard_normal(n) + apart * group)[:, None] + 0.7 * rng.standard_normal((n, 4))
    answers = pd.DataFrame(1.0 + np.digitize(depth, [-1.5, -0.5, 0.5, 1.5]), columns=ITEMS)
    return answers.mask(rng.random((n, 4)) < lost).assign(group=np.where(group == 1, "taught", "not"))


PEOPLE = people(RNG(1))
REPORTS = SURVEY.collect(PEOPLE, rng=RNG(2), keep=["group"])


def stata(frame, **options):
    frame.to_stata(file := io.BytesIO(), write_index=False, **options)
    return pd.read_stata(io.BytesIO(file.getvalue()))


def text(frame, **options):
    return pd.read_csv(io.StringIO(frame.to_csv(**options)), sep=options.get("sep", ","))


WAYS = {
    "Stata": stata,
    "index": text,
    "semicolon": lambda y: text(y, sep=";"),
    "sort": lambda y: y.sort_values("group"),
}


@pytest.mark.parametrize("way", WAYS)
def test_reports_by_other_software_tell_the_same_of_all_and_of_a_group(way):
    moved = SURVEY.mark(WAYS[way](REPORTS))
    for one, other in ((REPORTS, moved), (REPORTS[REPORTS.group == "not"], moved[moved.group == "not"])):
        assert SURVEY.estimate(one)["estimate"].to_numpy() == pytest.approx(SURVEY.estimate(other)["estimate"])


TYPES = ["float32", "Int8", "Float64", "object", "category", "int64[pyarrow]"]


@pytest.mark.parametrize("kind", TYPES)
def test_items_of_every_type_of_number_are_the_same_labels(kind):
    assert (SURVEY.encode(PEOPLE.astype(dict.fromkeys(ITEMS, kind))) == SURVEY.encode(PEOPLE)).all()


def test_labels_of_values_are_the_answers_and_labels_of_the_ends_alone_are_an_error():
    codes = PEOPLE[["q1"]].dropna().astype("int8")
    whole = stata(codes, value_labels={"q1": dict(zip(POINTS, WORDS, strict=True))})
    ends = stata(codes, value_labels={"q1": {1: WORDS[0], 5: WORDS[4]}})
    assert (Survey({"q1": WORDS}, 1.0).encode(whole)[:, 0] == codes["q1"].to_numpy() - 1).all()
    with pytest.raises(ValueError, match="must hold one of the labels"):
        Survey({"q1": POINTS}, 1.0).encode(ends)


def test_a_reversed_scale_keeps_what_is_missing_and_refuses_codes_of_it():
    back = SURVEY.encode(6 - PEOPLE[ITEMS])
    assert (np.where(back < 5, 4 - back, 5) == SURVEY.encode(PEOPLE)).all()
    for code in (9, 0, -9):
        with pytest.raises(ValueError, match="must hold one of the labels"):
            SURVEY.encode(6 - PEOPLE[ITEMS].fillna(code))


def test_sums_over_columns_pass_over_a_missing_answer_and_nothing_is_missing_after():
    """Scores made before banding: with one answer in ten lost, far more people are low than without."""
    whole, lost = people(RNG(3), 4_000, 0.0)[ITEMS], people(RNG(3), 4_000, 0.1)[ITEMS]
    assert lost.sum(axis=1).notna().all()
    assert not lost[lost.isna().all(axis=1)].any(axis=1).any()
    low = [(frame.sum(axis=1) < 10).mean() for frame in (whole, lost)]
    assert low[1] > 1.4 * low[0]


def told(rng, apart=0.0, lost=0.1):
    """Return a score's group difference, its error, its standardised value, and that of the answers themselves."""
    frame = people(rng, lost=lost, apart=apart)
    each = SURVEY.contributions(SURVEY.collect(frame, rng=rng, keep=["group"]))
    sums, answered = each[COLUMNS] @ SCORES, each[COLUMNS].sum(axis=1)
    parts = []
    for group in ("taught", "not"):
        s, a = sums[each.group == group], answered[each.group == group]
        parts.append((s.mean() / a.mean(), (s - s.mean() / a.mean() * a).sem() / a.mean(), s.var() / 16))
    (one, err, var), (other, err2, var2) = parts
    true = frame[ITEMS].mean(axis=1).groupby(frame["group"]).agg(["mean", "var"])
    real = (true.loc["taught", "mean"] - true.loc["not", "mean"]) / np.sqrt(true["var"].mean())
    return one - other, np.hypot(err, err2), (one - other) / np.sqrt((var + var2) / 2), real


def test_a_difference_of_scores_of_those_who_answered_keeps_to_its_level():
    rng = RNG(4)
    far = [abs(apart) > 1.96 * error for apart, error, *_ in (told(rng) for _ in range(100))]
    assert abs(np.mean(far) - 0.05) < 4 * np.sqrt(0.05 * 0.95 / 100)


def test_a_standardised_difference_by_contributions_is_too_near_0():
    rng = RNG(5)
    _, _, by_columns, real = np.mean([told(rng, apart=0.6, lost=0.0) for _ in range(60)], axis=0)
    assert 0.4 < real < 0.8
    assert 0 < by_columns < 0.75 * real

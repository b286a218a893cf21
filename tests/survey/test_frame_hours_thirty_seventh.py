"""A time-use survey of twelve waves: rotating panels, calibrated weights, three questions together, odd labels."""

import copy
import itertools
import pickle

import numpy as np
import pandas as pd
import pytest

from ldp_lib import AskSome, OneQuestion, Survey, aggregate, recommend, required_users
from ldp_lib.survey import files
from ldp_lib.survey.aggregate import Counts
from ldp_lib.tables._asked import are_asked

RNG = np.random.default_rng
DAY = {"work": ["no", "yes"], "region": list("abcd"), "age": list("uvw"), "sex": ["f", "m"]}
SIZES = (2, 4, 3, 2)


# Three questions together.


def test_weights_that_are_best_for_shares_leave_three_questions_out_and_equal_ones_tell_of_them():
    """So `query` told of as many questions as a person is asked only if these are asked together."""
    best, even = (AskSome(k=SIZES, epsilon=1.0, m=3, weights=weights) for weights in (None, [1] * 4))
    assert (best.joint, *best.weights_[1:3]) == (3, 0, 0)
    survey, wanted = Survey(DAY, 1.0, best), {"work": "yes", "age": ["u", "v"], "sex": "f"}
    x = RNG(1).integers(0, SIZES, (4_000, 4))
    reports = survey.collect(survey.decode(x), rng=RNG(2))
    acts = (
        lambda: survey.query(wanted, reports),
        lambda: survey.query({"work": "yes"}, reports, given={"age": "u", "sex": "f"}),
        lambda: survey.table("work", "sex", reports),
        lambda: required_users(best, 0.05, wants="tables"),
    )
    for act in acts:
        with pytest.raises(ValueError, match=r"at most m = 3 of them; got .* of a question of weight 0"):
            act()
    survey = Survey(DAY, 1.0, even)
    told = survey.query(wanted, survey.collect(survey.decode(x), rng=RNG(3)))
    truth = ((x[:, 0] == 1) & (x[:, 2] < 2) & (x[:, 3] == 0)).mean()
    assert abs(told.estimate - truth) < 4 * told.standard_error < 0.4


def test_who_is_asked_one_question_is_told_to_give_weights_that_ask_all_three():
    survey = Survey(DAY, 1.0)
    reports = survey.collect(survey.decode(RNG(4).integers(0, SIZES, (50, 4))), rng=RNG(5))
    with pytest.raises(TypeError, match=r"take AskSome\(m=\) with weights above 0, for two recommend"):
        survey.query({"work": "yes", "age": "u", "sex": "f"}, reports)


def test_a_mechanism_for_tables_asks_every_pair_and_not_every_three():
    mechanism = recommend(k=(2, 2, 3, 5, 7, 2), epsilon=4.0, n=5_000, wants="tables").mechanism
    left_out = [[q for q in itertools.combinations(range(6), m) if not are_asked(mechanism, q)] for m in (2, 3)]
    assert mechanism.joint == 3
    assert [len(left) > 0 for left in left_out] == [False, True]


# Panels: the people asked, held fixed.


@pytest.mark.parametrize(
    "mechanism", [OneQuestion(k=(2, 4), epsilon=4.0), OneQuestion(k=(2, 4), epsilon=4.0, groups=False)]
)
def test_waves_that_share_half_their_people_differ_and_add_up_with_the_errors_that_are_told(mechanism):
    rng, apart, pooled = RNG(6), [], []
    survey = Survey({"work": ["no", "yes"], "region": list("abcd")}, 4.0, mechanism)
    first = np.column_stack([rng.random(600) < 0.3, rng.choice(4, 600, p=[0.4, 0.3, 0.2, 0.1])]).astype(int)
    later = np.where(rng.random((600, 2)) < 0.3, rng.integers(0, (2, 4), (600, 2)), first)
    x = first[:400], later[200:]
    truth = [np.concatenate([np.bincount(part[:, j], minlength=k) / 400 for j, k in enumerate((2, 4))]) for part in x]
    for _ in range(60):
        waves = [aggregate(mechanism.perturb(part, rng=rng), mechanism) for part in x]
        one, other = map(survey.mark, waves)
        for told, right, found in (
            (survey.difference(one, other), truth[0] - truth[1], apart),
            (survey.estimate(one + other), (truth[0] + truth[1]) / 2, pooled),
        ):
            found.append((told["estimate"] - right) / told["standard_error"])
    for z in map(np.array, (apart, pooled)):
        assert z.std() == pytest.approx(1, abs=5 / (2 * z.size / 2) ** 0.5)  # shares of one question go together
        assert (abs(z) < 1.96).mean() > 0.95 - 4 * (0.95 * 0.05 / (z.size / 2)) ** 0.5


def test_a_mean_of_waves_of_the_same_people_has_the_root_of_squares_for_them_and_not_for_many_more():
    mechanism, rng, apart = OneQuestion(k=(2, 3), epsilon=6.0), RNG(12), {False: [], True: []}
    survey = Survey({"work": ["no", "yes"], "age": list("uvw")}, 6.0, mechanism)
    for _ in range(60):
        x = np.column_stack([rng.random(300) < 0.4, rng.integers(0, 3, 300)]).astype(int)
        waves = [survey.mark(aggregate(mechanism.perturb(x, rng=rng), mechanism)) for _ in range(4)]
        for sampling, truth in ((False, x[:, 0].mean()), (True, 0.4)):
            told = [survey.estimate(wave, sampling=sampling).loc[1] for wave in waves]
            error = sum(one["standard_error"] ** 2 for one in told) ** 0.5 / 4
            apart[sampling].append((np.mean([one["estimate"] for one in told]) - truth) / error)
    assert np.std(apart[False]) == pytest.approx(1, abs=4 / 120**0.5)
    assert np.std(apart[True]) > 1 + 3 / 120**0.5


# Weights that were calibrated.


@pytest.mark.parametrize("least", [0.0, 0.97, -3.0, np.nan])
def test_calibrated_weights_below_1_are_refused_and_told_after_they_were_left_out(least):
    survey, rng = Survey({"work": ["no", "yes"]}, 2.0), RNG(7)
    w = np.append(np.exp(rng.uniform(0, np.log(300), 499)), least)
    frame = pd.DataFrame({"work": rng.choice(["no", "yes"], 500), "w": w})
    with pytest.raises(ValueError, match="weights must be 500 numbers from 1 on"):
        survey.collect(frame, rng=RNG(8), weights="w")
    kept = survey.collect(frame, rng=RNG(8), keep=["w"])
    with pytest.raises(ValueError, match="weights must be 500 numbers from 1 on"):
        survey.estimate(kept, weights="w")
    some = kept[kept["w"] >= 1]
    z = survey.contributions(some)["work=yes"]
    assert survey.estimate(some, weights="w")["estimate"][1] == pytest.approx(np.average(z, weights=some["w"]))


# Labels.

ODD = [
    "сон",
    "👩‍🦰",
    "a,b",
    'q"t',
    "007",
    "7",
    "NA",
    "null",
    "None",
    "True",
    "x\ny",
    "z\r\nz",
    "long " * 2_000,
    "'",
    "\tab x",
]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_answers_and_regions_of_any_text_are_the_same_in_files_copies_and_pickles(tmp_path, ending):
    rng, n = RNG(9), 400
    survey = Survey({"act": ODD, "мин": ["0", "1-29", "30+", "нет ответа"]}, 3.0, missing="нет ответа")
    people = survey.decode(rng.integers(0, survey.k, (n, 2))).astype(object)
    people["мин"] = people["мин"].mask(people["мин"] == "нет ответа")
    people = people.assign(region=rng.choice(np.array(ODD, object), n), w=rng.uniform(1, 300, n))
    survey.save(tmp_path / "survey.json")
    others = [Survey.load(tmp_path / "survey.json"), copy.deepcopy(survey), pickle.loads(pickle.dumps(survey))]
    reports = survey.collect(people, rng=RNG(10), weights="w", keep=["region"])
    files.write(reports, tmp_path / f"wave.{ending}")
    back = files.read(tmp_path / f"wave.{ending}")
    assert back[["region", "w"]].to_numpy().tolist() == reports[["region", "w"]].to_numpy().tolist()
    counts = aggregate(reports, survey.mechanism)
    counts.save(tmp_path / "counts.json")
    for other in others:
        assert other == survey
        assert other.collect(people, rng=RNG(10), weights="w", keep=["region"]).equals(reports)
        again = Counts.load(tmp_path / "counts.json", other.mechanism), pickle.loads(pickle.dumps(counts))
        for one in (back, tmp_path / f"wave.{ending}", *again):
            assert other.estimate(one).equals(survey.estimate(reports))
        assert other.estimate(back, weights="w").equals(survey.estimate(reports, weights="w"))
    for region, group in back.groupby("region"):
        assert len(group) == (people["region"] == region).sum()


# Plans.


@pytest.mark.parametrize("confidence", [0.8, 0.99])
@pytest.mark.parametrize("sampling", [False, True])
def test_a_plan_of_any_confidence_is_missed_by_whole_people_at_most(confidence, sampling):
    mechanism = OneQuestion(k=(2, 5, 8), epsilon=4.0)
    survey = Survey({f"q{j}": list(range(k)) for j, k in enumerate(mechanism.k)}, 4.0)
    n = required_users(mechanism, 0.1, confidence=confidence, sampling=sampling)
    for shares in ([0.5, 0.5], [1.0, 0.0]):
        x = np.column_stack([RNG(j).choice(2, n, p=shares) for j in range(3)])
        counts = survey.mark(aggregate(mechanism.perturb(x, rng=RNG(11)), mechanism))
        told = survey.estimate(counts, confidence=confidence, sampling=sampling)
        fewest = min(n * np.array(mechanism.weights_)) - 1
        assert ((told["high"] - told["low"]) / 2).max() <= 0.1 * (1 + 1 / (2 * fewest))

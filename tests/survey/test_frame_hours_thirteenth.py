"""What an hour more of trying found in statistics: what is told by chance, by few, and of what hardly anybody holds."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from ldp_lib import (
    GRR,
    AskSome,
    Counts,
    OneQuestion,
    RRIndependent,
    RRJoint,
    SubsetSelection,
    Survey,
    estimate_interval,
)
from ldp_lib.population import Population
from ldp_lib.postprocess import project_simplex
from ldp_lib.survey._estimates import weighted_shares
from ldp_lib.tables._asked import raw_table
from ldp_lib.tables._independence import p_value

AB = {"a": ["no", "yes"], "b": ["no", "yes"], "c": ["no", "yes"]}


def close(found, wanted, runs, foil):
    """Return whether a share of so many runs is the wanted one, and so many tell it from the foil."""
    error = 5 * (wanted * (1 - wanted) / runs) ** 0.5
    return abs(found - wanted) < error < abs(wanted - foil)


@pytest.mark.parametrize("groups", [True, False])
@pytest.mark.parametrize("asked", [OneQuestion, AskSome])
def test_few_weights_of_those_asked_are_told_however_questions_are_drawn(asked, groups):
    """Where each draws the question alone, the weights of all people were looked at, and nothing was told."""
    some = {"m": 1, "sizes": (1, 1, 1)} if asked is AskSome else {}
    survey = Survey(AB, 4.0, asked(k=(2, 2, 2), epsilon=4.0, groups=groups, **some))
    rng, w = np.random.default_rng(1), np.resize([9.0, 1, 1], 120)
    people = survey.decode(rng.integers(0, 2, (120, 3))).assign(w=w)
    reports = survey.collect(people, rng=rng, weights="w")
    even = [part["w"].sum() ** 2 / (part["w"] ** 2).sum() for _, part in reports.groupby("report_asked")]
    assert min(even) < 30 < w.sum() ** 2 / (w**2).sum()
    with pytest.warns(UserWarning, match=f" {min(even):.0f} even ones"):
        survey.estimate(reports, weights="w", sampling=True)
    whole = Survey(AB, 4.0, RRIndependent(k=(2, 2, 2), epsilon=4.0))
    with warnings.catch_warnings(action="error"):
        whole.estimate(whole.collect(people, rng=rng, weights="w"), weights="w", sampling=True)
        many = pd.concat([people] * 8, ignore_index=True)
        survey.estimate(survey.collect(many, rng=rng, weights="w"), weights="w", sampling=True)


@pytest.mark.parametrize(
    ("n", "share", "told", "holds"),
    [
        (2_000, 0.2, 0.0355, 0.552),
        (2_000, 0.25, 0.1565, 0.755),
        (2_000, 0.3, 0.424, 0.889),
        (2_000, 0.35, 0.726, 0.9355),
        (2_000, 0.45, 0.987, 0.95),
        (198_325, 0.02, 0.037, 0.459),  # 3.2 errors; the page had 50 to 55 of any group
        (317, 0.5, 0.034, 0.625),
    ],
)
def test_a_share_among_few_that_comes_by_chance_holds_less_often(n, share, told, holds):
    """As the page says: what `query` tells where `given` is near five standard errors divides by too large a share."""
    runs, rng, mechanism = 40_000, np.random.default_rng(3), RRJoint(k=(4, 2), epsilon=1.0)
    channel, true = mechanism.channel(), np.full((4, 2), (1 - share) / 4)
    true[:, 1] = share * np.array([0.9, 0.1 / 3, 0.1 / 3, 0.1 / 3])
    people = np.floor(true.ravel() * n).astype(int)
    people[0] += n - people.sum()
    counts = sum(rng.multinomial(number, row, runs) for number, row in zip(people, channel, strict=True))
    p, q = channel[0, :2]
    raw = (counts / n - q) / (p - q)
    near = project_simplex(raw)

    def spread(slope):
        return np.sqrt((near * (slope**2 @ channel.T - (slope @ channel.T) ** 2)).sum(axis=1) / n) / (p - q)

    whole, held = raw[:, 1::2].sum(axis=1), people[1] / people[1::2].sum()
    base = np.broadcast_to(np.tile([0.0, 1.0], 4), raw.shape)
    share_among, far = raw[:, 1] / whole, whole >= 5 * spread(base)
    error = spread((np.eye(8)[1] - share_among[:, None] * base) / whole[:, None])
    holding = abs(share_among - held) <= 1.959964 * error
    survey = Survey({"a": [0, 1, 2, 3], "b": [0, 1]}, 1.0, mechanism)
    one = int(far.argmax())
    reports = survey.decode(np.repeat(np.indices((4, 2)).reshape(2, -1).T, counts[one], axis=0))
    frame = pd.DataFrame({name: reports[key].astype("uint8") for name, key in (("report_0", "a"), ("report_1", "b"))})
    found = survey.query({"a": 0}, survey.mark(frame.sample(frac=1, random_state=1)), given={"b": 1})
    assert found[:2] == pytest.approx((share_among[one], error[one]))
    assert close(far.mean(), told, runs, 0.5)
    if share < 0.3:
        assert close(holding[far].mean(), holds, far.sum(), 0.95)
        assert share_among[far].mean() < 0.76 < held - 0.1
    else:
        assert close(holding[far].mean(), holds, far.sum(), 0.92)


@pytest.mark.parametrize(
    ("epsilon", "n", "held", "holds"),
    [
        *[(1.0, 11, 2, 0.917), (3.0, 12, 11, 0.883), (3.9, 12, 6, 0.798), (3.9, 50, 25, 0.886), (1.0, 173, 60, 0.951)],
        *[(8.0, 745, 372, 0.791), (4.0, 745, 372, 0.961), (6.0, 101, 50, 0.791)],  # a quarter of a false report, or 13
    ],
)
def test_intervals_of_few_people_or_false_reports_hold_as_often_as_enumeration_says(epsilon, n, held, holds):
    """Also where more than five were asked, many hold the answer, and epsilon is below 4: few reports are wrong."""
    mechanism = GRR(k=2, epsilon=epsilon)
    survey, (p, q) = Survey({"a": ["no", "yes"]}, epsilon, mechanism), mechanism.probabilities
    law = np.convolve(binom.pmf(range(held + 1), held, p), binom.pmf(range(n - held + 1), n - held, q))
    found = 0.0
    for yes in np.flatnonzero(law > 1e-6):
        told = survey.estimate(survey.mark(Counts(mechanism, np.array([n, n - yes, yes])))).loc[1]
        found += law[yes] * (told["low"] <= held / n <= told["high"])
    assert found == pytest.approx(holds, abs=1e-3)


@pytest.mark.parametrize(
    ("k", "epsilon", "n", "held", "holds"), [(5, 1.0, 11, 11, 0.86), (15, 2.5, 11, 2, 0.8), (50, 3.0, 21, 5, 0.83)]
)
def test_intervals_of_few_people_and_many_labels_hold_less_often(k, epsilon, n, held, holds):
    """The worst that was found for as many people asked; the page has these numbers."""
    mechanism, runs = SubsetSelection(k=k, epsilon=epsilon), 500
    population = Population.from_records(np.r_[np.zeros(held, int), 1 + np.arange(n - held) % (k - 1)], k=k)
    estimates = mechanism.simulate(population, rng=np.random.default_rng(5), runs=runs)
    rows, number = np.unique(estimates.round(12), axis=0, return_counts=True)
    ends = [estimate_interval(mechanism, row, n) for row in rows]
    found = sum(m * (low[0] <= held / n <= high[0]) for m, (low, high) in zip(number, ends, strict=True)) / runs
    assert close(found, holds, runs, 0.95)


@pytest.mark.parametrize(
    ("epsilon", "even", "held", "holds"), [(4.0, 120, 0.0, 0.83), (3.0, 60, 0.0, 0.86), (4.0, 120, 0.5, 0.945)]
)
def test_weighted_shares_that_nobody_holds_need_more_than_thirty_even_weights(epsilon, even, held, holds):
    """As the page says; half of the people are many, and their interval holds."""
    rng, runs, (p, q) = np.random.default_rng(3), 800, GRR(k=3, epsilon=epsilon).probabilities
    chances, found = 1 / (1 + rng.gamma(2.04, 4.41, 10 * even)), 0
    has = rng.random(10 * even) < held
    chances *= 1.5 * even / chances.sum()
    for _ in range(runs):
        asked = rng.random(len(has)) < chances
        z = (rng.random(asked.sum()) < np.where(has[asked], p, q)) / (p - q) - q / (p - q)
        with warnings.catch_warnings(action="ignore"):
            share, variance = weighted_shares(z[:, None], 1 / chances[asked], sampling=True)
        found += abs(share[0] - has.mean()) <= 1.96 * max(variance[0], 0) ** 0.5
    assert close(found / runs, holds, runs, 0.95 if not held else 0.9)


@pytest.mark.parametrize(("k", "epsilon", "n", "share"), [(4, 3.0, 60, 0.85), (4, 0.1, 20, 0.25)])
def test_few_people_and_uneven_labels_find_no_dependence_that_is_not_there(k, epsilon, n, share):
    """Where few tell the truth or noise is far larger than the shares: the test rejects at most as often as it says."""
    rng, runs, law = np.random.default_rng(21), 80, np.r_[share, np.full(k - 1, (1 - share) / (k - 1))]
    mechanism, found = RRJoint(k=(k, k), epsilon=epsilon), 0
    for _ in range(runs):
        y = mechanism.perturb(rng.choice(k, (n, 2), p=law), rng=rng)
        found += p_value(mechanism, raw_table(mechanism, y, 0, 1), (0, 1), n) < 0.05
    assert found / runs < 0.05 + 5 * (0.05 * 0.95 / runs) ** 0.5


def test_made_up_people_and_groups_that_travelled_agree_with_the_estimate():
    """Margins of made-up people are the estimated shares, and means of contributions within groups are theirs."""
    rng, n = np.random.default_rng(8), 20_000
    a = rng.integers(0, 2, n)
    b = np.where(rng.random(n) < 0.8, a, 2)
    people = pd.DataFrame(
        {"a": a, "b": b, "c": np.where(rng.random(n) < 0.7, b, rng.integers(0, 4, n)), "group": b % 2}
    )
    mechanism = AskSome(k=(2, 3, 4), epsilon=3.0, m=2, sizes=(1, 1, 1), weights=(1, 1, 1))
    survey = Survey({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1, 2, 3]}, 3.0, mechanism)
    reports = survey.collect(people, rng=rng, keep=["group"])
    found, made, drawn = survey.estimate(reports), survey.synthetic(200_000, reports, rng=rng), []
    for name in survey.domain:
        drawn += made[name].value_counts(normalize=True, sort=False).tolist()
    assert (abs(drawn - found["estimate"]) < 5 * (1 / 4 / 200_000) ** 0.5 + found["standard_error"]).all()
    each = survey.contributions(reports)
    for group, part in people.groupby("group"):
        true = np.concatenate([np.bincount(part[name], minlength=len(row)) for name, row in survey.domain.items()])
        told = survey.estimate(reports[reports["group"] == group])
        means = each.loc[each["group"] == group].iloc[:, :9].mean().to_numpy()
        assert (abs(means - true / len(part)) < 5 * told["standard_error"]).all()

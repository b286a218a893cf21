"""An hour of a statistician of five waves: shares by region, what is published of them, weights, plans from a wave."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, chi2, hypergeom

from ldp_lib import GRR, AskSome, OneQuestion, RRJoint, Survey
from ldp_lib.population import Population
from ldp_lib.postprocess import project_simplex
from ldp_lib.survey._intervals import joined
from ldp_lib.survey.aggregate import aggregate
from ldp_lib.survey.planner import half_width, standard_errors
from ldp_lib.tables import dependence
from ldp_lib.tables.covariance import table_covariance

RNG = np.random.default_rng
SURE = Survey({"a": ["x", "y"]}, 40.0, GRR(k=2, epsilon=40.0))
BOTH = Survey({"smokes": ["no", "yes"], "drinks": ["no", "yes"]}, 20.0, RRJoint(k=(2, 2), epsilon=20.0))


def estimates(mechanism, share, n, runs, seed):
    """Return many surveys' estimates of each question's shares, of which all are alike."""
    k = mechanism.k if isinstance(mechanism.k, tuple) else (mechanism.k,)
    people = Population.from_shares([share] * len(k), n)
    found = mechanism.simulate(people, rng=RNG(seed), runs=runs)
    return found if isinstance(found, list) else [found]


def errors(mechanism, found, n):
    """Return the standard errors that surveys tell of the first question's shares: squared, quadratics in these."""
    k, some = len(found[0][0]), isinstance(mechanism.k, tuple)

    def told(one):
        return joined(standard_errors(mechanism, [one] * len(mechanism.k) if some else one, n))[:k]

    at = np.array([0, 0.5, 1])
    curve = np.polyfit(at, [told(np.append(f, [(1 - f) / (k - 1)] * (k - 1)))[0] ** 2 for f in at], 2)
    every = np.polyval(curve, project_simplex(found[0])) ** 0.5
    assert every[0] == pytest.approx(told(found[0][0]), rel=0.02)
    return every


def spread(share, runs):
    """Return five standard errors of a share of so many runs."""
    return 5 * (share * (1 - share) / runs) ** 0.5


# Shares of regions, put together.


def test_the_mean_of_projected_shares_is_too_large_for_a_rare_answer():
    """Of regions of 200 people: 2 of 100 who hold an answer are told as 3, and as 6 if shares are cut off at 0."""
    mechanism, share = GRR(k=8, epsilon=1.0), np.array([0.86] + [0.02] * 7)
    [found] = estimates(mechanism, share, 200, 600, 1)
    sem = found.std(axis=0) / 600**0.5
    assert (abs(found.mean(axis=0) - share) < 5 * sem).all()
    nearest = project_simplex(found).mean(axis=0)
    assert 0.028 < nearest[1:].mean() < 0.036
    assert 0.77 < nearest[0] < 0.81
    assert 0.055 < found.clip(0, 1).mean(axis=0)[1:].mean() < 0.066


@pytest.mark.parametrize("epsilon", [2.0, 4.0])
def test_regions_that_are_weighted_by_their_errors_tell_too_little_of_a_rare_answer(epsilon):
    """What comes out small has a small error, and then counts more."""
    mechanism = OneQuestion(k=(2,) * 5, epsilon=epsilon)
    found = estimates(mechanism, np.array([0.9, 0.1]), 200, 600, 2)
    error, rare = errors(mechanism, found, 200)[:, 1], found[0][:, 1]
    assert abs(rare.mean() - 0.1) < 5 * rare.std() / 600**0.5
    weighted = np.average(rare, weights=error**-2)
    assert 0.06 < weighted < 0.095


def test_shares_times_people_are_no_counts_for_a_test_of_regions():
    """Chi-squared of four regions alike, and squares over the mean squared error, which keep to the level."""
    mechanism, n, runs = GRR(k=2, epsilon=1.0), 2_000, 250
    yes = np.empty((4, runs)), np.empty((4, runs))
    for region in range(4):
        found = estimates(mechanism, np.array([0.7, 0.3]), n, runs, 3 + region)
        yes[0][region], yes[1][region] = found[0][:, 1], errors(mechanism, found, n)[:, 1]
    share, error = yes
    off = share - share.mean(axis=0)
    as_counts = n * (off**2).sum(axis=0) / (share.mean(axis=0) * (1 - share.mean(axis=0)))
    right = (off**2).sum(axis=0) / (error**2).mean(axis=0)
    limit = chi2.isf(0.05, 3)
    assert np.mean(as_counts > limit) > 0.5
    assert np.mean(right > limit) < 0.05 + spread(0.05, runs)
    # A second difference holds the middle wave twice.
    second, told = share[0] - 2 * share[1] + share[2], (error[0] ** 2 + 2 * error[1] ** 2 + error[2] ** 2) ** 0.5
    assert abs(second.std() / told.mean() - 1.5**0.5) < 5 * 1.3 / (2 * runs) ** 0.5
    assert second.std() / told.mean() > 1.05


def test_a_test_of_regions_takes_the_mean_of_their_squared_errors():
    """Of 40 people asked in each of 16 regions, 4 hold the answer: a region's own error goes with its estimate."""
    mechanism, n, runs = OneQuestion(k=(2,) * 5, epsilon=4.0), 200, 500
    found = estimates(mechanism, np.array([0.9, 0.1]), n, 16 * runs, 20)
    share, square = found[0][:, 1].reshape(16, runs), errors(mechanism, found, n)[:, 1].reshape(16, runs) ** 2
    off = (share - share.mean(axis=0)) ** 2
    limit = chi2.isf(0.05, 15)
    assert np.mean(off.sum(axis=0) / square.mean(axis=0) > limit) < 0.05 + spread(0.05, runs)
    assert np.mean((off / square).sum(axis=0) > limit) > 0.2


def test_regions_differ_by_their_noise_too_and_the_highest_falls_in_the_next_wave():
    """Sixteen regions, of which half have a share of 0.3 and half of 0.4: their variance is 0.0025."""
    mechanism, n, runs = GRR(k=2, epsilon=1.0), 1_000, 300
    found, error = np.empty((2, 16, runs)), np.empty((2, 16, runs))
    for wave in range(2):
        for region in range(16):
            share = 0.3 + 0.1 * (region % 2)
            [told] = estimates(mechanism, np.array([1 - share, share]), n, runs, 100 + 16 * wave + region)
            found[wave, region], error[wave, region] = told[:, 1], errors(mechanism, [told], n)[:, 1]
    spreads = found[0].var(axis=0, ddof=1)
    own = spreads - (error[0] ** 2).mean(axis=0)
    true = 0.0025 * 16 / 15
    assert spreads.mean() - true > 5 * spreads.std() / runs**0.5
    assert abs(own.mean() - true) < 5 * own.std() / runs**0.5
    top = found[0].argmax(axis=0), np.arange(runs)
    falls = found[0][top] - found[1][top]
    assert falls.mean() > 0.02 + 5 * falls.std() / runs**0.5
    together = [np.corrcoef(*found[:, :, run])[0, 1] for run in range(runs)]
    assert np.mean(together) < 0.85  # of shares that did not change


def test_all_intervals_of_one_region_are_not_those_of_all_regions():
    mechanism, n, runs = GRR(k=8, epsilon=1.0), 2_000, 1_600
    share = np.full(8, 1 / 8)
    [found] = estimates(mechanism, share, n, runs, 8)
    error = np.array(standard_errors(mechanism, share, n))

    def held(confidence):
        inside = (abs(found - share) < half_width(confidence, 8) * error).all(axis=1)
        return inside.reshape(-1, 16).all(axis=1).mean()

    assert held(0.95) < 0.44 + spread(0.44, runs / 16)
    assert held(1 - 0.05 / 16) > 0.95 - spread(0.95, runs / 16)


# What is published.


def test_shares_that_are_published_by_their_own_error_are_too_large():
    """Where an error of a third is the most, 5 of 100 come out as 10, if at all."""
    mechanism, n, runs, share = GRR(k=4, epsilon=1.0), 2_000, 20_000, np.array([0.8, 0.13, 0.05, 0.02])
    found = estimates(mechanism, share, n, runs, 9)
    error, [shares] = errors(mechanism, found, n), found
    for place, least, most, holds in ((1, 0.125, 0.145, 0.97), (2, 0.095, 0.105, 0.76), (3, 0.095, 0.105, 0)):
        shown = shares[:, place] > 3 * error[:, place]
        assert least < shares[shown, place].mean() < most
        inside = abs(shares[shown, place] - share[place]) < 1.96 * error[shown, place]
        assert abs(inside.mean() - holds) <= spread(holds, shown.sum())
    assert shown.sum() >= 100  # of 2 in 100, and no interval held


@pytest.mark.parametrize(
    ("d", "epsilon", "asked", "held", "holds"),
    [(10, 3.9, 11, 8, 0.649), (10, 4.0, 21, 9, 0.731), (5, 4.0, 51, 11, 0.831), (10, 1.5, 6, 28, 0.788)],
)
def test_intervals_of_few_people_who_are_asked_one_of_several_questions(d, epsilon, asked, held, holds):
    """By enumeration: how many of those asked hold the answer, then how many say that they do."""
    survey, n = Survey({f"q{j}": ["no", "yes"] for j in range(d)}, epsilon), d * asked
    p, q = (float(one) for one in survey.mechanism.oracle_[0].probabilities)
    law = np.zeros(asked + 1)
    for true, chance in enumerate(hypergeom.pmf(range(asked + 1), n, held, asked)):
        yes, no = binom.pmf(range(true + 1), true, p), binom.pmf(range(asked - true + 1), asked - true, q)
        law += chance * np.convolve(yes, no)
    found = 0.0
    for yes in np.flatnonzero(law > 1e-6):
        said = np.r_[np.arange(asked) < yes, np.arange(n - asked) % 2]
        rows = {"report_asked": np.repeat(np.arange(d), asked), "report_report_0": said}
        told = survey.estimate(survey.mark(pd.DataFrame(rows, dtype="uint8"))).iloc[1]
        found += law[yes] * (told["low"] <= held / n <= told["high"])
    assert found == pytest.approx(holds, abs=2e-3)


# Tables and results of several waves.


def test_tables_with_their_questions_in_another_order_are_subtracted_cell_by_place():
    people = pd.DataFrame({"smokes": ["no"] * 700 + ["yes"] * 300, "drinks": ["no"] * 200 + ["yes"] * 800})
    reports = BOTH.collect(people, rng=RNG(10))
    one, other = BOTH.table("smokes", "drinks", reports), BOTH.table("drinks", "smokes", reports)
    apart = one["estimate"] - other["estimate"]
    assert apart.index.names == ["smokes", "drinks"]
    assert apart["no", "yes"] == pytest.approx(0.5, abs=0.01)
    placed = pd.concat([one["estimate"], other["estimate"]], axis=1)
    assert placed.loc[("no", "yes")].tolist() == pytest.approx([0.5, 0], abs=0.01)
    same = one["estimate"] - other["estimate"].reorder_levels(["smokes", "drinks"])
    assert abs(same).max() < 1e-12
    joined = one[["estimate"]].join(other[["estimate"]].add_suffix(" before"))
    assert joined["estimate"].tolist() == pytest.approx(joined["estimate before"].tolist())


def test_a_pivot_by_value_alone_averages_questions():
    people = pd.DataFrame({"smokes": ["no"] * 70 + ["yes"] * 30, "drinks": ["no"] * 10 + ["yes"] * 90})
    shares = BOTH.estimate(BOTH.collect(people, rng=RNG(11))).assign(wave=1)
    how = {"columns": "wave", "values": "estimate"}
    mixed, right = (shares.pivot_table(index=index, **how)[1] for index in ("value", ["attribute", "value"]))
    assert mixed["yes"] == pytest.approx(0.6, abs=0.01)
    assert right["smokes", "yes"] == pytest.approx(0.3, abs=0.01)
    with pytest.raises(ValueError, match="duplicate"):
        shares.pivot(index="value", **how)


def test_people_without_a_region_are_in_none():
    people = pd.DataFrame({"a": ["x"] * 60 + ["y"] * 40, "region": ["north"] * 50 + ["south"] * 30 + [None] * 20})
    reports = SURE.collect(people, rng=RNG(12), keep=["region"])
    for how, counted in ((True, 80), (False, 100)):
        assert sum(aggregate(some, SURE.mechanism).n for _, some in reports.groupby("region", dropna=how)) == counted
    assert SURE.estimate(reports[reports["region"] != "north"])["estimate"].round(3).tolist() == [0.2, 0.8]


@pytest.mark.parametrize("groups", [True, False])
def test_the_mean_of_regions_is_near_the_share_of_all_if_people_are_dealt(groups):
    mechanism = OneQuestion(k=(2, 2, 2), epsilon=2.0, groups=groups)
    survey, n = Survey({"a": ["x", "y"], "b": ["x", "y"], "c": ["x", "y"]}, 2.0, mechanism), 3_000
    people = pd.DataFrame({"a": ["x"] * n, "b": ["x", "y"] * (n // 2), "c": "y", "region": ["n", "s", "s"] * (n // 3)})
    reports = survey.collect(people, rng=RNG(19), keep=["region"])
    whole = survey.estimate(reports)
    parts = [(len(some) / n, survey.estimate(some)["estimate"]) for _, some in reports.groupby("region")]
    apart = abs(sum(weight * share for weight, share in parts) - whole["estimate"])
    assert (apart < whole["standard_error"]).all()
    assert (apart.max() > 1e-6) == groups


# Weights.


def test_the_scale_of_weights_counts_for_poisson_samples_only():
    """Five waves together, whose weights were divided by five."""
    people = pd.DataFrame({"a": ["x", "y", "x"] * 400, "w": [5.0, 10.0, 5.0, 10.0] * 300})
    reports = SURE.collect(people, rng=RNG(13), weights="w")
    fifth, whole = reports.assign(w=reports["w"] / 5), reports

    def told(some, sampling):
        return SURE.estimate(some, weights="w", sampling=sampling)["standard_error"][0]

    assert told(fifth, "with replacement") == pytest.approx(told(whole, "with replacement"), rel=1e-9)
    assert told(fifth, True) < 0.8 * told(whole, True)
    with pytest.raises(ValueError, match="numbers from 1 on"):
        SURE.estimate(reports.assign(w=reports["w"] / reports["w"].mean()), weights="w")


def test_uneven_weights_multiply_noise_and_the_error_of_drawing_people():
    """By the number of people times the sum of squares over the square of the sum."""
    survey, n = Survey({"a": ["x", "y"]}, 1.0, GRR(k=2, epsilon=1.0)), 4_000
    people = pd.DataFrame({"a": ["x"] * 7 * (n // 10) + ["y"] * 3 * (n // 10), "w": [10.0, 90.0] * (n // 2)})
    reports = survey.collect(people, rng=RNG(14), weights="w")
    effect = n * (people["w"] ** 2).sum() / people["w"].sum() ** 2
    assert effect == pytest.approx(1.64)
    for sampling in (False, True):
        plain, weighted = (survey.estimate(reports, sampling=sampling, weights=w) for w in (None, "w"))
        assert weighted["standard_error"][0] / plain["standard_error"][0] == pytest.approx(effect**0.5, rel=0.03)


def test_frequency_weights_tell_a_fraction_of_the_error_of_design_weights():
    survey, n = Survey({"a": ["x", "y"]}, 1.0, GRR(k=2, epsilon=1.0)), 3_000
    people = pd.DataFrame({"a": ["x", "y", "y"] * (n // 3), "w": np.repeat([10, 20, 90], n // 3)})
    reports = survey.collect(people, rng=RNG(18), weights="w")
    each = survey.contributions(reports)
    z, w = each["a=y"].to_numpy(), each["w"].to_numpy()
    right = ((w * (z - np.average(z, weights=w))) ** 2).sum() ** 0.5 / w.sum()
    told = survey.estimate(reports, weights="w", sampling="with replacement")["standard_error"][1]
    assert told == pytest.approx(right, rel=1e-3)
    assert (np.cov(z, fweights=w) / w.sum()) ** 0.5 / right == pytest.approx(0.12, abs=0.01)


def test_rows_repeated_by_their_weights_tell_tables_too_precisely_and_tables_of_each_weight_do_not():
    """Both are unbiased for a weighted table."""
    survey = Survey({"a": ["x", "y"], "b": ["x", "y"]}, 2.0, AskSome(k=(2, 2), epsilon=2.0, m=2))
    people = pd.DataFrame({"a": ["x", "y"] * 600, "b": ["x"] * 600 + ["y"] * 600, "w": [1, 1, 2, 10] * 300})
    weights = people.groupby("w")["w"].sum() / people["w"].sum()
    share = people["w"][(people["a"] == "y") & (people["b"] == "y")].sum() / people["w"].sum()
    reports = survey.collect(people, rng=RNG(15), keep=["w"])
    many = survey.table("a", "b", reports.loc[reports.index.repeat(reports["w"])]).loc[("y", "y")]
    each = {w: survey.table("a", "b", some).loc[("y", "y")] for w, some in reports.groupby("w")}
    found = sum(weights[w] * one["estimate"] for w, one in each.items())
    error = sum((weights[w] * one["standard_error"]) ** 2 for w, one in each.items()) ** 0.5
    assert abs(found - share) < 5 * error
    assert abs(many["estimate"] - share) < 5 * error
    assert many["standard_error"] < 0.5 * error
    assert survey.table("a", "b", reports)["standard_error"].iloc[3] < error  # of even weights


# The strength of a dependence, and plans from a wave.


def draws(mechanism, table, n, runs, seed):
    """Return raw tables with the exact covariance of those of n people, and this covariance."""
    covariance = table_covariance(mechanism, table, 0, 1, n=n, sampling=False)
    found = RNG(seed).multivariate_normal(table.ravel(), covariance, runs, method="eigh")
    return found.reshape(runs, *table.shape), covariance


def diagonal(k, strength):
    return (1 - strength) * np.full((k, k), k**-2.0) + strength * np.eye(k) / k


def test_v_of_a_projected_table_is_too_small_and_its_interval_seldom_holds():
    """Its noise was taken off before, in part, and is taken off again."""
    mechanism = AskSome(k=(10, 10), epsilon=2.5, m=2)
    raw, covariance = draws(mechanism, diagonal(10, 0.5), 6_000, 40, 16)
    held = {}
    for name, tables in (("raw", raw), ("projected", project_simplex(raw.reshape(40, -1)).reshape(raw.shape))):
        each = [one for one in (dependence.cramers_v(table, covariance) for table in tables) if not one.warning]
        assert len(each) > 30
        held[name] = np.mean([low <= 0.5 <= high for low, high in (one.interval() for one in each)])
    assert held["raw"] > 0.95 - spread(0.95, 40)
    assert held["projected"] < 0.5


def test_a_table_in_percent_needs_its_own_covariance():
    mechanism, table = AskSome(k=(3, 3), epsilon=2.0, m=2), diagonal(3, 0.3)
    covariance = table_covariance(mechanism, table, 0, 1, n=5_000, sampling=False)
    right, wrong, again = (
        np.diff(dependence.cramers_v(*both).interval())[0]
        for both in ((table, covariance), (100 * table, covariance), (100 * table, 1e4 * covariance))
    )
    assert wrong < right / 50
    assert again == pytest.approx(right)


def test_plans_from_a_projected_table_ask_too_few_people():
    """Noise in an earlier wave's table is taken for dependence."""
    mechanism, table = AskSome(k=(4, 4), epsilon=1.0, m=2), diagonal(4, 0.1)
    raw, _ = draws(mechanism, table, 3_000, 5, 17)
    right = dependence.users_to_see(mechanism, table, 0, 1)
    nearest = project_simplex(raw.reshape(5, -1)).reshape(raw.shape)
    planned = np.median([dependence.users_to_see(mechanism, one, 0, 1) for one in nearest])
    assert planned < right / 3
    assert dependence.power(mechanism, table, 0, 1, n=planned) < 0.35


# Recodes.


def test_recodes_one_after_the_other_meet_each_other_s_codes():
    codes = pd.Series([1, 5, 2])
    assert codes.replace(1, 5).replace(5, 1).tolist() == [1, 1, 2]
    assert codes.mask(codes == 1, 5).mask(codes == 5, 1).tolist() == [5, 1, 2]
    assert codes.replace({1: 5, 5: 1}).tolist() == [5, 1, 2]
    assert np.select([codes > 3, codes <= 3], ["high", "low"], default="none").tolist() == ["low", "high", "low"]
    gaps = pd.Series([1, np.nan])
    assert np.select([gaps > 3], ["high"], default="low").tolist() == ["low", "low"]
    born = pd.to_datetime(pd.Series(["01/02/58", "01/02/69"]), format="%d/%m/%y")
    assert born.dt.year.tolist() == [2058, 1969]
    ages = pd.cut(2026 - born.dt.year, [-np.inf, 30, 60, np.inf], right=False, labels=["young", "mid", "old"])
    assert ages.tolist() == ["young", "mid"]


@pytest.mark.parametrize("way", ["fillna", "combine_first", "where", "update"])
def test_gaps_are_filled_by_the_index_and_not_by_the_person(way):
    before = pd.DataFrame({"id": [1, 2, 3], "a": ["x", "y", "y"]})
    now = pd.DataFrame({"id": [3, 1, 2], "a": ["x", None, "y"]})
    if way == "update":
        found = now.copy()
        found.update(before["a"].where(now["a"].isna()))
        found = found["a"]
    elif way == "where":
        found = now["a"].where(now["a"].notna(), before["a"])
    else:
        found = getattr(now["a"], way)(before["a"])
    assert found[1] == "y"  # of person 2; person 1 said x before
    by_person = now.set_index("id")["a"].fillna(before.set_index("id")["a"])
    assert by_person[1] == "x"

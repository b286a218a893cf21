"""An hour of an epidemiologist: regions, strata, age bands, risk ratios, registers merged to reports, clusters."""

import dataclasses
import decimal
import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2

from ldp_lib import GRR, AskSome, OneQuestion, RRIndependent, RRJoint, Survey, recommend, required_users
from ldp_lib.postprocess import project_simplex
from ldp_lib.survey import files
from ldp_lib.survey.planner import standard_errors
from ldp_lib.tables import dependence
from ldp_lib.tables.covariance import table_covariance

RNG = np.random.default_rng
PAIR = Survey({"ill": ["no", "yes"], "dose": ["0", "1-9", "10+"]}, 2.0, AskSome(k=(2, 3), epsilon=2.0, m=2))
PEOPLE = PAIR.decode(np.c_[np.arange(600) % 2, np.arange(600) % 3]).assign(
    id=10**9 + 7 * np.arange(600), region=["N", "S", "S", "N"] * 150, w=[1.0, 2.5, 4.0] * 200
)
REPORTS = PAIR.collect(PEOPLE, rng=RNG(1), keep=["id", "region"])


def held(share, runs, said):
    """Whether a share of runs is what the page says, rounded to a hundredth."""
    return abs(share - said) < 0.005 + 4 * (said * (1 - said) / runs) ** 0.5


# Regions.


@pytest.mark.parametrize(("epsilon", "rejected"), [(1.0, 0.16), (2.0, 0.70), (4.0, 1.0)])
def test_a_test_of_regions_takes_errors_with_people_drawn(epsilon, rejected):
    """Sixteen regions of 2,000 people, of each of whom 3 in 10 say yes: the squared distances over the mean error."""
    mechanism, n, rng, runs = GRR(k=2, epsilon=epsilon), 2_000, RNG(1), 8_000
    p = np.exp(epsilon) / (1 + np.exp(epsilon))
    yes = rng.binomial(n, 0.3, (runs, 16))
    share = ((rng.binomial(yes, p) + rng.binomial(n - yes, 1 - p)) / n - (1 - p)) / (2 * p - 1)
    off = ((share - share.mean(axis=1, keepdims=True)) ** 2).sum(axis=1)
    noise = p * (1 - p) / (2 * p - 1) ** 2 / n
    for sampling, square in ((False, noise), (True, (noise + share * (1 - share) / n).mean(axis=1))):
        told = standard_errors(mechanism, np.array([1 - share[0, 0], share[0, 0]]), n, sampling=sampling)[1]
        assert told**2 == pytest.approx(noise + sampling * share[0, 0] * (1 - share[0, 0]) / n, rel=1e-3)
        assert held(np.mean(off / square > chi2.isf(0.05, 15)), runs, 0.05 if sampling else rejected)


def test_a_region_picked_out_of_one_deal_has_wider_intervals_than_planned_but_for_questions_drawn_alone():
    """Half say yes to each question, which is the worst."""
    n, rng, widest = 600, RNG(2), {}
    for groups in (True, False):
        mechanism = OneQuestion(k=(2,) * 8, epsilon=1.0, groups=groups)
        margin = 1.96 * standard_errors(mechanism, [np.array([0.5, 0.5])] * 8, n)[0][0]
        if groups:
            assert required_users(mechanism, margin) == n
        survey = Survey({f"q{j}": [0, 1] for j in range(8)}, 1.0, mechanism)
        people = survey.decode(rng.integers(0, 2, (3 * n, 8))).assign(region=np.repeat(np.arange(3), n))
        parts = [part for _, part in survey.collect(people, rng=rng, keep=["region"]).groupby("region")]
        parts.append(survey.collect(people[:n], rng=rng))  # dealt by itself
        widest[groups] = np.array([1.96 * survey.estimate(part)["standard_error"].max() / margin for part in parts])
    assert (widest[True][:3] > 1.01).all()
    assert (widest[True][:3] < 1.3).all()
    assert widest[True][3] < 1.003
    assert (widest[False] < 1.003).all()


@pytest.mark.parametrize(("epsilon", "times"), [(1.0, 2.3), (2.0, 3.1), (4.0, 7.5)])
def test_the_difference_of_two_halves_has_twice_the_margin_with_people_drawn(epsilon, times):
    plans = [recommend(k=2, epsilon=epsilon, n=2_000, sampling=drawn) for drawn in (False, True)]
    half = standard_errors(plans[0].mechanism, np.array([0.5, 0.5]), 1_000, sampling=True)[1]
    apart = 196 * 2**0.5 * half
    assert apart / plans[1].margin() == pytest.approx(2, rel=1e-3)
    assert apart / plans[0].margin() == pytest.approx(times, abs=0.05)


def test_the_covariance_of_what_came_needs_its_numbers_and_their_sum():
    """The page's line for V: half of all reports lost, and a small region where nobody was asked the last pair."""
    survey = Survey({f"q{j}": [0, 1] for j in range(5)}, 2.0, AskSome(k=(2,) * 5, epsilon=2.0, m=2))
    people = survey.decode(RNG(3).integers(0, 2, (2_000, 5)))
    reports = survey.collect(people, rng=RNG(4))
    few = (reports.sample(25, random_state=i) for i in range(99))
    region = next(one for one in few if set(one["report_asked"]) == {*range(9)})
    for came in (reports[::2], region):
        table = survey.table("q0", "q1", came)
        likely = project_simplex(table["estimate"].to_numpy()).reshape(2, 2)
        numbers = np.bincount(came["report_asked"], minlength=len(survey.mechanism.weights_))
        told = dataclasses.replace(survey.mechanism, weights=numbers)
        right, planned = (table_covariance(told, likely, 0, 1, n=n, sampling=False) for n in (len(came), 2_000))
        assert np.diag(right) ** 0.5 == pytest.approx(table["standard_error"].to_numpy(), rel=0.01)
        assert planned[0, 0] / right[0, 0] == pytest.approx(len(came) / 2_000, rel=0.01)
    with pytest.raises(ValueError, match="weights must be 10 finite numbers"):
        dataclasses.replace(survey.mechanism, weights=np.bincount(came["report_asked"]))


def test_the_mean_of_regions_errs_as_the_share_of_all_where_chance_decides_their_numbers():
    """Two regions, in which 9 in 10 and 1 in 10 say yes, and 3,000 people drawn from both at ε = 4."""
    n, rng, runs, p = 3_000, RNG(14), 20_000, np.exp(4) / (1 + np.exp(4))
    first = rng.binomial(n, 0.5, runs)
    share, square = [], []
    for people, right in ((first, 0.9), (n - first, 0.1)):
        yes = rng.binomial(people, right)
        share.append(((rng.binomial(yes, p) + rng.binomial(people - yes, 1 - p)) / people - (1 - p)) / (2 * p - 1))
        square.append((p * (1 - p) / (2 * p - 1) ** 2 + share[-1] * (1 - share[-1])) * people / n**2)
    mean = (first * share[0] + (n - first) * share[1]) / n
    every = standard_errors(GRR(k=2, epsilon=4.0), np.array([0.5, 0.5]), n, sampling=True)[1]
    assert held(np.mean(abs(mean - 0.5) < 1.96 * every), runs, 0.95)
    assert np.mean(abs(mean - 0.5) < 1.96 * np.sqrt(np.sum(square, axis=0))) < 0.82


def test_a_slope_on_regions_shares_is_too_near_0():
    """A rate that is twice the share of each of 16 regions, which is 0.3 or 0.4; 1,000 people each, drawn."""
    mechanism, n, rng, runs = GRR(k=2, epsilon=1.0), 1_000, RNG(12), 2_000
    p, share = np.exp(1) / (1 + np.exp(1)), np.tile([0.3, 0.4], 8)
    yes = rng.binomial(n, share, (runs, 16))
    found = ((rng.binomial(yes, p) + rng.binomial(n - yes, 1 - p)) / n - (1 - p)) / (2 * p - 1)
    together = np.array([np.cov(one, 2 * share)[0, 1] for one in found])
    spread = found.var(axis=1, ddof=1)
    square = [standard_errors(mechanism, np.array([1 - f, f]), n, sampling=True)[1] ** 2 for f in found[0]]
    assert np.median(together / spread) < 1.5
    assert abs(together.mean() / (spread.mean() - np.mean(square)) - 2) < 0.15


@pytest.mark.parametrize("groups", [True, False])
def test_a_column_that_travels_may_be_multiplied_with_contributions(groups):
    """Three in ten smoke; of them 30 in 100 die, as a register knows, and 10 of 100 others."""
    survey = Survey({"smoke": [0, 1], "b": [0, 1, 2]}, 3.0, OneQuestion(k=(2, 3), epsilon=3.0, groups=groups))
    people = pd.DataFrame({"smoke": [1] * 6_000 + [0] * 14_000, "b": [0, 1, 2, 0] * 5_000})
    people["dead"] = [1.0] * 1_800 + [0.0] * 4_200 + [1.0] * 1_400 + [0.0] * 12_600
    each = survey.contributions(survey.collect(people, rng=RNG(13), keep=["dead"]))
    for label, right in ((1, 0.3), (0, 0.1)):
        z = each[f"smoke={label}"]
        share = (each["dead"] * z).mean() / z.mean()
        error = (z * (each["dead"] - share)).sem() / z.mean()
        assert abs(share - right) < 5 * error < 0.1  # 0.16 of all die


# Strata, bands and weights.


@pytest.mark.parametrize(("epsilon", "holds"), [(2.0, 0.90), (4.0, 0.80)])
def test_a_weighted_table_leaves_out_the_error_of_parts_that_chance_decides(epsilon, holds):
    """Half of 20,000 people have the weight 5, half 50; 9 in 10 and 1 in 10 hold the cell. Other cells of 0."""
    mechanism, rng, runs, size = AskSome(k=(2, 2), epsilon=epsilon, m=2), RNG(5), 20_000, 10_000
    number, came, square = [], [], []
    for weight, share in ((5, 0.9), (50, 0.1)):
        noise = table_covariance(mechanism, np.array([[0, 1 - share], [0, share]]), 0, 1, n=size, sampling=False)[3, 3]
        asked = rng.binomial(size, 1 / weight, runs)
        holders = rng.hypergeometric(round(size * share), round(size * (1 - share)), asked)
        number.append(asked * weight)
        came.append(holders / asked + rng.normal(size=runs) * (noise * size / asked) ** 0.5)
        square.append((noise * size + share * (1 - share)) / asked)
    number, came, square = map(np.array, (number, came, square))
    for parts, said in ((number / number.sum(axis=0), holds), (0.5, 0.95)):
        apart = (parts * came).sum(axis=0) if np.ndim(parts) else came.mean(axis=0)
        error = (parts**2 * square).sum(axis=0) ** 0.5
        assert held(np.mean(abs(apart - 0.5) < 1.96 * error), runs, said)


def test_a_class_of_weights_that_is_wide_counts_all_alike():
    survey = Survey({"a": ["n", "y"], "b": ["n", "y"]}, 20.0, RRJoint(k=(2, 2), epsilon=20.0))
    w = np.linspace(1, 5, 20_000)
    y = np.arange(w.size) * 0.618034 % 1 < 0.1 + 0.1 * w
    reports = survey.collect(survey.decode(np.c_[y, y].astype(int)).assign(w=w), rng=RNG(7), keep=["w"])

    def told(classes):
        parts = [part for _, part in reports.groupby(np.ceil((reports["w"] - 1) * classes / 4).clip(1))]
        share = [survey.table("a", "b", part).loc[("y", "y"), "estimate"] for part in parts]
        return np.average(share, weights=[part["w"].sum() for part in parts])

    right = np.average(y, weights=w)
    assert [round(told(1), 2), round(right, 2)] == [0.40, 0.44]
    assert abs(told(20) - right) < 0.003


def test_the_error_of_risk_ratios_and_standardised_shares_against_the_root_of_squares():
    """Of the people asked, or drawn: bands of at least 3 in 100, shares of 1 to 99 in 100, any weights."""
    rng, ends = RNG(8), {}
    families = (RRIndependent, RRJoint, lambda **some: AskSome(m=2, **some))
    for family, epsilon, bands in itertools.product(range(3), (0.5, 1.0, 4.0), (2, 5)):
        mechanism = families[family](k=(2, bands), epsilon=epsilon)
        for _ in range(6):
            band = 0.03 + (1 - 0.03 * bands) * rng.dirichlet(np.full(bands, 1.5))
            ill = rng.uniform(0.01, 0.99, bands)
            sampling = bool(rng.random() < 0.5)
            table = np.array([(1 - ill) * band, ill * band])
            slope = np.zeros((bands, 2, bands))
            for a in range(bands):
                slope[a, :, a] = [-ill[a] / band[a], (1 - ill[a]) / band[a]]
            covariance = table_covariance(mechanism, table, 0, 1, n=5_000, sampling=sampling)
            c = slope.reshape(bands, -1) @ covariance @ slope.reshape(bands, -1).T
            weights = rng.dirichlet(np.ones(bands))
            of = c[:2, :2] / np.outer(ill[:2], ill[:2])
            found = [weights @ c @ weights / (weights**2 @ np.diag(c)), (np.trace(of) - 2 * of[0, 1]) / np.trace(of)]
            ends.setdefault(family, []).append(np.sqrt(found))
    low, high = (np.array([which(np.array(one), axis=0) for one in ends.values()]) for which in (np.min, np.max))
    assert low[:, 0].min() > 0.2
    assert low[0, 0] < 0.45
    assert high[:, 0].max() < 1.13
    assert 1.3 < high[0, 1] < 1.415
    assert high[1:, 1].max() < 1.25


def test_bands_that_travel_keep_their_order_only_if_they_have_one():
    age, labels = np.arange(600) % 15, ["0-4", "5-9", "10-14"]
    limits = [-np.inf, 5, 10, np.inf]
    ways = {"cut": pd.cut(age, limits, right=False, labels=labels), "loose": pd.Categorical(np.array(labels)[age // 5])}
    ways["text"] = ways["loose"].astype(object)
    standard = pd.Series([0.5, 0.3, 0.2], labels)
    told = {}
    for way, band in ways.items():
        reports = PAIR.collect(PEOPLE.assign(band=band), rng=RNG(9), keep=["band"])
        share = PAIR.contributions(reports).groupby("band", observed=True)["ill=yes"].mean()
        assert share.index.tolist() == (labels if way == "cut" else ["0-4", "10-14", "5-9"])
        told[way] = (share.rename(str) * standard).sum(), share.to_numpy() @ standard.to_numpy()
    assert told["cut"][0] == pytest.approx(told["cut"][1])
    assert told["text"][0] == pytest.approx(told["loose"][0])
    assert abs(told["text"][0] - told["text"][1]) > 1e-4


def test_clusters_may_be_a_column_of_contributions_whatever_its_index():
    """As by the page's line, which gives the distances the index of the contributions."""
    survey = Survey({"ill": ["no", "yes"]}, 4.0, GRR(k=2, epsilon=4.0))
    village, rng = np.repeat(np.arange(60), 20), RNG(10)
    ill = rng.random(1_200) < rng.beta(2, 2, 60)[village]
    people = survey.decode(ill[:, None].astype(int)).assign(village=village, wave=rng.integers(0, 2, 1_200), weight=3.0)
    reports = survey.collect(people, rng=rng, weights="weight", keep=["village", "wave"])
    for some in (reports, reports[reports["wave"] == 0], reports.sample(frac=1, random_state=1)):
        each = survey.contributions(some)
        z, w = each["ill=yes"].to_numpy(), each["weight"].to_numpy()
        apart = w * (z - w @ z / w.sum())
        right = pd.Series(apart).groupby(each["village"].to_numpy()).sum().std()
        assert pd.Series(apart, each.index).groupby(each["village"]).sum().std() == pytest.approx(right)
        assert pd.Series(apart, each.index).groupby(each["village"].to_numpy()).sum().std() == pytest.approx(right)
        if some is not reports:
            assert pd.Series(apart).groupby(each["village"]).sum().std() < 0.6 * right


# Registers.


@pytest.mark.parametrize("how", ["left", "inner", "right", "outer"])
def test_a_register_that_is_merged_changes_nothing_or_is_refused(how):
    register = PEOPLE[["id", "w"]].sample(frac=1, random_state=1)
    whole = REPORTS.merge(register, on="id", how=how)
    with pytest.raises(ValueError, match="reports must say of which survey they are"):
        PAIR.estimate(whole)
    right = PAIR.estimate(REPORTS)
    assert np.allclose(PAIR.estimate(PAIR.mark(whole)).iloc[:, 2:], right.iloc[:, 2:], rtol=1e-12)
    longer = pd.concat([register, pd.DataFrame({"id": [1], "w": [9.0]})])
    for frame in (REPORTS, REPORTS.convert_dtypes()):
        merged = frame.merge(longer, on="id", how=how)
        if how in ("left", "inner"):
            assert np.allclose(PAIR.estimate(PAIR.mark(merged)).iloc[:, 2:], right.iloc[:, 2:], rtol=1e-12)
        else:  # somebody of the register has no report
            with pytest.raises(ValueError, match="reports must be of one survey"):
                PAIR.mark(merged)
    for name in ("report_date", "reporting_unit"):
        with pytest.raises(ValueError, match=f"lacking or in excess: .'{name}'"):
            PAIR.estimate(REPORTS.assign(**{name: 1}))


@pytest.mark.parametrize("kind", ["Float64", "double[pyarrow]", "float32", object, str, "category", decimal.Decimal])
def test_weights_of_a_register_are_numbers_in_any_column_of_numbers_or_refused(kind):
    reports = REPORTS.assign(w=[1.0, 2.5, 4.0] * 200)
    right = PAIR.estimate(reports, weights="w")["estimate"]
    same = reports["w"].map(decimal.Decimal) if kind is decimal.Decimal else reports["w"].astype(kind)
    if kind in ("Float64", "double[pyarrow]", "float32"):
        assert np.allclose(PAIR.estimate(reports.assign(w=same), weights="w")["estimate"], right)
        same = same.mask(reports.index == 5)
    with pytest.raises(ValueError, match="weights must be 600 numbers from 1 on"):
        PAIR.estimate(reports.assign(w=same), weights="w")


def test_columns_of_a_register_that_a_file_does_not_keep_are_refused(tmp_path):
    kept = {
        "month": (pd.period_range("2020-01", periods=600, freq="M"), ".csv .parquet"),
        "wait": (pd.to_timedelta(np.arange(600)), ".parquet"),
        "rate": ([decimal.Decimal("1.10")] * 600, ".parquet"),
        "band": (pd.cut(np.arange(600), 4), ""),
        "flags": (pd.arrays.SparseArray([0, 1] * 300), ""),
        "code": (["1", 1] * 300, ""),
    }
    for (name, (values, way)), suffix in itertools.product(kept.items(), (".csv", ".parquet")):
        reports = PAIR.collect(PEOPLE.assign(**{name: values}), rng=RNG(11), keep=[name])
        path = tmp_path / f"{name}{suffix}"
        if suffix in way:
            files.write(reports, path)
            assert files.read(path)[name].tolist() == reports[name].tolist()
        else:
            with pytest.raises(ValueError, match="frame must have columns that a"):
                files.write(reports, path)
            assert not path.exists()


# What is typed.


@pytest.mark.parametrize("how", [95, "0.95", True, 1.0, 0, np.nan, [0.95], decimal.Decimal("0.95"), np.array(0.95)])
def test_a_confidence_is_a_share(how):
    with pytest.raises((TypeError, ValueError), match="confidence must be a number above 0 and below 1"):
        PAIR.estimate(REPORTS, confidence=how)


@pytest.mark.parametrize("how", [1, "Poisson", "srs", None, 0, "with_replacement", np.True_])
def test_a_way_of_sampling_is_one_of_those_named(how):
    reports = REPORTS.assign(w=2.0)
    with pytest.raises(ValueError, match="sampling must be a bool, 'poisson' or 'with replacement'"):
        PAIR.estimate(reports, weights="w", sampling=how)
    with pytest.raises(ValueError, match="weights must be given with population, and with a sampling"):
        PAIR.estimate(reports, sampling=how)
    with pytest.raises(TypeError, match="sampling must be True or False"):
        PAIR.query({"ill": "yes"}, reports, sampling=how)


@pytest.mark.parametrize(
    "how", [{"N": 1_200}, pd.Series([1_200]), "1200", np.array(1_200), 1_000, True, np.nan, np.inf]
)
def test_a_population_is_one_number(how):
    reports = REPORTS.assign(w=2.0)
    with pytest.raises(ValueError, match="population must be near the sum of the weights, 1200"):
        PAIR.estimate(reports, weights="w", population=how)
    assert PAIR.estimate(reports, weights="w", population=np.int64(1_200)).equals(
        PAIR.estimate(reports, weights="w", population=1_200.0)
    )


def test_a_table_that_matters_is_one_of_shares():
    table = np.array([[0.3, 0.2, 0.1], [0.1, 0.1, 0.2]])
    right = dependence.users_to_see(PAIR.mechanism, table, 0, 1)
    assert dependence.users_to_see(PAIR.mechanism, pd.DataFrame(table), 0, 1) == right
    for wrong in (100 * table, table / table.sum(axis=1, keepdims=True), np.where(table < 0.2, np.nan, table)):
        with pytest.raises(ValueError, match="table must hold probabilities"):
            dependence.users_to_see(PAIR.mechanism, wrong, 0, 1)


DOSES = Survey({"dose": ["0", "0.5", "<5", "5-9", ">=20", "5 µg", "1000", "else"]}, 1.0, other="else")


@pytest.mark.parametrize(
    "answer", ["0,5", "5e-1", "＜5", "5‑9", "5\N{MINUS SIGN}9", "5 μg", "5µg", "1,000", "1 000", "00"]
)
def test_a_dose_that_reads_like_a_label_is_not_put_to_other(answer):
    with pytest.raises(ValueError, match="reads like"):
        DOSES.encode(pd.DataFrame({"dose": [answer]}))


@pytest.mark.parametrize("answer", ["≤5", "≥20", "=>20", "5 mcg", "1'000", "05-09", "5 to 9", "O"])
def test_a_dose_in_other_signs_goes_to_other_as_the_page_says(answer):
    assert DOSES.encode(pd.DataFrame({"dose": [answer]})).item() == 7

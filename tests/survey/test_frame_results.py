"""What reports tell, checked by enumeration where it is small and by coverage where it is not."""

import itertools

import numpy as np
import pandas as pd
import pytest

from ldp_lib import GRR, OUE, SPL, AskSome, OneQuestion, Population, RRIndependent, RRJoint, Survey, check, recommend
from ldp_lib.survey import _estimates as estimates
from ldp_lib.survey import _files as files
from ldp_lib.survey import planner
from ldp_lib.survey.aggregate import aggregate
from ldp_lib.tables import queries

DOMAIN = {"a": ["x", "y"], "b": ["p", "q", "r"]}


def people(counts, rng=None):
    """Return a frame with so many people in each cell, shuffled if a generator is given."""
    cells = Population.from_counts(counts).users()
    cells = cells if rng is None else rng.permutation(cells)
    return pd.DataFrame({name: np.array(labels)[cells[:, j]] for j, (name, labels) in enumerate(DOMAIN.items())})


def outcomes(grr, values, designs):
    """Yield the probability, the sampling people and their reports, for every sample and all its reports."""
    channel = grr.channel()
    for chance, sample in designs:
        for y in itertools.product(range(grr.k), repeat=len(sample)):
            yield chance * np.prod([channel[values[i], v] for i, v in zip(sample, y, strict=True)]), sample, y


POISSON = [
    (np.prod([p if i in sample else 1 - p for i, p in enumerate((0.5, 0.8, 0.4))]), sample)
    for size in range(1, 4)
    for sample in itertools.combinations(range(3), size)
]


PAIRS = [(0.5, (0, 1)), (0.3, (1, 2)), (0.2, (0, 2))]  # samples of two people, with unequal probabilities


@pytest.mark.filterwarnings("ignore:weights of those")
def test_the_page_s_variance_of_any_design_is_unbiased_by_enumeration():
    """With joint inclusion probabilities, over all samples and all reports; the foil is that of Poisson sampling."""
    grr, values, both = GRR(k=2, epsilon=1.0), np.array([0, 1, 1]), np.zeros((3, 3))
    for probability, sample in PAIRS:
        both[np.ix_(sample, sample)] += probability
    moments = np.zeros((4, 2))
    for probability, sample, y in outcomes(grr, values, PAIRS):
        z, joint = np.array([grr.estimate(np.array([v])) for v in y]), both[np.ix_(sample, sample)]
        w = 1 / np.diag(joint)
        stated = np.diag(z.T @ (np.outer(w, w) - 1 / joint) @ z) + w @ (z**2 - z)
        foil = estimates.weighted_shares(z, w, population=3, sampling="poisson")[1] * 9
        moments += probability * np.array([w @ z, (w @ z) ** 2, stated, foil])
    mean, square, stated, foil = moments
    assert mean == pytest.approx([1, 2])
    assert stated == pytest.approx(square - mean**2)
    assert not np.allclose(foil, square - mean**2, rtol=0.05)


@pytest.mark.filterwarnings("ignore:weights of those")
def test_weighted_variances_are_unbiased_by_enumeration():
    """Horvitz and Thompson's total and its variance estimate, over all samples and all reports."""
    grr, values = GRR(k=2, epsilon=1.0), np.array([0, 1, 1])
    weights, total = 1 / np.array([0.5, 0.8, 0.4]), 0.0
    means, squares, stated, fixed = np.zeros(2), np.zeros(2), np.zeros(2), np.zeros(2)
    for chance, sample, y in outcomes(grr, values, POISSON):
        z = np.array([grr.estimate(np.array([v])) for v in y])
        w = weights[list(sample)]
        shares, variance = estimates.weighted_shares(z, w, population=3, sampling="poisson")
        noise = estimates.weighted_shares(z, w, population=3)[1]
        total += chance
        means += chance * shares
        squares += chance * shares**2
        stated += chance * variance
        fixed += chance * noise
    missed = 1 - total  # Poisson's empty sample estimates 0
    assert missed == pytest.approx(0.5 * 0.2 * 0.6)
    assert means == pytest.approx([1 / 3, 2 / 3])
    assert stated == pytest.approx(squares - means**2)
    assert (fixed < stated - 0.01).all()  # the foil: without the design's part


def test_hajek_shares_with_equal_weights_are_means_of_contributions():
    rng, survey = np.random.default_rng(1), Survey(DOMAIN, 1.0, SPL(k=(2, 3), epsilon=1.0))
    frame = people([[30, 20, 10], [5, 15, 20]], rng).assign(w=3.0)
    given = survey.collect(frame, rng=rng, weights="w")
    plain = survey.estimate(given)
    weighted = survey.estimate(given, weights="w")
    assert weighted["estimate"].to_numpy() == pytest.approx(plain["estimate"].to_numpy())
    assert survey.contributions(given).drop(columns="w").mean().to_numpy() == pytest.approx(
        plain["estimate"].to_numpy()
    )
    totals = survey.estimate(given, weights="w", population=400)["estimate"].to_numpy()
    assert totals == pytest.approx(plain["estimate"].to_numpy() * 300 / 400)
    for sampling in (True, "poisson", "with replacement"):
        wider = survey.estimate(given, weights="w", sampling=sampling)
        assert (wider["standard_error"] > weighted["standard_error"]).all()


@pytest.mark.parametrize(
    ("mechanism", "sampling"),
    [
        (OneQuestion(k=(2, 3), epsilon=3.0), True),
        (OneQuestion(k=(2, 3), epsilon=3.0, groups=False), "with replacement"),
        (AskSome(k=(2, 3), epsilon=3.0), True),
    ],
    ids=["groups", "alone", "some"],
)
def test_weighted_intervals_cover_the_population(mechanism, sampling):
    """Poisson samples of a population in which the weight depends on the answer; unweighted shares miss it."""
    rng, survey = np.random.default_rng(4), Survey(DOMAIN, 3.0, mechanism)
    everybody = people([[300, 200, 100], [100, 200, 300]], rng)
    everybody["w"] = np.where(everybody["a"] == "x", 1.5, 4.0)
    hits, plain = [], []
    for _ in range(60):
        sample = everybody[rng.random(len(everybody)) < 1 / everybody["w"]]
        given = survey.collect(sample, rng=rng, weights="w")
        found = survey.estimate(given, weights="w", sampling=sampling, confidence=0.9)
        hits.append(found["low"][0] <= 0.5 <= found["high"][0])
        wrong = survey.estimate(given, sampling=True, confidence=0.9)
        plain.append(wrong["low"][0] <= 0.5 <= wrong["high"][0])
    spread = np.sqrt(0.9 * 0.1 / len(hits))
    assert np.mean(hits) > 0.9 - 5 * spread > np.mean(plain)


@pytest.mark.parametrize("sampling", [False, True])
def test_intervals_cover_as_often_as_they_say(sampling):
    """People held fixed, or drawn anew each time: with the error of drawing left out, intervals cover too rarely."""
    mechanism = recommend(k=(2, 3), epsilon=4.0, n=600, wants="tables").mechanism
    survey, rng = Survey(DOMAIN, 4.0, mechanism), np.random.default_rng(5)
    law = np.array([[0.3, 0.2, 0.1], [0.05, 0.1, 0.25]])
    truths = {"shares": np.hstack([law.sum(axis=1), law.sum(axis=0)]), "table": law.ravel(), "difference": np.zeros(5)}
    hits = {(name, drawn): [] for name in truths for drawn in (sampling, False)}
    for _ in range(120):
        counts = rng.multinomial(600, law.ravel(), size=2) if sampling else [600 * law.ravel()] * 2
        frames = (people(np.reshape(part, (2, 3)).round().astype(int)) for part in counts)
        one, other = (survey.collect(frame, rng=rng) for frame in frames)
        for drawn in {sampling, False}:
            options = {"confidence": 0.8, "sampling": drawn}
            found = {"shares": survey.estimate(one, **options), "table": survey.table("a", "b", one, **options)}
            found["difference"] = survey.difference(one, other, **options)
            for name, part in found.items():
                hits[name, drawn].append(((part["low"] <= truths[name]) & (truths[name] <= part["high"])).mean())
    for (name, drawn), shares in hits.items():
        far = check.mean_z(np.array(shares), 0.8)
        assert far < 5 or drawn != sampling
        assert far > 5 or drawn == sampling or name == "table"


@pytest.mark.parametrize("groups", [True, False])
@pytest.mark.parametrize("make", [OneQuestion, AskSome, RRIndependent])
def test_covariances_of_values_have_the_mechanism_s_variances(make, groups):
    more = {} if make is RRIndependent else {"groups": groups}
    mechanism, n = make(k=(2, 5), epsilon=1.5, **more), 10_000
    shares = [np.array([0.3, 0.7]), np.array([0.1, 0.2, 0.3, 0.15, 0.25])]
    for j, variance in enumerate(mechanism.variance(planner.plug_in_population(shares, n))):
        covariance = estimates.value_covariance(mechanism, shares, j, n, False)
        assert np.diag(covariance) == pytest.approx(variance, rel=1e-3)  # groups are rounded to whole people
        assert abs(covariance.sum()) < 1e-9 or not groups
    unknown = estimates.value_covariance(SPL(k=(2, 5), epsilon=1.5), shares, 0, n, False)
    assert np.isnan(unknown).tolist() == [[False, True], [True, False]]


def test_a_query_is_a_sum_of_shares_or_cells(tmp_path):
    rng, survey = np.random.default_rng(6), Survey(DOMAIN, 2.0, RRIndependent(k=(2, 3), epsilon=2.0))
    given = survey.collect(people([[30, 20, 10], [5, 15, 20]]), rng=rng)
    shares = survey.estimate(given).set_index("value")["estimate"]
    cells = survey.table("b", "a", given)["estimate"]
    files.write(given, tmp_path / "a.parquet")
    for form in (given, tmp_path / "a.parquet", aggregate(given, survey.mechanism)):
        assert survey.query({"b": ["q", "p"]}, form).estimate == pytest.approx(shares["q"] + shares["p"])
    both = survey.query({"a": "y", "b": ["q", "p"]}, given)
    assert both.estimate == pytest.approx(cells["q", "y"] + cells["p", "y"])
    assert survey.query({"a": ["x", "y"], "b": "q"}, given).estimate == pytest.approx(shares["q"])
    assert survey.query({"b": ["p", "q", "r"]}, given).standard_error ** 2 < 1e-12 * both.standard_error**2  # rounding
    assert both.low < both.estimate < both.high
    one = Survey(DOMAIN, 2.0, SPL(k=(2, 3), epsilon=2.0))
    given = one.collect(people([[30, 20, 10], [5, 15, 20]]), rng=rng)
    alone = one.estimate(given).set_index("value").loc["q"]
    assert one.query({"b": "q"}, given).standard_error == pytest.approx(alone["standard_error"])
    with pytest.raises(TypeError, match="where must name one label"):
        one.query({"b": ["q", "p"]}, given)


def test_tables_do_not_depend_on_how_reports_lie(tmp_path, monkeypatch):
    survey = Survey(DOMAIN, 2.0, recommend(k=(2, 3), epsilon=2.0, n=500, wants="tables").mechanism)
    given = survey.collect(people([[90, 80, 70], [60, 100, 100]]), rng=np.random.default_rng(7))
    for i in range(5):
        files.write(given[100 * i : 100 * (i + 1)], tmp_path / f"{i}.parquet")
    whole = survey.table("a", "b", given)
    assert survey.table("a", "b", tmp_path).equals(whole)
    assert survey.table("b", "a", given)["estimate"].unstack().T.to_numpy() == pytest.approx(
        whole["estimate"].unstack().to_numpy()
    )
    projected = survey.table("a", "b", given, projected=True)
    assert projected["estimate"].sum() == pytest.approx(1)
    assert projected["low"].equals(whole["low"])  # intervals stay those of the raw estimates
    wider = survey.table("a", "b", given, simultaneous=True)
    assert (wider["high"] > whole["high"]).all()


def test_a_table_keeps_the_order_of_the_domain():
    """Sorted as texts, "12" would stand before "<12", and each row of an array under another's name."""
    domain = {"educ": ["<12", "12", "13+"], "married": [True, False], "children": [2, 0, 10]}
    survey = Survey(domain, 9.0, recommend(k=(3, 2, 3), epsilon=9.0, n=300, wants="tables").mechanism)
    frame = pd.DataFrame({"educ": ["<12"] * 900, "married": [False] * 900, "children": [10] * 900})
    given = survey.collect(frame, rng=np.random.default_rng(1))
    table = survey.table("educ", "married", given)
    square = table["estimate"].unstack()
    assert [list(square.index), list(square.columns)] == [domain["educ"], domain["married"]]
    assert np.array_equal(square.to_numpy().ravel(), table["estimate"])
    assert table["estimate"].idxmax() == ("<12", False)
    assert table.loc[("<12", False), "estimate"] == square.loc["<12", False] > 0.9
    assert list(survey.table("children", "educ", given)["estimate"].unstack().index) == [2, 0, 10]
    square["all"] = square.sum(axis=1)
    assert list(square.columns) == [True, False, "all"]


def test_dependence_is_found_and_p_values_are_adjusted():
    domain = {**DOMAIN, "c": ["u", "v"]}
    rng = np.random.default_rng(8)
    frame = people([[900, 0, 0], [0, 100, 1000]]).assign(c=rng.choice(["u", "v"], 2_000))
    survey = Survey(domain, 4.0, recommend(k=(2, 3, 2), epsilon=4.0, n=2_000, wants="tables").mechanism)
    given = survey.collect(frame, rng=rng)
    raw = survey.associations(given, adjust=None)
    assert raw.loc[0, ["a", "b"]].tolist() == ["a", "b"]
    p = raw["p_value"].to_numpy()
    assert p[0] < 1e-6 < p[1]
    holm = survey.associations(given)["adjusted"].to_numpy()
    assert holm == pytest.approx([3 * p[0], min(max(3 * p[0], 2 * p[1]), 1), min(max(2 * p[1], p[2]), 1)])
    explored = survey.associations(given, adjust="benjamini-hochberg")["adjusted"].to_numpy()
    assert explored == pytest.approx([min(3 * p[0], 1.5 * p[1], p[2]), min(1.5 * p[1], p[2]), p[2]])
    with pytest.raises(ValueError, match="method must be"):
        survey.associations(given, adjust="bonferroni")


def test_made_up_people_are_biased_and_among_few_users_nearer_to_the_truth_than_the_raw_table():
    rng, labels = np.random.default_rng(6), {"a": [*"wxyz"], "b": [*"pqrstuv"]}
    frame = pd.DataFrame({"a": rng.choice([*"xy"], 300), "b": rng.choice([*"pq"], 300)})
    survey, off = Survey(labels, 1.0, mechanism=AskSome(k=(4, 7), epsilon=1.0, m=2)), []

    def table(found):
        return found.reindex(index=labels["a"], columns=labels["b"], fill_value=0)

    truth = table(pd.crosstab(frame["a"], frame["b"], normalize=True))
    for _ in range(8):
        reports = survey.collect(frame, rng=rng)
        drawn = survey.synthetic(500, reports, rng=rng)
        made = table(pd.crosstab(drawn["a"], drawn["b"], normalize=True))
        raw = table(survey.table("a", "b", reports)["estimate"].unstack())
        off.append([((one - truth) ** 2).to_numpy().sum() for one in (raw, made)] + [made[[*"rstuv"]].to_numpy().sum()])
    raw, synthetic, nobody = np.transpose(off)
    saved = raw - synthetic
    assert saved.mean() > 5 * saved.std(ddof=1) / 8**0.5
    assert nobody.max() > nobody.min() >= 0  # so the mean is not 0, the truth


def test_synthetic_people_have_the_estimated_table():
    survey = Survey(DOMAIN, 6.0, recommend(k=(2, 3), epsilon=6.0, n=5_000, wants="tables").mechanism)
    given = survey.collect(people([[1500, 500, 0], [0, 1000, 2000]]), rng=np.random.default_rng(9))
    made = survey.synthetic(20_000, given, rng=np.random.default_rng(10))
    wanted = survey.table("a", "b", given, projected=True)["estimate"].unstack().to_numpy()
    found = pd.crosstab(made["a"], made["b"], normalize=True).to_numpy()
    assert abs(found - wanted).max() < 5 * np.sqrt(0.25 / 20_000) + 0.01  # repaired tables differ a little
    assert abs(found.T.reshape(2, 3) - wanted).max() > 0.1
    with pytest.raises(ValueError, match="at least two attributes"):
        Survey({"a": ["x", "y"]}, 1.0).synthetic(3, given, rng=np.random.default_rng(1))


def test_simultaneous_intervals_are_wider_by_bonferroni():
    survey = Survey({"a": ["x", "y"]}, 1.0, OUE(k=2, epsilon=1.0))
    given = survey.collect(people([[30, 20, 10], [5, 15, 20]]), rng=np.random.default_rng(1))
    wide = survey.estimate(given, confidence=0.9, simultaneous=True)
    narrow = survey.estimate(given, confidence=0.95)
    assert wide["low"].to_numpy() == pytest.approx(narrow["low"].to_numpy())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"weights": "nothing"}, "weights must name a column"),
        ({"sampling": "poisson"}, "weights must be given"),
        ({"population": 10}, "weights must be given"),
        ({"weights": "w", "sampling": "cluster"}, "sampling must be"),
        ({"weights": "w", "sampling": np.eye(3)}, "sampling must be a bool, 'poisson'"),
        ({"weights": "w", "population": 0}, "population must be"),
        ({"weights": "w", "population": 100}, "population must be near the sum of the weights, 200; got 100"),
        ({"weights": "w", "population": 300}, "population must be near the sum of the weights, 200; got 300"),
        ({"weights": "low"}, "weights must be 100 numbers from 1"),
        ({"confidence": 1.0}, "confidence must be"),
    ],
)
def test_unfit_options_are_named(options, told):
    survey = Survey(DOMAIN, 1.0)
    frame = people([[30, 20, 10], [5, 15, 20]]).assign(w=2.0, low=0.5)
    given = survey.collect(frame, rng=np.random.default_rng(1), keep=["w", "low"])
    with pytest.raises(ValueError, match=told):
        survey.estimate(given, **options)


def test_raw_intervals_are_raw_where_shares_are_projected():
    survey = Survey({"a": ["x", "y", "z"]}, 0.3, GRR(k=3, epsilon=0.3))
    given = survey.collect(pd.DataFrame({"a": ["x"] * 200}), rng=np.random.default_rng(3))
    raw, shown = survey.estimate(given), survey.estimate(given, projected=True)
    assert raw["estimate"].min() < -0.01
    for found in (raw, shown):
        middle = (found["low"] + found["high"]) / 2
        assert middle.to_numpy() == pytest.approx(raw["estimate"].to_numpy())
    assert not np.allclose(shown["estimate"], raw["estimate"])


def test_a_table_s_axes_follow_the_names_and_not_the_frame():
    labels = ["x", "y", "z"]
    survey = Survey({"a": labels, "b": labels}, 12.0, RRJoint(k=(3, 3), epsilon=12.0))
    frame = pd.DataFrame({"b": ["z"] * 500, "a": ["y"] * 500})
    given = survey.collect(frame, rng=np.random.default_rng(6))
    assert survey.table("a", "b", given)["estimate"].idxmax() == ("y", "z")
    assert survey.table("b", "a", given)["estimate"].idxmax() == ("z", "y")
    assert Population.from_records(survey.encode(frame), k=(3, 3)).joint[1, 2] == 1


@pytest.mark.parametrize("sampling", [False, True])
@pytest.mark.parametrize("make", [AskSome, RRIndependent])
def test_a_share_within_others_covers_as_often_as_it_says(make, sampling):
    """The delta method's interval; the foil takes its two shares for independent, and covers too often."""
    rng, law = np.random.default_rng(7), np.array([[0.05, 0.2, 0.1], [0.3, 0.05, 0.3]])
    more = {"m": 2} if make is AskSome else {}
    survey, hits, foils = Survey(DOMAIN, 4.0, make(k=(2, 3), epsilon=4.0, **more)), [], []
    for _ in range(200):
        counts = rng.multinomial(2_000, law.ravel()) if sampling else 2_000 * law.ravel()
        reports = survey.collect(people(np.reshape(counts, (2, 3)).round().astype(int)), rng=rng)
        among, options = {"b": ["p", "r"]}, {"confidence": 0.5, "sampling": sampling}
        found = survey.query({"a": "y"}, reports, given=among, **options)
        both, base = (survey.query(where, reports, **options) for where in ({"a": "y"} | among, among))
        hits.append(found.low <= 0.8 <= found.high)
        assert found.estimate == pytest.approx(both.estimate / base.estimate, rel=0.1)
        loose = np.hypot(both.standard_error, found.estimate * base.standard_error) / base.estimate
        foils.append(abs(found.estimate - 0.8) < 0.6745 * loose)
    assert check.mean_z(np.array(hits), 0.5) < 5
    assert make is RRIndependent or check.mean_z(np.array(foils), 0.5) > 5


def test_a_share_within_others_is_that_of_whole_records_by_queries():
    rng, survey = np.random.default_rng(8), Survey(DOMAIN, 2.0, RRIndependent(k=(2, 3), epsilon=2.0))
    given = survey.collect(people([[300, 200, 100], [50, 150, 400]]), rng=rng)
    found = survey.query({"b": ["q", "r"]}, given, given={"a": "y"})
    y = files.from_frame(given, survey.mechanism)
    wanted = queries.ask(survey.mechanism, y, {1: [1, 2]}, given={0: [1]})
    assert found.estimate == pytest.approx(wanted.estimate)
    assert found.standard_error == pytest.approx(np.sqrt(wanted.variance), rel=0.05)  # both are estimates
    with pytest.raises(ValueError, match="attributes must be different ones"):
        survey.query({"a": "x"}, given, given={"a": "y"})
    with pytest.raises(TypeError, match="where and given must map attributes"):
        survey.query({"a": "x"}, given, given=["p"])
    few = survey.collect(people([[300, 200, 100], [2, 0, 0]]), rng=rng)
    with pytest.raises(ValueError, match=r"given must hold more people; .* is near the noise"):
        survey.query({"b": "q"}, few, given={"a": "y"})

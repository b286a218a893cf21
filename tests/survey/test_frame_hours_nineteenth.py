"""An hour of a survey statistician: products of contributions, many pairs and questions at once, weights, plans."""

import itertools
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, chi2
from test_frame_hours_seventeenth import close, joint_tables, p_values, strong

from ldp_lib import (
    BRR,
    GRR,
    OLH,
    RSFD,
    RSRFD,
    SPL,
    AskSome,
    OneQuestion,
    ProductRR,
    RRClusters,
    RRIndependent,
    RRJoint,
    SubsetSelection,
    Survey,
    UnaryEncoding,
    recommend,
    required_users,
)
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.sampled import design
from ldp_lib.survey import _labels, files
from ldp_lib.survey._estimates import as_counted, contributions, value_covariance, weighted_shares
from ldp_lib.survey._intervals import half_width, joined, standard_errors
from ldp_lib.survey.aggregate import aggregate
from ldp_lib.tables import dependence, queries
from ldp_lib.tables._independence import p_value
from ldp_lib.tables.covariance import table_covariance

RNG = np.random.default_rng
BOOK = Path(__file__).resolve().parents[2] / "book"
UNEVEN = ((0.8, 0.2), (0.35, 0.65))
PEOPLE = pd.DataFrame({"a": ["n", "y", "n", "n"] * 100, "b": [0, 1, 2, 0, 1] * 80, "w": [1.0, 2.0, 3.0, 2.0] * 100})
PAIR = Survey({"a": ["n", "y"], "b": [0, 1, 2]}, 2.0, RRIndependent(k=(2, 3), epsilon=2.0))
REPORTS = PAIR.collect(PEOPLE, rng=RNG(1), weights="w")


# ---------------------------------------------------------------- what the pages say since
@pytest.mark.parametrize(
    ("mechanism", "alone"),
    [
        (RRIndependent(k=(2, 3), epsilon=2.0), True),
        (SPL(k=(2, 3), epsilon=2.0), True),
        (BRR(k=(2, 3), epsilon=2.0), True),
        (RRJoint(k=(2, 3), epsilon=2.0), False),
        (AskSome(k=(2, 3), epsilon=2.0, m=2, sizes=(1, 1)), False),
        (RRClusters(k=(2, 3), epsilon=2.0, clusters=((0, 1),)), False),
        (OneQuestion(k=(2, 3), epsilon=2.0), False),
        (RSFD(k=(2, 3), epsilon=2.0), False),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_product_of_two_contributions_tells_of_both_only_if_each_question_is_randomized_alone(mechanism, alone):
    """By enumeration of all reports: the covariance of two columns, where the answers are independent and not."""
    table, reports = np.array([[0.05, 0.03, 0.02], [0.1, 0.2, 0.6]]), mechanism.reports()
    z = contributions(mechanism, files.to_frame(reports))[:, [0, 2]]
    for truth in (table, np.outer(table.sum(axis=1), table.sum(axis=0))):
        law = truth.ravel() @ mechanism.channel()
        a, b = law @ z
        own = truth[0].sum(), truth[:, 0].sum()
        assert (a, b) == pytest.approx(own)
        apart = law @ z.prod(axis=1) - a * b - (truth[0, 0] - np.prod(own))
        assert abs(apart) < 1e-12 if alone else abs(apart) > 0.05
    said = (
        "of two answers and of three, are independent, .* is 0.07 with `RRJoint` and with `AskSome` .* -0.07 with one"
    )
    assert re.search(said, " ".join((BOOK / "survey.md").read_text(encoding="utf-8").split()))
    told = {RRJoint: "0.07", AskSome: "0.07", OneQuestion: "-0.07"}.get(type(mechanism))
    assert told in (None, f"{apart:.2f}")


@pytest.mark.parametrize("groups", [True, False])
def test_a_difference_of_two_labels_of_one_question_has_the_error_that_three_queries_tell(groups):
    """As the page says; the root of the sum of squares is too small, for two labels by the root of 2."""
    contrast, people = np.array([1, -1, 0]), PEOPLE[["a", "b"]]
    for mechanism in (OneQuestion(k=(2, 3), epsilon=2.0, groups=groups), PAIR.mechanism):
        survey = Survey(PAIR.domain, 2.0, mechanism)
        reports = survey.collect(people, rng=RNG(2))
        one, other, both = (survey.query({"b": which}, reports) for which in (0, 1, [0, 1]))
        told = 2 * one.standard_error**2 + 2 * other.standard_error**2 - both.standard_error**2
        counts = aggregate(reports, mechanism)
        now = as_counted(mechanism, counts.counts)
        cov = value_covariance(now, now.estimate_counts(counts.counts), 1, counts.n, False)
        assert told == pytest.approx(contrast @ cov @ contrast)
        assert told > 1.1 * (one.standard_error**2 + other.standard_error**2)
        yes, no, all_ = (survey.query({"a": which}, reports) for which in ("y", "n", ["y", "n"]))
        told = (2 * yes.standard_error**2 + 2 * no.standard_error**2 - all_.standard_error**2) ** 0.5
        assert told == pytest.approx(2**0.5 * np.hypot(yes.standard_error, no.standard_error))


def test_shares_of_two_questions_from_the_same_reports_depend_on_each_other():
    """As the page says: the root of the sum of squares may be too small or too large, but with questions alone."""
    held = np.arange(600) < 60
    for mechanism, wanted, foil in (
        (OneQuestion(k=(2, 2), epsilon=6.0), 1.95, 1.0),
        (AskSome(k=(2, 2), epsilon=2.0, m=2, sizes=(1, 1)), 0.62, 1.0),
        (RRIndependent(k=(2, 2), epsilon=2.0), 1.0, 1.25),
    ):
        people, runs = Population.from_records(np.c_[held, held].astype(int), k=(2, 2)), 4_000
        a, b = (each[:, 1] for each in mechanism.simulate(people, rng=RNG(16), runs=runs))
        seen = (a - b).var() / (a.var() + b.var())
        assert abs(seen / wanted - 1) < 5 * (2 / runs) ** 0.5 < abs(foil / wanted - 1)


def difference_over_root(covariance):
    """The standard error of a difference, over the root of the sum of both squares."""
    own = np.trace(covariance)
    return float((1 - 2 * covariance[0, 1] / own) ** 0.5)


def all_alike(mechanism, columns):
    """The exact covariance of two contributions, all reports listed, for each record that all people may hold."""
    z = contributions(mechanism, files.to_frame(mechanism.reports()))[:, columns]
    rows = np.asarray(mechanism.channel(), dtype=float)
    return [np.cov(z.T, aweights=row, ddof=0) for row in rows]


def test_a_mean_s_own_error_is_too_large_where_each_is_dealt_one_of_ten_questions():
    """The page said by up to 1.5 times, for any ε; exact errors with people drawn, who all say yes, or half of them."""
    text, n, found = " ".join((BOOK / "survey.md").read_text(encoding="utf-8").split()), 20_000, []
    for epsilon, share in ((2.0, 1.0), (4.0, 1.0), (4.0, 0.5)):
        mechanism, people = OneQuestion(k=(2,) * 10, epsilon=epsilon), np.arange(n)[:, None] < share * n
        reports = mechanism.perturb(np.repeat(people, 10, axis=1).astype(int), rng=RNG(3))
        told = contributions(mechanism, files.to_frame(reports))[:, 1].std() / n**0.5
        true = value_covariance(mechanism, [np.array([1 - share, share])] * 10, 0, n, True)[1, 1] ** 0.5
        found.append(told / true)
    assert "too large by up to {:.1f} times at ε = 2 and {:.1f} times at 4, the most".format(*found[:2]) in text
    assert found[2] == pytest.approx(1, abs=0.02)


def test_the_error_of_a_difference_is_within_what_the_page_says_whatever_people_hold():
    """Data held fixed, variances and covariance are linear in the population: people who all agree are worst."""
    text = " ".join((BOOK / "survey.md").read_text(encoding="utf-8").split())
    tenths = np.array([f for f in itertools.product(range(11), repeat=4) if sum(f) <= 10])
    people, drawn = np.c_[tenths, 10 - tenths.sum(axis=1)] / 10, []
    alone = {1.0: "{:.2f} to {:.2f} times at ε = 1 and", 2.0: "{:.2f} to {:.2f} at 2, whatever", 4.0: ""}
    for epsilon, place in alone.items():
        for mechanism in (GRR(k=5, epsilon=epsilon), SubsetSelection(k=5, epsilon=epsilon)):
            covariances = np.array(all_alike(mechanism, [0, 1]))
            ratios = [*map(difference_over_root, covariances)]
            assert place.format(min(ratios), max(ratios)) in text
            sampled = np.einsum("fx,xij->fij", people, covariances) - people[:, :2, None] * people[:, None, :2]
            sampled[:, [0, 1], [0, 1]] += people[:, :2]
        drawn.append(max(map(difference_over_root, sampled)))
        asked = OneQuestion(k=(5,) * 3, epsilon=epsilon)  # groups are drawn from the people
        of_three = [value_covariance(asked, [f] * 3, 0, 30_000, False)[:2, :2] for f in people]
        assert max(ratios) + 0.01 < max(map(difference_over_root, of_three)) < drawn[-1]
    assert "this one question. If each is asked one of several, or with `sampling=True`, it is up to" in text
    assert "up to {:.2f}, {:.2f} and, at 4, {:.2f} times".format(*drawn) in text
    assert {round(x, 6) for x in map(difference_over_root, all_alike(GRR(k=2, epsilon=2.0), [0, 1]))} == {1.414214}
    for epsilon, place in ((2.0, "{:.2f} to {:.2f} times that root at ε = 2"), (6.0, "{:.2f} to {:.2f} times at 6")):
        kinds = (
            OneQuestion(k=(2, 2), epsilon=epsilon, groups=False),
            AskSome(k=(2, 2), epsilon=epsilon, m=2),
            RSFD(k=(2, 2), epsilon=epsilon),
            RRIndependent(k=(2, 2), epsilon=epsilon),
        )
        found = [[*map(difference_over_root, all_alike(mechanism, [1, 3]))] for mechanism in kinds]
        assert place.format(min(map(min, found)), max(map(max, found))) in text
        assert found[0][0] == pytest.approx(max(map(max, found)))
        assert found[0][1] == pytest.approx(min(map(min, found)))
        assert found[3] == pytest.approx([1] * 4)
        noise = np.exp(epsilon) / np.expm1(epsilon) ** 2  # in groups, half of the people yes: n times the variances
        groups = [((4 * noise + 0.5 + part) / (4 * noise + 0.5)) ** 0.5 for part in (0.5, -0.5)]
        assert found[0][:2] == pytest.approx(groups)


def test_two_shares_within_given_depend_on_each_other():
    """By the delta method, as `query` does, from the covariance of the four cells."""
    mechanism = RRIndependent(k=(2, 2), epsilon=1.0)
    covariance = table_covariance(mechanism, np.full((2, 2), 0.25), 0, 1, n=1_000, sampling=False)
    yes, other, no = np.array([[-1, 0, 1, 0], [0, -1, 0, 1], [1, 0, -1, 0]])
    for second, said in ((other, "1.38 times for yes of the one half"), (no, "1.41 times for yes less no of the same")):
        both = np.array([yes, second])
        found = difference_over_root(both @ np.asarray(covariance).reshape(4, 4) @ both.T)
        assert said.startswith(f"{found:.2f}")
        assert said in " ".join((BOOK / "survey.md").read_text(encoding="utf-8").split())


def pair_tests(questions, epsilon, held, each, runs, rng):
    """Return p-values of two independent yes-or-no questions of many, two asked a person, `each` about a pair."""
    pairs = questions * (questions - 1) // 2
    mechanism = AskSome(k=(2,) * questions, epsilon=epsilon, m=2, sizes=(1,) * questions, weights=(1,) * pairs)
    n, keep, grid = pairs * each, mechanism.keep[0], (0.0, 0.5, 1.0)
    monomials = lambda a, b: np.stack([a**i * b**j for i in range(3) for j in range(3)], axis=-1)  # noqa: E731
    free = lambda a, b: np.outer([1 - a, a], [1 - b, b])  # noqa: E731
    points = np.array([*itertools.product(grid, grid)])
    covariances = [table_covariance(mechanism, free(*point), 0, 1, n=n).ravel() for point in points]
    solved = np.linalg.solve(monomials(*points.T), covariances)
    told = rng.multinomial(each, keep * free(held, held).ravel() + (1 - keep) / 4, runs)
    asked = (questions - 1) * each  # about each of the two, most with another question
    yes = told @ [[0, 0], [0, 1], [1, 0], [1, 1]] + rng.binomial(asked - each, keep * held + (1 - keep) / 2, (runs, 2))
    code, place = np.unique(yes @ [asked + 1, 1], return_inverse=True)
    a, b = 0.5 + (np.array(np.divmod(code, asked + 1)) / asked - 0.5) / keep
    spread = (monomials(a.clip(0, 1), b.clip(0, 1)) @ solved).reshape(-1, 4, 4)
    slope = (
        np.eye(4)[0] - np.outer(1 - b, [1, 1, 0, 0]) - np.outer(1 - a, [1, 0, 1, 0])
    )  # of the first cell's departure
    variance = ((spread @ slope[..., None])[..., 0] * slope).sum(axis=1)[place]
    a, b, cross = a[place], b[place], (told @ [1, -1, -1, 1]) / 4 / each / keep
    found = chi2.sf((cross - (a - 0.5) * (b - 0.5)) ** 2 / variance, 1)
    raw = np.outer([0.5, 0.5], [0.5, 0.5]) + (a[0] - 0.5) * np.array([[-1], [1]]) / 2
    raw = raw + (b[0] - 0.5) * np.array([-1, 1]) / 2 + cross[0] * np.array([[1, -1], [-1, 1]])
    assert found[0] == pytest.approx(p_value(mechanism, raw, (0, 1), n), rel=1e-6)
    return found


@pytest.mark.parametrize(
    ("epsilon", "held", "each", "false", "runs"),
    [(2.0, 0.05, 10, 0.121, 250_000), (4.0, 0.02, 50, 0.236, 80_000)],
)
def test_of_hundreds_of_pairs_too_many_are_found_where_few_are_asked_about_each(epsilon, held, each, false, runs):
    """As the page says, of Holm's method for 276 pairs: single tests at 5 % hold, their outer tails do not."""
    p = pair_tests(24, epsilon, held, each, runs, RNG(3))
    assert (p < 0.05).mean() < 0.05 + 5 * (0.05 * 0.95 / runs) ** 0.5
    assert close((p < 0.05 / 276).mean(), false / 276, runs, 0.05 / 276)


def test_of_hundreds_of_pairs_few_are_found_where_hundreds_are_asked_about_each():
    runs = 40_000
    p = pair_tests(24, 2.0, 0.05, 200, runs, RNG(4))
    assert (p < 0.05 / 276).mean() < 0.05 / 276 + 5 * (0.05 / 276 / runs) ** 0.5
    assert close((p < 0.05).mean(), 0.05, runs, 0.06)


def cover(n, epsilon, share, z):
    """Return how often the interval of one of many yes-or-no questions, n asked, has the share of very many people."""
    p, q = GRR(k=2, epsilon=epsilon).probabilities
    raw = (np.arange(n + 1) / n - q) / (p - q)
    near = raw.clip(0, 1)
    spread = np.sqrt((near * p * (1 - p) + (1 - near) * q * (1 - q)) / n / (p - q) ** 2 + near * (1 - near) / n)
    return binom.pmf(np.arange(n + 1), n, share * p + (1 - share) * q) @ (abs(raw - share) <= z * spread)


@pytest.mark.parametrize(("questions", "few", "many"), [(50, 0.89, 0.95), (300, 0.83, 0.93)])
def test_all_intervals_of_many_questions_need_more_holders_among_those_asked(questions, few, many):
    """As the page says: n q is 20 and 47, and 21 and 200 of those asked hold the answer."""
    z = half_width(0.95, 2 * questions)
    assert cover(425, 3.0, 0.05, half_width(0.95)) > 0.93
    assert cover(425, 3.0, 0.05, z) ** questions == pytest.approx(few, abs=0.01)
    assert cover(1_000, 3.0, 0.2, z) ** questions > many
    mechanism = OneQuestion(k=(2,) * 50, epsilon=3.0)
    told = standard_errors(mechanism, [np.array([0.95, 0.05])] * 50, 50 * 425)[0][1]
    p, q = GRR(k=2, epsilon=3.0).probabilities
    noise = 0.05 * p * (1 - p) + 0.95 * q * (1 - q)
    assert told == pytest.approx((noise / (p - q) ** 2 / 425 + 0.05 * 0.95 / 425 * 49 / 50) ** 0.5, rel=1e-3)


def test_strong_dependence_of_three_labels_is_seen_less_often_than_planned():
    """As the page says; a plan with 0.9 mends it."""
    runs, mechanism, table = 8_000, RRJoint(k=(3, 3), epsilon=1.0), strong(3, 0.9)
    for chance, seen in ((0.8, 0.72), (0.9, 0.855)):
        n = dependence.users_to_see(mechanism, table, 0, 1, chance=chance)
        tables = joint_tables(mechanism, table, n, runs, RNG(5))
        assert close((p_values(mechanism, tables, n) < 0.05).mean(), seen, runs, chance)


def test_weights_that_go_with_an_answer_leave_fewer_to_count_on():
    """As the page says, of Horvitz and Thompson's totals above thirty even weights; of 200 they hold."""
    rng, runs, number, mechanism = RNG(6), 560, 5_000, GRR(k=2, epsilon=3.0)
    (p, q), weight = mechanism.probabilities, 1 + 120 * np.exp(rng.normal(-1.28, 1.6, number))
    score = np.log(weight) - np.log(weight).mean()
    holds = rng.random(number) < 1 / (1 + np.exp(-1.5 * score / score.std()))
    inside, even = [], []
    for _ in range(runs):
        who = rng.random(number) < 1 / weight
        own, w = holds[who], weight[who]
        even.append(w.sum() ** 2 / (w @ w))
        if even[-1] < 30 or abs(w.sum() - number) > 4 * np.sqrt(w @ (w - 1)) + w.max():
            continue  # it warns, or refuses
        z = (np.where(rng.random(own.size) < p, own, ~own) - q) / (p - q)
        share, variance = weighted_shares(z[:, None], w, population=number, sampling=True)
        inside.append(abs(share[0] - holds.mean()) <= 1.959964 * variance[0] ** 0.5)
    assert close(np.mean(inside), 0.88, len(inside), 0.96)
    assert 30 < np.median(even) < 120


def test_counts_tell_even_shares_of_a_question_that_nobody_was_asked_and_a_survey_refuses():
    """As the docstring says."""
    survey = Survey(PAIR.domain, 1.0)
    reports = survey.collect(PEOPLE, rng=RNG(7))
    left = reports[reports["report_asked"] == 0]
    assert aggregate(left, survey.mechanism).estimate()[1].tolist() == pytest.approx([1 / 3] * 3)
    with pytest.raises(ValueError, match="reports must ask each attribute of somebody"):
        survey.estimate(left)


# ---------------------------------------------------------------- what is mended
@pytest.mark.parametrize(("k", "epsilon"), [((2, 3), 40.0), ((2, 3), 700.0), ((5, 3, 2), 100.0)])
def test_tables_are_planned_where_rounding_leaves_no_error(k, epsilon):
    found = recommend(k=k, epsilon=epsilon, n=1_000, wants="tables")
    assert 0 <= found.points < 1e-6
    assert Survey({f"q{j}": [*range(size)] for j, size in enumerate(k)}, epsilon, found.mechanism)


def test_more_questions_than_sets_of_them_are_listed_are_told(monkeypatch):
    """From 5,001 questions on reports were collected, and then refused."""
    monkeypatch.setattr(design, "MOST_QUESTIONS", 50)
    mechanism, n = OneQuestion(k=(2,) * 53, epsilon=40.0), 1_060
    y = np.zeros(n, mechanism.dtype)
    y["asked"], y["report"][:, 0] = np.arange(n) // 20, np.arange(n) % 2
    counts = mechanism.count(y)
    told = as_counted(mechanism, counts)
    assert np.unique(np.array(told.estimate_counts(counts)).round(6)).tolist() == [0.5]
    y["asked"][y["asked"] == 7] = 8
    with pytest.raises(ValueError, match="reports must ask each attribute of somebody"):
        as_counted(mechanism, mechanism.count(y))


def test_questions_of_several_are_counted_for_each_attribute():
    mechanism = AskSome(k=(2, 2, 2), epsilon=1.0, m=2, sizes=(1, 1, 1), weights=(0, 1, 1))
    y = mechanism.perturb(np.zeros((600, 3), int), rng=RNG(8))
    assert as_counted(mechanism, mechanism.count(y)).weights == (0, 0.5, 0.5)
    alone = y[y["asked"] == 1]
    for wrong in (alone, np.r_[alone, y[y["asked"] == 2][:60]]):
        with pytest.raises(ValueError, match="reports must ask each attribute of somebody"):
            as_counted(mechanism, mechanism.count(wrong))


def test_fractions_are_numbers_too():
    plain = PAIR.estimate(REPORTS, confidence=0.95)
    assert PAIR.estimate(REPORTS, confidence=Fraction(19, 20))["low"].tolist() == pytest.approx(plain["low"].tolist())
    whole = float(REPORTS["w"].sum())
    for sampling in (True, "with replacement"):
        told = PAIR.estimate(REPORTS, weights="w", population=whole, sampling=sampling)
        same = PAIR.estimate(REPORTS, weights="w", population=Fraction(whole), sampling=sampling)
        pd.testing.assert_frame_equal(told, same)
    records = REPORTS[["report_0", "report_1"]].to_numpy()
    answer = queries.ask(PAIR.mechanism, records, {0: [1]})
    assert answer.interval(Fraction(19, 20)) == pytest.approx(answer.interval(0.95))


class Lazy:
    """A frame of other software: it yields its columns' names."""

    def __iter__(self):
        return iter(["report_0", "report_1"])

    def items(self):
        return iter([])


def test_a_frame_of_other_software_is_not_taken_for_a_list_of_paths():
    reads = (
        lambda reports: PAIR.table("a", "b", reports),
        lambda reports: PAIR.query({"a": "y", "b": 1}, reports),
        PAIR.contributions,
        PAIR.associations,
        lambda reports: PAIR.estimate(reports, weights="w"),
        lambda reports: PAIR.synthetic(5, reports, rng=RNG(1)),
    )
    for read in reads:
        with pytest.raises(TypeError, match="reports must be arrays, frames or paths, or for counts Dask's; got Lazy"):
            read(Lazy())


def test_a_groupby_by_path_with_a_column_called_items_is_read(tmp_path):
    path = tmp_path / "first.parquet"
    files.write(REPORTS[:200], path)
    grouped = REPORTS[200:].assign(items=1, path=str(path)).groupby("path")
    assert hasattr(grouped, "items")
    assert aggregate(grouped, PAIR.mechanism, survey=PAIR.description).n == 400


def test_errors_say_what_is_wrong():
    one = Survey({"a": [0, 1]}, 1.0)
    reports = one.collect(pd.DataFrame({"a": [0, 1] * 50}), rng=RNG(9))
    with pytest.raises(ValueError, match="as of two attributes"):
        one.associations(reports)
    with pytest.raises(ValueError, match=r"for 'b', as must given; got \[9\]"):
        PAIR.query({"a": "y"}, REPORTS, given={"b": 9})
    with pytest.raises(TypeError, match="domain must have labels such as texts or numbers for 'a'"):
        Survey({"a": [1, 2, (1, 2)]}, 1.0)
    with pytest.raises(ValueError, match=r"sum 1\.0000000"):
        RSRFD(k=(2, 2), epsilon=1.0, priors=[[0.5, 0.50000001], [0.5, 0.5]])


# ---------------------------------------------------------------- what held
def test_odd_parameters_come_back_from_a_file_to_the_last_bit():
    rng = RNG(10)
    for _ in range(8):
        k = tuple(rng.integers(2, 5, 3).tolist())
        matrix = rng.random((k[0], k[0])) + 0.3
        matrix /= matrix.sum(axis=1, keepdims=True)
        for mechanism in (
            OneQuestion(k=k, epsilon=np.float64(1.7), weights=rng.random(3) + 0.01, oracle=OLH),
            AskSome(k=np.array(k), epsilon=2.3, m=np.int64(2), sizes=np.ones(3, int), weights=rng.random(3) + 0.01),
            RRClusters(k=k, epsilons=rng.dirichlet(np.ones(3))),
            RSRFD(k=k, epsilon=1.1, priors=[rng.dirichlet(np.ones(size)) for size in k]),
            RRIndependent(k=k, channels=[matrix, 0.3, 1.9]),
            ProductRR(k=k, clusters=((0,), (1, 2)), channels=[matrix, 2.2]),
        ):
            back = _labels.rebuild(repr(mechanism))
            assert back == mechanism
            assert repr(back) == repr(mechanism)


def test_no_two_answers_are_worse_than_planned_for_mechanisms_with_odd_parameters():
    rng = RNG(11)
    for mechanism in (
        OneQuestion(k=(2, 5), epsilon=1.0, weights=(1, 5), groups=False, oracle=UnaryEncoding),
        RSRFD(k=(2, 4), epsilon=2.0, priors=[[0.9, 0.1], [0.1, 0.2, 0.3, 0.4]]),
        RRIndependent(k=(2, 3), channels=[UNEVEN, 1.0]),
        AskSome(k=(2, 3, 3), epsilon=2.0, m=2, sizes=(1, 2, 2), weights=(1, 2, 3), groups=False),
        UnaryEncoding(k=3, epsilon=1.0, q=0.05),
        SubsetSelection(k=5, epsilon=1.0, size=4),
    ):
        k = mechanism.k if isinstance(mechanism.k, tuple) else (mechanism.k,)
        margin, sampling = 0.1, len(k) > 1
        n, top = required_users(mechanism, margin, confidence=0.9, sampling=sampling), 0.0
        pairs = [np.minimum([[v], [v + 1]], np.array(k) - 1) for v in range(max(k) - 1)]
        pairs += [rng.integers(0, k, (2, len(k)))]
        for (one, other), share in itertools.product(pairs, (0.0, 0.5)):
            counts = {tuple(one): n - round(share * n)}
            counts[tuple(other)] = counts.get(tuple(other), 0) + round(share * n)
            held = sorted(record for record, count in counts.items() if count)
            people = Population(records=np.array(held), counts=np.array([counts[r] for r in held]), k=k)
            f = joined(marginal_frequencies(people))
            top = max(top, np.max(joined(mechanism.variance(people)) + sampling * f * (1 - f) / n))
        assert 0.97 * margin < half_width(0.9) * top**0.5 <= margin * (1 + 1e-9)


@pytest.mark.parametrize("sampling", [False, True])
@pytest.mark.parametrize(
    ("k", "epsilon", "wants"),
    [((3, 2), 1.0, "frequencies"), ((2, 2, 3), 3.0, "frequencies"), ((4, 2), 2.0, "tables"), ((2, 2), 2.0, "records")],
)
def test_a_planned_margin_is_that_of_the_intervals_that_are_told(k, epsilon, wants, sampling):
    rng, n = RNG(12), 2_400
    found = recommend(k=k, epsilon=epsilon, n=n, wants=wants, sampling=sampling)
    survey = Survey({f"q{j}": [*range(size)] for j, size in enumerate(k)}, epsilon, found.mechanism)
    people = pd.DataFrame({f"q{j}": rng.permutation(np.arange(n) % size) for j, size in enumerate(k)})
    reports = survey.collect(people, rng=rng)
    if wants == "tables":
        told = survey.table("q0", "q1", reports, sampling=sampling)["standard_error"]
    else:
        told = survey.estimate(reports, sampling=sampling)["standard_error"]
    assert 196 * (told**2).mean() ** 0.5 == pytest.approx(found.margin(), rel=2e-3)


def test_a_design_effect_multiplies_the_sampling_error_alone():
    """As the page on choosing says: households of five, of which six in ten answer alike."""
    rng, n, runs, mechanism = RNG(13), 1_000, 80, OneQuestion(k=(2, 2), epsilon=2.0)
    estimates = []
    for _ in range(runs):
        own = np.repeat(rng.random((n // 5, 2)) < 0.3, 5, axis=0)
        x = np.where((rng.random(n) < 0.6)[:, None], own, rng.random((n, 2)) < 0.3).astype(int)
        estimates.append(mechanism.simulate(Population.from_records(x, k=(2, 2)), rng=rng, runs=1)[0][0, 1])
    noise = mechanism.variance(Population.from_shares([np.array([0.7, 0.3])] * 2, n))[0][1]
    effect, seen = 1 + 4 * 0.36, np.var(estimates)
    error = 5 * (2 / runs) ** 0.5
    assert abs((noise + effect * 0.21 / n) / seen - 1) < error < abs(effect * (noise + 0.21 / n) / seen - 1)


def test_samples_with_replacement_of_people_who_are_dealt_vary_as_told():
    """Drawn by size; shares over the weights and over the number of people, of one question of two."""
    rng, number, n, runs, mechanism = RNG(14), 1_200, 150, 200, OneQuestion(k=(2, 2), epsilon=2.0)
    size, (p, q) = rng.uniform(0.5, 3, number), GRR(k=2, epsilon=2.0).probabilities
    holds, found = rng.random(number) < 0.2 + 0.13 * size, {None: [], number: []}
    for _ in range(runs):
        who, asked = rng.choice(number, n, p=size / size.sum()), rng.permutation(np.arange(n) % 2)
        w = size.sum() / n / size[who]
        told = replace(mechanism, weights=np.bincount(asked, w))
        own = (np.where(rng.random(n) < p, holds[who], ~holds[who]) - q) / (p - q)
        yes = 0.5 + (asked == 0) * (own - 0.5) / told.weights_[0]
        z = np.c_[1 - yes, yes, np.full((n, 2), 0.5)]
        for population, each in found.items():
            if abs(w.sum() - number) < 4 * (w @ (w - 1)) ** 0.5:
                how = {"population": population, "sampling": "with replacement", "dealt": (told, asked)}
                each.append([one[1] for one in weighted_shares(z, w, **how)])
    for each in found.values():
        estimate, variance = np.array(each).T
        assert abs(estimate.mean() - holds.mean()) < 5 * estimate.std() / runs**0.5
        assert abs(variance.mean() / estimate.var() - 1) < 5 * (2 / len(each)) ** 0.5


def test_shares_within_others_are_tables_over_shares_for_uneven_channels_and_clusters():
    rng, k = RNG(15), (2, 3, 2)
    for mechanism in (
        RRIndependent(k=k, channels=[UNEVEN, 1.5, 2.0]),
        ProductRR(k=k, clusters=((0, 2), (1,)), channels=[3.0, 2.0]),
        AskSome(k=k, epsilon=3.0, m=2, sizes=(1, 2, 1), weights=(3, 1, 2), groups=False),
    ):
        survey = Survey({"a": [0, 1], "b": [0, 1, 2], "c": [0, 1]}, mechanism.epsilon, mechanism)
        people = pd.DataFrame(
            {"a": rng.integers(0, 2, 900), "b": rng.integers(0, 3, 900), "c": rng.integers(0, 2, 900)}
        )
        reports = survey.collect(people, rng=rng)
        table, shares = survey.table("a", "b", reports), survey.estimate(reports)
        square, errors = (table[name].to_numpy().reshape(2, 3) for name in ("estimate", "standard_error"))
        turned = survey.table("b", "a", reports)["standard_error"].to_numpy().reshape(3, 2)
        assert turned == pytest.approx(errors.T)
        assert square.sum(axis=0) == pytest.approx(shares.loc[shares["attribute"] == "b", "estimate"].to_numpy())
        within = survey.query({"a": 1}, reports, given={"b": [0, 1]})
        assert within.estimate * square[:, :2].sum() == pytest.approx(square[1, :2].sum())
        rest = survey.query({"a": 0}, reports, given={"b": [0, 1]})
        assert rest.standard_error == pytest.approx(within.standard_error)

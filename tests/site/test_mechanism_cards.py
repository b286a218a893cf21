"""The library's page has a card for each, and its error formulas are those of the classes."""

import functools
import importlib
import itertools
import math
import re
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from ldp_lib import channel, grr, jrr, leakage, limit, shrinkage, subset
from ldp_lib.book.sweeps import mse
from ldp_lib.corr_rr import SecondPhase, joint_reuse, tree_law
from ldp_lib.datasets import load_adult
from ldp_lib.fake_data import RSFD, RSRFD
from ldp_lib.grr import GRR, RR
from ldp_lib.hashing import OLH
from ldp_lib.jrr import JRR, KJRR, JointHashing, JointUnary, SignedRR
from ldp_lib.limit.pair_tables import pair_error
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.postprocess import project_simplex
from ldp_lib.sampled import AskSome, OneQuestion, design
from ldp_lib.shrinkage import Plurality
from ldp_lib.splitting import BRR, OBRR, OMRR, SPL, allocation
from ldp_lib.subset import SubsetSelection
from ldp_lib.survey import planner
from ldp_lib.survey.catalogue import MECHANISMS
from ldp_lib.survey.errors import total_error
from ldp_lib.tables.clusters import RRClusters
from ldp_lib.tables.product import RRIndependent, RRJoint, keep_probability, mixing_ratio, squared_length
from ldp_lib.tables.sampled import ask_pairs
from ldp_lib.unary import OUE, SUE, UnaryEncoding

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import cards  # noqa: E402

PAGE = cards.whole((ROOT / "book" / "api.md").read_text(encoding="utf-8"))
CARDS = {m[1]: m[0] for m in re.finditer(r"^:::\{card\} (\w+): .*?^:::$", PAGE, re.MULTILINE | re.DOTALL)}
K, EPS, N = (2, 3, 4), 1.3, 600
ONE = Population.from_counts([300, 180, 90, 30])
TWO = Population.from_counts([450, 150])
SKEWED = Population.from_counts(np.arange(1, 25).reshape(K) * 2)
EVEN = Population.from_counts(np.full(K, 25))
E = math.exp(EPS)


def pure(p, q, k):
    """Total variance over k values of a report that supports the own value with p and others with q, for one user."""
    return (p * (1 - p) + (k - 1) * q * (1 - q)) / (p - q) ** 2


def plain(e, k):
    return (k - 1) * (2 * e + k - 2) / (e - 1) ** 2


def bits(r, k):
    return k * r / (r - 1) ** 2


def tied(p, rho):
    lead = (450 - 150) ** 2 - N
    return 2 * p * (1 - p) / (2 * p - 1) ** 2 * (1 + rho * lead / (N * (N - 1)))


def faked(priors):
    d, total = len(K), 0
    for k, f, prior in zip(K, [SKEWED.select(j).frequencies for j in range(d)], priors, strict=True):
        p, q = grr.probabilities(E, k)
        lam = (f * (p - q) + q + (d - 1) * np.array(prior)) / d
        total += d**2 / (p - q) ** 2 * (1 - (lam**2).sum()) - (f * (1 - f)).sum()
    return total


def whole():
    t = (E - 1) / (E + math.prod(K) - 1)
    return sum(pure((1 - t) / k + t, (1 - t) / k, k) for k in K)


def asked():
    alone = [12 * SubsetSelection(k=k, epsilon=EPS).variance(Population.from_counts([12 // k] * k)).sum() for k in K]
    v = [error + 1 - 1 / k for error, k in zip(alone, K, strict=True)]  # for users drawn uniformly
    return sum(map(math.sqrt, v)) ** 2 - sum(1 - 1 / k for k in K)


PRIORS = ((0.5, 0.5), (0.7, 0.1, 0.2), (1.0, 0.0, 0.0, 0.0))
SPLIT, BITS = allocation.omrr(K, EPS), allocation.obrr(K, EPS)
# Mechanism, population, the card's formula for one user, how far off it may be (relative), where "about" is written.
FORMULAS = [
    (RR(epsilon=EPS), TWO, 2 * E / (E - 1) ** 2, 1e-9),
    (GRR(k=4, epsilon=EPS), ONE, plain(E, 4), 1e-9),
    (SUE(k=4, epsilon=EPS), ONE, bits(math.sqrt(E), 4), 1e-9),
    (OUE(k=4, epsilon=EPS), ONE, 16 * E / (E - 1) ** 2 + 1, 1e-9),
    (UnaryEncoding(k=4, epsilon=EPS, q=0.3), ONE, pure(*UnaryEncoding(k=4, epsilon=EPS, q=0.3).probabilities, 4), 1e-9),
    (OLH(k=4, epsilon=EPS, g=5), ONE, pure(E / (E + 4), 1 / 5, 4), 1e-9),
    (SubsetSelection(k=4, epsilon=EPS, size=2), ONE, 9 * (2 * E + 2) ** 2 / (16 * (E - 1) ** 2) - 3 / 4, 1e-9),
    (JRR(p=0.6, rho=-0.5), TWO, tied(0.6, -0.5), 1e-9),
    (SignedRR(p=0.6, rho=-0.5), TWO, 2 * 0.24 * 0.5 / 0.04, 1e-9),
    (SPL(k=K, epsilon=EPS), SKEWED, sum(plain(E ** (1 / 3), k) for k in K), 1e-9),
    (OMRR(k=K, epsilon=EPS), SKEWED, sum(plain(math.exp(b), k) for b, k in zip(SPLIT, K, strict=True)), 1e-9),
    (BRR(k=K, epsilon=EPS), SKEWED, sum(bits(math.exp(EPS / 6), k) for k in K), 1e-9),
    (OBRR(k=K, epsilon=EPS), SKEWED, sum(bits(math.exp(b / 2), k) for b, k in zip(BITS, K, strict=True)), 1e-9),
    (
        RSFD(k=K, epsilon=EPS),
        SKEWED,
        sum((1 - 1 / k) * (9 / (grr.probabilities(E, k)[0] - grr.probabilities(E, k)[1]) ** 2 - 1) for k in K),
        1e-9,
    ),
    (RSRFD(k=K, epsilon=EPS, priors=PRIORS), SKEWED, faked(PRIORS), 1e-9),
    (RRJoint(k=K, epsilon=EPS), SKEWED, whole(), 1e-9),
    (OneQuestion(k=K, epsilon=EPS), EVEN, asked(), 0.005),
]
IN_WORDS = {
    "ServerProtocol", "ShuffleProtocol", "KJRR", "JointUnary", "JointHashing", "AskSome", "MRR", "TwoPhaseRSRFD",
    "SecondPhase", "CorrRR", "CondRR", "Plurality", "RRIndependent", "RRClusters", "ProductRR",
}  # fmt: skip


def test_every_mechanism_has_one_card():
    assert sorted(CARDS) == sorted(mechanism.__name__ for mechanism in MECHANISMS)
    assert len(re.findall(r"\{card\}", PAGE)) == len(CARDS)


def test_a_heading_is_what_its_module_says_of_itself():
    headings = re.findall(r"^### (`[\w.]+`: .+)$", PAGE, re.MULTILINE)
    assert len(headings) == len(set(headings)) > 50
    assert max(map(len, headings)) < 110
    assert (
        "`jrr.calibration`: parameters for the goal that all reports together are (epsilon, delta)-private" in headings
    )
    assert "`tables.dependence`: Cramer's V from a noisy table and its covariance" in headings
    listed = cards.listed("tables._tree tables._asked(asked_tables,raw_table) jrr.signed+").partition("```{eval-rst}")[
        2
    ]
    assert re.findall(r"(?:automodule::|^   :)(.*)$", listed, re.MULTILINE) == [
        *(" ldp_lib.tables._tree", "members:"),
        *(" ldp_lib.tables._asked", "members: asked_tables,raw_table"),
        *(" ldp_lib.jrr.signed", "members:", "inherited-members:"),
    ]


def test_the_row_of_mean_names_the_classes_that_have_no_exact_moments():
    (row,) = re.findall(r"^\| `mean\(population\)` \| (.*) \|$", PAGE, re.MULTILINE)
    lacking = {M.__name__ for M in MECHANISMS if M.serves((2, 2)) and not M(k=(2, 2), epsilon=1.0).has_exact_moments}
    assert lacking == set(re.findall(r"`([A-Z]\w+)`", row)) - {"NoExactMoments"}


@pytest.mark.parametrize("name", CARDS)
def test_a_card_says_what_is_sent_spent_lost_and_where_to_read_on(name):
    for part in ("Sent", "Budget", "Error", "Forged", "Attacker", "Use", "See"):
        assert re.search(rf"^- \*\*{part}:\*\* \S", CARDS[name], re.MULTILINE), part
    for chapter in re.findall(r"\{doc\}`\.\./notebooks/(\w+)`", CARDS[name]):
        assert (ROOT / "notebooks" / f"{chapter}.ipynb").exists()
    (path,) = re.findall(r"\{py:class\}`\w+ <([\w.]+)>`", CARDS[name])
    module, _, cls = path.rpartition(".")
    assert getattr(importlib.import_module(module), cls).__name__ == name


@pytest.mark.parametrize("name", CARDS)
def test_a_card_has_an_example_of_its_class_from_people_to_shares(name):
    """That the examples show what they give is tested with those of the other pages, in test_intro."""
    (example,) = re.findall(r"```python\n(>>> .*?)```", CARDS[name], re.DOTALL)
    assert re.search(rf"^>>> m = ldp\.{name}\(", example, re.MULTILINE)
    assert "m.perturb(" in example
    assert re.search(r"^>>> m\.estimate(_table)?\(reports\).*\narray\(", example, re.MULTILINE)
    assert max(map(len, example.splitlines())) <= 80


@pytest.mark.parametrize(("mechanism", "population", "formula", "off"), FORMULAS, ids=lambda x: type(x).__name__)
def test_the_formula_of_a_card_is_the_variance_of_its_class(mechanism, population, formula, off):
    found = np.hstack(mechanism.variance(population)).sum() * population.n
    assert found == pytest.approx(formula, rel=off)
    assert found != pytest.approx(1.05 * formula, rel=off)


def test_a_formula_that_is_not_for_all_people_names_the_people():
    """Where all hold one record the error of one question is less, at 5 with ten yes-or-no ones a thirtieth."""
    alike, ten = (Population.from_counts(N * np.eye(1, math.prod(k), dtype=int).reshape(k)) for k in (K, (2,) * 10))
    uneven = set()
    for mechanism, population, formula, _ in FORMULAS:
        if population.k == K and N * np.hstack(mechanism.variance(alike)).sum() != pytest.approx(formula, rel=0.01):
            uneven.add(type(mechanism).__name__)
            assert re.search(r"uniform answers|f_", re.search(r"Error:\*\* (.*)", CARDS[type(mechanism).__name__])[1])
    assert uneven == {"OneQuestion", "RSRFD"}
    stated = 10**2 * subset.error(math.exp(5), 2, 1) - 10 / 2
    assert N * np.hstack(OneQuestion(k=ten.k, epsilon=5.0).variance(ten)).sum() < 0.03 * stated


def test_the_cards_of_the_mechanisms_that_say_of_themselves_that_they_are_biased_say_so():
    """Each for two questions of two answers where it serves several, else for one."""
    made = [kind(k=(2, 2) if kind.serves((2, 2)) else 2, epsilon=1.0) for kind in MECHANISMS]
    biased = {type(way).__name__ for way in made if not way.unbiased}
    assert biased == {name for name, text in CARDS.items() if "bias" in re.search(r"Error:\*\* (.*)", text)[1]}


def test_a_formula_for_pairs_is_for_an_even_number_of_people():
    """Of three who all hold one answer, one answers alone: 8/3 with truths or reports moved; the formulas have 2."""
    for mechanism in (JRR(p=0.6, rho=-0.5), SignedRR(p=0.6, rho=-0.5)):
        assert mechanism.variance(Population.from_counts([3, 0])).sum() == pytest.approx(8 / 3)
        assert "even $n$" in re.search(r"Error:\*\* (.*)", CARDS[type(mechanism).__name__])[1]


def test_at_a_large_budget_several_questions_have_less_error_than_one_only_where_answers_are_spread():
    """Four with four answers at 4: for uniform answers 0.66 times by two, at nine in ten alike 1.19 by any number.

    Such answers only need a larger ε (choose.md, "Before you follow advice").
    """
    for share, epsilon, stated in ((1 / 4, 4.0, 0.66), (9 / 10, 4.0, 1.19), (9 / 10, 6.0, 0.50)):
        law = np.array([share, *[(1 - share) / 3] * 3])
        people = Population.from_counts(np.rint(1e7 * functools.reduce(np.multiply.outer, [law] * 4)).astype(int))
        one, *more = (
            np.hstack(AskSome(k=people.k, epsilon=epsilon, m=m).variance(people)).sum() for m in range(1, people.d + 1)
        )
        assert round(min(more) / one, 2) == stated
    told = (Path(__file__).parents[2] / "book" / "choose.md").read_text(encoding="utf-8")
    assert "(where most people answer alike, from a larger ε on)" in told
    for answers, epsilon in ((2, 1.4), (10, 5.4)):  # chapters attribute_sampling and audit_baselines, the advice
        chosen = [AskSome(k=(answers,) * d, epsilon=epsilon + more).m_ for d in (2, 8, 40) for more in (-0.1, 0)]
        assert chosen == [1, 2] * 3
    e = math.exp(8.0)
    for d, tried, lost in ((20, 4, 1.7), (40, 2, 3.4)):  # of yes-or-no questions at 8 more than are tried are better
        errors = {m: d * d / m / subset.keep_probability(e, 2.0**-m) ** 2 for m in range(1, d + 1)}
        assert AskSome(k=(2,) * d, epsilon=8.0).m_ == tried
        assert min(errors, key=errors.get) == 8
        assert round(errors[tried] / errors[8], 1) == lost
    people = Population.from_counts(np.ones((2,) * 4, dtype=int))
    one, some = (total_error(way(k=people.k, epsilon=2.0), people) for way in (OneQuestion, AskSome))
    assert round(one / some, 2) == 1.39  # yes-or-no questions at 2 already
    # Later by `AskSome` only: where one in ten says yes, reports made for such people leave one question before 1.34.
    law = np.outer([0.9, 0.1], [0.9, 0.1])
    people = Population.from_counts(np.rint(1e6 * law).astype(int))
    drawn = sum(1 - (f**2).sum() for f in marginal_frequencies(people))
    for epsilon, some, least in ((1.2, 1.20, 1.000), (1.34, 1.14, 0.998), (1.75, 1.00, 0.911)):
        ways = OneQuestion(k=(2, 2), epsilon=epsilon), AskSome(k=(2, 2), epsilon=epsilon, m=2)
        one, two = (people.n * total_error(way, people) + drawn for way in ways)
        assert round(two / one, 2) == some
        assert round(limit.least_error((2, 2), epsilon, law).attained / one, 3) == least
    for name in ("limit_attained", "optimal_sets"):
        told = (Path(__file__).parents[2] / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8")
        assert re.search(r"`AskSome`(?: gains|, which searches[^;)]*) \{check\}`later <test_mechanism_cards", told)


def test_each_formula_on_the_page_is_checked():
    checked = {type(mechanism).__name__ for mechanism, *_ in FORMULAS}
    written = {name for name, text in CARDS.items() if "frac" in re.search(r"Error:\*\* (.*)", text)[1]}
    assert written == checked == set(CARDS) - IN_WORDS


def added(mechanism):
    """Return what one report adds at most to a share, times the number of users: the estimate from it alone."""
    if isinstance(mechanism, OLH):
        drawn = mechanism.perturb(np.zeros(400, dtype=int), rng=np.random.default_rng(1))
        reports = [drawn[i : i + 1] for i in range(len(drawn))]
    elif isinstance(mechanism, JRR | SignedRR):  # tied in pairs: all users send the same
        reports = [np.full(4, y) for y in range(2)]
    else:
        reports = [np.array([y]) for y in mechanism.reports()]
    return max(np.max(np.hstack(mechanism.estimate(y))) for y in reports)


def lifted(mechanism):
    """Return the formula of the card's forged reports."""
    grr_of = lambda r: max((r + k - 2) / (r - 1) for k in K)  # noqa: E731
    p, q = grr.probabilities(E, 4)
    t = (E - 1) / (E + math.prod(K) - 1)
    unary_p, unary_q = UnaryEncoding(k=4, epsilon=EPS, q=0.3).probabilities
    return {
        "RR": E / (E - 1),
        "GRR": (E + 2) / (E - 1),
        "SUE": math.sqrt(E) / (math.sqrt(E) - 1),
        "OUE": 2 * E / (E - 1),
        "UnaryEncoding": (1 - unary_q) / (unary_p - unary_q),
        "OLH": (E + 4) / (E - 1),
        "SubsetSelection": (3 * (2 * E + 2) - 2 * E - 4) / (4 * (E - 1)),
        "JRR": 0.6 / 0.2,
        "SignedRR": 0.6 / 0.2,
        "SPL": grr_of(E ** (1 / 3)),
        "OMRR": max((math.exp(b) + k - 2) / (math.exp(b) - 1) for b, k in zip(SPLIT, K, strict=True)),
        "BRR": 1 / (1 - math.exp(-EPS / 6)),
        "OBRR": max(1 / (1 - math.exp(-b / 2)) for b in BITS),
        "RSFD": (3 - q - 2 / 4) / (p - q),
        "RSRFD": (3 - q) / (p - q),
        "RRJoint": (1 - (1 - t) / 4) / t,
    }[type(mechanism).__name__]


@pytest.mark.parametrize(
    "mechanism", [m for m, *_ in FORMULAS if not isinstance(m, OneQuestion)], ids=lambda m: type(m).__name__
)
def test_what_a_fake_adds_is_what_the_card_says(mechanism):
    assert added(mechanism) == pytest.approx(lifted(mechanism), rel=1e-9)
    written = re.search(r"Forged:\*\* (.*)", CARDS[type(mechanism).__name__])[1]
    assert "frac" in written
    assert "by the input" in written


def test_other_cards_say_in_words_what_a_fake_adds():
    for name in [*IN_WORDS, "OneQuestion"]:
        assert "frac" not in re.search(r"Forged:\*\* (.*)", CARDS[name])[1]


NO_CHANNEL = {"CorrRR", "CondRR", "TwoPhaseRSRFD"}  # the second phase depends on the first one's reports


WITH_CHANNEL = [m for m in MECHANISMS if m.__name__ not in NO_CHANNEL]


@pytest.mark.parametrize("kind", WITH_CHANNEL, ids=lambda kind: kind.__name__)
def test_the_attacker_s_success_rate_on_a_card_is_enumerated(kind):
    sizes = next(k for k in ((6,), (2,), (2, 6), (2, 2)) if kind.serves(k if len(k) > 1 else k[0]))
    table = kind(k=sizes if len(sizes) > 1 else sizes[0], epsilon=1.0).channel()
    joint = np.full(sizes, 1 / math.prod(sizes))
    rates = [
        channel.success_rate(leakage.attribute_channel(table, joint, j), np.full(k, 1 / k)) for j, k in enumerate(sizes)
    ]
    right, blind = (" and ".join(f"{rate:.2f}" for rate in each) for each in (rates, [1 / k for k in sizes]))
    assert f"- **Attacker:** right for {right} instead of {blind}\n" in CARDS[kind.__name__]


def test_an_attacker_s_success_rate_is_another_at_other_settings():
    """Two questions together, of two answers 0.65: the card of AskSome has that of its default, one question."""
    some, joint = AskSome(k=(2, 6), epsilon=1.0, m=2).channel(), np.full((2, 6), 1 / 12)
    rate = channel.success_rate(leakage.attribute_channel(some, joint, 0), np.full(2, 1 / 2))
    assert round(float(rate), 2) == 0.65


def test_two_phases_have_no_success_rate_of_their_own():
    assert {name for name, text in CARDS.items() if "Attacker:** right" not in text} == NO_CHANNEL


def test_of_six_and_more_possible_records_sets_of_them_have_less_variance():
    """The card of RRJoint, for tables alone."""
    better = [
        subset.error(math.e, size, subset.optimal_size(math.e, size)) < subset.error(math.e, size, 1)
        for size in range(4, 300)
    ]
    assert better == [size >= 6 for size in range(4, 300)]


def test_of_no_more_than_e_to_the_epsilon_possible_records_the_whole_one_has_less_error_than_every_split():
    def errors(k, epsilon):
        people = Population.from_counts(np.ones(k, dtype=int))
        return [total_error(made(k=k, epsilon=epsilon), people) for made in (RRJoint, SPL, OMRR, BRR, OBRR)]

    for k in ((2, 2), (2, 6), (4, 4, 4), (2,) * 8, (2, 2, 50)):
        whole, *split = errors(k, math.log(math.prod(k)))
        assert whole < min(split)
        at_once, apart = (made(k=k, epsilon=math.log(math.prod(k))) for made in (RRJoint, RRIndependent))
        assert planner.pairs_error(at_once, 1) < planner.pairs_error(apart, 1)
    whole, *split = errors((4, 4, 4), math.log(64 / 8))
    assert max(split) < whole  # eight times as many
    for k, epsilon in (((2, 1_000), 4.0), ((2, 1_000), 1.0), ((2, 2, 2, 3, 200), 4.0)):  # over 30 times as many
        whole, equal, best, *_ = errors(k, epsilon)
        assert best < 0.3 * whole < 0.3 * equal


def test_of_half_of_e_to_the_epsilon_possible_records_no_two_clusters_have_less_error_and_of_as_many_some_do():
    """The card of RRJoint: clusters of unlike sizes, at the best parts of the budget, by the two closed forms."""

    def error(k, epsilon):
        length = squared_length(math.exp(epsilon), math.prod(k))
        kept = (length - 1 / math.prod(k)) / (1 - 1 / math.prod(k))  # one over the squared probability of keeping
        return sum(1 - 1 / size for size in k) * (kept - 1)

    def clusters(k, m, epsilon, steps=100):
        parts = np.arange(1, steps) / steps
        return min((error(k[:m], part * epsilon) + error(k[m:], (1 - part) * epsilon), part) for part in parts)

    k, epsilon = (2,) * 8 + (16,), math.log(4096)
    least, part = clusters(k, 8, epsilon)
    people, budgets = Population.from_records([[0] * 9, [1] * 9], k=k), (part / 8,) * 8 + (1 - part,)
    apart = RRClusters(k=k, epsilons=[b * epsilon for b in budgets], clusters=(range(8), (8,)))
    found = total_error(apart, people) / total_error(RRJoint(k=k, epsilon=epsilon), people)
    assert found == pytest.approx(least / error(k, epsilon), rel=1e-6)
    assert (round(part, 2), round(found, 2)) == (0.71, 0.87)
    for sizes in (k, (2,) * 13 + (1000,), (3,) * 6 + (100, 100), (3,) * 7 + (1000,), (2, 2, 5, 5, 20)):
        twice = math.log(2 * math.prod(sizes))
        two = min(clusters(sizes, m, twice)[0] for m in range(1, len(sizes)))
        assert error(sizes, twice) < 0.95 * two

    def of_many(bits, size):  # a cluster of yes-or-no questions beside one of many answers, over the whole record
        many = (2,) * bits + (size,)
        twice = math.log(2 * math.prod(many))
        return clusters(many, bits, twice, 1_000)[0] / error(many, twice)

    assert min(of_many(bits, 7_000_000 >> bits) for bits in range(8, 22)) > 1
    assert of_many(19, 19) < 0.995  # of ten million


@pytest.mark.parametrize(("epsilon", "records"), [(1.0, 200), (2.0, 200), (4.0, 500)])
def test_for_tables_made_from_records_the_whole_one_has_less_error_far_beyond_e_to_the_epsilon(epsilon, records):
    """The cards of SPL and RRIndependent: the largest of these domains of each kind, of more records than e^epsilon."""
    largest = [(int(records ** (1 / d)),) * d for d in range(2, 8)]
    for k in (*largest, (2, 2, 2, 2, 3, 4), (2, 2, 2, 5, 5), (2, 2, 50)):
        at_once, apart = (made(k=k, epsilon=epsilon) for made in (RRJoint, RRIndependent))
        assert planner.pairs_error(at_once, 1) < 0.9 * planner.pairs_error(apart, 1), k
    people = Population.from_counts(np.ones((2,) * 7, dtype=int))  # not so for shares
    at_once, apart = (made(k=people.k, epsilon=epsilon) for made in (RRJoint, SPL))
    assert (total_error(at_once, people) > total_error(apart, people)) == (epsilon < 4)  # 128 are not far above e^4


def test_a_shared_randomization_of_many_values_needs_few_values_to_gain():
    """The card of KJRR: over subset selection of the same epsilon, where all or seven in ten hold one value."""

    def over_sets(k, epsilon, common):
        counts = np.full(k, round(10_000 * (1 - common) / (k - 1)))
        counts[0] = 10_000 - counts[1:].sum()
        people = Population.from_counts(counts)
        return np.divide(*(total_error(made(k=k, epsilon=epsilon), people) for made in (KJRR, SubsetSelection)))

    assert max(over_sets(k, 1.0, common) for k in (3, 4, 5) for common in (0.7, 1.0)) < 1
    assert [round(over_sets(16, 1.0, common), 1) for common in (0.7, 1.0)] == [1.9, 1.9]
    assert min(over_sets(k, epsilon, 1.0) for k, epsilon in ((6, 0.5), (10, 1.0), (50, 3.0))) > 1.1


def test_the_most_common_answer_first_needs_answers_that_are_spread():
    """The card of Plurality, on attributes that lean on one answer as it assumes, over raw answers to one question."""

    def over_one(shares):
        people = Population.from_counts(np.rint(20_000 * tree_law(np.array(shares), 0.5, [0, 0, 0])).astype(int))
        votes = Plurality(k=people.k, epsilon=1.0).simulate(people, rng=np.random.default_rng(1), runs=400)
        one = np.mean(np.hstack(OneQuestion(k=people.k, epsilon=1.0).variance(people)))
        return mse(votes, marginal_frequencies(people)).mean() / one

    assert over_one([0.4, 0.3, 0.2, 0.1]) < 0.8 < 1.2 < over_one([0.7, 0.1, 0.1, 0.1])
    assert over_one([0.5, 0.5]) < 0.6 < 1.8 < over_one([0.7, 0.3])
    assert "answers are spread" in re.search(r"Use:\*\* (.*)", CARDS["Plurality"])[1]


def test_copies_among_nearly_the_same_shares_lose_to_constant_fakes_once_people_are_many():
    """The card of SecondPhase, at the best copying probabilities: shares of 40 and 38.5 % are not equal."""

    def over_fakes(n, epsilon):
        people = Population.from_counts(np.rint(n * tree_law(np.array([0.4, 0.3, 0.2, 0.1]), 0.9, [0])).astype(int))
        true, one = marginal_frequencies(people), {"k": people.k, "epsilon": epsilon}
        copies = SecondPhase(**one, reuse=joint_reuse(np.array(true), n))
        bias = np.hstack(copies.mean(people)) - np.hstack(true)
        error = np.hstack(copies.variance(people)).sum() + (bias**2).sum()
        return error / np.hstack(RSRFD(**one, priors=((1, 0, 0, 0),) * 2).variance(people)).sum()

    assert max(over_fakes(20_000, 0.5), over_fakes(20_000, 1.0)) < 0.4
    assert round(over_fakes(1_000_000, 1.0)) == 3
    assert "neither ε nor the number of people is large" in CARDS["SecondPhase"]


def test_the_ratio_of_all_reports_that_the_card_of_two_answers_names_is_too_small_for_more():
    """Two users, the other's value known: what both reports tell, from the cells of their joint distribution."""
    p, rho = Fraction(3, 5), Fraction(-1, 10)

    def told(k):  # by a given lie; the other user's truth or lie is seen
        both, mixed, none = jrr.table(p, rho, k)
        return max(value for ratio in (both / mixed, mixed / none) for value in (ratio, 1 / ratio))

    assert told(2) == jrr.transcript_ratio(p, rho) > p / (1 - p)
    assert told(6) > 5 * p / (1 - p) > jrr.transcript_ratio(p, rho)
    assert {name for name, card in CARDS.items() if "transcript_ratio" in card} == {"JRR"}

    def lied(k):  # by a given lie; it is known that the other lied, a colluder
        _, mixed, none = jrr.table(p, rho, k)
        return mixed / none

    assert lied(2) == jrr.colluder_ratio(p, rho, 2, 1)
    assert lied(6) > 5 * p / (1 - p) > jrr.colluder_ratio(p, rho, 2, 1)


def test_signs_inside_bits_take_away_most_where_they_move_the_report_and_little_where_sets_are_better():
    """The card of JointUnary, which moves truths if nothing else is said: value by value, and in total beside sets."""
    for counts in ([500, 500], [600, 300, 60, 40], [900, 20, 20, 20, 20, 20], [1, 1], [2, 1, 1]):
        people = Population.from_counts(counts)
        truth, report = (JointUnary(k=people.k[0], epsilon=1.0, lean=x).variance(people) for x in ("truth", "report"))
        bits = OUE(k=people.k[0], epsilon=1.0).variance(people)
        assert (report <= truth * (1 + 1e-9)).all()
        assert (report < bits).all()
        assert counts != [500, 500] or (truth > 0.998 * bits).all()
    even = Population.from_counts([1_000] * 6)
    sets = total_error(SubsetSelection(k=6, epsilon=3.0), even)
    for lean in ("truth", "report"):
        assert 0.25 < sets / total_error(JointUnary(k=6, epsilon=3.0, lean=lean), even) < 0.28
    assert 'lean="report"' in CARDS["JointUnary"]


def test_signs_on_symmetric_bits_have_less_error_than_on_optimized_ones_and_than_tied_truths():
    """The cards of JointUnary and of KJRR: at epsilon 1, of sixteen answers, and of five of which one is common."""
    bits = {"epsilon": 1.0, "lean": "report"}
    even, q = Population.from_counts([1_000] * 16), 1 / (math.exp(0.5) + 1)
    own = total_error(OUE(k=16, epsilon=1.0), even)
    signed = [total_error(JointUnary(k=16, **bits, q=q), even) / own for q in (None, q)]
    assert np.round(signed, 2).tolist() == [0.63, 0.41]
    over = []  # of GRR
    for others in (0, 1_000, 4_500 // 4):
        people = Population.from_counts([10_000 - 4 * others, *[others] * 4])
        ways = JointUnary(k=5, **bits, q=q), KJRR(k=5, epsilon=1.0)
        over.append([total_error(way, people) / total_error(GRR(k=5, epsilon=1.0), people) for way in ways])
    assert np.round([*over[0], over[2][1]], 2).tolist() == [0.67, 0.73, 0.95]
    assert [first for first, _ in over] == pytest.approx([over[0][0]] * 3, rel=1e-3)
    assert all(first < second for first, second in over)


def test_hashing_keeps_what_is_correlated_of_an_answer_that_most_people_hold_and_spreads_it_over_all_shares():
    """The card of JointHashing, which said hardly: nine in ten of 10,000 hold one of twenty answers."""
    people, one = Population.from_counts([9_050, *[50] * 19]), {"k": 20, "epsilon": 1.0}
    bits = JointUnary(**one, lean="report", q=1 / (math.exp(0.5) + 1))
    first, whole = [], []
    for way in (OLH(**one), SubsetSelection(**one), KJRR(**one), bits):
        over = JointHashing(**one).variance(people), way.variance(people)
        first.append(over[0][0] / over[1][0])
        whole.append(over[0].sum() / over[1].sum())
    assert np.round(first, 2).tolist() == [0.24, 0.27, 0.08, 0.75]
    assert np.round(whole, 2).tolist() == [0.95, 1.09, 0.48, 2.32]
    assert "for the share of one of many answers" in CARDS["JointHashing"]


def test_symmetric_bits_have_more_error_than_one_answer_or_other_bits():
    """The card of SUE."""

    def over_bits(made, k, epsilon):
        even = Population.from_counts([100] * k)
        return total_error(made(k=k, epsilon=epsilon), even) / total_error(SUE(k=k, epsilon=epsilon), even)

    assert max(over_bits(GRR, k, epsilon) for k in (2, 3, 4, 5) for epsilon in (0.01, 0.1, 1.0, 4.0, 10.0)) < 1
    assert [over_bits(OUE, k, 1.0) < 1 for k in (3, 4, 5, 6, 100)] == [False, False, True, True, True]


def test_signed_reports_have_no_more_variance_than_tied_truths():
    assert "never has more variance" in CARDS["JRR"]
    for people in (Population.from_counts([10_000 - ones, ones]) for ones in range(0, 10_001, 1_250)):
        signed, tied = (total_error(made(p=0.7, rho=-0.4), people) for made in (SignedRR, JRR))
        assert signed <= tied * (1 + 1e-12)
        assert (signed > tied * (1 - 1e-12)) == (max(people.counts) == people.n)  # chapter audit_jrr: unless all agree


def test_one_report_of_all_answers_has_less_error_than_bits_up_to_two_dozen_questions():
    """The card of BRR: by the closed forms, sets of one size in all questions."""

    def over_bits(k, d, epsilon):
        bits, e = math.exp(epsilon / 2 / d), math.exp(epsilon)
        share = (np.arange(1, k) / k) ** d
        keep = (e - 1) * share / (1 + (e - 1) * share)
        size = np.arange(1, k)
        return min(size * (k - 1) ** 2 / (k * (k - size) * keep**2) - 1 + 1 / k) / (k * bits / (bits - 1) ** 2)

    even = Population.from_counts(np.ones((10, 10), dtype=int))
    known = total_error(AskSome(k=even.k, epsilon=1.0, m=2), even) / total_error(BRR(k=even.k, epsilon=1.0), even)
    assert over_bits(10, 2, 1.0) == pytest.approx(known)
    assert max(over_bits(k, d, b) for k in (10, 11, 40, 100) for d in range(2, 25) for b in (0.01, 0.1, 1, 4, 10)) < 1
    assert over_bits(10, 40, 1.0) > 1.8
    even = Population.from_counts(np.ones(100, dtype=int))
    one = [np.divide(*(total_error(bits(k=100, epsilon=b), even) for bits in (OUE, SUE))) for b in (1.0, 2.0)]
    assert np.round(one, 2).tolist() == [0.94, 0.8]
    k, lead = (10,) * 23 + (10_000,), []  # the card of OBRR, which can give one question most of its budget
    for budget in (0.1, 1.0):
        one, split = AskSome(k=k, epsilon=budget, m=24), np.exp(np.array(allocation.obrr(k, budget)) / 2)
        drawn = np.sum(design.attribute_errors(k, one.sizes_, 24, one.keep, one.weights_))
        lead.append((k * split / (split - 1) ** 2).sum() / (drawn - sum(1 - 1 / size for size in k)))
    assert np.round(lead, 2).tolist() == [0.27, 0.62]


def test_reports_in_the_form_of_records_have_less_error_than_constant_fakes_once_few_records_are_possible():
    """The card of RSRFD, chapters fake_data and audit_baselines: what is as complete a report, without fakes."""

    def over_fakes(people, epsilon, made=RRJoint):
        priors = [tuple(np.eye(len(f))[f.argmax()]) for f in marginal_frequencies(people)]
        faked = RSRFD(k=people.k, epsilon=epsilon, priors=priors)
        return total_error(made(k=people.k, epsilon=epsilon), people) / total_error(faked, people)

    def evenly(k, times):
        e, cells, fakes = times * math.prod(k), math.prod(k), 2 * len(k) - 1
        whole = ((e + cells - 1) / (e - 1)) ** 2 - 1
        faked = [(1 - 1 / size) * (fakes * ((e + size - 1) / (e - 1)) ** 2 - 1) for size in k]
        return whole * sum(1 - 1 / size for size in k) / sum(faked)

    for k in ((2, 2), (2, 6), (4, 4), (10, 10), (2, 2, 50), (2,) * 8):
        people = Population.from_counts(np.ones(k, dtype=int))
        assert over_fakes(people, math.log(1.4 * math.prod(k))) == pytest.approx(evenly(k, 1.4), rel=1e-6)
    sizes = [k for d in (2, 3, 4) for k in itertools.combinations_with_replacement((2, 3, 5, 10, 50, 1_000), d)]
    assert max(evenly(k, times) for k in sizes for times in (1.4, 2, 10, 1e6)) < 1
    assert evenly((10, 10), 1) > 1.1  # not yet where as many are possible as e^epsilon
    few = [evenly(k, math.e / math.prod(k)) for k in ((2, 2, 2), (3, 3), (4, 4))]  # "few" records at epsilon 1
    assert np.round(few, 1).tolist() == [1.4, 1.8, 3.3]
    assert 0.95 < max(evenly((2,) * d, 1 / 2) for d in range(2, 30)) < 1
    twenty = Population.from_records(np.tile([[0], [1]], (50, 20)), k=(2,) * 20)  # errors turn on the shares alone
    pairs = functools.partial(RRClusters, clusters=[(j, j + 1) for j in range(0, 20, 2)])
    many = [over_fakes(twenty, epsilon, made) for epsilon in (8.0, 6.0) for made in (SPL, pairs)]
    assert np.round(many, 2).tolist() == [0.65, 0.45, 1.15, 0.87]
    uneven = Population.from_records([[v % 2, v % 2, v % 2, v] for v in range(200)], k=(2, 2, 2, 200))
    assert round(over_fakes(uneven, 1.0, OMRR), 2) == 0.25
    alike = Population.from_counts(np.outer([97, 1, 1, 1], [97, 1, 1, 1]))  # answers are not spread
    spread = Population.from_counts(np.ones((4, 4), dtype=int))
    assert [round(over_fakes(of, 4.0), 2) for of in (alike, spread)] == [1.71, 0.28]
    adult = load_adult()
    assert round(over_fakes(adult.select("workclass", "relationship", "race", "sex"), 7.0), 2) == 0.44
    assert [round(over_fakes(adult.select("sex", "income"), epsilon), 1) for epsilon in (0.5, 2.0)] == [1.1, 0.5]


def test_two_questions_can_tell_together_what_neither_tells_alone():
    """Chapter attacker, the advice: whether two yes-or-no answers are alike, and the marital status of Adult."""
    alike = np.array([[1, 0, 0, 1], [0, 1, 1, 0]]) / 2
    assert [leakage.dobrushin(alike.reshape(2, 2, 2).sum(axis=gone)) for gone in (1, 2)] == [0, 0]
    for mechanism, spent in ((RRJoint, 0.62), (SPL, 0.12), (OneQuestion, 0)):
        seen = alike @ mechanism(k=(2, 2), epsilon=1.0).channel()
        assert round(math.log(channel.privacy_ratio(seen)), 2) == spent
    found = []
    for asked in (["education"], ["occupation"], ["education", "occupation"]):
        joint = load_adult().select("marital-status", *asked).joint
        found.append(leakage.dobrushin(leakage.transition(joint.reshape(len(joint), -1), 0)))
    assert np.round(np.array(found, dtype=float), 2).tolist() == [0.36, 0.36, 0.67]


@pytest.mark.parametrize("k", [(9, 16, 7, 15, 6, 5, 2, 2), (2,) * 8, (10,) * 4, (3,) * 5, (2, 2, 2)])
def test_for_tables_alone_complete_records_have_more_error_than_questions_asked_together(k):
    """The cards of RRIndependent and RRClusters, and that of AskSome on questions of many answers."""
    pairs = [tuple(range(j, min(j + 2, len(k)))) for j in range(0, len(k), 2)]
    for epsilon in (0.5, 2.0, math.log(math.prod(k)) - 0.5):
        some = ask_pairs(k, epsilon), *(AskSome(k=k, epsilon=epsilon, m=m) for m in range(3, min(len(k), 6) + 1))
        together = min(planner.pairs_error(made, 1) for made in some)
        complete = RRIndependent(k=k, epsilon=epsilon), RRClusters(k=k, epsilon=epsilon, clusters=pairs)
        assert together < min(planner.pairs_error(made, 1) for made in complete)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0, 16.0])
@pytest.mark.parametrize("d", [2, 8, 20])
def test_yes_or_no_questions_in_pairs_have_less_error_than_each_alone(d, epsilon):
    """The card of RRClusters: of shares by the two differences of probabilities, with data held fixed."""
    assert "so yes-or-no questions always" in CARDS["RRClusters"]
    people = Population.from_records([[0] * d, [1] * d] * 5, k=(2,) * d)
    pairs = RRClusters(k=people.k, epsilon=epsilon, clusters=[(j, j + 1) for j in range(0, d, 2)])
    found = [total_error(made, people) for made in (pairs, SPL(k=people.k, epsilon=epsilon))]
    e = math.exp(2 * epsilon / d)
    stated = [difference**-2 - 1 for difference in ((e - 1) / (e + 3), math.tanh(epsilon / d / 2))]
    assert found[0] / found[1] == pytest.approx(stated[0] / stated[1], rel=1e-6)
    assert stated[0] < stated[1]


@pytest.mark.parametrize("k", [2, 3, 4, 5, 8])
def test_questions_in_pairs_have_less_error_than_each_alone_exactly_where_their_cards_say(k):
    assert "$k < e^{\\varepsilon/d} + 1$ they have less" in " ".join(CARDS["RRClusters"].split())
    for d, over in itertools.product((4, 20), (0.98, 1.02, 1.2)):  # e^(epsilon/d) over k - 1
        people, epsilon = Population.from_records([[v] * d for v in range(k)], k=(k,) * d), d * math.log(over * (k - 1))
        if epsilon > 0:
            pairs = RRClusters(k=people.k, epsilon=epsilon, clusters=[(j, j + 1) for j in range(0, d, 2)])
            found = [total_error(made, people) for made in (pairs, SPL(k=people.k, epsilon=epsilon))]
            assert (found[0] < found[1]) == (over > 1)
            assert (k, over) != (3, 1.2) or found[0] < 0.92 * found[1]
        if k < 4:  # fours beside pairs
            made = functools.partial(RRClusters, k=people.k, epsilon=d * math.log(over * (k * k - 1)) / 2)
            clusters = [[range(j, j + size) for j in range(0, d, size)] for size in (4, 2)]
            fours, pairs = (total_error(made(clusters=some), people) for some in clusters)
            assert (fours < pairs) == (over > 1)


def test_of_fifty_attributes_complete_records_have_less_error_of_tables_at_a_large_epsilon():
    def alone(d, epsilon):
        return math.comb(d, 2) * (squared_length(math.exp(epsilon / d), 2) ** 2 - 1)

    def in_twos(d, epsilon):
        kept = keep_probability(2 * epsilon / d, 4)
        own, one = (squared_length(mixing_ratio(kept, cells), cells) for cells in (4, 2))
        return d // 2 * (own - 1) + (math.comb(d, 2) - d // 2) * (one**2 - 1)

    few = {"k": (2,) * 6, "epsilon": 3.0}
    assert alone(6, 3.0) == pytest.approx(planner.pairs_error(RRIndependent(**few), 1))
    clusters = RRClusters(**few, clusters=((0, 1), (2, 3), (4, 5)))
    assert in_twos(6, 3.0) == pytest.approx(planner.pairs_error(clusters, 1))

    def asked(epsilon):
        made = (
            AskSome(k=(2,) * 50, epsilon=epsilon, m=m, sizes=(1,) * 50, weights=[1] * math.comb(50, m))
            for m in range(2, 51)
            if math.comb(50, m) <= design.MOST_QUESTIONS
        )
        return min((planner.pairs_error(one, 1), one.m) for one in made)

    assert [alone(50, x) > asked(x)[0] for x in (1.0, 8.0, 17.0, 18.0, 25.0)] == [True, True, True, False, False]
    assert [in_twos(50, x) > asked(x)[0] for x in (1.0, 8.0, 14.0, 15.0, 25.0)] == [True, True, True, False, False]
    assert {asked(x)[1] for x in (8.0, 15.0, 25.0)} == {2}


@pytest.mark.parametrize(("epsilon", "answers"), [(1.0, 3), (2.0, 4)])
def test_from_few_answers_on_a_set_of_numbered_pairs_has_less_error_than_two_sets(epsilon, answers):
    """One pair a user, users drawn: a table's k^2 - 1 directions alike, a marginal's averaged over d - 1 tables."""

    def numbered(k, d, averaged=True):
        pairs, cells = math.comb(d, 2), k * k
        one = pairs * subset.error(math.exp(epsilon), cells, np.arange(1, cells)).min() / (cells - 1)
        return one * (pairs * (k - 1) ** 2 + d * (k - 1) * (1 if averaged else d - 1))

    def two_sets(k, d):
        some = [ask_pairs((k,) * d, epsilon, m) for m in range(2, min(d, 3) + 1)]
        return min(pair_error(one.k, epsilon, one.sizes_, one.m_, one.weights_) for one in some)

    alone = OneQuestion(k=(16,) * 6, epsilon=epsilon).uniform_variance(10**9) * 10**9  # with the error of the groups
    assert numbered(4, 4, averaged=False) == pytest.approx(alone + 6 * 15 / 16, rel=1e-6)
    both = [(k, d) for k in (answers, answers + 1, answers + 3, 10) for d in (2, 3, 8)]
    assert max(numbered(*case) / two_sets(*case) for case in both) < 1
    assert numbered(answers - 1, 8) > (1 - 1e-9) * two_sets(answers - 1, 8)
    apart = {1.0: 4, 2.0: 6}[epsilon]  # each table from the reports on its own pair alone
    both = [(k, d) for k in (apart, apart + 1, 10, 20) for d in (3, 8)]
    assert max(numbered(*case, averaged=False) / two_sets(*case) for case in both) < 1
    assert numbered(apart - 1, 8, averaged=False) > two_sets(apart - 1, 8)


def test_for_tables_three_questions_pay_at_a_larger_budget_the_more_answers_they_have():
    """The advice of chapter pair_tables, one value named of each answer: at 4 three of five answers cost twice."""

    def over_pairs(k, d, epsilon):
        shares = [(1 / math.comb(d, m),) * math.comb(d, m) for m in (2, 3)]
        two, three = (pair_error((k,) * d, epsilon, (1,) * d, m, w) for m, w in zip((2, 3), shares, strict=True))
        return three / two

    for d in (3, 8, 12):
        assert over_pairs(2, d, 1.2) > 1 > over_pairs(2, d, 2.0)
        assert over_pairs(5, d, 4.7) > 1 > over_pairs(5, d, 5.01)
    assert over_pairs(5, 4, 4.0) == pytest.approx(2, abs=0.1)


def test_copies_among_attributes_of_equal_shares_have_less_error_up_to_few_answers_only():
    """The card of SecondPhase: against one question each, shrunk to the attributes' average, at epsilon 1."""

    def lead(k):
        shares, rng = np.arange(k, 0, -1) / (k * (k + 1) / 2), np.random.default_rng(k)
        values = np.repeat(np.arange(k), rng.multinomial(20_000, shares))
        people = Population.from_records(np.column_stack([values, rng.permutation(values)]), k=(k, k))
        copied, asked = (
            SecondPhase(k=people.k, epsilon=1.0, reuse=[[1, 1], [1, 1]]),
            OneQuestion(k=people.k, epsilon=1.0),
        )
        raw = asked.simulate(people, rng=rng, runs=300)
        found = copied.simulate(people, rng=rng, runs=300)
        shrunk = shrinkage.common(raw, shrinkage.question_noise(asked, people.n)).estimates
        truth = people.select(0).frequencies
        off = [sum(((part - truth) ** 2).sum(axis=1) for part in one) for one in (shrunk, found)]
        return (off[0].mean() - off[1].mean()) / math.sqrt(sum(x.var() / 300 for x in off))

    assert lead(2) > 5
    assert max(lead(10), lead(16)) < -4
    even, many = Population.from_counts([[25, 25], [25, 25]]), {"k": (2, 2), "epsilon": 4.0}
    copied = SecondPhase(**many, reuse=[[1, 1], [1, 1]])
    assert np.hstack(copied.mean(even)) == pytest.approx(0.5)
    over = total_error(RRJoint(**many), even) / np.hstack(copied.variance(even)).sum()
    assert round(over, 2) == 0.27


def test_constant_fakes_have_less_error_than_split_budgets_and_than_copies_of_shares_that_differ_by_few_points():
    """The cards of SPL and SecondPhase: far more records than e^epsilon; the copies' best probability."""

    def fakes(people, epsilon):
        priors = [tuple(np.eye(len(f))[f.argmax()]) for f in marginal_frequencies(people)]
        return total_error(RSRFD(k=people.k, epsilon=epsilon, priors=priors), people)

    for k, epsilon, even, alike in (((10, 10), 1.0, 0.52, 0.47), ((5,) * 4, 1.0, 0.31, 0.24)):
        for people, stated in (([[v] * len(k) for v in range(k[0])], even), ([[0] * len(k)] * 10, alike)):
            found = Population.from_records(people, k=k)
            assert round(fakes(found, epsilon) / total_error(OMRR(k=k, epsilon=epsilon), found), 2) == stated

    unlike = Population.from_counts(np.outer([67, 23, 10], [73, 17, 10]))  # ten thousand
    ways = [SecondPhase(k=(3, 3), epsilon=1.0, reuse=p) for p in np.linspace(1 / 3, 1, 21)]
    copies, whole = min(total_error(way, unlike) for way in ways), total_error(RRJoint(k=(3, 3), epsilon=1.0), unlike)
    assert np.round([fakes(unlike, 1.0) / copies, whole / copies], 2).tolist() == [0.55, 1.12]
    same = Population.from_counts(functools.reduce(np.multiply.outer, [[7, 3]] * 3))  # the card of RSRFD
    copied = total_error(SecondPhase(k=same.k, epsilon=1.0, reuse=1.0), same)
    assert round(copied / fakes(same, 1.0), 2) == 0.22


def test_each_attribute_s_bits_have_more_error_than_its_sets_and_equal_budgets_more_than_the_best():
    """The card of BRR."""
    even = Population.from_counts([10] * 4)
    sets, *bits = (total_error(way(k=4, epsilon=0.5), even) for way in (SubsetSelection, OUE, SUE))
    assert round(sets / min(bits), 2) == 0.58
    people = Population.from_records([[v % 2, v] for v in range(1_000)], k=(2, 1_000))
    best, equal = (total_error(way(k=people.k, epsilon=1.0), people) for way in (OBRR, BRR))
    assert round(best / equal, 2) == 0.35


def test_copies_can_have_less_error_than_votes_where_votes_have_less_than_one_question():
    """The card of Plurality: three yes-or-no questions that lean on one answer, more and less."""
    leans = (0.2, 0.55, 0.9)
    joint = sum(
        share * functools.reduce(np.multiply.outer, [lean * own + (1 - lean) / 2 for lean in leans])
        for share, own in zip((2 / 3, 1 / 3), np.eye(2), strict=True)
    )
    people, rng = Population.from_counts(np.rint(2_000 * joint).astype(int)), np.random.default_rng(1)
    asked, votes = OneQuestion(k=people.k, epsilon=0.2), Plurality(k=people.k, epsilon=0.2, shares=(0.6, 0.4, 0.0))
    truth, raw = marginal_frequencies(people), asked.simulate(people, rng=rng, runs=1_000)
    shrunk = shrinkage.choose(raw, shrinkage.question_noise(asked, people.n)).estimates
    one, voted = (mse(found, truth).mean() * 6 for found in (shrunk, votes.simulate(people, rng=rng, runs=1_000)))
    copied = total_error(SecondPhase(k=people.k, epsilon=0.2, reuse=0.9), people)
    assert copied < 0.75 * voted < 0.75 * one


def test_votes_for_a_common_answer_have_less_error_where_noise_is_neither_small_nor_huge():
    """The card of Plurality: against one question each, shrunk in the way that the data choose."""

    def over(epsilon, shares, first=(0.4, 0.3, 0.2, 0.1), runs=600, way=shrinkage.choose):
        joint, rng = tree_law(first, 0.5, [0, 0, 0]), np.random.default_rng(1)
        people = Population.from_counts(np.rint(20_000 * joint).astype(int))
        asked, votes = OneQuestion(k=people.k, epsilon=epsilon), Plurality(k=people.k, epsilon=epsilon, **shares)
        raw = asked.simulate(people, rng=rng, runs=runs)
        shrunk = way(raw, shrinkage.question_noise(asked, people.n)).estimates
        two = [
            mse(found, marginal_frequencies(people)) for found in (votes.simulate(people, rng=rng, runs=runs), shrunk)
        ]
        ratio, noise = two[0].mean() / two[1].mean(), math.hypot(*(x.std() / x.mean() for x in two)) / runs**0.5
        return np.array([ratio * (1 - 3 * noise), ratio * (1 + 3 * noise)])

    default, model = {}, {"shares": (0.85, 0.15, 0.0)}
    found = shrinkage.choose, shrinkage.common
    for shares, told in ((default, (0.8, 0.9)), (model, (0.4, 0.5))):
        for way, said in zip(found, told, strict=True):
            low, high = over(0.5, shares, way=way)
            assert low - 0.05 < said < high + 0.05
            assert high < 1
    low, high = over(0.1, default)
    assert 1.5 < low < 2.2 < high
    assert over(0.1, model)[1] > 1
    assert min(over(1.0, shares)[1] for shares in (default, model)) > 0.95
    more = [over(2.0, shares)[0] for shares in (default, model)]
    assert min(*more, *(over(0.5, shares, (0.7, 0.1, 0.1, 0.1))[0] for shares in (default, model))) > 1


def test_a_mean_of_many_values_takes_far_fewer_people_by_rounding_than_by_sets():
    """The advice of chapter subset_selection: people drawn uniformly; all directions of shares have one variance."""

    def over_rounding(k, epsilon):
        away = np.linspace(0, 1, k) - 0.5
        best = subset.error(math.exp(epsilon), k, subset.optimal_size(math.exp(epsilon), k)) / (k - 1)
        return best * (away**2).sum() * 4 * math.tanh(epsilon / 2) ** 2  # half of the rounded values say the upper end

    assert round(over_rounding(100, 1.0)) == 26
    assert over_rounding(5, 2.0) < 1  # few values, large budget
    assert round(over_rounding(10, 4.0), 1) == 0.5
    told = (Path(__file__).parents[2] / "notebooks" / "subset_selection.ipynb").read_text(encoding="utf-8")
    assert "a mean of many ordered values at small ε do not use sets" in told
    people = Population.from_counts([100] * 10)
    sets = SubsetSelection(k=10, epsilon=1.0)
    found = sets.simulate(people, rng=np.random.default_rng(8), runs=20_000) @ np.linspace(0, 1, 10)
    rounding = np.tanh(0.5) ** -2 / 4 / people.n  # with the sampling error of the people
    ratio = (found.var() + np.linspace(0, 1, 10).var() / people.n) / rounding
    assert abs(ratio / over_rounding(10, 1.0) - 1) < 5 * (2 / 20_000) ** 0.5


def test_with_a_hundred_values_and_ten_thousand_people_projecting_halves_the_error():
    """The advice of chapter limit_minimax: for this many values there is far more to gain than for two questions."""

    def left(k, counts):
        people, sets = Population.from_counts(counts), SubsetSelection(k=k, epsilon=1.0)
        found, truth = sets.simulate(people, rng=np.random.default_rng(9), runs=200), np.array(counts) / people.n
        return ((project_simplex(found) - truth) ** 2).sum() / ((found - truth) ** 2).sum()

    alike = [[10_000 // m] * m + [0] * (100 - m) for m in (1, 5, 10, 20, 40, 50, 100)]
    assert max(left(100, counts) for counts in alike) < 0.5
    assert left(10, [1_000] * 10) > 0.95


def test_a_hash_costs_next_to_nothing_only_if_answers_are_far_more_than_e_to_the_epsilon():
    """The cards of OLH and OUE, and the advice of chapter subset_selection."""

    def over_sets(k, epsilon):
        best = subset.error(math.exp(epsilon), k, subset.optimal_size(math.exp(epsilon), k)) - 1 + 1 / k
        return pure(*OLH(k=k, epsilon=epsilon).probabilities, k) / best

    assert max(over_sets(k, b) for k in (1_000, 10_000) for b in (0.3, 1.0, 3.0, math.log(k / 10))) < 1.06
    assert round(over_sets(2_000, 7.0), 1) == 1.3
    assert SubsetSelection(k=2_000, epsilon=7.0).size_ == 2

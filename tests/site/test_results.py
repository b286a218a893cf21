"""The numbers of the page of results are computed here, and must stand in the row that they belong to."""

import functools
import itertools
import math
import re
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest

from ldp_lib import MECHANISMS, designs, fake_data, grr, jrr, subset
from ldp_lib.book import best_settings
from ldp_lib.book.claims import ledger, slips
from ldp_lib.corr_rr._two_phases import TwoPhase
from ldp_lib.datasets import load_adult, load_minarets, load_students
from ldp_lib.grr import GRR
from ldp_lib.hashing import OLH
from ldp_lib.jrr import calibration, signed_parameters
from ldp_lib.limit.closed_forms import simple_pair_error
from ldp_lib.limit.pair_tables import least_pair_error
from ldp_lib.sampled import OneQuestion
from ldp_lib.splitting import BRR, OBRR
from ldp_lib.subset import SubsetSelection
from ldp_lib.survey import planner
from ldp_lib.survey.errors import total_error
from ldp_lib.unary import OUE

PAGE = (Path(__file__).resolve().parents[2] / "book" / "results.md").read_text(encoding="utf-8")
SECURITY = (Path(__file__).resolve().parents[2] / "book" / "security.md").read_text(encoding="utf-8")
NUMBERS = [cells[1] for line in re.findall(r"^\| (.*) \|$", PAGE, re.MULTILINE) if len(cells := line.split(" | ")) == 7]
ADULT = load_adult()
SHARES = best_settings.load().loc[("adult 8", 1.0)]


def over_the_limit(name, k):
    """The best split's error of all tables over the bound in closed form, both for users drawn at random."""
    drawn = sum(1 - 1 / (a * b) for i, a in enumerate(k) for b in k[:i])
    return (best_settings.load("tables")["split"][name, 1.0] + drawn) / (simple_pair_error(k, 1.0) + drawn)


@functools.cache
def design(n=10_000):
    """The signed reports of 10,000 people that are (0.1, 1e-8)-private together: p and rho."""
    return signed_parameters(epsilon=0.1, delta=1e-8, n=n)


def people():
    several, one = SubsetSelection(k=9, epsilon=1.0), GRR(k=9, epsilon=1.0)
    return f"{planner.required_users(several, 0.01):,} people; {planner.required_users(one, 0.01):,} people"


def named():
    few, one = (subset.error(math.e, 16, size) - 15 / 16 for size in (4, 1))
    return f"{few / one:.2f}"


def saved():
    parts = [total_error(M(k=ADULT.k, epsilon=1.0), ADULT) for M in (OBRR, BRR)]
    return {7: "a seventh of the error"}[round(1 / (1 - parts[0] / parts[1]))]


def fakes(kind="constant fakes"):
    parts = [SHARES[kind + weights] / SHARES["one question"] for weights in ("", ", equal weights")]
    return "{:.1f} times; {:.1f} times".format(*parts)


def tables():
    wide, four = over_the_limit("Adult's domain", ADULT.k), over_the_limit("four of Adult's", (6, 5, 2, 2))
    return f"{wide:.0f} times; {four:.0f} times"


def signed():
    p, rho = design()
    return f"{p * (1 - p) * (1 + rho) / (2 * p - 1) ** 2 / calibration.plain_variance(0.1, 1e-8):.0%}".replace(
        "%", " %"
    )


def one_sign(n=10_000, digits=0):
    p, rho = design(n)
    square = -rho * p * (1 - p)
    return f"{(p**2 - square) / ((1 - p) ** 2 - square):.{digits}f}"


def hidden():
    uniform = [[1 / size] * size for size in (2, 3)]
    ratio = max(fake_data.privacy_ratio(fake_data.amplified(2, 2), (2, 3), uniform, [j]) for j in (0, 1))
    assert ratio == pytest.approx(23 / 11)
    return "23/11"


INNOCUOUS = (F(1, 12), F(1, 10), F(2, 3), F(1, 10), F(1, 3), F(1, 12))  # in the order of the students' questions


def warner_for_students():
    students, enough = load_students(), []
    for yes, alpha in zip(students.counts @ students.records / students.n, INNOCUOUS, strict=True):
        card = designs.unrelated_question(F(1, 2), alpha)
        ratio = max(designs.report_ratios(card))
        both = [designs.variance(one, 2 * yes - float(alpha), 1) for one in (designs.warner(ratio / (1 + ratio)), card)]
        enough.append(math.ceil(students.n * both[0] / both[1]))
    return f"{min(enough)}; {max(enough)}"


def excluding_reports():
    law = designs.joint_law(
        [
            (m == 7, g == 2, d <= 20, g == 5, 15 <= d <= 25, m == 4)
            for m, d, g in itertools.product(range(1, 13), range(1, 31), range(10))
        ]
    )
    zero, students = (designs.record_channel(F(1, 2), law) == 0).any(axis=0), load_students()
    return f"{zero.sum()}; {students.counts[zero[students.records @ 2 ** np.arange(5, -1, -1)]].sum()}"


def minarets():
    """Return the shares of holders who tell, who deny, and of those who are no holders."""
    rows = load_minarets().set_index(["condition", "answer"])["count"]
    ones = [F(int(rows[g, 1]), int(rows[g, 0] + rows[g, 1])) for g in (1, 2)]
    holders, telling = designs.lie_detector(ones, (F(1, 6), F(5, 6)))
    return holders * telling, holders * (1 - telling), 1 - holders


def readings():
    tell, deny, _ = minarets()
    return f"{float(tell + deny):.1%}; {float(tell - deny):.1%}".replace("%", " %")


def deniable():
    def deviation(share):
        return math.sqrt(share * (1 - share))

    tell, _, others = minarets()
    told, p, q = deviation(tell + others), 6 / 7, 1 / 7
    own = (deviation(p * tell + q * others) + p * told) / (p - q)
    return f"{(own / ((told + deviation(tell + others / 6)) * 6 / 5)) ** 2:.2f} times"


def careless():
    """The mean over all reports; of a random bucket among g, under any function, 1/g."""
    unary, one, hashed = OUE(k=6, epsilon=1.0), GRR(k=6, epsilon=1.0), OLH(k=6, epsilon=1.0)
    means = [float(np.mean([m.estimate(np.array([y])) for y in m.reports()], axis=0)[0]) for m in (unary, one)]
    p, q = hashed.probabilities
    means.append((1 / hashed.g_ - q) / (p - q))
    return "; ".join(str(F(mean).limit_denominator(1000)) for mean in means)


@pytest.mark.parametrize(
    "computed",
    [
        warner_for_students,
        excluding_reports,
        readings,
        deniable,
        careless,
        people,
        named,
        saved,
        fakes,
        functools.partial(fakes, "constant sets"),
        functools.partial(fakes, "constant sets of any size"),
        tables,
        signed,
        one_sign,
        hidden,
        lambda: f"{SHARES['split'] / SHARES['one question']:.1f} times",
        lambda: " against ".join(str(subset.error(F(2), 7, size)) for size in (3, 1)),  # for users drawn, Fano's plane
    ],
)
def test_the_number_on_the_page_is_the_computed_one(computed):
    assert computed() in NUMBERS


def test_the_three_shares_are_those_of_cheating_detection():
    """Clark and Desharnais, as RRreg has it: honest yes, cheaters, honest no, told to say 1 with probability p or r."""
    rows = load_minarets().set_index(["condition", "answer"])["count"]
    one, two = (F(int(rows[g, 1]), int(rows[g, 0] + rows[g, 1])) for g in (1, 2))
    p, r = F(5, 6), F(1, 6)
    honest, no = (r * one - p * two) / (r - p), (two - one) / (r - p)
    assert minarets() == (honest, 1 - honest - no, no)


def test_what_is_known_stands_apart_from_what_is_new():
    """Cao, Jia and Gong, Table 1: r uniform reports on r of d shares of 0 add r, r/d and 0 (OUE, GRR, OLH)."""
    new, _, known = PAGE.replace("## For orientation", "## Findings on papers").split("\n## Findings on papers\n")
    r, d = 1, 6
    assert careless() == f"{r}; {F(r, d)}; 0"
    for number in (careless(), people(), "33 against 56", "47; 14"):
        assert f"| {number} |" in known
        assert f"| {number} |" not in new
    assert all(f"| {number} |" in new for number in (readings(), tables(), deniable()))


def test_of_three_divisors_the_one_between_is_named_beside_the_extremes():
    """Without noise, each of eight questions asked of an eighth: planned groups, centred draws, Horvitz-Thompson.

    Groups that are drawn, divided by the size that they have, are simulated.
    """
    rng, runs, n = np.random.default_rng(1), 400, 4_000
    planned, centred = (
        ADULT.n * sum(v.sum() for v in OneQuestion(k=ADULT.k, epsilon=50.0, weights=[1] * 8, groups=g).variance(ADULT))
        for g in (True, False)
    )
    textbook = centred + sum(7 / size for size in ADULT.k)
    (row,) = (line for line in PAGE.splitlines() if f"| {planned:.0f} against {textbook:.0f} |" in line)
    assert f"centred at 1/k, {centred:.0f} |" in row
    off = np.zeros(runs)
    for j in range(8):
        values = rng.choice(ADULT.k[j], n, p=ADULT.select(j).frequencies)
        all_of_them = np.bincount(values, minlength=ADULT.k[j]) / n
        for run in range(runs):
            asked = values[rng.integers(8, size=n) == 0]
            off[run] += n * ((np.bincount(asked, minlength=ADULT.k[j]) / asked.size - all_of_them) ** 2).sum()
    error = off.std() / runs**0.5
    assert abs(off.mean() - planned) < 5 * error < centred - planned


def test_fakes_that_are_all_empty_cost_nearly_nothing_once_what_was_asked_is_used():
    """An empty set beside an answer is an open report of a question that the device has drawn."""
    asked = [OneQuestion(k=ADULT.k, epsilon=1.0, weights=weights, groups=False) for weights in (None, [1] * 8)]
    asked = [ADULT.n * total_error(mechanism, ADULT) for mechanism in asked]
    best, equal = (error / SHARES["one question"] for error in asked)
    (row,) = (line for line in PAGE.splitlines() if f"| {fakes('constant sets of any size')} |" in line)
    assert f"centred at 1/k, {best:.2f} and {equal:.2f} times" in row
    assert best < SHARES["constant sets of any size"] / SHARES["one question"] / 1.25


def test_statements_that_are_no_sentences_of_their_paper_are_named_with_their_verdicts():
    said = re.compile("no sentence of the paper|not of the text")
    found = [c for c in ledger().values() if said.search(c.statement)]
    paragraph = PAGE[PAGE.index("Four statements counted under") : PAGE.index("| paper | what stands")]
    named = dict(re.findall(r"\{claim\}`([\w/.-]+)`\s+\(([\w-]+)\)", paragraph))
    assert named == {c.id: c.verdict for c in found}
    assert len(named) == 4


def test_twelve_refuted_statements_have_five_causes():
    refuted = [c for c in ledger().values() if c.paper == "jrr" and c.verdict == "refuted"]
    shared = slips(refuted)
    alone = sum(not c.slip for c in refuted)
    assert (len(refuted), len(shared) + alone) == (12, 5)
    assert "jrr/eq-34" in (largest := max(shared.values(), key=len))
    assert len(largest) == 7


def test_two_reports_under_one_sign_have_the_ratio_of_as_many_people_as_the_pages_name():
    assert f"10,000 users, any (for 1,000: {one_sign(1_000, 1)})" in PAGE
    said = "planned for 10,000 people, ε = 0.1 each and δ = 10⁻⁸ a likelihood ratio of {} (for 100 people {})"
    assert said.format(one_sign(), one_sign(100, 2)) in SECURITY


def test_a_broken_assumption_costs_signed_reports_the_delta_that_the_page_on_security_names():
    """The least one if all others hold one answer; for half the proved bound, in the chapter, is 20 times as much."""
    half, pairs = (jrr.signed_delta(0.1, *design(), *size) for size in ((10_000, 5_000), (2, 0)))
    exponent = math.floor(math.log10(half))
    assert exponent == -8
    assert f"from {half / 10**exponent:.0f}·10⁻⁸ (half collude) to {pairs:.2f} (known pairs)" in SECURITY
    assert round(jrr.signed_delta_bound(0.1, *design(), 10_000, 5_000) / half) == 20


@pytest.mark.parametrize("known", ["whether they lied", "their signs"])
def test_what_the_page_on_security_names_bounds_what_colluders_know(known):
    """Six users, one of whom shows a minus, and a partner who lied or has a minus: by hand, and not by the other."""
    p, s, rho = F(3, 5), F(1, 5), F(-1, 6)
    (named,) = re.findall(rf"^\| one report, by colluders who know {known} \| `jrr\.([\w.]+)`", SECURITY, re.MULTILINE)
    function = functools.reduce(getattr, named.split("."), jrr)
    truth = p + (s if known == "their signs" else -rho * p) / 5  # the partner of one in five is the one who shows
    assert function(p, s if known == "their signs" else rho, 6, 1) == truth / (1 - truth)


def test_reports_of_people_who_are_known_to_answer_alike_have_the_sum_that_the_page_on_security_names():
    """All reports of two people, by the answer that both hold."""
    law = grr.channel(F(3), 2)
    alike = [[law[x][a] * law[x][b] for a in (0, 1) for b in (0, 1)] for x in (0, 1)]
    assert max(one / other for one, other in zip(*alike, strict=True)) == F(3) ** 2
    assert "if several are known to answer alike, as in a household, their sum |" in SECURITY
    page = (Path(__file__).resolve().parents[2] / "book" / "survey.md").read_text(encoding="utf-8").replace("\n> ", " ")
    assert "What we receive from you can shift anybody's odds of what you answered by a factor of at most 2.72" in page


def test_the_page_on_security_names_every_mechanism_of_two_phases():
    (row,) = re.findall(r"^\| what the first phase taught \((.*)\) \| `epsilon`", SECURITY, re.MULTILINE)
    assert {*re.findall(r"`(\w+)`", row)} == {kind.__name__ for kind in MECHANISMS if issubclass(kind, TwoPhase)}


def test_the_ratios_of_pair_tables_are_to_the_theorem_because_the_least_error_is_not_known_to_that_digit():
    """Of four attributes splitting has 73 times what is proved, and 71 times what a mixture of sets has."""
    found = least_pair_error((6, 5, 2, 2), 1.0)
    drawn = sum(1 - 1 / (a * b) for a, b in itertools.combinations(found.k, 2))
    split = best_settings.load("tables")["split"]["four of Adult's", 1.0] + drawn
    assert [round(split / error) for error in (found.error, found.attained)] == [73, 71]
    (row,) = (line for line in PAGE.splitlines() if f"| {tables()} |" in line)
    assert row.split(" | ")[5] == "the bound {prf:ref}`thm-pairs-limit`"


def test_masks_have_the_stated_standard_error():
    """That of mixed reports, 47, is printed by the chapter; the promise is that of its figure."""
    own, r = 10_000 * calibration.plain_variance(0.1, 1e-8), math.exp(-0.1)
    assert round(math.sqrt(own), -1) == 1_000
    assert f"47; {math.sqrt(2 * r) / (1 - r):.0f}" in NUMBERS

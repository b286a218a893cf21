"""What the site shows teachers and students beside the chapters: goals, needs, and three questions a Learn chapter."""

import difflib
import functools
import json
import math
import re
import sys
from fractions import Fraction as F
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from docutils import nodes
from docutils.utils import new_document
from scipy.stats import binom, chi2, norm

from ldp_lib import (
    GRR,
    OLH,
    OMRR,
    OUE,
    SPL,
    AskSome,
    OneQuestion,
    Plurality,
    Population,
    RRJoint,
    channel,
    jrr,
    leakage,
    limit,
    splitting,
    subset,
    total_error,
)
from ldp_lib.book import best_settings
from ldp_lib.corr_rr import tree_law

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import chapters  # noqa: E402
import teaching  # noqa: E402

SITE = ROOT / "_build" / "html"
ENTRIES = yaml.safe_load(teaching.QUESTIONS.read_text(encoding="utf-8"))
LEARN = list(teaching.learn())
QUESTIONS = [(slug, question) for slug, entry in ENTRIES.items() for question in entry["questions"]]


@pytest.mark.parametrize("path", LEARN, ids=lambda path: path.stem)
def test_each_learn_chapter_has_goals_and_three_questions(path):
    entry = ENTRIES[path.stem]
    assert entry["goals"]
    assert len(entry["questions"]) == 3
    for question in entry["questions"]:
        assert question.keys() == {"ask", "choices"}
        assert question["ask"].endswith("?")
        assert all(choice.keys() == {"say", "why"} for choice in question["choices"])
        assert 3 <= len({choice["say"] for choice in question["choices"]}) == len(question["choices"]) <= 4


def test_every_answer_has_a_reason_of_one_sentence_and_no_two_are_alike():
    reasons = [choice["why"] for _, question in QUESTIONS for choice in question["choices"]]
    for why in reasons:
        assert why.endswith(".")
        assert len(why) >= 40
        assert not re.search(r"[.?!] [A-Z]", why), why
    letters = np.array([[why.count(letter) for letter in sorted(set("".join(reasons)))] for why in reasons])
    for i, one in enumerate(reasons):
        # What two have in common at most is the letters that are in both.
        both, total = np.minimum(letters[i], letters[:i]).sum(axis=1), letters[i].sum() + letters[:i].sum(axis=1)
        for j in np.flatnonzero(both >= 0.4 * total):
            assert difflib.SequenceMatcher(None, reasons[j], one).ratio() < 0.8, [reasons[j], one]


def test_neither_place_nor_length_tells_the_right_answer():
    """One in three by guessing; for a rule of thumb at most half of the 78."""
    placed, longest, shortest = [], 0, 0
    for _, question in QUESTIONS:
        says = [choice["say"] for choice in question["choices"]]
        placed.append(sorted(says).index(says[0]))
        longest += len(says[0]) > max(map(len, says[1:]))
        shortest += len(says[0]) < min(map(len, says[1:]))
    assert max(longest, shortest, *map(placed.count, range(4))) < len(QUESTIONS) / 2
    assert min(map(placed.count, range(3))) > len(QUESTIONS) / 6


@pytest.mark.parametrize("path", LEARN, ids=lambda path: path.stem)
def test_the_questions_come_before_the_exercises(path):
    source = [path.read_text(encoding="utf-8")]
    teaching.add_questions(None, f"notebooks/{path.stem}", source)
    text = "\n".join("".join(cell["source"]) for cell in json.loads(source[0])["cells"])
    assert text.count("{choices}") == 3
    assert text.index("## Check yourself") < text.index("## Exercises")
    # Nothing else is changed.
    entry = ENTRIES[path.stem]
    before = [
        "".join(cell["source"]).replace(teaching.check_yourself(path.stem, entry) + "\n", "")
        for cell in json.loads(source[0])["cells"]
    ]
    assert before == ["".join(cell["source"]) for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]]


def test_the_first_answer_is_the_right_one_wherever_it_is_sorted():
    for slug, entry in ENTRIES.items():
        shown = re.findall(
            r"^:::\{choice\} [a-d] (right|wrong)\n(.+)\n\n(.+)\n:::$", teaching.check_yourself(slug, entry), re.M
        )
        given = {tuple(choice) for choice in shown}
        assert len(given) == len(shown)
        for question in entry["questions"]:
            for number, choice in enumerate(question["choices"]):
                assert ("wrong" if number else "right", choice["say"], choice["why"]) in given


def test_other_pages_stay_as_they_are():
    source = ["no JSON"]
    teaching.add_questions(None, "book/intro", source)
    assert source == ["no JSON"]


def test_the_instructors_page_names_every_set_and_learn_chapter():
    page = (ROOT / "book" / "instructors.md").read_text(encoding="utf-8")
    assert "```{teaching-sets}" in page
    assert "```{teaching-chapters}" in page
    listed = set(re.findall(r"\{doc\}`../notebooks/(\w+)`", page))
    assert listed <= {path.stem for path in LEARN} | {path.stem for path in (ROOT / "notebooks").glob("audit_*.ipynb")}
    assert set(re.findall(r"(?:^ *|`)make ([\w-]+)", page, re.M)) <= set(
        re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M)
    )


def test_the_front_page_says_how_long_a_chapter_takes():
    front = (ROOT / "book" / "intro.md").read_text(encoding="utf-8")
    most, audits = map(int, re.search(r"at most (\d+) minutes \(audits about (\d+)\)", front).groups())
    printed = {path: int(re.search(r"Minutes:\*\* (\d+)", path.read_text(encoding="utf-8"))[1]) for path in LEARN}
    assert max(printed.values()) == most
    for path in teaching.learn("Audit"):
        assert abs(int(re.search(r"Minutes:\*\* (\d+)", path.read_text(encoding="utf-8"))[1]) - audits) <= 5, path.stem


def unread(page):
    """Return what the timetable leaves out: chapters that a set or another chapter needs and nobody was told to read.

    Each row of the first table adds to what was read before.
    """
    section = page.split("## Six weeks, or twelve\n")[1].partition("\n## ")[0]
    after, wrong = {}, []
    for row in re.findall(r"^\|(.*set \d.*)\|$", section, re.M):
        number, *earlier = map(int, re.findall(r"\bset (\d)", row))
        read = after.get(*earlier or [number - 1], set()) | set(re.findall(r"notebooks/(\w+)", row))
        after[number] = {slug for slug in read if earlier or not slug.startswith("audit")}
        item = yaml.safe_load((ROOT / "assignments" / f"ps{number}.yml").read_text(encoding="utf-8"))
        wrong += [(f"set {number}", slug) for slug in item["chapters"] if slug not in after[number]]
        for slug in read:
            first = json.loads((ROOT / "notebooks" / f"{slug}.ipynb").read_text(encoding="utf-8"))["cells"][0]["source"]
            needs = re.findall(r"\{doc\}`(\w+)`", "".join(first).partition("**You need:**")[2])
            wrong += [(slug, need) for need in needs if need not in read]
    return wrong


def test_the_timetable_reads_what_its_sets_and_chapters_need():
    page = (ROOT / "book" / "instructors.md").read_text(encoding="utf-8")
    assert unread(page) == []
    assert unread(page.replace("{doc}`../notebooks/attacker`", "")) == [("set 8", "attacker")]
    assert ("audit_corr_rr", "corr_rr") in unread(page.replace("{doc}`../notebooks/corr_rr`", ""))
    assert re.findall(r"^\|.*?set (\d)", page.split("## Six weeks, or twelve\n")[1], re.M) == list("123456789")


@pytest.mark.parametrize(
    ("page", "said"), [("book/instructors", "5. One each"), ("notebooks/x", "Chapter 5"), ("book/about", "One each")]
)
def test_a_link_to_a_chapter_has_its_number_in_running_text_and_in_the_instructors_tables(page, said):
    tree = new_document("x")
    tree += nodes.paragraph()
    tree[0] += nodes.reference("", "", nodes.inline("", "One each", classes=["doc"]), refuri="../notebooks/one.html")
    env = SimpleNamespace(
        toc_secnumbers={"notebooks/one": {"": (5,)}}, titles={"notebooks/one": nodes.title("", "One each")}
    )
    chapters.name_by_number(SimpleNamespace(env=env), tree, page)
    assert tree.astext() == said


# The numbers in questions, answers and reasons, each computed.


def total(mechanism, *counts):
    """Return the total variance, times the number of people, with the people held fixed."""
    population = Population.from_counts(list(counts))
    return sum(mechanism.variance(population)) * sum(counts)


def drawn(mechanism):
    """Return n times the variance of one share of two uniform binary attributes, for users drawn at random."""
    n = 4_000
    population = Population.from_records(np.repeat([[0, 0], [0, 1], [1, 0], [1, 1]], n // 4, axis=0), k=(2, 2))
    return n * mechanism.variance(population)[0][0] + 1 / 4


def truth(epsilon):
    """Return the probability that a report of randomized response is true."""
    return GRR(k=2, epsilon=epsilon).probabilities[0]


def odds(p):
    """Return the odds of a probability."""
    return p / (1 - p)


def set_size(share, e):
    """Return subset selection's total variance, up to a factor, if sets name this share of very many values."""
    return (1 + (e - 1) * share) ** 2 / (share * (1 - share))


def weighted(one, other):
    """Return the sum of 4/w and 1/w for weights in this ratio."""
    return 4 * (one + other) / one + (one + other) / other


def split(budgets):
    """Return the sum of k/b^2 for 1 and 8 categories and budgets in this ratio, which sum to 1."""
    return sum(k * (sum(budgets) / b) ** 2 for k, b in zip((1, 8), budgets, strict=True))


def one_sign(p=F(3, 5), move=F(3, 10)):
    """Return the likelihood ratio of "yes, no" if one sign serves two questions."""
    q, moves = 1 - p, (move, -move)
    return sum((p + s) * (1 - q - s) for s in moves) / sum((q + s) * (1 - p - s) for s in moves)


def partner(p, rho, lied):
    """Return the probability that a person told the truth, given what the partner did."""
    both, one, *_ = jrr.table(p, rho, 2)
    return one / (1 - p) if lied else both / p


def equal_split():
    """Return the total variance of equal budgets over that of the best, for 2 and 16 categories at 1."""
    spend = lambda budgets: sum(k * x / (x - 1) ** 2 for k, x in zip((2, 16), np.exp(budgets / 2), strict=True))  # noqa: E731
    return spend(np.full(2, 0.5)) / spend(np.array(splitting.obrr((2, 16), 1.0)))


def harmonic():
    """Return the harmonic mean of the two rates' noise."""
    return 2 / (1 / NOISE[0.3] + 1 / NOISE[1.1])


E = math.e
NOISE = {epsilon: math.exp(epsilon) / (math.exp(epsilon) - 1) ** 2 for epsilon in (0.2, 0.3, 0.4, 1.1)}
RATE = 2 / (1 + math.exp(1.1))
NUMBERS = [
    ("randomized_response", "48 %", lambda: 100 * (1 - truth(0.1))),
    ("randomized_response", "0.52", lambda: truth(0.1)),
    ("randomized_response", "0.05", lambda: 2 * truth(0.1) - 1),
    ("randomized_response", "0.90", lambda: math.exp(-0.1)),
    ("randomized_response", "4.04", lambda: NOISE[0.2] / NOISE[0.4]),
    ("frequency_oracles", "4.4", lambda: total(GRR(k=3, epsilon=1.0), 10, 20, 30)),
    ("frequency_oracles", "12.0", lambda: total(OUE(k=3, epsilon=1.0), 10, 20, 30)),
    ("frequency_oracles", "12.3", lambda: total(OLH(k=3, epsilon=1.0), 10, 20, 30)),
    ("subset_selection", "27 %", lambda: 100 / (E + 1)),
    ("subset_selection", "37 %", lambda: 100 / E),
    ("subset_selection", "1.27", lambda: set_size(0.5, E) / set_size(1 / (E + 1), E)),
    ("attribute_sampling", "it is 9", lambda: weighted(2, 1)),
    ("attribute_sampling", "their sum is 10", lambda: weighted(4, 1)),
    ("attribute_sampling", "from 10", lambda: weighted(1, 1)),
    ("budget_splitting", "0.76", lambda: math.hypot(0.3, 0.7)),
    ("budget_splitting", "34 %", lambda: 100 * (equal_split() - 1)),
    ("budget_splitting", "2 times", lambda: 8 ** (1 / 3)),
    ("budget_splitting", "2.8", lambda: math.sqrt(8)),
    ("budget_splitting", "91", lambda: split((1, 8))),
    ("budget_splitting", "27", lambda: split((1, 2))),
    ("jrr", "0.96", lambda: partner(F(3, 5), F(-3, 5), lied=True)),
    ("transcript", "from 1.5 to 9", lambda: odds(partner(F(3, 5), F(-1, 2), lied=True))),
    ("transcript", "0.67", lambda: odds(partner(F(3, 5), F(-1, 2), lied=False))),
    ("transcript", "a likelihood ratio of 1.5", lambda: 1 / odds(partner(F(3, 5), F(-1, 2), lied=False))),
    ("helpers", "3.9", one_sign),
    ("helpers", "2.25", lambda: F(3, 2) ** 2),
    ("pair_tables", "1/45", lambda: F(1, math.comb(10, 2))),
    ("limit_attained", "3.83", lambda: 1 + 2 * math.sqrt(2)),
    ("limit_attained", "21", lambda: 1 + 4 * (2 * 4 - 3)),
    ("limit_attained", "1.08", lambda: 4 / (E + 1)),
    ("limit_attained", "0.2 %", lambda: 100 * (subset.error(E, 4, 1) / (9 / 4 / math.sinh(1 / 2) ** 2) - 1)),
    (
        "limit_minimax",
        "1.3995",
        lambda: limit.fixed_data_error((4,), math.log(3), Population.from_counts([1, 1, 1, 1])).error / 4,
    ),
    ("limit_minimax", "1.5", lambda: (subset.error(3, 4, 1) - 3 / 4) / 4),
    ("limit_correlation", "4 %", lambda: 100 * (1 - 0.98**2)),
    ("limit_correlation", "0.5 %", lambda: 100 * (1 - 1 / math.cosh(0.05) ** 4)),
    ("which_mechanism", "1.34", lambda: math.log(1 + 2 * math.sqrt(2))),
    ("which_mechanism", "0.66", lambda: drawn(RRJoint(k=(2, 2), epsilon=2.0))),
    ("which_mechanism", "0.86", lambda: drawn(OneQuestion(k=(2, 2), epsilon=2.0))),
    ("which_mechanism", "1.17", lambda: drawn(SPL(k=(2, 2), epsilon=2.0))),
    ("optimal_sets", "1.34", lambda: math.log(1 + 2 * math.sqrt(2))),
    ("attacker", "0.73", lambda: E / (E + 1)),
    ("attacker", "0.63", lambda: 1 - 1 / E),
    ("attacker", "2.7 to 1", lambda: E),
    ("attacker", "5/3", lambda: leakage.binary_ratio(3, F(3, 4), F(1, 4))),
    ("attacker", "1.6", lambda: leakage.binary_ratio(E, 0.75, 0.25)),
    (
        "limit_correlation",
        "to 3 %",
        lambda: 100 * chi2.std(2) / chi2.mean(2) / math.sqrt(1_000),
    ),  # two yes-or-no questions
    ("real_survey", "13 times", lambda: (F(1, 2) + F(1, 24)) / F(1, 24)),
    ("real_survey", "2.1 times", lambda: (1 - F(1, 24)) / (F(1, 2) - F(1, 24))),
    ("real_survey", "0.54", lambda: 1 - 0.95**15),
    ("real_survey", "2.94", lambda: norm.isf(0.05 / 15 / 2)),
    ("real_survey", "0.09", lambda: 0.1 * (1 - 0.1)),
    ("real_survey_privacy", "only 2 of the 64", lambda: len({(face,) * 6 for face in (0, 1)})),
    ("browser", "about $-0.5$", lambda: -RATE / 2 / (1 - RATE)),
    ("browser", "= 0.25$ at ε = 1.1", lambda: RATE / 2),
    ("browser", "v = 11", lambda: NOISE[0.3]),
    ("browser", "of 0.75", lambda: NOISE[1.1]),
    ("browser", "7 %", lambda: 100 * (2 * NOISE[1.1] / harmonic() - 1)),
    ("browser", "17.504", lambda: math.log(4e7 - 1)),
    ("browser", "0.41", lambda: math.log(1.5)),
    ("browser", "16.4", lambda: math.log(2 / 1.5e-7 - 1)),
    ("repeated", "7.2", lambda: math.sqrt(52)),
    ("repeated", "0.9998", lambda: binom.sf(26, 52, E / (E + 1)) + binom.pmf(26, 52, E / (E + 1)) / 2),
]


@pytest.mark.parametrize(("slug", "shown", "value"), NUMBERS)
def test_the_numbers_of_questions_are_right(slug, shown, value):
    said = " ".join(
        f"{question['ask']} {choice['say']} {choice['why']}"
        for question in ENTRIES[slug]["questions"]
        for choice in question["choices"]
    )
    assert shown in said
    numbers = [F(number) for number in re.findall(r"-?\d+(?:\.\d+)?(?:/\d+)?", shown)]
    found = value()
    places = max((len(number) for number in re.findall(r"\.(\d+)", shown)), default=0)
    off = min(abs(float(found) - float(number)) for number in numbers)
    assert off < (1e-12 if isinstance(found, F) and "/" in shown else 0.5001 * 10**-places), float(found)


def test_the_numbers_in_words_are_right():
    told = {slug: str(ENTRIES[slug]) for slug in ENTRIES}
    ahead = [k for k in range(2, 30) if total(OUE(k=k, epsilon=1.0), *[1] * k) < total(GRR(k=k, epsilon=1.0), *[1] * k)]
    assert "helps from ten answers on" in told["frequency_oracles"]
    assert min(ahead) == 10
    assert "the variance is four times the least one" in told["browser"]
    assert 3.5 < (NOISE[0.3] + NOISE[1.1]) / 2 / harmonic() < 4.5
    assert "5 each" in told["attribute_sampling"]
    assert (4 / 0.8, 1 / 0.2, 4 / 0.5, 1 / 0.5) == (5, 5, 8, 2)
    assert "the terms are 8 and 2" in told["attribute_sampling"]


def test_a_question_names_the_report_the_domains_and_the_shares_for_which_its_answer_is_right():
    """Each other case would have another answer."""
    asked = {slug: " ".join(q["ask"] for q in ENTRIES[slug]["questions"]) for slug in ENTRIES}
    assert "with 2 and 16 by unary encoding at ε = 1" in str(ENTRIES["budget_splitting"])
    people = Population.from_counts(np.ones((2, 16), dtype=int))
    equal, best = (total_error(made(k=people.k, epsilon=1.0), people) for made in (SPL, OMRR))
    assert 2.6 < equal / best < 2.7  # by GRR
    assert "by the rule for unary encoding at small ε" in asked["budget_splitting"]
    small = np.array(splitting.omrr((2, 16), 0.01))
    assert small[1] / small[0] == pytest.approx((16 * 15 / 2) ** (1 / 3), rel=0.01)  # 4.9 by GRR, not 2
    assert "$d$ attributes of equally many answers" in asked["attribute_sampling"]
    each = np.array([subset.error(math.exp(0.01), k, subset.optimal_size(math.exp(0.01), k)) for k in (2, 1_000)])
    assert 1.1 < (each ** (1 / 3)).sum() ** 3 / np.sqrt(each).sum() ** 2 < 1.3  # 2 for equal ones
    assert "each yes for half of the people" in asked["attacker"]
    agree, rare = np.array([[0.95, 0.0], [0.0, 0.05]]), [0.95, 0.05]
    table = leakage.attribute_channel(OneQuestion(k=(2, 2), epsilon=0.5).channel(), agree, 1)
    assert channel.success_rate(table, rare) == pytest.approx(0.95)  # no better than a blind guess
    drawn = "Fakes are drawn alike for all people, each by itself, and values are counted."  # else own/fakes-open
    assert asked["fake_data"].startswith(f"Answers are sent by GRR. {drawn}")
    assert asked["corr_rr"].count("given") == 2
    assert "The chapter's unbiased mechanisms have the same errors" in str(ENTRIES["which_mechanism"])
    twins = [limit.least_error((2, 2, 2), 2.0, tree_law([0.5, 0.5], rho, [0, 0])) for rho in (0.99, 0)]
    assert twins[0].attained < 0.85 * twins[1].error  # some mechanism gains from correlation


def test_votes_on_independent_attributes_have_less_variance_than_one_question_each_or_more():
    """With the chapter's shares, at ε = 0.5: four attributes of four values, six of two; both are biased."""
    over = []
    for frequencies, d in (([0.4, 0.3, 0.2, 0.1], 4), ([0.7, 0.3], 6)):
        joint = functools.reduce(np.multiply.outer, [np.array(frequencies)] * d)
        people, k = Population.from_counts(np.round(20_000 * joint).astype(int)), joint.shape
        votes, asked = Plurality(k=k, epsilon=0.5, shares=(0.85, 0.15, 0)), OneQuestion(k=k, epsilon=0.5)
        over.append(np.sum(votes.variance(people)) / np.sum(asked.variance(people)))
        assert np.abs(np.array(votes.mean(people)) - frequencies).max() > 0.04
    less, more = over
    assert less < 0.2
    assert more > 3


def test_the_union_s_whole_record_costs_more_than_a_split_by_randomized_response_not_always_by_sets():
    """Six questions of four answers at ε = 1, each with a sixth of the budget."""
    assert "randomized response on the whole record more than that" in (ROOT / "assignments" / "ps6.yml").read_text()
    people = best_settings.uniform_population((4,) * 6)
    made = RRJoint(k=people.k, epsilon=1.0), SPL(k=people.k, epsilon=1.0), AskSome(k=people.k, epsilon=1.0, m=6)
    by_response, split, by_sets = (people.n * total_error(one, people) for one in made)
    assert by_sets < 0.5 * split < 0.01 * by_response


def test_no_answer_or_question_begins_as_a_list_or_heading_would():
    """Markdown makes of "1." an empty item of a list."""
    said = [words for _, q in QUESTIONS for c in q["choices"] for words in (q["ask"], c["say"], c["why"])]
    assert [words for words in said if re.match(r"(\d+[.)]|[-*+>]|#+)(\s|$)", words)] == []

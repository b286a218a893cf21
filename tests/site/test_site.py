"""The built site in a real browser: what a reader gets on every page. `make test` builds it first."""

import csv
import functools
import gzip
import io
import itertools
import json
import os
import re
import shutil
import sys
from collections import Counter
from pathlib import Path
from urllib.parse import quote_plus, urlsplit

import numpy as np
import page_checks as checks
import pytest
import yaml
from PIL import Image

import ldp_lib
from ldp_lib.book.claims import ledger
from ldp_lib.limit import closed_forms
from ldp_lib.survey import planner

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))
import pdf

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "_build" / "html"
FONTS = ROOT / "book" / "_static" / "fonts"
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
PAGES = [TOC["root"]] + [chapter["file"] for part in TOC["parts"] for chapter in part["chapters"]]
CHAPTERS = [page for page in PAGES if page.startswith("notebooks/")]
QUESTIONS = yaml.safe_load((ROOT / "book" / "teaching.yml").read_text(encoding="utf-8"))
RESTS = [*CHAPTERS, "book/quality"]
EXPLORED = sorted(f"notebooks/{path.stem}" for path in (ROOT / "book" / "_static" / "explore").iterdir())


# An inline script such as an output might hold, added to the page: it must not run.
PLANT = """() => {
    const script = document.createElement('script');
    script.textContent = "document.title += 'planted'";
    document.body.append(script);
    return document.title;
}"""


@pytest.fixture(scope="session")
def base(serve):
    """The address of the built site."""
    assert (SITE / "index.html").is_file(), "there is no built site: run make book, or make test"
    return serve(SITE)


@pytest.fixture(scope="session")
def tab(browser, base):
    """One browser tab for the whole site."""
    return checks.Visitor(browser.new_context(color_scheme="light"), urlsplit(base).netloc)


@pytest.fixture(scope="session")
def parser(browser):
    """An empty page, which parses files for others."""
    return browser.new_context().new_page()


@pytest.fixture(params=PAGES, scope="module")
def visitor(request, tab, base):
    """The tab, on each page of the book in turn."""
    tab.load(f"{base}/{request.param}.html")
    return tab


def test_the_book_has_at_most_46_pages():
    assert len(PAGES) <= 46
    assert len(set(PAGES)) == len(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_the_file_of_every_page_is_sound(page, parser):
    """What needs no layout, on all pages; the tests that do need it take a sample, and `make thorough` all pages."""
    faults = checks.in_file(parser, SITE / f"{page}.html", SITE)
    assert {name: found for name, found in faults.items() if found} == {}


def test_formulas_are_typeset(visitor):
    assert checks.untypeset_formulas(visitor.page) == []


def test_formulas_need_no_script(browser, base):
    """A chapter without JavaScript: a fraction is higher than a line, and the site holds no MathJax to ask for."""
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{base}/notebooks/attribute_sampling.html")
    assert checks.untypeset_formulas(page) == []
    fractions = page.locator("div.math mfrac:visible")
    assert fractions.count() > 3
    assert fractions.first.bounding_box()["height"] > 25
    assert [path.name for path in SITE.rglob("*") if "mathjax" in path.name.lower()] == []


def test_no_raw_markup_is_visible(visitor):
    assert checks.raw_markup(visitor.page) == []


def test_text_is_in_the_fonts_that_the_site_ships(visitor):
    assert checks.machine_fonts(visitor.page) == []


def test_images_load_and_have_alternative_text(visitor):
    assert checks.bad_images(visitor.page) == []


def test_links_into_the_site_resolve(visitor, base):
    assert len(checks.links(visitor.page)) > len(PAGES)
    assert checks.broken_links(visitor.page, SITE, base) == []


def test_there_is_one_search_box(visitor):
    assert len(checks.searches(visitor.page)) == 1


def test_text_and_figures_have_contrast_in_the_light_and_in_the_dark(visitor):
    assert checks.low_contrast(visitor.page) == []


def test_no_number_of_a_solution_is_visible_before_the_click(visitor):
    assert checks.numbers_of_solutions(visitor.page) == []


def test_solutions_open_on_a_click(visitor):
    assert checks.open_solutions(visitor.page) == []


@pytest.mark.parametrize("visitor", CHAPTERS, indirect=True)
def test_chapters_have_formulas_pictures_their_notebook_and_those_to_learn_from_theorems_and_exercises(visitor):
    page = visitor.page
    notebook = Path(urlsplit(page.url).path).with_suffix(".ipynb").name
    to_learn = () if notebook.startswith("audit_") else (".proof.theorem, .proof.proposition", ".exercise", ".solution")
    for part in ("math", "article img", *to_learn):
        assert page.locator(part).count() > 0, part
    assert [link for link in checks.links(page) if link.endswith(f"/{notebook}")]


@pytest.mark.parametrize("visitor", CHAPTERS, indirect=True)
def test_figures_theorems_and_exercises_are_numbered_by_chapter(visitor):
    number = str(CHAPTERS.index(urlsplit(visitor.page.url).path.strip("/").removesuffix(".html")) + 1)
    assert visitor.page.locator("h1 .section-number").inner_text().strip() == f"{number}."
    captions = [text.split() for text in visitor.page.locator("article .caption-number").all_inner_texts()]
    counted = [f"{kind} {number}.{i}" for kind, n in Counter(c[0] for c in captions).items() for i in range(1, n + 1)]
    assert sorted(" ".join(c[:2]) for c in captions) == sorted(counted) != []
    assert "Fig." not in {c[0] for c in captions}


@pytest.mark.parametrize("visitor", EXPLORED, indirect=True)
def test_every_stored_picture_gets_sliders_that_answer_to_the_keyboard(visitor):
    page = visitor.page
    words = page.locator(".explore-says")
    assert page.locator(".explore-live .explore-drawing > svg[role=img]").count() == 1
    for slider in page.locator(".explore-live").get_by_role("slider").all():
        assert slider.evaluate("e => e.labels.length") == 1
        before = words.inner_text(), slider.get_attribute("aria-valuetext")
        slider.focus()
        page.keyboard.press("ArrowLeft" if slider.evaluate("e => e.value === e.max") else "ArrowRight")
        assert words.inner_text() != before[0]
        assert slider.get_attribute("aria-valuetext") != before[1]


# A chapter's questions, its report of an error, and how it is run.

LOOK = """all => all.map(e => {
    const {color, backgroundColor, borderColor, cursor, fontWeight, opacity} = getComputedStyle(e);
    const before = getComputedStyle(e, '::before').content, after = getComputedStyle(e, '::after').content;
    return JSON.stringify([color, backgroundColor, borderColor, cursor, fontWeight, opacity, before, after, e.title]);
})"""


def words(text):
    """Return the words of a text, in Markdown or on a page."""
    return " ".join(re.findall(r"\w+", text.replace("’", "'")))


@pytest.mark.parametrize("visitor", [f"notebooks/{slug}" for slug in QUESTIONS], indirect=True)
def test_a_click_or_a_key_and_nothing_before_it_says_whether_an_answer_is_right_and_why(visitor):
    page = visitor.page
    questions = QUESTIONS[Path(urlsplit(page.url).path).stem]["questions"]
    lists = page.get_by_role("list", name=re.compile("^Answers to question"))
    assert lists.count() == len(questions)
    for part in ("details.choice", "details.choice > summary"):
        assert len(set(page.locator(part).evaluate_all(LOOK))) == 1
    assert not re.search(r"[✓✗]", page.locator("#check-yourself").inner_text())
    for place, question in zip(lists.all(), questions, strict=True):
        ordered = sorted(question["choices"], key=lambda choice: choice["say"])
        assert place.locator("details").count() == len(ordered)
        for number, choice in enumerate(ordered):
            option = place.locator("details").nth(number)
            assert place.locator(".why:visible").count() == number
            option.locator("summary").press("Enter" if choice is question["choices"][0] else "Space")
        told = place.locator(".why:visible").all_inner_texts()
        marks = place.locator(".why:visible strong:first-child").all_inner_texts()
        for choice, mark, reason in zip(ordered, marks, told, strict=True):
            assert mark == ("✓ Right." if choice is question["choices"][0] else "✗ Wrong.")
            longest = max(re.split(r"\$[^$]*\$", choice["why"]), key=len)
            assert words(longest.partition(" ")[2].rpartition(" ")[0]) in words(reason)
        place.locator("summary").first.click()
        for option in place.locator("summary").all()[1:]:
            option.press("Enter")
        assert place.locator(".why:visible").count() == 0


@pytest.mark.parametrize("visitor", CHAPTERS, indirect=True)
def test_a_chapter_ends_with_a_report_that_names_it_and_says_how_to_run_it_where_nothing_else_does(visitor):
    page = visitor.page
    name = urlsplit(page.url).path.strip("/").removesuffix(".html")
    box = page.locator("article > details.witness")
    assert not page.get_by_label("Numbers", exact=True).is_visible()
    box.locator("summary").press("Enter")
    said = page.locator(".witness-report").inner_text().splitlines()
    assert said[0].startswith(f"Chapter: {CHAPTERS.index(name) + 1}, ")
    assert said[0].endswith(f" ({name}.ipynb)")
    assert re.fullmatch(rf"Version: {re.escape(ldp_lib.__version__)}(, commit [0-9a-f]{{12}}\+?)?", said[-1])
    places = page.locator("#witness-places option").evaluate_all("all => all.map(each => each.value)")
    assert len(places) == len(set(places)) > 3
    claims = page.locator("article .claim-badge code").all_inner_texts()
    assert {f"Claim {claim}" for claim in claims} <= set(places)
    with_address = [link for link in checks.links(page) if "issues/new?" in link]
    assert bool(with_address) == (page.locator(".run-here:visible").count() == 0)
    box.locator("summary").press("Enter")
    assert not page.get_by_label("Numbers", exact=True).is_visible()


@pytest.mark.parametrize("visitor", RESTS, indirect=True)
def test_a_picture_and_lists_say_what_rests_on_what(visitor):
    page = visitor.page
    box, picture = page.locator("article details.rests"), page.locator("article details.rests svg")
    assert not picture.is_visible()
    box.locator("summary").first.press("Enter")
    drawn, listed = ({words.strip() for words in place.locator("a").all_text_contents()} for place in (picture, box))
    assert len(drawn) > 5
    if "/notebooks/" in page.url:
        claims = page.locator("article .claim-badge code").all_inner_texts()
        assert set(claims) <= listed
        led = picture.locator(".rests-claims a").evaluate_all("a => a.map(x => x.getAttribute('href').split('#')[1])")
        assert all(led.count(anchor) == 1 for anchor in anchors(claims))
        results = page.locator(".proof:is(.theorem, .proposition, .corollary)")
        assert page.locator(".rests-results a").count() == results.count()
    # A line of the picture leads to each row but for those on the left, and some row rests on it.
    assert picture.locator("path").count() > 2
    assert picture.locator("text").first.evaluate("e => e.getBoundingClientRect().height") > 8
    box.locator("summary").first.press("Enter")
    assert not picture.is_visible()


def anchors(claims):
    """Return the places of claims."""
    return [ledger()[claim].anchor for claim in claims]


# One page of each kind; `make access` tries all pages, in both themes, on a desk and on a phone.
KINDS = [
    "book/intro",
    "book/choose",
    "book/claims",
    "book/quality",
    "book/about",
    "book/glossary",
    "notebooks/randomized_response",
    "notebooks/audit_jrr_evaluation",
]


@pytest.mark.parametrize("visitor", KINDS, indirect=True)
def test_there_is_no_barrier_that_axe_finds(visitor):
    assert checks.barriers(visitor.page, thin=True) == []


# On a phone, after all that a desk shows: a page is laid out anew for each size of the window.


def test_no_sideways_scroll_on_a_phone(visitor):
    assert checks.sideways_scroll(visitor.page) == []


@pytest.mark.parametrize("visitor", RESTS, indirect=True)
def test_the_picture_of_what_rests_on_what_does_not_scroll_on_a_phone(visitor):
    page, opener = visitor.page, visitor.page.locator("article details.rests summary").first
    checks.at(page, checks.PHONE)
    opener.press("Enter")
    assert page.locator("article details.rests svg").is_visible()
    assert checks.sideways_scroll(page) == []
    opener.press("Enter")


def test_diagrams_can_be_read_on_a_phone(visitor):
    assert checks.small_diagrams(visitor.page) == []


def test_code_and_tables_that_scroll_on_a_phone_say_so(visitor):
    assert checks.without_hint(visitor.page) == []


def test_numbered_formulas_that_scroll_on_a_phone_are_whole(visitor):
    assert checks.squeezed_formulas(visitor.page) == []


def test_no_line_begins_with_the_full_stop_of_a_formula(visitor):
    assert checks.lonely_marks(visitor.page) == []


def test_diagrams_are_no_wider_than_their_box_on_a_phone(visitor):
    assert checks.wide_diagrams(visitor.page) == []


def test_letters_in_figures_can_be_read_on_a_phone(visitor):
    assert checks.small_figures(visitor.page) == []


# Last for each page: what went wrong while it loaded and while the checks above used it.


def test_no_errors_on_the_console(visitor):
    assert visitor.errors == []


def test_a_policy_forbids_what_is_not_the_page_s_own(visitor):
    assert "default-src 'none'" in visitor.page.locator("meta[http-equiv=Content-Security-Policy]").get_attribute(
        "content"
    )
    assert "planted" not in visitor.page.evaluate(PLANT)


def test_no_request_to_another_host(visitor):
    assert visitor.foreign == []


@pytest.mark.parametrize("visitor", EXPLORED, indirect=True)
def test_words_of_a_figure_with_sliders_have_contrast_on_both_grounds(visitor):
    page, found = visitor.page, {}
    for theme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
        found[theme] = checks.pale_words(page)
    assert found == {"light": [], "dark": []}
    page.add_style_tag(content='.explore-drawing [fill="#1f2933"] { fill: #1f2933 !important }')
    assert checks.pale_words(page) != []  # ink on the dark page


# On paper: one chapter as `make pdf` prints the book; test_pdf.py shows that each fault is found.


def test_a_chapter_prints_whole(browser):
    page = browser.new_page()
    small = pdf.lay_out(page, SITE, ["Sample"], [{"caption": "Learn", "pages": ["notebooks/randomized_response"]}])
    assert pdf.faults_of(page) == []
    assert [one for one in small if one["share"] < pdf.LEAST] == []
    printed = pdf.packed(pdf.printed(page))
    page.close()
    title = "1. Randomized response: the unbiased estimator and its variance"
    assert pdf.faults(printed, [title, "1.6. All outcomes listed", "Answers"]) == []


# Search.


def test_search_finds_chapters_before_entries_of_the_library_and_shows_text(tab, base):
    page = tab.load(f"{base}/search.html?q=GRR")
    page.wait_for_function(FINISHED, timeout=120_000)
    page.wait_for_load_state("networkidle")
    results = page.locator("ul.search li")
    found = [
        link.split("?")[0] for link in results.locator("> a").evaluate_all("a => a.map(x => x.getAttribute('href'))")
    ]
    entries = [i for i, link in enumerate(found) if link.startswith("book/api.html")]
    assert found[0] in {f"{chapter}.html" for chapter in CHAPTERS}
    assert entries == list(range(len(found) - len(entries), len(found)))
    assert len(entries) > 5 < len(found) - len(entries)
    text = " ".join(results.all_inner_texts())
    assert not checks.RAW.search(text)
    assert "import matplotlib" not in text
    formula = '<div class="bd-article">a <span data-plain="1/n"><math>1n</math></span><p class="cell_input">x</p></div>'
    assert page.evaluate("source => Search.htmlToText(source)", formula) == "a 1/n"
    assert tab.errors == []


# What readers type, and the page that is about it.
SOUGHT = {
    "randomized_response": ["k-RR", "GRR", "kRR", "Warner", "RR", "LDP", "privacy budget", "odds", "likelihood ratio"],
    "channel_matrix": ["transition matrix", "privacy ratio"],
    "frequency_oracles": ["SUE", "OUE", "OLH", "BLH", "RAPPOR", "unary encoding", "local hashing", "frequency oracle"],
    "subset_selection": ["subset selection", "SS"],
    "attribute_sampling": ["SMP", "sampling", "Horvitz-Thompson", "Hájek", "Neyman allocation"],
    "budget_splitting": ["SPL", "OBRR", "OMRR", "BRR", "MRR", "Cardano", "cubic", "sequential composition"],
    "fake_data": ["RS+FD", "RS+RFD", "RSFD", "amplification"],
    "corr_rr": ["Corr-RR", "p_y", "corr-rr", "optimal p_y"],
    "audit_multidim": ["RR-Joint", "RR-Clusters", "raking"],
    "joint_distribution": ["EM", "MLE", "maximum likelihood", "expectation maximization", "contingency table"],
    "pair_tables": ["marginals", "two-way marginals", "Cramér's V", "odds ratio", "association"],
    "jrr": ["JRR", "correlated noise", "colluders"],
    "transcript": ["transcript", "all reports"],
    "helpers": ["shuffle model", "secure aggregation", "discrete Laplace", "signed reports"],
    "limit_bound": ["lower bound", "certificate", "Fisher information", "dual variables"],
    "limit_minimax": ["minimax", "van Trees"],
    "limit_correlation": ["correlated attributes"],
    "which_mechanism": ["post-processing", "negative estimates", "comparison"],
    "optimal_sets": ["Hamming ball", "threshold set"],
    "shrinkage": ["James-Stein", "SURE", "Plurality"],
    "real_survey": ["unrelated question", "students"],
    "noncompliance": ["lie detector", "liars"],
    "attacker": ["inference attack", "success rate"],
    "repeated": ["memoization", "longitudinal"],
    "choose": ["sample size", "how many users", "How many people", "margin of error", "planner", "recommend"],
    "survey": ["confidence interval", "install", "own data", "plot", "data frame", "weights", "pip", "CSV"],
    "quality": ["benchmark", "Parquet", "coverage"],
    "security": ["audit", "threat model"],
    "theorems": ["atlas", "open problem"],
    "claims": ["errata", "misprint"],
    "about": ["cite", "licence", "version", "bibliography"],
    "instructors": ["homework", "nbgrader"],
}


FINISHED = "() => document.querySelector('.search-summary')?.textContent"  # also where nothing is found


def found_by(page, base, words):
    """Return the pages that the search page shows for these words, best first."""
    page.goto(f"{base}/search.html?q={quote_plus(words)}")
    page.wait_for_function(FINISHED, timeout=120_000)
    links = page.locator("ul.search li > a").evaluate_all("a => a.map(x => x.getAttribute('href'))")
    return [re.split("[?#]", link)[0] for link in links]


# What the search page would show, from its last line to its first, without reading each page for its summary.
RANKED = "words => Search._performSearch(...Search._parseQuery(words)).map(result => `${result[0]}.html`).reverse()"


@pytest.fixture(scope="module")
def ranked(browser, base):
    """A function that returns the pages found for some words, best first."""
    page = browser.new_page()
    page.goto(f"{base}/search.html")
    page.evaluate("path => Search.loadIndex(path)", f"{base}/searchindex.js")
    page.wait_for_function("() => Search.hasIndex()", timeout=120_000)
    yield functools.partial(page.evaluate, RANKED)
    page.close()


@pytest.mark.parametrize("slug", SOUGHT)
def test_what_readers_type_finds_its_page_among_the_first_three(slug, ranked):
    (name,) = (page for page in PAGES if page.rpartition("/")[2] == slug)
    assert [words for words in SOUGHT[slug] if f"{name}.html" not in ranked(words)[:3]] == []


def test_the_search_page_shows_what_the_test_above_ranks(ranked, tab, base):
    for words in ("Cardano", "threat model", "Horvitz-Thompson"):
        shown = found_by(tab.page, base, words)
        assert shown == ranked(words) != []


def test_a_search_without_another_name_is_not_changed(tab, base):
    found = found_by(tab.page, base, "Parseval")
    assert found
    assert "book/glossary.html" not in found[:1]


def test_where_no_page_has_all_words_those_with_the_most_are_found(tab, base):
    found = found_by(tab.page, base, "sequential composition theorem of zzyzx")
    assert found[0] == "notebooks/budget_splitting.html"  # by the name within
    assert len(set(found)) == len(found) > 5
    assert found_by(tab.page, base, "zzyzx") == []
    assert tab.page.get_by_text("did not match any documents").is_visible()


def test_the_search_index_holds_no_tex():
    source = (SITE / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(source.removeprefix("Search.setIndex(").removesuffix(")"))
    assert "Draw k records that differ everywhere" in index["alltitles"]
    assert [title for title in index["alltitles"] if "\\" in title] == []
    assert {"dfrac", "displaystyl", "operatornam", "qquad"} & set(index["terms"]) == set()


def test_a_page_of_the_site_prints_whole(browser, base):
    page = browser.new_page(viewport=pdf.COLUMN)
    page.emulate_media(media="print")
    page.goto(f"{base}/notebooks/randomized_response.html")
    page.evaluate((ROOT / "tools" / "print.js").read_text(encoding="utf-8"))
    found = [one for one in page.evaluate("() => book.faults()") if one.startswith(("beyond", "cut", "not loaded"))]
    fading = (
        "() => [...document.querySelectorAll('details *')].filter(e => getComputedStyle(e).animationName != 'none')"
    )
    assert (found, page.evaluate(f"({fading})().length")) == ([], 0)
    page.evaluate("() => { document.documentElement.dataset.theme = 'dark' }")
    assert page.evaluate("() => getComputedStyle(document.querySelector('article p')).color") == "rgb(34, 40, 50)"
    page.close()


# The planner: its numbers are the library's, and it can be used with a keyboard, a screen reader, and no script.


def planner_settings():
    """Return hundreds of settings: sizes, budget and users."""
    rng, settings = np.random.default_rng(1), []
    for k in ([2], [3], [5], [9], [40], [100], [2, 2], [5, 5], [3, 3, 3], [4, 4, 4, 4]):
        settings += [{"k": k, "epsilon": e, "n": n} for e in (0.1, 0.7, 1.0, 2.5, 10.0) for n in (1, 1_001, 10**8)]
    for _ in range(55):
        k = rng.integers(2, 13, size=rng.integers(1, 4)).tolist()
        epsilon = round(float(np.exp(rng.uniform(-2.3, 2.3))), 2)
        settings.append({"k": k, "epsilon": epsilon, "n": int(10 ** rng.uniform(0, 9))})
    settings.append({"k": [9, 16, 7, 15, 6, 5, 2, 2], "epsilon": 1.0, "n": 32_561})
    settings.append({"k": [3, 3, 3], "epsilon": float(np.log(10)), "n": 1_001})  # where the limit's first form ends
    for setting in settings[::3]:
        if len(setting["k"]) > 1:
            settings += [setting | {"wants": wants} for wants in ("records", "tables")]
    return settings


@pytest.mark.parametrize("part", range(16))
def test_the_planner_computes_what_the_library_does(part, tab, base):
    assert len(planner_settings()) > 200
    settings = planner_settings()[part::16]
    page = tab.load(f"{base}/book/choose.html")
    computed, limits = page.evaluate(
        "settings => [formulas.errors, formulas.limit].map(f => settings.map(f))", settings
    )
    for setting, rows, limit in zip(settings, computed, limits, strict=True):
        k = setting["k"] if len(setting["k"]) > 1 else setting["k"][0]
        found = {name: row["error"] for row in rows for name in row["names"]}
        wanted = {type(m).__name__: e for e, m in planner._errors(**setting | {"k": k})}
        assert found == pytest.approx(wanted, rel=1e-9), setting
        assert rows[0]["error"] <= min(wanted.values()) * (1 + 1e-8)
        bound = closed_forms.simple_pair_error if setting.get("wants") == "tables" else closed_forms.simple_error
        assert limit == pytest.approx(bound(k, setting["epsilon"]) / setting["n"], rel=1e-9), setting
        assert limit <= min(wanted.values()) * (1 + 1e-9) or setting["n"] < 100, setting


@pytest.mark.parametrize("sampling", [False, True])
@pytest.mark.parametrize("n", [2_000, 10**6])
@pytest.mark.parametrize(("k", "wants"), [([5], "frequencies"), ([2, 4, 3], "frequencies"), ([2, 4, 3], "tables")])
def test_the_planner_plans_samples_and_budgets_as_the_library_does(k, wants, n, sampling, tab, base):
    page, wish = tab.load(f"{base}/book/choose.html"), {"k": k, "n": n, "wants": wants, "sampling": sampling}
    given = wish | {"k": k if len(k) > 1 else k[0]}
    points = page.evaluate("wish => formulas.points(wish)", wish | {"epsilon": 1.3})
    assert points == pytest.approx(planner.recommend(epsilon=1.3, **given).points, rel=1e-9)
    target = 1.5 * points
    budget = page.evaluate("wish => formulas.budget(wish)", wish | {"target": target})
    assert budget == pytest.approx(planner.required_budget(points=target, **given), rel=1e-9)


def test_the_planner_says_how_far_an_interval_of_a_sample_reaches(tab, base):
    page = tab.load(f"{base}/book/choose.html")
    assert page.evaluate("formulas.budget({k: [5], n: 100, wants: 'frequencies', sampling: true, target: 0.1})") != 0
    page.get_by_label("Whose shares").select_option("sampled")
    answer = page.get_by_role("status")
    assert answer.inner_text().startswith("Take OneQuestion: a share is typically off by 4.")
    page.get_by_label("Confidence of an interval, %", exact=True).fill("90")
    half = planner.recommend(k=(9, 16, 7, 15, 6, 5, 2, 2), epsilon=1.0, n=10_000, sampling=True).margin(0.9)
    assert f"A typical 90 % interval reaches {half:.2f} points each way." in answer.inner_text()


@pytest.mark.parametrize(
    ("field", "typed", "words"), [("attributes", "20", "Questions"), ("values", "150", "Answers each")]
)
def test_the_planner_says_at_the_field_what_it_cannot_plan(field, typed, words, tab, base):
    page = tab.load(f"{base}/book/choose.html")
    page.locator(f"#planner-{field}").fill(typed)
    assert page.locator("#planner-hint").inner_text().startswith(f"{words}: a whole number")
    assert not page.locator(".planner-table").is_visible()
    page.locator(f"#planner-{field}").fill("3")
    assert page.locator(".planner-table").is_visible()


def test_the_whole_title_of_a_solution_opens_it_and_fractions_in_lines_keep_apart(tab, base):
    page = tab.load(f"{base}/notebooks/real_survey.html")
    solution = page.locator(".solution").first
    solution.scroll_into_view_if_needed()
    place = solution.locator(".admonition-title a").bounding_box()
    page.mouse.click(place["x"] + place["width"] / 2, place["y"] + place["height"] / 2)
    assert "toggle-hidden" not in solution.get_attribute("class")
    page.set_viewport_size({"width": 390, "height": 844})
    found = "() => [...document.querySelectorAll('p span.math mfrac')].map(e => e.getBoundingClientRect().toJSON())"
    boxes = page.evaluate(found)
    assert len(boxes) > 5
    for one, other in itertools.combinations(boxes, 2):
        beside = one["left"] >= other["right"] or other["left"] >= one["right"]
        assert beside or one["top"] >= other["bottom"] or other["top"] >= one["bottom"]


def test_the_planner_answers_while_one_types_and_slides(tab, base):
    page = tab.load(f"{base}/book/choose.html")
    answer = page.get_by_role("status")
    assert answer.inner_text().startswith("Take OneQuestion: a share is typically off by 4.33 percentage points.")
    assert "No unbiased mechanism is below 4.2" in answer.inner_text()
    assert page.locator(".planner-table tbody tr").count() == 10
    assert page.locator(".planner-table tbody tr").last.inner_text().startswith("the limit")
    page.get_by_label("What you want").select_option("A table of every two questions")
    assert answer.inner_text().startswith("Take AskSome: a cell of a table is typically off by ")
    assert page.locator(".planner-table tbody tr").count() == 4
    page.get_by_label("What you want").select_option("records")
    assert answer.inner_text().startswith("Take RRIndependent: a share is")
    page.get_by_label("Answers (values) of each question").fill("5")
    assert answer.inner_text() == "What you want: tables and records need two questions or more."
    page.get_by_label("What you want").select_option("Shares of each question")
    assert answer.inner_text().startswith("Take GRR: a share is typically off by 1.51")
    assert page.get_by_label("Questions (attributes)", exact=True).input_value() == "1"
    assert page.get_by_label("Questions (attributes), slider").input_value() == "1"
    slider = page.get_by_label("People, slider")
    slider.focus()
    page.keyboard.press("Home")
    assert page.get_by_label("People", exact=True).input_value() == "1"
    page.keyboard.press("End")
    assert page.get_by_label("People", exact=True).input_value() == "1000000000"
    assert "k=5&epsilon=1&n=1000000000&wants=frequencies" in page.evaluate("location.search")
    page.get_by_label("Questions (attributes)", exact=True).fill("3")
    assert page.get_by_label("Answers (values) of each question").input_value() == "4, 4, 4"
    page.get_by_label("ε of one person's whole report", exact=True).fill("")
    assert answer.inner_text() == "ε: a number from 0.1 to 10."
    assert page.locator("[aria-invalid=true]").count() == 1
    assert not page.locator(".planner-table").is_visible()
    unlabelled = "() => [...document.querySelectorAll('.planner input')].filter(e => !e.labels.length && !e.ariaLabel)"
    assert page.evaluate(unlabelled) == []
    assert checks.sideways_scroll(page) == []
    assert tab.errors == []


def test_without_a_script_the_planner_points_to_its_table(browser, base):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{base}/book/choose.html")
    assert page.get_by_text("The planner needs JavaScript.").is_visible()
    assert page.get_by_role("cell", name="OneQuestion 4.33").is_visible()


# A keyboard, paper, and no script.


def test_a_keyboard_skips_to_the_text_and_sees_where_it_is(tab, base):
    page = tab.load(f"{base}/notebooks/randomized_response.html")
    page.add_style_tag(content="* { transition: none !important }")
    page.keyboard.press("Tab")
    assert page.locator(":focus").inner_text() == "Skip to main content"
    assert page.locator(":focus").bounding_box()["y"] >= 0
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.locator("main :focus").count() == 1
    stops = checks.tab_stops(page)
    assert 20 < len(stops) < 150
    assert [stop for stop in stops if stop.startswith(("<math", '<span class="math', "<table", "<img", "<p>"))] == []
    for kind in ("p a.reference", "summary", ".solution button", ".copybtn", "input"):
        place = page.locator(f"article {kind} >> visible=true").first
        place.focus()
        assert place.evaluate("e => getComputedStyle(e).outlineStyle") == "solid", kind


def test_a_box_that_scrolls_has_a_tab_stop_and_a_name_while_it_scrolls(browser, base):
    page = browser.new_context().new_page()
    page.goto(f"{base}/notebooks/randomized_response.html", wait_until="load")
    boxes = """() => [...document.querySelectorAll('article pre')].filter(e => e.checkVisibility()).map(
        e => [e.scrollWidth > e.clientWidth, e.tabIndex === 0, ['Code', 'Output'].includes(e.ariaLabel)])"""
    wide = """() => [...document.querySelectorAll('article pre')].filter(e => e.scrollWidth > e.clientWidth).map(
        e => [e.scrollWidth, e.clientWidth, getComputedStyle(e).font, e.textContent.slice(0, 200)])"""
    for size, wanted in ((checks.PHONE, {(True,) * 3, (False,) * 3}), (checks.DESKTOP, {(False,) * 3})):
        page.set_viewport_size(size)
        for _ in range(200):  # a busy machine lays a page out anew in some seconds
            if (found := set(map(tuple, page.evaluate(boxes)))) == wanted:
                break
            page.wait_for_timeout(50)
        assert found == wanted, [size, page.evaluate("innerWidth"), page.evaluate(wide)]
    page.close()


def in_shadow(box):
    """Return whether the left and the right edge of a box are darker than its ground beside them."""
    with Image.open(io.BytesIO(box.screenshot(animations="disabled"))) as image:
        grey = np.asarray(image.convert("L"), dtype=float)
    left, ground, right = (np.median(part) for part in (grey[:, 1:3], grey[:8, 60:-60], grey[:, -3:-1]))
    return bool(left < ground - 15), bool(right < ground - 15)


def test_code_is_in_shadow_at_the_edge_beyond_which_there_is_more(browser, base):
    page = browser.new_page(viewport=checks.PHONE, color_scheme="light")
    page.goto(f"{base}/notebooks/randomized_response.html", wait_until="load")
    wide = page.locator(".cell:not(.tag_hide-input) .cell_input pre[tabindex]").first.element_handle()
    assert in_shadow(wide) == (False, True)
    wide.evaluate("e => { e.scrollLeft = 1e4 }")
    assert in_shadow(wide) == (True, False)
    page.set_viewport_size(checks.DESKTOP)
    assert in_shadow(wide) == (False, False)
    page.close()


def test_paper_shows_what_is_folded_on_the_screen(tab, base):
    page = tab.load(f"{base}/notebooks/randomized_response.html")
    page.set_viewport_size({"width": 700, "height": 1000})
    folded = page.locator("article details").count()
    page.emulate_media(media="print")
    page.evaluate("() => { window.dispatchEvent(new Event('beforeprint')) }")
    assert page.locator("article details[open]").count() == folded > 0
    for solution in page.locator(".solution").all():
        assert solution.locator("section").first.evaluate(
            "e => e.checkVisibility({visibilityProperty: true, opacityProperty: true})"
        )
    cut = (
        "() => [...document.querySelectorAll('.bd-article pre')].filter(e => e.scrollWidth > e.clientWidth + 1).length"
    )
    assert page.evaluate(cut) == 0
    page.evaluate("() => { window.dispatchEvent(new Event('afterprint')) }")
    page.emulate_media(media="screen")
    assert page.locator("article details[open]").count() == 0


def test_without_a_script_a_chapter_hides_nothing(browser, base):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{base}/notebooks/randomized_response.html")
    for part in (".solution section", "details:not(details details) > summary", "article img"):
        assert all(place.is_visible() for place in page.locator(part).all()), part
    page.locator("article details summary").first.click()
    assert page.locator("article details[open]").count() == 1
    page.set_viewport_size(checks.PHONE)
    assert page.get_by_role("link", name="The channel matrix").first.is_visible()
    assert 0 <= page.locator(".bd-links").bounding_box()["x"] < checks.PHONE["width"] / 2
    assert not any(button.is_visible() for button in page.get_by_role("button").all())


# What is open: a picture of what rests on what, answers, a report.


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_an_open_picture_of_what_rests_on_what_has_no_barrier(theme, tab, base):
    page = tab.load(f"{base}/notebooks/limit_bound.html")
    page.evaluate("() => document.querySelectorAll('details.rests, .rests-text').forEach(e => { e.open = true })")
    page.add_style_tag(content="* { transition: none !important }")
    assert checks.low_contrast(page) == []
    page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
    assert checks.barriers(page) == []
    assert checks.machine_fonts(page) == []
    assert checks.sideways_scroll(page) == []


def test_without_a_script_answers_unfold_as_well_on_a_phone_and_in_the_dark(browser, base):
    page = browser.new_context(java_script_enabled=False, color_scheme="dark").new_page()
    page.set_viewport_size(checks.PHONE)
    page.goto(f"{base}/notebooks/jrr.html")
    option = page.locator("details.choice").first
    assert option.locator("summary").bounding_box()["height"] >= 44
    option.locator("summary").click()
    assert re.match(r"[✓✗] (Right|Wrong)\. ", option.locator(".why").inner_text())


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_open_answers_and_an_open_report_have_no_barrier(theme, tab, base):
    page = tab.load(f"{base}/notebooks/corr_rr.html")
    page.evaluate("() => document.querySelectorAll('details.choice, details.witness').forEach(e => { e.open = true })")
    page.add_style_tag(content="* { transition: none !important }")
    assert checks.low_contrast(page) == []
    page.evaluate("theme => { document.documentElement.dataset.theme = theme }", theme)
    assert checks.barriers(page, allowed={}) == []
    assert checks.machine_fonts(page) == []
    assert checks.sideways_scroll(page) == []
    assert tab.foreign == []


# The claims page: all claims at once, and yet light; a link arrives at its row; the filter; files for other tools.


def test_the_claims_page_stands_at_once_and_a_link_arrives_at_its_row(browser, base):
    page = browser.new_context().new_page()
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable")
    page.goto(f"{base}/book/claims.html#claim-obrr-eq-5")
    metrics = {each["name"]: each["value"] for each in client.send("Performance.getMetrics")["metrics"]}
    assert 0 < metrics["ProcessTime"] < 2
    page.wait_for_timeout(300)
    assert 0 <= page.locator("#claim-obrr-eq-5").bounding_box()["y"] < 300


def test_the_claims_can_be_filtered_and_a_link_shows_its_row_whatever_the_filter(tab, base):
    page = tab.load(f"{base}/book/claims.html?verdict=refuted")
    shown = lambda: page.locator("li.claim:not([hidden])").count()  # noqa: E731
    every = [claim for claim in ledger().values() if claim.verdict == "refuted"]
    assert shown() == len(every)
    page.get_by_label("Paper").select_option("jrr")
    assert shown() == sum(claim.paper == "jrr" for claim in every) < len(every)
    page.get_by_label("Text or id").fill("no such words")
    assert page.get_by_role("status").inner_text() == f"0 of {len(ledger())} claims shown."
    page.evaluate("() => { location.hash = 'claim-obrr-eq-5' }")
    page.locator("#claim-obrr-eq-5").wait_for()
    assert shown() == len(ledger())


def test_the_claims_are_also_files(tab, base):
    page = tab.load(f"{base}/book/claims.html")
    rows = json.loads((SITE / "book" / "claims.json").read_text(encoding="utf-8"))
    with (SITE / "book" / "claims.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.DictReader(file)) == rows
    assert {row["id"]: row["verdict"] for row in rows} == {c.id: c.verdict for c in ledger().values()}
    links = checks.links(page)
    assert {f"{base}/book/{row['page']}" for row in rows} <= set(links)
    assert {f"{base}/book/claims.json", f"{base}/book/claims.csv"} <= set(links)


# What one downloads: icons are a small font, and a first visit is light.


def test_a_first_visit_to_a_chapter_is_under_a_megabyte_and_a_half(browser, base):
    page = browser.new_context().new_page()
    bodies = {}
    page.on("response", lambda answer: bodies.update({answer.url: answer}))
    page.goto(f"{base}/notebooks/audit_multidim_evaluation.html", wait_until="networkidle")
    packed = {url: len(gzip.compress(answer.body(), 6)) for url, answer in list(bodies.items())}
    assert sum(packed.values()) < 1.5e6, sorted(packed.items(), key=lambda item: -item[1])[:5]
    assert any("icons-solid" in url for url in packed)
    assert not [url for url in packed if "fontawesome" in url]


# The figures with sliders: what they compute is checked in test_explore.py.


def test_a_slider_says_its_result_in_a_sentence(tab, base):
    page = tab.load(f"{base}/notebooks/randomized_response.html")
    start = "At ε = 1, with 9 answers and 10,000 people, the standard error is 1.9 percentage points."
    assert page.get_by_role("status").inner_text().startswith(start)
    picture = page.locator(".explore-drawing").inner_html()
    page.get_by_label("People", exact=True).focus()
    page.keyboard.press("End")
    end = "At ε = 1, with 9 answers and 1,000,000 people, the standard error is 0.19 percentage points."
    assert page.get_by_role("status").inner_text().startswith(end)
    assert page.locator(".explore-drawing").inner_html() != picture


def test_without_a_script_and_on_paper_a_figure_with_sliders_is_a_picture(browser, tab, base):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{base}/notebooks/randomized_response.html")
    image = page.locator("figure img.explore")
    assert image.is_visible()
    assert image.get_attribute("alt").endswith("as much as 240 who answer openly.")
    assert page.get_by_text("This picture has sliders; they need JavaScript.").is_visible()
    page = tab.load(f"{base}/notebooks/randomized_response.html")
    page.emulate_media(media="print")
    assert page.locator(".explore-drawing svg[role=img]").is_visible()
    assert not page.get_by_label("People", exact=True).is_visible()
    page.emulate_media(media="screen")


# Every check fails where it should: small pages with one fault each.

HEAD = '<!doctype html><html data-theme="light"><head><meta charset="utf-8"><link rel="icon" href="data:,">'
DOT = (
    "data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='20' height='20'%3E"
    "%3Cpath fill='black' d='M4 4h12v12z'/%3E%3C/svg%3E"
)
LARGE_DOT = DOT.replace("width='20'", "width='800'")
MATH = (
    '<math><semantics><mrow><mi mathvariant="normal">x</mi></mrow>'
    '<annotation encoding="application/x-tex">x</annotation></semantics></math>'
)
GOOD = f"""<style>@font-face {{font-family:site; src:url(site.woff2)}} * {{font-family:site}}
a {{color:#06f}} [data-theme=dark] body {{background:#111; color:#eee}} [data-theme=dark] a {{color:#8cf}}
[data-theme=dark] img {{filter:invert(1)}}
.hidden p {{display:none}}</style></head>
<body><main><input type="search"><p id="here">It costs $5, or $6 for two; <code>\\frac{{1}}{{2}}</code>.</p>
<span class="math">{MATH}</span><a href="#here">here</a><a href="https://example.org">there</a>
<div class="solution hidden">
<button onclick="this.parentElement.classList.toggle('hidden')">show</button><p>42</p></div>
<img src="{DOT}" alt="A dot."></main></body></html>"""


@pytest.fixture(scope="module")
def show(browser, serve, tmp_path_factory):
    """A function that loads a small page and returns the visitor on it, its folder and its address."""
    folder = tmp_path_factory.mktemp("pages")
    shutil.copy(FONTS / "source-sans-3-latin-wght-normal.woff2", folder / "site.woff2")
    shutil.copy(ROOT / "book" / "_static" / "favicon.svg", folder / "dot.svg")
    base = serve(folder)
    visitor, numbers = checks.Visitor(browser.new_context(), urlsplit(base).netloc), itertools.count()

    def load(html):
        page = f"page-{next(numbers)}.html"  # a name of its own, so that no older page is kept for it
        (folder / page).write_text(HEAD + html, encoding="utf-8")
        visitor.load(f"{base}/{page}")
        return visitor, folder, base

    return load


# What each fault is found by; each takes the visitor, the folder and the address of the small page.
CHECKS = {
    "errors": lambda visitor, folder, base: visitor.errors,
    "foreign": lambda visitor, folder, base: visitor.foreign,
    "formulas": lambda visitor, folder, base: checks.untypeset_formulas(visitor.page),
    "raw": lambda visitor, folder, base: checks.raw_markup(visitor.page),
    "scroll": lambda visitor, folder, base: checks.sideways_scroll(visitor.page),
    "fonts": lambda visitor, folder, base: checks.machine_fonts(visitor.page),
    "images": lambda visitor, folder, base: checks.bad_images(visitor.page),
    "links": lambda visitor, folder, base: checks.broken_links(visitor.page, folder, base),
    "contrast": lambda visitor, folder, base: checks.low_contrast(visitor.page),
    "numbers": lambda visitor, folder, base: checks.numbers_of_solutions(visitor.page),
    "solutions": lambda visitor, folder, base: checks.open_solutions(visitor.page),
    "diagrams": lambda visitor, folder, base: checks.wide_diagrams(visitor.page),
    "figures": lambda visitor, folder, base: checks.small_figures(visitor.page),
    "hints": lambda visitor, folder, base: checks.without_hint(visitor.page),
    "search": lambda visitor, folder, base: len(checks.searches(visitor.page)) != 1,
}


def test_a_good_page_passes(show):
    loaded = show(GOOD)
    assert {name for name, found in CHECKS.items() if found(*loaded)} == set()


BAD = [
    ("fonts", "* {font-family:site}", "main {font-family:serif}"),
    ("fonts", "here</a>", "here \u2713</a>"),
    ("fonts", "<p id", "<pre style='font-family:monospace'>x = 1</pre><p id"),
    ("errors", "<p id", "<script>console.error('oops')</script><p id"),
    ("errors", "<p id", "<script>nothing.there()</script><p id"),
    ("errors", "<p id", "<script src='missing.js'></script><p id"),
    ("foreign", "<p id", "<script src='https://cdn.example.org/x.js'></script><p id"),
    ("foreign", "<p id", "<style>@import 'https://fonts.example.org/x.css';</style><p id"),
    ("formulas", MATH, "x"),
    ("formulas", '<annotation encoding="application/x-tex">x</annotation>', ""),
    ("formulas", "</mrow>", "<merror><mtext>x</mtext></merror></mrow>"),
    ("formulas", "</mrow>", r"<mtext>\frac</mtext></mrow>"),
    ("formulas", '<span class="math">', '<span class="math" style="overflow-x: auto">'),
    ("formulas", '<span class="math">', '<span class="math" tabindex="0">'),
    ("fonts", ' mathvariant="normal"', ""),
    ("raw", "It costs", r"It is \frac{1}{2} and costs"),
    ("raw", "It costs", r"It is \(x\) and costs"),
    ("raw", "It costs", "It is $$x$$ and costs"),
    ("raw", "It costs", "It is $x$ and costs"),
    ("raw", "It costs", f"${MATH}$ costs"),
    ("raw", "It costs", r"\begin{aligned} costs"),
    ("raw", "It costs", "See {prf:ref}`thm-a`. It costs"),
    ("raw", "It costs", "See {cite}`warner1965`. It costs"),
    ("scroll", "<p id", "<table><tr><td style='min-width:600px'>wide</td></tr></table><p id"),
    ("images", 'alt="A dot."', ""),
    ("images", 'alt="A dot."', 'alt=""'),
    ("images", 'alt="A dot."', 'alt="plot.png"'),
    ("images", DOT, "data:image/png;base64,AAAA"),
    ("links", "#here", "#elsewhere"),
    ("links", "#here", "missing.html"),
    ("contrast", "[data-theme=dark] img {filter:invert(1)}", ""),
    ("contrast", "fill='black'", "fill='%23cccccc'"),
    ("contrast", "invert(1)", "brightness(0)"),
    ("numbers", "hidden p {display:none}", "hidden p {opacity:1}"),
    ("numbers", "<img", "<section id='exercises'><div class='cell_output'>41</div></section><img"),
    ("diagrams", "<img", "<figure><img style='width:600px' alt='A dot.' src='dot.svg'></figure><img"),
    ("figures", "<img", f"<figure><img style='width:370px' alt='A dot.' src=\"{LARGE_DOT}\"></figure><img"),
    ("hints", "<p id", f"<pre style='overflow:auto'>{'x' * 400}</pre><p id"),
    ("hints", "<p id", f"<div class='output' style='overflow:auto'><table><td>{'x' * 400}</table></div><p id"),
    ("contrast", "color:#eee", "color:#333"),
    ("contrast", "background:#111", "background:#fff"),
    ("contrast", "{color:#06f}", "{color:#4af}"),
    ("solutions", "solution hidden", "solution"),
    ("solutions", "toggle('hidden')", "add('hidden')"),
    ("solutions", "<button", "<b"),
    ("search", '<input type="search">', ""),
    ("search", '<input type="search">', '<input type="search"><button class="search-button__button">Search</button>'),
]


# Found without a layout as well: all faults of these kinds, but those that only a screen shows.
ON_SCREEN = ('<span class="math" ', "data:image", '<input type="search"><button')
IN_FILE = [
    fault
    for fault in BAD
    if fault[0] in {"formulas", "raw", "images", "foreign", "links", "search"} and not fault[2].startswith(ON_SCREEN)
]


@pytest.mark.parametrize(("check", "old", "new"), [("", "", ""), *IN_FILE])
def test_a_bad_file_fails(check, old, new, parser, tmp_path):
    (tmp_path / "page.html").write_text(HEAD + (GOOD.replace(old, new, 1) if check else GOOD), encoding="utf-8")
    found = checks.in_file(parser, tmp_path / "page.html", tmp_path)
    assert {name for name, faults in found.items() if faults} == ({check} if check else set())


@pytest.mark.parametrize(("check", "old", "new"), BAD)
def test_a_bad_page_fails(check, old, new, show):
    if old in ("here</a>", ' mathvariant="normal"') and check == "fonts" and "FONTCONFIG_FILE" in os.environ:
        pytest.skip("there is no other font to fall back on")
    assert old in GOOD
    assert CHECKS[check](*show(GOOD.replace(old, new)))

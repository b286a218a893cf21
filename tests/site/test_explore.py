"""Figures with sliders say what the library computes, at hundreds of settings, and are stored as they are drawn."""

import itertools
import math
import re
from fractions import Fraction

import explore
import nbformat
import numpy as np
import pytest

from ldp_lib import channel, corr_rr, designs, fake_data, grr, hashing, jrr, leakage, pure, repeated, subset, unary
from ldp_lib.book import figures
from ldp_lib.sampled import AskSome, OneQuestion
from ldp_lib.splitting import SPL, allocation
from ldp_lib.survey import errors as compare
from ldp_lib.survey import planner


def even_error(mechanism, n):
    """Return the total error for people who are spread evenly."""
    k = mechanism.k if isinstance(mechanism.k, tuple) else (mechanism.k,)
    return compare.total_error(mechanism, planner.plug_in_population([np.full(size, 1 / size) for size in k], n))


def randomized_response(*, epsilon, k, n):
    chances = grr.probabilities(math.exp(epsilon), k)
    points = 100 * math.sqrt(pure.variance(0.1, n, *chances))
    return {"points": points, "open": 0.09 / pure.iid_variance(0.1, n, *chances)}


def channel_matrix(*, epsilon, k):
    channel, inverse = grr.channel(math.exp(epsilon), k), grr.inverse(math.exp(epsilon), k)
    parts = {"p": channel[0, 0], "q": channel[0, 1], "diagonal": inverse[0, 0], "other": inverse[1, 0]}
    return parts | {"stretch": np.linalg.svd(channel)[1][-1]}


def frequency_oracles(*, epsilon, k):
    kinds = grr.GRR, unary.SUE, unary.OUE, hashing.OLH, subset.SubsetSelection
    made = {kind.__name__: kind(k=k, epsilon=epsilon) for kind in kinds}
    points = {name: 100 * math.sqrt(even_error(kind, 10_000) / k) for name, kind in made.items()}
    return points | {"size": made["SubsetSelection"].size_}


def subset_selection(*, epsilon, k):
    e = math.exp(epsilon)
    errors, size = [subset.error(e, k, s) for s in range(1, k)], subset.optimal_size(e, k)
    return {"errors": errors, "size": size, "share": k / (e + 1), "times": errors[0] / errors[size - 1]}


def budget_splitting(*, epsilon, k1, k2, k3):
    k = np.array([k1, k2, k3])
    parts = {"best": allocation.obrr(k, epsilon), "equal": allocation.brr(k, epsilon)}
    errors = {name: allocation.brr_error(np.expm1(own / 2), k).sum() for name, own in parts.items()}
    return errors | {"parts": parts["best"]}


def attribute_sampling(*, epsilon, d, k):
    made = {kind.__name__: kind(k=(k,) * d, epsilon=epsilon) for kind in (SPL, OneQuestion, AskSome)}
    points = {name: 100 * math.sqrt(even_error(kind, 10_000) / (d * k)) for name, kind in made.items()}
    return points | {"asked": made["AskSome"].m_}


def fake_data_figure(*, epsilon, d, k):
    e = math.exp(epsilon)
    (p, q), mixed = grr.probabilities(e, k), fake_data.probabilities(e, k, d, 1 / k)
    parts = {"told": p / d, "lied": (1 - p) / d, "faked": (d - 1) / d}
    return parts | {"times": pure.variance(0, 1, *mixed) / (d * pure.variance(0, 1, p, q))}


def corr_rr_figure(*, tie, own, pivot, epsilon):
    frequencies = np.array([[1 - own, own], [1 - pivot, pivot]])

    def error(copied):
        reuse = [[1, 1], [copied, 1]]  # attribute 1 is the pivot that attribute 0 copies
        gap = corr_rr.expectation(frequencies, reuse)[0] - frequencies[0]
        return 1_000 * ((gap**2).sum() + corr_rr.iid_variance(frequencies, reuse, 2_000, math.exp(epsilon))[0].sum())

    # The table with this tie lies between that of independent answers and the most extreme one with the same shares.
    extreme = min(own, pivot) if tie > 0 else max(0, own + pivot - 1)
    both = (1 - abs(tie)) * own * pivot + abs(tie) * extreme
    table = np.array([[1 + both - own - pivot, pivot - both], [own - both, both]])
    values = np.array([0, 1])
    moments = [(table * np.outer(a, b)).sum() for a, b in ((values, values), (values, [1, 1]), ([1, 1], values))]
    correlation = (moments[0] - moments[1] * moments[2]) / math.sqrt(own * (1 - own) * pivot * (1 - pivot))
    free = corr_rr.minimizer(*frequencies, 2_000)
    best = min(max(free, 0), 1)
    tied = {"both": both, "correlation": correlation}
    return tied | {"free": free, "best": best, "least": error(best), "always": error(1), "never": error(0.5)}


def jrr_figure(*, epsilon, colluders, share):
    n, shown = 10_000, round(10_000 * colluders)
    own = grr.probabilities(math.exp(epsilon), 2)[0]
    tied = jrr.corner(own, shown / (n - shown))
    if tied <= 1 / 2:  # weak correlations keep ε, and have more variance even if all hold the answer
        for rho in (-0.01, -0.1, -0.5):
            weak = own / (1 - rho * shown / (n - shown))
            if weak > max(1 / 2, 1 / (1 - rho)):
                assert jrr.colluder_ratio(weak, rho, n, shown) <= math.exp(epsilon)
                assert jrr.variance(n, n, weak, rho) > jrr.variance(n, n, own, 0)
        return {"own": own, "tied": None, "ratio": None}
    assert jrr.colluder_ratio(tied, -(1 - tied) / tied, n, shown) == pytest.approx(math.exp(epsilon), rel=1e-6)
    ratio = jrr.variance(share * n, n, tied, -(1 - tied) / tied) / jrr.variance(share * n, n, own, 0)
    return {"own": own, "tied": tied, "ratio": ratio}


def limit_correlation(*, epsilon, n, differ):
    chances, shares = grr.probabilities(math.exp(epsilon), 2), np.array([0.4, 0.4 - differ])
    apart = 2 * pure.iid_variance(shares, n / 2, *chances).sum()
    pooled = 2 * ((shares - shares.mean()) ** 2 + pure.iid_variance(shares.mean(), n, *chances)).sum()
    return {"apart": 1_000 * apart, "pooled": 1_000 * pooled}


def attacker(*, epsilon, k, tie):
    report = grr.channel(math.exp(epsilon), k)
    joint = (tie * np.eye(k) + (1 - tie) / k) / k  # the asked attribute in rows, the other one in columns
    other = leakage.attribute_channel(np.repeat(report, k, axis=0), joint, 1)
    rates = [
        channel.success_rate(table / table.sum(axis=1, keepdims=True), np.full(k, 1 / k)) for table in (report, other)
    ]
    return {"asked": rates[0], "other": rates[1], "blind": 1 / k}


def real_survey(*, p, share, alpha):
    design = designs.unrelated_question(p, alpha)
    no, yes = designs.report_ratios(design)
    e = max(no, yes)
    variances = [designs.variance(one, share, 710) for one in (design, designs.warner(e / (1 + e)))]
    points = {name: 100 * math.sqrt(v) for name, v in zip(("unrelated", "warner"), variances, strict=True)}
    return points | {"no": no, "yes": yes, "people": 710 * variances[1] / variances[0]}


def real_survey_privacy(*, alpha, p, times):
    both = times * alpha**2
    matrix = designs.record_channel(p, [[1 - 2 * alpha + both, alpha - both], [alpha - both, both]])
    each = max(designs.report_ratios(designs.unrelated_question(p, alpha)))
    return {"product": each**2, "record": channel.privacy_ratio(matrix) if matrix.min() > 1e-12 else None}


def noncompliance(*, epsilon, share, others):
    low, high = designs.report_weights(designs.warner(grr.probabilities(math.exp(epsilon), 2)[0]))
    adds = {"careless": (low + high) / 2, "denying": low, "claiming": high, "inputs": 1}
    return {who: 100 * ((1 - others) * share + others * weight) for who, weight in adds.items()}


def browser_figure(*, epsilon, visits):
    rate = round(1e7 * 2 / (1 + math.exp(epsilon))) / 1e7
    chance = float(leakage.below_as_float32(rate))
    realised = math.log((2 - chance) / chance) if chance else None
    return {"rate": rate, "realised": realised, "total": realised and visits * realised}


def repeated_figure(*, epsilon, change, rounds):
    ratios = repeated.ratio_now(math.exp(epsilon), change, rounds), repeated.ratio_ever(math.exp(epsilon), change)
    return {"all": rounds * epsilon} | dict(zip(("now", "limit"), map(math.log, ratios), strict=True))


LIBRARY = {
    scene.__name__.removesuffix("_figure"): scene
    for scene in (
        randomized_response,
        channel_matrix,
        frequency_oracles,
        subset_selection,
        budget_splitting,
        attribute_sampling,
        fake_data_figure,
        corr_rr_figure,
        jrr_figure,
        limit_correlation,
        attacker,
        real_survey,
        real_survey_privacy,
        noncompliance,
        browser_figure,
        repeated_figure,
    )
}
SETTINGS = 30  # of each figure


@pytest.fixture(scope="module")
def page(browser):
    """A page that holds the formulas and the scenes."""
    page = explore.blank(browser)
    yield page
    page.close()


@pytest.fixture(scope="module")
def drawn(page):
    """The pictures at the start, and what they say."""
    return explore.pictures(page)


def test_the_numbers_of_every_figure_are_the_library_s(page):
    stops = page.evaluate(
        "() => Object.fromEntries(Object.entries(scenes.all).map(([name, scene]) => "
        "[name, Object.fromEntries(scene.sliders.map(({ name, stops }) => [name, stops]))]))"
    )
    assert set(stops) == set(LIBRARY)
    rng, asked = np.random.default_rng(1), []
    for name, sliders in stops.items():
        ends = [{key: values[end] for key, values in sliders.items()} for end in (0, -1)]
        drawn = [{key: values[rng.integers(len(values))] for key, values in sliders.items()} for _ in range(SETTINGS)]
        asked += [(name, setting) for setting in ends + drawn]
    found = page.evaluate(
        "asked => asked.map(([name, v]) => [scenes.numbers(name, v), scenes.picture(name, v), scenes.says(name, v)])",
        asked,
    )
    for (name, setting), (numbers, picture, words) in zip(asked, found, strict=True):
        wanted = LIBRARY[name](**setting)
        assert set(numbers) == set(wanted), name
        for key, number in wanted.items():
            if number is None:
                assert numbers[key] is None, (name, setting)
            else:
                assert numbers[key] == pytest.approx(number, rel=1e-9, abs=1e-12), (name, key, setting)
        if name == "jrr":
            assert ("no negative correlation lowers the variance at this ε" in words) == (wanted["tied"] is None)
        for text in (picture, words):
            assert not {word for word in ("NaN", "undefined", "null", "Infinity") if word in text}, (name, setting)


@pytest.mark.parametrize("name", LIBRARY)
def test_a_stored_picture_is_what_is_drawn_and_its_chapter_says_what_it_shows(name, drawn):
    stored = explore.STATIC / "explore" / f"{name}.svg"
    assert stored.read_text(encoding="utf-8") == drawn[name]["picture"]
    chapter = nbformat.read(explore.ROOT / "notebooks" / f"{name}.ipynb", as_version=4)
    text = "\n".join(cell.source for cell in chapter.cells if cell.cell_type == "markdown")
    options = f":name: fig-explore-{name.replace('_', '-')}\n:class: explore\n:alt: {drawn[name]['words']}\n"
    assert f"```{{figure}} ../book/_static/explore/{name}.svg\n{options}" in text


def test_the_people_who_would_do_are_counted_exactly(page):
    """710 times 1/2 at the start: floats say a little more, which is no reason to ask one more."""
    places = page.evaluate("() => scenes.all.real_survey.sliders.map(({ stops }) => stops)")
    settings = [dict(zip(("p", "share", "alpha"), at, strict=True)) for at in itertools.product(*places)]
    said = page.evaluate("all => all.map(v => scenes.says('real_survey', v))", settings)
    assert "so 355 people would do" in page.evaluate("scenes.says('real_survey', scenes.start('real_survey'))")
    for setting, words in zip(settings, said, strict=True):
        people = real_survey(**{key: Fraction(str(number)) for key, number in setting.items()})["people"]
        assert f"so {math.ceil(people)} " in words, setting


def test_the_fakes_in_the_sentence_are_those_in_the_picture(page):
    """Among eight 87.5 of a hundred are: the sentence said 88 where the picture has 87 squares."""
    places = page.evaluate("() => scenes.all.fake_data.sliders.map(({ stops }) => stops)")
    settings = [dict(zip(("epsilon", "d", "k"), at, strict=True)) for at in itertools.product(*places)]
    found = page.evaluate(
        "all => all.map(v => [scenes.says('fake_data', v), scenes.picture('fake_data', v)])", settings
    )
    for setting, (words, picture) in zip(settings, found, strict=True):
        said = float(re.search(r"([\d.]+) are fakes", words)[1])
        assert said == pytest.approx(100 - 100 / setting["d"], abs=0.051), setting
        assert abs(int(re.search(r"(\d+) fakes<", picture)[1]) - said) < 1, setting


def test_what_costs_something_is_not_said_to_cost_nothing(page):
    """With two digits a ratio of 1.047 was "costs: 1 times the error"."""
    places = page.evaluate("() => scenes.all.limit_correlation.sliders.map(({ stops }) => stops)")
    settings = [dict(zip(("epsilon", "n", "differ"), at, strict=True)) for at in itertools.product(*places)]
    for setting, words in zip(
        settings, page.evaluate("all => all.map(v => scenes.says('limit_correlation', v))", settings), strict=True
    ):
        verdict, times = re.search(r"(saves|costs): ([\d.,]+) times", words).groups()
        assert times != "1", setting
        assert (float(times.replace(",", "")) > 1) == (verdict == "costs"), setting


@pytest.mark.parametrize(
    ("name", "never"),
    [
        ("attacker", r"for 100 "),
        ("subset_selection", r"takes 1 times"),
        ("browser", r" 1 reports"),
        ("repeated", r" 1 rounds"),
    ],
)
def test_no_setting_makes_a_guess_certain_a_loss_none_or_one_many(page, name, never):
    """99.75 of a hundred was "right for 100 of 100 people", and 1.001 times as many people was 1 times."""
    places = page.evaluate("name => scenes.all[name].sliders.map(({ name, stops }) => [name, stops])", name)
    settings = [dict(zip(dict(places), at, strict=True)) for at in itertools.product(*dict(places).values())]
    for words in page.evaluate("([name, all]) => all.map(v => scenes.says(name, v))", [name, settings]):
        assert not re.search(never, words), words


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("k=2&epsilon=10&n=100", "you need about one person, or with 100 people ε"),
        ("k=2-2&epsilon=1&n=10000&sampled=true&target=50", "you need about 10 people, or"),
        ("k=2&epsilon=0.1&n=1&target=0.01", "or with one person ε = 18.4."),
        ("k=100-100&epsilon=0.1&n=100&wants=records", "or with 100 people ε = 10.1."),
    ],
)
def test_the_planner_asks_for_whole_people_and_names_no_limit_beyond_its_scale(asked, words, browser):
    """At a large ε it asked for about 0.45 people, at a small one nothing was "below over 50 points"."""
    scripts = [(explore.STATIC / f"{name}.js").read_text(encoding="utf-8") for name in ("formulas", "planner")]
    body = '<div class="planner"></div>' + "".join(f"<script>{script}</script>" for script in scripts)
    page = browser.new_page()
    page.route("http://planner/*", lambda route: route.fulfill(body=body, content_type="text/html; charset=utf-8"))
    page.goto(f"http://planner/?{asked}")
    assert words in page.get_by_role("status").inner_text()
    assert "below over" not in page.get_by_role("status").inner_text()
    page.close()


def test_no_stored_picture_lacks_a_scene():
    assert {path.stem for path in (explore.STATIC / "explore").iterdir()} == set(LIBRARY)


def test_mechanisms_look_as_in_all_other_figures(page):
    looks = page.evaluate("scenes.LOOKS")
    assert {name: tuple(look) for name, look in looks.items()} == {name: figures.LOOKS[name] for name in looks}

"""An hour of a data journalist: exports of forms, several languages, shared folders, plans in points, charts."""

import io
import json
import re
import unicodedata
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ldp_lib import GRR, OLH, AskSome, Survey, recommend, required_budget, required_users, subset
from ldp_lib.survey import files
from ldp_lib.survey.aggregate import aggregate
from ldp_lib.survey.catalogue import MECHANISMS

RNG = np.random.default_rng
PAGE = (Path(__file__).resolve().parents[2] / "book" / "survey.md").read_text(encoding="utf-8")
FORM = Survey({"read": ["daily", "weekly", "other", "no answer"]}, 1.0, missing="no answer", other="other")
STRICT = Survey({"read": ["daily", "weekly", "no answer"]}, 1.0, missing="no answer")
PAIR = Survey({"été": ["oui", "non", "rien"], "n": [1, 2]}, 2.0, AskSome(k=(3, 2), epsilon=2.0, m=2))
PEOPLE = pd.DataFrame({"été": ["oui", "non", "rien"] * 200, "n": [1, 2] * 300, "region": ["Île", "Nord", "Sud"] * 200})
REPORTS = PAIR.collect(PEOPLE, rng=RNG(1), keep=["region"])


def read(text, **how):
    return pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""], **how)


def told(survey, frame):
    return survey.decode(survey.encode(frame))["read"].tolist()


def alone(label, answer):
    """Return what an answer becomes where labels are this one, another, and one for what is no label."""
    survey = Survey({"read": [label, "another", "rest"]}, 1.0, other="rest")
    return told(survey, pd.DataFrame({"read": [answer]}))[0]


# Several languages.


@pytest.mark.parametrize(
    ("label", "answer"),
    [
        ("O'zbekcha", "O\u02bbzbekcha"),
        ("O\u02bbzbekcha", "O\u2019zbekcha"),
        ("Hawai\u02bbi", "Hawai'i"),
        ("\u05e6'\u05e7", "\u05e6\u05f3\u05e7"),
        ('\u05d0\u05e8\u05d4"\u05d1', "\u05d0\u05e8\u05d4\u05f4\u05d1"),
        ("'a'", "\u201aa\u2018"),
        ("1~5", "1\u301c5"),
        ("1\u301c5", "1\uff5e5"),
        ("20-30", "20~30"),
        ("20~30", "20\u201330"),
    ],
)
def test_quotation_marks_and_dashes_of_more_languages_are_not_put_to_other(label, answer):
    with pytest.raises(ValueError, match="It reads like"):
        alone(label, answer)
    with pytest.raises(ValueError, match="differ in print"):
        Survey({"read": [label, answer]}, 1.0)


def test_two_decoders_of_one_byte_pair_give_labels_that_are_told_apart_from_others():
    """Japanese files: what `cp932` and `shift_jis` make of the same dash of a wave."""
    one, other = (b"1\x81`5".decode(code) for code in ("cp932", "shift_jis"))
    assert one != other
    with pytest.raises(ValueError, match="It reads like"):
        alone(one, other)


def test_signs_that_no_label_has_still_go_to_other():
    assert [alone("1-5", answer) for answer in ("15", "1+5", "1:5", "1~6")] == ["rest"] * 4
    assert told(FORM, pd.DataFrame({"read": ["#REF!", "#N/D", "#¡VALOR!"]})) == ["other"] * 3  # as the page says
    assert Survey({"read": ["~5", "5", "-6"]}, 1.0).k == (3,)


def test_a_region_typed_on_two_devices_is_two_texts_until_it_is_normalized():
    """As the page says: four in five say yes on the devices whose é is two signs, and one in five on the others."""
    survey, n = Survey({"q": ["no", "yes"]}, 30.0, GRR(k=2, epsilon=30.0)), 1_000
    one, two = (unicodedata.normalize(form, "Québec") for form in ("NFC", "NFD"))
    mac = np.arange(n) % 2 == 0
    yes = np.where(mac, np.arange(n) % 10 < 8, np.arange(n) % 10 < 2)
    people = pd.DataFrame({"q": np.where(yes, "yes", "no"), "region": np.where(mac, two, one)})
    reports = survey.collect(people, rng=RNG(1), keep=["region"])
    assert len(reports["region"].value_counts()) == 2
    picked = survey.estimate(reports[reports["region"].isin([one])])["estimate"][1]
    assert picked == pytest.approx(yes[~mac].mean())
    assert abs(picked - yes.mean()) > 0.2
    same = reports.assign(region=reports["region"].str.normalize("NFC"))
    assert survey.estimate(same[same["region"].isin([one])])["estimate"][1] == pytest.approx(yes.mean())


def test_labels_in_two_compositions_are_two_surveys_whose_labels_print_alike():
    domain = {unicodedata.normalize("NFD", name): labels for name, labels in PAIR.domain.items()}
    with pytest.raises(ValueError, match="attributes") as error:
        Survey(domain, 2.0, PAIR.mechanism).estimate(REPORTS)
    one, other = re.findall(r"\[.*?\]", str(error.value))
    assert unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)
    assert ascii(one) != ascii(other)


# Exports of forms.


def test_a_file_of_one_question_has_a_blank_line_for_no_answer_and_read_csv_leaves_it_out():
    text = "read\ndaily\n\nweekly\n\n"
    assert told(FORM, read(text)) == ["daily", "weekly"]
    assert told(FORM, read(text, skip_blank_lines=False)) == ["daily", "no answer", "weekly", "no answer"]
    assert told(FORM, read("id,read\n1,daily\n2,\n3,weekly\n")) == ["daily", "no answer", "weekly"]


@pytest.mark.parametrize(
    ("text", "more"),
    [
        ("id,read\n,Response\n1,daily\n2,weekly\n", ["other"]),
        ('id,read\nid,"How often?"\n"{""ImportId"":""a""}","{""ImportId"":""b""}"\n1,daily\n2,weekly\n', ["other"] * 2),
        ("id,read\n1,daily\n2,weekly\nTotal,2\n", ["other"]),
        ("id,read\n1,daily\n2,weekly\n,\n,\n", ["no answer"] * 2),
        ("ok,read\nTRUE,daily\nTRUE,weekly\nFALSE,\nFALSE,\n", ["no answer"] * 2),
    ],
)
def test_lines_that_are_no_person_are_people_as_the_page_says(text, more):
    assert sorted(told(FORM, read(text))) == sorted(["daily", "weekly", *more])
    if "other" in more:
        with pytest.raises(ValueError, match="frame must hold one of the labels"):
            STRICT.encode(read(text))


def test_days_before_months_are_read_as_months_and_the_rest_is_missing():
    days = pd.Series(["03/04/2026", "13/04/2026"])
    assert pd.to_datetime(days, errors="coerce").dt.strftime("%d %b").tolist()[0] == "04 Mar"
    assert pd.to_datetime(days, errors="coerce").isna().tolist() == [False, True]
    assert pd.to_datetime(days, dayfirst=True).dt.strftime("%d %b").tolist() == ["03 Apr", "13 Apr"]


@pytest.mark.parametrize(
    ("typed", "band"),
    [
        (" 34", 1),
        ("\u0663\u0664", 1),
        ("\uff13\uff14", 1),
        ("+34", 1),
        ("6e1", 2),
        ("0029", 0),
        ("nan", -1),
        ("-9", -1),
    ],
)
def test_ages_that_people_typed_fall_in_their_bands(typed, band):
    """The page's line, which is an error for every other text."""
    ages = pd.Series([typed], dtype=object).astype(float).replace([-9, 999], np.nan)
    assert pd.cut(ages, [-np.inf, 30, 60, np.inf], right=False).cat.codes.tolist() == [band]
    for text in ("34,5", "34 years", "", "\u221234", "3 4", "None"):
        with pytest.raises(ValueError, match="could not convert"):
            pd.Series([text], dtype=object).astype(float)


def test_people_without_an_address_are_one_after_drop_duplicates():
    mail = pd.DataFrame(
        {"email": ["a", None, None, "b", None], "read": ["daily", "weekly", "weekly", "daily", "daily"]}
    )
    assert told(FORM, mail.drop_duplicates("email")) == ["daily", "weekly", "daily"]
    assert told(FORM, mail[mail["email"].isna() | ~mail["email"].duplicated()]) == mail["read"].tolist()


def test_the_last_of_times_that_are_texts_is_the_last_by_their_letters():
    twice = pd.DataFrame({"email": ["a", "a"], "at": ["9/11/2026", "10/11/2026"], "read": ["daily", "weekly"]})
    assert told(FORM, twice.sort_values("at").drop_duplicates("email", keep="last")) == ["daily"]
    timed = twice.assign(at=pd.to_datetime(twice["at"], dayfirst=True))
    assert told(FORM, timed.sort_values("at").drop_duplicates("email", keep="last")) == ["weekly"]


def test_who_ticked_several_answers_is_several_people_after_explode():
    ticked = pd.DataFrame({"read": ["daily, weekly", "daily", "daily"]})
    each = ticked.assign(read=ticked["read"].str.split(", ")).explode("read")
    assert told(STRICT, each).count("daily") / len(each) == 0.75
    assert ticked["read"].str.contains("daily").mean() == 1.0
    assert told(FORM, ticked).count("other") == 1
    with pytest.raises(ValueError, match="frame must hold one of the labels"):
        STRICT.encode(ticked)


@pytest.mark.parametrize("how", [{}, {"usecols": [1, 0]}])
def test_names_of_columns_go_by_place_whatever_the_file_calls_them(how):
    found = read("drink,smoke\nyes,no\n", names=["smoke", "drink"], header=0, **how)
    assert found.to_dict("records") == [{"smoke": "yes", "drink": "no"}]
    assert read("drink,smoke\nyes,no\n").to_dict("records") == [{"drink": "yes", "smoke": "no"}]


# Files that colleagues share.


@pytest.mark.parametrize(
    ("name", "content", "match"),
    [
        ("b1.parquet", b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 1\n", "whole Parquet"),
        ("b1.parquet", b"", "whole Parquet"),
        ("Thumbs.db", b"x", "must end in"),
        ("~$b0.xlsx", b"x", "must end in"),
        ("b1.parquet.crdownload", b"x", "must end in"),
        ("b1.PARQUET", b"x", "must end in"),
        ("__MACOSX/._b0.parquet", b"x", "hidden"),
        (".DS_Store", b"x", None),
    ],
)
def test_what_programs_leave_in_a_shared_folder_is_refused_or_left_aside(name, content, match, tmp_path):
    files.write(REPORTS, tmp_path / unicodedata.normalize("NFD", "été [1]#%20.parquet"))
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(content)
    if match is None:
        assert aggregate(tmp_path, PAIR.mechanism).n == len(REPORTS)
    else:
        with pytest.raises(ValueError, match=match):
            aggregate(tmp_path, PAIR.mechanism)


def as_text(edit):
    return lambda saved: edit(json.dumps(json.loads(saved), ensure_ascii=False))


@pytest.mark.parametrize(
    ("edit", "outcome"),
    [
        (lambda saved: saved.replace(b"\n", b"\r\n"), "same"),
        (as_text(lambda text: text.encode()), "same"),
        (lambda saved: saved.replace(b"{", b'{"note": "x",', 1), "same"),
        (as_text(lambda text: unicodedata.normalize("NFD", text).encode()), "other"),
        (as_text(lambda text: text.encode().decode("latin1").encode()), "other"),
        (lambda saved: saved.replace(b'"non"', b'"non "'), "other"),
        (as_text(lambda text: text.replace("[1, 2]", "[1.0, 2]").encode()), "other"),
        (as_text(lambda text: text.encode("latin1")), "refused"),
        (as_text(lambda text: text.encode("utf-16")), "refused"),
        (lambda saved: b"\xef\xbb\xbf" + saved, "refused"),
        (lambda saved: b"<<<<<<< HEAD\n" + saved, "refused"),
        (lambda saved: saved.replace(b'"epsilon": 2.0', b'"epsilon": 2,0'), "refused"),
        (lambda saved: saved.replace(b'"epsilon": 2.0', b'"epsilon": 1.0'), "refused"),
        (as_text(lambda text: json.dumps(json.loads(text), sort_keys=True).encode()), "refused"),
    ],
)
def test_a_survey_s_file_that_a_colleague_edited_is_the_same_or_tells_that_it_is_not(edit, outcome, tmp_path):
    PAIR.save(tmp_path / "survey.json")
    saved = (tmp_path / "survey.json").read_bytes()
    (tmp_path / "survey.json").write_bytes(edit(saved))
    assert edit(saved) != saved
    if outcome == "refused":
        with pytest.raises(ValueError, match="must"):
            Survey.load(tmp_path / "survey.json")
        return
    found = Survey.load(tmp_path / "survey.json")
    assert (found == PAIR) is (outcome == "same")
    if outcome == "same":
        assert found.estimate(REPORTS).equals(PAIR.estimate(REPORTS))
    else:
        with pytest.raises(ValueError, match="reports must be of a survey whose"):
            found.estimate(REPORTS)


@pytest.mark.parametrize(
    ("labels", "missing"),
    [
        (["yes", "no", ""], ""),
        ([1, 0], 0),
        ([True, False], False),
        ([1.0, np.inf], None),
        (["a\nb", 'say "x"', "a,b;c"], None),
        (["\x00", "\\n"], None),
        (["👩‍💻", "👩", "👍🏽", "👍"], None),
        (["NaN", "=1+1", "<b>"], None),
        (["はい", "いいえ", "да", "نعم"], None),
        ([2**70, -1], None),
    ],
)
def test_odd_labels_come_back_from_every_file(labels, missing, tmp_path):
    survey = Survey({"q": labels}, 1.0, GRR(k=len(labels), epsilon=1.0), missing=missing)
    survey.save(tmp_path / "survey.json")
    device = Survey.load(tmp_path / "survey.json")
    assert device == survey
    assert device.domain["q"] == tuple(labels)
    people = survey.decode((np.arange(60) % len(labels))[:, None])
    reports = device.collect(people, rng=RNG(1))
    files.write(reports, tmp_path / "a.parquet")
    files.write(reports, tmp_path / "b.csv")
    one, other = survey.estimate(tmp_path / "a.parquet"), device.estimate(tmp_path / "b.csv")
    assert one.equals(other)
    assert one["value"].tolist() == labels


@pytest.mark.parametrize("k", [5, (3, 4), (100, 30)])
def test_spreadsheets_keep_every_digit_of_a_report(k):
    """They keep 15 digits."""
    sizes, seen = np.atleast_1d(k), 0
    for family in MECHANISMS:
        if family.serves(k) and not family.needs_dealer:
            mechanism = family(k=k, epsilon=1.0)
            if mechanism.dtype is not None and mechanism.least_users == 1:
                x = RNG(1).integers(0, sizes, (200, len(sizes))).reshape(-1, *np.shape(k))
                assert files.to_frame(mechanism.perturb(x, rng=RNG(1))).to_numpy().max() < 10**15
                seen += 1
    assert seen > 3


@pytest.mark.parametrize("device_size", [1, 2])
def test_a_device_on_which_sets_have_another_size_is_refused(device_size, monkeypatch):
    """Sets of one and of two of ten answers tie at a budget of log 6, and a description does not tell sizes."""
    domain = {"a": list(range(10)), "b": list(range(200))}
    optimal_size = subset.optimal_size

    def survey(size):
        monkeypatch.setattr(subset, "optimal_size", lambda e, k: size if k == 10 else optimal_size(e, k))
        made = Survey(domain, np.log(6.0))
        assert made.mechanism.oracle_[0].size_ == size
        return made

    device, people = survey(device_size), pd.DataFrame({"a": np.arange(600) % 10, "b": np.arange(600) % 200})
    reports = device.collect(people, rng=RNG(1))
    assert device.estimate(reports)["estimate"].sum() == pytest.approx(2)
    collector = survey(3 - device_size)
    assert collector.description == device.description
    with pytest.raises(ValueError, match="y must have"):
        collector.estimate(reports)
    monkeypatch.undo()


@pytest.mark.parametrize("epsilon", [np.log(h * (h + 1)) / 2 for h in range(1, 9)])
def test_numbers_of_buckets_that_tie_do_not_turn_on_the_last_bits_of_exp(epsilon, monkeypatch):
    """A device with three buckets and a collector with four told shares of 0.2 for 0.6; nothing else differed."""
    e, found = np.exp(epsilon), set()
    for near in e * (1 + np.finfo(float).eps * np.arange(-2, 3)):
        monkeypatch.setattr(OLH, "_e", float(near))
        found.add(OLH(k=6, epsilon=epsilon).g_)
    assert found == {round((e * e + 0.25) ** 0.5 + 0.5)}


@pytest.mark.parametrize(("e", "k", "size"), [(6, 10, 1), (10, 27, 2), (14, 52, 3)])
def test_sizes_of_sets_that_tie_do_not_turn_on_the_last_bits_of_exp(e, k, size):
    """All ties of below 60 values at whole numbers up to 29."""
    assert subset.error(Fraction(e), k, size) == subset.error(Fraction(e), k, size + 1)
    near = e + np.spacing(float(e)) * np.arange(-8, 9) / 2
    assert {subset.optimal_size(float(one), k) for one in near} == {size}


def test_bytes_that_fill_a_report_up_are_zeros():
    survey = Survey({"a": ["x", "y"], "b": list(range(50))}, 1.0)
    people = pd.DataFrame({"a": ["x", "y"] * 100, "b": np.arange(200) % 50})
    reports = survey.collect(people, rng=RNG(1))
    first = reports["report_asked"] == 0
    last = reports.columns.drop("report_survey")[-1]
    assert (reports.loc[first, last] == 0).all()
    changed = reports.assign(**{last: reports[last].mask(first, np.uint8(1))})
    with pytest.raises(ValueError, match="y must have zeros after the 1 bytes of attribute 0"):
        survey.estimate(changed)


# Plans.


def test_a_margin_in_points_is_met_by_very_few_people_as_the_page_says():
    best = recommend(k=(2, 4, 3), epsilon=2.0, n=20_000, wants="tables")
    [people] = re.findall(r"and 0\.9, meant as 0\.9\s+points, is met by (\d+) people", PAGE)
    assert required_users(best.mechanism, 0.9, wants="tables") == int(people)
    assert required_users(best.mechanism, best.margin() / 100, wants="tables") > 1_000 * int(people)
    with pytest.raises(ValueError, match="margin must be a number above 0 and below 1"):
        required_users(best.mechanism, best.margin(), wants="tables")


@pytest.mark.parametrize(
    "other",
    [
        {"n": "10000"},
        {"n": 1.5},
        {"n": True},
        {"n": np.nan},
        {"n": pd.Series([100])},
        {"k": "2,3"},
        {"k": {"a": 2, "b": 3}},
        {"k": {2, 3}},
        {"k": (2.0, 3)},
        {"k": (1, 3)},
        {"epsilon": "1"},
        {"epsilon": Decimal("1")},
        {"epsilon": np.array([1.0])},
        {"wants": "shares"},
        {"wants": None},
        {"sampling": "poisson"},
        {"sampling": 1},
    ],
)
def test_plans_of_another_kind_are_refused_by_the_name_of_what_is_wrong(other):
    plan = {"k": (2, 3), "epsilon": 1.0, "n": 100}
    assert recommend(**plan).points > 0
    with pytest.raises((TypeError, ValueError), match=f"^{next(iter(other))} must be"):
        recommend(**plan | other)


def test_a_budget_is_asked_for_in_points():
    """A share in place of points costs far more of it."""
    right, wrong = (required_budget(k=4, n=10_000, points=points) for points in (1.0, 0.01))
    assert recommend(k=4, epsilon=right, n=10_000).points <= 1.0
    assert wrong > 4 * right


# Charts.


@pytest.mark.parametrize("options", [{}, {"confidence": 0.8}, {"simultaneous": True}, {"sampling": True}])
def test_the_bars_of_the_page_are_the_intervals_that_were_asked_for(options):
    """Also where they are sorted, because pandas puts them together by the index."""
    [line] = re.findall(r"^>>> half = (.*)$", PAGE, re.M)
    shares = PAIR.estimate(REPORTS, **options)
    shares.index = shares["attribute"] + " " + shares["value"].astype(str)
    half = eval(line, {"shares": shares})
    assert np.allclose(shares["estimate"] - half, shares["low"])
    assert np.allclose(shares["estimate"] + half, shares["high"])
    assert half.index.equals(shares.index)


def test_bars_around_projected_shares_are_other_intervals():
    """As the page says: nine in ten hold one of ten labels, and few people are asked at a small budget."""
    survey = Survey({"q": list(range(10))}, 0.5, GRR(k=10, epsilon=0.5))
    reports = survey.collect(pd.DataFrame({"q": np.repeat([0, *range(10)], [80, *[2] * 10])}), rng=RNG(1))
    raw, near = survey.estimate(reports), survey.estimate(reports, projected=True)
    assert raw[["low", "high"]].equals(near[["low", "high"]])
    assert (abs(near["estimate"] - (near["low"] + near["high"]) / 2) > 0.5 * near["standard_error"]).any()


def test_a_query_of_two_questions_is_of_the_people_who_hold_both():
    found, cells = PAIR.query({"été": ["oui", "non"], "n": 2}, REPORTS), PAIR.table("été", "n", REPORTS)["estimate"]
    assert found.estimate == pytest.approx(cells[("oui", 2)] + cells[("non", 2)])
    assert found.estimate < PAIR.query({"n": 2}, REPORTS).estimate


def test_a_survey_of_every_kind_of_result_comes_without_a_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reports = PAIR.collect(PEOPLE.assign(w=2.0), rng=RNG(3), keep=["region"], weights="w")
        files.write(reports, tmp_path / "a.parquet")
        assert PAIR.estimate(tmp_path, weights="w", sampling=True).shape == (5, 6)
        assert PAIR.table("été", "n", tmp_path).shape == (6, 4)
        assert PAIR.associations(tmp_path).shape == (1, 4)
        assert PAIR.synthetic(10, tmp_path, rng=RNG(1)).shape == (10, 2)
        assert PAIR.contributions(tmp_path).groupby("region").size().tolist() == [200, 200, 200]
        parts = [reports[reports["region"] == name] for name in ("Île", "Sud")]
        assert PAIR.difference(*parts, sampling=True).shape == (5, 6)

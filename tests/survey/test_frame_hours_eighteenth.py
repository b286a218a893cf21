"""Three quarters of an hour on data engineers' ways: hidden names, doubled Dask frames, halves in one sign, links."""

import enum
import itertools
import os
import threading
import unicodedata

import numpy as np
import pandas as pd
import pytest

from ldp_lib import GRR, AskSome, OneQuestion, RRJoint, Survey
from ldp_lib.survey import _files, _labels, files
from ldp_lib.survey.aggregate import Counts, aggregate

RNG = np.random.default_rng
SURE = Survey({"a": ["x", "y"]}, 40.0, GRR(k=2, epsilon=40.0))  # its reports are the answers
PEOPLE = pd.DataFrame({"a": ["x"] * 60 + ["y"] * 40})
PAIR = Survey({"a": ["x", "y"], "b": [1, 2, 3]}, 1.0, OneQuestion(k=(2, 3), epsilon=1.0))
TWO = pd.DataFrame({"a": ["x"] * 240 + ["y"] * 160, "b": [1, 2] * 200, "g": [*"pq"] * 200, "w": [1.0, 2.0] * 200})
REPORTS = PAIR.collect(TWO, rng=RNG(1), keep=["g"], weights="w")
SHARES = PAIR.estimate(REPORTS)["estimate"].to_numpy()


@pytest.mark.parametrize("name", [".parquet", ".csv", ".PQ", ".b.parquet", "h/.csv", ".h/.parquet", ".h/b.csv"])
def test_a_report_file_whose_name_is_its_ending_is_not_left_aside(name, tmp_path):
    """As f"{batch}.parquet" is without a batch: its reports were left out in silence."""
    files.write(SURE.collect(PEOPLE, rng=RNG(1)), tmp_path / "a.parquet")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes((tmp_path / "a.parquet").read_bytes())
    with pytest.raises(ValueError, match="hidden"):
        aggregate(tmp_path, SURE.mechanism)


def test_what_is_hidden_and_no_report_file_is_left_aside(tmp_path):
    files.write(SURE.collect(PEOPLE, rng=RNG(1)), tmp_path / "a.parquet")
    for name in (".DS_Store", ".a.parquet.crc", ".gitkeep", "_SUCCESS"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    assert aggregate(tmp_path, SURE.mechanism).n == 100


@pytest.mark.parametrize(("parts", "noticed"), [(1, True), (2, True), (3, False), (4, True), (5, False)])
def test_a_doubled_dask_frame_is_noticed_only_where_two_partitions_begin_alike(parts, noticed):
    """As the docstring says; the number of reports tells it."""
    dask, frames = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
    doubled = pd.concat([REPORTS, REPORTS], ignore_index=True)
    with dask.config.set(scheduler="synchronous"):
        if noticed:
            with pytest.raises(ValueError, match="copied, or merged"):
                aggregate(frames.from_pandas(doubled, npartitions=parts), PAIR.mechanism)
        else:
            assert aggregate(frames.from_pandas(doubled, npartitions=parts), PAIR.mechanism).n == 2 * len(TWO)


def test_shares_of_two_surveys_are_matched_by_their_labels_and_not_by_their_places():
    """As the docstring says of `estimate`."""
    later = Survey({"a": ["w", "x", "y"]}, 40.0, GRR(k=3, epsilon=40.0))
    one, two = (survey.estimate(survey.collect(PEOPLE, rng=RNG(1))) for survey in (SURE, later))
    both = one.merge(two, on=["attribute", "value"])
    assert (both["estimate_x"] - both["estimate_y"]).to_numpy() == pytest.approx([0, 0], abs=1e-9)
    assert (one["estimate"] - two["estimate"]).to_numpy()[:2] == pytest.approx([0.6, -0.2])


@pytest.mark.parametrize(
    ("label", "answer"),
    [
        ("1/2", "½"),
        ("1 1/2", "1½"),
        ("3/4 full", "¾ full"),
        ("10-2", "10⁻²"),
        ("m/s", "㎧"),
        ('say "a"', "say ＂a＂"),
        ("don't", "don｀t"),
        ("don't", "don´t"),
        ("iyi", "İyi".lower()),
        ("İyi", "i̇yi"),
        ("İstanbul", "İstanbul".lower().title()),
        ("że", "z\u0307e"),
    ],
)
def test_what_looks_like_a_label_in_signs_that_phones_and_python_make_is_not_put_to_other(label, answer):
    survey = Survey({"a": [label, "b", "rest"]}, 1.0, other="rest")
    with pytest.raises(ValueError, match="It reads like"):
        survey.encode(pd.DataFrame({"a": ["b", answer]}))


def test_signs_that_are_no_lookalikes_stay_apart():
    """A dot over a letter that has one of its own is another letter, composed or not."""
    survey = Survey({"a": ["ze", "że", "żė", "ze/2", "rest"]}, 1.0, other="rest")
    answers = ["ze", "że", "żė", "ze/2", "zee", "ze2"]
    assert survey.encode(pd.DataFrame({"a": answers})).ravel().tolist() == [0, 1, 2, 3, 4, 4]


def test_no_character_looks_otherwise_when_looked_at_twice():
    for code in itertools.chain(range(0xD800), range(0xE000, 0x20000)):
        text = chr(code)
        if unicodedata.normalize("NFKC", text) != text:
            seen = _labels.printed(f"a{text}b")
            assert _labels.printed(seen) == seen


class Plain(enum.Enum):
    YES = "yes"


@pytest.mark.parametrize(
    ("label", "answer"), [("yes", Plain.YES), ("yes", ("yes",)), ("yes", "b'yes'"), ("R&D", "R&amp;D")]
)
def test_what_a_program_made_of_an_answer_goes_to_other_as_the_page_says(label, answer):
    survey = Survey({"a": [label, "no", "rest"]}, 1.0, other="rest")
    assert survey.encode(pd.DataFrame({"a": pd.Series([answer, label], dtype=object)})).ravel().tolist() == [2, 0]


# What held.


def varied():
    """Return surveys that differ in one thing each."""
    more, domain = np.nextafter(1.0, 2), {"a": ["x", "y", "z"], "b": [0, 1]}
    asks = [{}, {"groups": False}, {"weights": (1, 2)}, {"weights": (1, np.nextafter(2, 3))}]
    domains = [
        {**domain, "a": ["y", "x", "z"]},
        {**domain, "b": [0.0, 1.0]},
        {**domain, "b": [False, True]},
        {**domain, "b": ["0", "1"]},
        {**domain, "a": ["x", "y", "é"]},
        {**domain, "a": ["x", "y", "e\u0301"]},
        {"a": domain["a"], "c": [0, 1]},
        {"b": domain["b"], "a": domain["a"]},
    ]
    return [
        *(Survey(domain, 1.0, OneQuestion(k=(3, 2), epsilon=1.0, **one)) for one in asks),
        *(Survey(domain, 1.0, AskSome(k=(3, 2), epsilon=1.0, m=m)) for m in (1, 2)),
        *(Survey(domain, 1.0, **one) for one in ({"missing": "x"}, {"missing": "z"}, {"other": "z"}, {"missing": 0})),
        *(Survey(one, 1.0) for one in domains),
        Survey(domain, more),
    ]


def test_reports_of_surveys_that_differ_in_one_thing_are_never_counted_together():
    surveys, answers = varied(), np.array([[0, 1], [1, 0]] * 40)
    batches = [survey.collect(survey.decode(answers), rng=RNG(i)) for i, survey in enumerate(surveys)]
    ways = [
        lambda survey, other, mine, theirs: survey.estimate(theirs),
        lambda survey, other, mine, theirs: survey.estimate([mine, theirs]),
        lambda survey, other, mine, theirs: survey.mark(theirs),
        lambda survey, other, mine, theirs: survey.estimate(survey.mark(pd.concat([mine, theirs], ignore_index=True))),
        lambda survey, other, mine, theirs: survey.mark(aggregate(theirs, other.mechanism)),
        lambda survey, other, mine, theirs: aggregate([mine, theirs], survey.mechanism),
    ]
    pairs = itertools.combinations(zip(surveys, batches, strict=True), 2)
    for ((survey, mine), (other, theirs)), way in zip(pairs, itertools.cycle(ways)):
        assert survey != other
        with pytest.raises(ValueError, match=r"must be of|must have the columns|must be OneQuestion|must be AskSome"):
            way(survey, other, mine, theirs)


ENDS = {
    "a link beside it": lambda folder, path: (folder / "z.parquet").symlink_to(path),
    "a hard link beside it": lambda folder, path: os.link(path, folder / "z.parquet"),
    "a link to a folder": lambda folder, path: (folder / "sub").symlink_to(path.parent),
    "a link to a folder by an ending": lambda folder, path: (folder / "sub.parquet").symlink_to(path.parent),
    "a link to nothing": lambda folder, path: (folder / "z.parquet").symlink_to(path.parent / "nothing"),
    "a loop": lambda folder, path: (folder / "loop.csv").symlink_to(folder),
    "a table's log": lambda folder, path: (folder / "0.json").write_text("{}", encoding="utf-8"),
}


@pytest.mark.parametrize("way", ENDS)
def test_links_in_a_folder_are_never_counted_beside_what_they_lead_to(way, tmp_path):
    (folder := tmp_path / "f").mkdir()
    files.write(REPORTS, folder / "a.parquet")
    with pytest.raises(ValueError, match=r"counts must be of different reports; 'a\.parquet"):
        aggregate([folder, tmp_path / "f" / ".." / "f"], PAIR.mechanism)
    ENDS[way](folder, folder / "a.parquet")
    with pytest.raises((ValueError, OSError)):
        aggregate(folder, PAIR.mechanism)


def test_a_file_that_is_replaced_while_it_is_counted_is_the_old_or_the_new_one(tmp_path):
    frames = [SURE.collect(PEOPLE, rng=RNG(1)), SURE.collect(pd.concat([PEOPLE, PEOPLE[60:]]), rng=RNG(2))]
    files.write(frames[0], path := tmp_path / "a.parquet")
    thread = threading.Thread(target=lambda: [files.write(frames[i % 2], path) for i in range(12)])
    thread.start()
    found = set()
    while thread.is_alive():
        counts = aggregate(path, SURE.mechanism)
        found.add((counts.n, round(float(counts.estimate()[0]), 6)))
    thread.join()
    assert found <= {(100, 0.6), (140, 0.428571)}


COLUMNS = {
    "numbers twice": lambda a, b: pd.concat([a, a[["report_survey"]]], axis=1),
    "another's numbers too": lambda a, b: pd.concat([a, b[["report_survey"]]], axis=1),
    "another's reports too": lambda a, b: pd.concat([a, b[["report_report_0"]]], axis=1),
    "another's reports beside": lambda a, b: pd.concat([a, b.add_suffix("_y")], axis=1),
    "under one head": lambda a, b: pd.concat({"a": a}, axis=1),
    "in capitals": lambda a, b: a.rename(columns=str.upper),
    "numbers of 8 bits": lambda a, b: a.astype({"report_survey": "uint8"}),
    "numbers of floats": lambda a, b: a.astype({"report_survey": "float32"}),
    "truths for numbers": lambda a, b: a.astype({"report_survey": bool}),
    "one question only": lambda a, b: a.assign(report_asked=1),
    "questions shuffled": lambda a, b: a.assign(report_asked=a["report_asked"].to_numpy()[::-1]),
    "long": lambda a, b: a.melt(),
    "on its side": lambda a, b: a.T,
    "counted": lambda a, b: a.drop(columns=["g", "w"]).value_counts().reset_index(),
}


@pytest.mark.parametrize("way", COLUMNS)
def test_frames_of_reports_whose_columns_were_joined_or_edited_are_refused(way):
    other = Survey({"a": ["y", "x"], "b": [1, 2, 3]}, 1.0, PAIR.mechanism).collect(TWO, rng=RNG(2))
    with pytest.raises((ValueError, TypeError)):
        PAIR.estimate(COLUMNS[way](REPORTS, other))


KINDS = ["Int8", "UInt64", "int64", ">i4", "Sparse[int]", "category", "uint8[pyarrow]", "int64[pyarrow]"]


@pytest.mark.parametrize("kind", KINDS)
def test_reports_cast_to_another_whole_type_tell_the_same(kind):
    if "pyarrow" in kind:
        pytest.importorskip("pyarrow")
    cast = REPORTS.astype({"report_asked": kind, "report_report_0": kind})
    assert PAIR.estimate(cast)["estimate"].to_numpy() == pytest.approx(SHARES)
    weighted = [PAIR.estimate(one, weights="w")["estimate"].to_numpy() for one in (cast, REPORTS)]
    assert weighted[0] == pytest.approx(weighted[1])


def blocks():
    return (REPORTS[i : i + 100] for i in range(0, 400, 100))


def test_iterators_of_reports_are_read_once_and_one_for_both_is_no_two_groups():
    assert PAIR.estimate(blocks())["estimate"].to_numpy() == pytest.approx(SHARES)
    assert PAIR.estimate(blocks(), weights="w").equals(PAIR.estimate(REPORTS, weights="w"))
    used = blocks()
    PAIR.estimate(used)
    with pytest.raises(ValueError, match="at least one report"):
        PAIR.estimate(used)
    for pair in (itertools.tee(blocks()), (used, used)):
        with pytest.raises(ValueError, match="different reports"):
            PAIR.difference(*pair)
    halves, wanted = blocks(), PAIR.difference(REPORTS[:200], REPORTS[200:])
    assert PAIR.difference(itertools.islice(halves, 2), itertools.islice(halves, 2)).equals(wanted)


def test_one_frame_that_is_filled_anew_is_counted_as_it_was():
    def filled():
        frame = REPORTS[:100].copy()
        for block in blocks():
            for name in frame:
                frame[name] = block[name].to_numpy()
            yield frame

    assert PAIR.estimate(filled())["estimate"].to_numpy() == pytest.approx(SHARES)


@pytest.mark.parametrize("scale", [1, 10**9, 10**12])
def test_counts_of_very_many_reports_tell_the_same_shares(scale):
    counts = aggregate(SURE.collect(PEOPLE, rng=RNG(1)), SURE.mechanism)
    many = Counts(SURE.mechanism, counts.counts * scale, (), counts.survey)
    assert SURE.estimate(many)["estimate"].to_numpy() == pytest.approx([0.6, 0.4])


def test_counts_beyond_64_bits_are_refused_and_not_wrapped():
    counts = aggregate(SURE.collect(PEOPLE, rng=RNG(1)), SURE.mechanism)
    most = 2**63 // 100 - 1
    one, two, three = (Counts(SURE.mechanism, counts.counts * (most // 2), (), counts.survey) for _ in range(3))
    with pytest.raises(ValueError, match="possible whole numbers"):
        one + two + three
    with pytest.raises(ValueError, match="n must be"):
        SURE.estimate(one + two)


OPTIONS = [("mode.string_storage", "python"), ("future.distinguish_nan_and_na", True), ("display.precision", 2)]


@pytest.mark.parametrize(("option", "value"), OPTIONS)
def test_options_of_pandas_change_neither_reports_nor_estimates(option, value, tmp_path):
    pytest.importorskip("pyarrow")

    def told():
        people = pd.DataFrame({name: TWO[name].tolist() for name in TWO})
        reports = PAIR.collect(people, rng=RNG(5), keep=["g"], weights="w")
        files.write(reports, tmp_path / "a.csv")
        means = PAIR.contributions(tmp_path / "a.csv").groupby("g")["a=x"].mean()
        return (
            PAIR.description,
            reports.to_csv(),
            PAIR.estimate(tmp_path / "a.csv", weights="w").to_csv(),
            means.to_csv(),
        )

    wanted = told()
    try:
        with pd.option_context(option, value):
            found = told()
    except pd.errors.OptionError:
        pytest.skip("this version of pandas has no such option")
    assert found == wanted


MASKS = [np.array([True, False, False]), slice(0, 2), {1: 0.5}, True, "1", None, [], [[1]], "12", pd.Interval(1, 2)]


@pytest.mark.parametrize("wanted", MASKS, ids=str)
def test_a_mask_or_a_place_is_no_label_of_a_query(wanted):
    with pytest.raises((ValueError, TypeError)):
        PAIR.query({"b": wanted}, REPORTS)


def test_an_array_that_is_filled_anew_does_not_change_a_frame_of_it():
    joint = RRJoint(k=(2, 3), epsilon=1.0)
    for mechanism, x in (
        (SURE.mechanism, np.zeros(50, int)),
        (PAIR.mechanism, np.zeros((50, 2), int)),
        (joint, np.ones((50, 2), int)),
    ):
        y = mechanism.perturb(x, rng=RNG(1))
        frame, kept = _files.to_frame(y), _files.to_frame(y.copy())
        y[:] = np.zeros(1, y.dtype)
        assert frame.equals(kept)

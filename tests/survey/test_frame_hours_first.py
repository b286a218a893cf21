"""More hours of trying to get a wrong number without a word: types, columns, parts, budgets, arguments; all right."""

import datetime as dt
import decimal
import itertools

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from ldp_lib import BRR, OLH, AskSome, OneQuestion, RRIndependent, RRJoint, Survey, check
from ldp_lib.survey import files
from ldp_lib.survey.aggregate import Counts, aggregate
from ldp_lib.survey.catalogue import MECHANISMS

K, DOMAIN = (2, 3, 2), {"a": ["n", "y"], "b": [1, 2, 3], "c": [True, False]}
CODES = np.repeat([0, 1, 2], [4, 2, 2])
GAPS, FLAGS = [0 if code == 0 else 1 if code == 1 else None for code in CODES], [True, False, None]
DAYS = [dt.date(2020, 1, day) for day in (1, 2, 3)]
TENTHS = [decimal.Decimal(text) for text in ("0.1", "0.2", "0.3")]
ZERO = pd.Series([1, 1, 1, 1, 1, 1, 0, 0], dtype="Float64")


def arrow(values, kind):
    return pd.Series(values, dtype=pd.ArrowDtype(kind))


def right_or_refused(labels, values, **roles):
    """Return whether a collection at a budget that tells the truth was refused; it fails if it gave wrong shares."""
    try:
        survey = Survey({"a": labels, "b": ["p", "q"]}, 60.0, RRJoint(k=(len(labels), 2), epsilon=60.0), **roles)
        given = survey.collect(pd.DataFrame({"a": values, "b": ["p"] * 8}), rng=np.random.default_rng(1))
    except (TypeError, ValueError):
        return True
    expected = np.bincount(CODES, minlength=len(labels)) / 8
    assert survey.estimate(given)["estimate"][: len(labels)].to_numpy() == pytest.approx(expected, abs=1e-9)
    return False


NAMED = ["lo", "mid", "hi"]
TEXTS = [NAMED[code] for code in CODES]
READ = {
    "categories in another order": (NAMED, pd.Categorical(TEXTS, ["hi", "lo", "mid"], ordered=True), {}),
    "categories that do not occur": (NAMED, pd.Categorical(TEXTS, ["hi", "lo", "mid", "odd"]), {}),
    "gaps in texts": (NAMED, pd.Series(TEXTS, dtype="str").mask(CODES == 2), {"missing": "hi"}),
    "gaps in categories": (NAMED, pd.Categorical.from_codes(np.where(CODES == 2, -1, CODES), NAMED), {"missing": "hi"}),
    "gaps in booleans": (
        [True, False, "na"],
        pd.array([FLAGS[code] for code in CODES], dtype="boolean"),
        {"missing": "na"},
    ),
    "gaps in numbers": ([0, 1, 9], pd.array(GAPS, dtype="Int64"), {"missing": 9}),
    "gaps in floats": ([0, 1, 9], pd.Series(GAPS, dtype=float), {"missing": 9}),
    "infinite": ([0, 1, 9], pd.Series(GAPS, dtype=float).fillna(np.inf), {"other": 9}),
    "nothing by nothing": ([0.0, 1.0, 9.0], (CODES % 2 * ZERO) / (ZERO * ZERO), {"missing": 9.0}),
    "sparse": ([0, 1, 2], pd.arrays.SparseArray(CODES, fill_value=1), {}),
    "dictionary": (NAMED, pd.Series(pd.arrays.ArrowExtensionArray(pa.array(TEXTS).dictionary_encode())), {}),
    "decimals": (TENTHS, arrow([TENTHS[code] for code in CODES], pa.decimal128(5, 2)), {}),
    "dates": (DAYS, arrow([DAYS[code] for code in CODES], pa.date32()), {}),
    "bands": (list(pd.interval_range(0, 3)), pd.cut(CODES + 0.5, [0, 1, 2, 3]), {}),
    "alphabets": (["A", "\u0391", "\u0410"], [["A", "\u0391", "\u0410"][code] for code in CODES], {}),
    "nothing as a label": (["NA", "null", "x"], [["NA", "null", None][code] for code in CODES], {"missing": "x"}),
    "both roles": (["a", "b", "o"], [*"aaaabb", None, "moon"], {"missing": "o", "other": "o"}),
}
REFUSED = {
    "one by True": ([1, 0, 2], CODES == 0, {}),
    "bands closed elsewhere": (list(pd.interval_range(0, 3, closed="left")), pd.cut(CODES + 0.5, [0, 1, 2, 3]), {}),
    "tenths in 32 bits": ([0.1, 0.2, 0.3, 9.0], np.array([0.1, 0.2, 0.3], np.float32)[CODES], {"other": 9.0}),
    "tenths as floats": ([*TENTHS, "rest"], [float(TENTHS[code]) for code in CODES], {"other": "rest"}),
    "a number that has no float": ([2**53 + 1, 5, 6], np.array([2.0**53, 5, 6])[CODES], {}),
    "no number, no gap": (
        [0.0, 1.0, 9.0],
        pd.Series(pd.arrays.ArrowExtensionArray(pa.array(np.array([0, 1, np.nan])[CODES]))),
        {"other": 9.0},
    ),
}
DATES = {
    "dates": DAYS,
    "times": list(pd.to_datetime(DAYS)),
    "days": list(pd.PeriodIndex(DAYS, freq="D")),
    "texts": list(map(str, DAYS)),
}


@pytest.mark.parametrize("what", [*READ, *REFUSED])
def test_answers_of_more_types_are_read_right_or_refused(what):
    labels, values, roles = (READ | REFUSED)[what]
    assert right_or_refused(labels, values, **roles) == (what in REFUSED)


@pytest.mark.parametrize(("one", "another"), [*itertools.product(DATES, DATES)])
def test_a_day_is_found_by_its_own_type_only_and_never_put_to_other(one, another):
    values = [DATES[another][code] for code in CODES]
    assert right_or_refused([*DATES[one], "rest"], values, other="rest") == (one != another)


@pytest.mark.parametrize("family", [one for one in MECHANISMS if one is not OLH])
@pytest.mark.parametrize("epsilon", [1e-9, 700.0])
def test_contributions_of_any_budget_are_the_estimate_in_the_order_of_the_reports(family, epsilon):
    rng = np.random.default_rng(5)
    for k, size, names in (((3,), 3, "b"), ((3,), (3,), "b"), (K, K, "abc")):
        try:
            mechanism = family(k=size, epsilon=epsilon)
            survey = Survey({name: DOMAIN[name] for name in names}, epsilon, mechanism)
        except (TypeError, ValueError):
            continue
        x, order = rng.integers(0, k, (40, len(k))), rng.permutation(40)
        given = survey.collect(survey.decode(x), rng=rng)
        each, found = survey.contributions(given), survey.estimate(given)
        off = found["estimate"] - np.concatenate(
            [np.bincount(x[:, j], minlength=size) / 40 for j, size in enumerate(k)]
        )
        scale = np.abs(each.to_numpy()).max()
        assert each.mean().to_numpy() == pytest.approx(found["estimate"].to_numpy(), abs=1e-12 * scale)
        assert (np.abs(off) < 5.5 * found["standard_error"] + 1e-9).all()
        again = survey.contributions(survey.mark(given.iloc[order]))
        assert again.to_numpy() == pytest.approx(each.to_numpy()[order], abs=1e-12 * scale)


KEPT = {
    "wei,rd": np.arange(90, dtype=np.uint64) + 2**63,
    '"x': [f"0{i}" for i in range(90)],
    " lead": pd.array([None if i % 7 else i for i in range(90)], dtype="Int64"),
    "\u00e9\n": pd.array([None if i % 7 else i % 2 == 0 for i in range(90)], dtype="boolean"),
    "Unnamed: 0": ["NA" if i % 3 else "null" for i in range(90)],
    "none": [None if i % 3 else " x " for i in range(90)],
    "lines": ['a\nb,"'] * 90,
    "infinite": np.where(np.arange(90) % 5, np.inf, 0.1),
    "tiny": np.arange(90) * 5e-324,
    "single": np.linspace(0, 1, 90, dtype=np.float32),
    "empty": ["", "x"] * 45,
    "return": ["a\rb"] * 90,
    "ordered": pd.Categorical(["b", "a"] * 45, ["b", "a"], ordered=True),
    "numbered": pd.Categorical([10, 9] * 45),
    "clock": pd.date_range("2020-10-24", periods=90, freq="h", tz="Europe/Berlin"),
    "mixed": np.array([1, "1"] * 45, dtype=object),
}


@pytest.mark.parametrize("name", KEPT)
def test_columns_that_travel_come_back_beside_their_own_report_or_are_refused(name, tmp_path):
    survey, rng = Survey({"a": ["n", "y"], "b": ["u", "v"]}, 4.0), np.random.default_rng(6)
    people = survey.decode(rng.integers(0, 2, (90, 2))).assign(**{name: KEPT[name]})
    given, whole = survey.collect(people, rng=rng, keep=[name]), 0
    for path in (tmp_path / "a.csv", tmp_path / "a.parquet"):
        try:
            files.write(given, path)
        except ValueError:
            continue
        whole += 1
        assert survey.estimate(path).equals(survey.estimate(given))
        back, kept = survey.contributions(path)[name], given[name]
        assert (back.isna() == kept.isna()).all()
        assert back.dropna().tolist() == kept.dropna().tolist()
    assert whole == {"empty": 1, "return": 1, "ordered": 1, "clock": 1, "mixed": 0}.get(name, 2)


@pytest.mark.parametrize(
    "mechanism", [f(k=K, epsilon=3.0) for f in (OneQuestion, BRR)] + [AskSome(k=K, epsilon=3.0, m=2)]
)
def test_parts_in_any_form_add_up_and_none_is_added_twice(mechanism, tmp_path):
    survey, rng = Survey(DOMAIN, 3.0, mechanism), np.random.default_rng(7)
    people = survey.decode(rng.integers(0, K, (900, 3))).assign(w=rng.uniform(1, 4, 900), g=rng.choice([1, 2], 900))
    given = survey.collect(people, rng=rng, weights="w", keep=["g"])
    parts = [given[i : i + 150] for i in range(0, 900, 150)]
    files.write(parts[0], tmp_path / "a.csv")
    files.write(parts[1], tmp_path / "b.parquet")
    forms = [
        tmp_path,
        [parts[2][:70], parts[2][70:]],
        parts[3].set_index("g"),
        iter([parts[4]]),
        parts[5].iloc[:, ::-1],
    ]
    counts = [aggregate(one, mechanism) for one in forms[:3]] + [aggregate(one, mechanism) for one in parts[4:]]
    counts[0].save(tmp_path / "a.json")
    total = Counts.load(tmp_path / "a.json", mechanism) + counts[1]
    for one in (aggregate(parts[3], mechanism), *counts[3:]):
        total = one + total
    (tmp_path / "a.json").unlink()
    assert survey.estimate(total).equals(survey.estimate(given))
    assert survey.estimate(forms)["estimate"].to_numpy() == pytest.approx(survey.estimate(given)["estimate"].to_numpy())
    for one in counts:
        with pytest.raises(ValueError, match="different reports"):
            _ = total + one
    two = [given[given["g"] == g] for g in (1, 2)]
    apart, own = survey.difference(*two, weights="w"), [survey.estimate(one, weights="w") for one in two]
    assert apart["estimate"].to_numpy() == pytest.approx((own[0]["estimate"] - own[1]["estimate"]).to_numpy())
    assert survey.difference(*two).equals(survey.difference(*(one for _, one in given.groupby("g"))))


def test_arguments_of_another_kind_are_refused():
    survey, rng = Survey(DOMAIN, 4.0, AskSome(k=K, epsilon=4.0, m=2)), np.random.default_rng(8)
    given = survey.collect(survey.decode(rng.integers(0, K, (600, 3))).assign(w=2.0), rng=rng, weights="w")
    odd = {
        "confidence": (0, 1, 95, -0.5, "0.95", None, True, np.nan),
        "simultaneous": (1, "yes", None, 0),
        "projected": (1, "yes", None, 0),
        "sampling": (1, "yes", None, 0, "poisson"),
        "weights": (["w"], "a", "report_asked"),
        "population": (1_200,),
    }
    calls = [lambda name=name, one=one: survey.estimate(given, **{name: one}) for name in odd for one in odd[name]]
    for one in ("1200", True, -5, 1e9, np.nan, np.inf):
        calls.append(lambda one=one: survey.estimate(given, weights="w", population=one))
    for where in ({"a": 1}, {"b": True}, {"c": 1}, {"a": "yn"}, {"b": [1, 4]}, {}, "a", {"a": "y", "b": 1, "c": True}):
        calls.append(lambda where=where: survey.query(where, given))
    for among in ({"a": "y"}, [], "b", {"b": [1], "c": True}):
        calls.append(lambda among=among: survey.query({"a": "y"}, given, given=among))
    counts = aggregate(given, survey.mechanism)
    for call in (survey.contributions, survey.associations, lambda one: survey.table("a", "b", one)):
        calls += [lambda call=call, one=one: call(one) for one in (counts, [given, given], given.T, given["w"])]
    for n in (0, -1, 1.5, True, "5"):
        calls.append(lambda n=n: survey.synthetic(n, given, rng=rng))
    for call in (lambda: sum([counts]), lambda: counts * 3, lambda: survey.difference(counts, given), *calls):
        with pytest.raises((TypeError, ValueError)):
            call()


@pytest.mark.parametrize("size", [256, 257])
def test_as_many_labels_as_a_type_ends_with_are_kept_apart(size):
    for mechanism in (OneQuestion(k=(size, 2), epsilon=60.0), OLH(k=size, epsilon=8.0)):
        own = {"a": range(size)} | ({"b": [0, 1]} if mechanism.k == (size, 2) else {})
        survey, held = Survey(own, mechanism.epsilon, mechanism), np.resize([0, size // 2, size - 1], 300)
        people = pd.DataFrame({"a": held, "b": 0})
        found = survey.estimate(survey.collect(people, rng=np.random.default_rng(9)))["estimate"][:size].to_numpy()
        assert np.sort(np.argsort(found)[-3:]).tolist() == [0, size // 2, size - 1]


@pytest.mark.parametrize("make", [OneQuestion, lambda **how: AskSome(**how, m=2), RRIndependent])
@pytest.mark.parametrize("n", [1, 3])
def test_very_few_people_are_told_without_bias_or_refused(make, n):
    mechanism, rng, off = make(k=(2, 2, 2), epsilon=2.0), np.random.default_rng(10), []
    survey = Survey({name: ["n", "y"] for name in "abc"}, 2.0, mechanism)
    people = survey.decode(np.array([[0, 1, 1]] * n))
    for _ in range(16):
        try:
            off.append(survey.estimate(survey.collect(people, rng=rng))["estimate"].to_numpy()[1::2])
        except ValueError as error:
            assert "must ask each attribute" in str(error)  # noqa: PT017
    assert not off or check.mean_z(np.ravel(np.array(off) - (0, 1, 1)) * np.resize([1, -1, -1], 3 * len(off)), 0) < 5

"""Hours of trying to lose, double or swap a report on its way in or out: arrays, types, programs, folders; none."""

import contextlib
import datetime
import decimal
import fractions
import itertools
import shutil
import sqlite3

import numpy as np
import pandas as pd
import pytest

from ldp_lib import GRR, OUE, AskSome, OneQuestion, RRIndependent, RRJoint, Survey
from ldp_lib.sampled._dealing import as_counted, deal
from ldp_lib.survey import _files as files
from ldp_lib.survey.aggregate import Counts, aggregate

DOMAIN = {"a": ["n", "y"], "b": [0, 1, 2]}
SURE = Survey(DOMAIN, 40.0, RRJoint(k=(2, 3), epsilon=40.0))  # its reports are the answers


def people(n, rng):
    cells = rng.choice(6, n, p=rng.dirichlet(np.full(6, 2.0)))
    frame = pd.DataFrame({"a": np.array(["n", "y"])[cells // 3], "b": cells % 3})
    return frame.assign(g=rng.integers(0, 3, n), w=rng.uniform(1, 4, n).round(3))


def disguises(y):
    yield from (np.asfortranarray(y), y[::-1][::-1], np.repeat(y, 2, axis=0)[::2], np.ma.array(y), y[..., None], y.T)
    yield y.astype(y.dtype.newbyteorder())
    if y.dtype.names is None:
        yield from (y.astype(kind) for kind in ("i8", "u8", "f8", object, bool))
    else:
        own = [*y.dtype.names]
        sizes = [y.dtype[name] for name in own]
        starts = np.cumsum([0, *(one.itemsize for one in sizes[:0:-1])])[::-1].tolist()
        turned = np.empty(y.shape, {"names": own, "formats": sizes, "offsets": starts})
        apart = np.empty(y.shape, np.dtype([(name, y.dtype[name]) for name in own], align=True))
        for name in own:
            turned[name] = apart[name] = y[name]
        yield from (turned, apart, y.view(np.recarray), y[own[::-1]], turned[own[::-1]])


@pytest.mark.parametrize(
    "mechanism",
    [
        OneQuestion(k=(3, 3, 3), epsilon=1.0),
        AskSome(k=(3, 3, 3), epsilon=1.0, m=2),
        RRIndependent(k=(2, 4, 3), epsilon=2.0),
        GRR(k=300, epsilon=3.0),
        OUE(k=9, epsilon=1.0),
    ],
    ids=repr,
)
def test_an_array_in_any_disguise_holds_the_same_reports(mechanism):
    rng, right = np.random.default_rng(1), 0
    y = mechanism.perturb(rng.integers(0, mechanism.k, (40, *np.shape(mechanism.k))), rng=rng)
    for one in disguises(y):
        with contextlib.suppress(TypeError, ValueError):
            assert aggregate(one, mechanism).counts.tolist() == mechanism.count(y).tolist()
            right += 1
    assert right >= 5


def dictionaries(pa):
    def coded(places, *values):
        return pa.DictionaryArray.from_arrays(pa.array(places, pa.int8()), pa.array(values))

    yield pa.chunked_array([coded([0, 1, 2], *"abc"), coded([0, 1, 2], *"cba")]), [0, 1, 2, 2, 1, 0]
    yield pa.chunked_array([coded([0, 1, 2, 3], *"abac")]), [0, 1, 0, 2]
    yield pa.chunked_array([coded([0, 1, 2], "a", None, "c")]), [0, 3, 2]
    yield pa.chunked_array([coded([0, None], *"ba"), coded([0, 1], *"ca")]), [1, 3, 2, 0]
    yield pa.chunked_array([coded([0, 1, 2, 0], *"abc").slice(2)]), [2, 0]
    yield pa.chunked_array([pa.RunEndEncodedArray.from_arrays([2, 3, 5], [*"abc"])]), [0, 0, 1, 2, 2]
    yield pa.chunked_array([pa.array(["a", None, "c"], pa.string_view())]), [0, 3, 2]
    yield pa.chunked_array([pa.array([b"a", b"b"])]), [0, 1]


def test_answers_in_odd_columns_of_arrow_are_read_right_or_refused():
    survey, right = Survey({"q": [*"abc", "gone"]}, 2.0, missing="gone"), 0
    for column, want in dictionaries(pytest.importorskip("pyarrow")):
        with contextlib.suppress(TypeError, ValueError):
            frame = pd.DataFrame({"q": pd.arrays.ArrowExtensionArray(column)})
            assert survey.encode(frame).ravel().tolist() == want
            right += 1
    assert right >= 4


@pytest.mark.parametrize(
    "labels",
    [
        [2**63, 2**64, 1],
        [float("inf"), -float("inf"), 0.0],
        [10**400, 1],
        [datetime.date(2021, 1, 1), datetime.date(2020, 1, 1)],
        [pd.Timestamp("2021", tz="Asia/Tokyo"), pd.Timestamp("2020", tz="UTC")],
        [decimal.Decimal(2), decimal.Decimal("1.0")],
        [fractions.Fraction(2, 3), fractions.Fraction(1, 3)],
        [pd.Interval(1, 2), pd.Interval(0, 1)],
        [True, "x"],
        ["yes\n", ""],
    ],
    ids=str,
)
def test_labels_of_odd_kinds_are_told_by_every_method(labels):
    survey = Survey({"q": labels, "z": ["p", "q"]}, 40.0, RRJoint(k=(len(labels), 2), epsilon=40.0))
    rng = np.random.default_rng(2)
    x = np.stack([rng.choice(len(labels), 300, p=rng.dirichlet(np.full(len(labels), 3.0))), rng.integers(0, 2, 300)], 1)
    whole = survey.decode(x)
    assert survey.encode(whole).tolist() == x.tolist()
    assert Survey.from_frame(whole, epsilon=40.0, mechanism=survey.mechanism).encode(whole).tolist() == x.tolist()
    given = survey.collect(whole.astype(object), rng=rng)
    cells = np.array([[((x == (i, j)).all(1)).mean() for j in range(2)] for i in range(len(labels))])
    found = survey.estimate(given)
    assert found["value"].tolist() == [*labels, "p", "q"]
    assert found["estimate"].to_numpy() == pytest.approx([*cells.sum(1), *cells.sum(0)], abs=1e-6)
    assert survey.table("z", "q", given)["estimate"].unstack().to_numpy() == pytest.approx(cells.T, abs=1e-6)
    for i, label in enumerate(labels):
        assert survey.query({"q": [label]}, given).estimate == pytest.approx(cells[i].sum(), abs=1e-6)


def by_sql(frame):
    with contextlib.closing(sqlite3.connect(":memory:")) as base:
        frame.to_sql("t", base, index=False)
        return pd.read_sql("select * from t", base)


ACTS = [
    lambda frame: frame.sample(frac=1, random_state=1),
    lambda frame: frame[frame.columns[::-1]],
    lambda frame: frame.convert_dtypes(),
    lambda frame: pd.concat([frame[50:], frame[:50]]),
    lambda frame: pd.concat([one for _, one in frame.groupby("g")]),
    lambda frame: frame.set_index("g", append=True).reset_index("g"),
    lambda frame: frame.astype({name: "category" for name in frame if name.startswith("report")}),
    lambda frame: frame.merge(pd.DataFrame({"g": [0, 1, 2]}), on="g"),
    lambda frame: frame.T.T,
    lambda frame: pd.DataFrame.from_records(frame.to_records(index=False)),
    by_sql,
]


def test_reports_after_any_program_of_pandas_are_told_right_or_refused(tmp_path):
    rng, right = np.random.default_rng(3), 0
    for turn in range(5):
        every = [people(n, rng) for n in rng.choice([40, 150, 400], 2)]
        given, path = [], tmp_path / str(turn)
        path.mkdir()
        x = pd.concat(every)
        shares = [x["a"].eq(one) for one in DOMAIN["a"]] + [x["b"].eq(one) for one in DOMAIN["b"]]
        with contextlib.suppress(TypeError, ValueError):
            for i, part in enumerate(every):
                frame = SURE.collect(part, rng=rng, weights="w", keep=["g"])
                for act in rng.choice(ACTS, 2):
                    frame = act(frame)
                given.append(frame if "ldp_lib" in frame.attrs else SURE.mark(frame))
                files.write(given[-1], path / f"{i}.{['csv', 'parquet'][turn % 2]}")
            for source in (given, path):
                found = SURE.estimate(source)["estimate"].to_numpy()
                assert found == pytest.approx([one.mean() for one in shares], abs=1e-6)
                found = SURE.estimate(source, weights="w")["estimate"].to_numpy()
                assert found == pytest.approx([(one * x["w"]).sum() / x["w"].sum() for one in shares], abs=1e-6)
                inside = SURE.contributions(source).groupby("g")["a=y"].mean().to_numpy(float)
                assert inside == pytest.approx(shares[1].groupby(x["g"]).mean().to_numpy(), abs=1e-6)
            right += 1
    assert right >= 2


class Folder:
    """Batches in files, and of each file which are truly in it; acts as people do them, checked by nobody."""

    def __init__(self, path, rng):
        self.path, self.rng, self.model, self.counts = path, rng, {}, []

    def new(self):
        frame = SURE.collect(people(int(self.rng.choice([70, 200])), self.rng), rng=self.rng)
        self.put(self.any_name(), frame, [len(self.counts)])
        self.counts.append(SURE.mechanism.count(files.from_frame(frame, SURE.mechanism)))

    def any_name(self):
        return self.path / f"{self.rng.choice([*'abcd'])}.{self.rng.choice(['csv', 'parquet'])}"

    def put(self, name, frame, batches):
        files.write(frame, name)
        self.model[name] = batches

    def some(self):
        return sorted(self.model)[self.rng.integers(len(self.model))]

    def drop(self, name):
        name.unlink()
        del self.model[name]

    def copy(self):
        name, other = self.some(), self.any_name().with_suffix(".parquet")
        if name.suffix == ".parquet" and name != other:
            shutil.copy(name, other)
            self.model[other] = self.model[name]

    def rewrite(self):
        name = self.some()
        self.put(self.any_name(), files.read(name), self.model[name])

    def merge(self):
        """Beside what was merged, which is left or not."""
        names, every = sorted(self.model), [*itertools.chain(*self.model.values())]
        frame = pd.concat([files.read(name) for name in names], ignore_index=True)
        aggregate(frame, SURE.mechanism)
        if self.rng.random() < 0.5:
            for name in names:
                self.drop(name)
        self.put(self.any_name(), frame, every)


def test_folders_after_any_sequence_of_acts_are_counted_right_or_refused(tmp_path):
    rng, right, refused = np.random.default_rng(4), 0, 0
    for turn in range(6):
        (path := tmp_path / str(turn)).mkdir()
        folder = Folder(path, rng)
        folder.new()
        with contextlib.suppress(ValueError):  # what is merged was there twice
            for act in rng.choice(["new", "new", "copy", "rewrite", "merge"], rng.integers(1, 4)):
                getattr(folder, act)()
        every = [*itertools.chain(*folder.model.values())]
        for manifest in path.glob("*.csv.json"):
            if not manifest.with_suffix("").is_file():
                manifest.unlink()
        try:
            parts = [aggregate(name, SURE.mechanism, survey=SURE.description) for name in sorted(folder.model)]
            for name, part in zip(folder.model, parts, strict=True):
                part.save(name.with_suffix(".counts"))
            loaded = [Counts.load(name, SURE.mechanism) for name in path.glob("*.counts")]
            for name in path.glob("*.counts"):
                name.unlink()
            found = [aggregate(path, SURE.mechanism, survey=SURE.description), sum(loaded[1:], loaded[0])]
        except ValueError:
            refused += 1
            continue
        assert len(set(every)) == len(every)
        for one in found:
            assert one.counts.tolist() == sum(folder.counts[i] for i in every).tolist()
        right += 1
    assert min(right, refused) >= 1


def test_rows_are_counted_only_with_those_that_tell_the_same():
    """Marked, bare, with an empty column, and empty; of two surveys whose labels are swapped."""
    mechanism, rng = GRR(k=2, epsilon=2.0), np.random.default_rng(5)
    ours, theirs = Survey({"a": ["x", "y"]}, 2.0, mechanism), Survey({"a": ["y", "x"]}, 2.0, mechanism)
    answers = pd.DataFrame({"a": rng.choice(["x", "y"], 40, p=[0.8, 0.2])})
    rows = []
    for name, survey in (("ours", ours), ("theirs", theirs)):
        plain = pd.DataFrame(dict(survey.collect(answers, rng=rng)))
        bare = plain.drop(columns="report_survey")
        rows += [(name, plain), ("", bare), ("", bare.assign(report_survey=np.nan)), (None, bare[:0])]
    counted = 0
    for (a, one), (b, other) in itertools.product(rows, repeat=2):
        told = {a, b} - {None}
        for act in (
            lambda one=one, other=other: ours.mark(aggregate([one, other], mechanism)),
            lambda one=one, other=other: ours.mark(aggregate(pd.concat([one, other]), mechanism)),
            lambda one=one, other=other: ours.mark(aggregate(one, mechanism) + aggregate(other, mechanism)),
        ):
            with contextlib.suppress(ValueError):
                act()
                assert told in ({"ours"}, {""})
                counted += 1
    assert counted >= 15


@pytest.mark.parametrize("weights", [(0.5, 0.3, 0.2), (0.25,) * 4], ids=str)
def test_large_deals_have_no_favourites(weights):
    """More than are shuffled: numbers asked in each part of the frame, and of neighbours, as by chance."""
    n, runs, parts, rng = 2**16 + 1, 30, 13, np.random.default_rng(6)
    made = np.array([deal(n, weights, True, rng) for _ in range(runs)])
    for number, share in enumerate(weights):
        asked = made == number
        inside = np.add.reduceat(asked, np.linspace(0, n, parts, endpoint=False).astype(int), axis=1, dtype=int)
        size = n / parts
        spread = np.sqrt(runs * size * share * (1 - share) * (1 - 1 / parts))
        assert np.abs(inside.sum(0) - runs * size * share).max() < 5 * spread + runs
        both = (asked[:, 1:] & asked[:, :-1]).sum()
        assert abs(both - runs * n * share**2) < 5 * np.sqrt(runs * n * share**2)


@pytest.mark.parametrize("d", [2, 5, 20])
def test_some_70_of_200_answers_may_be_lost_where_devices_draw_alone(d):
    """As the page says."""
    mechanism = OneQuestion(k=(2,) * d, epsilon=2.0, groups=False)

    def lost(many):
        asked = np.where(np.arange(d) == 0, 200 - many, 200)
        return np.concatenate([[asked.sum()], np.stack([asked, asked // 2, asked - asked // 2], 1).ravel()])

    as_counted(mechanism, lost(70))
    with pytest.raises(ValueError, match="not be chosen by what was asked"):
        as_counted(mechanism, lost(90))

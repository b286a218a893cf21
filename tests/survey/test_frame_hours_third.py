"""Hours of trying to lose, double or swap a report: files cut anyhow, frames of every sort; right, or it says so."""

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from ldp_lib import GRR, OUE, AskSome, OneQuestion, RRIndependent, RRJoint, Survey
from ldp_lib.survey import _files as files
from ldp_lib.survey.aggregate import Counts, aggregate
from ldp_lib.tables import consistency, raking

K = (2, 4, 3)
DOMAIN = {"band": ["young", "old", "na"], "sex": ["f", "m"], "yes": [True, False], "num": [0, 1, 2]}
MECHANISMS = [
    OneQuestion(k=K, epsilon=2.0),
    AskSome(k=K, epsilon=2.0, m=2),
    GRR(k=300, epsilon=3.0),
    OUE(k=9, epsilon=1.0),
]


def reports(mechanism, n):
    rng = np.random.default_rng(n)
    x = rng.integers(0, mechanism.k, (n, *np.shape(mechanism.k)))
    return mechanism.perturb(x, rng=rng)


def in_groups(frame, sizes, path):
    """Write a Parquet file whose row groups have these sizes, of which some may be 0."""
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    table, starts = arrow.Table.from_pandas(frame, preserve_index=False), np.cumsum([0, *sizes])
    with parquet.ParquetWriter(path, table.schema) as writer:
        for start, size in zip(starts, sizes, strict=False):
            writer.write_table(table.slice(start, size), row_group_size=max(size, 1))
    return path


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("n", [1, 257, 4_097])
def test_a_file_cut_in_any_way_holds_the_same_counts(mechanism, n, tmp_path):
    y = reports(mechanism, n)
    want, frame = mechanism.count(y).tolist(), files.to_frame(y)
    most = min(n, 4_095)
    for sizes in ([n], [0, n, 0], [n // 2, 0, n - n // 2], [97] * (n // 97) + [n % 97], [most, n - most]):
        assert aggregate(in_groups(frame, sizes, tmp_path / "a.parquet"), mechanism).counts.tolist() == want
    parts = [frame[: n // 2], iter([frame[n // 2 :], frame[:0]])]
    assert aggregate(parts, mechanism).counts.tolist() == want


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("n", [300, 4_096])
def test_a_copy_is_noticed_wherever_a_row_group_ends(mechanism, n, tmp_path):
    y = reports(mechanism, n)
    frame = files.to_frame(y)
    both = pd.concat([frame, frame], ignore_index=True)
    for sizes in ([2 * n], [20, n - 20, n], [n - 5, 9, n - 4], [n - 16, 0, 16, 0, n], [n + 31, n - 31], [150] * 55):
        with pytest.raises(ValueError, match="is in it twice"):
            aggregate(in_groups(both, sizes, tmp_path / "a.parquet"), mechanism)
    one = in_groups(frame, [n // 2, n - n // 2], tmp_path / "a.parquet")
    for twice in ([one, frame], [frame, one], [one, both[n:]], [frame, y], (part for part in (y, one))):
        with pytest.raises(ValueError, match="must be of different reports"):
            aggregate(twice, mechanism)


def people(n=600):
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"band": rng.choice(["young", "old"], n), "sex": rng.choice(["f", "m"], n)})
    frame = frame.assign(yes=rng.random(n) < 0.3, num=rng.choice(3, n, p=[0.6, 0.3, 0.1]))
    return frame.assign(band=frame["band"].mask(np.arange(n) % 7 == 0, None))


TRUE = Survey(DOMAIN, 30.0, RRJoint(k=(3, 2, 2, 3), epsilon=30.0), missing="na")
FORMS = {
    "nullable": lambda p: p.convert_dtypes(),
    "pyarrow": lambda p: p.convert_dtypes(dtype_backend="pyarrow"),
    "reordered": lambda p: p.assign(
        band=pd.Categorical(p["band"], ["x", "old", "young", "na"]), sex=pd.Categorical(p["sex"], ["m", "f"])
    ),
    "codes": lambda p: p.assign(num=pd.Categorical(p["num"], [2, 9, 1, 0]), yes=pd.Categorical(p["yes"])),
    "floats": lambda p: p.assign(num=p["num"].astype("Float32")),
    "one index": lambda p: p.set_axis(np.zeros(len(p), int)),
    "multi": lambda p: p.set_axis(pd.MultiIndex.from_product([range(len(p) // 2), ["a", "b"]])),
    "columns": lambda p: p[p.columns[::-1]].assign(more=1),
    "sparse": lambda p: p.assign(num=pd.arrays.SparseArray(p["num"])),
    "declared": lambda p: p.assign(band=pd.Categorical(p["band"].fillna("na"))),
}
UNFIT = {
    "numbers for booleans": lambda p: p.assign(yes=p["yes"].astype(int)),
    "booleans for numbers": lambda p: p.assign(num=p["num"] > 0),
    "texts for booleans": lambda p: p.assign(yes=p["yes"].astype(str)),
    "texts for numbers": lambda p: p.assign(num=p["num"].astype(str).astype("category")),
    "bytes": lambda p: p.assign(sex=p["sex"].str.encode("ascii")),
    "intervals": lambda p: p.assign(num=pd.cut(p["num"], [-1, 0, 1, 2])),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_frame_of_any_sort_is_the_same_people(form):
    assert TRUE.encode(FORMS[form](people())).tolist() == TRUE.encode(people()).tolist()


@pytest.mark.parametrize("form", UNFIT)
def test_what_is_of_another_type_is_not_guessed(form):
    with pytest.raises((TypeError, ValueError), match="frame must hold one of the labels"):
        TRUE.encode(UNFIT[form](people()))


def test_tables_and_queries_of_all_labels_are_those_of_pandas():
    truth, given = TRUE.decode(TRUE.encode(people())), TRUE.collect(people(), rng=np.random.default_rng(1))
    for a, b in itertools.permutations(DOMAIN, 2):
        table = TRUE.table(a, b, given)["estimate"].unstack()
        counted = pd.crosstab(truth[a], truth[b], dropna=False).reindex(index=DOMAIN[a], columns=DOMAIN[b])
        assert [*table.index] == DOMAIN[a]
        assert [*table.columns] == DOMAIN[b]
        assert table.to_numpy() == pytest.approx(counted.to_numpy() / 600, abs=1e-6)
        first, last = DOMAIN[a][:1], DOMAIN[b][1:]
        held, among = truth[a].isin(first).to_numpy(), truth[b].isin(last).to_numpy()
        assert TRUE.query({a: first, b: last}, given).estimate == pytest.approx((held & among).mean(), abs=1e-6)
        assert TRUE.query({a: first}, given, given={b: last}).estimate == pytest.approx(held[among].mean(), abs=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("epsilon", [8.0, 30.0, 45.0, 60.0])
def test_a_share_among_nobody_is_refused_where_rounding_leaves_no_variance(epsilon):
    """The least of them leaves a variance below 0."""
    survey = Survey(DOMAIN, epsilon, RRJoint(k=(3, 2, 2, 3), epsilon=epsilon), missing="na")
    given = survey.collect(people().assign(num=0), rng=np.random.default_rng(1))
    with pytest.raises(ValueError, match="given must hold more people"):
        survey.query({"sex": "f"}, given, given={"num": 2})
    share = (people()["sex"] == "f").mean()
    assert survey.query({"sex": "f"}, given, given={"num": 0}).estimate == pytest.approx(share, abs=0.1)


def test_reports_dealt_to_frames_files_and_iterators_are_counted_once_each(tmp_path):
    survey, rng = Survey({"a": ["n", "y"], "b": ["p", "q", "r"]}, 2.0), np.random.default_rng(3)
    answers = pd.DataFrame({"a": rng.choice(["n", "y"], 900), "b": rng.choice(["p", "q", "r"], 900)})
    given = survey.collect(answers, rng=rng)
    want = aggregate(given, survey.mechanism).counts.tolist()
    for turn in range(4):
        cut, every, path = [0, *np.sort(rng.integers(1, 900, 4)), 900], [], tmp_path / str(turn)
        path.mkdir()
        for i, (start, end) in enumerate(itertools.pairwise(cut)):
            part = given.iloc[start:end]
            files.write(part, name := path / f"{i}.{['csv', 'parquet', 'pq'][i % 3]}")
            some = part.convert_dtypes(dtype_backend="pyarrow")
            every.append([name, part[::-1], some, iter([part[:7], part[7:]])][(turn + i) % 4])
        parts = [
            aggregate(one, survey.mechanism, survey=survey.description)
            for one in path.iterdir()
            if one.suffix != ".json"
        ]
        for i, one in enumerate(parts):
            one.save(tmp_path / f"{i}.json")
        loaded = [Counts.load(tmp_path / f"{i}.json", survey.mechanism) for i in rng.permutation(len(parts))]
        assert aggregate(every, survey.mechanism).counts.tolist() == want
        assert sum(loaded[1:], loaded[0]).counts.tolist() == want
        with pytest.raises(ValueError, match="must be of different reports"):
            _ = sum(parts[1:], parts[0]) + loaded[0]


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("mechanism", [AskSome(k=(2, 3), epsilon=2.0, m=2), RRIndependent(k=(2, 3), epsilon=2.0)])
def test_intervals_together_are_wider_by_the_quantile_of_their_number(mechanism, confidence):
    survey, rng = Survey({"a": ["n", "y"], "b": ["p", "q", "r"]}, 2.0, mechanism), np.random.default_rng(4)
    given = survey.collect(survey.decode(rng.integers(0, (2, 3), (900, 2))), rng=rng)
    how = {"confidence": confidence, "simultaneous": True}
    of_shares, of_cells = (norm.isf((1 - confidence) / 2 / many) for many in (5, 6))
    for found, many in (
        (survey.estimate(given, **how), of_shares),
        (survey.difference(given[:400], given[400:], **how), of_shares),
        (survey.table("b", "a", given, **how), of_cells),
    ):
        half = pytest.approx(many * found["standard_error"].to_numpy())
        assert (found["high"] - found["estimate"]).to_numpy() == half
        assert (found["estimate"] - found["low"]).to_numpy() == half
    one, other = survey.table("a", "b", given), survey.table("b", "a", given)
    for name in one:
        assert other[name].unstack().T.to_numpy() == pytest.approx(one[name].unstack().to_numpy())


def test_raked_weights_are_the_nearest_by_their_form():
    """Factors of one number for each value of each column; the order of the records is nothing."""
    rng, done = np.random.default_rng(5), 0
    for _ in range(20):
        k, w = rng.integers(2, 5, 3), rng.choice([0.0, 1, 2, 5], 200)
        records, wanted = rng.integers(0, k, (200, 3)), [rng.dirichlet(np.full(size, 3)) for size in k]
        found = raking.rake(records, wanted, weights=w)
        done += found.converged
        for j, target in enumerate(wanted):
            assert np.bincount(records[:, j], found.weights, k[j]) == pytest.approx(target, abs=1e-7)
        x = np.hstack([np.eye(size)[records[w > 0, j]] for j, size in enumerate(k)])
        logs = np.log(found.weights[w > 0] / w[w > 0])
        assert x @ np.linalg.lstsq(x, logs, rcond=None)[0] == pytest.approx(logs, abs=1e-6)
        turned = raking.rake(records[::-1], wanted, weights=w[::-1])
        assert turned.weights[::-1] == pytest.approx(found.weights, abs=1e-9)
    assert done == 20


@pytest.mark.parametrize("strength", [0.0, 0.002, 0.01])
def test_what_shrinkage_says_of_its_error_is_right_on_average(strength):
    rng, sd, size = np.random.default_rng(6), 0.004, (4, 5)

    def free(table):
        return table - table.mean(0) - table.mean(1)[:, None] + table.mean()

    base = np.outer(rng.dirichlet(np.full(4, 5)), rng.dirichlet(np.full(5, 5)))
    truth, apart = base + strength * free(rng.normal(0, 1.3, size)), []
    for _ in range(600):
        found = consistency.shrink_dependence(truth + free(rng.normal(0, sd, size)), 12 * sd**2)
        apart.append((free(found.table - truth) ** 2).sum() - found.risk)
    assert abs(np.mean(apart)) < 4 * np.std(apart) / math.sqrt(len(apart))

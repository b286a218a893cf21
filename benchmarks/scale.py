"""Times at scale: coins against the generator's rate, from a thousand users to a billion, and counting files."""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import ldp_lib as ldp
from ldp_lib import limit, planner, reports
from ldp_lib.aggregate import aggregate
from ldp_lib.datasets import load_adult

EPSILON, N, REPETITIONS = 1.0, 1_000_000, 9
COUNT_FILE = """
import resource
from ldp_lib import *
from ldp_lib.aggregate import aggregate
aggregate({path!r}, {mechanism!r})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def paired(seconds, one, other):
    """Return how many times faster the second call is than the first, once a repetition."""
    return [seconds(one) / seconds(other) for _ in range(REPETITIONS)]


def coin_rows(seconds):
    """Yield name, ratios, target: each `perturb` against one float64 of the generator for each answer it reads."""
    adult, rng = load_adult(), np.random.default_rng(1)
    x = rng.integers(10, size=N).astype(np.uint8)
    records = adult.records[rng.choice(len(adult.records), N, p=adult.counts / adult.n)].astype(np.uint8)
    several = ("AskSome", "SPL", "RSFD", "RRIndependent", "RRJoint")
    cases = [("GRR", ldp.GRR(k=10, epsilon=EPSILON), x, 100), ("RR", ldp.RR(epsilon=EPSILON), x % 2, 100)]
    cases += [("JRR", ldp.JRR(k=2, epsilon=EPSILON), x % 2, 60)]
    cases += [("OneQuestion", ldp.OneQuestion(k=adult.k, epsilon=EPSILON), records, 60)]
    cases += [(name, getattr(ldp, name)(k=adult.k, epsilon=EPSILON), records, 0) for name in several]
    for name, mechanism, data, target in cases:
        shares = paired(seconds, lambda: rng.random(data.shape), lambda: mechanism.perturb(data, rng=rng))  # noqa: B023
        size = " x ".join(f"{size:,}" for size in data.shape)
        yield f"{name} perturb, {size} answers: share of the rate of `rng.random`", np.multiply(100, shares), target
    x = rng.integers(1_000, size=100_000)
    for name, target in (("GRR", 0), ("OLH", 0), ("OUE", 0), ("SubsetSelection", 0)):
        mechanism = getattr(ldp, name)(k=1_000, epsilon=EPSILON)
        shares = paired(seconds, lambda: rng.random(x.shape), lambda: mechanism.perturb(x, rng=rng))  # noqa: B023
        what = f"{name} perturb, k = 1,000, n = 100,000: share of the rate of `rng.random`"
        yield what, np.multiply(100, shares), target


def size_rows(seconds):
    """Yield name, values, target, unit: milliseconds for users and for counts, from a thousand people to a billion."""
    adult, rng = load_adult(), np.random.default_rng(1)
    mechanism = ldp.OneQuestion(k=adult.k, epsilon=EPSILON)
    for n in (10**3, 10**5, 10**7):
        x = adult.records[rng.choice(len(adult.records), n, p=adult.counts / adult.n)].astype(np.uint8)
        once = [1e3 * seconds(lambda: mechanism.estimate(mechanism.perturb(x, rng=rng))) for _ in range(3)]  # noqa: B023
        yield f"OneQuestion on Adult's attributes, all of {n:,} users", once, 200 * max(1, n / 10**6), " ms"
    for n in (10**3, 10**6, 10**9):
        people = ldp.Population.from_counts([n // 10 * c for c in (4, 3, 2, 1)])
        grr = ldp.GRR(k=4, epsilon=EPSILON)
        once = [1e3 * seconds(lambda: grr.simulate(people, rng=rng, runs=1_000)) for _ in range(5)]  # noqa: B023
        yield f"GRR, 1,000 simulated surveys of {n:,} users", once, 10, " ms"


def decision_rows(seconds):
    """Yield name, values, target, unit: milliseconds of the planner and of the limit."""
    adult = load_adult()
    calls = {
        "`recommend` for Adult's attributes": lambda: planner.recommend(k=adult.k, epsilon=EPSILON, n=10_000),
        "`limit.least_error` for Adult's attributes": lambda: limit.least_error(adult.k, EPSILON),
    }
    for name, call in calls.items():
        yield name, [1e3 * seconds(call) for _ in range(3)], 2_000, " ms"


def file_rows(seconds, n=100_000_000, group=1_000_000):
    """Yield name, values, target, unit, whether more is better: counting a Parquet file of reports."""
    adult, rng = load_adult(), np.random.default_rng(1)
    mechanism = ldp.OneQuestion(k=adult.k, epsilon=EPSILON)
    columns = reports.columns(mechanism)
    with tempfile.TemporaryDirectory() as folder:
        path, writer = Path(folder) / "reports.parquet", None
        for _ in range(n // group):
            x = adult.records[rng.choice(len(adult.records), group, p=adult.counts / adult.n)]
            table = pa.Table.from_pandas(reports.to_frame(mechanism.perturb(x, rng=rng)), preserve_index=False)
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
        writer.close()
        file = pq.ParquetFile(path)

        def alone():
            for i in range(file.num_row_groups):
                table = file.read_row_group(i, columns=columns)
                for column in columns:
                    np.bincount(table[column].to_numpy(), minlength=256)

        rates = [100 * seconds(alone, 1) / seconds(lambda: aggregate(path, mechanism), 1) for _ in range(3)]
        file.close()
        alone_in_a_process = [sys.executable, "-c", COUNT_FILE.format(mechanism=mechanism, path=str(path))]
        peak = int(subprocess.run(alone_in_a_process, check=True, capture_output=True, text=True).stdout) / 2**20
    name = f"count {n:,} reports of OneQuestion on Adult's attributes from a Parquet file"
    yield f"{name}: share of the rate of reading and `bincount` alone", rates, 50, " %", True
    yield f"{name}: most memory of a process that does this", [peak], 1, " GB", False

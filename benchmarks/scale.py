"""Times at scale: coins against the generator's rate, from a thousand users to a billion, and counting files."""

import json
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import ldp_lib as ldp
from ldp_lib import _sets, limit
from ldp_lib._sampling import BLOCK, random_bits
from ldp_lib.datasets import load_adult
from ldp_lib.limit.pair_tables import least_pair_error
from ldp_lib.mechanism import perturb_in_chunks
from ldp_lib.survey import _files as files
from ldp_lib.survey import planner
from ldp_lib.survey.aggregate import aggregate

EPSILON, N, FEWER, REPETITIONS = 1.0, 1_000_000, 100_000, 5
COUNT_FILE = """
import resource
from ldp_lib import Survey
Survey.load({survey!r}).estimate({path!r})
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
    cases = [(ldp.GRR(k=10, epsilon=EPSILON), x, 100), (ldp.RR(epsilon=EPSILON), x % 2, 100)]
    cases += [(ldp.JRR(k=2, epsilon=EPSILON), x % 2, 60), (ldp.OneQuestion(k=adult.k, epsilon=EPSILON), records, 60)]
    done = {type(mechanism) for mechanism, *_ in cases}
    for family in ldp.MECHANISMS:
        domains = ((10, x), (2, x % 2), (adult.k, records), ((4,) * 8, records % 2))
        k, data = next((k, data[:FEWER]) for k, data in domains if family.serves(k))
        if family not in done:
            cases.append((family(k=k, epsilon=EPSILON), data, None))
    cases += [(ldp.GRR(k=1_000, epsilon=EPSILON), rng.integers(1_000, size=FEWER), None)]
    for family in (ldp.OLH, ldp.OUE, ldp.SubsetSelection):
        cases.append((family(k=1_000, epsilon=EPSILON), cases[-1][1], None))
    for mechanism, data, target in cases:
        shares = paired(seconds, lambda: rng.random(data.shape), lambda: mechanism.perturb(data, rng=rng))  # noqa: B023
        answers = " x ".join(f"{size:,}" for size in data.shape)
        domain = "" if isinstance(mechanism.k, tuple) else f", k = {mechanism.k:,}"
        name = f"{type(mechanism).__name__}{domain}, {answers} answers"
        yield f"{name}: share of the rate of `rng.random`", np.multiply(100, shares), target
    one, bits = ldp.OUE(k=1_000, epsilon=EPSILON), FEWER * 1_000
    x = cases[-1][1]
    floor = [
        seconds(lambda: [random_bits(np.uint8, BLOCK, rng) for _ in range(bits // BLOCK)], 3)
        / seconds(lambda: one.perturb(x, rng=rng), 3)
        for _ in range(3)
    ]
    name = f"OUE, k = 1,000, {FEWER:,} answers: share of the rate of one random byte a coin, its floor"
    yield name, np.multiply(100, floor), None
    user = np.array([7]), np.array([True]), 10**6, ldp.SubsetSelection(k=10**6, epsilon=EPSILON).size_, rng
    faster = paired(seconds, lambda: _sets._floyd(*user), lambda: _sets.draw_sets(*user))
    name = "SubsetSelection, k = 1,000,000, one answer: rate over that of a set drawn value by value"
    yield name, np.multiply(100, faster), 2_000


def thread_rows(n=32_000_000):
    """Yield name, ratios, target: reports made by one thread and by two, against float64 draws.

    Times are the wall clock's, so that other work counts: each call is short, comes after a rest, and the shortest of
    twenty is taken. What the generator itself gains from a second thread tells whether two cores were free.
    """
    rng, grr = np.random.default_rng(1), ldp.GRR(k=10, epsilon=EPSILON)
    x = rng.integers(10, size=n).astype(np.uint8)
    blocks, streams = np.empty((2, 500_000)), rng.spawn(2)

    def draw(stream, block):
        for _ in range(n // 2 // block.size):
            stream.random(out=block)

    def draw_anew(stream, block):
        for _ in range(n // 2 // block.size):
            stream.random(block.size)

    def both(work, threads):
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(work, streams, blocks))

    calls = [lambda work=work, t=t: both(work, t) for work in (draw, draw_anew) for t in (1, 2)]
    calls += [lambda t=t: perturb_in_chunks(grr, x, rng=rng, threads=t) for t in (1, 2)]
    times = np.full((3, 20, len(calls)), np.inf)
    for repetition, again, number in np.ndindex(times.shape):
        time.sleep(0.03)
        start = time.perf_counter()
        calls[number]()
        times[repetition, again, number] = time.perf_counter() - start
    draws, twice, anew, anew_twice, one, two = times.min(axis=1).T
    name = f"GRR, {n:,} answers in chunks"
    yield f"{name}, 1 thread: share of the rate of one thread's `rng.random`", 100 * draws / one, 100
    yield f"{name}, 2 threads: share of the rate of one thread's `rng.random`", 100 * draws / two, 180
    yield "the same: rate of two threads over that of one", 100 * one / two, None
    yield "`rng.random` into memory that is there: rate of two threads over that of one", 100 * draws / twice, None
    yield "`rng.random` into new memory: rate of two threads over that of one", 100 * anew / anew_twice, None


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
        "`recommend` for all tables of two of Adult's attributes": lambda: planner.recommend(
            k=adult.k, epsilon=EPSILON, n=10_000, wants="tables"
        ),
        "`limit.least_error` for Adult's attributes": lambda: limit.least_error(adult.k, EPSILON),
        "`limit.pairs.least_pair_error` for Adult's attributes": lambda: least_pair_error(adult.k, EPSILON),
    }
    for name, call in calls.items():
        yield name, [1e3 * seconds(call, 2) for _ in range(3)], 2_000, " ms"


def file_rows(seconds, n=100_000_000, group=1_000_000):
    """Yield name, values, target, unit, whether more is better: counting a Parquet file of reports."""
    adult, rng = load_adult(), np.random.default_rng(1)
    survey = ldp.Survey({f"question {j}": range(size) for j, size in enumerate(adult.k)}, EPSILON)
    mechanism = survey.mechanism
    columns = files.columns(mechanism)
    with tempfile.TemporaryDirectory() as folder:
        path, writer = Path(folder) / "reports.parquet", None
        for _ in range(n // group):
            x = adult.records[rng.choice(len(adult.records), group, p=adult.counts / adult.n)]
            frame = survey.mark(files.to_frame(mechanism.perturb(x, rng=rng)))
            table = pa.Table.from_pandas(frame, preserve_index=False)
            table = table.replace_schema_metadata({"PANDAS_ATTRS": json.dumps({files.KEY: survey.description})})
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
        survey.save(Path(folder) / "survey.json")
        program = COUNT_FILE.format(survey=str(Path(folder) / "survey.json"), path=str(path))
        alone_in_a_process = [sys.executable, "-c", program]
        peak = int(subprocess.run(alone_in_a_process, check=True, capture_output=True, text=True).stdout) / 2**20
    name = f"count {n:,} reports of OneQuestion on Adult's attributes from a Parquet file"
    yield f"{name}: share of the rate of reading and `bincount` alone", rates, 50, " %", True
    yield f"{name}: most memory of a process that gives labelled shares", [peak], 1, " GB", False

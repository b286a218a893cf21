"""Times of joint tables: the likelihood's maximum, all pair tables, predicates; benchmarks/run.py puts them in."""

import itertools
import math
import tracemalloc

import numpy as np
from adult import require

from ldp_lib.datasets import load_adult
from ldp_lib.population import Population
from ldp_lib.tables import likelihood
from ldp_lib.tables.covariance import table_covariance
from ldp_lib.tables.product import RRIndependent
from ldp_lib.tables.queries import ask, ask_cells
from ldp_lib.tables.sampled import ask_pairs, pair_tables

N = 1_000_000


def measures(seconds):
    """Yield name, values, target and unit of each row; `seconds` gives the processor time of a call."""
    adult, rng = load_adult(), np.random.default_rng(1)

    def milliseconds(call, repetitions=5):
        return [1e3 * seconds(call) for _ in range(repetitions)]

    split = RRIndependent(k=adult.k, epsilon=8.0)
    y = split.perturb(adult.users(), rng=rng)
    counts, channels, _ = likelihood.observed(split, y, (2, 4))
    found = likelihood.fit(counts, channels)
    require(found.converged and found.table.size == 42, "EM of 42 cells")
    yield (
        "EM, marital status x relationship, 42 cells",
        milliseconds(lambda: likelihood.fit(counts, channels)),
        50,
        " ms",
    )

    binary = RRIndependent(k=(2,) * 10, epsilon=15.0)
    x = np.cumsum(rng.random((100_000, 10)) < 0.2, axis=1) % 2
    many, coins, _ = likelihood.observed(binary, binary.perturb(x, rng=rng), range(10))
    found = likelihood.fit(many, coins)
    truth = Population.from_records(x, k=binary.k).joint
    require(found.converged and ((found.table - truth) ** 2).sum() < 0.01, "EM of 1,024 cells")
    times = milliseconds(lambda: likelihood.fit(many, coins))
    yield "EM, 10 binary attributes, 1,024 cells, 100,000 reports", times, 1_000, " ms"

    people = Population.from_records(adult.users()[rng.integers(adult.n, size=N)], k=adult.k)
    pairs = ask_pairs(adult.k, 4.0)
    y = pairs.perturb(people.users(), rng=rng)
    tables, truths = pair_tables(pairs, y), {p: people.select(*p).joint for p in itertools.combinations(range(8), 2)}
    variances = {p: table_covariance(pairs, t, *p, n=N, sampling=False) for p, t in truths.items()}
    off = sum(((tables[p] - truths[p]) ** 2).sum() for p in tables)
    require(off < 2 * sum(np.trace(v) for v in variances.values()), "28 pair tables")
    yield "all 28 pair tables of 1,000,000 reports", milliseconds(lambda: pair_tables(pairs, y)), 1_000, " ms"
    require(likelihood.estimate(pairs, y, 1, 3).converged, "EM of a pair")
    times = milliseconds(lambda: likelihood.estimate(pairs, y, 2, 4))
    yield "EM from the shared coins of 1,000,000 reports, 42 cells", times, 1_000, " ms"

    sixty = RRIndependent(k=(2,) * 60, epsilon=240.0)
    x = (rng.random((N, 60)) < 0.5).astype(np.uint8)
    y, box = sixty.perturb(x, rng=rng), {j: [1] for j in range(5)}
    calls = {
        "a box of 5 of 60 binary attributes, 1,000,000 reports": (
            lambda: ask(sixty, y, box),
            x[:, :5].all(axis=1).mean(),
        ),
        "at least 8 of 12 conditions of 60, 1,000,000 reports": (
            lambda: ask_cells(sixty, y, range(12), lambda cells: cells.sum(axis=1) >= 8),
            (x[:, :12].sum(axis=1) >= 8).mean(),
        ),
    }
    for name, (call, truth) in calls.items():
        answer = call()
        require(abs(answer.estimate - truth) < 5 * math.sqrt(answer.variance), name)
        yield name, milliseconds(call), 1_000, " ms"
        tracemalloc.start()
        call()
        peak = tracemalloc.get_traced_memory()[1] / 1e6
        tracemalloc.stop()
        yield "the same: most memory at once", [peak], 200, " MB"

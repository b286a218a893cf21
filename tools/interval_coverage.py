"""How often the library's 95 % intervals hold the truth, by simulation; `make coverage` calls it, in many minutes.

Writes book/coverage.json, for the table on the page on quality. With names of settings it computes only these anew:

    python tools/interval_coverage.py "V = 0.1, 2 x 2"
"""

import json
import math
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from ldp_lib import GRR, OneQuestion, Survey, recommend
from ldp_lib.population import Population
from ldp_lib.postprocess import project_simplex
from ldp_lib.survey import planner
from ldp_lib.tables import clusters, dependence, queries
from ldp_lib.tables.covariance import table_covariance
from ldp_lib.tables.product import RRIndependent, RRJoint

ROOT = Path(__file__).resolve().parents[1]
FOUND = ROOT / "book" / "coverage.json"
RUNS, DRAWS, LEAST = 2_000, 100, 0.93


def two_by_two(a, b, v):
    """Return the table of two binary attributes with these shares and this Cramer's V."""
    apart = v * math.sqrt(a * (1 - a) * b * (1 - b))
    return np.array([[a * b + apart, a * (1 - b) - apart], [(1 - a) * b - apart, (1 - a) * (1 - b) + apart]])


TABLES = {
    "V = 0, 2 x 2": two_by_two(0.5, 0.5, 0),
    "V = 0.1, 2 x 2": two_by_two(0.5, 0.5, 0.1),
    "V = 0.95, 2 x 2": two_by_two(0.5, 0.5, 0.95),
    "V = 0.1, values of 10 %": two_by_two(0.1, 0.1, 0.1),
    "V = 0.98, values of 2 %": two_by_two(0.02, 0.02, 0.98),
    "V = 0.42, 3 x 2": np.array([[0.4, 0.1], [0.1, 0.2], [0.1, 0.1]]),
    "V = 0.14, 3 x 4": np.full((3, 4), 1 / 12) + 0.02 * np.outer([1, -1, 0], [1, -1, 1, -1]),
}


def association(table, epsilon, n, runs, rng):
    """Yield how often the interval of a table's Cramér's V holds the truth, and how often it warns."""
    mechanism, told = RRIndependent(k=table.shape, epsilon=epsilon), []
    channel, truth = mechanism.channel(), clusters.cramers_v(table)
    counts = rng.multinomial(n, table.ravel() @ channel / table.sum(), size=runs)
    for draw in (counts / n @ np.linalg.inv(channel)).reshape(runs, *table.shape):
        likely = project_simplex(draw.ravel()).reshape(table.shape)
        found = dependence.cramers_v(draw, table_covariance(mechanism, likely, 0, 1, n=n))
        low, high = found.interval()
        told.append((low - 1e-9 <= truth <= high + 1e-9, bool(found.warning)))
    yield "Cramér's V", np.array(told, float)


def query(holders, n, epsilon, runs, rng):
    """Yield coverage of the share of users in a cell, and of that share within a value, the users' data held fixed."""
    mechanism, x = RRJoint(k=(4, 4), epsilon=epsilon), np.zeros((n, 2), int)
    x[: n // 2, 0], x[:holders] = 1, [1, 2]
    told = {"share in cells": [], "share within a box": []}
    for _ in range(runs):
        y = mechanism.perturb(x, rng=rng)
        low, high = queries.ask(mechanism, y, {0: [1], 1: [2]}).interval()
        told["share in cells"].append((low - 1e-9 <= holders / n <= high + 1e-9, False))
        try:
            low, high = queries.ask(mechanism, y, {1: [2]}, given={0: [1]}).interval()
        except ValueError:  # the given box is estimated to hold nobody
            told["share within a box"].append((True, True))
            continue
        told["share within a box"].append((low - 1e-9 <= holders / max(n // 2, holders) <= high + 1e-9, False))
    for name, values in told.items():
        yield name, np.array(values, float)


def shares(mechanism, counts, runs, rng):
    """Yield coverage of a survey's intervals for shares, the data held fixed: the value covered least."""
    population = Population.from_counts(np.array(counts))
    truth, n = np.ravel(counts) / np.sum(counts), population.n
    if isinstance(mechanism.k, tuple):
        truth = population.joint.sum(axis=1)
    estimates = mechanism.simulate(population, rng=rng, runs=runs)
    held = []
    for run in range(runs):
        estimate = [part[run] for part in estimates] if isinstance(estimates, list) else estimates[run]
        low, high = planner.estimate_interval(mechanism, estimate, n)
        if isinstance(low, list):
            low, high = low[0], high[0]
        held.append((low <= truth) & (truth <= high))
    least = np.argmin(np.mean(held, axis=0))
    yield "share, `estimate_interval`", np.column_stack([np.array(held)[:, least], np.zeros(runs)])


def survey(sampling, law, epsilon, n, runs, rng):
    """Yield coverage of a survey's table, sum of two labels, and difference of two waves: the cell covered least."""
    labels = {"a": ["x", "y"], "b": ["p", "q", "r"]}
    best = recommend(k=law.shape, epsilon=epsilon, n=n, wants="tables").mechanism
    asked, held = Survey(labels, epsilon=epsilon, mechanism=best), {"table": [], "query": [], "difference": []}

    def wave():
        counts = rng.multinomial(n, law.ravel()) if sampling else np.rint(n * law.ravel()).astype(int)
        people = asked.decode(np.transpose(np.unravel_index(np.repeat(np.arange(law.size), counts), law.shape)))
        return asked.collect(people, rng=rng)

    for _ in range(runs):
        one, other = wave(), wave()
        found = {"table": asked.table("a", "b", one, sampling=sampling)}
        found["query"] = pd.DataFrame([asked.query({"a": "y", "b": ["q", "r"]}, one, sampling=sampling)])
        found["difference"] = asked.difference(one, other, sampling=sampling)
        truth = {"table": law.ravel(), "query": law[1, 1:].sum(), "difference": 0.0}
        for name, part in found.items():
            low, high = part["low"].to_numpy(), part["high"].to_numpy()
            held[name].append((low <= truth[name]) & (truth[name] <= high))
    for name, values in held.items():
        least = np.argmin(np.mean(values, axis=0))
        yield f"`Survey.{name}`", np.column_stack([np.array(values)[:, least], np.zeros(runs)])


def most_likely(counts, channel, steps=3_000):
    """Return the most likely table of each row of counts by plain EM on all rows at once."""
    share = counts / counts.sum(axis=1, keepdims=True)
    table = np.full((len(counts), len(channel)), 1 / len(channel))
    for _ in range(steps):
        table = table * (share / (table @ channel) @ channel.T)
    return table


def bootstrap(table, epsilon, n, runs, rng):
    """Yield coverage of the least cell and of V after maximum likelihood: by the draws' spread and their quantiles."""
    mechanism = RRIndependent(k=table.shape, epsilon=epsilon)
    channel, cell = mechanism.channel(), int(np.argmin(table))
    estimates = most_likely(rng.multinomial(n, table.ravel() @ channel, size=runs), channel)
    again = rng.multinomial(n, np.repeat(estimates, DRAWS, axis=0) @ channel)
    draws = most_likely(again, channel).reshape(runs, DRAWS, -1)
    measures = {
        "least cell": lambda t: float(t[cell]),
        "Cramér's V": lambda t: clusters.cramers_v(t.reshape(table.shape)),
    }
    for name, measure in measures.items():
        truth, held = measure(table.ravel()), []
        for estimate, drawn in zip(estimates, draws, strict=True):
            value, values = measure(estimate), np.array([measure(one) for one in drawn])
            half, ends = 1.959963985 * values.std(ddof=1), np.quantile(values, [0.025, 0.975])
            intervals = (value - half, value + half), ends, 2 * value - ends[::-1]
            held.append([low - 1e-9 <= truth <= high + 1e-9 for low, high in intervals])
        for told, way in zip(np.transpose(held), ("", ", by quantiles", ", by reflected quantiles"), strict=True):
            yield f"bootstrap of the most likely table{way}: {name}", np.column_stack([told, np.zeros(runs)])


def settings():
    """Return each setting: its name, budget, number of users, and what computes it from runs and a generator."""
    found = []
    for name, table in TABLES.items():
        for epsilon, n in ((1.0, 20_000), (4.0, 2_000)):
            found.append((name, epsilon, n, partial(association, table, epsilon, n)))
    few, table = "V = 0.95, 2 x 2", TABLES["V = 0.95, 2 x 2"]  # one or two people hold what does not go together
    found.append((few, 12.0, 60, partial(association, table, 12.0, 60)))
    for holders, n in ((1, 200), (5, 200), (100, 2_000)):
        for epsilon in (1.0, 4.0, 8.0):
            found.append((f"{holders} of {n} hold it, 4 x 4 cells", epsilon, n, partial(query, holders, n, epsilon)))
    held = [(e, counts) for counts in ([1_000, 600, 399, 1], [600, 600, 400, 400]) for e in (1.0, 4.0, 8.0)]
    for epsilon, counts in [*held, (9.0, [1_000, 1_000])]:  # of the last a report in 8,000 is wrong
        mechanism = GRR(k=len(counts), epsilon=epsilon)
        found.append((f"GRR, {min(counts)} of 2000 hold it", epsilon, 2_000, partial(shares, mechanism, counts)))
    for epsilon in (1.0, 4.0):
        mechanism, counts = OneQuestion(k=(3, 2), epsilon=epsilon), [[500, 500], [300, 300], [200, 200]]
        found.append(("OneQuestion, 3 and 2 values", epsilon, 2_000, partial(shares, mechanism, counts)))
    for epsilon in (1.0, 6.0):  # of the 100 who are asked, one or so
        mechanism, counts = OneQuestion(k=(2, 2), epsilon=epsilon), [[1, 1], [99, 99]]
        found.append(("OneQuestion, 2 of 200 hold it", epsilon, 200, partial(shares, mechanism, counts)))
    law = np.array([[0.3, 0.2, 0.1], [0.05, 0.1, 0.25]])
    for name, sampling in (("the people asked", False), ("people drawn at random", True)):
        for epsilon, n in ((1.0, 5_000), (4.0, 600)):
            found.append((f"2 x 3 labels, {name}", epsilon, n, partial(survey, sampling, law, epsilon, n)))
    few = partial(survey, False, law, 10.0, 3_000)  # a report in 4,000 is wrong
    found.append(("2 x 3 labels, the people asked, hardly any wrong", 10.0, 3_000, few))
    one, even = np.array([[0.01, 0.49], [0.25, 0.25]]), np.full((2, 2), 0.25)
    rare, all_alike = "a cell of 1 %, 2 x 2", "cells of 25 %, 2 x 2"
    for name, table, epsilon, n in ((rare, one, 1.0, 5_000), (rare, one, 3.0, 2_000), (all_alike, even, 1.0, 500)):
        found.append((name, epsilon, n, partial(bootstrap, table, epsilon, n)))
    return found


def measured(name, epsilon, n, compute, *, runs=RUNS, seed=1):
    """Return one row for each interval of a setting: how often it held the truth in how many runs, and warned."""
    rows = []
    for interval, told in compute(runs, np.random.default_rng(seed)):
        row = {"interval": interval, "setting": name, "epsilon": epsilon, "n": n, "runs": runs}
        rows.append(row | {"covers": float(told[:, 0].mean()), "warns": float(told[:, 1].mean())})
    return rows


def page(rows):
    """Return the table of the page: each interval, how often it covers where it measures, and where it covers least."""
    head = "| interval of 95 % | settings | covers, least to most | where least | settings with a warning |"
    lines = [head, "| --- | ---: | --- | --- | ---: |"]
    for name in sorted({row["interval"] for row in rows}):
        found = [row for row in rows if row["interval"] == name]
        least, most = (end(found, key=lambda row: row["covers"]) for end in (min, max))
        low = " (below .93)" if least["covers"] < LEAST else ""
        warned = sum(row["warns"] > 0 for row in found)
        where = f"{least['setting']}, ε = {least['epsilon']:g}, {least['n']:,} users"
        covers = f"{least['covers']:.3f}{low} to {most['covers']:.3f}"
        lines.append(f"| {name} | {len(found)} | {covers} | {where} | {warned} |")
    return "\n".join(lines)


def main(names):
    """Compute the settings with these names, or all, and write the file after each."""
    rows = json.loads(FOUND.read_text(encoding="utf-8")) if FOUND.exists() and names else []
    for name, epsilon, n, compute in settings():
        if not names or name in names:
            rows = [row for row in rows if (row["setting"], row["epsilon"], row["n"]) != (name, epsilon, n)]
            rows += measured(name, epsilon, n, compute)
            print(name, epsilon, n, [(row["interval"], row["covers"], row["warns"]) for row in rows[-3:]], flush=True)
            FOUND.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

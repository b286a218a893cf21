"""Times of multi-dimensional randomized response on all of Adult; benchmarks/run.py puts them into its results."""

import math
import sys
import tracemalloc

import numpy as np

from ldp_lib import pure
from ldp_lib.datasets import load_adult
from ldp_lib.postprocess import clip_normalize
from ldp_lib.tables import clusters as clustering
from ldp_lib.tables import product
from ldp_lib.tables.queries import ask_cells
from ldp_lib.tables.raking import rake

KEEP = 0.5  # each attribute's probability of being kept, as in the chapters
REPETITIONS = 15


def require(condition, what):
    """Stop unless what was timed is right."""
    if not condition:
        sys.exit(f"Not timed, because wrong: {what}.")


def measures(seconds):
    """Yield name, values, target and unit of each row; `seconds` gives the processor time of a call."""
    adult, rng = load_adult(), np.random.default_rng(1)
    users = adult.users()
    own = [math.log(product.mixing_ratio(KEEP, k)) for k in adult.k]
    apart = product.RRIndependent(k=adult.k, channels=own)
    whole = product.RRJoint(k=adult.k, epsilon=math.fsum(own))

    def milliseconds(call, repetitions=REPETITIONS):
        return [1e3 * seconds(call) for _ in range(repetitions)]

    y = apart.perturb(users, rng=rng)
    error = np.hstack(apart.estimate(y)) - np.hstack(apart.mean(adult))
    require(np.linalg.norm(error) < 2 * math.sqrt(np.hstack(apart.variance(adult)).sum()), "marginals")
    all_marginals = milliseconds(lambda: apart.estimate(apart.perturb(users, rng=rng)))
    draws = milliseconds(lambda: rng.random(users.shape))
    yield "randomize 32,561 x 8 values and estimate all marginals", all_marginals, 20, " ms"
    yield "the same over the time of `rng.random((32561, 8))`", np.divide(all_marginals, draws), 10, ""

    measure = clustering.dependences(adult)
    clusters = clustering.cluster_attributes(measure, adult.k, max_cells=300, min_dependence=0.1)
    grouped = clustering.RRClusters(k=adult.k, clusters=clusters, epsilons=own)
    cell = milliseconds(lambda: grouped.simulate_tables(adult, rng=rng, runs=1_000), 5)
    yield "1,000 simulated runs of a cell of Table 1, at most 300 cells a cluster", cell, 2_000, " ms"

    marginals = [clip_normalize(estimate) for estimate in apart.estimate(y)]
    raked = rake(y, marginals)
    require(raked.converged and raked.gap < 1e-9, "raking")
    yield "rake 32,561 records on eight attributes to 1e-9", milliseconds(lambda: rake(y, marginals)), 200, " ms"

    y, subset = whole.perturb(users, rng=rng), rng.random(adult.k) < 0.1
    share = adult.histogram[subset].sum() / adult.n
    q = (1 - product.keep_probability(whole.epsilon, subset.size)) * subset.mean()
    p = q + product.keep_probability(whole.epsilon, subset.size)
    found = ask_cells(whole, y, range(8), subset).estimate
    require(abs(found - share) < 5 * math.sqrt(pure.variance(share, adult.n, p, q)), "the share of a subset")
    times = milliseconds(lambda: ask_cells(whole, y, range(8), subset).estimate, 5)
    yield "RR-Joint: the share of a random tenth of the 1,814,400 cells", times, 1_000, " ms"
    tracemalloc.start()
    ask_cells(whole, y, range(8), subset)
    peak = tracemalloc.get_traced_memory()[1] / 1e6
    tracemalloc.stop()
    yield "the same: most memory at once", [peak], 200, " MB"

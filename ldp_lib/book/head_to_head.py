"""Every mechanism on the same people at the same budget: the table behind the chapter `which_mechanism`.

`python -m ldp_lib.book.head_to_head` writes `ldp_lib/data/head_to_head.csv` anew; a test computes parts of it again.
"""

import math
from functools import lru_cache, partial

import numpy as np
import pandas as pd

from ldp_lib import channel, datasets, limit
from ldp_lib.book.published import SKEWED, UNIFORM, shuffled
from ldp_lib.book.sweeps import sweep
from ldp_lib.corr_rr import tree_law
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.postprocess import project_simplex
from ldp_lib.survey import errors
from ldp_lib.survey.catalogue import MECHANISMS

BUDGETS = (0.5, 1.0, 4.0)
PEOPLE = 20_000
COPY = 0.9
RUNS = 40
SEED = 1
PAPERS = {
    "adult 8": datasets.load_adult,
    "nursery": datasets.load_nursery,
    "corr-rr adult": partial(datasets.load_corr_rr, "adult"),
    "mushroom": partial(datasets.load_corr_rr, "mushroom"),
    "clave": partial(datasets.load_corr_rr, "clave"),
    "clothing": partial(datasets.load_binary, "ecommerce_clothing"),
    "kosarak": partial(datasets.load_binary, "kosarak"),
}
FILE = datasets.DATA / "head_to_head.csv"


def populations():
    """Return the names of all populations: the papers' data, SynA and SynB (2 to 8 attributes), each shuffled too."""
    made = [
        f"Syn{kind} {shape} {d}{dealt}"
        for kind in "AB"
        for shape in ("skewed", "uniform")
        for d in range(2, 9)
        for dealt in ("", " shuffled")
        if kind == "A" or d > 2  # two attributes have one shape
    ]
    return [*PAPERS, "adult 8 shuffled", *made]


def population(name):
    """Return the people of that name. SynA: all copy the first of d attributes; SynB: each copies the one before."""
    if name.endswith(" shuffled"):
        return shuffled(population(name.removesuffix(" shuffled")), np.random.default_rng(SEED))
    if name.startswith("Syn"):
        kind, shape, d = name.split()
        parents = [0] * (int(d) - 1) if kind == "SynA" else range(int(d) - 1)
        law = tree_law(SKEWED if shape == "skewed" else UNIFORM, COPY, parents)
        rng = np.random.default_rng([SEED, ord(kind[-1]), len(shape), int(d)])
        return Population.from_counts(rng.multinomial(PEOPLE, law.ravel() / law.sum()).reshape(law.shape))
    return PAPERS[name]()


def _made_for(people, epsilon):
    """Return every mechanism of the library that serves these people, from domain and budget alone."""
    k = people.k if people.d > 1 else people.k[0]
    return [family(k=k, epsilon=epsilon) for family in MECHANISMS if family.serves(k)]


def spent(mechanism):
    """Return the budget that one whole report spends: from the channel where it can be listed, else as proved.

    None where users' reports depend on each other and nothing is proved of one alone.
    """
    try:
        return math.log(channel.privacy_ratio(mechanism.channel()))
    except ValueError:
        return mechanism.realised_epsilon() if hasattr(mechanism, "realised_epsilon") else None


@lru_cache(maxsize=64)
def least_of_one(k, epsilon):
    """Return n times a variance that every unbiased mechanism without a dealer has, or exceeds, at some fixed data."""
    return limit.least_error(k, epsilon).error - sum(1 - 1 / size for size in k)


def guess_error(people):
    """Return the total squared error of saying 1/k for every value, without any data."""
    return float(sum(((f - 1 / len(f)) ** 2).sum() for f in marginal_frequencies(people)))


def _repaired_error(mechanism, people, *, rng):
    """Return the total error after `project_simplex` on each attribute, and its standard error, simulated."""
    drawn = mechanism.simulate(people, rng=rng, runs=RUNS)
    parts = zip(drawn if isinstance(drawn, list) else [drawn], marginal_frequencies(people), strict=True)
    sums = sum(((project_simplex(part) - f) ** 2).sum(axis=1) for part, f in parts)
    return float(sums.mean()), float(sums.std(ddof=1) / math.sqrt(RUNS))


def _compared(name, epsilon, *, rng):
    """Return one row a mechanism: its raw total error and its repaired one, each with its standard error.

    Then two rows more: the guess 1/k, and the limit for people spread evenly. Made populations of more than four
    attributes are not repaired, to save time.
    """
    people = population(name)
    rows = []
    repaired = people.d <= 4 or not name.startswith("Syn")
    for mechanism in _made_for(people, epsilon):
        raw, off = errors.total_errors(mechanism, people, runs=RUNS)
        after, after_off = _repaired_error(mechanism, people, rng=rng) if repaired else (math.nan, math.nan)
        rows.append([type(mechanism).__name__, not mechanism.unbiased, raw, off, after, after_off])
    guess = guess_error(people)
    rows.append(["guess 1/k", True, guess, 0.0, guess, 0.0])
    rows.append(["limit", False, least_of_one(people.k, epsilon) / people.n, 0.0, math.nan, math.nan])
    columns = ("mechanism", "biased", "raw", "raw_error", "repaired", "repaired_error")
    return [dict(zip(columns, row, strict=True)) for row in rows]


def load():
    """Return the table: population, epsilon, mechanism, biased, raw, raw_error, repaired, repaired_error."""
    return pd.read_csv(str(FILE))


def _main():
    """Compute the whole table and write it, in some minutes on one core."""
    settings = [{"name": name, "epsilon": epsilon} for name in populations() for epsilon in BUDGETS]
    table = sweep(_compared, settings, rng=np.random.default_rng(SEED), label="head to head")
    table.rename(columns={"name": "population"}).to_csv(str(FILE), index=False, float_format="%.6g")


if __name__ == "__main__":
    _main()

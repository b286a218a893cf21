"""Budget splitting and fake data at their best settings, found by search: the rivals in every comparison of the book.

`python -m ldp_lib.book.best_settings` writes `ldp_lib/data/best_settings.csv` anew; a test computes parts of it again.
"""

import itertools
import math

import numpy as np
import pandas as pd
from scipy.optimize import minimize
from scipy.special import softmax

from ldp_lib import datasets, grr, pure, subset
from ldp_lib.book import head_to_head
from ldp_lib.book.sweeps import sweep
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.sampled import AskSome, OneQuestion
from ldp_lib.survey import errors, planner
from ldp_lib.tables.sampled import ask_pairs

ADULT = (9, 16, 7, 15, 6, 5, 2, 2)
BUDGETS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0)
UNIFORM = {"Adult's domain": ADULT, "four of 4": (4,) * 4, "ten of 2": (2,) * 10}
TABLES = {"8 of 2": (2,) * 8, "four of 4": (4,) * 4, "four of Adult's": (6, 5, 2, 2), "Adult's domain": ADULT}
FILE = datasets.DATA / "best_settings.csv"


def uniform_population(k):
    """Return users whose values are uniform in each attribute."""
    n = 20 * math.lcm(*k)
    return Population.from_records(np.column_stack([np.arange(n) % size for size in k]), k=k)


def _subset_error(epsilon, k):
    """Return n times the total variance of subset selection at its best size, the data held fixed."""
    return float(subset.error(math.exp(epsilon), k, np.arange(1, k)).min()) - (1 - 1 / k)


def _split_error(k, budgets):
    """Return n times the total variance of shares if each attribute is reported by subset selection at its budget."""
    return sum(map(_subset_error, budgets, k))


def _split_tables_error(k, budgets):
    """Return n times the total variance of all tables of two attributes, the data held fixed; else `_split_error`."""
    lengths = [1 + _subset_error(b, size) for b, size in zip(budgets, k, strict=True)]
    return sum(a * b - 1 for a, b in itertools.combinations(lengths, 2))


def constant_fakes(f):
    """Return the fakes of least variance: always the most frequent value. Proved in the chapter `fake_data`."""
    return 1.0 * (np.arange(len(f)) == np.argmax(f))


def _best_shares(goal, k):
    """Return positive shares with sum 1 at which `goal(shares)` is least, by local searches from three starts."""

    starts = [np.log(np.array(k, dtype=float)) * power for power in (0, 1 / 3, 1)]
    ends = [minimize(lambda z: math.log(goal(softmax(z))), start, method="BFGS") for start in starts]
    return softmax(min(ends, key=lambda end: round(end.fun, 9)).x)


def _fakes_error(people, epsilon, make, weights=None):
    """Return n times the total error of RS+RFD, the attributes sampled with these weights or, if not given, the best.

    The fakes of an attribute with shares f are drawn from `make(f)`; what is sampled is reported by GRR.
    """
    parts = [(f, *grr.probabilities(math.exp(epsilon), len(f)), make(f)) for f in marginal_frequencies(people)]

    def goal(shares):
        return sum(
            pure.variance(f, 1, w * p + (1 - w) * r, w * q + (1 - w) * r).sum()
            for w, (f, p, q, r) in zip(shares, parts, strict=True)
        )

    return goal(_best_shares(goal, people.k) if weights is None else weights)


def constant_sets(f, size):
    """Return the shares of fakes that always are the set of the `size` most frequent values."""
    fake = np.zeros(len(f))
    fake[np.argsort(-f, kind="stable")[:size]] = 1.0
    return fake


def _constant_set_error(f, epsilon, w):
    """Return n times the total variance of one attribute, asked with probability w, by subset selection at its best
    size; who is not asked sends the constant set of that size. Unbiased as any pure report is, and size 1 is GRR."""
    found = []
    for size in range(1, len(f)):
        (p, q), fake = subset.probabilities(math.exp(epsilon), len(f), size), constant_sets(f, size)
        found.append(pure.variance(f, 1, w * p + (1 - w) * fake, w * q + (1 - w) * fake).sum())
    return min(found)


def _for_shares(name, epsilon, *, rng=None):
    """Return one row a mechanism for the shares of each attribute: n times its total variance, the data held fixed."""
    people = uniform_population(UNIFORM[name]) if name in UNIFORM else head_to_head.population(name)
    k = people.k
    equal = np.full(people.d, 1 / people.d)
    asked = {
        "one question": {},
        "one question by GRR": {"oracle": grr.GRR},
        "one question by GRR, equal weights": {"oracle": grr.GRR, "weights": equal},
    }
    made = {kind: OneQuestion(k=k, epsilon=epsilon, **options) for kind, options in asked.items()}
    made["some questions"] = AskSome(k=k, epsilon=epsilon)
    found = {kind: people.n * errors.total_error(mechanism, people) for kind, mechanism in made.items()}
    found["split"] = _split_error(k, epsilon * _best_shares(lambda part: _split_error(k, epsilon * part), k))
    for kind, make in {"constant fakes": constant_fakes, "uniform fakes": lambda f: 1 / len(f) + 0 * f}.items():
        found[kind] = _fakes_error(people, epsilon, make)
        found[f"{kind}, equal weights"] = _fakes_error(people, epsilon, make, equal)

    def by_sets(shares):
        return sum(map(_constant_set_error, marginal_frequencies(people), itertools.repeat(epsilon), shares))

    found["constant sets"], found["constant sets, equal weights"] = by_sets(_best_shares(by_sets, k)), by_sets(equal)
    return [{"of": "shares", "mechanism": kind, "error": error} for kind, error in found.items()]


def _for_tables(name, epsilon, *, rng=None):
    """Return one row a mechanism for all tables of two attributes, users uniform, else as `_for_shares`."""
    k = TABLES[name]
    parts = _best_shares(lambda part: _split_tables_error(k, epsilon * part), k)
    found = {"split": _split_tables_error(k, epsilon * parts), "pairs": planner.pairs_error(ask_pairs(k, epsilon), 1)}
    return [{"of": "tables", "mechanism": kind, "error": error} for kind, error in found.items()]


def load(of="shares"):
    """Return the table for shares or tables: errors times n by (people, epsilon), one column a mechanism."""
    with FILE.open(encoding="utf-8") as file:
        table = pd.read_csv(file)
    return table[table["of"] == of].pivot(index=["name", "epsilon"], columns="mechanism", values="error")


def _main():
    """Compute the whole table and write it, in a minute on one core."""
    several = [name for name in head_to_head.populations() if head_to_head.population(name).d > 1]
    wide = [{"name": name, "epsilon": b} for name in (*UNIFORM, "adult 8") for b in BUDGETS]
    more = [{"name": name, "epsilon": b} for name in several if name != "adult 8" for b in head_to_head.BUDGETS]
    tables = [{"name": name, "epsilon": b} for name in TABLES for b in BUDGETS]
    parts = [
        sweep(f, rows, rng=np.random.default_rng(1)) for f, rows in ((_for_shares, wide + more), (_for_tables, tables))
    ]
    pd.concat(parts).to_csv(str(FILE), index=False, float_format="%.6g")


if __name__ == "__main__":
    _main()

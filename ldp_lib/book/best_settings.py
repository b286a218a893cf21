"""Budget splitting and fake data at their best settings, found by search: the rivals in comparisons of the book.

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
from ldp_lib.population import marginal_frequencies
from ldp_lib.sampled import AskSome, OneQuestion
from ldp_lib.survey import errors, planner
from ldp_lib.tables.sampled import ask_pairs

ADULT = (9, 16, 7, 15, 6, 5, 2, 2)
BUDGETS = (0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0)
UNIFORM = {"Adult's domain": ADULT, "four of 4": (4,) * 4, "ten of 2": (2,) * 10}
TABLES = {"8 of 2": (2,) * 8, "four of 4": (4,) * 4, "four of Adult's": ADULT[4:], "Adult's domain": ADULT}
FILE = datasets.DATA / "best_settings.csv"


def uniform_population(k):
    """Return users whose values are uniform in each attribute, so many that groups of a few people do not count."""
    return planner.plug_in_population([np.full(size, 1 / size) for size in k], 100_000 * math.lcm(*k))


def _subset_error(epsilon, k):
    """Return n times the total variance of subset selection at its best size, the data held fixed."""
    return subset.error(math.exp(epsilon), k, np.arange(1, k)).min() - 1 + 1 / k


def _split_error(k, budgets):
    """Return n times the total variance of shares if each attribute is reported by subset selection at its budget."""
    return sum(map(_subset_error, budgets, k))


def _split_tables_error(k, budgets):
    """Return n times the total variance of all tables of two attributes, the data held fixed; else `_split_error`."""
    lengths = [1 + error for error in map(_subset_error, budgets, k)]
    return sum(a * b - 1 for a, b in itertools.combinations(lengths, 2))


def constant_fakes(f, size=1):
    """Return the fake for all of least variance, by counts: the most frequent values. Proved in `fake_data` for one."""
    return 1.0 * (np.argsort(np.argsort(-f, kind="stable")) < size)


def _best_shares(goal, k):
    """Return positive shares with sum 1 at which `goal(shares)` is least, by local searches from three starts."""

    starts = np.outer((0, 1 / 3, 1), np.log(k))
    ends = [minimize(lambda z: math.log(goal(softmax(z))), start, method="BFGS") for start in starts]
    return softmax(min(ends, key=lambda end: round(end.fun, 9)).x)


def _fakes_error(people, epsilon, make, weights=None):
    """Return n times the total error of RS+RFD, the attributes sampled with these weights or, if not given, the best.

    `make` returns pairs of a size and of fakes for an attribute with shares f; what is sampled is reported by subset
    selection of that size (GRR is size 1), and the pair with the least error is taken. Fakes of two rows leave a choice
    for each value.
    """
    e, ways = math.exp(epsilon), []
    for f in marginal_frequencies(people):
        ways.append([(f, *subset.probabilities(e, len(f), size), np.array(fake)) for size, fake in make(f)])

    def goal(shares):
        return sum(
            min(np.atleast_2d(pure.variance(f, 1, r + w * (p - r), r + w * (q - r))).min(0).sum() for f, p, q, r in way)
            for w, way in zip(shares, ways, strict=True)
        )

    return goal(_best_shares(goal, people.k) if weights is None else weights)


def _for_shares(name, epsilon, *, rng=None):
    """Return one row a mechanism for the shares of each attribute: n times its total variance, the data held fixed."""
    people = uniform_population(UNIFORM[name]) if name in UNIFORM else head_to_head.population(name)
    k, equal = people.k, np.ones(people.d) / people.d
    alone = []
    for f in marginal_frequencies(people):
        told = pure.variance(f, 1, *grr.probabilities(math.exp(epsilon), len(f)))
        alone.append(told.sum() + 1 - f @ f)
    asked = {
        "one question": {},
        "one question by GRR": {"oracle": grr.GRR, "weights": np.sqrt(alone)},  # the best for these users
        "one question by GRR, equal weights": {"oracle": grr.GRR, "weights": equal},
    }
    made = {kind: OneQuestion(k=k, epsilon=epsilon, **options) for kind, options in asked.items()}
    made["some questions"] = AskSome(k=k, epsilon=epsilon)
    found = {kind: people.n * errors.total_error(mechanism, people) for kind, mechanism in made.items()}
    found["split"] = _split_error(k, epsilon * _best_shares(lambda part: _split_error(k, epsilon * part), k))
    fakes = {"constant fakes": lambda f: [(1, constant_fakes(f))], "uniform fakes": lambda f: [(1, 1 / len(f))]}
    fakes["constant sets"] = lambda f: [(size, constant_fakes(f, size)) for size in range(1, len(f))]
    fakes["constant sets of any size"] = lambda f: [(size, [[0], [1]]) for size in range(1, len(f))]
    for kind, make in fakes.items():
        found[kind] = _fakes_error(people, epsilon, make)
        found[f"{kind}, equal weights"] = _fakes_error(people, epsilon, make, equal)
    return [{"of": "shares", "mechanism": kind, "error": error} for kind, error in found.items()]


def _for_tables(name, epsilon, *, rng=None):
    """Return one row a mechanism for all tables of two attributes, users uniform, else as `_for_shares`."""
    k = TABLES[name]
    parts = _best_shares(lambda part: _split_tables_error(k, epsilon * part), k)
    found = {"split": _split_tables_error(k, epsilon * parts), "pairs": planner.pairs_error(ask_pairs(k, epsilon), 1)}
    return [{"of": "tables", "mechanism": kind, "error": error} for kind, error in found.items()]


def load(of="shares"):
    """Return the table for shares or tables: errors times n by (people, epsilon), one column a mechanism."""
    table = pd.read_csv(str(FILE))
    return table[table["of"] == of].pivot(index=["name", "epsilon"], columns="mechanism", values="error")


def _main():
    """Compute the whole table and write it, in a minute on one core."""
    several = [name for name in head_to_head.populations() if head_to_head.population(name).d > 1]
    budgets = dict.fromkeys(several, head_to_head.BUDGETS) | dict.fromkeys([*UNIFORM, "adult 8"], BUDGETS)
    shares = [{"name": name, "epsilon": b} for name in budgets for b in budgets[name]]
    tables = [{"name": name, "epsilon": b} for name in TABLES for b in BUDGETS]
    rng = np.random.default_rng(1)  # of no use here: all is exact
    parts = [sweep(_for_shares, shares, rng=rng), sweep(_for_tables, tables, rng=rng)]
    pd.concat(parts).to_csv(str(FILE), index=False, float_format="%.6g")


if __name__ == "__main__":
    _main()

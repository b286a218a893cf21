"""Published errors of Corr-RR and its rivals beside those of the exact distribution: one sweep over many settings."""

import math

import numpy as np
import pandas as pd

from ldp_lib import datasets, postprocess
from ldp_lib.book.printed_corr_rr import AppendixCorrRR
from ldp_lib.book.sweeps import mse
from ldp_lib.corr_rr import CorrRR, tree_law
from ldp_lib.fake_data import RSFD
from ldp_lib.fake_data.two_phase import TwoPhaseRSRFD
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.splitting import SPL

METHODS = ("SPL", "RS+FD", "RS+RFD", "Corr-RR")
SKEWED = (0.4, 0.3, 0.2, 0.1)
UNIFORM = (0.25,) * 4
FIXED = {"4", "6", "7", "8", "10", "14"}  # figures with one data set for all runs
COLUMNS = ["panel", "x", "method", "shown", "runs", "ours", "spread", "behind", "data"]


def capped(v):
    """Cut off at 0 and 1, then divide by the sum."""
    return postprocess.clip_normalize(np.minimum(v, 1))


def phase_errors(mechanism, people, *, rng, runs, second=None, weight=None):
    """Return the errors of runs of a mechanism in two phases, (runs,).

    `second` is applied to Phase II's estimates; `weight` is that of Phase I, by default its share of the users.
    """
    first, last = mechanism.simulate_phases(people, rng=rng, runs=runs)
    share = mechanism.first_users(people.n) / people.n if weight is None else weight
    last = [second(v) for v in last] if second else last
    found = [share * a + (1 - share) * b for a, b in zip(first, last, strict=True)]
    return mse(found, marginal_frequencies(people))


def expected_error(mechanism, people):
    """Return the exact expected error: squared bias and variance, averaged over values, then over attributes."""
    truth = marginal_frequencies(people)
    parts = zip(mechanism.mean(people), mechanism.variance(people), truth, strict=True)
    return float(np.mean([((mean - f) ** 2 + v).mean() for mean, v, f in parts]))


def shuffled(people, rng):
    """Return the same users with each attribute permuted among them: all frequencies stay, all correlation goes."""
    columns = [rng.permutation(column) for column in people.users().T]
    return Population.from_records(np.column_stack(columns), k=people.k)


def _population(point, rng):
    """Return the users of a point of `printed_values.load`: the real data, or drawn from the copying tree."""
    if not point.parents:
        return datasets.load_corr_rr(point.data)
    law = tree_law(UNIFORM if point.panel[:-1] in ("9", "10") else SKEWED, point.rho, point.parents)
    return Population.from_counts(rng.multinomial(20_000, law.ravel()).reshape(law.shape))


def _data_spread(point, mechanism, people, rng):
    """Return the standard deviation, over data sets, of the exact error with the mean table of 20 runs.

    It is 0 where the figure has new data in each run.
    """
    if point.panel[:-1] not in FIXED:
        return 0.0
    first, _ = mechanism.simulate_phases(people, rng=rng, runs=20)
    n2 = people.n - mechanism.first_users(people.n)
    table = mechanism.table(first, n2).mean(axis=0)
    known = CorrRR(k=mechanism.k, epsilon=mechanism.epsilon, n1=mechanism.n1, reuse=table)
    return float(np.std([expected_error(known, _population(point, rng)) for _ in range(20)]))


def sweep_points(points, *, seed, runs=100, methods=METHODS, corr=AppendixCorrRR):
    """Return a table with one row a point and method: what is shown, and ours.

    Columns: panel, x, method, shown, runs (behind what is shown), ours (the mean error), spread (of one run's error),
    behind (the runs behind ours, infinite if exact), data (`_data_spread`). SPL and RS+FD raw and exact, RS+RFD with
    Phase II `capped`, Corr-RR raw with the class `corr`.
    """
    rng = np.random.default_rng(seed)
    rows = []
    for point in points.itertuples(index=False):
        shown = dict(zip(METHODS, point[-4:], strict=True))
        people = _population(point, rng)
        for name in methods:
            at = [point.panel, point.x, name, shown[name], point.runs]
            rows.append([*at, *_ours(name, point, people, rng, runs, corr)])
    return pd.DataFrame(rows, columns=COLUMNS)


def _ours(name, point, people, rng, runs, corr):
    one = {"k": people.k, "epsilon": point.epsilon}
    if name in ("SPL", "RS+FD"):
        mechanism = {"SPL": SPL, "RS+FD": RSFD}[name](**one)
        errors = mse(mechanism.simulate(people, rng=rng, runs=runs), marginal_frequencies(people))
        return expected_error(mechanism, people), errors.std(), math.inf, 0.0
    mechanism = (TwoPhaseRSRFD if name == "RS+RFD" else corr)(**one, n1=point.first)
    errors = phase_errors(mechanism, people, rng=rng, runs=runs, second=capped if name == "RS+RFD" else None)
    data = _data_spread(point, mechanism, people, rng) if name == "Corr-RR" else 0.0
    return errors.mean(), errors.std(), runs, data


def distance(frame, runs=None):
    """Return how far what is shown lies from ours, in standard errors of a mean of so many runs."""
    noise = frame.spread**2 * (1 / (frame.runs if runs is None else runs) + 1 / frame.behind)
    return (frame.shown - frame.ours) / np.sqrt(noise + frame["data"] ** 2)


def off(part, factor=1.0):
    """Return the farther of the sums of distances and of their squares, in their standard deviations.

    What is shown is multiplied by the factor first.
    """
    z = distance(part.assign(shown=factor * part.shown))
    squares = ((z**2).sum() - len(z)) / (2 * len(z)) ** 0.5
    return max(abs(z.sum()) / len(z) ** 0.5, abs(squares))

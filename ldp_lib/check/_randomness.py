"""The parts of a mechanism's contract that look at its random numbers: by enumeration and by simulation."""

import contextlib
import itertools
import math

import numpy as np

from ldp_lib import channel
from ldp_lib.check import distances
from ldp_lib.population import Population, marginal_frequencies


def need(condition, message):
    if not condition:
        raise AssertionError(message)


def flat(estimate):
    """The estimate itself, or a list of one array an attribute joined into one."""
    return np.concatenate(estimate, axis=-1) if isinstance(estimate, list) else np.asarray(estimate)


def listed_channel(mechanism):
    try:
        matrix = mechanism.channel()
    except ValueError as error:  # too large to list
        need("channel" in str(error), f"channel() says {error}")
        return None
    try:
        return channel.check_channel(matrix)
    except ValueError as error:
        raise AssertionError(f"channel() is none: {error}") from None


def enumeration(mechanism, population, seed, runs):
    """The reports themselves, and mean and variance of one and of two users' estimate, from all their reports."""
    matrix, reports = listed_channel(mechanism), None
    with contextlib.suppress(ValueError):
        reports = np.ascontiguousarray(mechanism.reports())
    if matrix is None or reports is None or matrix.shape[1] > 200:
        return
    last = len(matrix) - 1
    need(len(reports) == matrix.shape[1], f"reports() and channel() have {len(reports)}, {matrix.shape[1]}")
    rows = np.array(list(itertools.product(*map(range, np.atleast_1d(mechanism.k)))))
    rows = rows if isinstance(mechanism.k, tuple) else rows[:, 0]
    codes = {report.tobytes(): y for y, report in enumerate(reports)}
    for users in ([0], [1], [last], [0, 0], [0, last], [last, 1])[: 6 if mechanism.independent else 3]:
        if len(users) == 1:
            y = _alone(mechanism, rows[users], seed)
            need(y.dtype == reports.dtype, f"reports() has type {reports.dtype}, perturb gives {y.dtype}")
            seen = np.array([codes.get(report.tobytes(), -1) for report in np.ascontiguousarray(y)])
            far = distances.law_z(seen, {(y,): chance for y, chance in enumerate(matrix[users[0]])})
            need(far < 5, f"reports of record {users[0]} lie {far:.1f} standard errors from channel()")
        if len(codes) ** len(users) > 1_000 or not mechanism.has_exact_moments:
            continue
        outcomes = [list(ys) for ys in itertools.product(range(len(codes)), repeat=len(users))]
        weights = np.array([math.prod(matrix[u, y] for u, y in zip(users, ys, strict=True)) for ys in outcomes])
        values = np.array([flat(mechanism.estimate(reports[ys])) for ys in outcomes])
        mean, small = weights @ values, Population.from_records(rows[users], k=mechanism.k)
        for name, exact in (("mean", mean), ("variance", weights @ (values - mean) ** 2)):
            stated, scale = flat(getattr(mechanism, name)(small)), np.abs(values).max() ** 2
            near = np.allclose(stated, exact, rtol=1e-9, atol=1e-9 * scale)
            need(near, f"{name} of {len(users)} users is {stated}, by enumeration {exact}")


def _alone(mechanism, x, seed):
    """Return reports of many users with the same data, each asked alone."""
    rng = np.random.default_rng(seed)
    if mechanism.independent:
        return mechanism.perturb(np.repeat(x, 4_000, axis=0), rng=rng)
    return np.concatenate([mechanism.perturb(x, rng=rng) for _ in range(2_000)])


def independence(mechanism, population, seed, runs):
    """What two users' reports say must be uncorrelated, over their common random numbers, if they are independent."""
    if not mechanism.independent:
        return
    need(mechanism.least_users == 1, "users are independent, but one alone is too few")
    rng, x = np.random.default_rng(seed), population.users()[[0, -1]]
    pairs = [mechanism.perturb(x, rng=rng) for _ in range(2_000)]
    first, second = (np.array([flat(mechanism.estimate(y[[user]])) for y in pairs]) for user in (0, 1))
    products = (first - first.mean(axis=0))[:, :, None] * (second - second.mean(axis=0))[:, None]
    far = distances.mean_z(products.reshape(len(pairs), -1), 0)
    need(far < 5, f"two users' reports are correlated, {far:.1f} standard errors: they are not independent")


def bias(mechanism, population, seed, runs):
    """The mean is the true frequencies exactly where `unbiased` says so; without exact moments, as far as is seen."""
    true = np.concatenate(marginal_frequencies(population))
    if mechanism.has_exact_moments:
        gap = np.abs(flat(mechanism.mean(population)) - true).max()
        need((gap < 1e-9) == mechanism.unbiased, f"mean is {gap:.3g} off, unbiased is {mechanism.unbiased}")
    elif mechanism.unbiased:
        drawn = flat(mechanism.simulate(population, rng=np.random.default_rng(seed), runs=10 * runs))
        far = distances.mean_z(drawn, true)
        need(far < 5, f"unbiased is True, but the mean lies {far:.1f} standard errors off the true frequencies")


def distributions(mechanism, population, seed, runs):
    rng, x = np.random.default_rng(seed), population.users()
    users = np.array([flat(mechanism.estimate(mechanism.perturb(x, rng=rng))) for _ in range(runs)])
    simulated = flat(mechanism.simulate(population, rng=rng, runs=10 * runs))
    if mechanism.has_exact_moments:
        mean, variance = flat(mechanism.mean(population)), flat(mechanism.variance(population))
        samples = {"users": users, "simulate": simulated}
    else:  # ten times as many runs settle the moments well enough
        mean, variance = simulated.mean(axis=0), simulated.var(axis=0, ddof=1)
        samples = {"users": users}
    for name, sample in samples.items():
        far = distances.mean_z(sample, mean)
        need(far < 5, f"the mean of {name} lies {far:.1f} standard errors off")
        far = distances.variance_z(sample, variance)
        need(far < 5, f"the variance of {name} lies {far:.1f} standard errors off")
        # What was compared could have failed: a mean off by an eighth of a deviation, a variance off by a fifth.
        power = min(
            distances.mean_z(sample, mean + np.sqrt(variance) / 8), distances.variance_z(sample, 1.2 * variance)
        )
        need(power > 5, f"{runs} runs of {name} are too few to see a fault (power {power:.1f})")
    far = distances.variance_z(users, np.cov(simulated.T))
    need(far < 5, f"covariances of users and of simulate lie {far:.1f} standard errors apart")

"""A check of the whole contract of a mechanism, on any object, the reader's own too."""

import contextlib
import itertools
import math
import pickle

import numpy as np

from ldp_lib import channel, inputs
from ldp_lib.check import distances
from ldp_lib.population import Population

_METHODS = ["perturb", "estimate", "simulate", "mean", "variance", "channel", "serves"]


def check_mechanism(mechanism, population=None, *, seed=1, runs=6_000):
    """Run the whole contract on a mechanism.

    Parameters
    ----------
    mechanism : object
        Any instance, of this library or of your own.
    population : Population, optional
        Users to try it on, some dozens. If not given, a skewed one with a value or record that nobody holds.
    seed : int
        Seed of all coins.
    runs : int
        Number of surveys with users, each by `perturb` and `estimate`. Ten times as many are simulated.

    Raises
    ------
    AssertionError
        If a part of the contract is broken; the message names the mechanism and the part.
    """
    missing = [name for name in ["k", "epsilon", "has_exact_moments", *_METHODS] if not hasattr(mechanism, name)]
    _need(not missing, mechanism, f"lacks {', '.join(missing)}")
    _attributes(mechanism)
    population = _population(mechanism.k) if population is None else population
    for part in (_identity, _domain, _shapes, _coins, _errors, _privacy, _enumeration):
        part(mechanism, population, seed)
    _laws(mechanism, population, seed, runs)


def _need(condition, mechanism, message):
    if not condition:
        raise AssertionError(f"{mechanism!r} breaks the contract: {message}")


def _population(k):
    if isinstance(k, tuple) and math.prod(k) > 1_000:
        steps = np.arange(40)[:, None] * np.array([1, *k[:-1]])
        return Population.from_records(np.vstack([steps % np.array(k), np.zeros((20, len(k)), int)]), k=k)
    if isinstance(k, tuple) and len(k) > 1:
        counts = np.resize([1, 0, 3, 2, 20], k)
        counts[-1] *= np.arange(k[-1]) != 1
        return Population.from_counts(counts)
    return Population.from_counts(np.resize([7, 0, 3, 2, 4, 1], k))


def _flat(estimate):
    """The estimate itself, or a list of one array an attribute joined into one."""
    return np.concatenate(estimate, axis=-1) if isinstance(estimate, list) else np.asarray(estimate)


def _identity(mechanism, population, seed):
    import ldp_lib

    names = {"inf": math.inf, **vars(ldp_lib), type(mechanism).__name__: type(mechanism)}
    for way, copy in (
        ("the value of its repr", eval(repr(mechanism), names)),
        ("what comes back from pickle", pickle.loads(pickle.dumps(mechanism))),
    ):
        _need(type(copy) is type(mechanism), mechanism, f"{way} is a {type(copy).__name__}")
        _need(copy == mechanism and hash(copy) == hash(mechanism), mechanism, f"it differs from {way}: {copy!r}")
    _need(mechanism != object(), mechanism, "it equals any object")
    with contextlib.suppress(AttributeError):
        mechanism.epsilon = None
        _need(False, mechanism, "epsilon can be set after it was made")


def _attributes(mechanism):
    _need(0 < mechanism.epsilon < math.inf, mechanism, f"epsilon is {mechanism.epsilon!r}, not a number above 0")
    several, sizes = isinstance(mechanism.k, tuple), mechanism.k if isinstance(mechanism.k, tuple) else (mechanism.k,)
    kind = "a tuple of ints" if several else "an int"
    _need(all(type(size) is int and size >= 2 for size in sizes), mechanism, f"k is {mechanism.k!r}, not {kind}")
    _need(type(mechanism.has_exact_moments) is bool, mechanism, "has_exact_moments is not a bool")


def _domain(mechanism, population, seed):
    serves = type(mechanism).serves
    _need(serves(mechanism.k) is True, mechanism, f"serves({mechanism.k!r}) is not True")
    other = mechanism.k[0] if isinstance(mechanism.k, tuple) else (mechanism.k, mechanism.k)
    for k in (other, 1, 0, -3, (), (1,), (0, 2), 2.5, "2", None):
        _need(serves(k) is False, mechanism, f"serves({k!r}) is {serves(k)!r}, not False")
        try:
            type(mechanism)(k=k, epsilon=1.0)
        except (ValueError, TypeError) as error:
            _need("k" in str(error).split() or "k=" in str(error), mechanism, f"its error for k={k!r} is {error}")
            continue
        _need(False, mechanism, f"it is made for k={k!r}, which it does not serve")


def _shapes(mechanism, population, seed):
    rng = np.random.default_rng(seed)
    estimate = mechanism.estimate(mechanism.perturb(population.users(), rng=rng))
    values = {"estimate": (estimate, ()), "simulate": (mechanism.simulate(population, rng=rng, runs=3), (3,))}
    for name in ("mean", "variance"):
        if mechanism.has_exact_moments:
            values[name] = getattr(mechanism, name)(population), ()
        else:
            _raises(mechanism, (inputs.NoExactMoments,), "simulate", getattr(mechanism, name), population)
    for name, (value, runs) in values.items():
        several = isinstance(mechanism.k, tuple)
        _need(isinstance(value, list if several else np.ndarray), mechanism, f"{name} gives a {type(value).__name__}")
        shapes = [part.shape for part in (value if several else [value])]
        wanted = [(*runs, size) for size in (mechanism.k if several else (mechanism.k,))]
        _need(shapes == wanted, mechanism, f"{name} has shapes {shapes}, not {wanted}")
        _need(_flat(value).dtype.kind == "f", mechanism, f"{name} has type {_flat(value).dtype}, not float")
        _need(np.isfinite(_flat(value)).all(), mechanism, f"{name} is not finite")
    if mechanism.has_exact_moments:
        _need((_flat(values["variance"][0]) >= 0).all(), mechanism, "variance is negative")


def _coins(mechanism, population, seed):
    x = population.users()
    before = x.copy()
    first = mechanism.perturb(x, rng=np.random.default_rng(seed))
    _need(np.array_equal(x, before), mechanism, "perturb changes the users' data")
    kept = pickle.dumps(first)
    mechanism.estimate(first)
    _need(pickle.dumps(first) == kept, mechanism, "estimate changes the reports")
    again, other = (pickle.dumps(mechanism.perturb(x, rng=np.random.default_rng(s))) for s in (seed, seed + 1))
    _need(kept == again, mechanism, "the same generator gives different reports")
    _need(kept != other, mechanism, "another generator gives the same reports")
    draws = [_flat(mechanism.simulate(population, rng=np.random.default_rng(seed), runs=2)) for _ in range(2)]
    _need(np.array_equal(*draws), mechanism, "the same generator gives different simulated estimates")
    few = x[-getattr(mechanism, "least_users", 1) :]
    alone = mechanism.estimate(mechanism.perturb(few, rng=np.random.default_rng(seed)))
    _need(np.isfinite(_flat(alone)).all(), mechanism, f"the estimate from {len(few)} users is not finite")


def _raises(mechanism, kinds, word, function, *args, **kwargs):
    call = f"{function.__name__}{args!r} {kwargs!r}"
    try:
        function(*args, **kwargs)
    except kinds as error:
        _need(word in str(error), mechanism, f"the error of {call} does not name {word}: {error}")
        return
    except Exception as error:
        _need(False, mechanism, f"{call} raises {type(error).__name__}: {error}")
    _need(False, mechanism, f"{call} raises nothing")


def _errors(mechanism, population, seed):
    either, rng, x = (TypeError, ValueError), np.random.default_rng(seed), population.users()
    stranger = _population((2,) * (np.size(mechanism.k) + 1))  # one attribute more
    for wrong in (None, seed, np.random):
        _raises(mechanism, either, "rng", mechanism.perturb, x, rng=wrong)
        _raises(mechanism, either, "rng", mechanism.simulate, population, rng=wrong, runs=2)
    for wrong in (0, -1, 2.5, None):
        _raises(mechanism, either, "runs", mechanism.simulate, population, rng=rng, runs=wrong)
    _raises(mechanism, either, "population", mechanism.simulate, stranger, rng=rng, runs=2)
    if mechanism.has_exact_moments:
        _raises(mechanism, either, "population", mechanism.mean, stranger)
        _raises(mechanism, either, "population", mechanism.variance, stranger)
    too_large, negative = x.copy(), x.astype(np.int64)
    too_large[0], negative[-1] = np.max(mechanism.k), -1
    for wrong in (too_large, negative, x + 0.5, x[:0], x[None, None], "x", None):
        _raises(mechanism, either, "x", mechanism.perturb, wrong, rng=rng)
    for wrong in (None, "y", [], x[None, None], np.full(x.shape, np.nan)):
        _raises(mechanism, either, "y", mechanism.estimate, wrong)


def _channel(mechanism):
    try:
        matrix = mechanism.channel()
    except ValueError as error:  # too large to list
        _need("channel" in str(error), mechanism, f"channel() says {error}")
        return None
    try:
        return channel.check_channel(matrix)
    except ValueError as error:
        raise AssertionError(f"{mechanism!r} breaks the contract: channel() is none: {error}") from None


def _privacy(mechanism, population, seed):
    matrix = _channel(mechanism)
    if matrix is not None:
        records = math.prod(mechanism.k) if isinstance(mechanism.k, tuple) else mechanism.k
        _need(len(matrix) == records, mechanism, f"channel() has {len(matrix)} rows, not {records}, one a record")
        spent = math.log(channel.privacy_ratio(matrix))
        _need(spent <= mechanism.epsilon + 1e-9, mechanism, f"channel() spends {spent}, more than epsilon")
    if hasattr(mechanism, "realised_epsilon"):
        proved = mechanism.realised_epsilon()
        _need(0 <= proved <= mechanism.epsilon, mechanism, f"realised_epsilon() is {proved}")


def _enumeration(mechanism, population, seed):
    """The coins themselves, and mean and variance of one and of two users' estimate, from all their reports."""
    matrix = _channel(mechanism) if hasattr(mechanism, "reports") else None
    if matrix is None or matrix.shape[1] > 200:
        return
    reports, last = np.ascontiguousarray(mechanism.reports()), len(matrix) - 1
    _need(len(reports) == matrix.shape[1], mechanism, f"reports() and channel() have {len(reports)}, {matrix.shape[1]}")
    rows = np.array(list(itertools.product(*map(range, np.atleast_1d(mechanism.k)))))
    rows = rows if isinstance(mechanism.k, tuple) else rows[:, 0]
    codes = {report.tobytes(): y for y, report in enumerate(reports)}
    for users in ([0], [1], [last], [0, 0], [0, last], [last, 1]):
        if len(users) == 1:
            y = mechanism.perturb(np.repeat(rows[users], 4_000, axis=0), rng=np.random.default_rng(seed))
            _need(y.dtype == reports.dtype, mechanism, f"reports() has type {reports.dtype}, perturb gives {y.dtype}")
            seen = np.array([codes.get(report.tobytes(), -1) for report in np.ascontiguousarray(y)])
            far = distances.law_z(seen, {(y,): chance for y, chance in enumerate(matrix[users[0]])})
            _need(far < 5, mechanism, f"coins of record {users[0]} lie {far:.1f} standard errors from channel()")
        if len(codes) ** len(users) > 1_000 or not mechanism.has_exact_moments:
            continue
        outcomes = [list(ys) for ys in itertools.product(range(len(codes)), repeat=len(users))]
        weights = np.array([math.prod(matrix[u, y] for u, y in zip(users, ys, strict=True)) for ys in outcomes])
        values = np.array([_flat(mechanism.estimate(reports[ys])) for ys in outcomes])
        mean, small = weights @ values, Population.from_records(rows[users], k=mechanism.k)
        for name, exact in (("mean", mean), ("variance", weights @ (values - mean) ** 2)):
            stated, scale = _flat(getattr(mechanism, name)(small)), np.abs(values).max() ** 2
            near = np.allclose(stated, exact, rtol=1e-9, atol=1e-9 * scale)
            _need(near, mechanism, f"{name} of {len(users)} users is {stated}, by enumeration {exact}")


def _laws(mechanism, population, seed, runs):
    rng, x = np.random.default_rng(seed), population.users()
    users = np.array([_flat(mechanism.estimate(mechanism.perturb(x, rng=rng))) for _ in range(runs)])
    simulated = _flat(mechanism.simulate(population, rng=rng, runs=10 * runs))
    if mechanism.has_exact_moments:
        mean, variance = _flat(mechanism.mean(population)), _flat(mechanism.variance(population))
        samples = {"users": users, "simulate": simulated}
    else:  # ten times as many runs settle the moments well enough
        mean, variance = simulated.mean(axis=0), simulated.var(axis=0, ddof=1)
        samples = {"users": users}
    for name, sample in samples.items():
        far = distances.mean_z(sample, mean)
        _need(far < 5, mechanism, f"the mean of {name} lies {far:.1f} standard errors off")
        far = distances.variance_z(sample, variance)
        _need(far < 5, mechanism, f"the variance of {name} lies {far:.1f} standard errors off")
        # What was compared could have failed: a mean off by an eighth of a deviation, a variance off by a fifth.
        power = min(
            distances.mean_z(sample, mean + np.sqrt(variance) / 8), distances.variance_z(sample, 1.2 * variance)
        )
        _need(power > 5, mechanism, f"{runs} runs of {name} are too few to see a fault (power {power:.1f})")
    far = distances.covariance_z(users, np.cov(simulated.T))
    _need(far < 5, mechanism, f"covariances of users and of simulate lie {far:.1f} standard errors apart")

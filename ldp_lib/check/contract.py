"""A check of the whole contract of a mechanism, on any object, the reader's own too."""

import contextlib
import copy
import dataclasses
import math
import pickle

import numpy as np

from ldp_lib import channel
from ldp_lib.check._randomness import bias, distributions, enumeration, flat, independence, listed_channel, need
from ldp_lib.mechanism import Mechanism, NoExactMoments
from ldp_lib.population import Population


def check_mechanism(mechanism, population=None, *, seed=1, runs=6_000):
    """Run every check of `CHECKS` on a mechanism, and report all that fail.

    Parameters
    ----------
    mechanism : object
        Any instance, of this library or of your own.
    population : Population, optional
        Users to try it on, some dozens. If not given, a skewed one with a value or record that nobody holds.
    seed : int
        Seed of all random numbers.
    runs : int
        Number of surveys with users, each by `perturb` and `estimate`. Ten times as many are simulated.

    Raises
    ------
    AssertionError
        If a part of the contract is broken; the message names the mechanism and, in a line each, every broken part.
        If an attribute is missing or wrong, or raises, it says that alone, because the checks need the attributes.
    """
    faults = []
    try:
        _attributes(mechanism)
        population = _population(mechanism.k) if population is None else population
    except Exception as error:
        faults.append(f"attributes: {error if isinstance(error, AssertionError) else f'raises {error!r}'}")
    for name, check in {} if faults else CHECKS.items():
        try:
            check(mechanism, population, seed, runs)
        except AssertionError as error:
            faults.append(f"{name}: {error}")
        except Exception as error:
            faults.append(f"{name}: raises {type(error).__name__}: {error}")
    if faults:
        raise AssertionError("\n- ".join([f"{mechanism!r} breaks the contract:", *faults]))


def _population(k):
    if isinstance(k, tuple) and math.prod(k) > 1_000:
        steps = np.arange(40)[:, None] * np.array([1, *k[:-1]])
        return Population.from_records(np.vstack([steps % np.array(k), np.zeros((20, len(k)), int)]), k=k)
    if isinstance(k, tuple) and len(k) > 1:
        counts = np.resize([1, 0, 3, 2, 20], k)
        counts[-1] *= np.arange(k[-1]) != 1
        return Population.from_counts(counts)
    return Population.from_counts(np.resize([7, 0, 3, 2, 4, 1], k))


def _identity(mechanism, population, seed, runs):
    names, parts = {"inf": math.inf}, [mechanism]
    while parts:
        part = parts.pop()
        names |= {kind.__name__: kind for kind in (type(part), part) if isinstance(kind, type)}
        given = [getattr(part, name) for name in getattr(type(part), "__dataclass_fields__", ())]
        parts += [*given, *(part if isinstance(part, tuple) else ())]
    for way, clone in (
        ("the value of its repr", eval(repr(mechanism), names)),
        ("what comes back from pickle", pickle.loads(pickle.dumps(mechanism))),
    ):
        need(type(clone) is type(mechanism), f"{way} is a {type(clone).__name__}")
        need(clone == mechanism and hash(clone) == hash(mechanism), f"it differs from {way}: {clone!r}")
    need(mechanism != object(), "it equals any object")
    with contextlib.suppress(AttributeError):
        mechanism.epsilon = None
        need(False, "epsilon can be set after it was made")


def _attributes(mechanism):
    names = [*Mechanism.__annotations__, *(name for name in vars(Mechanism) if not name.startswith("_"))]
    missing = [name for name in dict.fromkeys(names) if not hasattr(mechanism, name)]
    need(not missing, f"lacks {', '.join(missing)}")
    need(0 < mechanism.epsilon < math.inf, f"epsilon is {mechanism.epsilon!r}, not a number above 0")
    several = isinstance(mechanism.k, tuple)
    sizes, kind = (mechanism.k, "a tuple of ints") if several else ((mechanism.k,), "an int")
    need(all(type(size) is int and size >= 2 for size in sizes), f"k is {mechanism.k!r}, not {kind}")
    for name in ("has_exact_moments", "independent", "unbiased", "needs_dealer"):
        need(type(getattr(mechanism, name)) is bool, f"{name} is not a bool")
    for name, most in (("least_users", math.inf), ("joint", len(sizes))):
        value = getattr(mechanism, name)
        need(type(value) is int and 1 <= value <= most, f"{name} is {value!r}, not an int from 1 to {most}")
    need(isinstance(mechanism.dtype, np.dtype | None), f"dtype is {mechanism.dtype!r}, not a numpy.dtype or None")


def _replace(mechanism, population, seed, runs):
    """Parameters as given stay as given, so a copy is equal, and one with another budget is what is made with it."""
    need(dataclasses.is_dataclass(mechanism), "it is no dataclass")
    given = {field.name: getattr(mechanism, field.name) for field in dataclasses.fields(mechanism) if field.init}
    ways = {"dataclasses.replace": dataclasses.replace(mechanism), "its parameters": type(mechanism)(**given)}
    for way, clone in (ways | {"copy.deepcopy": copy.deepcopy(mechanism)}).items():
        need(clone == mechanism, f"what {way} gives differs: {clone!r}")
    plain, k = type(mechanism)(k=mechanism.k, epsilon=mechanism.epsilon), mechanism.k
    longer = (*k, k[0]) if isinstance(k, tuple) else k + 1
    for change in [{"epsilon": 0.75 * mechanism.epsilon}, {"k": longer}][: 1 + type(mechanism).serves(longer)]:
        wanted = type(mechanism)(**{"k": k, "epsilon": mechanism.epsilon} | change)
        found = dataclasses.replace(plain, **change)
        need(found == wanted, f"with {change} it is {found!r}, made anew {wanted!r}")


def _domain(mechanism, population, seed, runs):
    serves = type(mechanism).serves
    need(serves(mechanism.k) is True, f"serves({mechanism.k!r}) is not True")
    other = mechanism.k[0] if isinstance(mechanism.k, tuple) else (mechanism.k, mechanism.k)
    for k in (other, 1, 0, -3, (), (1,), (0, 2), 2.5, "2", None):
        need(serves(k) is False, f"serves({k!r}) is {serves(k)!r}, not False")
        try:
            type(mechanism)(k=k, epsilon=1.0)
        except (ValueError, TypeError) as error:
            need("k" in str(error).split() or "k=" in str(error), f"its error for k={k!r} is {error}")
            continue
        need(False, f"it is made for k={k!r}, which it does not serve")


def _shapes(mechanism, population, seed, runs):
    rng = np.random.default_rng(seed)
    y = mechanism.perturb(population.users(), rng=rng)
    if mechanism.dtype is not None:
        kind, shape = mechanism.dtype.base, (population.n, *mechanism.dtype.shape)
        need((y.dtype, y.shape) == (kind, shape), f"reports are {y.dtype}, {y.shape}; dtype says {kind}, {shape}")
    estimate = mechanism.estimate(y)
    values = {"estimate": (estimate, ()), "simulate": (mechanism.simulate(population, rng=rng, runs=3), (3,))}
    for name in ("mean", "variance"):
        if mechanism.has_exact_moments:
            values[name] = getattr(mechanism, name)(population), ()
        else:
            _raises((NoExactMoments,), "simulate", getattr(mechanism, name), population)
    for name, (value, runs) in values.items():
        several = isinstance(mechanism.k, tuple)
        need(isinstance(value, list if several else np.ndarray), f"{name} gives a {type(value).__name__}")
        shapes = [part.shape for part in (value if several else [value])]
        wanted = [(*runs, size) for size in (mechanism.k if several else (mechanism.k,))]
        need(shapes == wanted, f"{name} has shapes {shapes}, not {wanted}")
        need(flat(value).dtype.kind == "f", f"{name} has type {flat(value).dtype}, not float")
        need(np.isfinite(flat(value)).all(), f"{name} is not finite")
    if mechanism.has_exact_moments:
        need((flat(values["variance"][0]) >= 0).all(), "variance is negative")


def _randomness(mechanism, population, seed, runs):
    x = population.users()
    before = x.copy()
    first = mechanism.perturb(x, rng=np.random.default_rng(seed))
    need(np.array_equal(x, before), "perturb changes the users' data")
    kept = pickle.dumps(first)
    mechanism.estimate(first)
    need(pickle.dumps(first) == kept, "estimate changes the reports")
    again, other = (pickle.dumps(mechanism.perturb(x, rng=np.random.default_rng(s))) for s in (seed, seed + 1))
    need(kept == again, "the same generator gives different reports")
    need(kept != other, "another generator gives the same reports")
    draws = [flat(mechanism.simulate(population, rng=np.random.default_rng(seed), runs=2)) for _ in range(2)]
    need(np.array_equal(*draws), "the same generator gives different simulated estimates")
    few = x[np.arange(mechanism.least_users) % len(x)]
    alone = mechanism.estimate(mechanism.perturb(few, rng=np.random.default_rng(seed)))
    need(np.isfinite(flat(alone)).all(), f"the estimate from {len(few)} users is not finite")


def _raises(kinds, word, function, *args, **kwargs):
    call = f"{function.__name__}{args!r} {kwargs!r}"
    try:
        function(*args, **kwargs)
    except Exception as error:
        need(isinstance(error, kinds), f"{call} raises {type(error).__name__}: {error}")
        need(word in str(error), f"the error of {call} does not name {word}: {error}")
    else:
        need(False, f"{call} raises nothing")


def _symmetry(mechanism, population, seed, runs):
    """Where it says that all values are alike, moving all users to the next value moves the variances."""
    if not (getattr(mechanism, "symmetric", False) and mechanism.has_exact_moments):
        return
    moved = Population.from_records((population.users() + 1) % np.array(mechanism.k), k=mechanism.k)
    before, after = mechanism.variance(population), mechanism.variance(moved)
    parts = zip(before, after, strict=True) if isinstance(before, list) else [(before, after)]
    need(all(np.allclose(np.roll(a, 1), b, rtol=1e-9) for a, b in parts), "symmetric is True, its values are not alike")


def _errors(mechanism, population, seed, runs):
    either, rng, x = (TypeError, ValueError), np.random.default_rng(seed), population.users()
    stranger = _population((2,) * (np.size(mechanism.k) + 1))  # one attribute more
    for wrong in (None, seed, np.random):
        _raises(either, "rng", mechanism.perturb, x, rng=wrong)
        _raises(either, "rng", mechanism.simulate, population, rng=wrong, runs=2)
    for wrong in (0, -1, 2.5, None):
        _raises(either, "runs", mechanism.simulate, population, rng=rng, runs=wrong)
    _raises(either, "population", mechanism.simulate, stranger, rng=rng, runs=2)
    if mechanism.has_exact_moments:
        _raises(either, "population", mechanism.mean, stranger)
        _raises(either, "population", mechanism.variance, stranger)
    too_large, negative = x.copy(), x.astype(np.int64)
    too_large[0], negative[-1] = np.max(mechanism.k), -1
    for wrong in (too_large, negative, x + 0.5, x[:0], x[None, None], "x", None):
        _raises(either, "x", mechanism.perturb, wrong, rng=rng)
    for wrong in (None, "y", [], x[None, None], np.full(x.shape, np.nan)):
        _raises(either, "y", mechanism.estimate, wrong)


def _privacy(mechanism, population, seed, runs):
    matrix, spent = listed_channel(mechanism), 0.0
    if matrix is not None:
        records = math.prod(mechanism.k) if isinstance(mechanism.k, tuple) else mechanism.k
        need(len(matrix) == records, f"channel() has {len(matrix)} rows, not {records}, one a record")
        spent = math.log(channel.privacy_ratio(matrix))
        need(spent <= mechanism.epsilon + 1e-9, f"channel() spends {spent}, more than epsilon")
    if hasattr(mechanism, "realised_epsilon"):
        proved = mechanism.realised_epsilon()
        need(spent - 1e-9 <= proved <= mechanism.epsilon, f"channel() spends {spent}, realised_epsilon() is {proved}")


CHECKS = {
    "repr and pickle": _identity,
    "replace": _replace,
    "domain": _domain,
    "shapes": _shapes,
    "random numbers": _randomness,
    "errors": _errors,
    "privacy": _privacy,
    "symmetry": _symmetry,
    "enumeration": enumeration,
    "independence": independence,
    "bias": bias,
    "distributions": distributions,
}

"""Fuzzing: public functions get every kind of wrong and unusual input, seeded; `make fuzz` calls it.

An input that means the same as a plain one must give the plain one's answer or a clear error; one that means nothing
must be refused, by a TypeError or ValueError that names the argument. No input may change, and nothing may crash,
hang or ask for memory without bound. Hypothesis, which the tests use, draws right values; what is right, wrong or
unusual for each argument of this library is written here, and that is most of the file. The first line of what fails
is printed, with what reproduces it.
"""

import argparse
import collections
import json
import math
import pickle
import resource
import signal
import sys
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

import ldp_lib
from ldp_lib import Population, _sampling, jrr, postprocess
from ldp_lib.limit import least_error
from ldp_lib.sampled import AskSome
from ldp_lib.tables import consistency, raking

ROOT = Path(__file__).parents[1]
SECONDS = 20  # for one call; a busy machine is slow
REFUSED = (TypeError, ValueError)

# Ways to write down the same integers.
SAME = {
    "read-only": lambda x: _frozen(x.copy()),
    "strided": lambda x: np.repeat(x, 2, axis=0)[::2],
    "reversed": lambda x: x[::-1].copy()[::-1],
    "Fortran": np.asfortranarray,
    "big-endian": lambda x: x.astype(">i8"),
    "big-endian unsigned": lambda x: x.astype(">u2"),
    "int8": lambda x: x.astype(np.int8),
    "uint8": lambda x: x.astype(np.uint8),
    "int16": lambda x: x.astype(np.int16),
    "uint32": lambda x: x.astype(np.uint32),
    "uint64": lambda x: x.astype(np.uint64),
    "list": lambda x: x.tolist(),
    "tuple": lambda x: tuple(x.tolist()),
    "list of rows": list,
    "Series or frame": lambda x: pd.Series(x) if x.ndim == 1 else pd.DataFrame(x),
    "nullable": lambda x: (pd.Series(x) if x.ndim == 1 else pd.DataFrame(x)).astype("Int64"),
    "nullable unsigned": lambda x: (pd.Series(x) if x.ndim == 1 else pd.DataFrame(x)).astype("UInt8"),
    "indexed backwards": lambda x: pd.DataFrame(x, index=range(len(x))[::-1]).squeeze(axis=1) if x.ndim < 3 else x,
    "categorical": lambda x: pd.Series(x).astype("category") if x.ndim == 1 else x,
    "masked, nothing masked": lambda x: np.ma.array(x, mask=np.zeros(x.shape, bool)),
    "objects": lambda x: x.astype(object),
    "floats": lambda x: x.astype(float),
    "complex": lambda x: x.astype(complex),
    "decimals": lambda x: np.vectorize(Decimal, otypes=[object])(x),
    "subclass": lambda x: x.view(np.memmap) if False else x.view(_Sub),
}
# Things that are no values, records or counts, whatever the domain.
WRONG = {
    "half": lambda x: x + 0.5,
    "not a number": lambda x: np.where(np.arange(x.size).reshape(x.shape) == 0, np.nan, x),
    "infinite": lambda x: np.where(np.arange(x.size).reshape(x.shape) == x.size - 1, np.inf, x),
    "negative": lambda x: np.where(np.arange(x.size).reshape(x.shape) == 0, -1, x),
    "least int64": lambda x: np.where(np.arange(x.size).reshape(x.shape) == 0, -(2**63), x),
    "wrapped": lambda x: np.where(np.arange(x.size).reshape(x.shape) == 0, 255, x).astype(np.uint8).view(np.int8),
    "beyond int64": lambda x: np.where(x == x.flat[0], np.uint64(2**63 + 1), x.astype(np.uint64)),
    "huge objects": lambda x: np.where(x == x.flat[0], 10**30, x.astype(object)),
    "no rows": lambda x: x[:0],
    "one dimension more": lambda x: x[None, None],
    "scalar": lambda x: x.flat[0],
    "texts": lambda x: x.astype(str),
    "bytes": lambda x: x.astype(bytes),
    "None among": lambda x: np.where(np.arange(x.size).reshape(x.shape) == 0, None, x.astype(object)),
    "missing": lambda x: (
        (pd.Series(x.ravel()) if x.ndim == 1 else pd.DataFrame(x))
        .astype("Int64")
        .mask(lambda frame: frame == x.flat[0])
    ),
    "masked": lambda x: np.ma.array(x, mask=np.arange(x.size).reshape(x.shape) == 0),
    "dates": lambda x: x.astype("datetime64[s]"),
    "durations": lambda x: x.astype("timedelta64[s]"),
    "complex": lambda x: x + 1j,
    "None": lambda x: None,
    "a dict": lambda x: dict(enumerate(x.tolist())),
    "a set": lambda x: {1, 2},
    "a text": lambda x: "0101",
    "a generator": lambda x: (row for row in x.tolist()),
    "ragged": lambda x: [[0], [0, 1]],
    "structured": lambda x: np.zeros(3, dtype=[("a", int)]),
    "a type": lambda x: int,
    "itself inside": lambda x: [x, x.tolist(), None],
}
NUMBERS = [
    *(0, 1, -1, 2, 3, 7, 2**16, 2**31, 2**32 + 1, 2**63, 2**64, -(2**63), 10**400),
    *(0.0, -0.0, 0.5, 1.0, 2.0, 1e-300, 5e-324, 1e308, 1e-9, 0.999999, 700.0, 701.0, -0.5),
    *(math.nan, math.inf, -math.inf, True, False, None, "1", b"1", "", 1j, [], [1], (2,), {}, {1}, object()),
    *(np.int8(3), np.uint64(2), np.int64(-1), np.float32(0.5), np.float64(1.5), np.float16(2), np.longdouble(0.25)),
    *(np.bool_(True), np.array(2), np.array([2]), np.array([1.0, 2.0]), np.datetime64("2020"), np.nan),
    *(Fraction(1, 2), Fraction(3), Decimal("0.5"), Decimal(3), pd.NA, pd.NaT, pd.Timestamp("2020"), int, np.random),
]


class _Sub(np.ndarray):
    """An array of another class."""


def _frozen(x):
    x.flags.writeable = False
    return x


class Target:
    """A call with plain arguments, of which one at a time is replaced."""

    def __init__(self, name, call, plain, arrays=(), numbers=None, words=None):
        self.name, self.call, self.plain, self.arrays = name, call, plain, tuple(arrays)
        self.numbers, self.words = numbers or {}, words or {}


def integer(low, high=math.inf):
    """The rule of an integer: whether a value is one that is allowed."""

    def fits(value):
        kind = isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
        return kind and low <= int(value) <= high

    return fits


def number(low, high, *, ends=False):
    """The rule of a real number from `low` to `high`."""

    def fits(value):
        kind = isinstance(value, (int, float, np.integer, np.floating, Fraction)) and not isinstance(value, bool)
        if not kind or value != value:
            return False
        return low <= value <= high if ends else low < value < high

    return fits


def mechanisms():
    """One or two instances of every class of the library."""
    for cls in ldp_lib.MECHANISMS:
        for k in (5, 2, (2, 3, 4), (3, 3), (300,), 300):
            if cls.serves(k):
                yield cls(k=k, epsilon=1.0)


def _population(k, n=40):
    sizes = k if isinstance(k, tuple) else (k,)
    rows = np.arange(n)[:, None] * np.array([1, 3, 5, 7, 11][: len(sizes)]) % np.array(sizes)
    return Population.from_records(rows, k=sizes)


# These need 1e-9 for each attribute, or round p.
SPLIT = ("JointHashing", "SPL", "BRR", "MRR", "OBRR", "OMRR", "ProductRR", "RRIndependent", "RRClusters")


def targets():
    """All calls."""
    budget = {"epsilon": number(1e-9, 700, ends=True)}
    for m in mechanisms():
        population, name = _population(m.k), f"{type(m).__name__}(k={m.k})"
        x = population.users()
        y = m.perturb(x, rng=np.random.default_rng(1))

        def perturb(m=m, **given):
            return m.perturb(given["x"], rng=np.random.default_rng(2))

        def simulate(m=m, population=population, **given):
            whole = {"population": population, "rng": np.random.default_rng(3), "runs": 2, **given}
            return m.simulate(whole["population"], rng=whole["rng"], runs=whole["runs"])

        yield Target(f"{name}.perturb", perturb, {"x": x}, ["x"])
        if isinstance(y, np.ndarray) and y.dtype.names is None:
            yield Target(f"{name}.estimate", lambda m=m, **given: m.estimate(given["y"]), {"y": y}, ["y"])
        yield Target(f"{name}.simulate", simulate, {"runs": 2}, [], {"runs": integer(1, 10**7)})
        others = [None, 3, x, "a", [population], _population(7), _population((2, 2, 2, 2)), object()]
        yield Target(f"{name}.simulate", simulate, {}, words={"population": others, "rng": [None, 1, np.random]})
        for what in ("mean", "variance"):
            if m.has_exact_moments:
                call = lambda m=m, what=what, **given: getattr(m, what)(given["population"])  # noqa: E731
                yield Target(f"{name}.{what}", call, {}, words={"population": others})
    for cls in ldp_lib.MECHANISMS:
        k = next(k for k in (5, 2, (2, 3), (3, 3)) if cls.serves(k))

        def served(value, cls=cls):
            if cls.serves(2) or cls.serves(5):
                return cls.serves(int(value) if isinstance(value, np.integer) else value)
            return cls.serves(tuple(value)) if isinstance(value, (list, tuple)) or np.ndim(value) == 1 else False

        most = 15 if issubclass(cls, jrr.mechanism.Reports) else 700
        least = (
            1e-8
            if cls.__name__.endswith("BRR")
            or cls.__name__ in ("SPL", "MRR", "OMRR", "ProductRR", "RRIndependent", "RRClusters")
            else 1e-9
        )
        rules = {"k": served, "epsilon": number(least, most, ends=True)}
        yield Target(cls.__name__, cls, {"k": k, "epsilon": 1.0}, numbers=rules)
    truth = lambda v: number(0.5, 1, ends=True)(v) and v != 0.5  # noqa: E731
    extra = [
        (ldp_lib.UnaryEncoding, {"k": 3, "epsilon": 1.0}, {"q": number(1e-300, 1)}),
        (ldp_lib.OLH, {"k": 3, "epsilon": 1.0}, {"g": integer(2, 2**20)}),
        (ldp_lib.SubsetSelection, {"k": 5, "epsilon": 1.0}, {"size": integer(1, 4)}),
        (AskSome, {"k": (2, 3), "epsilon": 1.0}, {"m": integer(1, 2)}),
        (ldp_lib.KJRR, {"k": 3, "epsilon": 1.0}, {"rho": number(-1.4, 2, ends=True)}),
        (ldp_lib.JRR, {}, {"p": truth}),
        (ldp_lib.CorrRR, {"k": (3, 3), "epsilon": 1.0}, {"n1": lambda v: number(0, 1)(v) or integer(1)(v)}),
    ]
    for cls, plain, rules in extra:
        nothing = {
            name: (lambda v, rule=rule, name=name: (v is None and name not in ("n1", "p")) or rule(v))
            for name, rule in rules.items()
        }
        yield Target(f"{cls.__name__}({', '.join(rules)})", cls, plain, numbers=nothing)
    counts, x = np.array([[3, 0, 5], [1, 2, 4]]), np.array([[0, 1], [1, 2], [1, 0]])
    yield Target("Population.from_counts", _summary(Population.from_counts), {"counts": counts}, ["counts"])
    yield Target("Population.from_records", _summary(Population.from_records), {"x": x, "k": (2, 3)}, ["x"])
    estimate = np.array([0.5, 0.7, -0.2])
    for function in (postprocess.project_simplex, postprocess.clip_normalize):
        yield Target(function.__name__, lambda v, f=function: f(v), {"v": estimate}, ["v"])
    square = np.array([[0.75, 0.25], [0.25, 0.75]])
    yield Target(
        "privacy_ratio", lambda channel: ldp_lib.channel.privacy_ratio(channel), {"channel": square}, ["channel"]
    )
    marginals = [np.array([0.4, 0.6]), np.array([0.2, 0.3, 0.5])]
    yield Target("rake", lambda records: raking.rake(records, marginals).weights, {"records": x}, ["records"])
    plain = {"epsilon": 1.0, "n": 10, "colluders": 2}
    yield Target("optimal_parameters", jrr.optimal_parameters, plain, numbers={**budget, "colluders": integer(0, 9)})
    yield Target(
        "transcript_ratio",
        jrr.transcript_ratio,
        {"p": 0.7, "rho": -0.2, "n": 4},
        numbers={
            "p": number(0.5, 0.9),
            "rho": number(-0.42, 1, ends=True),
            "n": integer(1),
        },
    )
    delta = {"epsilon": 1.0, "p": 0.7, "rho": -0.2, "n": 4}
    yield Target("transcript_delta", jrr.transcript_delta, delta, numbers={"n": integer(1, 10**7)})
    goal = {"k": (2, 3), "epsilon": 1.0}
    yield Target(
        "least_error",
        lambda **given: least_error(**given).error,
        goal,
        numbers={"epsilon": number(1e-6, 20, ends=True)},
    )
    ask = {"k": (2, 3), "epsilon": 1.0, "n": 100}
    rules = {"epsilon": number(1e-8, 700, ends=True), "n": integer(1, 10**15)}
    yield Target(
        "recommend",
        lambda **given: ldp_lib.recommend(**given).error,
        ask,
        numbers=rules,
    )
    grr = ldp_lib.GRR(k=3, epsilon=1.0)
    yield Target(
        "required_users",
        ldp_lib.required_users,
        {"mechanism": grr, "margin": 0.05},
        numbers={"margin": number(1e-6, 1)},
    )
    table = {"table": np.array([[3.0, 1.0], [2.0, 4.0]]), "marginals": [np.array([0.5, 0.5])] * 2}
    yield Target(
        "project_marginals",
        lambda table: consistency.project_marginals(table, table_marginals()).table,
        {"table": table["table"]},
        ["table"],
    )
    yield Target(
        "audit",
        _audit(grr),
        {"runs": 10, "confidence": 0.9},
        numbers={"runs": integer(2, 1000), "confidence": number(0, 1)},
    )
    yield Target("realised", _sampling.realised, {"p": 0.5}, numbers={})
    yield Target(
        "check_channel", lambda channel: ldp_lib.channel.check_channel(channel), {"channel": square}, ["channel"]
    )


def table_marginals():
    """Marginals for the plain table."""
    return [np.array([0.5, 0.5]), np.array([0.4, 0.6])]


def _audit(mechanism):
    def call(**given):
        return ldp_lib.audit(mechanism, 0, 1, rng=np.random.default_rng(1), **given).bound

    return call


def _summary(make):
    def call(**given):
        population = make(**given)
        return population.k, population.records, population.counts

    return call


def _plain(result):
    """What is compared of a result."""
    if isinstance(result, (list, tuple)):
        return [_plain(part) for part in result]
    if isinstance(result, np.ndarray) and result.dtype.names:
        return [_plain(result[name]) for name in result.dtype.names]
    if isinstance(result, np.ndarray):
        return result.astype(float) if result.dtype.kind == "O" else result
    return result


def equal(one, other):
    """Whether two results are the same to rounding."""
    one, other = _plain(one), _plain(other)
    if isinstance(one, list):
        return isinstance(other, list) and len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, (np.ndarray, float, int)):
        return np.shape(one) == np.shape(other) and bool(np.allclose(one, other, rtol=1e-9, atol=1e-12))
    return one == other


def kept(value):
    """A fingerprint of an input, to see that it is not changed."""
    if isinstance(value, (pd.Series, pd.DataFrame)):  # these keep what they have computed
        return pickle.dumps((value.to_numpy(), value.index.to_numpy()))
    try:
        return pickle.dumps(value)
    except Exception:
        return repr(type(value))


class Slow(BaseException):
    """A call took too long."""


def _too_slow(*_):
    raise Slow


def judge(target, argument, given, want):
    """Make the call and return what is wrong about it, or None.

    `want` is "same" if the plain answer or a refusal is right, "refused", or "fine" if it must work.
    """
    plain = {**target.plain, argument: given}
    before = kept(given)
    signal.alarm(SECONDS)
    try:
        result = target.call(**plain)
    except REFUSED as error:
        text = str(error)
        named = argument in text or isinstance(error, ldp_lib.NoExactMoments)
        if want == "fine":
            return f"refused what is allowed: {text}"
        return None if named else f"the error does not name {argument}: {type(error).__name__}: {text}"
    except Slow:
        return "takes too long"
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    if kept(given) != before:
        return "the input was changed"
    if want == "refused":
        return f"accepted, with the result {result!r}"
    if want == "same" and not equal(result, target.call(**target.plain)):
        return f"another answer than the plain input's: {result!r}"
    if type(target.call) is type:  # a mechanism: its parameters are plain numbers
        sizes = result.k if isinstance(result.k, tuple) else (result.k,)
        if not all(type(size) is int for size in sizes) or type(result.epsilon) not in (int, float):
            return f"parameters are not plain numbers: {result!r}"
    return None


def fuzz(count, seed):
    """Try so many inputs; return how many of each kind, and a dict of failures with what they are about."""
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _too_slow)
    rng, every = np.random.default_rng(seed), list(targets())
    tried, failures = collections.Counter(), {}
    for _ in range(count):
        target = every[rng.integers(len(every))]
        places = [*target.arrays, *target.numbers, *target.words]
        if not places:
            continue
        argument = places[rng.integers(len(places))]
        if argument in target.arrays:
            kind = ("same", "refused")[rng.integers(2)]
            ways = SAME if kind == "same" else WRONG
            way = list(ways)[rng.integers(len(ways))]
            base = target.plain[argument]
            if rng.integers(2) and base.dtype.kind in "iu" and base.ndim:  # other rows of the plain data
                base = base[rng.integers(len(base), size=rng.integers(2, 60))] if base.ndim < 3 else base
            if base.dtype.kind == "f" and way in ("half", "negative", "complex", "floats", "objects", "decimals"):
                continue
            if (target.name, way) in EXCEPT:
                continue
            try:
                with np.errstate(all="ignore"):
                    given = ways[way](base.astype(np.int64) if base.dtype.kind in "iu" else base)
            except (TypeError, ValueError, OverflowError, pd.errors.IntCastingNaNError):
                continue  # this array has no such form
            if kind == "same" and not _unchanged(base, given):
                continue
            if target.arrays and kind == "refused" and base.dtype.kind == "f" and way in LOOSE:
                continue
            target = Target(target.name, target.call, {**target.plain, argument: base}, target.arrays)
        elif argument in target.numbers:
            given, way = NUMBERS[rng.integers(len(NUMBERS))], "number"
            kind = "fine" if target.numbers[argument](given) else "refused"
            if kind == "fine" and isinstance(given, (Fraction, np.longdouble, np.float16)):
                kind = "allowed"
        else:
            given, way, kind = target.words[argument][rng.integers(len(target.words[argument]))], "object", "refused"
        if argument == "runs" and kind == "fine" and given > 1000:
            continue  # allowed, and as slow as asked for
        tried[kind] += 1
        wrong = judge(target, argument, given, kind)
        if wrong is not None:
            label = f"{target.name}, {argument} = {way if way not in ('number', 'object') else repr(given)[:60]}"
            failures.setdefault(label, wrong[:300])
    return tried, failures


EXCEPT = {  # the error names k, of which the domain sizes are; symbolic channels are not checked, as they say
    ("Population.from_counts", "one dimension more"),
    ("check_channel", "None among"),
    ("privacy_ratio", "None among"),
}
LOOSE = {"wrapped", "beyond int64", "huge objects", "least int64", "one dimension more", "texts", "bytes", "structured"}


def _unchanged(base, given):
    """Whether the other form still has the same numbers: narrow types may not hold them."""
    try:
        return bool(np.array_equal(np.asarray(given, dtype=float), base.astype(float)))
    except (TypeError, ValueError):
        return False


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=120_000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30, 8 * 2**30))
    tried, failures = fuzz(given.count, given.seed)
    for label, wrong in sorted(failures.items()):
        print(f"{label}: {wrong}")
    print(json.dumps({"inputs": sum(tried.values()), "failures": len(failures), **tried}))
    sys.exit(bool(failures))

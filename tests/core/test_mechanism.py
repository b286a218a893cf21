"""The contract's check finds what breaks the contract."""

import itertools
import math
from dataclasses import dataclass

import numpy as np
import pytest

from ldp_lib import GRR, MRR, OUE, SPL, Mechanism, Population, SubsetSelection, check_mechanism
from ldp_lib.check import distances
from ldp_lib.mechanism import NoExactMoments


def broken(name, **methods):
    """GRR with some methods replaced."""
    return dataclass(frozen=True, kw_only=True)(type(name, (GRR,), methods))(k=3, epsilon=1.0)


def leaky(self, x, *, rng):
    return GRR(k=3, epsilon=1.2).perturb(x, rng=rng)


def own_coins(self, x, *, rng):
    GRR.perturb(self, x, rng=rng)
    return GRR.perturb(self, x, rng=np.random.default_rng())


def fixed_coins(self, x, *, rng):
    GRR.perturb(self, x, rng=rng)
    return GRR.perturb(self, x, rng=np.random.default_rng(1))


def overwritten(self, x, *, rng):
    y = GRR.perturb(self, x, rng=rng)
    x[:] = 0
    return y


def no_moments(self, population):
    raise NoExactMoments(self)


def independent_columns(self, population, *, rng, runs):
    columns = GRR.simulate(self, population, rng=rng, runs=runs)
    return rng.permuted(columns, axis=0)


def too_large(self):
    raise ValueError("k must be small for a channel")


FAULTS = {
    "reports of record": {"perturb": leaky},
    "same generator gives different reports": {"perturb": own_coins},
    "another generator gives the same reports": {"perturb": fixed_coins},
    "changes the users' data": {"perturb": overwritten},
    "x": {"perturb": lambda self, x, *, rng: GRR.perturb(self, np.abs(np.asarray(x)) % 3, rng=rng)},
    "mean of 1 users": {"mean": lambda self, population: GRR.mean(self, population) + 0.001},
    "variance of 1 users": {"variance": lambda self, population: GRR.variance(self, population) * 1.001},
    "its values are not alike": {"variance": lambda self, v: GRR.variance(self, v) * [1, 1, 1 + 1e-6]},
    "mean of users": {"channel": too_large, "mean": lambda self, population: GRR.mean(self, population) * 1.2},
    "variance of users": {"channel": too_large, "variance": lambda self, v: GRR.variance(self, v) * 1.2},
    "variance has shapes": {"variance": lambda self, population: GRR.variance(self, population)[:2]},
    "estimate gives a list": {"estimate": lambda self, y: list(GRR.estimate(self, y))},
    "covariances": {"simulate": independent_columns},
    "channel() is none": {"channel": lambda self: GRR.channel(self) / 2},
    "spends": {"channel": lambda self: GRR(k=3, epsilon=1.1).channel()},
    "realised_epsilon": {"realised_epsilon": lambda self: 1.0001},
    "serves": {"serves": classmethod(lambda cls, k: True)},
    "has_exact_moments": {"has_exact_moments": 1},
    "mean(": {"has_exact_moments": False},
    "repr": {"__repr__": lambda self: "GRR(k=3, epsilon=1.0)"},
    "equals any object": {"__eq__": lambda self, other: True, "__hash__": lambda self: 1},
    "epsilon is": {"epsilon": math.inf, "__post_init__": lambda self: object.__setattr__(self, "epsilon", math.inf)},
    "raises TypeError": {"epsilon": None, "__post_init__": lambda self: object.__setattr__(self, "epsilon", None)},
    "attributes: raises ZeroDivisionError": {"needs_dealer": property(lambda self: 1 / 0)},
}


@pytest.mark.parametrize("message", FAULTS)
def test_a_broken_mechanism_is_found(message, monkeypatch):
    methods = dict(FAULTS[message])
    mechanism = broken("Broken", **methods)
    monkeypatch.setitem(globals(), "Broken", type(mechanism))  # so that it can be pickled
    type(mechanism).__module__ = __name__
    with pytest.raises(AssertionError, match="breaks the contract") as caught:
        check_mechanism(mechanism, runs=6_000 if "users" in message or message == "covariances" else 20)
    assert message in str(caught.value)


def test_a_wrong_attribute_is_told_alone():
    with pytest.raises(AssertionError, match=r"has_exact_moments is not a bool$"):
        check_mechanism(broken("Broken", has_exact_moments=1, estimate=lambda self, y: None))


def test_what_is_no_mechanism_is_told_what_it_lacks():
    with pytest.raises(AssertionError, match="lacks k, epsilon"):
        check_mechanism(object())
    assert isinstance(GRR(k=3, epsilon=1.0), Mechanism)


def test_moments_without_a_closed_form_are_checked_against_simulate(monkeypatch):
    whole = broken("Broken", has_exact_moments=False, mean=no_moments, variance=no_moments)
    monkeypatch.setitem(globals(), "Broken", type(whole))
    type(whole).__module__ = __name__
    check_mechanism(whole)
    with pytest.raises(NoExactMoments, match="Broken: mean and variance have no closed form here; use simulate"):
        whole.mean(Population.from_counts([1, 2, 3]))


def test_too_few_runs_to_see_a_fault_are_refused():
    with pytest.raises(AssertionError, match="too few to see a fault"):
        check_mechanism(GRR(k=3, epsilon=1.0), runs=500)


def found_broken(message, monkeypatch, parent=GRR, parameters=None, **methods):
    """Check that the contract's check tells a class with some methods replaced by this message."""
    kind = dataclass(frozen=True, kw_only=True)(type("Broken", (parent,), methods))
    monkeypatch.setitem(globals(), "Broken", kind)
    kind.__module__ = __name__
    with pytest.raises(AssertionError, match="breaks the contract") as caught:
        check_mechanism(kind(**(parameters or {"k": 3, "epsilon": 1.0})), runs=20)  # too few for what needs many
    assert message in str(caught.value)


@pytest.mark.parametrize("k", [(3, 3), 1, 0, -3, (), (1,), (0, 2), 2.5, "2", None], ids=repr)
def test_a_wrong_domain_that_is_served_is_found(k, monkeypatch):
    served = classmethod(lambda cls, size: size == k or GRR.serves(size))
    found_broken(f"serves({k!r}) is True", monkeypatch, serves=served)

    def made(self):
        if self.k != k:
            GRR.__post_init__(self)

    found_broken(f"serves({k!r}) is True", monkeypatch, __post_init__=made)
    refused = classmethod(lambda cls, size: GRR.serves(size))
    found_broken(f"made for k={k!r}, which it does not serve", monkeypatch, __post_init__=made, serves=refused)


def test_a_domain_that_is_served_must_be_so_and_its_error_names_it(monkeypatch):
    found_broken("serves(3) is not True", monkeypatch, serves=classmethod(lambda cls, k: k == 2))
    found_broken("serves(3) is not True", monkeypatch, serves=classmethod(lambda cls, k: int(k == 3)))

    def unnamed(self):
        if self.k != 3:
            raise ValueError("the domain is unfit")

    found_broken("the domain is unfit", monkeypatch, __post_init__=unnamed)


def perturbs_at(wrong):
    """Return a `perturb` that takes one wrong argument, by name, as if it were right."""

    def perturb(self, x, *, rng):
        if "rng" in wrong and rng is wrong["rng"]:
            rng = np.random.default_rng(1)
        if "x" in wrong and wrong["x"](x):
            x = [0, 1]
        return GRR.perturb(self, x, rng=rng)

    return perturb


WRONG_X = {
    "too large at the start": lambda x: np.shape(x) == (10,) and x[0] == 3,
    "negative at the end": lambda x: np.shape(x) == (10,) and x[-1] < 0,
    "no integers": lambda x: np.shape(x) == (10,) and x[0] == 0.5,
    "nobody": lambda x: np.shape(x) == (0,),
    "more dimensions": lambda x: np.ndim(x) == 3,
    "a word": lambda x: isinstance(x, str),
    "nothing": lambda x: x is None,
}


@pytest.mark.parametrize("wrong", WRONG_X)
def test_wrong_data_that_are_taken_are_found(wrong, monkeypatch):
    found_broken("perturb", monkeypatch, perturb=perturbs_at({"x": WRONG_X[wrong]}))


@pytest.mark.parametrize("wrong", [None, 1, np.random], ids=["None", "seed", "module"])
def test_a_wrong_generator_that_is_taken_is_found(wrong, monkeypatch):
    found_broken("raises nothing", monkeypatch, perturb=perturbs_at({"rng": wrong}))

    def simulate(self, population, *, rng, runs):
        return GRR.simulate(self, population, rng=np.random.default_rng(1) if rng is wrong else rng, runs=runs)

    found_broken("raises nothing", monkeypatch, simulate=simulate)


@pytest.mark.parametrize("wrong", [0, -1, 2.5, None])
def test_a_wrong_number_of_runs_that_is_taken_is_found(wrong, monkeypatch):
    def simulate(self, population, *, rng, runs):
        return GRR.simulate(self, population, rng=rng, runs=2 if runs == wrong else runs)

    found_broken(f"'runs': {wrong!r}}} raises nothing", monkeypatch, simulate=simulate)


WRONG_Y = {
    "nothing": lambda y: y is None,
    "a word": lambda y: isinstance(y, str),
    "nobody": lambda y: isinstance(y, list) and not y,
    "dimensions": lambda y: np.ndim(y) == 3,
    "no number": lambda y: np.shape(y) == (10,) and y.dtype.kind == "f",
}


@pytest.mark.parametrize("wrong", WRONG_Y)
def test_wrong_reports_that_are_taken_are_found(wrong, monkeypatch):
    def estimate(self, y):
        return GRR.estimate(self, [0, 1] if WRONG_Y[wrong](y) else y)

    found_broken("estimate", monkeypatch, estimate=estimate)


@pytest.mark.parametrize("name", ["simulate", "mean", "variance"])
def test_a_stranger_s_population_that_is_taken_is_found(name, monkeypatch):
    def taken(self, population, **more):
        return getattr(GRR, name)(self, population if population.d == 1 else Population.from_counts([7, 0, 3]), **more)

    taken.__name__ = name
    found_broken(f"{name}(Population", monkeypatch, **{name: taken})


def test_errors_must_be_of_the_right_kind_and_name_the_argument(monkeypatch):
    def unnamed(self, x, *, rng):
        if rng is None:
            raise TypeError("no generator")
        return GRR.perturb(self, x, rng=rng)

    def other(self, x, *, rng):
        if rng is None:
            raise KeyError("rng")
        return GRR.perturb(self, x, rng=rng)

    found_broken("does not name rng: no generator", monkeypatch, perturb=unnamed)
    found_broken("raises KeyError: 'rng'", monkeypatch, perturb=other)


def as_whole_numbers(self, population):
    return GRR.mean(self, population).astype(int)


def not_a_number(self, population):
    return GRR.variance(self, population) * math.nan


def below_zero(self, population):
    return GRR.variance(self, population) - 1


def overwritten_reports(self, y):
    found = GRR.estimate(self, y)
    if y.flags.writeable:
        y[:] = 0
    return found


def own_simulation(self, population, *, rng, runs):
    return GRR.simulate(self, population, rng=np.random.default_rng(), runs=runs) + 0 * rng.random()


def for_two_at_least(self, y):
    return GRR.estimate(self, y) / (np.inf if len(y) > 1e9 else 1) * (np.nan if len(y) == 1 else 1)


def short_runs(self, population, *, rng, runs):
    return GRR.simulate(self, population, rng=rng, runs=runs)[1:]


def in_another_order(self):
    return np.array([0, 2, 1], np.uint8)


MORE_FAULTS = {
    "mean has type int": {"mean": as_whole_numbers},
    "variance is not finite": {"variance": not_a_number},
    "variance is negative": {"variance": below_zero},
    "simulate has shapes [(2, 3)], not [(3, 3)]": {"simulate": short_runs},
    "estimate changes the reports": {"estimate": overwritten_reports},
    "the same generator gives different simulated estimates": {"simulate": own_simulation},
    "variance of 1 users": {"variance": lambda self, population: 0 * GRR.variance(self, population)},
    "the estimate from 1 users is not finite": {"estimate": for_two_at_least},
    "channel() has 2 rows, not 3": {"channel": lambda self: GRR.channel(self)[:2]},
    "realised_epsilon() is -0.1": {"realised_epsilon": lambda self: -0.1},
    "realised_epsilon() is 0.5": {"realised_epsilon": lambda self: 0.5},  # less than the channel spends
    "realised_epsilon() is nan": {"realised_epsilon": lambda self: math.nan},
    "reports() and channel() have 2, 3": {"reports": lambda self: np.arange(2, dtype=np.uint8)},
    "reports() has type int64, perturb gives uint8": {"reports": lambda self: np.arange(3)},
    "reports of record 1": {"reports": in_another_order},
    "it differs from the value of its repr": {"__eq__": lambda self, other: False, "__hash__": lambda self: 1},
    "it differs from what comes back from pickle": {
        "__reduce__": lambda self: (type(self), (), {"k": 3, "epsilon": 2.0}),
        "__init__": lambda self, k=3, epsilon=1.0: GRR.__init__(self, k=k, epsilon=epsilon),
        "__setstate__": lambda self, state: object.__setattr__(self, "epsilon", state["epsilon"]),
    },
    "the value of its repr: ": {"__hash__": lambda self: id(self)},
    "k is 3.0, not an int": {"__post_init__": lambda self: object.__setattr__(self, "k", 3.0)},
    "k is 1, not an int": {"__post_init__": lambda self: object.__setattr__(self, "k", 1)},
    "epsilon is 0": {"__post_init__": lambda self: object.__setattr__(self, "epsilon", 0.0)},
}


@pytest.mark.parametrize("message", MORE_FAULTS)
def test_every_part_of_the_contract_is_looked_at(message, monkeypatch):
    found_broken(message, monkeypatch, **MORE_FAULTS[message])


@pytest.mark.parametrize("users", [[0], [1], [2], [0, 0], [0, 2], [2, 1]], ids=repr)
def test_moments_that_are_wrong_for_one_or_two_users_are_found(users, monkeypatch):
    def mean(self, population):
        return GRR.mean(self, population) + 0.001 * (population.users().tolist() == sorted(users))

    found_broken(f"mean of {len(users)} users", monkeypatch, mean=mean)


@pytest.mark.parametrize("record", range(3))
def test_coins_that_are_wrong_for_one_record_are_found(record, monkeypatch):
    def perturb(self, x, *, rng):
        x = np.asarray(x)
        return GRR(k=3, epsilon=1.3 if x.dtype.kind == "i" and (x == record).all() else 1.0).perturb(x, rng=rng)

    found_broken(f"reports of record {record}", monkeypatch, perturb=perturb)


def test_a_report_that_is_not_listed_is_found(monkeypatch):
    def perturb(self, x, *, rng):
        y = GRR.perturb(self, x, rng=rng)
        return np.where(y == 1, np.uint8(7), y)

    def estimate(self, y):
        return GRR.estimate(self, np.where(np.asarray(y) == 7, np.uint8(1), y))

    found_broken("reports of record 0 lie inf", monkeypatch, perturb=perturb, estimate=estimate)


def told_distances(monkeypatch, **told):
    """Let distances be told, with foils as far away as is told, and return what was asked."""
    mechanism, asked = GRR(k=3, epsilon=1.0), []
    people = Population.from_counts([7, 0, 3])

    def distance(kind, right):
        def told_one(sample, theory):
            if kind == "mean" and np.ndim(theory) == 0:  # two users' products, in `independence`
                return told.get("independence", 4.9)
            near = right is None or np.allclose(theory, right)
            asked.append((kind, near, theory))
            return told.get(kind if near else "power", 4.9 if near else 5.1)

        return told_one

    monkeypatch.setattr(distances, "law_z", distance("law", None))
    monkeypatch.setattr(distances, "mean_z", distance("mean", mechanism.mean(people)))
    alone, together = distance("variance", mechanism.variance(people)), distance("covariance", None)
    choose = lambda sample, theory: (together if np.ndim(theory) == 2 else alone)(sample, theory)  # noqa: E731
    monkeypatch.setattr(distances, "variance_z", choose)
    check_mechanism(mechanism, people, runs=20)
    return mechanism, people, asked


def test_distances_up_to_five_pass_and_foils_are_an_eighth_and_a_fifth_off(monkeypatch):
    mechanism, people, asked = told_distances(monkeypatch)
    mean, variance = mechanism.mean(people), mechanism.variance(people)
    foils = [theory for kind, near, theory in asked if not near]
    assert np.allclose(foils, [mean + np.sqrt(variance) / 8, 1.2 * variance] * 2)
    for kind, message in {
        "law": "reports of record 0 lie",
        "mean": "the mean of users lies",
        "variance": "the variance of users lies",
        "covariance": "covariances of users and of simulate lie",
        "independence": "two users' reports are correlated,",
    }.items():
        for far in (5.0, 5.4):
            with pytest.raises(AssertionError, match=f"{message} {far} standard errors"):
                told_distances(monkeypatch, **{kind: far})
    for power in (5.0, 4.6):
        with pytest.raises(AssertionError, match=rf"20 runs of users are too few to see a fault \(power {power}\)"):
            told_distances(monkeypatch, power=power)


RIGHT = [OUE(k=3, epsilon=1.0), SPL(k=(3, 2), epsilon=1.0), MRR(k=(4,), epsilon=1.0), SPL(k=(50, 60), epsilon=1.0)]


@pytest.mark.parametrize("mechanism", RIGHT, ids=repr)
def test_what_is_right_but_for_its_distances_passes(mechanism, monkeypatch):
    for name in (
        "mean_z",
        "variance_z",
    ):  # theory and foil in turn; a scalar is independence, a matrix covariances
        told = itertools.cycle([0, 9])
        answer = lambda runs, theory, told=told: next(told) if np.ndim(theory) == 1 else 0  # noqa: E731
        monkeypatch.setattr(distances, name, answer)
    check_mechanism(mechanism, runs=20)


def test_reports_are_as_many_as_the_channel_has_columns(monkeypatch):
    right = OUE(k=3, epsilon=1.0)
    parts = {"reports": lambda self: right.reports()[:-1], "channel": lambda self: right.channel()}
    found_broken("reports() and channel() have 7, 8", monkeypatch, OUE, **parts)


def copied(self, x, *, rng):
    """The second user reports what the first one reports."""
    y = GRR.perturb(self, x, rng=rng)
    return np.concatenate([y[:1], y[:1], y[2:]])


STATED = {
    "they are not independent": {"perturb": copied},
    "unbiased is False": {"unbiased": False},
    "independent is not a bool": {"independent": 1},
    "least_users is 0": {"least_users": 0},
    "joint is 2, not an int from 1 to 1": {"joint": 2},
    "dtype says uint16": {"dtype": np.dtype(np.uint16)},
}


@pytest.mark.parametrize("message", STATED)
def test_what_is_stated_is_checked(message, monkeypatch):
    found_broken(message, monkeypatch, **STATED[message])


def test_a_default_that_is_kept_as_if_it_was_given_is_found(monkeypatch):
    def settled(self):
        if self.size is None:
            object.__setattr__(self, "size", 1 + (self.epsilon < 0.9))

    methods = {"__post_init__": settled, "parameters": {"k": 3, "epsilon": 1.0}}
    found_broken("made anew", monkeypatch, SubsetSelection, **methods)

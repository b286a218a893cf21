"""The contract's check finds what breaks the contract."""

import math
from dataclasses import dataclass

import numpy as np
import pytest

from ldp_lib import GRR, Mechanism, Population, check_mechanism
from ldp_lib.inputs import NoExactMoments


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
    "coins of record": {"perturb": leaky},
    "same generator gives different reports": {"perturb": own_coins},
    "another generator gives the same reports": {"perturb": fixed_coins},
    "changes the users' data": {"perturb": overwritten},
    "x": {"perturb": lambda self, x, *, rng: GRR.perturb(self, np.abs(np.asarray(x)) % 3, rng=rng)},
    "mean of 1 users": {"mean": lambda self, population: GRR.mean(self, population) + 0.001},
    "variance of 1 users": {"variance": lambda self, population: GRR.variance(self, population) * 1.001},
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
}


@pytest.mark.parametrize("message", FAULTS)
def test_a_broken_mechanism_is_found(message, monkeypatch):
    methods = dict(FAULTS[message])
    mechanism = broken("Broken", **methods)
    monkeypatch.setitem(globals(), "Broken", type(mechanism))  # so that it can be pickled
    type(mechanism).__module__ = __name__
    with pytest.raises(AssertionError, match="breaks the contract") as caught:
        check_mechanism(mechanism)
    assert message in str(caught.value)


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

"""A sample of the inputs that `make fuzz` tries, and what it has found."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import ldp_lib
from ldp_lib import GRR, JRR, KJRR, OLH, OUE, JointHashing, JointUnary, RRIndependent, SubsetSelection, _inputs

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))
import fuzz


def test_a_sample_of_inputs_is_answered_rightly_or_refused_clearly():
    tried, failures = fuzz.fuzz(1_500, seed=11)
    assert failures == {}
    assert sum(tried.values()) > 1_400
    assert min(tried["same"], tried["refused"]) > 150


def lax(x):
    """Sum, whatever comes."""
    return float(np.nansum(np.asarray(x, dtype=float)))


def changing(x):
    """Change what is given."""
    x = np.asarray(x)
    x[0] = 0
    return x


@pytest.mark.parametrize(
    ("call", "given", "want", "wrong"),
    [
        (lax, np.array([np.nan, 1.0]), "refused", "accepted"),
        (lax, [3, 4], "same", "another answer"),
        (changing, np.array([1, 2]), "same", "changed"),
        (lambda x: x.missing, np.array([1, 2]), "same", "AttributeError"),
        (lambda x: x / 0 if isinstance(x, int) else int(x), 3, "refused", "ZeroDivisionError"),
        (lambda x: _inputs.require(epsilon=x), -1.0, "refused", "does not name x"),
        (lambda x: _inputs.check_values(x, 3, "x"), np.array([5]), "fine", "refused what is allowed"),
    ],
)
def test_a_planted_fault_is_found(call, given, want, wrong):
    target = fuzz.Target("planted", call, {"x": np.array([1, 2])}, ["x"])
    assert wrong in fuzz.judge(target, "x", given, want)


def test_a_small_negative_number_is_not_taken_for_a_value_of_a_large_domain():
    # As an unsigned byte, -1 is 255, which is below 300.
    for x in (np.array([-1], np.int8), np.array([3, -128], np.int8), np.array([-1], ">i2")):
        with pytest.raises(ValueError, match=r"x must be .* from 0 to 299; got -"):
            GRR(k=300, epsilon=1.0).perturb(x, rng=np.random.default_rng(1))
    with pytest.raises(ValueError, match="got -1"):
        _inputs.check_values(np.array([-1], np.int16), 40_000)
    assert _inputs.check_values(np.array([127], np.int8), 300).tolist() == [127]


@pytest.mark.parametrize("k", [2, 3, 5, 300])
def test_the_least_budget_is_served_though_p_is_rounded(k):
    for cls in (JRR, KJRR, JointHashing, JointUnary):
        if cls.serves(k):
            mechanism = cls(k=k, epsilon=1e-9)
            assert 0 < mechanism.realised_epsilon() <= mechanism.epsilon == 1e-9
            with pytest.raises(ValueError, match="epsilon must"):
                cls(k=k, epsilon=9e-10)
    p = np.nextafter(GRR(k=3, epsilon=1e-9).probabilities[0], 0)
    assert KJRR(k=3, p=p).epsilon == 1e-9
    with pytest.raises(ValueError, match="p must"):
        KJRR(k=3, p=1 / 3 + 2e-10)


def test_masked_reports_are_refused():
    for mechanism in (OUE(k=3, epsilon=1.0), SubsetSelection(k=5, epsilon=0.5), GRR(k=3, epsilon=1.0)):
        y = mechanism.perturb([0, 1, 2], rng=np.random.default_rng(1))
        with pytest.raises(ValueError, match="y must not have masked entries"):
            mechanism.estimate(np.ma.array(y, mask=np.ones(y.shape, bool)))


def test_parameters_from_numpy_and_pandas_become_plain_numbers():
    for k in (np.int64(3), np.uint8(3), pd.Series([3])[0]):
        mechanism = GRR(k=k, epsilon=np.float32(1.0))
        assert repr(mechanism) == "GRR(k=3, epsilon=1.0)"
        assert mechanism == GRR(k=3, epsilon=1.0)


def test_a_plan_for_very_many_users_costs_no_memory():
    assert ldp_lib.recommend(k=(2, 3), epsilon=1.0, n=10**15).error < 1e-12
    assert ldp_lib.recommend(k=(2, 3), epsilon=700.0, n=10).error == 0


def test_a_class_serves_only_what_it_can_be_made_for():
    assert not OLH.serves(2**31)
    assert OLH.serves(2**31 - 1)
    with pytest.raises(TypeError, match="k must"):
        RRIndependent(k=b"23", epsilon=1.0)
    with pytest.raises(TypeError, match="k must"):
        RRIndependent(k=np.array(2), epsilon=1.0)

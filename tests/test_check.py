"""The distances have the size they claim: small for the right theory, large for a wrong one, at a known rate."""

from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from ldp_lib import check


def test_distances_are_standard_normal_under_the_right_theory():
    rng = np.random.default_rng(1)
    law = {(value,): probability for value, probability in zip((0, 1, 2, 3), (0.1, 0.2, 0.3, 0.4), strict=True)}
    draws = rng.choice(4, p=[0.1, 0.2, 0.3, 0.4], size=(400, 2_000)).astype(float)
    means = [check.mean_z(runs, 2.0) for runs in draws]
    variances = [check.variance_z(runs, 1.0) for runs in draws]
    laws = [check.law_z(runs, law) for runs in draws]
    for distances in (means, variances):
        # |z| has mean sqrt(2/pi) and variance 1 - 2/pi.
        assert check.mean_z(np.array(distances), np.sqrt(2 / np.pi)) < 5
        assert check.variance_z(np.array(distances), 1 - 2 / np.pi) < 5
    assert check.mean_z(np.array(laws), 0) < 5
    assert check.variance_z(np.array(laws), 1) < 5


def test_a_wrong_theory_is_far_away():
    runs = np.random.default_rng(2).normal(size=(20_000, 3))
    assert check.mean_z(runs, 0) < 5 < check.mean_z(runs, [0, 0, 0.1])
    assert check.variance_z(runs, 1) < 5 < check.variance_z(runs, [1, 1.1, 1])
    assert check.covariance_z(runs, np.eye(3)) < 5 < check.covariance_z(runs, np.eye(3) + 0.1)
    tosses = (runs[:, :1] > 0).astype(float)
    assert check.law_z(tosses, {(0,): 0.5, (1,): 0.5}) < 5 < check.law_z(tosses, {(0,): 0.45, (1,): 0.55})


def test_numbers_without_spread_must_agree_but_for_rounding():
    runs = np.full((10, 2), 0.1 + 0.2)
    assert check.mean_z(runs, 0.3) == 0
    assert check.mean_z(runs, 0.31) > 1e6
    assert check.variance_z(runs, 0) == 0
    assert check.variance_z(runs, 1e-3) > 1e6


def test_rare_values_do_not_drown_the_others():
    tosses = (np.random.default_rng(3).random((2_000, 1)) < 0.6).astype(float)
    law = {(0,): 0.5, (1,): 0.5 - 1e-9, (2,): 1e-9}
    assert check.law_z(tosses, law) > 5
    fair = np.random.default_rng(4).choice(3, p=[0.5, 0.5 - 1e-6, 1e-6], size=(1_000, 500, 1)).astype(float)
    distances = np.array([check.law_z(runs, {(0,): 0.5, (1,): 0.5 - 1e-6, (2,): 1e-6}) for runs in fair])
    assert check.mean_z(distances, 0) < 5
    with pytest.raises(ValueError, match="runs must be enough for two cells expected five times; got 4"):
        check.law_z(tosses[:4], law)


def test_the_last_bits_of_a_law_do_not_choose_what_is_pooled():
    rng = np.random.default_rng(1)
    runs = rng.integers(60, size=300).astype(float)  # each of 60 values is expected five times, a tie of all
    laws = [{(v,): (1 + bits * 2.0**-52) / 60 for v, bits in enumerate(rng.integers(-2, 3, 60))} for _ in range(5)]
    assert len({round(check.law_z(runs, law), 9) for law in laws}) == 1


def test_a_fair_coin_is_no_false_alarm():
    tosses = np.random.default_rng(5).integers(2, size=(300, 2_000)).astype(float)
    assert max(check.variance_z(runs, 0.25) for runs in tosses) < 5


def test_a_value_outside_the_law_is_infinitely_far():
    assert check.law_z(np.array([[0.0], [2.0]]), {(0,): 0.5, (1,): 0.5}) == np.inf


@pytest.mark.parametrize("runs", [[1.0], [], [[[1.0]]] * 3, [1.0, float("nan")]])
def test_bad_runs_are_refused(runs):
    for call in (lambda: check.mean_z(runs, 0), lambda: check.variance_z(runs, 1)):
        with pytest.raises(ValueError, match="runs must"):
            call()


def test_checks_count_and_show_one_line():
    x = sp.symbols("x")
    line = check.passed(check.same((x**2 - 1) / (x - 1), x + 1), check.equal([1, 2], [1, 2]), np.True_, sp.true)
    assert repr(line) == "✓ 4 checks"
    assert repr(check.passed(True)) == "✓ 1 check"


def test_a_failed_check_says_how_far_off_it_is():
    x = sp.symbols("x")
    with pytest.raises(AssertionError, match=r"the difference is x\*\(x - 1\)"):
        check.same(x**2, x)
    with pytest.raises(AssertionError, match=r"the difference is 1"):
        check.same(sp.Matrix([[1, x]]), sp.Matrix([[0, x]]))
    with pytest.raises(AssertionError, match=r"at \(1,\): Fraction\(1, 2\), not Fraction\(1, 3\): off by 1/6"):
        check.equal([Fraction(1), Fraction(1, 2)], [Fraction(1), Fraction(1, 3)])
    with pytest.raises(AssertionError, match="at 'b': 2, not None"):
        check.equal({"a": 1, "b": 2}, {"a": 1})
    with pytest.raises(AssertionError, match=r"shapes differ: \(2,\) and \(3,\)"):
        check.equal([1, 2], [1, 2, 3])
    with pytest.raises(AssertionError, match="check 2 of 2 is false"):
        check.passed(True, False)
    with pytest.raises(TypeError, match="check 1 of 1 must be a check or a boolean; got 1"):
        check.passed(1)
    with pytest.raises(TypeError, match="at least one check"):
        check.passed()


def test_a_simulation_check_needs_a_foil_that_fails():
    runs = np.random.default_rng(1).normal(2, 3, 20_000)
    assert repr(check.close(runs, mean=2, foil=2.2)) == "✓ 1 check"
    assert repr(check.close(runs, variance=9, foil=9.9)) == "✓ 1 check"
    with pytest.raises(AssertionError, match=r"the theory is \d+\.\d standard errors off"):
        check.close(runs, mean=2.2, foil=2)
    with pytest.raises(AssertionError, match=r"the foil is only \d\.\d standard errors off"):
        check.close(runs, mean=2, foil=2.01)
    with pytest.raises(TypeError, match="exactly one of mean and variance"):
        check.close(runs, foil=1)

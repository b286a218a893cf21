"""The distances have the size they claim: small for the right theory, large for a wrong one, at a known rate."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp

from ldp_lib import check
from ldp_lib.book import setting
from ldp_lib.book.claims import claim


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
    assert check.variance_z(runs, np.eye(3)) < 5 < check.variance_z(runs, np.eye(3) + 0.1)
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
    for found, wanted in (({"a": 1}, 1), (1, {"a": 1}), ({"a": 1}, [1])):
        with pytest.raises(AssertionError, match="only one is a dict"):
            check.equal(found, wanted)
    with pytest.raises(AssertionError, match=r"^check 2 of 2 is false$"):
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


def test_distances_of_four_runs_by_hand():
    runs = [0.0, 0.0, 0.0, 4.0]  # mean 1, variance 4, standard error of the mean 1
    assert check.mean_z(runs, 4) == check.mean_z(runs, -2) == pytest.approx(3)
    assert check.mean_z(np.transpose([runs, np.multiply(runs, 3)]), [2, 0]) == pytest.approx(1)
    assert check.mean_z(np.transpose([runs, np.multiply(runs, 3)]), [1, 9]) == pytest.approx(2)
    assert check.mean_z([0.0, 2.0], 1) == 0
    assert check.mean_z([0.0, 2.0], 3) == pytest.approx(2)


def test_the_distance_of_a_covariance_by_hand():
    runs = np.array([[0, 0], [0, 3], [1, 0], [3, 1]], dtype=float)  # means 1 and 1
    # Products of what is centred: 1, -2, 0, 0, of mean -1/4 and variance (25 + 49 + 1 + 1) / 16 / 3.
    covariance, error = Fraction(-1, 3), math.sqrt(Fraction(76, 48) / 4)
    own = np.cov(runs.T)
    assert own[0, 1] == pytest.approx(float(covariance))
    wrong = own + np.array([[0, 2], [0, 0]])
    assert check.variance_z(runs, wrong) == check.variance_z(runs, wrong.T) == pytest.approx(2 / error)
    assert check.variance_z(runs, own) < 1e-9
    # Squares of the first: 1, 1, 0, 4, of mean 3/2 and variance 9/3.
    assert check.variance_z(runs, own - np.diag([3, 0])) == pytest.approx(3 / math.sqrt(Fraction(9, 3) / 4))


@pytest.mark.parametrize(
    "law",
    [
        {(0,): 0.25, (1,): 0.25, (2,): 0.5},
        {(2,): 0.5, (0,): 0.25, (7,): 0.0, (1,): 0.25},
        {(3,): 0.125, (2,): 0.5, (0,): 0.25, (1,): 0.125},  # 1 and 3 are pooled: expected 5 times, no less
    ],
    ids=["three", "one without a chance", "two of them rare"],
)
def test_the_distance_from_a_law_by_enumeration(law):
    """All counts of three values among twenty runs, with their chances: X^2 less its mean, over its deviation."""
    found, chances, squares = [], [], []
    for zeros, ones in itertools.product(range(21), repeat=2):
        twos = 20 - zeros - ones
        if twos < 0:
            continue
        chances.append(math.comb(20, zeros) * math.comb(20 - zeros, ones) * Fraction(1, 4) ** (zeros + ones) / 2**twos)
        squares.append(Fraction((zeros - 5) ** 2 + (ones - 5) ** 2, 5) + Fraction((twos - 10) ** 2, 10))
        found.append(check.law_z(np.repeat([0.0, 1.0, 2.0], [zeros, ones, twos]), law))
    mean = sum(c * s for c, s in zip(chances, squares, strict=True))
    variance = sum(c * (s - mean) ** 2 for c, s in zip(chances, squares, strict=True))
    assert (sum(chances), mean) == (1, 2)
    wanted = [float(s - mean) / math.sqrt(variance) for s in squares]
    assert found == pytest.approx(wanted, rel=1e-9, abs=1e-9)


def from_counts(counts, chances):
    """X^2 less its mean, over its deviation (Haldane)."""
    size, cells = sum(counts), len(counts)
    square = sum((count - size * c) ** 2 / (size * c) for count, c in zip(counts, chances, strict=True))
    variance = 2 * (cells - 1) * (size - 1) / size + (sum(1 / c for c in chances) - cells**2) / size
    return (square - cells + 1) / math.sqrt(variance)


def test_rare_values_are_pooled_until_they_are_expected_five_times():
    runs = np.repeat([0.0, 1.0, 2.0, 3.0], [2, 6, 30, 62])
    for rare in ((0.014, 0.03), (0.02, 0.025), (0.02, 0.03)):
        both = sum(rare)
        law = {(0,): rare[0], (1,): rare[1], (2,): 0.3, (3,): 0.7 - both}
        if both < 0.05:  # too few together: the next one is pooled with them
            wanted = from_counts([38, 62], [0.3 + both, 0.7 - both])
        else:
            wanted = from_counts([8, 30, 62], [both, 0.3, 0.7 - both])
        assert check.law_z(runs, law) == pytest.approx(wanted)


def test_a_value_may_be_off_by_rounding_and_no_more():
    for scale in (0.001, 1.0, 100.0):
        law, allowed = {(0,): 0.5, (scale,): 0.5}, 1e-9 * max(1, scale)
        runs = np.repeat([0.0, scale], 10)
        assert check.law_z(runs + 0.9 * allowed, law) == check.law_z(runs, law)
        assert check.law_z(runs + 1.1 * allowed, law) == math.inf
        runs[0] -= 1.1 * allowed
        assert check.law_z(runs, law) == math.inf
    runs[0] = 1e-9 * scale
    assert check.law_z(runs, law) < 5


def test_vectors_are_compared_in_all_their_components():
    law = {(0, 1): 0.25, (1, 0): 0.25, (1, 1): 0.5}
    runs = np.repeat([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [5, 5, 10], axis=0)
    assert check.law_z(runs, law) == pytest.approx(from_counts([5, 5, 10], [0.25, 0.25, 0.5]))
    runs[0] = [0, 0]
    assert check.law_z(runs, law) == math.inf
    assert check.law_z(np.full((20, 2), [0.0, 1.0]), law) > 5  # values that are never seen count too


def test_rounding_of_large_and_small_numbers_is_no_distance():
    for value in (1e20 / 3, 1e-20 / 3, 7e4 / 3):
        runs = np.full(10, value)
        assert check.mean_z(runs, value) == 0
        assert check.variance_z(runs, 0) == 0
        assert check.variance_z(runs[:, None], [[0]]) == 0
        assert check.variance_z(runs, value**2 * 1e-10) > 1e6
        assert check.mean_z(runs, value * (1 + 1e-10)) > 1e6


@pytest.mark.parametrize("runs", [3.0, [1.0], [[1.0, 2.0]], [[[1.0]], [[2.0]]], [1.0, -math.inf]], ids=repr)
def test_runs_are_two_numbers_or_more(runs):
    with pytest.raises(ValueError, match="runs must"):
        check.mean_z(runs, 0)


def test_numbers_arrays_and_dicts_are_compared_exactly():
    for found, wanted in [(1, 1), ([], []), ({"a": 1}, {"a": 1}), (np.eye(2), [[1, 0], [0, 1]])]:
        assert repr(check.equal(found, wanted)) == "✓ 1 check"
    for found, wanted, message in [
        (1, 2, "^1, not 2: off by -1$"),
        ([[1, 2], [5, 6]], [[1, 2], [3, 7]], r"^at \(1, 0\): 5, not 3: off by 2$"),
        ({"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 3, "c": 4}, "^at 'b': 2, not 3$"),
        ({"a": 1}, {"a": 1, "b": 2}, "^at 'b': None, not 2$"),
    ]:
        with pytest.raises(AssertionError, match=message):
            check.equal(found, wanted)
    x = sp.Symbol("x")
    assert repr(check.passed(check.same(2, 2), check.same(x, x), check.same(Fraction(1, 2), Fraction(1, 2)))) == (
        "✓ 3 checks"
    )
    with pytest.raises(AssertionError, match=r"^the difference is -1$"):
        check.same(2, 3)
    with pytest.raises(AssertionError, match=r"^the difference is 1/6$"):
        check.same(Fraction(1, 2), Fraction(1, 3))
    two = check.passed(True, True)
    assert repr(check.passed(two, two, True)) == "✓ 5 checks"
    assert repr(check.passed(True)) == "✓ 1 check"
    with pytest.raises(AssertionError, match="check 3 of 3 is false"):
        check.passed(two, True, np.False_)


def test_five_standard_errors_are_too_far_for_a_theory_and_too_near_for_a_foil():
    runs = [0.0, 2.0]  # mean 1, standard error 1
    assert check.mean_z(runs, 6) == 5
    with pytest.raises(AssertionError, match=r"the theory is 5\.0 standard errors off"):
        check.close(runs, mean=6, foil=100)
    with pytest.raises(AssertionError, match=r"the foil is only 5\.0 standard errors off"):
        check.close(runs, mean=1, foil=6)
    with pytest.raises(TypeError, match="exactly one of mean and variance"):
        check.close(runs, mean=1, variance=2, foil=6)


def test_a_line_says_what_was_proved():
    assert repr(check.passed(True, check.equal(1, 1), says="one is one")) == "✓ one is one (2 checks)"
    assert repr(check.passed(check.passed(True, says="inner"), True)) == "✓ 2 checks"


@pytest.fixture
def chapter(monkeypatch):
    """A chapter whose setting may be changed; afterwards checks fail as before."""
    monkeypatch.setattr(check.exact, "_fail", check.exact._fail)
    return setting


def test_in_a_chapter_a_false_check_shows_its_source_and_both_numbers(chapter):
    chapter(epsilon=(1.0, 1.0))
    found, printed = 0.81, 0.7
    with pytest.raises(AssertionError) as caught:
        check.passed(True, 0.66 < found < printed, says="a third fewer people")
    told = str(caught.value)
    assert told.startswith("check 2 of 2 is false (a third fewer people)\n  0.66 < found < printed\n")
    assert "  found is 0.81\n  printed is 0.7\n" in told
    assert "As shipped this check passes" in told
    with pytest.raises(AssertionError, match=r"^1.0, not 2: off by -1.0\n  check.equal\(found \+ 0.19, 2\)"):
        check.equal(found + 0.19, 2)
    with pytest.raises(AssertionError, match=r"for holds is false\.[^\n]*\n  found == printed\n  found is 0.81\n"):
        claim("own/counting-moments").holds(True, found == printed)


def test_at_a_readers_setting_numbers_may_differ_and_identities_may_not(chapter):
    chapter(epsilon=(0.5, 1.0), n=(10, 10))
    runs = np.random.default_rng(1).normal(2, 3, 20_000)
    line = check.passed(
        1 + 1 == 2,
        check.equal([1, 2], [1, 3]),
        check.close(runs, mean=2.2, foil=2),
        claim("own/counting-moments").holds(runs.size == 3),
        says="the text",
    )
    told = repr(line).split("\n")
    assert told[0] == "≠ the text: not at your setting (1 check passed)"
    assert told[1:4] == [
        "you have epsilon = 0.5 where the text has 1.0",
        "at (1,): 2, not 3: off by -1",
        "  check.equal([1, 2], [1, 3])",
    ]
    assert told.count(told[1]) == 1
    assert "  runs.size is 20000" in told
    with pytest.raises(AssertionError, match="the difference is"):
        check.same(sp.Symbol("x"), 1)
    chapter(epsilon=(1.0, 1.0))
    with pytest.raises(AssertionError):
        check.equal(1, 2)

"""Coins: their realised probabilities are exact rationals, found again by going through the branches of the code."""

import math
from fractions import Fraction

import numpy as np
import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from ldp_lib import GRR, OLH, OUE, RR, SUE, Population, UnaryEncoding, _inputs, _sampling, channel, check
from ldp_lib.fake_data import _sampled

TOP = 2**64 - 1
epsilons = st.floats(-20.7, 6.5).map(math.exp)  # from 1e-9 to 665
sizes = st.floats(1, 16).map(lambda power: round(2**power))


class Scripted(np.random.Generator):
    """A generator whose words, and uniform values, are those of a script."""

    def __init__(self, *script):
        super().__init__(np.random.PCG64(0))
        self.script = list(script)

    def integers(self, high, size=None, dtype=np.int64):
        part = np.asarray(self.script.pop(0), dtype=dtype)
        assert part.size == np.prod(size), (part.size, size)
        assert part.size == 0 or part.max() < high
        return part.reshape(size)


def packed(numbers, dtype):
    """Numbers as the words that hold them, the last one filled up."""
    lanes = 8 // np.dtype(dtype).itemsize
    numbers = np.array([*numbers, *[numbers[-1]] * (-len(numbers) % lanes)], dtype=dtype)
    return numbers.view(np.uint64)


def law_of_a_coin(p):
    """Probability that `bernoulli(p)` comes up, from every branch: all bytes, and words around each threshold."""
    settled = _sampling.bernoulli(p, 256, Scripted(packed(range(256), np.uint8), *tie_words(256, p)))
    tie = [b for b in range(256) if b == math.floor(Fraction(p) * 256)]
    total = Fraction(int(settled.sum()) - int(settled[tie].sum()), 256)
    if tie:
        total += Fraction(1, 256) * law_of_a_word(p, tie[0], Fraction(p) * 256 - tie[0], 2)
    return total


def tie_words(n, p):
    return [[TOP]] if 0 <= math.floor(Fraction(p) * 256) < 256 else []


def law_of_a_word(p, byte, share, depth, before=()):
    """Probability that a tie comes up: the classes of words are below, at and above the share, whatever the code."""
    at = math.floor(share * 2**64)
    classes = [(range(at), at), (range(at + 1, TOP + 1), TOP - at)]
    total = Fraction(0)
    for members, number in classes:
        if number:
            ends = {members[0], members[-1]}
            outcome = {bool(_sampling.bernoulli(p, 1, Scripted([byte], *before, [word]))[0]) for word in ends}
            assert len(outcome) == 1  # one class, one outcome
            total += Fraction(number, 2**64) * outcome.pop()
    if depth > 1:
        return total + Fraction(1, 2**64) * law_of_a_word(p, byte, share * 2**64 - at, depth - 1, (*before, [at]))
    return total + Fraction(1, 2**64) * bool(_sampling.bernoulli(p, 1, Scripted([byte], *before, [at]))[0])


@pytest.mark.parametrize("p", [0.3, 1 / 256, 0.5, 1e-30, Fraction(1, 3), 1 - 2**-40, 0.0, 1.0, Fraction(2, 2**136)])
def test_a_coin_has_its_realised_probability_exactly(p):
    assert law_of_a_coin(p) == _sampling.realised(p)
    assert 0 <= Fraction(p) - _sampling.realised(p) < Fraction(1, 2**136)


@pytest.mark.parametrize("k", [2, 3, 5, 7, 8, 100, 256, 300])
@pytest.mark.parametrize("keep", [Fraction(1, 3), 0.0, 0.98, 0.999, 1e-5])
def test_reports_have_their_realised_law_exactly(k, keep):
    bits, kind = (8, np.uint8) if k <= 7 else (16, np.uint16)
    cells = 2**bits
    x = np.full(cells, 1)
    left = cells - math.floor(Fraction(keep) * cells) - k * math.floor((1 - Fraction(keep)) * cells / k)
    # Numbers that are left go on to a uniform value and a coin, which here says no, or yes.
    law = {}
    for told, byte in ((False, 255), (True, 0)):
        script = [packed(range(cells), kind), np.zeros(left), packed([byte] * left, np.uint8) if left else []]
        ties = [[TOP] * left] if math.floor(256 * rest(keep, k)) == byte else []
        law[told] = _sampling.grr_reports(x, k, keep, Scripted(*script, *ties))
    settled = law[False][: cells - left]
    assert np.array_equal(settled, law[True][: cells - left])  # what is left are the last numbers
    counts = np.bincount(settled, minlength=k)
    assert len(set(np.delete(counts, 1))) == 1
    if rest(keep, k) > Fraction(1, 256):
        assert (law[True][cells - left :] == 1).all()
    assert (law[False][cells - left :] == 0).all() or rest(keep, k) >= Fraction(255, 256)
    kept = Fraction(int(counts[1] - counts[0]), cells) + Fraction(left, cells) * _sampling.realised(rest(keep, k))
    assert kept == _sampling.realised_keep(keep, k) <= Fraction(keep)
    assert Fraction(keep) - kept < Fraction(1, 2**136)


def rest(keep, k):
    """The coin of the numbers that are left, from what the report must be all in all."""
    cells = 2**8 if k <= 7 else 2**16
    sure = math.floor(Fraction(keep) * cells)
    left = cells - sure - k * math.floor((1 - Fraction(keep)) * cells / k)
    return (Fraction(keep) * cells - sure) / left if left else Fraction(0)


@pytest.mark.parametrize("k", [2, 3, 6, 7, 16, 100, 256, 1000, 40_000, 70_000])
def test_uniform_values_are_uniform(k):
    counts = np.bincount(_sampling.uniform(k, 10**6, np.random.default_rng(1)), minlength=k)
    cells = counts[: k // 2 * 2].reshape(2, -1).sum(axis=1) if k > 1_000 else counts
    statistic = ((cells - cells.mean()) ** 2).sum() / cells.mean()
    assert abs(statistic - (len(cells) - 1)) < 5 * math.sqrt(2 * len(cells))
    assert counts.size == k


@pytest.mark.parametrize("k", [3, 100, 300])
def test_counts_of_reports_have_the_law_of_the_reports(k):
    rng, x = np.random.default_rng(2), np.array([0, 0, 0, 1, 2, 2])
    mechanism = GRR(k=k, epsilon=math.log((1 + 0.4 * (k - 1)) / 0.6))  # tells the truth for sure with probability 0.4
    users = np.array([np.bincount(mechanism.perturb(x, rng=rng), minlength=k)[:3] for _ in range(5_000)])
    counts = mechanism.draw_support(np.tile(np.bincount(x, minlength=k), (50_000, 1)), rng)[:, :3]
    assert check.mean_z(users, counts.mean(axis=0)) < 5
    assert check.variance_z(users, np.cov(counts.T)) < 5 < check.variance_z(users, 1.2 * np.cov(counts.T))


def test_lies_are_uniform_over_the_other_values():
    lies = np.tile([30, 0, 12], (20_000, 1))
    drawn = _sampling.draw_others(lies, np.random.default_rng(3))
    assert (drawn.sum(axis=1) == 42).all()
    assert check.mean_z(drawn, [6, 21, 15]) < 5 < check.mean_z(drawn, [6.2, 20.9, 14.9])
    covariance = [[3, -3, 0], [-3, 10.5, -7.5], [0, -7.5, 7.5]]
    assert check.variance_z(drawn, np.array(covariance)) < 5 < check.variance_z(drawn, 1.2 * np.array(covariance))
    assert _sampling.draw_others(lies[:1, :2], np.random.default_rng(3)).tolist() == [[0, 30]]


@pytest.mark.parametrize("shares", [(0.25, 0.75), (0.2, 0.0, 0.8), (0.0, 1 / 3, 2 / 3), (0.0, 1.0), (1.0, 0.0)])
def test_draws_have_their_realised_shares(shares):
    exact = _sampling.realised_shares(shares)
    assert sum(exact) == 1
    assert all(abs(a - Fraction(b)) <= Fraction(len(shares), 2**53) for a, b in zip(exact, shares, strict=True))
    assert [a == 0 for a in exact] == [b == 0 for b in shares]
    edges = [int(2**64 * sum(exact[:v])) for v in range(len(shares) + 1)]
    for v, share in enumerate(exact):
        if share:
            assert _sampling.draw(shares, 2, Scripted([edges[v], edges[v + 1] - 1])).tolist() == [v, v]
    draws = _sampling.draw(shares, 20_000, np.random.default_rng(3))
    assert check.mean_z(draws == 1, shares[1]) < 5


@pytest.mark.parametrize("shares", [(0.25,) * 4, (1 / 3,) * 3, (0.1,) * 10, (1.0,)])
def test_shares_that_are_equal_stay_so(shares):
    assert _sampling.realised_shares(shares) == [Fraction(1, len(shares))] * len(shares)
    counts = np.bincount(_sampling.draw(shares, 2_000, np.random.default_rng(3)), minlength=len(shares))
    assert ((counts - 2_000 / len(shares)) ** 2 <= 25 * 2_000 / len(shares)).all()


@given(epsilons)
def test_the_rational_bound_lies_just_below_the_exponential(epsilon):
    bound, exact = _sampling.exp_below(epsilon), sp.exp(sp.Rational(*epsilon.as_integer_ratio()))
    gap = sp.N(1 - sp.Rational(bound.numerator, bound.denominator) / exact, 30, maxn=2_000)
    assert 0 < gap < sp.Rational(1, 2**300)


@given(epsilons, sizes, st.floats(1e-3, 1 - 1e-3))  # nearer to 0 or 1 the least budgets are refused
def test_no_coin_spends_more_than_epsilon(epsilon, k, q):
    bound = _sampling.exp_below(epsilon)
    for mechanism in (GRR(k=k, epsilon=epsilon), OLH(k=2, epsilon=epsilon, g=k)):
        p, other = getattr(mechanism, "_buckets", mechanism).realised_probabilities  # of OLH, given the seed
        assert p + (k - 1) * other == 1
        assert 0 < other <= p < 1
        assert p / other <= bound
    for mechanism in (SUE(k=k, epsilon=epsilon), OUE(k=k, epsilon=epsilon), UnaryEncoding(k=k, epsilon=epsilon, q=q)):
        p, other = mechanism.realised_probabilities
        assert 0 < other <= p < 1
        assert p * (1 - other) / (other * (1 - p)) <= bound


@given(st.floats(1e-6, 50), sizes)
def test_the_proved_budget_is_next_to_epsilon(epsilon, k):
    for mechanism in (GRR(k=k, epsilon=epsilon), SUE(k=k, epsilon=epsilon), OUE(k=k, epsilon=epsilon)):
        assert epsilon * (1 - 1e-9) <= mechanism.realised_epsilon() <= epsilon


def test_large_budgets_and_small_ones_keep_their_promise():
    for epsilon in (74.0, 100.0, 700.0):
        for mechanism in (SUE(k=4, epsilon=epsilon), OUE(k=4, epsilon=epsilon), RR(epsilon=epsilon)):
            p, q = mechanism.realised_probabilities
            assert 0 < q < p < 1
            assert math.log(channel.privacy_ratio(mechanism.channel())) <= epsilon + 1e-9
    keep = _sampling.realised_keep(_sampling.proved_keep(1e-9, 2**20), 2**20)
    assert float(keep) == pytest.approx(math.expm1(1e-9) / 2**20, rel=1e-9)


def test_a_false_proof_is_refused():
    with pytest.raises(ArithmeticError, match="ratio must be from 1 to exp"):
        _sampling.proved_epsilon(Fraction(3), 1.0)
    with pytest.raises(ValueError, match=r"p must be a probability; got 1\.5"):
        _sampling.bernoulli(1.5, 3, np.random.default_rng(1))


@pytest.mark.parametrize("p", [0.75 / 256, 76.25 / 256, 128.75 / 256, 187.25 / 256, 254.75 / 256])
def test_bernoulli_draws_have_their_probability_to_better_than_one_byte(p):
    hits = _sampling.bernoulli(p, 2**24, np.random.default_rng(1))
    assert check.mean_z(hits, p) < 5
    # A decision by one byte alone would be off by a quarter of 1/256 or more, and so would a fair coin at a tie.
    for wrong in (np.floor(p * 256) / 256, (np.floor(p * 256) + 0.5) / 256):
        assert check.mean_z(hits, wrong) > 5


def test_bernoulli_draws_have_the_shape_asked_for_and_never_miss_at_zero_or_one():
    rng = np.random.default_rng(2)
    assert _sampling.bernoulli(0.5, (3, 5), rng).shape == (3, 5)
    assert not _sampling.bernoulli(0.0, 10_000, rng).any()
    assert _sampling.bernoulli(1.0, 10_000, rng).all()


def test_draws_are_uncorrelated_with_their_neighbours():
    rng = np.random.default_rng(3)
    for draws in (_sampling.bernoulli(0.3, 2**20, rng) - 0.3, _sampling.uniform(5, 2**20, rng) - 2.0):
        for lag in (1, 2, 7, 8, 9, 2**16, 2**17, 2**18):
            assert check.mean_z(draws[lag:] * draws[:-lag], 0) < 5


def test_the_smallest_integer_type_holds_the_largest_value():
    wanted = [np.uint8, np.uint8, np.uint16, np.uint16, np.uint32]
    assert [_inputs.small_dtype(k) for k in (2, 256, 257, 2**16, 2**16 + 1)] == wanted


def test_a_ratio_of_one_spends_nothing_and_less_proves_nothing():
    assert _sampling.proved_epsilon(Fraction(1), 1.0) == 0
    assert _sampling.proved_epsilon(_sampling.exp_below(1.0), 1.0) == 1.0
    assert _sampling.proved_epsilon(Fraction(3, 2), 1.0) == pytest.approx(math.log(1.5), rel=1e-14)
    assert _sampling.proved_epsilon(Fraction(3, 2), 1.0) > math.log(1.5)
    for ratio in (Fraction(999, 1000), _sampling.exp_below(1.0) + Fraction(1, 2**300)):
        with pytest.raises(ArithmeticError, match=r"ratio must be from 1 to exp\(epsilon\), epsilon = 1\.0; got"):
            _sampling.proved_epsilon(ratio, 1.0)
    for p in (-1e-300, 1 + 2**-52, Fraction(-1, 9)):
        with pytest.raises(ValueError, match="p must be a probability; got"):
            _sampling.bernoulli(p, 3, np.random.default_rng(1))


def test_tosses_compare_words_with_the_chance():
    assert _sampling.toss(np.array([1.0] * 100), np.random.default_rng(1)).all()
    assert not _sampling.toss(np.array([0.0] * 100), np.random.default_rng(1)).any()
    half, quarter = 2**63, 2**62
    script = Scripted([half - 1, half, quarter - 1, quarter, TOP])
    assert _sampling.toss(np.array([0.5, 0.5, 0.25, 0.25, 1.0]), script).tolist() == [True, False, True, False, True]
    script = Scripted([6, 7, 0])
    assert _sampling.coins(np.array([7, 7, 0], np.uint64), script).tolist() == [True, False, False]


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32, np.uint64])
def test_random_bits_are_those_of_as_many_words_as_are_needed(dtype):
    lanes = 8 // np.dtype(dtype).itemsize
    for size in (0, 1, lanes, lanes + 1, 2 * lanes):
        numbers = np.arange(size, dtype=dtype) + 3
        words = packed(numbers, dtype) if size else []
        found = _sampling.random_bits(dtype, size, Scripted(words))
        assert (found.dtype, found.tolist()) == (dtype, numbers.tolist())


@pytest.mark.parametrize("k", [2_048, 2**16])
def test_from_two_thousand_values_on_four_bytes_decide(k):
    third = 2**32 // 3  # numbers below keep the truth, those above go to the values, as many to each
    each = (2**32 - third) // k
    numbers = [0, third - 1, third, third + each - 1, third + each, third + each * k - 1]
    script = Scripted(packed(numbers, np.uint32), [], [])
    found = _sampling.grr_reports(np.array([5, 6, 7, 8, 9, 10]), k, Fraction(1, 3), script)
    assert found.tolist() == [5, 6, 0, 0, 1, k - 1]
    even = 2**32 // k
    script = Scripted(packed([0, even - 1, even, 2**32 - 1], np.uint32), [])
    assert _sampling.uniform(k, 4, script).tolist() == [0, 0, 1, k - 1]


@pytest.mark.parametrize("k", [2**16, 2**16 + 1])
def test_beyond_two_bytes_a_coin_and_a_uniform_value_are_drawn(k):
    keep = Fraction(1, 3)
    realised = _sampling.realised_keep(keep, k)
    assert 0 <= keep - realised <= Fraction(1, 2**136)
    if k == 2**16:
        sure, width = math.floor(keep * 2**32), math.floor((1 - keep) * 2**32 / k)
        left = 2**32 - sure - k * width
        assert realised == (sure + left * _sampling.realised((keep * 2**32 - sure) / left)) / 2**32
    else:
        assert realised == _sampling.realised(keep)
        bytes_ = packed([84, 86, 84], np.uint8)  # a third of 256 is 85 and a third
        script = Scripted(bytes_, [9, 9, k - 1])
        found = _sampling.grr_reports(np.array([4, 5, k - 1]), k, keep, script)
        assert (found.dtype, found.tolist()) == (np.uint32, [4, 9, k - 1])
    assert _sampling.uniform(k, 3, np.random.default_rng(1)).dtype == (np.uint16 if k == 2**16 else np.uint32)
    assert _sampling.uniform(1, 3, np.random.default_rng(1)).tolist() == [0, 0, 0]


def test_counts_of_reports_keep_their_total():
    rng = np.random.default_rng(4)
    found = GRR(k=3, epsilon=1.0).draw_support(np.array([[[5, 0, 9]] * 2, [[0, 0, 0]] * 2]), rng)
    assert found.shape == (2, 2, 3)
    assert found.sum(axis=2).tolist() == [[14, 14], [0, 0]]
    found = GRR(k=3, epsilon=500.0).draw_support(np.array([[5, 0, 9]] * 4), rng)
    assert found.tolist() == [[5, 0, 9]] * 4


def test_users_who_sample_an_attribute_have_the_exact_moments():
    counts = np.array([[[30, 2, 0, 0], [17, 16, 0, 1], [40, 0, 3, 0]], [[0, 1, 20, 0], [0, 0, 0, 25], [1, 1, 1, 18]]])
    people, d = Population.from_counts(counts), 3  # common records, and rare ones
    drawn = np.hstack(_sampled.draw_sampled(people, rng=np.random.default_rng(5), runs=3_000))
    member = np.hstack([people.records[:, [j]] == np.arange(size) for j, size in enumerate(people.k)]).astype(int)
    both = member.T @ (people.counts[:, None] * member)
    assert (drawn.sum(axis=1) == people.n).all()
    assert check.mean_z(drawn, np.diag(both) / d) < 5
    covariance = np.diag(np.diag(both)) / d - both / d**2
    assert check.variance_z(drawn, covariance) < 5 < check.variance_z(drawn, 1.3 * covariance)
    alone = Population.from_counts([20, 3, 0, 16, 17])
    assert (_sampled.draw_sampled(alone, rng=np.random.default_rng(5), runs=2)[0] == alone.histogram).all()


@pytest.mark.parametrize("entries", [45, 19])  # two runs at a time, and fewer than one
def test_many_common_records_are_drawn_run_by_run(entries, monkeypatch):
    people = Population.from_counts(np.full((4, 5), 100))
    monkeypatch.setattr(_sampled, "ENTRIES", entries)
    drawn = np.hstack(_sampled.draw_sampled(people, rng=np.random.default_rng(6), runs=5))
    assert (drawn.sum(axis=1) == 2_000).all()
    assert len(np.unique(drawn, axis=0)) == 5


def test_one_block_s_random_numbers_do_not_come_again_in_the_next():
    """Were they used twice, users of the second block would report as those of the first do."""
    grr, n = GRR(k=4, epsilon=1.0), 2 * max(_sampling.WIDE, 2**20)
    y = grr.perturb(np.zeros(n, np.uint8), rng=np.random.default_rng(1))
    for step in (_sampling.WIDE, _sampling.BLOCK, 2**20):
        agree = (y[:-step] == y[step:]).mean()
        p, q = grr.realised_probabilities
        wanted = float(p**2 + 3 * q**2)
        assert abs(agree - wanted) < 5 * np.sqrt(wanted * (1 - wanted) / (n - step)) * 2  # neighbours share a report
        assert agree < 0.9


AGREE = {  # what is drawn, and the probability that two draws agree
    "bernoulli": (lambda n, rng: _sampling.bernoulli(0.3, n, rng), 0.58),
    "uniform": (lambda n, rng: _sampling.uniform(5, n, rng), 0.2),
    "draw": (lambda n, rng: _sampling.draw((0.2, 0.3, 0.5), n, rng), 0.38),
    "random_bits": (lambda n, rng: _sampling.random_bits(np.uint8, n, rng), 1 / 256),
    "coins": (lambda n, rng: _sampling.coins(np.full(n, 2**62, np.uint64), rng), 0.625),
    "toss": (lambda n, rng: _sampling.toss(np.full(n, 0.25), rng), 0.625),
}


@pytest.mark.parametrize("what", AGREE)
def test_no_draw_repeats_itself_from_block_to_block(what):
    act, wanted = AGREE[what]
    drawn = act(2**21, np.random.default_rng(1))
    for step in {_sampling.WIDE, _sampling.BLOCK, 2**20}:
        agree = (drawn[:-step] == drawn[step:]).mean()
        assert abs(agree - wanted) < 5 * np.sqrt(2 * wanted * (1 - wanted) / (2**21 - step))  # neighbours share a draw


@pytest.mark.parametrize("lag", [1, 256, 4_096, 65_536])
def test_what_is_left_over_is_drawn_anew_for_each_user(lag, monkeypatch):
    """Words all too large for equal cells: every value is a leftover, and no copy of one some places before."""
    monkeypatch.setattr(_sampling, "random_bits", lambda number, size, rng: np.full(size, np.iinfo(number).max, number))
    n = 400_000
    found = _sampling.uniform(3, n, np.random.default_rng(1))
    same = lambda y: check.mean_z(y[lag:] == y[:-lag], 1 / 3)  # noqa: E731
    assert same(found) < 5 < same(np.resize(found[:lag], n))

"""The audit lets every correct mechanism pass and catches mechanisms with one planted fault each."""

import inspect
import math
import os
from collections import Counter
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import binom
from test_protocol import MECHANISMS

from ldp_lib import (
    GRR,
    JRR,
    KJRR,
    OLH,
    OUE,
    RSFD,
    SPL,
    CondRR,
    CorrRR,
    SecondPhase,
    TwoPhaseRSRFD,
    audit,
    fake_data,
    grr,
    hashing,
)
from ldp_lib import (
    _sampling as sampling,
)
from ldp_lib.auditing import Audit, _log_ratio_bound
from ldp_lib.jrr import colluder_ratio, transcript_ratio

RUNS = int(os.environ.get("RUNS", "20000"))  # more by `make audit`
PHASES = (CorrRR, CondRR, TwoPhaseRSRFD)


def ends(k):
    """The first value or record, and the last."""
    return ((0,) * len(k), tuple(size - 1 for size in k)) if isinstance(k, tuple) else (0, k - 1)


def first_rows(y):
    """The report of the first user, who is the first of either phase, and of another one."""
    return y[0][0], y[1][0]


@pytest.mark.parametrize("mechanism", [m for m in MECHANISMS if not isinstance(m, PHASES)], ids=repr)
def test_a_correct_mechanism_passes(mechanism):
    found = audit(mechanism, *ends(mechanism.k), rng=np.random.default_rng(1), runs=RUNS)
    assert found.passed
    assert found.bound > 0.3 * mechanism.epsilon  # the audit does see what is spent


@pytest.mark.parametrize("mechanism", [m for m in MECHANISMS if isinstance(m, PHASES)], ids=repr)
def test_a_correct_mechanism_of_two_phases_passes(mechanism):
    surveys = [np.zeros((12, len(mechanism.k)), int) for _ in range(2)]
    surveys[1][0] = ends(mechanism.k)[1]
    found = audit(mechanism, *surveys, rng=np.random.default_rng(2), runs=RUNS // 40, view=first_rows)
    assert found.passed
    assert found.runs == RUNS // 80


@pytest.mark.parametrize("mechanism", [JRR(p=0.7, rho=-0.4), JRR(p=0.75, rho=0.8)], ids=repr)
def test_all_reports_of_paired_users_pass_at_what_they_spend_together(mechanism):
    surveys = np.array([0, 1, 1, 1]), np.array([1, 1, 1, 1])
    spent = math.log(transcript_ratio(mechanism.p_, mechanism.rho_, 4))
    assert audit(mechanism, *surveys, rng=np.random.default_rng(3), runs=RUNS // 20, epsilon=spent).passed
    assert not audit(mechanism, *surveys, rng=np.random.default_rng(3), runs=2_000).passed


@dataclass(frozen=True, kw_only=True)
class LargeP(GRR):
    """The truth 2 % more often than it should be."""

    @property
    def _keep(self):
        p = 1.02 * grr.probabilities(math.exp(self.epsilon), self.k)[0]
        return p - (1 - p) / (self.k - 1)


@dataclass(frozen=True, kw_only=True)
class ReusedGenerator(SPL):
    """Every attribute's coins come from the same state of the generator."""

    def perturb(self, x, *, rng):
        seeds = rng.integers(2**63, size=len(x))
        y = np.empty(x.shape, np.uint8)
        for user, seed in enumerate(seeds):
            for j, oracle in enumerate(self.oracles):
                y[user, j] = oracle.perturb(x[user, [j]], rng=np.random.default_rng(seed))[0]
        return y


@dataclass(frozen=True, kw_only=True)
class LeakedPivot(SecondPhase):
    """The copies are made from the pivot's true value, not from its report."""

    def perturb(self, x, *, rng):
        k, d, n = self.k[0], len(self.k), len(x)
        pivot = rng.integers(d, size=n)
        truth = x[np.arange(n), pivot]
        report = GRR(k=k, epsilon=self.epsilon).perturb(truth, rng=rng)
        y = np.empty((n, d), np.uint8)
        for m, chances in enumerate(np.transpose(self.reuse)):
            copied = np.where(sampling.toss(chances[pivot], rng), truth, rng.integers(k, size=n))
            y[:, m] = np.where(pivot == m, report, copied)
        return y


@dataclass(frozen=True, kw_only=True)
class UnshuffledPair(KJRR):
    """Neighbours are partners: the pairing is no secret."""

    def _dealt_truths(self, n, rng):
        chances, true = self._chances, np.empty(n, bool)
        true[::2] = sampling.bernoulli(chances[0], n - n // 2, rng)
        after = [sampling.bernoulli(chance, n // 2, rng) for chance in chances[1:]]
        true[1::2] = np.where(true[: n // 2 * 2 : 2], *after)
        return true


@dataclass(frozen=True, kw_only=True)
class Amplified(RSFD):
    """One attribute is sent at the budget that sampling is said to allow, d times larger odds and all."""

    @property
    def _keep(self):
        larger = math.log1p(len(self.k) * math.expm1(self.epsilon))
        return RSFD(k=self.k, epsilon=larger)._keep


@dataclass(frozen=True, kw_only=True)
class BiasedHash(OLH):
    """A user's hash function is drawn again, once, if it sends the user's value to the first bucket."""

    def perturb(self, x, *, rng):
        y = super().perturb(x, rng=rng)
        seed = hashing._draw_seeds(x.size, rng)
        again = hashing.hash_values(y["seed"], x, self.g) == 0
        y["seed"][again] = seed[again]
        y["y"] = self._buckets.perturb(hashing.hash_values(y["seed"], x, self.g), rng=rng)
        return y


REUSE = {"epsilon": 1.0, "reuse": 0.8}
UNSHUFFLED = {"epsilon": math.log(colluder_ratio(0.6, -0.5, 10, 1)), "view": lambda y: y[:2]}
ALIKE = np.ones(10, int)
FAULTS = [
    (LargeP(k=2, epsilon=1.0), GRR(k=2, epsilon=1.0), 0, 1, 200_000, {}),
    (ReusedGenerator(k=(2, 2), epsilon=1.0), SPL(k=(2, 2), epsilon=1.0), (0, 0), (0, 1), 2_000, {}),
    (LeakedPivot(k=(2, 2), **REUSE), SecondPhase(k=(2, 2), **REUSE), (0, 0), (1, 1), 20_000, {}),
    (UnshuffledPair(k=2, p=0.6, rho=-0.5), KJRR(k=2, p=0.6, rho=-0.5), ALIKE, np.r_[0, ALIKE[1:]], 2_000, UNSHUFFLED),
    (Amplified(k=(2, 2), epsilon=1.0), RSFD(k=(2, 2), epsilon=1.0), (0, 0), (1, 1), 20_000, {}),
    (BiasedHash(k=5, epsilon=1.0, g=2), OLH(k=5, epsilon=1.0, g=2), 0, 1, 20_000, {}),
]


@pytest.mark.parametrize(("fault", "correct", "x", "x2", "runs", "more"), FAULTS, ids=lambda part: type(part).__name__)
def test_a_planted_fault_is_caught(fault, correct, x, x2, runs, more):
    rng = np.random.default_rng(4)
    assert not audit(fault, x, x2, rng=rng, runs=runs, **more).passed
    assert audit(correct, x, x2, rng=rng, runs=runs, **more).passed


def test_a_p_that_is_too_large_takes_more_reports_where_more_answers_are_possible():
    """Page quality: the fault above, of four answers, by the usual number of reports."""
    page = (Path(__file__).parents[2] / "book" / "quality.md").read_text(encoding="utf-8")
    usual = inspect.signature(audit).parameters["runs"].default
    assert f"(two answers, ε = 1, {FAULTS[0][4]:,} reports; of four answers its usual {usual:,} do not show it)" in page
    assert all(audit(LargeP(k=4, epsilon=1.0), 0, 1, rng=np.random.default_rng(i)).passed for i in range(3))


def test_amplification_holds_for_one_attribute_but_not_for_the_record():
    # What is caught above is no accident of the numbers: the ratio is the one of the chapter on amplification.
    faulty = fake_data.channel(1 + 2 * (math.e - 1), (2, 2), ((0.5, 0.5), (0.5, 0.5)))
    assert faulty[0].max() / faulty[3, faulty[0].argmax()] > math.e


@pytest.mark.parametrize(("p", "p2"), [(0.5, 0.2), (0.3, 0.1), (0.9, 0.9)])
def test_the_bound_holds_as_often_as_it_says_and_is_not_idle(p, p2):
    # All pairs of counts out of 100, by their exact probabilities.
    hits = np.arange(101)
    chances = np.outer(binom.pmf(hits, 100, p), binom.pmf(hits, 100, p2))
    bounds = _log_ratio_bound(hits[:, None], hits[None], 100, 0.95)
    covered = chances[bounds <= math.log(p / p2)].sum()
    assert 0.95 <= covered < 1 - 1e-6


def test_the_bound_knows_its_ends():
    assert _log_ratio_bound(0, 5, 10, 0.9) < -100
    assert _log_ratio_bound(5, 10, 10, 0.9) == pytest.approx(math.log(0.2224), abs=1e-3)
    assert _log_ratio_bound(10, 0, 10, 0.9) == pytest.approx(
        math.log(0.05 ** (1 / 10) / (1 - 0.05 ** (1 / 10))), abs=1e-9
    )


@pytest.mark.parametrize(
    ("x", "x2", "more", "message"),
    [
        (0, 0, {}, "x2 must differ from x"),
        (0, [1, 2], {}, "two values or records, or two surveys"),
        ([[0]], [[1]], {}, "two values or records, or two surveys"),
        ([0, 1], [1, 0], {}, "one user's data only"),
        (0, 1, {"runs": 1}, "runs must be at least 2"),
        (0, 1, {"confidence": 1.0}, "confidence must be a number above 0 and below 1"),
        (0, 5, {}, "x must be"),
    ],
)
def test_bad_arguments_are_named(x, x2, more, message):
    with pytest.raises(ValueError, match=message):
        audit(GRR(k=3, epsilon=1.0), x, x2, rng=np.random.default_rng(1), **more)


class Scripted:
    """A mechanism of two values whose reports are written down: the first half is to choose by, the second to test."""

    k, epsilon = 2, 1.0

    def __init__(self, *reports):
        self.reports = np.array(reports, np.uint8)

    def perturb(self, x, *, rng):
        return self.reports[x[0], : len(x)]


@pytest.mark.parametrize("seed", range(6))
def test_the_event_is_what_tells_best_in_one_half_and_its_bound_is_of_the_other(seed):
    rng, runs = np.random.default_rng(seed), 61
    mechanism = Scripted(*(rng.choice(9, p=rng.dirichlet(np.full(9, 0.5)), size=runs) for _ in range(2)))
    events = []
    for likely, rare in (mechanism.reports, mechanism.reports[::-1]):
        first = [[Counter(side[:30].tolist())[v] for v in range(9)] for side in (likely, rare)]
        values = sorted(range(9), key=lambda v: Fraction(-1 - 2 * first[0][v], 1 + 2 * first[1][v]))
        for size in range(1, 10):
            chosen = [sum(side[v] for v in values[:size]) for side in first]
            hits = tuple(int(np.isin(side[30:], values[:size]).sum()) for side in (likely, rare))
            events.append((_log_ratio_bound(*chosen, 30, 0.9), -size, hits))
    most = max(bound for bound, *_ in events)
    found = audit(mechanism, 0, 1, rng=rng, runs=runs, confidence=0.9)
    assert found.hits in {hits for bound, _, hits in events if bound == most}
    assert found.bound == pytest.approx(max(0, _log_ratio_bound(*found.hits, 31, 0.9)))
    assert (found.runs, found.epsilon, found.confidence) == (31, 1.0, 0.9)


def test_two_reports_are_enough_and_alike_ones_show_nothing():
    found = audit(Scripted([0, 0], [0, 0]), 0, 1, rng=np.random.default_rng(1), runs=2, confidence=0.5)
    assert (found.bound, found.hits, found.runs, found.passed) == (0, (1, 1), 1, True)
    found = audit(Scripted([0, 0], [1, 1]), 1, 0, rng=np.random.default_rng(1), runs=2, confidence=0.2, epsilon=0.1)
    # One hit of one, and none of one: shares of at least 0.4 and at most 0.6 hold with probability 0.2.
    assert found.hits == (1, 0)
    assert found.bound == pytest.approx(max(0, math.log(0.4 / 0.6)))


def test_what_is_spent_may_be_all_that_was_promised():
    found = Audit(epsilon=1.0, bound=1.0, hits=(3, 1), runs=9, confidence=0.9)
    assert found.passed
    assert not replace(found, bound=1.0 + 1e-9).passed


def test_the_bound_is_that_of_clopper_and_pearson_by_hand():
    # Of three tosses two or more hit with chance 5/32 at 1/4; one or none with chance 5/32 at 3/4.
    assert _log_ratio_bound(2, 1, 3, 1 - 2 * 5 / 32) == pytest.approx(math.log(1 / 3))
    for n, error in ((1, 0.1), (10, 0.05)):
        some, all_hit = 1 - (1 - error) ** (1 / n), error ** (1 / n)  # least shares for one hit, and for n
        confidence = 1 - 2 * error
        assert _log_ratio_bound(1, n - 1, n, confidence) == pytest.approx(
            math.log((some if n > 1 else all_hit) / (1 - some))
        )
        assert _log_ratio_bound(n, 0, n, confidence) == pytest.approx(math.log(all_hit / (1 - all_hit)))
        assert _log_ratio_bound(n, n, n, confidence) == pytest.approx(math.log(all_hit))
        assert math.isfinite(_log_ratio_bound(0, n, n, confidence))
        assert _log_ratio_bound(0, n, n, confidence) < -600


def test_surveys_differ_in_one_user_s_row_whatever_of_it_differs():
    mechanism, rng = SPL(k=(2, 3), epsilon=1.0), np.random.default_rng(1)
    survey = np.array([[0, 0], [1, 2], [1, 1]])
    for row in range(3):
        other = survey.copy()
        other[row] = [1 - other[row, 0], (other[row, 1] + 1) % 3]
        assert audit(mechanism, survey, other, rng=rng, runs=20).runs == 10
    other[0] = [1, 0]
    with pytest.raises(ValueError, match="x2 must differ from x in one user's data only"):
        audit(mechanism, survey, other, rng=rng, runs=20)
    for x, x2 in ((0, 1), ([[0, 0]], [0, 1]), ([[[0, 0]]], [[[0, 1]]])):
        with pytest.raises(ValueError, match="x and x2 must be two values or records, or two surveys"):
            audit(mechanism, x, x2, rng=rng, runs=20)


def test_made_up_bits_that_are_all_one_show_and_well_chosen_answers_do_not():
    """The shares of honest people sum to 1 but for noise; one fake in a hundred that raises every share is far off."""
    n, oue = 40_000, OUE(k=16, epsilon=1.0)
    reports = oue.perturb(np.arange(n) % 16, rng=np.random.default_rng(1))
    p, q = 1 / 2, 1 / (math.e + 1)
    noise = np.sqrt((p * (1 - p) + 15 * q * (1 - q)) / n) / (p - q)
    assert abs(oue.estimate(reports).sum() - 1) < 5 * noise
    reports[: n // 100] = 1
    assert oue.estimate(reports).sum() - 1 > 10 * noise
    channel, honest, fakes = GRR(k=4, epsilon=1.0).channel(), np.array([0.1, 0.3, 0.3, 0.3]), np.array([1, 0, 0, 0])
    mixed = 0.9 * honest @ channel + 0.1 * fakes
    shares = np.linalg.solve(channel.T, mixed)
    assert shares.min() > 0  # honest people with these shares send the same reports
    assert shares[0] > 0.9 * honest[0] + 0.1 + 0.05

"""What a mechanism really spends: every branch of its own code, and the proof over the range of parameters."""

import itertools
import math
import os
from fractions import Fraction

import branches
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import ldp_lib
from ldp_lib import (
    GRR,
    JRR,
    KJRR,
    MECHANISMS,
    OLH,
    OUE,
    RR,
    RSFD,
    RSRFD,
    SPL,
    SUE,
    AskSome,
    CondRR,
    CorrRR,
    JointHashing,
    JointUnary,
    OneQuestion,
    Plurality,
    ProductRR,
    RRClusters,
    RRIndependent,
    RRJoint,
    SecondPhase,
    ServerProtocol,
    ShuffleProtocol,
    SignedRR,
    SubsetSelection,
    TwoPhaseRSRFD,
    UnaryEncoding,
    _sampling,
)

PRIORS = ((0.7, 0.3), (0.2, 0.3, 0.5))
MATRIX = ([[0.8, 0.2], [0.1, 0.9]], 1.0)
ALONE = [
    RR(epsilon=1.0),
    GRR(k=3, epsilon=0.7),
    GRR(k=7, epsilon=2.0),
    SUE(k=3, epsilon=1.0),
    OUE(k=3, epsilon=1.0),
    UnaryEncoding(k=2, epsilon=1.0, q=0.3),
    OLH(k=5, epsilon=1.0),
    SubsetSelection(k=4, epsilon=0.7),
    SubsetSelection(k=5, epsilon=0.4, size=2),
    OneQuestion(k=(2, 3), epsilon=1.0),
    OneQuestion(k=(2, 3), epsilon=1.0, oracle=OUE, weights=(1, 3), groups=False),
    AskSome(k=(2, 2, 3), epsilon=1.0, m=2),
    AskSome(k=(2, 3), epsilon=1.0, m=2, sizes=(1, 2), groups=False),
    SPL(k=(2, 3), epsilon=1.0),
    ldp_lib.BRR(k=(2, 3), epsilon=1.0),
    ldp_lib.MRR(k=(2, 3), epsilon=2.0),
    ldp_lib.OBRR(k=(2, 3), epsilon=1.0),
    ldp_lib.OMRR(k=(2, 3), epsilon=2.0),
    SecondPhase(k=(3, 3), epsilon=1.0, reuse=[[1, 0.2], [0.9, 1]]),
    RSFD(k=(2, 3), epsilon=1.0),
    RSRFD(k=(2, 3), epsilon=1.0, priors=PRIORS),
    Plurality(k=(3, 3), epsilon=1.0),
    Plurality(k=(2, 2, 2), epsilon=2.0, shares=(0.6, 0.4, 0)),
    RRIndependent(k=(2, 3), epsilon=1.0),
    RRJoint(k=(2, 3), epsilon=1.0),
    RRClusters(k=(2, 3, 2), clusters=((0, 2), (1,)), epsilons=(1.0, 0.5, 2.0)),
    ProductRR(k=(2, 3), clusters=((0,), (1,)), channels=MATRIX),
]
TOGETHER = [
    JRR(p=0.6, rho=-0.5),
    JRR(p=0.75, rho=0.8),
    KJRR(k=3, p=0.4, rho=1.5),
    KJRR(k=3, epsilon=1.0),
    SignedRR(p=0.6, rho=-0.5),
    ServerProtocol(p=0.6, rho=-0.5),
    ShuffleProtocol(epsilon=1.0),
    JointUnary(k=2, epsilon=1.0),
    JointHashing(k=3, epsilon=1.0, g=3, rho=-0.8),
]
PHASES = [
    TwoPhaseRSRFD(k=(2, 2), epsilon=1.0, n1=1),
    CorrRR(k=(2, 2), epsilon=1.0, n1=1),
    CorrRR(k=(2, 2), epsilon=1.0, n1=1, reuse=0.7),
    CondRR(k=(2, 2), epsilon=1.0, n1=1),
]


def records(k):
    """All records, one a row, or all values."""
    return np.array(list(itertools.product(*map(range, k)))) if isinstance(k, tuple) else np.arange(k)


@pytest.mark.parametrize("mechanism", ALONE, ids=repr)
def test_every_branch_of_one_report(mechanism):
    bits = np.prod(mechanism.k) <= 7 and type(mechanism) in (RR, GRR)
    laws = [branches.law(mechanism.perturb, x, bits=bits) for x in records(mechanism.k)[:, None]]
    worst, proved = branches.ratio(laws), mechanism.realised_epsilon()
    assert worst <= _sampling.exp_below(mechanism.epsilon)
    assert _sampling.proved_epsilon(worst, mechanism.epsilon) <= proved <= mechanism.epsilon
    if type(mechanism) is not SecondPhase and mechanism != Plurality(k=(3, 3), epsilon=1.0):
        assert (
            worst >= _sampling.exp_below(mechanism.epsilon) * (1 - Fraction(1, 10**6)) or type(mechanism) is ProductRR
        )


def own_reports(mechanism, x, user):
    """The law of one user's report, the others' data given."""
    return branches.law(lambda x, rng: np.ascontiguousarray(mechanism.perturb(x, rng=rng)[user]), x, bits=False)


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("mechanism", TOGETHER, ids=repr)
def test_every_branch_of_one_report_among_paired_users(mechanism, n):
    if n == 3 and (mechanism.k > 2 or isinstance(mechanism, JointUnary)):
        n = 1  # too many branches
    bound, values = _sampling.exp_below(mechanism.epsilon), range(mechanism.k)
    for user in range(n):
        laws = [own_reports(mechanism, np.where(np.arange(n) == user, v, 1), user) for v in values]
        worst = branches.ratio(laws)
        assert worst <= bound
        assert _sampling.proved_epsilon(worst, mechanism.epsilon) <= mechanism.realised_epsilon()
        if not isinstance(mechanism, JointHashing):  # a hash may send all values to one bucket
            assert worst >= bound * (1 - Fraction(1, 10**6))


@pytest.mark.parametrize("mechanism", [m for m in TOGETHER if hasattr(m, "realised_pair")], ids=repr)
def test_every_branch_of_a_pair(mechanism):
    law = branches.law(mechanism.perturb, np.array([0, 0]), bits=False)
    lies = mechanism.k - 1
    both, first, second, none = mechanism.realised_pair
    wanted = {bytes([0, 0]): both, bytes([1, 1]): none / lies**2}
    wanted[bytes([0, 1])] = wanted[bytes([1, 0])] = (first + second) / 2 / lies
    assert all(law.get(y, 0) == chance for y, chance in wanted.items())
    stated = ldp_lib.jrr.table(mechanism.p_, mechanism.rho_, mechanism.k)
    assert [float(both), float(first) / lies, float(none) / lies**2] == pytest.approx(stated, abs=1e-15)


@pytest.mark.parametrize("mechanism", PHASES, ids=repr)
def test_every_branch_of_two_phases(mechanism):
    # All reports of both users, where either changes the record: what the first phase teaches the second included.
    bound = _sampling.exp_below(mechanism.epsilon)
    for other in records(mechanism.k)[[0, 3]]:
        laws = [branches.law(mechanism.perturb, np.array([x, other]), bits=False) for x in records(mechanism.k)]
        worst = branches.ratio(laws)
        assert bound * (1 - Fraction(1, 10**6)) <= worst <= bound
        assert _sampling.proved_epsilon(worst, mechanism.epsilon) <= mechanism.realised_epsilon()


def test_the_branches_find_a_coin_that_spends_too_much():
    class Loose(GRR):
        @property
        def _keep(self):
            return 1.02 * float(_sampling.proved_keep(self.epsilon, self.k))

    mechanism = Loose(k=3, epsilon=0.7)
    laws = [branches.law(mechanism.perturb, np.array([x])) for x in range(3)]
    assert branches.ratio(laws) > _sampling.exp_below(0.7)


def test_every_class_goes_through_its_branches():
    assert {type(mechanism) for mechanism in ALONE + TOGETHER + PHASES} == set(MECHANISMS)


EXAMPLES = int(os.environ.get("EXAMPLES", "6"))  # more by `make proofs`
epsilons = st.floats(math.log(1e-6), math.log(50)).map(math.exp)
sizes = st.floats(1, 16).map(lambda power: round(2**power))


# What is learned, made up or designed takes a step for each value.
SLOW = {"AskSome": 100, **dict.fromkeys(("TwoPhaseRSRFD", "CorrRR", "CondRR", "RSFD", "RSRFD"), 1000)}


def served(cls, size, d):
    """A domain that the class serves: one size, sizes of several attributes, or several equal ones."""
    mixed = tuple(max(2, size >> j) for j in range(d))
    return next((k for k in (size, mixed, (size,) * d, 2) if cls.serves(k)), None)


def built(cls, k, epsilon):
    """The mechanism, or None where the class says that it does not take this budget."""
    try:
        return cls(k=k, epsilon=epsilon)
    except ValueError as error:
        if epsilon <= 15 or not issubclass(cls, ldp_lib.jrr.mechanism.Reports) or "at most 15" not in str(error):
            raise
        return None


@pytest.mark.parametrize("cls", MECHANISMS, ids=lambda cls: cls.__name__)
@settings(max_examples=EXAMPLES)
@given(epsilons, sizes, st.integers(2, 3))
@example(1e-6, 2, 2)
@example(1e-6, 2**16, 2)
@example(50.0, 2, 3)
@example(50.0, 2**16, 2)
@example(15.0, 2**16, 2)
def test_the_proof_holds_for_every_budget_and_domain(cls, epsilon, size, d):
    size = min(size, SLOW.get(cls.__name__, size))
    mechanism = built(cls, served(cls, size, d), epsilon)
    if mechanism is not None:
        realised = mechanism.realised_epsilon()  # raises where the proof fails
        most = {JointHashing: 36.0, AskSome: 44.0}.get(cls, epsilon)  # a lie has at least 2**-53, and 2**-64
        assert min(epsilon, most) * (1 - 1e-8) <= realised <= epsilon


def test_a_given_chance_of_truth_spends_no_more_than_it_says():
    rng = np.random.default_rng(5)
    for cls in (JRR, KJRR, SignedRR, ServerProtocol, ShuffleProtocol):
        for p in [0.5 + 1e-8, 1 - 1e-12, *rng.uniform(0.51, 0.999, 50)]:
            mechanism = cls(k=2, p=float(p))
            assert mechanism.realised_epsilon() <= mechanism.epsilon
            assert mechanism.realised_p <= Fraction(mechanism.p_)
            assert sum(mechanism.realised_pair) == 1 if hasattr(mechanism, "realised_pair") else True
    assert JRR(p=1.0).realised_epsilon() == math.inf
    with pytest.raises(ValueError, match="p must be such that"):
        KJRR(k=3, p=math.nextafter(1 / 3, 1))

"""One contract for every mechanism: a new mechanism adds one line to MECHANISMS."""

import dataclasses

import numpy as np
import pytest

import ldp_lib
from ldp_lib.corr_rr import CondRR, CorrRR, SecondPhase
from ldp_lib.fake_data import RSFD, RSRFD
from ldp_lib.fake_data.two_phase import TwoPhaseRSRFD
from ldp_lib.grr import GRR, RR
from ldp_lib.hashing import OLH
from ldp_lib.jrr import JRR, KJRR, JointHashing, JointUnary, ServerProtocol, ShuffleProtocol, SignedRR
from ldp_lib.population import Population, marginal_frequencies
from ldp_lib.sampled import AskSome, OneQuestion
from ldp_lib.shrinkage.plurality import Plurality
from ldp_lib.splitting import BRR, MRR, OBRR, OMRR, SPL
from ldp_lib.subset import SubsetSelection
from ldp_lib.tables.clusters import RRClusters
from ldp_lib.tables.product import ProductRR, RRIndependent, RRJoint
from ldp_lib.unary import OUE, SUE, UnaryEncoding

MECHANISMS = [
    RR(epsilon=1.0),
    GRR(k=5, epsilon=0.5),
    GRR(k=3, epsilon=3.0),
    SUE(k=4, epsilon=1.0),
    OUE(k=4, epsilon=1.0),
    UnaryEncoding(k=3, epsilon=2.0, q=0.4),
    OLH(k=6, epsilon=1.0),
    OLH(k=4, epsilon=2.0, g=3),
    OLH(k=5, epsilon=4.0),
    SubsetSelection(k=5, epsilon=0.7),
    SubsetSelection(k=4, epsilon=2.0, size=3),
    OneQuestion(k=(4, 3), epsilon=0.6),
    OneQuestion(k=(5,), epsilon=1.0, groups=False),
    OneQuestion(k=(2, 3), epsilon=1.0, oracle=OUE, weights=(1, 3), groups=False),
    AskSome(k=(2, 3, 4), epsilon=1.0, m=2),
    AskSome(k=(3, 4), epsilon=0.5),
    AskSome(k=(2, 3), epsilon=2.0, m=2, sizes=(1, 2), groups=False),
    JRR(p=0.6, rho=-0.5),
    JRR(p=0.75, rho=0.8),
    KJRR(k=4, p=0.5, rho=-0.9),
    KJRR(k=3, p=0.4, rho=1.5),
    KJRR(k=5, epsilon=1.0),
    ServerProtocol(p=0.6, rho=-0.5),
    ShuffleProtocol(p=0.7, rho=-0.4),
    SignedRR(p=0.6, rho=-0.5),
    JointUnary(k=4, epsilon=1.0, rho=-0.3),
    JointUnary(k=3, epsilon=1.5, q=0.4, rho=-0.25, lean="report"),
    JointHashing(k=6, epsilon=1.0, rho=-0.8),
    JointHashing(k=4, epsilon=2.0, g=3, rho=1.2),
    SPL(k=(2, 3, 4), epsilon=2.0),
    BRR(k=(3, 2), epsilon=2.0),
    MRR(k=(4,), epsilon=1.0),
    OBRR(k=(2, 3), epsilon=3.0),
    OMRR(k=(2, 5), epsilon=1.5),
    SecondPhase(k=(3, 3), epsilon=1.0, reuse=[[1, 0.2], [0.9, 1]]),
    CorrRR(k=(2, 2, 2), epsilon=2.0, n1=9, reuse=0.7),
    CorrRR(k=(3, 3), epsilon=1.0),
    CondRR(k=(2, 3), epsilon=1.0),
    RSFD(k=(2, 3, 4), epsilon=1.0),
    RSRFD(k=(3, 2), epsilon=2.0, priors=((0.7, 0.0, 0.3), (0.4, 0.6))),
    TwoPhaseRSRFD(k=(2, 3), epsilon=2.0, n1=3),
    TwoPhaseRSRFD(k=(3,), epsilon=1.0),
    Plurality(k=(3, 3), epsilon=1.0),
    Plurality(k=(2, 2, 2), epsilon=2.0, shares=(0.6, 0.4, 0)),
    RRIndependent(k=(2, 3, 4), epsilon=3.5),
    RRIndependent(k=(2, 3), channels=([[0.8, 0.2], [0.1, 0.9]], [[0.6, 0.3, 0.1], [0.1, 0.7, 0.2], [0.3, 0.1, 0.6]])),
    RRJoint(k=(2, 3, 4), epsilon=2.5),
    RRJoint(k=(3, 2), matrix=np.full((6, 6), 0.1) + np.diag([0.4] * 6)),
    RRClusters(k=(2, 3, 2), clusters=((0, 2), (1,)), epsilons=(1.0, 0.5, 2.0)),
    ProductRR(k=(2, 3, 2), clusters=((2, 1), (0,)), channels=(2.0, [[0.8, 0.2], [0.1, 0.9]])),
]
BIASED = (SecondPhase, CorrRR, Plurality)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_the_whole_contract(mechanism):
    ldp_lib.check_mechanism(mechanism, runs=2_600)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_the_coins_spend_epsilon_and_provably_no_more(mechanism):
    assert mechanism.epsilon * (1 - 1e-12) <= mechanism.realised_epsilon() <= mechanism.epsilon


def test_every_mechanism_is_listed_and_tested():
    assert {type(mechanism) for mechanism in MECHANISMS} == set(ldp_lib.MECHANISMS)
    assert len(set(ldp_lib.MECHANISMS)) == len(ldp_lib.MECHANISMS)
    assert all(getattr(ldp_lib, cls.__name__) is cls for cls in ldp_lib.MECHANISMS)


@pytest.mark.parametrize("cls", ldp_lib.MECHANISMS, ids=lambda cls: cls.__name__)
def test_parameters_are_given_by_name_and_the_domain_and_the_budget_suffice(cls):
    k = next(k for k in (5, 2, (2, 3, 4), (3, 3)) if cls.serves(k))
    assert cls(k=k, epsilon=1.0).k == k
    assert all(field.kw_only for field in dataclasses.fields(cls))


@pytest.mark.parametrize("mechanism", [m for m in MECHANISMS if m.has_exact_moments], ids=repr)
def test_the_estimate_is_unbiased_or_known_to_be_biased(mechanism):
    sizes = mechanism.k if isinstance(mechanism.k, tuple) else (mechanism.k,)
    population = Population.from_counts(np.resize([1, 0, 3, 2, 20], sizes))
    mean = mechanism.mean(population)
    gap = np.abs(np.hstack(mean) - np.hstack(marginal_frequencies(population))).max()
    assert (gap < 1e-12) != isinstance(mechanism, BIASED)


def test_reports_use_the_smallest_integer_type():
    rng = np.random.default_rng(9)
    x = np.array([0, 1])
    for k, dtype in ((2, np.uint8), (256, np.uint8), (257, np.uint16), (70_000, np.uint32)):
        assert GRR(k=k, epsilon=1.0).perturb(x, rng=rng).dtype == dtype
    assert OUE(k=9, epsilon=1.0).perturb(x, rng=rng).dtype == np.uint8
    assert OLH(k=9, epsilon=1.0).perturb(x, rng=rng)["y"].dtype == np.uint8
    for mechanism in (SPL(k=(2, 257), epsilon=1.0), RSFD(k=(2, 257), epsilon=1.0)):
        assert mechanism.perturb(np.array([[1, 256]]), rng=rng).dtype == np.uint16
    assert RRIndependent(k=(2, 257), channels=(1.0, 1.0)).perturb(np.array([[1, 256]]), rng=rng).dtype == np.uint16


def test_grr_estimates_sum_to_one():
    runs = GRR(k=5, epsilon=1.0).simulate(
        Population.from_counts([3, 1, 4, 1, 5]), rng=np.random.default_rng(1), runs=50
    )
    assert np.allclose(runs.sum(axis=1), 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=repr)
def test_as_many_users_as_the_page_on_quality_names_are_simulated(mechanism):
    """A hundred million; a billion is refused by those of pairs and of two phases."""
    sizes = mechanism.k if isinstance(mechanism.k, tuple) else (mechanism.k,)
    population = Population.from_counts(np.bincount([0, np.prod(sizes) - 1]).reshape(sizes) * (10**8 // 2))
    found = np.hstack(mechanism.simulate(population, rng=np.random.default_rng(1), runs=2))
    assert np.isfinite(found).all()

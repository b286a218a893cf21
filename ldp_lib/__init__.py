"""Frequency estimation under local differential privacy, small enough to read and exact enough to prove.

For research and teaching. Coins come from NumPy's generators, which are fast and reproducible but not cryptographically
secure: somebody who sees enough of their output can predict the rest. To protect real people's data takes other coins,
`secure.generator`, and more: see the page `security`.
"""

from ldp_lib.catalogue import MECHANISMS
from ldp_lib.corr_rr import CondRR, CorrRR, SecondPhase
from ldp_lib.fake_data import RSFD, RSRFD
from ldp_lib.grr import GRR, RR
from ldp_lib.hashing import OLH
from ldp_lib.inputs import NoExactMoments
from ldp_lib.jrr import JRR, KJRR, JointHashing, JointUnary, ServerProtocol, ShuffleProtocol, SignedRR
from ldp_lib.mechanism import Mechanism, check_mechanism
from ldp_lib.plurality import Plurality
from ldp_lib.population import Population
from ldp_lib.sampled import AskSome, OneQuestion
from ldp_lib.splitting import BRR, MRR, OBRR, OMRR, SPL
from ldp_lib.subset import SubsetSelection
from ldp_lib.survey.audit import audit
from ldp_lib.survey.errors import total_error
from ldp_lib.survey.frame import Survey
from ldp_lib.survey.planner import estimate_interval, recommend, required_users
from ldp_lib.tables.clusters import RRClusters, cluster_attributes
from ldp_lib.tables.product import ProductRR, RRIndependent, RRJoint
from ldp_lib.tables.raking import rake
from ldp_lib.two_phase import TwoPhaseRSRFD
from ldp_lib.unary import OUE, SUE, UnaryEncoding

__version__ = "0.1.0"

__all__ = [
    "BRR",
    "GRR",
    "JRR",
    "KJRR",
    "MECHANISMS",
    "MRR",
    "OBRR",
    "OLH",
    "OMRR",
    "OUE",
    "RR",
    "RSFD",
    "RSRFD",
    "SPL",
    "SUE",
    "AskSome",
    "CondRR",
    "CorrRR",
    "JointHashing",
    "JointUnary",
    "Mechanism",
    "NoExactMoments",
    "OneQuestion",
    "Plurality",
    "Population",
    "ProductRR",
    "RRClusters",
    "RRIndependent",
    "RRJoint",
    "SecondPhase",
    "ServerProtocol",
    "ShuffleProtocol",
    "SignedRR",
    "SubsetSelection",
    "Survey",
    "TwoPhaseRSRFD",
    "UnaryEncoding",
    "audit",
    "check_mechanism",
    "cluster_attributes",
    "estimate_interval",
    "rake",
    "recommend",
    "required_users",
    "total_error",
]

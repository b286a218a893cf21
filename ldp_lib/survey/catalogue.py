"""Every mechanism of the library, in one list: those of one attribute, then those of several."""

from ldp_lib.corr_rr import CondRR, CorrRR, SecondPhase
from ldp_lib.fake_data import RSFD, RSRFD
from ldp_lib.fake_data.two_phase import TwoPhaseRSRFD
from ldp_lib.grr import GRR, RR
from ldp_lib.hashing import OLH
from ldp_lib.jrr import JRR, KJRR, JointHashing, JointUnary, ServerProtocol, ShuffleProtocol, SignedRR
from ldp_lib.sampled import AskSome, OneQuestion
from ldp_lib.shrinkage.plurality import Plurality
from ldp_lib.splitting import BRR, MRR, OBRR, OMRR, SPL
from ldp_lib.subset import SubsetSelection
from ldp_lib.tables.clusters import RRClusters
from ldp_lib.tables.product import ProductRR, RRIndependent, RRJoint
from ldp_lib.unary import OUE, SUE, UnaryEncoding

MECHANISMS = [
    *(RR, GRR, SUE, OUE, UnaryEncoding, OLH, SubsetSelection),
    *(JRR, KJRR, SignedRR, ServerProtocol, ShuffleProtocol, JointUnary, JointHashing),
    *(OneQuestion, AskSome, SPL, BRR, MRR, OBRR, OMRR),
    *(SecondPhase, CorrRR, CondRR, RSFD, RSRFD, TwoPhaseRSRFD, Plurality),
    *(RRIndependent, RRJoint, RRClusters, ProductRR),
]

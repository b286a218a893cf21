"""The public names, for type checkers: the same as the table in `__init__.py`."""

from ldp_lib.channel import privacy_ratio as privacy_ratio
from ldp_lib.channel import success_rate as success_rate
from ldp_lib.check.contract import check_mechanism as check_mechanism
from ldp_lib.corr_rr import CondRR as CondRR
from ldp_lib.corr_rr import CorrRR as CorrRR
from ldp_lib.corr_rr import SecondPhase as SecondPhase
from ldp_lib.designs import unrelated_question as unrelated_question
from ldp_lib.fake_data import RSFD as RSFD
from ldp_lib.fake_data import RSRFD as RSRFD
from ldp_lib.fake_data import TwoPhaseRSRFD as TwoPhaseRSRFD
from ldp_lib.grr import GRR as GRR
from ldp_lib.grr import RR as RR
from ldp_lib.hashing import OLH as OLH
from ldp_lib.inputs import NoExactMoments as NoExactMoments
from ldp_lib.jrr import JRR as JRR
from ldp_lib.jrr import KJRR as KJRR
from ldp_lib.jrr import JointHashing as JointHashing
from ldp_lib.jrr import JointUnary as JointUnary
from ldp_lib.jrr import ServerProtocol as ServerProtocol
from ldp_lib.jrr import ShuffleProtocol as ShuffleProtocol
from ldp_lib.jrr import SignedRR as SignedRR
from ldp_lib.jrr import optimal_parameters as optimal_parameters
from ldp_lib.jrr import signed_delta as signed_delta
from ldp_lib.limit import (
    check_certificate as check_certificate,
)
from ldp_lib.limit import (
    fixed_data_error as fixed_data_error,
)
from ldp_lib.limit import (
    least_error as least_error,
)
from ldp_lib.limit import (
    minimax_error as minimax_error,
)
from ldp_lib.mechanism import Mechanism as Mechanism
from ldp_lib.population import Population as Population
from ldp_lib.postprocess import project_simplex as project_simplex
from ldp_lib.sampled import AskSome as AskSome
from ldp_lib.sampled import OneQuestion as OneQuestion
from ldp_lib.shrinkage import Plurality as Plurality
from ldp_lib.splitting import BRR as BRR
from ldp_lib.splitting import MRR as MRR
from ldp_lib.splitting import OBRR as OBRR
from ldp_lib.splitting import OMRR as OMRR
from ldp_lib.splitting import SPL as SPL
from ldp_lib.splitting import brr as brr
from ldp_lib.splitting import mrr as mrr
from ldp_lib.splitting import obrr as obrr
from ldp_lib.splitting import omrr as omrr
from ldp_lib.subset import SubsetSelection as SubsetSelection
from ldp_lib.survey.audit import audit as audit
from ldp_lib.survey.catalogue import MECHANISMS as MECHANISMS
from ldp_lib.survey.errors import total_error as total_error
from ldp_lib.survey.frame import Survey as Survey
from ldp_lib.survey.planner import estimate_interval as estimate_interval
from ldp_lib.survey.planner import recommend as recommend
from ldp_lib.survey.planner import required_users as required_users
from ldp_lib.tables.clusters import RRClusters as RRClusters
from ldp_lib.tables.clusters import cluster_attributes as cluster_attributes
from ldp_lib.tables.product import ProductRR as ProductRR
from ldp_lib.tables.product import RRIndependent as RRIndependent
from ldp_lib.tables.product import RRJoint as RRJoint
from ldp_lib.tables.raking import rake as rake
from ldp_lib.unary import OUE as OUE
from ldp_lib.unary import SUE as SUE
from ldp_lib.unary import UnaryEncoding as UnaryEncoding

__version__: str
__all__: list[str]

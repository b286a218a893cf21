"""The public names, for type checkers: the same as the table in `__init__.py`."""

from ldp_lib.auditing import Audit as Audit
from ldp_lib.auditing import audit as audit
from ldp_lib.channel import check_channel as check_channel
from ldp_lib.channel import exact_law as exact_law
from ldp_lib.channel import exact_moments as exact_moments
from ldp_lib.channel import privacy_ratio as privacy_ratio
from ldp_lib.channel import success_rate as success_rate
from ldp_lib.check.contract import check_mechanism as check_mechanism
from ldp_lib.chunks import perturb_in_chunks as perturb_in_chunks
from ldp_lib.corr_rr import CondRR as CondRR
from ldp_lib.corr_rr import CorrRR as CorrRR
from ldp_lib.corr_rr import SecondPhase as SecondPhase
from ldp_lib.designs import crosswise as crosswise
from ldp_lib.designs import forced_response as forced_response
from ldp_lib.designs import kuk as kuk
from ldp_lib.designs import lie_detector as lie_detector
from ldp_lib.designs import mangat as mangat
from ldp_lib.designs import one_card_channel as one_card_channel
from ldp_lib.designs import record_channel as record_channel
from ldp_lib.designs import unrelated_question as unrelated_question
from ldp_lib.designs import warner as warner
from ldp_lib.fake_data import RSFD as RSFD
from ldp_lib.fake_data import RSRFD as RSRFD
from ldp_lib.fake_data import TwoPhaseRSRFD as TwoPhaseRSRFD
from ldp_lib.fake_data import amplified as amplified
from ldp_lib.grr import GRR as GRR
from ldp_lib.grr import RR as RR
from ldp_lib.hashing import OLH as OLH
from ldp_lib.jrr import JRR as JRR
from ldp_lib.jrr import KJRR as KJRR
from ldp_lib.jrr import JointHashing as JointHashing
from ldp_lib.jrr import JointUnary as JointUnary
from ldp_lib.jrr import ServerProtocol as ServerProtocol
from ldp_lib.jrr import ShuffleProtocol as ShuffleProtocol
from ldp_lib.jrr import SignedRR as SignedRR
from ldp_lib.jrr import colluder_ratio as colluder_ratio
from ldp_lib.jrr import optimal_parameters as optimal_parameters
from ldp_lib.jrr import signed_delta as signed_delta
from ldp_lib.jrr import signed_parameters as signed_parameters
from ldp_lib.jrr import transcript_delta as transcript_delta
from ldp_lib.jrr import transcript_ratio as transcript_ratio
from ldp_lib.limit import Limit as Limit
from ldp_lib.limit import SetCertificate as SetCertificate
from ldp_lib.limit import (
    check_certificate as check_certificate,
)
from ldp_lib.limit import (
    fixed_data_error as fixed_data_error,
)
from ldp_lib.limit import (
    least_error as least_error,
)
from ldp_lib.limit import linear_error as linear_error
from ldp_lib.limit import (
    minimax_error as minimax_error,
)
from ldp_lib.limit.closed_forms import simple_error as simple_error
from ldp_lib.limit.closed_forms import simple_pair_error as simple_pair_error
from ldp_lib.limit.pair_tables import least_pair_error as least_pair_error
from ldp_lib.mechanism import Mechanism as Mechanism
from ldp_lib.mechanism import NoExactMoments as NoExactMoments
from ldp_lib.mechanism import Several as Several
from ldp_lib.mechanism import Stated as Stated
from ldp_lib.population import Population as Population
from ldp_lib.postprocess import clip_normalize as clip_normalize
from ldp_lib.postprocess import project_simplex as project_simplex
from ldp_lib.pure import Oracle as Oracle
from ldp_lib.sampled import AskSome as AskSome
from ldp_lib.sampled import OneQuestion as OneQuestion
from ldp_lib.sampled.design import best_design as best_design
from ldp_lib.shrinkage import Plurality as Plurality
from ldp_lib.splitting import BRR as BRR
from ldp_lib.splitting import MRR as MRR
from ldp_lib.splitting import OBRR as OBRR
from ldp_lib.splitting import OMRR as OMRR
from ldp_lib.splitting import SPL as SPL
from ldp_lib.splitting import brr as brr
from ldp_lib.splitting import brr_error as brr_error
from ldp_lib.splitting import mrr as mrr
from ldp_lib.splitting import mrr_error as mrr_error
from ldp_lib.splitting import obrr as obrr
from ldp_lib.splitting import omrr as omrr
from ldp_lib.subset import SubsetSelection as SubsetSelection
from ldp_lib.survey.aggregate import Counts as Counts
from ldp_lib.survey.aggregate import aggregate as aggregate
from ldp_lib.survey.catalogue import MECHANISMS as MECHANISMS
from ldp_lib.survey.errors import total_error as total_error
from ldp_lib.survey.frame import Survey as Survey
from ldp_lib.survey.planner import Recommendation as Recommendation
from ldp_lib.survey.planner import estimate_interval as estimate_interval
from ldp_lib.survey.planner import recommend as recommend
from ldp_lib.survey.planner import required_budget as required_budget
from ldp_lib.survey.planner import required_users as required_users
from ldp_lib.tables.clusters import RRClusters as RRClusters
from ldp_lib.tables.clusters import cluster_attributes as cluster_attributes
from ldp_lib.tables.consistency import project_marginals as project_marginals
from ldp_lib.tables.covariance import table_covariance as table_covariance
from ldp_lib.tables.dependence import users_to_see as users_to_see
from ldp_lib.tables.product import ProductRR as ProductRR
from ldp_lib.tables.product import RRIndependent as RRIndependent
from ldp_lib.tables.product import RRJoint as RRJoint
from ldp_lib.tables.raking import rake as rake
from ldp_lib.tables.sampled import ask_pairs as ask_pairs
from ldp_lib.tables.sampled import pair_tables as pair_tables
from ldp_lib.tables.synthetic import fit_tree as fit_tree
from ldp_lib.unary import OUE as OUE
from ldp_lib.unary import SUE as SUE
from ldp_lib.unary import UnaryEncoding as UnaryEncoding

__version__: str
__all__: list[str]

"""Joint randomized response (JRR): two users at a time toss correlated coins for whether they tell the truth."""

from ldp_lib.jrr.calibration import signed_parameters
from ldp_lib.jrr.extensions import JointHashing, JointUnary
from ldp_lib.jrr.mechanism import JRR, KJRR, rho_range, table, variance
from ldp_lib.jrr.parameters import corner, optimal_parameters
from ldp_lib.jrr.privacy import colluder_ratio, transcript_delta, transcript_ratio
from ldp_lib.jrr.privacy_profile import signed_delta, signed_delta_bound, signed_ratio
from ldp_lib.jrr.protocols import ServerProtocol, ShuffleProtocol
from ldp_lib.jrr.signed import SignedRR, signed_variance

__all__ = [
    "JRR",
    "KJRR",
    "JointHashing",
    "JointUnary",
    "ServerProtocol",
    "ShuffleProtocol",
    "SignedRR",
    "colluder_ratio",
    "corner",
    "optimal_parameters",
    "rho_range",
    "signed_delta",
    "signed_delta_bound",
    "signed_parameters",
    "signed_ratio",
    "signed_variance",
    "table",
    "transcript_delta",
    "transcript_ratio",
    "variance",
]

"""Joint randomized response (JRR): correlated randomization of whether two paired users tell the truth."""

from ldp_lib.jrr._checks import check_design
from ldp_lib.jrr._formulas import (
    corner,
    hashed_variance,
    least_correlation,
    rho_range,
    signed_variance,
    table,
    variance,
)
from ldp_lib.jrr._parameters import best_of_three, optimal_parameters, weight
from ldp_lib.jrr._privacy_profile import signed_delta, signed_delta_bound, signed_ratio
from ldp_lib.jrr.calibration import signed_parameters
from ldp_lib.jrr.extensions import JointHashing, JointUnary
from ldp_lib.jrr.mechanism import JRR, KJRR
from ldp_lib.jrr.privacy import colluder_ratio, transcript_delta, transcript_ratio
from ldp_lib.jrr.protocols import ServerProtocol, ShuffleProtocol
from ldp_lib.jrr.signed import SignedRR

__all__ = [
    "JRR",
    "KJRR",
    "JointHashing",
    "JointUnary",
    "ServerProtocol",
    "ShuffleProtocol",
    "SignedRR",
    "best_of_three",
    "check_design",
    "colluder_ratio",
    "corner",
    "hashed_variance",
    "least_correlation",
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
    "weight",
]

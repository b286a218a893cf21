"""Joint randomized response (JRR): two users at a time toss correlated coins for whether they tell the truth."""

from ldp_lib.jrr.inside import JointHashing, JointUnary
from ldp_lib.jrr.pairs import JRR, KJRR, rho_range, table, variance
from ldp_lib.jrr.parameters import corner, optimal_parameters
from ldp_lib.jrr.printed import algorithm_1, printed_ratio
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
    "algorithm_1",
    "corner",
    "optimal_parameters",
    "printed_ratio",
    "rho_range",
    "signed_variance",
    "table",
    "variance",
]

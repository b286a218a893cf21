"""Checks: exact ones, distances in standard errors, and the contract of a mechanism."""

from ldp_lib.check.contract import check_mechanism
from ldp_lib.check.distances import close, law_z, mean_z, variance_z
from ldp_lib.check.exact import equal, passed, same

__all__ = ["check_mechanism", "close", "equal", "law_z", "mean_z", "passed", "same", "variance_z"]

"""Correlated randomized response (Corr-RR): one attribute, the pivot, is randomized; the others copy its report."""

from ldp_lib.corr_rr._formulas import channel, expectation, iid_variance, minimizer, quadratic, shrinkage
from ldp_lib.corr_rr._reuse import best_from_0_to_1, check_pair, joint_reuse, reuse_probability, reuse_table, table_of
from ldp_lib.corr_rr._synthetic import syn_a, tree_law
from ldp_lib.corr_rr.cond_rr import CondRR
from ldp_lib.corr_rr.mechanism import CorrRR, SecondPhase

__all__ = [
    "CondRR",
    "CorrRR",
    "SecondPhase",
    "best_from_0_to_1",
    "channel",
    "check_pair",
    "expectation",
    "iid_variance",
    "joint_reuse",
    "minimizer",
    "quadratic",
    "reuse_probability",
    "reuse_table",
    "shrinkage",
    "syn_a",
    "table_of",
    "tree_law",
]

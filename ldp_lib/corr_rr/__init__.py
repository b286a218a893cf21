"""Correlated randomized response (Corr-RR): one attribute, the pivot, is randomized; the others copy its report."""

from ldp_lib.corr_rr.cond_rr import CondRR
from ldp_lib.corr_rr.mechanism import CorrRR, SecondPhase, channel, expectation, iid_variance, simulate_second
from ldp_lib.corr_rr.reuse import FORMULAS, joint_reuse, minimizer, quadratic, reuse_probability, reuse_table, shrinkage
from ldp_lib.corr_rr.synthetic import syn_a, syn_b, tree_law

__all__ = [
    "FORMULAS",
    "CondRR",
    "CorrRR",
    "SecondPhase",
    "channel",
    "expectation",
    "iid_variance",
    "joint_reuse",
    "minimizer",
    "quadratic",
    "reuse_probability",
    "reuse_table",
    "shrinkage",
    "simulate_second",
    "syn_a",
    "syn_b",
    "tree_law",
]

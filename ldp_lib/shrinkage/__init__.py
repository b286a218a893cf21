"""Shrinkage: estimators that often have less error than the unbiased one, and a bias; and `Plurality`."""

from ldp_lib.shrinkage._stein import WAYS, Shrunk, choose, common, pooled, question_noise, raw, separately, together
from ldp_lib.shrinkage.plurality import Plurality

__all__ = [
    "WAYS",
    "Plurality",
    "Shrunk",
    "choose",
    "common",
    "pooled",
    "question_noise",
    "raw",
    "separately",
    "together",
]

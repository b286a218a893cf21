"""Frequency estimation under local differential privacy, small enough to read and exact enough to prove.

For research and teaching. Random numbers come from NumPy's generators, which are fast and reproducible but not
cryptographically secure: who sees enough of their output can predict the rest. To protect real people's data takes
others, `secure.generator`, and more: see the page `security`.

Names and submodules are imported when they are first used; `__init__.pyi` tells type checkers what they are.
"""

import importlib

__version__ = "0.1.0"

_NAMES = {
    "mechanism": "Mechanism",
    "check.contract": "check_mechanism",
    "inputs": "NoExactMoments",
    "population": "Population",
    "channel": "privacy_ratio success_rate",
    "postprocess": "project_simplex",
    "grr": "GRR RR",
    "unary": "OUE SUE UnaryEncoding",
    "hashing": "OLH",
    "subset": "SubsetSelection",
    "splitting": "BRR MRR OBRR OMRR SPL brr mrr obrr omrr",
    "sampled": "AskSome OneQuestion",
    "corr_rr": "CondRR CorrRR SecondPhase",
    "jrr": "JRR KJRR JointHashing JointUnary ServerProtocol ShuffleProtocol SignedRR optimal_parameters signed_delta",
    "fake_data": "RSFD RSRFD TwoPhaseRSRFD",
    "shrinkage": "Plurality",
    "tables.product": "ProductRR RRIndependent RRJoint",
    "tables.clusters": "RRClusters cluster_attributes",
    "tables.raking": "rake",
    "limit": "check_certificate fixed_data_error least_error minimax_error",
    "designs": "unrelated_question",
    "survey.catalogue": "MECHANISMS",
    "survey.frame": "Survey",
    "survey.planner": "estimate_interval recommend required_users",
    "survey.errors": "total_error",
    "survey.audit": "audit",
}
_HOME = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = sorted(_HOME)


def __getattr__(name):
    if name in _HOME:
        found = getattr(importlib.import_module(f"ldp_lib.{_HOME[name]}"), name)
    elif name.startswith("_"):
        raise AttributeError(f"module 'ldp_lib' has no attribute {name!r}")
    else:
        try:
            found = importlib.import_module(f"ldp_lib.{name}")
        except ModuleNotFoundError as error:
            if error.name != f"ldp_lib.{name}":
                raise
            raise AttributeError(f"module 'ldp_lib' has no attribute {name!r}") from None
    globals()[name] = found
    return found


def __dir__():
    return sorted([*globals(), *__all__])

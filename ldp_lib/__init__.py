"""Frequency estimation under local differential privacy, small enough to read and exact enough to prove.

For research and teaching. Random numbers come from NumPy's generators, which are fast and reproducible but not
cryptographically secure: who sees enough of their output can predict the rest. To protect real people's data takes
others, `secure.generator`, and more: see the page `security`.

Names and submodules are imported when they are first used; `__init__.pyi` tells type checkers what they are.
"""

import importlib

__version__ = "0.1.0"

_NAMES = {
    "mechanism": "Mechanism NoExactMoments Several Stated",
    "check.contract": "check_mechanism",
    "population": "Population",
    "channel": "check_channel exact_law exact_moments privacy_ratio success_rate",
    "pure": "Oracle",
    "postprocess": "clip_normalize project_simplex",
    "grr": "GRR RR",
    "unary": "OUE SUE UnaryEncoding",
    "hashing": "OLH",
    "subset": "SubsetSelection",
    "splitting": "BRR MRR OBRR OMRR SPL brr brr_error mrr mrr_error obrr omrr",
    "sampled": "AskSome OneQuestion",
    "sampled.design": "best_design",
    "corr_rr": "CondRR CorrRR SecondPhase",
    "jrr": "JRR JointHashing JointUnary KJRR ServerProtocol ShuffleProtocol SignedRR colluder_ratio "
    "optimal_parameters signed_delta signed_parameters transcript_delta transcript_ratio",
    "fake_data": "RSFD RSRFD TwoPhaseRSRFD amplified",
    "shrinkage": "Plurality",
    "tables.product": "ProductRR RRIndependent RRJoint",
    "tables.clusters": "RRClusters cluster_attributes",
    "tables.raking": "rake",
    "tables.sampled": "ask_pairs pair_tables",
    "tables.covariance": "table_covariance",
    "tables.consistency": "project_marginals",
    "tables.dependence": "users_to_see",
    "tables.synthetic": "fit_tree",
    "limit": "Limit SetCertificate check_certificate fixed_data_error least_error linear_error minimax_error",
    "limit.closed_forms": "simple_error simple_pair_error",
    "limit.pair_tables": "least_pair_error",
    "designs": "crosswise forced_response kuk lie_detector mangat one_card_channel record_channel unrelated_question "
    "warner",
    "chunks": "perturb_in_chunks",
    "auditing": "Audit audit",
    "survey.catalogue": "MECHANISMS",
    "survey.frame": "Survey",
    "survey.aggregate": "Counts aggregate",
    "survey.planner": "Recommendation estimate_interval recommend required_budget required_users",
    "survey.errors": "total_error",
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

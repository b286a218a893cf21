"""Every name that the plan of the book promises can be imported, from `ldp_lib` itself and from its module."""

import importlib
import subprocess
import sys

import pytest

import ldp_lib

NAMES = [
    "grr.GRR",
    "grr.RR",
    "unary.SUE",
    "unary.OUE",
    "unary.UnaryEncoding",
    "hashing.OLH",
    "subset.SubsetSelection",
    "sampled.OneQuestion",
    "sampled.AskSome",
    "splitting.SPL",
    "splitting.BRR",
    "splitting.MRR",
    "splitting.OBRR",
    "splitting.OMRR",
    "splitting.obrr",
    "splitting.omrr",
    "splitting.brr",
    "splitting.mrr",
    "fake_data.RSFD",
    "fake_data.RSRFD",
    "fake_data.TwoPhaseRSRFD",
    "fake_data.amplified",
    "corr_rr.CorrRR",
    "corr_rr.CondRR",
    "corr_rr.SecondPhase",
    "jrr.JRR",
    "jrr.KJRR",
    "jrr.SignedRR",
    "jrr.ServerProtocol",
    "jrr.ShuffleProtocol",
    "jrr.JointUnary",
    "jrr.JointHashing",
    "jrr.optimal_parameters",
    "jrr.signed_delta",
    "shrinkage.Plurality",
    "population.Population",
    "channel.privacy_ratio",
    "channel.success_rate",
    "limit.least_error",
    "limit.check_certificate",
    "limit.minimax_error",
    "limit.fixed_data_error",
    "designs.unrelated_question",
    "postprocess.project_simplex",
    "tables.raking.rake",
    "tables.clusters.cluster_attributes",
    "tables.clusters.RRClusters",
    "tables.product.ProductRR",
    "tables.product.RRIndependent",
    "tables.product.RRJoint",
    "survey.planner.recommend",
    "survey.planner.required_users",
    "survey.planner.estimate_interval",
    "survey.frame.Survey",
    "auditing.audit",
    "survey.errors.total_error",
    "survey.catalogue.MECHANISMS",
    "mechanism.Mechanism",
    "check.contract.check_mechanism",
    "mechanism.NoExactMoments",
    "mechanism.Several",
    "pure.Oracle",
    "postprocess.clip_normalize",
    "jrr.signed_parameters",
    "jrr.transcript_delta",
    "jrr.transcript_ratio",
    "limit.Limit",
    "limit.SetCertificate",
    "limit.pair_tables.least_pair_error",
    "designs.crosswise",
    "designs.forced_response",
    "designs.kuk",
    "designs.mangat",
    "designs.warner",
    "auditing.Audit",
    "survey.aggregate.Counts",
    "survey.aggregate.aggregate",
    "survey.planner.Recommendation",
    "survey.planner.required_budget",
    "mechanism.perturb_in_chunks",
    "tables.sampled.ask_pairs",
    "tables.sampled.pair_tables",
    "tables.dependence.users_to_see",
    "tables.synthetic.fit_tree",
    "mechanism.Stated",
    "channel.check_channel",
    "channel.exact_law",
    "channel.exact_moments",
    "tables.consistency.project_marginals",
    "tables.covariance.table_covariance",
    "limit.linear_error",
    "limit.closed_forms.simple_error",
    "limit.closed_forms.simple_pair_error",
    "jrr.colluder_ratio",
    "designs.lie_detector",
    "designs.one_card_channel",
    "designs.record_channel",
    "sampled.design.best_design",
    "splitting.brr_error",
    "splitting.mrr_error",
]


@pytest.mark.parametrize("path", NAMES)
def test_a_promised_name_is_found_in_its_module_and_in_the_library(path):
    module, _, name = path.rpartition(".")
    found = getattr(importlib.import_module(f"ldp_lib.{module}"), name)
    assert getattr(ldp_lib, name) is found


def test_the_public_names_are_these_and_type_checkers_see_them():
    assert set(ldp_lib.__all__) == {path.rpartition(".")[2] for path in NAMES}
    stub = (importlib.resources.files("ldp_lib") / "__init__.pyi").read_text(encoding="utf-8")
    assert all(f" {name} as {name}" in stub for name in ldp_lib.__all__)
    assert set(ldp_lib.__all__) <= set(dir(ldp_lib))


@pytest.mark.parametrize("name", ["limit", "jrr", "channel", "splitting", "postprocess", "designs", "tables", "survey"])
def test_a_submodule_is_an_attribute_of_a_library_that_was_just_imported(name):
    code = f"import ldp_lib; assert ldp_lib.{name}.__name__ == 'ldp_lib.{name}'"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_name_that_there_is_not_is_no_attribute():
    for name in ("nothing", "_nothing"):
        with pytest.raises(AttributeError, match=f"module 'ldp_lib' has no attribute '{name}'"):
            getattr(ldp_lib, name)


LIGHT = """
import sys, ldp_lib
mechanisms = [ldp_lib.GRR(k=3, epsilon=1.0), ldp_lib.OneQuestion(k=(2, 3), epsilon=1.0)]
people = ldp_lib.Population.from_counts([1, 2, 3])
mechanisms[0].variance(people), ldp_lib.obrr((2, 3), 1.0), ldp_lib.check_mechanism
print(*sorted({name.split(".")[0] for name in sys.modules} | set(sys.modules)))
"""


def test_importing_the_core_loads_neither_pandas_nor_the_heavy_half_of_scipy():
    done = subprocess.run([sys.executable, "-c", LIGHT], check=True, capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert not loaded & {"pandas", "scipy.stats", "scipy.optimize", "matplotlib", "sympy", "yaml"}
    assert "numpy" in loaded

"""The decision page: where its questions lead, each mechanism's error, and the people that it takes; all computed."""

import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.stats import norm

from ldp_lib._inputs import check_domain
from ldp_lib.datasets import load_adult
from ldp_lib.grr import GRR, RR
from ldp_lib.jrr import SignedRR, signed_parameters
from ldp_lib.sampled import AskSome, OneQuestion
from ldp_lib.subset import SubsetSelection
from ldp_lib.survey import errors, planner
from ldp_lib.tables import product
from ldp_lib.tables.sampled import ask_pairs

PEOPLE = 10_000
FOUR = (4, 4, 4, 4)


@dataclass(frozen=True)
class _Leaf:
    """Where the questions lead.

    Parameters
    ----------
    when : str
        The last answer that leads here.
    mechanism : Mechanism
        For the example, with its budget.
    example : str
        The domain of the example, in words.
    chapter : str
        Which derives it.
    of : {"share", "pair", "table"}
        What the error is one of: an answer's share, a cell of two questions' table, a cell of the whole table.
    """

    when: str
    mechanism: Any
    example: str
    chapter: str
    of: str = "share"

    @property
    def _tables(self):
        """The number of cells of each table wanted; a question's shares are a table too."""
        k = check_domain(self.mechanism.k)
        pairs = [a * b for a, b in itertools.combinations(k, 2)]
        return {"share": k, "table": [math.prod(k)], "pair": pairs}[self.of]

    @property
    def points(self):
        """Root mean squared error of one share or cell, in percentage points: 10,000 people, uniform."""
        if self.of == "share":
            even = planner.plug_in_population([np.full(size, 1 / size) for size in self._tables], PEOPLE)
            error = errors.total_error(self.mechanism, even)
        else:
            of_pairs = self.of == "pair"
            error = planner.pairs_error(self.mechanism, PEOPLE) if of_pairs else _table_error(self.mechanism)
        return 100 * math.sqrt(error / sum(self._tables))

    def users(self, sampled=False):
        """People for 1 point each way, 95 % confidence: in the worst case for shares; if uniform for tables.

        The people who answer are those of interest, or, if `sampled`, a random sample of many more.
        """
        if self.of == "share":
            return planner.required_users(self.mechanism, 0.01, sampling=sampled)
        drawn = sampled * sum(1 - 1 / cells for cells in self._tables) / sum(self._tables)
        return math.ceil((PEOPLE * self.points**2 + 1e4 * drawn) * norm.isf(0.025) ** 2)


def _table_error(mechanism):
    """Return the total variance of all cells of the table, for `PEOPLE` and independent symmetric channels."""
    lengths = [
        product.squared_length(math.exp(c), math.prod(mechanism.k[j] for j in cluster))
        for cluster, c in zip(mechanism.clusters_, mechanism.channels_, strict=True)
    ]
    return product.total_variance(lengths, PEOPLE)


def leaves():
    """Return what the page recommends: a dict from what is asked or wanted to a list of leaves.

    The dealer's secret signs are such that all reports together are (1, 10^-8)-private, whatever the others hold.
    """
    p, rho = signed_parameters(epsilon=1.0, delta=1e-8, n=PEOPLE)
    adult = load_adult().k
    joint = product.RRJoint(k=(2, 2, 2), epsilon=1.0)
    four = "4 questions, 4 answers each"
    return {
        "one question": [
            _Leaf("2 answers", RR(k=2, epsilon=1.0), "2 answers", "randomized_response"),
            _Leaf("2, and a dealer helps", SignedRR(p=p, rho=rho), "2 answers", "helpers"),
            _Leaf("3 to 5 answers", GRR(k=5, epsilon=1.0), "5 answers", "randomized_response"),
            _Leaf("more answers", SubsetSelection(k=16, epsilon=1.0), "16 answers", "subset_selection"),
        ],
        "shares of each question": [
            _Leaf("ε up to 2 or 3", OneQuestion(k=FOUR, epsilon=1.0), four, "attribute_sampling"),
            _Leaf("larger ε", AskSome(k=FOUR, epsilon=4.0), four, "attribute_sampling"),
        ],
        "association of two questions": [_Leaf("all pairs", ask_pairs(FOUR, 1.0, None), four, "pair_tables", "pair")],
        "complete records": [
            _Leaf("few possible records", joint, "3 questions, 2 answers each", "audit_multidim", "table"),
            _Leaf("many", product.RRIndependent(k=adult, epsilon=4.0), "Adult's 8 questions", "audit_multidim", "pair"),
        ],
    }

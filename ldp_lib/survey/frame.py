"""A survey of labelled attributes: from a data frame to private reports, and from reports to labelled estimates."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ldp_lib import inputs
from ldp_lib.postprocess import project_simplex
from ldp_lib.sampled import OneQuestion
from ldp_lib.survey import files, planner


@dataclass(frozen=True)
class Survey:
    """Attributes with their labels, a budget, and the mechanism that randomizes one person's whole answer.

    Parameters
    ----------
    domain : mapping of str to sequence
        For each attribute (a column's name) all its labels, at least two. The domain is public: it must be known
        before anybody answers, and is never read off the answers.
    epsilon : float
        Privacy budget of one person's whole report.
    mechanism : Mechanism, optional
        One that reports a row a person in the order of the people. If not given, `OneQuestion`, the best known for
        frequencies: each person is asked one attribute and answers it with the whole budget.
    missing, other : label, optional
        Labels, declared in the domain of each attribute in which they occur, for missing values and for labels that
        are not in the domain. Without them such a value is an error.

    Raises
    ------
    TypeError, ValueError
        If a parameter is unfit, or the mechanism has another domain or budget.

    Notes
    -----
    A page of the book shows it on a data frame of one's own: `survey`.
    """

    domain: Mapping[str, tuple]
    epsilon: float
    mechanism: Any = None
    missing: Any = None
    other: Any = None

    def __post_init__(self):
        if not isinstance(self.domain, Mapping) or not self.domain:
            raise TypeError(f"domain must map at least one attribute to its labels; got {self.domain!r}")
        for name, labels in self.domain.items():
            if isinstance(labels, str) or len(labels := list(labels)) < 2 or len(set(labels)) < len(labels):
                raise ValueError(f"domain must list at least two different labels for {name!r}; got {labels!r}")
            if pd.isna(pd.Series(labels, dtype=object)).any():
                raise ValueError(f"domain must not list a missing value for {name!r}; name a label by missing=")
        object.__setattr__(self, "domain", {name: tuple(labels) for name, labels in self.domain.items()})
        inputs.settle(self, "epsilon")
        for role, label in (("missing", self.missing), ("other", self.other)):
            if label is not None and not any(label in labels for labels in self.domain.values()):
                raise ValueError(f"{role} must be a label of the domain; got {label!r}")
        if self.mechanism is None:
            object.__setattr__(self, "mechanism", OneQuestion(k=self.k, epsilon=self.epsilon))
        k = self.mechanism.k
        if (k if isinstance(k, tuple) else (k,)) != self.k:
            raise ValueError(f"mechanism must have the domain sizes {self.k} of the survey; got {k}")
        if self.mechanism.epsilon > self.epsilon:
            raise ValueError(f"mechanism must spend at most epsilon = {self.epsilon}; got {self.mechanism.epsilon}")
        files.columns(self.mechanism)

    @classmethod
    def from_frame(cls, frame, *, epsilon, mechanism=None, missing=None, other=None):
        """Return the survey whose domain is the categories of a frame's columns, all of categorical type."""
        loose = [name for name in frame.columns if not isinstance(frame[name].dtype, pd.CategoricalDtype)]
        if loose:
            raise TypeError(
                f"frame must have categorical columns only; {loose[0]!r} is {frame[loose[0]].dtype}. Its labels must "
                f"not be read off the answers: declare them, as in Survey({{{loose[0]!r}: [...]}}, epsilon={epsilon})"
            )
        domain = {name: tuple(frame[name].cat.categories) for name in frame.columns}
        return cls(domain, epsilon, mechanism=mechanism, missing=missing, other=other)

    @property
    def k(self):
        """Domain sizes, a tuple of d ints."""
        return tuple(map(len, self.domain.values()))

    def _shaped(self, x):
        return x if isinstance(self.mechanism.k, tuple) else x[:, 0]

    def encode(self, frame):
        """Return the answers as numbers, an array of ints of shape (people, d), in the frame's row order.

        Raises
        ------
        ValueError
            If a column is missing, or a value is missing or not among the labels: the error names column, row, value.
        """
        return np.column_stack([self._codes(frame, name) for name in self.domain])

    def _codes(self, frame, name):
        if list(frame.columns).count(name) != 1:
            raise ValueError(f"frame must have one column {name!r}; got {list(frame.columns)}")
        labels, column = self.domain[name], frame[name].astype(object)
        codes = pd.Index(labels, dtype=object).get_indexer(column)
        for role, bad in (("missing", column.isna().to_numpy()), ("other", (codes < 0) & column.notna().to_numpy())):
            label = getattr(self, role)
            if bad.any() and label not in labels:
                row = int(np.flatnonzero(bad)[0])
                what = "a missing value" if role == "missing" else repr(column.iloc[row])
                raise ValueError(
                    f"frame must hold one of the labels {labels} in column {name!r}; got {what} in row "
                    f"{frame.index.tolist()[row]!r}. Declare a label for such values and name it by {role}="
                )
            if bad.any():
                codes[bad] = labels.index(label)
        return codes

    def decode(self, x):
        """Return numbers, shape (people, d), as a data frame with a categorical column of labels for each attribute."""
        x = inputs.check_records(x, self.k)
        return pd.DataFrame(
            {
                name: pd.Categorical.from_codes(x[:, j], list(labels))
                for j, (name, labels) in enumerate(self.domain.items())
            }
        )

    def collect(self, frame, *, rng):
        """Return everybody's private report, a data frame with one row a person, in the frame's order and index.

        This is what runs on people's own devices; here for all of them at once.
        """
        return files.to_frame(self.mechanism.perturb(self._shaped(self.encode(frame)), rng=rng), frame.index)

    def estimate(self, frame, *, confidence=0.95, projected=False):
        """Return the estimated frequencies with their uncertainty.

        Parameters
        ----------
        frame : pandas.DataFrame
            Reports as `collect` gave them, in any order; `reports.write` and `reports.read` keep them in files.
        confidence : float
            Of each interval on its own.
        projected : bool
            Whether to give the nearest probabilities in place of the raw estimates, which may be negative. The
            standard errors and intervals are always those of the raw estimates.

        Returns
        -------
        pandas.DataFrame
            One row a label; columns attribute, value, estimate, standard_error, low, high.
        """
        raw = self.mechanism.estimate(files.from_frame(frame, self.mechanism))
        spread = planner.standard_errors(self.mechanism, raw, len(frame))
        ends = planner.estimate_interval(self.mechanism, raw, len(frame), confidence=confidence)
        raw, spread, low, high = ([part] if not isinstance(part, list) else part for part in (raw, spread, *ends))
        shown = [project_simplex(part) for part in raw] if projected else raw
        return pd.DataFrame(
            {
                "attribute": np.repeat(list(self.domain), self.k),
                "value": [label for labels in self.domain.values() for label in labels],
                "estimate": np.concatenate(shown),
                "standard_error": np.concatenate(spread),
                "low": np.concatenate(low),
                "high": np.concatenate(high),
            }
        )

    def plot(self, result):
        """Draw an estimate's bars with their intervals, one panel an attribute; return the figure."""
        import matplotlib.pyplot as plt

        figure, panels = plt.subplots(len(self.k), squeeze=False, figsize=(6, 0.3 * sum(self.k) + 0.6 * len(self.k)))
        for panel, name in zip(panels.flat, self.domain, strict=True):
            part = result[result["attribute"] == name].iloc[::-1]
            panel.barh([str(v) for v in part["value"]], part["estimate"], alpha=0.6)
            middle, half = (part["low"] + part["high"]) / 2, (part["high"] - part["low"]) / 2
            panel.errorbar(middle, range(len(part)), xerr=half, fmt="none", color="0.5")
            panel.set(title=str(name), xlabel="estimated share")
        figure.tight_layout()
        return figure

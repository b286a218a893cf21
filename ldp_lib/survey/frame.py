"""A survey of labelled attributes: from a data frame to private reports, and from reports to labelled estimates."""

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from pandas import Categorical, DataFrame

from ldp_lib import __version__, _inputs
from ldp_lib.mechanism import Mechanism, Rng
from ldp_lib.sampled import OneQuestion
from ldp_lib.survey import _files, _labels
from ldp_lib.survey._results import Results
from ldp_lib.survey.aggregate import Counts

FORMAT = "ldp_lib survey 1"


@dataclass(frozen=True)
class Survey(Results):
    """Attributes with their labels, a budget, and the mechanism that randomizes one person's whole answer.

    Parameters
    ----------
    domain : mapping of str to sequence
        For each attribute (a column's name) all its labels in order, at least two. The domain is public: it must be
        known before anybody answers, and is never read off the answers. `save` takes texts, numbers and
        booleans only: write intervals and dates as texts.
    epsilon : float
        Privacy budget of one person's whole report.
    mechanism : Mechanism, optional
        An unbiased one with exact moments, of which each person reports a row; one of your own must be unbiased with
        one user too, and for weights and `difference` its users must report independently of each other, because
        errors are told as if they did. If not given, `OneQuestion`: each person is asked one attribute and answers it
        with the whole budget, which is best or nearly so for frequencies at small budgets. At larger ones, or for
        tables, take ``recommend(k=, epsilon=, n=).mechanism``, for tables with ``wants="tables"``.
    missing, other : label, optional
        Labels, declared in the domain of each attribute in which they occur, for missing values and for labels that
        are not in the domain. Where it is not declared such a value is an error. One label is for all attributes: if it
        is an answer to one of them, missing values there become this answer.

    Raises
    ------
    TypeError, ValueError
        If a parameter is unfit, or the mechanism has another domain or budget, or is one that `estimate` cannot serve.

    Notes
    -----
    Reports carry the survey's description, and `estimate` refuses those of another survey. A second collection from the
    same people spends the budget once more. Page `survey`.
    """

    domain: Mapping[str, Sequence[Hashable]]
    epsilon: float
    mechanism: Mechanism | None = None
    missing: Hashable | None = None
    other: Hashable | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "domain", _labels.check_domain(self.domain))
        _inputs.require(epsilon=self.epsilon)
        object.__setattr__(self, "epsilon", float(self.epsilon))
        labels = sum(map(tuple, self.domain.values()), (None,))
        for role in "missing", "other":
            if (at := _labels.places([getattr(self, role)], labels)[0]) < 0:
                raise ValueError(f"{role} must be a label of the domain; got {getattr(self, role)!r}")
            object.__setattr__(self, role, labels[at])  # the label itself, not another type's that equals it
        if self.mechanism is None:
            object.__setattr__(self, "mechanism", OneQuestion(k=self.k, epsilon=self.epsilon))
        _labels.check_mechanism(self.mechanism, self.k, self.epsilon)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Survey) and other.description == self.description

    @classmethod
    def from_frame(
        cls, frame: DataFrame, *, epsilon: float, mechanism: Any = None, missing: Any = None, other: Any = None
    ) -> "Survey":
        """Return the survey whose domain is the categories of a frame's columns, all of categorical type.

        Warns if those of all columns look as if they were read off the answers: sorted, not ordered, and all of them
        used. One column that does not look so silences it, so do not rely on it: declare categories.
        """
        return cls(_labels.categories(frame, epsilon), epsilon, mechanism=mechanism, missing=missing, other=other)

    @property
    def k(self) -> tuple[int, ...]:
        """Domain sizes, a tuple of d ints."""
        return tuple(map(len, self.domain.values()))

    @property
    def description(self) -> str:
        """What reports carry: domain, labels in order, mechanism with its parameters, budget; a text in JSON.

        Also what `AskSome` found if it has searched for its sizes: another version might find others.
        """
        mechanism: Any = self.mechanism
        found = {"sizes": mechanism.sizes_} if getattr(mechanism, "sizes", 0) is None else {}
        return json.dumps(vars(self) | {"mechanism": repr(mechanism)} | found, default=str)

    def save(self, path: str | Path) -> None:
        """Write the survey to a JSON file that people can read; labels must be texts, numbers or booleans."""
        if strange := [one for row in self.domain.values() for one in row if not isinstance(one, str | int | float)]:
            raise TypeError(f"domain must hold texts, numbers or booleans to be saved; got {strange[0]!r}")
        _files.save_json({"format": FORMAT, "ldp_lib": __version__} | json.loads(self.description), path, indent=1)

    @classmethod
    def load(cls, path: str | Path) -> "Survey":
        """Return the survey that `save` wrote, the same on every device; its mechanism is one of the library."""
        names = cls.__dataclass_fields__
        told = _files.load_json(path, {"format", *names})
        if told is None or told["format"] != FORMAT:
            raise ValueError(f"path must be a file that Survey.save wrote ({FORMAT}); {str(path)!r} is none or damaged")
        return cls(**{name: told[name] for name in names} | {"mechanism": _labels.rebuild(told["mechanism"])})

    def encode(self, frame: DataFrame) -> np.ndarray:
        """Return the answers as numbers, an array of ints of shape (people, d), in the frame's row order.

        Raises
        ------
        TypeError, ValueError
            If a column is missing, or a value is missing or not among the labels: the error names column, row, value.
        """
        _labels.check_people(frame)
        return np.column_stack([_labels.codes(frame, name, self) for name in self.domain])

    def decode(self, x: Any) -> DataFrame:
        """Return numbers, shape (people, d), as a data frame with a categorical column of labels for each attribute.

        Columns are in the domain's order, those of a data frame too, whatever they are called: give ``x[[*domain]]``.
        """
        x, parts = _inputs.check_records(x, self.k), self.domain.items()
        return DataFrame({name: Categorical.from_codes(x[:, j], list(v)) for j, (name, v) in enumerate(parts)})

    def collect(
        self, frame: DataFrame, *, rng: Rng, weights: str | None = None, keep: Sequence[str] = (), shuffle: bool = True
    ) -> DataFrame:
        """Return everybody's private report, a data frame with one row a person and an index of its own.

        This is what runs on people's own devices; here for all of them at once.

        Parameters
        ----------
        frame : pandas.DataFrame
            Answers, one row a person. Its index stays behind: it may tell who answered what.
        rng : numpy.random.Generator
            Source of randomness, whose seed has drawn nothing else: not another batch, nor the order of these people.
        weights : str, optional
            The column of design weights that travels with the reports. It is not private, and may identify people.
        keep : sequence of str
            Further columns that travel as they are, such as a group; not private either.
        shuffle : bool
            Whether to give the reports in random order. In the frame's order they may tell answers: of a sorted frame
            they do. So may an order of first appearance: categories in no order of their own are sorted.
        """
        _inputs.check_bool(shuffle=shuffle)
        x, names = self.encode(frame), _labels.check_kept(frame, weights, keep, self.domain)
        reports = _files.to_frame(self.mechanism.perturb(x.reshape(-1, *np.shape(self.mechanism.k)), rng=rng))
        reports[names] = frame[names].set_axis(reports.index)
        if shuffle:
            reports = reports.take(rng.permutation(len(reports))).reset_index(drop=True)
            loose = [c for c, d in reports.dtypes.items() if not getattr(getattr(d, "pyarrow_dtype", d), "ordered", 1)]
            reports[loose] = reports[loose].astype(object).astype("category")
        return self.mark(reports)

    def mark(self, reports: Any) -> Any:
        """Return a frame or counts of reports that say they are of this survey; for those that do not, if you know.

        Of a file, mark what `files.read` gives, and of other software's frame what its ``to_pandas`` gives.
        """
        own = self.description
        if isinstance(reports, Counts):
            if reports.survey not in (None, own, _files.number(own)):
                raise ValueError("reports must be of this survey; their description, or the rows', is of another one")
            return replace(reports, survey=own)
        marked = reports.assign(**{_files.NUMBER: reports.get(_files.NUMBER, _files.number(own))})
        _files.check_numbers(marked, own, "the data frame")
        # Rows that carry its checksum are of this survey, whatever other rows' frame says.
        marked.attrs = {**reports.attrs, _files.KEY: own} | ({} if _files.NUMBER in reports else reports.attrs)
        return marked

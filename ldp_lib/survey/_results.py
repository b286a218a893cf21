"""What a survey's reports tell: labelled shares, tables, sums, differences and synthetic people, with intervals."""

import functools
import itertools
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from ldp_lib._inputs import check_bool, check_users
from ldp_lib.postprocess import project_simplex
from ldp_lib.survey import _estimates, _files, _labels
from ldp_lib.survey._intervals import half_width, joined, listed, standard_errors
from ldp_lib.survey.aggregate import Counts, _leaves, aggregate
from ldp_lib.tables import _agreement, _checks, _independence, synthetic

Reports: TypeAlias = pd.DataFrame | Counts | str | Path | Iterable[Any]


class Share(NamedTuple):
    """An estimated share or difference of shares, its standard error, and the ends of its confidence interval."""

    estimate: float
    standard_error: float
    low: float
    high: float


class Results:
    """The part of a `Survey` that reads reports, given as a data frame, a file, a folder, or several of these.

    Shares, and sums of shares of one attribute, also from `Counts`. All intervals are normal, around raw estimates; no
    end is clipped. They hold the people asked fixed: ``sampling=True`` adds the error of drawing people at random from
    many more. Not covered are strata, clusters of people, nonresponse, and batches, each dealt by itself, that differ
    in an answer, or whose people do, more than by chance.
    """

    domain: Mapping[str, Sequence[Hashable]]
    mechanism: Any
    description: Any
    decode: Any

    def estimate(
        self,
        reports: Reports,
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
        sampling: Any = False,
        projected: bool = False,
        weights: str | None = None,
        population: float | None = None,
    ) -> pd.DataFrame:
        """Return the estimated frequencies with their uncertainty.

        Parameters
        ----------
        reports : DataFrame, path or several of these; or Counts
            Reports as `collect` gave them, in any order, or their counts.
        confidence : float
            Of each interval on its own; of all together if `simultaneous` (Bonferroni).
        simultaneous : bool
        sampling : bool, or with weights "poisson" or "with replacement"
            Whether to add the error of drawing the people at random, and by which design: True and "poisson" if each
            was asked independently of the others; "with replacement" by Hansen and Hurwitz. Neither is for clusters.
        projected : bool
            Whether to give the nearest probabilities, which are biased: means, sums and differences take the raw
            estimates, which may be negative. Standard errors and intervals are always those of the raw ones.
        weights : str, optional
            The column of design weights that travelled with the reports (`collect`).
        population : float, optional
            Number of people in the population, if known: see `_estimates.weighted_shares`. With weights an estimated
            variance may be below 0 where people are few; its standard error and interval are then NaN. It warns where
            the weights of those asked a question tell as fewer than 30 even ones: intervals then hold less often. For
            an answer that hardly anybody holds they do below some 20 e^budget even ones too, and it does not warn.

        Returns
        -------
        pandas.DataFrame
            One row a label, in the domain's order; columns attribute, value, estimate, standard_error, low, high. Rows
            are numbered: put those of another survey beside them by attribute and value, as an outer `merge` does.
        """
        if weights is not None:
            frame = self._read(_estimates.rows, reports)
            w, told = _labels.check_weights(frame, weights), self._counted(frame)[1]
            if told is not self.mechanism:
                told = replace(told, weights=np.bincount(frame["report_asked"], w, len(told.weights_)))
            z, asks = _estimates.contributions(told, frame), (told, frame.get("report_asked"))
            flat, variance = _estimates.weighted_shares(z, w, population=population, sampling=sampling, dealt=asks)
            spread = np.where(variance < -1e-12, np.nan, variance.clip(0)) ** 0.5
        else:
            if not isinstance(sampling, bool) or population is not None:
                raise ValueError("weights must be given with population, and with a sampling that is not True or False")
            counts, told = self._counted(reports)
            raw = told.estimate_counts(counts.counts)
            flat, spread = map(joined, (raw, standard_errors(told, raw, counts.n, sampling=sampling)))
        found = self._with_intervals(self._labels(), flat, spread, confidence, simultaneous)
        check_bool(projected=projected)
        if projected:
            found["estimate"] = found.groupby("attribute")["estimate"].transform(project_simplex)
        return found

    def table(
        self,
        a: str,
        b: str,
        reports: Reports,
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
        sampling: bool = False,
        projected: bool = False,
    ) -> pd.DataFrame:
        """Return the estimated joint table of two attributes, a row a cell; ``found["estimate"].unstack()`` is square.

        The index has the labels of both, at most 2,048 cells, or 8,192 of `AskSome`; options as in `estimate`. Most
        reports of a mechanism for tables say something of few pairs, so their intervals are wider than those of shares.
        Of large cells among hundreds, whose noise is about as large as they are, errors are told too small: page
        `survey`.
        """
        check_bool(projected=projected)
        flat, covariance = self._raw(self._numbers(a, b), reports, sampling)
        sides = [pd.CategoricalIndex(self.domain[name], self.domain[name], name=name) for name in (a, b)]
        index = pd.MultiIndex.from_product(sides)  # `unstack` keeps the order of categories, and sorts texts
        spread = np.diag(covariance).clip(0) ** 0.5
        found = self._with_intervals(pd.DataFrame(index=index), flat, spread, confidence, simultaneous)
        return found.assign(estimate=project_simplex(flat)) if projected else found

    def query(
        self,
        where: Mapping[str, Any],
        reports: Reports,
        *,
        given: Mapping[str, Any] | None = None,
        confidence: float = 0.95,
        sampling: bool = False,
    ) -> Share:
        """Return the estimated share of people whose labels are among those named, for each attribute in `where`.

        With `given`, of other attributes, the share is that among the people whose labels are in it: a ratio of two
        estimates, nearly unbiased for many people, and its variance is by the delta method. Where the true share of
        `given` is less than six standard errors or so, an answer may come by chance, and its interval hold less often.
        Errors are from the whole table of the attributes named, with the limit that `table` has.
        """
        if not isinstance(where, Mapping) or not where or not isinstance(given, Mapping | None):
            raise TypeError(f"where and given must map attributes to a label or several; got {where!r}, {given!r}")
        given = given or {}
        flat, covariance = self._raw(self._numbers(*where, *given), reports, sampling)
        chosen = [self._chosen(name, wanted) for name, wanted in (*where.items(), *given.items())]
        slope = functools.reduce(np.kron, chosen)
        found = flat @ slope
        if given:
            base = functools.reduce(np.kron, [np.ones(len(self.domain[name])) for name in where] + chosen[len(where) :])
            if (whole := flat @ base) < 5 * max(base @ covariance @ base, 1e-20) ** 0.5:  # rounding: below 0
                raise ValueError(f"given must hold more people; their estimated share, {whole:.3g}, is near the noise")
            slope, found = (slope - found / whole * base) / whole, found / whole
        cells = np.flatnonzero(slope)
        variance = slope[cells] @ covariance[np.ix_(cells, cells)] @ slope[cells]
        if np.isnan(variance):
            raise TypeError(f"where must name one label, since {self.mechanism!r} has no covariances here")
        found, spread = float(found), float(max(variance, 0) ** 0.5)
        half = half_width(confidence) * spread
        return Share(found, spread, found - half, found + half)

    def difference(
        self,
        a: Reports,
        b: Reports,
        *,
        confidence: float = 0.95,
        simultaneous: bool = False,
        sampling: Any = False,
        weights: str | None = None,
    ) -> pd.DataFrame:
        """Return the shares of `a` less those of `b`, two groups or two waves with reports of their own.

        Options as in `estimate`. No report may be in both. With `sampling`, which arms of an experiment need, beside
        weights "with replacement", people must be different; held fixed they may be asked twice, at twice the budget.
        """
        if a is b:
            raise ValueError("a and b must be different reports; got the same twice")
        parts = [self._counts(part) if weights is None else self._read(_estimates.rows, part) for part in (a, b)]
        # Raises if a part is in both.
        _ = parts[0] + parts[1] if weights is None else self._read(_estimates.rows, parts)
        one, other = (self.estimate(part, sampling=sampling, weights=weights) for part in parts)
        spread = np.hypot(one["standard_error"], other["standard_error"])
        apart = one["estimate"] - other["estimate"]
        return self._with_intervals(self._labels(), apart, spread, confidence, simultaneous)

    def associations(self, reports: Reports, *, adjust: str | None = "holm") -> pd.DataFrame:
        """Return a test of independence for every two attributes, the least p-value first.

        Parameters
        ----------
        reports : rows, not counts
        adjust : {"holm", "benjamini-hochberg", None}
            How p-values are adjusted for the number of pairs: Holm (1979) bounds the probability of any false finding,
            Benjamini and Hochberg (1995) the expected share of false ones among the findings, for exploration. P-values
            are too small at large budgets where fewer than about ten people are expected to hold two labels together,
            and from `RRJoint` where nearly all hold one of many labels. Of hundreds of pairs too many are found from a
            budget of 2 on where few hold a label and only hundreds of people are asked about a pair: page `survey`.
        """
        found, reports = [], [*_leaves(reports)]
        for a, b in itertools.combinations(self.domain, 2):
            raw, told, n = self._joint(at := self._numbers(a, b), reports)
            found.append((a, b, _independence.p_value(told, raw, at, n)))
        found = pd.DataFrame(sorted(found, key=lambda row: row[-1]), columns=["a", "b", "p_value"])
        p = found["p_value"].to_numpy()
        return found.assign(adjusted=p if adjust is None else _independence.adjusted_p_values(p, adjust))

    def synthetic(self, n: int, reports: Reports, *, rng: np.random.Generator) -> pd.DataFrame:
        """Return n made-up people whose pair tables are near the estimated ones: a tree of attributes, sampled.

        They cost no further budget, and are biased: tables are repaired first, and dependence beyond the tree is lost.
        Tests of them find noise. Where users are few they may still be nearer to the truth than `table`.
        """
        if len(self.domain) < 2:
            raise ValueError("domain must have at least two attributes for synthetic people")
        reports = [*_leaves(reports)]
        tables = {at: self._joint(at, reports)[0] for at in itertools.combinations(range(len(self.domain)), 2)}
        return self.decode(synthetic.fit_tree(_agreement.repair_pairs(tables)).sample(check_users(n), rng=rng))

    def contributions(self, reports: Reports) -> pd.DataFrame:
        """Return each person's unbiased contribution to each share, in columns ``attribute=value``, and kept columns.

        Means of a column, also within groups, by SQL and with weights, are unbiased estimates of shares. Single entries
        say nothing that can be read: they lie far outside 0 to 1. The standard error of a mean, also of columns added
        up with factors, is `sem` if people are drawn at random, less if held fixed or dealt into groups; 0 where nobody
        was asked. The mean of two columns' product is not the share of both but for questions randomized alone. One
        frame's index is kept; that of several is new, 0 to n-1 in their order, and joins no report of theirs. They are
        put together by `pandas.concat`: whole numbers become floats beside missing or unsigned ones, so that of ids
        beyond 2**53 some become equal: take texts. A column that one lacks, or names otherwise, is missing there, and
        left out by `groupby`; 1 of one and "1" of another are two groups, also 0.1 of 32 bits and of 64, but 1 and True
        are one. Categories in orders that differ become texts, in their letters' order. Nothing names their survey.
        """
        frame = self._read(_estimates.rows, reports)
        names = [f"{name}={label}" for name, label in self._labels().to_numpy()]
        if len({*names, *frame}) < len(names) + len(frame.columns):
            raise ValueError(f"columns must differ from each other and from those kept; got {names}")
        z = pd.DataFrame(_estimates.contributions(self._counted(frame)[1], frame), columns=names, index=frame.index)
        kept = frame.drop(columns=[*_files.columns(self.mechanism), _files.NUMBER], errors="ignore")
        return pd.concat([z, kept], axis=1)  # row by row, also where the index has an entry twice

    def _labels(self):
        pairs = [(name, label) for name, values in self.domain.items() for label in values]
        return pd.DataFrame(pairs, columns=["attribute", "value"], dtype=object)

    def _numbers(self, *names):
        order = list(self.domain)
        if len({name for name in names if isinstance(name, str) and name in order}) < len(names):
            raise ValueError(f"attributes must be different ones of {order}; got {names}")
        return tuple(order.index(name) for name in names)

    def _chosen(self, name, which):
        """Return which labels of an attribute are wanted, as zeros and ones; flags that are numbers are one label."""
        values = self.domain[name]
        which = [which] if isinstance(which, str | int | Mapping) or not isinstance(which, Iterable) else list(which)
        places = _labels.places(which, values)
        if -1 in places or not which:
            raise ValueError(f"where must name labels out of {values} for {name!r}, as must given; got {which}")
        return np.eye(len(values))[places].max(axis=0)

    def _with_intervals(self, frame, estimate, spread, confidence, simultaneous):
        check_bool(simultaneous=simultaneous)
        half = half_width(confidence, len(estimate) if simultaneous else 1) * spread
        return frame.assign(estimate=estimate, standard_error=spread, low=estimate - half, high=estimate + half)

    def _read(self, act, reports):
        if isinstance(reports, Counts):
            raise TypeError("reports must be rows here, not counts, which hold one attribute at a time")
        return act(reports, self.mechanism, self.description)

    def _counts(self, reports):
        if not isinstance(reports, Counts):
            reports = aggregate(reports, self.mechanism, survey=self.description)
        if reports.mechanism != self.mechanism:
            raise ValueError(f"counts must be of {self.mechanism!r}; got those of {reports.mechanism!r}")
        _files.check_description(reports.survey, self.description, "the counts")
        return reports

    def _counted(self, reports):
        counts = self._counts(reports)
        return counts, _estimates.as_counted(self.mechanism, counts.counts)

    def _joint(self, at, reports):
        return _estimates.joint_table(self.mechanism, self._read(_estimates.blocks, reports), at)

    def _raw(self, at, reports, sampling):
        """Return the raw table of some attributes, flat, and the covariance of its cells."""
        check_bool(sampling=sampling)
        _checks.check_cells(np.take(self.mechanism.k, at).prod())
        if len(at) > 1:
            table, told, n = self._joint(at, reports)
            return table.ravel(), _estimates.near_covariance(told, table, at, n, sampling)
        counts, told = self._counted(reports)
        shares = listed(told.estimate_counts(counts.counts))
        return shares[at[0]], _estimates.value_covariance(told, shares, at[0], counts.n, sampling)

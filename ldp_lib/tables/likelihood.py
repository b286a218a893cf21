"""Joint tables by maximum likelihood: the table under which the reports are most likely.

A report may have several parts, each from a channel of its own, whose product is never built. Estimates of
`fit` and `estimate` are tables of probabilities without any repair; they are not unbiased.
"""

import math
from dataclasses import replace

import numpy as np

from ldp_lib import _inputs
from ldp_lib.sampled.ask_some import AskSome
from ldp_lib.tables._asked import asked_boxes
from ldp_lib.tables._checks import check_positive
from ldp_lib.tables._operators import Kronecker, check_channels, check_counts
from ldp_lib.tables._product_channel import ProductChannel, cells_of, distinct
from ldp_lib.tables._results import Fitted


def fit(counts, channels, *, gap: float | None = None, max_steps: int = 10_000) -> Fitted:
    """Return the table that makes the reports most likely, by expectation maximization (EM).

    Parameters
    ----------
    counts : array_like, shape (m_1, ..., m_c)
        Number of reports, one axis for each part of the report.
    channels : sequence of c channels
        For each part a matrix (r, m) of Pr[y | x], with as many independent columns as rows; or a number above 0, at
        most 1: the probability to keep the value, which is else drawn uniformly from the m values. Or an object with
        `rows`, `forward` and `backward`, as `observed` gives for `AskSome`, whose columns may be multiplied by numbers.
    gap : float, optional
        It stops when no table has a log-likelihood larger by more than this; (cells - 1) / 200 if not given. A distance
        of z standard errors costs about z^2 / 2, so the squared distance from the maximum is then at most one hundredth
        of the noise, which has z^2 = cells - 1 on average.
    max_steps : int
        It ends with the step at which so many evaluations of the likelihood are reached: at most two more.

    Returns
    -------
    Fitted
        With ``converged=False``, and the gap, if `max_steps` did not suffice.

    Raises
    ------
    TypeError, ValueError
        If an argument has the wrong shape or is out of range, a channel is singular, or no record can give a report.

    Notes
    -----
    Agrawal and Aggarwal (2001). One step multiplies cell x by g(x), the sum over reports y of their share times
    Pr[y | x] / Pr[y]; the likelihood never falls. As the logarithm is concave, n log max g bounds the gap, also where
    cells are 0 (Lindsay, 1983, has the bound's first order): unlike a small change it proves that the maximum is
    near. Two steps are extrapolated in logarithms (Varadhan and Roland, 2008), and only kept if the likelihood rises.
    """
    shape = (counts := check_counts(counts)).shape
    product = channels if hasattr(channels, "forward") else Kronecker(check_channels(channels, shape), shape)
    cells = math.prod(product.rows)
    gap = max(cells - 1, 1) / 200 if gap is None else gap
    check_positive(gap=gap, max_steps=max_steps)
    n = counts.sum()
    share = (counts / n).ravel()
    table = np.full(cells, 1 / cells)
    held = share > 0
    here = _score(product, table, share, held)
    if here is None:
        where = np.unravel_index(np.argmax(held & (product.forward(table) <= 0)), shape)
        raise ValueError(f"counts must be 0 for reports that no record can give; got some for {tuple(map(int, where))}")
    steps, reach = 1, 4.0
    while True:
        growth, likelihood = here
        left = float(n * math.log(max(growth.max(), 1.0)))
        if left <= gap or steps >= max_steps:
            break
        first = table * growth
        second_growth, _ = _score(product, first, share, held)
        plain = first * second_growth
        r = np.log(np.maximum(growth, 1e-300))
        v = np.log(np.maximum(second_growth, 1e-300)) - r
        bend = math.sqrt(table @ v**2)
        far = min(reach, max(1.0, math.sqrt(table @ r**2) / bend)) if bend > 0 else reach
        jump = np.log(np.maximum(table, 1e-300)) + np.clip(2 * far * r + far**2 * v, -600, 600)
        jump = np.maximum(np.exp(jump - jump.max()), 1e-300)
        jump /= jump.sum()
        there = _score(product, jump, share, held)
        steps += 2
        if there is not None and there[1] >= likelihood:
            table, here, reach = jump, there, reach * 4 if far == reach else reach
        else:
            table, here, reach, steps = plain, _score(product, plain, share, held), max(4.0, reach / 4), steps + 1
        if here is None:
            raise FloatingPointError("a report's probability became too small for a float")
    done, best = left <= gap, float(n * likelihood)
    message = "converged" if done else f"not converged in {steps} steps: the log-likelihood may be {left:.3g} less"
    return Fitted(
        table=table.reshape(product.rows), converged=done, steps=steps, log_likelihood=best, gap=left, message=message
    )


def estimate(mechanism, y, *attributes, gap: float | None = None, max_steps: int = 10_000) -> Fitted:
    """Return the most likely joint table of some attributes (all if none is named) from a mechanism's reports.

    Parameters
    ----------
    mechanism : mechanism
        Any with a `channel`. If it asks several attributes together, has clusters, or an oracle for each attribute,
        only the parts of the reports that concern the attributes are read; else the table of whole records is fitted
        and summed.
    y : array
        Reports of `perturb`.
    *attributes : int
        Distinct numbers, in the order of the table's axes.
    gap, max_steps : as in `fit`

    Returns
    -------
    Fitted
        Its table has one axis an attribute.
    """
    d = len(k := _inputs.check_domain(mechanism.k))
    chosen = distinct(attributes or range(d), d)
    counts, channels, members = observed(mechanism, y, chosen)
    found = fit(counts, channels, gap=gap, max_steps=max_steps)
    table = found.table.reshape([k[j] for j in members])
    table = table.sum(axis=tuple(axis for axis, j in enumerate(members) if j not in chosen))
    left = [j for j in members if j in chosen]
    return replace(found, table=table.transpose([left.index(j) for j in chosen]))


def observed(mechanism, y, attributes):
    """Return what `fit` needs of a mechanism's reports, and the attributes whose values its cells list, in order.

    Returns
    -------
    counts : array
    channels : list, or for `AskSome` an object with `forward` and `backward`
    members : list of int
    """
    if isinstance(mechanism, AskSome):
        return *asked_boxes(mechanism, y, attributes), list(attributes)
    if isinstance(mechanism, ProductChannel):
        y, codes, sizes, channels, members = _inputs.check_records(y, mechanism.k, "y"), [], [], [], []
        for mine, channel in mechanism.parts(attributes):
            codes.append(cells_of(y, mechanism.k, mine))
            sizes.append(math.prod(mechanism.k[j] for j in mine))
            channels.append(channel)
            members += mine
    elif hasattr(mechanism, "oracles"):
        edges = np.cumsum([0, *(math.prod(oracle.dtype.shape) for oracle in mechanism.oracles)])
        y, members = np.asarray(y), sorted(attributes)
        channels = [mechanism.oracles[j].channel() for j in members]
        codes = [_columns(mechanism.oracles[j].reports(), y[:, edges[j] : edges[j + 1]]) for j in members]
        sizes = [channel.shape[1] for channel in channels]
    else:
        every = mechanism.reports()
        channels, codes = [mechanism.channel()], [_columns(every, y)]
        sizes, members = [len(every)], list(range(len(_inputs.check_domain(mechanism.k))))
    _inputs.check_cells(1, math.prod(sizes))
    counts = np.bincount(np.ravel_multi_index(codes, sizes), minlength=math.prod(sizes)).reshape(sizes)
    return counts, channels, members


def _score(product, table, share, held):
    """Return g and the mean log-likelihood, or None if a report has no probability left."""
    chance = product.forward(table)[held]
    if not chance.min() > 0:
        return None
    ratio = np.zeros(share.size)
    ratio[held] = share[held] / chance
    return product.backward(ratio), float(share[held] @ np.log(chance))


def _columns(every, y):
    """Return, for each report, its row in the array of all reports."""
    every, y = np.asarray(every), np.asarray(y)
    if every.dtype.names is None and every.ndim == 1:
        y = y.reshape(len(y))
    if y.shape[1:] != every.shape[1:] or y.dtype.names != every.dtype.names:
        raise ValueError(f"y must be reports of shape (n, {every.shape[1:]}); got {y.dtype}, shape {y.shape}")
    keys = [a.astype(every.dtype, "C").view(np.uint8).reshape(len(a), -1) for a in (every, y)]
    flat = [np.ascontiguousarray(key).view(f"V{key.shape[1]}").ravel() for key in keys]
    values, first = np.unique(flat[0], return_index=True)
    place = np.minimum(np.searchsorted(values, flat[1]), len(values) - 1)
    if (values[place] != flat[1]).any() or (every.dtype.names is None and (y != every[first[place]]).any()):
        raise ValueError("y must hold reports that some record can give; got another")
    return first[place]

"""What reports say of several attributes: raw tables, and for `AskSome` the channel of each report."""

import itertools
import math

import numpy as np

from ldp_lib import _sets
from ldp_lib._inputs import check_reports
from ldp_lib.sampled.ask_some import AskSome
from ldp_lib.tables._operators import Boxes, places_of, row_products
from ldp_lib.tables._product_channel import ProductChannel, distinct


def set_gain(k, size):
    """Return (k - size) / (k - 1).

    For a set drawn to hold the truth, the mean of its indicator less size / k is this gain times the truth's indicator
    less 1 / k.
    """
    return (k - size) / (k - 1)


def asked_tables(mechanism, y, wanted):
    """Return raw unbiased tables of attributes that are asked together: a dict from each tuple wanted to its table.

    Parameters
    ----------
    mechanism : AskSome
    y : structured array, shape (n,), or iterable of such blocks
        Reports of its `perturb`, in any order; they are read once.
    wanted : sequence of tuples of int
        Distinct attributes that some question of positive weight concerns together. A table's axes are in this order.

    Raises
    ------
    TypeError, ValueError
        If the reports are of another type, attributes are not asked together, or, in groups, nobody was asked them.

    Notes
    -----
    With every indicator centred, at size / k in a report and at 1 / k in the truth, the mean product over a set B of
    attributes is keep times the gains times the truth's product. The table is the sum over all B of these, spread
    uniformly over the other attributes; each B is read from all questions that hold it, weighted by keep^2.
    """
    wanted = [check_asked(mechanism, attributes) for attributes in wanted]
    k, sizes = mechanism.k, mechanism.sizes_
    parts = sorted({part for attributes in wanted for part in subsets_of(sorted(attributes))})
    total = dict.fromkeys(parts, 0.0)
    dealt = np.zeros(len(mechanism.weights_))
    for number, asked, sets in _read(mechanism, y):
        mine, dealt[number] = [part for part in parts if set(part) <= set(asked)], dealt[number] + len(sets)
        held = {j for part in mine for j in part}
        centred = {j: _held(sets[:, asked.index(j)], k[j], sizes[j]) - sizes[j] / k[j] for j in held}
        for part in mine:
            spread = row_products([centred[j] for j in part[1:]], np.ones((len(sets), 1)))
            total[part] = total[part] + mechanism.keep[number] * (centred[part[0]].T @ spread)
    pull, found = {part: _weighted_users(mechanism, part, dealt) for part in parts}, {}
    for attributes in wanted:
        order = sorted(attributes)
        if not pull[tuple(order)]:
            raise ValueError(
                f"reports y must hold a report about all of {attributes}; got none: numbers of attributes, from 0"
            )
        table = np.full([k[j] for j in order], 1 / math.prod(k[j] for j in order))
        for part in subsets_of(order):
            scale = pull[part] * math.prod(set_gain(k[j], sizes[j]) for j in part)
            scale *= math.prod(k[j] for j in order if j not in part)
            table = table + np.reshape(total[part], [k[j] if j in part else 1 for j in order]) / scale
        found[attributes] = table.transpose([order.index(j) for j in attributes])
    return found


def asked_boxes(mechanism, y, attributes):
    """Return how often each distinct report came, and their `Boxes`, as far as they concern some attributes.

    Such a report has a probability in proportion to 1 + t [its sets hold the user's values], with t = e - 1 times the
    shares of its other sets.
    """
    attributes, k, sizes = check_asked(mechanism, attributes), mechanism.k, mechanism.sizes_
    boxes = Boxes([k[j] for j in attributes])
    whole = False
    for _, asked, sets in _read(mechanism, y):
        mine = [j for j in attributes if j in asked]
        if mine and len(sets):
            held = [_held(sets[:, asked.index(j)], k[j], sizes[j]) for j in mine]
            others = math.prod(sizes[j] / k[j] for j in asked if j not in mine)
            boxes.add([attributes.index(j) for j in mine], held, math.expm1(mechanism.epsilon) * others)
            whole |= len(mine) == len(attributes)
    if not whole:
        raise ValueError(f"y must hold a report about all of {attributes}; got none")
    return np.concatenate(boxes.counts).astype(float), boxes


def check_together(mechanism, attributes):
    """Return distinct attributes, of an `AskSome` asked together, or raise."""
    if isinstance(mechanism, AskSome):
        return check_asked(mechanism, attributes)
    if not isinstance(mechanism, ProductChannel):
        raise TypeError(f"mechanism must be an AskSome or one of clusters; got {mechanism!r}")
    return distinct(attributes, mechanism.d)


def raw_table(mechanism, y, *attributes):
    """Return the raw unbiased table of some attributes, from reports, or blocks of them that are read once."""
    attributes = check_together(mechanism, attributes)
    if isinstance(mechanism, AskSome):
        return asked_tables(mechanism, y, [attributes])[attributes]
    if isinstance(y, np.ndarray):
        return mechanism.estimate_table(y, *attributes)
    total = sum(len(part) * np.append(mechanism.estimate_table(part, *attributes), 1) for part in y)
    if not np.any(total):
        raise ValueError("y must hold at least one report; got none")
    return (total[:-1] / total[-1]).reshape(np.take(mechanism.k, attributes))


def check_asked(mechanism, attributes):
    """Return the attributes as ints, or raise unless an `AskSome` asks them together."""
    require_ask_some(mechanism)
    attributes = distinct(attributes, mechanism.d)
    if not are_asked(mechanism, attributes):
        told = f"at most m = {mechanism.m_} of them; got {attributes}, too many or of a question of weight 0"
        raise ValueError(f"attributes must be asked together, {told}")
    return attributes


def subsets_of(attributes):
    """Return all non-empty subsets as tuples, in the order of the attributes."""
    return [part for size in range(1, len(attributes) + 1) for part in itertools.combinations(attributes, size)]


def require_ask_some(mechanism):
    """Raise unless the mechanism is an `AskSome`."""
    if not isinstance(mechanism, AskSome):
        raise TypeError(f"mechanism must be an AskSome; got {mechanism!r}")


def are_asked(mechanism, attributes):
    """Return whether some question of positive weight concerns all of the attributes."""
    asked = mechanism.questions[np.array(mechanism.weights_) > 0]
    return any(set(attributes) <= set(question) for question in asked.tolist())


def _weighted_users(mechanism, part, dealt):
    """The users who were asked about all of a part, or in own assignments their expected number, times keep^2."""
    asks = np.array([set(part) <= set(asked) for asked in mechanism.questions.tolist()])
    users = dealt if mechanism.groups else dealt.sum() * np.array(mechanism.weights_)
    return users[asks] @ mechanism.keep[asks] ** 2


def _read(mechanism, y):
    """Yield for each block and question its number, its attributes, and the sets of those who were asked it."""
    for block in [y] if isinstance(y, np.ndarray) else y:
        block = check_reports(block, mechanism.dtype, len(mechanism.weights_))
        groups = places_of(block["asked"], len(mechanism.weights_))
        for number, (asked, who) in enumerate(zip(mechanism.questions.tolist(), groups, strict=True)):
            yield number, asked, block["sets"][who]


def _held(sets, k, size):
    """Which values each set holds, shape (n, k)."""
    held = np.zeros((len(sets), k))
    if len(sets):
        rows = np.arange(len(sets)) * k
        for column in _sets.check_sets(sets[:, :size], k, size).T:
            held.ravel()[rows + column] = 1
    return held

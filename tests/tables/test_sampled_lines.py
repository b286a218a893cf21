"""Tables of two from lines: of one answer, or of x + a y for one pair of answers, in the field of k values."""

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from ldp_lib import OneQuestion, check, recommend, simple_pair_error, subset
from ldp_lib.limit.pair_tables import pair_error, spaces
from ldp_lib.population import Population
from ldp_lib.tables._totals import pairs_error
from ldp_lib.tables.sampled import ask_pairs

PAGE = Path(__file__).resolve().parents[2] / "book/choose.md"
POWERS = {4: (2, (1, 1, 1)), 8: (2, (1, 1, 0, 1)), 9: (3, (1, 0, 1)), 16: (2, (1, 1, 0, 0, 1))}  # irreducible
FIELDS = (2, 3, 4, 5, 7, 8, 9, 11, 13, 16)


def line(k, a):
    """Return x + a y for all x and y of the field with k elements, shape (k, k)."""
    x, y = np.indices((k, k))
    p, modulus = POWERS.get(k, (k, None))
    if modulus is None:
        return (x + a * y) % k
    m = len(modulus) - 1
    digits = [[v // p**i % p for i in range(m)] for v in range(k)]
    number = np.array([p**i for i in range(m)])
    times = np.zeros(k, int)
    for v in range(k):
        product = np.convolve(digits[a], digits[v])
        for i in range(len(product) - 1, m - 1, -1):
            product[i - m : i + 1] -= product[i] * np.array(modulus)
        times[v] = (product[:m] % p) @ number
    plus = np.array([[(np.array(digits[u]) + digits[v]) % p @ number for v in range(k)] for u in range(k)])
    return plus[x, times[y]]


def parts(d, k):
    """Return what is asked: (j,) for an answer, (j, l, a) for a line of a pair."""
    pairs = itertools.combinations(range(d), 2)
    return [(j,) for j in range(d)] + [(*pair, a) for pair in pairs for a in range(1, k)]


def recoded(x, k):
    """Return records of lines, one column a part."""
    lines = {a: line(k, a) for a in range(1, k)}
    return np.column_stack(
        [x[:, j] if not more else lines[more[1]][x[:, j], x[:, more[0]]] for j, *more in parts(x.shape[1], k)]
    )


def mechanism(d, k, epsilon):
    weights = [math.sqrt(d - 1) if len(part) == 1 else 1.0 for part in parts(d, k)]
    return OneQuestion(k=(k,) * len(weights), epsilon=epsilon, weights=tuple(weights))


def tables(shares, d, k):
    """Return the pair tables: of a cell, the shares of the k + 1 lines through it, less 1, over k."""
    of = dict(zip(parts(d, k), shares, strict=True))
    x, y = np.indices((k, k))
    return {
        (j, i): (of[j,][x] + of[i,][y] + sum(of[j, i, a][line(k, a)] for a in range(1, k)) - 1) / k
        for j, i in itertools.combinations(range(d), 2)
    }


def drawn(d, k):
    return d * (d - 1) / 2 * (1 - 1 / k**2)


def lines_error(d, k, epsilon):
    """Return n times the error of all tables of two, for users drawn from the uniform distribution."""
    e = math.exp(epsilon)
    alone = subset.error(e, k, subset.optimal_size(e, k))
    return alone * (d * math.sqrt(d - 1) + d * (d - 1) / 2 * (k - 1)) ** 2 / k


def cells_error(d, k, epsilon):
    """Return the same if a report is a set of one pair's cells, and a marginal the mean of those from all its pairs."""
    e, pairs = math.exp(epsilon), math.comb(d, 2)
    table = subset.error(e, k * k, subset.optimal_size(e, k * k))  # alike in all k^2 - 1 directions
    return pairs**2 * table * (2 * (k - 1) / (d - 1) + (k - 1) ** 2) / (k * k - 1)


def limit(d, k, epsilon):
    return simple_pair_error(k=(k,) * d, epsilon=epsilon) + drawn(d, k)


@pytest.mark.parametrize("k", FIELDS)
def test_any_two_cells_are_on_one_line(k):
    x, y = np.indices((k, k)).reshape(2, -1)
    values = [x, y, *(line(k, a).ravel() for a in range(1, k))]
    common = sum((v[:, None] == v).astype(int) for v in values)
    assert (common == np.where(np.eye(k * k) > 0, k + 1, 1)).all()
    table = np.random.default_rng(k).integers(1, 50, (k, k))
    people = Population.from_counts(table)
    shares = [np.bincount(column, people.counts, k) / people.n for column in recoded(people.records, k).T]
    assert np.allclose(tables(shares, 2, k)[0, 1], people.joint)


def stated(way, people, d, k):
    """Return the error of all tables of two of these people, held fixed: a line's share is in k cells of its tables."""
    often = [(d - 1 if len(part) == 1 else 1) / k for part in parts(d, k)]
    spread = way.variance(people)
    return sum(times * part.sum() for times, part in zip(often, spread, strict=True))


@pytest.mark.parametrize(("d", "k", "epsilon"), [(8, 2, 0.25), (3, 3, 1.0), (3, 4, 1.0)])
def test_surveys_have_the_stated_error_and_less_than_pairs_that_are_asked(d, k, epsilon):
    rng, n = np.random.default_rng(d * k), 4_000
    x = rng.integers(0, k, (n, d))
    x[:, 1] = np.where(rng.random(n) < 0.6, x[:, 0], x[:, 1])  # correlated
    way, own = mechanism(d, k, epsilon), recoded(x, k)
    truth = tables([np.bincount(part, minlength=k) / n for part in own.T], d, k)
    off = []
    for _ in range(200):
        found = tables(way.estimate(way.perturb(own, rng=rng)), d, k)
        off.append(sum(((found[pair] - truth[pair]) ** 2).sum() for pair in truth))
    right = stated(way, Population.from_records(own, k=way.k), d, k)
    asked = pairs_error(ask_pairs((k,) * d, epsilon), n)
    assert check.mean_z(np.array(off), right) < 5 < check.mean_z(np.array(off), asked)
    records = recoded(np.array(list(np.ndindex((k,) * d))), k)
    even = Population.from_records(np.repeat(records, 100, axis=0), k=way.k)
    sampled = even.n / (even.n - 1)  # people are dealt without replacement
    assert lines_error(d, k, epsilon) - drawn(d, k) < stated(way, even, d, k) * even.n
    assert stated(way, even, d, k) * even.n / sampled < lines_error(d, k, epsilon) - drawn(d, k)


def test_lines_are_near_the_limit_and_the_page_says_where_they_have_less_error():
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    own = 100 * math.sqrt((lines_error(4, 4, 1.0) - drawn(4, 4)) / 96 / 10_000)
    row = recommend(k=(4,) * 4, epsilon=1.0, n=10_000, wants="tables").points
    assert f"has {own:.2f} points in the row's example, so the row's mechanism has {(row / own) ** 2:.2f} times" in text
    most = max(lines_error(d, k, 1.0) / limit(d, k, 1.0) for k in FIELDS[1:] for d in (3, 4, 10))
    assert f"at most {most:.2f} times the limit's variance" in text
    for d, k, e in ((2, 3, 2), (3, 4, 3), (5, 9, 2), (8, 16, 3), (4, 16, 7), (10, 5, 4)):
        told, flat = lines_error(d, k, math.log(e)), (sum(math.sqrt(r) for _, r in spaces((k,) * d))) ** 2
        attained = told == pytest.approx(flat / math.sinh(math.log(e) / 2) ** 2)
        assert attained == (k % (e + 1) == 0), (d, k, e)
    over = {}  # sets of cells with averaged marginals, over lines
    for k, d, epsilon in itertools.product(FIELDS, (3, 4, 6, 8, 10), (0.01, 0.1, 0.25, 0.5, 1.0)):
        ways = [ask_pairs((k,) * d, epsilon, m) for m in (2, 3)]
        asked = min(pair_error((k,) * d, epsilon, way.sizes_, way.m_, way.weights_) for way in ways)
        fewer = lines_error(d, k, epsilon) < asked
        if epsilon < 1:
            over[k, d, epsilon] = cells_error(d, k, epsilon) / lines_error(d, k, epsilon)
        assert fewer == (epsilon < 1 or k > 2 or d > 8), (k, d, epsilon)
    points = 100 * math.sqrt((cells_error(4, 4, 1.0) - drawn(4, 4)) / 96 / 10_000)
    assert f"and {points:.2f} if marginals are averaged" in text
    assert [round(end(over.values()), 2) for end in (min, max)] == [0.93, 1.32]
    assert max(over, key=over.get)[:2] == (2, 10)

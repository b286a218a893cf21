"""Verify a bound for local differential privacy, in rational arithmetic: python verify_limit.py < certificate.json

n users drawn from F randomize independently, send e^epsilon-LDP reports, and A F is estimated without bias near F. If
for directions h_r with sum 0, one a row a_r of A, and dual variables lambda, one a record, sum_r (w . h_r)^2 is at most
(lambda . w) (F . w) for every w that is e^epsilon on a set of records and 1 elsewhere, n times the total variance is at
least (sum_r a_r . h_r)^2 / sum(lambda). Up to 16 records all sets are tried; for more, or any F, a theorem is used.
"""

import json
import sys
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import comb, lcm, prod


def need(condition, why):
    if not condition:
        raise ValueError(f"refused: {why}")


def numbers(value):
    need(type(value) in (list, int, type(None)) or set(value) <= set("-/0123456789"), f"no fraction, {value}")
    return [numbers(x) for x in value] if type(value) is list else value if value is None else Fraction(value)


def uniform_population(k, target, roots, top, t):  # a direction: the row's part on each space, times root / N
    d, n, records, bound = len(k), prod(k), list(product(*map(range, k))), Fraction(0)
    tables = [set(c) for c in combinations(range(d), {"shares": 1, "pairs": 2}[target])]
    spaces = [set(c) for m in (1, 2) for c in combinations(range(d), m) if any(set(c) <= table for table in tables)]
    square = [[t * t * top] * n for _ in records]
    for root, space in zip(roots, spaces, strict=True):
        often, size = sum(Fraction(space <= c, prod(k[j] for j in c)) for c in tables), prod(k[j] - 1 for j in space)
        bound += often * size * (root := root * size if target == "pairs" else root)
        for row, x in zip(square, records, strict=True):
            same = (prod(k[j] * (x[j] == y[j]) - 1 for j in space) for y in records)
            row[:] = [v - (t * root) ** 2 * often * kernel for v, kernel in zip(row, same, strict=True)]
    all_sets(top * n * n, [2 * t * n * top] * n, square)
    return bound**2 / top


def given_population(k, target, f, dual, directions, t):
    n, total, prefixes = range(prod(k)), sum(dual), target == "prefixes" and len(k) == 1
    chosen = combinations(range(len(k)), 1 + (target == "pairs"))
    held = [[tuple(x[j] for j in c) for x in product(*map(range, k))] for c in chosen]
    rows = [[u <= v if prefixes else u == v for u in own] for own in held for v in sorted(set(own))]
    need((prefixes or target in ("shares", "pairs")) and len(directions) == len(rows) - prefixes, "a target")
    need(all(len(v) == len(n) for v in (f, dual, *directions)), "one number a record")
    need(min(f) >= 0 and sum(f) == 1 and not any(map(sum, directions)) and total > 0, "sums or a negative frequency")
    square = [[(f[x] * dual[y] + f[y] * dual[x]) / 2 - sum(h[x] * h[y] for h in directions) for y in n] for x in n]
    all_sets(total, [t * (total * f[x] + dual[x]) for x in n], [[t * t * v for v in row] for row in square])
    return sum(a * h[x] for row, h in zip(rows, directions, strict=False) for x, a in enumerate(row)) ** 2 / total


def all_sets(constant, linear, square):
    """Watch c + l . s + s . Q s, from each set s of records to one with a record more or less, in integers."""
    scale = lcm(constant.denominator, *(v.denominator for row in (linear, *square) for v in row))
    value, sign, n = int(constant * scale), [1] * len(linear), range(len(linear))
    slope = [int((linear[x] + square[x][x]) * scale) for x in n]
    twice = [[int(2 * square[x][y] * scale) * (x != y) for y in n] for x in n]
    for i in (*range(1, 2 ** len(n)), 0):  # the last step leads nowhere
        need(value >= 0, "a set of records informs more than is allowed")
        x = (i & -i).bit_length() - 1
        value, slope = value + sign[x] * slope[x], [v + sign[x] * q for v, q in zip(slope, twice[x], strict=True)]
        sign[x] = -sign[x]


def below(c, right, t, top, low, high):  # t^2 (c0 + c1 x + c2 x^2) <= top (r0 + r1 x + r2 x^2) between them?
    c0, c1, c2 = (top * r - t * t * left for r, left in zip(right, c, strict=True))
    turn = min(max(-c1 / (2 * c2), low), high) if c2 else low
    return all(c0 + x * (c1 + x * c2) >= 0 for x in (low, high, turn))


def drawn_records(k, weights, rows, t, top):
    def drawn_row(share, often):
        need(share > 0, "a share above 0")
        if often is None:  # every attribute differs by a probability of its own
            excess = [max(w - share, 0) for w in weights]
            first, second = [*sorted(excess, reverse=True), 0][:2]
            return share, max(*(x * (size - 1) for x, size in zip(excess, k, strict=True)), first * second / share)
        need(len(set(k)) == 1 and set(weights) == {1} and len(often) == d and min(often) >= 0, "equal domains")
        bounds, q = [share], Fraction(-1, m - 1)
        for part in range(1, d + 1):
            drawn = [(i, v, s) for i, v in enumerate(often, 1) if v for s in range(min(part, i) + 1)]
            means = (v * comb(part, s) * comb(d - part, i - s) * q**s / comb(d, i) for i, v, s in drawn)
            bounds.append((part == 1) + sum(means))
        return max(bounds), sum(often)

    m, unit = (k[0], weights[0]) if len(set(k)) == len(set(weights)) == 1 else (2, Fraction(1))
    d, top, weights = len(k), top / unit, [w / unit for w in weights]
    knots = {Fraction(s, m) for s in range(min(m, 1000) + 1)} | {Fraction(1, 2**i) for i in range(40)}
    rows, todo = [drawn_row(*row) for row in rows], [(*ends, 0) for ends in pairwise(sorted(knots))]
    while todo:  # B mu (1-mu) + V (mu^2 - 2 s mu / (m-1) + s (s+1) / (m (m-1))) bounds it
        low, high, depth = todo.pop()
        s = min(int(low * m), m - 1)
        told = [(v * Fraction(s * (s + 1), m * (m - 1)), b - v * Fraction(2 * s, m - 1), v - b) for b, v in rows]
        if not any(below(c, (1, 2 * t, t * t), t, top, low, high) for c in told):
            need(depth < 60, "a share of records at which no row bounds the information")
            todo += [(low, (low + high) / 2, depth + 1), ((low + high) / 2, high, depth + 1)]


def monotone_sets(k, weights, keep, t, top):
    order = sorted(range(len(k)), key=lambda j: (k[j], j))
    need(type(keep) is int and 0 < keep <= len(k) and prod(sorted(k)[:keep]) <= 256, "attributes that are kept")
    k, rest = [k[j] for j in order[:keep]], max((weights[j] for j in order[keep:]), default=Fraction(0))
    sets, n, weights = [frozenset()], prod(k), [weights[j] for j in order[:keep]]
    for x in sorted(product(*map(range, k)), key=sum, reverse=True):
        above = {(*x[:j], x[j] + 1, *x[j + 1 :]) for j in range(keep) if x[j] + 1 < k[j]}
        sets += [s | {x} for s in sets if above <= s]
        need(len(sets) <= (200 if rest else 50_000), "sets to try")
    for inner, outer in ((a, b) for a in sets for b in (sets if rest else [a]) if a <= b):
        p, q, w = len(inner), len(outer - inner), sum(weights)
        c = [-w * p * p, rest * q * q - 2 * w * p * q, -(w + rest) * q * q]
        for w, size, j in zip(weights, k, range(keep), strict=True):
            for v in range(size):
                a, b = (sum(x[j] == v for x in part) for part in (inner, outer - inner))
                c = [c[0] + w * size * a * a, c[1] + 2 * w * size * a * b, c[2] + w * size * b * b]
        need(below(c, ((n + t * p) ** 2, 2 * (n + t * p) * t * q, (t * q) ** 2), t, top, 0, 1), "above the ceiling")


def verify(text):
    """Return what a certificate proves, as a sentence; an error if it does not prove it."""
    c = json.loads(text, parse_float=lambda x: need(False, f"a decimal number, {x}"))
    k, target, kind, (low, e), error = c["k"], c["target"], c["kind"], numbers(c["e"]), numbers(c["error"])
    need(k and all(type(size) is int and size > 1 for size in k) and 1 <= low <= e > 1 and error > 0, "k, e or error")
    where = {"SetCertificate": "uniform", "LawCertificate": "any", "TableCertificate": c.get("frequencies")}[kind]
    t, theorem = e - 1, "none" if prod(k) <= 16 else "drawn records" if c.get("rows") else "monotone sets"
    if kind == "TableCertificate":
        need(prod(k) <= 16, "at most 16 records")
        bound = given_population(k, target, *(numbers(c[name]) for name in ("frequencies", "dual", "directions")), t)
    elif kind != "LawCertificate" and prod(k) <= 16:
        bound = uniform_population(k, target, numbers(c["roots"]), numbers(c["ceiling"]), t)
    else:
        roots, top = numbers(c["roots"]), numbers(c["ceiling"])
        need(target == "shares" and len(roots) == len(k) and min(roots) > 0 and top > 0, "positive roots for shares")
        weights = [root * root / size for root, size in zip(roots, k, strict=True)]
        bound = sum(root * (size - 1) / size for root, size in zip(roots, k, strict=True)) ** 2 / top
        if kind == "LawCertificate":
            s, bound, theorem = numbers(c["tilt"]), bound / max(weights), "any population"
            cases = (1, t + s, 0), (e * (1 - s), e * (t + s), 0)
            need(s >= 0 and all(below((0, 1, -1), case, t, top, 0, 1) for case in cases), "the tilt")
        elif theorem == "monotone sets":
            monotone_sets(k, weights, c["keep"], t, top)
        else:
            drawn_records(k, weights, numbers(c["rows"]), t, top)
    need(error <= bound, "the error stated is more than what follows")
    return f"{target} of {k}, population {where}, e^epsilon <= {e}: n variance >= {error}; theorem: {theorem}"


if __name__ == "__main__":
    print(verify(sys.stdin.read()))

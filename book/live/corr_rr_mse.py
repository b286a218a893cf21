r"""The mean squared error of Corr-RR
chapter: corr_rr

Two attributes with shares `a` and `b`; in the second phase each of `n` people, drawn at random, randomizes one of the two, the
pivot, with the whole budget, and the other copies its report with probability `p_y`. Is this the mean squared error of the
first attribute's shares, summed over its values? The page lists people, pivots, reports and copies.
"""


# formula
def mse(a, b, p_y, n, e):
    k, total = len(a), F(0)
    p, q, t = e / (e + k - 1), 1 / (e + k - 1), (k * p_y - 1) / (k - 1)
    for own, other in zip(a, b, strict=True):
        mean = F(1, k) + (own - F(1, k) + t * (other - F(1, k))) / 2
        pi = q + (p - q) * mean
        total += pi * (1 - pi) / (n * (p - q) ** 2) + (mean - own) ** 2
    return total


# mistake: the variance alone, without the squared bias
def mse(a, b, p_y, n, e):
    k, total = len(a), F(0)
    p, q, t = e / (e + k - 1), 1 / (e + k - 1), (k * p_y - 1) / (k - 1)
    for own, other in zip(a, b, strict=True):
        mean = F(1, k) + (own - F(1, k) + t * (other - F(1, k))) / 2
        pi = q + (p - q) * mean
        total += pi * (1 - pi) / (n * (p - q) ** 2)
    return total


# mistake: p_y in place of its distance from 1/k, t
def mse(a, b, p_y, n, e):
    k, total = len(a), F(0)
    p, q = e / (e + k - 1), 1 / (e + k - 1)
    for own, other in zip(a, b, strict=True):
        mean = F(1, k) + (own - F(1, k) + p_y * (other - F(1, k))) / 2
        pi = q + (p - q) * mean
        total += pi * (1 - pi) / (n * (p - q) ** 2) + (mean - own) ** 2
    return total


# exact
def reported(a, b, p_y, e):
    """The distribution of one person's report of the first attribute, answers as good as unrelated."""
    k = len(a)
    p, q = e / (e + k - 1), 1 / (e + k - 1)
    seen = [F(0)] * k
    for x, y, report, shown in product(range(k), repeat=4):
        drawn = a[x] * b[y] / 2
        if report == shown:  # the first attribute is the pivot
            seen[shown] += drawn * (p if report == x else q)
        copied = (
            p_y if report == shown else (1 - p_y) / (k - 1)
        )  # the second one is
        seen[shown] += drawn * (p if report == y else q) * copied
    return seen


def cases():
    half, thirds = [F(1, 2), F(1, 2)], [F(1, 2), F(1, 3), F(1, 6)]
    for a, b, p_y, n, e in [
        ([F(3, 4), F(1, 4)], [F(2, 3), F(1, 3)], F(3, 4), 2, F(3)),
        ([F(9, 10), F(1, 10)], half, F(1, 2), 3, F(2)),
        (thirds, thirds[::-1], F(3, 5), 2, F(2)),
    ]:
        k, seen = len(a), reported(a, b, p_y, e)
        p, q = e / (e + k - 1), 1 / (e + k - 1)
        total = F(0)
        for reports in product(range(k), repeat=n):
            probability = F(1)
            for report in reports:
                probability *= seen[report]
            for v in range(k):
                estimate = (F(reports.count(v), n) - q) / (p - q)
                total += probability * (estimate - a[v]) ** 2
        yield (
            f"k = {k}, p_y = {p_y}, n = {n}, e^ε = {e}",
            total,
            mse(a, b, p_y, n, e),
        )

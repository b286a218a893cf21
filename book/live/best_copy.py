r"""The best probability of a copy
chapter: audit_corr_rr

Two attributes have frequencies `a` and `b`, and the second is the pivot for half of the `n` users. Which `p_y`
makes the first attribute's mean squared error least, before it is moved to the nearer end of 0 to 1? The page enumerates this error at three values of `p_y`. Because it is a
quadratic in `p_y`, three values determine its minimum.
"""


# printed: as in Proposition 1, which is -2 times the minimiser
def best(a, b, n):
    k = len(a)
    inner = sum((x - F(1, k)) * (y - F(1, k)) for x, y in zip(a, b, strict=True))
    t = F(n + 1, n - 1) * inner / sum((y - F(1, k)) ** 2 for y in b)
    return -2 * (1 + (k - 1) * t) / k


# right: half of it, with the other sign
def best(a, b, n):
    k = len(a)
    inner = sum((x - F(1, k)) * (y - F(1, k)) for x, y in zip(a, b, strict=True))
    t = F(n + 1, n - 1) * inner / sum((y - F(1, k)) ** 2 for y in b)
    return (1 + (k - 1) * t) / k


# numbers
NUMBERS = [  # a, b, n
    ([F(3, 4), F(1, 4)], [F(2, 3), F(1, 3)], 2),
    ([F(1, 5), F(4, 5)], [F(3, 5), F(2, 5)], 3),
    ([F(1, 2), F(1, 3), F(1, 6)], [F(3, 5), F(1, 5), F(1, 5)], 2),
]


# exact
def error(a, b, p_y, n, e):
    k = len(a)
    p, q = e / (e + k - 1), 1 / (e + k - 1)
    seen = [F(0)] * k
    for x, y, report, shown in product(range(k), repeat=4):
        drawn = a[x] * b[y] / 2
        if report == shown:
            seen[shown] += drawn * (p if report == x else q)
        seen[shown] += (
            drawn
            * (p if report == y else q)
            * (p_y if report == shown else (1 - p_y) / (k - 1))
        )
    total = F(0)
    for reports in product(range(k), repeat=n):
        probability = F(1)
        for report in reports:
            probability *= seen[report]
        for v in range(k):
            total += (
                probability * ((F(reports.count(v), n) - q) / (p - q) - a[v]) ** 2
            )
    return total


def cases():
    for a, b, n in NUMBERS:
        low, middle, high = (
            error(a, b, p_y, n, F(3)) for p_y in (F(0), F(1, 2), F(1))
        )
        bend, slope = 2 * (low - 2 * middle + high), high - low
        yield f"k = {len(a)}, n = {n}", F(1, 2) - slope / (2 * bend), best(a, b, n)

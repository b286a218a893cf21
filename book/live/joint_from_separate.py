r"""A joint table from separate reports
chapter: audit_multidim

Two yes-no answers are randomized separately. From the distribution of both reports, can the table of both answers be
estimated, or only its marginals? What is estimated must be, on average, the true table.
"""


# mistake: as if only the marginals could be estimated
def estimate(seen, e):
    p, q = e / (e + 1), 1 / (e + 1)
    first = [(seen[a][0] + seen[a][1] - q) / (p - q) for a in (0, 1)]
    second = [(seen[0][b] + seen[1][b] - q) / (p - q) for b in (0, 1)]
    return [first[a] * second[b] for a in (0, 1) for b in (0, 1)]


# right: the inverse of each channel, along its own axis
def estimate(seen, e):
    p, q = e / (e + 1), 1 / (e + 1)
    weight = [[(F(int(i == j)) - q) / (p - q) for j in (0, 1)] for i in (0, 1)]
    cells = list(product((0, 1), repeat=2))
    return [
        sum(weight[a][c] * weight[b][d] * seen[c][d] for c, d in cells)
        for a, b in cells
    ]


# numbers
NUMBERS = [  # the true table, and e^ε
    ([[F(1, 2), F(0)], [F(0), F(1, 2)]], F(3)),
    ([[F(2, 5), F(1, 5)], [F(1, 10), F(3, 10)]], F(2)),
    ([[F(1, 3), F(1, 6)], [F(1, 6), F(1, 3)]], F(5)),
]


# exact
def cases():
    cells = list(product((0, 1), repeat=2))
    for table, e in NUMBERS:
        p, q = e / (e + 1), 1 / (e + 1)
        seen = [[F(0), F(0)], [F(0), F(0)]]
        for (a, b), (c, d) in product(cells, cells):
            seen[c][d] += table[a][b] * (p if a == c else q) * (p if b == d else q)
        yield f"e^ε = {e}", [table[a][b] for a, b in cells], estimate(seen, e)

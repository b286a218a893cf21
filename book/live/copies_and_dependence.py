r"""Does dependence help a copy?
chapter: audit_corr_rr_evaluation

Two binary attributes have the joint distribution `table[x][y]`, and the pivot's report is copied with probability `p_y`. With which
probability does the first attribute's report say "yes"? If dependence helped, something of the table beyond its marginals would
enter the formula.
"""


# mistake: as if a copy gained from users whose two answers agree
def seen(table, p_y, e):
    p, agree = e / (e + 1), table[0][0] + table[1][1]
    own = table[1][0] + table[1][1]
    right = p * p_y * agree + (1 - p) * (1 - p_y * agree)
    return (1 - p + (2 * p - 1) * own) / 2 + (1 - right + (2 * right - 1) * own) / 2


# right: by both marginals alone
def seen(table, p_y, e):
    p = e / (e + 1)
    own, pivot = table[1][0] + table[1][1], table[0][1] + table[1][1]
    report = 1 - p + (2 * p - 1) * pivot
    return (1 - p + (2 * p - 1) * own) / 2 + (1 - p_y + (2 * p_y - 1) * report) / 2


# numbers
NUMBERS = [  # the table, p_y, e^ε: equal answers, independent ones, and other marginals
    ([[F(1, 2), F(0)], [F(0), F(1, 2)]], F(3, 4), F(2)),
    ([[F(1, 4), F(1, 4)], [F(1, 4), F(1, 4)]], F(3, 4), F(2)),
    ([[F(2, 5), F(1, 5)], [F(1, 10), F(3, 10)]], F(4, 5), F(3)),
]


# exact
def cases():
    for table, p_y, e in NUMBERS:
        p, q, yes = e / (e + 1), 1 / (e + 1), F(0)
        for x, y, report, copy in product((0, 1), repeat=4):
            yes += (
                table[x][y]
                / 2
                * (p if report == y else q)
                * (p_y if copy == report else 1 - p_y)
                * copy
            )
            if (
                copy == report
            ):  # the first attribute is the pivot: nothing is copied to it
                yes += table[x][y] / 2 * (p if report == x else q) * report
        yield (
            f"table {[[str(v) for v in row] for row in table]}",
            yes,
            seen(table, p_y, e),
        )

r"""The balance that gives the estimator
chapter: audit_allocation

Of `n` people `held` hold a value; with generalized randomized response, how many report it, on average? The estimator undoes
this balance.
"""


# printed: another value is reported with probability 1 - p
def expected(held, n, k, e):
    p = e / (e + k - 1)
    return held * p + (n - held) * (1 - p)


# right: with probability q, since each of k - 1 other values can be reported
def expected(held, n, k, e):
    p, q = e / (e + k - 1), 1 / (e + k - 1)
    return held * p + (n - held) * q


# numbers
NUMBERS = [(1, 2, 3, F(2)), (0, 3, 4, F(3)), (2, 3, 3, F(5, 2))]  # held, n, k, e^ε


# exact
def cases():
    for held, n, k, e in NUMBERS:
        p, q, mean = e / (e + k - 1), 1 / (e + k - 1), F(0)
        for reports in product(range(k), repeat=n):
            probability = F(1)
            for user, report in enumerate(reports):
                value = 0 if user < held else 1  # the others hold value 1
                probability *= p if report == value else q
            mean += probability * reports.count(0)
        yield (
            f"{held} of {n} hold it, k = {k}, e^ε = {e}",
            mean,
            expected(held, n, k, e),
        )

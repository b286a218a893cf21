r"""Is JRR always below randomized response?
chapter: audit_jrr_evaluation

Of `n` people `n1` hold a yes; `p` and `rho` are those of JRR. By how much is the variance of the estimated count below that of
randomized response with the same `p`? A negative number says that it is above.
"""


# mistake: always below, as if everybody held the same answer
def saving(n1, n, p, rho):
    return -rho * p * (1 - p) * n / (2 * p - 1) ** 2


# right: below only if n1 is far enough from n/2
def saving(n1, n, p, rho):
    return -rho * p * (1 - p) * F((2 * n1 - n) ** 2 - n, n - 1) / (2 * p - 1) ** 2


# numbers
NUMBERS = [
    (4, 4, F(3, 5), F(-1, 2)),
    (2, 4, F(3, 5), F(-1, 2)),
    (3, 6, F(2, 3), F(-1, 4)),
]  # n1, n, p, rho


# exact
def pairings(users):
    if not users:
        return [[]]
    first, *others = users
    return [
        [(first, u), *rest]
        for u in others
        for rest in pairings([v for v in others if v != u])
    ]


def variance(n1, n, p, rho):
    q, groups = 1 - p, pairings(list(range(n)))
    cell = {0: q * q + rho * p * q, 1: p * q * (1 - rho), 2: p * p + rho * p * q}
    first = second = F(0)
    for truths in product((0, 1), repeat=n):
        probability = F(0)
        for pairing in groups:
            each = F(1, len(groups))
            for one, other in pairing:
                each *= cell[truths[one] + truths[other]]
            probability += each
        count = sum(told == (user < n1) for user, told in enumerate(truths))
        estimate = (count - n * q) / (p - q)
        first, second = (
            first + probability * estimate,
            second + probability * estimate**2,
        )
    return second - first**2


def cases():
    for n1, n, p, rho in NUMBERS:
        exact = variance(n1, n, p, F(0)) - variance(n1, n, p, rho)
        yield (
            f"{n1} of {n} hold yes, p = {p}, ρ = {rho}",
            exact,
            saving(n1, n, p, rho),
        )

r"""Two colluders who lied
chapter: audit_jrr

People are paired at random; each tells the truth with probability `p`, the truths of a pair have correlation `rho`, at most 0. Two
of `n` people say that they lied. How large is the likelihood ratio of another person's report? That both lied makes it less
probable that they were a pair, and so more probable that one of them is the partner.
"""


# printed: Eq. (20), with the probability before anything is known
def ratio(p, rho, n):
    prior = F(2, n - 1)
    return (p - prior * rho * p) / (1 - p + prior * rho * p)


# right: with the probability after both lied
def ratio(p, rho, n):
    q = 1 - p
    posterior = 2 * q**2 / (q**2 + rho * p * q + (n - 2) * q**2)
    return (p - posterior * rho * p) / (q + posterior * rho * p)


# numbers
NUMBERS = [
    (F(3, 5), F(-1, 2), 4),
    (F(2, 3), F(-1, 4), 4),
    (F(3, 5), F(-1, 2), 6),
]  # p, rho, n


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


def cases():
    for p, rho, n in NUMBERS:
        q = 1 - p
        cell = {
            0: q * q + rho * p * q,
            1: p * q * (1 - rho),
            2: p * p + rho * p * q,
        }
        told = {0: F(0), 1: F(0)}
        for pairing in pairings(list(range(n))):
            for truths in product((0, 1), repeat=n):
                if truths[0] == truths[1] == 0:
                    probability = F(1)
                    for one, other in pairing:
                        probability *= cell[truths[one] + truths[other]]
                    told[truths[2]] += probability
        yield f"p = {p}, ρ = {rho}, n = {n}", told[1] / told[0], ratio(p, rho, n)

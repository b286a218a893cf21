r"""JRR and a colluder who lied
chapter: jrr

In joint randomized response people are paired at random; each tells the truth with probability `p`, and the truths of a pair
have correlation `rho`, at most 0. One of the `n` people tells the collector that the own report was a lie. How large is the
likelihood ratio of another person's report now, $e^\varepsilon$? The page lists all pairings and all truths.
"""


# formula
def ratio(p, rho, n):
    s = F(1, n - 1)  # the probability that the colluder is the partner
    return p * (1 - s * rho) / (1 - p + s * rho * p)


# mistake: as if the colluder were never the partner
def ratio(p, rho, n):
    return p / (1 - p)


# mistake: as if the colluder were always the partner
def ratio(p, rho, n):
    return p * (1 - rho) / (1 - p + rho * p)


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
    for p, rho, n in [
        (F(3, 5), F(-1, 2), 4),
        (F(3, 5), F(-1, 2), 6),
        (F(2, 3), F(-1, 4), 4),
        (F(3, 4), F(0), 4),
    ]:
        q = 1 - p
        cell = {
            0: q * q + rho * p * q,
            1: p * q * (1 - rho),
            2: p * p + rho * p * q,
        }
        told = {
            0: F(0),
            1: F(0),
        }  # whether the person told the truth, given that the colluder lied
        for pairing in pairings(list(range(n))):
            for truths in product((0, 1), repeat=n):
                if truths[0] == 0:
                    probability = F(1)
                    for one, other in pairing:
                        probability *= cell[truths[one] + truths[other]]
                    told[truths[1]] += probability
        yield (
            f"p = {p}, ρ = {rho}, n = {n}",
            max(told[1] / told[0], told[0] / told[1]),
            ratio(p, rho, n),
        )

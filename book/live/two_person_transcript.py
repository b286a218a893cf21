r"""What two reports reveal together
chapter: transcript

Two people answer by joint randomized response. Somebody sees both reports, the transcript, and knows the first person's
answer. How large is the likelihood ratio between the second person's two answers? The page lists answers, truths and reports.
"""


# formula
def ratio(p, rho):
    return (1 - rho) * p / (1 - p + rho * p)


# mistake: the ratio of the second person's report alone
def ratio(p, rho):
    return p / (1 - p)


# mistake: after a truth of the first person, where a lie tells more
def ratio(p, rho):
    return (p + rho * (1 - p)) / ((1 - p) * (1 - rho))


# exact
def cases():
    for p, rho in [(F(3, 5), F(-1, 2)), (F(2, 3), F(-1, 4)), (F(3, 4), F(-1, 5))]:
        q = 1 - p
        cell = {
            0: q * q + rho * p * q,
            1: p * q * (1 - rho),
            2: p * p + rho * p * q,
        }
        likelihood = {}
        for second, truths in product((0, 1), product((0, 1), repeat=2)):
            reports = tuple(
                x if told else 1 - x
                for x, told in zip((1, second), truths, strict=True)
            )
            likelihood[reports, second] = cell[sum(truths)]
        worst = F(0)
        for reports in product((0, 1), repeat=2):
            yes, no = likelihood[reports, 1], likelihood[reports, 0]
            worst = max(worst, yes / no, no / yes)
        yield f"p = {p}, ρ = {rho}", worst, ratio(p, rho)

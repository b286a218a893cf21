r"""The correlation of two truths, for k values
chapter: audit_jrr_evaluation

Each of two people tells the truth with probability `p` and else one of `k - 1` false values, each with probability `q`. In (27) both
tell the truth with probability $p^2 + \rho pq$. What is the correlation of the two truths?
"""


# printed: rho
def correlation(p, rho, k):
    return rho


# right: rho over k - 1, since pq is not the variance of a truth
def correlation(p, rho, k):
    return rho / (k - 1)


# numbers
NUMBERS = [
    (F(1, 2), F(-1, 2), 3),
    (F(2, 5), F(-1), 4),
    (F(1, 3), F(1, 4), 5),
]  # p, rho, k


# exact
def cases():
    for p, rho, k in NUMBERS:
        q = (1 - p) / (k - 1)
        both = p * p + rho * p * q
        chances = {
            (1, 1): both,
            (1, 0): p - both,
            (0, 1): p - both,
            (0, 0): 1 - 2 * p + both,
        }
        mean = sum(c * x for (x, _), c in chances.items())
        product_mean = sum(c * x * y for (x, y), c in chances.items())
        square = sum(c * x * x for (x, _), c in chances.items())
        yield (
            f"p = {p}, ρ = {rho}, k = {k}",
            (product_mean - mean**2) / (square - mean**2),
            correlation(p, rho, k),
        )

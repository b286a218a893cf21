r"""The ratio of a channel that keeps or draws
chapter: audit_multidim_evaluation

A person keeps the value with probability `p`, else draws one of all `k` values, the own one included. How large is the likelihood
ratio?
"""


# printed: as if the draw never gave the own value
def ratio(p, k):
    return p / ((1 - p) / k)


# right: the draw may give the own value
def ratio(p, k):
    return 1 + p * k / (1 - p)


# numbers
NUMBERS = [(F(1, 2), 2), (F(7, 10), 9), (F(1, 10), 5)]  # p, k


# exact
def cases():
    for p, k in NUMBERS:
        seen = [F(0)] * k  # the distribution of the report of a person with value 0
        for keeps, drawn in product((True, False), range(k)):
            seen[0 if keeps else drawn] += (p if keeps else 1 - p) / k
        yield f"p = {p}, k = {k}", max(seen) / min(seen), ratio(p, k)

r"""The inverse of a channel
chapter: channel_matrix

Generalized randomized response keeps the value with probability $p$ and reports each other one with probability $q$. Is this the
inverse of its channel matrix? The page multiplies the two: the product must be the identity.
"""


# formula
def inverse(k, e):
    p, q = e / (e + k - 1), 1 / (e + k - 1)
    return [[((i == j) - q) / (p - q) for j in range(k)] for i in range(k)]


# mistake: each entry turned over
def inverse(k, e):
    p, q = e / (e + k - 1), 1 / (e + k - 1)
    return [[1 / p if i == j else 1 / q for j in range(k)] for i in range(k)]


# mistake: q taken off the diagonal only
def inverse(k, e):
    p, q = e / (e + k - 1), 1 / (e + k - 1)
    on = (1 - q) / (p - q)
    return [[on if i == j else F(0) for j in range(k)] for i in range(k)]


# exact
def cases():
    for k, e in [(2, F(3)), (3, F(2)), (4, F(5, 2))]:
        p, q = e / (e + k - 1), 1 / (e + k - 1)
        channel = [[p if i == j else q for j in range(k)] for i in range(k)]
        other = inverse(k, e)
        for i in range(k):
            row = [
                sum(channel[i][m] * other[m][j] for m in range(k)) for j in range(k)
            ]
            yield (
                f"k = {k}, e^ε = {e}, row {i + 1} of the product",
                [F(int(i == j)) for j in range(k)],
                row,
            )

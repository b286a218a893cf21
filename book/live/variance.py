r"""The variance of randomized response
chapter: randomized_response

Of $n$ people `yes` hold a yes. Each reports the truth with probability $p = e^\varepsilon/(e^\varepsilon+1)$. Is this the variance of the
estimated share of yes, the data held fixed? The page lists all $2^n$ outcomes and compares.
"""


# formula
def variance(yes, n, e):
    p, q = e / (e + 1), 1 / (e + 1)
    return p * q / (n * (p - q) ** 2)


# mistake: without the division by p - q
def variance(yes, n, e):
    p, q = e / (e + 1), 1 / (e + 1)
    return p * q / n


# mistake: with the sampling error f(1-f)/n, though the data are held fixed
def variance(yes, n, e):
    p, q, f = e / (e + 1), 1 / (e + 1), F(yes, n)
    return p * q / (n * (p - q) ** 2) + f * (1 - f) / n


# exact
def cases():
    for yes, n, e in [(0, 2, F(3)), (1, 2, F(3)), (1, 3, F(2)), (2, 4, F(5))]:
        p, q = e / (e + 1), 1 / (e + 1)
        first = second = F(0)
        for reports in product((0, 1), repeat=n):
            probability = F(1)
            for user, report in enumerate(reports):
                probability *= p if report == (user < yes) else q
            estimate = (F(sum(reports), n) - q) / (p - q)
            first, second = (
                first + probability * estimate,
                second + probability * estimate**2,
            )
        yield (
            f"{yes} of {n} hold yes, e^ε = {e}",
            second - first**2,
            variance(yes, n, e),
        )

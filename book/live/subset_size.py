r"""The best size of subset selection
chapter: subset_selection

A person reports a set of `s` values: with the true one in it with probability $e^\varepsilon s/(e^\varepsilon s + k - s)$, each set of a kind
equally likely. Is this the size with the least total variance? The page lists all sets of all sizes.
"""


# formula
def size(k, e):
    def error(s):
        p = e * s / (e * s + k - s)
        q = (p * (s - 1) + (1 - p) * s) / (k - 1)
        return (p * (1 - p) + (k - 1) * q * (1 - q)) / (p - q) ** 2

    return min(range(1, k), key=error)


# mistake: the integer nearest to k/(e^ε + 1)
def size(k, e):
    return max(1, round(k / (e + 1)))


# mistake: always one value, which is generalized randomized response
def size(k, e):
    return 1


# exact
def cases():
    for k, e in [(4, F(3)), (5, F(3, 2)), (6, F(2)), (7, F(9, 5))]:
        best = {}
        for chosen in product((0, 1), repeat=k):
            s = sum(chosen)
            if 0 < s < k:
                weight = (
                    e if chosen[0] else F(1)
                )  # the true value is 0; value 1 is another one
                sums = best.setdefault(s, [F(0), F(0), F(0)])
                sums[0] += weight
                sums[1] += weight * chosen[0]
                sums[2] += weight * chosen[1]
        errors = {}
        for s, (total, own, other) in best.items():
            p, q = own / total, other / total
            errors[s] = (p * (1 - p) + (k - 1) * q * (1 - q)) / (p - q) ** 2
        yield f"k = {k}, e^ε = {e}", min(sorted(errors), key=errors.get), size(k, e)

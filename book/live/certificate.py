r"""A certificate for two yes-no questions
chapter: limit_bound

All four records of two yes-no questions are equally frequent, and people are drawn at random. A report is a set of likelihoods,
and it is enough to look at those that are 1 or $e^\varepsilon$: 16 of them. Let $m$ be the mean likelihood and $c_j$ its
covariance with answer $j$ (as $\pm 1$). In the chapter's inequality $w\cdot h_r$ is $\pm c_j$, for each $j$ twice, and with one dual variable
$\ell$ for all records the right side is $4\ell m^2$. So $\ell$ must be at least half of the largest $(c_1^2 + c_2^2)/m^2$, and the bound on the
total variance for one user is $1/\ell$, which is 2 divided by that largest value. Is this the formula's bound? The page goes through all 16.
"""


# formula
def least(e):
    return 2 * ((e + 1) / (e - 1)) ** 2


# mistake: the bound for one question
def least(e):
    return ((e + 1) / (e - 1)) ** 2 / 2


# mistake: the bound from sets of one record, which tell less
def least(e):
    return ((e + 3) / (e - 1)) ** 2


# exact
def cases():
    records = list(product((-1, 1), repeat=2))
    for e in [F(3, 2), F(2), F(3), F(19, 5)]:
        largest = F(0)
        for chosen in product((F(1), e), repeat=4):
            mean = sum(chosen) / 4
            moved = [
                sum(w * x[j] for w, x in zip(chosen, records, strict=True)) / 4
                for j in (0, 1)
            ]
            largest = max(largest, (moved[0] ** 2 + moved[1] ** 2) / mean**2)
        yield f"e^ε = {e}", 2 / largest, least(e)

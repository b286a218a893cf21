r"""Attribute sampling against budget splitting
chapter: attribute_sampling

There are `d` yes-no questions and $e^\varepsilon = r^d$. With *splitting* each of `d` people, drawn at random, answers all questions at
$r$ each; with *sampling* each answers one, at $r^d$. A share `f` of all people would say yes to the first question. What is the
variance of its estimated share, either way? The page lists all people's answers and reports.
"""


# formula
def variances(f, d, r):
    split, one = r / (r + 1), r**d / (r**d + 1)
    a = split * f + (1 - split) * (1 - f)
    b = one * f + (1 - one) * (1 - f)
    return b * (1 - b) / (2 * one - 1) ** 2, a * (1 - a) / (
        d * (2 * split - 1) ** 2
    )


# mistake: sampling as if all d people had answered the question
def variances(f, d, r):
    split, one = r / (r + 1), r**d / (r**d + 1)
    a = split * f + (1 - split) * (1 - f)
    b = one * f + (1 - one) * (1 - f)
    return b * (1 - b) / (d * (2 * one - 1) ** 2), a * (1 - a) / (
        d * (2 * split - 1) ** 2
    )


# mistake: splitting as if every answer had the whole budget
def variances(f, d, r):
    one = r**d / (r**d + 1)
    b = one * f + (1 - one) * (1 - f)
    return b * (1 - b) / (2 * one - 1) ** 2, b * (1 - b) / (d * (2 * one - 1) ** 2)


# exact
def spread(f, people, e):
    p, q = e / (e + 1), 1 / (e + 1)
    first = second = F(0)
    for answers in product((0, 1), repeat=people):
        for reports in product((0, 1), repeat=people):
            probability = F(1)
            for answer, report in zip(answers, reports, strict=True):
                probability *= (f if answer else 1 - f) * (
                    p if answer == report else q
                )
            estimate = (F(sum(reports), people) - q) / (p - q)
            first, second = (
                first + probability * estimate,
                second + probability * estimate**2,
            )
    return second - first**2


def cases():
    for f, d, r in [(F(1, 2), 2, F(2)), (F(1, 4), 2, F(3, 2)), (F(1, 5), 3, F(2))]:
        for way, exact, yours in zip(
            ("sampling", "splitting"),
            (spread(f, 1, r**d), spread(f, d, r)),
            variances(f, d, r),
            strict=True,
        ):
            yield f"{way}: f = {f}, d = {d}, r = {r}", exact, yours

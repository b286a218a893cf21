r"""Sampling with fakes: one attribute, or the whole record
chapter: audit_baselines

Each of two attributes has two values. RS+FD randomizes one of them with $e' = 2(e^\varepsilon-1)+1$ and sends a uniform fake for the
other. Sampling amplifies the privacy of one attribute; is the likelihood ratio of the *whole record* $e^\varepsilon$ too?
"""


# mistake: as if the whole record were amplified
def ratio(e):
    return e


# right: the whole record keeps the larger budget
def ratio(e):
    return 2 * (e - 1) + 1


# numbers
NUMBERS = [F(2), F(3), F(5, 2)]  # e^ε


# exact
def likelihood(report, record, larger):
    p, q = larger / (larger + 1), 1 / (larger + 1)
    return sum((p if report[j] == record[j] else q) / 4 for j in (0, 1))


def cases():
    records = list(product((0, 1), repeat=2))
    for e in NUMBERS:
        larger = 2 * (e - 1) + 1
        worst = max(
            likelihood(y, a, larger) / likelihood(y, b, larger)
            for y in records
            for a in records
            for b in records
        )
        yield f"e^ε = {e}", worst, ratio(e)

r"""The cubic of the best split
chapter: budget_splitting

With unary encoding at a budget $b$ and $x = e^{b/2}$, the total variance of a question with `k` categories is $kx/\big(n(x-1)^2\big)$. At the
best split all questions save the same, $\lambda$, by a little more budget. With $r = k/(2\lambda)$, is the best $x$ a root of this
cubic? The page differentiates exactly, with dual numbers, and puts the result in.
"""


# formula
def cubic(x, r):
    return (x - 1) ** 3 - r * x * (x + 1)


# mistake: x - 1 in place of x + 1
def cubic(x, r):
    return (x - 1) ** 3 - r * x * (x - 1)


# mistake: the budget is b, not b/2: half of r
def cubic(x, r):
    return (x - 1) ** 3 - r / 2 * x * (x + 1)


# exact
def times(u, v):  # numbers with a slope: (value, derivative)
    return u[0] * v[0], u[1] * v[0] + u[0] * v[1]


def over(u, v):
    return u[0] / v[0], (u[1] * v[0] - u[0] * v[1]) / v[0] ** 2


def cases():
    for k, x in [(2, F(2)), (5, F(3, 2)), (9, F(7, 4)), (16, F(11, 10))]:
        y = x, x / 2  # dx/db = x/2
        less = x - 1, x / 2
        error = over(times((F(k), F(0)), y), times(less, less))
        yield f"k = {k}, x = {x}", F(0), cubic(x, F(k) / (2 * -error[1]))

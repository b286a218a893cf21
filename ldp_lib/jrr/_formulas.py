"""Joint randomized response in closed form, of numbers, Fractions or symbols alike."""


def table(p, rho, k=2):
    """Return the pair's probabilities: both true; the first true and the second one given lie; two given lies.

    Parameters
    ----------
    p : number, array or symbol
        Probability that a user tells the truth; each lie has q = (1-p) / (k-1).
    rho : number, array or symbol
        The table's parameter. The correlation of the two users' truthfulness is rho / (k-1).
    k : int or symbol
        Domain size.

    Zheng, Seeam, Hu, Zhang and Zhang (2025), Table 2 and Eq. (27). Chapters `jrr` and `audit_jrr`.
    """
    q = (1 - p) / (k - 1)
    return p * p + rho * p * q, p * q - rho * p * q / (k - 1), q * q + rho * p * q / (k - 1) ** 2


def rho_range(p, k=2):
    """Return the least and the largest `rho` for which no entry of `table` is negative."""
    odds = (1 - p) / p  # of a lie
    return (k - 1) * -(min(odds, 1 / odds) if odds else odds), k - 1


def variance(n_v, n, p, rho, k=2, odd=0):
    """Return the exact variance of the estimated number of users with a value, the users' data held fixed.

    Parameters
    ----------
    n_v, n : number, array or symbol
        Users with the value, and all users.
    p, rho, k : number, array or symbol
        As in `table`.
    odd : {0, 1}
        1 if n is odd: then one user, chosen at random, answers alone.

    For k = 2 and even n this is Theorem 3 of Zheng et al. (2025), derived in the chapter `jrr`. For odd n see
    `audit_jrr`; for more values it is enumerated in the tests.
    """
    q, others = (1 - p) / (k - 1), n - n_v
    excess = (n_v - others / (k - 1)) ** 2 - n_v - others / (k - 1) ** 2
    return _paired_variance(n_v, n, p, q, rho * p * q * excess, odd)


def signed_variance(n_v, n, p, q, s, t, odd=0):
    """Return the exact variance of the estimated number of users with a value, if secret signs move the reports.

    Parameters
    ----------
    n_v, n : number, array or symbol
        Users with the value, and all users.
    p, q : number or symbol
        Probability that a user who holds the value supports it, and that any other user does.
    s, t : number or symbol
        What the sign +1 adds to p and to q; the sign -1 takes it away. t = -s is `jrr.JRR`, t = s is `SignedRR`.
    odd : {0, 1}
        1 if n is odd: then one user, chosen at random, has no sign.

    Notes
    -----
    Two users have opposite signs with probability 1/(n-1) more than equal ones. Derived in `audit_jrr_evaluation`.
    """
    excess = (n_v * s + (n - n_v) * t) ** 2 - n_v * s**2 - (n - n_v) * t**2
    return _paired_variance(n_v, n, p, q, -excess, odd)


def hashed_variance(n_v, n, p, g, correlation, odd=0):
    """Return the exact variance of the estimated number of users with a value, for `JointHashing`.

    Parameters
    ----------
    n_v, n : number, array or symbol
        Users with the value, and all users.
    p, g : number or symbol
        Probability of the true bucket, and the number of buckets.
    correlation : number or symbol
        Correlation of the truthfulness of two paired users, rho / (g-1).
    odd : {0, 1}
        1 if n is odd.

    Notes
    -----
    Only holders' truths make supports depend on each other. Derived in the chapter `audit_jrr_evaluation`.
    """
    return _paired_variance(n_v, n, p, p**0 / g, correlation * p * (1 - p) * n_v * (n_v - 1), odd)


def _paired_variance(n_v, n, p, q, excess, odd):
    """Return the variance of a debiased count to which the covariances of all pairs, if paired, would add `excess`."""
    alone = n_v * p * (1 - p) + (n - n_v) * q * (1 - q)
    return (alone + excess / (n - 1 + odd)) / (p - q) ** 2


def least_correlation(p, g):
    """Return the least correlation of g exchangeable truths, each true with probability p below 1.

    It is reached when the number of truths among the g is g p, rounded up or down: for g = 2, -(1-p)/p if p >= 1/2.
    Fractions give an exact result. Derived in the chapter `audit_jrr_evaluation`.
    """
    over = g * p % 1
    return (over * (1 - over) / (p * (1 - p)) - g) / g / (g - 1)


def coin(p, s):
    """Return the probabilities of C = 1.5, 0.5, -0.5 and -1.5; s is the square root of -rho p (1-p).

    Zheng, Seeam, Hu, Zhang and Zhang (2025), Eq. (25). A distribution exactly if 0 <= s <= min(p, 1-p). Takes numbers,
    Fractions and symbols. Derived in the chapter `audit_jrr`.
    """
    return p - s, s, s, 1 - p - s


def corner(p0, c):
    """Return p* = (p0 - c) / (1 - c): with it and the least or the largest rho a ratio is exp(epsilon).

    Here p0 = e / (1+e). With c = colluders / (n - colluders) it is the exact ratio, if rho is the least, and with
    colluders / (n-1) the printed one; c is below 1. Derived in the chapter `audit_jrr`.
    """
    return (p0 - c) / (1 - c)

"""What all pure frequency oracles share: checks of input, the debiased count, and its two variances.

An oracle is pure when a user whose value is v supports v with probability p, and any other user supports v with
probability q, whatever the other value is. Then the number of users who support v, the count, settles everything.
"""


def estimate(count, n, p, q):
    """Return the debiased frequency (count/n - q) / (p - q).

    Parameters
    ----------
    count : number, array or symbol
        Number of users who support the value.
    n : number or symbol
        Number of users.
    p, q : number, array or symbol
        Probability that a user supports a value that is, or is not, the user's own; p must differ from q.

    Returns
    -------
    number, array or symbol
        An unbiased estimate of the value's frequency. It may lie outside [0, 1]; nothing is clipped.

    Notes
    -----
    Wang, Blocki, Li and Jha (2017), Eq. (1), divided by n. Derived in the chapter `randomized_response`.
    """
    return (count - n * q) / (n * (p - q))


def variance(f, n, p, q):
    """Return the exact variance of `estimate` when the users' data are held fixed.

    Parameters
    ----------
    f : number, array or symbol
        The value's true frequency among the n users.
    n, p, q : number, array or symbol
        As in `estimate`.

    Returns
    -------
    number, array or symbol
        (f p (1-p) + (1-f) q (1-q)) / (n (p-q)^2), in squared units of frequency.

    Notes
    -----
    Only the users' coins are random here. Derived in the chapter `randomized_response`.
    """
    return (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (n * (p - q) ** 2)


def iid_variance(f, n, p, q):
    """Return the exact variance of `estimate` when users are drawn independently, with the value at probability f.

    It exceeds `variance` by f (1-f) / n, the error of sampling users.
    """
    return variance(f, n, p, q) + f * (1 - f) / n

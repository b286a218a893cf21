"""What all pure frequency oracles share: checks of input, the debiased count, and its two variances.

An oracle is pure when a user whose value is v supports v with probability p, and any other user supports v with
probability q, whatever the other value is. Then the number of users who support v, the count, settles everything.
"""

import numbers

import numpy as np

_RULES = {
    "k": (numbers.Integral, lambda v: v >= 2, "an integer of at least 2"),
    "g": (numbers.Integral, lambda v: 2 <= v <= 2**32, "an integer from 2 to 2**32"),
    "runs": (numbers.Integral, lambda v: v >= 1, "an integer of at least 1"),
    "q": (numbers.Real, lambda v: 0 < v < 1, "a number above 0 and below 1"),
    "epsilon": (numbers.Real, lambda v: 1e-9 <= v <= 700, "a number from 1e-9 to 700"),
    "rng": (np.random.Generator, lambda v: True, "a numpy.random.Generator, such as numpy.random.default_rng(1)"),
}


def require(**arguments):
    """Check named arguments, each of k, g, runs, q, epsilon or rng.

    Raises
    ------
    TypeError
        If an argument has the wrong type.
    ValueError
        If its value is out of range. Both name the argument, the value and what is allowed.
    """
    for name, value in arguments.items():
        kind, fits, allowed = _RULES[name]
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, kind):
            raise TypeError(f"{name} must be {allowed}; got {value!r}")
        if not fits(value):
            raise ValueError(f"{name} must be {allowed}; got {value!r}")


def small_dtype(k):
    """Return the smallest unsigned integer type that holds 0, ..., k-1."""
    return np.min_scalar_type(int(k) - 1)


def check_values(x, k, name="x"):
    """Return `x` as an array after checking that it holds at least one integer, all from 0 to k-1.

    Parameters
    ----------
    x : array_like of int, shape (n,)
        Values or reports.
    k : int
        Domain size.
    name : str
        The argument's name in error messages.

    Raises
    ------
    TypeError, ValueError
        If `x` is not one-dimensional, is empty, or holds anything but integers from 0 to k-1.
    """
    x = np.asarray(x)
    allowed = f"{name} must be a one-dimensional array of at least one integer from 0 to {k - 1}"
    if x.ndim != 1 or x.size == 0:
        raise ValueError(f"{allowed}; got shape {x.shape}")
    if x.dtype.kind not in "iu":
        raise TypeError(f"{allowed}; got type {x.dtype}, first value {x[0]!r}")
    if x.max() >= k or (x.dtype.kind == "i" and x.min() < 0):
        where = int(np.flatnonzero((x < 0) | (x >= k))[0])
        raise ValueError(f"{allowed}; got {int(x[where])} at position {where}")
    return x


def check_population(population, k):
    """Return the counts of a population of one attribute with k values, or raise ValueError."""
    if population.k != (k,):
        raise ValueError(f"population must have one attribute with k = {k}; got k = {population.k}")
    return population.histogram


def bernoulli(p, size, rng):
    """Draw booleans of the given size that are True with probability p.

    One random byte decides 255 of 256 draws; where the byte ties with p, a float draw settles it. The probability is
    p to within 2**-61, and the cost is a fraction of one float per draw.
    """
    threshold = int(p * 256)
    hit = np.empty(size, dtype=bool)
    flat = hit.reshape(-1)
    for start in range(0, flat.size, 2**16):  # a block stays in the cache
        block = flat[start : start + 2**16]
        byte = rng.integers(2**64, size=-(-block.size // 8), dtype=np.uint64).view(np.uint8)[: block.size]
        np.less(byte, threshold, out=block)
        tie = np.flatnonzero(byte == threshold)
        block[tie] = rng.random(tie.size) < p * 256 - threshold
    return hit


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
    Wang, Blocki, Li and Jha (2017), Eq. (1), divided by n. Derived in the chapter `grr_estimator`.
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
    Only the users' coins are random here. Derived in the chapter `grr_estimator`.
    """
    return (f * p * (1 - p) + (1 - f) * q * (1 - q)) / (n * (p - q) ** 2)


def iid_variance(f, n, p, q):
    """Return the exact variance of `estimate` when users are drawn independently, with the value at probability f.

    It exceeds `variance` by f (1-f) / n, the error of sampling users. Derived in the chapter `grr_estimator`.
    """
    return variance(f, n, p, q) + f * (1 - f) / n


def simulate_counts(histogram, p, q, *, rng, runs):
    """Draw counts of support, shape (runs, k): for each value on its own, Bin(n_v, p) + Bin(n - n_v, q)."""
    require(rng=rng, runs=runs)
    others = histogram.sum() - histogram
    return rng.binomial(histogram, p, (runs, histogram.size)) + rng.binomial(others, q, (runs, histogram.size))

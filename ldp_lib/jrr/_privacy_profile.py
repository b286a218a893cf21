"""What all signed reports (`signed`) together reveal about one user: exact, in epsilon and delta.

The observer sees all reports, knows the other users' values, and the signs of those who collude. Given the others'
reports the sign of the one user has a mean lambda, and the user's probability of a 1 is p + lambda s or q + lambda s.
"""

import math

import numpy as np
from scipy import stats

from ldp_lib._inputs import is_integer
from ldp_lib.jrr._checks import check_epsilons, check_pairs

_RARE = 1e-40  # what is rarer than this is left out


def signed_ratio(p, rho):
    """Return the largest likelihood ratio of all signed reports about one user, if the others' data are known.

    The same for every even number of users, (p q - s^2) / (q^2 - s^2) with s^2 = -rho p q, and a bound for odd ones;
    infinite at the least rho. Fractions give an exact result. Derived in the chapter `audit_jrr`.
    """
    check_pairs(p, rho, signed="signed reports")
    q = 1 - p
    both = p + rho * p
    lie = q + rho * p
    return both / lie if lie > (8e-16 * q if isinstance(p, float) or isinstance(rho, float) else 0) else math.inf


def signed_delta(epsilon, p, rho, n, colluders=0, ones=None):
    """Return the least delta with which all signed reports are (epsilon, delta)-private for one user.

    Parameters
    ----------
    epsilon : float or array
        At least 0.
    p, rho : float
        As for `jrr.SignedRR`.
    n, colluders : int
        Number of users, at least 1, and of those among them, 0 to n-1, who show the observer their signs.
    ones : int, optional
        Number of users who hold 1 among the others who do not collude. If not given, these all hold the same value,
        1 or 0: often, not always, the worst case (of three users delta can be almost twice as large where one other
        holds 1). The cost then grows like n, else n^2.

    Returns
    -------
    float or array
        The larger one of the two sums over all that the observer can see, signs of colluders among it, of
        max(0, Pr[seen | x] - exp(epsilon) Pr[seen | x']). Probabilities below 1e-40 are left out.

    Raises
    ------
    TypeError, ValueError
        If an argument is of the wrong type or out of range, or so many users would take too long.

    Notes
    -----
    A bound for whatever the others hold, and whatever is known of it, is `signed_delta_bound`. Derived in the chapter
    `helpers`.
    """
    n, colluders = check_pairs(p, rho, n, colluders, "signed reports")
    others = n - 1 - colluders
    if ones is not None and not (is_integer(ones) and 0 <= ones <= others):
        raise ValueError(f"ones must be None or an integer from 0 to n - 1 - colluders = {others}; got {ones!r}")
    ways = _width(others) if ones and ones < others else 1
    _check_work(_width(colluders) * ways * _width(n) ** 2, _width(ones or 0) * _width(others - (ones or 0)))
    s, q = _step(p, rho), 1 - p
    chances = (p + s, p - s), (q + s, q - s)
    laws = [
        (weight, _sign_law(halves, n - colluders, chances, others if ones is None else ones))
        for weight, halves in _views(n, colluders)
    ]
    return _worst(epsilon, p, s, laws)


def signed_delta_bound(epsilon, p, rho, n, colluders=0):
    """Return a delta with which all signed reports are (epsilon, delta)-private, whatever the others hold.

    Arguments as for `signed_delta`, but for `ones`. It holds for every observer of the reports who knows no more than
    the others' values and the colluders' signs.

    Notes
    -----
    A user tells the truth outright with probability p - q, else reports a coin that shows 1 with probability 1/2 + sign
    s/(2q). The bound is the delta of an observer who sees who tossed, and the coins. The number who tossed is rounded
    up, which tells more. Derived in the chapter `helpers`.
    """
    n, colluders = check_pairs(p, rho, n, colluders, "signed reports")
    _check_work(14 * _width(colluders) * _width(n) ** 2, _width(n) ** 2)
    s, q, others = _step(p, rho), 1 - p, n - 1 - colluders
    lean = s / (2 * q) if q else 0.0
    chances = ((0.5 + lean, 0.5 - lean),) * 2
    coins = [(weight, _sign_law(halves, n - colluders, chances, others)) for weight, halves in _views(n, colluders)]
    spread = math.sqrt(others * 2 * q * (p - q))
    steps = np.array([-4, -2, -1, -0.4, 0.2, 0.8, 1.4, 2, 3, 4, 5, 6, 7, 8])
    steps = np.unique(np.ceil(2 * q * others + spread * steps))
    most = np.append(steps[(steps >= 0) & (steps < others)], others).astype(int)
    share = np.diff(stats.binom.cdf(most, others, 2 * q), prepend=0.0)
    share[1:] = np.maximum(share[1:], -np.diff(stats.binom.sf(most, others, 2 * q)))  # exact in the upper tail
    laws = []
    for tossed, part in zip(most, share, strict=True):
        if part > _RARE:
            laws += [(weight * part, law) for weight, law in _thinned(coins, others, tossed)]
    delta = _worst(epsilon, p, s, laws)
    return delta * (1 + 2.0**-50) + 1e-38  # a bound is rounded up, and some 1e-39 was left out


def _width(size):
    """Return how many numbers of ones among so many users are told apart, at the most; the others are too rare."""
    return min(size, 14 * math.sqrt(size) + 120) + 1


def _check_work(steps, cells):
    if steps > 2**36 or cells > 2**26:
        raise ValueError(
            f"n must take at most 2**36 = {2**36:.2g} steps, and 2**26 = {2**26:.2g} numbers at once, with these "
            f"colluders and ones; got {steps:.2g} steps and {cells:.2g} numbers"
        )


def _step(p, rho):
    q = 1 - p
    s = math.sqrt(-rho * p * q)
    return q if s > q * (1 - 4e-16) else s  # at the least rho, which rounding may miss, as in `signed_ratio`


def _views(n, colluders):
    """Yield the probability of what colluders show, and [(probability, number of plus among the others), ...].

    Of an odd number of users one has no sign. If that is one of the others, it is as if it had one that nobody opposes.
    """
    half, single = n // 2, n % 2
    for shown, chance, ways in (
        (colluders, 1 - single * colluders / n, ((1.0, 0),) if not single else ((0.5, 0), (0.5, 1))),
        (colluders - 1, single * colluders / n, ((1.0, 0),)),
    ):
        if chance > 0:
            plus = np.arange(max(0, shown - half), min(half, shown) + 1)
            weights = chance * stats.hypergeom.pmf(plus, 2 * half, half, shown) if half else np.ones(1)
            for count, weight in zip(plus, weights, strict=True):
                if weight > _RARE:
                    yield weight, [(part, half - count + more) for part, more in ways]


def _sign_law(halves, size, chances, ones):
    """The first count of ones, and Pr[counts of ones, the user's sign] for plus and minus; `size` users, one unseen.

    `halves` holds (probability, number of plus); `ones` of the others report 1 by probabilities[0] = (with plus, with
    minus).
    """
    parts = []
    for part, plus in halves:
        for sign in (1, -1):
            share = part * (plus if sign == 1 else size - plus) / size
            if share > 0:
                parts.append((sign, share, _reports(plus - (sign == 1), size - 1, chances, ones)))
    starts = np.array([law[0] for _, _, law in parts])
    ends = starts + [law[1].shape for _, _, law in parts]
    low = starts.min(axis=0)
    total = np.zeros((2, *(ends.max(axis=0) - low)))
    for sign, share, (start, law) in parts:
        where = tuple(slice(a, a + m) for a, m in zip(start - low, law.shape, strict=True))
        total[(0 if sign == 1 else 1, *where)] += share * law
    return low, total


def _reports(plus, others, chances, ones):
    """Return (offset, distribution) of the numbers of ones among those who hold 1 and among those who do not."""
    zeros = others - ones
    among = np.arange(max(0, plus - zeros), min(plus, ones) + 1)
    weights = stats.hypergeom.pmf(among, others, ones, plus) if zeros and ones else np.ones(len(among))
    first, second, scale = [], [], []
    for count, weight in zip(among, weights, strict=True):
        if weight > _RARE:
            first.append(_two(count, ones - count, chances[0]))
            second.append(_two(plus - count, zeros - plus + count, chances[1]))
            scale.append(weight)
    (a, rows), (b, columns) = _stack(first), _stack(second)
    return np.array([a, b]), (rows * np.array(scale)[:, None]).T @ columns


def _two(plus, minus, chances):
    """The distribution of the number of ones of so many users with plus and with minus: offset and probabilities."""
    (a, first), (b, second) = (_binomial(size, chance) for size, chance in zip((plus, minus), chances, strict=True))
    return a + b, np.convolve(first, second)


def _binomial(size, chance):
    if not size:
        return 0, np.ones(1)
    reach = 14 * math.sqrt(size * chance * (1 - chance)) + 60
    low, high = max(0, math.floor(size * chance - reach)), min(size, math.ceil(size * chance + reach))
    return low, stats.binom.pmf(np.arange(low, high + 1), size, chance)


def _stack(laws):
    low = min(start for start, _ in laws)
    rows = np.zeros((len(laws), max(start + len(law) for start, law in laws) - low))
    for row, (start, law) in zip(rows, laws, strict=True):
        row[start - low : start - low + len(law)] = law
    return low, rows


def _thinned(laws, others, tossed):
    """The distributions of the number of ones among `tossed` of the others, drawn at random, jointly with the sign."""
    counts = [(weight, start[0], law.sum(axis=2)) for weight, (start, law) in laws]
    low = min(start for _, start, _ in counts)
    ones = np.arange(low, max(start + law.shape[1] for _, start, law in counts))
    reach = 14 * math.sqrt(tossed) / 2 + 60
    kept = np.arange(max(0, math.floor(tossed / 2 - reach)), min(tossed, math.ceil(tossed / 2 + reach)) + 1)
    logs = np.append(0.0, np.cumsum(np.log(np.arange(1, others + 1))))

    def choose(m, r):
        inside = (r >= 0) & (r <= m)
        r = np.where(inside, r, 0)
        return np.where(inside, logs[m] - logs[r] - logs[m - r], -np.inf)

    u, v = ones[:, None], kept[None, :]
    chances = np.exp(choose(u, v) + choose(others - u, tossed - v) - choose(np.array(others), np.array(tossed)))
    for weight, start, law in counts:
        yield weight, ((kept[0], 0), law @ chances[start - low : start - low + law.shape[1]])


def _worst(epsilon, p, s, laws):
    """The larger sum of excesses: of x = 1 over x = 0 for a report of 1, and of x = 0 over x = 1 for a report of 0."""
    e, q = check_epsilons(epsilon), 1 - p
    high, low = p + s - e * (q + s), p - s - e * (q - s)  # the second stays above 0 at the least rho, for every e
    sums = 0
    for weight, (_, law) in laws:
        ways = law.reshape(2, -1), law.reshape(2, -1)[::-1]
        sums = sums + weight * np.array([np.maximum(0, high * a + low * b).sum(axis=-1) for a, b in ways])
    delta = sums.max(axis=0)
    return float(delta) if delta.ndim == 0 else delta

"""Random draws whose probabilities are known rationals: random bits are compared with integer thresholds.

All draws of users' reports come from here. A Bernoulli draw is true with the largest multiple of 2**-136 that is at
most the probability asked for, exactly; a uniform value is uniform, exactly. So what a mechanism spends can be proved
of the code that runs, not of the real numbers that it stands for: see `exp_below` and `proved_epsilon`.
"""

import itertools
import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from ldp_lib import _inputs

BITS = 136  # a byte, which nearly always decides, and two words of 64 bits
BLOCK = 2**17  # users at a time: what is drawn for them stays in the cache
WIDE = 2**20  # where little is drawn for each, so that threads seldom wait for each other


def realised(p):
    """Return the probability with which `bernoulli` comes up, exactly: p rounded down to a multiple of 2**-136."""
    return Fraction(math.floor(Fraction(p) * 2**BITS), 2**BITS)


def bernoulli(p, size, rng):
    """Draw booleans of the given size that are True with probability `realised(p)`, exactly, for p from 0 to 1.

    One random byte decides 255 of 256 draws; where it ties with p, a word does, and where that ties, another.
    """
    if not 0 <= p <= 1:
        raise ValueError(f"p must be a probability; got {p!r}")
    top, rest = divmod(math.floor(Fraction(p) * 2**BITS), 2 ** (BITS - 8))
    hit = np.empty(size, bool)
    flat = hit.reshape(-1)
    for start in range(0, flat.size, BLOCK):
        block = flat[start : start + BLOCK]
        byte = random_bits(np.uint8, block.size, rng)
        np.less(byte, top, out=block)
        tie = np.flatnonzero(byte == top)
        if tie.size:
            block[tie] = _below(divmod(rest, 2**64), tie.size, rng)
    return hit


def uniform(k, size, rng):
    """Draw `size` values, each uniform over 0, ..., k-1, exactly, in the smallest unsigned integer type."""
    if k > 2**16:
        return rng.integers(k, size=size, dtype=_inputs.small_dtype(k))
    return _mixed(None, k, 0, size, rng) if k > 1 else np.zeros(size, np.uint8)


def random_bits(dtype, size, rng):
    """Draw `size` numbers of an unsigned integer type, all of its values equally likely."""
    width = np.dtype(dtype).itemsize
    return _words(-(-size * width // 8), rng).view(dtype)[:size]


def draw(shares, size, rng):
    """Draw `size` values 0, ..., k-1 with the probabilities `realised_shares(shares)`, in the smallest integer type."""
    if len(set(shares)) == 1:
        return uniform(len(shares), size, rng)
    edges = np.array([edge for edge in _edges(shares) if edge < 2**64], np.uint64)
    return np.searchsorted(edges, _words(size, rng), side="right").astype(_inputs.small_dtype(len(shares)))


def realised_shares(shares):
    """Return the probabilities with which `draw` draws each value, exactly: Fractions that sum to 1.

    Each share is rounded down to a multiple of 2**-64, and what is left goes to the largest. A share of 0 stays 0.
    Shares that are all equal stay so.
    """
    if len(set(shares)) == 1:
        return [Fraction(1, len(shares))] * len(shares)
    return [Fraction(high - low, 2**64) for low, high in itertools.pairwise([0, *_edges(shares)])]


def grr_reports(x, k, keep, rng):
    """Return each user's value with probability `realised_keep(keep, k)`, else a uniform value, the truth among them.

    Values 0, ..., k-1 of shape (n,); `keep` is p - q of generalized randomized response, the probability that a report
    is the truth for sure. Reports are in the smallest unsigned integer type.
    """
    if k > 2**16:
        return np.where(bernoulli(keep, x.size, rng), x, uniform(k, x.size, rng)).astype(_inputs.small_dtype(k))
    return _mixed(x, k, keep, x.size, rng)


def realised_keep(keep, k):
    """Return the probability with which `grr_reports` keeps the truth for sure, exactly: at most `keep`."""
    if k > 2**16:
        return realised(keep)
    bits, sure, width, rest = _cells(keep, k)
    return (sure + (2**bits - sure - k * width) * realised(rest)) / 2**bits


def draw_sample(counts, size, rng):
    """Draw how many of each kind (runs, kinds) are in random samples of `size` (runs,) users, `counts` of each kind."""
    drawn, left, rest = np.zeros_like(counts), size.copy(), counts.sum(axis=1)
    for kind in range(counts.shape[1]):
        rest -= counts[:, kind]
        drawn[:, kind] = rng.hypergeometric(counts[:, kind], rest, left)
        left -= drawn[:, kind]
    return drawn


def draw_others(counts, rng):
    """Draw how often each value is reported where `counts` (runs, k) users hold each, and each reports another one."""
    k, reported = counts.shape[1], np.zeros_like(counts)
    for v in range(k):
        reported[:, np.arange(k) != v] += rng.multinomial(counts[:, v], np.full(k - 1, 1 / (k - 1)))
    return reported


def coins(chances, rng):
    """Draw a boolean for each of many 64-bit numbers: True with the number's share of 2**64, exactly."""
    return _words(chances.size, rng) < chances


def toss(chances, rng):
    """Draw a boolean for each of many probabilities, floats from 0 to 1, which are rounded down to whole 2**-64."""
    sure = chances >= 1
    return sure | coins(np.where(sure, 0, chances * 2.0**64).astype(np.uint64), rng)


def random_places(n, size, rng):
    """Return n booleans of which `size` are true, all ways equally likely."""
    chosen = bernoulli(size / max(n, 1), n, rng)
    surplus = int(np.count_nonzero(chosen)) - size
    if surplus:
        chosen[members(chosen if surplus > 0 else ~chosen, abs(surplus), rng)] = surplus < 0
    return chosen


def members(member, size, rng):
    """Return so many different members, all sets of them equally likely: by trying users at random."""
    tries = min(4 * size * member.size // np.count_nonzero(member) + 8, 2**20)
    found = np.empty(0, np.int64)
    while found.size < size:
        tried = rng.integers(member.size, size=tries)
        found = np.concatenate([found, tried[member[tried]]])
        found = found[np.sort(np.unique(found, return_index=True)[1])]
    return found[:size]


@lru_cache(maxsize=1024)
def exp_below(epsilon):
    """Return a rational number just below exp(epsilon), for the float's exact value: by less than 1 in 2**300.

    The Taylor series of exp(epsilon / 2**10) in integer arithmetic, squared ten times, every step rounded down.
    """
    bits = 400
    x = math.floor(Fraction(epsilon) * 2 ** (bits - 10))
    term = total = 2**bits
    step = 1
    while term:
        term = term * x // (step * 2**bits)
        total, step = total + term, step + 1
    for _ in range(10):
        total = total * total >> bits
    return Fraction(total, 2**bits)


def proved_keep(epsilon, k):
    """Return a rational just below p - q, the probability that a report is the truth for sure; the rest is uniform.

    With the rational e just below exp(epsilon) that `exp_below` gives, it is (e-1) / (e+k-1). Reports that are
    kept with a probability s have the ratio 1 + k s / (1-s), which rises with s: at most e for any s up to this one.
    """
    e = exp_below(epsilon)
    return (e - 1) / (e + k - 1)


def proved_epsilon(ratio, epsilon):
    """Return a float that is at least log(ratio) and at most epsilon, for a rational ratio of realised probabilities.

    Raises
    ------
    ArithmeticError
        If the ratio exceeds the rational bound below exp(epsilon): the proof fails.
    """
    if not 1 <= ratio <= exp_below(epsilon):
        raise ArithmeticError(f"ratio must be from 1 to exp(epsilon), epsilon = {epsilon}; got {float(ratio)}")
    return min(epsilon, math.log1p(ratio - 1) * (1 + 2**-50))


def _words(size, rng):
    return rng.integers(2**64, size=size, dtype=np.uint64)


@lru_cache
def _cells(keep, k):
    """How the numbers of so many bits are shared out: to the truth, then to each value; and how the rest is decided.

    The shares are those of the reports, rounded down. A number that is left goes on to a Bernoulli draw and a uniform
    value, the draw such that all is exact. So one small random number a user settles nearly all reports.
    """
    bits = next(bits for bits in (8, 16, 32) if 32 * (k + 1) <= 2**bits)
    share = Fraction(keep) * 2**bits
    sure, width = math.floor(share), math.floor((2**bits - share) / k)
    left = 2**bits - sure - k * width
    return bits, sure, width, (share - sure) / left if left else Fraction(0)


def _mixed(x, k, keep, size, rng):
    """Reports of `grr_reports`, k at most 2**16; where x is None, uniform values."""
    bits, sure, width, rest = _cells(keep, k)
    number, y, left = np.dtype(f"u{bits // 8}").type, np.empty(size, _inputs.small_dtype(k)), []
    limit = sure + k * width
    for start in range(0, size, WIDE):
        block = y[start : start + WIDE]
        drawn = random_bits(number, block.size, rng)
        if limit < 2**bits:
            left.append(np.flatnonzero(drawn >= number(limit)) + start)
        if x is None:
            np.floor_divide(drawn, number(width), out=block, casting="unsafe")
            continue
        true = drawn < sure
        drawn -= number(sure % 2**bits)  # unsigned: wraps around where the truth is told
        drawn //= number(max(width, 1))
        block[:] = drawn
        truth = x[start : start + WIDE].astype(y.dtype)
        truth -= block
        truth *= true
        block += truth
    left = np.concatenate(left) if left else np.empty(0, int)
    y[left] = rng.integers(k, size=left.size, dtype=y.dtype)
    if rest:  # never for uniform values
        told = left[bernoulli(rest, left.size, rng)]
        y[told] = x[told]
    return y


def _below(digits, size, rng):
    """Whether random words, the most significant first, are below the number with the given digits."""
    word = _words(size, rng)
    hit = word < np.uint64(digits[0])
    tie = np.flatnonzero(word == np.uint64(digits[0]))
    if tie.size and digits[1:]:
        hit[tie] = _below(digits[1:], tie.size, rng)
    return hit


def _edges(shares):
    parts = [math.floor(Fraction(share) * 2**64) for share in shares]
    parts[parts.index(max(parts))] += 2**64 - sum(parts)
    return list(itertools.accumulate(parts))

"""Secret signs, dealt to users in opposite pairs, and the reports that they move."""

from fractions import Fraction

import numpy as np

from ldp_lib import _inputs, _sampling


def server_messages(n, rng):
    """Deal the messages of the first protocol (Section 4.5.1): a server pairs the users and sends opposite signs.

    Returns
    -------
    dict
        ``partner`` (n,), known to the server alone, and ``sign`` (n,), the message R_j to each user. If n is odd, one
        user stays alone: partner of itself, with sign 0.
    """
    order = rng.permutation(n)
    first, second = order[: n // 2 * 2 : 2], order[1::2]
    partner, sign = np.arange(n), np.zeros(n, int)
    partner[first], partner[second] = second, first
    sign[first] = 2 * rng.integers(2, size=first.size) - 1
    sign[second] = -sign[first]
    return {"partner": partner, "sign": sign}


def shuffle_messages(n, rng):
    """Deal the messages of the second protocol (Section 4.5.2): a secret permutation gives every user a place.

    The users at places 2k-1 and 2k are partners. A user's sign is +1 at an even place and -1 at an odd one. (Step 4 as
    printed takes another number's parity: see the chapter.) Result as for `server_messages`, with ``place`` (n,), 1 to
    n, known to each user alone. If n is odd, the user at the last place stays alone, with sign 0.
    """
    place = rng.permutation(n) + 1
    user = np.argsort(place)  # the user at each place
    neighbour = np.minimum((place - 1) ^ 1, n - 1)
    return {
        "place": place,
        "partner": user[neighbour],
        "sign": np.where(place % 2 == 0, 1, -1) * (neighbour != place - 1),
    }


def simulate_counts(histogram, p, q, s, t, *, rng, runs):
    """Draw counts of support, shape (runs, k), for each value on its own; p, q, s, t as in `signed_variance`.

    A random half of the users has plus; of an odd number, a random one has no sign.
    """
    _inputs.require(rng=rng, runs=runs)
    n = int(histogram.sum())
    single = rng.random((runs, histogram.size)) * n < histogram * (n % 2)
    none = n % 2 - single
    own, rest = histogram - single, n - histogram - none
    plus = rng.hypergeometric(own, rest, n // 2)
    parts = [(plus, p + s), (own - plus, p - s), (n // 2 - plus, q + t), (rest - n // 2 + plus, q - t)]
    parts += [(single * 1, p), (none, q)]
    return sum(rng.binomial(m, min(1, max(0, chance))) for m, chance in parts)


def exact_moves(chances, moves):
    """Return the moves as exact rationals that take no probability, itself exact, out of 0 to 1."""
    pairs = zip(map(Fraction, moves), chances, strict=True)
    return [(1 - 2 * (move < 0)) * _sampling.realised(min(abs(move), chance, 1 - chance)) for move, chance in pairs]


def toss(own, sign, chances, moves, rng):
    """Draw bits: 1 with p + s sign where `own` is true, else with q + t sign, exactly for p, q and s, t as given.

    Over a sign that is +1 or -1 with equal probabilities, a bit is 1 with probability p or q, exactly.
    """
    y = np.zeros(own.shape, np.uint8)
    for holds, chance, move in zip((True, False), chances, moves, strict=True):
        for direction in range(-1, 2):
            who = (own == holds) & (sign == direction)
            y[who] = _sampling.bernoulli(chance + direction * move, np.count_nonzero(who), rng)
    return y

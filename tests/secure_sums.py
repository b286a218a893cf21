"""Tables of pairs of attributes by secure sums, among the users, with nobody who sees a record."""

import numpy as np

from ldp_lib import _inputs
from ldp_lib._inputs import check_domain, check_records
from ldp_lib.population import Population
from ldp_lib.tables.product import RRJoint


def secure_sum(bits, *, rng):
    """Return the number of ones among n parties' bits, as the parties' zero-sum shares reveal it, and what they say.

    Party i draws n shares that sum to 0 modulo n+1 and sends the j-th to party j. Party j adds all shares received to
    its bit and broadcasts the sum. The broadcasts' sum modulo n+1 is the count.

    Parameters
    ----------
    bits : array_like of int, shape (n,)
        One 0 or 1 a party.
    rng : numpy.random.Generator
        Source of randomness. Its coins are not cryptographically secure.

    Returns
    -------
    count : int
    broadcasts : array of int64, shape (n,)

    Notes
    -----
    Domingo-Ferrer and Soria-Comas (2022), Section 4.2. All n^2 shares are drawn, one party at a time.
    """
    _inputs.require(rng=rng)
    bits = _inputs.check_values(bits, 2, "bits").astype(np.int64)
    n = bits.size
    broadcasts = bits.copy()
    for _ in range(n):
        shares = rng.integers(n + 1, size=n)
        shares[-1] = -shares[:-1].sum()
        broadcasts += shares
    broadcasts %= n + 1
    return int(broadcasts.sum() % (n + 1)), broadcasts


def secure_table(x, k, *, rng):
    """Return the table of counts of two attributes, one secure sum a cell; `x` has shape (n, 2). Section 4.2."""
    k = check_domain(k)
    x = check_records(x, k)
    table = np.zeros(k, dtype=np.int64)
    for cell in np.ndindex(*k):
        table[cell], _ = secure_sum((x == cell).all(axis=1).astype(np.int64), rng=rng)
    return table


def masked_table(x, k, epsilon, *, rng):
    """Return the raw estimated table of two attributes: randomize pairs, count by secure sums, invert. Section 4.3.

    Parameters
    ----------
    x : array_like of int, shape (n, 2)
    k : sequence of 2 ints
    epsilon : float
        Budget of this one pair. Several pairs of one user add up: chapter `audit_multidim`.
    """
    mechanism = RRJoint(k=k, epsilon=epsilon)
    y = mechanism.perturb(x, rng=rng)
    counts = secure_table(y, mechanism.k, rng=rng)
    return mechanism.estimate_table(Population.from_counts(counts).users())

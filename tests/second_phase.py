"""Errors of Corr-RR's runs, with the second phase's randomness replaced by its expectation."""

import numpy as np

from ldp_lib import grr
from ldp_lib.corr_rr import expectation, shrinkage
from ldp_lib.corr_rr._two_phases import draw_phases
from ldp_lib.population import marginal_frequencies


def expected_errors(mechanism, people, *, rng, runs):
    """Return errors of runs, (runs,): their mean is that of `phase_errors`, their variance a fraction of it.

    Drawn are who is in Phase I, and its reports. Given these, Phase II's mean and variance are exact (Rao and
    Blackwell); Phase I's own squared error, and its product with the bias that the true table leaves, are replaced by
    their expectations (control variates).
    """
    k, d, n, n1 = people.k[0], len(people.k), people.n, mechanism.first_users(people.n)
    chosen, rest = draw_phases(people, n1, rng=rng, runs=runs)
    first, learned = mechanism._draw_first(people.records, chosen, rng)
    n2, f = n - n1, np.array(marginal_frequencies(people))
    t = shrinkage(np.broadcast_to(mechanism.table(learned, n2), (runs, d, d)), k)
    p, q = grr.probabilities(np.exp(mechanism.epsilon), k)
    one = np.eye(k)[people.records]  # (records, d, k)
    alike = np.einsum("riv,rjv->rijv", one, one).reshape(len(one), -1)
    both = (rest @ alike).reshape(runs, d, d, k)  # of Phase II's users: those with the value v of i and of j
    held = np.einsum("ajjv->ajv", both)
    base = q + (p - q) * (1 - t.sum(axis=1) / d)[..., None] / k
    slope = (p - q) / d
    total = np.einsum("ajm,ajv->amv", t, held)
    square = np.einsum("aim,ajm,aijv->amv", t, t, both, optimize=True)
    reported = n2 * base + slope * total  # expected reports of each value
    noise = reported - n2 * base**2 - 2 * base * slope * total - slope**2 * square
    away = (reported / n2 - q) / (p - q) - f
    drawn = f * (1 - f) / n1 * n2 / (n - 1)  # Phase I's users are drawn without replacement
    own = n / n1 * np.array(mechanism._first.variance(people)) + drawn
    off = np.stack(first, axis=1) - f
    known = expectation(f, mechanism.table(list(f), n2)) - f
    errors = n1**2 * own + 2 * n1 * n2 * off * (away - known) + n2**2 * away**2 + noise / (p - q) ** 2
    return errors.mean(axis=(1, 2)) / n**2

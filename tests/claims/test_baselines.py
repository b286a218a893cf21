"""What the revised Corr-RR paper says of the baselines SPL and RS+FD as the share of its first phase changes."""

import numpy as np

from ldp_lib.book.claims import claim
from ldp_lib.datasets import load_adult
from ldp_lib.fake_data import RSFD
from ldp_lib.population import Population
from ldp_lib.splitting import SPL
from ldp_lib.two_phase import TwoPhaseRSRFD

PEOPLE = load_adult().select("race", "sex", "income")
USERS = np.random.default_rng(1).permutation(PEOPLE.users())
SHARES = (0.05, 0.1, 0.2, 0.5)


def error_in_two_phases(mechanism, share):
    """Exact total squared error if a share of the users comes first and both estimates are weighted by their counts."""
    first = int(share * len(USERS))
    parts = [Population.from_records(part, k=PEOPLE.k) for part in (USERS[:first], USERS[first:])]
    weights = [(part.n / PEOPLE.n) ** 2 for part in parts]
    return sum(w * np.concatenate(mechanism.variance(p)).sum() for w, p in zip(weights, parts, strict=True))


def two_phase_error(share, rng):
    """Simulated total squared error of RS+RFD with a first phase, which does depend on its share."""
    mechanism = TwoPhaseRSRFD(k=PEOPLE.k, epsilon=1.0, n1=int(share * PEOPLE.n))
    runs = mechanism.simulate(PEOPLE, rng=rng, runs=4_000)
    truth = [PEOPLE.select(j).frequencies for j in range(PEOPLE.d)]
    return sum(((run - f) ** 2).sum(axis=1) for run, f in zip(runs, truth, strict=True))


def test_splitting_and_sampling_do_not_depend_on_the_share_of_a_first_phase():
    constant = []
    for mechanism in (SPL(k=PEOPLE.k, epsilon=1.0), RSFD(k=PEOPLE.k, epsilon=1.0)):
        whole = np.concatenate(mechanism.variance(PEOPLE)).sum()
        halves = [error_in_two_phases(mechanism, share) for share in SHARES]
        constant.append(np.allclose(halves, whole, rtol=1e-12, atol=0))
    # The contrast: with a first phase that splits its budget, the share matters, by many standard errors.
    rng = np.random.default_rng(2)
    small, large = two_phase_error(0.05, rng), two_phase_error(0.5, rng)
    noise = np.sqrt(small.var(ddof=1) / len(small) + large.var(ddof=1) / len(large))
    claim("corr-rr-v2/sent-4.3.4-constant").holds(all(constant), bool((large.mean() - small.mean()) / noise > 5))

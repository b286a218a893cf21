"""Fake data with priors that a first phase estimates."""

from dataclasses import dataclass

from ldp_lib import grr, postprocess, pure
from ldp_lib.corr_rr._two_phases import TwoPhase
from ldp_lib.fake_data.mechanism import RSFD, RSRFD, probabilities


@dataclass(frozen=True, kw_only=True)
class TwoPhaseRSRFD(TwoPhase):
    """Learn the priors from n1 users who split their budget (`SPL`); the others use `RSRFD` with these priors.

    Parameters
    ----------
    k : sequence of d ints
        Domain sizes, each at least 2.
    epsilon : float
        Privacy budget of one user's whole report, in either phase.
    n1 : int or float
        Users in the first phase, chosen at random: their number, at least 1 and below that of all users, or a share of
        all users, above 0 and below 1, rounded.

    Notes
    -----
    The baseline of the revised Corr-RR paper (2026, Section 4.2.2): the first phase's estimates are normalized by
    `postprocess.clip_normalize` and serve as priors; the two phases' raw estimates are averaged with the numbers of
    users as weights. The estimate is unbiased. Its variance has no closed form, because the priors are clipped.
    Chapters `audit_baselines` and `audit_corr_rr_evaluation`.
    """

    k: tuple
    epsilon: float
    n1: int | float = 0.1
    has_exact_moments = False

    def second_phase(self, first):
        """Return the second phase's `RSRFD`, with the priors that the first phase's reports (n1, d) give."""
        priors = [postprocess.clip_normalize(v) for v in self._first.estimate(first)]
        return RSRFD(k=self.k, epsilon=self.epsilon, priors=priors)

    def realised_epsilon(self) -> float:
        """Return the budget that `perturb` spends, proved from its thresholds: the larger of the two phases'."""
        return max(self._first.realised_epsilon(), RSFD(k=self.k, epsilon=self.epsilon).realised_epsilon())

    def _report_second(self, first, x, rng):
        return self.second_phase(first).perturb(x, rng=rng)

    def _estimate_second(self, first, second):
        return self.second_phase(first).estimate(second)

    def _draw_second(self, learned, held, n2, rng):
        second = []
        for j, sampled in enumerate(held):
            prior = postprocess.clip_normalize(learned[j])
            fakes = rng.multinomial(n2 - sampled.sum(axis=1), prior)
            counts = grr.GRR(k=self.k[j], epsilon=self.epsilon).draw_support(sampled, rng) + fakes
            support = probabilities(self._e, self.k[j], self.d, prior)
            second.append(pure.estimate(counts, n2, *support))
        return second

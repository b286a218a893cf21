"""Fake data: one sampled attribute is reported truthfully through GRR, the others are drawn from priors."""

from ldp_lib.fake_data.mechanism import RSFD, RSRFD, amplified, channel, privacy_ratio, probabilities
from ldp_lib.fake_data.two_phase import TwoPhaseRSRFD

__all__ = ["RSFD", "RSRFD", "TwoPhaseRSRFD", "amplified", "channel", "privacy_ratio", "probabilities"]

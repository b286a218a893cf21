"""Budget splitting: every attribute is reported on its own, at a share of the budget."""

from ldp_lib.splitting.allocation import brr, brr_error, mrr, mrr_error, obrr, omrr
from ldp_lib.splitting.mechanism import BRR, MRR, OBRR, OMRR, SPL, channel

__all__ = ["BRR", "MRR", "OBRR", "OMRR", "SPL", "brr", "brr_error", "channel", "mrr", "mrr_error", "obrr", "omrr"]

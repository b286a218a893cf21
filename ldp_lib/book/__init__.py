"""What only the book needs: the claims ledger, the figures' style, sweeps, and a chapter's own setting."""

from ldp_lib.book._chapter import setting

__all__ = ["setting"]

"""What only the book needs: the claims ledger, the figures' style, and sweeps."""

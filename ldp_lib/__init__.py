"""Frequency estimation under local differential privacy, small enough to read and exact enough to prove.

For research and teaching. Coins come from NumPy's generators, which are fast and reproducible but not cryptographically
secure: somebody who sees enough of their output can predict the rest. Do not protect real people's data with them.
"""

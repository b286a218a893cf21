"""Frequency estimation under local differential privacy, small enough to read and exact enough to prove."""

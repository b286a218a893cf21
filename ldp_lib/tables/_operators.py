"""Channels of reports with several parts, applied to a table without ever being written out."""

import numbers
from functools import reduce

import numpy as np

from ldp_lib import _inputs

SMALL = 64


class Kronecker:
    """Apply the Kronecker product of channels, one factor at a time; small neighbours are multiplied out."""

    def __init__(self, channels, reports):
        self.rows = tuple(len(c) if isinstance(c, np.ndarray) else m for c, m in zip(channels, reports, strict=True))
        self.parts = []
        for entry, m in zip(channels, reports, strict=True):
            if not isinstance(entry, np.ndarray) and m <= SMALL:
                entry = entry * np.eye(m) + (1 - entry) / m
            last = self.parts[-1] if self.parts else None
            if not isinstance(entry, np.ndarray):
                self.parts.append((float(entry), m))
            elif isinstance(last, np.ndarray) and max(np.multiply(last.shape, entry.shape)) <= SMALL:
                self.parts[-1] = np.kron(last, entry)
            else:
                self.parts.append(entry)

    def forward(self, table):
        """Return the reports' probabilities, flat, from those of the cells."""
        return self._apply(table, lambda matrix: matrix)

    def backward(self, values):
        """Return, for each cell, the mean over its reports of a value for each report, flat."""
        return self._apply(values, lambda matrix: matrix.T)

    def _apply(self, values, side):
        for part in self.parts:  # the first axis is used up, and comes back as the last
            if isinstance(part, tuple):
                keep, m = part
                values = values.reshape(m, -1).T
                values = keep * values + (1 - keep) * values.mean(axis=1, keepdims=True)
            else:
                matrix = side(part)
                values = values.reshape(len(matrix), -1).T @ matrix
        return values.ravel()


class Boxes:
    """Reports whose probabilities are in proportion to 1 + t [the cell is in a box]: applied as `Kronecker` is."""

    def __init__(self, rows):
        self.rows, self.parts, self.counts = tuple(rows), [], []

    def add(self, axes, held, t):
        """Add reports: for each of some axes which values the box holds, shape (n, k_axis); equal ones are counted."""
        bits = np.packbits(np.hstack(held).astype(bool), axis=1)
        keys = np.ascontiguousarray(bits).view(f"V{bits.shape[1]}").ravel()
        _, first, counts = np.unique(keys, return_index=True, return_counts=True)
        self.parts.append((axes, [h[first] for h in held], t))
        self.counts.append(counts)

    def forward(self, table):
        """Return 1 + t times each box's share, flat."""
        table, found = table.reshape(self.rows), []
        for axes, held, t in self.parts:
            sizes = [self.rows[a] for a in axes]
            marginal = np.moveaxis(table, axes, range(len(axes))).reshape(*sizes, -1).sum(-1)
            inside = held[0] @ marginal.reshape(len(marginal), -1)
            for h in held[1:]:
                inside = (h[:, :, None] * inside.reshape(*h.shape, -1)).sum(axis=1)
            found.append(1 + t * inside.ravel())
        return np.concatenate(found)

    def backward(self, values):
        """Return, for each cell, the sum over reports of a value times what the report says of the cell, flat."""
        total, start = np.full(self.rows, values.sum()), 0
        for axes, held, t in self.parts:
            value = values[start : start + len(held[0]), None]
            start += len(value)
            part = (held[0].T @ row_products(held[1:], value)).reshape([self.rows[a] for a in axes])
            shape = [self.rows[a] if a in axes else 1 for a in range(len(self.rows))]
            total += t * part.transpose(np.argsort(axes)).reshape(shape)
        return total.ravel()


def row_products(factors, start):
    """Return all products of one entry of each factor, row by row, times `start`: shape (n, product of widths)."""

    def multiply(a, b):
        products = a[:, :, None] * b[:, None, :]
        return products.reshape(len(a), a.shape[1] * b.shape[1])

    return reduce(multiply, factors, start)


def places_of(numbers, m):
    """Return where each of the numbers 0, ..., m-1 stands: a list of m arrays."""
    return np.split(np.argsort(numbers, kind="stable"), np.cumsum(np.bincount(numbers, minlength=m))[:-1])


def check_counts(counts):
    """Return counts of reports as floats, or raise an error that names them."""
    counts = _inputs.unmasked(counts, "counts")
    if counts.dtype.kind not in "iuf" or counts.ndim == 0:
        raise TypeError(f"counts must be an array of numbers, one axis a channel; got {counts.dtype}, {counts.shape}")
    if not np.isfinite(counts).all() or counts.size == 0 or counts.min() < 0 or not counts.sum() > 0:
        raise ValueError("counts must be finite, at least 0, and not all 0")
    return counts.astype(float)


def check_channels(channels, reports):
    """Return a list of channels, one for each size in `reports`: nonsingular matrices or keep probabilities."""
    channels = list(channels)
    if len(channels) != len(reports):
        raise ValueError(f"channels must be one for each axis of counts, {len(reports)}; got {len(channels)}")
    for number, (entry, m) in enumerate(zip(channels, reports, strict=True)):
        if np.ndim(entry) == 0:
            if isinstance(entry, bool) or not isinstance(entry, numbers.Real) or not 0 < entry <= 1:
                raise ValueError(f"channels must be matrices, or numbers above 0 up to 1; entry {number} is {entry!r}")
            continue
        channels[number] = entry = np.asarray(entry, float)
        if entry.ndim != 2 or entry.shape[1] != m:
            raise ValueError(f"channels must have {m} columns in entry {number}; got shape {entry.shape}")
        if not np.isfinite(entry).all() or entry.min() < 0:
            raise ValueError(f"channels must hold probabilities; entry {number} has least {entry.min()}")
        sums = entry.sum(axis=1)
        if abs(sums - 1).max() > 1e-9:
            raise ValueError(f"channels must have rows that sum to 1; entry {number} has {sums}")
        rank = np.linalg.matrix_rank(entry if entry.shape[1] <= 4 * len(entry) else entry @ entry.T)
        if rank < len(entry):
            raise ValueError(f"channels must be nonsingular; entry {number} has rank {rank} of {len(entry)} rows")
    return channels

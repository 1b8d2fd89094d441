"""Counts: everything a window knows, in a form that only ever adds.

Workers, windows, replicas and ranks merge by ``+``; zeros are the identity. Cells are exact
integers; beside them each column keeps the moments of its finite values (Chan, Golub and LeVeque
1979, "Updating formulae and a pairwise algorithm for computing sample variances").
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np
from numpy.typing import NDArray

from .errors import MergeError
from .signals import GROUPS, NOT_COUNTED, Floats, Group, Ints, Signal

COUNT, MEAN, M2, LOW, HIGH = range(5)
# Sums of squares beyond this could overflow in M2, however many rows; the moments see values
# clipped to it, the cells and the extremes do not.
LARGEST = 1e140


class Layout:
    """Where each signal's cells and each column's moments lie in flat arrays.

    Built once from the signals of a reference. Two layouts are equal when their `key`, a SHA-256
    over names, groups and partitions, is equal; only counts of equal layouts can be added.

    Raises:
        ValueError: two signals share a name.
    """

    def __init__(self, signals: Sequence[Signal], columns: Mapping[Group, Sequence[str]]) -> None:
        self.signals = tuple(signals)
        self.columns: dict[Group, tuple[str, ...]] = {
            group: tuple(columns.get(group, ())) for group in GROUPS if columns.get(group)
        }
        names = [signal.name for signal in self.signals]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"two signals are named {twice!r}")
        sizes = [signal.partition.size for signal in self.signals]
        self.offsets = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)
        self.total = int(self.offsets[-1])
        self.groups = tuple(self.columns)
        rows = [(group, name) for group in self.groups for name in self.columns[group]]
        self.rows = {row: index for index, row in enumerate(rows)}
        self.position = {name: index for index, name in enumerate(names)}
        encoded = msgspec.json.encode([self.columns, self.signals])
        self.key = hashlib.sha256(encoded).hexdigest()[:32]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and other.key == self.key

    def __hash__(self) -> int:
        return hash(self.key)

    def zeros(self) -> Counts:
        """The identity of ``+``."""
        moments = np.zeros((len(self.rows), 5))
        moments[:, LOW], moments[:, HIGH] = np.inf, -np.inf
        return Counts(
            self,
            np.zeros(self.total, dtype=np.int64),
            moments,
            np.zeros(len(self.groups), dtype=np.int64),
        )

    def count(self, group: Group, matrix: Floats) -> Counts:
        """Counts of the rows of one group's column matrix, shape ``[n, columns of the group]``.

        Raises:
            ValueError: the matrix has another number of columns than the group.
        """
        names = self.columns.get(group, ())
        if matrix.ndim != 2 or matrix.shape[1] != len(names):
            raise ValueError(f"group {group!r} has {len(names)} columns, got {matrix.shape}")
        counts = self.zeros()
        counts.rows[self.groups.index(group)] = len(matrix)
        if not len(matrix):
            return counts
        for index, name in enumerate(names):
            counts.moments[self.rows[group, name]] = moments_of(matrix[:, index])
        where = {name: index for index, name in enumerate(names)}
        for signal, start in zip(self.signals, self.offsets[:-1].tolist(), strict=True):
            if signal.group != group:
                continue
            size = signal.partition.size
            cells = signal.partition.cells(matrix[:, where[signal.column]])
            found = np.bincount(cells[cells != NOT_COUNTED], minlength=size)
            counts.cells[start : start + size] = found
        return counts

    def read(self, data: bytes) -> Counts:
        """Counts from `Counts.to_bytes`.

        Raises:
            MergeError: they were written under another layout, or are not whole.
        """
        key, rest = data[:16], data[16:]
        want = 8 * (self.total + 5 * len(self.rows) + len(self.groups))
        if key != bytes.fromhex(self.key) or len(rest) != want:
            raise MergeError("these counts belong to another reference")
        first, second = 8 * self.total, 8 * (self.total + 5 * len(self.rows))
        return Counts(
            self,
            np.frombuffer(rest[:first], dtype="<i8").astype(np.int64),
            np.frombuffer(rest[first:second], dtype="<f8").astype(np.float64).reshape(-1, 5),
            np.frombuffer(rest[second:], dtype="<i8").astype(np.int64),
        )


@dataclass(frozen=True, eq=False, slots=True)
class Counts:
    """Cells (int64 ``[layout.total]``), moments (float64 ``[columns, 5]``), rows (``[groups]``).

    ``a + b`` is what one pass over both would have counted; it changes neither.
    """

    layout: Layout
    cells: Ints
    moments: Floats
    rows: Ints

    def __add__(self, other: Counts) -> Counts:
        if other.layout.key != self.layout.key:
            raise MergeError("these counts belong to another reference")
        return Counts(
            self.layout,
            self.cells + other.cells,
            merge_moments(self.moments, other.moments),
            self.rows + other.rows,
        )

    def __eq__(self, other: object) -> bool:
        """True when every cell, row and moment is the same to the last bit."""
        return isinstance(other, Counts) and self.to_bytes() == other.to_bytes()

    def of(self, name: str) -> Ints:
        """The cells of one signal.

        Raises:
            KeyError: no signal has that name.
        """
        index = self.layout.position[name]
        return self.cells[self.layout.offsets[index] : self.layout.offsets[index + 1]]

    def to_bytes(self) -> bytes:
        """A lossless form of constant size, readable by `Layout.read` of an equal layout."""
        return b"".join(
            (
                bytes.fromhex(self.layout.key),
                self.cells.astype("<i8").tobytes(),
                self.moments.astype("<f8").tobytes(),
                self.rows.astype("<i8").tobytes(),
            )
        )


def moments_of(values: Floats) -> Floats:
    """Count, mean, sum of squared deviations, minimum and maximum of the finite values."""
    finite = values[np.isfinite(values)]
    if not len(finite):
        return np.array([0.0, 0.0, 0.0, np.inf, -np.inf])
    clipped = np.clip(finite, -LARGEST, LARGEST)
    mean = float(np.mean(clipped))
    m2 = float(np.sum((clipped - mean) ** 2))
    return np.array([len(finite), mean, m2, finite.min(), finite.max()])


def merge_moments(a: Floats, b: Floats) -> Floats:
    """Moments of both samples together, elementwise over leading axes; shape ``[..., 5]``."""
    n = a[..., COUNT] + b[..., COUNT]
    share: NDArray[np.float64] = b[..., COUNT] / np.where(n > 0, n, 1.0)
    delta = b[..., MEAN] - a[..., MEAN]
    merged = np.empty(np.broadcast_shapes(a.shape, b.shape))
    merged[..., COUNT] = n
    merged[..., MEAN] = np.where(
        b[..., COUNT] == 0,
        a[..., MEAN],
        np.where(a[..., COUNT] == 0, b[..., MEAN], a[..., MEAN] + delta * share),
    )
    cross = delta * delta * (a[..., COUNT] * share)
    empty = (a[..., COUNT] == 0) | (b[..., COUNT] == 0)
    merged[..., M2] = a[..., M2] + b[..., M2] + np.where(empty, 0.0, cross)
    merged[..., LOW] = np.minimum(a[..., LOW], b[..., LOW])
    merged[..., HIGH] = np.maximum(a[..., HIGH], b[..., HIGH])
    return merged

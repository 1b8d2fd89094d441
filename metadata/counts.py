"""Counts: everything a window knows, in a form that only ever adds.

Workers, windows, replicas and ranks merge by ``+``; zeros are the identity. Cells are exact
integers; beside them each column keeps the moments of its finite values.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec
import numpy as np

from .counting import Counting
from .errors import MergeError
from .moments import HIGH, LOW, column_moments, merge_moments
from .signals import GROUPS, Floats, Group, Ints, Signal


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
        placed: dict[Group, list[tuple[Signal, int]]] = {group: [] for group in self.groups}
        for signal, start in zip(self.signals, self.offsets[:-1].tolist(), strict=True):
            placed.setdefault(signal.group, []).append((signal, start))
        self._counting = {
            group: Counting(placed[group], self.columns[group]) for group in self.groups
        }
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
        columns = np.ascontiguousarray(matrix.T, dtype=np.float64)
        finite = np.isfinite(columns)
        first = self.rows[group, names[0]]
        counts.moments[first : first + len(names)] = column_moments(columns, finite)
        self._counting[group](columns, finite, counts.cells)
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

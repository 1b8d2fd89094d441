"""A block: signals of one kind, stacked so that all are judged at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from driftline.metadata.reference import SignalReference
from driftline.metadata.signals import Floats, Ints


@dataclass(frozen=True, eq=False)
class Block:
    """Signals of one kind, padded to equal numbers of cells.

    `where` (``[T]``) are their positions among the reference's signals, `cells` (``[T, K]``) the
    positions of their cells in flat counts (padding points one beyond the last), `weights`
    (``[T, K]``) the Dirichlet parameters, 0 for padding.
    """

    kind: str
    where: Ints
    cells: Ints
    weights: Floats

    @cached_property
    def total(self) -> Floats:
        """Sum of the weights, ``[T]``."""
        return np.asarray(self.weights.sum(axis=1))

    @cached_property
    def real(self) -> NDArray[np.bool_]:
        """False at padding, ``[T, K]``."""
        return self.weights > 0

    @cached_property
    def shares(self) -> Floats:
        """Expected probabilities of the cells, ``[T, K]``, 0 at padding."""
        return self.weights / self.total[:, None]

    @cached_property
    def middles(self) -> Floats:
        """Reference mass below the middle of each cell, ``[T, K]``, inside (0, 1)."""
        return np.cumsum(self.shares, axis=1) - self.shares / 2

    def gather(self, flat: Floats) -> Floats:
        """Counts ``[T, ..., K]`` of flat counts ``[..., total]``."""
        padded = np.concatenate([flat, np.zeros((*flat.shape[:-1], 1))], axis=-1)
        return np.moveaxis(padded[..., self.cells], -2, 0)

    def groups(self, most: int) -> Ints:
        """Group of each cell, ``[T, K]``, when cells are merged into at most `most` groups.

        Ordered cells join neighbours of like cumulative reference mass. Of unordered ones the
        largest stand alone and the rest shares the last group.
        """
        if self.kind == "categorical":
            order = np.argsort(-self.shares, axis=1, kind="stable")
            rank = np.empty_like(order)
            np.put_along_axis(rank, order, np.arange(order.shape[1])[None, :], axis=1)
            return np.minimum(rank, most - 1)
        return np.minimum((self.middles * most).astype(np.int64), most - 1)

    def merged(self, counts: Floats, most: int) -> Floats:
        """Counts ``[T, B, K]`` merged by `groups`, ``[T, B, most]``."""
        if most not in self._merges:
            self._merges[most] = members(self.groups(most), most)
        return np.asarray(counts @ self._merges[most])

    @cached_property
    def _merges(self) -> dict[int, Floats]:
        return {}


def members(groups: Ints, count: int) -> Floats:
    """1 where a cell belongs to a group, else 0: ``[T, K, count]`` of ``[T, K]``."""
    return (groups[:, :, None] == np.arange(count)).astype(np.float64)


def block_of(
    kind: str, signals: Sequence[SignalReference], offsets: Ints, total: int, where: Sequence[int]
) -> Block:
    """The block of those `signals` that `where` points at; all must be of that kind."""
    width = max(len(signals[position].weights) for position in where)
    weights = np.zeros((len(where), width))
    cells = np.full((len(where), width), total, dtype=np.int64)
    for row, position in enumerate(where):
        size = len(signals[position].weights)
        weights[row, :size] = signals[position].weights
        cells[row, :size] = offsets[position] + np.arange(size)
    return Block(kind, np.array(where, dtype=np.int64), cells, weights)

"""A single rate as a reference and a ring, so that the judge can judge it like everything else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from driftline.metadata.reference import ColumnReference, Reference, SignalReference
from driftline.metadata.signals import Flag, Group, Outside, Signal

from .ring import Ring

Pair = tuple[int, int]


def single_reference(name: str, group: Group, weights: tuple[float, float]) -> Reference:
    """A reference whose one flag has the Beta parameters `weights` (false, true)."""
    signal = Signal(name, group, name, Flag(Outside(high=0.5)))
    rows = round(sum(weights))
    rate = weights[1] / sum(weights)
    column = ColumnReference(name, group, "flag", rows, rate, (rate * (1 - rate)) ** 0.5, 0.0, 1.0)
    return Reference("production", 0, (column,), (SignalReference(signal, weights, rows),))


def single_ring(width: int, buckets: Mapping[int, Pair | Sequence[int]]) -> Ring:
    """The ring of such a flag: start of each bucket → how often it was (false, true).

    Raises:
        ValueError: a count is below 0.
    """
    starts = sorted(buckets)
    cells = np.array([tuple(buckets[start]) for start in starts], np.int64).reshape(-1, 2)
    if (cells < 0).any():
        raise ValueError("counts are at least 0")
    rows = cells.sum(axis=1)
    rate = cells[:, 1] / np.maximum(rows, 1)
    moments = np.stack(
        [
            rows,
            rate,
            rows * rate * (1 - rate),
            np.where(rows > 0, np.where(cells[:, 0] > 0, 0.0, 1.0), np.inf),
            np.where(rows > 0, np.where(cells[:, 1] > 0, 1.0, 0.0), -np.inf),
        ],
        axis=1,
    )
    starts_ = np.array(starts, dtype=np.int64)
    return Ring(width, starts_, cells, rows[:, None], moments[:, None, :])

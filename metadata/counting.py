"""Values of a whole group of columns to the cells of its signals."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .signals import (
    NOT_COUNTED,
    Continuous,
    Flag,
    Floats,
    Ints,
    Missing,
    Outside,
    Partition,
    Signal,
)


class Counting:
    """Counts what `Signal.partition.cells` says of each value, for all signals of a group at once.

    Flags are most of the signals, and a call of NumPy costs the same for one column as for all.

    Args:
        placed: signals with the place of their first cell.
        columns: the group's, in the order of their values.
    """

    def __init__(self, placed: Sequence[tuple[Signal, int]], columns: Sequence[str]) -> None:
        where = {name: index for index, name in enumerate(columns)}
        missing, outside = [], []
        self._single: list[tuple[int, int, Partition, Floats | None]] = []
        for signal, start in placed:
            column, partition = where[signal.column], signal.partition
            if isinstance(partition, Flag) and isinstance(partition.when, Missing):
                missing.append((column, start))
            elif isinstance(partition, Flag) and isinstance(partition.when, Outside):
                low, high = partition.when.low, partition.when.high
                low, high = -np.inf if low is None else low, np.inf if high is None else high
                outside.append((column, start, low, high))
            elif isinstance(partition, Continuous):
                edges = np.asarray(partition.edges, dtype=np.float64)
                self._single.append((column, start, partition, edges))
            else:
                self._single.append((column, start, partition, None))
        self._missing = np.array(missing, np.int64).reshape(-1, 2).T
        self._outside = np.array([each[:2] for each in outside], np.int64).reshape(-1, 2).T
        bounds = np.array([each[2:] for each in outside], np.float64).reshape(-1, 2, 1)
        self._low, self._high = bounds[:, 0], bounds[:, 1]

    def __call__(self, columns: Floats, finite: NDArray[np.bool_], cells: Ints) -> None:
        """Writes into `cells`, which are zero, the counts of `columns`, shape ``[c, n]``; `finite`
        tells which values are."""
        rows = columns.shape[1]
        numbers = np.add.reduce(finite, axis=1, dtype=np.int64)
        column, start = self._missing
        cells[start], cells[start + 1] = numbers[column], rows - numbers[column]
        column, start = self._outside
        if len(column):
            chosen = columns[column]
            with np.errstate(invalid="ignore"):
                out = (chosen < self._low) | (chosen > self._high)
            raised = np.add.reduce(out & finite[column], axis=1, dtype=np.int64)
            cells[start], cells[start + 1] = numbers[column] - raised, raised
        for index, at, partition, edges in self._single:
            values, size = columns[index], partition.size
            if edges is None or numbers[index] < rows:
                found = partition.cells(values)
                found = found[found != NOT_COUNTED]
            else:
                found = np.searchsorted(edges, values, side="right")
            cells[at : at + size] = np.bincount(found, minlength=size)

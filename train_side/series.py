"""The curves of a whole run, read back from its journal."""

from __future__ import annotations

import logging
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .point import Point
from .reading import read_journal

log = logging.getLogger("driftline")

MOST = 200_000
NAMES = 1000

Curve = tuple[NDArray[np.int64], NDArray[np.float64]]


class _Column:
    """Steps and values of one name; when they are too many every second one is let go."""

    def __init__(self) -> None:
        self.steps, self.values = array("q"), array("d")
        self._stride = 1
        self._seen = 0

    def add(self, step: int, value: float | None) -> None:
        self._seen += 1
        if self._seen % self._stride:
            return
        self.steps.append(step)
        self.values.append(float("nan") if value is None else value)
        if len(self.steps) >= MOST:
            self.steps, self.values = self.steps[1::2], self.values[1::2]
            self._stride *= 2


def series_of(folder: Path) -> dict[str, Curve]:
    """Steps and values by name, in the order they were recorded; NaN where one was not finite.

    Of more than 200,000 points of a name every second, fourth, … is taken, and of the names the
    first 1,000.

    Raises:
        OSError: the journal cannot be read.
    """
    columns: dict[str, _Column] = {}
    for entry in read_journal(folder):
        if isinstance(entry, Point):
            for name, value in entry.values.items():
                column = columns.get(name)
                if column is None:
                    if len(columns) >= NAMES:
                        continue
                    column = columns[name] = _Column()
                column.add(entry.step, value)
    return {
        name: (np.array(each.steps, np.int64), np.array(each.values, np.float64))
        for name, each in columns.items()
    }


def save_series(path: Path, series: Mapping[str, Curve]) -> None:
    """Writes an ``.npz`` with each name's values under the name, its steps under ``<name>@step``.

    Raises:
        OSError: it cannot be written.
    """
    arrays: dict[str, Any] = {}
    for name, (steps, values) in series.items():
        # A slash in a name would become a folder in the archive; NumPy reads it back all the same.
        arrays[name] = values
        arrays[f"{name}@step"] = steps
    np.savez_compressed(path, **arrays)

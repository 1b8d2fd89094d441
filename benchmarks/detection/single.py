"""Windows looked at once: many of them, each a ring of one bucket, judged side by side.

For a ring of one bucket M is E, and `judge` calls it when the mean E of the signals reaches 1/α.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from driftline.drift.inflation import Inflation
from driftline.drift.panel import Panel
from driftline.metadata.reference import Reference
from driftline.metadata.signals import Floats, Ints


def evidence(reference: Reference, cells: Ints) -> Floats:
    """ln of the mean E of the signals, ``[windows]``, of counts ``[windows, layout.total]``."""
    panel = Panel.of(reference)
    once = Inflation.of(panel, np.ones(panel.signals))
    log_e, _ = panel.log_e(cells.astype(np.float64), once.members, once.directions)
    return np.asarray(np.logaddexp.reduce(log_e + np.log(panel.shares)[:, None], axis=0))


def places(reference: Reference, matrices: dict[str, Floats]) -> Ints:
    """The flat cell of each row in each signal, ``[rows, signals]``; `layout.total` if in none."""
    layout = reference.layout
    found = []
    for signal, start in zip(layout.signals, layout.offsets[:-1].tolist(), strict=True):
        column = layout.columns[signal.group].index(signal.column)
        cells = signal.partition.cells(matrices[signal.group][:, column])
        found.append(np.where(cells < 0, layout.total, cells + start))
    return np.stack(found, axis=1)


def counted(reference: Reference, rows: list[Ints]) -> Ints:
    """Counts of windows given by the places of their rows, ``[windows, layout.total]``."""
    total = reference.layout.total
    counts = [np.bincount(each.ravel(), minlength=total + 1)[:total] for each in rows]
    return np.stack(counts)


def called(reference: Reference, cells: Ints, alpha: float) -> NDArray[np.bool_]:
    """Which windows `judge` calls drifted at a single look."""
    return evidence(reference, cells) >= -np.log(alpha)

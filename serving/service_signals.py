"""What a service counts about itself: latency, errors, confidence, over cells that never change.

They depend on no package, so that a change of baseline or limit does not orphan the counts.
"""

from __future__ import annotations

import numpy as np

from driftline.metadata.counts import Counts, Layout
from driftline.metadata.quality import LATENCY_EDGES
from driftline.metadata.signals import Continuous, Flag, Floats, Group, Outside, Signal

CONFIDENCE_EDGES = tuple(round(0.05 * step, 2) for step in range(1, 20))
_RAISED = Flag(Outside(high=0.5))

# Requests are the rows of group "service", predicted rows those of group "output".
SERVICE = Layout(
    [
        Signal("latency", "service", "latency", Continuous(LATENCY_EDGES)),
        Signal("error", "service", "error", _RAISED),
        Signal("slow", "service", "slow", _RAISED),
        Signal("confidence", "output", "confidence", Continuous(CONFIDENCE_EDGES)),
        Signal("low_confidence", "output", "low_confidence", _RAISED),
    ],
    {"service": ("latency", "error", "slow"), "output": ("confidence", "low_confidence")},
)


def requests_matrix(seconds: Floats, errors: Floats, limit_ms: float | None) -> Floats:
    """One row a request: latency in seconds, whether it failed, whether it was over the limit."""
    slow = np.zeros(len(seconds)) if limit_ms is None else seconds * 1000.0 > limit_ms
    return np.column_stack([seconds, errors, slow])


def confidence_matrix(confidence: Floats, limit: float | None) -> Floats:
    """One row a prediction: its confidence, and whether it is under the limit."""
    low = np.zeros(len(confidence)) if limit is None else (confidence < limit).astype(np.float64)
    return np.column_stack([confidence, np.where(np.isfinite(confidence), low, np.nan)])


def requests_in(counts: Counts) -> int:
    """The number of requests."""
    return int(counts.rows[counts.layout.groups.index("service")])


def rate(counts: Counts, flag: str) -> float | None:
    """The share of rows whose `flag` was raised; None where there was no row."""
    cells = counts.of(flag)
    total = int(cells.sum())
    return float(cells[1] / total) if total else None


def quantile(counts: Counts, signal: str, q: float) -> float | None:
    """The q-quantile of a continuous signal, interpolated within its cell; None without values.

    Latencies lie evenly in the logarithm of their cells, so they are interpolated there. The
    result is exact to the width of a cell and never outside the smallest and largest value.
    """
    index = counts.layout.position[signal]
    found = counts.layout.signals[index]
    cells = counts.of(signal)
    total = int(cells.sum())
    if not total or not isinstance(found.partition, Continuous):
        return None
    low, high = counts.moments[counts.layout.rows[found.group, found.column], 3:]
    edges = np.clip(np.concatenate([[low], found.partition.edges, [high]]), low, high)
    reached = np.cumsum(cells)
    cell = int(np.searchsorted(reached, q * total, side="left"))
    share = (q * total - (reached[cell] - cells[cell])) / max(int(cells[cell]), 1)
    left, right = float(edges[cell]), float(edges[cell + 1])
    if left > 0:
        return float(left * (right / left) ** share)
    return float(left + (right - left) * share)


def group_rows(counts: Counts, group: Group) -> int:
    """The number of rows of one group; 0 where the layout has no such group."""
    groups = counts.layout.groups
    return int(counts.rows[groups.index(group)]) if group in groups else 0

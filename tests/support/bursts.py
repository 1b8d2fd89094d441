"""Traffic that comes in bursts, its counts by bucket, and what is told of it."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace
from scipy.signal import lfilter

from driftline.drift import Ring
from driftline.drift.inflation import Inflation, inflation
from driftline.drift.panel import Panel
from driftline.metadata.reference import Reference

ROWS = 50


def bursty(random: np.random.Generator, rho: float, rows: int, columns: int) -> np.ndarray:
    """Standard normal AR(1) columns that start in their stationary law."""
    noise = random.normal(size=(rows, columns))
    first = rho * random.normal(size=(1, columns))
    values, _ = lfilter([np.sqrt(1 - rho**2)], [1, -rho], noise, axis=0, zi=first)
    return np.asarray(values)


def cells_of(reference: Reference, rows: np.ndarray) -> np.ndarray:
    batches = rows.reshape(-1, ROWS, rows.shape[1])
    return np.stack([reference.layout.count("input", each).cells for each in batches])


def ring_of_cells(cells: np.ndarray, width: int = 60) -> Ring:
    starts = width * np.arange(len(cells), dtype=np.int64)
    return Ring(width, starts, cells, np.zeros((len(cells), 1), np.int64), np.zeros((1, 1, 5)))


def apart(reference: Reference) -> Panel:
    """A panel whose columns are streams of their own: none tells of another's bursts."""
    panel = Panel(replace(reference, multivariates=()))
    columns = {each.signal.column: at for at, each in enumerate(reference.signals)}
    panel.pools = np.array([columns[each.signal.column] for each in reference.signals])
    return panel


def told(panel: Panel, ring: Ring) -> Inflation:
    return inflation(panel, ring, Inflation.of(panel, np.ones(panel.signals)))

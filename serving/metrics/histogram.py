"""Histograms as counters of the store: they only grow, over all workers and their restarts.

Apart from the rings of counts, which forget: a Prometheus histogram must never go down.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from functools import cached_property

import numpy as np
from msgspec import Struct

from driftline.metadata.signals import Floats

Bounds = list[tuple[str, float]]


class Histogram(Struct, frozen=True, dict=True):
    """Values by ascending upper bounds, each bound inclusive as Prometheus wants it.

    In the store a value counts under ``<name>|<bound>``, and adds to ``<name>|sum``.
    """

    name: str
    bounds: tuple[float, ...]

    def counters(self, values: Floats) -> dict[str, float]:
        """What `values` add; values that are not finite add nothing."""
        finite = values[np.isfinite(values)]
        if not len(finite):
            return {}
        cells = np.searchsorted(np.asarray(self.bounds), finite, side="left")
        found = np.bincount(cells, minlength=len(self.bounds) + 1).tolist()
        added = {f"{self.name}|{key}": float(n) for key, n in zip(self._keys, found, strict=True)}
        added = {key: n for key, n in added.items() if n}
        return added | {f"{self.name}|sum": float(finite.sum())}

    def one(self, value: float) -> dict[str, float]:
        """What one finite value adds; quicker than an array of one."""
        key = self._keys[bisect_left(self.bounds, value)]
        return {f"{self.name}|{key}": 1.0, f"{self.name}|sum": value}

    def read(self, counters: Mapping[str, float]) -> tuple[Bounds, float]:
        """The cumulative counts by bound, ``+Inf`` last, and the sum."""
        total, found = 0.0, []
        for key in self._keys:
            total += counters.get(f"{self.name}|{key}", 0.0)
            found.append((key, total))
        return found, counters.get(f"{self.name}|sum", 0.0)

    @cached_property
    def _keys(self) -> list[str]:
        return [*map(str, self.bounds), "+Inf"]


_SECONDS = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.2, 0.5, 1.0, 2.5, 5.0, 10.0,
)  # fmt: skip

REQUEST = Histogram("request_seconds", _SECONDS)
INFERENCE = Histogram("inference_seconds", _SECONDS)
CONFIDENCE = Histogram("confidence", (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1.0))

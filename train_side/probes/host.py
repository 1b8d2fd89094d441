"""Processor and memory of the machine and of this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import psutil

from .probe import GAUGES, Gauge


@GAUGES.register
class Host(Gauge):
    """Readings of psutil, in percent (of all cores) and bytes.

    ``host/cpu_percent``, ``host/memory_percent``, ``process/cpu_percent`` (100 is one core),
    ``process/memory_bytes``, and ``host/temperature_celsius`` where the machine tells it.
    """

    kind = "host"

    def __init__(self, *, every: float = 5.0) -> None:
        self.every = every
        self._process: psutil.Process | None = None

    def read(self) -> Mapping[str, float]:
        """The values; the shares of time are those since the last reading."""
        if self._process is None:  # the first call of each only begins the measuring
            self._process = psutil.Process()
            self._process.cpu_percent()
            psutil.cpu_percent()
            return {}
        values = {
            "host/cpu_percent": float(psutil.cpu_percent()),
            "host/memory_percent": float(psutil.virtual_memory().percent),
            "process/cpu_percent": float(self._process.cpu_percent()),
            "process/memory_bytes": float(self._process.memory_info().rss),
        }
        sensors: Mapping[str, Any] = getattr(psutil, "sensors_temperatures", dict)()
        hot = [each.current for found in sensors.values() for each in found if each.current]
        if hot:
            values["host/temperature_celsius"] = float(max(hot))
        return values

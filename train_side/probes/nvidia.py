"""NVIDIA devices, by the management library."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from .probe import GAUGES, Gauge

log = logging.getLogger("driftline")

MOST_DEVICES = 16


@GAUGES.register
class Nvidia(Gauge):
    """``gpu<n>/util_percent``, ``…/memory_bytes``, ``…/memory_percent``, ``…/temperature_celsius``.

    Nothing where there is no such device, no driver, or no ``nvidia-ml-py``; a reading that one
    device does not offer is left out.

    Args:
        every: seconds between readings.
        library: the module ``pynvml``, or what stands in for it.
    """

    kind = "nvidia"

    def __init__(self, *, every: float = 5.0, library: Any = None) -> None:
        self.every = every
        self._library = library
        self._devices: list[Any] | None = None

    def read(self) -> Mapping[str, float]:
        """The values of all devices."""
        if self._devices is None:
            self._devices = self._found()
        values: dict[str, float] = {}
        for index, device in enumerate(self._devices):
            values |= self._read(f"gpu{index}", device)
        return values

    def _found(self) -> list[Any]:
        try:
            if self._library is None:
                import pynvml

                self._library = pynvml
            self._library.nvmlInit()
            count = min(self._library.nvmlDeviceGetCount(), MOST_DEVICES)
            return [self._library.nvmlDeviceGetHandleByIndex(index) for index in range(count)]
        except Exception as error:  # no library, no driver, no device: each has its own error
            log.debug("no NVIDIA device: %s", error)
            return []

    def _read(self, name: str, device: Any) -> dict[str, float]:
        library = self._library
        readings: dict[str, Callable[[], Any]] = {
            "util_percent": lambda: library.nvmlDeviceGetUtilizationRates(device).gpu,
            "memory_bytes": lambda: library.nvmlDeviceGetMemoryInfo(device).used,
            "memory_percent": lambda: 100 * _share(library.nvmlDeviceGetMemoryInfo(device)),
            "temperature_celsius": lambda: library.nvmlDeviceGetTemperature(
                device, library.NVML_TEMPERATURE_GPU
            ),
        }
        values = {}
        for what, reading in readings.items():
            try:
                values[f"{name}/{what}"] = float(reading())
            except Exception as error:  # "not supported" is an exception of the library's own
                log.debug("%s/%s: %s", name, what, error)
        return values


def _share(memory: Any) -> float:
    return float(memory.used) / float(memory.total)

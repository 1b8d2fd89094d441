"""Inflation: how many requests count as one independent one, from bucket counts alone."""

from __future__ import annotations

from driftline.metadata.signals import Floats

from .panel import Panel
from .ring import Ring


def inflation(panel: Panel, ring: Ring, assumed: Floats) -> tuple[Floats, bool]:
    """F of each signal (``[T]``), and whether it is only the `assumed` one."""
    return assumed, True

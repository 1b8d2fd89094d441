"""Pushes of a quiet training."""

from __future__ import annotations

from typing import Any

from driftline.serving.runs.push import Point, Push


def batch(sequence: int, size: int = 10, *, first: int | None = None, **more: Any) -> Push:
    """A push whose loss falls as 1/step, with a gradient norm every fifth step."""
    start = (sequence - 1) * size if first is None else first
    points = tuple(
        Point(step, 1e9 + step, {"loss": 1 / (step + 1)} | ({} if step % 5 else {"norm": 2.0}))
        for step in range(start, start + size)
    )
    return Push(sequence, points, **more)

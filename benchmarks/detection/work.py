"""Work: what a section has to do, cut into tasks that any process can take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Found = dict[str, Any]


@dataclass(frozen=True)
class Scale:
    """How much is simulated; `full` runs in under 15 minutes on two cores."""

    name: str
    windows: int
    streams: int
    draws: int
    images: int


SCALES = {
    "quick": Scale("quick", windows=1_000, streams=8, draws=10, images=2_000),
    "full": Scale("full", windows=20_000, streams=16, draws=30, images=10_000),
    "long": Scale("long", windows=1_000_000, streams=200, draws=200, images=10_000),
}


@dataclass(frozen=True)
class Task:
    """A function at module level with its arguments; what it returns is plain and goes to JSON."""

    call: Callable[..., Found]
    arguments: dict[str, Any] = field(default_factory=dict)

    def __call__(self) -> Found:
        """What the function finds."""
        return self.call(**self.arguments)

"""What a sink is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar

from driftline.metadata.registry import Registry

from ..point import Notice
from ..reading import Recent


@dataclass(frozen=True, slots=True)
class Run:
    """The run that a sink carries away; `steps` is how many are planned, if that is known."""

    name: str
    folder: Path
    journal: Recent
    steps: int | None = None
    about: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Values:
    """The values of one step; `time` in unix seconds."""

    step: int
    time: float
    values: Mapping[str, float]


class Sink:
    """Carries points and events to one place, on the worker's thread, on rank 0.

    An error is logged once and counted, and the sink is tried again with what comes next. A place
    that may be slow needs a thread of its own behind `write`.
    """

    kind: ClassVar[str]
    cpu: float = 0.0  # seconds of processor time used on threads of its own

    def open(self, run: Run) -> None:
        """Gets ready for a run; may be called again after `close`."""

    def write(self, points: Sequence[Values], notices: Sequence[Notice]) -> None:
        """Takes what is new, perhaps nothing; called at least once a second."""
        raise NotImplementedError

    def close(self, seconds: float) -> None:
        """Sends what is left, within `seconds`, and lets everything go."""


SINKS: Registry[Sink] = Registry("sink")

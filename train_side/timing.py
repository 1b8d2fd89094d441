"""Where the time between two samples went."""

from __future__ import annotations

from .probes.probe import Timing


class StepClock:
    """Adds up seconds, rows and steps; all times are given by the caller, in seconds."""

    def __init__(self) -> None:
        self.rows = 0
        self._rows = self._steps = 0
        self._seconds = self._waiting = 0.0
        self._last: float | None = None
        self._began: float | None = None

    def begin(self, now: float) -> None:
        """A step begins."""
        if self._last is not None:
            self._waiting += now - self._last
        self._began = now

    def end(self, now: float, rows: int, steps: int = 1) -> None:
        """A step has ended; the first one, with its compilation, is not counted."""
        self.rows += rows
        if self._last is not None:
            self._seconds += now - self._last
            self._rows += rows
            self._steps += steps
        self._last = now

    def pause(self) -> None:
        """Something else runs until the next step: an evaluation, the end of an epoch."""
        self._last = None

    def take(self) -> Timing:
        """What was added up since the last call."""
        timing = Timing(self._rows, self._steps, self._seconds, self._waiting)
        self._rows = self._steps = 0
        self._seconds = self._waiting = 0.0
        return timing

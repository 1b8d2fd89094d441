"""Steps that a loss-scaling cell skipped, those between two samples included."""

from __future__ import annotations

from typing import Any

from .probes.loss import is_flag, scalar

MOST = 1000


class Overflows:
    """Keeps the flag of each step that is not looked at, and reads them all with the next sample.

    By then they are computed: reading one where its step ends would wait for the device. At most
    1,000 are kept; steps beyond, and those that a data sink runs together, are counted in `unseen`.
    """

    def __init__(self) -> None:
        self.unseen = 0
        self.on: bool | None = None  # not known before the first step
        self._flags: list[Any] = []

    def note(self, outputs: Any, steps: int) -> None:
        """Steps have ended that are not looked at; `outputs` are those of the last one."""
        shows = type(outputs) is tuple and len(outputs) >= 3
        if self.on is None:
            self.on = shows and is_flag(outputs[1])
        if not self.on:
            return
        if shows and len(self._flags) < MOST:
            self._flags.append(outputs[1])
            steps -= 1
        self.unseen += steps

    def sampled(self, values: Any, steps: int) -> float:
        """How many were skipped since the last sample, the one with these values left out."""
        self.on = "overflow" in values
        if self.on:
            self.unseen += steps - 1
        return self.take()

    def take(self) -> float:
        """How many of the noted steps were skipped."""
        if not self._flags:
            return 0.0
        flags, self._flags = self._flags, []
        return sum(scalar(each) or 0.0 for each in flags)

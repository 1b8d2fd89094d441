"""One tidy line on the console, now and then."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from typing import TextIO

from ..point import Notice
from .sink import SINKS, Run, Sink, Values

SHOWN = ("loss", "lr", "grad_norm", "samples_per_second")


@SINKS.register
class Console(Sink):
    """Prints the latest values every `every` seconds, and each event at once.

    Args:
        every: seconds.
        file: standard error, if None.
    """

    kind = "console"

    def __init__(self, *, every: float = 10.0, file: TextIO | None = None) -> None:
        self._every = every
        self._file = file
        self._values: dict[str, float] = {}
        self._step = 0
        self._steps: int | None = None
        self._printed = float("-inf")

    def open(self, run: Run) -> None:
        """Forgets an earlier run."""
        self._values = {}
        self._steps = run.steps
        self._printed = time.monotonic() - self._every + 1.0

    def write(self, points: Sequence[Values], notices: Sequence[Notice]) -> None:
        """Prints, if it is time."""
        for point in points:
            self._values.update(point.values)
            self._step = max(self._step, point.step)
        for notice in notices:
            self._print(f"! step {notice.step}: {notice.rule}: {notice.sentence}")
        now = time.monotonic()
        if self._values and now - self._printed >= self._every:
            self._printed = now
            self._print(line(self._step, self._steps, self._values))

    def close(self, seconds: float) -> None:
        """Prints the last values."""
        if self._values:
            self._print(line(self._step, self._steps, self._values))
            self._values = {}

    def _print(self, text: str) -> None:
        print(text, file=self._file or sys.stderr, flush=True)


def line(step: int, steps: int | None, values: Mapping[str, float]) -> str:
    """``step 120/500 (24%) │ epoch 2 │ loss 0.3412 │ …``, with what there is."""
    parts = [f"step {step}/{steps} ({step / steps:.0%})" if steps else f"step {step}"]
    if "epoch" in values:
        parts.append(f"epoch {values['epoch']:.0f}")
    words = {"samples_per_second": "samples/s", "grad_norm": "grad norm"}
    for name in SHOWN:
        if name in values:
            parts.append(f"{words.get(name, name)} {values[name]:.4g}")
    return " │ ".join(parts)

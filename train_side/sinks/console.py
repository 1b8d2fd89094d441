"""The training on the console."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, TextIO

from ..point import Notice
from ..worker import Worker
from .sink import SINKS, Run, Sink, Values

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SHOWN = ("loss", "lr", "grad_norm", "samples_per_second")
KEPT = ("epoch", *SHOWN)
WORDS = {"samples_per_second": "samples/s", "grad_norm": "grad norm"}
# Drawing a bar takes some milliseconds of processor time.
REDRAW = 2.0


@SINKS.register
class Console(Sink):
    """Prints the latest values every `every` seconds, and each event at once.

    On a terminal, where the number of steps is known, it is a progress bar that is drawn anew
    every two seconds.

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
        self._shown = 0.0
        self._bar: Bar | None = None
        self._voice: Worker[Callable[[], None]] | None = None

    def open(self, run: Run) -> None:
        """Forgets an earlier run."""
        file = self._file or sys.stderr
        self._values = {}
        self._step = 0
        self._steps = run.steps
        self._bar = Bar(file, run) if run.steps and file.isatty() else None
        # What prints may be kept waiting for ever, as by a pager that nobody scrolls.
        self._voice = Worker(self._speak, name="driftline-console", capacity=100, tick=5.0)
        every = REDRAW if self._bar is not None else self._every
        self._shown = time.monotonic() - every + 1.0  # the first line after a second

    def write(self, points: Sequence[Values], notices: Sequence[Notice]) -> None:
        """Has printed what is new, if it is time."""
        for point in points:
            for name in KEPT:
                if name in point.values:
                    self._values[name] = point.values[name]
            self._step = max(self._step, point.step)
        for notice in notices:
            self._print(f"! step {notice.step}: {notice.rule}: {notice.sentence}")
        now = time.monotonic()
        every = REDRAW if self._bar is not None else self._every
        if self._values and now - self._shown >= every:
            self._shown = now
            self._show()

    def close(self, seconds: float) -> None:
        """Shows the last values; waits at most a second for a terminal that takes nothing."""
        if self._values:
            self._show()
            self._values = {}
        if self._bar is not None:
            self._say(self._bar.close)
            self._bar = None
        if self._voice is not None:
            self._voice.stop(min(seconds, 1.0))
            self._voice = None

    def _show(self) -> None:
        if self._bar is not None:
            text = " │ ".join(values(self._values))
            self._say(partial(self._bar.draw, self._step, text))
        else:
            self._print(line(self._step, self._steps, self._values))

    def _print(self, text: str) -> None:
        if self._bar is not None:
            self._say(partial(self._bar.say, text))
        else:
            self._say(partial(print, text, file=self._file or sys.stderr, flush=True))

    def _say(self, task: Callable[[], None]) -> None:
        if self._voice is not None:
            self._voice.put(task)
            self._voice.wake()

    def _speak(self, tasks: Sequence[Callable[[], None]]) -> None:
        for task in tasks:
            task()
        self.cpu = time.thread_time()


class Bar:
    """A progress bar that is drawn only when it is told to: it has no thread of its own."""

    def __init__(self, file: TextIO, run: Run) -> None:
        # Rich takes a tenth of a second to import, and is needed on terminals only.
        from rich.console import Console as Terminal
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

        self._progress: Progress = Progress(
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            "{task.description}",
            console=Terminal(file=file),
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._task: TaskID = self._progress.add_task("", total=run.steps)
        self._progress.start()

    def draw(self, step: int, text: str) -> None:
        """Shows how far the training is."""
        self._progress.update(self._task, completed=step, description=text, refresh=True)

    def say(self, text: str) -> None:
        """Prints a line above the bar."""
        self._progress.console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        """Leaves the bar as it is now."""
        self._progress.stop()


def line(step: int, steps: int | None, latest: Mapping[str, float]) -> str:
    """``step 120/500 (24%) │ epoch 2 │ loss 0.3412 │ …``, with what there is."""
    head = f"step {step}/{steps} ({step / steps:.0%})" if steps else f"step {step}"
    return " │ ".join([head, *values(latest)])


def values(latest: Mapping[str, float]) -> list[str]:
    """``epoch 2``, ``loss 0.3412``, …, with what there is."""
    parts = [f"epoch {latest['epoch']:.0f}"] if "epoch" in latest else []
    return parts + [
        f"{WORDS.get(name, name)} {latest[name]:.4g}" for name in SHOWN if name in latest
    ]

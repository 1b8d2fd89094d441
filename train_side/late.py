"""A value that the user's script gives when the training has ended."""

from __future__ import annotations

import fcntl
import logging
import math
import os
import time
from collections.abc import Sequence
from pathlib import Path

from .markdown import escaped, number
from .point import End, Entry, Line, Point, encoder, stamp
from .reading import last_of, segments
from .runs import RunFolder
from .session import plain
from .sinks.board import Board
from .sinks.sink import Run, Sink, Values
from .sinks.tensorboard import TensorBoard

log = logging.getLogger("driftline")

HEAD = "## After the end"
SECONDS = 2.0


class Afterwards:
    """Adds to a run that has ended: to its journal, board, TensorBoard files and report.

    The run stays one that has ended, for the next process too. A board that does not answer is
    waited for at most two seconds.

    Args:
        place: the folder of the run, closed.
        sinks: of its training; only rank 0 has any.
    """

    def __init__(self, place: RunFolder, sinks: Sequence[Sink]) -> None:
        self._place = place
        self._sinks = sinks if place.rank == 0 else ()

    def add(self, name: str, value: float) -> None:
        """Writes it down, at the run's last step.

        Raises:
            OSError: the journal cannot be written, or another process writes to the run.
            ValueError: the journal does not end with an end.
        """
        name, value = plain(name), float(value)
        now, folder = time.time(), self._place.folder
        end = _appended(folder, name, value, now)
        report = folder / "training_report.md"
        if report.exists():
            _report(report, name, value)
        run = Run(self._place.run, folder, _OnDisk(folder, end.n))
        for sink in self._sinks:
            if isinstance(sink, Board | TensorBoard):
                sink.open(run)
                sink.write([Values(end.step, now, {name: value})], [])
                sink.close(SECONDS)


class _OnDisk:
    """A journal that nobody writes: nothing of it is in memory."""

    def __init__(self, folder: Path, n: int) -> None:
        self.folder = folder
        self.n = n
        self.oldest = n + 1

    def recent(self, after: int, limit: int) -> list[Line] | None:
        return None if after < self.n else []


def _appended(folder: Path, name: str, value: float, now: float) -> End:
    with (folder / ".journal.lock").open("ab") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX | fcntl.LOCK_NB)
        last = last_of(folder)
        if not isinstance(last, End):
            raise ValueError("the run has no end to add to")
        values = {name: value if math.isfinite(value) else None}
        time_ = stamp(now)
        point = Point(time=time_, n=last.n + 1, step=last.step, values=values, source="metric")
        # A journal that did not close with an end would be taken for one that broke.
        end = End(
            time=time_, n=last.n + 2, step=last.step, reason=last.reason, dropped=last.dropped
        )
        entries: tuple[Entry, ...] = (point, end)
        with segments(folder)[-1].open("ab") as file:
            file.write(b"".join(encoder.encode(each) + b"\n" for each in entries))
            file.flush()
            os.fsync(file.fileno())
    return end


def _report(path: Path, name: str, value: float) -> None:
    head = "" if HEAD in path.read_text(encoding="utf-8") else f"\n{HEAD}\n\n"
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{head}- `{escaped(name)}`: {number(value)}\n")

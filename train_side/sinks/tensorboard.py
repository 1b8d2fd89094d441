"""TensorBoard event files."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from tensorboardX.event_file_writer import EventsWriter
from tensorboardX.proto.event_pb2 import Event
from tensorboardX.proto.summary_pb2 import Summary
from tensorboardX.summary import text

from ..point import Notice
from .sink import SINKS, Run, Sink, Values

FLUSH = 2.0


@SINKS.register
class TensorBoard(Sink):
    """Writes scalars by name and events as text to ``tensorboard/`` in the run's folder.

    All values of a step are one record. A continued run writes another file beside the first,
    which TensorBoard shows as one. A file that cannot be written raises, and is tried anew.
    """

    kind = "tensorboard"

    def __init__(self) -> None:
        self._writer: EventsWriter | None = None
        self._folder: Path | None = None
        self._suffix = ""
        self._flushed = 0.0

    def open(self, run: Run) -> None:
        """The file is made with the first point."""
        self._folder = run.folder / "tensorboard"
        # A name holds the second only: two processes within one would write to the same file.
        self._suffix = f".{run.journal.n:012d}"
        self._writer = None

    def write(self, points: Sequence[Values], notices: Sequence[Notice]) -> None:
        """Writes what is new."""
        if points or notices:
            try:
                self._put(points, notices)
            except OSError:
                self._writer = None
                raise

    def close(self, seconds: float) -> None:
        """Brings everything to the file."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _put(self, points: Sequence[Values], notices: Sequence[Notice]) -> None:
        if self._writer is None:
            assert self._folder is not None
            self._folder.mkdir(parents=True, exist_ok=True)
            self._writer = EventsWriter(str(self._folder / "events"), self._suffix)
        for point in points:
            values = [
                Summary.Value(tag=name, simple_value=value) for name, value in point.values.items()
            ]
            self._writer.write_event(
                Event(wall_time=point.time, step=point.step, summary=Summary(value=values))
            )
        for notice in notices:
            summary = text(f"events/{notice.rule}", f"**{notice.severity}** {notice.sentence}")
            self._writer.write_event(
                Event(wall_time=time.time(), step=notice.step, summary=summary)
            )
        now = time.monotonic()
        if now - self._flushed >= FLUSH:
            self._writer.flush()
            self._flushed = now

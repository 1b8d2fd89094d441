"""What a run was before this process: its record, read back from its journal."""

from __future__ import annotations

import math
from datetime import datetime
from pathlib import Path

from .epochs import Spread
from .point import Line, Notice, Point, Sample, Saved, Start
from .reading import decoded, segments
from .record import Record

# Some ten thousand points; what is older is told by events, ends of epochs and checkpoints.
WHOLE = 2
POINT, EPOCH = b'{"kind":"point"', b'"source":"epoch"'
DERIVED = ("epoch", "loss_smoothed", "grad_cv", "overflows")


def restore(record: Record, folder: Path, until: int) -> None:
    """Takes the entries up to number `until` into a new record.

    Points are read from the newest 32 MB only, so that it takes seconds at the most.

    Raises:
        OSError: a file cannot be read.
    """
    taken = _Lives(record)
    files = segments(folder)
    for index, path in enumerate(files):
        whole = index >= len(files) - WHOLE
        with path.open("rb") as file:
            for line in file:
                if whole or not line.startswith(POINT) or EPOCH in line[-80:]:
                    entry = decoded(line)
                    if entry is not None and taken.n < entry.n <= until:
                        taken.add(entry)
    taken.end()


class _Lives:
    """Takes entries in, life after life."""

    def __init__(self, record: Record) -> None:
        self.n = 0
        self._record = record
        self._rows = 0
        self._overflows: float | None = None
        self._began: str | None = None
        self._last = ""

    def add(self, entry: Line) -> None:
        self.n = entry.n
        record = self._record
        if isinstance(entry, Start):
            self._end_life()
            self._began = entry.time
        elif isinstance(entry, Point):
            self._point(entry)
        elif isinstance(entry, Notice):
            if entry.rule not in ("ended", "resumed"):
                record.add_notice(entry)
        elif isinstance(entry, Saved):
            record.add_checkpoint(entry.path, entry.step, entry.loss)
        self._last = entry.time

    def end(self) -> None:
        self._end_life()
        self._record.rows_before = self._rows
        if self._overflows is not None:
            self._record.overflows = self._overflows

    def _end_life(self) -> None:
        seconds = 0.0
        if self._began is not None:
            seconds = (_moment(self._last) - _moment(self._began)).total_seconds()
        self._record.end_life(0, max(seconds, 0.0))

    def _point(self, entry: Point) -> None:
        record = self._record
        values = {name: math.nan if v is None else v for name, v in entry.values.items()}
        if entry.source == "epoch":
            self._epoch(entry.epoch, values)
        elif entry.source == "metric":
            for name, value in values.items():
                record.add_metric(name, value)
        elif entry.source == "gauge":
            record.add_gauges(values)
        elif "epoch" in values:
            self._rows = max(self._rows, entry.rows)
            self._overflows = values.get("overflows", self._overflows)
            own = {name: value for name, value in values.items() if name not in DERIVED}
            epoch = int(values["epoch"])
            record.add(Sample(entry.step, epoch, _moment(entry.time).timestamp(), own))

    def _epoch(self, number: int, values: dict[str, float]) -> None:
        record = self._record
        for name, value in values.items():
            if not name.startswith("epoch_"):
                record.add_metric(name, value)
        epoch = record.epochs.close(number)
        record.epochs.count = number
        if not epoch.loss.count and "epoch_loss" in values:  # its points were not read
            mean, sd = values["epoch_loss"], values.get("epoch_loss_sd", 0.0)
            epoch.loss = Spread(2, mean, sd**2, mean, mean)


def _moment(time: str) -> datetime:
    return datetime.fromisoformat(time)

"""What is pushed to a board, and what of it has arrived."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..point import Line, Notice, Point


@dataclass(frozen=True)
class Batch:
    """Entries that are pushed together; `sequence` is the number of the last one."""

    sequence: int
    points: Sequence[Point]
    notices: Sequence[Notice]

    def __len__(self) -> int:
        return len(self.points) + len(self.notices)

    def body(self) -> dict[str, Any]:
        """The request's JSON."""
        return {
            "sequence": self.sequence,
            "points": [
                {"step": each.step, "time": each.time, "values": each.values}
                for each in self.points
            ],
            "events": [
                {
                    "step": each.step,
                    "time": each.time,
                    "rule": each.rule,
                    "severity": each.severity,
                    "sentence": each.sentence,
                }
                for each in self.notices
            ],
        }


def batch_of(entries: Sequence[Line]) -> Batch:
    """The points and events among them."""
    return Batch(
        sequence=entries[-1].n,
        points=[entry for entry in entries if isinstance(entry, Point) and entry.values],
        notices=[entry for entry in entries if isinstance(entry, Notice)],
    )


class Delivered:
    """How far a board has been told, kept in a file beside the journal.

    The batch that is on its way is noted before it leaves: a process that goes on with the run
    sends the very same batch first, under the same sequence number, since nobody knows whether it
    arrived. A file that cannot be written costs only that certainty.
    """

    def __init__(self, path: Path, run: str) -> None:
        self.last = 0
        self._path = path
        self._run = run
        self._leaving = 0
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
            state = json.loads(path.read_text(encoding="utf-8"))
            if state["run"] == run:
                self.last, self._leaving = int(state["last"]), int(state["leaving"])

    @property
    def pending(self) -> int:
        """How many entries the batch had that was on its way when a process died; 0 if none."""
        return max(self._leaving - self.last, 0)

    def begin(self, sequence: int) -> None:
        """A batch that ends with entry `sequence` is on its way."""
        self._leaving = sequence
        self._save()

    def done(self) -> None:
        """It has arrived, or never will."""
        self.last = self._leaving
        self._save()

    def _save(self) -> None:
        state = {"run": self._run, "last": self.last, "leaving": self._leaving}
        beside = self._path.with_name(f".{self._path.name}")
        with contextlib.suppress(OSError):
            beside.write_text(json.dumps(state), encoding="utf-8")
            os.replace(beside, self._path)

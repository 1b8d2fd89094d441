"""What a run is, in a few figures: folded from its batches, one after the other.

A summary says up to which batch it was folded. So one that was stored may be old without being
wrong: whoever reads it folds what came later.
"""

from __future__ import annotations

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from driftline.metadata.errors import StoreError

from .rows import Rows

MOST_NAMES = 5_000
# Under these names a training says that it goes on, and that it is over. The only place that
# knows: alerts and counts of what was found ask `RunEvent.is_note`.
ENDED = "ended"
LIFE = frozenset({"resumed", ENDED})


class RunEvent(Struct, frozen=True, array_like=True):
    """An event as it is kept; `time` in Unix seconds."""

    step: int
    time: float
    rule: str
    severity: str
    sentence: str

    @property
    def is_note(self) -> bool:
        """Whether it tells only that the life of the training takes its course.

        An end by an error has the same name, and a severity that says so: that is a finding.
        """
        return self.rule in LIFE and self.severity == "info"


class Summary(Struct, frozen=True, array_like=True):
    """A run up to its batch number `entry` of its life `life`.

    A run whose sequence numbers begin anew, with later points, was begun anew: it then has another
    life, and nothing of the one before is shown. `pushed` is the largest sequence number that was
    taken; `received` the Unix second, by the service's own clock, at which that was. `latest` maps
    each name to the step and the value it had last, None where that was not finite. `events` counts
    what rules have found.
    """

    life: str = ""
    entry: int = 0
    pushed: int = 0
    received: float = 0.0
    points: int = 0
    first_step: int = 0
    last_step: int = 0
    first_time: float = 0.0
    last_time: float = 0.0
    latest: dict[str, tuple[int, float | None]] = {}
    events: int = 0
    last_event: RunEvent | None = None


def folded(
    summary: Summary, entry: int, pushed: int, received: float, rows: Rows, events: list[RunEvent]
) -> Summary:
    """The summary with one batch more."""
    changed = replace(
        summary,
        entry=entry,
        pushed=max(pushed, summary.pushed),
        received=received,
        events=summary.events + sum(not event.is_note for event in events),
        last_event=events[-1] if events else summary.last_event,
    )
    if not len(rows):
        return changed
    new = summary.points == 0
    first, last = int(rows.first.min()), int(rows.last.max())
    begins, ends = float(rows.times.min()), float(rows.times.max())
    return replace(
        changed,
        points=summary.points + len(rows),
        first_step=first if new else min(first, summary.first_step),
        last_step=last if new else max(last, summary.last_step),
        first_time=begins if new else min(begins, summary.first_time),
        last_time=ends if new else max(ends, summary.last_time),
        latest={**summary.latest, **_latest(rows)},
    )


def encode(summary: Summary) -> bytes:
    """The stored form."""
    return msgspec.msgpack.encode(summary)


def decode(data: bytes) -> Summary:
    """A summary from `encode`.

    Raises:
        StoreError: these are not such bytes.
    """
    try:
        return msgspec.msgpack.decode(data, type=Summary)
    except msgspec.DecodeError as error:
        raise StoreError(f"the summary of a run is damaged: {error}") from None


def _latest(rows: Rows) -> dict[str, tuple[int, float | None]]:
    """The last value of each name; of one that has none but was sent, None at the last step."""
    found: dict[str, tuple[int, float | None]] = {}
    finite = np.isfinite(rows.mean)
    for index, name in enumerate(rows.names):
        where = np.flatnonzero(finite[:, index])
        row = int(where[-1]) if len(where) else len(rows) - 1
        value = float(rows.mean[row, index]) if len(where) else None
        found[name] = (int(rows.last[row]), value)
    return found

"""Runs: trainings that push their points here, kept in the store and read back at any coarseness.

All state is in the store, under ``run/…``; any worker may take a push or answer a question.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import msgspec

from driftline.metadata.errors import InputError

from ..stores.store import Store
from .levels import BLOCK, Levels
from .push import Push, begins, unix
from .rows import Rows, unpack
from .summary import MOST_NAMES, RunEvent, Summary, decode, encode, folded

MOST_RUNS = 200
KEEP_EVENTS = 1_000
MOST_NEWS = 100_000
# A run that was silent for so long may make room for a new one.
SILENT = 3_600.0
# The summary is stored anew after so many batches; what came later is folded when it is read.
_STORE_EVERY = 8
_PAGE = 256
_SUMMARY = "run/summary/"


@dataclass(frozen=True, slots=True)
class Receipt:
    """What became of a push: `sequence` is the largest of the run that is there now."""

    accepted: int
    duplicate: bool
    sequence: int


@dataclass(frozen=True, slots=True)
class News:
    """What came since; `after` is the batch to go on from, `more` that there is more already."""

    after: int
    rows: Rows
    events: list[RunEvent]
    more: bool


class Runs:
    """The runs in one store. `clock` gives Unix seconds."""

    def __init__(self, store: Store, *, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._clock = clock

    def push(self, run: str, push: Push) -> Receipt:
        """Takes points and events in, once by (run, sequence).

        A sequence number that was there before, with points later than all there are, is not a
        repetition: somebody removed the run's folder and trains again under its name.

        Raises:
            InputError: the run would have too many names, or there are too many runs.
            StoreError: the store is away; the push may be sent again.
        """
        stored = self._stored(run)
        if stored is None:
            self._make_room()
            stored = Summary(life=_life(push))
        summary = self._caught_up(stored, Levels(self._store, run, stored.life))
        if push.sequence <= summary.pushed:
            if not push.points or begins(push) <= summary.last_time:
                return Receipt(0, True, summary.pushed)
            summary = Summary(life=_life(push))
        begun = summary.life != stored.life
        names = {name for point in push.points for name in point.values}
        if len(names | summary.latest.keys()) > MOST_NAMES:
            raise InputError("points", f"the run has {MOST_NAMES:,} names of values, no more fit")
        now = self._append(run, push, summary)
        # Since the stored one, and not since the last push: other workers take pushes too.
        if begun or not stored.entry or now.entry - stored.entry >= _STORE_EVERY:
            self._store.append(_SUMMARY + run, [encode(now)], keep=1)
        if begun:
            self._end(run, stored.life)
        return Receipt(len(push.points), False, push.sequence)

    def names(self) -> list[str]:
        """The names of all runs, ascending."""
        return [log.removeprefix(_SUMMARY) for log in self._store.logs(_SUMMARY)]

    def life(self, run: str) -> str | None:
        """Which life of the run is the newest; None when there is no such run."""
        stored = self._stored(run)
        return None if stored is None else stored.life

    def summary(self, run: str) -> Summary | None:
        """The run's figures as of now; None when there is no such run."""
        stored = self._stored(run)
        if stored is None:
            return None
        return self._caught_up(stored, Levels(self._store, run, stored.life))

    def rows(self, run: str, summary: Summary, names: list[str], low: int, high: int) -> Rows:
        """The run's values of those names from step `low` to step `high`, coarse where a stretch
        is long; a run of a million points is some ten thousand rows."""
        low, high = max(low, summary.first_step), min(high, summary.last_step)
        if low > high:
            return Rows.of_points([])
        share = (high - low + 1) / (summary.last_step - summary.first_step + 1)
        points, entries = int(summary.points * share), int(summary.entry * share)
        levels = Levels(self._store, run, summary.life)
        return levels.rows(names, low, high, points=points, entries=entries)

    def news(self, run: str, life: str, after: int, limit: int = 256) -> News:
        """The batches after number `after`: at most `limit`, and about `MOST_NEWS` values."""
        parts: list[Rows] = []
        events: list[RunEvent] = []
        size = 0
        batches = Levels(self._store, run, life).batches(after, limit)
        for number, batch in batches:
            parts.append(unpack(batch.rows))
            events += batch.events
            size += parts[-1].mean.size
            after = number
            if size > MOST_NEWS:
                break
        more = bool(batches) and (after != batches[-1][0] or len(batches) == limit)
        return News(after, Rows.joined(parts), events, more)

    def events(self, run: str, life: str) -> list[RunEvent]:
        """The newest events, oldest first."""
        entries = self._store.entries(f"run/events/{life}/{run}", 0, KEEP_EVENTS)
        return [msgspec.msgpack.decode(entry.value, type=RunEvent) for entry in entries]

    def report(self, run: str) -> str | None:
        """The training's own report, as Markdown; None where it sent none."""
        kept = self._store.entries(f"run/report/{run}", 0, 1)
        return kept[0].value.decode() if kept else None

    def put_report(self, run: str, markdown: str) -> None:
        """Keeps the training's report in the place of the one before."""
        self._store.append(f"run/report/{run}", [markdown.encode()], keep=1)

    def forget(self, run: str) -> None:
        """Removes a run with all that was kept of it."""
        life = self.life(run)
        if life is not None:
            self._store.append(_SUMMARY + run, [b""], keep=0)
            self._end(run, life)

    def _stored(self, run: str) -> Summary | None:
        kept = self._store.entries(_SUMMARY + run, 0, 1)
        return decode(kept[0].value) if kept else None

    def _append(self, run: str, push: Push, summary: Summary) -> Summary:
        """Takes the push in; the summary with it."""
        events = [
            RunEvent(each.step, unix(each.time), each.rule, each.severity, each.sentence)
            for each in push.events
        ]
        if events:
            values = [msgspec.msgpack.encode(event) for event in events]
            log = f"run/events/{summary.life}/{run}"
            self._store.append(log, values, keep=KEEP_EVENTS, source="push", sequence=push.sequence)
        # Last: a push is there when its points are, and all before it can be repeated.
        levels = Levels(self._store, run, summary.life)
        levels.append(push.sequence, self._clock(), Rows.of_points(push.points), events)
        now = self._caught_up(summary, levels)
        if now.entry // BLOCK != summary.entry // BLOCK:
            levels.compact()
        return now

    def _end(self, run: str, life: str) -> None:
        Levels(self._store, run, life).forget()
        for log in (f"run/events/{life}/{run}", f"run/report/{run}"):
            self._store.append(log, [b""], keep=0)

    def _caught_up(self, summary: Summary, levels: Levels) -> Summary:
        while batches := levels.batches(summary.entry, _PAGE):
            for entry, batch in batches:
                summary = folded(
                    summary, entry, batch.sequence, batch.received, unpack(batch.rows), batch.events
                )
            if len(batches) < _PAGE:
                break
        return summary

    def _make_room(self) -> None:
        names = self.names()
        if len(names) < MOST_RUNS:
            return
        now = self._clock()
        heard = {name: found.received for name in names if (found := self.summary(name))}
        oldest = min(heard, key=lambda name: heard[name])
        if now - heard[oldest] < SILENT:
            raise InputError("run", f"there are {MOST_RUNS} runs, and all of them are under way")
        self.forget(oldest)


def _life(push: Push) -> str:
    """Made of the push alone, so that whoever takes it, and however often, means the same."""
    at = begins(push)
    return str(int(at * 1000)) if math.isfinite(at) else "0"

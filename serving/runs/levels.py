"""The points of one run in levels: every 16 entries of a level are reduced to one of the next.

The lowest level holds the batches as they came. Reading a million points takes the level that has
few enough rows, and below it only what was not reduced yet; reading a short stretch goes down to
the points. The lowest levels forget their oldest entries first, so that old parts grow coarse and
nothing grows without bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec
from msgspec import Struct

from driftline.metadata.errors import StoreError

from ..stores.store import Entry, Store
from .rows import Rows, unpack
from .summary import RunEvent

T = TypeVar("T")

TOP = 3
BLOCK = 16
ENOUGH_ROWS = 32_768
ENOUGH_ENTRIES = 4_096
KEEP = (100_000, 16_384, 16_384, 16_384)
_PAGE = 1_024
_ALL = 2**62


class Batch(Struct, frozen=True, array_like=True):
    """An entry of the lowest level: one push, received at a Unix second of the service's clock."""

    sequence: int
    received: float
    rows: bytes
    events: list[RunEvent]


class _Block(Struct, frozen=True, array_like=True):
    """An entry of a higher level. It stands for the entries of the level below that come after
    `since`; `ends` are the last it stands for, at each level from the lowest up."""

    since: int
    ends: list[int]
    rows: bytes


@dataclass(frozen=True, slots=True)
class _Read:
    entry: int
    since: int
    ends: list[int]
    rows: Rows


class Levels:
    """The logs of one run's points in one of its lives; all state is in the store."""

    def __init__(self, store: Store, run: str, life: str) -> None:
        self._store = store
        self._logs = [f"run/{level}/{life}/{run}" for level in range(TOP + 1)]

    def append(self, sequence: int, received: float, rows: Rows, events: list[RunEvent]) -> None:
        """Takes one push in, once by its sequence number."""
        batch = msgspec.msgpack.encode(Batch(sequence, received, rows.pack(), events))
        self._store.append(self._logs[0], [batch], keep=KEEP[0], source="push", sequence=sequence)

    def batches(self, after: int, limit: int) -> list[tuple[int, Batch]]:
        """Batches with their numbers, those after number `after`, oldest first."""
        entries = self._store.entries(self._logs[0], after, limit)
        return [(entry.sequence, _decoded(entry, Batch)) for entry in entries]

    def compact(self) -> None:
        """Reduces what there is enough of. Any number of workers may do it at the same time: all
        make the same blocks, and the store takes each once."""
        for level in range(1, TOP + 1):
            since = self._ends()[level - 1]
            while len(below := self._entries(level - 1, since, BLOCK)) == BLOCK:
                rows = Rows.joined(each.rows for each in below).every(BLOCK)
                block = _Block(since, [*below[-1].ends, below[-1].entry], rows.pack())
                since = below[-1].entry
                self._store.append(
                    self._logs[level],
                    [msgspec.msgpack.encode(block)],
                    keep=KEEP[level],
                    source="compact",
                    sequence=since,
                )

    def rows(self, names: Sequence[str], low: int, high: int, *, points: int, entries: int) -> Rows:
        """The rows that touch the steps from `low` to `high`: about `ENOUGH_ROWS` at the most,
        when `points` points in `entries` batches lie there."""
        target = 0
        while target < TOP and (points > ENOUGH_ROWS or entries > ENOUGH_ENTRIES):
            points, entries, target = points // BLOCK, entries // BLOCK, target + 1
        found: list[Rows] = []
        spans: list[tuple[int, int]] = []
        ends = [0] * (TOP + 1)
        for level in range(TOP, -1, -1):
            rest: list[_Read] = []
            touched: list[_Read] = []
            for span in [*spans, (ends[level], _ALL)]:
                rest = list(self._read(level, *span))
                touched += [each for each in rest if _touches(each.rows, low, high)]
            if rest:
                ends[:level] = rest[-1].ends
            # What the level below has forgotten is known at this one only.
            oldest = self._oldest(level - 1) if level > target else _ALL
            found += [each.rows.pick(names) for each in touched if each.since + 1 < oldest]
            below = (each for each in touched if each.since + 1 >= oldest)
            spans = _merged((each.since, each.ends[-1]) for each in below)
        return Rows.joined(found).within(low, high)

    def forget(self) -> None:
        """Empties all levels."""
        for log in self._logs:
            self._store.append(log, [b""], keep=0)

    def _ends(self) -> list[int]:
        """The last entry of each level below the top that is part of a block of the next."""
        ends = [0] * (TOP + 1)
        for level in range(TOP, 0, -1):
            after, last = ends[level], None
            while entries := self._store.entries(self._logs[level], after, _PAGE):
                last, after = entries[-1], entries[-1].sequence
            if last is not None:
                ends[:level] = _decoded(last, _Block).ends
        return ends

    def _read(self, level: int, since: int, until: int) -> Iterator[_Read]:
        """The entries ``since + 1`` to `until`, as far as they are there."""
        while since < until:
            entries = self._entries(level, since, min(until - since, _PAGE))
            yield from (each for each in entries if each.entry <= until)
            if len(entries) < _PAGE:
                return
            since = entries[-1].entry

    def _entries(self, level: int, since: int, limit: int) -> list[_Read]:
        found = []
        for entry in self._store.entries(self._logs[level], since, limit):
            at = entry.sequence
            if level == 0:
                found.append(_Read(at, at - 1, [], unpack(_decoded(entry, Batch).rows)))
            else:
                block = _decoded(entry, _Block)
                found.append(_Read(at, block.since, block.ends, unpack(block.rows)))
        return found

    def _oldest(self, level: int) -> int:
        entries = self._store.entries(self._logs[level], 0, 1)
        return entries[0].sequence if entries else _ALL


def _decoded(entry: Entry, kind: type[T]) -> T:
    try:
        return msgspec.msgpack.decode(entry.value, type=kind)
    except msgspec.DecodeError as error:
        raise StoreError(f"the points of a run are damaged: {error}") from None


def _touches(rows: Rows, low: int, high: int) -> bool:
    return bool(len(rows)) and bool(((rows.last >= low) & (rows.first <= high)).any())


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans that follow one another joined."""
    merged: list[tuple[int, int]] = []
    for since, until in spans:
        if merged and merged[-1][1] == since:
            merged[-1] = (merged[-1][0], until)
        else:
            merged.append((since, until))
    return merged

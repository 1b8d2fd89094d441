"""State in one process: for tests, notebooks and a service with a single worker."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import ClassVar, TypeVar

from driftline.metadata.counts import Counts, Layout

from .folding import Place, check, folded
from .lease import Held, granted
from .limits import BUCKET_SILENCE, CLEANING, LOG_SILENCE, SOURCE_SILENCE
from .store import Delta, Entry, Lease

K = TypeVar("K")
V = TypeVar("V")
# What a source's last sequence is about: counts, or one log.
_COUNTS = "counts"


@dataclass(slots=True)
class _Log:
    last: int = 0
    touched: float = 0.0
    entries: deque[Entry] = field(default_factory=deque)


class MemoryStore:
    """All state lies in this process behind one lock, and ends with it.

    A forked child goes on with a copy of its own. `clock` gives Unix seconds.
    """

    tag: ClassVar[str] = "memory"

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._lock = lock = threading.Lock()
        self._sources: dict[tuple[str, str], tuple[int, float]] = {}
        # Bytes, not Counts: a caller may go on to change the arrays it handed in or got back.
        self._counts: dict[Place, tuple[bytes, float]] = {}
        self._counters: dict[str, float] = {}
        self._documents: dict[str, tuple[int, bytes]] = {}
        self._logs: dict[str, _Log] = {}
        self._leases: dict[str, Held] = {}
        self._records: dict[str, tuple[float, bytes]] = {}
        self._cleaned = clock()
        # A fork waits for the call that is under way, so that the child's copy is whole and its
        # lock is free.
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )

    # Counts -------------------------------------------------------------------------------
    def add(
        self, source: str, sequence: int, deltas: Sequence[Delta], counters: Mapping[str, float]
    ) -> None:
        """Adds all of it or nothing, and once by (source, sequence)."""
        check(counters)
        sums = folded(deltas)
        with self._lock:
            if self._is_done(_COUNTS, source, sequence):
                return
            now = self._clean()
            found = {place: self._sum(place, counts) for place, counts in sums.items()}
            self._counts.update((place, (data, now)) for place, data in found.items())
            for name, value in counters.items():
                self._counters[name] = self._counters.get(name, 0.0) + value
            self._sources[_COUNTS, source] = (sequence, now)

    def read(self, series: str, layout: Layout, start: int, end: int) -> dict[int, Counts]:
        """The buckets that begin in ``[start, end)``, ascending, of that layout only."""
        with self._lock:
            found = {
                place.bucket: data
                for place, (data, _) in self._counts.items()
                if place.series == series
                and place.layout == layout.key
                and start <= place.bucket < end
            }
        return {bucket: layout.read(found[bucket]) for bucket in sorted(found)}

    def counters(self) -> dict[str, float]:
        """The sum of all counters ever added, by name."""
        with self._lock:
            return dict(self._counters)

    def prune(self, series: str, before: int) -> None:
        """Forgets the buckets that begin before `before`."""
        with self._lock:
            for place in [p for p in self._counts if p.series == series and p.bucket < before]:
                del self._counts[place]

    # Documents ----------------------------------------------------------------------------
    def get(self, key: str) -> tuple[int, bytes] | None:
        """A document with its version (1 when first written), or None."""
        with self._lock:
            return self._documents.get(key)

    def put(self, key: str, value: bytes, *, lease: Lease | None = None, name: str = "") -> bool:
        """Replaces a document; False when `lease` is not the newest one of `name`."""
        with self._lock:
            if self._is_stale(name, lease):
                return False
            version, _ = self._documents.get(key, (0, b""))
            self._documents[key] = (version + 1, bytes(value))
            return True

    def keys(self, prefix: str) -> list[str]:
        """The keys of all documents that begin so, ascending."""
        with self._lock:
            return sorted(key for key in self._documents if key.startswith(prefix))

    # Logs ---------------------------------------------------------------------------------
    def append(
        self,
        log: str,
        values: Sequence[bytes],
        *,
        keep: int,
        source: str = "",
        sequence: int = 0,
        lease: Lease | None = None,
        name: str = "",
    ) -> bool:
        """Appends in order and keeps the newest `keep`; once by (log, source, sequence)."""
        with self._lock:
            scope = f"log:{log}"
            if source and self._is_done(scope, source, sequence):
                return True
            if self._is_stale(name, lease):
                return False
            if not values:
                return True
            kept = self._logs.setdefault(log, _Log())
            kept.touched = self._clean()
            for value in values:
                kept.last += 1
                kept.entries.append(Entry(kept.last, bytes(value)))
            while len(kept.entries) > max(keep, 0):
                kept.entries.popleft()
            if source:
                self._sources[scope, source] = (sequence, kept.touched)
            return True

    def entries(self, log: str, after: int, limit: int) -> list[Entry]:
        """At most `limit` entries whose sequence is above `after`, oldest first."""
        with self._lock:
            kept = self._logs.get(log)
            if kept is None or not kept.entries:
                return []
            first = max(after + 1 - kept.entries[0].sequence, 0)
            return list(islice(kept.entries, first, first + max(limit, 0)))

    def logs(self, prefix: str) -> list[str]:
        """The names of all logs that hold entries and begin so, ascending."""
        with self._lock:
            return sorted(
                n for n, log in self._logs.items() if log.entries and n.startswith(prefix)
            )

    # Leases -------------------------------------------------------------------------------
    def acquire(self, name: str, holder: str, seconds: float) -> Lease | None:
        """Takes or renews a lease for `seconds`; None while another holder's runs."""
        with self._lock:
            held = granted(self._leases.get(name), holder, self._clock(), seconds)
            if held is None:
                return None
            self._leases[name] = held
            return Lease(held.holder, held.token)

    def release(self, name: str, lease: Lease) -> None:
        """Lets another holder take the lease at once, if it is still this one."""
        with self._lock:
            held = self._leases.get(name)
            if held is not None and held.is_of(lease):
                self._leases[name] = Held(held.holder, held.token, 0.0, 0.0)

    # Records ------------------------------------------------------------------------------
    def remember(self, records: Mapping[str, bytes], *, seconds: float, most: int) -> None:
        """Keeps records by key for at most `seconds`; beyond `most` the oldest go first."""
        with self._lock:
            now = self._clean()
            for key, value in records.items():
                self._records.pop(key, None)
                self._records[key] = (now + seconds, bytes(value))
            while self._records:
                oldest = next(iter(self._records))
                if len(self._records) <= most and self._records[oldest][0] > now:
                    break
                del self._records[oldest]

    def take(self, keys: Sequence[str]) -> dict[str, bytes]:
        """Removes and returns the records that are there; of several takers one gets each."""
        with self._lock:
            now = self._clock()
            found = {key: self._records.pop(key) for key in keys if key in self._records}
        return {key: value for key, (until, value) in found.items() if until > now}

    # --------------------------------------------------------------------------------------
    def ping(self) -> None:
        """Always well."""

    def close(self) -> None:
        """Nothing to let go of."""

    # Within the lock ----------------------------------------------------------------------
    def _is_done(self, scope: str, source: str, sequence: int) -> bool:
        last = self._sources.get((scope, source))
        return last is not None and sequence <= last[0]

    def _is_stale(self, name: str, lease: Lease | None) -> bool:
        if lease is None:
            return False
        held = self._leases.get(name)
        return held is None or not held.is_of(lease)

    def _sum(self, place: Place, counts: Counts) -> bytes:
        if place in self._counts:
            counts = counts.layout.read(self._counts[place][0]) + counts
        return counts.to_bytes()

    def _clean(self) -> float:
        now = self._clock()
        if abs(now - self._cleaned) >= CLEANING:
            self._cleaned = now
            _drop(self._records, lambda record: record[0] <= now)
            _drop(self._sources, lambda last: last[1] < now - SOURCE_SILENCE)
            _drop(self._counts, lambda kept: kept[1] < now - BUCKET_SILENCE)
            for log in self._logs.values():
                if log.touched < now - LOG_SILENCE:
                    log.entries.clear()
        return now


def _drop(values: dict[K, V], is_old: Callable[[V], bool]) -> None:
    for key in [key for key, value in values.items() if is_old(value)]:
        del values[key]

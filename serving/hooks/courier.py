"""The courier: takes counts to the store, each exactly once, however often it must try."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field

from driftline.metadata.counts import Counts
from driftline.metadata.errors import StoreError

from ..stores.store import Delta, Store


@dataclass(slots=True)
class _Parcel:
    """Counts by (series, bucket) and counters, on their way under one number."""

    number: int
    counts: dict[tuple[str, int], Counts] = field(default_factory=dict)
    counters: dict[str, float] = field(default_factory=dict)


class Courier:
    """Counts that wait for the store, merged by series and bucket.

    While the store is away they only merge, and buckets older than the ring that they belong to
    are forgotten, as the store would forget them: the size is bounded by the rings. A parcel that
    was handed over with unknown outcome is handed over again, unchanged and under its own number,
    until the store says that it is there; what comes later waits for the next one.

    Args:
        store: where the counts go.
        keep: seconds that a series' buckets matter.
    """

    def __init__(self, store: Store, keep: Mapping[str, int]) -> None:
        self.source = uuid.uuid4().hex
        self.problem = ""
        self._store = store
        self._keep = dict(keep)
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._next = _Parcel(1)
        self._underway: _Parcel | None = None

    def add(self, counts: Mapping[tuple[str, int], Counts], counters: Mapping[str, float]) -> None:
        """Takes counts by (series, start of the bucket), and counters by name."""
        with self._lock:
            waiting = self._next.counts
            for key, each in counts.items():
                waiting[key] = waiting[key] + each if key in waiting else each
            total = self._next.counters
            for name, value in counters.items():
                total[name] = total.get(name, 0.0) + value
            self._forget_old(waiting)

    def send(self) -> bool:
        """Hands everything over; False if the store is away (`problem` says why), then it waits."""
        with self._sending:
            while parcel := self._parcel():
                deltas = [Delta(series, at, each) for (series, at), each in parcel.counts.items()]
                try:
                    self._store.add(self.source, parcel.number, deltas, parcel.counters)
                except StoreError as error:
                    self.problem = str(error)
                    return False
                self._underway = None
                self.problem = ""
            return True

    @property
    def waiting(self) -> int:
        """The number of (series, bucket) pairs that are not in the store yet."""
        with self._lock:
            underway = self._underway
            return len(self._next.counts) + (len(underway.counts) if underway else 0)

    def _parcel(self) -> _Parcel | None:
        """The parcel that is under way, or the next one; None if there is nothing to send."""
        with self._lock:
            if self._underway is None and (self._next.counts or self._next.counters):
                self._underway = self._next
                self._next = _Parcel(self._next.number + 1)
            return self._underway

    def _forget_old(self, waiting: dict[tuple[str, int], Counts]) -> None:
        newest: dict[str, int] = {}
        for series, at in waiting:
            newest[series] = max(at, newest.get(series, at))
        for series, at in list(waiting):
            if at <= newest[series] - self._keep.get(series, 0):
                del waiting[series, at]

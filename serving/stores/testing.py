"""A store that fails when it is told to, for tests of whatever stands before a store."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from driftline.metadata.counts import Counts, Layout
from driftline.metadata.errors import StoreError

from .store import Delta, Entry, Lease, Store

T = TypeVar("T")


class FlakyStore:
    """`inner`, as seen through a network that can be told to fail; all its attributes may be set.

    - `away`: every call raises `StoreError` and does nothing;
    - `lost_replies`: so many of the next calls do their work and raise `StoreError` all the same;
    - `delay`: seconds every call waits before it does anything;
    - `calls`: how often each method was called, by name.

    As with the real ones, a `take` whose reply was lost answers the same call when repeated.
    """

    def __init__(self, inner: Store, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self.inner = inner
        self.away = False
        self.lost_replies = 0
        self.delay = 0.0
        self.calls: Counter[str] = Counter()
        self._sleep = sleep
        self._lock = threading.Lock()
        self._taken: dict[tuple[str, ...], dict[str, bytes]] = {}

    # Counts -------------------------------------------------------------------------------
    def add(
        self, source: str, sequence: int, deltas: Sequence[Delta], counters: Mapping[str, float]
    ) -> None:
        """As `Store.add`."""
        self._through("add", lambda: self.inner.add(source, sequence, deltas, counters))

    def read(self, series: str, layout: Layout, start: int, end: int) -> dict[int, Counts]:
        """As `Store.read`."""
        return self._through("read", lambda: self.inner.read(series, layout, start, end))

    def counters(self) -> dict[str, float]:
        """As `Store.counters`."""
        return self._through("counters", self.inner.counters)

    def prune(self, series: str, before: int) -> None:
        """As `Store.prune`."""
        self._through("prune", lambda: self.inner.prune(series, before))

    # Documents ----------------------------------------------------------------------------
    def get(self, key: str) -> tuple[int, bytes] | None:
        """As `Store.get`."""
        return self._through("get", lambda: self.inner.get(key))

    def put(self, key: str, value: bytes, *, lease: Lease | None = None, name: str = "") -> bool:
        """As `Store.put`."""
        return self._through("put", lambda: self.inner.put(key, value, lease=lease, name=name))

    def keys(self, prefix: str) -> list[str]:
        """As `Store.keys`."""
        return self._through("keys", lambda: self.inner.keys(prefix))

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
        """As `Store.append`."""
        return self._through(
            "append",
            lambda: self.inner.append(
                log, values, keep=keep, source=source, sequence=sequence, lease=lease, name=name
            ),
        )

    def entries(self, log: str, after: int, limit: int) -> list[Entry]:
        """As `Store.entries`."""
        return self._through("entries", lambda: self.inner.entries(log, after, limit))

    def logs(self, prefix: str) -> list[str]:
        """As `Store.logs`."""
        return self._through("logs", lambda: self.inner.logs(prefix))

    # Leases -------------------------------------------------------------------------------
    def acquire(self, name: str, holder: str, seconds: float) -> Lease | None:
        """As `Store.acquire`."""
        return self._through("acquire", lambda: self.inner.acquire(name, holder, seconds))

    def release(self, name: str, lease: Lease) -> None:
        """As `Store.release`."""
        self._through("release", lambda: self.inner.release(name, lease))

    # Records ------------------------------------------------------------------------------
    def remember(self, records: Mapping[str, bytes], *, seconds: float, most: int) -> None:
        """As `Store.remember`."""
        self._through("remember", lambda: self.inner.remember(records, seconds=seconds, most=most))

    def take(self, keys: Sequence[str]) -> dict[str, bytes]:
        """As `Store.take`."""
        asked = tuple(keys)

        def work() -> dict[str, bytes]:
            found = self._taken.get(asked)
            self._taken[asked] = self.inner.take(keys) if found is None else found
            return self._taken[asked]

        found = self._through("take", work)
        self._taken.pop(asked, None)
        return found

    # --------------------------------------------------------------------------------------
    def ping(self) -> None:
        """As `Store.ping`."""
        self._through("ping", self.inner.ping)

    def close(self) -> None:
        """Closes the inner store; never fails."""
        self.calls["close"] += 1
        self.inner.close()

    def _through(self, name: str, work: Callable[[], T]) -> T:
        with self._lock:
            self.calls[name] += 1
        if self.delay:
            self._sleep(self.delay)
        if self.away:
            raise StoreError("the store is away")
        answer = work()
        with self._lock:
            lost = self.lost_replies > 0
            self.lost_replies -= lost
        if lost:
            raise StoreError("the reply was lost")
        return answer

"""The inbox: requests lie here for a moment, raw, and are counted off the request path."""

from __future__ import annotations

import threading
from collections.abc import Callable

from .seen import Seen

MOST_BYTES = 16 * 2**20
MOST_REQUESTS = 20_000


class Inbox:
    """A bounded list of requests that wait to be counted; none is ever dropped.

    When half full it calls `wake`, so that the background thread comes early; when full, the
    request that filled it counts them all itself. Safe to use from many threads.

    Args:
        count: takes the requests that were waiting; one call at a time.
        wake: called when it is half full.
        most_bytes: arrays kept at the most, in bytes.
    """

    def __init__(
        self,
        count: Callable[[list[Seen]], None],
        wake: Callable[[], None],
        *,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._count = count
        self._wake = wake
        self._most = most_bytes
        self._half = most_bytes // 2
        self._lock = threading.Lock()
        self._counting = threading.Lock()
        self._requests: list[Seen] = []
        self._bytes = 0

    def append(self, seen: Seen) -> None:
        """Takes a request in."""
        with self._lock:
            self._requests.append(seen)
            self._bytes += seen.size
            full = self._bytes >= self._half or len(self._requests) >= MOST_REQUESTS
        if full:
            self._relieve()

    def drain(self) -> None:
        """Counts whatever waits; when it returns, all that was appended before is counted."""
        with self._counting:
            with self._lock:
                requests, self._requests = self._requests, []
                self._bytes = 0
            if requests:
                self._count(requests)

    def _relieve(self) -> None:
        if self._bytes >= self._most or len(self._requests) >= 2 * MOST_REQUESTS:
            self.drain()
        else:
            self._wake()

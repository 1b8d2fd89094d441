"""One thread that takes what others put down, so that they never wait."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

log = logging.getLogger("driftline")

T = TypeVar("T")

RESERVED = 1000


class Worker(Generic[T]):
    """Hands what was put to `handle` in batches, in order, on a thread of its own.

    `put` takes no lock and wakes nobody: the thread looks every `tick` seconds, since a wake-up
    costs the training thread more than the work it hands over. What finds the queue full is
    counted in `dropped`; what `must` be handled has 1,000 places more, so that a queue full of
    points cannot keep out the end of a run. An error of `handle` is logged, and the batch counts
    as done.

    The thread begins with the first `put`: by then a dataset has forked its own processes, which
    must not inherit a lock it holds. In a forked child nothing is taken.

    Args:
        handle: gets what has come since the last tick, perhaps nothing.
        name: of the thread.
        capacity: how many may wait.
        tick: seconds.
    """

    def __init__(
        self,
        handle: Callable[[list[T]], None],
        *,
        name: str,
        capacity: int = 10_000,
        tick: float = 0.2,
    ) -> None:
        self.dropped = 0
        self.failures = 0
        self._handle = handle
        self._name = name
        self._capacity = capacity
        self._tick = tick
        self._items: deque[T] = deque()
        # SimpleQueue.put may be called again while it runs, so a signal handler may flush.
        self._wakes: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._put = self._done = 0
        self._rounds = 0
        self._stopping = False
        self._pid = os.getpid()
        self._thread: threading.Thread | None = None

    def put(self, item: T, *, must: bool = False) -> bool:
        """False if there was no room, or nobody to take it any more."""
        if self._stopping or os.getpid() != self._pid:
            return False
        if len(self._items) >= self._capacity + (RESERVED if must else 0):
            self.dropped += 1
            return False
        self._items.append(item)
        self._put += 1
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        return True

    def wake(self) -> None:
        """Has what was put handled at once."""
        self._wakes.put(True)

    def flush(self, seconds: float) -> bool:
        """True once all that was put before is handled; False after `seconds`."""
        if self._thread is None or os.getpid() != self._pid:
            return True
        until = time.monotonic() + seconds
        target, rounds = self._put, self._rounds + 1
        self._wakes.put(True)
        while self._done < target or self._rounds < rounds:
            if time.monotonic() > until or not self._thread.is_alive():
                return False
            time.sleep(0.002)
        return True

    def stop(self, seconds: float) -> bool:
        """Flushes and ends the thread; False if it was still busy after `seconds`."""
        if self._thread is None or os.getpid() != self._pid:
            self._stopping = True
            return True
        self._stopping = True
        self._wakes.put(True)
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        while True:
            stopping = self._stopping
            if not stopping:
                with contextlib.suppress(queue.Empty):
                    self._wakes.get(timeout=self._tick)
                stopping = self._stopping
            batch = [self._items.popleft() for _ in range(len(self._items))]
            try:
                self._handle(batch)
            except Exception:
                self.failures += 1
                if self.failures <= 3:
                    log.exception("%s: %d items were not handled", self._name, len(batch))
            self._done += len(batch)
            self._rounds += 1
            if stopping and not self._items:
                return

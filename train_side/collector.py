"""Copies of training batches become statistics on a thread of their own."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from .batches import Batch, batch_of
from .budget import Budget
from .statistics import DataStatistics

# The worker looks for batches at this interval, instead of being woken by each: a wake-up costs
# the training thread more than the copy of a small batch.
INTERVAL = 0.05
CAPACITY = 256 * 1024**2


class Collector:
    """Takes batches in the training thread, and adds them to `statistics` in another one.

    Taking costs one copy to NumPy. After the first 100 batches only so many are taken that copy
    and statistics stay under one hundredth of the time; the others are counted as `skipped`. While
    more than `capacity` bytes wait, batches are counted as `dropped`.

    The first error ends the collecting; it is in `error`, and `finish` raises it.
    """

    def __init__(
        self,
        statistics: DataStatistics,
        *,
        capacity: int = CAPACITY,
        budget: Budget | None = None,
    ) -> None:
        self.statistics = statistics
        self.taken = self.skipped = self.dropped = 0
        self.error: Exception | None = None
        self._capacity = capacity
        self._budget = budget or Budget()
        self._queue: deque[Batch] = deque()
        # Each is written by one thread alone, so no lock is needed; their difference is waiting.
        self._bytes_in = self._bytes_out = 0
        self._worked = 0.0
        self._booked = 0.0
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def offer(self, element: Sequence[Any]) -> None:
        """Takes a copy of one dataset element if budget and queue allow it."""
        if self.error is not None:
            return
        worked = self._worked
        self._budget.spend(worked - self._booked)
        self._booked = worked
        if not self._budget.allows():
            self.skipped += 1
            return
        if self._bytes_in - self._bytes_out > self._capacity:
            self.dropped += 1
            return
        began = time.perf_counter()
        batch = batch_of(element, copy=True)
        self._bytes_in += batch.bytes
        self.taken += 1
        self._queue.append(batch)
        self._budget.spend(time.perf_counter() - began)
        if self._thread is None:
            # Not before the first batch: by now the dataset has forked its own workers, which
            # must not inherit a lock that this thread holds.
            self._thread = threading.Thread(
                target=self._work, name="driftline-collector", daemon=True
            )
            self._thread.start()

    def finish(self) -> DataStatistics:
        """The statistics of all that was taken; the thread has ended.

        Raises:
            Exception: what stopped the collecting.
        """
        self._join()
        self._drain()
        if self.error is not None:
            raise self.error
        self.statistics.settle()
        return self.statistics

    def close(self) -> None:
        """Ends the thread; what still waits is forgotten."""
        self._queue.clear()
        self._join()

    def _join(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        while not self._stop.wait(INTERVAL):
            self._drain()

    def _drain(self) -> None:
        while self._queue and self.error is None:
            began = time.perf_counter()
            batch = self._queue.popleft()
            try:
                self.statistics.add(batch)
            except Exception as error:
                self.error = error
                self._queue.clear()
            self._bytes_out += batch.bytes
            self._worked += time.perf_counter() - began

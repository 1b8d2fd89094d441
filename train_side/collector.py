"""Copies of training batches become statistics on a thread of their own."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from .batches import Batch, batch_of
from .pacing import Pace
from .statistics import DataStatistics
from .worker import Worker

SHARE = 0.01
FREE = 100
CAPACITY = 256 * 1024**2
TICK = 0.05
LONGEST_FINISH = 600.0


class Collector:
    """Takes batches in the training thread, and adds them to `statistics` in another one.

    Taking costs one copy to NumPy. After the first 100 batches only so many are taken that copy
    and statistics stay under one hundredth of the time; the others are counted as `skipped`. While
    more than `capacity` bytes wait, batches are counted as `dropped`.

    The first error ends the collecting; it is in `error`, and `finish` raises it.
    """

    def __init__(
        self, statistics: DataStatistics, *, capacity: int = CAPACITY, pace: Pace | None = None
    ) -> None:
        self.statistics = statistics
        self.taken = self.skipped = self.dropped = 0
        self.error: Exception | None = None
        self._capacity = capacity
        self._pace = pace or Pace(SHARE, free=FREE)
        # Each is written by one thread alone, so no lock is needed; their difference is waiting.
        self._bytes_in = self._bytes_out = 0
        self._worked = self._charged = 0.0
        self._closed = False
        self._worker: Worker[Batch] = Worker(self._add, name="driftline-collector", tick=TICK)

    def offer(self, element: Sequence[Any]) -> None:
        """Takes a copy of one dataset element if time and room allow it.

        Raises:
            InputError: it is no (inputs…, label).
        """
        if self.error is not None:
            return
        worked = self._worked
        self._pace.charge(worked - self._charged)
        self._charged = worked
        if not self._pace.due():
            self.skipped += 1
            return
        if self._bytes_in - self._bytes_out > self._capacity:
            self.dropped += 1
            return
        began = time.perf_counter()
        batch = batch_of(element, copy=True)
        self._bytes_in += batch.bytes
        if self._worker.put(batch):
            self.taken += 1
        else:
            self._bytes_in -= batch.bytes
            self.dropped += 1
        self._pace.took(time.perf_counter() - began)

    def finish(self) -> DataStatistics:
        """The statistics of all that was taken; the thread has ended.

        Raises:
            Exception: what stopped the collecting.
        """
        if not self._worker.stop(LONGEST_FINISH):
            raise TimeoutError(f"batches still wait after {LONGEST_FINISH:.0f} s")
        if self.error is not None:
            raise self.error
        self.statistics.settle()
        return self.statistics

    def close(self) -> None:
        """Ends the thread; what still waits is forgotten."""
        self._closed = True
        self._worker.stop(LONGEST_FINISH)

    def _add(self, batches: list[Batch]) -> None:
        for batch in batches:
            began = time.thread_time()
            if self.error is None and not self._closed:
                try:
                    self.statistics.add(batch)
                except Exception as error:
                    self.error = error
            self._bytes_out += batch.bytes
            self._worked += time.thread_time() - began

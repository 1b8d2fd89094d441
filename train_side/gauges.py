"""What is read beside the steps, on a thread of its own: a reading may take seconds."""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Sequence

from .fence import Fence
from .probes.probe import Gauge

MOST = 100

Reading = tuple[float, dict[str, float]]


class Gauges:
    """Reads those that are due when it is asked, one round after the other.

    `ask` and `take` never wait: an answer is there to be taken once it has come. A reading that
    hangs holds up the gauges behind it and nobody else.
    """

    def __init__(self, gauges: Sequence[Gauge], fence: Fence) -> None:
        self.cpu = 0.0  # seconds of processor time
        self._read = {gauge: float("-inf") for gauge in gauges}
        self._fence = fence
        self._asked: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._found: deque[Reading] = deque(maxlen=MOST)
        self._busy = False
        self._thread: threading.Thread | None = None

    def ask(self) -> None:
        """Has those read that are due, if no round is under way."""
        if self._busy or not self._due():
            return
        self._busy = True
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="driftline-gauges", daemon=True)
            self._thread.start()
        self._asked.put(True)

    def take(self) -> list[Reading]:
        """What was read since the last call: unix seconds and values of each round."""
        return [self._found.popleft() for _ in range(len(self._found))]

    def stop(self) -> None:
        """The thread ends after the round that is under way."""
        self._asked.put(False)

    def _due(self) -> list[Gauge]:
        now = time.monotonic()
        return [gauge for gauge, read in self._read.items() if now - read >= gauge.every]

    def _run(self) -> None:
        while self._asked.get():
            values: dict[str, float] = {}
            for gauge in self._due():
                self._read[gauge] = time.monotonic()
                values |= self._fence.call(gauge.kind, gauge.read) or {}
            if values:
                self._found.append((time.time(), values))
            self.cpu = time.thread_time()
            self._busy = False

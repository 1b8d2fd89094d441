"""One run's entries on their way to a board, pushed by a thread of their own."""

from __future__ import annotations

import contextlib
import logging
import queue
import random
import threading
import time
from collections.abc import Callable

import requests

from ..point import encoder
from ..reading import Follower
from .pushed import Batch, Delivered, batch_of
from .sink import Run

log = logging.getLogger("driftline")

WAITING = 0.5
LARGEST_BATCH = 200
SHORTEST, LONGEST = 0.5, 30.0
APART = 0.25


class Pusher:
    """Follows one run's journal until it is finished; it knows nothing of any other run.

    Args:
        address: of the run at the board.
        run: what is pushed, and where to note what was delivered of it.
        session: opens the connections.
        timeout: seconds that one push may take.
    """

    def __init__(
        self, address: str, run: Run, *, session: Callable[[], requests.Session], timeout: float
    ) -> None:
        self.sent = self.refused = 0
        self.error: str | None = None
        self.cpu = 0.0
        self._address = address
        self._session = session
        self._timeout = timeout
        self._delivered = Delivered(run.folder / "board.json", run.name)
        self._follower = Follower(run.journal, after=self._delivered.last)
        self._largest = LARGEST_BATCH
        self._wakes: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._until: float | None = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts the thread, once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="driftline-board", daemon=True)
            self._thread.start()

    def wake(self) -> None:
        """Something waits that should go soon."""
        self._wakes.put(True)

    def finish(self, seconds: float) -> bool:
        """Pushes what is left, for at most `seconds` or 5 s, or 2 s if the board does not answer.
        True if it was told everything. The thread ends after the push that is under way."""
        if self._thread is None or self._until is not None:
            return True
        self._until = time.monotonic() + min(seconds, 2.0 if self.error else 5.0)
        self.wake()
        self._thread.join(max(self._until - time.monotonic(), 0) + 0.1)
        return not self._thread.is_alive() and self.error is None

    def _run(self) -> None:
        pause = SHORTEST
        with self._session() as session:
            batch: Batch | None = None
            while not self._over():
                batch = batch or self._next()
                if batch is None:
                    if self._until is not None:
                        return
                    self._sleep(WAITING)
                elif self._push(session, batch):
                    batch, pause = None, SHORTEST
                    self._sleep(APART if self._until is None else 0, wake=False)
                else:
                    if self._largest < len(batch):
                        batch = None  # too large: cut anew
                        self._follower.back(self._delivered.last)
                    self._sleep(pause * random.uniform(0.7, 1.0), wake=False)
                    pause = min(2 * pause, LONGEST)
                self.cpu = time.thread_time()

    def _next(self) -> Batch | None:
        limit = self._largest
        entries = self._follower.next(min(limit, self._delivered.pending or limit))
        if not entries:
            return None
        batch = batch_of(entries)
        self._delivered.begin(batch.sequence)
        return batch

    def _push(self, session: requests.Session, batch: Batch) -> bool:
        """True if this batch is done with."""
        if not batch:
            self._delivered.done()
            return True
        try:
            body = encoder.encode(batch.body())
            answer = session.post(f"{self._address}/points", data=body, timeout=self._timeout)
        except requests.RequestException as error:
            self._failed(f"{type(error).__name__}: {error}")
            return False
        if answer.status_code == 413 and len(batch) > 1:
            self._largest = len(batch) // 2
            return False
        if answer.status_code in (400, 413, 422):
            self.refused += len(batch)
            log.warning("the board refused a batch: %s %.200s", answer.status_code, answer.text)
        elif answer.status_code >= 300:
            self._failed(f"it answered {answer.status_code}")
            return False
        else:
            self.sent += len(batch)
            if self.error:
                log.info("the board at %s answers again", self._address)
            self.error = None
        if not self._over():
            # Else the run may have been opened again, by one that sends this batch once more.
            self._delivered.done()
        return True

    def _failed(self, reason: str) -> None:
        if self.error is None:
            log.warning("the board at %s cannot be told: %.300s", self._address, reason)
        self.error = reason

    def _over(self) -> bool:
        return self._until is not None and time.monotonic() >= self._until

    def _sleep(self, seconds: float, *, wake: bool = True) -> None:
        """Waits; a wake-up ends it early only if `wake`, the end of the run always does."""
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if self._until is not None:
                left = min(left, max(self._until - time.monotonic(), 0))
            with contextlib.suppress(queue.Empty):
                self._wakes.get(timeout=left)
                if wake:
                    return
            if self._over():
                return

"""The live board: what the journal holds is pushed to a driftline service."""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import random
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import requests

from ..point import Notice, encoder
from ..reading import Follower
from .pushed import Batch, Delivered, batch_of
from .sink import SINKS, Run, Sink, Values

log = logging.getLogger("driftline")

SOON, WAITING = 10, 0.5
LARGEST_BATCH = 200
SHORTEST, LONGEST = 0.5, 30.0
APART = 0.25


@SINKS.register
class Board(Sink):
    """Pushes points and events as soon as ten of them wait, or half a second after the first.

    It reads them from the journal, so one that was away is caught up when it returns, and none is
    kept in memory for it. It is asked at most four times a second, and less and less often while
    it does not answer (0.5 to 30 s). Each batch has a sequence number, the same for each attempt,
    by which a service knows what it has already; a batch it calls malformed is left out.

    Args:
        url: of the service.
        token: bearer token; from the environment variable ``DRIFTLINE_TOKEN`` if None.
        timeout: seconds that one push may take.
    """

    kind = "board"

    def __init__(self, url: str, *, token: str | None = None, timeout: float = 5.0) -> None:
        self.sent = self.refused = 0
        self.error: str | None = None
        self.url = url.rstrip("/")
        self._token = token or os.environ.get("DRIFTLINE_TOKEN")
        self._timeout = timeout
        self._wakes: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._waiting = 0
        self._until: float | None = None
        self._thread: threading.Thread | None = None

    def open(self, run: Run) -> None:
        """Goes on after what was delivered of this run before."""
        self._until = None
        self._address = f"{self.url}/runs/{quote(run.name, safe='')}"
        self._delivered = Delivered(run.folder / "board.json", run.name)
        self._follower = Follower(run.journal, after=self._delivered.last)
        self._largest = LARGEST_BATCH
        self._folder: Path = run.folder

    def write(self, points: Sequence[Values], notices: Sequence[Notice]) -> None:
        """Tells the thread that there is something in the journal."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="driftline-board", daemon=True)
            self._thread.start()
        self._waiting += len(points) + len(notices)
        if self._waiting >= SOON or notices:
            self._waiting = 0
            self._wakes.put(True)

    def close(self, seconds: float) -> None:
        """Pushes what is left; a slow board is waited for at most 5 s, one that is away 2 s."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._until = time.monotonic() + min(seconds, 2.0 if self.error else 5.0)
        self._wakes.put(True)
        thread.join(max(self._until - time.monotonic(), 0) + 0.1)
        if thread.is_alive() or self.error:
            log.warning("the board was not told everything (%s); %s has it all",
                        self.error or "no time left", self._folder)  # fmt: skip

    def put_report(self, path: Path) -> bool:
        """Hands the report over, once, if the board has answered so far; False if not taken."""
        if self.error is not None:
            return False
        try:
            with self._session() as session:
                answer = session.put(
                    f"{self._address}/report",
                    data=path.read_bytes(),
                    headers={"Content-Type": "text/markdown; charset=utf-8"},
                    timeout=self._timeout,
                )
        except (OSError, requests.RequestException) as error:
            log.info("the board did not take the report: %s", error)
            return False
        return answer.ok

    def _session(self) -> requests.Session:
        session = requests.Session()
        if self._token:
            session.headers["Authorization"] = f"Bearer {self._token}"
        session.headers["Content-Type"] = "application/json"
        return session

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
                        self._follower.position = self._delivered.last
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
                log.info("the board at %s answers again", self.url)
            self.error = None
        self._delivered.done()
        return True

    def _failed(self, reason: str) -> None:
        if self.error is None:
            log.warning("the board at %s cannot be told: %.300s", self.url, reason)
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

"""The live board: what the journal holds is pushed to a driftline service."""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

import requests

from ..point import Notice
from .pusher import Pusher
from .sink import SINKS, Run, Sink, Values

log = logging.getLogger("driftline")

SOON = 10


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
        self.url = url.rstrip("/")
        self._token = token or os.environ.get("DRIFTLINE_TOKEN")
        self._timeout = timeout
        self._pusher: Pusher | None = None
        self._waiting = 0

    @property
    def sent(self) -> int:
        """Entries of this run that the board took."""
        return self._pusher.sent if self._pusher else 0

    @property
    def refused(self) -> int:
        """Entries of this run that it called malformed."""
        return self._pusher.refused if self._pusher else 0

    @property
    def error(self) -> str | None:
        """Why the last push of this run failed; None while the board answers."""
        return self._pusher.error if self._pusher else None

    def open(self, run: Run) -> None:
        """Goes on after what was delivered of this run before."""
        self._address = f"{self.url}/runs/{quote(run.name, safe='')}"
        self._folder: Path = run.folder
        self._waiting = 0
        # One for each run: that of the run before may still wait for an answer.
        self._pusher = Pusher(self._address, run, session=self._session, timeout=self._timeout)

    def write(self, points: Sequence[Values], notices: Sequence[Notice]) -> None:
        """Tells the thread that there is something in the journal."""
        if self._pusher is None:
            return
        self._pusher.start()
        self.cpu = self._pusher.cpu
        self._waiting += len(points) + len(notices)
        if self._waiting >= SOON or notices:
            self._waiting = 0
            self._pusher.wake()

    def close(self, seconds: float) -> None:
        """Pushes what is left; a slow board is waited for at most 5 s, one that is away 2 s."""
        if self._pusher is not None and not self._pusher.finish(seconds):
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

"""A bounded load for long runs: so many requests a second, all that a service is asked in a day."""

from __future__ import annotations

import http.client
import itertools
import json
import threading
import time
from collections import Counter
from typing import Any

READS = ("/drift", "/metrics", "/alerts", "/drift/timeline?limit=50", "/readyz", "/drift/pictures")
# Each so many predictions: a label for the last one, one of the reads, and a new connection, which
# may fall to another worker.
LABEL, READ, CONNECT = 5, 10, 40


class Gentle:
    """One client that predicts `rate` times a second until `stop`; `seen` counts the answers.

    Begun late it does not hurry: what could not be sent in time is not sent at all.
    """

    def __init__(self, address: str, row: list[Any], label: str, rate: float) -> None:
        self._host = address.removeprefix("http://")
        self._body = json.dumps({"instances": [row]})
        self._label = label
        self._pause = 1.0 / rate
        self._end = threading.Event()
        self.seen: Counter[str] = Counter()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def stop(self) -> None:
        """Ends it; the last answer has come when this returns."""
        self._end.set()
        self._thread.join(60)

    def _run(self) -> None:
        link = http.client.HTTPConnection(self._host, timeout=120)
        reads = itertools.cycle(READS)
        due = time.monotonic()
        for number in itertools.count(1):
            due = max(due + self._pause, time.monotonic())
            if self._end.wait(due - time.monotonic()):
                break
            if number % CONNECT == 0:
                link.close()
            try:
                told = self._ask(link, "POST", "/predict", self._body)
                if number % LABEL == 0:
                    word = {"request_id": json.loads(told)["request_id"], "label": self._label}
                    self._ask(link, "POST", "/feedback", json.dumps(word))
                if number % READ == 0:
                    self._ask(link, "GET", next(reads))
            except (OSError, http.client.HTTPException, ValueError) as problem:
                self.seen[type(problem).__name__] += 1
                link.close()
        link.close()

    def _ask(self, link: http.client.HTTPConnection, method: str, path: str, body: str = "") -> str:
        link.request(method, path, body or None, {"Content-Type": "application/json"})
        answer = link.getresponse()
        told = answer.read().decode()
        self.seen[f"{path.partition('?')[0]} {answer.status}"] += 1
        return told

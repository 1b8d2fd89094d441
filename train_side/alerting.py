"""Alerts from a training to a webhook, where there is no board that tells people."""

from __future__ import annotations

import hashlib
import hmac
import logging
import os
import time
import uuid
from collections import deque
from typing import Any
from urllib.parse import quote

import requests

from .point import Notice, encoder
from .policies import POLICIES, Policy, Training
from .worker import Worker

log = logging.getLogger("driftline")

ATTEMPTS = 5
PAUSE = 0.5


@POLICIES.register
class Alert(Policy):
    """POSTs each event as a CloudEvent (1.0, structured JSON), up to five times until it is taken.

    With a board no such policy is needed: it gets every event, and alerts by the service's sinks.
    The event's ``id`` stands in ``Idempotency-Key`` too; with a secret ``X-Driftline-Signature`` is
    ``sha256=`` and the hex HMAC-SHA256 of the body, as the service's own alerts have it.

    Args:
        url: of the receiver.
        secret: from the environment variable ``DRIFTLINE_ALERT_SECRET`` if None.
        timeout: seconds that one attempt may take.
    """

    kind = "alert"
    first_rank = True

    def __init__(self, url: str, *, secret: str | None = None, timeout: float = 5.0) -> None:
        self.delivered = self.failed = 0
        self._waiting: deque[str] = deque()  # as long as the worker's queue and batch
        self._url = url
        self._secret = secret or os.environ.get("DRIFTLINE_ALERT_SECRET")
        self._timeout = timeout
        self._worker: Worker[dict[str, Any]] = Worker(
            self._send_all, name="driftline-alert", capacity=100
        )

    def apply(self, notice: Notice, training: Training) -> None:
        """Hands the event to a thread of its own."""
        self._waiting.append(notice.sentence)
        if not self._worker.put(event(notice, training.run)):
            self.failed += 1
            self._waiting.pop()
            log.warning("an alert was not sent, too many wait: %s", notice.sentence)
        self._worker.wake()

    def flush(self, seconds: float) -> bool:
        """True once every event is delivered or given up."""
        return self._worker.flush(seconds)

    def finish(self, seconds: float) -> None:
        """Waits for what is on its way; what is not there by then is logged.

        It is tried further for as long as the process lives.
        """
        if not self.flush(seconds):
            for sentence in list(self._waiting):
                log.warning("an alert was not delivered when the training ended: %s", sentence)

    def _send_all(self, batch: list[dict[str, Any]]) -> None:
        for each in batch:
            if self._send(each):
                self.delivered += 1
            else:
                self.failed += 1
                log.warning("an alert was not delivered: %s", each["data"]["sentence"])
            self._waiting.popleft()

    def _send(self, sent: dict[str, Any]) -> bool:
        body = encoder.encode(sent)
        headers = {
            "Content-Type": "application/cloudevents+json; charset=utf-8",
            "Idempotency-Key": sent["id"],
        }
        if self._secret:
            digest = hmac.new(self._secret.encode(), body, hashlib.sha256).hexdigest()
            headers["X-Driftline-Signature"] = f"sha256={digest}"
        for attempt in range(ATTEMPTS):
            if attempt:
                time.sleep(PAUSE * 2 ** (attempt - 1))
            try:
                answer = requests.post(self._url, data=body, headers=headers, timeout=self._timeout)
            except requests.RequestException as error:
                log.debug("alert: %s", error)
                continue
            if answer.ok:
                return True
        return False


def event(notice: Notice, run: str) -> dict[str, Any]:
    """The CloudEvent of an event."""
    return {
        "specversion": "1.0",
        "id": uuid.uuid4().hex,
        "source": f"/driftline/runs/{quote(run, safe='')}",
        "type": "io.driftline.training.firing",
        "subject": f"training/{run}",
        "time": notice.time,
        "datacontenttype": "application/json",
        "data": {
            "run": run,
            "step": notice.step,
            "rule": notice.rule,
            "severity": notice.severity,
            "sentence": notice.sentence,
        },
    }

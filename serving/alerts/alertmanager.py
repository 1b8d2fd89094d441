"""Prometheus Alertmanager, API v2."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import ClassVar

import msgspec

from driftline.drift.verdict import Severity

from .alert import Message, moment
from .sink import DELIVERED, Limit, Outcome, SinkSettings
from .wire import Unreached, address, judged, post
from .words import told

PATH = "/api/v2/alerts"
_SEVERITIES = {"minor": "info", "moderate": "warning", "major": "critical"}


class Alertmanager:
    """POSTs each alert, again each minute while it fires; 2xx takes it.

    An alert that has grown worse is another one over there, so the one of the lesser severity is
    ended in the same request: routes by severity then reach whom they should.

    Like Prometheus it gives a firing alert an end four repetitions ahead, so that an alert whose
    sender is gone does not stay for ever.

    Raises:
        SettingError: the URL is not one.
    """

    kind: ClassVar[str] = "alertmanager"
    limits: ClassVar[tuple[Limit, ...]] = ()
    repeat_seconds: ClassVar[float] = 60.0

    def __init__(self, settings: SinkSettings, clock: Callable[[], float] = time.time) -> None:
        url = address(settings).rstrip("/")
        self._url = url if url.endswith(PATH) else url + PATH
        self._language = settings.language or "en"
        self._clock = clock

    def send(self, message: Message) -> Outcome:
        """Sends one alert."""
        now = self._clock()
        alerts = [self._alert(message, message.severity, now)]
        if message.before is not None:
            # With an end that stays, however often this is sent.
            ended = self._alert(message, message.before, now) | {"endsAt": message.at}
            alerts.insert(0, ended)
        body = msgspec.json.encode(alerts)
        try:
            reply = post(self._url, body, {"Content-Type": "application/json"}, want_body=False)
        except Unreached as error:
            return Outcome("retry", str(error))
        return judged(reply, now) or DELIVERED

    def _alert(self, message: Message, severity: Severity, now: float) -> dict[str, object]:
        alert = message.alert
        words = told(message, self._language)
        # Labels are the alert's identity over there: only what is told again when it changes.
        labels = {
            "alertname": "Driftline" + alert.kind.title().replace("_", ""),
            "model": alert.model,
            "version": alert.version,
            "name": alert.name,
            "severity": _SEVERITIES[severity],
        }
        annotations = {
            "summary": words.title,
            "description": "\n".join(words.lines),
            "signals": "\n".join(words.signals),
            "alert_id": alert.id,
        }
        ahead = moment(now) + timedelta(seconds=4 * self.repeat_seconds)
        ends = alert.until if message.state == "resolved" else ahead
        found: dict[str, object] = {
            "labels": {name: value for name, value in labels.items() if value},
            "annotations": {name: value for name, value in annotations.items() if value},
            "startsAt": alert.since,
            "endsAt": ends,
        }
        return found | ({"generatorURL": alert.link} if alert.link else {})

"""CloudEvents 1.0 over HTTP: the structured JSON mode, signed with HMAC-SHA256."""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Callable
from typing import ClassVar
from urllib.parse import quote

import msgspec

from .alert import Message
from .sink import DELIVERED, Limit, Outcome, SinkSettings
from .wire import Unreached, address, judged, post


class CloudEvents:
    """POSTs each message as an event; any 2xx takes it.

    The event's ``id`` is the message's key, and stands in ``Idempotency-Key`` too. With a secret,
    ``X-Driftline-Signature`` is ``sha256=`` and the hex HMAC-SHA256 of the body as sent.

    Raises:
        SettingError: the URL is not one.
    """

    kind: ClassVar[str] = "cloudevents"
    limits: ClassVar[tuple[Limit, ...]] = ()
    repeat_seconds: ClassVar[float] = 0.0

    def __init__(self, settings: SinkSettings, clock: Callable[[], float] = time.time) -> None:
        self._url = address(settings)
        self._secret = settings.secret
        self._clock = clock

    def send(self, message: Message) -> Outcome:
        """Sends one event."""
        body = msgspec.json.encode(event(message))
        headers = {
            "Content-Type": "application/cloudevents+json; charset=utf-8",
            "Idempotency-Key": message.key,
        }
        if self._secret is not None:
            digest = hmac.new(self._secret.reveal().encode(), body, hashlib.sha256).hexdigest()
            headers["X-Driftline-Signature"] = f"sha256={digest}"
        try:
            reply = post(self._url, body, headers, want_body=False)
        except Unreached as error:
            return Outcome("retry", str(error))
        return judged(reply, self._clock()) or DELIVERED


def event(message: Message) -> dict[str, object]:
    """The event of a message; its data is the alert."""
    alert = message.alert
    return {
        "specversion": "1.0",
        "id": message.key,
        "source": f"/driftline/models/{quote(alert.model, safe='')}",
        "type": f"io.driftline.{alert.kind}.{message.state}",
        "subject": f"{alert.model}/{alert.version}",
        "time": message.at,
        "datacontenttype": "application/json",
        "data": alert,
    }

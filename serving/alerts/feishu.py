"""Feishu (Lark): a custom bot's webhook, signed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Callable
from typing import ClassVar

import msgspec

from .alert import Message
from .coded import coded
from .fitting import cut
from .sink import Limit, Outcome, SinkSettings
from .wire import Unreached, address, post
from .words import footer, link_text, told

LINE_BYTES = 1200  # of some 16 lines; a request may have 20 KB


class Feishu:
    """POSTs each message as rich text; body ``code`` 0 takes it.

    Raises:
        SettingError: the URL is not one.
    """

    kind: ClassVar[str] = "feishu"
    limits: ClassVar[tuple[Limit, ...]] = (Limit(5, 1.0), Limit(100, 60.0))
    repeat_seconds: ClassVar[float] = 0.0

    def __init__(self, settings: SinkSettings, clock: Callable[[], float] = time.time) -> None:
        self._url = address(settings)
        self._secret = settings.secret
        self._language = settings.language or "en"
        self._clock = clock

    def send(self, message: Message) -> Outcome:
        """Sends one message, signed with the present second when a secret is set."""
        now = self._clock()
        body: dict[str, object] = {}
        if self._secret is not None:
            timestamp = str(int(now))
            body = {"timestamp": timestamp, "sign": sign(timestamp, self._secret.reveal())}
        body |= {"msg_type": "post", "content": {"post": self._post(message)}}
        headers = {"Content-Type": "application/json; charset=utf-8"}
        try:
            reply = post(self._url, msgspec.json.encode(body), headers)
        except Unreached as error:
            return Outcome("retry", str(error))
        # 11232: too often. 9499 is said of bad requests and of too many, so it is not final.
        return coded(reply, now, field="code", limited={11232, 9499}, refused=set(), pause=10.0)

    def _post(self, message: Message) -> dict[str, object]:
        words = told(message, self._language)
        lines = [*words.lines, *(f"• {each}" for each in words.signals), footer(message)]
        content = [[{"tag": "text", "text": cut(line, LINE_BYTES)}] for line in lines]
        if words.link:
            text = link_text(self._language)
            content.insert(-1, [{"tag": "a", "text": text, "href": words.link}])
        tongue = "zh_cn" if self._language == "zh" else "en_us"
        return {tongue: {"title": words.title, "content": content}}


def sign(timestamp: str, secret: str) -> str:
    """Base64 of HMAC-SHA256 with key ``timestamp\\nsecret`` over nothing; seconds as text."""
    digest = hmac.new(f"{timestamp}\n{secret}".encode(), b"", hashlib.sha256).digest()
    return base64.b64encode(digest).decode()

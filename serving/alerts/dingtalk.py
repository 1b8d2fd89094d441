"""DingTalk: a custom robot's webhook, signed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import time
from collections.abc import Callable
from typing import ClassVar
from urllib.parse import quote_plus

import msgspec

from .alert import Message
from .coded import coded
from .fitting import fitted
from .sink import Limit, Outcome, SinkSettings
from .wire import Unreached, address, post
from .words import footer, link_text, told

TEXT_BYTES = 15_000  # a request may have 20 KB

# Too often: the robot is then silenced for up to ten minutes, so asking each minute is enough.
_LIMITED = frozenset({130101, 410100})
# No such message type, a parameter is missing, or the text itself is not let through.
_REFUSED = frozenset({40035, 400105, 430101, 430102, 430103, 430104})


class DingTalk:
    """POSTs each message as markdown; ``errcode`` 0 takes it.

    Raises:
        SettingError: the URL is not one.
    """

    kind: ClassVar[str] = "dingtalk"
    limits: ClassVar[tuple[Limit, ...]] = (Limit(20, 60.0),)
    repeat_seconds: ClassVar[float] = 0.0

    def __init__(self, settings: SinkSettings, clock: Callable[[], float] = time.time) -> None:
        self._url = address(settings)
        self._secret = settings.secret
        self._language = settings.language or "en"
        self._clock = clock

    def send(self, message: Message) -> Outcome:
        """Sends one message, signed with the present millisecond when a secret is set."""
        now = self._clock()
        url = self._url
        if self._secret is not None:
            timestamp = str(int(now * 1000))
            signed = sign(timestamp, self._secret.reveal())
            url += ("&" if "?" in url else "?") + f"timestamp={timestamp}&sign={signed}"
        body = msgspec.json.encode({"msgtype": "markdown", "markdown": self._markdown(message)})
        try:
            reply = post(url, body, {"Content-Type": "application/json; charset=utf-8"})
        except Unreached as error:
            return Outcome("retry", str(error))
        return coded(reply, now, field="errcode", limited=_LIMITED, refused=_REFUSED, pause=60.0)

    def _markdown(self, message: Message) -> dict[str, str]:
        words = told(message, self._language)
        title = _plain(words.title)
        signals = [f"- {_plain(each)}" for each in words.signals]
        lines = [f"### {title}", *map(_plain, words.lines), *signals]
        link = f"[{link_text(self._language)}]({words.link})\n\n" if words.link else ""
        # A single line break is none in DingTalk's markdown.
        text = fitted(lines, link + footer(message), TEXT_BYTES, joint="\n\n")
        return {"title": title, "text": text}


def sign(timestamp: str, secret: str) -> str:
    """URL-encoded base64 of HMAC-SHA256 with key `secret` over ``timestamp\\nsecret``."""
    digest = hmac.new(secret.encode(), f"{timestamp}\n{secret}".encode(), hashlib.sha256).digest()
    return quote_plus(base64.b64encode(digest))


def _plain(text: str) -> str:
    # Names come from data: none of them shall become a link.
    return text.replace("](", "] (").replace("\n", " ")

"""WeCom (WeChat Work): a group robot's webhook."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

import msgspec

from .alert import Message
from .coded import coded
from .fitting import fitted
from .sink import Limit, Outcome, SinkSettings
from .wire import Unreached, address, post
from .words import footer, link_text, told

CONTENT_BYTES = 4096

_COLOURS = {"minor": "comment", "moderate": "warning", "major": "warning"}


class WeCom:
    """POSTs each message as markdown of at most 4,096 bytes; ``errcode`` 0 takes it.

    Raises:
        SettingError: the URL is not one.
    """

    kind: ClassVar[str] = "wecom"
    limits: ClassVar[tuple[Limit, ...]] = (Limit(20, 60.0),)
    repeat_seconds: ClassVar[float] = 0.0

    def __init__(self, settings: SinkSettings, clock: Callable[[], float] = time.time) -> None:
        self._url = address(settings)
        self._language = settings.language or "en"
        self._clock = clock

    def send(self, message: Message) -> Outcome:
        """Sends one message."""
        body = {"msgtype": "markdown", "markdown": {"content": self._content(message)}}
        headers = {"Content-Type": "application/json; charset=utf-8"}
        try:
            reply = post(self._url, msgspec.json.encode(body), headers)
        except Unreached as error:
            return Outcome("retry", str(error))
        # 45009: too often. 40008, 40058: the message's type or a parameter of it is wrong.
        return coded(
            reply,
            self._clock(),
            field="errcode",
            limited={45009},
            refused={40008, 40058},
            pause=60.0,
        )

    def _content(self, message: Message) -> str:
        words = told(message, self._language)
        colour = "info" if message.state == "resolved" else _COLOURS[message.alert.severity]
        lines = [
            f'**<font color="{colour}">{_plain(words.title)}</font>**',
            *map(_plain, words.lines),
            *(f"> {_plain(each)}" for each in words.signals),
        ]
        link = f"[{link_text(self._language)}]({words.link})\n" if words.link else ""
        return fitted(lines, link + footer(message), CONTENT_BYTES)


def _plain(text: str) -> str:
    # Names come from data: none of them shall become a mention, a tag or a link.
    return text.replace("<", "＜").replace("](", "] (").replace("\n", " ")

"""Slack: an incoming webhook."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import ClassVar

import msgspec

from .alert import Message
from .sink import DELIVERED, Limit, Outcome, SinkSettings
from .wire import Unreached, address, judged, post
from .words import Told, footer, link_text, told

# Slack's own limits, in characters.
HEADER = 150
SECTION = 3000


class Slack:
    """POSTs each message as blocks; the answer ``ok`` takes it.

    Raises:
        SettingError: the URL is not one.
    """

    kind: ClassVar[str] = "slack"
    limits: ClassVar[tuple[Limit, ...]] = (Limit(1, 1.0),)
    repeat_seconds: ClassVar[float] = 0.0

    def __init__(self, settings: SinkSettings, clock: Callable[[], float] = time.time) -> None:
        self._url = address(settings)
        self._language = settings.language or "en"
        self._clock = clock

    def send(self, message: Message) -> Outcome:
        """Sends one message."""
        words = told(message, self._language)
        body = {"text": _escaped(words.title), "blocks": self._blocks(words, footer(message))}
        headers = {"Content-Type": "application/json; charset=utf-8"}
        try:
            reply = post(self._url, msgspec.json.encode(body), headers)
        except Unreached as error:
            return Outcome("retry", str(error))
        by_status = judged(reply, self._clock())
        if by_status is not None:
            return by_status
        # A proxy's or a portal's page is a 200 as well.
        if reply.body.strip() != b"ok":
            return Outcome("retry", "the answer is not ok")
        return DELIVERED

    def _blocks(self, words: Told, foot: str) -> list[dict[str, object]]:
        # A header is plain text, in which an escape would be shown as it is.
        title = words.title.replace("<", "‹").replace(">", "›")
        title = title if len(title) <= HEADER else title[: HEADER - 1] + "…"
        blocks: list[dict[str, object]] = [
            {"type": "header", "text": {"type": "plain_text", "text": title, "emoji": False}},
            _section(words.lines),
        ]
        if words.signals:
            blocks.append(_section([f"• {each}" for each in words.signals]))
        if words.link:
            blocks.append(_section([], f"<{words.link}|{link_text(self._language)}>"))
        element = {"type": "mrkdwn", "text": _escaped(foot)}
        return [*blocks, {"type": "context", "elements": [element]}]


def _section(lines: tuple[str, ...] | list[str], markup: str = "") -> dict[str, object]:
    text = markup
    for line in map(_escaped, lines):
        if len(text) + len(line) + 3 > SECTION:
            text = (text or line[: SECTION - 3]) + "\n…"
            break
        text += ("\n" if text else "") + line
    return {"type": "section", "text": {"type": "mrkdwn", "text": text}}


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")

"""Alerts as lines of the program's own log."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import ClassVar

from .alert import Message
from .sink import DELIVERED, Limit, Outcome, SinkSettings
from .words import told

_LEVELS = {"minor": logging.WARNING, "moderate": logging.WARNING, "major": logging.ERROR}


class Log:
    """Writes each message as one line; always delivers."""

    kind: ClassVar[str] = "log"
    limits: ClassVar[tuple[Limit, ...]] = ()
    repeat_seconds: ClassVar[float] = 0.0

    def __init__(self, settings: SinkSettings, clock: Callable[[], float] = time.time) -> None:
        self._language = settings.language or "en"
        self._logger = logging.getLogger("driftline.alerts")

    def send(self, message: Message) -> Outcome:
        """Writes the line: a warning, or an error when major; an end is information."""
        level = logging.INFO if message.state == "resolved" else _LEVELS[message.alert.severity]
        words = told(message, self._language)
        text = " ".join((words.title, *words.lines, *words.signals)).replace("\n", " ")
        self._logger.log(level, "%s (%s)", text, message.key)
        return DELIVERED

"""Ctrl-C and SIGTERM: what was handed over is brought to the disk before the process dies."""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

log = logging.getLogger("driftline")

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupts:
    """While installed, the two signals first call `save`, and then do what they did before.

    MindSpore answers Ctrl-C in a training by ending the process with SIGTERM: no ``__exit__``
    and no atexit runs, so this is the last moment. Only handlers of the main thread can be set;
    elsewhere nothing is installed. A second signal of the same kind is not kept waiting.

    Args:
        save: gets the signal's name, and whether the process dies of it; has to come back soon,
            and must not take a lock that the main thread may hold.
    """

    def __init__(self, save: Callable[[str, bool], None]) -> None:
        self._save = save
        self._before: dict[signal.Signals, Any] = {}

    def install(self) -> None:
        """Takes the place of the handlers that are there."""
        if threading.current_thread() is not threading.main_thread():
            return
        for each in SIGNALS:
            before = signal.getsignal(each)
            if before is signal.SIG_IGN or before is None:
                continue  # ignored on purpose, or not set from Python
            self._before[each] = before
            signal.signal(each, self._received)

    def remove(self) -> None:
        """Puts back what was there, unless somebody has set another handler since."""
        for each, before in self._before.items():
            with contextlib.suppress(ValueError):  # not the main thread
                if signal.getsignal(each) == self._received:
                    signal.signal(each, before)
        self._before = {}

    def _received(self, number: int, frame: FrameType | None) -> None:
        received = signal.Signals(number)
        before = self._before.get(received, signal.SIG_DFL)
        signal.signal(number, before)
        with contextlib.suppress(Exception):
            self._save(received.name, before is signal.SIG_DFL)
        if callable(before):
            before(number, frame)
        else:
            os.kill(os.getpid(), number)

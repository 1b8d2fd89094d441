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
    elsewhere nothing is installed. A second signal of the same kind is not kept waiting. Processes
    that are forked meanwhile have the handlers that were there before.

    Args:
        save: gets the signal's name, and whether the process dies of it; has to come back soon,
            and must not take a lock that the main thread may hold.
    """

    def __init__(self, save: Callable[[str, bool], None]) -> None:
        self._save: Callable[[str, bool], None] | None = save
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
        _INSTALLED.add(self)

    def remove(self) -> None:
        """Puts back what was there; a handler set since stays, and ours passes on what it gets."""
        self._save = None
        self._put_back()

    def _put_back(self) -> None:
        _INSTALLED.discard(self)
        with contextlib.suppress(ValueError):  # not the main thread
            for each, before in self._before.items():
                if signal.getsignal(each) == self._received:
                    signal.signal(each, before)

    def _received(self, number: int, frame: FrameType | None) -> None:
        received = signal.Signals(number)
        before = self._before[received]
        if self._save is not None:
            signal.signal(number, before)
            with contextlib.suppress(Exception):
                self._save(received.name, before is signal.SIG_DFL)
        if callable(before):
            before(number, frame)
        else:
            signal.signal(number, before)
            os.kill(os.getpid(), number)


_INSTALLED: set[Interrupts] = set()


def _in_child() -> None:
    for each in list(_INSTALLED):
        each.remove()


os.register_at_fork(after_in_child=_in_child)

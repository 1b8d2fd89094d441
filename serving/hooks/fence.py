"""A fence: what goes wrong inside it is counted and logged once per kind, and never leaves it."""

from __future__ import annotations

import logging
import threading
from collections import Counter

log = logging.getLogger(__name__)


class Fence:
    """Counts the monitor's own failures, by place and kind of error."""

    def __init__(self) -> None:
        self.failures: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._unsent: Counter[str] = Counter()

    def caught(self, place: str, error: BaseException) -> None:
        """Counts `error`; the first of its kind at that place is logged with its traceback."""
        kind = f"{place}:{type(error).__name__}"
        with self._lock:
            self.failures[kind] += 1
            self._unsent[kind] += 1
            first = self.failures[kind] == 1
        if first:
            log.error(
                "monitor failed in %s (logged once, counted from now on): %s",
                place,
                error,
                exc_info=error,
            )

    def drain(self) -> dict[str, int]:
        """The failures since the last call, by ``place:kind``."""
        with self._lock:
            unsent, self._unsent = self._unsent, Counter()
        return dict(unsent)

"""A guest must not hurt its host: errors of a monitor's parts end here."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import ParamSpec, TypeVar

log = logging.getLogger("driftline")

P = ParamSpec("P")
T = TypeVar("T")

MOST = 20


class Fence:
    """Calls parts by name; an error is counted, logged the first time, and not raised.

    A part that has failed 20 times in a row is not called any more.
    """

    def __init__(self) -> None:
        self.failures: dict[str, int] = {}
        self._in_a_row: dict[str, int] = {}

    def call(
        self, name: str, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        """What `function` gives; None if it raised, or is called no more."""
        row = self._in_a_row.get(name, 0)
        if row >= MOST:
            return None
        try:
            result = function(*args, **kwargs)
        except Exception as error:
            self.failures[name] = self.failures.get(name, 0) + 1
            self._in_a_row[name] = row + 1
            if self.failures[name] == 1:
                log.warning("%s failed: %s", name, error, exc_info=True)
            if row + 1 == MOST:
                log.warning("%s has failed %d times in a row and is left out", name, MOST)
            return None
        if row:
            self._in_a_row[name] = 0
        return result

"""Counters that only grow, seen as what was added lately."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import NamedTuple

SPAN = 300.0
STEP = 5.0


class Added(NamedTuple):
    """By how much a counter grew, and the Unix second at which that was first seen."""

    number: float
    since: float


class Recent:
    """Looks at totals again and again, and says by how much they grew in the last five minutes.

    Nothing can be said before a minute of looking: whoever takes a watch over did not see what
    came before.
    """

    def __init__(self) -> None:
        self._looks: deque[tuple[float, dict[str, float]]] = deque()

    def growth(self, totals: Mapping[str, float], now: float) -> dict[str, Added] | None:
        """By name, what was added since five minutes ago, or since the first look."""
        # The clock was set back, or another has watched meanwhile: what was added in between may
        # be older than five minutes.
        if self._looks and not 0 <= now - self._looks[-1][0] < SPAN:
            self._looks.clear()
        if not self._looks or now - self._looks[-1][0] >= STEP:
            self._looks.append((now, dict(totals)))
        while len(self._looks) > 1 and now - self._looks[1][0] >= SPAN:
            self._looks.popleft()
        began, before = self._looks[0]
        if now - began < SPAN / 5:
            return None
        grown = {name: value - before.get(name, 0.0) for name, value in totals.items()}
        return {
            name: Added(value, self._first_seen(name, before.get(name, 0.0), now))
            for name, value in grown.items()
            if value > 0
        }

    def _first_seen(self, name: str, before: float, now: float) -> float:
        return next((at for at, seen in self._looks if seen.get(name, 0.0) > before), now)

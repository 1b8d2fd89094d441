"""Counters that only grow, seen as what was added lately."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

SPAN = 300.0
STEP = 5.0


class Recent:
    """Looks at totals again and again, and says by how much they grew in the last five minutes.

    Nothing can be said before a minute of looking: whoever takes a watch over did not see what
    came before.
    """

    def __init__(self) -> None:
        self._looks: deque[tuple[float, dict[str, float]]] = deque()

    def growth(self, totals: Mapping[str, float], now: float) -> dict[str, float] | None:
        """By name, what was added since five minutes ago, or since the first look."""
        if self._looks and now < self._looks[-1][0]:
            self._looks.clear()  # the clock was set back
        if not self._looks or now - self._looks[-1][0] >= STEP:
            self._looks.append((now, dict(totals)))
        while len(self._looks) > 1 and now - self._looks[1][0] >= SPAN:
            self._looks.popleft()
        began, before = self._looks[0]
        if now - began < SPAN / 5:
            return None
        grown = {name: value - before.get(name, 0.0) for name, value in totals.items()}
        return {name: value for name, value in grown.items() if value > 0}

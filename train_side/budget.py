"""A budget of time: work is allowed while it stays a small share of the time that passes."""

from __future__ import annotations

import time
from collections.abc import Callable


class Budget:
    """Allows the first `free` pieces of work, and later ones while their cost stays in `share`.

    Args:
        share: seconds that may be spent for each second that passes.
        free: pieces that are allowed whatever they cost, so that a short training is seen whole.
        clock: seconds, ascending; a test gives its own.
    """

    def __init__(
        self, *, share: float = 0.01, free: int = 100, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._share = share
        self._free = free
        self._clock = clock
        self._since: float | None = None
        self._spent = 0.0

    def allows(self) -> bool:
        """True if one more piece fits."""
        if self._free > 0:
            self._free -= 1
            return True
        if self._since is None:
            self._since = self._clock()
        return self._spent <= self._share * (self._clock() - self._since)

    def spend(self, seconds: float) -> None:
        """Books what one piece has cost; the free ones cost nothing."""
        if self._since is not None:
            self._spent += seconds

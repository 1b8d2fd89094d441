"""How often something may be done: as often as its share of the time pays for."""

from __future__ import annotations

import time
from collections.abc import Callable


class Pace:
    """Work is due while what it has cost stays under `share` of the time that has passed.

    Time that was not used is kept up to `purse` seconds of work only, so that a quiet hour does
    not buy a burst of work after it.

    Args:
        share: seconds of work for each second that passes.
        free: the first so many pieces are not charged, so that a short training is seen too.
        purse: the most seconds of work that can be saved up.
        longest: after so many seconds a piece is due whatever it costs.
        clock: seconds, ascending.
    """

    def __init__(
        self,
        share: float,
        *,
        free: int = 0,
        purse: float = 0.02,
        longest: float = float("inf"),
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.taken = 0
        self.spent = 0.0
        self._share = share
        self._free = free
        self._purse = purse
        self._longest = longest
        self._clock = clock
        self._credit = 0.0
        self._seen: float | None = None
        self._taken_at = float("-inf")

    def due(self, now: float | None = None) -> bool:
        """True if a piece may be done now."""
        now = self._clock() if now is None else now
        if self._seen is not None:
            self._credit = min(self._credit + self._share * (now - self._seen), self._purse)
        self._seen = now
        return self._free > 0 or self._credit >= 0 or now - self._taken_at >= self._longest

    def next_due(self, now: float) -> float:
        """The moment before which `due` is False, if nothing is booked until then."""
        if self._free > 0 or self._credit >= 0 or self._seen is None:
            return now
        earned = self._seen - self._credit / self._share
        return min(earned, self._taken_at + self._longest)

    def pause(self) -> None:
        """The time from here to the next question earns nothing."""
        self._seen = None

    def took(self, seconds: float, now: float | None = None) -> None:
        """Books a piece that has cost `seconds`."""
        self.taken += 1
        self._taken_at = self._clock() if now is None else now
        if self._free > 0:
            self._free -= 1
        else:
            self.charge(seconds)

    def charge(self, seconds: float) -> None:
        """Books a cost that came beside the pieces."""
        self.spent += seconds
        if self._free <= 0:
            self._credit -= seconds

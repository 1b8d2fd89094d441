"""The aim: for how many rows a call of the model waits, learnt from what it comes to.

To wait for everybody makes the fewest calls, but the model idles while requests are read and
answers are written. To wait for half of them lets both happen at once, and a large model is then
never idle. Which is quicker depends on the model, the machine and the clients, so it is tried.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

# Long enough for some dozens of calls, short enough that a poor trial costs nobody much.
TRIAL_SECONDS = 0.25
# Between two trials lie so many stretches as long as one, at first and at the most.
SOON, SELDOM = 2, 64
# What counts as quicker, and how often in a row it has to be; less is the machine's own unrest.
BETTER, WINS = 1.03, 2
# Of a service that has nothing to do for more of the time, requests answered say how many came.
IDLE = 1 / 3


@dataclass(slots=True)
class _Stretch:
    """What was seen in some time: rows answered, the seconds with no request, and the most rows
    that were there at once and that one request had."""

    rows: int = 0
    seconds: float = 0.0
    idle: float = 0.0
    crowd: int = 0
    single: int = 1


class Aim:
    """Climbs along the sizes of a batch, by rows answered a second. Not safe for several threads.

    Only stretches count in which there were several requests at once and hardly ever none.

    Args:
        sizes: that a batch may have, in rising order; it begins with the largest.
        clock: seconds.
    """

    def __init__(
        self, sizes: Sequence[int], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._sizes = tuple(sizes)
        self._clock = clock
        self._best = self._tried = self._sizes[-1]
        self.rows = self._best
        self._rate = 0.0
        self._pause, self._stretches, self._wins, self._down = SOON, 0, 0, True
        self._ended: float | None = None
        self._seen = _Stretch()

    def arrived(self) -> None:
        """Notes a request that came when there was no other."""
        if self._ended is not None:
            self._seen.idle += self._clock() - self._ended

    def answered(self, rows: int, crowd: int, single: int = 1) -> None:
        """Notes a call of so many rows, when there were `crowd` rows in it or waiting for the next;
        0 where its request was the only one. `single` are the rows of one request."""
        now, before = self._clock(), self._ended
        self._ended = now if crowd else None
        if before is None or self._ended is None:
            return
        seen = self._seen
        seen.rows += rows
        seen.seconds += now - before
        seen.crowd = max(seen.crowd, crowd)
        seen.single = max(seen.single, single)
        if seen.seconds >= TRIAL_SECONDS:
            self._decide(seen)
            self._seen = _Stretch()

    def _decide(self, seen: _Stretch) -> None:
        """At the end of a stretch."""
        trial, self._stretches = self.rows != self._best, self._stretches + 1
        if seen.idle > IDLE * seen.seconds:
            self.rows, self._stretches = self._best, 0
            return
        rate = seen.rows / seen.seconds
        if trial:
            self._judge(rate)
            return
        self._rate = rate
        if self._stretches >= (1 if self._wins else self._pause):
            if not self._wins:
                self._tried = self._next(seen.single, seen.crowd)
            self.rows, self._stretches = self._tried, 0

    def _judge(self, rate: float) -> None:
        """Of a trial: what wins again, after the best was seen once more, is the best."""
        self._wins = self._wins + 1 if rate > BETTER * self._rate else 0
        if not self._wins:
            self._pause = min(2 * self._pause, SELDOM)
        elif self._wins == WINS:
            self._best, self._rate, self._pause, self._wins = self.rows, rate, SOON, 0
        self.rows, self._stretches = self._best, 0

    def _next(self, least: int, most: int) -> int:
        """The size to be tried: the one below and the one above, in turn.

        Above the rows there were at once (`most`) all sizes are the same, and so are those under
        the rows of one request (`least`).
        """
        below = [each for each in self._sizes if least <= each < min(self._best, most)]
        above = [each for each in self._sizes if each > self._best and each >= 2 * least]
        above = above if self._best < most else []
        self._down = not self._down if below and above else bool(below)
        if self._down:
            return below[-1]
        return above[0] if above else self._best

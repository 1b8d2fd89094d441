"""The aim: for how many rows a call of the model waits, learnt from what it comes to.

To wait for everybody makes the fewest calls, but the model idles while requests are read and
answers are written. To wait for half of them lets both happen at once, and a large model is then
never idle. Which is quicker depends on the model, the machine and the clients, so it is tried.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

# Long enough for some dozens of calls, short enough that a poor trial costs nobody much.
TRIAL_SECONDS = 0.25
# Between two trials lie so many stretches as long as one, at first and at the most.
SOON, SELDOM = 2, 64
# What counts as quicker; less is the machine's own unrest.
BETTER = 1.03


class Aim:
    """Climbs along the sizes of a batch, by rows answered a second. Not safe for several threads.

    Only time is counted in which there were always several requests at once: what answers those
    that come one by one is how often they come.

    Args:
        sizes: that a batch may have, in rising order; it begins with the largest.
        clock: seconds.
    """

    def __init__(
        self, sizes: Sequence[int], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._sizes = tuple(sizes)
        self._clock = clock
        self._best = self._sizes[-1]
        self.rows = self._best
        self._rate = 0.0
        self._pause, self._stretches, self._down = SOON, 0, True
        self._ended: float | None = None
        self._rows, self._seconds, self._crowd = 0, 0.0, 0

    def answered(self, rows: int, crowd: int) -> None:
        """Notes a call of so many rows, when there were `crowd` rows in it or waiting for the next;
        0 where its request was the only one."""
        now, before = self._clock(), self._ended
        self._ended = now if crowd else None
        if before is None or self._ended is None:
            return
        self._rows += rows
        self._seconds += now - before
        self._crowd = max(self._crowd, crowd)
        if self._seconds >= TRIAL_SECONDS:
            self._decide(self._rows / self._seconds, self._crowd)
            self._rows, self._seconds, self._crowd = 0, 0.0, 0

    def _decide(self, rate: float, crowd: int) -> None:
        """After a stretch with that many rows a second."""
        self._stretches += 1
        if self.rows != self._best:
            if rate > BETTER * self._rate:
                self._best, self._rate, self._pause = self.rows, rate, SOON
            else:
                self._pause = min(2 * self._pause, SELDOM)
            self.rows, self._stretches = self._best, 0
            return
        self._rate = rate
        if self._stretches >= self._pause:
            self.rows = self._next(crowd)
            self._stretches = 0

    def _next(self, crowd: int) -> int:
        """The size to be tried: the one below and the one above, in turn.

        Above what there is at once all sizes are the same.
        """
        below = [each for each in self._sizes if each < min(self._best, crowd)]
        above = [each for each in self._sizes if each > self._best and self._best < crowd]
        self._down = not self._down if below and above else bool(below)
        if self._down:
            return below[-1]
        return above[0] if above else self._best

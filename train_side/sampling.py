"""Which steps are looked at, so that looking costs no more than its share of the time."""

from __future__ import annotations

from collections import deque
from statistics import median
from typing import Literal

from .pacing import Pace
from .settings import Sampling

Depth = Literal["none", "light", "deep"]

FREE_LIGHT, FREE_DEEP, FIRST_DEEP, APART = 100, 5, 2, 10
LONGEST = 2.5
# Of the budget. The threads that write are charged to the light steps, whose points they write; the
# rest is for what each step costs, looked at or not.
LIGHT, DEEP = 0.25, 0.15
SEVERAL_RANKS = 50
WIDEST = 10_000


class Sampler:
    """Chooses the depth of each step.

    The first 100 steps are all looked at, and five of them deeply, whatever that costs. Later the
    measured cost decides, but a point is taken at least every 2.5 seconds: what it costs then is
    waiting for the device, which so long a step bears. With several ranks the deep steps are a
    fixed number of steps apart, since all ranks have to run the same graph: 50, and later what
    the ranks have agreed upon.
    """

    def __init__(self, sampling: Sampling, *, ranks: int = 1) -> None:
        self.light = Pace(sampling.budget * LIGHT, free=FREE_LIGHT, longest=LONGEST)
        self.deep = Pace(sampling.budget * DEEP, free=FREE_DEEP, purse=0.2)
        self._every = sampling.every
        self._deep_every = sampling.deep_every
        self._share = sampling.budget * DEEP
        self._agrees = ranks > 1 and self._deep_every is None
        if self._agrees:
            self._deep_every = SEVERAL_RANKS
        self._deep_count = 0
        self._first: float | None = None
        self._now = 0.0
        self._count = 0
        self._deep_at = -APART
        self._asleep_until = float("-inf")
        self._asleep_before = 0
        self._usual: deque[float] = deque(maxlen=15)
        self._light_costs: deque[float] = deque(maxlen=15)
        self._deep_costs: deque[float] = deque(maxlen=7)

    def choose(self, now: float) -> Depth:
        """The depth of the step that begins `now` (seconds)."""
        self._count += 1
        if now < self._asleep_until and self._count < self._asleep_before:
            self._now = now  # most steps of a training end here
            return "none"
        self._first = now if self._first is None else self._first
        self._now = now
        if self._is_deep(now):
            self._deep_at = self._count
            return "deep"
        if self._every is not None:
            return "light" if self._count % self._every == 0 else "none"
        if self.light.due(now):
            return "light"
        if self._deep_every is None:
            self._sleep(now)
        return "none"

    def took(self, depth: Depth, hooks: float, whole: float, now: float) -> None:
        """Books a looked-at step: seconds in our hooks, and from its begin to the end of them.

        What counts is the median of the last ones: a hook during which the machine did something
        else has not cost that much.
        """
        if depth == "light":
            self._light_costs.append(hooks)
            self._usual.append(whole)
            self.light.took(median(self._light_costs), now)
        elif depth == "deep":
            usual = median(self._usual) if self._usual else whole
            self._deep_count += 1
            if self._deep_count > 1:  # the first one has compiled
                self._deep_costs.append(max(whole - usual, hooks))
            self.deep.took(median(self._deep_costs) if self._deep_costs else 0.0, now)

    def wanted_interval(self) -> int:
        """How many steps deep ones should be apart for what they have cost here."""
        if not self._deep_costs or self._first is None or self._now <= self._first:
            return self._deep_every or SEVERAL_RANKS
        step = (self._now - self._first) / self._count
        return int(min(max(median(self._deep_costs) / (self._share * step), APART), WIDEST))

    def keep_apart(self, interval: int) -> None:
        """Takes the interval that all ranks have agreed upon; one the user set stays."""
        if self._agrees:
            self._deep_every = interval

    def charge(self, seconds: float) -> None:
        """Books a cost that came beside the steps to the light ones."""
        self.light.charge(seconds)
        self._asleep_until = self._now

    def pause(self) -> None:
        """Something else than steps runs until the next choice; it earns nothing."""
        if self._now < self._asleep_until:  # what was slept through is earned
            self.light.due(self._now)
            if self._count - self._deep_at >= APART:
                self.deep.due(self._now)
            self._asleep_until = self._now
        self.light.pause()
        self.deep.pause()

    def _sleep(self, now: float) -> None:
        """Notes until when nothing can be due: there is no need to ask before."""
        self._asleep_until = self.light.next_due(now)
        apart = self._deep_at + APART
        if self._count + 1 < apart:
            self._asleep_before = apart
        else:
            self._asleep_before = WIDEST * WIDEST
            self._asleep_until = min(self._asleep_until, self.deep.next_due(now))

    def _is_deep(self, now: float) -> bool:
        if self._deep_every is not None:
            return self._count % self._deep_every == FIRST_DEEP % self._deep_every
        apart = self._count - self._deep_at >= APART
        return self._count >= FIRST_DEEP and apart and self.deep.due(now)

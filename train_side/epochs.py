"""What each epoch came to."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass, field

KEPT = 1000


@dataclass(slots=True)
class Spread:
    """Mean, standard deviation (n − 1), smallest and largest of numbers (Welford 1962)."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    low: float = math.inf
    high: float = -math.inf

    def add(self, value: float) -> None:
        """Takes one number; one that is not finite is left out."""
        if not math.isfinite(value):
            return
        self.count += 1
        delta = value - self.mean
        self.mean += delta / self.count
        self.squares += delta * (value - self.mean)
        self.low, self.high = min(self.low, value), max(self.high, value)

    @property
    def sd(self) -> float:
        """Standard deviation; 0 of a single number."""
        return math.sqrt(self.squares / (self.count - 1)) if self.count > 1 else 0.0


@dataclass(slots=True)
class Epoch:
    """One epoch: the loss, and each metric that was added in it or evaluated at its end."""

    number: int
    loss: Spread = field(default_factory=Spread)
    metrics: dict[str, Spread] = field(default_factory=dict)


class EpochTable:
    """The last 1,000 epochs, and the one that runs."""

    def __init__(self) -> None:
        self.closed: deque[Epoch] = deque(maxlen=KEPT)
        self.count = 0
        self._open: Epoch | None = None

    def loss(self, value: float) -> None:
        """Takes a loss of the epoch that runs."""
        self._current().loss.add(value)

    def metric(self, name: str, value: float) -> None:
        """Takes a metric of the epoch that runs."""
        metrics = self._current().metrics
        if name in metrics or len(metrics) < 100:
            metrics.setdefault(name, Spread()).add(value)

    def close(self, number: int) -> Epoch:
        """Ends the epoch that runs."""
        epoch = self._current()
        epoch.number = number
        self.closed.append(epoch)
        self.count += 1
        self._open = None
        return epoch

    def broke(self) -> None:
        """The epoch that runs will not end: what goes on begins it anew."""
        self._open = None

    def _current(self) -> Epoch:
        if self._open is None:
            self._open = Epoch(self.count + 1)
        return self._open

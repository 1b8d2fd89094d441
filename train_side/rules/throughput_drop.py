"""A training that has become slower."""

from __future__ import annotations

import statistics

from .rule import RULES, Rule, View


@RULES.register
class ThroughputDrop(Rule):
    """Fires when throughput stays more than `drop` under its baseline for `seconds`.

    Both are medians: of the last `window` samples, and of the first `window` after `skip`, which
    hold compilation and warming up.
    """

    kind = "throughput_drop"
    needs = frozenset({"samples_per_second"})

    def __init__(
        self, *, drop: float = 0.2, window: int = 20, skip: int = 5, seconds: float = 5.0
    ) -> None:
        self.drop = drop
        self.window = window
        self.seconds = seconds
        self._skip = skip
        self._since: float | None = None
        self._first: list[float] = []

    def check(self, view: View) -> str | None:
        """Says how much slower, and whether it waits for data."""
        if self._skip > 0:
            self._skip -= 1
            return None
        if len(self._first) < self.window:
            self._first.append(view.values["samples_per_second"])
            return None
        usual = statistics.median(self._first)
        now = statistics.median(view.record.recent("samples_per_second", self.window))
        if usual <= 0 or now >= (1 - self.drop) * usual:
            self._since = None
            return None
        self._since = view.record.time if self._since is None else self._since
        if view.record.time - self._since < self.seconds:
            return None
        waiting = statistics.median(view.record.recent("data_wait", self.window) or [0.0])
        cause = f"; {waiting:.0%} of the time it waits for data" if waiting > 0.3 else ""
        return (
            f"Throughput is {now:.4g} samples/s, {1 - now / usual:.0%} under its baseline of "
            f"{usual:.4g}{cause}."
        )

"""A loss that has left its own course upwards."""

from __future__ import annotations

import math
from collections import deque
from typing import ClassVar

from ..point import Severity
from .rule import RULES, Rule, View


@RULES.register
class LossRise(Rule):
    """Fires when the loss was above `factor` times its rolling mean for `steps` steps.

    The rolling mean is that of the last `window` losses that were not above it themselves, so a
    loss that has risen does not raise what it is compared with. Steps between two samples count.
    """

    kind = "loss_rise"
    severity: ClassVar[Severity] = "critical"
    needs = frozenset({"loss"})

    def __init__(self, *, factor: float = 1.5, steps: int = 50, window: int = 100) -> None:
        self.factor = factor
        self.steps = steps
        self._usual: deque[float] = deque(maxlen=window)
        self._since: int | None = None

    def judges(self, view: View) -> bool:
        """A loss that is not finite has neither risen nor come back."""
        return super().judges(view) and math.isfinite(view.values["loss"])

    def check(self, view: View) -> str | None:
        """Says how far above, and since when."""
        loss, step = view.values["loss"], view.record.step
        mean = sum(self._usual) / len(self._usual) if len(self._usual) >= 10 else math.inf
        if loss <= self.factor * mean or mean <= 0:
            self._usual.append(loss)
            self._since = None
            return None
        self._since = step if self._since is None else self._since
        if step - self._since < self.steps:
            return None
        return (
            f"The loss is {loss:.4g}, above {self.factor:g} times its mean of {mean:.4g} "
            f"since step {self._since}."
        )

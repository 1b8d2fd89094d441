"""A learning rate that does not do its work."""

from __future__ import annotations

from .rule import RULES, Rule, View


@RULES.register
class FrozenLearningRate(Rule):
    """Fires when the learning rate is next to nothing, or its schedule stands still.

    Still means: a schedule is there, and gave the same rate over `steps` steps. A schedule with
    long plateaus wants a larger number.
    """

    kind = "frozen_learning_rate"
    needs = frozenset({"lr"})

    def __init__(self, *, least: float = 1e-12, steps: int = 10_000, patience: int = 5) -> None:
        self.least = least
        self.steps = steps
        self.patience = patience
        self._rate: float | None = None
        self._since = 0

    def check(self, view: View) -> str | None:
        """Says which of the two."""
        rate, step = view.values["lr"], view.record.step
        if rate != self._rate:
            self._rate, self._since = rate, step
        if abs(rate) <= self.least:
            return f"The learning rate is {rate:g} since step {self._since}: nothing is learned."
        if view.values.get("lr_scheduled") and step - self._since >= self.steps:
            return (
                f"The learning rate has a schedule, and is {rate:g} all the time since step "
                f"{self._since}."
            )
        return None

    def rests_on(self, view: View) -> frozenset[str]:
        """Whether there is a schedule is not known on every step that tells a rate."""
        return frozenset({"lr", "lr_scheduled"}).intersection(view.values)

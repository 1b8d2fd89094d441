"""A loss that swings more than it used to."""

from __future__ import annotations

from .rule import RULES, Rule, View


@RULES.register
class Oscillation(Rule):
    """Fires when an epoch's loss has more than `factor` times the usual standard deviation.

    The usual one is the mean over the `epochs` epochs before.
    """

    kind = "oscillation"
    needs = frozenset({"epoch"})
    calm = 1

    def __init__(self, *, factor: float = 2.0, epochs: int = 5) -> None:
        self.factor = factor
        self.epochs = epochs

    def judges(self, view: View) -> bool:
        """An epoch with less than two losses swings neither much nor little."""
        return view.epoch is not None and view.epoch.loss.count > 1

    def check(self, view: View) -> str | None:
        """Says how much it swings."""
        closed = list(view.record.epochs.closed)
        if len(closed) <= self.epochs:
            return None
        before = [epoch.loss.sd for epoch in closed[-self.epochs - 1 : -1] if epoch.loss.count > 1]
        if len(before) < self.epochs:
            return None
        usual, now = sum(before) / len(before), closed[-1].loss.sd
        if now <= self.factor * usual or usual == 0:
            return None
        return (
            f"The loss of epoch {closed[-1].number} has a standard deviation of {now:.3g}, "
            f"{now / usual:.1f} times that of the {self.epochs} epochs before."
        )

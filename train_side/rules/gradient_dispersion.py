"""Gradient norms that differ wildly from step to step."""

from __future__ import annotations

from .rule import RULES, Rule, View


@RULES.register
class GradientDispersion(Rule):
    """Fires when the coefficient of variation of the last 50 gradient norms is above `limit`."""

    kind = "gradient_dispersion"
    needs = frozenset({"grad_cv"})

    def __init__(self, *, limit: float = 5.0) -> None:
        self.limit = limit

    def check(self, view: View) -> str | None:
        """Says how much they vary."""
        cv = view.values["grad_cv"]
        if cv <= self.limit:
            return None
        return f"The last gradient norms vary by {cv:.2g} times their mean, above {self.limit:g}."

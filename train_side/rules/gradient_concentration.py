"""Gradient norms that hardly differ from step to step."""

from __future__ import annotations

from typing import ClassVar

from ..point import Severity
from .rule import RULES, Rule, View


@RULES.register
class GradientConcentration(Rule):
    """Fires when the coefficient of variation of the last 50 gradient norms is below `limit`.

    Usual under clipping, where every norm is the clip value; else the steps may all see the same.
    """

    kind = "gradient_concentration"
    severity: ClassVar[Severity] = "info"
    needs = frozenset({"grad_cv"})

    def __init__(self, *, limit: float = 0.1, patience: int = 10) -> None:
        self.limit = limit
        self.patience = patience

    def check(self, view: View) -> str | None:
        """Says how little they vary."""
        cv = view.values["grad_cv"]
        if cv >= self.limit:
            return None
        return (
            f"The last gradient norms vary by {cv:.2g} of their mean, below {self.limit:g}: "
            "they are clipped, or the batches are alike."
        )

"""Gradients that are far too large."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from ..point import GRADIENT, Severity
from .rule import RULES, Rule, View


@RULES.register
class GradientExplosion(Rule):
    """Fires when the norm of all gradients is above `limit`."""

    kind = "gradient_explosion"
    severity: ClassVar[Severity] = "critical"
    needs = frozenset({"grad_norm"})

    def __init__(self, *, limit: float = 1e2) -> None:
        self.limit = limit

    def judges(self, view: View) -> bool:
        """A norm that is NaN is neither large nor small."""
        return super().judges(view) and not math.isnan(view.values["grad_norm"])

    def check(self, view: View) -> str | None:
        """Names the layer with the largest gradient."""
        norm = view.values["grad_norm"]
        if norm <= self.limit:
            return None
        where = _largest(view.values)
        return f"The gradient norm is {norm:.3g}, above {self.limit:g}{where}."


def _largest(values: Mapping[str, float]) -> str:
    """`` (largest in …)`` where norms by parameter are known, else nothing."""
    layers = {name: norm for name, norm in values.items() if name.startswith(GRADIENT)}
    if not layers:
        return ""
    name = max(layers, key=lambda each: layers[each])
    return f" (largest in {name[len(GRADIENT) :]}: {layers[name]:.3g})"

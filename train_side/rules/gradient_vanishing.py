"""Gradients that are far too small."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..point import GRADIENT
from .rule import RULES, Rule, View

NAMED = 3


@RULES.register
class GradientVanishing(Rule):
    """Fires when the norm of all gradients, or that of one layer, stays below `limit`.

    A layer is what parameters' names have before their last dot.
    """

    kind = "gradient_vanishing"
    needs = frozenset({"grad_norm"})

    def __init__(self, *, limit: float = 1e-5, patience: int = 3) -> None:
        self.limit = limit
        self.patience = patience

    def check(self, view: View) -> str | None:
        """Names the layers."""
        norm = view.values["grad_norm"]
        if norm < self.limit:
            return f"The gradient norm is {norm:.3g}, below {self.limit:g}: nothing is learned."
        small = self._small(view.values)
        if not small:
            return None
        more = f" and {len(small) - NAMED} more" if len(small) > NAMED else ""
        names = ", ".join(small[:NAMED])
        return f"The gradient of {names}{more} is below {self.limit:g}: it does not learn."

    def rests_on(self, view: View) -> frozenset[str]:
        """Some training cells tell the norm of all gradients in each step, and none by layer."""
        if view.values["grad_norm"] < self.limit:
            return frozenset({"grad_norm"})
        return frozenset(name for name in view.values if name.startswith(GRADIENT))

    def _small(self, values: Mapping[str, float]) -> list[str]:
        largest: dict[str, float] = {}
        for name, each in values.items():
            if name.startswith(GRADIENT):
                parameter = name[len(GRADIENT) :]
                layer = parameter.rpartition(".")[0] or parameter
                # NaN is no small gradient: it must not lose against 0.
                largest[layer] = max(largest.get(layer, 0.0), each if each >= 0 else math.inf)
        return [layer for layer, each in largest.items() if each < self.limit]

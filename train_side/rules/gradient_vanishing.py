"""Gradients that are far too small."""

from __future__ import annotations

import math

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
        largest: dict[str, float] = {}
        for name, each in view.values.items():
            if name.startswith(GRADIENT):
                parameter = name[len(GRADIENT) :]
                layer = parameter.rpartition(".")[0] or parameter
                # NaN is no small gradient: it must not lose against 0.
                largest[layer] = max(largest.get(layer, 0.0), each if each >= 0 else math.inf)
        small = [layer for layer, each in largest.items() if each < self.limit]
        if not small:
            return None
        more = f" and {len(small) - NAMED} more" if len(small) > NAMED else ""
        names = ", ".join(small[:NAMED])
        return f"The gradient of {names}{more} is below {self.limit:g}: it does not learn."

"""NaN and infinity."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import ClassVar

from ..point import GRADIENT, Severity
from .rule import RULES, Rule, View

# Perplexity overflows before the loss does, and a user's own metric may be undefined for good
# reason: neither says that the training is broken.
_WORDS = {
    "loss": "The loss",
    "lr": "The learning rate",
    "grad_norm": "The gradient norm",
    "param_norm": "The norm of the parameters",
}
NAMED = 3


@RULES.register
class NonFinite(Rule):
    """Fires when loss, learning rate, a gradient or a parameter is NaN or infinite.

    A step that was skipped on overflow is left out: there the loss scale is being looked for.
    """

    kind = "non_finite"
    severity: ClassVar[Severity] = "critical"
    needs = frozenset({"loss", "grad_norm", "param_norm"})

    def check(self, view: View) -> str | None:
        """Names what is not finite."""
        names = non_finite(view.values)
        if not names:
            return None
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        first, *others = names[:NAMED]
        listed = ", ".join([first, *(f"{each[0].lower()}{each[1:]}" for each in others)])
        are = "are" if len(names) > 1 else "is"
        return f"{listed}{more} {are} not finite (NaN or infinite)."


def non_finite(values: Mapping[str, float]) -> list[str]:
    """What is not finite among the watched values, in words."""
    if values.get("overflow"):
        return []
    names = [
        _WORDS.get(name, name)
        for name, value in values.items()
        if not math.isfinite(value) and (name in _WORDS or name.startswith("loss/"))
    ]
    names += [
        f"The gradient of {name[len(GRADIENT) :]}"
        for name, value in values.items()
        if name.startswith(GRADIENT) and not math.isfinite(value)
    ]
    return names

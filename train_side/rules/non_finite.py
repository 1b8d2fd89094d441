"""NaN and infinity."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import ClassVar

from ..point import GRADIENT, PARAMETER, Severity
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
    needs = frozenset({"loss", "lr", "grad_norm", "param_norm"})

    def check(self, view: View) -> str | None:
        """Names what is not finite."""
        names = [in_words(name) for name in non_finite(view.values)]
        if not names:
            return None
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        first, *others = names[:NAMED]
        listed = ", ".join([first, *(f"{each[0].lower()}{each[1:]}" for each in others)])
        are = "are" if len(names) > 1 else "is"
        return f"{listed}{more} {are} not finite (NaN or infinite)."

    def rests_on(self, view: View) -> frozenset[str]:
        """Gradients and parameters are looked at on few steps only."""
        return looked_at(non_finite(view.values))


def non_finite(values: Mapping[str, float]) -> list[str]:
    """The names of the watched values that are not finite: those of gradients come last."""
    if values.get("overflow"):
        return []
    names = [
        name
        for name, value in values.items()
        if not math.isfinite(value) and (name in _WORDS or name.startswith(("loss/", PARAMETER)))
    ]
    return names + [
        name
        for name, value in values.items()
        if name.startswith(GRADIENT) and not math.isfinite(value)
    ]


def in_words(name: str) -> str:
    """``The gradient of fc.weight``, for the name of a value."""
    if name.startswith(GRADIENT):
        return f"The gradient of {name[len(GRADIENT) :]}"
    if name.startswith(PARAMETER):
        return f"The parameter {name[len(PARAMETER) :]}"
    return _WORDS.get(name, name)


def looked_at(names: Iterable[str]) -> frozenset[str]:
    """What has to be among a sample's values before it can show that these are finite again."""
    found = set()
    for name in names:
        if name.startswith(GRADIENT):
            found.add("grad_norm")
        elif name.startswith(PARAMETER):  # named only as long as it is not finite
            found.add("param_norm")
        else:
            found.add(name)
    return frozenset(found)

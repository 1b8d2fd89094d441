"""The norms of the gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..point import GRADIENT
from .probe import PROBES, Probe, Step


@PROBES.register
class GradientNorms(Probe):
    """`grad_norm`, the L2 norm of all gradients, and ``grad_norm/<parameter>`` of each.

    They are the gradients that the optimizer received: after clipping and averaging over ranks,
    divided by a fixed loss scale, absent for a step that was skipped on overflow.
    """

    kind = "gradient_norms"
    deep = True

    def take(self, step: Step) -> Mapping[str, float]:
        """The norms; empty where gradients could not be read."""
        found = step.gradients
        if found is None or not len(found.norms):
            return {}
        values = {
            f"{GRADIENT}{name}": float(norm)
            for name, norm in zip(found.names, found.norms, strict=True)
        }
        values["grad_norm"] = math.sqrt(sum(norm * norm for norm in values.values()))
        return values

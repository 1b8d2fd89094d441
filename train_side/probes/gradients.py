"""The norms of the gradients."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..point import GRADIENT
from .probe import PROBES, Probe, Step

MOST = 256


@PROBES.register
class GradientNorms(Probe):
    """`grad_norm`, the L2 norm of all gradients, and ``grad_norm/<parameter>`` of each.

    They are the gradients that the optimizer received: after clipping and averaging over ranks,
    divided by a fixed loss scale, absent for a step that was skipped on overflow. Of more than 256
    parameters those of one cell stand together, under the cell's name.

    In graph mode the training step is compiled once more for it, before the second step; where
    that takes too long, give `TrainingMonitor` the other probes only.
    """

    kind = "gradient_norms"
    deep = True

    def __init__(self) -> None:
        self._of: Sequence[str] = ()
        self._groups: Sequence[str] = ()

    def take(self, step: Step) -> Mapping[str, float]:
        """The norms; empty where gradients could not be read."""
        found = step.gradients
        if found is None or not len(found.norms):
            return {}
        if found.names is not self._of:
            self._of, self._groups = found.names, [GRADIENT + each for each in grouped(found.names)]
        squares: dict[str, float] = {}
        for group, norm in zip(self._groups, found.norms, strict=True):
            squares[group] = squares.get(group, 0.0) + norm * norm
        values = {group: math.sqrt(square) for group, square in squares.items()}
        values["grad_norm"] = math.sqrt(sum(squares.values()))
        return values


def grouped(names: Sequence[str]) -> list[str]:
    """The name of each parameter's group, where at most 256 groups are allowed.

    Names lose their last part until they are few enough; what no common part joins is ``…``.
    """
    groups = list(names)
    while len(set(groups)) > MOST:
        shorter = [each.rpartition(".")[0] or each for each in groups]
        if shorter == groups:
            kept = set(list(dict.fromkeys(groups))[: MOST - 1])
            return [each if each in kept else "…" for each in groups]
        groups = shorter
    return groups

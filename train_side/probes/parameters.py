"""The weights: how large, how fast they move, whether they are finite."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..batches import to_array
from .probe import PROBES, Probe, Step

LOOKED_AT = 1024


@PROBES.register
class Parameters(Probe):
    """`param_norm` is the L2 norm of all trained parameters, not finite if one of them is not.

    `update_ratio` is the length of the step's change over the length of the weights, both over up
    to 1,024 evenly spaced elements of each parameter. Around 1e-3 is usual; 0 means that nothing
    was learned, as in a step skipped on overflow.
    """

    kind = "parameters"
    deep = True

    def begin(self, step: Step) -> None:
        """Notes some elements of each parameter."""
        step.before[self.kind] = [_some(each) for each in step.parameters]

    def take(self, step: Step) -> Mapping[str, float]:
        """The values by name; empty where no optimizer is known."""
        parameters = step.parameters
        if not parameters:
            return {}
        squares = sum(_squares(to_array(each)) for each in parameters)
        values = {"param_norm": math.sqrt(squares) if squares >= 0 else math.nan}
        before = step.before.get(self.kind)
        if before:
            moved = size = 0.0
            for old, parameter in zip(before, parameters, strict=True):
                moved += _squares(_some(parameter) - old)
                size += _squares(old)
            if size > 0:
                values["update_ratio"] = math.sqrt(moved / size) if moved >= 0 else math.nan
        return values


def _some(parameter: Any) -> NDArray[np.float32]:
    flat = to_array(parameter).reshape(-1)
    return flat[:: max(flat.size // LOOKED_AT, 1)].astype(np.float32)  # a copy


def _squares(values: NDArray[Any]) -> float:
    flat = values.reshape(-1).astype(np.float32, copy=False)
    return float(np.dot(flat, flat))

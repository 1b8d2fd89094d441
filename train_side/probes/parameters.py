"""The weights: how large, how fast they move, whether they are finite."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..batches import to_array
from ..point import PARAMETER
from .probe import PROBES, Probe, Step

LOOKED_AT = 1024
LARGEST = 64 * 1024**2
NAMED = 8


@PROBES.register
class Parameters(Probe):
    """`param_norm` is the L2 norm of all trained parameters, not finite if one of them is not.

    ``param_norm/<parameter>`` is there for a parameter that is not finite, and only for such: also
    for one that is not trained, as a moving average or a frozen weight. Of those up to 64 MB are
    looked at in one step, in turn, and each that was found in every step from then on.

    `update_ratio` is the length of the step's change over the length of the weights, both over up
    to 1,024 evenly spaced elements of each parameter. Around 1e-3 is usual; 0 means that nothing
    was learned, as in a step skipped on overflow.
    """

    kind = "parameters"
    deep = True

    def __init__(self) -> None:
        self._next = 0
        self._found: set[str] = set()

    def begin(self, step: Step) -> None:
        """Notes some elements of each parameter."""
        step.before[self.kind] = [_some(each) for each in step.parameters]

    def take(self, step: Step) -> Mapping[str, float]:
        """The values by name; empty where neither optimizer nor network is known."""
        parameters = step.parameters
        if not parameters and step.network is None:
            return {}
        squares = [_squares(to_array(each)) for each in parameters]
        whole = sum(squares)
        values = {"param_norm": math.sqrt(whole) if whole >= 0 else math.nan}
        wrong = [
            each.name
            for each, square in zip(parameters, squares, strict=True)
            if not math.isfinite(square)
        ]
        wrong += self._others(step.others)
        values |= {PARAMETER + name: math.nan for name in wrong[:NAMED]}
        before = step.before.get(self.kind)
        if before:
            moved = size = 0.0
            for old, parameter in zip(before, parameters, strict=True):
                moved += _squares(_some(parameter) - old)
                size += _squares(old)
            if size > 0:
                values["update_ratio"] = math.sqrt(moved / size) if moved >= 0 else math.nan
        return values

    def _others(self, others: Sequence[Any]) -> list[str]:
        """The names of those that are not finite, among those whose turn it is."""
        turn = [each for each in others if each.name in self._found]
        bytes_, count = sum(each.nbytes for each in turn), 0
        while count < len(others):
            each = others[(self._next + count) % len(others)]
            if count and bytes_ + each.nbytes > LARGEST:
                break
            bytes_ += each.nbytes
            count += 1
            if each.name not in self._found:
                turn.append(each)
        self._next = (self._next + count) % max(len(others), 1)
        wrong = [each.name for each in turn if not _finite(to_array(each))]
        self._found = set(wrong)
        return wrong


def _some(parameter: Any) -> NDArray[np.float32]:
    flat = to_array(parameter).reshape(-1)
    return flat[:: max(flat.size // LOOKED_AT, 1)].astype(np.float32)  # a copy


def _squares(values: NDArray[Any]) -> float:
    flat = values.reshape(-1).astype(np.float32, copy=False)
    return float(np.dot(flat, flat))


def _finite(values: NDArray[Any]) -> bool:
    if values.dtype.kind != "f":
        return True
    # The sum is finite if all are, and much faster; only a very large one needs a second look.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()) or np.isfinite(values).all())

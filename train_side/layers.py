"""Which layers' gradients are out of line, over the whole training."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from .point import GRADIENT

HIGH, LOW = 3.0, 0.1


@dataclass(slots=True)
class Layer:
    """One layer's tallies; `high` and `low` count the samples in which it was out of line."""

    norm: float = 0.0
    samples: int = 0
    high: int = 0
    low: int = 0
    distance: float = 0.0
    smallest: float = math.inf
    largest: float = 0.0


class LayerTable:
    """Compares each layer's gradient norm with the mean of all layers'.

    A layer is what parameters' names have before their last dot; its norm is that of its weights
    and biases together. Out of line is above 3 times or below a tenth of the mean.
    """

    def __init__(self) -> None:
        self.layers: dict[str, Layer] = {}

    def add(self, values: Mapping[str, float]) -> None:
        """Takes the ``grad_norm/…`` of one sample; values that are not finite are left out."""
        squares: dict[str, float] = {}
        for name, norm in values.items():
            if name.startswith(GRADIENT) and math.isfinite(norm):
                layer = name[len(GRADIENT) :].rpartition(".")[0] or name[len(GRADIENT) :]
                squares[layer] = squares.get(layer, 0.0) + norm * norm
        if not squares:
            return
        norms = {name: math.sqrt(square) for name, square in squares.items()}
        mean = sum(norms.values()) / len(norms)
        for name, norm in norms.items():
            self._take(self.layers.setdefault(name, Layer()), norm, mean)

    def worst(self, count: int = 3) -> list[tuple[str, str]]:
        """Up to `count` layers that were out of line most, and by what, in words."""
        found = [(name, each) for name, each in self.layers.items() if each.high or each.low]
        found.sort(key=lambda pair: pair[1].distance / pair[1].samples, reverse=True)
        return [(name, _words(each)) for name, each in found[:count]]

    def _take(self, layer: Layer, norm: float, mean: float) -> None:
        layer.norm = norm
        layer.samples += 1
        layer.smallest = min(layer.smallest, norm)
        layer.largest = max(layer.largest, norm)
        if norm > HIGH * mean:
            layer.high += 1
        elif norm < LOW * mean:
            layer.low += 1
        else:
            return
        # A layer without any gradient counts as one that is a million times too small.
        layer.distance += abs(math.log10(max(norm / mean, 1e-6)))


def _words(layer: Layer) -> str:
    side, count = ("above 3×", layer.high) if layer.high >= layer.low else ("below 0.1×", layer.low)
    return (
        f"gradient norm {side} the layers' mean in {count} of {layer.samples} samples "
        f"({layer.smallest:.2g} to {layer.largest:.2g})"
    )

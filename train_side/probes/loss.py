"""The loss, its parts, and the perplexity of language models."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..batches import to_array
from .probe import PROBES, Probe, Step

MOST_PARTS = 16


@PROBES.register
class Loss(Probe):
    """`loss` is the number the step gave, or the mean of the numbers.

    Further scalars of the outputs are parts of it: ``loss/1``, ``loss/2``, …, or by name from a
    mapping. The tuples of loss-scaling cells and of mindformers are known and read as what they
    are: ``loss_scale``, ``overflow`` (1 where the step was skipped), ``lr``, ``grad_norm``.

    `perplexity` is exp(loss), for batches whose last part has integers on two axes (tokens), or
    always with `language`.
    """

    kind = "loss"

    def __init__(self, *, language: bool | None = None) -> None:
        self._language = language

    def take(self, step: Step) -> Mapping[str, float]:
        """The values by name; without the loss where the outputs show none."""
        values = _named(step.outputs)
        loss = values.get("loss")
        if loss is not None and self._speaks(step):
            # Beyond this exp overflows a float; such a model knows nothing, to any digit.
            values["perplexity"] = math.exp(loss) if loss < 700 else math.inf
        return values

    def _speaks(self, step: Step) -> bool:
        if self._language is not None:
            return self._language
        label = step.batch[-1] if len(step.batch) > 1 else None
        if label is None or len(getattr(label, "shape", ())) != 2:
            return False
        return label.shape[1] > 1 and "int" in str(label.dtype).lower()


def _named(outputs: Any) -> dict[str, float]:
    if isinstance(outputs, Mapping):
        return _parts({str(name): part for name, part in outputs.items()})
    if not isinstance(outputs, tuple | list):
        loss = scalar(outputs)
        return {} if loss is None else {"loss": loss}
    if len(outputs) >= 3 and is_flag(outputs[1]):
        return _scaled(outputs)
    parts = {f"loss/{index}" if index else "loss": part for index, part in enumerate(outputs)}
    return _parts(parts)


def _parts(outputs: Mapping[str, Any]) -> dict[str, float]:
    """The scalars; the first, or the one named loss, is the loss, and may have more elements."""
    first = "loss" if "loss" in outputs else next(iter(outputs), None)
    values = {}
    for name, part in list(outputs.items())[:MOST_PARTS]:
        if name != first and not _is_scalar(part):
            continue  # logits, labels
        value = scalar(part)
        if value is not None:
            plain = name == first or name.startswith("loss/")
            values["loss" if name == first else name if plain else f"loss/{name}"] = value
    return values


def _scaled(outputs: Any) -> dict[str, float]:
    """(loss, overflow, scale) of MindSpore; mindformers adds learning rate and global norm."""
    names = ("loss", "overflow", "loss_scale", "lr", "grad_norm")
    values = {}
    for name, part in zip(names, outputs, strict=False):
        value = scalar(part)
        if value is not None:
            values[name] = value
    return values


def is_flag(part: Any) -> bool:
    """True for a boolean, of Python or in a tensor."""
    return "bool" in str(getattr(part, "dtype", type(part).__name__)).lower()


def _is_scalar(part: Any) -> bool:
    if isinstance(part, bool | int | float):
        return True
    shape = getattr(part, "shape", None)
    return shape is not None and math.prod(shape) == 1


def scalar(part: Any) -> float | None:
    """The number, or the mean of the numbers, of a tensor; None if there are none."""
    if isinstance(part, int | float):
        return float(part)
    if not hasattr(part, "asnumpy") and not isinstance(part, np.ndarray | np.generic):
        return None
    array = to_array(part)
    if not array.size or array.dtype.kind not in "biuf":
        return None
    return float(array) if array.ndim == 0 else float(array.mean(dtype=np.float64))

"""The network that will serve: found in the training, run without a trace in it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from driftline.metadata.errors import InputError

from .batches import Array, to_array

Cell = Any
OUTPUT = "output"


def inference_network(params: Any) -> Cell:
    """The cell from inputs to predictions, of a training described by `cb_params`.

    Raises:
        InputError: the training's cells do not show it; the reason says what to do.
    """
    if params.get("loss_fn") is not None:
        return params.get("network")
    cell = params.get("train_network")
    for _ in range(8):  # TrainOneStepCell → WithLossCell → network, perhaps with wrappers between
        backbone = getattr(cell, "backbone_network", None)
        if backbone is not None:
            return backbone
        cell = getattr(cell, "network", None)
        if cell is None:
            break
    reason = "cannot be told from the training cell; give FingerprintCallback(network=…)"
    raise InputError("network", reason)


@contextmanager
def kept_random() -> Iterator[None]:
    """Inside, random numbers may be drawn; afterwards all generators stand where they stood."""
    import mindspore as ms

    states = (np.random.get_state(), random.getstate(), ms.get_rng_state())
    try:
        yield
    finally:
        np.random.set_state(states[0])
        random.setstate(states[1])
        ms.set_rng_state(states[2])


@contextmanager
def as_serving(network: Cell) -> Iterator[None]:
    """Inside, the network and all its cells are out of training; afterwards each is as it was.

    Cells a user froze on purpose stay frozen, and random generators are kept as well.
    """
    flags = [(cell, bool(cell.training), cell.phase) for _, cell in network.cells_and_names()]
    with kept_random():
        network.set_train(False)
        try:
            yield
        finally:
            for cell, training, phase in flags:
                cell.add_flags(training=training)
                cell.phase = phase


def predict(network: Cell, inputs: Sequence[Array]) -> dict[str, Array]:
    """The network's outputs by name: ``output``, or ``output_0``, … where it has several.

    Raises:
        InputError: an output is no tensor.
    """
    import mindspore as ms

    return named_outputs(network(*(ms.Tensor(np.ascontiguousarray(each)) for each in inputs)))


def named_outputs(result: Any) -> dict[str, Array]:
    """What a network gave, as arrays by name.

    Raises:
        InputError: an output is no tensor.
    """
    if isinstance(result, dict):
        parts = {str(name): part for name, part in result.items()}
    elif isinstance(result, tuple | list) and len(result) != 1:
        parts = {f"{OUTPUT}_{index}": part for index, part in enumerate(result)}
    else:
        parts = {OUTPUT: result[0] if isinstance(result, tuple | list) else result}
    for name, part in parts.items():
        if not hasattr(part, "asnumpy"):
            raise InputError(name, f"a tensor expected, the network gave {type(part).__name__}")
    return {name: to_array(part, copy=True) for name, part in parts.items()}


def precision_of(network: Cell) -> str:
    """The floating-point types of parameters and of casts, ascending, joined by ``+``."""
    found = {str(each.dtype).lower() for each in network.get_parameters()}
    for _, cell in network.cells_and_names():
        for kind in ("fp16", "bf16", "fp32"):
            if getattr(cell, kind, False):
                found.add({"fp16": "float16", "bf16": "bfloat16", "fp32": "float32"}[kind])
    return "+".join(sorted(name for name in found if "float" in name)) or "none"


def parameters_finite(network: Cell) -> bool:
    """True if no parameter holds a NaN or an infinity."""
    return all(
        bool(np.isfinite(values).all())
        for values in (to_array(each) for each in network.get_parameters())
        if values.dtype.kind == "f"
    )

"""The two files that serve: a checkpoint, and an executable graph for batches of any size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from driftline.metadata.schema import TensorSpec

from .batches import Array
from .network import Cell, predict

# Graph and cell run the same kernels; half precision may still be summed in another order.
TOLERANCE = 1e-2


@dataclass(frozen=True)
class Exported:
    """Where the files lie, and the graph as a service would load it."""

    checkpoint: Path
    model: Path
    graph: Cell


def export(network: Cell, inputs: Sequence[TensorSpec], folder: Path) -> Exported:
    """Writes ``checkpoint.ckpt`` and ``model.mindir`` into `folder`, and loads the second again.

    The network has to stand as it will serve: out of training.
    """
    import mindspore as ms
    from mindspore import nn

    checkpoint, model = folder / "checkpoint.ckpt", folder / "model.mindir"
    ms.save_checkpoint(network, str(checkpoint))
    level = ms.get_context("jit_syntax_level")
    try:
        ms.export(
            network,
            *(ms.Tensor(shape=list(each.shape), dtype=_dtype(each)) for each in inputs),
            file_name=str(model),
            file_format="MINDIR",
        )
    finally:  # a failed export leaves the strict level behind
        ms.set_context(jit_syntax_level=level)
    return Exported(checkpoint, model, nn.GraphCell(ms.load(str(model))))


def check(graph: Cell, inputs: Sequence[Array], outputs: Mapping[str, Array]) -> None:
    """Compares what the graph makes of these rows, and of the first alone, with `outputs`.

    Raises:
        RuntimeError: they differ by more than rounding; such a graph must not serve.
    """
    for rows in {1, len(inputs[0])}:
        found = predict(graph, [each[:rows] for each in inputs])
        # The graph numbers its outputs, whatever the network calls them.
        for (name, wanted), array in zip(outputs.items(), found.values(), strict=True):
            _compare(name, wanted[:rows], array)


def _compare(name: str, wanted: Array, found: Array) -> None:
    reason = f"the exported graph differs from the network in {name!r}"
    if found.shape != wanted.shape:
        raise RuntimeError(f"{reason}: {len(wanted)} rows give shape {list(found.shape)}")
    a, b = wanted.astype(np.float64), found.astype(np.float64)
    largest = float(np.abs(a[np.isfinite(a)]).max(initial=0.0))
    if not np.allclose(b, a, rtol=0.0, atol=TOLERANCE * largest + 1e-6, equal_nan=True):
        raise RuntimeError(reason)


def _dtype(spec: TensorSpec) -> object:
    import mindspore as ms

    return ms.bool_ if spec.dtype == "bool" else getattr(ms, spec.dtype)

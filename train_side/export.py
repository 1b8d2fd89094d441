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
    # export() leaves the strict level behind when it fails, and it may change flags.
    level = ms.get_context("jit_syntax_level")
    try:
        ms.export(
            network,
            *(ms.Tensor(shape=list(each.shape), dtype=_dtype(each)) for each in inputs),
            file_name=str(model),
            file_format="MINDIR",
        )
    finally:
        ms.set_context(jit_syntax_level=level)
    return Exported(checkpoint, model, nn.GraphCell(ms.load(str(model))))


def check(exported: Exported, network: Cell, inputs: Sequence[Array]) -> None:
    """Compares graph and network on these rows, and on the first alone.

    Raises:
        RuntimeError: they differ by more than rounding; such a graph must not serve.
    """
    for rows in {1, len(inputs[0])}:
        part = [each[:rows] for each in inputs]
        wanted, found = predict(network, part), predict(exported.graph, part)
        _compare(wanted, found, rows)


def _compare(wanted: Mapping[str, Array], found: Mapping[str, Array], rows: int) -> None:
    # The graph numbers its outputs, whatever the network calls them.
    for (name, a), b in zip(wanted.items(), found.values(), strict=True):
        if a.shape != b.shape:
            reason = f"{name}: shape {b.shape} instead of {a.shape} for {rows} rows"
            raise RuntimeError(f"the exported graph differs from the network: {reason}")
        finite = np.abs(a[np.isfinite(a)]) if a.dtype.kind == "f" else np.abs(a)
        scale = TOLERANCE * float(finite.max(initial=0)) + 1e-6
        if not np.allclose(b, a, rtol=0.0, atol=scale, equal_nan=a.dtype.kind == "f"):
            raise RuntimeError(f"the exported graph differs from the network in {name}")


def _dtype(spec: TensorSpec) -> object:
    import mindspore as ms

    return ms.bool_ if spec.dtype == "bool" else getattr(ms, spec.dtype)

"""The two files that serve: a checkpoint, and an executable graph for batches of any size."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from driftline.metadata.schema import TensorSpec

from .batches import Array
from .network import Cell, predict

log = logging.getLogger("driftline")

# Graph and cell run the same kernels; half precision may still be summed in another order.
TOLERANCE = 1e-2
CHECKED_ALONE = 3
ONE_ROW = (
    "The model's graph could not be exported for batches of any size; it takes one row at a time, "
    "of the lengths in the signature."
)
NO_GRAPH = (
    "The model's graph could not be exported; the package holds the checkpoint alone, and serving "
    "it takes the network's code."
)


@dataclass(frozen=True)
class Exported:
    """Where the files lie, and the graph as a service would load it; None if there is none.

    `inputs` is the signature of the graph, and `note` says what had to be given up.
    """

    checkpoint: Path
    model: Path | None
    graph: Cell | None
    inputs: tuple[TensorSpec, ...]
    note: str | None = None


def export(
    network: Cell,
    signature: tuple[TensorSpec, ...],
    inputs: Sequence[Array],
    outputs: Mapping[str, Array],
    folder: Path,
) -> Exported:
    """Writes ``checkpoint.ckpt`` and ``model.mindir`` into `folder`, and tries the second.

    A graph counts only if, loaded again, it gives `outputs` for `inputs`. One that takes batches of
    any size is tried first, then one that takes single rows; the checkpoint is there in any case.

    Args:
        network: stands as it will serve: out of training.
        signature: of its inputs, in order.
        inputs: a batch.
        outputs: what the network made of it.
        folder: exists.
    """
    import mindspore as ms

    checkpoint, model = folder / "checkpoint.ckpt", folder / "model.mindir"
    ms.save_checkpoint(_own_parameters(network), str(checkpoint))
    single = tuple(
        replace(spec, shape=(1, *array.shape[1:]))
        for spec, array in zip(signature, inputs, strict=True)
    )
    for specs, note in ((signature, None), (single, ONE_ROW)):
        try:
            graph = _graph(network, specs, model)
            check(graph, inputs, outputs, alone=specs is single)
        except Exception as error:
            shapes = ", ".join(str(list(spec.shape)) for spec in specs)
            reason = str(error).strip().partition("\n")[0]
            log.warning("no graph for inputs of shape %s: %s", shapes, reason)
            model.unlink(missing_ok=True)
        else:
            return Exported(checkpoint, model, graph, specs, note)
    return Exported(checkpoint, None, None, signature, NO_GRAPH)


def check(
    graph: Cell, inputs: Sequence[Array], outputs: Mapping[str, Array], *, alone: bool = False
) -> None:
    """Compares what the graph makes of these rows, and of the first alone, with `outputs`.

    With `alone` the first three rows, each alone.

    Raises:
        RuntimeError: they differ by more than rounding; such a graph must not serve.
    """
    rows = len(inputs[0])
    parts = [slice(at, at + 1) for at in range(min(rows, CHECKED_ALONE if alone else 1))]
    for part in parts if alone else [*parts, slice(0, rows)]:
        found = predict(graph, [each[part] for each in inputs])
        # The graph numbers its outputs, whatever the network calls them.
        for (name, wanted), array in zip(outputs.items(), found.values(), strict=True):
            _compare(name, wanted[part], array)


def _graph(network: Cell, specs: Sequence[TensorSpec], model: Path) -> Cell:
    import mindspore as ms
    from mindspore import nn

    level = ms.get_context("jit_syntax_level")
    try:
        ms.export(
            network,
            *(ms.Tensor(shape=list(each.shape), dtype=_dtype(each)) for each in specs),
            file_name=str(model),
            file_format="MINDIR",
        )
    finally:  # a failed export leaves the strict level behind
        ms.set_context(jit_syntax_level=level)
    return nn.GraphCell(ms.load(str(model)))


def _own_parameters(network: Cell) -> list[dict[str, object]]:
    """The parameters under the names that a new network of the same class has.

    A training cell around a network puts the name of its attribute before every name.
    """
    found = [(own, each) for own, each in network.parameters_and_names()]
    prefixes = {each.name.removesuffix(own) for own, each in found if each.name.endswith(own)}
    prefix = prefixes.pop() if len(prefixes) == 1 else ""
    if not all(each.name.startswith(prefix) for _, each in found):
        prefix = ""
    return [{"name": each.name.removeprefix(prefix), "data": each} for _, each in found]


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
